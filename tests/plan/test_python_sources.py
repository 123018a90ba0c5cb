"""`python:` sources: specs from the running app, its server, or a module."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastapi import FastAPI, Request
from pydantic import BaseModel

from gym_mcp_manifest import Diagnostic, ExposureRefused, ManifestInvalid, expose

ON = {"expose_tools_over_mcp": True}
MODULE = "tools_of_a_test"


class Spec(BaseModel):
    name: str
    description: str | None = None


@dataclass
class Plain:
    name: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object"})


class Server:
    """As resources servers are made: handlers are methods."""

    def __init__(self) -> None:
        self.calls = 0
        self.tools = [{"name": "held"}]

    async def dispatch(self, tool: str, request: Request) -> dict[str, str]:
        return {"tool": tool}

    def specs(self, prefix: str = "made", *, count: int = 1) -> list[Spec]:
        self.calls += 1
        return [Spec(name=f"{prefix}_{n}") for n in range(count)]

    async def specs_later(self) -> list[Plain]:
        await asyncio.sleep(0)
        self.calls += 1
        return [Plain("later")]

    def broken(self) -> None:
        raise RuntimeError("no tools today")


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def app(make_app: Any, server: Server) -> FastAPI:
    app: FastAPI = make_app()
    app.post("/{tool}")(server.dispatch)
    app.state.tools = {"tools": [{"name": "of_the_app"}]}
    return app


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    return module


def sourced(**source: Any) -> dict[str, Any]:
    return {"version": 1, "catch_all": [{"tools": [source]}]}


def names(app: FastAPI, **source: Any) -> list[str]:
    return [tool.name for tool in expose(app, name="unit", manifest=sourced(**source), instance=ON).tools]


def refusal(app: FastAPI, **source: Any) -> Diagnostic:
    with pytest.raises((ExposureRefused, ManifestInvalid)) as caught:
        names(app, **source)
    return next(found for found in caught.value.diagnostics)


def test_an_attribute_of_the_server_whose_methods_are_the_handlers(app: FastAPI) -> None:
    assert names(app, python="server:tools") == ["held"]


def test_a_callable_is_called_once_with_its_arguments(app: FastAPI, server: Server) -> None:
    assert names(app, python="server:specs", args=["x"], kwargs={"count": 2}) == ["x_0", "x_1"]
    assert server.calls == 1


def test_a_coroutine_function_is_awaited_also_inside_a_running_loop(app: FastAPI, server: Server) -> None:
    assert names(app, python="server:specs_later") == ["later"]

    async def boot() -> list[str]:
        other = FastAPI()
        other.post("/{tool}")(server.dispatch)
        manifest = {**sourced(python="server:specs_later"), "sessions": {"mode": "none"}}
        return [tool.name for tool in expose(other, name="unit", manifest=manifest, instance=ON).tools]

    assert asyncio.run(boot()) == ["later"]


def test_select_include_and_exclude_apply(app: FastAPI) -> None:
    app.state.tools["tools"] += [{"name": "other"}]
    assert names(app, python="app:state.tools", select="tools[]", exclude=["oth*"]) == ["of_the_app"]


def test_a_module_is_imported(app: FastAPI, module: ModuleType) -> None:
    module.TOOLS = ({"name": "in_a_module"},)  # type: ignore[attr-defined]
    assert names(app, python=f"{MODULE}:TOOLS") == ["in_a_module"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ({"python": "app:MY_TOOLS"}, "in_app_py"),
        ({"python": "app:state.tools", "select": "tools[]"}, "of_the_app"),
    ],
    ids=["module", "object"],
)
def test_the_module_of_an_app_py_goes_by_app_too(
    app: FastAPI, module: ModuleType, monkeypatch: pytest.MonkeyPatch, source: dict[str, Any], found: str
) -> None:
    module.state = None  # type: ignore[attr-defined]
    module.MY_TOOLS = [{"name": "in_app_py"}]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app", module)
    assert names(app, **source) == [found]


@pytest.mark.parametrize(
    ("reference", "cause"),
    [
        ("server:tolls", "did you mean `tools`?"),
        ("server:broken", "RuntimeError: no tools today"),
        ("no_such_module_here:TOOLS", "cannot be imported"),
        ("server:calls", "no tool spec but int"),
    ],
)
def test_what_cannot_be_had_stops_the_boot_with_the_cause(app: FastAPI, reference: str, cause: str) -> None:
    found = refusal(app, python=reference)
    assert found.code in ("GMM403", "GMM406")
    assert cause in found.message


def test_arguments_of_what_is_no_callable_have_no_effect_and_are_refused(app: FastAPI) -> None:
    assert "no callable" in refusal(app, python="server:tools", args=[1]).message


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("pkg.module.attr", "write `pkg.module:attr`"),
        ("pkg.module:", "the attribute is missing"),
        (":attr", "the module is missing"),
        ("pkg module:attr", "'pkg module' is no dotted name"),
    ],
)
def test_a_reference_that_is_none_is_refused_when_it_is_read(app: FastAPI, written: str, hint: str) -> None:
    found = refusal(app, python=written)
    assert found.code == "GMM211"
    assert hint in found.message


def test_an_app_without_a_server_object_says_so(make_app: Any) -> None:
    app = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str) -> dict[str, str]:
        return {"tool": tool}

    assert "no handler of the app is a method" in refusal(app, python="server:tools").message


PROGRAM = """
from fastapi import FastAPI
from gym_mcp_manifest import expose

TOOLS = []
app = FastAPI()

@app.post("/{tool}")
async def dispatch(tool: str):
    return {}

if __name__ == "__main__":
    TOOLS.append({"name": "made_while_running"})
    manifest = {
        "version": 1,
        "sessions": {"mode": "none"},
        "catch_all": [{"tools": [{"python": "served:TOOLS"}]}],
    }
    plan = expose(app, name="unit", manifest=manifest, instance={"expose_tools_over_mcp": True})
    print([tool.name for tool in plan.tools])
"""


@pytest.mark.parametrize("way", [["served.py"], ["-m", "served"]], ids=["file", "module"])
def test_the_app_s_own_module_means_the_one_that_runs(tmp_path: Path, way: list[str]) -> None:
    (tmp_path / "served.py").write_text(PROGRAM)
    command = [sys.executable, *way]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "['made_while_running']\n", ran.stderr


def test_validate_runs_no_code(tmp_path: Path) -> None:
    (tmp_path / "danger.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "mcp.yaml").write_text("version: 1\ncatch_all: [{tools: [{python: 'danger:TOOLS'}]}]\n")
    command = [sys.executable, "-m", "gym_mcp_manifest", "validate", "mcp.yaml"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


def looped() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def raising() -> Iterator[Any]:
    raise RuntimeError("broken while read")
    yield


def leaving() -> Any:
    raise GeneratorExit


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (looped(), "contains itself"),
        (raising, "RuntimeError: broken while read"),
        (leaving, "GeneratorExit"),
        (lambda: count(), "more than 100,000 entries"),
        ({"a", "b"}, "a set, which has no order"),
        ([{"name": "x", 1: 2}], "the key 1, which is no text"),
        (object(), "object, which is no data"),
    ],
    ids=["loop", "raising", "leaving", "endless", "set", "key", "object"],
)
def test_odd_objects_are_refused_in_words(app: FastAPI, module: ModuleType, value: Any, cause: str) -> None:
    module.ODD = value  # type: ignore[attr-defined]
    found = refusal(app, python=f"{MODULE}:ODD")
    assert found.code == "GMM406"
    assert cause in found.message

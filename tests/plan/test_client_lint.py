"""Warnings about what is legal but breaks a known client, alike in `plan` and, for data, in `validate`."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request

from gym_mcp_manifest import Diagnostic, ExposurePlan, expose, load_manifest
from gym_mcp_manifest.manifest.speccheck import check_specs

ON = {"expose_tools_over_mcp": True}


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str, request: Request) -> dict[str, str]:
        return {"tool": tool}

    return app


def spec(name: str = "look", description: str | None = "Looks.", **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters": {"type": "object", **schema}}


def written(folder: Path, *specs: dict[str, Any], **keys: Any) -> Path:
    (folder / "tools.json").write_text(json.dumps(list(specs)))
    manifest = {"version": 1, "catch_all": [{"tools": [{"file": "tools.json"}]}], **keys}
    path = folder / "mcp.yaml"
    path.write_text(json.dumps(manifest, indent=1))
    return path


def planned(app: FastAPI, path: Path) -> ExposurePlan:
    return expose(app, name="unit", manifest=load_manifest(path), instance=ON)


def warnings(app: FastAPI, path: Path) -> list[Diagnostic]:
    """The warnings of the plan, which for data are those of validation too."""
    found = [d for d in planned(app, path).diagnostics if d.code in ("GMM707", "GMM708", "GMM709", "GMM710")]
    offline = list(check_specs(load_manifest(path)))
    assert {(d.code, d.message) for d in offline} == {(d.code, d.message) for d in found}
    assert all(d.severity == "warning" and d.hint for d in found)
    return found


SCHEMAS = {
    "Claude Code drop": {"properties": {"a b": {}}},
    "Claude Code drop the tool": {"properties": {"a": {"title": None}}},
    "TypeScript SDK v1 and Gemini CLI": {"properties": {"a": True}},
    "langchain-mcp-adapters": {"properties": {"self": {"type": "string"}}},
    "Anthropic's API": {"anyOf": [{"required": ["a"]}]},
    "Codex drops": {"properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}]}}},
    "Claude Code rounds": {"properties": {"a": {"type": "integer", "maximum": 2**60}}},
}


@pytest.mark.parametrize("client", SCHEMAS)
def test_a_schema_that_a_client_breaks_on_names_the_client(app: FastAPI, tmp_path: Path, client: str) -> None:
    (found,) = warnings(app, written(tmp_path, spec(**SCHEMAS[client])))
    assert found.code == "GMM707"
    assert client in found.message
    assert found.message.startswith("'look': ")
    assert found.file == str(tmp_path / "tools.json")
    assert found.related[0][1].file == str(tmp_path / "mcp.yaml")


def test_a_schema_that_all_clients_take_is_no_finding(app: FastAPI, tmp_path: Path) -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["a"]}
    assert warnings(app, written(tmp_path, spec(**schema))) == []


@pytest.mark.parametrize("description", [None, "", "  \n"])
def test_a_tool_without_a_description_is_told(app: FastAPI, tmp_path: Path, description: str | None) -> None:
    (found,) = warnings(app, written(tmp_path, spec(description=description)))
    assert found.code == "GMM708"


def test_a_description_given_under_tools_counts(app: FastAPI, tmp_path: Path) -> None:
    path = written(tmp_path, spec(description=None), tools={"lo*": {"description": "Looks a thing up."}})
    assert warnings(app, path) == []


def test_descriptions_that_are_alike_are_told_once(app: FastAPI, tmp_path: Path) -> None:
    (found,) = warnings(app, written(tmp_path, spec("a"), spec("b"), spec("c"), spec("d", "Other.")))
    assert found.code == "GMM710"
    assert "'a' and 'b'" in found.message


def test_a_large_schema_and_a_large_list_are_told(app: FastAPI, tmp_path: Path) -> None:
    large = {"properties": {"a": {"type": "string", "description": "x" * 16_000}}}
    specs = [spec(f"t{n}", f"Number {n}.", **large) for n in range(7)]
    found = warnings(app, written(tmp_path, *specs))
    assert [d.code for d in found].count("GMM709") == 8


def test_hidden_arguments_no_longer_count(app: FastAPI, tmp_path: Path) -> None:
    schema = {"properties": {"self": {"type": "string"}, "a": {"type": "string"}}}
    path = written(tmp_path, spec(**schema), tools={"look": {"arguments": {"self": {"hidden": True}}}})
    assert warnings(app, path) == []


def test_a_long_agent_side_name_says_whose_it_is_and_what_happens(app: FastAPI, tmp_path: Path) -> None:
    found = planned(app, written(tmp_path, spec("n" * 60), spec("m" * 128, "Other."))).diagnostics
    texts = [d.message for d in found if d.code == "GMM704"]
    assert ["claude_code" in text for text in texts] == [True, True]
    assert any("'mcp__unit__" + "n" * 60 in text and "no longer name" in text for text in texts)
    assert any("Claude Code drops the tool" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "code"), [("a b", "GMM701"), ("verify", "GMM702"), ("x" * 129, "GMM701"), ("ünit", "GMM701")]
)
def test_a_name_in_the_data_is_judged_without_any_app(tmp_path: Path, name: str, code: str) -> None:
    (found,) = check_specs(load_manifest(written(tmp_path, spec(name))))
    assert found.code == code
    assert f"tools: {{{name!r}: {{name: " in str(found.hint)
    renamed = written(tmp_path, spec(name), tools={name: {"name": "renamed"}})
    assert list(check_specs(load_manifest(renamed))) == []

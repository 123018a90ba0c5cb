"""The order of the layers: language defaults < `mcp.yaml` < the `mcp:` block < overrides, each in turn."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from gym_mcp_manifest import ExposurePlan, ManifestInvalid, expose, load_manifest
from gym_mcp_manifest.instance import read_instance
from gym_mcp_manifest.manifest.layers import Dropped, Places

BLOCK = "office.resources_servers.office"
APP = '''\
from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="a key for tests")


async def answer() -> dict:
    """What the handler says."""
    return {}


for path in ("/seed_session", "/verify", "/a", "/b", "/c", "/d", "/e"):
    app.post(path)(answer)
'''
CONFIG = """\
office:
  resources_servers:
    office:
      expose_tools_over_mcp: true
"""


@dataclass(frozen=True)
class Office:
    """A server's folder on disk, with what its files say."""

    folder: Path

    def write(self, manifest: str = "", block: str = "") -> None:
        """Write mcp.yaml and config.yaml; `block` is the text below `mcp:`."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "app.py").write_text(APP, encoding="utf-8")
        (self.folder / "mcp.yaml").write_text(f"version: 1\n{textwrap.dedent(manifest)}", encoding="utf-8")
        patch = "      mcp:\n" + textwrap.indent(textwrap.dedent(block), " " * 8) if block else ""
        (self.folder / "config.yaml").write_text(f"{CONFIG}{patch}\n", encoding="utf-8")

    def app(self) -> FastAPI:
        names: dict[str, Any] = {}
        exec(compile(APP, "app.py", "exec"), names)
        app: FastAPI = names["app"]
        return app

    def plan(self, *overrides: str) -> ExposurePlan:
        """What `expose()` makes of the files and the overrides."""
        instance = read_instance(self.folder / "config.yaml", None, overrides)
        manifest = load_manifest(self.folder / "mcp.yaml")
        return expose(self.app(), name=instance.name, manifest=manifest, instance=instance)

    def places(self, *overrides: str) -> Places:
        """Where each value of the merged manifest was set."""
        instance = read_instance(self.folder / "config.yaml", None, overrides)
        return load_manifest(self.folder / "mcp.yaml").under_layers(instance.layers).places

    def at(self, file: str, text: str) -> str:
        """The place of a text in a file, as findings show it."""
        path = self.folder / file
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if text in line:
                return f"{path}:{number}:{line.index(text) + 1}"
        raise AssertionError(f"{text!r} is not in {file}")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line about the folder."""
        command = [sys.executable, "-m", "gym_mcp_manifest", arguments[0], str(self.folder), *arguments[1:]]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture
def office(tmp_path: Path) -> Office:
    office = Office(tmp_path / "office")
    office.write()
    return office


# The table: for each kind of key what each layer says, and what then holds.


def tools(plan: ExposurePlan) -> str:
    return "".join(tool.name for tool in plan.tools)


def tool_a(plan: ExposurePlan) -> Any:
    (tool,) = (tool for tool in plan.tools if tool.own_name == "a")
    return tool


@dataclass(frozen=True)
class Kind:
    """One kind of key: its text in either file and in two overrides, and what holds under so many layers."""

    manifest: str
    block: str
    overrides: tuple[str, str]
    holds: Callable[[ExposurePlan], Any]
    values: tuple[Any, Any, Any, Any, Any]
    path: tuple[str | int, ...]
    written: tuple[str, str]


KINDS = {
    "scalar": Kind(
        manifest="names: {max_length: 51}",
        block="names: {max_length: 52}",
        overrides=("names.max_length=53", "names.max_length=54"),
        holds=lambda plan: plan.language.names.max_length,
        values=(64, 51, 52, 53, 54),
        path=("names", "max_length"),
        written=("51", "52"),
    ),
    "nested": Kind(
        manifest="server: {title: M, instructions: From the manifest.}",
        block="server: {title: B}",
        overrides=("server.title=O", "server={title: P}"),
        holds=lambda plan: (plan.language.server.title, plan.language.server.instructions),
        values=(
            (None, None),
            ("M", "From the manifest."),
            ("B", "From the manifest."),
            ("O", "From the manifest."),
            ("P", "From the manifest."),
        ),
        path=("server", "title"),
        written=("M, instructions", "B}"),
    ),
    "mapping": Kind(
        manifest="tools: {a: {annotations: {readOnlyHint: true}}}",
        block="tools: {a: {annotations: {openWorldHint: false}}}",
        overrides=("tools.a.annotations={idempotentHint: true}", "tools.a.annotations={openWorldHint: true}"),
        holds=lambda plan: tool_a(plan).annotations,
        values=(
            None,
            {"readOnlyHint": True},
            {"readOnlyHint": True, "openWorldHint": False},
            {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True},
            {"readOnlyHint": True, "openWorldHint": True, "idempotentHint": True},
        ),
        path=("tools", "a", "annotations", "openWorldHint"),
        written=("true}}}", "false"),
    ),
    "list": Kind(
        manifest="routes: {exclude: [/b]}",
        block="routes: {exclude: [/c]}",
        overrides=("routes.exclude=[/d]", "routes.exclude=[/e,/a]"),
        holds=tools,
        values=("abcde", "acde", "abde", "abce", "bcd"),
        path=("routes", "exclude"),
        written=("[/b]", "[/c]"),
    ),
    "list, added to": Kind(
        manifest="routes: {exclude: [/b]}",
        block="routes: {exclude_add: [/c]}",
        overrides=("routes.exclude_add=[/d]", "routes.exclude_add=[/e]"),
        holds=tools,
        values=("abcde", "acde", "ade", "ae", "a"),
        path=("routes", "exclude", -1),
        written=("/b", "/c"),
    ),
    "tools entry": Kind(
        manifest="tools: {a: {title: M, description: From the manifest.}}",
        block="tools: {a: {title: B}, b: {title: Bee}}",
        overrides=("tools.a.title=O", "tools.a={title: P}"),
        holds=lambda plan: (tool_a(plan).title, tool_a(plan).description),
        values=(
            (None, "What the handler says."),
            ("M", "From the manifest."),
            ("B", "From the manifest."),
            ("O", "From the manifest."),
            ("P", "From the manifest."),
        ),
        path=("tools", "a", "title"),
        written=("M, desc", "B}, b"),
    ),
}


@pytest.mark.parametrize("layers", range(5), ids=["defaults", "mcp.yaml", "mcp block", "override", "later one"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_the_highest_layer_that_says_something_decides(kind: Kind, layers: int, office: Office) -> None:
    office.write(kind.manifest if layers > 0 else "", kind.block if layers > 1 else "")
    overrides = [f"{BLOCK}.mcp.{text}" for text in kind.overrides[: max(layers - 2, 0)]]
    assert kind.holds(office.plan(*overrides)) == kind.values[layers]


@pytest.mark.parametrize("layers", range(1, 5), ids=["mcp.yaml", "mcp block", "override", "later one"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_value_is_attributed_to_the_layer_that_set_it(kind: Kind, layers: int, office: Office) -> None:
    office.write(kind.manifest, kind.block if layers > 1 else "")
    overrides = [f"{BLOCK}.mcp.{text}" for text in kind.overrides[: max(layers - 2, 0)]]
    path = kind.path
    if path[-1] == -1:
        path = (*path[:-1], layers - 1)
    if kind is KINDS["mapping"]:
        layers = {1: 0, 3: 2}.get(layers, layers)
    expected = {
        0: lambda: office.at("mcp.yaml", "{readOnlyHint"),
        1: lambda: office.at("mcp.yaml", kind.written[0]),
        2: lambda: office.at("config.yaml", kind.written[1]),
    }.get(layers, lambda: f"override '{overrides[-1].partition('=')[0]}'")
    assert office.places(*overrides).origin(path) == expected()


def test_what_every_layer_adds_keeps_its_own_place(office: Office) -> None:
    kind = KINDS["list, added to"]
    office.write(kind.manifest, kind.block)
    overrides = [f"{BLOCK}.mcp.{text}" for text in kind.overrides]
    places = office.places(*overrides)
    assert [places.origin(("routes", "exclude", spot)) for spot in range(4)] == [
        office.at("mcp.yaml", "/b"),
        office.at("config.yaml", "/c"),
        f"override '{BLOCK}.mcp.routes.exclude_add'",
        f"override '{BLOCK}.mcp.routes.exclude_add'",
    ]


def test_a_layer_left_out_lets_the_one_below_it_decide(office: Office) -> None:
    office.write("names: {max_length: 51}")
    assert office.plan(f"{BLOCK}.mcp.names.max_length=53").language.names.max_length == 53
    assert office.plan(f"{BLOCK}.mcp.server.title=A").language.names.max_length == 51


def test_a_list_that_is_replaced_and_then_added_to_holds_both(office: Office) -> None:
    office.write("routes: {exclude: [/b]}", "routes: {exclude: [/c], exclude_add: [/d]}")
    assert tools(office.plan()) == "abe"
    assert tools(office.plan(f"{BLOCK}.mcp.routes.exclude_add=[/e]")) == "ab"
    assert tools(office.plan(f"{BLOCK}.mcp.routes.exclude=[]", f"{BLOCK}.mcp.routes.exclude_add=[/a]")) == "bcde"


def test_a_default_list_is_added_to_as_if_it_were_written(office: Office) -> None:
    office.write("", "names: {patterns_add: ['x_{tool}']}")
    plan = office.plan(f"{BLOCK}.mcp.names.patterns_add=['y_{{tool}}']")
    assert plan.language.names.patterns == ("x_{tool}", "y_{tool}")


def test_only_what_comes_out_at_the_end_is_judged(office: Office) -> None:
    office.write(
        "sessions: {otherwise: all}", "names: {max_length: many}\nsessions: {allow: [{when: a, tools: [a]}]}"
    )
    assert office.plan(f"{BLOCK}.mcp.names.max_length=30").language.names.max_length == 30


def test_the_plan_command_names_the_override_that_decided(office: Office) -> None:
    office.write("routes: {exclude: [/b]}", "routes: {exclude_add: [/c]}")
    done = office.run("plan", f"{BLOCK}.mcp.routes.exclude_add=[/d]", "--json")
    excluded = {entry["route"]: entry["decided_at"] for entry in json.loads(done.stdout)["excluded"]}
    assert excluded["POST /b"] == office.at("mcp.yaml", "/b")
    assert excluded["POST /c"] == office.at("config.yaml", "/c")
    assert excluded["POST /d"] == f"override '{BLOCK}.mcp.routes.exclude_add'"


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_the_line_of_a_finding_about_the_block_is_never_shown(form: list[str], office: Office) -> None:
    secret = "hunter2-hunter2"
    for fault in ("{rutes: {}}", "{routes: {exclude: [/nowhere]}}"):
        block = f"{{expose_tools_over_mcp: true, mcp_secret: {secret}, mcp: {fault}}}"
        config = office.folder / "config.yaml"
        config.write_text(f"office: {{resources_servers: {{office: {block}}}}}\n", encoding="utf-8")
        done = office.run("plan", *form)
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert str(config) in said
        assert secret not in said


def test_an_override_without_a_configuration_is_refused_by_its_key_alone(office: Office) -> None:
    (office.folder / "config.yaml").unlink()
    done = office.run("plan", "mcp_secret=hunter2-hunter2")
    assert done.returncode == 1
    assert "override 'mcp_secret': error[GMM610]" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


# What a replaced list drops.


def dropped(office: Office, *overrides: str) -> list[tuple[str, tuple[str, ...], str, str, str]]:
    def row(drop: Dropped) -> tuple[str, tuple[str, ...], str, str, str]:
        return ".".join(map(str, drop.path)), drop.entries, drop.by, str(drop.at), str(drop.before)

    return [row(drop) for drop in office.places(*overrides).dropped]


def test_a_replaced_list_tells_its_lost_entries_with_both_places(office: Office) -> None:
    office.write("routes: {exclude: [/b, /c, {match: /d, optional: true}]}", "routes: {exclude: [/c]}")
    config = office.folder / "config.yaml"
    expected = (
        "routes.exclude",
        ("/b", "/d"),
        f"{config}: office: mcp",
        office.at("config.yaml", "[/c]"),
        office.at("mcp.yaml", "[/b"),
    )
    assert dropped(office) == [expected]


def test_an_override_that_replaces_a_list_is_told_with_what_it_drops_of_either_file(office: Office) -> None:
    office.write("routes: {exclude: [/b]}", "routes: {exclude_add: [/c]}")
    name = f"override '{BLOCK}.mcp.routes.exclude'"
    assert dropped(office, f"{BLOCK}.mcp.routes.exclude=[/b]") == [
        ("routes.exclude", ("/c",), name, name, office.at("mcp.yaml", "[/b]"))
    ]


def test_entries_that_come_back_are_not_dropped(office: Office) -> None:
    office.write("routes: {exclude: [/b, /c]}", "routes: {exclude: [/d], exclude_add: [/b]}")
    assert [row[1] for row in dropped(office)] == [("/c",)]
    assert dropped(office, f"{BLOCK}.mcp.routes.exclude_add=[/c]") == []


def test_nothing_is_dropped_by_adding_nor_where_nothing_was_written(office: Office) -> None:
    office.write("routes: {exclude: [/b]}", "routes: {exclude_add: [/c], include: [/a, /b, /c]}")
    assert dropped(office) == []


def test_an_entry_that_is_a_mapping_is_called_by_its_telling_key(office: Office) -> None:
    rules = "sessions: {otherwise: all, allow: [{from: names}, {when: x, tools: [a]}, {tools: [a], when: y}]}"
    office.write(rules, "sessions: {allow: [{when: x, tools: [b]}]}")
    assert [row[1] for row in dropped(office)] == [("from: names", "when: y")]


# Taking back.


def test_a_deletion_takes_the_blocks_setting_back(office: Office) -> None:
    office.write("names: {max_length: 51}", "names: {max_length: 52}")
    assert office.plan(f"~{BLOCK}.mcp.names.max_length").language.names.max_length == 51
    assert office.plan(f"~{BLOCK}.mcp.names").language.names.max_length == 51
    assert office.plan(f"~{BLOCK}.mcp").language.names.max_length == 51


def test_a_deletion_takes_earlier_overrides_back_and_later_ones_count(office: Office) -> None:
    office.write("", "names: {max_length: 52}")
    key = f"{BLOCK}.mcp.names.max_length"
    assert office.plan(f"{key}=53", f"~{key}").language.names.max_length == 64
    assert office.plan(f"{key}=53", f"~{key}", f"{key}=54").language.names.max_length == 54


def test_a_deletion_may_name_the_value_that_it_takes_back(office: Office) -> None:
    office.write("", "names: {max_length: 52}")
    assert office.plan(f"~{BLOCK}.mcp.names.max_length=52").language.names.max_length == 64
    with pytest.raises(ManifestInvalid, match="not the one that is set"):
        office.plan(f"~{BLOCK}.mcp.names.max_length=53")


def test_what_only_mcp_yaml_says_cannot_be_deleted_and_the_cure_is_told(office: Office) -> None:
    office.write("names: {max_length: 51}", "names: {restore: false}")
    for key in ("names.max_length", "routes.exclude", "server"):
        done = office.run("plan", f"~{BLOCK}.mcp.{key}")
        assert done.returncode == 1
        assert "error[GMM504] the configuration has no" in done.stderr
        assert "against what mcp.yaml says, set the value that should hold" in done.stderr


# Text with ${...} in it.


def test_text_of_the_manifest_never_passes_through_omegaconf(office: Office) -> None:
    office.write(
        "tools: {a: {description: 'Say ${x}, ${oc.env:HOME} and ${.', title: '???'}}", "server: {title: T}"
    )
    plan = office.plan(f"{BLOCK}.mcp.tools.a.annotations.readOnlyHint=true")
    assert (tool_a(plan).description, tool_a(plan).title) == ("Say ${x}, ${oc.env:HOME} and ${.", "???")


def test_in_the_instances_block_omegaconf_resolves_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_MCP_TEST_WORD", "resolved")
    office.write("", "tools: {a: {title: '${oc.env:GYM_MCP_TEST_WORD}', description: 'Say \\${x}.'}}")
    assert (tool_a(office.plan()).title, tool_a(office.plan()).description) == ("resolved", "Say ${x}.")
    plan = office.plan(f"{BLOCK}.mcp.tools.a.description='\\${{y}} ${{oc.env:GYM_MCP_TEST_WORD}}'")
    assert tool_a(plan).description == "${y} resolved"


def test_in_the_instances_block_a_name_that_nobody_knows_is_an_error_at_its_place(office: Office) -> None:
    office.write("", "tools: {a: {description: 'Say ${x}.'}}")
    with pytest.raises(ManifestInvalid) as caught:
        office.plan()
    (found,) = caught.value.diagnostics
    assert (found.code, str(found.span)) == ("GMM501", office.at("config.yaml", "'Say"))
    assert "'x' not found" in found.message


def test_an_interpolation_sees_the_whole_configuration_overrides_included(office: Office) -> None:
    office.write("", "tools: {a: {title: '${shared.word}'}, b: '${shared.entry}'}")
    config = office.folder / "config.yaml"
    shared = "shared: {word: before, entry: {title: Bee, description: Says b.}}\n"
    config.write_text(config.read_text(encoding="utf-8") + shared, encoding="utf-8")
    plan = office.plan("shared.word=after", f"{BLOCK}.mcp.tools.b.title=Shown", f"{BLOCK}.mcp.tools.a.name=first")
    assert [(t.name, t.title) for t in plan.tools[:2]] == [("first", "after"), ("b", "Shown")]
    assert plan.tools[1].description == "Says b."
    sibling = office.plan(f"{BLOCK}.mcp.tools.b.title='${{.description}}'")
    assert sibling.tools[1].title == "Says b."

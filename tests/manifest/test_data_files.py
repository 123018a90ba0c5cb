"""Tool specs and schemas in data files: every form, strictly read, never from outside the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI

from gym_mcp_manifest import Diagnostic, ExposurePlan, Manifest, expose, load_manifest
from gym_mcp_manifest.diagnostics import errors_among
from gym_mcp_manifest.manifest.loader import manifest_from_mapping
from gym_mcp_manifest.manifest.schemafaults import schema_faults
from gym_mcp_manifest.manifest.schemas import advertised_form
from gym_mcp_manifest.manifest.speccheck import check_specs

ON = {"expose_tools_over_mcp": True}
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
FORMS: dict[str, dict[str, Any]] = {
    "OpenAI Responses": {
        "type": "function",
        "name": "send",
        "description": "Send.",
        "parameters": SCHEMA,
        "strict": True,
    },
    "OpenAI chat": {
        "type": "function",
        "function": {"name": "send", "description": "Send.", "parameters": SCHEMA},
    },
    "Anthropic": {"name": "send", "description": "Send.", "input_schema": SCHEMA},
    "MCP": {"name": "send", "description": "Send.", "inputSchema": SCHEMA},
    "bare": {"name": "send", "description": "Send.", "parameters": SCHEMA},
    "two names of one schema": {
        "name": "send",
        "description": "Send.",
        "parameters": SCHEMA,
        "inputSchema": SCHEMA,
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A server's folder, with something beside it."""
    (tmp_path / "outside.json").write_text('[{"name": "stolen"}]', encoding="utf-8")
    server = tmp_path / "server"
    (server / "data").mkdir(parents=True)
    return server


@pytest.fixture
def put(folder: Path) -> Callable[..., Path]:
    """Writes a data file: text as it is, all else as JSON."""

    def put_(name: str, content: Any) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return put_


@pytest.fixture
def manifest(folder: Path) -> Callable[..., Manifest]:
    """A manifest with one dispatcher over these sources."""

    def manifest_(*sources: Any, **keys: Any) -> Manifest:
        path = folder / "mcp.yaml"
        data = {"version": 1, "routes": {"include": []}, **keys}
        if sources:
            data["catch_all"] = [{"route": "/{path}", "tools": list(sources)}]
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return load_manifest(path)

    return manifest_


@pytest.fixture
def plan(manifest: Callable[..., Manifest], make_app: Callable[..., FastAPI]) -> Callable[..., ExposurePlan]:
    """The plan of an app with one dispatcher over these sources."""

    def plan_(*sources: Any, instance: dict[str, Any] | None = None, **keys: Any) -> ExposurePlan:
        app = make_app()

        @app.post("/{path}")
        async def dispatch(path: str, body: dict[str, Any]) -> dict[str, Any]:
            return body

        return expose(app, name="unit", manifest=manifest(*sources, **keys), instance={**ON, **(instance or {})})

    return plan_


@pytest.fixture
def names(plan: Callable[..., ExposurePlan]) -> Callable[..., list[str]]:
    return lambda *sources, **keys: [tool.name for tool in plan(*sources, **keys).tools]


@pytest.fixture
def findings(manifest: Callable[..., Manifest]) -> Callable[..., list[Diagnostic]]:
    """What `gym-mcp validate` finds in the data."""
    return lambda *sources, **keys: list(errors_among(check_specs(manifest(*sources, **keys))))


Findings = Callable[..., list[Diagnostic]]
Names = Callable[..., list[str]]
Put = Callable[..., Path]


# Forms of specs.


@pytest.mark.parametrize("form", FORMS)
def test_every_common_form_gives_the_same_tool(form: str, put: Put, plan: Callable[..., ExposurePlan]) -> None:
    put("data/tools.json", [FORMS[form]])
    (tool,) = plan({"file": "data/tools.json"}).tools
    assert (tool.name, tool.own_name, tool.description) == ("send", "send", "Send.")
    assert tool.input_schema == SCHEMA
    assert (tool.method, tool.path) == ("POST", "/send")


def test_title_and_annotations_come_from_the_mcp_form(put: Put, plan: Callable[..., ExposurePlan]) -> None:
    hints = {"readOnlyHint": True, "title": "Sends", "destructiveHint": None, "vendorHint": [1]}
    put("data/tools.json", [{**FORMS["MCP"], "title": "Send it", "annotations": hints}])
    (tool,) = plan({"file": "data/tools.json"}).tools
    assert tool.title == "Send it"
    assert tool.annotations is not None
    assert tool.annotations["readOnlyHint"] is True


@pytest.mark.parametrize("spec", [{"name": "send"}, {"name": "send", "parameters": None, "description": None}])
def test_a_spec_without_a_schema_takes_any_object(
    spec: dict[str, Any], put: Put, plan: Callable[..., ExposurePlan]
) -> None:
    put("data/tools.json", [spec])
    (tool,) = plan({"file": "data/tools.json"}).tools
    assert tool.input_schema == {"type": "object", "additionalProperties": True}
    assert not tool.description


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"description": "Send."}, "spec 1 of the selection has no `name`"),
        ({"name": ""}, "spec 1 of the selection has no `name`"),
        ({"name": 3}, "spec 1 of the selection has no `name`"),
        ({"type": "function", "function": {"parameters": {}}}, "spec 1 of the selection has no `name`"),
        ("send", "spec 1 of the selection is no tool spec but str"),
        (None, "spec 1 of the selection is no tool spec but NoneType"),
        ([], "spec 1 of the selection is no tool spec but list"),
        ({"name": "send", "description": ["Send."]}, "the description of 'send' is no text"),
        ({"name": "send", "title": 3}, "the title of 'send' is no text"),
        ({"name": "send", "annotations": "safe"}, "the annotations of 'send'"),
        ({"name": "send", "annotations": {"readOnlyHint": "yes"}}, "the annotations of 'send'"),
        ({"name": "send", "parameters": []}, "the schema of 'send' is no object"),
        ({"name": "send", "parameters": True}, "the schema of 'send' is no object"),
        ({"name": "send", "parameters": {}, "input_schema": SCHEMA}, "'send' has two different schemas"),
    ],
)
def test_what_is_no_spec_is_refused(spec: Any, says: str, put: Put, findings: Findings) -> None:
    path = put("data/tools.json", [spec])
    (found,) = findings({"file": "data/tools.json"})
    assert (found.code, found.file, found.line) == ("GMM403", str(path), 1)
    assert says in found.message
    assert "`select`" in str(found.hint)


def test_specs_are_counted_from_one(put: Put, findings: Findings) -> None:
    put("data/tools.json", [{"name": "send"}, {"nme": "forward"}])
    put("data/tools.jsonl", '{"tools": [{"name": "look"}, {"name": "find"}, {}]}\n')
    for source, spec in (({"file": "data/tools.json"}, 2), ({"file": "data/tools.jsonl", "select": "tools"}, 3)):
        (found,) = findings(source)
        assert found.message.startswith(f"spec {spec} of the selection has no `name` (at /")


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "array"}, "its root has type 'array'"),
        ({"type": ["object", "null"]}, "its root has type ['object', 'null']"),
        ({"properties": {"a": {"type": "strange"}}}, "properties/a/type"),
        ({"required": "a"}, "required"),
        ({"properties": []}, "properties"),
    ],
)
def test_a_schema_that_clients_refuse_is_found_by_name(
    schema: dict[str, Any], says: str, put: Put, findings: Findings
) -> None:
    put("data/tools.json", [{"name": "ok"}, {"name": "send", "parameters": schema}])
    (found,) = findings({"file": "data/tools.json"})
    assert found.code == "GMM209"
    assert "'send'" in found.message
    assert says in found.message


# Files.


def test_json_jsonl_and_yaml_are_read_by_their_suffix(put: Put, names: Names) -> None:
    put("data/a.json", {"tools": [{"name": "a1"}, {"name": "a2"}]})
    put("data/b.jsonl", '{"tools": [{"name": "b1"}]}\n\n  \r\n{"tools": [{"name": "b2"}]}\r\n{"tools": null}')
    put("data/c.yaml", "tools:\n  - name: c1\n    description: yes, 'text'\n")
    put("data/d.yml", "tools: [{name: d1}]")
    put("data/E.JSON", {"tools": {"name": "e1"}})
    files = ["data/c.yaml", "data/a.json", "data/b.jsonl", "data/d.yml", "data/E.JSON"]
    assert names({"file": files, "select": "tools"}) == ["c1", "a1", "a2", "b1", "b2", "d1", "e1"]


def test_a_glob_takes_its_files_in_the_order_of_their_names(put: Put, names: Names) -> None:
    for name in ("b", "a", "c", "a_rollouts"):
        put(f"data/{name}.json", [{"name": f"tool_{name}"}])
    put("data/deep/z.json", [{"name": "tool_z"}])
    put("data/other.txt", "no data")
    (put("data/x.json", "").parent / "dir.json").mkdir()
    (put("data/x.json", "")).unlink()
    source = {"file": "data/*.json", "except": ["*rollouts*"]}
    assert names(source) == ["tool_a", "tool_b", "tool_c"]
    assert names({"file": ["data/c.json", "data/deep/**/*.json"]}) == ["tool_c", "tool_z"]


def test_select_applies_to_each_line_and_unites_what_they_give(put: Put, names: Names) -> None:
    rows = [{"params": {"tools": [{"name": name, "parameters": SCHEMA}]}} for name in ("a", "b", "a")]
    put("data/rows.jsonl", "\n".join(map(json.dumps, [*rows, {"params": {}}, {"params": {"tools": []}}])))
    assert names({"file": "data/rows.jsonl", "select": "params.tools[]"}) == ["a", "b"]


def test_include_and_exclude_are_globs_over_names(put: Put, names: Names) -> None:
    put("data/tools.json", [{"name": name} for name in ("mail_send", "mail_purge", "call", "Mail_x")])
    assert names({"file": "data/tools.json", "include": ["mail_*", "call"], "exclude": ["*_purge"]}) == [
        "mail_send",
        "call",
    ]


@pytest.mark.parametrize("key", ["include", "exclude"])
def test_a_glob_over_names_that_matches_nothing_is_refused(key: str, put: Put, findings: Findings) -> None:
    put("data/tools.json", [{"name": "send"}, {"name": "sort"}])
    source = {"file": "data/tools.json", key: ["so*", "sendd"]}
    (found,) = findings(source)
    assert (found.code, str(found.file).rpartition("/")[2]) == ("GMM601", "mcp.yaml")
    assert found.line
    assert "did you mean `send`?" in str(found.hint)
    assert findings({**source, "optional": True}) == []


def test_sources_follow_each_other_in_the_order_of_the_manifest(put: Put, names: Names) -> None:
    put("data/tools.json", [{"name": "b"}, {"name": "a"}])
    assert names({"name": "z"}, {"file": "data/tools.json"}, {"name": "c"}) == ["z", "b", "a", "c"]


# Conflicts.


def test_two_different_specs_of_one_name_are_refused_with_both_places(put: Put, findings: Findings) -> None:
    one, two = {"name": "a", "description": "One."}, {"name": "a", "description": "Two."}
    path = put("data/rows.jsonl", "\n".join(map(json.dumps, [one, {"name": "b"}, two, two])))
    (found,) = findings({"file": "data/rows.jsonl"})
    assert (found.code, found.file, found.line) == ("GMM404", str(path), 3)
    assert [(note, span.file, span.line) for note, span in found.related] == [("first described at", str(path), 1)]
    assert "on_conflict: first" in str(found.hint)


def test_on_conflict_first_keeps_the_first(put: Put, plan: Callable[..., ExposurePlan]) -> None:
    specs = [{"name": "a", "description": text} for text in ("One.", "Two.")]
    put("data/rows.jsonl", "\n".join(map(json.dumps, specs)))
    (tool,) = plan({"file": "data/rows.jsonl", "on_conflict": "first"}).tools
    assert tool.description == "One."


def test_specs_of_two_sources_conflict_too(put: Put, findings: Findings) -> None:
    put("data/tools.json", [{"name": "a", "description": "One."}])
    (found,) = findings({"name": "a"}, {"file": "data/tools.json"})
    assert found.code == "GMM404"
    assert found.related[0][1].file.endswith("mcp.yaml")


@pytest.mark.parametrize("order", ["parameters", "inputSchema"])
def test_one_spec_in_two_forms_is_no_conflict(order: str, put: Put, names: Names) -> None:
    put("data/tools.json", [FORMS["Anthropic"], {**FORMS["bare"], "parameters": None, order: SCHEMA}])
    assert names({"file": "data/tools.json"}) == ["send"]


# What is not there.


@pytest.mark.parametrize("file", ["data/no.json", "data/*.json", "no/*.json", "data/no.json/x"])
def test_a_file_that_is_not_there_is_named_with_the_line_that_wants_it(file: str, findings: Findings) -> None:
    (found,) = findings({"file": file})
    assert found.code == "GMM405"
    assert repr(file) in found.message
    assert found.line


def test_an_optional_source_may_find_nothing(put: Put, names: Names) -> None:
    put("data/empty.json", [])
    put("data/some.json", [{"name": "a"}])
    for file in ("data/no.json", "no/*.json", "data/empty.json"):
        assert names({"file": file, "optional": True}, {"name": "z"}) == ["z"]


def test_an_optional_source_gives_what_its_other_files_hold(put: Put, names: Names) -> None:
    put("data/some.json", [{"name": "a"}])
    for files in (["data/no.json", "data/some.json"], ["data/some.json", "no/*.json"]):
        assert names({"file": files, "optional": True}) == ["a"]


def test_an_optional_source_may_not_be_broken(put: Put, findings: Findings) -> None:
    put("data/broken.json", "[")
    (found,) = findings({"file": "data/broken.json", "optional": True})
    assert found.code == "GMM401"


@pytest.mark.parametrize("select", ["tools", "tool[]", "tools[?name=='x']", "`null`"])
def test_a_source_that_gives_no_tool_is_refused(select: str, put: Put, findings: Findings) -> None:
    put("data/tools.json", {"tools": []})
    (found,) = findings({"file": "data/tools.json", "select": select})
    assert found.code == "GMM405"
    assert "`select`" in str(found.hint)


# What is broken.

BROKEN = {
    "cut short": ("a.json", '[{"name": "a"}', 1, "not JSON"),
    "cut short below": ("a.json", '[\n  {"name": "a"},\n', 3, "not JSON"),
    "empty": ("a.json", "", 1, "not JSON"),
    "a comment": ("a.json", '// no\n[{"name": "a"}]', 1, "not JSON"),
    "a trailing comma": ("a.json", '[\n{"name": "a"},]', 2, "not JSON"),
    "a duplicate key": ("a.json", '[{"name": "a", "name": "b"}]', 1, "'name' occurs twice"),
    "a duplicate key within": ("a.json", '[{"name": "a", "parameters": {"x": 1, "x": 1}}]', 1, "'x' occurs twice"),
    "not a number": ("a.json", '[{"name": "a", "parameters": {"default": NaN}}]', 1, "NaN is not JSON"),
    "infinite": ("a.json", '[{"name": "a", "parameters": {"maximum": -Infinity}}]', 1, "-Infinity is not JSON"),
    "too large a number": ("a.json", '[{"name": "a", "parameters": {"maximum": 1e999}}]', 1, "1e999 is out of"),
    "half a character": ("a.json", '[{"name": "a", "description": "\\ud83d"}]', 1, "surrogate"),
    "too deep": ("a.json", "[" * 200_000, 1, "nested too deeply"),
    "a broken line": ("a.jsonl", '{"name": "a"}\n{"name": \n{"name": "c"}', 2, "not JSON"),
    "two values in a line": ("a.jsonl", '{"name": "a"}\n\n{"name": "b"} {"name": "c"}', 3, "not JSON"),
    "a duplicate key in a line": ("a.jsonl", '{"name": "a"}\n{"name": "b", "name": "c"}', 2, "occurs twice"),
    "JSON over lines": ("a.jsonl", '{\n"name": "a"\n}', 1, "not JSON"),
    "YAML": ("a.yaml", "- name: a\n  name: b\n", 2, "name"),
    "YAML syntax": ("a.yaml", "- name: [a\n", 1, "bracket"),
    "a control character": ("a.json", '[{"name": "a\x00"}]', 1, "U+0000"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_data_are_refused_at_their_line(case: str, put: Put, findings: Findings) -> None:
    name, content, line, says = BROKEN[case]
    path = put(f"data/{name}", content)
    found = findings({"file": f"data/{name}"})[0]
    assert (found.file, found.line) == (str(path), line)
    assert found.code.startswith(("GMM401", "GMM1"))
    assert says in found.message


def test_a_whole_pair_of_surrogates_is_a_character(put: Put, plan: Callable[..., ExposurePlan]) -> None:
    put("data/a.json", '[{"name": "a", "description": "\\ud83d\\ude00 \\\\ud83d"}]')
    (tool,) = plan({"file": "data/a.json"}).tools
    assert tool.description == "😀 \\ud83d"


def test_a_byte_order_mark_is_no_fault_and_other_encodings_are(
    folder: Path, names: Names, findings: Findings
) -> None:
    (folder / "data" / "bom.json").write_bytes(b'\xef\xbb\xbf[{"name": "a"}]')
    assert names({"file": "data/bom.json"}) == ["a"]
    (folder / "data" / "latin.json").write_bytes(b'[{"name": "a", "description": "\xe9"}]')
    (found,) = findings({"file": "data/latin.json"})
    assert found.code == "GMM401"
    assert "UTF-8" in found.message


def test_a_folder_is_no_data_file(findings: Findings) -> None:
    (found,) = findings({"file": "data"})
    assert found.code == "GMM401"
    assert "it is a directory" in found.message


@pytest.mark.parametrize("name", ["data/tools.txt", "data/tools", "data/tools.csv"])
def test_a_file_of_another_kind_is_refused(name: str, put: Put, findings: Findings) -> None:
    put(name, "[]")
    (found,) = findings({"file": name})
    assert found.code == "GMM401"
    assert ".jsonl" in str(found.hint)


def test_a_select_that_fails_on_the_data_names_both(put: Put, findings: Findings) -> None:
    put("data/rows.jsonl", '{"tools": []}\n{"tools": 3}')
    (found,) = findings({"file": "data/rows.jsonl", "select": "sort(tools)"})
    assert found.code == "GMM208"
    assert str(found.file).endswith("mcp.yaml")
    assert "rows.jsonl:2" in found.message


def test_faults_of_several_sources_come_together(put: Put, findings: Findings) -> None:
    put("data/broken.json", "[")
    codes = [d.code for d in findings({"file": "data/broken.json"}, {"file": "data/no.json"}, {"file": "../x"})]
    assert sorted(codes) == ["GMM401", "GMM402", "GMM405"]


# Nothing is read from outside the server's folder.

ESCAPES = [
    "../outside.json",
    "data/../../outside.json",
    "data/../data/in.json",
    "../*.json",
    "data/../*.json",
    "/etc/passwd",
    "/etc/*.json",
    "..\\outside.json",
    "data\\in.json",
    "link.json",
    "data/link.json",
    "linked/outside.json",
    "linked/*.json",
    "lin*/outside.json",
    "data/l*.json",
]


@pytest.fixture
def linked(folder: Path, put: Put) -> Path:
    """A folder with links that lead out of it."""
    put("data/in.json", [{"name": "inside"}])
    (folder / "link.json").symlink_to(folder.parent / "outside.json")
    (folder / "data" / "link.json").symlink_to("../../outside.json")
    (folder / "linked").symlink_to(folder.parent)
    return folder


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("form", ["text", "list"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_path_out_of_the_folder_is_refused_as_it_is_written(escape: str, form: str, findings: Findings) -> None:
    (found,) = findings({"file": escape if form == "text" else ["data/in.json", escape], "optional": True})
    assert found.code == "GMM402"
    assert repr(escape) in found.message
    assert str(found.file).endswith("mcp.yaml")
    inside = str(found.hint) in ("write `data/in.json`", "write `*.json`")
    assert inside or "outside the server's folder" in found.message


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("escape", [e for e in ESCAPES if "*" not in e])
def test_a_schema_file_out_of_the_folder_is_refused_too(escape: str, findings: Findings) -> None:
    (found,) = findings({"name": "a"}, tools={"a": {"input_schema": escape}})
    assert (found.code, repr(escape) in found.message) == ("GMM402", True)


def test_links_within_the_folder_are_followed(folder: Path, put: Put, names: Names) -> None:
    put("data/real/tools.json", [{"name": "a"}])
    (folder / "alias.json").symlink_to("data/real/tools.json")
    (folder / "short").symlink_to("data/real")
    assert names({"file": ["alias.json", "short/*.json"]}) == ["a"]


def test_a_folder_reached_by_a_link_is_the_folder(folder: Path, put: Put) -> None:
    put("data/tools.json", [{"name": "a"}])
    put("mcp.yaml", "version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]")
    link = folder.parent / "by_link"
    link.symlink_to(folder)
    assert errors_among(check_specs(load_manifest(link / "mcp.yaml"))) == ()


@pytest.mark.parametrize(
    "path", ["loop.json", "a\x00b.json", "x" * 5000 + ".json", "data/**.json", "data/[.json", "", "."]
)
def test_odd_paths_are_findings_and_no_crash(path: str, folder: Path, findings: Findings) -> None:
    (folder / "loop.json").symlink_to("loop.json")
    (found,) = findings({"file": path})
    assert found.code in ("GMM401", "GMM405")


def test_what_an_operator_writes_may_lie_anywhere(
    folder: Path,
    put: Put,
    names: Names,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put("data/tools.json", [{"name": "a"}])
    monkeypatch.chdir(folder.parent)
    absolute = str(folder.parent / "outside.json")
    for file in (absolute, "outside.json", "./server/../outside.json", str(folder.parent / "out*.json")):
        patch = {"catch_all_add": [{"route": "/{path}", "tools": [{"file": file}]}]}
        assert names(instance={"mcp": patch}) == ["stolen"]
    replaced = {"catch_all": [{"route": "/{path}", "tools": [{"file": absolute}]}]}
    assert names({"file": "data/tools.json"}, instance={"mcp": replaced}) == ["stolen"]


def test_a_patch_elsewhere_does_not_open_the_manifests_own_paths(folder: Path, findings: Findings) -> None:
    assert findings({"file": "../outside.json"})[0].code == "GMM402"
    patched = load_manifest(folder / "mcp.yaml").under({"server": {"title": "x"}}, "the block")
    assert [d.code for d in check_specs(patched)] == ["GMM402"]


def test_data_lie_in_another_folder_where_one_is_given(tmp_path: Path, put: Put, folder: Path) -> None:
    put("data/tools.json", "[")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mcp.yaml").write_text("version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]")
    (found,) = errors_among(check_specs(load_manifest(elsewhere / "mcp.yaml"), folder))
    assert found.file == str(folder / "data" / "tools.json")


# Schemas of tools.


@pytest.mark.parametrize("name", ["schema.json", "schema.yaml"])
def test_a_tools_schema_may_be_a_file(name: str, put: Put, plan: Callable[..., ExposurePlan]) -> None:
    put(f"data/{name}", SCHEMA)
    (tool,) = plan({"name": "a"}, tools={"a": {"input_schema": f"data/{name}"}}).tools
    assert tool.input_schema == SCHEMA


@pytest.mark.parametrize(
    ("content", "code"), [("[]", "GMM209"), ("3", "GMM209"), ("{", "GMM401"), (None, "GMM405")]
)
def test_a_schema_file_that_holds_none_is_refused(
    content: str | None, code: str, put: Put, findings: Findings
) -> None:
    if content is not None:
        put("data/schema.json", content)
    (found,) = findings({"name": "a"}, tools={"a": {"input_schema": "data/schema.json"}})
    assert found.code == code


def test_a_schema_in_the_manifest_is_judged_at_its_line(folder: Path, findings: Findings) -> None:
    (found,) = findings({"name": "a"}, tools={"a": {"input_schema": {"type": "array"}}})
    assert (found.code, found.file) == ("GMM209", str(folder / "mcp.yaml"))
    assert found.line == 7


def test_a_root_without_a_type_is_an_object() -> None:
    assert advertised_form({}) == {"type": "object"}
    assert advertised_form({"properties": {}}) == {"type": "object", "properties": {}}


def test_a_root_that_is_a_reference_is_written_out_and_recursion_stays() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    rooted = advertised_form({"$ref": "#/$defs/Node", "$defs": {"Node": node}, "description": "A chain."})
    assert rooted == {**node, "$defs": {"Node": node}, "description": "A chain."}
    assert schema_faults(rooted) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A"},
        {"$ref": "#/$defs/A", "$defs": []},
        {"$ref": "#/$defs/A", "$defs": {"B": {}}},
        {"$ref": "#/$defs/A", "$defs": {"A": True}},
        {"$ref": "#"},
        {"$ref": 3},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    ],
)
def test_odd_references_never_crash_and_are_never_fetched(schema: dict[str, Any]) -> None:
    rooted = advertised_form(schema)
    assert rooted["type"] == "object"
    schema_faults(rooted)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_a_schema_that_json_cannot_say_is_refused(value: Any) -> None:
    (fault,) = schema_faults({"type": "object", "default": value})
    assert "not JSON" in fault.message


def test_yaml_has_numbers_that_json_lacks(folder: Path) -> None:
    path = folder / "mcp.yaml"
    path.write_text("version: 1\ncatch_all: [{tools: [{name: a, input_schema: {maximum: .nan}}]}]")
    (found,) = errors_among(check_specs(load_manifest(path)))
    assert (found.code, found.line) == ("GMM209", 2)


def test_a_mapping_reads_its_data_from_the_folder_given(
    put: Put, folder: Path, make_app: Callable[..., FastAPI]
) -> None:
    put("data/tools.json", [{"name": "a"}])
    app = make_app()

    @app.post("/{path}")
    async def dispatch(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return body

    mapping = {"version": 1, "catch_all": [{"tools": [{"file": "data/tools.json"}]}]}
    assert manifest_from_mapping(mapping, folder).folder == folder
    tools = expose(app, name="unit", manifest=mapping, instance=ON, folder=folder).tools
    assert [tool.name for tool in tools] == ["a"]

"""What is wrong within JSON Schemas: every fault, in plain words, at its own line wherever it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.loader import load_manifest
from gym_mcp_manifest.manifest.schemafaults import schema_faults
from gym_mcp_manifest.manifest.speccheck import check_specs

Check = Callable[..., list[Diagnostic]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The findings about a manifest and its files, in the order of their places."""

    def check_(manifest: str, **files: str) -> list[Diagnostic]:
        for name, text in {"mcp.yaml": f"version: 1\n{manifest}", **files}.items():
            (tmp_path / name.replace("_", ".")).write_text(text, encoding="utf-8")
        found = check_specs(load_manifest(tmp_path / "mcp.yaml"))
        return sorted((d for d in found if d.code != "GMM708"), key=lambda d: d.span or 0)

    return check_


def places(found: list[Diagnostic]) -> list[tuple[str, int | None, int | None]]:
    return [(d.code, d.line, d.column) for d in found]


SCHEMA = """\
{"name": "look",
 "parameters": {
  "properties": {
   "a": {"type": "strin"}, "b": {"type": ["string", "int"]},
   "c": {"required": true, "$ref": "#/$defs/ather"}
  },
  "$defs": {"other": {}}
 }}
"""


@pytest.mark.parametrize("name", ["t_json", "t_yaml"])
def test_every_fault_of_a_schema_in_data_has_its_own_place(name: str, check: Check) -> None:
    found = check(f"catch_all: [{{tools: [{{file: {name.replace('_', '.')}}}]}}]", **{name: SCHEMA})
    assert places(found) == [
        ("GMM209", 4, 18),
        ("GMM209", 4, 53),
        ("GMM209", 5, 22),
        ("GMM209", 5, 36),
    ]
    assert [d.message.rpartition(" (at ")[2] for d in found] == [
        f"/parameters/properties/{rest})" for rest in ("a/type", "b/type/1", "c/required", "c/$ref")
    ]
    assert [str(d.hint).partition("?")[0] for d in found] == [
        "did you mean `string`",
        "did you mean `integer`",
        "list the property's name in `required` of the object that has it",
        "did you mean `#/$defs/other`",
    ]


def test_a_fault_in_a_row_of_jsonl_has_its_line_and_column(check: Check) -> None:
    row = '{"tools": [{"name": "%s", "parameters": {"properties": {"x": {"type": "%s"}}}}]}'
    text = "\n".join([row % ("a", "string"), "  " + row % ("b", "text")])
    (found,) = check("catch_all: [{tools: [{file: t.jsonl, select: tools}]}]", t_jsonl=text)
    assert (found.line, found.column) == (2, text.splitlines()[1].index('"text"') + 1)
    assert "/tools/0/parameters/properties/x/type" in found.message


def test_a_schema_that_a_query_takes_out_of_its_spec_is_still_found(check: Check) -> None:
    text = '[{"n": "a",\n "p": {"properties": {"x":\n {"type": "text"}}}}]'
    (found,) = check("catch_all: [{tools: [{file: t.json, select: '[].{name: n, parameters: p}'}]}]", t_json=text)
    assert (found.line, found.column) == (3, 11)
    assert "(at /0/p/properties/x/type)" in found.message


def test_a_fault_in_the_manifest_or_in_a_schema_file_has_its_place(check: Check) -> None:
    manifest = """\
catch_all:
  - tools:
      - name: one
        input_schema:
          properties:
            a: {type: objekt}
tools:
  two:
    input_schema: s.json
  three:
    output_schema:
      properties:
        b: string
"""
    inline, reply, file = check(manifest, s_json='{"properties":\n {"c": {"minLength": -1}}}')
    assert places([inline, reply, file]) == [("GMM209", 7, 23), ("GMM209", 14, 12), ("GMM209", 2, 22)]
    assert "expected a schema for `b`, found the text `string`" in reply.message
    assert reply.hint == "write `{type: string}`"
    assert "`minLength`: expected at least 0, found the number `-1` (at /properties/c/minLength)" in file.message


def test_faults_behind_a_root_reference_and_in_a_wrapped_reply_are_placed_as_written(check: Check) -> None:
    manifest = """\
tools:
  a:
    input_schema:
      $ref: "#/$defs/A"
      $defs:
        A: {properties: {x: {type: text}}}
  b:
    output_schema: {type: array, items: {type: text}}
"""
    first, second = check(manifest)
    assert places([first, second]) == [("GMM209", 7, 36), ("GMM209", 9, 48)]
    assert "(at $defs/A/properties/x/type)" in first.message
    assert "(at items/type)" in second.message


@pytest.mark.parametrize("word", ["str", "text", "String", "int", "float", "dict", "list", "bool", "none"])
def test_a_type_of_another_language_is_translated(word: str) -> None:
    meant = {"int": "integer", "float": "number", "dict": "object", "list": "array", "bool": "boolean"}
    (fault,) = schema_faults({"type": "object", "properties": {"a": {"type": word}}})
    kind = meant.get(word, "null" if word == "none" else "string")
    assert fault.message == f"`{word}` is no type of JSON Schema"
    assert fault.hint.startswith(f"did you mean `{kind}`? The types are array, boolean, integer, ")


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "any": ({"type": "any"}, "`any` is no type"),
    "null without quotes": ({"type": ["string", None]}, "`null` is no type"),
    "no types": ({"type": []}, "expected at least one entry"),
    "a type twice": ({"type": ["string", "string"]}, "an entry stands there twice"),
    "a mapping as a type": ({"type": {}}, "expected the name of a type, or a list of names, found a mapping"),
    "a list of properties": ({"properties": []}, "`properties`: expected a mapping, found a list"),
    "a text as required": ({"required": "a"}, "`required`: expected a list, found the text `a`"),
    "a bad pattern": ({"pattern": "("}, "`(` is no regular expression"),
    "no choice": ({"anyOf": []}, "`anyOf`: expected at least one entry"),
    "no multiple": ({"multipleOf": 0}, "expected more than 0, found the number `0`"),
    "required twice": ({"required": ["a", "a"]}, "an entry stands there twice"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told_in_plain_words(case: str) -> None:
    part, says = FAULTS[case]
    faults = schema_faults({"type": "object", "properties": {"p": part}})
    assert any(says in fault.message and fault.hint for fault in faults)
    assert not any("is not valid under any" in fault.message for fault in faults)


def test_an_address_that_is_none_is_a_fault() -> None:
    schema = {"type": "object", "$id": "http://a.example/", "properties": {"a": {"$id": "http://["}}}
    (fault,) = schema_faults(schema)
    assert "no address" in fault.message


def test_of_very_many_faults_the_first_and_their_number_are_told() -> None:
    schema = {"type": "object", "properties": {f"p{n:02}": {"type": "text"} for n in range(25)}}
    faults = schema_faults(schema)
    assert len(faults) == 11
    assert faults[-1].message == "15 more faults besides"


def test_what_an_instance_says_is_never_quoted(tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("version: 1")
    patch = {"tools": {"a": {"input_schema": {"properties": {"x": {"type": "hunter2"}}}}}}
    (found,) = check_specs(load_manifest(tmp_path / "mcp.yaml").under(patch, "the block"))
    assert (found.code, found.file) == ("GMM209", "the block")
    assert "hunter2" not in str(found)
    assert "(at properties/x/type)" in found.message


def test_what_json_cannot_say_is_placed(check: Check) -> None:
    (found,) = check("tools:\n  a:\n    input_schema:\n      properties: {x: {maximum: .nan}}\n")
    assert places([found]) == [("GMM209", 5, 33)]


def test_what_a_client_cannot_take_is_placed_at_the_property(check: Check) -> None:
    spec = '[{"name": "a", "description": "A.", "parameters": {\n "properties": {\n  "a b": {"type": "string"}}}}]'
    (found,) = check("catch_all: [{tools: [{file: t.json}]}]", t_json=spec)
    assert places([found]) == [("GMM707", 3, 3)]
    deep = json.dumps({"name": "a", "description": "A.", "parameters": {"properties": {"n": {"maximum": 2**60}}}})
    (found,) = check("catch_all: [{tools: [{file: t.json}]}]", t_json=deep)
    assert places([found]) == [("GMM707", 1, deep.index('"maximum"') + 1)]

"""Findings inside data files: the line, the column and the pointer of the very object, whatever the format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.datafile import DataDocument, DataProblem, read_documents
from gym_mcp_manifest.manifest.loader import load_manifest
from gym_mcp_manifest.manifest.objects import json_objects
from gym_mcp_manifest.manifest.speccheck import check_specs

Read = Callable[[str, str], list[DataDocument]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_(name: str, text: str) -> list[DataDocument]:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return list(read_documents(path, name))

    return read_


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[Diagnostic]]:
    """The errors of a manifest with one source."""

    def found_(name: str, text: str, select: str) -> list[Diagnostic]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        source = json.dumps({"file": name, "select": select})
        (tmp_path / "mcp.yaml").write_text(f"version: 1\ncatch_all: [{{tools: [{source}]}}]\n", encoding="utf-8")
        return [d for d in check_specs(load_manifest(tmp_path / "mcp.yaml")) if d.severity == "error"]

    return found_


Found = Callable[..., list[Diagnostic]]

JSON = """\
{"tools": [
  {"name": "a", "parameters": {"type": "object"}},
    {"name": "b"},
  {"nme": "\\u00e9 [{"}, [{"deep": 1}]
]}
"""


def place(document: DataDocument, part: Any) -> tuple[str, str | None]:
    return str(document.place_of(part)), document.pointer_to(part)


def test_objects_of_json_are_found_where_they_open(read: Read) -> None:
    (document,) = read("t.json", JSON)
    tools = document.value["tools"]
    assert place(document, document.value) == ("t.json:1:1", "")
    assert place(document, tools) == ("t.json:1:11", "/tools")
    assert place(document, tools[0]) == ("t.json:2:3", "/tools/0")
    assert place(document, tools[0]["parameters"]) == ("t.json:2:31", "/tools/0/parameters")
    assert place(document, tools[1]) == ("t.json:3:5", "/tools/1")
    assert place(document, tools[3][0]) == ("t.json:4:26", "/tools/3/0")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_of_json_end_as_in_an_editor(end: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(JSON.replace("\n", end).encode())
    (document,) = read_documents(path, "t.json")
    assert place(document, document.value["tools"][1]) == ("t.json:3:5", "/tools/1")


def test_objects_of_a_jsonl_row_have_its_line_and_their_column(read: Read) -> None:
    first, second = read("t.jsonl", '{"tools": [{"name": "a"}]}\n\n  {"tools": [{"name": "b"}]}\n')
    assert place(first, first.value["tools"][0]) == ("t.jsonl:1:12", "/tools/0")
    assert str(second.span) == "t.jsonl:3:3"
    assert place(second, second.value["tools"][0]) == ("t.jsonl:3:14", "/tools/0")


def test_objects_of_yaml_are_placed_by_their_nodes(read: Read) -> None:
    text = "tools:\n- &a\n  name: a\n- {name: b, list: [1, {c: 2}]}\n- *a\n"
    (document,) = read("t.yaml", text)
    tools = document.value["tools"]
    assert place(document, tools) == ("t.yaml:2:1", "/tools")
    assert place(document, tools[1]) == ("t.yaml:4:3", "/tools/1")
    assert place(document, tools[1]["list"][1]) == ("t.yaml:4:23", "/tools/1/list/1")
    # What an alias repeats is one object, and stands where it is written.
    assert place(document, tools[2]) == place(document, tools[0]) == ("t.yaml:2:3", "/tools/0")


@pytest.mark.parametrize("name", ["t.json", "t.yaml"])
def test_keys_are_escaped_in_pointers(name: str, read: Read) -> None:
    (document,) = read(name, '{"a/b": {"~": {"": {"c": [{}]}}}}')
    deep = document.value["a/b"]["~"][""]["c"][0]
    assert document.pointer_to(deep) == "/a~1b/~0//c/0"


@pytest.mark.parametrize("name", ["t.json", "t.yaml", "t.jsonl"])
def test_what_a_query_made_anew_is_placed_at_its_document(name: str, read: Read) -> None:
    (document,) = read(name, '{"a": [1]}')
    for made in ({"a": [1]}, [], "a", None, 1):
        assert (document.place_of(made), document.pointer_to(made)) == (document.span, None)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('[]{}":\\/a\n\u00e9', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('[{"\\a', max_size=4), inner, max_size=4),
    max_leaves=25,
)


def every_object(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from every_object(inner)


def at(pointer: str, value: Any) -> Any:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_every_object_of_any_json_is_found(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    parsed = json.loads(text)
    objects = json_objects(parsed, text, "t.json")
    lines = text.split("\n")
    for part in every_object(parsed):
        span, pointer = objects.span(part), objects.pointer(part)
        assert span is not None
        assert pointer is not None
        assert at(pointer, parsed) is part
        rest = "\n".join([lines[span.line - 1][span.column - 1 :], *lines[span.line :]])
        assert json.JSONDecoder().raw_decode(rest)[0] == part


def test_findings_about_a_spec_stand_at_the_spec(found: Found) -> None:
    (broken,) = found("t.json", JSON, "tools[:3]")
    assert (broken.code, broken.line, broken.column) == ("GMM403", 4, 3)
    assert broken.message.endswith("has no `name` (at /tools/2)")
    rows = [
        '{"tools": [{"name": "a"},',
        ' {"name": "b", "parameters": {"type": "array"}},',
        ' {"name": "a", "title": "A"}]}',
    ]
    text = "\n".join(rows)
    schema, clash = sorted(found("t.json", text, "tools"), key=lambda d: d.code)
    assert (schema.code, schema.line, schema.column) == ("GMM209", 2, 39)
    assert (clash.code, clash.line, clash.column) == ("GMM404", 3, 2)
    assert [str(span).rpartition("t.json:")[2] for _, span in clash.related] == ["1:12"]


def test_a_repeated_spec_is_placed_where_it_stands_first(found: Found) -> None:
    row = '{"tools": [{"name": "a", "parameters": {"type": "array"}}]}'
    (only,) = found("t.jsonl", f"{row}\n{row}\n", "tools")
    assert (only.code, only.line, only.column) == ("GMM209", 1, 49)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ('{\n  "a": 1,\n  "b": {"a": 1, "c": 2, "c": 3}\n}', (3, 25, 28), "the key 'c' occurs twice"),
        ('[{"a": "a", "\\u0061": 1}]', (1, 13, 21), "the key 'a' occurs twice"),
        ('["NaN",\n NaN]', (2, 2, 5), "NaN is not JSON"),
        ('["-Infinity", -Infinity]', (1, 15, 24), "-Infinity is not JSON"),
        ('["1e999", {"a": 1e999}]', (1, 17, 22), "1e999 is out of range"),
        (f"[1,\n{'9' * 5000}]", (2, 1, 5001), "is out of range"),
        ('["\\ud83d\\ude00", "\\ud83d"]', (1, 18, 26), "half of a surrogate pair"),
        ("[1,\n  2,,]", (2, 5, 6), "not JSON"),
    ],
)
def test_what_is_wrong_with_json_has_its_place(
    text: str, place: tuple[int, int, int], says: str, read: Read
) -> None:
    for name, shift in (("t.json", 0), ("t.jsonl", 1)):
        if name == "t.jsonl" and "\n" in text:
            continue
        with pytest.raises(DataProblem) as raised:
            read(name, "\n" * shift + text)
        (finding,) = raised.value.found
        span = finding.span
        assert span is not None
        assert (span.line - shift, span.column, span.end_column) == place
        assert says in finding.message


def test_the_first_of_two_equal_keys_is_shown_too(read: Read) -> None:
    with pytest.raises(DataProblem) as raised:
        read("t.json", '{"x": [], "a": 1,\n "a": 2}')
    (finding,) = raised.value.found
    assert [(note, str(span)) for note, span in finding.related] == [("first written here", "t.json:1:11")]

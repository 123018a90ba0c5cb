"""The text stage: bytes to text, YAML to data with places, and a placed finding for all that is wrong."""

from __future__ import annotations

import json
import math
import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.source import SourceFile, decode_source, read_source
from gym_mcp_manifest.manifest.yamldoc import MAX_ALIAS_NODES, MAX_DEPTH, Document, Loader, parse_document

LOADERS: tuple[Loader, ...] = get_args(Loader)


@pytest.fixture(params=LOADERS)
def loader(request: pytest.FixtureRequest) -> Loader:
    if request.param == "libyaml" and not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    return request.param  # type: ignore[no-any-return]


def parse(text: str, loader: Loader | None = None) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    return parse_document(SourceFile("mcp.yaml", text), loader=loader)


def read(text: str, loader: Loader | None = None) -> Document:
    document, found = parse(text, loader)
    assert document is not None, found
    assert not found
    return document


def places(found: tuple[Diagnostic, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(d.code, d.line, d.column) for d in found]


def spread(document: Document, path: tuple[str | int, ...] = (), depth: int = 6) -> Iterator[Any]:
    """Every path with both of its spans."""
    yield path, document.span(path), document.span(path, key=True)
    value: Any = document.data
    for step in path:
        value = value[step]
    steps: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for step in steps if depth else ():
        yield from spread(document, (*path, step), depth - 1)


# Files and characters


def test_text_is_decoded_with_one_byte_order_mark_dropped(tmp_path: Path) -> None:
    file = tmp_path / "mcp.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\r\nb: 1\n")
    source, found = read_source(file, name="./mcp.yaml")
    assert source == SourceFile("./mcp.yaml", "a: é\r\nb: 1\n")
    assert not found
    assert [source.line(n) for n in range(5)] == ["", "a: é", "b: 1", "", ""]


def test_the_path_is_named_as_the_user_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, found = read_source("./no/such.yaml")
    assert [(d.code, d.file, d.line) for d in found] == [("GMM101", "./no/such.yaml", 1)]


@pytest.mark.parametrize("name", [".", "pipe", "bad\0name", "x" * 5000])
def test_what_is_no_readable_file_is_one_finding(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    source, found = read_source(tmp_path / name)
    assert source is None
    assert [d.code for d in found] == ["GMM101"]


def test_a_file_without_permission_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mcp.yaml"
    file.write_text("a: 1", encoding="utf-8")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    source, found = read_source(file)
    assert source is None
    assert found[0].code == "GMM101"
    assert "Permission denied" in found[0].message


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mcp.yaml"
    file.write_bytes(b"a: 12345")
    assert read_source(file, max_bytes=8)[0] is not None
    assert places(read_source(file, max_bytes=7)[1]) == [("GMM104", 1, 1)]
    assert decode_source("x", b"#" * (2 * 1024 * 1024))[0] is not None
    assert places(decode_source("x", b"#" * (2 * 1024 * 1024 + 1))[1]) == [("GMM104", 1, 1)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: 1\nb: \xff\n", ("GMM102", 2, 4)),
        ("é: é".encode() + b"\xc3", ("GMM102", 1, 5)),
        (b"\xef\xbb\xbfa\xff", ("GMM102", 1, 2)),
        ("a: 1".encode("utf-16"), ("GMM102", 1, 1)),
        (b"a: 1\r\nb: \x00\n", ("GMM103", 2, 4)),
        (b"a: \x1b[0m", ("GMM103", 1, 4)),
        (b"\xef\xbb\xbf\xef\xbb\xbfa: 1", ("GMM103", 1, 1)),
    ],
)
def test_bytes_that_are_no_text_are_placed(content: bytes, expected: tuple[str, int, int]) -> None:
    source, found = decode_source("mcp.yaml", content)
    assert source is None
    assert places(found) == [expected]


def test_every_control_character_is_found_at_once() -> None:
    _, found = decode_source("mcp.yaml", b"a: \x01\x02\n\x03")
    assert places(found) == [("GMM103", 1, 4), ("GMM103", 1, 5), ("GMM103", 2, 1)]


@pytest.mark.parametrize("character", ["\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\uffff", "\ud800"])
def test_characters_that_readers_of_yaml_take_differently_are_refused(character: str, loader: Loader) -> None:
    document, found = parse(f"a: 1\nb: x{character}y", loader)
    assert document is None
    assert places(found) == [("GMM103", 2, 5)]


def test_json_may_hold_the_characters_that_only_yaml_refuses() -> None:
    source, found = decode_source("data.json", '"\x7f\u2028\ufeff"'.encode())
    assert source is not None
    assert json.loads(source.text) == "\x7f\u2028\ufeff"
    assert not found


def test_no_character_that_passes_makes_a_parser_raise(loader: Loader) -> None:
    for start in range(0, 0x11000, 0x100):
        parse("# " + "".join(map(chr, range(start, start + 0x100))), loader)
        for code in range(start, min(start + 0x100, 0x300)):
            parse(f"a: x{chr(code)}y", loader)


# Data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(word, None) for word in ("null", "Null", "NULL", "~", "")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("0o17", 15),
        ("0xFf", 255),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("00.5", 0.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("9" * 4300, int("9" * 4300)),
        *[(word, word) for word in ("nULL", "tRUE", "0o8", "-0o7", "1e", ".", "+", "-.", "1.2.3", "٣", "/**")],
        ("'true'", "true"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("!!str", ""),
        ("!!int '7'", 7),
        ("!!float 3", 3.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!map {}", {}),
        ("!!seq []", []),
        ("!<tag:yaml.org,2002:str> 1", "1"),
    ],
)
def test_scalars_are_read_by_the_core_schema_of_yaml_1_2(text: str, value: object, loader: Loader) -> None:
    data = read(f"a: {text}", loader).data
    assert data == {"a": value}
    assert isinstance(data, dict)
    assert type(data["a"]) is type(value)


def test_a_process_that_limits_its_integers_gets_a_finding_for_longer_ones(loader: Loader) -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert places(parse("a: " + "9" * 641, loader)[1]) == [("GMM116", 1, 4)]
    finally:
        sys.set_int_max_str_digits(limit)


def test_not_a_number_is_a_number(loader: Loader) -> None:
    data: Any = read("[.nan, .NaN]", loader).data
    assert all(math.isnan(value) for value in data)


def test_tags_inside_brackets_are_applied(loader: Loader) -> None:
    assert read("[!!str 1, {a: !!int '2'}]", loader).data == ["1", {"a": 2}]


def test_text_is_kept_as_it_was_written(loader: Loader) -> None:
    text = 'a: ${oc.env:X} {b}\nc: |\n  x\ty\n\n  z\nd: >-\n  f\n  g\ne: "\\ud83d\\ude00 \\t"\nf: 😀 # c\n'
    expected = {"a": "${oc.env:X} {b}", "c": "x\ty\n\nz\n", "d": "f g", "e": "😀 \t", "f": "😀"}
    assert read(text, loader).data == expected


def test_tabs_in_quotes_block_scalars_and_comments_are_text(loader: Loader) -> None:
    text = "a: 'x\ty' # \tc\r\n#\t\nb: |\n  x\t y\n  \tz\n'k\t': {\"q\t\": \"\t\"}\nc: |2- #\t\n  \t\n"
    assert read(text, loader).data == {"a": "x\ty", "b": "x\t y\n\tz\n", "k\t": {"q\t": "\t"}, "c": "\t"}


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="without libyaml all is read by PyYAML")
def test_tabs_that_are_text_do_not_cost_the_fast_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("gym_mcp_manifest.manifest.yamldoc.PythonEvents")
    assert read("a: 'x\ty' # \t\nb: |\n  y\tz\n").data == {"a": "x\ty", "b": "y\tz\n"}


def test_a_question_mark_is_text_inside_brackets(loader: Loader) -> None:
    assert read("{city: {description: Which city?, x: a ? b}}", loader).data == {
        "city": {"description": "Which city?", "x": "a ? b"}
    }


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "---\n", "--- # x\n...\n"])
def test_an_empty_document_has_no_data_and_no_finding(text: str, loader: Loader) -> None:
    document = read(text, loader)
    assert document.data is None
    span = document.span(("a",))
    assert (span.line, span.column) == (1, 1)


def test_aliases_share_the_value_of_their_anchor(loader: Loader) -> None:
    data: Any = read("a: &x {k: [1]}\nb: *x\nc: &s text\nd: {*s : *s}\n", loader).data
    assert data == {"a": {"k": [1]}, "b": {"k": [1]}, "c": "text", "d": {"text": "text"}}
    assert data["a"] is data["b"]


def test_an_anchor_that_is_defined_again_stands_for_the_later_value(loader: Loader) -> None:
    assert read("[&a 1, *a, &a 2, *a, &a [&a 3, *a]]", loader).data == [1, 1, 2, 2, [3, 3]]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="the reference is libyaml's")
def test_a_large_file_is_read_as_pyyaml_reads_it() -> None:
    entry = (
        "  tool_{0}:\n    description: 'Tool {0}: does something'\n    input_schema:\n      type: object\n"
        "      properties:\n        city: {{type: string, description: The city to look up}}\n"
        "        days:\n          type: integer\n          default: 3\n      required: [city]\n"
        "    annotations: {{readOnlyHint: true, title: A title of some length that fills the line}}\n"
        "    title: A longer title for tool number {0}, so that the file is as large as real ones are\n"
    )
    text = "version: 1\ntools:\n" + "".join(entry.format(n) for n in range(2000))
    document = read(text)
    assert document.data == yaml.load(text, Loader=yaml.CSafeLoader)
    assert document.span(("tools", "tool_1999", "title")).line == 2 + 2000 * 12


# Places


def test_values_and_keys_have_places(loader: Loader) -> None:
    document = read("a: 1\nb:\n  - x: 'q'\n    y: [1, {z: w}]\n  - |\n    t\n\n\nc: end", loader)

    def at(*path: str | int, key: bool = False) -> tuple[int, int, int, int]:
        span = document.span(path, key=key)
        assert span.file == "mcp.yaml"
        return span.line, span.column, span.end_line, span.end_column

    assert at("a") == (1, 4, 1, 5)
    assert at("a", key=True) == (1, 1, 1, 2)
    assert at("b") == (3, 3, 9, 1)
    assert at("b", 0) == (3, 5, 4, 19)
    assert at("b", 0, "x") == (3, 8, 3, 11)
    assert at("b", 0, "x", key=True) == (3, 5, 3, 6)
    assert at("b", 0, "y") == (4, 8, 4, 19)
    assert at("b", 0, "y", 1, "z") == (4, 16, 4, 17)
    assert at("c") == (9, 4, 9, 7)


def test_a_path_that_leads_nowhere_gets_the_nearest_ancestor(loader: Loader) -> None:
    document = read("# c\na: {b: [1]}\n", loader)
    root = document.span(())
    assert (root.line, root.column, root.end_line, root.end_column) == (1, 1, 1, 4)
    assert document.span(("zzz",)) == root == document.span((0,))
    assert document.span(("a", "zzz", "y")) == document.span(("a",))
    assert document.span(("a", "zzz"), key=True) == document.span(("a",), key=True)
    assert document.span(("a", "b", 1)) == document.span(("a", "b")) == document.span(("a", "b", -1))
    assert document.span(("a", "b", 0, "deeper")) == document.span(("a", "b", 0))


def test_a_missing_value_is_placed_behind_its_colon(loader: Loader) -> None:
    for text in ("a:\nb: 1", "x: {a: , b: 1}", "x: {a: \n  , b: 1}", "b: 1\na:"):
        document = read(text, loader)
        path = ("a",) if "x" not in text else ("x", "a")
        span, key = document.span(path), document.span(path, key=True)
        assert (span.line, span.column) == (key.line, key.column + 2)


def test_no_place_lies_beyond_the_last_line(loader: Loader) -> None:
    span = read("? |", loader).span(("",))
    assert (span.line, span.column, span.end_line, span.end_column) == (1, 4, 1, 4)


def test_an_alias_is_placed_where_it_is_used_and_its_contents_where_they_are_written(loader: Loader) -> None:
    document = read("a: &x {k: [1]}\nb: *x\nc: [*x]\n", loader)
    assert (document.span(("b",)).line, document.span(("b",)).column) == (2, 4)
    assert (document.span(("c", 0)).line, document.span(("c", 0)).end_column) == (3, 7)
    assert document.span(("b", "k", 0)) == document.span(("a", "k", 0)) == document.span(("c", 0, "k", 0))
    assert document.span(("b", "k"), key=True) == document.span(("a", "k"), key=True)
    assert document.span(("b", "zzz")) == document.span(("b",))


def test_columns_count_characters_and_lines_end_as_in_editors(loader: Loader) -> None:
    document = read("'😀é': x\r\nb: x\rc: z\n", loader)
    assert [document.span((key,)).line for key in ("😀é", "b", "c")] == [1, 2, 3]
    assert document.span(("😀é",)).column == 7


# Faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", [("GMM106", 3, 1)]),
        ("x: {a: 1, 'a': 2, \"a\": 3}", [("GMM106", 1, 11), ("GMM106", 1, 19)]),
        ("- - k: 1\n    k: 2\n", [("GMM106", 2, 5)]),
        ("k: &a k\n*a : 2\n", [("GMM106", 2, 1)]),
        ("b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n", [("GMM107", 3, 3)]),
        ("c: {<<: [{a: 1}, {a: 2}], <<: {}}", [("GMM107", 1, 5), ("GMM107", 1, 27)]),
        ("1: x\n", [("GMM108", 1, 1)]),
        ("08: x\n", [("GMM108", 1, 1)]),
        ("null: x\n~: x\n1.5: z\ntrue: t\n", [("GMM108", n, 1) for n in (1, 2, 3, 4)]),
        ("? \n: x\n", [("GMM108", 1, 2)]),
        ("[a, b]: x\n", [("GMM108", 1, 1)]),
        ("{{a: 1}: x, ok: 1}\n", [("GMM108", 1, 2)]),
        ("? - a\n  - b\n: x\n", [("GMM108", 1, 3)]),
        ("k: &a [1]\n*a : 2\n", [("GMM108", 2, 1)]),
        ("!!int 1: 2\n", [("GMM108", 1, 1)]),
        ("a: !x 1\nb: !!binary eA==\n", [("GMM109", 1, 4), ("GMM109", 2, 4)]),
        ("a: !!python/object:os.system {}\n", [("GMM109", 1, 4)]),
        ("a: ! 1\n", [("GMM109", 1, 4)]),
        ("a: !!int x\nb: !!bool yes\nc: !!float no\nd: !!null 1\n", [("GMM109", n, 4) for n in (1, 2, 3, 4)]),
        ("a: !!map []\nb: !!str {}\nc: !!seq x\n", [("GMM109", n, 4) for n in (1, 2, 3)]),
        ("!x k: 1\n", [("GMM109", 1, 1)]),
        ("a: 1\n---\nb: 2\n", [("GMM110", 2, 1)]),
        ("---\n---\n", [("GMM110", 2, 1)]),
        ("a: *x\nb: [*y]\n", [("GMM111", 1, 4), ("GMM111", 2, 5)]),
        ("*x : 1\n", [("GMM111", 1, 1)]),
        ("a: &a [1, {b: *a}]\n", [("GMM112", 1, 15)]),
        ("a: &a\n  *a : 1\n", [("GMM112", 2, 3)]),
        (
            "a: 010\nb: [-007, 08, 00]\n",
            [("GMM115", 1, 4), ("GMM115", 2, 5), ("GMM115", 2, 11), ("GMM115", 2, 15)],
        ),
        ("a: !!int 010\n", [("GMM115", 1, 4)]),
        ("a: " + "0" * 5000, [("GMM115", 1, 4)]),
        ("a: " + "9" * 4301, [("GMM116", 1, 4)]),
        ("a: 0x" + "f" * 4000, [("GMM116", 1, 4)]),
        ("a: 1e999\nb: !!float " + "9" * 400, [("GMM116", 1, 4), ("GMM116", 2, 4)]),
        ('a: "\\ud800"', [("GMM105", 1, 4)]),
    ],
)
def test_a_fault_is_found_with_its_place(text: str, expected: list[tuple[str, int, int]], loader: Loader) -> None:
    document, found = parse(text, loader)
    assert places(found) == expected
    assert all(d.severity == "error" and d.span is not None and d.span.end_line for d in found)
    assert (document is None) == (expected[0][0] == "GMM110")


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a:\t1", 1, 3, "tab"),
        ("a:\n\tb: 1", 2, 1, "tab"),
        ("a: 1\t\n", 1, 5, "tab"),
        ("a: x\ty\n", 1, 5, "tab"),
        ("[a,\tb]", 1, 4, "tab"),
        ("a: |\t\n  x", 1, 5, "tab"),
        ("a: &a\t'x'", 1, 6, "tab"),
        ("a: b: c", 1, 5, "':'"),
        ("a: 1\nfoo\nb: 2", 2, 1, "`foo`"),
        ("a:\n  - x\n b: 1", 3, 2, "`b:`"),
        ("a: 'x' y", 1, 8, "`y`"),
        ("a: [1, 2\nb: 3", 2, 2, "','"),
        ("a: {x: 1, y: [", 1, 15, "end of the file"),
        ("a: [1", 1, 4, "never closed"),
        ("a: [1,", 1, 7, "closing bracket"),
        ('a: 1\nb: "x\n\n', 2, 4, "never closed"),
        ("a: 'x\n---\n", 2, 1, "`---`"),
        ('a: "\\q"', 1, 6, "escape"),
        ('a: "\\u12"', 1, 7, "cut short"),
        ('a: "\\UFFFFFFFF"', 1, 7, "out of range"),
        ("- *", 1, 3, "alias"),
        ("- **/x", 1, 3, "alias"),
        ("- @x", 1, 3, "`@x`"),
        ("- %x", 1, 3, "`%x`"),
        ("a: }", 1, 4, "`}`"),
        ("a: |x\n  y", 1, 5, "`x`"),
        ("a: |#x\n  y", 1, 5, "`#x`"),
        ("a: !e!x 1", 1, 4, "tag"),
        ("a: - b", 1, 4, "list"),
        ("[GET /items/{id}]", 1, 13, "`{id}]`"),
        ("a\n...\nb", 3, 1, "`b`"),
        ("%YAML 2.0\n---\na", 1, 1, "version"),
        ("%YAML 1 .2\n---\na", 1, 8, "' '"),
        ("%YAML 1." + "9" * 5000 + "\n---\na", 1, 9, "out of range"),
    ],
)
def test_a_syntax_error_is_told_in_words_about_the_text(
    text: str, line: int, column: int, words: str, loader: Loader
) -> None:
    document, found = parse(text, loader)
    assert document is None
    assert places(found) == [("GMM105", line, column)]
    assert words in found[0].message


def test_all_faults_before_a_syntax_error_are_told_as_well(loader: Loader) -> None:
    document, found = parse("a: 1\na: 2\n<<: {}\n3: 4\nx: *y\nb: !z 1\nc: 010\nd: no\n\nf: ]", loader)
    assert document is None
    assert [d.code[3:] for d in found] == ["106", "107", "108", "111", "109", "115", "117", "105"]


def test_a_duplicate_points_to_the_first_key(loader: Loader) -> None:
    document, found = parse("a: 1\nb: 2\na: 3\n", loader)
    assert document is not None
    assert document.data == {"a": 1, "b": 2}
    ((_, first),) = found[0].related
    assert (first.line, first.column) == (1, 1)


def test_what_remains_beside_a_fault_is_still_read(loader: Loader) -> None:
    document, found = parse("a: 1\n<<: {x: 1}\n2: x\n? [k]\n: {deep: *no}\nb: *no\nc: !t z\nd: 010\n", loader)
    assert document is not None
    assert document.data == {"a": 1, "b": None, "c": "z", "d": "010"}
    assert [d.code[3:] for d in found] == ["107", "108", "108", "111", "111", "109", "115"]


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "2026-11-30", "12:30", "1_000", "-0x1F", "0b1"])
def test_text_that_older_readers_take_for_something_else_is_a_string_with_a_warning(
    word: str, loader: Loader
) -> None:
    document, found = parse(f"a: {word}\nb: [{word}]\nc: '{word}'\n", loader)
    assert document is not None
    assert document.data == {"a": word, "b": [word], "c": word}
    assert [(d.severity, d.code, d.line, d.column) for d in found] == [
        ("warning", "GMM117", 1, 4),
        ("warning", "GMM117", 2, 5),
    ]


def test_single_letters_are_doubtful_only_as_the_value_of_a_key(loader: Loader) -> None:
    document, found = parse("required: [x, y]\nproperties: {x: {}, y: {}}\nenabled: y\n", loader)
    assert document is not None
    assert places(found) == [("GMM117", 3, 10)]


def test_words_that_are_keys_are_not_doubted(loader: Loader) -> None:
    assert read("on: 1\nyes: 2\n2026-11-30: 3\n1_0: 4\n", loader).data == {
        "on": 1, "yes": 2, "2026-11-30": 3, "1_0": 4,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["*x", "*_get", "!foo", "@x", "%x", "**", "{a} b", "a: b"])
def test_the_hint_for_text_that_begins_with_a_sign_is_to_quote_it(text: str, loader: Loader) -> None:
    _, found = parse(f"k: {text}", loader)
    assert found[0].hint is not None
    assert "quot" in found[0].hint


# Limits


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_an_alias_bomb_is_refused_at_the_alias_that_goes_too_far_in_little_memory(loader: Loader) -> None:
    tracemalloc.start()
    document, found = parse(bomb(9), loader)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert document is None
    assert [d.code for d in found] == ["GMM113"]
    assert found[0].line is not None
    assert found[0].line < 8
    assert peak < 2_000_000


def test_aliases_within_the_limit_pass_and_one_more_does_not(loader: Loader) -> None:
    thousand = "a: &a [" + "1," * 998 + "1]\n"  # a list of 999 values is a thousand nodes
    uses = MAX_ALIAS_NODES // 1000
    read(thousand + "b: [" + "*a," * uses + "]", loader)
    assert places(parse(thousand + "b: [" + "*a," * uses + "*a]", loader)[1]) == [("GMM113", 2, 5 + 3 * uses)]


def test_collections_nest_to_the_limit_and_no_further(loader: Loader) -> None:
    read("[" * MAX_DEPTH + "]" * MAX_DEPTH, loader)
    document, found = parse("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), loader)
    assert document is None
    assert places(found) == [("GMM114", 1, MAX_DEPTH + 1)]
    assert places(parse("- " * (MAX_DEPTH + 1) + "x", loader)[1]) == [("GMM114", 1, 2 * MAX_DEPTH + 1)]


def test_aliases_do_not_nest_deeper_than_the_limit_either(loader: Loader) -> None:
    # Each line is a list around the one before; all stand in the list that is the root.
    chain = "- &a1 [x]\n" + "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(2, MAX_DEPTH))
    read(chain, loader)
    document, found = parse(chain + f"- [*a{MAX_DEPTH - 1}]\n", loader)
    assert document is None
    assert places(found) == [("GMM114", MAX_DEPTH, 4)]


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "[\n" * 200_000, "{a: " * 200_000, "- " * 200_000, "? " * 200_000]
)
def test_endless_nesting_is_refused(text: str, loader: Loader) -> None:
    document, found = parse(text, loader)
    assert document is None
    assert found


def test_a_flood_of_faults_is_cut_but_errors_never_give_way_to_warnings(loader: Loader) -> None:
    _, found = parse("- no\n" * 2000 + "- 010\n" * 2000, loader)
    assert [d.severity for d in found].count("warning") == [d.severity for d in found].count("error") == 500


# Any text

PIECES = [
    *"abyn01 -?:,[]{}#&*!|>'\"%@`~\\.<\t\n\r\ufeffé😀\u2028\x00",
    *("- ", ": ", "? ", "\n  ", "\n    ", "&a ", "*a", "!!str ", "!!int ", "<<: ", "---", "...", "\n---\n"),
    *(
        "key: v\n",
        '"a"',
        "|\n",
        ">-\n",
        "\\ud83d",
        "\\ude00",
        "\\U0011",
        "010",
        "no",
        "12:30",
        "%YAML 1.2\n",
        " #",
    ),
]


@settings(max_examples=1500, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
@example("\ud800")
@example("{a? \n")
@example("[?a ?b, ? :c]")
@example("a: &a [*a, &a x, *a]")
@example("? |\n\n\n")
@example('"\\uD83D\\uDE00\t" # \t')
@example("[!!str,a]")
@example("{~ : }")
def test_any_text_gives_data_or_a_placed_error_alike_from_both_readers(text: str) -> None:
    outcomes = []
    for reader in LOADERS:
        document, found = parse(text, reader)
        errors = [d for d in found if d.severity == "error"]
        assert document is not None or errors
        assert all(d.line and d.column and d.span and d.span.end_line >= d.line for d in found)
        assert all(d.line <= len(SourceFile("", text).lines) for d in found if d.line)
        outcomes.append((found, document and (repr(document.data), list(spread(document)))))
    assert outcomes[0] == outcomes[1]


# Unlike JSON, YAML takes U+007F for a control character and has no keys beyond 1024 characters.
TEXT = st.text(st.characters(exclude_characters="\x7f", exclude_categories=["Cs"]), max_size=80)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT


@settings(max_examples=300, deadline=None)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)))
def test_any_json_is_read_as_json_reads_it(value: object) -> None:
    for reader in LOADERS:
        document, found = parse(json.dumps(value), reader)
        assert document is not None
        assert not found
        assert document.data == value


@settings(max_examples=300, deadline=None)
@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_give_text_or_a_finding(content: bytes) -> None:
    source, found = decode_source("x", content)
    assert (source is None) == bool(found)

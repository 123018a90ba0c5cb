"""Expressions as people write them: every slip is met with the line that says what they mean."""

from __future__ import annotations

import pytest
import yaml

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.loader import read_manifest_source
from gym_mcp_manifest.manifest.source import SourceFile

RULE = "version: 1\nsessions:\n  otherwise: all\n  allow:\n    - {}\n"
WHEN = "version: 1\nsessions:\n  otherwise: all\n  allow:\n    - tools: [a]\n      {}\n"
SELECT = "version: 1\ncatch_all:\n  - tools:\n      - file: t.json\n        {}\n"


def findings(text: str) -> tuple[Diagnostic, ...]:
    return read_manifest_source(SourceFile("mcp.yaml", text))[1]


def filled(frame: str, line: str) -> str:
    return frame.replace("{}", line, 1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a = 'b'", "a == 'b'"),
        ("a === 'b'", "a == 'b'"),
        ("a <> 'b'", "a != 'b'"),
        ("a == 3", "a == `3`"),
        ("a == -1.5", "a == `-1.5`"),
        ("a and b or not c", "a && b || !c"),
        ("a is null", "a == `null`"),
        ("a is not None", "a != `null`"),
        ("'x' in tags", "contains(tags, 'x')"),
        ("$.a.b", "a.b"),
        ("a?.b", "a.b"),
        ("a['b'].c", "a.b.c"),
        ("a.0", "a[0]"),
        ("task-id == 'x'", "\"task-id\" == 'x'"),
        ("a == “b”", "a == 'b'"),
        ('a = "b"', "a == 'b'"),
        ("len(a)", "length(a)"),
        ("startswith(a, 'b')", "starts_with(a, 'b')"),
    ],
)
def test_a_slip_of_another_language_is_met_with_the_spelling_of_this_one(text: str, meant: str) -> None:
    (found,) = findings(filled(WHEN, "when: |-\n        " + text))
    assert found.code == "GMM208"
    hint = str(found.hint)
    assert hint.startswith("write ")
    assert yaml.safe_load(hint.removeprefix("write ")) == meant


@pytest.mark.parametrize("text", ["contains(a)", "a b c", "{{ a }}", "a.b[*", "''length(", "(a", "!", "a ||"])
def test_what_cannot_be_mended_is_refused_without_a_guess(text: str) -> None:
    (found,) = findings(filled(WHEN, "when: |-\n        " + text))
    assert (found.code, "write" in str(found.hint)) == ("GMM208", False)


@pytest.mark.parametrize(
    ("frame", "line", "meant"),
    [
        (RULE, "from: [a[].b]", 'from: ["a[].b"]'),
        (RULE, "from: [a[].b, c.d]", 'from: ["a[].b", "c.d"]'),
        (RULE, "from: [a[?b == 'c'].d, c]  # why", 'from: ["a[?b == \'c\'].d", "c"]  # why'),
        (RULE, "from: *.name", 'from: "*.name"'),
        (RULE, "from:\n        - [].name", '- "[].name"'),
        (WHEN, "when: `true`", 'when: "`true`"'),
        (WHEN, "when: 'a == 'b''", "when: \"a == 'b'\""),
        (WHEN, 'when: "a == "b""', "when: \"a == 'b'\""),
        (WHEN, "when: a == ': x'", "when: \"a == ': x'\""),
        (WHEN, "when: !contains(a, 'b')", "when: \"!contains(a, 'b')\""),
        (WHEN, "when: @.a", 'when: "@.a"'),
        (RULE, "{when: a[0] == 'b', tools: [x]}", "{when: \"a[0] == 'b'\", tools: [x]}"),
        (RULE, "{when: a == 'b', from: [x[].y]}", "{when: a == 'b', from: [\"x[].y\"]}"),
        (SELECT, "select: [].name", 'select: "[].name"'),
        (SELECT, "select: *", 'select: "*"'),
        (SELECT, "select: {name: a, parameters: b[0]}", 'select: "{name: a, parameters: b[0]}"'),
    ],
)
def test_an_expression_that_yaml_breaks_is_met_with_the_line_in_quotes(frame: str, line: str, meant: str) -> None:
    found = findings(filled(frame, line))
    assert {d.code for d in found} <= {"GMM105", "GMM109", "GMM111"}
    for finding in found:
        hint = str(finding.hint).removeprefix("quote the expression: ")
        assert hint.removeprefix("- ") == meant.removeprefix("- ")
    mended = filled(frame, line.rpartition("\n")[0] + ("\n        " if "\n" in line else "") + meant)
    assert [d for d in findings(mended) if d.code != "GMM210"] == []


@pytest.mark.parametrize(
    ("frame", "line", "hint"),
    [
        (WHEN, "when: true", 'write "`true`"'),
        (WHEN, "when: 3", 'write "`3`"'),
        (WHEN, "when: [a == 'b']", "write \"a == 'b'\""),
        (SELECT, "select: [tools]", 'write "tools"'),
        (SELECT, "select: {name: name}", "quote the expression"),
        (RULE, "from: a[*].name, b", 'several expressions are a list: ["a[*].name", "b"]'),
        (WHEN, "when: a == 'x #y'", "` #` began a comment"),
    ],
)
def test_what_yaml_takes_for_something_else_is_met_with_the_text(frame: str, line: str, hint: str) -> None:
    (found,) = findings(filled(frame, line))
    assert found.code in ("GMM203", "GMM208")
    assert hint in str(found.hint)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('level == "easy"', "level == 'easy'"),
        ('level == "very easy"', "level == 'very easy'"),
        ('"easy" != level', "'easy' != level"),
        ('a[?b == "c"].d', "a[?b == 'c'].d"),
        ('contains(tags, "x")', "contains(tags, 'x')"),
        ('starts_with(a.b, "x")', "starts_with(a.b, 'x')"),
        ("a == true", "a == `true`"),
        ("a != None", "a != `null`"),
        ('a == "it\'s"', "a == 'it\\'s'"),
    ],
)
def test_a_legal_expression_that_is_hardly_meant_is_a_warning(text: str, meant: str) -> None:
    (found,) = findings(filled(WHEN, "when: |-\n        " + text))
    assert (found.code, found.severity) == ("GMM210", "warning")
    hint = str(found.hint).removeprefix("write `").removesuffix("`")
    assert yaml.safe_load(hint) == {"when": meant}
    assert findings(filled(WHEN, hint)) == ()


def test_an_order_of_texts_is_a_warning() -> None:
    (found,) = findings(filled(WHEN, "when: a >= 'x'"))
    assert (found.code, "numbers only" in found.message) == ("GMM210", True)


@pytest.mark.parametrize(
    "text",
    [
        "level == 'easy'",
        "\"task-id\" == 'x'",
        "a.\"task-id\" == 'x'",
        "'x' == \"task-id\"",
        'x == "a b".c',
        "a == b",
        "a == `true`",
        "a > `3`",
        'length("task-id") > `3`',
        "contains(\"my-tags\", 'x')",
        "sort_by(a, &\"b-c\")[0] == 'x'",
        "a == `easy`",
    ],
)
def test_what_is_meant_is_left_alone(text: str) -> None:
    assert findings(filled(WHEN, "when: |-\n        " + text)) == ()


def test_entries_of_a_list_are_named_alone() -> None:
    (found,) = findings(filled(RULE, "from: [a, 'b[?c == \"d\"].e']"))
    assert found.hint == "write `\"b[?c == 'd'].e\"`"


@pytest.mark.parametrize("text", ["a == b && " * 100_000 + "a", "not " * 300_000, "'" * 1_000_001, "a-" * 400_000])
@pytest.mark.timeout(20)
def test_long_expressions_hold_nobody_up(text: str) -> None:
    assert all(
        d.code in ("GMM208", "GMM105", "GMM210") for d in findings(filled(WHEN, "when: |-\n        " + text))
    )

"""Findings for code hosts: GitHub's workflow commands and SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator

Run = Callable[..., Any]
BAD = "version: 1\nserver: {titel: x, title: yes}\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_(text: str, name: str = "mcp.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_


Write = Callable[..., Path]


# GitHub.


def unescaped(text: str) -> str:
    """What GitHub's runner makes of an escaped value; `%25` comes last."""
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def commands(out: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as GitHub's runner reads them."""
    read = []
    for line in out.splitlines():
        match = re.fullmatch(r"::(error|warning) ([^:]*)::(.*)", line)
        assert match, line
        properties = dict(part.split("=", 1) for part in match[2].split(","))
        read.append((match[1], {key: unescaped(value) for key, value in properties.items()}, unescaped(match[3])))
    return read


def test_github_is_told_place_title_message_and_help(write: Write, run_here: Run, tmp_path: Path) -> None:
    write(BAD)
    ran = run_here("validate", "--format", "github", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.splitlines()[0] == (
        "::error file=mcp.yaml,line=2,col=10,endLine=2,endColumn=15,title=GMM201 unknown key::"
        "mcp.yaml:2:10: unknown key `titel` in `server`%0A"
        "help: did you mean `title`? (keys of your own start with `x-`)"
    )
    assert "1 file checked: 1 error, 1 warning" in ran.err


def test_signs_that_end_a_command_are_escaped(run: Run, write: Write, tmp_path: Path) -> None:
    write('version: 1\n"100%: a, b\\n::error::x": 1\n', "a,b:100%/mcp.yaml")
    ran = run("validate", "a,b:100%", "--format", "github", cwd=tmp_path)
    (finding,) = commands(ran.out)
    severity, properties, message = finding
    assert (severity, properties["file"]) == ("error", "a,b:100%/mcp.yaml")
    assert "unknown key `100%: a, b\n::error::x`" in message
    assert "a%2Cb%3A100%25/mcp.yaml" in ran.out


def test_a_finding_over_several_lines_has_no_columns(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1\nsessions:\n  allow:\n    - deny: [a]\n      tools: [b]\n      from: c\n  otherwise: all\n")
    out = run_here("validate", "--format", "github", cwd=tmp_path).out
    write("version: 1\nroutes: [a,\n  b]\n")
    out += run_here("validate", "--format", "github", cwd=tmp_path).out
    several = [p for _, p, _ in commands(out) if p["line"] != p["endLine"]]
    assert several
    assert not any({"col", "endColumn"} & p.keys() for p in several)


def test_errors_come_first_and_the_limit_of_github_is_told(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1\nserver: {title: yes}\n" + "".join(f"bad_{n}: 1\n" for n in range(11)))
    ran = run_here("validate", "--format", "github", cwd=tmp_path)
    assert [severity for severity, _, _ in commands(ran.out)] == ["error"] * 11 + ["warning"]
    assert "first 10 errors" in ran.err
    assert "--format sarif" in ran.err
    write("version: 1\n" + "".join(f"bad_{n}: 1\n" for n in range(10)))
    assert "sarif" not in run_here("validate", "--format", "github", cwd=tmp_path).err


def test_nothing_found_is_nothing_said(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1")
    ran = run_here("validate", "--format", "github", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, "", "1 file checked: 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("env", "github"), [({"GITHUB_ACTIONS": "true"}, True), ({"GITHUB_ACTIONS": ""}, False), ({}, False)]
)
def test_in_github_actions_its_format_is_the_default(
    env: dict[str, str], github: bool, write: Write, run: Run, tmp_path: Path
) -> None:
    write(BAD)
    assert run("validate", cwd=tmp_path, env=env).out.startswith("::error ") is github
    text = run("validate", "--format", "text", cwd=tmp_path, env=env).out
    assert text.startswith("mcp.yaml:2:10: error[GMM201]")


def test_files_are_named_from_the_root_of_the_checkout(write: Write, run: Run, tmp_path: Path) -> None:
    path = write(BAD, "servers/office/mcp.yaml")
    env = {"GITHUB_WORKSPACE": str(tmp_path)}
    for name, folder in ((path, "/"), ("mcp.yaml", path.parent), ("../office", path.parent)):
        out = run("validate", name, "--format", "github", cwd=Path(folder), env=env).out
        assert {p["file"] for _, p, _ in commands(out)} == {"servers/office/mcp.yaml"}
    elsewhere = {"GITHUB_WORKSPACE": str(tmp_path / "elsewhere")}
    out = run("validate", path, "--format", "github", env=elsewhere).out
    assert {p["file"] for _, p, _ in commands(out)} == {str(path)}


def test_standard_input_is_no_file_of_the_checkout(run: Run) -> None:
    (severity, properties, message), *_ = commands(run("validate", "-", "--format", "github", stdin=BAD).out)
    assert (severity, list(properties)) == ("error", ["title"])
    assert message.startswith("<stdin>:2:10: unknown key")


# SARIF.

#: What the schema of SARIF 2.1.0, and beyond it GitHub's code scanning, ask of what is written here.
REGION = {
    "type": "object",
    "required": ["startLine"],
    "additionalProperties": False,
    "properties": {
        f"{side}{what}": {"type": "integer", "minimum": 1}
        for side in ("start", "end")
        for what in ("Line", "Column")
    },
}
PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "additionalProperties": False,
    "properties": {
        "region": REGION,
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "additionalProperties": False,
            "properties": {
                "uri": {"type": "string", "pattern": r"^([A-Za-z0-9._~:@!$&'()*+,;=/-]|%[0-9A-F]{2})+$"},
                "uriBaseId": {"const": "%SRCROOT%"},
            },
        },
    },
}
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {"physicalLocation": PHYSICAL, "message": TEXT, "id": {"type": "integer", "minimum": 1}},
}
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results", "columnKind"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"const": "unicodeCodePoints"},
                    "originalUriBaseIds": {"type": "object"},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "version", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "shortDescription", "fullDescription", "help"],
                                            "properties": {
                                                "id": {"type": "string", "pattern": r"^GMM\d{3}$"},
                                                "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
                                                **dict.fromkeys(
                                                    ("shortDescription", "fullDescription", "help"), TEXT
                                                ),
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": [
                                "ruleId",
                                "ruleIndex",
                                "level",
                                "message",
                                "locations",
                                "partialFingerprints",
                            ],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["error", "warning"]},
                                "message": TEXT,
                                "locations": {"type": "array", "minItems": 1, "items": LOCATION},
                                "relatedLocations": {"type": "array", "minItems": 1, "items": LOCATION},
                                "partialFingerprints": {
                                    "type": "object",
                                    "minProperties": 1,
                                    "additionalProperties": {"type": "string"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def sarif(run_here: Run, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The one run of a SARIF log, which has been held against the schema."""

    def sarif_(*arguments: object) -> dict[str, Any]:
        ran = run_here("validate", *arguments, "--format", "sarif", cwd=tmp_path)
        assert ran.err == ""
        log = json.loads(ran.out)
        Draft202012Validator(SARIF).validate(log)
        (only,) = log["runs"]
        assert isinstance(only, dict)
        return only

    return sarif_


Sarif = Callable[..., dict[str, Any]]


def test_a_result_has_rule_level_message_and_region(write: Write, sarif: Sarif) -> None:
    write(BAD)
    only = sarif()
    error, warning = only["results"]
    assert (error["ruleId"], error["level"], warning["ruleId"], warning["level"]) == (
        *("GMM201", "error"),
        *("GMM117", "warning"),
    )
    assert error["message"]["text"].splitlines() == [
        "unknown key `titel` in `server`",
        "help: did you mean `title`? (keys of your own start with `x-`)",
    ]
    assert error["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "mcp.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 2, "startColumn": 10, "endLine": 2, "endColumn": 15},
    }


def test_rules_are_those_that_are_broken(write: Write, sarif: Sarif) -> None:
    write("version: 1\nserver: {titel: x, title: yes, a: 1}\n")
    only = sarif()
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["GMM117", "GMM201"]
    assert [rules[result["ruleIndex"]]["id"] for result in only["results"]] == [
        r["ruleId"] for r in only["results"]
    ]
    assert {rule["name"] for rule in rules} == {"UnknownKey", "PlainTextThatOtherReadersTakeForAnotherType"}


def test_related_places_are_told(write: Write, sarif: Sarif) -> None:
    write("version: 1\nx-a: 1\nx-a: 2\n")
    (result,) = sarif()["results"]
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "first written here"
    assert related["physicalLocation"]["region"]["startLine"] == 2


def test_uris_are_relative_and_percent_encoded(write: Write, sarif: Sarif, tmp_path: Path) -> None:
    name = "a b/100%/é[1]#?:/mcp.yaml"
    write(BAD, name)
    for given in (name, tmp_path / name):
        place = sarif(given)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place["uri"] == "a%20b/100%25/%C3%A9%5B1%5D%23%3F%3A/mcp.yaml"
        assert unquote(place["uri"]) == name


def test_a_file_outside_the_root_has_an_absolute_uri(write: Write, sarif: Sarif, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("else where") / "mcp.yaml"
    path.write_text(BAD, encoding="utf-8")
    place = sarif(path)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": path.as_uri()}


def test_columns_count_characters(write: Write, sarif: Sarif) -> None:
    write('version: 1\nserver: {x-a: "😀é", titel: x}\n')
    (result,) = sarif()["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 21


def prints(only: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(result["partialFingerprints"].values()) for result in only["results"]]


def test_fingerprints_stay_when_lines_move(write: Write, sarif: Sarif) -> None:
    write(BAD)
    before = prints(sarif())
    write(f"# Moved.\n\n{BAD}")
    assert prints(sarif()) == before
    data = "version: 1\ncatch_all: [{tools: [{file: t.jsonl, select: 'abs(@)'}]}]\n"
    write("[1]", "t.jsonl")
    write(data)
    before = prints(sarif())
    write("\n\n[1]", "t.jsonl")
    write(f"# Moved.\n{data}")
    assert prints(sarif()) == before


def test_fingerprints_tell_findings_apart(write: Write, sarif: Sarif) -> None:
    write("version: 1\nx-a: {b: 1, b: 2}\nx-c: {b: 1, b: 2}\nserver: {b: 1}\n")
    write("version: 1\nserver: {b: 1}\n", "other.yaml")
    found = prints(sarif("mcp.yaml", "other.yaml"))
    assert len(found) == len(set(found)) == 4


def test_a_finding_about_a_whole_file_is_shown_at_its_first_line(sarif: Sarif) -> None:
    (result,) = sarif("missing.yaml")["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


def test_nothing_found_is_a_log_without_results(write: Write, sarif: Sarif) -> None:
    write("version: 1")
    assert sarif()["results"] == []

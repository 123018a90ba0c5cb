"""No finding hides another: rows beside a broken row, data beside a faulty manifest, all at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Found = Callable[..., list[str]]


@pytest.fixture
def found(tmp_path: Path, run_here: Run) -> Found:
    """`CODE file:line:column` of every error that `validate` finds, by files that are given as keywords."""

    def found_(manifest: str, **files: str) -> list[str]:
        for name, text in {"mcp.yaml": f"version: 1\n{manifest}", **files}.items():
            (tmp_path / name.replace("_", ".")).write_text(text, encoding="utf-8")
        ran = run_here("validate", cwd=tmp_path)
        heads = re.findall(r"^(\S+): error\[(GMM\d+)\]", ran.out, re.MULTILINE)
        return [f"{code} {place.removeprefix(f'{tmp_path}/')}" for place, code in heads]

    return found_


SOURCE = "catch_all: [{tools: [{file: t.jsonl}]}]\n"


def test_a_broken_row_hides_no_other(found: Found) -> None:
    rows = ['{"name": "a"', '{"nme": "b"}', "[1]", '{"name": "c", "parameters": {"type": "x"}}', "nothing"]
    assert found(SOURCE, t_jsonl="\n".join(rows)) == [
        "GMM401 t.jsonl:1:13",
        "GMM403 t.jsonl:2:1",
        "GMM403 t.jsonl:3:1",
        "GMM209 t.jsonl:4:38",
        "GMM401 t.jsonl:5:1",
    ]


def test_a_bad_spec_hides_no_other_of_its_file(found: Found) -> None:
    text = '[{"nme": 1},\n{"name": "a", "title": 1},\n{"name": "ok"},\n{"name": "b", "parameters": []}]'
    assert found("catch_all: [{tools: [{file: t.json}]}]", t_json=text) == [
        "GMM403 t.json:1:2",
        "GMM403 t.json:2:1",
        "GMM403 t.json:4:1",
    ]


def test_a_bad_file_hides_no_other_of_its_source(found: Found) -> None:
    manifest = "catch_all: [{tools: [{file: [a.json, gone.json, /etc/passwd, b.json]}]}]"
    assert found(manifest, a_json="[", b_json="[{}]") == [
        "GMM401 a.json:1:2",
        "GMM403 b.json:1:2",
        "GMM402 mcp.yaml:2:29",
        "GMM405 mcp.yaml:2:29",
    ]


def test_of_very_many_bad_rows_the_first_and_their_number_are_told(
    found: Found, run_here: Run, tmp_path: Path
) -> None:
    heads = found(SOURCE, t_jsonl="{}\n" * 50 + "[\n" * 30)
    assert [head.split()[0] for head in heads].count("GMM403") == 21
    assert [head.split()[0] for head in heads].count("GMM401") == 21
    out = run_here("validate", cwd=tmp_path).out
    assert "t.jsonl:21:1: error[GMM403] and 30 more like those above, from here on" in out
    assert "t.jsonl:71:2: error[GMM401] and 10 more like those above, from here on" in out


def test_a_query_that_fails_on_many_rows_is_told_once(found: Found) -> None:
    manifest = "catch_all: [{tools: [{file: t.jsonl, select: 'join(`1`, tools)'}]}]"
    assert found(manifest, t_jsonl='{"tools": 1}\n{"tools": 2}\nx') == [
        "GMM208 mcp.yaml:2:46",
        "GMM401 t.jsonl:3:1",
    ]


def test_what_a_broken_source_may_lack_is_not_told(found: Found) -> None:
    manifest = 'catch_all: [{tools: [{file: t.jsonl, include: ["b*"]}]}]'
    assert found(manifest, t_jsonl='{"name": "a"}\n{"name": "b"') == ["GMM401 t.jsonl:2:13"]


def test_a_faulty_manifest_hides_nothing_of_its_data(found: Found) -> None:
    manifest = """\
routs: {}
catch_all:
  - tools:
      - file: ../outside.json
      - {file: t.jsonl, selct: x}
      - file: t.json
  - tools: [{file: more.json}]
    route: 3
tools:
  a: {input_schema: {properties: {x: {type: text}}}, titel: A}
"""
    heads = found(manifest, t_json='[{"nme": 1}]', t_jsonl="broken", more_json="[1]")
    assert heads == [
        "GMM201 mcp.yaml:2:1",
        "GMM402 mcp.yaml:5:15",
        "GMM201 mcp.yaml:6:25",
        "GMM203 mcp.yaml:9:12",
        "GMM209 mcp.yaml:11:45",
        "GMM201 mcp.yaml:11:54",
        "GMM403 more.json:1:1",
        "GMM403 t.json:1:2",
    ]


@pytest.mark.parametrize(
    "manifest",
    [
        "catch_all: [{tools: [{file: t.json, on_conflict: last}, {file: t.json}]}]",
        "catch_all: [{tools: {file: t.json}}, {tools: [{file: t.json}]}]",
        "catch_all: {tools: []}",
        "catch_all: [3]",
        "catch_all: 3",
        "tools: {a b: {nme: a}, b: 3}\ncatch_all: [{tools: [{file: t.json}]}]",
        "tools: 3",
        "routes: {specs: [{file: t.json, unmatched: no}]}",
        "routes: {specs: 3}",
        "routes: 3",
        "sessions: {mode: nobody, allow: [{when: x}]}",
        "limits: 3",
    ],
)
def test_a_part_that_is_left_out_makes_no_further_finding(manifest: str, found: Found) -> None:
    heads = found(manifest, t_json='[{"name": "a b"}, {"name": "b"}]')
    assert heads
    assert {head.split()[0] for head in heads} <= {"GMM201", "GMM203", "GMM303"}
    assert all("mcp.yaml" in head for head in heads)


def test_a_value_that_cannot_be_read_is_told_once(found: Found) -> None:
    manifest = "tools: {a: {input_schema: {properties: {x: {maximum: 1e999}}}}}\n"
    assert found(manifest) == ["GMM116 mcp.yaml:2:54"]
    assert found(f"routs: {{}}\n{manifest}") == ["GMM201 mcp.yaml:2:1", "GMM116 mcp.yaml:3:54"]


def test_a_misspelt_key_of_the_block_hides_neither_its_changes_nor_the_manifest(
    run_here: Run, server: Path
) -> None:
    config = "expose_tool_over_mcp: true\nmcp: {routs: {}}\n"
    (server / "config.yaml").write_text(config, encoding="utf-8")
    err = run_here("plan", server).err
    assert f"{server}/config.yaml:1:1: error[GMM502]" in err
    assert f"{server}/config.yaml:2:7: error[GMM201] unknown key `routs`" in err
    (server / "mcp.yaml").write_text("version: 1\nlimts: {}\n", encoding="utf-8")
    err = run_here("plan", server).err
    assert "error[GMM502]" in err
    assert f"{server}/mcp.yaml:2:1: error[GMM201] unknown key `limts`" in err


def test_which_manifest_a_misspelt_key_names_is_not_guessed(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text("mcp_manifst: my.yaml\nexpose_tools_over_mcp: true\n", encoding="utf-8")
    (server / "mcp.yaml").write_text("version: 1\nlimts: {}\n", encoding="utf-8")
    err = run_here("plan", server).err
    assert "error[GMM502]" in err
    assert "GMM201" not in err


MESSAGES = {
    "absolute but inside": ("{here}/data.json", "is absolute", "write it relative: `data.json`"),
    "absolute": ("/etc/hosts.json", "lies outside the server's folder", "name a file in the folder"),
    "a link": ("link.json", "lies outside the server's folder: it is a link", "copy what it leads to"),
    "a glob with a link": ("*.json", "'link.json' of '*.json' lies outside", "or leave it out with `except`"),
    "backslashes": ("a\\\\data.json", "has backslashes", "write `a/data.json`"),
    "a way back": ("a/../data.json", "goes through `..`", "write `data.json`"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_path_that_is_refused_is_told_how_to_write_it(case: str, run_here: Run, tmp_path: Path) -> None:
    written, says, cure = MESSAGES[case]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "data.json").write_text('[{"name": "a"}]')
    (tmp_path / "out.json").write_text("[]")
    (tmp_path / "s" / "link.json").symlink_to("../out.json")
    source = written.format(here=tmp_path / "s")
    (tmp_path / "s" / "mcp.yaml").write_text(f'version: 1\ncatch_all: [{{tools: [{{file: "{source}"}}]}}]\n')
    out = run_here("validate", cwd=tmp_path / "s").out
    assert "mcp.yaml:2:29: error[GMM402]" in out
    assert says in out
    assert cure in out


def test_a_file_that_is_no_path_is_told_what_it_may_be(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("version: 1\ncatch_all: [{tools: [{file: 3}]}]\n")
    out = run_here("validate", cwd=tmp_path).out
    assert "expected a path or a list of paths, found the number `3`" in out


def test_a_format_that_does_not_exist_is_told_in_plain_words(run_here: Run) -> None:
    ran = run_here("validate", "--format", "foo")
    assert ran.code == 2
    assert "'foo' is not one of 'text', 'json', 'github', 'sarif'" in ran.err
    assert "Value error" not in ran.err

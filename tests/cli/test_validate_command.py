"""`gym-mcp validate`: findings with place, caret, code and cure, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_(text: str, name: str = "mcp.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_


Write = Callable[..., Path]


def test_the_shipped_manifests_are_valid(run_here: Run) -> None:
    ran = run_here("validate", *sorted((ROOT / "manifests").glob("*/mcp.yaml")), "--strict")
    assert (ran.code, ran.out) == (0, "")
    assert "2 files checked: 0 errors, 0 warnings" in ran.err


def test_a_finding_shows_place_code_caret_and_help(write: Write, run_here: Run) -> None:
    path = write("version: 1\nroutes:\n  exclud: [/a]\n")
    ran = run_here("validate", path)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"{path}:3:3: error[GMM201] unknown key `exclud` in `routes`",
        "  3 |   exclud: [/a]",
        "    |   ^~~~~~",
        "  help: did you mean `exclude`? (keys of your own start with `x-`)",
    ]
    assert "1 file checked: 1 error, 0 warnings" in ran.err


def test_a_second_place_is_shown_too(write: Write, run_here: Run) -> None:
    path = write("version: 1\nserver: {title: a, title: b}\n")
    ran = run_here("validate", path)
    assert f"  note: first written at {path}:2:10" in ran.out or f"{path}:2:10" in ran.out


@pytest.mark.parametrize(
    ("line", "caret"),
    [
        ("server: {titel: 一二三}", "    |          ^~~~~"),
        ("x-一二: 1\nserver: {titel: x}", "    |          ^~~~~"),
        ('server: {x-一二三: "四", titel: x}', "    |                          ^~~~~"),
        ('server: {x-a: "é", titel: x}', "    |                    ^~~~~"),
        ('server: {x-a: "a\tb", titel: x}', "    |                         ^~~~~"),
        ('server: {x-a: "😀", titel: x}', "    |                     ^~~~~"),
    ],
)
def test_the_caret_stands_under_its_text_behind_wide_characters_and_tabs(
    line: str, caret: str, write: Write, run_here: Run
) -> None:
    lines = run_here("validate", write(f"version: 1\n{line}\n")).out.splitlines()
    assert lines[2] == caret.replace("    |", f"  {' ' * len(lines[1].split('|')[0].strip())} |")


def test_a_line_that_is_too_long_to_show_has_no_caret(write: Write, run_here: Run) -> None:
    ran = run_here("validate", write(f"version: 1\nserver: {{x-a: {'a' * 300}, titel: x}}\n"))
    assert "GMM201" in ran.out
    assert "^" not in ran.out


def test_folders_and_several_files_are_checked_and_all_is_sorted(
    write: Write, run_here: Run, tmp_path: Path
) -> None:
    write("version: 1\nrouts: {}\nlimit: {}", "b/mcp.yaml")
    write("version: 2", "a/mcp.yaml")
    write("version: 1", "c/other.yaml")
    ran = run_here("validate", tmp_path / "b", tmp_path / "a", tmp_path / "c" / "other.yaml")
    places = [
        line.split(": ")[0].removeprefix(f"{tmp_path}/") for line in ran.out.splitlines() if "error[" in line
    ]
    assert places == ["a/mcp.yaml:1:10", "b/mcp.yaml:2:1", "b/mcp.yaml:3:1"]
    assert "3 files checked: 3 errors" in ran.err


def test_the_default_is_the_manifest_of_the_current_folder(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1\nrouts: {}")
    assert "mcp.yaml:2:1: error[GMM201]" in run_here("validate", cwd=tmp_path).out


@pytest.mark.parametrize("name", ["missing.yaml", "missing/", "folder"])
def test_a_file_that_cannot_be_read_is_a_finding(name: str, run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = run_here("validate", f"{tmp_path}/{name}")
    assert (ran.code, "error[GMM101]" in ran.out) == (1, True)


def test_standard_input_is_a_file_called_so(run: Run, write: Write, tmp_path: Path) -> None:
    ran = run("validate", "-", stdin="version: 1\nrouts: {}\n")
    assert ran.code == 1
    assert "<stdin>:2:1: error[GMM201]" in ran.out
    text = "version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]\n"
    assert run("validate", "-", stdin=text).code == 0
    write("[{}]", "data/tools.json")
    ran = run("validate", "-", "--data", tmp_path, stdin=text)
    assert (ran.code, f"{tmp_path}/data/tools.json:1:1: error[GMM403]" in ran.out) == (1, True)


def test_data_may_lie_elsewhere_for_files_too(write: Write, run_here: Run, tmp_path: Path) -> None:
    text = "version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]\n"
    path = write(text, "catalogue/mcp.yaml")
    write("[{}]", "server/data/tools.json")
    assert "GMM405" in run_here("validate", path).out
    ran = run_here("validate", path, "--data", tmp_path / "server")
    assert (ran.code, f"{tmp_path}/server/data/tools.json:1:1: error[GMM403]" in ran.out) == (1, True)
    write('[{"name": "a"}]', "server/data/tools.json")
    assert run_here("validate", tmp_path / "catalogue", "--data", tmp_path / "server").code == 0


def test_a_data_folder_that_is_none_is_wrong_usage(write: Write, run_here: Run, tmp_path: Path) -> None:
    ran = run_here("validate", write("version: 1"), "--data", tmp_path / "nowhere")
    assert (ran.code, "--data" in ran.err) == (2, True)


def test_json_has_a_stable_shape(write: Write, run_here: Run) -> None:
    path = write("version: 1\nserver: {titel: yes}\n")
    ran = run_here("validate", path, "--format", "json")
    payload = json.loads(ran.out)
    assert ran.code == 1
    assert list(payload) == ["format_version", "files", "errors", "warnings", "findings"]
    assert (payload["format_version"], payload["files"], payload["errors"]) == (1, 1, 1)
    assert payload["findings"][0] == {
        "code": "GMM201",
        "severity": "error",
        "title": "unknown key",
        "message": "unknown key `titel` in `server`",
        "file": str(path),
        "line": 2,
        "column": 10,
        "end_line": 2,
        "end_column": 15,
        "hint": "did you mean `title`? (keys of your own start with `x-`)",
        "related": [],
    }


def test_json_of_nothing_found_is_json_too(write: Write, run_here: Run) -> None:
    ran = run_here("validate", write("version: 1"), "--format", "json")
    assert (ran.code, json.loads(ran.out)["findings"], ran.err) == (0, [], "")


def test_warnings_count_only_when_strict(write: Write, run_here: Run) -> None:
    path = write("version: 1\nserver: {title: yes}\n")
    assert run_here("validate", path).code == 0
    ran = run_here("validate", path, "--strict")
    assert ran.code == 1
    assert "warning[GMM117]" in ran.out
    assert "0 errors, 1 warning" in ran.err


def test_a_warning_about_text_does_not_contradict_an_error_at_its_place(write: Write, run_here: Run) -> None:
    ran = run_here("validate", write("version: 1\nnames: {normalize: off}\nserver: {title: off}\n"))
    assert [line.partition("[")[2][:6] for line in ran.out.splitlines() if "mcp.yaml" in line] == [
        "GMM203",
        "GMM117",
    ]
    assert "mcp.yaml:2:20: error[GMM203]" in ran.out
    assert "mcp.yaml:3:17: warning[GMM117]" in ran.out


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_and_who_asks(
    env: dict[str, str], coloured: bool, write: Write, run: Run
) -> None:
    ran = run("validate", write("version: 1\nrouts: {}"), env={"TERM": "xterm-256color", **env})
    assert ("\x1b[3" in ran.out or "\x1b[1;3" in ran.out) is coloured


def test_a_long_message_stays_on_its_line(write: Write, run_here: Run) -> None:
    ran = run_here("validate", write(f"version: 1\nserver: {{{'long_' * 60}: x}}"))
    assert any(line.endswith("` in `server`") for line in ran.out.splitlines())


def test_markup_in_messages_is_text(write: Write, run_here: Run) -> None:
    ran = run_here("validate", write("version: 1\n'[red]x': 1\nserver: {title: ['[bold]']}\n"))
    assert "unknown key `[red]x`" in ran.out
    assert "[bold]" in ran.out


def test_neither_fastapi_nor_the_sdk_nor_hydra_is_needed(write: Write) -> None:
    import subprocess
    import sys

    path = write("version: 1\ncatch_all: [{tools: [{file: t.json}]}]")
    write('[{"name": "a"}]', "t.json")
    driver = (
        "import sys\nsys.argv = ['gym-mcp', 'validate', sys.argv[1]]\n"
        "from gym_mcp_manifest.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as leaving:\n    assert not leaving.code\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {"fastapi", "starlette", "mcp", "mcp_types", "hydra", "omegaconf", "uvicorn", "httpx", "itsdangerous"}
    assert not heavy & set(done.stdout.split())

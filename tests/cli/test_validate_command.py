"""`gym-mcp validate`: findings with place, caret, code and cure, for people and for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
        "  2 | routes:",
        "  3 |   exclud: [/a]",
        "    |   ^~~~~~",
        "  help: did you mean `exclude`? (keys of your own start with `x-`)",
    ]
    assert "1 file checked: 1 error, 0 warnings" in ran.err


def test_a_second_place_is_shown_too(write: Write, run_here: Run) -> None:
    path = write("version: 1\nserver: {title: a, title: b}\n")
    ran = run_here("validate", path)
    assert ran.out.splitlines()[:7] == [
        f"{path}:2:20: error[GMM106] duplicate key `title`",
        "  1 | version: 1",
        "  2 | server: {title: a, title: b}",
        "    |                    ^~~~~",
        f"  note: first written here {path}:2:10",
        "  1 | version: 1",
        "  2 | server: {title: a, title: b}",
    ]
    assert ran.out.splitlines()[7] == "    |          ^~~~~"


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
    assert lines[3] == caret


@pytest.mark.parametrize(
    ("before", "behind"), [(300, 0), (0, 300), (300, 300), (5000, 5000), (185, 0), (61, 200), (60, 200)]
)
def test_a_long_line_is_shortened_around_the_caret(before: int, behind: int, write: Write, run_here: Run) -> None:
    line = f"server: {{x-a: {'一' * before}, titel: x, x-b: {'b' * behind}}}"
    shown, caret = run_here("validate", write(f"version: 1\n{line}\n")).out.splitlines()[2:4]
    text = shown.removeprefix("  2 | ")
    assert len(text) <= 200
    assert (text.startswith("…"), text.endswith("…")) == (
        not line.startswith(text[:9]),
        not line.endswith(text[-9:]),
    )
    # A wide character takes two cells of a terminal, and two places in the line of the caret.
    under = caret.removeprefix("    | ").index("^")
    cells = "".join(letter * (2 if letter == "一" else 1) for letter in text)
    assert cells[under : under + 5] == "titel"
    assert caret.endswith("^~~~~")


def test_the_line_before_is_shown_where_there_is_one_with_text(write: Write, run_here: Run) -> None:
    first = run_here("validate", write("routs: {}\nversion: 1\n")).out.splitlines()
    assert first[1:3] == ["  1 | routs: {}", "    | ^~~~~"]
    behind_a_gap = run_here("validate", write("version: 1\n\nrouts: {}\n")).out.splitlines()
    assert behind_a_gap[1:3] == ["  3 | routs: {}", "    | ^~~~~"]
    tenth = run_here("validate", write("version: 1\n" + "\n" * 7 + "x-a: 1\nrouts: {}\n")).out.splitlines()
    assert tenth[1:4] == ["   9 | x-a: 1", "  10 | routs: {}", "     | ^~~~~"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_an_editor(end: str, run_here: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(end.join(["version: 1", "x-a: \u00a0\u2003x", "routs: {}", ""]).encode())
    assert run_here("validate", path).out.splitlines()[2:4] == ["  3 | routs: {}", "    | ^~~~~"]


def test_nothing_in_a_file_or_a_message_steers_the_terminal(run_here: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(b'version: 1\n"\\e[31mred": 1\nserver: {"title\\u202e": "\xe2\x80\xae"}\n')
    out = run_here("validate", path).out
    assert "GMM201" in out
    assert not {"\x1b", "\u202e"} & set(out)
    path.write_bytes(b"version: 1\nx-a: \x1b[31m\n")
    assert "\x1b" not in run_here("validate", path).out


def test_a_byte_that_is_not_utf_8_is_shown_in_its_line(run_here: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes("version: 1\nserver: {title: Caf\u00e9}\n".encode("latin-1"))
    lines = run_here("validate", path).out.splitlines()
    assert "GMM102" in lines[0]
    assert lines[2].startswith("  2 | server: {title: Caf")
    assert lines[3] == "    |" + " " * 20 + "^"


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


def test_without_any_manifest_it_is_said_what_to_do(run_here: Run, tmp_path: Path) -> None:
    ran = run_here("validate", cwd=tmp_path)
    assert (ran.code, ran.out.splitlines()) == (
        1,
        [
            "mcp.yaml:1:1: error[GMM101] this folder holds no mcp.yaml",
            "  help: name a manifest or its folder: `gym-mcp validate PATH`; `-` reads standard input",
        ],
    )
    (tmp_path / "mcp.yml").write_text("version: 1")
    assert "help: rename `mcp.yml` to `mcp.yaml`" in run_here("validate", cwd=tmp_path).out


def test_a_folder_without_a_manifest_is_named_as_given(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = run_here("validate", "./folder", cwd=tmp_path)
    assert (ran.code, ran.out.splitlines()[0]) == (
        1,
        "./folder/mcp.yaml:1:1: error[GMM101] the folder holds no mcp.yaml",
    )


def test_without_a_manifest_those_below_are_pointed_at(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1", "servers/deep/mcp.yaml")
    here = run_here("validate", cwd=tmp_path).out
    assert "help: `gym-mcp validate -r .` checks the manifests below it, such as servers/deep/mcp.yaml" in here
    assert "help: `gym-mcp validate -r servers` checks" in run_here("validate", "servers", cwd=tmp_path).out


def test_manifests_below_a_folder_are_found_but_none_of_others_projects(
    write: Write, run_here: Run, tmp_path: Path
) -> None:
    for name in ("mcp.yaml", "b/deep/mcp.yaml", "a/mcp.yml", ".hidden/mcp.yaml", "node_modules/x/mcp.yaml"):
        write("version: 1\nrouts: {}", name)
    write("version: 1\nrouts: {}", "env/lib/mcp.yaml")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    ran = run_here("validate", "--recursive", cwd=tmp_path)
    places = [line.partition(": ")[0] for line in ran.out.splitlines() if "error[" in line]
    assert places == ["a/mcp.yml:2:1", "b/deep/mcp.yaml:2:1", "mcp.yaml:2:1"]
    assert ran.code == 1
    (tmp_path / "empty").mkdir()
    ran = run_here("validate", "-r", "empty", cwd=tmp_path)
    assert (ran.code, "GMM101" in ran.out) == (1, True)


def test_files_are_shown_as_given_and_checked_once(write: Write, run_here: Run, tmp_path: Path) -> None:
    write("version: 1\nrouts: {}", "a/mcp.yaml")
    ran = run_here("validate", "./a/mcp.yaml", "a", "./a/mcp.yaml", cwd=tmp_path)
    heads = [line.split(" ")[0] for line in ran.out.splitlines() if "error[" in line]
    assert heads == ["./a/mcp.yaml:2:1:", "a/mcp.yaml:2:1:"]
    assert "2 files checked" in ran.err


@pytest.mark.parametrize("name", ["missing.yaml", "missing/", "folder"])
def test_a_file_that_cannot_be_read_is_a_finding(name: str, run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = run_here("validate", f"{tmp_path}/{name}")
    assert (ran.code, "error[GMM101]" in ran.out) == (1, True)


def test_standard_input_is_a_file_called_so(run: Run, write: Write, tmp_path: Path) -> None:
    ran = run("validate", "-", stdin="version: 1\nrouts: {}\n")
    assert ran.code == 1
    assert ran.out.splitlines()[:4] == [
        "<stdin>:2:1: error[GMM201] unknown key `routs` in the manifest",
        "  1 | version: 1",
        "  2 | routs: {}",
        "    | ^~~~~",
    ]
    text = "version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]\n"
    assert run("validate", "-", stdin=text).code == 0
    write("[{}]", "data/tools.json")
    ran = run("validate", "-", "--data", tmp_path, stdin=text)
    assert (ran.code, f"{tmp_path}/data/tools.json:1:2: error[GMM403]" in ran.out) == (1, True)


def test_data_may_lie_elsewhere_for_files_too(write: Write, run_here: Run, tmp_path: Path) -> None:
    text = "version: 1\ncatch_all: [{tools: [{file: data/tools.json}]}]\n"
    path = write(text, "catalogue/mcp.yaml")
    write("[{}]", "server/data/tools.json")
    assert "GMM405" in run_here("validate", path).out
    ran = run_here("validate", path, "--data", tmp_path / "server")
    assert (ran.code, f"{tmp_path}/server/data/tools.json:1:2: error[GMM403]" in ran.out) == (1, True)
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


# Each library with what it brings along; jsonschema takes what it finds of the libraries for formats.
WORDS = {"typer", "annotated_doc", "click", "rich", "shellingham", "markdown_it", "mdurl", "pygments"}
YAML = {"yaml", "_yaml"}
SCHEMAS = {
    "jsonschema",
    "jsonschema_specifications",
    "referencing",
    "rpds",
    "attr",
    "attrs",
    "idna",
    "jsonpointer",
}
SCHEMAS |= {"fqdn", "isoduration", "arrow", "dateutil", "rfc3339_validator", "rfc3986_validator", "rfc3987_syntax"}
SCHEMAS |= {"lark", "uri_template", "webcolors", "six", "rfc3987"}
MODELS = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}


@pytest.mark.parametrize("output", ["text", "json", "github", "sarif"])
def test_beyond_the_parser_of_words_only_four_libraries_are_needed(output: str, write: Write) -> None:
    path = write(
        "version: 1\nserver: {title: yes, titel: x}  # gmm: ignore[GMM117]\n"
        'sessions: {otherwise: all, allow: [{when: a == "b", tools: [a]}]}\n'
        "catch_all: [{tools: [{file: t.json}]}]\n"
    )
    write('[{"name": "a", "parameters": {"type": "object"}}]', "t.json")
    driver = (
        "import sys\nbefore = set(sys.modules)\nsys.argv = ['gym-mcp', 'validate', *sys.argv[1:]]\n"
        "from gym_mcp_manifest.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "files = [getattr(sys.modules[name], '__file__', None) or '' for name in set(sys.modules) - before]\n"
        "parts = [file.partition('site-packages/')[2] for file in files]\n"
        "print(*sorted({part.partition('/')[0].removesuffix('.py') for part in parts if part}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, str(path), "--format", output],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"NO_COLOR": "1"},
        timeout=60,
        check=True,
    )
    assert "GMM201" in done.stdout
    loaded = set(done.stderr.splitlines()[-1].split())
    assert {"yaml", "jsonschema", "pydantic", "jmespath"} <= loaded
    assert loaded - WORDS - YAML - SCHEMAS - MODELS == {"jmespath"}

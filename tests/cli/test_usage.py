"""What every command has: help that teaches, exit codes that mean something, pipes that may close."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.cli.main import app
from gym_mcp_manifest.version import __version__

Run = Callable[..., Any]
Start = Callable[..., Any]
ROOT = Path(__file__).parents[2]
COMMANDS = ("init", "validate", "plan", "explain", "serve", "call", "parity", "schema")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command: str, run_here: Run) -> None:
    for option in ("--help", "-h"):
        ran = run_here(command, option)
        assert ran.code == 0
        text = re.sub(r"[\s│]+", " ", ran.out)
        assert re.search(rf"Examples?: .*gym-mcp {command}", text)


EXAMPLES = [
    example
    for command in app.registered_commands
    for example in re.findall(r"`([^`]*gym-mcp [^`]*)`", " ".join(str(command.callback.__doc__).split()))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_every_help_runs(example: str, tmp_path: Path, start: Start) -> None:
    for name in ("manifests", "schemas"):
        (tmp_path / name).symlink_to(ROOT / name)
    if example.startswith("gym-mcp serve "):
        assert start(*shlex.split(example)[1:], "--port", "0").url()
        return
    if "http://127.0.0.1:8000" in example:
        example = example.replace(
            "http://127.0.0.1:8000", start("serve", "manifests/weather", "--port", "0").url()
        )
    line = example.replace("gym-mcp ", f"{sys.executable} -m gym_mcp_manifest ")
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_first_help_says_what_to_do_in_which_order(run_here: Run) -> None:
    ran = run_here("--help")
    text = re.sub(r"[\s│]+", " ", ran.out)
    assert ran.code == 0
    assert all(command in text for command in COMMANDS)
    assert "TARGET is a server's folder" in text
    assert "Exit codes: 0 no errors, 1 errors, 2 wrong usage, 3 a fault of this program, 130 interrupted" in text


def test_no_arguments_at_all_show_the_help(run_here: Run) -> None:
    ran = run_here()
    assert ran.code in (0, 2)
    assert "validate" in ran.text


def test_the_version_is_told(run_here: Run) -> None:
    assert run_here("--version").out == f"gym-mcp {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nope"],
        ["validate", "--nope"],
        ["validate", "--format", "xml"],
        ["plan"],
        ["serve"],
        ["call"],
        ["serve", "manifests/weather", "--port", "99999"],
        ["serve", "manifests/weather", "--port", "http"],
        ["serve", "manifests/weather", "--workers", "0"],
        ["serve", "manifests/weather", "--log-level", "loud"],
        ["schema", "extra"],
        ["init"],
        ["init", "manifests/weather", "--stdout", "-o", "x.yaml"],
        ["explain"],
        ["explain", "manifests/weather"],
        ["explain", "manifests/weather", "--seed", "nowhere.json"],
        ["explain", "manifests/weather", "--seed", "{"],
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_pointer_to_the_help(arguments: list[str], run_here: Run) -> None:
    ran = run_here(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Error" in ran.err
    assert "-h" in ran.err
    assert "fault of gym-mcp" not in ran.err


def test_our_own_fault_is_exit_code_3_and_says_how_to_see_more(
    run_here: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> int:
        raise RuntimeError("the sky fell")

    monkeypatch.setattr("gym_mcp_manifest.cli.validate.run_validate", broken)
    ran = run_here("validate")
    assert ran.code == 3
    assert "RuntimeError: the sky fell" in ran.err
    assert "GYM_MCP_DEBUG=1" in ran.err
    assert "Traceback" not in ran.err


def test_an_interrupt_is_exit_code_130(run_here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("gym_mcp_manifest.cli.validate.run_validate", interrupted)
    ran = run_here("validate")
    assert (ran.code, ran.err) == (130, "gym-mcp: interrupted\n")


@pytest.mark.parametrize(
    "command",
    ["schema", "plan manifests/office", "plan manifests/office --json", "validate . --format json", "validate ."],
)
def test_a_reader_that_leaves_early_is_no_fault(command: str, tmp_path: Path) -> None:
    if command.startswith("validate"):
        (tmp_path / "mcp.yaml").write_text("version: 1\n" + "".join(f"k{n}: 1\n" for n in range(3000)))
        command = command.replace(".", str(tmp_path), 1)
    line = f"{sys.executable} -m gym_mcp_manifest {command} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    # 141 as of any program that the end of its pipe ends, which `pipefail` sees; small output may all be taken.
    assert done.returncode in (0, 1, 141)
    assert done.stdout.count("\n") == 1
    assert not re.search("Broken|Errno|Exception|Traceback", done.stderr)


@pytest.mark.parametrize(
    ("redirection", "code"),
    [(">&-", 1), ("<&-", 1), ("2>&-", 1), ("> /dev/full", 1)],
    ids=["out", "in", "err", "full"],
)
def test_streams_that_are_closed_or_full_are_no_fault(redirection: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("version: 1\nrouts: {}\n")
    line = f"{sys.executable} -m gym_mcp_manifest validate mcp.yaml - {redirection}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code
    assert not re.search("Traceback|fault of gym-mcp", done.stdout + done.stderr)


def test_a_locale_without_the_letters_gets_escapes(tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("version: 1\nr\u00f6utes: {}\n", encoding="utf-8")
    narrow = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "gym_mcp_manifest", "validate", "mcp.yaml"]
    done = subprocess.run(
        command, cwd=tmp_path, env=narrow, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "unknown key `r\\xf6utes`" in done.stdout) == (1, True)


def test_the_schema_is_printed_and_compared(run_here: Run, tmp_path: Path) -> None:
    ran = run_here("schema")
    committed = ROOT / "schemas" / "mcp.schema.json"
    assert json.loads(ran.out) == json.loads(committed.read_text(encoding="utf-8"))
    assert run_here("schema", "--check", committed).text == ""
    assert run_here("schema", "--check", committed).code == 0

    other_layout = tmp_path / "compact.json"
    other_layout.write_text(json.dumps(json.loads(ran.out)), encoding="utf-8")
    assert run_here("schema", "--check", other_layout).code == 0

    old = tmp_path / "old.json"
    old.write_text(ran.out.replace("One paragraph", "Two paragraphs"), encoding="utf-8")
    ran = run_here("schema", "--check", old)
    assert ran.code == 1
    assert re.search(r'^-.*"Two paragraphs', ran.out, re.MULTILINE)
    assert re.search(r'^\+.*"One paragraph', ran.out, re.MULTILINE)
    assert f"gym-mcp schema > {old}" in ran.err


@pytest.mark.parametrize("content", [None, "{"])
def test_a_schema_that_cannot_be_compared_is_an_error(content: str | None, run_here: Run, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ran = run_here("schema", "--check", path)
    assert (ran.code, str(path) in ran.err) == (1, True)

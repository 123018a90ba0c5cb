"""The golden folder: each case says what it should, with libyaml and without it, and nothing once it is mended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from casebook import EXPECTED, TOOLS, Case, read_cases

from gym_mcp_manifest.diagnostics import CODES

CASES = read_cases()
FAULTY = [case for case in CASES if case.folder.parent.name == "err"]
DRIVER = Path(__file__).parent / "casebook.py"
#: Set it to write `expected.txt` and `tools.txt` anew instead of comparing.
REWRITE = "GMM_REWRITE_CASES"
#: Codes that no case can show, with the reason.
WITHOUT_CASE: dict[str, str] = {}

Answers = dict[str, dict[str, str]]


def answers(reader: str) -> Answers:
    """What every case gives, in a process of its own."""
    run = [sys.executable, str(DRIVER), reader]
    done = subprocess.run(run, capture_output=True, encoding="utf-8", timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def with_libyaml() -> Answers:
    found = answers("libyaml")
    if os.environ.get(REWRITE):
        for case in CASES:
            for name in (EXPECTED, TOOLS):
                if found[case.name].get(name):
                    (case.folder / name).write_text(found[case.name][name], encoding="utf-8")
                else:
                    (case.folder / name).unlink(missing_ok=True)
    return found


@pytest.fixture(scope="module")
def without_libyaml() -> Answers:
    return answers("python")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gives_the_findings_that_are_expected(case: Case, with_libyaml: Answers) -> None:
    assert with_libyaml[case.name][EXPECTED] == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gives_the_same_without_libyaml(
    case: Case, with_libyaml: Answers, without_libyaml: Answers
) -> None:
    assert without_libyaml[case.name] == with_libyaml[case.name]


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.name)
def test_a_faulty_case_has_a_finding_of_its_code(case: Case) -> None:
    assert f"[{case.code}]" in case.expected


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.name)
def test_a_mended_case_has_no_finding(case: Case, with_libyaml: Answers) -> None:
    assert case.fixes
    assert with_libyaml[case.name]["fixed"] == ""


@pytest.mark.parametrize("case", [c for c in CASES if c not in FAULTY], ids=lambda case: case.name)
def test_a_case_in_order_gives_the_tools_that_its_data_describe(case: Case, with_libyaml: Answers) -> None:
    assert case.expected == ""
    tools = case.folder / TOOLS
    assert with_libyaml[case.name].get(TOOLS, "") == (tools.read_text(encoding="utf-8") if tools.exists() else "")


def test_every_code_has_a_case() -> None:
    assert {case.code for case in FAULTY} | WITHOUT_CASE.keys() == CODES.keys()
    assert not {case.code for case in FAULTY} & WITHOUT_CASE.keys()

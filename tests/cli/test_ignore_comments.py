"""`# gmm: ignore[GMM117]`: which warnings a comment silences, and what is said of one that silences nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Found = Callable[..., list[tuple[str, int, int]]]


@pytest.fixture
def found(run_here: Run, tmp_path: Path) -> Found:
    """Code, line and column of what `validate` finds in the lines of a manifest."""

    def found_(*lines: str) -> list[tuple[str, int, int]]:
        path = tmp_path / "mcp.yaml"
        path.write_text("\n".join(["version: 1", *lines, ""]), encoding="utf-8")
        heads = [line for line in run_here("validate", path).out.splitlines() if line.startswith(str(path))]
        places = (line.removeprefix(f"{path}:").split(":") for line in heads)
        return [(rest.partition("[")[2][:6], int(line), int(column)) for line, column, rest, *_ in places]

    return found_


def test_a_comment_at_the_end_of_a_line_silences_its_warnings(found: Found) -> None:
    assert found("server: {title: yes}") == [("GMM117", 2, 17)]
    assert found("server: {title: yes}  # gmm: ignore[GMM117]") == []
    assert found("server: {title: yes}  #gmm:ignore[ GMM117 ] said so by the operator") == []
    assert found("server: {title: yes, instructions: no}  # gmm: ignore[GMM117]") == []


def test_a_comment_on_a_line_of_its_own_silences_the_next_line_with_content(found: Found) -> None:
    comment = "# gmm: ignore[GMM117]"
    assert found("server:", f"  {comment}", "  title: yes") == []
    assert found("server:", f"  {comment}", "  # Another one.", "", "  title: yes") == []
    assert found("server:", comment, "  title: yes", "  instructions: no") == [("GMM117", 5, 17)]


def test_one_comment_may_name_several_codes(found: Found) -> None:
    rule = "{otherwise: all, allow: [{when: 'a == \"b\"', tools: [a]}], x-a: yes}"
    assert found(f"sessions: {rule}") == [("GMM210", 2, 43), ("GMM117", 2, 74)]
    assert found(f"sessions: {rule}  # gmm: ignore[GMM210, GMM117]") == []


@pytest.mark.parametrize(
    "lines",
    [
        ('server: {title: yes, instructions: "x # gmm: ignore[GMM117]"}',),
        ("server: {title: yes, instructions: 'x # gmm: ignore[GMM117]'}",),
        ("server:", "  title: yes", "  x-a: x#gmm:ignore[GMM117]"),
        ("server:", "  instructions: |", "    a", "    # gmm: ignore[GMM117]", "  title: yes"),
        ("server:", "  instructions: >-", "    # gmm: ignore[GMM117]", "  title: yes"),
        ("server:", "  instructions: 'a", "    # gmm: ignore[GMM117]", "    b'", "  title: yes"),
    ],
)
def test_text_is_no_comment(lines: tuple[str, ...], found: Found) -> None:
    assert [code for code, _, _ in found(*lines)] == ["GMM117"]


@pytest.mark.parametrize(
    "lines",
    [
        ("server:", "  instructions: |", "    a", "  # gmm: ignore[GMM117]", "  title: yes"),
        ("x-a: | # gmm: ignore[GMM117]", "  text", "server: {title: yes}  # gmm: ignore[GMM117]"),
        ("x-a: 'it''s # text'", "server: {title: yes}  # gmm: ignore[GMM117]"),
    ],
)
def test_comments_beside_text_are_comments(lines: tuple[str, ...], found: Found) -> None:
    assert {code for code, _, _ in found(*lines)} <= {"GMM118"}


def test_errors_are_never_silenced(found: Found, run_here: Run, tmp_path: Path) -> None:
    assert found("server: {titel: x}  # gmm: ignore[GMM201]") == [("GMM201", 2, 10), ("GMM118", 2, 35)]
    assert "errors are never silenced" in run_here("validate", tmp_path).out


def test_a_comment_that_silences_nothing_is_a_warning_at_the_code(
    found: Found, run_here: Run, tmp_path: Path
) -> None:
    assert found("server: {title: yes}  # gmm: ignore[GMM117, GMM210]") == [("GMM118", 2, 45)]
    ran = run_here("validate", tmp_path)
    assert (ran.code, "silences no GMM210: there is none on its line" in ran.out) == (0, True)
    assert run_here("validate", tmp_path, "--strict").code == 1
    assert found("server: {title: x}", "# gmm: ignore[GMM117]") == [("GMM118", 3, 15)]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# gmm: ignore[GMM711177]", "the code of no finding"),
        ("# gmm: ignore[gmm117]", "did you mean `GMM117`?"),
        ("# gmm: ignore[]", "it names no code"),
        ("# gmm: ignore", "write `# gmm: ignore[GMM117]`"),
        ("# gmm: disable GMM117", "write `# gmm: ignore[GMM117]`"),
        ("# gmm: ignore[GMM117", "write `# gmm: ignore[GMM117]`"),
    ],
)
def test_a_comment_that_is_misspelt_says_so(
    comment: str, says: str, found: Found, run_here: Run, tmp_path: Path
) -> None:
    assert [code for code, _, _ in found(f"server: {{title: yes}} {comment}")] == ["GMM117", "GMM118"]
    assert says in run_here("validate", tmp_path).out


def test_what_only_a_plan_can_find_is_not_called_unused(found: Found) -> None:
    assert found("server: {title: x}  # gmm: ignore[GMM704, GMM705, GMM708]") == []


def test_warnings_about_data_are_silenced_where_the_manifest_takes_them_in(
    found: Found, run_here: Run, tmp_path: Path
) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "a"}]')
    source = "  - tools: [{file: tools.json}]"
    assert found("catch_all:", source) == []
    assert "GMM708" in run_here("validate", tmp_path).out
    assert found("catch_all:", f"{source}  # gmm: ignore[GMM708]") == []
    assert run_here("validate", tmp_path, "--strict").out == ""


def test_a_manifest_that_is_no_yaml_shows_its_errors_only(found: Found) -> None:
    assert {code for code, _, _ in found("server: {title: yes  # gmm: ignore[GMM210]")} == {"GMM105", "GMM117"}


def test_standard_input_may_have_comments_too(run: Run) -> None:
    ran = run("validate", "-", stdin="version: 1\nserver: {title: yes} # gmm: ignore[GMM117]\n")
    assert (ran.code, ran.out) == (0, "")


APP = """
from fastapi import FastAPI
app = FastAPI()
@app.post("/{tool}")
async def dispatch(tool: str): return {}
"""


def test_a_plan_heeds_the_comments_too_and_finds_the_idle_ones(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "tools.json").write_text(
        '[{"name": "look"}, {"name": "' + "x" * 100 + '", "description": "Long."}]'
    )
    manifest = tmp_path / "mcp.yaml"
    lines = [
        "version: 1",
        "server: {title: no}  # gmm: ignore[GMM117]",
        "sessions: {mode: none}  # gmm: ignore[GMM705]",
        "catch_all:",
        "  - tools:",
        "      - file: tools.json  # gmm: ignore[GMM704, GMM708]",
    ]
    manifest.write_text("\n".join(lines))
    ran = run_here("plan", ".", cwd=tmp_path)
    (warning,) = [line for line in ran.out.splitlines() if "warning[" in line]
    assert warning.startswith("mcp.yaml:3:")
    assert "GMM118" in warning
    manifest.write_text("\n".join(lines).replace("# gmm: ", "# "))
    loud = run_here("plan", ".", cwd=tmp_path).out
    assert [code for code in ("GMM117", "GMM118", "GMM704", "GMM708") if code in loud] == [
        "GMM117",
        "GMM704",
        "GMM708",
    ]

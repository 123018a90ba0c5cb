"""Findings as workflow commands, which GitHub Actions shows beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span
from gym_mcp_manifest.render.files import relative_to_root

__all__ = ["SHOWN_PER_STEP", "github_commands", "unshown"]

#: How many errors, and how many warnings, GitHub shows of one step.
SHOWN_PER_STEP = 10


def github_commands(found: Iterable[Diagnostic], root: Path) -> tuple[str, ...]:
    """One workflow command for each finding, errors first; files in `root` are named from there."""
    ordered = sorted(found, key=lambda d: d.severity != "error")
    return tuple(_command(d, root) for d in ordered)


def unshown(found: Iterable[Diagnostic]) -> str | None:
    """What to do where GitHub will not show all of the findings, or None."""
    severities = [d.severity for d in found]
    if all(severities.count(severity) <= SHOWN_PER_STEP for severity in ("error", "warning")):
        return None
    return (
        f"GitHub shows the first {SHOWN_PER_STEP} errors and the first {SHOWN_PER_STEP} warnings of a step; "
        "for all of them read this log, or upload the output of `--format sarif` to code scanning"
    )


def _command(diagnostic: Diagnostic, root: Path) -> str:
    span = diagnostic.span
    place = {} if span is None else _place(span, root)
    properties = {**place, "title": f"{diagnostic.code} {CODES[diagnostic.code]}"}
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    # The log shows the message alone, so it says its place once more.
    lines = [f"{span}: {diagnostic.message}" if span else diagnostic.message]
    lines += [f"note: {note} {there}" for note, there in diagnostic.related]
    lines += [f"help: {diagnostic.hint}"] if diagnostic.hint else []
    return f"::{diagnostic.severity} {written}::{_data(chr(10).join(lines))}"


def _place(span: Span, root: Path) -> dict[str, str]:
    if span.file.startswith("<"):  # no file that GitHub could show
        return {}
    place = {"file": relative_to_root(span.file, root)}
    if not span.line:
        return place
    if span.end_line in (0, span.line):
        place |= {"line": str(span.line), "col": str(span.column), "endLine": str(span.line)}
        return place | {"endColumn": str(max(span.end_column, span.column + 1))}
    # GitHub takes columns only within one line.
    return place | {"line": str(span.line), "endLine": str(span.end_line)}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

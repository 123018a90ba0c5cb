"""Findings for people (with the line and a caret) and for programs (versioned JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span

__all__ = ["FINDINGS_FORMAT", "counted", "findings_json", "findings_payload", "print_findings", "summary"]

#: Version of the JSON form; it changes when a reader would have to.
FINDINGS_FORMAT = 1
_TAB = 4


def print_findings(found: Iterable[Diagnostic], console: Console) -> None:
    """Write every finding: place, code, message, the line with a caret, the help."""
    for diagnostic in found:
        console.print(_headline(diagnostic), soft_wrap=True, highlight=False)
        for line in _snippet(diagnostic.span):
            console.print(Text(line, style="dim"), soft_wrap=True)
        for note, span in diagnostic.related:
            console.print(Text(f"  note: {note} {span}", style="cyan"), soft_wrap=True)
        if diagnostic.hint:
            console.print(Text(f"  help: {diagnostic.hint}", style="green"), soft_wrap=True)


def findings_payload(found: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """The findings as plain data."""
    return [
        {
            "code": d.code,
            "severity": d.severity,
            "title": CODES[d.code],
            "message": d.message,
            "file": d.file,
            "line": d.line,
            "column": d.column,
            "end_line": (d.span.end_line or None) if d.span else None,
            "end_column": (d.span.end_column or None) if d.span else None,
            "hint": d.hint,
            "related": [{"message": note, **_place(span)} for note, span in d.related],
        }
        for d in found
    ]


def findings_json(found: Iterable[Diagnostic], files: int) -> str:
    """The findings as one JSON document."""
    entries = findings_payload(found)
    payload = {
        "format_version": FINDINGS_FORMAT,
        "files": files,
        "errors": sum(entry["severity"] == "error" for entry in entries),
        "warnings": sum(entry["severity"] == "warning" for entry in entries),
        "findings": entries,
    }
    return json.dumps(payload, indent=2, ensure_ascii=False)


def summary(found: Iterable[Diagnostic]) -> str:
    """How many of each, in words."""
    severities = [d.severity for d in found]
    return f"{counted(severities.count('error'), 'error')}, {counted(severities.count('warning'), 'warning')}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 tool`, `2 tools`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _headline(diagnostic: Diagnostic) -> Text:
    style = "bold red" if diagnostic.severity == "error" else "bold yellow"
    place = f"{diagnostic.span}: " if diagnostic.span else ""
    return Text.assemble(
        (place, "bold"), (f"{diagnostic.severity}[{diagnostic.code}]", style), f" {diagnostic.message}"
    )


def _place(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line or None, "column": span.column or None}


def _snippet(span: Span | None) -> Iterator[str]:
    if span is None or not span.line or not span.column:
        return
    lines = _lines(span.file)
    if not 0 < span.line <= len(lines):
        return
    line = lines[span.line - 1]
    if len(line) > 200:
        return
    number = str(span.line)
    end = span.end_column if span.end_line == span.line and span.end_column > span.column else span.column + 1
    before, under = line[: span.column - 1], line[span.column - 1 : end - 1]
    yield f"  {number} | {line.expandtabs(_TAB)}"
    pad = " " * cell_len(before.expandtabs(_TAB))
    yield f"  {' ' * len(number)} | {pad}^{'~' * max(cell_len(under) - 1, 0)}"


@lru_cache(maxsize=64)
def _lines(file: str) -> list[str]:
    try:
        # In text mode exactly CR, LF and CR LF end a line, as for the places of findings.
        with Path(file).open(encoding="utf-8-sig") as stream:
            return [line.rstrip("\n") for line in stream]
    except (OSError, UnicodeDecodeError):
        return []

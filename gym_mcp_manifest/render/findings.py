"""Findings for people (with their lines and carets) and for programs (versioned JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FINDINGS_FORMAT", "counted", "findings_json", "findings_payload", "print_findings", "summary"]

#: Version of the JSON form; it changes when a reader would have to.
FINDINGS_FORMAT = 1


def print_findings(
    found: Iterable[Diagnostic], console: Console, sources: Mapping[str, bytes] | None = None
) -> None:
    """Write every finding: place, code, message, the lines with a caret, the related places, the help.

    `sources` holds what cannot be read again, such as standard input, by the name in the findings.
    """
    # Rich is a fourth of the start of a program that most often finds nothing.
    from rich.text import Text

    from gym_mcp_manifest.render.snippets import printable, read_excerpts, snippet

    found = tuple(found)
    excerpts = read_excerpts((span for d in found for span in _spans(d)), sources)

    def say(*parts: tuple[str, str]) -> None:
        text = Text.assemble(*((printable(part), style) for part, style in parts))
        console.print(text, soft_wrap=True, highlight=False)

    def show(span: Span | None) -> None:
        for line in snippet(span, excerpts) if span else ():
            say((line, "dim"))

    for d in found:
        style = "bold red" if d.severity == "error" else "bold yellow"
        place = f"{d.span}: " if d.span else ""
        say((place, "bold"), (f"{d.severity}[{d.code}]", style), (f" {d.message}", ""))
        show(d.span)
        for note, span in d.related:
            say((f"  note: {note} {span}", "cyan"))
            show(span)
        if d.hint:
            say((f"  help: {d.hint}", "green"))


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


def _spans(diagnostic: Diagnostic) -> Iterable[Span]:
    first = (diagnostic.span,) if diagnostic.span else ()
    return (*first, *(span for _, span in diagnostic.related))


def _place(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line or None, "column": span.column or None}

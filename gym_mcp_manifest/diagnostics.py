"""Findings: what is wrong, where, under which stable code, and what would fix it.

Every stage reports with these records; `render` turns them into text, JSON and the formats of code hosts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

__all__ = ["CODES", "Diagnostic", "Severity", "Span", "errors_among", "nearest", "sorted_diagnostics"]

Severity = Literal["error", "warning"]

#: Every code that a finding may carry, with its one-line meaning. Codes are never reused.
#: 1xx text, 2xx shape, 3xx across keys, 4xx data files, 5xx instance, 6xx routes and plan, 7xx names and sessions.
CODES = MappingProxyType(
    {
        "GMM101": "unreadable file",
        "GMM102": "text that is not UTF-8",
        "GMM103": "character that does not belong in the text",
        "GMM104": "file that is too large",
        "GMM105": "invalid YAML syntax",
        "GMM106": "duplicate key",
        "GMM107": "merge key",
        "GMM108": "key that is not a string",
        "GMM109": "unsupported tag",
        "GMM110": "second document",
        "GMM111": "undefined alias",
        "GMM112": "recursive alias",
        "GMM113": "alias that expands too far",
        "GMM114": "nesting that is too deep",
        "GMM115": "number that readers disagree on",
        "GMM116": "number out of range",
        "GMM117": "plain text that other readers take for another type",
        "GMM118": "ignore comment that silences nothing",
        "GMM201": "unknown key",
        "GMM202": "missing key",
        "GMM203": "wrong type or value",
        "GMM204": "key without a value",
        "GMM205": "unsupported manifest version",
        "GMM206": "key of a later release",
        "GMM207": "invalid route pattern",
        "GMM208": "invalid expression",
        "GMM209": "invalid JSON Schema",
        "GMM210": "expression that hardly says what is meant",
        "GMM211": "invalid reference to a Python object",
        "GMM301": "keys that exclude each other",
        "GMM302": "key that has no effect",
        "GMM303": "choice that must be written",
        "GMM401": "unreadable data file",
        "GMM402": "data file outside the server's folder",
        "GMM403": "data that is not a tool spec",
        "GMM404": "conflicting tool specs",
        "GMM405": "data source without tools",
        "GMM406": "Python source that gives no specs",
        "GMM501": "unreadable instance configuration",
        "GMM502": "unknown instance key",
        "GMM503": "ambiguous or missing instance",
        "GMM504": "invalid override",
        "GMM601": "entry that matches nothing",
        "GMM602": "handler shape that cannot be dispatched",
        "GMM603": "middleware that would be skipped",
        "GMM604": "catch-all that cannot be chosen",
        "GMM605": "route that another route shadows",
        "GMM606": "protocol route missing",
        "GMM607": "app that cannot be exposed",
        "GMM608": "route that neither list names",
        "GMM609": "dispatcher without tools",
        "GMM610": "target that cannot be loaded",
        "GMM611": "surface lock that cannot be used",
        "GMM612": "surface lock changed by hand",
        "GMM620": "argument that cannot be withheld",
        "GMM621": "argument value that the schema refuses",
        "GMM622": "reply without a schema",
        "GMM701": "illegal tool name",
        "GMM702": "reserved tool name",
        "GMM703": "tool name given twice",
        "GMM704": "name longer than an agent accepts",
        "GMM705": "ambiguous agent-side name",
        "GMM706": "session secret missing",
        "GMM707": "schema that a known client rejects",
        "GMM708": "tool without a description",
        "GMM709": "tools that take up much of a model's context",
        "GMM710": "tools that are described alike",
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file: 1-based line and column, the end exclusive; `line` 0 means the file as a whole.

    The text at a `private` place may hold secrets: it is never shown.
    """

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    private: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding, with the line that would mend it where one is known."""

    code: str
    message: str
    severity: Severity = "error"
    span: Span | None = None
    hint: str | None = None
    related: tuple[tuple[str, Span], ...] = field(default=())

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unregistered diagnostic code {self.code!r}")

    @property
    def file(self) -> str | None:
        """The file as the user named it, or None for a finding about no file."""
        return self.span.file if self.span else None

    @property
    def line(self) -> int | None:
        """The 1-based line, or None where the finding has no place in a file."""
        return self.span.line or None if self.span else None

    @property
    def column(self) -> int | None:
        """The 1-based column, or None where the finding has no place in a file."""
        return self.span.column or None if self.span else None

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        lines = [f"{place}{self.severity}[{self.code}] {self.message}"]
        lines += [f"  {note}: {span}" for note, span in self.related]
        if self.hint:
            lines += [f"  help: {self.hint}"]
        return "\n".join(lines)


def sorted_diagnostics(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings by file, line, column and code, doubles dropped; those without a place come last."""
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda d: (d.span is None, d.span or Span(""), d.code, d.message)))


def errors_among(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Only the findings that stop a boot."""
    return tuple(d for d in found if d.severity == "error")


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that was most likely meant, or None when nothing comes close."""
    close = get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return close[0] if close else None

"""Expressions that YAML does not take for one text: the line with the quotes that they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.expressions import as_yaml, compiled
from gym_mcp_manifest.manifest.slips import mended, parts
from gym_mcp_manifest.manifest.source import SourceFile

__all__ = ["with_quotes"]

# What YAML says of a text that it takes for brackets, a quote, a tag or an alias.
_CODES = frozenset({"GMM105", "GMM109", "GMM111"})
_LONGEST = 500
_KEYS = "when|from|select|session|only_if"
_KEY = re.compile(rf"(?<![\w-])(?:{_KEYS}):[ \t]+(?=\S)")
_OPEN_KEY = re.compile(rf"(?:^|[\s\-])(?:{_KEYS}):\s*(?:#.*)?$")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(?=\S)")


def with_quotes(finding: Diagnostic, source: SourceFile) -> Diagnostic:
    """The finding with the line that mends it, where it is about an expression without the quotes it needs."""
    if finding.code not in _CODES or not finding.line or not finding.column:
        return finding
    line = source.line(finding.line)
    start = _value_start(source, finding.line, finding.column) if len(line) <= _LONGEST else None
    if start is None:
        return finding
    for end in _ends(line, start):
        quoted = _quoted(line[start:end])
        if quoted:
            better = f"{line[:start]}{quoted}{line[end:]}".strip()
            return replace(finding, hint=f"quote the expression: {better}")
    return finding


def _value_start(source: SourceFile, number: int, column: int) -> int | None:
    """Where the expression begins in a line: behind its key, or behind the dash of a list of them."""
    line = source.line(number)
    keys = [match.end() for match in _KEY.finditer(line) if match.end() < column]
    if keys:
        return keys[-1]
    entry = _ENTRY.match(line)
    if not entry:
        return None
    above = (
        text for text in reversed(source.lines[: number - 1]) if _OPEN_KEY.search(text) or not _ENTRY.match(text)
    )
    return entry.end() if _OPEN_KEY.search(next(above, "")) else None


def _ends(line: str, start: int) -> Iterator[int]:
    """Where the expression may end: before a sign that goes on in braces, before a comment, or with the line."""
    if "{" in line[:start]:
        yield from (start + match.start() for match in re.finditer(r"[,}]", line[start:]) if match.start())
    yield len(line.rstrip())
    comment = re.search(r"[ \t]+#", line[start:])
    if comment:
        yield start + comment.start()


def _quoted(value: str) -> str | None:
    if value[:1] + value[-1:] == "[]" and (inner := parts(value[1:-1])) and all(map(_meant, inner)):
        return f"[{', '.join(as_yaml(_meant(part) or part) for part in inner)}]"
    bare = value[1:-1] if value[:1] == value[-1:] and value[:1] in ("'", '"') else ""
    text = _meant(value) or _meant(bare)
    return as_yaml(text) if text else None


def _meant(text: str) -> str | None:
    return mended(text.strip(), compiled) if text.strip() else None

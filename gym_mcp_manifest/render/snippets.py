"""The lines of files that findings point at, with carets, fit for any terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rich.cells import cell_len

from gym_mcp_manifest.diagnostics import Span

__all__ = ["Excerpts", "printable", "read_excerpts", "snippet"]

#: The lines that findings point at, and those before them, by file and 1-based number.
Excerpts = Mapping[tuple[str, int], str]

_TAB = 4
_LONGEST = 200
_KEPT_BEFORE, _KEPT_BEHIND = 60, 120
# Characters that steer a terminal, or that make a line read otherwise than it is written.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSHOWN = re.compile(f"{_STEERING.pattern}|[\u2028\u2029\ufeff]")


def printable(text: str) -> str:
    """The text with escapes in the place of characters that steer a terminal."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def read_excerpts(spans: Iterable[Span], sources: Mapping[str, bytes] | None = None) -> Excerpts:
    """The lines that the spans need; each file is read once, and only as far as they go.

    `sources` holds what cannot be read again, such as standard input, by the name in the spans.
    """
    wanted: dict[str, set[int]] = {}
    for span in spans:
        if span.line and span.column and not span.private:
            wanted.setdefault(span.file, set()).update((span.line - 1, span.line))
    return {
        (file, number): line
        for file, numbers in wanted.items()
        for number, line in _numbered(file, max(numbers), sources or {})
        if number in numbers
    }


def snippet(span: Span, excerpts: Excerpts) -> Iterator[str]:
    """The line before, the line, and a caret under the place; nothing where the line is not known."""
    line = excerpts.get((span.file, span.line))
    if line is None or not span.column or span.private:
        return
    number = str(span.line)
    before = excerpts.get((span.file, span.line - 1), "")
    if before.strip():
        shown, _, _ = _shortened(before, 1, 1)
        yield f"  {span.line - 1:>{len(number)}} | {_visible(shown)}".rstrip()
    one_line = span.end_line == span.line and span.end_column > span.column
    shown, start, end = _shortened(line, span.column, span.end_column if one_line else span.column + 1)
    yield f"  {number} | {_visible(shown)}".rstrip()
    pad = " " * cell_len(_visible(shown[: start - 1]))
    under = cell_len(_visible(shown[: end - 1])) - len(pad)
    yield f"  {' ' * len(number)} | {pad}^{'~' * (under - 1)}"


def _shortened(line: str, start: int, end: int) -> tuple[str, int, int]:
    """What is shown of a line around the columns from `start` to `end`, and these columns in it."""
    if len(line) <= _LONGEST:
        return line, start, end
    first = max(0, start - 1 - _KEPT_BEFORE)
    last = min(len(line), first + _KEPT_BEFORE + _KEPT_BEHIND)
    head, tail = "…" if first else "", "…" if last < len(line) else ""
    moved = first - len(head)
    return f"{head}{line[first:last]}{tail}", start - moved, min(end, last + 1) - moved


def _visible(line: str) -> str:
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", line).expandtabs(_TAB)


def _numbered(file: str, last: int, sources: Mapping[str, bytes]) -> Iterator[tuple[int, str]]:
    try:
        with _opened(file, sources) as text:
            yield from zip(range(1, last + 1), (line.rstrip("\n") for line in text), strict=False)
    except OSError:  # it was there a moment ago
        return


def _opened(file: str, sources: Mapping[str, bytes]) -> io.TextIOWrapper:
    # In text mode exactly CR, LF and CR LF end a line, as for the places of findings.
    if file in sources:
        return io.TextIOWrapper(io.BytesIO(sources[file]), encoding="utf-8-sig", errors="replace")
    return Path(file).open(encoding="utf-8-sig", errors="replace")

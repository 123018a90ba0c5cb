"""`# gmm: ignore[GMM117]` in a manifest: warnings that its author knows and keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import ScalarEvent

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.scalars import PythonEvents
from gym_mcp_manifest.manifest.source import SourceFile

__all__ = ["silenced"]

_LIBYAML = getattr(yaml, "CSafeLoader", None)
_COMMENT = re.compile(r"(?<!\S)#[ \t]*gmm:[^\r\n]*", re.IGNORECASE)
_IGNORE = re.compile(r"#[ \t]*gmm:[ \t]*ignore[ \t]*\[([^\]]*)\]", re.IGNORECASE)
_CODE = re.compile(r"[^\s,]+")
_BLOCK_HEADER = re.compile(r"(?<!\S)[|>][-+0-9]*(?:[ \t]+#[^\r\n]*)?(?=[\r\n]|$)")
_SPELLING = "write `# gmm: ignore[GMM117]`, with the codes of the warnings to silence"


@dataclass(frozen=True, slots=True)
class _Comment:
    """A comment, the codes in it with their places, and the line that it is about."""

    place: Span
    codes: tuple[tuple[str, Span], ...]
    line: int


def silenced(found: Iterable[Diagnostic], source: SourceFile, codes: Set[str]) -> tuple[Diagnostic, ...]:
    """The findings without the warnings that comments of the manifest `source` silence.

    A comment is about its line, or, where it stands alone, about the next line with content. A warning is of the
    line where it begins; one about a data file is of the related line of the manifest, which takes the data in.
    What silences nothing is a warning of its own, but only for the `codes` whose every finding the caller sees:
    another command may find the others. Errors are never silenced. A manifest that is no YAML silences nothing.
    """
    found = tuple(found)
    comments = tuple(_comments(source))
    if not comments:
        return found
    wanted = {(comment.line, code) for comment in comments for code, _ in comment.codes}
    severities: dict[tuple[int, str], str] = {}
    kept: list[Diagnostic] = []
    for d in found:
        keys = [(line, d.code) for line in _lines(d, source.name)]
        severities.update((key, d.severity) for key in keys if severities.get(key) != "error")
        if d.severity == "error" or wanted.isdisjoint(keys):
            kept.append(d)
    return (*kept, *(idle for comment in comments for idle in _idle(comment, severities, codes)))


def _lines(diagnostic: Diagnostic, file: str) -> Iterator[int]:
    """The lines of the manifest `file` that a finding is about."""
    spans = [diagnostic.span] if diagnostic.file == file else [span for _, span in diagnostic.related]
    return (span.line for span in spans if span is not None and span.file == file and span.line)


def _idle(comment: _Comment, found: Mapping[tuple[int, str], str], codes: Set[str]) -> Iterator[Diagnostic]:
    if not comment.codes:
        yield _warning("this comment silences nothing: it names no code", comment.place, _SPELLING)
    where = "its line" if comment.line == comment.place.line else "the line below"
    for code, place in comment.codes:
        severity = found.get((comment.line, code))
        if code not in CODES:
            guess = nearest(code.upper(), CODES)
            hint = f"did you mean `{guess}`?" if guess else _SPELLING
            yield _warning(f"`{code}` is the code of no finding", place, hint)
        elif severity == "error":
            yield _warning(f"{code} is an error here, and errors are never silenced", place, "mend the error")
        elif severity is None and code in codes:
            message = f"this comment silences no {code}: there is none on {where}"
            yield _warning(message, place, f"take `{code}` out of the comment")


def _warning(message: str, place: Span, hint: str) -> Diagnostic:
    return Diagnostic(code="GMM118", message=message, severity="warning", span=place, hint=hint)


def _comments(source: SourceFile) -> Iterator[_Comment]:
    candidates = tuple(_COMMENT.finditer(source.text))
    opaque = _opaque(source.text) if candidates else None
    if opaque is None:
        return
    for match in candidates:
        if any(start <= match.start() < end for start, end in opaque):
            continue
        before = source.text[: match.start()]
        row = SourceFile("", before).lines
        line, column = len(row), len(row[-1]) + 1
        about = _next_line(source, line) if not row[-1].strip() else line
        place = Span(source.name, line, column, line, column + len(match[0].rstrip()))
        yield _Comment(place, tuple(_codes(match[0], place)), about)


def _codes(comment: str, place: Span) -> Iterator[tuple[str, Span]]:
    ignore = _IGNORE.match(comment)
    for match in _CODE.finditer(comment, *ignore.span(1)) if ignore else ():
        column = place.column + match.start()
        yield match[0], Span(place.file, place.line, column, place.line, column + len(match[0]))


def _next_line(source: SourceFile, line: int) -> int:
    rest = enumerate(source.lines[line:], line + 1)
    return next((number for number, text in rest if text.strip() and not text.lstrip().startswith("#")), line)


def _opaque(text: str) -> tuple[tuple[int, int], ...] | None:
    """From where to where a `#` is text: in quotes and block scalars. None for a text that is no YAML."""
    for loader in filter(None, (_LIBYAML, PythonEvents)):
        try:
            return tuple(_opaque_parts(text, loader))
        except (yaml.YAMLError, ValueError, OverflowError):
            continue
    return None


def _opaque_parts(text: str, loader: type) -> Iterator[tuple[int, int]]:
    events = loader(text)
    while events.check_event():
        event: Any = events.get_event()  # PyYAML's stubs call every mark optional
        kind = type(event)
        if kind is ScalarEvent and event.style:
            start, end = event.start_mark.index, event.end_mark.index
            header = _BLOCK_HEADER.search(text, start, end) if event.style in "|>" else None
            yield (header.end() if header else start), end

"""The text of one file, decoded and free of what no reader should meet: the first step of the reader."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from gym_mcp_manifest.diagnostics import Diagnostic, Span

__all__ = ["MAX_BYTES", "Place", "SourceFile", "decode_source", "find_characters", "read_source"]

#: Largest manifest that is read.
MAX_BYTES = 2 * 1024 * 1024

#: Line, column, end line and end column, counted from 0 as parsers do, the end exclusive.
Place = tuple[int, int, int, int]

_BREAK = re.compile(r"\r\n|\n|\r")
# What neither YAML nor JSON lets stand unescaped. Each language may refuse more.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BOM = "\ufeff"
_NAMES = {
    "\x00": "NUL",
    "\x85": "NEXT LINE",
    "\u2028": "LINE SEPARATOR",
    "\u2029": "PARAGRAPH SEPARATOR",
    _BOM: "BOM",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's text under the name by which the user called it.

    Only CR, LF and CR LF end a line, so that line numbers are those of an editor.
    """

    name: str
    text: str
    _lines: list[tuple[str, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends; there is always a first one."""
        # Split when first asked for: a large data file that is in order never needs it.
        if not self._lines:
            self._lines.append(tuple(_BREAK.split(self.text) if "\r" in self.text else self.text.split("\n")))
        return self._lines[0]

    def line(self, n: int) -> str:
        """The text of the 1-based line `n`, empty where the file has no such line."""
        return self.lines[n - 1] if 0 < n <= len(self.lines) else ""

    def span(self, place: Place) -> Span:
        """The span of a place; what lies below the last line is moved to its end."""
        # libyaml counts one line more than there is where the last one has no end.
        last = len(self.lines) - 1
        line, column, end_line, end_column = place
        if line > last:
            line, column = last, len(self.lines[last])
        if end_line > last:
            end_line, end_column = last, len(self.lines[last])
        return Span(self.name, line + 1, column + 1, end_line + 1, end_column + 1)

    def word_at(self, line: int, column: int) -> tuple[Place, str]:
        """The place of the word that begins at a position counted from 0, and its name in a message."""
        rest = self.line(line + 1)[column:]
        word = rest.split(" ", 1)[0][:40]
        place = (line, column, line, column + max(1, len(word)))
        if word:
            return place, f"`{word}`"
        if rest:
            return place, "a space"
        return place, "the end of the file" if line + 1 >= len(self.lines) else "the end of the line"


def read_source(
    path: str | os.PathLike[str], *, name: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[SourceFile | None, tuple[Diagnostic, ...]]:
    """The file at `path` as text, or None and what is wrong with it; `name` is how findings call it.

    Never raises: a missing, unreadable, irregular or oversized file is a finding about the file as a whole.
    """
    shown = os.fspath(path) if name is None else name
    try:
        mode = Path(path).stat().st_mode
        # Looked at before opening, because opening a pipe waits for its writer.
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            return None, (_about_file("GMM101", shown, f"cannot read the file: it is {kind}"),)
        with Path(path).open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except FileNotFoundError:
        return None, (_about_file("GMM101", shown, "the file does not exist"),)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return None, (_about_file("GMM101", shown, f"cannot read the file: {reason}"),)
    return decode_source(shown, content, max_bytes=max_bytes)


def decode_source(
    name: str, content: bytes, *, max_bytes: int = MAX_BYTES
) -> tuple[SourceFile | None, tuple[Diagnostic, ...]]:
    """The UTF-8 `content` as text without its byte order mark, or None and what is wrong with it.

    Refused are content beyond `max_bytes`, bytes that are not UTF-8, control characters and a second mark.
    """
    if len(content) > max_bytes:
        return None, (_about_file("GMM104", name, f"the file is larger than {max_bytes:,} bytes"),)
    try:
        text = content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        return None, (_not_utf8(name, content, error.start),)
    source = SourceFile(name, text)
    faults = find_characters(source, _CONTROL)
    if text.startswith(_BOM):
        message = "a second byte order mark (U+FEFF) begins the text"
        second = Diagnostic(code="GMM103", message=message, span=Span(name, 1, 1, 1, 2), hint="delete it")
        faults = (second, *faults)
    return (None, faults) if faults else (source, ())


def find_characters(source: SourceFile, pattern: re.Pattern[str], limit: int = 20) -> tuple[Diagnostic, ...]:
    """A finding for each place where `pattern`, a set of unwanted characters, occurs; at most `limit`."""
    # One search of the whole text costs a fraction of a search in every line.
    if not pattern.search(source.text):
        return ()
    found: list[Diagnostic] = []
    for number, line in enumerate(source.lines, 1):
        for match in pattern.finditer(line):
            column = match.start() + 1
            code, name = ord(match[0]), _NAMES.get(match[0], "a control or invisible character")
            found.append(
                Diagnostic(
                    code="GMM103",
                    message=f"U+{code:04X} ({name}) cannot stand in the text",
                    span=Span(source.name, number, column, number, column + 1),
                    hint=f'delete it, or write "{_escape(code)}" in double quotes',
                )
            )
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def _escape(code: int) -> str:
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _not_utf8(name: str, content: bytes, offset: int) -> Diagnostic:
    # What precedes the offending byte did decode, so its lines and columns can be counted.
    before = _BREAK.split(content[:offset].decode("utf-8").removeprefix(_BOM))
    line, column = len(before), len(before[-1]) + 1
    utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    return Diagnostic(
        code="GMM102",
        message="the file is UTF-16, not UTF-8" if utf16 else f"byte 0x{content[offset]:02X} is not UTF-8",
        span=Span(name, line, column, line, column + 1),
        hint="save the file as UTF-8",
    )


def _about_file(code: str, name: str, message: str) -> Diagnostic:
    # Programs that read findings expect a line.
    return Diagnostic(code=code, message=message, span=Span(name, 1, 1))

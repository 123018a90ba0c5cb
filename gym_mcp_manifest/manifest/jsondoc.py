"""Strict JSON: what readers disagree on is refused at its place, and every object can be found in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import inf, isfinite
from typing import Any, NoReturn

__all__ = ["JsonFault", "opening_offsets", "parse_json", "part_offsets"]

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_OPENING = re.compile(rf"{_STRING}|([\[{{])", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}}]|-?Infinity|NaN|-?[0-9][-+0-9.eE]*", re.DOTALL)
_COLON = re.compile(r"[ \t\r\n]*:")
_GAP = re.compile(r"[ \t\r\n,:]*")
_DECODER = json.JSONDecoder()
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonFault(ValueError):
    """The text is no JSON, or JSON that readers disagree on: why, and from which offset to which.

    `first` is the offset of an earlier place that belongs to it, such as that of the first of two equal keys.
    """

    def __init__(self, reason: str, start: int = 0, end: int = 0, first: int | None = None) -> None:
        self.start, self.end, self.first = start, end or start + 1, first
        super().__init__(reason)


def parse_json(text: str) -> Any:
    """The value of a JSON text without duplicate keys, NaN, numbers out of range and halves of surrogates.

    Raises:
        JsonFault: it is none; nesting beyond Python's own limit is one too.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # half a pair cannot be sent to anybody
        return value
    except json.JSONDecodeError as error:
        raise JsonFault(f"not JSON: {error.msg}", error.pos) from error
    except RecursionError as error:
        raise JsonFault("not usable JSON: nested too deeply") from error
    except ValueError as error:  # a text that is not UTF-8 is one too
        # Python's reader does not tell where, so the text is read once more, slowly.
        raise next(_faults(text), JsonFault(f"not usable JSON: {error}")) from error


def opening_offsets(text: str) -> list[int]:
    """The offsets of every `{` and `[` of a JSON text in order, which is that of its values from outside in."""
    return [match.start() for match in _OPENING.finditer(text) if match[1]]


def part_offsets(text: str, offset: int, path: tuple[str | int, ...], *, key: bool = False) -> tuple[int, int]:
    """From where to where the part at `path` of the value at `offset` stands, or its key; the text is JSON.

    Where there is no such part, that is the last one on the way to it. Of an object or list it is the bracket.
    """
    start, end = offset, offset + 1
    for step in path:
        for name, key_start, key_end, at, behind in _members(text, offset):
            if name == step:
                is_open = text[at] in "{["
                start, end = (key_start, key_end) if key else (at, at + 1 if is_open else behind)
                offset = at
                break
        else:
            break
    return start, end


def _members(text: str, at: int) -> Iterator[tuple[str | int, int, int, int, int]]:
    """Every member of the object or list at `at`: key or index, from where to where its key, and its value.

    An entry of a list has no key of its own: its value stands in for it.
    """
    named = text[at] == "{"
    at = _behind_gap(text, at + 1) if text[at] in "{[" else len(text)
    index = 0
    while at < len(text) and text[at] not in "]}":
        name: str | int = index
        start = end = at
        if named:
            name, end = _DECODER.raw_decode(text, at)
            at = _behind_gap(text, end)
        _, behind = _DECODER.raw_decode(text, at)
        yield (name, start, end, at, behind) if named else (name, at, behind, at, behind)
        at = _behind_gap(text, behind)
        index += 1


def _behind_gap(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    return match.end() if match else at


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key occurs twice")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _faults(text: str) -> Iterator[JsonFault]:
    """What `parse_json` refuses in a text that is JSON otherwise, by place."""
    open_keys: list[dict[str, int]] = [{}]
    for match in _TOKEN.finditer(text):
        word, start, end = match[0], match.start(), match.end()
        if word in "{[":
            open_keys.append({})
        elif word in "}]":
            open_keys.pop()
        elif word[0] != '"':
            reason = _number_fault(word)
            if reason:
                yield JsonFault(f"not usable JSON: {reason}", start, end)
        else:
            value = json.loads(word)
            if _SURROGATE.search(word) and not _is_whole(value):
                yield JsonFault("not usable JSON: half of a surrogate pair in a text", start, end)
            if _COLON.match(text, end):
                first = open_keys[-1].setdefault(value, start)
                if first != start:
                    yield JsonFault(f"not usable JSON: the key {value!r} occurs twice", start, end, first)


def _number_fault(word: str) -> str | None:
    if word[-1].isalpha():
        return f"{word} is not JSON"
    try:
        number = json.loads(word)
    except ValueError:  # an integer with more digits than Python reads
        number = inf
    return None if isinstance(number, int) or isfinite(number) else f"the number {word[:20]} is out of range"


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

"""Where the objects of a data file stand: found by identity, as a query hands out the objects themselves."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.jsondoc import opening_offsets, part_offsets
from gym_mcp_manifest.manifest.nodes import Document, Node, place_of

__all__ = ["Objects", "json_objects", "line_and_column", "yaml_objects"]

#: The keys and indices that lead from a value to a part of it.
_Path = tuple[str | int, ...]

_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Objects:
    """The mappings and lists of one value, by identity; good as long as that value is alive."""

    #: Its place in whatever terms the others know, the identity of what holds it, and its key or index there.
    entries: Mapping[int, tuple[Any, int, str | int]]
    to_span: Callable[[Any], Span]
    #: The span of a part (or of its key), by the place and path of an object and the path from there.
    to_part: Callable[[Any, _Path, _Path, bool], Span]

    def span(self, value: Any) -> Span | None:
        """The place where an object begins; None for one that does not belong to the value."""
        entry = self.entries.get(id(value))
        return self.to_span(entry[0]) if entry else None

    def part_span(self, value: Any, path: _Path, *, key: bool = False) -> Span | None:
        """The place of the part at `path` of an object (or of its key), or of the last one on the way to it."""
        entry = self.entries.get(id(value))
        return self.to_part(entry[0], self._path(value), path, key) if entry else None

    def pointer(self, value: Any, path: _Path = ()) -> str | None:
        """The JSON Pointer to an object, or to the part of it at `path`; empty for the whole value.

        None for an object that does not belong to the value.
        """
        if id(value) not in self.entries:
            return None
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in (*self._path(value), *path))
        return "".join(f"/{step}" for step in steps)

    def _path(self, value: Any) -> _Path:
        steps: list[str | int] = []
        at = id(value)
        while at and at in self.entries:
            _, at, step = self.entries[at]
            steps.append(step)
        return tuple(reversed(steps[:-1]))


def json_objects(value: Any, text: str, name: str, first_line: int = 1) -> Objects:
    """The objects of a JSON text whose value this is; its first line is that of the file's `first_line`."""
    entries = {
        id(held): (offset, holder, step)
        for offset, (held, holder, step) in zip(opening_offsets(text), _outside_in(value), strict=False)
    }
    starts = _line_starts(text)

    def between(start: int, end: int) -> Span:
        row, column = _position(starts, start)
        line = first_line + row
        return Span(name, line, column, line, column + end - start)

    def to_part(offset: int, _: _Path, path: _Path, key: bool) -> Span:
        return between(*part_offsets(text, offset, path, key=key))

    return Objects(entries, lambda offset: between(offset, offset + 1), to_part)


def yaml_objects(document: Document) -> Objects:
    """The objects of a YAML document; what is used again by an alias is placed where it is written."""
    entries: dict[int, tuple[Any, int, str | int]] = {}
    waiting: list[tuple[Any, Any, int, str | int]] = [(document.data, document.root, 0, "")]
    while waiting:
        value, node, holder, step = waiting.pop()
        if id(value) in entries or not isinstance(node, Node) or not isinstance(value, (dict, list)):
            continue
        entries[id(value)] = (place_of(node), holder, step)
        inner = [(value[key], node.values[key], id(value), key) for key in _keys(value)]
        waiting += reversed(inner)

    def to_part(_: Any, above: _Path, path: _Path, key: bool) -> Span:
        return document.span((*above, *path), key=key)

    return Objects(entries, document.source.span, to_part)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of an offset."""
    row, column = _position(_line_starts(text), offset)
    return row + 1, column


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _BREAK.finditer(text))]


def _position(starts: list[int], offset: int) -> tuple[int, int]:
    row = bisect_right(starts, offset) - 1
    return row, offset - starts[row] + 1


def _keys(value: Any) -> Iterator[Any]:
    return iter(value) if isinstance(value, dict) else iter(range(len(value)))


def _outside_in(value: Any) -> Iterator[tuple[Any, int, str | int]]:
    """Every mapping and list in the order of their opening brackets, with its holder's identity and its step."""
    waiting: list[tuple[Any, int, str | int]] = [(value, 0, "")] if isinstance(value, (dict, list)) else []
    while waiting:
        held = waiting.pop()
        yield held
        inner = held[0]
        steps = inner.items() if isinstance(inner, dict) else enumerate(inner)
        here = id(inner)
        waiting += reversed([(part, here, step) for step, part in steps if isinstance(part, (dict, list))])

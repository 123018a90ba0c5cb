"""Where the objects of a data file stand: found by identity, as a query hands out the objects themselves."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.jsondoc import opening_offsets
from gym_mcp_manifest.manifest.nodes import Document, Node, place_of

__all__ = ["Objects", "json_objects", "line_and_column", "yaml_objects"]

_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Objects:
    """The mappings and lists of one value, by identity; good as long as that value is alive."""

    #: Its place in whatever terms `to_span` knows, the identity of what holds it, and its key or index there.
    entries: Mapping[int, tuple[Any, int, str | int]]
    to_span: Callable[[Any], Span]

    def span(self, value: Any) -> Span | None:
        """The place where an object begins; None for one that does not belong to the value."""
        entry = self.entries.get(id(value))
        return self.to_span(entry[0]) if entry else None

    def pointer(self, value: Any) -> str | None:
        """The JSON Pointer to an object, empty for the whole value; None for one that does not belong to it."""
        steps: list[str] = []
        at = id(value)
        while at and at in self.entries:
            _, at, step = self.entries[at]
            steps.append(str(step).replace("~", "~0").replace("/", "~1"))
        return "/".join(["", *reversed(steps[:-1])]) if steps else None


def json_objects(value: Any, text: str, name: str, first_line: int = 1) -> Objects:
    """The objects of a JSON text whose value this is; its first line is that of the file's `first_line`."""
    entries = {
        id(held): (offset, holder, step)
        for offset, (held, holder, step) in zip(opening_offsets(text), _outside_in(value), strict=False)
    }
    starts = _line_starts(text)

    def to_span(offset: int) -> Span:
        row, column = _position(starts, offset)
        line = first_line + row
        return Span(name, line, column, line, column + 1)

    return Objects(entries, to_span)


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
    return Objects(entries, document.source.span)


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

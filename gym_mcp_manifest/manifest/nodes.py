"""Data with places: the tree of nodes beside a document's plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.source import Place, SourceFile

__all__ = ["Document", "Node", "place_of"]


@dataclass(slots=True)
class Node:
    """A value with its place; a collection also has the places of its keys and the nodes or places within."""

    place: Place
    data: Any = None
    keys: dict[str, Place] | None = None
    values: Any = None  # a dict or list of Node and Place
    size: int = 1  # nodes, aliases expanded
    height: int = 0  # levels of collections, aliases expanded
    flow: bool = False
    open: bool = False
    as_key: bool = False
    key: Any = None  # the key whose value comes next, in an open mapping


@dataclass(frozen=True, slots=True)
class Document:
    """The one document of a file as plain data (dict, list, str, int, float, bool, None).

    An alias shares the object of its anchor: treat `data` as read-only.
    """

    source: SourceFile
    data: object
    root: Node | Place = field(repr=False, compare=False)

    def span(self, path: tuple[str | int, ...], key: bool = False) -> Span:
        """The place of the value at `path`, or of its key; the nearest ancestor's where there is none.

        The root's place is the first line. An alias is placed where it is used, the values in it where they
        are written. A list entry has no key of its own: its value's place is given.
        """
        node = self.root
        place: Place = (0, 0, 0, len(self.source.line(1)))
        for step in path:
            if not isinstance(node, Node):
                break
            keys, values = node.keys, node.values
            if isinstance(values, dict) and keys is not None and step in values:
                node = values[step]
                place = keys[str(step)] if key else place_of(node)
            elif isinstance(values, list) and isinstance(step, int) and 0 <= step < len(values):
                node = values[step]
                place = place_of(node)
            else:
                break
        return self.source.span(place)


def place_of(node: Node | Place) -> Place:
    """The place of a node, which for a scalar is all that there is of it."""
    return node.place if isinstance(node, Node) else node

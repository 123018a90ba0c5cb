"""Where the parts of one value stand, such as those of a schema: in a manifest, or in a data file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.datafile import DataDocument
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places

__all__ = ["PartPlaces", "in_data", "in_manifest"]


@dataclass(frozen=True, slots=True)
class PartPlaces:
    """The places of the parts of one value, by the path from it; a part that is not there has its holder's."""

    _span: Callable[[Path, bool], Span | None]
    _pointer: Callable[[Path], str | None]

    def span(self, path: Path, *, key: bool = False) -> Span | None:
        """Where a part (or its key) is written."""
        return self._span(path, key)

    def pointer(self, path: Path) -> str | None:
        """The JSON Pointer to a part in its data file; None in a manifest, and for what a query made anew."""
        return self._pointer(path)


def in_manifest(places: Places, root: Path) -> PartPlaces:
    """The places of the parts of what the manifest has at `root`."""
    return PartPlaces(lambda path, key: places.span((*root, *path), key=key), lambda _: None)


def in_data(document: DataDocument, value: Any) -> PartPlaces:
    """The places of the parts of a mapping or list of a data file."""
    return PartPlaces(
        lambda path, key: document.place_within(value, path, key=key),
        lambda path: document.pointer_to(value, path),
    )

"""Where an instance's keys were written: positions in the configuration file, and the overrides that set them.

OmegaConf's reading decides what a file says. It keeps no positions, so the manifest's own reader, which resolves
nothing, goes over the same file a second time. Where that one refuses the file, or does not see a key there (a
merge key brought it in), the file and the instance are the place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.instance.nodes import holds
from gym_mcp_manifest.manifest.source import read_source
from gym_mcp_manifest.manifest.yamldoc import Document, parse_document

__all__ = ["IN_CODE", "Assignment", "BlockPlaces", "ConfigPlaces", "read_places", "steps_of"]

#: What a block is called that came from code.
IN_CODE = "the instance's block"

_STEP = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one override gives: its value in mappings from the root of the configuration, and its place."""

    place: str
    tree: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ConfigPlaces:
    """The positions of one configuration file."""

    name: str
    document: Document | None = field(default=None, repr=False)

    def span(self, path: Sequence[str], *, key: bool = False, otherwise: str | None = None) -> Span:
        """The place of the value (or key) at `path`; the file, or `otherwise`, where it is not seen there."""
        if self.document is None or not holds(self.document.data, path):
            return Span(otherwise or self.name)
        return replace(self.document.span(tuple(path), key=key), private=True)


@dataclass(frozen=True, slots=True)
class BlockPlaces:
    """The places of one instance's block; `name` is the place of what has no position."""

    name: str = IN_CODE
    config: ConfigPlaces = ConfigPlaces(IN_CODE)
    root: tuple[str, ...] = ()
    assignments: tuple[Assignment, ...] = field(default=(), repr=False)

    def span(self, key: str | None = None, *, of_key: bool = False) -> Span:
        """The place of a key's value (or of the key) in the block, or of the block."""
        path = self.root if key is None else (*self.root, key)
        setters = [assigned.place for assigned in self.assignments if key and holds(assigned.tree, path)]
        if setters:
            return Span(setters[-1])
        return self.config.span(path, key=of_key, otherwise=self.name)

    def span_of(self, full_key: str | None, key: str, *, of_file: bool = False) -> Span:
        """The place of what OmegaConf calls `full_key`, for an error about what the block says at `key`.

        `of_file` tells that the file says it, whatever overrides set too.
        """
        places = replace(self, assignments=()) if of_file else self
        path = steps_of(full_key)
        exact = self.config.span(path)
        if exact.line and path[: len(self.root) + 1] == (*self.root, key) and not places._is_assigned(key):
            return exact
        return places.span(key)

    def _is_assigned(self, key: str) -> bool:
        return any(holds(assigned.tree, (*self.root, key)) for assigned in self.assignments)


def steps_of(full_key: str | None) -> tuple[str, ...]:
    """The path in what OmegaConf calls a key: `a.b[0]`."""
    return tuple(step[0] for step in _STEP.finditer(full_key or ""))


def read_places(path: str | Path) -> ConfigPlaces:
    """The positions of the configuration at `path`; none where the strict reader refuses it. Never raises."""
    shown = str(path)
    source, _ = read_source(path, name=shown)
    document = parse_document(source)[0] if source is not None else None
    return ConfigPlaces(shown, document)

"""Layers of configuration over a manifest: mappings merge, lists replace, `<list>_add` appends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.keys import ADD, Path, list_default
from gym_mcp_manifest.manifest.yamldoc import Document

__all__ = ["Dropped", "Layer", "Layered", "Places"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A partial manifest of an instance, under the name that findings give it.

    `document` is the file that holds it, at `root`; without one the name is its only place. What an instance says
    may have come from a secret, so neither shows in a repr.
    """

    name: str
    patch: Mapping[str, Any] = field(repr=False)
    document: Document | None = field(default=None, repr=False)
    root: Path = ()

    def span(self, path: Path, *, key: bool = False) -> Span:
        """The place of a value of the patch (or of its key)."""
        if self.document is None:
            return Span(self.name)
        return replace(self.document.span((*self.root, *path), key=key), private=True)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Entries of a list that are gone because a layer wrote the list anew.

    `entries` names them as they were written, `by` the layer; `at` is the place of the new list, `before` that
    of the old one.
    """

    path: Path
    entries: tuple[str, ...]
    by: str
    at: Span
    before: Span


#: The layer that set a value, and the value's path in its patch.
Setting = tuple[Layer, Path]


@dataclass(frozen=True, slots=True)
class Places:
    """Where each value of a manifest was written: a place in its file, or the layer that set it."""

    name: str = "the built-in defaults"
    document: Document | None = None
    layers: Mapping[Path, Setting] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()

    def span(self, path: Path = (), *, key: bool = False) -> Span | None:
        """The place in the file of a value (or of its key); None for the defaults and for a mapping."""
        found = self._setting(path)
        if found is not None:
            layer, there = found
            return layer.span(there, key=key)
        return self.document.span(path, key=key) if self.document else None

    def origin(self, path: Path = ()) -> str:
        """The place or layer, in words."""
        return str(self.span(path) or self.name)

    def is_layered(self, path: Path) -> bool:
        """Whether a layer over the manifest, not the manifest itself, set the value."""
        return self._setting(path) is not None

    def _setting(self, path: Path) -> Setting | None:
        for n in range(len(path), 0, -1):
            if path[:n] in self.layers:
                layer, there = self.layers[path[:n]]
                return layer, (*there, *path[n:])
        return None


@dataclass(frozen=True, slots=True)
class Layered:
    """Plain manifest data together with the places of its values."""

    data: Any
    places: Places

    def under(self, layer: Layer) -> Layered:
        """These data with one layer laid over them."""
        base = self.data if isinstance(self.data, dict) else {}
        overlay = _Overlay(layer, self.places)
        merged = overlay.merged(base, layer.patch, ())
        return Layered(merged, overlay.places(merged))


class _Overlay:
    """One layer on its way over the data below it."""

    def __init__(self, layer: Layer, below: Places) -> None:
        self._layer = layer
        self._below = below
        self._settings = dict(below.layers)
        self._dropped = list(below.dropped)

    def merged(self, base: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> dict[str, Any]:
        merged = dict(base)
        # Additions last: a patch may replace a list and add to it, in either order.
        for key, value in sorted(patch.items(), key=lambda item: str(item[0]).endswith(ADD)):
            here = (*path, key)
            target = str(key).removesuffix(ADD)
            default = list_default((*path, target)) if target != key else None
            if default is not None and isinstance(value, list):
                held = merged.get(target, default)
                held = held if isinstance(held, list) else [held]
                for n in range(len(value)):
                    self._settings[(*path, target, len(held) + n)] = (self._layer, (*here, n))
                merged[target] = [*held, *value]
            elif isinstance(value, Mapping) and isinstance(merged.get(key, {}), Mapping):
                if key not in merged:
                    self._settings[here] = (self._layer, here)
                merged[key] = self.merged(merged.get(key, {}), value, here)
            else:
                self._note_dropped(merged.get(key), value, here)
                for stale in [known for known in self._settings if known[: len(here)] == here]:
                    del self._settings[stale]
                self._settings[here] = (self._layer, here)
                merged[key] = value
        return merged

    def places(self, merged: Any) -> Places:
        """The places of the merged data; entries that a list has again are no longer dropped."""
        dropped = tuple(left for drop in self._dropped if (left := _still_gone(drop, merged)))
        return replace(self._below, layers=self._settings, dropped=dropped)

    def _note_dropped(self, before: Any, after: Any, path: Path) -> None:
        if isinstance(before, list) and isinstance(after, list):
            place = self._below.span(path) or Span(self._below.name)
            gone = tuple(_labels(before))
            self._dropped.append(Dropped(path, gone, self._layer.name, self._layer.span(path), place))


def _still_gone(drop: Dropped, data: Any) -> Dropped | None:
    kept = set(_labels(_value_at(data, drop.path)))
    entries = tuple(entry for entry in drop.entries if entry not in kept)
    return replace(drop, entries=entries) if entries else None


#: The keys by which an entry that is a mapping is called, most telling first.
_CALLED_BY = ("match", "route", "name", "file", "python", "session", "from", "when")


def _labels(entries: Any) -> Iterator[str]:
    """What each entry of a list is called; a pattern alike whether it stands alone or in a mapping."""
    for number, entry in enumerate(entries if isinstance(entries, Iterable) else (), 1):
        if not isinstance(entry, Mapping):
            yield str(entry)
            continue
        key = next((key for key in _CALLED_BY if isinstance(entry.get(key), str)), None)
        yield f"entry {number}" if key is None else entry[key] if key == "match" else f"{key}: {entry[key]}"


def _value_at(data: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        data = data.get(step) if isinstance(data, Mapping) else None
    return data

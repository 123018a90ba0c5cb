"""Layers of configuration over a manifest: mappings merge, lists replace, `<list>_add` appends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.keys import ADD, Path, list_default
from gym_mcp_manifest.manifest.yamldoc import Document

__all__ = ["Layered", "Places"]


@dataclass(frozen=True, slots=True)
class Places:
    """Where each value of a manifest was written: a place in its file, or the layer that set it."""

    name: str = "the built-in defaults"
    document: Document | None = None
    layers: Mapping[Path, str] = field(default_factory=dict)

    def span(self, path: Path = (), *, key: bool = False) -> Span | None:
        """The place in the file of a value (or of its key); None for the defaults and for a mapping."""
        layer = self._layer(path)
        if layer is not None:
            return Span(layer)
        return self.document.span(path, key=key) if self.document else None

    def origin(self, path: Path = ()) -> str:
        """The place or layer, in words."""
        return str(self.span(path) or self.name)

    def is_layered(self, path: Path) -> bool:
        """Whether a layer over the manifest, not the manifest itself, set the value."""
        return self._layer(path) is not None

    def _layer(self, path: Path) -> str | None:
        return next((self.layers[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.layers), None)


@dataclass(frozen=True, slots=True)
class Layered:
    """Plain manifest data together with the places of its values."""

    data: Any
    places: Places

    def under(self, patch: Mapping[str, Any], layer: str) -> Layered:
        """These data with `patch` laid over them; `layer` names the patch in findings."""
        layers = dict(self.places.layers)
        base = self.data if isinstance(self.data, dict) else {}
        merged = _merged(base, patch, (), layer, layers)
        return Layered(merged, Places(self.places.name, self.places.document, layers))


def _merged(
    base: Mapping[str, Any], patch: Mapping[str, Any], path: Path, layer: str, layers: dict[Path, str]
) -> dict[str, Any]:
    merged = dict(base)
    # Additions last: a patch may replace a list and add to it, in either order.
    for key, value in sorted(patch.items(), key=lambda item: str(item[0]).endswith(ADD)):
        here = (*path, key)
        target = str(key).removesuffix(ADD)
        default = list_default((*path, target)) if target != key else None
        if default is not None and isinstance(value, list):
            there = (*path, target)
            held = merged.get(target, default)
            held = held if isinstance(held, list) else [held]
            layers.update({(*there, len(held) + n): layer for n in range(len(value))})
            merged[target] = [*held, *value]
        elif isinstance(value, Mapping) and isinstance(merged.get(key, {}), Mapping):
            if key not in merged:
                layers[here] = layer
            merged[key] = _merged(merged.get(key, {}), value, here, layer, layers)
        else:
            for stale in [known for known in layers if known[: len(here)] == here]:
                del layers[stale]
            layers[here] = layer
            merged[key] = value
    return merged

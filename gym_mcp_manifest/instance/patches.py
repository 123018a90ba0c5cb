"""The layers that an instance lays over the manifest: its `mcp:` block, then each override that changes it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import PATCH, is_node, nested
from gym_mcp_manifest.instance.overrides import Composition
from gym_mcp_manifest.instance.places import BlockPlaces
from gym_mcp_manifest.manifest.layers import Layer

__all__ = ["layers_of"]

_NONE = object()


def layers_of(composition: Composition, places: BlockPlaces) -> Iterator[Layer]:
    """The layers of the block that `places` is about, the lowest first, each with its values resolved.

    Raises:
        ManifestInvalid: a value cannot be resolved.
    """
    path = (*places.root, PATCH)
    written = _written(composition.file, path)
    if written is not _NONE:
        name = f"{places.name}: {PATCH}"
        span = places.config.span(path, otherwise=name)
        document = places.config.document if span.line else None
        yield Layer(name, _resolved(composition.config, path, written, places, None), document, path)
    for assigned in composition.assignments:
        given = _given(assigned.tree, path)
        if given is not _NONE:
            patch = _resolved(composition.config, path, given, places, assigned.place)
            yield Layer(assigned.place, patch)


def _written(config: Any, path: tuple[str, ...]) -> Any:
    """What the file says at `path`, unresolved."""
    from omegaconf import OmegaConf

    for step in path[:-1]:
        config = config[step]
    if not OmegaConf.is_dict(config) or path[-1] not in [*config]:
        return _NONE
    node = config._get_node(path[-1])
    is_plain = OmegaConf.is_config(node) and not node._is_interpolation() and not node._is_none()
    return OmegaConf.to_container(node, resolve=False) if is_plain else node._value()


def _given(tree: Any, path: tuple[str, ...]) -> Any:
    """What an override says at `path`."""
    for step in path:
        if not isinstance(tree, Mapping) or step not in tree:
            return _NONE
        tree = tree[step]
    return tree


def _resolved(config: Any, path: tuple[str, ...], raw: Any, places: BlockPlaces, override: str | None) -> Any:
    """One layer's plain values: its interpolations see the whole configuration, with this layer on top."""
    from omegaconf.errors import OmegaConfBaseException

    if not _is_open(raw):
        return raw
    try:
        scene: Any = copy.deepcopy(config)
        scene.merge_with(nested(path, raw))
        for step in path[:-1]:
            scene = scene[step]
        return _taken(raw, scene, path[-1])
    except OmegaConfBaseException as error:
        place = override or places.span_of(error.full_key, PATCH, of_file=True)
        raise invalid("GMM501", f"the block cannot be resolved: {reason_of(error)}", place) from error


def _is_open(raw: Any) -> bool:
    """Whether something is left to resolve."""
    if isinstance(raw, Mapping):
        return any(map(_is_open, raw.values()))
    if isinstance(raw, list):
        return any(map(_is_open, raw))
    return isinstance(raw, str) and ("${" in raw or raw == "???")


def _taken(raw: Any, holder: Any, key: Any) -> Any:
    """The resolved values of the keys that a layer has."""
    from omegaconf import OmegaConf
    from omegaconf.errors import MissingMandatoryValue

    if isinstance(raw, Mapping):
        node = holder[key]
        return {inner: _taken(value, node, inner) for inner, value in raw.items()}
    if raw == "???":
        # A merge passes over what is missing, so that the value below would be found here.
        error = MissingMandatoryValue("Missing mandatory value")
        error.full_key = holder._get_full_key(key)
        raise error
    value = holder[key]
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if is_node(value) else value

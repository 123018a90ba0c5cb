"""The values of an instance's block: ours resolved when it is read, the server's when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import FLAG, OURS, is_node
from gym_mcp_manifest.instance.places import BlockPlaces

__all__ = ["ServerKeys", "server_keys", "values_of"]


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """The server's own keys of a block, as plain data that may be secrets, and those that cannot be resolved."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    unresolved: frozenset[str] = frozenset()


def server_keys(block: Any, places: BlockPlaces) -> ServerKeys:
    """The server's own keys of a block, resolved now."""
    values: dict[str, Any] = {}
    unresolved = set()
    for key in [] if block is None else list(block):
        if isinstance(key, str) and key not in OURS:
            try:
                values[key] = _plain_value(block, key, places)
            except ManifestInvalid:
                unresolved.add(key)
    return ServerKeys(values, frozenset(unresolved))


def values_of(block: Any, places: BlockPlaces, *, unread: tuple[str, ...] = ()) -> dict[str, Any]:
    """The block's keys, with the values of ours; what else it holds, unresolved values included, is the server's.

    Where exposure is off, a value of ours that cannot be resolved is nobody's concern either. `unread` are keys
    that the caller sees to.

    Raises:
        ManifestInvalid: the block is no mapping, or a value of ours cannot be resolved.
    """
    if not isinstance(block, Mapping) and not (is_node(block) and hasattr(block, "keys")):
        raise invalid("GMM501", "the instance's block is no mapping", places.span())
    values: dict[str, Any] = {str(key): None for key in block if key not in unread}
    on = _plain_value(block, FLAG, places) if FLAG in values else False
    for key in [ours for ours in OURS if ours in values]:
        try:
            values[key] = _plain_value(block, key, places)
        except ManifestInvalid:
            if on is True:
                raise
            del values[key]
    return values


def _plain_value(block: Any, key: Any, places: BlockPlaces) -> Any:
    if not is_node(block) and not is_node(block[key]):
        return block[key]
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        value = block[key]
        return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if is_node(value) else value
    except OmegaConfBaseException as error:
        message = f"the block cannot be resolved: {reason_of(error)}"
        raise invalid("GMM501", message, places.span_of(error.full_key, str(key))) from error

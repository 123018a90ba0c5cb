"""The values of an instance's block: ours resolved when it is read, the server's when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import FLAG, OURS, is_node
from gym_mcp_manifest.instance.places import BlockPlaces

__all__ = ["ServerKeys", "UnresolvedError", "values_of"]


class UnresolvedError(LookupError):
    """A value of the server's that was asked for cannot be resolved; `unresolved` is its key."""

    def __init__(self, key: str) -> None:
        self.unresolved = key
        super().__init__(f"`{key}` cannot be resolved")


class ServerKeys(Mapping[str, Any]):
    """The server's own keys of a block, each resolved when it is asked for. Values may be secrets."""

    def __init__(self, block: Any, places: BlockPlaces) -> None:
        self._block = {} if block is None else block
        self._places = places

    def __getitem__(self, key: str) -> Any:
        """The plain value.

        Raises:
            KeyError: there is no such key, or it is ours.
            UnresolvedError: the value cannot be resolved.
        """
        if key not in list(self):
            raise KeyError(key)
        try:
            return _plain_value(self._block, key, self._places)
        except ManifestInvalid as error:
            raise UnresolvedError(key) from error

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._block if isinstance(key, str) and key not in OURS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


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

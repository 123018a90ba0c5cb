"""The shape of a configuration: its keys, and the blocks of its resources servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FLAG", "KIND", "OURS", "PATCH", "BlockPath", "blocks_of", "holds", "is_node", "keys_of", "nested"]

FLAG = "expose_tools_over_mcp"
#: The key that holds changes in the manifest's language.
PATCH = "mcp"
#: Our keys of an instance's block; every other key belongs to the server.
OURS = (FLAG, "mcp_manifest", "mcp_secret", "mcp_allowed_hosts", "mcp_headers", PATCH)
#: The key under an instance's name that holds its resources servers.
KIND = "resources_servers"

#: Instance name, kind, server folder.
BlockPath = tuple[str, str, str]


def blocks_of(config: Any) -> dict[BlockPath, Any]:
    """The block of every resources server, by its path; what cannot be resolved is no instance."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    blocks = {}
    for name in config:
        try:
            top: Any = config[name]
            servers: Any = top[KIND] if OmegaConf.is_dict(top) else None
        except OmegaConfBaseException:
            continue
        if OmegaConf.is_dict(servers):
            blocks.update({(str(name), KIND, str(where)): servers[where] for where in servers})
    return blocks


def keys_of(node: Any) -> list[str]:
    """The keys of a mapping node."""
    # Unlike `in`, this counts keys whose values are null, missing or not yet resolvable.
    return [str(key) for key in node]


def is_node(value: Any) -> bool:
    """Whether a value is a node of OmegaConf's."""
    return hasattr(value, "_get_node")


def holds(data: Any, path: Sequence[str]) -> bool:
    """Whether plain data have the path; a value that is no mapping counts for all that would be below it."""
    for depth, step in enumerate(path):
        if not isinstance(data, Mapping):
            return depth > 0
        if step not in data:
            return False
        data = data[step]
    return True


def nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    """The value in mappings, one for each step of the path, which has at least one."""
    for step in reversed(path):
        value = {step: value}
    return dict(value)

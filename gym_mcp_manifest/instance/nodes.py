"""The shape of a configuration: its keys, and the blocks of its resources servers."""

from __future__ import annotations

from typing import Any

__all__ = ["KIND", "BlockPath", "blocks_of", "keys_of"]

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

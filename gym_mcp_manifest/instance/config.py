"""A configuration file in NeMo Gym's shape, or the inner block alone: which instance is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.instance.block import OURS, Instance, instance_from_block, misspelt_keys
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import blocks_of, keys_of
from gym_mcp_manifest.instance.overrides import apply_overrides

__all__ = ["read_instance"]


def read_instance(
    path: str | Path, server: str | None = None, overrides: Sequence[str] = (), folder: str | None = None
) -> Instance:
    """The instance that a Hydra/OmegaConf configuration file describes, overrides applied.

    `server` chooses by instance name where the file has several; without it there must be just one, or just
    one for the server folder `folder`.

    Raises:
        ManifestInvalid: unreadable file, ambiguous instance, invalid override or key.
    """
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    shown = str(path)
    try:
        config = OmegaConf.load(path)
    except (OSError, UnicodeDecodeError, YAMLError, OmegaConfBaseException) as error:
        raise invalid("GMM501", f"the configuration cannot be read: {reason_of(error)}", shown) from error
    if not isinstance(config, DictConfig):
        raise invalid("GMM501", "the configuration is a list, not a mapping", shown)
    apply_overrides(config, overrides)
    nested = blocks_of(config)
    stray = next((key for key in OURS if key in keys_of(config)), None)
    if stray is not None and nested:
        hint = f"write it as `{'.'.join(next(iter(nested)))}.{stray}`"
        raise invalid("GMM502", f"`{stray}` stands outside of every instance", shown, hint)
    if stray is not None or (not nested and list(misspelt_keys(config, shown))):
        name = folder or Path(path).resolve().parent.name
        blocks: dict[str, tuple[str | None, Any]] = {name: (None, config)}
    else:
        blocks = {}
        for (name, _, where), block in nested.items():
            if name in blocks:
                message = f"the instance {name!r} has two servers: {blocks[name][0]}, {where}"
                raise invalid("GMM503", message, shown, "make two instances of it")
            blocks[name] = (where, block)
    name = _chosen(blocks, server, folder, shown)
    instance = instance_from_block(name, blocks[name][1], f"{shown}: {name}")
    return replace(instance, folder=blocks[name][0])


def _chosen(blocks: Mapping[str, Any], server: str | None, folder: str | None, shown: str) -> str:
    of_folder = [name for name, (where, _) in blocks.items() if where == folder]
    if server is None and len(of_folder) == 1:
        return of_folder[0]
    names = ", ".join(sorted(blocks)) or "none"
    if server is not None and server not in blocks:
        guess = nearest(server, blocks)
        hint = f"did you mean `{guess}`?" if guess else f"instances in the file: {names}"
        raise invalid("GMM503", f"the configuration has no instance {server!r}", shown, hint)
    if server is None and len(blocks) != 1:
        hint = "name one with --server" if blocks else "the shape is `NAME: {resources_servers: {FOLDER: {...}}}`"
        raise invalid("GMM503", f"which instance is meant? The file has: {names}", shown, hint)
    return server or next(iter(blocks))

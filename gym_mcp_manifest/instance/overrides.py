"""Overrides in Hydra's grammar, by full path; a path that leads nowhere is refused whatever its prefix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.block import OURS
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import KIND, BlockPath, blocks_of, keys_of

__all__ = ["apply_overrides"]

_GRAMMAR = "write `a.b=value`, `+a.b=value`, `++a.b=value` or `~a.b`; quote what has special characters"


def apply_overrides(config: Any, overrides: Sequence[str]) -> None:
    """Apply overrides in Hydra's grammar, by full path; every key of ours may be set with `=`, `+` or `++`."""
    if not overrides:
        return
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    OmegaConf.set_struct(config, False)
    parser = OverridesParser.create()
    for text in overrides:
        # Findings name the key alone: the value may be a secret.
        place = f"override {text.partition('=')[0]!r}"
        try:
            override = parser.parse_override(text)
        except HydraException as error:
            raise invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR) from error
        path = tuple(str(override.key_or_group).split("."))
        if not all(path):
            raise invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR)
        if override.is_sweep_override() or override.package is not None or "/" in override.key_or_group:
            kind = "a sweep" if override.is_sweep_override() else "a config group"
            raise invalid("GMM504", f"{kind} cannot be served", place, _GRAMMAR)
        held = blocks_of(config)
        try:
            if override.is_delete():
                holder = _holder(config, path, place)
                if path[-1] not in keys_of(holder):
                    raise _absent(path, holder, place)
                del holder[path[-1]]
            else:
                _check_path(config, path, held, place, may_add=override.is_add() or override.is_force_add())
                OmegaConf.update(config, ".".join(path), override.value(), force_add=True)
        except OmegaConfBaseException as error:
            raise invalid("GMM504", f"cannot be applied: {reason_of(error)}", place) from error
        if blocks_of(config).keys() - held.keys() and held:
            names = ", ".join(name for name, _, _ in held)
            raise invalid("GMM504", "this would add an instance", place, f"instances in the file: {names}")


def _check_path(
    config: Any, path: tuple[str, ...], blocks: Iterable[BlockPath], place: str, *, may_add: bool
) -> None:
    """Refuse a path that the configuration does not have, unless it is about our keys of an instance."""
    block = next((block for block in blocks if path[:3] == block), () if not blocks else None)
    ours = block is not None and path[len(block) : len(block) + 1] in [(key,) for key in OURS]
    holder = _holder(config, path, place, may_grow=ours)
    if not ours and path[-1] not in keys_of(holder) and not may_add:
        raise _absent(path, holder, place)


def _holder(config: Any, path: tuple[str, ...], place: str, *, may_grow: bool = False) -> Any:
    """The mapping that has, or would get, the last key of the path; the last one on the way if it may grow."""
    from omegaconf import OmegaConf

    for depth, step in enumerate(path[:-1], start=1):
        if step not in keys_of(config):
            if may_grow:
                break
            raise _absent(path[:depth], config, place)
        config = config._get_node(step)
        if not OmegaConf.is_dict(config):
            hint = "set it as a whole: elements of lists are not addressable"
            raise invalid("GMM504", f"`{'.'.join(path[:depth])}` is no mapping", place, hint)
    return config


def _absent(path: tuple[str, ...], holder: Any, place: str) -> ManifestInvalid:
    names = keys_of(holder)
    guess = nearest(path[-1], (*names, *OURS) if KIND in path[1:-1] else names)
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(names) or 'nothing'}"
    return invalid("GMM504", f"the configuration has no `{'.'.join(path)}`", place, hint)

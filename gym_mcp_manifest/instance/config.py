"""A configuration file in NeMo Gym's shape, or the inner block alone: which instance is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import Span, nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.block import Instance, checked, misspelt_keys
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import FLAG, OURS, PATCH, blocks_of, keys_of
from gym_mcp_manifest.instance.overrides import Composition, apply_overrides
from gym_mcp_manifest.instance.patches import layers_of
from gym_mcp_manifest.instance.places import BlockPlaces, read_places, steps_of
from gym_mcp_manifest.instance.values import values_of
from gym_mcp_manifest.manifest.layers import Layer

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
    shown = str(path)
    composition = apply_overrides(_loaded(path), overrides)
    config = composition.config
    whole = BlockPlaces(shown, read_places(path), assignments=tuple(composition.assignments))
    blocks = _blocks(config, whole, folder or Path(path).resolve().parent.name)
    name = _chosen({name: where for name, (where, _) in blocks.items()}, server, folder, whole)
    root, block = blocks[name]
    places = replace(whole, name=f"{shown}: {name}", root=root)
    _refuse_strays_beside(config, root, places)
    instance = _instance(name, block, composition, places)
    return replace(instance, folder=root[-1] if root else None)


#: By instance name the path of its block, () for a flat one, and the block.
_Blocks = dict[str, tuple[tuple[str, ...], Any]]


def _blocks(config: Any, whole: BlockPlaces, flat_name: str) -> _Blocks:
    """The blocks of a configuration: that of each instance, or the configuration itself where it is one."""
    nested = blocks_of(config)
    stray = next((key for key in OURS if key in keys_of(config)), None)
    if stray is not None and nested:
        raise _stray((), stray, next(iter(nested)), whole)
    if stray is not None or (not nested and list(misspelt_keys(config, whole))):
        return {flat_name: ((), config)}
    blocks: _Blocks = {}
    for where, block in nested.items():
        name = where[0]
        if name in blocks:
            raise _two_servers(blocks[name][0], where, whole)
        blocks[name] = (where, block)
    return blocks


def _two_servers(first: tuple[str, ...], second: tuple[str, ...], whole: BlockPlaces) -> ManifestInvalid:
    misplaced = [where for where in (first, second) if where[-1] in OURS]
    if len(misplaced) == 1:  # a key of ours where the server's folder stands
        home = second if misplaced == [first] else first
        return _stray(home[:-1], misplaced[0][-1], home, whole)
    message = f"the instance {first[0]!r} has two servers: {first[-1]}, {second[-1]}"
    span = whole.config.span(second, key=True)
    return invalid("GMM503", message, span, "make two instances of it")


def _loaded(path: str | Path) -> Any:
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    shown = str(path)
    try:
        config = OmegaConf.load(path)
    except (OSError, UnicodeDecodeError, YAMLError, OmegaConfBaseException) as error:
        mark = getattr(error, "problem_mark", None)
        span = read_places(path).span(steps_of(getattr(error, "full_key", None)))
        if mark:
            span = Span(shown, mark.line + 1, mark.column + 1, private=True)
        elif not span.line:
            span = _first_line(shown)
        raise invalid("GMM501", f"the configuration cannot be read: {reason_of(error)}", span) from error
    if not isinstance(config, DictConfig):
        raise invalid("GMM501", "the configuration is a list, not a mapping", _first_line(shown))
    return config


def _first_line(name: str) -> Span:
    """The place of what is wrong with a file as a whole."""
    return Span(name, 1, 1, private=True)


def _instance(name: str, block: Any, composition: Composition, places: BlockPlaces) -> Instance:
    values = values_of(block, places, unread=(PATCH,)) if block is not None else {}
    layers: list[Layer] = []
    try:
        layers = list(layers_of(composition, places))
    except ManifestInvalid:
        # Where exposure is off, a value of ours that cannot be resolved is nobody's concern.
        if values.get(FLAG) is True:
            raise
    return checked(name, block, values, layers, places)


def _refuse_strays_beside(config: Any, root: tuple[str, ...], places: BlockPlaces) -> None:
    """Refuse our keys beside the servers of the instance, where they would have no effect."""
    if root:
        beside = [key for key in keys_of(config[root[0]]) if key in OURS]
        if beside:
            raise _stray(root[:1], beside[0], root, places)


def _stray(path: tuple[str, ...], key: str, home: Sequence[str], places: BlockPlaces) -> ManifestInvalid:
    span = replace(places, root=path).span(key, of_key=True)
    hint = f"write it as `{'.'.join(home)}.{key}`"
    return invalid("GMM502", f"`{key}` stands outside of every instance", span, hint)


def _chosen(
    folders: Mapping[str, Sequence[str]], server: str | None, folder: str | None, whole: BlockPlaces
) -> str:
    of_folder = [name for name, where in folders.items() if where and where[-1] == folder]
    if server is None and len(of_folder) == 1:
        return of_folder[0]
    names = ", ".join(sorted(folders)) or "none"
    if server is not None and server not in folders:
        guess = nearest(server, folders)
        hint = f"did you mean `{guess}`?" if guess else f"instances in the file: {names}"
        message = f"the configuration has no instance {server!r}"
        raise _no_choice(message, hint, [guess] if guess else folders, folders, whole)
    if server is None and len(folders) != 1:
        hint = "name one with --server" if folders else "the shape is `NAME: {resources_servers: {FOLDER: {...}}}`"
        raise _no_choice(f"which instance is meant? The file has: {names}", hint, folders, folders, whole)
    return server or next(iter(folders))


def _no_choice(
    message: str, hint: str, names: Iterable[str], folders: Mapping[str, Sequence[str]], whole: BlockPlaces
) -> ManifestInvalid:
    """The error for an instance that is not settled, at the keys of those that it may be."""
    spans = {name: whole.config.span(folders[name][:1], key=True) for name in names}
    places = [(f"the instance {name!r} is at", span) for name, span in spans.items() if span.line]
    first = places[0][1] if places else _first_line(whole.config.name)
    return invalid("GMM503", message, first, hint, tuple(places[1:]))

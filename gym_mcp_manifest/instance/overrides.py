"""Overrides in Hydra's grammar, by full path; a path that leads nowhere is refused whatever its prefix."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.faults import invalid, reason_of
from gym_mcp_manifest.instance.nodes import OURS, PATCH, BlockPath, blocks_of, keys_of, nested
from gym_mcp_manifest.instance.places import Assignment
from gym_mcp_manifest.manifest.keys import ADD, addable_keys, list_default, usable_keys

__all__ = ["Composition", "apply_overrides", "key_of"]

_GRAMMAR = "write `a.b=value`, `+a.b=value`, `++a.b=value` or `~a.b`; quote what has special characters"
_UNSPELLABLE = (
    "give the mapping that holds it as the value, as in `...mcp.tools={GET /x: {title: X}}`, or write it in the"
    " `mcp:` block of the file"
)
_KEY = re.compile(r"([~+]{0,2})([^\s=:'\"\[\](){},]*)")
#: Our keys that can mean nothing else wherever they stand.
_UNMISTAKABLE = tuple(key for key in OURS if key != PATCH)


@dataclass(slots=True)
class Composition:
    """A configuration under its overrides.

    `config` is what Hydra composes, `file` what the file says less what overrides delete, `assignments` what each
    override sets, in order.
    """

    config: Any
    file: Any
    assignments: list[Assignment]


def apply_overrides(config: Any, overrides: Sequence[str]) -> Composition:
    """The configuration under overrides by full path; every key of ours may be set with `=`, `+` or `++`.

    Raises:
        ManifestInvalid: an override is not in Hydra's grammar, or leads nowhere.
    """
    if not overrides:
        return Composition(config, config, [])
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    OmegaConf.set_struct(config, False)
    composition = Composition(config, copy.deepcopy(config), [])
    for text in overrides:
        # Findings name the key alone: the value may be a secret.
        place = f"override {key_of(text)!r}"
        override = _parsed(text, place)
        path = tuple(str(override.key_or_group).split("."))
        held = blocks_of(config)
        try:
            _refuse_list_elements(path, _block_at(path, held), place)
            if override.is_delete():
                _delete(composition, path, override.value(), place, held)
            else:
                may_add = override.is_add() or override.is_force_add()
                _assign(composition, path, override.value(), place, held, may_add=may_add)
        except OmegaConfBaseException as error:
            raise invalid("GMM504", f"cannot be applied: {reason_of(error)}", place) from error
        if blocks_of(config).keys() - held.keys() and held:
            names = ", ".join(name for name, _, _ in held)
            raise invalid("GMM504", "this would add an instance", place, f"instances in the file: {names}")
    return composition


def key_of(override: str) -> str:
    """The key of an override as findings show it: without its value, and without `+`."""
    prefix, key = _KEY.match(override).groups()  # type: ignore[union-attr] # every part of it may be empty
    return f"{'~' if '~' in prefix else ''}{key}"


def _parsed(text: str, place: str) -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    try:
        override = parser.parse_override(text)
    except HydraException as error:
        raise _ungrammatical(text, place, parser) from error
    if not override.key_or_group:
        raise invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR)
    if override.is_sweep_override() or override.package is not None or "/" in override.key_or_group:
        kind = "a sweep" if override.is_sweep_override() else "a config group"
        raise invalid("GMM504", f"{kind} cannot be served", place, _GRAMMAR)
    return override


def _ungrammatical(text: str, place: str, parser: Any) -> ManifestInvalid:
    from hydra.errors import HydraException

    key, given, _ = text.partition("=")
    try:
        parser.parse_override(f"{key}=1")
    except HydraException:
        if given and "." in key:
            return invalid("GMM504", "Hydra's grammar cannot spell this key", place, _UNSPELLABLE)
        return invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR)
    if not given:
        return invalid("GMM504", "not an override in Hydra's grammar: it has no value", place, _GRAMMAR)
    hint = "quote a text that has special characters, within the quotes of your shell: `'a.b=\"some text\"'`"
    if "extend_list(" in text:
        hint = f"Hydra has no such function here; a list of the language is added to with `{key}{ADD}=[...]`"
    return invalid("GMM504", "the value is not in Hydra's grammar", place, hint)


def _assign(
    composition: Composition,
    path: tuple[str, ...],
    value: Any,
    place: str,
    blocks: Iterable[BlockPath],
    *,
    may_add: bool,
) -> None:
    from omegaconf import OmegaConf

    block = _block_at(path, blocks)
    key = path[len(block) : len(block) + 1] if block is not None else ()
    ours = key in [(known,) for known in OURS]
    holder = _holder(composition.config, path, block, place, may_grow=ours)
    if block is None:
        _refuse_stray(path, blocks, place)
    if not ours and path[-1] not in keys_of(holder) and not may_add:
        raise _absent(path, len(path), holder, block, place)
    if _is_in_patch(path, block):
        # Unlike an update, a merge leaves alone what an interpolation on the way points to.
        composition.config.merge_with(nested(path, value))
    else:
        OmegaConf.update(composition.config, ".".join(path), value, force_add=True)
    composition.assignments.append(Assignment(place, nested(path, value)))


def _delete(
    composition: Composition, path: tuple[str, ...], value: Any, place: str, blocks: Iterable[BlockPath]
) -> None:
    """Take a key out of the file's part and out of every earlier override's."""
    block = _block_at(path, blocks)
    holder = _holder(composition.config, path, block, place, deletes=True)
    if path[-1] not in keys_of(holder):
        raise _absent(path, len(path), holder, block, place, deletes=True)
    if value is not None and value != holder._get_node(path[-1]):
        raise invalid("GMM504", "the value to delete is not the one that is set", place, "leave `=value` out")
    del holder[path[-1]]
    for tree in (composition.file, *(assigned.tree for assigned in composition.assignments)):
        _drop(tree, path)


def _drop(tree: Any, path: tuple[str, ...]) -> None:
    from omegaconf import OmegaConf

    for step in path[:-1]:
        if not (isinstance(tree, dict) or OmegaConf.is_dict(tree)) or step not in [*tree]:
            return
        tree = tree[step] if isinstance(tree, dict) else tree._get_node(step)
    if (isinstance(tree, dict) or OmegaConf.is_dict(tree)) and path[-1] in [*tree]:
        del tree[path[-1]]


def _block_at(path: tuple[str, ...], blocks: Iterable[BlockPath]) -> tuple[str, ...] | None:
    """The path of the block that a path leads into; () for a flat one."""
    known = list(blocks)
    return next((block for block in known if path[:3] == block), None if known else ())


def _refuse_list_elements(path: tuple[str, ...], block: tuple[str, ...] | None, place: str) -> None:
    """Refuse what goes on behind a list of the language, whether or not the file has the list."""
    if block is None or not _is_in_patch(path, block):
        return
    start = len(block) + 1
    for end in range(start + 1, len(path)):
        key = path[end - 1].removesuffix(ADD)
        if list_default((*path[start : end - 1], key)) is not None:
            whole = ".".join(path[: end - 1])
            hint = f"set `{whole}.{key}=[...]`, or add to it with `{whole}.{key}{ADD}=[...]`"
            message = f"`{'.'.join(path[:end])}` is a list, and the elements of lists are not addressable"
            raise invalid("GMM504", message, place, hint)


def _refuse_stray(path: tuple[str, ...], blocks: Iterable[BlockPath], place: str) -> None:
    """Refuse our keys outside of every block, where they would have no effect."""
    known = list(blocks)
    for depth, step in enumerate(path):
        beside = depth in (1, 2) and any(path[:depth] == block[:depth] for block in known)
        if step in _UNMISTAKABLE or (step == PATCH and beside):
            home = ".".join(next((block for block in known if block[0] == path[0]), known[0]))
            message = f"`{step}` stands outside of every instance"
            raise invalid("GMM504", message, place, f"write it as `{home}.{step}`")


def _holder(
    config: Any,
    path: tuple[str, ...],
    block: tuple[str, ...] | None,
    place: str,
    *,
    may_grow: bool = False,
    deletes: bool = False,
) -> Any:
    """The mapping that has, or would get, the last key of the path; the last one on the way if it may grow."""
    from omegaconf import OmegaConf

    for depth, step in enumerate(path[:-1], start=1):
        if step not in keys_of(config):
            if may_grow:
                break
            raise _absent(path, depth, config, block, place, deletes=deletes)
        node = config._get_node(step)
        if may_grow and _is_in_patch(path[:depth], block) and node._is_interpolation():
            break
        if not OmegaConf.is_dict(node) or node._is_interpolation() or node._is_none():
            raise _no_mapping(path[:depth], node, place)
        config = node
    return config


def _is_in_patch(path: tuple[str, ...], block: tuple[str, ...] | None) -> bool:
    return block is not None and path[len(block) : len(block) + 1] == (PATCH,)


def _no_mapping(path: tuple[str, ...], node: Any, place: str) -> ManifestInvalid:
    if node._is_interpolation():
        hint = "it stands for something else (`${...}`): override that"
    elif node._is_none():
        hint = "it has no value: write `{}` in the file"
    else:
        hint = "set it as a whole: elements of lists are not addressable"
    return invalid("GMM504", f"`{'.'.join(path)}` is no mapping", place, hint)


def _absent(
    path: tuple[str, ...],
    depth: int,
    holder: Any,
    block: tuple[str, ...] | None,
    place: str,
    *,
    deletes: bool = False,
) -> ManifestInvalid:
    """The error for a path whose first `depth` steps lead nowhere: `holder` has no such key."""
    names = keys_of(holder)
    in_block = block is not None and depth == len(block) + 1
    guess = nearest(path[depth - 1], (*names, *OURS) if in_block and not deletes else names)
    message = f"the configuration has no `{'.'.join(path[:depth])}`"
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(names) or 'nothing'}"
    if deletes and not guess and block is not None and _is_in_patch(path, block):
        hint = (
            "`~` takes back what the configuration itself says; against what mcp.yaml says, set the value that"
            f" should hold: `{'.'.join(path)}=...`"
        )
        message, hint = _unknown(path[len(block) + 1 :]) or (message, hint)
    return invalid("GMM504", message, place, hint)


def _unknown(path: tuple[str, ...]) -> tuple[str, str] | None:
    """What to tell about the first key on a path of the language that it does not know, and the cure."""
    for end, key in enumerate(path):
        known = (*usable_keys(path[:end]), *addable_keys(path[:end]))
        if known and key not in known and not key.startswith("x-"):
            where = f" in `{'.'.join(path[:end])}`" if end else ""
            guess = nearest(key, known)
            return (
                f"unknown key `{key}`{where}",
                f"did you mean `{guess}`?" if guess else f"known: {', '.join(known)}",
            )
    return None

"""The instance's configuration: whether exposure is on, for which server, with which secrets and changes.

The only module that knows OmegaConf and Hydra. Only the chosen instance's block is resolved, so that unresolved
values elsewhere in a shared configuration are nobody's concern here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.errors import ManifestInvalid

__all__ = ["Instance", "instance_from_block", "read_instance"]

_FLAG = "expose_tools_over_mcp"
_KINDS = "resources_servers"
#: Our keys of an instance's block; every other key belongs to the server.
_OURS = (_FLAG, "mcp_manifest", "mcp_secret", "mcp_allowed_hosts", "mcp_headers", "mcp")
_GRAMMAR = "write `a.b=value`, `+a.b=value`, `++a.b=value` or `~a.b`; quote what has special characters"
#: What OmegaConf may say about names; the rest of its messages may quote values.
_QUOTABLE = re.compile(
    r"Environment variable '[^']*' not found|Interpolation key '[^']*' not found"
    r"|Unsupported interpolation type \S+|Missing mandatory value"
)

#: Instance name, kind, server folder.
_BlockPath = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance's block, read and checked. Secrets never show in a repr."""

    name: str
    on: bool = False
    folder: str | None = None
    manifest: str | None = None
    secrets: tuple[SecretStr, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    patch: Mapping[str, Any] = field(default_factory=dict)
    origin: str = "the instance's block"


def instance_from_block(name: str, block: Any, origin: str = "the instance's block") -> Instance:
    """An instance from its block: a mapping, an OmegaConf node, an `Instance`, or None for exposure off.

    Raises:
        ManifestInvalid: a key of ours is misspelt or has a value of the wrong kind.
    """
    if isinstance(block, Instance):
        return block
    data = _plain(block, origin) if block is not None else {}
    found = [*_misspelt(data, origin), *_wrong_kinds(data, origin)]
    if found:
        raise ManifestInvalid(found)
    secret = data.get("mcp_secret")
    secrets = [secret] if isinstance(secret, str) else secret or []
    return Instance(
        name=name,
        on=data.get(_FLAG, False),
        manifest=data.get("mcp_manifest"),
        secrets=tuple(SecretStr(value) for value in secrets),
        allowed_hosts=tuple(data.get("mcp_allowed_hosts") or ()),
        patch=data.get("mcp") or {},
        origin=origin,
    )


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
        raise _invalid("GMM501", f"the configuration cannot be read: {_reason(error)}", shown) from error
    if not isinstance(config, DictConfig):
        raise _invalid("GMM501", "the configuration is a list, not a mapping", shown)
    _apply(config, overrides)
    nested = _blocks(config)
    stray = next((key for key in _OURS if key in _keys(config)), None)
    if stray is not None and nested:
        hint = f"write it as `{'.'.join(next(iter(nested)))}.{stray}`"
        raise _invalid("GMM502", f"`{stray}` stands outside of every instance", shown, hint)
    if stray is not None or (not nested and list(_misspelt(config, shown))):
        name = folder or Path(path).resolve().parent.name
        blocks: dict[str, tuple[str | None, Any]] = {name: (None, config)}
    else:
        blocks = {}
        for (name, _, where), block in nested.items():
            if name in blocks:
                message = f"the instance {name!r} has two servers: {blocks[name][0]}, {where}"
                raise _invalid("GMM503", message, shown, "make two instances of it")
            blocks[name] = (where, block)
    name = _chosen(blocks, server, folder, shown)
    instance = instance_from_block(name, blocks[name][1], f"{shown}: {name}")
    return replace(instance, folder=blocks[name][0])


def _blocks(config: Any) -> dict[_BlockPath, Any]:
    """The block of every resources server, by its path; what cannot be resolved is no instance."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    blocks = {}
    for name in config:
        try:
            top: Any = config[name]
            servers: Any = top[_KINDS] if OmegaConf.is_dict(top) else None
        except OmegaConfBaseException:
            continue
        if OmegaConf.is_dict(servers):
            blocks.update({(str(name), _KINDS, str(where)): servers[where] for where in servers})
    return blocks


def _chosen(blocks: Mapping[str, Any], server: str | None, folder: str | None, shown: str) -> str:
    of_folder = [name for name, (where, _) in blocks.items() if where == folder]
    if server is None and len(of_folder) == 1:
        return of_folder[0]
    names = ", ".join(sorted(blocks)) or "none"
    if server is not None and server not in blocks:
        guess = nearest(server, blocks)
        hint = f"did you mean `{guess}`?" if guess else f"instances in the file: {names}"
        raise _invalid("GMM503", f"the configuration has no instance {server!r}", shown, hint)
    if server is None and len(blocks) != 1:
        hint = "name one with --server" if blocks else "the shape is `NAME: {resources_servers: {FOLDER: {...}}}`"
        raise _invalid("GMM503", f"which instance is meant? The file has: {names}", shown, hint)
    return server or next(iter(blocks))


def _apply(config: Any, overrides: Sequence[str]) -> None:
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
            raise _invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR) from error
        path = tuple(str(override.key_or_group).split("."))
        if not all(path):
            raise _invalid("GMM504", "not an override in Hydra's grammar", place, _GRAMMAR)
        if override.is_sweep_override() or override.package is not None or "/" in override.key_or_group:
            kind = "a sweep" if override.is_sweep_override() else "a config group"
            raise _invalid("GMM504", f"{kind} cannot be served", place, _GRAMMAR)
        held = _blocks(config)
        try:
            if override.is_delete():
                holder = _holder(config, path, place)
                if path[-1] not in _keys(holder):
                    raise _absent(path, holder, place)
                del holder[path[-1]]
            else:
                _check_path(config, path, held, place, may_add=override.is_add() or override.is_force_add())
                OmegaConf.update(config, ".".join(path), override.value(), force_add=True)
        except OmegaConfBaseException as error:
            raise _invalid("GMM504", f"cannot be applied: {_reason(error)}", place) from error
        if _blocks(config).keys() - held.keys() and held:
            names = ", ".join(name for name, _, _ in held)
            raise _invalid("GMM504", "this would add an instance", place, f"instances in the file: {names}")


def _check_path(
    config: Any, path: tuple[str, ...], blocks: Iterable[_BlockPath], place: str, *, may_add: bool
) -> None:
    """Refuse a path that the configuration does not have, unless it is about our keys of an instance."""
    block = next((block for block in blocks if path[:3] == block), () if not blocks else None)
    ours = block is not None and path[len(block) : len(block) + 1] in [(key,) for key in _OURS]
    holder = _holder(config, path, place, may_grow=ours)
    if not ours and path[-1] not in _keys(holder) and not may_add:
        raise _absent(path, holder, place)


def _holder(config: Any, path: tuple[str, ...], place: str, *, may_grow: bool = False) -> Any:
    """The mapping that has, or would get, the last key of the path; the last one on the way if it may grow."""
    from omegaconf import OmegaConf

    for depth, step in enumerate(path[:-1], start=1):
        if step not in _keys(config):
            if may_grow:
                break
            raise _absent(path[:depth], config, place)
        config = config._get_node(step)
        if not OmegaConf.is_dict(config):
            hint = "set it as a whole: elements of lists are not addressable"
            raise _invalid("GMM504", f"`{'.'.join(path[:depth])}` is no mapping", place, hint)
    return config


def _absent(path: tuple[str, ...], holder: Any, place: str) -> ManifestInvalid:
    names = _keys(holder)
    guess = nearest(path[-1], (*names, *_OURS) if _KINDS in path[1:-1] else names)
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(names) or 'nothing'}"
    return _invalid("GMM504", f"the configuration has no `{'.'.join(path)}`", place, hint)


def _keys(node: Any) -> list[str]:
    # Unlike `in`, this counts keys whose values are null, missing or not yet resolvable.
    return [str(key) for key in node]


def _plain(block: Any, origin: str) -> dict[str, Any]:
    """The block's keys, with the values of ours; what else it holds, unresolved values included, is the server's.

    Where exposure is off, a value of ours that cannot be resolved is nobody's concern either.
    """
    if not isinstance(block, Mapping) and not (_is_node(block) and hasattr(block, "keys")):
        raise _invalid("GMM501", "the instance's block is no mapping", origin)
    data: dict[str, Any] = {str(key): None for key in block}
    on = _plain_value(block, _FLAG, origin) if _FLAG in data else False
    for key in [ours for ours in _OURS if ours in data]:
        try:
            data[key] = _plain_value(block, key, origin)
        except ManifestInvalid:
            if on is True:
                raise
            del data[key]
    return data


def _plain_value(block: Any, key: str, origin: str) -> Any:
    if not _is_node(block) and not _is_node(block[key]):
        return block[key]
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        value = block[key]
        return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if _is_node(value) else value
    except OmegaConfBaseException as error:
        raise _invalid("GMM501", f"the block cannot be resolved: {_reason(error)}", origin) from error


def _is_node(value: Any) -> bool:
    return hasattr(value, "_get_node")


def _misspelt(data: Mapping[str, Any], origin: str) -> Iterator[Diagnostic]:
    for key in map(str, data):
        if key in _OURS:
            continue
        guess = nearest(key, _OURS)
        if guess and (key.casefold().startswith(("mcp", "expose_tool")) or guess == _FLAG or key == "mpc"):
            message = f"unknown key `{key}` in the instance's block"
            yield Diagnostic(code="GMM502", message=message, span=Span(origin), hint=f"did you mean `{guess}`?")


def _wrong_kinds(data: Mapping[str, Any], origin: str) -> Iterator[Diagnostic]:
    kinds: dict[str, tuple[str, Any]] = {
        _FLAG: ("true or false", lambda value: isinstance(value, bool)),
        "mcp_manifest": ("the path of a manifest", lambda value: isinstance(value, str) and value),
        "mcp_secret": ("a text or a list of texts, none empty", _is_secret),
        "mcp_allowed_hosts": ("a list of host names", _is_texts),
        "mcp": ("a mapping in the manifest's language", lambda value: isinstance(value, Mapping)),
    }
    for key, (expected, fits) in kinds.items():
        if key in data and not fits(data[key]):
            yield Diagnostic(code="GMM203", message=f"`{key}`: expected {expected}", span=Span(origin))
    if "mcp_headers" in data:
        message = "`mcp_headers` is not yet supported by this release"
        yield Diagnostic(code="GMM206", message=message, span=Span(origin), hint="leave the key out")


def _is_secret(value: Any) -> bool:
    return bool(value) and (isinstance(value, str) or (_is_texts(value) and all(value)))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _reason(error: BaseException) -> str:
    """What went wrong, with the key or variable but without the values that messages may quote."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "the text is not UTF-8"
    mark, key = getattr(error, "problem_mark", None), getattr(error, "full_key", None)
    known = _QUOTABLE.search(str(error))
    reason = getattr(error, "problem", None) or (known[0] if known else "an invalid value or interpolation")
    return (
        f"{reason} at line {mark.line + 1}, column {mark.column + 1}"
        if mark
        else f"{reason} (`{key}`)"
        if key
        else reason
    )


def _invalid(code: str, message: str, origin: str, hint: str | None = None) -> ManifestInvalid:
    return ManifestInvalid([Diagnostic(code=code, message=message, span=Span(origin), hint=hint)])

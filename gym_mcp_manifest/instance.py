"""The instance's configuration: whether exposure is on, for which server, with which secrets and changes.

The only module that knows OmegaConf and Hydra. Only the chosen instance's block is resolved, so that unresolved
values elsewhere in a shared configuration are nobody's concern here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        raise _invalid("GMM501", f"the configuration cannot be read: {_first_line(error)}", shown) from error
    if not isinstance(config, DictConfig):
        raise _invalid("GMM501", "the configuration is a list, not a mapping", shown)
    _apply(config, overrides, shown)
    blocks = dict(_blocks(config, Path(path)))
    name = _chosen(blocks, server, folder, shown)
    instance = instance_from_block(name, blocks[name][1], f"{shown}: {name}")
    return replace(instance, folder=blocks[name][0])


def _blocks(config: Any, path: Path) -> Iterator[tuple[str, tuple[str | None, Any]]]:
    """(instance name, (server folder, block)) of every resources server; a flat file is one instance."""
    if any(key in config for key in _OURS):
        yield path.resolve().parent.name, (None, config)
        return
    for name in config:
        top = config._get_node(name)
        if not hasattr(top, "_get_node") or not hasattr(top, "keys") or _KINDS not in top:
            continue
        for folder, block in top[_KINDS].items():
            yield str(name), (str(folder), block)


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


def _apply(config: Any, overrides: Sequence[str], shown: str) -> None:
    """Apply overrides in Hydra's grammar, by full path; every key may be set with `=`, `+` or `++`."""
    if not overrides:
        return
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    OmegaConf.set_struct(config, False)
    for text in overrides:
        try:
            override = OverridesParser.create().parse_override(text)
            if override.is_sweep_override():
                raise _invalid("GMM504", f"{text!r}: a sweep cannot be served", f"override {text!r}")
            key = override.get_key_element().lstrip("+~")
            if override.is_delete():
                if OmegaConf.select(config, key) is None:
                    raise _invalid("GMM504", f"there is no {key!r} to delete", f"override {text!r}")
                parent, _, last = key.rpartition(".")
                holder = OmegaConf.select(config, parent) if parent else config
                del holder[last]
            else:
                OmegaConf.update(config, key, override.value(), force_add=True)
        except (HydraException, OmegaConfBaseException) as error:
            hint = "write `a.b=value`, `+a.b=value`, `++a.b=value` or `~a.b`"
            message = f"not a usable override: {_first_line(error)}"
            raise _invalid("GMM504", message, f"override {text!r}", hint) from error


def _plain(block: Any, origin: str) -> dict[str, Any]:
    if isinstance(block, Mapping) and not hasattr(block, "_get_node"):
        return dict(block)
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        data = OmegaConf.to_container(block, resolve=True, throw_on_missing=True)
    except (OmegaConfBaseException, ValueError) as error:
        # The message names the key and the variable, never a value.
        raise _invalid("GMM501", f"the block cannot be resolved: {_first_line(error)}", origin) from error
    if not isinstance(data, dict):
        raise _invalid("GMM501", "the instance's block is no mapping", origin)
    return {str(key): value for key, value in data.items()}


def _misspelt(data: Mapping[str, Any], origin: str) -> Iterator[Diagnostic]:
    for key in data:
        if key in _OURS:
            continue
        guess = nearest(key, _OURS)
        if guess and (key.startswith(("mcp_", "expose_tools")) or guess == _FLAG):
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


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _invalid(code: str, message: str, origin: str, hint: str | None = None) -> ManifestInvalid:
    return ManifestInvalid([Diagnostic(code=code, message=message, span=Span(origin), hint=hint)])

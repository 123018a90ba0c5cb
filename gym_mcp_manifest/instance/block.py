"""One instance's block: our keys read and checked, everything else left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.faults import invalid, reason_of

__all__ = ["OURS", "Instance", "instance_from_block", "misspelt_keys"]

FLAG = "expose_tools_over_mcp"
#: Our keys of an instance's block; every other key belongs to the server.
OURS = (FLAG, "mcp_manifest", "mcp_secret", "mcp_allowed_hosts", "mcp_headers", "mcp")


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
    found = [*misspelt_keys(data, origin), *_wrong_kinds(data, origin)]
    if found:
        raise ManifestInvalid(found)
    secret = data.get("mcp_secret")
    secrets = [secret] if isinstance(secret, str) else secret or []
    return Instance(
        name=name,
        on=data.get(FLAG, False),
        manifest=data.get("mcp_manifest"),
        secrets=tuple(SecretStr(value) for value in secrets),
        allowed_hosts=tuple(data.get("mcp_allowed_hosts") or ()),
        patch=data.get("mcp") or {},
        origin=origin,
    )


def _plain(block: Any, origin: str) -> dict[str, Any]:
    """The block's keys, with the values of ours; what else it holds, unresolved values included, is the server's.

    Where exposure is off, a value of ours that cannot be resolved is nobody's concern either.
    """
    if not isinstance(block, Mapping) and not (_is_node(block) and hasattr(block, "keys")):
        raise invalid("GMM501", "the instance's block is no mapping", origin)
    data: dict[str, Any] = {str(key): None for key in block}
    on = _plain_value(block, FLAG, origin) if FLAG in data else False
    for key in [ours for ours in OURS if ours in data]:
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
        raise invalid("GMM501", f"the block cannot be resolved: {reason_of(error)}", origin) from error


def _is_node(value: Any) -> bool:
    return hasattr(value, "_get_node")


def misspelt_keys(data: Mapping[str, Any], origin: str) -> Iterator[Diagnostic]:
    """Findings for keys that are nearly ours."""
    for key in map(str, data):
        if key in OURS:
            continue
        guess = nearest(key, OURS)
        if guess and (key.casefold().startswith(("mcp", "expose_tool")) or guess == FLAG or key == "mpc"):
            message = f"unknown key `{key}` in the instance's block"
            yield Diagnostic(code="GMM502", message=message, span=Span(origin), hint=f"did you mean `{guess}`?")


def _wrong_kinds(data: Mapping[str, Any], origin: str) -> Iterator[Diagnostic]:
    kinds: dict[str, tuple[str, Any]] = {
        FLAG: ("true or false", lambda value: isinstance(value, bool)),
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

"""One instance's block: our keys read and checked, everything else left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import SecretStr

from gym_mcp_manifest.diagnostics import Diagnostic, nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance.headers import NO_HEADERS, RequestHeaders, header_problems, request_headers
from gym_mcp_manifest.instance.nodes import FLAG, OURS, PATCH
from gym_mcp_manifest.instance.places import BlockPlaces
from gym_mcp_manifest.instance.values import ServerKeys, server_keys, values_of
from gym_mcp_manifest.manifest.layers import Layer

__all__ = ["BlockInvalid", "Instance", "checked", "instance_from_block", "misspelt_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance's block, read and checked. Secrets never show in a repr.

    `layers` are the changes to the manifest, in order: the `mcp:` block, then each override that sets something
    in it. `block` holds the server's own keys.
    """

    name: str
    on: bool = False
    folder: str | None = None
    manifest: str | None = None
    secrets: tuple[SecretStr, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    headers: RequestHeaders = NO_HEADERS
    layers: tuple[Layer, ...] = ()
    block: Callable[[], ServerKeys] = field(default=ServerKeys, repr=False)


class BlockInvalid(ManifestInvalid):
    """The block is not valid; what it says about the manifest may be all the same.

    `rest` is the instance that its sound keys describe, good for further findings only; None where it is not
    certain which manifest is meant.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], rest: Instance | None) -> None:
        super().__init__(diagnostics)
        self.rest = rest


def instance_from_block(name: str, block: Any) -> Instance:
    """An instance from its block: a mapping, an OmegaConf node, an `Instance`, or None for exposure off.

    Raises:
        ManifestInvalid: a key of ours is misspelt or has a value of the wrong kind.
    """
    if isinstance(block, Instance):
        return block
    places = BlockPlaces()
    values = values_of(block, places) if block is not None else {}
    layers = [Layer(f"{places.name}: {PATCH}", values[PATCH])] if PATCH in values else []
    return checked(name, block, values, layers, places)


def checked(
    name: str, block: Any, values: Mapping[str, Any], layers: list[Layer], places: BlockPlaces
) -> Instance:
    """The instance of a block, of the plain values of our keys in it, and of its layers.

    Raises:
        BlockInvalid: a key of ours is misspelt or has a value of the wrong kind; every finding at once.
    """
    odd = [tuple(_unusable_layer(layer)) for layer in layers]
    found = [
        *misspelt_keys(values, places),
        *_wrong_kinds(values, places),
        *(finding for findings in odd for finding in findings),
    ]
    if found:
        sound = [layer for layer, findings in zip(layers, odd, strict=True) if not findings]
        raise BlockInvalid(found, _rest(name, block, values, sound, places))
    secret = values.get("mcp_secret")
    secrets = [secret] if isinstance(secret, str) else secret or []
    return Instance(
        name=name,
        on=values.get(FLAG, False),
        manifest=values.get("mcp_manifest"),
        secrets=tuple(SecretStr(value) for value in secrets),
        allowed_hosts=tuple(values.get("mcp_allowed_hosts") or ()),
        headers=request_headers(values.get("mcp_headers") or {}),
        layers=tuple(layers),
        block=partial(server_keys, block, places),
    )


def _rest(
    name: str, block: Any, values: Mapping[str, Any], layers: list[Layer], places: BlockPlaces
) -> Instance | None:
    """The instance by what is sound in a faulty block; None where `mcp_manifest` may be what is faulty."""
    manifest = values.get("mcp_manifest")
    meant = {nearest(key, OURS) for key in values if key not in OURS}
    if "mcp_manifest" in meant or ("mcp_manifest" in values and not _fits("mcp_manifest", manifest)):
        return None
    on = values.get(FLAG) is not False
    return Instance(
        name=name, on=on, manifest=manifest, layers=tuple(layers), block=partial(server_keys, block, places)
    )


def misspelt_keys(data: Mapping[str, Any], places: BlockPlaces) -> Iterator[Diagnostic]:
    """Findings for keys that are nearly ours."""
    for key in map(str, data):
        if key in OURS:
            continue
        guess = nearest(key, OURS)
        if guess and (key.casefold().startswith(("mcp", "expose_tool")) or guess == FLAG or key == "mpc"):
            message = f"unknown key `{key}` in the instance's block"
            span = places.span(key, of_key=True)
            yield Diagnostic(code="GMM502", message=message, span=span, hint=f"did you mean `{guess}`?")


_KINDS: dict[str, tuple[str, str | None]] = {
    FLAG: ("true or false", "write `true` or `false`, without quotes"),
    "mcp_manifest": ("the path of a manifest", None),
    "mcp_secret": ("a text or a list of texts, none empty", "write digits in quotes"),
    "mcp_allowed_hosts": ("a list of host names", "write `[name, ...]`"),
}


def _wrong_kinds(data: Mapping[str, Any], places: BlockPlaces) -> Iterator[Diagnostic]:
    for key, (expected, hint) in _KINDS.items():
        if key in data and not _fits(key, data[key]):
            message = f"`{key}`: expected {expected}"
            yield Diagnostic(code="GMM203", message=message, span=places.span(key), hint=hint)
    if "mcp_headers" in data:
        for message in dict.fromkeys(header_problems(data["mcp_headers"])):
            hint = "write `mcp_headers: {set: {Name: value}, forward: [name]}`"
            yield Diagnostic(code="GMM203", message=message, span=places.span("mcp_headers"), hint=hint)


def _fits(key: str, value: Any) -> bool:
    match key:
        case "mcp_manifest":
            return isinstance(value, str) and bool(value)
        case "mcp_secret":
            return bool(value) and (isinstance(value, str) or (_is_texts(value) and all(value)))
        case "mcp_allowed_hosts":
            return _is_texts(value)
    return isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _unusable_layer(layer: Layer) -> Iterator[Diagnostic]:
    if not isinstance(layer.patch, Mapping):
        message = f"`{PATCH}`: expected a mapping in the manifest's language"
        yield Diagnostic(code="GMM203", message=message, span=layer.span(()), hint="write `{}` for no changes")
    else:
        yield from _foreign_keys(layer, layer.patch, ())


def _foreign_keys(layer: Layer, value: Any, path: tuple[str | int, ...]) -> Iterator[Diagnostic]:
    """Findings for keys that are no texts: the language has none."""
    entries = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        if isinstance(value, Mapping) and not isinstance(key, str):
            where = ".".join(map(str, (PATCH, *path)))
            message = f"a key in `{where}` is {_kind_of_key(key)}, but keys are strings"
            hint = "put the key in quotes; in an override, write it in the path: `...a.12.b=value`"
            yield Diagnostic(code="GMM108", message=message, span=layer.span(path), hint=hint)
        else:
            yield from _foreign_keys(layer, inner, (*path, key))


def _kind_of_key(key: Any) -> str:
    return "empty" if key is None else "a truth value" if isinstance(key, bool) else "a number"

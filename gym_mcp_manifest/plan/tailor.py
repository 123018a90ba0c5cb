"""Tailoring: what the manifest's `tools` say about one tool, exact keys before globs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, nearest
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import ToolEntry
from gym_mcp_manifest.manifest.patterns import RoutePattern, is_glob, name_matches

__all__ = ["Tailoring", "tailorings", "unmatched_entries"]

_FIELDS = ("name", "title", "description", "input_schema", "annotations", "dispatch")


@dataclass(frozen=True, slots=True)
class Tailoring:
    """The fields that `tools` set for one tool, each with the key that set it."""

    values: Mapping[str, Any]
    keys: Mapping[str, str]
    found: tuple[Diagnostic, ...] = ()

    def get(self, field: str) -> Any:
        """The value that the manifest gives the field, or None."""
        return self.values.get(field)


def tailorings(manifest: Manifest, own_name: str, label: str) -> Tailoring:
    """What the manifest says about the tool with this own name on this route (`POST /path`)."""
    exact = [(key, entry) for key, entry in _entries(manifest) if key == own_name or _spells(key, label)]
    globs = [
        (key, entry)
        for key, entry in _entries(manifest)
        if is_glob(key) and "/" not in key and name_matches(key, own_name)
    ]
    values: dict[str, Any] = {}
    keys: dict[str, str] = {}
    found: list[Diagnostic] = []
    for group in (exact, globs):
        settled = set(values)
        for key, entry in group:
            for name in _FIELDS:
                if name not in entry.model_fields_set or name in settled:
                    continue
                value = getattr(entry, name)
                if name in values and values[name] != value:
                    found.append(_clash(manifest, own_name, name, keys[name], key))
                values.setdefault(name, value)
                keys.setdefault(name, key)
    return Tailoring(values, keys, tuple(found))


def unmatched_entries(
    manifest: Manifest, exposed: Iterable[tuple[str, str]], withheld: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Findings for keys of `tools` that name no tool; `exposed` holds (own name, route label).

    `withheld` maps own names and labels of routes that are no tools to the reason why.
    """
    tools = tuple(exposed)
    for key, entry in _entries(manifest):
        if entry.optional or any(_covers(key, own, label) for own, label in tools):
            continue
        reason = withheld.get(key)
        message = f"`tools` has the key `{key}`, but no tool of that name is exposed"
        if reason:
            message = f"`tools` has the key `{key}`, which is not exposed: {reason}"
        guess = nearest(key, [name for pair in tools for name in pair])
        hint = f"did you mean `{guess}`?" if guess else "correct the key, or set `optional: true` on the entry"
        span = manifest.places.span(("tools", key), key=True)
        yield Diagnostic(code="GMM601", message=message, span=span, hint=hint)


def spelled_routes(manifest: Manifest) -> frozenset[str]:
    """Labels (`POST /items/{id}`) of the routes that keys of `tools` write out."""
    patterns = [_route(key) for key, _ in _entries(manifest)]
    return frozenset(f"{p.method} {p.path}" for p in patterns if p is not None)


def _entries(manifest: Manifest) -> Iterable[tuple[str, ToolEntry]]:
    return manifest.language.tools.items()


def _covers(key: str, own_name: str, label: str) -> bool:
    return key == own_name or _spells(key, label) or ("/" not in key and name_matches(key, own_name))


def _spells(key: str, label: str) -> bool:
    route = _route(key)
    return route is not None and f"{route.method} {route.path}" == label


def _route(key: str) -> RoutePattern | None:
    if "/" not in key:
        return None
    try:
        return RoutePattern.parse(key)
    except ValueError:
        return None


def _clash(manifest: Manifest, own_name: str, field: str, first: str, second: str) -> Diagnostic:
    span = manifest.places.span(("tools", second, field), key=True)
    earlier = manifest.places.span(("tools", first, field), key=True)
    return Diagnostic(
        code="GMM301",
        message=f"`tools.{first}` and `tools.{second}` set `{field}` of {own_name!r} differently",
        span=span,
        hint="write the field under the tool's exact name",
        related=(("first set at", earlier),) if earlier else (),
    )

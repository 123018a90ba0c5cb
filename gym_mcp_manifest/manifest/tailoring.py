"""Tailoring: what the manifest's `tools` say about one tool, exact keys before globs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import ArgumentEntry, ToolEntry
from gym_mcp_manifest.manifest.patterns import RoutePattern, is_glob, name_matches

__all__ = ["Subject", "Tailoring", "spelled_routes", "tailorings", "unmatched_entries"]

#: Keys of an entry of `tools` from its root, such as ("title",) and ("arguments", "city").
Field = tuple[str, ...]

_FIELDS = ("name", "title", "description", "input_schema", "output_schema", "dispatch", "only_if")


@dataclass(frozen=True, slots=True)
class Tailoring:
    """The fields that `tools` set for one tool, each with the key that set it."""

    values: Mapping[Field, Any]
    keys: Mapping[Field, str]
    places: Places
    found: tuple[Diagnostic, ...] = ()

    def get(self, *field: str) -> Any:
        """The value that the manifest gives the field, or None."""
        return self.values.get(field)

    @property
    def arguments(self) -> Mapping[str, ArgumentEntry]:
        """The tailored arguments by name."""
        return {field[1]: value for field, value in self.values.items() if field[0] == "arguments"}

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations that are set, hint by hint."""
        return {field[1]: value for field, value in self.values.items() if field[0] == "annotations"}

    def path(self, *field: str) -> Path:
        """The field's path in the manifest; it must be set."""
        return ("tools", self.keys[field], *field)

    def span(self, *field: str, key: bool = False) -> Span | None:
        """Where the field is written, or None where it is not."""
        return self.places.span(self.path(*field), key=key) if field in self.keys else None


@dataclass(frozen=True, slots=True)
class Subject:
    """What keys of `tools` may name: a tool by its names and its route's label, and its arguments.

    `arguments` is None for a tool that takes any.
    """

    own_name: str
    name: str
    label: str
    arguments: frozenset[str] | None


def tailorings(manifest: Manifest, own_name: str, label: str, own_names: Set[str] = frozenset()) -> Tailoring:
    """What the manifest says about the tool with this own name on this route (`POST /path`).

    A key may be the exposed name as well, which the keys for the own name and the route decide; but where that is
    another tool's own name, one of `own_names`, the key is that tool's.
    """
    by_own = _collected(manifest, own_name, (own_name,), label)
    name = by_own.get("name")
    if name is None or name in own_names:
        return by_own
    return _collected(manifest, own_name, (own_name, name), label)


def _collected(manifest: Manifest, own_name: str, names: tuple[str, ...], label: str) -> Tailoring:
    exact = [(key, entry) for key, entry in _entries(manifest) if key in names or _spells(key, label)]
    globs = [
        (key, entry)
        for key, entry in _entries(manifest)
        if key not in names and "/" not in key and is_glob(key) and any(name_matches(key, name) for name in names)
    ]
    values: dict[Field, Any] = {}
    keys: dict[Field, str] = {}
    found: list[Diagnostic] = []
    for group in (exact, globs):
        settled = set(values)
        for key, entry in group:
            for field, value in _said(entry):
                if field in settled:
                    continue
                if field in values and values[field] != value:
                    found.append(_clash(manifest, own_name, field, keys[field], key))
                values.setdefault(field, value)
                keys.setdefault(field, key)
    return Tailoring(values, keys, manifest.places, tuple(found))


def unmatched_entries(
    manifest: Manifest, subjects: Iterable[Subject], withheld: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Findings for keys of `tools` that name no tool, and for arguments that none of their tools has.

    `withheld` maps own names and labels of routes that are no tools to the reason why.
    """
    tools = tuple(subjects)
    for key, entry in _entries(manifest):
        covered = [tool for tool in tools if _covers(key, tool)]
        if covered or entry.optional:
            yield from _unmatched_arguments(manifest, key, entry, covered)
            continue
        reason = withheld.get(key)
        message = f"`tools` has the key `{key}`, but no tool of that name is exposed"
        if reason:
            message = f"`tools` has the key `{key}`, which is not exposed: {reason}"
        guess = nearest(key, [name for tool in tools for name in (tool.own_name, tool.name, tool.label)])
        hint = f"did you mean `{guess}`?" if guess else "correct the key, or set `optional: true` on the entry"
        span = manifest.places.span(("tools", key), key=True)
        yield Diagnostic(code="GMM601", message=message, span=span, hint=hint)


def _unmatched_arguments(
    manifest: Manifest, key: str, entry: ToolEntry, covered: Iterable[Subject]
) -> Iterator[Diagnostic]:
    known = [tool.arguments for tool in covered]
    if not known or any(names is None for names in known):
        return
    names = sorted(name for some in known if some for name in some)
    for argument in entry.arguments:
        if argument not in names:
            guess = nearest(argument, names)
            yield Diagnostic(
                code="GMM601",
                message=f"`tools.{key}` has the argument `{argument}`, which the tool does not take",
                span=manifest.places.span(("tools", key, "arguments", argument), key=True),
                hint=f"did you mean `{guess}`?" if guess else f"it takes: {', '.join(names) or 'none'}",
            )


def spelled_routes(manifest: Manifest) -> frozenset[str]:
    """Labels (`POST /items/{id}`) of the routes that keys of `tools` write out."""
    patterns = [_route(key) for key, _ in _entries(manifest)]
    return frozenset(f"{p.method} {p.path}" for p in patterns if p is not None)


def _entries(manifest: Manifest) -> Iterable[tuple[str, ToolEntry]]:
    return manifest.language.tools.items()


def _covers(key: str, tool: Subject) -> bool:
    names = (tool.own_name, tool.name)
    return (
        key in names or _spells(key, tool.label) or ("/" not in key and any(name_matches(key, n) for n in names))
    )


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


def _said(entry: ToolEntry) -> Iterator[tuple[Field, Any]]:
    yield from (((name,), getattr(entry, name)) for name in _FIELDS if name in entry.model_fields_set)
    yield from ((("arguments", name), argument) for name, argument in entry.arguments.items())
    if entry.annotations is not None:
        hints = entry.annotations
        yield from ((("annotations", hint), getattr(hints, hint)) for hint in sorted(hints.model_fields_set))


def _clash(manifest: Manifest, own_name: str, field: Field, first: str, second: str) -> Diagnostic:
    span = manifest.places.span(("tools", second, *field), key=True)
    earlier = manifest.places.span(("tools", first, *field), key=True)
    return Diagnostic(
        code="GMM301",
        message=f"`tools.{first}` and `tools.{second}` set `{'.'.join(field)}` of {own_name!r} differently",
        span=span,
        hint="write the field under the tool's exact name",
        related=(("first set at", earlier),) if earlier else (),
    )

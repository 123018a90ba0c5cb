"""Where a value of the merged manifest comes from: every layer that said something about it, lowest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.explain.sayings import (
    DEFAULT,
    NOTHING,
    Saying,
    origins_of,
    sayings_of,
    value_at,
    written_path,
)
from gym_mcp_manifest.explain.settings import default_of
from gym_mcp_manifest.explain.visible import Visible
from gym_mcp_manifest.manifest.handbook import look_up
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Layer
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.patterns import is_glob, name_matches
from gym_mcp_manifest.plan.records import ExposurePlan, Tool

__all__ = ["ValueAccount", "account_of"]

#: The values of a tool that agents see, or that decide about its calls.
_FIELDS = ("name", "title", "description", "input_schema", "output_schema", "annotations", "dispatch")


@dataclass(frozen=True, slots=True)
class ValueAccount:
    """All that was said about a value, the lowest saying first: of equal keys the last one counts.

    `value` holds the one that comes out, as far as it may be shown, and is empty where nothing sets it; `origins`
    are the places or layers that it comes from.
    """

    path: str
    value: tuple[Any, ...]
    origins: tuple[str, ...]
    sayings: tuple[Saying, ...]


def account_of(
    path: Path, base: Manifest, layers: Iterable[Layer], merged: Manifest, plan: ExposurePlan, visible: Visible
) -> ValueAccount | None:
    """The account of a path of the language; None where the language has no such key.

    `base` is the manifest as its file has it, `merged` the one with the layers on it.
    """
    written = written_path(path)
    entries = look_up(written)
    if not entries or not _is_there(path, merged, plan):
        return None
    laid = tuple(layers)
    tool = _tool(str(path[1]), plan) if path[0] == "tools" and len(path) > 1 else None
    found = {each: sayings_of(each, base, laid, visible) for each in _paths(path, merged, tool)}
    groups = {each: said for each, said in found.items() if said}
    default = default_of(entries[0]) if isinstance(path[-1], str) else None
    defaults = [Saying(written, DEFAULT, default)] if default is not None else []
    said = [saying for group in groups.values() for saying in group]
    if tool is not None and len(path) > 2:
        counting = next(reversed(groups), path)
        value = _held(counting, merged, visible)
        value, origins = _of_tool(path[2:], tool, value, groups.get(counting, ()))
    else:
        value = _held(path, merged, visible)
        origins = origins_of(said, has_default=bool(defaults))
    if value and not origins:  # an entry of a list that a layer added to
        origins = (merged.places.origin(path),)
    if not value and defaults:
        value, origins = (default,), origins or (DEFAULT,)
    return ValueAccount(written, value, origins, (*defaults, *said))


def _held(path: Path, merged: Manifest, visible: Visible) -> tuple[Any, ...]:
    """What the merged manifest says at the path, if anything."""
    held = value_at(merged.layered.data, path)
    return () if held is NOTHING else (visible.effective(path, held),)


def _of_tool(
    field: Path, tool: Tool, held: tuple[Any, ...], said: tuple[Saying, ...]
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """A tool's value and where it comes from, the key of `tools` that counts having `held`, by what was `said`."""
    name = ".".join(map(str, field))
    if field[0] == "annotations":  # these merge, key by key of `tools`
        value = value_at({"annotations": tool.annotations or {}}, field)
        origins = [origin for key, origin in tool.origins.items() if f"{key}.".startswith(f"{name}.")]
        return (() if value in (NOTHING, {}) else (value,)), tuple(dict.fromkeys(origins))
    if name in _FIELDS and getattr(tool, name) is not None:
        held = (getattr(tool, name),)
    origin = tool.origins.get(name)
    return held, origins_of(said, has_default=False) or ((origin,) if origin and held else ())


def _is_there(path: Path, merged: Manifest, plan: ExposurePlan) -> bool:
    """Whether the list entries on the path are there, and the tool that a key of `tools` names."""
    data = merged.layered.data
    entries = [path[: n + 1] for n, step in enumerate(path) if isinstance(step, int)]
    if any(value_at(data, entry) is NOTHING for entry in entries):
        return False
    names_tool = path[0] == "tools" and len(path) > 1
    return not names_tool or path[1] in merged.language.tools or _tool(str(path[1]), plan) is not None


def _paths(path: Path, merged: Manifest, tool: Tool | None) -> list[Path]:
    """The path; for a tool's value the same field under each key of `tools` that is for the tool, lowest first."""
    if tool is None:
        return [path]
    names, label = (tool.own_name, tool.name), f"{tool.method} {tool.route}"
    # Of keys of one kind the first one counts, and exact keys before patterns.
    keys = [*reversed(merged.language.tools)]
    exact = [key for key in keys if key in names or (tool.source == "route" and label in (key, f"POST {key}"))]
    globs = [key for key in keys if key not in exact and _is_for(key, names)]
    return [("tools", key, *path[2:]) for key in (*globs, *exact)]


def _is_for(key: str, names: tuple[str, ...]) -> bool:
    return is_glob(key) and "/" not in key and any(name_matches(key, name) for name in names)


def _tool(name: str, plan: ExposurePlan) -> Tool | None:
    of_route = [t for t in plan.tools if t.source == "route" and f"{t.method} {t.route}" == name]
    return next((t for t in (*plan.tools, *of_route) if t in of_route or name in (t.name, t.own_name)), None)

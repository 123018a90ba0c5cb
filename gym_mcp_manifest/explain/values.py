"""Where a value of the merged manifest comes from: every layer that said something about it, lowest first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.manifest.handbook import look_up
from gym_mcp_manifest.manifest.keys import ADD, Path
from gym_mcp_manifest.manifest.layers import Layer
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.patterns import is_glob, name_matches
from gym_mcp_manifest.plan.records import ExposurePlan, Tool

__all__ = ["Saying", "ValueAccount", "account_of", "written_path"]

_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Saying:
    """What one layer says: the path of the key, its place or layer, the value.

    `secret` values come from an instance, which may have them from a secret: they are not to be shown.
    """

    path: str
    origin: str
    value: Any = None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class ValueAccount:
    """All that was said about a value, the last saying of the key itself being the one that counts.

    `counts` is its origin; `tool` the tool whose value it is, where the path is that of a tool's value.
    """

    path: str
    sayings: tuple[Saying, ...]
    counts: str
    tool: Tool | None = None
    field: str = ""


def account_of(
    path: Path, base: Manifest, layers: Iterable[Layer], merged: Manifest, plan: ExposurePlan
) -> ValueAccount | None:
    """The account of a path of the language; None where the language has no such key.

    `base` is the manifest as its file has it, `merged` the one with the layers on it.
    """
    written = written_path(path)
    entries = look_up(written)
    if not entries or not _is_there(path, merged, plan):
        return None
    paths = _paths(path, merged, plan)
    sayings = [
        *(saying for each in paths for saying in _of_file(each, base)),
        *(saying for layer in layers for each in paths for saying in _of_layer(each, layer)),
    ]
    tool, field = _tool_field(path, plan)
    words = entries[0].default
    words = words if isinstance(path[-1], str) else None
    default = [Saying(written, "the language's default", json.loads(words))] if words is not None else []
    counts = ""
    if tool is not None and field in tool.origins:
        counts = tool.origins[field]
    elif sayings:
        counts = merged.places.origin(paths[0])
    elif default:
        counts = default[0].origin
    return ValueAccount(written, (*default, *sayings), counts, tool, field)


def _is_there(path: Path, merged: Manifest, plan: ExposurePlan) -> bool:
    """Whether the list entries on the path are there, and the tool that a key of `tools` names."""
    data = merged.layered.data
    entries = [path[: n + 1] for n, step in enumerate(path) if isinstance(step, int)]
    if any(_value_at(data, entry) is _NOTHING for entry in entries):
        return False
    names_tool = path[0] == "tools" and len(path) > 1
    return not names_tool or path[1] in merged.language.tools or _tool(str(path[1]), plan) is not None


def written_path(path: Path) -> str:
    """The path as one writes it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = f'"{step}"' if any(letter in step for letter in ".[] '") else step
            text += f".{name}" if text else name
    return text


def _paths(path: Path, merged: Manifest, plan: ExposurePlan) -> list[Path]:
    """The path, and for a tool's value the same field under every key of `tools` that is for the tool."""
    if len(path) < 2 or path[0] != "tools":
        return [path]
    tool = _tool(str(path[1]), plan)
    if tool is None:
        return [path]
    names, label = (tool.own_name, tool.name), f"{tool.method} {tool.route}"
    keys = [key for key in merged.language.tools if key in names or key == label or _is_for(key, names)]
    others = [("tools", key, *path[2:]) for key in keys if key != path[1]]
    return [path, *others]


def _is_for(key: str, names: tuple[str, ...]) -> bool:
    return is_glob(key) and "/" not in key and any(name_matches(key, name) for name in names)


def _tool(name: str, plan: ExposurePlan) -> Tool | None:
    of_route = [t for t in plan.tools if t.source == "route" and f"{t.method} {t.route}" == name]
    return next((t for t in (*plan.tools, *of_route) if t in of_route or name in (t.name, t.own_name)), None)


def _tool_field(path: Path, plan: ExposurePlan) -> tuple[Tool | None, str]:
    if len(path) < 3 or path[0] != "tools":
        return None, ""
    field = f"arguments.{path[3]}" if path[2] == "arguments" and len(path) > 3 else str(path[2])
    return _tool(str(path[1]), plan), field


def _of_file(path: Path, base: Manifest) -> Iterator[Saying]:
    value = _value_at(base.layered.data, path)
    if value is not _NOTHING:
        yield Saying(written_path(path), base.places.origin(path), value)


def _of_layer(path: Path, layer: Layer) -> Iterator[Saying]:
    last = path[-1]
    for each in (path, (*path[:-1], f"{last}{ADD}")) if isinstance(last, str) else (path,):
        if _value_at(layer.patch, each) is not _NOTHING:
            yield Saying(written_path(each), str(layer.span(each)), secret=True)


def _value_at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            if not isinstance(data, list) or not step < len(data):
                return _NOTHING
        elif not isinstance(data, Mapping) or step not in data:
            return _NOTHING
        data = data[step]
    return data

"""What may be shown of the values of an instance: what agents and clients see anyway. Others may be secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.plan.records import ExposurePlan, Tool

__all__ = ["WITHHELD", "Visible", "visible_in"]

#: What is shown in the place of a value of an instance that nobody sees from outside.
WITHHELD = "(set by the instance)"

#: Settings that clients are told, or whose effect every client can observe.
_OBSERVABLE = {
    "server": ("title", "instructions"),
    "sessions": ("mode", "otherwise", "unknown"),
    "routes": ("unlisted", "naming"),
    "names": ("normalize", "agents", "patterns", "max_length", "restore"),
    "limits": ("request_bytes",),
}
_QUOTED = re.compile(r"`([^`]+)`")
#: Any key: the values of a tool are public under whichever key of `tools` they are written.
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Visible:
    """All that can be seen from outside, as trees of the language; a value is seen where one of them has it."""

    views: tuple[Mapping[str, Any], ...]
    places: Places

    def shown(self, path: Path, value: Any) -> Any:
        """A value that an instance says at `path`, with `WITHHELD` for what cannot be seen from outside."""
        return _shown(value, tuple(_at(self.views, path)))

    def effective(self, path: Path, value: Any) -> Any:
        """A value of the merged manifest, the parts that an instance set as by `shown`."""
        if self.places.is_layered(path):
            return self.shown(path, value)
        if isinstance(value, Mapping):
            return {key: self.effective((*path, key), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.effective((*path, n), entry) for n, entry in enumerate(value)]
        return value


def visible_in(plan: ExposurePlan, merged: Manifest) -> Visible:
    """What can be seen of a plan, `merged` being the manifest that it was made from."""
    return Visible((_settings(plan, merged), *map(_of_tool, plan.tools)), merged.places)


def _settings(plan: ExposurePlan, merged: Manifest) -> dict[str, Any]:
    data = merged.layered.data if isinstance(merged.layered.data, Mapping) else {}
    view: dict[str, Any] = {"dispatch": data["dispatch"]} if "dispatch" in data else {}
    for section, keys in _OBSERVABLE.items():
        written = data.get(section) or {}
        view[section] = {key: written[key] for key in keys if key in written}
    # A route list's entry that decided about a route is told with the route.
    told = frozenset(
        _QUOTED.findall(
            " ".join([*(tool.reason for tool in plan.tools), *(entry.reason for entry in plan.excluded)])
        )
    )
    for key in ("include", "exclude"):
        entries = (data.get("routes") or {}).get(key, ())
        view["routes"][key] = dict(enumerate(entry if _pattern(entry) in told else None for entry in entries))
    return view


def _pattern(entry: Any) -> Any:
    return entry.get("match") if isinstance(entry, Mapping) else entry


def _of_tool(tool: Tool) -> dict[str, Any]:
    fields = ("name", "title", "description", "input_schema", "output_schema", "annotations", "dispatch")
    view = {field: value for field in fields if (value := getattr(tool, field)) is not None}
    return {"tools": {_ANY: {**view, "arguments": tool.input_schema.get("properties", {})}}}


def _at(views: Iterable[Any], path: Path) -> Iterator[Any]:
    for view in views:
        found = view
        for step in path:
            found = _below(found, step)
        if found is not None:
            yield found


def _below(view: Any, step: Any) -> Any:
    return view.get(step, view.get(_ANY)) if isinstance(view, Mapping) else None


def _shown(value: Any, views: tuple[Any, ...]) -> Any:
    # Nothing secret is a truth value, or empty.
    if isinstance(value, bool) or value in (None, [], {}) or any(view == value for view in views):
        return value
    open_views = [view for view in views if isinstance(view, Mapping)]
    if isinstance(value, Mapping) and open_views:
        return {key: _shown(inner, tuple(_at(open_views, (key,)))) for key, inner in value.items()}
    if isinstance(value, list) and open_views:
        seen = [entry for view in open_views for entry in view.values()]
        return [entry if entry in seen else WITHHELD for entry in value]
    return WITHHELD

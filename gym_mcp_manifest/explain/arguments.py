"""What becomes of each tailored argument of a tool between client and route."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.explain.visible import Visible
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.tailoring import tailorings
from gym_mcp_manifest.plan.records import Tool

__all__ = ["ArgumentAccount", "arguments_of"]


@dataclass(frozen=True, slots=True)
class ArgumentAccount:
    """One argument: what becomes of it, and by which place or layer.

    `value` holds the fixed value or the default where there is one, as far as it may be shown.
    """

    name: str
    state: str
    origin: str
    value: tuple[Any, ...] = ()


def arguments_of(tool: Tool, merged: Manifest, visible: Visible) -> tuple[ArgumentAccount, ...]:
    """The arguments of a tool that `tools` of the merged manifest say something about, sorted by name."""
    return tuple(sorted(_accounts(tool, merged, visible), key=lambda account: account.name))


def _accounts(tool: Tool, merged: Manifest, visible: Visible) -> Iterator[ArgumentAccount]:
    label = f"{tool.method} {tool.route}" if tool.source == "route" else ""
    tailoring, given = tailorings(merged, tool.own_name, label), tool.arguments
    for name in tailoring.arguments:
        path = tailoring.path("arguments", name)
        hidden = name in given.withheld
        value: tuple[Any, ...]
        if name in given.fixed:
            key, value, state = "value", (given.fixed[name],), "fixed and hidden"
        elif name in given.defaults:
            key, value, state = "default", (given.defaults[name],), "with a default"
        elif hidden or name in tool.input_schema.get("properties", {}):
            key, value, state = "", (), "hidden" if hidden else "described"
        else:
            continue  # an entry of a glob, for other tools
        where = (*path, key) if key else path
        shown = tuple(visible.effective(where, each) for each in value)
        yield ArgumentAccount(name, state, merged.places.origin(where), shown)

"""The surface of a plan: every exposed tool as it is advertised, with hashes that tell when one moved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.plan.records import ExposurePlan, Tool

__all__ = ["Surface", "SurfaceTool", "canonical", "surface_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceTool:
    """One tool as agents see it, and the route that a call runs (`POST /path`)."""

    name: str
    own_name: str
    route: str
    dispatch: str
    title: str | None
    description: str | None
    annotations: Mapping[str, Any] | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None

    def payload(self) -> dict[str, Any]:
        """The tool as plain data, without its hash."""
        return {name: getattr(self, name) for name in SurfaceTool.__slots__}

    @property
    def sha256(self) -> str:
        """The hash of the tool's canonical JSON."""
        return _hash(self.payload())


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """All that agents see: the server's words about itself, and the tools in their advertised order."""

    server: str
    title: str | None = None
    instructions: str | None = None
    tools: tuple[SurfaceTool, ...] = ()

    def server_payload(self) -> dict[str, Any]:
        """What is said about the server, as plain data."""
        return {"name": self.server, "title": self.title, "instructions": self.instructions}

    @property
    def sha256(self) -> str:
        """The hash of the whole surface, the order of its tools included."""
        return _hash({"server": self.server_payload(), "tools": [tool.payload() for tool in self.tools]})


def surface_of(plan: ExposurePlan) -> Surface:
    """The surface that a plan exposes."""
    info = plan.language.server
    return Surface(
        server=plan.server_name,
        title=info.title,
        instructions=info.instructions,
        tools=tuple(_surface_tool(tool) for tool in plan.tools),
    )


def canonical(value: Any) -> str:
    """The value as JSON text that is the same for the same value: sorted keys, no white space, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _surface_tool(tool: Tool) -> SurfaceTool:
    return SurfaceTool(
        name=tool.name,
        own_name=tool.own_name,
        route=f"{tool.method} {tool.route}",
        dispatch=tool.dispatch,
        title=tool.title,
        description=tool.description,
        annotations=tool.annotations,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()

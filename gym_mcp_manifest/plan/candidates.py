"""Candidates: tools in the making, from claimed routes and from the specs of dispatchers, in advertised order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.partplaces import PartPlaces
from gym_mcp_manifest.manifest.schemas import PERMISSIVE
from gym_mcp_manifest.plan.claims import Claims
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.routes.harvest import HarvestedRoute

__all__ = ["SPEC_FIELDS", "Candidate", "candidates", "own_name"]

#: What a spec, an overlay or a handler may say about a tool.
SPEC_FIELDS = ("title", "description", "input_schema", "output_schema", "annotations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Where a tool comes from and what it is before tailoring.

    `span` is the place of what describes the tool, `claim_span` that of the entry which chose its route.
    """

    own_name: str
    route: HarvestedRoute
    path: str
    source: Literal["route", "catch_all"]
    reason: str
    span: Span | None
    claim_span: Span | None
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    title: str | None = None
    annotations: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    #: The index of the `catch_all` entry that has the tool.
    entry: int | None = None
    #: Where each of SPEC_FIELDS that is said is written.
    origins: Mapping[str, Span | None] = field(default_factory=dict)
    #: Where the parts of the schemas stand that specs give, by field.
    schema_places: Mapping[str, PartPlaces | None] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The candidate in the words of its author."""
        return self.route.label if self.source == "route" else f"tool {self.own_name!r}"

    @property
    def route_label(self) -> str:
        """The label by which `tools` may name it; empty for a dispatcher's tool, which shares its route."""
        return self.route.label if self.source == "route" else ""


def candidates(inputs: PlanInputs, claims: Claims) -> Iterator[Candidate]:
    """Harvested routes in registration order, then the tools of each `catch_all` entry in file order."""
    for route, reason, span in claims.typed:
        yield Candidate(
            own_name=own_name(route, inputs),
            route=route,
            path=route.path,
            source="route",
            reason=reason,
            span=span,
            claim_span=span,
            description=route.description,
            input_schema=route.parameters.schema,
            output_schema=route.output_schema,
            origins=dict.fromkeys(SPEC_FIELDS, route.handler),
        )
    for index in sorted(claims.dispatchers):
        route = claims.dispatchers[index]
        for spec in inputs.specs.catch_all[index] if inputs.specs.catch_all else ():
            yield Candidate(
                own_name=spec.name,
                route=route,
                path=route.path_for(spec.name),
                source="catch_all",
                reason=f"`catch_all[{index}]` on {route.label}",
                span=spec.span,
                claim_span=spec.named_at,
                description=spec.description,
                input_schema=spec.input_schema if spec.input_schema is not None else PERMISSIVE,
                title=spec.title,
                annotations=spec.annotations,
                output_schema=spec.output_schema,
                entry=index,
                origins=dict.fromkeys(SPEC_FIELDS, spec.span),
                schema_places=spec.schema_places,
            )


def own_name(route: HarvestedRoute, inputs: PlanInputs) -> str:
    """The name that a route's tool has by itself, by `routes.naming`."""
    naming = inputs.manifest.language.routes.naming
    return route.path.removeprefix("/") if naming == "path" else route.function

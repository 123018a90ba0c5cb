"""Judgement of one candidate: the tool that it becomes, or everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.schemas import advertised_form, portability_problems, schema_findings
from gym_mcp_manifest.plan.candidates import Candidate
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.plan.records import RESERVED_NAMES, Tool
from gym_mcp_manifest.plan.tailor import Tailoring, tailorings
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route

__all__ = ["Judgement", "judge"]

_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a candidate; `tool` is None exactly where an error is among the findings."""

    candidate: Candidate
    name: str
    tool: Tool | None
    found: tuple[Diagnostic, ...]
    #: Where the exposed name comes from.
    name_span: Span | None = None


def judge(candidate: Candidate, inputs: PlanInputs) -> Judgement:
    """Tailor the candidate and check it: shape, schema, reach and name, all at once."""
    manifest, route = inputs.manifest, candidate.route
    tailoring = tailorings(manifest, candidate.own_name, candidate.route_label)
    name = tailoring.get("name") or candidate.own_name
    key = tailoring.keys.get("name")
    name_span = manifest.places.span(("tools", key, "name")) if key else candidate.span or route.handler
    schema, span = _chosen_schema(candidate, tailoring, inputs)
    found = (
        *tailoring.found,
        *_shape_findings(candidate),
        *_schema_findings(candidate, schema, span),
        *_reach_findings(candidate, inputs.routes),
        *_name_findings(name, candidate, name_span),
    )
    if errors_among(found) or schema is None:
        return Judgement(candidate, name, None, found, name_span)
    annotations = tailoring.get("annotations")
    tool = Tool(
        own_name=candidate.own_name,
        name=name,
        method=route.method,
        route=route.path,
        path=candidate.path,
        source=candidate.source,
        input_schema=advertised_form(schema),
        title=tailoring.get("title") or candidate.title,
        description=tailoring.get("description") or candidate.description,
        annotations=annotations.model_dump(exclude_none=True) if annotations else candidate.annotations,
        reason=candidate.reason,
        span=candidate.span,
    )
    return Judgement(candidate, name, tool, found, name_span)


def _shape_findings(candidate: Candidate) -> Iterator[Diagnostic]:
    route = candidate.route
    entry = route.path if route.method == "POST" else route.label
    if candidate.source == "route":
        hint = f"`direct` refuses this shape; keep the route HTTP-only: `routes: {{exclude: [{entry!r}]}}`"
    else:
        hint = f"`direct` refuses this shape; write `catch_all: [{{route: {route.path!r}, ignore: true}}]`"
    for reason in _shape_reasons(candidate):
        message = f"{route.label} cannot be dispatched: {reason}"
        chosen = (("chosen at", candidate.claim_span),) if candidate.claim_span and route.handler else ()
        place = route.handler or candidate.claim_span
        yield Diagnostic(code="GMM602", message=message, span=place, hint=hint, related=chosen)


def _shape_reasons(candidate: Candidate) -> Iterator[str]:
    yield from candidate.route.refusals
    if candidate.source == "route" and candidate.route.kind == "parameterized":
        names = ", ".join(candidate.route.path_params)
        yield f"it has path parameters ({names}), which `direct` takes for a catch_all only"


def _chosen_schema(
    candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs
) -> tuple[Mapping[str, Any] | None, Span | None]:
    """The schema that counts and its place; None where there is none, or its file has a finding of its own."""
    written = tailoring.get("input_schema")
    if written is None:
        return candidate.input_schema, candidate.span
    key = tailoring.keys["input_schema"]
    schema = (inputs.specs.schemas or {}).get(key) if isinstance(written, str) else written
    return schema, inputs.manifest.places.span(("tools", key, "input_schema"))


def _schema_findings(
    candidate: Candidate, schema: Mapping[str, Any] | None, span: Span | None
) -> Iterator[Diagnostic]:
    own_name = candidate.own_name
    if schema is None:
        if candidate.input_schema is None:
            hint = f"write `tools: {{{own_name}: {{input_schema: ...}}}}`, or exclude the route"
            message = f"{candidate.route.label}: {candidate.route.schema_problem}"
            yield Diagnostic(code="GMM209", message=message, span=span, hint=hint)
        return
    yield from schema_findings(own_name, schema, span)
    for problem, hint in portability_problems(schema):
        yield Diagnostic(
            code="GMM707", severity="warning", message=f"{own_name!r}: {problem}", span=span, hint=hint
        )


def _reach_findings(candidate: Candidate, routes: tuple[HarvestedRoute, ...]) -> Iterator[Diagnostic]:
    """Findings where HTTP would run another route, or none, for the request that a call makes."""
    route = candidate.route
    if candidate.source == "route" and route.kind == "parameterized":
        return
    serving = serving_route(routes, route.method, candidate.path)
    if serving is route:
        return
    if serving is None:
        message = f"{candidate.own_name!r} cannot be a path value of {route.label}: HTTP would answer 404"
        hint = "exclude the name on the source (`exclude: [...]`), or let the route take a `:path` parameter"
    else:
        message = f"a call of {candidate.own_name!r} would reach {serving.label}, which is registered before it"
        hint = "register the more general route last, or exclude this one"
    yield Diagnostic(code="GMM605", message=message, span=candidate.span, hint=hint)


def _name_findings(name: str, candidate: Candidate, span: Span | None) -> Iterator[Diagnostic]:
    if name in RESERVED_NAMES:
        message = f"the tool name {name!r} of {candidate.route.label} is reserved for the harness"
        yield Diagnostic(code="GMM702", message=message, span=span, hint=_rename(candidate, "another_name"))
    elif not _LEGAL_NAME.fullmatch(name):
        message = f"{name!r} is no legal tool name ([A-Za-z0-9_-], 1 to 128 of them)"
        yield Diagnostic(
            code="GMM701", message=message, span=span, hint=_rename(candidate, _proposal(name, candidate))
        )


def _proposal(name: str, candidate: Candidate) -> str:
    """A legal name near an illegal one: the handler's, where it has one."""
    if candidate.source == "route" and _LEGAL_NAME.fullmatch(candidate.route.function):
        return candidate.route.function
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:128] or "root"


def _rename(candidate: Candidate, proposal: str) -> str:
    key = candidate.route.label if candidate.source == "route" else candidate.own_name
    return f"write `tools: {{{key!r}: {{name: {proposal}}}}}`"

"""Judgement of one candidate: the tool that it becomes, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.arguments import (
    applicable_entries,
    argument_findings,
    argument_names,
    is_withheld,
    tailored_schema,
)
from gym_mcp_manifest.manifest.expressions import ExpressionFailed
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.lint import AdvertisedTool
from gym_mcp_manifest.manifest.models import Language
from gym_mcp_manifest.manifest.schemas import (
    advertised_form,
    reply_findings,
    reply_form,
    schema_findings,
)
from gym_mcp_manifest.manifest.tailoring import Tailoring, tailorings
from gym_mcp_manifest.manifest.toolnames import is_legal_name, name_findings
from gym_mcp_manifest.plan.candidates import SPEC_FIELDS, Candidate
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.plan.overlays import overlaid
from gym_mcp_manifest.plan.records import Arguments, Excluded, Tool
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route

__all__ = ["Judgement", "judge"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a candidate: a tool, an exclusion, or neither where an error is among the findings."""

    candidate: Candidate
    name: str
    tool: Tool | None = None
    excluded: Excluded | None = None
    found: tuple[Diagnostic, ...] = ()
    #: Where the exposed name comes from.
    name_span: Span | None = None
    #: What clients are told, its schema before it is brought into a form that they all take.
    advertised: AdvertisedTool | None = None
    #: The arguments that `tools` may name; None where the tool takes any, or its schema is not known.
    arguments: frozenset[str] | None = None


def judge(candidate: Candidate, inputs: PlanInputs) -> Judgement:
    """Tailor the candidate and check it: condition, shape, schemas, reach and name, all at once."""
    tailoring = tailorings(inputs.manifest, candidate.own_name, candidate.route_label)
    name = tailoring.get("name") or candidate.own_name
    absent = _absence(candidate, tailoring, inputs)
    if absent is not None:
        found = (absent,) if isinstance(absent, Diagnostic) else ()
        excluded = absent if isinstance(absent, Excluded) else None
        return Judgement(candidate, name, excluded=excluded, found=found)
    candidate = overlaid(candidate, name, inputs.specs)
    name_span = tailoring.span("name") or candidate.span or candidate.route.handler
    schema, span = _chosen_schema(candidate, tailoring, inputs)
    reply, reply_span, no_reply = _chosen_reply(candidate, tailoring, inputs)
    found = (
        *tailoring.found,
        *_shape_findings(candidate),
        *_schema_findings(candidate, schema, span),
        *no_reply,
        *(reply_findings(candidate.own_name, reply, reply_span) if reply is not None else ()),
        *_reach_findings(candidate, inputs.routes),
        *_name_findings(name, candidate, name_span),
    )
    if schema is None:
        return Judgement(candidate, name, found=found, name_span=name_span)
    names = argument_names(schema)
    if not errors_among(found):
        found = (*found, *argument_findings(candidate.own_name, schema, tailoring))
    if errors_among(found):
        return Judgement(candidate, name, found=found, name_span=name_span, arguments=names)
    shown = tailored_schema(schema, tailoring)
    tool = _tool(candidate, tailoring, name, schema, reply, inputs.manifest.language)
    told = AdvertisedTool(
        name,
        tool.description,
        shown,
        candidate.span or candidate.route.handler,
        named_at=candidate.claim_span,
        schema_span=span,
    )
    return Judgement(candidate, name, tool, found=found, name_span=name_span, advertised=told, arguments=names)


def _absence(candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs) -> Excluded | Diagnostic | None:
    """The exclusion of a tool whose condition does not hold for this instance, or why that cannot be told."""
    condition = tailoring.get("only_if")
    if condition is None:
        return None
    span = tailoring.span("only_if")
    try:
        if condition.holds(inputs.block):
            return None
    except ExpressionFailed as error:
        # What the expression complains of may be a secret of the instance.
        key = getattr(error.__cause__, "unresolved", None)
        reason = f"`{key}` cannot be resolved there" if key else "it does not suit the values there"
        message = f"`only_if: {condition}` of {candidate.own_name!r} fails on the instance's block: {reason}"
        return Diagnostic(code="GMM208", message=message, span=span, hint="correct the condition or the block")
    reason = f"`only_if: {condition}` does not hold for this instance"
    return Excluded(route=candidate.subject, reason=reason, span=span)


def _tool(
    candidate: Candidate,
    tailoring: Tailoring,
    name: str,
    schema: Mapping[str, Any],
    reply: Mapping[str, Any] | None,
    language: Language,
) -> Tool:
    route = candidate.route
    title, description = tailoring.get("title"), tailoring.get("description")
    output_schema, wraps = reply_form(reply) if reply is not None else (None, False)
    return Tool(
        own_name=candidate.own_name,
        name=name,
        method=route.method,
        route=route.path,
        path=candidate.path,
        source=candidate.source,
        input_schema=advertised_form(tailored_schema(schema, tailoring)),
        output_schema=output_schema,
        wraps_reply=wraps,
        title=title if title is not None else candidate.title,
        description=description if description is not None else candidate.description,
        annotations={**(candidate.annotations or {}), **tailoring.annotations} or None,
        arguments=_planned_arguments(schema, tailoring, route.spellings),
        reason=candidate.reason,
        span=candidate.span,
        origins=dict(_origins(candidate, tailoring, language, reply is not None)),
    )


def _planned_arguments(
    schema: Mapping[str, Any], tailoring: Tailoring, spellings: Mapping[str, tuple[str, ...]]
) -> Arguments:
    entries = dict(applicable_entries(schema, tailoring))
    kept_back = [name for name, entry in entries.items() if is_withheld(entry)]
    return Arguments(
        defaults={n: entry.default for n, entry in entries.items() if "default" in entry.model_fields_set},
        fixed={n: entry.value for n, entry in entries.items() if "value" in entry.model_fields_set},
        withheld=frozenset(spelling for name in kept_back for spelling in (name, *spellings.get(name, ()))),
    )


def _origins(
    candidate: Candidate, tailoring: Tailoring, language: Language, replies: bool
) -> Iterator[tuple[str, str]]:
    """In words where each value of the tool comes from, by field."""
    places = tailoring.places
    fields = ("name", *SPEC_FIELDS, "dispatch")
    for name in fields:
        if (name,) in tailoring.keys:
            yield name, places.origin(tailoring.path(name))
        elif name == "dispatch":
            yield name, _default_dispatch(places, language)
        elif name == "annotations":
            span = candidate.origins.get(name)
            yield from ((f"{name}.{hint}", str(span or candidate.reason)) for hint in candidate.annotations or ())
        elif name == "name" or (getattr(candidate, name) is not None and (name != "output_schema" or replies)):
            span = candidate.origins.get(name)
            yield name, str(span) if span else candidate.reason
    for hint in tailoring.annotations:
        yield f"annotations.{hint}", places.origin(tailoring.path("annotations", hint))
    for argument in tailoring.arguments:
        yield f"arguments.{argument}", places.origin(tailoring.path("arguments", argument))


def _default_dispatch(places: Places, language: Language) -> str:
    return places.origin(("dispatch",)) if "dispatch" in language.model_fields_set else "the language's default"


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
        return candidate.input_schema, candidate.origins.get("input_schema") or candidate.span
    key = (tailoring.keys["input_schema",], "input_schema")
    schema = inputs.specs.schemas.get(key) if isinstance(written, str) else written
    return schema, tailoring.span("input_schema")


def _chosen_reply(
    candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs
) -> tuple[Mapping[str, Any] | None, Span | None, tuple[Diagnostic, ...]]:
    """The schema of the reply where one is asked for, its place, and the finding where there is none."""
    written, span = tailoring.get("output_schema"), tailoring.span("output_schema")
    if written is None or written is False:
        return None, None, ()
    if written is not True:
        key = (tailoring.keys["output_schema",], "output_schema")
        return (inputs.specs.schemas.get(key) if isinstance(written, str) else written), span, ()
    if candidate.output_schema is not None:
        return candidate.output_schema, candidate.origins.get("output_schema"), ()
    of = "the route has no response model" if candidate.source == "route" else "its spec has no output schema"
    message = f"`output_schema: true` of {candidate.own_name!r} has nothing to show: {of}"
    hint = "annotate the handler's return type, write a JSON Schema here, or leave the key out"
    return None, span, (Diagnostic(code="GMM622", message=message, span=span, hint=hint),)


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
    yield Diagnostic(code="GMM605", message=message, span=candidate.span or route.handler, hint=hint)


def _name_findings(name: str, candidate: Candidate, span: Span | None) -> Iterator[Diagnostic]:
    route = candidate.route
    typed = candidate.source == "route"
    proposal = route.function if typed and is_legal_name(route.function) else None
    key = route.label if typed else candidate.own_name
    return name_findings(name, key, route.label, span, proposal)

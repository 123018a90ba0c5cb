"""Judgement of one candidate: the tool that it becomes, or everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.instance.nodes import OURS
from gym_mcp_manifest.instance.values import ServerKeys
from gym_mcp_manifest.manifest.arguments import (
    applicable_entries,
    argument_findings,
    argument_names,
    is_withheld,
    tailored_schema,
)
from gym_mcp_manifest.manifest.expressions import Expression, ExpressionFailed
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.lint import AdvertisedTool
from gym_mcp_manifest.manifest.models import Mode
from gym_mcp_manifest.manifest.partplaces import PartPlaces
from gym_mcp_manifest.manifest.schemas import (
    advertised_form,
    reply_findings,
    reply_form,
    schema_findings,
    written_out,
)
from gym_mcp_manifest.manifest.tailoring import Tailoring, tailorings
from gym_mcp_manifest.manifest.toolnames import is_legal_name, name_findings
from gym_mcp_manifest.plan.candidates import SPEC_FIELDS, Candidate
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.plan.modes import mode_of, parameters_for, shape_findings
from gym_mcp_manifest.plan.overlays import overlaid
from gym_mcp_manifest.plan.records import Arguments, Excluded, Tool
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route
from gym_mcp_manifest.routes.parameters import without_parameters

__all__ = ["Judgement", "judge"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a candidate: a tool, an exclusion, or neither where an error is among the findings."""

    candidate: Candidate
    name: str
    mode: Mode
    #: Where the mode is written; None for the language's default.
    mode_span: Span | None = None
    tool: Tool | None = None
    excluded: Excluded | None = None
    found: tuple[Diagnostic, ...] = ()
    #: Where the exposed name comes from.
    name_span: Span | None = None
    #: What clients are told, its schema before it is brought into a form that they all take.
    advertised: AdvertisedTool | None = None
    #: The arguments that `tools` may name; None where the tool takes any, or its schema is not known.
    arguments: frozenset[str] | None = None


def judge(candidate: Candidate, inputs: PlanInputs, own_names: Set[str]) -> Judgement:
    """Tailor the candidate and check it: condition, shape, schemas, reach and name, all at once.

    `own_names` are those of all candidates.
    """
    tailoring = tailorings(inputs.manifest, candidate.own_name, candidate.route_label, own_names)
    name = tailoring.get("name") or candidate.own_name
    mode, mode_path = mode_of(candidate, tailoring, inputs.manifest.language)
    mode_span = inputs.manifest.places.span(mode_path) if mode_path else None
    absent = _absence(candidate, tailoring, inputs)
    if absent is not None:
        found = (absent,) if isinstance(absent, Diagnostic) else ()
        excluded = absent if isinstance(absent, Excluded) else None
        return Judgement(candidate, name, mode, mode_span, excluded=excluded, found=found)
    candidate = overlaid(candidate, name, inputs.specs)
    name_span = tailoring.span("name") or candidate.span or candidate.route.handler
    schema, span = _chosen_schema(candidate, tailoring, inputs)
    reply, reply_span, no_reply = _chosen_reply(candidate, tailoring, inputs)
    places, reply_places = (
        _schema_places(candidate, tailoring, inputs, field) for field in ("input_schema", "output_schema")
    )
    shape = tuple(shape_findings(candidate, mode))
    found = (
        *tailoring.found,
        *shape,
        # Of a shape that cannot be dispatched, the schema goes wrong for the same cause.
        *(() if shape and schema is None else _schema_findings(candidate, schema, span, places)),
        *no_reply,
        *(reply_findings(candidate.own_name, reply, reply_span, reply_places) if reply is not None else ()),
        *_reach_findings(candidate, inputs.routes),
        *_name_findings(name, candidate, name_span),
    )
    if schema is None:
        return Judgement(candidate, name, mode, mode_span, found=found, name_span=name_span)
    own = _own_schema(candidate, schema, inputs)
    names = argument_names(schema, own)
    if not errors_among(found):
        nested = candidate.route.parameters.nested
        found = (*found, *argument_findings(candidate.own_name, schema, own, tailoring, nested))
    if errors_among(found):
        return Judgement(candidate, name, mode, mode_span, found=found, name_span=name_span, arguments=names)
    shown = tailored_schema(schema, own, tailoring)
    tool = _tool(candidate, tailoring, _Settled(name, mode, mode_path, schema, own, reply), inputs)
    unsendable = _unsendable(tool, candidate)
    if unsendable is not None:
        found = (*found, unsendable)
        return Judgement(candidate, name, mode, mode_span, found=found, name_span=name_span, arguments=names)
    told = AdvertisedTool(
        name,
        tool.description,
        shown,
        candidate.span or candidate.route.handler,
        named_at=candidate.claim_span,
        schema_span=span,
        schema_places=places,
        of_dispatcher=candidate.source == "catch_all",
    )
    return Judgement(
        candidate, name, mode, mode_span, tool, found=found, name_span=name_span, advertised=told, arguments=names
    )


@dataclass(frozen=True, slots=True)
class _Settled:
    """What is settled about a tool before it is made; `own` is the schema by which the route takes arguments."""

    name: str
    mode: Mode
    mode_path: Path | None
    schema: Mapping[str, Any]
    own: Mapping[str, Any]
    reply: Mapping[str, Any] | None


def _unsendable(tool: Tool, candidate: Candidate) -> Diagnostic | None:
    """The finding about half of a surrogate pair in what clients are told: one costs them the whole list."""
    for field in SPEC_FIELDS:
        try:
            json.dumps(getattr(tool, field), ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError:
            message = f"the {field} of {tool.own_name!r} holds half of a surrogate pair, which nobody can be sent"
            span = candidate.origins.get(field) or candidate.span or candidate.route.handler
            hint = "write the whole letter, in the handler's docstring or wherever the text comes from"
            return Diagnostic(code="GMM103", message=message, span=span, hint=hint)
    return None


def _absence(candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs) -> Excluded | Diagnostic | None:
    """The exclusion of a tool whose condition does not hold for this instance, or why that cannot be told."""
    condition = tailoring.get("only_if")
    if condition is None:
        return None
    span = tailoring.span("only_if")
    problem, holds = _asked(condition, inputs.block())
    if problem:
        message = f"`only_if: {condition}` of {candidate.own_name!r} fails on the instance's block: {problem}"
        return Diagnostic(code="GMM208", message=message, span=span, hint="correct the condition or the block")
    if holds:
        return None
    reason = f"`only_if: {condition}` does not hold for this instance"
    return Excluded(route=candidate.subject, reason=reason, span=span)


def _asked(condition: Expression, block: ServerKeys) -> tuple[str | None, bool]:
    """Why the condition cannot be asked of the block, and whether it holds; never a value, which may be secret."""
    ours = sorted(condition.names & set(OURS))
    lost = sorted(block.unresolved if "@" in condition.names else condition.names & block.unresolved)
    if ours:
        return f"`{ours[0]}` is no setting of the server's own", False
    if lost:
        return f"`{lost[0]}` cannot be resolved there", False
    try:
        return None, condition.holds(dict(block.values))
    except ExpressionFailed:
        return "it does not suit the values there", False


def _tool(candidate: Candidate, tailoring: Tailoring, settled: _Settled, inputs: PlanInputs) -> Tool:
    route, schema, own = candidate.route, settled.schema, settled.own
    title, description = tailoring.get("title"), tailoring.get("description")
    parameters = parameters_for(candidate, settled.mode, inputs.kept_back)
    output_schema, wraps = reply_form(settled.reply) if settled.reply is not None else (None, False)
    return Tool(
        own_name=candidate.own_name,
        name=settled.name,
        method=route.method,
        route=route.path,
        path=candidate.path,
        source=candidate.source,
        input_schema=advertised_form(tailored_schema(schema, own, tailoring)),
        output_schema=output_schema,
        wraps_reply=wraps,
        title=title if title is not None else candidate.title,
        description=description if description is not None else candidate.description,
        annotations={**(candidate.annotations or {}), **tailoring.annotations} or None,
        arguments=_planned_arguments(schema, own, tailoring, parameters.spellings),
        parameters=parameters,
        dispatch=settled.mode,
        reason=candidate.reason,
        span=candidate.span,
        origins=dict(_origins(candidate, tailoring, settled)),
    )


def _own_schema(candidate: Candidate, schema: Mapping[str, Any], inputs: PlanInputs) -> Mapping[str, Any]:
    """The schema by which the route itself takes arguments; data alone describe a dispatcher's tool."""
    own = without_parameters(candidate.route.parameters, inputs.kept_back).schema
    return own if candidate.source == "route" and own is not None else schema


def _planned_arguments(
    schema: Mapping[str, Any],
    own: Mapping[str, Any],
    tailoring: Tailoring,
    spellings: Mapping[str, tuple[str, ...]],
) -> Arguments:
    entries = dict(applicable_entries(schema, own, tailoring))
    kept_back = [name for name, entry in entries.items() if is_withheld(entry)]
    defaults = {n: entry.default for n, entry in entries.items() if "default" in entry.model_fields_set}
    return Arguments(
        defaults=defaults,
        spellings={name: spellings[name] for name in defaults if name in spellings},
        fixed={n: entry.value for n, entry in entries.items() if "value" in entry.model_fields_set},
        withheld=frozenset(spelling for name in kept_back for spelling in (name, *spellings.get(name, ()))),
    )


def _origins(candidate: Candidate, tailoring: Tailoring, settled: _Settled) -> Iterator[tuple[str, str]]:
    """In words where each value of the tool comes from, by field."""
    places = tailoring.places
    fields = ("name", *SPEC_FIELDS, "dispatch")
    for name in fields:
        if (name,) in tailoring.keys:
            yield name, places.origin(tailoring.path(name))
        elif name == "dispatch":
            yield name, places.origin(settled.mode_path) if settled.mode_path else "the language's default"
        elif name == "annotations":
            span = candidate.origins.get(name)
            yield from ((f"{name}.{hint}", str(span or candidate.reason)) for hint in candidate.annotations or ())
        elif name == "name" or (
            getattr(candidate, name) is not None and (name != "output_schema" or settled.reply is not None)
        ):
            span = candidate.origins.get(name)
            yield name, str(span) if span else candidate.reason
    for hint in tailoring.annotations:
        yield f"annotations.{hint}", places.origin(tailoring.path("annotations", hint))
    for argument in tailoring.arguments:
        yield f"arguments.{argument}", places.origin(tailoring.path("arguments", argument))


def _chosen_schema(
    candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs
) -> tuple[Mapping[str, Any] | None, Span | None]:
    """The schema that counts and its place; None where there is none, or its file has a finding of its own."""
    written = tailoring.get("input_schema")
    if written is None:
        span = candidate.origins.get("input_schema") or candidate.span
        schema = candidate.input_schema
        if schema is candidate.route.parameters.schema:
            schema = without_parameters(candidate.route.parameters, inputs.kept_back).schema
        return (written_out(schema) if schema is not None else None), span
    key = (tailoring.keys["input_schema",], "input_schema")
    schema = inputs.specs.schemas.get(key) if isinstance(written, str) else written
    return (written_out(schema) if schema is not None else None), tailoring.span("input_schema")


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


def _schema_places(
    candidate: Candidate, tailoring: Tailoring, inputs: PlanInputs, field: str
) -> PartPlaces | None:
    """Where the parts of the schema that counts stand; None where the app's own models give it."""
    if tailoring.get(field) in (None, True, False):
        return candidate.schema_places.get(field)
    return inputs.specs.places_of_written(tailoring.places, tailoring.keys[field,], field)


def _schema_findings(
    candidate: Candidate, schema: Mapping[str, Any] | None, span: Span | None, places: PartPlaces | None
) -> Iterator[Diagnostic]:
    own_name = candidate.own_name
    if schema is None:
        if candidate.input_schema is None:
            hint = f"write `tools: {{{own_name}: {{input_schema: ...}}}}`, or exclude the route"
            message = f"{candidate.route.label}: {candidate.route.parameters.problem}"
            yield Diagnostic(code="GMM209", message=message, span=span, hint=hint)
        return
    yield from schema_findings(own_name, schema, span, places)


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
    if typed and route.kind == "parameterized":
        return iter(())  # it is refused for its shape, which no name can mend
    proposal = route.function if typed and is_legal_name(route.function) else None
    key = route.label if typed else candidate.own_name
    return name_findings(name, key, route.label, span, proposal)

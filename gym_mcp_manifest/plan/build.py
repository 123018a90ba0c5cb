"""The pure merge: everything known at boot in, an `ExposurePlan` with every decision out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gym_mcp_manifest.diagnostics import Diagnostic, Span, sorted_diagnostics
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.schemas import object_rooted, schema_problem
from gym_mcp_manifest.manifest.specs import SpecSet, ToolSpec
from gym_mcp_manifest.plan.aliases import build_aliases
from gym_mcp_manifest.plan.claims import Claims, claim_routes
from gym_mcp_manifest.plan.guards import app_findings, middleware_findings, rule_findings
from gym_mcp_manifest.plan.lint import lint_findings
from gym_mcp_manifest.plan.records import (
    ADVICE_TO_TURN_ON,
    RESERVED_NAMES,
    Excluded,
    ExposurePlan,
    Refused,
    Tool,
)
from gym_mcp_manifest.plan.tailor import Tailoring, tailorings, unmatched_entries
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route
from gym_mcp_manifest.routes.middleware import InstalledMiddleware

__all__ = ["PlanInputs", "build_plan"]

_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """All that a plan is made from.

    `settled` says that the app has everything it will ever have: only then is an entry about middleware that
    matches nothing a finding.
    """

    server_name: str
    on: bool
    manifest: Manifest
    routes: tuple[HarvestedRoute, ...]
    specs: SpecSet = field(default_factory=SpecSet)
    middleware: tuple[InstalledMiddleware, ...] = ()
    settled: bool = True


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A tool in the making: where it comes from and what it is before tailoring."""

    own_name: str
    route: HarvestedRoute
    path: str
    source: Literal["route", "catch_all"]
    description: str | None
    input_schema: Mapping[str, Any] | None
    schema_problem: str | None
    title: str | None
    annotations: Mapping[str, Any] | None
    reason: str
    span: Span | None


def build_plan(inputs: PlanInputs) -> ExposurePlan:
    """Merge manifest, routes and specs; deterministic, without effects, all findings at once."""
    language = inputs.manifest.language
    if not inputs.on:
        reason = f"exposure is off; {ADVICE_TO_TURN_ON}"
        excluded = tuple(Excluded(route=route.label, reason=reason) for route in inputs.routes)
        return ExposurePlan(server_name=inputs.server_name, on=False, language=language, excluded=excluded)
    claims = claim_routes(inputs.manifest, inputs.routes)
    found = [*inputs.specs.found, *claims.found]
    tools: list[Tool] = []
    refused: list[Refused] = []
    for candidate in _candidates(inputs, claims):
        tool, problems = _judge(candidate, inputs)
        refused += [Refused(subject=_subject(candidate), reason=p.message, diagnostic=p) for p in problems]
        if tool is not None:
            tools.append(tool)
    refused += _collisions(tools)
    found += unmatched_entries(
        inputs.manifest, _exposed(tools, refused, claims, inputs), _withheld(claims, inputs)
    )
    found += app_findings(inputs.manifest, inputs.routes)
    if tools:
        found += middleware_findings(inputs.manifest, inputs.middleware, settled=inputs.settled)
        found += rule_findings(inputs.manifest, tools)
    aliases = build_aliases(language.names, inputs.server_name, [(tool.own_name, tool.name) for tool in tools])
    found += lint_findings(inputs.manifest, inputs.server_name, tools, aliases)
    refused += [Refused(subject=d.message, reason=d.message, diagnostic=d) for d in found if d.severity == "error"]
    return ExposurePlan(
        server_name=inputs.server_name,
        on=True,
        language=language,
        tools=tuple(tools),
        excluded=tuple(claims.excluded),
        refused=tuple(refused),
        diagnostics=sorted_diagnostics([*found, *(entry.diagnostic for entry in refused)]),
        aliases=aliases,
    )


def _subject(candidate: _Candidate) -> str:
    """The refused thing in the words of its author."""
    return candidate.route.label if candidate.source == "route" else f"tool {candidate.own_name!r}"


def _candidates(inputs: PlanInputs, claims: Claims) -> Iterator[_Candidate]:
    for route, reason, span in claims.typed:
        yield _Candidate(
            _own_name(route, inputs),
            route,
            route.path,
            "route",
            route.description,
            route.input_schema,
            route.schema_problem,
            None,
            None,
            reason,
            span,
        )
    for index in sorted(claims.dispatchers):
        route = claims.dispatchers[index]
        specs: tuple[ToolSpec, ...] = inputs.specs.catch_all[index] if inputs.specs.catch_all else ()
        for spec in specs:
            yield _Candidate(
                spec.name,
                route,
                route.path_for(spec.name),
                "catch_all",
                spec.description,
                spec.input_schema,
                None,
                spec.title,
                spec.annotations,
                f"`catch_all[{index}]` on {route.label}",
                spec.span,
            )


def _own_name(route: HarvestedRoute, inputs: PlanInputs) -> str:
    naming = inputs.manifest.language.routes.naming
    return route.path.removeprefix("/") if naming == "path" else route.function


def _judge(candidate: _Candidate, inputs: PlanInputs) -> tuple[Tool | None, list[Diagnostic]]:
    """The tool, or None with everything that is wrong with it."""
    manifest, route = inputs.manifest, candidate.route
    tailoring = tailorings(manifest, candidate.own_name, route.label if candidate.source == "route" else "")
    problems = list(tailoring.found)
    problems += [_shape_problem(candidate, reason) for reason in _shape_reasons(candidate)]
    schema, schema_found = _schema(candidate, tailoring, inputs)
    problems += schema_found
    problems += _reach_problems(candidate, inputs.routes)
    name = tailoring.get("name") or candidate.own_name
    problems += _name_problems(name, candidate, tailoring, manifest)
    if problems or schema is None:
        return None, problems
    annotations = tailoring.get("annotations")
    return (
        Tool(
            own_name=candidate.own_name,
            name=name,
            method=route.method,
            route=route.path,
            path=candidate.path,
            source=candidate.source,
            input_schema=schema,
            title=tailoring.get("title") or candidate.title,
            description=tailoring.get("description") or candidate.description,
            annotations=annotations.model_dump(exclude_none=True) if annotations else candidate.annotations,
            reason=candidate.reason,
            span=candidate.span,
        ),
        [],
    )


def _shape_reasons(candidate: _Candidate) -> Iterator[str]:
    yield from candidate.route.refusals
    if candidate.source == "route" and candidate.route.kind == "parameterized":
        names = ", ".join(candidate.route.path_params)
        yield f"it has path parameters ({names}), which `direct` takes for a catch_all only"


def _shape_problem(candidate: _Candidate, reason: str) -> Diagnostic:
    route = candidate.route
    if candidate.source == "route":
        entry = route.path if route.method == "POST" else route.label
        hint = f"`direct` refuses this shape; keep the route HTTP-only: `routes: {{exclude: [{entry!r}]}}`"
    else:
        hint = f"`direct` refuses this shape; write `catch_all: [{{route: {route.path!r}, ignore: true}}]`"
    message = f"{route.label} cannot be dispatched: {reason}"
    return Diagnostic(code="GMM602", message=message, span=candidate.span, hint=hint)


def _schema(
    candidate: _Candidate, tailoring: Tailoring, inputs: PlanInputs
) -> tuple[Mapping[str, Any] | None, list[Diagnostic]]:
    schema, span = candidate.input_schema, candidate.span
    if "input_schema" in tailoring.values:
        key = tailoring.keys["input_schema"]
        span = inputs.manifest.places.span(("tools", key, "input_schema"))
        written = tailoring.get("input_schema")
        schema = (inputs.specs.schemas or {}).get(key) if isinstance(written, str) else written
        if schema is None:
            return None, []
    if schema is None:
        hint = f"write `tools: {{{candidate.own_name}: {{input_schema: ...}}}}`, or exclude the route"
        message = f"{candidate.route.label}: {candidate.schema_problem}"
        return None, [Diagnostic(code="GMM209", message=message, span=span, hint=hint)]
    rooted = object_rooted(schema)
    problem = schema_problem(rooted)
    if problem:
        message = f"the input schema of {candidate.own_name!r} is unusable: {problem}"
        return None, [Diagnostic(code="GMM209", message=message, span=span, hint="correct the schema")]
    return rooted, []


def _reach_problems(candidate: _Candidate, routes: tuple[HarvestedRoute, ...]) -> Iterator[Diagnostic]:
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


def _name_problems(
    name: str, candidate: _Candidate, tailoring: Tailoring, manifest: Manifest
) -> Iterator[Diagnostic]:
    key = tailoring.keys.get("name")
    span = manifest.places.span(("tools", key, "name")) if key else candidate.span
    if name in RESERVED_NAMES:
        message = f"the tool name {name!r} of {candidate.route.label} is reserved for the harness"
        yield Diagnostic(code="GMM702", message=message, span=span, hint=_rename(candidate, "another_name"))
    elif not _LEGAL_NAME.fullmatch(name):
        message = f"{name!r} is no legal tool name ([A-Za-z0-9_-], 1 to 128 of them)"
        yield Diagnostic(
            code="GMM701", message=message, span=span, hint=_rename(candidate, _proposal(name, candidate))
        )


def _proposal(name: str, candidate: _Candidate) -> str:
    """A legal name near an illegal one: the handler's, where it has one."""
    if candidate.source == "route" and _LEGAL_NAME.fullmatch(candidate.route.function):
        return candidate.route.function
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:128] or "root"


def _rename(candidate: _Candidate, proposal: str) -> str:
    key = candidate.route.label if candidate.source == "route" else candidate.own_name
    return f"write `tools: {{{key!r}: {{name: {proposal}}}}}`"


def _collisions(tools: list[Tool]) -> Iterator[Refused]:
    for attribute in ("name", "own_name"):
        held: dict[str, Tool] = {}
        for tool in tools:
            name = getattr(tool, attribute)
            first = held.setdefault(name, tool)
            if first is tool or (attribute == "own_name" and first.name == tool.name):
                continue
            kind = "exposed" if attribute == "name" else "own"
            found = Diagnostic(
                code="GMM703",
                message=f"two tools have the {kind} name {name!r}: {_origin(first)} and {_origin(tool)}",
                span=tool.span or first.span,
                hint="rename one under `tools`, or exclude it",
                related=(("the other comes from", first.span),) if first.span and tool.span else (),
            )
            yield Refused(subject=f"tool {name!r}", reason=found.message, diagnostic=found)


def _origin(tool: Tool) -> str:
    return f"{tool.method} {tool.route}" + (f" ({tool.reason})" if tool.source == "catch_all" else "")


def _exposed(
    tools: list[Tool], refused: list[Refused], claims: Claims, inputs: PlanInputs
) -> list[tuple[str, str]]:
    """(own name, route label) of every tool, refused ones included: their keys are no misspellings."""
    pairs = [(tool.own_name, f"{tool.method} {tool.route}" if tool.source == "route" else "") for tool in tools]
    pairs += [(_own_name(route, inputs), route.label) for route, _, _ in claims.typed]
    pairs += [(entry.subject.removeprefix("tool ").strip("'"), "") for entry in refused]
    return pairs


def _withheld(claims: Claims, inputs: PlanInputs) -> dict[str, str]:
    reasons = {entry.route: entry.reason for entry in claims.excluded}
    by_name = {_own_name(route, inputs): route.label for route in inputs.routes}
    return {**reasons, **{name: reasons[label] for name, label in by_name.items() if label in reasons}}

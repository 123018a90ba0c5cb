"""The pure merge: everything known at boot in, an `ExposurePlan` with every decision out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, sorted_diagnostics
from gym_mcp_manifest.manifest.ignores import silenced
from gym_mcp_manifest.manifest.lint import tool_lint
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.tailoring import Subject, unmatched_entries
from gym_mcp_manifest.plan.aliases import AliasTable, build_aliases
from gym_mcp_manifest.plan.candidates import candidates, own_name
from gym_mcp_manifest.plan.claims import Claims, claim_routes
from gym_mcp_manifest.plan.guards import ChosenMode, app_findings, middleware_findings, rule_findings
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.plan.judge import Judgement, judge
from gym_mcp_manifest.plan.lint import name_lint
from gym_mcp_manifest.plan.overlays import unmatched_overlays
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, Excluded, ExposurePlan, Refused, Tool

__all__ = ["build_plan"]

#: A finding with what it is about.
_Finding = tuple[str, Diagnostic]


def build_plan(inputs: PlanInputs) -> ExposurePlan:
    """Merge manifest, routes and specs; deterministic, without effects, all findings at once."""
    language = inputs.manifest.language
    if not inputs.on:
        reason = f"exposure is off; {ADVICE_TO_TURN_ON}"
        excluded = tuple(Excluded(route=route.label, reason=reason) for route in inputs.routes)
        return ExposurePlan(server_name=inputs.server_name, on=False, language=language, excluded=excluded)
    claims = claim_routes(inputs.manifest, inputs.routes)
    found_candidates = tuple(candidates(inputs, claims))
    own_names = frozenset(candidate.own_name for candidate in found_candidates)
    judgements = tuple(judge(candidate, inputs, own_names) for candidate in found_candidates)
    tools = tuple(judgement.tool for judgement in judgements if judgement.tool is not None)
    pairs = [(tool.own_name, tool.name) for tool in tools]
    exposed = {tool.own_name for tool in tools}
    others = [
        own_name(r, inputs) for r in inputs.routes if r.kind == "plain" and own_name(r, inputs) not in exposed
    ]
    aliases = build_aliases(language.names, inputs.server_name, pairs, others)
    told = [judgement.advertised for judgement in judgements if judgement.advertised is not None]
    collisions = tuple(_collisions(judgements))
    lint = (
        *name_lint(language.names, inputs.server_name, told, AliasTable() if collisions else aliases),
        *tool_lint(told),
    )
    found: tuple[_Finding, ...] = (
        *((judgement.candidate.subject, d) for judgement in judgements for d in judgement.found),
        *collisions,
        *((str(d.span or "the app"), d) for d in (*_findings(inputs, claims, judgements), *lint)),
    )
    refused = [
        Refused(subject=subject, reason=d.message, diagnostic=d) for subject, d in found if d.severity == "error"
    ]
    return ExposurePlan(
        server_name=inputs.server_name,
        on=True,
        language=language,
        tools=tools,
        excluded=(*claims.excluded, *(j.excluded for j in judgements if j.excluded is not None)),
        refused=tuple(dict.fromkeys(refused)),
        diagnostics=_kept(inputs.manifest, [d for _, d in found]),
        aliases=aliases,
    )


def _kept(manifest: Manifest, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """All findings with those about the manifest's text, without what its comments silence."""
    every = sorted_diagnostics((*found, *manifest.warnings))
    document = manifest.places.document
    if document is None:
        return every
    return sorted_diagnostics(silenced(every, document.source, frozenset(CODES)))


def _findings(inputs: PlanInputs, claims: Claims, judgements: tuple[Judgement, ...]) -> Iterator[Diagnostic]:
    """Findings about the data, the lists, the keys and the app; refused tools count as there."""
    yield from inputs.specs.found
    yield from claims.found
    subjects = [_subject(judgement) for judgement in judgements]
    yield from unmatched_entries(inputs.manifest, subjects, _withheld(claims, inputs))
    yield from unmatched_overlays(inputs.specs, _overlayable(inputs, judgements))
    yield from app_findings(inputs.manifest, inputs.routes)
    if judgements:
        chosen = [ChosenMode(judgement.name, judgement.mode, judgement.mode_span) for judgement in judgements]
        middleware, routes = inputs.middleware, inputs.routes
        yield from middleware_findings(inputs.manifest, middleware, routes, chosen, settled=inputs.settled)
        names = {name: None for j in judgements for name in (j.candidate.own_name, j.name)}
        yield from rule_findings(inputs.manifest, tuple(names))


def _subject(judgement: Judgement) -> Subject:
    candidate = judgement.candidate
    return Subject(candidate.own_name, judgement.name, candidate.route_label, judgement.arguments)


def _overlayable(inputs: PlanInputs, judgements: tuple[Judgement, ...]) -> Iterator[str]:
    """The names by which overlays may know a harvested route: every route's own, every tool's exposed one."""
    yield from (own_name(route, inputs) for route in inputs.routes if route.kind != "foreign")
    yield from (judgement.name for judgement in judgements if judgement.candidate.source == "route")


def _collisions(judgements: tuple[Judgement, ...]) -> Iterator[_Finding]:
    """Findings for names that two tools have, be it as own or as exposed name: lists of names take either."""
    held: dict[str, Judgement] = {}
    for judgement in judgements:
        tool = judgement.tool
        if tool is None:
            continue
        for name in dict.fromkeys((tool.name, tool.own_name)):
            first = held.setdefault(name, judgement)
            if first is judgement or first.tool is None:
                continue
            # A renaming, where there is one, is the line to correct.
            pair = sorted((judgement, first), key=lambda held: held.name == held.candidate.own_name)
            places = [each.name_span for each in pair if each.name_span]
            key = pair[0].candidate.own_name
            yield (
                f"tool {name!r}",
                Diagnostic(
                    code="GMM703",
                    message=f"two tools have the name {name!r}: {_origin(first.tool)} and {_origin(tool)}",
                    span=places[0] if places else None,
                    hint=f"rename one (`tools: {{{key}: {{name: another_name}}}}`), or exclude it",
                    related=(("the other comes from", places[1]),) if len(places) > 1 else (),
                ),
            )
            break


def _origin(tool: Tool) -> str:
    return f"{tool.method} {tool.route}" + (f" ({tool.reason})" if tool.source == "catch_all" else "")


def _withheld(claims: Claims, inputs: PlanInputs) -> dict[str, str]:
    """Names and labels of routes that are no tools, with the reason."""
    reasons = {entry.route: entry.reason for entry in claims.excluded}
    by_name = {own_name(route, inputs): route.label for route in inputs.routes}
    return {**reasons, **{name: reasons[label] for name, label in by_name.items() if label in reasons}}

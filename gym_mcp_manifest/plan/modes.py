"""Modes of dispatch: which one a tool has, whether its route suits it, and what its arguments become there."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.models import Language, Mode
from gym_mcp_manifest.manifest.tailoring import Tailoring
from gym_mcp_manifest.plan.candidates import Candidate
from gym_mcp_manifest.routes.parameters import Parameters, without_parameters

__all__ = ["mode_of", "parameters_for", "shape_findings"]

#: What `direct` sends whatever the handler reads of it: all arguments as one JSON object.
_DIRECT = Parameters(body="spread", body_required=True)


def mode_of(candidate: Candidate, tailoring: Tailoring, language: Language) -> tuple[Mode, Path | None]:
    """The tool's mode, and the path of the manifest's value that says so; None for the language's default."""
    own: Mode | None = tailoring.get("dispatch")
    if own is not None:
        return own, tailoring.path("dispatch")
    if candidate.entry is not None:
        of_entry = language.catch_all[candidate.entry].dispatch
        if of_entry is not None:
            return of_entry, ("catch_all", candidate.entry, "dispatch")
    return language.dispatch, ("dispatch",) if "dispatch" in language.model_fields_set else None


def parameters_for(candidate: Candidate, mode: Mode, kept_back: Set[tuple[str, str]]) -> Parameters:
    """What becomes of the tool's arguments; a dispatcher's path value is the tool's own, no argument.

    Nor is anything of `kept_back` one, which the instance or the session sends.
    """
    if mode == "direct":
        return replace(_DIRECT, spellings=candidate.route.parameters.spellings)
    parameters = without_parameters(candidate.route.parameters, kept_back)
    if candidate.source == "catch_all":
        return replace(parameters, named=tuple(p for p in parameters.named if p.place != "path"))
    return parameters


def shape_findings(candidate: Candidate, mode: Mode) -> Iterator[Diagnostic]:
    """Why the mode cannot dispatch the route, each reason with the line that would allow it or keep it out."""
    route = candidate.route
    reasons = tuple(_reasons(candidate, mode))
    out = f"keep it HTTP-only: {_leave_out(candidate)}"
    if mode == "direct" and not route.parameters.unsupported and not route.parameters.clashes:
        hint = f"`direct` refuses this shape; write {_in_route_mode(candidate)}, or {out}"
    else:
        hint = f"`{mode}` refuses this shape; {out}"
    for reason in reasons:
        chosen = (("chosen at", candidate.claim_span),) if candidate.claim_span and route.handler else ()
        yield Diagnostic(
            code="GMM602",
            message=f"{route.label} cannot be dispatched: {reason}",
            span=route.handler or candidate.claim_span,
            hint=hint,
            related=chosen,
        )


def _reasons(candidate: Candidate, mode: Mode) -> Iterator[str]:
    route = candidate.route
    if mode != "direct":
        yield from route.parameters.unsupported
        yield from route.parameters.clashes
        return
    yield from route.refusals
    if candidate.source == "route" and route.kind == "parameterized":
        names = ", ".join(route.path_params)
        yield f"it has path parameters ({names}), which `direct` takes for a catch_all only"


def _in_route_mode(candidate: Candidate) -> str:
    if candidate.source == "catch_all":
        return f"`catch_all: [{{route: {candidate.route.path!r}, dispatch: route, tools: ...}}]`"
    return f"`tools: {{{candidate.route.label!r}: {{dispatch: route}}}}`"


def _leave_out(candidate: Candidate) -> str:
    route = candidate.route
    if candidate.source == "catch_all":
        return f"`catch_all: [{{route: {route.path!r}, ignore: true}}]`"
    entry = route.path if route.method == "POST" else route.label
    return f"`routes: {{exclude: [{entry!r}]}}`"

"""Overlays: what `routes.specs` say about harvested routes, field by field, the first that has the field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gym_mcp_manifest.diagnostics import Diagnostic, nearest
from gym_mcp_manifest.manifest.specs import SpecSet
from gym_mcp_manifest.plan.candidates import SPEC_FIELDS, Candidate

__all__ = ["overlaid", "unmatched_overlays"]


def overlaid(candidate: Candidate, name: str, specs: SpecSet) -> Candidate:
    """The candidate of a route under the overlays for its own name or the exposed name `name`."""
    if candidate.source != "route":
        return candidate
    names = {candidate.own_name, name}
    changes: dict[str, object] = {}
    origins, places = dict(candidate.origins), dict(candidate.schema_places)
    for spec in (spec for overlay in specs.overlays for spec in overlay.specs if spec.name in names):
        for field in SPEC_FIELDS:
            value = getattr(spec, field)
            if value is not None and field not in changes:
                changes[field] = value
                origins[field] = spec.span
                places[field] = spec.schema_places.get(field)
    if not changes:
        return candidate
    return replace(candidate, **changes, origins=origins, schema_places=places)  # type: ignore[arg-type]


def unmatched_overlays(specs: SpecSet, names: Iterable[str]) -> Iterator[Diagnostic]:
    """Findings for overlays that name none of the harvested routes, whose names are given."""
    known = frozenset(names)
    for spec in (spec for overlay in specs.overlays if overlay.must_match for spec in overlay.specs):
        if spec.name not in known:
            guess = nearest(spec.name, known)
            cure = f"did you mean `{guess}`? " if guess else ""
            yield Diagnostic(
                code="GMM601",
                message=f"the overlay {spec.name!r} names no harvested route",
                span=spec.span,
                hint=f"{cure}Where data describe more tools than the app has, write `unmatched: ignore` on the "
                "source, or leave them out with `exclude`",
            )

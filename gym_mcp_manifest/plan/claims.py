"""Claims: which manifest entry decides about which harvested route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import CatchAll, RouteEntry
from gym_mcp_manifest.manifest.tailoring import spelled_routes
from gym_mcp_manifest.manifest.toolnames import RESERVED_NAMES
from gym_mcp_manifest.plan.records import Excluded
from gym_mcp_manifest.routes.harvest import HarvestedRoute

__all__ = ["Claims", "claim_routes", "is_reserved"]


@dataclass(slots=True)
class Claims:
    """The outcome: candidates for typed tools, dispatchers by catch_all index, the rest with its reason."""

    typed: list[tuple[HarvestedRoute, str, Span | None]] = field(default_factory=list)
    dispatchers: dict[int, HarvestedRoute] = field(default_factory=dict)
    excluded: list[Excluded] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)


def is_reserved(route: HarvestedRoute) -> bool:
    """Whether the route belongs to the harness and can never be a tool."""
    return route.path.strip("/") in RESERVED_NAMES


def claim_routes(manifest: Manifest, routes: tuple[HarvestedRoute, ...]) -> Claims:
    """Decide for every route whether it is a typed tool, a dispatcher, a trap or HTTP-only."""
    claims = Claims()
    served = [route for route in routes if route.kind != "foreign"]
    claimed = _claim_catch_alls(manifest, served, claims)
    written_out = spelled_routes(manifest)
    for route in routes:
        if route.kind == "foreign":
            _exclude(claims, route, str(route.foreign_reason))
        elif is_reserved(route):
            _exclude(claims, route, "a route of the harness; never a tool")
        elif route.label not in claimed:
            _decide(manifest, route, route.label in written_out, claims)
    claims.found += _idle_entries(manifest, routes)
    return claims


def _decide(manifest: Manifest, route: HarvestedRoute, has_key: bool, claims: Claims) -> None:
    lists = manifest.language.routes
    for index, entry in enumerate(lists.exclude):
        if entry.match.matches(route.method, route.path):
            span = manifest.places.span(("routes", "exclude", index))
            _exclude(claims, route, f"excluded by `{entry.match}`", span)
            return
    for index, entry in enumerate(lists.include):
        spelled = entry.match.spells(route.method, route.path)
        if spelled or (route.kind == "plain" and entry.match.matches(route.method, route.path)):
            span = manifest.places.span(("routes", "include", index)) if _written(manifest) else None
            reason = f"included by `{entry.match}`" + ("" if _written(manifest) else " (the default)")
            claims.typed.append((route, reason, span))
            return
    if has_key and route.kind == "parameterized":
        claims.typed.append((route, "written out under `tools`", manifest.places.span(("tools",), key=True)))
        return
    _leave_out(manifest, route, claims)


def _leave_out(manifest: Manifest, route: HarvestedRoute, claims: Claims) -> None:
    lists = manifest.language.routes
    if route.kind == "parameterized" and route.method == "POST":
        reason = "HTTP-only: it has a path parameter, and no catch_all entry is for it"
        _exclude(claims, route, reason)
        claims.found.append(
            Diagnostic(
                code="GMM609",
                severity="warning",
                message=f"{route.label} looks like a dispatcher, but no `catch_all` entry is for it",
                span=route.handler,
                hint=_dispatcher_hint(route),
            )
        )
        return
    if route.kind == "parameterized":
        _exclude(claims, route, "HTTP-only: it has a path parameter and is not written out in `routes.include`")
        return
    if lists.unlisted == "error" and route.method in {entry.match.method for entry in lists.include}:
        claims.found.append(
            Diagnostic(
                code="GMM608",
                message=f"{route.label} is in neither `routes.include` nor `routes.exclude`",
                span=manifest.places.span(("routes", "unlisted")),
                hint=f"add `{_written_as(route)}` to one of the lists",
            )
        )
    methods = {entry.match.method for entry in lists.include}
    reason = "not in `routes.include`" if route.method in methods else f"{route.method} routes are not included"
    _exclude(claims, route, reason)


def _dispatcher_hint(route: HarvestedRoute) -> str:
    """How to settle an unclaimed dispatcher; tools only where calls could be dispatched to it."""
    ignored = f"`catch_all: [{{route: {route.path!r}, ignore: true}}]`"
    if route.parameters.unsupported or route.parameters.clashes:
        return f"it cannot be dispatched; add {ignored}"
    mode = "dispatch: route, " if route.refusals else ""
    named = f"`catch_all: [{{route: {route.path!r}, {mode}tools: [{{file: YOUR_SPECS}}]}}]`"
    return f"add {named} with the file that holds its specs, or {ignored}"


def _claim_catch_alls(manifest: Manifest, served: list[HarvestedRoute], claims: Claims) -> dict[str, int]:
    """Claim the routes of the `catch_all` entries: those that name one first, then the one that does not."""
    entries = manifest.language.catch_all
    dispatchers = {
        route.path: route for route in served if route.kind == "parameterized" and route.method == "POST"
    }
    claimed: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.route is None:
            continue
        route = dispatchers.get(entry.route)
        if route is None:
            claims.found += _no_such_route(manifest, index, entry, dispatchers)
        elif route.label in claimed:
            message = f"two `catch_all` entries are for {route.label}"
            claims.found.append(_on_entry(manifest, index, "GMM604", message, "make one entry of them"))
        else:
            _claim(manifest, index, entry, route, claimed, claims)
    listed = spelled_routes(manifest) | {
        f"{e.match.method} {e.match.path}" for e in manifest.language.routes.include if not e.match.is_wild
    }
    for index, entry in enumerate(entries):
        if entry.route is not None:
            continue
        free = [r for r in dispatchers.values() if r.label not in claimed and r.label not in listed]
        if len(free) == 1:
            _claim(manifest, index, entry, free[0], claimed, claims)
        elif free or not entry.optional:
            claims.found.append(_unsettled(manifest, index, free))
    return claimed


def _claim(
    manifest: Manifest,
    index: int,
    entry: CatchAll,
    route: HarvestedRoute,
    claimed: dict[str, int],
    claims: Claims,
) -> None:
    claimed[route.label] = index
    lists = manifest.language.routes
    for key, listed in (("include", lists.include), ("exclude", lists.exclude)):
        for spot, other in enumerate(listed):
            if other.match.spells(route.method, route.path):
                claims.found.append(
                    Diagnostic(
                        code="GMM301",
                        message=f"`routes.{key}` and `catch_all[{index}]` are both for {route.label}",
                        span=manifest.places.span(("routes", key, spot)),
                        hint="drop one of them; `ignore: true` on the catch_all entry keeps the route HTTP-only",
                    )
                )
    if entry.ignore:
        span = manifest.places.span(("catch_all", index))
        _exclude(claims, route, f"ignored by `catch_all[{index}]`: a trap for unknown names", span)
    elif len(route.path_params) != 1:
        message = f"{route.label} has {len(route.path_params)} path parameters; a dispatcher has one"
        claims.found.append(_on_entry(manifest, index, "GMM604", message, "name another route, or `ignore: true`"))
    else:
        claims.dispatchers[index] = route


def _no_such_route(
    manifest: Manifest, index: int, entry: CatchAll, dispatchers: dict[str, HarvestedRoute]
) -> Iterator[Diagnostic]:
    if entry.optional:
        return
    guess = nearest(str(entry.route), dispatchers)
    only = next(iter(dispatchers)) if len(dispatchers) == 1 else None
    near = guess or only
    hint = f"did you mean `{near}`?" if near else "the app has no parameterized POST route; drop the entry"
    message = f"`catch_all[{index}]` is for `{entry.route}`, which is no parameterized POST route of the app"
    span = manifest.places.span(("catch_all", index, "route"))
    yield Diagnostic(code="GMM601", message=message, span=span, hint=hint)


def _unsettled(manifest: Manifest, index: int, free: list[HarvestedRoute]) -> Diagnostic:
    if not free:
        message = f"`catch_all[{index}]` finds no parameterized POST route that is unclaimed"
        return _on_entry(manifest, index, "GMM604", message, "drop the entry, or set `optional: true`")
    names = ", ".join(route.path for route in free)
    message = f"`catch_all[{index}]` could be for any of {names}"
    return _on_entry(manifest, index, "GMM604", message, f"write `route: {free[0].path!r}` on the entry")


def _idle_entries(manifest: Manifest, routes: tuple[HarvestedRoute, ...]) -> Iterator[Diagnostic]:
    served = [route for route in routes if route.kind != "foreign"]
    lists = manifest.language.routes
    groups: tuple[tuple[str, tuple[RouteEntry, ...]], ...] = (("exclude", lists.exclude),)
    if _written(manifest):
        groups = (("include", lists.include), *groups)
    for key, entries in groups:
        for index, entry in enumerate(entries):
            candidates = routes if key == "exclude" else served
            matched = [r for r in candidates if entry.match.matches(r.method, r.path)]
            span = manifest.places.span(("routes", key, index))
            if key == "include" and not entry.match.is_wild and any(is_reserved(r) for r in matched):
                message = f"`{entry.match}` is a route of the harness and never a tool"
                yield Diagnostic(code="GMM702", message=message, span=span, hint="take it out of `routes.include`")
            elif not matched and not entry.optional:
                foreign = next((r for r in routes if entry.match.matches(r.method, r.path)), None)
                yield (
                    _not_servable(entry, foreign, span) if foreign else _matches_nothing(key, entry, span, served)
                )


def _not_servable(entry: RouteEntry, route: HarvestedRoute, span: Span | None) -> Diagnostic:
    message = f"`{entry.match}` in `routes.include` can be no tool: {route.label} is {route.foreign_reason}"
    return Diagnostic(code="GMM601", message=message, span=span, hint="take it out of `routes.include`")


def _matches_nothing(
    key: str, entry: RouteEntry, span: Span | None, served: Iterable[HarvestedRoute]
) -> Diagnostic:
    guess = _nearest_route(entry, tuple(served))
    cure = f"did you mean `{guess}`? " if guess else ""
    return Diagnostic(
        code="GMM601",
        message=f"`{entry.match}` in `routes.{key}` matches no route of the app",
        span=span,
        hint=f"{cure}Where the route may be absent, write `{{match: {entry.match.text!r}, optional: true}}`",
    )


def _nearest_route(entry: RouteEntry, served: tuple[HarvestedRoute, ...]) -> str | None:
    """The route that was most likely meant, as one writes it: of the same method, else of the same path."""
    by_path = {route.path: route for route in served if route.method == entry.match.method}
    guess = nearest(entry.match.path, list(by_path))
    if guess is not None:
        return _written_as(by_path[guess])
    return next((_written_as(route) for route in served if route.path == entry.match.path), None)


def _written(manifest: Manifest) -> bool:
    return "include" in manifest.language.routes.model_fields_set


def _written_as(route: HarvestedRoute) -> str:
    return route.path if route.method == "POST" else route.label


def _exclude(claims: Claims, route: HarvestedRoute, reason: str, span: Span | None = None) -> None:
    claims.excluded.append(Excluded(route=route.label, reason=reason, span=span))


def _on_entry(manifest: Manifest, index: int, code: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, span=manifest.places.span(("catch_all", index)), hint=hint)

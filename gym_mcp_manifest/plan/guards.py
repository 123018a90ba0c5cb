"""Findings about the app as a whole: protocol routes, middleware, rules about tools that do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import Mode
from gym_mcp_manifest.manifest.patterns import name_matches
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route
from gym_mcp_manifest.routes.middleware import InstalledMiddleware

__all__ = ["ChosenMode", "app_findings", "middleware_findings", "rule_findings"]

#: How many tools a finding names.
_NAMED = 3


def app_findings(manifest: Manifest, routes: tuple[HarvestedRoute, ...]) -> Iterator[Diagnostic]:
    """What keeps the app from being exposed at all."""
    server = next((route for route in routes if _serves_mcp(route)), None)
    if server is not None:
        yield Diagnostic(
            code="GMM607",
            message="the app already serves /mcp",
            span=server.handler or _app_span(routes),
            hint="remove the hand-made endpoint, or leave exposure off for this instance",
        )
    if manifest.language.sessions.mode == "none":
        return
    for path in ("/seed_session", "/verify"):
        serving = serving_route(routes, "POST", path)
        if serving is None or serving.kind != "plain":
            yield Diagnostic(
                code="GMM606",
                message=f"the app has no POST {path}, which binds calls to sessions",
                span=manifest.places.span(("sessions", "mode")) or _app_span(routes),
                hint="add the route, or write `sessions: {mode: none}` for an app without sessions",
            )


def _app_span(routes: tuple[HarvestedRoute, ...]) -> Span | None:
    """The first line of the file that holds the app's first handler, for what is about the app as a whole."""
    return next((Span(route.handler.file, 1, 1) for route in routes if route.handler), None)


def _serves_mcp(route: HarvestedRoute) -> bool:
    """Whether the route is made for /mcp; a general dispatcher that would take the path too is not."""
    if any(path == "/mcp" for path in route.mounted):
        return True
    head = route.path.partition("{")[0]
    return head.startswith("/mcp") and any(route.regex and route.regex.match(path) for path in ("/mcp", "/mcp/"))


@dataclass(frozen=True, slots=True)
class ChosenMode:
    """The mode of one tool, and where it is written; None for the language's default."""

    name: str
    mode: Mode
    span: Span | None


def middleware_findings(
    manifest: Manifest,
    installed: tuple[InstalledMiddleware, ...],
    routes: tuple[HarvestedRoute, ...],
    chosen: Sequence[ChosenMode],
    *,
    settled: bool,
) -> Iterator[Diagnostic]:
    """Middleware that calls would skip without being told to, and globs that name none.

    `chosen` are the tools' modes: `app` runs the middleware, the others do not.
    """
    globs = manifest.language.skip_middleware
    skipping = [each for each in chosen if each.mode != "app"]
    whose = _whose(skipping, chosen)
    written = next((each.span for each in skipping if each.span), None)
    place = manifest.places.span(("skip_middleware",), key=True) if globs else None
    for middleware in installed if skipping else ():
        if (
            middleware.is_session
            or middleware.is_kept
            or any(fnmatchcase(middleware.name, glob) for glob in globs)
        ):
            continue
        yield Diagnostic(
            code="GMM603",
            message=f"the app's middleware {middleware.name} would be skipped by {whose}",
            span=place or written or manifest.places.span(("skip_middleware",), key=True) or _app_span(routes),
            hint=f"to run it, write `dispatch: app`; if calls may leave it out, write "
            f"`skip_middleware: [{middleware.name!r}]`",
        )
    names = [middleware.name for middleware in installed]
    for index, glob in enumerate(globs) if settled else ():
        if not any(fnmatchcase(name, glob) for name in names):
            guess = nearest(glob, names)
            yield Diagnostic(
                code="GMM601",
                message=f"`{glob}` in `skip_middleware` matches no middleware of the app",
                span=manifest.places.span(("skip_middleware", index)),
                hint=f"did you mean `{guess}`?" if guess else f"installed: {', '.join(names) or 'none'}",
            )
    runs = any(each.mode == "app" for each in chosen)
    wants_session = manifest.language.sessions.mode == "token" and settled and (runs or not globs)
    if wants_session and not any(middleware.is_session for middleware in installed):
        yield Diagnostic(
            code="GMM606",
            message="the app has no session middleware, so /seed_session and /verify share no session",
            span=manifest.places.span(("sessions", "mode")) or _app_span(routes),
            hint="add Starlette's SessionMiddleware, or write `sessions: {mode: none}`",
        )


def _whose(skipping: Sequence[ChosenMode], chosen: Sequence[ChosenMode]) -> str:
    """Whose calls skip middleware: by their modes, and by the names of the tools where others do not."""
    modes = {each.mode for each in skipping}
    calls = " and ".join(f"`{mode}`" for mode in ("direct", "route") if mode in modes) + " calls"
    if len(skipping) == len(chosen):
        return calls
    names = list(dict.fromkeys(each.name for each in skipping))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{calls} of {', '.join(names[:_NAMED])}{more}"


def rule_findings(manifest: Manifest, names: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Globs of `sessions.allow` that match none of the tools' own and exposed names."""
    for index, rule in enumerate(manifest.language.sessions.allow):
        if rule.optional:
            continue
        for key, globs in (("tools", rule.tools or ()), ("deny", rule.deny)):
            for spot, glob in enumerate(globs):
                if any(name_matches(glob, name) for name in names):
                    continue
                guess = nearest(glob, names)
                yield Diagnostic(
                    code="GMM601",
                    message=f"`{glob}` in `sessions.allow[{index}].{key}` matches no tool",
                    span=manifest.places.span(("sessions", "allow", index, key, spot)),
                    hint=f"did you mean `{guess}`?"
                    if guess
                    else "correct it, or set `optional: true` on the rule",
                )

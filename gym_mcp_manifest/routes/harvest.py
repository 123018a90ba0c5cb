"""Harvest: every route of a live app, in the order in which the app tries them, as frozen records."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.routing import BaseRoute, Host, Mount, WebSocketRoute

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.routes.bind import refusals_for
from gym_mcp_manifest.routes.parameters import NO_PARAMETERS, Parameters, parameters_of
from gym_mcp_manifest.routes.schema import derive_output_schema

__all__ = ["HarvestedRoute", "harvest_routes", "serving_route"]

RouteKind = Literal["plain", "parameterized", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestedRoute:
    """One method of one route as the app serves it.

    A *plain* route has no path parameter, a *parameterized* one has; a *foreign* one (a mount, a websocket,
    a route that is not FastAPI's) can never be a tool and says why in `foreign_reason`.
    """

    method: str
    path: str
    kind: RouteKind
    function: str = ""
    description: str | None = None
    path_params: tuple[str, ...] = ()
    #: What becomes of a call's arguments, and their schema.
    parameters: Parameters = NO_PARAMETERS
    #: The schema of the reply by the response model, where there is one.
    output_schema: Mapping[str, Any] | None = None
    #: Why mode `direct` cannot prove that it answers as HTTP would; empty where it can.
    refusals: tuple[str, ...] = ()
    foreign_reason: str | None = None
    #: All methods of a foreign route that has several.
    methods: frozenset[str] = frozenset()
    regex: re.Pattern[str] | None = field(default=None, repr=False, compare=False)
    #: Where the handler is written.
    handler: Span | None = None
    #: Paths that a mounted app serves, as far as it tells.
    mounted: tuple[str, ...] = ()

    @property
    def is_blind(self) -> bool:
        """Whether nothing tells which paths it takes: an app for a host, files, a route of its own kind."""
        return self.kind == "foreign" and self.regex is None and self.method != "WEBSOCKET"

    @property
    def label(self) -> str:
        """The route as people write it: `POST /path`."""
        return f"{self.method} {self.path}"

    def path_for(self, value: str) -> str:
        """The concrete path of a one-parameter route for this parameter value."""
        head, _, rest = self.path.partition("{")
        return head + value + rest.partition("}")[2]


def harvest_routes(app: FastAPI) -> tuple[HarvestedRoute, ...]:
    """All routes of the app, included routers flattened with their prefixes; one record per method."""
    harvested: list[HarvestedRoute] = []
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, APIRoute):
            harvested += _api_routes(context)
        else:
            harvested.append(_foreign_route(context))
    # What newer versions of FastAPI ask last: the files of a frontend, which are not among its routes.
    for _ in getattr(app.router, "_iter_low_priority_routes", tuple)():
        harvested.append(
            HarvestedRoute(method="GET", path="/", kind="foreign", foreign_reason="a frontend's files")
        )
    return tuple(harvested)


def serving_route(routes: Iterable[HarvestedRoute], method: str, path: str) -> HarvestedRoute | None:
    """The route that the app's router would run for this request path, or None where it answers 404 or 405."""
    for route in routes:
        serves = route.method in (method, "*") or method in route.methods
        if serves and route.regex is not None and route.regex.match(path):
            return route
    return None


def _api_routes(context: RouteContext) -> list[HarvestedRoute]:
    path = str(context.path)
    params = tuple(context.param_convertors)
    output_schema = derive_output_schema(context)
    endpoint = context.endpoint
    description = (context.description or "").strip() or None
    return [
        HarvestedRoute(
            method=method,
            path=path,
            kind="parameterized" if params else "plain",
            function=getattr(endpoint, "__name__", None) or str(context.name),
            description=description,
            path_params=params,
            parameters=parameters_of(context, method),
            output_schema=output_schema,
            refusals=refusals_for(context, method),
            regex=context.path_regex,
            handler=_place_of(endpoint),
        )
        for method in sorted(context.methods or ())
    ]


def _foreign_route(context: RouteContext) -> HarvestedRoute:
    route = context.original_route
    methods = context.methods
    if isinstance(route, Mount):
        kind, method = "a mounted app", "*"
    elif isinstance(route, WebSocketRoute):
        kind, method = "a websocket", "WEBSOCKET"
    elif isinstance(route, Host):
        kind, method = "an app mounted for a host", "*"
    else:
        kind, method = "not a FastAPI route", "POST" if "POST" in (methods or ()) else min(methods or {"*"})
    regex = None if isinstance(route, (WebSocketRoute, Host)) else getattr(context, "path_regex", None)
    return HarvestedRoute(
        method=method,
        path=context.path or getattr(route, "host", None) or "/",
        kind="foreign",
        function=str(context.name or ""),
        foreign_reason=kind,
        methods=frozenset(methods or ()),
        regex=regex,
        mounted=tuple(_mounted_paths(route, str(context.path or "").rstrip("/"))),
    )


def _mounted_paths(route: BaseRoute, prefix: str) -> Iterator[str]:
    inner: Any = getattr(route, "routes", None) if isinstance(route, (Mount, Host)) else None
    for each in inner or ():
        path = prefix + str(getattr(each, "path", "")).rstrip("/")
        yield path
        yield from _mounted_paths(each, path)


def _place_of(endpoint: Any) -> Span | None:
    """The line at which a handler is written, its file as one would name it from here."""
    code = getattr(inspect.unwrap(getattr(endpoint, "func", endpoint)), "__code__", None)
    if code is None:
        return None
    file = Path(code.co_filename)
    here = Path.cwd()
    return Span(str(file.relative_to(here) if file.is_relative_to(here) else file), code.co_firstlineno, 1)

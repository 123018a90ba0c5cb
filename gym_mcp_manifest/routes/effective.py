"""The effective route: what FastAPI really runs for it, overrides of dependencies and route classes included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_dependant
from fastapi.routing import APIRoute, RouteContext

__all__ = ["effective_dependant", "handler_class"]

_Overrides = Mapping[Callable[..., Any] | None, Callable[..., Any]]


def effective_dependant(context: RouteContext) -> Dependant:
    """The route's dependant under `app.dependency_overrides` as they stand now, with parameters of their own."""
    dependant: Dependant = context.dependant
    provider = getattr(context, "dependency_overrides_provider", None)
    overrides: _Overrides = getattr(provider, "dependency_overrides", None) or {}
    return _overridden(dependant, overrides) if overrides else dependant


def handler_class(context: RouteContext) -> type[APIRoute] | None:
    """The route's own class where that has a handler of its own, which may read the request as it likes."""
    route = context.original_route
    if not isinstance(route, APIRoute) or type(route).get_route_handler is APIRoute.get_route_handler:
        return None
    return type(route)


def _overridden(dependant: Dependant, overrides: _Overrides) -> Dependant:
    return replace(dependant, dependencies=[_replaced(inner, overrides) for inner in dependant.dependencies])


def _replaced(dependant: Dependant, overrides: _Overrides) -> Dependant:
    call = overrides.get(dependant.call, dependant.call)
    if call is dependant.call or call is None:
        return _overridden(dependant, overrides)
    # What stands in for it is read as FastAPI reads it at the time of the request; one that asks for what it
    # replaces goes round for ever there, and once here.
    others = {original: other for original, other in overrides.items() if original is not dependant.call}
    return _overridden(get_dependant(path=dependant.path or "/", call=call, name=dependant.name), others)

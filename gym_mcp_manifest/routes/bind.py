"""Which handler shapes mode `direct` accepts, and the named reason for each that it refuses.

What decides is the effective route as FastAPI serves it, its dependant above all: dependencies that the
decorator, a router, an include or the app add are as binding as those of the signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from fastapi import params
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext

from gym_mcp_manifest.routes.annotations import is_dict, is_union, is_unresolved, plain_model
from gym_mcp_manifest.routes.effective import handler_class

__all__ = ["refusals_for"]


def refusals_for(context: RouteContext, method: str) -> tuple[str, ...]:
    """Every reason against dispatching this route directly; empty where it answers just as HTTP does."""
    reasons = [
        *_route_reasons(context, method),
        *_signature_reasons(context.endpoint),
        *_dependency_reasons(context),
        *_parameter_reasons(context.dependant),
        *_body_reasons(context.dependant),
    ]
    return tuple(dict.fromkeys(reasons))


def _route_reasons(context: RouteContext, method: str) -> Iterator[str]:
    if method != "POST":
        yield f"it is a {method} route; `direct` dispatches POST routes"
    own_class = handler_class(context)
    if own_class is not None:
        yield f"its route class {own_class.__name__} has a handler of its own, which `direct` would skip"


def _signature_reasons(endpoint: Callable[..., Any] | None) -> Iterator[str]:
    if endpoint is None:
        return
    for parameter in inspect.signature(endpoint).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield f"its handler takes `*{parameter.name}`"
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield f"its handler takes `**{parameter.name}`"


def _dependency_reasons(context: RouteContext) -> Iterator[str]:
    outside = [depends.dependency for depends in context.dependencies]
    for dependency in outside:
        yield (
            f"it depends on {_name(dependency)} outside its signature (decorator, router, include or app); "
            "skipping that would bypass a guard"
        )
    for dependant in context.dependant.dependencies:
        if dependant.call not in outside:
            kind = "Security" if dependant.own_oauth_scopes or dependant.parent_oauth_scopes else "Depends"
            yield f"its handler uses dependency injection: `{kind}({_name(dependant.call)})`"


def _parameter_reasons(dependant: Dependant) -> Iterator[str]:
    kinds = (
        ("query", dependant.query_params),
        ("header", dependant.header_params),
        ("cookie", dependant.cookie_params),
    )
    variadic = _variadic_names(dependant.call)
    for kind, fields in kinds:
        for field in fields:
            if field.name in variadic:
                continue
            if is_unresolved(field.field_info.annotation):
                # FastAPI takes what it cannot resolve for a query parameter.
                yield f"the annotation of `{field.name}` cannot be resolved"
            else:
                yield f"`{field.name}` is a {kind} parameter, which `direct` does not send"
    for field in dependant.path_params:
        if field.field_info.annotation is not str:
            yield f"the path parameter `{field.name}` is not a plain `str`"


def _variadic_names(endpoint: Callable[..., Any] | None) -> frozenset[str]:
    if endpoint is None:
        return frozenset()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return frozenset(p.name for p in inspect.signature(endpoint).parameters.values() if p.kind in kinds)


def _body_reasons(dependant: Dependant) -> Iterator[str]:
    fields = [field for field in dependant.body_params if field.name not in _variadic_names(dependant.call)]
    if len(fields) > 1:
        names = ", ".join(f"`{field.name}`" for field in fields)
        yield f"it has several body parameters ({names}); `direct` spreads one"
        return
    for field in fields:
        info, annotation = field.field_info, field.field_info.annotation
        if isinstance(info, params.Form):
            yield f"`{field.name}` is form data or a file, not a JSON body"
        elif is_unresolved(annotation):
            yield f"the annotation of `{field.name}` cannot be resolved"
        elif getattr(info, "embed", None):
            yield f"the body `{field.name}` is embedded (`Body(embed=True)`)"
        elif is_union(annotation):
            yield f"the body `{field.name}` is a union or optional"
        elif plain_model(annotation) is not None:
            if not info.is_required():
                yield f"the body `{field.name}` is optional (it has a default)"
        elif not is_dict(annotation):
            yield f"the body `{field.name}` is neither a pydantic model nor a `dict` of text keys"


def _name(call: Any) -> str:
    return getattr(call, "__qualname__", None) or type(call).__name__

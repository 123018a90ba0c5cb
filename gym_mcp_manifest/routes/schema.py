"""Schemas: of all arguments of a route together, and of its replies by the response model that sends them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi.routing import RouteContext
from pydantic import TypeAdapter

from gym_mcp_manifest.manifest.schemas import PERMISSIVE, without_idle_definitions
from gym_mcp_manifest.routes.annotations import without_none

__all__ = ["derive_output_schema", "derive_schema"]

_THINNING = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")


def derive_schema(
    fields: Mapping[str, Any], required: Iterable[str], body: Any, *, spreads: bool
) -> tuple[Mapping[str, Any] | None, str | None]:
    """One object schema over all arguments, definitions shared; else None, and why there is none.

    `fields` are those of the parameters by argument. Where the body `spreads`, its fields are arguments too; one
    that no signature tells (`body` is None) takes any.
    """
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = []
    annotation: Any = without_none(body.field_info.annotation) if body is not None else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about aliases, which are read here and not there
            inputs += [
                (name, "validation", _adapter(getattr(own, "field_info", own))) for name, own in fields.items()
            ]
            if body is not None:
                inputs.append((None, "validation", TypeAdapter(annotation)))
            made, rest = TypeAdapter.json_schemas(inputs, ref_template="#/$defs/{model}")
    except Exception as error:  # a model may make its schema by code of its own
        source = getattr(annotation, "__name__", "the body") if body is not None else "it"
        return None, f"no JSON Schema can be derived from {source}: {(str(error).splitlines() or [''])[0]}"
    definitions = rest.get("$defs", {})
    untold = dict(PERMISSIVE) if spreads else {}
    base = _root(made[None, "validation"], definitions) if body is not None else untold
    properties = {name: made[name, "validation"] for name in fields}
    # A body that may be left out requires nothing of the arguments that would be in it.
    demanded = body is None or body.field_info.is_required()
    demands = dict.fromkeys([*required, *(base.get("required", ()) if demanded else ())])
    schema = {key: value for key, value in base.items() if key != "required"}
    if properties or not spreads:
        schema["properties"] = {**properties, **base.get("properties", {})}
    if demands:
        schema["required"] = list(demands)
    whole = {"type": "object", **schema, **({"$defs": definitions} if definitions else {})}
    return without_idle_definitions(whole), None


def _root(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    return dict(definitions.get(name, schema))


def _adapter(info: Any) -> TypeAdapter[Any]:
    marked: Any = Annotated[(info.annotation, info)]
    return TypeAdapter(marked)


def derive_output_schema(context: RouteContext) -> Mapping[str, Any] | None:
    """The schema of the replies that FastAPI's response model lets through; None without such a model."""
    if context.response_field is None:
        return None
    try:
        adapter = TypeAdapter(context.response_model)
        schema = adapter.json_schema(mode="serialization", by_alias=context.response_model_by_alias)
    except Exception:  # a model may make its schema by code of its own, or none at all
        return None
    # What a reply may leave out cannot be required of it.
    thinned = any(getattr(context, f"response_model_{key}") for key in _THINNING)
    return _without_required(schema) if thinned else schema


def _without_required(schema: Any) -> Any:
    """The schema with nothing required of any object; properties may be called `required` themselves."""
    if not isinstance(schema, dict):
        return [_without_required(inner) for inner in schema] if isinstance(schema, list) else schema
    names = ("properties", "$defs")
    return {
        key: {name: _without_required(part) for name, part in inner.items()}
        if key in names and isinstance(inner, dict)
        else _without_required(inner)
        for key, inner in schema.items()
        if key != "required"
    }

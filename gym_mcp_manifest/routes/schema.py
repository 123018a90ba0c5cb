"""Schemas of replies, by the response model through which FastAPI sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.routing import RouteContext
from pydantic import TypeAdapter

__all__ = ["derive_output_schema"]

_THINNING = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")


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

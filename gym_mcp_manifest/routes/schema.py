"""Schemas as tools advertise them: an object at the root, whatever body and reply are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext
from pydantic import AliasChoices, AliasPath, BaseModel, TypeAdapter

from gym_mcp_manifest.manifest.schemas import PERMISSIVE, advertised_form
from gym_mcp_manifest.routes.bind import body_annotation, is_model_body

__all__ = ["argument_spellings", "derive_input_schema", "derive_output_schema"]

_THINNING = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")


def derive_input_schema(dependant: Dependant) -> tuple[Mapping[str, Any] | None, str | None]:
    """The schema of the tool's arguments, or None with the reason why there is none.

    A model gives its own JSON Schema; a dict, or a request that the handler reads itself, gives a permissive
    one; a handler without parameters takes none.
    """
    annotation = body_annotation(dependant)
    if is_model_body(annotation):
        return _model_schema(annotation)
    if dependant.body_params or dependant.request_param_name or dependant.http_connection_param_name:
        return PERMISSIVE, None
    return {"type": "object", "properties": {}}, None


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


def argument_spellings(dependant: Dependant) -> tuple[Mapping[str, tuple[str, ...]], frozenset[str]]:
    """By each name that the body model takes for an argument all names for it; and the nested ones.

    A nested argument is also taken from inside of another, by an alias path.
    """
    annotation = body_annotation(dependant)
    if not is_model_body(annotation):
        return {}, frozenset()
    by_name = any(annotation.model_config.get(key) for key in ("populate_by_name", "validate_by_name"))
    spellings: dict[str, tuple[str, ...]] = {}
    nested: set[str] = set()
    for name, field in annotation.model_fields.items():
        alias = field.validation_alias or field.alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        plain = [choice for choice in choices if isinstance(choice, str)]
        names = tuple(dict.fromkeys([*plain, *([name] if by_name or not plain else [])]))
        spellings.update(dict.fromkeys(names, names))
        if any(isinstance(choice, AliasPath) for choice in choices):
            nested.update(names)
    return spellings, frozenset(nested)


def _model_schema(model: type[BaseModel]) -> tuple[Mapping[str, Any] | None, str | None]:
    try:
        return advertised_form(model.model_json_schema()), None
    except Exception as error:  # a model may make its schema by code of its own
        return None, f"no JSON Schema can be derived from {model.__name__}: {str(error).splitlines()[0]}"


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

"""Schemas: of all arguments of a route together, and of its replies by the response model that sends them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi.routing import RouteContext
from pydantic import TypeAdapter

from gym_mcp_manifest.jsontext import is_json_type
from gym_mcp_manifest.manifest.schemas import PERMISSIVE, without_idle_definitions
from gym_mcp_manifest.routes.annotations import without_none

__all__ = ["derive_output_schema", "derive_schema"]

_THINNING = ("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none")


def derive_schema(
    fields: Mapping[str, Any],
    required: Iterable[str],
    bodies: Sequence[Any],
    *,
    spreads: bool,
    open_ended: bool | None = None,
) -> tuple[Mapping[str, Any] | None, str | None]:
    """One object schema over all arguments, definitions shared; else None, and why there is none.

    `fields` are those of the parameters by argument. Where a body `spreads`, its fields are arguments too, those
    of `bodies`, each of which is read from the same one. A body that no signature tells takes any.
    `open_ended` tells whether other arguments are welcome; None where nothing does.
    """
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = []
    annotations = [without_none(own.field_info.annotation) for own in bodies]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about aliases, which are read here and not there
            inputs += [
                (name, "validation", _adapter(getattr(own, "field_info", own))) for name, own in fields.items()
            ]
            inputs += [(place, "validation", TypeAdapter(each)) for place, each in enumerate(annotations)]
            made, rest = TypeAdapter.json_schemas(inputs, ref_template="#/$defs/{model}")
    except Exception as error:  # a model may make its schema by code of its own
        source = getattr(annotations[0], "__name__", "the body") if annotations else "it"
        return None, f"no JSON Schema can be derived from {source}: {(str(error).splitlines() or [''])[0]}"
    definitions = rest.get("$defs", {})
    of_bodies = [_root(made[place, "validation"], definitions) for place in range(len(bodies))]
    base = dict(of_bodies[0]) if of_bodies else dict(PERMISSIVE) if spreads else {}
    properties = {name: made[name, "validation"] for name in fields}
    of_body = {name: part for each in reversed(of_bodies) for name, part in each.get("properties", {}).items()}
    # A body that may be left out requires nothing of the arguments that would be in it.
    demanding = [each for each, own in zip(of_bodies, bodies, strict=True) if own.field_info.is_required()]
    demands = dict.fromkeys([*required, *(name for each in demanding for name in each.get("required", ()))])
    schema = {key: value for key, value in base.items() if key != "required"}
    if properties or of_body or not spreads:
        schema["properties"] = {**properties, **of_body}
    if open_ended is not None:
        schema["additionalProperties"] = open_ended
    if demands:
        schema["required"] = list(demands)
    whole = {"type": "object", **schema, **({"$defs": definitions} if definitions else {})}
    return _without_unspeakable(without_idle_definitions(whole)), None


def _root(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    return dict(definitions.get(name, schema))


def _adapter(info: Any) -> TypeAdapter[Any]:
    marked: Any = Annotated[(info.annotation, info)]
    return TypeAdapter(marked)


def derive_output_schema(context: RouteContext) -> Mapping[str, Any] | None:
    """The schema of the JSON replies that FastAPI's response model lets through; None without such a model."""
    if context.response_field is None or not _answers_json(context):
        return None
    try:
        adapter = TypeAdapter(context.response_model)
        schema = adapter.json_schema(mode="serialization", by_alias=context.response_model_by_alias)
    except Exception:  # a model may make its schema by code of its own, or none at all
        return None
    # What a reply may leave out cannot be required of it.
    thinned = any(getattr(context, f"response_model_{key}") for key in _THINNING)
    sent: Mapping[str, Any] = _without(schema, lambda key, _: key == "required") if thinned else schema
    return _without_unspeakable(sent)


def _answers_json(context: RouteContext) -> bool:
    kind = getattr(context.response_class, "value", context.response_class)
    media_type = getattr(kind, "media_type", None)
    # A class that tells no type leaves that to each answer.
    return media_type is None or is_json_type(media_type)


def _without_unspeakable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without defaults and examples that are no JSON: an infinite number, above all."""
    told: Mapping[str, Any] = _without(
        schema, lambda key, value: key in ("default", "examples") and not _is_speakable(value)
    )
    return told


def _is_speakable(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _without(schema: Any, drops: Callable[[str, Any], bool]) -> Any:
    """The schema without some of its keywords; properties may be called as those are."""
    if not isinstance(schema, dict):
        return [_without(inner, drops) for inner in schema] if isinstance(schema, list) else schema
    names = ("properties", "$defs")
    return {
        key: {name: _without(part, drops) for name, part in inner.items()}
        if key in names and isinstance(inner, dict)
        else _without(inner, drops)
        for key, inner in schema.items()
        if not drops(key, inner)
    }

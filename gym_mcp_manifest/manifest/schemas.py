"""JSON Schemas of tool arguments: an object at the root, valid under draft 2020-12."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from gym_mcp_manifest.diagnostics import Diagnostic, Span
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.partplaces import PartPlaces
from gym_mcp_manifest.manifest.schemafaults import SchemaFault, schema_faults

__all__ = [
    "PERMISSIVE",
    "WRAPPED",
    "advertised_form",
    "reply_findings",
    "reply_form",
    "reply_problem",
    "schema_findings",
    "value_problem",
    "without_idle_definitions",
    "written_out",
]

#: The schema of a tool that takes any object.
PERMISSIVE: Mapping[str, Any] = {"type": "object", "additionalProperties": True}

#: The key under which a reply that is no object stands in structured content.
WRAPPED = "result"


def advertised_form(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema as clients can take it, saying the same: `type: object` at its root, no spelling that costs a
    client the whole list.

    A root that is only a reference is written out (recursion stays in `$defs`), boolean property schemas
    become `{}` and `{"not": {}}`, and null titles are left out. A root that says another type is returned as
    it is, for `schema_findings`.
    """
    schema = written_out(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        spelled = {name: _as_mapping(inner) for name, inner in properties.items()}
        schema = {**schema, "properties": spelled}
    schema = _without_null_title(schema)
    return schema if "type" in schema else {"type": "object", **schema}


def written_out(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    target = _root_target(schema)
    if target is None:
        return schema
    return {**schema["$defs"][target], **{key: value for key, value in schema.items() if key != "$ref"}}


def _root_target(schema: Mapping[str, Any]) -> str | None:
    """The name of the definition that the root refers to; None where it is no such reference."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return None
    name = reference.removeprefix("#/$defs/")
    return name if name != reference and isinstance(definitions.get(name), dict) else None


def _as_mapping(schema: Any) -> Any:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _without_null_title(schema) if isinstance(schema, dict) else schema


def _without_null_title(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "title" in schema and schema["title"] is None:
        return {key: value for key, value in schema.items() if key != "title"}
    return schema


def without_idle_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the definitions in `$defs` that nothing refers to any more."""
    definitions = schema.get("$defs")
    if not isinstance(definitions, dict):
        return schema
    wanted: set[str] = set()
    fresh = _references({key: value for key, value in schema.items() if key != "$defs"})
    while fresh:
        wanted |= fresh
        fresh = {name for known in fresh for name in _references(definitions.get(known))} - wanted
    kept = {name: value for name, value in definitions.items() if name in wanted}
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    return {**rest, "$defs": kept} if kept else rest


def schema_findings(
    name: str, schema: Mapping[str, Any], span: Span | None, places: PartPlaces | None = None
) -> Iterator[Diagnostic]:
    """The findings about the schema of the tool `name`, where clients would refuse it.

    `places` are those of its parts; without them every finding stands at `span`.
    """
    faults = schema_faults(advertised_form(schema))
    yield from _unusable(
        f"input schema of {name!r}", schema, [(fault.path, fault) for fault in faults], span, places
    )


def _unusable(
    what: str,
    schema: Mapping[str, Any],
    faults: Iterable[tuple[Path, SchemaFault]],
    span: Span | None,
    places: PartPlaces | None,
) -> Iterator[Diagnostic]:
    # What a root reference leads to is written out beside the definition, so its faults are there twice.
    distinct = {(_written_path(path, schema), fault.message): fault for path, fault in faults}
    for (path, reason), fault in distinct.items():
        pointer = places.pointer(path) if places else None
        where = pointer if pointer is not None else "/".join(map(str, path))
        place = (places and places.span(path, key=fault.on_key)) or span
        hint = fault.hint
        if place is not None and (place.private or not place.line):
            # What an instance says may have come from a secret: neither its words nor a guess at them.
            reason, hint = "a value is not as JSON Schema has it", "correct the schema"
        message = f"the {what} is unusable: {reason}" + (f" (at {where})" if where else "")
        yield Diagnostic(code="GMM209", message=message, span=place, hint=hint)


def _written_path(path: Path, schema: Mapping[str, Any]) -> Path:
    """The path as the schema itself has it, of a part of the same with its root reference written out."""
    target = _root_target(schema)
    return ("$defs", target, *path) if target is not None and path and path[0] not in schema else path


def reply_form(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema of a reply as clients can take it, an object, and whether the reply is wrapped for that.

    A reply that need not be an object stands under the key `result`: structured content is always one.
    """
    schema = written_out(schema)
    if schema.get("type", "object" if "properties" in schema else None) == "object":
        return advertised_form(schema), False
    shared = {key: _moved(schema[key]) for key in ("$defs", "definitions") if key in schema}
    inner = {key: _moved(value) for key, value in schema.items() if key not in (*shared, "$schema", "$id")}
    wrapped = {"type": "object", "properties": {WRAPPED: _without_null_title(inner)}, "required": [WRAPPED]}
    return {**wrapped, **shared}, True


def _moved(part: Any) -> Any:
    """A part of a schema that is wrapped: what it refers to at the root stands one level deeper then."""
    if isinstance(part, list):
        return [_moved(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(inner) for key, inner in part.items()}
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        shared = reference.startswith(("#/$defs/", "#/definitions/"))
        moved["$ref"] = reference if shared else f"#/properties/{WRAPPED}{reference[1:]}"
    return moved


def reply_findings(
    name: str, schema: Mapping[str, Any], span: Span | None, places: PartPlaces | None = None
) -> Iterator[Diagnostic]:
    """The findings about the output schema of the tool `name`, where clients would refuse it; see above."""
    form, wraps = reply_form(schema)
    inner = ("properties", WRAPPED) if wraps else ()
    faults = [
        (fault.path[len(inner) :] if fault.path[: len(inner)] == inner else fault.path, fault)
        for fault in schema_faults(form)
    ]
    yield from _unusable(f"output schema of {name!r}", schema, faults, span, places)


def reply_problem(schema: Mapping[str, Any], value: Any) -> str | None:
    """Why a client that checks structured content against this output schema would refuse it, or None."""
    error = next(_validator(json.dumps(schema, ensure_ascii=False)).iter_errors(value), None)
    if error is None:
        return None
    place = "/".join(map(str, error.absolute_path)) or "the root"
    return f"at {place}: {error.message[:200]}"


@lru_cache(maxsize=1024)
def _validator(text: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(text), registry=Registry())


def value_problem(schema: Mapping[str, Any], name: str, value: Any) -> str | None:
    """Why the property `name` of the schema, itself valid, refuses the value; None where it takes it."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or name not in properties:
        return None
    # Beside the definitions that it may refer to, the property alone: nothing else is judged, nor required.
    probe = {
        **{key: schema[key] for key in ("$defs", "definitions") if key in schema},
        "properties": {name: properties[name]},
    }
    try:
        errors = list(Draft202012Validator(probe, registry=Registry()).iter_errors({name: value}))
    except Unresolvable:
        return None
    return best_match(errors).message[:200] if errors else None


def _references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = part.get("$ref")
        mine = {own.split("/")[2]} if isinstance(own, str) and own.startswith("#/$defs/") else set()
        return mine.union(*(_references(inner) for inner in part.values()))
    return set().union(*(_references(inner) for inner in part)) if isinstance(part, list) else set()

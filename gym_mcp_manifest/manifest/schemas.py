"""JSON Schemas of tool arguments: an object at the root, valid under draft 2020-12."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gym_mcp_manifest.diagnostics import Diagnostic, Span
from gym_mcp_manifest.manifest.metaschema import first_fault

__all__ = [
    "PERMISSIVE",
    "WRAPPED",
    "advertised_form",
    "reply_findings",
    "reply_form",
    "schema_findings",
    "schema_problem",
    "value_problem",
    "without_idle_definitions",
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
    it is, for `schema_problem`.
    """
    schema = _written_out(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        spelled = {name: _as_mapping(inner) for name, inner in properties.items()}
        schema = {**schema, "properties": spelled}
    schema = _without_null_title(schema)
    return schema if "type" in schema else {"type": "object", **schema}


def _written_out(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = schema.get("$defs")
        target = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(definitions, dict) else None
        if isinstance(target, dict):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return {**target, **rest}
    return schema


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


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Why clients would refuse the schema (one bad tool costs some of them the whole list), or None."""
    try:
        text = json.dumps(schema, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    return _problem(text)


def schema_findings(name: str, schema: Mapping[str, Any], span: Span | None) -> Iterator[Diagnostic]:
    """The finding about the schema of the tool `name`, where clients would refuse it."""
    problem = schema_problem(advertised_form(schema))
    if problem:
        message = f"the input schema of {name!r} is unusable: {problem}"
        yield Diagnostic(code="GMM209", message=message, span=span, hint="correct the schema")


@lru_cache(maxsize=1024)
def _problem(text: str) -> str | None:
    schema = json.loads(text)
    if schema.get("type") != "object":
        return f"its root has type {schema.get('type')!r} instead of 'object'"
    error = first_fault(schema)
    if error is not None:
        place = "/".join(str(step) for step in error.absolute_path) or "the root"
        return f"not a valid JSON Schema at {place}: {error.message[:200]}"
    return _loose_reference(schema)


def _loose_reference(schema: dict[str, Any]) -> str | None:
    """The first reference that leads nowhere; nothing is ever fetched, so it has to stay within the schema."""
    root = DRAFT202012.create_resource(schema)
    waiting = [(root, Registry().resolver_with_root(root))]
    while waiting:
        part, resolver = waiting.pop()
        reference = part.contents.get("$ref") if isinstance(part.contents, dict) else None
        try:
            if reference is not None:
                resolver.lookup(reference)
            waiting += [(inner, resolver.in_subresource(inner)) for inner in part.subresources()]
        except (Unresolvable, ValueError, TypeError):  # the last two from pointers and addresses that are none
            return f"the reference {str(reference)[:200]!r} leads to no place within it, and nothing is fetched"
    return None


def reply_form(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema of a reply as clients can take it, an object, and whether the reply is wrapped for that.

    A reply that need not be an object stands under the key `result`: structured content is always one.
    """
    schema = _without_null_title(_written_out(schema))
    if schema.get("type", "object" if "properties" in schema else None) == "object":
        return {"type": "object", **schema}, False
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
    wrapped: dict[str, Any] = {"type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED]}
    return {**wrapped, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}, True


def reply_findings(name: str, schema: Mapping[str, Any], span: Span | None) -> Iterator[Diagnostic]:
    """The finding about the output schema of the tool `name`, where clients would refuse it."""
    problem = schema_problem(reply_form(schema)[0])
    if problem:
        message = f"the output schema of {name!r} is unusable: {problem}"
        yield Diagnostic(code="GMM209", message=message, span=span, hint="correct the schema")


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

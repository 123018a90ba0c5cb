"""JSON Schemas of tool arguments: an object at the root, valid under draft 2020-12."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

__all__ = ["PERMISSIVE", "object_rooted", "portability_problems", "schema_problem"]

#: The schema of a tool that takes any object.
PERMISSIVE: Mapping[str, Any] = {"type": "object", "additionalProperties": True}

_LEGAL_PROPERTY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def object_rooted(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with `type: object` at its root; a root that is only a reference is written out.

    Recursion stays in `$defs`. A root that says another type is returned as it is, for `schema_problem`.
    """
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = schema.get("$defs")
        name = reference.removeprefix("#/$defs/")
        target = definitions.get(name) if isinstance(definitions, dict) else None
        if isinstance(target, dict):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **rest}
    return schema if "type" in schema else {"type": "object", **schema}


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Why clients would refuse the schema (one bad tool costs some of them the whole list), or None."""
    try:
        text = json.dumps(schema, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    return _problem(text)


@lru_cache(maxsize=1024)
def _problem(text: str) -> str | None:
    schema = json.loads(text)
    if schema.get("type") != "object":
        return f"its root has type {schema.get('type')!r} instead of 'object'"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "the root"
        return f"not a valid JSON Schema at {place}: {error.message[:200]}"
    return None


def portability_problems(schema: Mapping[str, Any]) -> Iterator[str]:
    """What is legal in the schema but breaks a known client, each with the client's name."""
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if not name or len(name) > 64 or not _LEGAL_PROPERTY.issuperset(name):
            yield f"the property name {name!r} makes Claude Code drop the tool"
        if isinstance(inner, bool):
            yield f"the boolean schema of {name!r} costs TypeScript SDK v1 and Gemini CLI the whole list"
    if _has_null_title(schema):
        yield "a null `title` makes Claude Code drop the tool"


def _has_null_title(schema: Mapping[str, Any]) -> bool:
    if "title" in schema and schema["title"] is None:
        return True
    properties = schema.get("properties")
    inner = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(part, dict) and "title" in part and part["title"] is None for part in inner)

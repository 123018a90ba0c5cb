"""JSON Schemas of tool arguments: an object at the root, valid under draft 2020-12."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from gym_mcp_manifest.diagnostics import Diagnostic, Span

__all__ = ["PERMISSIVE", "advertised_form", "portability_problems", "schema_findings", "schema_problem"]

#: The schema of a tool that takes any object.
PERMISSIVE: Mapping[str, Any] = {"type": "object", "additionalProperties": True}

_LEGAL_PROPERTY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


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
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "the root"
        return f"not a valid JSON Schema at {place}: {error.message[:200]}"
    return None


def portability_problems(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is legal in a schema but breaks a known client, each with the client's name and a cure."""
    properties = schema.get("properties")
    parts: dict[str, Any] = properties if isinstance(properties, dict) else {}
    for name, inner in parts.items():
        if not name or len(name) > 64 or not _LEGAL_PROPERTY.issuperset(name):
            cure = "use 1 to 64 of the letters [a-zA-Z0-9_.-]"
            yield f"the property name {name!r} makes Claude Code drop the tool", cure
        if isinstance(inner, bool):
            what = f"the boolean schema of {name!r} costs TypeScript SDK v1 and Gemini CLI the whole list"
            yield what, f"it is advertised as `{_as_mapping(inner)}`; write that instead"
    if any(
        isinstance(part, dict) and "title" in part and part["title"] is None for part in (schema, *parts.values())
    ):
        yield "a null `title` makes Claude Code drop the tool", "it is left out; take it out of the schema"

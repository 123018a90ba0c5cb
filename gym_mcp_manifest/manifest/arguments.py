"""Tailored arguments: what a schema shows of them, and which entries a tool cannot have.

Two schemas count: the one that clients are shown, and the route's own, which decides what can be sent. Where data
alone describe a tool they are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.models import ArgumentEntry
from gym_mcp_manifest.manifest.schemas import value_problem, without_idle_definitions
from gym_mcp_manifest.manifest.tailoring import Tailoring

__all__ = ["applicable_entries", "argument_findings", "argument_names", "is_withheld", "tailored_schema"]

Schema = Mapping[str, Any]

#: Where a root schema may speak of its properties besides `properties` and `required`.
_APPLICATORS = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired")


def argument_names(*schemas: Schema) -> frozenset[str] | None:
    """The arguments that the schemas name; None where one of them takes any."""
    names: set[str] = set()
    for schema in schemas:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
            return None
        names.update(properties)
    return frozenset(names)


def applicable_entries(shown: Schema, own: Schema, tailoring: Tailoring) -> Iterator[tuple[str, ArgumentEntry]]:
    """The entries for arguments that the tool has: those of a glob need not fit every tool."""
    names = argument_names(shown, own)
    return ((name, entry) for name, entry in tailoring.arguments.items() if names is None or name in names)


def is_withheld(entry: ArgumentEntry) -> bool:
    """Whether clients neither see nor may send the argument."""
    return entry.hidden or _gives(entry, "value")


def tailored_schema(shown: Schema, own: Schema, tailoring: Tailoring) -> Schema:
    """The shown schema with descriptions and defaults added, and without what clients may not send.

    Of an argument that only the route's `own` schema has, that schema's words are shown.
    """
    entries = dict(applicable_entries(shown, own, tailoring))
    if not entries:
        return shown
    properties, of_route = dict(_properties(shown)), _properties(own)
    for name, entry in entries.items():
        if is_withheld(entry):
            properties.pop(name, None)
        else:
            properties[name] = _described(properties.get(name, of_route.get(name, {})), entry)
    optional = [name for name, entry in entries.items() if is_withheld(entry) or _gives(entry, "default")]
    tailored = {**shown, "properties": properties}
    if isinstance(shown.get("required"), list):
        tailored["required"] = [name for name in shown["required"] if name not in optional]
        if not tailored["required"]:
            del tailored["required"]
    return without_idle_definitions(tailored)


def argument_findings(
    own_name: str, shown: Schema, own: Schema, tailoring: Tailoring, nested: Set[str] = frozenset()
) -> Iterator[Diagnostic]:
    """Arguments that cannot be withheld, and values that a schema refuses.

    `nested` are arguments that the route also takes from inside of others.
    """
    for name, entry in applicable_entries(shown, own, tailoring):
        reason = _withholding_problem(name, entry, shown, own, nested) if is_withheld(entry) else None
        if reason:
            problem, hint = reason
            yield Diagnostic(
                code="GMM620",
                message=f"the argument `{name}` of {own_name!r} cannot be withheld: {problem}",
                span=tailoring.span("arguments", name, key=True),
                hint=hint,
            )
        for key, judges in (("default", (shown, own)), ("value", (own,))):
            yield from _value_findings(own_name, name, key, judges, tailoring) if _gives(entry, key) else ()


def _withholding_problem(
    name: str, entry: ArgumentEntry, shown: Schema, own: Schema, nested: Set[str]
) -> tuple[str, str] | None:
    required = own.get("required")
    if entry.hidden and isinstance(required, list) and name in required:
        return "the route requires it", f"write `{name}: {{value: ...}}` with what is to be sent"
    if name in nested:
        return "the route also takes it from inside of another argument", "leave it to the clients"
    where = next((key for key in _APPLICATORS if key in shown and _speaks_of(shown[key], name)), None)
    if where:
        return f"its schema speaks of it in `{where}`", "give the tool an `input_schema` that does not"
    return None


def _value_findings(
    own_name: str, name: str, key: str, judges: tuple[Schema, ...], tailoring: Tailoring
) -> Iterator[Diagnostic]:
    path = (*tailoring.path("arguments", name), key)
    value = getattr(tailoring.arguments[name], key)
    problem = next((found for schema in judges if (found := value_problem(schema, name, value))), None)
    if problem:
        # What an instance sets may be a secret, and the problem quotes it.
        what = "" if tailoring.places.is_layered(path) else f": {problem}"
        yield Diagnostic(
            code="GMM621",
            message=f"the {key} of the argument `{name}` of {own_name!r} breaks its schema{what}",
            span=tailoring.places.span(path),
            hint="write a value that the schema allows",
        )


def _properties(schema: Schema) -> Mapping[str, Any]:
    held = schema.get("properties")
    return held if isinstance(held, dict) else {}


def _gives(entry: ArgumentEntry, key: str) -> bool:
    return key in entry.model_fields_set


def _described(schema: Any, entry: ArgumentEntry) -> dict[str, Any]:
    changes = {key: getattr(entry, key) for key in ("description", "default") if _gives(entry, key)}
    if isinstance(schema, dict):
        return {**schema, **changes}
    return {**changes, **({} if schema else {"not": {}})}


def _speaks_of(part: Any, name: str) -> bool:
    """Whether a part of a schema names the property, as a key or in a list."""
    if isinstance(part, dict):
        return name in part or any(_speaks_of(inner, name) for inner in part.values())
    return isinstance(part, list) and (name in part or any(_speaks_of(inner, name) for inner in part))

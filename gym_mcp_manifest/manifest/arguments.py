"""Tailored arguments: what a schema shows of them, and which entries a tool cannot have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.models import ArgumentEntry
from gym_mcp_manifest.manifest.schemas import value_problem, without_idle_definitions
from gym_mcp_manifest.manifest.tailoring import Tailoring

__all__ = ["applicable_entries", "argument_findings", "argument_names", "is_withheld", "tailored_schema"]


def argument_names(schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The arguments that a schema names; None where it takes any."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
        return None
    return frozenset(properties)


def applicable_entries(schema: Mapping[str, Any], tailoring: Tailoring) -> Iterator[tuple[str, ArgumentEntry]]:
    """The entries for arguments that the tool has: those of a glob need not fit every tool."""
    names = argument_names(schema)
    return ((name, entry) for name, entry in tailoring.arguments.items() if names is None or name in names)


def is_withheld(entry: ArgumentEntry) -> bool:
    """Whether clients neither see nor may send the argument."""
    return entry.hidden or _gives(entry, "value")


def tailored_schema(schema: Mapping[str, Any], tailoring: Tailoring) -> Mapping[str, Any]:
    """The schema with descriptions and defaults added, and without what clients may not send."""
    entries = dict(applicable_entries(schema, tailoring))
    if not entries:
        return schema
    held = schema.get("properties")
    properties = dict(held) if isinstance(held, dict) else {}
    for name, entry in entries.items():
        if is_withheld(entry):
            properties.pop(name, None)
        else:
            properties[name] = _described(properties.get(name, {}), entry)
    optional = [name for name, entry in entries.items() if is_withheld(entry) or _gives(entry, "default")]
    tailored = {**schema, "properties": properties}
    if isinstance(schema.get("required"), list):
        required = [name for name in schema["required"] if name not in optional]
        tailored["required"] = required
        if not required:
            del tailored["required"]
    return without_idle_definitions(tailored)


def argument_findings(own_name: str, schema: Mapping[str, Any], tailoring: Tailoring) -> Iterator[Diagnostic]:
    """Hidden arguments that the route requires, and values that its schema refuses."""
    required = schema.get("required")
    for name, entry in applicable_entries(schema, tailoring):
        if entry.hidden and isinstance(required, list) and name in required:
            yield Diagnostic(
                code="GMM620",
                message=f"the argument `{name}` of {own_name!r} cannot be hidden: the route requires it",
                span=tailoring.span("arguments", name, key=True),
                hint=f"write `{name}: {{value: ...}}` with what is to be sent",
            )
        for key in ("default", "value"):
            problem = value_problem(schema, name, getattr(entry, key)) if _gives(entry, key) else None
            if problem:
                yield Diagnostic(
                    code="GMM621",
                    message=f"the {key} of the argument `{name}` of {own_name!r} breaks its schema: {problem}",
                    span=tailoring.places.span((*tailoring.path("arguments", name), key)),
                    hint="write a value that the schema allows",
                )


def _gives(entry: ArgumentEntry, key: str) -> bool:
    return key in entry.model_fields_set


def _described(schema: Any, entry: ArgumentEntry) -> dict[str, Any]:
    changes = {key: getattr(entry, key) for key in ("description", "default") if _gives(entry, key)}
    if isinstance(schema, dict):
        return {**schema, **changes}
    return {**changes, **({} if schema else {"not": {}})}

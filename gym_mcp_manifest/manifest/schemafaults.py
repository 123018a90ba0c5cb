"""What makes a JSON Schema unusable for clients: every fault in plain words, with its path in the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from jsonschema import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.manifest.faults import kind_of, shown
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.metaschema import metaschema_faults

__all__ = ["SchemaFault", "parts_of", "schema_faults"]

#: The clients' parsers stop at 128 levels, of which a tool's place in the list takes some.
_DEEPEST = 100

#: Most faults that are told of one schema.
_MOST = 10
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_LEGAL_TYPES = f"The types are {', '.join(_TYPES)}"
#: What other languages call them; `nearest` finds the rest.
_FOREIGN_TYPES = {
    word: kind
    for kind, words in {
        "string": "str text char date datetime enum uuid file",
        "integer": "int long",
        "number": "float double decimal",
        "boolean": "bool",
        "object": "dict map mapping struct",
        "array": "list tuple set",
        "null": "none nil nonetype",
    }.items()
    for word in words.split()
}
_EXPECTED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
_CURE = "correct the schema"


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One fault: where in the schema, in words, and what would mend it."""

    path: Path
    message: str
    hint: str = _CURE
    #: Whether its key, not its value, is the place to look at.
    on_key: bool = False


def schema_faults(schema: Mapping[str, Any]) -> tuple[SchemaFault, ...]:
    """Why clients would refuse a schema whose root should say `type: object`; empty for one that they take.

    One bad tool costs some of them the whole list.
    """
    deep = next((path for path, _ in parts_of(schema) if len(path) > _DEEPEST), None)
    if deep is not None:
        message = f"it nests deeper than {_DEEPEST} levels, which costs clients the whole list"
        return (SchemaFault(deep, message, "give it fewer levels; what recurs can be a `$ref` to `$defs`"),)
    try:
        text = json.dumps(schema, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return (SchemaFault(_first_unspeakable(schema), f"it is not JSON: {error}"),)
    return _faults(text)


def parts_of(schema: Any) -> Iterator[tuple[Path, Any]]:
    """Every part of a schema with its path, from outside in."""
    waiting: list[tuple[Path, Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        yield path, part
        steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        waiting += reversed([((*path, step), inner) for step, inner in steps])


def _first_unspeakable(schema: Any) -> Path:
    """Where the first value stands that JSON has no word for; the root where that cannot be told."""
    try:
        parts = parts_of(schema)
        return next((path for path, part in parts if isinstance(part, float) and not isfinite(part)), ())
    except RecursionError:
        return ()


@lru_cache(maxsize=1024)
def _faults(text: str) -> tuple[SchemaFault, ...]:
    schema = json.loads(text)
    found = dict.fromkeys(fault for error in metaschema_faults(schema) for fault in _worded(error))
    if not any(fault.path[:1] == ("type",) for fault in found) and schema.get("type") != "object":
        message = f"its root has type {schema.get('type')!r} instead of 'object'"
        found[SchemaFault(("type",), message, "arguments are an object: put the value into a property")] = None
    found |= dict.fromkeys(_loose_references(schema))
    every = tuple(found)
    if len(every) > _MOST:
        rest = len(every) - _MOST
        last = SchemaFault((), f"{rest} more {'fault' if rest == 1 else 'faults'} besides")
        return (*every[:_MOST], last)
    return every


def _worded(error: ValidationError) -> Iterator[SchemaFault]:
    path, value = tuple(error.absolute_path), error.instance
    key = next((step for step in reversed(path) if isinstance(step, str)), "the schema")
    found = f"found {kind_of(value)}" + (f" `{shown(value)}`" if not isinstance(value, (dict, list)) else "")
    match error.validator, error.validator_value:
        case "anyOf", _:  # only `type` has a choice
            yield from _type_faults(path, value, found)
        case "type", ["object", "boolean"]:
            hint = f"write `{{type: {guess}}}`" if isinstance(value, str) and (guess := _type_of(value)) else _CURE
            yield SchemaFault(path, f"expected a schema for `{key}`, {found}", hint)
        case "type", str() as kind:
            listed = key == "required" and isinstance(value, bool)
            hint = "list the property's name in `required` of the object that has it" if listed else _CURE
            message = f"`{key}`: expected {_EXPECTED.get(kind, kind)}, {found}"
            yield SchemaFault(path, message, hint, on_key=isinstance(value, (dict, list)))
        case "format", "regex":
            yield SchemaFault(path, f"`{shown(value)}` is no regular expression")
        case "format", kind:
            yield SchemaFault(path, f"`{key}`: `{shown(value)}` is no {kind}")
        case "minItems", _:
            yield SchemaFault(path, f"`{key}`: expected at least one entry", on_key=True)
        case "uniqueItems", _:
            yield SchemaFault(path, f"`{key}`: an entry stands there twice", on_key=True)
        case "minimum", least:
            yield SchemaFault(path, f"`{key}`: expected at least {least}, {found}")
        case "exclusiveMinimum", least:
            yield SchemaFault(path, f"`{key}`: expected more than {least}, {found}")
        case _:
            yield SchemaFault(path, f"`{key}`: {error.message[:200]}")


def _type_faults(path: Path, value: Any, found: str) -> Iterator[SchemaFault]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            if entry not in _TYPES:
                yield _no_type((*path, index), entry)
        if not value or len(value) != len({json.dumps(entry) for entry in value}):
            reason = "an entry stands there twice" if value else "expected at least one entry"
            yield SchemaFault(path, f"`type`: {reason}", on_key=True)
    elif isinstance(value, str):
        yield _no_type(path, value)
    else:
        message = f"`type`: expected the name of a type, or a list of names, {found}"
        yield SchemaFault(path, message, _LEGAL_TYPES, on_key=isinstance(value, dict))


def _no_type(path: Path, value: Any) -> SchemaFault:
    word = "null" if value is None else str(value).casefold()
    if word in ("any", "unknown", "mixed", ""):
        cure = "leave `type` out for any value. "
    elif value is None:
        cure = 'write `"null"`, in quotes. '
    else:
        guess = _type_of(word)
        cure = f"did you mean `{guess}`? " if guess else ""
    return SchemaFault(path, f"`{shown(value)}` is no type of JSON Schema", f"{cure}{_LEGAL_TYPES}")


def _type_of(word: str) -> str | None:
    """The type that a word was most likely meant to be."""
    word = word.casefold()
    return _FOREIGN_TYPES.get(word) or nearest(word, _TYPES)


def _loose_references(schema: dict[str, Any]) -> Iterator[SchemaFault]:
    """References that lead nowhere; nothing is ever fetched, so they have to stay within the schema."""
    paths = {id(part): path for path, part in parts_of(schema) if isinstance(part, dict)}
    named = [f"#/{key}/{name}" for key in ("$defs", "definitions") for name in _names(schema.get(key))]
    root = DRAFT202012.create_resource(schema)
    waiting = [(root, Registry().resolver_with_root(root))]
    while waiting:
        part, resolver = waiting.pop()
        held = part.contents if isinstance(part.contents, dict) else {}
        reference = held.get("$ref")
        try:
            if isinstance(reference, str):
                resolver.lookup(reference)
        except (Unresolvable, ValueError, TypeError):  # the last two from pointers and addresses that are none
            guess = nearest(str(reference), named)
            message = f"the reference {str(reference)[:200]!r} leads to no place within it, and nothing is fetched"
            path = (*paths.get(id(held), ()), "$ref")
            yield SchemaFault(path, message, f"did you mean `{guess}`?" if guess else _CURE)
        try:
            waiting += [(inner, resolver.in_subresource(inner)) for inner in part.subresources()]
        except (AttributeError, TypeError):  # no schema stands where one should: a fault that is found above
            continue
        except (Unresolvable, ValueError):
            yield SchemaFault(paths.get(id(held), ()), "the `$id` of a schema within it is no address")


def _names(definitions: Any) -> Iterator[str]:
    return iter(definitions) if isinstance(definitions, dict) else iter(())

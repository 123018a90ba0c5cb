"""Faults of shape: pydantic's complaints as findings in the language's own words, at the place of the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic_core import ErrorDetails

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.keys import Path, addable_keys, known_keys, usable_keys
from gym_mcp_manifest.manifest.layers import Layered
from gym_mcp_manifest.manifest.models import SOURCE_KEYS

__all__ = ["fault_of", "kind_of", "path_of", "shown", "value_span"]

_LATER: dict[Path, str] = {
    ("bind",): "let the handler read the value from `request.session` until bindings arrive",
    ("session",): "list every tool with `file` and narrow sessions with `sessions.allow`",
}
_EMPTY_VALUES = "write its value, {} or [] for an empty mapping or list, or leave the key out"
_EXPECTED = {
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "dict_type": "expected a mapping",
    "tuple_type": "expected a list",
    "string_type": "expected a text",
    "bool_type": "expected true or false",
    "int_type": "expected a whole number",
    "too_short": "expected at least one entry",
    "dataclass_type": "expected a text",
}
#: Keys that take one value, or a list of them.
_ONE_OR_MANY: dict[str | int, str] = {
    "file": "expected a path or a list of paths",
    "from": "expected an expression or a list of expressions",
}
#: Texts with a syntax of their own.
_SPELLINGS = {"route_pattern": "GMM207", "expression": "GMM208", "reference": "GMM211"}
_HINTS = {
    "model_type": "write `key: value` lines below it, or `{key: value}`",
    "model_attributes_type": "write `key: value` lines below it, or `{key: value}`",
    "tuple_type": "write `- entry` lines below it, or `[entry]`",
    "bool_type": "write `true` or `false`, without quotes",
    "int_type": "write digits only, without quotes or a unit",
}


def fault_of(detail: ErrorDetails, layered: Layered) -> Diagnostic:
    """The finding for one of pydantic's complaints."""
    path, kind, context = path_of(detail, layered.data), detail["type"], detail.get("ctx", {})
    # What an instance's layer says may have come from a secret of the environment.
    value = "..." if layered.places.is_layered(path) else shown(detail["input"])
    where, places = _spelled(path), layered.places
    code, message, hint, on_key = "GMM203", "", None, False
    if kind == "extra_forbidden":
        on_key = True
        code, message, hint = _extra_key(path, layered, detail["input"])
    elif kind == "missing":
        code = "GMM202"
        message = f"{_mapping(path[:-1])} lacks the key `{path[-1]}`"
        hint = "write `version: 1` at the top" if path == ("version",) else f"add `{path[-1]}: ...`"
        path = path[:-1]
    elif kind == "not_yet":
        code, on_key = "GMM206", True
        message = f"`{where}: {value}` is not yet supported by this release"
        hint = _LATER.get(path) or _LATER.get(path[-1:]) or "leave the key out"
    elif detail["input"] is None or kind == "no_value":
        code, on_key = "GMM204", True
        message = f"`{where}` has no value"
        hint = "write `version: 1`" if path == ("version",) else _EMPTY_VALUES
    elif kind == "newer_version":
        code = "GMM205"
        message = f"version {context['found']} is newer than this release reads"
        hint = "write `version: 1`, or install a release that reads it"
    elif kind == "no_source":
        code = "GMM202"
        message, hint = f"`{where}` is no source of tools", _source_hint(detail["input"])
    elif kind in _SPELLINGS:
        code = _SPELLINGS[kind]
        reason = "not valid" if value == "..." else context["reason"]
        message = f"`{value}`: {reason}" if value != "..." else f"`{where}`: {reason}"
        hint = context["hint"] if value != "..." else None
    else:
        message = f"`{where}`: {_expectation(detail)}, found {kind_of(detail['input'])} `{value}`"
        meant = context.get("hint") if value != "..." else None
        usual = None if path[-1:] in [(key,) for key in _ONE_OR_MANY] else _HINTS.get(kind)
        hint = meant or _choice_hint(detail) or usual
    return Diagnostic(code=code, message=message, hint=hint, span=places.span(path, key=on_key))


def value_span(detail: ErrorDetails, layered: Layered) -> Span | None:
    """The place of the value that one of pydantic's complaints is about; None where it is about a key."""
    if detail["type"] in ("extra_forbidden", "missing"):
        return None
    return layered.places.span(path_of(detail, layered.data))


def path_of(detail: ErrorDetails, data: Any) -> Path:
    """The path in the data of what one of pydantic's complaints is about."""
    return _real_path(detail["loc"], data)


def _real_path(location: tuple[str | int, ...], data: Any) -> Path:
    """The path in the data: pydantic adds the tag of a source, and the wrapped key of a bare pattern."""
    path = list(location)
    if len(path) > 4 and path[0] == "catch_all" and path[2] == "tools":
        del path[4]
    if len(path) > 3 and path[:2] == ["routes", "specs"]:
        del path[3]
    if path[-1:] == ["match"] and path[:1] == ["routes"] and not isinstance(_value_at(path[:-1], data), dict):
        path.pop()
    return tuple(step for step in path if step != "[key]")


def _mapping(path: Path) -> str:
    return f"`{_spelled(path)}`" if path else "the manifest"


def _value_at(path: Iterable[str | int], data: Any) -> Any:
    for step in path:
        data = data[step]
    return data


def _extra_key(path: Path, layered: Layered, value: Any) -> tuple[str, str, str]:
    """Code, message and hint for a key that its mapping does not have."""
    key, valid = str(path[-1]), known_keys(path[:-1])
    # Entries of a list are taken as they are: nothing in them is merged.
    merged = layered.places.is_layered(path) and not any(isinstance(step, int) for step in path)
    additions = addable_keys(path[:-1]) if merged else ()
    place = _mapping(path[:-1])
    if key in additions:
        code = "GMM204" if value is None else "GMM203"
        return code, f"`{_spelled(path)}`: expected a list, found {kind_of(value)}", f"write `{key}: [...]`"
    if key in valid:  # of another kind of source
        kind = next(kind for kind in SOURCE_KEYS if kind in _value_at(path[:-1], layered.data))
        cure = "make two sources of it" if key in SOURCE_KEYS else f"leave `{key}` out"
        return "GMM301", f"`{key}` does not go with `{kind}` in {place}", cure
    if key.startswith("mcp_") or key == "expose_tools_over_mcp":
        cure = "it is a key of the instance's block, in its configuration: see docs/configuration.md"
        return "GMM201", f"unknown key `{key}` in {place}", cure
    usable = usable_keys(path[:-1])
    guess = nearest(key, (*usable, *additions))
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(usable)}"
    return "GMM201", f"unknown key `{key}` in {place}", f"{hint} (keys of your own start with `x-`)"


def _source_hint(value: Any) -> str:
    guess = next((guess for key in value if (guess := nearest(str(key), SOURCE_KEYS))), None)
    return f"did you mean `{guess}`?" if guess else "a source has one of the keys `file`, `python` and `name`"


def _expectation(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "literal_error":
        return f"expected {context['expected']}"
    if kind == "tuple_type" and detail["loc"][-1] in _ONE_OR_MANY:
        return _ONE_OR_MANY[detail["loc"][-1]]
    if kind == "greater_than_equal":
        return f"expected at least {context['ge']}"
    return _EXPECTED.get(kind) or detail["msg"][:1].lower() + detail["msg"][1:]


def _choice_hint(detail: ErrorDetails) -> str | None:
    if detail["type"] != "literal_error" or not isinstance(detail["input"], str):
        return None
    choices = [part.strip(" '") for part in detail["ctx"]["expected"].replace(" or ", ",").split(",")]
    guess = nearest(detail["input"], choices)
    return f"did you mean `{guess}`?" if guess else None


def _spelled(path: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def shown(value: Any) -> str:
    """A value as messages quote it, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def kind_of(value: Any) -> str:
    """What a value is, in the language's words."""
    names = {
        dict: "a mapping",
        list: "a list",
        str: "the text",
        bool: "the truth value",
        type(None): "nothing",
    }
    return names.get(type(value), "the number")

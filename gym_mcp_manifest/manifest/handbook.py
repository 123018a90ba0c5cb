"""The language's keys as its models describe them: what may be written at a path, and what it means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType
from typing import Any

from gym_mcp_manifest.manifest.models import Language

__all__ = ["KeyEntry", "all_paths", "in_words", "look_up", "steps_of"]

_STEP = re.compile(r"""\.?(?:"([^"]*)"|'([^']*)'|([^.\[\]"']+))|\[(\d*)\]""")
_KINDS = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "mapping"}
#: How deep `all_paths` goes; no key of the language nests deeper.
_DEEPEST = 6

_Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """One key: its path (`catch_all[].tools[].file`), what may be written, and the keys below it.

    `kinds` tells in which kinds of source the key has this meaning, by the keys that make them; empty where there
    is only one. `default` and `examples` are JSON text; `later` says that the key is refused in this release.
    """

    path: str
    kinds: tuple[str, ...]
    type: str
    required: bool
    default: str | None
    description: str
    examples: tuple[str, ...]
    later: bool
    keys: tuple[tuple[str, str], ...]


def look_up(path: str) -> tuple[KeyEntry, ...]:
    """What the language says of the key at a path; empty where it has no such key.

    List indices may be left out, and so may keys that are free (`tools.arguments` is
    `tools.get_weather.arguments`). The key of a source may have several entries.
    """
    steps = [step for step in steps_of(path) or () if isinstance(step, str)]
    if not steps:
        return ()
    found: list[tuple[str, _Node, _Node]] = [("", _root(), {})]
    for step in steps:
        found = [inner for place, node, _ in found for inner in _below(place, node, step)]
    entries: dict[KeyEntry, list[str]] = {}
    for place, node, section in found:
        kind = str(section.get("required", [""])[0]) if len(found) > 1 else ""
        entries.setdefault(_entry(place, node, section, steps[-1]), []).append(kind)
    several = len(entries) > 1
    return tuple(
        entry if not several else KeyEntry(**{**_fields(entry), "kinds": tuple(filter(None, kinds))})
        for entry, kinds in entries.items()
    )


def all_paths() -> tuple[str, ...]:
    """The path of every key of the language, free keys as `NAME`."""
    return tuple(dict.fromkeys(_paths("", _root(), _DEEPEST)))


def steps_of(path: str) -> tuple[str | int, ...] | None:
    """The steps of a written path: names, quoted where they have dots or brackets, and `[0]` or `[]`.

    None where the text is no path.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        double, single, bare, index = match.groups()
        if index is None:
            steps.append(next(name for name in (double, single, bare) if name is not None))
        elif index:
            steps.append(int(index))
        at = match.end()
    return tuple(steps)


def in_words(node: _Node) -> str:
    """What a JSON Schema of the language lets be written, in its words."""
    if "enum" in node:
        return "one of " + ", ".join(map(_json, node["enum"])) if node["enum"] != [None] else "null"
    if "const" in node:
        return f"{_json(node['const'])} only"
    choices = tuple(_choices(node))
    if choices:
        return " or ".join(dict.fromkeys(map(in_words, choices)))
    kinds = node.get("type", "object" if "$ref" in node or "properties" in node else ())
    words = [_KINDS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if words == ["array"]:
        words = [f"list of {in_words(node['items'])}" if node.get("items") else "list"]
    if "minimum" in node:
        words[-1] += f", at least {node['minimum']}"
    return " or ".join(words) or "anything"


@lru_cache(maxsize=1)
def _root() -> _Node:
    # Pydantic's own schema of the models: the published one is arranged for editors.
    return Language.model_json_schema(by_alias=True, mode="validation")


def _entry(place: str, node: _Node, section: _Node, name: str) -> KeyEntry:
    below: dict[str, str] = {}
    for _, inner in _sections(place, node):
        for key, value in inner["properties"].items():
            below.setdefault(key, _description(value))
    return KeyEntry(
        path=place,
        kinds=(),
        type=in_words(node),
        required=name in section.get("required", ()),
        default=_json(node["default"]) if not isinstance(node.get("default"), (dict, NoneType)) else None,
        description=_description(node),
        examples=tuple(map(_json, node.get("examples", ()))),
        later=node.get("not") == {},
        keys=tuple(below.items()),
    )


def _description(node: _Node) -> str:
    """What a key means: its own description, else that of the section which it is."""
    return str(node.get("description") or _referred(node).get("description", ""))


def _referred(node: _Node) -> _Node:
    target: _Node = _root()["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    return target


def _below(place: str, node: _Node, step: str) -> Iterator[tuple[str, _Node, _Node]]:
    """The keys called `step` in what a node may be, each with its path and its section."""
    sections = list(_sections(place, node))
    found = [(where, inner) for where, inner in sections if step in inner["properties"]]
    dot = "." if place else ""
    for where, inner in found:
        yield f"{where}{'.' if where else ''}{step}", inner["properties"][step], inner
    free = node.get("additionalProperties")
    if not found and isinstance(free, dict):
        yield f"{place}{dot}NAME", free, {}


def _sections(place: str, node: _Node) -> Iterator[tuple[str, _Node]]:
    """The closed mappings that a value may be, or that a list or a free key of it holds, with their paths."""
    node = _referred(node)
    if "properties" in node:
        yield place, node
    for choice in _choices(node):
        yield from _sections(place, choice)
    if isinstance(node.get("items"), dict):
        yield from _sections(f"{place}[]", node["items"])
    if isinstance(node.get("additionalProperties"), dict):
        yield from _sections(f"{place}.NAME", node["additionalProperties"])


def _choices(node: _Node) -> Iterator[_Node]:
    yield from node.get("anyOf", ())
    yield from node.get("oneOf", ())


def _paths(place: str, node: _Node, depth: int) -> Iterator[str]:
    for where, section in _sections(place, node) if depth else ():
        for key, inner in section["properties"].items():
            path = f"{where}{'.' if where else ''}{key}"
            yield path
            yield from _paths(path, inner, depth - 1)


def _fields(entry: KeyEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in KeyEntry.__slots__}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

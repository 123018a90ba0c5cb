"""Inputs made from a tool's input schema: valid ones as far as the schema tells, and such as it forbids.

Every input is a fair question, valid or not, so keywords that this does not know cost variety and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

__all__ = ["generated"]

_DEEPEST = 4
#: Texts that every part of a request can hold, and then such as some cannot.
_TAME = ("a", "Paris", "0", "1e5", "null", "true", "A-1", "2024-01-01", "x@example.com")
_WORDS = (
    *_TAME,
    *('"q"', "{}", "a b"),
    *("é", "日本", "🙂", "a\nb", " lead", "../x", "%2e%2e", "a/b", "?q", "a&b=c", "'; --", "<b>", "\\"),
)
_FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "1999-12-31"),
    "time": ("12:30:00", "00:00:00Z"),
    "date-time": ("2024-02-29T12:30:00Z", "1999-12-31T23:59:59+02:00"),
    "duration": ("P1D", "PT1H30M"),
    "email": ("a@example.com",),
    "uuid": ("6f9619ff-8b86-4d11-b42d-00c04fc964ff",),
    "uri": ("https://example.com/a?b=c",),
    "ipv4": ("127.0.0.1",),
    "ipv6": ("::1",),
    "binary": ("a",),
}
_TAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789"
_LETTERS = _TAME_LETTERS + " _-.,éß日🙂"


def generated(schema: Mapping[str, Any], count: int, random: Random) -> Iterator[dict[str, Any]]:
    """So many inputs, the same for equal states of `random`: the least, the fullest, then valid and invalid."""
    maker = _Maker(schema, random)
    for number in range(count):
        # One text that a header cannot hold hides what becomes of all other arguments.
        maker.tame = number < 2 or number % 5 == 2
        if number < 2:
            yield maker.arguments(0.0 if number == 0 else 1.0)
        elif number % 5 < 3:
            yield maker.arguments(random.random())
        else:
            twist = _TWISTS[(number // 5 * 2 + number % 5 - 3) % len(_TWISTS)]
            yield twist(maker.arguments(random.random()), schema, random)


class _Maker:
    """Values for the schemas of one document."""

    def __init__(self, root: Mapping[str, Any], random: Random) -> None:
        self._root = root
        self._random = random
        #: Whether all texts are such as headers, cookies and paths can hold.
        self.tame = False

    def arguments(self, fullness: float) -> dict[str, Any]:
        """Arguments with every required property, and each other one with this chance."""
        value = self._object(self._resolved(self._root), fullness, 0)
        return value if isinstance(value, dict) else {}

    def value(self, schema: Any, fullness: float, depth: int) -> Any:
        """A value that the schema allows, as far as its keywords are known here."""
        schema, random = self._resolved(schema), self._random
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return random.choice(schema["enum"])
        # What is sent as its default shows nothing, so the fullest arguments have none.
        of_default = [schema["default"]] if "default" in schema and fullness < 1 else []
        likely = [*schema.get("examples", ()), *of_default]
        if likely and random.random() < 0.5:
            return random.choice(likely)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            kinds = random.choice(kinds) if kinds else None
        if schema.get("contentMediaType") == "application/json" and random.random() < 0.5:
            return self.value(schema.get("contentSchema"), fullness, depth)  # clients may send it as it is
        maker = _MAKERS.get(kinds) if isinstance(kinds, str) else None
        return maker(self, schema, fullness, depth) if maker else self._anything(schema, fullness, depth)

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """The schema with references followed, one alternative taken, and the parts of `allOf` laid together."""
        found: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else {}
        for _ in range(20):
            if isinstance(found.get("$ref"), str):
                found = {**self._referred(found.pop("$ref")), **found}
            elif found.get("allOf"):
                for part in found.pop("allOf"):
                    found = _together(found, self._resolved(part))
            else:
                choice = next((key for key in ("anyOf", "oneOf") if found.get(key)), None)
                if choice is None:
                    break
                found = _together(found, self._random.choice(found.pop(choice)))
        return found

    def _referred(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return dict(found) if isinstance(found, Mapping) else {}

    def _object(self, schema: Mapping[str, Any], fullness: float, depth: int) -> dict[str, Any]:
        random, properties = self._random, schema.get("properties", {})
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        wanted = {} if depth >= _DEEPEST else properties
        value = {
            name: self.value(properties.get(name, {}), fullness, depth + 1)
            for name in dict.fromkeys([*required, *wanted])
            if name in required or random.random() < fullness
        }
        rest = schema.get("additionalProperties")
        fewest = schema.get("minProperties", 0)
        if isinstance(rest, Mapping) or not properties:
            fewest = max(
                fewest, random.randint(0, 2) if fullness and rest is not False and depth < _DEEPEST else 0
            )
            for number in range(fewest - len(value)):
                value[f"key{number}"] = self.value(rest, fullness, depth + 1)
        return value

    def _array(self, schema: Mapping[str, Any], fullness: float, depth: int) -> list[Any]:
        first = schema.get("prefixItems", [])
        least = max(schema.get("minItems", 0), len(first))
        most = min(schema.get("maxItems", least + 3), least + 3)
        fewest = max(least, int(fullness))
        size = least if depth >= _DEEPEST or not fullness else self._random.randint(fewest, max(fewest, most))
        entries = [self.value(one, fullness, depth + 1) for one in first]
        items = schema.get("items", {})
        while len(entries) < size:
            entries.append(self.value(items, fullness, depth + 1))
        if schema.get("uniqueItems"):
            entries = [one for number, one in enumerate(entries) if one not in entries[:number]]
        return entries

    def _string(self, schema: Mapping[str, Any], fullness: float, depth: int) -> str:
        random, least = self._random, schema.get("minLength", 0)
        if schema.get("contentMediaType") == "application/json" and random.random() < 0.5:
            return json.dumps(self.value(schema.get("contentSchema"), fullness, depth))
        most = schema.get("maxLength", least + 12)
        pool = list(_FORMATS.get(str(schema.get("format")), _TAME if self.tame else _WORDS))
        letters = _TAME_LETTERS if self.tame else _LETTERS
        free = "".join(random.choices(letters, k=random.randint(least, max(least, min(most, least + 12)))))
        if schema.get("format") not in _FORMATS:
            pool += [free] * len(pool)
        fitting = [word for word in pool if least <= len(word) <= most and _matches(schema.get("pattern"), word)]
        return random.choice(fitting) if fitting else free

    def _integer(self, schema: Mapping[str, Any], fullness: float, depth: int) -> int:
        low, high = self._bounds(schema)
        step = schema.get("multipleOf", 1)
        step = int(step) if step >= 1 else 1
        first, last = math.ceil(low / step), math.floor(high / step)
        return step * (self._random.randint(first, last) if first <= last else first)

    def _number(self, schema: Mapping[str, Any], fullness: float, depth: int) -> float | int:
        if "multipleOf" in schema or self._random.random() < 0.4:
            return self._integer(schema, fullness, depth)
        low, high = self._bounds(schema)
        return round(self._random.uniform(low, high), self._random.randint(0, 6))

    def _bounds(self, schema: Mapping[str, Any]) -> tuple[float, float]:
        low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
        high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
        low += low == schema.get("exclusiveMinimum")
        high -= high == schema.get("exclusiveMaximum")
        if low == -math.inf:
            low = min(0, high) - self._random.choice((0, 10, 1000))
        return low, low + self._random.choice((1, 20, 100_000)) if high == math.inf else high

    def _boolean(self, schema: Mapping[str, Any], fullness: float, depth: int) -> bool:
        return self._random.random() < 0.5

    def _null(self, schema: Mapping[str, Any], fullness: float, depth: int) -> None:
        return None

    def _anything(self, schema: Mapping[str, Any], fullness: float, depth: int) -> Any:
        if "properties" in schema:
            return self._object(schema, fullness, depth)
        simple = self._string, self._integer, self._boolean, self._null
        return self._random.choice((*simple, self._array) if depth < _DEEPEST else simple)({}, fullness, depth)


_Make = Callable[[_Maker, Mapping[str, Any], float, int], Any]
_MAKERS: Mapping[str, _Make] = {
    "object": _Maker._object,
    "array": _Maker._array,
    "string": _Maker._string,
    "integer": _Maker._integer,
    "number": _Maker._number,
    "boolean": _Maker._boolean,
    "null": _Maker._null,
}


def _together(one: Mapping[str, Any], other: Any) -> dict[str, Any]:
    """Two schemas as one that asks for both."""
    other = other if isinstance(other, Mapping) else {}
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        both["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both


def _matches(pattern: Any, word: str) -> bool:
    try:
        return not isinstance(pattern, str) or re.search(pattern, word) is not None
    except re.error:
        return True


# Twists: what the schema forbids, or hardly foresees. Each gives arguments of its own.

_Twist = Callable[[dict[str, Any], Mapping[str, Any], Random], dict[str, Any]]
_OTHER_VALUES: tuple[Any, ...] = ("text", 7, -0.5, True, [], [1, "a"], {}, {"a": None})


def _named(arguments: Mapping[str, Any], schema: Mapping[str, Any], random: Random) -> str:
    names: list[str] = [*arguments, *schema.get("properties", ())]
    return random.choice(names or ["argument"])


def _without(arguments: dict[str, Any], schema: Mapping[str, Any], random: Random) -> dict[str, Any]:
    name = random.choice([*schema.get("required", ()), *arguments] or [""])
    return {key: value for key, value in arguments.items() if key != name}


def _replacing(*values: Any) -> _Twist:
    def twist(arguments: dict[str, Any], schema: Mapping[str, Any], random: Random) -> dict[str, Any]:
        return {**arguments, _named(arguments, schema, random): random.choice(values)}

    return twist


def _unknown(arguments: dict[str, Any], schema: Mapping[str, Any], random: Random) -> dict[str, Any]:
    return {**arguments, random.choice(("unknown", "Ünknown key", "")): random.choice(_OTHER_VALUES)}


def _empty(arguments: dict[str, Any], schema: Mapping[str, Any], random: Random) -> dict[str, Any]:
    return {}


_TWISTS: tuple[_Twist, ...] = (
    _without,
    _replacing(*_OTHER_VALUES),
    _unknown,
    _replacing(None),
    _replacing("", "0", " "),
    _replacing("x" * 5_000, "🙂" * 300, 10**18, 1e300, -1, [0] * 200),
    _replacing(*_WORDS),
    _empty,
)

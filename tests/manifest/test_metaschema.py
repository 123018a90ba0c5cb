"""The metaschema in one piece judges like jsonschema's own."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema_specifications import REGISTRY

from gym_mcp_manifest.manifest.metaschema import metaschema_faults

HOME = "https://json-schema.org/draft/2020-12/"
WHOLE = Draft202012Validator.META_SCHEMA
PIECES = [WHOLE, *(REGISTRY.contents(HOME + piece["$ref"]) for piece in WHOLE["allOf"])]
KEYWORDS = sorted({key for piece in PIECES for key in piece["properties"]})
VALUES: list[Any] = [None, True, -1, 0, 1.5, "", "string", "(", "#a/b", [], ["a"], ["a", "a"], [1], [{}], [True]]
VALUES += [
    {},
    {"a": 1},
    {"a": True},
    {"a": {"type": 1}},
    {"(": {}},
    {"a": ["b"]},
    {"type": "strange"},
    [{"type": 1}],
]
WRAPS: list[Any] = [lambda inner: inner, lambda inner: {"properties": {"a": inner}, "$defs": {"b": {}}}]
WRAPS += [lambda inner: {"anyOf": [{"items": inner}]}, lambda inner: {"not": {"if": {"contains": inner}}}]


def first_fault(schema: Any) -> ValidationError | None:
    return next(metaschema_faults(schema), None)


def is_valid(schema: Any) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_every_keyword_takes_and_refuses_the_same_values_at_every_depth(keyword: str) -> None:
    for value in VALUES:
        for wrap in WRAPS:
            schema = wrap({keyword: value})
            assert (first_fault(schema) is None) == is_valid(schema), schema


@pytest.mark.parametrize("schema", [True, False, {}, [], None, 1, "x", {"x-free": 1, "type": ["string", "null"]}])
def test_what_is_no_schema_at_all_is_refused_the_same(schema: Any) -> None:
    assert (first_fault(schema) is None) == is_valid(schema)


def test_a_fault_has_its_place() -> None:
    fault = first_fault({"properties": {"a": {"items": {"type": "strange"}}}})
    assert fault is not None
    assert list(fault.absolute_path) == ["properties", "a", "items", "type"]


def test_the_metaschema_is_valid_by_itself() -> None:
    assert first_fault(WHOLE) is None

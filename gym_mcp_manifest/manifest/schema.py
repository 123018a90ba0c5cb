"""The JSON Schema of the language, generated from the models, for editors and pre-commit.

Many editors read it as draft-07, under which it says the same: nothing but a description stands beside a
reference, and that repeats the one of what it leads to.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gym_mcp_manifest.manifest.models import SOURCE_KEYS, Language

__all__ = ["language_schema", "language_schema_text"]

_USER_KEY = {"description": "A key of your own: any value, passed over by gym-mcp."}


def language_schema() -> dict[str, Any]:
    """The schema as data, draft 2020-12."""
    schema = Language.model_json_schema(by_alias=True, mode="validation")
    sections = schema["$defs"]
    for name, section in sections.items():
        section["title"] = re.sub(r"(?<=[a-z])[A-Z]", lambda capital: f" {capital[0].lower()}", name)
    for mapping in (schema, *sections.values()):
        mapping["patternProperties"] = {"^x-": _USER_KEY}
        for key in mapping["properties"].values():
            _tidy(key, sections)
    # Only now, since a choice repeats keys.
    for mapping in (schema, *sections.values()):
        for key in mapping["properties"].values():
            if "oneOf" in key.get("items", {}):
                key["items"] = _by_tag(key["items"]["oneOf"], sections)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcp.yaml",
        "description": "Which routes of a FastAPI server agents may call as MCP tools, and how.",
    }
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def language_schema_text() -> str:
    """The schema as it is committed under `schemas/`."""
    return json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(key: dict[str, Any], sections: dict[str, Any]) -> None:
    """Leave what helps: no titles that repeat the key, and only defaults that one would write."""
    key.pop("title", None)
    # What is empty by default need not be written, and editors would write it down.
    if key.get("default") in (None, []) or isinstance(key["default"], dict):
        key.pop("default", None)
    if "$ref" in key:
        key["description"] = _section(key, sections)["description"]
    if "anyOf" in key:
        # One entry or a list of them, or null. Of a choice editors show no description, and beside items they
        # write a list; what each kind demands says nothing about the other.
        one, other = key.pop("anyOf")
        key["type"] = [one.pop("type"), other.pop("type")]
        key["allOf"] = [{**one, **other}]
    if key.get("not") == {} or key.get("enum") == [None]:
        # Editors know it, validators pass it over: a key whose feature is to come is not offered.
        key["doNotSuggest"] = True


def _by_tag(kinds: list[dict[str, str]], sections: dict[str, Any]) -> dict[str, Any]:
    """The choice of a source's kind by the key that tells it, so that a fault is told of that kind alone.

    A source without any such key may have those of every kind, so that editors offer the choice, and lacks one.
    """
    by_key = {_section(kind, sections)["required"][0]: kind for kind in kinds}
    choice = _without_tag([_section(kind, sections) for kind in kinds])
    for tag in reversed(SOURCE_KEYS):
        # The type matters to editors, which ask about entries that are not written yet.
        choice = {"if": {"type": "object", "required": [tag]}, "then": by_key[tag], "else": choice}
    return {"type": "object", **choice}


def _without_tag(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """What a source may say before its kind is told."""
    usable = [kind for kind in kinds if "not" not in kind["properties"][kind["required"][0]]]
    tags = {kind["required"][0]: kind["properties"][kind["required"][0]] for kind in usable}
    first, *others = (kind["properties"] for kind in usable)
    shared = {key: value for key, value in first.items() if all(key in other for other in others)}
    return {
        "title": "Source",
        "description": f"A source has one of the keys {', '.join(tags)}.",
        "properties": {**tags, **shared},
        "patternProperties": {"^x-": _USER_KEY},
        "additionalProperties": False,
        "anyOf": [{"required": [tag]} for tag in tags],
    }


def _section(reference: dict[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = sections[reference["$ref"].rpartition("/")[2]]
    return section

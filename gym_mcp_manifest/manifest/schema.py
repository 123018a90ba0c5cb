"""The JSON Schema of the language, generated from the models, for editors and pre-commit."""

from __future__ import annotations

import json
from typing import Any

from gym_mcp_manifest.manifest.models import Language

__all__ = ["language_schema", "language_schema_text"]


def language_schema() -> dict[str, Any]:
    """The schema as data, draft 2020-12."""
    schema = Language.model_json_schema(by_alias=True, mode="validation")
    for mapping in (schema, *schema["$defs"].values()):
        for key in mapping["properties"].values():
            _tidy(key, schema["$defs"])
    title, description = "mcp.yaml", "Which routes of a FastAPI server agents may call as MCP tools, and how."
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
    }
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _tidy(key: dict[str, Any], sections: dict[str, Any]) -> None:
    """Show only defaults that may be written, and the description that pydantic leaves to the section."""
    if key.get("default") is None or isinstance(key["default"], dict):
        key.pop("default", None)
    if "$ref" in key:
        key.setdefault("description", sections[key["$ref"].rpartition("/")[2]]["description"])


def language_schema_text() -> str:
    """The schema as it is committed under `schemas/`."""
    return json.dumps(language_schema(), indent=2, ensure_ascii=False) + "\n"

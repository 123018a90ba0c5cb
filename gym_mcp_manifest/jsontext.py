"""JSON text as it stands in HTTP bodies: read leniently, written compactly as UTF-8."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["compact", "is_json_type", "is_utf8", "parsed"]


def parsed(text: str | bytes) -> Any:
    """The value that the text spells, or None where it is no JSON (as for the text `null`)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def compact(value: Any) -> bytes:
    """The value as JSON text without white space, escaped throughout where UTF-8 could not carry it."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def is_utf8(text: str) -> bool:
    """Whether the text has no lone surrogate, which JSON can spell but nothing can carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_json_type(media_type: str) -> bool:
    """Whether a media type, in lower case and without parameters, is that of JSON."""
    return media_type == "application/json" or media_type.endswith("+json")

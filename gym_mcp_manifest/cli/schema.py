"""`gym-mcp schema`: the language's JSON Schema, printed or compared."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path

from gym_mcp_manifest.manifest.schema import language_schema, language_schema_text

__all__ = ["run_schema"]


def run_schema(check: Path | None) -> int:
    """Print the schema, or tell whether `check` holds it; compared by content, not by layout."""
    text = language_schema_text()
    if check is None:
        print(text, end="")
        return 0
    try:
        held = check.read_text(encoding="utf-8")
        if json.loads(held) == language_schema():
            return 0
    except (OSError, ValueError) as error:
        print(f"gym-mcp: {check} cannot be compared: {error}", file=sys.stderr)
        return 1
    for line in difflib.unified_diff(held.splitlines(), text.splitlines(), str(check), "the models", lineterm=""):
        print(line)
    print(f"gym-mcp: {check} is out of date; write `gym-mcp schema > {check}`", file=sys.stderr)
    return 1

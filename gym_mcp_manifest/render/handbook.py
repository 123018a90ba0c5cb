"""Explanations of codes and of keys of the language, as text for people and as data."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.codes import EXPLANATIONS
from gym_mcp_manifest.diagnostics import CODES
from gym_mcp_manifest.manifest.handbook import KeyEntry

__all__ = ["code_payload", "keys_payload", "print_code", "print_keys"]

_WIDTH = 100

Payload = dict[str, Any]


def print_code(code: str, console: Console) -> None:
    """Write a code's title, why its rule exists, and how to satisfy it."""
    _say(console, f"{code}: {CODES[code]}", "bold")
    explanation = EXPLANATIONS.get(code)
    if explanation is not None:
        _paragraph(console, explanation.why)
        _paragraph(console, f"Cure: {explanation.cure}")


def code_payload(code: str) -> Payload:
    """The same as data."""
    explanation = EXPLANATIONS.get(code)
    why, cure = (explanation.why, explanation.cure) if explanation else (None, None)
    return {"code": code, "title": CODES[code], "why": why, "cure": cure}


def print_keys(entries: Iterable[KeyEntry], console: Console) -> None:
    """Write what may be written under a key, its default and examples, and the keys below it."""
    for number, entry in enumerate(entries):
        if number:
            _say(console, "")
        where = f" (in a source with {' or '.join(entry.kinds)})" if entry.kinds else ""
        _say(console, f"{entry.path}{where}", "bold")
        facts = [entry.type, "must be written" if entry.required else ""]
        facts.append(f"default {entry.default}" if entry.default is not None else "")
        _say(console, f"  {'; '.join(filter(None, facts))}")
        if entry.later:
            _say(console, "  Comes with a later release; refused until then.", "yellow")
        _paragraph(console, entry.description)
        for example in entry.examples:
            _say(console, f"  for example {example}")
        if entry.keys:
            _say(console, "\n  keys:")
            width = max(len(key) for key, _ in entry.keys)
            for key, description in entry.keys:
                _say(console, f"    {key:<{width}}  {description}".rstrip())


def keys_payload(entries: Iterable[KeyEntry]) -> list[Payload]:
    """The same as data."""
    return [
        {
            "path": entry.path,
            "source_kinds": list(entry.kinds),
            "type": entry.type,
            "required": entry.required,
            "default": json.loads(entry.default) if entry.default is not None else None,
            "description": entry.description,
            "examples": [json.loads(example) for example in entry.examples],
            "later": entry.later,
            "keys": dict(entry.keys),
        }
        for entry in entries
    ]


def _paragraph(console: Console, text: str) -> None:
    if text:
        _say(console, "\n" + textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  "))


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)

"""Cases: the inputs of one call of one tool, recorded in a JSONL file or made from the tool's schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.errors import ManifestError
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Case", "InvalidCases", "read_cases"]

_KEYS = ("tool", "arguments", "seed")


class InvalidCases(ManifestError):
    """A file of recorded cases cannot be used; the text names its line."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call: what is sent to which tool, in a session seeded how; `place` is where it is recorded."""

    tool: str
    arguments: Mapping[str, Any]
    seed: Any
    place: str | None = None


def read_cases(path: Path, tools: Mapping[str, Tool], seed: Any) -> list[Case]:
    """The cases of a JSONL file, blank lines passed over; a row without a seed has the one given.

    Raises:
        InvalidCases: the file cannot be read, or a line is no case of an exposed tool.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidCases(f"--cases: {path} cannot be read: {reason}") from error
    by_name = {tool.own_name: tool.name for tool in tools.values()} | {name: name for name in tools}
    # Only a line feed ends a row: JSON text may hold every other line break of Unicode.
    rows = [(f"{path}:{number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [_case(place, line, by_name, seed) for place, line in rows]


def _case(place: str, line: str, names: Mapping[str, str], seed: Any) -> Case:
    try:
        row = json.loads(line, parse_constant=_no_json)
        # What can be read but never sent: a lone surrogate, and a number beyond all floats.
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise InvalidCases(f"{place}: not JSON that can be sent: {error}") from error
    fault = next(_faults(row, names), None)
    if fault is not None:
        raise InvalidCases(f"{place}: {fault}")
    return Case(names[row["tool"]], row.get("arguments", {}), row.get("seed", seed), place)


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _faults(row: Any, names: Mapping[str, str]) -> Iterator[str]:
    shape = 'a case is an object like {"tool": "NAME", "arguments": {...}}'
    if not isinstance(row, dict):
        yield f"{shape}, and this is {_kind(row)}"
        return
    for key in row:
        if key not in _KEYS and not key.startswith("x-"):
            guess = nearest(key, _KEYS)
            yield f"unknown key {key!r}" + (f"; did you mean {guess!r}?" if guess else f"; {shape}")
    name = row.get("tool")
    if not isinstance(name, str):
        yield f"no name under `tool`; {shape}"
    elif name not in names:
        guess = nearest(name, names)
        yield f"no exposed tool is called {name!r}" + (f"; did you mean {guess!r}?" if guess else "")
    if not isinstance(row.get("arguments", {}), dict):
        yield f"`arguments` is {_kind(row['arguments'])}, and must be an object"


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")

"""The lock file: a surface as JSON that a code review can read, with hashes that tell when a hand changed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.jsontext import is_utf8
from gym_mcp_manifest.manifest.source import read_source
from gym_mcp_manifest.surface.records import Surface, SurfaceTool

__all__ = ["LOCK_FORMAT", "is_lock", "lock_text", "read_lock"]

#: Version of the lock's form; it changes when a reader would have to.
LOCK_FORMAT = 1

_MAX_BYTES = 64 * 1024 * 1024
_TEXTS = ("name", "own_name", "route", "dispatch")
_OPTIONAL_TEXTS = ("title", "description")
_OPTIONAL_OBJECTS = ("annotations", "output_schema")


def lock_text(surface: Surface) -> str:
    """The lock of a surface: sorted keys, the tools in their advertised order, a final newline."""
    payload = {
        "format_version": LOCK_FORMAT,
        "server": surface.server_payload(),
        "sha256": surface.sha256,
        "tools": [{**tool.payload(), "sha256": tool.sha256} for tool in surface.tools],
    }
    text = json.dumps(payload, indent=2, sort_keys=True, ensure_ascii=False)
    if not is_utf8(text):
        text = json.dumps(payload, indent=2, sort_keys=True)
    return text + "\n"


def read_lock(path: Path, write: str) -> Surface:
    """The surface that a lock file holds; `write` is the command that would write the file.

    Raises:
        ManifestInvalid: the file is missing, no lock, of a later release (GMM611) or edited (GMM612).
    """
    source, found = read_source(path, max_bytes=_MAX_BYTES)
    if source is None:
        hint = f"write it: {write}" if not path.exists() else f"write it again: {write}"
        raise ManifestInvalid(Diagnostic(code="GMM611", message=d.message, span=d.span, hint=hint) for d in found)
    again = f"compare with a file that {write} wrote"
    try:
        data = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        line, column = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (1, 1)
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        span = Span(str(path), line, column)
        raise _unusable(f"the surface lock is no JSON: {reason}", span, f"write it again: {write}") from error
    span = Span(str(path), 1, 1)
    version = data.get("format_version") if isinstance(data, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > LOCK_FORMAT:
        message = (
            f"the surface lock has format {version}, which a later release wrote; this one knows {LOCK_FORMAT}"
        )
        raise _unusable(message, span, f"update gym-mcp, or write it again: {write}")
    surface = _surface(data)
    if surface is None:
        raise _unusable("the file is no surface lock", span, again)
    _check_hashes(surface, data, span, write)
    return surface


def is_lock(path: Path) -> bool:
    """Whether the file is a surface lock of whatever state, and so may be written anew."""
    source, _ = read_source(path, max_bytes=_MAX_BYTES)
    if source is None:
        return False
    try:
        data = json.loads(source.text)
    except (ValueError, RecursionError):
        # What a merge left of a lock is still one.
        return '"format_version"' in source.text and '"sha256"' in source.text
    return isinstance(data, dict) and "format_version" in data and "sha256" in data


def _surface(data: Any) -> Surface | None:
    """The surface in the data of a lock, or None where they are none."""
    if not isinstance(data, dict) or data.get("format_version") != LOCK_FORMAT or "sha256" not in data:
        return None
    server, rows = data.get("server"), data.get("tools")
    if not isinstance(server, dict) or not isinstance(server.get("name"), str) or not isinstance(rows, list):
        return None
    words = [server.get(key) for key in ("title", "instructions")]
    tools = [_tool(row) for row in rows]
    if not all(word is None or isinstance(word, str) for word in words) or None in tools:
        return None
    known = tuple(tool for tool in tools if tool is not None)
    return Surface(server=server["name"], title=words[0], instructions=words[1], tools=known)


def _tool(row: Any) -> SurfaceTool | None:
    if not isinstance(row, dict) or not isinstance(row.get("input_schema"), dict):
        return None
    sound = (
        *(isinstance(row.get(key), str) for key in _TEXTS),
        *(row.get(key) is None or isinstance(row[key], str) for key in _OPTIONAL_TEXTS),
        *(row.get(key) is None or isinstance(row[key], dict) for key in _OPTIONAL_OBJECTS),
    )
    fields: dict[str, Any] = {key: row.get(key) for key in SurfaceTool.__slots__}
    return SurfaceTool(**fields) if all(sound) else None


def _check_hashes(surface: Surface, data: Mapping[str, Any], span: Span, write: str) -> None:
    edited = [
        tool.name
        for tool, row in zip(surface.tools, data["tools"], strict=True)
        if row.get("sha256") != tool.sha256
    ]
    if not edited and data["sha256"] == surface.sha256:
        return
    what = f"the hash of {', '.join(edited[:3])} does not fit" if edited else "the hash of the whole does not fit"
    if len(edited) > 3:
        what = what.replace(" does not fit", f" and {len(edited) - 3} more does not fit")
    message = f"the surface lock was changed by hand or by a merge: {what}"
    raise ManifestInvalid([Diagnostic(code="GMM612", message=message, span=span, hint=f"write it again: {write}")])


def _unusable(message: str, span: Span, hint: str) -> ManifestInvalid:
    return ManifestInvalid([Diagnostic(code="GMM611", message=message, span=span, hint=hint)])

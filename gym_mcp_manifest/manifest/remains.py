"""What can still be told of the data when the manifest that names them is faulty.

Only the keys that name data count, and of these all but the faulty parts. The language that is left is good for
findings about data, never for anything else.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.faults import path_of
from gym_mcp_manifest.manifest.keys import Path as KeyPath
from gym_mcp_manifest.manifest.layers import Layered, Places
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import Language
from gym_mcp_manifest.manifest.source import SourceFile
from gym_mcp_manifest.manifest.speccheck import check_specs
from gym_mcp_manifest.manifest.yamldoc import parse_document

__all__ = ["remaining_findings"]

#: These stand in for faulty entries, so that the others keep their places; neither gives any data.
_NO_ENTRY: Mapping[str, Any] = {"route": "/{name}", "ignore": True}
_NO_SOURCE: Mapping[str, Any] = {"python": "none:NONE", "optional": True}
#: How often parts are taken out: a union may show one fault only after another is gone.
_ROUNDS = 3


def remaining_findings(source: SourceFile, folder: Path) -> tuple[Diagnostic, ...]:
    """The errors in the data that a faulty manifest names in parts which are in order themselves."""
    document, _ = parse_document(source)
    if document is None or not isinstance(document.data, dict):
        return ()
    data = _about_data(document.data)
    language = _language(data)
    if language is None:
        return ()
    manifest = Manifest(language, Layered(data, Places(source.name, document)), folder)
    # What a tool is called and told as may hang on a part that is gone.
    return tuple(d for d in check_specs(manifest, folder) if d.severity == "error" and _is_about_data(d))


def _is_about_data(finding: Diagnostic) -> bool:
    return finding.code.startswith(("GMM1", "GMM4")) or finding.code in ("GMM208", "GMM209", "GMM601")


def _about_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a manifest that name data."""
    kept = {key: data[key] for key in ("catch_all", "tools") if key in data}
    routes = data.get("routes")
    specs = {"routes": {"specs": routes["specs"]}} if isinstance(routes, dict) and "specs" in routes else {}
    return copy.deepcopy({"version": 1, **kept, **specs})


def _language(data: dict[str, Any]) -> Language | None:
    """The language without its faulty parts, which are taken out of the data."""
    for _ in range(_ROUNDS):
        try:
            return Language.model_validate(data)
        except ValidationError as error:
            details = error.errors(include_url=False)
            _take_out(data, {_part(path_of(detail, data)) for detail in details})
    return None


def _part(path: KeyPath) -> KeyPath:
    """The part that a fault at `path` spoils."""
    match path:
        case "catch_all", entry, "tools", source, *_:
            return "catch_all", entry, "tools", source
        case "routes", "specs", source, *_:
            return "routes", "specs", source
        case (("catch_all" | "tools"), holder, key, *_):
            return path[0], holder, key
    return path


def _take_out(data: dict[str, Any], paths: Iterable[KeyPath]) -> None:
    for path in paths:
        holder: Any = data
        for step in path[:-1]:
            holder = holder[step]
        if isinstance(holder, list) and isinstance(path[-1], int):
            holder[path[-1]] = dict(_NO_ENTRY if path[0] == "catch_all" and len(path) == 2 else _NO_SOURCE)
        elif isinstance(holder, dict) and path:
            holder.pop(path[-1], None)

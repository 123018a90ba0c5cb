"""Declarative exposure of FastAPI servers as MCP tools: an `mcp.yaml` beside the code, no code in the server.

The names below are the public API; everything else is private by convention. They are imported on first use,
so that reading a manifest needs neither FastAPI nor the MCP SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_mcp_manifest.diagnostics import Diagnostic
    from gym_mcp_manifest.errors import ExposureRefused, ManifestError, ManifestInvalid
    from gym_mcp_manifest.install import expose
    from gym_mcp_manifest.manifest.loader import Manifest, load_manifest
    from gym_mcp_manifest.plan.records import ExposurePlan

__all__ = [
    "Diagnostic",
    "ExposurePlan",
    "ExposureRefused",
    "Manifest",
    "ManifestError",
    "ManifestInvalid",
    "expose",
    "load_manifest",
]

_HOMES = {
    "Diagnostic": "diagnostics",
    "ExposurePlan": "plan.records",
    "ExposureRefused": "errors",
    "Manifest": "manifest.loader",
    "ManifestError": "errors",
    "ManifestInvalid": "errors",
    "expose": "install",
    "load_manifest": "manifest.loader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""`gym-mcp validate`: manifests and their data files, without any app."""

from __future__ import annotations

import sys
from pathlib import Path

from gym_mcp_manifest.diagnostics import Diagnostic, sorted_diagnostics
from gym_mcp_manifest.manifest.loader import DEFAULT_MANIFEST_NAME, read_manifest, read_manifest_text
from gym_mcp_manifest.manifest.specs import check_specs
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.findings import counted, findings_json, print_findings, summary

__all__ = ["run_validate"]


def run_validate(files: list[str], output: str, *, strict: bool, data: Path | None) -> int:
    """Check every file and print all findings; the exit code."""
    found = sorted_diagnostics(finding for name in files for finding in _check(name, data))
    bad = any(d.severity == "error" or strict for d in found)
    if output == "json":
        print(findings_json(found, len(files)))
        return int(bad)
    print_findings(found, open_console())
    print(f"{counted(len(files), 'file')} checked: {summary(found)}", file=sys.stderr)
    return int(bad)


def _check(name: str, data: Path | None) -> tuple[Diagnostic, ...]:
    if name == "-":
        manifest, found = read_manifest_text("<stdin>", sys.stdin.buffer.read(), data)
    else:
        path = Path(name)
        manifest, found = read_manifest(path / DEFAULT_MANIFEST_NAME if path.is_dir() else path)
    if manifest is None or (name == "-" and data is None):
        return found
    return (*found, *check_specs(manifest, data))

"""`gym-mcp plan`: every decision about a target, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gym_mcp_manifest.cli.target import load_target
from gym_mcp_manifest.install import plan_exposure
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.plans import plan_json, print_plan

__all__ = ["run_plan"]


def run_plan(
    target: str,
    config: Path | None,
    server: str | None,
    overrides: Sequence[str],
    *,
    as_json: bool,
    strict: bool,
) -> int:
    """Print the plan; 1 where the app would not boot."""
    loaded = load_target(target, config, server, overrides, assume_on=True)
    plan = plan_exposure(loaded.app, instance=loaded.instance, manifest=loaded.manifest)
    notes = (
        "No configuration given: assuming an instance with exposure on." if loaded.assumed else None,
        loaded.defaults_note,
    )
    for note in filter(None, notes):
        open_console(stderr=True).print(note, style="dim", soft_wrap=True, highlight=False, markup=False)
    if as_json:
        print(plan_json(plan))
    else:
        print_plan(plan, open_console())
    return int(bool(plan.errors) or (strict and bool(plan.diagnostics)))

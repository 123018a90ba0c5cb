"""`gym-mcp plan`: every decision about a target, before it runs, and the surface that it gives agents."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_mcp_manifest.cli.files import write_file
from gym_mcp_manifest.cli.target import Loaded, load_target
from gym_mcp_manifest.explain.arguments import arguments_of
from gym_mcp_manifest.explain.settings import settings_of
from gym_mcp_manifest.explain.visible import visible_in
from gym_mcp_manifest.install import plan_exposure
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, ExposurePlan
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.diffs import diff_json, print_diff
from gym_mcp_manifest.render.findings import counted, print_findings
from gym_mcp_manifest.render.plans import plan_json, print_plan
from gym_mcp_manifest.surface.diff import compare
from gym_mcp_manifest.surface.lock import is_lock, lock_text, read_lock
from gym_mcp_manifest.surface.records import surface_of

__all__ = ["PlanTarget", "merged_manifest", "print_notes", "run_check", "run_lock", "run_plan"]


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """A target with its instance settings, as the command line names them."""

    target: str
    config: Path | None
    server: str | None
    overrides: Sequence[str]

    def load(self) -> Loaded:
        """The app with its manifest and instance; exposure is assumed on where nothing says otherwise."""
        return load_target(self.target, self.config, self.server, self.overrides, assume_on=True)

    def command(self, option: str, file: Path) -> str:
        """The `gym-mcp plan` that does something else with a lock file of the same target."""
        settings = [
            *(("--config", str(self.config)) if self.config else ()),
            *(("--server", self.server) if self.server else ()),
        ]
        # What an override says may be secret; its presence is not.
        rest = ["..."] if self.overrides else []
        return " ".join(
            [f"`gym-mcp plan {shlex.join([self.target, *settings])}", *rest, f"{option} {shlex.quote(str(file))}`"]
        )


def run_plan(chosen: PlanTarget, *, as_json: bool, strict: bool) -> int:
    """Print the plan; 1 where the app would not boot."""
    loaded = chosen.load()
    plan = _planned(loaded)
    merged = merged_manifest(loaded)
    visible = visible_in(plan, merged)
    layers = loaded.instance.layers if plan.on else ()
    settings = settings_of(loaded.manifest, layers, merged, visible, loaded.instance)
    dropped = merged.places.dropped
    if as_json:
        arguments = {tool.name: arguments_of(tool, merged, visible) for tool in plan.tools}
        print(plan_json(plan, arguments, settings, dropped))
    else:
        print_plan(plan, open_console(), settings=settings, dropped=dropped)
    return int(_stops(plan, strict))


def run_lock(chosen: PlanTarget, lock: Path, *, as_json: bool, strict: bool) -> int:
    """Write the surface to a lock file; 1 where there is none to write."""
    plan = _planned(chosen.load())
    if _has_no_surface(plan, strict, f"{lock} is not written"):
        return 1
    surface = surface_of(plan)
    if lock.exists() and not is_lock(lock):
        print(f"gym-mcp: {lock} is no surface lock, and is left alone; name another file", file=sys.stderr)
        return 1
    write_file(lock, lock_text(surface), replace=True)
    if as_json:
        told = {"format_version": 1, "lock": str(lock), "tools": len(surface.tools), "sha256": surface.sha256}
        print(json.dumps(told, indent=2))
    else:
        print(f"{plan.server_name}: the surface of {counted(len(plan.tools), 'tool')} is in {lock}")
    return 0


def run_check(chosen: PlanTarget, lock: Path, *, as_json: bool, strict: bool) -> int:
    """Compare the surface with a lock file; 1 with a diff where it moved."""
    write = chosen.command("--lock", lock)
    locked = read_lock(lock, write)
    plan = _planned(chosen.load())
    if _has_no_surface(plan, strict, f"it is not compared with {lock}"):
        return 1
    changes = compare(locked, surface_of(plan))
    if as_json:
        print(diff_json(changes, str(lock)))
    else:
        print_diff(changes, str(lock), open_console())
    if changes:
        print(f"gym-mcp: if this is meant, accept it: {write}", file=sys.stderr)
    return int(bool(changes))


def print_notes(loaded: Loaded) -> None:
    """Tell on standard error what was assumed about a target."""
    notes = (
        "No configuration given: assuming an instance with exposure on." if loaded.assumed else None,
        loaded.defaults_note,
    )
    for note in filter(None, notes):
        open_console(stderr=True).print(note, style="dim", soft_wrap=True, highlight=False, markup=False)


def merged_manifest(loaded: Loaded) -> Manifest:
    """The manifest with what the instance says laid over it, as far as exposure is on."""
    return loaded.manifest.under_layers(loaded.instance.layers) if loaded.instance.on else loaded.manifest


def _planned(loaded: Loaded) -> ExposurePlan:
    plan = plan_exposure(loaded.app, instance=loaded.instance, manifest=loaded.manifest)
    print_notes(loaded)
    return plan


def _has_no_surface(plan: ExposurePlan, strict: bool, consequence: str) -> bool:
    """Whether agents would be shown nothing, which is then told."""
    if not plan.on:
        print(f"gym-mcp: exposure is off, so {consequence}; to turn it on, {ADVICE_TO_TURN_ON}", file=sys.stderr)
        return True
    if _stops(plan, strict):
        print_findings(plan.diagnostics, open_console(stderr=True))
        what = counted(len(plan.errors), "error") if plan.errors else counted(len(plan.diagnostics), "warning")
        print(f"gym-mcp: the plan has {what}, so {consequence}", file=sys.stderr)
        return True
    if plan.diagnostics:
        what = counted(len(plan.diagnostics), "warning")
        print(f"gym-mcp: the plan has {what}; without --lock and --check it shows them", file=sys.stderr)
    return False


def _stops(plan: ExposurePlan, strict: bool) -> bool:
    return bool(plan.errors) or (strict and bool(plan.diagnostics))

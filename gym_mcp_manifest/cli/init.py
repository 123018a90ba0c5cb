"""`gym-mcp init`: a first manifest from the live app, which boots where the app can."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from fastapi import FastAPI

from gym_mcp_manifest.cli.files import CannotWrite, write_file
from gym_mcp_manifest.cli.target import load_app
from gym_mcp_manifest.draft.decide import decide, mended, with_source
from gym_mcp_manifest.draft.records import Draft
from gym_mcp_manifest.draft.sources import find_source
from gym_mcp_manifest.draft.text import draft_text
from gym_mcp_manifest.install import plan_exposure
from gym_mcp_manifest.instance import Instance
from gym_mcp_manifest.manifest.loader import (
    DEFAULT_MANIFEST_NAME,
    Manifest,
    manifest_from_mapping,
    read_manifest_source,
)
from gym_mcp_manifest.manifest.source import SourceFile
from gym_mcp_manifest.plan.records import ExposurePlan
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.findings import counted, print_findings
from gym_mcp_manifest.routes.harvest import harvest_routes
from gym_mcp_manifest.routes.middleware import installed_middleware, session_cookie, session_secret

__all__ = ["run_init"]

_NEAR_NAMES = ("mcp.yml", "mcp.json")
_SCHEMA_NAMES = ("mcp.schema.json", "schemas/mcp.schema.json")
#: Settling one error may bring another to light; each kind is met once.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class _Live:
    """A live app under an instance that is on and says nothing else."""

    app: FastAPI
    folder: Path

    def plan(self, manifest: Manifest) -> ExposurePlan:
        instance = Instance(name=self.folder.resolve().name, on=True)
        return plan_exposure(self.app, instance=instance, manifest=manifest)

    @property
    def middleware(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in installed_middleware(self.app) if not entry.is_session)

    @property
    def runs_whole(self) -> bool:
        """Whether calls may run the whole app: its sessions, where it has any, are Starlette's own."""
        return session_secret(self.app) is None or session_cookie(self.app) is not None


def run_init(target: str, output: str | None, *, force: bool) -> int:
    """Write the manifest, or print it where `output` is `-`; 1 where it is there already."""
    app, folder = load_app(target)
    path = folder / DEFAULT_MANIFEST_NAME if output in (None, "-") else Path(str(output))
    if output != "-" and not force:
        _refuse_to_replace(path, folder)
    live = _Live(app, folder)
    schema = _schema_near(path)
    draft = _drafted(live, schema)
    text = draft_text(draft, schema)
    plan = live.plan(_read(text, str(path), folder))
    if output == "-":
        print(text, end="")
    else:
        write_file(path, text, replace=True)
    _report(plan, draft, None if output == "-" else path)
    if output != "-":
        print(_next_step(path, folder, target), file=sys.stderr)
    return 0


def _drafted(live: _Live, schema: str | None) -> Draft:
    default = live.plan(manifest_from_mapping({"version": 1}, live.folder))
    draft = decide(default, harvest_routes(live.app), live.middleware, runs_whole=live.runs_whole)
    able = [dispatcher for dispatcher in draft.dispatchers if dispatcher.can_dispatch]
    if able:
        typed = {entry.text.removeprefix("/") for entry in draft.include}
        source = find_source(live.folder, able[0].path, typed)
        draft = with_source(draft, source) if source else draft
    for _ in range(_ROUNDS):
        plan = live.plan(_read(draft_text(draft, schema), DEFAULT_MANIFEST_NAME, live.folder))
        better = mended(draft, plan, live.middleware)
        if better == draft:
            break
        draft = better
    return draft


def _read(text: str, name: str, folder: Path) -> Manifest:
    manifest, found = read_manifest_source(SourceFile(name, text), folder)
    if manifest is None:
        raise AssertionError(f"the drafted manifest is not valid: {'; '.join(map(str, found))}")
    return manifest


def _refuse_to_replace(path: Path, folder: Path) -> None:
    beside = [folder / name for name in _NEAR_NAMES] if path == folder / DEFAULT_MANIFEST_NAME else []
    for there in (path, *beside):
        if there.exists() or there.is_symlink():
            raise CannotWrite(
                f"{there} is there already, and was left as it is; --force writes {path} all the same, and "
                "`-o -` prints the manifest instead"
            )


def _schema_near(path: Path) -> str | None:
    """The language's JSON Schema as a path from the manifest: beside it, or in a folder above that has it."""
    here = path.absolute().parent
    for folder in (here, *here.parents):
        for name in _SCHEMA_NAMES:
            if _is_schema(folder / name):
                return Path(os.path.relpath(folder / name, here)).as_posix()
        if (folder / ".git").exists():
            break
    return None


def _is_schema(path: Path) -> bool:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("title") == DEFAULT_MANIFEST_NAME


def _report(plan: ExposurePlan, draft: Draft, path: Path | None) -> None:
    """Tell on standard error what was written and what needs a second look."""
    notes = [f"wrote {path}: {counted(len(plan.tools), 'tool')}"] if path else []
    if draft.exclude:
        notes.append(
            f"{counted(len(draft.exclude), 'route')} cannot be a tool: see `routes.exclude` for the reasons"
        )
    by_route = [tool.key for tool in draft.tools if tool.by_route]
    if by_route:
        notes.append(f"dispatched by `route`, which takes their shape: {', '.join(by_route)}")
    if draft.run_middleware:
        notes.append(f"dispatched by `app`, which runs the middleware: {', '.join(draft.run_middleware)}")
    if draft.skip_middleware:
        notes.append(f"READ `skip_middleware`: MCP calls do not pass through {', '.join(draft.skip_middleware)}")
    notes += [f"POST {d.path} is ignored: {d.reason}" for d in draft.dispatchers if d.source is None]
    for note in notes:
        print(note, file=sys.stderr)
    if plan.errors:
        print_findings(plan.errors, open_console(stderr=True))
        print("No manifest settles what stands above; the app would not boot with its tools.", file=sys.stderr)


def _next_step(path: Path, folder: Path, target: str) -> str:
    if path.resolve() == (folder / DEFAULT_MANIFEST_NAME).resolve():
        return f"Next: gym-mcp plan {quote(target)}"
    if path.resolve().is_relative_to(folder.resolve()):
        named = path.resolve().relative_to(folder.resolve()).as_posix()
        return f"Next: name it in the instance's configuration, `mcp_manifest: {named}`"
    return f"Next: move it to {folder / DEFAULT_MANIFEST_NAME}, where it is read"

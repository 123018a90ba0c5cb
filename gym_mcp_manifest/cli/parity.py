"""`gym-mcp parity`: the same inputs through plain HTTP and through MCP, against one running server."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import httpx
import typer

from gym_mcp_manifest.cli.call import running
from gym_mcp_manifest.cli.plan import PlanTarget, print_notes
from gym_mcp_manifest.cli.serve import exposed_app
from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.errors import ExposureRefused, ManifestError
from gym_mcp_manifest.install import plan_exposure
from gym_mcp_manifest.parity.cases import read_cases
from gym_mcp_manifest.parity.document import Documents, documents_of
from gym_mcp_manifest.parity.doors import Doors, Read
from gym_mcp_manifest.parity.run import Inputs, ToolReport, compared
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, ExposurePlan, Tool
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.parity import parity_json, print_difference, print_tool, print_total
from gym_mcp_manifest.routes.harvest import HarvestedRoute, harvest_routes, serving_route
from gym_mcp_manifest.routes.middleware import kept_back

__all__ = ["ParityOptions", "read_of", "run_parity"]

#: Those who log a handler's exception, which is an answer like any other here.
_LOGS = ("uvicorn.error", "gym_mcp_manifest")
#: How many tools a usage error names.
_NAMED = 20


class NothingToCompare(ManifestError):
    """Exposure is off, or there is no tool to call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityOptions:
    """What is sent, and what counts as a difference."""

    seed: Any
    cases: Path | None
    examples: int
    random_seed: int
    tools: Sequence[str]
    after: Read | None
    ignore: Sequence[str]
    destructive: bool
    #: Names and values, which may be secret, of what clients send through both doors.
    headers: Sequence[tuple[str, str]] = field(repr=False)
    seconds: float


def run_parity(chosen: PlanTarget, options: ParityOptions, *, as_json: bool) -> int:
    """Compare and print; 1 where a tool differs, or none was compared."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # what the app prints is no JSON
        server, reports = _reports(chosen, options, as_json)
    if as_json:
        print(parity_json(server, reports, options.random_seed))
    else:
        console = open_console()
        for report in reports:
            if report.finding is not None:
                print_difference(report, console)
        print_total(server, reports, options.random_seed, console)
    if all(report.verdict == "skipped" for report in reports):
        print("gym-mcp: nothing was compared", file=sys.stderr)
        return 1
    unproved = [report.tool.name for report in reports if report.answers and "ok" not in report.answers]
    if unproved:
        print(
            f"gym-mcp: no case succeeded, which shows little, of {', '.join(unproved)}; give good arguments with "
            "--cases, credentials with --header",
            file=sys.stderr,
        )
    missed = [report.missed for report in reports if report.missed]
    for place in missed:
        print(f"gym-mcp: the recorded case at {place} was not compared: no answer in time", file=sys.stderr)
    return int(bool(missed) or any(report.verdict == "different" for report in reports))


def _reports(chosen: PlanTarget, options: ParityOptions, as_json: bool) -> tuple[str, list[ToolReport]]:
    loaded = chosen.load()
    print_notes(loaded)
    if not loaded.instance.on:
        raise NothingToCompare(f"{loaded.instance.name}: exposure is off; to turn it on, {ADVICE_TO_TURN_ON}")
    routes = harvest_routes(loaded.app)
    plan = plan_exposure(loaded.app, instance=loaded.instance, manifest=loaded.manifest)
    if plan.errors:
        raise ExposureRefused(plan.errors)
    tools = _narrowed(plan, options.tools)
    if options.after is not None:
        _require_route(options.after, routes)
    recorded = read_cases(options.cases, {t.name: t for t in plan.tools}, options.seed) if options.cases else []
    inputs = Inputs(recorded, options.examples, options.random_seed, options.seed)
    skipped = _skipped(plan, tools, options.destructive)
    documents = documents_of(loaded.app)
    _tell_of_undocumented(tools, documents)
    width = max(len(tool.name) for tool in tools)

    async def compare(base: str, progress: _Progress) -> list[ToolReport]:
        # A connection for each request: one that the server is about to close must not be taken for its answer.
        one_use = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(trust_env=False, limits=one_use) as http:
            doors = Doors(
                base,
                http,
                plan,
                routes,
                documents,
                kept_back=kept_back(loaded.app, loaded.instance.headers),
                after=options.after,
                headers=[(name, value.get_secret_value()) for name, value in loaded.instance.headers.fixed],
                forwarded=options.headers,
                seconds=options.seconds,
            )
            reports: list[ToolReport] = []
            found = compared(tools, doors, inputs, ignore=options.ignore, skipped=skipped, tell=progress.tell)
            async for report in found:
                reports.append(report)
                if not as_json:
                    with progress.aside():
                        print_tool(report, width, open_console())
            return reports

    with running(exposed_app(loaded)) as base, _without_logs(), _Progress() as progress:
        return plan.server_name, asyncio.run(compare(base, progress))


def _require_route(read: Read, routes: Sequence[HarvestedRoute]) -> None:
    path = read.path.partition("?")[0]
    if serving_route(routes, read.method, path) is None and not any(route.is_blind for route in routes):
        readable = [route.label for route in routes if route.method in ("GET", "POST")]
        guess = nearest(f"{read.method} {path}", readable)
        hint = f"; did you mean {guess!r}?" if guess else ""
        raise typer.BadParameter(f"--after: the app has no route {read.method} {path}{hint}")


def _narrowed(plan: ExposurePlan, globs: Sequence[str]) -> list[Tool]:
    """The tools whose own or exposed name one of the globs matches; all without globs."""
    for glob in globs:
        if not any(_is_named(tool, glob) for tool in plan.tools):
            names = [tool.name for tool in plan.tools]
            guess = nearest(glob, names)
            hint = f"; did you mean {guess!r}?" if guess else f"; there are {', '.join(names[:_NAMED])}"
            raise typer.BadParameter(f"--tool: no exposed tool is called {glob!r}{hint}")
    if not plan.tools:
        raise NothingToCompare(f"{plan.server_name}: no tool is exposed, so there is nothing to compare")
    return [tool for tool in plan.tools if not globs or any(_is_named(tool, glob) for glob in globs)]


def _is_named(tool: Tool, glob: str) -> bool:
    return fnmatchcase(tool.name, glob) or fnmatchcase(tool.own_name, glob)


def _skipped(plan: ExposurePlan, tools: Sequence[Tool], destructive: bool) -> dict[str, str]:
    """The tools that are not called, with the reason; tells what is risky about the others."""
    harmful = [tool.name for tool in tools if (tool.annotations or {}).get("destructiveHint") is True]
    if harmful:
        listed = ", ".join(harmful)
        what = "are called" if destructive else "are skipped; --destructive calls them"
        print(f"gym-mcp: destructive by their annotations, these {what}: {listed}", file=sys.stderr)
    if not plan.uses_tokens:
        print("gym-mcp: there are no sessions, so every call meets what those before it left", file=sys.stderr)
    return {} if destructive else dict.fromkeys(harmful, "destructive by its annotations")


def _tell_of_undocumented(tools: Sequence[Tool], documents: Documents) -> None:
    """Tell of the tools whose plain requests nothing but the tools themselves can tell how to make."""
    left = [tool.name for tool in tools if (tool.method, tool.route) not in documents]
    if left:
        print(
            f"gym-mcp: not in the app's OpenAPI schema, so asked by the tools' own word alone: {', '.join(left)}",
            file=sys.stderr,
        )


@contextmanager
def _without_logs() -> Iterator[None]:
    logs = [logging.getLogger(name) for name in _LOGS]
    before = [log.disabled for log in logs]
    for log in logs:
        log.disabled = True
    try:
        yield
    finally:
        for log, was in zip(logs, before, strict=True):
            log.disabled = was


class _Progress:
    """Tells on a terminal how far it is; elsewhere nothing."""

    def __init__(self) -> None:
        console = open_console(stderr=True)
        self._status = console.status("") if console.is_terminal else None

    def __enter__(self) -> _Progress:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def tell(self, name: str, number: int) -> None:
        """So many cases of a tool are done."""
        if self._status:
            self._status.update(f"{name}  {number}")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the line to somebody else for a while."""
        self.__exit__()
        yield
        self.__enter__()


def read_of(route: str | None, body: str) -> Read | None:
    """The read that `--after` and `--after-body` name: `[METHOD ]PATH` and JSON.

    Raises:
        typer.BadParameter: it is no path of a GET or POST route, or the body is no JSON.
    """
    if route is None:
        return None
    method, _, path = route.rpartition(" ")
    if method.strip().upper() not in ("", "GET", "POST") or not path.startswith("/"):
        raise typer.BadParameter(f"--after: {route!r} is neither /PATH, `POST /PATH` nor `GET /PATH`")
    try:
        return Read(method.strip().upper() or "POST", path, json.loads(body))
    except ValueError as error:
        raise typer.BadParameter(f"--after-body: not JSON: {error}") from error

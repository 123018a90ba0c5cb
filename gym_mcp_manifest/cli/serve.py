"""`gym-mcp serve`: the target as a running server."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from rich.console import Console

from gym_mcp_manifest.cli.target import Loaded, load_target, switched_on
from gym_mcp_manifest.install import expose, plan_exposure
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON
from gym_mcp_manifest.render.plans import print_plan

__all__ = ["ServeOptions", "exposed_app", "run_serve", "worker_app"]

_OPTIONS_VARIABLE = "GYM_MCP_SERVE_OPTIONS"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What a worker process needs to build the same app again."""

    target: str
    config: str | None
    server: str | None
    overrides: tuple[str, ...]
    expose: bool


def run_serve(options: ServeOptions, host: str, port: int, workers: int, log_level: str) -> int:
    """Serve until interrupted; refusals are printed and nothing is served then."""
    loaded = _load(options)
    if loaded.assumed and not options.expose:
        print(
            f"gym-mcp: no configuration turns exposure on; {ADVICE_TO_TURN_ON}, or give --expose",
            file=sys.stderr,
        )
        return 2
    plan = plan_exposure(
        loaded.app, instance=loaded.instance, manifest=loaded.manifest, folder=loaded.manifest.folder
    )
    print_plan(plan, Console(stderr=True), show_excluded=False)
    if plan.errors:
        return 1
    _log_to_stderr(log_level)
    if workers > 1:
        os.environ[_OPTIONS_VARIABLE] = json.dumps(asdict(options))
        factory = f"{__name__}:worker_app"
        uvicorn.run(factory, factory=True, host=host, port=port, workers=workers, log_level=log_level)
    else:
        uvicorn.run(exposed_app(loaded), host=host, port=port, log_level=log_level)
    return 0


def worker_app() -> FastAPI:
    """The exposed app, built in a worker process from its parent's options."""
    raw = json.loads(os.environ[_OPTIONS_VARIABLE])
    return exposed_app(_load(ServeOptions(**{**raw, "overrides": tuple(raw["overrides"])})))


def exposed_app(loaded: Loaded) -> FastAPI:
    """The target's app with its tools at /mcp, or untouched where exposure is off."""
    if loaded.instance.on:
        expose(
            loaded.app,
            name=loaded.instance.name,
            manifest=loaded.manifest,
            instance=loaded.instance,
            folder=loaded.manifest.folder,
        )
    return loaded.app


def _load(options: ServeOptions) -> Loaded:
    config = Path(options.config) if options.config else None
    loaded = load_target(options.target, config, options.server, options.overrides, assume_on=options.expose)
    return switched_on(loaded) if options.expose else loaded


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    log = logging.getLogger("gym_mcp_manifest")
    log.addHandler(handler)
    log.setLevel(level.upper())

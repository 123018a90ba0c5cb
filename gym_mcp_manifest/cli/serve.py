"""`gym-mcp serve`: the target as a running server."""

from __future__ import annotations

import inspect
import json
import logging
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from gym_mcp_manifest.cli.target import Loaded, load_target, switched_on
from gym_mcp_manifest.errors import ManifestError
from gym_mcp_manifest.install import expose, plan_exposure
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.plans import print_plan

__all__ = ["ServeOptions", "exposed_app", "run_serve", "worker_app"]

_OPTIONS_VARIABLE = "GYM_MCP_SERVE_OPTIONS"
#: Uvicorn's supervisor starts a worker again unless it ended with this code.
_STARTUP_FAILURE = 3


class CannotListen(ManifestError):
    """The address is taken, forbidden or not of this machine."""


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
    plan = plan_exposure(loaded.app, instance=loaded.instance, manifest=loaded.manifest)
    if loaded.defaults_note:
        print(loaded.defaults_note, file=sys.stderr)
    print_plan(plan, open_console(stderr=True), brief=True)
    if plan.errors:
        return 1
    listener = _listen(host, port)
    shown, port = f"[{host}]" if ":" in host else host, listener.getsockname()[1]
    door = f"tools at http://{shown}:{port}/mcp" if plan.on else f"no tools, only the app at http://{shown}:{port}"
    print(f"{plan.server_name}: {door}", file=sys.stderr, flush=True)
    _log_to_stderr(log_level)
    if workers > 1:
        os.environ[_OPTIONS_VARIABLE] = json.dumps({**asdict(options), "log_level": log_level})
        return _run_workers(listener, workers, log_level)
    server = uvicorn.Server(uvicorn.Config(exposed_app(loaded), log_level=log_level))
    try:
        server.run(sockets=[listener])
    except SystemExit:  # uvicorn has logged why the app did not start
        return 1
    return int(not server.started)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    # The protocol said, or asyncio would not turn Nagle's algorithm off: every answer would be 40 ms late.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())
    listener.set_inheritable(True)
    return listener


def _run_workers(listener: socket.socket, workers: int, log_level: str) -> int:
    """Run worker processes until a signal ends them; 1 where they did not start.

    `uvicorn.run` would open a socket of its own, whose answers are late (see `_listen`). Its supervisor keeps to
    itself which signal came, hence the second ear.
    """
    config = uvicorn.Config(f"{__name__}:worker_app", factory=True, workers=workers, log_level=log_level)
    known = inspect.signature(Multiprocess).parameters
    target: dict[str, Any] = {"target": uvicorn.Server(config).run} if "target" in known else {}
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    ear.setblocking(False)
    signal.set_wakeup_fd(mouth.fileno())
    try:
        Multiprocess(config, sockets=[listener], **target).run()
        heard = ear.recv(64)
    except BlockingIOError:
        return 1
    finally:
        signal.set_wakeup_fd(-1)
        ear.close()
        mouth.close()
    if signal.SIGINT in heard:
        raise KeyboardInterrupt
    return 0


def worker_app() -> FastAPI:
    """The exposed app, built in a worker process from its parent's options."""
    raw = json.loads(os.environ[_OPTIONS_VARIABLE])
    _log_to_stderr(raw.pop("log_level"))
    try:
        return exposed_app(_load(ServeOptions(**{**raw, "overrides": tuple(raw["overrides"])})))
    except ManifestError as error:
        print(error, file=sys.stderr)
        sys.exit(_STARTUP_FAILURE)


def exposed_app(loaded: Loaded) -> FastAPI:
    """The target's app with its tools at /mcp, or untouched where exposure is off."""
    if loaded.instance.on:
        expose(
            loaded.app,
            name=loaded.instance.name,
            manifest=loaded.manifest,
            instance=loaded.instance,
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

"""Parity over the matrix: every shape of a route in every mode that accepts it, by inputs that nobody wrote.

`GMM_PARITY=20 pytest tests/parity` makes that many inputs for each.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from gym_mcp_manifest import ExposurePlan, expose
from gym_mcp_manifest.cli.call import running
from gym_mcp_manifest.parity.document import Documents, documents_of
from gym_mcp_manifest.parity.doors import Doors, Read
from gym_mcp_manifest.parity.run import Inputs, ToolReport, compared
from gym_mcp_manifest.render.parity import parity_json
from gym_mcp_manifest.routes.harvest import HarvestedRoute, harvest_routes

sys.path.insert(0, str(Path(__file__).parents[1] / "dispatch"))

from shapes import MODES, SHAPES, Mode, Shape

COUNT = int(os.environ.get("GMM_PARITY", "5"))
#: Handlers of which only the reply matters take no arguments, or hardly any.
OF_REPLIES = int(os.environ.get("GMM_PARITY", "2"))
SEED = {"session": {"session_id": "the-session", "user": "ada"}}
PAIRS = [(shape, mode) for shape in SHAPES if not shape.excluded for mode in MODES if mode not in shape.refused]
#: What differs in the nature of things, by shape.
IGNORED: Mapping[str, tuple[str, ...]] = {
    # The 422 of a model of cookies or headers shows all that were sent. A plain client sends its session's cookie,
    # whose signature has the time in it; in mode `route` a call sends none.
    "a_cookie_model": ("session",),
    "a_header_model": ("cookie",),
    # What these answer is all that their app has seen so far.
    "a_yielding_dependency": ("[]",),
    "a_function_scoped_dependency": ("[]",),
}


@dataclass(frozen=True)
class Exposed:
    """One app of the matrix, as the comparison needs it."""

    app: FastAPI
    plan: ExposurePlan
    routes: tuple[HarvestedRoute, ...]
    documents: Documents


class Switchboard:
    """Many apps on one server, each at its own root: `/<name>/tool` is the `/tool` of the app of that name."""

    def __init__(self, apps: Mapping[str, FastAPI]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        name = scope["path"].split("/")[1]
        if name not in self._apps:
            await PlainTextResponse("no such app", 500)(scope, receive, send)
            return
        cut = len(name) + 1
        own = {**scope, "path": scope["path"][cut:], "raw_path": scope["raw_path"][cut:]}
        await self._apps[name](own, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        lives = [_Life(app) for app in self._apps.values()]
        for kind in ("startup", "shutdown"):
            await receive()
            for life in lives:
                await life.go(kind)
            await send({"type": f"lifespan.{kind}.complete"})


class _Life:
    """The lifespan of one app."""

    def __init__(self, app: FastAPI) -> None:
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._answers: asyncio.Queue[Message] = asyncio.Queue()
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        self._task = asyncio.ensure_future(app(scope, self._messages.get, self._answers.put))

    async def go(self, kind: str) -> None:
        await self._messages.put({"type": f"lifespan.{kind}"})
        answer = await self._answers.get()
        assert answer["type"] == f"lifespan.{kind}.complete", answer
        if kind == "shutdown":
            await self._task


@pytest.fixture(scope="module")
def matrix(make_app: Callable[..., FastAPI]) -> Iterator[tuple[str, Mapping[tuple[str, Mode], Exposed]]]:
    """The URL of a server with all apps, and the apps by shape and mode."""
    found = {(shape.name, mode): exposed(make_app(), shape, mode) for shape, mode in PAIRS}
    board = Switchboard({f"{name}-{mode}": each.app for (name, mode), each in found.items()})
    logging.disable()  # a handler's exception is an answer like any other
    try:
        with running(board) as base:  # type: ignore[arg-type]
            yield base, found
    finally:
        logging.disable(logging.NOTSET)


def exposed(app: FastAPI, shape: Shape, mode: Mode) -> Exposed:
    shape.register(app, lambda: None)
    documents, routes = documents_of(app), harvest_routes(app)
    block = {"expose_tools_over_mcp": True}
    plan = expose(app, name="unit", manifest=shape.manifest_for(mode), instance=block)
    return Exposed(app, plan, routes, documents)


async def report_of(base: str, each: Exposed, shape: Shape, count: int) -> ToolReport:
    one_use = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(trust_env=False, verify=False, limits=one_use) as http:
        doors = Doors(
            base,
            http,
            each.plan,
            each.routes,
            each.documents,
            kept_back=frozenset({("cookie", "session")}),
            after=Read("POST", "/verify", {}),
        )
        found = compared(
            each.plan.tools,
            doors,
            Inputs(examples=count, seed=SEED),
            ignore=IGNORED.get(shape.name, ()),
            skipped={},
        )
        (report,) = [report async for report in found]
        return report


@pytest.mark.timeout(120 if COUNT <= 20 else 3600)
@pytest.mark.parametrize(
    ("shape", "mode"), [pytest.param(shape, mode, id=f"{shape.name}-{mode}") for shape, mode in PAIRS]
)
def test_made_inputs_are_answered_alike_through_both_doors(matrix: Any, shape: Shape, mode: Mode) -> None:
    base, apps = matrix
    count = OF_REPLIES if shape.group == "Replies" else COUNT
    report = asyncio.run(report_of(f"{base}/{shape.name}-{mode}", apps[shape.name, mode], shape, count))
    assert (report.verdict, report.cases) == ("same", count), parity_json("matrix", [report], 0)
    assert report.unstable == ()

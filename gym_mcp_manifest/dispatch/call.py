"""Mode `direct`: one pass through FastAPI's own handling of the tool's route, in the session of the token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware import sessions as starlette_sessions
from starlette.types import ASGIApp, Message, Scope

from gym_mcp_manifest.dispatch.arguments import sent_arguments, withheld_among
from gym_mcp_manifest.dispatch.request import Origin, body_bytes, made_scope, receive_body
from gym_mcp_manifest.dispatch.result import Answer, CallResult, quoted, result_of
from gym_mcp_manifest.dispatch.stack import OPEN_SESSION, direct_stack
from gym_mcp_manifest.plan.records import Tool
from gym_mcp_manifest.session.store import OpenSession, SessionStore

__all__ = ["Dispatcher"]

log = logging.getLogger("gym_mcp_manifest")

# Starlette grew a session type that notes what is read and written; before, it was a plain dict.
_Session: type[dict[str, Any]] = getattr(starlette_sessions, "Session", dict)


_DRAIN_SECONDS = 10


class _Reply:
    """Collects an ASGI answer; `complete` is set with its last byte."""

    def __init__(self) -> None:
        self.complete = asyncio.Event()
        self.started = False
        self.broken = False
        self.status = 500
        self.content_type: str | None = None
        self.encoding: str | None = None
        self.chunks: list[bytes] = []

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            headers = Headers(raw=[(name.lower(), value) for name, value in message.get("headers", ())])
            self.content_type = headers.get("content-type")
            self.encoding = headers.get("content-encoding")
        elif message["type"] == "http.response.body":
            self.chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                self.complete.set()


class Dispatcher:
    """Runs calls against one app, whose stack it reads once, when the app has built its own."""

    def __init__(self, app: FastAPI, store: SessionStore, *, with_sessions: bool) -> None:
        self._app = app
        self._with_sessions = with_sessions
        self._running: set[asyncio.Future[None]] = set()
        self._stack: ASGIApp = direct_stack(app, store.write)

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        origin: Origin,
        session: OpenSession | None = None,
    ) -> CallResult:
        """What the tool's route answers to these arguments; its handler runs exactly once.

        What it writes to the session is kept; without a session it sees an empty one, which is forgotten.
        """
        withheld = withheld_among(tool.arguments, arguments)
        if withheld:
            listed = ", ".join(quoted(name) for name in withheld)
            return CallResult.error(f"Not for clients to send: {listed}. Leave it out; the server decides it.")
        body = body_bytes(sent_arguments(tool.arguments, arguments))
        scope = made_scope(tool, body, origin, self._app)
        if self._with_sessions:
            scope["session"] = _Session(session.contents() if session else {})
            scope[OPEN_SESSION] = session
        reply = _Reply()
        running = asyncio.ensure_future(self._run(scope, body, reply, tool))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        running.add_done_callback(lambda _: reply.complete.set())
        try:
            # Background tasks go on after the answer, as they do over HTTP.
            await reply.complete.wait()
        except asyncio.CancelledError:
            running.cancel()
            raise
        if reply.broken:
            read = sum(map(len, reply.chunks))
            return CallResult.error(
                f"HTTP {reply.status} from {tool.method} /{tool.name}: broke off after {read} bytes"
            )
        answer = Answer(reply.status, reply.content_type, b"".join(reply.chunks), reply.encoding)
        return result_of(answer, tool)

    async def drain(self) -> None:
        """Wait for what calls of this event loop still run, background tasks above all; not for ever."""
        loop = asyncio.get_running_loop()
        left = [task for task in self._running if task.get_loop() is loop]
        if left:
            _, hung = await asyncio.wait(left, timeout=_DRAIN_SECONDS)
            for task in hung:
                task.cancel()

    async def _run(self, scope: Scope, body: bytes, reply: _Reply, tool: Tool) -> None:
        try:
            await self._stack(scope, receive_body(body), reply.send)
        except Exception:
            # Starlette has answered 500 and raises once more for the server's log; that is here.
            reply.broken = reply.started and not reply.complete.is_set()
            log.exception("the handler of %s %s raised", tool.method, tool.route)

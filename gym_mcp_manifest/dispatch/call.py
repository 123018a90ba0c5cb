"""One call: one pass through FastAPI's own handling of the tool's route, in the session of the token.

Modes `direct` and `route` leave the app's middleware out, mode `app` runs the app whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware import sessions as starlette_sessions
from starlette.types import ASGIApp, Scope

from gym_mcp_manifest.dispatch.arguments import sent_arguments, withheld_among
from gym_mcp_manifest.dispatch.reply import Gone, Reply
from gym_mcp_manifest.dispatch.request import (
    Made,
    Origin,
    UnsendableError,
    made_request,
    made_scope,
    receive_body,
)
from gym_mcp_manifest.dispatch.result import Answer, CallResult, quoted, result_of
from gym_mcp_manifest.dispatch.stack import OPEN_SESSION, direct_stack, routeless_stack
from gym_mcp_manifest.exchange import ENDPOINT_PATHS
from gym_mcp_manifest.instance.headers import NO_HEADERS, RequestHeaders, secret_parts
from gym_mcp_manifest.manifest.models import Limits
from gym_mcp_manifest.plan.records import Tool
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route
from gym_mcp_manifest.session.cookie import SessionCookie
from gym_mcp_manifest.session.store import OpenSession, SessionStore

__all__ = ["Dispatcher"]

log = logging.getLogger("gym_mcp_manifest")

# Starlette grew a session type that notes what is read and written; before, it was a plain dict.
_Session: type[dict[str, Any]] = getattr(starlette_sessions, "Session", dict)


_DRAIN_SECONDS = 10
#: What servers send where an app ends without an answer.
_UNANSWERED = Answer(500, "text/plain; charset=utf-8", b"Internal Server Error")
#: Statuses of answers whose body, if an app makes one, no server sends.
_BODILESS = (204, 304)
#: Header values that are shorter are no secrets but words, which an answer may have of its own.
_SHORTEST_SECRET = 8

_NO_LIMITS = Limits()


class Dispatcher:
    """Runs calls against one app, whose stack it reads once, when the app has built its own.

    `routes` are the app's, in the order in which it tries them; `cookie` is that of its sessions, for calls
    through the whole app.
    """

    def __init__(
        self,
        app: FastAPI,
        store: SessionStore,
        *,
        with_sessions: bool,
        limits: Limits = _NO_LIMITS,
        headers: RequestHeaders = NO_HEADERS,
        routes: tuple[HarvestedRoute, ...] = (),
        cookie: SessionCookie | None = None,
    ) -> None:
        self._app = app
        self._with_sessions = with_sessions
        self._limits = limits
        self._headers = headers
        self._routes = routes
        self._cookie = cookie
        self._running: set[asyncio.Future[None]] = set()
        self._stack: ASGIApp = direct_stack(app, store.write)
        self._nowhere: ASGIApp = routeless_stack(app, store.write)

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
        try:
            made = made_request(tool, sent_arguments(tool.arguments, arguments))
            scope = self._scope(tool, made, origin, session)
        except UnsendableError as error:
            return CallResult.error(f"{tool.method} /{tool.name} cannot be called so: {error}")
        reached, told = self._reached(tool, made), None
        if reached is not False:
            stack = self._app if tool.dispatch == "app" else self._stack
            told = await self._asked(stack, tool, made, scope, origin)
        # Where no route serves it, the app may have a client try another path; no value may lead there.
        if told is None or (reached is None and isinstance(told, Answer) and 300 <= told.status < 400):
            scope = self._scope(replace(tool, dispatch="route"), made, origin, session)
            told = await self._asked(self._nowhere, tool, made, scope, origin)
        return told if isinstance(told, CallResult) else result_of(told, tool)

    async def _asked(
        self, stack: ASGIApp, tool: Tool, made: Made, scope: Scope, origin: Origin
    ) -> Answer | CallResult:
        """The stack's answer to the request; an error where it took too long or broke off."""
        gone = Gone(origin.gone)
        reply = Reply(self._limits.result_bytes, gone)
        running = asyncio.ensure_future(self._run(stack, scope, made.body or b"", reply, gone, tool))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        running.add_done_callback(lambda _: reply.complete.set())
        try:
            # Background tasks go on after the answer, as they do over HTTP.
            await asyncio.wait_for(reply.complete.wait(), self._limits.call_timeout)
        except asyncio.CancelledError:
            running.cancel()
            raise
        except TimeoutError:
            running.cancel()
            seconds = f"{self._limits.call_timeout:g} s"
            return CallResult.error(f"{tool.method} /{tool.name} was ended: it took longer than {seconds}")
        if reply.broken:
            read = sum(map(len, reply.chunks))
            return CallResult.error(
                f"HTTP {reply.status} from {tool.method} /{tool.name}: broke off after {read} bytes"
            )
        if not reply.started:
            return _UNANSWERED
        limit = self._limits.result_bytes
        has_body = tool.method != "HEAD" and reply.status not in _BODILESS
        body = b"".join(reply.chunks) if has_body else b""
        answer = Answer(reply.status, reply.content_type, body, reply.encoding, limit if reply.cut else None)
        return answer.decoded(limit).without(self._secrets(tool, scope, reply.status))

    def _secrets(self, tool: Tool, scope: Scope, status: int) -> Iterator[str]:
        """What the request carried that its client did not send, where the answer may show it.

        An HTTP client is shown nothing but its own headers by an error that repeats them.
        """
        if tool.dispatch == "direct":
            return
        sent = Headers(raw=scope["headers"])
        cookie = sent.get("cookie", "")
        if tool.dispatch == "app" and self._cookie is not None:
            yield from (part.partition("=")[2] for part in cookie.split("; ") if self._cookie.is_of(part))
        if status >= 400:
            for name in self._headers.names:
                for value in sent.getlist(name):
                    yield from (part for part in secret_parts(value) if len(part) >= _SHORTEST_SECRET)

    def _scope(self, tool: Tool, made: Made, origin: Origin, session: OpenSession | None) -> Scope:
        contents = session.contents() if session else {}
        cookie = None
        if tool.dispatch == "app" and session is not None and self._cookie is not None:
            cookie = self._cookie.text(contents)
        headers = self._carried(origin) if tool.dispatch != "direct" else ()
        scope = made_scope(tool, made, origin, self._app, cookie=cookie, headers=headers)
        if tool.dispatch == "app":
            scope[OPEN_SESSION] = session
        elif self._with_sessions:
            scope["session"] = _Session(contents)
            scope[OPEN_SESSION] = session
        return scope

    def _carried(self, origin: Origin) -> Iterator[tuple[bytes, bytes]]:
        """The headers that the instance sets, and those of the /mcp request that it forwards."""
        for name, value in self._headers.fixed:
            yield name.encode("latin-1"), value.get_secret_value().encode("latin-1")
        forwarded = {name.encode("latin-1") for name in self._headers.forwarded}
        yield from ((name, value) for name, value in origin.headers if name in forwarded)

    def _reached(self, tool: Tool, made: Made) -> bool | None:
        """Whether the app serves the made path by the tool's own route with the values as given.

        None where no route serves it, so that the app itself may say so.
        """
        if not made.values:
            return True
        if made.path in ENDPOINT_PATHS:
            return False
        serving = serving_route(self._routes, tool.method, made.path)
        if serving is None:
            return False if any(route.is_blind for route in self._routes) else None
        match = serving.regex.match(made.path) if serving.regex else None
        return serving.path == tool.route and match is not None and match.groupdict() == made.values

    async def drain(self) -> None:
        """Wait for what calls of this event loop still run, background tasks above all; not for ever."""
        loop = asyncio.get_running_loop()
        left = [task for task in self._running if task.get_loop() is loop]
        if left:
            _, hung = await asyncio.wait(left, timeout=_DRAIN_SECONDS)
            for task in hung:
                task.cancel()

    async def _run(self, stack: ASGIApp, scope: Scope, body: bytes, reply: Reply, gone: Gone, tool: Tool) -> None:
        try:
            await stack(scope, receive_body(body, gone), reply.send)
        except (Exception, SystemExit, KeyboardInterrupt):
            # Servers survive handlers that would end the process; in a task, these two would end the event loop.
            if gone.is_set():
                return  # nobody waits for the answer
            # Starlette has answered 500 and raises once more for the server's log; that is here.
            log.exception("the handler of %s %s raised", tool.method, tool.route)
        finally:
            reply.broken = reply.started and not reply.complete.is_set()

"""The inner layer: seed, verify, close and session writes, just inside the app's session middleware."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gym_mcp_manifest.dispatch.stack import OPEN_SESSION, saving_session
from gym_mcp_manifest.exchange import ENDPOINT_PATHS
from gym_mcp_manifest.session.seed import Seeder
from gym_mcp_manifest.session.store import MARK_KEY, SESSION_ID_KEY, SessionStore
from gym_mcp_manifest.verify import Verifier

__all__ = ["Protocol", "ProtocolLayer"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What the layer needs once the app is settled; without a seeder there are no sessions to serve."""

    endpoint: ASGIApp
    store: SessionStore
    seeder: Seeder | None = None
    verifier: Verifier | None = None


class ProtocolLayer:
    """Pure ASGI: every request that is none of its own passes through unread."""

    def __init__(self, app: ASGIApp, protocol: Callable[[], Protocol]) -> None:
        self._app = app
        self._protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        protocol, path = self._protocol(), get_route_path(scope)
        if OPEN_SESSION in scope:
            # A call through the whole app: its session is that of its token, whatever the app's cookies say.
            await self._app(scope, receive, saving_session(scope, send, protocol.store.write))
            return
        if path in ENDPOINT_PATHS:
            # A middleware has rewritten the path of a request that the front layer let through.
            await protocol.endpoint(scope, receive, send)
            return
        if protocol.seeder is None:
            await self._app(scope, receive, send)
            return
        send = _merging_writes(scope, send, protocol.store)
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
        elif path == "/seed_session":
            await protocol.seeder(self._app, scope, receive, send)
        elif path == "/verify" and protocol.verifier is not None:
            await protocol.verifier(self._app, scope, receive, send)
        elif path == "/close_session":
            await self._app(scope, receive, _closing(scope, send, protocol.store))
        else:
            await self._app(scope, receive, send)


def _merging_writes(scope: Scope, send: Send, store: SessionStore) -> Send:
    """Lay what MCP calls wrote over the request's session; the reply's cookie notes which writes it has.

    The note is in the session only while the cookie is read and written: the app never sees it, and taking it
    out or putting it in is no change of the session that would by itself set a cookie.
    """
    if "session" not in scope:
        return send
    carried = scope["session"]
    mark = store.merge_into(carried, dict.pop(carried, MARK_KEY, None))

    async def marking(message: Message) -> None:
        session = scope["session"]
        if message["type"] == "http.response.start" and session and mark is not None and MARK_KEY not in session:
            dict.__setitem__(session, MARK_KEY, mark)
        await send(message)
        dict.pop(session, MARK_KEY, None)

    return marking


def _closing(scope: Scope, send: Send, store: SessionStore) -> Send:
    session_id = _session_id(scope)

    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start" and 200 <= message["status"] < 300 and session_id is not None:
            store.close(session_id)
        await send(message)

    return noting


def _session_id(scope: Scope) -> str | None:
    session: Any = scope.get("session")
    value = session.get(SESSION_ID_KEY) if session else None
    return value if isinstance(value, str) else None

"""The app without its middleware: FastAPI's own handling of a route, from validation to background tasks.

A shallow copy of the app builds its stack by FastAPI's own method, with a layer of ours where the session
middleware would stand, and with the harness's own middleware, which has a part in what a client is answered. So
error handlers, exception handlers, body limits, routing and response models are the app's own, in FastAPI's own
order, and nothing about them is written again here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware, sessions
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gym_mcp_manifest.routes.middleware import is_kept, is_session_layer
from gym_mcp_manifest.session.store import OpenSession

__all__ = ["OPEN_SESSION", "WriteSession", "direct_stack", "routeless_stack", "saving_session"]

#: The key of a made scope under which its open session stands, whatever the handler makes of `session`.
OPEN_SESSION = "gym_mcp_manifest.open_session"

#: Called with the open session and what the handler has made of it, when the answer starts.
WriteSession = Callable[[OpenSession, dict[str, Any]], None]

_STACK_ATTRIBUTE = "build_middleware_stack"
#: Whether this Starlette's sessions note what is modified; before, each answer wrote the cookie.
_KNOWS_CHANGES = hasattr(sessions, "Session")


def direct_stack(app: FastAPI, write_session: WriteSession) -> ASGIApp:
    """The app's own stack with no middleware but the session's and what belongs to the answer."""
    return _stack(copy.copy(app), write_session)


def routeless_stack(app: FastAPI, write_session: WriteSession) -> ASGIApp:
    """The same without any route: the app's own way to answer a path that it does not have."""
    twin = copy.copy(app)
    twin.router = APIRouter(default=app.router.default)
    return _stack(twin, write_session)


def _stack(twin: FastAPI, write_session: WriteSession) -> ASGIApp:
    session = Middleware(_SessionLayer, write_session=write_session)
    kept = [session if is_session_layer(entry) else entry for entry in twin.user_middleware if _stays(entry)]
    twin.user_middleware = kept if session in kept else [*kept, session]
    # Overrides on the instance (ours, an instrumentor's) belong to the app itself, not to its twin.
    twin.__dict__.pop(_STACK_ATTRIBUTE, None)
    return twin.build_middleware_stack()


def _stays(entry: Middleware) -> bool:
    return is_session_layer(entry) or is_kept(entry)


def saving_session(scope: Scope, send: Send, write_session: WriteSession) -> Send:
    """A `send` that keeps what a call made of its open session, at the moment when a cookie would be written."""
    opened = scope.get(OPEN_SESSION)
    if opened is None:
        return send

    async def save_and_send(message: Message) -> None:
        session = scope["session"]
        # What a session does not know to be modified, an appended list entry say, its cookie forgets too; one
        # that a handler has put in its place fails here as it fails where the cookie is written.
        if message["type"] == "http.response.start" and (not _KNOWS_CHANGES or session.modified):
            write_session(opened, dict(session))
        await send(message)

    return save_and_send


class _SessionLayer:
    """Saves the session when the answer starts: the moment at which a session cookie would be written."""

    def __init__(self, app: ASGIApp, write_session: WriteSession) -> None:
        self._app = app
        self._write_session = write_session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, saving_session(scope, send, self._write_session))

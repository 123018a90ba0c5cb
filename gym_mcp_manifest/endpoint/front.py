"""The front layer: `/mcp` before any middleware of the app, and the SDK's lifespan around the app's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gym_mcp_manifest.dispatch.request import CLIENT_GONE, Origin
from gym_mcp_manifest.endpoint.door import Caller, ToolDoor, advertised
from gym_mcp_manifest.endpoint.interface import Handlers, HostProtection, Manager, ServerIdentity
from gym_mcp_manifest.endpoint.sdk import create_manager
from gym_mcp_manifest.errors import ExposureRefused
from gym_mcp_manifest.exchange import ENDPOINT_PATHS, BodyTooLarge, read_body, replay, send_json
from gym_mcp_manifest.plan.records import ExposurePlan
from gym_mcp_manifest.session.token import TOKEN_HEADER

__all__ = ["Endpoint", "FrontLayer"]

_ACCEPT = b"application/json, text/event-stream"


class Endpoint:
    """The MCP endpoint of one plan, as an ASGI app and a lifespan."""

    def __init__(
        self,
        plan: ExposurePlan,
        door: ToolDoor,
        identity: ServerIdentity,
        protection: HostProtection,
        on_started: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_started = on_started
        self._door = door
        self._limit = plan.language.limits.request_bytes
        self._handlers = Handlers(
            tools={tool.name: advertised(tool) for tool in plan.tools}, list_names=self._list, call=self._call
        )
        self._make_manager: Callable[[], Manager] = lambda: create_manager(
            identity, self._handlers, protection, self._limit
        )
        # Made once here so that an advertisement that the SDK refuses stops the boot.
        self._idle: Manager | None = self._make_manager()
        # One manager for each event loop in which the app's lifespan runs.
        self._running: dict[asyncio.AbstractEventLoop, Manager] = {}

    async def lifespan(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app's lifespan inside the SDK's, and tell what it has changed once it has started."""
        manager, loop = self._take_manager(), asyncio.get_running_loop()

        async def receive_when_drained() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._door.drain()
            return message

        async def send_and_tell(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._on_started()
            await send(message)

        async with manager.run():
            self._running[loop] = manager
            try:
                await app(scope, receive_when_drained, send_and_tell)
            finally:
                self._running.pop(loop, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to /mcp."""
        if scope["method"] != "POST":
            # An open GET stream would be one parked connection per rollout.
            payload = _rpc_error(-32000, "Method Not Allowed: this endpoint answers POST")
            await send_json(send, 405, payload, ((b"allow", b"POST"),))
            return
        try:
            body = await read_body(receive, self._limit)
        except BodyTooLarge:
            payload = _rpc_error(-32600, f"Request body larger than {self._limit} bytes")
            await send_json(send, 413, payload, ((b"connection", b"close"),))
            return
        if body is None:
            return
        gone = asyncio.Event()
        watching = asyncio.ensure_future(_watch(receive, gone))
        try:
            scope = {**_acceptable(scope), CLIENT_GONE: gone}
            await self._serve(scope, replay(body, _until(gone)), send)
        finally:
            watching.cancel()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        running = self._running.get(asyncio.get_running_loop())
        if running is not None:
            await running.handle_request(scope, receive, send)
            return
        # No server has run the app's lifespan (an in-process client, a mounted app): serve this request alone.
        manager = self._take_manager()
        async with manager.run():
            await manager.handle_request(scope, receive, send)
            await self._door.drain()

    def _take_manager(self) -> Manager:
        manager, self._idle = self._idle or self._make_manager(), None
        return manager

    def _list(self, request: Request) -> tuple[str, ...]:
        return self._door.listed(_caller(request))

    async def _call(self, request: Request, name: str, arguments: Any) -> dict[str, Any]:
        return (await self._door.call(name, arguments, _caller(request))).as_wire()


class FrontLayer:
    """Pure ASGI, outermost but for the app's error layer: answers /mcp, passes everything else on.

    Where the settled app cannot be exposed, the startup fails with every reason, and nothing is served.
    """

    def __init__(self, app: ASGIApp, endpoint: Endpoint | ExposureRefused) -> None:
        self._app = app
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(self._endpoint, ExposureRefused):
            if scope["type"] == "lifespan":
                await receive()
                await send({"type": "lifespan.startup.failed", "message": str(self._endpoint)})
            raise self._endpoint
        if scope["type"] == "lifespan":
            await self._endpoint.lifespan(self._app, scope, receive, send)
        elif scope["type"] == "http" and get_route_path(scope) in ENDPOINT_PATHS:
            await self._endpoint(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def _watch(receive: Receive, gone: asyncio.Event) -> None:
    """Note when the client leaves: the one reader of what comes after the request's body."""
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _until(gone: asyncio.Event) -> Receive:
    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    return receive


def _caller(request: Request) -> Caller:
    return Caller(request.headers.get(TOKEN_HEADER), Origin.of(request.scope))


def _acceptable(scope: Scope) -> Scope:
    """The request with the Accept header that the SDK's lines insist on; replies are JSON in any case."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
    return {**scope, "headers": [*headers, (b"accept", _ACCEPT)]}


def _rpc_error(code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}

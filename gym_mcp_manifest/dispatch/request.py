"""The request that a call makes: just what a plain client of the HTTP route would have sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from anyio import sleep_forever
from starlette._utils import get_route_path
from starlette.types import Message, Receive, Scope

from gym_mcp_manifest.jsontext import compact
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Origin", "body_bytes", "made_scope", "receive_body"]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a made request shares with the /mcp request that caused it: the connection, never its headers."""

    host: bytes = b"localhost"
    scheme: str = "http"
    http_version: str = "1.1"
    root_path: str = ""
    #: What stands before the route's own path: the root path, unless a proxy has taken it off.
    base_path: str = ""
    app_root_path: str | None = None
    client: tuple[str, int] | None = None
    server: tuple[str, int | None] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, scope: Scope) -> Origin:
        """The connection of an ASGI request."""
        host = next((value for name, value in scope["headers"] if name == b"host"), b"localhost")
        path, route_path = scope["path"], get_route_path(scope)
        return cls(
            host=host,
            scheme=scope.get("scheme", "http"),
            http_version=scope.get("http_version", "1.1"),
            root_path=scope.get("root_path", ""),
            app_root_path=scope.get("app_root_path"),
            base_path=path[: len(path) - len(route_path)],
            client=scope.get("client"),
            server=scope.get("server"),
            state=dict(scope.get("state") or {}),
        )


def body_bytes(arguments: Mapping[str, Any]) -> bytes:
    """The arguments as a JSON request body."""
    return compact(arguments)


def made_scope(tool: Tool, body: bytes, origin: Origin, app: Any) -> Scope:
    """The ASGI scope of the tool's request; `session` is added where the app has sessions."""
    path = origin.base_path + tool.path
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": origin.http_version,
        "method": tool.method,
        "scheme": origin.scheme,
        "path": path,
        "raw_path": quote(path, safe="/:@!$&'()*+,;=~-._").encode("ascii"),
        "query_string": b"",
        "root_path": origin.root_path,
        "headers": [
            (b"host", origin.host),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
        ],
        "client": origin.client,
        "server": origin.server,
        "app": app,
    }
    if origin.app_root_path is not None:
        scope["app_root_path"] = origin.app_root_path
    if origin.state:
        scope["state"] = dict(origin.state)
    return scope


def receive_body(body: bytes) -> Receive:
    """An ASGI `receive` that hands over the body and then waits, as an open connection does."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await sleep_forever()
        return {"type": "http.disconnect"}

    return receive

"""One HTTP exchange at the ASGI level: bodies read and replayed, replies held back until they are whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from gym_mcp_manifest.jsontext import is_json_type

__all__ = ["ENDPOINT_PATHS", "BodyTooLarge", "HeldReply", "read_body", "replay", "send_json", "with_body_length"]


class BodyTooLarge(ValueError):
    """The request body is larger than allowed."""


async def read_body(receive: Receive, limit: int | None = None) -> bytes | None:
    """The whole request body; None where the client left before it was sent.

    Raises:
        BodyTooLarge: it grew beyond `limit` bytes.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if limit is not None and size > limit:
            raise BodyTooLarge(size)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body at once and then what the connection gives (its end)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def with_body_length(scope: Scope, length: int) -> Scope:
    """The same scope, its headers those of a request whose body was replaced: outer layers read it afterwards."""
    framing = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in scope["headers"] if name not in framing]
    scope["headers"] = [*headers, (b"content-length", str(length).encode("ascii"))]
    return scope


#: Where the MCP endpoint answers.
ENDPOINT_PATHS = ("/mcp", "/mcp/")


class HeldReply:
    """A `send` that holds a whole 2xx JSON reply back, lets `revise` change its body, and then sends it.

    Other replies pass through as they come. `revise` gives the new body, or None to leave the reply alone;
    `missed` is told of a 2xx reply that is not JSON.
    """

    def __init__(
        self,
        send: Send,
        revise: Callable[[bytes], bytes | None],
        missed: Callable[[], None] = lambda: None,
    ) -> None:
        self._send = send
        self._revise = revise
        self._missed = missed
        self._start: Message | None = None
        self._chunks: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and 200 <= message["status"] < 300:
            if _is_json(message):
                self._start = message
                return
            self._missed()
            await self._send(message)
        elif message["type"] == "http.response.body" and self._start is not None:
            self._chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._finish(self._start)
        else:
            await self._send(message)

    async def _finish(self, start: Message) -> None:
        body = b"".join(self._chunks)
        revised = self._revise(body)
        if revised is not None:
            MutableHeaders(scope=start)["content-length"] = str(len(revised))
        self._start = None
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body if revised is None else revised})


def _is_json(start: Message) -> bool:
    start.setdefault("headers", [])
    headers = MutableHeaders(scope=start)
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_plain = headers.get("content-encoding", "identity") == "identity"
    return is_plain and is_json_type(media_type)


async def send_json(send: Send, status: int, payload: Any, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send a small JSON reply."""
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    fixed = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})

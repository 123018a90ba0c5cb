"""The reply of an ASGI app to one call, collected while somebody waits for it."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message

__all__ = ["Gone", "Reply"]


class Gone:
    """Whether whoever waits for the answer has left: the client of the /mcp request, or the call itself."""

    def __init__(self, client: asyncio.Event | None) -> None:
        self._client = client
        self._call = asyncio.Event()

    def set(self) -> None:
        """Leave: the call has read enough."""
        self._call.set()

    def is_set(self) -> bool:
        """Whether one of them has left."""
        return self._call.is_set() or (self._client is not None and self._client.is_set())

    async def wait(self) -> None:
        """Wait until one of them has left."""
        events = [event for event in (self._client, self._call) if event is not None]
        if self.is_set():
            return  # at once: whoever asks whether somebody has left does not wait for it
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()


class Reply:
    """Collects an ASGI answer up to `limit` bytes; `complete` is set with the last byte that counts."""

    def __init__(self, limit: int | None, gone: Gone) -> None:
        self.complete = asyncio.Event()
        self.cut = False
        self.started = False
        self.broken = False
        self.status = 500
        self.content_type: str | None = None
        self.encoding: str | None = None
        self.chunks: list[bytes] = []
        self._room = limit
        self._gone = gone

    async def send(self, message: Message) -> None:
        """Take one message of the app; its ASGI `send`.

        Raises:
            OSError: nobody waits any more.
        """
        if self._gone.is_set():
            raise OSError("the client has left")  # as servers of this version of ASGI tell it
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            headers = Headers(raw=[(name.lower(), value) for name, value in message.get("headers", ())])
            self.content_type = headers.get("content-type")
            self.encoding = ",".join(headers.getlist("content-encoding")) or None
        elif message["type"] == "http.response.body":
            self._take(message.get("body", b""))
            if not message.get("more_body", False):
                self.complete.set()

    def _take(self, chunk: bytes) -> None:
        if self._room is None:
            self.chunks.append(chunk)
        elif not self.cut:
            self.chunks.append(chunk[: self._room])
            self.cut = len(chunk) > self._room
            self._room -= len(self.chunks[-1])
            if self.cut:
                # Like a client that has read enough: it leaves, whatever is still to come.
                self._gone.set()
                self.complete.set()

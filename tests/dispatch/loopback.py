"""A real server on a loopback port, and plain MCP messages to it: only that has clients which leave."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

KINDS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The app behind uvicorn, by its base URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


def until(holds: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether it came to hold within these seconds."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def seeded(base: str) -> dict[str, str]:
    """The headers of a new session."""
    return dict(httpx.post(f"{base}/seed_session", json={}, timeout=30).json()["mcp"]["headers"])


def message(name: str) -> dict[str, Any]:
    """A call of the tool without arguments."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}


def call(base: str, name: str, headers: Mapping[str, str], timeout: float = 30) -> httpx.Response:
    """The endpoint's answer to a call."""
    return httpx.post(f"{base}/mcp", json=message(name), headers={**KINDS, **headers}, timeout=timeout)


def raw_call(base: str, name: str, headers: Mapping[str, str]) -> bytes:
    """The bytes of the request of a call, for a client that sends them in its own way."""
    body = json.dumps(message(name)).encode("ascii")
    host = base.removeprefix("http://")
    lines = {"Host": host, **KINDS, **headers, "Content-Length": str(len(body))}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def connected(base: str) -> socket.socket:
    """A bare connection to the server."""
    host, _, port = base.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)

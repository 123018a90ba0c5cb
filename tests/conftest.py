"""What tests through the public door share: a small app with sessions, and an MCP client over its TestClient.

Both come as fixtures, since test folders are no packages:

    def test_something(make_app, open_door):
        app = make_app()                      # FastAPI with SessionMiddleware, /seed_session and /verify
        ...                                   # add routes
        door = open_door(app, {"version": 1}) # expose() with exposure on, then run the app
        session = door.seed({"any": "seed body"})
        door.names(session)                   # names of tools/list
        door.call("get_weather", {"city": "Paris"}, session)  # the wire's own result: content, isError, ...
        door.client.post("/verify", json={})  # plain HTTP in the session seeded last
"""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest import expose

# A process that is started where interrupts are ignored, in the background of a script say, hands that on to its
# children; tests interrupt theirs, so interrupts count here whatever was handed on to this one.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where a build server runs the tests, `validate` would talk to it instead of to people.
for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
    os.environ.pop(name, None)

SERVER_NAME = "unit"
TOKEN_HEADER = "X-NeMo-Gym-Session-Token"

MakeApp = Callable[..., FastAPI]
OpenDoor = Callable[..., "Door"]


def build_app(*, sessions: bool = True, protocol: bool = True, **settings: Any) -> FastAPI:
    """An app as a harness has them; `settings` go to FastAPI.

    `/seed_session` leaves what its body has under `session` in the session; `/verify` answers with its body,
    the session that it saw, and a reward.
    """
    app = FastAPI(**settings)
    if sessions:
        app.add_middleware(SessionMiddleware, secret_key="a key for tests")
    if protocol:

        @app.post("/seed_session")
        async def seed_session(request: Request) -> dict[str, Any]:
            body = await request.json() if await request.body() else {}
            request.session.update(body.get("session", {}))
            return {"seeded": True}

        @app.post("/verify")
        async def verify(request: Request) -> dict[str, Any]:
            body = await request.json() if await request.body() else {}
            return {**body, "session": dict(request.session), "reward": 1.0}

    return app


@dataclass
class Door:
    """An agent's side of one served app: JSON-RPC over the same client that sends plain HTTP requests."""

    client: TestClient
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def seed(self, body: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Seed a new session; gives the headers that its MCP requests carry. The cookie is in the client."""
        self.client.cookies.clear()
        answer = self.client.post("/seed_session", json=dict(body or {}))
        assert answer.status_code == 200, answer.text
        reply = answer.json()
        return dict((reply.get("mcp") or reply["resources_tools"])["headers"])

    def post(self, message: Any, headers: Mapping[str, str] | None = None, *, url: str = "/mcp") -> Any:
        """Post one message to the endpoint, bytes as they are; gives the HTTP response."""
        kinds = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        content = message if isinstance(message, bytes) else json.dumps(message).encode("ascii")
        return self.client.post(url, content=content, headers={**kinds, **(headers or {})}, follow_redirects=False)

    def rpc(self, method: str, params: Any = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Send one JSON-RPC request; gives the whole JSON-RPC response."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        if params is not None:
            message["params"] = params
        answer = self.post(message, headers)
        assert answer.status_code == 200, f"{answer.status_code}: {answer.text}"
        reply = answer.json()
        assert reply["id"] == message["id"]
        return dict(reply)

    def list(self, headers: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """The tools of `tools/list`."""
        return list(self.rpc("tools/list", {}, headers)["result"]["tools"])

    def names(self, headers: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The names of `tools/list`, in order."""
        return tuple(tool["name"] for tool in self.list(headers))

    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The result of `tools/call`, as it is on the wire."""
        reply = self.rpc("tools/call", {"name": name, "arguments": dict(arguments or {})}, headers)
        return dict(reply["result"])

    def text(self, *call: Any) -> str:
        """The text of a call's one content block."""
        (block,) = self.call(*call)["content"]
        return str(block["text"])


@pytest.fixture(scope="session")
def make_app() -> MakeApp:
    """Builds an app: `make_app(sessions=True, protocol=True, **fastapi_settings)`."""
    return build_app


@pytest.fixture
def make_door() -> Callable[[TestClient], Door]:
    """Makes a door of a client that the test runs itself."""
    return Door


@pytest.fixture
def open_door() -> Iterator[OpenDoor]:
    """Exposes an app and runs it with its lifespan until the test ends.

    `open_door(app, manifest=None, *, name=SERVER_NAME, instance=None, client=None, **expose_arguments)`:
    `instance` adds to the block, `client` to the TestClient's arguments.
    """
    with ExitStack() as running:

        def open_(
            app: FastAPI,
            manifest: Any = None,
            *,
            name: str = SERVER_NAME,
            instance: Mapping[str, Any] | None = None,
            client: Mapping[str, Any] | None = None,
            **arguments: Any,
        ) -> Door:
            block = {"expose_tools_over_mcp": True, **(instance or {})}
            expose(app, name=name, manifest=manifest, instance=block, **arguments)
            settings = {"raise_server_exceptions": False, **(client or {})}
            return Door(running.enter_context(TestClient(app, **settings)))

        yield open_

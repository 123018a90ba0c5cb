"""Twin sessions: the same input through HTTP and through MCP, and what must be equal between the two answers."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from gym_mcp_manifest import expose


@dataclass(frozen=True)
class Twins:
    """One answer as the plain HTTP route gives it and as MCP gives it."""

    http: Any
    mcp: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of the MCP result's one block."""
        (block,) = self.mcp["content"]
        assert block["type"] == "text"
        return str(block["text"])

    def assert_equal(self, route: str) -> None:
        """The contract: same status, same JSON, same text; `route` is `/<exposed name>`."""
        if 200 <= self.http.status_code < 300:
            self._assert_result()
        else:
            assert self.mcp["isError"] is True
            assert "structuredContent" not in self.mcp
            assert self.text == f"HTTP {self.http.status_code} from POST {route}: {_detail(self.http)}"

    def _assert_result(self) -> None:
        assert self.mcp["isError"] is False, self.mcp
        value = _json(self.http)
        if isinstance(value, str):
            assert self.text == value
        else:
            assert self.text == self.http.text
        if isinstance(value, dict):
            assert self.mcp["structuredContent"] == value
        else:
            assert "structuredContent" not in self.mcp


def _json(reply: Any) -> Any:
    media_type = reply.headers.get("content-type", "").partition(";")[0]
    if not media_type.endswith(("/json", "+json")):
        return None
    try:
        return json.loads(reply.text)
    except ValueError:
        return None


def _detail(reply: Any) -> str:
    value = _json(reply)
    if isinstance(value, dict) and "detail" in value:
        value = value["detail"]
    elif not isinstance(value, str):
        return str(reply.text)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture
def ask_twins() -> Callable[..., Twins]:
    """Asks both doors, each in a session of its own that was seeded alike."""

    def ask(door: Any, name: str, arguments: Any = None, *, path: str | None = None, seed: Any = None) -> Twins:
        body = {} if arguments is None else arguments
        mcp = door.call(name, body, door.seed(seed))
        door.seed(seed)
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        http = door.client.post(
            path or f"/{name}",
            content=content,
            headers={"content-type": "application/json"},
            follow_redirects=False,
        )
        return Twins(http, mcp)

    return ask


@pytest.fixture
def serve(make_door: Any) -> Iterator[Callable[..., Any]]:
    """Exposes an app, lets a function change it further, and only then runs it."""
    with ExitStack() as running:

        def serve_(app: FastAPI, change: Callable[[FastAPI], None], manifest: Any = None) -> Any:
            expose(app, name="unit", manifest=manifest, instance={"expose_tools_over_mcp": True})
            change(app)
            return make_door(running.enter_context(TestClient(app, raise_server_exceptions=False)))

        yield serve_

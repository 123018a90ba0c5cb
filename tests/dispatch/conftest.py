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

pytest.register_assert_rewrite("twins")

from twins import assert_same, text_of  # noqa: E402


@dataclass(frozen=True)
class Twins:
    """One answer as the plain HTTP route gives it and as MCP gives it."""

    http: Any
    mcp: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of the MCP result's one block."""
        return text_of(self.mcp)

    def assert_equal(self, route: str) -> None:
        """The contract: same status, same JSON, same text; `route` is `/<exposed name>`."""
        assert_same(self.http, self.mcp, f"POST {route}")


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

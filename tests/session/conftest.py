"""Apps whose tools show what they see of their session."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response


def add_tools(app: FastAPI, *names: str) -> FastAPI:
    """Add tools that answer with their own name."""
    for name in names:

        def endpoint(name: str = name) -> Callable[..., Any]:
            async def tool(body: dict[str, Any]) -> dict[str, str]:
                return {"ran": name}

            return tool

        app.post(f"/{name}", name=name)(endpoint())
    return app


def add_memory(app: FastAPI) -> FastAPI:
    """Add tools over the session: look at it, write keys, delete keys, fail after a write."""

    @app.post("/look")
    async def look(request: Request) -> dict[str, Any]:
        return dict(request.session)

    @app.post("/write")
    async def write(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        request.session.update(body)
        return dict(request.session)

    @app.post("/forget")
    async def forget(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        for key in body["keys"]:
            request.session.pop(key, None)
        return dict(request.session)

    return app


def seed_with(app: FastAPI, make_reply: Callable[[], Any], **route: Any) -> FastAPI:
    """Add a /seed_session that answers with what `make_reply` makes, and a /verify."""

    @app.post("/seed_session", **route)
    async def seed_session(request: Request) -> Any:
        return make_reply()

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, float]:
        return {"reward": 0.0}

    return app


def answer_with(body: bytes, status: int = 200, media_type: str | None = "application/json") -> Callable[[], Any]:
    """Make a reply of these very bytes."""
    return lambda: Response(body, status, media_type=media_type)


@pytest.fixture
def with_tools() -> Callable[..., FastAPI]:
    """`with_tools(app, *names)` adds tools that answer with their own name."""
    return add_tools


@pytest.fixture
def with_memory() -> Callable[[FastAPI], FastAPI]:
    """`with_memory(app)` adds the tools look, write and forget."""
    return add_memory


@pytest.fixture
def seeding() -> Callable[..., FastAPI]:
    """`seeding(app, make_reply, **route_settings)` adds /seed_session and /verify."""
    return seed_with


@pytest.fixture
def replying() -> Callable[..., Callable[[], Any]]:
    """`replying(body, status=200, media_type=...)` gives a maker of raw replies."""
    return answer_with

"""A server whose /verify shows what reached its handler, and answers as the test says."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

TOOLS = ("get_weather", "get_time")


@dataclass
class Scorer:
    """The raw requests that the handler of /verify got, and the client that sends them."""

    door: Any
    requests: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)

    def post(self, content: bytes, **arguments: Any) -> Any:
        """Post these very bytes to /verify."""
        headers = {"content-type": "application/json"}
        return self.door.client.post("/verify", content=content, headers=headers, **arguments)

    def verify(self, body: Any) -> Any:
        """Post a JSON body to /verify."""
        return self.door.client.post("/verify", json=body)

    def seen(self, names: Iterable[str]) -> list[str]:
        """The names that the handler sees for these recorded ones."""
        self.verify(trajectory(*names))

        return [item["name"] for item in json.loads(self.requests[-1][0])["response"]["output"]]


def trajectory(*names: str) -> dict[str, Any]:
    """A verify body with one call of each name."""
    output = [
        {"type": "function_call", "name": name, "call_id": f"call_{n}", "arguments": "{}"}
        for n, name in enumerate(names)
    ]
    return {"response": {"id": "resp_1", "output": output}}


@pytest.fixture
def calls() -> Callable[..., dict[str, Any]]:
    """`calls(*names)`: a verify body with one call of each name."""
    return trajectory


@pytest.fixture
def scorer(make_app, open_door) -> Callable[..., Scorer]:
    """`scorer(manifest=None, reply=None, tools=TOOLS, **expose_arguments)`.

    `reply` makes the handler's reply of the raw body; without it the body is echoed with a reward.
    """

    def scorer(
        manifest: Any = None,
        reply: Callable[[bytes], Any] | None = None,
        tools: Iterable[str] = TOOLS,
        **arguments: Any,
    ) -> Scorer:
        app: FastAPI = make_app(protocol=False)
        made = Scorer(None)

        @app.post("/seed_session")
        async def seed_session() -> dict[str, Any]:
            return {}

        @app.post("/verify")
        async def verify(request: Request) -> Any:
            body = await request.body()
            made.requests.append((body, dict(request.headers)))
            if reply is not None:
                return reply(body)
            return JSONResponse({**(await request.json()), "reward": 1.0})

        for name in tools:
            app.post(f"/{name}")(lambda: {"ok": True})
        made.door = open_door(app, manifest, **arguments)
        return made

    return scorer


@pytest.fixture
def raw() -> Callable[..., Callable[[bytes], Response]]:
    """`raw(content, status=200, media_type=...)`: a maker of replies of these very bytes."""

    def raw(content: bytes, status: int = 200, media_type: str | None = "application/json") -> Any:
        return lambda _: Response(content, status, media_type=media_type)

    return raw

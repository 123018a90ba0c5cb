"""Every request that is none of the protocol's passes through unread and unchanged."""

import hashlib
from typing import Any

import pytest
from fastapi import FastAPI, Request, UploadFile, WebSocket
from fastapi.testclient import TestClient
from starlette.responses import StreamingResponse
from starlette.types import Message

from gym_mcp_manifest import expose

ROUTES = {"version": 1, "routes": {"include": []}}


def add_routes(app: FastAPI) -> FastAPI:
    """Routes of many kinds, none of them a tool."""

    @app.post("/hash")
    async def hash_of(request: Request) -> dict[str, Any]:
        body = await request.body()
        return {"sha": hashlib.sha256(body).hexdigest(), "headers": sorted(request.headers.items())}

    @app.post("/upload")
    async def upload(file: UploadFile) -> dict[str, Any]:
        return {"name": file.filename, "size": len(await file.read())}

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse((f'{{"n":{n}}}\n' for n in range(50)), media_type="application/json")

    @app.post("/deep/verify")
    async def deep(request: Request) -> Any:
        return await request.json()

    @app.post("/item/{name:path}")
    async def item(name: str, request: Request) -> dict[str, Any]:
        return {"name": name, "query": request.url.query, "path": request.scope["path"]}

    @app.websocket("/ws")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text(f"echo {await websocket.receive_text()}")
        await websocket.close()

    return app


@pytest.fixture
def pair(make_app, open_door):
    """The same app without this package, and exposed."""
    plain = TestClient(add_routes(make_app()), raise_server_exceptions=False)
    return plain, open_door(add_routes(make_app()), ROUTES).client


REQUESTS = [
    ("POST", "/hash", {"content": b'{"response":{"output":[{"type":"function_call","name":"mcp__unit__x"}]}}'}),
    ("POST", "/hash", {"content": b"\x00\xff" * 40_000, "headers": {"content-type": "application/octet-stream"}}),
    ("POST", "/hash", {"content": b"", "headers": {"x-nemo-gym-session-token": "abc"}}),
    ("POST", "/upload", {"files": {"file": ("a.bin", b"x" * 5000)}}),
    ("GET", "/stream", {}),
    (
        "POST",
        "/deep/verify",
        {"json": {"response": {"output": [{"type": "function_call", "name": "mcp__unit__x"}]}}},
    ),
    ("POST", "/item/mcp", {}),
    ("POST", "/item/a%2Fb%20c?x=%2B&y", {}),
    ("POST", "/nowhere", {"json": {}}),
    ("PUT", "/hash", {}),
    ("OPTIONS", "/hash", {}),
    ("HEAD", "/stream", {}),
    ("GET", "/openapi.json", {}),
    ("POST", "/verify/", {"json": {"a": 1}, "follow_redirects": False}),
    ("POST", "/seed_session/x", {"json": {}}),
    ("GET", "/mcpx", {}),
    ("GET", "/mcp/deeper", {}),
]


@pytest.mark.parametrize(("method", "path", "arguments"), REQUESTS, ids=lambda value: str(value)[:40])
def test_the_answer_is_that_of_the_app_without_this_package(pair, method, path, arguments):
    expected, answer = (client.request(method, path, **arguments) for client in pair)
    assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
    assert answer.headers == expected.headers


def test_a_websocket_works(pair):
    for client in pair:
        with client.websocket_connect("/ws") as socket:
            socket.send_text("hello")
            assert socket.receive_text() == "echo hello"


async def exchange(app: FastAPI, path: str, messages: list[Message]) -> list[Message]:
    """Run one request of these messages; the app must take them one by one."""
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json"), (b"host", b"test")],
        "client": ("test", 1),
        "server": ("test", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return sent


def test_a_streaming_request_body_is_passed_on_piece_by_piece(make_app, open_door):
    app = make_app()
    arrived: list[tuple[bytes, int]] = []
    messages: list[Message] = [
        {"type": "http.request", "body": f"piece {n}".encode(), "more_body": n < 3} for n in range(4)
    ]

    @app.post("/stream_in")
    async def stream_in(request: Request) -> dict[str, int]:
        arrived.extend([(chunk, len(messages)) async for chunk in request.stream() if chunk])
        return {"pieces": len(arrived)}

    door = open_door(app, ROUTES)
    door.client.portal.call(exchange, app, "/stream_in", messages)
    # Each piece arrives while the later ones have not been taken from the connection.
    assert arrived == [(f"piece {n}".encode(), 3 - n) for n in range(4)]


def test_a_handler_that_never_reads_leaves_the_body_alone(make_app, open_door):
    app = make_app()
    app.post("/unread")(lambda: {"read": False})
    messages: list[Message] = [{"type": "http.request", "body": b"x", "more_body": True}] * 3
    door = open_door(app, ROUTES)
    sent = door.client.portal.call(exchange, app, "/unread", messages)
    assert sent[0]["status"] == 200
    assert len(messages) == 3


@pytest.mark.parametrize("path", ["/seed_session", "/verify"])
def test_a_client_that_leaves_before_its_body_is_whole_runs_nothing(make_app, open_door, path):
    app = make_app(protocol=False)
    ran: list[str] = []
    app.post("/seed_session")(lambda: ran.append("seed"))
    app.post("/verify")(lambda: ran.append("verify"))
    messages: list[Message] = [
        {"type": "http.request", "body": b'{"a":', "more_body": True},
        {"type": "http.disconnect"},
    ]
    door = open_door(app, ROUTES)
    assert door.client.portal.call(exchange, app, path, messages) == []
    assert ran == []


@pytest.mark.parametrize("instance", [None, {}, {"expose_tools_over_mcp": False}])
def test_where_exposure_is_off_the_app_is_untouched(make_app, instance):
    app = add_routes(make_app())
    before = dict(app.__dict__), list(app.user_middleware), list(app.router.routes)
    plan = expose(app, name="unit", instance=instance)
    assert not plan.on
    assert (dict(app.__dict__), list(app.user_middleware), list(app.router.routes)) == before
    plain, exposed = (TestClient(a) for a in (add_routes(make_app()), app))
    body = b'{"response": {"output": [{"type":"function_call","name":"mcp__unit__hash"}]}, "f": 1.10}'
    for path in ("/seed_session", "/verify", "/hash", "/mcp"):
        expected, answer = (client.post(path, content=body) for client in (plain, exposed))
        assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
        assert "mcp" not in answer.text or path == "/verify"

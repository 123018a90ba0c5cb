"""The endpoint in real apps: lifespans, mounts, root paths, instrumentors, apps without sessions, exposure off."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Request, WebSocket
from fastapi.testclient import TestClient
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest import ExposureRefused, expose
from gym_mcp_manifest.endpoint.client import connect
from gym_mcp_manifest.endpoint.sdk import sdk_version

ON = {"expose_tools_over_mcp": True}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
NONE = {"version": 1, "sessions": {"mode": "none"}}


class City(BaseModel):
    city: str = "Paris"


def add_tool(app: FastAPI) -> FastAPI:
    @app.post("/tool")
    async def tool(request: Request, body: City) -> dict[str, Any]:
        if body.city == "Atlantis":
            raise HTTPException(404, "sunk")
        return {
            "city": body.city,
            "url": str(request.url),
            "root": request.scope["root_path"],
            "path": request.scope["path"],
            "raw": request.scope["raw_path"].decode(),
            "state": dict(request.state._state),
        }

    return app


# Lifespans.


def test_the_apps_own_lifespan_runs_around_every_call_and_its_state_is_seen(make_app, open_door):
    events = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        events.append("startup")
        yield {"pool": "open"}
        events.append("shutdown")

    app = add_tool(make_app(lifespan=lifespan))
    expose(app, name="unit", instance=ON)
    with TestClient(app) as client:
        assert events == ["startup"]
        session = client.post("/seed_session").json()["mcp"]["headers"]
        call = {**LIST, "method": "tools/call", "params": {"name": "tool", "arguments": {}}}
        over_mcp = client.post("/mcp", json=call, headers=session).json()["result"]["structuredContent"]
        assert over_mcp["state"] == client.post("/tool", json={}).json()["state"] == {"pool": "open"}
    assert events == ["startup", "shutdown"]


def test_an_app_that_fails_to_start_fails_as_it_did(make_app):
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise OSError("no database")
        yield

    app = add_tool(make_app(lifespan=lifespan))
    expose(app, name="unit", instance=ON)
    with pytest.raises((OSError, ExceptionGroup)) as caught, TestClient(app):
        pytest.fail("the app started")
    assert "no database" in repr(caught.value)


def test_an_app_may_be_started_twice(make_app, make_door):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)
    for city in ("Rome", "Oslo"):
        with TestClient(app) as client:
            door = make_door(client)
            assert door.call("tool", {"city": city}, door.seed())["structuredContent"]["city"] == city


def test_an_app_is_served_without_any_lifespan(make_app, make_door):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)
    door = make_door(TestClient(app))
    session = door.seed()
    assert door.names(session) == ("tool",)
    assert door.call("tool", {"city": "Rome"}, session)["structuredContent"]["city"] == "Rome"
    assert door.text("tool", {"city": "Atlantis"}, session) == "HTTP 404 from POST /tool: sunk"


def test_an_app_is_served_in_process_by_an_asgi_transport(make_app):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)

    async def drive() -> list[str]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://in.process") as client:
            session = (await client.post("/seed_session", json={})).json()["mcp"]["headers"]

            async def call(number: int) -> str:
                params = {"name": "tool", "arguments": {"city": str(number)}}
                message = {**LIST, "id": number, "method": "tools/call", "params": params}
                reply = (await client.post("/mcp", json=message, headers=session)).json()
                assert reply["id"] == number
                return reply["result"]["structuredContent"]["city"]

            return list(await asyncio.gather(*map(call, range(20))))

    assert asyncio.run(drive()) == [str(number) for number in range(20)]


def test_websockets_pass(make_app, make_door):
    app = add_tool(make_app())

    @app.websocket("/mcp")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text(await websocket.receive_text())
        await websocket.close()

    expose(app, name="unit", instance=ON)
    with TestClient(app) as client, client.websocket_connect("/mcp") as connection:
        connection.send_text("ä")
        assert connection.receive_text() == "ä"
        assert make_door(client).names() == ("tool",)


# Where the app stands.


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_mounted_app_serves_its_endpoint_below_the_mount(make_app, make_door, path):
    inner, outer = add_tool(make_app()), FastAPI()
    expose(inner, name="unit", instance=ON)
    outer.mount("/env", inner)
    client = TestClient(outer)
    session = client.post("/env/seed_session").json()["mcp"]["headers"]
    door = make_door(client)
    call = {**LIST, "method": "tools/call", "params": {"name": "tool", "arguments": {}}}
    over_mcp = door.post(call, session, url=f"/env{path}").json()["result"]["structuredContent"]
    assert over_mcp == client.post("/env/tool", json={}).json()
    assert client.post("/mcp", json=LIST).status_code == 404


def root_path_of_the_app(app: FastAPI) -> TestClient:
    app.root_path = "/api"
    return TestClient(app)


def root_path_of_the_server(app: FastAPI) -> TestClient:
    return TestClient(app, root_path="/api")


@pytest.mark.parametrize(
    ("client_of", "prefix"),
    [(root_path_of_the_app, ""), (root_path_of_the_app, "/api"), (root_path_of_the_server, "/api")],
    ids=["of the app, stripped by the proxy", "of the app, kept by the proxy", "of the server"],
)
def test_a_root_path_changes_nothing_of_what_handlers_see(make_app, make_door, client_of, prefix):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)
    client = client_of(app)
    session = client.post(f"{prefix}/seed_session").json()["mcp"]["headers"]
    door = make_door(client)
    for path in ("/mcp", "/mcp/"):
        call = {**LIST, "method": "tools/call", "params": {"name": "tool", "arguments": {}}}
        reply = door.post(call, session, url=prefix + path)
        assert reply.json()["result"]["structuredContent"] == client.post(f"{prefix}/tool", json={}).json()
        assert client.get(prefix + path).status_code == 405


def test_a_path_that_middleware_rewrites_reaches_the_endpoint(make_app, make_door):
    app = add_tool(make_app())

    class Rewriting:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["path"].startswith("/v1/"):
                scope = {**scope, "path": scope["path"].removeprefix("/v1")}
            await self.inner(scope, receive, send)

    expose(app, name="unit", manifest={"version": 1, "skip_middleware": ["*.Rewriting"]}, instance=ON)
    app.add_middleware(Rewriting)
    with TestClient(app) as client:
        door = make_door(client)
        assert door.post(LIST, url="/v1/mcp").json()["result"]["tools"][0]["name"] == "tool"
        assert client.get("/v1/mcp").status_code == 405


def test_middleware_and_routes_that_a_factory_adds_after_expose_count(make_app, open_door):
    app = add_tool(make_app(sessions=False))

    expose(app, name="unit", instance=ON, secret="given")
    app.add_middleware(SessionMiddleware, secret_key="key")
    app.post("/late")(lambda: {"late": True})
    router = APIRouter()
    router.post("/later")(lambda: {"later": True})
    app.include_router(router)
    with TestClient(app) as client:
        session = client.post("/seed_session").json()["mcp"]["headers"]
        tools = client.post("/mcp", json=LIST, headers=session).json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["tool", "late", "later"]
        call = {**LIST, "method": "tools/call", "params": {"name": "late", "arguments": {}}}
        assert client.post("/mcp", json=call, headers=session).json()["result"]["structuredContent"] == {
            "late": True
        }


def test_a_late_route_that_cannot_be_dispatched_fails_the_startup(make_app):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)

    @app.post("/late")
    def late(limit: int) -> None: ...

    with pytest.raises(ExposureRefused, match="POST /late cannot be dispatched"), TestClient(app):
        pytest.fail("the app started")


# Apps without sessions, and who may name them.


def without_sessions() -> FastAPI:
    app = FastAPI()
    app.post("/tool")(lambda: {"ok": True})
    return app


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
    ],
)
def test_an_app_without_sessions_answers_loopback_names_only(open_door, host, status):
    door = open_door(without_sessions(), NONE)
    assert door.post(LIST, {"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"), [("http://localhost:3000", 200), ("https://evil.example", 403), ("null", 403)]
)
def test_an_app_without_sessions_answers_loopback_origins_only(open_door, origin, status):
    door = open_door(without_sessions(), NONE)
    assert door.post(LIST, {"Host": "localhost", "Origin": origin}).status_code == status


def test_hosts_that_the_instance_lists_replace_loopback(open_door):
    door = open_door(without_sessions(), NONE, instance={"mcp_allowed_hosts": ["env.example"]})
    assert door.post(LIST, {"Host": "env.example:9000"}).status_code == 200
    assert door.post(LIST, {"Host": "env.example"}).status_code == 200
    assert door.post(LIST, {"Host": "localhost"}).status_code == 421


def test_listed_hosts_protect_an_app_with_tokens_too(make_app, open_door):
    door = open_door(add_tool(make_app()), instance={"mcp_allowed_hosts": ["env.example"]})
    assert door.post(LIST, {"Host": "env.example"}).status_code == 200
    assert door.post(LIST, {"Host": "evil.example"}).status_code == 421
    assert door.client.post("/tool", json={}, headers={"Host": "evil.example"}).status_code == 200


def test_calls_of_an_app_without_sessions_need_no_token_and_have_an_empty_session(make_app, open_door):
    app = make_app(protocol=False)

    @app.post("/tool")
    def tool(request: Request) -> dict[str, Any]:
        seen = dict(request.session)
        request.session["written"] = True
        return seen

    door = open_door(app, NONE, client={"base_url": "http://localhost"})
    for headers in ({}, {"X-NeMo-Gym-Session-Token": "any"}):
        result = door.call("tool", {}, headers)
        assert (result["isError"], result["structuredContent"]) == (False, {})


# Instrumentors.


@pytest.mark.parametrize("first", [True, False], ids=["instrumented first", "exposed first"])
def test_opentelemetry_records_every_http_route_and_the_tools_still_answer(make_app, make_door, first):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app = add_tool(make_app())

    def instrument() -> None:
        FastAPIInstrumentor.instrument_app(app, tracer_provider=provider)

    if first:
        instrument()
    expose(app, name="unit", instance=ON)
    if not first:
        instrument()
    try:
        with TestClient(app) as client:
            door = make_door(client)
            session = door.seed()
            client.post("/tool", json={})
            client.post("/verify", json={})
            assert door.call("tool", {}, session)["isError"] is False
    finally:
        FastAPIInstrumentor.uninstrument_app(app)
    names = {span.name for span in exporter.get_finished_spans()}
    assert {"POST /seed_session", "POST /tool", "POST /verify"} <= names


# Exposure off.


@pytest.mark.parametrize("block", [None, {}, {"expose_tools_over_mcp": False}], ids=repr)
def test_an_app_with_exposure_off_is_untouched_and_answers_byte_for_byte(make_app, block):
    def whole(app: FastAPI) -> list[tuple[int, Any, bytes]]:
        client = TestClient(app, raise_server_exceptions=False)
        replies = [
            client.post("/seed_session", json={"session": {"a": 1}}),
            client.post("/tool", json={"city": "ä"}),
            client.post("/tool", json=[]),
            client.post(
                "/verify", content=b'{ "response": {"output": [{"type": "function_call", "name": "x"}]} }'
            ),
            client.post("/mcp", json=LIST),
            client.get("/mcp"),
            client.get("/openapi.json"),
        ]
        return [(r.status_code, [h for h in r.headers.raw if h[0] != b"set-cookie"], r.content) for r in replies]

    app = add_tool(make_app())
    before = {**app.__dict__}
    middleware, routes = list(app.user_middleware), list(app.router.routes)
    plan = expose(app, name="unit", instance=block)
    assert (app.__dict__, app.user_middleware, app.router.routes) == (before, middleware, routes)
    assert app.middleware_stack is None
    assert "build_middleware_stack" not in app.__dict__
    assert plan.tools == ()
    assert all("exposure is off" in entry.reason for entry in plan.excluded)
    assert whole(app) == whole(add_tool(make_app()))


# A real server and the SDK's own client.


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="on"))

    def run() -> None:
        with suppress(SystemExit):
            server.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    for _ in range(500):
        if server.started or not thread.is_alive():
            break
        time.sleep(0.01)
    assert server.started, "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def test_the_sdks_own_client_lists_and_calls_over_a_real_socket(make_app):
    app = add_tool(make_app())
    app.post("/crash")(lambda: 1 / 0)
    expose(app, name="unit", instance=ON)

    async def drive(url: str) -> None:
        async with httpx.AsyncClient(base_url=url) as http:
            session = (await http.post("/seed_session", json={})).json()["mcp"]["headers"]
            async with connect(f"{url}/mcp", session) as client:
                assert client.protocol_version == ("2026-07-28" if sdk_version() >= (2,) else "2025-11-25")
                assert [tool["name"] for tool in await client.list_tools()] == ["tool", "crash"]
                over_mcp = await client.call_tool("tool", {"city": "Rome"})
                over_http = await http.post("/tool", json={"city": "Rome"})
                assert over_mcp["content"] == [{"type": "text", "text": over_http.text}]
                assert over_mcp["structuredContent"] == over_http.json()
                crash = await client.call_tool("crash", {})
                assert crash["isError"] is True
                assert crash["content"][0]["text"] == "HTTP 500 from POST /crash: Internal Server Error"
                results = await asyncio.gather(*(client.call_tool("tool", {"city": str(n)}) for n in range(50)))
                assert [result["structuredContent"]["city"] for result in results] == [str(n) for n in range(50)]
            async with connect(f"{url}/mcp") as stranger:
                assert len(await stranger.list_tools()) == 2
                refused = await stranger.call_tool("tool", {})
                assert refused["content"][0]["text"].startswith("Missing X-NeMo-Gym-Session-Token header")

    with running(app) as url:
        asyncio.run(drive(url))


def test_a_real_server_refuses_a_body_over_the_limit_and_goes_on(make_app):
    app = add_tool(make_app())
    expose(app, name="unit", manifest={"version": 1, "limits": {"request_bytes": 10_000}}, instance=ON)
    with running(app) as url, httpx.Client(base_url=url) as client:
        assert client.post("/mcp", content=b"x" * 20_000).status_code == 413
        assert client.post("/mcp", json=LIST).json()["result"]["tools"][0]["name"] == "tool"


def test_a_real_server_does_not_start_an_app_that_cannot_be_exposed(make_app):
    app = add_tool(make_app())
    expose(app, name="unit", instance=ON)
    app.mount("/mcp", FastAPI())
    with pytest.raises(AssertionError, match="did not start"), running(app):
        pytest.fail("the app started")


def test_a_client_that_leaves_in_the_middle_of_a_call_harms_nobody(make_app):
    started, release = threading.Event(), threading.Event()
    app = add_tool(make_app())

    @app.post("/slow")
    def slow() -> bool:
        started.set()
        return release.wait(10)

    expose(app, name="unit", instance=ON)
    with running(app) as url, httpx.Client(base_url=url) as client:
        session = client.post("/seed_session", json={}).json()["mcp"]["headers"]
        call = {**LIST, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
        with pytest.raises(httpx.ReadTimeout):
            client.post("/mcp", json=call, headers=session, timeout=0.3)
        assert started.wait(10)
        assert client.post("/mcp", json=LIST).status_code == 200
        release.set()
        assert client.post("/mcp", json=call, headers=session).json()["result"]["isError"] is False


def test_a_route_that_the_startup_adds_is_told(make_app, caplog):
    @asynccontextmanager
    async def lifespan(app):
        app.post("/late")(lambda: {"late": True})
        yield

    app = make_app(lifespan=lifespan)
    app.post("/early")(lambda: {"early": True})
    expose(app, name="unit", instance={"expose_tools_over_mcp": True})
    with caplog.at_level("WARNING", "gym_mcp_manifest"), TestClient(app) as client:
        assert client.post("/late").json() == {"late": True}
    told = [record.getMessage() for record in caplog.records if "never tools" in record.getMessage()]
    assert told == ["added while the app started, so never tools: POST /late; add them before"]

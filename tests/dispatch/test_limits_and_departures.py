"""Time, size and departure: what ends a call, and that its handler still ran exactly once."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from loopback import call, seeded, served, until
from pydantic import BaseModel

from gym_mcp_manifest import expose

ON = {"expose_tools_over_mcp": True}
#: Of AnyIO's pool, in which FastAPI runs sync handlers.
THREADS = 40


class Named(BaseModel):
    name: str


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()
    app.state.ran, app.state.cancelled, app.state.left = [], [], []

    @app.post("/hang")
    async def hang() -> dict[str, bool]:
        app.state.ran.append("hang")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            app.state.cancelled.append("hang")
            raise
        return {"done": True}

    @app.post("/quick")
    async def quick() -> dict[str, bool]:
        app.state.ran.append("quick")
        return {"done": True}

    @app.post("/watch")
    async def watch(request: Request) -> dict[str, bool]:
        app.state.ran.append("watch")
        for _ in range(600):
            if await request.is_disconnected():
                app.state.left.append("watch")
                break
            await asyncio.sleep(0.05)
        return {"done": True}

    return add_long_answers(app)


def add_long_answers(app: FastAPI) -> FastAPI:
    @app.post("/long_text")
    async def long_text() -> Response:
        return Response("é" * 1000, media_type="text/plain; charset=utf-8")

    @app.post("/long_json")
    async def long_json() -> dict[str, str]:
        return {"text": "x" * 1000}

    @app.post("/long_reply")
    async def long_reply() -> Named:
        return Named(name="x" * 1000)

    @app.post("/long_bytes")
    async def long_bytes() -> Response:
        return Response(b"\x89PNG" * 1000, media_type="image/png")

    @app.post("/endless")
    async def endless() -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            try:
                while True:
                    yield "line\n"
                    await asyncio.sleep(0)
            finally:
                app.state.left.append("endless")

        return StreamingResponse(lines(), media_type="text/plain")

    return app


def limited(**limits: Any) -> dict[str, Any]:
    return {"version": 1, "limits": limits, "tools": {"long_reply": {"output_schema": True}}}


def test_a_call_beyond_its_time_is_an_error_and_its_handler_is_cancelled(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(call_timeout=0.2))
    session = door.seed()
    answer = door.call("hang", {}, session)
    assert answer["isError"]
    assert answer["content"][0]["text"] == "POST /hang was ended: it took longer than 0.2 s"
    assert (app.state.ran, app.state.cancelled) == (["hang"], ["hang"])
    assert not door.call("quick", {}, session)["isError"]


@pytest.mark.parametrize("value", ["0", "-1", "'5'", "true", "[]"])
def test_a_time_that_is_none_is_refused(app: FastAPI, value: str, tmp_path: Any) -> None:
    from gym_mcp_manifest import ManifestInvalid, load_manifest

    path = tmp_path / "mcp.yaml"
    path.write_text(f"version: 1\nlimits: {{call_timeout: {value}}}\n")
    with pytest.raises(ManifestInvalid) as caught:
        load_manifest(path)
    assert [(d.code, d.line) for d in caught.value.diagnostics] == [("GMM203", 2)]


NOTICE = "[cut: the answer has more than 101 bytes, which `limits.result_bytes` allows]"


def test_a_text_beyond_the_limit_is_cut_visibly_between_letters(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=101))
    answer = door.call("long_text", {}, door.seed())
    assert answer["content"][0]["text"] == "é" * 50 + "\n" + NOTICE
    assert not answer["isError"]


def test_json_beyond_the_limit_is_text_only(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=101))
    answer = door.call("long_json", {}, door.seed())
    assert "structuredContent" not in answer
    assert answer["content"][0]["text"].startswith('{"text":"xxx')
    assert answer["content"][0]["text"].endswith(NOTICE)


def test_a_cut_reply_of_a_tool_with_an_output_schema_is_an_error(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=101))
    answer = door.call("long_reply", {}, door.seed())
    assert answer["isError"]
    assert NOTICE in answer["content"][0]["text"]


def test_bytes_beyond_the_limit_are_a_text_that_says_so(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=101))
    assert door.call("long_bytes", {}, door.seed())["content"] == [{"type": "text", "text": NOTICE}]


def test_an_answer_of_just_the_limit_is_whole(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=len('{"done":true}')))
    assert door.call("quick", {}, door.seed())["structuredContent"] == {"done": True}


@pytest.mark.timeout(30)
def test_an_endless_stream_ends_at_the_limit_and_its_generator_is_told(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, limited(result_bytes=100))
    answer = door.call("endless", {}, door.seed())
    assert answer["content"][0]["text"].startswith("line\nline\n")
    assert until(lambda: app.state.left == ["endless"])


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_a_handler_learns_that_the_client_has_left_as_over_http(app: FastAPI, mode: str) -> None:
    expose(app, name="unit", manifest={"version": 1, "dispatch": mode}, instance=ON)
    with served(app) as base:
        session = seeded(base)
        with pytest.raises(httpx.TimeoutException):
            call(base, "watch", session, timeout=0.3)
        with pytest.raises(httpx.TimeoutException):
            httpx.post(f"{base}/watch", timeout=0.3)
        until(lambda: len(app.state.left) == 2)
    assert app.state.left == ["watch", "watch"]
    assert app.state.ran == ["watch", "watch"]


def test_a_body_that_no_server_sends_reaches_no_agent(app: FastAPI) -> None:
    @app.head("/peek")
    async def peek() -> dict[str, int]:
        return {"a": 1}

    @app.post("/nothing")
    async def nothing() -> Response:
        return JSONResponse({"a": 1}, 204)

    routes, tools = {"include": ["/nothing", "HEAD /peek"]}, {"HEAD /peek": {"dispatch": "route"}}
    manifest = {"version": 1, "routes": routes, "tools": tools}
    expose(app, name="unit", manifest=manifest, instance=ON)
    with served(app) as base:
        session = seeded(base)
        assert httpx.head(f"{base}/peek", timeout=30).content == b""
        for name in ("peek", "nothing"):
            result = call(base, name, session).json()["result"]
            assert (result["content"], result.get("structuredContent")) == ([{"type": "text", "text": ""}], None)


class Unfinished(Response):
    """A reply that ends before its end."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})


def test_a_reply_that_breaks_off_is_no_answer(app: FastAPI) -> None:
    @app.post("/half")
    async def half() -> Response:
        return Unfinished()

    expose(app, name="unit", manifest={"version": 1}, instance=ON)
    with served(app) as base:
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(f"{base}/half", timeout=30)
        result = call(base, "half", seeded(base)).json()["result"]
    assert result["isError"]
    assert result["content"][0]["text"] == "HTTP 200 from POST /half: broke off after 4 bytes"


def test_a_stream_whose_source_is_cancelled_is_no_answer(app: FastAPI) -> None:
    @app.post("/cancelled")
    async def cancelled() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"half"
            raise asyncio.CancelledError

        return StreamingResponse(parts(), media_type="text/plain")

    expose(app, name="unit", manifest={"version": 1}, instance=ON)
    with served(app) as base:
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(f"{base}/cancelled", timeout=30)
        session = seeded(base)
        result = call(base, "cancelled", session).json()["result"]
        assert (result["isError"], "broke off after 4 bytes" in result["content"][0]["text"]) == (True, True)
        assert not call(base, "quick", session).json()["result"]["isError"]


class Silent:
    """Middleware that ends requests without an answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") != "/quick":
            await self._app(scope, receive, send)


def test_an_app_that_does_not_answer_is_told_as_the_server_tells_it(app: FastAPI) -> None:
    app.add_middleware(Silent)
    expose(app, name="unit", manifest={"version": 1, "dispatch": "app"}, instance=ON)
    with served(app) as base:
        result = call(base, "quick", seeded(base)).json()["result"]
        answer = httpx.post(f"{base}/quick", timeout=30)
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert result["isError"]
    assert result["content"][0]["text"] == f"HTTP 500 from POST /quick: {answer.text}"
    assert app.state.ran == []


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_fifty_calls_run_side_by_side_sync_and_async(make_app: Any, mode: str) -> None:
    """Each handler stays until as many are inside as can be: all fifty, or one for each thread of the pool."""
    app = make_app()
    inside = {"wait_async": 0, "wait_sync": 0}
    all_async, all_sync, lock = asyncio.Event(), threading.Event(), threading.Lock()

    @app.post("/wait_async")
    async def wait_async() -> str:
        inside["wait_async"] += 1
        if inside["wait_async"] == 50:
            all_async.set()
        await asyncio.wait_for(all_async.wait(), 60)
        return "together"

    @app.post("/wait_sync")
    def wait_sync() -> str:
        with lock:
            inside["wait_sync"] += 1
            if inside["wait_sync"] == THREADS:
                all_sync.set()
        return "together" if all_sync.wait(60) else "alone"

    expose(app, name="unit", manifest={"version": 1, "dispatch": mode}, instance=ON)
    with served(app) as base, ThreadPoolExecutor(50) as pool:
        session = seeded(base)
        for name in ("wait_async", "wait_sync"):
            answers = list(
                pool.map(lambda _, name=name: call(base, name, session, 120).json()["result"], range(50))
            )
            assert {answer["content"][0]["text"] for answer in answers} == {"together"}
            assert inside[name] == 50

"""How one call runs: once, in the thread pool where HTTP does, through the app's own error handling."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import APIRouter, BackgroundTasks, FastAPI, HTTPException, Request
from fastapi.exception_handlers import request_validation_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException

from gym_mcp_manifest import expose


class City(BaseModel):
    """Where."""

    city: str


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []


class Odd(Exception):
    pass


class Stranger(Odd):
    pass


# Once.


def answering(calls: list[int]) -> Any:
    calls.append(1)
    return {"ok": True}


def refusing(calls: list[int]) -> Any:
    calls.append(1)
    raise HTTPException(400, "no")


def crashing(calls: list[int]) -> Any:
    calls.append(1)
    raise RuntimeError("crash")


def streaming(calls: list[int]) -> Any:
    def parts() -> Iterator[str]:
        calls.append(1)
        yield "a"
        yield "b"

    return StreamingResponse(parts())


def breaking(calls: list[int]) -> Any:
    def parts() -> Iterator[str]:
        calls.append(1)
        yield "a"
        raise RuntimeError("break")

    return StreamingResponse(parts())


@pytest.mark.parametrize("in_pool", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("behave", [answering, refusing, crashing, streaming, breaking])
def test_a_handler_runs_exactly_once_per_call(make_app, open_door, behave: Callable[[list[int]], Any], in_pool):
    calls: list[int] = []
    app = make_app()
    if in_pool:
        app.post("/tool")(lambda: behave(calls))
    else:

        @app.post("/tool")
        async def tool() -> Any:
            return behave(calls)

    door = open_door(app)
    session = door.seed()
    for count in (1, 2, 3):
        door.call("tool", {}, session)
        assert len(calls) == count


def test_a_handler_does_not_run_where_its_arguments_are_invalid(make_app, open_door):
    app, calls = make_app(), []

    @app.post("/tool")
    def tool(body: City) -> None:
        calls.append(body)

    door = open_door(app)
    session = door.seed()
    assert door.text("tool", {}, session).startswith("HTTP 422 from POST /tool: [")
    assert calls == []


# Where.


def test_sync_handlers_run_in_the_thread_pool_and_a_blocking_one_stalls_nobody(make_app, open_door):
    app = make_app()
    blocked, release = threading.Event(), threading.Event()
    threads = []

    @app.post("/block")
    def block() -> bool:
        threads.append(threading.current_thread())
        blocked.set()
        return release.wait(10)

    @app.post("/quick")
    async def quick() -> bool:
        threads.append(threading.current_thread())
        return True

    door = open_door(app)
    session = door.seed()
    with ThreadPoolExecutor() as pool:
        blocking = pool.submit(door.call, "block", {}, session)
        assert blocked.wait(10)
        assert door.text("quick", {}, session) == "true"
        assert not blocking.done()
        release.set()
        assert blocking.result()["content"][0]["text"] == "true"
    assert threads[0] is not threads[1]


def test_calls_of_one_session_run_side_by_side(make_app, open_door):
    app = make_app()
    together = threading.Barrier(8, timeout=10)
    app.post("/meet")(lambda: together.wait() >= 0)
    door = open_door(app)
    session = door.seed()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: door.text("meet", {}, session), range(8)))
    assert results == ["true"] * 8


# Errors as the app handles them.


def by_class(app: FastAPI) -> None:
    @app.exception_handler(Odd)
    async def odd(request: Request, error: Odd) -> JSONResponse:
        return JSONResponse({"detail": f"odd at {request.url.path}: {error}"}, status_code=418)


def by_sync_handler(app: FastAPI) -> None:
    @app.exception_handler(Odd)
    def odd(request: Request, error: Odd) -> PlainTextResponse:
        return PlainTextResponse(f"odd: {error}", status_code=418)


def by_the_root_of_exceptions(app: FastAPI) -> None:
    @app.exception_handler(Exception)
    async def anything(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": {"kind": type(error).__name__}}, status_code=599)


def by_status_500(app: FastAPI) -> None:
    @app.exception_handler(500)
    async def anything(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": "down"}, status_code=500)


def by_status_404(app: FastAPI) -> None:
    @app.exception_handler(404)
    async def missing(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"missing": request.url.path}, status_code=404)


def by_http_exception(app: FastAPI) -> None:
    @app.exception_handler(StarletteHTTPException)
    async def told(request: Request, error: StarletteHTTPException) -> JSONResponse:
        return JSONResponse({"told": error.detail}, status_code=error.status_code)


def by_validation_error(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        assert error.body is not None
        return JSONResponse({"detail": [str(entry["loc"]) for entry in error.errors()]}, status_code=400)


def by_a_wrapping_handler(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Any:
        return await request_validation_exception_handler(request, error)


def by_a_handler_that_makes_it_a_success(app: FastAPI) -> None:
    @app.exception_handler(Odd)
    async def odd(request: Request, error: Odd) -> JSONResponse:
        return JSONResponse({"soft": str(error)}, status_code=200)


def by_a_handler_that_fails(app: FastAPI) -> None:
    @app.exception_handler(Odd)
    async def odd(request: Request, error: Odd) -> JSONResponse:
        raise RuntimeError("twice")


def by_nobody(app: FastAPI) -> None:
    pass


@pytest.mark.parametrize("late", [False, True], ids=["before expose", "after expose"])
@pytest.mark.parametrize(
    "handle",
    [
        by_class,
        by_sync_handler,
        by_the_root_of_exceptions,
        by_status_500,
        by_status_404,
        by_http_exception,
        by_validation_error,
        by_a_wrapping_handler,
        by_a_handler_that_makes_it_a_success,
        by_a_handler_that_fails,
        by_nobody,
    ],
)
def test_a_failure_reads_as_the_apps_own_handlers_write_it(
    make_app, serve, ask_twins, handle: Callable[[FastAPI], None], late
):
    app = make_app()

    @app.post("/tool")
    async def tool(body: City) -> Any:
        failures = {"odd": Odd("one"), "stranger": Stranger("two"), "gone": HTTPException(404, "gone")}
        raise failures.get(body.city) or RuntimeError("crash")

    if not late:
        handle(app)
    door = serve(app, handle if late else by_nobody)
    for arguments in ({"city": "odd"}, {"city": "stranger"}, {"city": "gone"}, {"city": "x"}, {}, {"city": 1}):
        ask_twins(door, "tool", arguments).assert_equal("/tool")


def test_the_loc_of_a_validation_error_is_that_of_http(make_app, open_door, ask_twins):
    app = make_app()

    @app.post("/tool")
    async def tool(body: Node) -> None: ...

    twins = ask_twins(open_door(app), "tool", {"name": "a", "children": [{"name": "b"}, {"name": 3}]})
    twins.assert_equal("/tool")
    assert '"loc":["body","children",1,"name"]' in twins.text


def test_an_app_in_debug_mode_answers_with_a_traceback_over_both_doors(make_app, open_door, ask_twins):
    app = make_app(debug=True)
    app.post("/tool")(lambda: 1 / 0)
    twins = ask_twins(open_door(app), "tool")
    assert twins.http.status_code == 500
    assert twins.text.startswith("HTTP 500 from POST /tool: Traceback (most recent call last):\n")
    assert twins.text.splitlines()[-1] == twins.http.text.splitlines()[-1] == "ZeroDivisionError: division by zero"


# The route as it is served.


def test_tools_of_nested_routers_answer_under_their_whole_path(make_app, open_door, ask_twins):
    inner, outer = APIRouter(prefix="/inner"), APIRouter(prefix="/outer")

    @inner.post("/tool", response_model_exclude_none=True)
    async def tool(request: Request, body: City) -> dict[str, Any]:
        return {"path": request.url.path, "city": body.city}

    outer.include_router(inner)
    app = make_app()
    app.include_router(outer, prefix="/api", default_response_class=JSONResponse)
    door = open_door(app, {"version": 1, "tools": {"POST /api/outer/inner/tool": {"name": "deep"}}})
    twins = ask_twins(door, "deep", {"city": "Paris"}, path="/api/outer/inner/tool")
    twins.assert_equal("/deep")
    assert twins.http.json()["path"] == "/api/outer/inner/tool"
    failing = ask_twins(door, "deep", {}, path="/api/outer/inner/tool")
    assert failing.text.startswith("HTTP 422 from POST /deep: ")


def test_settings_that_an_include_adds_hold_for_calls(make_app, open_door, ask_twins):
    class Shouting(PlainTextResponse):
        def render(self, content: Any) -> bytes:
            return str(content).upper().encode()

    router = APIRouter()

    @router.post("/tool")
    async def tool() -> str:
        return "loud"

    app = make_app()
    app.include_router(router, default_response_class=Shouting)
    twins = ask_twins(open_door(app), "tool")
    twins.assert_equal("/tool")
    assert twins.text == "LOUD"


def test_a_dispatcher_gets_the_tools_name_as_its_path_value(make_app, open_door, ask_twins):
    app = make_app()

    @app.post("/{path}")
    async def dispatch(path: str, request: Request) -> dict[str, Any]:
        if path == "broken":
            raise HTTPException(400, f"no {path}")
        return {"path": path, "url": request.url.path, "arguments": await request.json()}

    names = ["email_send", "broken", "with-dash", "Ümlaut und mehr"]
    specs = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    manifest = {
        "version": 1,
        "catch_all": [{"tools": specs}],
        "tools": {"Ümlaut und mehr": {"name": "umlaut"}, "email_send": {"name": "send"}},
    }
    door = open_door(app, manifest)
    assert door.names() == ("send", "broken", "with-dash", "umlaut")
    ask_twins(door, "send", {"to": "ä"}, path="/email_send").assert_equal("/send")
    ask_twins(door, "broken").assert_equal("/broken")
    ask_twins(door, "with-dash").assert_equal("/with-dash")
    ask_twins(door, "umlaut", path="/Ümlaut und mehr").assert_equal("/umlaut")


def test_a_dispatcher_may_read_its_path_from_the_request(make_app, open_door):
    app = make_app()

    @app.post("/tools/{path:path}")
    async def dispatch(request: Request) -> dict[str, Any]:
        return dict(request.path_params)

    specs = [{"name": "a/b", "input_schema": {"type": "object"}}]
    door = open_door(app, {"version": 1, "catch_all": [{"tools": specs}], "tools": {"a/b": {"name": "ab"}}})
    assert door.call("ab", {}, door.seed())["structuredContent"] == {"path": "a/b"}


def test_a_recursive_model_is_advertised_with_an_object_at_its_root(make_app, open_door):
    app = make_app()

    @app.post("/tool")
    async def tool(body: Node) -> None:
        """Grow a tree."""

    (tool_,) = open_door(app).list()
    assert tool_["description"] == "Grow a tree."
    schema = tool_["inputSchema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert "Node" in schema["$defs"]


def test_every_kind_of_body_advertises_an_object(make_app, open_door):
    app = make_app()
    app.post("/nothing")(lambda: None)

    @app.post("/mapping")
    async def mapping(body: dict) -> None: ...

    @app.post("/raw")
    async def raw(request: Request) -> None: ...

    @app.post("/both")
    async def both(request: Request, body: City) -> None: ...

    schemas = {tool["name"]: tool["inputSchema"] for tool in open_door(app).list()}
    assert schemas["nothing"] == {"type": "object", "properties": {}}
    assert schemas["mapping"] == schemas["raw"] == {"type": "object", "additionalProperties": True}
    assert schemas["both"]["properties"] == {"city": {"title": "City", "type": "string"}}


# The session.


def test_a_call_sees_the_session_as_the_seed_left_it_and_http_sees_what_it_wrote(make_app, open_door):
    app = make_app()

    @app.post("/tool")
    def tool(request: Request) -> dict[str, Any]:
        before = dict(request.session)
        request.session["count"] = before.get("count", 0) + 1
        request.session.pop("once", None)
        return before

    door = open_door(app)
    session = door.seed({"session": {"user": "ada", "once": True}})
    first = door.call("tool", {}, session)["structuredContent"]
    assert first.pop("session_id")
    assert first == {"user": "ada", "once": True}
    assert door.call("tool", {}, session)["structuredContent"]["count"] == 1
    seen = door.client.post("/verify", json={}).json()["session"]
    assert (seen["user"], seen["count"], "once" in seen) == ("ada", 2, False)


def test_what_a_crashing_handler_wrote_is_lost_as_it_is_over_http(make_app, open_door):
    app = make_app()

    @app.post("/crash")
    def crash(request: Request) -> None:
        request.session["written"] = True
        raise RuntimeError

    @app.post("/refuse")
    def refuse(request: Request) -> None:
        request.session["refused"] = True
        raise HTTPException(400)

    door = open_door(app)
    session = door.seed()
    door.call("crash", {}, session)
    door.call("refuse", {}, session)
    seen = door.client.post("/verify", json={}).json()["session"]
    assert ("written" in seen, "refused" in seen) == (False, True)


def test_what_a_stream_writes_after_its_first_byte_is_lost_as_it_is_over_http(make_app, open_door):
    app = make_app()

    @app.post("/stream")
    def stream(request: Request) -> StreamingResponse:
        def parts() -> Iterator[str]:
            yield "a"
            request.session["late"] = True
            yield "b"

        request.session["early"] = True
        return StreamingResponse(parts())

    door = open_door(app)
    session = door.seed()
    assert door.text("stream", {}, session) == "ab"
    seen = door.client.post("/verify", json={}).json()["session"]
    assert ("early" in seen, "late" in seen) == (True, False)


def test_a_session_that_a_call_clears_still_takes_the_writes_of_the_next(make_app, open_door):
    app = make_app()

    @app.post("/clear")
    def clear(request: Request) -> None:
        request.session.clear()

    @app.post("/count")
    def count(request: Request) -> int:
        request.session["count"] = request.session.get("count", 0) + 1
        return request.session["count"]

    door = open_door(app)
    session = door.seed({"session": {"count": 5}})
    assert [door.text(name, {}, session) for name in ("count", "clear", "count", "count")] == [
        "6",
        "null",
        "1",
        "2",
    ]


def test_a_session_value_that_no_cookie_can_carry_fails_as_it_does_over_http(make_app, open_door, ask_twins):
    app = make_app()

    @app.post("/tool")
    def tool(request: Request) -> None:
        request.session["value"] = object()

    door = open_door(app)
    ask_twins(door, "tool").assert_equal("/tool")
    assert door.client.post("/verify", json={}).status_code == 200


# Arguments at the edges of JSON.


def test_arguments_that_nest_too_deep_or_hold_lone_surrogates_leave_the_server_alive(make_app, open_door):
    app = make_app()

    @app.post("/tool")
    async def tool(body: dict) -> int:
        return len(body)

    door = open_door(app)
    session = door.seed()
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":', b"}}"
    for arguments in (b'{"a":' * 5000 + b"1" + b"}" * 5000, b'{"a":"\\ud800"}', b'{"a":' + b"9" * 6000 + b"}"):
        reply = door.post(head + arguments + tail, session)
        assert reply.status_code in (200, 400, 500)
        assert reply.json()["jsonrpc"] == "2.0"
    assert door.text("tool", {"a": 1}, session) == "1"


def test_background_tasks_of_a_call_end_before_the_server_does(make_app):
    done: list[str] = []
    app = make_app()

    @app.post("/later")
    async def later(tasks: BackgroundTasks) -> dict[str, bool]:
        async def work() -> None:
            await asyncio.sleep(0.3)
            done.append("work")

        tasks.add_task(work)
        return {"started": True}

    expose(app, name="unit", instance={"expose_tools_over_mcp": True})
    with TestClient(app) as client:
        headers = client.post("/seed_session", json={}).json()["mcp"]["headers"]
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "later", "arguments": {}}}
        assert client.post("/mcp", json=call, headers=headers).json()["result"]["isError"] is False
        assert done == []
    assert done == ["work"]

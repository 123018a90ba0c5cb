"""Middleware that direct calls would skip: refused by its printed name, also when it comes after `expose`."""

import asyncio

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gym_mcp_manifest import ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}


class Pure:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class Based(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        return await call_next(request)


class OwnSessions(SessionMiddleware):
    pass


async def passing(request, call_next):
    return await call_next(request)


def add_class(app: FastAPI) -> None:
    app.add_middleware(Pure)


def add_based_class(app: FastAPI) -> None:
    app.add_middleware(Based)


def add_function(app: FastAPI) -> None:
    app.middleware("http")(passing)


def add_dispatch(app: FastAPI) -> None:
    app.add_middleware(BaseHTTPMiddleware, dispatch=passing)


def add_local(app: FastAPI) -> None:
    @app.middleware("http")
    async def local(request, call_next):
        return await call_next(request)


def add_cors(app: FastAPI) -> None:
    app.add_middleware(CORSMiddleware, allow_origins=["*"])


def add_gzip(app: FastAPI) -> None:
    app.add_middleware(GZipMiddleware)


def add_sessions_of_its_own_kind(app: FastAPI) -> None:
    app.add_middleware(OwnSessions, secret_key="another key", session_cookie="another")


INSTALLED = {
    add_class: f"{__name__}.Pure",
    add_based_class: f"{__name__}.Based",
    add_function: f"{__name__}.passing",
    add_dispatch: f"{__name__}.passing",
    add_local: f"{__name__}.add_local.local",
    add_cors: "starlette.middleware.cors.CORSMiddleware",
    add_gzip: "starlette.middleware.gzip.GZipMiddleware",
    add_sessions_of_its_own_kind: f"{__name__}.OwnSessions",
}
every_kind = pytest.mark.parametrize(
    ("add", "name"), [pytest.param(add, name, id=add.__name__) for add, name in INSTALLED.items()]
)


@pytest.fixture
def app(make_app):
    app = make_app()
    app.post("/tool")(lambda: {"answered": True})
    return app


@every_kind
def test_middleware_stops_the_boot_by_name_and_the_hint_lets_calls_leave_it_out(app, open_door, add, name):
    add(app)
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", instance=ON)
    (found,) = caught.value.diagnostics
    assert found.code == "GMM603"
    assert name in found.message
    assert f"`skip_middleware: [{name!r}]`" in str(found.hint)

    door = open_door(app, {"version": 1, "skip_middleware": [name]})
    assert door.text("tool", {}, door.seed()) == '{"answered":true}'


@every_kind
def test_middleware_added_after_expose_fails_the_startup(app, add, name):
    expose(app, name="unit", instance=ON)
    add(app)
    with pytest.raises(ExposureRefused, match="would be skipped by `direct` calls") as caught, TestClient(app):
        pytest.fail("the app started")
    assert name in str(caught.value)


def test_a_refused_startup_is_told_to_the_server_and_serves_nothing_even_without_a_lifespan(app):
    expose(app, name="unit", instance=ON)
    add_function(app)
    client = TestClient(app, raise_server_exceptions=False)
    for path in ("/tool", "/seed_session", "/mcp"):
        assert client.post(path, json={}).status_code == 500


def test_lifespan_startup_failed_names_every_reason(app):
    expose(app, name="unit", instance=ON)
    add_function(app)
    add_class(app)
    sent = []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    with pytest.raises(ExposureRefused):
        asyncio.run(app({"type": "lifespan"}, receive, send))
    (message,) = sent
    assert message["type"] == "lifespan.startup.failed"
    assert f"{__name__}.passing" in message["message"]
    assert f"{__name__}.Pure" in message["message"]


def test_skip_middleware_also_covers_what_is_added_after_expose(app):
    expose(app, name="unit", manifest={"version": 1, "skip_middleware": ["*.passing"]}, instance=ON)
    add_function(app)
    with TestClient(app) as client:
        assert client.post("/tool").json() == {"answered": True}


def test_a_glob_that_names_no_middleware_is_refused_once_the_app_is_settled(app):
    expose(app, name="unit", manifest={"version": 1, "skip_middleware": ["*.pasing"]}, instance=ON)
    add_function(app)
    with pytest.raises(ExposureRefused) as caught, TestClient(app):
        pytest.fail("the app started")
    idle = next(found for found in caught.value.diagnostics if found.code == "GMM601")
    assert "`*.pasing` in `skip_middleware` matches no middleware of the app" in idle.message


def test_middleware_is_nobodys_concern_where_no_tool_is_exposed(app, open_door):
    add_class(app)
    door = open_door(app, {"version": 1, "routes": {"include": []}})
    assert door.names() == ()
    assert door.client.post("/tool").status_code == 200


def test_a_session_of_skipped_middleware_of_another_kind_is_still_materialized(make_app, open_door):
    app = make_app(sessions=False)
    app.add_middleware(OwnSessions, secret_key="a key for tests")

    @app.post("/who")
    async def who(request: Request) -> dict:
        return dict(request.session)

    door = open_door(app, {"version": 1, "skip_middleware": [f"{__name__}.OwnSessions"]})
    session = door.seed({"session": {"user": "ada"}})
    assert door.call("who", {}, session)["structuredContent"]["user"] == "ada"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_guard_around_the_stack_builder_counts_as_middleware(make_app, when):
    app = make_app()

    @app.post("/tool")
    async def tool() -> str:
        return "secret"

    def guard(build):
        def guarded_build():
            stack = build()
            inner = stack.app

            async def forbidden(scope, receive, send):
                guarded = scope["type"] == "http"
                await (PlainTextResponse("no", 403) if guarded else inner)(scope, receive, send)

            stack.app = forbidden
            return stack

        return guarded_build

    if when == "before":
        app.build_middleware_stack = guard(app.build_middleware_stack)
        with pytest.raises(ExposureRefused, match="guarded_build would be skipped"):
            expose(app, name="unit", instance=ON)
        return
    expose(app, name="unit", instance=ON)
    app.build_middleware_stack = guard(app.build_middleware_stack)
    with pytest.raises(ExposureRefused, match="guarded_build would be skipped"), TestClient(app):
        pytest.fail("the app started")

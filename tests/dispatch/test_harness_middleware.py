"""The harness's own middleware runs for calls too: it decides what a failing request answers.

The stand-in has the names, the module and the behaviour of NeMo Gym's middleware.
"""

import sys
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI, Request
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import JSONResponse

MODULE = "nemo_gym.server_utils"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    module = ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    app = FastAPI()

    async def add_session_id(request: Request, call_next: Any) -> Any:
        request.session["session_id"] = request.session.get("session_id", str(uuid4()))
        return await call_next(request)

    async def exception_handling_middleware(request: Request, call_next: Any) -> Any:
        try:
            return await call_next(request)
        except Exception as error:
            return JSONResponse(content=repr(error), status_code=500)

    for function in (add_session_id, exception_handling_middleware):
        function.__module__ = MODULE
    app.middleware("http")(add_session_id)
    app.add_middleware(SessionMiddleware, secret_key="k" * 32)

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        request.session["seen"] = 0
        return {}

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, Any]:
        return {"reward": 1.0, "session": dict(request.session)}

    @app.post("/fail")
    async def fail(body: dict[str, Any]) -> None:
        raise KeyError("no such thing")

    @app.post("/count")
    async def count(request: Request) -> dict[str, Any]:
        request.session["seen"] += 1
        return {"id": request.session["session_id"], "seen": request.session["seen"]}

    app.state.add_late = lambda: app.middleware("http")(exception_handling_middleware)
    return app


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_a_failing_handler_answers_as_over_http(app: FastAPI, open_door: Any, mode: str) -> None:
    app.state.add_late()
    door = open_door(app, {"version": 1, "dispatch": mode})
    session = door.seed()
    over_http = door.client.post("/fail", json={})
    assert (over_http.status_code, over_http.json()) == (500, "KeyError('no such thing')")
    answer = door.call("fail", {}, session)
    assert answer["content"][0]["text"] == "HTTP 500 from POST /fail: KeyError('no such thing')"
    assert answer["isError"]


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_sessions_are_those_of_the_harness(app: FastAPI, open_door: Any, mode: str) -> None:
    app.state.add_late()
    door = open_door(app, {"version": 1, "dispatch": mode})
    session = door.seed()
    first, second = (door.call("count", {}, session)["structuredContent"] for _ in range(2))
    assert (first["seen"], second["seen"], first["id"]) == (1, 2, second["id"])
    assert door.client.post("/verify", json={}).json()["session"] == {"session_id": first["id"], "seen": 2}

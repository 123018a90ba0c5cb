"""Two rollouts at one time over both doors never see each other's state."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest import expose
from gym_mcp_manifest.endpoint.client import connect

HEADER = "X-NeMo-Gym-Session-Token"
CALLS = 200
ON = {"expose_tools_over_mcp": True}


class Note(BaseModel):
    door: str
    n: int


def build_notebook(app: FastAPI) -> FastAPI:
    """A server with state of its own by session id, and a count of each door's calls in the session."""
    pages: dict[str, list[tuple[str, int]]] = {}

    @app.post("/seed_session")
    async def seed_session(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        request.session["session_id"] = request.session["owner"] = body["owner"]
        pages[body["owner"]] = []
        return {}

    @app.post("/note")
    async def note(request: Request, body: Note) -> dict[str, Any]:
        owner = request.session["session_id"]
        count = request.session.get(body.door, 0)
        await asyncio.sleep(0)
        request.session[body.door] = count + 1
        pages[owner].append((body.door, body.n))
        return {"owner": request.session["owner"], "count": count + 1}

    @app.post("/note_in_a_thread")
    def note_in_a_thread(request: Request, body: Note) -> dict[str, Any]:
        pages[request.session["session_id"]].append((body.door, body.n))
        return {"owner": request.session["owner"]}

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, Any]:
        return {"pages": pages[request.session["session_id"]], "session": dict(request.session)}

    return app


def check(verified: dict[str, Any], owner: str, calls: int) -> None:
    """Both doors' calls of this owner are all there, in each door's order, and no other's."""
    base = 0 if owner == "alice" else 10_000
    for door in ("mcp", "http"):
        assert [n for kind, n in verified["pages"] if kind == door] == [base + n for n in range(calls)]
    half = (calls + 1) // 2
    assert verified["session"] == {"session_id": owner, "owner": owner, "mcp": half, "http": half}


@pytest.fixture
def serve() -> Iterator[Callable[[FastAPI], str]]:
    """Runs an app on a loopback port by a real server in a thread; gives its URL."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serve(app: FastAPI) -> str:
        server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        running.append((server, thread))
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield serve
    for server, thread in running:
        server.should_exit = True
        thread.join(20)


async def rollout(url: str, owner: str) -> None:
    """One session's calls: each door in order, both doors at one time."""
    base = 0 if owner == "alice" else 10_000
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        seeded = (await http.post("/seed_session", json={"owner": owner})).json()

        async def over_mcp() -> None:
            async with connect(f"{url}/mcp", seeded["mcp"]["headers"]) as client:
                assert len(await client.list_tools()) == 2
                for n in range(CALLS):
                    name = ("note", "note_in_a_thread")[n % 2]
                    result = await client.call_tool(name, {"door": "mcp", "n": base + n})
                    assert result["structuredContent"]["owner"] == owner

        async def over_http() -> None:
            for n in range(CALLS):
                path = ("/note", "/note_in_a_thread")[n % 2]
                answer = await http.post(path, json={"door": "http", "n": base + n})
                assert answer.json()["owner"] == owner

        async with asyncio.TaskGroup() as both:
            both.create_task(over_mcp())
            both.create_task(over_http())
        check((await http.post("/verify", json={})).json(), owner, CALLS)


def test_two_sessions_of_200_calls_by_real_clients_of_a_real_server(make_app, serve):
    app = build_notebook(make_app(protocol=False))
    expose(app, name="unit", instance=ON)
    url = serve(app)

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(rollout(url, "alice"))
            group.create_task(rollout(url, "bob"))

    asyncio.run(both())


def test_two_sessions_of_200_calls_in_one_process(make_app, make_door):
    app = build_notebook(make_app(protocol=False))
    expose(app, name="unit", instance=ON)
    with TestClient(app) as running:
        # Each rollout has a cookie jar of its own.
        doors = {owner: make_door(TestClient(app)) for owner in ("alice", "bob")}
        for door in doors.values():
            door.client.portal = running.portal
        headers = {owner: door.seed({"owner": owner}) for owner, door in doors.items()}
        for n in range(CALLS):
            name = ("note", "note_in_a_thread")[n % 2]
            for owner, door in doors.items():
                number = n + (0 if owner == "alice" else 10_000)
                result = door.call(name, {"door": "mcp", "n": number}, headers[owner])
                assert result["structuredContent"]["owner"] == owner
                answer = door.client.post(f"/{name}", json={"door": "http", "n": number})
                assert answer.json()["owner"] == owner
        for owner, door in doors.items():
            check(door.client.post("/verify", json={}).json(), owner, CALLS)


def test_the_token_and_not_the_cookie_names_the_session_of_a_call(make_app, open_door):
    door = open_door(build_notebook(make_app(protocol=False)))
    alice = door.seed({"owner": "alice"})
    door.seed({"owner": "bob"})
    # The client now holds bob's cookie.
    result = door.call("note", {"door": "mcp", "n": 1}, alice)
    assert result["structuredContent"]["owner"] == "alice"
    assert door.client.post("/verify", json={}).json()["pages"] == []


def test_a_batch_of_seeds_gives_each_rollout_its_own_session(make_app, serve):
    app = make_app()

    @app.post("/whoami")
    async def whoami(request: Request) -> dict[str, Any]:
        return dict(request.session)

    expose(app, name="unit", instance=ON)
    url = serve(app)

    async def one(n: int) -> tuple[str, int]:
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            seeded = (await http.post("/seed_session", json={"session": {"n": n}})).json()
            message = {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": "whoami", "arguments": {}},
            }
            answer = (await http.post("/mcp", json=message, headers=seeded["mcp"]["headers"])).json()
            assert answer["id"] == n
            seen = json.loads(answer["result"]["content"][0]["text"])
            return seen["session_id"], seen["n"]

    async def all_of_them() -> list[tuple[str, int]]:
        return await asyncio.gather(*(one(n) for n in range(20)))

    seen = asyncio.run(all_of_them())
    assert [n for _, n in seen] == list(range(20))
    assert len({session_id for session_id, _ in seen}) == 20


def test_writes_reach_http_through_middleware_that_stands_inside_the_sessions(open_door):
    app = FastAPI()

    @app.middleware("http")
    async def slow_hands(request, call_next):
        request.session["seen by"] = "the middleware"
        return await call_next(request)

    app.add_middleware(SessionMiddleware, secret_key="k" * 32)

    @app.post("/seed_session")
    async def seed_session(request: Request):
        request.session["count"] = 0
        return {}

    @app.post("/verify")
    async def verify(request: Request):
        return dict(request.session)

    @app.post("/add")
    async def add(request: Request):
        request.session["count"] += 1
        return {}

    door = open_door(app, {"version": 1, "skip_middleware": ["*"]})
    session = door.seed()
    door.call("add", {}, session)
    door.call("add", {}, session)
    assert door.client.post("/verify").json()["count"] == 2
    door.call("add", {}, session)
    assert door.client.post("/verify").json()["count"] == 3

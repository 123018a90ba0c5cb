"""Whatever clients do, a call that arrives runs its handler exactly once, and one that does not, never."""

import asyncio
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import Any

import httpx
import pytest
from fastapi import BackgroundTasks, FastAPI
from loopback import call, connected, raw_call, seeded, served, until

from gym_mcp_manifest import expose
from gym_mcp_manifest.endpoint.client import connect

MODES = ["direct", "route", "app"]
TOOLS = ["quick", "slow", "slow_in_the_pool", "broken", "hung"]
#: How long the slow ones take, in seconds.
SLOW = 0.2


class Counting:
    """Counts the calls that arrive whole, by tool, before anything of the app sees them."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.arrived: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/mcp":
            await self.app(scope, receive, send)
            return
        body = b""

        async def listening() -> Any:
            nonlocal body
            part = await receive()
            if part["type"] == "http.request":
                body += part.get("body", b"")
                if not part.get("more_body", False):
                    self._note(body)
            return part

        await self.app(scope, listening, send)

    def _note(self, body: bytes) -> None:
        asked = json.loads(body)
        if asked["method"] == "tools/call":
            self.arrived[asked["params"]["name"]] += 1


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()
    ran: Counter[str] = Counter()
    lock = threading.Lock()
    app.state.ran, app.state.cancelled = ran, Counter()

    def note(name: str) -> None:
        with lock:
            ran[name] += 1

    @app.post("/quick")
    async def quick() -> int:
        note("quick")
        return 1

    @app.post("/slow")
    async def slow() -> int:
        note("slow")
        await asyncio.sleep(SLOW)
        return 1

    @app.post("/slow_in_the_pool")
    def slow_in_the_pool() -> int:
        note("slow_in_the_pool")
        time.sleep(SLOW)
        return 1

    @app.post("/broken")
    async def broken() -> int:
        note("broken")
        raise ValueError("no")

    @app.post("/hung")
    async def hung() -> int:
        note("hung")
        await asyncio.sleep(30)
        return 1

    return app


def counting(app: FastAPI, mode: str) -> Counting:
    manifest = {"version": 1, "dispatch": mode, "limits": {"call_timeout": 1}}
    expose(app, name="unit", manifest=manifest, instance={"expose_tools_over_mcp": True})
    return Counting(app)


def assert_each_ran_once(server: Counting, sent: int | None = None) -> None:
    """All calls that arrived have run, none of them a second time; all that were `sent`, where that is known."""
    ran = server.app.state.ran
    assert until(lambda: ran == server.arrived), (ran, server.arrived)
    time.sleep(2 * SLOW)  # for whoever would run one again
    assert until(lambda: ran == server.arrived), (ran, server.arrived)
    assert sent is None or ran.total() == sent


@pytest.mark.parametrize("mode", MODES)
def test_under_limits_of_the_server_and_impatience_of_its_clients(app: FastAPI, mode: str) -> None:
    server = counting(app, mode)
    with served(server) as base, ThreadPoolExecutor(len(TOOLS) * 4) as pool:
        session = seeded(base)

        def ask(name: str, seconds: float) -> None:
            with suppress(httpx.TimeoutException):
                call(base, name, session, timeout=seconds)

        list(pool.map(ask, TOOLS * 4, [30] * 5 + [0.1] * 15))
        assert_each_ran_once(server, len(TOOLS) * 4)


def exits_later(tasks: BackgroundTasks) -> int:
    tasks.add_task(sys.exit, 1)
    return 1


async def exits() -> None:
    sys.exit(2)


def exits_in_the_pool() -> None:
    sys.exit(2)


async def interrupts() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "handler", [exits, exits_in_the_pool, interrupts, exits_later], ids=lambda one: one.__name__
)
def test_a_handler_that_would_end_the_process_ends_its_call_as_over_http(
    app: FastAPI, mode: str, handler: Any
) -> None:
    app.post("/ending")(handler)
    with served(counting(app, mode)) as base:
        session = seeded(base)
        over_http = httpx.post(f"{base}/ending", timeout=30)
        over_mcp = call(base, "ending", session).json()["result"]
        if handler is exits_later:
            assert (over_http.text, over_mcp["content"][0]["text"]) == ("1", "1")
        else:
            assert (over_http.status_code, over_http.text) == (500, "Internal Server Error")
            assert over_mcp["isError"]
            assert over_mcp["content"][0]["text"] == "HTTP 500 from POST /ending: Internal Server Error"
        assert call(base, "quick", session).json()["result"]["content"][0]["text"] == "1"


@pytest.mark.parametrize("mode", MODES)
def test_when_clients_vanish_at_any_moment(app: FastAPI, mode: str) -> None:
    server = counting(app, mode)
    random = Random(7)
    with served(server) as base:
        session = seeded(base)
        for name in TOOLS * 4:
            request = raw_call(base, name, session)
            line = connected(base)
            line.sendall(request if random.random() < 0.7 else request[: random.randrange(len(request))])
            time.sleep(random.choice([0, 0.01, SLOW / 2]))
            if random.random() < 0.5:
                # A reset instead of an orderly end.
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.close()
        last = call(base, "quick", session).json()
        assert last["result"]["content"][0]["text"] == "1"
        assert until(lambda: app.state.ran == server.arrived)
        assert 1 < server.arrived.total() < len(TOOLS) * 4 + 1, "some whole, some cut off"
        assert_each_ran_once(server)


@pytest.mark.parametrize("mode", MODES)
def test_when_one_connection_sends_the_same_call_again_and_again_without_waiting(app: FastAPI, mode: str) -> None:
    server = counting(app, mode)
    with served(server) as base:
        session = seeded(base)
        with connected(base) as line:
            for name in TOOLS[:4]:
                line.sendall(raw_call(base, name, session) * 3)
            told = b""
            while told.count(b'"jsonrpc"') < 12:
                told += line.recv(65536)
        assert_each_ran_once(server, 12)


@pytest.mark.parametrize("mode", MODES)
def test_when_the_official_client_gives_up_and_a_new_one_tries_again(app: FastAPI, mode: str) -> None:
    server = counting(app, mode)

    async def ask(base: str, session: dict[str, str], name: str) -> None:
        for _ in range(3):
            with suppress(TimeoutError):
                async with (
                    asyncio.timeout(SLOW / 2 if name != "quick" else 20),
                    connect(f"{base}/mcp", session) as client,
                ):
                    await client.call_tool(name, {})

    with served(server) as base:
        session = seeded(base)
        for name in TOOLS:
            asyncio.run(ask(base, session, name))
        assert server.arrived["quick"] == 3
        assert_each_ran_once(server)

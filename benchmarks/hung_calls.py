"""What calls that hang do to the others: the latency of quick calls beside hung ones, as a ratio.

    python benchmarks/hung_calls.py [--hung 20] [--calls 300]

One server process is asked for quick calls, alone and beside calls that never end, in alternating rounds of a run.
The ratio is that of the medians; both rounds see the same machine.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest import expose

KINDS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ROUNDS = 5


def build_app(release: threading.Event) -> FastAPI:
    """An app with quick tools and with ones that hang until they are released, of both kinds."""
    app = FastAPI()
    app.add_middleware(SessionMiddleware, secret_key="a key for benchmarks")

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        return {}

    @app.post("/verify")
    async def verify() -> dict[str, float]:
        return {"reward": 1.0}

    @app.post("/quick")
    async def quick() -> dict[str, bool]:
        return {"done": True}

    @app.post("/quick_sync")
    def quick_sync() -> dict[str, bool]:
        return {"done": True}

    @app.post("/hang")
    def hang() -> dict[str, bool]:
        release.wait()
        return {"done": True}

    expose(app, name="bench", instance={"expose_tools_over_mcp": True})
    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The app behind a real server on a loopback port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


def call(client: httpx.Client, base: str, name: str, headers: dict[str, str]) -> None:
    """One tools/call."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    client.post(f"{base}/mcp", json=message, headers={**KINDS, **headers}, timeout=120).raise_for_status()


def median_latency(base: str, name: str, headers: dict[str, str], calls: int) -> float:
    """The median seconds of quick calls, one after the other."""
    taken = []
    with httpx.Client() as client:
        for _ in range(calls):
            begun = time.perf_counter()
            call(client, base, name, headers)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


@contextmanager
def hanging(base: str, headers: dict[str, str], count: int, release: threading.Event) -> Iterator[None]:
    """So many calls that hang meanwhile."""
    release.clear()
    with ExitStack() as stack:
        threads = []
        for _ in range(count):
            client = stack.enter_context(httpx.Client())
            threads.append(threading.Thread(target=call, args=(client, base, "hang", headers), daemon=True))
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        yield
        release.set()
        for thread in threads:
            thread.join()


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hung", type=int, default=20, help="calls that hang")
    parser.add_argument("--calls", type=int, default=300, help="quick calls in each round")
    chosen = parser.parse_args()
    release = threading.Event()
    with served(build_app(release)) as base:
        headers = httpx.post(f"{base}/seed_session", json={}).json()["mcp"]["headers"]
        for name in ("quick", "quick_sync"):
            alone, beside = [], []
            for _ in range(ROUNDS):
                alone.append(median_latency(base, name, headers, chosen.calls // ROUNDS))
                with hanging(base, headers, chosen.hung, release):
                    beside.append(median_latency(base, name, headers, chosen.calls // ROUNDS))
            ratio = statistics.median(beside) / statistics.median(alone)
            print(f"{name}: {ratio:.2f} times the latency beside {chosen.hung} hung calls")


if __name__ == "__main__":
    main()

"""The example servers as processes of their own, on free loopback ports."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from demo_tasks import DemoFailed, Example

_START_SECONDS = 60
_STOP_SECONDS = 10
_LOG_LINES = 30


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server process of ours."""

    example: Example
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    async def wait_until_it_answers(self) -> None:
        """Return once the endpoint answers; a server that ends or hangs first fails with its log."""
        deadline = time.monotonic() + _START_SECONDS
        async with httpx.AsyncClient(timeout=5) as http:
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise DemoFailed(f"{self.example.folder} did not start, its server ended:\n{self.log_tail()}")
                with suppress(httpx.TransportError):
                    await http.get(f"{self.url}/mcp")
                    return
                await asyncio.sleep(0.05)
        raise DemoFailed(f"{self.example.folder} did not answer in {_START_SECONDS} s:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The last lines that the server wrote."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  | {line}" for line in lines[-_LOG_LINES:])


@contextmanager
def started(example: Example, port: int, logs: Path) -> Iterator[RunningServer]:
    """The example's server as a process, ended with this context. It may not answer yet."""
    log = logs / f"{example.folder.name}.log"
    command = [gym_mcp(), "serve", str(example.folder), "--port", str(port)]
    with log.open("wb") as sink:
        # Our own command line; nothing in it comes from outside.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)  # noqa: S603
    try:
        yield RunningServer(example, f"http://127.0.0.1:{port}", process, log)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, and make it end if it does not or if we are interrupted."""
    process.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_STOP_SECONDS)
    finally:
        process.kill()
        process.wait()


def gym_mcp() -> str:
    """The command of the environment that runs this script, or else the one on the PATH."""
    beside = Path(sys.executable).with_name("gym-mcp")
    found = str(beside) if beside.is_file() else shutil.which("gym-mcp")
    if found is None:
        raise DemoFailed("gym-mcp is not installed for this Python; `make demo` sets it up")
    return found


def free_ports(count: int) -> list[int]:
    """Different loopback ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]

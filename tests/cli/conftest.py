"""`gym-mcp` as users run it: as a process, or in this one where the speed of a hundred cases matters."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "gym_mcp_manifest")
# What a terminal or a build server may have set must not decide.
CLEAN = {
    key: value
    for key, value in os.environ.items()
    if key
    not in (
        *("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "GITHUB_ACTIONS", "GITHUB_WORKSPACE"),
        *("GYM_MCP_DEBUG", "GYM_MCP_SERVE_OPTIONS"),
    )
} | {"PYTHONDONTWRITEBYTECODE": "1"}

APP = '''
import time
from fastapi import FastAPI, HTTPException, Request
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="app-key-app-key")


@app.post("/seed_session")
async def seed_session(request: Request) -> dict:
    body = await request.json()
    if body.get("refuse"):
        raise HTTPException(418, "no teapots")
    request.session["who"] = body.get("who", "nobody")
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


@app.post("/greet")
async def greet(request: Request, body: dict) -> dict:
    """Greets whoever was seeded.

    And more.
    """
    return {"hello": request.session["who"], "with": body}


@app.post("/fail")
async def fail() -> dict:
    raise HTTPException(409, "not today")


@app.post("/sleep")
def sleep() -> dict:
    print("asleep", flush=True)
    time.sleep(60)
    return {}
'''


@dataclass(frozen=True)
class Ran:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams."""
        return self.out + self.err


Run = Callable[..., Ran]


@pytest.fixture
def run() -> Run:
    """Runs a command as a process: `run("plan", folder, stdin="", cwd=..., env={...})`."""

    def run_(*arguments: object, stdin: str = "", cwd: Path = ROOT, env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin,
            cwd=cwd,
            env={**CLEAN, **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run_


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in this process, and forgets the app's modules afterwards."""
    from gym_mcp_manifest.cli.main import main

    kept, path = set(sys.modules), list(sys.path)

    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GYM_MCP_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    # Compiled files know their source by size and second: a letter changed at once would not be seen.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run_(*arguments: object, cwd: Path = ROOT) -> Ran:
        monkeypatch.setattr(sys, "argv", ["gym-mcp", *map(str, arguments)])
        monkeypatch.chdir(cwd)
        capfd.readouterr()
        try:
            with pytest.raises(SystemExit) as leaving:
                main()
        finally:
            sys.path[:] = path
            for name in set(sys.modules) - kept:
                origin = str(getattr(sys.modules[name], "__file__", None))
                if "site-packages" not in origin and origin.startswith((str(ROOT / "manifests"), str(tmp_path))):
                    del sys.modules[name]
        said = capfd.readouterr()
        assert "Traceback" not in said.err
        return Ran(int(leaving.value.code or 0), said.out, said.err)

    return run_


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A folder with an app of three tools, and nothing else."""
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "app.py").write_text(APP, encoding="utf-8")
    return folder


class Served:
    """A `gym-mcp` process that goes on, with what it has logged so far."""

    def __init__(self, arguments: Sequence[object], env: dict[str, str] | None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=ROOT,
            env={**CLEAN, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    @property
    def log(self) -> str:
        """All that it has said."""
        return "".join(self.lines)

    def wait_for(self, pattern: str, seconds: float = 30) -> re.Match[str]:
        """The first match in the log."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.log):
                return found
            if self.process.poll() is not None and not self._reader.is_alive():
                break
            time.sleep(0.02)
        raise AssertionError(f"{pattern!r} is not in the log:\n{self.log}")

    def url(self) -> str:
        """The URL of the running app, from the line that says where the tools are."""
        found = self.wait_for(r"(http://\S+?:\d+)")
        self.wait_for("Application startup complete")
        return found[1]

    def stop(self, signal_: int = signal.SIGINT) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(signal_)
        code = self.process.wait(timeout=20)
        self._reader.join(timeout=5)
        return code

    def end(self) -> None:
        """End what is left, workers included."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=20)
        self._reader.join(timeout=5)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Served]]:
    """Starts a command that goes on: `start("serve", folder, env={...})`."""
    with ExitStack() as running:

        def start_(*arguments: object, env: dict[str, str] | None = None) -> Served:
            served = Served(arguments, env)
            running.callback(served.end)
            return served

        yield start_

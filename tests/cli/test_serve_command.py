"""`gym-mcp serve`: a real process that refuses loudly or serves, and leaves when told to."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

ROOT = Path(__file__).parents[2]
WEATHER = ROOT / "manifests" / "weather"
OFFICE = ROOT / "manifests" / "office"

Run = Callable[..., Any]
Start = Callable[..., Any]
ACCEPT = {"Accept": "application/json, text/event-stream"}


def seed(client: httpx.Client) -> dict[str, str]:
    """Headers of a new session; its cookie stays in the client."""
    reply = client.post("/seed_session", json={})
    assert reply.status_code == 200, reply.text
    return {**ACCEPT, **reply.json()["mcp"]["headers"]}


def call(client: httpx.Client, headers: dict[str, str], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    return dict(client.post("/mcp", json=message, headers=headers).json()["result"])


def test_it_serves_until_interrupted_and_logs_no_token(start: Start) -> None:
    served = start("serve", WEATHER, "--port", "0", "--log-level", "debug")
    url = served.url()
    assert f"{url}/mcp" in served.log
    with httpx.Client(base_url=url) as client:
        headers = seed(client)
        answer = call(client, headers, "get_weather", {"city": "Paris"})
        assert "Paris" in answer["content"][0]["text"]
        assert call(client, {**headers, "X-NeMo-Gym-Session-Token": "forged-token"}, "get_weather", {})["isError"]
    assert served.stop(signal.SIGINT) == 130
    assert headers["X-NeMo-Gym-Session-Token"] not in served.log
    assert "forged-token" not in served.log
    assert "Traceback" not in served.log


def test_it_leaves_on_a_termination_signal(start: Start) -> None:
    served = start("serve", WEATHER, "--port", "0")
    served.url()
    assert served.stop(signal.SIGTERM) in (-signal.SIGTERM, 0)
    assert "Traceback" not in served.log


def test_several_workers_know_each_others_sessions_by_token(start: Start) -> None:
    served = start("serve", OFFICE, "--port", "0", "--workers", "2", env={"OFFICE_SESSION_SECRET": "s" * 32})
    url = served.wait_for(r"(http://\S+?:\d+)/mcp")[1]
    served.wait_for(r"(?s)startup complete.*startup complete")
    with httpx.Client(base_url=url) as client:
        headers = seed(client)
        for _ in range(6):
            listed = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers)
            assert len(listed.json()["result"]["tools"]) == 27
    assert served.stop(signal.SIGINT) == 130
    assert "Traceback" not in served.log


#: Tells of each connection of the process whether it sends small packets at once.
PROMPT = """

@app.post("/prompt")
def prompt() -> list[bool]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(number))) as line:
            if line.family == socket.AF_INET and line.getpeername():
                found.append(bool(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
    return found
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="sockets are looked up in /proc")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_answer_waits_for_the_next_packet(start: Start, server: Path, workers: str) -> None:
    text = (server / "app.py").read_text(encoding="utf-8")
    (server / "app.py").write_text(f"import contextlib, os, socket\n{text}{PROMPT}", encoding="utf-8")
    served = start("serve", server, "--expose", "--port", "0", "--workers", workers)
    url = served.wait_for(r"(http://\S+?:\d+)/mcp")[1]
    served.wait_for("startup complete")
    found = httpx.post(f"{url}/prompt", timeout=30).json()
    assert found
    assert all(found)


@pytest.mark.skipif(
    not hasattr(uvicorn.config, "STARTUP_FAILURE"), reason="this uvicorn starts them again for ever"
)
def test_workers_that_cannot_start_are_an_error(start: Start, server: Path) -> None:
    (server / "app.py").write_text(
        "import multiprocessing, os\n"
        + (server / "app.py").read_text(encoding="utf-8")
        + "\nif multiprocessing.parent_process() is not None:\n    raise RuntimeError('not here')\n",
        encoding="utf-8",
    )
    served = start("serve", server, "--expose", "--port", "0", "--workers", "2")
    assert served.process.wait(timeout=30) == 1


def test_a_refused_app_prints_its_findings_and_does_not_serve(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/gret, /fai]}", encoding="utf-8")
    ran = run_here("serve", server, "--expose", "--port", "0")
    assert ran.code == 1
    verdict, _, rest = ran.err.partition("\n")
    assert verdict == "little: would not boot: 2 errors"
    assert rest.index("refused:") < rest.index("error[GMM601]")
    assert "direct" not in ran.err
    assert ran.text.count("error[GMM601]") == 2
    assert "mcp.yaml:2:20" in ran.err
    assert "^" in ran.err
    assert "Uvicorn running" not in ran.text


def test_a_broken_manifest_does_not_serve(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nrouts: {}", encoding="utf-8")
    ran = run_here("serve", server, "--expose", "--port", "0")
    assert (ran.code, "mcp.yaml:2:1: error[GMM201]" in ran.err) == (1, True)


def test_without_a_configuration_exposure_must_be_asked_for(run_here: Run, server: Path) -> None:
    ran = run_here("serve", server, "--port", "0")
    assert ran.code == 2
    assert "--expose" in ran.err
    assert "expose_tools_over_mcp: true" in ran.err


def test_defaults_that_apply_for_want_of_a_manifest_are_told(start: Start, server: Path) -> None:
    served = start("serve", server, "--expose", "--port", "0")
    served.url()
    assert served.log.startswith(f"No mcp.yaml in {server}: the language's defaults apply.\nlittle: 3 tools")


def test_a_manifest_of_another_name_does_not_serve(run_here: Run, server: Path) -> None:
    (server / "mcp.yml").write_text("version: 1", encoding="utf-8")
    ran = run_here("serve", server, "--expose", "--port", "0")
    assert (ran.code, "error[GMM610]" in ran.err, "mcp_manifest: mcp.yml" in ran.err) == (1, True, True)


def test_expose_turns_on_what_the_configuration_leaves_off(start: Start, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: false", encoding="utf-8")
    served = start("serve", server, "--expose", "--port", "0")
    with httpx.Client(base_url=served.url()) as client:
        assert call(client, seed(client), "greet", {"a": 1})["structuredContent"] == {
            "hello": "nobody",
            "with": {"a": 1},
        }


def test_with_exposure_off_the_app_answers_byte_for_byte_as_without_this_package(
    start: Start, server: Path
) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    served = start("serve", server, "expose_tools_over_mcp=false", "--port", "0")
    url = served.url()
    assert "nothing is exposed" in served.log
    assert f"{url}/mcp" not in served.log
    sys.path.insert(0, str(server))
    try:
        from starlette.testclient import TestClient

        plain: dict[str, Any] = {}
        exec(compile((server / "app.py").read_text(encoding="utf-8"), "app.py", "exec"), plain)
        with httpx.Client(base_url=url) as client, TestClient(plain["app"], base_url=url) as bare:
            for path, body in (
                ("/seed_session", {"who": "me"}),
                ("/greet", {"a": 1}),
                ("/verify", {}),
                ("/fail", {}),
                ("/mcp", {}),
                ("/openapi.json", None),
            ):
                one, two = (
                    side.get(path) if body is None else side.post(path, json=body) for side in (client, bare)
                )
                assert (one.status_code, one.content) == (two.status_code, two.content)
                assert {*one.headers} - {"date", "server"} == {*two.headers}
    finally:
        sys.path.remove(str(server))


def test_a_port_that_is_taken_is_said_in_one_line(run_here: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for workers in ("1", "2"):
            ran = run_here("serve", WEATHER, "--port", port, "--workers", workers)
            assert ran.code == 1
            assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ran.err


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_said_in_one_line(host: str, run_here: Run) -> None:
    ran = run_here("serve", WEATHER, "--host", host, "--port", "0")
    assert ran.code == 1
    assert f"cannot listen on {host}" in ran.err


@pytest.mark.skipif(not socket.has_ipv6, reason="without IPv6")
def test_an_ipv6_address_is_shown_in_brackets(start: Start) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("without an IPv6 loopback")
    served = start("serve", WEATHER, "--host", "::1", "--port", "0")
    assert served.wait_for(r"http://\[::1\]:\d+/mcp")


def test_an_app_whose_lifespan_fails_is_an_error(run: Run, server: Path) -> None:
    text = (server / "app.py").read_text(encoding="utf-8")
    lifespan = "async def broken(app):\n    raise OSError('no database')\n    yield\n\n\n"
    text = text.replace("app = FastAPI()", f"{lifespan}app = FastAPI(lifespan=broken)")
    (server / "app.py").write_text(text, encoding="utf-8")
    served = run_allowing_traceback(server)
    assert served[0] == 1
    assert "no database" in served[1]


def run_allowing_traceback(server: Path) -> tuple[int, str]:
    """The app's own fault may show its own traceback."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "gym_mcp_manifest", "serve", str(server), "--expose", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ),
    )
    return done.returncode, done.stderr

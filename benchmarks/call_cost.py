"""What a tool call costs the server over MCP, as a ratio of the same call over plain HTTP.

Boots the office server as a process, sends the same calls through both doors in turns, and reads the process's
own CPU time (user and system) before and after each turn.

Run: `python benchmarks/call_cost.py [--calls N] [--rounds N]`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

SERVER = Path(__file__).parents[1] / "manifests" / "office"
TOOL = "company_directory_find_email_address"
ARGUMENTS = {"name": "Ines"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=300, help="calls in one turn of one door (default 300)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each door (default 5)")
    parser.add_argument("--port", type=int, default=8765, help="loopback port (default 8765)")
    options = parser.parse_args()
    base = f"http://127.0.0.1:{options.port}"
    serve = [sys.executable, "-m", "gym_mcp_manifest", "serve", str(SERVER), "--log-level", "error"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*serve, "--port", str(options.port)], stdout=quiet, stderr=quiet) as server:
        try:
            with httpx.Client(base_url=base, timeout=30) as client:
                token = _seed(client)
                doors = {"HTTP": lambda: _over_http(client), "MCP": lambda: _over_mcp(client, token)}
                for call in doors.values():
                    _turn(server.pid, call, 20)
                costs: dict[str, list[float]] = {door: [] for door in doors}
                for _ in range(options.rounds):
                    for door, call in doors.items():
                        costs[door].append(_turn(server.pid, call, options.calls))
        finally:
            server.terminate()
    for door, values in costs.items():
        print(f"{door:5} {statistics.median(values) * 1e3:7.3f} ms CPU per call (median of {options.rounds})")
    ratios = [mcp / http for mcp, http in zip(costs["MCP"], costs["HTTP"], strict=True)]
    print(f"ratio {statistics.median(ratios):7.2f} (min {min(ratios):.2f}, max {max(ratios):.2f})")


def _seed(client: httpx.Client) -> dict[str, str]:
    for _ in range(300):
        try:
            return dict(client.post("/seed_session", json={}).json()["mcp"]["headers"])
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def _over_http(client: httpx.Client) -> None:
    client.post(f"/{TOOL}", json=ARGUMENTS).raise_for_status()


def _over_mcp(client: httpx.Client, token: dict[str, str]) -> None:
    call = {"name": TOOL, "arguments": ARGUMENTS}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    result = client.post("/mcp", json=message, headers=token).raise_for_status().json()["result"]
    assert not result["isError"], result


def _turn(pid: int, call: Callable[[], None], calls: int) -> float:
    before = _cpu_seconds(pid)
    for _ in range(calls):
        call()
    return (_cpu_seconds(pid) - before) / calls


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()

"""`make demo`: the example servers, solved through both doors by the shipped script."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

MANIFESTS = Path(__file__).parents[1] / "manifests"
COMMAND = (sys.executable, str(MANIFESTS / "demo"))


def run_demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=100)


def rollouts_of(demo: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, Any]]:
    rollouts = json.loads(demo.stdout)["rollouts"]
    return {(rollout["task"], rollout["door"]): rollout for rollout in rollouts}


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """A copy of the weather server that a test may spoil."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(MANIFESTS / "weather", tmp_path / "weather", ignore=ignored))


def change_task(server: Path, task: str, old: str, new: str) -> None:
    file = server / "data" / "tasks.jsonl"
    rows = file.read_text(encoding="utf-8").splitlines()
    (row,) = [row for row in rows if json.loads(row)["id"] == task]
    assert old in row
    changed = [each.replace(old, new) if each is row else each for each in rows]
    file.write_text("\n".join(changed) + "\n", encoding="utf-8")


def rewards_in(table: str) -> dict[str, list[str]]:
    rewards: dict[str, list[str]] = {}
    for line in table.splitlines():
        if line.startswith("│"):
            task, _, _, reward = line.strip("│ ").replace("│", " ").split()
            rewards.setdefault(task, []).append(reward)
    return rewards


def test_every_task_earns_the_reward_through_both_doors() -> None:
    demo = run_demo("--json")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    rollouts = rollouts_of(demo)
    files = MANIFESTS.glob("*/data/tasks.jsonl")
    tasks = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(tasks) >= 14
    assert set(rollouts) == {(task["id"], door) for task in tasks for door in ("MCP", "HTTP")}
    for task in tasks:
        for door in ("MCP", "HTTP"):
            rollout = rollouts[task["id"], door]
            assert rollout["reward"] == 1.0
            assert rollout["calls"] == len(task["recorded"]["calls"])
            assert rollout["problems"] == []


def test_table_ends_with_what_to_try_next(weather: Path) -> None:
    demo = run_demo("--manifests", str(weather.parent))
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert rewards_in(demo.stdout)["weather-paris"] == ["1.0", "1.0"]
    assert f"gym-mcp serve {weather} --port 8000" in demo.stdout
    block, _ = json.JSONDecoder().raw_decode(demo.stdout[demo.stdout.index('{\n  "mcpServers"') :])
    assert block["mcpServers"]["weather"] == {
        "type": "http",
        "url": "http://127.0.0.1:8000/mcp",
        "headers": {"X-NeMo-Gym-Session-Token": "${WEATHER_TOKEN}"},
    }


def test_what_went_wrong_fails_the_demo_and_is_said_below_the_table(weather: Path) -> None:
    change_task(weather, "weather-snow", '"calls": [{"name": "get_weather"', '"calls": [{"name": "get_forecast"')
    change_task(weather, "weather-warmer", '"final": "', '"final": "Nobody knows.", "was": "')
    demo = run_demo("--manifests", str(weather.parent))
    assert demo.returncode == 1
    assert rewards_in(demo.stdout) == {
        "weather-paris": ["1.0", "1.0"],
        "weather-buenos-aires": ["1.0", "1.0"],
        "weather-warmer": ["0.0", "0.0"],
        "weather-snow": ["1.0", "1.0"],
    }
    assert "4 of 8 rollouts went wrong" in demo.stdout
    assert "weather-warmer over HTTP: the reward is 0.0" in demo.stdout
    assert "weather-snow over MCP: tools/list does not show get_forecast" in demo.stdout
    assert "weather-snow over MCP: get_forecast answered an error: Unknown tool 'get_forecast'." in demo.stdout
    assert "weather-snow over HTTP: get_forecast answered an error: " in demo.stdout
    assert "mcpServers" not in demo.stdout


def test_server_that_does_not_start_is_shown_with_its_log(weather: Path) -> None:
    (weather / "mcp.yaml").write_text("version: 1\nroutes: {include: [/get_wether]}\n", encoding="utf-8")
    demo = run_demo("--manifests", str(weather.parent))
    assert demo.returncode == 1
    assert f"{weather} did not start" in demo.stderr
    assert "/get_wether" in demo.stderr
    assert "Traceback" not in demo.stderr


def test_folder_without_servers_is_wrong_usage(tmp_path: Path) -> None:
    assert run_demo("--manifests", str(tmp_path)).returncode == 2
    assert run_demo("--manifests", str(tmp_path / "missing")).returncode == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_demo_ends_its_servers(weather: Path, how: signal.Signals) -> None:
    command = [*COMMAND, "--manifests", str(weather.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        url = demo.stderr.readline().split()[3].rstrip(";")
        demo.send_signal(how)
        _, errors = demo.communicate(timeout=30)
    assert demo.returncode == 130
    assert errors.splitlines()[-1] == "demo: interrupted"
    assert "Traceback" not in errors
    assert not answers(url)


def answers(url: str) -> bool:
    """Whether a server listens there."""
    try:
        httpx.get(f"{url}/mcp", trust_env=False)
    except httpx.ConnectError:
        return False
    return True

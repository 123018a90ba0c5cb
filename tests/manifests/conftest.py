"""Drives the shipped example servers over plain HTTP, as a harness without MCP would."""

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

MANIFESTS = Path(__file__).parents[2] / "manifests"


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Put a server's folder first on the path for as long as its modules are loaded."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@dataclass(frozen=True)
class Server:
    """One example server: its folder and a running copy of its app."""

    folder: Path
    app: FastAPI

    def client(self) -> TestClient:
        """A client with a cookie jar of its own, that is, a session of its own."""
        return TestClient(self.app, raise_server_exceptions=False)

    def module(self, name: str) -> ModuleType:
        """One of the modules beside the app."""
        with importable(self.folder):
            return importlib.import_module(name)

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The task rows by id."""
        lines = (self.folder / "data" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
        return {row["id"]: row for row in map(json.loads, lines)}


@pytest.fixture
def load_server() -> Callable[[str], Server]:
    """Loads a server from its file, with empty sessions; its folder is no package."""

    def load(name: str) -> Server:
        folder = MANIFESTS / name
        spec = importlib.util.spec_from_file_location(f"{name}_server_under_test", folder / "app.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with importable(folder):
            spec.loader.exec_module(module)
        return Server(folder, module.app)

    return load


@dataclass
class Rollout:
    """A seeded session that records its calls as an agent's harness does."""

    client: TestClient
    task: dict[str, Any]

    def __post_init__(self) -> None:
        self.output: list[dict[str, Any]] = []
        assert self.client.post("/seed_session", json=self.task).status_code == 200

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Make a call and record it, with what it answered."""
        answer = self.client.post(f"/{name}", json=arguments)
        self.record(name, arguments, answer.text)
        return answer

    def record(self, name: str, arguments: dict[str, Any], answer: str = "{}") -> None:
        """Write a call down without making it."""
        call_id = f"call_{len(self.output)}"
        self.output += [
            {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)},
            {"type": "function_call_output", "call_id": call_id, "output": answer},
        ]

    def say(self, text: str) -> None:
        """Record an assistant message."""
        content = [{"type": "output_text", "text": text, "annotations": []}]
        self.output.append({"type": "message", "role": "assistant", "content": content})

    def replay_recorded(self) -> None:
        """Solve the task the way its row says."""
        for call in self.task["recorded"]["calls"]:
            answer = self.call(call["name"], call["arguments"])
            assert answer.status_code == 200, answer.text
        self.say(self.task["recorded"]["final"])

    def verify(self) -> Any:
        """Score what was recorded."""
        return self.client.post("/verify", json={**self.task, "response": {"id": "resp_1", "output": self.output}})

    def reward(self) -> float:
        """The score itself."""
        answer = self.verify()
        assert answer.status_code == 200, answer.text
        return float(answer.json()["reward"])


@pytest.fixture
def start() -> Callable[[Server, dict[str, Any]], Rollout]:
    """Starts a rollout of a task in a session of its own."""
    return lambda server, task: Rollout(server.client(), task)

"""What is to be solved: the example servers and the rows of their tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class DemoFailed(Exception):
    """The demo cannot go on; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row of tasks.jsonl: the whole row, as harnesses send it, and the recorded solution."""

    row: dict[str, Any]
    id: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    final: str


@dataclass(frozen=True, slots=True)
class Example:
    """A server's folder and its tasks."""

    folder: Path
    tasks: tuple[Task, ...]


def read_examples(manifests: Path) -> tuple[Example, ...]:
    """Every server below the folder that has tasks, the one with the fewest first."""
    files = sorted(manifests.glob("*/data/tasks.jsonl"))
    examples = [
        Example(file.parents[1], read_tasks(file)) for file in files if (file.parents[1] / "app.py").is_file()
    ]
    return tuple(sorted(examples, key=lambda example: len(example.tasks)))


def read_tasks(file: Path) -> tuple[Task, ...]:
    """The rows of a tasks file, in its order."""
    tasks = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            recorded = row["recorded"]
            calls = tuple((call["name"], dict(call["arguments"])) for call in recorded["calls"])
            tasks.append(Task(row, str(row["id"]), calls, str(recorded["final"])))
        except (ValueError, KeyError, TypeError) as error:
            raise DemoFailed(f"{file}:{number} is no task with a recorded solution: {error!r}") from error
    return tuple(tasks)

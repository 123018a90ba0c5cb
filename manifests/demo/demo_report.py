"""What came of the rollouts, for people: table, verdict, and where to go from there."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from demo_rollouts import Rollout
from demo_servers import gym_mcp
from demo_tasks import Example, Task
from rich.console import Console
from rich.table import Table
from rich.text import Text


def results_table(rollouts: Sequence[Rollout]) -> Table:
    """Task, door, calls, reward."""
    table = Table("task", "door")
    table.add_column("calls", justify="right")
    table.add_column("reward", justify="right")
    for _, of_server in groupby(rollouts, key=lambda rollout: rollout.server):
        for rollout in of_server:
            style = "green" if rollout.ok else "red"
            calls, reward = str(len(rollout.answers)), Text(str(rollout.reward), style)
            table.add_row(Text(rollout.task.id), rollout.door, calls, reward)
        table.add_section()
    return table


def verdict(rollouts: Sequence[Rollout]) -> str:
    """One sentence, and a line for everything that was wrong."""
    wrong = [rollout for rollout in rollouts if not rollout.ok]
    protocol = next((rollout.protocol for rollout in rollouts if rollout.protocol), "none")
    means = f"mcp {version('mcp')}, protocol {protocol}"
    if not wrong:
        return f"All {len(rollouts)} rollouts earned 1.0, with the same answers through both doors ({means})."
    lines = [f"{len(wrong)} of {len(rollouts)} rollouts went wrong ({means}):"]
    for rollout in wrong:
        lines += [f"  {rollout.task.id} over {rollout.door}: {problem}" for problem in rollout.problems]
    return "\n".join(lines)


def next_steps(example: Example, access: Mapping[str, Any]) -> str:
    """How to keep the server running and let Claude Code work on it."""
    name = access["server_name"]
    (header,) = access["headers"]
    variable = re.sub(r"\W", "_", name).upper() + "_TOKEN"
    base, url = "http://127.0.0.1:8000", f"http://127.0.0.1:8000{access['url_path']}"
    entry = {"type": "http", "url": url, "headers": {header: f"${{{variable}}}"}}
    block = json.dumps({"mcpServers": {name: entry}}, indent=2)
    return f"""
Keep a server running:

  {shlex.quote(short_path(gym_mcp()))} serve {shlex.quote(short_path(example.folder))} --port 8000

Let Claude Code work on it. A token stands for one session, and the reply of /seed_session hands it out. In a
second terminal, start a session and keep its token:

  export {variable}="$(curl -s -H 'content-type: application/json' -d '{{}}' {base}/seed_session |
    sed -n 's/.*"{header}": *"\\([^"]*\\)".*/\\1/p')"

Put this block into .mcp.json in the folder where you then start `claude`; it reads the token from {variable}:

{block}

or do without the file:

  claude mcp add --transport http {name} {url} --header "{header}: ${variable}"

and ask it: {prompt(example.tasks[0])}
"""


def prompt(task: Task) -> str:
    """What the task asks the model."""
    return str(task.row["responses_create_params"]["input"][-1]["content"])


def short_path(path: str | Path) -> str:
    """The path as one would type it here."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - links stay: a virtual environment's are its identity
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute)


def say(console: Console, text: str) -> None:
    """Print as it stands: lines to paste must not be wrapped, nor brackets be read as markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def report(examples: Sequence[Example], rollouts: Sequence[Rollout]) -> None:
    """The table, the verdict, and where to go from there."""
    console = Console()
    console.print(results_table(rollouts))
    say(console, verdict(rollouts))
    example = examples[0]
    access = next((r.access for r in rollouts if r.server == example.folder.name and r.access), None)
    if access and all(rollout.ok for rollout in rollouts):
        say(console, next_steps(example, access).rstrip())

"""Solves every task of the example servers twice, over MCP and over plain HTTP, and shows what each earns.

The servers run as processes of their own (``gym-mcp serve``) on free loopback ports. A task row's ``recorded``
key holds a solution; here it stands in for a model. Over MCP it is played as Claude Code plays it: a client
connects with the headers that ``/seed_session`` handed out, lists the tools and calls them, and ``/verify``
receives the calls under the names that Claude Code writes down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from demo_report import report, say
from demo_rollouts import DOORS, Rollout, compare_doors, drive
from demo_servers import RunningServer, free_ports, started
from demo_tasks import DemoFailed, Example, read_examples
from rich.console import Console

_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130


async def drive_all(servers: Sequence[RunningServer], console: Console) -> list[Rollout]:
    """Every task of every server through both doors, one after the other."""
    rollouts: list[Rollout] = []
    total = sum(len(server.example.tasks) for server in servers) * len(DOORS)
    with console.status("") as status:
        for server in servers:
            for task in server.example.tasks:
                for door in DOORS:
                    status.update(f"{len(rollouts) + 1} of {total}: {task.id} over {door}")
                    rollouts.append(await drive(server, task, door))
                compare_doors(*rollouts[-2:])
    return rollouts


async def run(examples: Sequence[Example], console: Console) -> list[Rollout]:
    """Start the servers, drive them, and end them."""
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gym-mcp-demo-")))
        ports = free_ports(len(examples))
        servers = [
            stack.enter_context(started(example, port, logs))
            for example, port in zip(examples, ports, strict=True)
        ]
        for server in servers:
            await server.wait_until_it_answers()
            name, count = server.example.folder.name, len(server.example.tasks)
            say(console, f"{name} runs at {server.url}; {count} tasks through {len(DOORS)} doors")
        rollouts = await drive_all(servers, console)
        for server in servers:
            name = server.example.folder.name
            if any(rollout.reward is None for rollout in rollouts if rollout.server == name):
                say(console, f"the end of {name}'s log:\n{server.log_tail()}")
        return rollouts


def keep_loopback_direct() -> None:
    """A proxy that the environment names is for the way out, not for servers on this machine."""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = f"{exempt},127.0.0.1".lstrip(",")


def interrupt(number: int, frame: FrameType | None) -> None:
    """To be asked to end is to be interrupted as by Ctrl-C: our servers are ended first."""
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    if not callable(on_ctrl_c):
        raise KeyboardInterrupt
    on_ctrl_c(number, frame)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="demo",
        description="Run the example servers and solve each of their tasks over MCP and over plain HTTP.",
        epilog="Exit codes: 0 every rollout earned 1.0 and no answer differed between the doors, "
        "1 something went wrong, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument(
        "--manifests",
        type=Path,
        default=Path(__file__).parents[1],
        metavar="DIR",
        help="the folder of the servers, each with an app.py and a data/tasks.jsonl (default: the examples)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    options = parser.parse_args(argv)
    if not options.manifests.is_dir():
        parser.error(f"--manifests: {options.manifests} is no folder")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code."""
    options = arguments(argv)
    keep_loopback_direct()
    signal.signal(signal.SIGTERM, interrupt)
    try:
        examples = read_examples(options.manifests)
        if not examples:
            print(f"demo: no server with tasks lies in {options.manifests}", file=sys.stderr)
            return _USAGE
        rollouts = asyncio.run(run(examples, Console(stderr=True)))
        ok = all(rollout.ok for rollout in rollouts)
        if options.json:
            results = [rollout.as_json() for rollout in rollouts]
            print(json.dumps({"ok": ok, "mcp": version("mcp"), "rollouts": results}, indent=2))
        else:
            report(examples, rollouts)
        sys.stdout.flush()
        return 0 if ok else _FAILED
    except DemoFailed as error:
        print(f"demo: {error}", file=sys.stderr)
        return _FAILED
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("demo: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED


if __name__ == "__main__":
    sys.exit(main())

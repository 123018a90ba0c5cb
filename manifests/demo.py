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
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import httpx
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gym_mcp_manifest.endpoint.client import ToolClient, connect

_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130
_START_SECONDS = 60
_STOP_SECONDS = 10
_LOG_LINES = 30


class DemoFailed(Exception):
    """The demo cannot go on; the message says why."""


# What is to be solved


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


# The servers


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server process of ours."""

    example: Example
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait_until_it_answers(self) -> None:
        """Return once the endpoint answers; a server that ends or hangs first fails with its log."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise DemoFailed(f"{self.example.folder} did not start, its server ended:\n{self.log_tail()}")
            with suppress(httpx.TransportError):
                httpx.get(f"{self.url}/mcp", timeout=5)
                return
            time.sleep(0.05)
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


# The two doors


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave, as text."""

    text: str
    failed: bool


class Door(Protocol):
    """One way to call a session's tools."""

    def recorded_name(self, tool: str) -> str:
        """The tool's name in a trajectory that was made through this door."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Make one call."""
        ...


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """`POST /<tool>` with the session's cookie."""

    http: httpx.AsyncClient

    def recorded_name(self, tool: str) -> str:
        return tool

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        reply = await self.http.post(f"/{tool}", json=arguments)
        return Answer(reply.text, failed=not reply.is_success)


@dataclass(frozen=True, slots=True)
class McpDoor:
    """`tools/call` with the session's token; calls are recorded under Claude Code's names."""

    client: ToolClient
    server_name: str

    def recorded_name(self, tool: str) -> str:
        return f"mcp__{self.server_name}__{tool}"

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        text = "".join(block.get("text", "") for block in result["content"])
        return Answer(text, failed=bool(result.get("isError")))


@asynccontextmanager
async def http_door(http: httpx.AsyncClient, rollout: Rollout) -> AsyncIterator[Door]:
    """The plain routes; the client's cookies hold the session."""
    yield HttpDoor(http)


@asynccontextmanager
async def mcp_door(http: httpx.AsyncClient, rollout: Rollout) -> AsyncIterator[Door]:
    """A real client, connected as the seed's reply says, to which all of the task's tools must be advertised."""
    access = rollout.access
    if not access:
        raise DemoFailed("the reply of /seed_session hands out no token; is exposure on?")
    async with connect(str(http.base_url.join(access["url_path"])), access["headers"]) as client:
        rollout.protocol = client.protocol_version
        advertised = {tool["name"] for tool in await client.list_tools()}
        for tool in sorted({tool for tool, _ in rollout.task.calls} - advertised):
            rollout.problems.append(f"tools/list does not show {tool}")
        yield McpDoor(client, access["server_name"])


_DOORS = {"MCP": mcp_door, "HTTP": http_door}


# One rollout


@dataclass(slots=True)
class Rollout:
    """A task's way through one door, and what came of it."""

    server: str
    task: Task
    door: str
    access: dict[str, Any] = field(default_factory=dict)
    protocol: str | None = None
    answers: list[Answer] = field(default_factory=list)
    reward: float | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether it earned the full reward and nothing else was wrong."""
        return self.reward == 1.0 and not self.problems

    def as_json(self) -> dict[str, Any]:
        """What `--json` tells of it."""
        return {
            "server": self.server,
            "task": self.task.id,
            "door": self.door,
            "protocol": self.protocol,
            "calls": len(self.answers),
            "reward": self.reward,
            "problems": self.problems,
        }


async def drive(server: RunningServer, task: Task, door: str) -> Rollout:
    """Seed a session, play the recorded solution through the door, and have it scored."""
    rollout = Rollout(server.example.folder.name, task, door)
    try:
        # The cookies of this client are the session's, from the seed to the score.
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            await play(http, rollout)
    except Exception as error:
        # Whatever went wrong belongs to this row of the table; the other rollouts still tell something.
        rollout.problems.append(plain_reason(error))
    return rollout


async def play(http: httpx.AsyncClient, rollout: Rollout) -> None:
    """The three steps of a rollout."""
    seeded = await post(http, "/seed_session", rollout.task.row)
    rollout.access = seeded.get("mcp") or {}
    output: list[dict[str, Any]] = []
    async with _DOORS[rollout.door](http, rollout) as door:
        for tool, arguments in rollout.task.calls:
            answer = await door.call(tool, arguments)
            rollout.answers.append(answer)
            output += record(door.recorded_name(tool), arguments, answer, len(rollout.answers))
            if answer.failed:
                rollout.problems.append(f"{tool} answered an error: {answer.text}")
    output.append(message(rollout.task.final))
    response = {"id": f"resp_{rollout.task.id}", "object": "response", "output": output}
    scored = await post(http, "/verify", {**rollout.task.row, "response": response})
    rollout.reward = scored.get("reward")
    if rollout.reward != 1.0:
        rollout.problems.append(f"the reward is {rollout.reward}")
    sent, echoed = call_names(response), call_names(scored.get("response", {}))
    if echoed != sent:
        rollout.problems.append(f"/verify was sent calls of {sent} and echoed {echoed}")


async def post(http: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that the route answers."""
    reply = await http.post(path, json=body)
    if not reply.is_success:
        raise DemoFailed(f"POST {path} answered {reply.status_code}: {reply.text[:500]}")
    answer: dict[str, Any] = reply.json()
    return answer


def record(name: str, arguments: Mapping[str, Any], answer: Answer, number: int) -> list[dict[str, Any]]:
    """A call and its answer as items of an OpenAI Responses object."""
    call_id = f"call_{number}"
    return [
        {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)},
        {"type": "function_call_output", "call_id": call_id, "output": answer.text},
    ]


def message(text: str) -> dict[str, Any]:
    """What the model says in the end."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def call_names(response: Mapping[str, Any]) -> list[str]:
    """The names of the calls that a response holds."""
    return [item["name"] for item in response.get("output", []) if item["type"] == "function_call"]


def plain_reason(error: BaseException) -> str:
    """One line about an error; of a group, about the first error that is none itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, DemoFailed) else f"{type(error).__name__}: {error}"


def compare_doors(over_mcp: Rollout, over_http: Rollout) -> None:
    """A call answers the same text through both doors."""
    answers = zip(over_mcp.task.calls, over_mcp.answers, over_http.answers, strict=False)
    for (tool, _), by_mcp, by_http in answers:
        if by_mcp.text != by_http.text:
            over_mcp.problems.append(f"{tool} answered {by_mcp.text!r}, over HTTP {by_http.text!r}")


# The whole


async def drive_all(servers: Sequence[RunningServer], console: Console) -> list[Rollout]:
    """Every task of every server through both doors, one after the other."""
    rollouts: list[Rollout] = []
    total = sum(len(server.example.tasks) for server in servers) * len(_DOORS)
    with console.status("") as status:
        for server in servers:
            for task in server.example.tasks:
                for door in _DOORS:
                    status.update(f"{len(rollouts) + 1} of {total}: {task.id} over {door}")
                    rollouts.append(await drive(server, task, door))
                compare_doors(*rollouts[-2:])
    return rollouts


def run(examples: Sequence[Example], console: Console) -> list[Rollout]:
    """Start the servers, drive them, and end them."""
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gym-mcp-demo-")))
        ports = free_ports(len(examples))
        servers = [
            stack.enter_context(started(example, port, logs))
            for example, port in zip(examples, ports, strict=True)
        ]
        for server in servers:
            server.wait_until_it_answers()
            name, count = server.example.folder.name, len(server.example.tasks)
            say(console, f"{name} runs at {server.url}; {count} tasks through {len(_DOORS)} doors")
        driving = drive_all(servers, console)
        try:
            rollouts = asyncio.run(driving)
        finally:
            # Python complains about one that an interrupt kept from starting.
            driving.close()
        for server in servers:
            name = server.example.folder.name
            if any(rollout.reward is None for rollout in rollouts if rollout.server == name):
                say(console, f"the end of {name}'s log:\n{server.log_tail()}")
        return rollouts


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
        prog="demo.py",
        description="Run the example servers and solve each of their tasks over MCP and over plain HTTP.",
        epilog="Exit codes: 0 every rollout earned 1.0 and no answer differed between the doors, "
        "1 something went wrong, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument(
        "--manifests",
        type=Path,
        default=Path(__file__).parent,
        metavar="DIR",
        help="the folder of the servers, each with an app.py and a data/tasks.jsonl (default: this script's)",
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
            print(f"demo.py: no server with tasks lies in {options.manifests}", file=sys.stderr)
            return _USAGE
        rollouts = run(examples, Console(stderr=True))
        ok = all(rollout.ok for rollout in rollouts)
        if options.json:
            results = [rollout.as_json() for rollout in rollouts]
            print(json.dumps({"ok": ok, "mcp": version("mcp"), "rollouts": results}, indent=2))
        else:
            report(examples, rollouts)
        sys.stdout.flush()
        return 0 if ok else _FAILED
    except DemoFailed as error:
        print(f"demo.py: {error}", file=sys.stderr)
        return _FAILED
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("demo.py: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED


if __name__ == "__main__":
    sys.exit(main())

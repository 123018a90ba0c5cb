"""One rollout: a session is seeded, its recorded solution played through one of the two doors, and scored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from demo_servers import RunningServer
from demo_tasks import DemoFailed, Task

from gym_mcp_manifest.endpoint.client import ToolClient, connect


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
    async with DOORS[rollout.door](http, rollout) as door:
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


DOORS = {"MCP": mcp_door, "HTTP": http_door}

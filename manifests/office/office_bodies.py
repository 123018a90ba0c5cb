"""The bodies that travel over HTTP.

Task rows carry more than this server reads: ``extra="allow"`` lets the rest through, and ``/verify`` echoes
all of it.
"""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue


class OpenBody(BaseModel):
    """A body that may hold more than it declares."""

    model_config = ConfigDict(extra="allow")


class SeedRequest(OpenBody):
    """A task row. A session starts the same whatever it says."""


class ToolArguments(OpenBody):
    """The arguments of a tool call. Which ones are right, the tool knows."""

    @property
    def given(self) -> dict[str, Any]:
        """The arguments as they were sent."""
        return self.model_extra or {}


class ToolResult(BaseModel):
    """What a tool answered."""

    output: JsonValue


class ToolCall(OpenBody):
    """A tool's name and the arguments for it."""

    name: str
    arguments: dict[str, Any]


class TaskMetadata(OpenBody):
    """What the verifier knows about the task."""

    expected_answer: str | None = None


class ModelResponse(OpenBody):
    """What the model did: an OpenAI Responses object, of which only the output matters here."""

    output: list[dict[str, Any]]

    def calls(self) -> Iterator[ToolCall]:
        """The function calls, in order. One whose arguments are no JSON object cannot have had an effect."""
        for item in self.output:
            if item.get("type") != "function_call":
                continue
            try:
                arguments = json.loads(item.get("arguments") or "{}")
            except (TypeError, ValueError):
                continue
            if isinstance(arguments, dict):
                yield ToolCall(name=str(item.get("name")), arguments=arguments)

    def final_text(self) -> str:
        """The text of the last assistant message, empty where there is none."""
        for item in reversed(self.output):
            if item.get("type") == "message" and item.get("role", "assistant") == "assistant":
                return _text_of(item.get("content"))
        return ""


class VerifyRequest(OpenBody):
    """The task row together with what the model made of it."""

    ground_truth: list[ToolCall]
    verifier_metadata: TaskMetadata = TaskMetadata()
    response: ModelResponse


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") == "output_text")
    return "".join(str(part.get("text", "")) for part in parts)

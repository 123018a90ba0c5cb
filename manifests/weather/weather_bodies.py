"""The bodies that travel over HTTP.

Task rows carry more than this server reads: ``extra="allow"`` lets the rest through, and ``/verify`` echoes
all of it.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class WeatherQuestion(BaseModel):
    """The arguments of ``get_weather``."""

    city: str = Field(description="Name of the city in English, for example Paris.")


class WeatherAnswer(BaseModel):
    """The result of ``get_weather``."""

    weather: str = Field(description="The report, one sentence.")


class TaskMetadata(BaseModel):
    """What the verifier knows about the task."""

    model_config = ConfigDict(extra="allow")

    expected_city: str


class SeedRequest(BaseModel):
    """A task row, or as much of it as the caller has."""

    model_config = ConfigDict(extra="allow")

    verifier_metadata: TaskMetadata | None = None


class ModelResponse(BaseModel):
    """What the model did: an OpenAI Responses object, of which only the output matters here."""

    model_config = ConfigDict(extra="allow")

    output: list[dict[str, Any]]

    def final_text(self) -> str:
        """The text of the last assistant message, empty where there is none."""
        for item in reversed(self.output):
            if item.get("type") == "message" and item.get("role", "assistant") == "assistant":
                return _text_of(item.get("content"))
        return ""


class VerifyRequest(BaseModel):
    """The task row together with what the model made of it."""

    model_config = ConfigDict(extra="allow")

    verifier_metadata: TaskMetadata
    response: ModelResponse


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") == "output_text")
    return "".join(str(part.get("text", "")) for part in parts)

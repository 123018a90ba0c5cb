"""One tool as data describe it, read from every common form: OpenAI, Anthropic, MCP, bare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.manifest.models import Annotations
from gym_mcp_manifest.manifest.partplaces import PartPlaces

__all__ = ["NoSpec", "ToolSpec", "read_spec"]

_INPUT_KEYS = ("parameters", "input_schema", "inputSchema")
_OUTPUT_KEYS = ("output_schema", "outputSchema")


class NoSpec(ValueError):
    """A value of the data is no tool spec; the text says why."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as data describe it; what they do not say is None.

    `span` is the place in the data, `named_at` that of the source in the manifest which takes it in.
    """

    name: str
    span: Span | None
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    title: str | None = None
    annotations: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    named_at: Span | None = None
    #: Where the parts of the schemas stand, by field.
    schema_places: Mapping[str, PartPlaces] = field(default_factory=dict, repr=False, compare=False)

    def says_the_same(self, other: ToolSpec) -> bool:
        """Whether two specs of one name describe the same tool."""
        return self._said() == other._said()

    def _said(self) -> tuple[Any, ...]:
        return self.description, self.input_schema, self.title, self.annotations, self.output_schema


def read_spec(row: Any, which: str, span: Span | None, named_at: Span | None = None) -> ToolSpec:
    """The spec that a value of the data is, whatever its form; `which` names the value in words.

    Raises:
        NoSpec: the value lacks what makes a spec, or says a thing twice.
    """
    if not isinstance(row, dict):
        raise NoSpec(f"{which} is no tool spec but {type(row).__name__}")
    body = row["function"] if isinstance(row.get("function"), dict) else row
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise NoSpec(f"{which} has no `name`")
    description, title = (_text(body, key, name) for key in ("description", "title"))
    try:
        annotations = _known_hints(body.get("annotations"))
        Annotations.model_validate(annotations)
    except ValidationError as error:
        raise NoSpec(f"the annotations of {name!r} are no hints of MCP") from error
    input_schema = _schema(body, _INPUT_KEYS, name, "schema")
    output_schema = _schema(body, _OUTPUT_KEYS, name, "output schema")
    return ToolSpec(name, span, description, input_schema, title, annotations or None, output_schema, named_at)


def _text(body: Mapping[str, Any], key: str, name: str) -> str | None:
    value = body.get(key)
    if value is None or isinstance(value, str):
        return value
    raise NoSpec(f"the {key} of {name!r} is no text")


def _known_hints(annotations: Any) -> Any:
    if not isinstance(annotations, dict):
        return annotations if annotations is not None else {}
    return {key: annotations[key] for key in Annotations.model_fields if annotations.get(key) is not None}


def _schema(body: Mapping[str, Any], keys: tuple[str, ...], name: str, what: str) -> Mapping[str, Any] | None:
    schemas = [body[key] for key in keys if body.get(key) is not None]
    if not schemas:
        return None
    if any(schema != schemas[0] for schema in schemas):
        raise NoSpec(f"{name!r} has two different {what}s")
    if not isinstance(schemas[0], dict):
        raise NoSpec(f"the {what} of {name!r} is no object")
    return schemas[0]

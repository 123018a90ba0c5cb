"""Warnings about tools as clients are told of them: what is legal, but breaks a client that people use.

Each rule names the client and what becomes of the tool there; the facts are measured with the clients themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.partplaces import PartPlaces
from gym_mcp_manifest.manifest.schemafaults import parts_of

__all__ = ["LINT_CODES", "AdvertisedTool", "tool_lint"]

#: The codes of these warnings.
LINT_CODES = frozenset({"GMM707", "GMM708", "GMM709", "GMM710"})

#: Of one tool, and of all tools together: every client puts them whole into the model's context.
_LARGE_SCHEMA = 16_000
_LARGE_LIST = 100_000
_LEGAL_PROPERTY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_EXACT = 2**53
_COMBINATORS = ("anyOf", "oneOf", "allOf")

#: Where in the schema, what breaks, and what would mend it.
_Problem = tuple[Path, str, str]


@dataclass(frozen=True, slots=True)
class AdvertisedTool:
    """What clients are told of a tool, where that is written, and which line of the manifest takes it in."""

    name: str
    description: str | None
    input_schema: Mapping[str, Any]
    span: Span | None
    named_at: Span | None = None
    #: Where the schema is written, if not where the tool is.
    schema_span: Span | None = None
    #: Where the parts of the schema stand.
    schema_places: PartPlaces | None = None
    #: Whether a spec describes it, not a handler of its own.
    of_dispatcher: bool = False

    def warning(
        self, code: str, message: str, hint: str, *, span: Span | None = None, other: Span | None = None
    ) -> Diagnostic:
        """A warning about the tool, which a comment at any of its places may silence."""
        place = span or self.span
        related = [("the other is at", other)] if other else []
        if self.named_at is not None and self.named_at != place:
            related.append(("taken in at", self.named_at))
        return Diagnostic(
            code=code, severity="warning", message=message, hint=hint, span=place, related=tuple(related)
        )


def tool_lint(tools: Iterable[AdvertisedTool], span: Span | None = None) -> Iterator[Diagnostic]:
    """The warnings about tools, each by itself and all together; those about all are placed at `span`."""
    total = 0
    described: dict[str, AdvertisedTool] = {}
    alike: dict[str, list[str]] = {}
    for tool in tools:
        text = json.dumps(tool.input_schema, ensure_ascii=False, default=str)
        total += len(text) + len(tool.description or "")
        for path, problem, hint in _problems(text):
            place = tool.schema_places and tool.schema_places.span(path, key=True)
            yield tool.warning("GMM707", f"{tool.name!r}: {problem}", hint, span=place or tool.schema_span)
        if len(text) > _LARGE_SCHEMA:
            message = (
                f"the input schema of {tool.name!r} has {len(text):,} characters, which every request carries"
            )
            hint = "agents pay for it in context: shorten its texts, or hide arguments that no agent needs"
            yield tool.warning("GMM709", message, hint, span=tool.schema_span)
        if not (tool.description or "").strip():
            message = (
                f"{tool.name!r} has no description: models choose by it, and Claude Code's tool search finds by it"
            )
            cure = "describe it in its spec" if tool.of_dispatcher else "give the handler a docstring"
            hint = f"write `tools: {{{tool.name}: {{description: ...}}}}`, or {cure}"
            yield tool.warning("GMM708", message, hint)
        elif (first := described.setdefault(str(tool.description), tool)) is not tool:
            alike.setdefault(first.name, [first.name]).append(tool.name)
            if len(alike[first.name]) == 2:
                message = f"{first.name!r} and {tool.name!r} have the same description: a model cannot choose"
                yield tool.warning("GMM710", message, "say in each what sets it apart", other=first.span)
    if total > _LARGE_LIST:
        message = f"the tools have {total:,} characters together; clients put all of them into the model's context"
        hint = "narrow the tools of each session with `sessions.allow`, or expose fewer"
        yield Diagnostic(code="GMM709", severity="warning", message=message, hint=hint, span=span)


@lru_cache(maxsize=1024)
def _problems(text: str) -> tuple[_Problem, ...]:
    """What is legal in a schema, given as JSON, but breaks a known client."""
    schema = json.loads(text)
    properties = schema.get("properties")
    parts: dict[str, Any] = properties if isinstance(properties, dict) else {}
    return (
        *(problem for name, part in parts.items() for problem in _property_problems(name, part)),
        *_root_problems(schema, parts),
        *_deep_problems(schema),
    )


def _property_problems(name: str, part: Any) -> Iterator[_Problem]:
    path = ("properties", name)
    if not name or len(name) > 64 or not _LEGAL_PROPERTY.issuperset(name):
        cure = "use 1 to 64 of the letters [a-zA-Z0-9_.-]"
        yield path, f"the property name {name!r} makes Claude Code drop the tool", cure
    if name == "self":
        what = "langchain-mcp-adapters cannot call a tool with an argument `self`"
        yield path, what, "name the argument otherwise"
    if isinstance(part, bool):
        what = f"the boolean schema of {name!r} costs TypeScript SDK v1 and Gemini CLI the whole list"
        yield path, what, f"it is advertised as `{'{}' if part else '{not: {}}'}`; write that instead"


def _root_problems(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[_Problem]:
    for path, part in (((), schema), *((("properties", name), part) for name, part in parts.items())):
        if isinstance(part, dict) and "title" in part and part["title"] is None:
            cure = "it is left out; take it out of the schema"
            yield (*path, "title"), "a null `title` makes Claude Code drop the tool", cure
            break
    for key in _COMBINATORS:
        if key in schema:
            yield (key,), f"`{key}` at the schema's root is refused by Anthropic's API", "write the properties out"


def _deep_problems(schema: Any) -> Iterator[_Problem]:
    tuples = large = None
    for path, part in parts_of(schema):
        if isinstance(part, dict) and isinstance(part.get("prefixItems"), list):
            tuples = tuples or (*path, "prefixItems")
        elif isinstance(part, int) and abs(part) > _EXACT:
            large = large or path
    if tuples:
        what = "Codex drops `prefixItems`: its model sees a list of texts"
        yield tuples, what, "take an object with named properties"
    if large:
        yield large, f"Claude Code rounds whole numbers beyond {_EXACT}", "take a text, or a smaller bound"

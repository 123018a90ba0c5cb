"""What a plan consists of: exposed tools, excluded routes, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.models import Language
from gym_mcp_manifest.plan.aliases import AliasTable

__all__ = ["ADVICE_TO_TURN_ON", "RESERVED_NAMES", "Excluded", "ExposurePlan", "Refused", "Tool"]

#: Names of the harness's own routes; never tools.
RESERVED_NAMES = frozenset({"verify", "seed_session", "close_session", "aggregate_metrics", "mcp"})

ADVICE_TO_TURN_ON = "set `expose_tools_over_mcp: true` in the instance's configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One exposed tool: how it is advertised and which request a call makes."""

    own_name: str
    name: str
    method: str
    route: str
    path: str
    source: Literal["route", "catch_all"]
    input_schema: Mapping[str, Any]
    title: str | None = None
    description: str | None = None
    annotations: Mapping[str, Any] | None = None
    dispatch: Literal["direct"] = "direct"
    reason: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A route that is no tool, and what decided so."""

    route: str
    reason: str
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A route, tool or setting that stops the boot."""

    subject: str
    reason: str
    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposurePlan:
    """Every decision about an app's exposure, made at boot.

    `tools` are in their advertised order: harvested routes in registration order, then catch-all tools in
    file order. A plan with `refused` entries does not boot; `diagnostics` holds those and the warnings.
    """

    server_name: str
    on: bool
    language: Language
    tools: tuple[Tool, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    refused: tuple[Refused, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    aliases: AliasTable = field(default_factory=AliasTable, repr=False)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that stop the boot."""
        return errors_among(self.diagnostics)

    @property
    def uses_tokens(self) -> bool:
        """Whether calls are bound to sessions by token (`sessions.mode: token`)."""
        return self.language.sessions.mode == "token"

"""What a plan consists of: exposed tools, excluded routes, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.models import Language, Mode
from gym_mcp_manifest.plan.aliases import AliasTable
from gym_mcp_manifest.routes.parameters import NO_PARAMETERS, Parameters

__all__ = ["ADVICE_TO_TURN_ON", "Arguments", "Excluded", "ExposurePlan", "Refused", "Tool"]

ADVICE_TO_TURN_ON = "set `expose_tools_over_mcp: true` in the instance's configuration"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What becomes of a tool's arguments between client and route.

    `defaults` are sent where the client leaves them out, `fixed` always; `withheld` are the names that no client
    may send: those of fixed and of hidden arguments, in every spelling that the route takes. `spellings` has those
    of the defaults.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One exposed tool: how it is advertised and which request a call makes.

    `wraps_reply` tells that the output schema describes the reply under the key `result`. `origins` says in
    words where each value comes from, by field (`description`, `arguments.city`).
    """

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
    output_schema: Mapping[str, Any] | None = None
    wraps_reply: bool = False
    arguments: Arguments = Arguments()
    #: What becomes of each argument in the request.
    parameters: Parameters = NO_PARAMETERS
    dispatch: Mode = "direct"
    reason: str = ""
    span: Span | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A route that is no tool, or a dispatcher's tool that this instance has not, and what decided so."""

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

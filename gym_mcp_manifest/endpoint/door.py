"""`tools/list` and `tools/call` without any SDK: one predicate decides list, call and the names in error texts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.dispatch.call import Dispatcher
from gym_mcp_manifest.dispatch.request import Origin
from gym_mcp_manifest.dispatch.result import CallResult, quoted
from gym_mcp_manifest.plan.records import ExposurePlan, Tool
from gym_mcp_manifest.session.store import SessionLost, SessionStore
from gym_mcp_manifest.session.token import TOKEN_HEADER, Claims, InvalidToken, TokenSigner

__all__ = ["Caller", "ToolDoor", "advertised"]

MISSING_TOKEN = (
    f"Missing {TOKEN_HEADER} header: seed a session with POST /seed_session and send the token of its reply "
    "with every call."
)
INVALID_TOKEN = "Invalid session token: seed a new session with POST /seed_session and use the token of its reply."
LOST_SESSION = (
    "The contents of this session are no longer held by this server process: seed again with POST /seed_session."
)
_NAMES_SHOWN = 40
_NAMES_COMPARED = 1_000

log = logging.getLogger("gym_mcp_manifest")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the token as sent (None without one) and the connection."""

    token: str | None = field(repr=False)
    origin: Origin


class ToolDoor:
    """Lists and calls the tools of one plan."""

    def __init__(
        self, plan: ExposurePlan, dispatcher: Dispatcher, store: SessionStore, signer: TokenSigner | None
    ) -> None:
        self._tools: dict[str, Tool] = {tool.name: tool for tool in plan.tools}
        self._dispatcher = dispatcher
        self._store = store
        self._signer = signer

    def listed(self, caller: Caller) -> tuple[str, ...]:
        """Exposed names for this caller: those of its session, or all without a valid token."""
        try:
            claims = self._claims(caller)
        except InvalidToken:
            claims = None
        return tuple(name for name in self._tools if claims is None or claims.allows(name))

    async def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> CallResult:
        """Call a tool; every failure is a result that says what to do, never an exception."""
        claims = session = None
        if self._signer is not None:
            if not caller.token:
                return CallResult.error(MISSING_TOKEN)
            try:
                claims = self._claims(caller)
            except InvalidToken:
                return CallResult.error(INVALID_TOKEN)
        tool = self._tools.get(name)
        if tool is None or (claims is not None and not claims.allows(name)):
            return CallResult.error(self._unknown(name, caller))
        if claims is not None:
            try:
                session = self._store.open(claims.session_id, kept=claims.kept, seed=claims.seed)
            except SessionLost:
                return CallResult.error(LOST_SESSION)
        result = await self._dispatcher.call(tool, arguments, caller.origin, session)
        return CallResult.error(LOST_SESSION) if session is not None and session.lost else result

    async def drain(self) -> None:
        """Wait for what calls still run."""
        await self._dispatcher.drain()

    def _claims(self, caller: Caller) -> Claims | None:
        if self._signer is None or not caller.token:
            return None
        return self._signer.read(caller.token)

    def _unknown(self, name: str, caller: Caller) -> str:
        text, names = f"Unknown tool {quoted(name)}.", self.listed(caller)
        # Comparing with very many names would hold up every other call of this process.
        guess = nearest(name[:200], names) if len(names) <= _NAMES_COMPARED else None
        if guess:
            return f"{text} Did you mean '{guess}'?"
        if 0 < len(names) <= _NAMES_SHOWN:
            return f"{text} This session has: {', '.join(names)}."
        return text


def advertised(tool: Tool) -> dict[str, Any]:
    """The tool as `tools/list` carries it."""
    wire: dict[str, Any] = {"name": tool.name, "inputSchema": dict(tool.input_schema)}
    if tool.title:
        wire["title"] = tool.title
    if tool.description:
        wire["description"] = tool.description
    if tool.output_schema is not None:
        wire["outputSchema"] = dict(tool.output_schema)
    if tool.annotations:
        wire["annotations"] = dict(tool.annotations)
    return wire

"""`POST /seed_session`: rules decided before the handler runs, the token added to its reply."""

from __future__ import annotations

import json
import logging
from collections.abc import MutableMapping
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Receive, Scope, Send

from gym_mcp_manifest.exchange import HeldReply, read_body, replay, send_json
from gym_mcp_manifest.jsontext import parsed
from gym_mcp_manifest.session.rules import AllowRules, Decision, SeedRefused, seed_body_of
from gym_mcp_manifest.session.store import MARK_KEY, SESSION_ID_KEY, SessionStore
from gym_mcp_manifest.session.token import TOKEN_HEADER, Claims, TokenSigner

__all__ = ["Seeder"]

_ENDPOINT = "/mcp"

log = logging.getLogger("gym_mcp_manifest")


class Seeder:
    """Seeds sessions of one server: decides their tools, keeps their contents, hands out their tokens."""

    def __init__(self, server_name: str, rules: AllowRules, signer: TokenSigner, store: SessionStore) -> None:
        self._server_name = server_name
        self._rules = rules
        self._signer = signer
        self._store = store
        self._causes_without_tools: set[str] = set()

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one seed request through `app`, the rest of the stack."""
        body = await read_body(receive)
        if body is None:
            return
        try:
            decision = self._rules.decide(seed_body_of(self._read(body)))
        except SeedRefused as refusal:
            log.warning("seed refused: %s", refusal)
            await send_json(send, 422, {"detail": str(refusal)})
            return
        self._note_empty(decision)
        reply = HeldReply(send, lambda held: self._revise(held, scope.get("session"), decision), _no_token)
        await app(scope, replay(body, receive), reply)

    def _read(self, body: bytes) -> Any:
        """The request as rules see it; without a body it is an empty object."""
        request = parsed(body or b"{}")
        if request is None and self._rules.narrow and body.strip() != b"null":
            # It must not widen a session that no rule finds anything in what cannot be read.
            raise SeedRefused("the body of /seed_session is no JSON that sessions.allow can be decided from")
        return request

    def _revise(self, body: bytes, session: MutableMapping[str, Any] | None, decision: Decision) -> bytes | None:
        # Only UTF-8 can be spliced into; the client of a reply in UTF-16 is told nothing.
        reply = parsed(body) if json.detect_encoding(body).startswith("utf-8") else None
        if not isinstance(reply, dict):
            _no_token()
            return None
        # The reply has not started yet, so an id that is minted here still becomes a cookie.
        session = {} if session is None else session
        if session.get(SESSION_ID_KEY) in (None, ""):
            session[SESSION_ID_KEY] = uuid4().hex
        session_id = session[SESSION_ID_KEY]
        if not isinstance(session_id, str):
            log.error("request.session[%r] is no text: the rollout gets no session token", SESSION_ID_KEY)
            return None
        kept = self._store.keep(session_id, session)
        if kept.mark is not None:
            session[MARK_KEY] = kept.mark
        token = self._signer.mint(Claims(session_id, decision.tools, kept.more, kept.seed))
        metadata = {
            "server_name": self._server_name,
            "url_path": _ENDPOINT,
            "transport": "http",
            "headers": {TOKEN_HEADER: token},
        }
        return _attach(body, reply, metadata)

    def _note_empty(self, decision: Decision) -> None:
        if decision.tools == frozenset() and decision.cause not in self._causes_without_tools:
            self._causes_without_tools.add(decision.cause)
            log.warning("a session was seeded without any tool, by %s", decision.cause)


def _no_token() -> None:
    log.error("the reply of /seed_session is no JSON object: the rollout gets no session token")


def _attach(body: bytes, reply: dict[str, Any], metadata: dict[str, Any]) -> bytes | None:
    """The reply with the metadata in it; None where it already has what the contract adds."""
    if "resources_session_id" in reply and "resources_tools" in reply:
        if reply["resources_tools"] is not None:
            return None
        return json.dumps({**reply, "resources_tools": metadata}, separators=(",", ":")).encode("ascii")
    if "mcp" in reply:
        return None
    # The app's own bytes stay as they are: the key is spliced in before the closing brace.
    head = body.rstrip()[:-1]
    comma = b"," if reply else b""
    return head + comma + b'"mcp":' + json.dumps(metadata, separators=(",", ":")).encode("ascii") + b"}"

"""The session token: signed, never encrypted, so it says who and what is allowed but nothing of the contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, URLSafeSerializer

__all__ = ["TOKEN_HEADER", "Claims", "InvalidToken", "TokenSigner"]

#: The request header that carries the token; part of the wire contract.
TOKEN_HEADER = "X-NeMo-Gym-Session-Token"
_SALT = "nemo-gym-mcp-session-token"


class InvalidToken(ValueError):
    """The token is forged, damaged or signed with a secret that is no longer known."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says.

    `tools` are exposed names, None for all; `kept` tells that the session holds more than its id, which the
    process that seeded it keeps; `seed` tells this seeding from others of the same id, where that is needed.
    """

    session_id: str
    tools: frozenset[str] | None = None
    kept: bool = False
    seed: str | None = None

    def allows(self, name: str) -> bool:
        """Whether the session may see and call the tool with this exposed name."""
        return self.tools is None or name in self.tools


class TokenSigner:
    """Mints and reads tokens; the first secret signs, all verify (in constant time, by itsdangerous)."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if not secrets or not all(secrets):
            raise ValueError("a token signer needs secrets that are not empty")
        # itsdangerous signs with the last key of a list and accepts them all.
        self._serializer = URLSafeSerializer(list(reversed(secrets)), salt=_SALT)

    def __repr__(self) -> str:
        return "TokenSigner(...)"

    def mint(self, claims: Claims) -> str:
        """The token for these claims."""
        payload: dict[str, Any] = {
            "sid": claims.session_id,
            "tools": None if claims.tools is None else sorted(claims.tools),
        }
        if claims.kept:
            payload["kept"] = True
        if claims.seed is not None:
            payload["seed"] = claims.seed
        token = self._serializer.dumps(payload)
        return token.decode("ascii") if isinstance(token, bytes) else token

    def read(self, token: str) -> Claims:
        """The claims of a token; InvalidToken where it is not ours."""
        try:
            payload = self._serializer.loads(token)
        except BadData as error:
            raise InvalidToken("the session token cannot be verified") from error
        # A token without "tools" is none of ours: only a written null means all tools.
        if not isinstance(payload, dict) or "tools" not in payload:
            raise InvalidToken("the session token has another form")
        session_id, tools = payload.get("sid"), payload["tools"]
        if not isinstance(session_id, str) or not (tools is None or _is_names(tools)):
            raise InvalidToken("the session token has another form")
        seed = payload.get("seed")
        return Claims(
            session_id,
            None if tools is None else frozenset(tools),
            payload.get("kept") is True,
            seed if isinstance(seed, str) else None,
        )


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)

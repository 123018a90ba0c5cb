"""The cookie by which Starlette's session middleware knows a session, made for a call through the whole app."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from itsdangerous import TimestampSigner

__all__ = ["SessionCookie"]


class SessionCookie:
    """Writes the cookie that the app's own session middleware would have set; the key never shows."""

    def __init__(self, name: str, key: str) -> None:
        self._name = name
        self._signer = TimestampSigner(key)

    def is_of(self, pair: str) -> bool:
        """Whether a `name=value` of a cookie header is the session's."""
        return pair.startswith(f"{self._name}=")

    def text(self, contents: Mapping[str, Any]) -> str:
        """The cookie's `name=value` for these contents, as browsers send it back."""
        data = b64encode(json.dumps(dict(contents)).encode("utf-8"))
        return f"{self._name}={self._signer.sign(data).decode('ascii')}"

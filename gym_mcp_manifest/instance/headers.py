"""`mcp_headers`: headers that made requests carry, set by the instance or taken from the /mcp request."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

__all__ = ["NO_HEADERS", "OWN_HEADERS", "RequestHeaders", "header_problems", "request_headers", "secret_parts"]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
#: What the made request decides itself, and the token, which no route is ever shown.
OWN_HEADERS = frozenset(
    {
        *("host", "content-type", "content-length", "transfer-encoding", "connection", "cookie"),
        "x-nemo-gym-session-token",
    }
)


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """Headers with fixed values, which may be secrets, and names of forwarded ones; names in lower case."""

    fixed: tuple[tuple[str, SecretStr], ...] = ()
    forwarded: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them: no argument of a tool may be one."""
        return frozenset((*(name for name, _ in self.fixed), *self.forwarded))


#: Those of an instance that names none.
NO_HEADERS = RequestHeaders()


def request_headers(value: Mapping[str, Any]) -> RequestHeaders:
    """The headers of a value without problems."""
    fixed = value.get("set") or {}
    return RequestHeaders(
        tuple((name.lower(), SecretStr(text)) for name, text in fixed.items()),
        tuple(name.lower() for name in value.get("forward") or ()),
    )


def secret_parts(value: str) -> Iterator[str]:
    """A header's value and what a handler may make of it that is as secret: the credentials alone, a password."""
    yield value
    scheme, _, credentials = value.partition(" ")
    if credentials.strip():
        yield credentials.strip()
    if scheme.lower() == "basic":
        try:
            pair = b64decode(credentials).decode("utf-8")
        except ValueError:
            return
        yield from (pair, pair.partition(":")[2])


def header_problems(value: Any) -> Iterator[str]:
    """What is wrong with a value of `mcp_headers`, without any header's value: it may be a secret."""
    if not isinstance(value, Mapping) or not value:
        yield "`mcp_headers`: expected a mapping with `set` or `forward`"
        return
    for key in value:
        if key not in ("set", "forward"):
            yield f"unknown key `{key}` in `mcp_headers`; known are `set` and `forward`"
    fixed, forwarded = value.get("set", {}), value.get("forward", [])
    if not isinstance(fixed, Mapping) or not all(isinstance(text, str) for text in fixed.values()):
        yield "`mcp_headers.set`: expected a mapping of names to texts"
        fixed = {}
    if not isinstance(forwarded, list) or not all(isinstance(name, str) for name in forwarded):
        yield "`mcp_headers.forward`: expected a list of header names"
        forwarded = []
    names = [str(name) for name in (*fixed, *forwarded)]
    for name in names:
        if not _NAME.fullmatch(name):
            yield f"`{name}` in `mcp_headers` is no name of a header"
        elif name.lower() in OWN_HEADERS:
            yield f"`{name}` in `mcp_headers`: that header is the request's own"
        elif sum(other.lower() == name.lower() for other in names) > 1:
            yield f"`{name}` stands twice in `mcp_headers`"
    for name, text in fixed.items():
        if not _VALUE.fullmatch(text) or text != text.strip():
            yield f"`mcp_headers.set.{name}`: the value has letters that no header can carry"

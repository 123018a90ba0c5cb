"""The small interface behind which both lines of the official SDK stand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

__all__ = ["Handlers", "HostProtection", "Manager", "ServerIdentity"]


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """What the server tells of itself when a client connects."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class HostProtection:
    """DNS-rebinding protection: the hosts that a request may name; None switches it off."""

    hosts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Handlers:
    """What a server does; requests are Starlette's, results the wire's own mappings.

    `tools` maps each exposed name to its advertised form, `list_names` gives the names for one request.
    """

    tools: Mapping[str, Mapping[str, Any]]
    list_names: Callable[[Request], tuple[str, ...]]
    call: Callable[[Request, str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class Manager(Protocol):
    """Serves Streamable HTTP requests while its `run` context is open."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """The context in which requests are served; entered once."""
        ...

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ...

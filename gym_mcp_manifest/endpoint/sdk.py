"""The small interface behind which both lines of the official SDK stand, and the choice between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

__all__ = ["Handlers", "HostProtection", "Manager", "ServerIdentity", "create_manager", "sdk_version"]


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


def sdk_version() -> tuple[int, ...]:
    """The installed SDK's version, its numbers only."""
    return tuple(int(part) for part in version("mcp").split(".")[:3] if part.isdigit())


def create_manager(
    identity: ServerIdentity, handlers: Handlers, protection: HostProtection, request_bytes: int
) -> Manager:
    """A stateless manager with JSON responses on the installed line of the SDK."""
    if sdk_version() >= (2,):
        from gym_mcp_manifest.endpoint import sdk2 as line
    else:
        from gym_mcp_manifest.endpoint import sdk1 as line  # type: ignore[no-redef]
    return line.create_manager(identity, handlers, protection, request_bytes)

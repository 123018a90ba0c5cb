"""A small MCP client on the installed line of the SDK, for the command line, the demo and the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from gym_mcp_manifest.endpoint.sdk import sdk_version

__all__ = ["ToolClient", "connect", "is_loopback"]


class ToolClient(Protocol):
    """A connected client; tools and results are the wire's own mappings."""

    #: The negotiated protocol revision.
    protocol_version: str

    async def list_tools(self) -> list[dict[str, Any]]:
        """Every tool that the server lists, all pages."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one call, error results included."""
        ...


@asynccontextmanager
async def connect(url: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[ToolClient]:
    """Connect to the Streamable HTTP endpoint at `url`, sending `headers` with every request."""
    if sdk_version() >= (2,):
        from gym_mcp_manifest.endpoint.client2 import open_client
    else:
        from gym_mcp_manifest.endpoint.client1 import open_client  # type: ignore[assignment]
    async with open_client(url, dict(headers or {}), trust_env=not is_loopback(url)) as client:
        yield client


def is_loopback(url: str) -> bool:
    """Whether the URL names this machine: a proxy that the environment names is no way there."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

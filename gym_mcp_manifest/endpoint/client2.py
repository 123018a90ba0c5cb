"""The client on the 2.x line, which settles the protocol's revision by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

__all__ = ["open_client"]

_TIMEOUT = httpx2.Timeout(30, read=300)


class _Client:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.protocol_version = str(client.protocol_version)

    async def list_tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self._client.list_tools(cursor=cursor) if cursor else await self._client.list_tools()
            tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                return tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        result = await self._client.call_tool(name, dict(arguments))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@cache
def _trust(trust_env: bool) -> SSLContext:
    """Whom clients trust; it takes longer to read than a call to this machine takes, so it is read once."""
    return httpx2.create_ssl_context(trust_env=trust_env)


@asynccontextmanager
async def open_client(url: str, headers: dict[str, str], *, trust_env: bool) -> AsyncIterator[_Client]:
    """Connect and settle the revision."""
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=_TIMEOUT, follow_redirects=True, trust_env=trust_env, verify=_trust(trust_env)
        ) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield _Client(client)

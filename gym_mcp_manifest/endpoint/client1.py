"""The client on the 1.x line: a session that shakes hands first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

__all__ = ["open_client"]

_TIMEOUT = httpx.Timeout(30, read=300)


class _Client:
    def __init__(self, session: ClientSession, protocol_version: str) -> None:
        self._session = session
        self.protocol_version = protocol_version

    async def list_tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self._session.list_tools(cursor=cursor) if cursor else await self._session.list_tools()
            tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.nextCursor
            if not cursor:
                return tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        result = await self._session.call_tool(name, dict(arguments))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@cache
def _trust(trust_env: bool) -> SSLContext:
    """Whom clients trust; it takes longer to read than a call to this machine takes, so it is read once."""
    return httpx.create_ssl_context(trust_env=trust_env)


@asynccontextmanager
async def open_client(url: str, headers: dict[str, str], *, trust_env: bool) -> AsyncIterator[_Client]:
    """Connect and initialize."""
    async with (
        httpx.AsyncClient(
            headers=headers, timeout=_TIMEOUT, follow_redirects=True, trust_env=trust_env, verify=_trust(trust_env)
        ) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        hello = await session.initialize()
        yield _Client(session, str(hello.protocolVersion))

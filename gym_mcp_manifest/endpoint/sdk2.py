"""The 2.x line of the SDK: handlers are arguments of the server."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from starlette.requests import Request

from gym_mcp_manifest.endpoint.interface import Handlers, HostProtection, Manager, ServerIdentity
from gym_mcp_manifest.endpoint.transport import stateless_manager

__all__ = ["create_manager"]


def create_manager(
    identity: ServerIdentity, handlers: Handlers, protection: HostProtection, request_bytes: int
) -> Manager:
    """A manager whose server answers with these handlers."""
    tools = {name: types.Tool.model_validate(tool) for name, tool in handlers.tools.items()}

    async def list_tools(context: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        names = handlers.list_names(_request(context))
        return types.ListToolsResult(tools=[tools[name] for name in names])

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        result = await handlers.call(_request(context), call.name, call.arguments or {})
        return types.CallToolResult.model_validate(result)

    server: Server[Any] = Server(
        identity.name,
        version=identity.version,
        title=identity.title,
        instructions=identity.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    return stateless_manager(server, protection, request_bytes)


def _request(context: Any) -> Request:
    request = context.request
    assert isinstance(request, Request), "the HTTP transport gives every handler its request"
    return request

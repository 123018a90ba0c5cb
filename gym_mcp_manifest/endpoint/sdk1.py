"""The 1.x line of the SDK: handlers are registered by request type."""

from __future__ import annotations

import json
import logging
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from starlette.requests import Request

from gym_mcp_manifest.endpoint.interface import Handlers, HostProtection, Manager, ServerIdentity
from gym_mcp_manifest.endpoint.transport import stateless_manager

__all__ = ["create_manager"]

log = logging.getLogger("gym_mcp_manifest")


def create_manager(
    identity: ServerIdentity, handlers: Handlers, protection: HostProtection, request_bytes: int
) -> Manager:
    """A manager whose server answers with these handlers."""
    server: Server = Server(identity.name, version=identity.version, instructions=identity.instructions)
    if identity.title:
        log.warning("`server.title` is not sent: the 1.x line of the mcp package has no field for it")
    tools = {name: types.Tool.model_validate(tool) for name, tool in handlers.tools.items()}

    def request() -> Request:
        current = server.request_context.request
        assert isinstance(current, Request), "the HTTP transport gives every handler its request"
        return current

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        names = handlers.list_names(request())
        return types.ServerResult(types.ListToolsResult(tools=[tools[name] for name in names]))

    async def call_tool(call: types.CallToolRequest) -> types.ServerResult:
        arguments = await _as_sent(request())
        result = await handlers.call(request(), call.params.name, arguments)
        return types.ServerResult(types.CallToolResult.model_validate(result))

    # The decorators would validate arguments against the schema and hide failures; the route judges here.
    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return stateless_manager(server, protection, request_bytes)


async def _as_sent(request: Request) -> dict[str, Any]:
    """The arguments as the client wrote them: this line makes null of NaN and of numbers beyond range."""
    sent = json.loads(await request.body())
    return sent["params"].get("arguments") or {}

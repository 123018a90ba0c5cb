"""What both lines of the SDK share: the session manager's arguments."""

from __future__ import annotations

import inspect
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from gym_mcp_manifest.endpoint.interface import HostProtection

__all__ = ["stateless_manager"]


def stateless_manager(server: Any, protection: HostProtection, request_bytes: int) -> StreamableHTTPSessionManager:
    """The SDK's own manager: stateless, JSON responses, bounded requests."""
    arguments: dict[str, Any] = {
        "app": server,
        "stateless": True,
        "json_response": True,
        "security_settings": _security(protection),
    }
    # Before 1.29 the manager has no limit of its own; the front layer applies ours in any case.
    if "max_request_body_size" in inspect.signature(StreamableHTTPSessionManager).parameters:
        arguments["max_request_body_size"] = request_bytes
    return StreamableHTTPSessionManager(**arguments)


def _security(protection: HostProtection) -> TransportSecuritySettings:
    if protection.hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [form for host in protection.hosts for form in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )

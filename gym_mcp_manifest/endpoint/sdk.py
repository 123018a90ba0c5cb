"""The choice between the lines of the official SDK, by the installed version."""

from __future__ import annotations

from importlib.metadata import version

from gym_mcp_manifest.endpoint.interface import Handlers, HostProtection, Manager, ServerIdentity

__all__ = ["create_manager", "sdk_version"]


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

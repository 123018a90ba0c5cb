"""All that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gym_mcp_manifest.instance.values import ServerKeys
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.specs import SpecSet
from gym_mcp_manifest.routes.harvest import HarvestedRoute
from gym_mcp_manifest.routes.middleware import InstalledMiddleware

__all__ = ["PlanInputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """Manifest, app and data as they stand at boot.

    `settled` says that the app has everything it will ever have: only then is an entry about middleware that
    matches nothing a finding.
    """

    server_name: str
    on: bool
    manifest: Manifest
    routes: tuple[HarvestedRoute, ...]
    specs: SpecSet = field(default_factory=SpecSet)
    middleware: tuple[InstalledMiddleware, ...] = ()
    settled: bool = True
    #: What the instance and the app's sessions send, by place and name in lower case: no argument is one of them.
    kept_back: frozenset[tuple[str, str]] = frozenset()
    #: The instance's own block, over which `only_if` is asked; it may hold secrets.
    block: Callable[[], ServerKeys] = field(default=ServerKeys, repr=False)

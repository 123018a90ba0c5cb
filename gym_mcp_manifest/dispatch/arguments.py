"""Arguments on their way from client to route: defaults and fixed values go in, withheld names are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_mcp_manifest.plan.records import Arguments

__all__ = ["sent_arguments", "withheld_among"]


def withheld_among(planned: Arguments, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a client sent though they are not its to send."""
    return tuple(name for name in arguments if name in planned.withheld)


def sent_arguments(planned: Arguments, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the route is sent: the client's arguments, over the defaults and under the fixed values."""
    if not planned.defaults and not planned.fixed:
        return arguments
    absent = {
        name: value
        for name, value in planned.defaults.items()
        if arguments.keys().isdisjoint((name, *planned.spellings.get(name, ())))
    }
    return {**arguments, **absent, **planned.fixed}

"""What a drafted manifest says, before it becomes text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dispatcher", "Draft", "Entry", "Source", "Tailored"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A route or a name with a note for its reader."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tailored:
    """What the manifest says about one tool: `key` is its name or its route, `note` why."""

    key: str
    note: str
    name: str | None = None
    #: Whether its calls take all of FastAPI's handling of the route (`dispatch: route`).
    by_route: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Data in the server's folder that hold tool specs: the path or glob, and the expression that selects them."""

    file: str
    select: str | None
    names: tuple[str, ...]
    exclude: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """A POST route with path parameters: `source` has the specs of its tools, or it is ignored, for `reason`.

    `may_dispatch` tells that its shape is that of a dispatcher, `can_dispatch` that no other route's is as well.
    """

    path: str
    reason: str
    source: Source | None = None
    may_dispatch: bool = False
    can_dispatch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything that the manifest will say."""

    server: str
    include: tuple[Entry, ...] = ()
    exclude: tuple[Entry, ...] = ()
    dispatchers: tuple[Dispatcher, ...] = ()
    tools: tuple[Tailored, ...] = ()
    #: The app's middleware, which every call runs (`dispatch: app`).
    run_middleware: tuple[str, ...] = ()
    skip_middleware: tuple[str, ...] = ()
    #: Why the app has no sessions; None where it has them.
    sessionless: str | None = None

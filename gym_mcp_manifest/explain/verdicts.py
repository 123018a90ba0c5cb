"""The state of a route or tool, read off the plan: exposed, excluded or refused, why, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.plan.records import ExposurePlan, Tool
from gym_mcp_manifest.routes.harvest import HarvestedRoute

__all__ = ["Verdict", "known_names", "verdict_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a route or tool. `subject` names it, `decided_at` is the place or layer that decided.

    An exposed one has the `tool`, a dispatcher its `tools`; `found` are the findings that refuse it.
    """

    subject: str
    state: Literal["exposed", "excluded", "refused"]
    reason: str
    decided_at: str
    handler: str = ""
    tool: Tool | None = None
    tools: tuple[Tool, ...] = ()
    found: tuple[Diagnostic, ...] = ()


def verdict_on(what: str, plan: ExposurePlan, routes: Iterable[HarvestedRoute], places: Places) -> Verdict | None:
    """The verdict on a route (`POST /path`, `/path`) or a tool by either name; None for an unknown one.

    A route without its method is the POST route of that path, else the only other one.
    """
    known = tuple(routes)
    for tool in (*(t for t in plan.tools if t.name == what), *(t for t in plan.tools if t.own_name == what)):
        return _of_tool(tool, known)
    for label in _labels(what, known):
        return _of_route(label, plan, known, places)
    refused = [entry for entry in plan.refused if entry.subject == f"tool {what!r}"]
    if refused:
        return _refused(refused[0].subject, tuple(entry.diagnostic for entry in refused))
    for entry in plan.excluded:
        if entry.route in (what, f"tool {what!r}"):
            place = str(entry.span or "")
            return Verdict(subject=entry.route, state="excluded", reason=entry.reason, decided_at=place)
    return None


def known_names(plan: ExposurePlan, routes: Iterable[HarvestedRoute]) -> tuple[str, ...]:
    """Everything that a verdict can be had on, for the one that was most likely meant."""
    labels = [route.label for route in routes]
    names = [name for tool in plan.tools for name in (tool.name, tool.own_name)]
    return tuple(dict.fromkeys((*names, *labels, *(label.partition(" ")[2] for label in labels))))


def _labels(what: str, routes: tuple[HarvestedRoute, ...]) -> Iterator[str]:
    labels = [route.label for route in routes]
    if what in labels:
        yield what
    path = what if what.startswith("/") else f"/{what}"
    of_path = [route.label for route in routes if route.path == path]
    yield from (label for label in of_path if label == f"POST {path}")
    yield from of_path
    yield from (route.label for route in routes if route.function == what and route.method == "POST")


def _of_tool(tool: Tool, routes: tuple[HarvestedRoute, ...]) -> Verdict:
    label = f"{tool.method} {tool.route}"
    return Verdict(
        subject=f"{tool.name} ({label})",
        state="exposed",
        reason=tool.reason,
        decided_at=str(tool.span or ""),
        handler=_handler(label, routes),
        tool=tool,
    )


def _of_route(label: str, plan: ExposurePlan, routes: tuple[HarvestedRoute, ...], places: Places) -> Verdict:
    handler = _handler(label, routes)
    through = [tool for tool in plan.tools if f"{tool.method} {tool.route}" == label]
    found = tuple(entry.diagnostic for entry in plan.refused if entry.subject == label)
    if found:
        return _refused(label, found, handler)
    if through and through[0].source == "route":
        return _of_tool(through[0], routes)
    for entry in plan.excluded:
        if entry.route == label:
            place = str(entry.span or "")
            return Verdict(subject=label, state="excluded", reason=entry.reason, decided_at=place, handler=handler)
    if through:
        return Verdict(
            subject=label,
            state="exposed",
            reason=through[0].reason,
            decided_at=_entry_place(label, plan, places),
            handler=handler,
            tools=tuple(through),
        )
    return Verdict(
        subject=label,
        state="refused" if plan.errors else "excluded",
        reason="no tool comes of it; see the findings of the plan" if plan.errors else "it has no tools",
        decided_at="",
        handler=handler,
        found=plan.errors,
    )


def _refused(subject: str, found: tuple[Diagnostic, ...], handler: str = "") -> Verdict:
    place = next((str(d.span) for d in found if d.span), "")
    return Verdict(
        subject=subject, state="refused", reason=found[0].message, decided_at=place, handler=handler, found=found
    )


def _entry_place(label: str, plan: ExposurePlan, places: Places) -> str:
    """Where the `catch_all` entry of a dispatcher is written; one that names no route is the only one left."""
    path = label.partition(" ")[2]
    entries = list(enumerate(plan.language.catch_all))
    named = [index for index, entry in entries if entry.route == path]
    unnamed = [index for index, entry in entries if entry.route is None]
    return next((places.origin(("catch_all", index)) for index in (*named, *unnamed)), "")


def _handler(label: str, routes: tuple[HarvestedRoute, ...]) -> str:
    return next((str(route.handler) for route in routes if route.label == label and route.handler), "")

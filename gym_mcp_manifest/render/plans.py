"""Plans as aligned lines for people and as stable JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.explain.arguments import ArgumentAccount
from gym_mcp_manifest.explain.settings import Setting
from gym_mcp_manifest.explain.visible import WITHHELD
from gym_mcp_manifest.manifest.layers import Dropped
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, ExposurePlan, Tool
from gym_mcp_manifest.render.explanations import argument_payload
from gym_mcp_manifest.render.findings import counted, findings_payload, print_findings

__all__ = ["PLAN_FORMAT", "plan_json", "print_plan"]

#: Version of the JSON form; it changes when a reader would have to.
PLAN_FORMAT = 1

#: How much of a setting's value a line of text shows; JSON and `gym-mcp explain` have all of it.
_LONGEST = 60


def print_plan(
    plan: ExposurePlan,
    console: Console,
    *,
    brief: bool = False,
    settings: Sequence[Setting] = (),
    dropped: Sequence[Dropped] = (),
) -> None:
    """Write the verdict, what is exposed, what is not and why, the settings, what is refused, and every finding.

    `brief` leaves out what is not exposed, the settings and, where the app would not boot, the tools. Of
    `settings` those are shown that a layer wrote; `dropped` are the entries of lists that a layer wrote anew.
    """

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    if not plan.on:
        say(f"{plan.server_name}: nothing is exposed; exposure is off.")
        say(f"To turn it on, {ADVICE_TO_TURN_ON}.")
        return
    tools = counted(len(plan.tools), "tool")
    if plan.errors:
        say(f"{plan.server_name}: would not boot: {counted(len(plan.errors), 'error')}", "bold red")
    else:
        say(f"{plan.server_name}: {tools} at /mcp", "bold")
    if plan.tools and not (brief and plan.errors):
        if plan.errors:
            say(f"\nnot refused: {tools}", "bold")
        for reason, rows in _grouped(plan.tools):
            say(f"\n{reason}:", "bold")
            _print_rows(rows, console)
    if plan.excluded and not brief:
        say("\nnot exposed:", "bold")
        _print_rows([(e.route, e.reason, _decided(e.span)) for e in plan.excluded], console)
    if settings and not brief:
        written = [(s.path, _short(s.value), "; ".join(s.origins)) for s in settings if s.written]
        rest = "everything else" if written else "everything"
        say(f"\nsettings ({rest} by the language's defaults):", "bold")
        _print_rows(written, console)
    if dropped:
        say("\ndropped, since a layer wrote the list anew:", "bold")
        _print_rows(
            [(_dotted(drop), entry, f"by {drop.at}") for drop in dropped for entry in _gone(drop)], console
        )
    if plan.refused:
        say("\nrefused:", "bold")
        _print_rows([(entry.subject, entry.diagnostic.code) for entry in plan.refused], console)
    if plan.diagnostics:
        say("")
    print_findings(plan.diagnostics, console)


def plan_json(
    plan: ExposurePlan,
    arguments: Mapping[str, Sequence[ArgumentAccount]],
    settings: Sequence[Setting],
    dropped: Sequence[Dropped],
) -> str:
    """The whole plan as one JSON document, in the plan's own stable order; `arguments` by the tools' names."""
    payload: dict[str, Any] = {
        "format_version": PLAN_FORMAT,
        "server": plan.server_name,
        "exposed": plan.on,
        "boots": not plan.errors,
        "tools": [_tool(tool, arguments.get(tool.name, ())) for tool in plan.tools],
        "excluded": [
            {"route": entry.route, "reason": entry.reason, "decided_at": _decided(entry.span)}
            for entry in plan.excluded
        ],
        "settings": {s.path: {"value": s.value, "origin": "; ".join(s.origins)} for s in settings},
        "dropped": [
            {"list": _dotted(drop), "entries": _gone(drop), "by": str(drop.at), "written_at": str(drop.before)}
            for drop in dropped
        ],
        "refused": [
            {"subject": entry.subject, "reason": entry.reason, "code": entry.diagnostic.code}
            for entry in plan.refused
        ],
        "findings": findings_payload(plan.diagnostics),
    }
    return json.dumps(payload, indent=2, ensure_ascii=False)


def _grouped(tools: Iterable[Tool]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """The tools as rows of name, dispatch and place, under the reason that they share."""
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        groups.setdefault(tool.reason, []).append(tool)
    for reason, members in groups.items():
        if members[0].source == "catch_all":
            yield f"via {reason}", [_row(tool) for tool in members]
        elif len(members) == 1:
            yield f"{members[0].method} {members[0].route}, {reason}", [_row(tool) for tool in members]
        else:
            yield reason, [_row(tool, f"{tool.method} {tool.route}") for tool in members]


def _row(tool: Tool, *route: str) -> tuple[str, ...]:
    name = tool.name if tool.name == tool.own_name else f"{tool.name} (own name {tool.own_name})"
    return (name, *route, tool.dispatch, _decided(tool.span))


def _print_rows(rows: Sequence[tuple[str, ...]], console: Console) -> None:
    """One unfolded line for each row, its cells aligned."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        console.print(Text(("  " + "  ".join(cells)).rstrip()), soft_wrap=True)


def _short(value: Any) -> str:
    text = WITHHELD if value == WITHHELD else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _tool(tool: Tool, arguments: Sequence[ArgumentAccount]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "own_name": tool.own_name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
        "arguments": {argument.name: argument_payload(argument) for argument in arguments},
        "route": f"{tool.method} {tool.route}",
        "path": tool.path,
        "dispatch": tool.dispatch,
        "source": tool.source,
        "reason": tool.reason,
        "decided_at": _decided(tool.span),
        "origins": dict(sorted(tool.origins.items())),
    }


def _dotted(drop: Dropped) -> str:
    return ".".join(map(str, drop.path))


def _gone(drop: Dropped) -> list[str]:
    """The dropped entries by name; those of an instance, which may be secret, by number alone."""
    return (
        [f"entry {number}" for number, _ in enumerate(drop.entries, 1)] if drop.before.private else [*drop.entries]
    )


def _decided(span: Span | None) -> str:
    return str(span) if span else ""

"""Plans as a table for people and as stable JSON for programs."""

from __future__ import annotations

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gym_mcp_manifest.diagnostics import Span
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, ExposurePlan, Tool
from gym_mcp_manifest.render.findings import findings_payload, print_findings

__all__ = ["PLAN_FORMAT", "plan_json", "print_plan"]

#: Version of the JSON form; it changes when a reader would have to.
PLAN_FORMAT = 1


def print_plan(plan: ExposurePlan, console: Console, *, show_excluded: bool = True) -> None:
    """Write what is exposed, what is not and why, and every finding."""
    if not plan.on:
        console.print(f"{plan.server_name}: nothing is exposed; exposure is off.", highlight=False)
        console.print(f"To turn it on, {ADVICE_TO_TURN_ON}.", highlight=False, markup=False)
        return
    count = len(plan.tools)
    noun = "tool" if count == 1 else "tools"
    console.print(f"{plan.server_name}: {count} {noun} at /mcp", style="bold", highlight=False)
    if plan.tools:
        console.print(_tools(plan.tools))
    if show_excluded and plan.excluded:
        table = Table(box=SIMPLE_HEAD, title="not exposed", title_justify="left")
        table.add_column("route", no_wrap=True)
        table.add_column("reason", overflow="fold")
        table.add_column("decided at", overflow="fold")
        for entry in plan.excluded:
            table.add_row(Text(entry.route), Text(entry.reason), Text(_decided(entry.span)))
        console.print(table)
    print_findings(plan.diagnostics, console)
    if plan.errors:
        console.print("The app would not boot.", style="bold red")


def plan_json(plan: ExposurePlan) -> str:
    """The whole plan as one JSON document, in the plan's own stable order."""
    payload: dict[str, Any] = {
        "format_version": PLAN_FORMAT,
        "server": plan.server_name,
        "exposed": plan.on,
        "boots": not plan.errors,
        "tools": [_tool(tool) for tool in plan.tools],
        "excluded": [
            {"route": entry.route, "reason": entry.reason, "decided_at": _decided(entry.span)}
            for entry in plan.excluded
        ],
        "refused": [
            {"subject": entry.subject, "reason": entry.reason, "code": entry.diagnostic.code}
            for entry in plan.refused
        ],
        "findings": findings_payload(plan.diagnostics),
    }
    return json.dumps(payload, indent=2, ensure_ascii=False)


def _tools(tools: tuple[Tool, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("tool", no_wrap=True)
    table.add_column("dispatch", no_wrap=True)
    table.add_column("because", overflow="fold")
    for tool in tools:
        name = tool.name if tool.name == tool.own_name else f"{tool.name} (own name {tool.own_name})"
        reason = f"{tool.method} {tool.route}, {tool.reason}" if tool.source == "route" else tool.reason
        where = _decided(tool.span)
        table.add_row(Text(name), tool.dispatch, Text(f"{reason}, {where}" if where else reason))
    return table


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "own_name": tool.own_name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "annotations": tool.annotations,
        "route": f"{tool.method} {tool.route}",
        "path": tool.path,
        "dispatch": tool.dispatch,
        "source": tool.source,
        "reason": tool.reason,
        "decided_at": _decided(tool.span),
    }


def _decided(span: Span | None) -> str:
    return str(span) if span else ""

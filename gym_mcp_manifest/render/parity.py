"""What a comparison of the two doors found, as lines for people and as stable JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.parity.compare import NOTHING, Told, place_text
from gym_mcp_manifest.parity.run import Finding, ToolReport
from gym_mcp_manifest.render.findings import counted

__all__ = ["PARITY_FORMAT", "parity_json", "print_difference", "print_tool", "print_total"]

#: Version of the JSON form; it changes when a reader would have to.
PARITY_FORMAT = 1
#: Characters of a value that are shown to people; the JSON form has it whole.
_SHOWN = 600
_STYLES = {"same": "", "different": "bold red", "skipped": "dim"}


def print_tool(report: ToolReport, width: int, console: Console) -> None:
    """One line for one tool, its name padded to `width`."""
    verdict = "DIFFERENT" if report.verdict == "different" else report.verdict
    cases = counted(report.cases, "case")
    line = f"{report.tool.name:<{width}}  {cases:>9}  {verdict}"
    if report.answers:
        told = sorted(report.answers.items(), key=_first_ok)
        line += f" ({', '.join(f'{kind}: {count}' for kind, count in told)})"
    if report.reason:
        line += f": {report.reason}"
    if report.unstable:
        line += f"; not deterministic: {', '.join(report.unstable[:4])}{', ...' if report.unstable[4:] else ''}"
    console.print(Text(line, style=_STYLES[report.verdict]), soft_wrap=True)


def print_difference(report: ToolReport, console: Console) -> None:
    """The first difference of a tool: its arguments, both sides, and the place."""
    finding = report.finding
    assert finding is not None, "asked for tools that differ"

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    tool = report.tool
    where = f", from {finding.case.place}" if finding.case.place else ""
    say(f"\n{tool.name}: {tool.method} {tool.route}, dispatch {tool.dispatch}{where}", "bold red")
    say(f"  arguments  {_short(finding.case.arguments)}")
    if finding.case.seed != {}:
        say(f"  seed       {_short(finding.case.seed)}")
    say(f"  differs at {place_text(finding.difference.place)}", "bold")
    say(f"    HTTP     {_short(finding.difference.http)}")
    say(f"    MCP      {_short(finding.difference.mcp)}")
    say(f"  by HTTP    {_short(finding.http)}")
    say(f"  by MCP     {_short(finding.mcp)}")


def print_total(server: str, reports: Sequence[ToolReport], random_seed: int, console: Console) -> None:
    """The verdict over all tools."""
    told = [f"{_count(reports, verdict)} {verdict}" for verdict in ("same", "different", "skipped")]
    cases = counted(sum(report.cases for report in reports), "case")
    text = f"\n{server}: {counted(len(reports), 'tool')}, {cases}: {', '.join(told)} (random seed {random_seed})"
    console.print(Text(text, style="bold"), soft_wrap=True)


def parity_json(server: str, reports: Sequence[ToolReport], random_seed: int) -> str:
    """The whole outcome as one JSON document; a `null` side of a difference may also mean that it has nothing."""
    payload: dict[str, Any] = {
        "format_version": PARITY_FORMAT,
        "server": server,
        "random_seed": random_seed,
        "same": _count(reports, "same"),
        "different": _count(reports, "different"),
        "skipped": _count(reports, "skipped"),
        "tools": [_tool(report) for report in reports],
    }
    return json.dumps(payload, indent=2, ensure_ascii=False)


def _first_ok(answer: tuple[str, int]) -> tuple[bool, str]:
    return answer[0] != "ok", answer[0]


def _count(reports: Sequence[ToolReport], verdict: str) -> int:
    return sum(report.verdict == verdict for report in reports)


def _tool(report: ToolReport) -> dict[str, Any]:
    return {
        "name": report.tool.name,
        "route": f"{report.tool.method} {report.tool.route}",
        "dispatch": report.tool.dispatch,
        "verdict": report.verdict,
        "reason": report.reason,
        "cases": report.cases,
        "answers": dict(report.answers),
        "missed": report.missed,
        "not_deterministic": list(report.unstable),
        "difference": _difference(report.finding) if report.finding else None,
    }


def _difference(finding: Finding) -> dict[str, Any]:
    return {
        "recorded_at": finding.case.place,
        "arguments": finding.case.arguments,
        "seed": finding.case.seed,
        "place": place_text(finding.difference.place),
        "http": _plain(finding.difference.http),
        "mcp": _plain(finding.difference.mcp),
        "told_by_http": finding.http,
        "told_by_mcp": finding.mcp,
    }


def _plain(value: Any) -> Any:
    return None if value is NOTHING else value


def _short(value: Told | Any) -> str:
    text = repr(value) if value is NOTHING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"

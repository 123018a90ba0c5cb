"""Explanations of the routes, tools, values and sessions of a target, as text for people and as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.explain.arguments import ArgumentAccount
from gym_mcp_manifest.explain.values import ValueAccount
from gym_mcp_manifest.explain.verdicts import Verdict
from gym_mcp_manifest.explain.visible import WITHHELD
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.plan.records import Tool
from gym_mcp_manifest.render.findings import counted, findings_payload, print_findings
from gym_mcp_manifest.session.rules import Account

__all__ = [
    "argument_payload",
    "print_session",
    "print_value",
    "print_verdict",
    "session_payload",
    "value_payload",
    "verdict_payload",
]

_LONGEST = 300
_FIELDS = ("name", "title", "description", "input_schema", "output_schema", "annotations", "dispatch")

Payload = dict[str, Any]


def print_verdict(verdict: Verdict, arguments: Sequence[ArgumentAccount], console: Console) -> None:
    """Write the state of a route or tool, what decided, and for a tool each value with its origin."""
    _say(console, f"{verdict.subject}: {verdict.state}", "bold red" if verdict.state == "refused" else "bold")
    if not verdict.found:
        _say(console, f"  why: {verdict.reason}")
    if verdict.decided_at:
        _say(console, f"  decided at: {verdict.decided_at}")
    if verdict.handler and verdict.handler != verdict.decided_at:
        _say(console, f"  handler: {verdict.handler}")
    if verdict.tool is not None:
        _say(console, "\n  values:")
        for field, value, origin in _values(verdict.tool):
            _say(console, f"    {field}: {_shown(value)}")
            _say(console, f"      from {origin}", "dim")
        for argument in arguments:
            given = "".join(f": {_shown(value)}" for value in argument.value)
            _say(console, f"    arguments.{argument.name}: {argument.state}{given}")
            _say(console, f"      from {argument.origin}", "dim")
    if verdict.tools:
        _say(console, f"\n  {counted(len(verdict.tools), 'tool')} through it:")
        for tool in verdict.tools:
            _say(console, f"    {tool.name}")
    if verdict.found:
        _say(console, "")
        print_findings(verdict.found, console)


def verdict_payload(verdict: Verdict, arguments: Sequence[ArgumentAccount]) -> Payload:
    """The same as data."""
    tool, values = verdict.tool, None
    if tool is not None:
        values = {field: {"value": value, "from": origin} for field, value, origin in _values(tool)}
        values.update({f"arguments.{each.name}": argument_payload(each) for each in arguments})
    return {
        "subject": verdict.subject,
        "state": verdict.state,
        "reason": verdict.reason,
        "decided_at": verdict.decided_at,
        "handler": verdict.handler,
        "values": values,
        "tools": [each.name for each in verdict.tools],
        "findings": findings_payload(verdict.found),
    }


def argument_payload(argument: ArgumentAccount) -> Payload:
    """One argument as data: what becomes of it, its value where it has one, and where that comes from."""
    given = {"value": argument.value[0]} if argument.value else {}
    return {"state": argument.state, **given, "from": argument.origin}


def print_value(account: ValueAccount, console: Console) -> None:
    """Write a value, where it comes from, and every layer that said something about it."""
    _say(console, account.path, "bold")
    for value in account.value:
        _say(console, f"  value: {_shown(value)}")
    _say(console, f"  from {'; '.join(account.origins)}" if account.origins else "  nothing sets it")
    if account.sayings:
        _say(console, "\n  said by, the lowest layer first:")
        for saying in account.sayings:
            key = f"{saying.path}: " if saying.path != account.path else ""
            _say(console, f"    {saying.origin}  {key}{_shown(saying.value)}")


def value_payload(account: ValueAccount) -> Payload:
    """The same as data; `value` is null where nothing sets it."""
    return {
        "path": account.path,
        "value": account.value[0] if account.value else None,
        "from": "; ".join(account.origins),
        "said": [{"path": s.path, "from": s.origin, "value": s.value} for s in account.sayings],
    }


def print_session(account: Account, names: Iterable[str], places: Places, console: Console) -> None:
    """Write which rule decides about a seed body, why the earlier ones did not, and what the session may call."""
    exposed = tuple(names)
    for passed in account.passed:
        _say(console, f"  passed over: {passed.reason} ({places.origin(passed.path)})", "dim")
    decision, refusal = account.decision, account.refusal
    if refusal is not None:
        _say(console, f"  refused: POST /seed_session answers 422: {refusal}", "bold red")
    if decision is not None:
        _say(console, f"  decided by: {decision.cause} ({_decided_at(account, places)})")
        allowed = _allowed(account, exposed)
        _say(console, f"  allowed: {len(allowed)} of {counted(len(exposed), 'tool')}")
        for name in allowed:
            _say(console, f"    {name}")
        if decision.denied:
            _say(console, f"  taken away by `deny`: {', '.join(sorted(decision.denied))}")


def session_payload(account: Account, names: Iterable[str], places: Places) -> Payload:
    """The same as data; `allowed` is null where the seed is refused."""
    decision, refusal = account.decision, account.refusal
    return {
        "passed_over": [{"reason": p.reason, "at": places.origin(p.path)} for p in account.passed],
        "decided_by": decision.cause if decision else None,
        "decided_at": _decided_at(account, places),
        "allowed": _allowed(account, names) if decision else None,
        "denied": sorted(decision.denied) if decision else [],
        "refusal": {"status": 422, "body": {"detail": str(refusal)}} if refusal else None,
    }


def _decided_at(account: Account, places: Places) -> str:
    if account.decision is not None:
        return places.origin(account.decision.path)
    return places.origin(account.refusal.path) if account.refusal is not None else ""


def _allowed(account: Account, names: Iterable[str]) -> list[str]:
    tools = account.decision.tools if account.decision else frozenset()
    return [name for name in names if tools is None or name in tools]


def _values(tool: Tool) -> Iterator[tuple[str, Any, str]]:
    for field in _FIELDS:
        value = getattr(tool, field)
        if field == "annotations":
            for hint, each in sorted((value or {}).items()):
                yield f"{field}.{hint}", each, _origin(tool, f"{field}.{hint}")
        elif value is not None:
            yield field, value, _origin(tool, field)


def _origin(tool: Tool, field: str) -> str:
    return tool.origins.get(field) or str(tool.span or tool.reason)


def _shown(value: Any) -> str:
    if value == WITHHELD:
        return WITHHELD
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters; --json has all)"


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)

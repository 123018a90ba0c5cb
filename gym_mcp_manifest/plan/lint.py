"""Warnings about names: what is legal but breaks an agent that people use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.plan.aliases import AliasTable, agent_side_names
from gym_mcp_manifest.plan.records import Tool

__all__ = ["lint_findings"]


def lint_findings(
    manifest: Manifest, server: str, tools: Iterable[Tool], aliases: AliasTable
) -> Iterator[Diagnostic]:
    """Over-long and ambiguous agent-side names."""
    names = manifest.language.names
    for tool in tools:
        longest = max(agent_side_names(names, server, tool.name), key=len, default=tool.name)
        if names.normalize and len(longest) > names.max_length:
            yield _warning(
                "GMM704",
                f"the agent-side name {longest!r} has {len(longest)} characters; some agents stop at "
                f"{names.max_length}",
                f"give the tool a shorter name: `tools: {{{tool.own_name}: {{name: ...}}}}`, or raise "
                "`names.max_length`",
                tool,
            )
    for alias, owners in aliases.ambiguous.items():
        held = aliases.own_names.get(alias)
        outcome = f"takes it for {held!r}" if held else "leaves it as it is"
        message = f"the recorded name {alias!r} could be any of {', '.join(owners)}; /verify {outcome}"
        hint = "rename one of the tools, or narrow `names.agents`"
        yield Diagnostic(code="GMM705", severity="warning", message=message, hint=hint)


def _warning(code: str, message: str, hint: str, tool: Tool) -> Diagnostic:
    return Diagnostic(code=code, severity="warning", message=message, hint=hint, span=tool.span)

"""Warnings about names: what is legal but breaks an agent that people use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.lint import AdvertisedTool
from gym_mcp_manifest.manifest.models import Names
from gym_mcp_manifest.plan.aliases import AliasTable, agent_side_names

__all__ = ["name_lint"]

#: How long an agent-side name may be, and what happens to a longer one, the worst first.
_BUDGETS = (
    (128, "Claude Code drops the tool, and Codex cuts the name"),
    (64, "model APIs take no longer name, and Gemini CLI cuts it"),
)


def name_lint(
    names: Names, server: str, tools: Iterable[AdvertisedTool], aliases: AliasTable
) -> Iterator[Diagnostic]:
    """Over-long and ambiguous agent-side names."""
    told = {tool.name: tool for tool in tools}
    for tool in told.values() if names.normalize else ():
        agent, longest = max(
            agent_side_names(names, server, tool.name), key=lambda form: len(form[1]), default=("", tool.name)
        )
        if len(longest) > names.max_length:
            outcome = next((text for most, text in _BUDGETS if len(longest) > most), "it is over the budget")
            message = f"{tool.name!r} is {longest!r} to {agent}, {len(longest)} characters: {outcome}"
            hint = f"expose it by a shorter name, or raise `names.max_length`, which is {names.max_length}"
            yield tool.warning("GMM704", message, hint)
    for alias, owners in aliases.ambiguous.items():
        held = aliases.own_names.get(alias)
        outcome = f"takes it for {held!r}" if held else "leaves it as it is"
        message = f"the recorded name {alias!r} could be any of {', '.join(owners)}; /verify {outcome}"
        hint = "rename one of the tools, or narrow `names.agents`"
        known = [told[owner] for owner in owners if owner in told]
        if known:
            yield known[0].warning("GMM705", message, hint, other=next((t.span for t in known[1:]), None))
        else:
            yield Diagnostic(code="GMM705", severity="warning", message=message, hint=hint)

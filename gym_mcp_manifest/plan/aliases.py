"""Agent-side tool names: which names an agent may record for a tool, and which tool each of them stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gym_mcp_manifest.manifest.models import Names

__all__ = ["AliasTable", "agent_side_names", "build_aliases"]

#: The forms in which each agent records the tool of a server. Codex reports the bare name.
_FORMS: Mapping[str, tuple[str, ...]] = {
    "claude_code": ("mcp__{server}__{tool}",),
    "codex": ("{tool}", "mcp__{server}__{tool}"),
    "gemini_cli": ("mcp_{server}_{tool}",),
    "hermes": ("mcp_{server}_{tool}", "mcp__{server}__{tool}"),
    "openclaw": ("{server}__{tool}",),
    "opencode": ("{server}_{tool}",),
    "pi": ("{server}_{tool}",),
}
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Recorded name -> own name, made once at boot.

    `ambiguous` holds the names that stand for several tools; they are left as they are.
    """

    own_names: Mapping[str, str] = field(default_factory=dict)
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def own_name(self, recorded: str) -> str:
        """The tool's own name for a recorded one; the name itself where it stands for no single tool."""
        return self.own_names.get(recorded, recorded)


def build_aliases(
    names: Names, server: str, tools: Iterable[tuple[str, str]], others: Iterable[str] = ()
) -> AliasTable:
    """The table for tools given as (own name, exposed name); `others` are names of what is only called over HTTP.

    An exposed name always stands for its own tool, whatever else it might be read as. An own name that is not
    exposed stands for its tool as well: agents that come over HTTP record it.
    """
    if not names.normalize:
        return AliasTable()
    pairs = tuple(tools)
    table = {exposed: own for own, exposed in pairs}
    candidates: dict[str, dict[str, None]] = {}
    for own, exposed in pairs:
        for alias in (own, *(alias for _, alias in agent_side_names(names, server, exposed))):
            if table.get(alias) != own:
                candidates.setdefault(alias, {})[own] = None
    for taken, owner in [*table.items(), *((name, name) for name in others if name not in table)]:
        if taken in candidates:
            candidates[taken] = {owner: None, **candidates[taken]}
    table.update({alias: next(iter(owners)) for alias, owners in candidates.items() if len(owners) == 1})
    ambiguous = {alias: tuple(owners) for alias, owners in candidates.items() if len(owners) > 1}
    return AliasTable(table, ambiguous)


def agent_side_names(names: Names, server: str, tool: str) -> Iterator[tuple[str, str]]:
    """Every name that the configured agents and patterns give a tool, the server's name in all its spellings.

    Each stands behind the agent, or the pattern, that gives it.
    """
    forms: list[tuple[str, str, bool]]
    forms = [(agent, form, agent == "hermes") for agent in names.agents for form in _FORMS[agent]]
    forms += [(form, form, False) for form in names.patterns]
    first = {(form, flattens): agent for agent, form, flattens in reversed(forms)}
    for form, flattens_tools in dict.fromkeys((form, flattens) for _, form, flattens in forms):
        agent = first[form, flattens_tools]
        for server_spelling in _spellings(server):
            for tool_spelling in _spellings(tool) if flattens_tools else (tool,):
                yield agent, form.replace("{tool}", tool_spelling).replace("{server}", server_spelling)


def _spellings(name: str) -> tuple[str, ...]:
    plain = _NOT_PLAIN.sub("_", name)
    return tuple(dict.fromkeys((name, plain, plain.replace("-", "_"))))

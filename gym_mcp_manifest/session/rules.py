"""`sessions.allow`: which tools one session may see and call, decided from its seed body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.manifest.expressions import Expression, ExpressionFailed, is_true
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.models import AllowRule, Sessions
from gym_mcp_manifest.manifest.patterns import name_matches
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Account", "AllowRules", "Decision", "PassedOver", "SeedRefused", "seed_body_of"]


class SeedRefused(ValueError):
    """The seed body does not fit the rules; the seed is answered 422 and has no effect.

    `path` is that of the manifest's value which it does not fit, empty where there is none.
    """

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Decision:
    """The exposed names that a session may use (None: all), and the rule that decided, in words and by its path.

    `denied` are the names that the rule's `deny` took away.
    """

    tools: frozenset[str] | None
    cause: str
    path: Path
    denied: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A rule that did not apply: the path of what decided so, and why in words."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Account:
    """How one seed body was decided: the rules passed over in order, then the decision or the refusal."""

    passed: tuple[PassedOver, ...]
    decision: Decision | None = None
    refusal: SeedRefused | None = None


def seed_body_of(request: Any) -> Any:
    """The body that rules look at: a typed seed's `task_data`, else the request itself."""
    if isinstance(request, dict) and "resources_session_id" in request and "task_data" in request:
        return request["task_data"]
    return request


class AllowRules:
    """The rules of one manifest over one set of exposed tools."""

    def __init__(self, sessions: Sessions, tools: Iterable[Tool], places: Places) -> None:
        self._sessions = sessions
        self._places = places
        self._tools = tuple((tool.own_name, tool.name) for tool in tools)
        by_own: Mapping[str, str] = dict(self._tools)
        self._exposed = {**by_own, **{name: name for _, name in self._tools}}

    @property
    def narrow(self) -> bool:
        """Whether there are rules at all, so that a session may get fewer than all tools."""
        return bool(self._sessions.allow)

    def decide(self, seed_body: Any) -> Decision:
        """The tools of the session that this body seeds.

        Raises:
            SeedRefused: an expression failed, a list is none of strings or names a tool that is not exposed,
                or no rule applied where `otherwise` is `error`.
        """
        account = self.account(seed_body)
        if account.decision is None:
            assert account.refusal is not None  # one of the two is there
            raise account.refusal
        return account.decision

    def account(self, seed_body: Any) -> Account:
        """The decision for this body, or the refusal, with the rules that were passed over; never raises."""
        passed: list[PassedOver] = []
        try:
            decision = self._decided(seed_body, passed)
            return Account(tuple(passed), decision)
        except SeedRefused as refusal:
            return Account(tuple(passed), refusal=refusal)

    def _decided(self, seed_body: Any, passed: list[PassedOver]) -> Decision:
        for index, rule in enumerate(self._sessions.allow):
            path: Path = ("sessions", "allow", index)
            if rule.when is not None:
                result = self._search(rule.when, seed_body, (*path, "when"))
                if not is_true(result):
                    passed.append(PassedOver((*path, "when"), f"`when` gives {json.dumps(result)}"))
                    continue
            allowed = self._allowed(rule, seed_body, path, passed)
            if allowed is not None:
                denied = frozenset(name for glob in rule.deny for name in self._matching(glob))
                return Decision(allowed - denied, f"`sessions.allow[{index}]`", path, allowed & denied)
        otherwise = self._sessions.otherwise or "all"
        path = ("sessions", "otherwise")
        if otherwise == "error":
            message = f"no rule of sessions.allow applies to this seed body ({self._at(path)})"
            raise SeedRefused(message, path)
        return Decision(None if otherwise == "all" else frozenset(), f"`sessions.otherwise: {otherwise}`", path)

    def _allowed(
        self, rule: AllowRule, seed_body: Any, path: Path, passed: list[PassedOver]
    ) -> frozenset[str] | None:
        if rule.tools is not None:
            return frozenset(name for glob in rule.tools for name in self._matching(glob))
        if rule.source is None:
            return frozenset(name for _, name in self._tools)
        for index, expression in enumerate(rule.source):
            place: Path = (*path, "from", index)
            names = self._search(expression, seed_body, place)
            if names is None:
                continue
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                message = f"`{expression}` gives no list of tool names in the seed body ({self._at(place)})"
                raise SeedRefused(message, place)
            if not names and rule.empty == "next":
                passed.append(PassedOver(place, f"`{expression}` gives an empty list"))
                return None
            return self._known(names, place)
        passed.append(PassedOver((*path, "from"), "`from` gives null"))
        return None

    def _known(self, names: list[str], path: Path) -> frozenset[str]:
        unknown = [name for name in names if name not in self._exposed]
        if unknown and self._sessions.unknown == "error":
            guess = nearest(unknown[0], self._exposed)
            cure = f"; did the task mean {guess!r}?" if guess else ""
            place = self._at(path)
            message = f"the seed body allows {unknown[0]!r}, which is no exposed tool ({place}){cure}"
            raise SeedRefused(message, path)
        return frozenset(self._exposed[name] for name in names if name in self._exposed)

    def _matching(self, glob: str) -> list[str]:
        return [name for own, name in self._tools if name_matches(glob, own) or name_matches(glob, name)]

    def _search(self, expression: Expression, seed_body: Any, path: Path) -> Any:
        try:
            return expression.search(seed_body)
        except ExpressionFailed as error:
            message = f"`{expression}` fails on the seed body ({self._at(path)}): {error}"
            raise SeedRefused(message, path) from error

    def _at(self, path: Path) -> str:
        return self._places.origin(path)

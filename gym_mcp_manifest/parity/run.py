"""A run: the cases of every tool through both doors, until the first difference of each, made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

from gym_mcp_manifest.parity.cases import Case
from gym_mcp_manifest.parity.compare import Difference, Place, Told, differences, ignored, place_text
from gym_mcp_manifest.parity.doors import Doors, NoAnswer
from gym_mcp_manifest.parity.generate import generated
from gym_mcp_manifest.parity.shrink import smaller
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Finding", "Inputs", "ToolReport", "compared"]

Verdict = Literal["same", "different", "skipped"]

#: How often a plain call is made again to see whether it answers alike.
_REPEATS = 3
#: How many smaller arguments are tried, each of them real calls.
_TRIALS = 80


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is sent: the recorded cases, and so many made ones for each tool, seeded alike."""

    recorded: Sequence[Case] = ()
    examples: int = 20
    random_seed: int = 0
    seed: Any = None

    def of(self, tool: Tool, schema: Mapping[str, Any]) -> Iterable[Case]:
        """The cases of one tool, the recorded ones first, and then those made from the schema."""
        yield from (case for case in self.recorded if case.tool == tool.name)
        random = Random(f"{self.random_seed}:{tool.name}")  # noqa: S311 - it has to be repeatable, not secret
        for arguments in generated(schema, self.examples, random):
            yield Case(tool.name, arguments, self.seed)


@dataclass(frozen=True, slots=True)
class Finding:
    """A case whose two answers differ: what is told through each door, and the first place that differs."""

    case: Case
    http: Told
    mcp: Told
    difference: Difference


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What came out for one tool; `unstable` are places that differ between two plain calls too."""

    tool: Tool
    verdict: Verdict
    cases: int = 0
    reason: str | None = None
    finding: Finding | None = None
    unstable: tuple[str, ...] = ()
    #: How often plain HTTP answered how: `ok`, a status of a failure, `refused` where no request could be made.
    answers: Mapping[str, int] = field(default_factory=dict)
    #: Where the recorded case stands that was not answered in time, so that it says nothing.
    missed: str | None = None


async def compared(
    tools: Iterable[Tool],
    doors: Doors,
    inputs: Inputs,
    *,
    ignore: Sequence[str] = (),
    skipped: Mapping[str, str],
    tell: Callable[[str, int], None] = lambda name, number: None,
) -> AsyncIterator[ToolReport]:
    """One report for each tool; `skipped` are tools not to be called, with the reason.

    `tell` hears of every case before it is sent: the tool, and how many have been.

    Raises:
        SeedFailed: a session cannot be had.
    """
    for tool in tools:
        if tool.name in skipped:
            yield ToolReport(tool, "skipped", reason=skipped[tool.name])
        else:
            yield await _Comparison(tool, doors, ignore).run(inputs.of(tool, doors.asked_schema(tool)), tell)


class _Comparison:
    """The cases of one tool."""

    def __init__(self, tool: Tool, doors: Doors, ignore: Sequence[str]) -> None:
        self._tool = tool
        self._doors = doors
        self._ignore = ignore
        #: Places that were seen to differ between plain calls, in the order in which they were seen.
        self._unstable: dict[str, None] = {}
        self._answers: Counter[str] = Counter()

    async def run(self, cases: Iterable[Case], tell: Callable[[str, int], None]) -> ToolReport:
        """Go through the cases until one differs."""
        done, foreign = 0, 0
        for case in cases:
            tell(self._tool.name, done)
            if self._tool.name not in await self._doors.listed(case):
                foreign += 1
                continue
            try:
                http, finding = await self._examined(case)
            except NoAnswer:
                reason = f"{self._tool.method} {self._tool.route} did not answer in time"
                return replace(self._report("skipped", done, reason), missed=case.place)
            done += 1
            self._answers[_kind_of(http)] += 1
            if finding is not None:
                return replace(self._report("different", done), finding=await self._minimised(finding))
        if not done:
            reason = "the session may not call it; another --seed may" if foreign else "no cases"
            return self._report("skipped", done, reason)
        return self._report("same", done)

    def _report(self, verdict: Verdict, cases: int, reason: str | None = None) -> ToolReport:
        unstable, answers = tuple(self._unstable), dict(self._answers)
        return ToolReport(self._tool, verdict, cases, reason, unstable=unstable, answers=answers)

    async def _examined(self, case: Case) -> tuple[Told, Finding | None]:
        """The plain answer to a case, and both where they differ at a place at which plain calls do not."""
        http = await self._doors.by_http(case, self._tool)
        mcp = await self._doors.by_mcp(case, self._tool, http)
        found = self._telling(differences(http, mcp))
        shaky: set[Place] = set()
        for _ in range(_REPEATS):
            if not found:
                return http, None
            again = await self._doors.by_http(case, self._tool)
            shaky |= {each.place for each in self._telling(differences(http, again))}
            found = [each for each in found if not any(_touch(each.place, place) for place in shaky)]
            self._unstable |= dict.fromkeys(map(place_text, sorted(shaky, key=place_text)))
        return http, Finding(case, http, mcp, found[0]) if found else None

    def _telling(self, found: Iterable[Difference]) -> list[Difference]:
        return [each for each in found if not ignored(each.place, self._ignore)]

    async def _minimised(self, finding: Finding) -> Finding:
        """The finding with the smallest arguments that differ at such a place; a bounded number of calls."""
        trials, tried = _TRIALS, [dict(finding.case.arguments)]
        progress = True
        while progress:
            progress = False
            for arguments in smaller(finding.case.arguments):
                if arguments in tried:
                    continue
                if not trials:
                    return finding
                trials -= 1
                tried.append(arguments)
                try:
                    _, found = await self._examined(replace(finding.case, arguments=arguments))
                except NoAnswer:
                    continue
                if found is not None and found.difference.place[0] == finding.difference.place[0]:
                    finding, progress = found, True
                    break
        return finding


def _kind_of(http: Told) -> str:
    if not http.get("isError"):
        return "ok"
    return str(http["status"]) if "status" in http else "refused" if http.get("refused") else "broken"


def _touch(one: Place, other: Place) -> bool:
    """Whether one place is in the other."""
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]

"""Differences of surfaces as short lines for people and as stable JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from rich.console import Console
from rich.text import Text

from gym_mcp_manifest.render.findings import counted
from gym_mcp_manifest.surface.diff import Change

__all__ = ["DIFF_FORMAT", "diff_json", "print_diff"]

#: Version of the JSON form; it changes when a reader would have to.
DIFF_FORMAT = 1

_STYLES = {"added": "green", "removed": "red"}
_WORDS = re.compile(r"\n|[^\S\n]+|\S+")
#: Unchanged words that stand around a changed one; the longest changed text and value that are shown in full.
_AROUND, _LONGEST = 6, 300
#: An unchanged text that is too short to be left out.
_SHORT = 40


def print_diff(changes: Sequence[Change], lock: str, console: Console) -> None:
    """Write every change on one line, those inside a tool below its name; one line where there is none."""

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    if not changes:
        say(f"the surface is that of {lock}")
        return
    say(f"the surface is not that of {lock}: {counted(len(changes), 'change')}", "bold red")
    for change in changes:
        if change.op != "changed" and change.what == "tool":
            say(_tool_line(change), _STYLES.get(change.op, "yellow"))
        elif change.tool is None:
            say(f"{change.what}: {_difference(change)}", "yellow")
    for tool, inside in _by_tool(changes):
        say(f"{tool}:", "bold")
        for change in inside:
            where = f"{change.what} {change.pointer}".rstrip()
            say(f"  {where}: {_difference(change)}", _STYLES.get(change.op, "yellow"))


def diff_json(changes: Iterable[Change], lock: str) -> str:
    """The changes as one JSON document, in full; `before` and `after` only where the op has them."""
    entries = [_entry(change) for change in changes]
    payload = {"format_version": DIFF_FORMAT, "lock": lock, "equal": not entries, "changes": entries}
    return json.dumps(payload, indent=2)


def _entry(change: Change) -> dict[str, Any]:
    entry = {"op": change.op, "what": change.what, "tool": change.tool, "pointer": change.pointer}
    if change.op != "added":
        entry["before"] = change.before
    if change.op != "removed":
        entry["after"] = change.after
    return entry


def _by_tool(changes: Iterable[Change]) -> Iterator[tuple[str, list[Change]]]:
    groups: dict[str, list[Change]] = {}
    for change in changes:
        if change.tool is not None and change.what != "tool":
            groups.setdefault(change.tool, []).append(change)
    yield from groups.items()


def _tool_line(change: Change) -> str:
    match change.op:
        case "added":
            return f"+ {change.tool} is new ({change.after})"
        case "removed":
            return f"- {change.tool} is gone ({change.before})"
        case "renamed":
            return f"~ {change.before} is now called {change.after}"
        case _:
            return f"~ {change.tool} moved from place {change.before} to {change.after} of those that stayed"


def _difference(change: Change) -> str:
    if change.op == "added":
        return f"added {_shown(change.after)}"
    if change.op == "removed":
        return f"removed {_shown(change.before)}"
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and " " in before and " " in after:
        return _word_diff(before, after)
    return f"{_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    """A value as JSON on one line, a long one cut; ASCII, so that no character hides."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def _word_diff(before: str, after: str) -> str:
    """The changed words as `[-old-]{+new+}`, with the words around them."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces: list[str] = []
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (op, a, b, c, d) in enumerate(opcodes):
        if op == "equal":
            pieces.append(_kept(old[a:b], first=number == 0, last=number == len(opcodes) - 1))
        else:
            pieces.append(f"[-{_cut(old[a:b])}-]" if b > a else "")
            pieces.append(f"{{+{_cut(new[c:d])}+}}" if d > c else "")
    return "".join(pieces)


def _kept(words: list[str], *, first: bool, last: bool) -> str:
    head = 0 if first else _AROUND
    tail = 0 if last else _AROUND
    cut = words[head : len(words) - tail]
    if len("".join(cut)) <= _SHORT:
        return _visible(words)
    return f"{_visible(words[:head])}...{_visible(words[len(words) - tail :])}"


def _cut(words: list[str]) -> str:
    text = _visible(words)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _visible(words: Iterable[str]) -> str:
    return json.dumps("".join(words))[1:-1].replace('\\"', '"')

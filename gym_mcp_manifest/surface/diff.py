"""The difference of two surfaces, as data: pure, ordered, and empty exactly where they are equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from gym_mcp_manifest.surface.records import Surface, SurfaceTool, canonical

__all__ = ["Change", "compare"]

Op = Literal["added", "removed", "renamed", "moved", "changed"]

_PLAIN = ("own_name", "route", "dispatch", "title", "description")
_STRUCTURED = ("annotations", "input_schema", "output_schema")
#: Keywords of JSON Schema whose lists are sets.
_SETS = frozenset({"required", "enum", "type"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference: what of which tool (None: of the server), where inside it, and both values.

    `tool` is the name in the later surface, for a removed tool that in the earlier one. `pointer` is a JSON
    pointer into `what`, empty for the whole; of an added entry `before` means nothing, of a removed one `after`.
    """

    op: Op
    what: str
    tool: str | None = None
    pointer: str = ""
    before: Any = None
    after: Any = None


def compare(before: Surface, after: Surface) -> tuple[Change, ...]:
    """Every change from one to the other: the server, tools gone, come, renamed and moved, then tool by tool."""
    pairs = _paired(before.tools, after.tools)
    kept = {old.name for old, _ in pairs}
    reached = {new.name for _, new in pairs}
    return (
        *_server_changes(before, after),
        *(_gone(tool) for tool in before.tools if tool.name not in kept),
        *(_come(tool) for tool in after.tools if tool.name not in reached),
        *(_renamed(old, new) for old, new in pairs if old.name != new.name),
        *_moves(pairs, before.tools),
        *(change for old, new in pairs for change in _tool_changes(old, new)),
    )


def _server_changes(before: Surface, after: Surface) -> Iterator[Change]:
    was, now = before.server_payload(), after.server_payload()
    for key in was:
        if was[key] != now[key]:
            yield Change(op="changed", what=f"server {key}", before=was[key], after=now[key])


def _paired(
    before: Sequence[SurfaceTool], after: Sequence[SurfaceTool]
) -> tuple[tuple[SurfaceTool, SurfaceTool], ...]:
    """The tools that both have, in the later order: by name, else by own name, else by route and schema."""
    old_of: dict[str, SurfaceTool] = {}
    names = {tool.name for tool in after}
    free = [tool for tool in before if tool.name not in names]
    by_name = {tool.name: tool for tool in before}
    old_of.update({tool.name: by_name[tool.name] for tool in after if tool.name in by_name})
    likenesses = (
        lambda tool: tool.own_name,
        lambda tool: (tool.route, canonical(tool.input_schema)),
    )
    for likeness in likenesses:
        held: dict[Any, list[SurfaceTool]] = {}
        for tool in free:
            held.setdefault(likeness(tool), []).append(tool)
        for tool in after:
            same = held.get(likeness(tool))
            if tool.name not in old_of and same:
                old_of[tool.name] = same.pop(0)
        taken = {id(tool) for tool in old_of.values()}
        free = [tool for tool in free if id(tool) not in taken]
    return tuple((old_of[tool.name], tool) for tool in after if tool.name in old_of)


def _gone(tool: SurfaceTool) -> Change:
    return Change(op="removed", what="tool", tool=tool.name, before=tool.route)


def _come(tool: SurfaceTool) -> Change:
    return Change(op="added", what="tool", tool=tool.name, after=tool.route)


def _renamed(old: SurfaceTool, new: SurfaceTool) -> Change:
    return Change(op="renamed", what="tool", tool=new.name, before=old.name, after=new.name)


def _moves(pairs: Sequence[tuple[SurfaceTool, SurfaceTool]], before: Sequence[SurfaceTool]) -> Iterator[Change]:
    """The fewest tools whose moving explains the new order, with their places among the tools that both have."""
    now = [old.name for old, _ in pairs]
    common = set(now)
    was = [tool.name for tool in before if tool.name in common]
    if was == now:
        return
    blocks = SequenceMatcher(None, was, now, autojunk=False).get_matching_blocks()
    still = {now[block.b + n] for block in blocks for n in range(block.size)}
    places = {name: spot for spot, name in enumerate(was, start=1)}
    for spot, (old, new) in enumerate(pairs, start=1):
        if old.name not in still:
            yield Change(op="moved", what="tool", tool=new.name, before=places[old.name], after=spot)


def _tool_changes(old: SurfaceTool, new: SurfaceTool) -> Iterator[Change]:
    for key in _PLAIN:
        was, now = getattr(old, key), getattr(new, key)
        if was != now:
            yield Change(op="changed", what=key, tool=new.name, before=was, after=now)
    for key in _STRUCTURED:
        yield from _value_changes(getattr(old, key), getattr(new, key), "", key, new.name)


def _value_changes(was: Any, now: Any, pointer: str, what: str, tool: str) -> Iterator[Change]:
    """Where two JSON values differ; 1, 1.0 and true are three values."""
    if canonical(was) == canonical(now):
        return
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*was, *now)):
            here = f"{pointer}/{_escaped(key)}"
            if key not in now:
                yield Change(op="removed", what=what, tool=tool, pointer=here, before=was[key])
            elif key not in was:
                yield Change(op="added", what=what, tool=tool, pointer=here, after=now[key])
            elif key in _SETS and isinstance(was[key], list) and isinstance(now[key], list):
                yield from _set_changes(was[key], now[key], here, what, tool)
            else:
                yield from _value_changes(was[key], now[key], here, what, tool)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from _value_changes(one, other, f"{pointer}/{index}", what, tool)
    else:
        yield Change(op="changed", what=what, tool=tool, pointer=pointer, before=was, after=now)


def _set_changes(was: list[Any], now: list[Any], pointer: str, what: str, tool: str) -> Iterator[Change]:
    old, new = ({canonical(value): value for value in values} for values in (was, now))
    changes = [
        *(Change(op="removed", what=what, tool=tool, pointer=pointer, before=old[k]) for k in old if k not in new),
        *(Change(op="added", what=what, tool=tool, pointer=pointer, after=new[k]) for k in new if k not in old),
    ]
    same = canonical(was) == canonical(now)
    if not changes and not same:
        changes = [Change(op="changed", what=what, tool=tool, pointer=pointer, before=was, after=now)]
    yield from changes


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")

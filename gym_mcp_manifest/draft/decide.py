"""From the plan of the defaults to a draft that keeps what they expose and settles what they refuse: pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.draft.records import Dispatcher, Draft, Entry, Source, Tailored
from gym_mcp_manifest.manifest.toolnames import RESERVED_NAMES, is_legal_name
from gym_mcp_manifest.plan.claims import is_reserved
from gym_mcp_manifest.plan.records import ExposurePlan
from gym_mcp_manifest.routes.harvest import HarvestedRoute

__all__ = ["decide", "mended", "with_source"]

_NAME_CODES = frozenset({"GMM701", "GMM702", "GMM703"})


def decide(
    plan: ExposurePlan, routes: Iterable[HarvestedRoute], middleware: Iterable[str], *, runs_whole: bool
) -> Draft:
    """The draft for an app by its plan under the language's defaults; `middleware` is what a call would skip.

    `runs_whole` tells that calls may run the whole app, since its sessions are of the kind that allows that.
    """
    known = tuple(routes)
    refusals = _refusals(plan)
    plain = {
        route.label: route
        for route in known
        if route.kind == "plain" and route.method == "POST" and not is_reserved(route)
    }
    codes = {label: {d.code for d in refusals.get(label, ())} for label in plain}
    by_route = [route for label, route in plain.items() if "GMM602" in codes[label] and _suits_route(route)]
    kept = [r for label, r in plain.items() if r in by_route or codes[label] <= _NAME_CODES]
    left = [route for route in plain.values() if route not in kept]
    whole = runs_whole and any(error.code == "GMM603" for error in plan.errors)
    draft = Draft(
        server=plan.server_name,
        run_middleware=tuple(dict.fromkeys(middleware)) if whole else (),
        include=tuple(Entry(_pattern(route), _first_line(route)) for route in kept),
        exclude=tuple(Entry(_pattern(route), _why_left(route, refusals[route.label])) for route in left),
        dispatchers=_dispatchers(known),
        tools=(
            *_renames([route for route in kept if codes[route.label] & _NAME_CODES], kept),
            *(_by_route(route, refusals[route.label]) for route in ([] if whole else by_route)),
        ),
    )
    return _for_app(draft, plan, middleware)


def with_source(draft: Draft, source: Source) -> Draft:
    """The draft with the specs of its one dispatcher."""
    dispatchers = (replace(d, source=source) if d.can_dispatch else d for d in draft.dispatchers)
    return replace(draft, dispatchers=tuple(dispatchers))


def mended(draft: Draft, plan: ExposurePlan, middleware: Iterable[str]) -> Draft:
    """The draft with what settles the errors of its plan."""
    refusals = _refusals(plan)
    draft = _without_refused(_for_app(draft, plan, middleware), refusals)
    for dispatcher in draft.dispatchers:
        if dispatcher.source is not None:
            draft = _settled(draft, dispatcher, dispatcher.source, refusals)
    return draft


def _for_app(draft: Draft, plan: ExposurePlan, middleware: Iterable[str]) -> Draft:
    """The draft with what settles errors that are not about single routes."""
    by_code: dict[str, list[Diagnostic]] = {}
    for error in plan.errors:
        by_code.setdefault(error.code, []).append(error)
    if "GMM603" in by_code and not draft.run_middleware:
        draft = replace(draft, skip_middleware=tuple(dict.fromkeys(middleware)))
    if "GMM606" in by_code:
        draft = replace(draft, sessionless="; ".join(d.message for d in by_code["GMM606"]))
    return draft


def _without_refused(draft: Draft, refusals: Mapping[str, list[Diagnostic]]) -> Draft:
    """The draft without the routes that are refused in the mode that it chose for them."""
    labels = {entry: f"POST {entry.text}" for entry in draft.include}
    found = {entry: refusals.get(label, []) for entry, label in labels.items()}
    refused = [entry for entry in draft.include if not {d.code for d in found[entry]} <= _NAME_CODES]
    if not refused:
        return draft
    gone = {labels[entry] for entry in refused}
    return replace(
        draft,
        include=tuple(entry for entry in draft.include if entry not in refused),
        exclude=(*draft.exclude, *(Entry(each.text, _reason(found[each], labels[each])) for each in refused)),
        tools=tuple(tool for tool in draft.tools if tool.key not in gone),
    )


def _suits_route(route: HarvestedRoute) -> bool:
    """Whether modes `route` and `app` take the shape of the route."""
    return not route.parameters.unsupported and not route.parameters.clashes


def _why_left(route: HarvestedRoute, found: Iterable[Diagnostic]) -> str:
    """Why no mode takes the route."""
    shape = (*route.parameters.unsupported, *route.parameters.clashes)
    return "; ".join(shape) if shape else _reason(found, route.label)


def _by_route(route: HarvestedRoute, found: Iterable[Diagnostic]) -> Tailored:
    return Tailored(key=route.label, note=_reason(found, route.label), by_route=True)


def _refusals(plan: ExposurePlan) -> dict[str, list[Diagnostic]]:
    refusals: dict[str, list[Diagnostic]] = {}
    for entry in plan.refused:
        refusals.setdefault(entry.subject, []).append(entry.diagnostic)
    return refusals


def _dispatchers(routes: Iterable[HarvestedRoute]) -> tuple[Dispatcher, ...]:
    found: dict[str, Dispatcher] = {}
    for route in routes:
        if route.kind != "parameterized" or route.method != "POST" or is_reserved(route):
            continue
        params = len(route.path_params)
        reasons = (*route.refusals, *((f"it has {params} path parameters",) if params != 1 else ()))
        can = not reasons
        reason = "; ".join(reasons) if reasons else "the data files have no specs of tools for it"
        found.setdefault(
            route.path, Dispatcher(path=route.path, reason=reason, may_dispatch=can, can_dispatch=can)
        )
    able = [dispatcher for dispatcher in found.values() if dispatcher.can_dispatch]
    if len(able) > 1:
        why = "several routes could be the dispatcher of the tools in the data files"
        found.update({d.path: replace(d, can_dispatch=False, reason=why) for d in able})
    return tuple(found.values())


def _settled(
    draft: Draft, dispatcher: Dispatcher, source: Source, refusals: Mapping[str, list[Diagnostic]]
) -> Draft:
    """The draft with the refused specs of a source left out, those of an illegal name renamed."""
    refused = {name: refusals[f"tool {name!r}"] for name in source.names if f"tool {name!r}" in refusals}
    held = {entry.text for entry in source.exclude}
    illegal = [name for name, found in refused.items() if {d.code for d in found} == {"GMM701"}]
    more = [
        Entry(name, _reason(found, ""))
        for name, found in refused.items()
        if name not in held and name not in illegal
    ]
    tools = {tool.key: tool for tool in draft.tools}
    taken = {*RESERVED_NAMES, *source.names, *_own_names(draft), *(t.name for t in tools.values() if t.name)}
    for name in illegal:
        tools[name] = Tailored(key=name, note=f"{name!r} is no legal name", name=_legal((name,), taken))
    if len(source.exclude) + len(more) < len(source.names):
        settled = replace(dispatcher, source=replace(source, exclude=(*source.exclude, *more)))
    else:
        why = more[0].note if more else "all are tools already"
        reason = f"the specs in {source.file} cannot be dispatched: {why}"
        settled = replace(dispatcher, source=None, reason=reason)
    dispatchers = tuple(settled if each is dispatcher else each for each in draft.dispatchers)
    return replace(draft, dispatchers=dispatchers, tools=tuple(tools.values()))


def _own_names(draft: Draft) -> Iterator[str]:
    return (entry.text.removeprefix("/") for entry in draft.include)


def _renames(illegal: Iterable[HarvestedRoute], kept: Iterable[HarvestedRoute]) -> tuple[Tailored, ...]:
    """Legal exposed names for routes whose paths give none: the handler's, else the path's letters."""
    taken = {*RESERVED_NAMES, *(route.path.removeprefix("/") for route in kept)}
    renames: list[Tailored] = []
    for route in illegal:
        own = route.path.removeprefix("/")
        name = _legal((route.function, own), taken)
        key = own if re.search(r"\s", own) else route.label
        renames.append(Tailored(key=key, note=f"the path gives {own!r}, which is no legal name", name=name))
    return tuple(renames)


def _legal(wanted: tuple[str, ...], taken: set[str]) -> str:
    """The first wanted name that is legal and free, else one of the letters of the last; it is taken then."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", wanted[-1]).strip("_")[:120] or "root"
    names = chain(wanted, (plain,), (f"{plain}_{n}" for n in count(2)))
    name = next(each for each in names if is_legal_name(each) and each not in taken)
    taken.add(name)
    return name


def _pattern(route: HarvestedRoute) -> str:
    """The route as an entry of a route list; a pattern cannot have white space, which `*` covers."""
    return re.sub(r"\s", "*", route.path)


def _first_line(route: HarvestedRoute) -> str:
    return (route.description or "").strip().partition("\n")[0]


def _reason(found: Iterable[Diagnostic], label: str) -> str:
    heads = (f"{label} cannot be dispatched: ", f"{label}: ")
    messages = [d.message for d in found if d.code not in _NAME_CODES] or [d.message for d in found]
    for head in heads:
        messages = [message.removeprefix(head) for message in messages]
    return "; ".join(dict.fromkeys(messages))

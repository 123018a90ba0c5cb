"""Checks across keys: what a single value cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.models import AllowRule, ArgumentEntry, CatchAll, Language, Sessions, ToolEntry

__all__ = ["cross_checks"]


def cross_checks(language: Language, places: Places) -> tuple[Diagnostic, ...]:
    """Findings about keys that exclude each other, have no effect or must be written."""
    return (
        *_catch_all_checks(language.catch_all, places),
        *_tool_checks(language.tools, places),
        *_session_checks(language.sessions, places),
        *_name_checks(language, places),
    )


def _catch_all_checks(entries: tuple[CatchAll, ...], places: Places) -> Iterator[Diagnostic]:
    for index, entry in enumerate(entries):
        path: Path = ("catch_all", index)
        where = f"`catch_all[{index}]`"
        if entry.ignore and entry.route is None:
            yield _found(
                "GMM202", f"{where} has `ignore` but no `route`", places, path, "name the route to ignore"
            )
        if entry.ignore and "tools" in entry.model_fields_set:
            hint = "an ignored route dispatches nothing: drop `ignore` or `tools`"
            yield _found("GMM301", f"{where} has both `ignore: true` and `tools`", places, (*path, "tools"), hint)
        if not entry.ignore and not entry.tools:
            hint = "add a source under `tools`, or `ignore: true` for a trap for unknown names"
            yield _found("GMM202", f"{where} names no tools", places, path, hint)
        if entry.route is not None and not (entry.route.startswith("/") and "{" in entry.route):
            hint = "write the path as the app spells it, such as `/{path}`"
            message = f"{where}: `{entry.route}` is not a parameterized path"
            yield _found("GMM207", message, places, (*path, "route"), hint)


def _tool_checks(tools: Mapping[str, ToolEntry], places: Places) -> Iterator[Diagnostic]:
    for key, tool in tools.items():
        for name, argument in tool.arguments.items():
            yield from _argument_checks(argument, ("tools", key, "arguments", name), places)


def _argument_checks(argument: ArgumentEntry, path: Path, places: Places) -> Iterator[Diagnostic]:
    where = f"`tools.{path[1]}.arguments.{path[3]}`"
    given = argument.model_fields_set - ({"hidden"} if not argument.hidden else set())
    if not given:
        yield _found("GMM202", f"{where} says nothing", places, path, "add `description`, `default` or `value`")
    sole = next((key for key in ("value", "hidden") if key in given), None)
    for other in sorted(given - {sole}) if sole else ():
        hint = "clients do not see the argument: leave one of the two out"
        yield _found("GMM301", f"{where} has both `{sole}` and `{other}`", places, (*path, other), hint)


def _session_checks(sessions: Sessions, places: Places) -> Iterator[Diagnostic]:
    if sessions.mode == "none":
        for key in sorted(sessions.model_fields_set - {"mode"}):
            message = f"`sessions.{key}` needs tokens, and `sessions.mode` is `none`"
            yield _found("GMM302", message, places, ("sessions", key), "leave the key out, or use `mode: token`")
        return
    certain = None
    for index, rule in enumerate(sessions.allow):
        path: Path = ("sessions", "allow", index)
        if certain is not None:
            message = f"`sessions.allow[{index}]` is never reached: rule {certain} always decides"
            yield _found("GMM302", message, places, path, "put the rule first, or give the earlier one a `when`")
        yield from _rule_checks(rule, index, places)
        if certain is None and rule.when is None and rule.source is None:
            certain = index
    if certain is not None and sessions.otherwise is not None:
        message = f"`sessions.otherwise` has no effect: rule {certain} always decides"
        yield _found("GMM302", message, places, ("sessions", "otherwise"), "leave it out")
    if sessions.allow and certain is None and sessions.otherwise is None:
        message = "`sessions.otherwise` must be written: every rule of `sessions.allow` can pass over"
        hint = "write `otherwise: all`, `otherwise: none` or `otherwise: error`"
        yield _found("GMM303", message, places, ("sessions", "allow"), hint)


def _rule_checks(rule: AllowRule, index: int, places: Places) -> Iterator[Diagnostic]:
    path: Path = ("sessions", "allow", index)
    where = f"`sessions.allow[{index}]`"
    if rule.tools is not None and rule.source is not None:
        yield _found("GMM301", f"{where} has both `tools` and `from`", places, path, "make two rules of it")
    if rule.tools is None and rule.source is None and not rule.deny:
        yield _found("GMM202", f"{where} says nothing", places, path, "add `tools`, `from` or `deny`")
    if rule.source is None and "empty" in rule.model_fields_set:
        yield _found("GMM302", f"{where}: `empty` is about `from`", places, (*path, "empty"), "leave it out")


def _name_checks(language: Language, places: Places) -> Iterator[Diagnostic]:
    names = language.names
    if not names.normalize:
        for key in sorted(names.model_fields_set & {"agents", "patterns", "restore"}):
            message = f"`names.{key}` has no effect while `names.normalize` is false"
            yield _found("GMM302", message, places, ("names", key), "leave it out")
    elif language.sessions.mode == "none" and "names" in language.model_fields_set:
        message = "`names` has no effect under `sessions.mode: none`: there is no /verify"
        yield _found("GMM302", message, places, ("names",), "leave it out")


def _found(code: str, message: str, places: Places, path: Path, hint: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, hint=hint, span=places.span(path, key=True))

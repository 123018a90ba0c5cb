"""`gym-mcp explain TARGET WHAT`: one thing of a target, or a session of it, and what decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from gym_mcp_manifest.cli.explain import print_json, unknown
from gym_mcp_manifest.cli.plan import PlanTarget, merged_manifest, print_notes
from gym_mcp_manifest.cli.target import Loaded
from gym_mcp_manifest.explain.arguments import arguments_of
from gym_mcp_manifest.explain.values import account_of
from gym_mcp_manifest.explain.verdicts import known_names, verdict_on
from gym_mcp_manifest.explain.visible import visible_in
from gym_mcp_manifest.install import plan_exposure
from gym_mcp_manifest.manifest.handbook import all_paths, steps_of
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON, ExposurePlan
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.explanations import (
    print_session,
    print_value,
    print_verdict,
    session_payload,
    value_payload,
    verdict_payload,
)
from gym_mcp_manifest.routes.harvest import HarvestedRoute, harvest_routes
from gym_mcp_manifest.session.rules import AllowRules, seed_body_of

__all__ = ["run_explain_target", "seed_body"]


def run_explain_target(chosen: PlanTarget, what: str | None, seed: tuple[Any, ...], *, as_json: bool) -> int:
    """Explain one thing of a target, a session of it, or both; 1 where the target has no such thing.

    `seed` is a seed body in a tuple of one, or empty for no session.
    """
    loaded = chosen.load()
    plan = plan_exposure(loaded.app, instance=loaded.instance, manifest=loaded.manifest)
    print_notes(loaded)
    manifest = merged_manifest(loaded)
    routes = harvest_routes(loaded.app)
    payload: dict[str, Any] = {}
    if what is not None:
        found = _explained(what, loaded, plan, manifest, routes, as_json=as_json)
        if found is None:
            message = f"{chosen.target} has no route, tool or key of the manifest {what!r}"
            return unknown(message, what, (*known_names(plan, routes), *all_paths(), *_tool_keys(what, plan)))
        payload.update(found)
    for body in seed:
        payload.update(_session(seed_body_of(body), plan, manifest, what, as_json=as_json))
    if as_json:
        print_json(payload)
    return 0


def _explained(
    what: str,
    loaded: Loaded,
    plan: ExposurePlan,
    manifest: Manifest,
    routes: Sequence[HarvestedRoute],
    *,
    as_json: bool,
) -> dict[str, Any] | None:
    """The explanation as data, or printed; None where there is nothing of that name."""
    visible = visible_in(plan, manifest)
    verdict = verdict_on(what, plan, routes, manifest.places)
    if verdict is not None:
        arguments = arguments_of(verdict.tool, manifest, visible) if verdict.tool else ()
        if not as_json:
            print_verdict(verdict, arguments, open_console())
        return verdict_payload(verdict, arguments)
    path = steps_of(what)
    layers = loaded.instance.layers if plan.on else ()
    account = account_of(path, loaded.manifest, layers, manifest, plan, visible) if path else None
    if account is None:
        return None
    if not as_json:
        print_value(account, open_console())
    return value_payload(account)


def _session(
    body: Any, plan: ExposurePlan, manifest: Manifest, what: str | None, *, as_json: bool
) -> dict[str, Any]:
    """What a session seeded with this body would see, as data, and printed unless that is to be JSON."""
    told = None
    if not plan.on:
        told = f"exposure is off: no session sees any tool; to turn it on, {ADVICE_TO_TURN_ON}"
    elif not plan.uses_tokens:
        told = "`sessions.mode` is none: every call sees every tool, whatever was seeded"
    elif plan.errors:
        told = "the app would not boot; `gym-mcp plan` shows why"
    if told is not None:
        if not as_json:
            print(told)
        return {"session": None, "note": told}
    account = AllowRules(plan.language.sessions, plan.tools, manifest.places).account(body)
    names = [tool.name for tool in plan.tools]
    payload = session_payload(account, names, manifest.places)
    if not as_json:
        print("\na session seeded with this body:" if what else "a session seeded with this body:")
        print_session(account, names, manifest.places, open_console())
    return {"session": payload}


def _tool_keys(what: str, plan: ExposurePlan) -> Iterator[str]:
    """The keys of `tools` that are like a written one, for each tool that there is."""
    head, _, rest = what.partition(".")
    field = rest.partition(".")[2]
    if head == "tools" and field:
        yield from (f"tools.{tool.own_name}.{field}" for tool in plan.tools)


def seed_body(seed: str) -> Any:
    """The seed body: JSON written out, `-` for standard input, or a file (`@FILE` as well).

    Raises:
        typer.BadParameter: there is no such file, or it holds no JSON.
    """
    text = seed
    if seed == "-":
        text = sys.stdin.read()
    elif not seed.lstrip().startswith(("{", "[")):
        path = Path(seed.removeprefix("@"))
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise typer.BadParameter(f"--seed: {path} cannot be read: {reason}") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--seed: not JSON: {error}") from error

"""`gym-mcp call`: one session, one call, as an agent makes it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import typer
import uvicorn
from fastapi import FastAPI

from gym_mcp_manifest.cli.plan import merged_manifest, print_notes
from gym_mcp_manifest.cli.serve import exposed_app
from gym_mcp_manifest.cli.target import load_target
from gym_mcp_manifest.endpoint.client import connect, is_loopback
from gym_mcp_manifest.errors import ManifestError
from gym_mcp_manifest.plan.records import ADVICE_TO_TURN_ON

__all__ = ["run_call", "running"]

_START_SECONDS = 30


class CallFailed(ManifestError):
    """The tools are not exposed, the session cannot be seeded, or the server cannot be reached."""


def run_call(
    target: str,
    tool: str | None,
    arguments: str,
    seed: str,
    config: Path | None,
    server: str | None,
    overrides: Sequence[str],
    headers: Sequence[tuple[str, str]] = (),
    *,
    as_json: bool,
) -> int:
    """Seed where calls have sessions, list or call, print; 1 where the tool answered with an error."""
    parsed = _json_object(sys.stdin.read() if arguments == "-" else arguments, "JSON arguments")
    body = _json_object(_seed_text(seed), "--seed")
    if target.startswith(("http://", "https://")):
        return _call_at(target.rstrip("/"), tool, parsed, body, dict(headers), as_json=as_json)
    loaded = load_target(target, config, server, overrides, assume_on=True)
    if not loaded.instance.on:
        raise CallFailed(f"{loaded.instance.name}: exposure is off; to turn it on, {ADVICE_TO_TURN_ON}")
    print_notes(loaded)
    uses_tokens = merged_manifest(loaded).language.sessions.mode == "token"
    with running(exposed_app(loaded)) as url:
        return _call_at(url, tool, parsed, body if uses_tokens else None, dict(headers), as_json=as_json)


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The app on a free loopback port, in a thread of this process; gives its URL."""
    # The protocol said, or asyncio would not turn Nagle's algorithm off: every answer would be 40 ms late.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise CallFailed("the server did not start; run it with `gym-mcp serve` to see why")
        time.sleep(0.01)
    patience = 10
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    except KeyboardInterrupt:
        patience = 0  # what is interrupted may take long to end by itself
        raise
    finally:
        server.should_exit = True
        thread.join(timeout=patience)
        listener.close()


def _call_at(
    url: str,
    tool: str | None,
    arguments: dict[str, Any],
    seed: dict[str, Any] | None,
    more: dict[str, str],
    *,
    as_json: bool,
) -> int:
    """Call at a base URL with `more` headers; `seed` None asks for no session."""
    base = url.removesuffix("/mcp")
    headers = _seeded(base, seed, more) if seed is not None else {}
    doubt = "; the reply of /seed_session hands out no session token: is exposure on?" if headers is None else ""
    try:
        payload = asyncio.run(_exchange(f"{base}/mcp", {**more, **(headers or {})}, tool, arguments))
    except ExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise CallFailed(f"the call did not get through to {base}/mcp: {first}{doubt}") from group
    except (OSError, httpx.HTTPError) as error:
        raise CallFailed(f"the call did not get through to {base}/mcp: {error}{doubt}") from error
    if as_json:
        print(json.dumps(payload, indent=2, ensure_ascii=False))
    elif tool is None:
        for entry in payload["tools"]:
            first_line = (entry.get("description") or "").partition("\n")[0]
            print(f"{entry['name']}\t{first_line}".rstrip())
    else:
        stream = sys.stderr if payload.get("isError") else sys.stdout
        for block in payload.get("content", []):
            text = block.get("text")
            print(text if text is not None else json.dumps(block, ensure_ascii=False), file=stream)
    return int(bool(payload.get("isError")))


async def _exchange(
    url: str, headers: dict[str, str], tool: str | None, arguments: dict[str, Any]
) -> dict[str, Any]:
    async with connect(url, headers) as client:
        if tool is None:
            return {"tools": await client.list_tools()}
        return await client.call_tool(tool, arguments)


def _seeded(base: str, seed: dict[str, Any], more: dict[str, str]) -> dict[str, str] | None:
    """The headers that the seed's reply hands out: none where the app has no sessions, None without a token."""
    try:
        reply = httpx.post(
            f"{base}/seed_session", json=seed, headers=more, timeout=60, trust_env=not is_loopback(base)
        )
    except httpx.HTTPError as error:
        raise CallFailed(f"the server at {base} cannot be reached: {error}") from error
    if reply.status_code in (404, 405):
        return {}
    if not reply.is_success:
        raise CallFailed(f"POST /seed_session answered {reply.status_code}: {reply.text[:500]}")
    body = reply.json() if "json" in reply.headers.get("content-type", "") else {}
    metadata = body.get("mcp") or body.get("resources_tools") if isinstance(body, dict) else None
    if not isinstance(metadata, dict):
        return None
    return dict(metadata.get("headers", {}))


def _seed_text(seed: str) -> str:
    if not seed.startswith("@"):
        return seed
    try:
        return Path(seed[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"--seed: {seed[1:]} cannot be read: {error.strerror}") from error


def _json_object(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{what}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{what}: expected a JSON object, found {type(value).__name__}")
    return value

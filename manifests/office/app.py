"""The office server: 27 tools of a small company's desk behind one dispatching route.

A plain FastAPI app. Each session works on tables of its own, and ``/verify`` compares what the session did to
them with what the task's ground truth does. Nothing in here knows about MCP: ``mcp.yaml`` beside this file
exposes the tools, whose specs are data (``data/tools``).
"""

import os
import secrets
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException, Request
from office_bodies import SeedRequest, ToolArguments, ToolResult, VerifyRequest
from office_errors import ToolError
from office_scoring import BrokenTask, reward
from office_sessions import SessionStore
from office_tables import OfficeTables
from office_tools import TOOLS, call_tool
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI(
    title="Office", description="E-mail, calendar, analytics, projects, customers and directory of a desk."
)
app.add_middleware(
    SessionMiddleware,
    secret_key=os.environ.get("OFFICE_SESSION_SECRET") or secrets.token_hex(32),
    # Cookies do not know ports: two servers on one host must not share a cookie's name.
    session_cookie="office_session",
)
sessions = SessionStore(OfficeTables.read(Path(__file__).parent / "data" / "tables"))


def current_tables(request: Request) -> OfficeTables:
    """The caller's tables, or a 409 that says how to get some."""
    tables = sessions.get(request.session.get("session_id", ""))
    if tables is None:
        raise HTTPException(409, "This session is not seeded: POST /seed_session first and keep its cookie.")
    return tables


@app.post("/seed_session")
async def seed_session(body: SeedRequest, request: Request) -> dict[str, Any]:
    """Start a session on fresh tables, or start the caller's session over."""
    sessions.open(request.session.setdefault("session_id", uuid4().hex))
    return {}


@app.post("/verify")
async def verify(body: VerifyRequest, request: Request) -> dict[str, Any]:
    """Score a rollout by its effects, see :func:`office_scoring.reward`."""
    tables = current_tables(request)
    try:
        score = reward(body, tables)
    except BrokenTask as error:
        raise HTTPException(422, f"This task cannot be scored: {error}") from error
    return {**body.model_dump(exclude_unset=True), "reward": score}


@app.post("/close_session")
async def close_session(request: Request) -> dict[str, Any]:
    """Forget the caller's session. Closing twice is harmless."""
    sessions.close(request.session.get("session_id", ""))
    return {}


# Registered last: the pattern matches every path of one segment, the fixed routes above included.
@app.post("/{path}")
async def dispatch(path: str, body: ToolArguments, request: Request) -> ToolResult:
    """Call the tool that the path names."""
    if path not in TOOLS:
        raise HTTPException(404, f"There is no tool {path!r}.")
    tables = current_tables(request)
    try:
        return ToolResult(output=call_tool(path, tables, body.given))
    except ToolError as error:
        raise HTTPException(error.status, error.detail) from error

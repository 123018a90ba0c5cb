"""The weather server: one tool, one sentence per city, and a verifier that wants both.

A plain FastAPI app. It keeps what each session asked for, so that ``/verify`` can tell an answer that was
looked up from one that was guessed. Nothing in here knows about MCP: ``mcp.yaml`` beside this file exposes
the tool.
"""

import os
import secrets
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException, Request
from starlette.middleware.sessions import SessionMiddleware
from weather_bodies import SeedRequest, VerifyRequest, WeatherAnswer, WeatherQuestion
from weather_reports import Report, find_report, known_cities
from weather_sessions import SessionStore, WeatherSession

app = FastAPI(title="Weather", description="Deterministic weather reports, scored per session.")
app.add_middleware(
    SessionMiddleware,
    secret_key=os.environ.get("WEATHER_SESSION_SECRET") or secrets.token_hex(32),
    # Cookies do not know ports: two servers on one host must not share a cookie's name.
    session_cookie="weather_session",
)
sessions = SessionStore()


def current_session(request: Request) -> WeatherSession:
    """The caller's session, or a 409 that says how to get one."""
    session = sessions.get(request.session.get("session_id", ""))
    if session is None:
        raise HTTPException(409, "This session is not seeded: POST /seed_session first and keep its cookie.")
    return session


def expected_report(city: str) -> Report:
    """The report that a task is about. A task that nobody can solve is refused instead of scored 0.0."""
    report = find_report(city)
    if report is None:
        raise HTTPException(422, f"verifier_metadata.expected_city is no known city: {city!r}.")
    return report


@app.post("/seed_session")
async def seed_session(body: SeedRequest, request: Request) -> dict[str, Any]:
    """Start a session, or start the caller's session over."""
    if body.verifier_metadata is not None:
        expected_report(body.verifier_metadata.expected_city)
    sessions.open(request.session.setdefault("session_id", uuid4().hex))
    return {}


@app.post("/get_weather")
async def get_weather(body: WeatherQuestion, request: Request) -> WeatherAnswer:
    """Get the current weather of a city, as one sentence."""
    session = current_session(request)
    report = find_report(body.city)
    if report is None:
        known = ", ".join(known_cities())
        raise HTTPException(404, f"No weather report for {body.city!r}. Known cities: {known}.")
    session.reported.add(report.city)
    return WeatherAnswer(weather=report.sentence)


@app.post("/verify")
async def verify(body: VerifyRequest, request: Request) -> dict[str, Any]:
    """Score a rollout: 1.0 if this session looked the city up and its last message repeats the report."""
    session = current_session(request)
    report = expected_report(body.verifier_metadata.expected_city)
    solved = report.city in session.reported and report.is_repeated_in(body.response.final_text())
    return {**body.model_dump(exclude_unset=True), "reward": float(solved)}


@app.post("/close_session")
async def close_session(request: Request) -> dict[str, Any]:
    """Forget the caller's session. Closing twice is harmless."""
    sessions.close(request.session.get("session_id", ""))
    return {}

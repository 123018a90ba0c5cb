"""Findings about an app stand at a line even where no manifest is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse

from gym_mcp_manifest import Diagnostic, ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}


def refused(app: FastAPI, manifest: dict[str, Any] | None = None) -> tuple[Diagnostic, ...]:
    with pytest.raises(ExposureRefused) as raised:
        expose(app, name="unit", manifest=manifest, instance=ON, secret="a" * 32)
    return raised.value.diagnostics


def test_a_missing_protocol_route_is_told_at_the_first_line_of_the_app() -> None:
    app = FastAPI()

    @app.post("/look")
    async def look(body: dict[str, Any]) -> dict[str, Any]:
        return body

    found = refused(app)
    assert [d.code for d in found] == ["GMM606", "GMM606"]
    assert {(Path(str(d.file)).name, d.line) for d in found} == {(Path(__file__).name, 1)}


def test_a_middleware_that_would_be_skipped_is_told_there_too(make_app: Any) -> None:
    from starlette.middleware.gzip import GZipMiddleware

    app: FastAPI = make_app()
    app.add_middleware(GZipMiddleware)

    @app.post("/look")
    async def look(body: dict[str, Any]) -> dict[str, Any]:
        return body

    (found,) = refused(app)
    assert (found.code, found.line) == ("GMM603", 1)


def test_a_hand_made_endpoint_is_told_at_its_handler(make_app: Any) -> None:
    app: FastAPI = make_app()

    @app.post("/mcp")
    async def endpoint(body: dict[str, Any]) -> dict[str, Any]:
        return body

    (found,) = [d for d in refused(app) if d.code == "GMM607"]
    assert found.line == endpoint.__code__.co_firstlineno


def test_a_route_that_fastapi_does_not_handle_is_no_absent_one(make_app: Any) -> None:
    app: FastAPI = make_app()
    app.add_route("/plain", lambda request: PlainTextResponse("x"), methods=["POST"])
    (found,) = refused(app, {"version": 1, "routes": {"include": ["/plain"]}})
    assert found.code == "GMM601"
    assert found.message == "`/plain` in `routes.include` can be no tool: POST /plain is not a FastAPI route"

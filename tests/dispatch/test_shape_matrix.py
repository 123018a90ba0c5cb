"""The matrix: every shape of a route in every mode, MCP against plain HTTP, or the boot error that refuses it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator
from shapes import MODES, SHAPES, Mode, Shape
from twins import assert_same

from gym_mcp_manifest import ExposureRefused, expose

SEED = {"session": {"session_id": "the-session", "user": "ada"}}
ON = {"expose_tools_over_mcp": True}


def pairs(*, refused: bool) -> list[Any]:
    return [
        pytest.param(shape, mode, id=f"{shape.name}-{mode}")
        for shape in SHAPES
        if not shape.excluded
        for mode in MODES
        if (mode in shape.refused) is refused
    ]


class Twin:
    """An app with the shape's route; `runs` has an entry for each run of its handler."""

    def __init__(self, make_app: Any, shape: Shape) -> None:
        self.runs: list[None] = []
        self.app: FastAPI = make_app()
        shape.register(self.app, lambda: self.runs.append(None))


def session_of(client: TestClient) -> Any:
    return client.post("/verify", json={}).json()["session"]


@contextmanager
def plain(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(("shape", "mode"), pairs(refused=False))
def test_mcp_answers_as_http_does(make_app, open_door, shape: Shape, mode: Mode):
    http, mcp = Twin(make_app, shape), Twin(make_app, shape)
    door = open_door(mcp.app, shape.manifest_for(mode))
    assert door.names() == (shape.tool,)
    with plain(http.app) as client:
        for case in shape.cases:
            if mode in case.modes:
                client.cookies.clear()
                client.post("/seed_session", json=SEED)
                answer = case.send(client, shape.method, shape.path)
                result = door.call(shape.tool, case.arguments, door.seed(SEED))
                assert_same(answer, result, f"{shape.method} /{shape.tool}")
                assert session_of(door.client) == session_of(client), case
                assert len(mcp.runs) == len(http.runs), case


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if "route" not in s.refused and not s.excluded], ids=lambda s: s.name
)
def test_good_arguments_suit_the_advertised_schema(make_app, open_door, shape: Shape):
    door = open_door(Twin(make_app, shape).app, shape.manifest_for("route"))
    (tool,) = door.list()
    schema = tool["inputSchema"]
    Draft202012Validator.check_schema(schema)
    first = shape.cases[0].arguments
    Draft202012Validator(schema).validate(first)
    assert "$ref" not in schema
    if "catch_all" not in shape.manifest:
        known = schema.get("properties", {}).keys()
        assert first.keys() <= known or schema.get("additionalProperties"), known


@pytest.mark.parametrize(("shape", "mode"), pairs(refused=True))
def test_a_refused_shape_stops_the_boot_and_each_line_of_the_hint_lets_it_go_on(
    make_app, open_door, shape: Shape, mode: Mode
):
    manifest = shape.manifest_for(mode)
    with pytest.raises(ExposureRefused) as caught:
        expose(Twin(make_app, shape).app, name="unit", manifest=manifest, instance=ON)
    found = [each for each in caught.value.diagnostics if shape.refused[mode] in each.message]
    assert found, caught.value
    assert {each.code for each in found} <= {"GMM602", "GMM603"}
    for each in found:
        assert each.code == "GMM603" or each.message.startswith(f"{shape.route} cannot be dispatched: ")
        lines = manifest_lines(each.hint)
        assert lines
        for line in lines:
            assert_allowed(make_app, open_door, shape, merged(manifest, line))


def assert_allowed(make_app: Any, open_door: Any, shape: Shape, manifest: Mapping[str, Any]) -> None:
    """Whether the manifest makes the route a tool, or leaves it HTTP-only, where it answers as ever."""
    exposed, untouched = Twin(make_app, shape), Twin(make_app, shape)
    door = open_door(exposed.app, manifest)
    if not out_of_mcp(manifest):
        assert door.names() == (shape.tool,)
        return
    session = door.seed(SEED)
    assert door.names() == door.names(session) == ()
    for case in shape.cases:
        assert door.text(shape.tool, case.arguments, session) == f"Unknown tool '{shape.tool}'."
    with plain(untouched.app) as client:
        for case in shape.cases:
            client.cookies.clear()
            client.post("/seed_session", json=SEED)
            door.seed(SEED)
            alike = [case.send(each, shape.method, shape.path) for each in (client, door.client)]
            assert alike[0].status_code == alike[1].status_code
            assert alike[0].content == alike[1].content
    assert len(exposed.runs) == len(untouched.runs)


def out_of_mcp(manifest: Mapping[str, Any]) -> bool:
    return "exclude" in manifest["routes"] or any("ignore" in entry for entry in manifest.get("catch_all", ()))


GUARDED = (
    *("on_the_decorator", "on_the_router", "on_the_include", "on_an_outer_include", "on_the_app"),
    *("on_an_outer_router", "on_the_router_with_scopes", "guarded_by_an_override"),
)
KEYED = ("a_key_in_a_header", "a_key_in_the_query", "a_key_in_a_cookie", "a_bearer", "basic", "scopes")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*GUARDED, *KEYED, "a_guarding_middleware"])
def test_no_mode_reaches_a_guarded_handler_without_credentials(make_app, open_door, name: str, mode: Mode):
    (shape,) = [each for each in SHAPES if each.name == name]
    twin = Twin(make_app, shape)
    if mode in shape.refused:
        with pytest.raises(ExposureRefused):
            expose(twin.app, name="unit", manifest=shape.manifest_for(mode), instance=ON)
        return
    door = open_door(twin.app, shape.manifest_for(mode))
    arguments = shape.cases[-1].arguments
    assert re.match(r"HTTP 40[13] from POST /tool: ", door.text(shape.tool, arguments, door.seed()))
    # Nor where the client offers as an argument what only the instance may send.
    for forged in ({"x-api-key": "k"}, {"X-API-Key": "k"}, {"key": "k"}, {"authorization": "Bearer k"}):
        assert door.call(shape.tool, {**arguments, **forged}, door.seed())["isError"] is True
    assert twin.runs == []


def manifest_lines(hint: str | None) -> list[dict[str, Any]]:
    """What the hint tells to write into the manifest, each line of it."""
    written = re.findall(r"`([^`]+: [^`]+)`", str(hint))
    spans = [yaml.safe_load(span) for span in written if "tools: ..." not in span]
    return [span for span in spans if isinstance(span, dict)]


def merged(manifest: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(manifest)
    for key, value in line.items():
        held = whole.get(key)
        whole[key] = merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return whole


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s.excluded], ids=lambda shape: shape.name)
def test_a_route_that_can_be_no_tool_is_left_out_with_the_reason(make_app, shape: Shape, mode: Mode):
    app = Twin(make_app, shape).app
    plan = expose(app, name="unit", manifest=shape.manifest_for(mode), instance=ON)
    (reason,) = [each.reason for each in plan.excluded if each.route == shape.route]
    assert shape.excluded in reason
    assert plan.tools == ()


def test_the_matrix_has_every_kind_of_shape_and_of_answer(make_app):
    assert len(SHAPES) >= 80
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    statuses = set()
    for shape in SHAPES:
        if not shape.excluded and shape.refused.keys() != set(MODES):
            with plain(Twin(make_app, shape).app) as client:
                statuses |= {case.send(client, shape.method, shape.path).status_code for case in shape.cases}
    assert {
        200,
        201,
        202,
        203,
        204,
        206,
        207,
        304,
        307,
        400,
        401,
        403,
        404,
        409,
        418,
        422,
        429,
        500,
        503,
    } <= statuses

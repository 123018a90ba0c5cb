"""What the live app's routes become: names, descriptions, schemas, order, and why some are no tools."""

from functools import partial
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request, WebSocket
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Route

from gym_mcp_manifest import ExposurePlan, expose

ON = {"expose_tools_over_mcp": True}


class City(BaseModel):
    name: str = Field(alias="cityName", description="Its name")


async def handler(body: City) -> None:
    """Say where.

    At length.
    """


def plan_of(app: FastAPI, **manifest: Any) -> ExposurePlan:
    return expose(app, name="unit", manifest={"version": 1, **manifest}, instance=ON)


def test_tools_come_in_registration_order_whatever_the_order_of_the_lists(make_app):
    app = make_app()
    for path in ("/c", "/a", "/b"):
        app.post(path)(handler)
    router = APIRouter()
    router.post("/r")(handler)
    app.include_router(router)
    app.post("/d")(handler)
    assert [tool.name for tool in plan_of(app).tools] == ["c", "a", "b", "r", "d"]


def test_the_lists_do_not_reorder(make_app):
    app = make_app()
    for path in ("/c", "/a", "/b"):
        app.post(path)(handler)
    assert [tool.name for tool in plan_of(app, routes={"include": ["/a", "/b", "/c"]}).tools] == ["c", "a", "b"]


def test_description_and_schema_are_the_routes_own(make_app):
    app = make_app()
    app.post("/where")(handler)
    app.post("/told", description="Told elsewhere.")(handler)
    where, told = plan_of(app).tools
    assert (where.description, told.description) == ("Say where.\n\nAt length.", "Told elsewhere.")
    assert where.input_schema["required"] == ["cityName"]
    assert where.input_schema["properties"]["cityName"]["description"] == "Its name"


def test_handlers_of_every_kind_of_callable_are_harvested(make_app):
    class Toolbox:
        async def method(self, body: City) -> None:
            """A method."""

        async def __call__(self, body: City) -> None: ...

    async def with_more(more: int, request: Request, body: City) -> None: ...

    app = make_app()
    app.post("/method")(Toolbox().method)
    app.post("/object")(Toolbox())
    app.post("/partial")(partial(with_more, 3))
    app.post("/hidden", include_in_schema=False)(handler)
    app.post("/old", deprecated=True)(handler)
    tools = plan_of(app).tools
    assert [tool.name for tool in tools] == ["method", "object", "partial", "hidden", "old"]
    assert tools[0].description == "A method."


def test_naming_by_function_takes_the_handlers_name(make_app):
    app = make_app()
    app.post("/some/path")(handler)
    (tool,) = plan_of(app, routes={"naming": "function"}).tools
    assert (tool.own_name, tool.name, tool.path) == ("handler", "handler", "/some/path")


def test_one_route_of_two_methods_is_one_tool(make_app):
    app = make_app()
    app.api_route("/tool", methods=["GET", "POST", "PUT"])(handler)
    plan = plan_of(app)
    assert [tool.method for tool in plan.tools] == ["POST"]
    reasons = {entry.route: entry.reason for entry in plan.excluded}
    assert reasons["GET /tool"] == "GET routes are not included"
    assert reasons["PUT /tool"] == "PUT routes are not included"


def add_get(app: FastAPI) -> None:
    app.get("/odd")(lambda: None)


def add_mount(app: FastAPI) -> None:
    app.mount("/odd", FastAPI())


def add_starlette_route(app: FastAPI) -> None:
    app.router.routes.append(Route("/odd", lambda request: PlainTextResponse(""), methods=["POST"]))


def add_websocket(app: FastAPI) -> None:
    @app.websocket("/odd")
    async def odd(socket: WebSocket) -> None: ...


def add_host(app: FastAPI) -> None:
    app.router.routes.append(Host("odd.example", FastAPI()))


def add_dispatcher(app: FastAPI) -> None:
    app.post("/odd/{name}")(lambda name: name)


def add_harness(app: FastAPI) -> None:
    app.post("/close_session")(lambda: None)


@pytest.mark.parametrize(
    ("add", "label", "reason"),
    [
        (add_get, "GET /odd", "GET routes are not included"),
        (add_mount, "* /odd", "a mounted app"),
        (add_starlette_route, "POST /odd", "not a FastAPI route"),
        (add_websocket, "WEBSOCKET /odd", "a websocket"),
        (add_host, "* odd.example", "an app mounted for a host"),
        (
            add_dispatcher,
            "POST /odd/{name}",
            "HTTP-only: it has a path parameter, and no catch_all entry is for it",
        ),
        (add_harness, "POST /close_session", "a route of the harness; never a tool"),
    ],
)
def test_what_is_no_tool_is_listed_with_its_reason(make_app, add, label, reason):
    app = make_app()
    app.post("/tool")(handler)
    add(app)
    plan = plan_of(app)
    assert [tool.name for tool in plan.tools] == ["tool"]
    assert {entry.route: entry.reason for entry in plan.excluded}[label] == reason


def test_every_route_is_decided_exactly_once(make_app):
    app = make_app()
    app.post("/tool")(handler)
    app.post("/other")(handler)
    add_mount(app)
    add_get(app)
    plan = plan_of(app, routes={"exclude": ["/other"]})
    decided = [f"{tool.method} {tool.route}" for tool in plan.tools] + [entry.route for entry in plan.excluded]
    assert len(decided) == len(set(decided))
    assert {"POST /tool", "POST /other", "POST /verify", "POST /seed_session", "* /odd", "GET /odd"} <= set(
        decided
    )
    assert {entry.route: entry.reason for entry in plan.excluded}["POST /other"] == "excluded by `/other`"


def test_a_mounted_apps_routes_are_not_harvested(make_app):
    inner = FastAPI()
    inner.post("/tool")(handler)
    app = make_app()
    app.mount("/sub", inner)
    assert plan_of(app).tools == ()

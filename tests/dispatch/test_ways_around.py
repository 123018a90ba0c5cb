"""Ways around a guard, or to another route, that a call must not find."""

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.security import APIKeyQuery
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass
from starlette.applications import Starlette
from starlette.middleware.sessions import SessionMiddleware
from starlette.routing import BaseRoute, Match, Mount

from gym_mcp_manifest import ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}
NONE = {"mode": "none"}


@pytest.fixture
def open_local(open_door: Any) -> Any:
    """Opens an app without sessions, whose endpoint answers loopback names only."""
    return partial(open_door, client={"base_url": "http://localhost"})


def with_mode(mode: str, **keys: Any) -> dict[str, Any]:
    return {"version": 1, "dispatch": mode, "sessions": NONE, **keys}


class Guarded(FastAPI):
    """An app that guards its tools before any stack is run."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_tool = scope["type"] == "http" and scope["path"].startswith("/tool")
        if is_tool and b"x-key" not in dict(scope["headers"]):
            await PlainTextResponse("no", 401)(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


@pytest.mark.parametrize("mode", ["direct", "route"])
def test_an_app_of_its_own_kind_that_may_guard_counts_as_middleware(mode: str) -> None:
    app = Guarded()
    app.post("/tool")(lambda: "reached")
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=with_mode(mode), instance=ON)
    assert [found.code for found in caught.value.diagnostics] == ["GMM603"]
    assert "Guarded.__call__" in str(caught.value)


def test_mode_app_is_guarded_by_it(open_local: Any) -> None:
    app = Guarded()
    app.post("/tool")(lambda: "reached")
    answer = open_local(app, with_mode("app")).call("tool", {})
    assert answer["content"][0]["text"] == "HTTP 401 from POST /tool: no"


@pytest.mark.parametrize("mode", ["route", "app"])
@pytest.mark.parametrize("value", ["mcp", "mcp/"])
def test_no_path_value_reaches_the_endpoint_itself(open_local: Any, mode: str, value: str) -> None:
    app = FastAPI()

    @app.post("/{item:path}")
    async def take(item: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"item": item, "body": body}

    tools = {"POST /{item:path}": {"name": "take"}}
    manifest = with_mode(mode, routes={"include": ["/{item:path}"]}, tools=tools)
    door = open_local(app, manifest)
    call = {"item": value, "jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert door.call("take", call)["content"][0]["text"] == "HTTP 404 from POST /take: Not Found"


@pytest.mark.parametrize("mode", ["route", "app"])
def test_no_path_value_reaches_a_foreign_route_by_any_of_its_methods(open_local: Any, mode: str) -> None:
    app = FastAPI()

    async def special(request: Request) -> Response:
        return PlainTextResponse("special")

    app.add_route("/items/special", special, methods=["DELETE", "PUT"])

    @app.put("/items/{item}")
    async def put_item(item: str) -> str:
        return item

    tools = {"PUT /items/{item}": {"name": "put_item"}}
    door = open_local(app, with_mode(mode, tools=tools))
    assert door.call("put_item", {"item": "special"})["isError"]
    assert door.call("put_item", {"item": "other"})["content"][0]["text"] == "other"


@pytest.mark.parametrize("mode", ["route", "app"])
def test_no_path_value_reaches_an_app_that_is_mounted_for_a_host(open_local: Any, mode: str) -> None:
    app, other = FastAPI(), FastAPI()
    other.get("/num/secret")(lambda: "other route")

    @app.get("/num/{n:int}")
    async def num(n: int) -> int:
        return n

    app.host("localhost", other)
    door = open_local(app, with_mode(mode, tools={"GET /num/{n:int}": {"name": "num"}}))
    assert door.call("num", {"n": "secret"})["content"][0]["text"] == "HTTP 404 from GET /num: Not Found"
    assert door.call("num", {"n": 5})["content"][0]["text"] == "5"


class Anything(BaseRoute):
    """A route of its own kind, which tells nobody what it takes."""

    def matches(self, scope: Any) -> tuple[Match, Any]:
        return Match.FULL, {}

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("other route")(scope, receive, send)


def with_anything(app: FastAPI, files: Path) -> None:
    app.routes.append(Anything())


def with_a_frontend(app: FastAPI, files: Path) -> None:
    if not hasattr(app, "frontend"):
        pytest.skip("this FastAPI has no frontends")
    (files / "items").mkdir()
    (files / "items" / "a").mkdir()
    (files / "items" / "a" / "b").write_text("other route", encoding="utf-8")
    app.frontend("/", directory=files)


@pytest.mark.parametrize("mode", ["route", "app"])
@pytest.mark.parametrize("add", [with_anything, with_a_frontend], ids=lambda add: add.__name__)
def test_no_path_value_reaches_what_tells_nobody_its_paths(
    open_local: Any, tmp_path: Path, mode: str, add: Any
) -> None:
    app = FastAPI()

    @app.get("/items/{item}")
    async def item(item: str) -> str:
        return item

    add(app, tmp_path)
    door = open_local(app, with_mode(mode, tools={"GET /items/{item}": {"name": "item"}}))
    assert door.client.get("/items/a/b").text == "other route"
    assert door.call("item", {"item": "a/b"})["content"][0]["text"] == "HTTP 404 from GET /item: Not Found"
    assert door.call("item", {"item": "a"})["content"][0]["text"] == "a"


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_a_mounted_app_knows_where_it_is(mode: str, make_door: Any) -> None:
    app = FastAPI()

    @app.post("/where")
    async def where(request: Request) -> list[Any]:
        return [str(request.url_for("where")), request.path_params, request.url.path]

    expose(app, name="unit", manifest=with_mode(mode), instance=ON)
    outer = Starlette(routes=[Mount("/srv/{tenant}", app)])
    with TestClient(outer, base_url="http://localhost") as client:
        over_http = client.post("/srv/acme/where").json()
        door = make_door(client)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "where", "arguments": {}}}
        over_mcp = door.post(message, url="/srv/acme/mcp").json()["result"]["content"][0]["text"]
    assert over_http[1:] == [{"tenant": "acme"}, "/srv/acme/where"]
    assert json.loads(over_mcp) == over_http


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_of_two_session_layers_the_inner_one_has_the_session(make_app: Any, open_door: Any, mode: str) -> None:
    app = make_app()
    app.add_middleware(SessionMiddleware, secret_key="another key", session_cookie="outer")

    @app.post("/who")
    async def who(request: Request) -> Any:
        request.session["asked"] = True
        return request.session.get("user")

    door = open_door(app, {"version": 1, "dispatch": mode})
    session = door.seed({"session": {"user": "ada"}})
    assert door.call("who", {}, session)["content"][0]["text"] == "ada"
    after = door.client.post("/verify", json={}).json()["session"]
    assert (after["user"], after["asked"]) == ("ada", True)


@pytest.mark.parametrize("mode", ["route", "app"])
def test_no_open_query_takes_a_credential(open_local: Any, mode: str) -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        limit: int = 1

    app = FastAPI()

    @app.post("/search")
    async def search(
        filters: Annotated[Open, Query()], key: Annotated[str, Depends(APIKeyQuery(name="key"))]
    ) -> str:
        return key

    door = open_local(app, with_mode(mode))
    assert door.call("search", {"limit": 2})["content"][0]["text"].startswith("HTTP 401 from POST /search: ")
    assert door.call("search", {"key": "guessed"})["content"][0]["text"].endswith("takes no argument 'key'")


@pytest.mark.parametrize("mode", ["route", "app"])
def test_a_value_that_leads_elsewhere_is_the_404_in_the_words_of_the_app(open_local: Any, mode: str) -> None:
    app = FastAPI()

    @app.exception_handler(404)
    async def lost(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"lost at {request.url.path}", 404)

    app.get("/items/special")(lambda: "other route")

    @app.get("/items/{item}")
    async def item(item: str) -> str:
        return item

    door = open_local(app, with_mode(mode, tools={"GET /items/{item}": {"name": "item"}}))
    for value in ("special", "a/b", ""):
        answer = door.call("item", {"item": value})
        assert answer["content"][0]["text"] == f"HTTP 404 from GET /item: lost at /items/{value}"


@pytest.mark.parametrize("mode", ["route", "app"])
def test_a_part_of_the_path_that_only_a_dependency_reads_is_an_argument(open_local: Any, mode: str) -> None:
    def tenant(request: Request) -> str:
        return str(request.path_params["tenant"])

    app, router = FastAPI(), APIRouter(prefix="/t/{tenant}")

    @router.post("/ask")
    async def ask(q: dict[str, Any], tenant: Annotated[str, Depends(tenant)]) -> list[Any]:
        return [tenant, q]

    app.include_router(router)
    door = open_local(app, with_mode(mode, tools={"POST /t/{tenant}/ask": {"name": "ask"}}))
    (tool,) = door.list()
    assert "tenant" in tool["inputSchema"]["required"]
    assert door.call("ask", {"tenant": "acme", "x": 1})["content"][0]["text"] == '["acme",{"x":1}]'
    assert door.call("ask", {"x": 1})["isError"]


def test_no_spelling_of_a_hidden_field_of_a_dataclass_gets_through(open_local: Any) -> None:
    @dataclass(config=ConfigDict(populate_by_name=True))
    class Limits:
        limit: int = Field(1, alias="lim")

    app = FastAPI()

    @app.post("/ask")
    async def ask(body: Limits) -> int:
        return body.limit

    tools = {"ask": {"arguments": {"lim": {"hidden": True}}}}
    door = open_local(app, with_mode("route", tools=tools))
    assert door.call("ask", {"limit": 99})["isError"]
    assert door.call("ask", {"lim": 99})["isError"]


def test_two_parameters_that_share_any_spelling_stop_the_boot() -> None:
    class Filters(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        limit: int = Field(1, alias="lim")

    class Body(BaseModel):
        limit: int = 1

    app = FastAPI()

    @app.post("/ask")
    async def ask(body: Body, filters: Annotated[Filters, Query()]) -> list[int]:
        return [body.limit, filters.limit]

    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=with_mode("route"), instance=ON)
    assert "`limit` is both a query parameter and one of the body" in str(caught.value)


def test_a_packed_answer_is_cut_by_what_is_in_it(open_local: Any) -> None:
    packed = gzip.compress(b"a" * 2_000_000) + gzip.compress(b"b" * 10)
    app = FastAPI()

    @app.post("/packed")
    async def of_it() -> Response:
        return Response(packed, headers={"content-encoding": "gzip"}, media_type="text/plain")

    @app.post("/whole")
    async def whole() -> Response:
        body = gzip.compress(b"a" * 10) + gzip.compress(b"b" * 10)
        return Response(body, headers={"content-encoding": "gzip"}, media_type="text/plain")

    @app.post("/twice")
    async def twice() -> Response:
        body = gzip.compress(gzip.compress(b"a" * 10) + bytes(1_000_000))
        return Response(body, headers={"content-encoding": "gzip, gzip"}, media_type="text/plain")

    @app.post("/unknown")
    async def unknown() -> Response:
        return Response(b"x" * 20_000, headers={"content-type": "text/plain; charset=nope"})

    door = open_local(app, with_mode("direct", limits={"result_bytes": 10_000}))
    assert door.call("packed", {})["content"][0]["text"].startswith("a" * 10_000 + "\n[cut: ")
    assert door.call("unknown", {})["content"][0]["text"].startswith("x" * 10_000 + "\n[cut: ")
    assert door.call("twice", {})["content"][0]["text"].startswith("[cut: ")
    assert door.call("whole", {})["content"][0]["text"] == "a" * 10 + "b" * 10

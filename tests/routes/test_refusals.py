"""The refuse table: shapes and guards that mode `direct` takes no responsibility for stop the boot by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import yaml
from fastapi import APIRouter, Body, Cookie, Depends, FastAPI, File, Form, Header, Query, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, OAuth2PasswordBearer
from fastapi.testclient import TestClient
from pydantic import BaseModel, RootModel

from gym_mcp_manifest import ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}


class City(BaseModel):
    city: str = "Paris"


PARIS = City()


class Cities(RootModel[list[str]]):
    pass


def guard(x_key: Annotated[str, Header()] = "none") -> str:
    return x_key


class CallableGuard:
    def __call__(self) -> None: ...


class OwnHandler(APIRoute):
    def get_route_handler(self) -> Callable[..., Any]:
        return super().get_route_handler()


# Parameters.


def a_query_string(request: Request, my_string: str) -> None: ...
def a_defaulted_scalar(body: City, limit: int = 3) -> None: ...
def a_query_list(tags: Annotated[list[str], Query()] = ()) -> None: ...  # type: ignore[assignment]
def a_query_model(filters: Annotated[City, Query()]) -> None: ...
def a_header(body: City, x_trace: Annotated[str | None, Header()] = None) -> None: ...
def a_cookie(body: City, flavour: Annotated[str | None, Cookie()] = None) -> None: ...
def variadic(*args: Any) -> None: ...
def keywords(**kwargs: Any) -> None: ...


# Bodies.


def an_optional_body(body: City | None) -> None: ...
def an_optional_body_with_default(body: City | None = None) -> None: ...
def a_defaulted_model(body: City = PARIS) -> None: ...
def a_union_body(body: City | Cities) -> None: ...
def two_bodies(a: City, b: City) -> None: ...
def a_body_and_a_scalar(body: City, days: Annotated[int, Body()]) -> None: ...
def an_embedded_body(body: Annotated[City, Body(embed=True)]) -> None: ...
def a_scalar_body(days: Annotated[int, Body()]) -> None: ...
def a_list_body(body: list[City]) -> None: ...
def a_root_model(body: Cities) -> None: ...
def integer_keys(body: dict[int, str]) -> None: ...
def a_form(city: Annotated[str, Form()]) -> None: ...
def a_form_model(form: Annotated[City, Form()]) -> None: ...
def a_file(upload: Annotated[bytes, File()]) -> None: ...


# Dependencies in the signature.


def injected(dep: str = Depends(guard)) -> None: ...
def injected_beside_a_body(body: City, dep: Annotated[str, Depends(guard)]) -> None: ...
def secured(token: str = Security(OAuth2PasswordBearer(tokenUrl="t"), scopes=["read"])) -> None: ...
def keyed(key: Annotated[str, Depends(APIKeyHeader(name="x-api-key"))]) -> None: ...


SIGNATURES = {
    a_query_string: "`my_string` is a query parameter, and an MCP call carries no query string",
    a_defaulted_scalar: "`limit` is a query parameter",
    a_query_list: "`tags` is a query parameter",
    a_query_model: "`filters` is a query parameter",
    a_header: "`x_trace` is a header parameter",
    a_cookie: "`flavour` is a cookie parameter",
    variadic: "its handler takes `*args`",
    keywords: "its handler takes `**kwargs`",
    an_optional_body: "the body `body` is a union or optional",
    an_optional_body_with_default: "the body `body` is a union or optional",
    a_defaulted_model: "the body `body` is optional (it has a default)",
    a_union_body: "the body `body` is a union or optional",
    two_bodies: "it has several body parameters (`a`, `b`)",
    a_body_and_a_scalar: "it has several body parameters (`body`, `days`)",
    an_embedded_body: "the body `body` is embedded",
    a_scalar_body: "the body `days` is neither a pydantic model nor a `dict` of text keys",
    a_list_body: "the body `body` is neither a pydantic model nor a `dict` of text keys",
    a_root_model: "the body `body` is neither a pydantic model nor a `dict` of text keys",
    integer_keys: "the body `body` is neither a pydantic model nor a `dict` of text keys",
    a_form: "`city` is form data or a file",
    a_form_model: "`form` is form data or a file",
    a_file: "`upload` is form data or a file",
    injected: "dependency injection: `Depends(guard)`",
    injected_beside_a_body: "dependency injection: `Depends(guard)`",
    secured: "dependency injection: `Security(OAuth2PasswordBearer)`",
    keyed: "dependency injection: `Depends(APIKeyHeader)`",
}


# Guards and mechanisms outside the signature: each puts POST /faulty into the app.


def handler(body: City) -> City:
    return body


def on_the_decorator(app: FastAPI) -> None:
    app.post("/faulty", dependencies=[Depends(guard)])(handler)


def on_the_decorator_with_scopes(app: FastAPI) -> None:
    app.post("/faulty", dependencies=[Security(guard, scopes=["admin"])])(handler)


def on_the_router(app: FastAPI) -> None:
    router = APIRouter(dependencies=[Depends(guard)])
    router.post("/faulty")(handler)
    app.include_router(router)


def on_the_include(app: FastAPI) -> None:
    router = APIRouter()
    router.post("/faulty")(handler)
    app.include_router(router, dependencies=[Depends(guard)])


def on_an_outer_include(app: FastAPI) -> None:
    inner, outer = APIRouter(), APIRouter()
    inner.post("/faulty")(handler)
    outer.include_router(inner)
    app.include_router(outer, dependencies=[Depends(guard)])


def on_an_outer_router(app: FastAPI) -> None:
    inner, outer = APIRouter(), APIRouter(dependencies=[Depends(guard)])
    inner.post("/faulty")(handler)
    outer.include_router(inner)
    app.include_router(outer)


def on_the_app_router(app: FastAPI) -> None:
    app.router.dependencies.append(Depends(guard))
    app.post("/faulty")(handler)


def by_an_object(app: FastAPI) -> None:
    app.post("/faulty", dependencies=[Depends(CallableGuard())])(handler)


def by_a_route_class(app: FastAPI) -> None:
    router = APIRouter(route_class=OwnHandler)
    router.post("/faulty")(handler)
    app.include_router(router)


GUARDS = {
    on_the_decorator: "it depends on guard outside its signature",
    on_the_decorator_with_scopes: "it depends on guard outside its signature",
    on_the_router: "it depends on guard outside its signature",
    on_the_include: "it depends on guard outside its signature",
    on_an_outer_include: "it depends on guard outside its signature",
    on_an_outer_router: "it depends on guard outside its signature",
    on_the_app_router: "it depends on guard outside its signature",
    by_an_object: "it depends on CallableGuard outside its signature",
    by_a_route_class: "its route class OwnHandler has a handler of its own",
}


@dataclass(frozen=True)
class Row:
    register: Callable[[FastAPI], None]
    reason: str


def posting(signature: Callable[..., Any]) -> Callable[[FastAPI], None]:
    return lambda app: app.post("/faulty")(signature) and None


ROWS = [
    *(pytest.param(Row(posting(shape), reason), id=shape.__name__) for shape, reason in SIGNATURES.items()),
    *(pytest.param(Row(register, reason), id=register.__name__) for register, reason in GUARDS.items()),
]


def refused(app: FastAPI, manifest: dict[str, Any] | None = None) -> ExposureRefused:
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=manifest, instance=ON)
    return caught.value


def manifest_line(hint: str | None) -> dict[str, Any]:
    """The manifest that the last code span of a hint writes down."""
    return {"version": 1, **yaml.safe_load(str(hint).split("`")[-2])}


def answers(app: FastAPI, path: str) -> list[tuple[int, bytes]]:
    client = TestClient(app, raise_server_exceptions=False)
    bodies: list[Any] = [{}, {"city": "Rome"}, [], 3, None]
    replies = [client.post(path, json=body) for body in bodies]
    return [(reply.status_code, reply.content) for reply in replies]


@pytest.mark.parametrize("row", ROWS)
def test_a_shape_that_direct_refuses_stops_the_boot_and_the_hint_excludes_its_route(row, make_app, open_door):
    def app_with_both() -> FastAPI:
        app = make_app()
        row.register(app)
        app.router.dependencies.clear()
        app.post("/healthy")(handler)
        return app

    app = app_with_both()
    (found,) = refused(app).diagnostics
    assert found.code == "GMM602"
    assert found.message.startswith("POST /faulty cannot be dispatched: ")
    assert row.reason in found.message

    door = open_door(app, manifest_line(found.hint))
    session = door.seed()
    assert door.names() == door.names(session) == ("healthy",)
    assert door.text("faulty", {}, session).startswith("Unknown tool 'faulty'.")
    assert answers(app, "/faulty") == answers(app_with_both(), "/faulty")


def test_three_faulty_routes_give_three_findings_at_once(make_app):
    app = make_app()
    app.post("/one")(a_query_string)
    app.post("/two")(two_bodies)
    app.post("/three", dependencies=[Depends(guard)])(handler)
    error = refused(app)
    assert sorted(found.message.split(":")[0] for found in error.diagnostics) == [
        "POST /one cannot be dispatched",
        "POST /three cannot be dispatched",
        "POST /two cannot be dispatched",
    ]
    assert all(found.file and found.file.endswith("test_refusals.py") for found in error.diagnostics)
    assert all(found.code in str(error) and found.message in str(error) for found in error.diagnostics)
    assert all(str(found.hint) in str(error) for found in error.diagnostics)


def test_one_route_with_several_faults_tells_them_all(make_app):
    app = make_app()

    @app.post("/many", dependencies=[Depends(guard)])
    def many(a: City, b: City, limit: int = 3, dep: str = Depends(CallableGuard())) -> None: ...

    reasons = [found.message for found in refused(app).diagnostics]
    assert len(reasons) == 4
    for part in ("guard outside", "several body", "`limit` is a query", "Depends(CallableGuard)"):
        assert any(part in reason for reason in reasons)


def test_a_dependency_of_the_whole_app_refuses_every_route_that_it_guards(make_app):
    app = make_app(dependencies=[Depends(guard)])
    app.post("/one")(handler)
    app.post("/two")(handler)
    found = refused(app).diagnostics
    assert [entry.message.split(" cannot")[0] for entry in found] == ["POST /one", "POST /two"]
    assert all("it depends on guard outside its signature" in entry.message for entry in found)


def test_a_guarded_route_is_never_called_past_its_guard(make_app, open_door):
    calls: list[str] = []
    app = make_app()

    @app.post("/guarded", dependencies=[Depends(guard)])
    def guarded() -> None:
        calls.append("called")

    door = open_door(app, {"version": 1, "routes": {"exclude": ["/guarded"]}})
    assert door.call("guarded", {}, door.seed())["isError"] is True
    assert calls == []


def test_an_annotation_that_cannot_be_resolved_is_named(make_app):
    app = make_app()
    namespace: dict[str, Any] = {}
    source = "from __future__ import annotations\ndef later(body: NotDefinedYet) -> None: ..."
    exec(compile(source, "late", "exec", dont_inherit=True), namespace)
    app.post("/later")(namespace["later"])
    assert "the annotation of `body` cannot be resolved" in refused(app).diagnostics[0].message


def test_a_get_route_that_the_manifest_asks_for_is_refused_by_its_method(make_app):
    app = make_app()
    app.get("/items")(handler)
    (found,) = refused(app, {"version": 1, "routes": {"include": ["GET /items"]}}).diagnostics
    assert found.code == "GMM602"
    assert "it is a GET route" in found.message
    assert "'GET /items'" in str(found.hint)


def test_a_typed_parameterized_route_is_refused_with_its_parameters(make_app):
    app = make_app()

    @app.post("/items/{item}")
    def item(item: str) -> str:
        return item

    (shape,) = refused(app, {"version": 1, "routes": {"include": ["/items/{item}"]}}).diagnostics
    assert shape.code == "GMM602"
    assert "it has path parameters (item)" in shape.message
    assert "take it out of `routes.include`, and write `catch_all: [{route: '/items/{item}'" in str(shape.hint)


def test_a_dispatcher_with_a_typed_path_parameter_is_refused_and_the_hint_ignores_it(make_app, open_door):
    app = make_app()

    @app.post("/{number}")
    def dispatch(number: int) -> int:
        return number

    manifest = {"version": 1, "catch_all": [{"tools": [{"name": "seven", "input_schema": {"type": "object"}}]}]}
    (found,) = refused(app, manifest).diagnostics
    assert "the path parameter `number` is not a plain `str`" in found.message
    assert open_door(app, manifest_line(found.hint)).names() == ()

"""Shapes of what stands between a request and its handler: dependencies, guards, middleware, error handlers."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

from fastapi import (
    APIRouter,
    BackgroundTasks,
    Depends,
    FastAPI,
    Form,
    Header,
    HTTPException,
    Query,
    Request,
    Response,
    Security,
)
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute
from fastapi.security import (
    APIKeyCookie,
    APIKeyHeader,
    APIKeyQuery,
    HTTPBasic,
    HTTPBearer,
    OAuth2PasswordBearer,
    OAuth2PasswordRequestForm,
    SecurityScopes,
)
from pydantic import BaseModel
from shapebook import Case, Ran, bare, built, counted, sent, shape
from shapemodels import Item, Loose, Tight
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

GROUP = "Dependencies and guards"

# Dependencies of the signature.


def page(skip: int = 0, limit: Annotated[int, Query(le=100)] = 10) -> dict[str, int]:
    return {"skip": skip, "limit": limit}


def word(x_word: Annotated[str, Header()] = "none") -> str:
    return x_word


def joined(of_page: Annotated[dict[str, int], Depends(page)], said: Annotated[str, Depends(word)]) -> str:
    return f"{of_page} {said}"


class Paging:
    def __init__(self, q: str | None = None, skip: int = 0) -> None:
        self.q, self.skip = q, skip


class Checker:
    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    def __call__(self, q: str = "") -> bool:
        return self.wanted in q


async def opened(request: Request) -> AsyncIterator[list[str]]:
    events = request.app.state.__dict__.setdefault("events", ["opened"])
    yield events
    events.append("closed")


def opened_in_the_pool() -> Iterator[dict[str, str]]:
    try:
        yield {"state": "open"}
    except ValueError as error:
        raise HTTPException(409, f"mended: {error}") from error


def with_a_body(body: Item) -> Item:
    return body


def refusing(q: str = "") -> None:
    if q != "sesame":
        raise HTTPException(403, {"why": "closed"})


def noting(response: Response, tasks: BackgroundTasks) -> None:
    response.headers["x-noted"] = "yes"
    response.status_code = 207
    tasks.add_task(lambda: None)


@shape(
    "`Depends(function)` with query parameters",
    *bare({"skip": 1, "limit": 2}, {"limit": 101}, {"skip": "x"}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(page)`",
)
async def a_dependency(of_page: Annotated[dict[str, int], Depends(page)]) -> dict[str, int]:
    return of_page


@shape(
    "sub-dependencies, and one asked for twice",
    Case({"skip": 1, "x-word": "w", "name": "n"}, params={"skip": 1}, headers={"x-word": "w"}, body={"name": "n"}),
    *sent({"name": "n"}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(page)`",
)
async def sub_dependencies(
    body: Item, of_page: Annotated[dict[str, int], Depends(page)], both: Annotated[str, Depends(joined)]
) -> list[Any]:
    return [body, of_page, both]


@shape(
    "a class as a dependency",
    *bare({"q": "a", "skip": 3}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(Paging)`",
)
async def a_class_dependency(paging: Annotated[Paging, Depends()]) -> list[Any]:
    return [paging.q, paging.skip]


@shape(
    "an object as a dependency",
    *bare({"q": "needle"}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(Checker)`",
)
def an_object_dependency(found: Annotated[bool, Depends(Checker("needle"))]) -> bool:
    return found


@shape(
    "a dependency with `yield`",
    *sent({}),
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(opened)`",
)
async def a_yielding_dependency(events: Annotated[list[str], Depends(opened)]) -> list[str]:
    return list(events)


@shape(
    "a dependency with `yield` that catches the handler's exception",
    *bare({"fail": True}, {"fail": False}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(opened_in_the_pool)`",
)
def a_catching_dependency(state: Annotated[dict[str, str], Depends(opened_in_the_pool)], fail: bool) -> Any:
    if fail:
        raise ValueError("broken")
    return state


@shape(
    "a dependency of scope `function`",
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(opened)`",
)
async def a_function_scoped_dependency(events: Annotated[list[str], Depends(opened, scope="function")]) -> Any:
    return list(events)


@shape(
    "a dependency with the body",
    *sent({"name": "n"}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(with_a_body)`",
)
async def a_body_of_a_dependency(item: Annotated[Item, Depends(with_a_body)]) -> Item:
    return item


@shape(
    "one body of the handler and of a dependency",
    *sent({"body": {"name": "n"}, "more": {"name": "m"}}, {"body": {"name": "n"}}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(with_a_body)`",
)
async def bodies_of_both(more: Item, item: Annotated[Item, Depends(with_a_body)]) -> list[Item]:
    return [item, more]


@shape(
    "a dependency that sets status, headers and background tasks",
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(noting)`",
)
async def a_dependency_on_the_response(noted: Annotated[None, Depends(noting)]) -> dict[str, bool]:
    return {"ok": True}


@shape(
    "`dependencies=[Depends(guard)]` on the decorator",
    *bare({"q": "sesame"}, {"q": "no"}, {}),
    group=GROUP,
    direct="it depends on refusing outside its signature",
    dependencies=[Depends(refusing)],
)
async def on_the_decorator() -> dict[str, bool]:
    return {"in": True}


def guarded(app: FastAPI | APIRouter, ran: Ran, *, router: Any = (), include: Any = (), outer: Any = None) -> None:
    """POST /tool, guarded by dependencies of its router, of the include, or of an include around that."""

    async def handler(body: Item) -> Item:
        ran()
        return body

    inner = APIRouter(dependencies=[*router])
    inner.post("/tool")(handler)
    if outer is None:
        app.include_router(inner, dependencies=[*include])
    else:
        between = APIRouter()
        between.include_router(inner, dependencies=[*include])
        app.include_router(between, dependencies=[*outer])


GUARDED = (
    Case({"q": "sesame", "name": "n"}, params={"q": "sesame"}, body={"name": "n"}),
    Case({"q": "no", "name": "n"}, params={"q": "no"}, body={"name": "n"}),
    Case({"name": "n"}, body={"name": "n"}),
    Case({"q": "no"}, params={"q": "no"}, body={}),
)
OUTSIDE = "it depends on refusing outside its signature"


@built("`APIRouter(dependencies=[...])`", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_the_router(app: FastAPI, ran: Ran) -> None:
    guarded(app, ran, router=[Depends(refusing)])


@built("`include_router(..., dependencies=[...])`", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_the_include(app: FastAPI, ran: Ran) -> None:
    guarded(app, ran, include=[Depends(refusing)])


@built("the same on an include around an include", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_an_outer_include(app: FastAPI, ran: Ran) -> None:
    guarded(app, ran, outer=[Depends(refusing)])


@built("`APIRouter(dependencies=[...])` around an included router", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_an_outer_router(app: FastAPI, ran: Ran) -> None:
    outer = APIRouter(dependencies=[Depends(refusing)])
    guarded(outer, ran)
    app.include_router(outer)


@built("`dependencies=[Security(..., scopes=[...])]`", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_the_router_with_scopes(app: FastAPI, ran: Ran) -> None:
    guarded(app, ran, router=[Security(refusing, scopes=["admin"])])


@built(
    "an object as a guard",
    Case({"q": "needle", "name": "n"}, params={"q": "needle"}, body={"name": "n"}),
    group=GROUP,
    direct="it depends on Checker outside its signature",
)
def by_an_object(app: FastAPI, ran: Ran) -> None:
    guarded(app, ran, include=[Depends(Checker("needle"))])


@built("`FastAPI(dependencies=[...])`", *GUARDED, group=GROUP, direct=OUTSIDE)
def on_the_app(app: FastAPI, ran: Ran) -> None:
    # As the app's own argument does, for the routes that come now.
    app.router.dependencies.append(Depends(refusing))
    guarded(app, ran)
    app.router.dependencies.clear()


def never() -> str:
    raise HTTPException(500, "never")


@built(
    "`app.dependency_overrides`",
    *sent({"name": "n"}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(never)`",
)
def overridden(app: FastAPI, ran: Ran) -> None:
    @app.post("/tool")
    async def tool(body: Item, said: Annotated[str, Depends(never)]) -> list[Any]:
        ran()
        return [body, said]

    app.dependency_overrides[never] = lambda: "instead"


def named_by(page: int, x_trace: Annotated[str | None, Header()] = None) -> list[Any]:
    return [page, x_trace]


@built(
    "`app.dependency_overrides` with parameters of their own",
    Case(
        {"name": "n", "page": 2, "x-trace": "t"},
        body={"name": "n"},
        params={"page": "2"},
        headers={"x-trace": "t"},
    ),
    Case({"name": "n", "page": "two"}, body={"name": "n"}, params={"page": "two"}),
    Case({"name": "n"}, body={"name": "n"}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(never)`",
)
def overridden_with_parameters(app: FastAPI, ran: Ran) -> None:
    def outer(said: Annotated[str, Depends(never)]) -> str:
        return said

    @app.post("/tool")
    async def tool(body: Item, said: Annotated[str, Depends(never)], again: Annotated[str, Depends(outer)]) -> Any:
        ran()
        return [body, said, again]

    app.dependency_overrides[never] = named_by


def allowing() -> None: ...


@built(
    "a guard that `app.dependency_overrides` puts in another's place",
    *sent({"name": "n"}),
    group=GROUP,
    direct="it depends on allowing outside its signature",
)
def guarded_by_an_override(app: FastAPI, ran: Ran) -> None:
    @app.post("/tool", dependencies=[Depends(allowing)])
    async def tool(body: Item) -> Item:
        ran()
        return body

    app.dependency_overrides[allowing] = refusing


async def read_by_hand(request: Request) -> Any:
    return await request.json()


class ReadByHand:
    def __init__(self, request: Request) -> None:
        self.request = request


ANY_SCHEMA = {
    "tools": {"tool": {"input_schema": {"type": "object", "additionalProperties": True}, "optional": True}}
}


@built(
    "a body that a dependency reads from the request",
    *sent({"name": "n", "deep": [1]}),
    Case({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(read_by_hand)`",
    manifest=ANY_SCHEMA,
)
def a_body_read_by_a_dependency(app: FastAPI, ran: Ran) -> None:
    @app.post("/tool")
    async def tool(body: Annotated[Any, Depends(read_by_hand)]) -> Any:
        ran()
        return body


@built(
    "a class as a dependency that is given the request",
    *sent({"name": "n"}),
    Case({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(ReadByHand)`",
    manifest=ANY_SCHEMA,
)
def a_body_read_through_a_dependency(app: FastAPI, ran: Ran) -> None:
    @app.post("/tool")
    async def tool(given: Annotated[ReadByHand, Depends()]) -> Any:
        ran()
        return await given.request.json()


class Counted(APIRoute):
    def get_route_handler(self) -> Callable[..., Any]:
        handle = super().get_route_handler()

        async def counted(request: Request) -> Response:
            keys = len(await request.json()) if await request.body() else 0
            response: Response = await handle(request)
            return PlainTextResponse(f"{keys}: {bytes(response.body).decode()}", response.status_code)

        return counted


@built(
    "a route class that reads the body",
    *sent({"a": 1, "b": 2}),
    Case({}),
    group=GROUP,
    direct="its route class Counted has a handler of its own",
    manifest=ANY_SCHEMA,
)
def a_body_read_by_a_route_class(app: FastAPI, ran: Ran) -> None:
    router = APIRouter(route_class=Counted)

    @router.post("/tool")
    async def tool() -> str:
        ran()
        return "done"

    app.include_router(router)


async def noted(request: Request) -> None:
    request.session["seen"] = True


async def connected(connection: HTTPConnection) -> str:
    return connection.headers.get("content-type", "none")


@shape(
    "a query model that allows others, beside a dependency with the request",
    *bare({"limit": 1, "z": "9"}, {}, {"limit": "x"}),
    group=GROUP,
    direct="`filters` is a query parameter",
)
async def a_loose_query_beside_a_guard(
    filters: Annotated[Loose, Query()], seen: Annotated[None, Depends(noted)]
) -> dict[str, Any]:
    return filters.model_dump()


@shape(
    "a query model that forbids others, beside the request",
    *bare({"limit": 1}, {"limit": 1, "z": "9"}, {}),
    group=GROUP,
    direct="`filters` is a query parameter",
)
async def a_tight_query_beside_the_request(filters: Annotated[Tight, Query()], request: Request) -> dict[str, Any]:
    return {**filters.model_dump(), "length": len(await request.body())}


@shape(
    "a dependency with the request, and no arguments",
    Case({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(noted)`",
)
async def a_guard_without_arguments(
    seen: Annotated[None, Depends(noted)], kind: Annotated[str, Depends(connected)]
) -> str:
    return kind


def with_a_city(body: Item) -> str:
    return body.name


class Wrapped(BaseModel):
    days: int
    name: str | None = None


@shape(
    "one body read as two models",
    *sent({"name": "n", "days": 2}, {"name": "n"}, {"days": 2}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(with_a_city)`",
)
async def a_body_of_two_models(body: Wrapped, city: Annotated[str, Depends(with_a_city)]) -> list[Any]:
    return [body, city]


# Security.


@shape(
    "`APIKeyHeader`",
    *sent({"name": "n"}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(APIKeyHeader)`",
)
async def a_key_in_a_header(body: Item, key: Annotated[str, Depends(APIKeyHeader(name="x-api-key"))]) -> str:
    return key


@shape(
    "`APIKeyQuery`",
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Security(APIKeyQuery)`",
)
async def a_key_in_the_query(key: Annotated[str, Security(APIKeyQuery(name="key"), scopes=["a"])]) -> str:
    return key


@shape(
    "a query parameter that is a scheme's name in other letters",
    Case({"key": "mine"}, params={"key": "mine"}),
    Case({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(APIKeyQuery)`",
)
async def a_key_in_other_letters(
    secret: Annotated[str | None, Depends(APIKeyQuery(name="Key", auto_error=False))], key: str = "none"
) -> list[Any]:
    return [secret, key]


@shape(
    "`APIKeyCookie`",
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(APIKeyCookie)`",
)
async def a_key_in_a_cookie(key: Annotated[str, Depends(APIKeyCookie(name="key"))]) -> str:
    return key


@shape(
    "`HTTPBearer`", *sent({}), group=GROUP, direct="its handler uses dependency injection: `Depends(HTTPBearer)`"
)
async def a_bearer(key: Annotated[Any, Depends(HTTPBearer())]) -> str:
    return "in"


@shape("`HTTPBasic`", *sent({}), group=GROUP, direct="its handler uses dependency injection: `Depends(HTTPBasic)`")
async def basic(key: Annotated[Any, Depends(HTTPBasic())]) -> str:
    return "in"


@shape(
    "a scheme without `auto_error`",
    *sent({}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(HTTPBearer)`",
)
async def a_lenient_bearer(key: Annotated[Any, Depends(HTTPBearer(auto_error=False))]) -> str:
    return f"anonymous: {key}"


oauth = OAuth2PasswordBearer(tokenUrl="token", scopes={"read": "Read."}, auto_error=False)


def user_of(scopes: SecurityScopes, token: Annotated[str | None, Depends(oauth)]) -> str:
    if token is None:
        raise HTTPException(401, f"needs {scopes.scope_str}", headers={"WWW-Authenticate": "Bearer"})
    return token


@shape(
    "`Security(..., scopes=[...])`",
    *sent({"name": "n"}, {}),
    group=GROUP,
    direct="its handler uses dependency injection: `Security(user_of)`",
)
async def scopes(body: Item, user: Annotated[str, Security(user_of, scopes=["read"])]) -> str:
    return user


@shape(
    "`OAuth2PasswordRequestForm`",
    Case(
        {"username": "u", "password": "p", "scope": "a b"},
        form={"username": "u", "password": "p", "scope": "a b"},
    ),
    Case({"username": "u"}, form={"username": "u"}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(OAuth2PasswordRequestForm)`",
)
async def a_login(form: Annotated[OAuth2PasswordRequestForm, Depends()]) -> list[Any]:
    return [form.username, form.password, form.scopes]


@shape(
    "a header that a security scheme reads too",
    Case({}, body={}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(APIKeyHeader)`",
)
async def a_key_read_twice(
    key: Annotated[str | None, Depends(APIKeyHeader(name="X-API-Key", auto_error=False))],
    x_api_key: Annotated[str | None, Header()] = None,
) -> list[Any]:
    return [key, x_api_key]


# Route classes, error handlers, middleware.


class Timed(APIRoute):
    def get_route_handler(self) -> Callable[..., Any]:
        handle = super().get_route_handler()

        async def timed(request: Request) -> Response:
            response: Response = await handle(request)
            body = bytes(response.body)
            return PlainTextResponse(f"timed: {body.decode()}", response.status_code)

        return timed


@built(
    "a route class with its own `get_route_handler`",
    *sent({"name": "n"}, {}),
    group=GROUP,
    direct="its route class Timed has a handler of its own",
)
def a_route_class(app: FastAPI, ran: Ran) -> None:
    router = APIRouter(route_class=Timed)

    @router.post("/tool")
    async def tool(body: Item) -> Item:
        ran()
        return body

    app.include_router(router)


class Odd(Exception):
    pass


@built(
    "custom exception handlers, of validation errors too",
    *sent({"name": "n"}, {"name": "odd"}, {"name": "http"}, {"name": 3}, {"name": "bad"}),
    group=GROUP,
)
def exception_handlers(app: FastAPI, ran: Ran) -> None:
    @app.exception_handler(Odd)
    async def odd(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": {"odd": str(error)}, "path": request.url.path}, 418)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"invalid": [list(each["loc"]) for each in error.errors()]}, 400)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        return PlainTextResponse(f"sorry: {error.detail}", error.status_code)

    @app.post("/tool")
    async def tool(body: Item) -> Item:
        ran()
        if body.name == "odd":
            raise Odd("seven")
        if body.name == "http":
            raise HTTPException(410, ["gone"])
        if body.name == "bad":
            raise RuntimeError("secret words")
        return body


@built("a handler of every exception", *sent({}), group=GROUP)
def a_handler_of_everything(app: FastAPI, ran: Ran) -> None:
    @app.exception_handler(Exception)
    async def anything(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": "something else"}, 500)

    @app.post("/tool")
    async def tool() -> None:
        ran()
        raise RuntimeError("secret words")


@built("a handler of a status", *sent({}), group=GROUP)
def a_handler_of_a_status(app: FastAPI, ran: Ran) -> None:
    @app.exception_handler(404)
    async def missing(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": "nothing here"}, 404)

    @app.post("/tool")
    async def tool() -> None:
        ran()
        raise HTTPException(404, "lost")


class Stamp:
    """Pure ASGI: adds a header to requests."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"x-stamp", b"stamped")]}
        await self.app(scope, receive, send)


async def needs_a_key(request: Request, call_next: Any) -> Response:
    if request.url.path == "/tool" and request.headers.get("x-api-key") != "sesame":
        return JSONResponse({"detail": "no key"}, 401)
    response: Response = await call_next(request)
    return response


async def puts_into_an_envelope(request: Request, call_next: Any) -> Response:
    response = await call_next(request)
    if request.url.path != "/tool":
        return response  # type: ignore[no-any-return]
    body = b"".join([part async for part in response.body_iterator])
    cookies = {name: value for name, value in response.headers.items() if name == "set-cookie"}
    whole = b'{"enveloped":' + body + b"}"
    return Response(whole, response.status_code, cookies, media_type="application/json")


def echo(app: FastAPI, ran: Ran) -> None:
    @app.post("/tool")
    async def tool(request: Request, body: Item) -> dict[str, Any]:
        ran()
        request.session["last"] = body.name
        return {"body": body, "stamp": request.headers.get("x-stamp"), "user": request.session.get("user")}


@built(
    "middleware that wants a key, without the key",
    *sent({"name": "n"}),
    group=GROUP,
    skipping="middleware guardshapes.needs_a_key would be skipped",
)
def a_guarding_middleware(app: FastAPI, ran: Ran) -> None:
    echo(app, ran)
    app.add_middleware(BaseHTTPMiddleware, dispatch=needs_a_key)


@built(
    "pure ASGI middleware",
    *sent({"name": "n"}, {}),
    group=GROUP,
    skipping="middleware guardshapes.Stamp would be skipped",
)
def an_asgi_middleware(app: FastAPI, ran: Ran) -> None:
    echo(app, ran)
    app.add_middleware(Stamp)


@built(
    "middleware that changes the reply",
    *sent({"name": "n"}, {}),
    group=GROUP,
    skipping="middleware guardshapes.puts_into_an_envelope would be skipped",
)
def a_changing_middleware(app: FastAPI, ran: Ran) -> None:
    echo(app, ran)
    app.add_middleware(BaseHTTPMiddleware, dispatch=puts_into_an_envelope)


@built(
    "`GZipMiddleware`",
    *sent({"name": "n" * 2000}),
    group=GROUP,
    skipping="middleware starlette.middleware.gzip.GZipMiddleware would be skipped",
)
def a_packing_middleware(app: FastAPI, ran: Ran) -> None:
    echo(app, ran)
    app.add_middleware(GZipMiddleware)


@built(
    "middleware that `skip_middleware` names",
    *sent({"name": "n"}, {}),
    group=GROUP,
    manifest={"skip_middleware": ["guardshapes.harmless"]},
)
def a_skipped_middleware(app: FastAPI, ran: Ran) -> None:
    echo(app, ran)
    app.add_middleware(BaseHTTPMiddleware, dispatch=harmless)


async def harmless(request: Request, call_next: Any) -> Response:
    response: Response = await call_next(request)
    response.headers["x-harmless"] = "yes"
    return response


# Dispatchers, routers and apps.


def dispatching(route: str) -> dict[str, Any]:
    """A manifest in which the route is a dispatcher with one tool, `lookup`."""
    spec = {"name": "lookup", "input_schema": {"type": "object"}}
    return {"routes": {"include": []}, "catch_all": [{"route": route, "tools": [spec]}]}


@built(
    "a dispatcher, `POST /{path}`",
    Case({"term": "a"}, path="/lookup", body={"term": "a"}),
    Case({}, path="/lookup", body={}),
    group=GROUP,
    route="POST /{path}",
    tool="lookup",
    manifest=dispatching("/{path}"),
)
def a_dispatcher(app: FastAPI, ran: Ran) -> None:
    @app.post("/{path}")
    async def dispatch(request: Request, path: str) -> dict[str, Any]:
        ran()
        request.session["last"] = path
        return {"path": path, "body": await request.json()}


@built(
    "a dispatcher of a `:path`, with a body model",
    Case({"name": "n"}, path="/tools/lookup", body={"name": "n"}),
    Case({}, path="/tools/lookup", body={}),
    group=GROUP,
    route="POST /tools/{path:path}",
    tool="lookup",
    manifest=dispatching("/tools/{path:path}"),
)
def a_dispatcher_with_a_model(app: FastAPI, ran: Ran) -> None:
    @app.post("/tools/{path:path}")
    def dispatch(path: str, body: Item) -> list[Any]:
        ran()
        return [path, body]


@built(
    "a dispatcher with a query parameter and a dependency",
    Case({"name": "n", "q": "x", "skip": 2}, path="/lookup", params={"q": "x", "skip": 2}, body={"name": "n"}),
    Case({"q": "x"}, path="/lookup", params={"q": "x"}, body={}),
    group=GROUP,
    route="POST /{path}",
    tool="lookup",
    direct="its handler uses dependency injection: `Depends(page)`",
    manifest=dispatching("/{path}"),
)
def a_dispatcher_with_more(app: FastAPI, ran: Ran) -> None:
    @app.post("/{path}")
    async def dispatch(path: str, body: Item, q: str, of_page: Annotated[Any, Depends(page)]) -> list[Any]:
        ran()
        return [path, body, q, of_page]


@built(
    "a dispatcher whose parameter is a number",
    Case({}, path="/lookup", body={}),
    group=GROUP,
    route="POST /{number}",
    tool="lookup",
    direct="the path parameter `number` is not a plain `str`",
    manifest=dispatching("/{number}"),
)
def a_dispatcher_of_numbers(app: FastAPI, ran: Ran) -> None:
    @app.post("/{number}")
    async def dispatch(request: Request, number: int) -> int:
        ran()
        return number


@built("a router with a prefix", *sent({"name": "n"}), group=GROUP, route="POST /v1/items/tool", tool="tool")
def a_router_with_a_prefix(app: FastAPI, ran: Ran) -> None:
    router = APIRouter(prefix="/items")

    @router.post("/tool")
    async def tool(request: Request, body: Item) -> list[Any]:
        ran()
        return [request.url.path, body]

    app.include_router(router, prefix="/v1")


@built(
    "response settings of the include",
    *sent({"name": "n"}),
    group=GROUP,
)
def settings_of_the_include(app: FastAPI, ran: Ran) -> None:
    router = APIRouter()

    @router.post("/tool")
    async def tool(body: Item) -> Any:
        ran()
        return body

    app.include_router(router, default_response_class=PlainTextAnswer)


class PlainTextAnswer(Response):
    media_type = "text/plain"

    def render(self, content: Any) -> bytes:
        return f"<{content}>".encode()


@built(
    "a mounted app",
    group=GROUP,
    excluded="a mounted app",
    route="* /sub",
)
def a_mounted_app(app: FastAPI, ran: Ran) -> None:
    inner = FastAPI()
    inner.post("/tool")(counted(with_a_body, ran))
    app.mount("/sub", inner)


@built("a route that is not FastAPI's", group=GROUP, excluded="not a FastAPI route", route="POST /plain")
def a_starlette_route(app: FastAPI, ran: Ran) -> None:
    async def plain(request: Request) -> Response:
        ran()
        return Response("plain")

    app.add_route("/plain", plain, methods=["POST"])


@built("a websocket", group=GROUP, excluded="a websocket", route="WEBSOCKET /socket")
def a_websocket(app: FastAPI, ran: Ran) -> None:
    @app.websocket("/socket")
    async def socket(websocket: Any) -> None: ...


@shape(
    "an annotation that cannot be resolved",
    group="Handlers",
    everywhere="the annotation of `body` cannot be resolved",
)
async def unresolved(body: "NotDefinedYet") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def form_city(city: Annotated[str, Form()]) -> str:
    return city


@shape(
    "a form of a dependency beside a query parameter",
    Case({"city": "P", "q": "x"}, form={"city": "P"}, params={"q": "x"}),
    Case({"city": "P"}, form={"city": "P"}),
    group=GROUP,
    direct="its handler uses dependency injection: `Depends(form_city)`",
)
async def a_form_of_a_dependency(city: Annotated[str, Depends(form_city)], q: str = "") -> Any:
    return [city, q]

"""The accept table and every trap: the same input through HTTP and MCP in twin sessions, compared exactly.

The matrix is data: each handler below is one shape, with its route settings and the inputs that both doors get.
"""

import asyncio
import base64
import gzip
import inspect
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import reduce
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import pytest
from fastapi import BackgroundTasks, Body, HTTPException, Request, Response
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    StreamingResponse,
)
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, computed_field, model_validator
from starlette.exceptions import HTTPException as StarletteHTTPException

Inputs = tuple[Any, ...]


class Item(BaseModel):
    name: str
    note: str | None = None
    price: float = 1.5


class Special(Item):
    secret: str = "hidden"


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    city_name: str = Field(alias="cityName")
    zip_code: int | None = Field(default=None, validation_alias="zip", serialization_alias="postal")


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Colour(Enum):
    RED = "red"


class Rich(BaseModel):
    when: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    amount: Decimal = Decimal("1.10")
    colour: Colour = Colour.RED
    who: UUID = UUID(int=7)
    raw: bytes = b"raw"
    tags: set[str] = {"one"}

    @computed_field
    def doubled(self) -> Decimal:
        return self.amount * 2


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    count: int


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Checked(BaseModel):
    count: Annotated[int, AfterValidator(even)] = 0
    kind: Literal["a", "b"] = "a"

    @model_validator(mode="after")
    def _together(self) -> "Checked":
        if self.kind == "b" and not self.count:
            raise ValueError("b needs a count")
        return self


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]


@dataclass(frozen=True)
class Shape:
    handler: Callable[..., Any]
    settings: dict[str, Any]
    inputs: Inputs


MATRIX: list[Shape] = []


def shape(*inputs: Any, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(handler: Callable[..., Any]) -> Callable[..., Any]:
        MATRIX.append(Shape(handler, settings, inputs or ({},)))
        return handler

    return add


# Bodies that are accepted, and what they make of every kind of argument.

WRONG: Inputs = ({}, {"name": None}, {"name": 3}, {"name": ["a"]}, {"name": "n", "price": "dear"})
TEXTS: Inputs = tuple(
    {"name": text}
    for text in (
        "",
        " ",
        "1e5",
        '"q"',
        "null",
        "ÄÖ😀",
        "a\u2028b\x00c\n\t",
        "<b>&</b>",
        "back\\slash",
        "x" * 70_000,
    )
)
NUMBERS: Inputs = (
    {"name": "n", "price": 10**30},
    {"name": "n", "price": 1e300},
    {"name": "n", "price": -0.0},
    {"name": "n", "price": 0.1},
    {"name": "n", "price": True},
)
EXTRA: Inputs = ({"name": "n", "extra": {"deep": [1, None, {"a": []}]}}, {"name": "n", "self": 1, "request": 2})


@shape({"name": "n"}, {"name": "n", "note": "x", "price": 2}, *WRONG, *TEXTS, *NUMBERS, *EXTRA)
async def a_model(body: Item) -> Item:
    return body


@shape({"name": "n"}, *WRONG)
def a_model_in_the_thread_pool(body: Item) -> Item:
    return body


@shape({"name": "n"}, *WRONG)
async def a_request_and_a_model(request: Request, body: Item) -> dict[str, Any]:
    return {
        "path": request.url.path,
        "method": request.method,
        "seeded": request.session.get("user"),
        **dict(body),
    }


DEEP = reduce(lambda inner, _: {"deep": inner}, range(90), {})


@shape({}, {"a": 1}, {"a": {"b": [1, "two", None, 3.5]}, "": ""}, {"big": 10**25, "neg": -(2**70)}, DEEP)
async def a_dict(body: dict) -> dict:
    return body


@shape({}, {"a": 1})
async def a_dict_of_any(body: dict[str, Any]) -> dict[str, Any]:
    return body


@shape({}, {"a": 1}, {"a": "one"})
async def a_dict_of_numbers(body: dict[str, int]) -> dict[str, int]:
    return body


@shape({}, {"a": 1})
async def a_dict_with_a_default(body: dict = Body(default={})) -> dict:  # noqa: B008
    return body


@shape({}, {"a": 1})
async def a_dict_by_annotation(body: Annotated[dict, Body(description="anything")]) -> dict:
    return body


@shape({}, {"a": 1}, {"nested": {"a": [1.0, 1e22, 10**40]}})
async def a_request_read_as_json(request: Request) -> Any:
    return await request.json()


@shape({}, {"a": "ä"}, {"name": "n", "b": [1, 2]})
async def a_request_read_as_bytes(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


@shape({"name": "n"}, {"name": "n", "more": 1})
async def a_model_and_the_raw_request(request: Request, body: Item) -> dict[str, Any]:
    return {"name": body.name, "raw": await request.json()}


@shape({})
async def a_request_read_as_a_stream(request: Request) -> dict[str, Any]:
    chunks = [chunk async for chunk in request.stream()]
    return {"body": b"".join(chunks).decode()}


@shape({}, {"ignored": 1})
async def no_parameters() -> dict[str, bool]:
    return {"ok": True}


@shape({}, {"ignored": 1})
def no_parameters_in_the_thread_pool() -> dict[str, bool]:
    return {"ok": True}


@shape({"cityName": "Paris"}, {"city_name": "Paris", "zip": 3}, {"cityName": "P", "postal": 3}, {})
async def aliases(body: Aliased) -> Aliased:
    return body


@shape(
    {"name": "root"}, {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}, {"children": [{}]}
)
async def recursion(body: Node) -> Node:
    return body


@shape({"count": 1}, {"count": "1"}, {"count": 1, "other": 2}, {"count": 1.0}, {"count": True})
async def strictness(body: Strict) -> Strict:
    return body


@shape({}, {"count": 3}, {"kind": "b"}, {"kind": "c"}, {"count": 2, "kind": "b"})
async def validators(body: Checked) -> Checked:
    return body


@shape({"items": [{"name": "n"}]}, {"items": [{}]}, {"items": {}})
async def generics(body: Page[Item]) -> Page[Item]:
    return body


@shape({"name": "n"})
async def a_request_of_what_http_sends(request: Request) -> dict[str, Any]:
    return {
        "url": str(request.url),
        "base": str(request.base_url),
        "type": request.headers["content-type"],
        "length": request.headers["content-length"] == str(len(await request.body())),
        "token": "x-nemo-gym-session-token" in request.headers,
        "query": dict(request.query_params),
        "params": request.path_params,
        "client": request.client.host,
        "state": dict(request.state._state),
        "app": request.app.title,
        "gone": await request.is_disconnected(),
        "endpoint": request.scope["endpoint"].__name__,
        "for": str(request.url_for("a_request_of_what_http_sends")),
    }


# What handlers return.


@shape({"cityName": "Paris"}, response_model=Aliased, response_model_by_alias=False)
async def names_instead_of_aliases(body: Aliased) -> Any:
    return body


@shape(response_model=Item, response_model_exclude_none=True)
async def without_nulls() -> Any:
    return {"name": "n", "note": None}


@shape(response_model=Item, response_model_exclude_unset=True)
async def without_unset() -> Any:
    return Item(name="n")


@shape(response_model=Item, response_model_exclude_defaults=True)
async def without_defaults() -> Any:
    return Item(name="n", price=1.5)


@shape(response_model=Item, response_model_include={"name"})
async def a_part() -> Any:
    return Item(name="n", note="x")


@shape(response_model=Item)
async def a_dict_through_a_response_model() -> Any:
    return {"name": "n", "secret": "hidden"}


@shape()
async def a_subclass_as_its_base() -> Item:
    return Special(name="n")


@shape(response_model=None)
async def a_subclass_without_a_response_model() -> Item:
    return Special(name="n")


@shape()
async def a_list_of_models() -> list[Item]:
    return [Item(name="a"), Special(name="b")]


@shape()
async def an_empty_list() -> list[Item]:
    return []


@shape()
async def a_union_of_models() -> Item | Aliased:
    return Aliased(cityName="P")


@shape()
async def rich_types() -> Rich:
    return Rich()


@shape(response_model=None)
async def rich_types_without_a_model() -> Any:
    return {"when": datetime(2026, 1, 1), "amount": Decimal("1.10"), "colour": Colour.RED, "tags": ("a", "b")}


@shape()
async def an_answer_that_breaks_its_model() -> Item:
    return {"price": "dear"}


@shape()
async def an_answer_that_no_json_can_carry() -> Any:
    return object()


@shape()
async def none() -> None:
    return None


@shape()
async def none_without_annotation():
    return None


@shape()
async def a_number() -> int:
    return 10**30


@shape()
async def a_float_of_many_digits() -> float:
    return 1e22


@shape()
async def a_bool() -> bool:
    return True


@shape({"name": "1e5"}, {"name": '"q"'}, {"name": ""}, {"name": '{"a": 1}'}, {"name": "null"}, {"name": "ä\n😀"})
async def a_json_string(body: Item) -> str:
    return body.name


@shape({"name": "1e5"}, {"name": '"q"'}, {"name": ""}, {"name": '{"a": 1}'}, {"name": "ä\n😀"})
async def plain_text(body: Item) -> PlainTextResponse:
    return PlainTextResponse(body.name)


@shape(response_class=PlainTextResponse)
async def plain_text_by_class() -> str:
    return "1e5"


@shape(response_class=HTMLResponse)
async def html() -> str:
    return "<p>hä</p>"


@shape()
async def text_without_a_type() -> Response:
    return Response("bare")


@shape()
async def text_of_another_charset() -> Response:
    return Response("grün".encode("latin-1"), media_type="text/plain; charset=latin-1")


@shape()
async def xml() -> Response:
    return Response("<a/>", media_type="application/xml")


@shape()
async def json_of_its_own_kind() -> JSONResponse:
    return JSONResponse({"a": 1}, media_type="application/problem+json")


@shape()
async def json_with_spaces() -> Response:
    return Response('{ "a" : 1.0, "a" : 1e2 }\n', media_type="application/json")


@shape()
async def json_that_is_none() -> Response:
    return Response('{"a": ', media_type="application/json")


@shape()
async def an_empty_json_reply() -> Response:
    return Response(b"", media_type="application/json")


@shape()
async def a_stream() -> StreamingResponse:
    return StreamingResponse(iter(["one ", "two ", "1e5"]), media_type="text/plain")


@shape()
async def an_async_stream() -> StreamingResponse:
    async def parts() -> AsyncIterator[bytes]:
        for part in (b'{"a"', b":", b"1}"):
            await asyncio.sleep(0)
            yield part

    return StreamingResponse(parts(), media_type="application/json")


@shape()
async def json_lines() -> AsyncIterator[Item]:
    for name in "ab":
        yield Item(name=name)


@shape()
def json_lines_in_the_thread_pool() -> Iterator[Item]:
    yield Item(name="a")


@shape()
async def gzipped() -> Response:
    packed = gzip.compress('{"a": "ä"}'.encode())
    return Response(packed, media_type="application/json", headers={"content-encoding": "gzip"})


@shape()
async def a_gzipped_failure() -> Response:
    packed = gzip.compress(b'{"detail": "no"}')
    return Response(packed, 400, media_type="application/json", headers={"content-encoding": "gzip"})


@shape()
async def deflated() -> Response:
    return Response(zlib.compress(b"text"), media_type="text/plain", headers={"content-encoding": "deflate"})


@shape()
async def a_file() -> FileResponse:
    return FileResponse(__file__, media_type="text/plain")


@shape(status_code=201)
async def created() -> dict[str, int]:
    return {"id": 1}


@shape(status_code=204)
async def no_content() -> None:
    return None


@shape(status_code=202, response_model=Item)
async def accepted_with_a_model() -> Any:
    return Special(name="n")


@shape()
async def a_status_of_the_injected_response(response: Response) -> dict[str, int]:
    response.status_code = 206
    response.headers["x-extra"] = "1"
    return {"id": 1}


@shape()
async def a_failure_of_the_injected_response(response: Response) -> dict[str, Any]:
    response.status_code = 409
    return {"id": 1, "detail": {"why": "conflict"}}


@shape()
async def a_reply_of_its_own() -> JSONResponse:
    return JSONResponse({"id": 1}, status_code=203, headers={"x-extra": "1"})


@shape()
async def a_redirect() -> RedirectResponse:
    return RedirectResponse("/elsewhere")


# Failures.


@shape()
async def a_text_detail() -> None:
    raise HTTPException(404, "no such city")


@shape()
async def a_dict_detail() -> None:
    raise HTTPException(400, {"code": 7, "message": "ä"})


@shape()
async def a_list_detail() -> None:
    raise HTTPException(400, [1, {"a": None}])


@shape()
async def no_detail() -> None:
    raise HTTPException(418)


@shape()
async def an_empty_detail() -> None:
    raise HTTPException(400, "")


@shape()
async def a_number_detail() -> None:
    raise HTTPException(400, 3)


@shape()
async def a_detail_that_looks_like_json() -> None:
    raise HTTPException(400, "1e5")


@shape()
async def a_detail_with_headers() -> None:
    raise HTTPException(429, "slow down", headers={"retry-after": "3"})


@shape()
async def an_exception_of_starlette() -> None:
    raise StarletteHTTPException(402, "pay")


@shape()
async def a_failure_without_a_body() -> None:
    raise HTTPException(304)


@shape()
def a_failure_in_the_thread_pool() -> None:
    raise HTTPException(400, "from a thread")


@shape()
async def a_crash() -> None:
    raise RuntimeError("secret words")


@shape()
def a_crash_in_the_thread_pool() -> None:
    raise KeyError("secret words")


@shape()
async def a_group_of_crashes() -> None:
    raise ExceptionGroup("group", [ValueError("secret words")])


@shape()
async def a_failing_reply_in_plain_text() -> PlainTextResponse:
    return PlainTextResponse("1e5", status_code=400)


@shape()
async def a_failing_reply_with_a_json_string() -> JSONResponse:
    return JSONResponse("just so", status_code=400)


@shape()
async def a_failing_reply_without_detail() -> JSONResponse:
    return JSONResponse({"error": "ä", "n": 1.0}, status_code=503)


@shape()
async def a_failing_reply_with_a_null_detail() -> JSONResponse:
    return JSONResponse({"detail": None, "n": 1}, status_code=400)


@shape()
async def a_failing_reply_with_a_list() -> JSONResponse:
    return JSONResponse([{"detail": 1}], status_code=400)


@shape()
async def a_failing_reply_without_anything() -> Response:
    return Response(status_code=500)


# Numbers that JSON has no words for, in both directions.


@shape()
async def nan_of_a_dict() -> dict:
    return {"value": float("nan")}


@shape()
async def infinity_of_a_model() -> Item:
    return Item(name="n", price=float("inf"))


@shape()
async def an_integer_of_5000_digits() -> Response:
    return Response('{"value": ' + "9" * 5000 + "}", media_type="application/json")


@shape({"name": "n", "price": float("nan")}, {"name": "n", "price": float("-inf")})
async def infinity_as_an_argument(body: Item) -> dict[str, str]:
    return {"price": str(body.price)}


# Factories.


def make_handler(model: type[BaseModel]) -> Callable[..., Any]:
    async def made(**values: Any) -> Any:
        return values["body"]

    parameter = inspect.Parameter("body", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=model)
    made.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    return made


made_by_a_factory = shape({"name": "n"}, *WRONG)(make_handler(Item))
made_by_a_factory.__name__ = "made_by_a_factory"


class Toolbox:
    async def method(self, body: Item) -> Item:
        """A method."""
        return body

    async def __call__(self, body: Item) -> Item:
        return body


bound = shape({"name": "n"}, {})(Toolbox().method)


@pytest.mark.parametrize("case", MATRIX, ids=lambda case: case.handler.__name__)
def test_both_doors_answer_alike(make_app, open_door, ask_twins, case):
    app = make_app()
    app.post("/tool", **case.settings)(case.handler)
    door = open_door(app)
    for arguments in case.inputs:
        twins = ask_twins(door, "tool", arguments, seed={"session": {"user": "ada"}})
        twins.assert_equal("/tool")


def test_the_matrix_has_successes_and_failures_of_every_kind(make_app, open_door, ask_twins):
    app = make_app()
    for case in MATRIX:
        app.post(f"/{case.handler.__name__}", **case.settings)(case.handler)
    door = open_door(app)
    assert len(door.names()) == len(MATRIX)
    statuses = {ask_twins(door, case.handler.__name__, case.inputs[-1]).http.status_code for case in MATRIX}
    assert {200, 201, 202, 203, 204, 206, 304, 307, 400, 404, 409, 418, 422, 429, 500, 503} <= statuses


# What differs from text on purpose.


@pytest.mark.parametrize(
    ("media_type", "block"),
    [
        ("image/png", {"type": "image", "mimeType": "image/png"}),
        ("image/svg+xml", {"type": "image", "mimeType": "image/svg+xml"}),
        ("audio/wav", {"type": "audio", "mimeType": "audio/wav"}),
    ],
)
def test_images_and_audio_come_as_their_content_types(make_app, open_door, media_type, block):
    app = make_app()
    app.post("/tool")(lambda: Response(b"\x89PNG\x00", media_type=media_type))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert {key: content[key] for key in block} == block
    assert base64.b64decode(content["data"]) == b"\x89PNG\x00"


@pytest.mark.parametrize("media_type", ["application/pdf", "application/octet-stream", "video/mp4", None])
def test_other_bytes_come_as_an_embedded_blob(make_app, open_door, media_type):
    app = make_app()
    app.post("/tool")(lambda: Response(b"\xff\xfe\x00", media_type=media_type))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert content["type"] == "resource"
    assert content["resource"]["uri"] == "resource:///tool"
    assert content["resource"]["mimeType"] == media_type or media_type is None
    assert base64.b64decode(content["resource"]["blob"]) == b"\xff\xfe\x00"


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, br"])
def test_an_encoding_that_cannot_be_undone_comes_as_the_bytes_that_it_is(make_app, open_door, encoding):
    app = make_app()
    headers = {"content-encoding": encoding}
    app.post("/tool")(lambda: Response(b"\xff\x00", media_type="text/plain", headers=headers))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert base64.b64decode(content["resource"]["blob"]) == b"\xff\x00"


def test_a_stream_that_breaks_midway_is_a_failure_never_a_short_answer(make_app, open_door):
    def parts() -> Iterator[str]:
        yield "the first half"
        raise RuntimeError("broken")

    app = make_app()
    app.post("/tool")(lambda: StreamingResponse(parts(), media_type="text/plain"))
    door = open_door(app)
    result = door.call("tool", {}, door.seed())
    assert result["isError"] is True
    assert result["content"][0]["text"] == "HTTP 200 from POST /tool: broke off after 14 bytes"


def test_a_file_that_is_gone_is_a_failure(make_app, open_door, tmp_path):
    app = make_app()
    app.post("/tool")(lambda: FileResponse(tmp_path / "gone"))
    door = open_door(app)
    assert door.call("tool", {}, door.seed())["isError"] is True


@pytest.mark.parametrize("background", [True, False])
def test_background_tasks_run_once_and_the_answer_does_not_wait_for_them(make_app, open_door, background):
    release, runs = asyncio.Event(), []

    async def later() -> None:
        await release.wait()
        runs.append("ran")

    app = make_app()

    if background:

        @app.post("/tool")
        async def tool(tasks: BackgroundTasks) -> dict[str, int]:
            tasks.add_task(later)
            return {"runs": len(runs)}
    else:

        @app.post("/tool")
        async def tool() -> JSONResponse:
            tasks = BackgroundTasks()
            tasks.add_task(later)
            return JSONResponse({"runs": len(runs)}, background=tasks)

    @app.post("/release")
    async def let_go() -> dict[str, int]:
        release.set()
        for _ in range(20):
            await asyncio.sleep(0)
        return {"runs": len(runs)}

    door = open_door(app)
    session = door.seed()
    assert door.call("tool", {}, session)["structuredContent"] == {"runs": 0}
    assert door.call("release", {}, session)["structuredContent"] == {"runs": 1}


def test_a_background_task_that_fails_leaves_the_answer_alone(make_app, open_door):
    app = make_app()

    @app.post("/tool")
    async def tool(tasks: BackgroundTasks) -> dict[str, int]:
        tasks.add_task(lambda: 1 / 0)
        return {"id": 1}

    door = open_door(app)
    session = door.seed()
    assert door.call("tool", {}, session)["structuredContent"] == {"id": 1}
    assert door.call("tool", {}, session)["structuredContent"] == {"id": 1}


UNCARRIED = {
    "nan": '{"value": NaN, "inf": -Infinity}',
    "a number beyond every float": '{"value": 1e999}',
    "a lone surrogate": '{"value": "\\ud800"}',
    "a lone surrogate as a key": '{"\\udfff": 1}',
    "nesting": '{"a":' * 500 + "1" + "}" * 500,
    "nesting of lists": '{"a":' + "[" * 5000 + "]" * 5000 + "}",
}


@pytest.mark.parametrize("body", UNCARRIED.values(), ids=UNCARRIED.keys())
def test_json_that_not_every_client_could_carry_comes_as_its_text(make_app, open_door, body):
    app = make_app()
    app.post("/tool")(lambda: Response(body, media_type="application/json"))
    app.post("/failing")(lambda: Response(body, status_code=400, media_type="application/json"))
    door = open_door(app)
    session = door.seed()
    result = door.call("tool", {}, session)
    assert result == {"content": [{"type": "text", "text": body}], "isError": False}
    assert door.text("failing", {}, session) == f"HTTP 400 from POST /failing: {body}"


def test_nesting_that_clients_can_carry_stays_structured(make_app, open_door):
    body = '{"a":' * 90 + "1" + "}" * 90
    app = make_app()
    app.post("/tool")(lambda: Response(body, media_type="application/json"))
    door = open_door(app)
    assert "structuredContent" in door.call("tool", {}, door.seed())


def test_a_coroutine_that_a_sync_handler_returns_is_what_it_is_over_http(make_app, open_door, ask_twins):
    made = []

    async def later() -> None: ...

    def handler() -> Any:
        made.append(later())
        return made[-1]

    app = make_app()
    app.post("/tool")(handler)
    twins = ask_twins(open_door(app), "tool")
    for coroutine in made:
        coroutine.close()
    assert len(made) == 2
    twins.assert_equal("/tool")

"""Shapes of replies: whatever a handler answers, and whatever goes wrong in it."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from fastapi import BackgroundTasks, FastAPI, HTTPException, Response
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    StreamingResponse,
)
from fastapi.sse import EventSourceResponse
from shapebook import Ran, built, sent, shape
from shapemodels import Aliased, Colour, Item, Rich, Special
from starlette.exceptions import HTTPException as StarletteHTTPException


def reply(*inputs: Any, **settings: Any) -> Callable[[Any], Any]:
    """A shape of which only the reply matters."""

    def add(handler: Any) -> Any:
        title = handler.__name__.replace("_", " ")
        return shape(title, *sent(*(inputs or ({},))), group="Replies", **settings)(handler)

    return add


# What handlers return.


@reply({"cityName": "Paris"}, response_model=Aliased, response_model_by_alias=False)
async def names_instead_of_aliases(body: Aliased) -> Any:
    return body


@reply(response_model=Item, response_model_exclude_none=True)
async def without_nulls() -> Any:
    return {"name": "n", "note": None}


@reply(response_model=Item, response_model_exclude_unset=True)
async def without_unset() -> Any:
    return Item(name="n")


@reply(response_model=Item, response_model_exclude_defaults=True)
async def without_defaults() -> Any:
    return Item(name="n", price=1.5)


@reply(response_model=Item, response_model_include={"name"})
async def a_part() -> Any:
    return Item(name="n", note="x")


@reply(response_model=Item)
async def a_dict_through_a_response_model() -> Any:
    return {"name": "n", "secret": "hidden"}


@reply()
async def a_subclass_as_its_base() -> Item:
    return Special(name="n")


@reply(response_model=None)
async def a_subclass_without_a_response_model() -> Item:
    return Special(name="n")


@reply()
async def a_list_of_models() -> list[Item]:
    return [Item(name="a"), Special(name="b")]


@reply()
async def an_empty_list() -> list[Item]:
    return []


@reply()
async def a_union_of_models() -> Item | Aliased:
    return Aliased(cityName="P")


@reply()
async def rich_types() -> Rich:
    return Rich()


@reply(response_model=None)
async def rich_types_without_a_model() -> Any:
    return {"when": datetime(2026, 1, 1), "amount": Decimal("1.10"), "colour": Colour.RED, "tags": ("a", "b")}


@reply()
async def an_answer_that_breaks_its_model() -> Item:
    return {"price": "dear"}


@reply()
async def an_answer_that_no_json_can_carry() -> Any:
    return object()


@reply()
async def none() -> None:
    return None


@reply()
async def none_without_annotation():
    return None


@reply()
async def a_number() -> int:
    return 10**30


@reply()
async def a_float_of_many_digits() -> float:
    return 1e22


@reply()
async def a_bool() -> bool:
    return True


@reply({"name": "1e5"}, {"name": '"q"'}, {"name": ""}, {"name": '{"a": 1}'}, {"name": "null"}, {"name": "ä\n😀"})
async def a_json_string(body: Item) -> str:
    return body.name


@reply({"name": "1e5"}, {"name": '"q"'}, {"name": ""}, {"name": '{"a": 1}'}, {"name": "ä\n😀"})
async def plain_text(body: Item) -> PlainTextResponse:
    return PlainTextResponse(body.name)


@reply(response_class=PlainTextResponse)
async def plain_text_by_class() -> str:
    return "1e5"


@reply(response_class=HTMLResponse)
async def html() -> str:
    return "<p>hä</p>"


@reply()
async def text_without_a_type() -> Response:
    return Response("bare")


@reply()
async def text_of_another_charset() -> Response:
    return Response("grün".encode("latin-1"), media_type="text/plain; charset=latin-1")


@reply()
async def xml() -> Response:
    return Response("<a/>", media_type="application/xml")


@reply()
async def json_of_its_own_kind() -> JSONResponse:
    return JSONResponse({"a": 1}, media_type="application/problem+json")


@reply()
async def json_with_spaces() -> Response:
    return Response('{ "a" : 1.0, "a" : 1e2 }\n', media_type="application/json")


@reply()
async def json_that_is_none() -> Response:
    return Response('{"a": ', media_type="application/json")


@reply()
async def an_empty_json_reply() -> Response:
    return Response(b"", media_type="application/json")


@reply()
async def a_stream() -> StreamingResponse:
    return StreamingResponse(iter(["one ", "two ", "1e5"]), media_type="text/plain")


@reply()
async def an_async_stream() -> StreamingResponse:
    async def parts() -> AsyncIterator[bytes]:
        for part in (b'{"a"', b":", b"1}"):
            await asyncio.sleep(0)
            yield part

    return StreamingResponse(parts(), media_type="application/json")


@reply()
async def json_lines() -> AsyncIterator[Item]:
    for name in "ab":
        yield Item(name=name)


@reply()
def json_lines_in_the_thread_pool() -> Iterator[Item]:
    yield Item(name="a")


@reply(response_class=StreamingResponse)
async def a_stream_by_class() -> AsyncIterator[str]:
    yield "one "
    yield "two"


@reply(response_class=EventSourceResponse)
async def server_sent_events() -> AsyncIterator[Item]:
    yield Item(name="a")
    yield Item(name="b")


@reply()
async def gzipped() -> Response:
    packed = gzip.compress('{"a": "ä"}'.encode())
    return Response(packed, media_type="application/json", headers={"content-encoding": "gzip"})


@reply()
async def a_gzipped_failure() -> Response:
    packed = gzip.compress(b'{"detail": "no"}')
    return Response(packed, 400, media_type="application/json", headers={"content-encoding": "gzip"})


@reply()
async def deflated() -> Response:
    return Response(zlib.compress(b"text"), media_type="text/plain", headers={"content-encoding": "deflate"})


@reply()
async def gzipped_twice_in_capitals() -> Response:
    packed = gzip.compress(gzip.compress(b"text"))
    return Response(packed, media_type="text/plain", headers={"content-encoding": "GZip, gzip"})


@reply()
async def deflated_without_a_header() -> Response:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(b"text") + packer.flush()
    return Response(packed, media_type="text/plain", headers={"content-encoding": "deflate"})


@reply()
async def a_file() -> FileResponse:
    return FileResponse(__file__, media_type="text/plain")


@reply(status_code=201)
async def created() -> dict[str, int]:
    return {"id": 1}


@reply(status_code=204)
async def no_content() -> None:
    return None


@reply(status_code=202, response_model=Item)
async def accepted_with_a_model() -> Any:
    return Special(name="n")


@reply()
async def a_status_of_the_injected_response(response: Response) -> dict[str, int]:
    response.status_code = 206
    response.headers["x-extra"] = "1"
    return {"id": 1}


@reply()
async def a_failure_of_the_injected_response(response: Response) -> dict[str, Any]:
    response.status_code = 409
    return {"id": 1, "detail": {"why": "conflict"}}


@reply()
async def a_reply_of_its_own() -> JSONResponse:
    return JSONResponse({"id": 1}, status_code=203, headers={"x-extra": "1"})


@reply()
async def a_redirect() -> RedirectResponse:
    return RedirectResponse("/elsewhere")


# Failures.


@reply()
async def a_text_detail() -> None:
    raise HTTPException(404, "no such city")


@reply()
async def a_dict_detail() -> None:
    raise HTTPException(400, {"code": 7, "message": "ä"})


@reply()
async def a_list_detail() -> None:
    raise HTTPException(400, [1, {"a": None}])


@reply()
async def no_detail() -> None:
    raise HTTPException(418)


@reply()
async def an_empty_detail() -> None:
    raise HTTPException(400, "")


@reply()
async def a_number_detail() -> None:
    raise HTTPException(400, 3)


@reply()
async def a_detail_that_looks_like_json() -> None:
    raise HTTPException(400, "1e5")


@reply()
async def a_detail_with_headers() -> None:
    raise HTTPException(429, "slow down", headers={"retry-after": "3"})


@reply()
async def an_exception_of_starlette() -> None:
    raise StarletteHTTPException(402, "pay")


@reply()
async def a_failure_without_a_body() -> None:
    raise HTTPException(304)


@reply()
def a_failure_in_the_thread_pool() -> None:
    raise HTTPException(400, "from a thread")


@reply()
async def a_crash() -> None:
    raise RuntimeError("secret words")


@reply()
def a_crash_in_the_thread_pool() -> None:
    raise KeyError("secret words")


@reply()
async def a_group_of_crashes() -> None:
    raise ExceptionGroup("group", [ValueError("secret words")])


@reply()
async def a_failing_reply_in_plain_text() -> PlainTextResponse:
    return PlainTextResponse("1e5", status_code=400)


@reply()
async def a_failing_reply_with_a_json_string() -> JSONResponse:
    return JSONResponse("just so", status_code=400)


@reply()
async def a_failing_reply_without_detail() -> JSONResponse:
    return JSONResponse({"error": "ä", "n": 1.0}, status_code=503)


@reply()
async def a_failing_reply_with_a_null_detail() -> JSONResponse:
    return JSONResponse({"detail": None, "n": 1}, status_code=400)


@reply()
async def a_failing_reply_with_a_list() -> JSONResponse:
    return JSONResponse([{"detail": 1}], status_code=400)


@reply()
async def a_failing_reply_without_anything() -> Response:
    return Response(status_code=500)


# Numbers that JSON has no words for, in both directions.


@reply()
async def nan_of_a_dict() -> dict:
    return {"value": float("nan")}


@reply()
async def infinity_of_a_model() -> Item:
    return Item(name="n", price=float("inf"))


@reply()
async def an_integer_of_5000_digits() -> Response:
    return Response('{"value": ' + "9" * 5000 + "}", media_type="application/json")


@reply({"name": "n", "price": float("nan")}, {"name": "n", "price": float("-inf")})
async def infinity_as_an_argument(body: Item) -> dict[str, str]:
    return {"price": str(body.price)}


# Bytes, and classes of replies.


class Shouting(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return str(content).upper().replace("'", '"').encode()


@reply()
async def an_image() -> Response:
    return Response(b"\x89PNG\x00", media_type="image/png")


@reply()
async def audio() -> Response:
    return Response(b"RIFF\x00", media_type="audio/wav")


@reply()
async def other_bytes() -> Response:
    return Response(b"\xff\xfe\x00", media_type="application/pdf")


@reply()
async def bytes_of_no_kind() -> Response:
    return Response(b"\xff\xfe\x00")


@reply(response_class=Shouting)
async def a_response_class_of_ones_own() -> dict[str, str]:
    return {"a": "b"}


@reply(response_class=RedirectResponse)
async def a_redirect_by_class() -> str:
    return "/elsewhere"


@reply(response_class=FileResponse)
async def a_file_by_class() -> str:
    return __file__


@reply(status_code=404)
async def a_failing_status_of_the_decorator() -> dict[str, int]:
    return {"id": 1}


@reply(response_model=list[Item], response_model_exclude={"price"})
async def parts_of_a_list() -> Any:
    return [Item(name="a"), {"name": "b", "secret": 1}]


@reply({"name": "a"}, {"name": "b"})
async def an_optional_model(body: Item) -> Item | None:
    return body if body.name == "a" else None


@reply()
async def a_dict_of_models() -> dict[str, Item]:
    return {"one": Special(name="n")}


@reply()
async def a_list_of_scalars() -> list[Any]:
    return [1, "two", None, 3.5, True]


@reply({"name": "n"})
async def background_tasks(tasks: BackgroundTasks, body: Item) -> Item:
    tasks.add_task(lambda: None)
    return body


@reply()
async def null_by_hand() -> JSONResponse:
    return JSONResponse(None)


@built("a coroutine returned by a sync handler", *sent({"name": "n"}, {}), group="Replies")
def a_returned_coroutine(app: FastAPI, ran: Ran) -> None:
    async def inner(body: Item) -> Item:
        return body

    def tool(body: Item) -> Any:
        ran()
        coroutine = inner(body)
        coroutine.close()
        return coroutine

    app.post("/tool")(tool)

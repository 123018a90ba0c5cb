"""Shapes of requests: which part of a request each argument becomes, for everything that FastAPI reads."""

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import reduce
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Body, Cookie, FastAPI, File, Form, Header, Path, Query, Request, Response, UploadFile
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, Json, RootModel
from pydantic.alias_generators import to_camel
from shapebook import Case, Ran, bare, built, sent, shape
from shapemodels import Aliased, Checked, Item, Loose, Node, Page, Strict, Tight
from typing_extensions import TypedDict

Inputs = tuple[Any, ...]

NO_TEXTS: list[str] = []
ONE_TEXT = ["none"]

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


@shape(
    "`body: Model`",
    *sent({"name": "n"}, {"name": "n", "note": "x", "price": 2}, *WRONG, *TEXTS, *NUMBERS, *EXTRA),
    group="Bodies",
)
async def a_model(body: Item) -> Item:
    return body


@shape("`def tool(body: Model)`, sync", *sent({"name": "n"}, *WRONG), group="Bodies")
def a_model_in_the_thread_pool(body: Item) -> Item:
    return body


@shape("`request: Request, body: Model`", *sent({"name": "n"}, *WRONG), group="Bodies")
async def a_request_and_a_model(request: Request, body: Item) -> dict[str, Any]:
    return {
        "path": request.url.path,
        "method": request.method,
        "seeded": request.session.get("user"),
        **dict(body),
    }


DEEP = reduce(lambda inner, _: {"deep": inner}, range(90), {})


@shape(
    "`body: dict`",
    *sent({}, {"a": 1}, {"a": {"b": [1, "two", None, 3.5]}, "": ""}, {"big": 10**25, "neg": -(2**70)}, DEEP),
    group="Bodies",
)
async def a_dict(body: dict) -> dict:
    return body


@shape("`body: dict[str, Any]`", *sent({}, {"a": 1}), group="Bodies")
async def a_dict_of_any(body: dict[str, Any]) -> dict[str, Any]:
    return body


@shape("`body: dict[str, int]`", *sent({}, {"a": 1}, {"a": "one"}), group="Bodies")
async def a_dict_of_numbers(body: dict[str, int]) -> dict[str, int]:
    return body


@shape("`body: dict = Body(default={})`", *sent({}, {"a": 1}), group="Bodies")
async def a_dict_with_a_default(body: dict = Body(default={})) -> dict:  # noqa: B008
    return body


@shape("`body: Annotated[dict, Body(...)]`", *sent({}, {"a": 1}), group="Bodies")
async def a_dict_by_annotation(body: Annotated[dict, Body(description="anything")]) -> dict:
    return body


@shape("`await request.json()`", *sent({}, {"a": 1}, {"nested": {"a": [1.0, 1e22, 10**40]}}), group="Bodies")
async def a_request_read_as_json(request: Request) -> Any:
    return await request.json()


@shape("`await request.body()`", *sent({}, {"a": "ä"}, {"name": "n", "b": [1, 2]}), group="Bodies")
async def a_request_read_as_bytes(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


@shape(
    "`body: Model`, and the request read as well", *sent({"name": "n"}, {"name": "n", "more": 1}), group="Bodies"
)
async def a_model_and_the_raw_request(request: Request, body: Item) -> dict[str, Any]:
    return {"name": body.name, "raw": await request.json()}


@shape("`request.stream()`", *sent({}), group="Bodies")
async def a_request_read_as_a_stream(request: Request) -> dict[str, Any]:
    chunks = [chunk async for chunk in request.stream()]
    return {"body": b"".join(chunks).decode()}


@shape("no parameters", *sent({}), *sent({"ignored": 1}, modes=("direct",)), group="Handlers")
async def no_parameters() -> dict[str, bool]:
    return {"ok": True}


@shape("no parameters, sync", *sent({}), *sent({"ignored": 1}, modes=("direct",)), group="Handlers")
def no_parameters_in_the_thread_pool() -> dict[str, bool]:
    return {"ok": True}


@shape(
    "a model with aliases",
    *sent({"cityName": "Paris"}, {"city_name": "Paris", "zip": 3}, {"cityName": "P", "postal": 3}, {}),
    group="Bodies",
)
async def aliases(body: Aliased) -> Aliased:
    return body


@shape(
    "a model that contains itself",
    *sent(
        {"name": "root"},
        {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]},
        {"children": [{}]},
    ),
    group="Bodies",
)
async def recursion(body: Node) -> Node:
    return body


@shape(
    "a strict model that forbids extra fields",
    *sent({"count": 1}, {"count": "1"}, {"count": 1, "other": 2}, {"count": 1.0}, {"count": True}),
    group="Bodies",
)
async def strictness(body: Strict) -> Strict:
    return body


@shape(
    "a model with validators",
    *sent({}, {"count": 3}, {"kind": "b"}, {"kind": "c"}, {"count": 2, "kind": "b"}),
    group="Bodies",
)
async def validators(body: Checked) -> Checked:
    return body


@shape("a generic model", *sent({"items": [{"name": "n"}]}, {"items": [{}]}, {"items": {}}), group="Bodies")
async def generics(body: Page[Item]) -> Page[Item]:
    return body


@shape(
    "everything else of the request: `url`, `client`, `state`, `url_for`", *sent({"name": "n"}), group="Handlers"
)
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


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str
    home_town: str = "Rome"


class Choosy(BaseModel):
    size: int = Field(validation_alias=AliasChoices("size", "width"))


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Address(BaseModel):
    street: str
    tags: list[str] = []


class Person(BaseModel):
    name: str
    home: Address
    others: dict[str, Address] = {}
    born: date | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Pets(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    friends: list[Cat | Dog] = []


class Cities(RootModel[list[str]]):
    pass


class Facts(RootModel[dict[str, int]]):
    pass


@dataclass
class Point:
    x: int
    y: int = 0


class Box(TypedDict):
    width: int
    height: int


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


PARIS = Item(name="Paris")


@shape(
    "a model with an alias generator, by name too",
    *sent({"firstName": "Ada"}, {"first_name": "Ada", "homeTown": "London"}, {"homeTown": "London"}),
    group="Bodies",
)
async def an_alias_generator(body: Camel) -> Camel:
    return body


@shape("a model with several aliases", *sent({"size": 1}, {"width": 2}, {"length": 3}), group="Bodies")
async def alias_choices(body: Choosy) -> Choosy:
    return body


@shape("a model that allows extra fields", *sent({"name": "n", "more": [1, {}]}, {"more": 1}), group="Bodies")
async def extra_fields(body: Open) -> dict[str, Any]:
    return body.model_dump()


@shape(
    "a nested model",
    *sent(
        {
            "name": "n",
            "home": {"street": "s", "tags": ["a"]},
            "others": {"w": {"street": "t"}},
            "born": "2000-02-29",
        },
        {"name": "n", "home": {"street": 3}},
        {"name": "n", "home": None},
        {"name": "n", "home": {"street": "s"}, "born": "yesterday"},
    ),
    group="Bodies",
)
async def a_nested_model(body: Person) -> Person:
    return body


@shape(
    "a model with a discriminated union",
    *sent(
        {"pet": {"kind": "cat"}}, {"pet": {"kind": "dog", "name": "n"}, "friends": [{"kind": "cat", "lives": 1}]}
    ),
    *sent({"pet": {"kind": "cow"}}, {"pet": {}}, {"pet": {"kind": "dog"}}),
    group="Bodies",
)
async def a_discriminated_field(body: Pets) -> Pets:
    return body


@shape(
    "`body: Cat | Dog` by discriminator",
    Case({"body": {"kind": "cat"}}, body={"kind": "cat"}),
    Case({"body": {"kind": "dog"}}, body={"kind": "dog"}),
    Case({"body": {}}, body={}),
    group="Bodies",
    direct="the body `body` is a union or optional",
)
async def a_discriminated_body(body: Annotated[Cat | Dog, Body(discriminator="kind")]) -> Cat | Dog:
    return body


@shape(
    "`body: ModelA | ModelB`",
    Case({"body": {"name": "n"}}, body={"name": "n"}),
    Case({"body": {"street": "s"}}, body={"street": "s"}),
    Case({"body": 3}, body=3),
    Case({}),
    group="Bodies",
    direct="the body `body` is a union or optional",
)
async def a_union_body(body: Item | Address) -> Item | Address:
    return body


@shape(
    "`body: Model | None = None`",
    Case({}),
    *sent({"name": "n"}, {"price": 1}),
    group="Bodies",
    direct="the body `body` is a union or optional",
)
async def an_optional_body_with_a_default(body: Item | None = None) -> dict[str, Any]:
    return {"given": body is not None, "body": body}


@shape(
    "`body: Model | None`",
    *sent({"name": "n"}, {"price": 1}, {}),
    group="Bodies",
    direct="the body `body` is a union or optional",
)
async def an_optional_body(body: Item | None) -> dict[str, Any]:
    return {"body": body}


@shape(
    "`body: Model = Model(...)`",
    Case({}),
    *sent({"name": "n"}, {"price": "dear"}),
    group="Bodies",
    direct="the body `body` is optional (it has a default)",
)
async def a_defaulted_model(body: Item = PARIS) -> Item:
    return body


@shape(
    "`a: ModelA, b: ModelB`",
    *sent({"a": {"name": "n"}, "b": {"street": "s"}}, {"a": {"name": "n"}}, {"a": 1, "b": None}, {}),
    group="Bodies",
    direct="it has several body parameters (`a`, `b`)",
)
async def two_bodies(a: Item, b: Address) -> list[Any]:
    return [a, b]


@shape(
    "`a: Model | None = None, b: int = Body(1)`",
    Case({}),
    *sent({"a": {"name": "n"}}, {"b": 3}, {"b": None}, {"a": None, "b": "x"}),
    group="Bodies",
    direct="it has several body parameters (`a`, `b`)",
)
async def optional_bodies(a: Item | None = None, b: Annotated[int, Body()] = 1) -> list[Any]:
    return [a, b]


@shape(
    "`body: Model, days: Annotated[int, Body()]`",
    *sent({"body": {"name": "n"}, "days": 3}, {"body": {"name": "n"}, "days": "three"}, {"days": 3}),
    group="Bodies",
    direct="it has several body parameters (`body`, `days`)",
)
async def a_body_and_a_scalar(body: Item, days: Annotated[int, Body()]) -> list[Any]:
    return [body, days]


@shape(
    "`body: Annotated[Model, Body(embed=True)]`",
    *sent({"body": {"name": "n"}}, {"body": {}}, {}),
    group="Bodies",
    direct="the body `body` is embedded",
)
async def an_embedded_body(body: Annotated[Item, Body(embed=True)]) -> Item:
    return body


@shape(
    "an embedded body with an alias",
    *sent({"theItem": {"name": "n"}}, {"theItem": 3}),
    group="Bodies",
    direct="the body `body` is embedded",
)
async def an_embedded_body_with_an_alias(body: Annotated[Item, Body(embed=True, alias="theItem")]) -> Item:
    return body


@shape(
    "`days: Annotated[int, Body()]`",
    Case({"days": 3}, body=3),
    Case({"days": "x"}, body="x"),
    Case({"days": None}, body=None),
    Case({}),
    group="Bodies",
    direct="the body `days` is neither a pydantic model nor a `dict` of text keys",
)
async def a_scalar_body(days: Annotated[int, Body()]) -> int:
    return days


@shape(
    "`body: list[Model]`",
    Case({"body": [{"name": "n"}, {"name": "m", "price": 2}]}, body=[{"name": "n"}, {"name": "m", "price": 2}]),
    Case({"body": []}, body=[]),
    Case({"body": [{}]}, body=[{}]),
    Case({"body": {"name": "n"}}, body={"name": "n"}),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def a_list_body(body: list[Item]) -> list[Item]:
    return body


@shape(
    "`body: RootModel[list[str]]`",
    Case({"body": ["a", "b"]}, body=["a", "b"]),
    Case({"body": "a"}, body="a"),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def a_root_model(body: Cities) -> Cities:
    return body


@shape(
    "`body: RootModel[dict[str, int]]`",
    Case({"body": {"a": 1}}, body={"a": 1}),
    Case({"body": {"a": "one"}}, body={"a": "one"}),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def a_root_model_of_a_dict(body: Facts) -> Facts:
    return body


@shape(
    "`body: dict[int, str]`",
    Case({"body": {"1": "a"}}, body={"1": "a"}),
    Case({"body": {"x": "a"}}, body={"x": "a"}),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def integer_keys(body: dict[int, str]) -> dict[int, str]:
    return body


@shape(
    "`body: Any = Body()`",
    Case({"body": {"a": [1, None]}}, body={"a": [1, None]}),
    Case({"body": "text"}, body="text"),
    Case({"body": [1.5, True]}, body=[1.5, True]),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def any_body(body: Annotated[Any, Body()]) -> Any:
    return {"got": body}


@shape(
    "a dataclass as the body",
    *sent({"x": 1, "y": 2}, {"x": 1}, {"y": 1}, {"x": "one"}),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def a_dataclass(body: Point) -> Point:
    return body


@shape(
    "a TypedDict as the body",
    *sent({"width": 1, "height": 2}, {"width": 1}, {"width": "wide", "height": 1}),
    group="Bodies",
    direct="the body `body` is neither a pydantic model nor a `dict` of text keys",
)
async def a_typed_dict(body: Box) -> Box:
    return body


@shape(
    "`body: Json` within several bodies",
    *sent({"a": '{"b": 1}', "c": 1}, {"a": "{", "c": 1}),
    group="Bodies",
    direct="it has several body parameters (`a`, `c`)",
)
async def json_within_json(a: Annotated[Json[dict[str, int]], Body()], c: Annotated[int, Body()]) -> list[Any]:
    return [a, c]


@shape(
    "`body: Model` on PUT", *sent({"name": "n"}, {}), route="PUT /tool", group="Bodies", direct="it is a PUT route"
)
async def putting(body: Item) -> Item:
    return body


@shape(
    "`body: Model` on PATCH",
    *sent({"name": "n"}, {}),
    route="PATCH /tool",
    group="Bodies",
    direct="it is a PATCH route",
)
def patching(body: Item) -> Item:
    return body


@shape(
    "`body: Model` on DELETE",
    *sent({"name": "n"}, {}),
    route="DELETE /tool",
    group="Bodies",
    direct="it is a DELETE route",
)
async def deleting_with_a_body(body: Item) -> Item:
    return body


@shape(
    "`await request.json()` on DELETE",
    Case({}),
    *sent({"name": "n", "deep": [1]}),
    group="Bodies",
    route="DELETE /tool",
    direct="it is a DELETE route",
)
async def deleting_what_it_reads(request: Request) -> list[Any]:
    body = await request.body()
    return [request.headers.get("content-type"), json.loads(body) if body else None]


# Forms.


class Login(BaseModel):
    user: str
    tries: int = 0
    roles: list[str] = []


@shape(
    "`city: Annotated[str, Form()]`",
    Case({"city": "Zürich & more"}, form={"city": "Zürich & more"}),
    Case({"city": ""}, form={"city": ""}),
    Case({}, form={}),
    group="Bodies",
    direct="`city` is form data or a file",
)
async def a_form(city: Annotated[str, Form()]) -> str:
    return city


@shape(
    "several form fields",
    Case({"user": "u", "days": 3, "tags": ["a", "b"]}, form={"user": "u", "days": "3", "tags": ["a", "b"]}),
    Case({"user": "u"}, form={"user": "u"}),
    Case({"user": "u", "days": "x"}, form={"user": "u", "days": "x"}),
    group="Bodies",
    direct="it has several body parameters",
)
async def form_fields(
    user: Annotated[str, Form()], days: Annotated[int, Form()] = 1, tags: Annotated[list[str], Form()] = NO_TEXTS
) -> list[Any]:
    return [user, days, tags]


@shape(
    "`form: Annotated[Model, Form()]`",
    Case({"user": "u", "tries": 2, "roles": ["a", "b"]}, form={"user": "u", "tries": "2", "roles": ["a", "b"]}),
    Case({"user": "u"}, form={"user": "u"}),
    Case({"tries": 1}, form={"tries": "1"}),
    group="Bodies",
    direct="`form` is form data or a file",
)
async def a_form_model(form: Annotated[Login, Form()]) -> Login:
    return form


class Signup(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mail: str


@shape(
    "`form: Annotated[Model | None, Form()] = None`",
    Case({}),
    Case({"user": "u"}, form={"user": "u"}),
    Case({"tries": "x"}, form={"tries": "x"}),
    group="Bodies",
    direct="`form` is form data or a file",
)
async def an_optional_form_model(form: Annotated[Login | None, Form()] = None) -> Login | None:
    return form


@shape(
    "`form: Annotated[ModelA | ModelB, Form()]`",
    Case({"user": "u", "tries": 3}, form={"user": "u", "tries": "3"}),
    Case({"mail": "m"}, form={"mail": "m"}),
    Case({"mail": "m", "other": 1}, form={"mail": "m", "other": "1"}),
    group="Bodies",
    direct="`form` is form data or a file",
)
async def a_union_of_form_models(form: Annotated[Login | Signup, Form()]) -> Login | Signup:
    return form


@shape(
    "a form model that forbids other fields",
    Case({"mail": "m"}, form={"mail": "m"}),
    Case({"mail": "m", "other": 1}, form={"mail": "m", "other": "1"}),
    group="Bodies",
    direct="`form` is form data or a file",
)
async def a_strict_form_model(form: Annotated[Signup, Form()]) -> Signup:
    return form


@shape(
    "`upload: Annotated[bytes, File()]`",
    group="Bodies",
    direct="`upload` is form data or a file, not a JSON body",
    everywhere="`upload` is an uploaded file, which no argument can carry",
)
async def a_file_upload(upload: Annotated[bytes, File()]) -> None: ...


@shape(
    "`upload: UploadFile`",
    group="Bodies",
    direct="`upload` is form data or a file, not a JSON body",
    everywhere="`upload` is an uploaded file, which no argument can carry",
)
async def an_upload(upload: UploadFile) -> None: ...


@shape(
    "`upload: UploadFile | None = None` beside a form field",
    Case({"user": "u"}, form={"user": "u"}),
    Case({}, form={}),
    group="Bodies",
    direct="it has several body parameters",
)
async def an_optional_upload(user: Annotated[str, Form()], upload: UploadFile | None = None) -> list[Any]:
    return [user, upload]


@shape(
    "`uploads: Annotated[list[bytes] | None, File()] = None`",
    Case({}, form={}),
    group="Bodies",
    direct="`uploads` is form data or a file",
)
async def optional_file_uploads(uploads: Annotated[list[bytes] | None, File()] = None) -> Any:
    return uploads


class Attached(BaseModel):
    user: str
    note: UploadFile | None = None


@shape(
    "a form model with an optional upload",
    Case({"user": "u"}, form={"user": "u"}),
    Case({}, form={}),
    group="Bodies",
    direct="`form` is form data or a file",
)
async def a_form_model_with_an_optional_upload(form: Annotated[Attached, Form()]) -> list[Any]:
    return [form.user, form.note]


class Attachment(BaseModel):
    user: str
    note: UploadFile


@shape(
    "a form model with an upload",
    group="Bodies",
    direct="`form` is form data or a file",
    everywhere="`note` is an uploaded file, which no argument can carry",
)
async def a_form_model_with_an_upload(form: Annotated[Attachment, Form()]) -> None: ...


# Query strings.


@shape(
    "`my_string: str` (query)",
    *bare({"my_string": "a b&c=d?#%2F+"}, {"my_string": ""}, {"my_string": "ä😀\n"}, {}),
    group="Query, headers, cookies, path",
    direct="`my_string` is a query parameter, which `direct` does not send",
)
async def a_query_string(request: Request, my_string: str) -> list[str]:
    # Clients may write a blank as `+` or `%20`; which values arrive is the same.
    return [my_string, *request.query_params.values()]


@shape(
    "`body: Model, limit: int = 3`",
    Case({"name": "n", "limit": 7}, params={"limit": 7}, body={"name": "n"}),
    Case({"name": "n"}, body={"name": "n"}),
    Case({"name": "n", "limit": "seven"}, params={"limit": "seven"}, body={"name": "n"}),
    Case({"limit": 1}, params={"limit": 1}, body={}),
    Case({"name": "n", "other": 1}, body={"name": "n", "other": 1}),
    group="Query, headers, cookies, path",
    direct="`limit` is a query parameter",
)
async def a_defaulted_scalar(body: Item, limit: int = 3) -> list[Any]:
    return [body, limit]


@shape(
    "query scalars: bool, float, datetime, Decimal, UUID, Enum, Literal",
    Case(
        {"flag": True, "ratio": 0.1, "when": "2026-01-02T03:04:05Z", "money": "1.10", "who": str(UUID(int=7))},
        params={
            "flag": "true",
            "ratio": "0.1",
            "when": "2026-01-02T03:04:05Z",
            "money": "1.10",
            "who": UUID(int=7),
        },
    ),
    Case({"flag": False, "size": "large", "mode": "b"}, params={"flag": "false", "size": "large", "mode": "b"}),
    Case({"flag": "maybe", "size": "huge", "mode": "c"}, params={"flag": "maybe", "size": "huge", "mode": "c"}),
    Case({"ratio": 1e22, "money": 10**30}, params={"ratio": "1e22", "money": str(10**30)}),
    Case({"span": 90}, params={"span": "90"}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`flag` is a query parameter",
)
async def query_types(
    flag: bool = False,
    ratio: float = 1.0,
    when: datetime | None = None,
    money: Decimal = Decimal(1),
    who: UUID | None = None,
    size: Size = Size.SMALL,
    mode: Literal["a", "b"] = "a",
    span: timedelta | None = None,
) -> list[Any]:
    return [flag, ratio, when, money, who, size, mode, span]


@shape(
    "`tags: Annotated[list[str], Query()]`",
    Case({"tags": ["a", "b c", ""]}, params={"tags": ["a", "b c", ""]}),
    Case({"tags": []}),
    Case({"tags": "one"}, params={"tags": "one"}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`tags` is a query parameter",
)
async def a_query_list(tags: Annotated[list[str], Query()] = ONE_TEXT) -> list[str]:
    return tags


@shape(
    "query parameters with aliases and constraints",
    *bare({"item-query": "abc"}, {"item-query": "a"}, {"item-query": "abc", "n": 11}, {}),
    Case({"item-query": "abc", "n": None}, params={"item-query": "abc"}),
    group="Query, headers, cookies, path",
    direct="`q` is a query parameter",
)
async def query_aliases(
    q: Annotated[str, Query(alias="item-query", min_length=2)], n: Annotated[int | None, Query(le=10)] = None
) -> list[Any]:
    return [q, n]


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = Field(10, gt=0)
    order_by: Literal["age", "name"] = Field("age", alias="orderBy")
    tags: list[str] = []


@shape(
    "`filters: Annotated[Model, Query()]`",
    Case(
        {"limit": 5, "orderBy": "name", "tags": ["a", "b"]},
        params={"limit": 5, "orderBy": "name", "tags": ["a", "b"]},
    ),
    *bare({"limit": 0}, {"orderBy": "size"}, {}),
    group="Query, headers, cookies, path",
    direct="`filters` is a query parameter",
)
async def a_query_model(filters: Annotated[Filters, Query()]) -> Filters:
    return filters


@shape(
    "a query model that allows other parameters",
    *bare({"limit": 1, "z": "9"}, {"z": ["a", "b"]}, {"limit": "x", "z": ""}, {}),
    group="Query, headers, cookies, path",
    direct="`filters` is a query parameter",
)
async def a_loose_query_model(filters: Annotated[Loose, Query()]) -> dict[str, Any]:
    return filters.model_dump()


@shape(
    "a query model that forbids other parameters",
    *bare({"limit": 1}, {"limit": 1, "z": "9"}, {}),
    group="Query, headers, cookies, path",
    route="GET /tool",
    direct="it is a GET route",
)
async def a_tight_query_model(filters: Annotated[Tight, Query()]) -> dict[str, Any]:
    return filters.model_dump()


@shape(
    "`ratio: float = inf`",
    *bare({"ratio": 1.5}, {}, {"ratio": "x"}),
    group="Query, headers, cookies, path",
    direct="`ratio` is a query parameter",
)
async def an_infinite_default(ratio: float = float("inf")) -> str:
    return str(ratio)


@shape(
    "`where: Annotated[Json[list[int]], Query()]`",
    Case({"where": "[1, 2]"}, params={"where": "[1, 2]"}),
    Case({"where": [1, 2]}, params={"where": "[1,2]"}),
    Case({"where": "[x"}, params={"where": "[x"}),
    Case({"where": ["a"]}, params={"where": '["a"]'}),
    group="Query, headers, cookies, path",
    direct="`where` is a query parameter",
)
async def json_in_the_query(where: Annotated[Json[list[int]], Query()]) -> list[int]:
    return where


@shape(
    "`where: Annotated[Json | None, Query()] = None`",
    Case({"where": '{"a": 1}'}, params={"where": '{"a": 1}'}),
    *(Case({"where": value}, params={"where": json.dumps(value)}) for value in ([], {"a": [1]}, 1.5, True)),
    Case({"where": "{"}, params={"where": "{"}),
    Case({"where": None}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`where` is a query parameter",
)
async def optional_json_in_the_query(where: Annotated[Json | None, Query()] = None) -> Any:
    return where


@shape(
    "`GET` with query parameters",
    *bare({"q": "x", "n": 2}, {"q": "x"}, {}),
    route="GET /tool",
    group="Query, headers, cookies, path",
    direct="it is a GET route",
)
async def getting(q: str, n: int = 1) -> dict[str, Any]:
    return {"q": q, "n": n}


@shape(
    "`DELETE` with a query parameter",
    *bare({"q": "x"}, {}),
    route="DELETE /tool",
    group="Query, headers, cookies, path",
    direct="it is a DELETE route",
    status_code=204,
)
async def deleting(q: str) -> None: ...


# Headers and cookies.


@shape(
    "`x_trace: Annotated[str | None, Header()] = None`",
    Case({"x-trace": "t-1"}, headers={"x-trace": "t-1"}),
    Case({"x-trace": ""}, headers={"x-trace": ""}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`x_trace` is a header parameter",
)
async def a_header(x_trace: Annotated[str | None, Header()] = None) -> list[Any]:
    return [x_trace]


@shape(
    "header parameters: lists, types, aliases, underscores",
    Case(
        {"x-token": ["a", "b"], "X-Count": 3, "under_score": "u"},
        headers=[("x-token", "a"), ("x-token", "b"), ("X-Count", "3"), ("under_score", "u")],
    ),
    Case({"X-Count": "three"}, headers={"X-Count": "three"}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`x_token` is a header parameter",
)
async def header_kinds(
    x_token: Annotated[list[str] | None, Header()] = None,
    count: Annotated[int, Header(alias="X-Count")] = 0,
    under_score: Annotated[str, Header(convert_underscores=False)] = "none",
) -> list[Any]:
    return [x_token, count, under_score]


class CommonHeaders(BaseModel):
    save_data: bool
    if_none_match: str | None = None
    x_tag: list[str] = []


@shape(
    "`headers: Annotated[Model, Header()]`",
    Case(
        {"save-data": True, "x-tag": ["a", "b"]},
        headers=[("save-data", "true"), ("x-tag", "a"), ("x-tag", "b")],
    ),
    Case({"save-data": "perhaps"}, headers={"save-data": "perhaps"}),
    group="Query, headers, cookies, path",
    direct="`headers` is a header parameter",
)
async def a_header_model(headers: Annotated[CommonHeaders, Header()]) -> CommonHeaders:
    return headers


@shape(
    "a header that every request has: `content_type`, `host`",
    Case({"n": 1}, params={"n": 1}, body={}),
    group="Query, headers, cookies, path",
    direct="`content_type` is a header parameter",
)
async def headers_of_every_request(
    request: Request,
    content_type: Annotated[str, Header()],
    host: Annotated[str, Header()],
    content_length: Annotated[int, Header()],
    n: int,
) -> list[Any]:
    return [content_type, host, content_length, n]


@shape(
    "`flavour: Annotated[str | None, Cookie()] = None`",
    Case({"flavour": "oat"}, cookies={"flavour": "oat"}),
    Case({}),
    group="Query, headers, cookies, path",
    direct="`flavour` is a cookie parameter",
)
async def a_cookie(request: Request, flavour: Annotated[str | None, Cookie()] = None) -> list[Any]:
    return [flavour, request.session.get("user")]


class Cookies(BaseModel):
    visits: int
    theme: str = "dark"


@shape(
    "`cookies: Annotated[Model, Cookie()]`",
    Case({"visits": 3, "theme": "light"}, cookies={"visits": "3", "theme": "light"}),
    Case({"visits": "many"}, cookies={"visits": "many"}),
    group="Query, headers, cookies, path",
    direct="`cookies` is a cookie parameter",
)
async def a_cookie_model(cookies: Annotated[Cookies, Cookie()]) -> Cookies:
    return cookies


# Paths.


@shape(
    "`/items/{item}`",
    Case({"item": "a"}, path="/items/a"),
    Case({"item": "ä b?#&%"}, path="/items/%C3%A4%20b%3F%23%26%25"),
    Case({"item": 3}, path="/items/3"),
    route="POST /items/{item}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (item)",
)
async def a_path(item: str) -> str:
    return item


@shape(
    "`GET /items/{item}` with an `int`",
    Case({"item": 3}, path="/items/3"),
    Case({"item": "x"}, path="/items/x"),
    Case({"item": -1}, path="/items/-1"),
    route="GET /items/{item}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (item)",
)
async def a_typed_path(item: Annotated[int, Path(ge=0)]) -> int:
    return item


@shape(
    "`/{number:int}/{ratio:float}/{who:uuid}`",
    Case({"number": 3, "ratio": 1.5, "who": str(UUID(int=7))}, path=f"/deep/3/1.5/{UUID(int=7)}"),
    Case({"number": 3, "ratio": 2, "who": str(UUID(int=7))}, path=f"/deep/3/2/{UUID(int=7)}"),
    Case({"number": "x", "ratio": 1.5, "who": str(UUID(int=7))}, path=f"/deep/x/1.5/{UUID(int=7)}"),
    Case({"number": 3, "ratio": 1.5, "who": "nobody"}, path="/deep/3/1.5/nobody"),
    route="POST /deep/{number:int}/{ratio:float}/{who:uuid}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (number, ratio, who)",
)
async def path_convertors(number: int, ratio: float, who: UUID) -> list[Any]:
    return [number, ratio, who]


@shape(
    "`/files/{where:path}`",
    Case({"where": "a/b.txt"}, path="/files/a/b.txt"),
    Case({"where": ""}, path="/files/"),
    Case({"where": "a//b/"}, path="/files/a//b/"),
    route="GET /files/{where:path}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (where)",
)
async def a_path_of_paths(where: str) -> str:
    return where


@shape(
    "path, query, header, cookie and body together",
    Case(
        {"item": "i", "q": ["a", "b"], "x-trace": "t", "flavour": "oat", "name": "n", "price": 2},
        path="/all/i",
        params={"q": ["a", "b"]},
        headers={"x-trace": "t"},
        cookies={"flavour": "oat"},
        body={"name": "n", "price": 2},
    ),
    Case({"item": "i"}, path="/all/i", body={}),
    Case({"item": "i", "name": "n", "extra": 1}, path="/all/i", body={"name": "n", "extra": 1}),
    route="PUT /all/{item}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (item)",
)
async def everything_at_once(
    item: str,
    body: Item,
    q: Annotated[list[str], Query()] = NO_TEXTS,
    x_trace: Annotated[str, Header()] = "none",
    flavour: Annotated[str, Cookie()] = "plain",
) -> list[Any]:
    return [item, q, x_trace, flavour, body]


@shape(
    "one name in the path and in the body",
    route="PUT /both/{name}",
    group="Query, headers, cookies, path",
    direct="it has path parameters (name)",
    everywhere="`name` is both a path parameter and one of the body",
)
async def one_name_twice(name: str, body: Item) -> list[Any]:
    return [name, body]


@shape(
    "one name in the query and in a header",
    group="Query, headers, cookies, path",
    direct="`trace` is a query parameter",
    everywhere="`trace` is both a header parameter and one of the query",
)
async def one_name_in_two_places(trace: str, other: Annotated[str, Header(alias="trace")]) -> list[Any]:
    return [trace, other]


# Handlers.


def make_handler(model: type[BaseModel]) -> Callable[..., Any]:
    async def made_by_a_factory(**values: Any) -> Any:
        return values["body"]

    parameter = inspect.Parameter("body", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=model)
    made_by_a_factory.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    return made_by_a_factory


shape("a factory that sets `__signature__`", *sent({"name": "n"}, *WRONG), group="Handlers")(make_handler(Item))


class Toolbox:
    async def a_bound_method(self, body: Item) -> Item:
        return body


shape("a bound method", *sent({"name": "n"}, {}), group="Handlers")(Toolbox().a_bound_method)


@built("`functools.partial`", *sent({"name": "n"}, {}), group="Handlers")
def a_partial(app: FastAPI, ran: Ran) -> None:
    async def handler(factor: int, body: Item) -> dict[str, Any]:
        ran()
        return {"price": body.price * factor}

    app.post("/tool")(functools.partial(handler, 3))


@built("an object with `__call__`", *sent({"name": "n"}, {}), group="Handlers")
def an_object(app: FastAPI, ran: Ran) -> None:
    class Handler:
        async def __call__(self, body: Item) -> Item:
            ran()
            return body

    app.post("/tool")(Handler())


@built("a decorated handler", *sent({"name": "n"}, {}), group="Handlers")
def a_decorated_handler(app: FastAPI, ran: Ran) -> None:
    def decorated(handler: Any) -> Any:
        @functools.wraps(handler)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return {"wrapped": await handler(*args, **kwargs)}

        return wrapper

    @app.post("/tool")
    @decorated
    async def tool(body: Item) -> Any:
        ran()
        return body


@shape(
    "`*args`",
    Case({"args": "a", "kwargs": "b"}, params={"args": "a", "kwargs": "b"}),
    group="Handlers",
    direct="its handler takes `*args`",
)
async def variadic(*args: Any, **kwargs: Any) -> Any:
    return {"args": args, "kwargs": kwargs}


@shape(
    "`**kwargs`",
    Case({"kwargs": "b"}, params={"kwargs": "b"}),
    group="Handlers",
    direct="its handler takes `**kwargs`",
)
async def keywords(**kwargs: Any) -> Any:
    return {"kwargs": kwargs}


@shape("`request.session`, read and written", *sent({"name": "n"}, {"name": "m"}), group="Handlers")
async def a_session(request: Request, body: Item) -> dict[str, Any]:
    seen = dict(request.session)
    request.session["last"] = body.name
    request.session.setdefault("all", []).append(body.name)
    return seen


@shape("`request.session`, emptied", *sent({}), group="Handlers")
async def an_emptied_session(request: Request) -> dict[str, Any]:
    request.session.clear()
    return {"left": dict(request.session)}


@shape("a session that another kind of mapping replaces", *sent({}), group="Handlers")
async def a_replaced_session(request: Request) -> dict[str, Any]:
    request.scope["session"] = {"session_id": request.session["session_id"], "user": "eve"}
    return {"replaced": True}


@shape("a session that no cookie can hold", *sent({}), group="Handlers")
async def a_session_that_no_cookie_can_hold(request: Request) -> dict[str, Any]:
    request.session["thing"] = object()
    return {"kept": True}


@shape("a session written before a failure", *sent({}), group="Handlers")
def a_session_written_before_a_failure(request: Request) -> None:
    request.session["tried"] = True
    raise ValueError("secret words")


@shape(
    "a route whose path has several segments", *sent({"name": "n"}), route="POST /tools/deep/one", group="Handlers"
)
async def a_deep_route(body: Item) -> Item:
    return body

"""Handlers that nobody wrote: generated signatures and arguments, valid and not; MCP answers as HTTP does.

`GMM_SIGNATURES=2000 pytest tests/dispatch/test_generated_signatures.py` looks at that many signatures.
"""

import inspect
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

import pytest
from fastapi import Body, Cookie, Depends, Header, Path, Query
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, create_model
from twins import assert_same

from gym_mcp_manifest import expose

COUNT = int(os.environ.get("GMM_SIGNATURES", "60"))
Place = Literal["path", "query", "header", "cookie", "body"]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


# Types and values.

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN_TEXT = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
NUMBERS = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: ANY_TEXT,
    int: st.integers(-(10**20), 10**20),
    float: NUMBERS,
    bool: st.one_of(st.booleans(), st.sampled_from(["yes", "off", 1, 0])),
    Decimal: st.one_of(NUMBERS, st.sampled_from(["1.10", "-0"])),
    UUID: st.uuids().map(str),
    date: st.dates().map(str),
    datetime: st.datetimes().map(lambda when: when.isoformat()),
    Colour: st.sampled_from(["red", "blue", "green"]),
    Literal["a", "b"]: st.sampled_from(["a", "b", "c"]),
    Annotated[int, Field(ge=0, lt=10)]: st.integers(-2, 12),
    Annotated[str, Field(min_length=2, pattern="^[a-z]*$")]: st.sampled_from(["ab", "a", "AB", ""]),
}
JUNK_TEXTS = st.one_of(PLAIN_TEXT, st.integers(-5, 5), st.booleans(), st.none(), st.just("1e5"))
JUNK = st.recursive(
    st.one_of(JUNK_TEXTS, ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(PLAIN_TEXT, inner, max_size=2)),
    max_leaves=4,
)


@dataclass(frozen=True)
class Kind:
    """A type with values for it, most of them good."""

    annotation: Any
    values: st.SearchStrategy[Any]


def mostly(good: st.SearchStrategy[Any], junk: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 24).flatmap(lambda draw: good if draw else junk)


def scalar_kinds(junk: st.SearchStrategy[Any]) -> st.SearchStrategy[Kind]:
    plain = st.sampled_from(list(SCALARS)).map(lambda of: Kind(of, mostly(SCALARS[of], junk)))
    return st.one_of(plain, plain.map(lambda kind: Kind(kind.annotation | None, kind.values)))


def list_of(kind: Kind) -> Kind:
    return Kind(list[kind.annotation], mostly(st.lists(kind.values, max_size=3), JUNK))  # type: ignore[name-defined]


@st.composite
def model_kinds(draw: Any, depth: int = 2) -> Kind:
    below = scalar_kinds(JUNK)
    if depth:
        below = st.one_of(below, below.map(list_of), below.map(dict_of), model_kinds(depth - 1))
    fields: dict[str, Any] = {}
    needed: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for index in range(draw(st.integers(1, 3))):
        kind, name = draw(below), f"field_{index}"
        alias = draw(st.sampled_from([None, f"theField{index}"]))
        default = draw(st.sampled_from([..., None]))
        fields[name] = (kind.annotation, Field(default, alias=alias))
        spelled = draw(st.sampled_from([alias or name, alias or name, alias or name, name]))
        (needed if default is ... else optional)[spelled] = kind.values
    config = ConfigDict(
        extra=draw(st.sampled_from(["ignore", "allow", "forbid"])), populate_by_name=draw(st.booleans())
    )
    model = create_model(f"Model{depth}", __config__=config, **fields)
    more = draw(st.sampled_from([{}, {}, {"unknown": JUNK}]))
    whole = st.fixed_dictionaries(needed, optional={**optional, **more})
    part = st.fixed_dictionaries({}, optional={**needed, **optional})
    return Kind(model, mostly(whole, st.one_of(part, JUNK)))


def dict_of(kind: Kind) -> Kind:
    annotation = dict[str, kind.annotation]  # type: ignore[name-defined]
    return Kind(annotation, mostly(st.dictionaries(PLAIN_TEXT, kind.values, max_size=2), JUNK))


def as_segment(text: str) -> str:
    """What a segment of a path can hold; percent signs the test client would unescape twice."""
    return text.replace("/", "").replace("%", "") or "x"


def as_token(value: Any) -> Any:
    """What every client writes alike into headers and cookies."""
    if not isinstance(value, str):
        return value
    return "".join(letter for letter in value if letter.isascii() and (letter.isalnum() or letter in "-.:")) or "x"


# Signatures.


@dataclass(frozen=True)
class Parameter:
    """One parameter of a handler, the name of its argument, and how it stands in a signature."""

    name: str
    wire: str
    place: Place
    kind: Kind
    marked: Any
    default: Any = inspect.Parameter.empty

    def __repr__(self) -> str:
        return f"{self.name}: {self.marked!r} = {self.default!r}"


@dataclass(frozen=True)
class Signature:
    """A handler's parameters; `injected` of them belong to a dependency, `shape` tells how the body is made."""

    method: str
    parameters: tuple[Parameter, ...]
    injected: frozenset[str]
    shape: Literal["none", "spread", "keys", "whole"]

    @property
    def path(self) -> str:
        """What follows the first segment of the route's path."""
        return "".join(f"/{{{p.name}}}" for p in self.parameters if p.place == "path")

    def handler(self) -> Callable[..., Any]:
        """A handler that answers with what it got."""

        def told(values: dict[str, Any]) -> dict[str, str]:
            return {name: repr(value) for name, value in values.items()}

        def dependency(**values: Any) -> dict[str, str]:
            return told(values)

        async def tool(**values: Any) -> dict[str, str]:
            """Tell what came."""
            return {**values.pop("rest", {}), **told(values)}

        own = [p for p in self.parameters if p.name not in self.injected]
        theirs = [p for p in self.parameters if p.name in self.injected]
        dependency.__signature__ = _signature(theirs)  # type: ignore[attr-defined]
        signature = _signature(own)
        if theirs:
            rest = inspect.Parameter("rest", inspect.Parameter.KEYWORD_ONLY, default=Depends(dependency))
            signature = signature.replace(parameters=[*signature.parameters.values(), rest])
        tool.__signature__ = signature  # type: ignore[attr-defined]
        return tool


def _signature(parameters: list[Parameter]) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(p.name, kind, annotation=p.marked, default=p.default) for p in parameters]
    )


@st.composite
def signatures(draw: Any) -> Signature:
    method = draw(st.sampled_from(["POST", "PUT", "PATCH", "GET", "DELETE"]))
    found: list[Parameter] = []
    for index in range(draw(st.integers(0, 2))):
        of = draw(st.sampled_from([str, int]))
        values = mostly(ANY_TEXT.map(as_segment), st.integers(0, 99))
        found.append(Parameter(f"p{index}", f"p{index}", "path", Kind(of, values), Annotated[of, Path()]))
    for index in range(draw(st.integers(0, 2))):
        kind = draw(st.one_of(scalar_kinds(JUNK_TEXTS), scalar_kinds(JUNK_TEXTS).map(list_of_texts)))
        found.append(draw(marked(f"q{index}", "query", kind, Query, ANY_TEXT)))
    if draw(st.booleans()):
        kind = draw(scalar_kinds(JUNK_TEXTS))
        found.append(draw(marked("h_0", "header", kind, Header, PLAIN_TEXT)))
    if draw(st.booleans()):
        kind = draw(scalar_kinds(JUNK_TEXTS))
        found.append(draw(marked("c0", "cookie", kind, Cookie, PLAIN_TEXT)))
    bodies, shape = draw(body_parameters()) if method not in ("GET", "DELETE") else ((), "none")
    found += bodies
    injected = draw(st.sets(st.sampled_from([p.name for p in found]))) if found else set()
    return Signature(method, tuple(found), frozenset(injected), shape)


def list_of_texts(kind: Kind) -> Kind:
    return Kind(list[kind.annotation], st.lists(kind.values, max_size=3))  # type: ignore[name-defined]


@st.composite
def marked(draw: Any, name: str, place: Place, kind: Kind, mark: Any, texts: Any) -> Parameter:
    alias = draw(st.sampled_from([None, f"The-{name.replace('_', '-')}"]))
    default = draw(st.sampled_from([inspect.Parameter.empty, None]))
    wire = alias or (name.replace("_", "-") if place == "header" else name)
    if place in ("header", "cookie"):
        kind = Kind(kind.annotation, kind.values.map(as_token))
    return Parameter(name, wire, place, kind, Annotated[kind.annotation, mark(alias=alias)], default)


@st.composite
def body_parameters(draw: Any) -> tuple[tuple[Parameter, ...], str]:
    shape = draw(st.sampled_from(["none", "spread", "spread", "keys", "whole"]))
    empty = inspect.Parameter.empty
    if shape == "none":
        return (), "none"
    if shape == "spread":
        kind = draw(model_kinds())
        optional = draw(st.booleans())
        annotation = kind.annotation | None if optional else kind.annotation
        arguments = kind.values.filter(lambda value: isinstance(value, dict))
        one = Parameter("b0", "", "body", Kind(annotation, arguments), annotation, None if optional else empty)
        return (one,), "spread"
    if shape == "whole":
        kind = draw(st.one_of(model_kinds(1).map(list_of), scalar_kinds(JUNK)))
        return (Parameter("b0", "b0", "body", kind, Annotated[kind.annotation, Body()]),), "whole"
    kinds = draw(st.lists(st.one_of(model_kinds(1), scalar_kinds(JUNK)), min_size=1, max_size=2))
    found = [
        Parameter(
            f"b{index}",
            f"b{index}",
            "body",
            kind,
            Annotated[kind.annotation, Body(embed=True)],
            draw(st.sampled_from([empty, None])),
        )
        for index, kind in enumerate(kinds)
    ]
    return tuple(found), "keys"


# Requests.


def drawn_arguments(data: Any, signature: Signature) -> dict[str, Any]:
    """A value for each parameter's argument, or none of it; by the parameter's name."""
    return {
        p.name: data.draw(p.kind.values, label=p.name)
        for p in signature.parameters
        if p.place == "path" or data.draw(st.integers(0, 11)) > 0
    }


def as_arguments(signature: Signature, values: dict[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for p in signature.parameters:
        if p.name in values:
            spread = p.place == "body" and signature.shape == "spread"
            arguments.update(values[p.name] if spread else {p.wire: values[p.name]})
    return arguments


def texts(value: Any) -> list[str]:
    """How a client that is no part of this project writes a value into a query or header."""
    listed = value if isinstance(value, list) else [value]
    return [one if isinstance(one, str) else json.dumps(one) for one in listed if one is not None]


def send(client: TestClient, signature: Signature, root: str, values: dict[str, Any]) -> Any:
    path, params, headers = root, [], []
    body: Any = {}
    sends_body = any(p.place == "body" and p.default is inspect.Parameter.empty for p in signature.parameters)
    for p in signature.parameters:
        if p.name not in values:
            continue
        value = values[p.name]
        if p.place == "path":
            path += "/" + quote(texts(value)[0], safe="").replace(".", "%2E")
        elif p.place == "query":
            params += [(p.wire, text) for text in texts(value)]
        elif p.place == "header":
            headers += [(p.wire, text) for text in texts(value)]
        elif p.place == "cookie":
            for text in texts(value):
                client.cookies.set(p.wire, text)
        elif signature.shape == "keys":
            body, sends_body = {**body, p.wire: value}, True
        else:
            # An optional spread body of no fields is as good as none.
            body, sends_body = value, sends_body or value != {}
    if signature.shape == "whole" and "b0" not in values:
        sends_body = False
    content = json.dumps(body, ensure_ascii=False).encode() if sends_body else None
    kinds = [("content-type", "application/json")] if sends_body else []
    return client.request(signature.method, path, params=params, content=content, headers=[*kinds, *headers])


@pytest.mark.timeout(120 if COUNT <= 100 else 7200)
def test_generated_handlers_answer_alike_through_both_doors(make_app, make_door):
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=COUNT,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(signature=signatures(), data=st.data())
    def check(signature: Signature, data: Any) -> None:
        app = make_app()
        handler = signature.handler()
        keys = {}
        for mode, root in (("route", "/r"), ("app", "/a")):
            path = root + signature.path
            app.api_route(path, methods=[signature.method], response_model=None)(handler)
            keys[f"{signature.method} {path}"] = {"name": root[1:], "dispatch": mode}
        manifest = {"version": 1, "routes": {"include": list(keys)}, "tools": keys}
        expose(app, name="unit", manifest=manifest, instance={"expose_tools_over_mcp": True})
        with TestClient(app, raise_server_exceptions=False) as client:
            door = make_door(client)
            session = door.seed()
            for _ in range(2):
                values = drawn_arguments(data, signature)
                client.cookies.clear()
                answer = send(client, signature, "/r", values)
                client.cookies.clear()
                statuses[answer.status_code] += 1
                for tool in ("r", "a"):
                    result = door.call(tool, as_arguments(signature, values), session)
                    assert_same(answer, result, f"{signature.method} /{tool}")

    check()
    # Neither only good arguments nor only bad ones.
    assert min(statuses[200], statuses[422]) > sum(statuses.values()) / 6, statuses

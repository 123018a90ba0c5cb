"""Values in paths: each arrives unchanged, or is the 404 of HTTP; none ever reaches another route."""

import asyncio
import json
from typing import Any
from urllib.parse import quote, unquote

import pytest
from fastapi import FastAPI

MODES = ("route", "app")
NOT_FOUND = "HTTP 404 from POST /{tool}: Not Found"
VALUES = (
    *("a", "ä😀", "a b", " ", "\t", "x\u2028y", "\u0000", "e\u0301"),
    *(".", "..", "...", "../x", "../secret", "../../secret", "./x", "x/..", "x/../../secret"),
    *("%2e%2e", "%2e%2e/secret", "..%2fsecret", "%2F", "%252F", "%", "%zz", "%00"),
    *("a/b", "/", "//", "/secret", "x/secret", "x/", "a//b", "", "http://host/secret", "//host/secret"),
    *(
        "?q",
        "?q=1",
        "#f",
        "a?b#c",
        "a&b=c",
        "a;b",
        "a=b",
        "a\\b",
        "..\\secret",
        "{item}",
        "{item:path}",
        ":",
        "@",
        "+",
    ),
    *("x\n", "\n", "x\ny", "x\r\nhost: evil", "secret", "None", "null", "1e5", "-1", "007"),
)


def build(make_app: Any) -> tuple[FastAPI, list[tuple[str, Any]]]:
    """An app full of neighbours; what ran with which value is told."""
    ran: list[tuple[str, Any]] = []
    app: FastAPI = make_app()

    def route(path: str, name: str, of: type = str) -> None:
        if "{" in path:

            async def handler(value: of) -> dict[str, Any]:  # type: ignore[valid-type]
                ran.append((name, value))
                return {"value": value}
        else:

            async def handler() -> None:  # type: ignore[misc]
                ran.append((name, None))

        handler.__name__ = name
        app.post(path)(handler)

    route("/secret", "secret")
    route("/items", "items")
    route("/items/", "items_with_slash")
    route("/items/{value}/secret", "item_secret")
    route("/items/taken", "taken")
    route("/items/{value}", "item")
    route("/files/{value:path}", "file")
    route("/numbers/{value:int}", "number", int)
    route("/{value}", "anything")
    return app, ran


def manifest(mode: str) -> dict[str, Any]:
    paths = ("/items/{value}", "/files/{value:path}", "/numbers/{value:int}")
    return {"version": 1, "dispatch": mode, "routes": {"include": list(paths), "naming": "function"}}


@pytest.mark.parametrize("mode", MODES)
def test_a_segment_holds_its_value_or_is_the_404(make_app, open_door, mode: str):
    app, ran = build(make_app)
    door = open_door(app, manifest(mode))
    session = door.seed()
    for value in (*VALUES, "taken"):
        ran.clear()
        text = door.text("item", {"value": value}, session)
        # The last is what the pattern of `/items/` lets through: no value may lead there.
        if "/" in value or value in ("", "taken", "\n"):
            assert ran == [], value
            assert text == NOT_FOUND.format(tool="item")
        else:
            assert ran == [("item", value)]


@pytest.mark.parametrize("mode", MODES)
def test_a_path_parameter_of_paths_holds_every_value_of_one_line(make_app, open_door, mode: str):
    app, ran = build(make_app)
    door = open_door(app, manifest(mode))
    session = door.seed()
    for value in VALUES:
        ran.clear()
        text = door.text("file", {"value": value}, session)
        if "\n" in value:
            assert ran == []
            assert text == NOT_FOUND.format(tool="file")
        else:
            assert ran == [("file", value)]


@pytest.mark.parametrize("mode", MODES)
def test_a_number_takes_numbers_only(make_app, open_door, mode: str):
    app, ran = build(make_app)
    door = open_door(app, manifest(mode))
    session = door.seed()
    for value in (*VALUES, 1.5, True, -1):
        ran.clear()
        text = door.text("number", {"value": value}, session)
        assert ran == ([("number", 7)] if value == "007" else []), value
        assert value == "007" or text == NOT_FOUND.format(tool="number")
    for value in (None, [], {}, ["7"]):
        result = door.call("number", {"value": value}, session)
        assert result["isError"] is True
    assert door.call("number", {}, session)["isError"] is True
    assert ran == []


async def plain_post(app: FastAPI, path: str) -> tuple[int, Any]:
    """The answer to a plain request, made as servers make it of what came over the wire: unescaped once."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = quote(path, safe="/").replace(".", "%2E")
    scope = {"type": "http", "method": "POST", "path": unquote(raw), "raw_path": raw.encode("ascii")}
    common = {"headers": [], "query_string": b"", "scheme": "http", "server": ("testserver", 80), "root_path": ""}
    await app({**scope, **common}, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], json.loads(body or b"null")


@pytest.mark.parametrize("mode", MODES)
def test_a_value_arrives_as_that_of_an_http_client_that_escapes_it(make_app, open_door, mode: str):
    app, _ = build(make_app)
    twin, ran = build(make_app)
    door = open_door(app, manifest(mode))
    session = door.seed()
    for tool, prefix in (("item", "/items/"), ("file", "/files/"), ("number", "/numbers/")):
        for value in VALUES:
            ran.clear()
            status, answer = asyncio.run(plain_post(twin, prefix + value))
            result = door.call(tool, {"value": value}, session)
            # Where HTTP runs another route, or this one with another value, a call is the 404.
            same = [name for name, got in ran] == [tool] and str(ran[0][1]).zfill(len(value)) == value
            if same:
                assert (status, result["structuredContent"]) == (200, answer)
            else:
                assert result["content"][0]["text"] == NOT_FOUND.format(tool=tool)

"""`mcp_headers`: set and forwarded headers reach the route; they are never arguments, nor shown."""

import json
from base64 import b64decode, b64encode
from typing import Annotated, Any

import pytest
from fastapi import Cookie, Depends, FastAPI, Header, HTTPException, Request
from fastapi.security import APIKeyHeader
from pydantic import AliasChoices, BaseModel

from gym_mcp_manifest import ManifestInvalid, expose

ON = {"expose_tools_over_mcp": True}
HEADERS = {"set": {"X-API-Key": "the secret"}, "forward": ["X-Trace", "authorization"]}


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    def guard(key: Annotated[str, Depends(APIKeyHeader(name="x-api-key"))]) -> None:
        if key != "the secret":
            raise HTTPException(403, "wrong key")

    @app.post("/guarded", dependencies=[Depends(guard)])
    async def guarded(request: Request) -> dict[str, Any]:
        names = ("x-api-key", "x-trace", "authorization", "x-nemo-gym-session-token", "accept", "content-type")
        return {name: request.headers.get(name) for name in names}

    @app.post("/traced")
    async def traced(x_trace: Annotated[str, Header()], note: str = "") -> dict[str, str]:
        return {"trace": x_trace, "note": note}

    return app


@pytest.mark.parametrize("mode", ["route", "app"])
def test_set_and_forwarded_headers_reach_the_route_and_no_others(app: FastAPI, open_door: Any, mode: str) -> None:
    door = open_door(app, {"version": 1, "dispatch": mode}, instance={"mcp_headers": HEADERS})
    sent = {**door.seed(), "X-Trace": "t-1", "X-API-Key": "of the client"}
    answer = door.call("guarded", {}, sent)
    assert answer["structuredContent"] == {
        "x-api-key": "the secret",
        "x-trace": "t-1",
        "authorization": None,
        "x-nemo-gym-session-token": None,
        "accept": None,
        "content-type": "application/json",
    }


def test_without_the_headers_the_guard_answers_as_over_http(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, {"version": 1, "dispatch": "route"})
    status = door.client.post("/guarded", json={}).status_code
    answer = door.call("guarded", {}, {**door.seed(), "X-API-Key": "the secret"})
    assert answer["isError"]
    assert answer["content"][0]["text"].startswith(f"HTTP {status} from POST /guarded")


def test_a_header_of_the_instance_is_no_argument(app: FastAPI, open_door: Any) -> None:
    manifest = {"version": 1, "dispatch": "route"}
    door = open_door(app, manifest, instance={"mcp_headers": HEADERS})
    (tool,) = [tool for tool in door.list() if tool["name"] == "traced"]
    assert set(tool["inputSchema"]["properties"]) == {"note"}
    session = {**door.seed(), "X-Trace": "t-2"}
    assert door.call("traced", {"note": "n"}, session)["structuredContent"] == {"trace": "t-2", "note": "n"}
    assert door.call("traced", {"x-trace": "forged"}, session)["isError"]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ([], "mapping"),
        ({}, "mapping"),
        ({"sett": {}}, "unknown key `sett`"),
        ({"set": {"X": 1}}, "mapping of names to texts"),
        ({"forward": "authorization"}, "list of header names"),
        ({"set": {"a b": "x"}}, "no name of a header"),
        ({"set": {"Host": "x"}}, "the request's own"),
        ({"forward": ["X-NeMo-Gym-Session-Token"]}, "the request's own"),
        ({"set": {"X-A": "1"}, "forward": ["x-a"]}, "stands twice"),
        ({"set": {"X-A": "the secret\n"}}, "no header can carry"),
    ],
    ids=json.dumps,
)
def test_a_bad_value_is_told_without_the_value(app: FastAPI, value: Any, word: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        expose(app, name="unit", manifest={"version": 1}, instance={**ON, "mcp_headers": value})
    assert word in str(caught.value)
    assert "the secret" not in str(caught.value)


class Wants(BaseModel):
    x_y: int


def test_an_error_that_repeats_the_request_shows_no_agent_what_it_did_not_send(
    make_app: Any, open_door: Any
) -> None:
    app = make_app()

    @app.post("/leak")
    async def leak(wanted: Annotated[Wants, Header()]) -> int:
        return wanted.x_y

    @app.post("/tell")
    async def tell(request: Request) -> dict[str, Any]:
        return {"cookie": request.headers.get("cookie")}

    door = open_door(app, {"version": 1, "dispatch": "app"}, instance={"mcp_headers": HEADERS})
    sent = {**door.seed({"session": {"answer": "42"}}), "Authorization": "Bearer of-the-operator"}
    refused = door.call("leak", {}, sent)
    assert refused["isError"]
    cookie = door.client.cookies["session"]
    for secret in ("the secret", "of-the-operator", cookie.split(".")[0]):
        assert secret not in json.dumps(refused)
    assert cookie.split(".")[0] not in json.dumps(door.call("tell", {}, sent))


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Bearer sk-verysecret123", "sk-verysecret123"),
        ("Basic " + b64encode(b"ada:verysecret123").decode(), "verysecret123"),
    ],
)
def test_credentials_without_their_scheme_are_as_secret(
    make_app: Any, open_door: Any, header: str, secret: str
) -> None:
    app = make_app()

    @app.post("/fail")
    async def fail(request: Request) -> None:
        credentials = request.headers["authorization"].partition(" ")[2]
        plain = b64decode(credentials).decode() if header.startswith("Basic") else credentials
        raise HTTPException(401, {"bad": credentials, "plain": plain, "last": plain.rpartition(":")[2]})

    block = {"mcp_headers": {"set": {"Authorization": header}}}
    door = open_door(app, {"version": 1, "dispatch": "route"}, instance=block)
    answer = door.call("fail", {}, door.seed())["content"][0]["text"]
    assert answer == 'HTTP 401 from POST /fail: {"bad":"***","plain":"***","last":"***"}'
    assert secret not in answer


def test_short_words_of_the_instance_are_no_secrets_in_an_error(make_app: Any, open_door: Any) -> None:
    app = make_app()

    @app.post("/fail")
    async def fail() -> None:
        raise HTTPException(400, "test failed: 1 detail in 12 tests")

    words = {"set": {"X-Mode": "test", "X-Version": "1", "X-Level": "detail"}}
    door = open_door(app, {"version": 1, "dispatch": "route"}, instance={"mcp_headers": words})
    answer = door.call("fail", {}, door.seed())
    assert answer["content"][0]["text"] == "HTTP 400 from POST /fail: test failed: 1 detail in 12 tests"


def test_the_sessions_cookie_and_spellings_of_headers_are_no_arguments(make_app: Any, open_door: Any) -> None:
    app = make_app()

    @app.post("/ask")
    async def ask(
        request: Request,
        session: Annotated[str | None, Cookie()] = None,
        trace: Annotated[str, Header(validation_alias=AliasChoices("x-trace-id", "x-api-key", "cookie"))] = "",
    ) -> list[str]:
        return request.headers.getlist("x-api-key")

    door = open_door(app, {"version": 1, "dispatch": "app"}, instance={"mcp_headers": HEADERS})
    (tool,) = door.list()
    assert set(tool["inputSchema"].get("properties", {})) == {"x-trace-id"}
    answer = door.call("ask", {"x-api-key": "forged"}, door.seed())
    assert answer["content"][0]["text"] == '["the secret"]'


def test_a_header_is_one_whatever_the_case_of_its_letters(make_app: Any, open_door: Any) -> None:
    def user(x_user: Annotated[str, Header(alias="X-User")] = "-") -> str:
        return x_user

    app = make_app()

    @app.post("/who")
    async def who(x_user: Annotated[str, Header()] = "-", other: Annotated[str, Depends(user)] = "-") -> list[str]:
        return [x_user, other]

    tools = {"who": {"arguments": {"x-user": {"value": "fixed"}}}}
    door = open_door(app, {"version": 1, "dispatch": "route", "tools": tools})
    session = door.seed()
    assert door.call("who", {}, session)["content"][0]["text"] == '["fixed","fixed"]'
    assert door.call("who", {"X-User": "forged"}, session)["isError"]

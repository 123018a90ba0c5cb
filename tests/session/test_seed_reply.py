"""`POST /seed_session`: what the app answers and is asked stays its own, but for the one key that is added."""

import json
import logging
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from fastapi.testclient import TestClient
from itsdangerous import URLSafeSerializer
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response

HEADER = "X-NeMo-Gym-Session-Token"
KEY = "a key for tests"
ERRORS = "gym_mcp_manifest"


@pytest.fixture
def app(make_app) -> FastAPI:
    return make_app(protocol=False)


def session_of(headers: dict[str, str]) -> str:
    token = headers[HEADER]
    return str(URLSafeSerializer(KEY, salt="nemo-gym-mcp-session-token").loads(token)["sid"])


OBJECTS = [
    b"{}",
    b"{ }",
    b" \r\n\t{\n}\n \r\n",
    b'{"a":1}',
    b'{"big":123456789012345678901234567890,"small":-0}',
    b'{"a":1.10,"b":1E5,"c":1e+05,"d":0.1000000000000000055511151231257827,"e":1e400}',
    '{"name":"Zoë 東京 😀"}'.encode(),
    b'{"name":"Zo\\u00eb \\ud83d\\ude00 \\ud800 \\/ \\"}\\""}',
    b'{\n  "pretty": {\n    "printed": [1, 2]\n  }\n}\n',
    b'{"twice":1,"twice":2}',
    b'{"mcp_not":{"mcp":1},"nested":{"mcp":null}}',
    b'{"resources_session_id":"r"}',
    b'{"resources_tools":null}',
    b'\xef\xbb\xbf{"bom":true}',
    b'{"text":"' + b"x" * 100_000 + b'"}',
    b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
]


@pytest.mark.parametrize("body", OBJECTS, ids=lambda body: ascii(body[:30]))
def test_the_key_is_spliced_in_and_every_byte_of_the_app_stays(app, seeding, replying, open_door, body):
    answer = open_door(seeding(app, replying(body))).client.post("/seed_session", json={})
    head = body.rstrip()[:-1]
    assert answer.content.startswith(head)
    spliced = answer.content[len(head) :]
    assert spliced.startswith(b'"mcp":' if json.loads(body) == {} else b',"mcp":')
    assert spliced.endswith(b"}}}")
    expected = json.loads(body)
    reply = json.loads(answer.content)
    assert list(reply.pop("mcp")) == ["server_name", "url_path", "transport", "headers"]
    assert reply == expected
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("value", [b"null", b"{}", b'"mine"', b'{"server_name":"hand made"}'])
def test_a_reply_that_already_has_the_key_is_left_alone(app, seeding, replying, open_door, value):
    body = b'{"a": 1.0, "mcp": ' + value + b" }"
    answer = open_door(seeding(app, replying(body))).client.post("/seed_session", json={})
    assert answer.content == body


def test_the_typed_form_gets_the_metadata_in_its_own_key(app, seeding, open_door):
    given = {"resources_session_id": "r", "big": 2**70, "resources_tools": None, "ü": "é", "f": 0.1}
    door = open_door(seeding(app, lambda: given))
    reply = door.client.post("/seed_session", json={}).json()
    metadata = reply.pop("resources_tools")
    assert reply == {key: value for key, value in given.items() if key != "resources_tools"}
    assert metadata["server_name"] == "unit"
    assert list(metadata) == ["server_name", "url_path", "transport", "headers"]
    assert session_of(metadata["headers"])


def test_the_typed_form_keeps_the_order_of_its_keys(app, seeding, replying, open_door):
    body = b'{"resources_tools":null,"resources_session_id":"r","z":1,"a":2}'
    answer = open_door(seeding(app, replying(body))).client.post("/seed_session", json={})
    assert list(answer.json()) == ["resources_tools", "resources_session_id", "z", "a"]
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("tools", [b"{}", b"[]", b'{"mine":true}', b"false"])
def test_a_typed_reply_with_tools_of_its_own_is_left_alone(app, seeding, replying, open_door, tools):
    body = b'{"resources_session_id":"r",  "resources_tools":' + tools + b"}"
    assert open_door(seeding(app, replying(body))).client.post("/seed_session", json={}).content == body


class Reply(BaseModel):
    """A response model with an alias and a field that must not leave the server."""

    episode: int = Field(alias="episodeNumber")
    note: str | None = None


class Shouting(JSONResponse):
    """A response class of the app's own."""

    media_type = "application/vnd.gym+json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, indent=4).upper().encode()


def test_response_model_and_response_class_stay_in_force(app, seeding, open_door):
    app = seeding(
        app,
        lambda: {"episodeNumber": 3, "secret": "internal"},
        response_model=Reply,
        response_model_exclude_none=True,
        response_class=Shouting,
        status_code=201,
    )
    answer = open_door(app).client.post("/seed_session", json={})
    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/vnd.gym+json"
    assert answer.content.startswith(b'{\n    "EPISODENUMBER": 3\n,"mcp":{')
    assert b"internal" not in answer.content.lower()


def test_a_response_model_that_fails_stays_a_500(app, seeding, open_door):
    door = open_door(seeding(app, lambda: {"episodeNumber": "x"}, response_model=Reply))
    assert door.client.post("/seed_session", json={}).status_code == 500


def test_a_streamed_json_reply_gets_the_key_as_well(app, seeding, open_door):
    def stream() -> StreamingResponse:
        return StreamingResponse(iter([b'{"a', b'":', b"1}"]), media_type="application/json")

    door = open_door(seeding(app, stream))
    answer = door.client.post("/seed_session", json={})
    assert answer.json()["a"] == 1
    assert answer.json()["mcp"]["server_name"] == "unit"
    assert answer.headers["content-length"] == str(len(answer.content))


UNUSABLE = [
    (b"[1, 2]", 200, "application/json"),
    (b'"text"', 200, "application/json"),
    (b"null", 200, "application/json"),
    (b"", 200, "application/json"),
    (b"  ", 200, "application/json"),
    (b"{broken", 200, "application/json"),
    ('{"a": 1}'.encode("utf-16"), 200, "application/json"),
    ('{"a": 1}'.encode("utf-16-le"), 200, "application/json"),
    (b"hello", 200, "text/plain"),
    (b'{"a": 1}', 200, "text/plain"),
    (b'{"a": 1}', 200, None),
    (b"", 204, None),
    (b"\x00\x01", 201, "application/octet-stream"),
]


@pytest.mark.parametrize(("body", "status", "media_type"), UNUSABLE)
def test_another_2xx_reply_passes_unchanged_and_is_an_error_in_the_log(
    app, seeding, replying, open_door, caplog, body, status, media_type
):
    door = open_door(seeding(app, replying(body, status, media_type)))
    answer = door.client.post("/seed_session", json={})
    assert (answer.status_code, answer.content) == (status, body)
    (record,) = [record for record in caplog.records if record.name == ERRORS and record.levelno >= logging.ERROR]
    assert "no session token" in record.getMessage()


def test_a_compressed_reply_passes_unchanged(app, seeding, open_door, caplog):
    door = open_door(seeding(app, lambda: Response(b"x", 200, {"content-encoding": "br"}, "application/json")))
    assert door.client.post("/seed_session", json={}, headers={"accept-encoding": "br"}).status_code == 200
    assert "no session token" in caplog.text


@pytest.mark.parametrize("status", [302, 400, 404, 422, 500, 503])
def test_a_reply_that_is_no_success_passes_unchanged(app, seeding, replying, open_door, caplog, status):
    door = open_door(seeding(app, replying(b'{"detail":"no"}', status)))
    answer = door.client.post("/seed_session", json={}, follow_redirects=False)
    assert (answer.status_code, answer.content) == (status, b'{"detail":"no"}')
    assert not [record for record in caplog.records if record.name == ERRORS and record.levelno >= logging.ERROR]


def test_a_raising_seed_handler_answers_500_and_seeds_nothing(app, seeding, open_door):
    def crash() -> None:
        raise RuntimeError("boom")

    answer = open_door(seeding(app, crash)).client.post("/seed_session", json={})
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert "set-cookie" not in answer.headers


def test_a_reply_without_any_headers_passes(app, make_app, open_door, caplog):
    """A hand-made ASGI endpoint may leave the headers out."""

    class Bare:
        async def __call__(self, scope, receive, send):
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b"{}"})

    app = make_app()
    app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", "") != "/seed_session"]
    app.post("/seed_session")(lambda: None)
    app.router.routes[-1].app = Bare()
    assert open_door(app).client.post("/seed_session").content == b"{}"
    assert "no session token" in caplog.text


BODIES = [b"", b"{}", b' {"a": 1.0,\n "b":"\xc3\xa9"} ', b"not json", b"[1]", b"x" * 70_000, "{}".encode("utf-16")]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: ascii(body[:20]))
def test_the_handler_reads_the_very_body_that_was_sent_and_runs_once(app, open_door, body):
    read = []

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, bool]:
        chunks = [chunk async for chunk in request.stream()]
        read.append((b"".join(chunks), request.headers.get("content-length"), request.headers["x-mine"]))
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    answer = open_door(app).client.post("/seed_session", content=body, headers={"x-mine": "1"})
    assert read == [(body, str(len(body)), "1")]
    assert "mcp" in answer.json()


def test_a_body_sent_in_pieces_arrives_whole(app, open_door):
    read = []

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, bool]:
        read.append(await request.body())
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    open_door(app).client.post("/seed_session", content=iter([b'{"a', b'"', b": 1}"]))
    assert read == [b'{"a": 1}']


def test_typed_and_sync_seed_handlers_get_their_model(app, open_door):
    class Seed(BaseModel):
        level: int

    seeded = []

    @app.post("/seed_session")
    def seed_session(body: Seed) -> dict[str, int]:
        seeded.append(body.level)
        return {"level": body.level}

    @app.post("/verify")
    def verify() -> None: ...

    door = open_door(app)
    assert door.client.post("/seed_session", json={"level": 3}).json()["level"] == 3
    refused = door.client.post("/seed_session", json={"level": "x"})
    assert refused.status_code == 422
    assert "mcp" not in refused.json()
    assert seeded == [3]


def test_malformed_json_gets_fastapis_own_answer(app, open_door):
    @app.post("/seed_session")
    async def seed_session(body: dict[str, Any]) -> dict[str, Any]:
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    door = open_door(app)
    headers = {"content-type": "application/json"}
    answer = door.client.post("/seed_session", content=b'{"a": ', headers=headers)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["type"] == "json_invalid"


def test_an_id_that_the_app_did_not_set_is_minted_and_becomes_a_cookie(app, seeding, open_door):
    door = open_door(seeding(app, dict))
    first = door.client.post("/seed_session")
    assert first.headers["set-cookie"].startswith("session=")
    door.client.cookies.clear()
    second = door.client.post("/seed_session")
    ids = {session_of(answer.json()["mcp"]["headers"]) for answer in (first, second)}
    assert len(ids) == 2
    assert all(len(session_id) >= 32 for session_id in ids)


def test_the_id_that_the_app_set_is_used(app, open_door):
    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        request.session["session_id"] = "the app's own"
        return {}

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, Any]:
        return dict(request.session)

    door = open_door(app)
    assert session_of(door.seed()) == "the app's own"
    assert door.client.post("/verify").json() == {"session_id": "the app's own"}


def test_seeding_again_with_the_cookie_keeps_the_session_id(app, seeding, open_door):
    door = open_door(seeding(app, dict))
    first = door.client.post("/seed_session").json()["mcp"]["headers"]
    again = door.client.post("/seed_session").json()["mcp"]["headers"]
    assert session_of(first) == session_of(again)


def test_an_id_that_is_no_text_gives_no_token_and_says_so(app, open_door, caplog):
    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        request.session["session_id"] = 7
        return {"a": 1}

    @app.post("/verify")
    async def verify() -> None: ...

    assert open_door(app).client.post("/seed_session").json() == {"a": 1}
    assert "gets no session token" in caplog.text


def test_a_session_that_no_cookie_could_carry_fails_the_seed_as_over_plain_http(make_app, open_door):
    def unbearable(app: FastAPI) -> FastAPI:
        @app.post("/seed_session")
        async def seed_session(request: Request) -> dict[str, Any]:
            request.session["when"] = {1, 2}
            return {}

        @app.post("/verify")
        async def verify() -> None: ...

        return app

    plain = unbearable(make_app(protocol=False))
    door = open_door(unbearable(make_app(protocol=False)))
    expected = TestClient(plain, raise_server_exceptions=False).post("/seed_session")
    answer = door.client.post("/seed_session")
    assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
    assert answer.status_code == 500


def test_a_session_replaced_in_the_scope_is_the_one_that_counts(app, open_door):
    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        fresh = type(request.session)()
        fresh["session_id"] = "fresh"
        request.scope["session"] = fresh
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    assert session_of(open_door(app).seed()) == "fresh"


def test_background_tasks_of_the_seed_still_run(app, open_door):
    ran = []

    @app.post("/seed_session")
    async def seed_session() -> JSONResponse:
        return JSONResponse({}, background=BackgroundTask(ran.append, 1))

    @app.post("/verify")
    async def verify() -> None: ...

    assert "mcp" in open_door(app).client.post("/seed_session").json()
    assert ran == [1]


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_methods_on_the_seeds_path_pass_through(make_app, open_door, method):
    app = make_app()
    app.add_api_route("/seed_session", lambda: PlainTextResponse("mine"), methods=[method])
    assert open_door(app).client.request(method, "/seed_session").text == "mine"


def test_the_documentation_of_the_seed_route_is_unchanged(make_app, open_door):
    expected = TestClient(make_app()).get("/openapi.json").content
    assert open_door(make_app()).client.get("/openapi.json").content == expected

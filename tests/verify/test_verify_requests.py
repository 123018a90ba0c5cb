"""What the handler of /verify sees: its request, with the names of recorded calls put right and nothing else."""

import hashlib
import json
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict

from gym_mcp_manifest import expose

ON = {"expose_tools_over_mcp": True}
RECORDED = "mcp__unit__get_weather"

UNCHANGED = [
    b"",
    b"{}",
    b"not json",
    b'{"response": null}',
    b'{"response": {"output": null}}',
    b'{"response": {"output": "mcp__unit__get_weather"}}',
    b'{"response": [{"output": []}]}',
    b'[{"type": "function_call", "name": "mcp__unit__get_weather"}]',
    b'{ "a" : 1.10, "b":1E5,"response":{"output":[{"type":"function_call","name":"get_weather"}]}}\n',
    b'{"response":{"output":[{"type":"function_call","name":"bash"}]},"big":123456789012345678901234567890}',
    b'{"response":{"output":[{"type":"function_call","name":null},{"type":"function_call"},7,null,[]]}}',
    b'{"response":{"output":[{"type":"function_call","name":["mcp__unit__get_weather"]}]}}',
    b'{"response":{"output":[{"type":["function_call"],"name":"mcp__unit__get_weather"}]}}',
    b'{"response":{"output":[{"type":"FUNCTION_CALL","name":"mcp__unit__get_weather"}]}}',
    b'{"output":[{"type":"function_call","name":"mcp__unit__get_weather"}]}',
    b'{"response":{"output":{"type":"function_call","name":"mcp__unit__get_weather"}}}',
    b'{"response":{"items":[{"type":"function_call","name":"mcp__unit__get_weather"}]}}',
    b"[" * 50_000,
    b'{"n":' + b"9" * 5000 + b',"response":{"output":[{"type":"function_call","name":"mcp__unit__get_weather"}]}}',
    b"\xff\xfe\xfd",
]


@pytest.mark.parametrize("body", UNCHANGED, ids=lambda body: ascii(body[:50]))
def test_a_request_without_anything_to_change_arrives_byte_for_byte(scorer, raw, body):
    server = scorer(reply=raw(b"{}"))
    assert server.post(body).content == b"{}"
    ((arrived, headers),) = server.requests
    assert hashlib.sha256(arrived).digest() == hashlib.sha256(body).digest()
    assert headers["content-length"] == str(len(body))
    assert headers["content-type"] == "application/json"


def test_only_function_calls_of_the_responses_output_are_touched(scorer, raw):
    def items() -> list[dict[str, Any]]:
        return [
            {"type": "mcp_call", "name": RECORDED, "server_label": "unit"},
            {"type": "function_call_output", "name": RECORDED, "output": RECORDED},
            {"type": "message", "role": "assistant", "content": [{"type": "function_call", "name": RECORDED}]},
            {"name": RECORDED},
            {"type": "reasoning", "name": RECORDED, "summary": []},
        ]

    call = {"type": "function_call", "name": RECORDED, "arguments": RECORDED, "call_id": RECORDED}
    body = {
        "name": RECORDED,
        "responses_create_params": {
            "input": [{"type": "function_call", "name": RECORDED, "call_id": "0"}, *items()],
            "tools": [{"type": "function", "name": RECORDED}],
            "tool_choice": {"type": "function", "name": RECORDED},
        },
        "response": {
            "tools": [{"type": "function", "name": RECORDED}],
            "tool_choice": RECORDED,
            "output": [*items(), call],
        },
        "output": [{"type": "function_call", "name": RECORDED}],
    }
    server = scorer(reply=raw(b"{}"))
    server.verify(body)
    seen = json.loads(server.requests[0][0])
    call["name"] = "get_weather"
    assert seen == body


EXACT = [
    123456789012345678901234567890,
    -(2**63) - 1,
    0.1,
    1e308,
    5e-324,
    -0.0,
    1e16,
    "Zoë 東京 😀\u2028\x00\x7f",
    "\ud800 lone \udfff",
    '</script>"\\/',
    {"": None, "b": [], "a": {}, "é": True},
    [[[[[]]]]],
]


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("value", EXACT, ids=lambda value: ascii(value)[:30])
def test_a_changed_request_keeps_all_else_equal(scorer, raw, calls, value, escaped):
    body = {"value": value, **calls(RECORDED), "later": value}
    server = scorer(reply=raw(b"{}"))
    sent = json.dumps(body, ensure_ascii=escaped, indent=1).encode("utf-8", "surrogatepass")
    server.post(sent)
    ((arrived, headers),) = server.requests
    expected = json.loads(sent)
    expected["response"]["output"][0]["name"] = "get_weather"
    seen = json.loads(arrived)
    assert repr(seen) == repr(expected)
    assert list(seen) == list(body)
    assert headers["content-length"] == str(len(arrived))


def test_the_requests_other_headers_stay(scorer, raw, calls):
    server = scorer(reply=raw(b"{}"))
    client = server.door.client
    client.post("/verify", json=calls(RECORDED), headers={"x-mine": "1", "authorization": "Bearer z"})
    client.post("/verify", json=calls("bash"), headers={"x-mine": "1", "authorization": "Bearer z"})
    (_, changed), (_, unchanged) = server.requests
    changed.pop("content-length")
    unchanged.pop("content-length")
    assert changed == unchanged


def test_a_chunked_request_is_put_right_as_well(scorer, raw, calls):
    server = scorer(reply=raw(b"{}"))
    body = json.dumps(calls(RECORDED)).encode()
    headers = {"content-type": "application/json"}
    server.door.client.post("/verify", content=iter([body[:20], body[20:]]), headers=headers)
    ((arrived, headers),) = server.requests
    assert b'"get_weather"' in arrived
    assert headers["content-length"] == str(len(arrived))
    assert "transfer-encoding" not in headers


@pytest.mark.parametrize("depth", [*range(900, 1000, 20), 5000])
def test_deep_nesting_never_breaks_the_layer(scorer, raw, calls, depth):
    body = json.dumps(calls(RECORDED))[:-1] + ',"deep":' + "[" * depth + "]" * depth + "}"
    server = scorer(reply=raw(b"{}"))
    assert server.post(body.encode()).status_code == 200
    ((arrived, _),) = server.requests
    assert arrived.count(b"[") == body.count("[")


def test_the_handler_runs_once_whatever_changes(scorer, calls):
    server = scorer()
    server.verify(calls(RECORDED, "bash", RECORDED))
    server.verify(calls("bash"))
    assert len(server.requests) == 2


class Call(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    name: str | None = None


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")
    output: list[Call]


class VerifyBody(BaseModel):
    model_config = ConfigDict(extra="allow")
    response: Answer


class Verified(VerifyBody):
    reward: float


def score(body: VerifyBody) -> Verified:
    """A verifier as NeMo Gym has them: it scores own names and echoes the whole body."""
    right = [call.name for call in body.response.output if call.type == "function_call"] == ["get_weather"]
    return Verified(**body.model_dump(), reward=float(right))


async def score_later(body: VerifyBody) -> Verified:
    return score(body)


def base(make_app: Any, verify: Any = score) -> FastAPI:
    app: FastAPI = make_app(protocol=False)
    app.post("/seed_session")(lambda: {"ok": True})
    app.post("/verify")(verify)
    app.post("/get_weather")(lambda: {"ok": True})
    return app


def scored(client: TestClient, calls: Any) -> dict[str, Any]:
    body = {**calls(RECORDED), "task_id": 7}
    answer = client.post("/verify", json=body)
    assert answer.status_code == 200, answer.text
    reply = answer.json()
    assert reply.pop("reward") == 1.0
    assert reply == body
    return dict(reply)


@pytest.mark.parametrize("verify", [score, score_later], ids=["sync", "async"])
def test_typed_verifiers_score_the_own_name_and_echo_the_recorded_one(make_app, open_door, calls, verify):
    scored(open_door(base(make_app, verify)).client, calls)


def strip_verify(app: FastAPI) -> None:
    app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", None) != "/verify"]


@pytest.mark.parametrize("moment", ["before expose", "after expose"])
@pytest.mark.parametrize("verify", [score, score_later], ids=["sync", "async"])
def test_a_verify_route_that_is_registered_anew_is_served_all_the_same(make_app, calls, moment, verify):
    app = base(make_app, lambda: {"reward": 0.0})

    def register_anew() -> None:
        strip_verify(app)
        app.post("/verify", response_model=Verified)(verify)

    if moment == "before expose":
        register_anew()
    expose(app, name="unit", instance=ON)
    if moment == "after expose":
        register_anew()
    with TestClient(app) as client:
        scored(client, calls)


def test_a_verify_route_of_an_included_router_is_served_all_the_same(make_app, open_door, calls):
    app = make_app(protocol=False)
    router = APIRouter()
    router.post("/seed_session")(lambda: {"ok": True})
    router.post("/verify")(score_later)
    router.post("/get_weather")(lambda: {"ok": True})
    app.include_router(router)
    scored(open_door(app).client, calls)


def test_a_wrong_body_gets_the_handlers_own_422(make_app, open_door, calls):
    plain = TestClient(base(make_app))
    client = open_door(base(make_app)).client
    body = calls("bash") | {"response": {"output": [{"type": 7}]}}
    expected, answer = plain.post("/verify", json=body), client.post("/verify", json=body)
    assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
    assert answer.status_code == 422


def test_where_normalize_is_off_every_byte_and_name_stays(scorer, calls):
    server = scorer({"version": 1, "names": {"normalize": False}})
    body = json.dumps(calls(RECORDED), indent=3).encode()
    reply = server.post(body).json()
    assert server.requests[0][0] == body
    assert reply["response"]["output"][0]["name"] == RECORDED


def test_where_exposure_is_off_every_byte_and_name_stays(make_app, calls):
    app = make_app(protocol=False)
    arrived: list[bytes] = []

    @app.post("/verify")
    async def verify(request: Request) -> Any:
        arrived.append(await request.body())
        return await request.json()

    expose(app, name="unit", instance={"expose_tools_over_mcp": False})
    body = json.dumps(calls(RECORDED), indent=3).encode()
    answer = TestClient(app).post("/verify", content=body)
    assert arrived == [body]
    assert answer.json() == calls(RECORDED)


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_methods_on_the_path_pass_through(make_app, open_door, calls, method):
    app = base(make_app)

    async def echo(request: Request) -> dict[str, str]:
        return {"sha": hashlib.sha256(await request.body()).hexdigest()}

    app.add_api_route("/verify", echo, methods=[method])
    body = json.dumps(calls(RECORDED)).encode()
    answer = open_door(app).client.request(method, "/verify", content=body)
    assert answer.json() == {"sha": hashlib.sha256(body).hexdigest()}


def test_an_app_under_a_root_path_is_served_all_the_same(make_app, open_door, calls):
    app = base(make_app)
    door = open_door(app, client={"root_path": "/gym"})
    assert "mcp" in door.client.post("/gym/seed_session", json={}).json()
    answer = door.client.post("/gym/verify", json=calls(RECORDED))
    assert answer.json()["reward"] == 1.0

"""The session token on the wire: what it says, who can read it, and what a bad one costs."""

import json
from typing import Any

import pytest
from itsdangerous import URLSafeSerializer, URLSafeTimedSerializer

from gym_mcp_manifest import ExposureRefused

HEADER = "X-NeMo-Gym-Session-Token"
SALT = "nemo-gym-mcp-session-token"
KEY = "a key for tests"


def read(token: str, secret: str = KEY) -> Any:
    return URLSafeSerializer(secret, salt=SALT).loads(token)


def sign(payload: Any, secret: str = KEY, salt: str = SALT) -> str:
    return str(URLSafeSerializer(secret, salt=salt).dumps(payload))


def sign_text(text: bytes) -> str:
    """A token whose signature is right and whose payload is this very text."""
    return str(URLSafeSerializer(KEY, salt=SALT).make_signer(SALT).sign(text).decode())


@pytest.fixture
def app(make_app, with_tools):
    return with_tools(make_app(), "get_weather", "get_time", "debug_dump")


RULES = {"version": 1, "sessions": {"allow": [{"from": "allowed"}], "otherwise": "all"}}


def test_a_plain_token_says_the_session_id_and_null_for_all_tools(app, open_door):
    door = open_door(app)
    token = door.seed()[HEADER]
    session_id = door.client.post("/verify").json()["session"]["session_id"]
    assert read(token) == {"sid": session_id, "tools": None}


def test_a_narrowed_token_lists_the_exposed_names_sorted(app, open_door):
    door = open_door(app, {**RULES, "tools": {"get_time": {"name": "clock"}}})
    payload = read(door.seed({"allowed": ["get_weather", "get_time"]})[HEADER])
    assert payload == {"sid": payload["sid"], "tools": ["clock", "get_weather"]}


def test_only_a_session_that_holds_more_than_its_id_is_marked_as_kept(app, open_door):
    door = open_door(app)
    payload = read(door.seed({"session": {"secret_answer": "forty-two"}})[HEADER])
    assert payload == {"sid": payload["sid"], "tools": None, "kept": True, "seed": payload["seed"]}
    assert read(door.seed({"session": {"session_id": "mine"}})[HEADER]) == {"sid": "mine", "tools": None}


def test_nothing_that_the_session_holds_is_in_the_token(app, open_door):
    token = open_door(app).seed({"session": {"secret_answer": "forty-two" * 50}})[HEADER]
    assert set(read(token)) == {"sid", "tools", "kept", "seed"}
    assert "forty" not in json.dumps(read(token))


def test_the_metadata_has_the_form_of_the_contract(app, open_door):
    door = open_door(app, name="office.v2")
    reply = door.client.post("/seed_session", json={}).json()
    assert reply == {
        "seeded": True,
        "mcp": {
            "server_name": "office.v2",
            "url_path": "/mcp",
            "transport": "http",
            "headers": {HEADER: reply["mcp"]["headers"][HEADER]},
        },
    }


@pytest.mark.parametrize(
    ("arguments", "signs"),
    [
        ({"secret": "given"}, "given"),
        ({"secret": ["first", "second"]}, "first"),
        ({"instance": {"mcp_secret": "of the block"}}, "of the block"),
        ({"instance": {"mcp_secret": ["newest", "older"]}}, "newest"),
        ({"instance": {"mcp_secret": "of the block"}, "secret": "given"}, "given"),
        ({}, KEY),
    ],
)
def test_the_first_of_the_secrets_signs(app, open_door, arguments, signs):
    token = open_door(app, **arguments).seed()[HEADER]
    assert read(token, signs)["tools"] is None


@pytest.mark.parametrize("secret", ["newest", "older", "oldest"])
def test_every_secret_of_a_rotation_still_verifies(app, open_door, secret):
    door = open_door(app, RULES, secret=["newest", "older", "oldest"])
    token = sign({"sid": "s", "tools": ["get_time"]}, secret)
    assert door.names({HEADER: token}) == ("get_time",)
    assert door.call("get_time", {}, {HEADER: token})["structuredContent"] == {"ran": "get_time"}


def test_a_secret_that_left_the_rotation_verifies_no_more(app, open_door):
    door = open_door(app, secret=["newest"])
    token = sign({"sid": "s", "tools": None}, "older")
    assert "Invalid session token" in door.text("get_time", {}, {HEADER: token})


def test_the_key_of_the_session_middleware_is_no_second_secret(app, open_door):
    door = open_door(app, secret="another")
    assert "Invalid session token" in door.text("get_time", {}, {HEADER: sign({"sid": "s", "tools": None})})


def test_a_server_without_any_secret_does_not_boot(make_app, open_door):
    with pytest.raises(ExposureRefused, match="no secret signs"):
        open_door(make_app(sessions=False))


GOOD = sign({"sid": "s", "tools": None})
BAD_TOKENS = {
    "forged": "eyJzaWQiOiJzIiwidG9vbHMiOm51bGx9.bm90IGEgc2lnbmF0dXJl",
    "truncated": GOOD[:-3],
    "cut at the front": GOOD[1:],
    "without a signature": GOOD.rpartition(".")[0],
    "with another payload": sign({"sid": "t", "tools": None}).partition(".")[0] + "." + GOOD.partition(".")[2],
    "of another salt": sign({"sid": "s", "tools": None}, salt="cookie-session"),
    "of another secret": sign({"sid": "s", "tools": None}, secret="guessed"),
    "with a time stamp": URLSafeTimedSerializer(KEY, salt=SALT).dumps({"sid": "s", "tools": None}),
    "no token at all": "hunter2",
    "only dots": "...",
    "a bearer": f"Bearer {GOOD}",
    "with letters beyond ASCII": "é" + GOOD,
    "very long": "A" * 20_000,
    "signed text that is no JSON": sign_text(b"bm90IGpzb24"),
    "signed text that is no base64": sign_text(b"!"),
    "signed text that is not compressed": sign_text(b".QUFB"),
    "a list": sign(["s", None]),
    "a text": sign("s"),
    "null": sign(None),
    "without a session": sign({"tools": None}),
    "without tools": sign({"sid": "s"}),
    "with a session that is a number": sign({"sid": 7, "tools": None}),
    "with tools in one text": sign({"sid": "s", "tools": "get_time"}),
    "with tools that are numbers": sign({"sid": "s", "tools": [1]}),
    "with a mapping of tools": sign({"sid": "s", "tools": {"get_time": True}}),
}


@pytest.mark.parametrize("kind", BAD_TOKENS)
def test_a_bad_token_is_an_error_result_at_200_and_lists_everything(app, open_door, kind):
    door = open_door(app)
    headers = {HEADER: BAD_TOKENS[kind].encode("latin-1")}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_time", "arguments": {}}}
    answer = door.post(message, headers)
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Invalid session token")
    assert door.names(headers) == ("get_weather", "get_time", "debug_dump")


@pytest.mark.parametrize("headers", [{}, {HEADER: ""}])
def test_no_token_or_an_empty_one_is_a_missing_header(app, open_door, headers):
    door = open_door(app)
    result = door.call("get_time", {}, headers)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(f"Missing {HEADER} header")
    assert door.names(headers) == ("get_weather", "get_time", "debug_dump")


@pytest.mark.parametrize("name", ["get_time", "no_such_tool"])
def test_a_bad_token_answers_alike_for_every_name(app, open_door, name):
    door = open_door(app)
    assert door.text(name, {}, {HEADER: "x"}).startswith("Invalid session token")
    assert door.text(name, {}, {}).startswith("Missing")


def test_the_header_counts_in_any_letter_case(app, open_door):
    door = open_door(app)
    token = door.seed()[HEADER]
    assert not door.call("get_time", {}, {HEADER.lower(): token})["isError"]


def test_the_cookie_does_not_stand_in_for_the_token(app, open_door):
    door = open_door(app)
    door.seed()
    assert door.client.cookies
    assert door.text("get_time", {}).startswith("Missing")


def test_the_server_lives_on_after_every_bad_token(app, open_door):
    door = open_door(app)
    for token in BAD_TOKENS.values():
        door.call("get_time", {}, {HEADER: token.encode("latin-1")})
    assert door.call("get_time", {}, door.seed())["structuredContent"] == {"ran": "get_time"}


def test_claims_beside_the_known_ones_do_not_hinder(app, open_door):
    """A token of a later release, with more to say, still names its session and tools."""
    door = open_door(app, RULES)
    token = sign({"sid": "s", "tools": ["get_time"], "later": {"a": 1}})
    assert door.names({HEADER: token}) == ("get_time",)

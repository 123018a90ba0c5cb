"""`sessions.allow`: the first rule that applies decides what a session may see and call."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI, Request

from gym_mcp_manifest import load_manifest
from gym_mcp_manifest.session.store import SessionStore

HEADER = "X-NeMo-Gym-Session-Token"
TOOLS = ("get_weather", "get_time", "send_mail", "debug_dump", "debug_reset")
ALL = TOOLS


@pytest.fixture
def app(make_app, with_tools) -> FastAPI:
    return with_tools(make_app(), *TOOLS)


@pytest.fixture
def allowed(app, open_door) -> Callable[..., tuple[str, ...]]:
    """`allowed(sessions, seed_body, **manifest)`: the names of the seeded session's list."""

    def allowed(sessions: dict[str, Any], body: Any, **manifest: Any) -> tuple[str, ...]:
        door = open_door(app, {"version": 1, "sessions": sessions, **manifest})
        return door.names(door.seed(body))

    return allowed


@pytest.fixture
def refusal(app, open_door) -> Callable[..., str]:
    """`refusal(sessions, seed_body, **manifest)`: the detail of the 422."""

    def refusal(sessions: dict[str, Any], body: Any, **manifest: Any) -> str:
        door = open_door(app, {"version": 1, "sessions": sessions, **manifest})
        answer = door.client.post("/seed_session", json=body)
        assert answer.status_code == 422, answer.text
        assert list(answer.json()) == ["detail"]
        return str(answer.json()["detail"])

    return refusal


CASES = {
    "no rules: all": ({}, {}, ALL),
    "otherwise none without rules": ({"otherwise": "none"}, {}, ()),
    "tools by glob": ({"allow": [{"tools": ["get_*"]}]}, {}, ("get_weather", "get_time")),
    "tools by name": ({"allow": [{"tools": ["send_mail", "get_time"]}]}, {}, ("get_time", "send_mail")),
    "an empty list of tools allows none": ({"allow": [{"tools": []}]}, {}, ()),
    "deny alone takes from all": (
        {"allow": [{"deny": ["debug_*"]}]},
        {},
        ("get_weather", "get_time", "send_mail"),
    ),
    "deny takes from tools": ({"allow": [{"tools": ["get_*"], "deny": ["*_time"]}]}, {}, ("get_weather",)),
    "deny takes from a list": (
        {"allow": [{"from": "names", "deny": ["debug_*"]}], "otherwise": "all"},
        {"names": ["debug_dump", "get_time"]},
        ("get_time",),
    ),
    "question marks and sets are globs too": (
        {"allow": [{"tools": ["get_t?me", "[s]end_*"]}]},
        {},
        ("get_time", "send_mail"),
    ),
    "globs mind letter case": (
        {"allow": [{"tools": ["GET_*", "get_time"], "optional": True}]},
        {},
        ("get_time",),
    ),
    "when holds": (
        {"allow": [{"when": "level == 'easy'", "tools": ["get_*"]}], "otherwise": "none"},
        {"level": "easy"},
        ("get_weather", "get_time"),
    ),
    "when does not hold": (
        {"allow": [{"when": "level == 'easy'", "tools": ["get_*"]}], "otherwise": "none"},
        {"level": "hard"},
        (),
    ),
    "the first rule that applies decides": (
        {"allow": [{"when": "a", "tools": ["get_time"]}, {"when": "b", "tools": ["send_mail"]}, {"tools": []}]},
        {"a": 1, "b": 1},
        ("get_time",),
    ),
    "a later rule decides where the first passes over": (
        {"allow": [{"when": "a", "tools": ["get_time"]}, {"when": "b", "tools": ["send_mail"]}, {"tools": []}]},
        {"a": [], "b": 1},
        ("send_mail",),
    ),
    "0 is true as in JMESPath": ({"allow": [{"when": "n", "tools": []}], "otherwise": "all"}, {"n": 0}, ()),
    "an empty text is false": ({"allow": [{"when": "n", "tools": []}], "otherwise": "all"}, {"n": ""}, ALL),
    "an empty mapping is false": ({"allow": [{"when": "n", "tools": []}], "otherwise": "all"}, {"n": {}}, ALL),
    "false is false": ({"allow": [{"when": "n", "tools": []}], "otherwise": "all"}, {"n": False}, ALL),
    "null is false": ({"allow": [{"when": "n", "tools": []}], "otherwise": "all"}, {}, ALL),
    "a list of names": (
        {"allow": [{"from": "meta.names"}], "otherwise": "all"},
        {"meta": {"names": ["send_mail", "get_weather", "send_mail"]}},
        ("get_weather", "send_mail"),
    ),
    "names from specs": (
        {"allow": [{"from": "responses_create_params.tools[].name"}], "otherwise": "all"},
        {"responses_create_params": {"tools": [{"name": "get_time"}, {"name": "send_mail"}]}},
        ("get_time", "send_mail"),
    ),
    "specs that are not there are null": (
        {"allow": [{"from": "responses_create_params.tools[].name"}], "otherwise": "none"},
        {},
        (),
    ),
    "the first list that is not null decides": (
        {"allow": [{"from": ["first", "second"]}], "otherwise": "none"},
        {"second": ["get_time"]},
        ("get_time",),
    ),
    "an earlier list beats a later one": (
        {"allow": [{"from": ["first", "second"]}], "otherwise": "none"},
        {"first": ["send_mail"], "second": ["get_time"]},
        ("send_mail",),
    ),
    "all lists null: the next rule": (
        {"allow": [{"from": ["first", "second"]}, {"tools": ["get_time"]}]},
        {},
        ("get_time",),
    ),
    "an empty list passes over by default": (
        {"allow": [{"from": "names"}, {"tools": ["get_time"]}]},
        {"names": []},
        ("get_time",),
    ),
    "an empty first list decides over the second": (
        {"allow": [{"from": ["first", "second"]}], "otherwise": "none"},
        {"first": [], "second": ["get_time"]},
        (),
    ),
    "an empty list means no tools where the rule says so": (
        {"allow": [{"from": "names", "empty": "none"}], "otherwise": "all"},
        {"names": []},
        (),
    ),
    "null is no empty list": (
        {"allow": [{"from": "names", "empty": "none"}], "otherwise": "all"},
        {"names": None},
        ALL,
    ),
    "unknown names are dropped where the manifest says so": (
        {"allow": [{"from": "names"}], "otherwise": "all", "unknown": "ignore"},
        {"names": ["get_time", "bash", ""]},
        ("get_time",),
    ),
    "only unknown names leave nothing": (
        {"allow": [{"from": "names"}], "otherwise": "all", "unknown": "ignore"},
        {"names": ["bash"]},
        (),
    ),
    "a name in a list is no glob": (
        {"allow": [{"from": "names"}], "otherwise": "all", "unknown": "ignore"},
        {"names": ["get_*"]},
        (),
    ),
    "the typed seed's task_data is the seed body": (
        {"allow": [{"from": "names"}], "otherwise": "none"},
        {"resources_session_id": "r", "task_data": {"names": ["get_time"]}, "names": ["send_mail"]},
        ("get_time",),
    ),
    "a typed seed whose task_data is null has no body": (
        {"allow": [{"from": "names"}], "otherwise": "none"},
        {"resources_session_id": "r", "task_data": None, "names": ["send_mail"]},
        (),
    ),
    "task_data without a resources session is an ordinary key": (
        {"allow": [{"from": "names"}], "otherwise": "none"},
        {"task_data": {"names": ["get_time"]}, "names": ["send_mail"]},
        ("send_mail",),
    ),
    "a resources session without task_data is an ordinary seed": (
        {"allow": [{"from": "names"}], "otherwise": "none"},
        {"resources_session_id": "r", "names": ["send_mail"]},
        ("send_mail",),
    ),
    "the body may be a list": (
        {"allow": [{"from": "[].name"}], "otherwise": "none"},
        [{"name": "get_time"}],
        ("get_time",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules_decide_what_the_session_lists(make_app, with_tools, open_door, case):
    sessions, body, expected = CASES[case]
    app = make_app(protocol=False)

    @app.post("/seed_session")
    async def seed_session() -> dict[str, Any]:
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    with_tools(app, *TOOLS)
    door = open_door(app, {"version": 1, "sessions": sessions})
    answer = door.client.post("/seed_session", json=body)
    headers = answer.json()["mcp"]["headers"]
    assert door.names(headers) == expected
    for name in TOOLS:
        assert ("structuredContent" in door.call(name, {}, headers)) == (name in expected)


RENAMED = {"tools": {"get_weather": {"name": "weather"}, "send_mail": {"name": "mail"}}}
BY_EITHER_NAME = [
    ({"allow": [{"from": "names"}], "otherwise": "none"}, {"names": ["weather"]}, ("weather",)),
    ({"allow": [{"from": "names"}], "otherwise": "none"}, {"names": ["get_weather"]}, ("weather",)),
    ({"allow": [{"from": "names"}], "otherwise": "none"}, {"names": ["mail", "send_mail"]}, ("mail",)),
    ({"allow": [{"tools": ["weather", "send_mail"]}]}, {}, ("weather", "mail")),
    ({"allow": [{"tools": ["get_*"]}]}, {}, ("weather", "get_time")),
    ({"allow": [{"deny": ["get_w*", "mai?", "debug*"]}]}, {}, ("get_time",)),
]


@pytest.mark.parametrize(("sessions", "body", "expected"), BY_EITHER_NAME)
def test_a_renamed_tool_answers_to_its_own_and_its_exposed_name_in_every_list(allowed, sessions, body, expected):
    assert allowed(sessions, body, **RENAMED) == expected


def test_a_list_that_names_an_unexposed_tool_is_refused_with_the_nearest_name(refusal):
    detail = refusal({"allow": [{"from": "names"}], "otherwise": "all"}, {"names": ["get_time", "get_wether"]})
    assert "'get_wether', which is no exposed tool" in detail
    assert "did the task mean 'get_weather'?" in detail


@pytest.mark.parametrize("name", ["verify", "seed_session", "mcp", "", "get_*", "GET_TIME", "ñ"])
def test_names_that_are_no_tools_are_refused_one_and_all(refusal, name):
    assert f"{name!r}, which is no exposed tool" in refusal(
        {"allow": [{"from": "names"}], "otherwise": "all"}, {"names": [name]}
    )


@pytest.mark.parametrize(
    "value", ["get_time", "", {"get_time": True}, 1, True, [1], ["get_time", None], [["get_time"]]]
)
def test_a_value_that_is_no_list_of_texts_is_refused_and_never_read_letter_by_letter(refusal, value):
    detail = refusal({"allow": [{"from": "names"}], "otherwise": "all", "unknown": "ignore"}, {"names": value})
    assert detail.startswith("`names` gives no list of tool names in the seed body")


def test_where_no_rule_applies_the_seed_may_be_an_error(refusal):
    sessions = {"allow": [{"when": "a", "tools": ["get_time"]}], "otherwise": "error"}
    assert refusal(sessions, {}).startswith("no rule of sessions.allow applies to this seed body")


MANIFEST = """\
version: 1
sessions:
  allow:
    - when: "length(level) > `2`"
      from:
        - names && starts_with(names, 'x') || null
        - meta.names
  otherwise: error
"""
FIRST = "`names && starts_with(names, 'x') || null`"

PLACES = [
    ({"level": 7}, "`length(level) > `2`` fails on the seed body ({file}:4:13)"),
    ({"level": "hard", "names": 7}, FIRST + " fails on the seed body ({file}:6:11)"),
    ({"level": "hard", "names": "xy"}, FIRST + " gives no list of tool names in the seed body ({file}:6:11)"),
    (
        {"level": "hard", "meta": {"names": "y"}},
        "`meta.names` gives no list of tool names in the seed body ({file}:7:11)",
    ),
    (
        {"level": "hard", "meta": {"names": ["y"]}},
        "the seed body allows 'y', which is no exposed tool ({file}:7:11)",
    ),
    ({"level": "e"}, "no rule of sessions.allow applies to this seed body ({file}:8:14)"),
]


@pytest.mark.parametrize(("body", "said"), PLACES)
def test_a_refusal_names_the_expression_and_its_file_and_line(app, open_door, tmp_path, body, said):
    file = tmp_path / "mcp.yaml"
    file.write_text(MANIFEST)
    answer = open_door(app, load_manifest(file)).client.post("/seed_session", json=body)
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert detail.startswith(said.format(file=file)), detail


def test_a_rule_of_the_instance_is_named_by_its_layer(app, open_door):
    block = {"mcp": {"sessions": {"allow": [{"from": "names"}], "otherwise": "all"}}}
    detail = open_door(app, instance=block).client.post("/seed_session", json={"names": "x"}).json()["detail"]
    assert "the instance's block: mcp" in detail


RAISING = ["level > `2`", "contains(level, `3`)", "max_by(rows, &n)", "rows[::0]", "ceil(to_number(huge))"]


@pytest.mark.parametrize("key", ["when", "from"])
@pytest.mark.parametrize("expression", RAISING)
def test_whatever_an_expression_raises_is_a_422(refusal, key, expression):
    """JMESPath's own Python lets TypeError, ValueError and OverflowError out of some expressions."""
    rule = {key: expression} | ({"tools": ["get_time"]} if key == "when" else {})
    body = {"level": "hard", "rows": [{"n": 1}, {"n": "x"}], "huge": "1e999"}
    assert f"`{expression}` fails on the seed body" in refusal({"allow": [rule], "otherwise": "all"}, body)


def test_a_refused_seed_has_no_effects(make_app, with_tools, open_door, monkeypatch):
    ran: list[str] = []
    kept: list[Any] = []
    monkeypatch.setattr(SessionStore, "keep", lambda *arguments: kept.append(arguments))
    app = make_app(protocol=False)

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        ran.append("seed")
        request.session["seeded"] = True
        return {}

    @app.post("/verify")
    async def verify() -> None: ...

    with_tools(app, *TOOLS)
    door = open_door(app, {"version": 1, "sessions": {"allow": [{"from": "names"}], "otherwise": "all"}})
    answer = door.client.post("/seed_session", json={"names": "get_time"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/json"
    assert "set-cookie" not in answer.headers
    assert (ran, kept) == ([], [])


def test_a_refused_seed_is_logged_as_a_warning(refusal, caplog):
    detail = refusal({"allow": [{"from": "names"}], "otherwise": "all"}, {"names": "get_time"})
    (record,) = [record for record in caplog.records if "refused" in record.getMessage()]
    assert record.levelno == logging.WARNING
    assert detail in record.getMessage()


def test_no_body_is_an_empty_one_to_the_rules(app, open_door):
    sessions = {"allow": [{"when": "length(keys(@)) == `0`", "tools": ["get_time"]}], "otherwise": "none"}
    door = open_door(app, {"version": 1, "sessions": sessions})
    for content in (b"", b"{}"):
        headers = door.client.post("/seed_session", content=content).json()["mcp"]["headers"]
        assert door.names(headers) == ("get_time",)


def test_malformed_json_reaches_the_handler_where_there_are_no_rules(app, open_door):
    answer = open_door(app, {"version": 1}).client.post("/seed_session", content=b'{"names": ')
    assert answer.status_code == 500  # the handler's own json.loads


@pytest.mark.parametrize(
    "body", [b'{"names": ["get_time"],}', '{"names": ["Zürich"]}'.encode("latin-1"), b"\xff\xfe"]
)
def test_a_body_that_rules_cannot_read_never_widens_a_session(make_app, with_tools, open_door, body):
    app = make_app(protocol=False)
    app.post("/seed_session")(lambda: {"ok": True})
    app.post("/verify")(lambda: None)
    manifest = {"version": 1, "sessions": {"allow": [{"from": "names"}], "otherwise": "all"}}
    answer = open_door(with_tools(app, *TOOLS), manifest).client.post("/seed_session", content=body)
    assert answer.status_code == 422
    assert "no JSON" in answer.json()["detail"]


def test_malformed_json_is_refused_where_some_rule_must_apply(app, open_door):
    manifest = {"version": 1, "sessions": {"allow": [{"from": "names"}], "otherwise": "error"}}
    assert open_door(app, manifest).client.post("/seed_session", content=b'{"names": ').status_code == 422


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 50_000, b"1" * 5000, b"\xff\xfe"])
def test_a_hostile_seed_body_never_breaks_the_layer(make_app, with_tools, open_door, body):
    app = make_app(protocol=False)
    app.post("/seed_session")(lambda: {"ok": True})
    app.post("/verify")(lambda: None)
    with_tools(app, *TOOLS)
    manifest = {"version": 1, "sessions": {"allow": [{"from": "names"}], "otherwise": "none"}}
    answer = open_door(app, manifest).client.post("/seed_session", content=body)
    assert answer.status_code == 422
    assert "mcp" not in answer.json()


def test_a_session_left_without_tools_is_logged_once_per_cause(app, open_door, caplog):
    sessions = {
        "allow": [
            {"from": "names", "empty": "none"},
            {"when": "level == 'hard'", "tools": ["get_*"], "deny": ["*"]},
        ],
        "otherwise": "none",
    }
    door = open_door(app, {"version": 1, "sessions": sessions})
    for _ in range(3):
        for body in ({"names": []}, {"level": "hard"}, {}, {"names": ["get_time"]}):
            door.seed(body)
    said = [record.getMessage() for record in caplog.records if "without any tool" in record.getMessage()]
    assert [text.rpartition(" by ")[2] for text in said] == [
        "`sessions.allow[0]`",
        "`sessions.allow[1]`",
        "`sessions.otherwise: none`",
    ]


def test_the_rules_hold_for_tokens_only_and_never_for_plain_http(app, open_door):
    door = open_door(app, {"version": 1, "sessions": {"allow": [{"tools": ["get_time"]}]}})
    door.seed()
    assert door.client.post("/send_mail", json={}).json() == {"ran": "send_mail"}

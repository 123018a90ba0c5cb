"""The reply of /verify: the names as the model emitted them, each item at its place."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

RECORDED = "mcp__unit__get_weather"
OPENCODE = "unit_get_weather"


def call(name: str, call_id: Any = "c", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "call_id": call_id, **more}


def body_of(*items: dict[str, Any]) -> dict[str, Any]:
    return {"response": {"output": list(items)}}


def names_of(reply: Any) -> list[str | None]:
    return [item.get("name") for item in reply["response"]["output"]]


def echo_with(change: Any) -> Any:
    """A handler that echoes its body after `change` has had the output."""

    def reply(body: bytes) -> Any:
        value = json.loads(body)
        value["response"]["output"] = change(value["response"]["output"])
        return JSONResponse(value)

    return reply


def test_the_emitted_names_come_back_and_all_else_is_the_handlers(scorer):
    server = scorer()
    body = body_of(call(RECORDED, "1"), call("bash", "2"), call(OPENCODE, "3"), call("get_time", "4"))
    reply = server.verify(body).json()
    assert reply == {**body, "reward": 1.0}
    assert names_of(json.loads(server.requests[0][0])) == ["get_weather", "bash", "get_weather", "get_time"]


@pytest.mark.parametrize("call_id", ["same", None, 7, [1], {"a": 1}, ""])
def test_two_calls_that_share_a_call_id_each_get_their_own_name_back(scorer, call_id):
    names = [RECORDED, OPENCODE, "get_weather", "bash"]
    body = body_of(*(call(name, call_id) for name in names))
    assert names_of(scorer().verify(body).json()) == names


def test_calls_without_a_call_id_get_their_names_back(scorer):
    body = body_of(*({"type": "function_call", "name": name} for name in (RECORDED, OPENCODE, "get_weather")))
    assert names_of(scorer().verify(body).json()) == [RECORDED, OPENCODE, "get_weather"]


def test_a_reordered_echo_is_restored_by_name_and_call_id(scorer):
    server = scorer(reply=echo_with(lambda output: output[::-1]))
    body = body_of(call(RECORDED, "1"), call(OPENCODE, "2"), call("get_weather", "3"), call("bash", "4"))
    assert names_of(server.verify(body).json()) == ["bash", "get_weather", OPENCODE, RECORDED]


def test_a_filtered_echo_is_restored_by_name_and_call_id(scorer):
    server = scorer(reply=echo_with(lambda output: output[1:]))
    body = body_of(call("bash", "0"), call(RECORDED, "1"), call("get_weather", "2"), call(OPENCODE, "3"))
    assert names_of(server.verify(body).json()) == [RECORDED, "get_weather", OPENCODE]


def test_an_echo_with_more_items_is_restored_by_name_and_call_id(scorer):
    extra = {"type": "message", "content": []}
    server = scorer(reply=echo_with(lambda output: [extra, *output, call("get_weather", "new")]))
    body = body_of(call(RECORDED, "1"), call(OPENCODE, "2"))
    assert names_of(server.verify(body).json()) == [None, RECORDED, OPENCODE, "get_weather"]


def test_where_a_filtered_echo_leaves_a_doubt_the_name_stays(scorer):
    """Of two calls alike one was dropped; which one, nobody knows."""
    server = scorer(reply=echo_with(lambda output: output[1:]))
    body = body_of(call(RECORDED, "same"), call(OPENCODE, "same"))
    assert names_of(server.verify(body).json()) == ["get_weather"]


def test_a_call_that_was_recorded_bare_is_never_given_anothers_name(scorer):
    """The echo drops the first call; the second one was recorded as datasets write it."""
    server = scorer(reply=echo_with(lambda output: output[1:]))
    body = body_of(call(RECORDED, "same"), call("get_weather", "same"))
    assert names_of(server.verify(body).json()) == ["get_weather"]


def test_two_dropped_and_kept_calls_of_one_recorded_name_leave_no_doubt(scorer):
    server = scorer(reply=echo_with(lambda output: output[1:]))
    body = body_of(call(RECORDED, "same"), call(RECORDED, "same"))
    assert names_of(server.verify(body).json()) == [RECORDED]


def test_a_name_that_the_handler_changed_stays_changed(scorer):
    server = scorer(reply=echo_with(lambda output: [{**item, "name": "redacted"} for item in output]))
    assert names_of(server.verify(body_of(call(RECORDED), call("bash"))).json()) == ["redacted", "redacted"]


def test_an_item_that_became_another_type_is_left_alone(scorer):
    server = scorer(reply=echo_with(lambda output: [{**item, "type": "mcp_call"} for item in output]))
    assert names_of(server.verify(body_of(call(RECORDED))).json()) == ["get_weather"]


def test_only_the_echoed_output_is_restored(scorer):
    def reply(body: bytes) -> Any:
        value = json.loads(body)
        return JSONResponse({**value, "seen": value["response"]["output"], "used": "get_weather", "reward": 1})

    answer = scorer(reply=reply).verify(body_of(call(RECORDED))).json()
    assert names_of(answer) == [RECORDED]
    assert answer["seen"][0]["name"] == "get_weather"
    assert answer["used"] == "get_weather"


VALUES = [2**70, 0.1, 1e16, -0.0, "東京 😀", "\ud800", {"b": 1, "a": 2}, None]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value)[:20])
def test_a_restored_reply_keeps_all_else_equal(scorer, raw, value):
    reply = {"value": value, **body_of(call("get_weather", "1")), "reward": 0.5}
    server = scorer(reply=raw(json.dumps(reply).encode()))
    answer = server.verify(body_of(call(RECORDED, "1")))
    reply["response"]["output"][0]["name"] = RECORDED
    assert repr(json.loads(answer.content)) == repr(reply)
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-type"] == "application/json"


UNTOUCHED = [
    b'{"reward": 1.0}',
    b'{ "reward":1.00, "response":{"output":[]} }\n',
    b'{"response":{"output":[{"type":"function_call","name":"get_weather","call_id":"another"},1]}}',
    b'{"response":{"output":null}}',
    b"[1, 2]",
    b"1.0",
    b"null",
    b"",
    b"{broken",
    b"[" * 50_000,
]


@pytest.mark.parametrize("body", UNTOUCHED, ids=lambda body: ascii(body[:40]))
def test_a_reply_that_echoes_none_of_the_calls_passes_byte_for_byte(scorer, raw, body):
    server = scorer(reply=raw(body))
    answer = server.verify(body_of(call(RECORDED, "1"), call("bash", "2")))
    assert (answer.status_code, answer.content) == (200, body)
    assert answer.headers["content-length"] == str(len(body))


ECHO = json.dumps({"response": {"output": [call("get_weather", "1")]}}).encode()


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500, 503])
def test_a_reply_that_is_no_success_passes_byte_for_byte(scorer, raw, status):
    answer = scorer(reply=raw(ECHO, status)).verify(body_of(call(RECORDED, "1")))
    assert (answer.status_code, answer.content) == (status, ECHO)


def test_a_2xx_status_of_its_own_stays(scorer, raw):
    answer = scorer(reply=raw(ECHO, 201)).verify(body_of(call(RECORDED, "1")))
    assert answer.status_code == 201
    assert names_of(answer.json()) == [RECORDED]


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-ndjson", "application/octet-stream", None])
def test_a_reply_that_is_not_json_passes_byte_for_byte(scorer, raw, media_type):
    assert scorer(reply=raw(ECHO, 200, media_type)).verify(body_of(call(RECORDED, "1"))).content == ECHO


def test_a_reply_in_a_json_dialect_is_restored(scorer, raw):
    answer = scorer(reply=raw(ECHO, 200, "application/vnd.gym+json; v=1")).verify(body_of(call(RECORDED, "1")))
    assert names_of(answer.json()) == [RECORDED]


def test_a_streamed_json_reply_is_restored(scorer):
    pieces = [ECHO[:10], ECHO[10:30], ECHO[30:]]
    server = scorer(reply=lambda _: StreamingResponse(iter(pieces), media_type="application/json"))
    answer = server.verify(body_of(call(RECORDED, "1")))
    assert names_of(answer.json()) == [RECORDED]
    assert answer.headers["content-length"] == str(len(answer.content))


def test_a_stream_of_events_passes_as_it_comes(scorer):
    events = [b"data: get_weather\n\n", b"data: done\n\n"]
    server = scorer(reply=lambda _: StreamingResponse(iter(events), media_type="text/event-stream"))
    answer = server.verify(body_of(call(RECORDED, "1")))
    assert answer.content == b"".join(events)
    assert "content-length" not in answer.headers


def test_headers_and_cookies_of_the_reply_stay(scorer):
    def reply(body: bytes) -> Response:
        answer = Response(ECHO, 200, {"x-mine": "1"}, "application/json")
        answer.set_cookie("a", "b")
        return answer

    answer = scorer(reply=reply).verify(body_of(call(RECORDED, "1")))
    assert answer.headers["x-mine"] == "1"
    assert answer.cookies["a"] == "b"
    assert names_of(answer.json()) == [RECORDED]


def test_a_raising_verifier_answers_500(scorer):
    def crash(body: bytes) -> None:
        raise RuntimeError("boom")

    answer = scorer(reply=crash).verify(body_of(call(RECORDED, "1")))
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")


def test_a_stream_that_breaks_off_is_no_whole_reply(scorer):
    def broken() -> Any:
        yield ECHO[:10]
        raise RuntimeError("boom")

    server = scorer(reply=lambda _: StreamingResponse(broken(), media_type="application/json"))
    assert server.verify(body_of(call(RECORDED, "1"))).status_code == 500


def test_restore_off_leaves_the_reply_as_the_handler_made_it(scorer):
    server = scorer({"version": 1, "names": {"restore": False}})
    assert names_of(server.verify(body_of(call(RECORDED), call("bash"))).json()) == ["get_weather", "bash"]


def test_a_plain_text_verdict_passes(scorer):
    server = scorer(reply=lambda _: PlainTextResponse("get_weather"))
    assert server.verify(body_of(call(RECORDED))).text == "get_weather"


ITEMS = st.lists(
    st.tuples(
        st.sampled_from([RECORDED, OPENCODE, "get_weather", "mcp__unit__get_time", "get_time", "bash"]),
        st.sampled_from(["1", "2", None]),
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=ITEMS, data=st.data())
def test_no_echo_is_ever_given_a_name_that_no_such_call_had(served, items, data):
    """A whole echo is the request; in any other, each name is one that an equal call was recorded by."""
    server, order = served
    order[:] = data.draw(st.lists(st.sampled_from(range(len(items))), unique=True) if items else st.just([]))
    body = body_of(*(call(name, call_id, place=place) for place, (name, call_id) in enumerate(items)))
    reply = server.verify(body).json()["response"]["output"]
    if order == list(range(len(items))):
        assert reply == body["response"]["output"]
    own = {RECORDED: "get_weather", OPENCODE: "get_weather", "mcp__unit__get_time": "get_time"}
    for place, item in zip(order, reply, strict=True):
        assert item["place"] == place
        recorded = items[place][0]
        scored = own.get(recorded, recorded), item["call_id"]
        known = {name for name, call_id in items if (own.get(name, name), call_id) == scored}
        assert item["name"] in known | {scored[0]}
        if len(known) == 1:
            assert item["name"] == recorded


@pytest.fixture
def served(scorer):
    """A server whose /verify echoes the items at the places in a list, which the test fills."""
    order: list[int] = []
    return scorer(reply=echo_with(lambda output: [output[place] for place in order])), order

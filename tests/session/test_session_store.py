"""What a session remembers: what the seed left, what calls write, and what is lost is said, never made up."""

import threading
from typing import Any

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient
from itsdangerous import URLSafeSerializer

from gym_mcp_manifest import install
from gym_mcp_manifest.session.store import SessionLost, SessionStore

HEADER = "X-NeMo-Gym-Session-Token"
LOST = "seed again"


@pytest.fixture
def app(make_app, with_memory):
    return with_memory(make_app())


@pytest.fixture
def door(app, open_door):
    return open_door(app)


def look(door, headers) -> dict[str, Any]:
    return dict(door.call("look", {}, headers)["structuredContent"])


def over_http(door) -> dict[str, Any]:
    return dict(door.client.post("/verify").json()["session"])


def test_a_call_sees_what_the_seed_left_and_its_session_id(door):
    headers = door.seed({"session": {"task": {"city": "Zürich", "n": [1, None, 0.5]}}})
    seen = look(door, headers)
    assert seen.pop("session_id")
    assert seen == {"task": {"city": "Zürich", "n": [1, None, 0.5]}}
    assert look(door, headers) == over_http(door)


def test_a_call_sees_what_a_cookie_would_carry(make_app, with_memory, open_door):
    app = with_memory(make_app(protocol=False))

    @app.post("/seed_session")
    async def seed_session(request: Request) -> dict[str, Any]:
        request.session["pair"] = (1, 2)
        request.session["by_number"] = {1: "one", None: "none", 0.5: "half", False: "no"}
        request.session[7] = "a key that is a number"
        request.session[None] = "a key that is nothing"
        return {}

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, Any]:
        return {"session": dict(request.session)}

    door = open_door(app)
    headers = door.seed()
    seen = look(door, headers)
    assert seen["pair"] == [1, 2]
    assert seen["by_number"] == {"1": "one", "null": "none", "0.5": "half", "false": "no"}
    assert seen["7"] == "a key that is a number"
    assert seen["null"] == "a key that is nothing"
    assert seen == over_http(door)


def test_what_a_call_writes_the_next_call_and_the_next_http_request_see(door):
    headers = door.seed({"session": {"kept": 1, "changed": 1}})
    door.call("write", {"changed": 2, "new": {"deep": [1]}}, headers)
    assert look(door, headers).items() >= {"kept": 1, "changed": 2, "new": {"deep": [1]}}.items()
    assert over_http(door) == look(door, headers)


def test_writes_of_a_session_that_the_seed_left_plain_are_kept_as_well(door):
    headers = door.seed()
    door.call("write", {"a": 1}, headers)
    assert look(door, headers)["a"] == 1
    assert over_http(door)["a"] == 1


def test_what_a_call_deletes_is_gone_for_both_doors(door):
    headers = door.seed({"session": {"a": 1, "b": 2}})
    door.call("forget", {"keys": ["a"]}, headers)
    assert "a" not in look(door, headers)
    assert "a" not in over_http(door)
    assert over_http(door)["b"] == 2


def test_a_key_written_again_after_its_deletion_is_there(door):
    headers = door.seed({"session": {"a": 1}})
    door.call("forget", {"keys": ["a"]}, headers)
    door.call("write", {"a": 3}, headers)
    assert over_http(door)["a"] == 3


def test_a_write_is_merged_once_so_that_later_http_writes_stand(door):
    headers = door.seed({"session": {"a": 1}})
    door.call("write", {"a": 2}, headers)
    assert door.client.post("/write", json={"a": 3}).json()["a"] == 3
    assert over_http(door)["a"] == 3
    # HTTP writes after the seed are not seen by MCP calls.
    assert look(door, headers)["a"] == 2


def test_a_write_over_mcp_after_one_over_http_is_the_later_one(door):
    headers = door.seed({"session": {"a": 1}})
    door.client.post("/write", json={"a": 3, "b": 3})
    door.call("write", {"a": 4}, headers)
    assert over_http(door).items() >= {"a": 4, "b": 3}.items()


def test_merged_writes_reach_the_cookie_of_a_request_that_writes_nothing(door):
    headers = door.seed()
    door.call("write", {"a": 1}, headers)
    first = door.client.post("/look", json={})
    assert "set-cookie" in first.headers
    assert over_http(door)["a"] == 1


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_requests_of_any_method_get_the_writes(app, open_door, method):
    async def anything(request: Request) -> dict[str, Any]:
        return dict(request.session)

    app.add_api_route("/any", anything, methods=[method])
    door = open_door(app)
    door.call("write", {"a": 1}, door.seed())
    assert door.client.request(method, "/any").json()["a"] == 1


def test_a_request_that_ends_in_500_does_not_use_the_writes_up(app, open_door):
    @app.post("/crash")
    async def crash(request: Request) -> None:
        raise RuntimeError(request.session["a"])

    door = open_door(app)
    headers = door.seed()
    door.call("write", {"a": 1}, headers)
    before = door.client.cookies["session"]
    assert door.client.post("/crash", json={}).status_code == 500
    assert door.client.cookies["session"] == before
    assert over_http(door)["a"] == 1


def test_a_request_that_is_refused_with_a_reply_carries_the_writes_home(app, open_door):
    @app.post("/refuse")
    async def refuse() -> None:
        raise HTTPException(418)

    door = open_door(app)
    door.call("write", {"a": 1}, door.seed())
    assert door.client.post("/refuse", json={}).status_code == 418
    assert over_http(door)["a"] == 1


def test_a_request_of_another_session_or_of_none_gets_no_writes(app, door):
    headers = door.seed()
    door.call("write", {"a": 1}, headers)
    cookies = dict(door.client.cookies)
    other = door.seed()
    assert "a" not in over_http(door)
    assert "a" not in look(door, other)
    door.client.cookies.clear()
    assert over_http(door) == {}
    door.client.cookies.update(cookies)
    assert over_http(door)["a"] == 1


def test_the_second_seed_of_a_session_starts_its_contents_over(door):
    headers = door.seed({"session": {"session_id": "mine", "old": 1}})
    door.call("write", {"written": 1}, headers)
    again = door.seed({"session": {"session_id": "mine", "new": 1}})
    assert look(door, again) == {"session_id": "mine", "new": 1}
    assert over_http(door) == {"session_id": "mine", "new": 1}


def test_nothing_is_shared_between_two_calls_or_with_the_seed(app, open_door):
    held = []

    @app.post("/hold")
    async def hold(request: Request) -> dict[str, int]:
        held.append(request.session["list"])
        return {}

    door = open_door(app)
    headers = door.seed({"session": {"list": [1]}})
    door.call("hold", {}, headers)
    held[0].append(2)
    assert look(door, headers)["list"] == [1]


def test_calls_of_one_session_at_one_time_are_merged_key_by_key(make_app, with_memory, make_door, open_door):
    app = with_memory(make_app())
    gate = threading.Barrier(4, timeout=20)

    @app.post("/write_at_once")
    def write_at_once(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        gate.wait()
        request.session.update(body)
        request.session.pop(f"old_{body['n']}")
        gate.wait()
        return {}

    door = open_door(app)
    headers = door.seed({"session": {f"old_{n}": n for n in range(4)} | {"untouched": 1}})
    calls = [
        threading.Thread(target=door.call, args=("write_at_once", {f"key_{n}": n, "n": n}, headers))
        for n in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    seen = look(door, headers)
    assert seen.pop("n") in range(4)
    assert seen.pop("session_id")
    assert seen == {"untouched": 1} | {f"key_{n}": n for n in range(4)}
    assert over_http(door).keys() == look(door, headers).keys()


@pytest.mark.parametrize("kind", ["a set", "bytes", "an object", "a key that is a tuple"])
def test_a_value_that_no_cookie_carries_fails_as_over_http_and_leaves_nothing(app, open_door, kind):
    values: dict[str, Any] = {"a set": {1}, "bytes": b"x", "an object": object()}

    @app.post("/spoil")
    async def spoil(request: Request) -> dict[str, str]:
        request.session["fine"] = 1
        request.session["bad" if kind in values else ("a", "b")] = values.get(kind)
        return {"done": "yes"}

    door = open_door(app)
    headers = door.seed({"session": {"a": 1}})
    result = door.call("spoil", {}, headers)
    answer = door.client.post("/spoil", json={})
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert result["isError"] is True
    assert result["content"][0]["text"] == f"HTTP 500 from POST /spoil: {answer.text}"
    assert look(door, headers).keys() == {"session_id", "a"}
    assert over_http(door).keys() == {"session_id", "a"}


def test_what_a_raising_call_wrote_is_not_kept_as_over_http(app, open_door):
    @app.post("/write_and_raise")
    async def write_and_raise(request: Request) -> None:
        request.session["half"] = 1
        raise RuntimeError("boom")

    door = open_door(app)
    headers = door.seed({"session": {"a": 1}})
    assert door.call("write_and_raise", {}, headers)["isError"]
    assert "half" not in look(door, headers)


def test_what_a_refusing_call_wrote_is_kept_as_over_http(app, open_door):
    @app.post("/write_and_refuse")
    async def write_and_refuse(request: Request) -> None:
        request.session["tries"] = request.session.get("tries", 0) + 1
        raise HTTPException(409, "again")

    door = open_door(app)
    headers = door.seed({"session": {"a": 1}})
    for _ in range(2):
        assert door.call("write_and_refuse", {}, headers)["isError"]
    assert look(door, headers)["tries"] == 2
    assert over_http(door)["tries"] == 2
    assert door.client.post("/write_and_refuse", json={}).status_code == 409
    assert over_http(door)["tries"] == 3


def test_a_call_that_clears_the_session_does_not_cut_it_off(app, open_door):
    @app.post("/clear")
    async def clear(request: Request) -> dict[str, Any]:
        request.session.clear()
        return {}

    door = open_door(app)
    headers = door.seed({"session": {"a": 1}})
    assert not door.call("clear", {}, headers)["isError"]
    assert "a" not in look(door, headers)
    door.call("write", {"b": 1}, headers)
    assert look(door, headers)["b"] == 1
    assert over_http(door) == {"b": 1}


@pytest.fixture
def small(app, open_door, monkeypatch):
    """A door whose store holds two sessions."""
    monkeypatch.setattr(install, "SessionStore", lambda: SessionStore(capacity=2))
    return open_door(app)


def test_a_session_beyond_the_capacity_is_told_to_seed_again(small):
    oldest = small.seed({"session": {"a": 0}})
    others = [small.seed({"session": {"a": n}}) for n in (1, 2)]
    result = small.call("look", {}, oldest)
    assert result["isError"] is True
    assert LOST in result["content"][0]["text"]
    assert [look(small, headers)["a"] for headers in others] == [1, 2]
    # The list needs no contents.
    assert small.names(oldest) == ("look", "write", "forget")


def test_the_session_used_least_recently_goes_first(small):
    first, second = (small.seed({"session": {"a": n}}) for n in (1, 2))
    look(small, first)
    small.seed({"session": {"a": 3}})
    assert look(small, first)["a"] == 1
    assert small.call("look", {}, second)["isError"]


def test_a_plain_session_beyond_the_capacity_is_served_as_there_is_nothing_to_lose(small):
    headers = small.seed()
    for n in range(3):
        small.seed({"session": {"a": n}})
    assert look(small, headers).keys() == {"session_id"}


def test_a_plain_session_whose_writes_were_dropped_is_not_served_poorer(small, caplog):
    headers = small.seed()
    small.call("write", {"a": 1}, headers)
    for n in range(3):
        small.seed({"session": {"a": n}})
    assert LOST in small.text("look", {}, headers)
    assert "what calls wrote in the oldest is dropped" in caplog.text


def test_dropped_writes_are_logged_once(small, caplog):
    for _ in range(6):
        small.call("write", {"a": 1}, small.seed())
    assert caplog.text.count("is dropped") == 1


def restarted(make_app, with_memory, open_door):
    """A second process of the server: another app with the same secret."""
    return open_door(with_memory(make_app()))


def test_after_a_restart_a_kept_session_is_refused_and_a_plain_one_served(door, make_app, with_memory, open_door):
    plain, kept = door.seed(), door.seed({"session": {"a": 1}})
    second = restarted(make_app, with_memory, open_door)
    assert look(second, plain) == look(door, plain)
    result = second.call("look", {}, kept)
    assert result["isError"] is True
    assert LOST in result["content"][0]["text"]
    assert look(door, kept)["a"] == 1


def test_after_a_restart_a_plain_session_is_served_until_a_call_would_write(
    door, make_app, with_memory, open_door
):
    """Earlier writes may be lost with the process: the session would be a poorer one without a word."""
    headers = door.seed()
    door.call("write", {"a": 1}, headers)
    second = restarted(make_app, with_memory, open_door)
    assert set(look(second, headers)) == {"session_id"}
    assert LOST in second.text("write", {"b": 2}, headers)
    assert set(look(second, headers)) == {"session_id"}


def test_close_session_frees_the_contents_once_it_succeeds(app, open_door):
    @app.post("/close_session")
    async def close_session(body: dict[str, Any]) -> dict[str, Any]:
        if body.get("fail"):
            raise HTTPException(503)
        return {"closed": True}

    door = open_door(app)
    headers = door.seed({"session": {"a": 1}})
    assert door.client.post("/close_session", json={"fail": True}).status_code == 503
    assert look(door, headers)["a"] == 1
    assert door.client.post("/close_session", json={}).json() == {"closed": True}
    assert LOST in door.text("look", {}, headers)
    other = door.seed({"session": {"a": 2}})
    assert look(door, other)["a"] == 2


def test_the_store_is_bounded_whatever_fills_it():
    store = SessionStore(capacity=3)
    for n in range(10):
        store.keep(f"kept {n}", {"session_id": f"kept {n}", "a": n})
        store.close(f"kept {n - 1}")
        store.keep(f"plain {n}", {"session_id": f"plain {n}"})
    assert len(store) == 3
    assert len(store._closed) <= 3


def test_a_call_that_ends_after_its_sessions_eviction_loses_nothing():
    store = SessionStore(capacity=1)
    seed = store.keep("one", {"session_id": "one", "a": 1}).seed
    opened = store.open("one", kept=True, seed=seed)
    store.keep("two", {"session_id": "two"})
    store.write(opened, opened.contents() | {"b": 2})
    assert not opened.lost
    assert store.open("one", kept=True, seed=seed).contents() == {"session_id": "one", "a": 1, "b": 2}
    with pytest.raises(SessionLost):
        store.open("two", kept=True)


@pytest.mark.parametrize("end", ["close", "seed again"])
def test_a_call_that_ends_after_its_session_has_no_say_in_the_next_one(end):
    store = SessionStore()
    store.keep("one", {"session_id": "one"})
    opened = store.open("one")
    if end == "close":
        store.close("one")
    seed = store.keep("one", {"session_id": "one"}).seed
    store.write(opened, opened.contents() | {"old": True})
    assert opened.lost
    assert store.open("one", seed=seed).contents() == {"session_id": "one"}


def test_two_seedings_of_one_id_never_see_each_other(make_app, with_memory, open_door):
    app = with_memory(make_app(protocol=False))

    @app.post("/seed_session")
    async def seed_session(body: dict[str, Any], request: Request) -> dict[str, Any]:
        request.session.update(session_id=body["task"], who=body["who"])
        return {}

    @app.post("/verify")
    async def verify(request: Request) -> dict[str, Any]:
        return {"session": dict(request.session)}

    door = open_door(app)
    first = door.seed({"task": "t1", "who": "A"})
    cookie = door.client.cookies["session"]
    assert look(door, first)["who"] == "A"
    second = door.seed({"task": "t1", "who": "B"})
    assert LOST in door.text("look", {}, first)
    door.call("write", {"by": "B"}, second)
    assert over_http(door) == {"session_id": "t1", "who": "B", "by": "B"}
    door.client.cookies.clear()
    door.client.cookies["session"] = cookie
    assert over_http(door) == {"session_id": "t1", "who": "A"}


def test_an_id_that_a_call_changes_stays_with_its_session(make_app, with_memory, open_door):
    app = with_memory(make_app())

    @app.post("/rotate")
    async def rotate(request: Request) -> dict[str, Any]:
        request.session["session_id"] = "another"
        return {}

    door = open_door(app)
    headers = door.seed({})
    door.call("rotate", {}, headers)
    assert over_http(door)["session_id"] == "another"
    door.call("write", {"later": 1}, headers)
    assert over_http(door) == {"session_id": "another", "later": 1}


def written(store: SessionStore, **values: Any) -> None:
    opened = store.open("s")
    store.write(opened, opened.contents() | values)


def test_a_write_that_the_cookie_has_not_is_merged_and_one_that_it_has_is_not():
    store = SessionStore()
    store.keep("s", {"session_id": "s"})
    written(store, a=1, b=1)
    mark = store.merge_into({"session_id": "s"}, None)
    written(store, a=2)
    later: dict[str, Any] = {"session_id": "s"}
    assert store.merge_into(later, mark) != mark
    assert later == {"session_id": "s", "a": 2}
    assert store.merge_into(later, "of another process.7") is not None
    assert later == {"session_id": "s", "a": 2, "b": 1}


@pytest.mark.parametrize("seen", ["", ".", "x.1", "1", 7, ["x"], {}])
def test_a_mark_that_is_none_of_ours_counts_as_none(seen):
    store = SessionStore()
    store.keep("s", {"session_id": "s"})
    written(store, a=1)
    session: dict[str, Any] = {"session_id": "s"}
    store.merge_into(session, seen)
    assert session["a"] == 1


def test_a_call_that_changes_nothing_writes_nothing():
    store = SessionStore()
    seed = store.keep("s", {"session_id": "s", "a": (1, {"b": 2})}).seed
    opened = store.open("s", kept=True, seed=seed)
    store.write(opened, opened.contents())
    session: dict[str, Any] = {"session_id": "s", "a": "theirs"}
    assert store.merge_into(session, None) is None
    assert session["a"] == "theirs"


@pytest.mark.parametrize("session", [{}, {"a": 1}, {"session_id": 7}, {"session_id": None}])
def test_a_session_without_a_usable_id_gets_nothing_merged(session):
    before = dict(session)
    assert SessionStore().merge_into(session, None) is None
    assert session == before


def test_one_process_keeps_the_sessions_of_two_apps_apart(make_app, with_memory, open_door):
    first, second = (open_door(with_memory(make_app())) for _ in range(2))
    headers = first.seed({"session": {"session_id": "same", "a": 1}})
    other = second.seed({"session": {"session_id": "same", "a": 2}})
    first.call("write", {"b": 1}, headers)
    assert look(first, headers)["a"] == 1
    assert look(second, other) == {"session_id": "same", "a": 2}


def test_a_server_in_use_keeps_nothing_of_a_session_where_a_client_could_read_it(door):
    headers = door.seed({"session": {"truth": "forty-two"}})
    door.call("write", {"found": "forty-three"}, headers)
    payload = URLSafeSerializer("a key for tests", salt="nemo-gym-mcp-session-token").loads(headers[HEADER])
    assert payload == {"sid": payload["sid"], "tools": None, "kept": True, "seed": payload["seed"]}


def test_sessions_are_off_where_the_app_has_none(make_app, with_tools, open_door):
    app = with_tools(make_app(sessions=False, protocol=False), "echo")

    @app.post("/has_session")
    async def has_session(request: Request) -> dict[str, bool]:
        return {"session": "session" in request.scope}

    door = open_door(app, {"version": 1, "sessions": {"mode": "none"}}, client={"base_url": "http://localhost"})
    plain = TestClient(app).post("/has_session", json={}).json()
    assert door.call("has_session")["structuredContent"] == plain == {"session": False}
    assert door.names() == ("echo", "has_session")


def test_a_write_that_the_cookie_would_forget_is_forgotten_over_mcp_too(make_app, open_door):
    app = make_app()

    @app.post("/append")
    async def append(request: Request) -> list[int]:
        request.session["calls"].append(len(request.session["calls"]))
        return request.session["calls"]

    door = open_door(app)
    headers = door.seed({"session": {"calls": []}})
    over_http = [door.client.post("/append").text for _ in range(3)]
    assert [door.text("append", {}, headers) for _ in range(3)] == over_http

"""Secrets, tokens and what sessions hold never reach a log record, a repr or an error text."""

import logging
from collections.abc import Iterator

import pytest
from fastapi import Request
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest import ExposureRefused, ManifestInvalid, expose
from gym_mcp_manifest.dispatch.request import Origin
from gym_mcp_manifest.endpoint.door import Caller
from gym_mcp_manifest.instance import instance_from_block
from gym_mcp_manifest.routes.middleware import installed_middleware
from gym_mcp_manifest.session.token import Claims, InvalidToken, TokenSigner

HEADER = "X-NeMo-Gym-Session-Token"
KEY = "a key for tests"
SECRET = "correct-horse-battery-staple"
CONTENTS = "the-hidden-ground-truth"


def texts(caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    formatter = logging.Formatter("%(name)s %(message)s")
    for record in caplog.records:
        yield formatter.format(record)
        yield repr(record.args)


def test_a_whole_rollout_logs_neither_secret_nor_token_nor_contents(make_app, with_memory, open_door, caplog):
    caplog.set_level(logging.DEBUG)
    app = with_memory(make_app())

    @app.post("/crash")
    async def crash() -> None:
        raise RuntimeError("boom")

    manifest = {"version": 1, "sessions": {"allow": [{"from": "allowed"}], "otherwise": "all"}}
    door = open_door(app, manifest, instance={"mcp_secret": [SECRET, f"old-{SECRET}"]})
    headers = door.seed({"session": {"truth": CONTENTS}})
    token = headers[HEADER]
    assert not door.call("look", {}, headers)["isError"]
    door.call("crash", {}, headers)
    door.call("nothing_like_it", {}, headers)
    door.call("look", {}, {HEADER: token[:-2]})
    door.names({HEADER: token[::-1]})
    door.client.post("/seed_session", json={"allowed": "a text"})
    door.client.post("/seed_session", json={"allowed": ["unknown"]})
    door.client.post("/verify", json={})
    written = list(texts(caplog))
    assert any("seed refused" in line for line in written)
    for hidden in (SECRET, KEY, token, token[:-2], token[::-1], CONTENTS):
        assert not [line for line in written if hidden in line]


@pytest.mark.parametrize(
    "make",
    [
        lambda app: TokenSigner([SECRET]),
        lambda app: instance_from_block("unit", {"expose_tools_over_mcp": True, "mcp_secret": SECRET}),
        lambda app: instance_from_block("unit", {"mcp_secret": [SECRET, SECRET]}),
        lambda app: installed_middleware(app),
        lambda app: Caller(SECRET, Origin()),
        lambda app: expose(app, name="unit", instance={"expose_tools_over_mcp": True, "mcp_secret": SECRET}),
        lambda app: expose(app, name="unit", instance={"expose_tools_over_mcp": True}, secret=[SECRET]),
    ],
    ids=["signer", "instance", "rotation", "middleware", "caller", "plan by block", "plan by argument"],
)
def test_no_repr_shows_a_secret_or_a_token(make_app, make):
    app = make_app()
    app.user_middleware[0].kwargs["secret_key"] = SECRET
    made = make(app)
    assert SECRET not in repr(made)
    assert SECRET not in str(made)
    assert SECRET not in f"{made!r:s}"


def test_an_unreadable_token_is_not_in_the_error_about_it():
    token = TokenSigner([SECRET]).mint(Claims("s"))
    with pytest.raises(InvalidToken) as caught:
        TokenSigner(["another"]).read(token)
    assert token not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.parametrize("wrong", [{SECRET: SECRET}, [SECRET, 7], [[SECRET]], [SECRET, ""]])
def test_a_secret_of_the_wrong_kind_is_refused_without_being_shown(make_app, wrong):
    with pytest.raises(ManifestInvalid) as caught:
        expose(make_app(), name="unit", instance={"expose_tools_over_mcp": True, "mcp_secret": wrong})
    assert "mcp_secret" in str(caught.value)
    assert SECRET not in f"{caught.value} {caught.value!r}"


def test_a_refused_boot_shows_no_key_of_the_session_middleware(make_app, with_tools):
    app = with_tools(make_app(sessions=False), "verify_not")
    app.add_middleware(SessionMiddleware, secret_key=SECRET)

    @app.post("/bad")
    async def bad(limit: int) -> None: ...

    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", instance={"expose_tools_over_mcp": True})
    assert SECRET not in f"{caught.value} {caught.value!r}"


def test_a_tool_never_sees_the_token_header(make_app, open_door):
    app = make_app()

    @app.post("/headers")
    async def headers(request: Request) -> dict[str, str]:
        return dict(request.headers)

    door = open_door(app)
    seen = door.call("headers", {}, {**door.seed(), "X-Other": "1"})["structuredContent"]
    assert HEADER.lower() not in seen
    assert "x-other" not in seen

"""The endpoint on the wire: methods, headers, bodies and messages of clients, also those they should not send."""

import json
import logging

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from gym_mcp_manifest import ExposureRefused, ManifestError, expose

ON = {"expose_tools_over_mcp": True}
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


class City(BaseModel):
    city: str = "Paris"


def add_tool(app: FastAPI) -> FastAPI:
    @app.post("/tool")
    async def tool(body: City) -> City:
        return body

    return app


@pytest.fixture
def door(make_app, open_door):
    return open_door(add_tool(make_app()), {"version": 1, "limits": {"request_bytes": 5000}})


async def dispatch(path: str) -> str:
    return path


def initialize(version: str) -> dict:
    client = {"name": "a client", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def assert_alive(door) -> None:
    assert door.call("tool", {"city": "Rome"}, door.seed())["structuredContent"] == {"city": "Rome"}


# Methods and paths.


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_every_method_but_post_answers_405_and_allows_post(door, method, path):
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": "any"}
    answer = door.client.request(method, path, headers=headers, follow_redirects=False)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_both_spellings_of_the_path_answer_without_a_redirect(door, path):
    assert door.post(LIST, url=path).json()["result"]["tools"][0]["name"] == "tool"


def test_paths_beside_the_endpoint_are_the_apps(door):
    for path in ("/mcp2", "/mcp/tool", "/MCP", "/x/mcp"):
        assert door.post(LIST, url=path).status_code == 404


@pytest.mark.parametrize("pattern", ["/{path}", "/{path:path}"])
def test_the_endpoint_answers_before_a_catch_all(make_app, open_door, pattern):
    app = make_app()

    @app.api_route(pattern, methods=["GET", "POST", "DELETE"])
    async def catch(path: str) -> str:
        return path

    door = open_door(app, {"version": 1, "catch_all": [{"route": pattern, "ignore": True}]})
    for path in ("/mcp", "/mcp/"):
        assert door.post(LIST, url=path).json()["result"] == {"tools": []} | door.post(LIST).json()["result"]
        assert door.client.get(path).status_code == 405
    assert door.client.post("/other").json() == "other"


# Headers.


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "application/json"},
        {"Accept": "*/*"},
        {"Accept": "text/event-stream"},
        {"Accept": "application/*;q=0.5, text/html"},
        {"Accept": ""},
        {"Content-Type": "application/json; charset=utf-8"},
        *({"MCP-Protocol-Version": version} for version in VERSIONS),
        {"Mcp-Session-Id": "one that this server never gave"},
        {"Origin": "https://evil.example", "Host": "any.example:1"},
        {"Authorization": "Bearer x", "Cookie": "session=x"},
        {"Last-Event-Id": "7"},
    ],
    ids=str,
)
def test_a_request_is_served_whatever_its_headers_say(door, headers):
    answer = door.post(LIST, headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == ["tool"]
    assert "mcp-session-id" not in answer.headers


def test_a_request_without_any_accept_header_is_served(door):
    del door.client.headers["accept"]
    answer = door.client.post("/mcp", json=LIST)
    assert answer.json()["id"] == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_every_handshake_revision_is_spoken(door, version):
    hello = door.post(initialize(version)).json()["result"]
    assert hello["protocolVersion"] == version
    assert hello["serverInfo"]["name"] == "unit"
    assert "tools" in hello["capabilities"]
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert door.post(note, {"MCP-Protocol-Version": version}).status_code == 202
    assert door.post(LIST, {"MCP-Protocol-Version": version}).status_code == 200


def test_a_revision_that_nobody_knows_is_answered_with_one_that_is_spoken(door):
    assert door.post(initialize("2099-01-01")).json()["result"]["protocolVersion"] in VERSIONS


def test_the_instructions_are_what_the_manifest_says(make_app, open_door):
    app = add_tool(make_app())
    door = open_door(app, {"version": 1, "server": {"instructions": "Ask for weather."}}, name="my server")
    hello = door.post(initialize("2025-06-18")).json()["result"]
    assert hello["instructions"] == "Ask for weather."
    assert hello["serverInfo"]["name"] == "my server"


# Messages.


@pytest.mark.parametrize("method", ["no/such", "resources/list", "prompts/list", "tools/delete", ""])
def test_an_unknown_method_is_a_json_rpc_error(door, method):
    reply = door.post({"jsonrpc": "2.0", "id": 5, "method": method}).json()
    assert reply["id"] in (5, None)
    assert "error" in reply
    assert_alive(door)


def test_a_ping_is_answered(door):
    assert door.rpc("ping")["result"] == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"3",
        b"{}",
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1}',
        json.dumps([LIST, {**LIST, "id": 2}]).encode(),
    ],
    ids=repr,
)
def test_a_body_that_is_no_message_is_refused_and_the_server_goes_on(door, body):
    answer = door.post(body)
    assert answer.status_code == 400
    assert "error" in answer.json()
    assert_alive(door)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    ],
    ids=lambda message: message["method"],
)
def test_notifications_are_accepted(door, message):
    answer = door.post(message)
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("arguments", [[], "text", 3, True, [{"city": "Rome"}]], ids=repr)
def test_arguments_that_are_no_object_never_reach_the_handler(door, arguments):
    reply = door.post(
        {**LIST, "method": "tools/call", "params": {"name": "tool", "arguments": arguments}}, door.seed()
    )
    assert "error" in reply.json()
    assert_alive(door)


@pytest.mark.parametrize("params", [{"name": "tool"}, {"name": "tool", "arguments": None}], ids=["absent", "null"])
def test_no_arguments_are_an_empty_object(door, params):
    reply = door.post({**LIST, "method": "tools/call", "params": params}, door.seed()).json()
    assert reply["result"]["structuredContent"] == {"city": "Paris"}


@pytest.mark.parametrize("name", ["NaN", "Infinity"])
def test_a_name_that_reads_like_a_number_is_a_name(door, name):
    message = {**LIST, "method": "tools/call", "params": {"name": name}}
    assert (
        door.post(message, door.seed())
        .json()["result"]["content"][0]["text"]
        .startswith(f"Unknown tool '{name}'.")
    )


@pytest.mark.parametrize("params", [{}, {"arguments": {}}, {"name": None}, {"name": 3}, None], ids=repr)
def test_a_call_without_a_name_is_a_json_rpc_error(door, params):
    message = {**LIST, "method": "tools/call", "params": params}
    assert "error" in door.post(message, door.seed()).json()
    assert_alive(door)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("no_such", "'no_such'"),
        ("", "''"),
        ('quo"te', "'quo\"te'"),
        ("a'b", "'a\\'b'"),
        ("line\nbreak", "'line\\nbreak'"),
        ("\x1b[31m", "'\\x1b[31m'"),
        ("ümlaut", "'ümlaut'"),
        ("verify", "'verify'"),
        ("../tool", "'../tool'"),
        ("tool/", "'tool/'"),
        ("TOOL", "'TOOL'"),
        ("n" * 100_000, "'" + "n" * 197 + "...'"),
    ],
    ids=lambda value: value[:12],
)
def test_a_name_that_is_no_tool_is_echoed_in_single_quotes_only(make_app, open_door, name, shown):
    door = open_door(add_tool(make_app()))
    result = door.call(name, {}, door.seed())
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(f"Unknown tool {shown}.")


def test_token_faults_are_results_never_401_or_403(door):
    call = {**LIST, "method": "tools/call", "params": {"name": "tool", "arguments": {}}}
    for headers, text in (
        ({}, "Missing X-NeMo-Gym-Session-Token header"),
        ({"X-NeMo-Gym-Session-Token": ""}, "Missing X-NeMo-Gym-Session-Token header"),
        ({"X-NeMo-Gym-Session-Token": "forged.token"}, "Invalid session token"),
    ):
        answer = door.post(call, headers)
        assert answer.status_code == 200
        result = answer.json()["result"]
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith(text)


def test_the_list_without_a_valid_token_is_the_whole_one(door):
    assert door.names() == door.names({"X-NeMo-Gym-Session-Token": "forged.token"}) == ("tool",)


# Sizes.


def test_a_request_over_the_limit_is_413_and_the_server_goes_on(door):
    answer = door.post(b"x" * 5001)
    assert answer.status_code == 413
    assert "5000 bytes" in answer.json()["error"]["message"]
    assert door.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(5000)).status_code == 200
    assert_alive(door)


def test_a_chunked_request_over_the_limit_is_413_before_it_is_whole(door):
    sent = []

    def chunks():
        for _ in range(10):
            sent.append(1)
            yield b"x" * 1000

    assert door.client.post("/mcp", content=chunks()).status_code == 413


def test_the_limit_is_the_endpoints_alone(door):
    answer = door.client.post("/verify", json={"text": "x" * 10_000})
    assert answer.status_code == 200


def test_a_large_result_comes_whole(make_app, open_door):
    app = make_app()
    app.post("/tool")(lambda: {"text": "ä" * 3_000_000})
    door = open_door(app)
    assert len(door.call("tool", {}, door.seed())["structuredContent"]["text"]) == 3_000_000


# What is advertised.


def test_every_advertised_schema_has_an_object_at_its_root(make_app, open_door):
    schemas = [{}, {"properties": {}}, {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, True]
    app = make_app()
    app.post("/{path}")(dispatch)
    specs = [{"name": f"t{i}", "input_schema": schema} for i, schema in enumerate(schemas) if schema is not True]
    door = open_door(app, {"version": 1, "catch_all": [{"tools": specs}]})
    assert [tool["inputSchema"]["type"] for tool in door.list()] == ["object"] * 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": ["object", "null"]},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "object", "required": "a"},
    ],
    ids=str,
)
def test_one_bad_schema_stops_the_boot_and_never_reaches_a_client(make_app, schema):
    app = make_app()
    app.post("/tool")(lambda: None)
    app.post("/{path}")(dispatch)
    manifest = {"version": 1, "catch_all": [{"tools": [{"name": "bad", "input_schema": schema}]}]}
    with pytest.raises(ManifestError, match="schema"):
        expose(app, name="unit", manifest=manifest, instance=ON)


def test_a_model_without_a_json_schema_stops_the_boot(make_app):
    class Opaque(BaseModel):
        model_config = {"arbitrary_types_allowed": True}
        thing: logging.Logger

    app = make_app()

    @app.post("/tool")
    async def tool(body: Opaque) -> None: ...

    with pytest.raises(ExposureRefused, match="no JSON Schema can be derived from Opaque"):
        expose(app, name="unit", instance=ON)


def test_what_the_manifest_says_of_a_tool_is_what_clients_see(make_app, open_door):
    app = add_tool(make_app())
    entry = {
        "name": "renamed",
        "title": "A tool",
        "description": "Does something.",
        "annotations": {"readOnlyHint": True},
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    (tool,) = open_door(app, {"version": 1, "tools": {"tool": entry}}).list()
    assert tool == {"inputSchema": entry.pop("input_schema"), **entry}

"""`only_if` over the instance's block, output schemas, and keys of `tools` that are exposed names."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from omegaconf import OmegaConf
from pydantic import BaseModel, Field, computed_field, field_serializer

from gym_mcp_manifest import Diagnostic, ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}


class Reading(BaseModel):
    celsius: float = Field(serialization_alias="degrees")
    place: str | None = None

    @computed_field
    def warm(self) -> bool:
        return self.celsius > 20


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    @app.post("/read")
    async def read() -> Reading:
        return Reading(celsius=21.5)

    @app.post("/history")
    async def history() -> list[Reading]:
        return [Reading(celsius=1), Reading(celsius=2, place="Oslo")]

    @app.post("/thin", response_model_exclude_none=True)
    async def thin() -> Reading:
        return Reading(celsius=3)

    @app.post("/nothing")
    async def nothing() -> Reading | None:
        return None

    @app.post("/raw", response_model=Reading)
    async def raw() -> Response:
        return PlainTextResponse("not what was promised")

    @app.post("/untyped")
    async def untyped():  # type: ignore[no-untyped-def]
        return {"a": 1}

    return app


def refusal(app: FastAPI, manifest: dict[str, Any], block: Any = None) -> Diagnostic:
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest={"version": 1, **manifest}, instance=block or ON)
    (found,) = caught.value.diagnostics
    return found


# Output schemas.


def with_replies(*names: str) -> dict[str, Any]:
    return {"version": 1, "tools": {name: {"output_schema": True} for name in names}}


def test_no_output_schema_is_advertised_unasked(app: FastAPI, open_door: Any) -> None:
    assert all("outputSchema" not in tool for tool in open_door(app).list())


def test_the_response_model_is_advertised_as_it_is_sent(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, with_replies("read"))
    (tool,) = [tool for tool in door.list() if tool["name"] == "read"]
    assert tool["outputSchema"]["type"] == "object"
    assert set(tool["outputSchema"]["required"]) == {"degrees", "warm"}
    answer = door.call("read", {}, door.seed())
    assert answer["structuredContent"] == {"degrees": 21.5, "place": None, "warm": True}


def test_a_reply_that_is_no_object_is_wrapped_and_its_text_is_not(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, with_replies("history", "nothing"))
    schemas = {tool["name"]: tool.get("outputSchema") for tool in door.list()}
    assert schemas["history"]["properties"]["result"]["type"] == "array"
    session = door.seed()
    answer = door.call("history", {}, session)
    assert [entry["degrees"] for entry in answer["structuredContent"]["result"]] == [1, 2]
    assert answer["content"][0]["text"] == door.client.post("/history").text
    assert door.call("nothing", {}, session)["structuredContent"] == {"result": None}


def test_what_a_reply_may_leave_out_is_not_required_of_it(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, with_replies("thin"))
    (schema,) = [tool["outputSchema"] for tool in door.list() if tool["name"] == "thin"]
    assert "required" not in schema
    assert door.call("thin", {}, door.seed())["structuredContent"] == {"degrees": 3.0, "warm": False}


def test_a_reply_that_breaks_the_promise_is_an_error(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, with_replies("raw"))
    answer = door.call("raw", {}, door.seed())
    assert answer["isError"]
    assert "structuredContent" not in answer


def test_true_needs_a_response_model(app: FastAPI) -> None:
    found = refusal(app, {"tools": {"untyped": {"output_schema": True}}})
    assert found.code == "GMM622"


def test_true_needs_a_response_model_that_is_sent_as_json(app: FastAPI) -> None:
    @app.post("/page", response_class=HTMLResponse)
    async def page() -> str:
        return "<p>"

    found = refusal(app, {"tools": {"page": {"output_schema": True}}})
    assert found.code == "GMM622"


def test_an_output_schema_may_be_written(app: FastAPI, open_door: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    door = open_door(app, {"version": 1, "tools": {"untyped": {"output_schema": schema}}})
    (tool,) = [tool for tool in door.list() if tool["name"] == "untyped"]
    assert tool["outputSchema"] == schema
    assert door.call("untyped", {}, door.seed())["structuredContent"] == {"a": 1}


def test_an_output_schema_that_is_none_stops_the_boot(app: FastAPI) -> None:
    found = refusal(app, {"tools": {"untyped": {"output_schema": {"type": "nonsense"}}}})
    assert found.code == "GMM209"
    assert "output schema" in found.message


def test_a_spec_gives_a_dispatcher_tool_its_output_schema(make_app: Any, open_door: Any, tmp_path: Any) -> None:
    app = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str) -> dict[str, str]:
        return {"tool": tool}

    spec = '{"name": "look", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}'
    (tmp_path / "tools.json").write_text(spec)
    manifest = {
        "version": 1,
        "catch_all": [{"tools": [{"file": "tools.json"}]}],
        "tools": {"look": {"output_schema": True}},
    }
    door = open_door(app, manifest, folder=tmp_path)
    assert door.list()[0]["outputSchema"] == {"type": "object"}


# Conditions.


def conditional(condition: str) -> dict[str, Any]:
    return {"routes": {"include": ["/read", "/thin"]}, "tools": {"read": {"only_if": condition}}}


@pytest.mark.parametrize(
    ("block", "there"),
    [
        ({"search_key": "k"}, True),
        ({"search_key": ""}, False),
        ({"search_key": None}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_tool_exists_only_where_its_condition_holds(
    app: FastAPI, open_door: Any, block: dict[str, Any], there: bool
) -> None:
    door = open_door(app, {"version": 1, **conditional("search_key")}, instance=block)
    assert door.names() == (("read", "thin") if there else ("thin",))
    answer = door.call("read", {}, door.seed())
    assert answer["isError"] is not there


def test_an_absent_tool_is_listed_as_excluded_with_the_condition(app: FastAPI) -> None:
    plan = expose(app, name="unit", manifest={"version": 1, **conditional("search_key")}, instance=ON)
    reasons = {entry.route: entry.reason for entry in plan.excluded}
    assert reasons["POST /read"] == "`only_if: search_key` does not hold for this instance"


def test_rules_and_keys_may_name_a_tool_that_is_absent_here(app: FastAPI, open_door: Any) -> None:
    manifest = {**conditional("search_key"), "sessions": {"allow": [{"tools": ["read", "thin"]}]}}
    door = open_door(app, {"version": 1, **manifest})
    assert door.names(door.seed()) == ("thin",)


def test_a_condition_sees_values_of_a_config_resolved(app: FastAPI, open_door: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    block = OmegaConf.create({**ON, "search_key": "${oc.env:SOME_KEY}", "broken": "${nowhere}"})
    plan = expose(app, name="unit", manifest={"version": 1, **conditional("search_key")}, instance=block)
    assert [tool.name for tool in plan.tools] == ["read", "thin"]
    assert "secret" not in repr(plan)


def test_a_condition_over_a_value_that_cannot_be_resolved_stops_the_boot(app: FastAPI) -> None:
    block = OmegaConf.create({**ON, "search_key": "${oc.env:NO_SUCH_VARIABLE_HERE}"})
    found = refusal(app, conditional("search_key"), block)
    assert found.code == "GMM208"
    assert "`search_key`" in found.message


def test_a_condition_that_raises_stops_the_boot_without_telling_the_value(app: FastAPI) -> None:
    found = refusal(app, conditional("abs(search_key)"), {**ON, "search_key": "hunter2"})
    assert found.code == "GMM208"
    assert "hunter2" not in str(found)


# Keys.


def test_a_key_of_tools_may_be_the_exposed_name(app: FastAPI, open_door: Any) -> None:
    manifest = {
        "version": 1,
        "tools": {
            "POST /read": {"name": "sensor"},
            "sensor": {"title": "Sensor"},
            "sens*": {"description": "By a glob over exposed names."},
        },
    }
    (tool,) = [tool for tool in open_door(app, manifest).list() if tool["name"] == "sensor"]
    assert (tool["title"], tool["description"]) == ("Sensor", "By a glob over exposed names.")


def test_annotations_of_a_glob_a_key_and_a_spec_meet_hint_by_hint(make_app: Any, open_door: Any) -> None:
    app = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str) -> dict[str, str]:
        return {"tool": tool}

    manifest = {
        "version": 1,
        "catch_all": [{"tools": [{"name": "find_book"}]}],
        "tools": {
            "find_*": {"annotations": {"readOnlyHint": True, "openWorldHint": True}},
            "find_book": {"annotations": {"idempotentHint": True, "openWorldHint": False}},
        },
    }
    (tool,) = open_door(app, manifest).list()
    assert tool["annotations"] == {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}


def test_references_of_a_wrapped_schema_lead_where_they_led(app: FastAPI, open_door: Any) -> None:
    nested = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}
    listed = {
        "type": "array",
        "items": {"$ref": "#/definitions/Entry"},
        "definitions": {"Entry": {"type": "object", "required": ["degrees"]}},
    }
    tools = {"history": {"output_schema": listed}, "untyped": {"output_schema": nested}}
    door = open_door(app, {"version": 1, "tools": tools})
    session = door.seed()
    assert not door.call("history", {}, session)["isError"]
    refused = door.call("untyped", {}, session)
    assert refused["isError"]
    assert "against its output schema" in refused["content"][0]["text"]
    schemas = {tool["name"]: tool.get("outputSchema") for tool in door.list()}
    items = schemas["untyped"]["properties"]["result"]["anyOf"][1]["items"]
    assert items == {"$ref": "#/properties/result"}


def test_a_reply_that_breaks_its_own_model_is_an_error_that_shows_it(make_app: Any, open_door: Any) -> None:
    class Odd(BaseModel):
        a: int

        @field_serializer("a")
        def _as_text(self, value):  # type: ignore[no-untyped-def]
            return str(value)

    app = make_app()

    @app.post("/odd")
    async def odd() -> Odd:
        return Odd(a=1)

    door = open_door(app, with_replies("odd"))
    answer = door.call("odd", {}, door.seed())
    assert answer["isError"]
    assert '{"a":"1"}' in answer["content"][0]["text"]


def test_boolean_and_null_parts_of_output_schemas_are_spelled_as_clients_take_them(
    app: FastAPI, open_door: Any
) -> None:
    schema = {"type": "object", "title": None, "properties": {"a": True}}
    door = open_door(app, {"version": 1, "tools": {"untyped": {"output_schema": schema}}})
    (tool,) = [tool for tool in door.list() if tool["name"] == "untyped"]
    assert tool["outputSchema"] == {"type": "object", "properties": {"a": {}}}


def test_an_exposed_name_that_is_another_tools_own_name_leaves_that_tool_its_key(app: FastAPI) -> None:
    tools = {"read": {"name": "thin"}, "thin": {"only_if": "`false`", "name": "slim"}}
    manifest = {"version": 1, "routes": {"include": ["/read", "/thin"]}, "tools": tools}
    plan = expose(app, name="unit", manifest=manifest, instance=ON)
    assert [(tool.own_name, tool.name) for tool in plan.tools] == [("read", "thin")]


@pytest.mark.parametrize("condition", ["@", "keys(@)", "contains(keys(@), 'search_key')"])
def test_a_condition_may_ask_for_the_whole_block(app: FastAPI, open_door: Any, condition: str) -> None:
    door = open_door(app, {"version": 1, **conditional(condition)}, instance={"search_key": "k"})
    assert "read" in door.names()


def test_a_condition_over_a_key_of_ours_can_never_hold_and_is_refused(app: FastAPI) -> None:
    found = refusal(app, conditional("mcp_secret"), {**ON, "mcp_secret": "hidden-from-all"})
    assert found.code == "GMM208"
    assert "no setting of the server's own" in found.message
    assert "hidden-from-all" not in str(found)

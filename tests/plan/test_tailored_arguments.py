"""Arguments under `tools`: what clients see of them, and what the route is sent in their place."""

from typing import Any, Literal

import pytest
from fastapi import FastAPI, Request
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field

from gym_mcp_manifest import ExposureRefused, ManifestInvalid, expose

ON = {"expose_tools_over_mcp": True}


class Place(BaseModel):
    name: str
    country: str = "FR"


class Query(BaseModel):
    city: str
    units: Literal["metric", "imperial"]
    days: int = 1
    debug: bool = False
    near: Place | None = None


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    @app.post("/weather")
    async def weather(body: Query) -> dict[str, Any]:
        """The weather."""
        return body.model_dump(exclude_unset=True)

    return app


def tailored(**arguments: Any) -> dict[str, Any]:
    return {"version": 1, "tools": {"weather": {"arguments": arguments}}}


def refusals(app: FastAPI, manifest: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    with pytest.raises((ExposureRefused, ManifestInvalid)) as caught:
        expose(app, name="unit", manifest=manifest, instance=ON)
    return [(found.code, found.message, found.hint) for found in caught.value.diagnostics]


@pytest.mark.parametrize("mode", ["direct", "route", "app"])
def test_a_default_yields_to_the_clients_value_in_any_spelling(make_app: Any, open_door: Any, mode: str) -> None:
    class Spelled(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        a: int = Field(0, alias="aa")
        b: int = Field(0, validation_alias=AliasChoices("b1", "b2"))

    app = make_app()

    @app.post("/ask")
    async def ask(body: Spelled) -> list[int]:
        return [body.a, body.b]

    arguments = {"aa": {"default": 5}, "b1": {"default": 7}}
    door = open_door(app, {"version": 1, "dispatch": mode, "tools": {"ask": {"arguments": arguments}}})
    session = door.seed()
    assert door.call("ask", {}, session)["content"][0]["text"] == "[5,7]"
    assert door.call("ask", {"a": 8, "b2": 9}, session)["content"][0]["text"] == "[8,9]"


def test_a_default_is_advertised_not_required_and_sent_where_the_argument_is_left_out(
    app: FastAPI, open_door: Any
) -> None:
    door = open_door(app, tailored(city={"default": "Paris", "description": "Which city."}))
    (tool,) = door.list()
    assert tool["inputSchema"]["properties"]["city"]["default"] == "Paris"
    assert tool["inputSchema"]["properties"]["city"]["description"] == "Which city."
    assert tool["inputSchema"]["required"] == ["units"]
    session = door.seed()
    left_out = door.call("weather", {"units": "metric"}, session)
    assert left_out["structuredContent"] == {"city": "Paris", "units": "metric"}
    given = door.call("weather", {"units": "metric", "city": "Oslo"}, session)
    assert given["structuredContent"]["city"] == "Oslo"


def test_a_fixed_value_is_hidden_and_always_sent(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, tailored(units={"value": "metric"}, near={"value": None}))
    (tool,) = door.list()
    assert set(tool["inputSchema"]["properties"]) == {"city", "days", "debug"}
    assert tool["inputSchema"]["required"] == ["city"]
    assert "$defs" not in tool["inputSchema"], "only the hidden argument referred to it"
    answer = door.call("weather", {"city": "Oslo"}, door.seed())
    assert answer["structuredContent"] == {"city": "Oslo", "units": "metric", "near": None}


@pytest.mark.parametrize("withheld", [{"value": "metric"}, {"hidden": True}])
def test_a_client_that_sends_what_is_withheld_is_told_and_the_handler_does_not_run(
    make_app: Any, open_door: Any, withheld: dict[str, Any]
) -> None:
    app, calls = make_app(), []

    @app.post("/weather")
    async def weather(request: Request) -> dict[str, str]:
        calls.append(await request.json())
        return {}

    door = open_door(app, tailored(units=withheld))
    answer = door.call("weather", {"units": "imperial"}, door.seed())
    assert answer["isError"]
    assert "'units'" in answer["content"][0]["text"]
    assert calls == []


def test_a_hidden_argument_is_not_sent(app: FastAPI, open_door: Any) -> None:
    door = open_door(app, tailored(debug={"hidden": True}))
    assert "debug" not in door.list()[0]["inputSchema"]["properties"]
    answer = door.call("weather", {"city": "Oslo", "units": "metric"}, door.seed())
    assert answer["structuredContent"] == {"city": "Oslo", "units": "metric"}


def test_no_other_spelling_of_a_withheld_argument_gets_through(make_app: Any, open_door: Any) -> None:
    class Body(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        env_id: str = Field("safe", alias="envId")
        user: str = Field("nobody", validation_alias=AliasChoices("userName", "user_name"))

    app = make_app()

    @app.post("/act")
    async def act(body: Body) -> dict[str, Any]:
        return {"env_id": body.env_id, "user": body.user}

    entry = {"arguments": {"envId": {"value": "mine"}, "userName": {"hidden": True}}}
    door = open_door(app, {"version": 1, "tools": {"act": entry}})
    session = door.seed()
    for name in ("envId", "env_id", "userName", "user_name", "user"):
        assert door.call("act", {name: "theirs"}, session)["isError"], name
    assert door.call("act", {}, session)["structuredContent"] == {"env_id": "mine", "user": "nobody"}


def test_a_tool_that_takes_anything_gets_named_arguments(make_app: Any, open_door: Any) -> None:
    app = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str, request: Request) -> dict[str, Any]:
        return {"tool": tool, **await request.json()}

    manifest = {
        "version": 1,
        "catch_all": [{"tools": [{"name": "look_up"}]}],
        "tools": {"look_*": {"arguments": {"term": {"description": "What to find."}, "top": {"value": 3}}}},
    }
    door = open_door(app, manifest)
    (tool,) = door.list()
    assert tool["inputSchema"]["properties"] == {"term": {"description": "What to find."}}
    answer = door.call("look_up", {"term": "x"}, door.seed())
    assert answer["structuredContent"] == {"tool": "look_up", "term": "x", "top": 3}


def test_a_glob_may_tailor_an_argument_that_only_some_of_its_tools_have(make_app: Any, open_door: Any) -> None:
    class Paged(BaseModel):
        limit: int = 10

    class Plain(BaseModel):
        text: str = ""

    app = make_app()

    @app.post("/find_pages")
    async def find_pages(body: Paged) -> dict[str, int]:
        return {"limit": body.limit}

    @app.post("/find_text")
    async def find_text(body: Plain) -> dict[str, str]:
        return {"text": body.text}

    manifest = {
        "version": 1,
        "tools": {
            "find_*": {"arguments": {"limit": {"default": 5}}},
            "find_pages": {"arguments": {"limit": {"default": 7}}},
        },
    }
    door = open_door(app, manifest)
    schemas = {tool["name"]: tool["inputSchema"]["properties"] for tool in door.list()}
    assert schemas["find_pages"]["limit"]["default"] == 7
    assert set(schemas["find_text"]) == {"text"}


def test_an_argument_that_no_tool_of_the_key_has_is_an_error_with_the_nearest(app: FastAPI) -> None:
    ((code, message, hint),) = refusals(app, tailored(citty={"default": "Paris"}))
    assert (code, hint) == ("GMM601", "did you mean `city`?")
    assert "`citty`" in message


def test_a_required_argument_cannot_be_hidden(app: FastAPI) -> None:
    ((code, _, hint),) = refusals(app, tailored(city={"hidden": True}))
    assert code == "GMM620"
    assert "value" in str(hint)


@pytest.mark.parametrize(
    "entry", [{"value": "kelvin"}, {"default": 3}, {"value": None}], ids=["enum", "type", "null"]
)
def test_a_value_that_the_schema_refuses_stops_the_boot(app: FastAPI, entry: dict[str, Any]) -> None:
    ((code, message, _),) = refusals(app, tailored(units=entry))
    assert code == "GMM621"
    assert "units" in message


def test_a_value_with_a_structure_is_judged_by_its_definition(app: FastAPI, open_door: Any) -> None:
    ((code, message, _),) = refusals(app, tailored(near={"value": {"country": "NO"}}))
    assert code == "GMM621"
    assert "near" in message


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({}, "GMM202"),
        ({"hidden": False}, "GMM202"),
        ({"value": 1, "default": 2}, "GMM301"),
        ({"value": 1, "description": "x"}, "GMM301"),
        ({"hidden": True, "default": 2}, "GMM301"),
        ({"hidden": True, "value": 2}, "GMM301"),
        ({"bind": "env_id"}, "GMM206"),
        ({"defualt": 1}, "GMM201"),
    ],
    ids=str,
)
def test_an_entry_that_says_nothing_or_two_things_is_refused(
    app: FastAPI, entry: dict[str, Any], code: str
) -> None:
    assert [found[0] for found in refusals(app, tailored(days=entry))] == [code]


def test_two_globs_that_differ_on_one_argument_are_an_error(app: FastAPI) -> None:
    manifest = {
        "version": 1,
        "tools": {
            "wea*": {"arguments": {"days": {"default": 2}}},
            "*ther": {"arguments": {"days": {"default": 3}}},
        },
    }
    ((code, message, _),) = refusals(app, manifest)
    assert code == "GMM301"
    assert "arguments.days" in message


@pytest.fixture
def searched(make_app: Any) -> FastAPI:
    class Search(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        text: str = Field("", alias="q")
        limit: int = 10
        scope: str

    app: FastAPI = make_app()

    @app.post("/search")
    async def search(body: Search) -> dict[str, Any]:
        return body.model_dump()

    return app


def with_schema(schema: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"version": 1, "tools": {"search": {"input_schema": schema, "arguments": arguments}}}


def test_a_replaced_schema_opens_no_other_spelling_of_a_withheld_argument(
    searched: FastAPI, open_door: Any
) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "scope": {"type": "string"}}}
    door = open_door(searched, with_schema(schema, text={"value": "fixed"}))
    session = door.seed()
    for name in ("q", "text"):
        assert door.call("search", {"scope": "s", name: "forged"}, session)["isError"], name
    assert door.call("search", {"scope": "s"}, session)["structuredContent"]["text"] == "fixed"


def test_what_a_replaced_schema_leaves_out_may_be_fixed(searched: FastAPI, open_door: Any) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    door = open_door(searched, with_schema(schema, scope={"value": "all"}, limit={"default": 3}))
    (tool,) = door.list()
    assert set(tool["inputSchema"]["properties"]) == {"q", "limit"}
    assert tool["inputSchema"]["properties"]["limit"]["type"] == "integer"
    answer = door.call("search", {"q": "x"}, door.seed())
    assert answer["structuredContent"] == {"text": "x", "limit": 3, "scope": "all"}


def test_the_route_decides_what_may_be_hidden_and_which_values_fit(searched: FastAPI) -> None:
    schema = {"type": "object", "properties": {"scope": {"type": "string"}, "limit": {"type": "string"}}}
    found = refusals(searched, with_schema(schema, scope={"hidden": True}, limit={"value": "many"}))
    assert [code for code, _, _ in found] == ["GMM620", "GMM621"]


def test_an_argument_that_is_also_taken_from_inside_another_cannot_be_withheld(make_app: Any) -> None:
    class Nested(BaseModel):
        secret: str = Field("none", validation_alias=AliasChoices("sec", AliasPath("opts", "secret")))

    app = make_app()

    @app.post("/act")
    async def act(body: Nested) -> dict[str, str]:
        return {"secret": body.secret}

    manifest = {"version": 1, "tools": {"act": {"arguments": {"sec": {"hidden": True}}}}}
    ((code, message, _),) = refusals(app, manifest)
    assert code == "GMM620"
    assert "inside of another" in message


def dispatched(schema: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "catch_all": [{"tools": [{"name": "look", "description": "Looks.", "input_schema": schema}]}],
        "tools": {"look": {"arguments": arguments}},
    }


@pytest.fixture
def dispatcher(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    @app.post("/{tool}")
    async def dispatch(tool: str, request: Request) -> dict[str, Any]:
        return dict(await request.json())

    return app


def test_a_schema_that_is_only_a_reference_is_tailored_like_what_it_refers_to(
    dispatcher: FastAPI, open_door: Any
) -> None:
    thing = {
        "type": "object",
        "properties": {"debug": {"type": "boolean"}, "q": {"type": "string"}},
        "required": ["debug", "q"],
    }
    schema = {"$ref": "#/$defs/Thing", "$defs": {"Thing": thing}}
    door = open_door(dispatcher, dispatched(schema, debug={"value": True}, q={"description": "Query."}))
    (tool,) = door.list()
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "Query."}},
        "required": ["q"],
    }


@pytest.mark.parametrize(
    "more",
    [
        {"allOf": [{"required": ["debug"]}]},
        {"dependentRequired": {"q": ["debug"]}},
        {"if": {"properties": {"debug": {"const": True}}}, "then": {"required": ["q"]}},
    ],
    ids=["allOf", "dependentRequired", "if"],
)
def test_an_argument_that_the_schema_speaks_of_elsewhere_cannot_be_withheld(
    dispatcher: FastAPI, more: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"debug": {"type": "boolean"}, "q": {}}, **more}
    found = refusals(dispatcher, dispatched(schema, debug={"value": True}))
    assert [code for code, _, _ in found] == ["GMM620"]


def test_a_value_of_the_instance_is_never_quoted(app: FastAPI) -> None:
    patch = {"tools": {"weather": {"arguments": {"days": {"value": "hunter2"}}}}}
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest={"version": 1}, instance={**ON, "mcp": patch})
    assert [found.code for found in caught.value.diagnostics] == ["GMM621"]
    assert "hunter2" not in str(caught.value)

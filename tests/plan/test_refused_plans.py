"""What stops a boot besides handler shapes: names, reach, dispatchers, protocol routes, idle entries, the app."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from fastapi import APIRouter, FastAPI, Request
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from gym_mcp_manifest import Diagnostic, ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}
ANY = {"type": "object"}


async def handler(request: Request) -> dict[str, str]:
    """Says where it was reached."""
    return {"path": request.url.path}


def findings(app: FastAPI, manifest: dict[str, Any] | None = None, **arguments: Any) -> tuple[Diagnostic, ...]:
    written = None if manifest is None else {"version": 1, **manifest}
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=written, instance=ON, **arguments)
    assert all(found.hint for found in caught.value.diagnostics), "every refusal says what would help"
    return caught.value.diagnostics


def finding(app: FastAPI, manifest: dict[str, Any] | None = None, **arguments: Any) -> Diagnostic:
    (found,) = findings(app, manifest, **arguments)
    return found


def written_in(hint: str | None) -> dict[str, Any]:
    """The manifest that the last code span of a hint writes down."""
    return dict(yaml.safe_load(str(hint).split("`")[-2]))


# Names.


def nested(app: FastAPI) -> None:
    app.post("/notes/add")(handler)


def rooted(app: FastAPI) -> None:
    app.post("/")(handler)


def slashed(app: FastAPI) -> None:
    app.post("/tool/")(handler)


def dotted(app: FastAPI) -> None:
    app.post("/v1.0")(handler)


def unicode(app: FastAPI) -> None:
    app.post("/größe")(handler)


def unnamed(app: FastAPI) -> None:
    app.post("/notes/all")(lambda: {"path": "/notes/all"})


def included(app: FastAPI) -> None:
    inner, outer = APIRouter(prefix="/inner"), APIRouter(prefix="/outer")
    inner.post("/tool")(handler)
    outer.include_router(inner)
    app.include_router(outer, prefix="/api")


@pytest.mark.parametrize("register", [nested, rooted, slashed, dotted, unicode, unnamed, included])
def test_a_path_that_is_no_legal_name_is_refused_and_the_hint_gives_it_one(make_app, open_door, register):
    app = make_app()
    register(app)
    found = finding(app)
    assert found.code == "GMM701"
    assert "is no legal tool name" in found.message

    mended = written_in(found.hint)
    ((key, entry),) = mended["tools"].items()
    door = open_door(app, {"version": 1, **mended})
    assert door.names() == (entry["name"],)
    path = key.removeprefix("POST ")
    assert door.call(entry["name"], {}, door.seed())["structuredContent"]["path"] == path


def test_the_handlers_name_is_proposed_for_an_illegal_path(make_app):
    app = make_app()
    nested(app)
    assert finding(app).hint == "write `tools: {'POST /notes/add': {name: handler}}`"


def test_a_name_of_129_characters_is_illegal_and_one_of_128_is_not(make_app):
    app = make_app()
    app.post("/" + "n" * 128)(handler)
    expose(app, name="unit", instance=ON)
    app = make_app()
    app.post("/" + "n" * 129)(handler)
    assert finding(app).code == "GMM701"


@pytest.mark.parametrize("name", ["verify", "seed_session", "close_session", "aggregate_metrics", "mcp"])
def test_a_reserved_name_is_refused_whoever_gives_it(make_app, name):
    app = make_app()
    app.post("/tool")(handler)
    found = finding(app, {"tools": {"tool": {"name": name}}})
    assert (found.code, f"{name!r}" in found.message) == ("GMM702", True)

    app = make_app()
    app.post("/{path}")(handler)
    found = findings(app, {"catch_all": [{"tools": [{"name": name, "input_schema": ANY}]}]})
    assert "GMM702" in {entry.code for entry in found}


def test_a_route_of_the_harness_cannot_be_included(make_app):
    app = make_app()
    app.post("/tool")(handler)
    found = finding(app, {"routes": {"include": ["/tool", "/verify"]}})
    assert (found.code, "`/verify`" in found.message) == ("GMM702", True)


def test_routes_of_the_harness_are_never_tools(make_app, open_door):
    app = make_app()
    for path in ("/tool", "/close_session", "/aggregate_metrics"):
        app.post(path)(handler)
    door = open_door(app)
    assert door.names() == ("tool",)
    for name in ("verify", "seed_session", "close_session", "aggregate_metrics", "mcp"):
        assert door.text(name, {}, door.seed()).startswith(f"Unknown tool '{name}'.")


def test_two_tools_of_one_name_are_refused_naming_both(make_app):
    app = make_app()
    app.post("/one")(handler)
    app.post("/two")(handler)
    found = finding(app, {"tools": {"two": {"name": "one"}}})
    assert found.code == "GMM703"
    assert "POST /one and POST /two" in found.message


def test_a_typed_route_and_a_dispatched_tool_of_one_name_collide_naming_both(make_app):
    app = make_app()
    app.post("/look/{path}")(handler)
    app.post("/lookup")(handler)
    catch_all = [{"route": "/look/{path}", "tools": [{"name": "lookup", "input_schema": ANY}]}]
    found = finding(app, {"catch_all": catch_all})
    assert found.code == "GMM703"
    assert "POST /lookup and POST /look/{path}" in found.message


def test_a_function_that_serves_two_paths_collides_under_naming_by_function(make_app, open_door):
    app = make_app()
    app.post("/a/one")(handler)
    app.post("/a/two")(handler)
    assert finding(app, {"routes": {"naming": "function"}}).code == "GMM703"
    tools = {"POST /a/one": {"name": "one"}, "POST /a/two": {"name": "two"}}
    assert open_door(app, {"version": 1, "tools": tools}).names() == ("one", "two")


def test_a_key_by_function_name_is_no_misspelling_where_its_route_is_refused(make_app):
    app = make_app()

    @app.post("/a/tool")
    def fetch(limit: int) -> None: ...

    manifest = {"routes": {"naming": "function"}, "tools": {"fetch": {"title": "Fetch"}}}
    assert finding(app, manifest).code == "GMM602"


# Reach.


def test_a_route_that_an_earlier_one_shadows_is_refused_naming_it(make_app):
    app = make_app()
    app.post("/{path}")(handler)
    app.post("/late")(handler)
    found = finding(app, {"catch_all": [{"tools": [{"name": "early", "input_schema": ANY}]}]})
    assert found.code == "GMM605"
    assert "a call of 'late' would reach POST /{path}" in found.message


def test_a_route_registered_twice_is_refused(make_app):
    app = make_app()
    app.post("/twice")(handler)
    app.post("/twice")(handler)
    assert "GMM605" in {found.code for found in findings(app)}


@pytest.mark.parametrize("shadow", [Mount("/sub", app=PlainTextResponse("")), Route("/sub/tool", handler)])
def test_a_route_behind_something_that_is_not_fastapis_is_refused(make_app, shadow):
    app = make_app()
    app.router.routes.append(shadow)
    app.post("/sub/tool")(handler)
    app.router.routes[-2].methods = None if isinstance(shadow, Mount) else {"POST"}
    found = finding(app, {"tools": {"POST /sub/tool": {"name": "tool"}}})
    assert found.code == "GMM605"


def test_a_route_of_another_method_shadows_nothing(make_app, open_door):
    app = make_app()
    app.get("/tool")(handler)
    app.post("/tool")(handler)
    door = open_door(app)
    assert door.call("tool", {}, door.seed())["isError"] is False


def test_a_dispatched_name_that_another_route_answers_is_refused(make_app):
    app = make_app()
    app.post("/hidden")(handler)
    app.post("/{path}")(handler)
    manifest = {"routes": {"include": []}, "catch_all": [{"tools": [{"name": "hidden", "input_schema": ANY}]}]}
    found = finding(app, manifest)
    assert found.code == "GMM605"
    assert "a call of 'hidden' would reach POST /hidden" in found.message


def test_a_path_value_that_the_pattern_cannot_hold_is_refused(make_app, open_door):
    app = make_app()
    app.post("/{path}")(handler)
    manifest = {
        "catch_all": [{"tools": [{"name": "a/b", "input_schema": ANY}]}],
        "tools": {"a/b": {"name": "ab"}},
    }
    found = findings(app, manifest)[0]
    assert found.code == "GMM605"
    assert "'a/b' cannot be a path value of POST /{path}" in found.message


# Dispatchers.


def test_an_entry_without_a_route_is_refused_where_two_dispatchers_are_free(make_app):
    app = make_app()
    app.post("/a/{x}")(handler)
    app.post("/b/{x}")(handler)
    entry = {"tools": [{"name": "tool", "input_schema": ANY}]}
    found = finding(app, {"catch_all": [entry]})
    assert found.code == "GMM604"
    assert "could be for any of /a/{x}, /b/{x}" in found.message
    written = {"catch_all": [{"route": "/a/{x}", **entry}]}
    assert [tool.path for tool in expose(app, name="unit", manifest={"version": 1, **written}).tools] == []
    plan = expose(app, name="unit", manifest={"version": 1, **written}, instance=ON)
    assert [(tool.name, tool.path) for tool in plan.tools] == [("tool", "/a/tool")]
    (warning,) = [found for found in plan.diagnostics if found.code == "GMM609"]
    assert warning.severity == "warning"
    assert "POST /b/{x}" in warning.message


def test_two_entries_take_the_dispatchers_that_they_name_and_the_one_that_is_left(make_app, open_door):
    app = make_app()
    app.post("/a/{x}")(handler)
    app.post("/b/{x}")(handler)
    entries = [
        {"tools": [{"name": "left", "input_schema": ANY}]},
        {"route": "/a/{x}", "tools": [{"name": "named", "input_schema": ANY}]},
    ]
    door = open_door(app, {"version": 1, "catch_all": entries})
    session = door.seed()
    assert door.text("left", {}, session) == '{"path":"/b/left"}'
    assert door.text("named", {}, session) == '{"path":"/a/named"}'


def test_an_ignored_dispatcher_is_a_trap_and_no_tool(make_app, open_door):
    app = make_app()
    app.post("/tool")(handler)
    app.post("/traps/{name}")(handler)
    manifest = {"version": 1, "catch_all": [{"route": "/traps/{name}", "ignore": True}]}
    assert open_door(app, manifest).names() == ("tool",)


@pytest.mark.parametrize(
    ("entry", "code", "part"),
    [
        ({"route": "/a/{y}"}, "GMM601", "`/a/{y}`, which is no parameterized POST route"),
        ({"route": "/two/{x}/{y}"}, "GMM604", "has 2 path parameters"),
    ],
)
def test_an_entry_for_a_route_that_cannot_dispatch_is_refused(make_app, entry, code, part):
    app = make_app()
    app.post("/a/{x}")(handler)
    app.post("/two/{x}/{y}")(handler)
    found = finding(app, {"catch_all": [{"tools": [{"name": "t", "input_schema": ANY}], **entry}]})
    assert found.code == code
    assert part in found.message


def test_two_entries_for_one_route_are_refused(make_app):
    app = make_app()
    app.post("/{x}")(handler)
    entries = [{"route": "/{x}", "tools": [{"name": name, "input_schema": ANY}]} for name in ("a", "b")]
    assert "two `catch_all` entries are for POST /{x}" in finding(app, {"catch_all": entries}).message


def test_a_dispatcher_that_a_list_names_too_is_refused(make_app):
    app = make_app()
    app.post("/{x}")(handler)
    entry = {"route": "/{x}", "tools": [{"name": "a", "input_schema": ANY}]}
    for key in ("include", "exclude"):
        found = finding(app, {"routes": {key: ["/{x}"]}, "catch_all": [entry]})
        assert (found.code, f"`routes.{key}`" in found.message) == ("GMM301", True)


# Entries that match nothing.

IDLE: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "exclude": ({"routes": {"exclude": ["/get_wether"]}}, "`/get_wether` in `routes.exclude`", "/get_weather"),
    "include": (
        {"routes": {"include": ["/get_weather", "/get_wether"]}},
        "`/get_wether` in `routes.include`",
        "/get_weather",
    ),
    "a glob": ({"routes": {"exclude": ["/debug_*"]}}, "`/debug_*` in `routes.exclude`", None),
    "another method": ({"routes": {"exclude": ["GET /get_weather"]}}, "`GET /get_weather`", None),
    "tools": ({"tools": {"get_wether": {"title": "W"}}}, "the key `get_wether`", "get_weather"),
    "a glob over tools": ({"tools": {"set_*": {"title": "W"}}}, "the key `set_*`", None),
    "a route among tools": ({"tools": {"GET /get_weather": {"title": "W"}}}, "`GET /get_weather`", "get_weather"),
    "allow": (
        {"sessions": {"allow": [{"tools": ["get_wether"]}]}},
        "`get_wether` in `sessions.allow[0].tools`",
        "get_weather",
    ),
    "deny": ({"sessions": {"allow": [{"deny": ["set_*"]}]}}, "`set_*` in `sessions.allow[0].deny`", None),
    "catch_all": ({"catch_all": [{"route": "/{y}", "ignore": True}]}, "`/{y}`", None),
}
OPTIONAL = {
    "exclude": {"routes": {"exclude": [{"match": "/get_wether", "optional": True}]}},
    "include": {"routes": {"include": ["/get_weather", {"match": "/get_wether", "optional": True}]}},
    "tools": {"tools": {"get_wether": {"title": "W", "optional": True}}},
    "allow": {"sessions": {"allow": [{"tools": ["get_weather", "get_wether"], "optional": True}]}},
    "catch_all": {"catch_all": [{"route": "/{y}", "ignore": True, "optional": True}]},
}


@pytest.mark.parametrize("where", IDLE)
def test_an_entry_that_matches_nothing_is_refused_with_the_nearest_real_name(make_app, where):
    app = make_app()
    app.post("/get_weather")(handler)
    manifest, part, near = IDLE[where]
    found = finding(app, manifest)
    assert found.code == "GMM601"
    assert part in found.message
    if near:
        assert f"did you mean `{near}`?" in str(found.hint) or f"did you mean `POST /{near}`?" in str(found.hint)


@pytest.mark.parametrize("where", OPTIONAL)
def test_an_entry_that_matches_nothing_is_fine_where_it_is_optional(make_app, open_door, where):
    app = make_app()
    app.post("/get_weather")(handler)
    assert open_door(app, {"version": 1, **OPTIONAL[where]}).names() == ("get_weather",)


def test_an_exclusion_may_name_a_route_that_is_not_fastapis(make_app, open_door):
    app = make_app()
    app.router.routes.append(Route("/plain", handler, methods=["POST"]))
    app.post("/get_weather")(handler)
    assert open_door(app, {"version": 1, "routes": {"exclude": ["/plain"]}}).names() == ("get_weather",)


def test_an_inclusion_may_not(make_app):
    app = make_app()
    app.router.routes.append(Route("/plain", handler, methods=["POST"]))
    assert finding(app, {"routes": {"include": ["/plain"]}}).code == "GMM601"


def test_a_key_for_an_excluded_route_says_what_excluded_it(make_app):
    app = make_app()
    app.post("/get_weather")(handler)
    manifest = {"routes": {"exclude": ["/get_*"]}, "tools": {"get_weather": {"title": "W"}}}
    assert "which is not exposed: excluded by `/get_*`" in finding(app, manifest).message


def test_a_route_that_neither_list_names_is_refused_where_the_manifest_wants_every_route_listed(make_app):
    app = make_app()
    app.post("/one")(handler)
    app.post("/two")(handler)
    found = finding(app, {"routes": {"include": ["/one"], "unlisted": "error"}})
    assert (found.code, "POST /two" in found.message) == ("GMM608", True)


# The app as a whole.


@pytest.mark.parametrize("missing", ["/seed_session", "/verify"])
def test_a_missing_protocol_route_is_refused(make_app, open_door, missing):
    app = make_app(protocol=False)
    app.post("/tool")(handler)
    for path in {"/seed_session", "/verify"} - {missing}:
        app.post(path)(handler)
    found = finding(app)
    assert found.code == "GMM606"
    assert f"the app has no POST {missing}" in found.message
    without = {"version": 1, **written_in(found.hint)}
    assert open_door(app, without, client={"base_url": "http://localhost"}).names() == ("tool",)


def test_a_dispatcher_is_no_protocol_route(make_app):
    app = make_app(protocol=False)
    app.post("/{path}")(handler)
    assert [found.code for found in findings(app)] == ["GMM606", "GMM606"]


def by_route(app: FastAPI) -> None:
    app.post("/mcp")(handler)


def by_get_route(app: FastAPI) -> None:
    app.get("/mcp")(handler)


def by_slashed_route(app: FastAPI) -> None:
    app.post("/mcp/")(handler)


def by_path_route(app: FastAPI) -> None:
    app.post("/mcp/{rest:path}")(handler)


def by_mount(app: FastAPI) -> None:
    app.mount("/mcp", FastAPI())


def by_starlette_route(app: FastAPI) -> None:
    app.router.routes.append(Route("/mcp", handler, methods=["POST"]))


def by_included_router(app: FastAPI) -> None:
    router = APIRouter()
    router.post("")(handler)
    app.include_router(router, prefix="/mcp")


@pytest.mark.parametrize(
    "serve",
    [by_route, by_get_route, by_slashed_route, by_path_route, by_mount, by_starlette_route, by_included_router],
)
def test_an_app_that_serves_mcp_already_is_refused(make_app, serve: Callable[[FastAPI], None]):
    app = make_app()
    app.post("/tool")(handler)
    serve(app)
    found = finding(app)
    assert (found.code, found.message) == ("GMM607", "the app already serves /mcp")


def test_an_app_that_comes_to_serve_mcp_after_expose_does_not_start(make_app):
    app = make_app()
    expose(app, name="unit", instance=ON)
    by_mount(app)
    with pytest.raises(ExposureRefused, match="the app already serves /mcp"), TestClient(app):
        pytest.fail("the app started")


def test_routes_beside_mcp_are_nobodys_concern(make_app, open_door):
    app = make_app()
    app.post("/mcp_status")(handler)
    app.post("/mcp/status")(handler)
    door = open_door(app, {"version": 1, "routes": {"exclude": ["/mcp/status"]}})
    assert door.names() == ("mcp_status",)
    assert door.client.post("/mcp/status").json() == {"path": "/mcp/status"}


def test_an_app_is_exposed_once(make_app):
    app = make_app()
    app.post("/tool")(handler)
    expose(app, name="unit", instance=ON)
    found = finding(app)
    assert (found.code, found.message) == ("GMM607", "the app is exposed already")


def test_a_refused_expose_leaves_the_app_as_it_was_and_may_be_tried_again(make_app, open_door):
    app = make_app()
    app.post("/a/b")(handler)
    before = (list(app.user_middleware), list(app.router.routes), dict(app.__dict__))
    findings(app)
    assert (list(app.user_middleware), list(app.router.routes), dict(app.__dict__)) == before
    assert open_door(app, {"version": 1, "routes": {"exclude": ["/a/b"]}}).names() == ()


def test_an_app_that_has_started_is_refused(make_app):
    app = make_app()
    app.post("/tool")(handler)
    with TestClient(app) as client:
        client.post("/tool")
    found = finding(app)
    assert found.code == "GMM607"
    assert "has already started" in found.message


def test_an_app_without_a_secret_is_refused(make_app, open_door):
    app = make_app(sessions=False)
    app.post("/tool")(handler)
    found = finding(app)
    assert (found.code, found.message) == ("GMM706", "no secret signs the session tokens")


def test_tokens_without_any_session_middleware_are_refused_once_the_app_is_settled(make_app):
    app = make_app(sessions=False)
    app.post("/tool")(handler)
    expose(app, name="unit", instance=ON, secret="given")
    with pytest.raises(ExposureRefused, match="the app has no session middleware"), TestClient(app):
        pytest.fail("the app started")


def test_skipped_middleware_is_told_where_the_mode_is_chosen(make_app, tmp_path):
    app = make_app()
    app.add_middleware(type("Odd", (), {"__module__": "odd"}))
    app.post("/a")(handler)
    app.post("/b")(handler)
    path = tmp_path / "mcp.yaml"
    path.write_text("version: 1\ndispatch: app\ntools:\n  b: {dispatch: route}\n", encoding="utf-8")
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=path, instance=ON)
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("GMM603", 4, 17)
    assert found.message == "the app's middleware odd.Odd would be skipped by `route` calls of b"


@pytest.mark.parametrize(
    ("entry", "guess"),
    [("GET /items/{id}", "GET /items/{item_id}"), ("/items/{item_id}", "GET /items/{item_id}"), ("/tol", "/tool")],
)
def test_the_nearest_route_is_told_as_one_writes_it(make_app, entry, guess):
    app = make_app()
    app.post("/tool")(handler)
    app.get("/items/{item_id}")(handler)
    (found,) = findings(app, {"routes": {"include": ["/tool", entry]}})
    assert (found.code, f"did you mean `{guess}`?" in found.hint) == ("GMM601", True)


def test_everything_that_is_wrong_is_told_at_once(make_app):
    app = make_app(protocol=False)
    app.add_middleware(type("Odd", (), {"__module__": "odd"}))
    app.post("/a/b")(handler)
    app.mount("/mcp", FastAPI())

    @app.post("/shape")
    def shape(limit: int) -> None: ...

    codes = sorted(found.code for found in findings(app, {"routes": {"exclude": ["/nothing"]}}))
    assert codes == ["GMM601", "GMM602", "GMM603", "GMM606", "GMM606", "GMM607", "GMM701"]


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("", "an empty secret signs nothing"),
        (["a key", ""], "an empty secret signs nothing"),
        ([], "no secret signs the session tokens"),
    ],
)
def test_a_secret_that_signs_nothing_is_refused_before_the_first_request(make_app, secret, message):
    app = make_app()
    app.post("/tool")(handler)
    with pytest.raises(ExposureRefused) as refused:
        expose(app, name="unit", instance=ON, secret=secret)
    assert [(found.code, found.message) for found in refused.value.diagnostics] == [("GMM706", message)]


def test_an_app_whose_stack_has_another_outermost_layer_does_not_start(make_app):
    class Wrapped(FastAPI):
        def build_middleware_stack(self):
            stack = super().build_middleware_stack()
            return lambda *call: stack(*call)

    app = Wrapped()
    app.post("/tool")(handler)
    expose(app, name="unit", manifest={"version": 1, "sessions": {"mode": "none"}}, instance=ON)
    with pytest.raises(ExposureRefused, match="outermost layer is function"), TestClient(app):
        pytest.fail("the app started")


def test_an_app_that_mounts_its_own_endpoint_at_the_root_already_serves_it(make_app):
    app = make_app()
    app.post("/tool")(handler)
    inner = FastAPI()
    inner.post("/mcp")(handler)
    app.mount("/", inner)
    assert "GMM607" in [found.code for found in findings(app)]


# What clients could not be sent.


def test_half_a_letter_in_a_docstring_stops_the_boot(make_app):
    app = make_app()

    async def tool() -> None: ...

    tool.__doc__ = "a \ud800 b"
    app.post("/tool")(tool)
    found = finding(app)
    assert found.code == "GMM103"
    assert "the description of 'tool'" in found.message


def test_a_schema_that_nests_too_deeply_stops_the_boot(make_app):
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema}}
    app = make_app()
    app.post("/{tool}")(handler)
    found = finding(
        app, {"catch_all": [{"tools": [{"name": "deep", "description": "D.", "input_schema": schema}]}]}
    )
    assert found.code == "GMM209"
    assert "deeper than 100 levels" in found.message

"""Recorded tool names: every agent's form of every server name becomes what datasets know."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_mcp_manifest import expose
from gym_mcp_manifest.manifest.models import AGENTS, Names
from gym_mcp_manifest.plan.aliases import agent_side_names, build_aliases

#: Instance name -> its spellings after agents have replaced what they do not allow.
SERVERS = {
    "weather": ("weather",),
    "workplace_assistant": ("workplace_assistant",),
    "my-server": ("my-server", "my_server"),
    "workplace-assistant.v2": ("workplace-assistant.v2", "workplace-assistant_v2", "workplace_assistant_v2"),
    "my server": ("my server", "my_server"),
    "wetter_ä": ("wetter_ä", "wetter__"),
    "天気": ("天気", "__"),
    "a__b": ("a__b",),
    "{tool}": ("{tool}", "_tool_"),
}
FORMS = {
    "claude_code": ("mcp__{}__{}",),
    "codex": ("{1}", "mcp__{}__{}"),
    "gemini_cli": ("mcp_{}_{}",),
    "hermes": ("mcp_{}_{}", "mcp__{}__{}"),
    "openclaw": ("{}__{}",),
    "opencode": ("{}_{}",),
    "pi": ("{}_{}",),
}
PRESETS = [
    (agent, server, form.format(spelling, "get_weather"))
    for agent, forms in FORMS.items()
    for form in forms
    for server, spellings in SERVERS.items()
    for spelling in spellings
]


def test_every_preset_is_known_here():
    assert set(FORMS) == set(AGENTS)


@pytest.mark.parametrize("server", SERVERS)
def test_every_agents_form_of_a_servers_name_becomes_the_own_name(scorer, server):
    recorded = [name for _, of, name in PRESETS if of == server]
    assert scorer(name=server).seen(recorded) == ["get_weather"] * len(recorded)


@pytest.mark.parametrize("agent", FORMS)
def test_a_manifest_that_names_one_agent_undoes_its_forms_only(scorer, agent):
    server = scorer({"version": 1, "names": {"agents": [agent]}}, name="my-server")
    mine = {name for of, name_of, name in PRESETS if of == agent and name_of == "my-server"}
    others = {name for of, name_of, name in PRESETS if of != agent and name_of == "my-server"} - mine
    assert set(server.seen(sorted(mine))) == {"get_weather"}
    foreign = sorted(others - {"get_weather"})
    assert server.seen(foreign) == foreign


def test_patterns_of_the_manifest_add_forms(scorer):
    names = {"agents": ["codex"], "patterns": ["custom.{server}.{tool}", "gym/{tool}"]}
    server = scorer({"version": 1, "names": names}, name="my-server.v2")
    assert server.seen(
        ["custom.my-server.v2.get_weather", "custom.my_server_v2.get_time", "gym/get_time", "custom.get_time"]
    ) == ["get_weather", "get_time", "get_time", "custom.get_time"]


def test_hermes_flattens_hyphens_of_tools_too(scorer):
    server = scorer({"version": 1, "tools": {"get_weather": {"name": "get-weather"}}}, name="my-server")
    assert server.seen(["mcp_my_server_get_weather", "mcp__my_server__get-weather"]) == ["get_weather"] * 2


def test_an_exposed_name_becomes_the_own_name(scorer):
    server = scorer({"version": 1, "tools": {"get_weather": {"name": "weather"}}})
    assert server.seen(["weather", "mcp__unit__weather", "unit_weather", "get_weather", "get_time"]) == [
        "get_weather",
        "get_weather",
        "get_weather",
        "get_weather",
        "get_time",
    ]


FOREIGN = [
    "bash",
    "mcp__other__get_weather",
    "mcp__unit__unknown",
    "mcp__unit__",
    "mcp__unit__get_weather ",
    "MCP__unit__get_weather",
    "mcp___unit__get_weather",
    "xmcp__unit__get_weather",
    "mcp__unit__mcp__unit__get_weather",
    "unit.get_weather",
    "unitget_weather",
    "",
    "unit_",
    "functions.get_weather",
]


def test_foreign_names_stay(scorer):
    assert scorer().seen(FOREIGN) == FOREIGN


def test_an_exposed_name_is_never_read_as_another_tools_alias(scorer, caplog):
    """`unit_time` is a tool itself; that opencode would write the tool `time` so does not count."""
    server = scorer(tools=["unit_time", "time"])
    assert server.seen(["unit_time", "unit_unit_time", "mcp__unit__time"]) == ["unit_time", "unit_time", "time"]
    renamed = scorer({"version": 1, "tools": {"clock": {"name": "unit_time"}}}, tools=["clock", "time"])
    assert renamed.seen(["unit_time", "mcp__unit__unit_time", "mcp__unit__time"]) == ["clock", "clock", "time"]
    assert "'unit_time' could be any of clock, time; /verify takes it for 'clock'" in caplog.text


def test_the_name_of_a_route_that_is_no_tool_is_no_tools_alias(scorer, caplog):
    """An agent over plain HTTP records `unit_time`, the name of a route that stays HTTP-only."""
    server = scorer({"version": 1, "routes": {"exclude": ["/unit_time"]}}, tools=["unit_time", "time"])
    assert server.seen(["unit_time", "mcp__unit__time"]) == ["unit_time", "time"]
    assert "'unit_time' could be any of unit_time, time; /verify leaves it as it is" in caplog.text


def test_an_own_name_that_is_not_exposed_is_no_other_tools_alias(scorer, caplog):
    """An agent over plain HTTP records `unit_time`, the route's name, and means that route."""
    manifest = {"version": 1, "tools": {"unit_time": {"name": "clock"}}}
    server = scorer(manifest, tools=["unit_time", "time"])
    assert server.seen(["unit_time", "clock", "time"]) == ["unit_time", "unit_time", "time"]
    assert "GMM705" in caplog.text
    assert "'unit_time' could be any of unit_time, time" in caplog.text


def test_an_ambiguous_name_stays_and_is_reported_at_boot(make_app, scorer, caplog):
    tools = ["b_c", "c"]
    manifest = {"version": 1, "names": {"patterns": ["{server}_b_{tool}"], "agents": ["opencode"]}}
    server = scorer(manifest, name="a", tools=tools)
    assert server.seen(["a_b_c", "a_c", "a_b_b_c"]) == ["a_b_c", "c", "b_c"]
    (said,) = [record.getMessage() for record in caplog.records if "GMM705" in record.getMessage()]
    assert "'a_b_c' could be any of b_c, c" in said


def test_the_plan_holds_the_ambiguous_names(make_app):
    app = make_app()
    app.post("/b_c")(lambda: {"ok": True})
    app.post("/c")(lambda: {"ok": True})
    names = {"patterns": ["{server}_b_{tool}"], "agents": ["opencode"]}
    plan = expose(app, name="a", manifest={"version": 1, "names": names}, instance={"expose_tools_over_mcp": True})
    assert plan.aliases.ambiguous == {"a_b_c": ("b_c", "c")}
    assert "GMM705" in [found.code for found in plan.diagnostics]


def test_names_of_a_catch_all_are_normalized_as_well(make_app, open_door, calls):
    app = make_app(protocol=False)
    app.post("/seed_session")(lambda: {"ok": True})

    @app.post("/verify")
    async def verify(body: dict[str, Any]) -> dict[str, Any]:
        return {"scored": [item["name"] for item in body["response"]["output"]]}

    @app.post("/{path}")
    async def dispatch(path: str) -> dict[str, str]:
        return {"ran": path}

    door = open_door(app, {"version": 1, "catch_all": [{"tools": [{"name": "email_reply"}]}]}, name="office")
    body = calls("mcp__office__email_reply", "office_email_reply", "mcp__office__unlisted")
    reply = door.client.post("/verify", json=body).json()
    assert reply["scored"] == ["email_reply", "email_reply", "mcp__office__unlisted"]


SERVER_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="{}"), min_size=1, max_size=12)
TOOL_NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,10}", fullmatch=True)
TOOLS = st.lists(st.tuples(TOOL_NAMES, TOOL_NAMES), max_size=5, unique_by=(lambda t: t[0], lambda t: t[1]))


@settings(deadline=None)
@given(SERVER_NAMES, TOOLS)
def test_every_alias_stands_for_one_tool_or_is_ambiguous(server, tools):
    names = Names()
    table = build_aliases(names, server, tools)
    exposed = {name: own for own, name in tools}
    for own, name in tools:
        assert table.own_name(name) == own
        for _, alias in agent_side_names(names, server, name):
            meant = table.own_name(alias)
            assert meant == own or alias in table.ambiguous or exposed.get(alias) == meant
    for alias, owners in table.ambiguous.items():
        assert len(owners) > 1
        assert table.own_name(alias) == exposed.get(alias, alias)

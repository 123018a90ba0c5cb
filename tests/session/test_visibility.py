"""One predicate decides what a session lists, what it may call and which names an error text gives away."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ERROR = re.compile(r"Unknown tool '(?P<name>(?:[^'\\]|\\.)*)'\.(?P<rest>.*)", re.DOTALL)
TOOLS = ("get_weather", "get_time", "send_mail", "debug_dump")


def other_names(text: str) -> str:
    match = ERROR.fullmatch(text)
    assert match, text
    return match["rest"]


@pytest.fixture
def app(make_app, with_tools):
    return with_tools(make_app(), *TOOLS, "hidden_admin")


MANIFEST = {
    "version": 1,
    "routes": {"exclude": ["/hidden_admin"]},
    "sessions": {"allow": [{"from": "names"}], "otherwise": "none"},
}


def test_excluded_unknown_and_not_allowed_names_are_answered_alike(app, open_door):
    door = open_door(app, MANIFEST)
    headers = door.seed({"names": ["get_time"]})
    for name in ("hidden_admin", "never_existed", "send_mail", "debug_dump", "seed_session", "verify", "mcp"):
        result = door.call(name, {"x": 1}, headers)
        assert result["isError"] is True
        assert result["content"] == [
            {"type": "text", "text": f"Unknown tool '{name}'. This session has: get_time."}
        ]


def test_a_near_miss_is_corrected_only_with_a_name_that_the_session_has(app, open_door):
    door = open_door(app, MANIFEST)
    assert door.text("get_wether", {}, door.seed({"names": ["get_weather"]})) == (
        "Unknown tool 'get_wether'. Did you mean 'get_weather'?"
    )
    assert "get_weather" not in door.text("get_wether", {}, door.seed({"names": ["send_mail"]}))
    assert door.text("get_weather", {}, door.seed({"names": []})) == "Unknown tool 'get_weather'."


def test_an_own_name_is_no_name_on_the_wire(app, open_door):
    door = open_door(app, {"version": 1, "tools": {"get_time": {"name": "clock"}}})
    headers = door.seed()
    assert door.call("get_time", {}, headers)["isError"] is True
    assert door.call("clock", {}, headers)["structuredContent"] == {"ran": "get_time"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("it's", r"'it\'s'"),
        ("a\nb", r"'a\nb'"),
        ("\x1b[31m", r"'\x1b[31m'"),
        ("x" * 300, "'" + "x" * 197 + "...'"),
        ("東京", "'東京'"),
        ("", "''"),
        ("get_time ", "'get_time '"),
        ("\u202egnp", r"'\u202egnp'"),
        ("/seed_session", "'/seed_session'"),
        ("../get_time", "'../get_time'"),
    ],
)
def test_a_name_that_the_client_sent_is_echoed_in_single_quotes_only(app, open_door, name, shown):
    door = open_door(app)
    text = door.text(name, {}, door.seed())
    assert text.startswith(f"Unknown tool {shown}.")


def test_a_long_list_is_not_poured_into_an_error(make_app, with_tools, open_door):
    door = open_door(with_tools(make_app(), *(f"tool_number_{n}" for n in range(60))))
    assert door.text("zzz", {}, door.seed()) == "Unknown tool 'zzz'."


#: Own names; the exposed name of some differs.
UNIVERSE = {"get_weather": "weather", "get_time": "get_time", "send_mail": "mail", "debug_a": "debug_a", "b": "b"}
GLOBS = st.sampled_from(["*", "get_*", "debug_*", "weather", "send_mail", "?", "[gm]*", "*a*"])
NAMES = st.sampled_from([*UNIVERSE, *UNIVERSE.values()])
RULES = st.one_of(
    st.fixed_dictionaries({"tools": st.lists(GLOBS, max_size=3)}, optional={"deny": st.lists(GLOBS, max_size=2)}),
    st.fixed_dictionaries(
        {"from": st.sampled_from(["a", "b", ["a", "b"], ["c", "a"]])},
        optional={"empty": st.sampled_from(["next", "none"]), "deny": st.lists(GLOBS, max_size=2)},
    ),
    st.fixed_dictionaries({"deny": st.lists(GLOBS, min_size=1, max_size=2)}),
)
BODIES = st.fixed_dictionaries(
    {}, optional={key: st.none() | st.lists(NAMES, max_size=4) for key in "abc"} | {"easy": st.booleans()}
)


def matches(glob: str, own: str) -> bool:
    pattern = glob.replace("*", ".*").replace("?", ".")
    return any(re.fullmatch(pattern, name) for name in (own, UNIVERSE[own]))


def expected(rules: list[dict[str, Any]], otherwise: str, body: dict[str, Any]) -> set[str]:
    """The rules of the design, read once more and independently; gives own names."""
    by_name = {name: own for own, name in UNIVERSE.items()}
    for rule in rules:
        if "when" in rule and not body.get("easy"):
            continue
        chosen = None
        if "tools" in rule:
            chosen = {own for own in UNIVERSE if any(matches(glob, own) for glob in rule["tools"])}
        elif "from" in rule:
            keys = rule["from"] if isinstance(rule["from"], list) else [rule["from"]]
            lists = [body[key] for key in keys if body.get(key) is not None]
            if not lists or (not lists[0] and rule.get("empty", "next") == "next"):
                continue
            chosen = {by_name.get(name, name) for name in lists[0]}
        else:
            chosen = set(UNIVERSE)
        return {own for own in chosen if not any(matches(glob, own) for glob in rule.get("deny", ()))}
    return set(UNIVERSE) if otherwise == "all" else set()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RULES, max_size=3), st.sampled_from(["all", "none"]), st.lists(BODIES, min_size=1, max_size=3))
def test_list_call_and_error_texts_agree_for_any_rules(make_app, with_tools, open_door, rules, otherwise, bodies):
    # Every rule may pass over, so that every one is reachable and `otherwise` counts.
    allow = [{"when": "easy", "optional": True, **rule} for rule in rules]
    manifest = {
        "version": 1,
        "tools": {own: {"name": name} for own, name in UNIVERSE.items()},
        "sessions": {"allow": allow, "otherwise": otherwise},
    }
    door = open_door(with_tools(make_app(), *UNIVERSE), manifest)
    for body in bodies:
        headers = door.seed(body)
        own_names = expected(allow, otherwise, body)
        listed = door.names(headers)
        assert set(listed) == {UNIVERSE[own] for own in own_names}
        for own, name in UNIVERSE.items():
            result = door.call(name, {}, headers)
            assert (result.get("structuredContent") == {"ran": own}) == (name in listed)
            if name not in listed:
                told = set(re.findall(r"\w+", other_names(result["content"][0]["text"])))
                assert told & set(UNIVERSE.values()) <= set(listed)

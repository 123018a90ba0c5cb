"""`gym-mcp explain`: codes, keys of the language, and one thing of a target with what decided it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.diagnostics import CODES
from gym_mcp_manifest.manifest.handbook import all_paths

Run = Callable[..., Any]
OFFICE = "manifests/office"
WEATHER = "manifests/weather"


RULES = """\
version: 1
sessions:
  allow:
    - when: level == 'easy'
      tools: [greet]
    - from: [names, more.names]
      empty: next
      deny: ["s*"]
    - from: others
      empty: none
  otherwise: error
"""


@pytest.fixture
def ruled(server: Path) -> Path:
    """The little server under rules."""
    (server / "mcp.yaml").write_text(RULES, encoding="utf-8")
    return server


# Codes.


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str, run_here: Run) -> None:
    ran = run_here("explain", code)
    assert ran.code == 0
    assert ran.out.startswith(f"{code}: {CODES[code]}\n\n  ")
    assert "\n  Cure: " in ran.out
    assert all(len(line) <= 110 for line in ran.out.splitlines())


def test_a_code_is_data_too_and_may_be_written_small(run_here: Run) -> None:
    payload = json.loads(run_here("explain", "gmm204", "--json").out)
    assert (payload["format_version"], payload["code"], payload["title"]) == (1, "GMM204", "key without a value")
    assert payload["why"]
    assert payload["cure"]


def test_an_unknown_code_names_the_nearest(run_here: Run) -> None:
    ran = run_here("explain", "GMM299")
    assert (ran.code, ran.out) == (1, "")
    assert re.search(r"there is no code GMM299; did you mean 'GMM2\d\d'\?", ran.err)


# Keys.


@pytest.mark.parametrize("path", all_paths())
def test_every_key_of_the_language_is_explained(path: str, run_here: Run) -> None:
    ran = run_here("explain", path)
    assert (ran.code, ran.err) == (0, "")
    entries = json.loads(run_here("explain", path, "--json").out)["keys"]
    assert {entry["path"] for entry in entries} == {path}
    for entry in entries:
        assert entry["description"]
        assert entry["description"] in " ".join(ran.out.split())
        assert entry["later"] or entry["type"] in ran.out


KEYS = {
    "sessions.allow.from": ["sessions.allow[].from", "text or list of text", '"verifier_metadata.allowed_tools"'],
    "sessions.allow[0].empty": ["sessions.allow[].empty", 'one of "next", "none"; default "next"'],
    "catch_all.tools.file": ["catch_all[].tools[].file", "must be written", '["data/tools/*.json"]'],
    "tools.arguments": ["tools.NAME.arguments", "\n  keys:\n    description "],
    "tools.get_weather.arguments.city.default": ["tools.NAME.arguments.NAME.default"],
    "routes.include": ['default ["/**"]', "    match "],
    "version": ["1 only; must be written"],
    "limits.request_bytes": ["whole number, at least 1; default 4194304"],
    'tools."GET /items/{id}".name': ["tools.NAME.name"],
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_shows_what_may_be_written(key: str, run_here: Run) -> None:
    ran = run_here("explain", key)
    assert ran.code == 0
    assert [part for part in KEYS[key] if part not in ran.out] == []


@pytest.mark.parametrize(
    ("key", "near"), [("sesions.allow", "sessions.allow"), ("routes.exclud", "routes.exclude"), ("nonsense", None)]
)
def test_an_unknown_key_names_the_nearest(key: str, near: str | None, run_here: Run) -> None:
    ran = run_here("explain", key)
    assert (ran.code, ran.out) == (1, "")
    assert f"the language has no key '{key}'" in ran.err
    assert ("did you mean" in ran.err, f"'{near}'?" in ran.err) == (near is not None, near is not None)


def test_a_mistyped_key_below_free_names_is_told(run_here: Run) -> None:
    ran = run_here("explain", "tools.argumnts")
    assert "'argumnts' was taken for a name; did you mean the key 'arguments'?" in ran.err
    assert run_here("explain", "tools.get_weather").err == ""


@pytest.mark.parametrize("word", ["GMM204", "sessions.allow.from"])
def test_codes_and_keys_need_no_app(word: str) -> None:
    driver = (
        "import sys; sys.argv = ['gym-mcp', 'explain', sys.argv[1]]\n"
        "from gym_mcp_manifest.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, word], capture_output=True, text=True, timeout=60, check=True
    )
    assert not {"fastapi", "starlette", "mcp", "hydra"} & set(done.stdout.splitlines()[-1].split())


# The three forms.


@pytest.mark.parametrize("target", [WEATHER, "manifests.weather.app:app", "./schemas"])
def test_a_target_by_itself_is_wrong_usage_that_shows_the_forms(target: str, run_here: Run) -> None:
    ran = run_here("explain", target)
    said = re.sub(r"[\s│]+", " ", ran.err)
    assert (ran.code, ran.out) == (2, "")
    assert f"what about {target}?" in said
    assert all(f"gym-mcp explain {form}" in said for form in ("GMM204", "sessions.allow", "TARGET WHAT"))


def test_an_override_is_never_taken_for_what_is_asked(run_here: Run, ruled: Path) -> None:
    (ruled / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    ran = run_here("explain", ruled, "++mcp_secret=hunter2-hunter2")
    assert (ran.code, "hunter2" in ran.text) == (2, False)
    ran = run_here("explain", ruled, "mcp.sessions.otherwise=none", "--seed", "{}")
    assert (ran.code, "decided by: `sessions.otherwise: none`" in ran.out) == (0, True)


# Routes and tools.


@pytest.mark.parametrize("what", ["POST /verify", "/verify", "verify"])
def test_an_excluded_route_says_why(what: str, run_here: Run) -> None:
    ran = run_here("explain", OFFICE, what)
    assert ran.code == 0
    assert ran.out.startswith("POST /verify: excluded\n  why: a route of the harness; never a tool\n")
    assert re.search(r"handler: manifests/office/app\.py:\d+:1\n", ran.out)


def test_an_excluded_route_names_the_line_or_layer(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/fail]}", encoding="utf-8")
    out = run_here("explain", server, "fail").out
    assert f"why: excluded by `/fail`\n  decided at: {server}/mcp.yaml:2:20\n" in out
    config = server / "config.yaml"
    config.write_text("expose_tools_over_mcp: true\nmcp: {routes: {exclude: [/sleep]}}", encoding="utf-8")
    out = run_here("explain", server, "/sleep").out
    assert f"decided at: {config}:2:26\n" in out
    payload = json.loads(run_here("explain", server, "/greet", "mcp.routes.exclude_add=[/greet]", "--json").out)
    assert (payload["state"], "override" in payload["decided_at"]) == ("excluded", True)


def test_a_refused_route_shows_its_findings(run_here: Run, server: Path) -> None:
    path = server / "app.py"
    route = '\n\n@app.post("/filed")\nasync def filed(limit: int) -> dict:\n    return {}\n'
    path.write_text(path.read_text(encoding="utf-8") + route, encoding="utf-8")
    ran = run_here("explain", server, "/filed")
    assert (ran.code, ran.out.startswith("POST /filed: refused\n")) == (0, True)
    assert "error[GMM602]" in ran.out
    assert "help: " in ran.out
    payload = json.loads(run_here("explain", server, "/filed", "--json").out)
    assert [finding["code"] for finding in payload["findings"]] == ["GMM602"]


@pytest.mark.parametrize("what", ["hello", "greet", "POST /greet", "/greet"])
def test_a_tool_shows_each_value_with_its_origin(what: str, run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\ntools:\n  greet: {name: hello}\n  'gr*': {annotations: {readOnlyHint: true}}",
        encoding="utf-8",
    )
    out = run_here("explain", server, what).out
    assert out.startswith("hello (POST /greet): exposed\n  why: included by `/**` (the default)\n")
    assert f'    name: "hello"\n      from {server}/mcp.yaml:3:17\n' in out
    assert re.search(r'    description: "Greets .*"\n      from \S*app\.py:\d+:1\n', out)
    assert f"    annotations.readOnlyHint: true\n      from {server}/mcp.yaml:4:39\n" in out
    assert '    dispatch: "direct"\n      from the language\'s default\n' in out
    values = json.loads(run_here("explain", server, what, "--json").out)["values"]
    assert values["name"] == {"value": "hello", "from": f"{server}/mcp.yaml:3:17"}


def test_a_dispatcher_lists_its_tools(run_here: Run) -> None:
    out = run_here("explain", OFFICE, "/{path}").out
    assert out.startswith("POST /{path}: exposed\n  why: `catch_all[0]` on POST /{path}\n")
    assert re.search(r"decided at: manifests/office/mcp\.yaml:\d+:\d+\n", out)
    assert "27 tools through it:\n" in out
    out = run_here("explain", OFFICE, "email_send_email").out
    assert re.search(r"decided at: manifests/office/data/tools/email\.json:\d+:\d+\n", out)


@pytest.mark.parametrize(
    ("what", "near"),
    [
        ("email_sendd", "email_send"),
        ("/verif", "/verify"),
        ("sessions.alow", "sessions.allow"),
        ("sessions.allow[7].from", "sessions.allow[].from"),
        ("tools.email_send_emial.title", "tools.email_send_email.title"),
    ],
)
def test_what_a_target_has_not_names_the_nearest(what: str, near: str, run_here: Run) -> None:
    ran = run_here("explain", OFFICE, what)
    assert (ran.code, ran.out) == (1, "")
    assert f"{OFFICE} has no route, tool or key of the manifest '{what}'; did you mean '{near}" in ran.err


def test_where_exposure_is_off_it_says_so(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: false", encoding="utf-8")
    out = run_here("explain", server, "/greet").out
    assert "POST /greet: excluded\n  why: exposure is off" in out
    assert "exposure is off" in run_here("explain", server, "--seed", "{}").out


# Values.


def test_a_value_shows_every_layer_that_set_it(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\nnames: {max_length: 70}\ntools: {greet: {title: Hi}, 'g*': {optional: true}}",
        encoding="utf-8",
    )
    config = server / "config.yaml"
    config.write_text("expose_tools_over_mcp: true\nmcp: {names: {max_length: 80}}", encoding="utf-8")
    out = run_here("explain", server, "names.max_length").out
    assert out.splitlines() == [
        "names.max_length",
        "  value: 80",
        f"  from {config}:2:27",
        "",
        "  said by, the lowest layer first:",
        "    the language's default  64",
        f"    {server}/mcp.yaml:2:21  70",
        f"    {config}:2:27  80",
    ]
    payload = json.loads(run_here("explain", server, "names.max_length", "--json").out)
    assert [said.get("value") for said in payload["said"]] == [64, 70, 80]
    ran = run_here("explain", server, "names.max_length", "mcp.names.max_length=90")
    assert re.search(r"\n  from .*override", ran.out)
    out = run_here("explain", server, "names.restore").out
    assert out.startswith("names.restore\n  value: true\n  from the language's default\n")
    assert run_here("explain", server, "server.title").out == "server.title\n  nothing sets it\n"


def test_the_value_of_a_tool_shows_every_key_that_is_for_it(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\ntools:\n  '*e*': {title: Any}\n  POST /greet: {title: Hi}", encoding="utf-8"
    )
    out = run_here("explain", server, "tools.greet.title").out
    assert out.splitlines()[:2] == ["tools.greet.title", '  value: "Hi"']
    assert f"\n  from {server}/mcp.yaml:4:24\n" in out
    assert f'{server}/mcp.yaml:3:18  tools.*e*.title: "Any"\n' in out
    assert f'{server}/mcp.yaml:4:24  tools."POST /greet".title: "Hi"\n' in out
    out = run_here("explain", server, "tools.greet.description").out
    assert re.search(r"\n  from \S*app\.py:\d+:1\n", out)


LAID = """\
expose_tools_over_mcp: true
mcp:
  tools:
    greet:
      title: Hello
      arguments:
        key: {value: '${oc.env:HUNTER,hunter2}'}
        salt: {hidden: true}
        city: {default: Paris}
  sessions: {allow: [{when: "who == 'hunter2'", tools: [greet]}], otherwise: none}
  routes: {exclude_add: [{match: /hunter2, optional: true}]}
"""


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ("greet", ["Hello", "Paris", "arguments.key: fixed and hidden: (set by the instance)"]),
        ("tools", ["Hello", "Paris"]),
        ("tools.greet.title", ["Hello"]),
        ("tools.greet.arguments", ["Paris"]),
        ("tools.greet.arguments.city.default", ["Paris"]),
        ("tools.greet.arguments.key.value", []),
        ("sessions", ['"otherwise": "none"']),
        ("sessions.allow", []),
        ("sessions.allow[0].when", []),
        ("routes.exclude", []),
    ],
)
def test_of_an_instance_only_what_agents_and_clients_see_is_shown(
    what: str, seen: list[str], run_here: Run, server: Path
) -> None:
    (server / "config.yaml").write_text(LAID, encoding="utf-8")
    text = run_here("explain", server, what).text
    told = run_here("explain", server, what, "--json").text
    assert "hunter2" not in text + told
    assert [part for part in seen if part not in text] == []
    assert ("(set by the instance)" in text, "(set by the instance)" in told) == ((what not in SHOWN,) * 2)


#: What agents see as a whole.
SHOWN = ("tools.greet.title", "tools.greet.arguments.city.default")


def test_a_value_that_a_later_layer_took_from_sight_is_not_shown(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text(
        "expose_tools_over_mcp: true\nmcp: {tools: {greet: {title: hunter2}}}", encoding="utf-8"
    )
    ran = run_here("explain", server, "tools.greet.title", "mcp.tools.greet.title=Hello")
    assert ran.out.startswith('tools.greet.title\n  value: "Hello"\n  from override ')
    assert ("hunter2" in ran.text, f"{server}/config.yaml:2:30  (set by the instance)" in ran.out) == (False, True)


def test_what_becomes_of_an_argument_is_told_with_its_value(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\ntools:\n  greet:\n    arguments:\n      unit: {value: metric}\n      city: {default: Paris}\n"
        "      days: {hidden: true}\n      note: {description: A note.}\n",
        encoding="utf-8",
    )
    out = run_here("explain", server, "greet").out
    for told in (
        f'arguments.unit: fixed and hidden: "metric"\n      from {server}/mcp.yaml:5:21\n',
        f'arguments.city: with a default: "Paris"\n      from {server}/mcp.yaml:6:23\n',
        f"arguments.days: hidden\n      from {server}/mcp.yaml:7:13\n",
        f"arguments.note: described\n      from {server}/mcp.yaml:8:13\n",
    ):
        assert f"    {told}" in out
    values = json.loads(run_here("explain", server, "greet", "--json").out)["values"]
    assert values["arguments.unit"] == {
        "state": "fixed and hidden",
        "value": "metric",
        "from": f"{server}/mcp.yaml:5:21",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("routes.exclude", '["/fail", "/sleep"]'),
        ("names.max_length", "64"),
        ("limits.request_bytes", "4194304"),
        ("sessions", '{"mode": "none"}'),
        ("tools.greet.only_if", '"a"'),
    ],
)
def test_a_key_has_the_value_that_comes_out(path: str, value: str, run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\nroutes: {exclude: [/fail]}\nsessions: {mode: none}\ntools: {greet: {only_if: a}}",
        encoding="utf-8",
    )
    (server / "config.yaml").write_text("expose_tools_over_mcp: true\na: true", encoding="utf-8")
    out = run_here("explain", server, path, "mcp.routes.exclude_add=[/sleep]").out
    assert out.splitlines()[:2] == [path, f"  value: {value}"]
    if path == "routes.exclude":
        assert out.splitlines()[2] == f"  from {server}/mcp.yaml:2:19; override 'mcp.routes.exclude_add'"


def test_an_added_entry_of_a_list_has_the_layer_that_added_it(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/fail]}", encoding="utf-8")
    config = server / "config.yaml"
    config.write_text("expose_tools_over_mcp: true\nmcp: {routes: {exclude_add: [/sleep]}}", encoding="utf-8")
    out = run_here("explain", server, "routes.exclude[1]").out
    assert out.splitlines() == ["routes.exclude[1]", '  value: "/sleep"', f"  from {config}:2:30"]
    assert f"  from {server}/mcp.yaml:2:20\n" in run_here("explain", server, "routes.exclude[0]").out


def test_the_keys_of_a_tool_stand_lowest_first_whatever_layer_says_them(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\ntools:\n  greet: {title: Exact}\n  'g*': {title: Glob}", encoding="utf-8"
    )
    config = server / "config.yaml"
    config.write_text("expose_tools_over_mcp: true\nmcp: {tools: {'g*': {title: Laid}}}", encoding="utf-8")
    out = run_here("explain", server, "tools.greet.title").out
    assert out.splitlines() == [
        "tools.greet.title",
        '  value: "Exact"',
        f"  from {server}/mcp.yaml:3:18",
        "",
        "  said by, the lowest layer first:",
        f'    {server}/mcp.yaml:4:17  tools.g*.title: "Glob"',
        f"    {config}:2:29  tools.g*.title: (set by the instance)",
        f'    {server}/mcp.yaml:3:18  "Exact"',
    ]


def test_each_annotation_has_the_origin_of_its_own(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\ntools:\n  greet: {annotations: {readOnlyHint: true}}\n"
        "  'g*': {annotations: {readOnlyHint: false, openWorldHint: false}}",
        encoding="utf-8",
    )
    values = json.loads(run_here("explain", server, "greet", "--json").out)["values"]
    assert values["annotations.readOnlyHint"] == {"value": True, "from": f"{server}/mcp.yaml:3:39"}
    assert values["annotations.openWorldHint"] == {"value": False, "from": f"{server}/mcp.yaml:4:60"}
    out = run_here("explain", server, "tools.greet.annotations").out
    assert '  value: {"readOnlyHint": true, "openWorldHint": false}' in out.replace(
        '{"openWorldHint": false, "readOnlyHint": true}', '{"readOnlyHint": true, "openWorldHint": false}'
    )
    out = run_here("explain", server, "tools.greet.annotations.openWorldHint").out
    assert out.splitlines()[1:3] == ["  value: false", f"  from {server}/mcp.yaml:4:60"]


# Sessions.

SEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "the first rule": (
        '{"level": "easy"}',
        {
            "decided_by": "`sessions.allow[0]`",
            "decided_at": "mcp.yaml:4:7",
            "allowed": ["greet"],
            "passed_over": [],
        },
    ),
    "a list with something denied": (
        '{"names": ["fail", "sleep"]}',
        {
            "decided_by": "`sessions.allow[1]`",
            "decided_at": "mcp.yaml:6:7",
            "allowed": ["fail"],
            "denied": ["sleep"],
            "passed_over": [{"reason": "`when` gives false", "at": "mcp.yaml:4:13"}],
        },
    ),
    "an empty list, then none": (
        '{"more": {"names": []}, "others": []}',
        {
            "decided_by": "`sessions.allow[2]`",
            "allowed": [],
            "passed_over": [
                {"reason": "`when` gives false", "at": "mcp.yaml:4:13"},
                {"reason": "`more.names` gives an empty list", "at": "mcp.yaml:6:21"},
            ],
        },
    ),
    "no rule": (
        "{}",
        {
            "decided_by": None,
            "decided_at": "mcp.yaml:11:14",
            "allowed": None,
            "passed_over": [
                {"reason": "`when` gives false", "at": "mcp.yaml:4:13"},
                {"reason": "`from` gives null", "at": "mcp.yaml:6:13"},
                {"reason": "`from` gives null", "at": "mcp.yaml:9:13"},
            ],
        },
    ),
    "an unknown tool": ('{"names": ["fial"]}', {"allowed": None, "decided_at": "mcp.yaml:6:14"}),
    "a typed seed": (
        '{"resources_session_id": "x", "task_data": {"level": "easy"}}',
        {"decided_by": "`sessions.allow[0]`"},
    ),
}


@pytest.mark.parametrize("case", SEEDS)
def test_a_seed_shows_which_rule_decides_and_why_the_others_do_not(case: str, run_here: Run, ruled: Path) -> None:
    seed, expected = SEEDS[case]
    ran = run_here("explain", ruled, "--seed", seed, "--json")
    session = json.loads(ran.out.replace(f"{ruled}/", ""))["session"]
    assert {key: session[key] for key in expected} == expected
    out = run_here("explain", ruled, "--seed", seed).out
    for passed in expected.get("passed_over", ()):
        assert f"  passed over: {passed['reason']} ({ruled}/{passed['at']})\n" in out
    if session["allowed"] is None:
        assert (
            f"refused: POST /seed_session answers 422: {session['refusal']['body']['detail']}".replace(
                "(mcp.yaml", f"({ruled}/mcp.yaml"
            )
            in out
        )
    else:
        assert f"allowed: {len(session['allowed'])} of 3 tools\n" in out


def test_the_refusal_is_the_one_that_the_server_gives(run_here: Run, ruled: Path) -> None:
    told = run_here("explain", ruled, "--seed", '{"names": ["fial"]}', "--json").out
    refusal = json.loads(told)["session"]["refusal"]
    ran = run_here("call", ruled, "--seed", '{"names": ["fial"]}')
    assert f"answered 422: {json.dumps(refusal['body'], separators=(',', ':'))}" in ran.err


def test_a_seed_comes_from_a_file_or_standard_input(run: Run, ruled: Path, tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text('{"level": "easy"}', encoding="utf-8")
    for word in (str(path), f"@{path}"):
        assert "allowed: 1 of 3 tools" in run("explain", ruled, "--seed", word).out
    assert "allowed: 1 of 3 tools" in run("explain", ruled, "--seed", "-", stdin='{"level": "easy"}').out


def test_a_tool_and_a_session_are_explained_together(run_here: Run, ruled: Path) -> None:
    out = run_here("explain", ruled, "greet", "--seed", '{"level": "easy"}').out
    assert out.startswith("greet (POST /greet): exposed\n")
    assert "\na session seeded with this body:\n" in out
    payload = json.loads(run_here("explain", ruled, "greet", "--seed", '{"level": "easy"}', "--json").out)
    assert (payload["state"], payload["session"]["allowed"]) == ("exposed", ["greet"])


def test_without_sessions_every_call_sees_every_tool(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nsessions: {mode: none}", encoding="utf-8")
    assert "every call sees every tool" in run_here("explain", server, "--seed", "{}").out


def test_keys_of_the_instance_are_known_as_such(run_here: Run, server: Path) -> None:
    ran = run_here("explain", "mcp_headers")
    assert (ran.code, "a key of the instance's block: docs/configuration.md" in ran.err) == (1, True)
    (server / "mcp.yaml").write_text("version: 1\nmcp_headers: {forward: [x]}", encoding="utf-8")
    ran = run_here("validate", server)
    assert "unknown key `mcp_headers`" in ran.out
    assert "a key of the instance's block, in its configuration" in ran.out

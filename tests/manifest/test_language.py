"""The manifest language: every key is read, everything else is refused with place, code and cure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gym_mcp_manifest import Diagnostic, Manifest, ManifestInvalid, load_manifest
from gym_mcp_manifest.manifest.keys import known_keys
from gym_mcp_manifest.manifest.loader import manifest_from_mapping

COMPLETE = """\
# yaml-language-server: $schema=../../schemas/mcp.schema.json
version: 1

server:
  title: Workplace assistant
  instructions: One paragraph with ${dollars} and {braces}.

dispatch: direct
skip_middleware: ["shop.audit.*"]

routes:
  include: ["/**", "GET /items/*", {match: "/maybe", optional: true}]
  exclude: ["/end_session", {match: "/debug_*", optional: true}]
  unlisted: error
  naming: function

catch_all:
  - route: "/{path}"
    dispatch: direct
    optional: true
    tools:
      - file: data/tools.json
        except: ["*rollouts*"]
        select: "tools[]"
        include: ["email_*"]
        exclude: [email_purge]
        on_conflict: first
        optional: true
      - file: [data/more.jsonl, "data/*.yaml"]
      - name: lookup
        description: Look a term up.
        input_schema: {type: object, properties: {term: {type: string}}}
      - name: anything
  - route: "/traps/{name}"
    ignore: true

tools:
  get_weather:
    name: weather
    title: Weather
    description: Overrides.
    input_schema: data/weather.schema.json
    output_schema: false
    annotations:
      title: Weather!
      readOnlyHint: true
      destructiveHint: false
      idempotentHint: true
      openWorldHint: false
    dispatch: direct
    optional: true
  "GET /items/{id}":
    input_schema: {type: object}

sessions:
  mode: token
  allow:
    - when: "verifier_metadata.level == 'easy'"
      tools: ["get_*"]
    - from:
        - responses_create_params.tools[].name
        - verifier_metadata.allowed_tools
      empty: none
      deny: ["debug_*"]
      optional: true
    - from: names
  otherwise: all
  unknown: ignore
  max_age: null

names:
  normalize: true
  agents: [claude_code, codex]
  patterns: ["custom.{server}.{tool}"]
  max_length: 50
  restore: false

limits:
  call_timeout: null
  result_bytes: null
  request_bytes: 1024
  calls_per_session: null

x-owner: {any: [thing, null]}
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Manifest]:
    """Reads a manifest from a file, as users do."""

    def read_(text: str) -> Manifest:
        path = tmp_path / "mcp.yaml"
        path.write_text(text, encoding="utf-8")
        return load_manifest(path)

    return read_


@pytest.fixture
def findings(read: Callable[[str], Manifest]) -> Callable[[str], tuple[Diagnostic, ...]]:
    """What is wrong with a manifest, `version: 1` prefixed."""

    def findings_(body: str) -> tuple[Diagnostic, ...]:
        with pytest.raises(ManifestInvalid) as caught:
            read(f"version: 1\n{body}\n")
        return caught.value.diagnostics

    return findings_


def places(found: tuple[Diagnostic, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(d.code, d.line, d.column) for d in found]


def words(text: str) -> list[str]:
    return text.split()


# What is read.


def test_a_manifest_with_every_key_is_read_into_its_records(read: Callable[[str], Manifest]) -> None:
    language = read(COMPLETE).language
    assert language.server.title == "Workplace assistant"
    assert language.server.instructions == "One paragraph with ${dollars} and {braces}."
    assert language.skip_middleware == ("shop.audit.*",)
    assert [(e.match.method, e.match.path, e.optional) for e in language.routes.include] == [
        ("POST", "/**", False),
        ("GET", "/items/*", False),
        ("POST", "/maybe", True),
    ]
    assert [(str(e.match), e.optional) for e in language.routes.exclude] == [
        ("/end_session", False),
        ("/debug_*", True),
    ]
    assert (language.routes.unlisted, language.routes.naming) == ("error", "function")

    dispatcher, trap = language.catch_all
    assert (dispatcher.route, dispatcher.optional, dispatcher.dispatch) == ("/{path}", True, "direct")
    assert (trap.route, trap.ignore, trap.tools) == ("/traps/{name}", True, ())
    assert str(dispatcher.tools[0].select) == "tools[]"  # type: ignore[union-attr]
    first, second, inline, bare = (source.model_dump(exclude={"select"}) for source in dispatcher.tools)
    assert first == {
        "file": ("data/tools.json",),
        "exclude_files": ("*rollouts*",),
        "include": ("email_*",),
        "exclude": ("email_purge",),
        "on_conflict": "first",
        "optional": True,
    }
    assert second["file"] == ("data/more.jsonl", "data/*.yaml")
    assert (second["include"], second["exclude"], second["on_conflict"]) == (("*",), (), "error")
    assert inline["input_schema"] == {"type": "object", "properties": {"term": {"type": "string"}}}
    assert bare["input_schema"] == {"type": "object", "additionalProperties": True}

    weather, item = language.tools["get_weather"], language.tools["GET /items/{id}"]
    assert (weather.name, weather.title, weather.description) == ("weather", "Weather", "Overrides.")
    assert weather.input_schema == "data/weather.schema.json"
    assert item.input_schema == {"type": "object"}
    assert weather.annotations is not None
    assert weather.annotations.model_dump() == {
        "title": "Weather!",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    easy, named, last = language.sessions.allow
    assert (str(easy.when), easy.tools, easy.source) == ("verifier_metadata.level == 'easy'", ("get_*",), None)
    assert named.source is not None
    assert [str(e) for e in named.source] == [
        "responses_create_params.tools[].name",
        "verifier_metadata.allowed_tools",
    ]
    assert (named.empty, named.deny, named.optional) == ("none", ("debug_*",), True)
    assert last.source is not None
    assert [str(e) for e in last.source] == ["names"]
    assert (language.sessions.otherwise, language.sessions.unknown) == ("all", "ignore")
    assert language.names.model_dump() == {
        "normalize": True,
        "agents": ("claude_code", "codex"),
        "patterns": ("custom.{server}.{tool}",),
        "max_length": 50,
        "restore": False,
    }
    assert language.limits.request_bytes == 1024


def test_a_manifest_of_nothing_but_its_version_has_the_documented_defaults(
    read: Callable[[str], Manifest],
) -> None:
    language = read("version: 1\n").language
    assert [str(entry.match) for entry in language.routes.include] == ["/**"]
    assert (language.routes.exclude, language.routes.unlisted, language.routes.naming) == ((), "ignore", "path")
    assert (language.dispatch, language.skip_middleware) == ("direct", ())
    assert (language.catch_all, language.tools) == ((), {})
    sessions = language.sessions
    assert (sessions.mode, sessions.allow, sessions.otherwise, sessions.unknown) == ("token", (), None, "error")
    assert (language.names.normalize, language.names.restore, language.names.max_length) == (True, True, 64)
    assert {"claude_code", "codex", "openclaw", "hermes", "opencode"} <= set(language.names.agents)
    assert language.limits.request_bytes == 4194304


def test_a_manifest_and_its_records_are_frozen(read: Callable[[str], Manifest]) -> None:
    manifest = read(COMPLETE)
    with pytest.raises(AttributeError):
        manifest.folder = None  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        manifest.language.routes.naming = "path"


def test_a_manifest_knows_the_folder_of_its_data(read: Callable[[str], Manifest], tmp_path: Path) -> None:
    assert read("version: 1\n").folder == tmp_path


def test_a_mapping_reads_like_the_file_and_has_no_places(read: Callable[[str], Manifest]) -> None:
    mapping = manifest_from_mapping(yaml.safe_load(COMPLETE))
    assert mapping.language == read(COMPLETE).language
    with pytest.raises(ManifestInvalid) as caught:
        manifest_from_mapping({"version": 1, "routes": {"exclud": []}})
    (found,) = caught.value.diagnostics
    assert (found.code, found.file, found.line, found.column) == ("GMM201", None, None, None)


@pytest.mark.parametrize("data", [{1: 2, "version": 1}, {"version": 1, "server": {2: "x"}}])
def test_a_mapping_with_keys_that_are_no_strings_is_refused(data: dict[Any, Any]) -> None:
    with pytest.raises(ManifestInvalid):
        manifest_from_mapping(data)


# The design's own example, key by key. What a later release brings is refused by name.

WORKS = words(
    """
version server server.title server.instructions dispatch skip_middleware
routes routes.include routes.exclude routes.unlisted routes.naming routes.specs
routes.specs.0.file routes.specs.0.python routes.specs.0.name routes.specs.0.unmatched routes.specs.0.select
catch_all.0.tools.0.python catch_all.0.tools.0.args catch_all.0.tools.0.kwargs
tools.t.only_if tools.t.arguments tools.t.arguments.a.description tools.t.arguments.a.default
tools.t.arguments.a.value tools.t.arguments.a.hidden
routes.exclude.0.match routes.exclude.0.optional
catch_all catch_all.0.route catch_all.0.dispatch catch_all.0.tools catch_all.0.ignore catch_all.0.optional
catch_all.0.tools.0.file catch_all.0.tools.0.select catch_all.0.tools.0.include catch_all.0.tools.0.exclude
catch_all.0.tools.0.on_conflict catch_all.0.tools.0.except catch_all.0.tools.0.optional
catch_all.0.tools.0.name catch_all.0.tools.0.description catch_all.0.tools.0.input_schema
tools tools.t.name tools.t.title tools.t.description tools.t.input_schema tools.t.output_schema
tools.t.annotations tools.t.annotations.readOnlyHint tools.t.dispatch tools.t.optional
sessions sessions.mode sessions.allow sessions.otherwise sessions.unknown sessions.max_age
sessions.allow.0.when sessions.allow.0.tools sessions.allow.0.from sessions.allow.0.empty sessions.allow.0.deny
sessions.allow.0.optional
names names.normalize names.agents names.patterns names.max_length names.restore
limits limits.call_timeout limits.result_bytes limits.request_bytes limits.calls_per_session
"""
)

#: Manifest text, and where the refused key stands.
LATER: dict[str, tuple[str, tuple[int, int]]] = {
    "session": ("catch_all: [{tools: [{session: params.tools}]}]", (2, 23)),
    "missing": ("catch_all: [{tools: [{session: params.tools, missing: none}]}]", (2, 23)),
    "preview": ("catch_all: [{tools: [{session: a, preview: {file: data/example.jsonl}}]}]", (2, 23)),
    "arguments.bind": ("tools: {t: {arguments: {city: {bind: env_id}}}}", (2, 32)),
    "overlay.session": ("routes: {specs: [{session: params.tools}]}", (2, 19)),
    "bind": ("sessions: {bind: {env_id: response.env_id}}", (2, 12)),
    "max_age": ("sessions: {max_age: 60}", (2, 12)),
    "calls_per_session": ("limits: {calls_per_session: 3}", (2, 10)),
}


@pytest.mark.parametrize("key", WORKS)
def test_every_key_of_the_design_is_known(key: str) -> None:
    *parents, name = (int(step) if step.isdigit() else step for step in key.split("."))
    assert name in known_keys(tuple(parents))


@pytest.mark.parametrize("case", LATER)
def test_what_a_later_release_brings_is_refused_by_name(
    findings: Callable[[str], tuple[Diagnostic, ...]], case: str
) -> None:
    body, place = LATER[case]
    found = findings(body)
    assert {d.code for d in found} == {"GMM206"}
    assert (found[0].line, found[0].column) == place
    assert any(f"{case.split('.')[-1].split()[0]}: " in d.message for d in found)
    assert all(d.hint for d in found)


# Unknown keys.

MISSPELT = {
    "routs": ("routs: {}", (2, 1), "routes"),
    "server": ("server: {titel: x}", (2, 10), "title"),
    "routes": ("routes:\n  exclud: []", (3, 3), "exclude"),
    "route entry": ("routes: {include: [{match: /a, optionl: true}]}", (2, 32), "optional"),
    "catch_all": ("catch_all: [{rout: '/{a}', tools: [{name: a}]}]", (2, 14), "route"),
    "overlay": ("routes: {specs: [{file: a.json, unmatchd: error}]}", (2, 33), "unmatched"),
    "python source": ("catch_all: [{tools: [{python: 'a:b', arg: [1]}]}]", (2, 38), "args"),
    "argument": ("tools: {t: {arguments: {a: {defualt: 1}}}}", (2, 29), "default"),
    "file source": ("catch_all: [{tools: [{file: a.json, selct: a}]}]", (2, 37), "select"),
    "inline source": ("catch_all: [{tools: [{name: a, descripton: a}]}]", (2, 32), "description"),
    "tool": ("tools: {t: {titel: x}}", (2, 13), "title"),
    "annotations": ("tools: {t: {annotations: {readonlyHint: true}}}", (2, 27), "readOnlyHint"),
    "sessions": ("sessions: {alow: []}", (2, 12), "allow"),
    "rule": ("sessions: {otherwise: all, allow: [{form: a, deny: [b]}]}", (2, 37), "from"),
    "names": ("names: {agent: []}", (2, 9), "agents"),
    "limits": ("limits: {request_byte: 3}", (2, 10), "request_bytes"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_an_unknown_key_is_named_with_its_place_and_the_nearest_key(
    findings: Callable[[str], tuple[Diagnostic, ...]], case: str
) -> None:
    body, place, meant = MISSPELT[case]
    (found,) = findings(body)
    assert (found.code, found.line, found.column) == ("GMM201", *place)
    assert f"did you mean `{meant}`?" in str(found.hint)
    assert "x-" in str(found.hint)


def test_an_unknown_key_that_resembles_none_lists_what_is_known(
    findings: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    (found,) = findings("server: {zzz: 1}")
    assert "title, instructions" in str(found.hint)


def test_the_alias_is_the_key_and_the_record_name_is_not(
    findings: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    rule, source = findings(
        "sessions: {otherwise: all, allow: [{source: a, deny: [b]}]}\n"
        "catch_all: [{tools: [{file: a, exclude_files: [b]}]}]"
    )
    assert (rule.code, source.code) == ("GMM201", "GMM201")


@pytest.mark.parametrize(
    "body",
    [
        "x-a: 1",
        "server: {x-a: null}",
        "routes: {x-a: 1, include: [{match: /a, x-b: 2}]}",
        "catch_all: [{x-a: 1, tools: [{name: a, x-b: 1}, {file: a.json, x-c: 1}]}]",
        "tools: {t: {x-a: 1, annotations: {x-b: 1}}}",
        "sessions: {x-a: 1, otherwise: all, allow: [{x-b: 1, when: a, tools: [b]}]}",
        "names: {x-a: 1}",
        "limits: {x-a: {x: [1]}}",
    ],
)
def test_keys_of_the_user_are_free_everywhere(read: Callable[[str], Manifest], body: str) -> None:
    assert read(f"version: 1\n{body}\n")


# Values.

EMPTY = words("""
server server.title server.instructions dispatch skip_middleware routes routes.include routes.exclude
routes.unlisted routes.naming catch_all tools tools.t tools.t.name tools.t.description tools.t.input_schema
tools.t.annotations tools.t.annotations.readOnlyHint tools.t.optional sessions sessions.mode sessions.allow
sessions.otherwise names names.agents names.max_length limits limits.request_bytes
""")


@pytest.mark.parametrize("key", EMPTY)
def test_a_key_without_a_value_is_an_error_at_the_key(
    findings: Callable[[str], tuple[Diagnostic, ...]], key: str
) -> None:
    steps = key.split(".")
    lines = [f"{'  ' * depth}{step}:" for depth, step in enumerate(steps)]
    (found,) = findings("\n".join(lines))
    assert (found.code, found.line, found.column) == ("GMM204", len(steps) + 1, 2 * len(steps) - 1)
    assert f"`{key}` has no value" in found.message
    assert "{} or []" in str(found.hint)


@pytest.mark.parametrize(
    ("body", "column"),
    [
        ("catch_all: [{tools: [null]}]", 22),
        ("catch_all: [{tools: [{file: }]}]", 23),
        ("catch_all: [{tools: [{name: }]}]", 23),
        ("catch_all: [{route: , tools: [{name: a}]}]", 14),
        ("routes: {include: [null]}", 20),
        ("sessions: {otherwise: all, allow: [{from: }]}", 37),
        ("sessions: {otherwise: all, allow: [{when: , tools: [a]}]}", 37),
    ],
)
def test_null_within_a_list_is_an_error_too(
    findings: Callable[[str], tuple[Diagnostic, ...]], body: str, column: int
) -> None:
    (found,) = findings(body)
    assert (found.code, found.line, found.column) == ("GMM204", 2, column)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "GMM202", "version"),
        ("# nothing\n", "GMM202", "version"),
        ("server: {title: x}", "GMM202", "version"),
        ("version:", "GMM204", "version"),
        ("version: 2", "GMM205", "newer"),
        ("version: 0", "GMM203", "1"),
        ("version: -1", "GMM203", "1"),
        ("version: '1'", "GMM203", "unquoted"),
        ("version: 1.0", "GMM203", "unquoted"),
        ("version: true", "GMM203", "unquoted"),
        ("- version: 1", "GMM203", "mapping"),
        ("words", "GMM203", "mapping"),
    ],
)
def test_the_version_is_the_number_one(read: Callable[[str], Manifest], text: str, code: str, says: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        read(text)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert says in found.message
    assert found.line == 1


WRONG = {
    "a mapping": ("server: text", "`server`: expected a mapping, found the text `text`", (2, 9)),
    "a list": ("routes: {include: /a}", "expected a list", (2, 19)),
    "a list of texts": ("skip_middleware: [1]", "expected a text, found the number `1`", (2, 19)),
    "a text": ("server: {title: 3}", "expected a text", (2, 17)),
    "a flag": ("names: {normalize: 'true'}", "expected true or false, found the text `true`", (2, 20)),
    "a number": ("limits: {request_bytes: 1.5}", "expected a whole number", (2, 25)),
    "a number, not a flag": ("limits: {request_bytes: true}", "found the truth value `true`", (2, 25)),
    "a positive number": ("names: {max_length: 0}", "expected at least 1", (2, 21)),
    "a choice": ("routes: {unlisted: erorr}", "expected 'ignore' or 'error'", (2, 20)),
    "an agent": ("names: {agents: [codex, codx]}", "found the text `codx`", (2, 25)),
    "a name pattern": ("names: {patterns: [a, '{tool}']}", "expected {tool} once", (2, 20)),
    "a source": ("catch_all: [{tools: [data.json]}]", "is no source of tools", (2, 22)),
    "some files": ("catch_all: [{tools: [{file: []}]}]", "expected at least one entry", (2, 29)),
    "an inline schema": ("catch_all: [{tools: [{name: a, input_schema: b}]}]", "expected a mapping", (2, 46)),
    "a schema or file": ("tools: {t: {input_schema: [1]}}", "(a mapping) or the name of a file", (2, 27)),
    "a route": ("routes: {exclude: [3]}", "a route pattern, or a mapping with `match`", (2, 20)),
    "a matching route": ("routes: {exclude: [{match: 3}]}", "`routes.exclude[0].match`: expected a text", (2, 28)),
    "an expression": ("sessions: {otherwise: all, allow: [{when: 3, tools: [a]}]}", "expected a text", (2, 43)),
    "expressions": ("sessions: {otherwise: all, allow: [{from: [a, 3]}]}", "from[1]`: expected a text", (2, 47)),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_of_the_wrong_kind_says_what_is_expected_and_what_was_found(
    findings: Callable[[str], tuple[Diagnostic, ...]], case: str
) -> None:
    body, says, place = WRONG[case]
    (found,) = findings(body)
    assert says in found.message
    assert (found.line, found.column) == place
    assert "{{" not in found.message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("names: {restore: yes}", "expected true or false, found the text `yes`"),
        ("names: {restore: off}", "expected true or false, found the text `off`"),
        ("limits: {request_bytes: 1_000}", "expected a whole number, found the text `1_000`"),
    ],
)
def test_yaml_1_2_decides_what_a_plain_value_is(
    findings: Callable[[str], tuple[Diagnostic, ...]], body: str, says: str
) -> None:
    errors = [d for d in findings(body) if d.severity == "error"]
    assert [says in d.message for d in errors] == [True]


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("routes: {unlisted: erorr}", "error"),
        ("routes: {naming: funktion}", "function"),
        ("names: {agents: [claud_code]}", "claude_code"),
        ("sessions: {mode: tokens}", "token"),
        ("catch_all: [{tools: [{fil: data.json}]}]", "file"),
    ],
)
def test_a_misspelt_choice_is_told_the_nearest(
    findings: Callable[[str], tuple[Diagnostic, ...]], body: str, meant: str
) -> None:
    (found,) = findings(body)
    assert f"did you mean `{meant}`?" in str(found.hint)


def test_a_missing_key_names_its_mapping(findings: Callable[[str], tuple[Diagnostic, ...]]) -> None:
    (found,) = findings("routes: {include: [{optional: true}]}")
    assert (found.code, found.line, found.column) == ("GMM202", 2, 20)
    assert found.message == "`routes.include[0]` lacks the key `match`"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{file: a.json, name: b}", "`name` does not go with `file`"),
        ("{name: b, select: a}", "`select` does not go with `name`"),
        ("{name: b, except: [a]}", "`except` does not go with `name`"),
        ("{file: a.json, description: b}", "`description` does not go with `file`"),
    ],
)
def test_a_key_of_another_kind_of_source_is_no_unknown_key(
    findings: Callable[[str], tuple[Diagnostic, ...]], source: str, message: str
) -> None:
    (found,) = findings(f"catch_all: [{{tools: [{source}]}}]")
    assert found.code == "GMM301"
    assert message in found.message
    assert "did you mean" not in str(found.hint)


# Patterns and expressions.


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("a", "write '/a'"),
        ("", "the path is empty"),
        ("GET ", "the path is empty"),
        ("post /a", "write 'POST'"),
        ("FETCH /a", "not an HTTP method"),
        ("/a b", "not an HTTP method"),
        ("GET /a b", "no white space"),
        ("POST a", "write '/a'"),
    ],
)
@pytest.mark.parametrize("where", ["include", "exclude"])
def test_a_malformed_route_pattern_is_refused(
    findings: Callable[[str], tuple[Diagnostic, ...]], where: str, pattern: str, says: str
) -> None:
    (found,) = findings(f"routes:\n  {where}:\n    - '{pattern}'")
    assert (found.code, found.line, found.column) == ("GMM207", 4, 7)
    assert says in found.message


@pytest.mark.parametrize(
    ("pattern", "method", "path", "covered"),
    [
        ("/a", "POST", "/a", True),
        ("/a", "GET", "/a", False),
        ("GET /a", "GET", "/a", True),
        ("GET  /a", "GET", "/a", True),
        ("/*", "POST", "/a", True),
        ("/*", "POST", "/a/b", False),
        ("/**", "POST", "/a/b", True),
        ("/**", "POST", "/", True),
        ("/a/**", "POST", "/a", False),
        ("/a*", "POST", "/a", True),
        ("/a*c", "POST", "/abc", True),
        ("/a*c", "POST", "/ab/c", False),
        ("/{x}", "POST", "/{x}", True),
        ("/{x}", "POST", "/y", False),
        ("/a.b", "POST", "/aXb", False),
        ("/a+", "POST", "/aa", False),
        ("/[ab]", "POST", "/a", False),
        ("/A", "POST", "/a", False),
        ("DELETE /items/*", "DELETE", "/items/{id}", True),
    ],
)
def test_a_route_pattern_covers(
    read: Callable[[str], Manifest], pattern: str, method: str, path: str, covered: bool
) -> None:
    (entry,) = read(f"version: 1\nroutes: {{include: ['{pattern}']}}").language.routes.include
    assert entry.match.matches(method, path) is covered


@pytest.mark.parametrize("broken", ["a[", "a.", "[?a ==", "a | ", "nope(@)x", "(" * 2000])
@pytest.mark.parametrize(
    "body",
    [
        "sessions: {{otherwise: all, allow: [{{when: '{}', tools: [a]}}]}}",
        "sessions: {{otherwise: all, allow: [{{from: '{}'}}]}}",
        "catch_all: [{{tools: [{{file: a.json, select: '{}'}}]}}]",
    ],
)
def test_a_broken_expression_is_found_when_it_is_read(
    findings: Callable[[str], tuple[Diagnostic, ...]], body: str, broken: str
) -> None:
    (found,) = findings(body.format(broken))
    assert found.code == "GMM208"
    assert found.line == 2
    assert found.message.startswith(f"`{broken[:50]}")


def test_a_literal_that_is_no_json_is_text_as_jmespath_has_it(read: Callable[[str], Manifest]) -> None:
    (rule,) = read(
        "version: 1\nsessions: {otherwise: all, allow: [{when: 'level == `easy`', tools: [a]}]}"
    ).language.sessions.allow
    assert rule.when is not None
    assert rule.when.holds({"level": "easy"})
    assert not rule.when.holds({"level": "hard"})


# Across keys.

CROSS = {
    "trap without a route": ("catch_all: [{ignore: true}]", [("GMM202", 2, 13)]),
    "trap with tools": ("catch_all: [{ignore: true, route: '/{x}', tools: [{name: a}]}]", [("GMM301", 2, 43)]),
    "trap with no tools": ("catch_all: [{ignore: true, route: '/{x}', tools: []}]", [("GMM301", 2, 43)]),
    "no tools": ("catch_all: [{route: '/{x}'}]", [("GMM202", 2, 13)]),
    "plain catch-all": ("catch_all: [{route: /a, tools: [{name: a}]}]", [("GMM207", 2, 14)]),
    "tools and from": ("sessions: {otherwise: all, allow: [{tools: [a], from: b}]}", [("GMM301", 2, 36)]),
    "an empty rule": ("sessions: {otherwise: all, allow: [{when: a}]}", [("GMM202", 2, 36)]),
    "empty without from": ("sessions: {allow: [{tools: [a], empty: none}]}", [("GMM302", 2, 33)]),
    "no otherwise": ("sessions: {allow: [{from: a}]}", [("GMM303", 2, 12)]),
    "no otherwise with when": ("sessions: {allow: [{when: a, tools: [b]}]}", [("GMM303", 2, 12)]),
    "idle otherwise": ("sessions: {allow: [{tools: [b]}], otherwise: all}", [("GMM302", 2, 35)]),
    "unreachable rule": ("sessions: {allow: [{tools: [b]}, {tools: [c]}]}", [("GMM302", 2, 34)]),
    "deny alone decides": ("sessions: {allow: [{deny: [b]}, {from: c}]}", [("GMM302", 2, 33)]),
    "no tokens": ("sessions: {mode: none, allow: [], unknown: error}", [("GMM302", 2, 24), ("GMM302", 2, 35)]),
    "names without tokens": ("sessions: {mode: none}\nnames: {max_length: 3}", [("GMM302", 3, 1)]),
    "idle names": (
        "names: {normalize: false, agents: [codex], patterns: [], restore: true}",
        [("GMM302", 2, 27), ("GMM302", 2, 44), ("GMM302", 2, 58)],
    ),
}


@pytest.mark.parametrize("case", CROSS)
def test_keys_that_contradict_or_do_nothing_are_refused(
    findings: Callable[[str], tuple[Diagnostic, ...]], case: str
) -> None:
    body, expected = CROSS[case]
    found = findings(body)
    assert places(found) == expected
    assert all(d.hint for d in found)


@pytest.mark.parametrize(
    "body",
    [
        "sessions: {allow: [{when: a, tools: [b]}, {deny: [c]}]}",
        "sessions: {allow: [{tools: []}]}",
        "sessions: {allow: [{from: a, empty: none}], otherwise: error}",
        "sessions: {otherwise: none}",
        "sessions: {mode: none}",
        "names: {normalize: false}",
        "names: {normalize: false, max_length: 30}",
        "routes: {include: []}",
        "server: {}",
        "tools: {t: {}}",
    ],
)
def test_what_has_an_effect_is_legal(read: Callable[[str], Manifest], body: str) -> None:
    assert read(f"version: 1\n{body}\n")


# All at once.


def test_all_faults_are_reported_at_once_and_in_their_order(
    findings: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    found = findings(
        "limits: {request_bytes: 0, request_byte: 1}\n"
        "routes:\n  include: [a, /ok, 3]\n  naming:\n"
        "dispatch: rout\n"
        "sessions:\n  allow:\n    - {when: 'a[', tools: b}"
    )
    assert places(found) == [
        ("GMM203", 2, 25),
        ("GMM201", 2, 28),
        ("GMM207", 4, 13),
        ("GMM203", 4, 21),
        ("GMM204", 5, 3),
        ("GMM203", 6, 11),
        ("GMM208", 9, 14),
        ("GMM203", 9, 27),
    ]


def test_faults_of_the_text_and_of_the_shape_come_together(
    findings: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    found = findings("server: {title: a, title: b, titel: c}\n1: x")
    assert [d.code for d in found] == ["GMM106", "GMM201", "GMM108"]


def test_an_error_shows_every_finding_with_place_code_and_help(read: Callable[[str], Manifest]) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        read("version: 1\nrouts: {}\nlimits: 3\n")
    text = str(caught.value)
    assert re.search(r"mcp\.yaml:2:1: error\[GMM201\] unknown key `routs` in the manifest\n  help: did you", text)
    assert re.search(r"mcp\.yaml:3:9: error\[GMM203\] `limits`: expected a mapping", text)


@pytest.mark.parametrize("case", [*MISSPELT, *WRONG, *CROSS])
def test_every_finding_has_a_place_in_the_file(
    findings: Callable[[str], tuple[Diagnostic, ...]], case: str
) -> None:
    body = (MISSPELT.get(case) or WRONG.get(case) or CROSS[case])[0]
    assert all(d.line and d.column and str(d.file).endswith("mcp.yaml") for d in findings(body))


def shrunk(data: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The complete manifest with one value at a time put upside down."""
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        if step == "x-owner":
            continue
        # Schemas are the user's own, and judged elsewhere.
        is_schema = step in ("input_schema", "output_schema")
        yield (step,), [None] if isinstance(value, dict) or is_schema else {"zzz": 1}
        for path, wrong in shrunk(value) if not is_schema else ():
            yield (step, *path), wrong


@pytest.mark.parametrize(
    ("path", "wrong"),
    list(shrunk(yaml.safe_load(COMPLETE))),
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_any_value_turned_upside_down_is_refused_without_a_crash(path: tuple[Any, ...], wrong: Any) -> None:
    data = yaml.safe_load(COMPLETE)
    holder = data
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = wrong
    with pytest.raises(ManifestInvalid):
        manifest_from_mapping(data)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("names: {max_length: 064}", "GMM115"),
        ("server: {title: !!x []}", "GMM109"),
        ("tools: {a: {annotations: *nobody}}", "GMM111"),
    ],
)
def test_a_value_that_cannot_be_read_is_one_finding(
    findings: Callable[[str], tuple[Diagnostic, ...]], body: str, code: str
) -> None:
    assert [found.code for found in findings(body)] == [code]

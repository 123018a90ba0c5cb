"""The committed JSON Schema: what editors and pre-commit say is what the models say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator

from gym_mcp_manifest import ManifestInvalid
from gym_mcp_manifest.manifest.loader import manifest_from_mapping
from gym_mcp_manifest.manifest.schema import language_schema

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "mcp.schema.json").read_text(encoding="utf-8"))
VALIDATORS = {"2020-12": Draft202012Validator(SCHEMA), "draft-07": Draft7Validator(SCHEMA)}

GOOD = """
{}
server: {}
server: {title: a, instructions: b}
dispatch: direct
dispatch: route
dispatch: app
skip_middleware: []
skip_middleware: [a.*, b]
routes: {}
routes: {include: []}
routes: {include: ["/**", "GET /a"], exclude: [{match: /a}, {match: /b, optional: true}]}
routes: {unlisted: error, naming: function}
catch_all: []
catch_all: [{tools: [{name: a}]}]
catch_all: [{route: "/{a}", dispatch: direct, optional: true, tools: [{name: a, description: b}]}]
catch_all: [{route: "/{a}", ignore: true}]
catch_all: [{tools: [{file: a.json}]}]
catch_all: [{tools: [{file: [a.json, "b/*.json"], except: [c], select: "tools[]", include: [a], exclude: []}]}]
catch_all: [{tools: [{file: a.json, on_conflict: first, optional: true}, {name: a}]}]
catch_all: [{tools: [{name: a, input_schema: {type: object, properties: {b: null}}}]}]
tools: {}
tools: {a: {}, "GET /b": {optional: true}}
tools: {a: {name: b, title: c, description: d, input_schema: e.json, output_schema: false}}
tools: {a: {input_schema: {}, annotations: {title: b, readOnlyHint: true, openWorldHint: false}}}
sessions: {}
sessions: {mode: none}
sessions: {mode: token, unknown: ignore, otherwise: error, max_age: null}
sessions: {otherwise: all, allow: [{when: a, tools: [b]}, {from: c}, {from: [d, e], empty: none, deny: [f]}]}
sessions: {otherwise: all, allow: [{when: a, deny: [b], optional: true}]}
names: {}
names: {normalize: false, max_length: 1}
names: {agents: [claude_code, pi], patterns: ["{server}_{tool}"], restore: false}
limits: {request_bytes: 1, call_timeout: null, result_bytes: null, calls_per_session: null}
routes: {specs: []}
routes: {specs: [{file: a.json, unmatched: ignore}, {name: b, description: c}, {python: "a:b", select: "c[]"}]}
catch_all: [{tools: [{python: "a.b:c.d", args: [1, null], kwargs: {e: 1}, include: [f], optional: true}]}]
tools: {a: {output_schema: true}}
tools: {a: {output_schema: {type: array}}, b: {output_schema: c.json}}
tools: {a: {arguments: {}}}
tools: {a: {arguments: {b: {default: null}, c: {value: null}, d: {hidden: true}, e: {description: f}}}}
tools: {a: {only_if: b}}
x-a: {b: [null]}
server: {x-a: null}
catch_all: [{x-a: 1, tools: [{x-b: 1, name: a}]}]
""".strip().splitlines()

BAD = """
version: 2
version: "1"
version: null
version: true
serve: {}
server:
server: a
server: []
server: {title: 1}
server: {title: null}
server: {titel: a}
dispatch: rout
dispatch: null
skip_middleware: a
skip_middleware: [1]
skip_middleware: null
routes: {include: /a}
routes: {include: [1]}
routes: {include: [null]}
routes: {include: [{}]}
routes: {include: [{match: 1}]}
routes: {include: [{match: /a, optional: "true"}]}
routes: {include: [{match: /a, x: 1}]}
routes: {unlisted: warn}
routes: {specs: null}
routes: {specs: [{file: a.json, unmatched: warn}]}
routes: {specs: [{file: a.json, args: [1]}]}
routes: {specs: [{session: a}]}
catch_all: [{tools: [{file: a.json, unmatched: ignore}]}]
catch_all: [{tools: [{python: 1}]}]
catch_all: [{tools: [{python: "a:b", args: {}}]}]
tools: {a: {output_schema: null}}
tools: {a: {output_schema: []}}
tools: {a: {arguments: {b: 1}}}
tools: {a: {arguments: {b: {bind: c}}}}
tools: {a: {arguments: {b: {hidden: null}}}}
tools: {a: {only_if: null}}
catch_all: {}
catch_all: [a]
catch_all: [{route: 1, tools: [{name: a}]}]
catch_all: [{tools: [a.json]}]
catch_all: [{tools: [{}]}]
catch_all: [{tools: [{nam: a}]}]
catch_all: [{tools: [{name: ""}]}]
catch_all: [{tools: [{name: a, file: b}]}]
catch_all: [{tools: [{name: a, select: b}]}]
catch_all: [{tools: [{file: []}]}]
catch_all: [{tools: [{file: [1]}]}]
catch_all: [{tools: [{file: a, on_conflict: last}]}]
catch_all: [{tools: [{session: a, missing: none}]}]
catch_all: [{tools: [{name: a, input_schema: b}]}]
tools: []
tools: {a: null}
tools: {a: {name: 1}}
tools: {a: {input_schema: null}}
tools: {a: {input_schema: []}}
tools: {a: {annotations: {readOnlyHint: 1}}}
sessions: {mode: cookie}
sessions: {otherwise: null}
sessions: {otherwise: some}
sessions: {bind: {}}
sessions: {max_age: 60}
sessions: {otherwise: all, allow: {}}
sessions: {otherwise: all, allow: [{from: []}]}
sessions: {otherwise: all, allow: [{from: 1}]}
sessions: {otherwise: all, allow: [{tools: a}]}
sessions: {otherwise: all, allow: [{from: a, empty: all}]}
names: {max_length: 0}
names: {max_length: 1.5}
names: {agents: [me]}
names: {normalize: 1}
limits: {request_bytes: 0}
limits: {request_bytes: "1"}
limits: {call_timeout: 0}
""".strip().splitlines()

#: What a shape cannot say, with the reason; the models refuse it, the schema lets it pass.
BEYOND_SHAPES = {
    "routes: {include: [a]}": "the grammar of patterns",
    'catch_all: [{tools: [{file: a, select: "b["}]}]': "the grammar of expressions",
    "names: {patterns: [a]}": "the grammar of name patterns",
    "catch_all: [{route: /a, tools: [{name: a}]}]": "a path with a parameter",
    "catch_all: [{ignore: true}]": "across keys",
    "catch_all: [{}]": "across keys",
    "sessions: {allow: [{from: a}]}": "across keys",
    "sessions: {otherwise: all, allow: [{tools: [a], from: b}]}": "across keys",
    "sessions: {mode: none, otherwise: all}": "across keys",
    "names: {normalize: false, restore: true}": "across keys",
    "version: 1.0": "JSON has one kind of number, so 1.0 is 1",
    "names: {max_length: 64.0}": "JSON has one kind of number, so 64.0 is a whole number",
}


def data(line: str) -> dict[str, Any]:
    return {"version": 1, **yaml.safe_load(line)}


@pytest.mark.parametrize("draft", VALIDATORS)
@pytest.mark.parametrize("line", GOOD)
def test_what_the_models_read_the_schema_accepts(line: str, draft: str) -> None:
    manifest_from_mapping(data(line))
    assert [error.message for error in VALIDATORS[draft].iter_errors(data(line))] == []


@pytest.mark.parametrize("draft", VALIDATORS)
@pytest.mark.parametrize("line", BAD)
def test_what_the_models_refuse_the_schema_refuses(line: str, draft: str) -> None:
    with pytest.raises(ManifestInvalid):
        manifest_from_mapping(data(line))
    assert not VALIDATORS[draft].is_valid(data(line))


@pytest.mark.parametrize("draft", VALIDATORS)
@pytest.mark.parametrize("line", BEYOND_SHAPES)
def test_what_no_shape_can_say_is_known(line: str, draft: str) -> None:
    with pytest.raises(ManifestInvalid):
        manifest_from_mapping(data(line))
    assert VALIDATORS[draft].is_valid(data(line)), "the schema has learnt it: move the line to BAD"


@pytest.mark.parametrize("draft", VALIDATORS)
def test_both_want_the_version(draft: str) -> None:
    with pytest.raises(ManifestInvalid):
        manifest_from_mapping({})
    assert not VALIDATORS[draft].is_valid({})


@pytest.mark.parametrize("path", sorted((ROOT / "manifests").glob("*/mcp.yaml")), ids=lambda p: p.parent.name)
@pytest.mark.parametrize("draft", VALIDATORS)
def test_the_shipped_manifests_agree_with_the_schema(path: Path, draft: str) -> None:
    assert VALIDATORS[draft].is_valid(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert f"$schema=../../schemas/{'mcp.schema.json'}" in path.read_text(encoding="utf-8")


def subschemas(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield path, node
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, inner in steps:
        if step not in ("default", "examples", "enum", "const"):
            yield from subschemas(inner, f"{path}/{step}")


def test_every_key_has_a_description() -> None:
    keys = {
        f"{path}/{key}": value
        for path, node in subschemas(SCHEMA)
        for key, value in node.get("properties", {}).items()
        if isinstance(node.get("properties"), dict)
    }
    assert len(keys) > 60
    assert [key for key, value in keys.items() if len(value.get("description", "")) < 10] == []


def test_every_mapping_of_the_language_is_closed_but_for_keys_of_the_user() -> None:
    closed = {
        path: node for path, node in subschemas(SCHEMA) if "properties" in node and node.get("type") == "object"
    }
    assert len(closed) > 12
    for node in closed.values():
        assert node["additionalProperties"] is False
        (keys_of_the_user,) = node["patternProperties"].items()
        assert keys_of_the_user[0] == "^x-"
        assert keys_of_the_user[1].keys() == {"description"}


def test_the_schema_says_only_what_draft_07_means_too() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft7Validator.check_schema({**SCHEMA, "$schema": "http://json-schema.org/draft-07/schema#"})
    used = {key for _, node in subschemas(SCHEMA) for key in node}
    assert not used & {"unevaluatedProperties", "unevaluatedItems", "prefixItems", "$dynamicRef", "$anchor"}
    # Draft-07 readers ignore what stands beside a reference, so nothing that judges may.
    judging = {"type", "enum", "const", "not", "anyOf", "minLength", "additionalProperties"}
    assert not [path for path, node in subschemas(SCHEMA) if "$ref" in node and judging & node.keys()]


def test_the_committed_schema_is_that_of_the_models() -> None:
    assert language_schema() == SCHEMA, "run: make schema"


def test_defaults_are_shown_as_users_would_write_them() -> None:
    for key in (key for _, node in subschemas(SCHEMA) for key in node.get("properties", {}).values()):
        if isinstance(key, dict) and "default" in key:
            assert Draft202012Validator({"$defs": SCHEMA["$defs"], **key}).is_valid(key["default"])
            assert key["default"] is not None
    assert SCHEMA["$defs"]["Routes"]["properties"]["include"]["default"] == ["/**"]

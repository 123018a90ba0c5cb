"""A partial manifest laid over another: mappings merge, lists replace, `<list>_add` appends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gym_mcp_manifest import Manifest, ManifestInvalid, load_manifest
from gym_mcp_manifest.manifest.loader import manifest_from_mapping
from gym_mcp_manifest.manifest.models import AGENTS, Language

LAYER = "config.yaml: office: mcp"
BASE = """\
version: 1
server:
  title: Office
routes:
  include: ["/a", "/b"]
  exclude: ["/c"]
tools:
  a: {title: A, description: Says a., input_schema: {type: object, properties: {x: {type: string}}}}
sessions:
  otherwise: all
  allow:
    - {when: a, tools: [a]}
"""


@pytest.fixture
def base(tmp_path: Path) -> Manifest:
    path = tmp_path / "mcp.yaml"
    path.write_text(BASE, encoding="utf-8")
    return load_manifest(path)


def patched(base: Manifest, patch: str) -> Language:
    return base.under(yaml.safe_load(patch), LAYER).language


def patterns(entries: Any) -> list[str]:
    return [str(entry.match) for entry in entries]


def test_mappings_merge_key_by_key(base: Manifest) -> None:
    language = patched(base, "{server: {instructions: Be quick.}, tools: {a: {title: New}, b: {title: B}}}")
    assert (language.server.title, language.server.instructions) == ("Office", "Be quick.")
    assert (language.tools["a"].title, language.tools["a"].description) == ("New", "Says a.")
    assert language.tools["b"].title == "B"
    assert patterns(language.routes.include) == ["/a", "/b"]


def test_lists_replace(base: Manifest) -> None:
    language = patched(base, "{routes: {include: [/z]}, sessions: {allow: [{from: names}]}}")
    assert patterns(language.routes.include) == ["/z"]
    assert patterns(language.routes.exclude) == ["/c"]
    (rule,) = language.sessions.allow
    assert rule.tools is None


def test_schemas_merge_as_the_mappings_that_they_are(base: Manifest) -> None:
    schema = patched(base, "{tools: {a: {input_schema: {properties: {y: {}}}}}}").tools["a"].input_schema
    assert schema == {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}}


def test_a_file_gives_way_to_a_schema(base: Manifest) -> None:
    with_file = base.under({"tools": {"a": {"input_schema": "a.json"}}}, "one")
    assert with_file.language.tools["a"].input_schema == "a.json"
    again = with_file.under({"tools": {"a": {"input_schema": {"type": "object"}}}}, "two")
    assert again.language.tools["a"].input_schema == {"type": "object"}


def test_an_empty_patch_changes_nothing(base: Manifest) -> None:
    assert base.under({}, LAYER) is base


def test_the_base_stays_as_it_was(base: Manifest) -> None:
    before = base.language.model_copy(deep=True)
    base.under({"routes": {"exclude_add": ["/d"]}, "tools": {"a": {"title": "New"}}}, LAYER)
    assert base.language == before


#: Every list of the language that a patch can reach: what is added, and what the list holds by default.
LISTS: dict[str, tuple[Any, list[Any]]] = {
    "skip_middleware": ("shop.audit.*", []),
    "routes.include": ("/z", ["/**"]),
    "routes.exclude": ("/z", []),
    "catch_all": ({"route": "/{p}", "tools": [{"name": "z"}]}, []),
    "sessions.allow": ({"when": "b", "tools": ["z"]}, []),
    "names.agents": ("codex", [*AGENTS]),
    "names.patterns": ("z_{tool}", []),
}


@pytest.mark.parametrize("where", LISTS)
@pytest.mark.parametrize("held", ["nothing", "default section", "a list"])
def test_every_list_can_be_added_to_whether_written_or_not(where: str, held: str) -> None:
    added, default = LISTS[where]
    *sections, key = where.split(".")
    sessions = {"otherwise": "all"}
    written: dict[str, Any] = {"version": 1, "sessions": dict(sessions)}
    if held != "nothing" and sections:
        written.setdefault(sections[0], {})
    if held == "a list":
        (written[sections[0]] if sections else written)[key] = [added]
    patch: dict[str, Any] = {f"{key}_add": [added]}
    manifest = manifest_from_mapping(written).under({sections[0]: patch} if sections else patch, LAYER)
    value = manifest.layered.data
    for step in (*sections, key):
        value = value[step]
    assert value == [*([added] if held == "a list" else default), added]
    assert manifest.places.origin((*sections, key, len(value) - 1)) == LAYER


def test_a_list_may_be_replaced_and_added_to_in_either_order(base: Manifest) -> None:
    for patch in ("{exclude: [/x], exclude_add: [/y]}", "{exclude_add: [/y], exclude: [/x]}"):
        assert patterns(patched(base, f"{{routes: {patch}}}").routes.exclude) == ["/x", "/y"]


def test_two_patches_add_one_after_the_other(base: Manifest) -> None:
    once = base.under({"routes": {"exclude_add": ["/d"]}}, "one")
    twice = once.under({"routes": {"exclude_add": ["/e"]}}, "two")
    assert patterns(twice.language.routes.exclude) == ["/c", "/d", "/e"]
    origins = [twice.places.origin(("routes", "exclude", index)) for index in range(3)]
    assert origins[0].endswith("mcp.yaml:6:13")
    assert origins[1:] == ["one", "two"]


def test_what_a_patch_adds_is_judged_with_its_layer_as_the_place(base: Manifest) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        patched(base, "{routes: {exclude_add: [/ok, bad]}}")
    (found,) = caught.value.diagnostics
    assert (found.code, found.file, found.line) == ("GMM207", LAYER, None)


@pytest.mark.parametrize(
    ("patch", "code", "meant"),
    [
        ("{routes: {exclud_add: [/d]}}", "GMM201", "exclude_add"),
        ("{routes: {exclude_ad: [/d]}}", "GMM201", "exclude_add"),
        ("{routes: {includ: [/d]}}", "GMM201", "include"),
        ("{skip_middlewar_add: [a]}", "GMM201", "skip_middleware_add"),
        ("{sessions: {alow_add: []}}", "GMM201", "allow_add"),
        ("{rutes: {exclude: [/d]}}", "GMM201", "routes"),
        ("{tools: {a: {titel: New}}}", "GMM201", "title"),
    ],
)
def test_a_misspelt_key_of_a_patch_is_told_the_nearest_form(
    base: Manifest, patch: str, code: str, meant: str
) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        patched(base, patch)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == (code, LAYER)
    assert f"did you mean `{meant}`?" in str(found.hint)


def test_the_manifest_itself_has_no_add_form() -> None:
    with pytest.raises(ManifestInvalid) as caught:
        manifest_from_mapping({"version": 1, "routes": {"exclude_add": ["/d"]}})
    (found,) = caught.value.diagnostics
    assert found.code == "GMM201"
    assert "did you mean `exclude`?" in str(found.hint)


@pytest.mark.parametrize("value", ["/d", {"match": "/d"}, 3, None])
def test_an_addition_is_a_list(base: Manifest, value: Any) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        base.under({"routes": {"exclude_add": value}}, LAYER)
    (found,) = caught.value.diagnostics
    assert found.file == LAYER
    assert found.code in ("GMM203", "GMM204")
    assert "`routes.exclude_add`" in found.message


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("{routes: null}", "GMM204"),
        ("{routes: {exclude: null}}", "GMM204"),
        ("{tools: {a: null}}", "GMM204"),
        ("{tools: {a: {title: null}}}", "GMM204"),
        ("{routes: [a]}", "GMM203"),
        ("{version: 2}", "GMM205"),
        ("{sessions: {bind: {a: b}}}", "GMM206"),
        ("{tools: {a: {arguments: {b: {bind: k}}}}}", "GMM206"),
    ],
)
def test_a_bad_value_of_a_patch_names_the_layer(base: Manifest, patch: str, code: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        patched(base, patch)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file, found.line) == (code, LAYER, None)


def test_checks_across_keys_are_made_of_the_result(base: Manifest) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        patched(base, "{sessions: {allow_add: [{tools: [a]}]}}")
    (found,) = caught.value.diagnostics
    assert found.code == "GMM302"
    assert str(found.file).endswith("mcp.yaml")
    assert found.line == 10


def test_values_that_the_patch_left_alone_keep_their_places(base: Manifest) -> None:
    places = base.under({"tools": {"a": {"title": "New"}}, "server": {"title": "X"}}, LAYER).places
    assert places.origin(("tools", "a", "title")) == LAYER
    assert places.origin(("tools", "a", "description")).endswith("mcp.yaml:8:30")
    assert places.origin(("routes", "include", 1)).endswith("mcp.yaml:5:19")
    assert places.origin(("names", "agents")).endswith("mcp.yaml:1:1")
    assert places.is_layered(("server", "title"))
    assert not places.is_layered(("server",))


def test_keys_of_the_user_are_free_in_a_patch_too(base: Manifest) -> None:
    assert patched(base, "{x-team: {a: null}, routes: {x-why: because}}")

"""The instance's configuration: which block counts, what overrides may say, and that no secret is ever shown."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from omegaconf import DictConfig, OmegaConf

from gym_mcp_manifest import Diagnostic, ExposurePlan, ManifestInvalid, expose, load_manifest
from gym_mcp_manifest.instance import Instance, instance_from_block, read_instance
from gym_mcp_manifest.manifest.layers import Layered, Places
from gym_mcp_manifest.manifest.loader import manifest_from_mapping

SECRET = "hunter2-hunter2"
NESTED = f"""\
office:
  resources_servers:
    office_dir:
      entrypoint: app.py
      nothing: null
      expose_tools_over_mcp: true
      mcp_secret: {SECRET}
      mcp:
        routes: {{exclude_add: [/debug]}}
weather:
  resources_servers:
    weather_dir:
      expose_tools_over_mcp: false
agent:
  responses_api_agents:
    simple: {{url: "${{oc.env:SURELY_UNSET}}", other: "???", third: "${{no.such.key}}"}}
shared: "${{oc.env:SURELY_UNSET}}"
policy: {{url: "${{no_such_key}}"}}
"""
BLOCK = "office.resources_servers.office_dir"

Read = Callable[..., Instance]
Refused = Callable[..., tuple[Diagnostic, ...]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a configuration from a file."""

    def read_(text: str = NESTED, *overrides: str, server: str | None = "office", **choice: Any) -> Instance:
        path = tmp_path / "flat_server" / "config.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return read_instance(path, server, overrides, **choice)

    return read_


@pytest.fixture
def refused(read: Read) -> Refused:
    """The findings of a configuration that is refused, none of which shows the secret."""

    def refused_(*arguments: Any, **choice: Any) -> tuple[Diagnostic, ...]:
        with pytest.raises(ManifestInvalid) as caught:
            read(*arguments, **choice)
        shown = f"{caught.value} {caught.value!r} {caught.value.diagnostics!r}"
        assert SECRET not in shown
        return caught.value.diagnostics

    return refused_


def revealed(instance: Instance) -> list[str]:
    return [secret.get_secret_value() for secret in instance.secrets]


def patches(instance: Instance) -> list[Any]:
    """What each layer says, the lowest first."""
    return [layer.patch for layer in instance.layers]


def merged(instance: Instance) -> dict[str, Any]:
    """What all layers say of the manifest, over one that says nothing."""
    data = Layered({}, Places())
    for layer in instance.layers:
        data = data.under(layer)
    return dict(data.data)


IN_FILE = {"routes": {"exclude_add": ["/debug"]}}


# Which block counts.


def test_an_instance_in_nemo_gyms_shape_is_read(read: Read) -> None:
    instance = read()
    assert (instance.name, instance.folder, instance.on) == ("office", "office_dir", True)
    assert patches(instance) == [IN_FILE]
    assert revealed(instance) == [SECRET]
    assert (instance.manifest, instance.allowed_hosts) == (None, ())


def test_a_flat_block_is_one_instance_named_for_its_folder(read: Read) -> None:
    text = "expose_tools_over_mcp: true\nmcp_manifest: other.yaml\nmcp_allowed_hosts: [a.example]\nport: 3"
    instance = read(text, server=None)
    assert (instance.name, instance.folder, instance.on) == ("flat_server", None, True)
    assert (instance.manifest, instance.allowed_hosts) == ("other.yaml", ("a.example",))
    assert read(text, server=None, folder="app_folder").name == "app_folder"


def test_of_several_instances_one_is_chosen_by_name_or_by_folder(read: Read) -> None:
    assert read(server="weather").on is False
    assert read(server="weather").name == "weather"
    assert read(server=None, folder="office_dir").name == "office"
    assert read(server="weather", folder="office_dir").name == "weather"


def test_one_instance_needs_no_choice(read: Read) -> None:
    assert read("a: {resources_servers: {b: {}}}\nc: {d: 1}", server=None, folder="elsewhere").name == "a"


def test_an_instance_without_the_flag_or_without_a_block_is_off(read: Read) -> None:
    assert read("a: {resources_servers: {b: {}}}", server="a").on is False
    assert read("a: {resources_servers: {b: }}", server="a").on is False


@pytest.mark.parametrize(
    ("text", "choice", "says"),
    [
        (NESTED, {"server": None}, "The file has: office, weather"),
        (NESTED, {"server": None, "folder": "elsewhere"}, "The file has: office, weather"),
        (NESTED, {"server": "offices"}, "no instance 'offices'"),
        (NESTED, {"server": "office_dir"}, "no instance 'office_dir'"),
        (NESTED, {"server": "agent"}, "no instance 'agent'"),
        ("", {"server": None}, "The file has: none"),
        ("a: 1", {"server": None}, "The file has: none"),
        ("a: {resources_servers: }", {"server": "a"}, "no instance 'a'"),
        ("a: {resources_servers: [b]}", {"server": "a"}, "no instance 'a'"),
        ("a: {resources_servers: '${c}'}", {"server": "a"}, "no instance 'a'"),
        ("a: {resources_servers: {b: {}, c: {}}}", {"server": "a"}, "two servers: b, c"),
        (
            "a: {resources_servers: {d: {}}}\nb: {resources_servers: {d: {}}}",
            {"server": None, "folder": "d"},
            "has: a, b",
        ),
    ],
)
def test_no_instance_or_more_than_one_is_refused(
    text: str, choice: dict[str, Any], says: str, refused: Refused
) -> None:
    (found,) = refused(text, **choice)
    assert found.code == "GMM503"
    assert says in found.message
    assert found.hint


def test_the_nearest_instance_is_named(refused: Refused) -> None:
    (found,) = refused(server="offce")
    assert found.hint == "did you mean `office`?"


def test_our_keys_outside_of_every_instance_are_refused(refused: Refused) -> None:
    (found,) = refused(f"{NESTED}\nmcp_secret: {SECRET}")
    assert (found.code, found.hint) == ("GMM502", f"write it as `{BLOCK}.mcp_secret`")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a", "a list"),
        ("a: [b", "expected"),
        ("a: 1\na: 2", "duplicate key a"),
        ("a: 1\n---\nb: 2", "expected a single document"),
        (f"mcp_secret: [{SECRET}", "expected"),
        (f"mcp_secret: {SECRET}\nmcp_secret: {SECRET}", "duplicate key mcp_secret"),
        (f"mcp_secret: '{SECRET}${{'", "mcp_secret"),
    ],
)
def test_a_broken_configuration_is_refused_without_its_values(text: str, says: str, refused: Refused) -> None:
    (found,) = refused(text)
    assert found.code == "GMM501"
    assert says in found.message


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_configuration_that_cannot_be_read_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ManifestInvalid) as caught:
        read_instance(path)
    (found,) = caught.value.diagnostics
    assert (found.code, found.file) == ("GMM501", str(path))
    assert "Errno" not in found.message


# Values that are resolved.


def test_only_the_chosen_block_is_resolved(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SECRET_OF_THE_TEST", SECRET)
    text = NESTED.replace(
        f"mcp_secret: {SECRET}", "mcp_secret: ['${oc.env:MCP_SECRET_OF_THE_TEST}', '${top.old}']"
    )
    assert revealed(read(f"{text}\ntop: {{old: older}}")) == [SECRET, "older"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("${oc.env:SURELY_UNSET}", "Environment variable 'SURELY_UNSET' not found"),
        ("${no.such.key}", "no.such.key"),
        ("???", "Missing mandatory value"),
        ("${env:X}", "Unsupported interpolation type env"),
        (f"${{oc.decode:'[{SECRET}'}}", "invalid value or interpolation"),
    ],
)
def test_what_cannot_be_resolved_is_named_by_key_and_never_by_value(
    value: str, says: str, refused: Refused
) -> None:
    text = f'office: {{resources_servers: {{office_dir: {{expose_tools_over_mcp: true, mcp_secret: "{value}"}}}}}}'
    (found,) = refused(text)
    assert found.code == "GMM501"
    assert says in found.message
    assert f"{BLOCK}.mcp_secret" in found.message


def test_where_exposure_is_off_no_unresolved_value_hinders_the_app(read: Read) -> None:
    block = '{mcp_secret: "${oc.env:SURELY_UNSET}", api_key: "???", mcp: {routes: "${no.such.key}"}}'
    assert not read(f"office: {{resources_servers: {{office_dir: {block}}}}}").on


def test_the_servers_own_keys_may_stay_unresolved(read: Read) -> None:
    block = '{expose_tools_over_mcp: true, api_key: "???", url: "${oc.env:SURELY_UNSET}"}'
    assert read(f"office: {{resources_servers: {{office_dir: {block}}}}}").on


def test_the_servers_own_keys_are_resolved_when_they_are_asked_for(read: Read) -> None:
    block = (
        '{expose_tools_over_mcp: true, mcp_secret: a, key: "${shared.key}", url: "${oc.env:SURELY_UNSET}", n: }'
    )
    text = f"office: {{resources_servers: {{office_dir: {block}}}}}\nshared: {{key: [{SECRET}]}}"
    own = read(text, f"+{BLOCK}.steps=3").block()
    assert own.values == {"key": [SECRET], "n": None, "steps": 3}
    assert own.unresolved == {"url"}
    assert SECRET not in repr(own)
    assert SECRET not in repr(read(text))


def test_secrets_show_in_no_repr_and_no_error(read: Read) -> None:
    instance = read()
    assert SECRET not in f"{instance!r} {instance} {instance.secrets}"
    assert f"'{SECRET}'" not in str(vars(instance)) if hasattr(instance, "__dict__") else True


# Our keys.


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("expose_tool_over_mcp", "expose_tools_over_mcp"),
        ("expose_tools_over_mpc", "expose_tools_over_mcp"),
        ("expose_tools", "expose_tools_over_mcp"),
        ("export_tools_over_mcp", "expose_tools_over_mcp"),
        ("mcp_secrets", "mcp_secret"),
        ("mcp_manifests", "mcp_manifest"),
        ("mcp_header", "mcp_headers"),
        ("mcp-secret", "mcp_secret"),
        ("MCP_SECRET_", None),
        ("mcp_allowed_host", "mcp_allowed_hosts"),
        ("mpc", "mcp"),
    ],
)
def test_a_misspelt_key_of_ours_is_refused(key: str, meant: str | None) -> None:
    if meant is None:
        instance_from_block("unit", {key: 1})
        return
    with pytest.raises(ManifestInvalid) as caught:
        instance_from_block("unit", {key: SECRET})
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("GMM502", f"did you mean `{meant}`?")
    assert SECRET not in str(caught.value)


def test_a_misspelt_flag_in_a_flat_block_is_told_as_such(refused: Refused) -> None:
    (found,) = refused("expose_tool_over_mcp: true", server=None)
    assert found.code == "GMM502"


@pytest.mark.parametrize(
    "key", ["entrypoint", "domain", "host", "port", "num_workers", "max_steps", "tmp", "cp", 3]
)
def test_keys_of_the_server_are_none_of_our_business(key: Any) -> None:
    assert instance_from_block("unit", {key: object()}).on is False


WRONG: list[tuple[str, Any]] = [
    ("expose_tools_over_mcp", "true"),
    ("expose_tools_over_mcp", 1),
    ("expose_tools_over_mcp", None),
    ("mcp_manifest", 3),
    ("mcp_manifest", ""),
    ("mcp_secret", ""),
    ("mcp_secret", 12345),
    ("mcp_secret", []),
    ("mcp_secret", [SECRET, ""]),
    ("mcp_secret", {"a": SECRET}),
    ("mcp_secret", None),
    ("mcp_allowed_hosts", "localhost"),
    ("mcp_allowed_hosts", [1]),
    ("mcp", []),
    ("mcp", "routes"),
    ("mcp", None),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_value_of_the_wrong_kind_is_refused_without_being_shown(key: str, value: Any) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        instance_from_block("unit", {key: value})
    (found,) = caught.value.diagnostics
    assert found.code == "GMM203"
    assert f"`{key}`: expected" in found.message
    assert SECRET not in str(caught.value)


def test_every_fault_of_a_block_is_told_at_once() -> None:
    with pytest.raises(ManifestInvalid) as caught:
        instance_from_block("unit", {"expose_tools_over_mcp": 1, "mcp_secrets": "a", "mcp": 3})
    assert sorted(d.code for d in caught.value.diagnostics) == ["GMM203", "GMM203", "GMM502"]


# Overrides.


@pytest.mark.parametrize("prefix", ["", "+", "++"])
@pytest.mark.parametrize(
    ("key", "value", "patch"),
    [
        ("mcp.routes.exclude_add", "[/a,/b]", {"routes": {"exclude_add": ["/a", "/b"]}}),
        ("mcp.routes.include", "[]", {"routes": {"include": []}}),
        ("mcp.names.max_length", "30", {"names": {"max_length": 30}}),
        ("mcp.names.normalize", "false", {"names": {"normalize": False}}),
        ("mcp.sessions.max_age", "null", {"sessions": {"max_age": None}}),
        (
            "mcp.tools.get_weather.description",
            "'Other words, with = and \\'quotes\\'.'",
            {"tools": {"get_weather": {"description": "Other words, with = and 'quotes'."}}},
        ),
        ("mcp.tools.get-it_2", "{title: It}", {"tools": {"get-it_2": {"title": "It"}}}),
        ("mcp.tools.12.title", "It", {"tools": {"12": {"title": "It"}}}),
        ("mcp", "{server: {title: It}}", {"server": {"title": "It"}}),
    ],
)
def test_every_key_of_the_language_can_be_set_by_a_layer_of_its_own(
    prefix: str, key: str, value: str, patch: dict[str, Any], read: Read
) -> None:
    instance = read(NESTED, f"{prefix}{BLOCK}.{key}={value}")
    assert patches(instance) == [IN_FILE, patch]
    assert [layer.name for layer in instance.layers[1:]] == [f"override '{BLOCK}.{key}'"]


@pytest.mark.parametrize("prefix", ["", "+", "++"])
def test_every_key_of_the_instance_can_be_set(prefix: str, read: Read) -> None:
    overrides = [
        f"{prefix}{BLOCK}.expose_tools_over_mcp=false",
        f"{prefix}{BLOCK}.mcp_manifest=other.yaml",
        f"{prefix}{BLOCK}.mcp_secret=[new,old]",
        f"{prefix}{BLOCK}.mcp_allowed_hosts=[a.example]",
    ]
    instance = read(NESTED, *overrides)
    assert (instance.on, instance.manifest, instance.allowed_hosts) == (False, "other.yaml", ("a.example",))
    assert revealed(instance) == ["new", "old"]


def test_a_flat_block_takes_overrides_by_its_keys(read: Read) -> None:
    text = "entrypoint: app.py"
    for prefix in ("", "+", "++"):
        instance = read(text, f"{prefix}expose_tools_over_mcp=true", f"{prefix}mcp.tools.a.title=A", server=None)
        assert (instance.on, patches(instance)) == (True, [{"tools": {"a": {"title": "A"}}}])


def test_later_overrides_win_and_mappings_merge(read: Read) -> None:
    instance = read(
        NESTED,
        f"{BLOCK}.mcp.tools.a.title=One",
        f"{BLOCK}.mcp.tools.a={{description: Two}}",
        f"{BLOCK}.mcp.tools.a.title=Three",
    )
    assert merged(instance)["tools"] == {"a": {"title": "Three", "description": "Two"}}


def test_what_is_written_can_be_deleted(read: Read) -> None:
    assert merged(read(NESTED, f"~{BLOCK}.mcp.routes")) == {}
    assert merged(read(NESTED, f"~{BLOCK}.mcp")) == {}
    assert read(NESTED, f"~{BLOCK}.mcp_secret").secrets == ()
    assert read(NESTED, f"~{BLOCK}.nothing", "~policy.url", "~shared", "~weather", server=None).name == "office"


def test_keys_of_the_server_and_of_others_follow_hydra(read: Read) -> None:
    assert read(NESTED, f"{BLOCK}.entrypoint=b.py", f"+{BLOCK}.steps=3", "++policy.url=x", "+fresh={a: 1}").on


IDLE = [
    "offce.resources_servers.office_dir.expose_tools_over_mcp=true",
    "office.resource_servers.office_dir.expose_tools_over_mcp=true",
    "office.resources_servers.offce_dir.expose_tools_over_mcp=true",
    "office.expose_tools_over_mcp=true",
    "resources_servers.office_dir.expose_tools_over_mcp=true",
    f"{BLOCK}.expose_tool_over_mcp=true",
    f"{BLOCK}.mcp_secrets=hunter2-hunter2",
    f"{BLOCK}.mpc.routes.include=[]",
    "office.resources_servers.other={expose_tools_over_mcp: true}",
    "other={resources_servers: {office_dir: {expose_tools_over_mcp: true}}}",
]


# With a prefix, `office.expose...` would be a new key in a mapping that belongs to somebody else.
PREFIXED = [prefix + idle for prefix in ("+", "++") for idle in IDLE if not idle.startswith("office.expose")]


@pytest.mark.parametrize("override", [*IDLE, *PREFIXED])
def test_a_misspelt_path_is_refused_whatever_its_prefix(override: str, read: Read) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        read(NESTED, override)
    (found,) = caught.value.diagnostics
    assert found.code in ("GMM504", "GMM502")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("offce.resources_servers.office_dir.mcp_secret=a", "office"),
        ("office.resource_servers.office_dir.mcp_secret=a", "resources_servers"),
        ("office.resources_servers.offce_dir.mcp_secret=a", "office_dir"),
        (f"{BLOCK}.entrypoin=b.py", "entrypoint"),
        (f"{BLOCK}.mcp_secrt=a", "mcp_secret"),
        ("~offce.resources_servers", "office"),
        (f"~{BLOCK}.entrypont", "entrypoint"),
    ],
)
def test_a_misspelt_path_is_told_the_nearest(override: str, meant: str, refused: Refused) -> None:
    (found,) = refused(NESTED, override)
    assert (found.code, found.hint) == ("GMM504", f"did you mean `{meant}`?")


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (f"{BLOCK}.mcp.routes.exclude_add.0=/z", "elements of lists are not addressable"),
        (f"~{BLOCK}.mcp.routes.exclude_add.0", "elements of lists are not addressable"),
        (f"{BLOCK}.mcp_secret.a=b", "is no mapping"),
        (f"{BLOCK}.entrypoint.a=b", "is no mapping"),
        (f"{BLOCK}.mcp_secret=choice(a,{SECRET})", "sweep"),
        (f"{BLOCK}.mcp_secret=a,{SECRET}", "sweep"),
        ("db@office=x", "config group"),
        ("db/office=x", "config group"),
        (f"{BLOCK}.mcp_secret", "grammar"),
        ("a b=c", "grammar"),
        (f"{BLOCK}.mcp_secret={SECRET}]", "grammar"),
        (f"{BLOCK}.mcp.tools.1x.title=a", "grammar"),
        ("", "grammar"),
        ("=", "grammar"),
        ("~", "grammar"),
    ],
)
def test_an_override_that_cannot_be_followed_is_refused(override: str, says: str, refused: Refused) -> None:
    (found,) = refused(NESTED, override)
    assert found.code == "GMM504"
    assert says in found.message
    assert str(found.file).startswith("override ")
    assert found.hint


@pytest.mark.parametrize("prefix", ["", "+", "++"])
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("routes.exclud_add", "exclude_add"),
        ("routes.exclude_ad", "exclude_add"),
        ("route.exclude", "routes"),
        ("names.max_lenght", "max_length"),
        ("tools.a.titel", "title"),
    ],
)
def test_a_misspelt_key_of_the_language_is_told_the_nearest(prefix: str, key: str, meant: str, read: Read) -> None:
    instance = read(NESTED, f"{prefix}{BLOCK}.mcp.{key}=[{SECRET}]")
    (found,) = judged(instance)
    assert (found.code, found.file, found.line) == ("GMM201", f"override '{BLOCK}.mcp.{key}'", None)
    assert f"did you mean `{meant}`?" in str(found.hint)
    assert SECRET not in f"{found}"


@pytest.mark.parametrize(
    ("assignment", "code", "says"),
    [
        ("mcp.names.normalize=no", "GMM203", "expected true or false"),
        ("mcp.names.normalize=on", "GMM203", "expected true or false"),
        ("mcp.names.normalize=1", "GMM203", "expected true or false"),
        ("mcp.tools.a.optional='true'", "GMM203", "expected true or false"),
        ("mcp.names.max_length=1.5", "GMM203", "`names.max_length`"),
        ("mcp.routes.exclude=/x", "GMM203", "expected a list"),
        ("mcp.routes.exclude_add=/x", "GMM203", "expected a list"),
        ("mcp.routes.unlisted=eror", "GMM203", "`routes.unlisted`"),
        ("mcp.routes.exclude=null", "GMM204", "`routes.exclude` has no value"),
        ("mcp.routes.exclude_add=null", "GMM204", "`routes.exclude_add`"),
        ("mcp.names.max_length=null", "GMM204", "`names.max_length` has no value"),
        ("mcp.tools.a.title=null", "GMM204", "`tools.a.title` has no value"),
        ("mcp.tools.a=null", "GMM204", "`tools.a` has no value"),
        ("mcp.server=null", "GMM204", "`server` has no value"),
        ("mcp.names.max_length.x=3", "GMM203", "`names.max_length`"),
        ("mcp.routes.include=[nowhere]", "GMM207", "`routes.include[0]`"),
    ],
)
def test_a_bad_value_of_an_override_is_told_with_its_key_alone(
    assignment: str, code: str, says: str, read: Read
) -> None:
    (found,) = judged(read(NESTED, f"{BLOCK}.{assignment}"))
    assert (found.code, found.line) == (code, None)
    assert found.file == f"override '{BLOCK}.{assignment.partition('=')[0]}'"
    assert says in found.message


@pytest.mark.parametrize(
    ("assignment", "says", "cure"),
    [
        ("expose_tools_over_mcp=no", "`expose_tools_over_mcp`: expected true or false", "write `true` or `false`"),
        (
            "expose_tools_over_mcp=null",
            "`expose_tools_over_mcp`: expected true or false",
            "write `true` or `false`",
        ),
        ("mcp_secret=12345", "`mcp_secret`: expected a text", "in quotes"),
        ("mcp_secret=null", "`mcp_secret`: expected a text", "in quotes"),
        ("mcp_allowed_hosts=localhost", "`mcp_allowed_hosts`: expected a list", "[name, ...]"),
        ("mcp=3", "`mcp`: expected a mapping", "{}"),
        ("mcp=null", "`mcp`: expected a mapping", "{}"),
        ("mcp.tools={12: {title: A}}", "a key in `mcp.tools` is a number", "a.12.b=value"),
    ],
)
def test_a_bad_value_of_our_own_keys_is_blamed_on_its_override(
    assignment: str, says: str, cure: str, refused: Refused
) -> None:
    (found,) = refused(NESTED, f"{BLOCK}.{assignment}")
    assert found.file == f"override '{BLOCK}.{assignment.partition('=')[0]}'"
    assert says in found.message
    assert cure in str(found.hint)


def test_null_is_taken_where_the_language_shows_it(read: Read) -> None:
    assert (
        judged(read(NESTED, f"{BLOCK}.mcp.sessions.max_age=null", f"{BLOCK}.mcp.limits.call_timeout=null")) == ()
    )


@pytest.mark.parametrize(
    ("key", "of"),
    [
        ("mcp.routes.include.0", "mcp.routes.include"),
        ("mcp.routes.exclude_add.0", "mcp.routes.exclude_add"),
        ("mcp.catch_all.0.route", "mcp.catch_all"),
        ("mcp.sessions.allow.1.tools", "mcp.sessions.allow"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "+", "++", "~"])
def test_elements_of_lists_are_not_addressable_whether_or_not_the_file_has_the_list(
    prefix: str, key: str, of: str, refused: Refused
) -> None:
    (found,) = refused(NESTED, f"{prefix}{BLOCK}.{key}{'' if prefix == '~' else '=/x'}")
    assert found.code == "GMM504"
    assert f"`{BLOCK}.{of}` is a list" in found.message
    assert f"`{BLOCK}.{of.removesuffix('_add')}_add=[...]`" in str(found.hint)


@pytest.mark.parametrize("key", ["1x", "GET /x", "'GET /x'", "GET_/x", "*_get_*", "a+b", "-x", "[0]", "{id}"])
def test_a_key_that_the_grammar_cannot_spell_is_told_what_to_do_instead(key: str, refused: Refused) -> None:
    (found,) = refused(NESTED, f"{BLOCK}.mcp.tools.{key}.title={SECRET}")
    assert (found.code, found.message) == ("GMM504", "Hydra's grammar cannot spell this key")
    assert "`mcp:` block" in str(found.hint)


#: Tool names and other keys of `tools`, and what an override writes for each.
SPELT = {
    "get_weather": "tools.get_weather.title=T",
    "get-it": "tools.get-it.title=T",
    "_a": "tools._a.title=T",
    "12": "tools.12.title=T",
    "007": "tools={007: {title: T}}",
    "true": "tools.true.title=T",
    "null": "tools.null.title=T",
    "1x": "tools={1x: {title: T}}",
    "-x": "tools={-x: {title: T}}",
    "a.b": "tools={a.b: {title: T}}",
    "*_get_*": "tools={*_get_*: {title: T}}",
    "GET /x": "tools={GET /x: {title: T}}",
    "GET /items/{id}": "tools={GET /items/\\{id\\}: {title: T}}",
}


@pytest.mark.parametrize("name", SPELT)
def test_every_name_can_be_spelt_in_the_path_or_in_a_mapping(name: str, read: Read) -> None:
    assert patches(read(NESTED, f"{BLOCK}.mcp.{SPELT[name]}"))[1] == {"tools": {name: {"title": "T"}}}


def test_a_function_that_hydra_lacks_is_told_the_add_form(refused: Refused) -> None:
    (found,) = refused(NESTED, f"{BLOCK}.mcp.routes.exclude=extend_list(/x)")
    assert f"`{BLOCK}.mcp.routes.exclude_add=[...]`" in str(found.hint)


@pytest.mark.parametrize("prefix", ["+", "++"])
@pytest.mark.parametrize("key", ["office.mcp_secret", "office.mcp", "office.resources_servers.mcp", "mcp_secret"])
def test_our_keys_beside_the_block_are_told_their_home(prefix: str, key: str, refused: Refused) -> None:
    value = "{}" if key.endswith("mcp") else SECRET
    (found,) = refused(NESTED, f"{prefix}{key}={value}")
    assert (found.code, found.file) == ("GMM504", f"override '{key}'")
    assert found.hint == f"write it as `{BLOCK}.{key.split('.')[-1]}`"


@pytest.mark.parametrize(
    ("text", "key", "cure"),
    [
        (
            "office: {resources_servers: {office_dir: '${shared}'}}\nshared: {}",
            "mcp.server.title",
            "override that",
        ),
        ("office: {resources_servers: {office_dir: }}", "mcp_manifest", "write `{}` in the file"),
        ("office: {resources_servers: {office_dir: {mcp: }}}", "mcp.server.title", "write `{}` in the file"),
        ("office: {resources_servers: {office_dir: {mcp: [a]}}}", "mcp.server.title", "as a whole"),
    ],
)
def test_a_path_through_what_is_no_mapping_is_told_the_cure(
    text: str, key: str, cure: str, refused: Refused
) -> None:
    (found,) = refused(text, f"{BLOCK}.{key}=x")
    assert (found.code, found.file) == ("GMM504", f"override '{BLOCK}.{key}'")
    assert "is no mapping" in found.message
    assert cure in str(found.hint)


@pytest.mark.parametrize("text", [NESTED, "office: {resources_servers: {office_dir: {entrypoint: a.py}}}"])
@pytest.mark.parametrize(
    ("key", "says", "cure"),
    [
        ("sessions.alow", "unknown key `alow` in `sessions`", "did you mean `allow`?"),
        ("sesions.allow", "unknown key `sesions`", "did you mean `sessions`?"),
        ("tools.a.titel", "unknown key `titel` in `tools.a`", "did you mean `title`?"),
        (
            "sessions.allow",
            "the configuration has no `",
            f"set the value that should hold: `{BLOCK}.mcp.sessions.allow=",
        ),
    ],
)
def test_what_cannot_be_deleted_is_told_as_a_typo_or_what_to_set_instead(
    key: str, says: str, cure: str, text: str, refused: Refused
) -> None:
    (found,) = refused(text, f"~{BLOCK}.mcp.{key}")
    assert (found.code, found.file) == ("GMM504", f"override '~{BLOCK}.mcp.{key}'")
    assert (found.message.startswith(says), cure in str(found.hint)) == (True, True), found


def test_a_misspelt_key_of_a_flat_block_is_told_the_nearest(refused: Refused) -> None:
    for prefix in ("", "+", "++"):
        (found,) = refused("expose_tools_over_mcp: true", f"{prefix}mcp_secrte={SECRET}", server=None)
        assert found.file == "override 'mcp_secrte'"
        assert found.hint == "did you mean `mcp_secret`?"


def test_entries_of_a_list_have_no_add_form(read: Read) -> None:
    (found,) = judged(read(NESTED, f"{BLOCK}.mcp.catch_all_add=[{{route: '/{{p}}', tools_add: [{{name: a}}]}}]"))
    assert (found.code, found.message) == ("GMM201", "unknown key `tools_add` in `catch_all[0]`")


def test_what_hydra_keeps_for_itself_is_no_way_in(refused: Refused) -> None:
    (found,) = refused(NESTED, "hydra.job.name=x")
    assert (found.code, found.message) == ("GMM504", "the configuration has no `hydra`")


def test_a_mapping_that_is_an_interpolation_can_be_changed_and_its_source_stays(read: Read) -> None:
    text = (
        "office: {resources_servers: {office_dir: {expose_tools_over_mcp: true, mcp: '${shared}'}}}\n"
        "weather: {resources_servers: {weather_dir: {expose_tools_over_mcp: true, mcp: '${shared}'}}}\n"
        "shared: {server: {title: Both}}"
    )
    overrides = (f"{BLOCK}.mcp.server.instructions=Ours.", f"{BLOCK}.mcp.names.max_length=30")
    mine = read(text, *overrides)
    assert merged(mine) == {"server": {"title": "Both", "instructions": "Ours."}, "names": {"max_length": 30}}
    assert merged(read(text, *overrides, server="weather")) == {"server": {"title": "Both"}}


def test_an_override_above_the_block_is_a_layer_too(read: Read) -> None:
    instance = read(NESTED, "office={resources_servers: {office_dir: {mcp: {server: {title: T}}}}}")
    assert patches(instance) == [IN_FILE, {"server": {"title": "T"}}]
    assert instance.layers[1].name == "override 'office'"


def test_a_missing_variable_of_an_override_is_blamed_on_it(refused: Refused) -> None:
    for key in ("mcp_secret", "mcp.server.title"):
        (found,) = refused(NESTED, f"{BLOCK}.{key}='{SECRET}${{oc.env:SURELY_UNSET}}'")
        assert (found.code, found.file) == ("GMM501", f"override '{BLOCK}.{key}'")
        assert "'SURELY_UNSET' not found" in found.message
        assert f"{BLOCK}.{key}" in found.message


@pytest.mark.parametrize("value", ["???", "{title: ???}"])
def test_a_mandatory_value_that_an_override_leaves_open_is_missing(value: str, refused: Refused) -> None:
    key = "mcp.server.title" if value == "???" else "mcp.server"
    (found,) = refused(NESTED, f"{BLOCK}.{key}={value}")
    assert (found.code, found.file) == ("GMM501", f"override '{BLOCK}.{key}'")


# Positions in the file.


def judged(instance: Instance) -> tuple[Diagnostic, ...]:
    """What is wrong with a manifest that says nothing under the instance's layers."""
    try:
        manifest_from_mapping({"version": 1}).under_layers(instance.layers)
    except ManifestInvalid as error:
        return error.diagnostics
    return ()


def positions(read: Read, text: str, *overrides: str, **choice: Any) -> list[tuple[str, str]]:
    """Code and `line:column` (or the place in words) of each finding about a configuration."""
    try:
        found = judged(read(text, *overrides, **choice))
    except ManifestInvalid as error:
        found = error.diagnostics
    assert all(SECRET not in f"{d} {d!r}" for d in found)
    assert all(d.span is not None and (d.span.private or not d.line) for d in found)
    return [(d.code, f"{d.line}:{d.column}" if d.line else str(d.file).partition("config.yaml")[2]) for d in found]


HEAD = "office:\n  resources_servers:\n    office_dir:\n      expose_tools_over_mcp: true\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mcp_secrt: hunter2-hunter2", [("GMM502", "5:7")]),
        ("expose_tool_over_mcp: true", [("GMM502", "5:7")]),
        ("mcp_secret: 12345", [("GMM203", "5:19")]),
        ("mcp_secret: [hunter2-hunter2, '']", [("GMM203", "5:19")]),
        ("mcp_secret: ", [("GMM203", "5:18")]),
        ("mcp_manifest: 3", [("GMM203", "5:21")]),
        ("mcp_allowed_hosts: hunter2-hunter2", [("GMM203", "5:26")]),
        ("mcp_headers: {set: {Host: hunter2-hunter2}}", [("GMM203", "5:20")]),
        ("mcp_secret: 'hunter2-hunter2${oc.env:SURELY_UNSET}'", [("GMM501", "5:19")]),
        ("mcp_secret: [a, '${oc.env:SURELY_UNSET}']", [("GMM501", "5:19")]),
        ("mcp_secret: 'hunter2-hunter2${'", [("GMM501", "5:19")]),
        ("mcp: [a]", [("GMM203", "5:12")]),
        ("mcp: {rutes: {}}", [("GMM201", "5:13")]),
        ("mcp: {routes: {exclud_add: [/a]}}", [("GMM201", "5:22")]),
        ("mcp: {routes: {exclude: [/a, hunter2-hunter2]}}", [("GMM207", "5:36")]),
        ("mcp: {routes: {exclude_add: [/a, hunter2-hunter2]}}", [("GMM207", "5:40")]),
        ("mcp: {names: {max_length: hunter2-hunter2}}", [("GMM203", "5:33")]),
        ("mcp: {names: {max_length: }}", [("GMM204", "5:21")]),
        ("mcp: {server: {title: '${oc.env:SURELY_UNSET}'}}", [("GMM501", "5:29")]),
        ("mcp: {server: {titel: a}, names: {restore: 3}}", [("GMM201", "5:22"), ("GMM203", "5:50")]),
        ("mcp: {tools: {12: {title: A}}}", [("GMM108", "5:20")]),
    ],
)
def test_a_bad_key_or_value_of_the_block_has_its_place_in_the_file(
    line: str, expected: list[tuple[str, str]], read: Read
) -> None:
    assert positions(read, f"{HEAD}      {line}\n") == expected


def test_a_bad_key_or_value_of_a_flat_block_has_its_place_too(read: Read) -> None:
    text = "expose_tools_over_mcp: true\nmcp_secret: 3\nmcp_manifests: a\n"
    assert positions(read, text, server=None) == [("GMM203", "2:13"), ("GMM502", "3:1")]
    assert positions(read, "expose_tool_over_mcp: true", server=None) == [("GMM502", "1:1")]
    assert positions(read, "expose_tools_over_mcp: true\nmcp: {routs: {}}", server=None) == [("GMM201", "2:7")]


def test_our_keys_in_the_wrong_place_have_their_place_in_the_file(read: Read) -> None:
    top = f"{HEAD}mcp_secret: {SECRET}\n"
    assert positions(read, top) == [("GMM502", "5:1")]
    beside = f"{HEAD}  expose_tools_over_mcp: true\n"
    assert positions(read, beside) == [("GMM502", "5:3")]
    below = f"{HEAD}    mcp: {{}}\n"
    assert positions(read, below) == [("GMM502", "5:5")]


def test_syntax_that_nobody_can_read_has_its_place(read: Read) -> None:
    assert positions(read, f"{HEAD}      mcp_secret: [{SECRET}\n") == [("GMM501", "6:1")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Merge keys: the strict reader knows none, so what they bring in is placed at the block.
        ("base: &base {server: {titel: A}}\n" + HEAD + "      mcp: {<<: *base}\n", ("GMM201", "6:7")),
        ("base: &base {mcp: {server: {titel: A}}}\n" + HEAD + "      <<: *base\n", ("GMM201", ": office: mcp")),
        ("base: &base {mcp_secret: 3}\n" + HEAD + "      <<: *base\n", ("GMM203", ": office")),
        # Spellings of YAML 1.1 that mean something else, or nothing, to the strict reader.
        (HEAD + "      mcp: {names: {max_length: no}}\n", ("GMM203", "5:33")),
        (HEAD + "      mcp: {names: {max_length: 010, restore: 010}}\n", ("GMM203", "5:47")),
        # Text that it does not read to its end.
        (HEAD + '      mcp_secret: 3\nnote: "\x85"\n', ("GMM203", ": office")),
    ],
)
def test_where_the_strict_reader_refuses_the_file_what_omegaconf_reads_counts(
    text: str, expected: tuple[str, str], read: Read
) -> None:
    assert positions(read, text) == [expected]


def test_omegaconfs_reading_decides_the_values(read: Read) -> None:
    text = f"base: &base {{max_length: 010}}\n{HEAD}      mcp: {{names: {{<<: *base, restore: no}}}}\n"
    assert merged(read(text)) == {"names": {"max_length": 8, "restore": False}}


def test_a_block_that_came_from_code_has_no_place() -> None:
    on = {"expose_tools_over_mcp": True, "mcp": {"names": {"max_length": "a"}}}
    for block in (on, OmegaConf.create(on)):
        (found,) = judged(instance_from_block("unit", block))
        assert (found.file, found.line) == ("the instance's block: mcp", None)


def test_neither_layers_nor_their_places_show_in_a_repr(read: Read) -> None:
    instance = read(f"{HEAD}      mcp: {{server: {{title: {SECRET}}}}}", f"{BLOCK}.mcp.names.patterns=[{SECRET}]")
    manifest = manifest_from_mapping({"version": 1, "names": {"normalize": True}})
    assert SECRET not in repr(instance)
    assert SECRET not in repr(manifest.layered.under(instance.layers[0]).places)


# What expose() takes.


@pytest.fixture
def app(make_app: Callable[..., FastAPI]) -> FastAPI:
    app = make_app()

    @app.post("/a")
    async def a() -> dict[str, str]:
        return {}

    @app.post("/b")
    async def b() -> dict[str, str]:
        return {}

    return app


def tool_names(plan: ExposurePlan) -> list[str]:
    return [tool.name for tool in plan.tools]


PATCHED = {"expose_tools_over_mcp": True, "mcp_secret": [SECRET], "mcp": {"routes": {"exclude_add": ["/b"]}}}


def blocks() -> Iterator[Any]:
    yield PATCHED
    yield OmegaConf.create(PATCHED)
    yield OmegaConf.create({"a": {"b": PATCHED}}).a.b
    yield {**PATCHED, "mcp": OmegaConf.create(PATCHED["mcp"]), "mcp_secret": OmegaConf.create([SECRET])}
    yield instance_from_block("unit", PATCHED)
    interpolated: DictConfig = OmegaConf.create({"key": SECRET, "in": {**PATCHED, "mcp_secret": "${key}"}})
    yield interpolated["in"]


@pytest.mark.parametrize(
    "block", list(blocks()), ids=["mapping", "node", "deep", "mixed", "record", "interpolated"]
)
def test_an_instance_is_a_mapping_or_a_node(block: Any, app: FastAPI) -> None:
    plan = expose(app, name="unit", instance=block)
    assert (plan.on, tool_names(plan)) == (True, ["a"])
    assert SECRET not in repr(plan)


@pytest.mark.parametrize("block", [None, {}, {"expose_tools_over_mcp": False}, OmegaConf.create({"a": 1})])
def test_without_the_flag_nothing_is_exposed(block: Any, app: FastAPI) -> None:
    before = list(app.user_middleware)
    plan = expose(app, name="unit", instance=block)
    assert (plan.on, plan.tools) == (False, ())
    assert app.user_middleware == before
    assert "build_middleware_stack" not in vars(app)


@pytest.mark.parametrize("block", [3, "on", [], [PATCHED], OmegaConf.create([1])])
def test_what_is_no_block_is_refused(block: Any, app: FastAPI) -> None:
    with pytest.raises(ManifestInvalid):
        expose(app, name="unit", instance=block)


def test_a_manifest_comes_in_every_form(app: FastAPI, tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("version: 1\nroutes: {include: [/b]}", encoding="utf-8")
    on = {"expose_tools_over_mcp": True}
    for manifest in (path, str(path), load_manifest(path), {"version": 1, "routes": {"include": ["/b"]}}):
        plan = expose(FastAPI(routes=app.routes), name="unit", manifest=manifest, instance=on, secret="s")
        assert tool_names(plan) == ["b"]
    assert tool_names(expose(app, name="unit", instance=on)) == ["a", "b"]


def test_the_instance_names_a_manifest_in_the_folder(app: FastAPI, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("version: 1\nroutes: {include: [/b]}", encoding="utf-8")
    block = {"expose_tools_over_mcp": True, "mcp_manifest": "other.yaml"}
    assert tool_names(expose(app, name="unit", instance=block, folder=tmp_path)) == ["b"]


def test_a_manifest_that_is_given_beats_the_one_that_is_named(app: FastAPI, tmp_path: Path) -> None:
    block = {"expose_tools_over_mcp": True, "mcp_manifest": "missing.yaml"}
    plan = expose(app, name="unit", manifest={"version": 1}, instance=block, folder=tmp_path)
    assert tool_names(plan) == ["a", "b"]


def test_a_named_manifest_that_is_missing_stops_the_boot(app: FastAPI, tmp_path: Path) -> None:
    block = {"expose_tools_over_mcp": True, "mcp_manifest": "missing.yaml"}
    with pytest.raises(ManifestInvalid) as caught:
        expose(app, name="unit", instance=block, folder=tmp_path)
    assert caught.value.diagnostics[0].code == "GMM101"


def test_a_configured_secret_stays_out_of_tracebacks(app: FastAPI) -> None:
    block = {**PATCHED, "mcp": {"routes": {"exclude_add": ["/nowhere"]}}}
    with pytest.raises(Exception, match="GMM601") as caught:
        expose(app, name="unit", instance=block)
    assert SECRET not in "".join(traceback.format_exception(caught.value))

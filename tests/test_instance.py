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


# Which block counts.


def test_an_instance_in_nemo_gyms_shape_is_read(read: Read) -> None:
    instance = read()
    assert (instance.name, instance.folder, instance.on) == ("office", "office_dir", True)
    assert instance.patch == {"routes": {"exclude_add": ["/debug"]}}
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
        ("a: [b", "line 1"),
        ("a: 1\na: 2", "line 2"),
        (f"mcp_secret: [{SECRET}", "line"),
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


def test_headers_are_refused_as_not_yet_supported() -> None:
    with pytest.raises(ManifestInvalid) as caught:
        instance_from_block("unit", {"mcp_headers": {"set": {"X-API-Key": SECRET}}})
    (found,) = caught.value.diagnostics
    assert found.code == "GMM206"
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
        ("mcp.routes.include", "[]", {"routes": {"exclude_add": ["/debug"], "include": []}}),
        ("mcp.names.max_length", "30", {"routes": {"exclude_add": ["/debug"]}, "names": {"max_length": 30}}),
        ("mcp.names.normalize", "false", {"routes": {"exclude_add": ["/debug"]}, "names": {"normalize": False}}),
        ("mcp.sessions.max_age", "null", {"routes": {"exclude_add": ["/debug"]}, "sessions": {"max_age": None}}),
        (
            "mcp.tools.get_weather.description",
            "'Other words, with = and ''quotes''.'",
            None,
        ),
        (
            "mcp.tools.get-it_2",
            "{title: It}",
            {"routes": {"exclude_add": ["/debug"]}, "tools": {"get-it_2": {"title": "It"}}},
        ),
    ],
)
def test_every_key_of_the_language_can_be_set(
    prefix: str, key: str, value: str, patch: dict[str, Any] | None, read: Read
) -> None:
    value = value.replace("''", "\\'")
    given = read(NESTED, f"{prefix}{BLOCK}.{key}={value}").patch
    expected = {
        "routes": {"exclude_add": ["/debug"]},
        "tools": {"get_weather": {"description": "Other words, with = and 'quotes'."}},
    }
    assert given == (patch or expected)


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
        assert (instance.on, instance.patch) == (True, {"tools": {"a": {"title": "A"}}})


def test_later_overrides_win_and_mappings_merge(read: Read) -> None:
    patch = read(
        NESTED,
        f"{BLOCK}.mcp.tools.a.title=One",
        f"{BLOCK}.mcp.tools.a={{description: Two}}",
        f"{BLOCK}.mcp.tools.a.title=Three",
    ).patch
    assert patch["tools"] == {"a": {"title": "Three", "description": "Two"}}


def test_what_is_written_can_be_deleted(read: Read) -> None:
    assert read(NESTED, f"~{BLOCK}.mcp.routes").patch == {}
    assert read(NESTED, f"~{BLOCK}.mcp").patch == {}
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
        (f"{BLOCK}.mcp.routes.exclude_add.0=/z", "is no mapping"),
        (f"~{BLOCK}.mcp.routes.exclude_add.0", "is no mapping"),
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


def test_a_misspelt_key_of_the_language_is_refused_when_the_patch_is_laid_over(read: Read) -> None:
    instance = read(NESTED, f"+{BLOCK}.mcp.routes.exclud_add=[/a]")
    with pytest.raises(ManifestInvalid) as caught:
        expose(FastAPI(), name="unit", instance=instance)
    (found,) = caught.value.diagnostics
    assert found.code == "GMM201"
    assert "did you mean `exclude_add`?" in str(found.hint)
    assert str(found.file).endswith("config.yaml: office: mcp")


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

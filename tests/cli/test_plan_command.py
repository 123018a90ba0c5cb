"""`gym-mcp plan`: every decision, as aligned lines and as stable JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.manifest.keys import usable_keys

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
OFFICE = "manifests/office"
OFF = "office.resources_servers.office.expose_tools_over_mcp=false"


def test_the_office_server_has_27_tools(run_here: Run) -> None:
    ran = run_here("plan", OFFICE, "--config", f"{OFFICE}/config.yaml")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[:3] == ["office: 27 tools at /mcp", "", "via `catch_all[0]` on POST /{path}:"]
    rows = [line.split() for line in lines if " direct " in line]
    assert len({name for name, _, _ in rows}) == 27
    assert all(place.startswith(f"{OFFICE}/data/tools/") for _, _, place in rows)
    assert len({line.index(" direct ") for line in lines if " direct " in line}) == 1
    assert "not exposed:" in lines
    assert any(re.fullmatch("  POST /verify +a route of the harness; never a tool", line) for line in lines)
    assert "No configuration" not in ran.err


def test_piped_output_folds_no_name_and_is_plain(run: Run) -> None:
    ran = run("plan", OFFICE)
    (row,) = [line for line in ran.out.splitlines() if "customer_relationship_manager_search_customers" in line]
    assert row.startswith("  customer_relationship_manager_search_customers  direct  ")
    assert re.search(r"  manifests/office/data/tools/customer_relationship_manager\.json:\d+:\d+$", row)
    assert "\x1b" not in ran.out


def test_a_narrow_terminal_folds_no_line(run: Run) -> None:
    assert run("plan", OFFICE, env={"COLUMNS": "40"}).out == run("plan", OFFICE).out


def test_routes_stand_under_the_reason_that_they_share(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(
        "version: 1\nroutes: {include: ['/*p', /greet]}\ntools: {greet: {name: hello}}", encoding="utf-8"
    )
    out = run_here("plan", server, cwd=server).out
    assert "POST /sleep, included by `/*p`:\n  sleep  direct  " in out
    assert "POST /greet, included by `/greet`:\n  hello (own name greet)  direct  " in out
    (server / "mcp.yaml").write_text("version: 1", encoding="utf-8")
    out = run_here("plan", server).out
    assert (
        "included by `/**` (the default):\n"
        "  greet  POST /greet  direct\n"
        "  fail   POST /fail   direct\n"
        "  sleep  POST /sleep  direct\n" in out
    )


def test_json_is_stable_and_in_the_order_of_the_plan(run: Run) -> None:
    one, two = (run("plan", OFFICE, "--json", env={"PYTHONHASHSEED": seed}) for seed in "12")
    assert one.out == two.out
    payload = json.loads(one.out)
    assert list(payload) == [
        "format_version",
        "server",
        "exposed",
        "boots",
        "tools",
        "excluded",
        "settings",
        "dropped",
        "refused",
        "findings",
    ]
    assert (payload["format_version"], payload["server"], payload["exposed"], payload["boots"]) == (
        1,
        "office",
        True,
        True,
    )
    files = sorted((ROOT / OFFICE / "data" / "tools").glob("*.json"))
    specs = [spec["name"] for file in files for spec in json.loads(file.read_text(encoding="utf-8"))["tools"]]
    assert [tool["name"] for tool in payload["tools"]] == specs
    assert all(tool["input_schema"]["type"] == "object" and tool["decided_at"] for tool in payload["tools"])
    assert {entry["route"] for entry in payload["excluded"]} >= {"POST /verify", "POST /seed_session"}
    assert all(entry["reason"] for entry in payload["excluded"])


def test_exposure_that_is_off_says_so_and_how_to_turn_it_on(run_here: Run) -> None:
    ran = run_here("plan", OFFICE, OFF)
    assert ran.code == 0
    assert "office: nothing is exposed" in ran.out
    assert "expose_tools_over_mcp: true" in ran.out
    payload = json.loads(run_here("plan", OFFICE, OFF, "--json").out)
    assert (payload["exposed"], payload["tools"]) == (False, [])


def test_without_a_configuration_the_assumption_is_told(run_here: Run, server: Path) -> None:
    ran = run_here("plan", server)
    assert ran.code == 0
    assert "assuming an instance with exposure on" in ran.err
    assert "little: 3 tools at /mcp" in ran.out
    assert f"No mcp.yaml in {server}: the language's defaults apply." in ran.err
    assert run_here("plan", server, "--server", "other").out.startswith("other: 3 tools")
    (server / "mcp.yaml").write_text("version: 1\nroutes: {include: [/greet]}", encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.out.startswith("little: 1 tool at /mcp\n")
    assert "defaults apply" not in ran.err


@pytest.mark.parametrize("name", ["mcp.yml", "mcp.json", "MCP.yaml"])
def test_a_manifest_of_another_name_is_not_passed_over(name: str, run_here: Run, server: Path) -> None:
    text = '{"version": 1, "routes": {"include": ["/greet"]}}'
    (server / name).write_text(text, encoding="utf-8")
    if (server / "mcp.yaml").exists():
        pytest.skip("names of files do not tell capitals apart here")
    ran = run_here("plan", server)
    assert (ran.code, ran.out) == (1, "")
    assert f"{server / name}:1:1: error[GMM610]" in ran.err
    assert f"rename it to mcp.yaml, or set `mcp_manifest: {name}`" in ran.err
    (server / "config.yaml").write_text(f"expose_tools_over_mcp: true\nmcp_manifest: {name}", encoding="utf-8")
    assert run_here("plan", server).out.startswith("little: 1 tool at /mcp\n")


def test_a_manifest_that_the_configuration_names_must_be_there(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: true\nmcp_manifest: my.yaml", encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.code == 1
    assert f"{server}/my.yaml:1:1: error[GMM101] the file does not exist" in ran.err
    assert "help: correct `mcp_manifest`" in ran.err


@pytest.mark.parametrize(
    "form", ["{folder}", "{folder}/app.py", "{folder}/app.py:app", "{folder}:make", "app:app"]
)
def test_a_target_has_several_forms(form: str, run_here: Run, server: Path) -> None:
    path = server / "app.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n\ndef make():\n    return app\n", encoding="utf-8")
    assert "little: 3 tools" in run_here("plan", form.format(folder=server), cwd=server).out


def test_an_override_reaches_the_manifest(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    ran = run_here("plan", server, "mcp.routes.exclude_add=[/fail]", "+mcp.tools.greet.title=Hello", "--json")
    payload = json.loads(ran.out)
    assert [(tool["name"], tool["title"]) for tool in payload["tools"]] == [("greet", "Hello"), ("sleep", None)]
    (excluded,) = (entry for entry in payload["excluded"] if entry["route"] == "POST /fail")
    assert excluded["decided_at"] == "override 'mcp.routes.exclude_add'"


def test_an_override_without_a_configuration_is_refused(run_here: Run, server: Path) -> None:
    ran = run_here("plan", server, "mcp.routes.include=[]")
    cure = "write a config.yaml, for example `expose_tools_over_mcp: true`, beside the app, or give --config"
    assert (ran.code, cure in ran.err) == (1, True)


def test_a_plan_that_would_not_boot_says_so(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/gret]}", encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.code == 1
    assert "error[GMM601]" in ran.out
    assert "mcp.yaml:2:20" in ran.out
    assert ran.out.startswith("little: would not boot: 1 error\n")
    assert ran.out.index("not refused: 3 tools") < ran.out.index("refused:\n") < ran.out.index("error[GMM601]")
    refused = ran.out.partition("\nrefused:\n")[2].splitlines()
    assert refused[0].split() == [f"{server}/mcp.yaml:2:20", "GMM601"]
    ran = run_here("plan", server, "--json")
    assert (ran.code, json.loads(ran.out)["boots"]) == (1, False)


TARGETS = {
    "no folder": ("nowhere", "neither a folder"),
    "no file": ("nowhere/app.py", "there is no file"),
    "no app in the folder": ("schemas", "has no app.py"),
    "no module": ("no_such_module:app", "No module named"),
    "no attribute": ("manifests/weather:ap", "did you mean `:app`?"),
    "no app": ("manifests/weather:uuid4", "no FastAPI app"),
}


@pytest.mark.parametrize("case", TARGETS)
def test_a_target_that_cannot_be_loaded_is_told(case: str, run_here: Run) -> None:
    target, says = TARGETS[case]
    ran = run_here("plan", target)
    assert ran.code == 1
    assert "error[GMM610]" in ran.err
    assert says in ran.err


BROKEN = {
    "a missing module": (
        "x = 1\nimport no_such_module\n",
        2,
        "ModuleNotFoundError",
        "install or correct the import of 'no_such_module'",
    ),
    "bad syntax": ("x = 1\ny = (\n", 2, "SyntaxError", None),
    "a fault in a library": ("import json\n\njson.loads('[')\n", 3, "JSONDecodeError", "importable first"),
    "an exit": ("import sys\nsys.exit('set KEY first')\n", 2, "set KEY first", "importable first"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_app_that_breaks_on_import_names_its_own_line(case: str, run_here: Run, server: Path) -> None:
    text, line, says, cure = BROKEN[case]
    (server / "app.py").write_text(text, encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.code == 1
    assert f"{server}/app.py:{line}:" in ran.err
    assert says in ran.err
    assert ("  help: " in ran.err) is (cure is not None)
    assert (cure or "") in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml:1:1: error[GMM501]"),
        (["--config", "schemas"], "schemas:1:1: error[GMM501]"),
        (["--config", "README.md"], ": error[GMM501] the configuration cannot be read"),
        (["--server", "offce"], "did you mean `office`?"),
        (["offce.resources_servers.office.mcp_secret=hunter2"], "did you mean `office`?"),
    ],
)
def test_a_bad_configuration_is_told(arguments: list[str], says: str, run_here: Run) -> None:
    ran = run_here("plan", OFFICE, *arguments)
    assert (ran.code, says in ran.err) == (1, True)
    assert "hunter2" not in ran.text


def test_secrets_are_never_shown(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text(
        "expose_tools_over_mcp: true\nmcp_secret: hunter2-hunter2\nmcp: {routes: {include: 3}}", encoding="utf-8"
    )
    for arguments in ((), ("--json",), ("mcp.routes.include=[/greet]",), ("mcp_secret=[hunter2-hunter2,3]",)):
        assert "hunter2" not in run_here("plan", server, *arguments).text


def test_entries_that_a_replaced_list_drops_are_named(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/fail, /sleep]}", encoding="utf-8")
    config = server / "config.yaml"
    config.write_text("expose_tools_over_mcp: true\nmcp: {routes: {exclude: [/sleep]}}", encoding="utf-8")
    ran = run_here("plan", server)
    rows = ran.out.partition("dropped, since a layer wrote the list anew:\n")[2].splitlines()
    assert rows[0].split() == ["routes.exclude", "/fail", "by", f"{config}:2:25"]
    (entry,) = json.loads(run_here("plan", server, "--json").out)["dropped"]
    assert entry == {
        "list": "routes.exclude",
        "entries": ["/fail"],
        "by": f"{config}:2:25",
        "written_at": f"{server}/mcp.yaml:2:19",
    }
    config.write_text("expose_tools_over_mcp: true\nmcp: {routes: {exclude_add: [/greet]}}", encoding="utf-8")
    assert "dropped" not in run_here("plan", server).out


def test_dropped_entries_of_the_instance_are_not_quoted(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text(
        "expose_tools_over_mcp: true\nmcp: {routes: {exclude: [/hunter2-hunter2]}}", encoding="utf-8"
    )
    for form in ((), ("--json",)):
        ran = run_here("plan", server, "mcp.routes.exclude=[/fail]", *form)
        assert (ran.code, "entry 1" in ran.out, "hunter2" in ran.text) == (0, True, False)


def test_json_says_where_each_value_of_a_tool_comes_from(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\ntools: {greet: {title: Hello}}", encoding="utf-8")
    tool = json.loads(run_here("plan", server, "--json").out)["tools"][0]
    assert list(tool["origins"]) == sorted(tool["origins"])
    assert tool["origins"]["title"] == f"{server}/mcp.yaml:2:24"
    assert re.fullmatch(r".*app\.py:\d+:1", tool["origins"]["description"])
    assert tool["output_schema"] is None


SET = """\
version: 1
server: {title: Little}
routes: {exclude: [/fail]}
names: {max_length: 70}
tools:
  greet: {annotations: {readOnlyHint: true}, arguments: {unit: {value: metric}}}
  "g*": {annotations: {idempotentHint: true}}
"""
LAID = """\
expose_tools_over_mcp: true
mcp_secret: hunter2-hunter2
mcp_allowed_hosts: [hunter2.example.org]
mcp:
  server: {instructions: Be kind.}
  names: {max_length: 80}
  routes: {exclude_add: [/sleep, {match: /hunter2, optional: true}]}
  sessions: {mode: token, allow: [{when: "who == 'hunter2'", tools: [greet]}], otherwise: all}
  skip_middleware: ["*.GZipMiddleware"]
  tools: {greet: {arguments: {token: {value: hunter2}}}}
"""


def test_each_setting_that_a_layer_wrote_has_its_value_and_its_origins(run_here: Run, server: Path) -> None:
    app = server / "app.py"
    zipped = "from starlette.middleware.gzip import GZipMiddleware\napp.add_middleware(GZipMiddleware)\n"
    app.write_text(app.read_text(encoding="utf-8") + zipped, encoding="utf-8")
    (server / "mcp.yaml").write_text(SET, encoding="utf-8")
    config = server / "config.yaml"
    config.write_text(LAID, encoding="utf-8")
    ran = run_here("plan", server, "mcp.limits.request_bytes=5000")
    assert ran.code == 0
    text = ran.out.partition("settings (everything else by the language's defaults):\n")[2]
    rows = [re.split(r" {2,}", line.strip()) for line in text.partition("\n\n")[0].splitlines()]
    exclude = '["/fail", "/sleep", "(set by the instance)"]'
    hidden, block = "(set by the instance)", "the instance's configuration"
    assert rows == [
        ["server.title", '"Little"', f"{server}/mcp.yaml:2:17"],
        ["server.instructions", '"Be kind."', f"{config}:5:26"],
        ["skip_middleware", hidden, f"{config}:9:20"],
        ["routes.exclude", exclude, f"{server}/mcp.yaml:3:19; {config}:7:25"],
        ["sessions.mode", '"token"', f"{config}:8:20"],
        ["sessions.allow", hidden, f"{config}:8:34"],
        ["sessions.otherwise", '"all"', f"{config}:8:91"],
        ["names.max_length", "80", f"{config}:6:23"],
        ["limits.request_bytes", "5000", "override 'mcp.limits.request_bytes'"],
        ["mcp_secret", hidden, block],
        ["mcp_allowed_hosts", hidden, block],
    ]
    for form in ((), ("--json",)):
        assert "hunter2" not in run_here("plan", server, *form).text


def test_json_has_every_setting_defaults_as_well(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text(SET, encoding="utf-8")
    (server / "config.yaml").write_text(LAID, encoding="utf-8")
    payload = json.loads(run_here("plan", server, "--json").out)
    settings = payload["settings"]
    assert settings["names.restore"] == {"value": True, "origin": "the language's default"}
    assert settings["names.max_length"]["value"] == 80
    assert settings["sessions.allow"]["value"] == "(set by the instance)"
    assert settings["dispatch"]["value"] == "direct"
    models = ("server", "routes", "sessions", "names", "limits")
    keys = {f"{section}.{key}" for section in models for key in usable_keys((section,))}
    assert keys | {"dispatch", "skip_middleware"} <= settings.keys()
    (greet,) = payload["tools"]
    assert greet["arguments"] == {
        "token": {
            "state": "fixed and hidden",
            "value": "(set by the instance)",
            "from": f"{server}/config.yaml:10:46",
        },
        "unit": {"state": "fixed and hidden", "value": "metric", "from": f"{server}/mcp.yaml:6:72"},
    }
    assert greet["origins"]["annotations.readOnlyHint"] == f"{server}/mcp.yaml:6:39"
    assert greet["origins"]["annotations.idempotentHint"] == f"{server}/mcp.yaml:7:40"


def test_where_nobody_set_anything_one_line_says_so(run_here: Run, server: Path) -> None:
    out = run_here("plan", server).out
    assert out.partition("settings (")[2].splitlines()[0] == "everything by the language's defaults):"


@pytest.mark.parametrize(("signature", "can"), [("path: str", True), ("path: str, file: UploadFile", False)])
def test_the_cure_for_a_dispatcher_without_tools_can_be_pasted(
    signature: str, can: bool, run_here: Run, server: Path
) -> None:
    route = f'\n\n@app.post("/{{path}}")\nasync def any_tool({signature}) -> dict:\n    return {{}}\n'
    path = server / "app.py"
    code = path.read_text(encoding="utf-8").replace("import FastAPI", "import FastAPI, UploadFile", 1)
    path.write_text(code + route, encoding="utf-8")
    (server / "data").mkdir()
    (server / "data" / "tools.json").write_text('[{"name": "look"}]', encoding="utf-8")
    ran = run_here("plan", server)
    cures = re.findall(r"`(catch_all: .*?)`", ran.out.partition("warning[GMM609]")[2])
    assert [("YOUR_SPECS" in cure, "ignore: true" in cure) for cure in cures] == (
        [(True, False), (False, True)] if can else [(False, True)]
    )
    for cure in cures:
        pasted = cure.replace("YOUR_SPECS", "data/tools.json")
        (server / "mcp.yaml").write_text(f"version: 1\n{pasted}\n", encoding="utf-8")
        ran = run_here("plan", server)
        assert (ran.code, "look  direct" in ran.out) == (0, "YOUR_SPECS" in cure)
        assert "GMM609" not in ran.out

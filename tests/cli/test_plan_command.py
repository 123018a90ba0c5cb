"""`gym-mcp plan`: every decision, as a table and as stable JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
OFFICE = "manifests/office"
OFF = "office.resources_servers.office.expose_tools_over_mcp=false"


def test_the_office_server_has_27_tools(run_here: Run) -> None:
    ran = run_here("plan", OFFICE, "--config", f"{OFFICE}/config.yaml")
    assert ran.code == 0
    assert "office: 27 tools at /mcp" in ran.out
    rows = [line for line in ran.out.splitlines() if "POST /" in line and "direct" in line]
    assert len(rows) == 27
    assert "not exposed" in ran.out
    assert "No configuration" not in ran.err


def test_piped_output_folds_no_name_and_is_plain(run: Run) -> None:
    ran = run("plan", OFFICE)
    (row,) = [line for line in ran.out.splitlines() if "customer_relationship_manager_search_customers" in line]
    assert "POST /{path}" in row
    assert "manifests/office/data/tools/customer_relationship_manager.json:1:1" in row
    assert "\x1b" not in ran.out


def test_columns_fold_where_they_are_asked_for(run: Run) -> None:
    ran = run("plan", OFFICE, env={"COLUMNS": "80"})
    assert max(map(len, ran.out.splitlines())) <= 80


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
    assert run_here("plan", server, "--server", "other").out.startswith("other: 3 tools")


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
    assert "config.yaml" in excluded["decided_at"]


def test_an_override_without_a_configuration_is_refused(run_here: Run, server: Path) -> None:
    ran = run_here("plan", server, "mcp.routes.include=[]")
    assert (ran.code, "--config" in ran.err) == (1, True)


def test_a_plan_that_would_not_boot_says_so(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/gret]}", encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.code == 1
    assert "error[GMM601]" in ran.out
    assert "mcp.yaml:2:20" in ran.out
    assert "The app would not boot." in ran.out
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
    "a missing module": ("x = 1\nimport no_such_module\n", 2, "ModuleNotFoundError"),
    "bad syntax": ("x = 1\ny = (\n", 2, "SyntaxError"),
    "a fault in a library": ("import json\n\njson.loads('[')\n", 3, "JSONDecodeError"),
    "an exit": ("import sys\nsys.exit('set KEY first')\n", 2, "set KEY first"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_app_that_breaks_on_import_names_its_own_line(case: str, run_here: Run, server: Path) -> None:
    text, line, says = BROKEN[case]
    (server / "app.py").write_text(text, encoding="utf-8")
    ran = run_here("plan", server)
    assert ran.code == 1
    assert f"{server}/app.py:{line}:" in ran.err
    assert says in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml: error[GMM501]"),
        (["--config", "schemas"], "schemas: error[GMM501]"),
        (["--config", "README.md"], "README.md: error[GMM50"),
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

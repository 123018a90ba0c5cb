"""`gym-mcp call`: one session, one call, against a target or a running server."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Start = Callable[..., Any]


def test_a_call_of_a_target_prints_what_the_tool_answered(run: Run) -> None:
    ran = run("call", "manifests/weather", "get_weather", '{"city": "Paris"}')
    assert ran.code == 0
    assert "Paris" in json.loads(ran.out)["weather"]
    assert "error" not in ran.err


def test_arguments_come_from_standard_input_too(run: Run, server: Path) -> None:
    ran = run("call", server, "greet", "-", "--seed", '{"who": "Ada"}', stdin='{"n": 1}')
    assert (ran.code, json.loads(ran.out)) == (0, {"hello": "Ada", "with": {"n": 1}})


def test_a_running_server_is_called_by_its_url(run_here: Run, start: Start, server: Path, tmp_path: Path) -> None:
    served = start("serve", server, "--expose", "--port", "0")
    url = served.url()

    ran = run_here("call", url)
    assert (ran.code, ran.out) == (0, "greet\tGreets whoever was seeded.\nfail\nsleep\n")

    seed = tmp_path / "seed.json"
    seed.write_text('{"who": "Ada"}', encoding="utf-8")
    for given, at in ((f"@{seed}", url), ('{"who": "Ada"}', f"{url}/"), (f"@{seed}", f"{url}/mcp")):
        ran = run_here("call", at, "greet", '{"n": 1}', "--seed", given)
        assert (ran.code, json.loads(ran.out)) == (0, {"hello": "Ada", "with": {"n": 1}})

    ran = run_here("call", url, "fail")
    assert (ran.code, ran.out) == (1, "")
    assert "HTTP 409 from POST /fail: not today" in ran.err

    ran = run_here("call", url, "fail", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["isError"] is True

    ran = run_here("call", url, "nothing")
    assert (ran.code, "Unknown tool 'nothing'." in ran.err) == (1, True)

    ran = run_here("call", url, "--seed", '{"refuse": true}')
    assert (ran.code, "418" in ran.err, "no teapots" in ran.err) == (1, True, True)

    calling = start("call", url, "sleep")
    served.wait_for("asleep")
    assert calling.process.poll() is None, calling.log
    assert calling.stop(signal.SIGINT) == 130
    assert "Traceback" not in calling.log


def test_a_long_call_of_a_target_can_be_interrupted(start: Start, server: Path) -> None:
    calling = start("call", server, "sleep")
    calling.wait_for("asleep")
    assert calling.process.poll() is None, calling.log
    assert calling.stop(signal.SIGINT) == 130
    assert calling.log.strip().endswith("gym-mcp: interrupted")
    assert "Traceback" not in calling.log


def test_the_list_as_json_is_what_an_agent_gets(run_here: Run, server: Path) -> None:
    ran = run_here("call", server, "--json")
    assert [tool["name"] for tool in json.loads(ran.out)["tools"]] == ["greet", "fail", "sleep"]
    assert all(tool["inputSchema"]["type"] == "object" for tool in json.loads(ran.out)["tools"])


def test_a_task_row_narrows_the_office_and_an_empty_list_leaves_no_tool(run_here: Run) -> None:
    for names in (["email_send_email"], []):
        seed = json.dumps({"verifier_metadata": {"allowed_tools": names}})
        ran = run_here("call", "manifests/office", "--seed", seed)
        assert (ran.code, [line.partition("\t")[0] for line in ran.out.splitlines()]) == (0, names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["greet", "{bad"], "not JSON"),
        (["greet", "[1]"], "expected a JSON object, found list"),
        (["greet", "{}", "--seed", "{bad"], "--seed"),
        (["greet", "{}", "--seed", "@nowhere.json"], "nowhere.json cannot be read"),
        (["greet", ""], "not JSON"),
    ],
)
def test_bad_json_is_wrong_usage(arguments: list[str], says: str, run_here: Run, server: Path) -> None:
    ran = run_here("call", server, *arguments)
    assert (ran.code, says in ran.err) == (2, True)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid", "http://"])
def test_an_url_that_nobody_answers_is_told(url: str, run_here: Run) -> None:
    ran = run_here("call", url, "greet")
    assert ran.code == 1
    assert "cannot be reached" in ran.err


def test_an_app_that_would_not_boot_is_told(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nroutes: {exclude: [/gret]}", encoding="utf-8")
    ran = run_here("call", server, "greet")
    assert (ran.code, "error[GMM601]" in ran.err) == (1, True)


def test_a_target_whose_configuration_leaves_exposure_off_is_not_called(run_here: Run, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: false", encoding="utf-8")
    ran = run_here("call", server, "greet")
    assert (ran.code, ran.out) == (1, "")
    assert "little: exposure is off" in ran.err
    assert "set `expose_tools_over_mcp: true`" in ran.err
    ran = run_here("call", server, "greet", "{}", "expose_tools_over_mcp=true")
    assert (ran.code, json.loads(ran.out)["hello"]) == (0, "nobody")


def test_a_server_without_exposure_is_told(run_here: Run, start: Start, server: Path) -> None:
    (server / "config.yaml").write_text("expose_tools_over_mcp: false", encoding="utf-8")
    ran = run_here("call", start("serve", server, "--port", "0").url(), "greet")
    assert (ran.code, "is exposure on?" in ran.err) == (1, True)


def test_without_sessions_a_target_is_called_without_a_seed(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\nsessions: {mode: none}", encoding="utf-8")
    assert "greet\t" in run_here("call", server).out
    # A seed that the app would refuse is not even sent.
    ran = run_here("call", server, "fail", "--seed", '{"refuse": true}')
    assert (ran.code, "HTTP 409 from POST /fail: not today" in ran.err) == (1, True)
    (server / "mcp.yaml").write_text("version: 1", encoding="utf-8")
    (server / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    ran = run_here("call", server, "fail", "{}", "mcp.sessions.mode=none", "--seed", '{"refuse": true}')
    assert (ran.code, "not today" in ran.err) == (1, True)


def test_headers_are_sent_with_the_seed_and_the_call(run_here: Run, server: Path) -> None:
    (server / "mcp.yaml").write_text("version: 1\ndispatch: route", encoding="utf-8")
    (server / "config.yaml").write_text(
        "expose_tools_over_mcp: true\nmcp_headers: {forward: [x-key]}", encoding="utf-8"
    )
    told = """

@app.post("/told")
async def told(request: Request) -> list:
    return request.headers.getlist("x-key")
"""
    (server / "app.py").write_text((server / "app.py").read_text(encoding="utf-8") + told, encoding="utf-8")
    assert json.loads(run_here("call", server, "told", "--header", "X-Key: open").out) == ["open"]
    ran = run_here("call", server, "told", "--header", "the-key")
    assert (ran.code, "--header: expected `Name: value`" in ran.err, "the-key" in ran.err) == (2, True, False)


def test_without_sessions_a_running_server_is_called_without_a_token(
    run_here: Run, start: Start, server: Path
) -> None:
    (server / "mcp.yaml").write_text("version: 1\nsessions: {mode: none}", encoding="utf-8")
    url = start("serve", server, "--expose", "--port", "0").url()
    assert "greet\t" in run_here("call", url).out
    ran = run_here("call", url, "fail")
    assert (ran.code, "HTTP 409 from POST /fail: not today" in ran.err) == (1, True)


def test_the_assumption_that_exposure_is_on_is_told(run_here: Run, server: Path) -> None:
    assert "assuming an instance with exposure on" in run_here("call", server).err
    (server / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    assert "assuming" not in run_here("call", server).err


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(run: Run, server: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    ran = run("call", server, "greet", env={"HTTP_PROXY": nowhere, "http_proxy": nowhere, "ALL_PROXY": nowhere})
    assert ran.code == 0, ran.err

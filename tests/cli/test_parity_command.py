"""`gym-mcp parity`: the same inputs through both doors, and what is told where the answers differ."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.dispatch import call as dispatching
from gym_mcp_manifest.dispatch.result import Answer, CallResult
from gym_mcp_manifest.plan.records import Tool
from gym_mcp_manifest.routes import harvest
from gym_mcp_manifest.routes.parameters import Parameters
from gym_mcp_manifest.session.store import SessionStore

OFFICE_CASES = "manifests/office/data/parity.jsonl"
Run = Callable[..., Any]
Start = Callable[..., Any]
Write = Callable[..., Path]

APP = """
import uuid
from fastapi import FastAPI, HTTPException, Request, Response
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="app-key-app-key", https_only=True)


@app.post("/seed_session")
async def seed_session(request: Request) -> dict:
    body = await request.json()
    if body.get("refuse"):
        raise HTTPException(418, "no teapots")
    request.session.update(who=body.get("who", "nobody"), seen=0)
    return {}


@app.post("/verify")
async def verify(request: Request) -> dict:
    return {"reward": 1.0, "seen": request.session["seen"]}


@app.post("/echo")
async def echo(request: Request, body: dict) -> dict:
    request.session["seen"] = len(body)
    return {"who": request.session["who"], "with": body}
"""
MORE = {
    "fresh": """
@app.post("/fresh")
async def fresh() -> dict:
    return {"id": str(uuid.uuid4()), "kept": "always"}
""",
    "shapes": """
from typing import Annotated
from fastapi import Body, Cookie, Form, Header, Query
from pydantic import BaseModel


class Node(BaseModel):
    name: str
    below: "list[Node]" = []


@app.get("/items/{item}/{number}")
async def items(item: str, number: int, tag: list[str] = Query([]), x_lang: str | None = Header(None)) -> list:
    return [item, number, tag, x_lang]


@app.get("/items/special/{number}")
async def special(number: str) -> str:
    return number


@app.post("/form")
async def form(name: Annotated[str, Form()], size: Annotated[int, Form()] = 3) -> str:
    return name * size


@app.post("/two")
async def two(node: Node, more: Annotated[dict, Body()], mark: str = Cookie("")) -> dict:
    return {"node": node, "more": more, "mark": mark}


@app.post("/whole")
async def whole(nodes: list[Node]) -> list[Node]:
    return nodes


@app.post("/reply/{kind}")
async def reply(kind: str) -> Response:
    kinds = {"": "image/png", "a": "text/html", "0": "application/zip"}
    return Response(b"\\x89PNG\\xff", 200 if kind in kinds else 404, media_type=kinds.get(kind, "audio/wav"))
""",
    "mapped": """
from typing import Annotated
from fastapi import Body, Cookie, Form, Header, Query
from pydantic import BaseModel, Json


class Item(BaseModel):
    name: str = ""
    size: int = 1


@app.put("/all/{item}")
async def everything(
    item: str,
    body: Item,
    q: list[str] = Query([]),
    x_lang: str = Header("none"),
    mark: str = Cookie("none"),
    where: Annotated[Json[list[int]], Query()] = "[]",
) -> list:
    return [item, body, q, x_lang, mark, where]


@app.post("/whole")
async def whole(sizes: Annotated[list[int] | None, Body()] = None) -> dict:
    return {"sizes": sizes}


@app.post("/two")
async def two(item: Item, more: Annotated[int, Body()] = 0) -> dict:
    return {"item": item, "more": more}


@app.post("/form")
async def form(name: Annotated[str, Form()] = "", size: Annotated[int, Form()] = 3) -> dict:
    return {"name": name, "size": size}


@app.post("/maybe")
async def maybe(item: Item | None = None) -> dict:
    return {"item": item}
""",
    "hidden": """
from collections.abc import Callable
from fastapi import Header
from pydantic import BaseModel


class Untold(BaseModel):
    call: Callable[[], int]


@app.post("/hidden", include_in_schema=False)
async def hidden(body: dict, x_lang: str = Header("none")) -> list:
    return [body, x_lang]


@app.post("/untold")
async def untold(body: dict, x_lang: str = Header("none")) -> Untold:
    return Response(x_lang)


@app.post("/quiet")
async def quiet(request: Request, x_quiet: str = Header("", include_in_schema=False)) -> list:
    return [await request.json(), x_quiet]


def openapi() -> dict:
    raise RuntimeError("no document today")


app.openapi_url = None
app.openapi = openapi
""",
    "wipe": """
@app.post("/wipe")
async def wipe() -> dict:
    print("wiped", flush=True)
    return {}
""",
    "patient": """
@app.post("/patient")
async def patient(request: Request) -> dict:
    print("waiting", flush=True)
    import asyncio
    while not await request.is_disconnected():
        await asyncio.sleep(0.01)
    return {}
""",
}
MAPPED = """
version: 1
dispatch: route
routes: {include: ["PUT /all/{item}", /whole, /two, /form, /maybe]}
tools: {"PUT /all/{item}": {name: everything}}
"""
EVERY_ROUTE = """
version: 1
dispatch: route
routes: {include: ["/**", "GET /items/{item}/{number}", "GET /items/special/{number}", "/reply/{kind}"]}
tools:
  "GET /items/{item}/{number}": {name: items}
  "GET /items/special/{number}": {name: special}
  "POST /reply/{kind}": {name: reply}
  two: {arguments: {mark: {value: fixed}}}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a server with more routes and a manifest, and gives its folder."""

    def write_(*more: str, manifest: str | None = None) -> Path:
        folder = tmp_path / "little"
        folder.mkdir()
        (folder / "app.py").write_text(APP + "".join(MORE[name] for name in more), encoding="utf-8")
        if manifest is not None:
            (folder / "mcp.yaml").write_text(manifest, encoding="utf-8")
        return folder

    return write_


@pytest.fixture
def break_results(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[dict[str, Any]], Any]], None]:
    """Puts a dispatcher in whose results of one tool are altered."""

    def break_(name: str, alter: Callable[[dict[str, Any]], Any]) -> None:
        true = dispatching.result_of

        def broken(answer: Answer, tool: Tool) -> CallResult:
            result = true(answer, tool)
            altered = alter(json.loads(answer.body)) if tool.name == name and result.structured else None
            return result if altered is None else replace(result, structured=altered)

        monkeypatch.setattr(dispatching, "result_of", broken)

    return break_


@pytest.fixture
def break_mapping(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Parameters], Parameters]], None]:
    """Puts a mapping of arguments in which is wrong for one handler, for the plan and for the calls."""

    def break_(function: str, alter: Callable[[Parameters], Parameters]) -> None:
        true = harvest.parameters_of

        def broken(context: Any, method: str) -> Parameters:
            found = true(context, method)
            return alter(found) if context.endpoint.__name__ == function else found

        monkeypatch.setattr(harvest, "parameters_of", broken)

    return break_


def altered(name: str, /, **changes: Any) -> Callable[[Parameters], Parameters]:
    """A mapping in which one parameter is another."""

    def alter(parameters: Parameters) -> Parameters:
        named = [replace(p, **changes) if p.name == name else p for p in parameters.named]
        return renamed(replace(parameters, named=tuple(named)), name, changes.get("name", name))

    return alter


def renamed(parameters: Parameters, name: str, new: str | None) -> Parameters:
    """The mapping with a schema that has another name for an argument, or no such argument."""
    assert parameters.schema is not None
    properties = {(new if key == name else key): part for key, part in parameters.schema["properties"].items()}
    return replace(parameters, schema={**parameters.schema, "properties": without(properties, None)})


def lost(name: str) -> Callable[[Parameters], Parameters]:
    """A mapping that has forgotten a parameter."""
    return lambda parameters: renamed(
        replace(parameters, named=tuple(p for p in parameters.named if p.name != name)), name, None
    )


def shaped(body: str, place: Any = None, **changes: Any) -> Callable[[Parameters], Parameters]:
    """A mapping that makes the body in another way, and its parts stand in another place."""

    def alter(parameters: Parameters) -> Parameters:
        named = [replace(p, place=place) if place and p.place in ("body", "form") else p for p in parameters.named]
        return replace(parameters, named=tuple(named), body=body, **changes)  # type: ignore[arg-type]

    return alter


def without(value: Mapping[Any, Any], key: str | None) -> dict[str, Any]:
    return {name: kept for name, kept in value.items() if name != key}


def rows(path: Path, *cases: Any) -> Path:
    path.write_text("".join(json.dumps(case) + "\n\n" for case in cases), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        (["manifests/weather", "--after", "POST /verify", "--examples", "20"], 1),
        (["manifests/office", "--cases", OFFICE_CASES, "--examples", "4", "--destructive"], 27),
    ],
)
def test_the_shipped_servers_answer_alike_through_both_doors(
    arguments: list[str], tools: int, run_here: Run
) -> None:
    ran = run_here("parity", *arguments)
    assert ran.code == 0, ran.text
    assert f": {tools} same, 0 different, 0 skipped (random seed 0)" in ran.out
    assert "no case succeeded" not in ran.err


@pytest.mark.parametrize("mode", ["route", "app"])
def test_every_kind_of_parameter_reaches_the_route_alike(mode: str, run_here: Run, write: Write) -> None:
    server = write("shapes", manifest=EVERY_ROUTE.replace("dispatch: route", f"dispatch: {mode}"))
    ran = run_here("parity", server, "--examples", "8", "--after", "/verify", "--json")
    told = json.loads(ran.out)
    assert [(tool["name"], tool["verdict"], tool["cases"]) for tool in told["tools"]] == [
        (name, "same", 8) for name in ("echo", "items", "special", "form", "two", "whole", "reply")
    ]
    assert ran.code == 0


def test_a_mapping_that_is_right_shows_no_difference(run_here: Run, write: Write) -> None:
    ran = run_here("parity", write("mapped", manifest=MAPPED), "--examples", "15")
    assert (ran.code, ": 5 same, 0 different" in ran.out) == (0, True), ran.text
    assert "OpenAPI" not in ran.err


@pytest.mark.parametrize(
    ("tool", "alter"),
    [
        ("everything", altered("x-lang", place="query")),
        ("everything", altered("q", place="header")),
        ("everything", altered("mark", place="header")),
        ("everything", altered("item", place="query")),
        ("everything", altered("x-lang", name="x_lang")),
        ("everything", altered("where", as_json=False)),
        ("everything", altered("q", as_json=True)),
        ("everything", lost("x-lang")),
        ("everything", lost("q")),
        ("everything", shaped("keys")),
        ("everything", shaped("none")),
        ("everything", shaped("spread", body_required=False)),
        ("whole", shaped("spread")),
        ("whole", altered("sizes", place="query")),
        ("two", shaped("whole")),
        ("form", shaped("keys", "body")),
        ("maybe", shaped("spread", body_required=True)),
    ],
)
def test_a_wrong_mapping_of_arguments_is_found(
    tool: str, alter: Any, run_here: Run, write: Write, break_mapping: Any
) -> None:
    server = write("mapped", manifest=MAPPED)
    break_mapping(tool, alter)
    ran = run_here("parity", server, "--tool", tool, "--examples", "15")
    assert (ran.code, "0 same, 1 different" in ran.out) == (1, True), ran.text


def test_what_the_document_does_not_tell_is_asked_by_the_tool_and_said_once(run_here: Run, write: Write) -> None:
    ran = run_here("parity", write("hidden", manifest="version: 1\ndispatch: route"), "--examples", "10")
    assert (ran.code, ": 4 same, 0 different" in ran.out) == (0, True), ran.text
    assert "not in the app's OpenAPI schema, so asked by the tools' own word alone: hidden, untold\n" in ran.err
    assert ran.err.count("OpenAPI") == 1


def test_a_broken_dispatcher_is_found_and_shown_with_the_smallest_arguments(
    run_here: Run, write: Write, tmp_path: Path, break_results: Any
) -> None:
    server = write("fresh")
    arguments = {"noise": [1, {"x": "y"}], "trigger": {"deep": ["value"]}, "more": "text"}
    cases = rows(
        tmp_path / "cases.jsonl", {"tool": "echo", "arguments": {}}, {"tool": "echo", "arguments": arguments}
    )
    break_results("echo", lambda value: {**value, "with": without(value["with"], "trigger")})
    given = ("parity", server, "--cases", cases, "--examples", "0", "--seed", '{"who": "Ada"}')

    ran = run_here(*given)
    assert ran.code == 1
    assert "echo     2 cases  DIFFERENT (ok: 2)\n" in ran.out
    assert f"echo: POST /echo, dispatch direct, from {cases}:3\n" in ran.out
    assert '  arguments  {"trigger": {}}\n  seed       {"who": "Ada"}\n' in ran.out
    place = "  differs at structuredContent.with.trigger\n    HTTP     {}\n    MCP      nothing\n"
    assert place in ran.out
    assert "little: 2 tools, 2 cases: 0 same, 1 different, 1 skipped" in ran.out

    ran = run_here(*given, "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["format_version"], told["different"]) == (1, 1, 1)
    difference = told["tools"][0]["difference"]
    assert difference["arguments"] == {"trigger": {}}
    assert difference["place"] == "structuredContent.with.trigger"
    assert difference["recorded_at"] == f"{cases}:3"
    assert difference["told_by_http"]["structuredContent"] == {"who": "Ada", "with": {"trigger": {}}}

    assert run_here(*given, "--ignore", "trigger").code == 0
    assert run_here(*given, "--ignore", "with.trigger").code == 0
    assert run_here(*given, "--ignore", "trigger.with").code == 1


def test_what_differs_between_plain_calls_too_is_told_and_hides_no_difference(
    run_here: Run, write: Write, break_results: Any
) -> None:
    server = write("fresh")
    given = ("parity", server, "--tool", "fre*", "--examples", "3")
    ran = run_here(*given)
    assert ran.code == 0
    assert "fresh    3 cases  same (ok: 3); not deterministic: structuredContent.id, text.id\n" in ran.out
    assert "not deterministic" not in run_here(*given, "--ignore", "id").out

    break_results("fresh", lambda value: without(value, "kept"))
    ran = run_here(*given)
    assert ran.code == 1
    assert "differs at structuredContent.kept\n" in ran.out


def test_a_lost_session_write_is_found_by_reading_the_session_afterwards(
    run_here: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = write()
    monkeypatch.setattr(SessionStore, "write", lambda *_, **__: None)
    assert run_here("parity", server).code == 0
    ran = run_here("parity", server, "--after", "/verify")
    assert ran.code == 1
    assert "differs at after.body.seen\n" in ran.out
    assert "    MCP      0\n" in ran.out


def test_destructive_tools_are_called_only_where_it_is_said(run_here: Run, write: Write) -> None:
    server = write("wipe", manifest="version: 1\ntools: {wipe: {annotations: {destructiveHint: true}}}")
    ran = run_here("parity", server, "--examples", "2")
    assert (ran.code, "wiped" in ran.text) == (0, False)
    assert "wipe    0 cases  skipped: destructive by its annotations" in ran.out
    assert "these are skipped; --destructive calls them: wipe" in ran.err

    ran = run_here("parity", server, "--examples", "2", "--destructive", "--json")
    assert (ran.code, ran.err.count("wiped")) == (0, 4)
    assert "these are called: wipe" in ran.err
    assert [tool["verdict"] for tool in json.loads(ran.out)["tools"]] == ["same", "same"]

    ran = run_here("parity", server, "--tool", "wipe")
    assert (ran.code, "nothing was compared" in ran.err) == (1, True)


def test_an_app_without_sessions_is_compared_with_a_warning(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from fastapi import FastAPI\napp = FastAPI()\n\n\n"
        "@app.post('/count')\nasync def count(body: dict) -> int:\n    return len(body)\n",
        encoding="utf-8",
    )
    (tmp_path / "mcp.yaml").write_text("version: 1\nsessions: {mode: none}\n", encoding="utf-8")
    ran = run_here("parity", tmp_path)
    assert (ran.code, bool(re.search(r"count   20 cases  same \(ok: \d+", ran.out))) == (0, True)
    assert "there are no sessions" in ran.err


def test_a_route_that_does_not_answer_is_left_alone(run_here: Run, write: Write) -> None:
    ran = run_here("parity", write("patient"), "--timeout", "0.5", "--tool", "patient")
    assert ran.code == 1
    assert "skipped: POST /patient did not answer in time" in ran.out


def test_tools_that_the_session_may_not_call_are_told(run_here: Run, write: Write) -> None:
    server = write("fresh", manifest="version: 1\nsessions: {allow: [{tools: [echo]}]}")
    ran = run_here("parity", server, "--examples", "1")
    assert ran.code == 0
    assert "fresh    0 cases  skipped: the session may not call it; another --seed may\n" in ran.out


def test_one_random_seed_makes_the_same_inputs_and_another_makes_others(
    run_here: Run, write: Write, break_results: Any
) -> None:
    server = write()
    break_results("echo", lambda value: without(value, "with") if len(value["with"]) > 1 else None)

    def found(*options: str) -> Any:
        return json.loads(run_here("parity", server, "--examples", "20", "--json", *options).out)["tools"]

    assert found() == found("--random-seed", "0")
    assert found() != found("--random-seed", "1")


def test_the_headers_of_the_instance_and_of_the_client_reach_both_doors(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from fastapi import FastAPI, Header\napp = FastAPI()\n\n\n"
        "@app.post('/keys')\n"
        "async def keys(x_key: str = Header('none'), x_user: str = Header('nobody')) -> list[str]:\n"
        "    return [x_key, x_user]\n",
        encoding="utf-8",
    )
    (tmp_path / "mcp.yaml").write_text("version: 1\ndispatch: route\nsessions: {mode: none}\n", encoding="utf-8")
    config = "expose_tools_over_mcp: true\nmcp_headers: {set: {X-Key: open-sesame}"
    for forward, code in ((", forward: [x-user]", 0), ("", 1)):
        (tmp_path / "config.yaml").write_text(f"{config}{forward}}}\n", encoding="utf-8")
        ran = run_here("parity", tmp_path, "--examples", "1", "--header", "X-User: Ada")
        assert ran.code == code, ran.text
    assert '"[\\"open-sesame\\",\\"Ada\\"]"' in ran.out
    assert '"[\\"open-sesame\\",\\"nobody\\"]"' in ran.out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{bad", "not JSON"),
        ('{"tool": "echo", "arguments": {"n": NaN}}', "NaN is no JSON"),
        ('{"tool": "echo", "arguments": {"n": "\\ud800"}}', "not JSON that can be sent"),
        ("[1]", "and this is a list"),
        ("{}", "no name under `tool`"),
        ('{"tool": "ecco"}', "no exposed tool is called 'ecco'; did you mean 'echo'?"),
        ('{"tool": "echo", "arguments": [1]}', "`arguments` is a list, and must be an object"),
        ('{"tool": "echo", "argumnets": {}}', "did you mean 'arguments'?"),
    ],
)
def test_a_bad_row_of_cases_is_told_with_its_line(
    line: str, says: str, run_here: Run, write: Write, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(f'{{"tool": "echo"}}\n\n{line}\n', encoding="utf-8")
    ran = run_here("parity", write(), "--cases", cases)
    assert (ran.code, ran.out) == (1, "")
    assert f"{cases}:3: " in ran.err
    assert says in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--cases", "nowhere.jsonl"], 1, "nowhere.jsonl cannot be read"),
        (["--examples", "0"], 1, "nothing was compared"),
        (["--seed", '{"refuse": true}'], 1, "POST /seed_session answered 418"),
        (["--tool", "ecco"], 2, "did you mean 'echo'?"),
        (["--after", "verify"], 2, "neither /PATH"),
        (["--after", "/verfy"], 2, "the app has no route POST /verfy; did you mean 'POST /verify'?"),
        (["--after", "GET /verify"], 2, "the app has no route GET /verify; did you mean 'POST /verify'?"),
        (["--after", "/verify", "--after-body", "{"], 2, "--after-body: not JSON"),
        (["--seed", "{"], 2, "--seed: not JSON"),
        (["--header", "secret"], 2, "expected `Name: value`"),
        (["--examples", "-1"], 2, "--examples"),
    ],
)
def test_what_cannot_be_compared_is_told(
    arguments: list[str], code: int, says: str, run_here: Run, write: Write
) -> None:
    ran = run_here("parity", write(), *arguments)
    assert ran.code == code
    assert says in ran.err
    assert "Traceback" not in ran.text


def test_a_target_whose_exposure_is_off_is_not_compared(run_here: Run, write: Write) -> None:
    server = write()
    (server / "config.yaml").write_text("expose_tools_over_mcp: false\n", encoding="utf-8")
    ran = run_here("parity", server)
    assert (ran.code, "exposure is off" in ran.err) == (1, True)
    assert run_here("parity", server, "expose_tools_over_mcp=true", "--examples", "1").code == 0


def test_a_comparison_can_be_interrupted(start: Start, write: Write) -> None:
    comparing = start("parity", write("patient"), "--tool", "patient")
    comparing.wait_for("waiting")
    assert comparing.process.poll() is None, comparing.log
    assert comparing.stop(signal.SIGINT) == 130
    assert comparing.log.strip().endswith("gym-mcp: interrupted")
    assert "Traceback" not in comparing.log


def test_it_tells_how_http_answered_and_where_nothing_succeeded(
    run_here: Run, write: Write, tmp_path: Path
) -> None:
    locked = """
from fastapi import Header
@app.post("/locked")
async def locked(x_key: str = Header()) -> str:
    if x_key != "open":
        raise HTTPException(401, "closed")
    return "in"
"""
    folder = write(manifest="version: 1\ndispatch: route\n")
    (folder / "app.py").write_text((folder / "app.py").read_text(encoding="utf-8") + locked, encoding="utf-8")
    ran = run_here("parity", folder, "--tool", "locked")
    assert ran.code == 0
    assert re.search(r"locked +20 cases +same \(401: \d+, 422: \d+(, refused: \d+)?\)", ran.out)
    assert "no case succeeded, which shows little, of locked" in ran.err
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"tool": "locked", "arguments": {"x-key": "open"}}\n', encoding="utf-8")
    ran = run_here("parity", folder, "--tool", "locked", "--cases", cases, "--examples", "0", "--json")
    assert json.loads(ran.out)["tools"][0]["answers"] == {"ok": 1}
    assert "no case succeeded" not in ran.err


def test_a_recorded_case_that_is_not_answered_in_time_fails_the_run(
    run_here: Run, write: Write, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"tool": "patient"}\n', encoding="utf-8")
    options = ("--timeout", "0.5", "--tool", "patient", "--tool", "echo", "--examples", "2")
    ran = run_here("parity", write("patient"), *options, "--cases", cases)
    assert ran.code == 1
    assert "cases.jsonl:1 was not compared: no answer in time" in ran.err

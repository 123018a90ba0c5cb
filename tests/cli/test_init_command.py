"""`gym-mcp init`: a commented manifest from the live app, equal to the defaults or mending them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_mcp_manifest.manifest.loader import Manifest, read_manifest_source
from gym_mcp_manifest.manifest.source import SourceFile
from gym_mcp_manifest.manifest.yamltext import quoted

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]

HEAD = """
from typing import Any
from fastapi import Body, Depends, FastAPI, File, Form, Request, UploadFile
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware


class Question(BaseModel):
    city: str
    days: int = 1


app = FastAPI()
"""
SESSIONS = """
app.add_middleware(SessionMiddleware, secret_key="app-key-app-key")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}
"""
TOOLS = '''
@app.post("/ask")
async def ask(body: Question) -> dict:
    """Ask about a city: "any" city, #1 or {2}.

    And more.
    """
    return {}


@app.post("/look_up")
async def look_up(body: dict) -> dict:
    return {}


@app.get("/health")
async def health() -> dict:
    return {}
'''
DISPATCHER = """
@app.post("/{path}")
async def any_tool(path: str, body: dict) -> dict:
    return {"ran": path}
"""
SHAPES = """
@app.post("/upload")
async def upload(file: bytes = File()) -> dict:
    return {}


@app.post("/guarded")
async def guarded(body: Question, user: str = Depends(lambda: "me")) -> dict:
    return {}
"""
NAMES = '''
@app.post("/")
async def root(body: dict) -> dict:
    return {}


@app.post("/a/b")
async def verify(body: dict) -> dict:
    return {}


@app.post("/tools/ask")
async def ask(body: dict) -> dict:
    return {}


@app.post("/over here/no:way")
async def over(body: dict) -> dict:
    """Odd \\u2028 words: \\x7f "quoted" # and ü\\U0001f600."""
    return {}
'''
MIDDLEWARE = """
@app.middleware("http")
async def audit(request: Request, call_next: Any) -> Any:
    return await call_next(request)
"""
ITEMS = """
@app.post("/items/{item}/parts/{part}")
async def part(item: int, part: int) -> dict:
    return {}
"""

#: Apps by name, each with whether the defaults boot it.
APPS: dict[str, tuple[str, bool]] = {
    "plain": (SESSIONS + TOOLS, True),
    "without tools": (SESSIONS, True),
    "a dispatcher without data": (SESSIONS + TOOLS + DISPATCHER, True),
    "a parameterized route": (SESSIONS + TOOLS + ITEMS, True),
    "an empty app": ("", False),
    "bare": (TOOLS, False),
    "shapes": (SESSIONS + TOOLS + SHAPES, False),
    "names": (SESSIONS + TOOLS + NAMES, False),
    "middleware": (SESSIONS + TOOLS + MIDDLEWARE, False),
    "everything": (TOOLS + SHAPES + NAMES + MIDDLEWARE + ITEMS + DISPATCHER, False),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "town"
    path.mkdir()
    return path


def write_app(folder: Path, body: str) -> None:
    (folder / "app.py").write_text(HEAD + body, encoding="utf-8")


def read(text: str) -> tuple[Manifest | None, tuple[Any, ...]]:
    return read_manifest_source(SourceFile("mcp.yaml", text))


def planned(run_here: Run, folder: Path) -> tuple[int, dict[str, Any]]:
    ran = run_here("plan", folder, "--json")
    return ran.code, json.loads(ran.out)


def advertised(plan: dict[str, Any]) -> list[dict[str, Any]]:
    keys = ("name", "own_name", "route", "title", "description", "input_schema", "annotations", "dispatch")
    return [{key: tool[key] for key in keys} for tool in plan["tools"]]


@pytest.mark.parametrize("case", APPS)
def test_the_plan_of_the_written_manifest_is_the_default_one_or_boots_where_that_does_not(
    case: str, run_here: Run, folder: Path
) -> None:
    body, boots = APPS[case]
    write_app(folder, body)
    code, default = planned(run_here, folder)
    assert (code == 0) is boots
    ran = run_here("init", folder)
    assert (ran.code, ran.out) == (0, "")
    assert run_here("validate", folder, "--strict").code == 0
    code, plan = planned(run_here, folder)
    assert code == 0, plan["findings"]
    if boots:
        assert advertised(plan) == advertised(default)
    else:
        assert {tool["route"] for tool in default["tools"]} <= {tool["route"] for tool in plan["tools"]}


@pytest.mark.parametrize("name", ["weather", "office"])
def test_the_shipped_servers_get_the_tools_that_their_own_manifests_give(
    name: str, run_here: Run, tmp_path: Path
) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "manifests" / name, folder)
    _, own = planned(run_here, folder)
    assert run_here("init", folder, "--force").code == 0
    code, plan = planned(run_here, folder)
    assert (code, plan["findings"]) == (0, [])
    assert [tool["name"] for tool in plan["tools"]] == [tool["name"] for tool in own["tools"]]
    assert [tool["input_schema"] for tool in plan["tools"]] == [tool["input_schema"] for tool in own["tools"]]
    if name == "office":
        text = (folder / "mcp.yaml").read_text(encoding="utf-8")
        assert '- file: "data/tools/*.json"\n        select: "tools[]"' in text


# What it says.


def test_routes_that_cannot_be_tools_are_excluded_with_the_reason(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + SHAPES)
    ran = run_here("init", folder)
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    excluded = text.partition("exclude:\n")[2].partition("unlisted")[0]
    assert '- "/upload"  # `file` is an uploaded file, which no argument can carry' in excluded
    assert "/guarded" not in excluded
    assert "1 route cannot be a tool" in ran.err


def test_routes_that_need_all_of_fastapis_handling_are_given_it(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + SHAPES)
    ran = run_here("init", folder)
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    tools = text.partition("\ntools:\n")[2].partition("\n\n")[0]
    note = "its handler uses dependency injection: `Depends(<lambda>)`"
    assert tools.rstrip() == f'  "POST /guarded":\n    # {note}\n    dispatch: route'
    assert "dispatched by `route`, which takes their shape: POST /guarded" in ran.err
    _, plan = planned(run_here, folder)
    assert {tool["name"]: tool["dispatch"] for tool in plan["tools"]} == {
        "ask": "direct",
        "look_up": "direct",
        "guarded": "route",
    }


def test_a_new_route_stops_the_boot_until_it_is_listed(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    run_here("init", folder)
    write_app(folder, SESSIONS + TOOLS + TOOLS.replace("/ask", "/tell").replace("def ask", "def tell"))
    ran = run_here("plan", folder)
    assert (ran.code, "GMM608" in ran.out, "POST /tell" in ran.out) == (1, True, True)


def test_illegal_names_become_those_of_the_handlers(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + NAMES)
    run_here("init", folder)
    _, plan = planned(run_here, folder)
    # `verify` is reserved and `ask` is taken, so the path's letters serve.
    assert {tool["route"]: tool["name"] for tool in plan["tools"]} == {
        "POST /ask": "ask",
        "POST /look_up": "look_up",
        "POST /": "root",
        "POST /a/b": "a_b",
        "POST /tools/ask": "tools_ask",
        "POST /over here/no:way": "over",
    }


def test_middleware_runs_in_every_call(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + SHAPES + MIDDLEWARE)
    ran = run_here("init", folder)
    assert "dispatched by `app`, which runs the middleware: app.audit" in ran.err
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    assert re.search(r"# Every call runs the app's middleware: app\.audit\.\ndispatch: app\n", text)
    _, plan = planned(run_here, folder)
    assert {tool["name"]: tool["dispatch"] for tool in plan["tools"]} == dict.fromkeys(
        ("ask", "look_up", "guarded"), "app"
    )


OWN_SESSIONS = """
class Sessions(SessionMiddleware):
    pass


app.add_middleware(Sessions, secret_key="app-key-app-key")
"""


def test_skipped_middleware_is_named_loudly(run_here: Run, folder: Path) -> None:
    body = SESSIONS.replace('app.add_middleware(SessionMiddleware, secret_key="app-key-app-key")', OWN_SESSIONS)
    write_app(folder, body + TOOLS + MIDDLEWARE)
    ran = run_here("init", folder)
    assert "READ `skip_middleware`: MCP calls do not pass through app.audit" in ran.err
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    assert re.search(r'# READ THIS: .*\n.*\nskip_middleware:\n  - "app.audit"\n', text)


def test_an_app_without_sessions_says_so(run_here: Run, folder: Path) -> None:
    write_app(folder, TOOLS)
    run_here("init", folder)
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    assert re.search(r"# No sessions: the app has no POST /seed_session.*\n(#.*\n)*sessions:\n  mode: none", text)


#: Data of a dispatcher's tools: files, then the lines that the source must have; None where there is none.
SPEC = {"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
OTHER = {"type": "function", "function": {**SPEC, "name": "drop"}}
ROW = json.dumps({"responses_create_params": {"input": [], "tools": [SPEC, OTHER]}})
DATA: dict[str, tuple[dict[str, str], str | None]] = {
    "a list": ({"data/tools.json": json.dumps([SPEC])}, '- file: "data/tools.json"\n'),
    "under a key": (
        {"data/tools.json": json.dumps({"tools": [SPEC]})},
        '"data/tools.json"\n        select: "tools[]"',
    ),
    "rows": (
        {"data/example.jsonl": f"{ROW}\n{ROW}\n", "data/rollouts.jsonl": '{"reward": 1.0}\n'},
        '"data/example.jsonl"\n        select: "responses_create_params.tools[]"',
    ),
    "several files": (
        {"data/t/a.json": json.dumps([SPEC]), "data/t/b.json": json.dumps([OTHER])},
        '- file: "data/t/*.json"\n',
    ),
    "a typed route among them": (
        {"data/tools.json": json.dumps([SPEC, {**SPEC, "name": "ask"}])},
        'exclude:\n          - "ask"  # a tool by its own route\n',
    ),
    "an impossible name among them": (
        {"data/tools.json": json.dumps([SPEC, {**SPEC, "name": "a/b"}])},
        'exclude:\n          - "a/b"  # ',
    ),
    "an illegal name among them": (
        {"data/tools.json": json.dumps([SPEC, {**SPEC, "name": "math.drop"}])},
        '- file: "data/tools.json"\n',
    ),
    "beside the app": (
        {"my_tools.yaml": "- name: find\n  parameters: {type: object}\n"},
        '- file: "my_tools.yaml"\n',
    ),
    "nothing but typed routes": ({"data/tools.json": json.dumps([{**SPEC, "name": "ask"}])}, None),
    "people": ({"data/people.json": json.dumps([{"name": "Ann"}, {"name": "Bob"}])}, None),
    "specs that disagree": (
        {"data/a.jsonl": "\n".join(json.dumps({"tools": [{**SPEC, "description": d}]}) for d in "ab")},
        None,
    ),
    "no JSON": ({"data/tools.json": "{"}, None),
}


@pytest.mark.parametrize("case", DATA)
def test_specs_of_a_dispatcher_are_found_in_the_data(case: str, run_here: Run, folder: Path) -> None:
    files, source = DATA[case]
    write_app(folder, SESSIONS + TOOLS + DISPATCHER)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    ran = run_here("init", folder)
    text = (folder / "mcp.yaml").read_text(encoding="utf-8")
    code, plan = planned(run_here, folder)
    assert code == 0, plan["findings"]
    found = {tool["name"] for tool in plan["tools"]} - {"ask", "look_up"}
    if source is None:
        assert (found, "ignore: true" in text, "POST /{path} is ignored" in ran.err) == (set(), True, True)
    else:
        assert source in text
        drop = {"math_drop"} if "math.drop" in str(files) else {"drop"} if "drop" in str(files) else set()
        assert found == {"find", *drop}


def test_two_possible_dispatchers_are_left_to_the_user(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + DISPATCHER.replace("/{path}", "/x/{path}") + DISPATCHER)
    (folder / "tools.json").write_text(json.dumps([SPEC]), encoding="utf-8")
    ran = run_here("init", folder)
    assert ran.err.count("several routes could be the dispatcher") == 2
    assert planned(run_here, folder)[0] == 0


def test_a_route_that_is_no_dispatcher_is_not_called_one(run_here: Run, folder: Path) -> None:
    routes = """
@app.post("/items/{number}/mark")
async def mark(number: int) -> dict:
    return {}


@app.post("/shelves/{shelf}/{place}")
async def put(shelf: str, place: str) -> dict:
    return {}


@app.post("/named/{name}")
async def named(name: str, body: dict) -> dict:
    return {}
"""
    write_app(folder, SESSIONS + TOOLS + routes)
    text = run_here("init", folder, "-o", "-").out
    assert "# POST routes with path parameters. One of them may be a dispatcher" in text
    entries = dict(re.findall(r'  - route: "(.+)"\n((?:    .*\n)+)', text))
    for path, why in (
        ("/items/{number}/mark", "`number` is not a plain"),
        ("/shelves/{shelf}/{place}", "has 2 path"),
    ):
        assert "# HTTP-only, and no dispatcher: " in entries[path]
        assert (why in entries[path], "If it is one" in entries[path]) == (True, False)
    assert "# HTTP-only: the data files have no specs of tools for it." in entries["/named/{name}"]
    assert "# If it is one, put these lines in the place of `ignore`" in entries["/named/{name}"]


# The file.


@pytest.mark.parametrize("case", APPS)
def test_every_example_works_when_it_is_uncommented(case: str, run_here: Run, folder: Path) -> None:
    write_app(folder, APPS[case][0])
    lines = run_here("init", folder, "--stdout").out.splitlines()
    starts = [n for n, line in enumerate(lines) if line.casefold().endswith("for example:")]
    assert starts
    for start in starts:
        # Under `routes: ` and the like the example belongs to the section, and is indented as far.
        end = start + 1
        while end < len(lines) and re.match(r" *# ", lines[end]):
            end += 1
        block = [re.sub(r"^( *)# ", r"\1", line) for line in lines[start + 1 : end]]
        if any(line.startswith("tools:") for line in block) and any(line == "tools:" for line in lines):
            continue
        text = "\n".join([*lines[: start + 1], *block, *lines[end:]])
        manifest, found = read(text)
        assert found == (), text
        assert manifest is not None


def test_a_manifest_that_is_there_stays_without_force(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    (folder / "mcp.yaml").write_text("mine: [", encoding="utf-8")
    ran = run_here("init", folder)
    assert (ran.code, ran.out) == (1, "")
    assert f"{folder}/mcp.yaml is there already" in ran.err
    assert "--force" in ran.err
    assert (folder / "mcp.yaml").read_text(encoding="utf-8") == "mine: ["
    assert run_here("init", folder, "--force").code == 0
    assert planned(run_here, folder)[0] == 0


def test_a_manifest_of_a_near_name_is_not_passed_over(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    (folder / "mcp.yml").write_text("version: 1", encoding="utf-8")
    ran = run_here("init", folder)
    assert (ran.code, f"{folder}/mcp.yml is there already" in ran.err) == (1, True)
    assert not (folder / "mcp.yaml").exists()


def test_it_says_what_it_wrote_and_what_to_run_next(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    ran = run_here("init", folder)
    assert ran.err.splitlines() == [f"wrote {folder}/mcp.yaml: 2 tools", f"Next: gym-mcp plan {folder}"]
    ran = run_here("init", folder, "-o", folder / "other.yaml")
    assert "`mcp_manifest: other.yaml`" in ran.err


@pytest.mark.parametrize("form", [["--stdout"], ["-o", "-"]])
def test_it_prints_where_it_is_asked_to(form: list[str], run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    (folder / "mcp.yaml").write_text("mine: [", encoding="utf-8")
    ran = run_here("init", folder, *form)
    assert (ran.code, ran.err) == (0, "")
    manifest, found = read(ran.out)
    assert (manifest is not None, found) == (True, ())
    assert (folder / "mcp.yaml").read_text(encoding="utf-8") == "mine: ["


def test_the_modeline_names_a_schema_that_is_there(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS)
    modeline = re.compile(r"^#\s+yaml-language-server\s*:", re.MULTILINE)
    out = run_here("init", folder, "--stdout").out
    assert modeline.search(out) is None
    assert "gym-mcp schema > mcp.schema.json" in out
    (folder.parent / "schemas").mkdir()
    (folder.parent / "schemas" / "mcp.schema.json").write_text('{"title": "another"}', encoding="utf-8")
    assert modeline.search(run_here("init", folder, "--stdout").out) is None
    schema = run_here("schema").out
    (folder.parent / "schemas" / "mcp.schema.json").write_text(schema, encoding="utf-8")
    out = run_here("init", folder, "--stdout").out
    assert out.startswith("# yaml-language-server: $schema=../schemas/mcp.schema.json\n")
    (folder / "mcp.schema.json").write_text(schema, encoding="utf-8")
    out = run_here("init", folder, "--stdout").out
    assert out.startswith("# yaml-language-server: $schema=mcp.schema.json\n")


def test_an_app_that_no_manifest_can_expose_is_told(run_here: Run, folder: Path) -> None:
    write_app(folder, SESSIONS + TOOLS + '\n\napp.mount("/mcp", FastAPI())\n')
    ran = run_here("init", folder)
    assert "error[GMM607]" in ran.err
    assert "No manifest settles what stands above" in ran.err
    assert (folder / "mcp.yaml").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "0o7",
        "1e5",
        "a: b # c",
        "'\"\\",
        "\t\n\r\x00\x7f\x85\u2028\ufeff",
        "ü\U0001f600",
        " x ",
        "- a",
        "~",
    ],
)
def test_every_text_is_quoted_into_itself(text: str) -> None:
    manifest, found = read(f"version: 1\nserver:\n  title: {quoted(text)}\n")
    assert found == ()
    assert manifest is not None
    assert manifest.language.server.title == text

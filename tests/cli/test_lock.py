"""`gym-mcp plan --lock` and `--check`: what agents see, written down, and a diff where it moved."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_mcp_manifest.surface.diff import compare
from gym_mcp_manifest.surface.records import Surface, SurfaceTool

Run = Callable[..., Any]
OFFICE = "manifests/office"

APP = '''
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="app-key-app-key")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


class Order(BaseModel):
    user_id: str
    note: str = ""


@app.post("/place_order")
async def place_order(body: Order) -> dict:
    """Place an order for one of the customers."""
    return {}


@app.post("/cancel_order")
async def cancel_order(body: dict) -> dict:
    """Cancel an order."""
    return {}


@app.post("/count_orders")
async def count_orders() -> dict:
    """Say how many orders there are."""
    return {}
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with an app of three tools and no manifest."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "app.py").write_text(APP, encoding="utf-8")
    return folder


@pytest.fixture
def lock(run_here: Run, shop: Path, tmp_path: Path) -> Path:
    """The lock of the shop."""
    path = tmp_path / "mcp.lock.json"
    assert run_here("plan", shop, "--lock", path).code == 0
    return path


def change(shop: Path, *pairs: tuple[str, str]) -> None:
    text = (shop / "app.py").read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (shop / "app.py").write_text(text, encoding="utf-8")


def manifest(shop: Path, text: str) -> None:
    (shop / "mcp.yaml").write_text(f"version: 1\n{text}\n", encoding="utf-8")


# Writing.


def test_the_lock_holds_what_agents_see_in_their_order(run_here: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.lock.json"
    ran = run_here("plan", OFFICE, "--lock", path)
    assert (ran.code, ran.out) == (0, f"office: the surface of 27 tools is in {path}\n")
    text = path.read_text(encoding="utf-8")
    lock = json.loads(text)
    assert text == json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    plan = json.loads(run_here("plan", OFFICE, "--json").out)
    assert (lock["format_version"], lock["server"]["name"], lock["server"]["title"]) == (1, "office", "Office")
    assert "Ines Morvan" in lock["server"]["instructions"]
    assert [tool["name"] for tool in lock["tools"]] == [tool["name"] for tool in plan["tools"]]
    for locked, planned in zip(lock["tools"], plan["tools"], strict=True):
        digest = locked.pop("sha256")
        assert set(locked) == {
            "name",
            "own_name",
            "route",
            "dispatch",
            "title",
            "description",
            "annotations",
            "input_schema",
            "output_schema",
        }
        assert {key: value for key, value in locked.items() if planned.get(key) != value} == {}
        canonical = json.dumps(locked, sort_keys=True, separators=(",", ":"))
        assert digest == hashlib.sha256(canonical.encode()).hexdigest()
    whole = json.dumps({"server": lock["server"], "tools": lock["tools"]}, sort_keys=True, separators=(",", ":"))
    assert lock["sha256"] == hashlib.sha256(whole.encode()).hexdigest()


def test_the_same_surface_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    for seed in "12":
        run("plan", OFFICE, "--lock", tmp_path / seed, env={"PYTHONHASHSEED": seed})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_json_tells_what_was_locked(run_here: Run, shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    told = json.loads(run_here("plan", shop, "--lock", path, "--json").out)
    digest = json.loads(path.read_text(encoding="utf-8"))["sha256"]
    assert told == {"format_version": 1, "lock": str(path), "tools": 3, "sha256": digest}


def test_a_plan_with_errors_is_not_locked(run_here: Run, shop: Path, lock: Path) -> None:
    before = lock.read_bytes()
    manifest(shop, "routes: {exclude: [/gret]}")
    for option in ("--lock", "--check"):
        ran = run_here("plan", shop, option, lock)
        assert (ran.code, ran.out) == (1, "")
        assert "error[GMM601]" in ran.err
        assert "the plan has 1 error, so " in ran.err
    assert lock.read_bytes() == before


def test_under_strict_warnings_count(run_here: Run, shop: Path, lock: Path) -> None:
    manifest(shop, "names: {max_length: 12}")
    ran = run_here("plan", shop, "--check", lock)
    assert (ran.code, "the plan has 3 warnings; without" in ran.err) == (0, True)
    ran = run_here("plan", shop, "--check", lock, "--strict")
    assert (ran.code, "warning[GMM704]" in ran.err, "the plan has 3 warnings" in ran.err) == (1, True, True)


def test_exposure_that_is_off_has_no_surface(run_here: Run, shop: Path, lock: Path) -> None:
    (shop / "config.yaml").write_text("expose_tools_over_mcp: false", encoding="utf-8")
    before = lock.read_bytes()
    for option in ("--lock", "--check"):
        ran = run_here("plan", shop, option, lock)
        assert (ran.code, "exposure is off" in ran.err) == (1, True)
    assert lock.read_bytes() == before


def test_a_lock_is_replaced_whole_and_keeps_its_permissions(run_here: Run, shop: Path, lock: Path) -> None:
    lock.chmod(0o640)
    link = lock.with_name("link.json")
    link.symlink_to(lock)
    lock.write_text('{"format_version": 0, "sha256": "of an older release"}', encoding="utf-8")
    assert run_here("plan", shop, "--lock", link).code == 0
    assert json.loads(lock.read_text(encoding="utf-8"))["format_version"] == 1
    assert (stat.S_IMODE(lock.stat().st_mode), link.is_symlink()) == (0o640, True)
    assert sorted(path.name for path in lock.parent.iterdir()) == ["link.json", "mcp.lock.json", "shop"]


def test_a_lock_that_cannot_be_written_is_told(run_here: Run, shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "lock.json"
    ran = run_here("plan", shop, "--lock", path)
    assert (ran.code, f"{path} cannot be written: No such file or directory" in ran.err) == (1, True)


# Comparing.


def test_an_equal_surface_is_one_line(run_here: Run, shop: Path, lock: Path) -> None:
    ran = run_here("plan", shop, "--check", lock)
    assert (ran.code, ran.out) == (0, f"the surface is that of {lock}\n")


def test_a_changed_field_names_tool_field_and_both_types(run_here: Run, shop: Path, lock: Path) -> None:
    change(shop, ("user_id: str", "user_id: int"))
    ran = run_here("plan", shop, "--check", lock)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"the surface is not that of {lock}: 1 change",
        "place_order:",
        '  input_schema /properties/user_id/type: "string" -> "integer"',
    ]
    assert f"accept it: `gym-mcp plan {shop} --lock {lock}`" in ran.err


#: What changes (in the code or in the manifest), and the lines that must say so.
CHANGES: dict[str, tuple[list[tuple[str, str]], str, list[str]]] = {
    "a tool that came": (
        [("/count_orders", "/tally"), ("count_orders", "tally"), ("how many orders", "how many")],
        "tools: {tally: {input_schema: {type: object, properties: {since: {type: string}}}}}",
        ["+ tally is new (POST /tally)", "- count_orders is gone (POST /count_orders)"],
    ),
    "a tool with another exposed name": (
        [],
        "tools: {count_orders: {name: tally}}",
        ["~ count_orders is now called tally"],
    ),
    "another own name for the same route": (
        [("async def count_orders", "async def tally")],
        "routes: {naming: function}",
        ["~ count_orders is now called tally", "tally:", '  own_name: "count_orders" -> "tally"'],
    ),
    "a default": (
        [('note: str = ""', 'note: str = "-"')],
        "",
        ['input_schema /properties/note/default: "" -> "-"'],
    ),
    "a field that is required now": (
        [('note: str = ""', "note: str")],
        "",
        ['input_schema /required: added "note"', 'input_schema /properties/note/default: removed ""'],
    ),
    "a field that came": (
        [("user_id: str", "user_id: str\n    rush: bool = False")],
        "",
        ['input_schema /properties/rush: added {"default": false, "title": "Rush", "type": "boolean"}'],
    ),
    "a description": (
        [("for one of the customers", "for any of the customers")],
        "",
        ["  description: Place an order for [-one-]{+any+} of the customers."],
    ),
    "a description that came to nothing": (
        [('    """Cancel an order."""\n', "")],
        "",
        ['  description: "Cancel an order." -> null'],
    ),
    "a title": ([], "tools: {count_orders: {title: Tally}}", ['  title: null -> "Tally"']),
    "annotations": (
        [],
        "tools: {count_orders: {annotations: {readOnlyHint: true}}}",
        ['  annotations: null -> {"readOnlyHint": true}'],
    ),
    "the server's words": ([], "server: {title: Shop}", ['server title: null -> "Shop"']),
}


@pytest.mark.parametrize("case", CHANGES)
def test_every_change_is_told_where_it_is(case: str, run_here: Run, shop: Path, lock: Path) -> None:
    pairs, text, lines = CHANGES[case]
    change(shop, *pairs)
    if text:
        manifest(shop, text)
    ran = run_here("plan", shop, "--check", lock)
    assert ran.code == 1
    assert [line for line in lines if line not in ran.out] == []
    assert int(re.findall(r"(\d+) changes?\n", ran.out)[0]) == sum(
        line[:1] in "+-~ " or line.startswith("server ") for line in ran.out.splitlines()
    )


def test_the_order_of_tools_is_part_of_the_surface(run_here: Run, shop: Path, lock: Path) -> None:
    text = (shop / "app.py").read_text(encoding="utf-8")
    head, _, rest = text.partition('@app.post("/place_order")')
    first, _, others = rest.partition('@app.post("/cancel_order")')
    moved = f'{head}@app.post("/cancel_order"){others}\n\n@app.post("/place_order"){first}'
    (shop / "app.py").write_text(moved, encoding="utf-8")
    ran = run_here("plan", shop, "--check", lock)
    assert ran.code == 1
    assert ran.out.splitlines()[1:] == ["~ place_order moved from place 1 to 3 of those that stayed"]


def test_another_server_name_is_a_change(run_here: Run, shop: Path, lock: Path) -> None:
    ran = run_here("plan", shop, "--check", lock, "--server", "store")
    assert (ran.code, 'server name: "shop" -> "store"' in ran.out) == (1, True)
    assert f"`gym-mcp plan {shop} --server store --lock {lock}`" in ran.err


def test_the_diff_is_data_too(run_here: Run, shop: Path, lock: Path) -> None:
    payload = json.loads(run_here("plan", shop, "--check", lock, "--json").out)
    assert payload == {"format_version": 1, "lock": str(lock), "equal": True, "changes": []}
    change(shop, ("user_id: str", "user_id: int"), ('note: str = ""', ""))
    ran = run_here("plan", shop, "--check", lock, "--json")
    payload = json.loads(ran.out)
    where = {"tool": "place_order", "what": "input_schema"}
    note = {"default": "", "title": "Note", "type": "string"}
    assert (ran.code, payload["equal"]) == (1, False)
    assert sorted(payload["changes"], key=lambda entry: entry["pointer"]) == [
        {"op": "removed", **where, "pointer": "/properties/note", "before": note},
        {"op": "changed", **where, "pointer": "/properties/user_id/type", "before": "string", "after": "integer"},
    ]


def test_names_are_escaped_in_pointers(run_here: Run, shop: Path, lock: Path) -> None:
    for kind in ("string", "integer"):
        inner = f"{{type: object, properties: {{a/b~c: {{type: {kind}}}}}}}"
        manifest(shop, f"tools: {{count_orders: {{input_schema: {inner}}}}}")
        ran = run_here("plan", shop, "--lock" if kind == "string" else "--check", lock)
    assert '  input_schema /properties/a~1b~0c/type: "string" -> "integer"' in ran.out


def test_a_long_text_is_cut_around_what_changed(run_here: Run, shop: Path, lock: Path) -> None:
    words = " ".join(f"w{n}" for n in range(500))
    manifest(shop, f"tools: {{count_orders: {{description: {words}}}}}")
    run_here("plan", shop, "--lock", lock)
    manifest(shop, f"tools: {{count_orders: {{description: {words.replace('w250 ', 'other ')}}}}}")
    (line,) = run_here("plan", shop, "--check", lock).out.splitlines()[2:]
    assert line == "  description: ...w247 w248 w249 [-w250-]{+other+} w251 w252 w253..."


def test_no_character_of_a_description_reaches_the_terminal_unseen(run_here: Run, shop: Path, lock: Path) -> None:
    manifest(shop, 'tools: {count_orders: {description: "one\\ttwo\\e[2J \\u200bthree"}}')
    out = run_here("plan", shop, "--check", lock).out
    assert re.search(r"[^\x20-\x7e\n]", out) is None
    assert "\\u001b[2J" in out


#: JSON in which equal-looking values differ: 1, 1.0 and true; lists that are sets, in another order.
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, "", "a", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "required", "enum", "properties", "a/b", "~"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
TOOLS = st.lists(
    st.builds(
        SurfaceTool,
        name=st.sampled_from("abc"),
        own_name=st.sampled_from("abc"),
        route=st.sampled_from(["POST /a", "POST /{path}"]),
        dispatch=st.just("direct"),
        title=st.sampled_from([None, "T"]),
        description=st.sampled_from([None, "one two", "one  two"]),
        annotations=st.sampled_from([None, {"readOnlyHint": True}]),
        input_schema=st.dictionaries(st.sampled_from(["type", "required", "enum"]), VALUES, max_size=2),
        output_schema=st.none(),
    ),
    max_size=3,
    unique_by=lambda tool: tool.name,
)
SURFACES = st.builds(Surface, server=st.sampled_from("ab"), tools=TOOLS.map(tuple))


@given(SURFACES, SURFACES)
def test_a_diff_is_empty_exactly_where_the_hashes_agree(one: Surface, other: Surface) -> None:
    assert (compare(one, other) == ()) is (one.sha256 == other.sha256)
    assert compare(one, one) == ()


# Files that are no lock.

BAD: dict[str, tuple[Callable[[str], str], str, str]] = {
    "no JSON": (lambda text: text[:-20], "GMM611", "the surface lock is no JSON"),
    "a list": (lambda _: "[]", "GMM611", "the file is no surface lock"),
    "another program's": (lambda _: '{"format_version": 1, "tools": []}', "GMM611", "the file is no surface lock"),
    "a tool without a schema": (
        lambda text: text.replace('"input_schema"', '"schema"'),
        "GMM611",
        "the file is no surface lock",
    ),
    "a newer release's": (
        lambda text: text.replace('"format_version": 1', '"format_version": 2'),
        "GMM611",
        "a later release wrote",
    ),
    "a control character": (lambda text: text.replace("{", "{\x01", 1), "GMM611", "U+0001"),
    "an edited tool": (
        lambda text: text.replace("Cancel an order.", "Cancel any order."),
        "GMM612",
        "the hash of cancel_order does not fit",
    ),
    "an edited server": (
        lambda text: text.replace('"name": "shop"', '"name": "store"'),
        "GMM612",
        "the hash of the whole does not fit",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_lock_is_told(case: str, run_here: Run, shop: Path, lock: Path) -> None:
    spoil, code, says = BAD[case]
    lock.write_text(spoil(lock.read_text(encoding="utf-8")), encoding="utf-8")
    ran = run_here("plan", shop, "--check", lock)
    assert (ran.code, ran.out) == (1, "")
    assert f"{lock}" in ran.err
    assert f"error[{code}]" in ran.err
    assert says in ran.err
    assert f"`gym-mcp plan {shop} --lock {lock}`" in ran.err


def test_the_json_of_a_plan_is_no_lock(run_here: Run, shop: Path, lock: Path) -> None:
    lock.write_text(run_here("plan", shop, "--json").out, encoding="utf-8")
    assert "the file is no surface lock" in run_here("plan", shop, "--check", lock).err


def test_a_missing_lock_says_how_to_write_it(run_here: Run, shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "my lock.json"
    ran = run_here("plan", shop, "--check", path)
    assert (ran.code, ran.out) == (1, "")
    assert f"{path}:1:1: error[GMM611] the file does not exist" in ran.err
    assert f"help: write it: `gym-mcp plan {shop} --lock '{path}'`" in ran.err


def test_what_an_override_says_is_not_repeated(run_here: Run, shop: Path, lock: Path) -> None:
    (shop / "config.yaml").write_text("expose_tools_over_mcp: true", encoding="utf-8")
    ran = run_here("plan", shop, "++mcp_secret=hunter2-hunter2", "--check", lock.with_name("none.json"))
    assert (ran.code, "hunter2" in ran.text) == (1, False)
    assert f"`gym-mcp plan {shop} ... --lock " in ran.err


def test_lock_and_check_together_are_wrong_usage(run_here: Run, shop: Path, lock: Path) -> None:
    ran = run_here("plan", shop, "--lock", lock, "--check", lock)
    assert (ran.code, ran.out) == (2, "")
    assert "give one of them" in re.sub(r"[\s│]+", " ", ran.err)


@pytest.mark.parametrize("name", ["app.py", "mcp.yaml", "notes.json"])
def test_a_file_that_is_no_lock_is_never_overwritten(run_here: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "app.py").write_text("from fastapi import FastAPI\napp = FastAPI()\n")
    (tmp_path / "mcp.yaml").write_text("version: 1\nsessions: {mode: none}\n")
    (tmp_path / "notes.json").write_text("{}")
    before = (tmp_path / name).read_bytes()
    ran = run_here("plan", tmp_path, "--lock", tmp_path / name)
    assert (ran.code, (tmp_path / name).read_bytes()) == (1, before)
    assert "is no surface lock, and is left alone" in ran.err

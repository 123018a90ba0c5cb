"""The accept table and every trap: the same input through HTTP and MCP in twin sessions, compared exactly.

The matrix is data: each handler below is one shape, with its route settings and the inputs that both doors get.
"""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import BackgroundTasks, Response
from fastapi.responses import (
    FileResponse,
    JSONResponse,
    StreamingResponse,
)

# What differs from text on purpose.


@pytest.mark.parametrize(
    ("media_type", "block"),
    [
        ("image/png", {"type": "image", "mimeType": "image/png"}),
        ("image/svg+xml", {"type": "image", "mimeType": "image/svg+xml"}),
        ("audio/wav", {"type": "audio", "mimeType": "audio/wav"}),
    ],
)
def test_images_and_audio_come_as_their_content_types(make_app, open_door, media_type, block):
    app = make_app()
    app.post("/tool")(lambda: Response(b"\x89PNG\x00", media_type=media_type))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert {key: content[key] for key in block} == block
    assert base64.b64decode(content["data"]) == b"\x89PNG\x00"


@pytest.mark.parametrize("media_type", ["application/pdf", "application/octet-stream", "video/mp4", None])
def test_other_bytes_come_as_an_embedded_blob(make_app, open_door, media_type):
    app = make_app()
    app.post("/tool")(lambda: Response(b"\xff\xfe\x00", media_type=media_type))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert content["type"] == "resource"
    assert content["resource"]["uri"] == "resource:///tool"
    assert content["resource"]["mimeType"] == media_type or media_type is None
    assert base64.b64decode(content["resource"]["blob"]) == b"\xff\xfe\x00"


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, br"])
def test_an_encoding_that_cannot_be_undone_comes_as_the_bytes_that_it_is(make_app, open_door, encoding):
    app = make_app()
    headers = {"content-encoding": encoding}
    app.post("/tool")(lambda: Response(b"\xff\x00", media_type="text/plain", headers=headers))
    door = open_door(app)
    (content,) = door.call("tool", {}, door.seed())["content"]
    assert base64.b64decode(content["resource"]["blob"]) == b"\xff\x00"


def test_a_stream_that_breaks_midway_is_a_failure_never_a_short_answer(make_app, open_door):
    def parts() -> Iterator[str]:
        yield "the first half"
        raise RuntimeError("broken")

    app = make_app()
    app.post("/tool")(lambda: StreamingResponse(parts(), media_type="text/plain"))
    door = open_door(app)
    result = door.call("tool", {}, door.seed())
    assert result["isError"] is True
    assert result["content"][0]["text"] == "HTTP 200 from POST /tool: broke off after 14 bytes"


def test_a_file_that_is_gone_is_a_failure(make_app, open_door, tmp_path):
    app = make_app()
    app.post("/tool")(lambda: FileResponse(tmp_path / "gone"))
    door = open_door(app)
    assert door.call("tool", {}, door.seed())["isError"] is True


@pytest.mark.parametrize("background", [True, False])
def test_background_tasks_run_once_and_the_answer_does_not_wait_for_them(make_app, open_door, background):
    release, runs = asyncio.Event(), []

    async def later() -> None:
        await release.wait()
        runs.append("ran")

    app = make_app()

    if background:

        @app.post("/tool")
        async def tool(tasks: BackgroundTasks) -> dict[str, int]:
            tasks.add_task(later)
            return {"runs": len(runs)}
    else:

        @app.post("/tool")
        async def tool() -> JSONResponse:
            tasks = BackgroundTasks()
            tasks.add_task(later)
            return JSONResponse({"runs": len(runs)}, background=tasks)

    @app.post("/release")
    async def let_go() -> dict[str, int]:
        release.set()
        for _ in range(20):
            await asyncio.sleep(0)
        return {"runs": len(runs)}

    door = open_door(app)
    session = door.seed()
    assert door.call("tool", {}, session)["structuredContent"] == {"runs": 0}
    assert door.call("release", {}, session)["structuredContent"] == {"runs": 1}


def test_a_background_task_that_fails_leaves_the_answer_alone(make_app, open_door):
    app = make_app()

    @app.post("/tool")
    async def tool(tasks: BackgroundTasks) -> dict[str, int]:
        tasks.add_task(lambda: 1 / 0)
        return {"id": 1}

    door = open_door(app)
    session = door.seed()
    assert door.call("tool", {}, session)["structuredContent"] == {"id": 1}
    assert door.call("tool", {}, session)["structuredContent"] == {"id": 1}


UNCARRIED = {
    "nan": '{"value": NaN, "inf": -Infinity}',
    "a number beyond every float": '{"value": 1e999}',
    "a lone surrogate": '{"value": "\\ud800"}',
    "a lone surrogate as a key": '{"\\udfff": 1}',
    "nesting": '{"a":' * 500 + "1" + "}" * 500,
    "nesting of lists": '{"a":' + "[" * 5000 + "]" * 5000 + "}",
}


@pytest.mark.parametrize("body", UNCARRIED.values(), ids=UNCARRIED.keys())
def test_json_that_not_every_client_could_carry_comes_as_its_text(make_app, open_door, body):
    app = make_app()
    app.post("/tool")(lambda: Response(body, media_type="application/json"))
    app.post("/failing")(lambda: Response(body, status_code=400, media_type="application/json"))
    door = open_door(app)
    session = door.seed()
    result = door.call("tool", {}, session)
    assert result == {"content": [{"type": "text", "text": body}], "isError": False}
    assert door.text("failing", {}, session) == f"HTTP 400 from POST /failing: {body}"


def test_nesting_that_clients_can_carry_stays_structured(make_app, open_door):
    body = '{"a":' * 90 + "1" + "}" * 90
    app = make_app()
    app.post("/tool")(lambda: Response(body, media_type="application/json"))
    door = open_door(app)
    assert "structuredContent" in door.call("tool", {}, door.seed())


def test_a_coroutine_that_a_sync_handler_returns_is_what_it_is_over_http(make_app, open_door, ask_twins):
    made = []

    async def later() -> None: ...

    def handler() -> Any:
        made.append(later())
        return made[-1]

    app = make_app()
    app.post("/tool")(handler)
    twins = ask_twins(open_door(app), "tool")
    for coroutine in made:
        coroutine.close()
    assert len(made) == 2
    twins.assert_equal("/tool")

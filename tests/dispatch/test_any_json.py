"""Whatever JSON object a client sends, both doors give the handler the same and answer the same."""

from typing import Any

import pytest
from fastapi import Request, Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
OUR_FIXTURES_MAY_BE_SHARED = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def door(make_app, open_door):
    app = make_app()

    @app.post("/parsed")
    async def parsed(body: dict[str, Any]) -> dict[str, Any]:
        return body

    @app.post("/raw")
    async def raw(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    @app.post("/{path}")
    async def dispatch(path: str, request: Request) -> Any:
        return list((await request.json()).items())

    specs = [{"name": "items", "input_schema": {"type": "object"}}]
    return open_door(app, {"version": 1, "catch_all": [{"tools": specs}]})


@OUR_FIXTURES_MAY_BE_SHARED
@given(arguments=OBJECTS)
@pytest.mark.parametrize("name", ["parsed", "raw", "items"])
def test_any_object_passes_both_doors_alike(door, ask_twins, name, arguments):
    ask_twins(door, name, arguments).assert_equal(f"/{name}")


@OUR_FIXTURES_MAY_BE_SHARED
@given(name=st.text(max_size=40))
def test_any_name_that_is_no_tool_is_an_error_result(door, name):
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    if name in ("parsed", "raw", "items"):
        return
    result = door.call(name, {}, door.seed())
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Unknown tool '")

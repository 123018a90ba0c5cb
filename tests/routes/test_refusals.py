"""Refusals as a whole: all reasons at once, of all routes, for all that a guard guards.

The table of shapes that modes refuse, each with its reason, is in `tests/dispatch`.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import yaml
from fastapi import Depends, FastAPI, Header, Request
from pydantic import BaseModel

from gym_mcp_manifest import ExposureRefused, expose

ON = {"expose_tools_over_mcp": True}


class City(BaseModel):
    city: str = "Paris"


def guard(x_key: Annotated[str, Header()] = "none") -> str:
    return x_key


class CallableGuard:
    def __call__(self) -> None: ...


def a_query_string(request: Request, my_string: str) -> None: ...
def two_bodies(a: City, b: City) -> None: ...


def handler(body: City) -> City:
    return body


def refused(app: FastAPI, manifest: dict[str, Any] | None = None) -> ExposureRefused:
    with pytest.raises(ExposureRefused) as caught:
        expose(app, name="unit", manifest=manifest, instance=ON)
    return caught.value


def manifest_line(hint: str | None) -> dict[str, Any]:
    """The manifest that the last code span of a hint writes down."""
    return {"version": 1, **yaml.safe_load(str(hint).split("`")[-2])}


def test_three_faulty_routes_give_three_findings_at_once(make_app):
    app = make_app()
    app.post("/one")(a_query_string)
    app.post("/two")(two_bodies)
    app.post("/three", dependencies=[Depends(guard)])(handler)
    error = refused(app)
    assert sorted(found.message.split(":")[0] for found in error.diagnostics) == [
        "POST /one cannot be dispatched",
        "POST /three cannot be dispatched",
        "POST /two cannot be dispatched",
    ]
    assert all(found.file and found.file.endswith("test_refusals.py") for found in error.diagnostics)
    assert all(found.code in str(error) and found.message in str(error) for found in error.diagnostics)
    assert all(str(found.hint) in str(error) for found in error.diagnostics)


def test_one_route_with_several_faults_tells_them_all(make_app):
    app = make_app()

    @app.post("/many", dependencies=[Depends(guard)])
    def many(a: City, b: City, limit: int = 3, dep: str = Depends(CallableGuard())) -> None: ...

    reasons = [found.message for found in refused(app).diagnostics]
    assert len(reasons) == 4
    for part in ("guard outside", "several body", "`limit` is a query", "Depends(CallableGuard)"):
        assert any(part in reason for reason in reasons)


def test_a_dependency_of_the_whole_app_refuses_every_route_that_it_guards(make_app):
    app = make_app(dependencies=[Depends(guard)])
    app.post("/one")(handler)
    app.post("/two")(handler)
    found = refused(app).diagnostics
    assert [entry.message.split(" cannot")[0] for entry in found] == ["POST /one", "POST /two"]
    assert all("it depends on guard outside its signature" in entry.message for entry in found)


def test_a_guarded_route_is_never_called_past_its_guard(make_app, open_door):
    calls: list[str] = []
    app = make_app()

    @app.post("/guarded", dependencies=[Depends(guard)])
    def guarded() -> None:
        calls.append("called")

    door = open_door(app, {"version": 1, "routes": {"exclude": ["/guarded"]}})
    assert door.call("guarded", {}, door.seed())["isError"] is True
    assert calls == []


def test_an_annotation_that_cannot_be_resolved_is_named(make_app):
    app = make_app()
    namespace: dict[str, Any] = {}
    source = "from __future__ import annotations\ndef later(body: NotDefinedYet) -> None: ..."
    exec(compile(source, "late", "exec", dont_inherit=True), namespace)
    app.post("/later")(namespace["later"])
    assert "the annotation of `body` cannot be resolved" in refused(app).diagnostics[0].message


def test_a_get_route_that_the_manifest_asks_for_is_refused_by_its_method(make_app):
    app = make_app()
    app.get("/items")(handler)
    (found,) = refused(app, {"version": 1, "routes": {"include": ["GET /items"]}}).diagnostics
    assert found.code == "GMM602"
    assert "it is a GET route" in found.message
    assert "'GET /items'" in str(found.hint)


def test_a_typed_parameterized_route_is_refused_with_its_parameters(make_app):
    app = make_app()

    @app.post("/items/{item}")
    def item(item: str) -> str:
        return item

    (shape,) = refused(app, {"version": 1, "routes": {"include": ["/items/{item}"]}}).diagnostics
    assert shape.code == "GMM602"
    assert "it has path parameters (item)" in shape.message
    assert "write `tools: {'POST /items/{item}': {dispatch: route}}`" in str(shape.hint)


def test_a_dispatcher_with_a_typed_path_parameter_is_refused_and_the_hint_ignores_it(make_app, open_door):
    app = make_app()

    @app.post("/{number}")
    def dispatch(number: int) -> int:
        return number

    manifest = {"version": 1, "catch_all": [{"tools": [{"name": "seven", "input_schema": {"type": "object"}}]}]}
    (found,) = refused(app, manifest).diagnostics
    assert "the path parameter `number` is not a plain `str`" in found.message
    assert open_door(app, manifest_line(found.hint)).names() == ()

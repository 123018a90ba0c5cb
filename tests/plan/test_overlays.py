"""`routes.specs`: descriptions and schemas from data onto harvested routes, field by field."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from gym_mcp_manifest import Diagnostic, ExposurePlan, ExposureRefused, ManifestInvalid, expose, load_manifest

ON = {"expose_tools_over_mcp": True}


class Query(BaseModel):
    city: str


@pytest.fixture
def app(make_app: Any) -> FastAPI:
    app: FastAPI = make_app()

    @app.post("/get_weather")
    async def get_weather(body: Query) -> dict[str, str]:
        """The handler's words."""
        return {"city": body.city}

    @app.post("/reset")
    async def reset() -> dict[str, bool]:
        """Start over."""
        return {"reset": True}

    return app


def written(folder: Path, specs: Any, *sources: dict[str, Any], **keys: Any) -> Path:
    """A manifest with overlays from data/specs.json."""
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "specs.json").write_text(json.dumps(specs))
    manifest = {"version": 1, "routes": {"specs": list(sources or [{"file": "data/specs.json"}])}, **keys}
    path = folder / "mcp.yaml"
    path.write_text(json.dumps(manifest))
    return path


def planned(app: FastAPI, path: Path) -> ExposurePlan:
    return expose(app, name="unit", manifest=load_manifest(path), instance=ON)


def refused(app: FastAPI, path: Path) -> Diagnostic:
    with pytest.raises((ExposureRefused, ManifestInvalid)) as caught:
        planned(app, path)
    (found,) = caught.value.diagnostics
    assert isinstance(found, Diagnostic)
    return found


SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}


def test_an_overlay_gives_what_it_has_and_the_handler_the_rest(app: FastAPI, tmp_path: Path) -> None:
    plan = planned(app, written(tmp_path, [{"name": "get_weather", "parameters": SCHEMA}]))
    weather, reset = plan.tools
    assert weather.input_schema == SCHEMA
    assert weather.description == "The handler's words."
    assert reset.description == "Start over."
    assert weather.origins["input_schema"].startswith(str(tmp_path / "data" / "specs.json"))
    assert "test_overlays.py" in weather.origins["description"]


def test_tools_beat_overlays_which_beat_the_handler_field_by_field(app: FastAPI, tmp_path: Path) -> None:
    specs = [{"name": "get_weather", "title": "Overlaid", "description": "Overlaid.", "parameters": SCHEMA}]
    path = written(tmp_path, specs, tools={"get_weather": {"title": "Written"}})
    tool = planned(app, path).tools[0]
    assert (tool.title, tool.description, tool.input_schema) == ("Written", "Overlaid.", SCHEMA)


def test_of_several_sources_the_first_that_has_the_field_counts(app: FastAPI, tmp_path: Path) -> None:
    first = {"name": "get_weather", "description": "First."}
    path = written(
        tmp_path,
        [{"name": "get_weather", "description": "Second.", "parameters": SCHEMA}],
        first,
        {"file": "data/specs.json"},
    )
    tool = planned(app, path).tools[0]
    assert (tool.description, tool.input_schema) == ("First.", SCHEMA)


def test_dispatch_is_untouched_by_an_overlay(app: FastAPI, tmp_path: Path, open_door: Any) -> None:
    schema = {"type": "object", "properties": {"town": {"type": "string"}}}
    path = written(tmp_path, [{"name": "get_weather", "parameters": schema}])
    door = open_door(app, load_manifest(path))
    session = door.seed()
    assert "town" in door.list(session)[0]["inputSchema"]["properties"]
    assert door.call("get_weather", {"city": "Oslo"}, session)["structuredContent"] == {"city": "Oslo"}
    assert door.call("get_weather", {"town": "Oslo"}, session)["isError"]


def test_an_overlay_may_know_a_tool_by_its_exposed_name(app: FastAPI, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [{"name": "weather", "description": "By its exposed name."}],
        tools={"get_weather": {"name": "weather"}},
    )
    assert planned(app, path).tools[0].description == "By its exposed name."


def test_an_overlay_that_names_no_route_is_an_error_with_the_nearest(app: FastAPI, tmp_path: Path) -> None:
    found = refused(app, written(tmp_path, [{"name": "get_wether", "description": "x"}]))
    assert found.code == "GMM601"
    assert "`get_weather`" in str(found.hint)
    assert found.file == str(tmp_path / "data" / "specs.json")


def test_unmatched_overlays_may_be_passed_over(app: FastAPI, tmp_path: Path) -> None:
    source = {"file": "data/specs.json", "unmatched": "ignore"}
    specs = [{"name": "elsewhere"}, {"name": "get_weather", "description": "Here."}]
    assert planned(app, written(tmp_path, specs, source)).tools[0].description == "Here."


def test_an_overlay_for_an_excluded_route_is_no_fault(app: FastAPI, tmp_path: Path) -> None:
    path = written(tmp_path, [{"name": "reset", "description": "x"}])
    manifest = json.loads(path.read_text())
    manifest["routes"]["exclude"] = ["/reset"]
    path.write_text(json.dumps(manifest))
    assert [tool.name for tool in planned(app, path).tools] == ["get_weather"]


def test_overlays_are_selected_and_filtered_like_any_source(app: FastAPI, tmp_path: Path) -> None:
    source = {"file": "data/specs.json", "select": "rows[].tools[]", "exclude": ["other_*"]}
    specs = {
        "rows": [{"tools": [{"name": "other_1"}]}, {"tools": [{"name": "get_weather", "description": "In."}]}]
    }
    assert planned(app, written(tmp_path, specs, source)).tools[0].description == "In."


def test_one_source_that_describes_a_tool_in_two_ways_is_an_error(app: FastAPI, tmp_path: Path) -> None:
    specs = [{"name": "reset", "description": "a"}, {"name": "reset", "description": "b"}]
    assert refused(app, written(tmp_path, specs)).code == "GMM404"


def test_a_bad_schema_in_an_overlay_stops_the_boot_at_its_place(app: FastAPI, tmp_path: Path) -> None:
    found = refused(app, written(tmp_path, [{"name": "reset", "parameters": {"type": "array"}}]))
    assert (found.code, found.file) == ("GMM209", str(tmp_path / "data" / "specs.json"))


def test_a_session_source_as_overlay_is_still_to_come(app: FastAPI, tmp_path: Path) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        planned(app, written(tmp_path, [], {"session": "tools"}))
    assert [found.code for found in caught.value.diagnostics] == ["GMM206"]

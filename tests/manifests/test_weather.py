"""The weather server over plain HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASKS = ("weather-paris", "weather-buenos-aires", "weather-warmer", "weather-snow")
PARIS = "The weather in Paris is sunny and 72 F."


@pytest.fixture
def weather(load_server: Callable[[str], Any]) -> Any:
    return load_server("weather")


@pytest.fixture
def paris(weather: Any, start: Callable[..., Any]) -> Any:
    return start(weather, weather.tasks()["weather-paris"])


def test_the_parameters_below_name_every_task(weather: Any) -> None:
    assert tuple(weather.tasks()) == TASKS


@pytest.mark.parametrize("task", TASKS)
def test_recorded_solution_earns_the_reward(weather: Any, start: Callable[..., Any], task: str) -> None:
    rollout = start(weather, weather.tasks()[task])
    rollout.replay_recorded()
    assert rollout.reward() == 1.0


@pytest.mark.parametrize("task", TASKS)
def test_empty_trajectory_earns_nothing(weather: Any, start: Callable[..., Any], task: str) -> None:
    assert start(weather, weather.tasks()[task]).reward() == 0.0


def test_answer_without_the_call_earns_nothing(paris: Any) -> None:
    paris.record("get_weather", {"city": "Paris"})
    paris.say(PARIS)
    assert paris.reward() == 0.0


def test_call_for_another_city_earns_nothing(paris: Any) -> None:
    paris.call("get_weather", {"city": "Rome"})
    paris.say(PARIS)
    assert paris.reward() == 0.0


def test_only_the_final_message_counts(paris: Any) -> None:
    paris.call("get_weather", {"city": "Paris"})
    paris.say(PARIS)
    paris.say("Anything else?")
    assert paris.reward() == 0.0


@pytest.mark.parametrize("city", ["paris", "PARIS", "  Paris "])
def test_city_is_found_in_any_spelling_of_case(paris: Any, city: str) -> None:
    assert paris.call("get_weather", {"city": city}).json() == {"weather": PARIS}
    paris.say(f"I looked it up.\n\n{PARIS.lower()}")
    assert paris.reward() == 1.0


def test_verify_echoes_the_whole_body(paris: Any) -> None:
    paris.task = {**paris.task, "extra": {"nested": [1, 2.5, None, "x"]}}
    paris.replay_recorded()
    echo = paris.verify().json()
    assert echo == {**paris.task, "response": {"id": "resp_1", "output": paris.output}, "reward": 1.0}


def test_interleaved_sessions_stay_apart(weather: Any, start: Callable[..., Any]) -> None:
    task = weather.tasks()["weather-paris"]
    asked, silent = start(weather, task), start(weather, task)
    for _ in range(20):
        asked.call("get_weather", {"city": "Paris"})
        silent.call("get_weather", {"city": "Oslo"})
    asked.say(PARIS)
    silent.say(PARIS)
    assert (asked.reward(), silent.reward()) == (1.0, 0.0)


def test_seeding_again_starts_over(paris: Any) -> None:
    paris.replay_recorded()
    paris.client.post("/seed_session", json=paris.task)
    assert paris.reward() == 0.0


@pytest.mark.parametrize("path", ["/get_weather", "/verify"])
def test_call_without_a_session_is_a_conflict(weather: Any, paris: Any, path: str) -> None:
    body = {"city": "Paris", **paris.task, "response": {"output": []}}
    for client in (weather.client(), paris.client):
        assert client.post("/close_session").json() == {}
        answer = client.post(path, json=body)
        assert answer.status_code == 409
        assert "/seed_session" in answer.json()["detail"]


def test_unknown_city_is_not_found(paris: Any) -> None:
    answer = paris.call("get_weather", {"city": "Atlantis"})
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("No weather report for 'Atlantis'. Known cities: Amsterdam, ")


@pytest.mark.parametrize("arguments", [{}, {"city": 3}, {"town": "Paris"}])
def test_wrong_arguments_are_unprocessable(paris: Any, arguments: dict[str, Any]) -> None:
    assert paris.call("get_weather", arguments).status_code == 422


def test_unsolvable_task_is_refused_when_seeded(weather: Any) -> None:
    answer = weather.client().post("/seed_session", json={"verifier_metadata": {"expected_city": "Atlantis"}})
    assert answer.status_code == 422
    assert answer.json() == {"detail": "verifier_metadata.expected_city is no known city: 'Atlantis'."}


def test_task_row_describes_the_tool_as_the_app_does(weather: Any) -> None:
    schema = weather.app.openapi()
    operation = schema["paths"]["/get_weather"]["post"]
    described = schema["components"]["schemas"]["WeatherQuestion"]["properties"]["city"]["description"]
    for task in weather.tasks().values():
        (spec,) = task["responses_create_params"]["tools"]
        assert spec["name"] == "get_weather"
        assert spec["description"] == operation["description"]
        assert spec["parameters"]["properties"]["city"]["description"] == described


def test_store_forgets_the_session_unused_for_longest(weather: Any) -> None:
    store = weather.module("weather_sessions").SessionStore(capacity=2)
    first = store.open("first")
    store.open("second")
    assert store.get("first") is first
    store.open("third")
    assert store.get("second") is None
    assert store.get("first") is first


def test_server_knows_nothing_of_mcp(weather: Any) -> None:
    for source in Path(weather.folder).rglob("*.py"):
        assert "import mcp" not in source.read_text(encoding="utf-8")
        assert "gym_mcp" not in source.read_text(encoding="utf-8")

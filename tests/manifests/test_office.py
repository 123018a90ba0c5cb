"""The office server over plain HTTP."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASKS = (
    "office-reply",
    "office-schedule",
    "office-search-share",
    "office-overdue-reviews",
    "office-handover",
    "office-longest-wait",
    "office-traffic-report",
    "office-reschedule",
    "office-invoice",
    "office-new-lead",
)
READING = ("office-search-share", "office-longest-wait")
WRONG = ("email_delete_email", {"email_id": "email-001"})


@pytest.fixture
def office(load_server: Callable[[str], Any]) -> Any:
    return load_server("office")


@pytest.fixture
def desk(office: Any, start: Callable[..., Any]) -> Any:
    """A rollout whose task is to reply to one message."""
    return start(office, office.tasks()["office-reply"])


def specs(office: Any) -> list[dict[str, Any]]:
    files = sorted((office.folder / "data" / "tools").glob("*.json"))
    return [spec for file in files for spec in json.loads(file.read_text(encoding="utf-8"))["tools"]]


# Scoring


def test_the_parameters_below_name_every_task(office: Any) -> None:
    assert tuple(office.tasks()) == TASKS


@pytest.mark.parametrize("task", TASKS)
def test_recorded_solution_earns_the_reward(office: Any, start: Callable[..., Any], task: str) -> None:
    rollout = start(office, office.tasks()[task])
    rollout.replay_recorded()
    assert rollout.reward() == 1.0


@pytest.mark.parametrize("task", TASKS)
def test_empty_trajectory_earns_nothing(office: Any, start: Callable[..., Any], task: str) -> None:
    assert start(office, office.tasks()[task]).reward() == 0.0


@pytest.mark.parametrize("task", TASKS)
def test_one_wrong_call_too_many_earns_nothing(office: Any, start: Callable[..., Any], task: str) -> None:
    rollout = start(office, office.tasks()[task])
    assert rollout.call(*WRONG).status_code == 200
    rollout.replay_recorded()
    assert rollout.reward() == 0.0


@pytest.mark.parametrize("task", [task for task in TASKS if task not in READING])
def test_calls_that_were_never_made_earn_nothing(office: Any, start: Callable[..., Any], task: str) -> None:
    rollout = start(office, office.tasks()[task])
    for call in rollout.task["recorded"]["calls"]:
        rollout.record(call["name"], call["arguments"])
    rollout.say(rollout.task["recorded"]["final"])
    assert rollout.reward() == 0.0


@pytest.mark.parametrize("task", [task for task in TASKS if task not in READING])
def test_calls_that_were_not_recorded_earn_nothing(office: Any, start: Callable[..., Any], task: str) -> None:
    rollout = start(office, office.tasks()[task])
    rollout.replay_recorded()
    rollout.output.clear()
    assert rollout.reward() == 0.0


def test_renamed_calls_change_nothing(desk: Any) -> None:
    desk.replay_recorded()
    for item in desk.output:
        if item["type"] == "function_call":
            item["name"] = f"mcp__office__{item['name']}"
    assert desk.reward() == 0.0


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", "3", None, {}])
def test_broken_recorded_arguments_are_a_failed_call(desk: Any, arguments: object) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "email_delete_email", "arguments": arguments}
    desk.output.append(item)
    desk.replay_recorded()
    assert desk.reward() == 1.0


def test_failed_calls_on_the_way_do_no_harm(desk: Any) -> None:
    assert desk.call("email_reply_email", {"email_id": "email-999", "body": "?"}).status_code == 404
    assert desk.call("email_reply_email", {"email_id": "email-120"}).status_code == 422
    assert desk.call("email_answer_email", {}).status_code == 404
    desk.replay_recorded()
    assert desk.reward() == 1.0


def test_order_of_new_records_does_not_matter(office: Any, start: Callable[..., Any]) -> None:
    def note(subject: str) -> dict[str, Any]:
        arguments = {"recipient": "noor.ashgrove@tarnwood.example.com", "subject": subject, "body": "Please."}
        return {"name": "email_send_email", "arguments": arguments}

    rollout = start(office, {"ground_truth": [note("one"), note("two")]})
    for call in (note("two"), note("one")):
        rollout.call(call["name"], call["arguments"])
    assert rollout.reward() == 1.0
    rollout.call("email_send_email", note("two")["arguments"])
    assert rollout.reward() == 0.0


def test_changes_taken_back_are_no_changes(desk: Any) -> None:
    task = desk.call("project_management_get_task", {"task_id": "task-026"}).json()["output"]
    for status in ("backlog", task["status"]):
        desk.call("project_management_update_task", {"task_id": "task-026", "status": status})
    desk.replay_recorded()
    assert desk.reward() == 1.0


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("It was 45 of 118.", True),
        ("45 OF\n118", True),
        ("It was **45 of 118** visits", True),
        ("145 of 118", False),
        ("45 of 1180", False),
        ("45 of 118.5", False),
        ("3.45 of 118", False),
        ("45 and 118", False),
    ],
)
def test_answer_is_stated_as_a_whole(office: Any, start: Callable[..., Any], text: str, stated: bool) -> None:
    rollout = start(office, office.tasks()["office-search-share"])
    rollout.say(text)
    assert rollout.reward() == float(stated)


def test_reading_task_without_an_answer_cannot_be_scored(office: Any, start: Callable[..., Any]) -> None:
    answer = start(office, {"ground_truth": []}).verify()
    assert answer.status_code == 422
    assert "expected_answer" in answer.json()["detail"]


def test_failing_ground_truth_cannot_be_scored(office: Any, start: Callable[..., Any]) -> None:
    row = {"ground_truth": [{"name": "email_get_email", "arguments": {"email_id": "email-999"}}]}
    answer = start(office, row).verify()
    assert answer.status_code == 422
    detail = "This task cannot be scored: ground_truth[0] fails: There is no email with the id 'email-999'."
    assert answer.json() == {"detail": detail}


def test_verify_echoes_the_whole_body(desk: Any) -> None:
    desk.task = {**desk.task, "extra": {"nested": [1, 2.5, None, "x"]}}
    desk.replay_recorded()
    echo = desk.verify().json()
    assert echo == {**desk.task, "response": {"id": "resp_1", "output": desk.output}, "reward": 1.0}


# Sessions


def test_interleaved_sessions_stay_apart(office: Any, start: Callable[..., Any]) -> None:
    rollouts = [start(office, task) for task in office.tasks().values()]
    pending = [(rollout, list(rollout.task["recorded"]["calls"])) for rollout in rollouts]
    while any(calls for _, calls in pending):
        for rollout, calls in pending:
            if calls:
                call = calls.pop(0)
                assert rollout.call(call["name"], call["arguments"]).status_code == 200
    for rollout in rollouts:
        rollout.say(rollout.task["recorded"]["final"])
    assert [rollout.reward() for rollout in rollouts] == [1.0] * len(rollouts)


def test_what_one_session_deletes_another_still_has(office: Any, start: Callable[..., Any]) -> None:
    one, other = (start(office, {}) for _ in range(2))
    assert one.call("email_delete_email", {"email_id": "email-001"}).json() == {"output": {"deleted": "email-001"}}
    assert one.call("email_get_email", {"email_id": "email-001"}).status_code == 404
    assert other.call("email_get_email", {"email_id": "email-001"}).status_code == 200


def test_seeding_again_starts_over(desk: Any) -> None:
    desk.call(*WRONG)
    desk.client.post("/seed_session", json=desk.task)
    desk.output.clear()
    desk.replay_recorded()
    assert desk.reward() == 1.0


@pytest.mark.parametrize("path", ["/email_search_emails", "/verify"])
def test_call_without_a_session_is_a_conflict(office: Any, desk: Any, path: str) -> None:
    for client in (office.client(), desk.client):
        assert client.post("/close_session").json() == {}
        answer = client.post(path, json={**desk.task, "response": {"output": []}})
        assert answer.status_code == 409
        assert "/seed_session" in answer.json()["detail"]


def test_store_forgets_the_session_unused_for_longest(office: Any) -> None:
    tables = office.module("office_tables").OfficeTables.read(office.folder / "data" / "tables")
    store = office.module("office_sessions").SessionStore(tables, capacity=2)
    first = store.open("first")
    store.open("second")
    assert store.get("first") is first
    store.open("third")
    assert store.get("second") is None
    assert store.get("first") is first


# Tools


def test_every_spec_has_its_handler(office: Any) -> None:
    tools = office.module("office_tools").TOOLS
    described = {spec["name"]: spec["parameters"] for spec in specs(office)}
    assert len(specs(office)) == len(described) == 27
    assert set(described) == set(tools)
    for name, parameters in described.items():
        handler = tools[name].arguments.model_json_schema()
        assert parameters["additionalProperties"] is handler["additionalProperties"] is False
        assert list(parameters["properties"]) == list(handler["properties"]), name
        assert parameters["required"] == handler.get("required", []), name
        for parameter, described_as in parameters["properties"].items():
            assert advertised(described_as) == accepted(handler["properties"][parameter]), (name, parameter)


def advertised(schema: dict[str, Any]) -> dict[str, Any]:
    """What a spec says of a parameter, without the words."""
    return {key: value for key, value in schema.items() if key != "description"}


def accepted(schema: dict[str, Any]) -> dict[str, Any]:
    """The same of a handler's parameter, where null only stands for one that is left out."""
    if "anyOf" in schema:
        value, null = schema["anyOf"]
        assert null == {"type": "null"}
        assert schema["default"] is None
        schema = value
    return {key: value for key, value in schema.items() if key not in ("title", "pattern")}


def test_every_spec_is_described(office: Any) -> None:
    for spec in specs(office):
        assert spec["type"] == "function"
        assert spec["strict"] is False
        assert spec["description"].endswith(".")
        for parameter, schema in spec["parameters"]["properties"].items():
            assert schema["description"].endswith("."), (spec["name"], parameter)


def test_task_rows_carry_the_specs_of_their_toolkits(office: Any) -> None:
    by_name = {spec["name"]: spec for spec in specs(office)}
    for task in office.tasks().values():
        listed = {spec["name"]: spec for spec in task["responses_create_params"]["tools"]}
        assert all(by_name[name] == spec for name, spec in listed.items())
        called = {call["name"] for call in task["ground_truth"] + task["recorded"]["calls"]}
        assert called <= set(listed)
        assert called <= set(task["verifier_metadata"].get("allowed_tools", listed))


def test_tasks_reach_every_toolkit(office: Any) -> None:
    called = {call["name"] for task in office.tasks().values() for call in task["recorded"]["calls"]}
    for file in (office.folder / "data" / "tools").glob("*.json"):
        assert any(name.startswith(f"{file.stem}_") for name in called), file.stem


@pytest.mark.parametrize(
    ("name", "arguments", "status", "detail"),
    [
        ("email_burn_email", {}, 404, "There is no tool 'email_burn_email'."),
        ("email_get_email", {"email_id": "email-999"}, 404, "There is no email with the id 'email-999'."),
        ("analytics_get_visitor", {"visitor": "visitor-999"}, 404, "There is no visitor 'visitor-999'."),
        (
            "company_directory_find_email_address",
            {"name": "Nemo"},
            404,
            "Nobody in the company directory is called 'Nemo'.",
        ),
        (
            "project_management_update_task",
            {"task_id": "task-001", "assignee": "nemo@example.com"},
            404,
            "Nobody in the company directory has the address 'nemo@example.com'.",
        ),
        (
            "email_forward_email",
            {"email_id": "email-001", "to": "noor.ashgrove@tarnwood.example.com"},
            422,
            (
                "Invalid arguments for email_forward_email: recipient: Field required; "
                "to: Extra inputs are not permitted. It takes: email_id, recipient."
            ),
        ),
        (
            "calendar_search_events",
            {"limit": "5"},
            422,
            (
                "Invalid arguments for calendar_search_events: limit: Input should be a valid integer. "
                "It takes: query, first_day, last_day, limit."
            ),
        ),
        (
            "analytics_total_visits_count",
            {"start_day": "1 May"},
            422,
            (
                "Invalid arguments for analytics_total_visits_count: start_day: expected a day as YYYY-MM-DD. "
                "It takes: start_day, end_day."
            ),
        ),
        (
            "analytics_total_visits_count",
            {"start_day": "2025-06-02", "end_day": "2025-06-01"},
            422,
            "start_day 2025-06-02 lies after end_day 2025-06-01.",
        ),
        (
            "calendar_update_event",
            {"event_id": "event-001"},
            422,
            "Nothing to change: give at least one of title, participant, start, duration_minutes.",
        ),
    ],
)
def test_failing_calls_say_why(desk: Any, name: str, arguments: dict[str, Any], status: int, detail: str) -> None:
    answer = desk.call(name, arguments)
    assert (answer.status_code, answer.json()) == (status, {"detail": detail})


@pytest.mark.parametrize("start_at", ["2025-06-16", "2025-6-16 13:00", "2025-06-31 13:00", "2025-06-16T13:00"])
def test_moments_are_written_in_one_way(desk: Any, start_at: str) -> None:
    answer = desk.call("calendar_update_event", {"event_id": "event-001", "start": start_at})
    assert answer.status_code == 422
    assert "start: expected a day and time as YYYY-MM-DD HH:MM" in answer.json()["detail"]


def test_results_are_any_json(desk: Any) -> None:
    may = {"start_day": "2025-05-01", "end_day": "2025-05-31"}
    before = {"end_day": "2020-01-01"}
    assert desk.call("analytics_total_visits_count", may).json() == {"output": 118}
    assert desk.call("analytics_average_session_duration", may).json() == {"output": 236.3}
    assert desk.call("analytics_average_session_duration", before).json() == {"output": None}
    assert desk.call("company_directory_find_email_address", {"name": "estela"}).json() == {
        "output": ["estela.thornbury@tarnwood.example.com"]
    }


def test_writes_are_seen_by_the_reads_after_them(desk: Any) -> None:
    sent = desk.call("email_reply_email", {"email_id": "email-120", "body": "Unmistakable."}).json()["output"]
    assert sent["recipient"] == "yasmin.vasquell@tarnwood.example.com"
    assert sent["subject"] == "Re: Website copy review"
    found = desk.call("email_search_emails", {"query": "unmistakable"}).json()["output"]
    assert found == [sent]
    desk.call("email_delete_email", {"email_id": sent["id"]})
    assert desk.call("email_search_emails", {"query": "unmistakable"}).json() == {"output": []}


def test_null_counts_as_left_out(desk: Any) -> None:
    bare = desk.call("email_search_emails", {"query": "warranty"})
    nulled = desk.call("email_search_emails", {"query": "warranty", "sent_from": None, "sent_until": None})
    assert bare.json() == nulled.json()


def test_server_knows_nothing_of_mcp(office: Any) -> None:
    for source in Path(office.folder).rglob("*.py"):
        assert "import mcp" not in source.read_text(encoding="utf-8")
        assert "gym_mcp" not in source.read_text(encoding="utf-8")

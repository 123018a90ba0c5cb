"""How a rollout is scored: by what it changed, and, where a question was asked, by the answer."""

import re
from contextlib import suppress

from office_bodies import VerifyRequest
from office_errors import ToolError
from office_tables import OfficeTables
from office_tools import call_tool


class BrokenTask(Exception):
    """The task row cannot be solved by anybody. Scoring it 0.0 would blame the model."""


def reward(task: VerifyRequest, session: OfficeTables) -> float:
    """1.0 if the ground truth, the recorded calls and the session itself all had the same effects, else 0.0.

    The recorded calls alone would pay for calls that were written down but never made, the session alone for
    calls that the trajectory does not show. Where the task asks a question, as every task must whose ground
    truth changes nothing, the final message has to state the answer. Raises :class:`BrokenTask`.
    """
    expected = _replay_ground_truth(task, session).changes()
    answer = task.verifier_metadata.expected_answer
    if not expected and not answer:
        raise BrokenTask("ground_truth changes nothing, so verifier_metadata.expected_answer is needed.")
    solved = (
        _replay_trajectory(task, session).changes() == expected
        and session.changes() == expected
        and (answer is None or states(task.response.final_text(), answer))
    )
    return float(solved)


def states(text: str, answer: str) -> bool:
    """Whether the text contains the answer: in any letter case, not within a longer word or number."""
    wanted = r"\s+".join(map(re.escape, answer.split()))
    return re.search(rf"(?<!\w)(?<!\d[.,]){wanted}(?!\w)(?![.,]\d)", text, re.IGNORECASE) is not None


def _replay_ground_truth(task: VerifyRequest, session: OfficeTables) -> OfficeTables:
    tables = session.fresh()
    for place, call in enumerate(task.ground_truth):
        try:
            call_tool(call.name, tables, call.arguments)
        except ToolError as error:
            raise BrokenTask(f"ground_truth[{place}] fails: {error.detail}") from error
    return tables


def _replay_trajectory(task: VerifyRequest, session: OfficeTables) -> OfficeTables:
    tables = session.fresh()
    for call in task.response.calls():
        # A failed call is a step that changed nothing; the model may have corrected it in the next one.
        with suppress(ToolError):
            call_tool(call.name, tables, call.arguments)
    return tables

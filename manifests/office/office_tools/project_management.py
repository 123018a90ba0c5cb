"""Tasks on the project boards."""

from office_records import Address, Board, Day, Task, TaskStatus
from office_tables import OfficeTables
from pydantic import JsonValue

from .changing import update_record
from .company_directory import require_colleague
from .matching import Limit, is_between, mentions
from .toolkit import Toolkit

project_management = Toolkit("project_management")


@project_management.tool
def search_tasks(
    tables: OfficeTables,
    query: str = "",
    assignee: Address | None = None,
    board: Board | None = None,
    status: TaskStatus | None = None,
    due_until: Day | None = None,
    limit: Limit = 10,
) -> JsonValue:
    """Tasks that fit everything given, the most urgent first."""
    found = [
        task
        for task in tables.tasks
        if mentions(query, task.title)
        and assignee in (None, task.assignee)
        and board in (None, task.board)
        and status in (None, task.status)
        and is_between(task.due_date, None, due_until)
    ]
    found.sort(key=lambda task: task.due_date)
    return [task.model_dump() for task in found[:limit]]


@project_management.tool
def get_task(tables: OfficeTables, task_id: str) -> JsonValue:
    """One task in full."""
    return tables.tasks.get(task_id).model_dump()


@project_management.tool
def create_task(
    tables: OfficeTables,
    title: str,
    assignee: Address,
    board: Board,
    due_date: Day,
    status: TaskStatus = "backlog",
) -> JsonValue:
    """A new task for a colleague."""
    require_colleague(tables, assignee)
    task = Task(
        id=tables.tasks.next_id(),
        title=title,
        assignee=assignee,
        board=board,
        status=status,
        due_date=due_date,
    )
    return tables.tasks.put(task).model_dump()


@project_management.tool
def update_task(
    tables: OfficeTables,
    task_id: str,
    title: str | None = None,
    assignee: Address | None = None,
    board: Board | None = None,
    status: TaskStatus | None = None,
    due_date: Day | None = None,
) -> JsonValue:
    """Move a task, hand it over or change what it says."""
    if assignee is not None:
        require_colleague(tables, assignee)
    return update_record(
        tables.tasks, task_id, title=title, assignee=assignee, board=board, status=status, due_date=due_date
    ).model_dump()


@project_management.tool
def delete_task(tables: OfficeTables, task_id: str) -> JsonValue:
    """Take a task off its board."""
    return {"deleted": tables.tasks.remove(task_id).id}

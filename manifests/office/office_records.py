"""What the office keeps: one frozen record type per table, and the value types that tools share with them."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, StringConstraints

# The clock stands still and one person sits at the desk, so a call has the same effect in every session.
NOW = "2025-06-12 09:00"
DESK = "ines.morvan@tarnwood.example.com"


def _is_day(text: str) -> str:
    # Days are compared as text, so forms like 20250612 or 2025-W24-4 must not slip in.
    try:
        canonical = date.fromisoformat(text).isoformat()
    except ValueError:
        canonical = None
    if canonical != text:
        raise ValueError("expected a day as YYYY-MM-DD")
    return text


def _is_moment(text: str) -> str:
    try:
        canonical = datetime.strptime(text, "%Y-%m-%d %H:%M").strftime("%Y-%m-%d %H:%M")
    except ValueError:
        canonical = None
    if canonical != text:
        raise ValueError("expected a day and time as YYYY-MM-DD HH:MM")
    return text


Day = Annotated[str, AfterValidator(_is_day)]
Moment = Annotated[str, AfterValidator(_is_moment)]
Address = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+$")]

Board = Literal["website", "field_app", "data_platform", "service_desk"]
TaskStatus = Literal["backlog", "in_progress", "in_review", "completed"]
CustomerStatus = Literal["lead", "qualified", "proposal", "won", "lost"]
Product = Literal["sensors", "gateways", "calibration", "monitoring", "training"]
TrafficSource = Literal["search", "direct", "referral", "newsletter", "social"]
Metric = Literal["total_visits", "engaged_users", "average_session_duration"]
Chart = Literal["bar", "line", "scatter"]


class Record(BaseModel, frozen=True):
    """A row with an id of its own."""

    id: str


class Person(Record, frozen=True):
    """A colleague in the company directory."""

    name: str
    email: Address
    title: str
    department: str


class Email(Record, frozen=True):
    """A message in the mailbox of the person at the desk, received or sent."""

    sender: Address
    recipient: Address
    subject: str
    body: str
    sent_at: Moment


class Event(Record, frozen=True):
    """A calendar entry of the person at the desk, with one participant."""

    title: str
    participant: Address
    start: Moment
    duration_minutes: int


class Visit(Record, frozen=True):
    """One visit to the company's website."""

    visitor: str
    day: Day
    source: TrafficSource
    duration_seconds: int
    engaged: bool


class Plot(Record, frozen=True):
    """A chart that was drawn from the visits."""

    metric: Metric
    chart: Chart
    start_day: Day
    end_day: Day


class Task(Record, frozen=True):
    """A piece of work on a project board."""

    title: str
    assignee: Address
    board: Board
    status: TaskStatus
    due_date: Day


class Customer(Record, frozen=True):
    """A company that buys, or may buy, and the colleague who looks after it."""

    company: str
    contact: str
    email: Address
    assigned_to: Address
    status: CustomerStatus
    product: Product
    last_contact: Day
    notes: str

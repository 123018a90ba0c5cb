"""The calendar of the person at the desk."""

from typing import Annotated

from office_records import Address, Day, Event, Moment
from office_tables import OfficeTables
from pydantic import Field, JsonValue

from .changing import update_record
from .matching import Limit, is_between, mentions
from .toolkit import Toolkit

Minutes = Annotated[int, Field(ge=5, le=480)]

calendar = Toolkit("calendar")


@calendar.tool
def search_events(
    tables: OfficeTables,
    query: str = "",
    first_day: Day | None = None,
    last_day: Day | None = None,
    limit: Limit = 5,
) -> JsonValue:
    """Events that mention the query and start on these days, earliest first."""
    found = [
        event
        for event in tables.events
        if mentions(query, event.title, event.participant) and is_between(event.start, first_day, last_day)
    ]
    found.sort(key=lambda event: event.start)
    return [event.model_dump() for event in found[:limit]]


@calendar.tool
def get_event(tables: OfficeTables, event_id: str) -> JsonValue:
    """One event in full."""
    return tables.events.get(event_id).model_dump()


@calendar.tool
def create_event(
    tables: OfficeTables, title: str, participant: Address, start: Moment, duration_minutes: Minutes
) -> JsonValue:
    """A new entry in the calendar."""
    event = Event(
        id=tables.events.next_id(),
        title=title,
        participant=participant,
        start=start,
        duration_minutes=duration_minutes,
    )
    return tables.events.put(event).model_dump()


@calendar.tool
def update_event(
    tables: OfficeTables,
    event_id: str,
    title: str | None = None,
    participant: Address | None = None,
    start: Moment | None = None,
    duration_minutes: Minutes | None = None,
) -> JsonValue:
    """Move an event, or change what it is about."""
    return update_record(
        tables.events,
        event_id,
        title=title,
        participant=participant,
        start=start,
        duration_minutes=duration_minutes,
    ).model_dump()


@calendar.tool
def delete_event(tables: OfficeTables, event_id: str) -> JsonValue:
    """Take an event out of the calendar."""
    return {"deleted": tables.events.remove(event_id).id}

"""Updates that name only what they change."""

from typing import TypeVar

from office_errors import InvalidArguments
from office_records import Record
from office_tables import Table

R = TypeVar("R", bound=Record)


def update_record(table: Table[R], key: str, **values: str | int | None) -> R:
    """Store a version of the record with the given values; None leaves a field as it is."""
    record = table.get(key)
    given = {name: value for name, value in values.items() if value is not None}
    if not given:
        raise InvalidArguments(f"Nothing to change: give at least one of {', '.join(values)}.")
    return table.put(record.model_copy(update=given))

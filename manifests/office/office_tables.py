"""Tables that thousands of sessions share and each may change.

The CSV files are read once. A session's table is the shared base and, over it, what the session itself wrote:
starting one costs nothing, and what it changed is at hand when the session is scored.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Generic, Self, TypeVar

from office_errors import RecordNotFound
from office_records import Customer, Email, Event, Person, Plot, Record, Task, Visit

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Changes(Generic[R]):
    """The net effect on one table, comparable with another's.

    New records count without their ids: two e-mails sent in the other order are the same two e-mails.
    """

    updated: Mapping[str, R]
    removed: frozenset[str]
    added: Counter[R]

    def __bool__(self) -> bool:
        return bool(self.updated or self.removed or self.added)


class Table(Generic[R]):
    """Records by id, in order: a base that is never written, under this copy's own changes."""

    def __init__(self, kind: str, base: Mapping[str, R], last_number: int = 0) -> None:
        self._kind = kind
        self._base = base
        self._base_last_number = last_number
        self._last_number = last_number
        self._written: dict[str, R | None] = {}

    @classmethod
    def read(cls, kind: str, model: type[R], path: Path) -> Self:
        """Read a table from a CSV file whose header names the record's fields."""
        with path.open(encoding="utf-8", newline="") as file:
            records = [model.model_validate(row) for row in csv.DictReader(file)]
        last_number = max(int(record.id.rpartition("-")[2]) for record in records)
        return cls(kind, {record.id: record for record in records}, last_number)

    def fresh(self) -> Self:
        """The table as it was loaded, to be changed independently of this one."""
        return type(self)(self._kind, self._base, self._base_last_number)

    def __iter__(self) -> Iterator[R]:
        for key, record in self._base.items():
            current = self._written.get(key, record)
            if current is not None:
                yield current
        for key, added in self._written.items():
            if key not in self._base and added is not None:
                yield added

    def get(self, key: str) -> R:
        """The record of this id. Raises :class:`RecordNotFound`."""
        record = self._written.get(key, self._base.get(key))
        if record is None:
            raise RecordNotFound(f"There is no {self._kind} with the id {key!r}.")
        return record

    def next_id(self) -> str:
        """The id for the next new record. Ids are never given twice, even if a record is removed."""
        self._last_number += 1
        return f"{self._kind}-{self._last_number:03}"

    def put(self, record: R) -> R:
        """Store a new record, or a new version of one."""
        self._written[record.id] = record
        return record

    def remove(self, key: str) -> R:
        """Take a record out. Raises :class:`RecordNotFound`."""
        record = self.get(key)
        self._written[key] = None
        return record

    def changes(self) -> Changes[R]:
        """How this copy differs from the table as it was loaded."""
        updated: dict[str, R] = {}
        removed: set[str] = set()
        added: Counter[R] = Counter()
        for key, record in self._written.items():
            if key not in self._base:
                if record is not None:
                    added[record.model_copy(update={"id": ""})] += 1
            elif record is None:
                removed.add(key)
            elif record != self._base[key]:
                updated[key] = record
        return Changes(updated, frozenset(removed), added)


@dataclass(frozen=True)
class OfficeTables:
    """Everything that the tools work on."""

    people: Table[Person]
    emails: Table[Email]
    events: Table[Event]
    visits: Table[Visit]
    plots: Table[Plot]
    tasks: Table[Task]
    customers: Table[Customer]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read all tables. Plots have no file: nobody has drawn one yet."""
        return cls(
            people=Table.read("person", Person, folder / "people.csv"),
            emails=Table.read("email", Email, folder / "emails.csv"),
            events=Table.read("event", Event, folder / "events.csv"),
            visits=Table.read("visit", Visit, folder / "visits.csv"),
            plots=Table("plot", {}),
            tasks=Table.read("task", Task, folder / "tasks.csv"),
            customers=Table.read("customer", Customer, folder / "customers.csv"),
        )

    def fresh(self) -> Self:
        """All tables as they were loaded, to be changed independently of these."""
        return type(self)(**{field.name: getattr(self, field.name).fresh() for field in fields(self)})

    def changes(self) -> dict[str, Changes[Record]]:
        """The tables that differ from what was loaded, and how. Empty if nothing was changed."""
        changes = {field.name: getattr(self, field.name).changes() for field in fields(self)}
        return {name: change for name, change in changes.items() if change}

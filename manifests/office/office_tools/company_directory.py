"""The company's own people."""

from office_errors import RecordNotFound
from office_tables import OfficeTables
from pydantic import JsonValue

from .matching import mentions
from .toolkit import Toolkit

company_directory = Toolkit("company_directory")


@company_directory.tool
def find_email_address(tables: OfficeTables, name: str) -> JsonValue:
    """The addresses of everybody whose name contains these words."""
    found = [person.email for person in tables.people if name.strip() and mentions(name, person.name)]
    if not found:
        raise RecordNotFound(f"Nobody in the company directory is called {name!r}.")
    return list(found)


def require_colleague(tables: OfficeTables, address: str) -> None:
    """Refuse work for somebody who does not work here. Raises :class:`RecordNotFound`."""
    if all(person.email != address for person in tables.people):
        raise RecordNotFound(f"Nobody in the company directory has the address {address!r}.")

"""The mailbox of the person at the desk."""

from office_records import DESK, NOW, Address, Day, Email
from office_tables import OfficeTables
from pydantic import JsonValue

from .matching import Limit, is_between, mentions
from .toolkit import Toolkit

email = Toolkit("email")


@email.tool
def search_emails(
    tables: OfficeTables,
    query: str = "",
    sent_from: Day | None = None,
    sent_until: Day | None = None,
    limit: Limit = 5,
) -> JsonValue:
    """Messages that mention the query anywhere, newest first."""
    found = [
        message
        for message in tables.emails
        if mentions(query, message.subject, message.body, message.sender, message.recipient)
        and is_between(message.sent_at, sent_from, sent_until)
    ]
    found.sort(key=lambda message: message.sent_at, reverse=True)
    return [message.model_dump() for message in found[:limit]]


@email.tool
def get_email(tables: OfficeTables, email_id: str) -> JsonValue:
    """One message in full."""
    return tables.emails.get(email_id).model_dump()


@email.tool
def send_email(tables: OfficeTables, recipient: Address, subject: str, body: str) -> JsonValue:
    """A new message from the desk."""
    return _send(tables, recipient, subject, body)


@email.tool
def reply_email(tables: OfficeTables, email_id: str, body: str) -> JsonValue:
    """An answer to whoever sent the message."""
    original = tables.emails.get(email_id)
    return _send(tables, original.sender, _prefixed("Re:", original.subject), body)


@email.tool
def forward_email(tables: OfficeTables, email_id: str, recipient: Address) -> JsonValue:
    """The same message to somebody else."""
    original = tables.emails.get(email_id)
    return _send(tables, recipient, _prefixed("Fwd:", original.subject), original.body)


@email.tool
def delete_email(tables: OfficeTables, email_id: str) -> JsonValue:
    """Take a message out of the mailbox."""
    return {"deleted": tables.emails.remove(email_id).id}


def _send(tables: OfficeTables, recipient: str, subject: str, body: str) -> JsonValue:
    message = Email(
        id=tables.emails.next_id(), sender=DESK, recipient=recipient, subject=subject, body=body, sent_at=NOW
    )
    return tables.emails.put(message).model_dump()


def _prefixed(prefix: str, subject: str) -> str:
    return subject if subject.startswith(prefix) else f"{prefix} {subject}"

"""What sessions remember between calls, in one bounded store per process.

Contents are held as the JSON text that a session cookie would carry, so that a call sees exactly what it would
see over HTTP: tuples come back as lists, and nothing is shared between two calls.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from secrets import token_hex
from threading import Lock
from typing import Any

__all__ = ["SessionLost", "SessionStore"]

log = logging.getLogger("gym_mcp_manifest")


class SessionLost(LookupError):
    """The process no longer has what the session holds; it must be seeded again."""


@dataclass(slots=True)
class _Entry:
    """Contents key by key as JSON texts, and of each key that a call wrote its last write (None: deleted)."""

    contents: dict[str, str]
    writes: dict[str, tuple[int, str | None]] = field(default_factory=dict)


class SessionStore:
    """Session contents by session id; the least recently used go first beyond `capacity`."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = Lock()
        self._has_dropped_writes = False
        # Another process counts anew: its marks say nothing about the writes of this one.
        self._epoch = token_hex(4)
        self._counter = 0

    def __len__(self) -> int:
        return len(self._entries)

    def keep(self, session_id: str, session: Mapping[str, Any]) -> bool:
        """Remember the session as the seed left it; tells whether it holds more than its id.

        Raises:
            TypeError, ValueError: a value that no session cookie could carry.
        """
        contents = _as_texts(session)
        with self._lock:
            self._hold(session_id, _Entry(contents))
        return contents.keys() > {"session_id"}

    def open(self, session_id: str, *, kept: bool) -> dict[str, Any]:
        """A copy of the session for one call.

        Raises:
            SessionLost: the session held more than its id, and this process does not have it.
        """
        with self._lock:
            entry = self._entries.get(session_id)
            if entry is not None:
                self._entries.move_to_end(session_id)
                return {key: json.loads(text) for key, text in entry.contents.items()}
            if kept or self._has_dropped_writes:
                raise SessionLost(session_id)
        return {"session_id": session_id}

    def write(self, session_id: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Remember what a call changed, key by key, for the session's next call and next HTTP request.

        Raises:
            TypeError, ValueError: a value that no session cookie could carry; nothing is written then.
        """
        old, new = _as_texts(before), _as_texts(after)
        changed: dict[str, str | None] = {key: text for key, text in new.items() if old.get(key) != text}
        changed.update(dict.fromkeys(old.keys() - new.keys()))
        if not changed:
            return
        with self._lock:
            entry = self._entries.get(session_id) or self._hold(session_id, _Entry(old))
            for key, text in changed.items():
                if text is None:
                    entry.contents.pop(key, None)
                else:
                    entry.contents[key] = text
            self._counter += 1
            entry.writes.update({key: (self._counter, text) for key, text in changed.items()})

    def merge_into(self, session: MutableMapping[str, Any], seen: object) -> str | None:
        """Lay what calls wrote over the session of an HTTP request, unless its cookie has it already.

        `seen` is the mark that the cookie carries, None without one; what comes back is the mark for the
        cookie of the reply. A client that sends an older cookie again is given the writes again.
        """
        session_id = session.get("session_id")
        known = self._count(seen)
        with self._lock:
            entry = self._entries.get(session_id) if isinstance(session_id, str) else None
            writes = dict(entry.writes) if entry else {}
        for key, (number, text) in writes.items():
            if number <= known:
                continue
            if text is None:
                session.pop(key, None)
            else:
                session[key] = json.loads(text)
        latest = max((number for number, _ in writes.values()), default=0)
        return f"{self._epoch}.{max(latest, known)}" if latest or seen is not None else None

    def _count(self, mark: object) -> int:
        epoch, _, number = mark.partition(".") if isinstance(mark, str) else ("", "", "")
        return int(number) if epoch == self._epoch and number.isdecimal() else 0

    def close(self, session_id: str) -> None:
        """Forget the session."""
        with self._lock:
            self._entries.pop(session_id, None)

    def _hold(self, session_id: str, entry: _Entry) -> _Entry:
        """Take the entry in as the most recently used one; the least recently used make room."""
        self._entries[session_id] = entry
        self._entries.move_to_end(session_id)
        while len(self._entries) > self._capacity:
            _, dropped = self._entries.popitem(last=False)
            if dropped.writes and not self._has_dropped_writes:
                self._has_dropped_writes = True
                log.warning("more than %d sessions: what calls wrote in the oldest is dropped", self._capacity)
        return entry


def _as_texts(session: Mapping[str, Any]) -> dict[str, str]:
    # The whole is written first, so that keys become what they are in a cookie too.
    return {key: json.dumps(value) for key, value in json.loads(json.dumps(dict(session))).items()}

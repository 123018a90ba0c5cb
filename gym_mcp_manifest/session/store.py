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
from threading import Lock
from typing import Any

__all__ = ["SessionLost", "SessionStore"]

log = logging.getLogger("gym_mcp_manifest")


class SessionLost(LookupError):
    """The process no longer has what the session holds; it must be seeded again."""


@dataclass(slots=True)
class _Entry:
    """Contents key by key as JSON texts, and the keys that the HTTP side has yet to see (None: deleted)."""

    contents: dict[str, str]
    pending: dict[str, str | None] = field(default_factory=dict)
    written: bool = False


class SessionStore:
    """Session contents by session id; the least recently used go first beyond `capacity`."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = Lock()
        self._has_dropped_writes = False

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
            entry.pending.update(changed)
            entry.written = True

    def merge_into(self, session: MutableMapping[str, Any]) -> Mapping[str, str | None]:
        """Lay what calls wrote over the session of an HTTP request; gives what was laid over it.

        What was merged is merged again until `delivered` says that the reply has carried it to the client.
        """
        session_id = session.get("session_id")
        if not isinstance(session_id, str):
            return {}
        with self._lock:
            entry = self._entries.get(session_id)
            pending = dict(entry.pending) if entry else {}
        for key, text in pending.items():
            if text is None:
                session.pop(key, None)
            else:
                session[key] = json.loads(text)
        return pending

    def delivered(self, session_id: str, merged: Mapping[str, str | None]) -> None:
        """The reply that carries these writes in its cookie is on its way: do not merge them again."""
        with self._lock:
            entry = self._entries.get(session_id)
            if entry is not None:
                for key, text in merged.items():
                    if key in entry.pending and entry.pending[key] == text:
                        del entry.pending[key]

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
            if dropped.written and not self._has_dropped_writes:
                self._has_dropped_writes = True
                log.warning("more than %d sessions: what calls wrote in the oldest is dropped", self._capacity)
        return entry


def _as_texts(session: Mapping[str, Any]) -> dict[str, str]:
    # The whole is written first, so that keys become what they are in a cookie too.
    return {key: json.dumps(value) for key, value in json.loads(json.dumps(dict(session))).items()}

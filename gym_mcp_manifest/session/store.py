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

__all__ = ["MARK_KEY", "SESSION_ID_KEY", "Kept", "OpenSession", "SessionLost", "SessionStore"]

#: Where a session's id lives in `request.session`.
SESSION_ID_KEY = "session_id"

#: The key of a session cookie that tells which writes of MCP calls it has. The app never sees it.
MARK_KEY = "gym_mcp_writes"

log = logging.getLogger("gym_mcp_manifest")


class SessionLost(LookupError):
    """The process no longer has what the session holds; it must be seeded again."""


@dataclass(slots=True)
class _Entry:
    """Contents key by key as JSON texts, and of each key that a call wrote its last write (None: deleted).

    `seed` tells one seeding of a session id from another; None where there was no need to.
    """

    contents: dict[str, str]
    seed: str | None = None
    writes: dict[str, tuple[int, str | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store says of a seeded session.

    `more` tells that it holds more than its id. With a `seed`, only tokens and cookies that name it belong to
    the session; `mark` is what its cookie carries then.
    """

    more: bool
    seed: str | None = None
    mark: str | None = None


@dataclass(slots=True)
class OpenSession:
    """A session during one call: its contents as they were, and whether what the call wrote could not be kept."""

    session_id: str
    texts: Mapping[str, str] = field(repr=False)
    entry: _Entry | None = field(default=None, repr=False)
    lost: bool = False

    def contents(self) -> dict[str, Any]:
        """A copy of the contents that the call may change."""
        return {key: json.loads(text) for key, text in self.texts.items()}


class SessionStore:
    """Session contents by session id; the least recently used go first beyond `capacity`."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()
        self._has_dropped_writes = False
        # Another process counts anew: its marks say nothing about the writes of this one.
        self._epoch = token_hex(4)
        self._counter = 0

    def __len__(self) -> int:
        return len(self._entries)

    def keep(self, session_id: str, session: Mapping[str, Any]) -> Kept:
        """Remember the session as the seed left it.

        A session with contents, and one whose id is in use, is told from any other seeding of that id.

        Raises:
            TypeError, ValueError: a value that no session cookie could carry.
        """
        contents = _as_texts(session)
        more = contents.keys() > {SESSION_ID_KEY}
        with self._lock:
            seed = token_hex(6) if more or session_id in self._entries else None
            self._closed.pop(session_id, None)
            self._hold(session_id, _Entry(contents, seed))
        return Kept(more, seed, self._mark(seed, 0) if seed else None)

    def open(self, session_id: str, *, kept: bool = False, seed: str | None = None) -> OpenSession:
        """The session for one call of a token that says `kept` and `seed`.

        Raises:
            SessionLost: the session held more than its id and this process does not have it, or its id was
                closed or seeded anew.
        """
        with self._lock:
            entry = self._entries.get(session_id)
            if entry is None:
                if kept or seed or session_id in self._closed or self._has_dropped_writes:
                    raise SessionLost(session_id)
                return OpenSession(session_id, {SESSION_ID_KEY: json.dumps(session_id)})
            if entry.seed != seed:
                raise SessionLost(session_id)
            self._entries.move_to_end(session_id)
            return OpenSession(session_id, dict(entry.contents), entry)

    def write(self, session: OpenSession, after: Mapping[str, Any]) -> None:
        """Remember what a call changed, key by key, for the session's next call and next HTTP request.

        Where the session was seeded in another process, seeded anew or closed meanwhile, nothing is written
        and the session is noted as lost.

        Raises:
            TypeError, ValueError: a value that no session cookie could carry; nothing is written then.
        """
        old, new = session.texts, _as_texts(after)
        changed: dict[str, str | None] = {key: text for key, text in new.items() if old.get(key) != text}
        changed.update(dict.fromkeys(old.keys() - new.keys()))
        if not changed:
            return
        with self._lock:
            entry = session.entry
            held = self._entries.get(session.session_id, entry)
            if entry is None or held is not entry or session.session_id in self._closed:
                session.lost = True
                return
            self._hold(session.session_id, entry)
            for key, text in changed.items():
                if text is None:
                    entry.contents.pop(key, None)
                else:
                    entry.contents[key] = text
            self._counter += 1
            entry.writes.update({key: (self._counter, text) for key, text in changed.items()})
            renamed = after.get(SESSION_ID_KEY)
            if isinstance(renamed, str) and renamed != session.session_id:
                self._hold(renamed, entry)

    def merge_into(self, session: MutableMapping[str, Any], seen: object) -> str | None:
        """Lay what calls wrote over the session of an HTTP request, unless its cookie has it already.

        `seen` is the mark that the cookie carries, None without one; what comes back is the mark for the
        cookie of the reply. A client that sends an older cookie again is given the writes again.
        """
        session_id = session.get(SESSION_ID_KEY)
        seed, known = self._read(seen)
        with self._lock:
            entry = self._entries.get(session_id) if isinstance(session_id, str) else None
            if entry is None or (entry.seed is not None and entry.seed != seed):
                return seen if isinstance(seen, str) else None
            writes = dict(entry.writes)
        for key, (number, text) in writes.items():
            if number <= known:
                continue
            if text is None:
                session.pop(key, None)
            else:
                session[key] = json.loads(text)
        latest = max((number for number, _ in writes.values()), default=0)
        return self._mark(entry.seed, max(latest, known)) if latest or seen is not None else None

    def close(self, session_id: str) -> None:
        """Forget the session; its tokens are told to seed again."""
        with self._lock:
            if self._entries.pop(session_id, None) is not None:
                self._closed[session_id] = None
                while len(self._closed) > self._capacity:
                    self._closed.popitem(last=False)

    def _mark(self, seed: str | None, number: int) -> str:
        return f"{self._epoch}.{seed or ''}.{number}"

    def _read(self, mark: object) -> tuple[str | None, int]:
        """The seed and the count of a mark of this process; nothing of any other."""
        epoch, _, rest = mark.partition(".") if isinstance(mark, str) else ("", "", "")
        seed, _, number = rest.partition(".")
        if epoch != self._epoch or not number.isdecimal():
            return None, 0
        return seed or None, int(number)

    def _hold(self, session_id: str, entry: _Entry) -> None:
        """Take the entry in as the most recently used one; the least recently used make room."""
        self._entries[session_id] = entry
        self._entries.move_to_end(session_id)
        while len(self._entries) > self._capacity:
            _, dropped = self._entries.popitem(last=False)
            if dropped.writes and not self._has_dropped_writes:
                self._has_dropped_writes = True
                log.warning("more than %d sessions: what calls wrote in the oldest is dropped", self._capacity)


def _as_texts(session: Mapping[str, Any]) -> dict[str, str]:
    # The whole is written first, so that keys become what they are in a cookie too.
    return {key: json.dumps(value) for key, value in json.loads(json.dumps(dict(session))).items()}

"""One desk per rollout: its own tables, kept for as long as the rollout runs."""

from collections import OrderedDict
from threading import Lock

from office_tables import OfficeTables


class SessionStore:
    """The tables of each session, in this process.

    Beyond ``capacity`` sessions the one unused for longest is forgotten.
    """

    def __init__(self, pristine: OfficeTables, capacity: int = 10_000) -> None:
        self._pristine = pristine
        self._capacity = capacity
        self._sessions: OrderedDict[str, OfficeTables] = OrderedDict()
        # Handlers may run in several threads: a sync route, or a test client with its own event loop.
        self._lock = Lock()

    def open(self, session_id: str) -> OfficeTables:
        """Start a session on fresh tables, dropping those of an earlier session of this id."""
        tables = self._pristine.fresh()
        with self._lock:
            self._sessions[session_id] = tables
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > self._capacity:
                self._sessions.popitem(last=False)
        return tables

    def get(self, session_id: str) -> OfficeTables | None:
        """The session's tables, or None if it was never opened, is closed or was forgotten."""
        with self._lock:
            tables = self._sessions.get(session_id)
            if tables is not None:
                self._sessions.move_to_end(session_id)
        return tables

    def close(self, session_id: str) -> None:
        """Forget a session, if there is one."""
        with self._lock:
            self._sessions.pop(session_id, None)

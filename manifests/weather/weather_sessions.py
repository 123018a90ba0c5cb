"""What the server remembers of each rollout."""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class WeatherSession:
    """One rollout: the cities whose report it was given."""

    reported: set[str] = field(default_factory=set)


class SessionStore:
    """Sessions by id, in this process. Beyond ``capacity`` the one unused for longest is forgotten."""

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._sessions: OrderedDict[str, WeatherSession] = OrderedDict()
        # Handlers may run in several threads: a sync route, or a test client with its own event loop.
        self._lock = Lock()

    def open(self, session_id: str) -> WeatherSession:
        """Start a session, replacing what an earlier one of this id left behind."""
        session = WeatherSession()
        with self._lock:
            self._sessions[session_id] = session
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > self._capacity:
                self._sessions.popitem(last=False)
        return session

    def get(self, session_id: str) -> WeatherSession | None:
        """The session of this id, or None if it was never opened, is closed or was forgotten."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None:
                self._sessions.move_to_end(session_id)
        return session

    def close(self, session_id: str) -> None:
        """Forget a session, if there is one."""
        with self._lock:
            self._sessions.pop(session_id, None)

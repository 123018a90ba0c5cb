"""Route patterns (`[METHOD ]PATTERN`) and globs over names, as the manifest spells them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

__all__ = ["RoutePattern", "is_glob", "name_matches"]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
_PIECES = re.compile(r"\*\*|\*|[^*]+")


@dataclass(frozen=True, slots=True)
class RoutePattern:
    """`[METHOD ]PATTERN`: `*` stays within a path segment, `**` crosses segments, braces are literal.

    The method defaults to POST.
    """

    text: str
    method: str
    path: str
    _regex: re.Pattern[str] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> RoutePattern:
        """Read a pattern; ValueError says what is wrong with it."""
        head, gap, rest = text.partition(" ")
        method, path = (head, rest.strip()) if gap else ("POST", text)
        if method not in _METHODS:
            known = method.upper()
            cure = f"; write {known!r}" if known in _METHODS else f"; known are {', '.join(sorted(_METHODS))}"
            raise ValueError(f"{method!r} is not an HTTP method{cure}")
        if not path.startswith("/"):
            raise ValueError(f"a route pattern starts with '/': write '/{path}'" if path else "the path is empty")
        if any(letter.isspace() for letter in path):
            raise ValueError("a path has no white space")
        return cls(text, method, path, re.compile(_translate(path)))

    @property
    def is_wild(self) -> bool:
        """Whether the pattern can match more than the one path it spells."""
        return "*" in self.path

    def matches(self, method: str, path: str) -> bool:
        """Whether the pattern covers this method and this path template."""
        return method == self.method and self._regex.fullmatch(path) is not None

    def spells(self, method: str, path: str) -> bool:
        """Whether the pattern is this very route, written out."""
        return method == self.method and path == self.path

    def __str__(self) -> str:
        return self.text


def _translate(path: str) -> str:
    wild = {"*": "[^/]*", "**": ".*"}
    return "".join(wild.get(piece) or re.escape(piece) for piece in _PIECES.findall(path))


def is_glob(name: str) -> bool:
    """Whether a name in the manifest is a glob rather than one name."""
    return any(letter in name for letter in "*?[")


def name_matches(glob: str, name: str) -> bool:
    """Whether a glob over names (or a plain name) covers this name; case counts."""
    return fnmatchcase(name, glob)

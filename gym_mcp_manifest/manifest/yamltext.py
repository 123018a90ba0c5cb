"""Text as a YAML scalar that every reader takes for that very text."""

from __future__ import annotations

import sys

import yaml

__all__ = ["quoted"]


def quoted(text: str) -> str:
    """The text in double quotes on one line, whatever cannot stand in a file escaped.

    Half of a surrogate pair, which no file can carry, becomes U+FFFD.
    """
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    dumped: str = yaml.safe_dump(whole, default_style='"', allow_unicode=True, width=sys.maxsize)
    return dumped.rstrip("\n")

"""`--header`: headers that commands send, as people write them."""

from __future__ import annotations

import re

import typer

__all__ = ["header_of"]


def header_of(line: str) -> tuple[str, str]:
    """The name and value of a `--header`.

    Raises:
        typer.BadParameter: it is not `Name: value` in letters that a header can have; its text is not shown.
    """
    found = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*", line)
    if found is None:
        raise typer.BadParameter("--header: expected `Name: value`")
    return found[1].lower(), found[2]

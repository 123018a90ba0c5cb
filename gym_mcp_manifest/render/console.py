"""Where text goes: a terminal with colours and wrapping, or a pipe that gets plain, unfolded lines."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from rich.console import Console

__all__ = ["open_console"]

#: Wide enough that no table folds a name; a program that reads the lines wants them whole.
_UNFOLDED = 10_000


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def open_console(*, stderr: bool = False) -> Console:
    """A console on standard output or standard error; `NO_COLOR`, `FORCE_COLOR` and `COLUMNS` hold."""
    stream = sys.stderr if stderr else sys.stdout
    folds = stream.isatty() or "COLUMNS" in os.environ
    return _Console(stderr=stderr, width=None if folds else _UNFOLDED)

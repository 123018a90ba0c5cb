"""How files are named to code hosts, which know a repository and not this machine."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["relative_to_root"]


def relative_to_root(file: str, root: Path) -> str:
    """The file with forward slashes from the folder `root`; absolute where it lies outside.

    Links are left alone: the host knows a file by the name under which it was committed.
    """
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow links
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()

"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gym_mcp_manifest.errors import ManifestError

__all__ = ["CannotWrite", "write_file"]


class CannotWrite(ManifestError):
    """The file cannot be written, or is there and must not be replaced."""


def write_file(path: Path, text: str, *, replace: bool) -> None:
    """Write UTF-8 text; whoever reads the file meanwhile sees the old or the new text, never a part.

    A link is followed, the permissions of a replaced file stay.

    Raises:
        CannotWrite: with the reason; without `replace` also where there is such a file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not replace:
        raise CannotWrite(f"{path} is there already, and was left as it is")
    kept: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as stream:
            kept = stream.name
            stream.write(text)
        Path(kept).chmod(_mode(target))
        Path(kept).replace(target)
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if kept is not None:
            Path(kept).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The permissions of the file that is there, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

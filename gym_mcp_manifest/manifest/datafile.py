"""Data files beside a server: found without leaving its folder, read strictly, each value with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.patterns import is_glob
from gym_mcp_manifest.manifest.source import SourceFile, read_source
from gym_mcp_manifest.manifest.yamldoc import parse_document

__all__ = ["MAX_DATA_BYTES", "DataDocument", "DataProblem", "find_files", "read_documents"]

#: Largest data file that is read.
MAX_DATA_BYTES = 256 * 1024 * 1024

_REASONS: dict[type[Exception], str] = {
    RecursionError: "nested too deeply",
    UnicodeEncodeError: "half of a surrogate pair in a text",
}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class DataProblem(Exception):
    """A data file cannot be used; carries the findings, raised to the reader of one source only."""

    def __init__(self, *found: Diagnostic) -> None:
        self.found = found
        super().__init__(found)


@dataclass(frozen=True, slots=True)
class DataDocument:
    """One value of a data file: a whole JSON or YAML file, or one line of a JSONL file."""

    value: Any
    span: Span


def find_files(
    written: str,
    folder: Path,
    place: Span | None,
    *,
    except_globs: Sequence[str] = (),
    anywhere: bool = False,
) -> tuple[Path, ...]:
    """The files that a path or glob of the manifest names, sorted.

    `anywhere` lifts the confinement to `folder`, for what an instance's operator wrote; such a path is
    relative to the working directory. Raises DataProblem (GMM401, GMM402).
    """
    pure = PurePosixPath(written)
    if "\0" in written:
        raise DataProblem(Diagnostic(code="GMM401", message=f"{written!r} is no path", span=place))
    if not anywhere and (pure.is_absolute() or ".." in pure.parts or "\\" in written):
        raise _outside(written, place)
    base = Path.cwd() if anywhere else folder
    try:
        matched = sorted(_glob(base, pure)) if is_glob(written) else [base / written]
    except (ValueError, NotImplementedError) as error:
        raise DataProblem(Diagnostic(code="GMM401", message=f"{written!r}: {error}", span=place)) from error
    kept = [path for path in matched if not any(fnmatchcase(path.name, glob) for glob in except_globs)]
    root = folder.resolve()
    for path in kept:
        if not anywhere and not _real(path, written, place).is_relative_to(root):
            raise _outside(written, place)
    return tuple(kept)


def _real(path: Path, written: str, place: Span | None) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links that go in circles
        message = f"{written!r} leads nowhere: {error}"
        raise DataProblem(Diagnostic(code="GMM401", message=message, span=place)) from error


def read_documents(path: Path, shown: str) -> Iterator[DataDocument]:
    """The values of one file by its suffix: .jsonl line by line, .json and .yaml/.yml as one value.

    Raises DataProblem with the place inside the file.
    """
    source, found = read_source(path, max_bytes=MAX_DATA_BYTES, name=shown)
    if source is None:
        raise DataProblem(*(Diagnostic(code="GMM401", message=d.message, span=d.span, hint=d.hint) for d in found))
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        yield from _json_lines(source)
    elif suffix in (".yaml", ".yml"):
        document, trouble = parse_document(source)
        if document is None or errors_among(trouble):
            raise DataProblem(*errors_among(trouble))
        yield DataDocument(document.data, Span(shown, 1, 1))
    elif suffix == ".json":
        yield DataDocument(_parse_json(source.text, shown, 1), Span(shown, 1, 1))
    else:
        hint = "a data file ends in .json, .jsonl, .yaml or .yml"
        raise DataProblem(Diagnostic(code="GMM401", message=f"unknown kind of file {shown!r}", hint=hint))


def _glob(base: Path, pattern: PurePosixPath) -> Iterator[Path]:
    if pattern.is_absolute():
        base, pattern = Path(pattern.anchor), pattern.relative_to(pattern.anchor)
    return (path for path in base.glob(str(pattern)) if path.is_file())


def _json_lines(source: SourceFile) -> Iterator[DataDocument]:
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            yield DataDocument(_parse_json(line, source.name, number), Span(source.name, number, 1))


def _parse_json(text: str, name: str, first_line: int) -> Any:
    try:
        value = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # half a pair cannot be sent to anybody
        return value
    except json.JSONDecodeError as error:
        span = Span(name, first_line + error.lineno - 1, error.colno)
        raise DataProblem(Diagnostic(code="GMM401", message=f"not JSON: {error.msg}", span=span)) from error
    except (ValueError, RecursionError) as error:
        reason = _REASONS.get(type(error)) or str(error)
        raise DataProblem(
            Diagnostic(code="GMM401", message=f"not usable JSON: {reason}", span=Span(name, first_line, 1))
        ) from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"the number {text[:20]} is out of range")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _outside(written: str, place: Span | None) -> DataProblem:
    message = f"the data file {written!r} lies outside the server's folder"
    hint = "name a file in the folder of the manifest, relative to it and with forward slashes"
    return DataProblem(Diagnostic(code="GMM402", message=message, span=place, hint=hint))

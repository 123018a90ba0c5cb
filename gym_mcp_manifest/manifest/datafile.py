"""Data files beside a server: found without leaving its folder, read strictly, each value with its place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, errors_among
from gym_mcp_manifest.manifest.jsondoc import JsonFault, parse_json
from gym_mcp_manifest.manifest.objects import Objects, json_objects, line_and_column, yaml_objects
from gym_mcp_manifest.manifest.patterns import is_glob
from gym_mcp_manifest.manifest.source import SourceFile, read_source
from gym_mcp_manifest.manifest.yamldoc import parse_document

__all__ = ["MAX_DATA_BYTES", "DataDocument", "DataProblem", "capped", "find_files", "read_documents"]

#: Largest data file that is read.
MAX_DATA_BYTES = 256 * 1024 * 1024
#: Most findings of one code that are told of one file.
_MOST = 20
#: Findings about a file as a whole.
_OF_FILE = ("GMM101", "GMM104")


class DataProblem(Exception):
    """A data file cannot be used; carries the findings, raised to the reader of one source only."""

    def __init__(self, *found: Diagnostic) -> None:
        self.found = found
        super().__init__(found)


@dataclass(frozen=True)
class DataDocument:
    """One value of a data file: a whole JSON or YAML file, or one line of a JSONL file."""

    value: Any
    span: Span
    _locate: Callable[[], Objects] | None = field(default=None, repr=False, compare=False)

    def place_of(self, part: Any) -> Span:
        """Where a mapping or list of the value stands; the document's own place for what a query made anew."""
        return (self._objects and self._objects.span(part)) or self.span

    def place_within(self, part: Any, path: tuple[str | int, ...], *, key: bool = False) -> Span:
        """Where what stands at `path` of a mapping or list of the value, or its key, is written."""
        return (self._objects and self._objects.part_span(part, path, key=key)) or self.span

    def pointer_to(self, part: Any, path: tuple[str | int, ...] = ()) -> str | None:
        """The JSON Pointer to a mapping or list of the value, or to what stands at `path` of it.

        Empty for the value itself, None for what a query made anew.
        """
        return self._objects.pointer(part, path) if self._objects else None

    @cached_property
    def _objects(self) -> Objects | None:
        return self._locate() if self._locate else None


def capped(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings, but of each file and code the first few only, and then how many more there are."""
    seen: Counter[tuple[str | None, str]] = Counter()
    last: dict[tuple[str | None, str], Diagnostic] = {}
    for finding in found:
        key = finding.file, finding.code
        seen[key] += 1
        if seen[key] <= _MOST:
            yield finding
        else:
            last.setdefault(key, finding)
    for key, finding in last.items():
        message = f"and {seen[key] - _MOST} more like those above, from here on"
        yield Diagnostic(code=finding.code, message=message, span=finding.span)


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
        raise DataProblem(_astray(written, folder, place))
    base = Path.cwd() if anywhere else folder
    try:
        matched = sorted(_glob(base, pure)) if is_glob(written) else [base / written]
    except (ValueError, NotImplementedError, RecursionError) as error:
        reason = "a glob of too many parts" if isinstance(error, RecursionError) else str(error)
        raise DataProblem(Diagnostic(code="GMM401", message=f"{written!r}: {reason}", span=place)) from error
    kept = [path for path in matched if not any(fnmatchcase(path.name, glob) for glob in except_globs)]
    root = folder.resolve()
    strays = [path for path in kept if not anywhere and not _real(path, written, place).is_relative_to(root)]
    if strays:
        raise DataProblem(*capped(_led_outside(path, folder, written, place) for path in strays))
    return tuple(kept)


def _real(path: Path, written: str, place: Span | None) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links that go in circles
        message = f"{written!r} leads nowhere: {error}"
        raise DataProblem(Diagnostic(code="GMM401", message=message, span=place)) from error


def read_documents(path: Path, shown: str, place: Span | None = None) -> Iterator[DataDocument]:
    """The values of one file by its suffix: .jsonl line by line, .json and .yaml/.yml as one value.

    Raises DataProblem with the place inside the file; where that is the file as a whole, beside it stands
    `place`, at which the manifest names it.
    """
    named = (("named here", place),) if place else ()
    source, found = read_source(path, max_bytes=MAX_DATA_BYTES, name=shown)
    if source is None:
        raise DataProblem(
            *(replace(d, code="GMM401", related=named if d.code in _OF_FILE else d.related) for d in found)
        )
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        yield from _json_lines(source)
    elif suffix in (".yaml", ".yml"):
        document, trouble = parse_document(source)
        if document is None or errors_among(trouble):
            raise DataProblem(*errors_among(trouble))
        yield DataDocument(document.data, Span(shown, 1, 1), partial(yaml_objects, document))
    elif suffix == ".json":
        yield _json_document(source.text, Span(shown, 1, 1))
    else:
        hint = "a data file ends in .json, .jsonl, .yaml or .yml"
        message = f"unknown kind of file {path.name!r}"
        start = Span(shown, 1, 1)
        raise DataProblem(Diagnostic(code="GMM401", message=message, span=start, hint=hint, related=named))


def _glob(base: Path, pattern: PurePosixPath) -> Iterator[Path]:
    if pattern.is_absolute():
        base, pattern = Path(pattern.anchor), pattern.relative_to(pattern.anchor)
    return (path for path in base.glob(str(pattern)) if path.is_file())


def _json_lines(source: SourceFile) -> Iterator[DataDocument]:
    """The lines that can be read, and then one DataProblem about the others."""
    faults: list[Diagnostic] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            try:
                yield _json_document(line, Span(source.name, number, len(line) - len(line.lstrip()) + 1))
            except DataProblem as problem:
                faults += problem.found
    if faults:
        raise DataProblem(*faults)


def _json_document(text: str, whole: Span) -> DataDocument:
    try:
        value = parse_json(text)
    except JsonFault as fault:
        raise DataProblem(_fault(fault, text, whole)) from fault
    return DataDocument(value, whole, partial(json_objects, value, text, whole.file, whole.line))


def _fault(fault: JsonFault, text: str, whole: Span) -> Diagnostic:
    def span(start: int, end: int) -> Span:
        line, column = line_and_column(text, start)
        line += whole.line - 1
        return Span(whole.file, line, column, line, column + end - start)

    related = () if fault.first is None else (("first written here", span(fault.first, fault.first + 1)),)
    place = span(fault.start, fault.end)
    return Diagnostic(code="GMM401", message=str(fault), span=place, related=related)


def _astray(written: str, folder: Path, place: Span | None) -> Diagnostic:
    """The finding about a path that is not relative, or that leaves the folder by its very spelling."""
    message = f"the data file {written!r} lies outside the server's folder"
    hint = "name a file in the folder of the manifest, relative to it and with forward slashes"
    inside = _inside(written.replace("\\", "/"), folder)
    if inside is not None:
        absolute = Path(written).is_absolute()
        message = f"the data file {written!r} " + (
            "is absolute" if absolute else "has backslashes" if "\\" in written else "goes through `..`"
        )
        hint = f"write it relative: `{inside}`" if absolute else f"write `{inside}`"
    return Diagnostic(code="GMM402", message=message, span=place, hint=hint)


def _inside(written: str, folder: Path) -> str | None:
    """The path relative to the folder, of a path that stays within it."""
    root = os.path.abspath(folder)  # noqa: PTH100 # links are kept: their names are what the user knows
    whole = os.path.normpath(os.path.join(root, written))  # noqa: PTH118
    return Path(whole).relative_to(root).as_posix() if Path(whole).is_relative_to(root) else None


def _led_outside(path: Path, folder: Path, written: str, place: Span | None) -> Diagnostic:
    """The finding about a file that a link on the way leads out of the folder."""
    steps = path.relative_to(folder).parts
    ways = (folder.joinpath(*steps[: n + 1]) for n in range(len(steps)))
    link = next((way for way in ways if way.is_symlink()), path).relative_to(folder).as_posix()
    name = path.relative_to(folder).as_posix()
    of = f" of {written!r}" if name != written else ""
    by = f" by the link {link!r}" if link != name else ": it is a link"
    message = f"the data file {name!r}{of} lies outside the server's folder{by}"
    hint = "copy what it leads to into the folder of the manifest"
    hint += ", or leave it out with `except`" if is_glob(written) else ""
    return Diagnostic(code="GMM402", message=message, span=place, hint=hint)

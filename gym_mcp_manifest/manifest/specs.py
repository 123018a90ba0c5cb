"""Tool specs gathered source by source: those of dispatchers, and those that overlay harvested routes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.datafile import (
    DataDocument,
    DataProblem,
    capped,
    find_files,
    read_documents,
)
from gym_mcp_manifest.manifest.expressions import ExpressionFailed
from gym_mcp_manifest.manifest.keys import Path as KeyPath
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import (
    CatchAll,
    FileSource,
    InlineSource,
    PythonSource,
    SelectedSource,
    SessionSource,
    SpecSource,
)
from gym_mcp_manifest.manifest.partplaces import PartPlaces, in_data, in_manifest
from gym_mcp_manifest.manifest.patterns import name_matches
from gym_mcp_manifest.manifest.toolspec import NoSpec, ToolSpec, read_spec

__all__ = ["OverlaySpecs", "Resolve", "SpecSet", "gather_specs"]

#: Gives what a `python:` source refers to, called where it is a callable; a ValueError says why it cannot.
Resolve = Callable[[PythonSource], Any]

_SCHEMA_KEYS = ("input_schema", "output_schema")


@dataclass(frozen=True, slots=True)
class OverlaySpecs:
    """The specs of one source of `routes.specs`; `must_match` where each has to name a harvested route."""

    specs: tuple[ToolSpec, ...]
    must_match: bool


@dataclass(frozen=True, slots=True)
class SpecSet:
    """All that data say: specs by `catch_all` entry and by overlay source, schema files, and what was wrong.

    `schemas` holds what the files named under `tools` contain, by the key of `tools` and the field;
    `schema_places` where the parts of it stand.
    """

    catch_all: tuple[tuple[ToolSpec, ...], ...] = ()
    overlays: tuple[OverlaySpecs, ...] = ()
    schemas: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    schema_places: Mapping[tuple[str, str], PartPlaces] = field(default_factory=dict)
    found: tuple[Diagnostic, ...] = ()

    def places_of_written(self, places: Places, key: str, name: str) -> PartPlaces:
        """Where the parts of the schema stand that the field `name` of the key of `tools` gives or names."""
        return self.schema_places.get((key, name)) or in_manifest(places, ("tools", key, name))


def gather_specs(manifest: Manifest, folder: Path | None = None, resolve: Resolve | None = None) -> SpecSet:
    """Read every source that the manifest names; findings are returned, never raised.

    Without `resolve` no code is run: `python:` sources give nothing then.
    """
    reader = _Reader(manifest, folder or manifest.folder or Path.cwd(), resolve)
    language = manifest.language
    entries = tuple(reader.entry(entry, ("catch_all", n)) for n, entry in enumerate(language.catch_all))
    overlays = tuple(
        OverlaySpecs(tuple(reader.united((source,), ("routes", "specs"), n)), source.unmatched == "error")
        for n, source in enumerate(language.routes.specs)
        if not isinstance(source, SessionSource)
    )
    files = {
        (key, name): document
        for key, tool in language.tools.items()
        for name in _SCHEMA_KEYS
        if isinstance(written := getattr(tool, name), str)
        and (document := reader.schema_file(written, ("tools", key, name))) is not None
    }
    schemas = {key: document.value for key, document in files.items()}
    places = {key: in_data(document, document.value) for key, document in files.items()}
    return SpecSet(entries, overlays, schemas, places, tuple(reader.found))


class _Reader:
    """Reads the sources of one manifest; what is wrong with them gathers in `found`."""

    def __init__(self, manifest: Manifest, folder: Path, resolve: Resolve | None) -> None:
        self._manifest = manifest
        self._folder = folder
        self._resolve = resolve
        self.found: list[Diagnostic] = []

    def entry(self, entry: CatchAll, path: KeyPath) -> tuple[ToolSpec, ...]:
        """The specs of a `catch_all` entry, each name once."""
        return self.united(entry.tools, (*path, "tools"))

    def united(self, sources: Iterable[SpecSource], path: KeyPath, first: int = 0) -> tuple[ToolSpec, ...]:
        """The specs of the sources at `path`, counted from `first`; of one name the first."""
        held: dict[str, ToolSpec] = {}
        for index, source in enumerate(sources, first):
            specs = self._specs(source, (*path, index))
            keep_first = isinstance(source, SelectedSource) and source.on_conflict == "first"
            self.found += _united(held, specs, keep_first)
        return tuple(held.values())

    def schema_file(self, written: str, path: KeyPath) -> DataDocument | None:
        """The file with a JSON Schema; None where there is none, with its finding."""
        try:
            for document in self._documents((written,), path):
                if isinstance(document.value, dict):
                    return document
                message = f"{written!r} holds no JSON Schema object"
                raise DataProblem(Diagnostic(code="GMM209", message=message, span=document.span))
        except DataProblem as problem:
            self.found += problem.found
        return None

    def _specs(self, source: SpecSource, path: KeyPath) -> list[ToolSpec]:
        """The specs of a source that can be read; what is wrong with the others is noted."""
        if isinstance(source, InlineSource):
            given = "input_schema" in source.model_fields_set
            schema = source.input_schema if given else None
            place = self._span(path)
            parts = {"input_schema": in_manifest(self._manifest.places, (*path, "input_schema"))}
            return [ToolSpec(source.name, place, source.description, schema, named_at=place, schema_places=parts)]
        if isinstance(source, FileSource):
            files = self._documents(source.file, (*path, "file"), source.exclude_files, optional=source.optional)
            return self._selected(source, files, path)
        if isinstance(source, PythonSource) and self._resolve is not None:
            return self._selected(source, self._object(source, path, self._resolve), path)
        return []

    def _selected(
        self, source: SelectedSource, documents: Iterable[DataDocument], path: KeyPath
    ) -> list[ToolSpec]:
        specs: list[ToolSpec] = []
        known: dict[str, ToolSpec] = {}
        faults: list[Diagnostic] = []
        named_at = self._span(path)
        try:
            for document in documents:
                rows = self._rows(source, document, path, faults)
                for index, row in enumerate(rows):
                    try:
                        spec = _read(row, document, index, named_at)
                        specs.append(_placed(spec, row, document, known))
                    except DataProblem as problem:
                        faults += problem.found
        except DataProblem as problem:
            faults += problem.found
        if faults:  # what the rest gives or lacks is told once everything can be read
            self.found += capped(faults)
            return [spec for spec in specs if _taken(source, spec.name)]
        idle = tuple(self._idle_globs(source, specs, path))
        self.found += idle
        kept = [spec for spec in specs if _taken(source, spec.name)]
        if not kept and not idle and not source.optional:
            self.found.append(self._empty(source, path))
        return kept

    def _rows(
        self, source: SelectedSource, document: DataDocument, path: KeyPath, faults: list[Diagnostic]
    ) -> list[Any]:
        """What the source selects in one document; where it fails, nothing, which is noted once for all."""
        try:
            chosen = source.select.search(document.value) if source.select else document.value
        except ExpressionFailed as error:
            if not any(d.code == "GMM208" for d in faults):
                message = f"`select: {source.select}` fails on {document.span}: {error}"
                faults.append(Diagnostic(code="GMM208", message=message, span=self._span((*path, "select"))))
            return []
        return chosen if isinstance(chosen, list) else [] if chosen is None else [chosen]

    def _object(self, source: PythonSource, path: KeyPath, resolve: Resolve) -> Iterator[DataDocument]:
        place = self._span((*path, "python"))
        try:
            yield DataDocument(resolve(source), place or Span(f"python: {source.python}"))
        except ValueError as error:
            message = f"`python: {source.python}` gives no specs: {error}"
            raise DataProblem(Diagnostic(code="GMM406", message=message, span=place)) from error

    def _documents(
        self,
        written: tuple[str, ...],
        path: KeyPath,
        except_globs: tuple[str, ...] = (),
        *,
        optional: bool = False,
    ) -> Iterator[DataDocument]:
        """The documents of all files that can be read, and then one DataProblem about the others."""
        place = self._span(path)
        faults: list[Diagnostic] = []
        for name in written:
            anywhere = self._manifest.places.is_layered(path)
            try:
                files = find_files(name, self._folder, place, except_globs=except_globs, anywhere=anywhere)
            except DataProblem as problem:
                faults += problem.found
                continue
            there = [file for file in files if _exists(file)]
            if not there and not optional:
                faults.append(self._absent(name, path))
            for file in there:
                try:
                    yield from read_documents(file, str(file), place)
                except DataProblem as problem:
                    faults += problem.found
        if faults:
            raise DataProblem(*faults)

    def _idle_globs(self, source: SelectedSource, specs: list[ToolSpec], path: KeyPath) -> Iterator[Diagnostic]:
        names = [spec.name for spec in specs]
        for key, globs in (("include", source.include), ("exclude", source.exclude)):
            for index, glob in enumerate(globs if names and not source.optional else ()):
                if not any(name_matches(glob, name) for name in names):
                    yield self._idle(glob, names, (*path, key, index))

    def _idle(self, glob: str, names: list[str], path: KeyPath) -> Diagnostic:
        guess = nearest(glob, names)
        hint = f"did you mean `{guess}`?" if guess else "see the names in the data"
        message = f"`{glob}` matches no tool of this source"
        return Diagnostic(code="GMM601", message=message, span=self._span(path), hint=hint)

    def _absent(self, written: str, path: KeyPath) -> Diagnostic:
        message = f"no data file matches {written!r}"
        hint = "correct the path, which is relative to the manifest's folder"
        if path[0] != "tools":
            hint += ", or set `optional: true` on the source"
        return Diagnostic(code="GMM405", message=message, span=self._span(path), hint=hint)

    def _empty(self, source: SelectedSource, path: KeyPath) -> Diagnostic:
        key = "file" if isinstance(source, FileSource) else "python"
        written = ", ".join(source.file) if isinstance(source, FileSource) else str(getattr(source, key))
        message = f"the source {written!r} gives no tool"
        hint = "check `select`, `include` and `exclude`, or set `optional: true`"
        return Diagnostic(code="GMM405", message=message, span=self._span((*path, key)), hint=hint)

    def _span(self, path: KeyPath) -> Span | None:
        return self._manifest.places.span(path)


def _united(held: dict[str, ToolSpec], specs: Iterable[ToolSpec], keep_first: bool) -> Iterator[Diagnostic]:
    clashing: set[str] = set()
    for spec in specs:
        first = held.setdefault(spec.name, spec)
        if first is spec or keep_first or first.says_the_same(spec) or spec.name in clashing:
            continue
        clashing.add(spec.name)
        yield Diagnostic(
            code="GMM404",
            message=f"the tool {spec.name!r} has two different specs in one entry",
            span=spec.span,
            hint="make the data agree, or write `on_conflict: first` on the source to keep the first",
            related=(("first described at", first.span),) if first.span else (),
        )


def _read(row: Any, document: DataDocument, index: int, named_at: Span | None) -> ToolSpec:
    try:
        return read_spec(row, f"spec {index + 1} of the selection", document.span, named_at)
    except NoSpec as error:
        hint = (
            "point `select` at a list of objects with `name` and `parameters` (or `input_schema`, `inputSchema`)"
        )
        pointer = document.pointer_to(row)
        message = f"{error} (at {pointer})" if pointer else str(error)
        place = document.place_of(row)
        raise DataProblem(Diagnostic(code="GMM403", message=message, span=place, hint=hint)) from error


def _placed(spec: ToolSpec, row: Any, document: DataDocument, known: dict[str, ToolSpec]) -> ToolSpec:
    """The spec with its own place in the document, or the first that says the same under its name.

    Rows of data that repeat the specs of those before them are then neither searched for places nor kept.
    """
    first = known.get(spec.name)
    if first is not None and first.says_the_same(spec):
        return first
    places = {name: in_data(document, schema) for name in _SCHEMA_KEYS if (schema := getattr(spec, name))}
    placed = replace(spec, span=document.place_of(row), schema_places=places)
    return known.setdefault(spec.name, placed) if first is None else placed


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # reading it will say why
        return True


def _taken(source: SelectedSource, name: str) -> bool:
    wanted = any(name_matches(glob, name) for glob in source.include)
    return wanted and not any(name_matches(glob, name) for glob in source.exclude)

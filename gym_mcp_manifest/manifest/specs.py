"""Tool specs from data: every common form read into one record, gathered source by source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.manifest.datafile import DataDocument, DataProblem, find_files, read_documents
from gym_mcp_manifest.manifest.expressions import ExpressionFailed
from gym_mcp_manifest.manifest.keys import Path as KeyPath
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.models import Annotations, CatchAll, FileSource, InlineSource
from gym_mcp_manifest.manifest.patterns import name_matches
from gym_mcp_manifest.manifest.schemas import PERMISSIVE, schema_findings

__all__ = ["SpecSet", "ToolSpec", "check_specs", "gather_specs"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as data describe it."""

    name: str
    description: str | None
    input_schema: Mapping[str, Any]
    span: Span | None
    title: str | None = None
    annotations: Mapping[str, Any] | None = None

    def says_the_same(self, other: ToolSpec) -> bool:
        """Whether two specs of one name describe the same tool."""
        mine = (self.description, self.input_schema, self.title, self.annotations)
        return mine == (other.description, other.input_schema, other.title, other.annotations)


@dataclass(frozen=True, slots=True)
class SpecSet:
    """The specs of every `catch_all` entry, the schema files of `tools`, and what was wrong with them."""

    catch_all: tuple[tuple[ToolSpec, ...], ...] = ()
    schemas: Mapping[str, Mapping[str, Any]] | None = None
    found: tuple[Diagnostic, ...] = ()


def gather_specs(manifest: Manifest, folder: Path | None = None) -> SpecSet:
    """Read every data file that the manifest names; findings are returned, never raised."""
    base = folder or manifest.folder or Path.cwd()
    found: list[Diagnostic] = []
    entries = tuple(
        _entry_specs(entry, ("catch_all", index), manifest, base, found)
        for index, entry in enumerate(manifest.language.catch_all)
    )
    schemas: dict[str, Mapping[str, Any]] = {}
    for key, tool in manifest.language.tools.items():
        if isinstance(tool.input_schema, str):
            path: KeyPath = ("tools", key, "input_schema")
            try:
                schemas[key] = _read_schema_file(tool.input_schema, base, path, manifest)
            except DataProblem as problem:
                found += problem.found
    return SpecSet(entries, schemas, tuple(found))


def check_specs(manifest: Manifest, folder: Path | None = None) -> Iterator[Diagnostic]:
    """Findings about the data that a manifest names, schemas included, without any app."""
    specs = gather_specs(manifest, folder)
    yield from specs.found
    for entry in specs.catch_all:
        for spec in entry:
            yield from schema_findings(spec.name, spec.input_schema, spec.span)
    for key, tool in manifest.language.tools.items():
        if isinstance(tool.input_schema, dict):
            span = manifest.places.span(("tools", key, "input_schema"))
            yield from schema_findings(key, tool.input_schema, span)


def _read_schema_file(written: str, folder: Path, path: KeyPath, manifest: Manifest) -> Mapping[str, Any]:
    """The JSON Schema that a file named by the manifest holds; DataProblem where there is none."""
    for document in _documents((written,), folder, path, manifest):
        if isinstance(document.value, dict):
            return document.value
        raise DataProblem(
            Diagnostic(code="GMM209", message=f"{written!r} holds no JSON Schema object", span=document.span)
        )
    raise DataProblem(_absent(written, manifest, path))


def _entry_specs(
    entry: CatchAll, path: KeyPath, manifest: Manifest, folder: Path, found: list[Diagnostic]
) -> tuple[ToolSpec, ...]:
    held: dict[str, ToolSpec] = {}
    for index, source in enumerate(entry.tools):
        here = (*path, "tools", index)
        try:
            if isinstance(source, FileSource):
                specs = _selected(source, here, manifest, folder)
            elif isinstance(source, InlineSource):
                span = manifest.places.span(here)
                specs = [ToolSpec(source.name, source.description, source.input_schema, span)]
            else:
                continue
        except DataProblem as problem:
            absent = all(d.code == "GMM405" for d in problem.found)
            found += () if source.optional and absent else problem.found
            continue
        keep_first = isinstance(source, FileSource) and source.on_conflict == "first"
        found += _united(held, specs, keep_first)
    return tuple(held.values())


def _united(held: dict[str, ToolSpec], specs: Iterable[ToolSpec], keep_first: bool) -> Iterator[Diagnostic]:
    clashing: set[str] = set()
    for spec in specs:
        first = held.setdefault(spec.name, spec)
        if first is spec or keep_first or first.says_the_same(spec) or spec.name in clashing:
            continue
        clashing.add(spec.name)
        yield Diagnostic(
            code="GMM404",
            message=f"the tool {spec.name!r} has two different specs in one catch_all entry",
            span=spec.span,
            hint="make the data agree, or write `on_conflict: first` on the source to keep the first",
            related=(("first described at", first.span),) if first.span else (),
        )


def _selected(source: FileSource, path: KeyPath, manifest: Manifest, folder: Path) -> list[ToolSpec]:
    specs: list[ToolSpec] = []
    for document in _documents(
        source.file, folder, (*path, "file"), manifest, source.exclude_files, optional=source.optional
    ):
        try:
            chosen = source.select.search(document.value) if source.select else document.value
        except ExpressionFailed as error:
            span = manifest.places.span((*path, "select"))
            message = f"`select: {source.select}` fails on {document.span}: {error}"
            raise DataProblem(Diagnostic(code="GMM208", message=message, span=span)) from error
        if chosen is None:
            continue
        rows = chosen if isinstance(chosen, list) else [chosen]
        specs += [_read_spec(row, document, index) for index, row in enumerate(rows)]
    _check_globs(source, specs, path, manifest)
    kept = [spec for spec in specs if _taken(source, spec.name)]
    if not kept:
        raise DataProblem(_empty(source, path, manifest))
    return kept


def _documents(
    written: tuple[str, ...],
    folder: Path,
    path: KeyPath,
    manifest: Manifest,
    except_globs: tuple[str, ...] = (),
    *,
    optional: bool = False,
) -> Iterator[DataDocument]:
    place = manifest.places.span(path)
    for name in written:
        anywhere = manifest.places.is_layered(path)
        files = find_files(name, folder, place, except_globs=except_globs, anywhere=anywhere)
        there = [file for file in files if _exists(file)]
        if not there and not optional:
            raise DataProblem(_absent(name, manifest, path))
        for file in there:
            yield from read_documents(file, str(file))


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # reading it will say why
        return True


def _read_spec(row: Any, document: DataDocument, index: int) -> ToolSpec:
    place, which = document.span, f"spec {index + 1} of the selection"
    if not isinstance(row, dict):
        raise DataProblem(_no_spec(f"{which} is no tool spec but {type(row).__name__}", place))
    body = row["function"] if isinstance(row.get("function"), dict) else row
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise DataProblem(_no_spec(f"{which} has no `name`", place))
    description = body.get("description")
    if description is not None and not isinstance(description, str):
        raise DataProblem(_no_spec(f"the description of {name!r} is no text", place))
    title, annotations = body.get("title"), body.get("annotations")
    if title is not None and not isinstance(title, str):
        raise DataProblem(_no_spec(f"the title of {name!r} is no text", place))
    try:
        Annotations.model_validate(_known_hints(annotations))
    except ValidationError as error:
        raise DataProblem(_no_spec(f"the annotations of {name!r} are no hints of MCP", place)) from error
    return ToolSpec(name, description, _schema_of(body, name, place), place, title, annotations)


def _known_hints(annotations: Any) -> Any:
    if not isinstance(annotations, dict):
        return annotations if annotations is not None else {}
    return {key: annotations[key] for key in Annotations.model_fields if annotations.get(key) is not None}


def _schema_of(body: Mapping[str, Any], name: str, place: Span) -> Mapping[str, Any]:
    schemas = [body[key] for key in ("parameters", "input_schema", "inputSchema") if body.get(key) is not None]
    if not schemas:
        return PERMISSIVE
    if any(schema != schemas[0] for schema in schemas):
        raise DataProblem(_no_spec(f"{name!r} has two different schemas", place))
    if not isinstance(schemas[0], dict):
        raise DataProblem(_no_spec(f"the schema of {name!r} is no object", place))
    return schemas[0]


def _taken(source: FileSource, name: str) -> bool:
    wanted = any(name_matches(glob, name) for glob in source.include)
    return wanted and not any(name_matches(glob, name) for glob in source.exclude)


def _check_globs(source: FileSource, specs: list[ToolSpec], path: KeyPath, manifest: Manifest) -> None:
    names = [spec.name for spec in specs]
    if not names:
        return
    idle = [
        (key, index, glob)
        for key, globs in (("include", source.include), ("exclude", source.exclude))
        for index, glob in enumerate(globs)
        if not any(name_matches(glob, name) for name in names)
    ]
    if idle and not source.optional:
        raise DataProblem(*(_idle(glob, names, (*path, key, index), manifest) for key, index, glob in idle))


def _idle(glob: str, names: list[str], path: KeyPath, manifest: Manifest) -> Diagnostic:
    guess = nearest(glob, names)
    hint = f"did you mean `{guess}`?" if guess else "see the names in the data file"
    span = manifest.places.span(path)
    return Diagnostic(code="GMM601", message=f"`{glob}` matches no tool of this source", span=span, hint=hint)


def _no_spec(reason: str, place: Span) -> Diagnostic:
    hint = "point `select` at a list of objects with `name` and `parameters` (or `input_schema`, `inputSchema`)"
    return Diagnostic(code="GMM403", message=reason, span=place, hint=hint)


def _absent(written: str, manifest: Manifest, path: KeyPath) -> Diagnostic:
    message = f"no data file matches {written!r}"
    hint = "correct the path, which is relative to the manifest's folder, or set `optional: true` on the source"
    return Diagnostic(code="GMM405", message=message, span=manifest.places.span(path), hint=hint)


def _empty(source: FileSource, path: KeyPath, manifest: Manifest) -> Diagnostic:
    files = ", ".join(source.file)
    message = f"the source {files!r} gives no tool"
    hint = "check `select`, `include` and `exclude`, or set `optional: true`"
    return Diagnostic(code="GMM405", message=message, span=manifest.places.span(path), hint=hint)

"""Manifest data to a validated, frozen `Manifest`; every fault becomes a positioned finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from gym_mcp_manifest.diagnostics import Diagnostic, Span, sorted_diagnostics
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.manifest.checks import cross_checks
from gym_mcp_manifest.manifest.doubts import expression_doubts
from gym_mcp_manifest.manifest.faults import fault_of, kind_of, value_span
from gym_mcp_manifest.manifest.layers import Layer, Layered, Places
from gym_mcp_manifest.manifest.models import Language
from gym_mcp_manifest.manifest.source import SourceFile, read_source
from gym_mcp_manifest.manifest.yamldoc import parse_document

__all__ = [
    "DEFAULT_MANIFEST_NAME",
    "Manifest",
    "load_manifest",
    "manifest_from_mapping",
    "read_manifest",
    "read_manifest_source",
]

#: File, line and column; None for what has no place.
_Start = tuple[str, int, int] | None

#: The manifest's file name beside a server's code.
DEFAULT_MANIFEST_NAME = "mcp.yaml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A validated manifest: what it says, where each value was written and where its data files lie.

    `warnings` are about its text: what other readers take otherwise, and the like.
    """

    language: Language
    layered: Layered
    folder: FilePath | None = None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def places(self) -> Places:
        """Where each value was written."""
        return self.layered.places

    def under(self, patch: Mapping[str, Any], layer: str) -> Manifest:
        """This manifest with a partial one laid over it.

        Raises:
            ManifestInvalid: the result breaks the language; every finding at once.
        """
        return self.under_layers([Layer(layer, patch)])

    def under_layers(self, layers: Iterable[Layer]) -> Manifest:
        """This manifest with layers laid over it, the first one lowest; only the result is judged.

        Raises:
            ManifestInvalid: the result breaks the language; every finding at once.
        """
        layered = self.layered
        for layer in layers:
            layered = layered.under(layer) if layer.patch else layered
        if layered is self.layered:
            return self
        return replace(_validated(layered, self.folder), warnings=self.warnings)


def load_manifest(path: str | FilePath) -> Manifest:
    """Read and validate the manifest at `path`; its data files lie in its folder.

    Raises:
        ManifestInvalid: the file cannot be read or breaks the language; every finding at once.
    """
    manifest, found = read_manifest(path)
    if manifest is None or any(d.severity == "error" for d in found):
        raise ManifestInvalid(found)
    return manifest


def read_manifest(path: str | FilePath) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    """The manifest at `path` (None where it is unusable) with its findings, warnings included."""
    source, found = read_source(path)
    return _read(source, found, FilePath(path).parent)


def read_manifest_source(
    source: SourceFile, folder: FilePath | None = None
) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    """The same for a text that has been read; its data files lie in `folder`."""
    return _read(source, (), folder)


def _read(
    source: SourceFile | None, found: tuple[Diagnostic, ...], folder: FilePath | None
) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    if source is None:
        return None, found
    document, trouble = parse_document(source)
    found = (*found, *trouble)
    if document is None:
        return None, sorted_diagnostics(found)
    layered = Layered(document.data, Places(source.name, document))
    language, faults = _read_language(layered, _starts(trouble))
    doubts = expression_doubts(language, layered.places) if language else ()
    found = sorted_diagnostics((*_undisputed(found, faults), *_undisputed(faults, found), *doubts))
    warnings = tuple(d for d in found if d.severity == "warning")
    return (Manifest(language, layered, folder, warnings) if language else None), found


def _starts(found: Iterable[Diagnostic]) -> frozenset[_Start]:
    """Where the values of errors begin."""
    return frozenset(_start(d.span) for d in found if d.severity == "error" and d.line)


def _start(span: Span | None) -> _Start:
    return (span.file, span.line, span.column) if span else None


def _undisputed(found: Iterable[Diagnostic], others: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings without the warnings about values that the others find faulty: two cures mislead.

    Nor is a text without the quotes that it needs an expression gone wrong as well.
    """
    faulty = {(d.file, d.line, d.column) for d in others if d.severity == "error"}
    return (
        d
        for d in found
        if (d.severity == "error" and d.code != "GMM208") or (d.file, d.line, d.column) not in faulty
    )


def manifest_from_mapping(data: Mapping[str, Any], folder: FilePath | None = None) -> Manifest:
    """A manifest from data in the language, without positions.

    Raises:
        ManifestInvalid: the data break the language; every finding at once.
    """
    return _validated(Layered(dict(data), Places("the manifest mapping")), folder)


def _validated(layered: Layered, folder: FilePath | None) -> Manifest:
    language, found = _read_language(layered)
    if language is None or found:
        raise ManifestInvalid(sorted_diagnostics(found))
    return Manifest(language, layered, folder)


def _read_language(
    layered: Layered, unread: frozenset[_Start] = frozenset()
) -> tuple[Language | None, tuple[Diagnostic, ...]]:
    data, places = layered.data, layered.places
    if data is None:
        data = {}
    if not isinstance(data, dict):
        kind = kind_of(data)
        return None, (
            Diagnostic(code="GMM203", message=f"a manifest is a mapping, not {kind}", span=places.span(())),
        )
    try:
        language = Language.model_validate(data)
    except ValidationError as error:
        # A value that could not be read has its finding; what stands in its place breaks the shape by nature.
        details = [d for d in error.errors(include_url=False) if _start(value_span(d, layered)) not in unread]
        return None, tuple(fault_of(detail, layered) for detail in details)
    found = cross_checks(language, places)
    return (None if any(d.severity == "error" for d in found) else language), found

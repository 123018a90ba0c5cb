"""Manifest data to a validated, frozen `Manifest`; every fault becomes a positioned finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from gym_mcp_manifest.diagnostics import Diagnostic, sorted_diagnostics
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.manifest.checks import cross_checks
from gym_mcp_manifest.manifest.faults import fault_of, kind_of
from gym_mcp_manifest.manifest.layers import Layered, Places
from gym_mcp_manifest.manifest.models import Language
from gym_mcp_manifest.manifest.source import SourceFile, decode_source, read_source
from gym_mcp_manifest.manifest.yamldoc import parse_document

__all__ = [
    "DEFAULT_MANIFEST_NAME",
    "Manifest",
    "load_manifest",
    "manifest_from_mapping",
    "read_manifest",
    "read_manifest_text",
]

#: The manifest's file name beside a server's code.
DEFAULT_MANIFEST_NAME = "mcp.yaml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A validated manifest: what it says, where each value was written and where its data files lie."""

    language: Language
    layered: Layered
    folder: FilePath | None = None

    @property
    def places(self) -> Places:
        """Where each value was written."""
        return self.layered.places

    def under(self, patch: Mapping[str, Any], layer: str) -> Manifest:
        """This manifest with a partial one laid over it.

        Raises:
            ManifestInvalid: the result breaks the language; every finding at once.
        """
        return _validated(self.layered.under(patch, layer), self.folder) if patch else self


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


def read_manifest_text(
    name: str, content: bytes, folder: FilePath | None = None
) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    """The same for bytes that come from elsewhere; findings call them `name`."""
    return _read(*decode_source(name, content), folder)


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
    language, faults = _read_language(layered)
    found = sorted_diagnostics((*_undisputed(found, faults), *faults))
    return (Manifest(language, layered, folder) if language else None), found


def _undisputed(found: Iterable[Diagnostic], faults: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Findings about the text without the warnings about values that are faulty anyway: two cures mislead."""
    faulty = {(d.file, d.line, d.column) for d in faults if d.severity == "error"}
    return (d for d in found if d.severity == "error" or (d.file, d.line, d.column) not in faulty)


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


def _read_language(layered: Layered) -> tuple[Language | None, tuple[Diagnostic, ...]]:
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
        return None, tuple(fault_of(detail, layered) for detail in error.errors(include_url=False))
    found = cross_checks(language, places)
    return (None if any(d.severity == "error" for d in found) else language), found

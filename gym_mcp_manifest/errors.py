"""The tree of errors that callers may catch.

ManifestError
├── ManifestInvalid     a manifest, a data file or an instance configuration breaks the rules
└── ExposureRefused     the app cannot be exposed as the manifest asks
"""

from __future__ import annotations

from collections.abc import Iterable

from gym_mcp_manifest.diagnostics import Diagnostic, sorted_diagnostics

__all__ = ["ExposureRefused", "ManifestError", "ManifestInvalid"]


class ManifestError(Exception):
    """Root of every error that this package raises on purpose."""


class _Found(ManifestError):
    #: Every finding, at least one, in the order of their places.
    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = sorted_diagnostics(diagnostics)
        if not self.diagnostics:
            raise ValueError("an error needs at least one diagnostic")
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(found) for found in self.diagnostics)


class ManifestInvalid(_Found):
    """The manifest, one of its data files or the instance's configuration is not valid."""


class ExposureRefused(_Found):
    """The app cannot be exposed as asked: every refused route or setting with its reason and cure."""

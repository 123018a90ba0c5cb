"""The names that users may rely on, and how they behave."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import gym_mcp_manifest
from gym_mcp_manifest import (
    Diagnostic,
    ExposurePlan,
    ExposureRefused,
    Manifest,
    ManifestError,
    ManifestInvalid,
    expose,
    load_manifest,
)
from gym_mcp_manifest.diagnostics import Span

PUBLIC = {
    "Diagnostic",
    "ExposurePlan",
    "ExposureRefused",
    "Manifest",
    "ManifestError",
    "ManifestInvalid",
    "expose",
    "load_manifest",
}


def test_the_public_names_are_these() -> None:
    assert set(gym_mcp_manifest.__all__) == PUBLIC
    assert all(getattr(gym_mcp_manifest, name) is not None for name in PUBLIC)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nope"):
        gym_mcp_manifest.nope  # noqa: B018


def test_expose_has_the_documented_signature() -> None:
    parameters = inspect.signature(expose).parameters
    assert list(parameters) == ["app", "name", "manifest", "instance", "secret", "folder"]
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "app")
    assert parameters["name"].default is inspect.Parameter.empty
    assert {parameters[name].default for name in ("manifest", "instance", "secret", "folder")} == {None}


def test_the_errors_are_one_tree() -> None:
    assert issubclass(ManifestInvalid, ManifestError)
    assert issubclass(ExposureRefused, ManifestError)
    assert not issubclass(ManifestInvalid, ExposureRefused)
    assert issubclass(ManifestError, Exception)


@pytest.mark.parametrize("kind", [ManifestInvalid, ExposureRefused])
def test_an_error_carries_and_shows_every_finding(kind: type[ManifestInvalid | ExposureRefused]) -> None:
    late = Diagnostic(code="GMM201", message="late", span=Span("a.yaml", 9, 1), hint="mend it")
    early = Diagnostic(code="GMM203", message="early", span=Span("a.yaml", 2, 3))
    nowhere = Diagnostic(code="GMM607", message="nowhere")
    error = kind([nowhere, late, early, early])
    assert error.diagnostics == (early, late, nowhere)
    assert str(error) == (
        "a.yaml:2:3: error[GMM203] early\na.yaml:9:1: error[GMM201] late\n  help: mend it\nerror[GMM607] nowhere"
    )
    with pytest.raises(ValueError, match="at least one"):
        kind([])


def test_a_finding_has_code_message_and_place() -> None:
    found = Diagnostic(code="GMM201", message="m", span=Span("a.yaml", 9, 1))
    assert (found.code, found.message, found.file, found.line, found.column) == ("GMM201", "m", "a.yaml", 9, 1)
    bare = Diagnostic(code="GMM201", message="m")
    assert (bare.file, bare.line, bare.column) == (None, None, None)
    with pytest.raises(ValueError, match="GMM999"):
        Diagnostic(code="GMM999", message="m")


def test_load_manifest_takes_a_path_in_either_form(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text("version: 1", encoding="utf-8")
    assert isinstance(load_manifest(path), Manifest)
    assert load_manifest(str(path)) == load_manifest(path) or load_manifest(str(path)).folder == tmp_path


def test_a_plan_shows_its_three_lists() -> None:
    assert {"tools", "excluded", "refused"} <= set(ExposurePlan.__dataclass_fields__)


def test_the_package_is_typed() -> None:
    assert (Path(str(gym_mcp_manifest.__file__)).parent / "py.typed").is_file()

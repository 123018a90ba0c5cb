"""TARGET and its instance: the app that a command is about, and the settings it runs under."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi import FastAPI

from gym_mcp_manifest.diagnostics import Diagnostic, Span, nearest
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.instance import BlockInvalid, Instance, key_of, read_instance
from gym_mcp_manifest.manifest.loader import (
    DEFAULT_MANIFEST_NAME,
    Manifest,
    load_manifest,
    manifest_from_mapping,
)

__all__ = ["Loaded", "load_app", "load_target", "switched_on"]

_CONFIG_NAME = "config.yaml"
#: What a manifest may have been called by mistake.
_NEAR_NAMES = ("mcp.yaml", "mcp.yml", "mcp.json")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An app with its manifest and instance.

    `assumed` tells that no configuration turned exposure on, `written` that a file holds the manifest.
    """

    app: FastAPI
    folder: Path
    manifest: Manifest
    instance: Instance
    assumed: bool
    written: bool

    @property
    def defaults_note(self) -> str | None:
        """What to tell where tools are exposed without any manifest."""
        if self.written or not self.instance.on:
            return None
        return f"No {DEFAULT_MANIFEST_NAME} in {self.folder}: the language's defaults apply."


def load_target(
    target: str, config: Path | None, server: str | None, overrides: Sequence[str], *, assume_on: bool
) -> Loaded:
    """Import the app and read what belongs to it.

    Raises:
        ManifestInvalid: the target cannot be loaded, or its configuration or manifest is not valid.
    """
    app, folder = load_app(target)
    try:
        instance, assumed = _instance(folder, config, server, overrides, assume_on)
    except BlockInvalid as error:
        raise ManifestInvalid((*error.diagnostics, *_further_findings(folder, error.rest))) from error
    manifest, written = _manifest(folder, instance)
    return Loaded(app, folder, manifest, instance, assumed, written)


def load_app(target: str) -> tuple[FastAPI, Path]:
    """The app that TARGET names, imported, and the server's folder.

    Raises:
        ManifestInvalid: the target cannot be loaded.
    """
    place, _, attribute = target.partition(":")
    path = Path(place)
    if path.is_dir():
        path = path / "app.py"
        if not path.is_file():
            raise _problem(f"the folder {place!r} has no app.py", target, "name the file: path/to/file.py:attr")
    if path.suffix == ".py":
        if not path.is_file():
            raise _problem(f"there is no file {place!r}", target)
        module, folder = _load_file(path, target), path.parent
    elif "/" in place or not attribute:
        raise _problem(f"{place!r} is neither a folder, a Python file nor `module:attr`", target)
    else:
        module = _import(place, target)
        folder = Path(getattr(module, "__file__", None) or ".").parent
    return _app_of(module, attribute or "app", target), folder


def _instance(
    folder: Path, config: Path | None, server: str | None, overrides: Sequence[str], assume_on: bool
) -> tuple[Instance, bool]:
    beside = folder / _CONFIG_NAME
    if config is None and beside.is_file():
        config = beside
    if config is None:
        if overrides:
            place = f"override {key_of(overrides[0])!r}"
            example = "`expose_tools_over_mcp: true`"
            cure = f"write a {_CONFIG_NAME}, for example {example}, beside the app, or give --config"
            raise _problem("overrides change a configuration, and there is none", place, cure)
        return Instance(name=server or folder.resolve().name, on=assume_on), True
    return read_instance(config, server, overrides, folder.resolve().name), False


def _manifest(folder: Path, instance: Instance) -> tuple[Manifest, bool]:
    """The manifest, and whether a file holds it."""
    if instance.manifest is not None:
        return _named_manifest(folder / instance.manifest), True
    path = folder / DEFAULT_MANIFEST_NAME
    if path.exists() or path.is_symlink():
        return load_manifest(path), True
    files = (entry.name for entry in folder.iterdir() if entry.is_file())
    near = sorted(name for name in files if name.casefold() in _NEAR_NAMES)
    if near:
        message = f"a manifest is called {DEFAULT_MANIFEST_NAME}; {near[0]} would be passed over"
        cure = f"set `mcp_manifest: {near[0]}` in the instance's configuration"
        place = Span(str(folder / near[0]), 1, 1)
        raise _problem(message, place, f"rename it to {DEFAULT_MANIFEST_NAME}, or {cure}")
    return manifest_from_mapping({"version": 1}, folder), False


def _further_findings(folder: Path, rest: Instance | None) -> tuple[Diagnostic, ...]:
    """What is wrong with the manifest, or with the changes to it, of an instance that is not valid itself."""
    if rest is None or not rest.on:
        return ()
    try:
        _manifest(folder, rest)[0].under_layers(rest.layers)
    except ManifestInvalid as error:
        return error.diagnostics
    return ()


def _named_manifest(path: Path) -> Manifest:
    try:
        return load_manifest(path)
    except ManifestInvalid as error:
        if path.exists():
            raise
        hint = "correct `mcp_manifest` in the instance's configuration: the path in the server's folder"
        raise ManifestInvalid([replace(d, hint=hint) for d in error.diagnostics]) from error


def _load_file(path: Path, target: str) -> ModuleType:
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise _problem(f"{path} is no Python file", target)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _failed(error, target) from error
    return module


def _import(name: str, target: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _failed(error, target) from error


def _app_of(module: ModuleType, attribute: str, target: str) -> FastAPI:
    value: Any = getattr(module, attribute, None)
    if value is None:
        apps = [name for name, thing in vars(module).items() if isinstance(thing, FastAPI)]
        guess = nearest(attribute, apps) or (apps[0] if apps else None)
        hint = f"did you mean `:{guess}`?" if guess else "the module holds no FastAPI app; name a factory"
        raise _problem(f"{module.__name__} has no attribute {attribute!r}", _place_of(module, target), hint)
    if not isinstance(value, FastAPI) and callable(value):
        try:
            value = value()
        except (Exception, SystemExit) as error:
            raise _failed(error, target) from error
    if not isinstance(value, FastAPI):
        kind = type(value).__name__
        hint = "name a FastAPI app or its factory"
        raise _problem(f"{attribute!r} is no FastAPI app but {kind}", _place_of(module, target), hint)
    return value


def _failed(error: BaseException, target: str) -> ManifestInvalid:
    message = f"the app cannot be loaded: {type(error).__name__}: {error}"
    hint: str | None = f"make {target!r} importable first"
    if isinstance(error, SyntaxError):
        hint = None
    elif isinstance(error, ModuleNotFoundError) and error.name and error.name != target.partition(":")[0]:
        hint = f"install or correct the import of {error.name!r}"
    return ManifestInvalid(
        [Diagnostic(code="GMM610", message=message, span=_blamed(error) or Span(target), hint=hint)]
    )


def _blamed(error: BaseException) -> Span | None:
    """The innermost line of the user's own code that the error went through."""
    if isinstance(error, SyntaxError) and error.filename:
        return Span(error.filename, error.lineno or 0, error.offset or 1)
    foreign = (*(sysconfig.get_paths()[kind] for kind in ("stdlib", "purelib", "platlib")), __file__, "<frozen")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(foreign)]
    return Span(frames[-1].filename, frames[-1].lineno or 0, 1) if frames else None


def _place_of(module: ModuleType, target: str) -> Span:
    """The first line of a module, or the target where it has no file."""
    if module.__file__ is None:
        return Span(target)
    file, here = Path(module.__file__), Path.cwd()
    return Span(str(file.relative_to(here) if file.is_relative_to(here) else file), 1, 1)


def _problem(message: str, place: str | Span, hint: str | None = None) -> ManifestInvalid:
    span = place if isinstance(place, Span) else Span(place)
    return ManifestInvalid([Diagnostic(code="GMM610", message=message, span=span, hint=hint)])


def switched_on(loaded: Loaded) -> Loaded:
    """The same target with exposure on."""
    return replace(loaded, instance=replace(loaded.instance, on=True))

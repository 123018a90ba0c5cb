"""Manifest data to a validated, frozen `Manifest`; every fault becomes a positioned finding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gym_mcp_manifest.diagnostics import Diagnostic, nearest, sorted_diagnostics
from gym_mcp_manifest.errors import ManifestInvalid
from gym_mcp_manifest.manifest.checks import cross_checks
from gym_mcp_manifest.manifest.keys import Path, addable_keys, known_keys
from gym_mcp_manifest.manifest.layers import Layered, Places
from gym_mcp_manifest.manifest.models import SOURCE_KEYS, Language
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

_LATER: dict[Path, str] = {
    (
        "dispatch",
    ): "only `direct` dispatch works in this release; leave the key out and exclude routes that need more",
    ("routes", "specs"): "describe the tools under `tools` until overlays arrive",
    ("python",): "export the specs to a JSON file and name it with `file`",
    ("session",): "list every tool with `file` and narrow sessions with `sessions.allow`",
}
_EMPTY_VALUES = "write {} or [] for an empty mapping or list, or leave the key out"


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
    found = sorted_diagnostics((*found, *faults))
    return (Manifest(language, layered, folder) if language else None), found


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
        kind = _kind(data)
        return None, (
            Diagnostic(code="GMM203", message=f"a manifest is a mapping, not {kind}", span=places.span(())),
        )
    try:
        language = Language.model_validate(data)
    except ValidationError as error:
        return None, tuple(_finding(detail, layered) for detail in error.errors(include_url=False))
    found = cross_checks(language, places)
    return (None if any(d.severity == "error" for d in found) else language), found


def _finding(detail: ErrorDetails, layered: Layered) -> Diagnostic:
    path, kind, context = _real_path(detail["loc"], layered.data), detail["type"], detail.get("ctx", {})
    shown, places = _spelled(path), layered.places
    code, message, hint, on_key = "GMM203", "", None, False
    if kind == "extra_forbidden":
        on_key = True
        code, message, hint = _extra_key(path, layered, detail["input"])
    elif kind == "missing":
        code = "GMM202"
        message = f"`{_spelled(path[:-1]) or 'the manifest'}` lacks the key `{path[-1]}`"
        hint = "write `version: 1` at the top" if path == ("version",) else f"add `{path[-1]}: ...`"
        path = path[:-1]
    elif kind == "not_yet":
        code, on_key = "GMM206", True
        message = f"`{shown}: {_shown(detail['input'])}` is not yet supported by this release"
        hint = _LATER.get(path) or _LATER.get(path[-1:]) or "leave the key out"
    elif detail["input"] is None or kind == "no_value":
        code, on_key = "GMM204", True
        message = f"`{shown}` has no value"
        hint = "write `version: 1`" if path == ("version",) else _EMPTY_VALUES
    elif kind == "newer_version":
        code = "GMM205"
        message = f"version {context['found']} is newer than this release reads"
        hint = "write `version: 1`, or install a release that reads it"
    elif kind == "no_source":
        code = "GMM202"
        message, hint = f"`{shown}` is no source of tools", _source_hint(detail["input"])
    elif kind in ("route_pattern", "expression"):
        code = "GMM207" if kind == "route_pattern" else "GMM208"
        message = f"`{_shown(detail['input'])}`: {context['reason']}"
    else:
        message = f"`{shown}`: {_expectation(detail)}, found {_kind(detail['input'])} `{_shown(detail['input'])}`"
        hint = _choice_hint(detail)
    return Diagnostic(code=code, message=message, hint=hint, span=places.span(path, key=on_key))


def _real_path(location: tuple[str | int, ...], data: Any) -> Path:
    """The path in the data: pydantic adds the tag of a source, and the wrapped key of a bare pattern."""
    path = list(location)
    if len(path) > 4 and path[0] == "catch_all" and path[2] == "tools":
        del path[4]
    if path[-1:] == ["match"] and path[:1] == ["routes"] and not isinstance(_value_at(path[:-1], data), dict):
        path.pop()
    return tuple(step for step in path if step != "[key]")


def _value_at(path: Iterable[str | int], data: Any) -> Any:
    for step in path:
        data = data[step]
    return data


def _extra_key(path: Path, layered: Layered, value: Any) -> tuple[str, str, str]:
    """Code, message and hint for a key that its mapping does not have."""
    key, valid = str(path[-1]), known_keys(path[:-1])
    additions = addable_keys(path[:-1]) if layered.places.is_layered(path) else ()
    place = f"`{_spelled(path[:-1])}`" if len(path) > 1 else "the manifest"
    if key in additions:
        code = "GMM204" if value is None else "GMM203"
        return code, f"`{_spelled(path)}`: expected a list, found {_kind(value)}", f"write `{key}: [...]`"
    if key in valid:  # of another kind of source
        kind = next(kind for kind in SOURCE_KEYS if kind in _value_at(path[:-1], layered.data))
        cure = "make two sources of it" if key in SOURCE_KEYS else f"leave `{key}` out"
        return "GMM301", f"`{key}` does not go with `{kind}` in {place}", cure
    guess = nearest(key, (*valid, *additions))
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(valid)}"
    return "GMM201", f"unknown key `{key}` in {place}", f"{hint} (keys of your own start with `x-`)"


def _source_hint(value: Any) -> str:
    guess = next((guess for key in value if (guess := nearest(str(key), SOURCE_KEYS))), None)
    return f"did you mean `{guess}`?" if guess else "a source is a mapping with one of the keys `file` and `name`"


def _expectation(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    kinds = {
        "literal_error": f"expected {context.get('expected', '')}",
        "model_type": "expected a mapping",
        "model_attributes_type": "expected a mapping",
        "dict_type": "expected a mapping",
        "tuple_type": "expected a list",
        "string_type": "expected a text",
        "bool_type": "expected true or false",
        "int_type": "expected a whole number",
        "too_short": "expected at least one entry",
        "dataclass_type": "expected a text",
        "greater_than_equal": f"expected at least {context.get('ge', '')}",
    }
    return kinds.get(detail["type"]) or detail["msg"][:1].lower() + detail["msg"][1:]


def _choice_hint(detail: ErrorDetails) -> str | None:
    if detail["type"] != "literal_error" or not isinstance(detail["input"], str):
        return None
    choices = [part.strip(" '") for part in detail["ctx"]["expected"].replace(" or ", ",").split(",")]
    guess = nearest(detail["input"], choices)
    return f"did you mean `{guess}`?" if guess else None


def _spelled(path: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(value: Any) -> str:
    names = {
        dict: "a mapping",
        list: "a list",
        str: "the text",
        bool: "the truth value",
        type(None): "nothing",
    }
    return names.get(type(value), "the number")

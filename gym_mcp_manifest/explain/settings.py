"""The settings of a plan beside its tools: each key of the language with its value and the layers that set it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.explain.sayings import DEFAULT, NOTHING, origins_of, sayings_of, value_at
from gym_mcp_manifest.explain.visible import WITHHELD, Visible
from gym_mcp_manifest.instance import Instance
from gym_mcp_manifest.manifest.handbook import KeyEntry, all_paths, look_up
from gym_mcp_manifest.manifest.layers import Layer
from gym_mcp_manifest.manifest.loader import Manifest

__all__ = ["Setting", "default_of", "settings_of"]

_SECTIONS = ("server", "dispatch", "skip_middleware", "routes", "sessions", "names", "limits")
_BY_CONFIGURATION = ("the instance's configuration",)


@dataclass(frozen=True, slots=True)
class Setting:
    """One key: its effective value as far as it may be shown, and the places or layers that set it, or DEFAULT."""

    path: str
    value: Any
    origins: tuple[str, ...]

    @property
    def written(self) -> bool:
        """Whether any layer wrote it."""
        return self.origins != (DEFAULT,)


def settings_of(
    base: Manifest, layers: Iterable[Layer], merged: Manifest, visible: Visible, instance: Instance
) -> tuple[Setting, ...]:
    """Every setting, in the order of the language, then those that only an instance has.

    `base` is the manifest as its file has it, `merged` the one with the layers on it.
    """
    laid = tuple(layers)
    return (*_of_language(base, laid, merged, visible), *_of_instance(instance))


def default_of(entry: KeyEntry) -> Any:
    """The language's default for a key; None where it has none by itself."""
    return json.loads(entry.default) if entry.default is not None else None


def _of_language(
    base: Manifest, layers: tuple[Layer, ...], merged: Manifest, visible: Visible
) -> Iterator[Setting]:
    for written in all_paths():
        path = tuple(written.split("."))
        if path[0] not in _SECTIONS or "[]" in written or (len(path) == 1 and path[0] in _sections()):
            continue
        (entry, *_) = look_up(written)
        if entry.later:
            continue
        value = value_at(merged.layered.data, path)
        shown = default_of(entry) if value is NOTHING else visible.effective(path, value)
        origins = origins_of(sayings_of(path, base, layers, visible), has_default=True)
        yield Setting(written, shown, origins)


def _sections() -> frozenset[str]:
    return frozenset(path.partition(".")[0] for path in all_paths() if "." in path and "[]" not in path)


def _of_instance(instance: Instance) -> Iterator[Setting]:
    """What the block says besides changes to the manifest: for whom and under which secret is nobody's to see."""
    given = {
        "mcp_manifest": instance.manifest,
        "mcp_secret": instance.secrets,
        "mcp_allowed_hosts": instance.allowed_hosts,
    }
    for key, value in given.items():
        if value:
            yield Setting(key, WITHHELD, _BY_CONFIGURATION)

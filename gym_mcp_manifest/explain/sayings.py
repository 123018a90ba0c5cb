"""What each layer says at a path of the language: the file, then the layers of the instance, the lowest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gym_mcp_manifest.explain.visible import Visible
from gym_mcp_manifest.manifest.keys import ADD, Path
from gym_mcp_manifest.manifest.layers import Layer
from gym_mcp_manifest.manifest.loader import Manifest

__all__ = ["DEFAULT", "NOTHING", "Saying", "origins_of", "sayings_of", "value_at", "written_path"]

#: The origin of what no layer says.
DEFAULT = "the language's default"

#: What is found where a path leads nowhere.
NOTHING = object()


@dataclass(frozen=True, slots=True)
class Saying:
    """What one layer says: the key's path, its place or layer, the value as far as it may be shown.

    `adds` tells that it leaves in force what lower layers say: additions to a list, and mappings, which merge.
    """

    path: str
    origin: str
    value: Any
    adds: bool = False


def sayings_of(path: Path, base: Manifest, layers: Iterable[Layer], visible: Visible) -> tuple[Saying, ...]:
    """All that is said at `path` itself; `base` is the manifest as its file has it."""
    return (*_of_file(path, base), *(saying for layer in layers for saying in _of_layer(path, layer, visible)))


def origins_of(sayings: Iterable[Saying], *, has_default: bool) -> tuple[str, ...]:
    """The origins of the value that comes out, each once."""
    origins = [DEFAULT] if has_default else []
    for saying in sayings:
        origins = [*origins, saying.origin] if saying.adds else [saying.origin]
    return tuple(dict.fromkeys(origins))


def value_at(data: Any, path: Path) -> Any:
    """The value at a path of plain data, or NOTHING."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(data, list) or not step < len(data):
                return NOTHING
        elif not isinstance(data, Mapping) or step not in data:
            return NOTHING
        data = data[step]
    return data


def written_path(path: Path) -> str:
    """The path as one writes it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = f'"{step}"' if any(letter in step for letter in ".[] '") else step
            text += f".{name}" if text else name
    return text


def _of_file(path: Path, base: Manifest) -> Iterator[Saying]:
    value = value_at(base.layered.data, path)
    if value is not NOTHING:
        yield Saying(written_path(path), base.places.origin(path), value, isinstance(value, Mapping))


def _of_layer(path: Path, layer: Layer, visible: Visible) -> Iterator[Saying]:
    last = path[-1]
    for each in (path, (*path[:-1], f"{last}{ADD}")) if isinstance(last, str) else (path,):
        value = value_at(layer.patch, each)
        if value is not NOTHING:
            adds = each != path or isinstance(value, Mapping)
            yield Saying(written_path(each), str(layer.span(each)), visible.shown(path, value), adds)

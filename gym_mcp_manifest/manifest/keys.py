"""Which keys the language knows at a path, read off the models."""

from __future__ import annotations

import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gym_mcp_manifest.manifest.fields import is_for_later
from gym_mcp_manifest.manifest.models import Language

__all__ = ["ADD", "Path", "addable_keys", "known_keys", "list_default", "section_at", "usable_keys"]

#: Keys and list indices from the manifest's root to a value.
Path = tuple[str | int, ...]

#: What a patch writes behind a list's key to append to it.
ADD = "_add"

_Model = type[BaseModel]


def section_at(path: Path) -> tuple[_Model, ...]:
    """The models that the mapping at `path` may be; several for a source, none where keys are free."""
    shapes: tuple[Any, ...] = (Language,)
    for step in path:
        shapes = tuple(inner for shape in shapes for inner in _step(shape, step))
    return tuple(shape for shape in shapes if _is_model(shape))


def known_keys(path: Path) -> tuple[str, ...]:
    """The keys that the mapping at `path` may have; empty where keys are free."""
    return tuple(dict.fromkeys(key for model in section_at(path) for key in _fields(model)))


def usable_keys(path: Path) -> tuple[str, ...]:
    """The keys of the mapping at `path` that work in this release: those worth a suggestion."""
    fields = [pair for model in section_at(path) for pair in _fields(model).items()]
    return tuple(dict.fromkeys(key for key, field in fields if not is_for_later(field)))


def addable_keys(path: Path) -> tuple[str, ...]:
    """The keys by which a patch appends to the lists of the mapping at `path`."""
    return tuple(key + ADD for key in known_keys(path) if list_default((*path, key)) is not None)


def list_default(path: Path) -> list[Any] | None:
    """For the path of a list of the language its default as a user would write it; else None."""
    if not path or not isinstance(path[-1], str):
        return None
    for model in section_at(path[:-1]):
        field = _fields(model).get(path[-1])
        if field is not None and any(get_origin(shape) is tuple for shape in _shapes(field.annotation)):
            default = field.get_default(call_default_factory=True, validated_data={})
            items = default if isinstance(default, tuple) else ()
            return [item if isinstance(item, str) else item.match.text for item in items]
    return None


def _fields(model: _Model) -> dict[str, FieldInfo]:
    """The model's fields by the keys that a manifest writes."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _step(shape: Any, step: str | int) -> tuple[Any, ...]:
    if _is_model(shape):
        fields = _fields(shape)
        return _shapes(fields[step].annotation) if step in fields else ()
    if get_origin(shape) is tuple:
        return _shapes(get_args(shape)[0])
    if get_origin(shape) is dict:
        return _shapes(get_args(shape)[1])
    return ()


def _shapes(annotation: Any) -> tuple[Any, ...]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _shapes(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return tuple(shape for part in get_args(annotation) for shape in _shapes(part))
    return () if annotation is type(None) else (annotation,)


def _is_model(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, BaseModel)

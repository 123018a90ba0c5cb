"""Annotations: what kind of value a parameter of a handler takes."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

from fastapi import params
from pydantic import BaseModel, Json, RootModel
from starlette.datastructures import UploadFile
from typing_extensions import is_typeddict

__all__ = [
    "is_dict",
    "is_json",
    "is_object",
    "is_union",
    "is_unresolved",
    "is_upload",
    "plain_fields",
    "plain_model",
    "without_none",
]


def is_object(annotation: Any) -> bool:
    """Whether its JSON form is an object with text keys: a dictionary, a model, a dataclass or a `TypedDict`."""
    annotation = without_none(annotation)
    return is_dict(annotation) or plain_model(annotation) is not None or bool(plain_fields(annotation))


def is_dict(annotation: Any) -> bool:
    """Whether it is `dict` with text keys."""
    return annotation is dict or (get_origin(annotation) is dict and get_args(annotation)[0] is str)


def is_union(annotation: Any) -> bool:
    """Whether it has several kinds of values, None among them."""
    return get_origin(annotation) in (Union, types.UnionType)


def is_unresolved(annotation: Any) -> bool:
    """Whether it is a name that means nothing where the handler is written."""
    return isinstance(without_none(annotation), (str, ForwardRef))


def plain_fields(annotation: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass or a TypedDict; none of anything else."""
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return tuple(own.name for own in dataclasses.fields(annotation))
    return tuple(annotation.__annotations__) if is_typeddict(annotation) else ()


def plain_model(annotation: Any) -> type[BaseModel] | None:
    """The model that it is, perhaps optional, whose JSON form is an object; None of anything else."""
    annotation = without_none(annotation)
    if (
        isinstance(annotation, type)
        and issubclass(annotation, BaseModel)
        and not issubclass(annotation, RootModel)
    ):
        return annotation
    return None


def without_none(annotation: Any) -> Any:
    """The annotation bare: without its marks, and without None beside one other kind."""
    if is_union(annotation):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        if len(kinds) == 1:
            return without_none(kinds[0])
    return without_none(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def is_json(info: Any) -> bool:
    """Whether the field is JSON inside of a text (pydantic's `Json`), or may be."""
    marks = [*info.metadata, *_alternatives(info.annotation)]
    return any(type(mark) is Json or mark is Json for mark in marks)


def is_upload(own: Any) -> bool:
    """Whether the parameter, or the field of a form's model, is an uploaded file."""
    info = getattr(own, "field_info", own)
    return isinstance(info, params.File) or any(
        isinstance(kind, type) and issubclass(kind, UploadFile) for kind in _kinds_within(info.annotation)
    )


def _alternatives(annotation: Any) -> Iterator[Any]:
    """What a union is made of, and the marks on that."""
    if is_union(annotation) or get_origin(annotation) is Annotated:
        for inner in get_args(annotation):
            yield from _alternatives(inner)
    else:
        yield annotation


def _kinds_within(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _kinds_within(inner)

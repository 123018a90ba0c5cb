"""The building blocks of the language's models: closed sections, keys that may be left out, keys still to come."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gym_mcp_manifest.manifest.expressions import Expression, text_meant_by
from gym_mcp_manifest.manifest.patterns import RoutePattern
from gym_mcp_manifest.manifest.references import ObjectReference

__all__ = [
    "Count",
    "Flag",
    "Given",
    "JMESPath",
    "NotYet",
    "NullOnly",
    "Pattern",
    "Reference",
    "Seconds",
    "Section",
    "is_for_later",
]

T = TypeVar("T")

Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1)]
Seconds = Annotated[
    float,
    Field(gt=0),
    BeforeValidator(lambda value: _number(value)),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("seconds", "expected a number of seconds")
    return value


class Section(BaseModel):
    """A closed mapping of the language; keys that start with `x-` belong to the user and are passed over."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        populate_by_name=False,
        defer_build=True,  # the root builds all of them; each by itself as well would take the time twice
        json_schema_extra={"patternProperties": {"^x-": {}}},
    )

    @model_validator(mode="before")
    @classmethod
    def _without_user_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if not str(key).startswith("x-")}
        return data


class _RefuseNull:
    """Makes `T | None` mean "may be left out": a written null is refused."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_not_null, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        written = handler(schema)
        kinds = [kind for kind in written.pop("anyOf", []) if kind != {"type": "null"}]
        return {**written, **kinds[0]} if len(kinds) == 1 else {**written, "anyOf": kinds} if kinds else written


def _not_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("no_value", "the key has no value")
    return value


Given = Annotated[T | None, _RefuseNull()]


class _Later:
    """A key of version 1 whose feature a later release brings: refused by name whatever its value."""

    def __init__(self, allowed: tuple[Any, ...] = ()) -> None:
        self.allowed = allowed

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._refuse)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"enum": list(self.allowed)} if self.allowed else {"not": {}}

    def _refuse(self, value: Any) -> Any:
        if any(value is default for default in self.allowed):
            return value
        raise PydanticCustomError("not_yet", "the key is not supported yet")


def is_for_later(field: FieldInfo) -> bool:
    """Whether a later release brings the field's feature."""
    return any(isinstance(mark, _Later) for mark in field.metadata)


NotYet = Annotated[Any, _Later()]
NullOnly = Annotated[Any, _Later((None,))]


def _parsed(form: Any, kind: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if isinstance(value, form):
            return value
        if not isinstance(value, str):
            hint = text_meant_by(value) if form is Expression else None
            raise PydanticCustomError("dataclass_type", "expected a text", {"hint": hint})
        try:
            return form.parse(value)
        except ValueError as error:
            context = {"reason": str(error), "hint": getattr(error, "hint", None)}
            raise PydanticCustomError(kind, "{reason}", context) from error

    return BeforeValidator(read, json_schema_input_type=str)


Pattern = Annotated[RoutePattern, _parsed(RoutePattern, "route_pattern")]
JMESPath = Annotated[Expression, _parsed(Expression, "expression")]
Reference = Annotated[ObjectReference, _parsed(ObjectReference, "reference")]

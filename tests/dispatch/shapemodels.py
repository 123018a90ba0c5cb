"""The models that the shapes of routes have in common."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, computed_field, model_validator


class Item(BaseModel):
    name: str
    note: str | None = None
    price: float = 1.5


class Special(Item):
    secret: str = "hidden"


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    city_name: str = Field(alias="cityName")
    zip_code: int | None = Field(default=None, validation_alias="zip", serialization_alias="postal")


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Colour(Enum):
    RED = "red"


class Rich(BaseModel):
    when: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    amount: Decimal = Decimal("1.10")
    colour: Colour = Colour.RED
    who: UUID = UUID(int=7)
    raw: bytes = b"raw"
    tags: set[str] = {"one"}

    @computed_field
    def doubled(self) -> Decimal:
        return self.amount * 2


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    count: int


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Checked(BaseModel):
    count: Annotated[int, AfterValidator(even)] = 0
    kind: Literal["a", "b"] = "a"

    @model_validator(mode="after")
    def _together(self) -> "Checked":
        if self.kind == "b" and not self.count:
            raise ValueError("b needs a count")
        return self


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    limit: int = 10


class Tight(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 10

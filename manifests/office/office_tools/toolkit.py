"""How a typed function becomes a tool: its signature is what the arguments are checked against."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec

from office_errors import InvalidArguments
from office_tables import OfficeTables
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model

P = ParamSpec("P")


class Tool:
    """A function over the tables, callable with the loose arguments that a model sends."""

    def __init__(self, name: str, function: Callable[..., JsonValue]) -> None:
        self.name = name
        self.arguments = _arguments_model(name, function)
        self._function = function

    def __call__(self, tables: OfficeTables, arguments: Mapping[str, object]) -> JsonValue:
        """Check the arguments, then do the work."""
        try:
            checked = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidArguments(self._explain(error)) from None
        return self._function(tables, **{name: getattr(checked, name) for name in self.arguments.model_fields})

    def _explain(self, error: ValidationError) -> str:
        problems = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        known = ", ".join(self.arguments.model_fields)
        return f"Invalid arguments for {self.name}: {problems}. It takes: {known}."


class Toolkit:
    """Tools that belong together. Each is named after the toolkit and its function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: list[Tool] = []

    def tool(
        self, function: Callable[Concatenate[OfficeTables, P], JsonValue]
    ) -> Callable[Concatenate[OfficeTables, P], JsonValue]:
        """Register a function whose first parameter is the tables, and whose others are the arguments."""
        self.tools.append(Tool(f"{self.name}_{function.__name__}", function))
        return function


def _arguments_model(name: str, function: Callable[..., JsonValue]) -> type[BaseModel]:
    _, *parameters = signature(function).parameters.values()
    fields: dict[str, Any] = {
        parameter.name: (
            parameter.annotation,
            ... if parameter.default is Parameter.empty else parameter.default,
        )
        for parameter in parameters
    }
    # Strict: a number in quotes is the model's mistake, and mending it here would hide it from the score too.
    return create_model(name, __config__=ConfigDict(strict=True, extra="forbid"), **fields)

"""JMESPath expressions of the manifest, compiled when they are read."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

__all__ = ["Expression", "ExpressionFailed"]


class ExpressionFailed(ValueError):
    """An expression that is well formed raised on the data it was given."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled JMESPath expression."""

    text: str
    _compiled: ParsedResult = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Compile an expression; ValueError says at which column it stops making sense."""
        try:
            with warnings.catch_warnings():
                # JMESPath takes `text` for `"text"`, and would rather not.
                warnings.simplefilter("ignore", PendingDeprecationWarning)
                return cls(text, jmespath.compile(text))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        except JMESPathError as error:
            raise ValueError(" ".join(str(error).split())) from error

    def search(self, data: Any) -> Any:
        """What the expression gives on `data`; ExpressionFailed where JMESPath raises (a type error, say)."""
        try:
            return self._compiled.search(data)
        except Exception as error:  # functions and comparisons of JMESPath let Python's own errors out
            raise ExpressionFailed(" ".join(str(error).split())) from error

    def holds(self, data: Any) -> bool:
        """The result by JMESPath's own truth: false, null, '', [] and {} are false, 0 is true."""
        result = self.search(data)
        return result is not None and result is not False and result not in ("", [], {})

    def __str__(self) -> str:
        return self.text

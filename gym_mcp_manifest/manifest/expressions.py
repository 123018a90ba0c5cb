"""JMESPath expressions of the manifest, compiled when they are read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.parser import ParsedResult

from gym_mcp_manifest.diagnostics import nearest

__all__ = ["BadExpression", "Expression", "ExpressionFailed", "as_yaml", "compiled", "is_true"]

#: Longest expression that is compiled; nobody writes half of it, and compiling has no bound of its own.
_MOST_LETTERS = 10_000


class BadExpression(ValueError):
    """A text is no expression: why, and as `hint` what would mend it."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(reason)


class ExpressionFailed(ValueError):
    """An expression that is well formed raised on the data it was given."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled JMESPath expression."""

    text: str
    _compiled: ParsedResult = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Compile an expression.

        Raises:
            BadExpression: it is none, or can only fail: it calls a function that does not exist.
        """
        if len(text) > _MOST_LETTERS:
            raise BadExpression(f"an expression has at most {_MOST_LETTERS:,} characters, not {len(text):,}")
        try:
            result = compiled(text)
        except RecursionError as error:
            raise BadExpression("nested too deeply") from error
        except JMESPathError as error:
            raise BadExpression(_reason(error), _advice(text)) from error
        for name, given in _calls(result.parsed):
            _check_call(text, name, given)
        return cls(text, result)

    @property
    def names(self) -> frozenset[str]:
        """Every key that the expression names; `@` where it asks for a whole."""
        return frozenset(_names(self._compiled.parsed))

    def search(self, data: Any) -> Any:
        """What the expression gives on `data`; ExpressionFailed where JMESPath raises (a type error, say)."""
        try:
            return self._compiled.search(data)
        except Exception as error:  # functions and comparisons of JMESPath let Python's own errors out
            raise ExpressionFailed(" ".join(str(error).split())) from error

    def holds(self, data: Any) -> bool:
        """Whether the result is true, by JMESPath's own truth."""
        return is_true(self.search(data))

    def __str__(self) -> str:
        return self.text


def _names(node: Any) -> Iterator[str]:
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] == "current":
        yield "@"
    for inner in node["children"]:
        yield from _names(inner)


def compiled(text: str) -> ParsedResult:
    """The expression by JMESPath itself, which raises a JMESPathError or RecursionError."""
    with warnings.catch_warnings():
        # JMESPath takes `text` for `"text"`, and would rather not.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return jmespath.compile(text)


def text_meant_by(value: Any) -> str | None:
    """For a value that stands where an expression should: what to write instead, if that is known."""
    if isinstance(value, (bool, int, float)):
        return f"write {as_yaml(f'`{json.dumps(value)}`')}"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return f"write {as_yaml(value[0])}"
    return "quote the expression" if isinstance(value, (dict, list)) else None


def as_yaml(text: str) -> str:
    """The text as a quoted YAML scalar, in the quotes that need the fewest escapes."""
    if "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _reason(error: Any) -> str:
    position, token, kind = (getattr(error, name, None) for name in ("lex_position", "token_value", "token_type"))
    if position is None:
        return "an expression is not empty"
    if token is None or kind == "EOF":
        return "the expression ends too early"
    if str(kind).startswith("UNCLOSED"):
        return f"what begins with {token[:1]} at column {position + 1} is never closed"
    return f"`{token}` cannot stand at column {position + 1}"


def _advice(text: str) -> str | None:
    # Most expressions need no advice, and what is not imported costs nothing.
    from gym_mcp_manifest.manifest.slips import mended, parts

    better = mended(text, compiled)
    if better:
        return f"write {as_yaml(better)}"
    if text.count("'") % 2 or text.count('"') % 2 or text.count("`") % 2:
        return "close the quote; where the file closes it, ` #` began a comment: quote the whole expression"
    several = parts(text) if len(text) < 500 else []
    if len(several) > 1 and all(mended(part, compiled) == part for part in several):
        return f"several expressions are a list: [{', '.join(map(as_yaml, several))}]"
    return None


def _calls(node: Any) -> Iterator[tuple[str, int]]:
    """The functions that a syntax tree calls, with how many arguments."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("type") == "function_expression":
                yield node["value"], len(node["children"])
            waiting += node.get("children", ())


def _check_call(text: str, name: str, given: int) -> None:
    known = Functions.FUNCTION_TABLE
    if name not in known:
        guess = nearest(name, known)
        better = text.replace(f"{name}(", f"{guess}(")
        hint = f"write {as_yaml(better)}" if guess else f"known are {', '.join(sorted(known))}"
        raise BadExpression(f"JMESPath has no function `{name}`", hint)
    signature = known[name]["signature"]
    many = bool(signature) and signature[-1].get("variadic")
    if given < len(signature) or (given > len(signature) and not many):
        least = "at least " if many else ""
        plural = "argument" if len(signature) == 1 else "arguments"
        raise BadExpression(f"`{name}` takes {least}{len(signature)} {plural}, not {given}")


def is_true(result: Any) -> bool:
    """The truth of a result as JMESPath has it: false, null, '', [] and {} are false, 0 is true."""
    return result is not None and result is not False and result not in ("", [], {})

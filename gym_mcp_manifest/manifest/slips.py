"""Slips in expressions: what people write who think of Python, JavaScript or JSONPath, and what they mean."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jmespath.exceptions import JMESPathError
from jmespath.lexer import Lexer

__all__ = ["Doubt", "doubts", "mended", "parts"]

_MOST_SLIPS = 12
_LONGEST = 2000  # nobody writes more by hand, and some of the searches take the square of the length
_WORDS = {"and": "&&", "or": "||", "is": "==", "is not": "!="}
_WORD = re.compile(r"(?:and|or|is\s+not|is)\b")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_LAST, _MEMBERSHIP = re.compile(r"([^\s()&|]+)\s+$"), re.compile(r"in\s+([^\s()&|]+)")
# What stands before and behind the place where reading failed, and what is meant by both together.
_SIGNS = (("==", "=", "=="), ("", "=", "=="), ("<", ">", "!="), ("", "?.", "."), ("", "$.", ""))
_QUOTES = dict.fromkeys(map(ord, "“”„‘’‚"), "'")  # noqa: RUF001 - word processors make them of quotes
_COMPARATORS = ("eq", "ne", "lt", "lte", "gt", "gte")
_ORDERS = _COMPARATORS[2:]
_CONSTANTS = {"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}
# Which argument of these functions is a text that people write out.
_TEXT_ARGUMENT = {"contains": 1, "starts_with": 1, "ends_with": 1, "join": 0}
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[\[\](){},]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HYPHENED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)+")
_INDEX_BY_NAME = re.compile(r"\[['\"]?([A-Za-z_][A-Za-z0-9_]*)['\"]?\]")

_Token = Any  # JMESPath's own: a dictionary of type, value, start and end


@dataclass(frozen=True, slots=True)
class Doubt:
    """An expression that is legal but hardly what is meant: why, and the expression that is meant, if known."""

    reason: str
    better: str | None


def mended(text: str, compiled: Callable[[str], object]) -> str | None:
    """The expression that a text which does not compile most likely means; None where nothing comes to mind.

    `compiled` raises a JMESPathError for a text that is no expression.
    """
    text = text.strip()
    for _ in range(_MOST_SLIPS if len(text) <= _LONGEST else 0):
        try:
            compiled(text)
            better = next((doubt.better for doubt in doubts(text) if doubt.better), None)
            if better is None:
                return text
        except (JMESPathError, RecursionError) as error:
            better = _without_slip(text, error)
            if better is None or better == text:
                return None
        text = better
    return None


def doubts(text: str) -> Iterator[Doubt]:
    """What a well-formed expression hardly means."""
    tokens = _tokens(text) if len(text) <= _LONGEST else []
    for index, token in enumerate(tokens):
        if token["type"] in _COMPARATORS:
            yield from _comparison_doubts(text, tokens, index)
        elif token["type"] == "lparen" and index and tokens[index - 1]["value"] in _TEXT_ARGUMENT:
            yield from _argument_doubts(text, tokens, index)


def parts(text: str) -> list[str]:
    """The text between the commas that stand outside quotes and brackets."""
    found, begin, depth = list[str](), 0, 0
    for match in _PIECE.finditer(text):
        sign = match[0]
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            found.append(text[begin : match.start()].strip())
            begin = match.end()
    return [*found, text[begin:].strip()]


def _tokens(text: str) -> list[_Token]:
    with warnings.catch_warnings():
        # JMESPath takes `text` for `"text"`, and would rather not.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return list(Lexer().tokenize(text))


def _without_slip(text: str, error: Any) -> str | None:
    """The text with the slip mended at which reading it failed."""
    at = getattr(error, "lex_position", None)
    if at is None:
        return None
    head, rest = text[:at], text[at:]
    if rest[:1] and ord(rest[0]) in _QUOTES:
        return text.translate(_QUOTES)
    if number := _NUMBER.match(rest):
        inner = f"[{number[0]}]" if head.endswith(".") else f"`{number[0]}`"
        return head.removesuffix(".") + inner + rest[number.end() :]
    if word := _WORD.match(rest):
        return head + _WORDS[" ".join(word[0].split())] + rest[word.end() :]
    if (member := _LAST.search(head)) and (whole := _MEMBERSHIP.match(rest)):
        return f"{head[: member.start()]}contains({whole[1]}, {member[1]}){rest[whole.end() :]}"
    for before, after, instead in _SIGNS:
        if head.endswith(before) and rest.startswith(after):
            return head.removesuffix(before) + instead + rest.removeprefix(after)
    return _renamed(text, at) or _negated(head, rest)


def _renamed(text: str, at: int) -> str | None:
    """A name with hyphens put in quotes, or `a['b']` as `a.b`, where one of them covers the place."""
    for match in _HYPHENED.finditer(text):
        if match.start() <= at < match.end():
            return f'{text[: match.start()]}"{match[0]}"{text[match.end() :]}'
    for match in _INDEX_BY_NAME.finditer(text):
        if match.start() <= at < match.end() and match.start():
            return f"{text[: match.start()]}.{match[1]}{text[match.end() :]}"
    return None


def _negated(head: str, rest: str) -> str | None:
    before = re.search(r"(?:^|[\s(&|])(not\s+)$", head)
    return f"{head[: before.start(1)]}!{rest}" if before else None


def _comparison_doubts(text: str, tokens: list[_Token], index: int) -> Iterator[Doubt]:
    sign = text[tokens[index]["start"] :][: len(tokens[index]["value"])]
    left, right = tokens[index - 1], tokens[index + 1]
    for token, other in ((right, left), (left, right)):
        if not _stands_alone(tokens, token):
            continue
        value, kind = token["value"], token["type"]
        if kind == "quoted_identifier" and other["type"] != "literal":
            # On the left it may be a field whose name needs the quotes.
            if token is right or (_PLAIN_NAME.fullmatch(value) and other["type"] == "unquoted_identifier"):
                yield _text_as_field(text, token)
        elif kind == "unquoted_identifier" and value in _CONSTANTS and token is right:
            meant = f"`{_CONSTANTS[value]}`"
            better = f"{text[: token['start']]}{meant}{text[token['start'] + len(value) :]}"
            yield Doubt(f"`{value}` names a field here, not the constant", better)
        elif kind == "literal" and isinstance(value, str) and tokens[index]["type"] in _ORDERS:
            yield Doubt(f"`{sign}` compares numbers only, so with a text it never holds", None)


def _argument_doubts(text: str, tokens: list[_Token], opening: int) -> Iterator[Doubt]:
    wanted = _TEXT_ARGUMENT[tokens[opening - 1]["value"]]
    depth, position = 0, 0
    for before, token, after in zip(tokens[opening:], tokens[opening + 1 :], tokens[opening + 2 :], strict=False):
        kind = token["type"]
        if kind == "comma" and not depth:
            position += 1
        elif kind in ("lparen", "lbracket", "lbrace", "filter"):
            depth += 1
        elif kind in ("rparen", "rbracket", "rbrace"):
            depth -= 1
            if depth < 0:
                return
        elif kind == "quoted_identifier" and (depth, position) == (0, wanted) and _is_between(before, after):
            yield _text_as_field(text, token)


def _is_between(before: _Token, after: _Token) -> bool:
    return before["type"] in ("lparen", "comma") and after["type"] in ("comma", "rparen")


def _text_as_field(text: str, token: _Token) -> Doubt:
    match = _QUOTED.match(text, token["start"])
    value = token["value"].replace("\\", "\\\\").replace("'", "\\'")
    better = f"{text[: match.start()]}'{value}'{text[match.end() :]}" if match else None
    return Doubt(f'"{token["value"]}" in double quotes names a field here; a text has single quotes', better)


def _stands_alone(tokens: list[_Token], token: _Token) -> bool:
    """Whether a name is all of its side of a comparison, and not a part of a path."""
    index = tokens.index(token)
    before = tokens[index - 1]["type"] if index else "eof"
    return before not in ("dot", "rbracket") and tokens[index + 1]["type"] not in (
        *("dot", "lbracket", "lbrace", "lparen", "flatten", "filter"),
    )

"""Syntax errors of YAML in words about the text instead of the parser's tokens."""

from __future__ import annotations

from typing import Any

import yaml

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.source import SourceFile

__all__ = ["syntax_finding"]

# What PyYAML says, what is said instead, and the hint. `{found}` is the word at the place, `{begin}` the word
# at the start of the construct, which then is where the finding is placed.
_COLON = "quote text that holds ': ', or check the indentation"
_UNFINISHED = "check the indentation, and quote a value that goes on behind a quote or bracket"
_NO_ESCAPE = "double the backslash, or use single quotes"
_QUOTE_FLOW = "quote text that holds , [ ] { } or ': '"
_QUOTE_SIGN = "quote a glob or other text that begins with this sign"
_WORDING: tuple[tuple[str, str, str | None], ...] = (
    ("'\\t'", "a tab stands here, but only spaces separate and indent in YAML", "replace it by spaces"),
    ("cannot start any token", "{found} cannot begin plain text", "quote the value"),
    ("could not find expected ':'", "{begin} neither is a key nor continues the value above", _COLON),
    ("mapping values are not allowed", "a ':' that ends a key cannot stand here", _COLON),
    ("sequence entries are not allowed", "a list entry cannot begin here", "give '- ' a line of its own"),
    ("mapping keys are not allowed", "a key marked by '?' cannot begin here", "write `key: value`"),
    ("expected <block end>", "{found} does not continue what was begun before", _UNFINISHED),
    ("but got '<stream end>'", "the bracket at {begin} is never closed", "close it"),
    ("expected ',' or ']'", "{found} stands where ',' or ']' should", _QUOTE_FLOW),
    ("expected ',' or '}'", "{found} stands where ',' or '}}' should", _QUOTE_FLOW),
    ("unexpected end of stream", "the quote at {begin} is never closed", "close it"),
    ("unexpected document separator", "{found} cannot begin a line of a quoted value", "indent the line"),
    ("unknown escape character", "the escape at {found} does not exist", _NO_ESCAPE),
    ("expected escape sequence of", "the escape at {found} is cut short", _NO_ESCAPE),
    ("expected alphabetic or numeric", "{begin} names no alias or anchor", _QUOTE_SIGN),
    ("while scanning a tag", "{begin} is no tag", _QUOTE_SIGN),
    ("while parsing a tag", "{begin} is no tag", _QUOTE_SIGN),
    ("undefined tag handle", "{begin} is no tag of this file", _QUOTE_SIGN),
    ("content, but found '<stream end>'", "a value or a closing bracket is missing at {found}", "add it"),
    ("expected the node content", "{found} stands where a value should", _QUOTE_FLOW),
    ("expected '<document start>'", "{found} comes after the end of the document", "delete it"),
    ("while scanning a block scalar", "{found} cannot follow '|' or '>' on its line", "begin a new line"),
    ("", "invalid YAML: {problem}", None),
)


def syntax_finding(source: SourceFile, error: yaml.MarkedYAMLError) -> Diagnostic:
    """PyYAML's complaint in words about the text instead of its tokens."""
    problem, context = error.problem or "", error.context or ""
    _, message, hint = next(entry for entry in _WORDING if entry[0] in problem or entry[0] in context)
    at_start = "{begin}" in message
    mark: Any = error.problem_mark
    other: Any = error.context_mark or mark
    place, found = source.word_at(mark.line, mark.column)
    start, begin = source.word_at(other.line, other.column)
    related = () if at_start or start == place else (("begun here", source.span(start)),)
    return Diagnostic(
        code="GMM105",
        message=message.format(found=found, begin=begin, problem=problem),
        span=source.span(start if at_start else place),
        hint=hint,
        related=related,
    )

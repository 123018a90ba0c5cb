"""Plain (unquoted) scalars by YAML 1.2: where one ends, and what it means under the core schema."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner
from yaml.tokens import ScalarToken

from gym_mcp_manifest.diagnostics import Severity

__all__ = ["MAX_DIGITS", "PythonEvents", "ScalarDoubt", "describe", "resolve_plain", "resolve_tagged"]

#: Longest number that is read, in decimal digits: the most that JSON writers built on Python can write.
MAX_DIGITS = 4300

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
# Numbers of YAML 1.1 that are strings in 1.2: underscores, base 60, base 2, signed base 16, and dates.
_OLDER_NUMBER = re.compile(
    r"[-+]?(?:[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|0b[01_]+|0x[0-9a-fA-F_]+"
    r"|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t][0-9:.,Zz+\- \t]*)?")
_TOO_LARGE = 10**MAX_DIGITS
_NUMBER_STARTS = frozenset("0123456789+-.")
_KINDS = {bool: "true or false", int: "a number", float: "a number", type(None): "null"}

_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_WORDS |= {sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")}
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)


@dataclass(frozen=True, slots=True)
class ScalarDoubt:
    """A scalar that readers take for different things, or that cannot be used; `value` stands in for it.

    `mild` marks a warning that is worth giving only for the value of a key (`enabled: y`, but not `[x, y]`).
    """

    value: object
    code: str
    message: str
    hint: str
    severity: Severity = "error"
    mild: bool = False


def _older_truth(word: str) -> ScalarDoubt:
    kind = "true" if word.lower() in ("y", "yes", "on") else "false"
    return _older(word, kind, f"quote it, or write {kind}", mild=len(word) == 1)


def _older(text: str, kind: str, hint: str, *, mild: bool = False) -> ScalarDoubt:
    message = f"{_shown(text)} is a string here, but {kind} to readers of YAML 1.1"
    return ScalarDoubt(text, "GMM117", message, hint, "warning", mild)


def _shown(text: str) -> str:
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}...`"


_WORDS |= {
    word: _older_truth(word)
    for lower in ("y", "n", "yes", "no", "on", "off")
    for word in (lower, lower.capitalize(), lower.upper())
}


def resolve_plain(text: str) -> object:
    """The value of an untagged plain scalar (None, bool, int, float or str), or a ScalarDoubt about it."""
    word = _WORDS.get(text, _WORDS)
    if word is not _WORDS:
        return word
    return _resolve_number(text) if text[0] in _NUMBER_STARTS else text


def resolve_tagged(kind: str, text: str) -> object:
    """The value of a scalar under the core tag `kind` (str, int, float, bool or null), or a ScalarDoubt."""
    if kind == "str":
        return text
    value = resolve_plain(text)
    if isinstance(value, ScalarDoubt) and value.severity == "error":
        return value
    if kind == "float" and type(value) is int:
        return _float(str(value))
    if type(value) is {"int": int, "float": float, "bool": bool, "null": type(None)}.get(kind):
        return value
    return ScalarDoubt(text, "GMM109", f"{_shown(text)} is not what the tag !!{kind} names", "leave the tag out")


def describe(value: object) -> str:
    """What a value that should have been a string is, in words."""
    return _KINDS.get(type(value), "a number")


def _resolve_number(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    # No number of that kind is longer, and these patterns may take the square of the length.
    if len(text) <= 40:
        if _OLDER_NUMBER.fullmatch(text):
            return _older(text, "a number", "quote it")
        if _DATE.fullmatch(text):
            return _older(text, "a date", "quote it")
    return text


def _integer(text: str) -> object:
    if _LEADING_ZERO.fullmatch(text):
        message = f"readers disagree on {_shown(text)}: its leading zero makes it octal, decimal or text"
        return ScalarDoubt(text, "GMM115", message, f"quote it{_spellings(text)}")
    # The length comes first: reading takes a time that grows with its square.
    if len(text.lstrip("+-")) > MAX_DIGITS:
        return _out_of_range(text)
    try:
        value = int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    except ValueError:  # the process set a lower limit of its own
        return _out_of_range(text)
    return value if value < _TOO_LARGE else _out_of_range(text)


def _spellings(text: str) -> str:
    """The clear spellings of a number with a leading zero, as the rest of a hint."""
    if len(text) > 20:
        return ""
    digits = text.lstrip("+-0") or "0"
    sign = "-" if text[0] == "-" else ""
    octal = "" if sign or set(digits) & set("89") else f" or 0o{digits} (octal)"
    return f", or write {sign}{digits} (decimal){octal}"


def _float(text: str) -> object:
    value = float(text)
    return value if math.isfinite(value) else _out_of_range(text)


def _out_of_range(text: str) -> ScalarDoubt:
    return ScalarDoubt(text, "GMM116", f"the number {_shown(text)} is out of range", "quote it if text was meant")


_SPACE = "\\0 \\t\\r\\n\x85\u2028\u2029"
_BLOCK_RUN = re.compile(rf"(?:[^{_SPACE}:]|:(?![{_SPACE}]))+")
_FLOW_RUN = re.compile(rf"(?:[^{_SPACE}:,\[\]{{}}]|:(?![{_SPACE},\[\]{{}}]))+")


class PythonEvents(Reader, Scanner, Parser):
    """PyYAML's own reader of events, with plain scalars that end where YAML 1.2 and libyaml end them.

    Without that `{description: Which city?}` is refused: PyYAML takes any `?` inside brackets for a sign.
    """

    def __init__(self, text: str) -> None:
        """Begin before the first event."""
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def scan_plain(self) -> ScalarToken:
        """The plain scalar that begins at the reader's position."""
        run = _FLOW_RUN if self.flow_level else _BLOCK_RUN
        indent, start = self.indent + 1, self.get_mark()
        end, chunks = start, list[str]()
        spaces: list[str] | None = []
        while self.peek() != "#" and (match := run.match(self.buffer, self.pointer)):
            self.allow_simple_key = False
            chunks += [*(spaces or ()), match[0]]
            self.forward(len(match[0]))
            end = self.get_mark()
            spaces = self.scan_plain_spaces(indent, start)
            if not spaces or (not self.flow_level and self.column < indent):
                break
        return ScalarToken("".join(chunks), True, start, end)

"""`gym-mcp explain CODE` and `gym-mcp explain KEY`: what they mean, without any app."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import CODES, nearest
from gym_mcp_manifest.instance.nodes import OURS
from gym_mcp_manifest.manifest.handbook import all_paths, look_up
from gym_mcp_manifest.render.console import open_console
from gym_mcp_manifest.render.handbook import code_payload, keys_payload, print_code, print_keys

__all__ = ["EXPLAIN_FORMAT", "FORMS", "print_json", "run_explain", "says_its_target", "unknown"]

#: Version of the JSON forms; it changes when a reader would have to.
EXPLAIN_FORMAT = 1

#: What can be explained, for who asked for less.
FORMS = (
    "three things can be explained: a code (gym-mcp explain GMM204), a key of the language "
    "(gym-mcp explain sessions.allow), and one thing of a target (gym-mcp explain TARGET WHAT, where WHAT is a "
    "route, a tool or a key of its manifest; or with --seed, a session)"
)

_CODE = re.compile(r"GMM\d{3}", re.IGNORECASE)


def says_its_target(word: str) -> bool:
    """Whether a word by itself can only be a TARGET, whose WHAT is missing: neither a code nor like a key."""
    if _CODE.fullmatch(word) or look_up(word):
        return False
    return "/" in word or ":" in word or Path(word).exists()


def run_explain(word: str, *, as_json: bool) -> int:
    """Explain a code or a key of the language; 1 where there is no such thing."""
    if _CODE.fullmatch(word):
        code = word.upper()
        if code not in CODES:
            return unknown(f"there is no code {code}", code, CODES)
        if as_json:
            print_json(code_payload(code))
        else:
            print_code(code, open_console())
        return 0
    entries = look_up(word)
    if not entries and word in OURS:
        return unknown(f"{word!r} is a key of the instance's block: docs/configuration.md tells of it", "", ())
    if not entries:
        return unknown(f"the language has no key {word!r}", word, _spellings())
    if as_json:
        print_json({"keys": keys_payload(entries)})
    else:
        print_keys(entries, open_console())
    name = word.rpartition(".")[2]
    guess = nearest(name, [key for entry in entries for key, _ in entry.keys])
    if guess and entries[0].path.endswith(".NAME"):
        print(f"gym-mcp: {name!r} was taken for a name; did you mean the key {guess!r}?", file=sys.stderr)
    return 0


def unknown(message: str, word: str, known: Iterable[str]) -> int:
    """Tell that there is no such thing, and which one was most likely meant; the exit code."""
    guess = nearest(word, known)
    print(f"gym-mcp: {message}" + (f"; did you mean {guess!r}?" if guess else ""), file=sys.stderr)
    return 1


def print_json(payload: dict[str, Any]) -> None:
    """Print an explanation as one JSON document."""
    print(json.dumps({"format_version": EXPLAIN_FORMAT, **payload}, indent=2, default=str))


def _spellings() -> list[str]:
    """The keys of the language as one writes them here: without indices and free names."""
    return [path.replace("[]", "").replace(".NAME", "") for path in all_paths()]

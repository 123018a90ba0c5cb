"""Strict YAML to plain data in which every key, value and alias has its place: the second step of the reader.

One pass over the parser's events builds the data and, beside them, a tree of places. libyaml reads the events
where it is installed. Whatever it refuses, or may take otherwise than PyYAML's own reader does, is read again
by the latter, so that a file gives the same data, places and findings everywhere.
"""

from __future__ import annotations

import re
from typing import Literal

import yaml

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.builder import MAX_ALIAS_NODES, MAX_DEPTH, Builder, DoubtError, FatalError
from gym_mcp_manifest.manifest.nodes import Document
from gym_mcp_manifest.manifest.scalars import PythonEvents
from gym_mcp_manifest.manifest.source import SourceFile, find_characters
from gym_mcp_manifest.manifest.syntax import syntax_finding

__all__ = ["MAX_ALIAS_NODES", "MAX_DEPTH", "Document", "Loader", "parse_document"]

Loader = Literal["libyaml", "python"]

_LIBYAML = getattr(yaml, "CSafeLoader", None)
# What YAML forbids, line ends of YAML 1.1 that are none for 1.2 and editors, and the invisible U+FEFF, which
# the readers count differently.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_HEADER_COMMENT = re.compile(r"(?:^|\s)[|>][-+0-9]*#", re.MULTILINE)


def parse_document(
    source: SourceFile, *, loader: Loader | None = None
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """The document in `source` with all that is wrong with it, by the YAML 1.2 core schema.

    The document is None where the text cannot be read to its end: for its characters, syntax, depth, aliases
    or a second document. With other errors it holds what remains: the first of two equal keys, no merge key,
    no key that is not a string, the text of an unusable scalar, None for an alias that names nothing. An
    empty file is a document whose data are None, without a finding. Never raises. `loader` is for tests.
    """
    found = find_characters(source, _UNWANTED)
    if found:
        return None, found
    document, found = _parse(source, loader)
    if not found:
        return document, ()
    # Most files need no advice, and what is not imported costs nothing.
    from gym_mcp_manifest.manifest.quoting import with_quotes

    return document, tuple(with_quotes(d, source) for d in found)


def _parse(source: SourceFile, loader: Loader | None) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    if _LIBYAML is not None and loader != "python" and not _HEADER_COMMENT.search(source.text):
        try:
            return Builder(source, trusted=False).build(_LIBYAML(source.text))
        except (DoubtError, yaml.YAMLError):
            pass
    return _build_with_python(source)


def _build_with_python(source: SourceFile) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    builder = Builder(source, trusted=True)
    events = PythonEvents(source.text)
    try:
        return builder.build(events)
    except FatalError:
        pass
    except yaml.MarkedYAMLError as error:
        builder.found.append(syntax_finding(source, error))
    except (ValueError, OverflowError):  # from numbers in escapes and directives that PyYAML does not check
        mark = events.get_mark()
        place, word = source.word_at(mark.line, mark.column)
        builder.report("GMM105", f"the number at {word} is out of range", place)
    return None, tuple(builder.found)

"""Plain data and places out of a YAML parser's events, without recursion, within bounds."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gym_mcp_manifest.diagnostics import Diagnostic, Severity, nearest
from gym_mcp_manifest.manifest.nodes import Document, Node
from gym_mcp_manifest.manifest.scalars import ScalarDoubt, describe, resolve_plain, resolve_tagged
from gym_mcp_manifest.manifest.source import Place, SourceFile

__all__ = ["MAX_ALIAS_NODES", "MAX_DEPTH", "Builder", "DoubtError", "FatalError"]

MAX_DEPTH = 64
MAX_ALIAS_NODES = 200_000
_MAX_FINDINGS = 500  # of each severity: a file of nothing but faults must not fill the memory

_Event = Any  # PyYAML's stubs call every mark and name optional, which none is where it is used here
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(_CORE + kind for kind in ("str", "int", "float", "bool", "null"))
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]|\\U0000[dD][89a-fA-F]")
_LINE_END = re.compile(r"\r\n|\n|\r")
_COMMENT = re.compile(r"(?:^|\s)#")
_DROPPED: Any = object()


class DoubtError(Exception):
    """The two readers may differ on this text."""


class FatalError(Exception):
    """The finding that was reported last ends the pass."""


class Builder:
    """Data and places out of events, without recursion."""

    def __init__(self, source: SourceFile, *, trusted: bool) -> None:
        self.source = source
        self.trusted = trusted  # the events are PyYAML's own, which have the last word
        self.found: list[Diagnostic] = []
        self.counts = {"error": 0, "warning": 0}
        self.anchors: dict[str, Node] = {}
        self.root = Node((0, 0, 0, 0), data=[], values=[])
        self.stack = [self.root]
        self.end = (0, 0)
        self.expanded = 0
        self.documents = 0
        self.has_tabs = not trusted and "\t" in source.text
        self.opaque: list[tuple[int, int]] = []  # offsets between which a tab is text
        self.has_surrogates = trusted and bool(_SURROGATE_ESCAPE.search(source.text))

    def build(self, events: Any) -> tuple[Document, tuple[Diagnostic, ...]]:
        """The document out of a parser's events; what the parser raises passes through."""
        take: dict[type[Any], Callable[[_Event], None]] = {
            ScalarEvent: self._scalar,
            AliasEvent: self._alias,
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            DocumentStartEvent: self._document,
        }
        next_event = events.get_event
        while (kind := type(event := next_event())) is not StreamEndEvent:
            if kind in take:
                take[kind](event)
        if self.has_tabs and self._has_loose_tab():
            raise DoubtError
        data = self.root.data[0] if self.root.data else None
        root = self.root.values[0] if self.root.values else self.root.place
        return Document(self.source, data, root), tuple(self.found)

    def report(
        self,
        code: str,
        message: str,
        place: Place,
        hint: str | None = None,
        *,
        severity: Severity = "error",
        related: tuple[tuple[str, Place], ...] = (),
    ) -> None:
        """Note a finding."""
        self.counts[severity] += 1
        if self.counts[severity] > _MAX_FINDINGS:
            return
        span, notes = self.source.span(place), tuple((note, self.source.span(at)) for note, at in related)
        self.found.append(
            Diagnostic(code=code, message=message, severity=severity, span=span, hint=hint, related=notes)
        )

    def _fail(self, code: str, message: str, place: Place, hint: str) -> None:
        self.report(code, message, place, hint)
        # libyaml may have read further ahead than the other reader, past what that one would refuse first.
        raise FatalError if self.trusted else DoubtError

    def _document(self, event: _Event) -> None:
        self.documents += 1
        if self.documents > 1:
            hint = "keep one document in a file: delete this `---` or what follows it"
            self._fail("GMM110", "a second document begins here", _event_place(event), hint)

    def _scalar(self, event: _Event) -> None:
        start, end = event.start_mark, event.end_mark
        place = (start.line, start.column, end.line, end.column)
        self.end = place[2:]
        top, text, style = self.stack[-1], event.value, event.style
        if style:
            if self.has_tabs and event.anchor is None and event.tag is None:
                self._note_opaque(start.index, end.index, style)
            elif self.has_surrogates and style == '"':
                text = self._without_surrogates(text, place)
        elif not text and top.flow and not self.trusted:
            raise DoubtError  # the readers place a missing value differently
        if top.keys is not None and top.key is None:
            self._scalar_key(event, text, place)
            return
        value: object = text
        if event.tag is not None:
            value = self._resolved_tag(event, text, place)
        elif not style:
            value = resolve_plain(text)
        if value.__class__ is ScalarDoubt:
            value = self._doubtful(value, place, in_mapping=top.keys is not None)
        if event.anchor is not None:
            self.anchors[event.anchor] = Node(place, value)
        self._attach(top, value, place, 1)

    def _attach(self, top: Node, value: object, node: Node | Place, size: int) -> None:
        top.size += size
        if top.keys is None:
            top.data.append(value)
            top.values.append(node)
            return
        if top.key is not _DROPPED:
            top.data[top.key] = value
            top.values[top.key] = node
        top.key = None

    def _scalar_key(self, event: _Event, text: str, place: Place) -> None:
        top = self.stack[-1]
        top.size += 1
        value: object = text
        if event.tag is not None:
            value = self._resolved_tag(event, text, place)
        elif not event.style:
            value = resolve_plain(text)
        if event.anchor is not None:
            self.anchors[event.anchor] = Node(place, text)
        if isinstance(value, ScalarDoubt):
            # What other readers take a key for is of no concern; an unusable number is still a number.
            value = text if value.severity == "warning" else 0
        if text == "<<" and not event.style and event.tag is None:
            hint = "YAML 1.2 has no merge keys: write the entries out, or use an alias for a whole value"
            self.report("GMM107", "merge key `<<`", place, hint)
            top.key = _DROPPED
        elif not isinstance(value, str):
            what = f"`{text}` is {describe(value)}" if text else "there is no key here"
            self._refuse_key(what, place, f'quote it: "{text}"')
        else:
            self._take_key(value, place)

    def _take_key(self, key: str, place: Place) -> None:
        top = self.stack[-1]
        assert top.keys is not None  # only called in a mapping
        first = top.keys.setdefault(key, place)
        if first is place:
            top.key = key
            return
        note = (("first written here", first),)
        self.report("GMM106", f"duplicate key `{key}`", place, "delete or rename one of the two", related=note)
        top.key = _DROPPED

    def _refuse_key(self, what: str, place: Place, hint: str | None) -> None:
        self.report("GMM108", f"{what}, but keys are strings", place, hint)
        self.stack[-1].key = _DROPPED

    def _doubtful(self, doubt: Any, place: Place, *, in_mapping: bool) -> object:
        if in_mapping or not doubt.mild:
            self.report(doubt.code, doubt.message, place, doubt.hint, severity=doubt.severity)
        return doubt.value

    def _alias(self, event: _Event) -> None:
        place = _event_place(event)
        self.end = place[2:]
        top, name = self.stack[-1], event.anchor
        node = self.anchors.get(name)
        if node is None or node.open:
            self._report_alias(name, place, recursive=node is not None)
            node = Node(place, _DROPPED)
        self.expanded += node.size
        if self.expanded > MAX_ALIAS_NODES:
            message = f"`*{name}` takes the aliases of this file beyond {MAX_ALIAS_NODES:,} values"
            self._fail("GMM113", message, place, "write less by alias")
        if len(self.stack) - 1 + node.height > MAX_DEPTH:
            self._fail("GMM114", f"`*{name}` nests deeper than {MAX_DEPTH} levels", place, "flatten it")
        if top.keys is not None and top.key is None:
            top.size += node.size
            self._alias_key(name, node.data, place)
            return
        top.height = max(top.height, node.height + 1)
        used = place if node.values is None else Node(place, keys=node.keys, values=node.values)
        self._attach(top, None if node.data is _DROPPED else node.data, used, node.size)

    def _alias_key(self, name: str, value: object, place: Place) -> None:
        if isinstance(value, str):
            self._take_key(value, place)
        elif value is _DROPPED:
            self.stack[-1].key = _DROPPED
        else:
            self._refuse_key(f"`*{name}` stands for {describe(value)}", place, None)

    def _report_alias(self, name: str, place: Place, *, recursive: bool) -> None:
        if recursive:
            begun = (("the value begins here", self.anchors[name].place),)
            message = f"`*{name}` stands inside the value that it names"
            self.report("GMM112", message, place, "write the value out", related=begun)
            return
        guess = nearest(name, self.anchors)
        known = f"did you mean `*{guess}`? Or " if guess else ""
        hint = f'{known}define it before with `&{name}`, or quote it if text was meant: "*{name}"'
        self.report("GMM111", f"no anchor `&{name}` is defined before this alias", place, hint)

    def _open(self, event: _Event) -> None:
        mark, stack = event.start_mark, self.stack
        line, column = mark.line, mark.column
        place = (line, column, line, column + 1)
        if len(stack) > MAX_DEPTH:
            self._fail("GMM114", f"this nests deeper than {MAX_DEPTH} levels", place, "flatten it")
        mapping = type(event) is MappingStartEvent
        node = Node(place, flow=bool(event.flow_style), open=True, height=1)
        node.data, node.values = ({}, {}) if mapping else ([], [])
        node.keys = {} if mapping else None
        if event.tag is not None and event.tag != _CORE + ("map" if mapping else "seq"):
            self._refuse_tag(event.tag, place)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        top = stack[-1]
        if top.keys is not None and top.key is None:
            node.as_key = True
            kind = "mapping" if mapping else "list"
            self._refuse_key(f"this is a {kind}", place, "quote it if text was meant")
        stack.append(node)

    def _close(self, event: _Event) -> None:
        node = self.stack.pop()
        start, end = event.start_mark, event.end_mark
        # The end of a block collection is reported where the next token begins, be it many lines below.
        if node.flow and start.index != end.index:
            self.end = (end.line, end.column)
        node.place = (*node.place[:2], *self.end)
        node.open = False
        top = self.stack[-1]
        top.height = max(top.height, node.height + 1)
        if node.as_key:
            top.size += node.size
        else:
            self._attach(top, node.data, node, node.size)

    def _resolved_tag(self, event: _Event, text: str, place: Place) -> object:
        if event.tag not in _SCALAR_TAGS:
            self._refuse_tag(event.tag, place)
            return text
        # Inside brackets the readers end a tag at different characters.
        if not self.trusted and self.stack[-1].flow:
            raise DoubtError
        return resolve_tagged(event.tag.removeprefix(_CORE), text)

    def _refuse_tag(self, tag: str, place: Place) -> None:
        # The readers disagree on which characters a tag may have.
        if not self.trusted:
            raise DoubtError
        shown = tag.replace(_CORE, "!!", 1) if tag.startswith(_CORE) else tag
        hint = "delete the tag, or quote the whole value if text was meant"
        self.report("GMM109", f"the tag `{shown}` does not fit here", place, hint)

    def _without_surrogates(self, text: str, place: Place) -> str:
        """The text with the escaped surrogate pairs of JSON joined."""
        halves = text.encode("utf-16-le", "surrogatepass")
        try:
            return halves.decode("utf-16-le")
        except UnicodeDecodeError:
            message = "this text has an escape for half of a surrogate pair"
            self.report("GMM105", message, place, "write the character itself")
            return halves.decode("utf-16-le", "replace")

    def _note_opaque(self, start: int, end: int, style: str) -> None:
        if style in "|>":
            match = _LINE_END.search(self.source.text, start)
            start = match.end() if match else end
        self.opaque.append((start, end))

    def _has_loose_tab(self) -> bool:
        """Whether a tab stands outside quotes, block scalars and comments, where libyaml lets some pass."""
        text, starts = self.source.text, [start for start, _ in self.opaque]
        at = text.find("\t")
        while at >= 0:
            before = bisect_right(starts, at) - 1
            begin = self.opaque[before][1] if before >= 0 else 0
            if at < begin:
                at = text.find("\t", begin)
                continue
            begin = max(begin, text.rfind("\n", 0, at) + 1, text.rfind("\r", 0, at) + 1)
            if not _COMMENT.search(text[begin:at]):
                return True
            match = _LINE_END.search(text, at)
            at = text.find("\t", match.end()) if match else -1
        return False


def _event_place(event: _Event) -> Place:
    start, end = event.start_mark, event.end_mark
    return start.line, start.column, end.line, end.column

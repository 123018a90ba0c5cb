"""A draft as the text of an `mcp.yaml`: every section explained, with examples to uncomment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gym_mcp_manifest.draft.records import Dispatcher, Draft, Entry, Source
from gym_mcp_manifest.manifest.yamltext import quoted

__all__ = ["draft_text"]

_WIDTH = 110
_GLOB = re.compile(r"([*?[])")

_ADVICE = """\
# For completion and checks in your editor: run `gym-mcp schema > mcp.schema.json` in this folder, then put
# `# yaml-language-server: $schema=mcp.schema.json` on the first line of this file.
"""


def draft_text(draft: Draft, schema: str | None) -> str:
    """The manifest; `schema` is the path of the language's JSON Schema from the file, where there is one."""
    sections = (
        _head(draft, schema),
        _server(draft),
        _dispatch(draft),
        _routes(draft),
        _catch_all(draft),
        _tools(draft),
        _sessions(draft),
        _names(draft),
    )
    return "\n".join("\n".join(section) + "\n" for section in sections)


def _head(draft: Draft, schema: str | None) -> Iterator[str]:
    if schema is not None:
        yield f"# yaml-language-server: $schema={schema}"
        yield "#"
    yield f"# What agents see of {_plain(draft.server)} over MCP. Whether it is exposed at all is the choice of"
    yield "# the instance: `expose_tools_over_mcp: true` in its configuration. `gym-mcp plan` shows the outcome."
    if schema is None:
        yield _ADVICE.rstrip("\n")
    yield "version: 1"


def _server(draft: Draft) -> Iterator[str]:
    yield "# What clients are told about the server besides its name, for example:"
    yield "# server:"
    yield f"#   title: {_comment(quoted(draft.server.replace('_', ' ').capitalize()))}"
    yield '#   instructions: "One paragraph that agents read before their first call."'


def _dispatch(draft: Draft) -> Iterator[str]:
    yield "# How calls run: `direct` takes plain handlers only, `route` whatever FastAPI accepts, `app` runs the"
    yield "# middleware as well. `tools` may say it for one tool."
    if draft.run_middleware:
        yield from _wrapped(f"Every call runs the app's middleware: {', '.join(draft.run_middleware)}.", "")
        yield "dispatch: app"
        return
    yield "dispatch: direct"
    yield ""
    yield "# Such calls do not pass through the app's middleware; what is left out on purpose stands here."
    if draft.skip_middleware:
        yield "# READ THIS: each of these guards or changes HTTP requests, and does nothing for MCP calls. Where"
        yield "# one checks who is calling, remove its line and leave exposure off."
        yield "skip_middleware:"
        yield from (f"  - {quoted(name)}" for name in draft.skip_middleware)
    else:
        yield "skip_middleware: []"


def _routes(draft: Draft) -> Iterator[str]:
    yield "# Typed routes: each plain POST route in `include` is a tool. A pattern is `/path`, `/group_*` (within"
    yield "# a segment) or `/group/**` (across). /seed_session, /verify and /close_session are never tools. Other"
    yield "# methods are spelled out, `GET /path`, with `dispatch: route` or `app`."
    yield "routes:"
    if draft.include:
        yield "  include:"
        yield from _entries(draft.include, "    ")
    else:
        yield "  # No route can be a tool by itself."
        yield "  include: []"
    if draft.exclude:
        yield "  # HTTP-only, with the reason why they cannot be tools. `exclude` wins over `include`."
        yield "  exclude:"
        yield from _entries(draft.exclude, "    ")
    else:
        yield "  # Routes that stay HTTP-only; wins over `include`."
        yield "  exclude: []"
    if draft.include:
        yield "  # A POST route in neither list stops the boot, so that a new one is noticed; `ignore` does not."
        yield "  unlisted: error"
    yield "  # A tool's own name: its `path`, or the name of its handler (`function`)."
    yield "  naming: path"


def _catch_all(draft: Draft) -> Iterator[str]:
    yield "# POST routes with path parameters. One of them may be a dispatcher, such as POST /{path}, which looks"
    yield "# tools up by the one text parameter in its path; the specs of these tools live in data."
    if not draft.dispatchers:
        yield "# The app has no such route. A dispatcher would be written so, for example:"
        yield "# catch_all:"
        yield "#   - route: '/{path}'"
        yield "#     tools:"
        yield "#       - file: data/tools.json"
        yield '#         select: "tools[]"'
        return
    yield "catch_all:"
    for dispatcher in draft.dispatchers:
        yield f"  - route: {quoted(dispatcher.path)}"
        yield from _source(dispatcher.source) if dispatcher.source else _ignored(dispatcher)


def _source(source: Source) -> Iterator[str]:
    yield "    tools:"
    yield "      # A path, a glob or a list of these; `select` is JMESPath to the specs (in each line of JSONL)."
    yield f"      - file: {quoted(source.file)}"
    if source.select:
        yield f"        select: {quoted(source.select)}"
    if source.exclude:
        yield "        exclude:"
        # What is no glob here must not be read as one.
        literal = (replace(entry, text=_GLOB.sub(r"[\1]", entry.text)) for entry in source.exclude)
        yield from _entries(literal, "          ")


def _ignored(dispatcher: Dispatcher) -> Iterator[str]:
    role = "HTTP-only" if dispatcher.may_dispatch else "HTTP-only, and no dispatcher"
    yield from _wrapped(f"{role}: {dispatcher.reason}.", "    ")
    if dispatcher.may_dispatch:
        yield "    # If it is one, put these lines in the place of `ignore` and name the file of its tools' specs:"
        yield "    #   tools:"
        yield "    #     - file: data/tools.json"
    yield "    ignore: true"


def _tools(draft: Draft) -> Iterator[str]:
    yield "# Tailoring: the key is a tool's name, a pattern over names, or a route; what is not said here comes"
    yield "# from the handler or the spec. `gym-mcp explain tools` shows every key."
    if draft.tools:
        yield "tools:"
        for tool in draft.tools:
            yield f"  {quoted(tool.key)}:"
            yield from _wrapped(tool.note, "    ")
            if tool.name is not None:
                yield f"    name: {quoted(tool.name)}"
            if tool.by_route:
                yield "    dispatch: route"
        return
    key, words = _example(draft)
    yield "# For example:"
    yield "# tools:"
    yield f"#   {key}:"
    yield f"#     description: {words}"
    yield "#     annotations: {readOnlyHint: true}"


def _example(draft: Draft) -> tuple[str, str]:
    words = quoted("What the tool does, for the model.")
    names = [
        name for d in draft.dispatchers if d.source for name in d.source.names if not _left_out(name, d.source)
    ]
    if draft.include:
        return quoted(draft.include[0].text.removeprefix("/")), words
    return quoted(names[0] if names else "a_tool"), words


def _left_out(name: str, source: Source) -> bool:
    return any(entry.text == name for entry in source.exclude)


def _sessions(draft: Draft) -> Iterator[str]:
    if draft.sessionless is not None:
        yield from _wrapped(f"No sessions: {draft.sessionless}.", "")
        yield "# So calls carry no token, and nothing outlives a call."
        yield "sessions:"
        yield "  mode: none"
        return
    yield "# A call is bound by its token to the session that POST /seed_session made."
    yield "sessions:"
    yield "  mode: token"
    yield "  # Rules over the seed body may narrow a session's tools; the first that applies decides, for example:"
    yield "  # allow:"
    yield "  #   - from: verifier_metadata.allowed_tools"
    yield "  #   - when: verifier_metadata.level == 'easy'"
    yield '  #     tools: ["*"]'
    yield "  # otherwise: all"


def _names(draft: Draft) -> Iterator[str]:
    if draft.sessionless is not None:
        yield "# Bounds. Larger requests to /mcp are answered 413."
        yield "limits:"
        yield "  request_bytes: 4194304"
        return
    yield "# /verify is given the tools' own names, whatever an agent recorded (mcp__server__tool)."
    yield "names:"
    yield "  normalize: true"
    yield ""
    yield "# Bounds. Larger requests to /mcp are answered 413."
    yield "limits:"
    yield "  request_bytes: 4194304"


def _entries(entries: Iterable[Entry], pad: str) -> Iterator[str]:
    for entry in entries:
        note = _comment(entry.note)
        written = f"{pad}- {quoted(entry.text)}"
        if note and len(written) + len(note) > _WIDTH:
            yield from _wrapped(entry.note, pad)
            yield written
        else:
            yield f"{written}  # {note}" if note else written


def _wrapped(text: str, pad: str) -> list[str]:
    """The text as lines of comment."""
    head = f"{pad}# "
    return textwrap.wrap(
        _comment(text),
        _WIDTH,
        initial_indent=head,
        subsequent_indent=head,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _comment(text: str) -> str:
    """The text on one line, as it may stand in a comment."""
    return _plain(" ".join(text.split()))


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)

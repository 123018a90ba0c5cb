"""Results of calls, free of any SDK: what an HTTP answer becomes for an agent."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.message import Message as HeaderMessage
from functools import lru_cache
from typing import Any

from gym_mcp_manifest.jsontext import compact, is_json_type, is_utf8, parsed
from gym_mcp_manifest.manifest.schemas import WRAPPED, reply_problem
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Answer", "CallResult", "quoted", "result_of"]

#: Rust's JSON parser, which Codex has, stops at 128 levels, pydantic's at 200; the message has some of its own.
_DEEPEST = 100

#: How zlib is told of each encoding.
_WINDOWS: Mapping[str, int] = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: status, content type and encoding (None where it has none) and body bytes."""

    status: int
    content_type: str | None
    body: bytes
    encoding: str | None = None
    #: The number of bytes after which it was cut; None for a whole one.
    cut_after: int | None = None

    def decoded(self, limit: int | None = None) -> Answer:
        """The answer as clients read it, up to `limit` bytes; of no known kind where it cannot be unpacked."""
        kinds = [kind.strip().lower() for kind in (self.encoding or "").split(",")]
        packed = [kind for kind in reversed(kinds) if kind not in ("", "identity")]
        if not packed or self.cut_after is not None:
            return self
        body, beyond = self.body, False
        try:
            for kind in packed:
                if beyond:  # still packed, so there is nothing to show of it
                    return Answer(self.status, None, b"", cut_after=limit)
                body = _unpacked(body, kind, limit)
                beyond = limit is not None and len(body) > limit
        except (KeyError, EOFError, zlib.error):
            return Answer(self.status, None, self.body)
        if beyond:
            return Answer(self.status, self.content_type, body[:limit], cut_after=limit)
        return Answer(self.status, self.content_type, body)

    def without(self, secrets: Iterable[str]) -> Answer:
        """The answer with every occurrence of these texts made unreadable, as they are and as JSON writes them."""
        body = self.body
        for secret in filter(None, secrets):
            for spelled in dict.fromkeys(
                (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
            ):
                body = body.replace(spelled.encode("utf-8"), b"***")
        return replace(self, body=body)


@dataclass(frozen=True, slots=True)
class CallResult:
    """A tool result in the wire's own terms: content blocks, structured content, error flag."""

    content: tuple[dict[str, Any], ...]
    structured: dict[str, Any] | None = None
    is_error: bool = False

    @classmethod
    def of_text(cls, text: str) -> CallResult:
        """A plain text result."""
        return cls(({"type": "text", "text": text},))

    @classmethod
    def error(cls, text: str) -> CallResult:
        """A result that tells the agent why the call failed."""
        return cls(({"type": "text", "text": text},), is_error=True)

    def as_wire(self) -> dict[str, Any]:
        """The result as `tools/call` carries it."""
        wire: dict[str, Any] = {"content": list(self.content), "isError": self.is_error}
        if self.structured is not None:
            wire["structuredContent"] = self.structured
        return wire


def result_of(answer: Answer, tool: Tool) -> CallResult:
    """What the answer of the plain HTTP route means as a tool result."""
    if answer.cut_after is not None:
        return _cut(answer, answer.cut_after, tool)
    answer = answer.decoded()
    if not 200 <= answer.status < 300:
        detail = _detail(answer)
        return CallResult.error(f"HTTP {answer.status} from {tool.method} /{tool.name}: {detail}")
    media_type, charset = _media_type(answer.content_type)
    if media_type.startswith(("image/", "audio/")) and tool.output_schema is None:
        kind = media_type.partition("/")[0]
        return CallResult(({"type": kind, "data": _base64(answer.body), "mimeType": media_type},))
    text = _text(answer.body, media_type, charset)
    if tool.output_schema is not None:
        return _structured(text if text is not None and is_json_type(media_type) else None, tool)
    if text is None:
        blob = {"uri": f"resource:///{tool.name}", "mimeType": media_type, "blob": _base64(answer.body)}
        return CallResult(({"type": "resource", "resource": blob},))
    if is_json_type(media_type):
        value = _json_value(text)
        if isinstance(value, dict):
            return CallResult(({"type": "text", "text": text},), structured=value)
        if isinstance(value, str):
            return CallResult.of_text(value)
    return CallResult.of_text(text)


def quoted(name: str) -> str:
    """A name that the client sent, in single quotes, cut and made printable."""
    shown = name if len(name) <= 200 else f"{name[:197]}..."
    inner = shown.encode("unicode_escape").decode("ascii") if not shown.isprintable() else shown
    return "'" + inner.replace("'", "\\'") + "'"


def _structured(text: str | None, tool: Tool) -> CallResult:
    """The result of a tool with an output schema, which clients check: structured content is a must."""
    value = _json_value(text) if text is not None else None
    if tool.wraps_reply and (value is not None or text == "null"):
        value = {WRAPPED: value}
    if text is None or not isinstance(value, dict):
        kind = "JSON" if tool.wraps_reply else "a JSON object"
        return CallResult.error(
            f"{tool.method} /{tool.name} answered without {kind}, which its output schema promises"
        )
    problem = reply_problem(tool.output_schema or {}, value)
    if problem:
        # A client would refuse the whole result, and the model would see nothing of it.
        return CallResult.error(
            f"{tool.method} /{tool.name} answered against its output schema ({problem}): {text}"
        )
    return CallResult(({"type": "text", "text": text},), structured=value)


def _cut(answer: Answer, limit: int, tool: Tool) -> CallResult:
    """What is left of an answer that is larger than `limits.result_bytes`: its text, and that it was cut."""
    media_type, charset = _media_type(answer.content_type)
    whole = answer.encoding in (None, "identity") and (media_type != "application/octet-stream")
    text = _decoded(answer.body, charset) if whole and _is_textual(media_type) else None
    notice = f"[cut: the answer has more than {limit} bytes, which `limits.result_bytes` allows]"
    shown = notice if text is None else f"{text.removesuffix(chr(0xFFFD))}\n{notice}"
    if not 200 <= answer.status < 300:
        return CallResult.error(f"HTTP {answer.status} from {tool.method} /{tool.name}: {shown}")
    return CallResult.of_text(shown) if tool.output_schema is None else CallResult.error(shown)


def _unpacked(body: bytes, kind: str, limit: int | None) -> bytes:
    """What is packed in the body, all members of it, up to one byte more than the limit.

    Raises:
        EOFError, zlib.error: the body is cut or broken.
        KeyError: nothing here unpacks that kind.
    """
    window = _WINDOWS[kind]
    if kind == "deflate" and body and not _has_zlib_header(body):
        window = -zlib.MAX_WBITS  # without any header, as some servers have always sent it
    unpacked = b""
    while body and (limit is None or len(unpacked) <= limit):
        unpacker = zlib.decompressobj(window)
        unpacked += unpacker.decompress(body, 0 if limit is None else limit + 1 - len(unpacked))
        if not unpacker.eof and not unpacker.unconsumed_tail:
            raise EOFError
        body = unpacker.unused_data
    return unpacked


def _has_zlib_header(body: bytes) -> bool:
    return body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def _detail(answer: Answer) -> str:
    media_type, charset = _media_type(answer.content_type)
    text = _text(answer.body, media_type, charset)
    if text is None:
        return f"{len(answer.body)} bytes of {media_type}"
    if not is_json_type(media_type):
        return text
    value = parsed(text)
    if isinstance(value, dict) and "detail" in value:
        value = value["detail"]
    elif not isinstance(value, str):
        return text
    return value if isinstance(value, str) and is_utf8(value) else compact(value).decode("utf-8")


def _json_value(text: str) -> Any:
    """The JSON value, or None where the text is none that every client could carry."""
    try:
        value = json.loads(text)
        # NaN is no JSON, whatever Python says; a lone surrogate and 1e999 are, but nothing can carry their values.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value) else None


def _is_shallow(value: Any) -> bool:
    """Whether the value nests no deeper than the parsers of SDKs and clients follow it."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


@lru_cache(maxsize=256)  # an app has few, and answers with them call after call
def _media_type(content_type: str | None) -> tuple[str, str | None]:
    if not content_type:
        return "application/octet-stream", None
    header = HeaderMessage()
    header["content-type"] = content_type
    charset = header.get_param("charset")
    return header.get_content_type(), charset if isinstance(charset, str) else None


def _text(body: bytes, media_type: str, charset: str | None) -> str | None:
    """The body as text, or None where it is none: bytes of a kind that is not written in letters."""
    if not body:
        return ""
    if media_type != "application/octet-stream" and not _is_textual(media_type):
        return None
    try:
        return body.decode(charset or "utf-8")
    except (UnicodeError, LookupError):  # a codec may refuse all text without a place in it
        return body.decode("utf-8", "replace") if _is_textual(media_type) else None


def _is_textual(media_type: str) -> bool:
    kinds = ("json", "jsonl", "xml", "yaml", "javascript", "x-ndjson", "x-www-form-urlencoded")
    return media_type.startswith("text/") or media_type.endswith(kinds)


def _base64(body: bytes) -> str:
    return base64.b64encode(body).decode("ascii")

"""What an agent must be told of an HTTP answer, what it was told, and every place where the two differ."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

import httpx

from gym_mcp_manifest.manifest.schemas import WRAPPED
from gym_mcp_manifest.plan.records import Tool

__all__ = [
    "NOTHING",
    "Difference",
    "Place",
    "Told",
    "differences",
    "ignored",
    "page_told",
    "place_text",
    "told_by_http",
    "told_by_mcp",
]

#: What an agent is told, by place: `isError`, `status`, `detail`, `structuredContent`, `text` and so on.
Told = Mapping[str, Any]
Place = tuple[str | int, ...]

#: An error in the endpoint's own words.
_REFUSED: Told = {"isError": True, "refused": True}
#: Results nested deeper than this, or that are not quite JSON, go as text alone.
_DEEPEST = 100


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


#: What stands where one side has nothing.
NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which the two answers differ, with what each has there (`NOTHING` where it has nothing)."""

    place: Place
    http: Any
    mcp: Any


def told_by_http(answer: httpx.Response, tool: Tool, *, limit: int | None = None) -> Told:
    """What the wire contract makes of an HTTP answer; of one larger than `limit` bytes only how it went."""
    cut = limit is not None and len(answer.content) > limit
    if not answer.is_success:
        whole = {"isError": True, "status": answer.status_code, "detail": _detail(answer)}
        return {"isError": True, "status": answer.status_code} if cut else whole
    if cut:
        return _REFUSED if tool.output_schema is not None else {"isError": False, "cut": True}
    kind = _media_type(answer)
    if kind.startswith(("image/", "audio/")) and tool.output_schema is None:
        return {"isError": False, "bytes": _base64(answer.content), "type": kind}
    if tool.output_schema is not None:
        return _promised(answer, tool)
    if not _is_text(answer):
        return {"isError": False, "bytes": _base64(answer.content), "type": kind}
    value = _json(answer)
    if isinstance(value, dict) and _carried(value):
        return {"isError": False, "structuredContent": value, "text": answer.text}
    is_string = isinstance(value, str) and _carried(value)
    return {"isError": False, "text": value if is_string else answer.text}


def told_by_mcp(result: Mapping[str, Any], tool: Tool, wanted: Told) -> Told:
    """What a tool result tells, in the same terms as what is `wanted` of it."""
    blocks = result.get("content", [])
    told: dict[str, Any] = {"isError": bool(result.get("isError"))}
    block = blocks[0] if len(blocks) == 1 else {}
    if "text" not in block:
        return {**told, **_bytes_told(block, blocks, wanted), **_structured(result)}
    text = block["text"]
    if not told["isError"]:
        if wanted.get("cut"):
            return {**told, "cut": True}
        return {**told, **_structured(result), "text": text}
    if wanted.get("refused"):
        return {**told, "refused": True}
    found = re.match(rf"HTTP (\d{{3}}) from {re.escape(f'{tool.method} /{tool.name}')}: ", text)
    if found is None:
        return {**told, "text": text}
    if "status" in wanted and "detail" not in wanted:
        return {**told, "status": int(found[1])}
    detail: Any = text[found.end() :]
    if not isinstance(wanted.get("detail"), str):
        detail = _parsed(detail, detail)
    return {**told, "status": int(found[1]), "detail": detail}


def page_told(answer: httpx.Response) -> Told:
    """What a read of the session says: its status and its JSON or text."""
    return {"status": answer.status_code, "body": _parsed(answer.text, answer.text)}


def differences(http: Told, mcp: Told) -> list[Difference]:
    """Every place at which the two differ, in the order of reading; where both texts are JSON, places in that."""
    found: list[Difference] = []
    for key in dict.fromkeys([*http, *mcp]):
        one, other = http.get(key, NOTHING), mcp.get(key, NOTHING)
        if isinstance(one, str) and isinstance(other, str) and one != other:
            values = _parsed(one, NOTHING), _parsed(other, NOTHING)
            inner = list(_within(*values, (key,))) if NOTHING not in values else []
            found += inner or [Difference((key,), one, other)]
        else:
            found += _within(one, other, (key,))
    return found


def ignored(place: Place, names: Iterable[str]) -> bool:
    """Whether a place is one of those named: by a key at any depth (`id`), or a path from the root (`a.b[].c`)."""
    inside = place[2:] if place[0] == "after" else place[1:]
    keys = ["[]" if isinstance(part, int) else part for part in inside]
    path = ".".join(keys).replace(".[]", "[]")
    return any(
        name in keys or path == name or (re.search(r"[.\[]", name) and path.startswith((f"{name}.", f"{name}[")))
        for name in names
    )


def place_text(place: Place) -> str:
    """The place as people write it: `structuredContent.items[2].name`."""
    written = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return written.removeprefix(".")


def _within(http: Any, mcp: Any, place: Place) -> Iterator[Difference]:
    if isinstance(http, dict) and isinstance(mcp, dict):
        for key in dict.fromkeys([*http, *mcp]):
            yield from _within(http.get(key, NOTHING), mcp.get(key, NOTHING), (*place, key))
    elif isinstance(http, list) and isinstance(mcp, list):
        for index in range(max(len(http), len(mcp))):
            one, other = (side[index] if index < len(side) else NOTHING for side in (http, mcp))
            yield from _within(one, other, (*place, index))
    elif not _same(http, mcp):
        yield Difference(place, http, mcp)


def _same(http: Any, mcp: Any) -> bool:
    if isinstance(http, bool) or isinstance(mcp, bool):
        return http is mcp
    return bool(http == mcp) or (http != http and mcp != mcp)


# What HTTP says.


def _promised(answer: httpx.Response, tool: Tool) -> Told:
    """What a tool with an output schema has to answer: its structured content, or an error."""
    value = _json(answer, NOTHING)
    fits = value is not NOTHING and _carried(value) and (tool.wraps_reply or isinstance(value, dict))
    if not fits:
        return _REFUSED
    return {
        "isError": False,
        "structuredContent": {WRAPPED: value} if tool.wraps_reply else value,
        "text": answer.text,
    }


def _detail(answer: httpx.Response) -> Any:
    if not _is_text(answer):
        return f"{len(answer.content)} bytes of {_media_type(answer)}"
    value = _json(answer)
    if isinstance(value, dict) and "detail" in value:
        return value["detail"]
    return value if isinstance(value, str) else answer.text


def _json(answer: httpx.Response, default: Any = None) -> Any:
    kind = _media_type(answer)
    return _parsed(answer.text, default) if kind == "application/json" or kind.endswith("+json") else default


def _is_text(answer: httpx.Response) -> bool:
    """Whether a body is written in letters by its type, or where it has none that tells, by its bytes."""
    kind = _media_type(answer)
    named = re.search(r"^text/|[/+](json|xml|yaml|javascript|jsonl|x-ndjson|x-www-form-urlencoded)$", kind)
    if named or not answer.content:
        return True
    try:
        return kind == "application/octet-stream" and bool(answer.content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _media_type(answer: httpx.Response) -> str:
    header = Message()
    header["content-type"] = answer.headers.get("content-type") or "application/octet-stream"
    return header.get_content_type()


def _carried(value: Any) -> bool:
    """Whether a value can go as structured content: strict JSON, in UTF-8, not too deep for clients."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError):
        return False
    return _depth(value) <= _DEEPEST


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _parsed(text: str, default: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return default


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


# What MCP says.


def _structured(result: Mapping[str, Any]) -> Told:
    value = result.get("structuredContent")
    return {} if value is None else {"structuredContent": value}


def _bytes_told(block: Mapping[str, Any], blocks: list[Any], wanted: Told) -> Told:
    """What an image, a recording or an embedded file tells; any other content is told as it is."""
    if wanted.get("cut"):
        return {"cut": True}
    if block.get("type") in ("image", "audio"):
        return {"bytes": block.get("data"), "type": block.get("mimeType")}
    resource = block.get("resource", {})
    if "blob" in resource:
        return {"bytes": resource["blob"], "type": resource.get("mimeType")}
    return {"content": blocks}

"""What must be equal between the answer of a plain HTTP route and that of the tool made of it."""

import base64
import json
from collections.abc import Mapping
from typing import Any


def assert_same(http: Any, mcp: Mapping[str, Any], route: str) -> None:
    """The contract: same status, same JSON, same text; `route` is `METHOD /<exposed name>`."""
    if not 200 <= http.status_code < 300:
        assert mcp["isError"] is True, (http.status_code, http.text, mcp)
        assert "structuredContent" not in mcp
        assert text_of(mcp) == f"HTTP {http.status_code} from {route}: {_detail(http)}"
        return
    assert mcp["isError"] is False, (http.status_code, http.text, mcp)
    value = json_of(http)
    if isinstance(value, dict) and _is_json(http):
        assert mcp["structuredContent"] == value
    else:
        assert "structuredContent" not in mcp
    _assert_same_content(http, mcp, value)


def text_of(mcp: Mapping[str, Any]) -> str:
    """The text of a result's one block."""
    (block,) = mcp["content"]
    assert block["type"] == "text", block
    return str(block["text"])


def json_of(reply: Any) -> Any:
    """The JSON value of an HTTP answer of such a type, or None."""
    if not _is_json(reply):
        return None
    try:
        return json.loads(reply.text)
    except ValueError:
        return None


def _assert_same_content(http: Any, mcp: Mapping[str, Any], value: Any) -> None:
    (block,) = mcp["content"]
    kind = _media_type(http)
    if kind.startswith(("image/", "audio/")):
        assert block["type"] == kind.partition("/")[0]
        assert block["mimeType"] == kind
        assert base64.b64decode(block["data"]) == http.content
    elif block["type"] == "resource":
        assert not kind.startswith("text/") and not _is_json(http)
        assert base64.b64decode(block["resource"]["blob"]) == http.content
    else:
        assert text_of(mcp) == (value if isinstance(value, str) else http.text)


def _detail(reply: Any) -> str:
    value = json_of(reply)
    if isinstance(value, dict) and "detail" in value:
        value = value["detail"]
    elif not isinstance(value, str):
        return str(reply.text)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _media_type(reply: Any) -> str:
    return str(reply.headers.get("content-type", "")).partition(";")[0]


def _is_json(reply: Any) -> bool:
    return _media_type(reply).endswith(("/json", "+json"))

"""The independent witness: the request that a plain HTTP client makes of a call's arguments.

It goes by the app's own OpenAPI document, as `document` reads it, and shares no code with the dispatcher and the
mapping of parameters, whose work it is to judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from gym_mcp_manifest.parity.document import Layout, Spot
from gym_mcp_manifest.plan.records import Tool

__all__ = ["NoRequest", "Question", "question_of"]

_IN_PATH = re.compile(r"{(\w+)(?::\w+)?}")
#: Characters that HTTP has no way to carry in the value of a header.
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$")
#: An argument's value, and where it stands.
_Given = tuple[Any, Spot]


class NoRequest(ValueError):
    """No plain client could send these arguments to the route."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to be sent by httpx; `path` is the route's own, decoded, with `values` in it by parameter."""

    method: str
    path: str
    url: str
    values: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    json: Any = None
    form: str | None = None
    has_json: bool = False
    json_type: str = "application/json"

    def request(
        self, base: str, jar: Mapping[str, str], more: Iterable[tuple[bytes, bytes]] = ()
    ) -> httpx.Request:
        """The request to the server at `base`: with `more` headers and a session's cookies, but no others.

        Of two cookies of one name servers take the last, here the session's.
        """
        written = "; ".join(f"{name}={value}" for name, value in (*self.cookies, *jar.items()))
        headers = [*more, *self.headers, *([(b"cookie", written.encode("latin-1"))] if written else [])]
        if self.form is not None:
            headers.append((b"content-type", b"application/x-www-form-urlencoded"))
            return httpx.Request(self.method, base + self.url, headers=headers, content=self.form)
        if not self.has_json:
            return httpx.Request(self.method, base + self.url, headers=headers)
        headers.append((b"content-type", self.json_type.encode("latin-1")))
        content = _as_json(self.json).encode("utf-8")
        return httpx.Request(self.method, base + self.url, headers=headers, content=content)


def question_of(tool: Tool, arguments: Mapping[str, Any], layout: Layout) -> Question:
    """What a plain client sends for these arguments, the manifest's defaults and fixed values among them.

    Raises:
        NoRequest: an argument is not the client's to send, has no place in the request or does not fit there.
    """
    planned = tool.arguments
    if foreign := [name for name in arguments if name in planned.withheld]:
        raise NoRequest(f"{foreign[0]!r} is not for clients to send")
    given: dict[str, dict[str, _Given]] = {}
    left_out = {
        name: value
        for name, value in planned.defaults.items()
        if not any(spelled in arguments for spelled in planned.spellings.get(name, ()))
    }
    for name, value in {**left_out, **arguments, **planned.fixed}.items():
        spot = layout.spots.get(name) or _unnamed(layout, name)
        given.setdefault(spot.place, {})[name] = value, spot
    values = _path_texts(tool, {name: value for name, (value, _) in given.get("path", {}).items()})
    url = _filled(tool, {name: _escaped(text) for name, text in values.items()})
    query = urlencode(list(_texts(given.get("query", {}))))
    body, has_json = _body(layout, {name: value for name, (value, _) in given.get("body", {}).items()})
    return Question(
        method=tool.method,
        path=_filled(tool, values),
        url=f"{url}?{query}" if query else url,
        values=values,
        headers=tuple(_header(name, text) for name, text in _texts(given.get("header", {}))),
        cookies=tuple(_cookie(name, text) for name, text in _texts(given.get("cookie", {}))),
        json=body,
        has_json=has_json,
        json_type=layout.media_type,
        form=urlencode(list(_texts(given.get("form", {})))) if layout.body == "form" else None,
    )


def _unnamed(layout: Layout, name: str) -> Spot:
    """The spot of an argument that nothing names: the body, a form or the query, where that takes it."""
    if layout.rest is None:
        raise NoRequest(f"the route takes no {name!r}")
    return Spot(layout.rest)


def _body(layout: Layout, own: Mapping[str, Any]) -> tuple[Any, bool]:
    """The JSON body, and whether there is one."""
    if layout.body == "object":
        return own, bool(own) or layout.body_required
    if len(own) > 1:
        raise NoRequest(f"the route takes no {list(own)[1]!r} beside {next(iter(own))!r}")
    return next(iter(own.values()), None), bool(own)


def _path_texts(tool: Tool, values: Mapping[str, Any]) -> dict[str, str]:
    """The texts that stand in the path, by parameter."""
    for name in _IN_PATH.findall(tool.path):
        if name not in values:
            raise NoRequest(f"{name!r} is missing, which stands in the path")
    for name, value in values.items():
        if value is None or isinstance(value, (list, dict)):
            raise NoRequest(f"{name!r} stands in the path, which has no {type(value).__name__}")
    return {name: _text(value) for name, value in values.items()}


def _filled(tool: Tool, texts: Mapping[str, str]) -> str:
    return _IN_PATH.sub(lambda match: texts.get(match[1], match[0]), tool.path)


def _escaped(text: str) -> str:
    """Escaped for the path so that it stays one piece, whatever normalizes paths on the way."""
    return quote(text, safe="").replace(".", "%2E")


def _texts(given: Mapping[str, _Given]) -> Iterator[tuple[str, str]]:
    """Names and texts as a query, a form or headers have them: a list is repeated, null is left out."""
    for name, (value, spot) in given.items():
        if spot.as_json and value is not None and not isinstance(value, str):
            yield name, _as_json(value)
            continue
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                yield name, _text(one)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _header(name: str, text: str) -> tuple[bytes, bytes]:
    if _UNFIT.search(text):
        raise NoRequest(f"{name!r} is a header, which has no such characters")
    try:
        return name.encode("latin-1"), text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise NoRequest(f"{name!r} is a header, which has no such characters") from error


def _cookie(name: str, text: str) -> tuple[str, str]:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar[name] = text
        jar[name].coded_value.encode("latin-1")
        return name, jar[name].coded_value
    except (CookieError, UnicodeEncodeError) as error:
        raise NoRequest(f"{name!r} is a cookie, which has no such characters") from error

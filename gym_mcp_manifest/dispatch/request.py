"""The request that a call makes: just what a plain client of the HTTP route would have sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from starlette._utils import get_route_path
from starlette.types import Message, Receive, Scope

from gym_mcp_manifest.jsontext import compact, is_utf8
from gym_mcp_manifest.plan.records import Tool
from gym_mcp_manifest.routes.parameters import Parameter

__all__ = ["CLIENT_GONE", "Made", "Origin", "UnsendableError", "made_request", "made_scope", "receive_body"]

_IN_PATH = re.compile(r"{([a-zA-Z_]\w*)(?::[a-zA-Z_]\w*)?}")
#: The key of an /mcp request's scope under which stands whether its client has left.
CLIENT_GONE = "gym_mcp_manifest.client_gone"

#: Methods whose requests tell their length even without a body.
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})

#: What a header's value may not have: it would end the header, or be cut off on its way.
_NO_HEADER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$")


class Departure(Protocol):
    """Somebody who may leave before the answer is there."""

    async def wait(self) -> object:
        """Wait until they have left."""
        ...


#: An argument's name as sent, its value, and its place.
_Taken = tuple[str, Any, Parameter]


class UnsendableError(ValueError):
    """No client of the HTTP route could send these arguments; the text says why."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a made request shares with the /mcp request that caused it: the connection, never its headers."""

    host: bytes = b"localhost"
    scheme: str = "http"
    http_version: str = "1.1"
    root_path: str = ""
    #: What stands before the route's own path: the root path, unless a proxy has taken it off.
    base_path: str = ""
    app_root_path: str | None = None
    #: Of the app around this one, where it is mounted: by these `url_for` makes URLs.
    router: Any = field(default=None, repr=False, compare=False)
    path_params: Mapping[str, Any] = field(default_factory=dict)
    client: tuple[str, int] | None = None
    server: tuple[str, int | None] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    #: The headers of the /mcp request, of which only those that the instance forwards are ever sent.
    headers: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False, compare=False)
    #: Set when the client of the /mcp request has left.
    gone: asyncio.Event | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, scope: Scope) -> Origin:
        """The connection of an ASGI request."""
        host = next((value for name, value in scope["headers"] if name == b"host"), b"localhost")
        path, route_path = scope["path"], get_route_path(scope)
        return cls(
            host=host,
            scheme=scope.get("scheme", "http"),
            http_version=scope.get("http_version", "1.1"),
            root_path=scope.get("root_path", ""),
            app_root_path=scope.get("app_root_path"),
            base_path=path[: len(path) - len(route_path)],
            router=scope.get("router"),
            path_params=dict(scope.get("path_params") or {}),
            client=scope.get("client"),
            server=scope.get("server"),
            state=dict(scope.get("state") or {}),
            headers=tuple(scope["headers"]),
            gone=scope.get(CLIENT_GONE),
        )


@dataclass(frozen=True, slots=True)
class Made:
    """The parts of one request that its arguments decide.

    `path` is the route's own, decoded, with `values` in it by parameter; `body` is None where there is none.
    """

    path: str
    values: Mapping[str, str]
    query: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content_type: bytes = b"application/json"


def made_request(tool: Tool, arguments: Mapping[str, Any]) -> Made:
    """The parts of the request of a call, by the tool's parameters.

    Raises:
        UnsendableError: a part of the path is missing, a value cannot stand where it belongs, nothing takes it.
    """
    left = dict(arguments)
    taken: dict[str, list[_Taken]] = {}
    for parameter in tool.parameters.named:
        for name in (parameter.name, *parameter.spellings):
            if name in left:
                taken.setdefault(parameter.place, []).append((name, left.pop(name), parameter))
    rest = tool.parameters.rest
    if rest is not None:
        taken[rest] = [
            *taken.get(rest, []),
            *((name, value, Parameter(name, rest)) for name, value in left.items()),
        ]
        left = {}
    values = {p.name: _path_text(name, value, p) for name, value, p in taken.get("path", ())}
    body, content_type = _body(tool, taken, left)
    return Made(
        path=_path(tool, values),
        values=values,
        query=urlencode(list(_pairs(taken.get("query", ())))),
        headers=tuple(_headers(taken.get("header", ()))),
        cookies=tuple(_pairs(taken.get("cookie", ()))),
        body=body,
        content_type=content_type,
    )


def _body(tool: Tool, taken: Mapping[str, list[_Taken]], left: Mapping[str, Any]) -> tuple[bytes | None, bytes]:
    shape, required, kind = tool.parameters.body, tool.parameters.body_required, b"application/json"
    if shape == "spread":
        return compact(left) if left or required else None, kind
    own = taken.get("form" if shape == "form" else "body", [])
    if left:
        raise UnsendableError(f"the route takes no argument {', '.join(map(repr, left))}")
    if shape == "form":
        return urlencode(list(_pairs(own))).encode("ascii"), b"application/x-www-form-urlencoded"
    if shape == "keys" and (own or required):
        return compact({name: value for name, value, _ in own}), kind
    return compact(own[0][1]) if shape == "whole" and own else None, kind


def _path(tool: Tool, values: Mapping[str, str]) -> str:
    for parameter in tool.parameters.named:
        if parameter.place == "path" and parameter.name not in values:
            raise UnsendableError(f"the argument {parameter.name!r} is missing, which is part of the path")
    return _IN_PATH.sub(lambda match: values.get(match[1], match[0]), tool.path)


def _path_text(name: str, value: Any, parameter: Parameter) -> str:
    if value is None or isinstance(value, (list, dict)):
        raise UnsendableError(f"the argument {name!r} is part of the path, which takes a text or a number")
    return next(_texts(value, parameter))


def _pairs(taken: Iterable[_Taken]) -> Iterator[tuple[str, str]]:
    return ((name, text) for name, value, parameter in taken for text in _texts(value, parameter))


def _texts(value: Any, parameter: Parameter) -> Iterator[str]:
    """A value as the texts that stand for it: none for null, which no request can spell, one for each entry."""
    if value is None:
        return
    if parameter.as_json and not isinstance(value, str):
        yield compact(value).decode("utf-8")
        return
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and not is_utf8(one):
            raise UnsendableError(f"the argument {parameter.name!r} has a lone surrogate, which is no letter")
        if one is not None:
            yield one if isinstance(one, str) else compact(one).decode("utf-8")


def _headers(taken: Iterable[_Taken]) -> Iterator[tuple[bytes, bytes]]:
    for name, text in _pairs(taken):
        try:
            value = text.encode("latin-1")
        except UnicodeEncodeError as error:
            raise UnsendableError(f"the argument {name!r} is a header, which has no such letters") from error
        if _NO_HEADER.search(text):
            raise UnsendableError(f"the argument {name!r} is a header, which has no line breaks or outer blanks")
        yield name.lower().encode("latin-1"), value


def _cookie_header(cookies: Iterable[tuple[str, str]], last: str | None) -> Iterator[tuple[bytes, bytes]]:
    """The header of the cookies and of one that is written already: of one name, servers take the last."""
    jar: SimpleCookie = SimpleCookie()
    for name, text in cookies:
        try:
            jar[name] = text
            jar[name].OutputString().encode("latin-1")
        except (CookieError, UnicodeEncodeError) as error:
            raise UnsendableError(f"the argument {name!r} is a cookie, which cannot hold this value") from error
    pairs = [f"{morsel.key}={morsel.coded_value}" for morsel in jar.values()]
    written = "; ".join(pairs if last is None else [*pairs, last])
    if written:
        yield b"cookie", written.encode("latin-1")


def made_scope(
    tool: Tool,
    made: Made,
    origin: Origin,
    app: Any,
    *,
    cookie: str | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> Scope:
    """The ASGI scope of the tool's request, with the session's cookie and more headers; `session` is no part."""
    path = origin.base_path + made.path
    entity: list[tuple[bytes, bytes]] = []
    if made.body is None and tool.method in _WITH_LENGTH:
        entity = [(b"content-length", b"0")]
    if made.body is not None:
        length = str(len(made.body)).encode("ascii")
        entity = [(b"content-type", made.content_type), (b"content-length", length)]
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": origin.http_version,
        "method": tool.method,
        "scheme": origin.scheme,
        "path": path,
        "raw_path": quote(path, safe="/:@!$&'()*+,;=~-._").encode("ascii"),
        "query_string": made.query.encode("ascii"),
        "root_path": origin.root_path,
        "headers": [
            (b"host", origin.host),
            *entity,
            *headers,
            *made.headers,
            *_cookie_header(made.cookies, cookie),
        ],
        "client": origin.client,
        "server": origin.server,
        "app": app,
    }
    if origin.app_root_path is not None:
        scope["app_root_path"] = origin.app_root_path
    if origin.router is not None:
        scope["router"], scope["path_params"] = origin.router, dict(origin.path_params)
    if origin.state:
        scope["state"] = dict(origin.state)
    return scope


def receive_body(body: bytes, gone: Departure) -> Receive:
    """An ASGI `receive` that hands over the body and then waits until the client has gone."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    return receive

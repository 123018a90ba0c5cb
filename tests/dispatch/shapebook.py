"""What a route shape is: a route, example arguments, the plain HTTP request for each, and who accepts it.

The shapes themselves are in `requestshapes`, `guardshapes` and `replyshapes`; `shapes` has them all. The tests run
them, and `scripts/docs.py` writes the table of `docs/dispatch.md` from them.
"""

import functools
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fastapi import FastAPI
from fastapi.testclient import TestClient

Mode = Literal["direct", "route", "app"]
MODES: tuple[Mode, ...] = get_args(Mode)
Group = Literal["Bodies", "Query, headers, cookies, path", "Handlers", "Dependencies and guards", "Replies"]
GROUPS: tuple[Group, ...] = get_args(Group)
Ran = Callable[[], None]
#: Puts the shape's route into an app, so that each run of its handler is told.
Register = Callable[[FastAPI, Ran], Any]

NOTHING: Any = object()


@dataclass(frozen=True)
class Case:
    """Arguments of a call, and the request that a plain HTTP client sends for them."""

    arguments: Mapping[str, Any]
    modes: tuple[Mode, ...] = MODES
    path: str | None = None
    params: Any = None
    body: Any = NOTHING
    form: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | list[tuple[str, str]] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    def send(self, client: TestClient, method: str, path: str) -> Any:
        """The response to the plain request."""
        headers = list(self.headers.items() if isinstance(self.headers, Mapping) else self.headers)
        content: bytes | None = None
        if self.body is not NOTHING:
            content = json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()
            headers = [("content-type", "application/json"), *headers]
        for name, value in self.cookies.items():
            client.cookies.set(name, value)
        more: dict[str, Any] = {"data": self.form} if self.form is not None else {}
        return client.request(
            method,
            self.path or path,
            params=self.params,
            content=content,
            headers=headers,
            follow_redirects=False,
            **more,
        )


@dataclass(frozen=True)
class Shape:
    """One kind of route; `refused` has the words of the reason by the modes that do not accept it."""

    name: str
    title: str
    group: Group
    register: Register
    cases: tuple[Case, ...]
    route: str = "POST /tool"
    tool: str = "tool"
    refused: Mapping[Mode, str] = field(default_factory=dict)
    #: Why the route can be no tool in any mode; the boot goes on without it.
    excluded: str | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The route's method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The route's path."""
        return self.route.partition(" ")[2]

    def manifest_for(self, mode: Mode) -> dict[str, Any]:
        """The manifest that makes the route a tool of this mode."""
        naming = {"naming": "function"} if "{" in self.path or "/" in self.path[1:] else {}
        routes = {"include": [self.route], **naming} if not self.excluded else {}
        return {"version": 1, "dispatch": mode, "routes": routes, **self.manifest}


SHAPES: list[Shape] = []


def sent(*arguments: Mapping[str, Any], modes: tuple[Mode, ...] = MODES) -> tuple[Case, ...]:
    """Cases whose arguments are the JSON body, each on its own."""
    return tuple(Case(one, body=one, modes=modes) for one in arguments)


def bare(*arguments: Mapping[str, Any]) -> tuple[Case, ...]:
    """Cases whose arguments are the query string, each on its own."""
    return tuple(Case(one, params=one) for one in arguments)


def shape(
    title: str,
    *cases: Case,
    group: Group,
    route: str = "POST /tool",
    direct: str | None = None,
    everywhere: str | None = None,
    **settings: Any,
) -> Callable[[Any], Any]:
    """Makes a handler a shape; `direct` and `everywhere` are the words with which modes refuse it."""

    def add(handler: Any) -> Any:
        method, _, path = route.partition(" ")

        def register(app: FastAPI, ran: Ran) -> None:
            app.api_route(path, methods=[method], **settings)(counted(handler, ran))

        # A name for the tool where the path gives none is the handler's.
        named = handler.__name__ if "{" in path or "/" in path[1:] else path[1:]
        _add(handler.__name__, title, group, register, cases, route, named, direct, everywhere)
        return handler

    return add


def built(
    title: str,
    *cases: Case,
    group: Group,
    route: str = "POST /tool",
    tool: str = "tool",
    direct: str | None = None,
    everywhere: str | None = None,
    skipping: str | None = None,
    excluded: str | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Callable[[Register], Register]:
    """Makes a function that puts a route into an app a shape; `skipping` refuses `direct` and `route`."""

    def add(register: Register) -> Register:
        _add(
            register.__name__,
            title,
            group,
            register,
            cases,
            route,
            tool,
            direct or skipping,
            everywhere,
            skipping,
            excluded,
            manifest,
        )
        return register

    return add


def _add(
    name: str,
    title: str,
    group: Group,
    register: Register,
    cases: tuple[Case, ...],
    route: str,
    tool: str,
    direct: str | None,
    everywhere: str | None,
    skipping: str | None = None,
    excluded: str | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> None:
    words: dict[Mode, str | None] = {
        "direct": direct or everywhere,
        "route": skipping or everywhere,
        "app": everywhere,
    }
    refused: dict[Mode, str] = {mode: reason for mode, reason in words.items() if reason}
    kept = cases or (Case({}),)
    SHAPES.append(
        Shape(name, title, group, register, kept, route, tool, refused, excluded=excluded, manifest=manifest or {})
    )


def counted(handler: Callable[..., Any], ran: Ran) -> Callable[..., Any]:
    """The handler, of the same kind and signature, telling each of its runs."""
    if inspect.isasyncgenfunction(handler):

        async def yields(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            ran()
            async for item in handler(*args, **kwargs):
                yield item

        return functools.wraps(handler)(yields)
    if inspect.iscoroutinefunction(handler):

        async def answers(*args: Any, **kwargs: Any) -> Any:
            ran()
            return await handler(*args, **kwargs)

        return functools.wraps(handler)(answers)
    if inspect.isgeneratorfunction(handler):

        def iterates(*args: Any, **kwargs: Any) -> Iterator[Any]:
            ran()
            yield from handler(*args, **kwargs)

        return functools.wraps(handler)(iterates)

    def blocks(*args: Any, **kwargs: Any) -> Any:
        ran()
        return handler(*args, **kwargs)

    return functools.wraps(handler)(blocks)

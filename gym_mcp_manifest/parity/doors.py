"""The two doors of a running server: one case through each, in a session of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any

import httpx

from gym_mcp_manifest.endpoint.client import connect
from gym_mcp_manifest.errors import ManifestError
from gym_mcp_manifest.parity.cases import Case
from gym_mcp_manifest.parity.compare import Told, page_told, told_by_http, told_by_mcp
from gym_mcp_manifest.parity.document import Document, Documents, KeptBack, asked_schema, layout_of
from gym_mcp_manifest.parity.witness import NoRequest, question_of
from gym_mcp_manifest.plan.records import ExposurePlan, Tool
from gym_mcp_manifest.routes.harvest import HarvestedRoute, serving_route

__all__ = ["Doors", "NoAnswer", "Read", "SeedFailed"]

#: What an agent is told where its arguments make no request, or none that the tool's route serves.
_REFUSED: Told = {"isError": True, "refused": True}
_NOT_FOUND: Told = {"isError": True, "status": 404}


class SeedFailed(ManifestError):
    """A session for a case cannot be had."""


class NoAnswer(Exception):
    """The route has not answered in time."""


@dataclass(frozen=True, slots=True)
class Read:
    """A request that shows what a session has become."""

    method: str
    path: str
    body: Any = None


@dataclass(slots=True)
class _Session:
    cookies: dict[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Doors:
    """Sends cases to the server at `base`, which runs the app of the plan.

    `headers` are those that the instance gives the requests of calls, `forwarded` those that clients send through
    both doors; `seconds` bound every answer. `documents` tell how plain requests are made, by the routes of the
    tools, and `kept_back` which parameters no argument of a client decides.
    """

    def __init__(
        self,
        base: str,
        http: httpx.AsyncClient,
        plan: ExposurePlan,
        routes: tuple[HarvestedRoute, ...],
        documents: Documents,
        *,
        kept_back: KeptBack = frozenset(),
        after: Read | None = None,
        headers: Iterable[tuple[str, str]] = (),
        forwarded: Iterable[tuple[str, str]] = (),
        seconds: float = 60,
    ) -> None:
        self._base = base
        self._http = http
        self._plan = plan
        self._routes = routes
        self._documents = documents
        self._kept_back = kept_back
        self._after = after
        self._headers = tuple(headers)
        self._forwarded = tuple(forwarded)
        self._seconds = min(seconds, plan.language.limits.call_timeout or seconds)
        self._closes = plan.uses_tokens and serving_route(routes, "POST", "/close_session") is not None
        self._listed: dict[str, frozenset[str]] = {}

    def asked_schema(self, tool: Tool) -> Mapping[str, Any]:
        """The schema of what may be asked of the tool's route."""
        return asked_schema(tool, self._document(tool), self._kept_back)

    def _document(self, tool: Tool) -> Document | None:
        return self._documents.get((tool.method, tool.route))

    async def listed(self, case: Case) -> frozenset[str]:
        """The tools that the case's session may call."""
        key = json.dumps(case.seed, sort_keys=True)
        if key not in self._listed:
            session = await self._seeded(case)
            async with connect(f"{self._base}/mcp", session.headers) as client:
                self._listed[key] = frozenset(tool["name"] for tool in await client.list_tools())
            await self._left(session)
        return self._listed[key]

    async def by_http(self, case: Case, tool: Tool) -> Told:
        """What the plain route's answer to the case is to an agent, and what its session shows afterwards.

        Raises:
            NoAnswer: there was none in time.
        """
        session = await self._seeded(case)
        told = await self._asked(case, tool, session)
        return {**told, **await self._left(session)}

    async def by_mcp(self, case: Case, tool: Tool, wanted: Told) -> Told:
        """What the tool tells the case's agent, in the terms of what is wanted, and what its session shows."""
        session = await self._seeded(case)
        told: Told
        try:
            async with asyncio.timeout(self._seconds):
                async with connect(f"{self._base}/mcp", session.headers) as client:
                    result = await client.call_tool(tool.name, case.arguments)
            told = told_by_mcp(result, tool, wanted)
        except TimeoutError:
            told = {"isError": True, "failed": f"no answer within {self._seconds:g} s"}
        except Exception as error:  # whatever the client makes of an answer that it does not understand
            told = {"isError": True, "failed": _first_of(error)}
        return {**told, **await self._left(session)}

    async def _asked(self, case: Case, tool: Tool, session: _Session) -> Told:
        try:
            layout = layout_of(tool, self._document(tool), self._kept_back)
            question = question_of(tool, case.arguments, layout)
        except NoRequest:
            return _REFUSED
        serving = serving_route(self._routes, question.method, question.path) if question.values else None
        if serving is not None:
            match = serving.regex.match(question.path) if serving.regex else None
            if serving.path != tool.route or match is None or match.groupdict() != question.values:
                return _NOT_FOUND  # another route's business, to which no value of this tool may lead
        try:
            more = (*(self._headers if tool.dispatch != "direct" else ()), *self._forwarded)
            encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in more]
            answer = await self._send(question.request(self._base, session.cookies, encoded), session)
        except httpx.TransportError as error:
            if isinstance(error, httpx.TimeoutException):
                raise NoAnswer from error
            return {"isError": True, "broken": True}
        if question.values and serving is None and answer.is_redirect:
            return _NOT_FOUND
        return told_by_http(answer, tool, limit=self._plan.language.limits.result_bytes)

    async def _seeded(self, case: Case) -> _Session:
        session = _Session(headers=dict(self._forwarded))
        if not self._plan.uses_tokens:
            return session
        what = f"the seed of {case.place}" if case.place else "the seed"
        answer = await self._post("/seed_session", case.seed, session)
        if not answer.is_success:
            cure = "" if case.place else "; give the body that it wants with --seed"
            raise SeedFailed(
                f"{what}: POST /seed_session answered {answer.status_code}: {answer.text[:500]}{cure}"
            )
        body = answer.json() if "json" in answer.headers.get("content-type", "") else {}
        metadata = body.get("mcp") or body.get("resources_tools") if isinstance(body, dict) else None
        if not isinstance(metadata, dict):
            raise SeedFailed(f"{what}: the reply of POST /seed_session hands out no session token")
        session.headers = {**session.headers, **metadata.get("headers", {})}
        return session

    async def _left(self, session: _Session) -> Told:
        """What the session shows, before it is closed where the app knows how."""
        shown: Told = {}
        if self._after is not None:
            request = httpx.Request(
                self._after.method,
                self._base + self._after.path,
                headers=_cookie_header(session.cookies),
                **({} if self._after.method == "GET" else {"json": self._after.body}),
            )
            try:
                shown = {"after": page_told(await self._send(request, session))}
            except httpx.TransportError as error:
                shown = {"after": {"failed": type(error).__name__}}
        if self._closes:
            await self._post("/close_session", {}, session)
        return shown

    async def _post(self, path: str, body: Any, session: _Session) -> httpx.Response:
        request = httpx.Request("POST", self._base + path, headers=_cookie_header(session.cookies), json=body)
        try:
            return await self._send(request, session)
        except httpx.TransportError as error:
            raise SeedFailed(f"POST {path} was not answered: {type(error).__name__}") from error

    async def _send(self, request: httpx.Request, session: _Session) -> httpx.Response:
        request.extensions["timeout"] = httpx.Timeout(self._seconds).as_dict()
        answer = await self._http.send(request)
        for line in answer.headers.get_list("set-cookie"):
            _keep(line, session.cookies)
        return answer


def _cookie_header(cookies: Mapping[str, str]) -> dict[str, str]:
    written = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return {"cookie": written} if written else {}


def _keep(line: str, cookies: dict[str, str]) -> None:
    """Keep a cookie that the server sets, `Secure` ones included; drop the one that it takes back."""
    try:
        parsed = SimpleCookie(line)
    except CookieError:
        return
    for name, morsel in parsed.items():
        if morsel["max-age"] == "0" or _is_past(morsel["expires"]):
            cookies.pop(name, None)
        else:
            cookies[name] = morsel.coded_value


def _is_past(expires: str) -> bool:
    try:
        return bool(expires) and parsedate_to_datetime(expires).timestamp() <= 0
    except ValueError:
        return False


def _first_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"

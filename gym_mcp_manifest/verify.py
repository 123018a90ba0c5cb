"""`POST /verify`: recorded tool-call names are normalized in what the handler sees, and restored in its echo."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from gym_mcp_manifest.exchange import HeldReply, read_body, replay, with_body_length
from gym_mcp_manifest.jsontext import compact, parsed
from gym_mcp_manifest.plan.aliases import AliasTable

__all__ = ["Verifier"]

#: What identifies a call: its name as the handler sees it, and its call id.
_Key = tuple[str, str]
#: Index in `response.output` -> the call there, and its recorded name.
_Calls = dict[int, tuple[_Key, str]]


@dataclass(frozen=True, slots=True)
class Verifier:
    """Normalizes the names of one server's tools; a request in which nothing changes passes byte for byte."""

    aliases: AliasTable
    restore: bool

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one verify request through `app`, the rest of the stack."""
        body = await read_body(receive)
        if body is None:
            return
        request = parsed(body)
        calls = self._normalize(request)
        if all(own == recorded for (own, _), recorded in calls.values()):
            await app(scope, replay(body, receive), send)
            return
        # Escaped text carries even a lone surrogate.
        normalized = json.dumps(request, separators=(",", ":")).encode("ascii")
        if self.restore:
            sent = len(_output_of(request))
            send = HeldReply(send, lambda held: _restored(held, calls, sent))
        await app(with_body_length(scope, len(normalized)), replay(normalized, receive), send)

    def _normalize(self, request: Any) -> _Calls:
        calls: _Calls = {}
        for index, item in enumerate(_output_of(request)):
            if _is_call(item):
                recorded = item["name"]
                item["name"] = self.aliases.own_name(recorded)
                calls[index] = _key(item), recorded
        return calls


def _restored(body: bytes, calls: _Calls, sent: int) -> bytes | None:
    """The echo with the recorded names; None where it holds none of the items.

    An item is known by its place where as many items are echoed as were `sent`, and else by its name and call
    id, as long as these leave no doubt.
    """
    reply = parsed(body)
    echoed = _output_of(reply)
    recorded_names: dict[_Key, set[str]] = {}
    for key, recorded in calls.values():
        recorded_names.setdefault(key, set()).add(recorded)
    changed = False
    for index, item in enumerate(echoed):
        if not _is_call(item):
            continue
        key, place = _key(item), calls.get(index)
        known = {place[1]} if place and place[0] == key and len(echoed) == sent else recorded_names.get(key, set())
        if len(known) == 1 and item["name"] not in known:
            (item["name"],) = known
            changed = True
    return compact(reply) if changed else None


def _key(item: dict[str, Any]) -> _Key:
    return item["name"], json.dumps(item.get("call_id"))


def _output_of(message: Any) -> list[Any]:
    response = message.get("response") if isinstance(message, dict) else None
    output = response.get("output") if isinstance(response, dict) else None
    return output if isinstance(output, list) else []


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call" and isinstance(item.get("name"), str)

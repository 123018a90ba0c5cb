"""The app's middleware: what direct calls reproduce or would skip, and the key that signs sessions."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.sessions import SessionMiddleware

from gym_mcp_manifest.instance.headers import RequestHeaders

__all__ = [
    "InstalledMiddleware",
    "has_middleware",
    "installed_middleware",
    "is_kept",
    "is_session_layer",
    "kept_back",
    "place_inside_sessions",
    "session_cookie",
    "session_secret",
]


#: Where NeMo Gym's middleware is: session ids, the texts of exceptions, and the end of calls whose client left.
_HARNESS = "nemo_gym.server_utils"

#: Stack builders that guard nothing: ours, and the instrumentor's, which records requests.
_HARMLESS_BUILDERS = ("gym_mcp_manifest.", "opentelemetry.instrumentation.")


@dataclass(frozen=True, slots=True)
class InstalledMiddleware:
    """One middleware of the app under the dotted name that `skip_middleware` matches."""

    name: str
    is_session: bool
    #: Calls that leave the app's middleware out run this one all the same.
    is_kept: bool = False


def installed_middleware(app: FastAPI, ours: Iterable[Any] = ()) -> tuple[InstalledMiddleware, ...]:
    """The app's middleware, outermost first, without the layers in `ours`.

    What replaces the app's `build_middleware_stack` can put anything around it, so it counts as middleware.
    """
    own = tuple(ours)
    listed = [
        InstalledMiddleware(_dotted_name(entry), is_session_layer(entry), is_kept(entry))
        for entry in app.user_middleware
        if _class_of(entry) not in own
    ]
    override = vars(app).get("build_middleware_stack")
    name = _builder_name(override) if override is not None else ""
    if name and not name.startswith(_HARMLESS_BUILDERS):
        listed.insert(0, InstalledMiddleware(name, is_session=False))
    if type(app).__call__ is not FastAPI.__call__:
        # An app of its own kind may guard requests before it builds or runs any stack.
        listed.insert(0, InstalledMiddleware(f"{_name_of(type(app))}.__call__", is_session=False))
    return tuple(listed)


def is_session_layer(entry: Middleware) -> bool:
    """Whether it is Starlette's own session middleware."""
    return _class_of(entry) is SessionMiddleware


def is_kept(entry: Middleware) -> bool:
    """Whether it is a harness's own, which tells how requests fail, and so belongs to the answer."""
    return _dotted_name(entry).rpartition(".")[0].startswith(_HARNESS)


def has_middleware(app: FastAPI, layer: Any) -> bool:
    """Whether the layer is among the app's middleware."""
    return any(_class_of(entry) is layer for entry in app.user_middleware)


def place_inside_sessions(app: FastAPI, layer: Any) -> None:
    """Move the app's entry for `layer` to just inside its session middleware, where there is one.

    What stands between the two may hand a reply on later than it takes it, and then what the layer lays into the
    session for its cookie comes too late.
    """
    entries = app.user_middleware
    own = next(entry for entry in entries if _class_of(entry) is layer)
    others = [entry for entry in entries if entry is not own]
    sessions = [n for n, entry in enumerate(others) if _is_session_kind(entry)]
    place = sessions[-1] + 1 if sessions else len(others)
    entries[:] = [*others[:place], own, *others[place:]]


def session_secret(app: FastAPI) -> str | None:
    """The key of the app's session middleware, or None where it has none."""
    entry = _innermost_session(app)
    return _session_key(entry) if entry is not None else None


def session_cookie(app: FastAPI) -> tuple[str, str] | None:
    """Name and key of the cookie of Starlette's own session middleware, or None where the app has none."""
    entry = _innermost_session(app)
    key = _session_key(entry) if entry is not None and is_session_layer(entry) else None
    if entry is None or key is None:
        return None
    given = dict(zip(("secret_key", "session_cookie"), entry.args, strict=False))
    return str({**given, **entry.kwargs}.get("session_cookie", "session")), key


def kept_back(app: FastAPI, headers: RequestHeaders) -> frozenset[tuple[str, str]]:
    """Places and names (headers' in lower case) of what the instance and the session send, and no argument."""
    cookie = session_cookie(app)
    return frozenset([*(("header", name) for name in headers.names), *([("cookie", cookie[0])] if cookie else [])])


def _innermost_session(app: FastAPI) -> Middleware | None:
    """The session middleware whose session handlers see: of several, the last in the way."""
    return next((entry for entry in reversed(app.user_middleware) if _is_session_kind(entry)), None)


def _session_key(entry: Middleware) -> str | None:
    arguments: dict[str, Any] = dict(entry.kwargs)
    key = arguments.get("secret_key", entry.args[0] if entry.args else None)
    return str(key) if key else None


def _is_session_kind(entry: Middleware) -> bool:
    cls = _class_of(entry)
    return isinstance(cls, type) and issubclass(cls, SessionMiddleware)


def _class_of(entry: Middleware) -> Any:
    return entry.cls


def _dotted_name(entry: Middleware) -> str:
    thing = _class_of(entry)
    if thing is BaseHTTPMiddleware:
        thing = entry.kwargs.get("dispatch") or (entry.args[0] if entry.args else thing)
    return _name_of(thing)


def _builder_name(builder: Any) -> str:
    """Where a stack builder is really written: wrappers like to go by the name of what they wrap."""
    function = getattr(builder, "__func__", builder)
    code, module = getattr(function, "__code__", None), getattr(function, "__globals__", {}).get("__name__")
    if code is None or module is None:
        return _name_of(function)
    return f"{_real_module(module)}.{code.co_qualname.replace('<locals>.', '')}"


def _name_of(thing: Any) -> str:
    thing = getattr(thing, "func", thing)
    name = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return f"{_real_module(module)}.{name.replace('<locals>.', '')}"


def _real_module(module: str) -> str:
    if module not in ("__main__", "__mp_main__"):
        return module
    main = sys.modules.get(module)
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name.removesuffix(".__main__"))
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else module

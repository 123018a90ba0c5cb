"""Live objects that a manifest refers to: of the app, of its server, or of a module."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Coroutine, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, is_dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel

from gym_mcp_manifest.diagnostics import nearest
from gym_mcp_manifest.manifest.models import PythonSource
from gym_mcp_manifest.manifest.references import ObjectReference

__all__ = ["source_data"]

#: More entries than any list of tools has: what gives more may never end.
_MOST = 100_000


class _NoDataError(ValueError):
    """What an object gives is no data; the text says why."""


def source_data(source: PythonSource, app: FastAPI) -> Any:
    """What a `python:` source gives, as plain data; a callable is called once, and awaited if need be.

    Raises:
        ValueError: the object cannot be found, its call fails, or it is no data.
    """
    value = _found(source.python, app)
    if callable(value):
        value = _called(value, source)
    elif source.args or source.kwargs:
        raise ValueError(f"it is no callable but {type(value).__name__}, so `args` and `kwargs` have no effect")
    try:
        return _plain(value)
    except _NoDataError:
        raise
    except KeyboardInterrupt:
        raise
    except RecursionError as error:
        raise ValueError("it contains itself, or is nested too deeply") from error
    except BaseException as error:  # code of the server's runs while what it gives is read
        raise ValueError(f"reading what it gives raises {_reason(error)}") from error


def _found(reference: ObjectReference, app: FastAPI) -> Any:
    if reference.holder == "app":
        # A server whose code is app.py calls its module so as well; what the app does not have is sought there.
        first = reference.attribute.partition(".")[0]
        running = None if hasattr(app, first) else _running_module("app")
        value: Any = app if running is None else running
    elif reference.holder == "server":
        value = _server_of(app)
    else:
        value = _module(reference.holder)
    for name in reference.attribute.split("."):
        try:
            value = getattr(value, name)
        except AttributeError as error:
            names = [known for known in dir(value) if not known.startswith("_")]
            guess = nearest(name, names)
            cure = f"; did you mean `{guess}`?" if guess else ""
            raise ValueError(f"{_shown(value)} has no attribute {name!r}{cure}") from error
        except Exception as error:
            raise ValueError(f"{name!r} raises {_reason(error)}") from error
    return value


def _server_of(app: FastAPI) -> Any:
    """The one object whose methods are the app's handlers."""
    servers: dict[int, Any] = {}
    for context in iter_route_contexts(app.routes):
        owner = getattr(inspect.unwrap(context.endpoint), "__self__", None) if context.endpoint else None
        if owner is not None and not isinstance(owner, (ModuleType, type, FastAPI)):
            servers[id(owner)] = owner
    if len(servers) == 1:
        return next(iter(servers.values()))
    kinds = ", ".join(sorted({type(server).__name__ for server in servers.values()}))
    raise ValueError(
        f"the handlers are methods of several objects ({kinds}); refer to a module instead"
        if servers
        else "no handler of the app is a method of a server object; refer to `app:` or to a module"
    )


def _module(name: str) -> ModuleType:
    """The module of this name, the running one where there is one: the app's own may run as `__main__`."""
    running = _running_module(name)
    if running is not None:
        return running
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"the module {name!r} cannot be imported: {_reason(error)}") from error


def _running_module(name: str) -> ModuleType | None:
    return sys.modules.get(name) or _main_module(name)


def _main_module(name: str) -> ModuleType | None:
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        own = spec.name.removesuffix(".__main__")
        return main if name in (spec.name, own) else None
    file = getattr(main, "__file__", None)
    return main if file is not None and Path(file).stem == name.rpartition(".")[2] else None


def _called(value: Any, source: PythonSource) -> Any:
    try:
        result = value(*source.args, **source.kwargs)
        return _awaited(_as_coroutine(result)) if inspect.isawaitable(result) else result
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the server's code raises, the boot is refused in words
        raise ValueError(f"the call raises {_reason(error)}") from error


async def _as_coroutine(awaitable: Any) -> Any:
    return await awaitable


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # The boot itself runs in an event loop, which cannot wait for another coroutine here.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _plain(value: Any) -> Any:
    """Mappings, lists and JSON's own values, made of the models and dataclasses that specs come as."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner) for key, inner in value.items()}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Set):
        raise _NoDataError("it gives a set, which has no order: tools would change places from boot to boot")
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, type)):
        entries = [_plain(inner) for inner in islice(value, _MOST + 1)]
        if len(entries) > _MOST:
            raise _NoDataError(f"it gives more than {_MOST:,} entries")
        return entries
    raise _NoDataError(f"it gives {type(value).__name__}, which is no data")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise _NoDataError(f"it gives a mapping with the key {key!r}, which is no text")


def _reason(error: BaseException) -> str:
    first = (str(error).splitlines() or [""])[0][:200]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _shown(value: Any) -> str:
    return f"the module {value.__name__!r}" if isinstance(value, ModuleType) else f"the {type(value).__name__}"

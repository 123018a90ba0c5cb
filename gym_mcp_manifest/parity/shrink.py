"""Smaller arguments that may show the same difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["smaller"]


def smaller(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments a little smaller than these, the boldest step first."""
    if arguments:
        yield {}
    for value in _values(dict(arguments)):
        if isinstance(value, dict):
            yield value


def _values(value: Any) -> Iterator[Any]:
    """Values simpler than this one."""
    if isinstance(value, dict):
        for name in value:
            yield {key: kept for key, kept in value.items() if key != name}
        for name, inner in value.items():
            yield from ({**value, name: simpler} for simpler in _simpler(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield [*value[:index], *value[index + 1 :]]
            yield from ([*value[:index], simpler, *value[index + 1 :]] for simpler in _simpler(inner))


def _simpler(value: Any) -> Iterator[Any]:
    plainest = {dict: {}, list: [], str: "", int: 0, float: 0}.get(type(value))
    if plainest is not None and value != plainest:
        yield plainest
    if isinstance(value, str) and len(value) > 1:
        yield from dict.fromkeys((value[: len(value) // 2], value[len(value) // 2 :], value[1:], value[:-1]))
    elif isinstance(value, list) and len(value) > 3:
        yield from (value[: len(value) // 2], value[len(value) // 2 :])
    yield from _values(value)

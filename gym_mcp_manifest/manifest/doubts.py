"""Warnings about expressions that are legal but hardly say what their author means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.expressions import Expression, as_yaml
from gym_mcp_manifest.manifest.keys import Path
from gym_mcp_manifest.manifest.layers import Places
from gym_mcp_manifest.manifest.models import Language

__all__ = ["expression_doubts"]


def expression_doubts(language: Language, places: Places) -> Iterator[Diagnostic]:
    """A warning for every comparison with a field that must have been meant for a text, and the like."""
    expressions = tuple(_expressions(language, ()))
    if not expressions:
        return
    from gym_mcp_manifest.manifest.slips import doubts  # not imported where there is nothing to doubt

    for expression, path in expressions:
        for doubt in doubts(expression.text):
            key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
            hint = f"write `{key}{as_yaml(doubt.better)}`" if doubt.better else None
            message = f"`{expression}`: {doubt.reason}"
            yield Diagnostic(code="GMM210", severity="warning", message=message, hint=hint, span=places.span(path))


def _expressions(value: Any, path: Path) -> Iterator[tuple[Expression, Path]]:
    """Every expression below a value, with its path as the manifest spells it."""
    if isinstance(value, Expression):
        yield value, path
    elif isinstance(value, BaseModel):
        for name in value.model_fields_set:
            field = type(value).model_fields[name]
            yield from _expressions(getattr(value, name), (*path, field.alias or name))
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _expressions(inner, (*path, index))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, (BaseModel, Expression)):
                yield from _expressions(inner, (*path, key))

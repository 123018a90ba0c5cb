"""Wire names: under which names requests carry the fields of models and parameters, aliases above all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import AliasChoices, AliasPath

from gym_mcp_manifest.routes.annotations import plain_fields, plain_model, without_none

__all__ = ["alias_names", "names_of_fields", "nested_fields", "spellings_of"]


def names_of_fields(annotation: Any) -> list[tuple[str, ...]]:
    """The names of each of a body's fields on the wire."""
    fields, config = _fields_by_alias(annotation), _config_of(annotation)
    if fields:
        return [tuple(spellings_of(name, info, config)) for name, info in fields.items()]
    return [(name,) for name in plain_fields(without_none(annotation))]


def nested_fields(annotation: Any) -> Iterator[str]:
    """All names of the fields that an alias path takes from inside of others."""
    for name, info in _fields_by_alias(annotation).items():
        alias = info.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        if any(isinstance(choice, AliasPath) for choice in choices):
            yield from spellings_of(name, info, _config_of(annotation))


def spellings_of(name: str, info: Any, config: Mapping[str, Any]) -> list[str]:
    """All names of a model's field, the first of them its own on the wire."""
    by_name = any(config.get(key) for key in ("populate_by_name", "validate_by_name"))
    if config.get("validate_by_alias") is False:
        return [name]
    alias = list(alias_names(info.validation_alias or info.alias))
    return list(dict.fromkeys([*alias, *([name] if by_name or not alias else [])]))


def alias_names(alias: Any) -> Iterator[str]:
    """The names that an alias stands for; none where it is no name."""
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    yield from (choice for choice in choices if isinstance(choice, str))


def _fields_by_alias(annotation: Any) -> Mapping[str, Any]:
    """The fields of a model or of pydantic's own kind of dataclass, which may have aliases."""
    model = plain_model(annotation)
    if model is not None:
        return model.model_fields
    annotation = without_none(annotation)
    held = getattr(annotation, "__pydantic_fields__", None) if isinstance(annotation, type) else None
    return held if isinstance(held, dict) else {}


def _config_of(annotation: Any) -> Mapping[str, Any]:
    annotation = without_none(annotation)
    return getattr(annotation, "model_config", None) or getattr(annotation, "__pydantic_config__", None) or {}

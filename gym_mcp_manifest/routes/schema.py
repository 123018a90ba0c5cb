"""Input schemas as tools advertise them: an object at the root, whatever the body is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel

from gym_mcp_manifest.manifest.schemas import PERMISSIVE, advertised_form
from gym_mcp_manifest.routes.bind import body_annotation, is_model_body

__all__ = ["derive_input_schema"]


def derive_input_schema(dependant: Dependant) -> tuple[Mapping[str, Any] | None, str | None]:
    """The schema of the tool's arguments, or None with the reason why there is none.

    A model gives its own JSON Schema; a dict, or a request that the handler reads itself, gives a permissive
    one; a handler without parameters takes none.
    """
    annotation = body_annotation(dependant)
    if is_model_body(annotation):
        return _model_schema(annotation)
    if dependant.body_params or dependant.request_param_name or dependant.http_connection_param_name:
        return PERMISSIVE, None
    return {"type": "object", "properties": {}}, None


def _model_schema(model: type[BaseModel]) -> tuple[Mapping[str, Any] | None, str | None]:
    try:
        return advertised_form(model.model_json_schema()), None
    except Exception as error:  # a model may make its schema by code of its own
        return None, f"no JSON Schema can be derived from {model.__name__}: {str(error).splitlines()[0]}"

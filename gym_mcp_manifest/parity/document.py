"""What the app's OpenAPI documents tell a plain client: where each argument stands in a route's request.

FastAPI makes them, one for each route, so that one of which none can be made costs the others nothing. The app's
own `openapi` is not asked: it may tell other things than FastAPI reads. Nothing here goes by the mapping of
`routes.parameters`, whose faults the comparison has to find, but for what a document does not tell:

- a route that is not in the schema, or of which no document can be made: all of it
- parameters that are not in the schema, further spellings of one (`AliasChoices`), the fields of a form that is
  documented as one field
- a body that the document is silent about, as the handler reads the request itself
- the name of a body that is no object, and whether one with free keys, or a `RootModel`, is an argument by itself
- whether a body takes arguments that nothing names
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from gym_mcp_manifest.instance.headers import OWN_HEADERS
from gym_mcp_manifest.plan.records import Tool

__all__ = ["Document", "Documents", "KeptBack", "Layout", "Spot", "asked_schema", "documents_of", "layout_of"]

#: The OpenAPI document of one route.
Document = Mapping[str, Any]
#: By method and path, as the app has them.
Documents = Mapping[tuple[str, str], Document]
#: Places and names, headers' in lower case, of what no argument decides.
KeptBack = Set[tuple[str, str]]

_IN_PATH = re.compile(r"{(\w+)(?::\w+)?}")
_FORM = re.compile(r"application/x-www-form-urlencoded|multipart/form-data")
_JSON = re.compile(r"application/([\w.-]+\+)?json")
#: References of references that are followed.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one argument stands: `path`, `query`, `header`, `cookie`, `body`, `form`; maybe as JSON in a text."""

    place: str
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a tool's arguments make its request."""

    #: By the name of the argument.
    spots: Mapping[str, Spot]
    #: What the arguments for the body make: an object, one of them the whole of it, a form.
    body: Literal["none", "object", "whole", "form"]
    #: Whether an object is sent that is empty.
    body_required: bool = False
    media_type: str = "application/json"
    #: The place of arguments that have no spot; None where no such argument can be sent.
    rest: str | None = None


def documents_of(app: FastAPI) -> Documents:
    """The documents of all routes that are in the schema, by method; of two alike that of the first, which serves.

    A route of which FastAPI can make none is left out.
    """
    found: dict[tuple[str, str], Document] = {}
    for context in iter_route_contexts(app.routes):
        if not isinstance(context.original_route, APIRoute):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about operation ids, of which nothing is read
                document = get_openapi(title="", version="", routes=[context])
        except Exception:  # noqa: S112 - whatever code a model makes its schema by; whoever compares tells of it
            continue
        for operations in document["paths"].values():
            for method in operations:
                found.setdefault((method.upper(), str(context.path)), document)
    return found


def layout_of(tool: Tool, document: Document | None, kept_back: KeptBack = frozenset()) -> Layout:
    """How a plain client lays out the tool's arguments: by the document, or by the tool where there is none."""
    own = _by_tool(tool)
    if document is None:
        return own
    operation = _operation(tool, document)
    withheld = {*kept_back, *_kept_back(document)}
    documented = {
        name: Spot(place, _is_json_text(schema, document))
        for place, name, schema in _parameters(operation)
        if _read_as(place, name) not in withheld
    }
    layout = _with_body(tool, own, operation.get("requestBody", {}), document)
    # A header is one whatever the case of its letters.
    headers = {name.lower(): spot for name, spot in documented.items() if spot.place == "header"}
    spots = {name: spot for name, spot in layout.spots.items() if _read_as(spot.place, name) not in withheld}
    for parameter in tool.parameters.named:
        spot = documented.get(parameter.name) or headers.get(parameter.name.lower())
        if spot is not None:
            spots |= dict.fromkeys((parameter.name, *parameter.spellings), spot)
    in_path = dict.fromkeys(_IN_PATH.findall(tool.path), Spot("path"))
    return replace(layout, spots={**spots, **documented, **in_path})


def asked_schema(tool: Tool, document: Document | None, kept_back: KeptBack = frozenset()) -> Mapping[str, Any]:
    """The tool's input schema, with the documented parameters that it has not: the tool may have lost them."""
    if document is None:
        return tool.input_schema
    properties = tool.input_schema.get("properties", {})
    known = {*properties, *tool.arguments.withheld}
    withheld = {*kept_back, *_kept_back(document), *(("header", name.lower()) for name in known)}
    lost = {
        name: schema
        for place, name, schema in _parameters(_operation(tool, document))
        if name not in known and _read_as(place, name) not in withheld
    }
    if not lost:
        return tool.input_schema
    components = document.get("components", {})  # where references of theirs lead
    return {**tool.input_schema, "properties": {**properties, **lost}, "components": components}


def _by_tool(tool: Tool) -> Layout:
    planned = tool.parameters
    return Layout(
        spots={
            name: Spot(parameter.place, parameter.as_json)
            for parameter in planned.named
            for name in (parameter.name, *parameter.spellings)
        },
        body="object" if planned.body == "spread" or planned.body == "keys" else planned.body,
        body_required=planned.body_required,
        rest="body" if planned.body == "spread" else planned.rest,
    )


def _operation(tool: Tool, document: Document) -> Mapping[str, Any]:
    (operations,) = document["paths"].values()
    found: Mapping[str, Any] = operations[tool.method.lower()]
    return found


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Place, name and schema of each; the path's are in the path itself, where a dispatcher's tool has its own."""
    for each in operation.get("parameters", ()):
        if each.get("in") in ("query", "header", "cookie"):
            yield each["in"], each["name"], each.get("schema", {})


def _kept_back(document: Document) -> Iterator[tuple[str, str]]:
    """What the request decides by itself, and what security schemes read."""
    yield from (("header", name) for name in OWN_HEADERS)
    for scheme in document.get("components", {}).get("securitySchemes", {}).values():
        is_key = scheme.get("type") == "apiKey"
        yield _read_as(scheme["in"], scheme["name"]) if is_key else ("header", "authorization")


def _read_as(place: str, name: str) -> tuple[str, str]:
    """A place and a name as servers read it: of headers alone, whatever the case of the letters."""
    return place, name.lower() if place == "header" else name


def _with_body(tool: Tool, own: Layout, body: Mapping[str, Any], document: Document) -> Layout:
    """The tool's layout with the body that is documented, where one is that arguments could make."""
    content = body.get("content", {})
    kind = next((kind for kind in content if _FORM.fullmatch(kind) or _JSON.fullmatch(kind)), None)
    if kind is None:
        return own
    alternatives = list(_alternatives(content[kind].get("schema", {}), document))
    fields = {name: schema for each in alternatives for name, schema in each.get("properties", {}).items()}
    if _FORM.fullmatch(kind):
        of_form = {name: Spot("form", _is_json_text(schema, document)) for name, schema in fields.items()}
        return replace(own, body="form", spots={**own.spots, **of_form})
    names = [parameter.name for parameter in tool.parameters.named if parameter.place == "body"]
    if len(alternatives) != 1 or not _is_spread(tool, alternatives[0], names):
        # Whatever name the tool has for it; without one, it is the argument that is left.
        return replace(own, body="whole", media_type=kind, rest=None if names else "body")
    spots = {**own.spots, **dict.fromkeys(fields, Spot("body"))}
    required = bool(body.get("required"))
    return replace(own, body="object", body_required=required, media_type=kind, spots=spots)


def _is_spread(tool: Tool, schema: Mapping[str, Any], names: list[str]) -> bool:
    """Whether the keys of a body are arguments, and not the body as a whole.

    Free keys, or a root model, have no mark in the document; what agents are told is the tool's to choose.
    """
    if "properties" not in schema and schema.get("type") != "object":
        return False
    told = {*tool.input_schema.get("properties", ()), *tool.arguments.withheld}
    is_argument = tool.parameters.body == "whole" and told.issuperset(names[:1])
    return not is_argument or names[0] in schema.get("properties", {})


def _alternatives(schema: Any, document: Document, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """What a schema may be, references followed and the parts of `allOf` laid together; null is left out."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    if isinstance(schema.get("$ref"), str):
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
        yield from _alternatives(found, document, depth + 1)
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        for choice in choices:
            yield from _alternatives(choice, document, depth + 1)
    elif parts := schema.get("allOf"):
        merged: dict[str, Any] = {}
        for part in ({**schema, "allOf": None}, *parts):
            for each in _alternatives(part, document, depth + 1):
                inner = {**merged.get("properties", {}), **each.get("properties", {})}
                merged = {**merged, **each, **({"properties": inner} if inner else {})}
        yield merged
    elif schema.get("type") != "null":
        yield schema


def _is_json_text(schema: Any, document: Document) -> bool:
    return any(each.get("contentMediaType") == "application/json" for each in _alternatives(schema, document))

"""Parameters: which part of a request each argument of a call becomes, and the schema of all arguments together.

What decides is the effective route's dependant, sub-dependencies included, as FastAPI reads requests by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from fastapi import params
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext
from fastapi.security.api_key import APIKeyBase
from fastapi.security.base import SecurityBase
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from gym_mcp_manifest.instance.headers import OWN_HEADERS
from gym_mcp_manifest.manifest.schemas import without_idle_definitions
from gym_mcp_manifest.routes.annotations import (
    is_json,
    is_object,
    is_union,
    is_unresolved,
    is_upload,
    plain_model,
    without_none,
)
from gym_mcp_manifest.routes.effective import effective_dependant, handler_class
from gym_mcp_manifest.routes.schema import derive_schema
from gym_mcp_manifest.routes.wirenames import alias_names, names_of_fields, nested_fields, spellings_of

__all__ = [
    "NO_PARAMETERS",
    "BodyShape",
    "Parameter",
    "Parameters",
    "parameters_of",
    "without_parameters",
]

#: Where an argument stands in the request; `body` is the JSON body, of which it is the whole or one key.
Place = Literal["path", "query", "header", "cookie", "body", "form"]
#: How the body is made: of all arguments that nothing else claims, of those for it by key, of one as a whole.
BodyShape = Literal["none", "spread", "keys", "whole", "form"]

#: Methods whose requests have no body unless the signature asks for one.
_BODYLESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_KINDS: tuple[tuple[Place, str], ...] = (
    ("path", "path_params"),
    ("query", "query_params"),
    ("header", "header_params"),
    ("cookie", "cookie_params"),
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument and its place in the request, under its name on the wire."""

    name: str
    place: Place
    required: bool = False
    #: Further names under which the route takes it.
    spellings: tuple[str, ...] = ()
    #: The argument is JSON inside of a text (pydantic's `Json`).
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """All arguments of a route, the shape of its body, and the JSON Schema of the arguments.

    `schema` is None where none can be derived, for the reason `problem`. `clashes` are pairs of parameters that
    have one name. `unsupported` tells what no call can carry.
    """

    named: tuple[Parameter, ...] = ()
    body: BodyShape = "none"
    body_required: bool = True
    #: Where arguments go that no parameter names and no spread body takes; None where they are refused.
    rest: Place | None = None
    schema: Mapping[str, Any] | None = None
    problem: str | None = None
    clashes: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    #: By each name that the route takes for an argument all names for it.
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Arguments that the route also takes from inside of another, by an alias path.
    nested: frozenset[str] = frozenset()


#: Those of a route that is no tool.
NO_PARAMETERS = Parameters()


def parameters_of(context: RouteContext, method: str) -> Parameters:
    """The arguments of one method of a route."""
    dependant = effective_dependant(context)
    named: list[tuple[Parameter, Any]] = []
    for place, attribute in _KINDS:
        for own in _fields(dependant, attribute):
            model = _param_model(own)
            named += _spread_models(own, place, (model,)) if model else [(_parameter(own, place), own)]
    all_bodies = list(_fields(dependant, "body_params"))
    bodies = _unique(all_bodies)
    own_reads = method not in _BODYLESS and dependant.request_param_name is not None
    reads = own_reads or (method not in _BODYLESS and _may_read(dependant, context))
    kept_back = {*_read_by_schemes(dependant), *(("header", name) for name in OWN_HEADERS)}
    rest, open_ended = _rest(dependant, bodies, kept_back)
    # A model of the query that decides about other parameters is sure; that something reads a body is not.
    shape = _body_shape(bodies, reads and rest is None)
    named += _named_of_bodies(all_bodies, shape)
    uploads = [parameter for parameter, own in named if is_upload(own)]
    named = [(parameter, own) for parameter, own in named if parameter not in uploads]
    named += _undeclared_path(context, named)
    named = [(left, own) for parameter, own in named if (left := _without_names(parameter, kept_back))]
    parameters = _first_of_each(named)
    spread = all_bodies if shape == "spread" else []
    if shape == "spread":
        rest, open_ended = None, None
    schema, problem = derive_schema(
        {parameter.name: own for parameter, own in parameters},
        [parameter.name for parameter, _ in parameters if parameter.required],
        spread,
        # Whose signature asks for the request itself may take anything; a dependency is seldom after a body.
        spreads=shape == "spread" and (bool(bodies) or own_reads),
        open_ended=open_ended,
    )
    annotations = [own.field_info.annotation for own in spread]
    fields_of_body = list(dict.fromkeys(names for each in annotations for names in names_of_fields(each)))
    groups = [*fields_of_body, *((p.name, *p.spellings) for p, _ in parameters)]
    return Parameters(
        named=tuple(parameter for parameter, _ in parameters),
        body=shape,
        # What a handler reads of the request itself is sent whole, an empty object at least; DELETE seldom reads.
        body_required=any(own.field_info.is_required() for own in all_bodies)
        if bodies
        else own_reads and method != "DELETE",
        rest=rest,
        schema=schema,
        problem=problem,
        clashes=tuple(dict.fromkeys(_clashes((p for p, _ in parameters), fields_of_body))),
        unsupported=tuple(_unsupported(dependant, uploads)),
        spellings={name: names for names in groups for name in names},
        nested=frozenset(name for each in annotations for name in nested_fields(each)),
    )


def _named_of_bodies(bodies: Iterable[Any], shape: BodyShape) -> list[tuple[Parameter, Any]]:
    """The parameters of bodies that are arguments by name: of a form, of several bodies, of one as a whole."""
    named: list[tuple[Parameter, Any]] = []
    if shape in ("keys", "whole", "form"):
        place: Place = "form" if shape == "form" else "body"
        for own in bodies:
            models = _form_models(own) if shape == "form" else ()
            named += _spread_models(own, place, models) if models else [(_parameter(own, place), own)]
    return named


def _undeclared_path(context: RouteContext, named: Iterable[tuple[Parameter, Any]]) -> list[tuple[Parameter, Any]]:
    """The parts of the path that no signature names, which a dependency may read from the request."""
    declared = {parameter.name for parameter, _ in named if parameter.place == "path"}
    missing = [name for name in context.param_convertors if name not in declared]
    return [(Parameter(name, "path", required=True), FieldInfo(annotation=str)) for name in missing]


def _without_names(parameter: Parameter, kept_back: Set[tuple[str, str]]) -> Parameter | None:
    """The parameter without the names that calls may not send; None where its own is one of them."""
    if _read_as(parameter.place, parameter.name) in kept_back:
        return None
    free = tuple(name for name in parameter.spellings if _read_as(parameter.place, name) not in kept_back)
    return replace(parameter, spellings=free)


def _read_as(place: str, name: str) -> tuple[str, str]:
    """A place and a name as servers read it: of headers alone, whatever the case of the letters."""
    return place, name.lower() if place == "header" else name


def without_parameters(parameters: Parameters, kept_back: Set[tuple[str, str]]) -> Parameters:
    """The parameters without those of a place and a name (headers' in lower case), however they are spelled."""
    left = tuple(filter(None, (_without_names(parameter, kept_back) for parameter in parameters.named)))
    if left == parameters.named:
        return parameters
    gone = {parameter.name for parameter in parameters.named} - {parameter.name for parameter in left}
    schema = parameters.schema
    if schema is not None:
        properties = {name: part for name, part in schema.get("properties", {}).items() if name not in gone}
        required = [name for name in schema.get("required", []) if name not in gone]
        rest = {key: value for key, value in schema.items() if key != "required"}
        needed = {"required": required} if required else {}
        schema = without_idle_definitions({**rest, "properties": properties, **needed})
    return replace(parameters, named=left, schema=schema)


def _fields(dependant: Dependant, attribute: str) -> Iterator[Any]:
    """The fields of one kind, those of sub-dependencies included."""
    yield from getattr(dependant, attribute)
    for inner in dependant.dependencies:
        yield from _fields(inner, attribute)


def _unique(fields: Iterable[Any]) -> list[Any]:
    return list({own.name: own for own in reversed(list(fields))}.values())[::-1]


def _may_read(dependant: Dependant, context: RouteContext) -> bool:
    """Whether a dependency, or a route class with a handler of its own, has the request and may read a body."""
    return handler_class(context) is not None or any(map(_is_given_request, dependant.dependencies))


def _is_given_request(dependant: Dependant) -> bool:
    if dependant.request_param_name and not isinstance(dependant.call, SecurityBase):
        return True
    return any(map(_is_given_request, dependant.dependencies))


def _rest(
    dependant: Dependant, bodies: Iterable[Any], kept_back: Set[tuple[str, str]]
) -> tuple[Place | None, bool | None]:
    """Where arguments go that nothing names, and whether they are welcome there; None where no model tells.

    No query is open to all names where one of them is a credential.
    """
    of_form = [model for own in bodies for model in _form_models(own)]
    guarded = any(place == "query" for place, _ in kept_back)
    of_query = [] if guarded else list(filter(None, map(_param_model, _fields(dependant, "query_params"))))
    kinds: tuple[tuple[Place, list[type[BaseModel]]], ...] = (("form", of_form), ("query", of_query))
    for place, models in kinds:
        told = {model.model_config.get("extra") for model in models}
        if "allow" in told or "forbid" in told:
            return place, "allow" in told
    return ("form" if of_form else None), None


def _body_shape(bodies: list[Any], reads: bool) -> BodyShape:
    if not bodies:
        return "spread" if reads else "none"
    first = bodies[0].field_info
    if any(isinstance(own.field_info, params.Form) for own in bodies):
        return "form"
    if len(bodies) > 1 or getattr(first, "embed", None):
        return "keys"
    return "spread" if is_object(first.annotation) else "whole"


def _param_model(own: Any) -> type[BaseModel] | None:
    """The model that spreads over the parameters of a kind, as in `Annotated[Filters, Query()]`."""
    return None if is_json(own.field_info) else plain_model(own.field_info.annotation)


def _form_models(own: Any) -> tuple[type[BaseModel], ...]:
    """The models whose fields are the form's: one, or the choices of a union."""
    info = own.field_info
    if not isinstance(info, params.Form) or info.embed or is_json(info):
        return ()
    annotation = without_none(info.annotation)
    union = is_union(annotation)
    models = [plain_model(kind) for kind in (get_args(annotation) if union else (annotation,))]
    kept = tuple(model for model in models if model is not None)
    return kept if union or len(kept) == len(models) else ()


def _spread_models(own: Any, place: Place, models: Iterable[type[BaseModel]]) -> list[tuple[Parameter, Any]]:
    """A parameter for each field of the models, of which one choice must be; so of several nothing is required."""
    choices = tuple(models)
    required = len(choices) == 1 and own.field_info.is_required()
    return [entry for model in choices for entry in _spread_model(own, place, model, required)]


def _spread_model(
    own: Any, place: Place, model: type[BaseModel], whole_required: bool
) -> Iterator[tuple[Parameter, Any]]:
    dashes = place == "header" and getattr(own.field_info, "convert_underscores", True)
    for name, info in model.model_fields.items():
        first, *others = spellings_of(name, info, model.model_config)
        wire = first.replace("_", "-") if dashes and first == name else first
        required = whole_required and info.is_required()
        yield Parameter(wire, place, required, tuple(others), as_json=is_json(info)), info


def _parameter(own: Any, place: Place) -> Parameter:
    info = own.field_info
    alias = info.validation_alias if isinstance(info.validation_alias, (str, AliasChoices)) else None
    names = list(alias_names(alias or info.alias)) or [own.name]
    return Parameter(names[0], place, info.is_required(), tuple(names[1:]), as_json=is_json(info))


def _first_of_each(named: Iterable[tuple[Parameter, Any]]) -> list[tuple[Parameter, Any]]:
    """Each parameter once: several dependencies may ask for the same."""
    each: dict[tuple[str, str], tuple[Parameter, Any]] = {}
    for parameter, info in named:
        key = _read_as(parameter.place, parameter.name)
        first, told = each.setdefault(key, (parameter, info))
        # Who asks for it in vain answers the call.
        each[key] = replace(first, required=first.required or parameter.required), told
    return list(each.values())


def _clashes(named: Iterable[Parameter], body: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Names, in whichever spelling, by which two parameters go."""
    held: dict[str, tuple[str, str]] = {name: ("the body", names[0]) for names in body for name in names}
    for parameter in named:
        for name in (parameter.name, *parameter.spellings):
            where, first = held.setdefault(name, (parameter.place, parameter.name))
            if (where, first) != (parameter.place, parameter.name):
                yield f"`{name}` is both a {parameter.place} parameter and one of {_the(where)}"


def _the(where: str) -> str:
    return where if where.startswith("the ") else f"the {where}"


def _unsupported(dependant: Dependant, uploads: Iterable[Parameter]) -> Iterator[str]:
    for parameter in uploads:
        # One that may be left out is just no argument.
        if parameter.required:
            yield f"`{parameter.name}` is an uploaded file, which no argument can carry"
    # FastAPI takes what it cannot resolve for a query parameter.
    for own in _fields(dependant, "query_params"):
        if is_unresolved(own.field_info.annotation):
            yield f"the annotation of `{own.name}` cannot be resolved"


def _read_by_schemes(dependant: Dependant) -> Iterator[tuple[str, str]]:
    """Place and name of what security schemes read (headers' in lower case): a credential is never an argument."""
    scheme = dependant.call
    if isinstance(scheme, APIKeyBase):
        yield _read_as(scheme.model.in_.value, scheme.model.name)
    elif isinstance(scheme, SecurityBase):
        yield "header", "authorization"
    for inner in dependant.dependencies:
        yield from _read_by_schemes(inner)

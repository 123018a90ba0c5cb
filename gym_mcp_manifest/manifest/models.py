"""The manifest language, version 1: the one source of `schemas/mcp.schema.json` and of validation."""

# Annotations are evaluated at once: pydantic would compile each of them anew, a fifth of what this module costs.

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from gym_mcp_manifest.manifest.fields import (
    Count,
    Flag,
    Given,
    JMESPath,
    NotYet,
    NullOnly,
    Pattern,
    Reference,
    Seconds,
    Section,
)

__all__ = [
    "AGENTS",
    "SOURCE_KEYS",
    "AllowRule",
    "Annotations",
    "ArgumentEntry",
    "CatchAll",
    "FileSource",
    "InlineSource",
    "Language",
    "Limits",
    "Mode",
    "Names",
    "Overlay",
    "OverlaySource",
    "PythonSource",
    "RouteEntry",
    "Routes",
    "SelectedSource",
    "ServerInfo",
    "Sessions",
    "ToolEntry",
    "ToolSource",
]

Agent = Literal["claude_code", "codex", "gemini_cli", "hermes", "openclaw", "opencode", "pi"]
#: Agents whose way of naming MCP tools is known, in the order of the presets.
AGENTS: tuple[Agent, ...] = ("claude_code", "codex", "gemini_cli", "hermes", "openclaw", "opencode", "pi")


#: What a call runs: FastAPI's handling of a route whose shape is simple, of any route, or the whole app.
Mode = Literal["direct", "route", "app"]


OneOrMany = str | Annotated[tuple[str, ...], Field(min_length=1)]


def _one_or_many(value: Any) -> Any:
    if value == []:
        raise PydanticCustomError("too_short", "expected at least one entry")
    return [value] if isinstance(value, str) else value


class ServerInfo(Section):
    """What clients see besides the instance's name."""

    title: Given[str] = Field(None, description="A display name for people.")
    instructions: Given[str] = Field(None, description="One paragraph that agents are shown about the server.")


class RouteEntry(Section):
    """One entry of a route list: a pattern alone, or with `optional`."""

    match: Pattern = Field(
        description="`[METHOD ]PATTERN`; `*` within a segment, `**` across; POST by default.",
        examples=["/search", "GET /items/*", "/tools/**"],
    )
    optional: Flag = Field(False, description="true: no error where the app has no such route.")


def _entry(value: Any) -> Any:
    if isinstance(value, str):
        return {"match": value}
    if value is None or isinstance(value, (dict, RouteEntry)):
        return value
    raise PydanticCustomError("route_entry", "expected a route pattern, or a mapping with `match`")


RouteListEntry = Annotated[
    RouteEntry,
    BeforeValidator(_entry, json_schema_input_type=str | RouteEntry),
]


class SpecSource(Section):
    """What every source of tool specs may say."""

    optional: Flag = Field(False, description="true: no error where the source gives no tool.")


class SelectedSource(SpecSource):
    """What a source may say that gives several specs."""

    select: Given[JMESPath] = Field(
        None,
        description="JMESPath to the specs (of each line for JSONL); all that the source gives by default.",
        examples=["tools[]", "responses_create_params.tools[]"],
    )
    include: tuple[str, ...] = Field(("*",), description="Globs over tool names to take.", examples=[["search_*"]])
    exclude: tuple[str, ...] = Field(
        (), description="Globs over tool names to leave out; wins over include.", examples=[["debug_*"]]
    )
    on_conflict: Literal["error", "first"] = Field(
        "error", description="One name with two different specs in this entry: refuse, or keep the first."
    )


class FileSource(SelectedSource):
    """Tool specs from data files."""

    file: Annotated[
        tuple[str, ...],
        BeforeValidator(_one_or_many, json_schema_input_type=OneOrMany),
    ] = Field(
        description="JSON, JSONL or YAML in the server's folder: a path, a glob or a list of these.",
        examples=["data/tools.json", ["data/tools/*.json"]],
    )
    exclude_files: tuple[str, ...] = Field(
        (),
        alias="except",
        description="Globs over file names that the globs of `file` leave out.",
        examples=[["*_old.json"]],
    )


class InlineSource(SpecSource):
    """One tool spec written in the manifest."""

    name: str = Field(
        min_length=1, description="The tool's own name: the path value of the catch-all.", examples=["search"]
    )
    description: Given[str] = Field(None, description="What the tool does, for the model.")
    input_schema: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object", "additionalProperties": True},
        description="JSON Schema (draft 2020-12) of the arguments; an object.",
        examples=[{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}],
    )


class PythonSource(SelectedSource):
    """Tool specs from a Python object, or from what a callable returns."""

    python: Reference = Field(
        description="`pkg.module:attr`, or `app:attr` and `server:attr` for the running objects (`app:` is also "
        "the module of an app.py). A callable is called at boot, and awaited where it is a coroutine function. "
        "Makes the manifest as trusted as code.",
        examples=["my_server.tools:TOOLS", "server:tool_specs"],
    )
    args: tuple[Any, ...] = Field((), description="Arguments of the callable.", examples=[["train"]])
    kwargs: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments of the callable.", examples=[{"split": "train"}]
    )


class SessionSource(SpecSource):
    """Tool specs that come with each session."""

    session: NotYet = Field(description="Specs from each session's seed body. Not supported yet.")
    missing: NotYet = Field(None, description="A seed body without specs. Not supported yet.")
    preview: NotYet = Field(None, description="Specs of the tokenless list. Not supported yet.")


#: The key that tells a source's kind.
SOURCE_KEYS = {"file": FileSource, "python": PythonSource, "session": SessionSource, "name": InlineSource}


def _source_kind(value: Any) -> str | None:
    if isinstance(value, dict):
        return next((key for key in SOURCE_KEYS if key in value), None)
    return next((key for key, model in SOURCE_KEYS.items() if isinstance(value, model)), None)


ToolSource = Annotated[
    Annotated[FileSource, Tag("file")]
    | Annotated[PythonSource, Tag("python")]
    | Annotated[SessionSource, Tag("session")]
    | Annotated[InlineSource, Tag("name")],
    Discriminator(
        _source_kind,
        custom_error_type="no_source",
        custom_error_message="a source has one of the keys file, python and name",
    ),
]


class Overlay(Section):
    """What a source may say besides where its specs are overlays."""

    unmatched: Literal["error", "ignore"] = Field(
        "error", description="A spec that names no harvested route: refuse the boot, or pass it over."
    )


class FileOverlay(FileSource, Overlay):
    """Overlays from data files."""


class PythonOverlay(PythonSource, Overlay):
    """Overlays from a Python object."""


class InlineOverlay(InlineSource, Overlay):
    """One overlay written in the manifest."""


OverlaySource = Annotated[
    Annotated[FileOverlay, Tag("file")]
    | Annotated[PythonOverlay, Tag("python")]
    | Annotated[SessionSource, Tag("session")]
    | Annotated[InlineOverlay, Tag("name")],
    Discriminator(
        _source_kind,
        custom_error_type="no_source",
        custom_error_message="a source has one of the keys file, python and name",
    ),
]


class Routes(Section):
    """Typed routes harvested from the app."""

    include: tuple[RouteListEntry, ...] = Field(
        (RouteEntry.model_validate({"match": "/**"}),),
        description="Routes that become tools; every plain POST route by default, [] none.",
        examples=[["/**"], ["/search", {"match": "/debug_*", "optional": True}]],
        json_schema_extra={"default": ["/**"]},
    )
    exclude: tuple[RouteListEntry, ...] = Field(
        (), description="Routes that stay HTTP-only; wins over include.", examples=[["/end_session"]]
    )
    unlisted: Literal["ignore", "error"] = Field(
        "ignore", description="What a route that neither list matches means: nothing, or a refused boot."
    )
    naming: Literal["path", "function"] = Field(
        "path", description="A tool's own name: its path without the leading slash, or its handler's name."
    )
    specs: tuple[OverlaySource, ...] = Field(
        (),
        description="Overlays: descriptions and schemas from data onto harvested routes, matched by name.",
        examples=[[{"file": "data/example.jsonl", "select": "responses_create_params.tools[]"}]],
    )


class CatchAll(Section):
    """A dispatcher route: one parameterized POST route that looks tools up by name."""

    route: Given[str] = Field(
        None,
        description="The route's path, as the app spells it. May be left out when only one is unclaimed.",
        examples=["/{path}"],
    )
    dispatch: Given[Mode] = Field(None, description="How calls run; the manifest's `dispatch` by default.")
    tools: tuple[ToolSource, ...] = Field((), description="Where the tools' specs come from, in order.")
    ignore: Flag = Field(False, description="true: the route answers unknown names and is no dispatcher.")
    optional: Flag = Field(False, description="true: no error where the app has no such route.")


class Annotations(Section):
    """Hints about a tool's behaviour that MCP clients read."""

    title: Given[str] = Field(None, description="A display name.")
    readOnlyHint: Given[Flag] = Field(None, description="true: the tool changes nothing.")
    destructiveHint: Given[Flag] = Field(None, description="true: the tool may destroy something.")
    idempotentHint: Given[Flag] = Field(None, description="true: calling twice is calling once.")
    openWorldHint: Given[Flag] = Field(None, description="true: the tool reaches outside its environment.")


class ArgumentEntry(Section):
    """Tailoring of one argument: how it is advertised, or what is sent in its place."""

    description: Given[str] = Field(None, description="What the argument is, for the model.")
    default: Any = Field(
        None,
        description="Advertised as the default, and sent where the client leaves the argument out; null counts.",
        examples=["Paris"],
    )
    value: Any = Field(
        None,
        description="Always sent, and hidden from clients, who may not send it; null counts.",
        examples=["metric"],
    )
    hidden: Flag = Field(
        False, description="true: clients do not see the argument and may not send it; the route's default holds."
    )
    bind: NotYet = Field(None, description="Filled from the session. Not supported yet.")


class ToolEntry(Section):
    """Tailoring of the tools that the key names."""

    name: Given[str] = Field(
        None,
        description="Exposed name, `[A-Za-z0-9_-]{1,128}`; default: the own name.",
        examples=["search_web"],
    )
    title: Given[str] = Field(None, description="A display name for people.")
    description: Given[str] = Field(None, description="Overrides the handler's docstring and the spec's text.")
    input_schema: Annotated[
        str | dict[str, Any] | None,
        WithJsonSchema({"type": ["string", "object"]}),
        BeforeValidator(lambda value: _schema_or_file(value)),
    ] = Field(
        None,
        description="A JSON Schema, or the file that holds it; replaces the derived one.",
        examples=["schemas/search.json"],
    )
    output_schema: Annotated[
        bool | str | dict[str, Any] | None,
        WithJsonSchema({"type": ["boolean", "string", "object"]}),
        BeforeValidator(lambda value: value if isinstance(value, bool) else _schema_or_file(value)),
    ] = Field(
        None,
        description="true: advertise the schema of the reply (the response model's, or the spec's own); or a "
        "JSON Schema, or the file that holds it. false, the default: none.",
        examples=[True, "schemas/found.json"],
        json_schema_extra={"default": False},
    )
    annotations: Given[Annotations] = Field(
        None, description="Hints about a tool's behaviour that MCP clients read."
    )
    dispatch: Given[Mode] = Field(None, description="How calls run; the manifest's `dispatch` by default.")
    only_if: Given[JMESPath] = Field(
        None,
        description="JMESPath over the instance's own block: the tool exists only where it holds.",
        examples=["tavily_api_key"],
    )
    optional: Flag = Field(False, description="true: no error where the app has no such tool.")
    arguments: dict[str, ArgumentEntry] = Field(
        default_factory=dict,
        description="Tailoring of single arguments, by their names in the tool's schema.",
        examples=[{"city": {"default": "Paris"}, "units": {"value": "metric"}}],
    )


def _schema_or_file(value: Any) -> Any:
    if (value and isinstance(value, str)) or isinstance(value, dict):
        return value
    raise PydanticCustomError("schema_or_file", "expected a JSON Schema (a mapping) or the name of a file")


class AllowRule(Section):
    """One rule of `sessions.allow`; the first that applies decides."""

    model_config = ConfigDict(populate_by_name=False)

    when: Given[JMESPath] = Field(
        None,
        description="JMESPath over the seed body; the rule applies where it is true. Default: always.",
        examples=["verifier_metadata.level == 'easy'"],
    )
    tools: Given[tuple[str, ...]] = Field(
        None, description="Globs over the names of the allowed tools.", examples=[["search_*", "read"]]
    )
    source: Given[
        Annotated[
            tuple[JMESPath, ...],
            BeforeValidator(_one_or_many, json_schema_input_type=OneOrMany),
        ]
    ] = Field(
        None,
        alias="from",
        description="JMESPath to a list of names in the seed body; of several, the first that is not null.",
        examples=["verifier_metadata.allowed_tools"],
    )
    empty: Literal["next", "none"] = Field(
        "next", description="What an empty list means: the next rule, or no tools at all."
    )
    deny: tuple[str, ...] = Field(
        (), description="Globs taken away from what the rule allows.", examples=[["delete_*"]]
    )
    optional: Flag = Field(False, description="true: globs of this rule may match no tool.")


class Sessions(Section):
    """How calls are bound to the session that was seeded."""

    mode: Literal["token", "none"] = Field(
        "token", description="token: each call carries its session's token. none: apps without sessions."
    )
    allow: tuple[AllowRule, ...] = Field((), description="Which tools a session may see and call.")
    otherwise: Given[Literal["all", "none", "error"]] = Field(
        None, description="What holds where no rule applied. Must be written when every rule can pass over."
    )
    unknown: Literal["error", "ignore"] = Field(
        "error",
        description="A `from` list that names a tool which is not exposed: refuse the seed, or drop it.",
    )
    bind: NotYet = Field(None, description="Values caught when the session is seeded. Not supported yet.")
    max_age: NullOnly = Field(None, description="Seconds that a token lives. Only null so far.")


def _with_both_parts(pattern: str) -> str:
    if pattern.count("{tool}") != 1 or pattern.count("{server}") > 1:
        raise PydanticCustomError("name_pattern", "expected {tool} once and {server} at most once")
    return pattern


NamePattern = Annotated[str, AfterValidator(_with_both_parts)]


class Names(Section):
    """Scoring-time normalization of the tool-call names that agents record."""

    normalize: Flag = Field(True, description="false: /verify sees the names as they were recorded.")
    agents: tuple[Agent, ...] = Field(AGENTS, description="Agents whose naming is undone; all known by default.")
    patterns: tuple[NamePattern, ...] = Field(
        (), description="More forms, with {server} and {tool}.", examples=[["custom.{server}.{tool}"]]
    )
    max_length: Count = Field(64, description="Budget of the longest agent-side name; beyond it: a warning.")
    restore: Flag = Field(True, description="true: the reply of /verify carries the names as recorded.")


class Limits(Section):
    """Bounds on calls and requests."""

    call_timeout: Seconds | None = Field(
        None, description="Seconds a call may take; beyond them it ends as an error. null: as long as it takes."
    )
    result_bytes: Count | None = Field(
        None, description="Largest result in bytes; beyond it: text only, cut visibly. null: as large as it is."
    )
    request_bytes: Count = Field(4_194_304, description="Largest /mcp request in bytes; beyond it: 413.")
    calls_per_session: NullOnly = Field(None, description="Calls that one session may make. Only null so far.")


class Language(Section):
    """Everything that an `mcp.yaml` may say."""

    version: Annotated[Literal[1], BeforeValidator(lambda value: _supported(value))] = Field(
        description="The version of the language; 1."
    )
    server: ServerInfo = Field(ServerInfo(), description="What clients see besides the instance's name.")
    dispatch: Mode = Field(
        "direct",
        description="How calls run, where a tool does not say otherwise: direct takes plain POST handlers only; "
        "route all of FastAPI's handling of a route, dependencies included; app the middleware as well.",
    )
    skip_middleware: tuple[str, ...] = Field(
        (),
        description="Globs over dotted names of the app's middleware that direct and route calls leave out on "
        "purpose; app calls run all of it.",
        examples=[["my_server.timing.*"]],
    )
    routes: Routes = Field(Routes(), description="Typed routes harvested from the app.")
    catch_all: tuple[CatchAll, ...] = Field(
        (), description="Dispatcher routes and the data that name their tools."
    )
    tools: dict[str, ToolEntry] = Field(
        default_factory=dict, description="Tailoring, by own name, exposed route or glob over own names."
    )
    sessions: Sessions = Field(Sessions(), description="How calls are bound to the session that was seeded.")
    names: Names = Field(Names(), description="Normalization of recorded tool-call names at /verify.")
    limits: Limits = Field(Limits(), description="Bounds on calls and requests.")


def _supported(value: Any) -> Any:
    if type(value) is int and value > 1:
        raise PydanticCustomError("newer_version", "the manifest is of version {found}", {"found": value})
    if type(value) is not int:
        raise PydanticCustomError("version_type", "the version is the number 1, unquoted")
    return value

"""What every code means at length: why its rule exists, and how to satisfy it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["EXPLANATIONS", "GROUPS", "Explanation"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code's rule in plain sentences: what would go wrong without it, and what to do."""

    why: str
    cure: str


#: What the codes of a hundred are about, by their first digit.
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "1": "The text of a file",
        "2": "The shape of a manifest",
        "3": "Keys that belong together",
        "4": "Data files and tool specs",
        "5": "The instance's configuration",
        "6": "Routes and the plan",
        "7": "Names, sessions and schemas",
    }
)

_TEXT: dict[str, Explanation] = {
    "GMM101": Explanation(
        "The file cannot be opened: it does not exist, is a folder or a pipe, or may not be read. A "
        "server that went on without its manifest would expose whatever the defaults say.",
        "Correct the path or the permissions. A manifest is a regular file called `mcp.yaml` beside the "
        "server's code.",
    ),
    "GMM102": Explanation(
        "Manifests and data files are UTF-8. Text in another encoding would be read with wrong letters in "
        "names and descriptions, and a model would be shown them.",
        "Save the file as UTF-8 (in most editors: “Save with encoding”).",
    ),
    "GMM103": Explanation(
        "A control character, a zero-width character or a second byte order mark stands in the text. "
        "Nobody sees it in an editor, readers of YAML disagree on it, and a name that holds one matches "
        "nothing.",
        "Delete the character at the place shown. Where it is meant, write its escape in double quotes.",
    ),
    "GMM104": Explanation(
        "A manifest has at most 2 MiB, a data file at most 256 MiB. A larger one is a mistake more often "
        "than a manifest, and reading it would hold up every start.",
        "Move tool specs into data files and name them in the manifest; split very large data.",
    ),
    "GMM105": Explanation(
        "The text is not YAML from the place shown on. Often a value begins with a sign that means "
        "something (`*`, `@`, a backtick, `{`, `[`), holds `: `, or is indented by a tab.",
        'Quote the value: `from: ["tools[].name"]`, `when: "level == \'easy\'"`. Indent with spaces.',
    ),
    "GMM106": Explanation(
        "A mapping has the same key twice. Most readers keep the last one and say nothing, so half of "
        "what the file says would have no effect.",
        "Merge the two values under one key, or delete one of them. The finding shows both places.",
    ),
    "GMM107": Explanation(
        "`<<` merged mappings in YAML 1.1. YAML 1.2 has no such key: some readers merge, some keep a key "
        "called `<<`, and editors flag it. A merged value can also hide one that stands beside it.",
        "Write the entries out, or use an alias for a whole value: `annotations: *read_only`.",
    ),
    "GMM108": Explanation(
        "A key without quotes is a number, true, false, null, a list or a mapping. Names of tools are "
        "text: `08` and `8` would become one key, and `true` no name at all.",
        'Quote the key: `"08":`, `"true":`.',
    ),
    "GMM109": Explanation(
        "A tag (`!something`) asks for a type that a manifest does not have. Tags can build objects of a "
        "program, and a text that merely begins with `!` would lose its first word.",
        "Delete the tag, or quote the whole value if the exclamation mark is text.",
    ),
    "GMM110": Explanation(
        "`---` begins a second document. One file is one manifest; readers of a single document would "
        "pass over everything behind the line.",
        "Delete the line, or move what follows it into a file of its own.",
    ),
    "GMM111": Explanation(
        "An alias (`*name`) stands before, or without, its anchor (`&name`). Often no alias was meant: a "
        "glob that begins with `*` has to be quoted.",
        'Quote the glob: `"*_search":`. Where an alias is meant, define the anchor above it.',
    ),
    "GMM112": Explanation(
        "An alias stands inside the value that it names, so the value would contain itself without end.",
        "Write the inner value out.",
    ),
    "GMM113": Explanation(
        "The aliases of the file stand for more than 200,000 values. A few hundred bytes can be made to "
        "expand to gigabytes that way, so the reader stops at the alias that crosses the limit.",
        "Use fewer aliases of aliases; write data in a data file.",
    ),
    "GMM114": Explanation(
        "Lists and mappings nest more than 64 levels deep. Nothing in the language needs that, and deeper "
        "text brings readers down.",
        "Flatten the value. In a JSON Schema, move inner schemas to `$defs` and refer to them.",
    ),
    "GMM115": Explanation(
        "Readers disagree on a number with a leading zero: `010` is 8 to YAML 1.1, 10 to YAML 1.2 and a "
        "text to others. Whichever is meant, some tool that reads the file takes another.",
        "Write `10` for the decimal number, `0o10` for the octal one, or quote it if it is text.",
    ),
    "GMM116": Explanation(
        "The number is too large to be held exactly, or to be sent as JSON. It would arrive as infinity "
        "or as another number.",
        "Write a number within range, or quote it if it is text.",
    ),
    "GMM117": Explanation(
        "Unquoted `no`, `on`, `12:30`, `1_000` or a date is a text here (YAML 1.2), but false, true, a "
        "number or a date to readers of YAML 1.1. The file would say different things to different "
        "programs: the country `no` becomes false.",
        "Quote it if it is text; write `false`, `true` or the plain number if that is meant.",
    ),
    "GMM118": Explanation(
        "A comment `# gmm: ignore[...]` is meant to silence a warning, and does not: there is no such "
        "warning on its line, the code does not exist, or the finding is an error. A comment that stays "
        "behind would silence the next one unseen.",
        "Take the code out of the comment, or correct it. A comment is about its own line, or, standing "
        "alone, about the next one. Errors are never silenced.",
    ),
}

_SHAPE: dict[str, Explanation] = {
    "GMM201": Explanation(
        "The mapping has no such key. A misspelt key that is passed over is a rule that silently does not "
        "hold: a route that stays exposed, a tool without its description.",
        "Take the proposed key, or see the keys in the language reference. Keys of your own begin with "
        "`x-` and are free everywhere.",
    ),
    "GMM202": Explanation(
        "A key that must be there is missing: `version` in every manifest, the pattern of a route entry, "
        "the key that says what kind of source it is, the tools of a dispatcher. What is meant cannot be "
        "guessed.",
        "Add the key that the message names.",
    ),
    "GMM203": Explanation(
        "The value has another type than its key takes, or is none of the choices. Values are not "
        'converted: a quoted `"false"` would count as true somewhere.',
        "Write a value of the type that the message expects; the place shows the value.",
    ),
    "GMM204": Explanation(
        "The key has no value, or null. Tools disagree on what that means: nothing, the default, or "
        "“remove it”. A list entry whose value went missing would vanish.",
        "Write the value, `{}` or `[]` for an empty mapping or list, or leave the key out. Null is legal "
        "only for keys whose default is null.",
    ),
    "GMM205": Explanation(
        "The manifest names a version of the language that this release does not read. Reading it by "
        "older rules would pass over what is new in it.",
        "Write `version: 1`, or install a release that reads the version.",
    ),
    "GMM206": Explanation(
        "The key belongs to the language, but its feature comes with a later release. It is refused by "
        "name because a limit or a binding that silently does not hold is worse than none.",
        "Leave the key out until the release that brings it; the help names a way to do without, where "
        "there is one.",
    ),
    "GMM207": Explanation(
        "A route pattern is `[METHOD ]PATTERN`: a method in capitals (POST by default), a space, and a "
        "path that begins with `/`. In a path `*` stays within a segment and `**` crosses segments; "
        "braces are literal.",
        'Write the path as the app spells it: `"/search"`, `"GET /items/{id}"`, `"/debug/**"`.',
    ),
    "GMM208": Explanation(
        "A JMESPath expression cannot be compiled, or fails on the data. An expression that fails while a "
        "session is seeded would decide by accident which tools the rollout has.",
        "Correct the expression at the column shown. Text within one is in single quotes: `level == 'easy'`.",
    ),
    "GMM209": Explanation(
        "The schema of a tool's arguments is no valid JSON Schema (draft 2020-12), or its root is not an "
        "object. Some clients drop the whole list of tools for one bad schema. Nothing is ever fetched, "
        "so a reference must stay within the schema.",
        "Correct the schema at the place that the message names: `type: object` at the root, known types, "
        "references to `#/$defs/...`.",
    ),
    "GMM210": Explanation(
        "The expression is legal JMESPath but hardly says what is meant: text in double quotes is the "
        "name of a field, and a comparison with a field that is not there is false for every session. The "
        "rule would never apply, and say nothing.",
        "Put text in single quotes (`level == 'easy'`) and numbers, true and false in backticks.",
    ),
    "GMM211": Explanation(
        "A `python:` source names its object as `module:attribute`, with `server:` and `app:` for the "
        "running objects. Anything else would be imported by guesswork.",
        'Write `python: "package.module:NAME"`, and give the arguments of a callable in `args` and `kwargs`.',
    ),
}

_TOGETHER: dict[str, Explanation] = {
    "GMM301": Explanation(
        "Two keys cannot hold together, or two places say different things about one field. Taking either "
        "would make the other a lie.",
        "Keep one of them, or split the entry in two; the finding shows the place, and the other one "
        "where there is one.",
    ),
    "GMM302": Explanation(
        "The key can never have an effect where it stands: a rule behind one that always decides, session "
        "rules without sessions. Whoever wrote it relies on something that does not happen.",
        "Leave the key out, or change what makes it idle; the help says which.",
    ),
    "GMM303": Explanation(
        "Every rule of `sessions.allow` may pass over a session, and the manifest does not say what holds "
        "then. All tools or none is the difference between a leak and a rollout that scores 0.",
        "Write `otherwise: all`, `otherwise: none`, or `otherwise: error` to refuse such a seed.",
    ),
}

_DATA: dict[str, Explanation] = {
    "GMM401": Explanation(
        "A data file that the manifest names cannot be used: it is no JSON, JSONL or YAML, has a key "
        "twice, holds NaN, or is no UTF-8 text. A source that is skipped for that would be a set of tools "
        "that is silently missing.",
        "Mend the file at the line shown. Data files end in `.json`, `.jsonl`, `.yaml` or `.yml`.",
    ),
    "GMM402": Explanation(
        "A data file must lie in the server's folder or below it, after links are followed. Otherwise a "
        "manifest could publish any file of the machine as tool descriptions.",
        "Copy the file into the server's folder and name it relative to that, with forward slashes. What "
        "lies elsewhere is named in the instance's `mcp:` block, which its operator writes.",
    ),
    "GMM403": Explanation(
        "What `select` chose is no tool spec: not an object, without a name, or with two schemas that "
        "differ. Half a spec would be a tool that no model can call.",
        "Point `select` at a list of objects with a `name` and `parameters` (or `input_schema`, "
        "`inputSchema`). For a whole row of a dataset that is `responses_create_params.tools[]`.",
    ),
    "GMM404": Explanation(
        "One name has two different specs. Whichever came last would win for every session, and half of "
        "the tasks would see arguments that are not theirs.",
        "Make the data agree, or write `on_conflict: first` on the source to keep the first.",
    ),
    "GMM405": Explanation(
        "A source gives no tool: no file matches, or `select`, `include` and `exclude` leave nothing. "
        "Rollouts would lack tools without anybody noticing.",
        "Correct the path or the expression. Where the data may be absent, set `optional: true` on the source.",
    ),
    "GMM406": Explanation(
        "The object that a `python:` source names cannot be had, or holds no tool specs. The boot stops, "
        "since the tools would otherwise be missing.",
        "Correct the reference, `args` and `kwargs`, or point `select` at the specs in what the object gives.",
    ),
}

_INSTANCE: dict[str, Explanation] = {
    "GMM501": Explanation(
        "The instance's configuration is no YAML mapping, or a value in it cannot be resolved, such as a "
        "variable of the environment that is not set. Values are never quoted here: they may be secrets.",
        "Correct the file at the place shown, or set the variable. `${oc.env:NAME,default}` gives a default.",
    ),
    "GMM502": Explanation(
        "A key of the instance's block looks like one of ours and is none, or stands outside of every "
        "instance. Frameworks drop keys that they do not know, so exposure would be off, or unprotected, "
        "without a word.",
        "Take the proposed key; it belongs under `NAME.resources_servers.FOLDER`.",
    ),
    "GMM503": Explanation(
        "The configuration has several instances, or none, that could be meant. The instance decides the "
        "server's name on the wire, and so the names that agents record.",
        "Name the instance with `--server`, or correct its name.",
    ),
    "GMM504": Explanation(
        "An override on the command line is not in Hydra's grammar, or its path leads nowhere. With `+` a "
        "misspelt key would be added beside the right one and change nothing.",
        "Write the full path as the configuration has it: `NAME.resources_servers.FOLDER.key=value`. "
        "Lists are set as a whole, or extended by their `_add` form.",
    ),
}

_PLAN: dict[str, Explanation] = {
    "GMM601": Explanation(
        "An entry of the manifest (a route, a key of `tools`, a glob, an argument, a name in a rule) "
        "matches nothing in this app. It is a misspelling, or the app has changed: what should be "
        "excluded would stay exposed.",
        "Take the proposed name. Where the route or tool may rightly be absent, mark the entry `optional: true`.",
    ),
    "GMM602": Explanation(
        "The handler has a shape for which a call in the tool's mode could answer differently from HTTP, or skip "
        "a guard. `direct` takes plain handlers alone: no query parameters, no `Depends`, no optional or several "
        "bodies, no other method than POST. `route` and `app` take nearly all. A wrong answer would look like a "
        "bad policy.",
        "Write `dispatch: route` for the tool, or keep the route HTTP-only; the finding has the line for either. "
        "docs/dispatch.md tells what each mode accepts.",
    ),
    "GMM603": Explanation(
        "Calls in mode `direct` and `route` leave the app's own middleware out, and this one would be skipped. "
        "If it checks a key, limits a rate or changes answers, MCP would differ from HTTP.",
        "Write `dispatch: app`, which runs it. If calls may go without it, name it in `skip_middleware`; it "
        "stays in place for HTTP.",
    ),
    "GMM604": Explanation(
        "It is not clear which dispatcher a `catch_all` entry is for: several are free, two entries want "
        "one, or the route has more than one path parameter. Tools would be called through the wrong one.",
        "Write the entry's `route` as the app spells it; one entry for each dispatcher.",
    ),
    "GMM605": Explanation(
        "HTTP would run another route, or none, for the request that a call of this tool makes, because "
        "an earlier route takes the same path. The tool would answer with another handler's reply.",
        "Register the general route last, or exclude the shadowed one.",
    ),
    "GMM606": Explanation(
        "Calls are bound to a session that `/seed_session` begins and `/verify` ends, both sharing a "
        "session cookie. Without them a rollout would have no token, and every call would fail.",
        "Add the route or Starlette's `SessionMiddleware`, or write `sessions: {mode: none}` for an app "
        "without sessions.",
    ),
    "GMM607": Explanation(
        "The app cannot be exposed as it is: it serves `/mcp` itself, has already started, or is exposed "
        "already. Two endpoints at one path would hide one another.",
        "Remove the other endpoint, and call `expose()` once, before the first request.",
    ),
    "GMM608": Explanation(
        "`routes.unlisted: error` asks that every route be listed, and this one is not. A new route would "
        "otherwise become a tool, or stay none, without anybody deciding so.",
        "Add the route to `routes.include` or to `routes.exclude`.",
    ),
    "GMM609": Explanation(
        "The app has a route with a path parameter that looks like a dispatcher, and the manifest says "
        "nothing about it. Its tools would be missing.",
        "Add a `catch_all` entry that names the data of its tools, or `ignore: true` for a trap for "
        "unknown names.",
    ),
    "GMM610": Explanation(
        "The target is no app, cannot be imported, or its manifest has another name than `mcp.yaml`. A "
        "manifest under another name would be passed over, and every route exposed.",
        "Name the app as a folder, `path/app.py:attr` or `module:attr`; make it importable; name another "
        "manifest in `mcp_manifest`.",
    ),
    "GMM611": Explanation(
        "The surface lock cannot be read, or was written by another version. Comparing with it would say "
        "that nothing moved, or everything.",
        "Write it anew with `gym-mcp plan TARGET --lock FILE`, and review the difference.",
    ),
    "GMM612": Explanation(
        "The hashes in the surface lock do not fit what it says: somebody changed it by hand. A lock is a "
        "record of what was, and a changed one proves nothing.",
        "Write it anew with `gym-mcp plan TARGET --lock FILE`.",
    ),
    "GMM620": Explanation(
        "An argument is hidden although the route requires it. Every call would be refused for an "
        "argument that no agent can see.",
        "Give it a fixed `value` or a `default`, or let it be seen.",
    ),
    "GMM621": Explanation(
        "The default or fixed value of an argument is not what the argument's schema allows. Every call "
        "that relies on it would fail.",
        "Write a value that the schema takes, or replace the schema by `input_schema`.",
    ),
    "GMM622": Explanation(
        "`output_schema: true` advertises the schema of the reply, and the route declares none. Clients "
        "check replies against what is advertised.",
        "Give the handler a response model, write the schema out, or leave `output_schema` out.",
    ),
}

_NAMES: dict[str, Explanation] = {
    "GMM701": Explanation(
        "The name of a tool has 1 to 128 of the letters `A-Z a-z 0-9 _ -`. Clients drop or rewrite other "
        "names, and two paths could become one name. Nothing is renamed silently.",
        "Give the tool a name under `tools`; the help proposes one.",
    ),
    "GMM702": Explanation(
        "`verify`, `seed_session`, `close_session`, `aggregate_metrics` and `mcp` belong to the harness. "
        "A tool of such a name would let an agent score itself.",
        "Choose another name, or take the route out of `routes.include`.",
    ),
    "GMM703": Explanation(
        "Two tools have the same name, as their own or as the one that agents see. A call could reach "
        "only one of them.",
        "Rename one under `tools`, or exclude it. The finding shows where both come from.",
    ),
    "GMM704": Explanation(
        "Agents put the server's name before the tool's (`mcp__office__send`), and some accept 64 "
        "characters at most. A longer name is cut or dropped: the tool is missing, or the recorded name "
        "stands for nothing.",
        "Give the tool a shorter name under `tools`, or raise `names.max_length` if your agents take longer ones.",
    ),
    "GMM705": Explanation(
        "A name as an agent records it could stand for several tools. `/verify` would have to guess which "
        "one was called, so it does not.",
        "Rename one of the tools, or name in `names.agents` only the agents that you use.",
    ),
    "GMM706": Explanation(
        "Each session's token is signed, and there is nothing to sign it with. Anybody could make up a "
        "token for another rollout.",
        "Set `mcp_secret` in the instance's block, or give the app Starlette's `SessionMiddleware`, whose "
        "key signs otherwise.",
    ),
    "GMM707": Explanation(
        "The schema is legal, but a client that people use rejects the tool for it, or the whole list of "
        "tools. Only rollouts with that client would fail.",
        "Spell the schema as the help says.",
    ),
    "GMM708": Explanation(
        "The tool has no description. Models choose tools by what they are said to do, and clients that "
        "search among many tools find them by their words: a tool without any is hardly ever called.",
        "Write a docstring on the handler, a description in the spec, or one under `tools`.",
    ),
    "GMM709": Explanation(
        "Every client puts the schemas of all tools into the model's context. Very large ones leave "
        "little room for the task itself, and some clients cut the list.",
        "Shorten the schema, or expose fewer tools: `exclude` on the source, and `sessions.allow` for "
        "what a rollout needs.",
    ),
    "GMM710": Explanation(
        "Two tools have the same description. A model has nothing to choose by but their names.",
        "Say in each what sets it apart from the other.",
    ),
}

#: Every code's explanation, in the order of the codes.
EXPLANATIONS: Mapping[str, Explanation] = MappingProxyType(
    {**_TEXT, **_SHAPE, **_TOGETHER, **_DATA, **_INSTANCE, **_PLAN, **_NAMES}
)

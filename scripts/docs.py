"""Write the generated parts of the documentation: `docs/codes.md`, the keys in `docs/language.md`, the shapes of
routes in `docs/dispatch.md`.

    python scripts/docs.py            write them anew
    python scripts/docs.py --check    exit 1 and name what is not up to date

The codes come from `gym_mcp_manifest/codes.py` and the cases in `tests/cases`, the keys from the models, the
shapes from `tests/dispatch`, where the tests run them.
"""

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "dispatch"))

from casebook import ARGUMENTS, MAKE, Case, read_cases
from shapes import GROUPS as SHAPE_GROUPS
from shapes import MODES, SHAPES, Shape

from gym_mcp_manifest.codes import EXPLANATIONS, GROUPS
from gym_mcp_manifest.diagnostics import CODES
from gym_mcp_manifest.manifest.schema import language_schema

ROOT = Path(__file__).parents[1]
CODES_PAGE = ROOT / "docs" / "codes.md"
LANGUAGE_PAGE = ROOT / "docs" / "language.md"
DISPATCH_PAGE = ROOT / "docs" / "dispatch.md"

#: The case that a code's section shows, where the first one is not the plainest.
_SHOWN = {
    "GMM101": "GMM101-no-such-file",
    "GMM103": "GMM103-null-character",
    "GMM105": "GMM105-colon-in-plain-text",
    "GMM106": "GMM106-twice-in-a-block",
    "GMM107": "GMM107-merge-key-with-an-override",
    "GMM108": "GMM108-number-as-a-tool",
    "GMM111": "GMM111-glob-without-quotes",
    "GMM117": "GMM117-no-is-text",
    "GMM118": "GMM118-comment-that-silences-nothing",
    "GMM201": "GMM201-unknown-key-in-routes",
    "GMM202": "GMM202-no-version",
    "GMM203": "GMM203-text-instead-of-a-list",
    "GMM204": "GMM204-key-without-a-value",
    "GMM206": "GMM206-timeout-of-calls",
    "GMM207": "GMM207-pattern-without-a-slash",
    "GMM208": "GMM208-words-of-python",
    "GMM209": "GMM209-type-that-does-not-exist",
    "GMM210": "GMM210-text-in-double-quotes",
    "GMM301": "GMM301-tools-and-from-in-one-rule",
    "GMM302": "GMM302-rule-that-is-never-reached",
    "GMM401": "GMM401-one-bad-line-of-jsonl",
    "GMM402": "GMM402-parent-folder",
    "GMM403": "GMM403-the-whole-file-instead-of-its-specs",
    "GMM404": "GMM404-rows-that-disagree",
    "GMM405": "GMM405-no-such-data-file",
    "GMM501": "GMM501-variable-that-is-not-set",
    "GMM502": "GMM502-misspelt-switch",
    "GMM503": "GMM503-two-instances",
    "GMM504": "GMM504-misspelt-key-with-a-plus",
    "GMM601": "GMM601-route-that-the-app-does-not-have",
    "GMM602": "GMM602-query-parameter",
    "GMM603": "GMM603-middleware-that-checks-a-key",
    "GMM604": "GMM604-two-dispatchers",
    "GMM606": "GMM606-no-verify",
    "GMM610": "GMM610-app-of-another-name",
    "GMM701": "GMM701-path-with-a-slash",
    "GMM702": "GMM702-tool-called-verify",
    "GMM703": "GMM703-renamed-to-the-name-of-another",
    "GMM707": "GMM707-property-that-claude-code-refuses",
    "GMM708": "GMM708-tool-without-a-word",
}
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".jsonl": "json", ".py": "python"}
#: Where the routes of the apps in the cases begin; what stands above is the same in all of them.
_PROTOCOL_END = 'return {"reward": 1.0}'
_PLAIN_HEAD = "from fastapi import FastAPI\nfrom starlette.middleware.sessions import SessionMiddleware\n"
_LONG = 40  # lines of a file that a section shows at most


def codes_page() -> str:
    """The page of all codes."""
    cases: dict[str, list[Case]] = {code: [] for code in CODES}
    for case in read_cases():
        if case.code in cases:
            cases[case.code].append(case)
    lines = [
        "# Codes of findings",
        "",
        "Every finding carries a code that never changes its meaning. `gym-mcp explain GMM106` tells about one on",
        "the command line. An error stops the boot; a warning is shown, and counts with `--strict`.",
        "",
        "The examples are cases of `tests/cases/err`, which the tests run: each gives the message shown, and",
        "nothing once it is mended. This page is written by `python scripts/docs.py`.",
        "",
    ]
    for digit, title in GROUPS.items():
        held = [code for code in CODES if code[3] == digit]
        lines += [f"- [{title}](#{_anchor(title)})"]
        lines += [f"  - [{code}](#{code.lower()}) {CODES[code]}" for code in held]
    for digit, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for code in (code for code in CODES if code[3] == digit):
            lines += ["", f"### {code}", "", *_section(code, cases[code])]
    return "\n".join(lines) + "\n"


def _section(code: str, cases: list[Case]) -> Iterator[str]:
    severities = sorted(
        {word for case in cases for word in ("error", "warning") if f"{word}[{code}]" in case.expected}
    )
    explanation = EXPLANATIONS[code]
    yield f"**{CODES[code]}** · {' or '.join(severities)}"
    yield from ("", explanation.why, "", f"*What to do.* {explanation.cure}")
    if not cases:
        return
    case = next((case for case in cases if case.folder.name == _SHOWN.get(code)), cases[0])
    names = list(_files_to_show(case, code))
    for name in names:
        label = () if names == ["mcp.yaml"] else (f"`{name}`:", "")
        yield from ("", *label, *_block(case.folder / name))
    if case.arguments()[0] != "validate":
        yield from ("", *_command(case.arguments()))
    yield from ("", "```text", *case.expected.splitlines(), "```")
    yield from _mended(case)


def _files_to_show(case: Case, code: str) -> Iterator[str]:
    """The manifest, the files that the findings of the code are about, and the app of a finding about the plan."""
    files = [path.relative_to(case.folder).as_posix() for path in sorted(case.folder.rglob("*")) if path.is_file()]
    named = {line.partition(":")[0] for line in case.expected.splitlines() if f"[{code}]" in line}
    wanted = {
        MAKE,
        *named,
        *(("app.py",) if code[3] in "67" else ()),
        *(("config.yaml",) if code[3] == "5" else ()),
    }
    shown = [name for name in files if name in wanted]
    manifest = case.folder / "mcp.yaml"
    # A manifest that says nothing is shown only where there is nothing else.
    if manifest.exists() and (not shown or "mcp.yaml" in named or manifest.read_bytes() != b"version: 1\n"):
        shown = ["mcp.yaml", *(name for name in shown if name != "mcp.yaml")]
    yield from shown


def _command(words: list[str]) -> Iterator[str]:
    yield from ("```console", f"$ gym-mcp {' '.join(_quoted(word) for word in words)}", "```")


def _block(path: Path) -> Iterator[str]:
    text = _readable(path.read_bytes())
    language = _LANGUAGES.get(path.suffix, "text") if text is not None else "text"
    text = text if text is not None else path.read_bytes().decode("utf-8", "backslashreplace")
    text = "".join(
        letter if letter.isprintable() or letter == "\n" else f"\\x{ord(letter):02x}" for letter in text
    )
    lines = text.removesuffix("\n").split("\n")
    if path.name == "app.py":
        lines = _without_protocol(text)
    if len(lines) > _LONG:
        lines = [*lines[:_LONG], "..."]
    yield from (f"```{language}", *lines, "```")


def _without_protocol(text: str) -> list[str]:
    """An app's source without what all apps of the cases have."""
    if not text.startswith(_PLAIN_HEAD) or _PROTOCOL_END not in text or "@app.middleware" in text:
        return text.rstrip("\n").split("\n")
    routes = text.partition(_PROTOCOL_END)[2].strip("\n").split("\n")
    return ["# ... the app, with sessions, /seed_session and /verify", "", "", *routes]


def _mended(case: Case) -> Iterator[str]:
    """What mends the case, as a difference where both can be read."""
    for path, source in case.fixes.items():
        if path.name == ARGUMENTS:
            yield from ("", "Mended:", "", *_command(case.arguments(fixed=True)))
            continue
        original = case.folder / path
        before = _readable(original.read_bytes()) if original.is_file() else None
        after = _readable(source.read_bytes()) or ""
        if before is None:
            yield from ("", f"Mended, `{path.as_posix()}`:", "", *_block(source))
            continue
        difference = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
        shown = [line for line in difference if not line.startswith(("---", "+++", "@@"))]
        yield from ("", f"Mended, in `{path.as_posix()}`:", "", "```diff", *shown, "```")


def _readable(content: bytes) -> str | None:
    """The text of a file, or None where it cannot be shown as it is."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(letter.isprintable() or letter in "\n\t" for letter in text) else None


def _quoted(word: str) -> str:
    return f"'{word}'" if any(letter in word for letter in "[]{}$ ") else word


def _anchor(title: str) -> str:
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def marked_page(page: Path, mark: str, text: str) -> str:
    """The page with what stands between its marks written anew."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page}: no {begin} ... {end}")
    return f"{before}{begin}\n{text}{end}{after}"


def shape_tables() -> str:
    """Which mode accepts which shape of a route: a table for each group, replies in one sentence."""
    lines: list[str] = []
    for group in SHAPE_GROUPS:
        held = [shape for shape in SHAPES if shape.group == group]
        lines += ["", f"### {group}", ""]
        if not any(shape.refused or shape.excluded for shape in held):
            titles = ", ".join(shape.title for shape in held)
            lines += textwrap.wrap(f"Every mode accepts whatever a handler does: {titles}.", 118)
            continue
        lines += [f"| the route | {' | '.join(f'`{mode}`' for mode in MODES)} |", "|---|" + "---|" * len(MODES)]
        lines += [_shape_row(shape) for shape in held]
    return "\n".join([*lines, "", ""])


def _shape_row(shape: Shape) -> str:
    cells = [shape.title]
    for mode in MODES:
        reason = shape.excluded or shape.refused.get(mode)
        cells.append(f"no: {reason}" if reason else "yes")
    # A bar ends a cell, within code as well.
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def key_reference() -> str:
    """Every key of the language under its path, from the JSON Schema that the models give."""
    schema = language_schema()
    entries: dict[str, list[tuple[str, bool, Mapping[str, Any]]]] = {}
    for path, kind, required, key in _keys("", schema, schema["$defs"]):
        entries.setdefault(path, []).append((kind, required, key))
    return "\n".join(line for path, found in entries.items() for line in _entry(path, found)) + "\n"


def _keys(
    prefix: str, section: Mapping[str, Any], sections: Mapping[str, Any], kind: str = ""
) -> Iterator[tuple[str, str, bool, Mapping[str, Any]]]:
    for name, key in section["properties"].items():
        path = f"{prefix}{name}"
        yield path, kind, name in section.get("required", ()), key
        inner = list(_inner(path, key, sections))
        for place, below in inner:
            which = below.get("required", [""])[0] if len(inner) > 1 else ""
            yield from _keys(f"{place}.", below, sections, which)


def _inner(
    path: str, key: Mapping[str, Any], sections: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The sections within a key, each with its path."""
    if "$ref" in key:
        yield path, sections[key["$ref"].rpartition("/")[2]]
    branches = (key[word] for word in ("then", "else") if word in key)
    for choice in (*key.get("anyOf", ()), *key.get("oneOf", ()), *branches):
        yield from _inner(path, choice, sections)
    if isinstance(key.get("items"), dict):
        yield from _inner(f"{path}[]", key["items"], sections)
    if isinstance(key.get("additionalProperties"), dict):
        yield from _inner(f"{path}.NAME", key["additionalProperties"], sections)


def _entry(path: str, found: list[tuple[str, bool, Mapping[str, Any]]]) -> Iterator[str]:
    yield from (f"### `{path}`", "")
    said: dict[tuple[str, ...], list[str]] = {}
    for kind, required, key in found:
        duty = "must be written" if required and not path.endswith(f".{kind}") else ""
        said.setdefault(tuple(_paragraphs(key, duty)), []).append(kind)
    for paragraphs, kinds in said.items():
        named = [f"`{kind}`" for kind in kinds if kind and not path.endswith(f".{kind}")]
        if named:
            yield from (f"In a source with {' or '.join(named)}:", "")
        for paragraph in paragraphs:
            yield from (paragraph, "")


def _paragraphs(key: Mapping[str, Any], duty: str) -> Iterator[str]:
    if key.get("not") == {}:
        yield "*Comes with a later release; refused until then.*"
    else:
        facts = [_type(key).capitalize() if not _type(key).startswith("`") else _type(key)]
        if duty:
            facts.append(duty)
        elif "default" in key:
            facts.append(f"default {_yaml(key['default'])}")
        yield " · ".join(facts)
    if key.get("enum") == [None]:
        yield "*Its feature comes with a later release.*"
    yield str(key.get("description", ""))
    if key.get("examples"):
        yield "For example " + ", ".join(_yaml(example) for example in key["examples"]) + "."


def _type(key: Mapping[str, Any]) -> str:
    """What may be written, in the language's words."""
    for part in key.get("allOf", ()):
        key = {**part, **key}
    if "enum" in key:
        return (
            "one of " + ", ".join(_yaml(choice) for choice in key["enum"]) if key["enum"] != [None] else "`null`"
        )
    if "const" in key:
        return f"{_yaml(key['const'])} only"
    choices = (*key.get("anyOf", ()), *key.get("oneOf", ()))
    if choices:
        return " or ".join(dict.fromkeys(_type(choice) for choice in choices))
    kinds = key.get("type", "object" if "$ref" in key or "properties" in key else ())
    names = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "mapping"}
    names["array"] = f"list of {_type(key['items'])}" if key.get("items") else "list"
    words = [names.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if "minimum" in key:
        words[-1] += f", at least {key['minimum']}"
    return " or ".join(words) or "anything"


def _yaml(value: Any) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def pages() -> dict[Path, str]:
    """Every page that this script writes, as it should be."""
    return {
        CODES_PAGE: codes_page(),
        LANGUAGE_PAGE: marked_page(LANGUAGE_PAGE, "keys", key_reference()),
        DISPATCH_PAGE: marked_page(DISPATCH_PAGE, "shapes", shape_tables()),
    }


def main() -> None:
    """Write the pages, or compare."""
    stale = {page: text for page, text in pages().items() if not page.exists() or page.read_text("utf-8") != text}
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is not up to date; run: python scripts/docs.py", file=sys.stderr)
        sys.exit(bool(stale))
    for page, text in stale.items():
        page.write_text(text, encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

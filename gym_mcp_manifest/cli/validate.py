"""`gym-mcp validate`: manifests and their data files, without any app."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span, sorted_diagnostics
from gym_mcp_manifest.manifest.loader import DEFAULT_MANIFEST_NAME, read_manifest_source
from gym_mcp_manifest.manifest.source import MAX_BYTES, decode_source, read_source
from gym_mcp_manifest.manifest.speccheck import check_specs
from gym_mcp_manifest.render.findings import counted, findings_json, print_findings, summary

__all__ = ["Format", "run_validate"]

Format = Literal["text", "json", "github", "sarif"]

_STDIN = "<stdin>"
_MANIFEST_NAMES = (DEFAULT_MANIFEST_NAME, "mcp.yml")
#: What is found in the text of a manifest alone, and what also in the data that it names.
_TEXT_CODES = frozenset(code for code in CODES if code < "GMM4")
_DATA_CODES = frozenset(code for code in CODES if code < "GMM5")


def run_validate(
    files: list[str], output: Format | None, *, strict: bool, data: Path | None, recursive: bool = False
) -> int:
    """Check every file and print all findings; the exit code.

    Without files it checks the manifest of the current folder; without an output, it is text for people, or
    annotations where GitHub Actions reads along. `recursive` finds the manifests below folders.
    """
    if recursive:
        files = [found for name in files or ["."] for found in _manifests_below(name)]
    names = tuple(dict.fromkeys(files))
    sources = {_STDIN: sys.stdin.buffer.read(MAX_BYTES + 1)} if "-" in names else {}
    checked = [_check(name, sources, data) for name in names] if names else [_check_here(data)]
    found = sorted_diagnostics(finding for findings in checked for finding in findings)
    default: Format = "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    _print(found, output or default, len(checked), sources)
    return int(any(d.severity == "error" or strict for d in found))


def _manifests_below(name: str) -> list[str]:
    """The manifests in a folder and below it, sorted; the name itself where it is no folder or holds none."""
    found = []
    for folder, inner, files in os.walk(name):
        is_environment = "pyvenv.cfg" in files
        inner[:] = [] if is_environment else [n for n in inner if not n.startswith(".") and n != "node_modules"]
        if not is_environment:
            found += [os.path.normpath(os.path.join(folder, n)) for n in _MANIFEST_NAMES if n in files]  # noqa: PTH118
    return sorted(found) or [name]


def _check_here(data: Path | None) -> Iterable[Diagnostic]:
    if Path(DEFAULT_MANIFEST_NAME).exists():
        return _check(DEFAULT_MANIFEST_NAME, {}, data)
    hint = "name a manifest or its folder: `gym-mcp validate PATH`; `-` reads standard input"
    hint = _where_else(Path()) or hint
    return (_absent("this folder holds no mcp.yaml", Path(), hint),)


def _check(name: str, sources: Mapping[str, bytes], data: Path | None) -> Iterable[Diagnostic]:
    if name == "-":
        source, found = decode_source(_STDIN, sources[_STDIN])
        folder = data
    else:
        path = Path(name)
        if path.is_dir():
            path, name = path / DEFAULT_MANIFEST_NAME, os.path.join(name, DEFAULT_MANIFEST_NAME)  # noqa: PTH118
            if not path.exists():
                hint = _where_else(path.parent) or "name the manifest itself where it is called otherwise"
                return (_absent("the folder holds no mcp.yaml", path.parent, hint, name),)
        source, found = read_source(path, name=name)
        folder = data or path.parent
    if source is None:
        return found
    manifest, found = read_manifest_source(source, folder)
    codes = _TEXT_CODES if manifest else frozenset()
    if manifest is not None and folder is not None:
        found, codes = (*found, *_fresh(check_specs(manifest, folder), found)), _DATA_CODES
    elif folder is not None:
        from gym_mcp_manifest.manifest.remains import remaining_findings  # not imported where all is in order

        found = (*found, *_fresh(remaining_findings(source, folder), found))
    if "gmm:" not in source.text.lower():
        return found
    from gym_mcp_manifest.manifest.ignores import silenced  # not imported where nothing is to be silenced

    return silenced(found, source, codes)


def _fresh(data: Iterable[Diagnostic], found: tuple[Diagnostic, ...]) -> Iterable[Diagnostic]:
    """The findings about data without those at the places of errors: what cannot be read spoils its schema too."""
    faulty = {d.span for d in found if d.severity == "error" and d.line}
    return (d for d in data if d.span not in faulty)


def _where_else(folder: Path) -> str | None:
    """What to do about a folder without a manifest that has some in the two levels below it."""
    # No deeper: nobody waits for a walk through a home folder.
    below = (path for levels in ("*", "*/*") for path in folder.glob(f"{levels}/{DEFAULT_MANIFEST_NAME}"))
    first = next(below, None)
    return f"`gym-mcp validate -r {folder}` checks the manifests below it, such as {first}" if first else None


def _absent(message: str, folder: Path, hint: str, name: str = DEFAULT_MANIFEST_NAME) -> Diagnostic:
    other = next((n for n in ("mcp.yml", "mcp.json") if (folder / n).exists()), None)
    hint = f"rename `{other}` to `{DEFAULT_MANIFEST_NAME}`" if other else hint
    return Diagnostic(code="GMM101", message=message, span=Span(name, 1, 1), hint=hint)


def _print(found: tuple[Diagnostic, ...], output: Format, files: int, sources: Mapping[str, bytes]) -> None:
    match output:
        case "json":
            print(findings_json(found, files))
        case "sarif":
            from gym_mcp_manifest.render.sarif import findings_sarif

            print(findings_sarif(found, _root()))
        case "github":
            from gym_mcp_manifest.render.github import github_commands, unshown

            print(*github_commands(found, _root()), sep="\n", end="\n" if found else "")
            _tell(found, files, unshown(found))
        case "text":
            if found:
                from gym_mcp_manifest.render.console import open_console

                print_findings(found, open_console(), sources)
            _tell(found, files, None)


def _tell(found: tuple[Diagnostic, ...], files: int, advice: str | None) -> None:
    print(f"{counted(files, 'file')} checked: {summary(found)}", file=sys.stderr)
    if advice:
        print(advice, file=sys.stderr)


def _root() -> Path:
    """The folder from which code hosts name files."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())

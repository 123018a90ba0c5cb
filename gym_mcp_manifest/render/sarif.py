"""Findings as SARIF 2.1.0, the form that code scanning services take."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gym_mcp_manifest.diagnostics import CODES, Diagnostic, Span
from gym_mcp_manifest.render.files import relative_to_root
from gym_mcp_manifest.version import __version__

__all__ = ["findings_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
#: Changes when the same finding would get another fingerprint.
_FINGERPRINT = "gymMcpFinding/v1"
_POSITION = re.compile(r":\d+:\d+")


def findings_sarif(found: Iterable[Diagnostic], root: Path) -> str:
    """One SARIF log with one run; files in the folder `root` are named from there.

    The rules are those that were broken. A fingerprint is made of code, file and message, so that it stays
    when lines move; equal ones in a file are told apart by their order.
    """
    found = tuple(found)
    codes = sorted({d.code for d in found})
    run = {
        "tool": {"driver": {"name": "gym-mcp", "version": __version__, "rules": [_rule(code) for code in codes]}},
        # Where the root lies is the business of whoever reads the log.
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the checked-out repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(found, codes, root)),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(code: str) -> dict[str, Any]:
    meaning = {"text": f"{CODES[code][:1].upper()}{CODES[code][1:]}."}
    name = "".join(word.capitalize() for word in re.findall(r"\w+", CODES[code]))
    advice = {"text": "Each result says what was found, and what would mend it."}
    return {"id": code, "name": name, "shortDescription": meaning, "fullDescription": meaning, "help": advice}


def _results(found: Iterable[Diagnostic], codes: list[str], root: Path) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for d in found:
        cause = (d.code, _uri(d.span.file, root) if d.span else "", _POSITION.sub("", d.message))
        seen[cause] += 1
        result = {
            "ruleId": d.code,
            "ruleIndex": codes.index(d.code),
            "level": d.severity,
            "message": {"text": f"{d.message}\nhelp: {d.hint}" if d.hint else d.message},
            "locations": [{"physicalLocation": _physical(d.span, root)}] if d.span else [],
            "partialFingerprints": {_FINGERPRINT: _digest(*cause, str(seen[cause]))},
        }
        if d.related:
            result["relatedLocations"] = [
                {"id": number, "physicalLocation": _physical(span, root), "message": {"text": note}}
                for number, (note, span) in enumerate(d.related, start=1)
            ]
        yield result


def _physical(span: Span, root: Path) -> dict[str, Any]:
    # Code scanning refuses a result without a line; a finding about the whole file is shown at its first.
    region = {"startLine": span.line or 1}
    if span.line and span.column:
        region["startColumn"] = span.column
        region["endLine"] = span.end_line or span.line
        region["endColumn"] = span.end_column or span.column + 1
    return {"artifactLocation": _artifact(span.file, root), "region": region}


def _artifact(file: str, root: Path) -> dict[str, str]:
    uri = _uri(file, root)
    return {"uri": uri} if file.startswith("<") or uri.startswith("file:") else {"uri": uri, "uriBaseId": _ROOT}


def _uri(file: str, root: Path) -> str:
    if file.startswith("<"):  # standard input is no file of the repository
        return quote(file)
    path = relative_to_root(file, root)
    # A colon in the first segment would make a scheme of what stands before it.
    return Path(path).as_uri() if path.startswith("/") else quote(path, safe="/")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

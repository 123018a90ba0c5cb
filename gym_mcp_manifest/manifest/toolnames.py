"""Names that tools may be exposed by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gym_mcp_manifest.diagnostics import Diagnostic, Span

__all__ = ["RESERVED_NAMES", "is_legal_name", "legal_name_near", "name_findings"]

#: Names of the harness's own routes; never tools.
RESERVED_NAMES = frozenset({"verify", "seed_session", "close_session", "aggregate_metrics", "mcp"})

_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def is_legal_name(name: str) -> bool:
    """Whether MCP clients take the name."""
    return _LEGAL_NAME.fullmatch(name) is not None


def legal_name_near(name: str) -> str:
    """A legal name that looks like this one."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:128] or "root"


def name_findings(
    name: str, key: str, origin: str, span: Span | None, proposal: str | None = None
) -> Iterator[Diagnostic]:
    """The finding about an exposed name that is reserved or illegal.

    `key` is what `tools` calls the tool by, `origin` its route in words, `proposal` a better name.
    """
    if name in RESERVED_NAMES:
        message = f"the tool name {name!r} of {origin} is reserved for the harness"
        hint = f"write `tools: {{{key!r}: {{name: another_name}}}}`"
        yield Diagnostic(code="GMM702", message=message, span=span, hint=hint)
    elif not is_legal_name(name):
        message = f"{name!r} is no legal tool name ([A-Za-z0-9_-], 1 to 128 of them)"
        hint = f"write `tools: {{{key!r}: {{name: {proposal or legal_name_near(name)}}}}}`"
        yield Diagnostic(code="GMM701", message=message, span=span, hint=hint)

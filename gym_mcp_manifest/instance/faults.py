"""What is wrong with a configuration, in words that never quote a value: it may be a secret."""

from __future__ import annotations

import re

from gym_mcp_manifest.diagnostics import Diagnostic, Span
from gym_mcp_manifest.errors import ManifestInvalid

__all__ = ["invalid", "reason_of"]

#: What OmegaConf may say about names; the rest of its messages may quote values.
_QUOTABLE = re.compile(
    r"Environment variable '[^']*' not found|Interpolation key '[^']*' not found"
    r"|Unsupported interpolation type \S+|Missing mandatory value"
)


def invalid(
    code: str,
    message: str,
    place: str | Span,
    hint: str | None = None,
    related: tuple[tuple[str, Span], ...] = (),
) -> ManifestInvalid:
    """The error for one finding about the configuration."""
    span = place if isinstance(place, Span) else Span(place)
    return ManifestInvalid([Diagnostic(code=code, message=message, span=span, hint=hint, related=related)])


def reason_of(error: BaseException) -> str:
    """What went wrong, with the key or variable but without the values that messages may quote."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "the text is not UTF-8"
    key, known = getattr(error, "full_key", None), _QUOTABLE.search(str(error))
    reason = getattr(error, "problem", None) or (known[0] if known else "an invalid value or interpolation")
    if reason.startswith("but "):  # PyYAML's second half of a sentence
        reason = f"{getattr(error, 'context', '')}, {reason}"
    return f"{reason} (`{key}`)" if key else reason

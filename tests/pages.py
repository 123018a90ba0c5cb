"""The pages for people: their fenced examples, each with what it claims to be."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What has examples. `docs/codes.md` is made of the cases in `tests/cases`, which are run by themselves.
PAGES = tuple(
    page
    for page in (
        *sorted(ROOT.glob("*.md")),
        *sorted(ROOT.glob("docs/*.md")),
        *sorted(ROOT.glob("manifests/**/*.md")),
    )
    if page.name not in ("CHANGELOG.md", "codes.md")
)

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One fenced block; `error` is the code or exit code that its info string announces."""

    place: str
    language: str
    text: str
    error: str | None

    @property
    def kind(self) -> str:
        """What the block is: a manifest, a configuration, hooks of pre-commit, a workflow, or its language."""
        if self.language != "yaml":
            return "console" if self.language == "bash" else self.language
        if self.text.startswith("repos:"):
            return "hooks"
        if self.text.startswith("on:"):
            return "workflow"
        # A manifest never says whether anything is exposed; a configuration always does.
        return "configuration" if "expose_tools_over_mcp" in self.text else "manifest"

    @property
    def manifest(self) -> str:
        """The text of a manifest, completed where it is only a part of one."""
        return self.text if re.search(r"^version:", self.text, re.MULTILINE) else f"version: 1\n{self.text}"


@dataclass(frozen=True)
class Command:
    """One `gym-mcp ...` of a console example, with what it prints where the page shows that."""

    place: str
    words: tuple[str, ...]
    shown: str
    exit_code: int


def examples(*pages: Path) -> tuple[Example, ...]:
    """The examples of some pages, or of all."""
    return tuple(example for page in pages or PAGES for example in _examples(page))


def commands(*pages: Path) -> tuple[Command, ...]:
    """The commands that end by themselves, of some pages or of all."""
    return tuple(c for e in examples(*pages) if e.kind == "console" for c in _commands(e))


def _examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        error = re.search(r"error=(\w+)", match[2])
        place = f"{page.relative_to(ROOT)}:{line}"
        yield Example(place, match[1], match[3], error[1] if error else None)


def _commands(example: Example) -> Iterator[Command]:
    prompt = r"^" if example.language == "bash" else r"^\$ "
    for part in re.split(prompt, example.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = tuple(shlex.split(line, comments=True))
        if words[:1] == ("gym-mcp",) and "serve" not in words:
            yield Command(example.place, words[1:], shown.strip(), int(example.error or 0))

"""The documentation holds: its examples run, its generated parts are up to date, and nothing is left out."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import PAGES, ROOT, Command, Example, commands, examples

from gym_mcp_manifest.codes import EXPLANATIONS, GROUPS
from gym_mcp_manifest.diagnostics import CODES, Diagnostic
from gym_mcp_manifest.instance import read_instance
from gym_mcp_manifest.manifest.keys import Path as KeyPath
from gym_mcp_manifest.manifest.keys import known_keys, list_default, section_at
from gym_mcp_manifest.manifest.loader import Manifest, manifest_from_mapping, read_manifest_source
from gym_mcp_manifest.manifest.source import decode_source

CODES_PAGE = ROOT / "docs" / "codes.md"
LANGUAGE_PAGE = ROOT / "docs" / "language.md"
EXAMPLES = examples()


def of_kind(kind: str) -> list[Example]:
    return [example for example in EXAMPLES if example.kind == kind]


def place(thing: Example | Command) -> str:
    return thing.place


def read(example: Example) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    source, _ = decode_source(example.place, example.manifest.encode())
    assert source is not None
    return read_manifest_source(source, None)


@pytest.mark.parametrize("example", [e for e in of_kind("manifest") if not e.error], ids=place)
def test_every_manifest_is_valid(example: Example) -> None:
    manifest, found = read(example)
    assert manifest is not None, found
    assert [d for d in found if d.severity == "error"] == []


@pytest.mark.parametrize("example", [e for e in of_kind("manifest") if e.error], ids=place)
def test_every_faulty_manifest_has_the_fault_that_it_shows(example: Example) -> None:
    _, found = read(example)
    assert [d.code for d in found] == [example.error]


@pytest.mark.parametrize("example", of_kind("configuration"), ids=place)
def test_every_configuration_is_valid(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SECRET", "a secret")
    monkeypatch.setenv("API_KEY", "a key")
    config = tmp_path / "config.yaml"
    config.write_text(example.text, encoding="utf-8")
    instance = read_instance(config)
    assert instance.on
    manifest_from_mapping({"version": 1}).under_layers(instance.layers)


@pytest.mark.parametrize("command", commands(), ids=place)
def test_every_command_runs(command: Command) -> None:
    run = [sys.executable, "-m", "gym_mcp_manifest", *command.words]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == command.exit_code, done.stderr
    if command.shown:
        assert done.stdout.strip() == command.shown


def test_every_example_is_of_a_kind_that_is_looked_at() -> None:
    assert {example.kind for example in EXAMPLES} <= {
        "manifest",
        "configuration",
        "hooks",
        "workflow",
        "console",
        "python",
        "text",
        "json",
        "lua",
    }


def test_the_generated_parts_are_up_to_date() -> None:
    stale = [
        str(page.relative_to(ROOT))
        for page, text in runpy.run_path(str(ROOT / "scripts" / "docs.py"))["pages"]().items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run: python scripts/docs.py"


# Nothing is left out.


def test_every_code_is_explained() -> None:
    assert list(EXPLANATIONS) == list(CODES)
    assert {code[3] for code in CODES} == GROUPS.keys()


@pytest.mark.parametrize("code", EXPLANATIONS)
def test_an_explanation_says_why_and_what_to_do(code: str) -> None:
    for text in (EXPLANATIONS[code].why, EXPLANATIONS[code].cure):
        assert text.endswith(".")
        assert 1 <= len(re.findall(r"[.?!](?= [A-Z`]|$)", text)) <= 4
        assert "  " not in text


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_section_with_an_example(code: str) -> None:
    section = CODES_PAGE.read_text(encoding="utf-8").partition(f"\n### {code}\n")[2].partition("\n### ")[0]
    assert CODES[code] in section
    assert f"[{code}]" in section


def keys(path: KeyPath = (), shown: str = "") -> Iterator[str]:
    """The paths of all keys as the page shows them, by the models."""
    for key in known_keys(path):
        yield shown + key
        inner, joint = ((0,), "[].") if list_default((*path, key)) is not None else (("NAME",), ".NAME.")
        for steps, below in (((), "."), (inner, joint)):
            if section_at((*path, key, *steps)):
                yield from keys((*path, key, *steps), shown + key + below)


@pytest.mark.parametrize("key", tuple(dict.fromkeys(keys())))
def test_every_key_has_a_section(key: str) -> None:
    section = LANGUAGE_PAGE.read_text(encoding="utf-8").partition(f"\n### `{key}`\n")[2].partition("\n### ")[0]
    assert len(section.strip().splitlines()) >= 2


def test_every_section_is_of_a_key() -> None:
    page = LANGUAGE_PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^### `(.+)`$", page, re.MULTILINE) == list(dict.fromkeys(keys()))


@pytest.mark.parametrize("page", [*PAGES, CODES_PAGE], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        other = (page.parent / file).resolve() if file else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target

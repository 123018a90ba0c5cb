"""docs/configuration.md is true: its tables, its worked examples, and what its commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT, commands, examples

from gym_mcp_manifest.instance import read_instance
from gym_mcp_manifest.instance.nodes import OURS
from gym_mcp_manifest.manifest.loader import Manifest, load_manifest, manifest_from_mapping

PAGE = ROOT / "docs" / "configuration.md"
TEXT = PAGE.read_text(encoding="utf-8")
MANIFESTS = [example for example in examples(PAGE) if example.kind == "manifest"]
CONFIGURATIONS = [example for example in examples(PAGE) if example.kind == "configuration"]
REFUSED = [command for command in commands(PAGE) if command.exit_code]
SHOWN = [example.text.strip() for example in examples(PAGE) if example.kind == "text"]
MCP = "shop.resources_servers.shop.mcp"


def cells(heading: str) -> Iterator[list[str]]:
    """The rows of the first table behind a heading."""
    rows = TEXT.partition(f"\n{heading}\n")[2].partition("\n|")[2].split("\n\n")[0].splitlines()[2:]
    yield from ([cell.strip() for cell in row.strip("|").split(" | ")] for row in rows)


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The files of the worked examples."""
    (manifest,) = MANIFESTS
    (config,) = (example for example in CONFIGURATIONS if example.text.startswith("shop:"))
    (tmp_path / "mcp.yaml").write_text(manifest.text, encoding="utf-8")
    (tmp_path / "config.yaml").write_text(config.text, encoding="utf-8")
    return tmp_path


def under(folder: Path, *overrides: str) -> Manifest:
    instance = read_instance(folder / "config.yaml", None, overrides)
    return load_manifest(folder / "mcp.yaml").under_layers(instance.layers)


@pytest.mark.parametrize("row", [*cells("### Worked examples")], ids=" ".join)
def test_every_worked_example_comes_out_as_it_says(row: list[str], shop: Path) -> None:
    overrides, (says,) = quoted(row[0]), quoted(row[1])
    ((path, expected),) = yaml.safe_load(says).items()
    merged: Any = under(shop, *(text.replace("MCP", MCP) for text in overrides)).layered.data
    assert reduce(lambda value, step: value[step], path.split("."), merged) == expected


def test_the_keys_are_those_that_there_are() -> None:
    assert [quoted(row[0])[0] for row in cells("## Keys of the block")] == list(OURS)


@pytest.mark.parametrize(("command", "shown"), list(zip(REFUSED, SHOWN, strict=True)))
def test_a_refused_command_says_what_is_shown(command: Any, shown: str) -> None:
    run = [sys.executable, "-m", "gym_mcp_manifest", *command.words]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.stderr.strip() == shown


def test_the_literal_text_comes_out_as_it_says(tmp_path: Path) -> None:
    (example,) = (example for example in CONFIGURATIONS if "greeting" in example.text)
    config = tmp_path / "config.yaml"
    config.write_text(example.text, encoding="utf-8")
    manifest = manifest_from_mapping({"version": 1}).under_layers(read_instance(config).layers)
    tool = manifest.language.tools["search"]
    said = quoted(TEXT.rpartition("gives the title")[2])
    assert [tool.title, tool.description] == said

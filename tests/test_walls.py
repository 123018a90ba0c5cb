"""Data flow one way: what a module may import, and what each command may load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_mcp_manifest.diagnostics import CODES

PACKAGE = Path(__file__).parents[1] / "gym_mcp_manifest"
NAME = PACKAGE.name
FILES = sorted(PACKAGE.rglob("*.py"))

#: The stages from the first to the last: each imports only from itself and from those above it.
STAGES: tuple[tuple[str, ...], ...] = (
    ("version",),
    ("diagnostics",),
    ("errors",),
    ("jsontext",),
    ("codes",),
    ("manifest",),
    ("instance",),
    ("routes",),
    ("plan",),
    ("surface",),
    ("draft",),
    ("exchange",),
    ("session",),
    ("explain",),
    ("verify",),
    ("dispatch",),
    ("protocol",),
    ("endpoint",),
    ("install",),
    ("parity",),
    ("render",),
    ("cli",),
    ("__main__",),
)
ORDER = {stage: rank for rank, stages in enumerate(STAGES) for stage in stages}

#: Who alone may import a library, by stage or module.
WALLS: dict[str, tuple[str, ...]] = {
    "mcp": ("endpoint",),
    "mcp_types": ("endpoint",),
    "omegaconf": ("instance",),
    "hydra": ("instance",),
    "itsdangerous": ("session",),
    "jmespath": ("manifest",),
    "yaml": ("manifest", "instance"),
    "jsonschema": ("manifest",),
    "typer": ("cli",),
    "click": (),
    "rich": ("render", "cli"),
    "uvicorn": ("cli",),
    "httpx": ("cli", "endpoint", "parity"),
}
WEB = ("fastapi", "starlette")
#: The stages that read without any app.
OFFLINE = (
    "version",
    "diagnostics",
    "errors",
    "manifest",
    "instance",
    "render.findings",
    "render.console",
    "render.files",
    "render.github",
    "render.sarif",
    "render.snippets",
    "cli.validate",
    "cli.schema",
    "cli.explain",
    "render.handbook",
    "cli.main",
)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, at the top, in a function or for types only, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            assert node.module is not None
            yield node.module, node.lineno


def is_within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_module_imports_only_from_its_stage_and_those_above(path: Path) -> None:
    here = module_of(path)
    if not here:
        return  # the package itself hands out names of every stage, on first use
    for module, line in imports(path):
        package, _, inner = module.partition(".")
        if package == NAME and inner:
            stage = inner.split(".")[0]
            assert ORDER[stage] <= ORDER[here.split(".")[0]], f"{path}:{line}: {here} imports from {inner}"


@pytest.mark.parametrize("library", WALLS)
def test_a_library_is_imported_only_behind_its_wall(library: str) -> None:
    found = {
        f"{path}:{line}"
        for path in FILES
        for module, line in imports(path)
        if module.split(".")[0] == library and not is_within(module_of(path), WALLS[library])
    }
    assert found == set()


def test_the_stages_that_read_know_no_web_framework() -> None:
    found = {
        f"{path}:{line}"
        for path in FILES
        for module, line in imports(path)
        if module.split(".")[0] in WEB and is_within(module_of(path), OFFLINE)
    }
    assert found == set()


def test_every_stage_is_in_the_table() -> None:
    stages = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} - {"__init__"}
    assert stages == ORDER.keys()


@pytest.mark.parametrize(
    ("module", "banned"),
    [
        (
            "gym_mcp_manifest",
            {"fastapi", "starlette", "mcp", "mcp_types", "hydra", "omegaconf", "yaml", "pydantic"},
        ),
        (
            "gym_mcp_manifest.manifest.loader",
            {"fastapi", "starlette", "mcp", "mcp_types", "hydra", "omegaconf", "rich"},
        ),
        (
            "gym_mcp_manifest.manifest.specs",
            {"fastapi", "starlette", "mcp", "mcp_types", "hydra", "omegaconf", "rich"},
        ),
        ("gym_mcp_manifest.instance", {"fastapi", "starlette", "mcp", "mcp_types", "hydra", "omegaconf"}),
        ("gym_mcp_manifest.plan", {"mcp", "mcp_types", "hydra", "omegaconf", "uvicorn", "typer"}),
        ("gym_mcp_manifest.install", {"hydra", "omegaconf", "uvicorn", "typer", "rich"}),
    ],
)
def test_what_an_import_loads(module: str, banned: set[str]) -> None:
    driver = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, timeout=60, check=True)
    assert not banned & set(done.stdout.split())


# Codes.

CODE = re.compile(r"\"(GMM\d{3})\"")


def test_every_code_in_use_is_registered_and_every_registered_one_is_in_use() -> None:
    used = {
        code
        for path in FILES
        if path.name not in ("diagnostics.py", "codes.py")
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert used - CODES.keys() == set()
    assert CODES.keys() - used == set()


def test_codes_have_a_meaning_and_stand_in_order() -> None:
    assert list(CODES) == sorted(CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert all(meaning and not meaning.endswith(".") for meaning in CODES.values())

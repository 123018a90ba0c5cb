"""The golden folder `tests/cases`: its cases, and what `gym-mcp` says about each of them.

Run as a program it prints, as JSON, what every case gives, under the YAML reader that it is told to use:

    python tests/casebook.py libyaml|python
"""

import io
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
EXPECTED, TOOLS, ARGUMENTS, MAKE = "expected.txt", "tools.txt", "arguments.txt", "make.py"
# These tell about the case; the command never sees them.
_ABOUT = (EXPECTED, TOOLS, ARGUMENTS, "fixed", "fixed.yaml")

_HEAD = re.compile(r"(?:.+: )?(?:error|warning)\[GMM\d{3}\] ")
_NOTE = re.compile(r"  (?:note|help): ")


@dataclass(frozen=True)
class Case:
    """One folder of `ok` or `err`."""

    folder: Path

    @property
    def name(self) -> str:
        """Kind and folder: `err/GMM106-twice-in-a-block`."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def code(self) -> str:
        """The code that an `err` case is about."""
        return self.folder.name.partition("-")[0]

    @property
    def expected(self) -> str:
        """The findings as they are printed, without the lines of the file; empty for none."""
        path = self.folder / EXPECTED
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def arguments(self, *, fixed: bool = False) -> list[str]:
        """The words after `gym-mcp`."""
        for path in (self.folder / "fixed" / ARGUMENTS, self.folder / ARGUMENTS)[not fixed :]:
            if path.exists():
                return shlex.split(path.read_text(encoding="utf-8"))
        return ["plan", "."] if (self.folder / "app.py").exists() else ["validate", "mcp.yaml"]

    @property
    def fixes(self) -> dict[Path, Path]:
        """The files of the mended case, by their path in it."""
        overlay, manifest = self.folder / "fixed", self.folder / "fixed.yaml"
        fixes = {path.relative_to(overlay): path for path in sorted(overlay.rglob("*")) if path.is_file()}
        return {**fixes, **({Path("mcp.yaml"): manifest} if manifest.exists() else {})}


def read_cases() -> tuple[Case, ...]:
    """All cases, sorted."""
    return tuple(
        Case(path) for kind in ("err", "ok") for path in sorted((CASES / kind).iterdir()) if path.is_dir()
    )


def lay_out(case: Case, target: Path, *, fixed: bool) -> None:
    """Copy the case to `target`, mended or not, and make what a repository should not hold."""
    shutil.copytree(case.folder, target, ignore=shutil.ignore_patterns(*_ABOUT, "__pycache__"))
    with chdir(target):
        if (target / MAKE).exists():
            runpy.run_path(MAKE)
            Path(MAKE).unlink()
        for path, source in case.fixes.items() if fixed else ():
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                shutil.rmtree(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
        if fixed and case.folder.parent.name == "ok":
            raise ValueError(f"{case.name} needs no mending")


def findings_of(case: Case, *, fixed: bool = False) -> str:
    """What the command prints about the case: the findings without the lines of the file."""
    with tempfile.TemporaryDirectory() as parent:
        # Some commands call an instance like its folder.
        folder = Path(parent).resolve() / "case"
        lay_out(case, folder, fixed=fixed)
        said = _run(case.arguments(fixed=fixed), folder)
    lines = (line.replace(f"{folder}/", "") for line in said.splitlines())
    return "".join(f"{line}\n" for line in lines if _HEAD.match(line) or _NOTE.match(line))


def tools_of(case: Case) -> str:
    """The tools that the data of the case give, with the names of their arguments."""
    from gym_mcp_manifest.manifest.loader import read_manifest
    from gym_mcp_manifest.manifest.specs import gather_specs

    with chdir(case.folder):
        manifest, _ = read_manifest("mcp.yaml")
        if manifest is None:
            return ""
        entries = zip(manifest.language.catch_all, gather_specs(manifest).catch_all, strict=True)
        return "".join(
            f"{entry.route or 'the dispatcher'}: {spec.name}({_arguments(spec.input_schema)})\n"
            for entry, specs in entries
            for spec in specs
        )


def _arguments(schema: Mapping[str, Any] | None) -> str:
    return ", ".join((schema or {}).get("properties", ()))


def _run(arguments: list[str], folder: Path) -> str:
    from gym_mcp_manifest.cli.main import main

    said, modules, path, argv = io.StringIO(), set(sys.modules), list(sys.path), sys.argv
    sys.argv = ["gym-mcp", *arguments]
    try:
        with chdir(folder), redirect_stdout(said), redirect_stderr(said):
            main()
    except SystemExit as leaving:
        if leaving.code not in (0, 1):
            return f"error[GMM999] exit code {leaving.code}: {said.getvalue()}"
    finally:
        sys.argv, sys.path[:] = argv, path
        for name in sys.modules.keys() - modules:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
                del sys.modules[name]
    return said.getvalue()


def _answers() -> Iterator[tuple[str, dict[str, str]]]:
    for case in read_cases():
        answer = {EXPECTED: findings_of(case)}
        if case.folder.parent.name == "err":
            answer["fixed"] = findings_of(case, fixed=True)
        elif (case.folder / TOOLS).exists() or "catch_all" in (case.folder / "mcp.yaml").read_text(
            encoding="utf-8"
        ):
            answer[TOOLS] = tools_of(case)
        yield case.name, answer


def main() -> None:
    """Print what every case gives."""
    import yaml

    (reader,) = sys.argv[1:]
    if reader == "python":
        # As where libyaml is not installed.
        vars(yaml).pop("CSafeLoader", None)
    elif not hasattr(yaml, "CSafeLoader"):
        raise SystemExit("libyaml is not installed")
    from typer.main import get_command

    from gym_mcp_manifest.cli import main as cli

    # Making the parser anew for each of hundreds of commands would take most of the time.
    vars(cli)["app"] = get_command(cli.app)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GYM_MCP_DEBUG"):
        os.environ.pop(name, None)
    json.dump(dict(_answers()), sys.stdout)


if __name__ == "__main__":
    main()

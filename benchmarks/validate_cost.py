"""What `gym-mcp validate` costs: a large manifest in seconds and memory, a small one as a ratio of its imports.

The large one has 2,000 tools written out under one dispatcher, with twenty distinct schemas. The small one has
twenty; it is compared with a process that only imports the libraries that any validator of YAML needs. Every
figure is the least of several runs, which take turns.

Run: `python benchmarks/validate_cost.py [--rounds N]`; the exit code is 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LARGE, SMALL, SCHEMAS = 2_000, 20, 20
MOST_SECONDS, MOST_MEGABYTES, MOST_RATIO = 1.2, 200.0, 2.0
IMPORTS = "import yaml, jsonschema; from pydantic import BaseModel"


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system) of a process from start to end, and its peak resident memory."""

    seconds: float
    megabytes: float


def main() -> int:
    """Measure and print; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each command (default 7)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.yaml"), Path(folder, "small.yaml")
        large.write_text(manifest(LARGE), encoding="utf-8")
        small.write_text(manifest(SMALL), encoding="utf-8")
        validate = [sys.executable, "-m", "gym_mcp_manifest", "validate"]
        commands = {
            "imports": [sys.executable, "-c", IMPORTS],
            "small": [*validate, str(small)],
            "large": [*validate, str(large)],
        }
        runs = [{name: run(command) for name, command in commands.items()} for _ in range(rounds)]
        size = large.stat().st_size / 1e6
    seconds = {name: min(costs[name].seconds for costs in runs) for name in commands}
    memory = min(costs["large"].megabytes for costs in runs)
    ratio = seconds["small"] / seconds["imports"]
    print(f"{LARGE:,} tools, {SCHEMAS} schemas, {size:.2f} MB")
    print(f"  CPU      {seconds['large']:6.2f} s   (at most {MOST_SECONDS})")
    print(f"  memory   {memory:6.0f} MB  (at most {MOST_MEGABYTES:.0f})")
    print(f"{SMALL} tools")
    print(f"  CPU      {seconds['small']:6.2f} s")
    print(f"  imports  {seconds['imports']:6.2f} s")
    print(f"  ratio    {ratio:6.2f}     (at most {MOST_RATIO})")
    return int(seconds["large"] > MOST_SECONDS or memory > MOST_MEGABYTES or ratio > MOST_RATIO)


def manifest(tools: int) -> str:
    """A manifest of so many tools in block style, as people and programs write them: about 550 bytes each."""
    lines = ["version: 1", "catch_all:", '  - route: "/{path}"', "    tools:"]
    for number in range(tools):
        lines += [
            f"      - name: tool_{number:04}",
            f"        description: Looks thing number {number} up, and tells all that is known of it.",
            *indented(schema(number % SCHEMAS), "        "),
        ]
    return "\n".join([*lines, ""])


def schema(kind: int) -> list[str]:
    """One of the distinct schemas, as lines of YAML."""
    return [
        "input_schema:",
        "  type: object",
        "  additionalProperties: false",
        f"  required: [query_{kind}]",
        "  properties:",
        f"    query_{kind}:",
        "      type: string",
        f"      description: What to look for, in the words of form {kind}.",
        "    limit:",
        "      type: integer",
        "      minimum: 1",
        f"      maximum: {100 + kind}",
        "    order:",
        f"      enum: {json.dumps(['newest', 'oldest', f'rank_{kind}'])}",
    ]


def indented(lines: list[str], by: str) -> list[str]:
    """The lines, further to the right."""
    return [by + line for line in lines]


def run(command: list[str]) -> Cost:
    """Run a command to its end, which must be a good one."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed with exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    sys.exit(main())

"""Print the lowest version that pyproject.toml allows of each dependency, as constraints for pip.

The tests run with these, so that what pyproject.toml promises stays true.
"""

import re
import sys
import tomllib
from pathlib import Path

_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[^,;\s]+)")


def lowest(pyproject: Path) -> list[str]:
    """`name==version` for each dependency; one without a lower bound is an error."""
    dependencies = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    bounds = {dependency: _BOUND.match(dependency) for dependency in dependencies}
    missing = [dependency for dependency, bound in bounds.items() if bound is None]
    if missing:
        sys.exit(f"{pyproject}: without a lower bound: {', '.join(missing)}")
    return [f"{bound['name']}=={bound['version']}" for bound in bounds.values() if bound is not None]


if __name__ == "__main__":
    print("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")))

"""Manifests with faults put in by chance: each is valid or refused at a place, soon, and in little memory.

`GMM_MUTATIONS=10000` makes the run as long as it should be before a release; `GMM_MUTATIONS_SEED` makes another.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = int(os.environ.get("GMM_MUTATIONS", "600"))
SEED = int(os.environ.get("GMM_MUTATIONS_SEED", "1"))
MEMORY_MB = 300


@pytest.mark.timeout(60 + COUNT)
def test_every_mutant_is_valid_or_refused_at_a_place() -> None:
    run = [sys.executable, str(Path(__file__).parent / "mutations.py"), str(COUNT), str(SEED)]
    done = subprocess.run(run, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["faults"] == []
    assert answer["peak"] <= MEMORY_MB

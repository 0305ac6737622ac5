"""Faults put into a copy of the source make tests fail: `tests/mutations/run.py` runs all."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = runpy.run_path(str(ROOT / "tests/mutations/table.py"))


def test_every_mutation_applies_and_has_a_test_that_is_there():
    assert len(TABLE["MUTATIONS"]) >= 60
    for file, test, old, new in TABLE["MUTATIONS"]:
        assert (ROOT / "src" / file).read_text().count(old) == 1 and old != new, (file, old)
        path, _, name = test.partition("[")[0].partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(), test
    for file, old, *_ in TABLE["EQUIVALENT"]:
        assert (ROOT / "src" / file).read_text().count(old) == 1, (file, old)


@pytest.mark.slow
def test_no_mutation_survives():
    """Every 120th, so that it takes seconds."""
    command = [sys.executable, ROOT / "tests/mutations/run.py", "120"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr

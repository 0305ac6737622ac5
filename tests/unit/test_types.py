"""Types that a user's script sees: the names that README offers, by mypy."""

import inspect
from pathlib import Path

import pytest

import scant
from scant import notebook

SCRIPT = """
from typing import assert_type

import numpy as np

import scant
import scant_ads
from scant.finished.results import Results
from scant.measures import ndcg, rank
from scant.notebook import Leaderboard
from scant.surrogates import slam, slam_weights

scores, grades = [0.3, 2.0, 0.1], np.array([2, 0, 1])
assert_type(ndcg(rank(scores), grades, k=None), float)
assert_type(slam(scores, grades, slam_weights("ndcg", scores, grades)), tuple[float, np.ndarray])
assert_type(scant.results("results/tiny"), Results)
assert_type(scant.play("listnet", ["linear", "digits"], [{"kind": "ridge"}, "random"]), Leaderboard)
assert_type(scant.play(Results, (np.ones((2, 1)), grades, [1, 1]), seeds=3), Leaderboard)
assert_type(scant_ads.Log.read("visits.csv"), scant_ads.Log)
ndcg(scores, grades, k="ten")  # type: ignore[arg-type]
slam(scores, grades)  # type: ignore[call-arg]
scant.results(3)  # type: ignore[arg-type]
scant.play("listnet", 3)  # type: ignore[arg-type]
"""


def test_mypy_knows_public_names_in_a_users_script(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = ["--strict", "--disable-error-code=type-arg", f"--cache-dir={tmp_path / 'cache'}"]
    printed, errors, status = mypy.run([*options, str(script)])
    assert status == 0, printed + errors


def test_the_types_of_play_are_of_its_parameters():
    stub = Path(scant.__file__).with_suffix(".pyi").read_text()
    for name, parameter in inspect.signature(notebook.play).parameters.items():
        assert f"    {name}: " in stub
        shown = inspect.signature(scant.play).parameters[name]
        assert shown.default == parameter.default

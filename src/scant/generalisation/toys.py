"""What `scant compile` plays: a toy with each compiled loop, for the types that studies call it
with.
"""

import tempfile
from pathlib import Path

import numpy as np

from scant.generalisation import run, solve

SAMPLED = {
    **{
        "study": "toy",
        "experiment": "toy",
        "stream": "toy",
        "study_seed": 0,
        "kind": "generalisation",
    },
    "population": {"generator": "linear", "lists": "resampled", "settings": {"noise": 0.5}},
    **{"n": [4], "m": [3], "d": [2], "W": 1.0, "W1": 1.0, "sigma": 1.0},
    **{"ascents": 1, "fresh": 10, "reference": 10},
}


def play() -> None:
    """Fit learners to a few small samples."""
    learners = [
        ("erm", {"kind": "erm-l2", "surrogate": "ranksvm"}),
        ("ogd", {"kind": "averaged-ogd"}),
    ]
    with tempfile.TemporaryDirectory(prefix="scant-") as folder:
        run.run(SAMPLED | {"learners": learners}, Path(folder, "run.parquet"), [0], {})
    sample = solve.Sample(np.ones((2, 3, 2), np.float32), np.zeros((2, 3), np.int16))
    solve.Mean(sample, "ranksvm").newton(np.zeros(2), 1.0, np.zeros(2), 1.0)

"""What `scant compile` plays: a toy with each compiled loop, for the types that studies call it
with.
"""

import tempfile
from pathlib import Path

from scant.data import simulated
from scant.rankers import comparator, run

STREAM = {"generator": "linear", "shared": False, "documents": "shuffled", "drop_last": False}
STREAM |= {"settings": {"queries": 20, "documents": 6, "features": 4}}
JOB = {
    **dict.fromkeys(("study", "experiment", "stream", "learner"), "toy"),
    "study_seed": 0,
    "stream_settings": STREAM,
    **{"source": "text", "rounds": 20, "empty": "zero", "order": "shuffled", "keep": 1.0},
}
TOP = {"kind": "top", "schedule": "thesis", "mismatch": 1.0, "radius": 1.0, "judge": None}


def play() -> None:
    """Play a short stream with all feedback, at the top, and from clicks."""
    with tempfile.TemporaryDirectory(prefix="scant-") as folder:
        drawn, target = [Path(folder, "stream.arrow")], Path(folder, "run.parquet")
        simulated.simulate("toy", STREAM, drawn[0], 0, 0)
        slam = {"kind": "slam", "rates": ["theory", 1.0]}
        further = {"measures": ["ndcg@5"]}
        run.run(
            JOB | further | {"kind": "perceptron", "learner_settings": slam}, target, [0], drawn
        )
        ranksvm = {"kind": "rtop", "surrogate": "ranksvm"}
        run.run(JOB | TOP | {"learner_settings": ranksvm}, target, [0], drawn)
        ucb = {"kind": "ridge", "explore": "ucb"}
        run.run(JOB | TOP | {"unvisited": 5, "learner_settings": ucb}, target, [0], drawn)
        for kind in ("newton", "pdgd"):
            run.run(JOB | TOP | {"learner_settings": {"kind": kind}}, target, [0], drawn)
        comparator.compare(JOB | TOP | {"judge": "ranksvm"}, target, [0], drawn)

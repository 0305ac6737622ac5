"""Compile the loops before any job does: jobs that start together would each compile the same ones."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from scant.ads.learners import AucRanker, Logistic
from scant.data import simulated
from scant.games import streams
from scant.games.play import Game, play
from scant.generalisation import run as generalisation
from scant.generalisation import solve
from scant.online import comparator, run
from scant.randomness import generator

STREAM = {"generator": "linear", "shared": False, "documents": "shuffled", "drop_last": False}
STREAM |= {"settings": {"queries": 20, "documents": 6, "features": 4}}
JOB = {
    **dict.fromkeys(("study", "experiment", "stream", "learner"), "toy"),
    "study_seed": 0,
    "stream_settings": STREAM,
    **{"source": "text", "rounds": 20, "empty": "zero", "order": "shuffled", "keep": 1.0},
}
SAMPLED = {
    **{"study": "toy", "experiment": "toy", "stream": "toy", "study_seed": 0, "kind": "generalisation"},
    "population": {"generator": "linear", "lists": "resampled", "settings": {"noise": 0.5}},
    **{"n": [4], "m": [3], "d": [2], "W": 1.0, "W1": 1.0, "sigma": 1.0},
    **{"ascents": 1, "fresh": 10, "reference": 10},
}
TOP = {"kind": "top", "schedule": "thesis", "mismatch": 1.0, "radius": 1.0, "judge": None}
ROUNDS = 50


def compile_all() -> None:
    """Compile all loops, those of games beside the others, with which they share next to none; Numba keeps them."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for part in [pool.submit(compile_games), pool.submit(compile_others)]:
            part.result()


def compile_others() -> None:
    """Play a toy with each compiled loop that is not of games, for the types that studies call it with."""
    with tempfile.TemporaryDirectory(prefix="scant-") as folder:
        _contextual(Path(folder))
        _generalisation(Path(folder))
    _ads()


def _contextual(folder: Path) -> None:
    drawn = [folder / "stream.arrow"]
    simulated.simulate("toy", STREAM, drawn[0], 0, 0)
    slam = {"kind": "slam", "rates": ["theory", 1.0]}
    further = {"measures": ["ndcg@5"]}
    run.run(JOB | further | {"kind": "perceptron", "learner_settings": slam}, folder / "run.parquet", [0], drawn)
    ranksvm = {"kind": "rtop", "surrogate": "ranksvm"}
    run.run(JOB | TOP | {"learner_settings": ranksvm}, folder / "run.parquet", [0], drawn)
    run.run(JOB | TOP | {"learner_settings": {"kind": "pdgd"}}, folder / "run.parquet", [0], drawn)
    comparator.compare(JOB | TOP | {"judge": "ranksvm"}, folder / "run.parquet", [0], drawn)


def compile_games() -> None:
    """Likewise with each loop of games."""
    small = streams.draw("flip", generator(0, "toy"), ROUNDS, items=4, relevant=2)
    large = streams.draw("graded", generator(0, "toy"), ROUNDS, items=4, grades=9)  # its gains need float64
    for relevances, loss in ((small, "dcg"), (small, "ap"), (large, "dcg")):
        for learner in ("ftpl", "rtopkf", "hedge", *(["pege"] if loss == "dcg" else [])):
            play(Game(relevances, loss), learner, generator(0, "noise"))
    play(Game(small, "dcg"), "permelearn", generator(0, "noise"))
    for learner in ("semi-bandit", "forecaster", "exploration-by-optimisation"):
        play(Game(small, "precision@1"), learner, generator(0, "noise"))


def _generalisation(folder: Path) -> None:
    learners = [("erm", {"kind": "erm-l2", "surrogate": "ranksvm"}), ("ogd", {"kind": "averaged-ogd"})]
    generalisation.run(SAMPLED | {"learners": learners}, folder / "run.parquet", [0], {})
    sample = solve.Sample(np.ones((2, 3, 2), np.float32), np.zeros((2, 3), np.int16))
    solve.Mean(sample, "ranksvm").newton(np.zeros(2), 1.0, np.zeros(2), 1.0)


def _ads() -> None:
    features = generator(0, "toy").standard_normal((40, 3)).astype(np.float32)
    clicked = features[:, 0] > 0
    for scorer in (Logistic(1.0, steps=100), AucRanker(1.0, steps=100, pair_loss="logistic")):
        scorer.fit(features, clicked, generator(0, "noise"))

"""The most that a learner could lose on a simulated stream: what says whether a bound could have been exceeded there.

Streams are drawn again, as `scant.data.simulated.simulate` draws them, since claims are judged without their files.
"""

import json
from functools import cache

import numpy as np

from scant.data import simulated
from scant.data.stream import random_name, scale
from scant.online.learners import MEASURES
from scant.randomness import generator
from scant.surrogates import kl, ranksvm, squared

SURROGATES = {"squared": squared, "kl": kl, "ranksvm": ranksvm}
ASCENTS = 20  # steps of an ascent to the worst weights; most end after five


def worst_losses(drawn: dict, seed: int, measure: str, empty: str, rounds: np.ndarray) -> np.ndarray:
    """What the worst ranking of each query would have lost of `measure` after some numbers of rounds, float64.

    Whole passes are summed. Of a pass that is not whole it is the most that as many of its queries could lose.

    drawn : the stream as `scant.online.family.Contextual.details` has it
    empty : the reading of queries without a relevant document
    rounds : int64
    """
    losses = _by_query(*_draw(drawn, seed), measure, empty)
    if not len(losses):
        return np.zeros(len(rounds))
    passes, rest = np.divmod(rounds, len(losses))
    return passes * losses.sum() + np.r_[0.0, np.cumsum(losses)][rest]


@cache
def _by_query(drawn: str, seed: int, measure: str, empty: str) -> np.ndarray:
    """The loss of the worst ranking of each query that is played, in descending order."""
    losses = []
    for grades, _ in _queries(drawn, seed):
        labels = np.minimum(grades, 1) if measure == "ap" else grades
        if labels.any():
            losses.append(1 - MEASURES[measure](np.argsort(labels, kind="stable"), labels))
        elif empty != "skip":
            losses.append(float(empty == "zero"))
    return -np.sort(-np.array(losses, float))


def worst_surrogate(drawn: dict, seed: int, surrogate: str, radius: float) -> float:
    """The mean over queries of a convex surrogate's value at the worst weights of the ball ||w|| <= radius.

    A convex function is largest on the sphere. Each step of an ascent goes to the point of it that the gradient shows;
    the value that it ends with is one that weights of the ball do have.

    drawn : the stream as `scant.online.family.Contextual.details` has it
    """
    return _ascended(*_draw(drawn, seed), surrogate, radius)


@cache
def _ascended(drawn: str, seed: int, surrogate: str, radius: float) -> float:
    value, most = SURROGATES[surrogate], []
    for grades, features in _queries(drawn, seed):
        reached = []
        starts = np.array([features.T @ value(np.zeros(len(grades)), grades)[1], features.sum(axis=0)])
        for direction in (*starts, *-starts):
            best = -np.inf
            for _ in range(ASCENTS):
                weights = radius * direction / max(np.linalg.norm(direction), 1e-300)
                here, slope = value(features @ weights, grades)
                if here <= best * (1 + 1e-9):
                    break
                best, direction = here, features.T @ slope
            reached.append(best)
        most.append(max(reached))
    return float(np.mean(most))


def _draw(drawn: dict, seed: int) -> tuple[str, int]:
    """The stream as text, and the seed of its draw."""
    return json.dumps(drawn, sort_keys=True), 0 if drawn["settings"]["shared"] else seed


@cache
def _queries(drawn: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The grades and features of each query of a stream."""
    stream = json.loads(drawn)
    settings = stream["settings"]
    random = generator(stream["study_seed"], "stream", random_name(stream["name"], settings), seed)
    queries, _ = simulated.GENERATORS[settings["generator"]](random, **settings["settings"])
    scaling = settings.get("features", "as-is")
    return [(grades, scale(x, scaling).astype(float)) for _, grades, x in queries]

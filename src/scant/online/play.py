"""One learner plays one stream: the compiled loop for the built-in learners, a Python loop for all others."""

from dataclasses import dataclass

import numpy as np

from scant.data.stream import CUT, Stream, discounts, gains
from scant.measures import rank
from scant.online.learners import MEASURES, NonFiniteScores, Settings


@dataclass(frozen=True)
class Play:
    """What happened, round by round. All arrays have one entry (or row) a round played."""

    measured: np.ndarray  # float64, rounds x 3: NDCG@10, NDCG, AP of the ranking shown
    loss: np.ndarray  # float64, the learner's own; 0 without a relevant document, since no ranking loses less
    updated: np.ndarray  # uint8
    weights: np.ndarray | None  # float64 (features), at the end
    failed_in: int = 0  # the round in which a score was not finite, which ended the play; 0 if none


def query_order(
    stream: Stream,
    random: np.random.Generator,
    rounds: int | None = None,
    order: str = "shuffled",
    empty: str = "zero",
    keep: float = 1.0,
) -> np.ndarray:
    """Which query each round shows: pass after pass over the stream, each pass reshuffled.

    rounds : the horizon; one pass if None
    order : "shuffled", or "as-is" for the order of the files
    empty : "skip" leaves out queries without a relevant document
    keep : the probability with which each query of a pass is kept (released code: 0.8 on some sets)
    """
    there = np.flatnonzero(stream.relevant > 0) if empty == "skip" else np.arange(len(stream))
    passes, total = [], 0
    while rounds is None or total < rounds:
        one = random.permutation(there) if order == "shuffled" else there
        if keep < 1:
            one = one[random.random(len(one)) < keep]
        passes.append(one)
        total += len(one)
        if rounds is None or not len(there):
            break
    return np.concatenate(passes)[:rounds]


def play_compiled(
    stream: Stream, queries: np.ndarray, settings: Settings, rate: float, random, empty: str = "zero"
) -> Play:
    """Play a built-in learner through the compiled loop."""
    from scant.kernels import full

    labels = settings.labels(stream.grades)
    labels.flags.writeable = False  # the loop is compiled for read-only arrays, as memory-mapped ones are
    largest_grade = max(1, stream.metadata["largest_grade"])
    rounds = len(queries)
    measured, loss = np.zeros((rounds, 3)), np.zeros(rounds)
    updated, weights = np.zeros(rounds, np.uint8), np.zeros(stream.features.shape[1])
    by_grade = settings.margin == "grade-gap"
    names = list(MEASURES)
    played = full.play(
        stream.features, stream.offsets, stream.grades, labels,
        stream.ideal_dcg, stream.ideal_dcg_at_cut, stream.relevant, queries,
        KINDS[settings.kind], names.index(settings.measure), names.index(settings.trigger),
        float(rate), float(settings.decay), settings.by_loss, 1.0 if by_grade else float(settings.margin),
        by_grade, settings.averaged, 1.0 if empty == "one" else 0.0, settings.learn_on_empty, CUT,
        gains(largest_grade), discounts(stream.metadata["largest_query"]),
        np.exp(-np.arange(largest_grade + 1.0)), random, weights, measured, loss, updated,
    )  # fmt: skip
    failed_in = 0 if played == rounds else played + 1
    return Play(measured[:played], loss[:played], updated[:played], weights, failed_in)


KINDS = {"random": 0, "ideal": 1, "slam": 2, "max-hinge": 3, "listnet": 4, "binary-perceptron": 5}


def play_python(rounds, learner, settings: Settings, empty: str = "zero") -> Play:
    """Play any learner in Python.

    rounds : gives, for each round, `(features, answer)`, where `answer` is the grades (m) or a function that gives
        them for the ranking shown (an adversary)
    """
    value = 1.0 if empty == "one" else 0.0
    measured, loss, updated = [], [], []
    failed_in = 0
    for features, answer in rounds:
        try:
            if getattr(learner, "sees_grades", False):
                # an adversary answers the ideal ranker too: with what it says of the documents as they stand
                grades = answer(rank(np.zeros(len(features)))) if callable(answer) else answer
                ranking = learner.rank(features, grades)
            else:
                ranking = learner.rank(features)
                grades = answer(ranking) if callable(answer) else answer
        except NonFiniteScores:
            failed_in = len(loss) + 1
            break
        row = [measure(ranking, grades, value) for measure in MEASURES.values()]
        learned = bool(learner.learn(features, grades, ranking))
        mistake = settings.kind == "binary-perceptron"
        measured.append(row)
        own = 1 - row[list(MEASURES).index(settings.measure)] if np.any(grades > 0) else 0.0
        loss.append(float(learned) if mistake else own)
        updated.append(learned)
    return Play(
        np.array(measured).reshape(-1, len(MEASURES)),
        np.array(loss, float),
        np.array(updated, np.uint8),
        getattr(learner, "weights", None),
        failed_in,
    )

"""Theorems on importance-weighted CTR and on the loss of rankers, held against numbers: the table
`theorems-ads`.

It needs no run. Expectations are exact: all logs of a few rows are enumerated.
`scant.theory.checks` says what columns mean.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pandas as pd

from scant.bandits.evaluation import importance_weighted, snips
from scant.randomness import generator
from scant.theory.checks import Check, table

ROWS = 3  # of an enumerated log
CLICK = np.array([0.5, 0.2, 0.1])  # the probability that each ad is clicked on
SHOWN = np.array([0.2, 0.3, 0.5])  # the logging policy's probability of each ad
TARGET = np.array([0.8, 0.1, 0.1])  # the probability of each ad under the policy to judge


def ads_table() -> pd.DataFrame:
    """Theorems on importance-weighted CTR and on the loss of rankers, a few milliseconds."""
    return table([*_unbiased(), *_imbalance()])


def _expected(estimate: Callable[[np.ndarray, np.ndarray, np.ndarray], float]) -> float:
    """The expectation of an estimate of the CTR over all logs of `ROWS` rows.

    estimate : takes the ads shown, the clicks, and the probabilities of the ads shown under the
        logging policy
    """
    total = 0.0
    for ads in map(np.array, product(range(len(CLICK)), repeat=ROWS)):
        for clicks in map(np.array, product((0, 1), repeat=ROWS)):
            chance = np.prod(SHOWN[ads] * np.where(clicks, CLICK[ads], 1 - CLICK[ads]))
            total += chance * estimate(ads, clicks, SHOWN[ads])
    return total


def _unbiased() -> Iterator[Check]:
    """The thesis, (5.4): the importance-weighted CTR is the policy's true one in expectation."""
    truth, setting = float(TARGET @ CLICK), f"three ads, all logs of {ROWS} rows"
    equal = np.full(ROWS, 1 / len(CLICK))
    estimates = {
        "importance-weighted CTR": lambda ads, clicks, propensities: importance_weighted(
            clicks, propensities, TARGET[ads]
        ),
        "importance-weighted CTR, propensities taken as equal": lambda ads, clicks, propensities: (
            importance_weighted(clicks, equal, TARGET[ads])
        ),
        "self-normalised CTR": lambda ads, clicks, propensities: snips(
            clicks, propensities, TARGET[ads]
        )[0],
    }
    for check, estimate in estimates.items():
        error = _expected(estimate) - truth
        yield Check(
            check,
            "thesis, (5.4)",
            "expectation less the true CTR",
            setting,
            len(CLICK),
            error,
            "=",
            0.0,
        )


def _imbalance() -> Iterator[Check]:
    """The thesis, 5.4: the loss of an AUC ranker (5.1) does not change if all instances without a
    click are repeated.

    The loss of a classifier does change, since it is a mean over all instances. Both losses are
    logistic.
    """
    random, clicked, others = generator(0, "imbalance"), 5, 50
    setting = f"{clicked} instances with a click, {others} without, repeated 2, 10 and 100 times"
    losses = {"AUC's loss": auc_loss, "logistic loss": logistic_loss}
    scores = [(random.normal(1, 1, clicked), random.normal(0, 1, others)) for _ in range(100)]
    for name, loss in losses.items():
        changes = [
            abs(loss(c, np.tile(o, times)) - loss(c, o))
            for c, o in scores
            for times in (2, 10, 100)
        ]
        yield Check(
            f"{name}, negatives repeated",
            "thesis, 5.4",
            "largest change of the loss",
            setting,
            clicked + others,
            float(max(changes)),
            "=",
            0.0,
            len(changes),
        )


def auc_loss(clicked: np.ndarray, others: np.ndarray) -> float:
    """(5.1) with the logistic loss: its mean over pairs; scores of the instances with and without a
    click.
    """
    return float(np.logaddexp(0, others - clicked[:, None]).mean())


def logistic_loss(clicked: np.ndarray, others: np.ndarray) -> float:
    """The mean logistic loss over instances, as in `auc_loss`."""
    return float(np.logaddexp(0, np.append(-clicked, others)).mean())

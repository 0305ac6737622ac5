"""Policies: which ad each context gets, and with what probability; thresholds that make rankers
comparable.
"""

from dataclasses import dataclass, replace

import numpy as np

from scant.errors import SettingError

MEASURES = ("precision", "recall", "f1")
THRESHOLDS = (*MEASURES, "none")  # what thresholds maximise; with "none" they are 0


@dataclass(frozen=True)
class Choice:
    """An epsilon-greedy policy on some contexts: the best action with 1 - epsilon, each other with
    epsilon / (K - 1).

    Where only some actions are eligible, K is their number; a single one has the probability 1, and
    the others 0.
    """

    best: np.ndarray  # int32 (rows), the action with probability 1 - epsilon
    epsilon: float
    actions: int  # K

    # bool (rows x K), which actions each context can get; None for all
    eligible: np.ndarray | None = None

    def __post_init__(self):
        if not 0 <= self.epsilon <= 1:
            raise SettingError(f"epsilon is {self.epsilon}; a probability is from 0 to 1")
        if self.actions < 2 and self.epsilon > 0:
            raise SettingError(
                f"epsilon is {self.epsilon}; with a single action there is nothing to explore"
            )

    def probability(self, action: np.ndarray) -> np.ndarray:
        """The probability of an action in each context, float64 (rows).

        action : int32 (rows), one for each context
        """
        best, others = self._shares()
        probability = np.where(action == self.best, best, others)
        if self.eligible is None:
            return probability
        return probability * self.eligible[np.arange(len(action)), action]

    def expected(self, values: np.ndarray) -> np.ndarray:
        """The expected value of the policy in each context, float64 (rows).

        values : of each action, float64 (K), or (rows x K)
        """
        if self.eligible is not None:
            values = values * self.eligible
        share, others = self._shares()
        best = values[self.best] if values.ndim == 1 else values[np.arange(len(values)), self.best]
        return share * best + others * (values.sum(axis=-1) - best)

    def take(self, rows) -> "Choice":
        """The policy on some of the contexts."""
        return replace(
            self,
            best=self.best[rows],
            eligible=None if self.eligible is None else self.eligible[rows],
        )

    def _shares(self):
        """The probability of the best action, and of each other one: numbers, or float64 (rows)."""
        if self.eligible is None:
            return 1.0 - self.epsilon, self.epsilon / (
                self.actions - 1
            ) if self.actions > 1 else 0.0
        others = np.count_nonzero(self.eligible, axis=1) - 1
        # A single eligible action is certain.
        return np.where(others > 0, 1.0 - self.epsilon, 1.0), self.epsilon / np.maximum(others, 1)


@dataclass(frozen=True)
class Mixed:
    """A policy on some contexts, as the probabilities of its actions, float64 (rows x K)."""

    probabilities: np.ndarray

    def probability(self, action: np.ndarray) -> np.ndarray:
        """The probability of an action in each context, float64 (rows)."""
        return self.probabilities[np.arange(len(action)), action]


def uniform(rows: int, actions: int) -> Choice:
    """The uniform policy: epsilon-greedy with the epsilon for which all ads are equally likely."""
    return Choice(np.zeros(rows, np.int32), (actions - 1) / actions, actions)


def largest(scores: np.ndarray, eligible: np.ndarray | None = None) -> np.ndarray:
    """The action with the largest score in each context, int (rows), the first of equal ones.

    scores : (rows x K); -inf for an action that nothing is known of
    eligible : the actions to choose from, bool (rows x K); None for all
    """
    # an eligible action of which nothing is known is still better than one not eligible
    if eligible is not None:
        scores = np.where(eligible, np.maximum(scores, np.finfo(np.float32).min), -np.inf)
    return scores.argmax(axis=1)


def threshold(scores: np.ndarray, clicked: np.ndarray, by: str = "f1") -> float:
    """The threshold s that maximises a measure of the classifier `score >= s` on some rows (thesis,
    5.4.2).

    Candidates are the scores themselves. Where the measure is equal, the threshold of the larger F1
    is taken, then the larger threshold. So for recall, which every low threshold makes 1, it is the
    lowest score of a clicked row. Takes O(n log n).

    Parameters
    ----------
    scores : finite numbers (rows)
    clicked : bool (rows), with at least one click
    by : one of `MEASURES`
    """
    scores, clicks = np.asarray(scores, np.float64), np.count_nonzero(clicked)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(ranked[1:] != ranked[:-1], True)  # rows of equal score are chosen together
    hits, chosen = np.cumsum(clicked[order])[last], np.flatnonzero(last) + 1
    values = {
        "precision": hits / chosen,
        "recall": hits / clicks,
        "f1": 2 * hits / (chosen + clicks),
    }
    # the last key counts first
    return float(ranked[last][np.lexsort((chosen, -values["f1"], -values[by]))[0]])

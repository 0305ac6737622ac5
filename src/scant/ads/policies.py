"""Policies: which ad each context gets, and with what probability; thresholds that make rankers comparable."""

from dataclasses import dataclass

import numpy as np

from scant.errors import DataError, SettingError, unknown

MEASURES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Choice:
    """What a policy does on given contexts: one action with 1 - epsilon, each other with epsilon / (K - 1).

    Raises
    ------
    SettingError : an epsilon outside [0, 1], one above 0 where there is a single action, or an action beyond K
    """

    best: np.ndarray  # int32 (rows), the action that it exploits
    epsilon: float
    actions: int  # K

    def __post_init__(self):
        if not 0 <= self.epsilon <= 1:
            raise SettingError(f"epsilon is {self.epsilon}; a probability is from 0 to 1")
        if self.actions < 2 and self.epsilon > 0:
            raise SettingError(f"epsilon is {self.epsilon}; with a single action there is nothing to explore")
        _among(self.best, self.actions)

    def probability(self, action: np.ndarray) -> np.ndarray:
        """The probability of one action in each context, float64 (rows)."""
        if np.shape(action) != np.shape(self.best):
            raise SettingError(f"actions of shape {np.shape(action)} for contexts of shape {np.shape(self.best)}")
        _among(action, self.actions)
        others = self.epsilon / (self.actions - 1) if self.actions > 1 else 0.0
        return np.where(np.asarray(action) == self.best, 1.0 - self.epsilon, others)

    def expected(self, values: np.ndarray) -> np.ndarray:
        """What the policy gets in each context if each action has a value of its own, (K); float64 (rows)."""
        others = self.epsilon / (self.actions - 1) if self.actions > 1 else 0.0
        best = np.asarray(values)[self.best]
        return (1.0 - self.epsilon) * best + others * (np.sum(values) - best)


@dataclass(frozen=True)
class Mixed:
    """A policy by its probabilities, (rows x K)."""

    probabilities: np.ndarray

    def probability(self, action: np.ndarray) -> np.ndarray:
        return self.probabilities[np.arange(len(action)), action]


def uniform(rows: int, actions: int) -> Choice:
    """The uniform policy: exploring so much around any ad shows all ads alike.

    The other control, the logging policy, has the logged propensities themselves.
    """
    return Choice(np.zeros(rows, np.int32), (actions - 1) / actions, actions)


def threshold(scores: np.ndarray, clicked: np.ndarray, by: str = "f1") -> float:
    """The threshold s that maximises a measure of the classifier `score >= s` on the given rows (thesis, 5.4.2).

    Candidates are the scores themselves. Equal values of the measure: the largest F1, then the largest threshold. So
    recall, which every low threshold makes 1, gives the lowest score of a click; and precision, which the top row alone
    may make 1, gives the lowest score that keeps it there. Takes O(n log n).

    Parameters
    ----------
    scores : finite numbers (rows)
    clicked : bool (rows), with at least one click
    by : "precision", "recall" or "f1"

    Raises
    ------
    SettingError : another measure
    DataError : scores that are not finite, or no click
    """
    if by not in MEASURES:
        raise unknown("measure of a threshold", by, MEASURES)
    scores, clicked = np.asarray(scores, np.float64), np.asarray(clicked, bool)
    if not np.isfinite(scores).all():
        raise DataError("scores", f"row {int(np.argmin(np.isfinite(scores))) + 1} is not finite")
    clicks = np.count_nonzero(clicked)
    if not clicks:
        raise DataError("clicks", "no row is clicked, so that no threshold is better than another")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(ranked[1:] != ranked[:-1], True)  # rows of equal score are on the same side
    found, shown = np.cumsum(clicked[order])[last], np.flatnonzero(last) + 1
    values = {"precision": found / shown, "recall": found / clicks, "f1": 2 * found / (shown + clicks)}
    return float(ranked[last][np.lexsort((shown, -values["f1"], -values[by]))[0]])


def _among(action: np.ndarray, actions: int) -> None:
    action = np.asarray(action)
    if action.dtype.kind not in "iu":
        raise SettingError(f"actions are whole numbers; these are {action.dtype}")
    if bad := action[(action < 0) | (action >= actions)].tolist():
        raise SettingError(f"action {bad[0]} is not among the policy's {actions} actions")

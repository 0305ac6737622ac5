"""Feature selection by information gain: the mutual information of the clicks and a feature cut
into bins.
"""

import math

import numpy as np

from scant.errors import SettingError

BINS = 16


def information_gain(features: np.ndarray, clicked: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Mutual information of the clicks and each feature, cut at its quantiles (information gain,
    thesis 5.6.2).

    If a feature has at most `bins` distinct values, each is a bin of its own. Equal values are
    always in the same bin.

    Parameters
    ----------
    features : float32 (rows x d), finite
    clicked : bool (rows)
    bins : largest number of bins, from 2

    Returns
    -------
    gains : float64 (d), in nats, at least 0
    """
    gains = np.empty(features.shape[1])
    for j, column in enumerate(features.T):
        column = np.ascontiguousarray(column)
        gains[j] = _mutual_information(
            np.searchsorted(edges(column, bins), column, side="left"), clicked
        )
    return gains


def edges(column: np.ndarray, bins: int) -> np.ndarray:
    """The largest value of each bin but the last, ascending: at most `bins` - 1 numbers."""
    ranked = np.sort(column)
    starts = np.append(True, ranked[1:] != ranked[:-1])
    if np.count_nonzero(starts) <= bins:
        return ranked[starts][:-1]
    inner = ranked[np.arange(1, bins) * len(ranked) // bins - 1]
    inner = inner[np.append(True, inner[1:] != inner[:-1])]
    return inner[inner < ranked[-1]]


def top_share(gains: np.ndarray, share: float) -> np.ndarray:
    """Indices, ascending, of the `share` of features with the largest gains; of equal gains the
    first features.

    The number of features is rounded, a half up, and at least one.
    """
    check_share(share)
    count = max(1, math.floor(share * len(gains) + 0.5))
    return np.sort(np.argsort(-gains, kind="stable")[:count])


def check_share(share: float) -> None:
    """Raise a SettingError for what is no share of features."""
    if not 0 < share <= 1:
        raise SettingError(f"the share of features is {share}; it must be above 0 and at most 1")


def _mutual_information(groups: np.ndarray, clicked: np.ndarray) -> float:
    """Mutual information, in nats, of group numbers and clicks, each (rows)."""
    joint = np.bincount(2 * groups + clicked, minlength=2 * (groups.max() + 1)).reshape(
        -1, 2
    ) / len(groups)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    occurs = joint > 0
    return max(0.0, float(np.sum(joint[occurs] * np.log(joint[occurs] / independent[occurs]))))

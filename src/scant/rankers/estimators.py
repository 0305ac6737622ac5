"""Unbiased estimates of a surrogate's gradient from the grades of the k documents on top (thesis
3.3.3).

With probability gamma, RTop-kF shows a uniformly random ranking, else the ranking by its scores. So
a document i is among the k on top with probability p(i), and a pair {i, j} with p(i, j). A gradient
that is a sum of terms that depend on one grade each (or on two) is estimated by the sum of the
terms seen, each divided by the probability of seeing it (Lemma 25): for any k the estimator of
Horvitz and Thompson.
"""

from itertools import combinations

import numpy as np

from scant import surrogates
from scant.errors import SettingError
from scant.measures import as_grades, as_scores, gain, rank

ALL = "all"
# by surrogate: the smallest k from which its gradient can be estimated, and why a smaller one will
# not do
NEEDS = {
    "squared": (1, ""),
    "kl": (1, ""),
    "smoothdcg": (1, ""),
    "ranksvm": (2, "its gradient does not decompose over single grades (Lemma 26)"),
    "logistic": (2, "it is a sum over pairs of grades"),
    "listnet": (ALL, "its gradient does not decompose over fewer than all grades (Lemma 27)"),
    "ndcg-squared": (
        ALL,
        "every entry is divided by Z(R), which depends on all grades (Theorem 32 for k = 1)",
    ),
}


def check(surrogate: str, k: int) -> None:
    """Raise a SettingError if the gradient of `surrogate` cannot be estimated without bias from k
    grades.
    """
    needed, reason = NEEDS[surrogate]
    if needed == ALL:
        raise SettingError(
            f"{surrogate} cannot be learnt from the top {k}: {reason}. Use kind: ogd, which sees "
            "every grade"
        )
    if k < needed:
        raise SettingError(
            f"{surrogate} cannot be learnt from the top {k}: {reason}. Use k: {needed} or more"
        )


def value_and_gradient(
    surrogate: str, scores, grades, epsilon: float = 0.01
) -> tuple[float, np.ndarray]:
    """The surrogate's value and its gradient (m) in the scores, from all grades; `epsilon` is
    SmoothDCG's smoothing.
    """
    if surrogate == "smoothdcg":
        return surrogates.smoothdcg(scores, grades, epsilon)
    return getattr(surrogates, surrogate.replace("-", "_"))(scores, grades)


def inclusion(
    order, k: int, gamma: float, mismatch: float = 1.0, slot: bool = False
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The probabilities with which documents, and pairs of documents, are among the k on top.

    Parameters
    ----------
    order : shape (m,), the ranking that is shown without exploration
    k : 1 or more; values above m count as m
    gamma : the probability of exploring
    mismatch : factor on the probabilities of documents and pairs that are not on top of `order`;
        the probabilities are right with 1 (a reading)
    slot : whether a round that explores shows, in place of any ranking, `order` but for place k,
        which holds any of the documents from place k on

    Returns
    -------
    p : float64 (m), `(1 - gamma) 1[i in the top k] + gamma k / m`; with a slot 1 above place k, and
        from there on `(1 - gamma) 1[i at place k] + gamma / (m - k + 1)`
    pairs : float64 (m, m), `(1 - gamma) 1[both in the top k] + gamma k (k - 1) / (m (m - 1))`; its
        diagonal is p. With a slot it is the probability of the lower document, and 0 for two
        documents from place k on, which are never seen together
    """
    m = len(order)
    k = min(k, m)
    if slot:
        p = np.full(m, gamma / (m - k + 1) * mismatch)
        p[order[k - 1]] = 1 - gamma + gamma / (m - k + 1)
        p[order[: k - 1]] = 1.0
        above = np.isin(np.arange(m), order[: k - 1])
        pairs = np.where(above[:, None], p, np.where(above, p[:, None], 0.0))
        np.fill_diagonal(pairs, p)
        return p, pairs
    inside = np.zeros(m, bool)
    inside[order[:k]] = True
    both = np.outer(inside, inside)
    chance = gamma * k / m
    p = np.where(inside, 1 - gamma + chance, chance * mismatch)
    chance = gamma * k * (k - 1) / (m * (m - 1)) if m > 1 else 1.0
    pairs = np.where(both, 1 - gamma + chance, chance * mismatch)
    np.fill_diagonal(pairs, p)
    return p, pairs


def estimate(
    surrogate: str, scores, grades, shown, k: int, gamma: float, *, epsilon: float = 0.01,
    mismatch: float = 1.0,
    ordered: bool = False, floor: float = 0.0, control: bool = False, order=None,
    slot: bool = False,
) -> np.ndarray:  # fmt: skip
    """The estimate of the gradient in the scores, float64 (m), from the grades of the first k
    documents of `shown`.

    With `mismatch` 1 and `floor` 0, its expectation over the ranking shown is the gradient (thesis
    3.3.3.1 and 3.3.3.2); with `slot`, of ranksvm and logistic that of the pairs with a document
    above place k. With `floor` 1 and `control` it is the gradient of the loss of the k documents
    alone.

    Parameters
    ----------
    surrogate : squared, kl, smoothdcg, ranksvm or logistic; with `floor` 1 also listnet
    scores : shape (m,)
    grades : shape (m,); only the grades of the k documents on top are used
    shown : shape (m,), the ranking shown
    k : how many grades are seen
    gamma : the probability of exploring
    epsilon : SmoothDCG's smoothing
    mismatch : see `inclusion`
    ordered : whether to divide a pair by the probability of its documents in this order (released
        code; only for k = 2)
    floor : the least probability to divide by
    order : shape (m,), the ranking that is shown without exploration; by default that of the scores
    slot : see `inclusion`
    control : whether the estimate of the squared surrogate's gradient has its own scores as control
        variate: each grade is estimated by s + (R - s) 1[seen] / p in place of R 1[seen] / p
    """
    scores = as_scores(scores)
    m = len(scores)
    seen = np.asarray(shown)[: min(k, m)]
    r = as_grades(np.asarray(grades)[seen])
    order = rank(scores) if order is None else np.asarray(order)
    p, pairs = inclusion(order, k, gamma, mismatch, slot)
    p, pairs = np.maximum(p, floor), np.maximum(pairs, floor)
    estimated = np.zeros(m)
    if surrogate == "squared":
        estimated = np.zeros(m) if control else 2 * scores
        estimated[seen] -= 2 * (r - control * scores[seen]) / p[seen]
    elif surrogate == "listnet":
        estimated[seen] = surrogates.listnet(scores[seen], r)[1]
    elif surrogate == "kl":
        estimated[seen] = (np.exp(np.minimum(scores[seen], surrogates.EXP_CLIP)) - np.exp(r)) / p[
            seen
        ]
    elif surrogate == "smoothdcg":
        soft = np.exp((scores - scores.max()) / epsilon)
        soft /= soft.sum()
        terms = gain(r) * soft[seen] / p[seen]
        estimated = soft * terms.sum() / epsilon
        estimated[seen] -= terms / epsilon
    else:
        for (a, i), (b, j) in combinations(enumerate(seen), 2):
            probability = pairs[i, j]
            if ordered:
                half = gamma / (m * (m - 1))
                probability = 1 - gamma + half if (order[:2] == [i, j]).all() else half * mismatch
                probability = max(probability, floor)
            _, slope = getattr(surrogates, surrogate)(scores[[i, j]], r[[a, b]])
            estimated[[i, j]] += slope / probability
    return estimated

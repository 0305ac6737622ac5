"""Unbiased estimates of a surrogate's gradient from the grades of the k documents on top (thesis 3.3.3).

RTop-kF shows, with probability gamma, a uniformly random ranking, else the ranking by its scores. A document i is then
among the k on top with probability p(i), a pair {i, j} with probability p(i, j), and a gradient that is a sum of terms
of one document's grade (or of two) is estimated by the terms seen, each divided by its probability (Lemma 25; for
k beyond the papers' 1 and 2, Horvitz and Thompson's estimator).
"""

from itertools import combinations, permutations

import numpy as np

from scant import surrogates
from scant.errors import SettingError, unknown
from scant.measures import as_grades, as_scores, gain, rank

ALL = "all"
NEEDS = {  # surrogate: the smallest k that its gradient can be estimated from, and why no smaller one
    "squared": (1, ""),
    "kl": (1, ""),
    "smoothdcg": (1, ""),
    "ranksvm": (2, "its gradient does not decompose over single grades (Lemma 26)"),
    "listnet": (ALL, "its gradient does not decompose over fewer than all grades (Lemma 27)"),
    "ndcg-squared": (ALL, "every entry is divided by Z(R), which depends on all grades (Theorem 32 for k = 1)"),
}


def check(surrogate: str, k: int) -> None:
    """Raise a SettingError if the gradient of `surrogate` cannot be estimated without bias from k grades."""
    if surrogate not in NEEDS:
        raise unknown("surrogate", surrogate, NEEDS)
    needed, reason = NEEDS[surrogate]
    if k < 1:
        raise SettingError(f"k is {k}: at least one grade has to be seen")
    if needed == ALL:
        raise SettingError(
            f"{surrogate} cannot be learnt from the top {k}: {reason}. Use kind: ogd, which sees every grade"
        )
    if k < needed:
        raise SettingError(f"{surrogate} cannot be learnt from the top {k}: {reason}. Use k: {needed} or more")


def value_and_gradient(surrogate: str, scores, grades, epsilon: float = 0.01) -> tuple[float, np.ndarray]:
    """The surrogate and its gradient in the scores (m) under full feedback; `epsilon` is SmoothDCG's smoothing."""
    if surrogate == "smoothdcg":
        return surrogates.smoothdcg(scores, grades, epsilon)
    return getattr(surrogates, surrogate.replace("-", "_"))(scores, grades)


def inclusion(scores, k: int, gamma: float, mismatch: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities that documents, and pairs of them, are among the k on top.

    Parameters
    ----------
    scores : shape (m,); k : 1 or more, m if greater; gamma : the probability of exploring
    mismatch : multiplies the probabilities of what is not on top by the scores (reading; 1 leaves them right)

    Returns
    -------
    p : float64 (m), `(1 - gamma) 1[i in the top k] + gamma k / m`
    pairs : float64 (m, m), `(1 - gamma) 1[both in the top k] + gamma k (k - 1) / (m (m - 1))`; its diagonal is p
    """
    m = len(scores)
    k = min(k, m)
    inside = np.zeros(m, bool)
    inside[rank(scores)[:k]] = True
    both = np.outer(inside, inside)
    chance = gamma * k / m
    p = np.where(inside, 1 - gamma + chance, chance * mismatch)
    chance = gamma * k * (k - 1) / (m * (m - 1)) if m > 1 else 1.0
    pairs = np.where(both, 1 - gamma + chance, chance * mismatch)
    np.fill_diagonal(pairs, p)
    return p, pairs


def estimate(
    surrogate: str, scores, grades, shown, k: int, gamma: float, epsilon: float = 0.01, mismatch: float = 1.0,
    ordered: bool = False,
) -> np.ndarray:  # fmt: skip
    """The estimated gradient in the scores, from the grades of the first k documents of `shown`.

    With `mismatch` 1 its expectation over the ranking shown is the gradient (thesis 3.3.3.1 and 3.3.3.2).

    Parameters
    ----------
    surrogate : squared, kl, smoothdcg or ranksvm
    scores : shape (m,); grades : shape (m,), looked at on top alone; shown : the ranking shown, shape (m,)
    k : how many grades are seen; gamma : the probability of exploring; epsilon : SmoothDCG's smoothing
    mismatch : see `inclusion`
    ordered : divide a pair by the probability of its two documents in their order (the released code; k = 2 only)

    Raises
    ------
    SettingError : the surrogate needs more feedback
    """
    check(surrogate, k)
    scores = as_scores(scores)
    m = len(scores)
    seen = np.asarray(shown)[: min(k, m)]
    r = as_grades(np.asarray(grades)[seen])
    p, pairs = inclusion(scores, k, gamma, mismatch)
    estimated = np.zeros(m)
    if surrogate == "squared":
        estimated = 2 * scores
        estimated[seen] -= 2 * r / p[seen]
    elif surrogate == "kl":
        estimated[seen] = (np.exp(np.minimum(scores[seen], surrogates.EXP_CLIP)) - np.exp(r)) / p[seen]
    elif surrogate == "smoothdcg":
        soft = np.exp((scores - scores.max()) / epsilon)
        soft /= soft.sum()
        terms = gain(r) * soft[seen] / p[seen]
        estimated = soft * terms.sum() / epsilon
        estimated[seen] -= terms / epsilon
    else:
        own = rank(scores)
        for (a, i), (b, j) in combinations(enumerate(seen), 2):
            probability = pairs[i, j]
            if ordered:
                half = gamma / (m * (m - 1))
                probability = 1 - gamma + half if (own[:2] == [i, j]).all() else half * mismatch
            if r[a] < r[b]:
                (a, i), (b, j) = (b, j), (a, i)
            if r[a] > r[b] and 1 + (scores[j] - scores[i]) > 0:
                estimated[i] -= 1 / probability
                estimated[j] += 1 / probability
    return estimated


def moments(
    surrogate: str, scores, grades, k: int, gamma: float, epsilon: float = 0.01, mismatch: float = 1.0,
    ordered: bool = False,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The exact expectation of `estimate`, float64 (m), and its variance `E ||g - E g||^2`.

    The estimate depends on which documents are on top (and, if `ordered`, on the order of two), so that these are
    enumerated, not the m! rankings.
    """
    own, m = rank(scores), len(scores)
    tops = list(permutations(range(m), 2)) if ordered else list(combinations(range(m), min(k, m)))
    chances = [gamma / len(tops)] * len(tops) + [1 - gamma]
    estimates = np.array(
        [
            estimate(surrogate, scores, grades, top, k, gamma, epsilon, mismatch, ordered)
            for top in (*tops, own[: min(k, m)])
        ]
    )
    mean = chances @ estimates
    return mean, float(chances @ ((estimates - mean) ** 2).sum(axis=1))

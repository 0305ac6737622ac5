"""Ranking measures: how good is a ranking of one query's documents, given their grades?

Throughout, a query has m >= 1 documents, numbered 0..m-1.

- `ranking`: integers of shape (m,), a permutation of the documents, best first; see `rank`.
- `grades`: shape (m,), the relevance of each document, whole numbers from 0 to `MAX_GRADE`; grades
  above 0 are relevant where a measure knows only relevant and irrelevant.
- Positions count from 1. Gain `G(r) = 2^r - 1`, discount `D(i) = 1 / log2(1 + i)`.

Input that breaks these rules raises a `ValueError` that says where. Everything is float64 NumPy:
this is the readable reference that the compiled kernels are held to.

Runs record some of them, by names such as "ap" and "precision@5" (see `RECORDABLE`), and measures
of a user's own, by "module:function".
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike

from scant.declare.declarations import own
from scant.declare.own import making
from scant.errors import SettingError, unknown

MAX_GRADE = 53  # the largest grade whose gain 2^r - 1 is exact in float64

# `gain` of every grade, for grades that were checked
GAINS = np.ldexp(1.0, np.arange(MAX_GRADE + 1)) - 1.0
ERR_GRADE = 4  # the top of ERR's scale, as in Chapelle et al. (2009) and in TREC's gdeval


def rank(scores: ArrayLike) -> np.ndarray:
    """The ranking by descending score, ties by document index.

    Parameters
    ----------
    scores : finite numbers of shape (m,)

    Returns
    -------
    ranking : int64 of shape (m,), document indices, best first

    Examples
    --------
    >>> rank([0.5, 2.0, 0.5])
    array([1, 0, 2])
    """
    return np.argsort(-as_scores(scores), kind="stable")


def positions(ranking):
    """The position of each document, from 1: int64 of shape (m,), the inverse of `ranking`.

    Examples
    --------
    >>> positions([1, 2, 0])
    array([3, 1, 2])
    """
    ranking = as_ranking(ranking)
    place = np.empty_like(ranking)
    place[ranking] = np.arange(1, len(ranking) + 1)
    return place


def gain(grades):
    """`G(r) = 2^r - 1` of each grade: float64 of their shape, exact (perceptron paper, Eq. 1)."""
    return GAINS[as_grades(np.ravel(grades)).reshape(np.shape(grades))]


def discount(positions):
    """`D(i) = 1 / log2(1 + i)` of positions i >= 1: float64 of their shape (perceptron paper,
    Eq. 1).
    """
    positions = np.asarray(positions)
    if not np.all(positions >= 1):
        raise ValueError(f"positions count from 1; got {positions.min()}")
    return 1.0 / np.log2(1.0 + positions)


def _dcg(ranked_grades, k, gains=GAINS):
    top = ranked_grades[:k]
    # np.sum adds in one order whatever the memory layout, so that two lists with the same grades in
    # the same order have bitwise the same DCG, and the NDCG of a perfect list is exactly 1.
    return float(np.sum(gains[top] * discount(np.arange(1, len(top) + 1))))


def _normalised(ranked_grades, k, empty, gains=GAINS):
    """The DCG of the top k divided by the greatest possible; `empty` without a relevant
    document.
    """
    k = as_cutoff(k, len(ranked_grades))
    ideal = _dcg(np.sort(ranked_grades)[::-1], k, gains)
    return _dcg(ranked_grades, k, gains) / ideal if ideal > 0 else float(empty)


def dcg(ranking, grades, k=None):
    """Discounted cumulative gain of the top k, `sum_{i<=k} G(grade at position i) D(i)`.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module
    k : cut-off >= 1, None for the whole list; beyond m it is m

    Returns
    -------
    value : float in [0, inf); greater is better (the numerator of perceptron paper, Eq. 1)
    """
    ranked = _ranked(ranking, grades)
    return _dcg(ranked, as_cutoff(k, len(ranked)))


def ndcg(ranking: ArrayLike, grades: ArrayLike, k: int | None = 10, empty: float = 0.0) -> float:
    """DCG@k divided by the greatest DCG@k of any ranking (perceptron paper, Eq. 1).

    Parameters
    ----------
    ranking, grades : shape (m,), see the module
    k : cut-off >= 1, None for the whole list; beyond m it is m
    empty : the value of a query without a relevant document

    Returns
    -------
    value : float in [0, 1]; exactly 1 if the grades on top are the ideal ones

    Examples
    --------
    >>> ndcg([0, 1, 2], [2, 1, 0])
    1.0
    """
    return _normalised(_ranked(ranking, grades), k, empty)


def linear_ndcg(ranking, grades, k=None, empty=0.0):
    """NDCG whose gain is the grade itself, as trec_eval's `ndcg` and `ndcg_cut` have it; see
    `ndcg`.

    k : cut-off >= 1, None for the whole list; beyond m it is m
    """
    return _normalised(_ranked(ranking, grades), k, empty, np.arange(MAX_GRADE + 1.0))


def average_precision(ranking, grades, empty=0.0):
    """The mean, over the relevant documents, of the precision at their positions.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades above 0 are relevant
    empty : the value of a query without a relevant document

    Returns
    -------
    value : float in [0, 1]; exactly 1 if all relevant documents come first (perceptron paper, Eq.
        2)
    """
    relevant = _ranked(ranking, grades) > 0
    if not relevant.any():
        return float(empty)
    places = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))


def precision_at(ranking, grades, n):
    """How many of the top n documents are relevant: a count, not a fraction.

    The count is the form `f(ranking) . R` that the online games of thesis 3.2 need; divide by n for
    the proportion that evaluation tools call P@n.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades above 0 are relevant
    n : cut-off >= 1

    Returns
    -------
    value : int in 0..min(n, m)
    """
    relevant = _ranked(ranking, grades) > 0
    return int(np.count_nonzero(relevant[: as_cutoff(n, len(relevant), "n")]))


def recall_at(ranking, grades, n):
    """The share of the relevant documents that are among the top n.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades above 0 are relevant
    n : cut-off >= 1

    Returns
    -------
    value : float in [0, 1], 0 for a query without a relevant document; below 1 if more than n are
        relevant
    """
    relevant = _ranked(ranking, grades) > 0
    top = np.count_nonzero(relevant[: as_cutoff(n, len(relevant), "n")])
    return top / max(1, np.count_nonzero(relevant))


def reciprocal_rank(ranking, grades, k=None, empty=0.0):
    """One over the position of the first relevant document; its mean over queries is MRR.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades above 0 are relevant
    k : cut-off >= 1, None for the whole list; 0 if no relevant document is among the top k
    empty : the value of a query without a relevant document

    Returns
    -------
    value : float in [0, 1]; exactly 1 if a relevant document is first
    """
    relevant = np.flatnonzero(_ranked(ranking, grades) > 0)
    if not len(relevant):
        return float(empty)
    return 1.0 / (relevant[0] + 1) if relevant[0] < as_cutoff(k, len(grades)) else 0.0


def err(ranking, grades, k=None, max_grade=ERR_GRADE):
    """Expected reciprocal rank of the document that satisfies a user who reads from the top.

    A document of grade r satisfies with probability `(2^r - 1) / 2^max_grade` (Chapelle et al.,
    2009).

    Parameters
    ----------
    ranking, grades : shape (m,), see the module
    k : cut-off >= 1, None for the whole list; beyond m it is m
    max_grade : the top of the grading scale, not of this query; a higher grade is an error

    Returns
    -------
    value : float in [0, 1), 0 for a query without a relevant document
    """
    ranked = _ranked(ranking, grades)
    if max(ranked) > max_grade:
        raise ValueError(
            f"grade {max(ranked)} is above max_grade={max_grade}, the top of the scale"
        )
    top = ranked[: as_cutoff(k, len(ranked))]
    satisfied = GAINS[top] / 2.0**max_grade
    still_reading = np.concatenate(([1.0], np.cumprod(1.0 - satisfied)[:-1]))
    return float(np.sum(still_reading * satisfied / np.arange(1, len(top) + 1)))


def sum_loss(ranking, grades):
    """`sum_i position(i) R(i)`, positions from 1: an int >= 0, smaller is better (thesis 3.2.2).

    ranking, grades : shape (m,), see the module
    """
    grades = as_grades(grades)
    return int(positions(as_ranking(ranking, len(grades))) @ grades)


def pairwise_loss(ranking, grades):
    """How many pairs of documents have the lower grade above the higher one (thesis 3.2.2).

    For binary grades it differs from `sum_loss` by a number that the ranking does not change. Costs
    O(m) for each grade that occurs.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades may be binary or graded

    Returns
    -------
    value : int in 0..m(m-1)/2, smaller is better
    """
    ranked = _ranked(ranking, grades)
    return sum(int(np.cumsum(ranked < grade)[ranked == grade].sum()) for grade in np.unique(ranked))


def auc_loss(ranking, grades):
    """One minus the area under the ROC curve: the share of (relevant, irrelevant) pairs in the
    wrong order.

    Parameters
    ----------
    ranking, grades : shape (m,), see the module; grades above 0 are relevant

    Returns
    -------
    value : float in [0, 1], smaller is better; 0 if all documents are relevant or none is (thesis
        3.2.2)
    """
    relevant = as_grades(grades) > 0
    wrong = pairwise_loss(ranking, relevant)
    pairs = np.count_nonzero(relevant) * np.count_nonzero(~relevant)
    return wrong / pairs if pairs else 0.0


def position_loss(ranking, s):
    """`sum_u position(u) s(u)`, positions from 1, for any finite values s (Ailon, Eq. 2.1).

    Parameters
    ----------
    ranking : shape (m,), see the module
    s : shape (m,), the value of each document; 0 and 1 when the user chooses a subset

    Returns
    -------
    value : float, smaller is better; equals `sum_loss` when s are grades
    """
    s = as_scores(s, "s")
    return float(positions(as_ranking(ranking, len(s))) @ s)


def spearman_loss(ranking, other):
    """`-rho`, minus the unnormalised Spearman correlation `sum_u position(u) position'(u)` (Ailon,
    sec. 5).

    Parameters
    ----------
    ranking, other : two rankings of the same m documents

    Returns
    -------
    value : int, smaller is better; least, -m(m+1)(2m+1)/6, if the rankings agree
    """
    place = positions(ranking)
    return -int(place @ positions(as_ranking(other, len(place))))


# --- by name


@dataclass(frozen=True)
class Measure:
    """A measure that runs may record: one of a ranking of graded documents, greater being better.

    title : what figures call it
    code : the number that `scant.kernels.pieces` knows it by
    value : its function of (ranking, grades), then of the cut-off if its name may have one
    cut : whether its name has a cut-off, the 5 of "precision@5": "never", "may" or "must"
    empty : whether `value` takes `empty`, its value for a query without a relevant document. A
        measure takes it if its greatest value is 1 for every other query: 1 then says that nothing
        was lost. All other measures are 0 for such a query, since no ranking of it gains anything.
    largest_grade : the top of its grading scale
    """

    title: str
    code: int
    value: Callable
    cut: str = "never"
    empty: bool = False
    largest_grade: int = MAX_GRADE


PLACE = -1  # the code of the grade at a place, which measures of a user's own are computed from
RECORDABLE = {
    "ndcg": Measure("NDCG", 0, ndcg, cut="may", empty=True),
    "ap": Measure("AP", 1, average_precision, empty=True),
    "dcg": Measure("DCG", 2, dcg, cut="may"),
    "precision": Measure("Precision", 3, precision_at, cut="must"),
    "err": Measure("ERR", 4, err, cut="may", largest_grade=ERR_GRADE),
    "mrr": Measure("MRR", 5, reciprocal_rank, cut="may", empty=True),
    "recall": Measure("Recall", 6, recall_at, cut="must"),
    "linear_ndcg": Measure("Linear NDCG", 7, linear_ndcg, cut="may", empty=True),
}


def is_own(name) -> bool:
    """Whether a name means a measure of a user's own, "module:function".

    Nothing is imported.
    """
    return re.fullmatch(r"[A-Za-z0-9_.]+:[A-Za-z0-9_]+", str(name)) is not None


_own_function = cache(partial(own, what="measure", form="function"))


def _of_own(name, ranking, grades):
    """The value of a user's own measure, 0 for a query without a relevant document."""
    shown = as_grades(grades)[ranking]
    value = float(_own_function(name)(shown)) if np.any(shown > 0) else 0.0
    if not np.isfinite(value):
        raise ValueError(
            f"the measure {name} is {value} for the grades {shown.tolist()}; it is to "
            "be a finite number"
        )
    return value


def check_own(name) -> None:
    """Raise a SettingError unless "module:function" is a measure: a function of grades that gives a
    finite number.
    """
    _own_function(name)
    with making(
        f"measure {name!r}, a function from grades in the order shown to a number, fails for the "
        "grades [0, 2, 1]"
    ):
        _of_own(name, np.arange(3), np.array([0, 2, 1]))


def named(name):
    """The measure that a name means, and its cut-off, None for the whole list.

    Parameters
    ----------
    name : of `RECORDABLE`, with "@" and a cut-off from 1 to 999999 if the measure may or must have
        one; or, of a user's own, "module:function", which is not imported before it is used

    Raises
    ------
    SettingError : the name means no measure

    Examples
    --------
    >>> measure, cut = named("precision@5")
    >>> measure.title, cut
    ('Precision', 5)
    """
    if is_own(name):
        return Measure(name.partition(":")[2], PLACE, partial(_of_own, name)), None
    base, mark, cut = str(name).partition("@")
    if base not in RECORDABLE:
        whole = [base for base, measure in RECORDABLE.items() if measure.cut != "must"]
        cuts = [f"{base}@k" for base, measure in RECORDABLE.items() if measure.cut != "never"]
        raise unknown("measure", name, [*whole, *cuts])
    measure = RECORDABLE[base]
    if mark and measure.cut == "never":
        raise SettingError(
            f"the measure {base!r} has no cut-off, since it is defined for whole "
            f"lists; got {name!r}"
        )
    if not mark and measure.cut == "must":
        raise SettingError(f"the measure {base!r} needs a cut-off, as in '{base}@5'")
    if mark and not re.fullmatch("[1-9][0-9]{0,5}", cut):
        raise SettingError(
            f"the cut-off of a measure is a whole number from 1 to 999999, as in '{base}@5'; got "
            f"{name!r}"
        )
    return measure, int(cut) if mark else None


def recordable(name):
    """Whether a measure has this name."""
    if not (is_own(name) or str(name).partition("@")[0] in RECORDABLE):
        return False  # asked of many columns: `named` would look for what was meant
    try:
        return bool(named(name))
    except SettingError:
        return False


def function_of(name):
    """The measure of this name as a function of (ranking, grades, empty=0.0); see `Measure` for
    `empty`.
    """
    measure, cut = named(name)

    def value(ranking, grades, empty=0.0):
        cuts = () if measure.cut == "never" else (cut,)
        return measure.value(ranking, grades, *cuts, **({"empty": empty} if measure.empty else {}))

    return value


def title_of(name):
    """What figures call the measure of this name: "Precision@5" for "precision@5"."""
    return named(name)[0].title + "".join(str(name).partition("@")[1:])


def codes_of(names: Iterable[str]):
    """The code of each measure and its cut-off, 0 for none, int64 (measures, 2), as
    `scant.kernels.pieces.measure_ranking` takes them.
    """
    pairs = [(measure.code, cut or 0) for measure, cut in map(named, names)]
    return np.array(pairs, np.int64).reshape(-1, 2)


def as_scores(scores, name="scores"):
    """`scores` as float64 of shape (m,); ValueError unless they are one finite number per
    document.
    """
    values = _unmasked(scores)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be a one-dimensional array of numbers, at least one; got shape "
            f"{values.shape} of {values.dtype}"
        )
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        _refuse(~finite, values, name, "finite")
    return values


def as_grades(grades, m=None):
    """`grades` as int64 of shape (m,); ValueError unless they are m whole numbers from 0 to
    `MAX_GRADE`.
    """
    values = as_scores(grades, "grades")
    whole = (values >= 0) & (values == np.floor(values))
    if not (whole & (values <= MAX_GRADE)).all():
        _refuse(~whole, values, "grades", "non-negative integers")
        _refuse(
            values > MAX_GRADE,
            values,
            "grades",
            f"at most {MAX_GRADE}, where 2^grade - 1 is exact",
        )
    _same_length(values, m, "grades")
    return values.astype(np.int64)


def as_ranking(ranking, m=None):
    """`ranking` as int64 of shape (m,); ValueError unless it holds each document 0..m-1 exactly
    once.
    """
    values = _unmasked(ranking)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise ValueError(
            f"a ranking must be a one-dimensional array of document indices, at least one; "
            f"got shape {values.shape} of {values.dtype}"
        )
    _same_length(values, m, "documents in the ranking")
    values = values.astype(np.int64)
    outside = (values < 0) | (values >= len(values))
    _refuse(outside, values, "ranking", f"document indices from 0 to {len(values) - 1}")
    lacking = np.flatnonzero(np.bincount(values, minlength=len(values)) == 0)
    if lacking.size:
        raise ValueError(
            f"a ranking must hold each of its {len(values)} documents once; document {lacking[0]} "
            "is missing"
        )
    return values


def _unmasked(values):
    """An array of the values; ValueError if some are masked, which NumPy would use all the same."""
    if np.ma.is_masked(values):
        raise ValueError("values are masked or missing: leave them out, or fill them in")
    return np.asarray(values)


def as_cutoff(k, m, name="k"):
    """How many of m positions count: m for None, else min(k, m); ValueError unless k is an integer
    of at least 1.
    """
    if k is None:
        return m
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(
            f"{name} must be an integer of at least 1, or None for the whole list; got {k!r}"
        )
    return min(int(k), m)


def _same_length(values, m, name):
    if m is not None and len(values) != m:
        raise ValueError(f"one query, two lengths: {len(values)} {name}, but {m} expected")


def _refuse(bad, values, name, demand):
    if bad.any():
        index = int(np.argmax(bad))
        raise ValueError(f"{name} must be {demand}; {name}[{index}] is {values[index]}")


def _ranked(ranking, grades):
    """The grades in the order of the ranking."""
    grades = as_grades(grades)
    return grades[as_ranking(ranking, len(grades))]

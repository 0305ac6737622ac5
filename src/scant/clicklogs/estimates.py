"""What a click log says of the clicks of a policy that did not log it.

Every estimator weights the clicks of a visit so that their sum has the mean of the target policy's
clicks, if its premise about users holds. The names are those of Li et al. (2018) and McInerney et
al. (2020); pooling over places is the policy-aware estimator of Oosterhuis & de Rijke (2020).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scant.bandits import above, intervals, likelihood
from scant.clicklogs.logs import Log
from scant.clicklogs.policies import Policy

LEVEL = 0.95  # of the intervals, and of the test of a premise
ROUNDING = 1e-300


@dataclass(frozen=True)
class Case:
    """A log, the policy that logged it, and the target, the policy whose clicks are estimated.

    look : float64 (K), the position curve: how often each place is looked at, as a multiple of the
        first
    """

    log: Log
    logging: Policy
    target: Policy
    look: np.ndarray

    def queries(self) -> Iterator[tuple[int, np.ndarray]]:
        """Each query in the log, and the visits with it."""
        return visits_by_query(self.log)


def visits_by_query(log: Log) -> Iterator[tuple[int, np.ndarray]]:
    """Each query in a log, and the indices of the visits with it."""
    order = np.argsort(log.query, kind="stable")
    ids, starts = np.unique(log.query[order], return_index=True)
    return zip(ids.tolist(), np.split(order, starts[1:]), strict=True)


@dataclass(frozen=True)
class Weighted:
    """What each visit says of the target's clicks in each place, float64 (n, K).

    clicked : the summed weights of clicked documents; their mean is the target's clicks
    missed : the summed weights of documents not clicked; None if weights may be negative
    most : the mean of clicked + missed over visits with the query, plus the documents that the
        target shows in the place but the log never has looked at; so the target's clicks are at
        most `most - missed`
    """

    clicked: np.ndarray
    missed: np.ndarray | None
    most: np.ndarray | None = None


# --- estimators


def _by_place(case: Case, weights: np.ndarray) -> Weighted:
    """The `Weighted` of weights (n, K) of documents for the places that they were shown in."""
    clicked = np.where(case.log.click, weights, 0.0)
    return Weighted(clicked, weights - clicked, np.ones(weights.shape))


def item_position(case: Case) -> Weighted:
    """Weights P(d in place k) of the target over those of the log."""
    weights = np.empty(case.log.marginal.shape)
    for q, rows in case.queries():
        lists = case.log.document[rows]
        weights[rows] = case.target.marginals[q][lists, np.arange(lists.shape[1])]
    return _by_place(case, weights / case.log.marginal)


def prefix(case: Case) -> Weighted:
    """Weights P(d_1, ..., d_k) of the target over those of the log."""
    weights = np.empty(case.log.given_above.shape)
    for q, rows in case.queries():
        weights[rows] = case.target.prefixes(q, case.log.document[rows])
    return _by_place(case, weights / np.cumprod(case.log.given_above, axis=1))


def pooled(case: Case) -> Weighted:
    """Weights look_k P(d in place k) of the target over sum_j look_j P(d in place j) of the log,
    for a document wherever it was shown.
    """
    shape = case.log.click.shape
    clicked, missed, most = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for q, rows in case.queries():
        target, logging = case.target.marginals[q], case.logging.marginals[q]
        looks = logging @ case.look
        seen = looks > 0
        weights = target * case.look / np.where(seen, looks, np.inf)[:, None]
        of_lists, clicks = weights[case.log.document[rows]], case.log.click[rows]
        clicked[rows] = np.einsum("njk,nj->nk", of_lists, clicks)
        missed[rows] = np.einsum("njk,nj->nk", of_lists, ~clicks)
        most[rows] = logging.sum(axis=1) @ weights + target[~seen].sum(axis=0)
    return Weighted(clicked, missed, most)


def doubly_robust(case: Case, model: Callable[[int], np.ndarray] | None = None) -> Weighted:
    """A click model's estimate of the target's clicks, plus item-position weights times the model's
    errors on the log's clicks.

    model : takes a query, returns its documents' click rates, float64 (m, K); by default pulls
        times the curve, with pulls counted in the half of the visits that lacks this one
    """
    whole = item_position(case)
    weights, terms = whole.clicked + whole.missed, whole.clicked.copy()
    halves = np.arange(len(case.log)) % 2 == 1
    models = [model, model] if model else [_pulls(case, ~halves), _pulls(case, halves)]
    for q, rows in case.queries():
        for rates_of, half in zip(models, (halves, ~halves), strict=True):
            own, rates = rows[half[rows]], rates_of(q)
            lists = case.log.document[own]
            wrong = weights[own] * rates[lists, np.arange(lists.shape[1])]
            terms[own] += (case.target.marginals[q] * rates).sum(axis=0) - wrong
    return Weighted(terms, None)


def _pulls(case: Case, visits: np.ndarray) -> Callable[[int], np.ndarray]:
    """The click model `model` of `doubly_robust`, from some visits: a document's pull is its clicks
    over looks, smoothed by one more look with the mean of all.
    """
    counts = counted(case.log.take(visits), case.logging)
    clicks, looks = counts.clicks.sum(axis=1), counts.showings @ case.look
    pulls = (clicks + clicks.sum() / max(looks.sum(), 1.0)) / (looks + 1)

    def rates(q: int) -> np.ndarray:
        of_query = pulls[counts.starts[q] : counts.starts[q + 1]]
        return np.minimum(of_query[:, None] * case.look, 1.0)

    return rates


# --- counts, and what they tell: limits, a test of the premise, the position curve


class Counts(NamedTuple):
    """How often each document was shown in each place, and clicked there: float64 (documents, K).

    starts : int (queries + 1), where the documents of each query start, and the last ones end
    """

    clicks: np.ndarray
    showings: np.ndarray
    starts: np.ndarray


def starts(logging: Policy) -> np.ndarray:
    """Where the documents of each query start among all, and the last ones end."""
    return np.cumsum([0, *map(len, logging.scores)])


def counted(log: Log, logging: Policy) -> Counts:
    """The counts of a log."""
    ends, places = starts(logging), log.click.shape[1]
    cell = (ends[log.query][:, None] + log.document) * places + np.arange(places)
    clicks, showings = (
        np.bincount(of.ravel(), minlength=ends[-1] * places).reshape(-1, places).astype(float)
        for of in (cell[log.click], cell)
    )
    return Counts(clicks, showings, ends)


def item_position_limit(expected: Counts, shown: np.ndarray) -> np.ndarray:
    """The limit of estimates by `item_position` for many visits, by place: float64 (K).

    expected : the mean counts of a visit
    shown : float64 (documents, K), the mean showings of a visit under the target
    """
    return (shown * _ratio(expected.clicks, expected.showings)).sum(axis=0)


def pooled_limit(expected: Counts, shown: np.ndarray, look: np.ndarray) -> np.ndarray:
    """The limit of estimates by `pooled`, see `item_position_limit`; look : the position curve"""
    return _ratio(expected.clicks.sum(axis=1), expected.showings @ look) @ (shown * look)


def _ratio(clicks: np.ndarray, showings: np.ndarray) -> np.ndarray:
    """Clicks over showings, 0 where nothing is shown."""
    return np.divide(clicks, showings, out=np.zeros_like(clicks), where=showings > 0)


def premise_p(log: Log, logging: Policy) -> float:
    """The p-value of the test that clicks do not depend on what stands above, see `above`."""
    n, places = log.document.shape
    item = starts(logging)[log.query][:, None] + log.document
    half = np.repeat(np.arange(n) % 2, places).reshape(n, places)
    of_half = 2 * item + half
    count = np.bincount(of_half.ravel())
    pulls = np.bincount(of_half.ravel(), log.click.ravel()) / np.maximum(count, 1)
    pulls = np.r_[pulls, 0.0]  # if nothing but the first half has the last item
    down = (np.cumsum(of, axis=1) - of for of in (pulls[2 * item + 1 - half], pulls[of_half]))
    stratum = of_half * places + np.arange(places)
    columns = [of[:, 1:].ravel() for of in (stratum, half, *down, log.click)]
    return above.tested(*columns, 1 - LEVEL).p


def harvested_curve(counts: Counts) -> np.ndarray:
    """The position curve that a log tells, float64 (K), 1 at the first place.

    For each place it is the Mantel-Haenszel ratio of two click rates of the same documents of the
    same queries: in this place, and in the places above it, where each showing counts as much as
    its place is looked at (intervention harvesting, Agarwal et al. 2019). A place is taken to be
    like the one above it if nothing was clicked there, or none of its documents was ever shown
    above it.
    """
    curve = np.ones(counts.clicks.shape[1])
    clicks, looks = counts.clicks[:, 0], counts.showings[:, 0]
    for k in range(1, len(curve)):
        here_clicks, here = counts.clicks[:, k], counts.showings[:, k]
        both = np.maximum(looks + here, 1e-300)
        expected = (clicks * here / both).sum()
        ratio = (here_clicks * looks / both).sum() / expected if expected > 0 else 0.0
        curve[k] = ratio if ratio > 0 else curve[k - 1]
        clicks, looks = clicks + here_clicks, looks + curve[k] * here
    return curve


# --- intervals


@dataclass(frozen=True)
class Interval:
    """An estimate of the clicks of a visit, or of one place, with two-sided intervals of 95 %.

    t_low, t_high : by Student's t, in the limit of many visits
    low, high : by betting, for every n; NaN if weights may be negative
    likely_low, likely_high : by empirical likelihood, in the limit; NaN where it is not asked for
    """

    estimate: float
    t_low: float
    t_high: float
    low: float = np.nan
    high: float = np.nan
    likely_low: float = np.nan
    likely_high: float = np.nan


def interval(weighted: Weighted, place: int | None = None, likely: bool = False) -> Interval:
    """The intervals of the clicks in all places, or in the one with this index.

    likely : whether to compute those by empirical likelihood, too, which takes longest
    """
    columns = slice(None) if place is None else slice(place, place + 1)
    x, one_sided = weighted.clicked[:, columns].sum(axis=1), (1 + LEVEL) / 2
    mean, variance = x.mean(), x.var(ddof=1)
    t_low = float(intervals.t_of(len(x), mean, variance, one_sided))
    by_t = t_low, float(2 * mean - t_low)
    if weighted.missed is None:
        return Interval(float(mean), *by_t)
    most = weighted.most[:, columns].sum(axis=1)
    missed, scale = weighted.missed[:, columns].sum(axis=1), most.max()
    low = scale * _lower(x / scale, one_sided)
    high = scale * (1 - _lower((missed + scale - most) / scale, one_sided))
    ends = _likely(x, missed, most) if likely else ()
    return Interval(float(mean), *by_t, low, max(high, low), *ends)


def least_lead(log: Log, logging: Policy, target: Policy, rival: Policy, look: np.ndarray) -> float:
    """The lower bound, with 95 % confidence by betting, on how many more clicks a visit of the
    target has than one of a rival, by pooled weights; neither explores.
    """
    pairs = zip(logging.marginals, target.marginals, rival.marginals, strict=True)
    weights = [(to - of) @ look / np.maximum(shown @ look, ROUNDING) for shown, to, of in pairs]
    lead = np.empty(len(log))
    for q, rows in visits_by_query(log):
        lead[rows] = (weights[q][log.document[rows]] * log.click[rows]).sum(axis=1)
    places = len(look)
    # the least that a visit can have: clicks on the documents with the lowest weights
    least = min(np.minimum(np.sort(of_query)[:places], 0).sum() for of_query in weights)
    scale = places - least
    return scale * _lower((lead - least) / scale, LEVEL) + least


def _lower(x: np.ndarray, level: float) -> float:
    """The lower bound, by betting, on the mean of terms that are 0 or more and have a mean of at
    most 1.
    """
    if not x.any():
        return 0.0
    return float(intervals.betting_without_range(intervals.counted(x, x.max()), level))


def _likely(x: np.ndarray, missed: np.ndarray, most: np.ndarray) -> tuple[float, float]:
    """The ends of the interval by empirical likelihood; x, missed, most : `Weighted` by visit

    A visit's weight is (x + missed) / most, with a mean of 1; its reward is proportional to most *
    x / (x + missed).
    """
    scale, shown = most.max(), x + missed
    weight, reward = shown / most, x / np.where(shown > 0, shown, 1.0) * most / scale
    cells, count = np.unique(np.c_[weight, reward], axis=0, return_counts=True)
    largest = max(float(weight.max()), 1.0 + 1e-9)
    _, low, high, _ = likelihood.interval(*cells.T, count[None], largest, LEVEL)
    return float(scale * low[0]), float(scale * high[0])

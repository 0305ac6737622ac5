"""Do clicks on an item depend on what stands above it? A log of lists tells.

An item at a place is compared with itself at this place for the same kind of visit: where what
stands above is pulled at more often, is it clicked less often, or more? An item's pull is its click
rate in the other half of the lists, so that no click is held against itself: that clicks go with
clicks above says that users differ, and nothing of the premise. Half by half the statistic is the
sum over strata of the covariance of clicks and pulls above; its variance is that of all orders of
the clicks of each stratum (Mantel 1963). The smaller of the two p-values counts twice.

Its power is against users who leave the list after a click: then the click rate of an item is less
by the share that the items above it are clicked. So the covariance is minus the item's click rate
times the variance of what stands above, which is that of the pulls of both halves of the lists.

The kind of a visit is all of its features, and for propensities by place the propensity, too, which
differs where the policy that logged knew more of the visit than the log has.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scant_ads.diagnosis.lists import numbered
from scant_ads.reading import hashing, lists
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import MATTERS, NOTED

LEVEL = 0.001  # of the test
MOST = 1 << 18  # rows that are looked at, about: of whole lists


class Test(NamedTuple):
    """The test that clicks do not depend on what stands above.

    p : its p-value; NaN where no kind of visit comes again
    power : the probability that it sees users who leave after a click in a log like this one
    """

    p: float
    power: float


def problems(log: Visits) -> Iterator[Problem]:
    """That clicks depend on what stands above, which leaves no answer by propensities by place, or
    that it cannot be told.
    """
    p, power = depends_on_above(log)
    if not p < LEVEL and power < 0.5 and log.propensity_of == "place":
        reason = (
            "whether clicks depend on what stands above is untested: users who leave after a click "
            f"would be seen in {20 * power:.0f} of 20 logs like this one"
        )
        mend = (
            "Log more, --ignore features that tell nothing of clicks, since only visits with the "
            "same ones are compared, or log probabilities given what stands above"
        )
        yield Problem(NOTED, reason, mend)
    if not p < LEVEL:
        return
    by_chance = f"p = {p:.1g}" if p else "p below 1e-300"
    reason = (
        "clicks on an item depend on what stands above it: at the same place, for visits of the "
        f"same kind, they differ by how often the items above are clicked elsewhere ({by_chance})"
    )
    if log.propensity_of == "place":
        mend = (
            "Weights by place are wrong then. Log the probability of each item given the items "
            "above it, of today's policy and of each other one, and say --propensity-of above"
        )
        yield Problem(MATTERS, reason, mend)
    elif log.propensity_of == "above":
        yield Problem(NOTED, reason, "Propensities by place would not do here")


def depends_on_above(log: Visits) -> Test:
    """The test of a log of lists."""
    from scipy.special import ndtr, ndtri

    mixed = hashing.of_columns(log.list)
    if len(log) > MOST:
        some = mixed >> np.uint64(32) < np.uint64((MOST << 32) // len(log))
        log, mixed = log.take(some), mixed[some]
    half = (mixed & np.uint64(1)).astype(int)
    item = numbered(log.action, *log.features.view(np.uint32).T)  # of each kind of visit
    count = np.bincount(2 * item + half, minlength=2 * item.max() + 2)
    clicks = np.bincount(2 * item + half, log.reward, len(count))
    pull = clicks / np.maximum(count, 1)
    order = lists.Order.of(log.list.astype(np.int64), log.place)
    # in the other half, and in its own; its own pull is the same in all of a stratum
    down_to_here, in_own_half = (order.down(np.add, pull[2 * item + of]) for of in (1 - half, half))
    stratum = numbered(item, log.place, half)
    if log.propensity_of == "place":
        stratum = numbered(stratum, log.propensity.view(np.uint64))
    kept = (log.place > 0) & (np.bincount(stratum) > 1)[stratum]
    stratum = np.unique(stratum[kept], return_inverse=True)[1]
    rows = np.bincount(stratum)
    if not len(rows):
        return Test(np.nan, 0.0)
    reward = log.reward[kept]
    x, own, y = (
        values - (np.bincount(stratum, values) / rows)[stratum]
        for values in (down_to_here[kept], in_own_half[kept], reward)
    )
    covariance, of_x, of_y, both = (
        np.bincount(stratum, terms) for terms in (x * y, x**2, y**2, x * own)
    )
    if_they_leave = both * np.bincount(stratum, reward) / rows
    in_half = np.zeros(len(rows), int)
    in_half[stratum] = half[kept]
    sums, leaving, variances = (
        np.bincount(in_half, terms, 2)
        for terms in (covariance, if_they_leave, of_x * of_y / (rows - 1))
    )
    z, of_leaving = np.array([np.abs(sums), leaving]) / np.sqrt(np.maximum(variances, 1e-300))
    unseen = ndtr(-ndtri(LEVEL / 4) - of_leaving)
    return Test(min(float(4 * ndtr(-z).min()), 1.0), float(1 - unseen.prod()))

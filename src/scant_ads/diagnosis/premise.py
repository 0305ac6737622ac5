"""Do clicks on an item depend on what stands above it? A log of lists tells, by the test of
`scant.bandits.above`.

An item is compared with itself for the same kind of visit: all of its features, and for
propensities by place the propensity, too, which differs where the policy that logged knew more of
the visit than the log has.
"""

from collections.abc import Iterator

import numpy as np

from scant.bandits.above import Test, tested
from scant_ads.diagnosis.lists import codes
from scant_ads.reading import hashing, lists
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import MATTERS, NOTED

LEVEL = 0.001  # of the test
MOST = 1 << 18  # rows that are looked at, about: of whole lists


def problems(log: Visits) -> Iterator[Problem]:
    """A problem if clicks depend on what stands above an item, so that propensities by place give
    no answer; or a warning if the log cannot tell.
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
    """Test whether clicks in a log of lists depend on what stands above an item."""
    mixed = hashing.of_columns(log.list)
    if len(log) > MOST:
        some = mixed >> np.uint64(32) < np.uint64((MOST << 32) // len(log))
        log, mixed = log.take(some), mixed[some]
    half = (mixed & np.uint64(1)).astype(int)
    item = codes(log.action, *log.features.view(np.uint32).T)  # of each kind of visit
    count = np.bincount(2 * item + half, minlength=2 * item.max() + 2)
    clicks = np.bincount(2 * item + half, log.reward, len(count))
    pull = clicks / np.maximum(count, 1)
    order = lists.Order.of(log.list.astype(np.int64), log.place)
    # in the other half, and in its own; its own pull is the same in all of a stratum
    down_to_here, in_own_half = (
        order.accumulated(np.add, pull[2 * item + of]) for of in (1 - half, half)
    )
    stratum = codes(item, log.place, half)
    if log.propensity_of == "place":
        stratum = codes(stratum, log.propensity.view(np.uint64))
    below = log.place > 0
    columns = (of[below] for of in (stratum, half, down_to_here, in_own_half, log.reward))
    return tested(*columns, LEVEL)

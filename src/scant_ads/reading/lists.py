"""Rows that are places of lists: what has to hold of them, and the weights of list policies.

What a log of lists has as propensities is said by whoever logged it, one of `KINDS`. A policy's
column has probabilities of the same kind, and each kind has weights of its own, which are right
under a premise on users:

- `above`, of the item given the items above it: the products from the top down are the chances of
  what stands above and here. Right if what stands below an item does not change its clicks, as with
  users who go from the top down (McInerney et al. 2020).
- `place`, of the item at its place: right if nothing else in the list changes an item's clicks (Li
  et al. 2018).
- `list`, of the whole list, in each of its rows: right whatever users do.

Weights of `above` grow from place to place. A policy is judged as far down as the log carries it:
to the last place down to which the rows have an effective sample of `evaluation.LEAST_ESS`. Weights
further down are 0. Then the mean of w r is still a lower bound of what the policy earns, and the
mean of w (1 - r) of what it misses, so that an upper bound counts all that is possible there.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scant.bandits import evaluation
from scant.errors import short

KINDS = ("above", "place", "list")
LIST = "list"  # the role of the column that tells lists apart

# prefix of columns with probabilities of the item at its place beside those given what stands above
BESIDE = "place:"
LONGEST = 1000  # rows of a list, at most

# rewards that rows below the first have if their rate is this share of that of the first, at least,
# where none has one
EXPECTED, SELDOM = 7, 0.01
MOSTLY = 20  # lists with a reward, all of whose rows have the same: then it is the list's


class Order(NamedTuple):
    """The rows of lists, list by list from the top.

    rows : int (rows), their numbers in this order
    above : int (rows), how many rows of its list stand above each
    """

    rows: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, code: np.ndarray, place: np.ndarray) -> "Order":
        """The order by list (`code`) and place, both int (rows)."""
        rows = np.lexsort((place, code))
        starts = np.flatnonzero(np.r_[True, np.diff(code[rows]) != 0])
        lengths = np.diff(starts, append=len(code))
        return cls(rows, np.arange(len(code)) - np.repeat(starts, lengths))

    def accumulated(self, combine: np.ufunc, values: np.ndarray) -> np.ndarray:
        """`combine.accumulate` of values down each list, such as running products; (rows, ...)."""
        ranked = values[self.rows]
        for place in range(1, int(self.above.max()) + 1):
            here = np.flatnonzero(self.above == place)
            ranked[here] = combine(ranked[here - 1], ranked[here])
        result = np.empty_like(ranked)
        result[self.rows] = ranked
        return result

    def differs(self, values: np.ndarray) -> np.ndarray:
        """Which rows have another value than the row above, bool (rows)."""
        ranked = values[self.rows]
        result = np.zeros(len(values), bool)
        result[self.rows[1:]] = (ranked[1:] != ranked[:-1]) & (self.above[1:] > 0)
        return result


def weights_of(weights: np.ndarray, kind: str, order: Order, place: np.ndarray) -> np.ndarray:
    """The weights of list policies, float64 (rows x policies).

    weights : float64 (rows x policies), probabilities of the policies / propensity, of this kind
        (changed in place)
    place : int (rows), the place of each row, from 0
    """
    if kind == "above":
        weights = order.accumulated(np.multiply, weights)
    for of_policy in weights.T:
        with np.errstate(over="ignore"):
            sums, squares = (np.bincount(place, of_policy**power) for power in (1, 2))
        carries = np.cumsum(sums) ** 2 >= evaluation.LEAST_ESS * np.cumsum(squares)
        depth = max(int(np.argmin(np.append(carries & (sums > 0), False))), 1)
        of_policy[place >= depth] = 0.0
    return weights


def faults(
    place: np.ndarray, action: np.ndarray, order: Order, ids: tuple[str, ...]
) -> Iterator[tuple[str, str, str, np.ndarray]]:
    """What is wrong with rows as places of lists: tuples of kind, reason, mend, and the rows at
    fault, bool (rows).

    place, action : int (rows), the place from 0, and the item
    ids : the items' ids
    """
    own_id = "Give each list an id of its own, and keep one row for each of its places"

    def fault(kind: str, ranked: np.ndarray, reason: str, mend: str = own_id) -> Iterator:
        bad = np.zeros(len(place), bool)
        bad[order.rows] = ranked
        if bad.any():
            row = int(np.argmax(bad))
            of_row = {"place": place[row] + 1, "item": short(ids[action[row]])}
            yield kind, f"a list has {reason.format(**of_row)}", mend, bad

    if order.above.max() >= LONGEST:
        longest = f"more than {LONGEST:,} rows: its column does not tell lists apart"
        yield from fault("list-long", order.above >= LONGEST, longest)
        return
    ranked, items = place[order.rows], action[order.rows]
    twice = np.r_[False, (np.diff(ranked) == 0) & (order.above[1:] > 0)]
    yield from fault("place-twice", twice, "place {place} twice")
    again = np.zeros(len(place), bool)
    for apart in range(1, int(order.above.max()) + 1):
        again[apart:] |= (items[apart:] == items[:-apart]) & (order.above[apart:] >= apart)
    of_one_arm = np.count_nonzero(again) > 0.9 * np.count_nonzero(order.above)
    mend = (
        "In an A/B test of rankers all rows of a list have one action, and one propensity: mend, "
        "or leave out, the lists that have several"
    )
    yield from fault("item-twice", again, "item {item} twice", mend if of_one_arm else own_id)
    mend = "Log every place from the top on, counted from 1, also those without a reward"
    gaps = (ranked != order.above) & ~twice.any()
    yield from fault("place-gap", gaps, "place {place}, and not all places above it", mend)


def is_of_the_list(reward: np.ndarray, order: Order) -> bool:
    """Whether rewards look like a whole list's: rows of a list have the same reward, in every list
    that has a reward.
    """
    number = np.cumsum(order.above == 0) - 1
    total, several = np.bincount(number, reward[order.rows] > 0), np.bincount(number) > 1
    return bool(
        np.count_nonzero(several & (total > 0)) >= MOSTLY and not order.differs(reward).any()
    )


def only_place(reward: np.ndarray, order: Order) -> int:
    """The only place, from 1, whose rows have rewards; 0 if there is no such place, or if too few
    rows are elsewhere to tell: at a hundredth of the place's rate these would have fewer than seven
    rewards on average.
    """
    ranked = reward[order.rows] > 0
    place = int(order.above[ranked].max(initial=0))
    here = order.above == place
    expected = SELDOM * ranked[here].mean() * np.count_nonzero(~here)
    return (place + 1) * bool(expected > EXPECTED and not ranked[~here].any())


def means_by_place(propensity: np.ndarray, place: np.ndarray) -> str:
    """The means of 1 / propensity at the first three places, as text."""
    means = np.bincount(place, 1 / propensity) / np.bincount(place)
    return ", ".join(f"{mean:.4g}" for mean in means[:3])

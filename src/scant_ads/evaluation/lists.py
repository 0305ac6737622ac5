"""Lists judged: the premise of each kind of propensities, bounds, and clicks by place.

The weights of a place have a mean of 1. So w - 1 is a control variate (`quotients`), and with c the
coefficient of a place the clicks there are w (r - c) + c. Such a bet loses the most on the list of
the largest weight, and no largest weight is known. So the weights of a list whose sum is above a
limit are scaled down to it, whether or not it has clicks. What is taken away counts as c: bounds
are of a policy that has c clicks, on average, where the log hardly ever shows what it shows. The
limit is `MOST` of the root of the sum of squares, as long as that takes away a share of all weight
within `CUT`.

Where the mean weight of a place is not 1, c is 0: then a lower bound stays right, and an upper one
counts all that is possible, as it does below the last place that the log carries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product

import numpy as np

from scant.bandits import evaluation, intervals
from scant.data import logs
from scant.errors import SettingError
from scant_ads.diagnosis import premise
from scant_ads.evaluation import clusters, lifts, quotients
from scant_ads.evaluation.quotients import Quotient
from scant_ads.reading.lists import Order
from scant_ads.reading.visits import Column, Visits
from scant_ads.unit import Unit

PREMISES = {  # of users, under which weights are right, by what propensities are of
    "above": "if what stands below an item does not change its clicks",
    "place": "if nothing else in a list changes the clicks on an item",
    "list": "whatever users do",
}
PLACE = "place_"  # prefix of the columns of rows with what each place earns
CUT, MOST = (0.02, 0.15), 1 / 8  # of the limit of a list's weight

# weights by which the largest unseen is judged, and the mean logarithm of their excess over the
# least of them from which on it is likely to be larger
HEAVIEST, GROWTH = 10, 0.1
GROUPS = 4  # of places with a coefficient each: the first ones, and all others together


class Places:
    """The rows of a log of lists by place.

    log : all of its rows
    """

    def __init__(self, log: Visits):
        self.log, self.premise = log, PREMISES[log.propensity_of]
        self.rows = np.bincount(log.place)
        self.length = len(log) / int(self.rows[0])  # of a list, on average
        self.mean_weight = cache(self._mean_weight)

    @cached_property
    def order(self) -> Order:
        return Order.of(self.log.list.astype(np.int64), self.log.place)

    def weight(self, key: str) -> np.ndarray:
        """The weights of a policy, by its name in the tally, float64 (rows)."""
        if not key:
            return np.ones(len(self.log))
        return self.log.weights[:, self.number(key)]

    def number(self, key: str) -> int:
        """The index of a policy's column."""
        return self.log.policies.index(key.removeprefix(logs.POLICY))

    def columns(self, key: str, unit: Unit) -> dict:
        """The columns that only rows of lists have: the premise, and what a policy earns at each
        place, a list; NaN where the effective sample is below `evaluation.LEAST_ESS` rows.
        """
        weight, place = self.weight(key), self.log.place
        terms = weight * self.log.reward, np.ones(len(weight)), weight - 1
        sums = np.array([np.bincount(place, term) for term in terms])
        products = [[np.bincount(place, term * other) for other in terms] for term in terms]
        _, mean = quotients.regressed(sums, np.array(products))
        earned = (mean * unit.width + unit.least) * self.rows / self.rows[0]
        sums, squares = (np.bincount(place, weight**power) for power in (1, 2))
        earned[(sums**2 < evaluation.LEAST_ESS * squares) | (sums == 0)] = np.nan
        return {"premise": self.premise, "power": self.power} | {
            f"{PLACE}{number}": value for number, value in enumerate(earned.tolist(), 1)
        }

    @cached_property
    def power(self) -> float:
        """The power of the test of weights of places, see `premise.Test`; NaN for others."""
        if self.log.propensity_of != "place":
            return np.nan
        return premise.depends_on_above(self.log).power

    def depth(self, weight: np.ndarray) -> int:
        """To which place the log carries a policy: weights further down are 0."""
        return int(self.log.place[weight > 0].max(initial=-1)) + 1

    def notes(self, name: str, key: str, unit: Unit, level: float, random) -> Iterator[str]:
        """Sentences on how far down the log carries a policy, and on its second place; see
        `difference`.
        """
        depth = self.depth(self.weight(key))
        if 0 < depth < len(self.rows):
            yield (
                f"{name}: the log carries it to place {depth} of {len(self.rows)}. Further down "
                "weights are too large: there estimates and lower ends count nothing, and upper "
                "ends all that is possible"
            )
        if key and depth > 1 and self.log.beside is not None:
            yield f"{name}: {self.difference(key, unit, level, random)}"

    def difference(self, key: str, unit: Unit, level: float, random) -> str:
        """A sentence on how many clicks more the second place has by weights of places than by
        weights from the top down. Both are right if what stands above does not matter.

        random : the generator of the order of lists, or users
        """
        here, users = self.log.take(self.log.place == 1), clusters.Users()
        number = self.number(key)
        weights = {"place": here.beside[:, number], "above": here.weights[:, number]}
        users.add(here.together, {"": np.ones(len(here))} | weights, here.reward)
        by = clusters.ByUser(users, 1, random)
        ends = [lifts.without_range(by.rate(of, np.inf), by.missed(of)) for of in weights]
        bounds, one_sided = lifts.difference(*ends), (1 + level) / 2
        low, high = (unit.width * end(one_sided) for end in (bounds.lower, bounds.upper))
        more = unit.width * float(np.mean((weights["place"] - weights["above"]) * here.reward))
        return (
            f"at place 2 weights of places make it {more:+.3f} {unit.events} "
            f"({low:+.3f} to {high:+.3f}) more than weights from the top down; it is 0 if what "
            "stands above does not matter"
        )

    def _mean_weight(self, key: str) -> tuple[int, float, float, bool]:
        """Where a policy's mean weight is farthest from 1, in units of its error.

        Returns
        -------
        worst : the place, from 0, of those that the log carries
        mean, error : of the weights there
        grow : whether the largest weights are so far apart there that the log is likely to lack
            larger ones by chance
        """
        weight, place = self.weight(key), self.log.place
        depth = self.depth(weight)
        step, possible = weight, place < depth
        if self.log.propensity_of == "above":  # the weight of a single step down, where it is made
            step = self.log.probabilities[:, self.number(key)] / self.log.propensity
            rows, is_below = self.order.rows, self.order.above[1:] > 0
            possible[rows[1:][is_below]] &= weight[rows[:-1][is_below]] > 0
        rows, sums, squares = (
            np.bincount(place[possible], step[possible] ** power, depth) for power in range(3)
        )
        mean = sums / rows
        variance = np.maximum(squares - rows * mean**2, 0.0) / np.maximum(rows - 1, 1)
        low = intervals.t_of(rows, mean, variance, (1 + evaluation.ALARM) / 2)
        # a mean below 1 lacks large weights, and so does its error: 1 / mean times as large at 1
        error = np.maximum((mean - low) / np.minimum(mean, 1.0), logs.SLACK)
        worst = int(np.argmax(np.abs(mean - 1) / error))
        heaviest = np.sort(step[possible & (place == worst)])[-HEAVIEST:] + logs.SLACK
        grow = bool(np.log(heaviest / heaviest[0]).mean() > GROWTH)
        return worst, float(mean[worst]), float(error[worst]), grow

    def diagnosed(self, key: str, estimate: evaluation.Evaluation) -> evaluation.Evaluation:
        """An evaluation with `mean_weight`, and a warning if that is too far from 1."""
        if not (key and self.depth(self.weight(key))):
            return estimate
        worst, mean, error, grow = self.mean_weight(key)
        warnings = [notice for notice in estimate.warnings if notice.kind != "mean-weight"]
        if abs(mean - 1) > error:
            by_chance = grow and mean < 1
            why = (
                "its largest weights are rare, and the log lacks some: there estimates and lower "
                "ends count nothing, and upper ends all that is possible"
                if by_chance
                else "probabilities are of another kind, or wrong, or some items cannot be logged"
            )
            reason = f"the mean weight at place {worst + 1} is {mean:.4f}, not 1: {why}"
            kind = "large-weights" if by_chance else "mean-weight"
            warnings.append(evaluation.Notice(kind, reason))
        diagnostics = replace(
            estimate.diagnostics,
            mean_weight=mean,
            mean_weight_low=mean - error,
            mean_weight_high=mean + error,
        )
        return replace(estimate, diagnostics=diagnostics, warnings=tuple(warnings))


@dataclass(frozen=True)
class Carried:
    """What a policy earns where the log carries it, by unit: by user, or else by list.

    gain : float64 (units), sums of w r
    excess : float64 (groups of places x units), sums of w - 1
    largest : the largest sum of a list's weights
    cut : the share of all weight that is taken away from lists above the limit
    beyond : the share of rows of which nothing is known
    depth : down to which place weights have a mean of 1; 0 if that is not known
    """

    gain: np.ndarray
    excess: np.ndarray
    largest: float
    cut: float = 0.0
    beyond: float = 0.0
    depth: int = 0

    def ends(self, rows: int) -> list[tuple]:
        """The pairs of gain and excesses at the ends of the ranges of a list of `rows` rows."""
        groups = np.minimum(np.arange(min(rows, self.depth)), GROUPS - 1)
        nothing = -np.bincount(groups, minlength=GROUPS)
        heaviest = nothing + np.eye(GROUPS) * self.largest * (self.depth > 0)
        return [(0.0, nothing), *product((0.0, self.largest), heaviest)]


class ByList(clusters.ByUser):
    """The quotients of a log of lists, all in one random order of the lists, or users."""

    def __init__(self, users: clusters.Users, places: Places, random: np.random.Generator):
        super().__init__(users, 1, random)
        self.places, log = places, places.log
        self.unit = np.searchsorted(users.key, log.together)
        self.number = log.list.astype(np.int64)
        self.lengths = np.bincount(self.number)
        self.most = float(np.bincount(self.unit[log.place == 0]).max())  # lists of a user
        self.carried = cache(self._carried)

    def _carried(self, key: str) -> Carried:
        """What a policy earns, by its name in the tally."""
        log, units = self.places.log, len(self)
        if key in ("", clusters.Logging.kind):
            longest = float(self.lengths.max())
            return Carried(self._sums("")[1], np.zeros((GROUPS, units)), longest)
        weight = self.places.weight(key)
        depth = self.places.depth(weight)
        of_list = np.bincount(self.number, weight)
        heaviest = np.sort(of_list)[::-1]
        sums, counts = np.cumsum(heaviest), np.arange(1, len(heaviest) + 1)
        # with the k heaviest lists above it, the limit that takes a share away from all weight
        limits = [((sums - share * sums[-1]) / counts).max() for share in CUT]
        limit = np.clip(MOST * np.sqrt((of_list**2).sum()), limits[1], limits[0])
        limit = max(float(limit), float(self.lengths.max()))
        kept = weight * np.minimum(1.0, limit / np.maximum(of_list, limit))[self.number]
        if weight.sum() ** 2 < evaluation.LEAST_ESS * (weight**2).sum():
            depth = 0
        if depth:
            _, mean, error, _ = self.places.mean_weight(key)
            depth *= abs(mean - 1) <= error
        here = log.place < depth
        group = np.minimum(log.place[here], GROUPS - 1)
        excess = np.bincount(
            group * units + self.unit[here], kept[here] - 1, GROUPS * units
        ).reshape(GROUPS, units)
        return Carried(
            np.bincount(self.unit, kept * log.reward, units),
            excess,
            limit,
            float(1 - kept.sum() / weight.sum()) if depth else 0.0,
            1 - float(here.mean()),
            depth,
        )

    def notes(self, name: str, key: str) -> Iterator[str]:
        """A sentence on a policy of whose weight much is taken away."""
        if round(cut := self.carried(key).cut, 3) > CUT[0]:
            yield (
                f"{name}: the log hardly ever shows what it shows in {100 * cut:.0f} % of its "
                "places: what these earn is taken to be as much as in others"
            )

    def _of_pair(self, kind, pair, largest=None, supported=True) -> lifts.Bounds | Quotient:
        """The bounds of the `kind` of two policies; see `ByUser._of_pair`."""
        first, second = map(self.carried, pair)
        gain, stake = kind(first.gain, second.gain, self.visits)
        corners = np.array(
            [
                [*kind(of_first, of_second, rows), *(excess - other)]
                for rows in {int(self.lengths.min()), int(self.lengths.max())}
                for (of_first, excess), (of_second, other) in product(
                    first.ends(rows), second.ends(rows)
                )
            ]
        ).T
        excess = first.excess - second.excess
        if not excess.any():
            excess, corners = excess[:1], corners[:3]
        marks = quotients.marks(kind, (first.largest, second.largest), False)
        quotient = self._quotient(gain, stake, corners, marks, excess)
        if not (first.beyond or second.beyond):
            return quotient
        if kind is not quotients.ratio:
            return _widened(quotient, second.beyond, first.beyond)
        apart = lifts.quotient(*(self.rate(policy, np.inf) for policy in pair))
        return apart if second.beyond else replace(apart, lower=quotient.lower)


def _widened(bounds: Quotient, below: float, above: float) -> lifts.Bounds:
    """Bounds whose lower ends are `below` further down, and upper ends `above` further up."""
    return lifts.Bounds(
        lambda level: bounds.lower(level) - below,
        lambda level: bounds.upper(level) + above,
        lambda factor: _widened(bounds.grown(factor), below, above),
        bounds.estimate,
    )


def check_settings(test, named: Mapping, train, **settings) -> None:
    """Raise a SettingError for what is not for logs of lists.

    named : the policies
    settings : by the name of an option, its value, None where it is not given
    """
    settings = {"split": test.half_of, "train": train} | settings
    if given := [name for name, value in settings.items() if value is not None]:
        raise SettingError(
            f"--{given[0].replace('_', '-')} is not for logs of lists: policies of lists are "
            "columns policy:NAME of one log, and their bounds need no least propensity"
        )
    for name, policy in named.items():
        if not isinstance(policy, Column):
            raise SettingError(
                f"{name} chooses one ad for a visit, and no list: give the probabilities of a "
                "policy of lists, of the same kind as the propensities, as a column policy:NAME"
            )

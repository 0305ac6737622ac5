"""Lists judged: the premise of each kind of propensities, and clicks by place."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from scant.bandits import evaluation, intervals
from scant.data import logs
from scant.errors import SettingError
from scant_ads.evaluation import clusters, lifts
from scant_ads.reading.lists import Order
from scant_ads.reading.visits import Column, Visits
from scant_ads.unit import Unit

PREMISES = {  # of users, under which weights are right, by what propensities are of
    "above": "if what stands below an item does not change its clicks",
    "place": "if nothing else in a list changes the clicks on an item",
    "list": "whatever users do",
}
PLACE = "place_"  # prefix of the columns of rows with what each place earns


class Places:
    """The rows of a log of lists by place.

    log : all of its rows
    """

    def __init__(self, log: Visits):
        self.log, self.premise = log, PREMISES[log.propensity_of]
        self.rows = np.bincount(log.place)
        self.length = len(log) / int(self.rows[0])  # of a list, on average

    @cached_property
    def order(self) -> Order:
        return Order.of(self.log.list.astype(np.int64), self.log.place)

    def weight(self, key: str) -> np.ndarray:
        """The weights of a policy, by its name in the tally, float64 (rows)."""
        if not key:
            return np.ones(len(self.log))
        return self.log.weights[:, self.number(key)]

    def number(self, key: str) -> int:
        """The number of a policy's column."""
        return self.log.policies.index(key.removeprefix(logs.POLICY))

    def columns(self, key: str, unit: Unit) -> dict:
        """The columns that only rows of lists have: the premise, and what a policy earns at each
        place, a list; NaN where the effective sample is below `evaluation.LEAST_ESS` rows.
        """
        weight, place = self.weight(key), self.log.place
        sums, squares = (np.bincount(place, weight**power) for power in (1, 2))
        earned = np.bincount(place, weight * self.log.reward) * unit.width
        earned = (earned + self.rows * unit.least) / self.rows[0]
        earned[(sums**2 < evaluation.LEAST_ESS * squares) | (sums == 0)] = np.nan
        return {"premise": self.premise} | {
            f"{PLACE}{number}": value for number, value in enumerate(earned.tolist(), 1)
        }

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

    def diagnosed(self, key: str, estimate: evaluation.Evaluation) -> evaluation.Evaluation:
        """An evaluation with the mean weight of one place, and a warning if it is too far from 1.
        Of the places that the log carries it is the one whose mean weight is farthest from 1,
        measured by its error.
        """
        weight, place = self.weight(key), self.log.place
        if not (key and (depth := self.depth(weight))):
            return estimate
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
        warnings = [notice for notice in estimate.warnings if notice.kind != "mean-weight"]
        if abs(mean[worst] - 1) > error[worst]:
            reason = f"the mean weight at place {worst + 1} is {mean[worst]:.4f}, not 1"
            reason += (
                ": probabilities are of another kind, or wrong, or some items cannot be logged"
            )
            warnings.append(evaluation.Notice("mean-weight", reason))
        mean, error = float(mean[worst]), float(error[worst])
        diagnostics = replace(
            estimate.diagnostics,
            mean_weight=mean,
            mean_weight_low=mean - error,
            mean_weight_high=mean + error,
        )
        return replace(estimate, diagnostics=diagnostics, warnings=tuple(warnings))


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

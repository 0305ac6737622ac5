"""Decisions among several policies: which is better of each pair, and which to choose with an error that is known.

All work on one test log. The mean of r (w - v), where w and v are the weights of two policies, tells which policy is
better. It varies less than either estimate where both show the same ads. Its interval is betting's. Holm's procedure
says which answers on all pairs can be relied on together.

The policy with the largest lower bound is chosen. With m policies each bound has an error of (1 - level) / m, so that
all bounds, and hence the bound of the chosen policy, hold with confidence `level`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scant.ads import intervals

COLUMNS = ("policy", "other", "difference", "low", "high", "better", "needed")  # of the rows of `pairs`
CELLS = 4096  # of the grid that terms are rounded to at random


def gridded(x: np.ndarray, low: float, high: float, random: np.random.Generator) -> intervals.Terms:
    """Count the terms x - low, which are in [0, high - low], in their order.

    More than `intervals.EXACT` distinct values are rounded to a grid of `CELLS` cells, up or down at random so that the
    expectation stays the same: bounds on the mean hold exactly, and the variance grows by a quarter of a squared cell
    at most.

    x : float64 (rows)
    """
    width = high - low
    x = np.clip(x - low, 0.0, width)
    if len(np.unique(x[:10_000])) <= intervals.EXACT:  # the first rows often tell without sorting all
        value, code = np.unique(x, return_inverse=True)
    if len(np.unique(x[:10_000])) > intervals.EXACT or len(value) > intervals.EXACT:
        value, code, beyond = _on_grid(x, width)
        code += random.random(len(x)) < beyond
    ends = intervals.stage_ends(len(x))
    stage = np.searchsorted(ends, np.arange(len(x)), side="right")
    count = np.bincount(stage * len(value) + code, minlength=len(ends) * len(value)).reshape(len(ends), len(value))
    return intervals.Terms(value, count, width)


def _on_grid(x: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The grid on [0, width], the cell of each number, and how far it is beyond the cell's lower end, in cells."""
    scaled = x * (CELLS / width)
    code = np.minimum(np.floor(scaled), CELLS - 1).astype(np.int64)
    return np.linspace(0.0, width, CELLS + 1), code, scaled - code


@dataclass(frozen=True)
class Mean:
    """A mean that betting bounds.

    estimate : the mean of the rows
    terms, low : the counted terms less `low`
    """

    estimate: float
    terms: intervals.Terms
    low: float = 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """The two-sided interval."""
        low, high = intervals.interval(intervals.betting, self.terms, level)
        return float(low) + self.low, float(high) + self.low

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        return float(intervals.betting(self.terms, level)) + self.low


def difference(terms, count, largest: tuple[float, float], random, slack=None) -> Mean:
    """The mean of r (w - v), how much better the first of two policies is, rows in random order.

    Terms are counted as their distance from the least possible one, minus the largest v. More than `intervals.EXACT`
    distinct ones are rounded to a grid, as `gridded` does.

    Parameters
    ----------
    terms, count : float64 and int64 (cells), r (w - v), and how often each occurs
    largest : the weights w and v possible
    random : the generator of the order, and of the rounding
    slack : float64 (cells), the rounding error of each term, for which bounds allow
    """
    least, width = -largest[1], float(sum(largest))
    # What is drawn below does not depend on the order that cells came in.
    order = np.argsort(terms, kind="stable")
    terms, count = terms[order], count[order]
    mean = float(count @ terms) / count.sum()
    slack = np.zeros(len(terms)) if slack is None else slack[order]
    distance = np.clip(terms - least, 0.0, width)
    value, code = np.unique(distance, return_inverse=True)
    if len(value) > intervals.EXACT:
        value, code, beyond = _on_grid(distance, width)
        rounded_up = random.binomial(count, np.clip(beyond, 0.0, 1.0))  # how many of each; the others are rounded down
        code, count, slack = np.r_[code, code + 1], np.r_[count - rounded_up, rounded_up], np.r_[slack, slack]
    most_slack = np.zeros(len(value))  # of all terms that have become this value
    np.maximum.at(most_slack, code, slack)
    total = np.bincount(code, count, len(value)).astype(np.int64)
    value, total, most_slack = value[total > 0], total[total > 0], most_slack[total > 0]
    low = high = None
    if most_slack.any():
        low, high = np.maximum(value - most_slack, 0.0), np.minimum(value + most_slack, width)
    drawn = intervals.Terms(value, intervals.in_random_order(total, random), width, None, low, high)
    return Mean(mean, drawn, least)


def holm(decide: Mapping[object, Callable[[float], str]], level: float) -> dict[object, str]:
    """The answers that hold together with a confidence of `level` (Holm 1979).

    decide : by question, its answer at a confidence, "" where it has none; more confidence never adds an answer
    """
    answers, left = {}, dict(decide)
    while left:
        confidence = 1 - (1 - level) / len(left)
        new_answers = {key: answer for key, function in left.items() if (answer := function(confidence))}
        if not new_answers:
            break
        answers |= new_answers
        left = {key: function for key, function in left.items() if key not in new_answers}
    return answers | dict.fromkeys(left, "")


def pairs(names: Sequence[str], means: Mapping[tuple[str, str], Mean], rows: int, level: float) -> list[dict]:
    """Which is better of each pair of policies.

    means : by pair, see `difference`
    rows : of the log

    Returns
    -------
    rows : one mapping for each pair, with policy, other; difference of their CTRs with low and high, each interval by
        itself with a confidence of `level`; better, the better one, or "" if that is open: all answers hold together
        with this confidence; needed, how many rows would tell if the estimate stayed the same, NaN if it is told
    """

    def better(pair):
        def answer(confidence: float) -> str:
            low, high = means[pair].interval(confidence)
            return pair[0] if low > 0 else pair[1] if high < 0 else ""

        return answer

    asked = [pair for pair in combinations(names, 2) if pair in means]
    answers, differences = holm({pair: better(pair) for pair in asked}, level), []
    joint = 1 - (1 - level) / max(len(asked), 1)  # as in the first step of Holm's, with all pairs left
    for pair in asked:
        mean = means[pair]
        low, high = mean.interval(level)
        needed = math.nan
        if not answers[pair]:
            ends = mean.interval(joint)
            half_width = mean.estimate - ends[0] if mean.estimate > 0 else ends[1] - mean.estimate
            needed = rows * (half_width / abs(mean.estimate)) ** 2 if mean.estimate else math.inf
        values = (*pair, mean.estimate, low, high, answers[pair], needed)
        differences.append(dict(zip(COLUMNS, values, strict=True)))
    return differences


def chosen(
    lowers: Mapping[str, Callable[[float], float]], upper: Callable[[float], float] | None, level: float,
    estimates: Mapping[str, float],
) -> dict:  # fmt: skip
    """The policy with the largest lower bound, all bounds together with a confidence of `level`.

    Of equal bounds (with few clicks all may be 0) the one with the larger estimate is taken. All bounds hold together,
    so that this changes no confidence.

    Parameters
    ----------
    lowers : by policy, its one-sided lower bound at a confidence
    upper : today's one-sided upper bound at a confidence; None if today's CTR is not known
    estimates : by policy, its estimated CTR

    Returns
    -------
    choice : policy; lower, its bound; of, how many policies; today, today's upper bound (NaN without); better, whether
        `lower` is above `today`, which is wrong with a probability of 1 - `level` at most
    """
    confidence = 1 - (1 - level) / (len(lowers) + (upper is not None))
    bounds = {name: lower(confidence) for name, lower in lowers.items()}
    best = max(bounds, key=lambda name: (bounds[name], estimates[name]))
    today = math.nan if upper is None else upper(confidence)
    return {"policy": best, "lower": bounds[best], "of": len(bounds), "today": today, "better": bounds[best] > today}

"""The lift of a policy in the first half of a log, in the second, and in the last quarter; and
whether it fell.

What is new is clicked more often for a while: a lift may be large at first, and be gone when the
log ends. Rates of all ads may change over a log, by season or by hour, and leave lifts as they are.
So two parts of a log are compared by their lifts, of which the logarithms of 1 plus the lift, or
the differences of means, are about normal.
"""

from dataclasses import dataclass

import numpy as np

from scant.bandits.learners import Logging, Uniform
from scant_ads.reading.tally import CUTS, SCALE, Tally

FEWEST = 10  # effective rewards of either policy in each part
HALF, QUARTER = CUTS > 0.5, CUTS > 0.75  # the pieces of the second half, and of the last quarter
PERIODS = {"lift_first": ~HALF, "lift_second": HALF, "lift_last": QUARTER}
UNKNOWN = dict.fromkeys((*PERIODS, "lift_fall"), np.nan)


@dataclass(frozen=True)
class Course:
    """The terms of a mean, such as r w, by piece of the log.

    rows, sums : float64 (pieces), how many terms there are, and their sums
    square : the sum of the squares of all terms
    with_today : the covariance of a term with the reward of its row, if these are the rows of
        today's policy
    """

    rows: np.ndarray
    sums: np.ndarray
    square: float
    with_today: float

    @classmethod
    def of(cls, tally: Tally, key: str, ad: str | None = None) -> "Course | None":
        """The course of a policy's rate; None if it is not kept.

        key : what the tally calls the policy, "" for today's policy
        ad : its only ad, if the rows of this ad alone tell its rate
        """
        if ad is not None:
            if tally.ads[ad].shape[1] != len(CUTS):
                return None
            rows, sums, squares = tally.ads[ad] / np.array([1.0, SCALE, SCALE])[:, None]
            square = both = float(squares.sum())
        else:
            alike = tally.uniform_divisor if key == Uniform.kind else 1
            weight, reward, count = tally.table(key)
            weight = weight if key else np.ones_like(reward)
            rows = tally.lengths.astype(float)
            sums = np.array(tally.segments[key], float) / SCALE / alike
            square = float(count @ (weight * reward) ** 2)
            both = float(count @ (weight * reward**2))
        total = rows.sum()
        mean = sums.sum() / total
        today = mean if ad is not None else float(tally.mean(""))
        return cls(rows, sums, square, both / total - mean * today)

    def part(self, pieces: np.ndarray) -> tuple[float, float, float, float]:
        """Of some pieces, bool (pieces): rows, mean, variance of the mean, and the effective number
        of rewards.
        """
        rows, total = self.rows[pieces].sum(), self.rows.sum()
        if not rows:
            return 0.0, np.nan, np.nan, 0.0
        mean, share = self.sums[pieces].sum() / rows, rows / total
        variance = self.square / total - (self.sums.sum() / total) ** 2
        return (
            rows,
            mean,
            variance / rows,
            self.sums[pieces].sum() ** 2 / max(self.square * share, 1e-300),
        )


def lifts(
    over: Course, under: Course, baseline: str, relative: bool, design: float
) -> dict[str, float]:
    """The lift in each of `PERIODS`, by name; and lift_fall, the p-value of the hypothesis that the
    lift does not fall.

    The second half is tested against the first one, and the last quarter against all before it. NaN
    with too few rewards.

    over, under : the courses of the policy and of the baseline with which it is compared
    baseline : its name
    relative : whether lifts are relative; else they are differences
    design : see `Users.design`
    """
    from scipy.special import ndtr

    def lift(pieces: np.ndarray) -> tuple[float, float, float]:
        """The lift; a number about normal that tells it; and the variance of this number."""
        _, mean, variance, effective = over.part(pieces)
        rows, base, base_variance, base_effective = under.part(pieces)
        shared = over.with_today / rows if baseline == Logging.kind and rows else 0.0
        if not min(effective, base_effective) > 0:
            return np.nan, np.nan, np.nan
        few = min(effective, base_effective) < FEWEST * design
        if not relative:
            return (
                mean - base,
                np.nan if few else mean - base,
                variance + base_variance - 2 * shared,
            )
        spread = variance / mean**2 + base_variance / base**2 - 2 * shared / (mean * base)
        return mean / base - 1, np.nan if few else np.log(mean / base), spread

    chances = []
    for late in (HALF, QUARTER):
        (_, before, variance), (_, after, late_variance) = lift(~late), lift(late)
        error = np.sqrt(max((variance + late_variance) * design, 1e-300))
        chances.append(float(ndtr((after - before) / error)))
    return {name: float(lift(pieces)[0]) for name, pieces in PERIODS.items()} | {
        "lift_fall": min(2 * np.nanmin(chances), 1.0) if not np.isnan(chances).all() else np.nan
    }

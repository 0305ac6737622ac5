"""Policies that show one ad to everyone: the arms of an A/B test.

Where an ad's propensity is the same in all rows that show it, these rows are a random sample of all
visits. Its rate is theirs, with Clopper-Pearson's interval where rewards are 0 or 1, and betting's
else; other rows tell nothing of it. The difference of two such rates of 0/1 rewards, and their
ratio, have the score intervals of two proportions (Miettinen and Nurminen 1985) with a continuity
correction, which keep their coverage in small samples, too (counted in
`tests/ads/test_ads_arms.py`). Either leaves out "no difference" where the other does.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from scant.bandits import evaluation
from scant.errors import SettingError

AD = "ad:"  # before the id of an ad, for the policy that shows it to everyone
EACH = "each-ad"  # stands for such a policy for each ad of the test
MOST = 20  # ads for which it may

# of an A/B test
LETTERS = re.compile(r"(?:arm|group|variant|version|variation)?[\s_-]*([ab])", re.IGNORECASE)
# what the arm is called that others are compared with
CONTROLS = ("control", "control group", "ctrl", "baseline")
HALVINGS = 60  # of the interval in which an end is searched


@dataclass(frozen=True)
class Always:
    """The policy that shows one ad to everyone; `ad` is its id.

    At a visit whose eligible ads lack it, it shows what the policy that logged the visit shows.
    """

    ad: str

    def weight(self, visits) -> np.ndarray:
        """Its importance weights on the rows of a log, float64 (rows)."""
        index, fits = self._among(visits)
        return np.where(fits, (visits.action == index) / visits.propensity, 1.0)

    def choices(self, visits) -> np.ndarray:
        """The ad that it shows in each row of a log, int (rows): its own where it is eligible, else
        the one logged.
        """
        index, fits = self._among(visits)
        return np.where(fits, index, visits.action)

    def _among(self, visits) -> tuple[int, np.ndarray]:
        """The index of its ad, -1 if no row could show it; and in which rows the ad is eligible,
        bool (rows).
        """
        index = visits.actions.index(self.ad) if self.ad in visits.actions else -1
        if visits.eligible is None:
            return index, np.ones(len(visits), bool)
        return index, visits.eligible[:, index] if index >= 0 else np.zeros(len(visits), bool)


def with_each(pairs: Iterable[tuple], ads: Iterable[str]) -> list[tuple]:
    """`pairs` of a name and a policy asked for, with a pair for each ad in place of `EACH`."""
    names = [f"{AD}{ad}" for ad in ads]
    if len(names) > MOST:
        raise SettingError(
            f"{EACH}: there are {len(names):,} ads, and {MOST} can be compared at "
            f"once: name some of them, as --policy {names[0]}, or a learner, as --policy logistic"
        )
    each = [(name, name) for name in names]
    return [
        pair for name, policy in pairs for pair in (each if is_each(policy) else [(name, policy)])
    ]


def control(policies: Mapping) -> str | None:
    """The name of the control of an A/B test; None if the policies are no such test, or have no
    control.

    They are an A/B test if each shows one ad to everyone. The control is the only policy whose ad
    is called control, or the policy of ad A if the two ads are called A and B.
    """
    if not all(isinstance(policy, Always) for policy in policies.values()):
        return None
    letters = [LETTERS.fullmatch(policy.ad.strip()) for policy in policies.values()]
    if len(letters) == 2 and None not in letters and letters[0][1].lower() != letters[1][1].lower():
        return next(
            name for name, letter in zip(policies, letters, strict=True) if letter[1].lower() == "a"
        )
    controls = [name for name, policy in policies.items() if policy.ad.strip().lower() in CONTROLS]
    return controls[0] if len(controls) == 1 < len(policies) else None


def is_each(policy) -> bool:
    """Whether a policy asked for stands for one for each ad."""
    return isinstance(policy, str) and policy == EACH


def own_rows(weight: np.ndarray, reward: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, ...]:
    """The cells of the rows that show an ad, with weights of 1.

    These rows are a random sample of all if the ad has the same propensity in all rows, and if
    there are as many as it says (`as_many`). There are fewer if some visits cannot get the ad.

    weight, reward, count : float64, float64, int64 (cells), of all rows
    """
    matches = weight > 0
    return np.ones(int(matches.sum())), reward[matches], count[matches]


def as_many(weight: np.ndarray, count: np.ndarray) -> bool:
    """Whether the rows that show an ad are about as many as its propensity says; the propensity has
    to be the same in all these rows.

    If rows are independent, one sample in a thousand is wrongly said not to be.
    """
    from scipy import special

    matches = weight > 0
    rows, of_ad, propensity = int(count.sum()), int(count[matches].sum()), 1 / float(weight.max())
    half = (1 - evaluation.ALARM) / 2
    fewest = special.betaincinv(of_ad, rows - of_ad + 1, half)
    most = special.betainccinv(of_ad + 1, rows - of_ad, half) if of_ad < rows else 1.0
    return bool(fewest <= propensity <= most)


@dataclass(frozen=True)
class Samples:
    """Two independent samples of visits.

    clicks, rows : of each of the two
    """

    clicks: tuple[int, int]
    rows: tuple[int, int]

    def grown(self, factor: float) -> "Samples":
        """Samples so many times as large, with the same rates."""
        return replace(
            self,
            clicks=tuple(factor * part for part in self.clicks),
            rows=tuple(factor * part for part in self.rows),
        )


class Difference(Samples):
    """The difference of the rates of two samples."""

    @property
    def estimate(self) -> float:
        first, second = (clicks / rows for clicks, rows in zip(self.clicks, self.rows, strict=True))
        return first - second

    def lower(self, level: float) -> float:
        """The one-sided lower bound: the least difference that a score test with a continuity
        correction allows.
        """
        return self._end(level, -1)

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        return self._end(level, 1)

    def _end(self, level: float, side: int) -> float:
        """The lower bound (`side` -1) or the upper one."""
        from scipy import special

        quantile = float(special.ndtri(level))
        inside, outside = self.estimate, float(side)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (
                (middle, outside) if self._distance(middle) <= quantile else (inside, middle)
            )
        return outside

    def _distance(self, difference: float) -> float:
        """The distance of the estimate from a difference, in standard errors at the likeliest rates
        with this difference.
        """
        (first, second), (n, m) = self._rates(difference), self.rows
        error = np.sqrt(
            (first * (1 - first) / n + second * (1 - second) / m) * (n + m) / (n + m - 1)
        )
        gap = abs(self.estimate - difference) - (1 / n + 1 / m) / 2
        return _in_errors(gap, error)

    def _rates(self, difference: float) -> tuple[float, float]:
        """The likeliest rates with a difference: the root of a cubic (Miettinen and Nurminen 1985,
        appendix).
        """
        (x, y), (n, m) = self.clicks, self.rows
        square = ((n + 2 * m) * difference - (n + m) - (x + y)) / (3 * (n + m))
        linear = ((m * difference - (n + m) - 2 * y) * difference + x + y) / (3 * (n + m))
        constant = y * difference * (1 - difference) / (n + m)
        q = square**3 - 1.5 * linear * square + constant / 2
        p = np.copysign(np.sqrt(max(square**2 - linear, 0.0)), q)
        cosine = min(max(q / p**3, -1.0), 1.0) if p else 0.0
        second = 2 * p * np.cos((np.pi + np.arccos(cosine)) / 3) - square
        second = float(min(max(second, 0.0, -difference), 1.0, 1 - difference))
        return second + difference, second


class Ratio(Samples):
    """The ratio of the rates of two samples: the bounds that a score test does not refute."""

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        from scipy import special

        (x, y), (n, m), quantile = self.clicks, self.rows, float(special.ndtri(level))
        outside, inside = 0.0, x * m / (x * m + y * n) if x else 0.0  # of ratio / (1 + ratio)
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            refuted = x > 0 and self._distance(middle / (1 - middle)) > quantile
            outside, inside = (middle, inside) if refuted else (outside, middle)
        return outside / (1 - outside)

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        inverse = Ratio(self.clicks[::-1], self.rows[::-1]).lower(level)
        return 1 / inverse if inverse else np.inf

    def _distance(self, ratio: float) -> float:
        """How far x / n is above ratio * y / m, in standard errors at the likeliest rates with this
        ratio; x, y are the clicks, n, m the rows of the samples.
        """
        (x, y), (n, m) = self.clicks, self.rows
        linear, square = n * ratio + x + m + y * ratio, (n + m) * ratio
        # the likeliest rates
        second = 2 * (x + y) / (linear + np.sqrt(max(linear**2 - 4 * square * (x + y), 0.0)))
        first = min(ratio * second, 1.0)
        error = np.sqrt(
            (first * (1 - first) / n + ratio**2 * second * (1 - second) / m) * (n + m) / (n + m - 1)
        )
        gap = x / n - ratio * y / m - (1 / n + ratio / m) / 2
        return _in_errors(gap, error)


def _in_errors(gap: float, error: float) -> float:
    """A gap in standard errors; if the error is 0, infinite for a gap above 0, else 0."""
    if error > 0:
        return gap / error
    return np.inf if gap > 0 else 0.0

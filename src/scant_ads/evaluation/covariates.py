"""Rewards less what a covariate tells of them: a column from before the ad was chosen, such as
revenue before the test.

With x such a column, b a slope and c the mean of x, the rewards r - b (x - c) of a log have the
same mean under every policy as r, for these visits, since no ad changes x; and they vary less if x
explains r. In A/B tests this is called CUPED (Deng, Xu, Kohavi and Walker 2013). The slope is
fitted to rows that are not judged: the training log, or the first tenth of the log. So bounds hold
as they do without a covariate. They need to know between which numbers rewards are: x is cut at the
ends of its range in the rows that tell the slope.
"""

from dataclasses import dataclass, replace

import numpy as np

from scant.errors import DataError, SettingError, unknown
from scant.randomness import generator
from scant_ads.evaluation import lifts, quotients
from scant_ads.reading.log import Log
from scant_ads.reading.tally import Both
from scant_ads.reading.visits import Visits
from scant_ads.unit import Unit

PART = 0.1  # of the log, whose rows tell the slope if there is no training log
FEWEST, MOST = 100, 10_000  # rows that tell it
ALARM = 0.999  # confidence with which a column is said to depend on the ad
ADS = 20  # with more, this is not looked at
GAPS = (
    "A covariate is a number in every row. Fill gaps with one number, such as 0 or the mean of the "
    "others: chance chose the ad, whatever was known of the visit, so that answers stay right if "
    "the gaps, too, are from before the ad was chosen. What is known of few visits explains little"
)


@dataclass(frozen=True)
class Adjusted:
    """A log whose rewards are less what a covariate tells.

    log : of the rows that are judged; its rewards are shares of the way from the least to the
        largest that is possible
    unit : what they are counted in
    note : a sentence on the slope
    """

    log: Log
    unit: Unit
    note: str


def adjusted(column: str, test: Log, train: Log | None) -> Adjusted:
    """The test with rewards less what a covariate tells of them.

    column : a numeric feature of the logs
    test : the log to judge policies on, in memory
    train : another part of the same log, which tells the slope; None for the first rows of the test
    """
    if test.in_folder:
        raise SettingError("--covariate needs the log in memory: give a file, not a folder")
    visits = test.visits
    x, first = _numbers(visits, column, test.name), min(int(PART * len(visits)), MOST)
    if train is None:
        judged, fit = np.arange(len(visits)) >= first, (x[:first], visits.reward[:first])
    else:
        judged = np.ones(len(visits), bool)
        fit = (_numbers(train.visits, column, train.name), train.visits.reward)
    if len(fit[0]) < FEWEST:
        raise DataError(
            test.name,
            f"--covariate needs {FEWEST} rows that tell its slope: there are {len(fit[0])}",
            advice="Leave it out, or log more",
        )
    low, high = float(fit[0].min()), float(fit[0].max())
    slope = float(np.cov(*fit)[0, 1] / np.var(fit[0], ddof=1)) if low < high else 0.0
    x = np.clip(x[judged], low, high)
    _check_unaffected(x, visits.take(judged), column, test.name)
    off = slope * (np.array([low, high]) - x.mean())
    least, largest = 0 - off.max(), 1 - off.min()
    reward = (visits.reward[judged] - slope * (x - x.mean()) - least) / (largest - least)
    source = replace(
        test.source,
        visits=replace(visits.take(judged), reward=np.clip(reward, 0.0, 1.0)),
        lines=None,
    )
    unit = replace(
        test.unit, least=test.unit.value(least), largest=test.unit.value(largest), binary=False
    )
    rows = f"the first {first:,} rows, which are not judged" if train is None else train.name
    explained = float(np.corrcoef(*fit)[0, 1] ** 2) if slope else 0.0
    note = (
        f"rewards are less {slope * test.unit.width:.4g} times ({column} less its mean), by "
        f"{rows}: there it explains {100 * explained:.0f} % of their variance"
    )
    return Adjusted(Log(source, test.name, test.half_of, None, test.options), unit, note)


def _numbers(visits: Visits, column: str, where: str) -> np.ndarray:
    """The values of a numeric feature, float64 (rows)."""
    if column not in visits.names:
        raise unknown("column for --covariate", column, visits.names)
    values = visits.feature(column).astype(float)
    if column in visits.categories or not np.isfinite(values).all():
        what = "it is text" if column in visits.categories else "it lacks numbers"
        raise DataError(where, f"--covariate {column}: {what}", advice=GAPS)
    return values


def _check_unaffected(x: np.ndarray, visits: Visits, column: str, where: str) -> None:
    """Raise a DataError if the mean of a column differs by ad in a test that shows each ad with one
    probability.

    If the column does not depend on the ad, it is accused of it with a probability of 0.1 % at
    most. Visits of one user are not independent, and ads that are not always possible have other
    visits: there it is not looked at.
    """
    ads, width = len(visits.actions), float(np.ptp(x))
    of_ad = [visits.propensity[visits.action == ad] for ad in range(ads)]
    shares = [float(part[0]) for part in of_ad if len(part) and not np.ptp(part)]
    alone = visits.user is None and visits.eligible is None and ads <= ADS and width
    if not (alone and len(shares) == ads and abs(sum(shares) - 1) < 1e-6):
        return
    level, share = 1 - (1 - ALARM) / ads, (x - x.min()) / (width or 1.0)
    for ad, name in enumerate(visits.actions):
        off = (visits.action == ad) / shares[ad] - 1
        both = Both(
            np.maximum(off, 0), np.maximum(-off, 0), share, np.ones(len(x), np.int64), len(x)
        )
        bounds = lifts.of_rows(
            quotients.difference, both, (1 / shares[ad], 1.0), generator(0, "covariate")
        )
        if bounds.lower((1 + level) / 2) > 0 or bounds.upper((1 + level) / 2) < 0:
            reason = (
                f"--covariate {column}: its mean in visits that show {name} differs from that "
                "of all visits"
            )
            raise DataError(
                where,
                reason,
                advice="A covariate is from before the ad was chosen: name another column",
            )

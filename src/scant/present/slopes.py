"""Slopes: how the mean regret grows with the round, the horizon or the number of items, as the
exponent of a power law.

Theory bounds the expected regret. So the slope is that of the logarithm of the mean regret over
seeds, which is not the mean of the slopes of single seeds. A seed whose regret is not above 0 at
some point counts like any other. Where the mean regret is not above 0, there is no slope.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from scant.randomness import generator

# slopes over rounds begin at this share of the horizon: before, regret grows differently
FROM = 1 / 100
RESAMPLES = 2000
APART = 1.1  # how many times the one before it a round is at least, to count in slopes over rounds
NEARLY = 0.05  # a point this close to a power of ten counts as one, relative to it
SHOWN = 3  # how many points without a positive mean regret are named


def slope(x, y, points: int) -> float:
    """The slope of log y on log x by least squares, in which all points count alike.

    Parameters
    ----------
    x : shape (n,), the rounds, horizons or numbers of items, above 0
    y : shape (n,), the mean regret, or a bound, at each of them
    points : how many different x a slope needs at least

    Returns
    -------
    slope : the exponent a of y = c x^a; NaN if there are too few points, or if any y is NaN or not
        above 0
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(np.unique(x)) < points or not np.all(y > 0):
        return np.nan
    return float(_weights(x) @ np.log(y))


def _weights(x: np.ndarray) -> np.ndarray:
    """The weights w of least squares, (n,): the slope of log y on log x is the sum of w log y."""
    centred = np.log(x) - np.log(x).mean()
    return centred / (centred @ centred)


def runs(rows: pd.DataFrame, along: str) -> pd.DataFrame:
    """The regret of each seed that has all points: a row for each value of the column `along`, a
    column for each seed.

    rows : one for each seed and point, with the columns seed, regret and `along`; regret is NaN
        where a run failed
    """
    means = rows.groupby([along, "seed"])["regret"].mean().dropna()
    return means.unstack("seed").dropna(axis="columns")  # noqa: PD010 (pivot_table takes three times as long)


def slope_columns(regret: pd.DataFrame, points: int, level: float = 0.95) -> dict:
    """The columns of tables and figures that say how the mean regret over seeds grows.

    The interval is that of a bootstrap over seeds. Its percentiles are moved outwards so that it is
    as wide as Student's t interval is where the slope is normal (Hesterberg, 2015): plain
    percentiles cover too little with few seeds, which benchmarks/slopes.py measures.

    Parameters
    ----------
    regret : see `runs`
    points : how many points a slope needs at least
    level : of the interval

    Returns
    -------
    slope : of the mean regret; NaN if there is none
    slope_low, slope_high : the ends of its interval; NaN with fewer than two seeds, or if too many
        resamples have no slope
    slopes : how many seeds the mean regret is over; 0 if there is no slope
    nonpositive : at how many points the mean regret is not above 0, so that it has no logarithm
    from, to : the first and the last point; NaN if there is none
    """
    values = regret.to_numpy(float)
    value = slope(regret.index, values.mean(axis=1), points) if values.size else np.nan
    low, high = (
        _bootstrap(regret.index.to_numpy(float), values, level)
        if np.isfinite(value)
        else (np.nan, np.nan)
    )
    return {
        "slope": value,
        "slope_low": low,
        "slope_high": high,
        "slopes": values.shape[1] if np.isfinite(value) else 0,
        "nonpositive": int(np.sum(values.mean(axis=1) <= 0)) if values.size else 0,
        "from": pd.Series(regret.index).min(),
        "to": pd.Series(regret.index).max(),
    }


def _bootstrap(x: np.ndarray, regret: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of the bootstrap interval of the slope.

    x : (p,) points; regret : (p, n) of each seed
    """
    from scipy import special

    n = regret.shape[1]
    if n < 2:
        return np.nan, np.nan
    means = regret @ _resamples(n)
    defined = np.all(means > 0, axis=0)
    slopes = _weights(x) @ np.log(means, out=np.zeros_like(means), where=means > 0)
    widened = special.ndtr(math.sqrt(n / (n - 1)) * special.stdtrit(n - 1, (1 - level) / 2))
    # A resample without a slope could have any: it counts as lower for the lower end, as higher for
    # the upper one.
    ends = (
        np.quantile(np.where(defined, slopes, -np.inf), widened, method="lower"),
        np.quantile(np.where(defined, slopes, np.inf), 1 - widened, method="higher"),
    )
    return tuple(float(end) if np.isfinite(end) else np.nan for end in ends)


@cache
def _resamples(n: int) -> np.ndarray:
    """The share of each of n seeds in each resample, (n, RESAMPLES); the same in all calls."""
    return generator(0, "bootstrap of slopes", n).multinomial(n, np.full(n, 1 / n), RESAMPLES).T / n


def late_rounds(frame: pd.DataFrame, horizon: str, since: int | None = None) -> pd.DataFrame:
    """The rows that slopes over rounds use: from round `since` on, or from `FROM` times the column
    `horizon`.

    Of rounds that are closer than `APART` on the log scale only the last counts: traces keep each
    of the last rounds, which would weigh as much as a power of ten.
    """
    late = frame[frame["round"] >= (FROM * frame[horizon] if since is None else since)]
    spaced = []
    for end, rounds in late.groupby(horizon)["round"].unique().items():
        for round in sorted(rounds, reverse=True):
            if not spaced or spaced[-1][0] != end or spaced[-1][1] >= APART * round:
                spaced.append((end, round))
    return late[pd.MultiIndex.from_frame(late[[horizon, "round"]]).isin(spaced)]


def pseudo_values(regret: pd.DataFrame) -> pd.Series:
    """Each seed's pseudo-value of the slope of the mean regret: their mean is that slope.

    A pseudo-value is the slope plus how much the seed's regret moves it, to first order
    (infinitesimal jackknife; Jaeckel, 1972): slope + sum over points h of w_h (regret_h - mean_h) /
    mean_h, where w are the weights of least squares. So the slope can be tested, and compared
    between learners seed by seed, like any mean over seeds. Tests of it are approximate, since all
    pseudo-values move a little with each seed.

    regret : see `runs`; its means over seeds are above 0
    """
    mean = regret.mean(axis=1)
    weights = _weights(regret.index.to_numpy(float))
    return (
        weights @ np.log(mean)
        + (regret.sub(mean, axis=0).div(mean, axis=0)).mul(weights, axis=0).sum()
    )


def slopes_of_seeds(
    rows: pd.DataFrame, along: str, points: int, places: Sequence[str] = ("stream",)
) -> pd.DataFrame:
    """Each seed's pseudo-value of the slope of the mean regret on the column `along`, as the value
    of a claim.

    Parameters
    ----------
    rows : one for each seed and point, with the columns `along`, regret, learner, seed and those of
        `places`
    points : how many different points a slope needs at least; learners with fewer get no row
    places : the columns that, with the learner, tell which rows are averaged together

    Returns
    -------
    frame : stream (the values of `places`, joined), learner, seed, value, why and local. The value
        is NaN for seeds that lack a point, and for all seeds if there is no slope; `why` then says
        why. `local` has the slopes of the mean regret in each power of ten, see `local_slopes`, as
        text
    """
    seeds = []
    rows = rows[[*places, "learner", "seed", along, "regret"]]
    for (*place, learner), group in rows.groupby([*places, "learner"], sort=False):
        regret = runs(group, along)
        if len(regret) < points:
            continue
        low = regret.index[~(regret.mean(axis=1) > 0)]
        values = pd.Series(dtype=float) if len(low) else pseudo_values(regret)
        why = _why(learner, ", ".join(map(str, place)), along, list(low))
        local = ", ".join(f"{value:.2f}" for value in local_slopes(regret.mean(axis=1)))
        for seed in group["seed"].unique():
            seeds.append(
                (", ".join(map(str, place)), learner, seed, values.get(seed, np.nan), why, local)
            )
    return pd.DataFrame(seeds, columns=["stream", "learner", "seed", "value", "why", "local"])


def local_slopes(mean: pd.Series) -> list[float]:
    """The slope in each power of ten of the points, counted from the last, in ascending order of
    the points.

    A single slope over all points may hide that the regret's growth changes on the way. Powers of
    ten that have no two points with a mean above 0 have none.

    mean : by point, the mean regret
    """
    mean, slopes = mean[mean > 0], []
    last = mean.index.max() if len(mean) else 0.0
    while len(mean) and last > mean.index.min() * (1 + NEARLY):
        within = mean[
            (mean.index >= last / 10 * (1 - NEARLY)) & (mean.index <= last * (1 + NEARLY))
        ]
        if len(within) > 1:
            slopes.append(slope(within.index, within, 2))
        last /= 10
    return slopes[::-1]


def _why(learner: str, place: str, along: str, points: list) -> str:
    """Why there is no slope: at which points the mean regret is not above 0; "" without any."""
    if not points:
        return ""
    first = ", ".join(map(str, points[:SHOWN])) + (
        f" and {len(points) - SHOWN} more" if len(points) > SHOWN else ""
    )
    return f"no slope: the mean regret of {learner} on {place} is not above 0 at {along} {first}"

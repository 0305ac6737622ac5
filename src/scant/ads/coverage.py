"""How often each bound holds, and how wide it is, over simulated campaigns whose true CTR is known.

Every bound depends on a log only through counts: how often each pair of weight and click occurs in
each stage of betting. So the counts are drawn, as multinomials, which is the distribution that
drawing rows would give them.

Rates may drift: each part of a log then has click rates of its own, and the truth is their average
over the log. The betting bound gets the rows in random order, as from `evaluate` with a generator
to shuffle: the counts of its stages are then multivariate hypergeometric draws from the counts of
the log. "betting, unshuffled" has the rows as logged.
"""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pyarrow as pa

from scant.bandits import intervals, likelihood
from scant.bandits.evaluation import snips_of
from scant.declare.runs import table_of_rows
from scant.files import write_parquet
from scant.randomness import generator

RATES = {  # clicks per impression of each offer (thesis, Table 5.2)
    "hotel": (0.081, 0.082, 0.078, 0.077, 0.055),
    "bank": (0.0017, 0.0040, 0.0045, 0.0030, 0.0023),
}
POLICIES = {"epsilon-greedy": 0.2, "deterministic": 0.0}  # their epsilons
DRIFTS = {  # click rates in equal parts of a log, over their average
    "falling": (1.37, 0.63),  # two halves, as 7.4 % and then 3.4 %
    "rising": (0.63, 1.37),
    "linear": tuple(1.8 - 1.6 * (part + 0.5) / 32 for part in range(32)),
    "seasons": tuple(1 + 0.7 * math.sin(2 * math.pi * 4 * (part + 0.5) / 32) for part in range(32)),
    # rows of ten classes, one class after another
    "sorted": (1.9, 0.2, 1.6, 0.4, 1.3, 0.7, 1.0, 0.9, 1.2, 0.8),
}
LIFT = 1.5  # of the click rate of the best ad
RARE = 0.01  # the share of rows in which the logging policy "rare" shows a random ad


SCHEMA = pa.schema(  # see `coverage`
    {
        "campaign": pa.string(),
        "policy": pa.string(),
        "rows": pa.int64(),
        "true": pa.float64(),
        "bound": pa.string(),
        "side": pa.string(),
        "level": pa.float64(),
        "repeats": pa.int64(),
        "covered": pa.int64(),
        "coverage": pa.float64(),
        "coverage_low": pa.float64(),
        "coverage_high": pa.float64(),
        "width_mean": pa.float64(),
    }
)


@dataclass(frozen=True)
class Setting:
    """A campaign and a policy to evaluate on its log. Rows are independent, and each falls into one
    of a few cells.

    campaign, policy : names
    rows : n, the length of a log
    share : (cells), the probability that a row falls into the cell; they sum to 1
    weight : (cells), the policy's probability of the logged ad / its propensity
    click : (cells), the probability of a click, on average over the log
    drift : factors on `click` in successive equal parts of the log, with a mean of 1; empty if
        rates are constant
    unseen : the part of the policy's CTR that it earns with ads which the logging policy could not
        show (deficient support)
    """

    campaign: str
    policy: str
    rows: int
    share: tuple[float, ...]
    weight: tuple[float, ...]
    click: tuple[float, ...]
    drift: tuple[float, ...] = ()
    unseen: float = 0.0

    @property
    def truth(self) -> float:
        """The policy's true CTR."""
        return float(np.prod([self.share, self.weight, self.click], axis=0).sum()) + self.unseen


def setting(campaign: str, policy: str, rows: int, logging: str = "uniform") -> Setting:
    """A campaign with the click rates of Table 5.2. The ad that the policy takes for the best has
    `LIFT` times their mean; the others' rate is such that ads shown at random have the mean rate.

    campaign : a key of `RATES`; K is the number of its offers
    policy : a key of `POLICIES`
    rows : n, the length of a log
    logging : "uniform", or "rare": the logging policy shows a random ad in 1 % of the rows, and in
        all others an ad that is not the best, so that large weights are possible but seldom seen
    """
    epsilon, mean, actions = POLICIES[policy], float(np.mean(RATES[campaign])), len(RATES[campaign])
    best, other = LIFT * mean, mean * (actions - LIFT) / (actions - 1)
    # best, its rival, the rest
    target = np.array([1 - epsilon, epsilon / (actions - 1), epsilon / (actions - 1)])
    propensity = (
        np.full(3, 1 / actions)
        if logging == "uniform"
        else np.array([0, 1 - RARE, 0]) + RARE / actions
    )
    share = propensity * [1, 1, actions - 2]
    name = campaign if logging == "uniform" else f"{campaign}, {logging} logging"
    weights = (target / propensity).tolist()
    return Setting(name, policy, rows, tuple(share.tolist()), tuple(weights), (best, other, other))


def contrary(rows: int) -> Setting:
    """A made-up log in which the ads with large weights have few clicks and the others many, unlike
    in a campaign.

    A self-normalised estimate then varies more than its numerator does.
    """
    return Setting("contrary", "made up", rows, (0.05, 0.95), (16.0, 0.2 / 0.95), (0.02, 0.98))


def deficient(rows: int) -> Setting:
    """A log of the hotel's campaign with deficient support: in a share of visits the best ad, which
    the policy always shows, could not be shown.

    The other ads are then shown more often, as their propensities say. The mean weight is below 1
    by what the policy would have shown in vain.
    """
    of, share = setting("hotel", "deterministic", rows), 0.2
    whole = [
        ((1 - share) * part, weight, click)
        for part, weight, click in zip(of.share, of.weight, of.click, strict=True)
    ]
    cells = zip(*whole, (share, 0.0, of.click[1]), strict=True)
    unseen = share * of.click[0]
    return Setting("hotel, deficient", of.policy, rows, *map(tuple, cells), unseen=unseen)


def drifting(rows: int, drift: str, policy: str = "deterministic") -> Setting:
    """A log whose click rates drift.

    rows : n
    drift : a key of `DRIFTS`; for "sorted" the log is of a classification set, its rows are in the
        order of their ten classes, and the policy is right in half of the cases; for the others it
        is of the hotel's campaign
    policy : a key of `POLICIES`
    """
    of = setting("hotel", policy, rows)
    if drift == "sorted":
        epsilon = POLICIES[policy]
        of = replace(
            of,
            share=(0.1, 0.9),
            weight=(10 * (1 - epsilon), 10 * epsilon / 9),
            click=(0.5, 0.5 / 9),
        )
    name = "classes, sorted" if drift == "sorted" else f"hotel, {drift}"
    return replace(of, campaign=name, drift=DRIFTS[drift])


def settings(rows, drifts) -> list[Setting]:
    """The settings of the study at each n of `rows`: both campaigns and policies, logged uniformly
    and rarely; `contrary`; `deficient`; and both policies under each of `drifts`.
    """
    cases = product(("uniform", "rare"), RATES, POLICIES, rows)
    return [
        *(setting(campaign, policy, n, logging) for logging, campaign, policy, n in cases),
        *(contrary(n) for n in rows),
        *(deficient(n) for n in rows),
        *(drifting(n, drift, policy) for drift, policy, n in product(drifts, POLICIES, rows)),
    ]


def coverage(
    settings: list[Setting],
    repeats: int,
    random: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> list[dict]:
    """How often each bound holds in simulated logs.

    Besides the bounds of `scant.bandits.evaluation` it measures two that published libraries offer
    and that should not be used: "empirical-bernstein, largest seen" takes the largest term seen as
    the range, and "snips, frozen" is the percentile bootstrap of r w over the log's mean weight,
    which it takes as fixed.

    All bounds are measured on the same logs. Logs that `evaluate` would refuse, or for which it
    gives no approximate bounds, such as those without clicks, count with the formulas' numbers.

    Parameters
    ----------
    settings : see `setting`
    repeats : simulated logs for each
    random : the generator for logs and bootstrap
    level : of the lower bounds (one-sided) and of the two-sided intervals
    replicates : of the bootstrap

    Returns
    -------
    rows : one mapping for each setting, bound and side ("lower" or "two-sided"). campaign, policy,
        rows and true are the setting, and its true CTR; repeats counts the logs, and covered those
        in which the bound holds (a bound that is undefined, since all weights are 0, does not
        hold); coverage is covered / repeats, with a 95 % Clopper-Pearson interval; width_mean is
        the mean of estimate - lower, or of high - low, divided by the truth, where defined
    """
    return [
        row
        for setting in settings
        for row in _coverage(setting, repeats, random, level, replicates)
    ]


def run(job: dict, target, study_seed: int) -> None:
    """Write the rows of `coverage` over the study's `settings` as parquet.

    job : the settings `rows` (a list of log lengths), `drifts` (keys of `DRIFTS`) and `repeats`
    """
    tried = settings(job["rows"], job["drifts"])
    rows = coverage(tried, job["repeats"], generator(study_seed, "coverage"))
    write_parquet(table_of_rows(SCHEMA, rows), target, {})


def _coverage(setting: Setting, repeats: int, random, level: float, replicates: int) -> list[dict]:
    from scipy import stats

    clicks, impressions = _draw(setting, repeats, random)
    truth = setting.truth
    if setting.drift:
        bounds = _ends_of_drift(setting, clicks, impressions, random, level)
    else:
        bounds = _ends(setting, clicks, impressions, random, level, replicates)
    rows = []
    for bound, (estimate, lower, low, high) in bounds.items():
        for side, holds, width in (
            # a bound may be the truth, but for rounding
            ("lower", lower <= truth * (1 + 1e-12), estimate - lower),
            ("two-sided", (low <= truth * (1 + 1e-12)) & (truth * (1 - 1e-12) <= high), high - low),
        ):
            covered = int(np.count_nonzero(holds))
            ends = stats.binomtest(covered, repeats).proportion_ci(0.95, "exact")
            rows.append(
                {
                    "campaign": setting.campaign,
                    "policy": setting.policy,
                    "rows": setting.rows,
                    "true": truth,
                    "bound": bound,
                    "side": side,
                    "level": level,
                    "repeats": repeats,
                    "covered": covered,
                    "coverage": covered / repeats,
                    "coverage_low": ends.low,
                    "coverage_high": ends.high,
                    "width_mean": float(np.nanmean(width)) / truth
                    if np.isfinite(width).any()
                    else np.nan,
                }
            )
    return rows


def _draw(setting: Setting, repeats: int, random) -> tuple[np.ndarray, np.ndarray]:
    """Clicks and impressions of each cell in each stage of betting, both int64 (repeats x stages x
    cells).
    """
    share, ends = np.array(setting.share), intervals.stage_ends(setting.rows)
    factors = np.array(setting.drift or (1.0,))
    # where the parts of a drifting log end
    parts = np.arange(1, len(factors) + 1) * setting.rows // len(factors)
    cuts = np.union1d(ends, parts)
    click = factors[np.searchsorted(parts, cuts), None] * np.array(setting.click)
    cell_shares = np.concatenate([share * click, share * (1 - click)], axis=1)
    # a multinomial refuses shares that sum to more than 1
    cell_shares /= cell_shares.sum(axis=1, keepdims=True)
    pieces = random.multinomial(np.diff(cuts, prepend=0), cell_shares, (repeats, len(cuts)))
    # the first piece of each stage
    first = np.searchsorted(np.searchsorted(ends, cuts), np.arange(len(ends)))
    counts = np.add.reduceat(pieces, first, axis=1)
    clicks, misses = np.split(counts, 2, axis=-1)
    return clicks, clicks + misses


def _shuffled(count: np.ndarray, random) -> np.ndarray:
    """A draw of `count`, how often each value occurs in each stage of a log (repeats x stages x
    values), after the rows of each log are shuffled.
    """
    sizes, left = count.sum(axis=-1), count.sum(axis=-2)
    moved = np.zeros_like(count)
    for stage in range(count.shape[1]):
        places, others = sizes[:, stage].copy(), left.sum(axis=-1)
        for value in range(count.shape[2]):
            others -= left[:, value]
            moved[:, stage, value] = random.hypergeometric(left[:, value], others, places)
            places -= moved[:, stage, value]
        left = left - moved[:, stage]
    return moved


def _ends(setting: Setting, clicks, impressions, random, level, replicates) -> dict[str, tuple]:
    """By name of a bound: its estimate, its one-sided lower bound, and the low and the high end of
    its two-sided interval, each float64 (repeats).
    """
    terms = _terms(setting, clicks, impressions)
    weight, value, count = np.array(setting.weight), terms.value, terms.count
    bounds = {name: _ends_of(name, terms, level) for name in intervals.BOUNDS}
    estimate = terms.moments()[1]

    misses = _terms(setting, impressions - clicks, impressions)  # w (1 - r)
    lower, low, above = (
        intervals.betting_without_range(part, p)
        for part, p in ((terms, level), (terms, (1 + level) / 2), (misses, (1 + level) / 2))
    )
    bounds["betting, no range"] = estimate, lower, low, 1 - above
    shown_ads, clicked = impressions.sum(axis=1), clicks.sum(axis=1)
    cells, pairs = len(setting.share), np.concatenate([clicked, shown_ads - clicked], axis=1)
    of_pairs = np.tile(setting.weight, 2), np.repeat((1.0, 0.0), cells), pairs, terms.largest
    likely, low, high, lower = likelihood.interval(*of_pairs, level)
    bounds["empirical-likelihood"] = likely, lower, low, high

    seen = np.where(terms.total > 0, value, 0.0).max(axis=-1)
    n, mean, variance = terms.moments()
    lower, low = (
        intervals.empirical_bernstein_of(n, mean, variance, seen, p)
        for p in (level, (1 + level) / 2)
    )
    bounds["empirical-bernstein, largest seen"] = (
        mean,
        np.maximum(lower, 0.0),
        np.maximum(low, 0.0),
        2 * mean - low,
    )

    quantiles = (1 - level, (1 - level) / 2, (1 + level) / 2)
    percentile, bca = np.empty((3, len(count))), np.empty((3, len(count)))
    for i, count_of_log in enumerate(count):
        log = intervals.Terms(value, count_of_log, terms.largest)
        means = intervals.resampled(log, random, replicates)
        percentile[:, i] = intervals.percentile(means, quantiles)
        bca[:, i] = intervals.bca(log, means, quantiles)
    bounds["bootstrap-percentile"], bounds["bootstrap-bca"] = (
        (estimate, *percentile),
        (estimate, *bca),
    )

    w = shown_ads @ weight
    wr = clicked @ weight
    ww = shown_ads @ weight**2
    wwr = clicked @ weight**2
    ratio, error = snips_of(w, wr, ww, wwr, wwr)
    z_lower, z_two_sided = _normal(level), _normal((1 + level) / 2)
    bounds["snips, delta"] = (
        ratio,
        ratio - z_lower * error,
        ratio - z_two_sided * error,
        ratio + z_two_sided * error,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        bounds["snips, frozen"] = ratio, *(percentile * setting.rows / w)
    return bounds


def _ends_of_drift(setting: Setting, clicks, impressions, random, level) -> dict[str, tuple]:
    """As `_ends`, for logs whose rates drift: the bounds of `evaluate`, and the betting bound on
    rows that are not shuffled.

    A log that grows cannot be shuffled, so the betting sequence takes rows as they came.
    """
    logged = _terms(setting, clicks, impressions)
    shuffled = replace(logged, count=_shuffled(logged.count, random))
    used = dict.fromkeys(intervals.BOUNDS, shuffled) | {"betting-sequence": logged}
    bounds = {name: _ends_of(name, terms, level) for name, terms in used.items()}
    return bounds | {"betting, unshuffled": _ends_of("betting", logged, level)}


def _terms(setting: Setting, clicks, impressions) -> intervals.Terms:
    """The counted terms of logs, from their clicks and impressions by cell."""
    weight = np.array(setting.weight)
    value, place = np.unique(np.r_[0.0, weight], return_inverse=True)
    count = clicks @ np.eye(len(value), dtype=np.int64)[place[1:]]
    count[..., 0] += (impressions - clicks).sum(axis=-1)
    return intervals.Terms(value, count, float(weight.max()), tuple(value.tolist()))


def _ends_of(name: str, terms: intervals.Terms, level: float) -> tuple:
    """The four arrays of `_ends` for the bound of this name, as `evaluate` computes them."""
    bound = intervals.BOUNDS[name]
    low, high = intervals.interval(bound, terms, level)
    return (
        terms.moments()[1],
        bound(terms, level),
        low,
        high if name == "t" else np.minimum(high, 1.0),
    )


def _normal(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy import special

    return float(special.ndtri(probability))

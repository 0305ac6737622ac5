"""Evaluate a policy on the log of another: its click-through rate (CTR), bounds on it, and when a
log cannot tell.

The weight of a row is w = pi(a|x) / p, the policy's probability of the logged ad over the logging
policy's; its term is X = r w, with r the reward. Neither the policy nor a model of the rewards may
have been learnt from this log.
"""

from dataclasses import asdict, dataclass

import numpy as np

from scant.bandits import intervals
from scant.errors import SettingError, is_number

LEAST_ESS = 30  # the least effective sample size at which numbers are given

# with fewer effective clicks, a warning says that bounds which hold only in the limit may fail
FEW_CLICKS = 30
# the largest confidence: an error that is shared among many answers stays above rounding
SUREST = 1 - 1e-9
ALARM = 0.999  # confidence of the interval of the mean weight; a warning is given if 1 is outside


@dataclass(frozen=True)
class Notice:
    """A warning, or the reason why an evaluation is refused.

    kind : "no-overlap", "small-sample", "no-clicks", "few-clicks" or "mean-weight"
    reason : a sentence for the user, with advice
    """

    kind: str
    reason: str


@dataclass(frozen=True)
class Diagnostics:
    """How much a log tells about a policy.

    rows : n
    clicks : the sum of the rewards
    matched_clicks : the sum of the rewards in rows whose ad the policy may show
    effective_clicks : (sum w r)^2 / sum (w r)^2, the number of clicks of equal weight that would
        tell as much; 0 without clicks
    effective : the effective sample size, (sum w)^2 / sum w^2; 0 without overlap
    largest_weight : the largest weight in the log
    declared_weight : the largest weight possible
    unmatched : the share of rows whose ad the policy never shows
    mean_weight, mean_weight_low, mean_weight_high : the mean weight with Student's t interval; its
        expectation is 1 if propensities are right and every ad of the policy can be logged
    """

    rows: int
    clicks: float
    matched_clicks: float
    effective_clicks: float
    effective: float
    largest_weight: float
    declared_weight: float
    unmatched: float
    mean_weight: float
    mean_weight_low: float
    mean_weight_high: float


@dataclass(frozen=True)
class Bound:
    """An estimate with one of its bounds; numbers are NaN where they would mean nothing.

    estimator : "ips", "snips" or "doubly-robust"
    bound : a key of `scant.bandits.intervals.BOUNDS`, "bootstrap-percentile", "bootstrap-bca" or
        "delta"
    exact : whether the bound holds for every distribution and sample size
    estimate : of the CTR
    lower : the one-sided lower bound with a confidence of `level`
    low, high : the two-sided interval with a confidence of `level`
    """

    estimator: str
    bound: str
    exact: bool
    level: float
    estimate: float
    lower: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """A policy's CTR by each estimator and bound.

    If the evaluation is `refused`, every number of `bounds` is NaN.
    """

    diagnostics: Diagnostics
    bounds: tuple[Bound, ...]
    warnings: tuple[Notice, ...]
    refused: Notice | None

    def rows(self) -> list[dict]:
        """One mapping for each of `bounds`, its fields by name."""
        return [asdict(bound) for bound in self.bounds]


# --- estimates


def importance_weighted(reward, propensity, target) -> float:
    """Importance-weighted CTR (thesis, eq. 5.4), from arrays (rows) as `evaluate` takes them."""
    return float(np.mean(np.asarray(reward) * np.asarray(target) / np.asarray(propensity)))


def snips(reward, propensity, target) -> tuple[float, float]:
    """Self-normalised CTR, sum r w / sum w, and its standard error by the delta method (Swaminathan
    and Joachims 2015).

    Both are NaN if all weights are 0. Arrays (rows) are as `evaluate` takes them.
    """
    weight = np.asarray(target, float) / propensity
    estimate, error = snips_of(*_weighted_sums(np.asarray(reward, float), weight))
    return float(estimate), float(error)


def snips_of(w, wr, ww, wwr, wwrr):
    """`snips`, estimate and standard error, from the sums of w, w r, w^2, w^2 r and w^2 r^2."""
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.divide(wr, w)
        return estimate, np.sqrt(np.maximum(wwrr - 2 * estimate * wwr + estimate**2 * ww, 0.0)) / w


def doubly_robust(reward, weight, q_logged, q_policy) -> np.ndarray:
    """The terms q(x, pi) + w (r - q(x, a)), float64 (rows), whose mean is the CTR (Dudik, Langford
    and Li 2011).

    q_logged, q_policy : (rows), the rewards that a model expects of the logged ad, and of the
        policy
    """
    return (reward - np.asarray(q_logged, float)) * weight + q_policy


def _weighted_sums(reward, weight) -> tuple[float, ...]:
    terms = reward * weight
    return weight.sum(), terms.sum(), weight @ weight, weight @ terms, terms @ terms


# --- what can be declared beforehand


def least_propensity(propensity, declared: float | None = None) -> float | None:
    """The least propensity possible: the declared one, or the propensity that all rows have.

    Else None: the least propensity in a log does not tell how small others could have been.
    """
    if declared is not None:
        return declared
    first = float(propensity[0])
    return first if np.all(propensity == first) else None


def declared_weights(
    propensities, epsilon: float = 0.0, actions: int | None = None
) -> tuple[float, ...]:
    """Every weight above 0 that an epsilon-greedy policy can have, ascending.

    Parameters
    ----------
    propensities : all that the logging policy can give, by its design; the least alone suffices for
        the largest weight
    epsilon : of the policy; the largest weight with 0 is large enough for every policy
    actions : K, the number of ads; needed if epsilon is above 0
    """
    shares = np.array([1 - epsilon, epsilon / (actions - 1) if epsilon else 0.0])
    return tuple(np.unique(shares[shares > 0] / np.array(propensities)[:, None]).tolist())


# --- all estimators and bounds at once


def evaluate(
    reward,
    propensity,
    target,
    largest_weight: float,
    level: float = 0.95,
    random=None,
    q=None,
    weights=None,
    shuffle=None,
) -> Evaluation:
    """A policy's CTR from the log of another, by each estimator, with each of its bounds.

    Parameters
    ----------
    reward : (rows), in [0, 1], in the log's order
    propensity : (rows), in (0, 1], the logging policy's probability of the logged ad
    target : (rows), in [0, 1], the policy's probability of the logged ad
    largest_weight : the largest weight possible, the last of `declared_weights`; not the largest in
        the log
    level : of each lower bound, and of each two-sided interval
    random : a generator for the bootstrap; without it there is no bootstrap
    q : for the doubly robust estimate: the rewards that a model expects of the logged ad and of the
        policy, each (rows) in [0, 1]; without it there is no such estimate
    weights : for Clopper-Pearson: every weight above 0 that is possible (see `declared_weights`),
        if they are few and rewards are 0 or 1; without it there is no such bound
    shuffle : a generator that puts the rows in random order for the betting bounds, which else hold
        only where rates do not change over the log. What they bound is then the average rate over
        the log
    """
    reward, propensity, target = (np.asarray(part, float) for part in (reward, propensity, target))
    weight = target / propensity
    if not np.isfinite(weight.max() + largest_weight):
        raise SettingError(
            "a weight, or the largest one declared, is not a finite number: a propensity of the "
            "log is next to 0. Correct the propensities, or leave such rows out"
        )
    if not weight.max() <= largest_weight * (1 + 1e-9) < np.inf:
        raise SettingError(
            f"a weight is {weight.max():g}, above the largest one declared, {largest_weight:g}. "
            "Declare it from the policy and the logging propensities, or correct these"
        )
    terms, matched = reward * weight, target > 0
    sums = _weighted_sums(reward, weight)
    clicks, of_matched = float(reward.sum()), float(reward @ matched)
    diagnosed = _diagnosed(
        len(reward), sums, clicks, of_matched, matched.mean(), weight.max(), largest_weight, level
    )
    if shuffle is not None:
        shuffle.shuffle(terms)
    drawn, further = intervals.counted(terms, largest_weight, weights), []
    if q is not None:
        further = _doubly_robust_bounds(reward, weight, q, largest_weight, level)
    return _evaluation(diagnosed, sums, drawn, level, random, further)


def evaluate_cells(weight, reward, count, drawn: intervals.Terms, level: float) -> Evaluation:
    """As `evaluate`, without bootstrap and doubly robust estimate, from the counts of pairs of
    weight and reward.

    Parameters
    ----------
    weight, reward : float64 (cells), distinct pairs
    count : int64 (cells), how often each occurs
    drawn : the terms weight * reward, rows in random order; see `intervals.drawn`
    level : see `evaluate`
    """
    weight, reward, count = (np.asarray(part) for part in (weight, reward, count))
    n, terms, matched = int(count.sum()), weight * reward, count * (weight > 0)
    sums = tuple(
        float(count @ part) for part in (weight, terms, weight**2, weight * terms, terms**2)
    )
    clicks, of_matched = float(count @ reward), float(matched @ reward)
    diagnosed = _diagnosed(
        n, sums, clicks, of_matched, matched.sum() / n, weight.max(), drawn.largest, level
    )
    return _evaluation(diagnosed, sums, drawn, level)


def _diagnosed(
    n: int,
    sums,
    clicks: float,
    matched_clicks: float,
    matched: float,
    largest: float,
    declared: float,
    level: float,
) -> Diagnostics:
    """The diagnostics of n rows.

    sums : see `snips_of`
    matched : the share of rows whose ad the policy may show
    largest, declared : the largest weight in the log, and the largest possible
    """
    w, wr, ww, _, wwrr = map(float, sums)
    low = intervals.t_of(n, w / n, _variance(n, sums), (1 + level) / 2)
    return Diagnostics(
        n,
        clicks,
        matched_clicks,
        wr**2 / wwrr if wwrr else 0.0,
        w**2 / ww if ww else 0.0,
        float(largest),
        float(declared),
        float(1 - matched),
        w / n,
        float(low),
        float(2 * w / n - low),
    )


def _variance(n: int, sums) -> float:
    """The variance of the weights, with n - 1 in its denominator; 0 for a single row, as an ad may
    have.
    """
    w, _, ww, *_ = map(float, sums)
    return max(ww - w**2 / n, 0.0) / max(n - 1, 1)


def _evaluation(
    diagnosed: Diagnostics, sums, drawn: intervals.Terms, level, random=None, further=()
) -> Evaluation:
    """An evaluation from counted terms, with NaN for numbers that would mean nothing.

    sums : see `snips_of`; level, random : see `evaluate`
    further : bounds to put at the end
    """
    refused, warnings = _judged(diagnosed, _variance(diagnosed.rows, sums))
    estimate, error = map(float, snips_of(*sums))
    bounds = [
        *_weighted_bounds(drawn, level, random),
        _normal("snips", "delta", estimate, error, level),
        *further,
    ]
    if refused:
        bounds = [_nan(bound) for bound in bounds]
    # without a click, bounds that are not exact would be 0 with certainty
    elif not diagnosed.matched_clicks:
        bounds = [bound if bound.exact else _nan(bound) for bound in bounds]
    return Evaluation(diagnosed, tuple(bounds), tuple(warnings), refused)


def check_level(level: float) -> None:
    """Raise a SettingError for a confidence out of range."""
    if not is_number(level, 0.5, SUREST):
        raise SettingError(f"level is {level!r}; a confidence is from 0.5 to {SUREST}")


def _judged(diagnosed: Diagnostics, variance: float) -> tuple[Notice | None, list[Notice]]:
    """The reason to refuse the evaluation, or None, and the warnings; `variance` is of the
    weights.
    """
    if diagnosed.unmatched == 1:
        reason = (
            "the policy never shows the logged ads: nothing can be said. Log with a policy "
            "that shows all ads"
        )
        return Notice("no-overlap", reason), []
    if diagnosed.effective < LEAST_ESS:
        reason = (
            f"the weights leave an effective sample of {diagnosed.effective:.1f} rows; {LEAST_ESS} "
            "are needed. Log more"
        )
        return Notice("small-sample", reason), []
    notices = []
    if not diagnosed.matched_clicks:
        reason = (
            "no click on an ad that the policy could have shown: only the exact bounds mean "
            "something"
        )
        notices.append(Notice("no-clicks", reason))
    elif diagnosed.effective_clicks < FEW_CLICKS:
        clicks = f"{diagnosed.effective_clicks:.3g} effective clicks"
        reason = f"{clicks}: t, delta and bootstrap bounds may not hold; use exact ones"
        notices.append(Notice("few-clicks", reason))
    low = intervals.t_of(diagnosed.rows, diagnosed.mean_weight, variance, (1 + ALARM) / 2)
    if abs(diagnosed.mean_weight - 1) > max(diagnosed.mean_weight - low, 1e-6):
        mean = f"the mean weight is {diagnosed.mean_weight:.4f}, not 1"
        reason = f"{mean}: propensities are wrong, or some ads cannot be logged"
        notices.append(Notice("mean-weight", reason))
    return None, notices


def _weighted_bounds(terms: intervals.Terms, level, random) -> list[Bound]:
    """The bounds of the importance-weighted CTR, from the counted terms r w."""
    estimate = float(terms.moments()[1])
    bounds = []
    for name, bound in intervals.BOUNDS.items():
        if name != "clopper-pearson" or terms.support is not None:
            exact = name != "t"
            lower, low, high = bound(terms, level), *intervals.interval(bound, terms, level)
            high = np.minimum(high, 1.0) if exact else high  # a CTR is 1 at most
            bounds.append(
                Bound("ips", name, exact, level, estimate, *map(float, (lower, low, high)))
            )
    if random is not None:
        means = intervals.resampled(terms, random)
        quantiles = (1 - level, (1 - level) / 2, (1 + level) / 2)
        ends = intervals.percentile(means, quantiles).tolist()
        bounds.append(Bound("ips", "bootstrap-percentile", False, level, estimate, *ends))
        ends = intervals.bca(terms, means, quantiles).tolist()
        bounds.append(Bound("ips", "bootstrap-bca", False, level, estimate, *ends))
    return bounds


def _normal(estimator, bound, estimate, error, level) -> Bound:
    """The bound of an estimate that is normal in the limit, from its standard error."""
    from scipy import special

    lower, two_sided = special.ndtri(level), special.ndtri((1 + level) / 2)
    ends = (estimate - lower * error, estimate - two_sided * error, estimate + two_sided * error)
    return Bound(estimator, bound, False, level, estimate, *map(float, ends))


def _doubly_robust_bounds(reward, weight, q, largest, level) -> list[Bound]:
    """The bounds of the doubly robust estimate; `q` is as in `evaluate`."""
    terms = doubly_robust(reward, weight, *q)
    n, mean, variance = len(terms), float(terms.mean()), float(terms.var(ddof=1))
    width = 1 + 2 * largest  # each term is in [-B, 1 + B]
    levels = (level, (1 + level) / 2)
    t = [intervals.t_of(n, mean, variance, confidence) for confidence in levels]
    eb = [
        intervals.empirical_bernstein_of(n, mean, variance, width, confidence)
        for confidence in levels
    ]
    cut = [min(max(end, 0.0), 1.0) for end in (*eb, 2 * mean - eb[1])]  # a CTR is in [0, 1]
    return [
        Bound("doubly-robust", "t", False, level, mean, *map(float, (*t, 2 * mean - t[1]))),
        Bound("doubly-robust", "empirical-bernstein", True, level, mean, *map(float, cut)),
    ]


def _nan(bound: Bound) -> Bound:
    """The bound with NaN for all its numbers."""
    return Bound(bound.estimator, bound.bound, bound.exact, bound.level, *[np.nan] * 4)

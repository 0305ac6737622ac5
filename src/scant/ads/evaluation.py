"""What a log of one policy says about another: its click-through rate (CTR), bounds on it, and when it says nothing.

A row's weight is w = pi(a|x) / p, the policy's probability of the logged ad over the logging policy's; its term is
X = r w. The policy must not have been learnt from the log that it is evaluated on, nor may a model of the rewards.
"""

from dataclasses import asdict, dataclass

import numpy as np

from scant.ads import intervals
from scant.errors import SettingError

LEAST_ESS = 30  # an effective sample below this says nothing
FEW_CLICKS = 30  # with fewer effective ones, bounds that hold in the limit only are warned of
ALARM = 0.999  # the mean weight is suspect if this interval leaves 1 out


@dataclass(frozen=True)
class Notice:
    """Something to know before the numbers are used.

    kind : "no-overlap", "small-sample", "no-clicks", "few-clicks" or "mean-weight"
    reason : in words, with what to do
    """

    kind: str
    reason: str


@dataclass(frozen=True)
class Diagnostics:
    """What the estimates rest on.

    rows : n
    clicks : the sum of the rewards
    matched_clicks : that of the rows that the policy could have shown
    effective_clicks : (sum w r)^2 / sum (w r)^2: so many clicks of equal weight would tell as much; 0 without any
    effective : the effective sample size (sum w)^2 / sum w^2; 0 without overlap
    largest_weight : the largest seen
    declared_weight : the largest possible
    unmatched : the share of rows whose ad the policy never shows
    mean_weight, mean_weight_low, mean_weight_high : with Student's t interval; 1 in expectation if propensities are
        right and every ad of the policy can be logged
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
    """An estimate with one of its bounds; NaN where it means nothing.

    estimator : "ips", "snips" or "doubly-robust"
    bound : as `scant.ads.intervals.BOUNDS`; "bootstrap-percentile", "bootstrap-bca"; "delta"
    exact : whether the bound holds for every distribution and sample size
    estimate : of the CTR
    lower : holds with a confidence of `level` (one-sided)
    low, high : the two-sided interval of `level`
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
    """A policy's CTR by each estimator and bound. If `refused` says why, every number of `bounds` is NaN."""

    diagnostics: Diagnostics
    bounds: tuple[Bound, ...]
    warnings: tuple[Notice, ...]
    refused: Notice | None

    def rows(self) -> list[dict]:
        """A table: one mapping for each of `bounds`."""
        return [asdict(bound) for bound in self.bounds]


# --- estimates


def full_information(chosen, label) -> float:
    """CTR of the ads chosen where the right one is known (thesis, eq. 5.3). Both (rows)."""
    chosen, label = np.asarray(chosen), np.asarray(label)
    if chosen.shape != label.shape or not chosen.size:
        raise SettingError(f"ads {chosen.shape} and labels {label.shape} must be as many, and one or more")
    return float(np.mean(chosen == label))


def importance_weighted(reward, propensity, target) -> float:
    """Importance-weighted CTR (thesis, eq. 5.4). All (rows)."""
    reward, _, target = np.asarray(reward), np.asarray(propensity), np.asarray(target)
    return float(reward @ (target / propensity) / len(reward))


def snips(reward, propensity, target) -> tuple[float, float]:
    """Self-normalised CTR, sum r w / sum w, and its standard error by the delta method (Swaminathan and Joachims
    2015). NaN if all weights are 0."""
    weight = np.asarray(target, float) / propensity
    estimate, error = snips_of(*_weighted_sums(np.asarray(reward, float), weight))
    return float(estimate), float(error)


def snips_of(w, wr, ww, wwr, wwrr):
    """As `snips`, from the sums of w, wr, w^2, w^2 r and w^2 r^2."""
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.divide(wr, w)
        return estimate, np.sqrt(np.maximum(wwrr - 2 * estimate * wwr + estimate**2 * ww, 0.0)) / w


def doubly_robust(reward, propensity, target, q_logged, q_policy) -> float:
    """Doubly robust CTR: the mean of q(x, pi) + w (r - q(x, a)) (Dudik, Langford and Li 2011).

    Parameters
    ----------
    q_logged : (rows), a model's expected reward of the logged ad
    q_policy : (rows), its expectation under the policy
    """
    return float(np.mean(_doubly_robust(np.asarray(reward), np.asarray(target) / propensity, q_logged, q_policy)))


def _doubly_robust(reward, weight, q_logged, q_policy) -> np.ndarray:
    terms = reward - np.asarray(q_logged, float)
    terms *= weight
    terms += q_policy
    return terms


def _weighted_sums(reward, weight) -> tuple[float, ...]:
    terms = reward * weight
    return weight.sum(), terms.sum(), weight @ weight, weight @ terms, terms @ terms


# --- what can be declared beforehand


def least_propensity(propensity, declared: float | None = None) -> float | None:
    """The least propensity possible: as declared, or that of all rows, if all have the same.

    None if neither; the least that was seen says nothing about what else could have been.
    """
    if declared is not None:
        return declared
    first = float(propensity[0])
    return first if np.all(propensity == first) else None


def declared_weight(least_propensity: float, epsilon: float = 0.0, actions: int | None = None) -> float:
    """The largest weight possible: an epsilon-greedy policy's largest probability over the least propensity.

    Parameters
    ----------
    least_propensity : of any ad in any context under the logging policy, by its design; 1/K if uniform
    epsilon : of the policy; 0 fits any policy
    actions : K, the number of ads; needed if epsilon is above 0
    """
    return declared_weights((least_propensity,), epsilon, actions)[-1]


def declared_weights(propensities, epsilon: float = 0.0, actions: int | None = None) -> tuple[float, ...]:
    """Every weight above 0 that an epsilon-greedy policy can have, ascending, if the logging policy's propensities are
    these."""
    p = np.asarray(propensities, float)
    if not (p.size and np.all((p > 0) & (p <= 1))):
        raise SettingError(f"propensities {p.tolist()} must be above 0 and at most 1")
    if not 0 <= epsilon <= 1:
        raise SettingError(f"epsilon is {epsilon}; a probability is from 0 to 1")
    if epsilon and (actions is None or actions < 2):
        raise SettingError(f"epsilon is {epsilon}, so that the number of ads is needed, 2 or more; got {actions}")
    shares = np.array([1 - epsilon, epsilon / (actions - 1) if epsilon else 0.0])
    return tuple(np.unique(shares[shares > 0] / p[:, None]).tolist())


# --- everything at once


def evaluate(
    reward, propensity, target, largest_weight: float, level: float = 0.95, random=None, q=None, weights=None
) -> Evaluation:
    """A policy's CTR from a log of another, by each estimator, with each of its bounds.

    Parameters
    ----------
    reward : (rows), in [0, 1], in the log's order
    propensity : (rows), in (0, 1], the logging policy's probability of the logged ad
    target : (rows), in [0, 1], the policy's
    largest_weight : declared, see `declared_weight`; never the largest seen, which is no bound
    level : of each lower bound, and of each two-sided interval
    random : a generator for the bootstrap, which is left out without it
    q : a model's expected reward of the logged ad, and its expectation under the policy, each (rows) in [0, 1], for
        the doubly robust estimate
    weights : every weight above 0 that is possible (see `declared_weights`) if they are few and rewards are 0 or 1,
        for Clopper-Pearson

    Raises
    ------
    SettingError : values outside their ranges, shapes that differ, fewer than two rows, weights other than declared
    """
    reward, propensity, target = _checked(reward, propensity, target, level)
    weight = target / propensity
    if not weight.max() <= largest_weight * (1 + 1e-9) < np.inf:
        raise SettingError(
            f"a weight is {weight.max():g}, above the largest one declared, {largest_weight:g}. "
            "Declare it from the policy and the logging propensities, or correct these"
        )
    if weights is not None and not np.all((reward == 0) | (reward == 1)):
        raise SettingError("weights are declared for Clopper-Pearson, but rewards are not all 0 or 1; leave them out")
    diagnosed, sums = _diagnose(reward, weight, target, largest_weight, level)
    refused, warnings = _judged(diagnosed, weight)
    bounds = _weighted_bounds(reward * weight, largest_weight, level, random, weights)
    estimate, error = map(float, snips_of(*sums))
    bounds.append(_normal("snips", "delta", estimate, error, level))
    if q is not None:
        bounds += _doubly_robust_bounds(reward, weight, q, largest_weight, level)
    if refused:
        bounds = [_nan(bound) for bound in bounds]
    elif not diagnosed.matched_clicks:  # without a click these say 0 with certainty
        bounds = [bound if bound.exact else _nan(bound) for bound in bounds]
    return Evaluation(diagnosed, tuple(bounds), tuple(warnings), refused)


def _checked(reward, propensity, target, level) -> list[np.ndarray]:
    parts = [np.asarray(part, float) for part in (reward, propensity, target)]
    shapes = [part.shape for part in parts]
    if len(set(shapes)) > 1 or parts[0].ndim != 1 or len(parts[0]) < 2:
        raise SettingError(f"reward, propensity and target have shapes {shapes}; equal ones of two rows or more needed")
    for name, part, least in zip(("reward", "propensity", "target"), parts, ("[0", "(0", "[0"), strict=True):
        if not (part.min() >= 0 and part.max() <= 1) or (least == "(0" and part.min() == 0):  # NaN fails, too
            raise SettingError(f"{name} ranges from {part.min():g} to {part.max():g}; it must be in {least}, 1]")
    if not 0.5 <= level < 1:
        raise SettingError(f"level is {level}; a confidence is from 0.5 to below 1")
    return parts


def _diagnose(reward, weight, target, largest_weight, level):
    n, sums = len(reward), _weighted_sums(reward, weight)
    w, wr, ww, _, wwrr = map(float, sums)
    mean = w / n
    variance = max(ww - n * mean**2, 0.0) / (n - 1)
    low = intervals.t_of(n, mean, variance, (1 + level) / 2)
    matched = target > 0
    diagnosed = Diagnostics(
        n, float(reward.sum()), float(reward @ matched), wr**2 / wwrr if wwrr else 0.0, w**2 / ww if ww else 0.0,
        float(weight.max()), float(largest_weight), float(1 - matched.mean()), mean, float(low), float(2 * mean - low),
    )  # fmt: skip
    return diagnosed, sums


def _judged(d: Diagnostics, weight) -> tuple[Notice | None, list[Notice]]:
    """Why the log cannot answer, if so; and what to beware of."""
    if d.unmatched == 1:
        reason = "the policy never shows the logged ads: nothing can be said. Log with a policy that shows all ads"
        return Notice("no-overlap", reason), []
    if d.effective < LEAST_ESS:
        reason = f"the weights leave an effective sample of {d.effective:.1f} rows; {LEAST_ESS} are needed. Log more"
        return Notice("small-sample", reason), []
    notices = []
    if not d.matched_clicks:
        reason = "no click on an ad that the policy could have shown: only the exact bounds mean something"
        notices.append(Notice("no-clicks", reason))
    elif d.effective_clicks < FEW_CLICKS:
        reason = (
            f"{d.effective_clicks:.3g} effective clicks: t, delta and bootstrap bounds may not hold; use exact ones"
        )
        notices.append(Notice("few-clicks", reason))
    error = weight.std(ddof=1) / np.sqrt(d.rows)
    low = intervals.t_of(d.rows, d.mean_weight, error**2 * d.rows, (1 + ALARM) / 2)
    if abs(d.mean_weight - 1) > max(d.mean_weight - low, 1e-6):
        reason = f"the mean weight is {d.mean_weight:.4f}, not 1: propensities are wrong, or some ads cannot be logged"
        notices.append(Notice("mean-weight", reason))
    return None, notices


def _weighted_bounds(x, largest, level, random, weights) -> list[Bound]:
    """The importance-weighted CTR's."""
    terms = intervals.counted(x, largest, weights)
    estimate = float(terms.moments()[1])
    bounds = []
    for name, bound in intervals.BOUNDS.items():
        if name != "clopper-pearson" or weights is not None:
            exact = name != "t"
            lower, low, high = bound(terms, level), *intervals.interval(bound, terms, level)
            high = np.minimum(high, 1.0) if exact else high  # a CTR is 1 at most
            bounds.append(Bound("ips", name, exact, level, estimate, *map(float, (lower, low, high))))
    if random is not None:
        means, at = intervals.resampled(terms, random), (1 - level, (1 - level) / 2, (1 + level) / 2)
        ends = [intervals.percentile(means, p) for p in at]
        bounds.append(Bound("ips", "bootstrap-percentile", False, level, estimate, *ends))
        ends = [intervals.bca(terms, means, p) for p in at]
        bounds.append(Bound("ips", "bootstrap-bca", False, level, estimate, *ends))
    return bounds


def _normal(estimator, bound, estimate, error, level) -> Bound:
    from scipy import special

    one, two = special.ndtri(level), special.ndtri((1 + level) / 2)
    ends = (estimate - one * error, estimate - two * error, estimate + two * error)
    return Bound(estimator, bound, False, level, estimate, *map(float, ends))


def _doubly_robust_bounds(reward, weight, q, largest, level) -> list[Bound]:
    q = [np.asarray(part, float) for part in q]
    if len(q) != 2 or any(part.shape != reward.shape or not (part.min() >= 0 and part.max() <= 1) for part in q):
        raise SettingError("q must be two arrays with a row for each of the log's, from 0 to 1")
    terms = _doubly_robust(reward, weight, *q)
    n, mean, variance = len(terms), float(terms.mean()), float(terms.var(ddof=1))
    width = 1 + 2 * largest  # each term is in [-B, 1 + B]
    levels = (level, (1 + level) / 2)
    t = [intervals.t_of(n, mean, variance, one) for one in levels]
    eb = [intervals.empirical_bernstein_of(n, mean, variance, width, one) for one in levels]
    cut = [min(max(end, 0.0), 1.0) for end in (*eb, 2 * mean - eb[1])]  # a CTR is in [0, 1]
    return [
        Bound("doubly-robust", "t", False, level, mean, *map(float, (*t, 2 * mean - t[1]))),
        Bound("doubly-robust", "empirical-bernstein", True, level, mean, *map(float, cut)),
    ]


def _nan(bound: Bound) -> Bound:
    return Bound(bound.estimator, bound.bound, bound.exact, bound.level, *[np.nan] * 4)

"""Empirical likelihood intervals of importance-weighted rewards (Karampatziakis, Langford and
Mineiro 2020).

Let Q be a distribution of (w, r) with weights and rewards in their ranges and a mean weight of 1.
The interval is the range of E_Q[w r] over all Q whose empirical log-likelihood is at most chi2 / 2
below the largest. Self-normalised estimates, too, use that the mean weight is 1. The interval holds
in the limit only.

For a value v, the log-likelihood ratio to the log itself is minus the maximum over (a, b) of the
sum of log(1 + a (w - 1) + b (w r - v)). What is in the logarithm must not be negative for any
possible (w, r), that is, at the four corners of their ranges, since it is linear in either.
"""

import numpy as np

# the weight of the corners' logarithms; the ratio is too small by at most four times as much
BARRIER = 1e-3
NEWTON = 40  # steps, at most
HALVINGS = 16  # of the interval in which an end is searched


def interval(weight, reward, count, largest: float, level: float) -> tuple[np.ndarray, ...]:
    """The value of the likeliest distribution, its two-sided interval, and a lower bound, each in
    [0, 1].

    Parameters
    ----------
    weight, reward : float64 (cells), the distinct pairs
    count : (logs x cells), how often each occurs
    largest : the largest weight possible
    level : of the interval, and of the lower bound by itself

    Returns
    -------
    estimate, low, high, lower : float64 (logs) each; NaN where all weights are 0
    """
    from scipy import special

    weight = np.asarray(weight, float)
    reward = np.asarray(reward, float)
    count = np.asarray(count, float)
    corners = np.array([(0, 0), (0, 1), (largest, 0), (largest, 1)], float)
    points = np.concatenate([np.column_stack([weight, reward]), corners])
    mass = np.concatenate([count, np.full((len(count), 4), BARRIER)], axis=1)
    best = _best(points, mass)
    smallest, ends = _ratio(points, mass, best, np.zeros((2, len(mass))))[0], []
    for outer, inner_level in ((0.0, level), (1.0, level), (0.0, 2 * level - 1)):
        goal = smallest + special.chdtri(1, 1 - inner_level) / 2
        inside, outside, start = best.copy(), np.full(len(mass), outer), np.zeros((2, len(mass)))
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            ratio, start = _ratio(points, mass, middle, start)
            inside = np.where(ratio <= goal, middle, inside)
            outside = np.where(ratio <= goal, outside, middle)
        ends.append(inside)
    return tuple(np.where(count @ weight > 0, end, np.nan) for end in (best, *ends))


def _best(points: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """E[w r] under the likeliest distribution with a mean weight of 1, float64 (logs).

    points : (cells x 2), weight and reward; mass : (logs x cells), how often each occurs
    """
    weight, reward = points.T
    excess = np.broadcast_to(weight - 1, mass.shape)
    slopes, _ = _slopes(excess, np.zeros_like(mass), mass, np.zeros((2, len(mass))))
    share = mass / (1 + slopes[0][:, None] * excess)
    return (share * weight * reward).sum(axis=1) / share.sum(axis=1)


def _ratio(points, mass, value, start) -> tuple[np.ndarray, np.ndarray]:
    """For each log, minus the log-likelihood ratio at its value; and the multipliers (a, b) there,
    where the next search starts.
    """
    weight, reward = points.T
    excess = np.broadcast_to(weight - 1, mass.shape)
    return _slopes(excess, weight * reward - value[:, None], mass, start)[::-1]


def _slopes(x, y, mass: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The a and b (2 x logs) that maximise sum mass log(1 + a x + b y), and the maxima, by Newton's
    method.

    x, y : float64 (logs x points)
    start : where to begin; 0 where that is not possible
    """
    inner = 1 + start[0][:, None] * x + start[1][:, None] * y
    usable = inner.min(axis=1) > 0
    slopes, inner = np.where(usable, start, 0.0), np.where(usable[:, None], inner, 1.0)
    value = (mass * np.log(inner)).sum(axis=1)
    for _ in range(NEWTON):
        in_x, in_y = x / inner, y / inner
        of_x, of_y = mass * in_x, mass * in_y
        gradient = of_x.sum(axis=1), of_y.sum(axis=1)
        xx = (of_x * in_x).sum(axis=1) + 1e-12
        xy = (of_x * in_y).sum(axis=1)
        yy = (of_y * in_y).sum(axis=1) + 1e-12
        step = np.array([yy * gradient[0] - xy * gradient[1], xx * gradient[1] - xy * gradient[0]])
        step /= np.maximum(xx * yy - xy**2, 1e-300)
        gain = (step * gradient).sum(axis=0)
        if gain.max() < 1e-5:
            break
        along, length = step[0][:, None] * x + step[1][:, None] * y, np.ones(len(mass))
        for _ in range(50):
            tried = inner + length[:, None] * along
            new = (mass * np.log(np.maximum(tried, 1e-300))).sum(axis=1)
            good = (tried.min(axis=1) > 0) & (new >= value - 1e-12)
            if good.all():
                break
            length = np.where(good, length, length / 2)
        length = np.where(good, length, 0.0)
        slopes = slopes + length * step
        inner = inner + length[:, None] * along
        value = np.where(good, new, value)
    return slopes, value

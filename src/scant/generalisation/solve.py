"""Minimising the mean of a surrogate over a sample, with a certificate of how far the weights are
from the least.

A loss that is convex in the weights lies above its tangent planes. So its value and gradient g at
any weights w in a ball bound its minimum there from below: F(w) + min over the ball of <g, v - w>.
The gap between the value and the best such bound certifies the weights, however the search came to
them.
"""

from dataclasses import dataclass

import numpy as np

from scant.kernels import batch, generalisation
from scant.kernels.top import KL, LISTNET, RANKSVM, SMOOTHDCG, SQUARED
from scant.surrogates import Evaluation

OBJECTIVES = {
    "listnet": LISTNET,
    "smoothdcg": SMOOTHDCG,
    "ranksvm": RANKSVM,
    "squared": SQUARED,
    "kl": KL,
}
NOT_CONVEX = "smoothdcg"
# the certified gap at which a search stops, as shares of F and of F(0)
ENOUGH, ENOUGH_OF_ZERO = 1e-5, 1e-6
PASSES = 3000  # over the sample, at most
MEMORY = 10  # a step may raise the value as long as it stays below the largest of so many last ones

# Newton's steps follow so many passes in the l2 ball, up to so many features
NEWTON_AFTER, NEWTON_FEATURES = 60, 200
STALLED = 1e-13  # a decrease below this share of the value, for `MEMORY` steps, is rounding


class Ball:
    """All weights with a norm of at most `radius`: the Euclidean norm ("l2") or the sum of absolute
    values ("l1").
    """

    def __init__(self, norm: str, radius: float):
        self.norm, self.radius = norm, radius

    def project(self, weights: np.ndarray) -> np.ndarray:
        """The nearest weights in the ball."""
        if self.norm == "l2":
            length = np.linalg.norm(weights)
            return weights if length <= self.radius else weights * (self.radius / length)
        size = np.abs(weights)
        if size.sum() <= self.radius:
            return weights
        ordered = np.sort(size)[::-1]  # Duchi et al., 2008
        excess = np.cumsum(ordered) - self.radius
        last = np.flatnonzero(ordered * np.arange(1, len(size) + 1) > excess)[-1]
        return np.sign(weights) * np.maximum(size - excess[last] / (last + 1), 0.0)

    def support(self, gradient: np.ndarray) -> float:
        """The support function: the largest <gradient, v> over all v in the ball."""
        return self.radius * float(
            np.linalg.norm(gradient) if self.norm == "l2" else np.abs(gradient).max()
        )

    def length(self, weights: np.ndarray) -> float:
        return float(np.linalg.norm(weights) if self.norm == "l2" else np.abs(weights).sum())


class Sample:
    """Queries with lists of equal length m.

    features : float32 (n, m, d); grades : int16 (n, m)
    """

    def __init__(self, features: np.ndarray, grades: np.ndarray):
        self.n, self.m, self.d = features.shape
        self.features = np.ascontiguousarray(features).reshape(-1, self.d)
        self.grades = np.ascontiguousarray(grades).reshape(-1)
        self.offsets = np.arange(0, self.n * self.m + 1, self.m)
        self.ideal, self.counts = np.zeros(self.n), np.ones(self.n, np.int64)
        self.gains, self.exponentials = np.exp2(np.arange(32.0)) - 1, np.exp(-np.arange(32.0))

    @property
    def queries(self) -> batch.Queries:
        return batch.Queries(self.features, self.offsets, self.grades, self.ideal, self.counts)

    @property
    def lists(self) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, m, d) and grades (n, m); nothing is copied."""
        documents = self.n * self.m
        return self.features[:documents].reshape(-1, self.m, self.d), self.grades[
            :documents
        ].reshape(-1, self.m)

    def first(self, n: int) -> "Sample":
        """The sample of its first n queries; nothing is copied."""
        part = object.__new__(Sample)
        vars(part).update(vars(self) | {"n": n, "counts": self.counts[:n]})
        return part


class Mean:
    """F, the mean of a surrogate over a sample, plus `ridge` / 2 times the square of the weights'
    norm.

    sigma : of SmoothDCG
    """

    def __init__(self, sample: Sample, surrogate: str, sigma: float = 1.0, ridge: float = 0.0):
        self.sample, self.surrogate, self.ridge = sample, surrogate, ridge
        self.objective, self.smoothed = OBJECTIVES[surrogate], surrogate == "ranksvm"
        self.convex, self.scale = (
            surrogate != NOT_CONVEX,
            sigma if surrogate == "smoothdcg" else 1.0,
        )

    def evaluate(self, weights: np.ndarray, smoothing: float = 1.0) -> Evaluation:
        """F at `weights` (d), with its gradient and a bound on its minimum."""
        s, gradient = self.sample, np.empty(len(weights))
        value, smooth, support = batch.total(
            s.queries,
            self.objective,
            smoothing,
            weights / self.scale,
            s.gains,
            s.exponentials,
            gradient,
        )
        gradient /= self.scale * s.n
        penalty = 0.5 * self.ridge * float(weights @ weights)
        gradient += self.ridge * weights
        return Evaluation(
            value / s.n + penalty, smooth / s.n + penalty, support / s.n + penalty, gradient
        )

    def newton(
        self, weights: np.ndarray, smoothing: float, gradient: np.ndarray, radius: float
    ) -> np.ndarray:
        """Newton's step (d) for the smoothed value of a convex surrogate; it stays in the l2
        ball.
        """
        s, step, hessian = (
            self.sample,
            np.empty(len(weights)),
            np.empty((len(weights), len(weights))),
        )
        batch.curvature(s.queries, self.objective, smoothing, weights, hessian)
        hessian = hessian / s.n + self.ridge * np.eye(len(weights))
        batch.model_step(hessian, gradient, weights, radius, step)
        return step

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """The surrogate loss of each query at `weights`, float64 (n)."""
        s, values = self.sample, np.empty(self.sample.n)
        generalisation.losses(
            s.features,
            s.grades,
            s.m,
            self.objective,
            s.gains,
            s.exponentials,
            weights / self.scale,
            values,
        )
        return values


@dataclass
class Solution:
    """Weights that a search found.

    weights : shape (d,)
    value : F there
    gap : F is nowhere in the ball below value - gap; NaN for a surrogate that is not convex
    passes : how often the search went over the sample
    status : "certified", "not certified" if the gap is larger than asked for, "local" without a
        certificate
    """

    weights: np.ndarray
    value: float
    gap: float
    passes: int
    status: str


def minimise(
    mean: Mean, start: np.ndarray, ball: Ball, enough: float = ENOUGH, passes: int = PASSES
) -> Solution:
    """Minimise F over a ball by spectral projected gradients (Birgin, Martinez and Raydan, 2000).

    If that takes long, as on features on scales far apart, Newton's steps follow, where there are
    any: see `NEWTON_AFTER`. RankSVM's hinges are smoothed; the smoothing is reduced whenever most
    of the gap is due to it.

    start : shape (d,), in the ball
    enough : the gap, as a share of F, at which the search stops
    passes : the most passes over the sample; a solution that has not reached the gap by then says
        so
    """
    smoothing, weights, bound, used = 2.0, ball.project(start), -np.inf, 2
    enough_of_zero = ENOUGH_OF_ZERO * abs(mean.evaluate(np.zeros(len(start))).value)
    value, smooth, support, gradient = mean.evaluate(weights, smoothing)
    best, best_weights, recent, flat = value, weights, [smooth], 0
    step = 1.0 / max(np.abs(gradient).max(), 1e-12)
    while used < passes:
        if value < best:
            best, best_weights = value, weights
        slack = float(gradient @ weights) + ball.support(gradient)
        if mean.convex:
            bound = max(bound, support - slack)
            if best - bound <= enough * abs(best) + enough_of_zero:
                break
            if mean.smoothed and value - support > slack:
                smoothing, recent = smoothing / 4, []
                value, smooth, support, gradient = mean.evaluate(weights, smoothing)
                used += 1
                recent = [smooth]
        # nearly stationary: there is no certificate without convexity
        elif slack <= enough * abs(best):
            break
        if (
            used > NEWTON_AFTER
            and mean.convex
            and ball.norm == "l2"
            and len(weights) <= NEWTON_FEATURES
        ):
            direction = mean.newton(weights, smoothing, gradient, ball.radius)
        else:
            direction = ball.project(weights - step * gradient) - weights
        slope = float(gradient @ direction)
        flat = flat + 1 if -slope <= STALLED * (abs(smooth) + enough_of_zero) else 0
        if flat > MEMORY or not direction.any():
            break
        trial, evaluation, tries = _line_search(
            mean, weights, direction, slope, smoothing, recent, passes - used
        )
        used += tries
        value, smooth, support, new_gradient = evaluation
        moved, bent = trial - weights, new_gradient - gradient
        curvature = float(moved @ bent)
        step = float(moved @ moved) / curvature if curvature > 0 else 10 * step
        step = min(max(step, 1e-12), 1e12)
        weights, gradient, recent = trial, new_gradient, [*recent[1 - MEMORY :], smooth]
    if not mean.convex:
        return Solution(best_weights, best, np.nan, used, "local")
    gap = max(0.0, best - bound)
    certified = gap <= enough * abs(best) + enough_of_zero
    return Solution(best_weights, best, gap, used, "certified" if certified else "not certified")


def _line_search(
    mean: Mean, weights, direction, slope: float, smoothing: float, recent: list[float], most: int
) -> tuple[np.ndarray, Evaluation, int]:
    """The first of a whole step and shorter ones that is low enough: not above all recent values.

    direction : float64 (d), the whole step; slope : of the smoothed value along it
    recent : smoothed values, the last of which is at `weights`
    most : how many steps are tried; the last one is taken as it is

    Returns
    -------
    weights : after the step; the evaluation there, and how many steps were tried
    """
    size, tried = 1.0, 0
    while True:
        trial = weights + size * direction
        evaluation, tried = mean.evaluate(trial, smoothing), tried + 1
        smooth = evaluation.smooth
        low_enough = smooth <= max(recent) + 1e-4 * size * slope
        if low_enough or size < 1e-10 or tried == most:
            return trial, evaluation, tried
        # The minimum of a parabola through both values and the slope, unless it is too near to
        # either.
        shorter = -0.5 * size * size * slope / (smooth - recent[-1] - size * slope)
        size = shorter if 0.1 * size <= shorter <= 0.9 * size else size / 2


class Difference:
    """A `Mean` less another `Mean` over other queries, as a function to minimise; not convex."""

    convex = smoothed = False

    def __init__(self, mean: Mean, other: Mean):
        self.mean, self.other = mean, other

    def evaluate(self, weights: np.ndarray, smoothing: float = 1.0) -> Evaluation:
        """The difference at `weights` (d). RankSVM's hinges are hardly smoothed: the value stands
        for the smoothed value and the bound, too.
        """
        value, _, _, gradient = self.mean.evaluate(weights, 1e-2)
        other_value, _, _, other_gradient = self.other.evaluate(weights, 1e-2)
        return Evaluation(*[value - other_value] * 3, gradient - other_gradient)


def random_weights(random: np.random.Generator, d: int, ball: Ball) -> np.ndarray:
    """Weights on the surface of a ball, in any direction."""
    weights = random.standard_normal(d)
    return weights * (ball.radius / ball.length(weights))


def from_starts(
    mean: Mean, ball: Ball, starts: int, random: np.random.Generator
) -> tuple[Solution, float]:
    """The best of searches from 0 and from random weights on the ball's surface, and the spread of
    their values.

    Returns
    -------
    solution : the one with the least value; its `passes` count all searches
    spread : the largest value less the least; NaN if there is one search only
    """
    d = mean.sample.d
    ends = [minimise(mean, np.zeros(d), ball)]
    ends += [minimise(mean, random_weights(random, d, ball), ball) for _ in range(starts - 1)]
    values = [end.value for end in ends]
    best = ends[int(np.argmin(values))]
    best.passes = sum(end.passes for end in ends)
    return best, max(values) - min(values) if starts > 1 else np.nan


def descend(mean: Mean, ball: Ball, rate: float) -> Solution:
    """The average weights of online gradient descent, once over the sample, from 0 in the l2 ball.

    Descent does not minimise the mean loss; the solution's `gap` is how far the average may be
    above its minimum.

    rate : the step size
    """
    s = mean.sample
    weights, average = np.zeros(s.d), np.empty(s.d)
    generalisation.descend(
        s.features,
        s.grades,
        s.m,
        s.n,
        mean.objective,
        rate,
        ball.radius,
        s.gains,
        s.exponentials,
        weights,
        average,
    )
    value, _, support, gradient = mean.evaluate(average, 1e-12)
    gap = value - support + float(gradient @ average) + ball.support(gradient)
    return Solution(average, value, max(0.0, gap), 1, "one pass")

"""The fixed weights with the least sum of a surrogate over queries in a ball, with a certificate.

F, the sum, is convex, so that its value and gradient g at any w give a lower bound on its minimum
in the ball ||w|| <= U: F* >= F(w) - <g, w> - U ||g||. For RankSVM, value and gradient belong to the
dual point of its smoothed hinges (see `scant.kernels.batch`). The gap between F(w) and the best
lower bound certifies the weights w, however the search came to them.
"""

import numpy as np

from scant.data import stream as streams
from scant.surrogates import Evaluation

# The search stops when the gap is at most a share of F plus this far smaller share of F(0); F* may
# be 0.
ENOUGH_OF_ZERO = 1e-12
# the most allowed; a search usually takes eight steps, and 30 for RankSVM
STEPS, HALVINGS = 200, 40
# A decrease below this share of F cannot be told from rounding in the line search.
ROUNDING = 1e-12


class Total:
    """F, the sum of a surrogate over the queries of a stream.

    objective : the surrogate's number in `scant.kernels.top`
    counts : int64 (queries), how often each query is in the sum
    """

    def __init__(self, stream: streams.Stream, objective: int, counts: np.ndarray):
        from scant.kernels import batch

        largest_grade = max(1, stream.metadata["largest_grade"])
        self.kernel = batch
        self.queries = batch.Queries(
            stream.features, stream.offsets, stream.grades, stream.ideal_dcg, counts
        )
        self.objective, self.smoothed = objective, objective == batch.RANKSVM
        self.gains, self.exponentials = (
            streams.gains(largest_grade),
            np.exp(-np.arange(largest_grade + 1.0)),
        )

    def evaluate(self, weights: np.ndarray, smoothing: float = 1.0) -> Evaluation:
        """F at `weights` (d), its gradient, and what bounds its minimum.

        smoothing : the width over which RankSVM's hinges are smoothed
        """
        gradient = np.empty(len(weights))
        sums = self.kernel.total(
            self.queries,
            self.objective,
            smoothing,
            weights,
            self.gains,
            self.exponentials,
            gradient,
        )
        return Evaluation(*sums, gradient)

    def step(
        self, weights: np.ndarray, smoothing: float, gradient: np.ndarray, radius: float
    ) -> np.ndarray:
        """Newton's step (d) for the smoothed value; it stays in the ball."""
        step, hessian = np.empty(len(weights)), np.empty((len(weights), len(weights)))
        self.kernel.curvature(self.queries, self.objective, smoothing, weights, hessian)
        self.kernel.model_step(hessian, gradient, weights, radius, step)
        return step


def minimise(
    total: Total, weights: np.ndarray, radius: float, enough: float
) -> tuple[np.ndarray, float, float]:
    """Minimise F over ||w|| <= radius by Newton's method.

    Steps go towards the minimum of the quadratic model over the ball. RankSVM's hinges are
    smoothed; the smoothing is reduced whenever most of the gap is due to it.

    Parameters
    ----------
    weights : where to start, in the ball, shape (d,)
    enough : the gap, as a share of F, at which the search stops

    Returns
    -------
    weights : shape (d,), the weights with the smallest F that the search found
    value : F at these weights
    gap : no weights in the ball have F below value - gap
    """
    smoothing = 2.0  # at weights 0 all hinges are 1, which is then the middle of what is smoothed
    enough_of_zero = ENOUGH_OF_ZERO * total.evaluate(np.zeros(len(weights))).value
    # the bound is 0 at first: no surrogate is negative
    best, best_weights, bound, flat = np.inf, weights, 0.0, 0
    value, smooth, support, gradient = total.evaluate(weights, smoothing)
    for _ in range(STEPS):
        if value < best:
            best, best_weights = value, weights
        slack = gradient @ weights + radius * np.linalg.norm(gradient)
        bound = max(bound, support - slack)
        if best - bound <= enough * best + enough_of_zero:
            break
        if total.smoothed and (value - support > slack or flat):
            smoothing, flat = smoothing / 4, 0
            value, smooth, support, gradient = total.evaluate(weights, smoothing)
            continue
        if flat > 2:
            break
        step = total.step(weights, smoothing, gradient, radius)
        slope, start, low, high, size = gradient @ step, weights, 0.0, 1.0, 1.0
        flat = flat + 1 if -slope <= ROUNDING * smooth else 0
        for _ in range(HALVINGS):  # until the slope along the step is small, or negative at its end
            weights = start + size * step
            value, smooth, support, gradient = total.evaluate(weights, smoothing)
            rise = gradient @ step
            if flat or abs(rise) <= -0.1 * slope or (rise < 0 and size == 1.0):
                break
            low, high = (low, size) if rise > 0 else (size, high)
            size = (low + high) / 2
    return best_weights, best, max(0.0, best - bound)  # rounding may take the bound above the best

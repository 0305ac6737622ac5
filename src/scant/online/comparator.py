"""The best fixed weights in hindsight, with a certificate: what a contextual run's regret is measured against.

For a prefix of t rounds F(w), the surrogate summed over its queries, is minimised over the ball ||w|| <= U. F is
convex, so that its value and gradient g at any w bound it from below in all of the ball, F* >= F(w) - <g, w> - U ||g||;
for RankSVM they are those of the dual point that its smoothed hinges name (see `scant.kernels.batch`). The gap
between F(w) and the best bound met certifies the weights w, however they were found.
"""

import numpy as np
import pyarrow as pa

from scant.data import stream as streams
from scant.errors import SettingError, unknown
from scant.files import write_parquet
from scant.online.run import opened, queries_of
from scant.online.top import NOT_CONVEX, OBJECTIVES
from scant.runs import kept_rounds, origin, table_of

CONVEX = tuple(name for name in OBJECTIVES if name != NOT_CONVEX)
FIRST, PER_DECADE = 100, 4  # prefixes
# The search stops at a gap of this share of F, or of a far smaller one of F(0), since F* may be 0.
ENOUGH = {name: 1e-5 if name == "ranksvm" else 1e-6 for name in CONVEX}
ENOUGH_OF_ZERO = 1e-12
STEPS, HALVINGS = 200, 40  # at most; eight steps are usual, and 30 for RankSVM
# Below this share of F the line search can no longer tell a decrease from rounding.
ROUNDING = 1e-12
SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "round": pa.int64(),
        "best": pa.float64(),  # F of the weights found, the rounds up to this one summed
        "gap": pa.float64(),  # F is nowhere in the ball smaller than best - gap
        "norm": pa.float64(),  # of the weights found
    }
)


def prefixes(horizon: int) -> np.ndarray:
    """The rounds up to which the best fixed weights are sought: about four in each power of ten, and the last.

    They go from round 100 (from 1 if the horizon is shorter), and a trace keeps them all: see `scant.runs.kept_rounds`.
    Sorted int64.
    """
    kept = kept_rounds(horizon)
    if not len(kept):
        return kept
    first = FIRST if horizon >= FIRST else 1
    wanted = np.geomspace(first, horizon, int(np.ceil(PER_DECADE * np.log10(horizon / first))) + 1)
    return np.unique(kept[np.abs(kept - wanted[:, None]).argmin(axis=1)])


class Total:
    """F: the surrogate `objective`, summed over a stream's queries, each as often as `counts` (int64) says."""

    def __init__(self, stream: streams.Stream, objective: str, counts: np.ndarray):
        from scant.kernels import batch

        largest_grade = max(1, stream.metadata["largest_grade"])
        self.kernel, self.stream, self.counts = batch, stream, counts
        self.objective, self.smoothed = OBJECTIVES.index(objective), objective == "ranksvm"
        self.gains, self.exponentials = streams.gains(largest_grade), np.exp(-np.arange(largest_grade + 1.0))

    def at(self, weights: np.ndarray, smoothing: float = 1.0) -> tuple[float, float, float, np.ndarray]:
        """Value, smoothed value, support and gradient (d) at `weights` (d): see `kernels.batch.total`."""
        s, gradient = self.stream, np.empty(len(weights))
        sums = self.kernel.total(
            s.features, s.offsets, s.grades, s.ideal_dcg, self.counts, self.objective, smoothing, weights, self.gains,
            self.exponentials, gradient,
        )  # fmt: skip
        return *sums, gradient

    def step(self, weights: np.ndarray, smoothing: float, gradient: np.ndarray, radius: float) -> np.ndarray:
        """Newton's step (d) for the smoothed value, kept in the ball."""
        s, step, hessian = self.stream, np.empty(len(weights)), np.empty((len(weights), len(weights)))
        self.kernel.curvature(
            s.features, s.offsets, s.grades, self.counts, self.objective, smoothing, weights, hessian
        )  # fmt: skip
        self.kernel.model_step(hessian, gradient, weights, radius, step)
        return step


def minimise(total: Total, weights: np.ndarray, radius: float, enough: float) -> tuple[np.ndarray, float, float]:
    """Minimise F over ||w|| <= radius.

    Newton's method: each step goes to (or towards) the minimum of the quadratic model over the ball itself. RankSVM's
    hinges are smoothed, and less so whenever the smoothing is what most of the gap is due to.

    Parameters
    ----------
    weights : where to start, in the ball, shape (d,)
    enough : stop at a gap of this share of F

    Returns
    -------
    weights : the best found, shape (d,); value : F there; gap : no weights in the ball have F below value - gap
    """
    smoothing = 2.0  # at weights 0 all hinges are 1, which is then the middle of what is smoothed
    enough_of_zero = ENOUGH_OF_ZERO * total.at(np.zeros(len(weights)))[0]
    best, found, bound, flat = np.inf, weights, 0.0, 0  # no surrogate is negative
    value, smooth, support, gradient = total.at(weights, smoothing)
    for _ in range(STEPS):
        if value < best:
            best, found = value, weights
        slack = gradient @ weights + radius * np.linalg.norm(gradient)
        bound = max(bound, support - slack)
        if best - bound <= enough * best + enough_of_zero:
            break
        if total.smoothed and (value - support > slack or flat):
            smoothing, flat = smoothing / 4, 0
            value, smooth, support, gradient = total.at(weights, smoothing)
            continue
        if flat > 2:
            break
        step = total.step(weights, smoothing, gradient, radius)
        slope, start, low, high, size = gradient @ step, weights, 0.0, 1.0, 1.0
        flat = flat + 1 if -slope <= ROUNDING * smooth else 0
        for _ in range(HALVINGS):  # until the slope along the step is small, or downwards at its end
            weights = start + size * step
            value, smooth, support, gradient = total.at(weights, smoothing)
            rise = gradient @ step
            if flat or abs(rise) <= -0.1 * slope or (rise < 0 and size == 1.0):
                break
            low, high = (low, size) if rise > 0 else (size, high)
            size = (low + high) / 2
    return found, best, max(0.0, best - bound)


def best_fixed(
    stream: streams.Stream, queries: np.ndarray, objective: str, radius: float, rounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best fixed weights in hindsight of the first t rounds, for each t of `rounds`.

    Parameters
    ----------
    queries : the query that each round shows, shape (T,); all count, also those without a relevant document
    objective : squared, kl, ranksvm, listnet or ndcg-squared
    radius : U > 0, of the ball that weights are kept in
    rounds : prefixes, each from 1 to T, shape (n,); each search starts from the weights of the one before

    Returns
    -------
    best : float64 (n), the surrogate of the weights found, summed over the prefix
    gap : float64 (n), by how much the least such sum can be smaller
    norm : float64 (n), of the weights found

    Raises
    ------
    SettingError : an unknown surrogate, one that is not convex, or a radius that is no finite number above 0
    ValueError : queries that the stream does not have, or rounds that there are not
    """
    if objective == NOT_CONVEX:
        raise SettingError(f"{objective} is not convex, so that no weights can be certified as the best")
    if objective not in CONVEX:
        raise unknown("surrogate", objective, CONVEX)
    if not (np.isfinite(radius) and radius > 0):
        raise SettingError(f"radius is {radius}: the ball of weights needs a finite radius above 0")
    queries, rounds = np.asarray(queries), np.asarray(rounds)
    if len(queries) and not (queries.min() >= 0 and queries.max() < len(stream)):
        raise ValueError(f"queries must be places in the stream, from 0 to {len(stream) - 1}")
    if len(rounds) and not (rounds.min() >= 1 and rounds.max() <= len(queries)):
        raise ValueError(f"rounds must be from 1 to {len(queries)}")
    weights, rows = np.zeros(stream.features.shape[1]), np.empty((3, len(rounds)))
    for n, t in enumerate(rounds):
        total = Total(stream, objective, np.bincount(queries[:t], minlength=len(stream)))
        weights, value, gap = minimise(total, weights, float(radius), ENOUGH[objective])
        rows[:, n] = value, gap, np.linalg.norm(weights)
    return rows[0], rows[1], rows[2]


def compare(job: dict, target, seeds: list[int], stream_paths) -> None:
    """Find the best fixed weights for the queries that the runs of each seed are shown, and write them to a file.

    job : study, study_seed, experiment, stream, judge (the surrogate) and the readings radius, rounds, empty, order and
        keep of the experiment; all that it holds is recorded
    stream_paths : the stream's file for each seed, or one for all

    Raises
    ------
    SettingError : as `best_fixed`; no stream, as against the adversary; no query left to play
    """
    if not len(stream_paths):
        raise SettingError(
            f"streams.{job['stream']}: its queries depend on the learner, so that no fixed weights are best"
        )
    tables = []
    for seed, stream in opened(seeds, stream_paths):
        queries = queries_of(job, seed, stream)
        rounds = prefixes(len(queries))
        found = best_fixed(stream, queries, job["judge"], job["radius"], rounds)
        columns = np.full(len(rounds), seed), rounds, *found
        tables.append(table_of(SCHEMA, dict(zip(SCHEMA.names, columns, strict=True))))
    write_parquet(pa.concat_tables(tables), target, job | origin(seeds, stream_paths))

"""The best fixed weights in hindsight, with a certificate: the comparator in the regret of contextual learners.

For each prefix of t rounds, F(w), the sum of the surrogate over the queries, is minimised over the ball ||w|| <= U.
F is convex, so that its value and gradient g at any w give a lower bound on its minimum in the ball:
F* >= F(w) - <g, w> - U ||g||. For RankSVM, value and gradient belong to the dual point of its smoothed hinges (see
`scant.kernels.batch`). The gap between F(w) and the best lower bound certifies the weights w, however the search came
to them.
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
FIRST, PER_DECADE = 100, 4  # the first prefix, in rounds, and how many prefixes there are in each power of ten
# The search stops when the gap is at most this share of F plus the far smaller share of F(0); F* may be 0.
ENOUGH = {name: 1e-5 if name == "ranksvm" else 1e-6 for name in CONVEX}
ENOUGH_OF_ZERO = 1e-12
STEPS, HALVINGS = 200, 40  # the most allowed; a search usually takes eight steps, and 30 for RankSVM
# A decrease below this share of F cannot be told from rounding in the line search.
ROUNDING = 1e-12
SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "round": pa.int64(),
        "best": pa.float64(),  # F at the weights, summed over the rounds up to this one
        "gap": pa.float64(),  # nowhere in the ball is F smaller than best - gap
        "norm": pa.float64(),  # of the weights
        "at_zero": pa.float64(),  # F at weights 0
    }
)


def prefixes(horizon: int) -> np.ndarray:
    """The rounds t for which the best fixed weights of the first t rounds are computed: sorted int64.

    There are about four in each power of ten, from round 100 on (from 1 if the horizon is shorter) to the horizon. All
    are rounds that traces keep, see `scant.runs.kept_rounds`.
    """
    kept = kept_rounds(horizon)
    if not len(kept):
        return kept
    first = FIRST if horizon >= FIRST else 1
    spaced = np.geomspace(first, horizon, int(np.ceil(PER_DECADE * np.log10(horizon / first))) + 1)
    return np.unique(kept[np.abs(kept - spaced[:, None]).argmin(axis=1)])


class Total:
    """F, the sum of the surrogate `objective` over the queries of a stream.

    counts : int64 (queries), how often each query is in the sum
    """

    def __init__(self, stream: streams.Stream, objective: str, counts: np.ndarray):
        from scant.kernels import batch

        largest_grade = max(1, stream.metadata["largest_grade"])
        self.kernel, self.stream, self.counts = batch, stream, counts
        self.objective, self.smoothed = OBJECTIVES.index(objective), objective == "ranksvm"
        self.gains, self.exponentials = streams.gains(largest_grade), np.exp(-np.arange(largest_grade + 1.0))

    def at(self, weights: np.ndarray, smoothing: float = 1.0) -> tuple[float, float, float, np.ndarray]:
        """Value, smoothed value, support and gradient (d) at `weights` (d), see `scant.kernels.batch.total`."""
        s, gradient = self.stream, np.empty(len(weights))
        sums = self.kernel.total(
            s.features, s.offsets, s.grades, s.ideal_dcg, self.counts, self.objective, smoothing, weights, self.gains,
            self.exponentials, gradient,
        )  # fmt: skip
        return *sums, gradient

    def step(self, weights: np.ndarray, smoothing: float, gradient: np.ndarray, radius: float) -> np.ndarray:
        """Newton's step (d) for the smoothed value; it stays in the ball."""
        s, step, hessian = self.stream, np.empty(len(weights)), np.empty((len(weights), len(weights)))
        self.kernel.curvature(
            s.features, s.offsets, s.grades, self.counts, self.objective, smoothing, weights, hessian
        )  # fmt: skip
        self.kernel.model_step(hessian, gradient, weights, radius, step)
        return step


def minimise(total: Total, weights: np.ndarray, radius: float, enough: float) -> tuple[np.ndarray, float, float]:
    """Minimise F over ||w|| <= radius by Newton's method.

    Each step goes to, or towards, the minimum of the quadratic model over the ball. RankSVM's hinges are smoothed; the
    smoothing is reduced whenever most of the gap is due to it.

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
    enough_of_zero = ENOUGH_OF_ZERO * total.at(np.zeros(len(weights)))[0]
    best, best_weights, bound, flat = np.inf, weights, 0.0, 0  # the bound is 0 at first: no surrogate is negative
    value, smooth, support, gradient = total.at(weights, smoothing)
    for _ in range(STEPS):
        if value < best:
            best, best_weights = value, weights
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
        for _ in range(HALVINGS):  # until the slope along the step is small, or negative at its end
            weights = start + size * step
            value, smooth, support, gradient = total.at(weights, smoothing)
            rise = gradient @ step
            if flat or abs(rise) <= -0.1 * slope or (rise < 0 and size == 1.0):
                break
            low, high = (low, size) if rise > 0 else (size, high)
            size = (low + high) / 2
    return best_weights, best, max(0.0, best - bound)


def best_fixed(
    stream: streams.Stream, queries: np.ndarray, objective: str, radius: float, rounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best fixed weights in hindsight for the first t rounds, for each t of `rounds`.

    Parameters
    ----------
    queries : shape (T,), the query of each round; queries without a relevant document count, too
    objective : squared, kl, ranksvm, listnet or ndcg-squared
    radius : U > 0, of the ball that holds the weights
    rounds : shape (n,), each t from 1 to T; each search starts from the weights of the one before

    Returns
    -------
    best : float64 (n), the sum of the surrogate over the first t rounds, at the best weights
    gap : float64 (n), by how much the least possible sum may be smaller
    norm : float64 (n), of the best weights

    Raises
    ------
    SettingError : the surrogate is unknown or not convex, or the radius is not a finite number above 0
    ValueError : the stream does not have a query, or a round is not from 1 to T
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


def at_zero(stream: streams.Stream, queries: np.ndarray, objective: str, rounds: np.ndarray) -> np.ndarray:
    """The sum of the surrogate over the first t rounds at weights 0, for each t of `rounds`; see `best_fixed`."""
    counts = (np.bincount(queries[:t], minlength=len(stream)) for t in rounds)
    zero = np.zeros(stream.features.shape[1])
    return np.array([Total(stream, objective, of_prefix).at(zero)[0] for of_prefix in counts])


def compare(job: dict, target, seeds: list[int], stream_paths) -> None:
    """Compute the best fixed weights for the queries that the runs of each seed show, and write them to a file.

    job : study, study_seed, experiment, stream, judge (the surrogate) and the experiment's settings radius, rounds,
        empty, order, keep, and `queries` if they are "resampled"; it becomes the file's metadata
    target : the file to write
    stream_paths : the stream's file for each seed, or one file for all

    Raises
    ------
    SettingError : as in `best_fixed`; there is no stream file, as against the adversary; or no query is left to play
    """
    if not len(stream_paths):
        raise SettingError(
            f"streams.{job['stream']}: its queries depend on the learner, so that no fixed weights are best"
        )
    tables = []
    for seed, stream in opened(seeds, stream_paths):
        queries = queries_of(job, seed, stream)
        rounds = prefixes(len(queries))
        best, gap, norm = best_fixed(stream, queries, job["judge"], job["radius"], rounds)
        columns = np.full(len(rounds), seed), rounds, best, gap, norm, at_zero(stream, queries, job["judge"], rounds)
        tables.append(table_of(SCHEMA, dict(zip(SCHEMA.names, columns, strict=True))))
    write_parquet(pa.concat_tables(tables), target, job | origin(seeds, stream_paths))

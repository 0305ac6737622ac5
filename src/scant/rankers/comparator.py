"""The best fixed weights in hindsight, with a certificate: the comparator in the regret of
contextual learners.

For each prefix of t rounds, F(w), the sum of the surrogate over the queries, is minimised over the
ball ||w|| <= U. `scant.rankers.minimum` does so, and bounds by how much F may be smaller.
"""

import numpy as np
import pyarrow as pa

from scant.data import stream as streams
from scant.declare.runs import origin, spaced_rounds, table_of
from scant.files import write_parquet
from scant.rankers.minimum import Total, minimise
from scant.rankers.run import opened, queries_of
from scant.rankers.top import NOT_CONVEX, OBJECTIVES

CONVEX = tuple(name for name in OBJECTIVES if name != NOT_CONVEX)
# the first prefix, in rounds, and how many prefixes there are in each power of ten
FIRST, PER_DECADE = 100, 4
# The search stops when the gap is at most this share of F.
ENOUGH = {name: 1e-5 if name == "ranksvm" else 1e-6 for name in CONVEX}
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
    """The rounds t for which the best fixed weights of the first t rounds are computed: sorted
    int64.

    There are about four in each power of ten, from round 100 on (from 1 if the horizon is shorter)
    to the horizon. All are rounds that traces keep, see `scant.declare.runs.kept_rounds`.
    """
    return spaced_rounds(horizon, PER_DECADE, FIRST if horizon >= FIRST else 1)


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
    gap : float64 (n): no weights in the ball have a sum below best - gap
    norm : float64 (n), the norms of the best weights
    """
    weights, rows = np.zeros(stream.features.shape[1]), np.empty((3, len(rounds)))
    for n, t in enumerate(rounds):
        counts = np.bincount(queries[:t], minlength=len(stream))
        total = Total(stream, OBJECTIVES.index(objective), counts)
        weights, value, gap = minimise(total, weights, float(radius), ENOUGH[objective])
        rows[:, n] = value, gap, np.linalg.norm(weights)
    return rows[0], rows[1], rows[2]


def at_zero(
    stream: streams.Stream, queries: np.ndarray, objective: str, rounds: np.ndarray
) -> np.ndarray:
    """The sum of the surrogate over the first t rounds at weights 0, for each t of `rounds`; see
    `best_fixed`.
    """
    counts = (np.bincount(queries[:t], minlength=len(stream)) for t in rounds)
    zero = np.zeros(stream.features.shape[1])
    totals = (Total(stream, OBJECTIVES.index(objective), of_prefix) for of_prefix in counts)
    return np.array([total.evaluate(zero).value for total in totals])


def compare(job: dict, target, seeds: list[int], stream_paths) -> None:
    """Compute the best fixed weights for the queries that the runs of each seed show, and write
    them to a file.

    job : study, study_seed, experiment, stream, judge (the surrogate) and the experiment's settings
        radius, rounds, empty, order, keep, and `queries` if they are "resampled"; it becomes the
        file's metadata
    target : the file to write
    stream_paths : the stream's file for each seed, or one file for all

    Raises
    ------
    SettingError : no query is left to play
    """
    tables = []
    for seed, stream in opened(seeds, stream_paths):
        queries = queries_of(job, seed, stream)
        rounds = prefixes(len(queries))
        best, gap, norm = best_fixed(stream, queries, job["judge"], job["radius"], rounds)
        columns = (
            np.full(len(rounds), seed),
            rounds,
            best,
            gap,
            norm,
            at_zero(stream, queries, job["judge"], rounds),
        )
        tables.append(table_of(SCHEMA, dict(zip(SCHEMA.names, columns, strict=True))))
    write_parquet(pa.concat_tables(tables), target, job | origin(seeds, stream_paths))

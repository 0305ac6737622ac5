"""Populations: distributions of queries, from which samples of any size are drawn. Lists have equal
length.

A population is made for one number of features d. What it is (its best ranker, its thresholds) is
drawn once for a study; seeds draw samples only.
"""

import math

import numpy as np

from scant.data import stream as streams
from scant.errors import SettingError

DEVIATIONS = {"uniform": math.sqrt(1 / 3), "signs": 1.0}  # of an entry of the features
SCORES = 100_000  # from which thresholds of grades are set


class Population:
    """What all populations have.

    d : the number of features
    largest_grade : Y_max
    norm : R_X, the largest Euclidean norm of a document
    largest : the largest absolute value of a feature
    informative : how many features, the first ones, grades depend on; all others are symmetric
        noise
    best : shape (d,), the ranker, if it is the best for some surrogates
    best_for : these surrogates
    """

    d: int
    largest_grade: int
    norm: float
    largest: float
    informative: int
    best: np.ndarray | None = None
    best_for: tuple[str, ...] = ()

    def draw(self, random: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Features, float32 (n, m, d), and grades, int16 (n, m), of n queries with m documents
        each.
        """
        raise NotImplementedError


class Linear(Population):
    """Grades are a noisy linear score, cut at thresholds; features are independent and symmetric.

    The score of a document is the ranker's, standardised, plus `variation` times the score of a
    Gaussian ranker drawn for each query, standardised, plus `noise` times a standard Gaussian.
    Half of the documents have grade 0, half of the others grade 1, and so on, and the last grade
    has the rest.

    Parameters
    ----------
    random : draws the ranker
    d : the number of features
    grades : the largest grade
    entries : the distribution of features: uniform on [-1, 1], or signs (-1 or 1)
    informative : how many features, the first ones, the ranker looks at; None for all
    distinct : how many different documents a query has; its list is drawn from them with
        replacement. None for m documents, which are all in the list
    """

    def __init__(
        self,
        random: np.random.Generator,
        d: int,
        grades: int = 4,
        noise: float = 1.0,
        variation: float = 0.0,
        entries: str = "uniform",
        informative: int | None = None,
        distinct: int | None = None,
    ):
        self.d, self.largest_grade, self.entries, self.distinct = d, grades, entries, distinct
        self.noise, self.variation = noise, variation
        self.informative = d if informative is None else informative
        self.norm, self.largest = math.sqrt(d), 1.0
        self.ranker = random.standard_normal(self.informative)
        self.ranker /= np.linalg.norm(self.ranker) * DEVIATIONS[entries]
        self.spread = 1 / (math.sqrt(self.informative) * DEVIATIONS[entries])
        shares = 0.5 ** np.arange(1, grades + 1)  # P(grade > r), r = 0..grades-1
        sample = math.sqrt(1 + noise**2 + variation**2) * random.standard_normal(SCORES)
        self.thresholds = np.quantile(sample, 1 - shares)

    def draw(self, random, n, m):
        if self.distinct is None:
            return self._documents(random, n, m)
        features, grades = self._documents(random, n, self.distinct)
        rows = np.arange(n)[:, None], random.integers(0, self.distinct, (n, m))
        return features[rows], grades[rows]

    def _documents(self, random, n, m):
        """Features (n, m, d) and grades (n, m) of different documents."""
        # so that grades do not depend on how many features are noise
        labels, others = random.spawn(2)
        k, features = self.informative, np.empty((n, m, self.d), np.float32)
        features[..., :k] = _entries(labels, self.entries, (n, m, k))
        features[..., k:] = _entries(others, self.entries, (n, m, self.d - k))
        informative = features[..., :k]
        scores = informative @ self.ranker
        if self.variation:
            of_query = labels.standard_normal((n, k)) * self.spread
            scores += self.variation * np.einsum("nmk,nk->nm", informative, of_query)
        scores += self.noise * labels.standard_normal((n, m))
        return features, np.searchsorted(self.thresholds, scores).astype(np.int16)


class Separable(Population):
    """Grades are exactly the scores by one ranker, before a share of them moves up or down by one.

    The true grades are uniform on 1 to `grades` - 1. Features are independent and symmetric, but
    for what is added along the ranker so that the score is the grade. Without moves, squared loss,
    KL and RankSVM are 0 at the ranker, and ListNet is the entropy of softmax(y), its least value;
    with moves the ranker is the best for squared loss.

    Parameters
    ----------
    random : draws the ranker
    moves : the probability with which a grade moves, up or down alike
    length : the Euclidean norm of the ranker
    d, grades : see `Linear`
    decay : feature j is multiplied by j^(-decay / 2)
    """

    def __init__(
        self,
        random: np.random.Generator,
        d: int,
        grades: int = 4,
        moves: float = 0.0,
        length: float = 1.0,
        decay: float = 0.0,
    ):
        self.d, self.largest_grade, self.moves = d, grades, moves
        self.informative, self.scales = d, np.arange(1, d + 1) ** (-decay / 2)
        self.best_for = ("squared",) if moves else ("squared", "kl", "ranksvm", "listnet")
        direction = self.scales * np.where(random.random(d) < 0.5, -1.0, 1.0)
        self.best = length * direction / np.linalg.norm(direction)
        self.along = self.scales**2 * self.best / np.sum((self.scales * self.best) ** 2)
        reach = grades - 1 + np.sum(np.abs(self.scales * self.best))
        self.norm = float(np.linalg.norm(self.scales) + reach * np.linalg.norm(self.along))
        self.largest = float(np.max(self.scales + reach * np.abs(self.along)))

    def draw(self, random, n, m):
        grades = random.integers(1, self.largest_grade, (n, m))
        moved = random.random((n, m))
        features = _entries(random, "uniform", (n, m, self.d)) * self.scales.astype(np.float32)
        missing = grades - features @ self.best
        # now the score is the grade
        features += (missing[..., None] * self.along).astype(np.float32)
        grades = grades + (moved < self.moves / 2) - (moved > 1 - self.moves / 2)
        return features, grades.astype(np.int16)


class Lists(Population):
    """The queries of a stream, all equally likely, with lists cut or resampled to m documents.

    A query is drawn with replacement, so that samples are independent and what is best for the
    stream is best for the population. Of its documents m are drawn: without replacement ("cut"),
    from the queries that have `longest` documents or more, or with replacement ("resampled"), from
    all queries.

    Raises
    ------
    SettingError : no query has so many documents, or the stream has fewer features than d
    """

    def __init__(self, stream: streams.Stream, d: int, lists: str, longest: int):
        sizes = np.diff(stream.offsets)
        self.stream, self.lists = stream, lists
        self.queries = np.flatnonzero(sizes >= (longest if lists == "cut" else 1))
        if not len(self.queries):
            raise SettingError(
                f"m is {longest}, and the longest list of the stream has {sizes.max()} documents: "
                "lower m, or set lists: resampled"
            )
        if d > stream.features.shape[1]:
            raise SettingError(f"d is {d}, and the stream has {stream.features.shape[1]} features")
        self.d = self.informative = d
        self.largest_grade = max(1, stream.metadata["largest_grade"])
        features = stream.features[:, :d]
        self.largest = float(max(features.max(), -features.min()))
        # In blocks, since squares of all features would take twice the memory of the features.
        squares = (
            np.square(block, dtype=np.float64).sum(axis=1).max() for block in _blocks(features)
        )
        self.norm = math.sqrt(max(squares))

    def draw(self, random, n, m):
        places, draws = random.spawn(2)  # apart, so that fewer queries are the beginning of more
        queries = self.queries[places.integers(0, len(self.queries), n)]
        starts, sizes = self.stream.offsets[queries], np.diff(self.stream.offsets)[queries]
        if self.lists == "cut":
            chosen = np.stack([draws.permutation(size)[:m] for size in sizes])
        else:
            chosen = (draws.random((n, m)) * sizes[:, None]).astype(np.int64)
        rows = starts[:, None] + chosen
        return self.stream.features[rows.ravel(), : self.d].reshape(
            n, m, self.d
        ), self.stream.grades[rows]


GENERATORS = {"linear": Linear, "separable": Separable}


def make(
    settings: dict, random: np.random.Generator, d: int | None, longest: int, stream=None
) -> Population:
    """The population with these settings of a study.

    random : draws what the population is
    d : the number of features; None for all that its stream has
    longest : the largest m that is drawn
    stream : the stream that a population of lists is made of; else None
    """
    if stream is not None:
        return Lists(
            stream, stream.features.shape[1] if d is None else d, settings["lists"], longest
        )
    return GENERATORS[settings["generator"]](random, d, **settings["settings"])


def _entries(random: np.random.Generator, kind: str, shape: tuple) -> np.ndarray:
    """Independent symmetric numbers, float32."""
    if kind == "signs":
        count = math.prod(shape)
        bits = np.unpackbits(np.frombuffer(random.bytes(-(-count // 8)), np.uint8), count=count)
        return (bits * np.float32(2) - np.float32(1)).reshape(shape)
    return random.random(shape, np.float32) * np.float32(2) - np.float32(1)


def _blocks(features: np.ndarray, rows: int = 100_000):
    return (features[start : start + rows] for start in range(0, len(features), rows))

"""Simulated streams, where the truth is known, and ranking streams made from classification data.

Each function takes a NumPy generator and settings. It returns an iterator over queries, and the
ranker of norm 1 that ranks all of them rightly, or None if there is none.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from scant.data import stream
from scant.data.numbers import Refuse, plain, single, whole
from scant.data.stream import Query, gap
from scant.data.table_b1 import TWENTIETHS, VECTORS
from scant.declare.declarations import own
from scant.declare.own import making
from scant.errors import DataError
from scant.randomness import generator

Simulated = tuple[Iterator[Query], np.ndarray | None]


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def separable(
    random: np.random.Generator,
    queries: int = 1000,
    documents: int = 20,
    features: int = 20,
    grades: int = 4,
    margin: float = 1.0,
) -> Simulated:
    """A random ranker of norm 1 separates all grades (Figure 2.1; perceptron paper, section 8).

    Grades are uniform. A document is standard Gaussian around the mean of its grade, itself
    standard Gaussian; along the ranker it is `margin * (grade + u)` instead, with u uniform on [0,
    0.2). So neighbouring grades are at least 0.8 margins apart.
    """
    ranker = _unit(random.standard_normal(features))
    means = random.standard_normal((grades + 1, features))

    def draw() -> Iterator[Query]:
        for query in range(queries):
            grade = random.integers(0, grades + 1, documents)
            x = means[grade] + random.standard_normal((documents, features))
            along = margin * (grade + random.uniform(0, 0.2, documents))
            yield query, grade, x + np.outer(along - x @ ranker, ranker)

    return draw(), ranker


def released_code(
    random: np.random.Generator, queries: int = 1000, features: int = 10
) -> Simulated:
    """The authors' released code: separable.

    A query has 3, 3, 4, 5 and 5 documents of the grades 4 to 0, with features N(mu, 1), mu = 7, 5,
    3, 1 and -1, drawn until their sums put neighbouring grades more than 1 apart.
    """
    grade = np.repeat([4, 3, 2, 1, 0], [3, 3, 4, 5, 5])
    means = np.array([-1.0, 1.0, 3.0, 5.0, 7.0])[grade]

    def draw() -> Iterator[Query]:
        for query in range(queries):
            while True:
                x = means[:, None] + random.standard_normal((len(grade), features))
                if gap(x.sum(axis=1), grade) > 1:
                    break
            yield query, grade, x

    return draw(), _unit(np.ones(features))


def linear(
    random: np.random.Generator,
    queries: int = 1000,
    documents: int = 20,
    features: int = 50,
    grades: int = 4,
    noise: float = 1.0,
    relevant: float = 0.5,
) -> Simulated:
    """No linear ranker is faultless.

    Features are uniform on [0, 1]. The score of a random ranker, standardised, plus `noise` times a
    standard Gaussian, is cut at thresholds: `relevant * 2^-r` of the documents are above grade r.
    """
    ranker = _unit(random.standard_normal(features))
    deviation = np.sqrt(1 / 12)  # of a number uniform on [0, 1]
    shares = relevant * 0.5 ** np.arange(grades)  # P(grade > r), r = 0..grades-1
    sample = np.sqrt(1 + noise**2) * np.sort(random.standard_normal(100_000))
    thresholds = np.quantile(sample, 1 - shares)

    def draw() -> Iterator[Query]:
        for query in range(queries):
            x = random.random((documents, features), np.float32)
            score = (x @ ranker - ranker.sum() / 2) / deviation + noise * random.standard_normal(
                documents
            )
            yield query, np.searchsorted(thresholds, score), x

    return draw(), None


def indistinguishable(random: np.random.Generator, distribution: str = "first") -> Simulated:
    """Two distributions with equal means and different best rankings, which grades on top do not
    tell apart (thesis, Table B.1).

    Three documents have unit vectors as features; 20 queries hold the table's grades in exact
    proportion.

    distribution : "first" or "second"
    """
    vectors = [
        v for v, count in zip(VECTORS, TWENTIETHS[distribution], strict=True) for _ in range(count)
    ]

    def draw() -> Iterator[Query]:
        for query, vector in enumerate(vectors):
            yield query, np.array(vector), np.eye(3)

    return draw(), None


def two_groups(
    random: np.random.Generator,
    queries: int = 1000,
    documents: int = 20,
    features: int = 10,
    grades: int = 4,
    cosine: float = -1.0,
) -> Simulated:
    """Grades on top can hide the better ranker.

    A query has three fair documents (grade 1, features u), a good one (the highest grade, features
    v) and others of grade 0 with features 0, all with noise of standard deviation 0.1; u and v are
    unit vectors with this `cosine`. Over all documents v is the better direction; where the cosine
    is -1, a ranker with the fair ones on top sees nothing that says so.
    """
    u, other = np.linalg.qr(random.standard_normal((features, 2)))[0].T
    means = np.zeros((documents, features))
    means[:3], means[3] = u, cosine * u + np.sqrt(1 - cosine**2) * other
    grade = np.array([1, 1, 1, grades, *[0] * (documents - 4)])

    def draw() -> Iterator[Query]:
        for query in range(queries):
            yield query, grade, means + 0.1 * random.standard_normal(means.shape)

    return draw(), None


def levels(
    random: np.random.Generator,
    queries: int = 1000,
    documents: int = 20,
    features: int = 10,
    level: float = 0.8,
) -> Simulated:
    """A feature that raises the grade within a query, and whose level in the query lowers it.

    The first feature is w + z, with w of the document and z of its query; the others tell nothing.
    The grade is 0.8 w - `level` z + 0.3 e + 2, rounded down and cut to 0 to 4. All of these are
    standard Gaussians. Within each query the first feature ranks best; over all documents a
    regression of grades gives it a weight that `level` lowers: to 0 at 0.8, and below 0 beyond.
    """

    def draw() -> Iterator[Query]:
        for query in range(queries):
            x = random.standard_normal((documents, features))
            z, noise = random.standard_normal(), random.standard_normal(documents)
            grade = np.floor(0.8 * x[:, 0] - level * z + 0.3 * noise + 2).clip(0, 4)
            x[:, 0] += z
            yield query, grade.astype(np.int16), x

    return draw(), None


def retrieval(
    random: np.random.Generator,
    x: np.ndarray,
    labels: np.ndarray,
    queries: int = 1000,
    documents: int = 20,
) -> Simulated:
    """A ranking stream from classification data: documents of the query's class are relevant.

    A query is a random row. Of its documents, Binomial(documents, 1/4) are other rows of its class
    and have grade 1; the rest are rows of other classes and have grade 0. All are drawn without
    replacement. A document's features are -|x - query|, feature by feature, after each feature has
    been scaled to [0, 1].

    x : float32 (rows x features)
    labels : (rows), the class of each row
    """
    low, high = x.min(axis=0), x.max(axis=0)
    x = (x - low) / np.where(high > low, high - low, 1)  # constant features become 0
    classes = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    if len(classes) < 2 or min(map(len, classes.values())) <= documents:
        raise ValueError(
            f"retrieval of {documents} documents needs two classes or more, each of more than "
            f"{documents} rows"
        )

    def draw() -> Iterator[Query]:
        for query in range(queries):
            row = random.integers(len(x))
            same_class = classes[labels[row]]
            relevant = random.choice(
                same_class[same_class != row], random.binomial(documents, 0.25), replace=False
            )
            others = random.choice(
                np.flatnonzero(labels != labels[row]), documents - len(relevant), replace=False
            )
            rows = np.r_[relevant, others]
            yield query, (labels[rows] == labels[row]).astype(np.int16), -np.abs(x[rows] - x[row])

    return draw(), None


GENERATORS = {
    "separable": separable,
    "released-code": released_code,
    "linear": linear,
    "indistinguishable": indistinguishable,
    "two-groups": two_groups,
    "levels": levels,
}


def draw(random: np.random.Generator, settings: dict) -> Simulated:
    """Draw a stream with these settings, by a generator of this project or by the user's own
    function.
    """
    named = settings["generator"]
    if ":" not in named:
        return GENERATORS[named](random, **settings["settings"])
    with making(f"{named} does not return queries, and a ranker or None"):
        queries, ranker = own(named, "generator", "function")(random, **settings["settings"])
    ranker = None if ranker is None else _checked_ranker(named, ranker)
    return _checked(named, queries, ranker), ranker


def _drawn(named: str, queries: Iterable) -> Iterator:
    with making(f"{named} cannot draw queries"):
        yield from queries


def _checked(named: str, queries: Iterable, ranker: np.ndarray | None) -> Iterator[Query]:
    """The queries that the user's function `named` draws, in the project's types."""
    ids = set()
    for number, drawn in enumerate(_drawn(named, queries), 1):
        try:
            query, grades, features = drawn
            query, grades, features = plain([query]), plain(grades), plain(features)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(
                named, f"query {number} is not (id, grades, features) ({error})"
            ) from error
        if features.ndim != 2 or not features.size or grades.shape != (len(features),):
            shapes = f"grades of shape {grades.shape} and features of shape {features.shape}"
            raise DataError(named, f"query {number} has {shapes}; (m,) and (m, d) are expected")
        where = f"query {number}"
        [id] = whole(
            query, np.iinfo(np.int64).max, _refusing(named, f"the id of {where}", query)
        ).tolist()
        if id in ids:
            raise DataError(named, f"{where} has the id {id}, as an earlier one has")
        ids.add(id)
        grades = whole(
            grades, stream.LARGEST_GRADE, _refusing(named, f"a grade of {where}", grades)
        )
        features = single(features, _refusing(named, f"a feature of {where}", features))
        if ranker is not None and not (
            features.shape[1] == len(ranker) and gap(features @ ranker, grades) > 0
        ):
            raise DataError(
                named, f"the ranker does not separate the grades of {where}", advice="Give None"
            )
        yield id, grades.astype(np.int16), features


def _refusing(named: str, what: str, values: np.ndarray) -> Refuse:
    """A function (bad, reason) that raises a DataError for the first of `values` that is bad, if
    any. Values that are no numbers raise it at once.
    """

    def refuse(bad: np.ndarray, reason: str) -> None:
        if bad.any():
            raise DataError(named, f"{what} {reason.format(values[bad][0])}")

    if values.dtype.kind not in "biuf":
        raise DataError(named, f"{what} has the type {values.dtype}; numbers are expected")
    return refuse


def _checked_ranker(named: str, ranker) -> np.ndarray:
    """The ranker of the user's function `named`; a DataError unless it is weights of norm 1."""
    try:
        weights = plain(ranker).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise DataError(named, f"the ranker is no weights, and not None ({error})") from error
    if weights.ndim != 1 or not abs(np.linalg.norm(weights) - 1) < 1e-6:
        reason = f"the ranker has shape {weights.shape} and norm {np.linalg.norm(weights):g}"
        raise DataError(named, f"{reason}; weights (d) of norm 1 are expected, or None")
    return weights


def simulate(name: str, settings: dict, target, study_seed: int, seed: int) -> None:
    """Draw the simulated stream `name` and write its file; streams of different seeds are
    independent.

    settings : the stream's settings in the study
    target : the file to write
    """
    random_name = stream.random_name(name, settings)
    random = generator(study_seed, "stream", random_name, seed)
    queries, ranker = draw(random, settings)
    scaling = settings.get("features", "as-is")
    shuffle = generator(study_seed, "documents", random_name, seed)
    arranged = stream.arrange(queries, shuffle, scaling, settings["documents"])
    metadata = {"stream": name, "seed": seed, "settings": settings, "features_reading": scaling}
    stream.write(target, arranged, metadata, ranker if scaling == "as-is" else None)

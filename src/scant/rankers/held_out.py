"""Rankers that have seen every grade of the other queries: how well new queries can be ranked.

Boosted trees are the ceiling; the best linear ranker shows how near a linear model comes. What a
linear learner is behind that ranker is the price of its feedback, and of learning as it goes.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting
from scant.errors import SettingError
from scant.measures import rank
from scant.rankers import learners
from scant.rankers.learners import Contextual

FOLDS = 5
ENOUGH = 1e-6  # the gap of the linear ranker's cross entropy, as a share of it
NEEDED = (
    "boosted trees need LightGBM, which is optional: pip install 'scant[trees]'. Or leave such "
    "learners out"
)
TREES = 100  # LightGBM's default, as all that is not set here
SETTINGS = {"deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}

MODEL = Setting(
    "model",
    {"enum": ["trees", "linear"]},
    about="What is fitted to every grade of the other queries: boosted trees (LightGBM's "
    "lambdarank), or the linear ranker with the least cross entropy of ListNet in the ball.",
    absent="trees",
)


@dataclass(frozen=True)
class Settings(learners.Settings):
    """The settings by which a held-out ranker plays.

    model : "trees" or "linear"
    radius : U, of the ball that the linear ranker's weights are in
    """

    model: str = "trees"
    radius: float = 1.0


class HeldOut(Contextual):
    """Ranks each query by a model that was fitted, before the first round, to every grade of other
    queries.

    The stream's queries are parted into `FOLDS` folds at random, queries with the same documents
    into the same one. Each fold is scored by the model of the others.
    """

    kind = "held-out"
    about = (
        "Ranks each query by a model fitted to every grade of the other queries, in five "
        "folds: a ceiling."
    )
    settings = (MODEL,)
    looks: ClassVar = {"": Look("#000000", "P")}
    heeds = ("radius",)
    branch = 6
    learns = False
    neutral = True

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        options = asdict(super().complete_settings({"kind": cls.kind}, readings, facts))
        return Settings(
            **options, model=entry.get("model", MODEL.absent), radius=float(readings["radius"])
        )

    @classmethod
    def check(cls, settings) -> None:
        if settings.get("model", MODEL.absent) == "trees":
            check_lightgbm()

    def fit(self, stream) -> None:
        """Fit a model for each fold, to the queries of the other folds.

        Raises
        ------
        SettingError : there are fewer than two queries that differ, or LightGBM is missing
        """
        of_queries = [_documents(stream[q][0]) for q in range(len(stream))]
        # in the order of the stream; that of a set differs from run to run
        distinct = list(dict.fromkeys(of_queries))
        if len(distinct) < 2:
            raise SettingError(
                "held-out needs queries that differ, to learn from some and to rank the others"
            )
        fold_of = dict(zip(distinct, self.random.permutation(len(distinct)) % FOLDS, strict=True))
        folds, fitted = (
            np.array([fold_of[documents] for documents in of_queries]),
            MODELS[self.setup.model],
        )
        models = {
            fold: fitted(stream, folds != fold, self.setup.radius) for fold in np.unique(folds)
        }
        self.models = {documents: models[fold] for documents, fold in fold_of.items()}

    def scores(self, features, weights=None) -> np.ndarray:
        """The scores of a query's documents by the model that did not see them: float32 (m)."""
        return self.models[_documents(features)](features).astype(np.float32)

    def rank(self, features) -> np.ndarray:
        return rank(self.scores(features))

    def loop(self, stream, records):
        self.fit(stream)
        places = np.empty_like(stream.grades)
        for q, (start, end) in enumerate(pairwise(stream.offsets)):
            # Scores, which the loop sorts by: the first place has the largest.
            places[start:end][self.rank(stream[q][0])] = np.arange(end - start, 0, -1)
        places.flags.writeable = False  # the loop is compiled for read-only arrays
        loop, arguments = super().loop(stream, records)
        return loop, arguments | {"labels": places}


def _documents(features: np.ndarray) -> bytes:
    """A hash of a query's documents, whatever their order."""
    return blake2b(b"".join(sorted(row.tobytes() for row in features)), digest_size=16).digest()


def _linear(stream, queries: np.ndarray, radius: float) -> Callable:
    """The weights with the least cross entropy of ListNet over some queries, as a function from
    features to scores.

    queries : bool (queries)
    """
    from scant.kernels.top import LISTNET  # which needs Numba, as the other does
    from scant.rankers.minimum import Total, minimise

    total = Total(stream, LISTNET, queries.astype(np.int64))
    weights, _, _ = minimise(total, np.zeros(stream.features.shape[1]), radius, ENOUGH)
    return lambda features: features @ weights


def _trees(stream, queries: np.ndarray, radius: float) -> Callable:
    """Boosted trees (LambdaMART, with LightGBM's defaults) fitted to some queries, as a function
    from features to scores.
    """
    lightgbm = loaded_lightgbm()
    sizes = np.diff(stream.offsets)
    documents = np.repeat(queries, sizes)
    data = lightgbm.Dataset(
        stream.features[documents], stream.grades[documents], group=sizes[queries]
    )
    model = lightgbm.train({**SETTINGS, "objective": "lambdarank"}, data, TREES)
    return partial(model.predict, num_threads=1)


def check_lightgbm() -> None:
    """Raise a SettingError if LightGBM is not installed."""
    if find_spec("lightgbm") is None:
        raise SettingError(NEEDED)


def loaded_lightgbm():
    """The module `lightgbm`.

    Raises
    ------
    SettingError : it is missing, or a library of the system that it needs, such as OpenMP's
    """
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        raise SettingError(f"{NEEDED} ({error})") from None
    return lightgbm


MODELS = {"trees": _trees, "linear": _linear}
LEARNERS = {HeldOut.kind: HeldOut}

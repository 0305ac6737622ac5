"""Rankers that have seen every grade of the other queries: what a ranking of queries that are new can reach.

Boosted trees are the ceiling; the best linear ranker tells how much of the way there is a linear model's, and what a
linear learner loses against it is the price of its feedback, and of learning as it goes.
"""

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from scant.declared import Look, Setting
from scant.errors import SettingError
from scant.measures import rank
from scant.online import learners
from scant.online.learners import Contextual

FOLDS = 5
ENOUGH = 1e-6  # the gap of the linear ranker's cross entropy, as a share of it
TREES = 100  # LightGBM's default, as all that is not set below
SETTINGS = {"objective": "lambdarank", "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}
NEEDED = "model: trees needs LightGBM, which is optional: pip install 'scant[trees]'. Or use model: linear"

MODEL = Setting(
    "model",
    {"enum": ["trees", "linear"]},
    about="What is fitted to every grade of the other queries: boosted trees (LightGBM's lambdarank), or the linear "
    "ranker with the least cross entropy of ListNet in the ball.",
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
    """Ranks each query by a model that was fitted, before the first round, to every grade of other queries.

    The stream's queries are parted into `FOLDS` folds at random, queries with the same documents and grades into the
    same one. Each fold is scored by the model of the others.
    """

    kind = "held-out"
    about = "Ranks each query by a model fitted to every grade of the other queries, in five folds: a ceiling."
    settings = (MODEL,)
    looks: ClassVar = {"": Look("#000000", "P")}
    heeds = ("radius",)
    branch = 6
    learns = False
    neutral = True

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        options = asdict(super().complete_settings({"kind": cls.kind}, readings, facts))
        return Settings(**options, model=entry.get("model", MODEL.absent), radius=float(readings["radius"]))

    @classmethod
    def check(cls, settings) -> None:
        if settings.get("model", MODEL.absent) == "trees" and find_spec("lightgbm") is None:
            raise SettingError(NEEDED)

    def fit(self, stream) -> np.ndarray:
        """The score of each document of the stream by the model that did not see its query: float32 (documents).

        Raises
        ------
        SettingError : there are fewer than two queries that differ, or LightGBM is missing
        """
        contents = [
            (features.tobytes(), grades.tobytes()) for features, grades in map(stream.__getitem__, range(len(stream)))
        ]
        distinct = {content: number for number, content in enumerate(dict.fromkeys(contents))}
        if len(distinct) < 2:
            raise SettingError("held-out needs queries that differ, to learn from some and to rank the others")
        fold_of = self.random.permutation(len(distinct)) % FOLDS
        folds = np.array([fold_of[distinct[content]] for content in contents])
        sizes, scores = np.diff(stream.offsets), np.empty(len(stream.grades), np.float32)
        model = _linear if self.setup.model == "linear" else _trees
        for fold in np.unique(folds):
            scored = np.repeat(folds == fold, sizes)
            scores[scored] = model(stream, folds != fold, scored, self.setup.radius)
        self.scores_of = {content[0]: scores[slice(*stream.offsets[q : q + 2])] for q, content in enumerate(contents)}
        return scores

    def rank(self, features) -> np.ndarray:
        """The ranking by the scores of `fit`."""
        return rank(self.scores_of[features.tobytes()])

    def loop(self, stream, records):
        scores, places = self.fit(stream), np.empty_like(stream.grades)
        for start, end in zip(stream.offsets[:-1], stream.offsets[1:], strict=True):
            places[start:end][rank(scores[start:end])] = np.arange(end - start, 0, -1)
        places.flags.writeable = False
        loop, arguments = super().loop(stream, records)
        return loop, arguments | {"labels": places}


def _linear(stream, fitted: np.ndarray, scored: np.ndarray, radius: float) -> np.ndarray:
    """The scores of some documents by the weights with the least cross entropy of ListNet over some queries.

    fitted : bool (queries); scored : bool (documents)
    """
    from scant.kernels.top import LISTNET  # which needs Numba, as the other does
    from scant.online.minimum import Total, minimise

    total = Total(stream, LISTNET, fitted.astype(np.int64))
    weights, _, _ = minimise(total, np.zeros(stream.features.shape[1]), radius, ENOUGH)
    return stream.features[scored] @ weights


def _trees(stream, fitted: np.ndarray, scored: np.ndarray, radius: float) -> np.ndarray:
    """The same by boosted trees, LambdaMART with LightGBM's defaults."""
    try:
        import lightgbm
    except (ImportError, OSError) as error:  # OSError: a library of the system that it needs, such as OpenMP's
        raise SettingError(f"{NEEDED} ({error})") from None
    sizes = np.diff(stream.offsets)
    seen = np.repeat(fitted, sizes)
    data = lightgbm.Dataset(stream.features[seen], stream.grades[seen], group=sizes[fitted])
    return lightgbm.train(SETTINGS, data, TREES).predict(stream.features[scored], num_threads=1)


LEARNERS = {HeldOut.kind: HeldOut}

"""Saved policies: an Arrow file of numbers, with settings as JSON in its metadata.

Loading one runs no code. Its seal tells a damaged file.
"""

import math
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.ads import run
from scant.bandits import learners, scorers
from scant.bandits.forests import Trees
from scant.bandits.policies import MEASURES
from scant.errors import DataError, SettingError
from scant_ads.policies import learning
from scant_ads.policies.encoding import Encoder, encoded_names

KIND = "ads policy"  # `kind` in the metadata of a saved policy
VERSION = 2
READ = (1, VERSION)  # files of version 1 say more than is needed
LARGEST = float(np.finfo(np.float32).max)  # of a number: features have single precision
TREES = {  # the arrays of forests, their types, and the least number
    "roots": (np.int64, 0),
    "left": (np.int32, -1),
    "right": (np.int32, -1),
    "feature": (np.int32, 0),
    "threshold": (float, -LARGEST),
    "value": (float, -LARGEST),
}
LINEAR = ("logistic", "auc-ranker")  # kinds whose scorers are weights and an intercept


def save(policy, path) -> None:
    """Write a fitted policy as an Arrow file, whole or not at all."""
    check_kind(policy)
    learnt = policy._required()
    fit, encoder = learnt.fitted, learnt.encoder
    model = fit.model
    arrays = {
        "centre": model.centre,
        "width": model.width,
        "seen": fit.seen.astype(np.int64),
        "lacking": encoder.lacking.astype(np.int64),
        "medians": encoder.medians,
    }
    arrays |= {
        f"place {index}": place.astype(np.int64)
        for index, place in enumerate(encoder.places.values())
    }
    arrays |= {f"threshold {by}": values for by, values in model.thresholds.items()}
    arrays |= _arrays(model)
    settings = policy.get_params(deep=False)
    described = {
        "kind": KIND,
        "version": VERSION,
        "settings": settings | {"lambdas": list(map(float, settings["lambdas"]))},
        "names": encoder.names,
        "texts": {name: list(texts) for name, texts in encoder.texts.items()},
        "actions": model.actions,
        "untrained": model.untrained,
        "lists": learnt.lists,
        "regularisation": None if math.isnan(fit.regularisation) else fit.regularisation,
    }
    columns = {name: pa.array([values.ravel()]) for name, values in arrays.items()}
    table = pa.table(columns).replace_schema_metadata(files.encoded(described))
    with files.atomic(path) as temporary:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        files.seal(temporary)


def check_kind(policy) -> None:
    """Raise a SettingError for a policy that cannot be saved, whatever it learns: one by a model of
    the user's own.
    """
    if not isinstance(policy.kind, str):
        raise SettingError(
            f"a policy that scores by {policy.name} cannot be saved: a file of it would have to "
            "hold code, as pickle does, which runs when it is loaded. Use one of "
            f"{', '.join(learning.LEARNT)}, or keep the model by its own means"
        )


def load(path, names: Collection) -> tuple[dict, learning.Learnt]:
    """Read the policy that `save` wrote: its settings, which have these names, and what it has
    learnt.

    Raises
    ------
    DataError : there is no such file; or its parts do not fit each other, as those of a fitted
        policy do
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with files.foreign(path, "saved policy", "Learn it again, by `scant ads fit`"):
        files.check_seal(path)
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            table = reader.read_all()
            table.validate(full=True)
        described = files.metadata_of(table.schema)
        if described.get("kind") != KIND or described.get("version") not in READ:
            raise ValueError(f"it holds something else than version {VERSION} of one")
        arrays = {
            name: column.chunk(0).flatten().to_numpy().copy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        settings = described["settings"]
        _require(settings.keys() == {*names}, "settings")
        settings |= {"lambdas": tuple(settings["lambdas"])}
        return settings, _learnt(arrays, described)


def _learnt(arrays: dict[str, np.ndarray], described: dict) -> learning.Learnt:
    """What a policy has learnt, from the arrays and the metadata of its file.

    A ValueError for a part that does not fit the others.
    """
    encoder, settings = _encoder(arrays, described), described["settings"]
    actions, untrained = (_texts(described, key) for key in ("actions", "untrained"))
    _require(actions and {*untrained} <= {*actions}, "actions")
    _require(isinstance(described["lists"], str), "lists")
    learner, value = learners.KINDS[settings["kind"]], described["regularisation"]
    _require(learner.learns, "kind")
    _require(value in (settings["lambdas"] if learner.regularised else (None,)), "regularisation")
    seen = _ascending(arrays, "seen", len(encoder.encoded))
    ads, d = len(actions), len(seen)
    centre = _array(arrays, "centre", np.float32, (d,))
    width = _array(arrays, "width", np.float32, (d,), np.finfo(np.float32).tiny)
    thresholds = {
        by: _array(arrays, f"threshold {by}", float, (ads,)) for by in MEASURES if learner.ranker
    }
    empty = scorers.Model(learner.kind, actions, centre, width, untrained, thresholds=thresholds)
    model = _restored(empty, arrays, value or 1.0)
    fit = run.Fit(model, seen, settings["threshold"], math.nan if value is None else value)
    return learning.Learnt(encoder, fit, described["lists"])


def _encoder(arrays: dict[str, np.ndarray], described: dict) -> Encoder:
    """The encoder of a policy's features."""
    names = _texts(described, "names")
    texts = {name: _texts(described["texts"], name) for name in described["texts"]}
    _require([*texts] == [name for name in names if name in texts], "texts")
    numeric = np.array([index for index, name in enumerate(names) if name not in texts], int)
    lacking = _ascending(arrays, "lacking", len(names))
    medians = _array(arrays, "medians", np.float32, numeric.shape)
    places, start, columns = {}, len(numeric) + len(lacking), []
    for index, (name, labels) in enumerate(texts.items()):
        place = places[name] = _array(arrays, f"place {index}", np.int64, (len(labels) + 1,), -1)
        columns += [column for column in (*place[place != place[-1]], place[-1]) if column >= 0]
    _require(columns == [*range(start, start + len(columns))], "places")
    encoded = encoded_names(names, texts, numeric, lacking, places)
    return Encoder(names, texts, numeric, lacking, medians, places, encoded)


def _texts(described: dict, key: str) -> tuple[str, ...]:
    """A list of the metadata, of texts that differ."""
    texts = described[key]
    _require(isinstance(texts, list) and all(isinstance(text, str) for text in texts), key)
    _require(len({*texts}) == len(texts), key)
    return tuple(texts)


def _array(
    arrays: dict[str, np.ndarray], name: str, kind, shape: tuple, low=-LARGEST
) -> np.ndarray:
    """An array of this name, of numbers of this type that are `low` or more."""
    values = arrays[name]
    # no comparison holds of NaN
    sound = values.dtype == kind and ((values >= low) & (values <= LARGEST)).all()
    _require(sound and len(values) == math.prod(shape), name)
    return values.reshape(shape)


def _ascending(arrays: dict[str, np.ndarray], name: str, end: int) -> np.ndarray:
    """An array of indices below `end`, in order."""
    indices = _array(arrays, name, np.int64, arrays[name].shape, 0)
    _require((np.diff(indices, append=end) > 0).all(), name)
    return indices


def _require(sound, part: str) -> None:
    """Raise a ValueError unless a part of a saved policy is sound."""
    if not sound:
        raise ValueError(f"its part {part!r} does not fit the others")


# --- models


def _arrays(model: scorers.Model) -> dict[str, np.ndarray]:
    """The numbers of a model, by name."""
    d = len(model.centre)
    if model.kind in LINEAR:
        weights = [np.zeros(d) if scorer is None else scorer.weights for scorer in model.scorers]
        intercepts = [0.0 if scorer is None else scorer.intercept for scorer in model.scorers]
        return {"weights": np.array(weights), "intercepts": np.array(intercepts, float)}
    if model.kind == "forest":
        empty = Trees(*(np.zeros(0, kind) for kind, _ in TREES.values()))
        forests = [empty if scorer is None else scorer.forest for scorer in model.scorers]
        counts = {
            "nodes": np.array([len(forest.left) for forest in forests]),
            "trees": np.array([len(forest.roots) for forest in forests]),
        }
        return counts | {
            name: np.concatenate([getattr(forest, name) for forest in forests]) for name in TREES
        }
    if model.kind == "cost-sensitive-oaa":
        regression = model.whole.regression
        return {
            "weights": np.asarray(regression.coef_).reshape(-1, d),
            "intercepts": np.asarray(regression.intercept_).reshape(-1),
        }
    tree = model.whole
    fixed = [int(referee) if isinstance(referee, bool) else -1 for _, _, referee in tree.matches]
    referees = [None if isinstance(referee, bool) else referee for _, _, referee in tree.matches]
    return {
        "fixed": np.array(fixed, np.int64),
        "sides": np.array([(left, right) for left, right, _ in tree.matches], np.int64).reshape(-1),
        "weights": np.array(
            [np.zeros(d) if referee is None else referee.weights for referee in referees]
        ).reshape(-1),
        "intercepts": np.array(
            [0.0 if referee is None else referee.intercept for referee in referees]
        ),
    }


def _restored(
    model: scorers.Model, arrays: dict[str, np.ndarray], regularisation: float
) -> scorers.Model:
    """The model with its scorers, or its learner of the whole log."""
    trained = ~model._untrained()
    ads, d = len(trained), len(model.centre)

    def made():
        return learners.made(model.kind, regularisation, {})

    if model.kind == "filter-tree":
        whole = made()
        whole.leaves = np.flatnonzero(trained).astype(np.int32)
        whole.matches = _matches(arrays, len(whole.leaves), d)
        return replace(model, whole=whole)
    if model.kind == "forest":
        forests = _forests(arrays, trained, d)
    else:
        weights = _array(arrays, "weights", float, (ads, d))
        intercepts = _array(arrays, "intercepts", float, (ads,))
    if model.kind == "cost-sensitive-oaa":
        from sklearn.linear_model import Ridge

        whole = made()
        whole.regression = Ridge()
        whole.regression.coef_, whole.regression.intercept_ = weights, intercepts
        whole.regression.n_features_in_ = d
        return replace(model, whole=whole)
    ad_scorers = [made() if learnt else None for learnt in trained]
    for ad in np.flatnonzero(trained):
        if model.kind == "forest":
            ad_scorers[ad].forest = forests[ad]
        else:
            ad_scorers[ad].weights = weights[ad]
            ad_scorers[ad].intercept = float(intercepts[ad])
    return replace(model, scorers=tuple(ad_scorers))


def _matches(arrays: dict[str, np.ndarray], leaves: int, d: int) -> tuple:
    """The matches of a filter tree with so many leaves, from features of length d."""
    count = max(leaves - 1, 0)
    fixed = _array(arrays, "fixed", np.int64, (count,), -1)
    _require((fixed < 2).all(), "fixed")
    sides = _array(arrays, "sides", np.int64, (count, 2), 0)
    # each player but the last winner plays once more, and is known by then
    _require(len({*sides.ravel()}) == 2 * count, "sides")
    _require((sides < leaves + np.arange(count)[:, None]).all(), "sides")
    weights = _array(arrays, "weights", float, (count, d))
    intercepts = _array(arrays, "intercepts", float, (count,))
    referees = [
        bool(always) if always >= 0 else learners.Referee(of_match, float(intercept))
        for always, of_match, intercept in zip(fixed, weights, intercepts, strict=True)
    ]
    return tuple(zip(*sides.T.tolist(), referees, strict=True))


def _forests(arrays: dict[str, np.ndarray], trained: np.ndarray, d: int) -> list[Trees]:
    """The forest of each ad, from features of length d; those of ads that are not trained have no
    tree.

    A ValueError for trees in which compiled code, which checks no bounds, would leave the arrays or
    go in circles.
    """
    trees, nodes = (_array(arrays, name, np.int64, trained.shape, 0) for name in ("trees", "nodes"))
    _require(((trees > 0) == trained).all(), "trees")
    parts = {}
    for name, (kind, low) in TREES.items():
        counts = trees if name == "roots" else nodes
        part = _array(arrays, name, kind, (counts.sum(),), low)
        parts[name] = np.split(part, np.cumsum(counts)[:-1])
    forests = [Trees(*of_ad) for of_ad in zip(*parts.values(), strict=True)]
    for forest in forests:
        count, leaf = len(forest.left), forest.left < 0
        _require((forest.roots < count).all(), "roots")
        _require((forest.feature < d).all(), "feature")
        for children in (forest.left, forest.right):
            later = (children > np.arange(count)) & (children < count)
            _require(np.where(leaf, children < 0, later).all(), "left and right")
    return forests

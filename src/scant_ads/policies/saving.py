"""Saved policies: an Arrow file of numbers, with settings as JSON in its metadata.

Loading one runs no code. Its seal tells a damaged file.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.ads import run
from scant.bandits import learners, scorers
from scant.bandits.forests import Trees
from scant.bandits.policies import THRESHOLDS
from scant.errors import DataError, SettingError
from scant_ads.policies import learning
from scant_ads.policies.encoding import Encoder

KIND = "ads policy"  # `kind` in the metadata of a saved policy
VERSION = 1
TREES = {  # the arrays of forests, and their types
    "roots": np.int64,
    "left": np.int32,
    "right": np.int32,
    "feature": np.int32,
    "threshold": float,
    "value": float,
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
        "numeric": encoder.numeric.astype(np.int64),
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
        "encoded": encoder.encoded,
        "actions": model.actions,
        "untrained": model.untrained,
        "threshold": fit.threshold,
        "fitted_on": fit.fitted_on,
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


def load(path) -> tuple[dict, learning.Learnt]:
    """Read the policy that `save` wrote: its settings, and what it has learnt."""
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with files.foreign(path, "saved policy", "Learn it again, by `scant ads fit`"):
        files.check_seal(path)
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            table = reader.read_all()
            table.validate(full=True)
        described = files.metadata_of(table.schema)
        if (described.get("kind"), described.get("version")) != (KIND, VERSION):
            raise ValueError(f"it holds something else than version {VERSION} of one")
        arrays = {
            name: column.chunk(0).flatten().to_numpy().copy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        return _learnt(arrays, described)


def _learnt(arrays: dict[str, np.ndarray], described: dict) -> tuple[dict, learning.Learnt]:
    """The settings of a policy, and what it has learnt, from the arrays and the metadata of its
    file.
    """
    names, encoded, actions, untrained = (
        tuple(described[key]) for key in ("names", "encoded", "actions", "untrained")
    )
    texts = {name: tuple(labels) for name, labels in described["texts"].items()}
    places = {name: arrays[f"place {index}"] for index, name in enumerate(texts)}
    numbers = (arrays[name] for name in ("numeric", "lacking", "medians"))
    settings = described["settings"] | {"lambdas": tuple(described["settings"]["lambdas"])}
    value = described["regularisation"]
    thresholds = {by: arrays[f"threshold {by}"] for by in THRESHOLDS if f"threshold {by}" in arrays}
    centre, width = arrays["centre"], arrays["width"]
    empty = scorers.Model(
        settings["kind"], actions, centre, width, untrained, thresholds=thresholds
    )
    model = _restored(empty, arrays, 1.0 if value is None else value)
    regularisation = math.nan if value is None else value
    fit = run.Fit(
        model, arrays["seen"], described["threshold"], regularisation, described["fitted_on"]
    )
    encoder = Encoder(names, texts, *numbers, places, encoded)
    return settings, learning.Learnt(encoder, fit, described["lists"])


# --- models


def _arrays(model: scorers.Model) -> dict[str, np.ndarray]:
    """The numbers of a model, by name."""
    d = len(model.centre)
    if model.kind in LINEAR:
        weights = [np.zeros(d) if scorer is None else scorer.weights for scorer in model.scorers]
        intercepts = [0.0 if scorer is None else scorer.intercept for scorer in model.scorers]
        return {"weights": np.array(weights), "intercepts": np.array(intercepts, float)}
    if model.kind == "forest":
        empty = Trees(*(np.zeros(0, kind) for kind in TREES.values()))
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
        "leaves": tree.leaves.astype(np.int64),
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
    ads, d = len(model.actions), len(model.centre)
    if model.kind == "forest":
        forests = _forests(arrays, d)
    else:
        weights, intercepts = arrays["weights"].reshape(-1, d), arrays["intercepts"]

    def made():
        return learners.made(model.kind, regularisation, {})

    if model.kind in (*LINEAR, "forest"):
        ad_scorers = [None] * ads
        for ad, action in enumerate(model.actions):
            if action in model.untrained:
                continue
            ad_scorers[ad] = made()
            if model.kind == "forest":
                ad_scorers[ad].forest = forests[ad]
            else:
                ad_scorers[ad].weights = weights[ad]
                ad_scorers[ad].intercept = float(intercepts[ad])
        return replace(model, scorers=tuple(ad_scorers))
    whole = made()
    if model.kind == "cost-sensitive-oaa":
        from sklearn.linear_model import Ridge

        whole.regression = Ridge()
        whole.regression.coef_, whole.regression.intercept_ = weights, intercepts
        whole.regression.n_features_in_ = d
    else:
        whole.leaves = arrays["leaves"].astype(np.int32)
        referees = [
            bool(fixed) if fixed >= 0 else learners.Referee(of_match, float(intercept))
            for fixed, of_match, intercept in zip(arrays["fixed"], weights, intercepts, strict=True)
        ]
        sides = arrays["sides"].reshape(-1, 2).tolist()
        whole.matches = tuple(
            (left, right, referee) for (left, right), referee in zip(sides, referees, strict=True)
        )
    return replace(model, whole=whole)


def _forests(arrays: dict[str, np.ndarray], d: int) -> list[Trees]:
    """The forest of each ad, from features of length d.

    A ValueError for trees in which compiled code, which checks no bounds, would leave the arrays or
    go in circles.
    """
    parts = {}
    for name, kind in TREES.items():
        counts = arrays["trees" if name == "roots" else "nodes"]
        parts[name] = np.split(arrays[name].astype(kind), np.cumsum(counts)[:-1])
    forests = [Trees(*of_ad) for of_ad in zip(*parts.values(), strict=True)]
    for forest in forests:
        node = np.flatnonzero(forest.left >= 0)
        ends = [len(getattr(forest, name)) for name in TREES if name != "roots"]
        children = forest.left[node], forest.right[node]
        sound = (
            min(ends) == max(ends)
            and np.all((forest.roots >= 0) & (forest.roots < ends[0]))
            and np.all((forest.feature >= 0) & (forest.feature < max(d, 1)))
            and all(((child > node) & (child < ends[0])).all() for child in children)
        )
        if not sound:
            raise ValueError("a tree that does not end")
    return forests

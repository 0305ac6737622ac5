"""Saved policies: an Arrow file of numbers, with settings as JSON in its metadata.

Loading one runs no code. Its seal tells a damaged file.
"""

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.ads import run
from scant.bandits import learners, scorers
from scant.bandits.forests import Trees
from scant.bandits.policies import MEASURES
from scant.errors import DataError, SettingError, errors_of
from scant_ads.policies import learning
from scant_ads.policies.encoding import Encoder, encoded_names

KIND = "ads policy"  # `kind` in the metadata of a saved policy
VERSION = 2
READ = (1, VERSION)  # files of version 1 say more than is needed
LARGEST = float(np.finfo(np.float32).max)  # of a number: features have single precision
TREES = tuple(part.name for part in fields(Trees))
NO_TREES = Trees(np.zeros(0, np.int64), *np.zeros((3, 0), np.int32), *np.zeros((2, 0)))
TYPES = dict.fromkeys(("centre", "width", "medians"), np.float32)  # of arrays; others are int64
TYPES |= dict.fromkeys(("left", "right", "feature"), np.int32)
TYPES |= dict.fromkeys(("weights", "intercepts", "threshold", "value"), np.float64)
LINEAR = ("logistic", "auc-ranker")  # kinds whose scorers are weights and an intercept


def save(policy, path) -> None:
    """Write a fitted policy as an Arrow file, whole or not at all."""
    check_kind(policy)
    arrays, described = _content(policy)
    columns = {name: pa.array([values]) for name, values in arrays.items()}
    metadata = files.encoded(described | {"kind": KIND, "version": VERSION})
    table = pa.table(columns).replace_schema_metadata(metadata)
    with files.atomic(path) as temporary:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        files.seal(temporary)


def _content(policy) -> tuple[dict[str, np.ndarray], dict]:
    """The contents of a policy's file: arrays of one dimension by name, and settings for JSON."""
    learnt, settings = policy._required(), policy.get_params(deep=False)
    fit, encoder, model = learnt.fitted, learnt.encoder, learnt.fitted.model
    arrays = {
        "centre": model.centre,
        "width": model.width,
        "seen": fit.seen,
        "lacking": encoder.lacking,
        "medians": encoder.medians,
    }
    arrays |= {f"place {index}": place for index, place in enumerate(encoder.places.values())}
    arrays |= {f"threshold {by}": values for by, values in model.thresholds.items()}
    arrays = {
        name: values.ravel().astype(TYPES.get(name.partition(" ")[0], np.int64))
        for name, values in (arrays | _arrays(model)).items()
    }
    described = {
        "settings": settings | {"lambdas": list(map(float, settings["lambdas"]))},
        "names": list(encoder.names),
        "texts": {name: list(texts) for name, texts in encoder.texts.items()},
        "actions": list(model.actions),
        "untrained": list(model.untrained),
        "lists": learnt.lists,
        "regularisation": None if math.isnan(fit.regularisation) else fit.regularisation,
    }
    return arrays, described


def check_kind(policy) -> None:
    """Raise a SettingError for a policy by a model of the user's own, which cannot be saved."""
    if not isinstance(policy.kind, str):
        raise SettingError(
            f"a policy that scores by {policy.name} cannot be saved: a file of it would have to "
            "hold code, as pickle does, which runs when it is loaded. Use one of "
            f"{', '.join(learning.LEARNT)}, or keep the model by its own means"
        )


def load(path, policy_class: type):
    """Read the policy that `save` wrote; saved again, it would give the same file.

    Raises
    ------
    DataError, SettingError : there is no such file, or it holds what `save` cannot have written
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with (
        errors_of(str(path)),
        files.foreign(path, "saved policy", "Learn it again, by `scant ads fit`"),
    ):
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
        policy = policy_class(**settings | {"lambdas": tuple(settings["lambdas"])})
        policy._checked()
        policy.learnt = _learnt(arrays, described)
        for part, stored in zip(_content(policy), (arrays, described), strict=True):
            for name, value in part.items():
                _require(_is_same(value, stored[name]), name)
        return policy


def _is_same(value, stored) -> bool:
    """Whether the value stored in a file equals another one, and all its numbers are finite."""
    if not isinstance(value, np.ndarray):
        return value == stored
    finite = (np.abs(value) <= LARGEST).all()
    return value.dtype == stored.dtype and np.array_equal(value, stored) and finite


def _learnt(arrays: dict[str, np.ndarray], described: dict) -> learning.Learnt:
    """What a policy has learnt, from the arrays and the metadata of its file.

    A ValueError for a part that does not fit the others.
    """
    names, actions, untrained = (tuple(described[key]) for key in ("names", "actions", "untrained"))
    texts = {name: tuple(labels) for name, labels in described["texts"].items()}
    for ids in (names, actions, untrained, *texts.values()):
        _require(len({*ids}) == len(ids) and all(isinstance(one, str) for one in ids), "ids")
    _require([*texts] == [name for name in names if name in texts], "texts")
    _require(actions and {*untrained} <= {*actions}, "actions")
    _require(isinstance(described["lists"], str), "lists")
    numeric = np.array([index for index, name in enumerate(names) if name not in texts], int)
    places = {name: arrays[f"place {index}"] for index, name in enumerate(texts)}
    lacking, seen, centre, width = (arrays[key] for key in ("lacking", "seen", "centre", "width"))
    encoded = encoded_names(names, texts, numeric, lacking, places)
    columns = [*range(len(numeric) + len(lacking))]
    for place in places.values():
        columns += [column for column in (*place[place != place[-1]], place[-1]) if column != -1]
    _require(columns == [*range(len(encoded))], "places")
    for indices, end in ((lacking, len(names)), (seen, len(encoded))):
        _require((np.diff(indices, prepend=-1, append=end) > 0).all(), "lacking or seen")
    _require(len(arrays["medians"]) == len(numeric), "medians")
    _require(len(seen) == len(centre) == len(width), "seen")
    _require((width >= np.finfo(np.float32).tiny).all(), "width")
    settings, value = described["settings"], described["regularisation"]
    learner = learners.KINDS[settings["kind"]]
    _require(value in (settings["lambdas"] if learner.regularised else (None,)), "regularisation")
    thresholds = {by: arrays[f"threshold {by}"] for by in MEASURES if learner.ranker}
    _require({*map(len, thresholds.values())} <= {len(actions)}, "thresholds")
    empty = scorers.Model(learner.kind, actions, centre, width, untrained, thresholds=thresholds)
    model = _restored(empty, arrays, value or 1.0)
    fit = run.Fit(model, seen, settings["threshold"], math.nan if value is None else value)
    encoder = Encoder(names, texts, numeric, lacking, arrays["medians"], places, encoded)
    return learning.Learnt(encoder, fit, described["lists"])


def _require(sound, part: str) -> None:
    """Raise a ValueError unless a part of a saved policy is sound."""
    if not sound:
        raise ValueError(f"its part {part!r} does not fit the others")


# --- models


def _arrays(model: scorers.Model) -> dict[str, np.ndarray]:
    """The numbers of a model, by name."""
    if model.kind == "forest":
        forests = [NO_TREES if scorer is None else scorer.forest for scorer in model.scorers]
        counts = {
            "nodes": np.array([len(forest.left) for forest in forests]),
            "trees": np.array([len(forest.roots) for forest in forests]),
        }
        return counts | {
            name: np.concatenate([getattr(forest, name) for forest in forests]) for name in TREES
        }
    if model.kind == "cost-sensitive-oaa":
        regression = model.whole.regression
        return {"weights": regression.coef_, "intercepts": np.asarray(regression.intercept_)}
    if model.kind in LINEAR:
        parts, arrays = model.scorers, {}
    else:
        matches = model.whole.matches
        parts = [None if isinstance(referee, bool) else referee for _, _, referee in matches]
        fixed = [referee if isinstance(referee, bool) else -1 for _, _, referee in matches]
        sides = np.array([sides for *sides, _ in matches])
        arrays = {"fixed": np.array(fixed), "sides": sides}
    d = len(model.centre)
    weights = [np.zeros(d) if part is None else part.weights for part in parts]
    intercepts = [0.0 if part is None else part.intercept for part in parts]
    return arrays | {"weights": np.array(weights), "intercepts": np.array(intercepts)}


def _restored(
    model: scorers.Model, arrays: dict[str, np.ndarray], regularisation: float
) -> scorers.Model:
    """The model with its scorers, or its learner of the whole log, made from stored arrays."""
    trained = ~model._untrained()
    ads, d = len(trained), len(model.centre)

    def made():
        return learners.made(model.kind, regularisation, {})

    if model.kind == "forest":
        forests = _forests(arrays, trained, d)
    else:
        weights, intercepts = arrays["weights"].reshape(-1, d), arrays["intercepts"]
    if model.kind in (*LINEAR, "forest"):
        ad_scorers = [made() if learnt else None for learnt in trained]
        for ad in np.flatnonzero(trained):
            if model.kind == "forest":
                ad_scorers[ad].forest = forests[ad]
            else:
                ad_scorers[ad].weights = weights[ad]
                ad_scorers[ad].intercept = float(intercepts[ad])
        return replace(model, scorers=tuple(ad_scorers))
    whole = made()
    if model.kind == "cost-sensitive-oaa":
        from sklearn.linear_model import Ridge

        _require(len(weights) == len(intercepts) == ads, "weights")
        whole.regression = Ridge()
        whole.regression.coef_, whole.regression.intercept_ = weights, intercepts
        whole.regression.n_features_in_ = d
    else:
        whole.leaves = np.flatnonzero(trained).astype(np.int32)
        referees = [
            bool(fixed) if fixed >= 0 else learners.Referee(of_match, float(intercept))
            for fixed, of_match, intercept in zip(arrays["fixed"], weights, intercepts, strict=True)
        ]
        sides, count = arrays["sides"].reshape(-1, 2), len(referees)
        # each player but the last winner plays once more, and is known by then
        known = len(whole.leaves) + np.arange(count)[:, None]
        _require(count == max(len(whole.leaves) - 1, 0), "matches")
        _require(sorted(sides.ravel()) == [*range(2 * count)] and (sides < known).all(), "sides")
        whole.matches = tuple(zip(*sides.T.tolist(), referees, strict=True))
    return replace(model, whole=whole)


def _forests(arrays: dict[str, np.ndarray], trained: np.ndarray, d: int) -> list[Trees]:
    """The forest of each ad, from features of length d.

    A ValueError for an ad that is trained without a tree, and for trees in which compiled code,
    which checks no bounds, would leave the arrays or go in circles.
    """
    parts = {}
    for name in TREES:
        counts = arrays["trees" if name == "roots" else "nodes"]
        parts[name] = np.split(arrays[name], np.cumsum(counts)[:-1])
    forests = [Trees(*of_ad) for of_ad in zip(*parts.values(), strict=True)]
    for forest, learnt in zip(forests, trained, strict=True):
        leaf, nodes = forest.left < 0, np.arange(len(forest.left))
        _require({len(getattr(forest, name)) for name in TREES[1:]} == {len(nodes)}, "nodes")
        _require(len(forest.roots) >= learnt, "roots")
        for indices, end in ((forest.roots, len(nodes)), (forest.feature, d)):
            _require(((indices >= 0) & (indices < end)).all(), "roots or feature")
        for children in (forest.left, forest.right):
            inner = (children > nodes) & (children < len(nodes))
            _require(np.where(leaf, children == -1, inner).all(), "left or right")
    return forests

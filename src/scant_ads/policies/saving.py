"""Saved policies: an Arrow file of numbers, with settings as JSON in its metadata.

Loading one runs no code.
"""

import math
from dataclasses import replace
from itertools import chain
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
SETTINGS = {  # of a policy, and their types in a file
    "kind": str,
    "epsilon": int | float,
    "lambdas": list,
    "validation": int | float,
    "threshold": str,
    "select": int | float,
    "standardise": bool,
    "undersample": int | None,
    "steps": int | None,
    "pair_loss": str,
    "trees": int,
    "tree_rows": int | None,
    "leaf": int,
    "seed": int,
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
        arrays, described = _read(path)
        return _learnt(arrays, described)


def _read(path) -> tuple[dict[str, np.ndarray], dict]:
    """The arrays of a saved policy by name, and what its metadata say; a ValueError for another
    file.
    """
    files.check_seal(path)
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        described = files.metadata_of(reader.schema)
        if described.get("kind") != KIND:
            raise ValueError("it holds something else")
        if described.get("version") != VERSION:
            raise ValueError(f"of version {described.get('version')!r}; this one reads {VERSION}")
        if reader.num_record_batches != 1:
            raise ValueError("parts of a table")
        batch = reader.get_batch(0)
        batch.validate(full=True)
        if batch.num_rows != 1 or not all(pa.types.is_list(kind) for kind in batch.schema.types):
            raise ValueError("not one row of lists")
        arrays = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            values = column.flatten()
            if values.null_count or not (
                pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
            ):
                raise ValueError(f"{name} is not of numbers")
            arrays[name] = values.to_numpy(zero_copy_only=False).copy()
            if arrays[name].dtype.kind == "f" and not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} has a number that is not finite")
        return arrays, described


def _learnt(arrays: dict[str, np.ndarray], described: dict) -> tuple[dict, learning.Learnt]:
    """What was learnt, from the arrays and the metadata of a file; a ValueError where they do not
    fit.
    """
    names, encoded, actions, untrained = (
        tuple(described[key]) for key in ("names", "encoded", "actions", "untrained")
    )
    texts = {name: tuple(labels) for name, labels in described["texts"].items()}
    everything = (
        *names,
        *encoded,
        *actions,
        *untrained,
        *texts,
        *chain.from_iterable(texts.values()),
    )
    if (
        not all(isinstance(text, str) for text in everything)
        or not actions
        or len({*actions}) < len(actions)
    ):
        raise ValueError("ids that are no texts, or that occur twice")
    if (
        not {*untrained} <= {*actions}
        or not {*texts} <= {*names}
        or described["threshold"] not in THRESHOLDS
    ):
        raise ValueError("names that it does not have")
    places = {
        name: _index(arrays[f"place {index}"], len(encoded), -1, len(labels) + 1)
        for index, (name, labels) in enumerate(texts.items())
    }
    numeric = _index(arrays["numeric"], len(names), 0, len(names) - len(texts))
    encoder = Encoder(
        names,
        texts,
        numeric,
        _index(arrays["lacking"], len(names)),
        _sized(arrays["medians"].astype(np.float32), len(numeric)),
        places,
        encoded,
    )
    if len(encoded) < len(numeric) + len(encoder.lacking):
        raise ValueError("too few encoded features")
    seen = _index(arrays["seen"], len(encoded))
    centre, width = (
        _sized(arrays[name].astype(np.float32), len(seen)) for name in ("centre", "width")
    )
    if not (width > 0).all():
        raise ValueError("a width of 0")
    settings = dict(described["settings"])
    if odd := [name for name, kind in SETTINGS.items() if not isinstance(settings[name], kind)]:
        raise ValueError(f"the setting {odd[0]} is {settings[odd[0]]!r}")
    if not 0 <= settings["epsilon"] <= 1 or not all(
        isinstance(value, int | float) for value in settings["lambdas"]
    ):
        raise ValueError("settings that cannot be")
    settings["lambdas"] = tuple(settings["lambdas"])
    kind, value = settings["kind"], described["regularisation"]
    if kind not in learning.LEARNT:
        raise ValueError(f"of the kind {kind!r}")
    thresholds = {
        name.removeprefix("threshold "): _sized(values, len(actions))
        for name, values in arrays.items()
        if name.startswith("threshold ")
    }
    empty = scorers.Model(kind, actions, centre, width, untrained, thresholds=thresholds)
    model = _restored(empty, arrays, 1.0 if value is None else float(value))
    fit = run.Fit(
        model,
        seen,
        described["threshold"],
        math.nan if value is None else float(value),
        described["fitted_on"],
    )
    return settings, learning.Learnt(encoder, fit, str(described.get("lists", "")))


def _sized(values: np.ndarray, size: int) -> np.ndarray:
    if len(values) != size:
        raise ValueError(f"{len(values)} numbers where {size} are needed")
    return values


def _index(values: np.ndarray, below: int, lowest: int = 0, size: int | None = None) -> np.ndarray:
    """Whole numbers from `lowest` to `below` - 1, `size` of them."""
    if values.dtype.kind != "i" or (
        len(values) and not lowest <= values.min() <= values.max() < below
    ):
        raise ValueError("indices out of range")
    return values if size is None else _sized(values, size)


# --- models


def _arrays(model: scorers.Model) -> dict[str, np.ndarray]:
    """The numbers of a model, by name."""
    d = len(model.centre)
    if model.kind in LINEAR:
        weights = [np.zeros(d) if scorer is None else scorer.weights for scorer in model.scorers]
        intercepts = [0.0 if scorer is None else scorer.intercept for scorer in model.scorers]
        return {"weights": np.array(weights), "intercepts": np.array(intercepts, float)}
    if model.kind == "forest":
        forests = [None if scorer is None else scorer.forest for scorer in model.scorers]
        nodes = np.array([0 if forest is None else len(forest.left) for forest in forests])
        trees = np.array([0 if forest is None else len(forest.roots) for forest in forests])
        learnt = [forest for forest in forests if forest is not None]
        stacked = {
            name: np.concatenate([getattr(forest, name) for forest in learnt])
            if learnt
            else np.zeros(0, kind)
            for name, kind in TREES.items()
        }
        return stacked | {"nodes": nodes.astype(np.int64), "trees": trees.astype(np.int64)}
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
    kind, ads, d = model.kind, len(model.actions), len(model.centre)
    learnt = [ad for ad, action in enumerate(model.actions) if action not in model.untrained]

    def made():
        return learners.made(kind, regularisation, {})

    if kind in LINEAR or kind == "forest":
        ad_scorers = [None] * ads
        if kind == "forest":
            parts = _forests(arrays, ads, d)
        else:
            weights = _sized(arrays["weights"], ads * d).reshape(ads, d)
            intercepts = _sized(arrays["intercepts"], ads)
        for ad in learnt:
            ad_scorers[ad] = made()
            if kind == "forest":
                ad_scorers[ad].forest = parts[ad]
            else:
                ad_scorers[ad].weights = weights[ad]
                ad_scorers[ad].intercept = float(intercepts[ad])
        return replace(model, scorers=tuple(ad_scorers))
    whole = made()
    if kind == "cost-sensitive-oaa":
        from sklearn.linear_model import Ridge

        whole.regression = Ridge()
        whole.regression.coef_ = _sized(arrays["weights"], ads * d).reshape(ads, d)
        whole.regression.intercept_ = _sized(arrays["intercepts"], ads)
        whole.regression.n_features_in_ = d
    else:
        whole.leaves = _index(arrays["leaves"], ads).astype(np.int32)
        fixed = _index(arrays["fixed"], 2, -1, max(len(whole.leaves) - 1, 0))
        sides = _sized(arrays["sides"], 2 * len(fixed)).reshape(-1, 2)
        weights = _sized(arrays["weights"], len(fixed) * d).reshape(-1, d)
        intercepts = _sized(arrays["intercepts"], len(fixed))
        matches = []
        for index, pair in enumerate(sides):
            left, right = _index(pair, len(whole.leaves) + index).tolist()
            learnt_referee = learners.Referee(weights[index], float(intercepts[index]))
            referee = learnt_referee if fixed[index] < 0 else bool(fixed[index])
            matches.append((left, right, referee))
        whole.matches = tuple(matches)
    return replace(model, whole=whole)


def _forests(arrays: dict[str, np.ndarray], ads: int, d: int) -> list[Trees]:
    """The forest of each ad; a ValueError for trees that a row would not leave."""
    nodes, trees = (_index(arrays[name], 1 << 40, 0, ads) for name in ("nodes", "trees"))
    node_ends, tree_ends, forests = np.cumsum(nodes), np.cumsum(trees), []
    for name in TREES:
        _sized(arrays[name], (tree_ends if name == "roots" else node_ends)[-1])
    for ad in range(ads):
        of_nodes = slice(node_ends[ad] - nodes[ad], node_ends[ad])
        of_trees = slice(tree_ends[ad] - trees[ad], tree_ends[ad])
        parts = {name: arrays[name][of_trees if name == "roots" else of_nodes] for name in TREES}
        _index(parts["roots"], max(nodes[ad], 1)), _index(parts["feature"], max(d, 1))
        node = np.arange(nodes[ad])
        for side in ("left", "right"):
            child = parts[side]
            if (
                child.dtype.kind != "i"
                or not (((child > node) & (child < nodes[ad])) | (child == -1)).all()
            ):
                raise ValueError("a tree that does not end")
        if ((parts["left"] < 0) != (parts["right"] < 0)).any():
            raise ValueError("a node with one child")
        forests.append(
            Trees(**{name: values.astype(TREES[name]) for name, values in parts.items()})
        )
    return forests

"""The losses and gains of games: of a ranking in a round, given the relevances, and of the best
fixed ranking.

A loss is linear if it is `scale_t * sum_u f(place of u) v_t(u) + constant_t` in round t, where `f`
are the weights of the places, and `v_t` the values that the loss makes of the relevances. All but
AP are linear; for normalised ones `scale_t` is the normaliser. Then the best fixed ranking sorts
items by their sums of `scale_t v_t`. For AP it is found exactly, too, by dynamic programming over
sets of items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from scant import measures
from scant.errors import SettingError

AP_ITEMS = 20  # the best ranking for AP is sought over all 2^m sets of items


@dataclass(frozen=True)
class Loss:
    """A loss or gain of a game.

    name : as in the settings of a game, with its cut-off: "dcg@5"
    gain : whether greater is better
    measure : the function that computes it from a ranking (item indices, best first) and a round's
        relevances (m)
    places : the function that gives the weights f of places 1..m, given m; None for AP, which is
        not linear
    binary : whether relevances must be 0 or 1
    values : the function that makes values of the relevances, each (rounds x items)
    scale, constant : the functions that give one number for each round, (rounds), from the
        relevances; None where all are 1, or 0
    """

    name: str
    gain: bool
    measure: Callable
    places: Callable | None
    binary: bool = False
    values: Callable = lambda relevances: relevances
    scale: Callable | None = None
    constant: Callable | None = None

    @property
    def normalised(self) -> bool:
        """Whether the measure is NDCG, AP or AUC, for which no learner has sublinear regret with
        top-1 feedback (thesis, Theorem 24).
        """
        return self.scale is not None or self.places is None

    def weights(self, items: int) -> np.ndarray:
        """The weights of the places, from the first, float64 (m). For AP, which has none, 1..m."""
        return (self.places or _positions)(items).astype(float)


def _positions(items: int) -> np.ndarray:
    return np.arange(1, items + 1)


def _discounts(items: int, cut: int | None = None) -> np.ndarray:
    places = _positions(items)
    return np.where(places <= (cut or items), measures.discount(places), 0.0)


def _gains(relevances: np.ndarray) -> np.ndarray:
    """The gains 2^r - 1 (rounds x items), as whole numbers if they fit into int8."""
    if relevances.max() <= 1:
        return relevances
    if relevances.max() <= 7:  # 2^7 - 1 is the largest number of int8
        return ((1 << relevances.astype(np.int16)) - 1).astype(np.int8)
    return np.exp2(relevances) - 1


def _ndcg_scale(relevances: np.ndarray, cut: int | None = None) -> np.ndarray:
    """1 / Z of each round, float64 (rounds); 0 if no item is relevant."""
    ideal = -np.sort(-relevances, axis=1)
    weights = _discounts(relevances.shape[1], cut)
    return _reciprocal(_gains(ideal) @ weights)


def _pairs(relevances: np.ndarray) -> np.ndarray:
    """The number of pairs of a relevant and an irrelevant item in each round, int64 (rounds)."""
    r = relevances.sum(axis=1, dtype=np.int64)
    return r * (relevances.shape[1] - r)


def _reciprocal(x: np.ndarray) -> np.ndarray:
    """1 / x, but 0 where x is 0."""
    return np.divide(1.0, x, out=np.zeros(len(x)), where=x > 0)


def _least_sum(relevances: np.ndarray) -> np.ndarray:
    """PairwiseLoss less SumLoss in each round, float64 (rounds): minus the SumLoss of an ideal
    ranking.
    """
    r = relevances.sum(axis=1, dtype=np.int64)
    return -r * (r + 1) / 2


def _spearman(ranking, positions):
    return measures.spearman_loss(ranking, np.argsort(positions))


LOSSES = {
    "sum-loss": Loss("sum-loss", False, measures.sum_loss, _positions),
    "pairwise-loss": Loss(
        "pairwise-loss", False, measures.pairwise_loss, _positions, binary=True, constant=_least_sum
    ),
    "position-loss": Loss("position-loss", False, measures.position_loss, _positions),
    "spearman-loss": Loss(
        "spearman-loss", False, _spearman, _positions,
        values=lambda positions: -positions.astype(np.int16)
    ),
    "auc-loss": Loss(
        "auc-loss", False, measures.auc_loss, _positions, binary=True,
        scale=lambda relevances: _reciprocal(_pairs(relevances)),
        constant=lambda relevances: _least_sum(relevances) * _reciprocal(_pairs(relevances)),
    ),
    "ap": Loss("ap", True, measures.average_precision, None, binary=True),
}  # fmt: skip
CUT_LOSSES = {  # those with a cut-off n; None is the whole list
    "dcg": lambda name, n: Loss(
        name, True, partial(measures.dcg, k=n), partial(_discounts, cut=n), values=_gains
    ),
    "ndcg": lambda name, n: Loss(
        name, True, partial(measures.ndcg, k=n), partial(_discounts, cut=n), values=_gains,
        scale=partial(_ndcg_scale, cut=n),
    ),
    "precision": lambda name, n: Loss(
        name, True, partial(measures.precision_at, n=n), lambda m: _positions(m) <= n, binary=True
    ),
}  # fmt: skip


def make(name: str) -> Loss:
    """The loss or gain of this name: one of `LOSSES`, or `dcg`, `ndcg`, `dcg@n`, `ndcg@n` or
    `precision@n`.

    Raises
    ------
    SettingError : precision without a cut-off
    """
    if name in LOSSES:
        return LOSSES[name]
    stem, _, cut = name.partition("@")
    if stem == "precision" and not cut:
        raise SettingError("loss 'precision': it needs a cut-off. Write precision@5, say")
    return CUT_LOSSES[stem](name, int(cut) if cut else None)


def check(loss: Loss, stream: np.ndarray) -> None:
    """Raise a SettingError unless `stream` (rounds x items) holds relevances that the loss is
    defined for.
    """
    if loss.name == "spearman-loss":
        if np.any(np.sort(stream, axis=1) != _positions(stream.shape[1])):
            raise SettingError(
                "spearman-loss needs a ranking in each round: use the stream 'rankings', or "
                "position-loss"
            )
    elif loss.binary and stream.max() > 1:
        raise SettingError(
            f"{loss.name} needs relevances that are 0 or 1, and the stream's go up to "
            f"{stream.max()}: sum-loss and dcg take grades"
        )
    elif loss.values is _gains and stream.max() > measures.MAX_GRADE:
        raise SettingError(
            f"{loss.name} needs grades of at most {measures.MAX_GRADE}, and the stream's go up to "
            f"{stream.max()}"
        )


def check_ap(items: int) -> None:
    """Raise a SettingError if there are too many items to find the best ranking for AP."""
    if items > AP_ITEMS:
        raise SettingError(
            "ap: the best fixed ranking is sought over all sets of items, which is done for up to "
            f"{AP_ITEMS} items; this stream has {items}. Use ndcg or precision@n, whose best "
            "ranking comes by sorting"
        )


def best_average_precision(overlap: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest sum of AP over rounds of any fixed ranking, and that ranking, int64 (m); exact,
    in O(2^m m) steps.

    AP averages, over the places of relevant items, the share of relevant items down to the place.
    So item a, placed right below the items of a set S in any order, adds `(C[a, a] + sum_{b in S}
    C[a, b]) / (|S| + 1)`, where `C[a, b] = sum_t R_t(a) R_t(b) / sum_u R_t(u)`. The best ranking is
    a longest path over sets of items.

    overlap : C, float64 (m x m)
    """
    from scant.kernels import games

    order = np.empty(len(overlap), np.int64)
    return games.best_path(np.ascontiguousarray(overlap, float), order), order


def total_average_precision(overlap: np.ndarray, ranking: np.ndarray) -> float:
    """A fixed ranking's AP, summed over rounds.

    overlap : C, as in `best_average_precision`
    """
    # row i: the item at place i with itself and those above
    pairs = np.tril(overlap[np.ix_(ranking, ranking)])
    return float(np.sum(pairs.sum(axis=1) / _positions(len(ranking))))

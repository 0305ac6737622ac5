"""What partial monitoring says of feedback at the top, to show: the thesis' tables, and the atlas of minimax rates.

The facts are those of `scant.theory.observability`. In all frames here `grades` is the number of grades: 2 is binary.
"""

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.games import frames
from scant.theory import observability

CELL = ["measure", "grades", "m", "k"]  # what makes a game
# What the thesis states, the first that fits: measures, whether it is of that m and k, the rate, where, and the m that
# its proof takes. Results 1 and 3 (and 4, for more grades) name no m.
LINEAR = ("sum-loss", "pairwise-loss", "dcg")  # and Precision@n
NORMALISED = ("ndcg", "ap", "auc")
STATED = (
    (LINEAR, lambda m, k: k == m, "T^(1/2)", "3.2.6", 1),
    (LINEAR, lambda m, k: k == 1, "T^(2/3)", "3.2.3, Result 1", 3),
    ((*LINEAR, "precision"), lambda m, k: True, "at most T^(2/3)", "3.2.3, Result 2", 1),
    (("auc",), lambda m, k: k == 1 and m == 3, "at most T^(2/3)", "appendix B, Lemma 23", 3),
    (("auc",), lambda m, k: k == 1, "T", "3.2.3, Result 3", 4),
    (("ndcg", "ap"), lambda m, k: k == 1, "T", "3.2.3, Result 3", 3),
    (NORMALISED, lambda m, k: k < m, "open", "3.5", 1),
)


def table_3_1() -> pd.DataFrame:
    """Table 3.1 of the thesis: SumLoss of each ranking (down) and relevance vector (across), m = 3."""
    return _laid_out(observability.table_3_1())


def table_3_2() -> pd.DataFrame:
    """Table 3.2 of the thesis: what top-1 feedback shows of each relevance vector (across), m = 3."""
    return _laid_out(observability.table_3_2())


def _laid_out(matrix: observability.Matrix) -> pd.DataFrame:
    names = [f"R{i} = {vector}" for i, vector in enumerate(matrix.columns, start=1)]
    frame = pd.DataFrame(matrix.entries, columns=names)
    frame.insert(0, "sigma", range(1, len(matrix.rows) + 1))
    frame.insert(1, "ranking", matrix.rows)
    return frame


def table_b_1() -> pd.DataFrame:
    """Table B.1 of the thesis: the distributions p and p~ of relevance vectors, those vectors, and what follows.

    Rows p and p~ have the probabilities, and the rankings (items, best first) with the greatest expected NDCG. An
    item's row has its relevances, and under either distribution their mean E[R] and E[G/Z].
    """
    table = observability.table_b_1()
    names = ["p", "p~"]
    items = [f"item {i}" for i in range(1, 4)]
    vectors = [f"R{i}" for i in range(1, 9)]
    frame = pd.DataFrame(np.vstack([table.probabilities.astype(float), table.relevances.T]), columns=vectors)
    frame.insert(0, "row", names + items)
    for quantity, values in {"E[R]": table.means, "E[G/Z]": table.gains}.items():
        for name, of_items in zip(names, values.astype(float), strict=True):
            frame[f"{quantity}, {name}"] = [np.nan, np.nan, *of_items]
    frame["best for NDCG"] = [*(_best(table.relevances, p) for p in table.probabilities), None, None, None]
    return frame


def _best(vectors: np.ndarray, probabilities: np.ndarray) -> str:
    m = vectors.shape[1]
    lexicographic = np.lexsort(vectors.T[::-1])
    best = observability.optimal_rankings("ndcg", m, probabilities[lexicographic].astype(float))
    return " or ".join(" ".join(map(str, ranking + 1)) for ranking in observability.rankings(m)[best])


def atlas_table(max_m: int = observability.MAX_ITEMS) -> pd.DataFrame:
    """Observability and minimax rate of each measure, m and k, beside what the thesis states of them.

    `stated` is a rate, a bound on it, "open", or missing; `source` says where, and whether it agrees with the rate
    computed. AISTATS'15 states the same for k = 1. Results 1 and 3 name no m: of one smaller than their proof takes,
    for which they need not hold, `source` says so if they do not.
    """
    frame = pd.DataFrame(observability.atlas(max_m))
    frame.insert(1, "grades", frame.pop("top_grade") + 1)
    stated = [_stated(one.measure, one.m, one.k, one.rate) for one in frame.itertuples()]
    return frame.assign(**dict(zip(("stated", "source"), zip(*stated, strict=True), strict=True)))


def _stated(measure: str, m: int, k: int, rate: str) -> tuple[str | None, str | None]:
    """What the thesis states, and where with the verdict; None twice if it is silent."""
    base, _, cut = measure.partition("@")
    if cut and base != "precision":  # its DCG and NDCG are of whole lists
        return None, None
    for measures, fits, claim, where, proved in STATED:
        if base in measures and fits(m, k):
            if claim == "open":
                return claim, f"thesis {where}"
            limit = claim.removeprefix("at most ")
            agrees = rate == limit or (claim != limit and rate != "T")
            verdict = "agrees" if agrees else "differs" if m >= proved else f"not so here, proof has m = {proved}"
            return claim, f"thesis {where}: {verdict}"
    return None, None


def atlas_frame(max_m: int = observability.MAX_ITEMS, observed: pd.DataFrame | None = None) -> pd.DataFrame:
    """What the figure of the atlas shows: measure, grades, m, k, rate; with measurements also slope, low and high.

    observed : slopes of log regret against log T, one row a cell: measure, m, k, slope, low, high, and grades (2 if
        there is no such column); further columns are kept. Cells without a row have missing values

    Raises
    ------
    SettingError : a measurement is of no cell, or a cell has two
    """
    frame = atlas_table(max_m)[[*CELL, "rate"]]
    if observed is None:
        return frame
    observed = observed.assign(grades=observed.get("grades", 2))
    cells = list(observed[CELL].itertuples(index=False, name=None))
    for kind, strange in {
        "in no cell": set(cells) - set(frame[CELL].itertuples(index=False, name=None)),
        "twice in a cell": {cell for cell in cells if cells.count(cell) > 1},
    }.items():
        if strange:
            named = "; ".join(", ".join(map("{} {}".format, CELL, cell)) for cell in sorted(strange))
            raise SettingError(f"slopes {kind} of the atlas of m = 2 to {max_m}: {named}")
    return frame.merge(observed, how="left", on=CELL)


def measured(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The frame of the figure of observability: `atlas_frame` with the slopes that a study's experiments measured."""
    return atlas_frame(observed=frames.observed(traces, details))

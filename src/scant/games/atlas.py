"""Frames on partial monitoring with feedback at the top: the tables of the thesis, and the atlas of
minimax rates.

`scant.theory.observability` computes the results. In all frames `grades` is the number of grades; 2
is binary.
"""

from itertools import permutations, product

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.games import frames
from scant.games.frames import CELL
from scant.theory import observability

EXPONENTS = {"0": 0.0, "T^(1/2)": 1 / 2, "T^(2/3)": 2 / 3, "T": 1.0}
MARGIN = 0.05  # by how much a slope, seen at finite horizons, may be above the possible rate
LINEAR_FROM = 0.9  # the slope above which regret counts as linear

# Statements of the thesis: the measures, whether it applies to m and k, the rate, where it stands,
# and the m of its proof. The first statement that applies counts. Results 1 and 3 (and 4, for more
# grades) name no m.
LINEAR = ("sum-loss", "pairwise-loss", "dcg")  # and Precision@n
NORMALISED = ("ndcg", "ap", "auc")
STATED = (  # measures, applies, claim, where, proof_m
    (LINEAR, lambda m, k: k == m, "T^(1/2)", "3.2.6", 1),
    (LINEAR, lambda m, k: k == 1, "T^(2/3)", "3.2.3, Result 1", 3),
    ((*LINEAR, "precision"), lambda m, k: True, "at most T^(2/3)", "3.2.3, Result 2", 1),
    (("auc",), lambda m, k: k == 1 and m == 3, "at most T^(2/3)", "appendix B, Lemma 23", 3),
    (("auc",), lambda m, k: k == 1, "T", "3.2.3, Result 3", 4),
    (("ndcg", "ap"), lambda m, k: k == 1, "T", "3.2.3, Result 3", 3),
    (NORMALISED, lambda m, k: k < m, "open", "3.5", 1),
)


def table_3_1() -> pd.DataFrame:
    """Table 3.1 of the thesis: SumLoss of each ranking (down) and relevance vector (across), m =
    3.
    """
    return _as_frame(observability.table_3_1())


def table_3_2() -> pd.DataFrame:
    """Table 3.2 of the thesis: what top-1 feedback shows, by ranking (down) and relevance vector
    (across), m = 3.
    """
    return _as_frame(observability.table_3_2())


def _as_frame(entries: np.ndarray) -> pd.DataFrame:
    """A matrix of the rankings and relevance vectors of three items as a frame, with the number of
    each ranking, and the positions of items 1, 2, 3: "312" shows item 2, then 3, then 1.
    """
    vectors = enumerate(product("01", repeat=3), start=1)
    frame = pd.DataFrame(entries, columns=[f"R{i} = {''.join(vector)}" for i, vector in vectors])
    frame.insert(0, "sigma", range(1, len(entries) + 1))
    frame.insert(1, "ranking", ["".join(places) for places in permutations("123")])
    return frame


def table_b_1() -> pd.DataFrame:
    """Table B.1 of the thesis: the distributions p and p~ of relevance vectors, and the
    expectations under them.

    The rows p and p~ have the probability of each vector, and the rankings (items, best first) with
    the largest expected NDCG. The row of an item has its relevance in each vector, and its
    expectations E[R] and E[G/Z] under either distribution.
    """
    table = observability.table_b_1()
    names = ["p", "p~"]
    items = [f"item {i}" for i in range(1, 4)]
    vectors = [f"R{i}" for i in range(1, 9)]
    frame = pd.DataFrame(
        np.vstack([table.probabilities.astype(float), table.relevances.T]), columns=vectors
    )
    frame.insert(0, "row", names + items)
    for quantity, values in {"E[R]": table.means, "E[G/Z]": table.gains}.items():
        for name, of_items in zip(names, values.astype(float), strict=True):
            frame[f"{quantity}, {name}"] = [np.nan, np.nan, *of_items]
    frame["best for NDCG"] = [
        *(_best(table.relevances, p) for p in table.probabilities),
        None,
        None,
        None,
    ]
    return frame


def _best(vectors: np.ndarray, probabilities: np.ndarray) -> str:
    """The rankings with the largest expected NDCG, in words, under a distribution of relevance
    vectors.
    """
    lexicographic = np.lexsort(vectors.T[::-1])
    expected = observability.loss_matrix("ndcg", 3) @ probabilities[lexicographic].astype(float)
    best = observability.rankings(3)[expected <= expected.min() + 1e-12]
    return " or ".join(" ".join(map(str, ranking + 1)) for ranking in best)


def atlas_table() -> pd.DataFrame:
    """Observability and minimax rate of each measure, m and k, beside the statements of the thesis.

    `stated` is a rate, a bound on the rate, "open", or missing; `source` says where the thesis
    states it, and whether it agrees with the rate computed. AISTATS'15 agrees for k = 1. Results 1
    and 3 name no m, and need not hold for an m smaller than in their proof; where they do not,
    `source` says so.
    """
    frame = pd.DataFrame(observability.atlas())
    frame.insert(1, "grades", frame.pop("top_grade") + 1)
    stated = [_stated(row.measure, row.m, row.k, row.rate) for row in frame.itertuples()]
    return frame.assign(**dict(zip(("stated", "source"), zip(*stated, strict=True), strict=True)))


def _stated(measure: str, m: int, k: int, rate: str) -> tuple[str | None, str | None]:
    """The statement of the thesis, and where it stands with the verdict; None for both if there is
    none.
    """
    base, _, cut = measure.partition("@")
    if cut and base != "precision":  # the thesis is about DCG and NDCG of whole lists
        return None, None
    for measures, applies, claim, where, proof_m in STATED:
        if base not in measures or not applies(m, k):
            continue
        if claim == "open":
            return claim, f"thesis {where}"
        # the only bound that is stated is T^(2/3), and the only rate above it is T
        agrees = rate != "T" if claim.startswith("at most ") else rate == claim
        if agrees:
            return claim, f"thesis {where}: agrees"
        return claim, f"thesis {where}: " + (
            "differs" if m >= proof_m else f"not so here, proof has m = {proof_m}"
        )
    return None, None


def cells_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Minimax rates and measured growth of regret: a row for each cell of the atlas that is played,
    and learner.

    Returns
    -------
    frame : the columns of `scant.games.frames.observed`, and rate, the growth of minimax regret;
        best, whether no learner's slope is less in this cell; verdict, see `compared`; constant,
        the mean regret at the longest horizon over the horizon to the power of the rate

    Raises
    ------
    SettingError : a game that is played is no cell of the atlas
    """
    rows = frames.observed(traces, details).reset_index(drop=True)
    played = list(rows[CELL].itertuples(index=False, name=None))
    cells = {(measure, top_grade + 1, m, k) for measure, m, k, top_grade in observability.cells()}
    if beyond := sorted(set(played) - cells):
        names = "; ".join(", ".join(map("{} {}".format, CELL, cell)) for cell in beyond)
        most = observability.MAX_ITEMS
        raise SettingError(f"slopes in no cell of the atlas of m = 2 to {most}: {names}")
    rows["rate"] = [
        observability.regret_rate(measure, m, k, grades - 1).rate
        for measure, grades, m, k in played
    ]
    exponents = rows["rate"].map(EXPONENTS)
    rows["best"] = rows["slope"] == rows.groupby(CELL)["slope"].transform("min")
    rows["verdict"] = [
        compared(*row) for row in zip(exponents, rows["low"], rows["high"], strict=True)
    ]
    rows["constant"] = rows["regret"] / rows["horizon"] ** exponents
    columns = [
        *CELL,
        "rate",
        "learner",
        "kind",
        "best",
        "slope",
        "low",
        "high",
        "verdict",
        "constant",
    ]
    return rows[[*columns, "regret", "horizon", "stream", "n"]].sort_values(
        ["m", *CELL], kind="stable"
    )


def compared(exponent: float, low: float, high: float) -> str:
    """How the confidence interval of a slope compares with a rate's exponent.

    The slope "agrees" if it is at most exponent + `MARGIN`, and is "faster" if above. An exponent
    of 1 bounds all regret: there it agrees above `LINEAR_FROM`, and is "slower" below. It is
    "undecided" if the interval does not tell.
    """
    if exponent == 1:
        return "agrees" if low > LINEAR_FROM else "slower" if high < LINEAR_FROM else "undecided"
    limit = exponent + MARGIN
    return "agrees" if high < limit else "faster" if low > limit else "undecided"


def measured(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The frame of the figure of observability: cells of the atlas with their rates, and with the
    slopes of the best learner in each cell that is played.

    Measures, and numbers of items, without a cell that is played are left out.
    """
    rows = cells_table(traces, details)
    best = rows[rows["best"]].drop_duplicates(CELL).drop(columns=["rate", "best"])
    # other cells will be missing
    cells = atlas_table()[[*CELL, "rate"]].merge(best.astype({"n": "Int64"}), how="left", on=CELL)
    measures = pd.MultiIndex.from_frame(cells[["measure", "grades"]])
    played = cells["slope"].notna()
    some = cells["m"].isin(cells.loc[played, "m"]) & measures.isin(measures[played])
    return cells[some].reset_index(drop=True)

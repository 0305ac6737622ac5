"""What partial monitoring says of feedback at the top, to show: the thesis' tables, and the atlas of minimax rates.

The facts are those of `scant.theory.observability`. In all frames here `grades` is the number of grades: 2 is binary.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.patches import Patch

from scant.errors import SettingError
from scant.report import style
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

EXPONENTS = {"T^(1/2)": "1/2", "T^(2/3)": "2/3", "T": "1"}
LOOKS = {  # of a cell: its colour and its text's; the faster regret grows, the darker, in print without colours too
    rate: (sns.blend_palette(["white", style.PALETTE[colour], "black"], 101).as_hex()[share], text)
    for rate, colour, share, text in (
        ("T^(1/2)", 9, 17, "black"),
        ("T^(2/3)", 1, 36, "black"),
        ("T", 3, 66, "white"),
    )
}
NAMES = {
    "sum-loss": "SumLoss", "pairwise-loss": "PairwiseLoss", "dcg": "DCG", "precision": "Precision", "auc": "AUC",
    "ndcg": "NDCG", "ap": "AP", "err": "ERR",
}  # fmt: skip
BRACES = str.maketrans("()", "{}")  # of TeX
GROUPS = (  # of rows, down the figure: whole lists or cut ones, of which measures
    (False, LINEAR),
    (True, ("dcg",)),
    (True, ("precision",)),
    (False, ("auc", "ndcg", "ap", "err")),
    (True, ("ndcg",)),
)
WIDTH, ROW, GAP = 0.36, (0.2, 0.27), 0.35  # inches; inches without slopes and with; rows between groups


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
    """What `draw_atlas` shows: measure, grades, m, k, rate; with measurements also slope, low and high.

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


def draw_atlas(frame: pd.DataFrame):
    """The frame of `atlas_frame` as a figure: a panel for each m, a row for each measure, a column for each k."""
    style.apply()
    places = _places(frame)
    measured = "slope" in frame and bool(frame["slope"].notna().any())
    many, depth = sorted(frame["m"].unique()), max(places.values()) + 1
    figure, axes = plt.subplots(
        1, len(many), figsize=(max(3.4, 1.3 + WIDTH * (sum(many) + 0.5 * len(many))), ROW[measured] * depth + 1.2),
        squeeze=False, sharey=True, width_ratios=many, layout="constrained",
    )  # fmt: skip
    for axis, m in zip(axes.flat, many, strict=True):
        panel = frame[frame["m"] == m]
        y = [places[row] for row in zip(panel["measure"], panel["grades"], strict=True)]
        axis.barh(y, 0.95, 0.92, panel["k"] - 0.475, color=[LOOKS[rate][0] for rate in panel["rate"]])
        for at, one in zip(y, panel.itertuples(), strict=True):
            slope = one.slope if measured else np.nan
            look = {"ha": "center", "va": "center_baseline", "color": LOOKS[one.rate][1]}
            axis.text(one.k, at if np.isnan(slope) else at - 0.2, EXPONENTS[one.rate], fontsize=8, **look)
            if not np.isnan(slope):
                axis.text(one.k, at + 0.24, f"{slope:.2f}", fontsize=6, **look)
        axis.set(xlim=(0.5, m + 0.5), xlabel="k", xticks=range(1, m + 1))
        axis.set_title(f"m = {m}")
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    axes[0, 0].set_yticks(list(places.values()), [_label(*row) for row in places])
    axes[0, 0].set_ylim(depth - 0.5, -0.5)
    handles = {f"${rate.translate(BRACES)}$": Patch(color=LOOKS[rate][0]) for rate in LOOKS}
    title = "minimax regret, m items, top k seen\nin a cell: exponent of T"
    title += ", small: slope measured" if measured else ""
    made = figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, title=title, title_fontsize=8,
    )  # fmt: skip
    made.get_title().set_multialignment("center")
    return figure


def _places(frame: pd.DataFrame) -> dict[tuple[str, int], float]:
    """The height of each row, a measure with a number of grades: 0 is the top."""
    rows = sorted(set(zip(frame["measure"], frame["grades"], strict=True)))
    places, at = {}, 0.0
    for cut, bases in GROUPS:
        for base in bases:
            for measure, grades in rows:
                if measure.partition("@")[0] == base and ("@" in measure) == cut:
                    places[measure, grades] = at
                    at += 1
        at += GAP
    return places


def _label(measure: str, grades: int) -> str:
    base, at, cut = measure.partition("@")
    return NAMES[base] + at + cut + (f", {grades} grades" if grades > 2 else "")

"""Tables. Each is a frame; `write` makes CSV and LaTeX of it."""

from pathlib import Path

import numpy as np
import pandas as pd

from scant.ads import frames as ads
from scant.errors import unknown
from scant.files import atomic
from scant.games import frames as games
from scant.online import frames as perceptron
from scant.online import frames_top as top
from scant.present.catalogue import wants_comparators


def _coverage(rows: pd.DataFrame, details: dict) -> pd.DataFrame:
    return ads.coverage_table(rows)


MAKERS = {
    "finals": perceptron.finals_table,
    "bounds": perceptron.bounds_table,
    "rates": perceptron.rates_table,
    "top": top.top_table,
    "regret": top.regret_table,
    "games": games.games_table,
    "slopes": games.slopes_table,
    "ads": ads.ads_table,
    "ads-estimates": ads.estimates_table,
    "ads-readings": ads.ads_readings_table,
    "ads-coverage": _coverage,
}


def make(name: str, traces: pd.DataFrame, details: dict, stem, comparators: pd.DataFrame | None = None) -> None:
    """Write `stem`.csv and `stem`.tex of the table `name`.

    comparators : the best fixed weights, of `traces.read_comparators`; only regret reads them

    Raises
    ------
    SettingError : there is no such table
    """
    if name not in MAKERS:
        raise unknown("table", name, MAKERS)
    more = [comparators] if wants_comparators(name) else []
    write(MAKERS[name](traces, details, *more), stem)


def streams_table(paths) -> pd.DataFrame:
    """The stream files as they are: sizes, grades, empty queries, norms, margins. One row a file."""
    from scant.data import stream  # which needs Numba

    keys = ["stream", "seed", "queries", "documents", "features", "largest_query", "largest_grade"]
    keys += ["without_relevant", "radius", "margin"]
    facts = [stream.read(path).metadata for path in paths]
    rows = [{key: one.get(key) for key in keys} | {"v_max": one["weight_ratio"]["ndcg"]} for one in facts]
    return pd.DataFrame(rows).astype({"seed": "Int64"})  # data sets have none


def write(frame: pd.DataFrame, stem) -> None:
    """Write `stem`.csv, in full precision, and `stem`.tex, to four digits with LaTeX's booktabs."""
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    with atomic(stem.with_name(f"{stem.name}.tex")) as temporary:
        temporary.write_text(latex(frame), encoding="utf-8")


def latex(frame: pd.DataFrame) -> str:
    """A booktabs tabular of the frame, with numbers to four significant digits."""
    special = {character: f"\\{character}" for character in "&%$#_{}"} | {"~": r"\textasciitilde{}"}
    special |= {"^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}

    def text(value) -> str:
        if pd.isna(value):
            return "--"
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (int, np.integer)):
            return str(value)
        if isinstance(value, float):
            return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.3e}"
        return "".join(special.get(character, character) for character in str(value))

    kinds = "".join("r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in frame.dtypes)
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
    lines += [" & ".join(map(text, frame.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(text, row)) + r" \\" for row in frame.itertuples(index=False)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

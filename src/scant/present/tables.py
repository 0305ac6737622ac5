"""Writing tables as CSV and LaTeX."""

from pathlib import Path

import numpy as np
import pandas as pd

from scant.files import atomic


def write(frame: pd.DataFrame, stem) -> None:
    """Write `stem`.csv in full precision, and `stem`.tex with four significant digits."""
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    with atomic(stem.with_name(f"{stem.name}.tex")) as temporary:
        temporary.write_text(latex(frame), encoding="utf-8")


def latex(frame: pd.DataFrame) -> str:
    """The frame as a LaTeX tabular for the package booktabs, with numbers to four significant digits."""
    special = {character: f"\\{character}" for character in "&%$#_{}"} | {"~": r"\textasciitilde{}"}
    special |= {"^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}  # others in LaTeX's default fonts

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

    alignment = "".join("r" if pd.api.types.is_numeric_dtype(dtype) else "l" for dtype in frame.dtypes)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    lines += [" & ".join(map(text, frame.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(text, row)) + r" \\" for row in frame.itertuples(index=False)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

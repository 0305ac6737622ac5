"""Figures as files: each beside the CSV of exactly what it shows."""

from pathlib import Path

import pandas as pd

from scant.files import atomic


def save(figure, frame: pd.DataFrame, stem) -> None:
    """Write a figure as SVG and PNG, and beside them, as CSV, the frame that it shows."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # the layout is found: finding it takes long, and each format would do so again
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    for ending, metadata in {"svg": {"Date": None}, "png": {"Software": None}}.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)

"""Writing figures, each with a CSV file of exactly the data that it shows."""

from pathlib import Path

import pandas as pd

from scant.files import atomic


def save(figure, frame: pd.DataFrame, stem) -> None:
    """Write a figure as `stem`.svg and `stem`.png, and the frame that it shows as `stem`.csv."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # computing the layout takes long, and savefig would do it again for each format
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    for ending, metadata in {"svg": {"Date": None}, "png": {"Software": None}}.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)

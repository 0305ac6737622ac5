"""Figures. Each is drawn from a frame, and that frame is what its CSV file holds."""

from functools import partial
from pathlib import Path

import pandas as pd

from scant.errors import unknown
from scant.files import atomic
from scant.report import drawing, perceptron, top
from scant.report.catalogue import PERCEPTRON, wants_comparators

MAKERS = {  # figure: its frame, of traces and details, and how it is drawn
    **{
        figure: (partial(perceptron.curves, measure=measure, separable=separable), drawing.curves)
        for figure, (measure, separable) in PERCEPTRON.items()
    },
    "figure-3.4": (top.curves, drawing.curves),
    "figure-aistats16.1": (top.curves, drawing.curves),
    "figure-top-k": (top.against_k, drawing.against_k),
    "figure-top-regret": (top.regret_curves, drawing.regrets),
    "figure-smoothdcg": (top.ends, drawing.dots),
}


def make(name: str, traces: pd.DataFrame, details: dict, stem, comparators: pd.DataFrame | None = None) -> None:
    """Write `stem`.csv, .svg and .png of the figure `name`.

    comparators : the best fixed weights, of `traces.read_comparators`; only regret reads them

    Raises
    ------
    SettingError : there is no such figure, or the study has nothing to show in it
    """
    if name not in MAKERS:
        raise unknown("figure", name, MAKERS)
    frame_of, draw = MAKERS[name]
    more = [comparators] if wants_comparators(name) else []
    frame = frame_of(traces, details, *more)
    save(draw(frame), frame, stem)


def save(figure, frame: pd.DataFrame, stem) -> None:
    """Write a figure as SVG and PNG, and beside them, as CSV, the frame that it shows."""
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    for ending, metadata in {"svg": {"Date": None}, "png": {"Software": None}}.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)

"""Figures. Each is drawn from a frame, and that frame is what its CSV file holds."""

from functools import partial
from pathlib import Path

import pandas as pd

from scant.ads import drawings as drawing_ads
from scant.ads import frames as ads
from scant.errors import unknown
from scant.files import atomic
from scant.games import atlas, drawing_atlas
from scant.games import drawings as drawing_games
from scant.games import frames as games
from scant.online import drawings as drawing
from scant.online import frames as perceptron
from scant.online import frames_top as top
from scant.present.catalogue import PERCEPTRON, wants_comparators


def _atlas(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    return atlas.atlas_frame(observed=games.observed(traces, details))


def _coverage(rows: pd.DataFrame, details: dict) -> pd.DataFrame:
    return ads.coverage(rows)


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
    **{
        figure: (partial(games.averages, start=start), drawing_games.averages)
        for figure, start in {
            "figure-3.1": 0.0,
            "figure-3.2": 0.0,
            "figure-3.3": 0.1,  # the thesis shows rounds 1,000 to 10,000
            "figure-aistats15.1": 0.0,
            "figure-aistats15.2": 0.0,
            "figure-games-rounds": 0.0,
        }.items()
    },
    "figure-games-horizon": (games.against_horizon, drawing_games.against_horizon),
    "figure-games-items": (games.against_items, drawing_games.against_items),
    "figure-games-time": (games.times, drawing_games.times),
    "figure-observability": (_atlas, drawing_atlas.atlas),
    "figure-5.1": (ads.deterministic, drawing_ads.deterministic),
    "figure-5.2": (ads.weighted, drawing_ads.weighted),
    "figure-ctr-by-rate": (ads.by_rate, drawing_ads.by_rate),
    "figure-logs": (ads.weighted, drawing_ads.weighted),
    "figure-coverage": (_coverage, drawing_ads.coverage),
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
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # the layout is found: finding it takes long, and each format would do so again
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    for ending, metadata in {"svg": {"Date": None}, "png": {"Software": None}}.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)

"""Figures and tables, made as the families declare them: each of a frame, which is what its CSV file holds."""

import inspect

import pandas as pd

from scant import families
from scant.errors import unknown
from scant.families import Shown, called
from scant.present import traces


def find(name: str, drawn: bool) -> Shown:
    """The figure (`drawn`) or table of this name.

    Raises
    ------
    SettingError : there is none
    """
    known = {shown.name: shown for _, shown in families.shown() if bool(shown.draw) == drawn}
    if name not in known:
        raise unknown("figure" if drawn else "table", name, known)
    return known[name]


def frame_of(shown: Shown, *read) -> pd.DataFrame:
    """The frame of a figure or table; `read` is what its function takes, see `Shown.reads`."""
    return called(shown.frame)(*read, **shown.options)


def read(shown: Shown, paths, comparator_paths=(), seed: int | None = None) -> tuple:
    """What the frame of a figure or table is made of.

    paths : the files that it reads; comparator_paths : of the best fixed weights, for what reads "regret"
    seed : of the study, for what is made of nothing but chance
    """
    if shown.reads in ("streams", "logs"):
        return (paths,)
    if shown.reads == "nothing":
        return (seed,) if "seed" in inspect.signature(called(shown.frame)).parameters else ()
    compared = (traces.read_comparators(comparator_paths),) if shown.reads == "regret" else ()
    return *traces.read(paths), *compared


def make(shown: Shown, stem, *read) -> None:
    """Write a figure (`stem`.csv, .svg and .png) or a table (`stem`.csv and .tex).

    read : what its frame is made of, as `read` gives it

    Raises
    ------
    SettingError : the study has nothing to show in it
    """
    frame = frame_of(shown, *read)
    drawn = (called(shown.draw)(frame),) if shown.draw else ()
    called(shown.writer)(*drawn, frame, stem)

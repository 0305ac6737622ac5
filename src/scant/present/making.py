"""Making the figures and tables that families declare. Each shows one frame, which is also its CSV file."""

import inspect

import pandas as pd

from scant import families
from scant.errors import unknown
from scant.families import Shown, called
from scant.present import traces
from scant.study import code


def find(name: str, drawn: bool) -> Shown:
    """The declaration of the figure (if `drawn`) or table with this name.

    Raises
    ------
    SettingError : no family declares one
    """
    known = {shown.name: shown for _, shown in families.shown() if bool(shown.draw) == drawn}
    if name not in known:
        raise unknown("figure" if drawn else "table", name, known)
    return known[name]


def frame_of(shown: Shown, *inputs) -> pd.DataFrame:
    """The frame of a figure or table; `inputs` are those that the function `read` returns."""
    return called(shown.frame)(*inputs, **shown.options)


def read(shown: Shown, paths, comparator_paths=(), seed: int | None = None) -> tuple:
    """The inputs of the function that computes the frame of a figure or table, see `Shown.reads`.

    paths : the files that it reads
    comparator_paths : the files of best fixed weights, if it reads "regret"
    seed : of the study, for a frame that is computed from random numbers alone
    """
    if shown.reads in ("streams", "logs"):
        return (paths,)
    if shown.reads == "nothing":
        return (seed,) if "seed" in inspect.signature(called(shown.frame)).parameters else ()
    compared = (traces.read_comparators(comparator_paths),) if shown.reads == "regret" else ()
    return *traces.read(paths), *compared


def make(shown: Shown, stem, *inputs) -> None:
    """Write a figure (`stem`.csv, .svg and .png) or a table (`stem`.csv and .tex).

    inputs : as the function `read` returns them

    Raises
    ------
    SettingError : the study has nothing to show in it
    """
    frame = frame_of(shown, *inputs)
    if shown.draw:  # `literal` by its name, since tables do not depend on it
        drawn = called(shown.draw)(called("scant.present.figures:literal")(frame))
        called(shown.writer)(drawn, frame, stem, code.digest("scant.present.making", *shown.modules))
    else:
        called(shown.writer)(frame, stem)

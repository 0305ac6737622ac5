"""Making the figures and tables that families declare. Each shows one frame, which is also its CSV file."""

import inspect

import pandas as pd

from scant.learning.families import Shown, called
from scant.present import traces
from scant.study import code, named
from scant.study.plan import Plan, Target


def frame_of(shown: Shown, *inputs) -> pd.DataFrame:
    """The frame of a figure or table; `inputs` are those that the function of this name returns."""
    return called(shown.frame)(*inputs, **shown.options)


def inputs(plan: Plan, target: Target) -> tuple:
    """The inputs of the function that computes the frame of a figure or table of a study, see `Shown.reads`.

    Raises
    ------
    DataError : a file is missing, damaged, or another one than its name says
    """
    shown = target.shown
    if shown.reads in ("traces", "regret"):
        runs = traces.read(named.runs(plan, name) for name in target.experiments)
        compared = named.checked(plan, plan.comparator_files(target.experiments)) if shown.reads == "regret" else None
        return runs if compared is None else (*runs, traces.read_comparators(compared))
    if shown.reads == "nothing":
        drawn = "seed" in inspect.signature(called(shown.frame)).parameters
        return (plan.study["seed"],) if drawn else ()
    files = plan.files(target)
    named.check(files)
    return (files,) if shown.reads in ("streams", "logs") else traces.read_rows(files)


def make(shown: Shown, stem, *inputs) -> None:
    """Write a figure (`stem`.csv, .svg and .png) or a table (`stem`.csv and .tex).

    inputs : as the function of this name returns them

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

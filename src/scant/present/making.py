"""Making the figures and tables that families declare.

Each shows one frame, which is also its CSV file.
"""

import inspect

import pandas as pd

from scant.declare.families import Shown, called
from scant.present import traces
from scant.study import code, paths
from scant.study.plan import Plan, Target


def frame_of(shown: Shown, *inputs) -> pd.DataFrame:
    """The frame of a figure or table; `inputs` are those that `Inputs` returns."""
    return called(shown.frame)(*inputs, **shown.options)


class Inputs:
    """The inputs of the functions that compute the frames of a study's figures and tables, see
    `Shown.reads`.

    The inputs that were read last are kept, since figures and tables of a family often show the
    same experiments.
    """

    def __init__(self, plan: Plan):
        self.plan, self._read, self._last = plan, [], ()

    def __call__(self, target: Target) -> tuple:
        """The arguments of the function that computes the frame of a figure or table: frames, paths
        or a seed, by `Shown.reads`.

        Raises
        ------
        DataError : a file is not what its name says
        """
        shown, plan = target.shown, self.plan
        if shown.reads in ("traces", "regret"):
            runs = self._traces(target.experiments)
            if shown.reads == "traces":
                return runs
            return (
                *runs,
                traces.read_comparators(
                    paths.checked(plan, plan.comparator_files(target.experiments))
                ),
            )
        if shown.reads == "nothing":
            drawn = "seed" in inspect.signature(called(shown.frame)).parameters
            return (plan.study["seed"],) if drawn else ()
        files = plan.files(target)
        paths.check(files)
        return (traces.read_coverage(*files) if shown.reads == "coverage" else files,)

    def _traces(self, experiments: list[str]) -> tuple[pd.DataFrame, dict[str, dict]]:
        if experiments != self._read:
            self._read = experiments
            self._last = traces.read(paths.runs(self.plan, name) for name in experiments)
        return self._last


def make(shown: Shown, stem, *inputs) -> None:
    """Write a figure (`stem`.csv, .svg and .png) or a table (`stem`.csv and .tex).

    inputs : as `Inputs` returns them

    Raises
    ------
    SettingError : the study has nothing to show in it
    """
    frame = frame_of(shown, *inputs)
    if shown.draw:  # `literal` by its name, since tables do not depend on it
        drawn = called(shown.draw)(called("scant.present.figures:literal")(frame))
        called(shown.writer)(
            drawn, frame, stem, code.digest("scant.present.making", *shown.modules)
        )
    else:
        called(shown.writer)(frame, stem, shown.caption, shown.printed)

"""Reproducible benchmark studies of learning to rank from scant feedback."""

from importlib import import_module

__version__ = "0.3.0"


def results(folder):
    """The results of a study as DataFrames: `scant.finished.results.Results`.

    folder : results/{study}

    Raises
    ------
    DataError : there is no such folder
    """
    # By its name: an import would make it a part of the code that every job depends on, see
    # `scant.study.code`.
    return import_module("scant.finished.results").Results(folder)


def play(learner, streams, against=("listnet", "random"), seeds=16, k=None, rounds=10_000, **start):
    """Play a learner and others on the same streams, and compare them: `scant.notebook.play`."""
    return import_module("scant.notebook").play(
        learner, streams, against, seeds, k, rounds, **start
    )

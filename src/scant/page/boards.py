"""Who does best on which stream, for the page: the final measures of each experiment as a table."""

from collections.abc import Iterable

from scant.measures import recordable, title_of
from scant.present import ranking
from scant.study.plan import Runs


def boards(experiments: Iterable[Runs]) -> dict[str, dict]:
    """The tables of experiments, by their ids, from their run files.

    An experiment of one learner or one seed has none, nor one whose learners have no final measure in common.
    """
    found = {runs.experiment: ranking.finals(runs) for runs in experiments}
    return {
        name: board(finals)
        for name, finals in found.items()
        if finals and finals.table["seed"].nunique() > 1 and finals.table["learner"].nunique() > 1
    }


def board(finals: ranking.Finals) -> dict:
    """An experiment's table for the template.

    Returns
    -------
    board : the experiment's `kind` and `title`, the `measure` and which values are `better`, `tuning`, the least and
        the largest number of seeds `n`, the titles of its `streams`, and `rows` for learners, the best first:
        `learner`, `mean_rank` and, for each stream, a row of `scant.present.ranking.ranked`, or None
    """
    frame, titles = ranking.ranked(finals.table, finals.quantity.better), finals.details["titles"]
    streams = list(finals.table["stream"].unique())
    rows = []
    for learner, of_learner in frame.groupby("learner", sort=False):
        by_stream = {row["stream"]: row for row in of_learner.to_dict("records")}
        id, comma, policy = learner.partition(", ")
        rows.append(
            {"learner": titles["learners"].get(id, id) + comma + policy, "mean_rank": of_learner["mean_rank"].iloc[0]}
            | {"cells": [by_stream.get(stream) for stream in streams]}
        )
    return {
        "kind": finals.details["kind"], "title": finals.details["title"], "tuning": finals.tuning or "",
        "measure": title_of(finals.measure) if recordable(finals.measure) else finals.quantity.words,
        "better": finals.quantity.better, "n": [int(frame["n"].min()), int(frame["n"].max())], "rows": rows,
        "streams": [titles["streams"].get(id, id) for id in streams],
    }  # fmt: skip

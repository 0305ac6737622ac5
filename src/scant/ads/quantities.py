"""The quantities of claims on ads: one number for each log, learner, epsilon and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from scant.ads import frames

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS_OF_COVERAGE = ["stream", "learner", "seed"]


def ctr(played: Played) -> pd.DataFrame:
    """The CTR of each policy: the true one, or the best estimate (`scant.ads.frames.ctrs`)."""
    fits = frames.ctrs(played.traces)
    chosen_on_test = played.tuning == "paper" and played.details["tuning"] != "paper"
    return (frames.best_on_test(fits) if chosen_on_test else fits[fits["chosen"]]).assign(
        value=lambda rows: rows["ctr"]
    )


def coverage(rows: pd.DataFrame, bound: str = "t") -> pd.DataFrame:
    """1 for each simulated log in which the lower bound on CTR holds (it is at most the true CTR),
    else 0.

    rows : of `scant.ads.coverage.coverage`, each with the number of logs in which a bound holds;
        rows of two-sided intervals are left out
    bound : its name

    Returns
    -------
    frame : stream (campaign, policy and number of rows, joined), learner (the bound), seed (a
        number for each log, those in which the bound holds before the others), and value
    """
    rows = rows[rows["bound"] == bound]
    rows = rows[rows["side"] == "lower"] if (rows["side"] == "lower").any() else rows
    names = [f"{row.campaign}, {row.policy}, {row.rows:,} rows" for row in rows.itertuples()]
    rows = rows.assign(stream=names, learner=bound)
    logs = rows.loc[rows.index.repeat(rows["repeats"])]
    logs = logs.assign(seed=logs.groupby(level=0).cumcount())
    return logs.assign(value=(logs["seed"] < logs["covered"]).astype(float))[
        [*KEYS_OF_COVERAGE, "value"]
    ]

"""The frames of the tables and figures of click logs.

In tables `visits` is the size of a log, and n the number of seeds.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from scant.clicklogs.learners import LEARNERS, Logging
from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells, t_interval
from scant.present.traces import GROUP, names

BOUNDS = {  # the columns of the ends of each interval, by its name in tables and claims
    "betting": ("low", "high"),
    "t": ("t_low", "t_high"),
    "empirical-likelihood": ("likely_low", "likely_high"),
}


NEAR = 0.05  # of the truth: an estimate that is no further from it is near


def estimates(traces: pd.DataFrame) -> pd.DataFrame:
    """The rows of estimators, of all places together, with three more columns: bias, the estimate's
    relative error; limit, that of what estimates tend to; near, 1 if |bias| is at most `NEAR`, else
    0.
    """
    rows = traces[traces["estimate"].notna() & (traces["place"] == 0)]
    bias, limit = (rows[name] / rows["truth"] - 1 for name in ("estimate", "limit"))
    return rows.assign(bias=bias, limit=limit, near=(bias.abs() <= NEAR).astype(float))


def held(rows: pd.DataFrame, bound: str) -> pd.Series:
    """1 where the interval `bound` has the true clicks, 0 where not, NaN where there is none."""
    low, high = (rows[end] for end in BOUNDS[bound])
    inside = ((low <= rows["truth"]) & (rows["truth"] <= high)).astype(float)
    return inside.where(low.notna())


def premises(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The relative error of estimators by visits: the root of the mean square over seeds.

    Raises
    ------
    SettingError : the experiments have no estimator
    """
    rows = []
    for row, group in _curves(estimates(traces), details):
        mean, low, high, n = t_interval(group["bias"] ** 2)
        of_error = {"mean": np.sqrt(mean), "low": np.sqrt(max(low, 0.0)), "high": np.sqrt(high)}
        times_held = held(group, "betting").sum(min_count=1)
        rows.append(row | of_error | {"n": n, "bias": group["limit"].iloc[0], "held": times_held})
    if not rows:
        raise SettingError("no experiment of this figure has an estimator, such as item-position")
    return pd.DataFrame(rows)


def learning(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """NDCG@10 of rankers on held-out queries by visits: means over seeds.

    Raises
    ------
    SettingError : the experiments have no learner
    """
    rows = []
    for row, group in _curves(traces.dropna(subset="ndcg@10"), details):
        rows.append(row | mean_cells(group["ndcg@10"]))
    if not rows:
        raise SettingError("no experiment of this figure has a learner, such as clicks-as-is")
    return pd.DataFrame(rows)


def strength(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The gain of learnt rankers in NDCG@10 on held-out queries over the ranker that logs, by that
    ranker's NDCG@10: means over seeds, a panel for each world and number of visits.

    Raises
    ------
    SettingError : the experiments have no logging-ranker, or nothing else that learns
    """
    learnt, log = traces.dropna(subset="ndcg@10"), ["experiment", "stream", "seed", "visits"]
    of_logging = learnt[learnt["kind"] == Logging.kind].set_index(log)["ndcg@10"]
    learnt = learnt.join(of_logging.rename("logging"), on=log, how="inner")
    rows = []
    for row, group in _curves(learnt[learnt["kind"] != Logging.kind], details):
        world, spread = details[row["experiment"]]["worlds"][row["stream"]]
        visits = f"{row['visits']:,} visits"
        row |= {"stream": f"{world}, {spread}, {visits}", "panel": world}
        row |= {"reading": f"{visits}, {spread}", "logging": group["logging"].mean()}
        rows.append(row | mean_cells(group["ndcg@10"] - group["logging"]))
    if not rows:
        raise SettingError("no experiment of this figure has a learner beside logging-ranker")
    return pd.DataFrame(rows)


def _curves(rows: pd.DataFrame, details: dict) -> Iterator[tuple[dict, pd.DataFrame]]:
    """For each point of a figure, a learner at a number of visits: the columns that name it, and
    its rows.
    """
    for key, group in rows.groupby([*GROUP, "visits"], sort=False):
        traits = {"kind": group["kind"].iloc[0], "objective": group["curve"].iloc[0]}
        yield dict(zip([*GROUP, "visits"], key, strict=True)) | traits | names(key, details), group


def estimates_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of estimators: a row for each experiment, click log, learner and visits."""
    rows = []
    for key, group in estimates(traces).groupby([*GROUP, "visits"], sort=False):
        row = dict(zip([*GROUP, "visits"], key, strict=True))
        kind = group["kind"].iloc[0]
        row |= {"kind": kind, "curve": group["curve"].iloc[0], "premise": LEARNERS[kind].premise}
        row |= {"truth": group["truth"].mean()} | cells("estimate", group["estimate"])
        row |= cells("bias", group["bias"]) | {"error": np.sqrt((group["bias"] ** 2).mean())}
        row |= {"near": group["near"].mean(), "limit": group["limit"].iloc[0]}
        for bound, (low, high) in BOUNDS.items():
            row[f"held_{bound}"] = held(group, bound).mean()
            row[f"width_{bound}"] = (group[high] - group[low]).mean()
        rows.append(row | {"seeds": len(group)})
    return pd.DataFrame(rows)


def places_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of estimates by place: a row for each experiment, click log, learner and place."""
    last = traces[traces["visits"] == traces.groupby(GROUP)["visits"].transform("max")]
    rows = []
    for key, group in last[last["place"] > 0].groupby([*GROUP, "place"], sort=False):
        means = {name: group[name].mean() for name in ("truth", "estimate", "low", "high")}
        rows.append(
            dict(zip([*GROUP, "place"], key, strict=True))
            | {"visits": group["visits"].iloc[0]}
            | means
            | {"held_betting": held(group, "betting").mean(), "seeds": len(group)}
        )
    return pd.DataFrame(rows)


def learnt_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of learners: a row for each experiment, click log, learner and visits."""
    rows = []
    learnt = traces.dropna(subset="ndcg@10")
    for key, group in learnt.groupby([*GROUP, "visits"], sort=False):
        rows.append(
            dict(zip([*GROUP, "visits"], key, strict=True))
            | {"kind": group["kind"].iloc[0], "curve": group["curve"].iloc[0]}
            | cells("ndcg@10", group["ndcg@10"])
            | cells("clicks", group["clicks"])
            | {"seeds": len(group)}
        )
    return pd.DataFrame(rows)

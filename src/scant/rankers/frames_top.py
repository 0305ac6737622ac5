"""The frames of the figures and tables of feedback at the top, computed from its traces.

Every learner is at the rate that its experiment's tuning reading chooses, by the final
time-averaged NDCG@10 of the lists shown.
"""

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells, t_interval
from scant.present.slopes import late_rounds, runs, slope_columns
from scant.present.traces import COMPARED, GROUP, names, read_comparators
from scant.rankers import click_learners
from scant.rankers.frames import free
from scant.rankers.top import EVENTS
from scant.rankers.traces import (
    after,
    at_chosen_rates,
    at_tuned_rates,
    averages,
    chosen_rates,
    difference,
    finals,
    further_measures,
    kept_at,
)

MEASURE = "ndcg@10"
# The measure of each ranking: of the lists shown, and of the learner's own ranking, which is
# without exploration.
RANKINGS = {"shown": MEASURE, "own": f"ranker_{MEASURE}"}
OBJECTIVES = {
    "squared": "Squared",
    "kl": "KL",
    "smoothdcg": "SmoothDCG",
    "ranksvm": "RankSVM",
    "listnet": "ListNet",
    "ndcg-squared": "NDCG-squared",
    "logistic": "Logistic",
}
WITHOUT_K = ("random", "ideal", "held-out", *click_learners.LEARNERS)  # kinds of learners
LAST = 0.1  # the share of the horizon that is late
POINTS = 4  # how many rounds a slope of regret needs at least


def top_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each learner, of the lists shown and of its own ranking;
    settings as played.

    `unvisited` is of queries that a seed never visits, after the last round. `to_listnet` and
    `to_random` are paired differences, on the same seeds, to the first ListNet and Random. Means
    are over the runs that did not fail. Measures that experiments asked for come last, each with
    its t interval.
    """
    rows, further = [], []
    for key, group, last in final_rows(traces, details):
        mean, low, high, n = t_interval(group[MEASURE])
        whole, failed = (
            group[group["failed_in"] == 0],
            group.loc[group["failed_in"] > 0, "failed_in"],
        )
        rows.append(
            _identity(key, group, details)
            | {"rounds": int(group["round"].max()), "mean": mean, "low": low, "high": high}
            | cells("ranker", group[RANKINGS["own"]])
            | cells("unvisited", group["unvisited"])
            | cells("to_listnet", difference(group, last, "listnet", MEASURE))
            | cells("to_random", difference(group, last, "random", MEASURE))
            | {name: whole[name].mean() for name in ("updates", *EVENTS)}
            | {"ok": n, "n": len(group), "failed_in": failed.min() if len(failed) else pd.NA}
        )
        asked = [
            name
            for name in further_measures(group.columns)
            if name in details[key[0]].get("measures", ())
        ]
        further.append(
            {column: value for name in asked for column, value in cells(name, group[name]).items()}
        )
    table = pd.DataFrame(rows).astype({"k": "Int64", "failed_in": "Int64"})
    return table.join(pd.DataFrame(further, table.index))


def regret_table(
    traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The regret at the horizon of each learner that a surrogate judges, its slope, and the bound
    on it.

    Raises
    ------
    SettingError : no learner is judged by a surrogate
    """
    rows = []
    for key, group in regrets(traces, details, comparators).groupby(GROUP, sort=False):
        last = group[(group["round"] == group["end"]) & group["regret"].notna()]
        share = (last["gap"] / last["regret"]).where(last["regret"] > 0)
        rows.append(
            _identity(key, group, details)
            | {"rounds": int(group["round"].max())}
            | cells("regret", last["regret"])
            | {"per_round": (last["regret"] / last["end"]).mean()}
            | growth(group)
            | {"gap_share": share.max(skipna=False)}
            | {"bound": last["bound"].min(), "bound_share": (last["regret"] / last["bound"]).mean()}
            | {"ok": len(last), "n": group["seed"].nunique()}
        )
    if not rows:
        raise SettingError(
            "no learner of the table of regret is judged by a surrogate (kinds rtop, ogd, listnet)"
        )
    return pd.DataFrame(rows).astype({"k": "Int64", "from_round": "Int64"})


def final_rows(traces: pd.DataFrame, details: dict):
    """For each learner on each stream: key, group, last.

    key : its experiment, stream and learner (`GROUP`)
    group : its final rows, on reported seeds at its chosen rate, with the measures of both rankings
        over the last tenth of the rounds, too, such as "ndcg@10 late"
    last : these rows of all learners of its experiment
    """
    for experiment, part in traces.groupby("experiment", sort=False):
        last = finals(part)
        chosen = chosen_rates(last, MEASURE, details[experiment]["tuning"])
        last = at_chosen_rates(last, chosen)
        before = kept_at(at_chosen_rates(part, chosen), 1 - LAST)
        later = after(last, before, list(RANKINGS.values()))
        last = last.assign(**{f"{measure} late": later[measure] for measure in RANKINGS.values()})
        for key, group in last.groupby(GROUP, sort=False):
            yield key, group, last


def _identity(key: tuple, group: pd.DataFrame, details: dict) -> dict:
    """The columns that say which learner it is and which settings it played with; None or NaN for
    settings without effect. key, group : see `final_rows`
    """
    run = group.iloc[0]
    descends, explores, smooths = (
        run["objective"] != "",
        run["k"] > 0,
        "smoothdcg" in (run["objective"], run["judge"]),
    )
    schedule = (
        "released-code"
        if run["source"] == "released-code"
        else details[key[0]]["readings"]["schedule"]
    )
    return dict(zip(GROUP, key, strict=True)) | {
        "kind": run["kind"],
        "objective": run["objective"] or None,
        "judge": run["judge"] or None,
        "k": pd.NA if run["kind"] in WITHOUT_K else run["k"],
        "user": run["user"] or None,
        "source": run["source"],
        "schedule": schedule if descends else None,
        "radius": run["radius"],
        **{
            name: run[name] if explores else np.nan for name in ("mismatch", "gamma", "gamma_decay")
        },
        **{name: run[name] if smooths else np.nan for name in ("epsilon", "epsilon_decay")},
        "sign": run["sign"] if run["objective"] == "smoothdcg" else None,
        "rate": run["setting"],
        "rate_mean": group["rate"].mean(),
        "edge": run["edge"] or None,
        "tuning": run["tuning"],
    }


def regrets(
    traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Traces, on reported seeds and at tuned rates, of learners that a surrogate judges, with three
    more columns: `regret`, `gap`, and `end`, the run's last round.

    The regret is the surrogate loss minus the loss of the best fixed weights; it is NaN in runs
    that failed. The true regret may be larger by at most the gap. Both are NaN where `comparators`
    lack the judge, stream, seed and round.

    details : by experiment, its settings
    comparators : the losses of the best fixed weights, see `read_comparators`; none by default
    """
    parts = [
        at_tuned_rates(part, MEASURE, details[experiment]["tuning"])
        for experiment, part in traces.groupby("experiment", sort=False)
    ]
    judged = pd.concat(parts, ignore_index=True)
    judged = judged[judged["judge"] != ""]
    frame = judged.merge(
        read_comparators([]) if comparators is None else comparators, on=COMPARED, how="left"
    )
    frame["end"] = frame.groupby([*GROUP, "seed"])["round"].transform("max")
    frame["regret"] = (frame["surrogate_loss"] - frame["best"]).where(frame["failed_in"] == 0)
    return frame


def growth(group: pd.DataFrame) -> dict:
    """How a learner's mean regret over seeds grows with the round: the columns of `slope_columns`.

    Where it is not above 0 in some round (`nonpositive` counts them) there is no slope: a learner
    may be better than the best fixed weights for a while. `from_round` : the first round used
    """
    columns = slope_columns(runs(late_rounds(group, "end"), "round"), POINTS)
    start, _ = columns.pop("from"), columns.pop("to")  # slopes end at the horizon
    return columns | {"from_round": start}


def curves(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The frame of figures over rounds: averages over seeds.

    The ideal ranking is left out, and learners whose steps need no rate: `frames_steps` has them.
    """
    learning = traces[(traces["kind"] != "ideal") & ~free(traces)]
    frame = averages(learning, details, MEASURE, ("objective", "k", "user"))
    k = frame["k"].astype("Int64").mask(frame["kind"].isin(WITHOUT_K))
    stated = {name: frame[name].where(frame[name] != "") for name in ("objective", "user")}
    return frame.assign(**stated, k=k)


def ends(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of all learners except the ideal ranking.

    Each has a row for the lists shown, and one for its own ranking if it explores.

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for key, group, _ in final_rows(traces[traces["kind"] != "ideal"], details):
        identity = _identity(key, group, details)
        identity = {
            name: identity[name]
            for name in ("kind", "objective", "k", "user", "epsilon", "epsilon_decay", "sign")
        }
        for ranking, measure in RANKINGS.items():
            if ranking == "own" and not group["explored"].any():
                continue
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {"ranking": ranking, "measure": MEASURE}
                | mean_cells(group[measure])
                | {
                    "rounds": group["round"].max(),
                    "rate": group["setting"].iloc[0],
                    "tuning": group["tuning"].iloc[0],
                }
                | identity
                | names(key, details)
            )
    return without_failed(pd.DataFrame(rows)).astype({"k": "Int64"})


def without_failed(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with a run that did not fail (n > 0). Raise a SettingError if there is none."""
    if not frame["n"].any():
        raise SettingError("every run of this figure failed: the tables say where")
    return frame[frame["n"] > 0]


def against_k(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The rows of `ends` with two more columns, for a figure over k.

    place : k, "all" for learners that see every grade, or None for reference lines (ListNet,
        Random, learners from clicks, and users' own)
    line : the name of the line that a point is on: its objective, followed by the learner if
        another learner has the same objective and k

    Raises
    ------
    SettingError : no learner has a k
    """
    frame = ends(traces, details)
    placed = frame["kind"].isin(["rtop", "ogd"])
    frame["place"] = frame["k"].astype(str).mask(frame["k"] == 0, "all").where(placed, None)
    if not placed.any():
        raise SettingError(
            "no learner of this figure descends from the grades of its top k (kind rtop)"
        )
    again = (
        frame.groupby(
            ["experiment", "stream", "ranking", "objective", "place"], dropna=False
        ).cumcount()
        > 0
    )
    objective = frame["objective"].map(OBJECTIVES)
    frame["line"] = objective.where(~again, objective + ", " + frame["label"]).where(
        placed, frame["label"]
    )
    return frame


def regret_curves(
    traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The mean regret over seeds at each round of the comparators, with a 95 % t interval, and its
    slope.

    `gap` is the mean of the comparators' gaps.

    Raises
    ------
    SettingError : no learner has a regret
    """
    rows = []
    for key, group in regrets(traces, details, comparators).groupby(GROUP, sort=False):
        run, slopes = group.iloc[0], growth(group)
        for instant, part in group[group["regret"].notna()].groupby("round"):
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {"round": instant}
                | mean_cells(part["regret"])
                | {"gap": part["gap"].mean()}
                | slopes
                | {"rate": run["setting"], "tuning": run["tuning"], "kind": run["kind"]}
                | {name: run[name] for name in ("objective", "judge", "k", "steps")}
                | names(key, details)
            )
    if not rows:
        raise SettingError(
            "no learner of this figure has a regret: its experiments need regret: true, and "
            "learners that a convex surrogate judges"
        )
    return pd.DataFrame(rows).astype({"from_round": "Int64"})

"""What the tables and figures of feedback at the top hold, as frames.

Every learner is at the rate that its experiment's tuning reading chooses, by the final time-averaged NDCG@10 of the
lists shown.
"""

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.online.top import EVENTS
from scant.online.traces import (
    at_chosen_rates,
    at_tuned_rates,
    averages,
    chosen_rates,
    difference,
    finals,
    further_measures,
)
from scant.present.intervals import cells, t_interval
from scant.present.slopes import late_rounds, slope, slope_columns
from scant.present.traces import COMPARED, GROUP, names, read_comparators

MEASURE = "ndcg@10"
RANKINGS = {"shown": MEASURE, "own": f"ranker_{MEASURE}"}  # the lists shown, and the learner's without exploration
OBJECTIVES = {
    "squared": "Squared",
    "kl": "KL",
    "smoothdcg": "SmoothDCG",
    "ranksvm": "RankSVM",
    "listnet": "ListNet",
    "ndcg-squared": "NDCG-squared",
}
POINTS = 4  # how many rounds a slope of regret needs


def top_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Final time-averaged NDCG@10 of each learner, of the lists shown and of its own ranking, with settings as played.

    `to_listnet` and `to_random` are paired differences, on the same seeds, to the first ListNet and Random. Means are
    over the runs that ended well. Measures that experiments ask for besides come last, each with its t interval.
    """
    rows, more = [], []
    for key, group, best in _finals(traces, details):
        mean, low, high, n = t_interval(group[MEASURE])
        well, failed = group[group["failed_in"] == 0], group.loc[group["failed_in"] > 0, "failed_in"]
        rows.append(
            _identity(key, group, details)
            | {"rounds": int(group["round"].max()), "mean": mean, "low": low, "high": high}
            | cells("ranker", group[RANKINGS["own"]])
            | cells("to_listnet", difference(group, best, "listnet", MEASURE))
            | cells("to_random", difference(group, best, "random", MEASURE))
            | {name: well[name].mean() for name in ("updates", *EVENTS)}
            | {"ok": n, "n": len(group), "failed_in": failed.min() if len(failed) else pd.NA}
        )
        asked = [name for name in further_measures(group.columns) if name in details[key[0]].get("measures", ())]
        more.append({column: value for name in asked for column, value in cells(name, group[name]).items()})
    table = pd.DataFrame(rows).astype({"k": "Int64", "failed_in": "Int64"})
    return table.join(pd.DataFrame(more, table.index))


def regret_table(traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None) -> pd.DataFrame:
    """Regret at the horizon of each learner that a surrogate judges, how it grows, and the bound on it."""
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
        raise SettingError("no learner of the table of regret is judged by a surrogate (kinds rtop, ogd, listnet)")
    return pd.DataFrame(rows).astype({"k": "Int64", "from_round": "Int64"})


def _finals(traces: pd.DataFrame, details: dict):
    """Each learner's key and final rows of reported seeds, with those of its whole experiment."""
    for experiment, part in traces.groupby("experiment", sort=False):
        last = finals(part)
        best = at_chosen_rates(last, chosen_rates(last, MEASURE, details[experiment]["tuning"]))
        for key, group in best.groupby(GROUP, sort=False):
            yield key, group, best


def _identity(key: tuple, group: pd.DataFrame, details: dict) -> dict:
    """Who the learner is and what it was played as; None or NaN for what does nothing in it."""
    one = group.iloc[0]
    descends, explores, softens = one["objective"] != "", one["k"] > 0, "smoothdcg" in (one["objective"], one["judge"])
    schedule = "released-code" if one["source"] == "released-code" else details[key[0]]["readings"]["schedule"]
    return dict(zip(GROUP, key, strict=True)) | {
        "kind": one["kind"],
        "objective": one["objective"] or None,
        "judge": one["judge"] or None,
        "k": pd.NA if one["kind"] in ("random", "ideal") else one["k"],
        "source": one["source"],
        "schedule": schedule if descends else None,
        "radius": one["radius"],
        **{name: one[name] if explores else np.nan for name in ("mismatch", "gamma", "gamma_decay")},
        **{name: one[name] if softens else np.nan for name in ("epsilon", "epsilon_decay")},
        "sign": one["sign"] if one["objective"] == "smoothdcg" else None,
        "rate": one["setting"],
        "rate_mean": group["rate"].mean(),
        "tuning": one["tuning"],
    }


def regrets(traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None) -> pd.DataFrame:
    """The traces of reported seeds of learners that a surrogate judges, with `regret`, `gap` and the run's `end`.

    The regret is the surrogate's loss less that of the best fixed weights; NaN where there are none for the judge,
    stream, seed and round, and in runs that failed. It may be greater by as much as the gap.
    """
    parts = [
        at_tuned_rates(part, MEASURE, details[experiment]["tuning"])
        for experiment, part in traces.groupby("experiment", sort=False)
    ]
    judged = pd.concat(parts, ignore_index=True)
    judged = judged[judged["judge"] != ""]
    frame = judged.merge(read_comparators([]) if comparators is None else comparators, on=COMPARED, how="left")
    frame["end"] = frame.groupby([*GROUP, "seed"])["round"].transform("max")
    frame["regret"] = (frame["surrogate_loss"] - frame["best"]).where(frame["failed_in"] == 0)
    return frame


def growth(group: pd.DataFrame) -> dict:
    """How one learner's regret grows with the round: the slopes of its seeds, as `slope_columns` shows them.

    Rounds whose regret is not above 0 are dropped and counted as `nonpositive`: a learner may beat the best fixed
    weights for a while. `from_round` is the first round that a slope is over.
    """
    late = late_rounds(group[group["regret"].notna()], "end")
    usable = late[late["regret"] > 0]
    slopes = [slope(run["round"], run["regret"], POINTS) for _, run in usable.groupby("seed")]
    columns = slope_columns(slopes, late["round"])
    start, _ = columns.pop("from"), columns.pop("to")  # the last round is the horizon
    return columns | {"from_round": start, "nonpositive": len(late) - len(usable)}


def curves(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """What the figures over rounds show: the averages of all learners but the ideal."""
    frame = averages(traces[traces["kind"] != "ideal"], details, MEASURE, ("objective", "k"))
    k = frame["k"].astype("Int64").mask(frame["kind"] == "random")
    return frame.assign(objective=frame["objective"].where(frame["objective"] != ""), k=k)


def ends(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Final time-averaged NDCG@10 of all learners but the ideal: a row for the lists shown, one for the own ranking."""
    rows = []
    for key, group, _ in _finals(traces[traces["kind"] != "ideal"], details):
        about = _identity(key, group, details)
        about = {name: about[name] for name in ("kind", "objective", "k", "epsilon", "epsilon_decay", "sign")}
        for ranking, measure in RANKINGS.items():
            if ranking == "own" and not group["explored"].any():
                continue
            mean, low, high, n = t_interval(group[measure])
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {"ranking": ranking, "measure": MEASURE, "mean": mean, "low": low, "high": high, "n": n}
                | {"rounds": group["round"].max(), "rate": group["setting"].iloc[0], "tuning": group["tuning"].iloc[0]}
                | about
                | names(key, details)
            )
    frame = pd.DataFrame(rows).astype({"k": "Int64"})
    if not frame["n"].any():
        raise SettingError("every run of this figure failed: the tables say where")
    return frame[frame["n"] > 0]


def against_k(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The ends with their place in a figure over k.

    `place` is k, "all" for every grade, or None for what is a reference line: ListNet, Random and learners of one's
    own. `line` names the line that a point is on: the objective, and the learner, too, if it is not the objective's
    first at this k.
    """
    frame = ends(traces, details)
    placed = frame["kind"].isin(["rtop", "ogd"])
    frame["place"] = frame["k"].astype(str).mask(frame["k"] == 0, "all").where(placed, None)
    if not placed.any():
        raise SettingError("no learner of this figure descends from the grades of its top k (kind rtop)")
    again = frame.groupby(["experiment", "stream", "ranking", "objective", "place"], dropna=False).cumcount() > 0
    objective = frame["objective"].map(OBJECTIVES)
    frame["line"] = objective.where(~again, objective + ", " + frame["label"]).where(placed, frame["label"])
    return frame


def regret_curves(traces: pd.DataFrame, details: dict, comparators: pd.DataFrame | None = None) -> pd.DataFrame:
    """The regret at each of the comparators' rounds: its mean over seeds and 95 % t interval, and the slope.

    `gap` is the mean over seeds of the comparators' gaps.
    """
    rows = []
    for key, group in regrets(traces, details, comparators).groupby(GROUP, sort=False):
        one, about = group.iloc[0], growth(group)
        for instant, part in group[group["regret"].notna()].groupby("round"):
            mean, low, high, n = t_interval(part["regret"])
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {"round": instant, "mean": mean, "low": low, "high": high, "n": n, "gap": part["gap"].mean()}
                | about
                | {"rate": one["setting"], "tuning": one["tuning"], "kind": one["kind"]}
                | {name: one[name] for name in ("objective", "judge", "k")}
                | names(key, details)
            )
    if not rows:
        raise SettingError(
            "no learner of this figure has a regret: its experiments need regret: true, and learners that a convex "
            "surrogate judges"
        )
    return pd.DataFrame(rows).astype({"from_round": "Int64"})

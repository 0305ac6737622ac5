"""Steps that need no rate beside rates: the frames of `figure-steps` and `figure-steps-top`, and
their tables.

Learners with one base are compared: they differ only in how they take steps.
"""

import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP, names
from scant.rankers import steps
from scant.rankers.frames import belongs
from scant.rankers.frames_top import OBJECTIVES, RANKINGS
from scant.rankers.learners import LEARNERS
from scant.rankers.traces import AS_SEEN, chosen_rates, finals

MEASURE = "ndcg@10"
BEST, TUNED, THEORY = "best rate in hindsight", "tuned rate", "theory's rate"
ORDER = [BEST, TUNED, THEORY, *(cls.about for cls in steps.STEPS.values())]
LISTNET = "ListNet"
# what learners of one base share
BASE = ["kind", "own_measure", "objective", "k", "way", "gamma", "iterate"]
MEASURES = {"ap": "AP", "ndcg": "NDCG", "ndcg@10": "NDCG@10"}


def ways(traces: pd.DataFrame) -> pd.DataFrame:
    """The final rows, on reported seeds, of all ways to take steps, with three more columns.

    base : the learner whatever its steps, in words made of the settings `BASE`
    edge : at which edge of its grid a chosen rate is, see `scant.rankers.traces.edge`
    steps : `TUNED` (a rate chosen on other seeds), `BEST` (the best on these seeds), `THEORY`, a
        single rate as "rate 0.01", or the name of steps that need no rate

    If several learners of a base take steps in the same way, the first counts. Learners from
    clicks, users' own, and those that do not learn have no rows.
    """
    learning = [kind for kind, learner in LEARNERS.items() if learner.learns]
    learns = (traces["objective"] != "") | traces["kind"].isin(learning)
    last = finals(traces[belongs(traces, MEASURE) & learns])
    last = last.assign(base=_bases(last))
    by_rate = last[last["setting"] != "none"]
    parts = [by_rate[by_rate["setting"] == "theory"].assign(steps=THEORY)]
    several = by_rate.groupby(GROUP)["setting"].transform("nunique") > 1
    single = by_rate[~several & (by_rate["setting"] != "theory")]
    parts.append(single.assign(steps="rate " + single["setting"].astype(str)))
    choices = by_rate[several]
    # under grid: tuning-seeds the reported seeds play one rate, which is the best of no grid
    reported = choices["setting"].astype(object).where(~choices["tuning_seed"])
    on_grid = reported.groupby([choices[key] for key in GROUP]).transform("nunique") > 1
    for way, tuning, played in (
        (TUNED, "held-out", choices),
        (BEST, "paper", choices[on_grid]),
    ):
        chosen = chosen_rates(played, MEASURE, tuning)
        chosen = chosen[chosen["tuning"] == tuning]  # not tuned if no seeds are set aside
        parts.append(
            played.merge(chosen[[*GROUP, "setting", "edge"]], on=[*GROUP, "setting"]).assign(
                steps=way
            )
        )
    free = last[last["setting"] == "none"]
    words = free["steps"].map({kind: cls.about for kind, cls in steps.STEPS.items()})
    parts.append(free.assign(steps=words))
    rows = pd.concat(parts, ignore_index=True).fillna({"edge": ""})
    rows = rows[~rows["tuning_seed"]]
    place = ["experiment", "stream", "base", "steps"]
    return rows[rows["learner"] == rows.groupby(place, sort=False)["learner"].transform("first")]


def _bases(rows: pd.DataFrame) -> pd.Series:
    """For each row, its learner in words that leave out which steps it takes."""
    # a probability that is chosen tells none apart
    several = rows.groupby(GROUP)["gamma"].transform("nunique") > 1
    keys = rows.assign(gamma=rows["gamma"].mask(several, 0.0))[BASE].itertuples(
        index=False, name=None
    )
    return pd.Series([_words(*key) for key in keys], rows.index, dtype=str)


def _words(
    kind: str, own_measure: str, objective: str, k: int, way: str, gamma: float, iterate: str
) -> str:
    by = f", {iterate}" if iterate not in ("", "last") else ""
    if kind == "seen":
        return seen_words(objective, way, gamma) + (f", top {k}" if k else ", all") + by
    if objective:
        return (
            OBJECTIVES[objective]
            + (f", top {k}" if k else "" if kind == "listnet" else ", full")
            + by
        )
    words = {
        "slam": "SLAM",
        "max-hinge": "Max-hinge",
        "listnet": "ListNet",
        "binary-perceptron": "Perceptron on pairs",
    }
    return words[kind] + (f" ({MEASURES[own_measure]})" if kind == "slam" else "") + by


def seen_words(objective: str, way: str, gamma: float) -> str:
    """The loss that a learner of the kind `seen` descends on, in words.

    gamma : its probability of exploring, named if `way` is `AS_SEEN`
    objective : the surrogate, a key of `OBJECTIVES`
    way : how its loss is taken from what was seen, in words
    """
    explored = f", {gamma:.0%} explored" if way == AS_SEEN and gamma > 0 else ""
    return f"{OBJECTIVES[objective]}, {way}{explored}"


def behind_best(rows: pd.DataFrame, base: str | None = None) -> pd.Series:
    """Each row's final NDCG@10 less its base's at the best rate in hindsight, on the same stream
    and seed; NaN where the base has no grid of rates.

    rows : of `ways`
    base : the base to compare all rows with, in place of their own
    """
    best = rows[rows["steps"] == BEST].set_index(["experiment", "stream", "base", "seed"])[MEASURE]
    runs = rows.assign(base=base or rows["base"])[list(best.index.names)]
    return rows[MEASURE] - best.reindex(pd.MultiIndex.from_frame(runs)).to_numpy()


def compared(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each way to take steps, with 95 % t intervals over seeds.

    Rows are of learners that have steps that need no rate, and of ListNet. `own` is of the
    learner's own ranking, without exploration. `to_best` and `to_listnet` are paired differences to
    the same learner, and to ListNet, at their best rates in hindsight. `explored` is the share of
    rounds that explored.

    Raises
    ------
    SettingError : no learner has steps that need no rate, or every run failed
    """
    table = []
    for experiment, part in traces.groupby("experiment", sort=False):
        rows = ways(part)
        rows = rows.assign(to_best=behind_best(rows), to_listnet=behind_best(rows, LISTNET))
        rows = rows[rows["base"].isin([*rows.loc[rows["setting"] == "none", "base"], LISTNET])]
        bases = list(dict.fromkeys(rows["base"]))
        rows = rows.assign(
            base_place=rows["base"].map(bases.index),
            way_place=rows["steps"]
            .map({way: place for place, way in enumerate(ORDER)})
            .fillna(len(ORDER)),
        ).sort_values(["stream", "base_place", "way_place"], kind="stable", key=_in_order)
        for (stream, base, way), group in rows.groupby(["stream", "base", "steps"], sort=False):
            key = (experiment, stream, group["learner"].iloc[0])
            mean, low, high, n = t_interval(group[MEASURE])
            table.append(
                dict(zip(GROUP, key, strict=True))
                | {"base": base, "steps": way, "rate": group["setting"].iloc[0]}
                | {"edge": group["edge"].iloc[0] or None, "kind": group["kind"].iloc[0]}
                | {
                    "rounds": int(group["round"].max()),
                    "measure": MEASURE,
                    "mean": mean,
                    "low": low,
                    "high": high,
                }
                | cells("own", group[RANKINGS["own"]])
                | cells("to_best", group["to_best"])
                | cells("to_listnet", group["to_listnet"])
                | {
                    "explored": (group["explored"] / group["round"]).mean(),
                    "n": n,
                    "failed": len(group) - n,
                }
                | names(key, details)
            )
    frame = pd.DataFrame(table)
    if frame.empty or not frame["n"].any():
        raise SettingError(
            "no run has steps that need no rate (steps: adagrad, dog, coin or cocob), or all failed"
        )
    return frame


def _in_order(column: pd.Series) -> pd.Series:
    """Keys to sort rows by: numbers as they are, names by their first occurrence."""
    return column if column.dtype.kind in "if" else pd.Series(pd.factorize(column)[0], column.index)


def table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The frame `compared` as a table, without the columns that only figures need."""
    return compared(traces, details).drop(columns=["panel", "label", "reading", "measure", "kind"])

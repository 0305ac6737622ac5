"""What judged lists are worth, in rounds of one grade, and what a start from them costs or earns.

Learners that start from lists are compared with the cold one of their experiment, the first of the
kind `ridge` that starts from nothing, by seed and at chosen rates.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells
from scant.present.traces import GROUP, names
from scant.rankers import traces as traced
from scant.rankers.frames_seen import played_in_a_way
from scant.rankers.frames_top import LAST, MEASURE, final_rows, without_failed
from scant.rankers.ridge import ALONE, COLD, Ridge

FIRST = 1000  # rounds
OFFLINE = "unvisited"
WORTH, START = "worth", "start"  # the parts of the figure
ONE_CLICK = {"ucb": "LinUCB", "greedy": "ridge", "thompson": "Thompson"}
NOTHING = "no learner starts from judged lists beside one that starts from nothing"


def worth_in_rounds(rounds: np.ndarray, curve: np.ndarray, value: float) -> float:
    """The round at which a curve first comes to a value, on a logarithmic scale between two rounds;
    the last one if it never does, the first if it begins there.

    rounds, curve : float64 (n), ascending rounds, and the curve after each
    """
    reached = np.flatnonzero(curve >= value)
    if not len(reached):
        return float(rounds[-1])
    if reached[0] == 0:
        return float(rounds[0])
    place = slice(reached[0] - 1, reached[0] + 1)
    return float(np.exp(np.interp(value, curve[place], np.log(rounds[place]))))


def overtaken_in(rounds: np.ndarray, gaps: np.ndarray) -> float:
    """The round from which on a learner is overtaken by another; the last one if it never is.

    rounds, gaps : float64 (n), ascending rounds, and the learner's lead summed up to each
    """
    ahead = np.flatnonzero(np.diff(gaps, prepend=0.0) >= 0)
    return float(rounds[ahead[-1]]) if len(ahead) else float(rounds[0])


def beside_cold(rows: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """For each stream and each learner that starts from judged lists there, the learner's rows and
    the cold learner's.

    rows : of one experiment, at chosen rates
    """
    for _, of_stream in rows.groupby("stream", sort=False):
        ridge = of_stream[of_stream["kind"] == Ridge.kind]
        cold = ridge[(ridge["start"] == COLD) & (ridge["user"] == "")]
        cold = cold[cold["learner"] == next(iter(cold["learner"]), None)]
        for _, group in ridge[ridge["start"] != COLD].groupby("learner", sort=False):
            if len(cold):
                yield group, cold


def by_seed(rows: pd.DataFrame, cold: pd.DataFrame) -> pd.DataFrame:
    """A learner against the cold one, a row for each seed in which neither failed, with the columns

    worth : for a ranker of lists alone, the round after which the cold learner ranks queries never
        visited as well; the last round if it never does, and then `beyond` is 1
    overtaken : for a ranker of lists alone, the round from which on the cold learner shows better
        lists
    first, late : NDCG@10 of the lists shown over the first `FIRST` rounds (up to the last kept
        round among them) and over the last tenth, less the cold learner's
    """
    seeds, colds = {}, dict(list(cold.groupby("seed")))
    alone = rows["start"].iloc[0] == ALONE
    for seed, own in rows.groupby("seed"):
        if seed not in colds or own["failed_in"].max() or colds[seed]["failed_in"].max():
            continue
        both = own.merge(colds[seed], on="round", suffixes=("", " cold"))
        rounds = both["round"].to_numpy(float)
        gaps = rounds * (both[MEASURE] - both[f"{MEASURE} cold"]).to_numpy()  # summed
        last = np.searchsorted(rounds, (FIRST, (1 - LAST) * rounds[-1]), "right") - 1
        early, before = np.maximum(last, 0)
        seeds[seed] = {"first": gaps[early] / rounds[early]}
        if before < len(rounds) - 1:
            late = (gaps[-1] - gaps[before]) / (rounds[-1] - rounds[before])
            seeds[seed]["late"] = late
        known = both[f"{OFFLINE} cold"].notna().to_numpy()
        if alone and known.any():
            curve, value = both.loc[known, f"{OFFLINE} cold"].to_numpy(), both[OFFLINE].iloc[-1]
            seeds[seed]["worth"] = worth_in_rounds(rounds[known], curve, value)
            seeds[seed]["beyond"] = float(curve.max() < value)
            seeds[seed]["overtaken"] = overtaken_in(rounds[known], gaps[known])
    columns = ["worth", "beyond", "overtaken", "first", "late"]
    return pd.DataFrame.from_dict(seeds, "index").reindex(columns=columns)


def table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """A row for each learner that starts from judged lists, on each stream, with means over seeds.

    unvisited : NDCG@10 of the learner's own ranking after the last round, on queries never visited
    worth, overtaken, first, late : see `by_seed`; worth_median : the median over seeds; beyond : in
        how many seeds the lists are worth more than all rounds; first_worst : the least `first`
    grades : how many grades the lists have
    cue_tells : what the judge's cue tells of grades, see `scant.rankers.judges.Judge`
    """
    rows = []
    for experiment, part in _tuned(traces, details):
        for group, cold in beside_cold(part):
            run, values = group.iloc[0], by_seed(group, cold)
            ends = group.drop_duplicates("seed", keep="last")
            rows.append(
                dict(zip(GROUP, (experiment, run["stream"], run["learner"]), strict=True))
                | {key: run[key] for key in ("start", "lists", "judged_by", "cue_tells")}
                | {"grades": run["graded"], "rate": traced.rate_in_words(run)}
                | {"rounds": int(group["round"].max())}
                | cells(OFFLINE, ends[OFFLINE])
                | cells("worth", values["worth"])
                | {
                    "worth_median": values["worth"].median(),
                    "beyond": values["beyond"].sum(min_count=1),
                }
                | cells("overtaken", values["overtaken"])
                | cells("first", values["first"])
                | {"first_worst": values["first"].min()}
                | cells("late", values["late"])
                | {"ok": len(values), "n": ends["seed"].nunique()}
            )
    if not rows:
        raise SettingError(NOTHING)
    return pd.DataFrame(rows).astype({"beyond": "Int64"})


def by_grades(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The points of a figure: for each stream, of two panels (the column `part`).

    `WORTH` : NDCG@10 on queries never visited, by the number of `grades` bought: of the cold
        learner, which buys one a round, and of rankers of lists alone, a line for each judge
    `START` : `by_seed`'s `first`, by judge and `start`

    Raises
    ------
    SettingError : no learner starts from judged lists
    """
    rows = []
    for experiment, part in _tuned(traces, details):
        with_cold = set()
        for group, cold in beside_cold(part):
            run = group.iloc[0]
            key = (experiment, run["stream"], run["learner"])
            facts = dict(zip(GROUP, key, strict=True)) | names(key, details)
            facts |= {"measure": MEASURE, "rounds": group["round"].max(), "lists": run["lists"]}
            if run["stream"] not in with_cold:
                with_cold.add(run["stream"])
                for grades, seeds in cold[cold[OFFLINE].notna()].groupby("round"):
                    of_cold = {"part": WORTH, "line": COLD, "start": COLD, "grades": grades}
                    rows.append(facts | of_cold | {"lists": 0} | mean_cells(seeds[OFFLINE]))
            of_judge = {"line": run["judged_by"], "start": run["start"], "grades": run["graded"]}
            if run["start"] == ALONE:
                ends = group.drop_duplicates("seed", keep="last")
                rows.append(facts | {"part": WORTH} | of_judge | mean_cells(ends[OFFLINE]))
            else:
                first = by_seed(group, cold)["first"]
                rows.append(facts | {"part": START} | of_judge | mean_cells(first))
    if not rows:
        raise SettingError(NOTHING)
    return without_failed(pd.DataFrame(rows))


def by_user(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of learners from clicks, a line for each user, for
    `drawings.steps`.

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for key, group, last in final_rows(traces[traces["user"] != ""], details):
        run = group.iloc[0]
        if run["kind"] == Ridge.kind:
            start = "" if run["start"] == COLD else f", {run['start']}"
            way = f"{ONE_CLICK[run['explore']]}, one click{start}"
        else:
            way = {"pdgd": "PDGD, ten clicks"}.get(run["kind"], "pairs, ten clicks")
        rows.append(played_in_a_way(key, group, last, details, run["user"], way, {}))
    return without_failed(pd.DataFrame(rows))


def _tuned(traces: pd.DataFrame, details: dict) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of reported seeds at chosen rates, by experiment."""
    for experiment, part in traces.groupby("experiment", sort=False):
        yield experiment, traced.at_tuned_rates(part, MEASURE, details[experiment]["tuning"])

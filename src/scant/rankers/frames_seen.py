"""Learners that descend on what they saw: the figures and the table by the number of grades seen.

Ways to use what was seen are in `scant.rankers.traces.way`.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells, t_interval
from scant.present.traces import GROUP, names
from scant.rankers.frames_top import MEASURE, RANKINGS, WITHOUT_K, final_rows, without_failed
from scant.rankers.traces import (
    AS_SEEN,
    CONTROL,
    EVERY_GRADE,
    LEAST_SQUARES,
    SCALED,
    UNBIASED,
    at_chosen_rates,
    beside,
    chosen_rates,
    difference,
    finals,
    rate_in_words,
)

WITHOUT_GRADES = {  # what learners make of clicks, of other queries, or of nothing, by kind
    "clicked": "clicks as they are",
    "pdgd": "clicks by PDGD",
    "dbgd": "clicks by DBGD",
    "ips": "clicks by inverse propensities",
    "held-out": "grades of other queries",
    "boosted-ridge": "least squares and boosted trees",
    "random": "no feedback",
}
# the columns that tell learners apart by what they see and what they make of it; those that see
# all; and by what they see and whether they remember it
FEEDBACK, ALL, MEMORY = ("feedback", "seen", "use"), ("every",), ("seen", "remember")
LEFT_OUT = ("held-out", "ideal", "random", "boosted-ridge")  # which learn nothing, or no weights
FORGETTING, REMEMBERING, UNVISITED = "forgetting", "remembering", "never visited"  # panels
NUMBERS = {0: "all", 1: "one", 2: "two", 3: "three", 5: "five", 10: "ten"}
USES = {  # the figure's panels, by way
    AS_SEEN: AS_SEEN,
    EVERY_GRADE: AS_SEEN,
    LEAST_SQUARES: LEAST_SQUARES,
    UNBIASED: UNBIASED,
    CONTROL: UNBIASED,
    SCALED: UNBIASED,
}


def table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each learner that descends on a surrogate, and of ListNet
    and Random.

    `own` is of the learner's own ranking, without exploration; `late` and `own_late` are over the
    last tenth of the rounds; `unvisited` is of queries that a seed never visits, after the last
    round. `to_unbiased`, `to_full` and `to_listnet` are differences, paired by seed, to the
    unbiased estimate from as many grades and to every grade seen, of the same loss, and to ListNet.
    """
    rows = []
    for key, group, last in final_rows(traces, details):
        run = group.iloc[0]
        mean, low, high, n = t_interval(group[MEASURE])
        same_place = (last["stream"] == run["stream"]) & (last["steps"] == run["steps"])
        same_loss = (last["objective"] == run["objective"]) & (last["objective"] != "")
        same = last[same_place & same_loss]
        unbiased = same[(same["way"] == UNBIASED) & (same["k"] == run["k"])]
        full = same[(same["way"] == EVERY_GRADE) | (same["k"] == 0)]
        rows.append(
            dict(zip(GROUP, key, strict=True))
            | {"loss": run["objective"] or None, "way": run["way"] or None}
            | {"k": pd.NA if run["kind"] in WITHOUT_K else run["k"]}
            | {"explored": (group["explored"] / group["round"]).mean()}
            | {"steps": run["steps"] or None, "rate": run["setting"], "edge": run["edge"] or None}
            | {"rounds": int(group["round"].max()), "mean": mean, "low": low, "high": high}
            | cells("own", group[RANKINGS["own"]])
            | cells("late", group[f"{MEASURE} late"])
            | cells("own_late", group[f"{RANKINGS['own']} late"])
            | cells("unvisited", group["unvisited"])
            | cells("to_listnet", difference(group, last, "listnet", MEASURE))
            | cells("to_unbiased", beside(group, unbiased, MEASURE))
            | cells("to_full", beside(group, full, MEASURE))
            | {"ok": n, "n": len(group)}
        )
    return pd.DataFrame(rows).astype({"k": "Int64"})


def by_feedback(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How far the best learner from each amount of feedback is behind the best linear one that sees
    every grade, in NDCG@10.

    The gap is of the time averages at the horizon, of the lists shown, paired by seed, with 95 % t
    intervals over seeds. Which learner is best is chosen as rates are: on seeds of their own, if
    the experiment sets some aside. None of them remembers grades.

    Its columns, beside others:

    feedback : "all", "ten", ..., "clicks"
    seen : how many grades the learner sees; infinite for all, 0 for clicks
    use : "as seen", steps on the loss of the documents seen; "least squares" on their grades; or
        "unbiased", steps on an estimate of the whole loss (the papers' at any mismatch). Learners
        that do something else are left out
    reference : the title of the learner that sees every grade

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for experiment, part in traces[~traces["remember"]].groupby("experiment", sort=False):
        tuning = details[experiment]["tuning"]
        references = {stream: group for (stream, *_), _, group in best(part, tuning, ALL)}
        for (stream, *key), of, group in best(part, tuning, FEEDBACK):
            run, reference = group.iloc[0], references.get(stream)
            if reference is None:
                continue
            rows.append(
                {"experiment": experiment, "learner": run["learner"], "stream": stream}
                | dict(zip(FEEDBACK, key, strict=True))
                | {"of": of, "rate": rate_in_words(run), "tuning": tuning}
                | {"measure": MEASURE, "rounds": group["round"].max()}
                | {"reference": title(details, reference)}
                | mean_cells(paired(group, reference, MEASURE))
                | names((experiment, stream, run["learner"]), details)
            )
    if not rows:
        raise SettingError(
            "no learner of the figure descends on what it saw beside one that sees every grade, or "
            "every run failed"
        )
    return without_failed(pd.DataFrame(rows))


def by_returns(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The NDCG@10 of the best learners from one grade and from all, with and without memory, less
    that of the best linear one that sees every grade and forgets; by how often a query returns.

    It is of the lists shown, averaged over the rounds, or, in the panel `UNVISITED`, of queries
    never visited, after the last round. Differences are paired by seed, with 95 % t intervals over
    seeds; the best learners are chosen as by `by_feedback`.

    returns : rounds / queries visited
    line : the generator of a stream, whose points are joined, or "data", whose points are not

    Raises
    ------
    SettingError : no learner from one grade is beside one that sees every grade
    """
    rows = []
    for experiment, part in traces.groupby("experiment", sort=False):
        tuning = details[experiment]["tuning"]
        best_rows = {
            (stream, *key): group for (stream, *key), _, group in best(part, tuning, MEMORY)
        }
        for (stream, seen, remembers), group in best_rows.items():
            reference, run = best_rows.get((stream, np.inf, False)), group.iloc[0]
            if reference is None or seen not in (1, np.inf):
                continue
            whose = "one grade" if seen == 1 else "every grade"
            panels = {REMEMBERING if remembers else FORGETTING: MEASURE}
            if not remembers:
                panels[UNVISITED] = "unvisited"
            for panel, measure in panels.items():
                if group is reference or group[measure].isna().all():
                    continue
                rows.append(
                    {"experiment": experiment, "learner": run["learner"], "stream": stream}
                    | {"use": panel, "feedback": whose, "measure": MEASURE}
                    | {"returns": (group["round"] / group["visited"]).mean()}
                    | {"line": run["generator"]}
                    | {"rate": rate_in_words(run), "tuning": tuning}
                    | {"rounds": group["round"].max(), "reference": title(details, reference)}
                    | mean_cells(paired(group, reference, measure))
                    | names((experiment, stream, run["learner"]), details)
                )
    if not rows:
        raise SettingError(
            "no learner from one grade is beside one that sees every grade, or every run failed"
        )
    return without_failed(pd.DataFrame(rows))


def title(details: dict, group: pd.DataFrame) -> str:
    """The title of the learner of some final rows."""
    run = group.iloc[0]
    return details[run["experiment"]]["titles"]["learners"][run["learner"]]


def paired(group: pd.DataFrame, others: pd.DataFrame, measure: str) -> pd.Series:
    """The differences of a measure between the final rows of two learners, by seed."""
    return group.set_index("seed")[measure] - others.set_index("seed")[measure]


def best(part: pd.DataFrame, tuning: str, keys: tuple[str, ...]) -> Iterator[tuple]:
    """For each stream of an experiment and each combination of values of `keys`: the tuple of both,
    how many learners have them, and the best one's final rows, on reported seeds at its rate.

    The best has the highest mean NDCG@10 of the lists shown; on seeds of their own, if the
    experiment sets some aside and the reading `tuning` is "held-out".

    part : the traces of the experiment
    keys : columns of the traces, or of `_feedback`; learners with NaN in one are left out
    """
    ends = finals(part)
    chosen = chosen_rates(ends, MEASURE, tuning)
    last = at_chosen_rates(ends, chosen)
    aside = ends[ends["tuning_seed"]].merge(chosen, on=[*GROUP, "setting"])
    aside = aside if tuning == "held-out" and len(aside) else last
    last, aside = (frame.assign(**_feedback(frame)) for frame in (last, aside))
    scores = aside.groupby([*GROUP, *keys], sort=False)[MEASURE].mean().dropna().reset_index()
    for key, learners in scores.groupby(["stream", *keys], sort=False):
        first = learners.loc[learners[MEASURE].idxmax(), "learner"]
        yield key, len(learners), last[(last["stream"] == key[0]) & (last["learner"] == first)]


def _feedback(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """The columns of `FEEDBACK` and `ALL` that traces lack. NaN: `seen` of learners of `LEFT_OUT`,
    `use` of those that the figure by feedback leaves out.
    """
    of_clicks = rows["user"] != ""
    grades = rows["k"].map(lambda k: NUMBERS.get(k, str(k)))
    use = rows["way"].map(USES).where(~rows["kind"].isin(("listnet", "newton")))
    learns = ~rows["kind"].isin(LEFT_OUT)
    seen = rows["k"].where(rows["k"] > 0, np.inf).mask(of_clicks, 0).where(learns)
    every = seen.where(seen == np.inf)
    columns = (grades.mask(of_clicks, "clicks"), seen, use, every)
    return dict(zip((*FEEDBACK, *ALL), columns, strict=True))


def by_use(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each learner by its `way`, for `drawings.steps`.

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for key, group, last in final_rows(traces[traces["kind"] != "ideal"], details):
        run = group.iloc[0]
        base = details[key[0]]["titles"]["learners"][key[2]]
        way = WITHOUT_GRADES.get(run["kind"], run["way"] or run["kind"])
        own = cells("own", group[f"ranker_{MEASURE}"])
        rows.append(played_in_a_way(key, group, last, details, base, way, own))
    return without_failed(pd.DataFrame(rows))


def played_in_a_way(
    key: tuple,
    group: pd.DataFrame,
    last: pd.DataFrame,
    details: dict,
    base: str,
    way: str,
    beside: dict,
) -> dict:
    """A row of a frame for `drawings.steps`: the final NDCG@10 of a learner.

    key, group, last : see `final_rows`
    base : the line that the point is drawn on; way : the way to play that it stands for
    beside : further columns
    """
    run = group.iloc[0]
    mean, low, high, n = t_interval(group[MEASURE])
    return (
        dict(zip(GROUP, key, strict=True))
        | {"base": base, "steps": way}
        | {"rate": rate_in_words(run), "tuning": run["tuning"], "kind": run["kind"]}
        | {"rounds": int(group["round"].max())}
        | {"measure": MEASURE, "mean": mean, "low": low, "high": high}
        | beside
        | cells("to_listnet", difference(group, last, "listnet", MEASURE))
        | {"n": n}
        | names(key, details)
    )


def iterates(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 by the weights (last, or a mean) that lists are ranked by, in
    the columns that `drawings.steps` draws.

    `to_last` is the paired difference to the same learner ranking by its last weights.

    Raises
    ------
    SettingError : every run failed
    """
    words = {
        "last": "last weights",
        "average": "average of all",
        "suffix": "average of a suffix",
    }
    rows = []
    for key, group, last in final_rows(traces[traces["kind"] != "ideal"], details):
        run = group.iloc[0]
        same = (last["stream"] == run["stream"]) & (last["kind"] == run["kind"])
        others = last[same & (last["iterate"] == "last")]
        first, titles = next(iter(others["learner"]), key[2]), details[key[0]]["titles"]["learners"]
        base, way = titles[first].removesuffix(", last weights"), words[run["iterate"]]
        to_last = cells("to_last", beside(group, others, MEASURE))
        rows.append(played_in_a_way(key, group, last, details, base, way, to_last))
    return without_failed(pd.DataFrame(rows))

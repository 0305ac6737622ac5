"""The frames of the figures and tables of the perceptron family, computed from its traces."""

from collections.abc import Iterator

import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP
from scant.rankers.learners import LEARNERS
from scant.rankers.steps import STEPS
from scant.rankers.streams import ADVERSARY, SEPARABLE
from scant.rankers.traces import (
    SHOWN,
    at_chosen_rates,
    averages,
    chosen_rates,
    difference,
    finals,
    further_measures,
)

OWN = "own"  # the column that `by_own_measure` adds


def belongs(frame: pd.DataFrame, measure: str) -> pd.Series:
    """For each row, whether its learner is shown under `measure`.

    Learners of AP are shown under AP, learners of NDCG under NDCG, and learners without a measure
    under both.
    """
    neutral = frame["kind"].isin(kinds("neutral")) | frame["kind"].str.contains(":")
    return neutral | ((frame["own_measure"] == "ap") == (measure == "ap"))


def kinds(fact: str) -> list[str]:
    """The kinds of learners whose classes declare that `fact` is true, such as "neutral"."""
    return [kind for kind, learner in LEARNERS.items() if getattr(learner, fact)]


def free(frame: pd.DataFrame) -> pd.Series:
    """For each row, whether its learner's steps need no rate."""
    return frame["steps"].isin(STEPS)


def by_own_measure(last: pd.DataFrame) -> pd.DataFrame:
    """The final rows with a further column `OWN`: AP for learners of AP, NDCG@10 for all others.

    Rates for a measure that no learner learns are chosen by this column. So rows of that measure
    show the same runs as rows of AP and NDCG@10.
    """
    return last.assign(**{OWN: last["ap"].where(last["own_measure"] == "ap", last["ndcg@10"])})


def _measures(last: pd.DataFrame, details: dict) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """For each measure that tables show: its name, the final rows to show, and the column that
    chooses their rates.

    Measures that experiments asked for are shown for all their learners.
    """
    for measure in SHOWN:
        yield measure, last[belongs(last, measure)], measure
    for measure in further_measures(last.columns):
        asking = [
            name
            for name, experiment in details.items()
            if measure in experiment.get("measures", ())
        ]
        yield measure, by_own_measure(last[last["experiment"].isin(asking)]), OWN


def finals_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged measures of each learner at its chosen rate, with 95 % t intervals
    over seeds.

    There are rows for both readings of `tuning`. `difference` is the paired difference to ListNet
    at its own chosen rate, on the same seeds.
    """
    rows = []
    for measure, rows_of_measure, choosing in _measures(finals(traces), details):
        for tuning in ("held-out", "paper"):
            chosen = chosen_rates(rows_of_measure, choosing, tuning)
            chosen = chosen[chosen["tuning"] == tuning]
            best = at_chosen_rates(rows_of_measure, chosen)
            for key, group in best.groupby(GROUP, sort=False):
                mean, low, high, n = t_interval(group[measure])
                rows.append(
                    dict(zip(GROUP, key, strict=True))
                    | {
                        "source": group["source"].iloc[0],
                        "measure": measure,
                        "tuning": tuning,
                        "main": tuning == details[key[0]]["tuning"],
                        "rate": group["setting"].iloc[0],
                        "edge": group["edge"].iloc[0] or None,
                        "rounds": int(group["round"].max()),
                        "mean": mean,
                        "low": low,
                        "high": high,
                        "last_ten": group[f"{measure} last ten"].mean(),
                        "ok": n,
                        "n": len(group),
                        **cells("difference", difference(group, best, "listnet", measure)),
                        "updates": group["updates"].mean(),
                    }
                )
    return pd.DataFrame(rows)


def curves(traces: pd.DataFrame, details: dict, measure: str, separable: bool) -> pd.DataFrame:
    """The averages over seeds of `measure` by round: on separable streams, or on all others except
    the adversary.

    Learners that show the ideal ranking are left out, as are those whose steps need no rate:
    `frames_steps` has them.

    Raises
    ------
    SettingError : the study has no such stream
    """
    rows = traces[traces["generator"] != ADVERSARY]
    rows = rows[rows["generator"].isin(SEPARABLE) == separable]
    rows = rows[belongs(rows, measure) & ~rows["kind"].isin(kinds("sees_grades")) & ~free(rows)]
    if rows.empty:
        raise SettingError(
            "the study has no stream for this figure: "
            + ("a separable one" if separable else "a data set or one with noisy grades")
        )
    return averages(rows, details, measure)


def streams_table(paths) -> pd.DataFrame:
    """One row for each stream file: its sizes, grades, queries without a relevant document, norms
    and margin.
    """
    from scant.data import stream as streams  # which needs Numba

    keys = ["stream", "seed", "queries", "documents", "features", "largest_query", "largest_grade"]
    keys += ["without_relevant", "radius", "margin"]
    metadata = [streams.read(path).metadata for path in paths]
    rows = [
        {key: stream.get(key) for key in keys} | {"v_max": stream["weight_ratio"]["ndcg"]}
        for stream in metadata
    ]
    return pd.DataFrame(rows).astype({"seed": "Int64"})  # data sets have no seed

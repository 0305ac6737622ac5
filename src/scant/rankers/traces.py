"""The traces of contextual learners: their columns, the choice of learning rates, and averages over
seeds.
"""

import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from scant.declare.declarations import TUNING
from scant.errors import SettingError
from scant.measures import recordable
from scant.present.intervals import over_seeds
from scant.present.traces import GROUP, names
from scant.rankers import top
from scant.rankers.newton import Newton
from scant.rankers.policy_gradient import PolicyGradient
from scant.rankers.ridge import Ridge

# settings as played that reports show, and the value that stands for "none" in their columns
PLAYED = {
    "objective": "",
    "judge": "",
    "k": 0,
    "steps": "",
    "exploration": "",
    "gamma": math.nan,
    "gamma_decay": math.nan,
    "mismatch": math.nan,
    "radius": math.nan,
    "epsilon": math.nan,
    "epsilon_decay": math.nan,
    "sign": "",
    "user": "",
    "iterate": "",
    "remember": False,
    "explore": "",
    "start": "",
    "lists": 0,
    "judged_by": "",
    "way": "",
}
AS_SEEN, CONTROL, UNBIASED, EVERY_GRADE = "as seen", "control variate", "unbiased", "every grade"
# less than the inverse of probabilities
SCALED, CLIPPED = f"{UNBIASED} but for mismatch", "weights clipped"
LEAST_SQUARES = "least squares"  # in closed form, see `scant.rankers.ridge`

# `setting` names the rate: a number, "theory" or "none", see `completed`
RUN = [*GROUP, "seed", "setting"]
# What stands between a rate and the number that is chosen with it, by the setting that lists
# several.
WITH = {"exploration": "exploring", "gamma": "exploring", "alpha": "alpha", "mismatch": "mismatch"}
CHOSEN_WITH = re.compile(rf", ({'|'.join(WITH.values())}) ")
# what all runs record
MEASURED = ["ndcg@10", "ndcg", "ap", "ranker_ndcg@10", "unvisited", "loss", "surrogate_loss"]
FLAT = 5e-4  # means of a measure that differ by no more are equal for the choice of a rate

# the measures that tables and figures show of every experiment, and choose rates by
SHOWN = ["ndcg@10", "ap"]


def identity(run: dict) -> dict:
    """The columns that a run file's metadata determine: text and numbers, the same in all rows of
    the file.
    """
    columns = {
        key: run[key] for key in ("experiment", "stream", "learner", "source", "own_measure")
    }
    columns["kind"] = run["learner_settings"]["kind"]
    played = run["learner_settings"] | run["resolved"]
    if played.get("k") == top.EVERY_GRADE:
        played["k"] = 0
    if columns["kind"] == PolicyGradient.kind:
        played["k"] = PolicyGradient.k
    columns |= {key: run.get(key, math.nan) for key in ("graded", "cue_tells")}  # of judged lists
    played["way"] = way(columns["kind"], played)
    columns |= {key: type(none)(played.get(key, none)) for key, none in PLAYED.items()}
    stream = run["stream_settings"]
    distribution = stream.get("settings", {}).get("distribution", "")  # which of those of Table B.1
    return columns | {"generator": stream.get("generator") or "data", "distribution": distribution}


def way(kind: str, played: dict) -> str:
    """How a learner uses what it sees, in words; "" for all that learn from no grade or click."""
    if kind == Newton.kind or (kind in ("ogd", "listnet") and played.get("objective")):
        return EVERY_GRADE
    if kind == "rtop":
        return UNBIASED if played["mismatch"] == 1 else SCALED
    if kind in ("clicked", "ips"):
        return (
            AS_SEEN
            if played.get("propensities", "none") == "none" or kind == "clicked"
            else UNBIASED
        )
    if kind != "seen":
        return {Ridge.kind: LEAST_SQUARES, PolicyGradient.kind: UNBIASED}.get(kind, "")
    if played["floor"]:
        return AS_SEEN if played["floor"] == 1 else CLIPPED
    if played["objective"] == "squared":
        return CONTROL
    return f"{UNBIASED} but for unseen pairs" if played["exploration"] == top.SLOT else UNBIASED


def completed(table: pa.Table) -> pa.Table:
    """The table of a run file with two more columns.

    setting : text, the rate: a number, "theory", or "none" for learners without one. What is chosen
        with it follows, as in "0.01, exploring 0.1"; a probability of exploring, or a mismatch, is
        in the column of that name, too
    tuning_seed : whether the seed is set aside to choose rates; the others are reported
    """
    setting = pc.if_else(
        pc.equal(table["theory"], 1), "theory", pc.cast(table["rate"], pa.string())
    )
    setting = pc.if_else(pc.is_nan(table["rate"]), "none", setting)
    for name in [name for name in table.column_names if name.startswith(top.CHOSEN)]:
        number, key = table[name], name.removeprefix(top.CHOSEN)
        setting = pc.binary_join_element_wise(
            setting, pc.cast(number, pa.string()), f", {WITH[key]} "
        )
        column = "gamma" if key == "exploration" else key
        table = table.drop_columns(name)
        if column in table.column_names:
            table = table.set_column(table.column_names.index(column), column, number)
    table = table.append_column("setting", setting.combine_chunks().dictionary_encode())
    return table.append_column("tuning_seed", pc.greater_equal(table["seed"], TUNING))


def further_measures(columns) -> list[str]:
    """The columns of traces with measures that an experiment asked for, besides the measures that
    all runs record.
    """
    return [name for name in columns if name not in MEASURED and recordable(name)]


def finals(traces: pd.DataFrame) -> pd.DataFrame:
    """The last kept round of every run at every rate: its row of the traces, with `{measure} last
    ten` besides.

    `{measure} last ten`, for `SHOWN` and the measures that experiments asked for, is the mean of
    the time averages after the run's last ten rounds. A run that failed has NaN for all measures.
    """
    measures = further_measures(traces.columns)
    horizon = traces.groupby(RUN)["round"].transform("max")
    last = traces[traces["round"] == horizon]
    tail = (
        traces[traces["round"] > horizon - 10]
        .groupby(RUN)[[*SHOWN, *measures]]
        .mean()
        .add_suffix(" last ten")
    )
    last = last.merge(tail.reset_index(), on=RUN)
    last.loc[last["failed_in"] > 0, [*MEASURED, *measures, *tail.columns]] = np.nan
    return last


def kept_at(rows: pd.DataFrame, share: float) -> pd.DataFrame:
    """The rows at the last kept round that is not after a share of the horizon, of runs that did
    not fail.
    """
    runs = rows.groupby(RUN)["round"]
    early = rows[(rows["round"] <= share * runs.transform("max")) & (rows["failed_in"] == 0)]
    return early[early["round"] == early.groupby(RUN)["round"].transform("max")]


def after(rows: pd.DataFrame, before: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """The rows, whose `measures` (means, or sums of losses) now leave out each run's rounds up to
    its row of `before`.

    before : rows of `kept_at`, at most one of each run; a run without one keeps all rounds
    """
    earlier = before.set_index(RUN).reindex(pd.MultiIndex.from_frame(rows[RUN]))
    start, end = earlier["round"].fillna(0).to_numpy(), rows["round"].to_numpy()
    later = {}
    for name in measures:
        first_rounds, whole = earlier[name].fillna(0).to_numpy(), rows[name].to_numpy()
        summed = name in ("loss", "surrogate_loss")
        later[name] = (
            whole - first_rounds if summed else (end * whole - start * first_rounds) / (end - start)
        )
    return rows.assign(**later)


def chosen_rates(last: pd.DataFrame, measure: str, tuning: str) -> pd.DataFrame:
    """For each learner and stream, the rate with the best final time-averaged `measure`, on average
    over seeds.

    A rate at which a run failed is chosen only if a run failed at every rate.

    Parameters
    ----------
    last : of `finals`
    tuning : "held-out" averages over the seeds set aside to choose rates, "paper" over the reported
        ones

    Returns
    -------
    frame : experiment, stream, learner, setting, tuning and edge (see `edge`). Where no seeds are
        set aside, as against the adversary, rates are chosen as under "paper", and `tuning` says
        so. A single rate is no choice: it keeps the tuning asked for
    """
    rows = []
    for key, group in last[[*GROUP, "setting", "tuning_seed", measure]].groupby(GROUP, sort=False):
        set_aside = group["tuning_seed"]
        held_out = tuning == "held-out" and set_aside.any()
        by_rate = group[set_aside if held_out else ~set_aside].groupby("setting", sort=False)[
            measure
        ]
        # NaN as soon as one run failed
        means = by_rate.mean().where(by_rate.count() == by_rate.size())
        best = means.idxmax() if means.notna().any() else means.index[0]
        rows.append(
            (*key, best, tuning if held_out or len(means) == 1 else "paper", edge(best, means))
        )
    return pd.DataFrame(rows, columns=[*GROUP, "setting", "tuning", "edge"])


def edge(best: str, means: pd.Series) -> str:
    """Whether the best rate is the least or the largest of its grid, so that one beyond it may be
    better.

    "largest of 5", for instance; "" for a rate within the grid, for one that is not a number, and
    where the mean at the end is above its neighbour's by `FLAT` at most. A setting that is chosen
    with the rate, such as a probability of exploring, has an edge, too ("least exploring of 3"): of
    the rates at the setting's best value, of the setting at the best rate.

    means : by rate, as text, the means that the rate was chosen by
    """
    rate, *chosen = CHOSEN_WITH.split(best)
    numbers = {name: CHOSEN_WITH.split(name) for name in means.index}
    rates = {name: parts[0] for name, parts in numbers.items() if parts[1:] == chosen}
    edges = [
        _end(
            best,
            means,
            {name: number for name, number in rates.items() if number not in ("theory", "none")},
            "",
        )
    ]
    if chosen:
        same_rate = {name: parts[2] for name, parts in numbers.items() if parts[0] == rate}
        edges.append(_end(best, means, same_rate, f" {chosen[0]}"))
    return ", ".join(filter(None, edges))


def _end(best: str, means: pd.Series, numbers: dict[str, str], words: str) -> str:
    """At which end of its grid the option `best` is, in words; "" if at none.

    means : by option; numbers : the grid: by option, its number as text
    words : what the number is, "" for a rate
    """
    grid = sorted(numbers, key=lambda name: float(numbers[name]))
    if len(grid) < 2 or best not in (grid[0], grid[-1]):
        return ""
    end, following = ("least", grid[1]) if best == grid[0] else ("largest", grid[-2])
    return f"{end}{words} of {len(grid)}" if means[best] - means[following] > FLAT else ""


def at_chosen_rates(frame: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """The rows of reported seeds at the rates that `chosen_rates` gave."""
    return frame[~frame["tuning_seed"]].merge(chosen, on=[*GROUP, "setting"])


def at_tuned_rates(traces: pd.DataFrame, measure: str, tuning: str) -> pd.DataFrame:
    """The rows of reported seeds at the rates that `measure` chooses under the reading `tuning`."""
    return at_chosen_rates(traces, chosen_rates(finals(traces), measure, tuning))


def difference(group: pd.DataFrame, last: pd.DataFrame, kind: str, measure: str) -> pd.Series:
    """A learner's final measure minus that of the first learner of `kind` on the same stream, as
    `beside` has it; NaN for learners that are of this kind themselves.

    group : the learner's rows of `last`
    last : the final rows of an experiment, at chosen rates
    """
    run = group.iloc[0]
    same_stream = (last["experiment"] == run["experiment"]) & (last["stream"] == run["stream"])
    of_kind = (last["kind"] == kind) & (run["kind"] != kind)
    return beside(group, last[same_stream & of_kind], measure)


def beside(group: pd.DataFrame, others: pd.DataFrame, measure: str) -> pd.Series:
    """A learner's final measure minus that of the first of other learners, paired by seed.

    group, others : final rows on one stream, at chosen rates

    Returns
    -------
    differences : by seed; NaN for seeds that only one of the two has, and where the first is this
        learner itself
    """
    first = next(iter(others["learner"]), None)
    paired = others[(others["learner"] == first) & (group["learner"].iloc[0] != first)]
    return group.set_index("seed")[measure] - paired.set_index("seed")[measure]


def rate_in_words(run) -> str:
    """The rate of a row of `chosen_rates`, and whether it is at an edge of its grid."""
    return f"{run['setting']} ({run['edge']})" if run["edge"] else run["setting"]


def averages(
    traces: pd.DataFrame, details: dict, measure: str, columns: tuple = ()
) -> pd.DataFrame:
    """The time-averaged `measure` at each kept round: its mean over the reported seeds, with a 95 %
    t interval.

    Each learner is at the rate that its experiment's tuning reading chooses. Runs that failed are
    left out.

    columns : further columns of the traces to keep, the same in all rows of a learner

    Raises
    ------
    SettingError : every run failed
    """
    by_experiment = traces.groupby("experiment", sort=False)
    tuned = [
        at_tuned_rates(part, measure, details[experiment]["tuning"])
        for experiment, part in by_experiment
    ]
    whole = [part[part["failed_in"] == 0] for part in tuned]
    if not any(map(len, whole)):
        raise SettingError("every run of this figure failed: the tables say where")
    rows = pd.concat(whole, ignore_index=True)
    means = over_seeds(rows, [*GROUP, "round"], measure).assign(measure=measure)
    edges = (
        rows.drop_duplicates(GROUP)
        .set_index(GROUP)["edge"]
        .reindex(pd.MultiIndex.from_frame(means[GROUP]))
    )
    means["rate"] = [
        f"{rate} ({edge})" if edge else rate
        for rate, edge in zip(means["setting"], edges, strict=True)
    ]
    titles = pd.DataFrame(
        [names(key, details) for key in means[GROUP].itertuples(index=False, name=None)]
    )
    kept_columns = ["measure", "mean", "low", "high", "n", "rate", "tuning", "kind", "own_measure"]
    return means[[*GROUP, "round", *kept_columns, *columns]].join(titles)

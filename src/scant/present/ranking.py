"""Which learner does best on which stream: the final measures of an experiment.

The best learner of a stream is chosen by the same seeds that it is then compared on. So intervals
of differences have to hold for all pairs of the stream's learners together: they are paired t
intervals with Bonferroni's correction. A learner is told apart from the best if its interval is off
0. With 95 % confidence no learner that is told apart is as good as the best.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd

from scant.declare import families
from scant.declare.declarations import called
from scant.errors import DataError, SettingError, check_name
from scant.measures import recordable, title_of
from scant.present import traces
from scant.present.intervals import mean_cells, t_interval
from scant.study.plan import Runs

LEVEL = 0.95
TUNINGS = ("held-out", "paper")
ROUNDING = 1e-12  # differences this small are none
DIFFERENCE = ["difference", "difference_low", "difference_high"]  # to the best
UNVISITED = "unvisited"  # a final measure that is no measure of a list shown
WORDS = {UNVISITED: "NDCG@10 of queries never visited, by learners' own rankings at the end"}
HOW = "by paired t intervals over seeds, 95 % for all pairs on a stream together (Bonferroni)"


class Finals(NamedTuple):
    """What learners of an experiment are ranked by.

    table : the final measure by `stream`, `learner` and `seed`, as the column `value`
    quantity : its declaration
    measure : its name
    tuning : how learning rates are chosen, or None
    details : of the experiment
    feedback : what each learner sees, by its id, see `scant.declare.families.Family.feedback`
    measures : those that learners may be ranked by
    """

    table: pd.DataFrame
    quantity: families.Quantity
    measure: str
    tuning: str | None
    details: dict
    feedback: dict[str, str]
    measures: list[str]


def leaderboard(runs: Runs, measure: str | None = None, tuning: str | None = None) -> pd.DataFrame:
    """The final measures of one experiment: see `ranked` and `titled` for the columns.

    runs, measure, tuning : see `finals`

    Raises
    ------
    SettingError : there is no such measure or reading
    DataError : there is nothing to show, or a single seed
    """
    final = finals(runs, measure, tuning)
    if final is None:
        raise SettingError(
            f"learners of kind {runs.details['kind']!r} have no final measure in "
            "common to be ranked by"
        )
    if final.table.empty:
        raise DataError(
            runs.experiment, f"has no final {final.measure}: every run failed, or there is none"
        )
    if final.table["seed"].nunique() < 2:
        advice = "Ask for more seeds in the study"
        raise DataError(
            runs.experiment, "has a single seed, which gives no interval", advice=advice
        )
    return titled(ranked(final.table, final.quantity.better), final, runs.experiment)


def titled(board: pd.DataFrame, finals: Finals, experiment: str) -> pd.DataFrame:
    """The rows of `ranked` (`board`) with what tables print of them.

    Returns
    -------
    frame : with the columns stream_title, learner_title; feedback: what the learner sees, "" if its
        family has but one; experiment; measure; in_words: the measure's name; better: "high" or
        "low"; tuning
    """
    titles = finals.details["titles"]
    streams = {id: titles["streams"].get(id, id) for id in board["stream"].unique()}
    shared = {title for title, count in Counter(streams.values()).items() if count > 1}
    # a policy has its epsilon after the id of its learner
    named = board["learner"].str.partition(", ")
    return board.assign(
        stream_title=board["stream"].map(
            lambda id: f"{streams[id]} ({id})" if streams[id] in shared else streams[id]
        ),
        learner_title=named[0].map(lambda id: titles["learners"].get(id, id)) + named[1] + named[2],
        feedback=named[0].map(finals.feedback).fillna(""),
        experiment=experiment,
        measure=finals.measure,
        in_words=WORDS.get(finals.measure)
        or (title_of(finals.measure) if recordable(finals.measure) else finals.quantity.words),
        better=finals.quantity.better,
        tuning=finals.tuning,
    )


def finals(runs: Runs, measure: str | None = None, tuning: str | None = None) -> Finals | None:
    """The final measures of one experiment, without runs that failed; None if its learners have no
    measure in common.

    runs : of the experiment
    measure : for online learners NDCG@10, another that the runs recorded, or "unvisited"; otherwise
        the family's only one
    tuning : "held-out" or "paper"; the experiment's own if absent

    Raises
    ------
    SettingError : there is no such measure or reading
    """
    return _finals(runs.experiment, *traces.read([runs]), measure, tuning)


def by_measure(runs: Runs) -> list[Finals]:
    """The final measures of one experiment, by each measure that it may be ranked by, its own
    first; see `finals`.
    """
    frame, details = traces.read([runs])
    first = _finals(runs.experiment, frame, details)
    others = (measure for measure in first.measures if measure != first.measure) if first else ()
    finals = [first, *(_finals(runs.experiment, frame, details, measure) for measure in others)]
    return finals if first else []


def _finals(name: str, frame, details_by_name: dict, measure=None, tuning=None) -> Finals | None:
    """What `finals` returns; frame, details_by_name : see `traces.read`"""
    details = details_by_name[name]
    declared = families.of(details).quantities
    final = next((name for name, quantity in declared.items() if quantity.better), None)
    if final is None:
        return None
    several = "measure" in declared[final].options
    measures = [column for column in frame.columns if recordable(column)] if several else [final]
    if several and UNVISITED in frame and frame[UNVISITED].notna().any():
        measures.append(UNVISITED)
    measure = measure or measures[0]
    check_name("measure", measure, measures)
    tuning = _reading(name, details, tuning, "tuning_seed" in frame and frame["tuning_seed"].any())
    played = traces.Played(name, tuning, frame, details, None)
    values = called(declared[final].values)(played, **({"measure": measure} if several else {}))
    table = _by_policy(values.dropna(subset="value"))
    feedback = families.of(details).feedback(frame)
    return Finals(table, declared[final], measure, tuning, details, feedback, measures)


def _reading(name: str, details: dict, tuning: str | None, set_aside: bool) -> str | None:
    """The reading to rank under: `tuning` if it is given, else the experiment's own; None if it has
    none. A SettingError, if no runs were tuned so.

    set_aside : whether there are seeds that only choose rates
    """
    own = details.get("tuning")
    if tuning is None:
        return own
    check_name("tuning", tuning, TUNINGS)
    chosen_apart = details.get("grid") == "tuning-seeds"
    if tuning != own and (own is None or chosen_apart or (tuning == "held-out" and not set_aside)):
        raise SettingError(
            f"experiment {name!r} has no runs that were tuned so ({tuning}): leave tuning out"
        )
    return tuning


def ranked(values: pd.DataFrame, better: str) -> pd.DataFrame:
    """A row for each learner on each stream, those of the best mean rank first.

    values : the columns stream, learner, seed and value
    better : which values are better, "high" or "low"

    Returns
    -------
    frame : stream, learner; mean, low, high, n: the mean over n seeds with its 95 % t interval;
        best: whether no mean is better; difference, difference_low, difference_high: to the best,
        paired by seed, with the interval by which learners are told apart, NaN for the best;
        told_apart: whether the learner is worse than the best, see the module; rank: of its mean on
        the stream, 1 for the best, ties share the mean of theirs; mean_rank: over the streams that
        all learners played
    """
    parts = {
        stream: _compared(rows.pivot_table("value", "seed", "learner", sort=False), better)
        for stream, rows in values.groupby("stream", sort=False)
    }
    board = pd.concat(parts, names=["stream", "learner"]).reset_index()
    ranks = board.pivot_table("rank", "learner", "stream").dropna(axis="columns")
    board["mean_rank"] = board["learner"].map(ranks.mean(axis="columns"))
    return board.sort_values("mean_rank", kind="stable", ignore_index=True)


def _compared(values: pd.DataFrame, better: str) -> pd.DataFrame:
    """The columns of `ranked` for one stream, by learner.

    Differences that are the same for all seeds tell nothing apart: such seeds drew nothing anew.

    values : a row for each seed, a column for each learner, NaN where a run failed
    """
    gains = values if better == "high" else -values
    means = gains.mean()
    first = means.idxmax()
    pairs = max(1, len(means) * (len(means) - 1) // 2)
    rows = {}
    for learner in values:
        paired = (values[learner] - values[first]).dropna()
        difference, *ends, _ = t_interval(paired, 1 - (1 - LEVEL) / pairs)
        if paired.max() - paired.min() <= ROUNDING:
            ends = [np.nan, np.nan]
        worse_by = [-end if better == "high" else end for end in ends]
        rows[learner] = {
            **mean_cells(values[learner], LEVEL),
            **dict(zip(DIFFERENCE, (difference, *ends), strict=True)),
            "best": bool(means[learner] >= means[first] - ROUNDING),
            "told_apart": min(worse_by) > ROUNDING,
        }
    return pd.DataFrame.from_dict(rows, orient="index").assign(rank=(-means).rank())


def _by_policy(values: pd.DataFrame) -> pd.DataFrame:
    """The values; a learner with several epsilons is a learner for each, "ips, epsilon = 0.1"."""
    if "epsilon" not in values:
        return values
    several = values.groupby("learner")["epsilon"].transform("nunique") > 1
    named = values["learner"] + ", epsilon = " + values["epsilon"].map("{:g}".format)
    return values.assign(learner=values["learner"].where(~several, named))

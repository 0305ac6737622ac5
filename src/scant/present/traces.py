"""The runs of an experiment in one table, the choice of learning rates, and averages over seeds."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from scant import families
from scant.errors import DataError, SettingError
from scant.files import foreign, metadata_of, read_parquet, write_parquet
from scant.measures import recordable
from scant.present.intervals import t_interval

GROUP = ["experiment", "stream", "learner"]
RUN = [*GROUP, "seed", "setting"]  # `setting` names the rate: a number, "theory", or "none"
MEASURED = ["ndcg@10", "ndcg", "ap", "ranker_ndcg@10", "loss", "surrogate_loss"]  # what all runs record
SHOWN = ["ndcg@10", "ap"]  # what tables and figures show of all, and rates are chosen by
COMPARED = ["experiment", "stream", "judge", "seed", "round"]  # what a comparator is of


def gather(run_paths, target, details: dict) -> None:
    """Put all run files of an experiment into one parquet file, with a column for each identity of a run.

    details : what the reports need of the study: `titles` of streams and learners, `tuning`, `seeds`

    Raises
    ------
    DataError : a run file is missing or not whole
    """
    tables = []
    for path in run_paths:
        with _of(path, "run"):
            tables.append(_identified(read_parquet(path), details["seeds"]))
    with _of(path, "run"):  # of the same columns as the others
        table = pa.concat_tables(tables).unify_dictionaries()
    write_parquet(table, target, details)


def _identified(table: pa.Table, seeds: int) -> pa.Table:
    """The table of a run file with a column for each identity of the run."""
    run = metadata_of(table.schema)
    family = families.of(run)
    for name, value in family.identity(run).items():
        column = pa.array([value] * len(table))
        table = table.append_column(name, column.dictionary_encode() if isinstance(value, str) else column)
    return family.completed(table, seeds).replace_schema_metadata(None)


def _of(path, kind: str):
    """A context in which whatever is wrong with a file of ours is a DataError."""
    if not Path(path).is_file():
        raise DataError(path, f"there is no such {kind} file")
    return foreign(path, f"whole {kind} file", "Delete it; the next run makes it anew")


def further(columns) -> list[str]:
    """Those of the columns of traces that are measures which an experiment asked for: all runs record the others."""
    return [name for name in columns if name not in MEASURED and recordable(name)]


def read(paths) -> tuple[pd.DataFrame, dict[str, dict]]:
    """The traces of some experiments as one frame, and each experiment's details.

    Where an experiment's runs record further measures, these are its details' `measures`; in the rows of others they
    are NaN.
    """
    frames, details = [], {}
    for path in paths:
        with _of(path, "traces"):
            table = read_parquet(path)
            asked = further(table.schema.names)
            details[Path(path).stem] = metadata_of(table.schema) | ({"measures": asked} if asked else {})
            frame = table.replace_schema_metadata(None).to_pandas()
            text = frame.select_dtypes("category").columns
            frames.append(frame.astype(dict.fromkeys(text, "str")))
    return pd.concat(frames, ignore_index=True), details


def read_comparators(paths) -> pd.DataFrame:
    """The best fixed weights of some streams and judges as one frame.

    Columns: experiment, stream, judge, seed, round, `best` (the sum of the judging surrogate up to the round), `gap`
    (by how much the least sum may be smaller) and `norm` (of the weights).
    """
    kinds = dict.fromkeys(COMPARED, "str") | {"seed": int, "round": int, "best": float, "gap": float, "norm": float}
    frames = [pd.DataFrame(columns=list(kinds)).astype(kinds)]
    for path in paths:
        with _of(path, "comparator"):
            table = read_parquet(path)
            about = metadata_of(table.schema)
            rows = table.replace_schema_metadata(None).to_pandas()
            rows = rows.assign(**{key: about[key] for key in ("experiment", "stream", "judge")})
            frames.append(rows[list(kinds)].astype(kinds))
    return pd.concat(frames[1:] or frames, ignore_index=True)[list(kinds)]


def finals(traces: pd.DataFrame) -> pd.DataFrame:
    """The last kept round of every run and rate; `... last ten` is the mean of its last ten rounds' time averages.

    A run that failed has no measures here (NaN), whatever it had reached.
    """
    asked = further(traces.columns)
    ends = traces.groupby(RUN)["round"].transform("max")
    last = traces[traces["round"] == ends]
    tail = traces[traces["round"] > ends - 10].groupby(RUN)[[*SHOWN, *asked]].mean().add_suffix(" last ten")
    last = last.merge(tail.reset_index(), on=RUN)
    last.loc[last["failed_in"] > 0, [*MEASURED, *asked, *tail.columns]] = np.nan
    return last


def chosen_rates(final: pd.DataFrame, measure: str, tuning: str) -> pd.DataFrame:
    """The rate of each learner and stream whose final time-averaged `measure` is the best on average.

    tuning : "held-out" averages over the seeds set aside for it, "paper" over those reported. Where no seeds are
        set aside (against the adversary), both are "paper". One rate alone is no choice: it is right under both.

    Returns
    -------
    A frame of experiment, stream, learner, setting and tuning. A rate at which a run failed is chosen only if there
    is no other.
    """
    chosen = []
    for key, group in final.groupby(GROUP, sort=False):
        aside = group["tuning_seed"]
        held_out = tuning == "held-out" and aside.any()
        means = group[aside if held_out else ~aside].groupby("setting", sort=False)[measure]
        score = means.mean().where(means.count() == means.size())  # NaN as soon as one run failed
        best = score.idxmax() if score.notna().any() else score.index[0]
        chosen.append((*key, best, tuning if held_out or len(score) == 1 else "paper"))
    return pd.DataFrame(chosen, columns=[*GROUP, "setting", "tuning"])


def at_chosen_rates(frame: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """The rows of reported seeds at the chosen rates."""
    return frame[~frame["tuning_seed"]].merge(chosen, on=[*GROUP, "setting"])


def at_tuned_rates(traces: pd.DataFrame, measure: str, tuning: str) -> pd.DataFrame:
    """The rows of reported seeds at the rates that `measure` chooses under the reading `tuning`."""
    return at_chosen_rates(traces, chosen_rates(finals(traces), measure, tuning))


def difference(group: pd.DataFrame, best: pd.DataFrame, kind: str, measure: str) -> pd.Series:
    """A learner's final measure less that of the first learner of a kind on the same stream, by seed.

    best : the final rows of an experiment at chosen rates
    group : the learner's rows of these

    Returns
    -------
    differences : NaN for seeds that only one of the two has, and for learners that are of this kind themselves
    """
    run = group.iloc[0]
    same = (best["experiment"] == run["experiment"]) & (best["stream"] == run["stream"])
    others = best[same & (best["kind"] == kind)]
    first = others["learner"].iloc[0] if len(others) and run["kind"] != kind else None
    return group.set_index("seed")[measure] - others[others["learner"] == first].set_index("seed")[measure]


def averages(traces: pd.DataFrame, details: dict, measure: str, also: tuple = ()) -> pd.DataFrame:
    """The time-averaged `measure` at each kept round: its mean over the reported seeds and 95 % t interval.

    Each learner is at the rate that its experiment's tuning reading chooses. Runs that failed are left out.

    also : further columns of the traces, the same in all rows of a learner, to carry along

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for experiment, part in traces.groupby("experiment", sort=False):
        tuned = at_tuned_rates(part, measure, details[experiment]["tuning"])
        for key, group in tuned[tuned["failed_in"] == 0].groupby([*GROUP, "round"], sort=False):
            mean, low, high, n = t_interval(group[measure])
            run = group.iloc[0]
            rows.append(
                dict(zip([*GROUP, "round"], key, strict=True))
                | {"measure": measure, "mean": mean, "low": low, "high": high, "n": n}
                | {"rate": run["setting"], "tuning": run["tuning"], "kind": run["kind"]}
                | {name: run[name] for name in ("own_measure", *also)}
                | names(key, details)
            )
    if not rows:
        raise SettingError("every run of this figure failed: the tables say where")
    return pd.DataFrame(rows)


def names(key: tuple, details: dict) -> dict[str, str]:
    """What figures call an (experiment, stream, learner): panel, label and reading."""
    about = details[key[0]]
    titles = about["titles"]
    return {"panel": titles["streams"][key[1]], "label": titles["learners"][key[2]], "reading": about["title"]}


@dataclass(frozen=True)
class Played:
    """An experiment as played on some of its streams, with rates chosen by one reading of `tuning`."""

    name: str
    tuning: str | None
    traces: pd.DataFrame
    details: dict
    comparators: pd.DataFrame | None

    @property
    def about(self) -> dict[str, dict]:
        """The details that reports take, with this tuning."""
        return {self.name: self.details | ({"tuning": self.tuning} if self.tuning else {})}

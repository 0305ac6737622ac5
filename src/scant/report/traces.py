"""The runs of an experiment in one table, and the choice of learning rates."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scant.errors import DataError
from scant.files import metadata_of, write_parquet

GROUP = ["experiment", "stream", "learner"]
RUN = [*GROUP, "seed", "setting"]  # `setting` names the rate: a number, "theory", or "none"


def gather(run_paths, target, details: dict) -> None:
    """Put all run files of an experiment into one parquet file, with a column for each identity of a run.

    details : what the reports need of the study: `titles` of streams and learners, `tuning`, `seeds`

    Raises
    ------
    DataError : a run file is missing or not whole
    """
    tables = []
    for path in run_paths:
        table = _whole(path, "run")
        run = metadata_of(table.schema)
        identity = {key: run[key] for key in (*GROUP, "source", "own_measure")}
        identity["kind"] = run["learner_settings"]["kind"]
        identity["objective"] = run["resolved"].get("objective", "")
        identity["judge"] = run["resolved"].get("judge", "")
        identity["k"] = run["resolved"].get("k", 0)
        identity["generator"] = run["stream_settings"].get("generator") or "data"
        for name, value in identity.items():
            column = pa.array([value] * len(table))
            table = table.append_column(name, column.dictionary_encode() if isinstance(value, str) else column)
        setting = pc.if_else(pc.equal(table["theory"], 1), "theory", pc.cast(table["rate"], pa.string()))
        setting = pc.if_else(pc.is_nan(table["rate"]), "none", setting)
        table = table.append_column("setting", setting.combine_chunks().dictionary_encode())
        table = table.append_column("tuning_seed", pc.greater_equal(table["seed"], details["seeds"]))
        tables.append(table.replace_schema_metadata(None))
    write_parquet(pa.concat_tables(tables).unify_dictionaries(), target, details)


def _whole(path, kind: str) -> pa.Table:
    try:
        return pq.read_table(path)
    except FileNotFoundError:
        raise DataError(path, f"there is no such {kind} file") from None
    except (pa.ArrowException, OSError) as error:
        reason = f"not a whole {kind} file ({error})"
        raise DataError(path, reason, advice="Delete it; the next run makes it anew") from error


def read(paths) -> tuple[pd.DataFrame, dict[str, dict]]:
    """The traces of some experiments as one frame, and each experiment's details."""
    frames, details = [], {}
    for path in paths:
        table = _whole(path, "traces")
        details[Path(path).stem] = metadata_of(table.schema)
        frame = table.replace_schema_metadata(None).to_pandas()
        text = frame.select_dtypes("category").columns
        frames.append(frame.astype(dict.fromkeys(text, "str")))
    return pd.concat(frames, ignore_index=True), details


def finals(traces: pd.DataFrame) -> pd.DataFrame:
    """The last kept round of every run and rate; `... last ten` is the mean of its last ten rounds' time averages.

    A run that failed has no measures here (NaN), whatever it had reached.
    """
    ends = traces.groupby(RUN)["round"].transform("max")
    last = traces[traces["round"] == ends]
    tail = traces[traces["round"] > ends - 10].groupby(RUN)[["ndcg@10", "ap"]].mean()
    last = last.merge(tail.add_suffix(" last ten").reset_index(), on=RUN)
    measures = ["ndcg@10", "ndcg", "ap", "loss", "ndcg@10 last ten", "ap last ten"]
    last.loc[last["failed_in"] > 0, measures] = np.nan
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

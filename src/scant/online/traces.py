"""What the traces of contextual learners say of each row, besides what run files hold."""

import math

import pyarrow as pa
import pyarrow.compute as pc

PLAYED = {  # settings as played that reports show, and what stands for none
    "objective": "",
    "judge": "",
    "k": 0,
    "gamma": math.nan,
    "gamma_decay": math.nan,
    "mismatch": math.nan,
    "radius": math.nan,
    "epsilon": math.nan,
    "epsilon_decay": math.nan,
    "sign": "",
}


def identity(run: dict) -> dict:
    """What the rows of a run file are of, by its metadata: text and numbers, the same in all rows."""
    names = {key: run[key] for key in ("experiment", "stream", "learner", "source", "own_measure")}
    names["kind"] = run["learner_settings"]["kind"]
    played = run["learner_settings"] | run["resolved"]
    names |= {key: type(none)(played.get(key, none)) for key, none in PLAYED.items()}
    return names | {"generator": run["stream_settings"].get("generator") or "data"}


def completed(table: pa.Table, seeds: int) -> pa.Table:
    """The table with the columns `setting` (the rate: a number, "theory", or "none") and `tuning_seed`."""
    setting = pc.if_else(pc.equal(table["theory"], 1), "theory", pc.cast(table["rate"], pa.string()))
    setting = pc.if_else(pc.is_nan(table["rate"]), "none", setting)
    table = table.append_column("setting", setting.combine_chunks().dictionary_encode())
    return table.append_column("tuning_seed", pc.greater_equal(table["seed"], seeds))

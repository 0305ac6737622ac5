"""The measured numbers of a study as one long table, which tools that compare experiments can read."""

from collections.abc import Iterable
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype

from scant import __version__
from scant.files import atomic

# What tells the rows of a run apart, besides its seed and step. Where `bound` is a number, it is measured.
SETTINGS = {
    "setting": "rate",
    **{name: name for name in ("horizon", "m", "d", "lambda", "fitted_on", "epsilon", "estimator", "bound")},
}
STEPS = ("round", "n")
NOT_MEASURED = ("seed", "rate", "theory", "k", "W", "R", *STEPS)
COLUMNS = ["run_id", "experiment", "stream", "learner", "settings", "seed", "measure", "value", "step", "timestamp"]
TOOLS = ["key", "objective_name", "data_name", "solver_name", "idx_rep", "stop_val", "time", "objective_value"]
TYPES = {name: pa.int64() for name in ("seed", "step", "timestamp", "idx_rep", "stop_val")}
TYPES |= {name: pa.float64() for name in ("value", "time", "objective_value")}
SCHEMA = pa.schema([(name, TYPES.get(name, pa.dictionary(pa.int32(), pa.string()))) for name in (*COLUMNS, *TOOLS)])


def long(runs: pd.DataFrame, date: str) -> pd.DataFrame:
    """What runs with reported seeds measured: a row for each number, with the columns COLUMNS.

    runs : rows of run files, as `scant.compare.results.Results.runs` gives them
    date : when the study was made, as in its manifest
    """
    if "tuning_seed" in runs:
        runs = runs[~runs["tuning_seed"]]
    named = [name for name in SETTINGS if name in runs and not (name == "bound" and is_numeric_dtype(runs[name]))]
    numbers = [name for name in runs.select_dtypes("number") if name not in (*named, *NOT_MEASURED)]
    rows = runs[["experiment", "stream", "learner", "seed"]].assign(
        settings=_settings(runs[named]), step=next((runs[name] for name in STEPS if name in runs), 0)
    )
    learner = rows["learner"] + ("[" + rows["settings"] + "]").where(rows["settings"] != "", "")
    rows["run_id"] = rows["experiment"] + "/" + rows["stream"] + "/" + learner + "/" + rows["seed"].astype(str)
    rows["timestamp"] = int(datetime.fromisoformat(date).timestamp() * 1000)
    rows = rows.astype(dict.fromkeys(rows.select_dtypes(exclude="number"), "category"))
    measures = pd.CategoricalDtype(numbers)
    parts = [
        rows.assign(measure=pd.Series(name, rows.index, measures), value=runs[name].astype(float)) for name in numbers
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="value", ignore_index=True)[COLUMNS]


def _settings(runs: pd.DataFrame) -> pd.Series:
    """What tells the rows of a run apart as text, such as "rate=0.1, horizon=1000"."""
    texts = pd.Series("", runs.index)
    for name, column in runs.items():
        text = column.map("{:g}".format) if is_numeric_dtype(column) else column.astype(str)
        has_value = column.notna() & ~text.isin(["", "none"])
        texts += (SETTINGS[name] + "=" + text + ", ").where(has_value, "")
    return texts.str.removesuffix(", ")


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Long tables put together; columns of text stay categorical."""
    nothing = _table(pd.DataFrame(columns=COLUMNS))
    return pa.concat_tables([nothing, *map(_table, frames)]).unify_dictionaries().to_pandas()


def write(path, frames: Iterable[pd.DataFrame]) -> None:
    """Write long tables to one parquet file, with the columns of MLflow and benchopt besides their own."""
    # The schema of Arrow, which says that texts are categories, is left out: readers then find plain texts.
    with atomic(path) as temporary, pq.ParquetWriter(temporary, SCHEMA, compression="zstd", store_schema=False) as file:
        for rows in frames:
            rows = rows.assign(
                key=rows["measure"].map(lambda measure: measure.replace("@", ":")),  # MLflow takes no "@"
                objective_name=rows["measure"],
                data_name=rows["run_id"].map(lambda run: run.rsplit("/", 2)[0]),
                solver_name=rows["run_id"].map(lambda run: run.rsplit("/", 2)[1]),
                idx_rep=rows["seed"],
                stop_val=rows["step"],
                time=np.nan,
                objective_value=rows["value"],
            )
            file.write_table(_table(rows))
        file.add_key_value_metadata({"scant": __version__})  # benchopt reads no file without metadata


def _table(rows: pd.DataFrame) -> pa.Table:
    schema = pa.schema([SCHEMA.field(name) for name in rows])
    return pa.Table.from_pandas(rows, schema, preserve_index=False).replace_schema_metadata(None)

"""The traces of an experiment: its run files in one table, as figures, tables and claims read
them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from scant.declare import families
from scant.errors import DataError
from scant.files import anew, foreign, metadata_of, read_parquet
from scant.study.plan import Runs

# what tells the curves of figures and the rows of tables apart
GROUP = ["experiment", "stream", "learner"]
COMPARED = ["experiment", "stream", "judge", "seed", "round"]  # what tells comparators apart


def _reading(path, contents: str):
    """A context that raises a DataError if one of our own files is missing, damaged or of another
    form.

    contents : what the file should hold, for the message: "run", "results" or "comparator"
    """
    if not Path(path).is_file():
        raise DataError(path, f"there is no such {contents} file")
    return foreign(path, f"whole {contents} file", anew(path))


def read(experiments: Iterable[Runs]) -> tuple[pd.DataFrame, dict[str, dict]]:
    """The traces of several experiments as one frame, and the details of each experiment by its id.

    The frame has the rows of all run files, with a column for each id or setting that names a run.
    If the runs of an experiment record measures that it asked for, its details list them as
    `measures`. In the rows of the other experiments these columns are NaN.

    Raises
    ------
    DataError : a run file is missing, damaged or of another form
    """
    frames, details = [], {}
    for experiment, paths, about in experiments:
        tables = []
        for path in paths:
            with _reading(path, "run"):
                tables.append(_identified(read_parquet(path)))
        # fails, by this name, if the columns of the files are not the same
        with _reading(paths[-1], "run"):
            table = pa.concat_tables(tables)
        measures = families.of(about).further_measures(table.schema.names)
        details[experiment] = about | ({"measures": measures} if measures else {})
        frames.append(_plain(table).to_pandas())
    return pd.concat(frames, ignore_index=True), details


def _identified(table: pa.Table) -> pa.Table:
    """The table of a run file with the columns of its family's `identity` and `completed`."""
    run = metadata_of(table.schema)
    family = families.of(run)
    for name, value in family.identity(run).items():
        table = table.append_column(name, pa.repeat(value, len(table)))
    return family.completed(table).replace_schema_metadata(None)


def read_coverage(path) -> pd.DataFrame:
    """The rows of the study of bounds, from its file, see `scant.ads.coverage`."""
    with _reading(path, "results"):
        return _plain(read_parquet(path)).to_pandas()


def _plain(table: pa.Table) -> pa.Table:
    """The table without metadata, and with plain texts where it has dictionaries: pandas takes far
    longer over them.
    """
    fields = [(field.name, getattr(field.type, "value_type", field.type)) for field in table.schema]
    return table.replace_schema_metadata(None).cast(pa.schema(fields))


def read_comparators(paths) -> pd.DataFrame:
    """The best fixed weights of some streams and judging surrogates as one frame.

    Columns: experiment, stream, judge, seed, round; `best`, the sum of the judging surrogate over
    the rounds so far; `gap`: no weights have a sum below best - gap; `norm`, the norm of the best
    weights; and `at_zero`, the sum at weights 0.
    """
    dtypes = dict.fromkeys(COMPARED, "str") | {"seed": int, "round": int}
    dtypes |= dict.fromkeys(("best", "gap", "norm", "at_zero"), float)
    frames = [pd.DataFrame(columns=list(dtypes)).astype(dtypes)]
    for path in paths:
        with _reading(path, "comparator"):
            table = read_parquet(path)
            job = metadata_of(table.schema)
            rows = table.replace_schema_metadata(None).to_pandas()
            rows = rows.assign(**{key: job[key] for key in ("experiment", "stream", "judge")})
            frames.append(rows[list(dtypes)].astype(dtypes))
    return pd.concat(frames[1:] or frames, ignore_index=True)[list(dtypes)]


def names(key: tuple, details: dict) -> dict[str, str]:
    """What figures call an (experiment, stream, learner): `panel`, the stream's title; `label`, the
    learner's; `reading`, the experiment's.
    """
    experiment = details[key[0]]
    titles = experiment["titles"]
    return {
        "panel": titles["streams"][key[1]],
        "label": titles["learners"][key[2]],
        "reading": experiment["title"],
    }


@dataclass(frozen=True)
class Played:
    """What a claim is judged on: the traces of one experiment on some of its streams, under one
    reading of `tuning`.

    name : the experiment's id
    tuning : how learning rates are chosen; None if the claim's quantity does not depend on it
    traces : the rows of these streams
    details : of the experiment, as `read` gives them
    comparators : the best fixed weights, if the study has any
    """

    name: str
    tuning: str | None
    traces: pd.DataFrame
    details: dict
    comparators: pd.DataFrame | None

    @property
    def about(self) -> dict[str, dict]:
        """The details, with this tuning, as functions of frames take them: by experiment."""
        return {self.name: self.details | ({"tuning": self.tuning} if self.tuning else {})}

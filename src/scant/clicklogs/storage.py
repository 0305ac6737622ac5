"""Click logs as parquet files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant.clicklogs.logs import Log
from scant.declare.runs import table_of
from scant.errors import DataError
from scant.files import anew, foreign, read_parquet, write_parquet

SCHEMA = pa.schema(  # a row for each document shown, visit by visit, from place 1 down
    {
        "visit": pa.int32(),
        "query": pa.int32(),  # among those visited, from 0
        "place": pa.int16(),  # from 1
        "document": pa.int32(),  # of the query, from 0
        "click": pa.bool_(),
        # with which the policy shows the document in this place, given those above it
        "given_above": pa.float64(),
        "marginal": pa.float64(),  # and whatever stands above it
    }
)


def write(log: Log, path, metadata: Mapping) -> None:
    """Write a log as parquet, with the columns of `SCHEMA`."""
    n, places = log.document.shape
    columns = {
        "visit": np.repeat(np.arange(n), places),
        "query": np.repeat(log.query, places),
        "place": np.tile(np.arange(1, places + 1), n),
        **{name: getattr(log, name).ravel() for name in SCHEMA.names[3:]},
    }
    write_parquet(table_of(SCHEMA, columns), path, dict(metadata))


def read(path) -> Log:
    """Read a log that `write` wrote.

    Raises
    ------
    DataError : the file is missing, damaged, or no click log
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such click log")
    with foreign(path, "whole click log", anew(path)):
        table = read_parquet(path)
        if table.schema.names != SCHEMA.names:
            raise ValueError("other columns than a click log's")
        columns = {name: table[name].to_numpy() for name in SCHEMA.names}
        shape = (-1, int(columns["place"].max()))
        by_place = [columns[name].reshape(shape) for name in SCHEMA.names[3:]]
        return Log(columns["query"].reshape(shape)[:, 0], *by_place)

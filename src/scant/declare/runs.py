"""What the run files of all families share: the rounds that they keep, their tables and their
metadata.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import __version__
from scant.files import arrow_array, sha256


def kept_rounds(horizon: int) -> np.ndarray:
    """The rounds that a trace keeps, int64, ascending from 1: about 20 in each power of ten, the
    last ten.
    """
    if horizon < 1:
        return np.array([], np.int64)
    grid = np.geomspace(1, horizon, max(2, int(20 * np.log10(horizon)) + 1)).round()
    last = np.arange(max(1, horizon - 9), horizon + 1)
    return np.unique(np.r_[grid, last]).astype(np.int64)


def spaced_rounds(horizon: int, per_decade: int, first: int = 1) -> np.ndarray:
    """Some of `kept_rounds`, int64: about `per_decade` in each power of ten, from `first` on to the
    horizon.
    """
    kept = kept_rounds(horizon)
    if not len(kept):
        return kept
    spaced = np.geomspace(first, horizon, int(np.ceil(per_decade * np.log10(horizon / first))) + 1)
    return np.unique(kept[np.abs(kept - spaced[:, None]).argmin(axis=1)])


def origin(seeds: list[int], stream_paths) -> dict:
    """The part of a run file's metadata that tells how it was made: seeds, versions, and checksums
    of its inputs.
    """
    return {
        "seeds": list(seeds),
        "versions": {"scant": __version__, "numpy": np.__version__},
        "inputs": {Path(path).name: sha256(path) for path in stream_paths},
    }


def table_of(schema: pa.Schema, columns: dict) -> pa.Table:
    """An Arrow table with this schema.

    columns : arrays of equal length, by name
    """
    return pa.Table.from_arrays(
        [arrow_array(columns[field.name], field.type) for field in schema], schema=schema
    )


def table_of_rows(schema: pa.Schema, rows: list[dict]) -> pa.Table:
    """An Arrow table with this schema, of rows that have all its columns."""
    return table_of(schema, {name: [row[name] for row in rows] for name in schema.names})

"""Bandit logs: which ad a policy showed to which user, with what probability, and what the reward
was.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from scant import files
from scant.errors import DataError

KIND = "ads log"  # `kind` in the metadata of the project's own parquet files

# by which probabilities, and sums of them, may be off through rounding: 0.333 is off by 0.1 %
SLACK = 2e-3
FULL = "propensity:"  # prefix of the columns of full propensities in a user's own log

# prefix of columns with probabilities of the user's own policies, which are not features
POLICY = "policy:"
MAGIC = b"PAR1"  # the first bytes of a parquet file
COLUMNS = 100_000  # of a CSV file, at most; the largest number of features of any data set
CHUNK = 1 << 14  # rows in work at a time, so that they stay in the cache
NEEDED = ("action", "reward", "propensity")
OPTIONAL = ("timestamp", "position")


@dataclass(frozen=True)
class Log:
    """A bandit log. Each row is a visit of a user: `features` is the context, `action` the ad
    shown, `reward` the click.
    """

    features: np.ndarray  # float32 (rows x features), finite
    action: np.ndarray  # int32 (rows), index into actions
    reward: np.ndarray  # float64 (rows), in [0, 1]

    # float64 (rows), in (0, 1]: the logging policy's probability of the logged action
    propensity: np.ndarray
    actions: tuple[str, ...]  # the ads' ids
    names: tuple[str, ...]  # of the features
    position: np.ndarray | None = None  # int32 (rows), place on the page
    timestamp: np.ndarray | None = None  # datetime64[us] (rows), UTC

    # bool (rows x actions), which ads could be shown; None for all
    eligible: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.action)

    def take(self, rows) -> "Log":
        """The log of some of the rows, given as indices or as a mask."""
        return replace(self, **{name: column[rows] for name, column in self.columns().items()})

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays that have an entry for each row, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def check(log: Log, where, lines: np.ndarray | None = None) -> Log:
    """Return a log unchanged; a DataError if it is not valid.

    Parameters
    ----------
    log : the log
    where : the file or data set that errors name
    lines : for a text file, the line of each row, int (rows); if None, errors name the row, from 1
    """
    for noun, ids in (("action", log.actions), ("feature", log.names)):
        if twice := repeated(ids):
            raise DataError(
                where, f"two {noun}s are called {twice[0]!r}", advice="Rename one of them"
            )
    if not len(log):
        raise DataError(where, "the log has no rows")
    if not log.names:
        raise DataError(
            where, "the log has no features", advice="A policy needs something to tell users apart"
        )
    for name, column in log.columns().items():
        if len(column) != len(log):
            raise DataError(where, f"{len(column)} rows of {name} for {len(log)} actions")
    if log.features.ndim != 2 or log.features.shape[1] != len(log.names):
        raise DataError(where, f"features of shape {log.features.shape} for {len(log.names)} names")

    def refuse(bad: np.ndarray, reason: str, values: np.ndarray, advice: str = "") -> None:
        if bad.any():
            refuse_row(
                where, int(np.argmax(bad)), reason.format(values[np.argmax(bad)]), lines, advice
            )

    if not np.isfinite(log.features).all():
        row, column = np.argwhere(~np.isfinite(log.features))[0]
        reason = f"feature {log.names[column]!r} is missing, or not finite in single precision"
        refuse_row(where, int(row), reason, lines, "Fill it in, or leave the row out")
    valid = (log.action >= 0) & (log.action < len(log.actions))
    refuse(~valid, f"action {{}} is not among the {len(log.actions)} actions", log.action)
    refuse(
        ~((log.reward >= 0) & (log.reward <= 1)),
        "reward {} is not in [0, 1]",
        log.reward,
        "Divide by the largest",
    )
    possible = (log.propensity > 0) & (log.propensity <= 1)
    advice = "It is the probability with which the logging policy chose the action that it logged"
    refuse(~possible, "propensity {} is not in (0, 1]", log.propensity, advice)
    if log.timestamp is not None:
        refuse(np.isnat(log.timestamp), "timestamp {} is not a time", log.timestamp)
    return log


def refuse_row(where, row: int, reason: str, lines: np.ndarray | None, advice: str = ""):
    """Raise a DataError about a row (an index), by its line in the file if there are `lines`."""
    if lines is None:
        raise DataError(where, f"row {row + 1}: {reason}", advice=advice)
    raise DataError(where, reason, int(lines[row]), advice)


def align(
    log: Log, actions: tuple[str, ...], names: tuple[str, ...] | None = None, where="log"
) -> Log:
    """The log with the actions and features of another log, in their order.

    Actions that the log lists but never showed are dropped; actions that it lacks are added. For
    features see `align_features`.

    Raises
    ------
    DataError : the log shows an action that is not among `actions`; or features that
        `align_features` refuses
    """
    counts = np.bincount(log.action, minlength=len(log.actions))
    if strange := [a for a, n in zip(log.actions, counts, strict=True) if n and a not in actions]:
        reason = f"{listing(strange)} not among the actions of the policy: {listing(actions)}"
        raise DataError(
            where, reason, advice="Leave these rows out, or train on a log that has them"
        )
    index_of = {action: index for index, action in enumerate(actions)}
    moved = np.array([index_of.get(action, -1) for action in log.actions], np.int32)[log.action]
    log = log if names is None else align_features(log, names, where)
    return replace(log, action=moved, actions=tuple(actions))


def align_features(log: Log, names: tuple[str, ...], where="log") -> Log:
    """The log with the features of another log, in their order.

    A one-hot column (called "variable=category") that the log lacks is added with zeros; one that
    `names` lacks is dropped, so that a row of an unknown category is 0 in all columns of its
    variable.

    Raises
    ------
    DataError : a feature, or a one-hot encoded variable, is in only one of the log and `names`
    """
    if names == log.names:
        return log
    if unshared := sorted(set(map(_variable, names)) ^ set(map(_variable, log.names))):
        reason = f"features that only one of the two logs has: {listing(unshared)}"
        raise DataError(
            where, reason, advice="Give both logs the same columns, or leave these out of both"
        )
    column_of = {name: column for column, name in enumerate(log.names)}
    columns = np.array([column_of.get(name, -1) for name in names])
    features = log.features.take(columns, axis=1)
    features[:, columns < 0] = 0
    return replace(log, features=features, names=tuple(names))


def _variable(name: str) -> str:
    """The part of a feature's name before its category: "colour=" of "colour=red"; else the whole
    name.
    """
    return name[: name.index("=") + 1] if "=" in name else name


def listing(names) -> str:
    """The first five names, for an error message, and how many others there are."""
    others = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + others


# Facts about a log


def by_ad(log: Log) -> list[dict]:
    """For each ad: action (its id), impressions, clicks (the sum of rewards), and rate (clicks /
    impressions; None if it was never shown), as in Table 5.2.
    """
    impressions = np.bincount(log.action, minlength=len(log.actions)).tolist()
    clicks = np.bincount(log.action, log.reward, minlength=len(log.actions)).tolist()
    return [
        {"action": a, "impressions": n, "clicks": c, "rate": c / n if n else None}
        for a, n, c in zip(log.actions, impressions, clicks, strict=True)
    ]


def duplicates(log: Log) -> int:
    """How many rows equal an earlier row in every column, including timestamp and position if the
    log has them.
    """
    parts = []
    for column in log.columns().values():
        if column.dtype.kind == "f":
            column = column + column.dtype.type(0)  # turns -0 into 0
        parts.append(np.ascontiguousarray(column).view(np.uint8).reshape(len(log), -1))
    rows = np.concatenate(parts, axis=1)
    return len(rows) - len({row.tobytes() for row in rows})


# Files of the project


def write(log: Log, path, metadata: dict | None = None) -> None:
    """Write a log as parquet, whole or not at all.

    Features are one column of fixed-size lists, faster than a column each. The metadata of the file
    are `metadata` and `kind`, `actions`, `names`, `rows`, `duplicates`.
    """
    import pyarrow as pa

    check(log, path)
    features = files.arrow_array(log.features.ravel(), pa.float32())
    columns = {"features": pa.FixedSizeListArray.from_arrays(features, len(log.names))}
    for name in (name for name in log.columns() if name != "features"):
        values = getattr(log, name)
        columns[name] = files.arrow_array(values, pa.from_numpy_dtype(values.dtype))
    described = {
        "kind": KIND,
        "actions": log.actions,
        "names": log.names,
        "rows": len(log),
        "duplicates": duplicates(log),
    }
    reals = ("features.list.element", "propensity")
    files.write_parquet(pa.table(columns), path, (metadata or {}) | described, split=reals)


def read(path) -> tuple[Log, dict]:
    """Read the log that `write` wrote, and its metadata.

    Raises
    ------
    DataError : there is no such file, or it is damaged, another kind of file, or not a valid log
        (`check`)
    """
    table = _parquet(path)
    with files.foreign(path, "log of this project", files.anew(path)):
        metadata = files.metadata_of(table.schema)
        if metadata.get("kind") != KIND:
            raise DataError(
                path,
                "not an ads log of this project",
                advice="Read another's log with `scant_ads.Log.read`",
            )
        return check(_log(table, metadata), path), metadata


def _log(table, metadata: dict) -> Log:
    """The log in a table read from a file of the project."""
    import pyarrow as pa

    names = tuple(metadata["names"])
    columns = {
        name: np.from_dlpack(whole(table[name]))
        for name in table.column_names
        if name not in _INDIRECT
    }
    columns["features"] = np.from_dlpack(whole(table["features"]).flatten()).reshape(
        table.num_rows, len(names)
    )
    if "timestamp" in table.column_names:
        columns["timestamp"] = np.from_dlpack(whole(table["timestamp"]).view(pa.int64())).view(
            "datetime64[us]"
        )
    return Log(**columns, actions=tuple(metadata["actions"]), names=names)


_INDIRECT = ("features", "timestamp")  # columns that are not plain numbers


def whole(column):
    """An Arrow column as one array."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _parquet(path):
    """The Arrow table of a parquet file; a DataError if there is no such file, or it is damaged."""
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with files.foreign(path):
        return files.read_parquet(path, ours=False)


# Names and ids


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in the order in which they first occur."""
    return [name for name, count in Counter(names).items() if count > 1]


def ordered(actions: set[str]) -> tuple[str, ...]:
    """Ids sorted as numbers if all are numbers, else as text."""
    if all(re.fullmatch(r"\d+", action, re.ASCII) for action in actions):
        return tuple(sorted(actions, key=lambda action: (int(action), action)))
    return tuple(sorted(actions))

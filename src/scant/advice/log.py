"""A practitioner's log, from a file or a data frame, ready to be checked, learnt from and evaluated on."""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from scant.advice import checking, learning
from scant.advice.progress import silent
from scant.data import formats
from scant.data.visits import Reading, Visits
from scant.errors import DataError, SettingError, unknown


class Log:
    """A log of visits: which ad was shown to whom, with what probability, and whether it was clicked.

    Made by `Log.read` or `Log.from_frame`. Reading never fails for what is wrong with single rows: `check` lists all of
    it, and whoever uses the log gets the first error as a DataError.
    """

    def __init__(self, reading: Reading, name: str | None = None, half_of: "Log | None" = None):
        self.reading, self.name, self.half_of = reading, name or str(reading.path), half_of

    @classmethod
    def read(cls, path, columns: Mapping[str, str] | None = None, ignore=(), categorical=()) -> "Log":
        """Read a log: CSV, which may be packed, parquet or Arrow.

        Parameters
        ----------
        path : the file
        columns : what the file calls `action`, `reward`, `propensity`, `timestamp`, `position`, by these names
        ignore : columns to leave out
        categorical : features to take as text though they are numbers

        Raises
        ------
        DataError : there is no such file, or its columns cannot be read at all
        SettingError : a column that is not there, or a folder, which is one of `Parts`
        """
        if Path(path).is_dir():
            raise SettingError(f"{path} is a folder: give Parts({str(path)!r})")
        return cls(formats.read(path, columns, ignore, categorical))

    @classmethod
    def from_frame(cls, frame, columns: Mapping[str, str] | None = None, ignore=(), categorical=()) -> "Log":
        """Take a data frame of pandas, polars or Arrow; see `read`. An index of pandas is not a column."""
        return cls(formats.read_frame(frame, columns, ignore, categorical))

    @property
    def visits(self) -> Visits:
        """The log's arrays; a DataError with the first thing that must be mended, if there is one."""
        log = self.reading.required()
        if len(log) < 2:
            raise DataError(self.name, "the log has one row, of which nothing can be said")
        return log

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns of the file."""
        return self.reading.columns

    def __len__(self) -> int:
        return len(self.visits)

    def __repr__(self) -> str:
        if self.reading.visits is None:
            return f"Log({self.name!r}, with errors: see check())"
        return f"Log({self.name!r}, {len(self.reading.visits):,} rows, {len(self.reading.visits.actions)} ads)"

    def check(self, progress=silent) -> "Report":
        """What the log holds, and all that is wrong with it.

        progress : called with a sentence on what is begun
        """
        progress(f"looks through {self.name}")
        return Report(checking.facts(self.reading))

    def split(self, share: float = learning.TIME_SHARE, by: str = "random", seed: int = 0) -> tuple["Log", "Log"]:
        """A part to learn from and a part to evaluate on; see `learning.split`."""
        if by not in ("random", "time"):
            raise unknown("way to split a log", by, ("random", "time"))
        parts = learning.split(self.visits, by, share, seed, self.name)
        return tuple(
            type(self)(
                Reading(self.reading.path, self.reading.form, self.reading.columns, (), part),
                f"{self.name}, {which} part", self,
            )
            for which, part in zip(("training", "test"), parts, strict=True)
        )  # fmt: skip


class Report(Mapping):
    """What `Log.check` found: a mapping of facts, see `checking.facts`; shown as text, or as HTML in a notebook."""

    def __init__(self, facts: Mapping):
        self.facts = facts

    def __getitem__(self, name):
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def ok(self) -> bool:
        """Whether there is nothing that must be mended."""
        return all(problem["severity"] != "error" for problem in self["problems"])

    def __str__(self) -> str:
        return checking.describe(self.facts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def visits_of(log) -> Visits:
    """The arrays of a `Log`, or of a data frame with the columns of one; a SettingError for `Parts`."""
    if isinstance(log, Visits):
        return log
    if isinstance(log, str | Path):
        raise SettingError(f"{str(log)!r} is the name of a file: give Log.read({str(log)!r})")
    return (log if hasattr(type(log), "visits") else Log.from_frame(log)).visits  # a frame may have a column "visits"

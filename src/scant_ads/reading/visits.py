"""What is read of a log that a user brings: its visits, and all that is wrong with it, each problem
with its mend.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError
from scant_ads.reading.amounts import NO_UNITS, Units
from scant_ads.severity import SEVERITY

ELIGIBLE = "eligible"  # the role of a column of lists, the ads that could be shown at each visit

# roles that a column has only where it is said, whatever it is called
KEYS = ("id", "user", ELIGIBLE, "list")
KEY = "\0"  # prefix of the names of these columns, once they are told: no other name begins so
ROLES = (*logs.NEEDED, *logs.OPTIONAL, *KEYS)  # roles of columns, which a log may call otherwise


@dataclass(frozen=True)
class Options:
    """How a user's log is to be read.

    columns : by role, one of `ROLES`, the column of the file that has it
    ignore : columns to leave out
    categorical : features to take as texts, as they are written, though they are numbers or times;
        of this and of `ignore`, names that the file lacks are passed over
    units : what propensities and rewards are written as
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    ignore: Collection[str] = frozenset()
    categorical: Collection[str] = frozenset()
    units: Units = NO_UNITS


PLAIN = Options()


@dataclass(frozen=True)
class Problem:
    """Something wrong with a log.

    kind : a short name, one of `severity`
    reason : what is wrong; for rows, with the first value at fault
    mend : what to do about it
    count : the rows at fault; 0 if the problem is not one of rows
    row : the index of the first row at fault
    column : whose it is, where the kind does not tell
    """

    kind: str
    reason: str
    mend: str = ""
    count: int = 0
    row: int | None = None
    column: str = ""

    @property
    def severity(self) -> str:
        """ "error" if the log cannot be evaluated, else "warning"."""
        return SEVERITY[self.kind]


@dataclass(frozen=True)
class Column:
    """A policy of the user's own: the log's column `policy:NAME` has its probability of each ad
    shown. `name` is NAME.
    """

    name: str

    @property
    def key(self) -> str:
        """The name of the column."""
        return f"{logs.POLICY}{self.name}"


@dataclass(frozen=True)
class Visits(Log):
    """A log as its user wrote it; of its features, numbers may be missing (NaN), and texts are
    codes.

    categories : by name of a text feature, its texts; its column in `features` holds their indices;
        "" is missing
    probabilities : float64 (rows x policies), the probabilities of the logged ad under policies of
        the user's own
    policies : the names of the policies
    exact : uint64 (rows x 2), what numeric features add to the hashes of rows (`hashing`), in
        double precision; None where some were given in single precision, as `features` are
    id : uint64 (rows x 2), hashes of the visit's id; None without ids
    user : uint64 (rows), a hash of who it was; None if that is not known
    lists : the column that `eligible` is from
    list : uint64 (rows), which list each row is a place of; None if rows are visits of their own
    place : int64 (rows), its place in the list, from 0; None without lists
    weights : float64 (rows x policies), of policies of lists, see `reading.lists`; None without
        lists
    beside : float64 (rows x policies), weights of the item at its place, beside those given what
        stands above; None where a log lacks them
    propensity_of : what the propensities of lists are of, one of `lists.KINDS`; "" without
        lists
    """

    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probabilities: np.ndarray | None = None
    policies: tuple[str, ...] = ()
    exact: np.ndarray | None = None
    id: np.ndarray | None = None
    user: np.ndarray | None = None
    lists: str = ""
    list: np.ndarray | None = None
    place: np.ndarray | None = None
    weights: np.ndarray | None = None
    beside: np.ndarray | None = None
    propensity_of: str = ""

    @property
    def together(self) -> np.ndarray | None:
        """A hash of the user, or else of the list, by which rows depend on each other, uint64
        (rows); None if rows are independent.
        """
        return self.list if self.user is None else self.user

    def feature(self, name: str) -> np.ndarray:
        """A feature's numbers, or the codes of its texts, float32 (rows)."""
        return self.features[:, self.names.index(name)]

    def codes(self, name: str) -> np.ndarray:
        """The codes of the texts of a feature, int64 (rows)."""
        return self.feature(name).astype(np.int64)

    @property
    def missing(self) -> dict[str, int]:
        """How many values each numeric feature lacks; features that lack none are left out."""
        counts = zip(self.names, np.isnan(self.features).sum(axis=0).tolist(), strict=True)
        return {name: count for name, count in counts if count}


@dataclass(frozen=True)
class Reading:
    """What came of reading a log.

    path : the file
    form : what kind of file it is, in words
    columns : the names of its columns, as they are in the file, and of the values of columns of
        objects
    problems : all that were found, errors first
    visits : the log; None if there is an error
    lines : for text, the line of each row, int (rows); None where rows have no lines
    fraction : the fraction that the only propensity is taken for, if it is rounded, as "1/3,
        written as 0.333"
    """

    path: object
    form: str
    columns: tuple[str, ...]
    problems: tuple[Problem, ...]
    visits: Visits | None = None
    lines: np.ndarray | None = None
    fraction: str = ""

    def place(self, problem: Problem) -> str:
        """Where the first row at fault is: "line 3", "row 2", or ""."""
        if problem.row is None:
            return ""
        return f"row {problem.row + 1}" if self.lines is None else f"line {self.lines[problem.row]}"

    @property
    def rows(self) -> int:
        return len(self.required())

    @property
    def policies(self) -> tuple[str, ...]:
        """NAME of each column `policy:NAME`, the user's own policies."""
        return self.required().policies

    @property
    def optional(self) -> tuple[str, ...]:
        """Which of the columns timestamp, position, id, user, eligible and list the log has."""
        return tuple(
            role for role in (*logs.OPTIONAL, *KEYS) if getattr(self.required(), role) is not None
        )

    @property
    def exact(self) -> bool:
        """Whether no feature is given in single precision."""
        return self.required().exact is not None

    def batches(self, rows: int) -> Iterator[tuple["Reading", None, int, int]]:
        """Successive parts of at most `rows` rows; the first has the problems.

        `folder.Folder` has the same method.
        """
        for start in range(0, max(1, len(self.visits or ())), rows):
            visits = self.visits and self.visits.take(slice(start, start + rows))
            yield (
                replace(self, visits=visits, problems=() if start else self.problems),
                None,
                0,
                start,
            )

    def entries(self, role: str, rows: int) -> Iterator[np.ndarray]:
        """The values of one column of these rows, in pieces: times, or hashes of users or ids.

        role : "timestamp", "user" or "id"
        rows : how many rows there are
        """
        values = getattr(self.required(), role)
        yield values[:, 0] if role == "id" else values

    def required(self) -> Visits:
        """The visits; a DataError with the first error if there are none."""
        if self.visits is not None:
            return self.visits
        errors = [problem for problem in self.problems if problem.severity == "error"]
        first, line, row = errors[0], None, ""
        if first.row is not None:
            line = None if self.lines is None else int(self.lines[first.row])
            row = "" if line else f"row {first.row + 1}: "
        more = f" ({first.count - 1:,} more rows)" if first.count > 1 else ""
        rest = f"{len(errors) - 1} more problems" if len(errors) > 2 else "1 more problem"
        advice = [first.mend] if first.mend else []
        advice += [f"`scant ads check` lists {rest}"] if len(errors) > 1 else []
        raise DataError(self.path, f"{row}{first.reason}{more}", line, ". ".join(advice))


@dataclass(frozen=True)
class Batch:
    """Successive rows of a log.

    visits : the rows; None if there is an error in one
    where : what messages call their place
    piece : int (rows), between which of `Log.ends` each row is
    problems : of single cells, each with its place
    """

    visits: Visits | None
    where: object
    piece: np.ndarray
    problems: list[tuple[str, Problem]]


def is_feature(name: str) -> bool:
    """Whether a column, by its role, is a feature."""
    is_role = name in (*logs.NEEDED, *logs.OPTIONAL, *(KEY + role for role in KEYS))
    return bool(name) and not is_role and not name.startswith((logs.FULL, logs.POLICY))

"""A practitioner's log, from a file, a folder or a data frame, ready to be checked, learnt from and
evaluated on.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from scant.data import logs
from scant.errors import DataError, SettingError, as_arguments, is_number, unknown
from scant.randomness import generator
from scant_ads.diagnosis import leaks, lists, overview, premise, shapes
from scant_ads.diagnosis.showings import Groups
from scant_ads.policies import learning
from scant_ads.progress import silent
from scant_ads.reading import formats, layout, summing, totals
from scant_ads.reading.amounts import Units
from scant_ads.reading.folder import OF_LOG, ROWS, Folder
from scant_ads.reading.names import is_called_a_cost
from scant_ads.reading.tally import CUTS, Summary
from scant_ads.reading.visits import PLAIN, Batch, Options, Problem, Reading, Visits
from scant_ads.severity import LEAK
from scant_ads.unit import Unit

# rows of a folder that are learnt from, about: as many as fit in memory, and more than steps take
LEARNT = 1 << 21
# times from which the ends of pieces of a log are taken, if it is not in their order
SAMPLE = 1 << 20


class Log:
    """A log of visits: which ad was shown to whom, with what probability, and whether it was
    clicked.

    Made by `Log.read` or `Log.from_frame`. Reading never fails for what is wrong with single rows:
    `check` lists all of it, and whoever uses the log gets the first error as a DataError. A log in
    a folder of parquet files is read in batches, and may be larger than memory.

    source : the log in memory, or its folder
    name : what messages call the log
    half_of : the log that this one is a part of; None if it is whole
    chosen : bool (rows), which rows of the source belong to it; None for all
    options : how it was read
    unit : what rewards are counted in
    """

    def __init__(
        self,
        source: Reading | Folder,
        name: str | None = None,
        half_of: "Log | None" = None,
        chosen=None,
        options: Options = PLAIN,
    ):
        self.source, self.name = source, name or str(source.path)
        self.half_of, self.chosen, self.options = half_of, chosen, options
        self.summarised: Summary | None = None  # of all rows, once they have been read

    @classmethod
    def read(
        cls,
        path,
        columns: Mapping[str, str] | None = None,
        ignore=(),
        categorical=(),
        **units,
    ) -> "Log":
        """Read a log: CSV, which may be packed, parquet or Arrow, a folder of parquet files, or
        Vowpal Wabbit's forms.

        Parameters
        ----------
        path : the file, or the folder
        columns : what the file calls `action`, `reward`, `propensity`, `timestamp`, `position`, by
            these names; and which of its columns are `id`, by which visits are told apart, `user`,
            whose visit it was, `eligible`, lists of the ads that could be shown, and `list`, which
            list a row is a place of
        ignore : columns to leave out
        categorical : features to take as text, as they are written, though they are numbers or
            times, such as 01067 or 08:30; columns of JSON to take as they are
        units : what propensities and rewards are written as, fields of
            `scant_ads.reading.amounts.Units`, such as `reward_max=500, reward_unit="EUR"`

        Raises
        ------
        DataError : there is no such file, or its columns cannot be read at all
        SettingError : a column that is not there
        """
        units = Units(**units)
        of_lists = units.propensity_of or "list" in (columns or {})
        in_folder = formats.read_folder if of_lists else Folder
        read = in_folder if Path(path).is_dir() else formats.read
        return cls._of(read, path, columns, ignore, categorical, units)

    @classmethod
    def from_frame(
        cls,
        frame,
        columns: Mapping[str, str] | None = None,
        ignore=(),
        categorical=(),
        **units,
    ) -> "Log":
        """Take a data frame of pandas, polars or Arrow; see `read`.

        An index of pandas is not a column.
        """
        return cls._of(formats.read_frame, frame, columns, ignore, categorical, Units(**units))

    @classmethod
    def _of(cls, read, source, columns, ignore, categorical, units: Units) -> "Log":
        _check_names(columns, ignore=ignore, categorical=categorical)
        options = Options(columns or {}, frozenset(ignore), frozenset(categorical), units)
        reading = read(source, options)
        visits = getattr(reading, "visits", None)
        if visits is not None and visits.list is not None and not visits.propensity_of:
            reading, units = totals.by_visit(reading, units)
            options = replace(options, units=units)
        return cls(reading, options=options)

    @property
    def unit(self) -> Unit:
        units = self.options.units
        least, largest = units.reward_min, units.reward_max
        least, largest = (0.0 - largest, 0.0 - least) if units.less else (least, largest)
        return Unit(largest, units.reward_unit, least=least)

    @property
    def visits(self) -> Visits:
        """All rows, in memory; a DataError with the first error if the log has one."""
        if self.in_folder:
            batches = list(self.batches())
            self.refuse(
                [
                    (place, problem, problem.count)
                    for batch in batches
                    for place, problem in batch.problems
                ]
            )
            log = _joined([batch.visits for batch in batches])
        else:
            log = self.source.required()
            log = log if self.chosen is None else log.take(self.chosen)
        if len(log) < 2:
            raise DataError(self.name, "the log has one row, of which nothing can be said")
        return log

    @property
    def learnable(self) -> "Log":
        """The rows to learn from: about `LEARNT`, drawn at random, if a folder has more."""
        return self._drawn if self.in_folder and len(self) > LEARNT else self

    @cached_property
    def _drawn(self) -> "Log":
        random, share = generator(0, "advice", "learnt"), LEARNT / len(self)
        starts = range(0, len(self), ROWS)  # by parts, so that few random numbers are in memory
        drawn = np.concatenate(
            [random.random(min(ROWS, len(self) - start), np.float32) < share for start in starts]
        )
        return self._take(drawn, self.name, self.half_of)

    def _take(self, rows: np.ndarray, name: str, half_of: "Log | None") -> "Log":
        """The part of the log with some of its rows, bool (rows)."""
        chosen = np.ones(self.source.rows, bool) if self.chosen is None else self.chosen.copy()
        chosen[chosen] = rows  # of this log, which may be a part of its source
        return type(self)(self.source, name, half_of, chosen, self.options)

    @property
    def in_folder(self) -> bool:
        """Whether the log is in a folder, and read in batches."""
        return isinstance(self.source, Folder)

    @property
    def propensity_of(self) -> str:
        """What the propensities of a log of lists are of, see `reading.lists`; "" for others."""
        visits = None if self.in_folder else self.source.visits
        return "" if visits is None else visits.propensity_of

    @property
    def clusters(self) -> str:
        """Whose rows depend on each other: "lists" or "users"."""
        of_lists = self.propensity_of and "user" not in self.source.optional
        return "lists" if of_lists else "users"

    @property
    def form(self) -> str:
        """What kind of file it is, in words."""
        return self.source.form

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns of the file, or of the first one of a folder."""
        return self.source.columns

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the user's own policies in it."""
        return self.source.policies

    @property
    def problems(self) -> list[Problem]:
        """Problems of columns as a whole."""
        return [problem for problem in self.source.problems if problem.kind in OF_LOG] + [
            *self._of_rewards,
            *self._of_features,
        ]

    def __len__(self) -> int:
        return self.source.rows if self.chosen is None else int(np.count_nonzero(self.chosen))

    def __repr__(self) -> str:
        if not self.in_folder and self.source.visits is None:
            return f"Log({self.name!r}, with errors: see check())"
        of_what = f"in {self.form}" if self.in_folder else f"{len(self.source.visits.actions)} ads"
        return f"Log({self.name!r}, {len(self):,} rows, {of_what})"

    def refuse(self, problems) -> None:
        """Raise a DataError for the first error among problems.

        problems : each with its place, and how many rows have it, see `overview.problems`
        """
        if isinstance(self.source, Reading):
            self.source.required()
        for place, problem, count in problems:
            if problem.severity == "error":
                rows = f" ({count:,} rows)" if place else ""
                raise DataError(place or self.name, f"{problem.reason}{rows}", advice=problem.mend)

    def summary(self, progress=silent) -> Summary:
        """The summary of all rows, which are read only once.

        progress : called with a sentence on each step that begins
        """
        return self.summarised or summing.summary(self, progress=progress)

    def check(self, progress=silent) -> "Report":
        """What the log holds, and all that is wrong with it; for `progress` see `summary`."""
        progress(f"looks through {self.name}")
        return Report(overview.facts(self, self.summary(progress)))

    def check_learnable(self, progress=silent) -> None:
        """Raise a DataError for the first error that `check` finds, or for a log of lists; for
        `progress` see `summary`.
        """
        self.refuse(overview.problems(self, self.summary(progress)))
        if self.propensity_of:
            raise DataError(
                self.name,
                "its rows are places of lists, and a policy that is learnt chooses one ad",
                advice="Policies of lists are columns policy:NAME, which are evaluated",
            )

    def split(
        self, share: float = learning.TIME_SHARE, by: str = "random", seed: int = 0
    ) -> tuple["Log", "Log"]:
        """A part to learn from and a part to evaluate on, whose rows keep their order; see
        `learning.split`.

        Where it is known who visited, a user's visits are in one part, unless the log is split by
        time. Rows of one id, such as those of a request, always are.
        """
        if not is_number(share, 0, 1):
            raise SettingError(f"the share {share!r} is no number from 0 to 1")
        if by not in ("random", "time"):
            raise unknown("way to split a log", by, ("random", "time"))
        times = None
        if by == "time":
            if "timestamp" not in self.source.optional:
                raise SettingError(
                    f"{self.name} has no column timestamp to split by; --columns "
                    "timestamp=COLUMN says which it is"
                )
            times = np.concatenate(list(self._entries("timestamp")))
        roles = [
            role
            for role in ("user", "id")
            if role in self.source.optional and (by, role) != ("time", "user")
        ]
        together = np.concatenate(list(self._entries(roles[0]))) if roles else None
        earlier = learning.split(len(self), share, seed, times, together)
        parts = ("training", earlier), ("test", ~earlier)
        return tuple(self._take(rows, f"{self.name}, {which} part", self) for which, rows in parts)

    def batches(self, rows: int = ROWS) -> Iterator[Batch]:
        """The rows in their order.

        rows : of a batch
        """
        ends, by_time = self.ends
        for reading, path, first_row, start in self.source.batches(rows):
            problems = [
                (_place(reading, problem, path, first_row), problem)
                for problem in reading.problems
                if problem.kind not in OF_LOG
            ]
            log = reading.visits
            if log is None:
                yield Batch(None, path or self.name, np.empty(0, int), problems)
                continue
            number = start + np.arange(len(log))
            if self.chosen is not None:
                chosen = self.chosen[start : start + len(log)]
                number = np.count_nonzero(self.chosen[:start]) + np.arange(np.count_nonzero(chosen))
                log = log.take(chosen)
            piece = np.searchsorted(ends, log.timestamp if by_time else number, side="right")
            yield Batch(log, path or self.name, np.minimum(piece, len(CUTS) - 1), problems)

    @cached_property
    def groups(self) -> Groups:
        """The groups of rows in which showings of ads are tested, chosen by the first rows."""
        leaking = {problem.column for problem in self._of_features if problem.kind == LEAK}
        return Groups() if self._head is None else Groups.of(self._head, leaking)

    @property
    def _of_rewards(self) -> list[Problem]:
        """The question whether less is better, if rewards are called like costs and the user has
        not said.
        """
        units, reward = self.options.units, self.options.columns.get("reward", "reward")
        if units.less is not None or units.reward_max <= 0 or not is_called_a_cost(reward):
            return []
        reason = f"rewards are column {reward!r}, of which less may be better"
        return [
            Problem(
                "costs",
                reason,
                "Say --less if it is, and --no-less if more is better",
                column=reward,
            )
        ]

    @cached_property
    def _of_features(self) -> list[Problem]:
        """Problems of features and of lists, by the log's first rows."""
        reported = {problem.column for problem in self.source.problems}
        if self._head is None:
            return []
        return [
            *leaks.problems(self._head, self.unit.nothing),
            *shapes.problems(self._head, reported),
            *lists.problems((self.half_of or self)._head),  # a part has some rows of a list
            *(premise.problems(self.visits) if self.propensity_of else ()),
        ]

    @cached_property
    def _head(self) -> Visits | None:
        """The first `layout.HEAD` rows, up to a batch with an error; None if there are none."""
        head, rows = [], 0
        for batch in self.batches(layout.HEAD):
            if batch.visits is None or rows >= layout.HEAD:
                break
            head.append(batch.visits.take(slice(0, layout.HEAD - rows)))
            rows += len(head[-1])
        return _joined(head) if rows else None

    def _entries(self, role: str) -> Iterator[np.ndarray]:
        """The values of one column of the rows, in batches; see `Reading.entries`."""
        start = 0
        for values in self.source.entries(role, ROWS):
            start += len(values)
            yield (
                values if self.chosen is None else values[self.chosen[start - len(values) : start]]
            )

    @cached_property
    def ends(self) -> tuple[np.ndarray, bool]:
        """Where the pieces between the fractions `tally.CUTS` of the log end, and whether these
        ends are times.

        They are row numbers if rows are in order of time, or have no times. Else they are quantiles
        of times, in a sample of 2^20 rows at most.
        """
        if isinstance(self.source, Reading) and self.source.visits is None:
            return np.zeros(len(CUTS)), False
        ends = np.array([-int(-cut * len(self) // 1) for cut in CUTS])
        if "timestamp" not in self.source.optional:
            return ends, False
        every, number, last, ordered, sample = -(-len(self) // SAMPLE), 0, None, True, []
        for times in self._entries("timestamp"):
            if not len(times):
                continue
            if np.isnat(times).any():
                return ends, False
            ordered &= bool((times[1:] > times[:-1]).all()) and (last is None or times[0] > last)
            sample.append(times[-number % every :: every])
            number, last = number + len(times), times[-1]
        if ordered:
            return ends, False
        sample = np.sort(np.concatenate(sample))
        places = np.array([-int(-cut * len(sample) // 1) for cut in CUTS])
        return sample[np.minimum(places, len(sample) - 1)], True


def _check_names(columns, **names) -> None:
    """Raise a SettingError for columns that are no mapping, or for a text in place of a list of
    names.
    """
    if not isinstance(columns, Mapping | None):
        raise SettingError(f"columns are {columns!r}; they are a mapping, as {{'reward': 'click'}}")
    for what, value in names.items():
        if isinstance(value, str):
            raise SettingError(f"{what} is {value!r}; it is a list of columns, as {[value]}")


def _place(reading: Reading, problem: Problem, path: Path | None, first_row: int) -> str:
    """Where the first row of a problem is; for one of a folder with its file."""
    if path is None:
        return reading.place(problem)
    return str(path) if problem.row is None else f"{path}, row {first_row + problem.row + 1}"


def _joined(parts: list[Visits]) -> Visits:
    """The rows of logs with the same columns, one after the other.

    Each log numbers its ads, and the texts of a feature, on its own. All are numbered anew.
    """
    actions = logs.ordered({ad for part in parts for ad in part.actions})
    alike = (name for name in parts[0].columns() if name not in ("action", "eligible"))
    columns = {name: np.concatenate([part.columns()[name] for part in parts]) for name in alike}
    new_actions = [_new_numbers(part.actions, actions) for part in parts]
    columns["action"] = np.concatenate(
        [new[part.action] for new, part in zip(new_actions, parts, strict=True)]
    )
    if parts[0].eligible is not None:
        columns["eligible"], start = np.zeros((len(columns["action"]), len(actions)), bool), 0
        for new, part in zip(new_actions, parts, strict=True):
            columns["eligible"][start : start + len(part), new] = part.eligible
            start += len(part)
    categories = {}
    for name in parts[0].categories:
        texts = dict.fromkeys(text for part in parts for text in part.categories[name])
        if "" in texts:  # last, as where rows are read at once
            texts[""] = texts.pop("")
        column, categories[name] = parts[0].names.index(name), tuple(texts)
        codes = [
            _new_numbers(part.categories[name], texts)[part.features[:, column].astype(int)]
            for part in parts
        ]
        columns["features"][:, column] = np.concatenate(codes)
    return replace(parts[0], **columns, actions=actions, categories=categories)


def _new_numbers(own: Iterable[str], common: Iterable[str]) -> np.ndarray:
    """The index of each of a log's own names among the names of all logs, int32."""
    place = {name: index for index, name in enumerate(common)}
    return np.array([place[name] for name in own], np.int32)


class Report(dict):
    """What `Log.check` found: facts, see `overview.facts`; shown as text."""

    @property
    def ok(self) -> bool:
        """Whether there is nothing that must be mended."""
        return all(problem["severity"] != "error" for problem in self["problems"])

    def __str__(self) -> str:
        return as_arguments(overview.describe(self))

    __repr__ = __str__


def log_of(log) -> Log:
    """A `Log` as it is, or one made of a data frame."""
    if isinstance(log, str | Path):
        raise SettingError(f"{str(log)!r} is the name of a file: give Log.read({str(log)!r})")
    return log if isinstance(log, Log) else Log.from_frame(log)


def visits_of(log) -> Visits:
    """The arrays of a `Log`, or of a data frame; `Visits` as they are."""
    return log if isinstance(log, Visits) else log_of(log).visits

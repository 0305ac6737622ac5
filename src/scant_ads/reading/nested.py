"""Columns of objects taken apart, a column for each key: JSON in columns of text, and structs of
parquet and Arrow.

The key `age` of a column `context` becomes the column `context.age`; an object within an object
adds a further dot. Which keys there are, and whether they hold numbers or text, is decided by the
first `HEAD` rows of a log.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from shlex import quote

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from scant.data import logs
from scant.errors import DataError, SettingError, short, unknown
from scant_ads.reading import arrays, layout
from scant_ads.reading.literals import literal
from scant_ads.reading.visits import ELIGIBLE, KEY, Problem, is_feature

MOST = 1000  # keys of a column: with more of them, they look like values
NONE = "is no JSON object; most cells are"  # what is wrong with other text in a column of objects
OBJECT = r"^\s*\{\s*['\"}]"  # how an object begins, as JSON or Python writes it
PYTHON = re.compile(r"\s*\{\s*'")  # as Python alone writes it


def holder(name: str, columns) -> str | None:
    """The column that may hold a value of this name, such as `context` for `context.age`: the one
    with the longest name; None if there is none.
    """
    parts = name.split(".")
    return next(
        (
            ".".join(parts[:n])
            for n in range(len(parts) - 1, 0, -1)
            if ".".join(parts[:n]) in columns
        ),
        None,
    )


# --- structs


@dataclass
class Parts:
    """What became of the struct columns of a table.

    table : Arrow, with a column for each value of the structs in place of the structs
    names : the structs, and their values that are left out
    lists : values that are left out because they hold lists
    """

    table: object
    names: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)


def unstructured(table, ignore=(), kept=()) -> Parts:
    """`Parts` with an Arrow table that has a column for each value of its struct columns.

    ignore : names of structs and of their values to leave out; a plain column with such a name
        stays
    kept : names of values to keep although they are lists; other lists are left out
    """
    if not any(types.is_struct(kind) for kind in table.schema.types):
        return Parts(table)
    parts, columns, names = Parts(None), [], []

    def take(name: str, column, inside: bool) -> None:
        """Take a column, or a value of a struct (`inside`): structs apart, lists not at all, unless
        they are to be kept.
        """
        nested = types.is_struct(column.type)
        listed = inside and types.is_nested(column.type) and not nested and name not in kept
        if nested or listed or (inside and name in ignore):
            parts.names.append(name)
        if name in ignore and (nested or inside):
            return
        if nested:
            for part, values in zip(column.type, column.flatten(), strict=True):
                take(f"{name}.{part.name}", values, True)
        elif listed:
            parts.lists.append(name)
        else:
            columns.append(column)
            names.append(name)

    for name, column in zip(table.column_names, table.columns, strict=True):
        take(name, column, False)
    parts.table = pa.Table.from_arrays(columns, names=names)
    return parts


def list_problems(names: Iterable[str]) -> list[Problem]:
    """A problem for each value that is left out since it holds lists."""
    return [
        Problem(
            "list",
            f"feature {name!r} holds lists, and is left out",
            (
                f"Leave it out with --ignore {quote(name)}, or write what matters of it as a "
                "key of its own"
            ),
            column=name,
        )
        for name in names
    ]


# --- JSON


def as_texts(frame):
    """A pandas data frame whose dictionaries are replaced by JSON texts."""
    texts = {
        name: [
            json.dumps(value, default=lambda number: number.item())
            if isinstance(value, dict)
            else value
            for value in column
        ]
        for name, column in frame.items()
        if column.dtype == object
    }
    return frame.assign(**texts)


def parsed(text: str):
    """The value of a text of JSON."""
    thing = _JSON.decode(text)
    if "\\ud" in text or "\\uD" in text:
        json.dumps(thing, ensure_ascii=False).encode()
    return thing


def _object(pairs: list[tuple]) -> dict:
    thing = dict(pairs)
    if len(thing) < len(pairs):
        raise ValueError(
            f"has the key {short(logs.repeated(key for key, _ in pairs)[0])} twice in one object"
        )
    return thing


def _integer(digits: str) -> int:
    if abs(float(digits)) == np.inf:
        raise ValueError(f"has a whole number of {len(digits.lstrip('-')):,} digits")
    return int(digits)


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def _python(text: str):
    """The value of a Python literal, as JSON would hold it; raises what `parsed` does."""
    try:
        return parsed(json.dumps(literal(text), allow_nan=False))
    except TypeError:
        raise SyntaxError("more than JSON can hold") from None


@dataclass
class Keys:
    """The keys of a column of objects.

    column : its name
    prefix : what names of its values begin with
    ignore : names to leave out, with all below them
    absent : what a number is where it is absent
    eligible : the name of the lists of eligible ads, which become texts; "" if there are none
    kinds : by name, "numbers" or "text"
    lists : the names of values that are lists
    met : the names of `ignore` that were met
    """

    column: str
    prefix: str
    ignore: frozenset[str] = frozenset()
    absent: float = np.nan
    eligible: str = ""
    kinds: dict[str, str] = field(default_factory=dict)
    lists: list[str] = field(default_factory=list)
    met: set[str] = field(default_factory=set)

    @property
    def names(self) -> list[str]:
        """The names of all values in the first rows, including values that are left out."""
        return [*self.kinds, *self.lists, *sorted(self.met)]

    def flat(self, thing: Mapping, prefix: str | None = None, values: dict | None = None) -> dict:
        """The values of an object, and of objects within it, by name, added to `values`; ignored
        names to `met`. A ValueError if two values have one name.
        """
        prefix, values = self.prefix if prefix is None else prefix, {} if values is None else values
        for key, value in thing.items():
            name = prefix + key
            if name in self.ignore:
                self.met.add(name)
            elif type(value) is dict:
                self.flat(value, f"{name}.", values)
            elif name in values:
                raise ValueError(f"has two values called {name!r}")
            else:
                values[name] = (
                    json.dumps(value) if name == self.eligible and type(value) is list else value
                )
        return values

    def read(self, text: str) -> dict | str:
        """The values of a JSON object by name; or, as a text, what is wrong with it."""
        try:
            thing = _python(text) if PYTHON.match(text) else parsed(text)
            return self.flat(thing) if type(thing) is dict else NONE
        except (json.JSONDecodeError, UnicodeError, RecursionError, SyntaxError):
            return NONE
        except ValueError as error:
            return str(error)

    def decide(self, objects: Iterable[Mapping | None], where) -> "Keys":
        """Set `kinds` and `lists`: which keys there are, and what each holds; returns itself.

        objects : the objects of the first rows, flat; None where a row has none
        where : the log, for the DataError if there are more than `MOST` keys
        """
        types_of: dict[str, set[type]] = {}
        for thing in objects:
            for name, value in (thing or {}).items():
                if value is not None and value == value:  # not NaN
                    types_of.setdefault(name, set()).add(type(value))
            if len(types_of) > MOST:
                what = self.column or "the log"
                reason = f"{what} has more than {MOST:,} keys, as if they were values"
                advice = f"Leave it out with --ignore {quote(what)}" if self.column else ""
                raise DataError(where, reason, advice=advice)
        self.lists = [name for name, types in types_of.items() if list in types]
        self.kinds = {
            name: "text" if str in types else "numbers"
            for name, types in types_of.items()
            if list not in types
        }
        return self

    def columns(
        self, objects: Iterable[Mapping | None], count: int
    ) -> tuple[dict, dict[int, str], dict[int, str]]:
        """The columns that flat objects become, and which objects do not fit.

        count : how many objects there are; `objects` may be an iterator

        Returns
        -------
        columns : Arrow arrays by name
        late : by index of an object, its first key that is not known
        odd : by index of an object, its first key with a list where there was none in the first
            rows
        """
        values = {name: [None] * count for name in self.kinds}
        late, odd = {}, {}
        for index, thing in enumerate(objects):
            for name, value in (thing or {}).items():
                column = values.get(name)
                if column is None:
                    if value is not None and value == value and name not in self.lists:
                        late.setdefault(index, name)
                elif type(value) is list:
                    odd.setdefault(index, name)
                else:
                    column[index] = value
        return (
            {
                name: _array(values.pop(name), kind, self.absent)
                for name, kind in self.kinds.items()
            },
            late,
            odd,
        )

    def problems(
        self, late: Mapping[int, str], odd: Mapping[int, str], codes: np.ndarray
    ) -> list[Problem]:
        """Problems of rows whose objects do not fit.

        late, odd : as `columns` returns them
        codes : int (rows), the index of each row's object; -1 for none
        """
        problems = []
        if late:
            rows = np.isin(codes, [*late])
            name = late[int(codes[np.argmax(rows)])]
            reason = (
                f"{name!r} has no value in the first {layout.HEAD:,} rows; such keys are left out"
            )
            mend = "To use it, move a row with it forward"
            problems.append(_of_rows("late-key", reason, mend, rows, self.column))
        if odd:
            rows = np.isin(codes, [*odd])
            name = odd[int(codes[np.argmax(rows)])]
            reason = f"{name} is a list here, and none in the first rows"
            mend = f"Leave it out with --ignore {quote(name)}"
            problems.append(_of_rows("listed", reason, mend, rows, self.column))
        return problems


def _array(values: list, kind: str, absent: float):
    """Values of JSON as an Arrow array: of numbers, or of texts if some are texts."""
    types = {*map(type, values)}
    if kind == "text" or str in types:
        truth = ("0", "1") if kind == "numbers" else ("false", "true")
        return pa.array([_as_text(value, truth) for value in values], pa.string())
    if absent == absent:
        values = [absent if value is None else value for value in values]
    if types <= {int, type(None)} and absent != absent:
        try:
            return pa.array(values, pa.int64())
        except (pa.ArrowInvalid, OverflowError):
            pass
    return pa.array(np.array(values, float), from_pandas=True)


def _as_text(value, truth: tuple[str, str]) -> str | None:
    if isinstance(value, str | None):
        return value
    if isinstance(value, bool):
        return truth[value]
    return None if value != value else arrays.as_text(value)


@dataclass
class Plan:
    """Which columns of a log hold JSON objects, and what becomes of them.

    where : the log, as errors call it
    ignore : names to leave out
    roles : by name, the role of a value
    parts : what became of the log's structs
    keys : by column of objects, its keys
    problems : of columns of objects and of structs
    """

    where: object
    ignore: frozenset[str] = frozenset()
    roles: Mapping[str, str] = field(default_factory=dict)
    parts: Parts | None = None
    keys: dict[str, Keys] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """All names of values, and of structs."""
        of_structs = self.parts.names if self.parts else ()
        return [*of_structs, *(name for keys in self.keys.values() for name in keys.names)]

    @property
    def listing(self) -> str:
        """The name of the value that holds the lists of eligible ads; "" if none does."""
        return next((name for name, role in self.roles.items() if role == KEY + ELIGIBLE), "")

    @property
    def features(self) -> list[str]:
        """The names of values that are features."""
        return [
            name for keys in self.keys.values() for name in keys.kinds if name not in self.roles
        ]

    def decide(self, table, categorical=()) -> "Plan":
        """Find the columns of JSON objects, and their keys, by the first rows of a log; returns
        itself.

        table : Arrow, its columns named by their roles
        categorical : columns to take as they are
        """
        self.problems += list_problems(self.parts.lists if self.parts else ())
        for name, column in zip(table.column_names, table.columns, strict=True):
            if (
                is_feature(name)
                and name not in categorical
                and arrays.kind_of(column.type) == "text"
            ):
                self._decide(name, arrays.plain(column.slice(0, layout.HEAD)))
        if absent := [name for name in self.roles if name not in self.names]:
            raise SettingError(
                f"{self.where}: {unknown('column', absent[0], [*table.column_names, *self.names])}"
            )
        return self

    def _decide(self, name: str, head) -> None:
        codes, texts = arrays.distinct(head)
        count = np.bincount(codes[codes >= 0], minlength=len(texts))
        count[_absent(texts)] = 0
        looks = _looks(texts)
        if not count.sum() or count[looks].sum() < layout.MOSTLY * count.sum():
            return
        keys = Keys(name, f"{name}.", self.ignore, eligible=self.listing)
        read = [keys.read(text) for text in texts.to_pylist()]
        objects = [thing if type(thing) is dict else None for thing in read]
        good = np.array([thing != NONE for thing in read])
        if count[good].sum() < layout.MOSTLY * count.sum():
            text = short(texts[int(np.argmax(looks & ~good))].as_py())
            reason = (
                f"column {name!r} holds objects that are not JSON, and is taken as one text: {text}"
            )
            mend = "Write them as JSON (json.dumps in Python), and each key becomes a feature"
            self.problems.append(Problem("braces", reason, mend, column=name))
            return
        self.keys[name] = keys.decide(objects, self.where)
        self.problems += list_problems(keys.lists)

    def apply(self, table) -> tuple[object, list[Problem]]:
        """An Arrow table with its columns of JSON objects taken apart, and what is wrong with some
        of its rows.
        """
        columns = {}
        if not self.keys:
            return table, []
        problems: list[Problem] = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in self.keys:
                parts = self._taken_apart(self.keys[name], arrays.plain(column), problems)
            else:
                parts = {name: column}
            if twice := columns.keys() & parts.keys():
                raise DataError(
                    self.where,
                    f"two columns are called {min(twice)!r}",
                    advice="Rename one of them",
                )
            columns |= parts
        return pa.table(columns), problems

    def _taken_apart(self, keys: Keys, column, problems: list[Problem]) -> dict:
        codes, texts = arrays.distinct(column)
        absent, faults = _absent(texts), {}

        def objects():
            for start in range(0, len(texts), logs.CHUNK):
                for index, text in enumerate(texts.slice(start, logs.CHUNK).to_pylist(), start):
                    thing = None if absent[index] else keys.read(text)
                    if type(thing) is str:
                        faults[index], thing = thing, None
                    yield thing

        columns, late, odd = keys.columns(objects(), len(texts))
        wrong = np.isin(codes, [*faults])
        if wrong.any():
            first = int(codes[np.argmax(wrong)])
            mend = (
                "Complete or empty these cells, or take all as texts with --categorical "
                f"{quote(keys.column)}"
            )
            reason = f"{keys.column} {short(texts[first].as_py())} {faults[first]}"
            problems.append(_of_rows("json", reason, mend, wrong, keys.column))
        problems += keys.problems(late, odd, codes)
        place = pa.array(codes, mask=codes < 0)
        return {self.roles.get(name, name): values.take(place) for name, values in columns.items()}


def _of_rows(kind: str, reason: str, mend: str, rows: np.ndarray, column: str) -> Problem:
    return Problem(
        kind,
        reason,
        mend,
        int(np.count_nonzero(rows)),
        int(np.argmax(rows)),
        column,
    )


def _looks(texts) -> np.ndarray:
    """Which of some distinct texts look like objects, bool (texts)."""
    return np.asarray(compute.match_substring_regex(texts.cast(pa.string()), OBJECT), bool)


def _absent(texts) -> np.ndarray:
    """Which of some distinct texts stand for a missing value, bool (texts)."""
    return np.array([text.strip() in arrays.MISSING for text in texts.to_pylist()], bool)

"""Judged lists: queries of which a learner is given every grade before the first round, by a human
or by a judge who errs, leans, or tells nothing.

A seed's queries are parted into judged, visited and never visited ones, so that none is both judged
and visited: a start from judged lists would else be a memory.
"""

from collections.abc import Mapping

import numpy as np

from scant.errors import SettingError
from scant.rankers.clicks import PROBABILITIES

HUMAN, COIN, COLUMN, RANDOM = "human", "coin", "column", "random"
UPWARDS = 2 / 3  # of grades that are wrong
PENALTY = 1.0  # of the ridge regression on every grade that says what a cue tells
# Counts of pairs by a human's grade, and within it by a judge's.
# gpt-4: TREC-Robust's assessors, relevant or not, and GPT-4 (Thomas et al., SIGIR 2024; kappa 0.64)
COUNTS = {"gpt-4": ((866, 95), (405, 1585))}
RULE = {  # the JSON schema of the setting `judged_by`
    "if": {"type": "object"},
    "then": {
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "wrong": {
                "description": "The share of documents that get the next grade, two in three the "
                "higher one.",
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 1,
            },
            "leans": {
                "description": "Grades are moved along a cue, by so many standard deviations of "
                "grades for one of the cue within its query, and rounded. The cue is a feature by "
                "its number from 1, or random: a direction of the features that is drawn for each "
                "seed, and tells nothing of grades.",
                "type": "object",
                "additionalProperties": False,
                "required": ["cue", "by"],
                "properties": {
                    "cue": {
                        "oneOf": [
                            {"type": "integer", "minimum": 1, "maximum": 1_000_000},
                            {"const": RANDOM},
                        ]
                    },
                    "by": {"type": "number"},
                },
            },
            "confusion": {
                "description": "The probability of each of the judge's grades from 0, a row for "
                "each grade of the human's; or the name of measured ones.",
                "oneOf": [
                    {"enum": [*COUNTS]},
                    {"type": "array", "minItems": 2, "items": PROBABILITIES},
                ],
            },
        },
    },
    "else": {"enum": [HUMAN, COIN, COLUMN]},
}


def confusion(judge: Mapping) -> np.ndarray | None:
    """P(judge's grade | human's grade), float64 (grades, grades); None if the judge has no such
    table.

    Raises
    ------
    SettingError : a table of a study's own is not square, or a row does not sum to 1
    """
    given = judge.get("confusion")
    if given is None:
        return None
    if isinstance(given, str):
        counts = np.array(COUNTS[given], float)
        return counts / counts.sum(axis=1, keepdims=True)
    if any(len(row) != len(given) for row in given):
        raise SettingError(f"judged_by.confusion: its {len(given)} rows are to be as long")
    table = np.array(given, float)
    for grade, total in enumerate(table.sum(axis=1)):
        if not np.isclose(total, 1):
            raise SettingError(
                f"judged_by.confusion: the row of grade {grade} sums to {total:g}, not to 1"
            )
    return table


def check_column(judge, is_there) -> None:
    """Raise a SettingError for a judge whose grades are a column that is not there."""
    if judge == COLUMN and not is_there:
        raise SettingError(
            "judged_by: column needs a second column of grades: the data set names it as judged"
        )


def check_fits(judge, largest_grade: int | None = None, features: int | None = None) -> None:
    """Raise a SettingError if a judge's table has not the stream's grades, or the cue is none of
    its features. largest_grade, features : of the stream; None if not known
    """
    if not isinstance(judge, Mapping):
        return
    table, leans = confusion(judge), judge.get("leans")
    if table is not None and largest_grade is not None and len(table) != largest_grade + 1:
        raise SettingError(
            f"judged_by.confusion is of grades 0 to {len(table) - 1}, and the stream's go up to "
            f"{largest_grade}. Give a table with a row and a column for each"
        )
    if leans and features is not None and leans["cue"] != RANDOM and leans["cue"] > features:
        raise SettingError(f"judged_by.leans.cue: there are {features} features")


def check_number(lists: int, judged: float, queries: int) -> None:
    """Raise a SettingError for more lists than judged queries.

    judged : how many queries are judged, or their share, see `part_of`; queries : of the stream
    """
    if lists > (judged_queries := part_of(judged, queries)):
        raise SettingError(
            f"lists: {lists} are more than the {judged_queries} of its {queries} queries that are "
            "judged. Lower it, or raise the experiment's judged"
        )


def part_of(how_many: float, queries: int) -> int:
    """How many of `queries` are meant: `how_many` is a number from 1 on, below 1 a share."""
    return int(how_many if how_many >= 1 else round(how_many * queries))


def name(judge) -> str:
    """A judge in words, as tables and figures call it; "" for none."""
    if not isinstance(judge, Mapping):
        return judge or ""
    [(how, value)] = judge.items()
    if how == "leans":
        return f"leans {value['by']:g} sd"
    if how == "wrong":
        return f"{value:.0%} wrong"
    return f"{how} {value}" if isinstance(value, str) else how


class Judge:
    """A judge of a stream's queries.

    cue : float32 (documents of the stream), what the judge leans on; None if it does not lean
    told : the cue's standardised coefficient in a ridge regression of every grade: near 0 if the
        cue is useless; NaN without a cue
    """

    def __init__(self, judge, stream, random: np.random.Generator):
        """
        judge : the setting `judged_by`
        random : draws the cue, then grades
        """
        check_fits(judge, stream.metadata["largest_grade"], stream.features.shape[1])
        largest = stream.metadata["largest_grade"]
        check_column(judge, stream.judged is not None)
        if judge == COLUMN and (most := stream.judged.max()) > largest:
            raise SettingError(
                f"judged_by: column has a grade of {most}, and the data's go up to {largest}. Map "
                "the judge's grades to those of the data"
            )
        self.judge, self.stream, self.random = judge, stream, random
        self.table = self.leans = self.cue = None
        self.told = np.nan
        if isinstance(judge, Mapping):
            self.table, self.leans = confusion(judge), judge.get("leans")
        if self.leans:
            self._find_cue()

    def _find_cue(self) -> None:
        features = self.stream.features
        x = _within(self.stream, features)
        grades = _within(self.stream, self.stream.grades[:, None].astype(np.float32))[:, 0]
        shared, on = x.T @ grades, self.leans["cue"]
        if on == RANDOM:
            direction = self.random.standard_normal(x.shape[1], np.float32)
            direction -= shared * (direction @ shared) / max(shared @ shared, 1e-300)
        else:
            direction = np.eye(x.shape[1], dtype=np.float32)[on - 1]
        self.cue = x @ direction
        deviation = self.cue.std()
        # what differs by less is rounded
        self.least = 1e-6 * np.abs(features @ direction).max()
        if deviation <= self.least:
            raise SettingError(
                "judged_by.leans.cue: the cue is the same for all documents of each query, so that "
                "nobody can lean on it. Name another feature"
            )
        weights = np.linalg.solve(x.T @ x + PENALTY * np.eye(x.shape[1]), shared)
        along = weights @ direction / (direction @ direction)
        self.told = float(along * deviation / self.stream.grades.std())

    def grades(self, query: int) -> np.ndarray:
        """The judge's grades of a query's documents, int64 (m)."""
        stream, random, judge = self.stream, self.random, self.judge
        documents = slice(stream.offsets[query], stream.offsets[query + 1])
        human, largest = stream.grades[documents].astype(np.int64), stream.metadata["largest_grade"]
        m = len(human)
        if judge == HUMAN:
            return human
        if judge == COIN:
            return random.integers(0, largest + 1, m)
        if judge == COLUMN:
            return stream.judged[documents].astype(np.int64)
        if self.table is not None:
            return (random.random(m)[:, None] > np.cumsum(self.table, axis=1)[human, :-1]).sum(1)
        if self.leans:
            cue = self.cue[documents]
            moved = self.leans["by"] * stream.grades.std() * cue / max(cue.std(), self.least)
            return np.clip(np.rint(human + moved), 0, largest).astype(np.int64)
        chosen, upwards = random.random(m) < judge["wrong"], random.random(m) < UPWARDS
        upwards = (upwards | (human == 0)) & (human < largest)
        return np.where(chosen & (largest > 0), human + np.where(upwards, 1, -1), human)


def _within(stream, columns: np.ndarray) -> np.ndarray:
    """Columns (documents of the stream, n) less their means over each query's documents."""
    sizes = np.diff(stream.offsets)
    means = np.add.reduceat(columns, stream.offsets[:-1]) / sizes[:, None]
    return columns - np.repeat(means, sizes, axis=0)

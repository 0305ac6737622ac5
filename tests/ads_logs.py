"""What tests of `scant ads` share: a command of words, problems by kind, and rows by policy."""

import scant_ads as sa
from scant.cli import main


def ads(words: str, *more) -> int:
    """The exit code of `scant ads` with the words of a text, and `more` that may hold spaces."""
    return main(["ads", *words.split(), *map(str, more)])


def problems(log, roles=None, **settings) -> dict[str, dict]:
    """The problems of a log, or of a data frame, by kind: the first of each."""
    log = log if isinstance(log, sa.Log) else sa.Log.from_frame(log, roles, **settings)
    return {problem["kind"]: problem for problem in reversed(log.check()["problems"])}


def rows_of(evaluation) -> dict[str, dict]:
    """The rows of an evaluation, by policy."""
    return {row["policy"]: row for row in evaluation.rows}

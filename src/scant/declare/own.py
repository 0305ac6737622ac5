"""What a user's own learners are held to while they play, and how errors of their code say where
they came from.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from scant.errors import ScantError, SettingError, printable


class OwnError(Exception):
    """An error that a user's own learner or measure raised, and its round."""

    def __init__(self, error: Exception, round_: int):
        self.error, self.round = error, round_
        super().__init__(str(error))


@contextmanager
def in_round(round_: int) -> Iterator[None]:
    """A context that turns an error of a user's own code into an OwnError, which has the round."""
    try:
        yield
    except Exception as error:
        raise OwnError(error, round_) from error


@contextmanager
def making(failure: str) -> Iterator[None]:
    """A context that turns an error of a user's own class, made or used, into a SettingError.

    failure : how its message begins
    """
    try:
        yield
    except (ScantError, MemoryError):
        raise
    except Exception as error:
        reason = printable(error)
        raise SettingError(f"{failure}: {type(error).__name__}: {reason}") from error


@contextmanager
def naming(where: str) -> Iterator[None]:
    """A context that turns an OwnError into a SettingError with `where`, round, file and line."""
    try:
        yield
    except OwnError as raised:
        error, frame = raised.error, traceback.extract_tb(raised.error.__traceback__)[-1]
        raise SettingError(
            f"{where}, round {raised.round}: {type(error).__name__}: {error} ({frame.filename}, "
            f"line {frame.lineno})"
        ) from error


def check_scores(learner) -> None:
    """Raise a ValueError if the last scores of a user's own learner, its attribute `scores`, are
    not all finite.

    Its own sort would silently put NaN last; `scant.measures.rank` refuses it.
    """
    scores = getattr(learner, "scores", None)
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "f":
        return
    finite = np.isfinite(scores)
    if not finite.all():
        place = int(np.argmin(finite))
        what = f"score {place + 1} of {len(scores)} is {scores[place]}"
        raise ValueError(f"{what}; scores are to be finite numbers")

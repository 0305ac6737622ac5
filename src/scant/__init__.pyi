from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from scant.finished.results import Results
from scant.notebook import Leaderboard

_Learner: TypeAlias = str | type | Mapping[str, Any]
_Stream: TypeAlias = str | Path | tuple[ArrayLike, ArrayLike, ArrayLike] | Mapping[str, Any]

__version__: str

def results(folder: str | PathLike[str]) -> Results: ...
def play(
    learner: _Learner,
    streams: _Stream | list[str] | list[_Stream],
    against: _Learner | Sequence[_Learner] = ("listnet", "random"),
    seeds: int = 16,
    k: int | None = None,
    rounds: int = 10_000,
) -> Leaderboard: ...

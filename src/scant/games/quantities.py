"""What claims on fixed items are of: one number for each game, learner and seed of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scant.games import frames

if TYPE_CHECKING:
    from scant.verdict.quantities import Played

KEYS = ["stream", "learner", "seed"]
LATE = 1 / 100  # slopes over rounds are of those from this share of the horizon on


def game_regret(played: Played, horizon: int | None = None) -> pd.DataFrame:
    """The regret at the end of each game's longest horizon, or of the horizon asked for."""
    return _longest(_ends(played, horizon)).assign(value=lambda rows: rows["regret"])


def game_slope(played: Played, along: str = "horizon") -> pd.DataFrame:
    """The slope of log regret on the log of what it grows with.

    along : "horizon", each a game of its own; "rounds", of the longest horizon; or "items", over games of one stream
        and loss
    """
    if along == "rounds":
        rounds = _longest(frames.regrets(played.traces, played.about))
        return _slopes(rounds[rounds["round"] >= LATE * rounds["horizon"]], "round")
    if along == "items":
        return _slopes(_longest(_ends(played)), "items", ("game", "loss"))
    return _slopes(_ends(played), "horizon")


def bound_share(played: Played) -> pd.DataFrame:
    """Each seed's largest regret over its bound, over all horizons for which a bound is known."""
    ends = _ends(played)
    shares = ends.assign(value=ends["regret"] / ends["bound"]).dropna(subset="value")
    return shares.groupby(KEYS, sort=False)["value"].max().reset_index()


def _ends(played: Played, horizon: int | None = None) -> pd.DataFrame:
    """The last round of each game with its regret: games of every horizon, or of one."""
    rows = frames.regrets(played.traces, played.about)
    rows = rows[rows["round"] == rows["horizon"]]
    return rows if horizon is None else rows[rows["horizon"] == horizon]


def _longest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each game's longest horizon."""
    return rows[rows["horizon"] == rows.groupby("stream")["horizon"].transform("max")]


def _slopes(rows: pd.DataFrame, along: str, places: Sequence[str] = ("stream",)) -> pd.DataFrame:
    """Each seed's slope of log regret on the log of the column `along`; NaN where a regret is not above 0.

    Seeds with too few points for a slope have no row.

    places : the columns that say which points belong together, besides learner and seed
    """
    slopes = []
    for (*place, learner, seed), points in rows.groupby([*places, "learner", "seed"], sort=False):
        x, y = points[along].to_numpy(float), points["regret"].to_numpy(float)
        if len(np.unique(x)) >= frames.POINTS:
            slope = np.polyfit(np.log(x), np.log(y), 1)[0] if np.all(y > 0) else np.nan
            slopes.append((", ".join(map(str, place)), learner, seed, slope))
    return pd.DataFrame(slopes, columns=[*KEYS, "value"])

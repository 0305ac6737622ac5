"""The quantities that claims on fixed items are about: one number for each game, learner and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from scant.games import frames
from scant.present.slopes import late_rounds, slopes_of_seeds

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = ["stream", "learner", "seed"]


def game_regret(played: Played, horizon: int | None = None) -> pd.DataFrame:
    """The regret at the end of each game's longest horizon, or of `horizon` if it is set."""
    return _longest(_ends(played, horizon)).assign(value=lambda rows: rows["regret"])


def game_slope(played: Played, along: str = "horizon") -> pd.DataFrame:
    """The slope of the log mean regret on the log of the horizon, the round, or the number of items.

    Each seed has a pseudo-value of it, see `scant.present.slopes.pseudo_values`.

    along : "horizon", over the final regrets of each horizon; "rounds", over the rounds of the longest horizon; or
        "items", over games with the same stream and loss
    """
    if along == "rounds":
        rounds = _longest(frames.regrets(played.traces, played.about))
        return slopes_of_seeds(late_rounds(rounds, "horizon"), "round", frames.POINTS)
    if along == "items":
        return slopes_of_seeds(_longest(_ends(played)), "items", frames.POINTS, ("game", "loss"))
    return slopes_of_seeds(_ends(played), "horizon", frames.POINTS)


def bound_share(played: Played) -> pd.DataFrame:
    """The largest ratio of regret to its bound, over all horizons for which a bound is known."""
    ends = _ends(played)
    shares = ends.assign(value=ends["regret"] / ends["bound"]).dropna(subset="value")
    return shares.groupby(KEYS, sort=False)["value"].max().reset_index()


def _ends(played: Played, horizon: int | None = None) -> pd.DataFrame:
    """The rows of the last rounds with their regret, for all horizons or for one."""
    rows = frames.regrets(played.traces, played.about)
    rows = rows[rows["round"] == rows["horizon"]]
    return rows if horizon is None else rows[rows["horizon"] == horizon]


def _longest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each game's longest horizon."""
    return rows[rows["horizon"] == rows.groupby("stream")["horizon"].transform("max")]

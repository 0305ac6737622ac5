"""The quantities that claims on fixed items are about: one number for each game, learner and
seed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scant.data import table_b1
from scant.errors import unknown
from scant.games import frames, losses
from scant.present.slopes import late_rounds, slopes_of_seeds
from scant.theory import game_bounds

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = ["stream", "learner", "seed"]
ROUNDING = 1e-12  # a floor up to this is 0


def game_regret(played: Played, round: int | None = None) -> pd.DataFrame:
    """The regret at the end of each game's longest horizon, or up to round `round`.

    The last kept round stands for a round that was not kept, here and in `average_change`.
    """
    rows = frames.longest(frames.regrets(played.traces, played.about))
    return _up_to(rows, "regret", round).rename("value").reset_index()


def average_change(played: Played, since: int) -> pd.DataFrame:
    """The change of average regret (regret up to a round / the round) from round `since` to the
    end of each game's longest horizon; below 0 if it drops.
    """
    rows = frames.longest(frames.regrets(played.traces, played.about))
    rows = rows.assign(average=rows["regret"] / rows["round"])
    change = _up_to(rows, "average") - _up_to(rows, "average", since)
    return change.rename("value").reset_index()


def game_share(played: Played, bound: str = "own") -> pd.DataFrame:
    """Regret over a bound, at each horizon. With several horizons, `stream` names them, too.

    The ceiling is the worst play's share (`scant.games.play.Game.worst`); for a lower bound it is
    0, the least share. `says_from` is the horizon at which the worst play's regret, which grows as
    T, overtakes the bound of a learner that knows the horizon. Such a bound grows as T^(2/3) with
    feedback at the top, and else as T^(1/2).

    bound : "own", the learner's bound; or a name from `BOUNDS`, even for learners that the bound is
        not about, such as Random. Games and learners without this bound are left out
    """
    if bound != "own" and bound not in BOUNDS:
        raise unknown("bound of game_share", bound, ["own", *BOUNDS])
    ends = _ends(played)
    limits = ends["bound"] if bound == "own" else BOUNDS[bound](ends)
    shares = ends.assign(
        value=ends["regret"] / limits, ceiling=ends["worst_regret"] / limits
    ).dropna(subset="value")
    if bound in FROM_BELOW:
        shares["ceiling"] = 0.0
    else:
        # T grows by this power of what the bound is too large by
        power = np.where(shares["k"] > 0, 3.0, 2.0)
        shares["says_from"] = (shares["horizon"] / shares["ceiling"] ** power).where(
            shares["ceiling"] < 1
        )
    counts = shares.groupby("stream")["horizon"].nunique()
    named = [
        f"{stream}, T = {horizon:,}" if counts[stream] > 1 else stream
        for stream, horizon in zip(shares["stream"], shares["horizon"], strict=True)
    ]
    return shares.assign(stream=named)


def game_slope(played: Played, along: str = "horizon", since: int | None = None) -> pd.DataFrame:
    """The slope of the log mean regret on the log of the horizon, the round, the number of items,
    or k.

    Each seed has a pseudo-value of the slope, see `scant.present.slopes.pseudo_values`.

    along : "horizon", over the final regrets of each horizon; "rounds", over the rounds of the
        longest horizon; "items", over games with the same stream and loss; or "seen", over the k of
        learners of one kind; the learner with the largest k is given the slope
    since : for "rounds", the first round; by default a hundredth of the horizon
    """
    if along == "rounds":
        rounds = frames.longest(frames.regrets(played.traces, played.about))
        return slopes_of_seeds(late_rounds(rounds, "horizon", since), "round", frames.POINTS)
    if along == "seen":
        ends = frames.longest(_ends(played)).query("k > 0").sort_values("k", kind="stable")
        most = ends.groupby(["stream", "kind"])["learner"].transform("last")
        return slopes_of_seeds(ends.assign(learner=most), "k", 2)
    if along == "items":
        return slopes_of_seeds(
            frames.longest(_ends(played)), "items", frames.POINTS, ("game", "loss")
        )
    return slopes_of_seeds(_ends(played), "horizon", frames.POINTS)


def bound_share(played: Played) -> pd.DataFrame:
    """The largest regret / bound over all horizons with a known bound; and as the ceiling, the
    largest ratio of the worst play's regret and the bound.
    """
    ends = _ends(played)
    shares = ends.assign(
        value=ends["regret"] / ends["bound"], ceiling=ends["worst_regret"] / ends["bound"]
    )
    return (
        shares.dropna(subset="value")
        .groupby(KEYS, sort=False)[["value", "ceiling"]]
        .max()
        .reset_index()
    )


def _floors(ends: pd.DataFrame) -> pd.Series:
    """The horizon times `game_bounds.top_one_floor` of each game's loss; NaN if that is 0, or on
    another stream.
    """
    by_loss = {loss: _floor(loss) for loss in ends["loss"].unique()}
    floor = ends["loss"].map(by_loss).where(ends["game"] == "indistinguishable")
    return ends["horizon"] * floor.where(floor > ROUNDING)


def _floor(name: str) -> float:
    """`game_bounds.top_one_floor` of a loss or gain on the two distributions of Table B.1."""
    loss = losses.make(name)
    rankings, vectors = permutations(range(3)), [np.array(vector) for vector in table_b1.VECTORS]
    of_rankings = [
        [loss.measure(np.array(ranking), vector) for vector in vectors] for ranking in rankings
    ]
    probabilities = np.array(list(table_b1.TWENTIETHS.values())) / 20
    return game_bounds.top_one_floor(
        -np.array(of_rankings) if loss.gain else of_rankings, probabilities
    )


def _bounds_of(kind: str) -> Callable[[pd.DataFrame], pd.Series]:
    """The bound on the regret of a kind of learner, in the rows of all learners of a game; the
    largest of several.
    """

    def bounds(ends: pd.DataFrame) -> pd.Series:
        key = ["stream", "horizon", "seed"]
        largest = ends[ends["kind"] == kind].groupby(key)["bound"].max()
        return pd.Series(
            largest.reindex(pd.MultiIndex.from_frame(ends[key])).to_numpy(), ends.index
        )

    return bounds


FROM_BELOW = ("theorem-24",)
BOUNDS = {  # on the regret at the ends of games, by their place in the papers
    "theorem-3.1": _bounds_of("online-rank"),
    "theorem-19": _bounds_of("rtopkf"),
    "theorem-24": _floors,
}


def _ends(played: Played) -> pd.DataFrame:
    """The rows of the last round of each horizon, with their regret."""
    return frames.ends(frames.regrets(played.traces, played.about))


def _up_to(rows: pd.DataFrame, column: str, round: int | None = None) -> pd.Series:
    """A column up to a round, or to the last one, by stream, learner and seed."""
    kept = rows if round is None else rows[rows["round"] <= round]
    return kept.sort_values("round", kind="stable").groupby(KEYS, sort=False)[column].last()

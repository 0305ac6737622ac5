"""The quantities that claims about contextual learners can be about.

Each function takes an experiment as played (`scant.present.traces.Played`) and returns a frame with the columns stream,
learner, seed and value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from scant.measures import named
from scant.online import frames, frames_top, traces
from scant.online.learners import MEASURES
from scant.online.streams import ADVERSARY
from scant.present.slopes import late_rounds, slopes_of_seeds
from scant.theory.bounds import adversary_loss

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = ["stream", "learner", "seed"]


def final(played: Played, measure: str = frames_top.MEASURE) -> pd.DataFrame:
    """The time-averaged `measure` (or a summed loss) at the horizon, at the rates that NDCG@10 chooses."""
    return _final(played, measure, frames_top.MEASURE)


def final_at_own_rates(played: Played, measure: str = frames_top.MEASURE) -> pd.DataFrame:
    """The same, at the rates that the measure itself chooses if it is one that learners may learn.

    A measure that the experiment asked for is at the rates of the table `finals`; losses are at those of NDCG@10.
    """
    if measure in MEASURES:
        return _final(played, measure, measure)
    return _final(played, measure, frames_top.MEASURE if measure in traces.MEASURED else frames.OWN)


def _final(played: Played, measure: str, choosing: str) -> pd.DataFrame:
    """The final `measure` at the rates that the column `choosing` chooses; no rows if it is not recorded.

    Raises
    ------
    SettingError : there is no measure of this name
    """
    if measure not in traces.MEASURED:
        named(measure)
        if measure not in played.details.get("measures", ()):
            return pd.DataFrame(columns=[*KEYS, "value"])
    last = traces.finals(played.traces)
    last = frames.by_own_measure(last) if choosing == frames.OWN else last
    chosen = traces.chosen_rates(last, choosing, played.tuning)
    return traces.at_chosen_rates(last, chosen).assign(value=lambda rows: rows[measure])


def regret(played: Played) -> pd.DataFrame:
    """The regret at the horizon against the best fixed weights; NaN for runs that failed."""
    rows = _regrets(played)
    return rows[rows["round"] == rows["end"]].assign(value=lambda ends: ends["regret"])


def _regrets(played: Played) -> pd.DataFrame:
    """The rows of `scant.online.frames_top.regrets` for which the best fixed weights are known."""
    rows = frames_top.regrets(played.traces, played.about, played.comparators)
    return rows[rows["best"].notna()]


def regret_slope(played: Played) -> pd.DataFrame:
    """The slope of the log mean regret on the log of the round, from 1 % of the horizon on.

    Each seed has a pseudo-value of it, see `scant.present.slopes.pseudo_values`.
    """
    return slopes_of_seeds(late_rounds(_regrets(played), "end"), "round", frames_top.POINTS)


def loss_share(played: Played, bound: str = "bound") -> pd.DataFrame:
    """Each seed's largest ratio of loss to bound, over all rounds, and over all rates that the bound holds for.

    bound : "bound", which needs a separable stream, or "general_bound"
    """
    rows = played.traces[~played.traces["tuning_seed"]]
    at_any_rate = rows["kind"].isin(frames.kinds("at_any_rate")) & (bound == "bound")
    rows = rows[(rows["theory"] == 1) | at_any_rate]
    return _largest(rows.assign(value=rows["loss"] / rows[bound]))


def regret_share(played: Played, bound: str = "bound") -> pd.DataFrame:
    """Each seed's ratio of the regret at the horizon to its bound."""
    rows = regret(played)
    return _largest(rows.assign(value=rows["regret"] / rows[bound]))


def _largest(shares: pd.DataFrame) -> pd.DataFrame:
    """The largest value of each stream, learner and seed."""
    return shares.dropna(subset="value").groupby(KEYS, sort=False)["value"].max().reset_index()


def lower_bound_share(played: Played) -> pd.DataFrame:
    """Against the adversary: the least loss of any rate, divided by the loss that no deterministic learner can avoid.

    It is the lower bound of Theorem 9 of the perceptron paper.
    """
    last = traces.finals(played.traces[played.traces["generator"] == ADVERSARY])
    shares = last.assign(value=last["loss"] / last["round"].map(adversary_loss))
    return shares.groupby(KEYS, sort=False)["value"].min().reset_index()

"""What the claims of the papers are of: one number for each stream, learner and seed of an experiment."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from scant.ads import frames as ads
from scant.games import frames as games
from scant.online import frames_top as top
from scant.present import traces
from scant.present.slopes import late_rounds, slope
from scant.study.settings import CONTEXTUAL
from scant.theory.bounds import adversary_loss

ANY_RATE = ("max-hinge", "binary-perceptron")  # kinds whose bound on a separable stream is one at every rate


@dataclass(frozen=True)
class Played:
    """An experiment as played on some of its streams, with rates chosen by one reading of `tuning`."""

    name: str
    tuning: str | None
    traces: pd.DataFrame
    details: dict
    comparators: pd.DataFrame | None

    @property
    def about(self) -> dict[str, dict]:
        """The details that reports take, with this tuning."""
        return {self.name: self.details | ({"tuning": self.tuning} if self.tuning else {})}


@dataclass(frozen=True)
class Quantity:
    """What a claim may be of.

    words : what figures call it, with its unit
    values : from an experiment as played, and the claim's `options`, to a frame with a row for each `stream`,
        `learner` and `seed` (of ads, `epsilon` too), and their `value`; `bound` where there is one
    kinds : of the experiments that have it
    tuned : whether it depends on how rates are chosen
    """

    words: str
    values: Callable[..., pd.DataFrame]
    kinds: tuple[str, ...]
    options: tuple[str, ...] = ()
    tuned: bool = False


def _final(played: Played, measure: str = "ndcg@10") -> pd.DataFrame:
    """The `measure` at the horizon, at the rates that tables of its experiment have: time-averaged, losses summed."""
    own = played.details["kind"] == "perceptron" and measure in ("ndcg@10", "ndcg", "ap")
    last = traces.finals(played.traces)
    chosen = traces.chosen_rates(last, measure if own else top.MEASURE, played.tuning)
    return traces.at_chosen_rates(last, chosen).assign(value=lambda rows: rows[measure])


def _regrets(played: Played) -> pd.DataFrame:
    """Regrets where the best fixed weights are known; NaN in runs that failed."""
    frame = top.regrets(played.traces, played.about, played.comparators)
    return frame[frame["best"].notna()]


def _regret(played: Played) -> pd.DataFrame:
    frame = _regrets(played)
    return frame[frame["round"] == frame["end"]].assign(value=lambda rows: rows["regret"])


def _regret_slope(played: Played) -> pd.DataFrame:
    """The slope of each seed over its rounds with a positive regret, from 1 % of the horizon on."""
    frame = _regrets(played)
    return _slopes(late_rounds(frame[frame["regret"] > 0], "end"), "round", top.POINTS)


def _slopes(frame: pd.DataFrame, along: str, least: int, keys: Sequence[str] = ("stream",)) -> pd.DataFrame:
    """The slope of each seed's regret on `along`; NaN where a regret is not above 0.

    Seeds with fewer points than `least` have no row. keys : what makes a game, besides its learner and seed
    """
    rows = [
        {"stream": ", ".join(map(str, place)), "learner": learner, "seed": seed}
        | {"value": slope(points[along], points["regret"], least)}
        for (*place, learner, seed), points in frame.groupby([*keys, "learner", "seed"], sort=False)
        if points[along].nunique() >= least
    ]
    return pd.DataFrame(rows, columns=["stream", "learner", "seed", "value"])


def _bound_share(played: Played, bound: str = "bound") -> pd.DataFrame:
    """Each seed's largest loss or regret over its bound, over all rounds, rates and horizons that it holds for.

    bound : of perceptrons, "bound", which takes a separable stream, or "general_bound"
    """
    kind = played.details["kind"]
    if kind == "perceptron":
        frame = played.traces[~played.traces["tuning_seed"]]
        frame = frame[(frame["theory"] == 1) | (frame["kind"].isin(ANY_RATE) & (bound == "bound"))]
        shares = frame["loss"] / frame[bound]
    else:
        frame = _regret(played) if kind == "top" else _game_regrets(played)
        shares = frame["regret"] / frame["bound"]
    shares = frame.assign(value=shares).dropna(subset="value")
    return shares.groupby(["stream", "learner", "seed"], sort=False)["value"].max().reset_index()


def _lower_bound_share(played: Played) -> pd.DataFrame:
    """The least loss over rates against the adversary, over what no deterministic learner can avoid (Theorem 9)."""
    last = traces.finals(played.traces[played.traces["generator"] == "adversary"])
    shares = last.assign(value=last["loss"] / last["round"].map(adversary_loss))
    return shares.groupby(["stream", "learner", "seed"], sort=False)["value"].min().reset_index()


def _game_regrets(played: Played, horizon: int | None = None) -> pd.DataFrame:
    """Regrets at the end of each game, or of those of one horizon."""
    frame = games.regrets(played.traces, played.about)
    frame = frame[frame["round"] == frame["horizon"]]
    return frame if horizon is None else frame[frame["horizon"] == horizon]


def _longest(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["horizon"] == frame.groupby("stream")["horizon"].transform("max")]


def _game_regret(played: Played, horizon: int | None = None) -> pd.DataFrame:
    return _longest(_game_regrets(played, horizon)).assign(value=lambda rows: rows["regret"])


def _game_slope(played: Played, along: str = "horizon") -> pd.DataFrame:
    """The slope of log regret on the log of the horizon, of the round (of the longest horizon), or of the items."""
    if along == "rounds":
        frame = _longest(games.regrets(played.traces, played.about))
        return _slopes(late_rounds(frame, "horizon"), "round", games.POINTS)
    if along == "items":
        return _slopes(_longest(_game_regrets(played)), "items", games.POINTS, ("game", "loss"))
    return _slopes(_game_regrets(played), "horizon", games.POINTS)


def _ctr(played: Played) -> pd.DataFrame:
    fits = ads.ctrs(played.traces)
    again = played.tuning == "paper" and played.details["tuning"] != "paper"
    return (ads.best_on_test(fits) if again else fits[fits["chosen"]]).assign(value=lambda rows: rows["ctr"])


def _estimate_error(played: Played) -> pd.DataFrame:
    """By how much the importance-weighted CTR is above the true one, in percent of that."""
    frame = _weighted(played).drop_duplicates([*ads.POLICY, "seed"])
    return frame.assign(value=100 * (frame["estimate"] / frame["true"] - 1))


def _estimate_held(played: Played, bound: str = "t") -> pd.DataFrame:
    """1 where the lower bound on the importance-weighted CTR is at most the true one, 0 where it is above."""
    frame = _weighted(played)
    frame = frame[frame["bound"] == bound].dropna(subset=["lower", "true"])
    return frame.assign(value=(frame["lower"] <= frame["true"]).astype(float))


def _weighted(played: Played) -> pd.DataFrame:
    """The rows of importance-weighted CTR, one a bound, beside the true CTR; none where that is not known."""
    chosen, keys = played.traces[played.traces["chosen"]], [*ads.POLICY, "seed"]
    true = chosen[chosen["estimator"] == "true"].rename(columns={"estimate": "true"}).drop_duplicates(keys)
    rows = chosen[(chosen["estimator"] == "ips") & (chosen["bound"] != "")]
    return rows.merge(true[[*keys, "true"]], on=keys)


QUANTITIES = {
    "final": Quantity("time-averaged measure", _final, CONTEXTUAL, ("measure",), tuned=True),
    "regret": Quantity("regret", _regret, ("top",), tuned=True),
    "regret_slope": Quantity("slope of regret", _regret_slope, ("top",), tuned=True),
    "bound_share": Quantity("loss / bound", _bound_share, (*CONTEXTUAL, "fixed-items"), ("bound",)),
    "lower_bound_share": Quantity("loss / lower bound", _lower_bound_share, ("perceptron",)),
    "game_regret": Quantity("regret", _game_regret, ("fixed-items",), ("horizon",)),
    "game_slope": Quantity("slope of regret", _game_slope, ("fixed-items",), ("along",)),
    "ctr": Quantity("CTR", _ctr, ("ads",), tuned=True),
    # In percent of the other's mean CTR, which is taken as known.
    "ctr_gain": Quantity("gain in CTR (%)", _ctr, ("ads",), tuned=True),
    "estimate_held": Quantity("share held", _estimate_held, ("ads",), ("bound",)),
    "estimate_error": Quantity("error (%)", _estimate_error, ("ads",)),
}
SHARES = {"bound_share": (-math.inf, 1.0), "lower_bound_share": (1.0, math.inf)}  # and what they are to lie between

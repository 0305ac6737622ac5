"""The quantities that claims about contextual learners can be about.

Each function takes an experiment as played (`scant.present.traces.Played`) and returns a frame with
the columns stream, learner, seed and value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scant.measures import named
from scant.present.slopes import late_rounds, slopes_of_seeds
from scant.rankers import ceilings, frames, frames_judged, frames_steps, frames_top, traces
from scant.rankers.learners import MEASURES
from scant.theory.bounds import impossible_floor

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = ["stream", "learner", "seed"]
WEIGHTS_0, RANDOM = "weights 0", "Random"  # trivial plays
ROUNDING = 1e-9  # sums of losses this close are equal
NEAR = 0.01  # a bound this close to what weights 0 give it, as a share of that, says no more
LATE = 1 / 2  # "late" are the rounds after this share of the horizon
DISTRIBUTIONS = ["first", "second"]  # of Table B.1, which top-1 feedback cannot tell apart


def final(
    played: Played, measure: str = frames_top.MEASURE, at: float = 1.0, last: float = 1.0
) -> pd.DataFrame:  # fmt: skip
    """The time-averaged `measure` (or a summed loss) at the horizon, at the rates that NDCG@10
    chooses.

    measure : "ndcg@10" is of the lists shown, "ranker_ndcg@10" of the learner's own ranking
    at : the share of the horizon at which it is taken, in the last kept round that is not after it;
        rates are the same
    last : the share of the horizon over which it is averaged, up to `at`: 0.1 for the last tenth,
        or a little more, since it begins at a kept round
    """
    return _final(played, measure, frames_top.MEASURE, at, last)


def final_at_own_rates(
    played: Played, measure: str = frames_top.MEASURE, at: float = 1.0, last: float = 1.0
) -> pd.DataFrame:  # fmt: skip
    """`final`, at the rates that the measure itself chooses if learners may learn it.

    A measure that the experiment asked for is at the rates of the table `finals`; losses are at the
    rates of NDCG@10.
    """
    if measure in MEASURES:
        return _final(played, measure, measure, at, last)
    return _final(
        played, measure, frames_top.MEASURE if measure in traces.MEASURED else frames.OWN, at, last
    )


def _final(played: Played, measure: str, choosing: str, at: float, last: float) -> pd.DataFrame:
    """`final`, at the rates with the best value of the column `choosing` at the horizon itself.

    There are no rows if `measure` is not recorded.

    Raises
    ------
    SettingError : there is no measure of this name
    """
    if measure not in traces.MEASURED:
        named(measure)
        if measure not in played.details.get("measures", ()):
            return pd.DataFrame(columns=[*KEYS, "value"])
    ends = traces.finals(played.traces)
    ends = frames.by_own_measure(ends) if choosing == frames.OWN else ends
    chosen = traces.chosen_rates(ends, choosing, played.tuning)
    rows = ends if at == 1 else traces.kept_at(played.traces, at)
    if last < 1:
        rows = traces.after(rows, traces.kept_at(played.traces, at - last), [measure])
    return _with_edges(traces.at_chosen_rates(rows, chosen)).assign(
        value=lambda rows: rows[measure]
    )


def _with_edges(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, each `edge` with its learner, stream and rate before it: "ogd on s 1.0, the largest
    of 5".
    """
    places = (
        rows["learner"] + " on " + rows["stream"] + " " + rows["setting"] + ", the " + rows["edge"]
    )
    return rows.assign(edge=places.where(rows["edge"] != "", ""))


def late_mistakes(played: Played) -> pd.DataFrame:
    """The share of the late rounds, the second half of the horizon, in which a perceptron-like
    learner updates.

    It updates exactly when its ranking has a loss in the measure that it learns. Late rounds begin
    after the first kept round that is not before half of the horizon.
    """
    rows = _at_own_rates(played)
    horizon = rows.groupby(KEYS)["round"].transform("max")
    before = rows[rows["round"] >= LATE * horizon].sort_values("round").drop_duplicates(KEYS)
    ends = rows[rows["round"] == horizon].merge(
        before[[*KEYS, "round", "updates"]], on=KEYS, suffixes=("", " before")
    )
    return ends.assign(
        value=(ends["updates"] - ends["updates before"]) / (ends["round"] - ends["round before"])
    )


def _at_own_rates(played: Played) -> pd.DataFrame:
    """The traces at the rates that each learner's own measure chooses; without runs that failed."""
    last = frames.by_own_measure(traces.finals(played.traces))
    chosen = traces.chosen_rates(last, frames.OWN, played.tuning)
    return _with_edges(
        traces.at_chosen_rates(played.traces[played.traces["failed_in"] == 0], chosen)
    )


def behind_best(played: Played) -> pd.DataFrame:
    """The final NDCG@10 of steps that need no rate, minus the same learner's at the best rate of
    its grid.

    The best rate has the highest mean on the very seeds that are reported. The play `Random` ranks
    at random.
    """
    rows = _with_edges(frames_steps.ways(played.traces))
    best = (
        rows[rows["steps"] == frames_steps.BEST]
        .drop_duplicates(["stream", "base"])
        .set_index(["stream", "base"])
    )
    last = (
        traces.finals(played.traces)
        .query("kind == 'random' and not tuning_seed")
        .drop_duplicates(["stream", "seed"])
    )
    random = last.set_index(["stream", "seed"])[frames_steps.MEASURE]
    edges = (
        best["edge"]
        .reindex(pd.MultiIndex.from_frame(rows[["stream", "base"]]))
        .fillna("")
        .to_numpy()
    )
    random = (
        random.reindex(pd.MultiIndex.from_frame(rows[["stream", "seed"]])).to_numpy()
        - rows[frames_steps.MEASURE]
    )
    behind = frames_steps.behind_best(rows)
    rows = rows.assign(**{"value": behind, RANDOM: behind + random, "edge": edges})
    return rows[rows["setting"] == "none"].dropna(subset="value")


def lead_share(played: Played, measure: str = frames_top.MEASURE) -> pd.DataFrame:
    """How far a learner's final `measure` is on the way from Random's to ListNet's: 0 at Random's,
    1 at ListNet's.

    Its lead over Random on the same seed is divided by ListNet's mean lead over Random on the
    stream. Streams without a ListNet or a Random have no rows.
    """
    rows = final(played, measure).reset_index(drop=True)

    def of(kind: str) -> pd.Series:
        """The values of the first learner of a kind on each stream, by stream and seed."""
        same = rows[rows["kind"] == kind]
        first = same["learner"] == same.groupby("stream")["learner"].transform("first")
        return same[first].set_index(["stream", "seed"])["value"]

    random, runs = of("random"), pd.MultiIndex.from_frame(rows[["stream", "seed"]])
    leads = (of("listnet") - random).groupby("stream").mean()
    lead = rows["value"] - random.reindex(runs).to_numpy()
    return rows.assign(value=lead / rows["stream"].map(leads)).dropna(subset="value")


def worth(played: Played) -> pd.DataFrame:
    """What judged lists are worth in rounds of one grade, see `frames_judged.by_seed`."""
    return _beside_cold(played, "worth")


def overtaken(played: Played) -> pd.DataFrame:
    """The round from which on the cold learner shows better lists, see `frames_judged.by_seed`."""
    return _beside_cold(played, "overtaken")


def _beside_cold(played: Played, name: str) -> pd.DataFrame:
    """A column of `scant.rankers.frames_judged.by_seed`, of each learner that has it."""
    rows = traces.at_tuned_rates(played.traces, frames_top.MEASURE, played.tuning)
    frames_of_learners = [pd.DataFrame(columns=[*KEYS, "value"])]
    for group, cold in frames_judged.beside_cold(_with_edges(rows)):
        values = frames_judged.by_seed(group, cold)[name].dropna()
        ends = group.drop_duplicates("seed", keep="last")
        frames_of_learners.append(
            ends.assign(value=ends["seed"].map(values)).dropna(subset="value")
        )
    return pd.concat(frames_of_learners[1:] or frames_of_learners, ignore_index=True)


def regret(played: Played) -> pd.DataFrame:
    """The regret at the horizon against the best fixed weights; NaN for runs that failed."""
    rows = _regrets(played)
    return rows[rows["round"] == rows["end"]].assign(value=lambda ends: ends["regret"])


def _regrets(played: Played) -> pd.DataFrame:
    """The rows of `scant.rankers.frames_top.regrets` for which the best fixed weights are known."""
    rows = frames_top.regrets(played.traces, played.about, played.comparators)
    return rows[rows["best"].notna()]


def regret_slope(played: Played) -> pd.DataFrame:
    """The slope of the log mean regret on the log of the round, from 1 % of the horizon on.

    Each seed has a pseudo-value of it, see `scant.present.slopes.pseudo_values`.
    """
    return slopes_of_seeds(late_rounds(_regrets(played), "end"), "round", frames_top.POINTS)


def loss_share(played: Played, bound: str = "bound") -> pd.DataFrame:
    """Each seed's largest ratio of loss to bound, over all rounds, and over all rates that the
    bound holds for.

    The ceiling is the ratio at the loss of the worst rankings, or at 1 a round where the stream is
    not simulated. Where the general bound's best weights are next to 0 at the end, the bound is
    twice the number of updates, and the ceiling is the number of updates: no round loses more than
    1. The play `Random` ranks at random. A bound that does not change with the rounds can be
    violated only from the round `says_from` on.

    bound : "bound", which needs a separable stream, or "general_bound"
    """
    rows = played.traces[~played.traces["tuning_seed"]]
    losses = _losses_of_random(rows)
    at_any_rate = rows["kind"].isin(frames.kinds("at_any_rate")) & (bound == "bound")
    rows = rows[((rows["theory"] == 1) | at_any_rate) & rows[bound].notna()]
    keys = pd.MultiIndex.from_frame(rows[["own_measure", "stream", "seed", "round"]])
    random, worst = losses.reindex(keys).to_numpy(), _worst_losses(rows, played.details)
    if bound == "general_bound":
        ends = rows.groupby(KEYS)[[bound, "updates"]].transform("max")
        worst = worst.mask(np.isclose(ends[bound], 2 * ends["updates"], rtol=NEAR), rows["updates"])
    shares = {"value": rows["loss"], RANDOM: random, "ceiling": worst}
    rows = rows.assign(
        **{name: loss / rows[bound] for name, loss in shares.items()}, a_round=worst / rows["round"]
    )
    rows = rows.dropna(subset="value")
    by_run = rows.groupby(KEYS, sort=False)
    by_seed = by_run[["value", RANDOM, "ceiling"]].max().reset_index()
    if bound == "bound":
        by_seed["says_from"] = (by_run[bound].max() / by_run["a_round"].last()).to_numpy()
    return by_seed


def _losses_of_random(rows: pd.DataFrame) -> pd.Series:
    """The losses in each measure, summed up to each round, of the first learner that ranks at
    random; by measure, stream, seed and round.
    """
    keys = ["stream", "seed", "round"]
    random = rows[rows["kind"] == "random"].drop_duplicates(keys)
    # a column of a measure is its mean up to the round of the row
    means = random.set_index(keys, drop=False)
    return pd.concat({name: means["round"] * (1 - means[name]) for name in MEASURES})


def _worst_losses(rows: pd.DataFrame, details: dict) -> pd.Series:
    """For each row, the most that could be lost up to its round: by `scant.rankers.ceilings` on
    simulated streams, else 1 a round.
    """
    worst, empty = rows["round"].astype(float), details["readings"]["empty"]
    ranked = rows[
        rows["stream"].isin(details["drawn"]) & ~rows["kind"].isin(frames.kinds("pairwise"))
    ]
    for (stream, seed, measure), group in ranked.groupby(["stream", "seed", "own_measure"]):
        losses = ceilings.worst_losses(
            details["drawn"][stream], seed, measure, empty, group["round"].to_numpy()
        )
        worst[group.index] = losses
    return worst


def regret_share(played: Played) -> pd.DataFrame:
    """The regret at the horizon, divided by the bound on its expectation. Rows without a bound are
    left out.

    The play `weights 0` ranks by weights 0 in all rounds. On simulated streams the ceiling is the
    ratio at the worst weights of the ball.
    """
    rows = regret(played)
    shares = {"value": rows["regret"], WEIGHTS_0: rows["at_zero"] - rows["best"]}
    shares["ceiling"] = _worst_surrogates(rows, played.details) - rows["best"]
    return rows.assign(
        **{name: regrets / rows["bound"] for name, regrets in shares.items()}
    ).dropna(subset="value")


def _worst_surrogates(rows: pd.DataFrame, details: dict) -> pd.Series:
    """For each row, the judging surrogate's sum up to its round at the worst weights of the ball;
    NaN unless the stream is simulated and the row has a bound.
    """
    worst = pd.Series(np.nan, rows.index)
    drawn = rows["stream"].isin(details["drawn"])
    bounded = rows[drawn & rows["judge"].isin(ceilings.SURROGATES) & rows["bound"].notna()]
    for (stream, seed, judge, radius), group in bounded.groupby(
        ["stream", "seed", "judge", "radius"]
    ):
        most = ceilings.worst_surrogate(details["drawn"][stream], seed, judge, radius)
        worst[group.index] = group["round"] * most
    return worst


def floor_share(played: Played) -> pd.DataFrame:
    """The regret a round on the two distributions of Table B.1, divided by the floor of Theorem 32.

    A learner that sees the relevance of the top document alone cannot tell them apart. So the mean
    of its two expected regrets, in NDCG-squared, is at least the floor
    (`scant.theory.bounds.impossible_floor`) times the horizon, if the ball of weights holds the
    best scores of both, whose norms are below 0.62. There is one value for each learner and seed,
    of both streams together; none if either is missing.
    """
    rows = regret(played)
    rows = rows[(rows["judge"] == "ndcg-squared") & rows["distribution"].isin(DISTRIBUTIONS)]
    shares = rows.assign(share=rows["regret"] / rows["round"] / impossible_floor())
    by_run = shares.pivot_table(
        index=["learner", "seed"], columns="distribution", values="share", sort=False
    )
    means = by_run.reindex(columns=DISTRIBUTIONS).mean(axis=1, skipna=False).dropna()
    return means.rename("value").reset_index().assign(stream=", ".join(rows["stream"].unique()))

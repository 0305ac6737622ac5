"""What the tables and figures of the perceptron study hold, as frames."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.online.learners import LEARNERS, Contextual
from scant.online.streams import ADVERSARY, SEPARABLE
from scant.online.traces import SHOWN, at_chosen_rates, averages, chosen_rates, difference, finals, further_measures
from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP
from scant.theory.bounds import adversary_loss

OWN = "own"  # a column of `by_own_measure`


def belongs(frame: pd.DataFrame, measure: str) -> pd.Series:
    """Whether a learner is to be shown under `measure`: AP's own learners under AP, those of no measure under both."""
    neutral = frame["kind"].isin(kinds("neutral")) | frame["kind"].str.contains(":")
    return neutral | ((frame["own_measure"] == "ap") == (measure == "ap"))


def kinds(fact: str) -> list[str]:
    """The kinds of learners of which a fact is true that their classes declare."""
    return [kind for kind, learner in LEARNERS.items() if getattr(learner, fact)]


def by_own_measure(last: pd.DataFrame) -> pd.DataFrame:
    """Final rows with a column `OWN`, which chooses the rates at which measures are shown that no learner learns.

    It is AP for AP's own learners, NDCG@10 for all others: the runs shown are those that are shown under these.
    """
    return last.assign(**{OWN: last["ap"].where(last["own_measure"] == "ap", last["ndcg@10"])})


def _measures(last: pd.DataFrame, details: dict) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """For each measure of the tables the final rows shown under it, and the column that chooses their rates.

    Measures that experiments ask for besides are shown of all of their learners.
    """
    for measure in SHOWN:
        yield measure, last[belongs(last, measure)], measure
    for measure in further_measures(last.columns):
        asking = [name for name, about in details.items() if measure in about.get("measures", ())]
        yield measure, by_own_measure(last[last["experiment"].isin(asking)]), OWN


def finals_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Final time-averaged measure of each learner at its chosen rate, with 95 % t intervals over seeds.

    Both tuning readings; `difference` is the paired one to ListNet at its own chosen rate, on the same seeds.
    """
    rows = []
    for measure, shown, choosing in _measures(finals(traces), details):
        for tuning in ("held-out", "paper"):
            chosen = chosen_rates(shown, choosing, tuning)
            chosen = chosen[chosen["tuning"] == tuning]
            best = at_chosen_rates(shown, chosen)
            for key, group in best.groupby(GROUP, sort=False):
                mean, low, high, n = t_interval(group[measure])
                rows.append(
                    dict(zip(GROUP, key, strict=True))
                    | {
                        "source": group["source"].iloc[0],
                        "measure": measure,
                        "tuning": tuning,
                        "main": tuning == details[key[0]]["tuning"],
                        "rate": group["setting"].iloc[0],
                        "rounds": int(group["round"].max()),
                        "mean": mean,
                        "low": low,
                        "high": high,
                        "last_ten": group[f"{measure} last ten"].mean(),
                        "ok": n,
                        "n": len(group),
                        **cells("difference", difference(group, best, "listnet", measure)),
                        "updates": group["updates"].mean(),
                    }
                )
    return pd.DataFrame(rows)


def bounds_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Measured cumulative loss at the horizon beside the bounds, at each rate, over the reported seeds.

    `violations` counts kept rounds of any seed in which the loss exceeds the bound. Theory promises the separable
    bound at its own rate (max-hinge and the binary perceptron: at any rate), the general bound at its own rate.
    The adversary's rows also have the loss that no deterministic learner can avoid.
    """
    frame = traces[~traces["tuning_seed"]].copy()
    frame["over"] = frame["loss"] > frame["bound"]
    frame["over_general"] = frame["loss"] > frame["general_bound"]
    over = frame.groupby([*GROUP, "setting"])[["over", "over_general"]].sum()
    last = finals(frame)
    last = last[last["bound"].notna() | last["general_bound"].notna() | (last["generator"] == ADVERSARY)]
    rows = []
    for key, group in last.groupby([*GROUP, "setting"], sort=False):
        one, rounds = group.iloc[0], int(group["round"].max())
        learner = LEARNERS.get(one["kind"], Contextual)
        cornered = one["generator"] == ADVERSARY and learner.learns
        rows.append(
            dict(zip([*GROUP, "rate"], key, strict=True))
            | {
                "promised": bool(one["theory"]) or learner.at_any_rate,
                "rounds": rounds,
                "seeds": len(group),
                "loss_mean": group["loss"].mean(),
                "loss_max": group["loss"].max(),
                "bound_min": group["bound"].min(),
                "largest_share": (group["loss"] / group["bound"]).max(),
                "violations": int(over.loc[key, "over"]),
                "general_bound_min": group["general_bound"].min(),
                "general_violations": int(over.loc[key, "over_general"]),
                "lower_bound": adversary_loss(rounds) if cornered and not learner.pairwise else np.nan,
            }
        )
    return pd.DataFrame(rows)


def rates_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Every rate tried, its final time-averaged measure on both sets of seeds, and where it was chosen."""
    rows = []
    for measure, shown, choosing in _measures(finals(traces), details):
        shown = shown[shown["setting"] != "none"]
        choices = [chosen_rates(shown, choosing, tuning) for tuning in ("held-out", "paper")]
        chosen = set(pd.concat(choices).itertuples(index=False, name=None))
        for key, group in shown.groupby([*GROUP, "setting"], sort=False):
            aside = group["tuning_seed"]
            rows.append(
                dict(zip([*GROUP, "rate"], key, strict=True))
                | {
                    "rate_mean": group["rate"].mean(),
                    "measure": measure,
                    "held_out_mean": group.loc[aside, measure].mean(),
                    "reported_mean": group.loc[~aside, measure].mean(),
                    "failed": int((group["failed_in"] > 0).sum()),
                    "runs": len(group),
                    "chosen_held_out": (*key, "held-out") in chosen,
                    "chosen_paper": (*key, "paper") in chosen,
                }
            )
    return pd.DataFrame(rows)


def curves(traces: pd.DataFrame, details: dict, measure: str, separable: bool) -> pd.DataFrame:
    """What a figure shows: the averages of the study's separable streams, or of all others but the adversary's.

    Learners that show the ideal ranking are left out.
    """
    there = traces[traces["generator"] != ADVERSARY]
    there = there[there["generator"].isin(SEPARABLE) == separable]
    there = there[belongs(there, measure) & ~there["kind"].isin(kinds("sees_grades"))]
    if there.empty:
        raise SettingError(
            "the study has no stream for this figure: "
            + ("a separable one" if separable else "a data set or one with noisy grades")
        )
    return averages(there, details, measure)


def streams_table(paths) -> pd.DataFrame:
    """The stream files as they are: sizes, grades, empty queries, norms, margins. One row a file."""
    from scant.data import stream  # which needs Numba

    keys = ["stream", "seed", "queries", "documents", "features", "largest_query", "largest_grade"]
    keys += ["without_relevant", "radius", "margin"]
    facts = [stream.read(path).metadata for path in paths]
    rows = [{key: one.get(key) for key in keys} | {"v_max": one["weight_ratio"]["ndcg"]} for one in facts]
    return pd.DataFrame(rows).astype({"seed": "Int64"})  # data sets have none

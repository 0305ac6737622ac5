"""Learners that descend on what they saw: the figure and the table by the number of grades seen, and what a step is.

Ways to use what was seen: as it is, with a control variate, or unbiased, see `scant.online.traces.way`. The table of
steps has clipped weights, too, and the squared loss without a control variate, as the papers have it.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.measures import rank
from scant.online import estimators, top
from scant.online.frames_top import MEASURE, RANKINGS, WITHOUT_K, final_rows, without_failed
from scant.online.traces import (
    AS_SEEN,
    CONTROL,
    EVERY_GRADE,
    UNBIASED,
    at_chosen_rates,
    chosen_rates,
    difference,
    finals,
    rate_in_words,
)
from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP, names
from scant.randomness import generator

WITHOUT_GRADES = {  # what learners make of clicks, of other queries, or of nothing, by kind
    "clicked": "clicks as they are", "pdgd": "clicks by PDGD", "dbgd": "clicks by DBGD",
    "ips": "clicks by inverse propensities", "held-out": "grades of other queries", "random": "no feedback",
}  # fmt: skip
FEEDBACK = ("feedback", "seen", "use")  # the columns that tell learners apart by what they see and what they make of it
NUMBERS = {0: "all", 1: "one", 2: "two", 3: "three", 5: "five", 10: "ten"}
ROUNDS, QUERIES, CLIPPED = (100, 1000, 10_000), 100, "clipped"  # of the table of steps
LOSSES = {("squared", 1): (AS_SEEN, CLIPPED, CONTROL, UNBIASED), ("logistic", 2): (AS_SEEN, CLIPPED, UNBIASED)}
WAYS = {  # settings of the table of steps, whose learners all take AdaGrad's steps in the unit ball
    AS_SEEN: {"floor": 1.0},
    CLIPPED: {"floor": 0.1},
    CONTROL: {"floor": 0.0},
    UNBIASED: {"floor": 0.0, "control": False},
}


def table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each learner that descends on a surrogate, and of ListNet and Random.

    `own` is of the learner's own ranking, without exploration; `late` and `own_late` are over the last tenth of the
    rounds. `to_unbiased` and `to_full` are paired differences, on the same seeds, to the unbiased estimate from as many
    grades and to every grade seen, both of the same loss; `to_listnet` is that to ListNet.
    """
    rows = []
    for key, group, last in final_rows(traces, details):
        run = group.iloc[0]
        mean, low, high, n = t_interval(group[MEASURE])
        same = last[(last["stream"] == run["stream"]) & (last["objective"] == run["objective"])]
        rows.append(
            dict(zip(GROUP, key, strict=True))
            | {"loss": run["objective"] or None, "way": run["way"] or None}
            | {"k": pd.NA if run["kind"] in WITHOUT_K else run["k"], "iterate": run["iterate"] or None}
            | {"explored": (group["explored"] / group["round"]).mean()}
            | {"steps": run["steps"] or None, "rate": run["setting"], "edge": run["edge"] or None}
            | {"rounds": int(group["round"].max()), "mean": mean, "low": low, "high": high}
            | cells("own", group[RANKINGS["own"]])
            | cells("late", group[f"{MEASURE} late"])
            | cells("own_late", group[f"{RANKINGS['own']} late"])
            | cells("to_listnet", difference(group, last, "listnet", MEASURE))
            | cells("to_unbiased", _beside(group, same[(same["way"] == UNBIASED) & (same["k"] == run["k"])]))
            | cells("to_full", _beside(group, same[(same["way"] == EVERY_GRADE) | (same["k"] == 0)]))
            | {"ok": n, "n": len(group)}
        )
    return pd.DataFrame(rows).astype({"k": "Int64"})


def _beside(group: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """A learner's final values minus the first other learner's, by seed; empty for this learner itself."""
    others = others[(others["iterate"] == group["iterate"].iloc[0]) & (others["steps"] == group["steps"].iloc[0])]
    others = others[others["learner"] == others["learner"].iloc[0]] if len(others) else others
    if group["learner"].iloc[0] in set(others["learner"]):
        others = others.iloc[:0]
    return group.set_index("seed")[MEASURE] - others.set_index("seed")[MEASURE]


def by_feedback(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How far the best learner from each amount of feedback is behind ListNet, which sees every grade, in NDCG@10.

    The gap is of the time averages at the horizon, of the lists shown, paired by seed, with 95 % t intervals over
    seeds. Which learner is best, of those that use the same feedback in the same way, is chosen as rates are: on seeds
    of their own, if the experiment sets some aside.

    feedback : "all grades", "ten grades", ..., "clicks"; seen : how many grades that is, infinite for all, 0 for clicks
    use : "as seen", a loss of what was seen as it is; or "unbiased", by the inverse of the probability of seeing it.
        Learners that do something else are left out

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for experiment, part in traces.groupby("experiment", sort=False):
        ends, tuning = finals(part), details[experiment]["tuning"]
        chosen = chosen_rates(ends, MEASURE, tuning)
        last, aside = at_chosen_rates(ends, chosen), ends[ends["tuning_seed"]].merge(chosen, on=[*GROUP, "setting"])
        aside = aside if tuning == "held-out" and len(aside) else last
        last, aside = (frame.assign(**_feedback(frame)).dropna(subset="use") for frame in (last, aside))
        listnets = at_chosen_rates(ends, chosen).query("kind == 'listnet'")
        scores = aside.groupby([*GROUP, *FEEDBACK], sort=False)[MEASURE].mean().dropna().reset_index()
        for key, learners in scores.groupby(["stream", *FEEDBACK], sort=False):
            best = learners.loc[learners[MEASURE].idxmax(), "learner"]
            group = last[(last["stream"] == key[0]) & (last["learner"] == best)]
            mean, low, high, n = t_interval(difference(group, listnets, "listnet", MEASURE))
            rows.append(
                {"experiment": experiment, "learner": best} | dict(zip(("stream", *FEEDBACK), key, strict=True))
                | {"of": len(learners), "rate": rate_in_words(group.iloc[0]), "tuning": tuning}
                | {"measure": MEASURE, "rounds": group["round"].max(), "mean": mean, "low": low, "high": high, "n": n}
                | names((experiment, key[0], best), details)
            )  # fmt: skip
    if not rows:
        raise SettingError("no learner of the figure descends on what it saw, or every run failed")
    return without_failed(pd.DataFrame(rows))


def _feedback(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """The columns `FEEDBACK` of `by_feedback`; no `use` where a learner is none of those that it compares."""
    of_clicks = rows["user"] != ""
    grades = rows["k"].map(lambda k: f"{NUMBERS.get(k, k)} grade{'s' if k != 1 else ''}")
    plain = rows["way"].isin((AS_SEEN, EVERY_GRADE)) & (rows["kind"] != "listnet")
    use = rows["way"].where(rows["way"] == UNBIASED).mask(plain, AS_SEEN).mask(rows["way"] == CONTROL, UNBIASED)
    seen = rows["k"].where(rows["k"] > 0, np.inf).mask(of_clicks, 0)
    return dict(zip(FEEDBACK, (grades.mask(of_clicks, "clicks"), seen, use), strict=True))


def steps_table(paths) -> pd.DataFrame:
    """How the step of a learner that sees the top compares, along its run, with the gradient over every grade.

    A learner plays the first file of each stream, with AdaGrad's steps in the ball of radius 1. It explores as RTop-kF
    does; without weights, in a tenth of the rounds. Its weights are taken after each number of `ROUNDS`. For `QUERIES`
    queries drawn at random, the mean of its step over all that may be shown is enumerated. The average of these means
    over the queries is compared with the average gradient.

    cosine : of the angle between the two averages
    bias : the squared norm of their difference, relative to that of the average gradient
    variance : the mean squared distance of a step from the average step, relative to the same
    signal : the squared norm of the average step, over that variance
    same_top : the share of queries whose top k are the same by the weights of a descent that sees every grade
    """
    from scant.data import stream as streams  # which needs Numba

    rows, names = [], set()
    for path in paths:
        stream = streams.read(path)
        name = stream.metadata["stream"]
        if name in names:
            continue
        names.add(name)
        for (loss, k), ways in LOSSES.items():
            sees_all = {"kind": "seen", "surrogate": loss, "k": "all"}
            by_all = {}  # by rounds, the weights of a learner that sees every grade
            for rounds in ROUNDS:
                by_all[rounds], _ = _weights_after(stream, sees_all, rounds)
            for way, rounds in product(ways, ROUNDS):
                exploration = 0.1 if way == AS_SEEN else "schedule"
                learner = {"kind": "seen", "surrogate": loss, "k": k, "exploration": exploration}
                weights, settings = _weights_after(stream, learner, rounds, **WAYS[way])
                columns = _moments(stream, weights, by_all[rounds], settings, rounds)
                rows.append({"stream": name, "loss": loss, "k": k, "way": way, "round": rounds} | columns)
    return pd.DataFrame(rows)


def _weights_after(stream, entry: dict, rounds: int, **way) -> tuple[np.ndarray, top.Settings]:
    """The weights, float64 (d), of a learner of kind `seen` after some rounds; its settings, with those of `way`."""
    from scant.online import play  # which needs Numba, too

    readings = {"source": "text", "schedule": "thesis", "mismatch": 1, "radius": 1.0, "judge": None}
    facts, noise = stream.metadata | {"rounds": rounds}, generator(0, "seen-steps", "noise")
    settings = replace(top.Seen.complete_settings(entry | {"steps": "adagrad"}, readings, facts), **way)
    queries = play.query_order(stream, generator(0, "seen-steps", "queries"), rounds)
    return play.play(stream, queries, top.Seen(facts, None, settings, noise)).weights, settings


def _moments(stream, weights, by_all, settings: top.Settings, rounds: int) -> dict:
    """The columns of `steps_table` from `cosine` on."""
    gamma = settings.gamma * rounds**-settings.gamma_decay
    sample = generator(0, "seen-steps", "sample").integers(0, len(stream), QUERIES)
    mean, gradient, second, same = np.zeros(len(weights)), np.zeros(len(weights)), 0.0, 0.0
    for query in sample:
        features, grades = stream[query][:2]
        features, grades = features.astype(float), grades.astype(float)
        scores, k = features @ weights, min(settings.k, len(grades))
        order, full = rank(scores), rank(features @ by_all)
        same += set(order[:k]) == set(full[:k])
        _, slope = estimators.value_and_gradient(settings.objective, scores, grades.astype(int))
        gradient += features.T @ slope
        p, pairs = estimators.inclusion(order, k, gamma)
        if settings.objective == "squared":
            weight = 1 / np.maximum(p, settings.floor)
            constant = np.zeros(len(weights)) if settings.control else 2 * features.T @ scores
            steps = constant - 2 * (weight * (grades - settings.control * scores))[:, None] * features
            chances = p
        elif len(grades) > 1:
            better, worse = np.nonzero(grades[:, None] > grades[None, :])
            chances = pairs[better, worse]
            weight = np.exp(-np.logaddexp(0, scores[better] - scores[worse])) / np.maximum(chances, settings.floor)
            steps = weight[:, None] * (features[worse] - features[better])
        else:
            continue
        mean += chances @ steps
        second += chances @ np.sum(steps**2, axis=1)
    mean, gradient, second = mean / QUERIES, gradient / QUERIES, second / QUERIES
    unit = gradient @ gradient
    return {
        "cosine": mean @ gradient / np.sqrt((mean @ mean) * unit) if mean.any() and unit else np.nan,
        "bias": np.sum((mean - gradient) ** 2) / unit if unit else np.nan,
        "variance": (second - mean @ mean) / unit if unit else np.nan,
        "signal": mean @ mean / (second - mean @ mean) if second > mean @ mean else np.nan,
        "same_top": same / QUERIES,
    }


def by_use(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 of each learner by what it makes of what it sees, for `drawings.steps`.

    Raises
    ------
    SettingError : every run failed
    """
    rows = []
    for key, group, last in final_rows(traces[traces["kind"] != "ideal"], details):
        run = group.iloc[0]
        mean, low, high, n = t_interval(group[MEASURE])
        rows.append(
            dict(zip(GROUP, key, strict=True))
            | {
                "base": details[key[0]]["titles"]["learners"][key[2]],
                "steps": WITHOUT_GRADES.get(run["kind"], run["way"] or run["kind"]),
            }
            | {"rate": rate_in_words(run), "tuning": run["tuning"], "kind": run["kind"]}
            | {"rounds": int(group["round"].max()), "measure": MEASURE, "mean": mean, "low": low, "high": high}
            | cells("own", group[f"ranker_{MEASURE}"])
            | cells("to_listnet", difference(group, last, "listnet", MEASURE))
            | {"n": n}
            | names(key, details)
        )
    return without_failed(pd.DataFrame(rows))


def iterates(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final time-averaged NDCG@10 by which weights lists are ranked by, in the columns that `drawings.steps` draws.

    `to_last` is the paired difference to the same learner ranking by its last weights.

    Raises
    ------
    SettingError : every run failed
    """
    words = {"": "last weights", "last": "last weights", "average": "average of all", "suffix": "average of a suffix"}
    rows = []
    for key, group, last in final_rows(traces[traces["kind"] != "ideal"], details):
        run = group.iloc[0]
        others = last[(last["stream"] == run["stream"]) & (last["iterate"] == "last")]
        for column in ("kind", "objective", "k", "way", "gamma"):
            others = others[(others[column] == run[column]) | (others[column].isna() & pd.isna(run[column]))]
        base = details[key[0]]["titles"]["learners"]
        first = others["learner"].iloc[0] if len(others) else key[2]
        mean, low, high, n = t_interval(group[MEASURE])
        compared = others[(others["learner"] == first) & (first != key[2])].set_index("seed")[MEASURE]
        rows.append(
            dict(zip(GROUP, key, strict=True))
            | {"base": base[first].removesuffix(", last weights"), "steps": words[run["iterate"]]}
            | {"rate": rate_in_words(run), "tuning": run["tuning"], "kind": run["kind"]}
            | {"rounds": int(group["round"].max())}
            | {"measure": MEASURE, "mean": mean, "low": low, "high": high}
            | cells("to_last", group.set_index("seed")[MEASURE] - compared)
            | cells("to_listnet", difference(group, last, "listnet", MEASURE))
            | {"n": n}
            | names(key, details)
        )
    return without_failed(pd.DataFrame(rows))

"""What the tables and figures of ads hold, as frames.

A policy's CTR is the true one where it is known, else that of a test of full information (thesis, eq. 5.3), else the
importance-weighted one (eq. 5.4); the column `of` says which.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd

from scant.ads import campaigns
from scant.ads.learners import KINDS, Uniform
from scant.data import logs
from scant.errors import SettingError
from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP, names

CLICKED = ("true", "full-information", "ips")  # estimators whose estimate is a policy's CTR, the best first
POLICY = [*GROUP, "epsilon"]
FIT = [*POLICY, "seed", "lambda", "fitted_on"]
READINGS = ("validation", "threshold", "undersample", "undersampled", "standardise", "select")
BOUNDS = {  # by whether they always hold
    "exact": ("betting", "betting-sequence", "clopper-pearson", "empirical-bernstein", "hoeffding"),
    "in the limit": ("t", "bootstrap-percentile", "bootstrap-bca", "snips, delta"),
    "not to be used": ("empirical-bernstein, largest seen", "snips, frozen"),
}
WHISKERS = {"lower": "t", "exact_lower": "betting"}  # bounds that figures of importance-weighted CTR show
GROUPS = {bound: group for group, bounds in BOUNDS.items() for bound in bounds}
TABLE_5_1 = {  # thesis: size, features, classes, average percentage of positives
    "optdigits": (5620, 64, 10, 10),
    "isolet": (7797, 617, 26, 4),
    "letter": (20000, 16, 26, 4),
    "pendigits": (10992, 16, 10, 10),
    "movement-libras": (360, 91, 15, 7),
}
PRINTED = ("hotel", "bank-1")  # the campaigns of Table 5.2


# --- what each fit is worth


def ctrs(traces: pd.DataFrame) -> pd.DataFrame:
    """One row for each fit, seed and epsilon: its CTR `ctr`, `of` which kind, and `shown`, what the test log says.

    `ctr` is NaN where the test log says nothing and the truth is not known. The other columns are those of the traces.
    """
    frame = _distinct(traces)
    frame = frame[frame["estimator"].isin(CLICKED)].sort_values("estimate", key=pd.isna, kind="stable")
    frame = frame.drop_duplicates([*FIT, "estimator"])  # there is a row a bound, some without an estimate
    shown = frame[frame["estimator"] != "true"].rename(columns={"estimate": "shown"})[[*FIT, "shown"]]
    best = frame.loc[frame["estimator"].map(CLICKED.index).sort_values(kind="stable").index]
    best = best.drop_duplicates(FIT).sort_index().rename(columns={"estimate": "ctr", "estimator": "of"})
    return best.merge(shown, on=FIT, how="left")


def _distinct(traces: pd.DataFrame) -> pd.DataFrame:
    """The traces with the controls that know no epsilon once, not at each."""
    plain = traces["kind"].isin([kind for kind, learner in KINDS.items() if not learner.explores])
    first = traces.groupby(["experiment", "stream", "learner"])["epsilon"].transform("first")
    frame = traces[~plain | (traces["epsilon"] == first)]
    return frame.assign(epsilon=frame["epsilon"].mask(plain))


def best_on_test(fits: pd.DataFrame) -> pd.DataFrame:
    """Of each policy and seed, the row of `ctrs` that shows the best CTR on the test log.

    So the thesis "recorded the best result". The choice is each seed's own and among all of its fits, those on a part
    of the log included; where the truth is known, `ctr` is the true one of the fit that looks best.
    """
    ranked = fits.sort_values(["shown", "lambda"], ascending=False, kind="stable")  # of equals the simplest
    return ranked.drop_duplicates([*POLICY, "seed"]).sort_index()


def gain(own: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """The columns `difference` and `gain` of a table, each with its interval, and `pairs`, the number of seeds.

    own, other : rows of `ctrs`, one for each seed. The difference is paired by seed, with Student's t interval; the
        gain is it in percent of the other's mean CTR, which is taken as known.
    """
    own, other = own.set_index("seed")["ctr"], other.set_index("seed")["ctr"]
    difference = (own - other).dropna()
    mean = other[difference.index].mean()
    made = cells("difference", difference)
    shares = {key.replace("difference", "gain"): 100 * value / (mean or np.nan) for key, value in made.items()}
    return made | shares | {"pairs": len(difference)}


def _alike(frame: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """The rows with this epsilon, or without any; all for a control without any, if they have one epsilon alone."""
    if pd.isna(epsilon) and len(frame["epsilon"].unique()) == 1:
        return frame
    return frame[(frame["epsilon"] == epsilon) | frame["epsilon"].isna()]


def _policies(frame: pd.DataFrame) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """Each policy's (experiment, stream, learner, epsilon) and rows."""
    return iter(frame.groupby(POLICY, sort=False, dropna=False))


def _readings(details: dict) -> dict:
    return {name: details["readings"].get(name) for name in READINGS}


# --- tables of runs


def ads_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Each policy's CTR: mean over seeds with 95 % t interval, and what it gains on the experiment's baseline.

    `difference` and `gain` (percent) are paired by seed, see `gain`; at the same epsilon. `best_on_test` is the CTR
    with each seed's lambda chosen on the test log, see there. `lambda` is the most frequent of those chosen, in
    `lambda_seeds` seeds. `ok` of the `n` seeds have a CTR; the test log of the others says nothing.
    """
    fits, rows = ctrs(traces), []
    best = best_on_test(fits)
    for key, group in _policies(fits[fits["chosen"]]):
        experiment, stream, learner, epsilon = key
        about = details[experiment]
        there = fits[fits["chosen"] & (fits["experiment"] == experiment) & (fits["stream"] == stream)]
        baseline = there[(there["learner"] == about["baseline"]) & (learner != about["baseline"])]
        lambdas = Counter(group["lambda"].dropna()).most_common(1) or [(np.nan, 0)]
        rows.append(
            dict(zip(POLICY, key, strict=True))
            | {"kind": group["kind"].iloc[0], "of": group["of"].iloc[0]}
            | cells("ctr", group["ctr"])
            | gain(group, _alike(baseline, epsilon))
            | cells("best_on_test", best.loc[_is(best, key), "ctr"])
            | {"lambda": lambdas[0][0], "lambda_seeds": lambdas[0][1]}
            | {name: group[name].mean() for name in ("ads", "untrained", "train_rows", "train_clicks")}
            | {"baseline": about["baseline"], "tuning": about["readings"]["tuning"]}
            | _readings(about)
            | {"ok": int(group["ctr"].notna().sum()), "n": len(group)}
        )
    return pd.DataFrame(rows)


def _is(frame: pd.DataFrame, policy: tuple) -> pd.Series:
    """Where the rows are of a policy."""
    *group, epsilon = policy
    same = frame["epsilon"].isna() if pd.isna(epsilon) else frame["epsilon"] == epsilon
    return (frame[GROUP] == group).all(axis=1) & same


def estimates_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Each estimate and bound of each policy, averaged over seeds, and whether it held.

    Where the truth is known, `lower_held` and `interval_held` count the seeds of `known` whose lower bound is at most
    the true CTR, and whose interval has it. `warnings` counts what the evaluation warned of, or refused for. Of
    classification sets, where everything is known, there is nothing to say.
    """
    frame = _distinct(traces[traces["chosen"]])
    true = frame[frame["estimator"] == "true"].rename(columns={"estimate": "true"})[[*POLICY, "seed", "true"]]
    frame = frame[frame["bound"] != ""].merge(true, on=[*POLICY, "seed"], how="left")
    rows = []
    for key, group in frame.groupby([*POLICY, "estimator", "bound"], sort=False, dropna=False):
        sure = group.dropna(subset=["true", "lower"])
        lower, both = sure["lower"] <= sure["true"], sure["true"].between(sure["low"], sure["high"])
        refused = group["refused"] != ""
        notices = Counter(" ".join([*group["refused"], *group["warnings"]]).split())
        rows.append(
            dict(zip([*POLICY, "estimator", "bound"], key, strict=True))
            | {"exact": bool(group["exact"].iloc[0])}
            | {name: group[name].mean() for name in ("estimate", "lower", "low", "high", "true")}
            | {"lower_held": int(lower.sum()), "lower_share": lower.mean()}
            | {"interval_held": int(both.sum()), "interval_share": both.mean(), "known": len(sure)}
            | {name: group[name].mean() for name in ("rows", "clicks", "matched_clicks", "effective", "unmatched")}
            | {"largest_weight": group["largest_weight"].max(), "declared_weight": group["declared_weight"].max()}
            | {"refused": int(refused.sum()), "n": len(group)}
            | {"warnings": ", ".join(f"{kind}: {count}" for kind, count in notices.items())}
        )
    return pd.DataFrame(rows, columns=None if rows else [*POLICY, "estimator", "bound"])


def ads_readings_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """What AUC rankers gain on logistic scorers and forests, and logistic scorers on forests, under every reading.

    A row for each pair of learners, log and epsilon of an experiment, and for each choice of lambda (`tuning`): as
    the experiment has it, and the best on the test log ("paper", see `best_on_test`).
    """
    fits, rows = ctrs(traces), []
    for experiment, part in fits.groupby("experiment", sort=False):
        about = details[experiment]
        titles = about["titles"]["learners"]
        choices = {"paper": best_on_test(part), about["readings"]["tuning"]: part[part["chosen"]]}
        for tuning, choice in sorted(choices.items()):
            for (stream, epsilon), group in choice.groupby(["stream", "epsilon"], sort=False):
                for own, other in _pairs(group):
                    one, against = (group[group["learner"] == learner] for learner in (own, other))
                    rows.append(
                        {"experiment": experiment, "stream": stream, "epsilon": epsilon}
                        | {"learner": titles[own], "against": titles[other], "of": one["of"].iloc[0]}
                        | gain(one, against)
                        | {"tuning": tuning}
                        | _readings(about)
                    )
    return pd.DataFrame(rows, columns=None if rows else ["experiment", "stream", "epsilon", "learner", "against"])


def _pairs(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The ids of learners to compare: of rankers each to each classifier, and of these each to those after it."""
    rankers, classifiers = ([one for one in KINDS if getattr(KINDS[one], fact)] for fact in ("ranker", "classifier"))
    kinds = frame.drop_duplicates("learner").groupby("kind", sort=False)["learner"].agg(list)
    for own, other in (*product(rankers, classifiers), *combinations(classifiers, 2)):
        yield from ((one, against) for one in kinds.get(own, []) for against in kinds.get(other, []))


# --- tables of logs and of coverage


def table_5_1(paths) -> pd.DataFrame:
    """Table 5.1 for the classification sets among some logs: as drawn, beside what the thesis prints.

    `positive` is the percentage of clicks among an ad's impressions, averaged over ads, that is expected: 100 / K;
    `positive_drawn` that of the training log, over the ads that it shows.

    paths : a training and a test log of each set; others are left out
    """
    rows = {}
    for log, about in map(logs.read, paths):
        if about.get("source") != "classification":
            continue
        count = len(log.actions)
        row = rows.setdefault(about["log"], {"log": about["log"], "size": 0})
        row["size"] += len(log)
        row |= {"features": log.features.shape[1], "classes": count, "positive": 100 / count}
        if about["part"] == "train":
            ads = pd.DataFrame(logs.facts(log)["actions"])
            row |= {"positive_drawn": 100 * ads["rate"].astype(float).mean(), "seed": about["seed"]}
            row["without_click"] = int((ads["clicks"] == 0).sum())
        thesis = TABLE_5_1.get(about.get("dataset", about["log"]), [None] * 4)
        row |= dict(
            zip([f"thesis_{name}" for name in ("size", "features", "classes", "positive")], thesis, strict=True)
        )
    columns = ["log", "seed", "size", "features", "classes", "positive", "positive_drawn", "without_click"]
    whole = [f"thesis_{name}" for name in ("size", "features", "classes", "positive")]
    return pd.DataFrame(rows.values(), columns=[*columns, *whole]).astype(dict.fromkeys(whole, "Int64"))


def table_5_2(paths) -> pd.DataFrame:
    """Table 5.2 for the logs that are not made of classification sets: each ad's impressions, clicks and rate.

    `expected_...` is what a campaign's training log has in expectation; `thesis_...` what the thesis prints.

    paths : logs; those of classification sets are left out
    """
    rows = []
    for log, about in map(logs.read, paths):
        if about.get("source") == "classification":
            continue
        training = about.get("part") == "train"
        expected = about.get("expected", {}) if training else {}
        name = about.get("campaign")
        thesis = dict(zip(("impressions", "rates"), campaigns.CAMPAIGNS[name], strict=True)) if name in PRINTED else {}
        for place, ad in enumerate(logs.facts(log)["actions"]):

            def of(published: dict, what: str, place=place) -> float:
                return published[what][place] if published else np.nan

            rows.append(
                {"log": about.get("log", about.get("dataset")), "part": about.get("part"), "seed": about.get("seed")}
                | {"ad": ad["action"], "impressions": ad["impressions"], "clicks": ad["clicks"]}
                | {"percent": np.nan if ad["rate"] is None else 100 * ad["rate"]}
                | {"expected_impressions": of(expected, "impressions")}
                | {"expected_percent": 100 * of(expected, "rates")}
                | {"thesis_impressions": of(thesis if training else {}, "impressions")}
                | {"thesis_percent": of(thesis if training else {}, "rates")}
            )
    columns = ["log", "part", "seed", "ad", "impressions", "clicks", "percent", "expected_impressions"]
    columns += ["expected_percent", "thesis_impressions", "thesis_percent"]
    return pd.DataFrame(rows, columns=columns).astype({"seed": "Int64", "thesis_impressions": "Int64"})


def coverage_table(rows: pd.DataFrame, details: dict | None = None) -> pd.DataFrame:
    """How often each bound holds, one-sided and two-sided, and how wide it is: one row a setting and bound.

    Bounds stand in the order of `BOUNDS`. Coverages have 95 % Clopper-Pearson intervals; widths are over the truth.

    rows : a frame of those of `scant.ads.coverage.coverage`
    details : nothing is read of them
    """
    rows = _grouped(rows)
    keys = ["campaign", "policy", "rows", "true", "group", "bound", "level", "repeats"]
    measured = ["coverage", "coverage_low", "coverage_high", "width_mean"]
    wide = rows.pivot_table(index=keys, columns="side", values=measured)
    sides = {"lower": "lower", "two-sided": "interval"}
    table = pd.DataFrame(
        {f"{name}_{what.replace('_mean', '')}": wide[what, side] for side, name in sides.items() for what in measured}
    ).reset_index()
    return _ordered(table)


def _grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of coverage, each with the group of its bound; all that `BOUNDS` does not know hold in the limit."""
    return rows.assign(group=rows["bound"].map(GROUPS).fillna("in the limit"))


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Settings by name, those of rare logging and the contrary one last; bounds as in `BOUNDS`."""
    order = list(GROUPS)
    frame = frame.assign(
        place=frame["campaign"].str.contains(",") + 2 * (frame["campaign"] == "contrary"),
        bound_place=frame["bound"].map(lambda bound: order.index(bound) if bound in order else len(order)),
    )
    keys = ["place", "campaign", "policy", "rows", "bound_place"]
    return frame.sort_values(keys, kind="stable", ascending=[True, False, False, True, True]).drop(
        columns=["place", "bound_place"]
    ).reset_index(drop=True)  # fmt: skip


# --- figures


def deterministic(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Each learner's CTR on each log without exploration: its mean over seeds and 95 % t interval."""
    fits = ctrs(traces)
    least = fits["epsilon"].fillna(0) == 0
    if not least.any():
        raise SettingError("no policy of this figure is deterministic: its experiments need an epsilon of 0")
    return _summed(fits[fits["chosen"] & least], details, "ctr")


def by_rate(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """CTR relative to the uniform policy's, by seed: its mean over seeds and 95 % t interval.

    `rate` is the click rate of the training log, averaged over seeds.

    Raises
    ------
    SettingError : an experiment has no uniform policy
    """
    fits = ctrs(traces)
    fits = fits[fits["chosen"]]
    uniform = fits[fits["kind"] == Uniform.kind].drop_duplicates(["experiment", "stream", "seed"])
    if absent := sorted({*fits["experiment"]} - {*uniform["experiment"]}):
        reason = f"CTR relative to the uniform policy's needs a learner of kind {Uniform.kind}"
        raise SettingError(f"experiment {absent[0]!r}: {reason}; add one, or leave the figure out")
    keys = ["experiment", "stream", "seed"]
    fits = fits.merge(uniform[[*keys, "ctr"]].rename(columns={"ctr": "uniform"}), on=keys)
    fits = fits.assign(relative=fits["ctr"] / fits["uniform"], rate=fits["train_clicks"] / fits["train_rows"])
    return _summed(fits, details, "relative", "rate")


def weighted(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Importance-weighted CTR of each policy, averaged over seeds, with two lower bounds, and the true CTR.

    `lower` is Student's t bound (thesis, eq. 5.5), `exact_lower` that by betting, which holds for every distribution;
    `true` is NaN where it is not known; `level` is the bounds'. Seeds whose test log says nothing of the policy are
    left out of `n`.

    Raises
    ------
    SettingError : no policy has an importance-weighted CTR
    """
    chosen = _distinct(traces[traces["chosen"]])
    ips = chosen[(chosen["estimator"] == "ips") & chosen["estimate"].notna()]
    bounds = {name: ips["lower"].where(ips["bound"] == bound) for name, bound in WHISKERS.items()}
    frame = ips.assign(**bounds)
    seeds = frame.groupby([*POLICY, "seed"], sort=False, dropna=False)
    one = seeds[["kind", "estimate", *WHISKERS]].first().reset_index()  # the first that is not NaN
    if one.empty:
        raise SettingError("no policy of this figure has an importance-weighted CTR: the tables say why")
    true = chosen[chosen["estimator"] == "true"].rename(columns={"estimate": "true"})[[*POLICY, "seed", "true"]]
    one = one.merge(true, on=[*POLICY, "seed"], how="left").assign(of="ips")
    one["level"] = one["experiment"].map({name: about["readings"]["level"] for name, about in details.items()})
    return _summed(one, details, "estimate", "lower", "exact_lower", "true", "level")


def _summed(frame: pd.DataFrame, details: dict, measure: str, *also: str) -> pd.DataFrame:
    """Mean over seeds of a measure, with 95 % t interval, and means of further columns: one row a policy.

    A policy is called by its learner, and by its epsilon where the learner has several there.
    """
    several = frame.groupby(GROUP)["epsilon"].transform("nunique") > 1
    rows = []
    for key, group in _policies(frame.assign(several=several)):
        mean, low, high, n = t_interval(group[measure])
        called = names(key[:3], details)
        if group["several"].iloc[0]:
            called["label"] += f", ε = {key[3]:g}"
        rows.append(
            dict(zip(POLICY, key, strict=True))
            | {"mean": mean, "low": low, "high": high, "n": n}
            | {name: group[name].mean() for name in also}
            | {"of": group["of"].iloc[0], "kind": group["kind"].iloc[0]}
            | {"tuning": details[key[0]]["readings"]["tuning"]}
            | called
        )
    shown = pd.DataFrame(rows)
    shown = shown[shown["n"] > 0] if rows else shown
    if shown.empty:
        raise SettingError("no policy of this figure has a CTR: the tables say why")
    return shown


def coverage(rows: pd.DataFrame, details: dict | None = None) -> pd.DataFrame:
    """How often each bound holds and how wide it is: the rows of `scant.ads.coverage.coverage`, grouped, in order.

    details : nothing is read of them
    """
    return _ordered(_grouped(rows))

"""The frames of the tables and figures of ads.

The CTR of a policy is the true one where it is known, else the one with full information (thesis,
eq. 5.3), else the importance-weighted one (eq. 5.4). The column `of` says which.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from scant.bandits import campaigns
from scant.bandits.learners import KINDS, Uniform
from scant.data import logs
from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells
from scant.present.traces import GROUP, names

CTRS = ("true", "full-information", "ips")  # the estimators of a policy's CTR, the best first
POLICY = [*GROUP, "epsilon"]
FIT = [*POLICY, "seed", "lambda", "fitted_on"]
READINGS = ("validation", "threshold", "undersample", "undersampled", "standardise", "select")
BOUNDS = {  # grouped by when they hold
    "exact": (
        "betting",
        "betting, no range",
        "betting-sequence",
        "clopper-pearson",
        "empirical-bernstein",
        "hoeffding",
    ),
    "in the limit": (
        "t",
        "bootstrap-percentile",
        "bootstrap-bca",
        "snips, delta",
        "empirical-likelihood",
    ),
    "not to be used": ("betting, unshuffled", "empirical-bernstein, largest seen", "snips, frozen"),
}
# bounds that figures of importance-weighted CTR show
WHISKERS = {"lower": "t", "exact_lower": "betting"}
GROUPS = {bound: group for group, bounds in BOUNDS.items() for bound in bounds}
TABLE_5_1 = {  # thesis: size, features, classes, average percentage of positives
    "optdigits": (5620, 64, 10, 10),
    "isolet": (7797, 617, 26, 4),
    "letter": (20000, 16, 26, 4),
    "pendigits": (10992, 16, 10, 10),
    "movement-libras": (360, 91, 15, 7),
}
PRINTED = ("hotel", "bank-1")  # the campaigns of Table 5.2


# --- the CTR of each fit


def ctrs(traces: pd.DataFrame) -> pd.DataFrame:
    """One row for each fit, seed and epsilon (NaN without exploration): the columns of the traces,
    but `ctr` and `of` in place of `estimate` and `estimator`.

    `ctr` is the true CTR, else an estimate, else NaN; `of` says which; `shown`, one more column, is
    the estimate from the test log.
    """
    frame = _distinct(traces)
    frame = frame[frame["estimator"].isin(CTRS)].sort_values("estimate", key=pd.isna, kind="stable")
    # each bound has a row; those without an estimate come last
    frame = frame.drop_duplicates([*FIT, "estimator"])
    estimates = frame[frame["estimator"] != "true"].rename(columns={"estimate": "shown"})[
        [*FIT, "shown"]
    ]
    best = frame.loc[frame["estimator"].map(CTRS.index).sort_values(kind="stable").index]
    best = (
        best.drop_duplicates(FIT)
        .sort_index()
        .rename(columns={"estimate": "ctr", "estimator": "of"})
    )
    return best.merge(estimates, on=FIT, how="left")


def _distinct(traces: pd.DataFrame) -> pd.DataFrame:
    """The traces with one epsilon, NaN, for controls whose policy does not depend on it."""
    without_epsilon = traces["kind"].isin(
        [kind for kind, learner in KINDS.items() if not learner.explores]
    )
    first = traces.groupby(["experiment", "stream", "learner"])["epsilon"].transform("first")
    frame = traces[~without_epsilon | (traces["epsilon"] == first)]
    return frame.assign(epsilon=frame["epsilon"].mask(without_epsilon))


def best_on_test(fits: pd.DataFrame) -> pd.DataFrame:
    """For each policy and seed, the row of `ctrs` with the best CTR on the test log.

    This is how the thesis "recorded the best result". Each seed chooses among all of its fits,
    including those on a part of the log. Where the true CTR is known, `ctr` is the true CTR of the
    chosen fit.
    """
    # of equal ones the largest lambda
    ranked = fits.sort_values(["shown", "lambda"], ascending=False, kind="stable")
    return ranked.drop_duplicates([*POLICY, "seed"]).sort_index()


def gain(policy: pd.DataFrame, against: pd.DataFrame) -> dict[str, float]:
    """The columns `difference` and `gain` of a table, each with its interval, and `pairs`, in how
    many seeds both policies have a CTR.

    The difference of CTRs is paired by seed and has a 95 % t interval. The gain is this difference
    in percent of the mean CTR of the policy that is compared with; that mean is taken as known.

    policy, against : rows of `ctrs`, one for each seed
    """
    ctr, ctr_against = policy.set_index("seed")["ctr"], against.set_index("seed")["ctr"]
    difference = (ctr - ctr_against).dropna()
    mean = ctr_against[difference.index].mean()
    columns = cells("difference", difference)
    gains = {
        key.replace("difference", "gain"): 100 * value / (mean or np.nan)
        for key, value in columns.items()
    }
    return columns | gains | {"pairs": len(difference)}


def _at_epsilon(frame: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """The rows to compare a policy of this epsilon with: rows of the same epsilon, or of controls
    without one.

    A control without an epsilon (NaN) is compared with all rows, if there is a single epsilon among
    them.
    """
    if pd.isna(epsilon) and len(frame["epsilon"].unique()) == 1:
        return frame
    return frame[(frame["epsilon"] == epsilon) | frame["epsilon"].isna()]


def _policies(frame: pd.DataFrame) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """The key (experiment, stream, learner, epsilon) and the rows of each policy."""
    return iter(frame.groupby(POLICY, sort=False, dropna=False))


def _readings(details: dict) -> dict:
    """The readings of an experiment that tables show, from its details."""
    return {name: details["readings"].get(name) for name in READINGS}


# --- tables of runs


def ads_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Each policy's CTR: its mean over seeds with 95 % t interval, and its gain over the
    experiment's baseline.

    `difference` and `gain` (percent) compare with the baseline at the same epsilon, see the
    function `gain`. `best_on_test` is the CTR if each seed's lambda is chosen on the test log, see
    the function of this name. `lambda` is the most frequent choice, in `lambda_seeds` seeds. `ok`
    of the `n` seeds have a CTR; for the others the test log gives no estimate.
    """
    fits, rows = ctrs(traces), []
    best = best_on_test(fits)
    for key, group in _policies(fits[fits["chosen"]]):
        experiment, stream, learner, epsilon = key
        experiment_details = details[experiment]
        on_log = fits[
            fits["chosen"] & (fits["experiment"] == experiment) & (fits["stream"] == stream)
        ]
        baseline = on_log[
            (on_log["learner"] == experiment_details["baseline"])
            & (learner != experiment_details["baseline"])
        ]
        lambdas = Counter(group["lambda"].dropna()).most_common(1) or [(np.nan, 0)]
        rows.append(
            dict(zip(POLICY, key, strict=True))
            | {"kind": group["kind"].iloc[0], "of": group["of"].iloc[0]}
            | cells("ctr", group["ctr"])
            | gain(group, _at_epsilon(baseline, epsilon))
            | cells("best_on_test", best.loc[_of_policy(best, key), "ctr"])
            | {"lambda": lambdas[0][0], "lambda_seeds": lambdas[0][1]}
            | {
                name: group[name].mean()
                for name in ("ads", "untrained", "train_rows", "train_clicks")
            }
            | {
                "baseline": experiment_details["baseline"],
                "tuning": experiment_details["readings"]["tuning"],
            }
            | _readings(experiment_details)
            | {"ok": int(group["ctr"].notna().sum()), "n": len(group)}
        )
    return pd.DataFrame(rows)


def _of_policy(frame: pd.DataFrame, policy: tuple) -> pd.Series:
    """Which rows are of a policy, given its key: bool (rows)."""
    *group, epsilon = policy
    same = frame["epsilon"].isna() if pd.isna(epsilon) else frame["epsilon"] == epsilon
    return (frame[GROUP] == group).all(axis=1) & same


# --- tables of logs and of coverage


def table_5_1(paths) -> pd.DataFrame:
    """Table 5.1: classification sets as logs, beside the numbers that the thesis prints.

    `positive` is the expected percentage of clicks among an ad's impressions, averaged over ads:
    100 / K. `positive_drawn` is the same percentage in the training log, averaged over the ads that
    it shows.

    paths : a training and a test log of each classification set, the training log first
    """
    rows = {}
    printed = ("thesis_size", "thesis_features", "thesis_classes", "thesis_positive")
    for log, metadata in map(logs.read, paths):
        row = rows.setdefault(metadata["log"], {"log": metadata["log"], "seed": None, "size": 0})
        row["size"] += len(log)
        row |= {"features": len(log.names), "classes": len(log.actions)}
        row |= {"positive": 100 / len(log.actions)}
        if metadata["part"] == "train":
            ads = pd.DataFrame(logs.by_ad(log))
            row["seed"] = metadata["seed"]
            row["positive_drawn"] = 100 * ads["rate"].astype(float).mean()
            row["without_click"] = int((ads["clicks"] == 0).sum())
        thesis = TABLE_5_1.get(metadata.get("dataset", metadata["log"]), [None] * 4)
        row |= zip(printed, thesis, strict=True)
    return pd.DataFrame(rows.values()).astype(dict.fromkeys(printed, "Int64"))


def table_5_2(paths) -> pd.DataFrame:
    """Table 5.2: each ad's impressions, clicks and rate in logs.

    `expected_...` is the expectation for a campaign's training log; `thesis_...` is the number that
    the thesis prints.

    paths : logs that are not made from classification sets
    """
    tables = []
    for log, metadata in map(logs.read, paths):
        ads, name, unknown = pd.DataFrame(logs.by_ad(log)), metadata.get("campaign"), np.nan
        expected, printed = metadata.get("expected", {}), (unknown, unknown)
        if metadata.get("part") != "train":
            expected = {}
        elif name in PRINTED:
            printed = campaigns.CAMPAIGNS[name]
        columns = {
            "log": metadata.get("log", metadata.get("dataset")),
            "part": metadata.get("part"),
            "seed": metadata.get("seed"),
            "ad": ads["action"],
            "impressions": ads["impressions"],
            "clicks": ads["clicks"],
            "percent": 100 * ads["rate"].astype(float),
            "expected_impressions": expected.get("impressions", unknown),
            "expected_percent": 100 * np.array(expected.get("rates", unknown)),
            "thesis_impressions": printed[0],
            "thesis_percent": printed[1],
        }
        tables.append(pd.DataFrame(columns, ads.index))
    return pd.concat(tables).astype({"seed": "Int64", "thesis_impressions": "Int64"})


def _grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of coverage with the `group` of each bound, "in the limit" if `BOUNDS` does not list
    it.
    """
    return rows.assign(group=rows["bound"].map(GROUPS).fillna("in the limit"))


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows sorted by setting, then by bound in the order of `BOUNDS`."""
    order = list(GROUPS)
    places = {
        "rare logging": 1,
        "contrary": 3,
        "deficient": 4,
    }  # by the end of a campaign's name; drifts come between these
    frame = frame.assign(
        place=[places.get(name.split(", ")[-1], 2 * (", " in name)) for name in frame["campaign"]],
        bound_place=frame["bound"].map(
            lambda bound: order.index(bound) if bound in order else len(order)
        ),
    )
    keys = ["place", "campaign", "policy", "rows", "bound_place"]
    return (
        frame.sort_values(keys, kind="stable", ascending=[True, False, False, True, True])
        .drop(columns=["place", "bound_place"])
        .reset_index(drop=True)
    )


# --- figures


def deterministic(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The CTR of each learner on each log without exploration: its mean over seeds and 95 % t
    interval.
    """
    fits = ctrs(traces)
    greedy = fits["epsilon"].fillna(0) == 0
    return _summed(fits[fits["chosen"] & greedy], details, "ctr")


def by_rate(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Each learner's CTR / CTR of the uniform policy on the same seed: mean over seeds and 95 % t
    interval.

    `rate` is the click rate of the training log, averaged over seeds.
    """
    fits = ctrs(traces)
    fits = fits[fits["chosen"]]
    uniform = fits[fits["kind"] == Uniform.kind].drop_duplicates(["experiment", "stream", "seed"])
    keys = ["experiment", "stream", "seed"]
    fits = fits.merge(uniform[[*keys, "ctr"]].rename(columns={"ctr": "uniform"}), on=keys)
    fits = fits.assign(
        relative=fits["ctr"] / fits["uniform"], rate=fits["train_clicks"] / fits["train_rows"]
    )
    return _summed(fits, details, "relative", "rate")


def weighted(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Importance-weighted CTR of each policy, averaged over seeds, with two lower bounds, and the
    true CTR.

    `lower` is Student's t bound (thesis, eq. 5.5), `exact_lower` the betting bound, which holds for
    every distribution; `true` is NaN where the true CTR is not known; `level` is the confidence of
    the bounds. `n` counts the seeds whose test log gives an estimate.
    """
    chosen = _distinct(traces[traces["chosen"]])
    ips = chosen[(chosen["estimator"] == "ips") & chosen["estimate"].notna()]
    bounds = {name: ips["lower"].where(ips["bound"] == bound) for name, bound in WHISKERS.items()}
    frame = ips.assign(**bounds)
    seeds = frame.groupby([*POLICY, "seed"], sort=False, dropna=False)
    # the first that is not NaN
    policies = seeds[["kind", "estimate", *WHISKERS]].first().reset_index()
    true = chosen[chosen["estimator"] == "true"].rename(columns={"estimate": "true"})[
        [*POLICY, "seed", "true"]
    ]
    policies = policies.merge(true, on=[*POLICY, "seed"], how="left").assign(of="ips")
    policies["level"] = policies["experiment"].map(
        {
            name: experiment_details["readings"]["level"]
            for name, experiment_details in details.items()
        }
    )
    return _summed(policies, details, "estimate", "lower", "exact_lower", "true", "level")


def _summed(frame: pd.DataFrame, details: dict, measure: str, *further: str) -> pd.DataFrame:
    """The mean over seeds of a measure, with 95 % t interval, and of further columns: one row for
    each policy.

    A policy's label names its learner, and its epsilon where the learner has several.
    """
    several = frame.groupby(GROUP)["epsilon"].transform("nunique") > 1
    rows = []
    for key, group in _policies(frame.assign(several=several)):
        labels = names(key[:3], details)
        if group["several"].iloc[0]:
            labels["label"] += f", ε = {key[3]:g}"
        rows.append(
            dict(zip(POLICY, key, strict=True))
            | mean_cells(group[measure])
            | {name: group[name].mean() for name in further}
            | {"of": group["of"].iloc[0], "kind": group["kind"].iloc[0]}
            | {"tuning": details[key[0]]["readings"]["tuning"]}
            | labels
        )
    summary = pd.DataFrame(rows)
    summary = summary[summary["n"] > 0] if rows else summary
    if summary.empty:
        raise SettingError("no policy of this figure has a CTR: the tables say why")
    return summary


def coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """How often each bound holds and how wide it is: the rows of `scant.ads.coverage.coverage`,
    sorted, with a column `group`.
    """
    return _ordered(_grouped(rows))

"""What tables and figures of ads hold."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from scant.ads import coverage
from scant.ads import drawings as drawing_ads
from scant.ads import frames as ads
from scant.data import logs
from scant.errors import SettingError
from scant.present.panels import split

KINDS = {  # learner: kind, CTR on digits, true CTR on the bank
    "logistic": ("logistic", 0.60, 0.0040),
    "forest": ("forest", 0.70, 0.0042),
    "ranker": ("auc-ranker", 0.75, 0.0046),
    "uniform": ("uniform", 0.10, 0.0030),
    "oracle": ("oracle", 1.00, 0.0060),
}
GRID = {"logistic": (0.1, 1.0), "ranker": (0.1, 1.0)}  # lambdas
SEEDS = np.arange(3)
NOISE = np.array([-0.01, 0.0, 0.02])  # of the seeds, relative
DETAILS = {
    name: {
        "kind": "ads",
        "title": f"reading {name}",
        "baseline": "forest",
        "seeds": 3,
        "tuning": "held-out",
        "readings": yaml.safe_load(
            """{tuning: held-out, validation: 0.2, threshold: f1, undersample: null,
            undersampled: classifiers, standardise: true, select: 1.0, level: 0.95}"""
        ),
        "titles": {
            "streams": {
                "digits": "Digits",
                "letter": "Letter",
                "bank": "Bank 1",
                "bank-low": "Bank, 0.1 %",
            },
            "learners": {one: one.capitalize() for one in KINDS},
        },
    }
    for name in ("plain", "under", "campaigns")
}
# exact, lower / estimate
BOUNDS = {"t": (False, 0.8), "betting": (True, 0.7), "clopper-pearson": (True, 0.75)}


def policies(epsilon, learners):
    """Each seed, learner and fit, with its CTR relative to the learner's; the held-out choice is
    the refit on all.
    """
    for learner in learners:
        grid = [(value, "part", 1.05 - 0.1 * (value == 1.0)) for value in GRID.get(learner, ())]
        for seed in SEEDS:
            for value, fitted_on, share in [*grid, (1.0 if grid else np.nan, "all", 1.0)]:
                about = {
                    "learner": learner,
                    "kind": KINDS[learner][0],
                    "seed": seed,
                    "lambda": value,
                }
                about |= {"fitted_on": fitted_on, "chosen": fitted_on == "all", "epsilon": epsilon}
                yield about, share * (1 + NOISE[seed] * (learner != "uniform"))


NONE = dict.fromkeys(("lower", "low", "high"), np.nan) | {
    "bound": "",
    "exact": False,
    "refused": "",
    "warnings": "",
}
DIAGNOSED = yaml.safe_load(
    """{clicks: 500.0, matched_clicks: 400.0, effective: 9000.0, largest_weight: 4.0,
    declared_weight: 4.0, unmatched: 0.0, mean_weight: 1.0}"""
)


@pytest.fixture(scope="module")
def classified():
    rows = []
    for experiment in ("plain", "under"):
        for stream, easy in (("digits", 1.0), ("letter", 0.8)):
            for about, share in policies(0.0, KINDS):
                ctr = easy * share * KINDS[about["learner"]][1] + 0.1 * (experiment == "under")
                rows.append(
                    about
                    | {"experiment": experiment, "stream": stream, "source": "classification"}
                    | NONE
                    | {
                        "estimator": "full-information",
                        "estimate": ctr,
                        "rows": 500,
                        "ads": 10,
                        "untrained": 1,
                    }
                    | {"train_rows": 1200, "train_clicks": 120.0}
                    | dict.fromkeys(DIAGNOSED, np.nan)
                )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def campaign():
    """Two campaigns; what the test log shows is 5 % above the truth."""
    rows = []
    for stream, scale in (("bank", 1.0), ("bank-low", 0.3)):
        for about, share in (one for epsilon in (0.0, 0.2) for one in policies(epsilon, KINDS)):
            true = scale * share * KINDS[about["learner"]][2] * (1 - 0.5 * about["epsilon"])
            about = about | {
                "experiment": "campaigns",
                "stream": stream,
                "source": "campaign",
                "ads": 5,
            }
            about |= {
                "untrained": 0,
                "train_rows": 10_000,
                "train_clicks": scale * 36.0,
                "rows": 10_000,
            } | DIAGNOSED
            rows.append(
                about
                | NONE
                | {"estimator": "true", "estimate": true, "low": 0.99 * true, "high": 1.01 * true}
            )
            for bound, (exact, lower) in BOUNDS.items():
                estimate = 1.05 * true
                ends = {"lower": lower * estimate, "low": 0.96 * estimate, "high": 1.2 * estimate}
                rows.append(
                    about
                    | NONE
                    | {"estimator": "ips", "bound": bound, "exact": exact, "estimate": estimate}
                    | ends
                    | {"warnings": "few-clicks mean-weight" if about["seed"] == 2 else ""}
                )
    return pd.DataFrame(rows)


def logged(campaign, **changes):
    """The campaigns as logs of which the truth is not known."""
    return campaign[campaign["estimator"] != "true"].assign(source="log", **changes)


def by(table, *keys):
    return table.set_index(list(keys)).sort_index()


# --- what each fit is worth


def test_the_true_ctr_goes_before_what_the_test_log_says(campaign):
    fits = ads.ctrs(campaign)
    assert set(fits["of"]) == {"true"} and np.allclose(fits["shown"], 1.05 * fits["ctr"])
    assert set(ads.ctrs(logged(campaign))["of"]) == {"ips"}
    assert len(fits) == fits.drop_duplicates(ads.FIT).shape[0] == 2 * 3 * (2 * (3 + 1 + 3 + 1) + 1)


def test_a_ctr_is_that_of_a_bound_which_has_one(campaign):
    """Without a matched click, Student's t has no numbers, but the exact bounds have."""
    frame = logged(campaign)
    frame.loc[frame["bound"] == "t", ["estimate", "lower"]] = np.nan
    pd.testing.assert_series_equal(ads.ctrs(frame)["ctr"], ads.ctrs(logged(campaign))["ctr"])


def test_controls_that_know_no_epsilon_stand_once(campaign):
    fits = ads.ctrs(campaign)
    assert fits.groupby("learner")["epsilon"].nunique().to_dict() == dict.fromkeys(KINDS, 2) | {
        "uniform": 0
    }


# --- tables


def test_the_table_of_ads(classified):
    table = by(ads.ads_table(classified, DETAILS), "experiment", "stream", "learner")
    assert len(table) == 2 * 2 * len(KINDS)
    one = table.loc[("plain", "letter", "ranker")]
    own, forest = 0.8 * 0.75 * (1 + NOISE), 0.8 * 0.70 * (1 + NOISE)
    low, high = stats.t.interval(0.95, 2, own.mean(), stats.sem(own))
    np.testing.assert_allclose(
        one[["ctr", "ctr_low", "ctr_high"]].astype(float), [own.mean(), low, high]
    )
    gap = own - forest
    low, high = stats.t.interval(0.95, 2, gap.mean(), stats.sem(gap))
    np.testing.assert_allclose(
        one[["difference_low", "difference_high"]].astype(float), [low, high]
    )
    np.testing.assert_allclose(
        one[["gain", "gain_low", "gain_high"]].astype(float),
        100 * np.array([gap.mean(), low, high]) / forest.mean(),
    )
    assert one["best_on_test"] == pytest.approx(1.05 * own.mean()) and one["lambda"] == 1.0
    assert (
        one["lambda_seeds"] == one["pairs"] == one["ok"] == one["n"] == 3
        and one["of"] == "full-information"
    )
    assert (one["untrained"], one["ads"], one["train_clicks"], one["tuning"]) == (
        1,
        10,
        120,
        "held-out",
    )
    forest = table.loc[("plain", "letter", "forest")]
    assert (
        np.isnan(forest["difference"])
        and np.isnan(forest["lambda"])
        and forest["best_on_test"] == forest["ctr"]
    )


def test_gains_are_at_the_same_epsilon(campaign):
    table = ads.ads_table(campaign, DETAILS)
    ranker = table[table["learner"] == "ranker"]
    assert len(ranker) == 4 and np.allclose(ranker["gain"], 100 * (0.0046 / 0.0042 - 1))
    uniform = table[table["learner"] == "uniform"]
    assert len(uniform) == 2 and uniform["gain"].isna().all()  # two forests to compare with
    greedy = ads.ads_table(campaign[campaign["epsilon"] == 0], DETAILS)
    forest = 0.0042 * (1 + NOISE)
    wanted = 100 * (0.0030 / forest.mean() - 1)
    assert (
        greedy.loc[greedy["learner"] == "uniform", "gain"].tolist() == [pytest.approx(wanted)] * 2
    )


def test_the_best_on_the_test_is_chosen_by_what_the_test_shows(campaign):
    """Per seed; and the true CTR of that choice is reported, not the one that it seemed to have."""
    frame, liked = campaign.copy(), (campaign["lambda"] == 1.0) & (campaign["fitted_on"] == "part")
    frame.loc[liked & (frame["estimator"] == "ips") & (frame["seed"] == 1), "estimate"] *= 2
    best = ads.best_on_test(ads.ctrs(frame))
    ranker = best[
        (best["learner"] == "ranker") & (best["stream"] == "bank") & (best["epsilon"] == 0)
    ]
    assert ranker.sort_values("seed")["lambda"].tolist() == [0.1, 1.0, 0.1]
    np.testing.assert_allclose(
        ranker.sort_values("seed")["ctr"], 0.0046 * (1 + NOISE) * [1.05, 0.95, 1.05]
    )


def test_refused_seeds_have_no_ctr_and_are_counted(campaign):
    frame = logged(campaign)
    out = (frame["seed"] == 1) & (frame["learner"] == "ranker")
    frame.loc[out, ["estimate", "lower", "low", "high"]] = np.nan
    frame.loc[out, "refused"] = "small-sample"
    one = by(ads.ads_table(frame, DETAILS), "stream", "learner", "epsilon").loc[
        ("bank", "ranker", 0.2)
    ]
    assert (one["ok"], one["n"], one["pairs"]) == (2, 3, 2)
    shown = ads.weighted(frame, DETAILS)
    assert shown.loc[shown["learner"] == "ranker", "n"].tolist() == [2] * 4
    with pytest.raises(SettingError, match="importance-weighted"):
        ads.weighted(frame[out], DETAILS)


# --- logs


def log(rows, actions, features=3, seed=0):
    random = np.random.default_rng(seed)
    action = np.arange(rows, dtype=np.int32) % actions
    return logs.Log(
        random.standard_normal((rows, features), np.float32),
        action,
        (np.arange(rows) < actions - 1) * 1.0,
        np.full(rows, 1 / actions),
        tuple(map(str, range(actions))),
        tuple(f"f{i}" for i in range(features)),
    )


def test_table_5_1(tmp_path):
    about = {"log": "libras", "dataset": "movement-libras", "source": "classification", "seed": 0}
    paths = [tmp_path / "train.parquet", tmp_path / "test.parquet", tmp_path / "other.parquet"]
    logs.write(log(20, 5), paths[0], about | {"part": "train"})
    logs.write(log(9, 5), paths[1], about | {"part": "test"})
    logs.write(log(9, 5), paths[2], {"source": "campaign", "log": "hotel"})
    (row,) = ads.table_5_1(paths).to_dict("records")
    assert (row["size"], row["features"], row["classes"], row["positive"]) == (29, 3, 5, 20)
    # 4 clicks, 4 rows an ad
    assert row["positive_drawn"] == pytest.approx(20.0) and row["without_click"] == 1
    assert (row["thesis_size"], row["thesis_features"], row["thesis_positive"]) == (360, 91, 7)
    logs.write(log(20, 5), paths[0], about | {"part": "train", "dataset": "other"})
    assert ads.table_5_1(paths[:1])["thesis_size"].isna().all()
    assert ads.table_5_1(paths[2:]).empty


def test_table_5_2(tmp_path):
    hotel = {"log": "small-hotel", "source": "campaign", "campaign": "hotel", "seed": 0}
    hotel["expected"] = yaml.safe_load(
        "{impressions: [3.5, 4, 4, 4, 4.5], rates: [0.081, 0.082, 0.078, 0.077, 0.055]}"
    )
    paths = [tmp_path / name for name in ("train", "test", "own")]
    logs.write(log(20, 5), paths[0], hotel | {"part": "train"})
    logs.write(log(20, 5), paths[1], hotel | {"part": "test"})
    logs.write(log(4, 3), paths[2], {"dataset": "own", "part": "bts"})
    table = ads.table_5_2(paths)
    assert (
        table["log"].tolist() == ["small-hotel"] * 10 + ["own"] * 3
        and table["impressions"].sum() == 44
    )
    first = table.iloc[0]
    assert (first["ad"], first["impressions"], first["clicks"], first["percent"]) == ("0", 4, 1, 25)
    assert (first["expected_impressions"], first["expected_percent"]) == (3.5, pytest.approx(8.1))
    assert (first["thesis_impressions"], first["thesis_percent"]) == (36164, 8.1)
    assert table.iloc[5:].filter(regex="expected|thesis").isna().all(axis=None)


# --- figures


def test_points_of_figure_5_1(classified):
    frame = ads.deterministic(classified, DETAILS)
    assert len(frame) == 2 * 2 * len(KINDS) and set(frame["n"]) == {3}
    one = by(frame, "experiment", "stream", "learner").loc[("under", "digits", "forest")]
    values = 0.7 * (1 + NOISE) + 0.1
    assert one["mean"] == pytest.approx(values.mean()) and one["panel"] == "Digits"
    figure = drawing_ads.deterministic(frame)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "reading plain",
        "reading under",
    ]
    heights = {round(y, 9) for line in figure.axes[1].lines for y in np.ravel(line.get_ydata())}
    assert heights >= set((100 * frame.loc[frame["experiment"] == "under", "mean"]).round(9))
    with pytest.raises(SettingError, match="epsilon of 0"):
        ads.deterministic(classified.assign(epsilon=0.2, kind="forest"), DETAILS)


def test_points_of_figure_5_2(campaign):
    frame = ads.weighted(campaign, DETAILS)
    assert frame["label"].iloc[:2].tolist() == [
        "Logistic, ε = 0",
        "Forest, ε = 0",
    ] and "Uniform" in set(frame["label"])
    np.testing.assert_allclose(frame["lower"], 0.8 * frame["mean"])
    np.testing.assert_allclose(frame["exact_lower"], 0.7 * frame["mean"])
    np.testing.assert_allclose(frame["true"], frame["mean"] / 1.05)
    figure = drawing_ads.weighted(frame)
    for axis, (_, panel) in zip(figure.axes, split(frame), strict=True):
        drawn = {round(float(y), 9) for line in axis.lines for y in np.ravel(line.get_ydata())}
        for name in ("mean", "lower", "exact_lower", "true"):
            assert drawn >= set((100 * panel[name]).round(9))
        assert [tick.get_text() for tick in axis.get_xticklabels()] == panel["label"].tolist()
    entries = [text.get_text() for text in figure.legends[0].texts]
    assert "true CTR" in entries and "95 %" in figure.legends[0].get_title().get_text()
    shown = ads.weighted(logged(campaign), DETAILS)
    assert shown["true"].isna().all()
    assert "true CTR" not in [
        text.get_text() for text in drawing_ads.weighted(shown).legends[0].texts
    ]


def test_ctr_by_click_rate_is_relative_to_the_uniform_policy(campaign):
    frame = ads.by_rate(campaign[campaign["epsilon"] == 0.0], DETAILS)
    assert sorted(frame["rate"].unique()) == pytest.approx([0.00108, 0.0036])
    uniform = frame[frame["learner"] == "uniform"]
    np.testing.assert_allclose(uniform[["mean", "low", "high"]], 1.0)
    ranker = frame[frame["learner"] == "ranker"]
    np.testing.assert_allclose(ranker["mean"], 0.0046 / 0.0030 * (1 + NOISE).mean())
    figure = drawing_ads.by_rate(frame)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["0.11", "0.36"]
    with pytest.raises(SettingError, match="kind uniform"):
        ads.by_rate(campaign[campaign["kind"] != "uniform"], DETAILS)


# --- coverage


@pytest.fixture(scope="module")
def covered():
    settings = coverage.settings((500, 2_000), drifts=("falling",))
    return pd.DataFrame(coverage.coverage(settings, 20, np.random.default_rng(0), replicates=50))


def test_coverage_is_drawn_to_the_edge(covered):
    frame = ads.coverage(covered)
    figure = drawing_ads.coverage(frame)
    axes = np.reshape(figure.axes, (3, -1))
    for column, campaign in zip(axes.T, frame["campaign"].unique(), strict=True):
        panel = frame[frame["campaign"] == campaign]
        for axis, side in zip(column, ("lower", "two-sided"), strict=False):
            rows = panel[panel["side"] == side]
            low = rows[rows["coverage"] < drawing_ads.LEAST]
            hollow = [line for line in axis.lines if line.get_markerfacecolor() == "w"]
            assert sum(len(line.get_xdata()) for line in hollow) == len(low)
            assert all(np.all(np.asarray(line.get_xdata()) == 80) for line in hollow)
            least = low.groupby("bound")["coverage"].min()
            assert sorted(text.get_text() for text in axis.texts) == sorted(
                f"{100 * x:.0f}" for x in least
            )
    assert any(len(axis.texts) for axis in axes[1])

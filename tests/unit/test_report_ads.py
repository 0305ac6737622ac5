"""What tables and figures of ads hold."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import yaml
from rows import entries, interval

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
READINGS = yaml.safe_load(
    """{tuning: held-out, validation: 0.2, threshold: f1, undersample: null,
    undersampled: classifiers, standardise: true, select: 1.0, level: 0.95}"""
)
TITLES = {"digits": "Digits", "letter": "Letter", "bank": "Bank 1", "bank-low": "Bank, 0.1 %"}
OF_ADS = {"kind": "ads", "baseline": "forest", "seeds": 3, "tuning": "held-out"}
OF_ADS |= {"readings": READINGS}
OF_ADS |= {"titles": {"streams": TITLES, "learners": {one: one.capitalize() for one in KINDS}}}
DETAILS = {name: OF_ADS | {"title": f"reading {name}"} for name in ("plain", "under", "campaigns")}
# exact, lower / estimate
BOUNDS = {"t": (False, 0.8), "betting": (True, 0.7), "clopper-pearson": (True, 0.75)}


def policies(epsilon, learners):
    """Each seed, learner and fit, with its CTR relative to the learner's; held-out is the refit."""
    for learner, seed in product(learners, SEEDS):
        grid = [(value, "part", 1.05 - 0.1 * (value == 1.0)) for value in GRID.get(learner, ())]
        for value, fitted_on, share in [*grid, (1.0 if grid else np.nan, "all", 1.0)]:
            about = {"learner": learner, "kind": KINDS[learner][0], "seed": seed, "lambda": value}
            about |= {"fitted_on": fitted_on, "chosen": fitted_on == "all", "epsilon": epsilon}
            yield about, share * (1 + NOISE[seed] * (learner != "uniform"))


NONE = yaml.safe_load(
    "{lower: .nan, low: .nan, high: .nan, bound: '', exact: false, refused: '', warnings: ''}"
)
DIAGNOSED = yaml.safe_load(
    """{clicks: 500.0, matched_clicks: 400.0, effective: 9000.0, largest_weight: 4.0,
    declared_weight: 4.0, unmatched: 0.0, mean_weight: 1.0}"""
)


@pytest.fixture(scope="module")
def classified():
    alike = NONE | dict.fromkeys(DIAGNOSED, np.nan) | {"estimator": "full-information"}
    alike |= {"rows": 500, "ads": 10, "untrained": 1, "train_rows": 1200, "train_clicks": 120.0}
    rows = []
    for experiment, stream in product(("plain", "under"), ("digits", "letter")):
        where = {"experiment": experiment, "stream": stream, "source": "classification"}
        for about, share in policies(0.0, KINDS):
            ctr = share * KINDS[about["learner"]][1] * (1.0 if stream == "digits" else 0.8)
            ctr += 0.1 * (experiment == "under")
            rows.append(about | where | alike | {"estimate": ctr})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def campaign():
    """Two campaigns; what the test log shows is 5 % above the truth."""
    alike = NONE | DIAGNOSED | {"experiment": "campaigns", "source": "campaign", "ads": 5}
    alike |= {"untrained": 0, "train_rows": 10_000, "rows": 10_000}
    rows = []
    for (stream, scale), epsilon in product((("bank", 1.0), ("bank-low", 0.3)), (0.0, 0.2)):
        for about, share in policies(epsilon, KINDS):
            true = scale * share * KINDS[about["learner"]][2] * (1 - 0.5 * epsilon)
            about |= alike | {"stream": stream, "train_clicks": scale * 36.0}
            ends = {"low": 0.99 * true, "high": 1.01 * true}
            rows.append(about | {"estimator": "true", "estimate": true} | ends)
            warnings = "few-clicks mean-weight" if about["seed"] == 2 else ""
            about |= {"estimator": "ips", "estimate": 1.05 * true, "warnings": warnings}
            for bound, (exact, lower) in BOUNDS.items():
                ends = {"lower": lower, "low": 0.96, "high": 1.2}
                ends = {name: 1.05 * true * end for name, end in ends.items()}
                rows.append(about | ends | {"bound": bound, "exact": exact})
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
    counts = ads.ctrs(campaign).groupby("learner")["epsilon"].nunique().to_dict()
    assert counts == dict.fromkeys(KINDS, 2) | {"uniform": 0}


# --- tables
def test_the_table_of_ads(classified):
    table = by(ads.ads_table(classified, DETAILS), "experiment", "stream", "learner")
    assert len(table) == 2 * 2 * len(KINDS)
    one = table.loc[("plain", "letter", "ranker")]
    own, forest = 0.8 * 0.75 * (1 + NOISE), 0.8 * 0.70 * (1 + NOISE)
    assert entries(one, "ctr ctr_low ctr_high") == interval(own)
    mean, low, high = interval(own - forest).expected
    assert entries(one, "difference_low difference_high") == pytest.approx((low, high))
    gains = 100 * np.array([mean, low, high]) / forest.mean()
    assert entries(one, "gain gain_low gain_high") == pytest.approx(tuple(gains))
    assert one["best_on_test"] == pytest.approx(1.05 * own.mean())
    assert entries(one, "lambda lambda_seeds pairs ok n") == (1.0, 3, 3, 3, 3)
    assert entries(one, "of tuning") == ("full-information", "held-out")
    assert entries(one, "untrained ads train_clicks") == (1, 10, 120)
    forest = table.loc[("plain", "letter", "forest")]
    assert np.isnan(forest["difference"]) and np.isnan(forest["lambda"])
    assert forest["best_on_test"] == forest["ctr"]


def test_gains_are_at_the_same_epsilon(campaign):
    table = ads.ads_table(campaign, DETAILS)
    ranker = table[table["learner"] == "ranker"]
    assert len(ranker) == 4 and np.allclose(ranker["gain"], 100 * (0.0046 / 0.0042 - 1))
    uniform = table[table["learner"] == "uniform"]
    assert len(uniform) == 2 and uniform["gain"].isna().all()  # two forests to compare with
    greedy = ads.ads_table(campaign[campaign["epsilon"] == 0], DETAILS)
    gains = greedy.loc[greedy["learner"] == "uniform", "gain"]
    wanted = 100 * (0.0030 / (0.0042 * (1 + NOISE)).mean() - 1)
    assert len(gains) == 2 and np.allclose(gains, wanted)


def test_the_best_on_the_test_is_chosen_by_what_the_test_shows(campaign):
    """Per seed; and the true CTR of that choice is reported, not the one that it seemed to have."""
    frame, liked = campaign.copy(), (campaign["lambda"] == 1.0) & (campaign["fitted_on"] == "part")
    frame.loc[liked & (frame["estimator"] == "ips") & (frame["seed"] == 1), "estimate"] *= 2
    best = ads.best_on_test(ads.ctrs(frame)).sort_values("seed")
    ranker = best.query("learner == 'ranker' and stream == 'bank' and epsilon == 0")
    assert ranker["lambda"].tolist() == [0.1, 1.0, 0.1]
    np.testing.assert_allclose(ranker["ctr"], 0.0046 * (1 + NOISE) * [1.05, 0.95, 1.05])


def test_refused_seeds_have_no_ctr_and_are_counted(campaign):
    frame = logged(campaign)
    out = (frame["seed"] == 1) & (frame["learner"] == "ranker")
    frame.loc[out, ["estimate", "lower", "low", "high"]] = np.nan
    frame.loc[out, "refused"] = "small-sample"
    table = by(ads.ads_table(frame, DETAILS), "stream", "learner", "epsilon")
    assert entries(table.loc[("bank", "ranker", 0.2)], "ok n pairs") == (2, 3, 2)
    shown = ads.weighted(frame, DETAILS)
    assert shown.loc[shown["learner"] == "ranker", "n"].tolist() == [2] * 4
    with pytest.raises(SettingError, match="no policy of this figure"):
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
    paths = [tmp_path / "train.parquet", tmp_path / "test.parquet"]
    logs.write(log(20, 5), paths[0], about | {"part": "train"})
    logs.write(log(9, 5), paths[1], about | {"part": "test"})
    (row,) = ads.table_5_1(paths).to_dict("records")
    assert entries(row, "size features classes positive") == (29, 3, 5, 20)
    # 4 clicks, 4 rows an ad
    assert row["positive_drawn"] == pytest.approx(20.0) and row["without_click"] == 1
    assert entries(row, "thesis_size thesis_features thesis_positive") == (360, 91, 7)
    logs.write(log(20, 5), paths[0], about | {"part": "train", "dataset": "other"})
    assert ads.table_5_1(paths[:1])["thesis_size"].isna().all()


def test_table_5_2(tmp_path):
    hotel = yaml.safe_load(
        """{log: small-hotel, source: campaign, campaign: hotel, seed: 0, expected:
        {impressions: [3.5, 4, 4, 4, 4.5], rates: [0.081, 0.082, 0.078, 0.077, 0.055]}}"""
    )
    paths = [tmp_path / name for name in ("train", "test", "own")]
    for path in paths[:2]:
        logs.write(log(20, 5), path, hotel | {"part": path.name})
    logs.write(log(4, 3), paths[2], {"dataset": "own", "part": "bts"})
    table = ads.table_5_2(paths)
    assert table["log"].tolist() == ["small-hotel"] * 10 + ["own"] * 3
    assert table["impressions"].sum() == 44
    first = table.iloc[0]
    assert entries(first, "ad impressions clicks percent") == ("0", 4, 1, 25)
    expected = entries(first, "expected_impressions expected_percent")
    assert expected == pytest.approx((3.5, 8.1))
    assert entries(first, "thesis_impressions thesis_percent") == (36164, 8.1)
    assert table.iloc[5:].filter(regex="expected|thesis").isna().all(axis=None)


# --- figures
def test_points_of_figure_5_1(classified):
    frame = ads.deterministic(classified, DETAILS)
    assert len(frame) == 2 * 2 * len(KINDS) and set(frame["n"]) == {3}
    one = by(frame, "experiment", "stream", "learner").loc[("under", "digits", "forest")]
    values = 0.7 * (1 + NOISE) + 0.1
    assert one["mean"] == pytest.approx(values.mean()) and one["panel"] == "Digits"
    _, axis = drawing_ads.deterministic(frame).axes
    assert axis.get_title(loc="left") == "reading under"
    heights = {round(y, 9) for line in axis.lines for y in np.ravel(line.get_ydata())}
    assert heights >= set((100 * frame.loc[frame["experiment"] == "under", "mean"]).round(9))
    with pytest.raises(SettingError, match="no policy of this figure"):
        ads.deterministic(classified.assign(epsilon=0.2, kind="forest"), DETAILS)


def test_points_of_figure_5_2(campaign):
    def legend(figure):
        return [text.get_text() for text in figure.legends[0].texts]

    frame = ads.weighted(campaign, DETAILS)
    assert frame["label"].iloc[:2].tolist() == ["Logistic, ε = 0", "Forest, ε = 0"]
    assert "Uniform" in set(frame["label"])
    np.testing.assert_allclose(frame["lower"], 0.8 * frame["mean"])
    np.testing.assert_allclose(frame["exact_lower"], 0.7 * frame["mean"])
    np.testing.assert_allclose(frame["true"], frame["mean"] / 1.05)
    figure = drawing_ads.weighted(frame)
    for axis, (_, panel) in zip(figure.axes, split(frame), strict=True):
        drawn = {round(float(y), 9) for line in axis.lines for y in np.ravel(line.get_ydata())}
        for name in ("mean", "lower", "exact_lower", "true"):
            assert drawn >= set((100 * panel[name]).round(9))
        assert [tick.get_text() for tick in axis.get_xticklabels()] == panel["label"].tolist()
    assert "true CTR" in legend(figure) and "95 %" in figure.legends[0].get_title().get_text()
    shown = ads.weighted(logged(campaign), DETAILS)
    assert shown["true"].isna().all() and "true CTR" not in legend(drawing_ads.weighted(shown))


def test_ctr_by_click_rate_is_relative_to_the_uniform_policy(campaign):
    frame = ads.by_rate(campaign[campaign["epsilon"] == 0.0], DETAILS)
    assert sorted(frame["rate"].unique()) == pytest.approx([0.00108, 0.0036])
    uniform = frame[frame["learner"] == "uniform"]
    np.testing.assert_allclose(uniform[["mean", "low", "high"]], 1.0)
    ranker = frame[frame["learner"] == "ranker"]
    np.testing.assert_allclose(ranker["mean"], 0.0046 / 0.0030 * (1 + NOISE).mean())
    figure = drawing_ads.by_rate(frame)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["0.11", "0.36"]


# --- coverage
@pytest.fixture(scope="module")
def covered():
    settings = coverage.settings((500, 2_000), drifts=("falling",))
    return pd.DataFrame(coverage.coverage(settings, 20, np.random.default_rng(0), replicates=50))


def test_a_cell_of_coverage_has_the_least_share_of_its_campaign_and_colour_if_it_is_too_small(
    covered,
):
    frame = ads.coverage(covered)
    axes = drawing_ads.coverage(frame).axes
    for axis, side in zip(axes, ("lower", "two-sided"), strict=False):
        least = frame[frame["side"] == side].groupby(["bound", "campaign"])["coverage"].min()
        texts = sorted(text.get_text() for text in axis.texts)
        assert texts == sorted(f"{100 * share:.0f}" for share in least)
        (image,) = axis.images
        coloured = np.ma.count(image.get_array())
        too_small = frame[(frame["side"] == side) & (frame["coverage_high"] < frame["level"])]
        assert coloured == len(too_small.groupby(["bound", "campaign"]))

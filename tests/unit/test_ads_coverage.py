"""The coverage study: its campaigns, its counts in place of rows, and what it finds."""

import numpy as np
import pytest
from scipy import optimize, special, stats
from toys import SHOWN

from scant.ads import coverage as study
from scant.ads.coverage import Setting, coverage, setting, settings
from scant.bandits import likelihood
from scant.bandits.evaluation import evaluate
from scant.present import making, traces

EXACT = {"hoeffding", "empirical-bernstein", "clopper-pearson", "betting", "betting-sequence"}
EXACT |= {"betting, no range"}


def found(one, repeats=400, seed=0, **options):
    rows = coverage([one], repeats, np.random.default_rng(seed), replicates=200, **options)
    return {(row["bound"], row["side"]): row for row in rows}


@pytest.mark.parametrize(
    "one", settings((1000,), ())[:-2], ids=lambda one: f"{one.campaign}-{one.policy}"
)
def test_campaigns_carry_the_click_rates(one):
    share, weight, click = map(np.array, (one.share, one.weight, one.click))
    name = one.campaign.split(",")[0]
    mean = np.mean(study.RATES[name])
    assert share.sum() == pytest.approx(1)
    assert share @ weight == pytest.approx(1)  # every ad can be logged
    assert click @ [1, 1, 3] / 5 == pytest.approx(mean)  # of ads shown at random
    assert click[0] == pytest.approx(study.LIFT * mean)
    epsilon = study.POLICIES[one.policy]
    assert one.truth == pytest.approx((1 - epsilon) * click[0] + epsilon * click[1])


def test_the_rates_are_those_of_table_5_2():
    assert np.mean(study.RATES["hotel"]) == pytest.approx(0.0746)
    assert np.mean(study.RATES["bank"]) == pytest.approx(0.00310)


@pytest.mark.parametrize(
    "one", settings((1500,), ())[:-2], ids=lambda one: f"{one.campaign}-{one.policy}"
)
def test_counts_give_what_rows_give(one):
    one = Setting(**{**vars(one), "click": (0.3, 0.2, 0.2)})
    clicks, shows = study._draw(one, 3, np.random.default_rng(1))
    assert shows.sum(axis=(1, 2)).tolist() == [1500] * 3 and np.all(clicks <= shows)
    ends = study._ends(one, clicks, shows, np.random.default_rng(2), 0.9, 50)
    weight, largest = np.array(one.weight), max(one.weight)
    for i in range(3):
        parts = []
        for clicked, shown in zip(clicks[i], shows[i], strict=True):
            for w, k, n in zip(weight, clicked, shown, strict=True):
                parts.append(np.column_stack([np.arange(n) < k, np.full(n, w)]))
        reward, w = np.concatenate(parts).astype(float).T
        rows = evaluate(
            reward, np.full(1500, 1 / largest), w / largest, largest, 0.9, weights=one.weight
        ).rows()
        if np.isnan(rows[0]["estimate"]):  # refused: too few rows match
            continue
        for row in rows:
            name = "snips, delta" if row["estimator"] == "snips" else row["bound"]
            expected = [row[key] for key in ("estimate", "lower", "low", "high")]
            assert [part[i] for part in ends[name]] == pytest.approx(
                expected, rel=1e-6, abs=1e-12
            ), name
        assert ends["snips, frozen"][0][i] == ends["snips, delta"][0][i]
        seen = ends["empirical-bernstein, largest seen"][3][i]
        assert seen <= ends["empirical-bernstein"][3][i] * (1 + 1e-6)


def test_what_holds_and_what_does_not():
    hotel, bank = (found(setting(name, "epsilon-greedy", 2000)) for name in ("hotel", "bank"))
    rare = found(setting("hotel", "epsilon-greedy", 2000, logging="rare"))
    for rows in (hotel, bank, rare):
        for (bound, _), row in rows.items():
            assert row["coverage_high"] >= 0.95 or bound not in EXACT
    for bound in ("t", "bootstrap-bca", "bootstrap-percentile", "snips, delta"):
        assert 0.9 < hotel[bound, "two-sided"]["coverage"] < 0.98
        assert bank[bound, "two-sided"]["coverage_high"] < 0.95  # a click or two: skew
        assert rare[bound, "two-sided"]["coverage_high"] < 0.6
    assert rare["empirical-bernstein, largest seen", "two-sided"]["coverage_high"] < 0.8
    width = {name: hotel[name, "lower"]["width_mean"] for name in EXACT}
    assert width["betting"] < width["empirical-bernstein"]


def test_a_frozen_normaliser_covers_less_where_large_weights_have_few_clicks():
    one = study.contrary(2000)
    assert np.dot(one.share, one.weight) == pytest.approx(1)
    rows = found(one)
    assert rows["snips, frozen", "two-sided"]["coverage_high"] < 0.8
    assert rows["snips, delta", "two-sided"]["coverage"] > 0.9


@pytest.mark.parametrize("drift", study.DRIFTS)
def test_a_drift_leaves_the_average_rate(drift):
    one = study.drifting(4000, drift)
    assert np.mean(one.drift) == pytest.approx(1)
    clicks, shows = study._draw(one, 300, np.random.default_rng(4))
    assert shows.sum(axis=(1, 2)).tolist() == [4000] * 300
    value = (clicks @ np.array(one.weight)).sum(axis=1) / 4000
    assert value.mean() == pytest.approx(one.truth, abs=4 * value.std() / 300**0.5)
    rate = clicks[:, -1].sum() / shows[:, -1].sum()  # in the last stage, half of the log
    half = [factor for part, factor in enumerate(one.drift) if part >= len(one.drift) / 2]
    assert rate == pytest.approx(np.dot(one.share, one.click) * np.mean(half), rel=0.1)


def test_shuffled_counts_are_those_of_shuffled_rows():
    """Rows of a log with all its clicks in its first stage: hypergeometric, stage by stage."""
    count = np.zeros((4000, 4, 2), np.int64)
    count[:, :, 0], count[:, 0, 1] = [28, 128, 256, 100], 100
    moved = study._shuffled(count, np.random.default_rng(5))
    np.testing.assert_array_equal(moved.sum(axis=2), count.sum(axis=2))
    np.testing.assert_array_equal(moved.sum(axis=1), count.sum(axis=1))
    sizes, n = count[0].sum(axis=1), count[0].sum()
    np.testing.assert_allclose(moved[:, :, 1].mean(axis=0), 100 * sizes / n, rtol=0.03)
    spread = 100 * sizes / n * (1 - sizes / n) * (n - 100) / (n - 1)
    np.testing.assert_allclose(moved[:, :, 1].var(axis=0), spread, rtol=0.1)


def test_rows_say_how_sure_they_are():
    one = setting("hotel", "deterministic", 2000)
    row = found(one, 50, level=0.9)["t", "lower"]
    said = {"campaign": "hotel", "policy": "deterministic", "rows": 2000, "repeats": 50}
    assert row == row | said | {"level": 0.9}
    assert row["coverage"] == row["covered"] / 50 and row["true"] == one.truth
    assert row["coverage_low"] < row["coverage"] < row["coverage_high"]
    again = [coverage([one], 50, np.random.default_rng(0), 0.9, 200) for _ in range(2)]
    assert again[0] == again[1] and len(again[0]) == 2 * 13


def test_its_file_is_read_for_the_table_and_the_figure(tmp_path):
    study.run(
        {"rows": [400], "repeats": 3, "drifts": ["falling"]}, tmp_path / "coverage.parquet", 1
    )
    rows = traces.read_coverage(tmp_path / "coverage.parquet")
    frame = making.frame_of(SHOWN["figure-coverage"], rows)
    assert len(frame) and (frame["repeats"] == 3).all()


def test_deficient_support_lowers_what_a_log_shows():
    """The log's own mean is below the policy's: lower bounds hold, upper ends fail."""
    one = study.deficient(20_000)
    share, weight = map(np.array, (one.share, one.weight))
    assert share.sum() == pytest.approx(1) and share @ weight == pytest.approx(0.8)
    assert one.truth == pytest.approx(setting("hotel", "deterministic", 1).truth)
    rows = found(one)
    for bound in EXACT:
        assert rows[bound, "lower"]["coverage"] == 1
    assert rows["clopper-pearson", "two-sided"]["coverage_high"] < 0.5


def likelihood_ratio(clicks, rows, level):
    """The shares of clicks with a binomial likelihood of the largest one's exp(-chi^2 / 2)."""

    def above(share):
        likely = special.xlogy(clicks, share) + special.xlogy(rows - clicks, 1 - share)
        return likely - most + stats.chi2.ppf(level, 1) / 2

    best = clicks / rows
    most = special.xlogy(clicks, best) + special.xlogy(rows - clicks, 1 - best)
    return (optimize.brentq(above, 0, best) if clicks else 0.0), optimize.brentq(above, best, 1)


@pytest.mark.parametrize("cells", [(80, 6, 14), (80, 0, 20), (79, 12, 9)])
def test_empirical_likelihood_of_two_weights_is_that_of_clicks_among_the_rows_of_the_larger(cells):
    """Weights are 0 and 5, whose mean is 1: only clicks at weight 5 are random."""
    for level in (0.9, 0.95):
        pairs = np.array([0, 5, 5.0]), np.array([0, 1, 0.0]), np.array([cells])
        estimate, low, high, _ = (float(end[0]) for end in likelihood.interval(*pairs, 5.0, level))
        assert (low, high) == pytest.approx(
            likelihood_ratio(cells[1], cells[1] + cells[2], level), abs=5e-4
        )
        assert low <= estimate <= high

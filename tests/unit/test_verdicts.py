"""Verdicts on means over seeds, of one cell, of several, and of families of claims."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scant.errors import SettingError
from scant.verdict import statistics
from scant.verdict.anytime import LEAST_SEEDS, log_t_evidence
from scant.verdict.statistics import (
    Side,
    Verdict,
    agreeing_least,
    cell_verdicts,
    certain,
    claimed,
    exact,
    holm,
    matters,
    together,
)

# they are added and compared without rounding
EIGHTHS = st.integers(-800, 800).map(lambda one: one / 8)
SEEDS = st.lists(EIGHTHS, min_size=2, max_size=24).map(np.array)
NOISE = np.random.default_rng(3).standard_normal(400)


def judge(values, comparison="greater", margin=0.0, of=None, bound=math.nan, **known) -> Verdict:
    return statistics.judge(values, claimed(comparison, margin, of, bound), **known)


def made_up(p_holds: float, p_fails: float, **about) -> Verdict:
    return Verdict("undecided", 0.0, -1.0, 1.0, 20, p_holds, p_fails, "anytime t", **about)


@pytest.mark.parametrize("margin", [-0.2, 0.0, 0.4])
def test_a_mean_is_tested_by_the_evidence_in_its_t_statistic(margin):
    values = 0.3 + NOISE[:20]
    t = stats.ttest_1samp(values, margin).statistic
    verdict = judge(values, "greater", margin)
    assert verdict.test == "anytime t"
    assert verdict.p_holds == pytest.approx(min(1, math.exp(-log_t_evidence(t, 20))))
    assert verdict.p_fails == pytest.approx(min(1, math.exp(-log_t_evidence(-t, 20))))
    assert judge(values, "greater", verdict.low).p_holds == pytest.approx(0.025, rel=1e-3)
    assert judge(values, "less", verdict.high).p_holds == pytest.approx(0.025, rel=1e-3)


def test_few_seeds_and_few_different_values_decide_nothing():
    for n in range(2, LEAST_SEEDS):
        verdict = judge(0.15 + 1e-6 * NOISE[:n])
        assert verdict.verdict == "undecided" and verdict.p_holds == verdict.p_fails == 1
        assert math.isnan(verdict.low) and verdict.needed == LEAST_SEEDS
    assert judge(0.15 + 1e-6 * NOISE[:LEAST_SEEDS]).verdict == "holds"
    for alike in ([0.2] * 40, [0.1, 0.2, 0.3, 0.4] * 10, [0.3, 0.1 + 0.2] * 10):
        assert judge(alike).verdict == "undecided" and judge(alike).needed == math.inf
    assert judge([0.1, 0.2, 0.3, 0.4, 0.5] * 8).verdict == "holds"
    for few in ([0.2], [], [0.2, math.nan]):
        verdict = judge(few)
        assert (verdict.verdict, verdict.test, verdict.n) == ("undecided", "none", len(few[:1]))


def test_close_and_slope_have_ends_that_both_have_to_be_kept():
    near = 0.1 + 0.1 * NOISE[:30]
    low, high = judge(near, "greater", -0.3), judge(near, "less", 0.3)
    verdict = judge(near, "close", 0.3)
    assert verdict.verdict == "holds" and verdict.p_holds == max(low.p_holds, high.p_holds)
    outside = near + 0.27  # by a little, so that p-values are not near 0
    twice = 2 * judge(outside, "less", 0.3).p_fails
    assert 1e-4 < judge(outside, "close", 0.3).p_fails == pytest.approx(twice)
    assert judge(near, "slope", 0.05, bound=0.1).p_holds == judge(near, "less", 0.15).p_holds
    other = np.linspace(1, 4, 30)
    relative = judge(0.1 * other + 0.01 * NOISE[:30], "greater", 0.05, of=other)
    assert relative.p_holds == pytest.approx(judge(0.05 * other + 0.01 * NOISE[:30]).p_holds)


@given(SEEDS, EIGHTHS, EIGHTHS)
def test_a_claim_and_its_contrary_swap_verdicts_and_shifts_change_nothing(values, margin, shift):
    claim = judge(values, "greater", margin)
    swapped = {"holds": "fails", "fails": "holds", "undecided": "undecided"}[claim.verdict]
    for contrary in (judge(values, "less", margin), judge(-values, "greater", -margin)):
        assert contrary.verdict == swapped
        assert contrary.p_holds == pytest.approx(claim.p_fails, abs=1e-12)
        assert contrary.p_fails == pytest.approx(claim.p_holds, abs=1e-12)
        assert contrary.needed == pytest.approx(claim.needed, nan_ok=True)
    shifted = judge(values + shift, "greater", margin + shift)
    assert (shifted.verdict, shifted.inside) == (claim.verdict, claim.inside)


# --- what stands beside a verdict
def test_in_how_many_seeds_it_is_so_ties_count_against_the_claim():
    values = np.array([0.0, 0.0, *(0.2 + 0.02 * NOISE[:18])])
    verdict = judge(values)
    assert verdict.verdict == "holds" and verdict.inside == 18
    assert judge(values, "less").verdict == "fails" and judge(values, "less").inside == 0
    interval = stats.binomtest(18, 20).proportion_ci(0.95, "exact")
    assert agreeing_least(18, 20) == pytest.approx(interval.low)
    assert (agreeing_least(0, 20), round(agreeing_least(40, 40), 2)) == (0.0, 0.91)


def test_where_the_mean_and_the_typical_seed_differ_nothing_is_decided():
    """A mean that a few large values carry: t alone would decide it."""
    values = np.array([*(-0.1 - 0.001 * np.abs(NOISE[:101])), *(1 + 0.1 * NOISE[101:200])])
    verdict = judge(values)
    assert verdict.low > 0 and verdict.verdict == "undecided" and verdict.split
    assert (verdict.p_holds, verdict.p_fails, verdict.needed) == (1, 1, math.inf)
    assert judge(np.delete(values, [0, 1, 2])).verdict == "holds"  # one more than half
    assert judge(-values).split and judge(values, "less").split
    # The typical seed is within a margin that most single seeds are beyond.
    wide = judge(NOISE - NOISE.mean(), "close", 0.5)
    assert wide.verdict == "holds" and wide.inside < 200


TIPPED = [("greater", 0.1, 0.0), ("less", 0.9, 1.0), ("close", 0.9, 1.0)]


@pytest.mark.parametrize(("comparison", "margin", "far"), TIPPED)
def test_the_tipping_point_is_the_share_that_moves_the_mean_to_the_margin(comparison, margin, far):
    values = 0.5 + 0.01 * NOISE[:12]
    verdict, mean = judge(values, comparison, margin, within=(0, 1)), values.mean()
    assert (1 - verdict.tipping) * mean + verdict.tipping * far == pytest.approx(margin)
    assert verdict.missed == pytest.approx((1 - verdict.tipping) ** 12)
    assert verdict.worst == (values.min() if comparison == "greater" else values.max())
    failing = judge(values, comparison, 0.6 if comparison == "greater" else 0.3, within=(0, 1))
    assert failing.verdict == "fails" and 0 < failing.tipping < 1
    assert judge(values, "greater", -0.1, within=(0, 1)).tipping == 1  # nothing can overturn it
    assert math.isnan(judge(values).tipping) and judge(values).missed == 1


@pytest.mark.parametrize(("mean", "end", "far"), [(0.5, 0.1, -0.7), (-0.5, -0.1, 1.0)])
def test_of_two_ends_the_one_that_is_violated_most_tips(mean, end, far):
    values = mean + 0.01 * (NOISE[:12] - NOISE[:12].mean())
    failing = judge(values, "close", 0.1, within=(-0.7, 1))
    assert failing.verdict == "fails"
    assert (1 - failing.tipping) * mean + failing.tipping * far == pytest.approx(end)


# --- shares, and numbers without chance
@pytest.mark.parametrize("n", [20, 200])
def test_a_share_has_the_binomial_test_and_may_have_a_number_subtracted(n):
    def of(values, comparison="greater", margin=0.7):
        return judge(values, comparison, margin, within=(0, 1), share=True)

    values = (np.arange(n) % 20 > 0) * 1.0
    share, contrary = of(values), of(values, "less")
    other = judge(values - 0.7, "greater", within=(-0.7, 0.3), share=True)
    assert share.test == other.test == "anytime binomial"
    assert share.inside == other.inside == 0.95 * n
    assert other.p_holds == pytest.approx(share.p_holds)
    assert other.needed == pytest.approx(share.needed, nan_ok=True)
    assert (other.low, other.high) == pytest.approx((share.low - 0.7, share.high - 0.7))
    assert of(values, "greater", share.low).p_holds == pytest.approx(0.025, rel=1e-3)
    assert of(values, "less", share.high).p_holds == pytest.approx(0.025, rel=1e-3)
    assert (contrary.p_holds, contrary.p_fails) == pytest.approx((share.p_fails, share.p_holds))
    assert share.p_holds >= stats.binomtest(int(values.sum()), n, 0.7, "greater").pvalue
    for end in (1.0, 1.2):  # no share can be above these
        assert of(np.ones(80), "greater", end).p_holds == 1
    assert of(np.tile([0.0, 0.5, 1.0], 8)).test == "anytime t"


def test_equal_differences_are_certain_only_if_chance_has_no_part():
    for values in ([0.2], [0.2] * 3):
        verdict = certain(values, claimed("greater"))
        assert (verdict.verdict, verdict.test, verdict.n) == ("holds", "exact", len(values))
    assert certain([0.1 + 0.2], claimed("greater", 0.3)).verdict == "fails"
    assert certain([0.1 + 0.2], claimed("close", 0.3)).verdict == "holds"
    assert certain([0.5], claimed("slope", bound=0.5)).verdict == "holds"
    assert certain([], claimed("greater")).verdict == "undecided"
    with pytest.raises(SettingError, match="differ between seeds"):
        certain([0.2, 0.3], claimed("greater"))
    assert exact(0.3, 0.1 + 0.2).verdict == "holds"
    verdict = exact([1, 2, 3.5], [1, 2, 4], 0.4)
    assert (verdict.verdict, verdict.test) == ("fails", "exact")
    assert (verdict.estimate, verdict.n) == (-0.5, 3)
    assert exact([True, False], True).verdict == exact([1.0, math.nan], 1).verdict == "fails"


# --- how many seeds are needed
def test_the_seeds_needed_decide_with_the_power_named():
    values = 0.6 + np.array([-1.8, -1.5, -1.3, -0.8, -0.5, -0.3, 0.3, 0.5, 0.8, 1.3, 1.5, 1.8])
    verdict, random = judge(values, "close", 1.2), np.random.default_rng(7)
    spread, n = values.std(ddof=1), int(verdict.needed)
    again = [judge(random.normal(0.6, spread, n), "close", 1.2).verdict for _ in range(200)]
    assert verdict.verdict == "undecided" and 0.7 < again.count("holds") / 200 < 0.9
    n = int(judge([1.0] * 19 + [0.0], "greater", 0.8, within=(0, 1), share=True).needed)
    shares = (np.arange(n) < ones for ones in random.binomial(n, 0.95, 200))
    held = [judge(1.0 * one, "greater", 0.8, within=(0, 1), share=True).verdict for one in shares]
    assert 0.72 < held.count("holds") / 200 < 0.96


def test_the_seeds_that_cells_and_families_need():
    near, far, below = [((Side(size, 1.0, 20),),) for size in (0.5, 0.8, -0.5)]
    alone = made_up(0.1, 0.9, sides=near).needed
    assert together([made_up(0.1, 0.9, sides=one) for one in (near, near)]).needed > alone > 20
    both = [made_up(0.9, 0.1, sides=below), made_up(0.1, 0.9, sides=far)]
    assert together(both).needed == made_up(0.5, 0.5, sides=below, threshold=0.0125).needed
    family = {str(at): made_up(0.1, 0.9, sides=near) for at in range(20)}
    assert holm(family)["0"].needed > alone
    for level in (judge(NOISE - NOISE.mean()), judge(NOISE - NOISE.mean() + 1e-9)):
        assert level.needed == math.inf


# --- several cells, and families
HOLDING, FAILING, OPEN = (np.array(NOISE[:20]) + mean for mean in (3, -3, 0.1))


@pytest.mark.parametrize(
    ("cells", "verdict", "of_cells"),
    [
        ((HOLDING, HOLDING), "holds", ["holds", "holds"]),
        ((HOLDING, OPEN), "undecided", ["holds", "undecided"]),
        ((HOLDING, OPEN, FAILING), "fails", ["holds", "undecided", "fails"]),
    ],
)
def test_a_claim_about_several_cells(cells, verdict, of_cells):
    single = [judge(cell) for cell in cells]
    every = together(single)
    assert every.verdict == verdict and cell_verdicts(every, single) == of_cells
    assert every.p_holds == max(one.p_holds for one in single)
    assert every.p_fails == min(1, len(single) * min(one.p_fails for one in single))


def test_cells_are_corrected_for_their_number_and_for_the_family():
    cells = [made_up(0.02, 1.0), made_up(1.0, 1e-6), made_up(0.001, 1.0)]
    every = together(cells)
    assert cell_verdicts(every, cells) == ["undecided", "fails", "holds"]  # 0.02 > 0.025 / 3
    family = holm({"one": every, **{str(at): made_up(0.5, 0.5) for at in range(9)}})["one"]
    # 0.001 > 0.05 / 19 / 3
    assert cell_verdicts(family, cells) == ["undecided", "fails", "undecided"]
    # holds in all, at a level that none has alone after correction
    held = together([made_up(0.02, 1.0)] * 3)
    assert cell_verdicts(held, [made_up(0.02, 1.0)] * 3) == ["holds"] * 3
    assert cell_verdicts(held, [made_up(0.02, 1.0)] * 3, of_mean=True) == ["undecided"] * 3


def test_what_would_overturn_all_cells_is_what_overturns_any():
    holding = [made_up(0.01, 1.0, missed=missed) for missed in (0.02, 0.3)]
    assert together(holding).missed == 0.3
    assert together([*holding, made_up(1.0, 0.001, missed=0.04)]).missed == 0.04


def test_cells_without_chance_decide_by_themselves_and_count_for_nothing():
    chance, sure, broken = judge(HOLDING), exact(1, 1), exact(1, 2)
    both = together([chance, sure])
    assert (both.p_holds, both.p_fails) == (chance.p_holds, chance.p_fails)
    assert together([chance, broken]).verdict == "fails" == together([sure, broken]).verdict
    assert together([sure, sure]).test == "exact"


def test_holm_by_hand():
    family = {"a": made_up(0.004, 0.996), "b": made_up(0.3, 0.7), "c": made_up(0.985, 0.015)}
    family["d"] = exact(1, 1)
    one = holm(family)
    # Six tests: 6 x 0.004, 5 x 0.015, 4 x 0.3, and 1 for the rest.
    assert [one[key].p_holds for key in "abc"] == pytest.approx([0.024, 1, 1])
    assert [one[key].p_fails for key in "abc"] == pytest.approx([1, 1, 0.075])
    assert [one[key].verdict for key in "abcd"] == ["holds", "undecided", "undecided", "holds"]
    assert one["b"].threshold == pytest.approx(0.05 / 5) and one["d"] == family["d"]
    alone = holm({"c": family["c"]})["c"]
    assert alone.verdict == "fails" and alone.p_fails == pytest.approx(0.03)
    close = holm({"a": made_up(0.0011, 1.0), "b": made_up(0.001, 1.0)})
    assert [one.p_holds for one in close.values()] == pytest.approx([0.004, 0.004])


@given(st.lists(SEEDS, min_size=1, max_size=5))
def test_holm_takes_back_verdicts_and_gives_none(families):
    family = {str(at): judge(one) for at, one in enumerate(families)}
    found, backwards = holm(family), holm(dict(reversed(family.items())))
    for key, one in family.items():
        assert found[key].p_holds >= one.p_holds and found[key].p_fails >= one.p_fails
        assert found[key].verdict in (one.verdict, "undecided")
        assert len(family) > 1 or found[key].verdict == one.verdict
        assert backwards[key].verdict == found[key].verdict


def test_the_reading_that_matters_most():
    a, b = np.repeat(["x", "y"], 2), np.tile([10, 100], 2)
    found = matters([1, 2, 4, 5], {"b": b, "a": a})
    assert found == pytest.approx({"a": 0.9, "b": 0.1}) and list(found) == ["a", "b"]
    # they only act together
    assert matters([0, 1, 1, 0], {"a": a, "b": b}) == pytest.approx({"a": 0, "b": 0})
    unbalanced = {"a": [None, None, None, "code", "text"], "one": [0] * 5}  # 3 x 1 + 9 = 12 of 14
    assert matters([0, 1, 2, 5, math.nan], unbalanced) == pytest.approx({"a": 12 / 14, "one": 0})
    assert matters([3, 3, 3, 3], {"a": a}) == matters([math.nan] * 4, {"a": a}) == {"a": 0}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: judge([[1, 2]]), "shape"),
        (lambda: judge([1, math.inf]), "not finite"),
        (lambda: judge([0.5, 1.1], within=(0, 1)), "its range as declared"),
        (lambda: exact([], 1), "exact claim"),
        (lambda: together([]), "has none"),
    ],
)
def test_errors_name_the_reason(call, reason):
    with pytest.raises(SettingError, match=reason):
        call()

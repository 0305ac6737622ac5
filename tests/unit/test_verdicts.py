import importlib.util
import itertools
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scant.errors import SettingError
from scant.verdict import statistics as verdicts
from scant.verdict.statistics import Effect, Verdict, exact, holm, matters, shares, sign_flips, together

judge = partial(verdicts.judge, testing="fixed")
over = partial(verdicts.over, testing="fixed")

# Eighths are added and compared without rounding.
EIGHTHS = st.integers(-800, 800).map(lambda one: one / 8)
SEEDS = st.lists(EIGHTHS, min_size=2, max_size=12).map(np.array)


def _tested(p_holds: float, p_fails: float, **about) -> Verdict:
    return Verdict("undecided", 0.0, -1.0, 1.0, 10, p_holds, p_fails, "t", testing="fixed", **about)


def _draw(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.3, 1, n)


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("margin", [-0.2, 0.0, 0.4])
def test_t_tests_agree_with_scipy(n, margin):
    one, other = _draw(1, n), _draw(2, n)
    verdict = judge(one - other, "greater", margin)
    assert verdict.test == "t"
    assert verdict.p_holds == pytest.approx(stats.ttest_1samp(one - other, margin, alternative="greater").pvalue)
    assert verdict.p_fails == pytest.approx(stats.ttest_1samp(one - other, margin, alternative="less").pvalue)
    paired = stats.ttest_rel(one, other)
    assert judge(one - other, "less").p_holds == pytest.approx(stats.ttest_rel(one, other, alternative="less").pvalue)
    assert (verdict.low, verdict.high) == pytest.approx(tuple(paired.confidence_interval(0.95)))
    assert verdict.estimate == pytest.approx(np.mean(one - other))


@given(SEEDS)
def test_sign_flips_count_every_assignment_of_signs(differences):
    signs = np.array(list(itertools.product([1, -1], repeat=len(differences))))
    assert sign_flips(differences) == np.mean(signs @ differences >= differences.sum())


def test_sums_of_flipped_signs_may_be_equal_but_for_rounding():
    assert 0.1 + 0.2 - 0.3 > 0 > -0.1 - 0.2 + 0.3
    assert sign_flips([0.1, 0.2, -0.3]) == 5 / 8


def test_the_test_goes_by_the_number_of_seeds():
    few, many = _draw(4, 7), _draw(4, 8)
    assert (judge(few, "greater").test, judge(few, "greater").p_holds) == ("sign flips", sign_flips(few))
    assert judge(many, "greater").test == "t"  # whose p-value is SciPy's: above


def test_a_verdict_splits_its_error_between_both_directions():
    # Means of 0 and a spread of 1, of 8 seeds: the t interval of 95 % is 0.8360 wide to either side.
    differences = np.tile([1.0, -1.0], 4) * math.sqrt(7 / 8)
    half = stats.t.ppf(0.975, 7) / math.sqrt(8)
    for shift, expected in ((half + 1e-6, "holds"), (half - 1e-6, "undecided"), (-half - 1e-6, "fails")):
        verdict = judge(differences + shift, "greater")
        assert verdict.verdict == expected
        assert (verdict.low > 0) == (expected == "holds")
    assert judge(differences + 1.01 * half, "greater", level=0.99).verdict == "undecided"
    # Five seeds cannot decide, six can.
    assert judge([0.3, 0.1, 0.2, 0.5, 0.4], "greater").verdict == "undecided"
    assert judge([0.3, 0.1, 0.2, 0.5, 0.4, 0.6], "greater").verdict == "holds"
    assert judge([0.3, 0.1, 0.2, 0.5, 0.4], "greater", level=1 - 2 / 2**5).verdict == "holds"  # p is at most the error


def test_close_is_two_one_sided_tests():
    # Mean 0.1, standard error 0.2 / sqrt(7): t is sqrt(7) at a margin of 0.3, and 2 sqrt(7) at -0.3, with 7 degrees.
    differences = 0.1 + np.tile([0.2, -0.2], 4)
    verdict = judge(differences, "close", 0.3)
    assert verdict.verdict == "holds"
    assert verdict.p_holds == pytest.approx(0.01657, abs=1e-5)
    assert verdict.p_fails == 1
    assert judge(differences, "close", 0.25).verdict == "undecided"  # t = 1.98 < 2.36
    # Outside, each end has its chance: t = 2 sqrt(7), doubled.
    verdict = judge(differences + 0.6, "close", 0.3)
    assert verdict.verdict == "fails"
    assert verdict.p_fails == pytest.approx(2 * stats.t.sf(2 * math.sqrt(7), 7))
    assert judge(-differences - 0.6, "close", 0.3).p_fails == pytest.approx(verdict.p_fails)


def test_a_slope_is_at_most_its_bound_and_the_margin():
    slopes = 0.5 + np.tile([0.02, -0.02], 5)
    assert judge(slopes, "slope", bound=2 / 3).verdict == "holds"
    assert judge(slopes, "slope", bound=0.5).verdict == "undecided"
    assert judge(slopes, "slope", 0.05, bound=0.5).verdict == "holds"
    assert judge(slopes, "slope", bound=0.4).verdict == "fails"


def test_a_margin_may_be_a_share_of_another_quantity():
    other = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0])
    gain = 0.1 * other + _draw(5, 8) / 100
    verdict = judge(gain, "greater", 0.05, of=other)
    assert verdict.p_holds == pytest.approx(judge(gain - 0.05 * other, "greater").p_holds)
    assert verdict.estimate == pytest.approx(gain.mean())
    assert judge(gain, "close", 0.2, of=other).verdict == "holds"
    assert judge(gain, "close", 0.05, of=other).verdict == "fails"


@given(SEEDS, EIGHTHS, EIGHTHS)
def test_shifting_differences_and_margin_changes_nothing(differences, margin, shift):
    one, other = judge(differences, "greater", margin), judge(differences + shift, "greater", margin + shift)
    assert one.verdict == other.verdict
    assert (one.p_holds, one.p_fails) == pytest.approx((other.p_holds, other.p_fails), abs=1e-9)


@given(SEEDS, EIGHTHS)
def test_a_claim_and_its_contrary_swap_verdicts(differences, margin):
    swapped = {"holds": "fails", "fails": "holds", "undecided": "undecided"}
    claim = judge(differences, "greater", margin)
    for contrary in (judge(differences, "less", margin), judge(-differences, "greater", -margin)):
        assert contrary.verdict == swapped[claim.verdict]
        assert (contrary.p_holds, contrary.p_fails) == pytest.approx((claim.p_fails, claim.p_holds), abs=1e-12)
        assert contrary.needed == pytest.approx(claim.needed, nan_ok=True)


@given(SEEDS, st.integers(1, 80).map(lambda one: one / 8))
def test_closeness_knows_no_sign_and_grows_with_the_margin(differences, margin):
    one, other = judge(differences, "close", margin), judge(-differences, "close", margin)
    assert (one.p_holds, one.p_fails) == pytest.approx((other.p_holds, other.p_fails), abs=1e-12)
    wider = judge(differences, "close", 2 * margin)
    assert wider.p_holds <= one.p_holds + 1e-12
    assert wider.p_fails >= one.p_fails - 1e-12


def test_equal_differences_are_certain_only_if_chance_has_no_part():
    assert judge([0.2] * 3, "greater").verdict == "undecided"
    assert judge([0.2] * 3, "greater").p_holds == 1 / 8
    assert judge([0.2] * 3, "greater").needed == 6  # 2^-6 < 0.025 < 2^-5
    assert judge([0.2] * 20, "greater").p_holds == 2**-20
    assert judge([0.0] * 40, "greater").p_holds == 1
    for one in ([0.2], [0.2] * 3):
        verdict = judge(one, "greater", exact=True)
        assert (verdict.verdict, verdict.test, verdict.n) == ("holds", "exact", len(one))
        assert (verdict.p_holds, verdict.p_fails) == (0, 1)
        assert (verdict.low, verdict.high) == (verdict.estimate, verdict.estimate)
        assert math.isnan(verdict.needed)
    assert judge([0.2], "greater", 0.2, exact=True).verdict == "fails"
    assert judge([0.1 + 0.2], "greater", 0.3, exact=True).verdict == "fails"
    assert judge([0.1 + 0.2], "close", 0.3, exact=True).verdict == "holds"
    assert judge([0.5], "slope", exact=True, bound=0.5).verdict == "holds"
    with pytest.raises(SettingError, match="differ between seeds"):
        judge([0.2, 0.3], "greater", exact=True)


def test_one_seed_or_none_decides_nothing():
    for differences in ([0.2], [], [0.2, math.nan]):
        verdict = judge(differences, "greater")
        assert (verdict.verdict, verdict.test) == ("undecided", "none")
        assert (verdict.p_holds, verdict.p_fails, verdict.n) == (1, 1, len(differences[:1]))
        assert math.isnan(verdict.needed)


def test_failed_runs_are_left_out():
    differences = _draw(6, 9)
    assert judge([*differences, math.nan], "greater") == judge(differences, "greater")


# Of a two-sided t test of one sample at 5 % with power 0.8: tables in Cohen, 1988, and G*Power.
@pytest.mark.parametrize("effect, seeds", [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_seeds_needed_are_those_of_the_power_tables(effect, seeds):
    for sign in (1, -1):
        assert _tested(0.5, 0.5, effects=((Effect(sign * effect),),)).needed == seeds


def test_the_seeds_needed_grow_with_the_family_and_reach_what_sign_flips_can_show():
    differences = [0.9, 1.0, 1.1, 1.0, 0.8]
    alone = judge(differences, "greater")
    assert alone.needed == 6  # 2^-6 < 0.025 < 2^-5
    family = holm({"family": {str(at): alone for at in range(20)}})["family"]["0"]
    assert family.needed == 8  # from where on t is the test
    one_below = judge([1.0] * 5 + [-0.01], "greater")  # t would decide it, the flips of six signs do not: one more
    assert (one_below.p_holds, one_below.verdict, one_below.needed) == (2 / 2**6, "undecided", 7)
    middling = judge(_draw(8, 10), "greater", 0.2)
    grown = holm({"family": {str(at): middling for at in range(20)}})["family"]["0"]
    assert grown.needed > middling.needed > 10


@pytest.mark.parametrize(("ones", "end"), [(16, 0.9), (12, 0.7), (4, 0.3)])
def test_the_seeds_needed_to_refute_a_share_are_those_of_the_binomial_test(ones, end):
    """To refute that a share is above an end is to show that its complement is above the end's complement."""
    values, share = np.repeat([1.0, 0.0], [ones, 20 - ones]), 1 - ones / 20
    for testing in ("fixed", "anytime"):
        refuted = judge(values, "greater", end, within=(0, 1), testing=testing, level=0.999999)
        shown = judge(1 - values, "greater", 1 - end, within=(0, 1), testing=testing, level=0.999999)
        assert refuted.needed == shown.needed > 20
    needed = int(judge(values, "greater", end, within=(0, 1), testing="fixed", level=0.999999).needed)
    for n, enough in ((needed - 1, False), (needed, True)):
        fewest = next(c for c in range(n + 2) if stats.binom.sf(c - 1, n, 1 - end) <= 5e-7)
        assert (stats.binom.sf(fewest - 1, n, share) >= 0.8) == enough


def test_no_number_of_seeds_decides_on_the_margin():
    differences = np.tile([1.0, -1.0], 5)
    assert judge(differences, "greater").needed == math.inf
    assert judge(differences + 1, "close", 1.0).needed == math.inf
    assert judge(differences + 1e-9, "greater").needed == math.inf


def test_holm_by_hand():
    family = {"a": _tested(0.004, 0.996), "b": _tested(0.3, 0.7), "c": _tested(0.985, 0.015), "d": exact(1, 1)}
    found = holm({"one": family, "alone": {"c": family["c"]}})
    one = found["one"]
    # Six tests: 6 x 0.004, 5 x 0.015, 4 x 0.3, and 1 for the rest.
    assert [one[key].p_holds for key in "abc"] == pytest.approx([0.024, 1, 1])
    assert [one[key].p_fails for key in "abc"] == pytest.approx([1, 1, 0.075])
    assert [one[key].verdict for key in "abcd"] == ["holds", "undecided", "undecided", "holds"]
    assert one["b"].threshold == pytest.approx(0.05 / 5)
    assert one["d"] == family["d"]
    assert found["alone"]["c"].verdict == "fails"
    assert found["alone"]["c"].p_fails == pytest.approx(0.03)
    # No p-value is adjusted to less than that of a smaller one.
    close = holm({"": {"a": _tested(0.0011, 1.0), "b": _tested(0.001, 1.0)}})[""]
    assert [one.p_holds for one in close.values()] == pytest.approx([0.004, 0.004])


@given(st.lists(SEEDS, min_size=1, max_size=5))
def test_holm_takes_back_verdicts_and_gives_none(families):
    family = {str(at): judge(one, "greater") for at, one in enumerate(families)}
    found = holm({"": family})[""]
    assert list(found) == list(family)
    for key, one in family.items():
        assert found[key].p_holds >= one.p_holds
        assert found[key].p_fails >= one.p_fails
        assert found[key].verdict in (one.verdict, "undecided")
        if len(family) == 1:
            assert found[key].verdict == one.verdict
    backwards = holm({"": dict(reversed(family.items()))})[""]
    assert {key: one.verdict for key, one in backwards.items()} == {key: one.verdict for key, one in found.items()}


def test_numbers_without_chance():
    assert exact(0.3, 0.1 + 0.2).verdict == "holds"
    verdict = exact([1, 2, 3.5], [1, 2, 4], 0.4)
    assert (verdict.verdict, verdict.estimate, verdict.n, verdict.test) == ("fails", -0.5, 3, "exact")
    assert exact([1, 2, 3.5], [1, 2, 4], 0.5).verdict == "holds"
    assert exact([True, False], True).verdict == "fails"
    assert exact([1.0, math.nan], 1).verdict == "fails"
    assert exact([1.0, math.inf], 1, 10).verdict == "fails"


HOLDING, FAILING, OPEN = (np.tile([1.0, -1.0], 5) + mean for mean in (3, -3, 0.1))


@pytest.mark.parametrize(
    "cells, of_each, of_the_mean",
    [
        ((HOLDING, HOLDING), "holds", "holds"),
        ((HOLDING, OPEN), "undecided", "holds"),
        ((HOLDING, OPEN, FAILING), "fails", "undecided"),
        ((HOLDING, FAILING, OPEN, HOLDING), "fails", "holds"),
        ((HOLDING, FAILING), "fails", "undecided"),
    ],
)
def test_a_claim_about_several_cells(cells, of_each, of_the_mean):
    assert together([judge(cell, "greater") for cell in cells]).verdict == of_each
    assert over(cells, "greater").verdict == of_the_mean


def test_cells_take_a_correction_only_where_one_that_fails_is_enough():
    cells = [judge(_draw(seed, 9), "greater") for seed in (1, 2, 3)]
    holding, failing = [one.p_holds for one in cells], [one.p_fails for one in cells]
    every = together(cells)
    assert every.p_holds == max(holding)
    assert every.p_fails == min(1, 3 * min(failing))
    assert every.estimate == cells[int(np.argmax(holding))].estimate


def test_cells_without_chance_decide_by_themselves_and_count_for_nothing():
    chance, sure, broken = judge(HOLDING, "greater"), exact(1, 1), exact(1, 2)
    assert together([chance, sure]).p_holds == chance.p_holds
    assert together([chance, sure]).p_fails == chance.p_fails
    assert together([chance, broken]).verdict == "fails"
    assert together([sure, sure]).test == "exact"
    assert together([sure, broken]).verdict == "fails"


def test_the_seeds_that_several_cells_need():
    near, far, below = [((Effect(size),),) for size in (0.5, 0.8, -0.5)]
    cells = [_tested(0.1, 0.9, effects=one) for one in (near, far)]
    assert together(cells).needed >= 34  # both are to hold at once
    assert together(cells).needed < 40
    assert together(cells[:1] * 2).needed == 44  # Cohen's for a power of 0.9 each
    cells = [_tested(0.9, 0.1, effects=below), _tested(0.1, 0.9, effects=far)]
    assert together(cells).needed == _tested(0.5, 0.5, effects=below, threshold=0.0125).needed
    assert math.isnan(together([*cells, judge([1.0], "greater")]).needed)


def test_a_mean_over_cells_is_of_the_seeds_that_all_have():
    cells = np.array([[1.0, 2.0, 3.0, math.nan], [2.0, 2.0, 1.0, 9.0]])
    verdict = over(cells, "greater", 0.5, of=np.ones((2, 4)))
    assert verdict == judge([1.5, 2.0, 2.0], "greater", 0.5)


def test_shares_of_readings():
    readings = {"text": exact(1, 1), "code": exact(1, 2), "other": judge([1.0], "greater"), "more": exact(2, 2)}
    assert shares(readings) == {"readings_holding": 2, "readings_failing": 1, "readings_total": 4}


def test_the_reading_that_matters_most():
    a, b = np.repeat(["x", "y"], 2), np.tile([10, 100], 2)
    assert matters([1, 2, 4, 5], {"b": b, "a": a}) == pytest.approx({"a": 0.9, "b": 0.1})
    assert list(matters([1, 2, 4, 5], {"b": b, "a": a})) == ["a", "b"]
    # Readings that only act together have no main effect.
    assert matters([0, 1, 1, 0], {"a": a, "b": b}) == pytest.approx({"a": 0, "b": 0})
    # Unbalanced: means 1 of three and 5 of one about 2, 3 x 1 + 9 = 12 of 14.
    found = matters([0, 1, 2, 5, math.nan], {"a": [None, None, None, "code", "text"], "one": [0] * 5})
    assert found == pytest.approx({"a": 12 / 14, "one": 0})
    assert matters([3, 3, 3, 3], {"a": a, "b": b}) == {"a": 0, "b": 0}
    assert matters([math.nan] * 4, {"a": a}) == {"a": 0}


@pytest.mark.parametrize(
    "call, reason",
    [
        (lambda: judge([1, 2], "grater"), "did you mean 'greater'"),
        (lambda: judge([1, 2], "greater", level=95), "level 95"),
        (lambda: judge([[1, 2]], "greater"), "shape"),
        (lambda: judge([1, math.inf], "greater"), "not finite"),
        (lambda: judge([0.5, 1.1], "greater", within=(0, 1)), "its range as declared"),
        (lambda: judge([0.5, 0.6], "greater", within=(1, 0)), "the least and the largest"),
        (lambda: judge([1, 2], "greater", of=[1, -1]), "below 0"),
        (lambda: judge([1, 2], "greater", of=[1]), "one quantity for each seed"),
        (lambda: judge([1, 2], "close"), "margin above 0"),
        (lambda: judge([1, 2], "close", 0.1, of=[0, 0]), "margin above 0"),
        (lambda: judge([1, 2], "slope"), "bound"),
        (lambda: judge([1, 2], "greater", bound=1), "bound"),
        (lambda: judge([1, 2], "slope", bound=math.inf), "bound"),
        (lambda: judge([1, 2], "slope", -0.1, bound=1), "bound"),
        (lambda: exact([], 1), "exact claim"),
        (lambda: exact(1, math.nan), "exact claim"),
        (lambda: exact(1, 1, -1), "exact claim"),
        (lambda: together([]), "has none"),
        (lambda: together([together([judge([1, 2], "greater")] * 2)]), "single cells"),
        (lambda: over([[1, 2], [1, 2, 3]], "greater"), "same seeds"),
        (lambda: over([[1, 2], [1, 2]], "greater", of=[[1, 1]]), "give as many"),
        (lambda: holm({"": {"a": judge([1, 2], "less"), "b": judge([1, 2], "less", level=0.9)}}), "one level"),
        (lambda: matters([1, 2], {"a": [1]}), "'a'"),
    ],
)
def test_errors_name_the_reason(call, reason):
    with pytest.raises(SettingError, match=reason):
        call()


def _simulation():
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_verdicts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _at_most(studies: int) -> float:
    """The share of false verdicts that a rate of 5 % exceeds once in forty times."""
    return stats.binom.ppf(0.975, studies, 0.05) / studies


def test_a_family_is_rarely_wrong_and_would_be_without_its_correction(monkeypatch):
    simulation = _simulation()
    assert simulation.rates("normal", (10,), 200, 0.0, "fixed")[0] <= _at_most(200)
    monkeypatch.setattr(simulation, "holm", lambda families: families)
    assert simulation.rates("normal", (10,), 200, 0.0, "fixed")[0] > 0.2


def test_anytime_tests_may_be_looked_at_after_every_batch_and_fixed_ones_may_not():
    simulation = _simulation()
    assert simulation.rates("normal", simulation.LOOKS[:6], 60, 0.0, "fixed")[0] > 0.1
    false, right, seeds = simulation.rates("normal", simulation.LOOKS[:8], 60, 1.5, "anytime")
    assert false <= _at_most(60) and right > 0.95 and 10 <= seeds <= 20


@pytest.mark.slow
def test_skewed_seeds_make_no_more_false_verdicts_however_often_one_looks():
    """Of values on a few points it is shown by enumeration."""
    simulation = _simulation()
    for looks in (*simulation.SEEDS, simulation.LOOKS):
        assert simulation.rates("skewed", looks, 120, 0.0, "anytime")[0] <= _at_most(120)

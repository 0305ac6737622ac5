"""Anytime-valid evidence: its mean under the null hypothesis, its order, and what it says of means and shares."""

import math
from bisect import bisect_left
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

from scant.errors import SettingError
from scant.verdict.anytime import (
    LEAST_SEEDS,
    SCALES,
    least_share,
    least_t,
    log_share_evidence,
    log_t_evidence,
    missed_by_bets,
)  # fmt: skip
from scant.verdict.statistics import holm, judge, together

VALUES = (0.0, 1.0)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 50])
def test_evidence_on_the_margin_is_1_on_average(n):
    def weighted(t):
        return stats.t.pdf(t, n - 1) * math.exp(log_t_evidence(t, n))

    assert integrate.quad(weighted, -np.inf, np.inf, limit=500)[0] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("n", "t"), [(2, 3.0), (4, -1.0), (4, 2.5), (10, 6.0), (25, 0.0), (25, 4.0)])
def test_evidence_is_the_likelihood_ratio_of_the_maximal_invariant_mixed_over_effects(n, t):
    # Under the effect d it is exp(-n d^2 / 2) E[exp(sqrt(n) d u Y)], u = sum(x) / sqrt(n sum(x^2)), Y ~ chi_n.
    u = t / math.sqrt(n - 1 + t**2)
    y = np.linspace(0, 80, 8001)[1:]
    log_density = stats.chi.logpdf(y, n)

    def ratio(effect: float) -> float:
        return np.exp(log_density + math.sqrt(n) * effect * u * y - n * effect**2 / 2).sum() * (y[1] - y[0])

    mixed = [
        integrate.quad(lambda effect, scale=scale: stats.halfnorm.pdf(effect, scale=scale) * ratio(effect), 0, 12)[0]
        for scale in SCALES
    ]
    assert math.exp(log_t_evidence(t, n)) == pytest.approx(np.mean(mixed), rel=1e-3)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_evidence_grows_with_t_to_that_of_equal_values(n):
    t = np.array([-math.inf, -1e6, *np.linspace(-30, 30, 301), 1e6, math.inf])
    evidence = log_t_evidence(t, n)
    assert np.all(np.diff(evidence) >= 0) and np.all(np.diff(evidence[1:-1]) > 0)
    assert np.isfinite(evidence).all()


def test_evidence_does_not_depend_on_the_unit():
    values = np.random.default_rng(1).normal(0.5, 1, 12)
    found = [judge(factor * values, "greater") for factor in (1e-6, 1, 1e6)]
    assert [one.p_holds for one in found] == pytest.approx([found[1].p_holds] * 3)


@pytest.mark.parametrize("p", [0.025, 0.001])
def test_the_least_t_has_just_the_evidence(p):
    for n in (8, 10, 30, 1000):
        t = least_t(n, p)
        assert log_t_evidence(t, n) == pytest.approx(-math.log(p), abs=1e-6)
        assert t > -special.stdtrit(n - 1, p)  # it is more than a fixed number of seeds takes
    assert least_t(7, p) == math.inf  # so few seeds decide nothing
    assert least_t(8, 1e-5) < least_t(8, 1e-30) == math.inf  # equal values of eight seeds have not so much evidence


# --- shares


def every_sample(n: int, share: float):
    """All samples of n values of 0 and 1, with their probabilities."""
    for sample in product((0, 1), repeat=n):
        yield sample, share ** sum(sample) * (1 - share) ** (n - sum(sample))


@pytest.mark.parametrize("bound", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("below", [1.0, 0.7])
def test_evidence_on_shares_is_no_more_than_1_on_average_by_enumeration(bound, below):
    for n in (1, 4, 8):
        total = sum(
            probability * math.exp(log_share_evidence(VALUES, (n - sum(sample), sum(sample)), bound))
            for sample, probability in every_sample(n, below * bound)
        )
        assert total <= 1 + 1e-9
        if below == 1:
            assert total == pytest.approx(1)


def test_no_sequence_of_looks_makes_false_verdicts_on_shares_by_enumeration():
    n, bound, p = 14, 0.6, 0.05
    reached = np.array(
        [[log_share_evidence(VALUES, (m - k, k), bound) >= -math.log(p) for k in range(m + 1)] + [False] * (n - m)
         for m in range(n + 1)]
    )  # fmt: skip
    ever = sum(
        probability
        for sample, probability in every_sample(n, bound)
        if any(reached[m, sum(sample[:m])] for m in range(1, n + 1))
    )
    assert 0 < ever <= p


@pytest.mark.parametrize(("n", "ones", "bound"), [(5, 5, 0.5), (20, 19, 0.9), (100, 97, 0.95), (1000, 955, 0.95)])
def test_evidence_on_shares_is_the_truncated_beta_binomial_mixture(n, ones, bound):
    mixed = integrate.quad(lambda q: stats.binom.pmf(ones, n, q), bound, 1, points=[ones / n] if ones < n else None)[0]
    expected = mixed / (1 - bound) / stats.binom.pmf(ones, n, bound)
    assert math.exp(log_share_evidence(VALUES, (n - ones, ones), bound)) == pytest.approx(expected, rel=1e-6)


def test_evidence_on_shares_between_0_and_1_is_fair_too():
    values, probabilities, n = np.array([0.0, 0.5, 1.0]), np.array([0.3, 0.5, 0.2]), 6
    mean, total = values @ probabilities, 0.0
    for sample in product(range(3), repeat=n):
        counts = np.bincount(sample, minlength=3)
        total += np.prod(probabilities**counts) * math.exp(log_share_evidence(values, counts, mean))
    assert total == pytest.approx(1)


def test_evidence_on_shares_falls_with_the_bound_and_its_ends():
    evidence = [
        float(log_share_evidence(VALUES, (3, 7), bound)) for bound in (-0.1, 0.0, 0.01, 0.3, 0.7, 0.99, 1.0, 1.5)
    ]
    assert evidence[0] == evidence[1] == math.inf
    assert np.all(np.diff(evidence[1:]) < 0) and evidence[-2] <= 0
    assert log_share_evidence(VALUES, (10, 0), 0.0) == pytest.approx(-math.log(11))
    low = least_share(VALUES, (3, 7), 0.025)
    assert log_share_evidence(VALUES, (3, 7), low) == pytest.approx(math.log(40), abs=1e-6)
    assert least_share(VALUES, (7, 0), 0.025) == 0


# --- verdicts


def draw(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.3, 1, n)


@pytest.mark.parametrize("n", [3, 8, 30])
def test_an_anytime_interval_has_the_means_that_its_test_does_not_reject(n):
    verdict = judge(draw(n, n), "greater")
    assert verdict.test == "anytime t" and verdict.n == n
    if n >= LEAST_SEEDS:
        assert judge(draw(n, n), "greater", verdict.low).p_holds == pytest.approx(0.025, rel=1e-3)
        assert judge(draw(n, n), "less", verdict.high).p_holds == pytest.approx(0.025, rel=1e-3)
    fixed = judge(draw(n, n), "greater", testing="fixed")
    assert verdict.p_holds >= fixed.p_holds
    assert n < LEAST_SEEDS or verdict.low < fixed.low < fixed.high < verdict.high


def test_few_seeds_decide_and_bound_nothing():
    for n in range(2, LEAST_SEEDS):
        verdict = judge(0.15 + 1e-9 * np.arange(n), "greater")
        assert verdict.verdict == "undecided" and verdict.p_holds == verdict.p_fails == 1
        assert math.isnan(verdict.low) and math.isnan(verdict.high) and verdict.estimate == pytest.approx(0.15)
        assert verdict.needed == LEAST_SEEDS
    assert judge(0.15 + 1e-9 * np.arange(LEAST_SEEDS), "greater").verdict == "holds"


ALIKE = (
    [0.2] * 3, [0.2] * 40, [0.2] * 39 + [-0.3], [0.0] * 40, [0.1] * 20 + [0.3] * 20, [0.1, 0.2, 0.3, 0.4] * 10,
    [0.3, 0.1 + 0.2, 0.3 + 1e-15] * 10,
)  # fmt: skip


@pytest.mark.parametrize("values", ALIKE)
def test_a_t_test_of_fewer_than_five_different_values_decides_nothing(values):
    verdict = judge(values, "greater")
    assert (verdict.test, verdict.verdict, verdict.p_holds, verdict.p_fails) == ("anytime t", "undecided", 1, 1)
    assert math.isnan(verdict.low) and math.isnan(verdict.high) and verdict.needed == math.inf
    assert judge([0.1, 0.2, 0.3, 0.4, 0.5] * 8, "greater").verdict == "holds"
    assert judge([0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.5], "greater").verdict == "holds"


@pytest.mark.parametrize("values", ALIKE)
def test_it_gives_way_to_bets_where_the_range_is_known(values):
    known = {"within": (-1, 1), "share": False}
    verdict = judge(values, "greater", 0.1, **known)
    assert verdict == replace(judge(values, "greater", 0.1, within=(-1, 1)), test="betting")
    evidence = log_share_evidence((1 + np.array(values)) / 2, np.ones(len(values)), 1.1 / 2)
    assert verdict.p_holds == pytest.approx(min(1, math.exp(-evidence)), rel=1e-6)
    assert -1 <= verdict.low < verdict.estimate < verdict.high <= 1
    assert verdict.bets is None
    # With five different values, or if the number of seeds was fixed, bets stand beside t.
    for testing, differences in (("anytime", draw(1, 8) / 10), ("fixed", np.repeat(values, 8))):
        beside = judge(differences, "greater", testing=testing, **known)
        bets = judge(differences, "greater", within=(-1, 1))
        assert beside.test == ("t" if testing == "fixed" else "anytime t")
        assert (beside.bets.p_holds, beside.bets.p_fails) == (bets.p_holds, bets.p_fails)


@pytest.mark.parametrize(("rare", "high"), [(0.5, 0.9), (0.3, 0.4), (0.1, 0.1), (0.02, 0.02)])
def test_no_look_after_any_seed_makes_false_verdicts_on_two_points_by_enumeration(rare, high):
    """Differences are `high`, or rarely so low that their mean is 0, the margin: every verdict is false."""
    low, seeds = -high * (1 - rare) / rare, 25
    undecided, false = {0: 1.0}, 0.0  # probabilities, by how many differences were low
    for n in range(1, seeds + 1):
        ahead: dict[int, float] = {}
        for count, probability in undecided.items():
            ahead[count] = ahead.get(count, 0.0) + probability * (1 - rare)
            ahead[count + 1] = ahead.get(count + 1, 0.0) + probability * rare
        undecided = {}
        for count, probability in ahead.items():
            values = [low] * count + [high] * (n - count)
            if judge(values, "greater", within=(-1, 1), share=False).verdict == "undecided":
                undecided[count] = probability
            else:
                false += probability
    assert sum(undecided.values()) + false == pytest.approx(1) and false <= 0.05


@pytest.mark.parametrize("comparison, margin", [("greater", 0.4), ("less", 0.4), ("close", 0.9)])
@pytest.mark.parametrize("n", [6, 25])
def test_the_binomial_test_of_a_fixed_number_of_seeds_agrees_with_scipy(comparison, margin, n):
    values = (np.arange(n) % 5 > 0) * 1.0
    ones = int(values.sum())
    verdict = judge(values, comparison, margin, within=(0, 1), testing="fixed")
    assert verdict.test == "binomial"
    other = "less" if comparison == "close" else comparison  # no share is below -0.9
    assert verdict.p_holds == pytest.approx(stats.binomtest(ones, n, margin, other).pvalue)
    interval = stats.binomtest(ones, n).proportion_ci(0.95, "exact")
    assert (verdict.low, verdict.high) == pytest.approx((interval.low, interval.high))


def test_a_share_may_have_a_number_subtracted():
    values = np.array([1.0] * 17 + [0.0])
    for testing in ("anytime", "fixed"):
        share = judge(values, "greater", 0.9, within=(0, 1), testing=testing)
        difference = judge(values - 0.9, "greater", within=(-0.9, 0.1), testing=testing)
        assert difference.p_holds == pytest.approx(share.p_holds) and difference.p_fails == pytest.approx(share.p_fails)
        assert (difference.low, difference.high) == pytest.approx((share.low - 0.9, share.high - 0.9))
        assert difference.needed == share.needed
    interval = judge(values, "greater", 0.9, within=(0, 1))
    assert judge(values, "greater", interval.low, within=(0, 1)).p_holds == pytest.approx(0.025, rel=1e-3)
    assert judge(values, "less", interval.high, within=(0, 1)).p_holds == pytest.approx(0.025, rel=1e-3)


def test_a_share_may_be_beyond_its_range_by_rounding():
    values = np.array([0.3, 0.2 + 0.1])
    assert values.max() > 0.3
    one, other = (judge(both, "greater", 0.1, within=(0, 0.3)) for both in (values, [0.3, 0.3]))
    assert (one.test, one.p_holds) == (other.test, other.p_holds) == ("anytime binomial", other.p_holds)


@pytest.mark.parametrize("testing", ["anytime", "fixed"])
def test_shares_that_are_not_0_or_1_are_judged_by_betting(testing):
    assert judge([0.5] * 40, "greater", 0.3, within=(0, 1), testing=testing).verdict == "holds"
    verdict = judge([-1.0, 0.0, 1.0] * 10, "greater", within=(-1, 1), testing=testing)
    assert (verdict.test, verdict.verdict) == ("betting", "undecided")


@pytest.mark.parametrize("testing", ["anytime", "fixed"])
def test_ends_that_no_share_can_have_decide_nothing(testing):
    assert judge([0.0] * 80, "close", 0.1, within=(0, 1), testing=testing).verdict == "holds"
    assert judge([1.0] * 80, "slope", 0.1, bound=0.95, within=(0, 1), testing=testing).verdict == "holds"
    for end in (1.0, 1.2):
        assert judge([1.0] * 80, "greater", end, within=(0, 1), testing=testing).p_holds == 1


@pytest.mark.parametrize("testing", ["anytime", "fixed"])
def test_a_claim_on_a_share_and_its_contrary_swap(testing):
    values = np.array([1.0] * 30 + [0.0])
    claim = judge(values, "greater", 0.7, within=(0, 1), testing=testing)
    contrary = judge(values, "less", 0.7, within=(0, 1), testing=testing)
    assert (claim.verdict, contrary.verdict) == ("holds", "fails")
    assert (claim.p_holds, claim.p_fails) == pytest.approx((contrary.p_fails, contrary.p_holds))


@pytest.mark.parametrize("testing", ["anytime", "fixed"])
@pytest.mark.parametrize(
    ("ones", "n", "end"), [(19, 20, 0.8), (49, 50, 0.9), (9, 10, 0.8), (5, 10, 0.4), (1, 5, 0.1), (3, 50, 0.02)]
)
def test_from_the_seeds_that_a_share_needs_on_the_power_suffices_with_every_number(testing, ones, n, end):
    verdict = judge([1.0] * ones + [0.0] * (n - ones), "greater", end, within=(0, 1), testing=testing)
    assert verdict.verdict == "undecided"

    def power(seeds: int) -> float:
        def decided(count: int) -> bool:
            if testing == "fixed":
                return stats.binomtest(count, seeds, end, "greater").pvalue <= 0.025
            return log_share_evidence(VALUES, (seeds - count, count), end) >= -math.log(0.025)

        fewest = bisect_left(range(seeds + 1), True, key=decided)
        return stats.binom.sf(fewest - 1, seeds, ones / n)

    last = int(verdict.needed) - 1
    assert power(last) < 0.8
    assert min(power(seeds) for seeds in range(last + 1, last + 60)) >= 0.8


# --- premises

KNOWN = {"within": (-1, 1), "share": False}


@pytest.mark.parametrize("testing", ["anytime", "fixed"])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.05, 0.1, 0.3])
def test_t_decides_only_what_seeds_that_most_studies_would_have_cannot_overturn(testing, share):
    """A share of seeds at the far end of the range puts the mean on its margin; few studies have none of them."""
    alike = -share + 1e-4 * np.random.default_rng(4).standard_normal(400)
    within = (-1, 1 - share)
    first = next(
        n for n in range(5, 400)
        if judge(alike[:n], "greater", within=within, share=False, testing=testing).verdict != "undecided"
    )  # fmt: skip
    assert (1 - share) ** first <= 0.05
    assert first <= max(LEAST_SEEDS, math.log(0.05) / math.log(1 - share) + 2)  # nor does it wait for more
    verdict = judge(alike[:LEAST_SEEDS], "greater", within=within, share=False, testing=testing)
    if first > LEAST_SEEDS:
        assert verdict.verdict == "undecided" and verdict.overturned == pytest.approx(share, rel=1e-2)
        assert verdict.needed == pytest.approx(first, abs=2)
    assert judge(alike[:LEAST_SEEDS], "greater", testing=testing).verdict == "fails"  # where no range is known


def test_a_range_beyond_the_margin_is_what_can_overturn():
    values = 0.5 + 0.01 * draw(2, 12)
    mean = values.mean()
    for comparison, margin, far in (("greater", 0.1, 0.0), ("less", 0.9, 1.0), ("close", 0.9, 1.0)):
        verdict = judge(values, comparison, margin, within=(0, 1), share=False)
        share = abs(mean - margin) / abs(mean - far)
        assert (verdict.verdict == "holds") == ((1 - share) ** 12 <= 0.05)
        assert math.isnan(verdict.overturned) or verdict.overturned == pytest.approx(share)
    assert judge(values, "greater", -0.1, within=(0, 1), share=False).verdict == "holds"  # it cannot be violated
    # A margin that is a share of another quantity moves the range.
    other = np.full(12, 0.6)
    relative = judge(values - other, "greater", -0.5, of=other, **KNOWN)
    assert relative.p_holds == judge(values - 0.3, "greater", within=(-1, 1.5), share=False).p_holds
    with pytest.raises(SettingError, match="`of` is larger than any difference"):
        judge(values - other, "greater", -0.5, of=2 * other, **KNOWN)


def test_bets_stand_beside_what_rests_on_a_premise_and_agree_with_enough_seeds():
    few, many = draw(3, 10) / 30 + 0.4, draw(3, 60) / 30 + 0.4
    assert judge(few, "greater", **KNOWN).verdict == judge(many, "greater", **KNOWN).verdict == "holds"
    assert judge(few, "greater", **KNOWN).bets.verdict == "undecided"
    assert judge(many, "greater", **KNOWN).bets.verdict == "holds"
    assert judge(many, "less", **KNOWN).bets.verdict == "fails"
    assert judge(many, "greater").bets is None
    n = int(judge(few, "greater", **KNOWN).bets.needed)
    assert judge(few, "less", **KNOWN).bets.needed == n
    assert [judge(np.resize(few, size), "greater", **KNOWN).bets.verdict for size in (n - 4, n + 2)] == [
        "undecided", "holds",
    ]  # fmt: skip


def test_bets_are_corrected_in_a_family_where_premises_decide_nothing():
    known, unknown = judge(draw(3, 60) / 30 + 0.4, "greater", **KNOWN), judge(draw(4, 60) / 30 + 0.4, "greater")
    share = judge([1.0] * 90, "greater", 0.5, within=(0, 1))
    family = holm({"": {"known": known, "unknown": unknown, "share": share}})[""]
    assert family["unknown"].verdict == "holds" and family["unknown"].bets is None and family["share"].bets is None
    without = [replace(unknown, p_holds=1.0, p_fails=1.0), known.bets, share]
    alone = holm({"": dict(zip("abc", without, strict=True))})[""]
    assert family["known"].bets == alone["b"]


def test_of_several_cells_bets_say_what_they_say_of_all():
    cells = [judge(draw(seed, 60) / 30 + mean, "greater", **KNOWN) for seed, mean in ((3, 0.4), (4, 0.02))]
    both = together(cells)
    assert both.bets.p_holds == max(cell.bets.p_holds for cell in cells) and both.bets.verdict == "undecided"
    assert together([judge(draw(1, 60), "greater"), judge(draw(2, 60), "greater")]).bets is None


@pytest.mark.parametrize("values", [(0.4, 0.5, 0.9), (0.55, 0.56, 0.57), (0.0, 1.0, 0.9)])
def test_the_seeds_that_bets_need_decide_with_the_power_named(values):
    counts, n, p = (1, 1, 1), 1, 0.01
    while missed_by_bets(values, counts, 0.5, n, p) > 0.2:
        n += 1
    random = np.random.default_rng(5)
    drawn = random.multinomial(n, [1 / 3] * 3, size=400).T
    assert np.mean(log_share_evidence(values, drawn, 0.5) >= -math.log(p)) > 0.72
    fewer = random.multinomial(max(1, n // 2), [1 / 3] * 3, size=400).T
    assert np.mean(log_share_evidence(values, fewer, 0.5) >= -math.log(p)) < 0.7


def test_the_seeds_that_an_anytime_test_needs_decide_with_the_power_named():
    random = np.random.default_rng(7)
    differences = 0.6 + np.array([-1.8, -1.3, -0.8, -0.3, 0.3, 0.8, 1.3, 1.8])
    verdict, pilot = judge(differences, "close", 1.2), differences.std(ddof=1)
    n = int(verdict.needed)
    again = [judge(random.normal(0.6, pilot, n), "close", 1.2).verdict for _ in range(400)]
    assert 0.74 < again.count("holds") / 400 < 0.86
    assert verdict.needed > judge(differences, "close", 1.2, testing="fixed").needed

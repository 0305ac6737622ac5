"""Anytime-valid evidence: its mean under the null, its order, what it says of means."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

from scant.verdict import anytime


@pytest.mark.parametrize("n", [2, 3, 5, 10, 50])
def test_evidence_on_the_margin_is_1_on_average(n):
    def weighted(t):
        return stats.t.pdf(t, n - 1) * math.exp(anytime.log_t_evidence(t, n))

    assert integrate.quad(weighted, -np.inf, np.inf, limit=500)[0] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "t"), [(2, 3.0), (4, -1.0), (4, 2.5), (10, 6.0), (25, 0.0), (25, 4.0)]
)
def test_evidence_is_the_likelihood_ratio_of_the_maximal_invariant_mixed_over_effects(n, t):
    # Under the effect d it is exp(-n d^2 / 2) E[exp(sqrt(n) d u Y)], u = sum(x) / sqrt(n sum(x^2)),
    # Y ~ chi_n.
    u = t / math.sqrt(n - 1 + t**2)
    y = np.linspace(0, 80, 8001)[1:]
    log_density = stats.chi.logpdf(y, n)

    def ratio(effect: float) -> float:
        return np.exp(log_density + math.sqrt(n) * effect * u * y - n * effect**2 / 2).sum() * (
            y[1] - y[0]
        )

    mixed = [
        integrate.quad(
            lambda effect, scale=scale: stats.halfnorm.pdf(effect, scale=scale) * ratio(effect),
            0,
            12,
        )[0]
        for scale in anytime.SCALES
    ]
    assert math.exp(anytime.log_t_evidence(t, n)) == pytest.approx(np.mean(mixed), rel=1e-3)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_evidence_grows_with_t_to_that_of_equal_values(n):
    t = np.array([-math.inf, -1e6, *np.linspace(-30, 30, 301), 1e6, math.inf])
    evidence = anytime.log_t_evidence(t, n)
    assert np.all(np.diff(evidence) >= 0) and np.all(np.diff(evidence[1:-1]) > 0)
    assert np.isfinite(evidence).all()


@pytest.mark.parametrize("p", [0.025, 0.001])
def test_the_least_t_has_just_the_evidence(p):
    for n in (12, 15, 30, 1000):
        t = anytime.least_t(n, p)
        assert anytime.log_t_evidence(t, n) == pytest.approx(-math.log(p), abs=1e-6)
        assert t > -special.stdtrit(n - 1, p)  # it is more than a fixed number of seeds takes
    assert anytime.least_t(anytime.LEAST_SEEDS - 1, p) == math.inf  # so few seeds decide nothing
    # equal values of twelve seeds have not so much evidence
    assert anytime.least_t(12, 1e-5) < anytime.least_t(12, 1e-60) == math.inf


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
            probability * math.exp(anytime.log_share_evidence(sum(sample), n, bound))
            for sample, probability in every_sample(n, below * bound)
        )
        assert total <= 1 + 1e-9
        if below == 1:
            assert total == pytest.approx(1)


def test_no_sequence_of_looks_makes_false_verdicts_on_shares_by_enumeration():
    n, bound, p = 14, 0.6, 0.05
    reached = np.array(
        [
            [anytime.log_share_evidence(k, m, bound) >= -math.log(p) for k in range(m + 1)]
            + [False] * (n - m)
            for m in range(n + 1)
        ]
    )
    ever = sum(
        probability
        for sample, probability in every_sample(n, bound)
        if any(reached[m, sum(sample[:m])] for m in range(1, n + 1))
    )
    assert 0 < ever <= p


@pytest.mark.parametrize(
    ("n", "ones", "bound"), [(5, 5, 0.5), (20, 19, 0.9), (100, 97, 0.95), (1000, 955, 0.95)]
)
def test_evidence_on_shares_is_the_truncated_beta_binomial_mixture(n, ones, bound):
    mixed = integrate.quad(
        lambda q: stats.binom.pmf(ones, n, q), bound, 1, points=[ones / n] if ones < n else None
    )[0]
    expected = mixed / (1 - bound) / stats.binom.pmf(ones, n, bound)
    assert math.exp(anytime.log_share_evidence(ones, n, bound)) == pytest.approx(expected, rel=1e-6)


def test_evidence_on_shares_falls_with_the_bound_and_its_ends():
    evidence = [
        anytime.log_share_evidence(7, 10, bound)
        for bound in (-0.1, 0.0, 0.01, 0.3, 0.7, 0.99, 1.0, 1.5)
    ]
    assert evidence[0] == evidence[1] == math.inf
    assert np.all(np.diff(evidence[1:-2]) < 0) and evidence[-1] == evidence[-2] == -math.inf
    assert anytime.log_share_evidence(0, 10, 0.0) == pytest.approx(-math.log(11))
    low = anytime.least_share(7, 10, 0.025)
    assert anytime.log_share_evidence(7, 10, low) == pytest.approx(math.log(40), abs=1e-6)
    assert anytime.least_share(0, 7, 0.025) == 0

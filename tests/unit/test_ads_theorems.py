"""Theorems on importance-weighted CTR, held against numbers."""

import pytest

from scant.ads.theorems import CLICK, TARGET, ads_table


def test_importance_weighting_is_unbiased_and_what_it_is_compared_with_is_not():
    found = ads_table().set_index("check")
    assert found.loc["importance-weighted CTR", "value"] == pytest.approx(0, abs=1e-12)
    wrong = 3 * (0.2 * 0.8 * 0.5 + 0.3 * 0.1 * 0.2 + 0.5 * 0.1 * 0.1) - TARGET @ CLICK  # as if each ad had 1/3
    assert found.loc["importance-weighted CTR, propensities taken as equal", "value"] == pytest.approx(wrong)
    assert abs(found.loc["self-normalised CTR", "value"]) > 0.1
    assert found["holds"].tolist() == [True, False, False]

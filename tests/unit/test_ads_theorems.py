"""Theorems on importance-weighted CTR, held against numbers."""

import math

import numpy as np
import pytest

from scant.ads import theorems
from scant.ads.theorems import CLICK, TARGET, ads_table


def test_importance_weighting_is_unbiased_and_what_it_is_compared_with_is_not():
    found = ads_table().set_index("check")
    assert found.loc["importance-weighted CTR", "value"] == pytest.approx(0, abs=1e-12)
    # as if each ad had 1/3
    wrong = 3 * (0.2 * 0.8 * 0.5 + 0.3 * 0.1 * 0.2 + 0.5 * 0.1 * 0.1) - TARGET @ CLICK
    result = found.loc["importance-weighted CTR, propensities taken as equal", "value"]
    assert result == pytest.approx(wrong)
    assert abs(found.loc["self-normalised CTR", "value"]) > 0.1
    assert found["holds"].tolist() == [True, False, False, True, False]


def test_repeated_negatives_change_the_loss_of_a_classifier_and_not_of_a_ranker():
    found = ads_table().set_index("check")
    assert found.loc["AUC's loss, negatives repeated", "value"] == pytest.approx(0, abs=1e-12)
    assert found.loc["logistic loss, negatives repeated", "value"] > 0.01
    clicked, others = [0.5, -0.2], [0.1, 0.0, -1.0]
    for times in (1, 3):  # pair by pair, and instance by instance
        pairs = [math.log1p(math.exp(b - a)) for a in clicked for b in others * times]
        instances = [math.log1p(math.exp(-a)) for a in clicked] + [
            math.log1p(math.exp(b)) for b in others * times
        ]
        for loss, losses in ((theorems.auc_loss, pairs), (theorems.logistic_loss, instances)):
            result = loss(np.array(clicked), np.array(others * times))
            assert result == pytest.approx(sum(losses) / len(losses))

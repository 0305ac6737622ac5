"""Information gain is the mutual information of clicks and binned features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.bandits.selection import edges, information_gain, top_share
from scant.errors import SettingError


@given(
    st.integers(1, 60),
    st.integers(2, 9),
    st.sampled_from(["normal", "tied"]),
    st.integers(0, 2**32 - 1),
)
def test_gains_are_those_of_scikit_learn_on_the_same_bins(rows, bins, values, seed):
    from sklearn.metrics import mutual_info_score

    random = np.random.default_rng(seed)
    features = (
        random.standard_normal((rows, 3))
        if values == "normal"
        else random.integers(-3, 3, (rows, 3))
    )
    features, clicked = features.astype(np.float32), random.random(rows) < 0.4
    gains = information_gain(features, clicked, bins)
    for gain, column in zip(gains, features.T, strict=True):
        binned = (column[:, None] > edges(column, bins)).sum(axis=1)
        assert len(np.unique(binned)) <= bins
        assert gain == pytest.approx(mutual_info_score(binned, clicked), abs=1e-12)
    assert np.all(gains >= 0)


def test_bins_are_equally_full_and_few_values_are_bins_of_their_own():
    column = np.random.default_rng(0).permutation(64).astype(np.float32)
    assert edges(column, 4).tolist() == [15, 31, 47]
    assert edges(np.array([3, 1, 1, 2, 3, 3], np.float32), 3).tolist() == [1, 2]
    assert edges(np.array([5, 5], np.float32), 4).tolist() == []
    # ten bins begin at the same value
    mostly = np.append(np.zeros(90), np.arange(1, 11)).astype(np.float32)
    assert edges(mostly, 10).tolist() == [0]


def test_the_top_share():
    gains = np.array([0.1, 0.5, 0.5, 0.2, 0.0, 0.3, 0.0, 0.0])
    assert top_share(gains, 0.25).tolist() == [1, 2]
    assert top_share(gains, 0.5).tolist() == [1, 2, 3, 5]
    assert top_share(gains, 0.2).tolist() == [1, 2]  # 1.6 of 8
    assert top_share(np.zeros(5), 0.4).tolist() == [0, 1]
    assert top_share(np.array([0.1, 0.2]), 0.01).tolist() == [1]
    assert top_share(gains, 1.0).tolist() == list(range(8))
    assert len(top_share(np.arange(10.0), 0.25)) == 3  # a half counts up


def test_shares_that_cannot_be():
    for share in (0, 1.1, np.nan):
        with pytest.raises(SettingError, match="share of features"):
            top_share(np.zeros(4), share)

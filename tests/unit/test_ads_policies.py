"""Policies are distributions over ads, and thresholds are the best there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.bandits.policies import MEASURES, Choice, threshold
from scant.errors import SettingError

# --- what a policy does


@given(st.integers(2, 7), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_a_choice_is_a_distribution_in_each_context(actions, epsilon, seed):
    best = np.random.default_rng(seed).integers(0, actions, 9, np.int32)
    choice = Choice(best, epsilon, actions)
    each = np.array([choice.probability(np.full(9, action)) for action in range(actions)])
    assert np.all(each >= 0)
    np.testing.assert_allclose(each.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(each[best, np.arange(9)], 1 - epsilon)


def test_epsilon_is_shared_by_the_other_ads():
    choice = Choice(np.array([2, 0, 1]), 0.2, 5)
    assert choice.probability(np.array([2, 1, 1])).tolist() == [0.8, 0.05, 0.8]
    assert Choice(np.array([0, 0]), 0.0, 1).probability(np.array([0, 0])).tolist() == [1.0, 1.0]


@given(st.integers(2, 6), st.floats(0, 1), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_expected_value_is_that_over_the_distribution(actions, epsilon, by_context, seed):
    """Of eligible ads alone, whatever the others are worth."""
    random = np.random.default_rng(seed)
    eligible, best = random.random((9, actions)) < 0.5, random.integers(0, actions, 9, np.int32)
    eligible[np.arange(9), best] = True
    values = random.normal(size=(9, actions) if by_context else actions)
    for choice in (Choice(best, epsilon, actions), Choice(best, epsilon, actions, eligible)):
        each = np.array([choice.probability(np.full(9, action)) for action in range(actions)]).T
        np.testing.assert_allclose(choice.expected(values), (each * values).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("best", "epsilon", "actions", "reason"),
    [
        ([0], -0.1, 2, "epsilon is -0.1"),
        ([0], 1.5, 2, "epsilon is 1.5"),
        ([0], 0.1, 1, "nothing to explore"),
    ],
)
def test_what_is_no_policy_is_refused(best, epsilon, actions, reason):
    with pytest.raises(SettingError, match=reason):
        Choice(np.array(best), epsilon, actions)


# --- thresholds


def measured(scores, clicked, by, s):
    from sklearn.metrics import f1_score, precision_score, recall_score

    score = {"precision": precision_score, "recall": recall_score, "f1": f1_score}[by]
    return score(clicked, scores >= s, zero_division=0)


ROWS = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=14).filter(
    lambda rows: any(clicked for _, clicked in rows)
)


@given(ROWS, st.sampled_from(MEASURES))
def test_no_threshold_is_better_and_ties_go_by_f1_then_to_the_largest(rows, by):
    scores, clicked = np.array([s for s, _ in rows], float), np.array([c for _, c in rows])
    key = {s: (round(measured(scores, clicked, by, s), 12),
               round(measured(scores, clicked, "f1", s), 12), s)
           for s in scores}  # fmt: skip
    assert threshold(scores, clicked, by) == max(key.values())[2]
    between = np.append(scores - 0.5, np.inf)
    assert max(measured(scores, clicked, by, s) for s in between) <= max(key.values())[0] + 1e-12

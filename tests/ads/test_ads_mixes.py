"""Which ads policies show: the shares are the means of their probabilities, and rows that showed
the ads.
"""

import numpy as np
import pytest
from test_ads_api import frame

import scant_ads as sa
from scant_ads.evaluation import mixes


def made(rows=3000, seed=1):
    log = frame(rows, seed)
    log["policy:mine"] = np.where(log["action"] == "a", 0.8, 0.1)
    return log


@pytest.fixture(scope="module")
def found():
    train, test = sa.Log.from_frame(frame(2000)), sa.Log.from_frame(made())
    policies = {
        "one": sa.fit(train, "logistic", steps=2000, epsilon=0.3),
        "best": sa.fit(train, "forest", trees=3),
    }
    return sa.evaluate([*policies.values(), "mine"], test), policies, test


def test_a_learnt_policys_mix_is_the_mean_of_its_probabilities(found):
    evaluation, policies, test = found
    for name, policy in zip(("logistic", "forest"), policies.values(), strict=True):
        expected = dict(zip(policy.classes_, policy.predict_proba(test).mean(axis=0), strict=True))
        expected = {ad: share for ad, share in expected.items() if share}
        assert evaluation.mix[name] == pytest.approx(expected)
        assert sum(evaluation.mix[name].values()) == pytest.approx(1)


def test_a_columns_mix_is_weighted_and_todays_is_that_of_rows(found):
    evaluation, _, test = found
    log = made()
    weights = (log["policy:mine"] / log["propensity"]).groupby(log["action"]).sum()
    assert evaluation.mix["mine"] == pytest.approx((weights / len(log)).to_dict())
    shares = log["action"].value_counts(normalize=True)
    assert evaluation.mix["logging"] == pytest.approx(shares.to_dict())
    trained = sa.evaluate(["mine"], test, train=sa.Log.from_frame(frame(900, 7)))
    today = frame(900, 7)["action"].value_counts(normalize=True)
    assert trained.mix["logging"] == pytest.approx(today.to_dict())


def test_ten_ads_are_compared_and_the_others_counted():
    mix, today = {f"ad {i}": i / 66 for i in range(12)}, {"old": 0.5, "ad 11": 0.5, "gone": 0.0}
    listed, others = mixes.compared(mix, today)
    assert len(listed) == 10 and others == 2
    assert listed[0] == ("ad 11", 11 / 66, 0.5) and ("old", 0.0, 0.5) in listed
    shares = [policy for _, policy, _ in listed]
    assert shares == sorted(shares, reverse=True)
    assert mixes.compared({"a": 1.0}, {}) == ([("a", 1.0, 0.0)], 0)


def test_policies_that_know_other_ads_have_them_in_their_mix():
    old = frame(2000).replace({"action": {"c": "d"}})
    mix = sa.evaluate([sa.fit(old, "logistic", steps=2000, epsilon=0.2)], frame(1500, 3)).mix
    assert {*mix["logistic"]} == {*"abd"} and {*mix["logging"]} == {*"abc"}

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from scant.bandits import campaigns
from scant.bandits.policies import Mixed
from scant.errors import SettingError
from scant.randomness import generator


@pytest.fixture(autouse=True, scope="module")
def coarse():
    """Campaigns calibrated on fewer points, faster; draws are judged against what they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaigns, "POINTS", 1 << 16)
        campaigns._make.cache_clear()
        yield
    campaigns._make.cache_clear()


def greedy(best, count, epsilon=0.0):
    made = np.full((len(best), count), epsilon / (count - 1))
    made[np.arange(len(best)), best] = 1 - epsilon
    return Mixed(made)


def average(campaign, seed, chunks=4):
    """Impressions' shares, click rates and the uniform policy's, over another shift."""
    settings, random = (
        campaign.settings,
        generator(campaign.settings.world, "campaign", campaign.name),
    )
    used = random.permutation(settings.dimensions)[: settings.informative + campaigns.DISTRACTORS]
    numbers = np.random.default_rng(seed)
    points = campaigns._points(settings.dimensions, used, campaign.thresholds, numbers)
    sums = np.zeros((2, len(campaign.shares)))
    for _ in range(chunks):
        users = next(points)
        shown = campaign.propensities(users)
        sums += shown.sum(axis=0), (shown * campaign.rates(users)).sum(axis=0)
    return sums[0] / (chunks * campaigns.CHUNK), sums[1] / sums[0]


@pytest.mark.parametrize(
    ("name", "shape"), [("hotel", "tree"), ("bank-1", "bumps"), ("bank-2", "linear")]
)
def test_every_campaign_and_shape_carries_its_table(name, shape):
    campaign = campaigns.make(name, shape=shape)
    impressions, percentages = campaigns.CAMPAIGNS[name]
    shares, rates = average(campaign, seed=1)
    np.testing.assert_allclose(shares, np.array(impressions) / sum(impressions), rtol=3e-3)
    np.testing.assert_allclose(rates, np.array(percentages) / 100, rtol=2e-2)


def test_the_logged_propensities_are_the_policys_and_keep_its_floor():
    campaign = campaigns.make("hotel", floor=0.05, sharpness=3.0)
    log = campaign.log(20_000, np.random.default_rng(1))
    propensities = campaign.propensities(log.features)
    np.testing.assert_allclose(propensities.sum(axis=1), 1)
    assert propensities.min() >= 0.05 and propensities.min() < 0.051
    np.testing.assert_allclose(log.propensity, propensities[np.arange(len(log)), log.action])
    shown = np.zeros((5,))
    # each action's inverse propensities sum to the rows
    np.add.at(shown, log.action, 1 / log.propensity)
    np.testing.assert_allclose(shown / len(log), 1, atol=0.06)


@pytest.mark.parametrize("policy", ("targeted", "uniform"))
def test_clicks_have_the_rates_of_their_users_and_offers(policy):
    campaign = campaigns.make("hotel", strength=2.0)
    log = campaign.log(150_000, np.random.default_rng(2), policy)  # more than a chunk
    rate = campaign.rates(log.features)[np.arange(len(log)), log.action]
    tenth = np.searchsorted(np.quantile(rate, np.arange(1, 10) / 10), rate)
    clicks, expected = np.bincount(tenth, log.reward), np.bincount(tenth, rate)
    variance = np.bincount(tenth, rate * (1 - rate))
    assert stats.chi2.sf(((clicks - expected) ** 2 / variance).sum(), 10) > 1e-4


def by_hand():
    """Two offers; a click depends on the first feature alone, a normal one."""
    pieces = campaigns.Pieces("linear", np.array([0]), np.array([0]), np.zeros((1, 2)))
    settings = campaigns.Settings(dimensions=3, floor=0.1, quality=1.0, sharpness=1.0)
    return replace(
        campaigns.make("hotel"),
        settings=settings,
        shares=np.array([0.5, 0.5]),
        click_rates=np.array([0.1, 0.1]),
        thresholds=np.array([np.nan, np.nan, 0.0]),
        pieces=pieces,
        weights=np.array([[1.5, -0.5]]),
        intercepts=np.array([-2.0, -1.0]),
        view=np.zeros((3, 2)),
        offsets=np.array([0.3, 0.0]),
    )


def expected(value):
    density = stats.norm.pdf
    return integrate.quad(lambda z: value(z) * density(z), -12, 12, epsabs=1e-12, limit=200)[0]


def test_rates_propensities_and_the_oracle_by_hand():
    campaign = by_hand()
    x = np.array([[1, 5, 0], [-1, 0, 1]], np.float32)
    np.testing.assert_allclose(campaign.rates(x), expit([[-0.5, -1.5], [-3.5, -0.5]]))
    assert campaign.oracle(x).tolist() == [0, 1]
    np.testing.assert_allclose(
        campaign.propensities(x)[:, 0], 0.1 + 0.8 * expit([2.0 + 0.3, -2.0 + 0.3])
    )
    np.testing.assert_allclose(campaign.propensities(x, "uniform"), 0.5)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_true_ctr_is_that_of_quadrature(epsilon):
    campaign = by_hand()
    random = np.random.default_rng(3)

    def choose(x):
        return greedy(campaign.oracle(x), 2, epsilon)

    [(found, error)] = campaigns.true_ctrs(campaign, [choose], 300_000, random)

    def value(z):
        one, two = expit(1.5 * z - 2), expit(-0.5 * z - 1)
        return (1 - epsilon) * max(one, two) + epsilon * min(one, two)

    exact = expected(value)
    deviation = np.sqrt(expected(lambda z: (value(z) - exact) ** 2) / 300_000)
    assert error == pytest.approx(deviation, rel=0.02)
    assert abs(found - exact) < 4 * error and error < 4e-4


@pytest.mark.parametrize("shape", campaigns.SHAPES)
def test_only_the_informative_features_matter_and_each_does(shape):
    campaign = campaigns.make("hotel", shape=shape, informative=4)
    users = campaign.users(5000, np.random.default_rng(7))
    rates = campaign.rates(users)
    matters = []
    for feature in range(30):
        other = users.copy()
        other[:, feature] = np.roll(users[:, feature], 1)
        matters.append((campaign.rates(other) != rates).any())
    assert sum(matters) == 4


@pytest.mark.parametrize("shape", campaigns.SHAPES)
def test_strength_common_part_and_quality_are_what_they_say(shape):
    campaign = campaigns.make("hotel", shape=shape, strength=1.5, quality=0.7, sharpness=2.0)
    users = campaign.users(100_000, np.random.default_rng(8))
    f = np.log(campaign.rates(users)) - np.log1p(-campaign.rates(users))
    np.testing.assert_allclose(f.std(axis=0), 1.5, rtol=0.02)
    scores = (
        campaign.pieces(users) @ campaign.weights * campaigns._weight_of_f(campaign.settings)
        + users @ campaign.view
    )
    np.testing.assert_allclose(scores.std(axis=0), 2.0, rtol=0.02)
    for action in range(5):
        assert np.corrcoef(f[:, action], scores[:, action])[0, 1] == pytest.approx(0.7, abs=0.02)


def test_scale_multiplies_click_rates_and_leaves_impressions():
    campaign = campaigns.make("bank-1", scale=20.0)
    assert campaign.rows == campaigns.make("bank-1").rows
    shares, rates = average(campaign, seed=2)
    np.testing.assert_allclose(rates, np.array([3.4, 8.0, 9.0, 6.0, 4.6]) / 100, rtol=1e-2)
    np.testing.assert_allclose(shares, campaign.shares, rtol=3e-3)


def test_share_makes_logs_shorter_and_nothing_else():
    whole, part = campaigns.make("hotel"), campaigns.make("hotel", share=0.01)
    assert part.rows == 1585
    users = whole.users(100, np.random.default_rng(9))
    np.testing.assert_array_equal(whole.rates(users), part.rates(users))
    np.testing.assert_array_equal(whole.propensities(users), part.propensities(users))


def test_a_campaign_is_the_same_each_time_and_another_in_another_world():
    first, other = campaigns.make("hotel"), campaigns.make("hotel", world=1)
    again = campaigns._make.__wrapped__("hotel", campaigns.Settings())
    users = first.users(100, np.random.default_rng(10))
    np.testing.assert_array_equal(first.rates(users), again.rates(users))
    assert not np.allclose(first.rates(users), other.rates(users))
    log, same = (campaign.log(100, np.random.default_rng(11)) for campaign in (first, again))
    np.testing.assert_array_equal(log.features, same.features)
    np.testing.assert_array_equal(log.action, same.action)
    np.testing.assert_array_equal(log.reward, same.reward)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"floor": 0.2}, "floor is 0.2; it must be above 0 and below the least share"),
        ({"scale": 13.0}, "scale is 13.0; it must be above 0 and below 12.2"),
        ({"share": 1e-6}, "share is 1e-06"),
        ({"informative": 31}, "informative is 31; it must be from 2 to the number of"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        campaigns.make("hotel", **settings)

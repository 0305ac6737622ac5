"""Click logs of rankings on a small world, all of whose lists and clicks are enumerated."""

from functools import cache
from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pytest

from scant.clicklogs import estimates, learners, storage
from scant.clicklogs.estimates import Case
from scant.clicklogs.logs import Log, World, click_rates
from scant.clicklogs.policies import Policy
from scant.errors import DataError
from scant.kernels import plackett_luce
from scant.rankers.clicks import User, user_for

# Four queries, visited alike, of six documents, three of which are shown.
GRADES = tuple(
    np.array(grades)
    for grades in ([0, 2, 1, 0, 0, 1], [1, 0, 0, 2, 1, 0], [2, 0, 1, 0, 2, 0], [0, 1, 0, 0, 0, 2])
)
SCORES = tuple(
    0.5 * grades + np.sin(1 + 2 * q + 3 * np.arange(6)) for q, grades in enumerate(GRADES)
)
LISTS = np.array(list(permutations(range(6), 3)))
CLICKS = np.array(list(product((False, True), repeat=3)))
LOGGING = Policy(SCORES, 3, "pl")
BEST = Policy(tuple(grades.astype(float) for grades in GRADES), 3)
SOFT = Policy(tuple(1.5 * grades for grades in GRADES), 3, "pl")
LOOK = 1 / np.arange(1, 4)
USERS = {name: user_for(name, 2) for name in ("position", "trust", "navigational", "informational")}
USERS["random"] = User(((0.2, 0.2, 0.2),), (0.0, 0.0, 0.0), (1, 0.5, 1 / 3))
# A click is half as likely where the document below has a grade as high.
CONTRAST = "contrast"


def rates(user, shown):
    """The probability of each click, if those above are not known."""
    if user != CONTRAST:
        return click_rates(USERS[user], shown)
    below = np.c_[shown[:, 1:] >= shown[:, :-1], np.zeros(len(shown), bool)]
    return click_rates(USERS["position"], shown) * np.where(below, 0.5, 1.0)


def patterns(user, shown):
    """The probability of each row of CLICKS, for each list of these grades."""
    cascade = user in USERS and max(USERS[user].stop) > 0
    chances = USERS[user].chances(3)[np.arange(3), shown] if cascade else rates(user, shown)
    stop = np.array(USERS[user].stop)[shown] if cascade else np.zeros(shown.shape)
    stays, left = np.ones((2, len(shown), len(CLICKS)))
    left[:] = 0
    for k, clicked in enumerate(CLICKS.T):
        stays = stays * np.where(clicked, chances[:, [k]], 1 - chances[:, [k]])
        left = np.where(clicked, stays * stop[:, [k]], left)
        stays = np.where(clicked, stays * (1 - stop[:, [k]]), stays)
    return stays + left


@cache
def enumerated(user, logging=LOGGING):
    """A log with a visit for each query, list and clicks that are possible, and their
    probabilities.
    """
    parts = []
    for q, grades in enumerate(GRADES):
        prefixes = logging.prefixes(q, LISTS)
        given_above = prefixes / np.maximum(np.c_[np.ones(120), prefixes[:, :-1]], 1e-300)
        marginal = logging.marginals[q][LISTS, np.arange(3)]
        share = prefixes[:, 2:] / 4 * patterns(user, grades[LISTS])
        listed, clicked = np.nonzero(share)
        of_lists = LISTS[listed], CLICKS[clicked], given_above[listed], marginal[listed]
        parts.append((np.full(len(listed), q), *of_lists, share[listed, clicked]))
    *columns, share = map(np.concatenate, zip(*parts, strict=True))
    return Log(*columns), share


def told(estimator, user, target, logging=LOGGING):
    """The mean and the standard deviation of a visit's term."""
    log, share = enumerated(user, logging)
    terms = estimator(Case(log, logging, target, LOOK)).clicked.sum(axis=1)
    mean = share @ terms
    return mean, np.sqrt(share @ terms**2 - mean**2)


def true(user, policy):
    return sum(
        policy.prefixes(q, LISTS)[:, 2] @ rates(user, grades[LISTS]).sum(axis=1) / 4
        for q, grades in enumerate(GRADES)
    )


def with_model(case):
    """Doubly robust, with a click model that is the same for all documents."""
    return estimates.doubly_robust(case, lambda q: np.full((6, 1), 0.3) * LOOK)


def with_right_model(case):
    """Doubly robust, with the click model of users who look by place."""
    pulls = (np.array([0.1, 0.55, 1.0])[grades] for grades in GRADES)
    rates = [of_query[:, None] * LOOK for of_query in pulls]
    return estimates.doubly_robust(case, rates.__getitem__)


# --- probabilities


POLICIES = {
    "pl": LOGGING,
    "shuffle": Policy(SCORES, 3, "shuffle", 0.3),
    "epsilon": Policy(SCORES, 3, "epsilon", 0.2),
    "sorted": BEST,
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_marginals_are_those_of_all_lists(policy):
    for q in range(4):
        chances = policy.prefixes(q, LISTS)[:, 2]
        assert chances.sum() == pytest.approx(1, abs=1e-12)
        listed = [np.bincount(LISTS[:, k], chances, 6) for k in range(3)]
        assert np.abs(policy.marginals[q] - np.transpose(listed)).max() < 1e-12
        drawn = policy.draw(q, 4000, np.random.default_rng(q))
        often = [np.bincount(drawn[:, k], minlength=6) / 4000 for k in range(3)]
        assert np.abs(policy.marginals[q] - np.transpose(often)).max() < 0.04


@pytest.mark.parametrize("spread", [0.0, 1.5, 5.0])
def test_places_of_a_long_query_are_filled_once(spread):
    scores = spread * np.random.default_rng(0).normal(size=119)
    chances = plackett_luce.marginals(scores, 10, np.ones(119))
    assert np.abs(chances.sum(axis=0) - 1).max() < 1e-12
    few = plackett_luce.marginals(scores[:10], 10, np.ones(10))
    assert np.abs(few.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("logging", POLICIES.values(), ids=POLICIES)
def test_clicks_on_each_document_in_each_place_are_those_of_all_lists(logging, user):
    log, share = enumerated(user, logging)
    for q, chances in enumerate(World(GRADES, logging, USERS[user]).clicks_in_log()):
        rows = log.query == q
        clicks, listed = share[rows, None] * log.click[rows], log.document[rows]
        counted = [np.bincount(listed[:, k], clicks[:, k], 6) for k in range(3)]
        assert np.abs(chances / 4 - np.transpose(counted)).max() < 1e-12


def test_of_who_leaves_by_place_no_limit_is_known():
    user = User(((0.2, 0.5, 0.9),), (0.1, 0.2, 0.3), (1.0, 0.5))
    for chances in World(GRADES, LOGGING, user).clicks_in_log():
        assert np.isnan(chances).all(axis=0).tolist() == [False, True, True]


# --- worlds


@pytest.mark.parametrize(
    ("user", "best", "today"),
    [
        ("position", 1.4770833, 0.7402127),
        ("trust", 1.5092014, 1.1875770),
        ("navigational", 1.0699875, 0.8789740),
        ("informational", 1.5609629, 1.4814018),
        ("contrast", 1.2833333, 0.6434310),
        ("random", 0.3666667, 0.3666667),
    ],
)
def test_true_clicks(user, best, today):
    assert true(user, BEST) == pytest.approx(best, abs=1e-6)
    assert true(user, LOGGING) == pytest.approx(today, abs=1e-6)
    if user in USERS:
        assert World(GRADES, LOGGING, USERS[user]).clicks_of(BEST).sum() == pytest.approx(best)


def test_a_log_is_drawn_as_its_world_says(tmp_path):
    log = World(GRADES, LOGGING, USERS["navigational"]).draw(40_000, np.random.default_rng(0))
    whole, share = enumerated("navigational")
    for k in range(3):
        assert log.click[:, k].mean() == pytest.approx(share @ whole.click[:, k], abs=0.01)
    assert np.mean(1 / log.marginal, axis=0) == pytest.approx([6, 6, 6], rel=0.05)
    # the probabilities given what stands above have other means: one less at each place
    assert np.mean(1 / log.given_above, axis=0) == pytest.approx([6, 5, 4], rel=0.05)
    storage.write(log, tmp_path / "log.parquet", {})
    read = storage.read(tmp_path / "log.parquet")
    for name in ("query", "document", "click", "given_above", "marginal"):
        assert (getattr(read, name) == getattr(log, name)).all()
    with pytest.raises(DataError, match="there is no"):
        storage.read(tmp_path / "none.parquet")


# --- estimators


@pytest.mark.parametrize(
    ("estimator", "user", "bias", "deviation"),
    [
        (estimates.prefix, "position", 0, 10.017),
        (estimates.item_position, "position", 0, 3.031),
        (estimates.pooled, "position", 0, 1.703),
        (with_model, "position", 0, 2.347),
        (with_right_model, "position", 0, 1.513),
        (estimates.prefix, "navigational", 0, 4.144),
        (estimates.item_position, "navigational", 0.5866, None),
        (estimates.pooled, "navigational", 0.9022, None),
    ],
)
def test_what_each_premise_costs(estimator, user, bias, deviation):
    mean, spread = told(estimator, user, BEST)
    assert mean - true(user, BEST) == pytest.approx(bias, abs=1e-4 if bias else 1e-9)
    if deviation:
        assert spread == pytest.approx(deviation, abs=1e-3)


@pytest.mark.parametrize("target", [BEST, SOFT])
def test_where_a_premise_holds_an_estimator_is_unbiased(target):
    right = {
        estimates.prefix: USERS,
        estimates.item_position: ("position", "trust", "random"),
        with_model: ("position", "trust", "random"),
        estimates.pooled: ("position", "random"),
    }
    for estimator, users in right.items():
        for user in users:
            assert told(estimator, user, target)[0] == pytest.approx(true(user, target), abs=1e-9)
    assert abs(told(estimates.prefix, CONTRAST, target)[0] - true(CONTRAST, target)) > 0.03
    assert abs(told(estimates.pooled, "trust", target)[0] - true("trust", target)) > 0.03


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("logging", [LOGGING, POLICIES["shuffle"], POLICIES["epsilon"]])
@pytest.mark.parametrize("kind", ["item-position", "prefix", "pooled", "harvested"])
def test_what_estimates_tend_to_is_their_mean_over_all_lists(kind, logging, user):
    """Computed without a list, also where a premise is wrong or lists are missing."""
    queries = SimpleNamespace(visited=range(4))
    site = learners.Site(None, {"places": 3}, queries, World(GRADES, logging, USERS[user]))
    vars(site)["target"] = BEST
    look, estimator = LOOK, learners.made({"kind": kind.replace("harvested", "pooled")})
    if kind == "harvested":
        estimator = learners.made({"kind": "pooled", "curve": "harvested"})
        look, _ = estimator.curve(site.expected, site)
    log, share = enumerated(user, logging)
    terms = type(estimator).weighted(Case(log, logging, BEST, look)).clicked
    assert estimator.limit(site) == pytest.approx(share @ terms, abs=1e-12)


def test_conditional_probabilities_are_no_marginal_ones():
    """Their weights have a mean of 1 for a policy that explores, and are wrong all the same."""
    log, share = enumerated("navigational")
    of_both = []
    for policy in (SOFT, LOGGING):
        prefixes = np.empty(log.given_above.shape)
        for q in range(4):
            rows = log.query == q
            prefixes[rows] = policy.prefixes(q, log.document[rows])
        of_both.append(prefixes / np.c_[np.ones(len(prefixes)), prefixes[:, :-1]])
    weights = of_both[0] / of_both[1]
    assert share @ weights == pytest.approx(np.ones(3))
    bias = share @ (weights * log.click).sum(axis=1) - true("navigational", SOFT)
    assert bias == pytest.approx(0.706, abs=1e-3)


def test_lists_that_the_log_cannot_have_leave_a_lower_bound():
    """A log that shuffles its first three documents alone: estimates are far too low, bounds
    hold.
    """
    logging = Policy(SCORES, 3, "shuffle", 0.3)
    wrong = {estimates.prefix: 0.61, estimates.item_position: 0.69}
    log = World(GRADES, logging, USERS["position"]).draw(4000, np.random.default_rng(1))
    for estimator, mean in wrong.items():
        assert told(estimator, "position", BEST, logging)[0] == pytest.approx(mean, abs=6e-3)
        bounds = estimates.interval(estimator(Case(log, logging, BEST, LOOK)))
        assert bounds.t_high < 1 < true("position", BEST) < bounds.high
        assert bounds.low < true("position", BEST)


def test_pooled_weights_are_bounded_by_what_they_stand_for():
    """Their sum is not the number of places: the upper end has to know its mean."""
    log, share = enumerated("position")
    of = estimates.pooled(Case(log, LOGGING, BEST, LOOK))
    shown = (of.clicked + of.missed).sum(axis=1)
    assert share @ shown == pytest.approx(3.0457, abs=1e-4)
    for q in range(4):
        rows = log.query == q
        mean = share[rows] @ shown[rows] / share[rows].sum()
        assert of.most[rows].sum(axis=1) == pytest.approx(np.full(rows.sum(), mean))


def test_the_curve_is_harvested_from_clicks_alone():
    for user, curve in {"position": LOOK, "navigational": [1, 0.82, 0.67]}.items():
        for logging in (LOGGING, Policy(SCORES, 3, "epsilon", 0.2)):
            log = World(GRADES, logging, USERS[user]).draw(60_000, np.random.default_rng(2))
            harvested = estimates.harvested_curve(estimates.counted(log, logging))
            assert harvested == pytest.approx(curve, abs=0.04)


def test_intervals_hold_where_the_premise_does():
    """In 40 logs, betting's of item-position weights, and of prefixes for users who leave."""
    held = {}
    for seed in range(40):
        for user in ("position", "navigational"):
            world = World(GRADES, LOGGING, USERS[user])
            log = world.draw(2000, np.random.default_rng([seed, 2000]))
            for name in ("item_position", "prefix", "pooled", "doubly_robust"):
                of = getattr(estimates, name)(Case(log, LOGGING, BEST, LOOK))
                bounds = estimates.interval(of, likely=name == "prefix" and seed < 3)
                truth = world.clicks_of(BEST).sum()
                held.setdefault((name, user), []).append(bounds.low <= truth <= bounds.high)
                assert bounds.t_low < bounds.estimate < bounds.t_high
                if name == "prefix" and seed < 3:
                    assert bounds.likely_low < bounds.likely_high < 3
    counted = {key: sum(values) for key, values in held.items()}
    assert min(counted["item_position", "position"], counted["pooled", "position"]) >= 37
    assert min(counted["prefix", "position"], counted["prefix", "navigational"]) >= 37
    assert counted["item_position", "navigational"] == counted["pooled", "navigational"] == 0
    assert counted["doubly_robust", "position"] == 0  # weights may be negative: there is none


def test_the_bound_on_a_lead_holds_and_a_policy_does_not_lead_itself():
    """Of 40 logs; both sides are without exploration, so that the log's own clicks do not count."""
    world, sorts = World(GRADES, LOGGING, USERS["position"]), Policy(SCORES, 3)
    lead = (world.clicks_of(BEST) - world.clicks_of(sorts)).sum()
    worse = Policy(tuple(np.where(s == s.max(), s.min(), s) for s in SCORES), 3)
    loss = (world.clicks_of(worse) - world.clicks_of(sorts)).sum()
    bounds = []
    for seed in range(40):
        log = world.draw(4000, np.random.default_rng([seed, 4000]))
        rivals = (BEST, sorts), (worse, sorts), (sorts, sorts)
        bounds.append([estimates.least_lead(log, LOGGING, *pair, LOOK) for pair in rivals])
    of_best, of_worse, of_itself = np.transpose(bounds)
    assert (of_best <= lead).sum() >= 37 and of_best.min() > lead / 2
    assert (of_worse <= loss).sum() >= 37 and loss < -0.1
    assert np.abs(of_itself).max() < 1e-9


@pytest.mark.parametrize(("user", "refuted"), [("position", 0), ("trust", 0), ("random", 0),
                                               ("navigational", 40)])  # fmt: skip
def test_a_log_refutes_that_what_stands_above_does_not_matter(user, refuted):
    world = World(GRADES, LOGGING, USERS[user])
    logs = [world.draw(4000, np.random.default_rng([seed, 7])) for seed in range(40)]
    accused = sum(estimates.premise_p(log, LOGGING) < 0.05 for log in logs)
    assert accused == refuted or (not refuted and accused <= 5)


def test_intervals_of_a_place():
    log = World(GRADES, LOGGING, USERS["navigational"]).draw(20_000, np.random.default_rng(3))
    truth = World(GRADES, LOGGING, USERS["navigational"]).clicks_of(BEST)
    assert truth == pytest.approx([0.950, 0.089, 0.031], abs=1e-3)
    of = estimates.prefix(Case(log, LOGGING, BEST, LOOK))
    for k, clicks in enumerate(truth):
        bounds = estimates.interval(of, place=k)
        assert bounds.low <= clicks <= bounds.high

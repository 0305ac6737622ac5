"""Doubts about logs: drift is found as often as its level says, shared rows are counted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_ads_api import frame

from scant_ads import Log
from scant_ads.diagnosis import health
from scant_ads.reading import digests, summing
from scant_ads.reading.tally import Tally
from scant_ads.reading.visits import Problem, Reading, Visits

TIMES = np.datetime64("2026-01-01T00:00:00", "us") + np.arange(6000) * np.timedelta64(1, "m")


def log(seed=0, rows=6000, rates=(0.12,), ads=4) -> Visits:
    """Ads shown alike; click rates of the successive parts of the log."""
    random = np.random.default_rng(seed)
    rate = np.repeat(rates, -(-rows // len(rates)))[:rows]
    action = random.integers(0, ads, rows, dtype=np.int32)
    features = random.standard_normal((rows, 2)).astype(np.float32)
    columns = action, (random.random(rows) < rate).astype(float), np.full(rows, 1 / ads)
    return Visits(features, *columns, tuple("abcdefgh"[:ads]), ("x", "y"))


def tally(made: Visits, **policies) -> Tally:
    """What is kept of a log's rows; `policies` are weights, float64 (rows)."""
    found, pieces = Tally(), [batch.piece for batch in as_log(made).batches()]
    found.add(made, np.concatenate(pieces), policies)
    return found


def as_log(made: Visits) -> Log:
    return Log(Reading("log", "memory", (), (), made))


def problems(made: Visits, kind: str = "") -> list[Problem]:
    found = health.problems(summing.summary(as_log(made)))
    return [problem for problem in found if kind in ("", problem.kind)]


# --- drift
def test_constant_rates_are_found_to_drift_as_often_as_the_level_says():
    """Of 1,000 tests at 1 %, 25 or more are found with a chance of 0.003 %."""
    ends, weights = np.arange(6000) * 20 // 6000, 4.0 * (log(0).action == 1)
    lengths, cuts = np.bincount(ends), np.arange(1, 21) / 20
    for weight in (np.ones(6000), weights):
        drifts = 0
        for seed in range(1000):
            term = weight * log(seed).reward
            sums = np.bincount(ends, term)
            drifts += health.drift(lengths, sums, term @ term, cuts).significant
        assert drifts < 25


def test_a_drift_that_matters_is_found():
    made = log(rates=(0.16, 0.1))
    assert tally(made).drift("").p < 1e-6
    (problem,) = problems(made)
    assert problem.kind == "drift" and "p = " in problem.reason
    assert "the click rate drifts: from" in problem.reason


def test_rows_are_compared_by_time_where_times_are_known():
    made = log(rates=(0.16, 0.08))
    mixed = np.random.default_rng(1).permutation(len(made))
    shuffled = made.take(mixed)
    assert not problems(shuffled)
    assert problems(replace(shuffled, timestamp=TIMES[mixed]))[0].kind == "drift"
    timed = replace(made, timestamp=TIMES), replace(shuffled, timestamp=TIMES[mixed])
    assert len({tally(of).drift("").p for of in timed}) == 1


def test_ads_that_take_turns_drift_though_all_together_do_not():
    """As in rows of a classification set in the order of their classes."""
    made = log()
    turn = np.arange(len(made)) * 4 // len(made)
    random = np.random.default_rng(5).random(len(made))
    made = replace(made, reward=(random < np.where(made.action == turn, 0.3, 0.06)).astype(float))
    assert not tally(made).drift("").significant
    assert "click rate of ad" in problems(made)[0].reason


def test_few_clicks_say_nothing_of_drift():
    made = log(rates=(0.002, 0.0))
    assert np.isnan(tally(made).drift("").p) and not tally(made).drift("").significant
    assert not problems(made, "drift")


def test_rewards_that_are_all_alike_look_missing():
    for reward, kind, reason in (
        (0.0, "no-clicks", "all 6,000 rewards are 0: rewards look missing"),
        (1.0, "all-clicks", "all 6,000 rewards are 1: visits without a click look missing"),
    ):
        (problem,) = problems(replace(log(), reward=np.full(6000, reward)))
        assert (problem.kind, problem.reason) == (kind, reason)


def test_sums_of_large_weights_are_exact():
    """Weights of 10^12, the largest possible, whose sums are beyond whole numbers of 64 bits."""
    made = replace(log(), reward=np.ones(6000))
    assert tally(made, mine=np.full(6000, 1e12)).mean("mine") == 1e12


# --- probabilities
def with_policy(made: Visits, probability) -> Visits:
    return replace(made, probabilities=np.column_stack([probability]), policies=("mine",))


def probabilities(made: Visits) -> list[Problem]:
    return list(health.probabilities(summing.summary(as_log(made)).all(), made.policies))


def test_probabilities_that_sum_to_one_are_no_problem():
    made = log()
    mixed = np.where(made.action == 1, 0.7, 0.1)
    for probability in (np.full(6000, 0.25), 1.0 * (made.action == 2), mixed):
        assert not probabilities(with_policy(made, probability))


@pytest.mark.parametrize(("probability", "total"), [(0.5, "2"), (0.1, "0.4")])
def test_probabilities_that_do_not_sum_to_one_are_errors(probability, total):
    (problem,) = probabilities(with_policy(log(), np.full(6000, probability)))
    assert (problem.kind, problem.severity) == ("policy-sum", "error")
    assert f"over the ads of a visit they sum to {total} on average" in problem.reason


def test_wrong_propensities_are_not_blamed_on_a_policy():
    wrong = with_policy(replace(log(), propensity=np.full(6000, 0.5)), np.full(6000, 0.25))
    (problem,) = probabilities(wrong)
    assert (problem.kind, problem.severity) == ("propensity-sum", "warning")
    assert "or propensities are too large: showing all 4 ads alike has a mean" in problem.reason


def test_rare_showings_are_no_alarm():
    """An ad shown in 0.1 % of visits, which a log of 300 rows mostly lacks.

    By a t interval the sum would be 0.1.
    """
    alarms = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        action = (random.random(300) < 0.001).astype(np.int32)
        propensity, features = np.where(action == 1, 0.001, 0.999), np.zeros((300, 1), np.float32)
        made = Visits(features, action, np.zeros(300), propensity, ("a", "b"), ("x",))
        listed = probabilities(with_policy(made, np.where(action == 1, 0.9, 0.1)))
        alarms += any(problem.severity == "error" for problem in listed)
    assert alarms == 0


# --- rows of two logs
def shared(test: Visits, train: Visits) -> tuple[np.ndarray, summing.Training]:
    """Which test rows are in the training log, bool (rows), and what is known of this log."""
    training = summing.Training(as_log(train), as_log(test))
    return training.has(test, digests.of(test), "test"), training


def both(first: Visits, second: Visits) -> Visits:
    columns = second.columns()
    rows = {name: np.concatenate([of, columns[name]]) for name, of in first.columns().items()}
    return replace(first, **rows)


def test_shared_rows_are_those_of_sets():
    test, train = log(1, 500), log(2, 800)
    rows, training = shared(test, both(train, test.take(np.r_[3:40, 3:5])))
    assert np.flatnonzero(rows).tolist() == list(range(3, 40))
    assert training.chance == 0 and training.shares(37, 500) and not training.shares(5, 500)
    assert not shared(test, train)[0].any()


ORDERS = (["action"], ["kind"], ["age"], ["action", "kind", "age", "reward"])


@pytest.mark.parametrize("by", ORDERS)
def test_chance_in_a_sorted_log_is_that_of_random_order(by):
    """As rows are sorted, the second half of a log has nothing that the first half has."""
    rows = frame(1200).assign(age=lambda rows: rows["age"].round(-1))
    chances = []
    for made in (rows, rows.sort_values(by, kind="stable")):
        train, test = Log.from_frame(made).split(0.5)
        training = summing.Training(train, test)
        assert not training.shares(summing.summary(test, training=training).shared.rows, len(test))
        chances.append(training.chance)
    assert min(chances) > 0.9


def test_chance_is_twice_the_rate_at_which_halves_meet():
    """A log has twice the rows of its half, in which a row of a test may be."""
    test, train = log(1, 500), log(2, 800)
    for repeats, alike, chance in ((40, 40, 80 / 420), (200, 200, 0.8)):
        rows, training = shared(test, both(train, train.take(np.r_[0:repeats])))
        assert (training.repeats, training.half) == (alike, (801 + repeats) // 2)
        assert training.chance == pytest.approx(chance) and not rows.any()
        assert not training.shares(int(chance * 500), 500)


def test_rows_logged_twice_are_no_chance_in_random_order():
    made = frame(1200).assign(z=np.random.default_rng(0).normal(size=1200))
    made = made.iloc[np.arange(2400) // 2]
    train, test = Log.from_frame(made).split(0.5)
    training = summing.Training(train, test)
    assert training.chance < 0.01 and training.shares(590, len(test))


@pytest.mark.parametrize("sizes", [[400], [100] * 4])
def test_halves_differ_in_the_column_by_which_rows_are_sorted(sizes):
    """However they are read; not in a constant whose sums are rounded, nor in missing numbers."""

    def differ(**columns) -> bool:
        made = {"action": [*"ab"] * 200, "reward": 0, "propensity": 0.1} | columns
        made, halves = Log.from_frame(pd.DataFrame(made)), summing.Halves(200)
        for start in np.cumsum([0, *sizes[:-1]]):
            halves.add(made.visits.take(slice(start, start + sizes[0])))
        return halves.differ

    number, mixed = np.arange(400.0), np.random.default_rng(1).permutation(400)
    for values in (number, number // 200, (number // 100).astype(int).astype(str)):
        assert differ(x=values)
    assert differ(reward=(number > 300) * 1) and differ(action=np.repeat([*"abcdefgh"], 50))
    missing = np.where(number < 390, np.nan, mixed)
    assert not differ(x=number[mixed]) and not differ(x=missing)
    assert not differ(x=0.1 + 1e6, y=[*"uvwx"] * 100)


def test_rows_that_meet_in_single_precision_are_not_the_same():
    """As two of 50,000 normal numbers do; where numbers were given so, few such rows are chance."""
    random = np.random.default_rng(0)
    x = random.normal(size=50_000)
    different = len(np.unique(x.astype(np.float32)))
    assert different < len(x) == len(np.unique(x))
    frame = {"action": random.integers(0, 3, 50_000) * 0, "reward": 0.0, "propensity": 1.0, "x": x}
    kinds = np.float64, np.float32
    for kind, other, equal in (*((*kinds, 0),), (*kinds[::-1], 50_000 - different)):
        made = Log.from_frame(pd.DataFrame(frame).astype({"x": kind}))
        assert summing.summary(made).digests.equal() == equal
        train, test = made.split(0.5)
        training = summing.Training(train, test)
        count = summing.summary(test, training=training).shared.rows
        assert not training.shares(count, len(test))
        again = Log.from_frame(pd.DataFrame(frame).astype({"x": other}))
        both_kinds = summing.summary(again, training=summing.Training(train, again)).shared.rows
        # compared in single precision, as one of them is
        assert len(train) <= both_kinds <= len(train) + 10


def test_texts_are_compared_by_what_they_say():
    made, codes = log(1, 400), np.arange(400) % 2

    def of(codes, *texts):
        features = np.column_stack([made.features[:, 0], codes]).astype(np.float32)
        return replace(made, features=features, categories={"y": texts})

    train = of(1 - codes, "v", "u")
    assert shared(of(codes, "u", "v"), train)[0].sum() == 400
    assert shared(of(codes, "u", "w"), train)[0].sum() == 200


def test_rows_that_are_alike_by_chance():
    """1,000 kinds of visits: as many of the test's are in the training log as in any other log."""
    pair = []
    for seed in (1, 2):
        kinds = np.random.default_rng(seed).integers(0, 125, (2000, 1)).astype(np.float32)
        pair.append(replace(log(seed, 2000), features=kinds, names=("x",)))
    rows, training = shared(*pair)
    assert rows.sum() > 500 and not training.shares(rows.sum(), 2000)

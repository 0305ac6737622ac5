"""What a log tells too well, or not yet: features after the click, clicks to come, new texts."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from ads_logs import problems
from sklearn.metrics import roc_auc_score

import scant_ads as sa
from scant_ads.diagnosis import leaks
from scant_ads.reading import summing

ROWS = 6000


def rows(seed=0, rate=0.1, size=ROWS) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    made = {"action": random.integers(0, 3, size)}
    made |= {"reward": (random.random(size) < rate).astype(int), "propensity": 1 / 3}
    made |= {"x": random.normal(size=size), "city": random.choice(["Ulm", "Bonn", "Köln"], size)}
    made |= {"many": [f"t{code}" for code in random.integers(0, 60_000, size)]}
    return pd.DataFrame(made)


def test_the_auc_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    for values in (random.normal(size=500), random.integers(0, 4, 500), np.full(500, 2.0)):
        positive = random.random(500) < 0.2
        assert leaks._auc(values, positive) == pytest.approx(roc_auc_score(positive, values))


def test_features_that_say_nothing_too_well_are_no_leaks():
    """Nor are texts of which each is in few rows, though these rows' own rates tell them well."""
    for seed in range(5):
        assert "leak" not in problems(rows(seed))


THERE, TELLS = "is there, neither missing nor 0", "alone tells which visits have a reward"


@pytest.mark.parametrize(
    ("leak", "why"),
    [
        (lambda clicked, random: np.where(clicked, random.exponential(9, ROWS) + 1, 0), THERE),
        (lambda clicked, random: np.where(clicked & (random.random(ROWS) < 0.2), 3, None), THERE),
        (lambda clicked, random: np.where(clicked, "paid", None), THERE),
        (lambda clicked, random: np.where(clicked, "paid", "left"), TELLS),
        (lambda clicked, random: 5 * clicked + random.normal(size=ROWS), f"{TELLS} (AUC "),
        (lambda clicked, random: -5 * clicked + random.normal(size=ROWS), TELLS),
    ],
)
def test_features_that_come_after_the_click_are_named(leak, why):
    made = rows()
    made["late"] = leak((made["reward"] > 0).to_numpy(), np.random.default_rng(1))
    problem = problems(made)["leak"]
    assert problem["severity"] == "warning"
    assert "feature 'late'" in problem["reason"] and why in problem["reason"]
    assert "--ignore late" in problem["mend"]
    assert any("feature 'late'" in note for note in sa.evaluate([], made).notes)


def test_with_few_clicks_nothing_is_said():
    made = rows(rate=0)
    made.loc[:20, "reward"] = 1
    assert "leak" not in problems(made.assign(late=made["reward"]))


def test_clicks_that_are_not_joined_yet_are_seen():
    made, row = rows(rate=0.1), np.arange(ROWS)
    late = made.assign(reward=np.where(row < 0.85 * ROWS, made["reward"], 0))
    reason = problems(late)["late"]["reason"]
    assert "rewards of the last 15 % of the log look not joined yet" in reason
    assert any("last 15 % of the log" in note for note in sa.evaluate([], late).notes)
    times = pd.Timestamp("2026-01-01") + pd.to_timedelta(row, "min")
    mixed = late.assign(timestamp=times).sample(frac=1, random_state=0)
    assert problems(mixed)["late"]["reason"] == reason
    assert "late" not in problems(mixed.drop(columns="timestamp"))
    first = made.assign(reward=np.where(row > 0.15 * ROWS, made["reward"], 0))
    assert "late" not in problems(first)


def test_rates_that_stay_or_fall_a_little_are_not_late():
    """Of 300 logs none, where 0.1 % are allowed; nor where a quarter of the clicks is gone."""
    for seed in range(300):
        random = np.random.default_rng(seed)
        rates = np.repeat([0.05, 0.05 if seed % 2 else 0.038], [1600, 400])
        reward = random.random(2000) < rates
        lengths, sums = np.full(20, 100), reward.reshape(20, -1).sum(axis=1)
        cuts = [Fraction(part, 20) for part in range(1, 21)]
        assert not [*leaks.late(lengths, sums, float(reward.sum()), cuts)]
    joined = np.where(np.arange(20) < 16, sums, 0)
    assert [*leaks.late(lengths, joined, float(joined.sum()), cuts)]


def test_texts_that_the_training_log_lacks_are_told():
    train, test = rows(0).drop(columns="many"), rows(1).drop(columns="many")
    test.loc[:299, "city"], test.loc[300:359, "city"] = "Kiel", "Aachen"
    notes = " ".join(sa.evaluate([], test, train=sa.Log.from_frame(train)).notes)
    assert "6 % of rows have a 'city' that the training log lacks ('Kiel', 'Aachen')" in notes
    notes = " ".join(sa.evaluate([], rows(1), train=sa.Log.from_frame(rows(0))).notes)
    assert "'city'" not in notes and "have a 'many'" in notes


def test_rows_of_each_text_are_counted_in_any_batches():
    made = sa.Log.from_frame(rows())
    counts = {name: pd.Series(rows()[name]).value_counts().to_dict() for name in ("city", "many")}
    for batch in (500, 10**6):
        assert summing.summary(made, rows=batch).features.texts == counts


def shown(rows: int, rate: float, seed: int, chance: float = 1.0) -> sa.Log:
    """Three ads: the visitor's best is clicked thrice as often, and shown unless chance decides."""
    random = np.random.default_rng(seed)
    best, action = random.integers(3, size=(2, rows))
    action = np.where(random.random(rows) < chance, action, best)
    propensity = np.where(action == best, 1 - chance, 0) + chance / 3
    reward = (random.random(rows) < rate * np.where(action == best, 3, 1)) * 1.0
    made = {"action": action, "reward": reward, "propensity": propensity, "x": random.random(rows)}
    return sa.Log.from_frame(pd.DataFrame(made))


def test_visits_that_click_otherwise_than_those_of_the_training_log_are_told():
    """However either was logged: also where few visits of training show other ads than the best."""

    def notes(test, train):
        found = sa.evaluate([], test, train=train, least_propensity=1 / 3)
        told = [note for note in found.notes if "showing all ads alike" in note]
        careful = found.text().startswith("Careful: today's CTR is of other visits, or times,")
        assert careful == bool(told)
        return told

    for chance, seed in itertools.product((1.0, 0.3, 0.02), range(30)):
        assert not notes(shown(2000, 0.05, seed), shown(2000, 0.05, 100 + seed, chance))
    (note,) = notes(shown(20_000, 0.2, 1), shown(20_000, 0.1, 2, 0.3))
    assert "here, but " in note and "--split compares on the same visits" in note

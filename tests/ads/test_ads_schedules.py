"""Ads that take turns leave no answer; rows that are merely sorted, and propensities that are
rounded, do.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ads_logs import problems as problems_of
from ads_logs import rows_of

import scant_ads as sa
from scant_ads.diagnosis.showings import SCHEDULE

PATH = Path(__file__).parents[2] / "benchmarks" / "ads_propensities.py"
SPEC = importlib.util.spec_from_file_location("benchmark_of_propensities", PATH)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)


def problems(log: sa.Log) -> dict[str, dict]:
    """By kind, but that some logs here have no features."""
    found = problems_of(log)
    found.pop("no-features", None)
    return found


def ab(rows=4000, rates=(0.05, 0.15), seed=0, **columns) -> pd.DataFrame:
    """An A/B test; the arm is drawn unless it is given."""
    random = np.random.default_rng(seed)
    arm = columns.pop("arm", random.integers(0, 2, rows))
    reward = (random.random(rows) < np.array(rates)[arm]) * 1
    return pd.DataFrame({"action": arm, "reward": reward, "propensity": 0.5} | columns)


def times(rows=4000) -> pd.DatetimeIndex:
    return pd.date_range("2026-03-02", periods=rows, freq="30min")


def by_hour() -> np.ndarray:
    """The arm of each row: one before noon, the other after."""
    return (times().hour >= 12).astype(int)


@pytest.mark.parametrize("kind", [kind for kind in benchmark.SCHEDULES if "65 %" not in kind])
def test_every_schedule_is_called_one(kind):
    assert benchmark.kinds_of(*benchmark.scheduled(kind, 0, np.random.default_rng(0))) == {SCHEDULE}


@pytest.mark.parametrize("kind", benchmark.RIGHT)
def test_right_logs_are_not_accused(kind):
    """Neither by `check`, nor by a note on the policy that shows all ads alike."""
    for number in (2,) if " ads" in kind else range(3):  # those of many ads take long
        made, roles = benchmark.right(benchmark.RIGHT[kind], number, np.random.default_rng(number))
        log = sa.Log.from_frame(made.reset_index(drop=True), roles)
        assert log.check().ok
        least = "unknown" if np.ptp(made["propensity"]) else None
        said = sa.evaluate([], log, least_propensity=least).text()
        assert "No verdict" not in said and ": propensities are wrong\n" not in said


def test_ads_by_the_hour_have_neither_yes_nor_no():
    """They click alike: the hours do not."""
    made = ab(arm=by_hour())
    log = sa.Log.from_frame(made)
    problem = problems(log)[SCHEDULE]
    assert problem["severity"] == "error"
    said = (
        r"ads follow a schedule: after a row that shows ad '[01]', .* 1,9\d\d of [12],\d\d\d rows"
    )
    assert re.match(said, problem["reason"])
    checked = str(log.check())
    assert "by columns={'timestamp': 'COLUMN'}" in checked and "'user': 'COLUMN'" in checked
    found = sa.evaluate(["each-ad"], log)
    assert found.text().startswith("No verdict: ads follow a schedule")
    assert found.text().count("none: ads follow a schedule, see above") == 2
    assert found.choice is None and {row["refused"] for row in found.rows} == {SCHEDULE}
    assert found.to_frame()[["estimate", "low", "high", "lift"]].isna().all(axis=None)
    timed = problems(sa.Log.from_frame(made.assign(timestamp=times())))[SCHEDULE]
    assert "--time" not in timed["mend"]


def test_a_schedule_of_the_training_log_is_noted():
    train = sa.Log.from_frame(ab(arm=by_hour(), x=np.arange(4000)))
    test = sa.Log.from_frame(ab(seed=3, x=np.arange(4000) + 0.5))
    notes = sa.evaluate(["ad:1"], test, train=train).notes
    assert any("ads follow a schedule" in note and "learning may suffer" in note for note in notes)


def test_ads_that_take_turns_row_by_row_have_the_same_visits():
    """No error: an ad in turn is drawn less often again than by chance, and all ads have visits of
    all hours.
    """
    assert SCHEDULE not in problems(sa.Log.from_frame(ab(arm=np.arange(4000) % 2)))


@pytest.mark.parametrize(
    ("by", "ascending"), [("action", True), ("action", False), ("reward", False)]
)
def test_rows_that_are_merely_sorted_are_told_apart_and_judged(by, ascending, tmp_path):
    made = ab().assign(timestamp=times()).sort_values(by, ascending=ascending)
    log = sa.Log.from_frame(made.drop(columns="timestamp"))
    what = {"action": "ad", "reward": "reward"}[by]
    found = problems(log)
    assert found.keys() == {"sorted"} and log.check().ok
    assert found["sorted"]["reason"] == f"rows are sorted by {what}"
    assert "--time" in found["sorted"]["mend"]
    judged = sa.evaluate(["ad:1"], log)
    said, notes = judged.decision(), " ".join(judged.notes)
    assert judged.choice["better"] and said.endswith(". Careful: rows are sorted, see below")
    assert "drift" not in notes and "are sorted by" in notes
    judged.report(tmp_path / "out.html", log)
    page = (tmp_path / "out.html").read_text()
    assert '<div class="answer careful">' in page and "; but rows are sorted</h1>" in page
    with_times = problems(sa.Log.from_frame(made))
    assert SCHEDULE not in with_times
    assert with_times["sorted"]["mend"] == "Their times are used where order matters"
    judged = sa.evaluate(["ad:1"], sa.Log.from_frame(made))
    assert judged.choice["better"] and "Careful" not in judged.decision()


def test_rows_sorted_by_other_columns_first_are_no_schedule():
    made = ab(os=np.random.default_rng(1).choice(["ios", "web"], 4000))
    found = problems(sa.Log.from_frame(made.sort_values(["os", "action", "reward"])))
    assert found["sorted"]["reason"] == "rows are sorted by ad and reward" and SCHEDULE not in found
    in_turns = problems(sa.Log.from_frame(ab(arm=np.arange(4000) // 200 % 2)))
    assert SCHEDULE in in_turns and "sorted" not in in_turns


def test_one_ad_after_the_other_is_a_schedule_if_times_say_so():
    made = ab().sort_values("action").assign(timestamp=times())
    assert SCHEDULE in problems(sa.Log.from_frame(made))


def test_few_rows_are_sorted_by_chance():
    assert "sorted" not in problems(sa.Log.from_frame(ab(6, arm=np.array([0, 0, 0, 1, 1, 1]))))
    assert "sorted" in problems(sa.Log.from_frame(ab(20, arm=np.repeat([0, 1], 10))))


def test_rates_that_drift_make_the_headline_amber(tmp_path):
    random = np.random.default_rng(0)
    arm = random.integers(0, 2, 20_000)
    reward = (random.random(20_000) < np.where(arm, 0.2, 0.1) * np.linspace(1.5, 0.5, 20_000)) * 1
    falling = pd.DataFrame({"action": arm, "reward": reward, "propensity": 0.5})
    steady = falling.sample(frac=1, random_state=1)
    for made, tone in ((falling, "careful"), (steady, "yes")):
        log = sa.Log.from_frame(made)
        found = sa.evaluate(["ad:1"], log)
        found.report(tmp_path / "out.html", log)
        page = (tmp_path / "out.html").read_text()
        assert found.choice["better"] and f'<div class="answer {tone}">' in page
        assert ("; but rates drift</h1>" in page) == (tone == "careful")
        assert (". Careful: rates drift, see below" in found.text()) == (tone == "careful")


ROUNDED = [(0.333, 3), (np.float32(1 / 3), 3), (0.17, 6), (0.003, 300)]


@pytest.mark.parametrize(("propensity", "ads"), ROUNDED)
def test_a_propensity_with_few_digits_is_the_fraction_that_it_means(propensity, ads, tmp_path):
    """Every number is that of a log with the fraction itself, in a file, in parts, and where it is
    stated.
    """
    random = np.random.default_rng(1)
    made = {"x": random.normal(size=9000), "action": random.permutation(9000) % ads}
    made = pd.DataFrame(made | {"reward": (random.random(9000) < 0.1) * 1})
    made = made.assign(**{"policy:mine": (made["action"] == 1) * 1.0, "policy:same": propensity})
    (tmp_path / "parts").mkdir()
    for name, rows in (("a", made[:600]), ("b", made[600:])):
        rows.assign(propensity=propensity).to_parquet(tmp_path / "parts" / f"{name}.parquet")
    logs = [
        sa.Log.from_frame(made.assign(**{"policy:same": 1 / ads}, propensity=1 / ads)),
        sa.Log.from_frame(made.assign(propensity=propensity)),
        sa.Log.from_frame(made, propensity=float(propensity)),
        sa.Log.read(tmp_path / "parts"),
    ]
    texts, policies, least = [], ["mine", "same", "ad:1"], float(propensity)
    if ads < 300:  # of 300 ads it takes long
        policies.append(sa.Policy("logistic", steps=200, lambdas=(0.1,)))
    for log in logs:
        train, test = log.split(0.5)
        found = sa.evaluate(policies, test, train=train, least_propensity=least)
        texts.append(found.to_frame().drop(columns="policy").to_csv())
        assert ("uniform: all" in found.text()) and rows_of(found)["same"]["mean_weight"] == 1
        assert (f"its propensity is 1/{ads}, written as" in found.text()) == (log is not logs[0])
        written = f"1/{ads}, written as {propensity:g} in all rows"
        assert (written in str(log.check())) == (log is not logs[0]) and log.check().ok
    assert texts[1:3] == texts[:1] * 2
    of_file, of_parts = (sa.evaluate(["mine", "same", "ad:1"], log) for log in (logs[1], logs[3]))
    assert of_parts.rows == of_file.rows


@pytest.mark.parametrize("propensity", [0.3, 0.32, 0.25])
def test_a_propensity_that_may_mean_two_fractions_or_none_is_as_it_is_written(propensity):
    made = pd.DataFrame({"action": [0, 1] * 50, "reward": [0, 1] * 50, "propensity": propensity})
    log = sa.Log.from_frame(made)
    assert (log.visits.propensity == propensity).all() and not log.source.fraction


def drawn(rows, shares, propensity) -> pd.DataFrame:
    """Visits that get each ad by its share, with the propensities that are written of the ads."""
    random = np.random.default_rng(1)
    action = random.choice(len(shares), rows, p=shares)
    made = {"action": action, "reward": (random.random(rows) < 0.1) * 1}
    return pd.DataFrame(made | {"propensity": np.broadcast_to(propensity, len(shares))[action]})


def test_a_policy_rounded_as_the_log_is_sums_to_one():
    made = drawn(20_000, np.full(3, 1 / 3), 0.333)
    for share in (1 / 3, 0.333):
        found = sa.evaluate(["mine"], made.assign(**{"policy:mine": share}))
        assert found.rows[1]["verdict"] == "cannot tell"
        assert not any("mean weight" in note for note in found.notes)
    assert sa.evaluate(["ad:1"], made, least_propensity=1 / 3).rows[1]["lower"] > 0


def test_full_distributions_may_be_rounded():
    made = ab(30, arm=np.arange(30) % 3, rates=(0.1, 0.1, 0.1)).assign(propensity=1 / 3)
    whole = {f"propensity:{ad}": 0.333 for ad in range(3)}
    assert sa.Log.from_frame(made.assign(**whole)).check().ok
    assert not sa.Log.from_frame(made.assign(**whole | {"propensity:2": 0.3})).check().ok


def test_shares_that_are_rounded_need_no_least_propensity():
    shares = np.array([1, 1, 4]) / 6
    assert shares.round(3).sum() == pytest.approx(1.001)
    found = sa.evaluate(["ad:1"], drawn(20_000, shares, shares.round(3)))
    assert found.rows[-1]["verdict"] == "cannot tell"


def test_ads_that_no_row_shows_are_counted_and_no_sum_is_blamed():
    made = drawn(1200, np.full(300, 1 / 300), 1 / 300)
    log, seen = sa.Log.from_frame(made), made["action"].nunique()
    assert seen < 300 and log.check().ok and "propensity-sum" not in problems(log)
    assert f"uniform: all 300 ads alike, of which {seen} were shown" in sa.evaluate([], log).text()


def test_showing_all_ads_alike_is_not_judged_where_the_log_lacks_many():
    made, _ = benchmark.right(benchmark.rare_ads, 2, np.random.default_rng(0))
    found = sa.evaluate([], sa.Log.from_frame(made), least_propensity="unknown")
    assert found.rows[1]["refused"] == "unseen-ads" and np.isnan(found.rows[1]["lower"])
    said = "the log lacks ads that there are, or propensities are too small"
    assert any(said in note for note in found.notes)

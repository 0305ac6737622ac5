"""Logs in folders: the numbers are those of the rows, however these are parted."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ads_api import frame

import scant.advice as sa
from scant.ads import evaluation, intervals
from scant.advice import health, parts
from scant.cli import main
from scant.errors import DataError, SettingError


def written(folder, made, count=3):
    folder.mkdir()
    for part in range(count):
        rows = slice(len(made) * part // count, len(made) * (part + 1) // count)
        made.iloc[rows].to_parquet(folder / f"{part:03}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def train():
    return sa.Log.from_frame(frame(3000))


@pytest.fixture(scope="module")
def policies(train):
    return [sa.fit(train, "logistic", steps=2000), sa.fit(train, "forest", epsilon=0.2, trees=5)]


same = {"policy", "estimate", "snips", "effective", "effective_clicks", "largest_weight", "mean_weight", "unmatched",
        "declared_weight", "verdict", "new_ads", "matched_clicks", "rows", "bound", "lambda", "epsilon"}  # fmt: skip


@pytest.mark.parametrize("ads", ["abc", "abx"])
def test_numbers_are_those_of_the_rows_in_memory(tmp_path, train, policies, ads):
    made = frame(5000, 1)
    made["action"] = made["action"].map(dict(zip("abc", ads, strict=True)))
    found = sa.evaluate(policies, sa.Parts(written(tmp_path / "log", made)), train=train)
    expected = sa.evaluate(policies, sa.Log.from_frame(made), train=train)
    for row, other in zip(found.rows, expected.rows, strict=True):
        for name in same:
            assert (
                row[name] == pytest.approx(other[name], nan_ok=True) if name != "policy" else row[name] == other[name]
            )
        np.testing.assert_allclose(row["drift"], other["drift"], rtol=1e-6)
        if row["bound"] == "clopper-pearson":
            np.testing.assert_allclose([row["low"], row["high"]], [other["low"], other["high"]])
        else:  # another random order
            assert row["low"] == pytest.approx(other["low"], rel=0.1) and row["high"] == pytest.approx(
                other["high"], rel=0.1
            )
    assert found.choice["policy"] == expected.choice["policy"]


@pytest.mark.parametrize("uneven", [False, True])
def test_it_does_not_matter_how_rows_are_parted(tmp_path, train, policies, uneven, monkeypatch):
    """Also where weights take so many values that they are rounded."""
    made, found = frame(3000, 2), []
    if uneven:
        made["propensity"] = np.random.default_rng(0).uniform(0.25, 0.45, 3000)
        monkeypatch.setattr(parts, "MOST", 300)
    for count, rows in ((1, 10**6), (4, 10**6), (7, 100)):
        log = sa.Parts(written(tmp_path / str(count), made, count))
        evaluated = parts.compare(policies, log, train.visits, declared=0.25, rows=rows)
        found.append([[repr(value) for value in row.values()] for row in evaluated.rows])
    assert found[0] == found[1] == found[2]


pairs = st.lists(st.tuples(st.floats(0, 50), st.sampled_from([0.0, 1.0, 0.5])), max_size=60)


@given(pairs, pairs, pairs)
@settings(max_examples=60, deadline=None)
def test_tables_add_up_in_any_order(first, second, third):
    """Merging is associative and commutative, whichever table is rounded first."""
    most, parts.MOST = parts.MOST, 20
    try:

        def table(*rows):
            cells = parts.Cells()
            for part in rows:
                if part:
                    cells.add(*np.array(part).T)
            return cells

        one = table(first + second + third)
        other, last = table(third), table(second, first)
        other.merge(last)
        assert one.rounded == other.rounded
        for left, right in zip(one.arrays(), other.arrays(), strict=True):
            np.testing.assert_array_equal(left, right)
        assert sum(one.counts.values()) == len(first) + len(second) + len(third)
    finally:
        parts.MOST = most


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_rounding_is_relative(values):
    values = np.array(values)
    np.testing.assert_allclose(parts._rounded(values), values, rtol=2**-11)


def test_counts_of_a_random_order_are_those_of_shuffled_rows():
    """The stages' counts have the expectation and the totals that shuffled rows have, and give the same bounds' law."""
    x = np.repeat([0.0, 1.0, 4.0], (900, 60, 40))
    values, counts = np.unique(x, return_counts=True)
    random = np.random.default_rng(0)
    drawn = [intervals.drawn(values, counts, 4.0, random) for _ in range(300)]
    shuffled = [intervals.counted(random.permutation(x), 4.0) for _ in range(300)]
    assert all((terms.total == counts).all() and (terms.value == values).all() for terms in drawn)
    means = [np.mean([terms.count for terms in of], axis=0) for of in (drawn, shuffled)]
    np.testing.assert_allclose(
        means[0], np.outer(np.diff(intervals.stage_ends(1000), prepend=0) / 1000, counts), rtol=0.15
    )
    np.testing.assert_allclose(means[0], means[1], rtol=0.2)
    lows = [[float(intervals.betting(terms, 0.95)) for terms in of] for of in (drawn, shuffled)]
    assert abs(np.mean(lows[0]) - np.mean(lows[1])) < 4 * np.std(lows[0]) * (2 / 300) ** 0.5


def test_an_evaluation_of_cells_is_that_of_rows():
    random = np.random.default_rng(1)
    reward, target = (random.random(3000) < 0.3) * 1.0, (random.random(3000) < 0.25) * 1.0
    rows = evaluation.evaluate(reward, np.full(3000, 0.25), target, 4.0, 0.9, weights=(4.0,))
    cells = parts.Cells()
    cells.add(4 * target, reward)
    found = evaluation.evaluate_cells(*cells.arrays(), 4.0, 0.9, random, (4.0,))
    for one, other in zip(found.bounds, rows.bounds, strict=True):
        assert (one.estimator, one.bound) == (other.estimator, other.bound)
        if "betting" not in one.bound:
            assert [one.estimate, one.lower, one.low, one.high] == pytest.approx(
                [other.estimate, other.lower, other.low, other.high]
            )
    assert vars(found.diagnostics) == pytest.approx(vars(rows.diagnostics))
    assert (found.refused, found.warnings) == (rows.refused, rows.warnings)


def test_drift_is_that_of_the_rows_in_their_order(tmp_path):
    made = frame(4000, 3)
    made["reward"] = (np.random.default_rng(0).random(4000) < np.linspace(0.4, 0.1, 4000)).astype(int)
    log = sa.Parts(written(tmp_path / "log", made, 5))
    tally, _ = log.tally({}, rows=300)
    expected = health.drift(made["reward"].to_numpy(float))
    assert tally.drift("").p == pytest.approx(expected.p) and tally.drift("").p < 1e-6
    np.testing.assert_allclose(tally.drift("").rates, expected.rates)
    assert [problem["kind"] for problem in log.check()["problems"]] == ["drift"]


def test_what_is_wrong_with_a_folder_has_a_place(tmp_path, train, policies, capsys):
    made = frame(300, 1)
    made.loc[[150, 290], "reward"] = 2
    folder = written(tmp_path / "log", made)
    report = sa.Parts(folder).check()
    assert not report.ok and "3 parquet files" in str(report)
    assert "001.parquet, row 51: reward 2" in str(report) and "(2 rows)" in str(report)
    with pytest.raises(DataError, match=r"001.parquet, row 51: reward 2"):
        sa.evaluate(policies, sa.Parts(folder), train=train)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder has no parquet files"):
        sa.Parts(tmp_path / "empty")
    (folder / "003.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"003.parquet: not a readable parquet file"):
        sa.Parts(folder)
    (folder / "003.parquet").unlink()
    two = pa.table({"action": ["a", "b"], "reward": [0, 1], "propensity": [0.5, 0.5], "x": [1.0, 2.0]})
    pq.write_table(
        two, path := folder / "000.parquet", use_dictionary=False, compression="none", write_statistics=False
    )
    content = path.read_bytes()
    path.write_bytes(content[:12] + b"\0" + content[13:])  # how many values the first page has
    with pytest.raises(DataError, match=r"000.parquet: .*0 rows, where its metadata say 2"):
        sa.Parts(folder).check()
    fine = written(tmp_path / "fine", frame(300, 1))
    with pytest.raises(SettingError, match=r"is a folder: give Parts\("):
        sa.Log.read(fine)
    for arguments, message in (
        (["--policy", "logistic"], "logistic is learnt from a log"),
        (["--policy", "uniform", "--least-propensity", "unknown"], "the least propensity has to be known"),
        (["--policy", "uniform", "--split", "0.5"], "--split takes a log in one file"),
        (["--policy", "uniform", "--least-propensity", "0.9"], "has 0.333"),
    ):  # fmt: skip
        assert main(["ads", "evaluate", str(fine), *arguments]) == 1
        assert message in capsys.readouterr().err
    frame(300, 1).assign(propensity=np.linspace(0.2, 0.5, 300)).to_parquet(fine / "9.parquet", index=False)
    assert main(["ads", "evaluate", str(fine), "--policy", "uniform"]) == 1
    assert "propensities differ, so that --least-propensity is needed" in capsys.readouterr().err


def test_rows_of_the_training_log_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SAMPLED", 4)
    random = np.random.default_rng(0)
    train, test = (frame(2000, seed).assign(size=random.normal(size=2000)) for seed in (0, 1))
    mixed = written(tmp_path / "mixed", pd.concat([test, train.iloc[:400]]))
    log, policy = sa.Log.from_frame(train), ["uniform"]
    parted = sa.Parts(written(tmp_path / "test", test))
    assert not any("are in" in note for note in parts.compare(policy, parted, log.visits).notes)
    monkeypatch.setattr(parts.hashes, "__defaults__", ("log", 4))
    with pytest.raises(DataError, match="of the rows are in training log, too"):
        parts.compare(policy, sa.Parts(mixed), log.visits)
    kept = parts.compare(policy, sa.Parts(mixed), log.visits, shared="keep")
    share = float(next(note for note in kept.notes if "are in" in note).split("about ")[1].split(" %")[0])
    assert share == pytest.approx(100 * 400 / 2400, abs=6)


def test_a_folder_goes_through_the_command_line(tmp_path, capsys):
    simulate = ["ads", "simulate", "hotel", "--settings", '{"dimensions": 6}', "--policy", "uniform", "--rows", "2000"]
    folder = str(tmp_path / "log")
    assert main([*simulate, "--parts", "3", "--output", folder]) == 0
    assert main([*simulate, "--parts", "3", "--output", folder]) == 1
    assert "is there already, and not empty" in capsys.readouterr().err
    assert main(["ads", "check", folder]) == 0
    assert "2,000 rows, not looked through for equal ones" in capsys.readouterr().out
    assert main([*simulate, "--seed", "1", "--output", str(tmp_path / "train.parquet")]) == 0
    arguments = ["--train", str(tmp_path / "train.parquet"), "--policy", "logistic", "--steps", "2000"]
    report = tmp_path / "out.html"
    assert main(["ads", "evaluate", folder, *arguments, "--report", str(report)]) == 0
    assert "in 3 files" in capsys.readouterr().out and "not known" in report.read_text()
    assert not math.isnan(pd.read_parquet(tmp_path / "log")["reward"].mean())
    with pytest.raises(SettingError, match="parts is 0"):
        from scant.advice import simulated

        simulated.simulate_parts("hotel", {}, "uniform", 10, 0, 0, tmp_path / "none")

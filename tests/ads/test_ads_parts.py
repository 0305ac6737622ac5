"""Logs in folders: the numbers are those of the rows, however these are parted."""

import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ads_logs import ads, problems
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from test_ads_api import frame

import scant_ads as sa
from scant.bandits import evaluation, intervals
from scant.errors import DataError
from scant_ads.evaluation import lifts, quotients
from scant_ads.evaluation.compare import evaluate
from scant_ads.reading import digests, summing, tally
from scant_ads.reading.visits import Column


def written(folder, made, count=3):
    folder.mkdir()
    for part in range(count):
        rows = slice(len(made) * part // count, len(made) * (part + 1) // count)
        made.iloc[rows].to_parquet(folder / f"{part:03}.parquet", index=False)
    return folder


def told(evaluated):
    return repr((evaluated.rows, evaluated.comparisons, evaluated.choice))


@pytest.fixture(scope="module")
def train():
    return sa.Log.from_frame(frame(3000))


@pytest.fixture(scope="module")
def policies(train):
    return [sa.fit(train, "logistic", steps=2000), sa.fit(train, "forest", epsilon=0.2, trees=5)]


def test_numbers_are_those_of_the_rows_in_memory(tmp_path, train, policies):
    """Where the log has an ad that the training log lacks."""
    made = frame(5000, 1).replace({"action": {"c": "x"}})
    logs = sa.Log.read(written(tmp_path / "log", made)), sa.Log.from_frame(made)
    assert len({told(sa.evaluate(policies, log, train=train)) for log in logs}) == 1


@pytest.mark.parametrize("uneven", [False, True])
def test_it_does_not_matter_how_rows_are_parted(tmp_path, train, policies, uneven, monkeypatch):
    """Also where weights take so many values that they are rounded."""
    made, found = frame(3000, 2), []
    if uneven:
        made["propensity"] = np.random.default_rng(0).uniform(0.25, 0.45, 3000)
        monkeypatch.setattr(tally, "MOST", 300)
    for count, rows in ((1, 10**6), (4, 10**6), (7, 100)):
        log = sa.Log.read(written(tmp_path / str(count), made, count))
        evaluated = evaluate(policies, log, train=train, least_propensity=0.25, rows=rows)
        found.append(repr((evaluated.rows, evaluated.comparisons)))
    assert found[0] == found[1] == found[2]


pairs = st.lists(st.tuples(st.floats(0, 50), st.sampled_from([0.0, 1.0, 0.5])), max_size=60)


@given(pairs, pairs, pairs)
@settings(max_examples=30, deadline=None)
def test_tables_add_up_in_any_order(first, second, third):
    """Merging is associative and commutative, whichever table is rounded first."""
    most, tally.MOST = tally.MOST, 20
    try:

        def table(*rows):
            cells = tally.Cells()
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
        assert one.count.sum() == len(first) + len(second) + len(third)

    finally:
        tally.MOST = most


def test_counts_of_a_random_order_are_those_of_shuffled_rows():
    """The stages' counts have the expectation and totals of shuffled rows, and the bounds' law."""
    x = np.repeat([0.0, 1.0, 4.0], (900, 60, 40))
    values, counts = np.unique(x, return_counts=True)
    random = np.random.default_rng(0)
    drawn = [intervals.drawn(values, counts, 4.0, random) for _ in range(300)]
    shuffled = [intervals.counted(random.permutation(x), 4.0) for _ in range(300)]
    assert all((terms.total == counts).all() and (terms.value == values).all() for terms in drawn)
    means = [np.mean([terms.count for terms in of], axis=0) for of in (drawn, shuffled)]
    shares = np.diff(intervals.stage_ends(1000), prepend=0) / 1000
    np.testing.assert_allclose(means[0], np.outer(shares, counts), rtol=0.15)
    np.testing.assert_allclose(means[0], means[1], rtol=0.2)
    lows = [[float(intervals.betting(terms, 0.95)) for terms in of] for of in (drawn, shuffled)]
    assert abs(np.mean(lows[0]) - np.mean(lows[1])) < 4 * np.std(lows[0]) * (2 / 300) ** 0.5


def test_an_evaluation_of_cells_is_that_of_rows():
    random = np.random.default_rng(1)
    reward, target = (random.random(3000) < 0.3) * 1.0, (random.random(3000) < 0.25) * 1.0
    rows = evaluation.evaluate(reward, np.full(3000, 0.25), target, 4.0, 0.9, weights=(4.0,))
    cells = tally.Cells()
    cells.add(4 * target, reward)
    terms = intervals.drawn(cells.first * cells.second, cells.count, 4.0, random, (4.0,))
    found = evaluation.evaluate_cells(*cells.arrays(), terms, 0.9)
    for one, other in zip(found.bounds, rows.bounds, strict=True):
        assert (one.estimator, one.bound) == (other.estimator, other.bound)
        if "betting" not in one.bound:
            ends = [other.estimate, other.lower, other.low, other.high]
            assert [one.estimate, one.lower, one.low, one.high] == pytest.approx(ends)
    assert vars(found.diagnostics) == pytest.approx(vars(rows.diagnostics))
    assert (found.refused, found.warnings) == (rows.refused, rows.warnings)


def test_drift_is_that_of_the_rows_in_their_order(tmp_path):
    falling = np.random.default_rng(0).random(4000) < np.linspace(0.4, 0.1, 4000)
    made = frame(4000, 3).assign(reward=falling.astype(int))
    log = sa.Log.read(written(tmp_path / "log", made, 5))
    found = summing.summary(log, rows=300).all().drift("")
    clicks = made["reward"].to_numpy().reshape(20, -1).sum(axis=1)
    expected = stats.chi2_contingency([clicks, 200 - clicks]).pvalue
    assert found.p == pytest.approx(expected) and found.p < 1e-6
    np.testing.assert_allclose(found.rates, clicks / 200)
    assert "drift" in problems(log)


def write_without_a_page(table: pa.Table, path) -> None:
    """As parquet, whose first page says that it has no values."""
    pq.write_table(table, path, use_dictionary=False, compression="none", write_statistics=False)
    content = path.read_bytes()
    path.write_bytes(content[:12] + b"\0" + content[13:])


def test_what_is_wrong_with_a_folder_has_a_place(tmp_path, train, policies, capsys):
    made = frame(300, 1)
    made.loc[[150, 290], "reward"] = 2
    folder = written(tmp_path / "log", made)
    report = str(sa.Log.read(folder).check())
    assert "3 parquet files" in report
    assert "001.parquet, row 51: reward 2" in report and "(2 rows)" in report
    with pytest.raises(DataError, match=r"001.parquet, row 51: reward 2"):
        sa.evaluate(policies, sa.Log.read(folder), train=train)
    (tmp_path / "empty").mkdir()
    (folder / "003.parquet").write_bytes(b"PAR1 and nothing else")
    two = {"action": ["a", "b"], "reward": [0, 1], "propensity": [0.5, 0.5], "x": [1.0, 2.0]}
    (tmp_path / "page").mkdir()
    write_without_a_page(pa.table(two), tmp_path / "page/000.parquet")
    for name, reason in (
        ("empty", "the folder has no parquet files"),
        ("log", r"003.parquet: not a readable parquet file"),
        ("page", r"000.parquet: .*0 rows, where its metadata say 2"),
    ):
        with pytest.raises(DataError, match=reason):
            sa.Log.read(tmp_path / name).check()
    fine = frame(300, 1)
    uneven = written(tmp_path / "uneven", fine.assign(propensity=np.linspace(0.2, 0.5, 300)))
    fine = written(tmp_path / "fine", fine)
    for asked, message in (
        (f"{fine} --policy logistic", "logistic is learnt from a log"),
        (f"{fine} --policy uniform --least-propensity 0.9", "has 0.333"),
        (f"{uneven} --policy uniform", "propensities differ, so that --least-propensity is needed"),
    ):
        assert ads(f"evaluate {asked}") == 1
        assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def mixed(train):
    """Rows of a test log, some of the training log, and some twice; users are told apart well."""
    random = np.random.default_rng(0)
    of_train, test = (
        frame(rows, seed).assign(size=random.normal(size=rows))
        for rows, seed in ((1500, 0), (2000, 1))
    )
    test["policy:mine"] = np.where(test["action"] == "a", 0.8, 0.1)
    of_train["policy:mine"] = 1 / 3
    rows = pd.concat([test, of_train.iloc[:400], test.iloc[:70], test.iloc[:30]], ignore_index=True)
    return of_train.drop(columns="policy:mine"), rows


def test_equal_rows_shared_rows_and_pairs_are_those_of_the_log_in_memory(tmp_path, mixed):
    train, rows = mixed
    log, memory = sa.Log.from_frame(train), sa.Log.from_frame(rows)
    parted = sa.Log.read(written(tmp_path / "log", rows))
    assert parted.check()["duplicates"] == memory.check()["duplicates"] == 100
    policies = {"logistic": sa.fit(log, "logistic", steps=1000), "mine": "mine"}
    for test in (memory, parted):
        with pytest.raises(DataError, match=r"400 of 2,500 rows are in data frame, too.*shared='"):
            sa.evaluate(policies, test, train=log)
    found, expected = (
        sa.evaluate(policies, test, train=log, shared="drop") for test in (parted, memory)
    )
    assert told(found) == told(expected)
    notes = [note.replace("data frame:", f"{parted.name}:", 1) for note in expected.notes]
    assert notes == [*found.notes]
    assert len(found.pairs) == 1 and found.rows[1]["rows"] == 2100


def test_an_ad_of_rows_that_are_left_out_is_still_one(tmp_path, mixed):
    train, rows = (
        made.assign(action=made["action"].where(made["size"] != mixed[0]["size"][0], "d"))
        for made in mixed
    )
    tests = sa.Log.from_frame(rows), sa.Log.read(written(tmp_path / "log", rows))
    train = sa.Log.from_frame(train)
    one, other = (sa.evaluate(["mine"], test, train=train, shared="drop").rows[1] for test in tests)
    assert one["lower"] == pytest.approx(other["lower"]) and other["largest_weight"] == 0.75


def test_rounded_differences_are_bounded_by_the_ends_of_their_bins(tmp_path, monkeypatch):
    """Rounding makes the interval wider than that of the exact terms by next to nothing."""
    random, made = np.random.default_rng(0), frame(4000, 6)
    made["propensity"] = 1 / (3 * random.uniform(0.7, 1.3, 4000))  # mean weights are 1
    made["policy:mine"] = made["propensity"] * random.uniform(0.7, 1.3, 4000)
    log = sa.Log.read(written(tmp_path / "log", made))
    pair = ("uniform", "policy:mine")

    def difference():
        both = summing.summary(log, {"mine": Column("mine")}).all().both(pair)
        random = np.random.default_rng(1)
        return both and lifts.of_rows(quotients.difference, both, (4 / 3, 4.0), random)

    expected = difference()
    monkeypatch.setattr(tally, "MOST", 50)
    ends, inner = ([of.lower(0.975), of.upper(0.975)] for of in (difference(), expected))
    assert ends == pytest.approx(inner, abs=0.02)
    monkeypatch.setattr(tally, "FULL", 60)
    assert difference() is None
    notes = evaluate(["mine"], log, least_propensity=0.25).notes
    assert any("uniform and mine are not compared" in note for note in notes)


def test_digests_tell_rows_apart_and_know_equal_ones():
    """Whatever the order of columns, codes of texts, sign of 0, and one-hot columns of zeros."""
    made = frame(1000, 0).assign(size=0.0, half=np.arange(1000) % 7 / 2)
    found = digests.of(sa.Log.from_frame(made).visits)
    assert len(np.unique(found, axis=1).T) == 1000 - made.duplicated().sum()
    turned = made.assign(size=-0.0)[made.columns[::-1]]
    np.testing.assert_array_equal(digests.of(sa.Log.from_frame(turned).visits), found)
    zeros = sa.Log.from_frame(made.assign(**{"colour=red": 0}))
    np.testing.assert_array_equal(digests.of(zeros.visits), found)
    blue = made["kind"] == "blue"  # with other texts in the log, they have other codes
    np.testing.assert_array_equal(digests.of(sa.Log.from_frame(made[blue]).visits), found[:, blue])
    changes = {"size": 1e-30, "half": 9, "kind": "violet", "action": "z", "reward": 0.5}
    for name, value in changes.items():
        other = digests.of(sa.Log.from_frame(made.assign(**{name: value})).visits)
        assert (other[0] != found[0]).all() and (other[1] != found[1]).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(1, 9),
)
@settings(deadline=None)
def test_equal_digests_are_counted_whatever_half_they_share(rows, runs):
    """Digests that agree in one half only are of different rows."""
    found = np.array(rows, np.uint64).T << np.uint64(62)
    whole = digests.Digests()
    for run in np.array_split(found, runs, axis=1):
        whole.add(run)
    assert whole.equal() == len(rows) - len({*rows})
    assert whole.mark() == [len(rows), *(found.sum(axis=1).tolist())]
    known = digests.Index(found[:, :1])
    np.testing.assert_array_equal(known.has(found), (found == found[:, :1]).all(axis=0))


def test_parts_have_the_same_columns(tmp_path):
    folder = written(tmp_path / "log", frame(300, 1).assign(**{"colour=red": 1}))
    frame(300, 2).assign(**{"colour=blue": 1}).to_parquet(folder / "9.parquet", index=False)
    assert sa.Log.read(folder).check().ok
    frame(300, 2).drop(columns="age").to_parquet(folder / "9.parquet", index=False)
    with pytest.raises(DataError, match=r"9.parquet: columns that only one of it .* has: 'age'"):
        sa.Log.read(folder)


NO_PARTS = (".002.parquet.x7.parquet", "_metadata.parquet", "_temporary/0/part.parquet")
NO_PARTS += (".ipynb_checkpoints/000-checkpoint.parquet", "day=1/.tmp/a.parquet", "003.csv")
NO_PARTS += ("day=1/part",)


def test_what_is_no_part_of_a_log_is_left_out_and_named(tmp_path, train, capsys):
    """What Arrow, Spark and others keep there; not parts that end in capitals."""
    folder = written(tmp_path / "log", frame(300, 1))
    (folder / "day=1").mkdir()
    frame(100, 2).to_parquet(folder / "day=1/PART.PARQUET", index=False)
    clean = sa.Log.read(folder)
    for name in (*NO_PARTS, "_SUCCESS", ".000.parquet.crc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "000.parquet", folder / name)
    log = sa.Log.read(folder)
    assert log.source.files == clean.source.files and len(log) == len(clean) == 400
    assert [path.relative_to(folder).as_posix() for path in log.source.left_out] == sorted(NO_PARTS)
    said = "files that are no parts, by their names, are left out: '.002.parquet.x7.parquet', '.ip"
    for words in (f"check {folder}", f"evaluate {folder} --policy uniform"):
        assert ads(words) == 0
        assert said in capsys.readouterr().out.replace("\n", "")
    assert problems(log)["left-out"]["severity"] == "warning"
    assert "left-out" not in problems(clean)
    hidden = written(tmp_path / "_log", frame(300, 1))  # the folder itself may be called so
    assert len(sa.Log.read(hidden)) == 300
    for path in sorted(hidden.iterdir()):
        path.rename(path.with_name(f"_{path.name}"))
    with pytest.raises(DataError, match="the folder has no parquet files"):
        sa.Log.read(hidden)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_rows_do_not_count_twice_by_a_link(tmp_path, link):
    folder = written(tmp_path / "log", frame(300, 1))

    def refused(reason, path):
        with pytest.raises(DataError, match=reason):
            sa.Log.read(folder)
        path.unlink()

    link(folder / "001.parquet", folder / "003.parquet")
    refused(r"003.parquet: the same file as \S*001.parquet", folder / "003.parquet")
    shutil.move(folder / "001.parquet", tmp_path / "elsewhere.parquet")
    link(tmp_path / "elsewhere.parquet", folder / "001.parquet")
    assert len(sa.Log.read(folder)) == 300, "a part may be a link to a file elsewhere"
    (folder / "again").symlink_to(tmp_path / "log")
    refused("log/again: a link to a folder, which is not followed", folder / "again")
    (folder / "4.parquet").symlink_to(tmp_path / "nowhere")
    refused(r"4.parquet: cannot be read \(No such file or directory\)", folder / "4.parquet")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1.5, 2.5], ["1.5", "two"], "has text, and numbers in"),
        (["1", "2"], [1, 2], "has numbers, and text in"),
        ([1, 2], np.array([0, 1], "M8[s]"), "has times, and numbers in"),
    ],
)
def test_a_feature_is_of_one_kind_in_all_parts(tmp_path, capsys, first, second, said):
    """Which `check` and `evaluate` say alike, with the part and the column."""
    folder, half = tmp_path / "log", frame(200, 1)
    folder.mkdir()
    for name, values in (("0", [None, None]), ("1", first), ("2", second)):
        half.assign(size=[*values] * 100).to_parquet(folder / f"{name}.parquet", index=False)
    errors = []
    for words in (f"check {folder}", f"evaluate {folder} --policy uniform"):
        assert ads(words) == 1
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert f"2.parquet: column 'size' {said} {folder / '1.parquet'}" in errors[0]
    assert len(sa.Log.read(folder, ignore=["size"])) == 600
    if "times" not in said:
        assert sa.Log.read(folder, categorical=["size"]).check().ok


@pytest.mark.parametrize("values", [[1.5, 2.5], ["Ulm", "Bonn"]])
@pytest.mark.parametrize("typed", [True, False])
def test_a_feature_may_lack_values_in_a_part_or_in_all(tmp_path, values, typed):
    """However rows are parted, the numbers are those of one file."""
    train, test = (frame(400, seed).assign(size=values * 200, none=None) for seed in (0, 1))
    train.loc[:100, "size"] = None
    test.loc[test.index < 200, "size"] = None
    if typed:
        train, test = (made.astype({"none": float}) for made in (train, test))
    policy = sa.fit(sa.Log.from_frame(train), "logistic", steps=500, lambdas=(0.1,))
    (folder := tmp_path / "log").mkdir()
    for part in (0, 1):
        table = pa.Table.from_pandas(test[200 * part : 200 * part + 200], preserve_index=False)
        at = table.column_names.index("size")
        empty = [pa.array([None] * 200, pa.null() if not typed else table.schema.types[at])]
        table = table if part else table.set_column(at, "size", empty)
        pq.write_table(table, folder / f"{part}.parquet")
    log, memory, train = sa.Log.read(folder), sa.Log.from_frame(test), sa.Log.from_frame(train)
    expected = sa.evaluate([policy], memory, train=train).to_frame()["estimate"]
    for rows in (30, 10**6):
        found = evaluate([policy], log, train=train, rows=rows).to_frame()
        assert found["estimate"].to_numpy() == pytest.approx(expected.to_numpy())
    assert log.check().ok and log.check()["duplicates"] == memory.check()["duplicates"]


def test_policies_are_learnt_from_a_folder_as_from_a_file(tmp_path, capsys):
    """Whichever way rows are parted: the saved policies are the same, byte for byte."""
    made = frame(600, 1).assign(many=np.random.default_rng(0).choice([*"abcdefgh", None], 600))
    made.to_parquet(tmp_path / "log.parquet", index=False)
    logs = [written(tmp_path / "log", made), tmp_path / "log.parquet"]
    test, logistic = tmp_path / "test.parquet", "--policy logistic"
    frame(300, 2).assign(many="a").to_parquet(test, index=False)
    said, saved = [], []
    for log in logs:
        assert ads(f"fit {log} {logistic} --output {tmp_path}/policy.arrow") == 0
        saved.append((tmp_path / "policy.arrow").read_bytes())
        for words in (f"{test} --train {log}", f"{log} --split 0.5"):
            capsys.readouterr()
            assert ads(f"evaluate {words} {logistic}") == 0
            printed = capsys.readouterr().out.replace(str(log), "log")
            said.append(printed.replace(", in 3 parquet files", ""))
    assert saved[0] == saved[1] and said[:2] == said[2:]
    assert sa.fit(frame(300).assign(visits=1), "logistic", steps=10).fitted


def test_a_folder_goes_through_the_command_line(tmp_path, capsys):
    simulate = "simulate hotel --policy uniform --rows 2000"
    folder, train, report = tmp_path / "log", tmp_path / "train.parquet", tmp_path / "out.html"
    assert ads(f"{simulate} --output {tmp_path}/test.parquet") == 0
    written(folder, pd.read_parquet(tmp_path / "test.parquet"))
    assert ads(f"check {folder}") == 0
    assert "2,000 rows, 0 of them equal to an earlier one" in capsys.readouterr().out
    assert ads(f"{simulate} --seed 1 --output {train}") == 0
    learnt = f"--train {train} --policy logistic"
    assert ads(f"evaluate {folder} {learnt} --report {report}") == 0
    assert "in 3 parquet files" in capsys.readouterr().out
    assert "equal to an earlier row" in report.read_text()


@pytest.mark.parametrize("timed", [("test",), ("train", "test")])
def test_rows_of_other_times_are_others_where_both_logs_have_times(tmp_path, timed):
    made = frame(600, 1).assign(size=np.random.default_rng(0).normal(size=600))
    rows, roles = {"train": made, "test": made}, {"train": {}, "test": {}}
    for name in timed:
        times = 1_600_000_000 + 600 * (name == "test") + np.arange(600)
        rows[name] = made.assign(time=times, position=1)
        roles[name] = {"timestamp": "time"}
    train = sa.Log.from_frame(rows["train"], roles["train"])
    parted = sa.Log.read(written(tmp_path / "log", rows["test"]), roles["test"])
    tests = parted, sa.Log.from_frame(rows["test"], roles["test"])
    for test in tests:
        found = summing.summary(test, training=summing.Training(train, test))
        assert found.shared.rows == (0 if len(timed) == 2 else 600)


def test_of_more_rows_than_fit_in_memory_some_are_learnt_from(tmp_path, monkeypatch, capsys):
    made = frame(3000, 4)
    log = sa.Log.read(written(tmp_path / "log", made))
    assert log.learnable is log
    monkeypatch.setattr("scant_ads.reading.log.LEARNT", 1000)
    assert sa.Log.from_frame(made).learnable.chosen is None  # in memory already
    log = sa.Log.read(tmp_path / "log")
    drawn = made[log.learnable.chosen]
    assert 900 < len(drawn) < 1100 and len(log.learnable) == len(drawn)
    assert log.learnable is log.learnable
    train, _ = log.split(0.8)
    assert not (train.learnable.chosen & ~train.chosen).any() and 900 < len(train.learnable) < 1100
    drawn = drawn.reset_index(drop=True)
    policy, expected = (sa.Policy("logistic", steps=500).fit(each) for each in (log, drawn))
    assert (policy.predict(made) == expected.predict(made)).all()
    learning = f"--policy logistic --output {tmp_path}/policy.arrow"
    assert ads(f"fit {tmp_path}/log {learning}") == 0
    assert f"learnt from {len(drawn):,}, drawn at random, of 3,000 rows" in capsys.readouterr().out
    notes = sa.evaluate(["logistic"], sa.Log.from_frame(frame(500, 5)), train=log).notes
    assert any(f"policies learn from {len(drawn):,} of 3,000 rows" in note for note in notes)

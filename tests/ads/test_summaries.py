"""Parts of a log as jobs: their results together give the numbers of one process, or none."""

import functools
import json
import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from test_ads_api import frame
from test_ads_parts import written

import scant_ads as sa
from scant import files
from scant.cli import main
from scant.errors import DataError, SettingError
from scant_ads.reading import summaries


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a training log, a log in three parts, a saved policy, and the results of the parts."""
    folder = tmp_path_factory.mktemp("jobs")
    frame(2000).to_parquet(folder / "train.parquet", index=False)
    rows = frame(3000, 1)
    rows["policy:mine"] = np.where(rows["action"] == "a", 0.8, 0.1)
    written(folder / "log", rows)
    assert main(["ads", "fit", str(folder / "train.parquet"), "--policy", "logistic", "--steps", "1000",
                 "--output", str(folder / "logistic.arrow")]) == 0  # fmt: skip
    for part in (folder / "log").iterdir():
        assert main(["ads", "part", str(folder / "log"), part.name, *policies(folder),
                     "--output", str(folder / "results" / part.name)]) == 0  # fmt: skip
    return folder


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def policies(folder) -> list[str]:
    return ["--train", str(folder / "train.parquet"), "--policy", str(folder / "logistic.arrow"), "--policy", "mine"]


def test_results_together_are_those_of_one_process(made, tmp_path, capsys):
    evaluated = [tmp_path / name for name in ("one.json", "parts.json")]
    options = ["--shared", "keep", "--seed", "3", "--level", "0.9"]
    for target, parts in zip(evaluated, ([], ["--parts", str(made / "results")]), strict=True):
        arguments = ["ads", "evaluate", str(made / "log"), *policies(made), *options, *parts]
        assert main([*arguments, "--output", str(target), "--report", str(target.with_suffix(".html"))]) == 0
    assert evaluated[0].read_bytes() == evaluated[1].read_bytes()
    assert len(json.loads(evaluated[0].read_text())["pairs"]) == 1
    capsys.readouterr()
    for parts in ([], ["--parts", str(made / "results")]):
        assert main(["ads", "check", str(made / "log"), "--json", *parts]) == 0
    first, second = capsys.readouterr().out.split("\n}\n{")
    assert first.strip(" {}\n") == second.strip(" {}\n") and '"duplicates": ' in first


def test_a_policy_that_is_learnt_again_is_the_one_that_was_saved(made):
    train, log = sa.Log.read(made / "train.parquet"), sa.Log.read(made / "log")
    learnt = sa.fit(train, "logistic", steps=1000)
    found = sa.evaluate({"logistic": learnt, "mine": "mine"}, log, train=train, shared="keep", results=made / "results")
    read = sa.evaluate({"logistic": learnt, "mine": "mine"}, sa.Log.read(made / "log"), train=train, shared="keep")
    assert found.text() == read.text()


def refused(folder, *changed) -> str:
    with pytest.raises(DataError) as error:
        train, log = sa.Log.read(folder / "train.parquet"), sa.Log.read(folder / "log", *changed)
        given = {"logistic": sa.Policy.load(folder / "logistic.arrow"), "mine": "mine"}
        sa.evaluate(given, log, train=train, shared="keep", results=folder / "results")
    return str(error.value)


def test_a_result_that_is_missing_or_damaged_is_named(copy):
    result = copy / "results/001.parquet"
    whole = result.read_bytes()
    result.write_bytes(whole[: len(whole) // 2])
    assert "001.parquet: not a result of `scant ads part`" in refused(copy)
    changed = bytearray(whole)
    changed[len(whole) // 3] ^= 1
    result.write_bytes(changed)
    assert "its CRC-32 is another" in refused(copy) and "Make it again" in refused(copy)
    shutil.copy(copy / "log/001.parquet", result)
    assert "not a result of `scant ads part`" in refused(copy)
    shutil.copy(copy / "results/000.parquet", result)
    assert "001.parquet has changed since" in refused(copy), "the result of another part"
    result.unlink()
    assert "there is no result for 001.parquet. Make it: scant ads part" in refused(copy)
    (copy / "results/002.parquet").unlink()
    assert "there is no result for 001.parquet and 1 more of 3" in refused(copy)


def test_results_of_something_else_are_refused(copy):
    log, results, policy = copy / "log", copy / "results", copy / "logistic.arrow"
    assert "read with other options of reading" in refused(copy, None, ["age"])
    part, kept = log / "001.parquet", copy / "kept.parquet"
    shutil.copy2(part, kept)
    table = pq.read_table(part)
    pq.write_table(table.set_column(1, "reward", [(1 - np.array(table["reward"]))]), part)
    assert "001.parquet has changed since. Make it again, by `scant ads part`" in refused(copy)
    frame(100, 9).assign(**{"policy:mine": 1 / 3}).to_parquet(log / "003.parquet", index=False)
    shutil.copy(results / "002.parquet", results / "003.parquet")
    assert "made when the folder had other files" in refused(copy)
    (log / "003.parquet").unlink()
    shutil.copy2(kept, part)
    other = sa.fit(sa.Log.read(copy / "train.parquet"), "logistic", steps=1000, epsilon=0.1)
    saved = policy.read_bytes()
    other.save(policy)
    assert "made with other policies" in refused(copy)
    policy.write_bytes(saved)
    frame(2000, 5).to_parquet(copy / "train.parquet", index=False)
    assert "made with another training log" in refused(copy)
    table = files.read_parquet(results / "000.parquet")
    content = files.metadata_of(table.schema)
    content["made of"]["version"] = 0
    files.write_parquet(table, results / "000.parquet", content)
    assert "is of another version of this program" in refused(copy)


def test_a_part_is_known_by_its_content(copy):
    """Rewards that have changed are found though size and time are the same; a part that was copied is the same."""
    part = copy / "log/001.parquet"
    shutil.copy(part, copy / "kept.parquet")
    os.utime(part, ns=(0, 0))
    log, train = sa.Log.read(copy / "log"), sa.Log.read(copy / "train.parquet")
    expected = summaries.read(log, copy / "results").all().rows
    rows = pq.read_table(part)
    rewards = np.array(rows["reward"])
    for name, values in (("before", rewards), ("after", np.r_[rewards[1:], rewards[:1]])):
        table = rows.set_column(1, "reward", [values])
        pq.write_table(table, copy / name, compression="none", use_dictionary=False, write_statistics=False)
    shutil.copy(copy / "before", part)
    os.utime(part, ns=(0, 0))
    given = {"logistic": sa.Policy.load(copy / "logistic.arrow"), "mine": "mine"}
    sa.write_part(log, part.name, copy / "results" / part.name, given, train)
    before = part.stat()
    shutil.copy(copy / "after", part)
    os.utime(part, ns=(0, 0))
    assert (part.stat().st_size, part.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert "001.parquet has changed since. Make it again, by `scant ads part`" in refused(copy)
    with pytest.raises(DataError, match=r"001.parquet has changed since"):
        sa.check_parts(sa.Log.read(copy / "log"), copy / "results")
    shutil.copy(copy / "before", part)
    assert summaries.read(log, copy / "results").all().rows == expected == 3000


def test_errors_in_cells_are_listed_from_results(copy, tmp_path):
    rows = frame(300, 1)
    rows.loc[[150, 290], "reward"] = 2
    log = sa.Log.read(written(tmp_path / "log", rows))
    for part in range(3):
        sa.write_part(log, f"00{part}.parquet", tmp_path / f"results/00{part}.parquet")
    found = sa.check_parts(log, tmp_path / "results")
    assert not found.ok and dict(found) == dict(sa.Log.read(tmp_path / "log").check())
    with pytest.raises(DataError, match=r"001.parquet, row 51: reward 2"):
        sa.evaluate([], log, results=tmp_path / "results")


@pytest.mark.parametrize(("arguments", "message"), [
    (["part", "log", "9.parquet", "--output", "x"], "has no parquet file '9.parquet': name one in it, such as 000"),
    (["part", "log/000.parquet", "000.parquet", "--output", "x"], "is no folder of parquet files"),
    (["part", "log", "000.parquet", "--policy", "forest", "--output", "x"], "is to be learnt once, for all parts"),
    (["part", "log", "000.parquet", "--output", "log/000.parquet"], "would become a part of it"),
    (["part", "log", "000.parquet", "--columns", "reward=clik", "--output", "x"], "000.parquet: unknown column 'clik'"),
    (["part", "log", "000.parquet", "--policy", "min", "--output", "x"], "unknown policy 'min': Known: "),
    (["check", "train.parquet", "--parts", "results"], "--parts, are for a log in a folder"),
    (["evaluate", "train.parquet", "--parts", "results", "--policy", "uniform"], "are for a log in a folder"),
    (["evaluate", "log", "--parts", "nowhere", "--policy", "uniform"], "there is no result for 000.parquet and 2 more"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(made, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(made)
    assert main(["ads", *arguments]) == 1
    assert message in capsys.readouterr().err and not (made / "x").exists()


def test_a_policy_that_cannot_be_saved_is_none_of_parts(made):
    from sklearn.naive_bayes import GaussianNB

    train = sa.Log.read(made / "train.parquet")
    with pytest.raises(SettingError, match="cannot be saved"):
        sa.write_part(sa.Log.read(made / "log"), "000.parquet", made / "x", [sa.Policy(GaussianNB()).fit(train)], train)
    with pytest.raises(SettingError, match="learnt once"):
        summaries.write(sa.Log.read(made / "log"), "000.parquet", made / "x", {"new": sa.Policy("logistic")})


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("alone", "rows"), 10**30),
        (("alone", "ads"), {}),
        (("alone", "cells"), {}),
        (("alone", "segments", ""), 0),
        (("alone", "lengths"), [1]),
        (("policies",), ["x"]),
        (("alone", "cells", "", 1, 0), 0.0),
        (("alone", "cells", "", 1, 0), 1e308),
        (("alone", "cells", "", 2, 0), float("nan")),
        (None, 49),
        (None, 0),
    ],
)
def test_sums_that_do_not_fit_each_other_are_refused(tmp_path, place, wrong):
    (tmp_path / "log").mkdir()
    frame(50).to_parquet(tmp_path / "log/0.parquet", index=False)
    log, result = sa.Log.read(tmp_path / "log"), tmp_path / "0.parquet"
    summaries.write(log, "0.parquet", result, {})
    table = files.read_parquet(result)
    content = files.metadata_of(table.schema)
    if place is None:  # the digests of fewer rows
        table = table.slice(0, wrong)
    else:
        *outer, name = place
        functools.reduce(lambda held, key: held[key], outer, content["summary"])[name] = wrong
    files.write_parquet(table, result, content)
    with pytest.raises(DataError, match="not a result of `scant ads part`"):
        summaries.read(log, tmp_path)


def test_a_result_of_other_rows_than_the_part_has_is_refused(tmp_path):
    """Sums that fit each other, with what another part was made of."""
    for name, rows in (("log", 50), ("other", 40)):
        (tmp_path / name).mkdir()
        frame(rows).to_parquet(tmp_path / name / "0.parquet", index=False)
        summaries.write(sa.Log.read(tmp_path / name), "0.parquet", tmp_path / f"results-{name}/0.parquet", {})
    about, other = (files.read_parquet(tmp_path / f"results-{name}/0.parquet") for name in ("log", "other"))
    content = files.metadata_of(other.schema) | {"made of": files.metadata_of(about.schema)["made of"]}
    files.write_parquet(other, tmp_path / "results-log/0.parquet", content)
    with pytest.raises(DataError, match="other rows than the part has"):
        summaries.read(sa.Log.read(tmp_path / "log"), tmp_path / "results-log")

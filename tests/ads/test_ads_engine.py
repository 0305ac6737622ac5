"""One engine for all logs: however rows are parted, the report is the same to the last digit."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ads_api import frame
from test_ads_parts import written

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.diagnosis import overview
from scant_ads.evaluation import compare
from scant_ads.reading import summing, tally

TIMES = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(2400), "min")


@pytest.fixture(scope="module")
def made():
    """A training log, and rows of a test log, some of both, some twice; texts, missing numbers."""
    random = np.random.default_rng(0)
    train = frame(1500).assign(size=random.normal(size=1500), **{"policy:mine": 1 / 3})
    test = frame(2000, 1).assign(size=random.normal(size=2000))
    test["policy:mine"] = np.where(test["action"] == "a", 0.8, 0.1)
    rows = pd.concat([test, train.iloc[:300], test.iloc[:100]], ignore_index=True)
    return train.drop(columns="policy:mine"), rows.assign(none=np.nan)


def reports(log, batch, policies, train, **options):
    """All that is said of a log, but for its name, and what kind of files it is in."""
    found = compare.evaluate(policies, log, train=train, rows=batch, **options)
    texts = [
        text.replace(log.name, "test").replace(f", in {log.form}", "")
        for text in (*found.about, *found.notes)
    ]
    checked = overview.facts(log, summing.summary(log, rows=batch)) | {"form": ""}
    return texts, [*map(repr, (*found.rows, *found.comparisons, found.choice))], repr(checked)


OPTIONS = yaml.safe_load("""
{drop: {shared: drop}, unknown: {shared: drop, least_propensity: unknown},
 uneven: {least_propensity: 0.2}, by time: {}, out of order: {}, by user: {shared: drop}}
""")


class Way:
    """A way to log and compare: the rows of one file are read once, and any parts say the same."""

    def __init__(self, way, train, rows, folder):
        self.options, self.roles, rows = OPTIONS[way], {}, rows.copy()
        if way == "uneven":
            random = np.random.default_rng(3).uniform(0.2, 0.5, len(rows))
            rows["propensity"] = random
            rows["policy:mine"] = random
        elif way in ("by time", "out of order"):
            order = np.arange(2400)
            order = order if way == "by time" else np.random.default_rng(2).permutation(order)
            rows["id"], train = np.arange(2400), train.assign(id=-1 - np.arange(1500))
            rows["timestamp"] = TIMES[order].astype("datetime64[us]")
            kept = np.where(order < 1200, 0.3, 1.0)
            rows["reward"] *= np.random.default_rng(1).random(2400) < kept
        if way == "by user":
            self.roles = {"id": "visit", "user": "who"}
            rows["visit"], rows["who"] = np.arange(2400), np.arange(2400) % 300
            train = train.assign(visit=2350 + np.arange(1500), who=200 + np.arange(1500) % 300)
        shared = 0 if "id" in rows or way in ("uneven", "by user") else 300
        assert rows.merge(train.drop_duplicates(), "inner").shape[0] == shared
        self.rows, self.train = rows, sa.Log.from_frame(train, self.roles)
        self.policies, settings = {"mine": "mine"}, {"lambdas": (0.1,), "epsilon": 0.1}
        if way != "uneven":
            self.policies["logistic"] = sa.fit(self.train, "logistic", steps=500, **settings)
        rows.to_csv(folder / "log.csv", index=False)
        rows.to_parquet(folder / "log.pq", index=False)
        self.whole = self.found(folder / "log.csv", 300)
        assert_same(self.found(folder / "log.pq", 10**6), self.whole)

    def found(self, path, batch):
        """All that is said of a log, of its halves, which policies learn from, and of visits."""
        log = sa.Log.read(path, self.roles)
        said = [reports(log, batch, self.policies, self.train, **self.options)]
        halves = log.split(0.6, "time" if "timestamp" in self.rows else "random")
        for half in halves:
            facts = overview.facts(half, summing.summary(half, rows=batch)) | {"form": ""}
            said.append((half.visits.names, tuple(half.visits.categories.items()), repr(facts)))
        return said, [half.visits.columns() for half in halves]


def assert_same(found, wanted):
    assert found[0] == wanted[0]
    for some, others in zip(found[1], wanted[1], strict=True):
        assert some.keys() == others.keys()
        for column, values in others.items():
            np.testing.assert_array_equal(some[column], values)


@pytest.fixture(scope="module", params=OPTIONS)
def way(request, made, tmp_path_factory):
    return Way(request.param, *made, tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(cuts=st.lists(st.integers(0, 2400), max_size=5), batch=st.sampled_from([97, 1000, 10**6]))
def test_however_rows_are_parted_the_report_is_the_same(tmp_path_factory, way, cuts, batch):
    folder = tmp_path_factory.mktemp("log")
    for number, (start, end) in enumerate(pairwise(sorted({0, *cuts, 2400}))):
        way.rows.iloc[start:end].to_parquet(folder / f"{number}.parquet", index=False)
    assert_same(way.found(folder, batch), way.whole)


def test_what_is_wrong_with_the_logs_is_told_before_anything_is_learnt(tmp_path, made, monkeypatch):
    train, rows = made
    log, fine = sa.Log.from_frame(train), rows.iloc[:2000].drop(columns="policy:mine")
    monkeypatch.setattr(sa.Policy, "fitted_to", lambda *given: pytest.fail("it was learnt"))
    for name, test, reason in (
        ("uneven", fine.assign(propensity=np.linspace(0.2, 0.5, 2000)), "propensities differ"),
        ("damaged", fine.assign(reward=[*[0] * 1999, 7]), "reward 7"),
        ("columns", fine.drop(columns="age"), "features that only one of the two logs has: 'age'"),
        ("shared", rows.drop(columns="policy:mine"), "300 of 2,400 rows are in data frame, too"),
        ("policy", fine.assign(**{"policy:mine": 0.9}), "policy:mine do not sum to 1"),
    ):
        folder = written(tmp_path / name, test, 1)
        policies = ["logistic", *(["mine"] if name == "policy" else [])]
        for path in (folder, folder / "000.parquet"):
            with pytest.raises((DataError, SettingError), match=reason):
                sa.evaluate(policies, sa.Log.read(path), train=log)


def test_of_very_many_ads_only_totals_are_kept(made, monkeypatch):
    """Whichever way rows are read."""
    found = []
    monkeypatch.setattr(tally, "ADS", 50)
    rows = made[1].assign(action=np.random.default_rng(0).permutation(2400) // 24)
    for batch in (200, 10**6):
        whole = summing.summary(sa.Log.from_frame(rows), rows=batch).all()
        found.append({ad: sums.tolist() for ad, sums in whole.ads.items()})
        assert whole.ads["7"].shape == (3, 1) and whole.ads["7"][0] == 24
        assert len(whole.drifts()) == 1
    assert found[0] == found[1]


def test_a_log_leaves_no_file_open():
    """The files of its digests are closed when the log goes, without waiting for the collector."""
    log = sa.Log.from_frame(frame(500))
    log.check()
    log.learnable.visits  # noqa: B018
    digests, file = weakref.ref(log.summarised.digests), log.summarised.digests.files[0]
    gc.disable()
    try:
        del log
        assert digests() is None and file.closed
    finally:
        gc.enable()

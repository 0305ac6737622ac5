"""What `fit` saves is what was validated: ties of lambda, the fit to all rows, one ad for all."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads

import scant_ads as sa
from scant.bandits import scorers
from scant.bandits.policies import Choice
from scant.data.logs import Log
from scant_ads.policies import learning

ZIPS, ROWS = ("01067", "01069", "01097", "01099"), 4000


def of_zips(seed=0, rate=0.5) -> pd.DataFrame:
    """Each zip has an ad of its own, clicked at `rate`, and the others at 5 %."""
    random = np.random.default_rng(seed)
    zips, shown = random.integers(4, size=(2, ROWS))
    clicked = random.random(ROWS) < np.where(zips == shown, rate, 0.05)
    columns = {"zip": np.array(ZIPS)[zips], "action": np.array([*"abcd"])[shown]}
    return pd.DataFrame(columns | {"reward": clicked.astype(int), "propensity": 0.25})


@pytest.mark.parametrize("kind", ["logistic", "auc-ranker", "cost-sensitive-oaa", "filter-tree"])
@pytest.mark.parametrize("seed", range(3))
def test_a_policy_that_is_fitted_shows_what_was_validated(kind, seed):
    log = sa.Log.from_frame(of_zips(seed), categorical=["zip"])
    policy = sa.fit(log, kind, seed=seed, steps=20_000)
    assert policy.predict(pd.DataFrame({"zip": ZIPS})).tolist() == [*"abcd"]
    assert policy.remarks == []


def test_lambdas_of_one_rate_are_told_apart_by_the_log_loss():
    """Of scores that choose alike, those that are far from 0 on the right side."""
    x = np.array([[1.0], [1], [-1], [-1]], np.float32)
    log = Log(
        x,
        np.array([0, 1, 0, 1], np.int32),
        np.array([1.0, 0, 0, 1]),
        np.full(4, 0.5),
        ("a", "b"),
        ("x",),
    )

    def model(kind, size):
        scorer = (
            SimpleNamespace(score=lambda x: size * x[:, 0]),
            SimpleNamespace(score=lambda x: -size * x[:, 0]),
        )
        return scorers.Model(kind, ("a", "b"), np.zeros(1), np.ones(1), (), scorers=scorer)

    for size in (0.1, 1.0, 5.0):
        assert learning.log_loss(model("logistic", size), log) == pytest.approx(
            4 * np.log1p(np.exp(-size))
        )
    assert learning.log_loss(model("filter-tree", 1.0), log) == 0


def test_the_fit_to_all_rows_is_kept_unless_it_earns_less_beyond_chance():
    rows = 400
    log = Log(np.zeros((rows, 1), np.float32), np.arange(rows, dtype=np.int32) % 2,
              (np.arange(rows) % 4 == 0) * 1.0, np.full(rows, 0.5), ("a", "b"), ("x",))  # fmt: skip

    def fit(ad, regularisation):
        choice = Choice(np.full(rows, ad), 0.0, 2)
        return SimpleNamespace(regularisation=regularisation, choice=lambda *_: choice)

    good, bad, other = fit(0, 1.0), fit(1, 1.0), fit(1, 0.1)  # only the first ad is clicked
    assert learning.kept_fit([other, good, bad], log) is good
    for last in (fit(0, 1.0), fit(0, 0.1)):
        assert learning.kept_fit([other, good, last], log) is last


def test_a_policy_that_kept_the_validated_fit_says_so(monkeypatch):
    monkeypatch.setattr(learning, "kept_fit", lambda fits, _: fits[0])
    train, test = sa.Log.from_frame(of_zips()).split(0.5)
    found = sa.evaluate([sa.Policy("logistic", steps=2000)], test, train=train)
    assert any("logistic: refitted to all rows it earned less" in note for note in found.notes)


def test_one_ad_for_all_is_said(tmp_path, capsys):
    path, policy = tmp_path / "log.csv", tmp_path / "policy.arrow"
    log = of_zips(rate=0.05)
    loved = (log["action"] == "c") & (log.index % 8 > 0)
    log.assign(reward=log["reward"] | loved).to_csv(path, index=False)
    assert ads(f"fit {path} --policy logistic --output {policy}") == 0
    assert "careful: it shows ad 'c' to every visit of this log" in capsys.readouterr().out
    assert ads(f"evaluate {path} --policy {policy}") == 0
    assert "policy: it shows ad 'c' to every visit" in capsys.readouterr().out

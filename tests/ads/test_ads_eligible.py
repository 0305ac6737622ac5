"""Logs that say which ads could be shown: reading, learning, judging and use keep to these."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, problems, rows_of
from regressed import regressed
from sklearn.linear_model import Ridge
from test_ads_parts import written

import scant_ads as sa
from scant.bandits import learners
from scant.errors import DataError, SettingError
from scant_ads.evaluation import mixes
from scant_ads.evaluation.arms import Always
from scant_ads.policies import applying
from scant_ads.policies.learning import LEARNT
from scant_ads.reading import summing

ADS = ("a", "b", "c", "d")


def frame(
    rows=600, seed=0, shares=(1, 1, 1, 1), rate=lambda ad, x: 0.2 + 0.5 * (ad == 3) * (x > 0)
):
    """Visits with lists that have each ad with a chance of 60 %, shown by these shares of it."""
    random = np.random.default_rng(seed)
    x, eligible = random.normal(size=rows).round(3), random.random((rows, 4)) < 0.6
    eligible[np.arange(rows), random.integers(0, 4, rows)] = True
    p = eligible * np.array(shares)
    p = p / p.sum(axis=1, keepdims=True)
    ad = (random.random((rows, 1)) < p.cumsum(axis=1)).argmax(axis=1)
    reward = (random.random(rows) < rate(ad, x)).astype(int)
    lists = [[ADS[at] for at in np.flatnonzero(row)] for row in eligible]
    columns = {"action": np.array(ADS)[ad], "reward": reward, "propensity": p[np.arange(rows), ad]}
    columns |= {"x": x, "eligible": lists}
    return pd.DataFrame(columns)


def of(made: pd.DataFrame) -> np.ndarray:
    return np.array([[ad in ads for ad in ADS] for ads in made["eligible"]])


def objects(made: pd.DataFrame) -> list[dict]:
    """What columns x and eligible hold, in an object for each row."""
    return [{"x": x, "candidates": ads} for x, ads in zip(made["x"], made["eligible"], strict=True)]


# --- reading
FORMS = {"lists": lambda ads: ads, "arrays": np.array, "json": json.dumps, "python": str}
FORMS |= {"tuples": lambda ads: str(tuple(ads)), "numpy": lambda ads: str(np.array(ads))}
FORMS |= {"postgres": lambda ads: "{" + ",".join(ads) + "}", "bars": "|".join}
FORMS |= {"semicolons": ";".join, "commas": ", ".join}


@pytest.mark.parametrize("form", FORMS)
def test_a_list_may_be_written_in_many_ways(tmp_path, form):
    made = frame(200)
    written, roles = made.assign(eligible=made["eligible"].map(FORMS[form])), {"eligible": "x2"}
    logs = [
        sa.Log.from_frame(written),
        sa.Log.from_frame(written.rename(columns=roles), roles),
    ]
    if form not in ("lists", "arrays"):
        written.to_csv(tmp_path / "log.csv", index=False)
        logs.append(sa.Log.read(tmp_path / "log.csv"))
    for log in logs:
        assert log.visits.actions == ADS and log.visits.names == ("x",)
        np.testing.assert_array_equal(log.visits.eligible, of(made))
    assert sa.Log.from_frame(written, ignore=["eligible"]).visits.eligible is None


def test_lists_of_numbers_and_lists_in_objects(tmp_path):
    made = frame(200)
    number = {ad: at for at, ad in enumerate(ADS)}
    numbers = [[*map(number.get, ads)] for ads in made["eligible"]]
    numbered = sa.Log.from_frame(made.assign(action=made["action"].map(number), eligible=numbers))
    np.testing.assert_array_equal(numbered.visits.eligible, of(made))
    inside = made[["action", "reward", "propensity"]].assign(context=objects(made))
    inside.to_parquet(tmp_path / "log.parquet")
    written(tmp_path / "folder", inside, 1)
    texts = inside.assign(context=inside["context"].map(json.dumps))
    texts.to_csv(tmp_path / "log.csv", index=False)
    for name in ("log.parquet", "log.csv", "folder"):
        visits = sa.Log.read(tmp_path / name, {"eligible": "context.candidates"}).visits
        assert (visits.names, visits.lists) == (("context.x",), "context.candidates")
        np.testing.assert_array_equal(visits.eligible, of(made))


def test_a_column_called_eligible_has_the_lists_unless_another_one_has():
    made = frame(100).rename(columns={"eligible": "can"}).assign(eligible=1)
    log = sa.Log.from_frame(made, {"eligible": "can"})
    assert log.visits.names == ("x", "eligible")
    with pytest.raises(DataError, match="leave it out with ignore"):
        _ = sa.Log.from_frame(made).visits
    made["eligible"] = "a"
    assert sa.Log.from_frame(made, ignore=["eligible", "can"]).visits.names == ("x",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 4: eligible ads are missing"),
        ("[]", "line 4: eligible ads '\\[\\]' are no list of ids"),
        ('[{"id": 3}]', "are no list of ids"),
        ("x|y", "line 4: ad '.' is shown, and not among the visit's eligible ads: 'x', 'y'"),
    ],
)
def test_a_row_without_its_ad_in_a_list_is_named(tmp_path, text, reason):
    made = frame(100)
    lists = made["eligible"].map("|".join)
    lists[2] = text
    made.assign(eligible=lists).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(DataError, match=reason.removeprefix("line 4: ")) as error:
        _ = sa.Log.read(tmp_path / "log.csv").visits
    assert error.value.line == 4


def test_full_propensities_are_zero_where_an_ad_is_not_eligible():
    made = frame(100)
    for ad, fits in zip(ADS, of(made).T, strict=True):
        made[f"propensity:{ad}"] = np.where(fits, made["propensity"], 0.0)
    assert not sa.Log.from_frame(made).check()["problems"]
    row = int(np.argmin(of(made)[:, 0]))
    made.loc[row, "propensity:a"] = 0.001
    with pytest.raises(DataError, match=f"row {row + 1}: an ad that is not eligible has a prop"):
        _ = sa.Log.from_frame(made).visits


# --- propensities
def test_one_over_the_number_of_eligible_ads_may_be_stated_or_rounded():
    made = frame(400)
    bare, written = made.drop(columns="propensity"), made["propensity"]

    def read(column, **options):
        rows = bare if column is None else bare.assign(propensity=column)
        return sa.Log.from_frame(rows, **options).visits.propensity

    exact = read(written)
    np.testing.assert_allclose(exact, 1 / of(made).sum(axis=1))
    np.testing.assert_array_equal(read(None, propensity="uniform"), exact)
    for rounded in (written.round(2), written.astype(np.float32)):
        np.testing.assert_array_equal(read(rounded), exact)
    np.testing.assert_array_equal(read(written * 0.9), written * 0.9)
    some = written.round(2).where(made.index > 0, written + 0.03)  # but for one row
    np.testing.assert_array_equal(read(some), some)
    with pytest.raises(SettingError, match="one split can be stated of it, all ads of a list"):
        read(None, propensity=0.5)
    with pytest.raises(SettingError, match="is for visits with lists of eligible ads"):
        _ = sa.Log.from_frame(bare.drop(columns="eligible"), propensity="uniform").visits


def test_right_lists_are_not_accused_and_wrong_ones_are():
    for seed, shares in product(range(20), ((1, 1, 1, 1), (6, 3, 2, 1))):
        accused = {"propensity-sum", "wrong-propensities", "schedule"}
        assert not accused & problems(frame(300, seed, shares)).keys()
    made = frame(4000, shares=(3, 2, 2, 2)).assign(propensity=lambda made: 1 / of(made).sum(axis=1))
    short = frame(4000)
    both = zip(short["eligible"], short["action"], strict=True)
    short["eligible"] = [[ad for ad in ads if ad != "d" or ad == shown] for ads, shown in both]
    for wrong in (made, short):
        problem = problems(wrong)["wrong-propensities"]
        assert problem["severity"] == "error" and "rows that could show it" in problem["reason"]
    made = frame(4000)
    long = problems(made.assign(eligible=[[*ads, "e"] for ads in made["eligible"]])).values()
    assert any("some ads are eligible and never shown" in problem["reason"] for problem in long)


def test_users_who_keep_their_ad_are_seen_though_some_visits_have_one_ad_alone():
    made = frame(3000, 6)
    kept = made["action"].map(ADS.index) + 4 * (made.index % 50)
    who = np.where(made["eligible"].map(len) > 1, kept, made.index % 200)
    assert "users who keep their ad" in str(sa.Log.from_frame(made.assign(who=who)).check())
    made["who"] = made.index % 200
    assert "users who keep their ad" not in str(sa.Log.from_frame(made).check())


# --- judging
LISTS = (("a", "b", "c"), ("a", "b"), ("c",))
LOGGED = ((0.5, 0.3, 0.2), (0.25, 0.75), (1.0,))
RATES = ({"a": 0.1, "b": 0.6, "c": 0.3}, {"a": 0.9, "b": 0.2}, {"c": 0.4})


def outcomes():
    """Every log of three visits that there can be, and its probability."""
    for shown in product(*(zip(*of, strict=True) for of in zip(LISTS, LOGGED, strict=True))):
        for rewards in product((0, 1), repeat=3):
            chance = 1.0
            for (ad, p), reward, rates in zip(shown, rewards, RATES, strict=True):
                chance *= p * (rates[ad] if reward else 1 - rates[ad])
            ads, p = zip(*shown, strict=True)
            made = {"action": ads, "reward": rewards, "propensity": p, "x": [0.5, -0.4, 1.0]}
            yield pd.DataFrame(made | {"eligible": [*map(list, LISTS)]}), chance


def test_every_estimate_is_unbiased_over_all_logs_that_there_can_be():
    learnt = sa.fit(sa.Log.from_frame(frame(400)), "cost-sensitive-oaa", epsilon=0.3)
    policies = {"ad:c": Always("c"), "ad:b": Always("b"), "learnt": learnt}
    shares = learnt.predict_proba(next(outcomes())[0])
    by_ad = [dict(zip(learnt.actions, row, strict=True)) for row in shares]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert [tuple(ad for ad in ADS if row[ad] > 0) for row in by_ad] == [*LISTS]
    logged = [dict(zip(ads, p, strict=True)) for ads, p in zip(LISTS, LOGGED, strict=True)]
    shown = {"uniform": [dict.fromkeys(ads, 1 / len(ads)) for ads in LISTS]}
    shown |= {"ad:c": [{"c": 1}, logged[1], {"c": 1}], "ad:b": [{"b": 1}, {"b": 1}, logged[2]]}
    shown |= {"learnt": by_ad, "": logged}
    truth = {}
    for name, rows in shown.items():
        both = zip(rows, RATES, strict=True)
        truth[name] = (
            np.sum([p * rates.get(ad, 0) for row, rates in both for ad, p in row.items()]) / 3
        )
    mean, weight, total = dict.fromkeys(shown, 0.0), dict.fromkeys(shown, 0.0), 0.0
    mix = {name: dict.fromkeys(ADS, 0.0) for name in policies}
    for made, chance in outcomes():
        tally = summing.summary(sa.Log.from_frame(made), policies).all()
        total += chance
        for name in shown:
            cells, _, count = tally.table(name)
            mean[name] += chance * tally.mean(name)
            weight[name] += chance * (cells @ count / 3 if name else 1)
        for name, policy in policies.items():
            for ad, share in mixes.of_policy(tally, name, policy).items():
                mix[name][ad] += chance * share
    assert total == pytest.approx(1)
    assert mean == pytest.approx(truth) and weight == pytest.approx(dict.fromkeys(shown, 1.0))
    for name, of_ads in mix.items():
        shares = {ad: np.mean([row.get(ad, 0) for row in shown[name]]) for ad in ADS}
        assert of_ads == pytest.approx(shares)


def evaluated(made):
    train, test = sa.Log.from_frame(made).split(0.5)
    return sa.evaluate(["logistic", "ad:a", "ad:d"], test, train=train)


def test_lists_of_all_ads_change_nothing():
    made = frame(1200).drop(columns="eligible")
    made["action"], made["propensity"] = np.random.default_rng(1).choice(ADS, 1200), 0.25
    plain, lists = evaluated(made), evaluated(made.assign(eligible=[list(ADS)] * len(made)))
    pd.testing.assert_frame_equal(plain.to_frame(), lists.to_frame())
    assert plain.pairs.equals(lists.pairs)
    assert (plain.mix, plain.choice) == (lists.mix, lists.choice)


@pytest.mark.parametrize("shares", [(1, 1, 1, 1), (6, 3, 2, 1)])
def test_an_ad_that_is_not_eligible_stands_for_what_was_shown(shares):
    made, least = frame(2000, shares=shares), "unknown" if shares[0] > 1 else None
    found = sa.evaluate(["ad:d"], sa.Log.from_frame(made), least_propensity=least)
    row, has = rows_of(found)["ad:d"], of(made)[:, 3]
    weight = np.where(has, (made["action"] == "d") / made["propensity"], 1)
    terms = weight * made["reward"]
    estimate = terms.mean() if shares[0] > 1 else regressed(terms, weight - 1)
    assert row["estimate"] == pytest.approx(estimate)
    assert not row["refused"] and row["verdict"] == "yes"
    assert f"not eligible in {(~has).sum():,} of 2,000 visits" in found.text()
    mix = found.mix["ad:d"]
    assert mix["d"] == pytest.approx(has.mean()) and sum(mix.values()) == pytest.approx(1)
    assert ("uniform: all eligible ads alike" in found.text()) == (shares[0] == 1)


def test_each_ad_and_the_uniform_policy_are_of_eligible_ads():
    made = frame(3000, shares=(6, 3, 2, 1))
    made["eligible"].iloc[7].append("never")
    policies = ["each-ad", sa.fit(frame(800), "logistic", epsilon=0.2)]
    found = sa.evaluate(policies, sa.Log.from_frame(made), least_propensity=0.05)
    rows, size = rows_of(found), np.array([*map(len, made["eligible"])])
    assert [*rows] == ["logging", "uniform", *(f"ad:{ad}" for ad in ADS), "logistic"]
    weight = 1 / (made["propensity"] * size)
    estimate = regressed(weight * made["reward"], weight - 1)
    assert rows["uniform"]["estimate"] == pytest.approx(estimate)
    assert found.mix["uniform"]["a"] == pytest.approx((of(made)[:, 0] / size).mean())
    for name in ("uniform", "logistic"):
        assert sum(found.mix[name].values()) == pytest.approx(1)
    assert not any("propensity" in note for note in found.notes)


def test_users_and_folders_give_the_same_numbers(tmp_path):
    made = frame(1500)
    # the first part is without two of the ads
    front = made.index[[not {"d", "c"} & {*ads} for ads in made["eligible"]]][:30]
    made = made.loc[[*front, *made.index.difference(front)]].reset_index(drop=True)
    (tmp_path / "log").mkdir()
    for number, part in enumerate((made[:30], made[30:900], made[900:])):
        part.to_parquet(tmp_path / "log" / f"{number}.parquet")
    whole, folder = sa.Log.from_frame(made), sa.Log.read(tmp_path / "log")
    sa.fit(frame(500, 3), "logistic", epsilon=0.1).save(tmp_path / "policy.arrow")
    policies = {"saved": sa.Policy.load(tmp_path / "policy.arrow"), "d": "ad:d"}
    found, other = (sa.evaluate(policies, log) for log in (whole, folder))
    assert found.to_frame()["estimate"].notna().all()
    pd.testing.assert_frame_equal(found.to_frame(), other.to_frame())
    assert (other.mix, other.choice) == (found.mix, found.choice)
    np.testing.assert_array_equal(folder.visits.eligible, of(made))
    users = sa.Log.from_frame(made.assign(who=range(1500)), {"user": "who"})
    estimates = [of.to_frame()["estimate"].tolist() for of in (found, sa.evaluate(policies, users))]
    assert estimates[0] == pytest.approx(estimates[1])


def test_both_logs_have_lists_or_neither():
    made = frame(300)
    with pytest.raises(DataError, match="has no lists of eligible ads"):
        sa.evaluate(["logistic"], made, train=sa.Log.from_frame(made.drop(columns="eligible")))


# --- learning and use
@pytest.mark.parametrize("kind", [*LEARNT, Ridge()])
def test_every_learner_chooses_among_eligible_ads(kind):
    policy = sa.fit(frame(400, 2), kind, lambdas=[0.1, 1.0], epsilon=0.25, steps=1000, trees=3)
    new = frame(300, 5)
    shares, size = policy.predict_proba(new), of(new).sum(axis=1)
    assert policy.actions == ADS and (shares[~of(new)] == 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(np.sort(shares)[size > 1, -1], 0.75)
    np.testing.assert_allclose(shares[size == 1].max(axis=1), 1)
    weight = shares[np.arange(300), new["action"].map(ADS.index)] / new["propensity"]
    assert policy.score(sa.Log.from_frame(new)) == pytest.approx((new["reward"] * weight).mean())


def test_a_side_that_is_not_eligible_wins_no_match():
    """Each match would be the left side's; of the last two ads the fourth meets the third alone."""
    tree = learners.FilterTree(1.0)
    tree.leaves, features = np.arange(4, dtype=np.int32), np.zeros((3, 1), np.float32)
    for last, winner in ((True, [2, 1, 3]), (False, [2, 1, 3])):
        tree.matches = ((0, 1, True), (2, 3, True), (4, 5, last))
        eligible = np.array([[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 1]], bool)
        assert tree.best(features, np.zeros(4, bool), eligible).tolist() == winner
    tree.matches = ((0, 1, True), (2, 3, False), (4, 5, True))
    assert tree.best(features, np.zeros(4, bool), eligible).tolist() == [3, 1, 3]


def test_an_ad_s_regression_is_regularised_by_the_rows_that_could_show_it():
    """Half the mean squared error over these rows, plus lambda / 2 |w|^2, by normal equations."""
    made = sa.Log.from_frame(frame(300)).visits
    model = learners.OneAgainstAll(0.5)
    model.fit(made.features, made, np.arange(4), None)
    for ad in range(4):
        rows = made.eligible[:, ad]
        x = made.features[rows, 0].astype(float)
        y = np.where(made.action[rows] == ad, made.reward[rows] / made.propensity[rows], 0)
        slope = np.mean((x - x.mean()) * y) / (x.var() + 0.5)
        np.testing.assert_allclose(model.regression.coef_[ad], slope, rtol=1e-9)


@pytest.mark.parametrize("kind", ["cost-sensitive-oaa", "filter-tree"])
def test_a_rarely_eligible_ad_is_learnt_from_visits_that_could_show_it(kind):
    """Over all rows its importance-weighted reward is 0.09 on average, the other ad's 0.3."""
    random = np.random.default_rng(0)
    rare = random.random(4000) < 0.1
    best = rare & (random.random(4000) < 0.5)
    made = {"action": np.where(best, "b", "a"), "propensity": np.where(rare, 0.5, 1.0)}
    made |= {"reward": (random.random(4000) < np.where(best, 0.9, 0.3)).astype(int)}
    made |= {"x": random.random(4000), "eligible": np.where(rare, "a|b", "a|")}
    shown = sa.fit(pd.DataFrame(made), kind).predict(pd.DataFrame(made))
    assert (shown[rare] == "b").all() and (shown[~rare] == "a").all()


def test_apply_chooses_among_the_eligible_ads_of_each_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame(400).to_parquet("log.parquet")
    log = frame(500, 4)
    made = log[["x"]].assign(eligible=log["eligible"].map("|".join))
    made.to_csv("new.csv", index=False)
    assert ads("fit log.parquet --policy logistic --epsilon 0.4 --output policy.arrow") == 0
    apply = "apply policy.arrow new.csv --seed 1 --output"
    assert ads(f"{apply} shown.csv") == 0
    shown, policy = pd.read_csv("shown.csv"), sa.Policy.load("policy.arrow")
    shares, picked = policy.predict_proba(made), (np.arange(500), shown["action"].map(ADS.index))
    assert of(log)[picked].all()
    np.testing.assert_allclose(shown["propensity"], shares[picked])
    assert shown["action"].ne(policy.predict(made)).mean() == pytest.approx(0.35, abs=0.07)
    made.rename(columns={"eligible": "can"}).to_csv("new.csv", index=False)
    assert ads(f"{apply} again.csv --eligible can") == 0
    assert Path("again.csv").read_bytes() == Path("shown.csv").read_bytes()
    with pytest.raises(DataError, match="there is no column 'eligible'"):
        applying.apply(policy, "new.csv", "none.csv")
    made.assign(eligible=["e|f", *made["eligible"][1:]]).to_csv("new.csv", index=False)
    with pytest.raises(DataError, match="row 1: the policy knows none of the eligible ads: 'e'"):
        applying.apply(policy, "new.csv", "none.csv")


@pytest.mark.parametrize("write", [json.dumps, str, dict])
def test_apply_finds_the_lists_that_an_object_holds(tmp_path, write):
    made, path = frame(300), tmp_path / "log.parquet"
    inside = made[["action", "reward", "propensity"]].assign(context=[*map(write, objects(made))])
    inside.to_parquet(path)
    log = sa.Log.read(path, {"eligible": "context.candidates"})
    policy = sa.fit(log, "logistic", epsilon=0.3)
    applying.apply(policy, path, tmp_path / "shown.csv", seed=1)
    shown, plain = pd.read_csv(tmp_path / "shown.csv"), sa.fit(made, "logistic", epsilon=0.3)
    shares = plain.predict_proba(made)[np.arange(300), shown["action"].map(ADS.index)]
    assert (shares > 0).all() and shown["propensity"].to_numpy() == pytest.approx(shares)

"""Runs of ads: what is drawn, fitted and estimated, and what a run file holds of it."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from scipy import stats

from scant.ads import convert, draw, run
from scant.bandits import campaigns, evaluation, policies, scorers
from scant.bandits.learners import KINDS, LAMBDAS
from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError, SettingError
from scant.files import metadata_of

READINGS = yaml.safe_load("""
{tuning: held-out, validation: 0.2, threshold: f1, undersample: null, undersampled: classifiers,
 standardise: true, select: 1.0, epsilons: [0.0, 0.2], level: 0.95, users: 2000}
""")
SETTINGS = {"shape": "linear", "dimensions": 6, "informative": 3, "share": 0.02}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A campaign and its logs of two seeds."""
    folder = tmp_path_factory.mktemp("ads")
    campaigns.save(campaigns.make("hotel", **SETTINGS), folder / "hotel.json")
    for seed in (0, 1):
        targets = [folder / f"{part}-{seed}.parquet" for part in draw.PARTS]
        settings = {"campaign": "hotel", "settings": SETTINGS}
        draw.draw("hotel", settings, [folder / "hotel.json"], targets, 1, seed)
    return folder


def job(kind, **changes):
    learner = {"kind": kind} | ({"steps": 2000, "trees": 5} if KINDS[kind].learns else {})
    identity = {"study": "s", "experiment": "e", "stream": "hotel", "learner": kind, "kind": "ads"}
    settings = {"study_seed": 1, "log_settings": {}, "learner_settings": learner}
    return identity | settings | READINGS | changes


def played(folder, job, seeds=(0,), world="hotel.json"):
    trains, tests = ([folder / f"{part}-{seed}.parquet" for seed in seeds] for part in draw.PARTS)
    run.run(
        job, folder / "run.parquet", list(seeds), trains, tests, folder / world if world else None
    )
    table = pq.read_table(folder / "run.parquet")
    assert table.schema.names == run.SCHEMA.names
    return table.to_pandas(), metadata_of(table.schema)


def small(rows=400, ads=2, seed=0):
    """A uniform log in which the first feature says which ad is clicked on."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, 3)).astype(np.float32)
    action = random.integers(0, ads, rows).astype(np.int32)
    liked = (features[:, 0] > 0).astype(int)
    actions = tuple("abcdef"[:ads])
    return Log(
        features, action, (action == liked) * 1.0, np.full(rows, 1 / ads), actions, ("x", "y", "z")
    )


# --- drawing
def test_a_campaign_that_was_saved_is_the_same(folder):
    made, loaded = campaigns.make("hotel", **SETTINGS), campaigns.load(folder / "hotel.json")
    x = made.users(50, np.random.default_rng(0))
    for policy in ("targeted", "uniform"):
        assert np.array_equal(made.propensities(x, policy), loaded.propensities(x, policy))
    assert np.array_equal(made.rates(x), loaded.rates(x))
    for name in ("rows", "actions", "names", "settings"):
        assert getattr(made, name) == getattr(loaded, name)


def test_the_logs_of_a_campaign_are_of_its_two_policies(folder):
    (train, about), (test, other) = (logs.read(folder / f"{part}-0.parquet") for part in draw.PARTS)
    assert (about["part"], other["part"]) == ("train", "test")
    assert (about["source"], about["seed"]) == ("campaign", 0)
    assert len(train) == len(test) == campaigns.load(folder / "hotel.json").rows
    assert np.all(test.propensity == 0.2) and len(np.unique(train.propensity)) > 100
    assert sum(about["expected"]["impressions"]) == pytest.approx(len(train))
    assert not np.array_equal(train.features[:10], test.features[:10])


def test_logs_differ_by_seed_and_are_as_long_as_asked(folder, tmp_path):
    targets = tmp_path / "a.parquet", tmp_path / "b.parquet"
    settings = {"campaign": "hotel", "settings": SETTINGS, "train_rows": 70, "test_rows": 30}
    draw.draw("hotel", settings, [folder / "hotel.json"], targets, 1, 0)
    assert [len(logs.read(path)[0]) for path in targets] == [70, 30]
    first, second = (logs.read(folder / f"train-{seed}.parquet")[0] for seed in (0, 1))
    assert not np.array_equal(first.features, second.features)


# --- fits
def test_held_out_fits_the_grid_to_a_part_and_the_best_of_it_to_all():
    log, settings = small(), scorers.Settings(options={"steps": 3000})
    found = run.fits(
        "logistic", log, np.random.default_rng(0), settings, (0.01, 10.0), "held-out", 0.25
    )
    assert [fit.fitted_on for fit in found] == ["part", "part", "all"]
    values = {fit.regularisation: fit.validation for fit in found[:2]}
    assert found[2].regularisation == max(values, key=lambda one: (values[one], one))
    assert np.isnan(found[2].validation)


def test_the_validation_part_judges_and_does_not_teach():
    log, settings = small(), scorers.Settings(options={"steps": 500})
    found = run.fits(
        "auc-ranker", log, np.random.default_rng(0), settings, (0.1, 1.0), validation=0.25
    )
    random = np.random.default_rng(0)
    part, held = scorers.split(log, 0.25, random)
    grid = scorers.fit_grid("auc-ranker", part, random, (0.1, 1.0), settings)
    for fit, (value, model) in zip(found, grid.items(), strict=False):
        assert fit.regularisation == value
        assert np.array_equal(fit.model.scores(log.features), model.scores(log.features))
        matched = model.best(held.features) == held.action
        assert fit.validation == pytest.approx(np.mean(held.reward * matched / held.propensity))


@pytest.mark.parametrize("tuning", ["held-out", "paper"])
def test_one_lambda_or_none_is_no_choice(tuning):
    settings = scorers.Settings(options={"steps": 500, "trees": 3})
    (forest,) = run.fits("forest", small(), np.random.default_rng(0), settings, tuning=tuning)
    (one,) = run.fits(
        "logistic", small(), np.random.default_rng(0), settings, (0.1,), tuning=tuning
    )
    assert np.isnan(forest.regularisation) and one.regularisation == 0.1
    assert forest.fitted_on == one.fitted_on == "all"


def test_the_papers_reading_fits_all_of_the_log_at_each_lambda():
    settings, random = scorers.Settings(options={"steps": 500}), np.random.default_rng(0)
    found = run.fits("logistic", small(), random, settings, (0.1, 1.0), "paper")
    assert [(fit.regularisation, fit.fitted_on) for fit in found] == [(0.1, "all"), (1.0, "all")]


def test_selected_features_alone_are_seen():
    log = small()
    settings = scorers.Settings(options={"trees": 5})
    (fit,) = run.fits("forest", log, np.random.default_rng(0), settings, select=0.3)
    assert fit.seen.tolist() == [0]
    other = log.features.copy()
    other[:, 1:] = 9.0
    assert np.array_equal(fit.best(log.features), fit.best(other))


# --- estimates
def test_every_estimate_is_that_of_the_evaluation():
    test, train = small(seed=1), small(seed=2)
    chosen = policies.Choice(np.zeros(len(test), np.int32), 0.2, 2)
    found = run.estimates(chosen, test, train, 0.9, np.random.default_rng(0))
    shown = np.where(test.action == 0, 0.8, 0.2)
    rates = np.array([train.reward[train.action == a].mean() for a in (0, 1)])
    terms = evaluation.doubly_robust(
        test.reward, shown / 0.5, rates[test.action], 0.8 * rates[0] + 0.2 * rates[1]
    )
    rows = {(row["estimator"], row["bound"]): row for row in found.rows()}
    assert rows["doubly-robust", "t"]["estimate"] == pytest.approx(terms.mean())
    assert rows["ips", "t"]["estimate"] == pytest.approx(np.mean(test.reward * shown / 0.5))
    assert ("ips", "clopper-pearson") in rows
    assert found.diagnostics.declared_weight == pytest.approx(1.6)


def test_a_least_propensity_has_to_be_declared_where_propensities_differ():
    test = small()
    test.propensity[:] = np.where(test.action == 0, 0.4, 0.6)
    chosen = policies.Choice(np.zeros(len(test), np.int32), 0.0, 2)
    with pytest.raises(SettingError, match="least_propensity is needed"):
        run.estimates(chosen, test, test, 0.95, np.random.default_rng(0))
    found = run.estimates(chosen, test, test, 0.95, np.random.default_rng(0), 0.2)
    assert found.diagnostics.declared_weight == 5.0
    assert "clopper-pearson" not in {bound.bound for bound in found.bounds}


def test_the_policy_of_a_log_is_judged_by_its_rewards():
    log = small()
    found = run.own_policy(log, 0.95, np.random.default_rng(0))
    assert found.bounds[0].estimate == pytest.approx(log.reward.mean())
    assert (found.diagnostics.effective, found.diagnostics.largest_weight) == (len(log), 1.0)


# --- runs
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_on_a_campaign_has_the_truth_and_all_estimates(folder, kind):
    frame, about = played(folder, job(kind))
    assert (about["source"], about["learner"]) == ("campaign", kind)
    assert frame.loc[frame["chosen"], ["lambda", "fitted_on"]].drop_duplicates().shape[0] == 1
    chosen = frame[frame["chosen"]]
    for epsilon, part in chosen.groupby("epsilon"):
        truth = part[part["estimator"] == "true"]
        low, estimate, high = truth[["low", "estimate", "high"]].to_numpy().squeeze()
        assert 0 < low < estimate < high < 1
        ips = part[(part["estimator"] == "ips") & (part["bound"] == "betting")]
        assert ips["exact"].item() and ips["lower"].item() <= ips["estimate"].item()
        assert epsilon in (0.0, 0.2)
    assert (frame["train_rows"] == campaigns.load(folder / "hotel.json").rows).all()


def test_uniform_and_logging_have_the_truth_of_their_policies(folder):
    world, truth = campaigns.load(folder / "hotel.json"), {}
    for kind in ("uniform", "logging", "oracle"):
        frame, _ = played(folder, job(kind))
        truth[kind] = frame.loc[frame["estimator"] == "true", "estimate"].iloc[0]
    x = world.users(200_000, np.random.default_rng(5))
    rates = world.rates(x)
    assert truth["uniform"] == pytest.approx(rates.mean(), rel=0.03)
    logging = (world.propensities(x) * rates).sum(axis=1).mean()
    assert truth["logging"] == pytest.approx(logging, rel=0.03)
    assert truth["oracle"] == pytest.approx(rates.max(axis=1).mean(), rel=0.03)


def test_the_uniform_policy_on_a_uniform_log_is_a_binomial_of_its_clicks(folder):
    frame, _ = played(folder, job("uniform"))
    row = frame[frame["bound"] == "clopper-pearson"].iloc[0]
    test = stats.binomtest(int(row["clicks"]), int(row["rows"]), alternative="greater")
    assert row["estimate"] == pytest.approx(test.statistic)
    assert row["lower"] == pytest.approx(test.proportion_ci(0.95).low)


def test_seeds_together_are_seeds_alone(folder):
    both, _ = played(folder, job("logistic"), (0, 1))
    for seed in (0, 1):
        alone, _ = played(folder, job("logistic"), (seed,))
        assert both[both["seed"] == seed].reset_index(drop=True).equals(alone)


def test_under_the_papers_reading_the_best_on_the_test_is_chosen(folder):
    frame, _ = played(folder, job("logistic", tuning="paper"))
    ips = frame[(frame["estimator"] == "ips") & (frame["bound"] == "t") & (frame["epsilon"] == 0.0)]
    assert ips["chosen"].sum() == 1 and len(ips) == len(LAMBDAS)
    assert ips.loc[ips["chosen"], "estimate"].item() == ips["estimate"].max()


def test_a_fit_of_which_the_test_says_nothing_is_chosen_last():
    for values, best in (([np.nan, 0.0], 0.0), ([np.nan], -np.inf), ([0.1], 0.1)):
        rows = [{"estimator": "ips", "estimate": value} for value in values]
        assert run._on_test(rows) == best


def test_learners_share_their_users(folder):
    """Two learners that choose alike have the same true CTR to the last bit."""
    first, second = (played(folder, job("uniform", learner=name))[0] for name in ("a", "b"))
    assert first.equals(second)


def test_a_classification_set_tells_everything(tmp_path):
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 300).astype(np.int32)
    labelled = examples(label, random)
    train, test = np.arange(200), np.arange(200, 300)
    made = convert.bandit(labelled, random, train), convert.known(labelled, test)
    for part, log in zip(draw.PARTS, made, strict=True):
        logs.write(log, tmp_path / f"{part}-0.parquet", {"source": "classification"})
    expected = {"uniform": 1 / 3, "logging": 1 / 3, "oracle": 1.0}
    for kind in (*expected, "forest"):
        frame, _ = played(tmp_path, job(kind), world=None)
        assert set(frame["estimator"]) == {"full-information"} and frame["lower"].isna().all()
        value = frame.loc[frame["epsilon"] == 0.0, "estimate"].item()
        assert value == pytest.approx(expected.get(kind, value)) and value > 0.3
    log = logs.read(tmp_path / "train-0.parquet")[0]
    random = run.generator(1, "ads", "hotel", 0, "fit")
    fit = run.fits("forest", log, random, scorers.Settings(options={"trees": 5}))[0]
    assert value == np.mean(fit.best(labelled.features[test]) == label[test])


def examples(label, random):
    features = (random.standard_normal((len(label), 3)) + 2 * np.eye(3)[label]).astype(np.float32)
    return convert.Labelled(features, label, ("u", "v", "w"), ("x", "y", "z"))


def test_a_log_that_was_logged_is_one_for_all_seeds_and_has_no_truth(folder, tmp_path):
    paths, target = [tmp_path / f"{part}.parquet" for part in draw.PARTS], tmp_path / "run.parquet"
    for path, seed in zip(paths, (3, 4), strict=True):
        logs.write(small(seed=seed), path)
    run.run(job("forest"), target, [0, 1], paths[:1], paths[1:])
    frame = pq.read_table(target).to_pandas()
    assert set(frame["seed"]) == {0, 1} and "true" not in set(frame["estimator"])
    assert metadata_of(pq.read_schema(target))["source"] == "log"


def test_ads_that_the_policy_does_not_know_are_refused(tmp_path):
    paths, target = [tmp_path / f"{part}.parquet" for part in draw.PARTS], tmp_path / "run.parquet"
    for path, count in zip(paths, (2, 3), strict=True):
        logs.write(small(ads=count), path)
    with pytest.raises(DataError, match="not among the actions of the policy"):
        run.run(job("forest"), target, [0], paths[:1], paths[1:])
    assert not target.exists()


# --- settings
def test_settings_reach_the_scorers():
    options, readings = {"steps": 7, "pair_loss": "hinge"}, {"undersample": 2, "standardise": False}
    readings |= {"undersampled": "all"}
    learner = {"kind": "auc-ranker", "trees": 3, "lambdas": [0.1], "title": "x"}
    settings = scorers.resolve(learner | options, READINGS | readings)
    assert settings == scorers.Settings(**readings, options=options)


def test_an_oracle_needs_a_world():
    with pytest.raises(SettingError, match="an oracle needs a campaign"):
        scorers.check({"kind": "oracle"}, READINGS, "log")
    for source in ("campaign", "classification"):
        scorers.check({"kind": "oracle"}, READINGS, source)

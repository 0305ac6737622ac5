"""The family of click logs: it plans, refuses what cannot be, draws logs, learns, and shows what
came out.
"""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from scant.clicklogs import (
    drawings,
    estimates,
    fitting,
    frames,
    learners,
    logs,
    quantities,
    run,
    storage,
)
from scant.clicklogs.family import Rankings
from scant.clicklogs.policies import Policy
from scant.data import stream as streams
from scant.errors import SettingError
from scant.files import read_parquet
from scant.present.traces import Played
from scant.study import settings as studies
from scant.study.plan import Plan

ROOT = Path(__file__).parents[2]
LOG = {
    "stream": "mine", "user": "position", "places": 3, "visits": 600, "held_out": 8,
    "logging_queries": 2, "exploration": "pl", "spread": 1.5, "share": 0.2,
}  # fmt: skip
LEARNERS = {
    "item-position": {"kind": "item-position"},
    "pooled": {"kind": "pooled", "curve": "harvested"},
    "prefix": {"kind": "prefix"},
    "model": {"kind": "doubly-robust"},
    "as-is": {"kind": "clicks-as-is"},
    "dr": {"kind": "clicks-doubly-robust"},
    "safe": {"kind": "clicks-safe"},
    "logging": {"kind": "logging-ranker"},
    "grades": {"kind": "visited-grades"},
    "online": {"kind": "pdgd-online"},
}
DATASET = {
    "task": "ranking", "parser": "letor", "features": 6, "grades": 2,
    "parts": {"all": {"file": "mine.txt"}},
}  # fmt: skip
STUDY = {
    "study": "toy",
    "claims": None,
    "datasets": {"mine": DATASET},
    "streams": {"mine": {"dataset": "mine"}, "drawn": {"generator": "linear"}},
    "click_logs": {"log": {"stream": "mine", "places": 3, "visits": 600}},
    "learners": LEARNERS,
    "experiments": {
        "toy": {
            "kind": "rankings", "click_logs": ["log"], "learners": [*LEARNERS], "seeds": 3,
            "batch": 2, "visits": [200, 600], "figures": ["figure-premises", "figure-learning"],
        }
    },
}  # fmt: skip


def loaded(path=(), value=None):
    """The study, and its data sets, with the value at a path changed."""
    study = deepcopy(STUDY)
    if path:
        place = study
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    return studies.load(study, ROOT / "config/datasets.yaml")


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """The file of 30 queries of 4 to 12 documents, whose grades a linear ranker tells roughly."""
    random, path = np.random.default_rng(0), tmp_path_factory.mktemp("stream") / "mine.arrow"
    queries = []
    for q in range(30):
        features = random.normal(size=(4 + q % 9, 6))
        scores = features @ [1, 1, 0, 0, 0, -1] + random.normal(size=len(features))
        queries.append((q, (scores > 0.5).astype(int) + (scores > 2), features))
    streams.write(path, queries, {})
    return path


@pytest.fixture(scope="module")
def site(stream):
    return learners.site(streams.read(stream), LOG)


# --- planning


def test_a_job_plays_all_learners_on_the_logs_of_some_seeds():
    study, datasets = loaded()
    plan = Plan(study, datasets)
    first, second = plan.jobs["toy"]
    assert [first.path, second.path] == ["toy/log/seed-0-1", "toy/log/seed-2"]
    assert first.inputs == {
        "streams": ["results/toy/streams/mine.arrow"],
        "logs": [f"results/toy/clicks/log/0-1/seed-{seed}.parquet" for seed in (0, 1)],
    }
    assert plan.draws == {"results/toy/clicks/log": ["0-1", "2"]}
    assert first.settings["click_log"] == LOG | {"held_out": 100, "logging_queries": 20}
    assert [learner for learner, _ in first.settings["learners"]] == [*LEARNERS]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("click_logs", "log", "stream"), "nime", "unknown stream 'nime': did you mean 'mine'"),
        (("click_logs", "log", "stream"), "drawn", "log: the stream 'drawn' is simulated"),
        (("click_logs", "log", "user"), {"click": [0.1, 1], "stop": [0]}, "click is for grades"),
        (
            ("click_logs", "log", "user"),
            {"click": [0.1, 1], "stop": [0, 0]},
            "log: user: click and stop have probabilities for grades 0 to 1",
        ),
        (("click_logs", "log", "exploration"), "none", "exploration"),
        (("click_logs", "log", "visits"), 500, "log: visits is 600, and the log has 500"),
        (("learners", "pooled", "curve"), "known", "curve"),
        (("experiments", "toy", "visits"), [1], "visits.0: 1 is less than the minimum of 2"),
    ],
)
def test_what_cannot_be_played_is_refused(path, value, message):
    with pytest.raises(SettingError, match=message):
        loaded(path, value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"held_out": 29}, "the stream has 30 queries, of which 29 are held out"),
        ({"places": 13}, "no query to visit has 13 documents"),
    ],
)
def test_what_a_stream_has_not_is_refused(stream, changes, message):
    with pytest.raises(SettingError, match=message):
        learners.site(streams.read(stream), LOG | changes)


class Queries(SimpleNamespace):
    """What of a stream decides which of its queries are visited, and held out."""

    def __len__(self):
        return len(self.relevant)


def test_a_query_that_is_held_out_has_a_relevant_document():
    """And one that is visited has documents for all places."""
    stream = Queries(
        offsets=np.array([0, 3, 5, 8, 11, 14, 17]), relevant=np.array([1, 1, 0, 1, 0, 2])
    )
    found = logs.split(stream, {"places": 3, "held_out": 3, "logging_queries": 1})
    split = [found.trained_on.tolist(), found.visited.tolist(), found.held_out.tolist()]
    assert split == [[0, 1, 2], [0, 2], [3, 5]]
    with pytest.raises(SettingError, match="no query that is held out has a relevant document"):
        logs.split(
            Queries(offsets=stream.offsets, relevant=np.array([1, 1, 1, 0, 0, 0])),
            LOG | {"held_out": 3},
        )


@pytest.mark.parametrize("documents", [37, 150])
def test_documents_that_are_alike_tie(documents):
    """Wherever they stand: else the order of a query would hang on how a processor adds up."""
    row, weights = np.random.default_rng(0).normal(size=(2, 45))
    (scores,) = logs.scored([(np.tile(row, (documents, 1)), None)], [0], weights)
    assert len(set(scores)) == 1


# --- fits


def test_the_cross_entropy_is_the_least():
    random = np.random.default_rng(1)
    found = fitting.Documents(random.normal(size=(20, 3)), np.array([0, 4, 11]))
    values = random.random(20)

    def entropies(weights):
        parts = zip(*(np.split(of, [4, 11]) for of in (found.features, values)), strict=True)
        return [of @ (np.logaddexp.reduce(x @ weights) - x @ weights) for x, of in parts]

    def loss(weights):
        return sum(entropies(weights)) / values.sum() + 0.01 / 2 * weights @ weights

    weights = fitting.penalised(found, values, 0.01)
    for move in 1e-3 * np.r_[np.eye(3), -np.eye(3)]:
        assert loss(weights) < loss(weights + move)
    far = fitting.penalised(found, values, 0.01, 30 * random.normal(size=3))
    assert far == pytest.approx(weights, abs=1e-4)
    # all on the first of two documents: the penalty alone keeps the weight w of their distance
    # finite
    two = fitting.Documents(np.array([[1.0], [0.0]]), np.array([0]))
    (w,) = fitting.penalised(two, np.array([1.0, 0.0]), 0.001)
    assert 0.001 * w == pytest.approx(1 / (1 + np.exp(w)), rel=0.01)
    assert not fitting.cross_entropy(found, np.zeros(20)).any()

    # the penalty is the one that ranks queries best which it did not learn from, here one by one
    left_out = []
    for penalty in fitting.PENALTIES:
        of_queries = [np.where(found.query == one, 0.0, values) for one in range(3)]
        fits = [fitting.penalised(found, of, penalty) for of in of_queries]
        left_out.append(sum(entropies(fit)[one] for one, fit in enumerate(fits)))
    best = fitting.PENALTIES[int(np.argmin(left_out))]
    assert fitting.chosen_penalty(found, values) == best
    assert (fitting.cross_entropy(found, values) == fitting.penalised(found, values, best)).all()


def test_ridge_does_not_penalise_the_intercept():
    random = np.random.default_rng(2)
    x, values, counts = random.normal(size=(50, 3)), random.normal(size=50), random.random(50)
    weights, intercept = fitting.ridge(x, values, counts)
    moved, other = fitting.ridge(x + 7, values - 3, counts)
    assert moved == pytest.approx(weights)
    assert other == pytest.approx(intercept - 3 - 7 * weights.sum())
    penalised = np.sqrt(np.diag([fitting.RIDGE] * 3 + [0]))
    rows = np.sqrt(counts)[:, None] * np.c_[x, np.ones(50)]
    both = np.r_[rows, penalised], np.r_[np.sqrt(counts) * values, np.zeros(4)]
    assert np.r_[weights, intercept] == pytest.approx(np.linalg.lstsq(*both, rcond=None)[0])


# --- learners


@pytest.mark.parametrize(
    ("user", "kind", "curve", "right"),
    [
        ("position", "clicks-doubly-robust", "1/place", True),
        ("position", "clicks-as-is", None, False),
        ("trust", "clicks-doubly-robust", "known", True),
        ("trust", "clicks-doubly-robust", "1/place", False),
    ],
)
def test_what_clicks_make_a_document_worth(stream, user, kind, curve, right):
    """Weighted by the chance of a look, each document's clicks tell its pull; as they are, they do
    not; and with trust in what is on top, only less what is clicked there anyway.
    """
    site = learners.site(streams.read(stream), LOG | {"user": user})
    log = site.world.draw(100_000, np.random.default_rng(3))
    learner = learners.made({"kind": kind} | ({"curve": curve} if curve else {}))
    told = learners.counted(log, site, learner)
    grades = np.concatenate(site.world.grades)
    pulls = grades / 2 if curve == "known" else np.array([0.1, 0.55, 1.0])[grades]
    values, often = learner.values(told) / told.visits, told.chance > 0.1
    assert (np.abs(values - pulls)[often].max() < 0.15) == right


@pytest.mark.parametrize("visits", [50, 400, 40_000])
def test_a_click_on_what_is_hardly_looked_at_weighs_little_in_a_short_log(visits):
    """With n visits no weight is above sqrt(n) / 10, or 1 (Oosterhuis 2023)."""
    half = visits / 2  # of looks at each of two documents, the second of which is not clicked
    counts = estimates.Counts(np.array([[0.0], [half]]), np.array([[half], [half]]), [0, 2])
    told = learners.Counted(
        counts, np.zeros((2, 1)), np.full(2, visits), np.ones(1), np.zeros(1), np.full(2, 1e-9)
    )
    values = learners.made({"kind": "clicks-doubly-robust"}).values(told)
    # the regression says 1/2 of either
    assert values[1] - visits / 2 == pytest.approx(half / 2 * max(np.sqrt(visits) / 10, 1))


def test_the_safe_learner_deploys_only_what_the_log_shows_to_be_better(stream, site):
    log = site.world.draw(12_000, np.random.default_rng(4))
    safe, robust, logging = (
        learners.made({"kind": kind})
        for kind in ("clicks-safe", "clicks-doubly-robust", "logging-ranker")
    )
    kept = logging.ranker(log, site, None)
    learnt = robust.ranker(log.take(slice(8400)), site, None)
    assert (safe.ranker(log, site, None) == learnt).all()
    assert (safe.ranker(log.take(slice(60)), site, None) == kept).all()
    # a log that explores is no rival: the ranker that logs has more clicks without
    explored = log.click.sum(axis=1).mean()
    assert site.world.clicks_of(site.sorts_by(kept)).sum() > explored
    # where users leave, what bounds the lead is refuted
    leave = learners.site(streams.read(stream), LOG | {"user": "navigational"})
    log = leave.world.draw(12_000, np.random.default_rng(4))
    assert (safe.ranker(log, leave, None) == leave.logging_ranker).all()


class Shown:
    """A learner of one's own: what was shown is worth something, whether clicked or not."""

    def __init__(self, power=1.0):
        self.power = power

    def values(self, told):
        return told.counts.showings.sum(axis=1) ** self.power


class Negative(Shown):
    def values(self, told):
        return -super().values(told)


def test_a_learner_of_ones_own(site):
    log = site.world.draw(500, np.random.default_rng(5))
    own = learners.made({"kind": f"{__name__}:Shown", "power": 0.5})
    assert own.ranker(log, site, None).shape == (6,)
    with pytest.raises(SettingError, match="numbers, 0 or more"):
        learners.made({"kind": f"{__name__}:Negative"}).ranker(log, site, None)


# --- runs


@pytest.fixture(scope="module")
def played(stream, tmp_path_factory):
    """The rows of a run, and its details, as a figure reads them."""
    folder = tmp_path_factory.mktemp("run")
    paths = [folder / f"seed-{seed}.parquet" for seed in (0, 1)]
    for seed, path in enumerate(paths):
        run.draw("log", LOG, stream, path, 7, seed)
    job = {
        "study": "toy", "study_seed": 7, "experiment": "toy", "stream": "log", "kind": "rankings",
        "click_log": LOG, "learners": list(LEARNERS.items()), "visits": [200, 600],
    }  # fmt: skip
    for name in ("one", "two"):
        inputs = {"streams": [str(stream)], "logs": [*map(str, paths)]}
        run.run(job, folder / f"{name}.parquet", [0, 1], inputs)
    assert (folder / "one.parquet").read_bytes() == (folder / "two.parquet").read_bytes()
    assert len(storage.read(paths[0])) == 600
    traces = read_parquet(folder / "one.parquet").to_pandas().assign(**Rankings().identity(job))
    titles = {"streams": {"log": "Log"}, "learners": {name: name for name in LEARNERS}}
    about = {
        "kind": "rankings",
        "title": "toy",
        "titles": titles,
        "worlds": {"log": ["World", "spread 1"]},
    }
    return traces, {"toy": about}


def test_rows_of_estimators_and_learners(played):
    traces, _ = played
    whole = traces[traces["place"] == 0]
    assert whole.groupby("learner").size().eq(4).all()
    assert whole[["estimate", "limit"]].notna().to_numpy().sum() == 2 * 4 * 4
    assert whole["ndcg@10"].between(0, 1).sum() == whole["clicks"].between(0, 3).sum() == 6 * 4
    parts = traces[traces["place"] > 0].groupby(["learner", "seed", "visits"])
    sums = parts[["estimate", "truth", "limit"]].sum()
    whole = whole.set_index(["learner", "seed", "visits"]).loc[sums.index]
    for name in ("estimate", "truth", "limit"):
        assert sums[name].to_numpy() == pytest.approx(whole[name].to_numpy())
    assert traces.loc[traces["learner"] == "pooled", "curve"].eq("harvested").all()


def test_of_two_visits_every_learner_learns(stream, tmp_path):
    """The least that a study may ask for."""
    run.draw("log", LOG, stream, path := tmp_path / "log.parquet", 7, 0)
    job = {
        "study": "toy", "study_seed": 7, "experiment": "toy", "stream": "log", "kind": "rankings",
        "click_log": LOG, "learners": list(LEARNERS.items()), "visits": [2, 3],
    }  # fmt: skip
    run.run(job, out := tmp_path / "run.parquet", [0], {"streams": [stream], "logs": [path]})
    rows = read_parquet(out).to_pandas().query("place == 0")
    assert rows["ndcg@10"].between(0, 1).sum() == 6 * 2
    assert np.isfinite(rows["estimate"]).sum() == 4 * 2


def test_tables_figures_and_quantities(played):
    traces, details = played
    table = frames.estimates_table(traces, details).set_index(["learner", "visits"])
    row = table.loc[("prefix", 600)]
    rows = traces.query("learner == 'prefix' and visits == 600 and place == 0")
    assert row["bias"] == pytest.approx((rows["estimate"] / rows["truth"] - 1).mean())
    assert row["held_betting"] == 1
    assert row["premise"] == "what stands below does not matter"
    assert np.isnan(table.loc[("model", 600), "held_betting"])
    assert len(frames.places_table(traces, details)) == 4 * 3
    assert len(frames.learnt_table(traces, details)) == 6 * 2
    for frame, draw in (
        (frames.premises(traces, details), drawings.premises),
        (frames.learning(traces, details), drawings.learning),
    ):
        [axis] = [axis for axis in draw(frame).axes if axis.axison]
        assert axis.get_xlabel() == "visits n"
        if draw is drawings.premises:
            texts = {text.get_text() for text in axis.texts}
            assert row["limit"] == pytest.approx(0) and "+0.0 %, 2/2" in texts
    one = Played("toy", None, traces, details["toy"], None)
    last = quantities.click_error(one)
    pd.testing.assert_frame_equal(last, quantities.click_error(one, visits=600))
    near = quantities.click_near(one, 200)["value"]
    assert (near == (quantities.click_error(one, 200)["value"] <= 0.05)).all()
    limit = quantities.click_limit(one).set_index("learner")["value"]
    assert len(limit) == 4 and limit[["item-position", "prefix"]].abs().max() < 1e-9
    assert set(quantities.click_coverage(one, bound="t")["value"]) <= {0.0, 1.0}
    assert "model" not in set(quantities.click_coverage(one)["learner"])
    assert len(quantities.held_out_ndcg(one)) == 6 * 2
    worse = traces["ndcg@10"].mask(traces["learner"] == "as-is", -1.0)
    harmless = quantities.no_harm(replace(one, traces=traces.assign(**{"ndcg@10": worse})))
    harmless = harmless.set_index("learner")["value"]
    assert (harmless["logging"] == 1).all() and (harmless["as-is"] == 0).all()
    fewer = quantities.no_fewer_clicks(one).set_index(["learner", "seed"])["value"]
    ends = traces.query("visits == 600 and clicks == clicks").set_index(["learner", "seed"])
    for learner in ("as-is", "grades"):
        more = ends.loc[learner, "clicks"] >= ends.loc["logging", "clicks"]
        assert (fewer[learner] == more).all()
    alone = traces[traces["learner"] == "as-is"]
    assert quantities.no_harm(replace(one, traces=alone)).empty
    gains = frames.strength(traces, details)
    assert len(gains) == 5 * 2 and "logging" not in set(gains["learner"])
    table = frames.learnt_table(traces, details).set_index(["learner", "visits"])["ndcg@10"]
    for _, gain in gains.iterrows():
        assert gain["logging"] == pytest.approx(table["logging", gain["visits"]])
        learnt = table[gain["learner"], gain["visits"]]
        assert gain["mean"] == pytest.approx(learnt - gain["logging"])
    panels = [axis for axis in drawings.strength(gains).axes if axis.axison]
    assert [axis.texts[0].get_text() for axis in panels] == [
        "200 visits, spread 1, 2 seeds", "600 visits, spread 1, 2 seeds"
    ]  # fmt: skip
    with pytest.raises(SettingError, match="beside logging-ranker"):
        frames.strength(traces[traces["learner"] == "logging"], details)
    with pytest.raises(SettingError, match="has an estimator"):
        frames.premises(traces[traces["estimate"].isna()], details)
    with pytest.raises(SettingError, match="has a learner"):
        frames.learning(traces[traces["ndcg@10"].isna()], details)


def test_a_policy_that_sorts_has_one_list(site):
    greedy = site.target
    assert isinstance(greedy, Policy)
    for q in range(3):
        lists = greedy.draw(q, 2, np.random.default_rng(0))
        assert (lists[0] == lists[1]).all()
        assert greedy.prefixes(q, lists).min() == 1

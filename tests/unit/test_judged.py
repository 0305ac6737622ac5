"""Judged lists: what judges say, and what they are worth."""

import numpy as np
import pandas as pd
import pytest
import toys
import yaml

import scant
from scant.data import simulated
from scant.data import stream as streams
from scant.declare import families
from scant.errors import SettingError
from scant.present import making
from scant.randomness import generator
from scant.rankers import frames_judged, judges, run
from scant.study import settings
from scant.study.plan import Plan

LARGEST = 4


@pytest.fixture(scope="module")
def stream(packed):
    queries, _ = simulated.linear(np.random.default_rng(1), 300, 40, 10)
    return packed((grades, x) for _, grades, x in queries)


@pytest.fixture(scope="module")
def two_grades(packed):
    random = np.random.default_rng(2)
    return packed((random.integers(0, 2, 20), random.random((20, 3))) for _ in range(200))


def judged(stream, judge):
    """The judge, and its grades of all documents."""
    made = judges.Judge(judge, stream, generator(3, "judge"))
    return made, np.concatenate([made.grades(q) for q in range(len(stream))])


def test_a_human_has_the_grades_of_the_data(stream):
    np.testing.assert_array_equal(judged(stream, "human")[1], stream.grades)


def test_a_coin_tells_nothing(stream):
    _, grades = judged(stream, "coin")
    np.testing.assert_allclose(np.bincount(grades) / len(grades), 0.2, atol=0.01)
    assert abs(np.corrcoef(grades, stream.grades)[0, 1]) < 0.03


@pytest.mark.parametrize("wrong", [0.1, 0.3, 1.0])
def test_a_share_is_wrong_and_two_in_three_upwards(stream, wrong):
    _, grades = judged(stream, {"wrong": wrong})
    changed = grades != stream.grades
    assert changed.mean() == pytest.approx(wrong, abs=0.01)
    between = changed & (stream.grades > 0) & (stream.grades < LARGEST)
    assert (grades > stream.grades)[between].mean() == pytest.approx(2 / 3, abs=0.03)
    assert np.abs(grades - stream.grades).max() == 1
    assert grades.min() == 0 and grades.max() == LARGEST


def test_with_two_grades_the_wrong_one_is_the_other(two_grades):
    _, grades = judged(two_grades, {"wrong": 1.0})
    np.testing.assert_array_equal(grades, 1 - two_grades.grades)


@pytest.mark.parametrize("on", ["random", 3])
def test_a_judge_leans_along_a_cue(stream, on):
    leaning, grades = judged(stream, {"leans": {"cue": on, "by": 0.5}})
    m = 40
    within = np.concatenate(
        [cue / cue.std() for cue in np.split(leaning.cue, len(leaning.cue) // m)]
    )
    expected = stream.grades + 0.5 * stream.grades.std() * within
    np.testing.assert_array_equal(grades, np.clip(np.rint(expected), 0, LARGEST))
    unmoved, _ = judged(stream, {"leans": {"cue": on, "by": 0.0}})
    assert unmoved.told == leaning.told


def test_what_a_cue_tells_is_its_weight_in_a_regression_on_every_grade(stream):
    """A random cue tells nothing; a feature that makes the grades tells them."""
    told = [judged(stream, {"leans": {"cue": on, "by": 1}})[0].told for on in range(1, 11)]
    x = stream.features.reshape(-1, 40, 10).astype(float)
    x = (x - x.mean(axis=1, keepdims=True)).reshape(-1, 10)
    weights = np.linalg.lstsq(x, stream.grades, rcond=None)[0]
    np.testing.assert_allclose(told, weights * x.std(axis=0) / stream.grades.std(), rtol=0.01)
    assert abs(judged(stream, {"leans": {"cue": "random", "by": 1}})[0].told) < 0.01 < max(told)


def test_a_confusion_is_the_probability_of_the_judges_grade(two_grades):
    _, grades = judged(two_grades, {"confusion": [[0.9, 0.1], [0.4, 0.6]]})
    shares = [grades[two_grades.grades == human].mean() for human in (0, 1)]
    np.testing.assert_allclose(shares, [0.1, 0.6], atol=0.03)


def test_published_counts_have_the_published_kappa():
    counts = np.array(judges.COUNTS["gpt-4"]) / np.sum(judges.COUNTS["gpt-4"])
    chance = counts.sum(axis=0) @ counts.sum(axis=1)
    assert (np.trace(counts) - chance) / (1 - chance) == pytest.approx(0.64, abs=0.005)


def test_judges_that_do_not_fit_a_stream_are_refused(packed):
    constant = packed((np.array([0, 1]), np.array([[q / 3, 0.0], [q / 3, 1.0]])) for q in range(5))
    for judge, reason in (
        ({"confusion": np.eye(3).tolist()}, "of grades 0 to 2, and the stream's go up to 1"),
        ({"leans": {"cue": 3, "by": 1}}, "there are 2 features"),
        ({"leans": {"cue": 1, "by": 1}}, "the cue is the same for all documents of each query"),
    ):
        with pytest.raises(SettingError, match=reason):
            judged(constant, judge)


def test_more_lists_are_more_of_the_same(stream):
    """A judge's first lists do not depend on how many follow."""
    one = judges.Judge({"wrong": 0.3}, stream, generator(3, "judge"))
    _, grades = judged(stream, {"wrong": 0.3})
    np.testing.assert_array_equal(np.r_[one.grades(0), one.grades(1)], grades[:80])


# What they are worth


@pytest.mark.parametrize(
    ("value", "rounds"),
    [(0.1, 1), (0.2, 1), (0.25, 10**0.5), (0.3, 10), (0.425, 10**2.5), (0.6, 1000), (0.7, 1000)],
)
def test_worth_is_where_the_curve_first_comes_to_the_value(value, rounds):
    """On a scale of log t, of the best so far; not beyond the last round."""
    at, curve = np.array([1.0, 10, 100, 1000]), np.array([0.2, 0.3, 0.25, 0.6])
    assert frames_judged.worth_in_rounds(at, curve, value) == pytest.approx(rounds)


@pytest.mark.parametrize(
    ("leads", "rounds"), [([-1, -2, -3], 1), ([1, 2, 0], 4), ([1, 2, -1], 2), ([-1, 2, -1], 2)]
)
def test_overtaken_is_from_where_the_other_stays_ahead(leads, rounds):
    """Leads are of the parts between rounds 1, 2 and 4."""
    at = np.array([1.0, 2.0, 4.0])
    assert frames_judged.overtaken_in(at, np.cumsum(leads)) == rounds


def trace(learner, seed, shown, offline, **columns):
    """Rows of a run in rounds 1, 10, 100 and 1,000: means shown, and of queries never visited."""
    row = {"experiment": "e", "stream": "s", "kind": "ridge", "user": "", "failed_in": 0}
    row |= {"learner": learner, "seed": seed, "start": "none", "judged_by": "", "lists": 0}
    columns = {"round": [1, 10, 100, 1000], "ndcg@10": shown, "unvisited": offline} | columns
    return pd.DataFrame(columns).assign(**{key: row[key] for key in row if key not in columns})


def test_starts_are_compared_with_the_cold_learner_seed_by_seed():
    cold = trace("cold", 0, [0.1, 0.2, 0.4, 0.6], [0.1, 0.3, 0.5, 0.7])
    alone = {"start": "alone", "judged_by": "human", "lists": 3}
    lists = trace("lists", 0, [0.3] * 4, [0.4] * 4, **alone)
    other = trace("lists", 1, [0.3] * 4, [0.4] * 4, **alone)  # of a seed without a cold run
    [(rows, beside)] = frames_judged.beside_cold(pd.concat([cold, lists, other]))
    values = frames_judged.by_seed(rows, beside)
    assert list(values.index) == [0]
    of_seed = values.loc[0]
    assert of_seed["worth"] == pytest.approx(10**1.5) and of_seed["beyond"] == 0
    assert of_seed["overtaken"] == 10  # 0.42 a round from there to 100
    assert of_seed["first"] == pytest.approx(-0.3)
    assert of_seed["late"] == pytest.approx((300 - 600 - 30 + 40) / 900)


PLAYED = yaml.safe_load("""
study: s
claims: null
streams: {sim: {generator: linear, settings: {queries: 60, documents: 6, features: 4}}}
learners:
  cold: &ridge {kind: ridge, explore: ucb, lambdas: [1], alphas: [1]}
  lists: {kind: ridge, lambdas: [1], start: alone, lists: 5}
  kept: {<<: *ridge, start: chosen, lists: 5, judged_by: coin}
  click: {<<: *ridge, user: perfect}
  pdgd: {kind: pdgd, user: perfect, rates: [0.1]}
experiments:
  lists:
    {kind: top, streams: [sim], learners: [cold, lists, kept], rounds: 30, seeds: 2,
     figures: [figure-worth]}
  clicks:
    {kind: top, streams: [sim], learners: [click, pdgd], rounds: 30, seeds: 2,
     figures: [figure-one-click]}
""")


def test_figures_and_the_table_show_what_was_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = toys.settle(PLAYED).plan
    toys.play(made)
    inputs = making.Inputs(made)
    frames = {
        name: making.frame_of(target.shown, *inputs(target))
        for name, target in (made.figures | made.tables).items()
        if name in ("figure-worth", "figure-one-click", "judged")
    }
    bought, clicked, judged = frames.values()
    parts = bought.groupby("part")["start"].unique()
    assert {*parts["worth"]} == {"none", "alone"} and [*parts["start"]] == ["chosen"]
    assert {*bought.loc[bought["start"] == "alone", "grades"]} == {5 * 6}
    assert [*clicked["steps"]] == ["LinUCB, one click", "PDGD, ten clicks"]
    assert [*judged["learner"]] == ["lists", "kept"]
    of_lists, of_kept = judged.to_dict("records")
    assert 1 <= of_lists["worth"] <= 30 and np.isnan(of_kept["worth"])
    for name, frame in (("figure-worth", bought), ("figure-one-click", clicked)):
        families.called(made.figures[name].shown.draw)(frame)


# Who is judged, visited and never visited


@pytest.mark.parametrize("queries", ["all", "resampled"])
def test_no_query_is_both_judged_and_visited(packed, queries):
    """Nor a copy of it, as in folds."""
    plain = packed((np.array([0, 1]), np.eye(2)) for _ in range(100))
    folds = streams.Stream(**(vars(plain) | {"query": np.arange(100) % 50}))
    job = {"study_seed": 1, "stream": "s", "stream_settings": {}, "empty": "zero", "keep": 1.0}
    job |= {"rounds": 200, "order": "shuffled", "judged": 0.4, "unvisited": 0.3}
    job |= {"learner_settings": {"lists": 20}, "queries": queries}
    splits = []
    for seed in (0, 0, 1):
        never, judged = run.set_aside(job, seed, folds)
        visited = run.queries_of(job, seed, folds)
        ids = [{*folds.query[part].tolist()} for part in (never, judged, visited)]
        assert [len(part) for part in ids[:2]] == [15, 20]
        assert not ids[0] & ids[1] and not ids[2] & (ids[0] | ids[1])
        splits.append(ids)
    assert splits[0] == splits[1] != splits[2]


def test_more_lists_than_judged_queries_are_refused(packed):
    stream = packed((np.array([0, 1]), np.eye(2)) for _ in range(10))
    job = {"study_seed": 1, "stream": "s", "stream_settings": {}, "empty": "zero"}
    job |= {"judged": 0.4, "unvisited": 0.3, "learner_settings": {"lists": 5}}
    with pytest.raises(SettingError, match="lists: 5 are more than the 4 of its 10 queries"):
        run.judged_lists(job, 0, stream)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lists": 41}, "lists: 41 are more than the 40 of its 100 queries that are judged"),
        ({"judged_by": {"confusion": "gpt-4"}}, "grades 0 to 1, and the stream's go up to 4"),
        ({"judged_by": {"leans": {"cue": 51, "by": 1}}}, "leans.cue: there are 50 features"),
        ({"judged_by": "column"}, "column needs a second column of grades"),
        ({"judged_by": {"wrong": 1.5}}, "wrong"),
        ({"judged_by": {"wrong": 0.3, "confusion": "gpt-4"}}, "judged_by"),
        ({"k": 10, "user": "perfect"}, "user: below the first place"),
    ],
)
def test_what_cannot_be_judged_is_refused_at_planning(change, message):
    with pytest.raises(SettingError, match=message):
        plan(change)


def test_queries_have_to_be_left_to_visit():
    """A stream whose queries are all kept out is refused before a job asks for them."""
    with pytest.raises(
        SettingError, match="of the 100 queries of the stream 'linear' none is left"
    ):
        plan({}, unvisited=60)
    assert plan({}, unvisited=59).runs


def plan(change, **setting):
    """A study of one start from lists on 100 queries of 50 features and grades 0 to 4."""
    study = {
        "study": "toy",
        "seed": 1,
        "claims": None,
        "streams": {"linear": {"generator": "linear", "settings": {"queries": 100}}},
        "learners": {"ridge": {"kind": "ridge", "start": "trusted", "lists": 40} | change},
        "experiments": {
            "toy": {"kind": "top", "streams": ["linear"], "learners": ["ridge"], "seeds": 2}
            | setting
        },
    }
    return Plan(*settings.load(study))


def test_learners_without_lists_are_parted_alike_where_others_have_them():
    job = next(iter(plan({}).runs.values()))
    assert (job.settings["judged"], job.settings["unvisited"]) == (0.4, 0.3)


def test_arrays_have_the_grades_of_a_second_judge():
    """A judge with the grades of the data is a human; another is not."""
    random = np.random.default_rng(5)
    x, queries = random.random((300, 4)), np.repeat(np.arange(30), 10)
    grades = np.digitize(x[:, 0] + 0.1 * random.standard_normal(300), [0.5, 0.8])
    ridge = {"kind": "ridge", "explore": "ucb", "lambdas": [1.0], "alphas": [1.0]}
    play = {"against": [], "seeds": 2, "rounds": 20, "lists": 10, "start": "trusted"}
    boards = [
        scant.play(ridge, (x, grades, queries), judged=judge, **play)
        for judge in ("human", grades, 2 - grades)
    ]
    means = [board.set_index("learner")["mean"] for board in boards]
    assert {*means[0].index} == {"ridge-trusted", "ridge"}
    pd.testing.assert_series_equal(means[0], means[1])
    assert means[2]["ridge-trusted"] < means[0]["ridge-trusted"]


def test_a_second_judge_is_refused_where_he_cannot_be():
    x, queries = np.random.default_rng(5).random((20, 2)), np.repeat(np.arange(10), 2)
    arrays = (x, np.tile([0, 1], 10), queries)
    for streams_, judged_, message in (
        ("linear", np.zeros(3), "judged: a judge's grades are for one tuple of arrays"),
        (arrays, np.zeros(3), "judged is an array with a grade of each document: Added column"),
        ((*arrays, np.zeros(20)), np.zeros(20), "tuple is of three arrays"),
        (arrays, np.full((20, 1), 1), "judged is an array .*: only handle 1-dimensional"),
        (arrays, np.full(20, 5), "column has a grade of 5, and the data's go up to 1"),
        ("linear", "column", "judged_by: column needs a second column of grades"),
    ):
        with pytest.raises(SettingError, match=message):
            scant.play("ridge", streams_, [], judged=judged_, seeds=1, rounds=2, lists=1)
    for given in ({"lists": 3}, {"start": "trusted"}):
        with pytest.raises(SettingError, match="lists and start do nothing without judged"):
            scant.play("ridge", "linear", **given)

"""Populations, and runs of generalisation: what is drawn and paired, and a run file's numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from scant import surrogates
from scant.data import stream as streams
from scant.errors import SettingError
from scant.files import metadata_of
from scant.generalisation import run, solve
from scant.generalisation.populations import Linear, Lists, Separable
from scant.theory import generalisation as theory

LEARNERS = [
    ["erm", {"kind": "erm-l2"}],
    ["dcg", {"kind": "erm-l2", "surrogate": "smoothdcg", "starts": 3}],
    ["sparse", {"kind": "erm-l1", "surrogate": "squared"}],
    ["svm", {"kind": "erm-l2", "surrogate": "ranksvm"}],
    ["ogd", {"kind": "averaged-ogd", "surrogate": "kl"}],
    ["ridge", {"kind": "regularised-erm", "surrogate": "listnet", "lambda": 2.0}],
]


def generator(seed=1):
    return np.random.default_rng(seed)


def job(**changes):
    return {
        "study": "tiny", "study_seed": 3, "experiment": "sizes", "stream": "toy",
        "kind": "generalisation",
        "population": {"generator": "linear", "settings": {"grades": 2, "noise": 0.5}},
        "learners": LEARNERS, "n": [8, 16], "m": [3, 6], "d": [4], "W": 1.5, "W1": 2.0,
        "sigma": 0.5, "fresh": 60,
        "reference": 80, "ascents": 0,
    } | changes  # fmt: skip


def played(folder, seeds=(0, 1), inputs=None, **changes):
    target = folder / f"{len(list(folder.iterdir()))}.parquet"
    run.run(job(**changes), target, list(seeds), inputs or {})
    return pq.read_table(target)


def setup(**changes):
    settings = job(**changes)
    population = run._population(settings, settings["d"][-1], None)
    return run.Setup(settings, population, run._population(settings, population.informative, None))


# --- populations


def test_the_bound_on_signs_is_reached():
    population = Linear(generator(), 9, entries="signs")
    features, _ = population.draw(generator(), 20, 5)
    np.testing.assert_allclose(np.linalg.norm(features, axis=2), population.norm, rtol=1e-6)
    assert np.abs(features).max() == population.largest == 1


def test_lists_repeat_a_few_documents():
    features, grades = Linear(generator(), 3, distinct=2).draw(generator(), 20, 12)
    for documents, labels in zip(features, grades, strict=True):
        pairs = {
            (*document, label)
            for document, label in zip(documents.tolist(), labels.tolist(), strict=True)
        }
        assert len(pairs) <= 2


def test_variation_is_of_queries_and_noise_of_documents():
    """With variation alone equal documents of a query have equal grades; with noise not."""

    def agreement(**settings):
        population = Linear(generator(), 1, entries="signs", grades=1, **settings)
        features, grades = population.draw(generator(), 2000, 6)
        alike = [len(set(g[x[:, 0] > 0])) <= 1 for x, g in zip(features, grades, strict=True)]
        return np.mean(alike)

    assert agreement(noise=0.0, variation=2.0) == 1.0
    assert agreement(noise=2.0, variation=0.0) < 0.6


def test_separable_grades_are_scores_and_moves_are_rare():
    population = Separable(generator(), 6, length=2.5)
    features, grades = population.draw(generator(), 50, 4)
    np.testing.assert_allclose(features @ population.best, grades, atol=1e-4)
    assert np.linalg.norm(population.best) == pytest.approx(2.5)
    assert {*np.unique(grades)} == {1, 2, 3}
    moved = Separable(generator(), 6, length=2.5, moves=0.3)
    same, others = moved.draw(generator(), 3000, 4)
    gaps = np.abs(same @ moved.best - others)
    np.testing.assert_allclose(gaps, np.round(gaps), atol=1e-3)
    assert gaps.max() < 1.01 and (gaps > 0.5).mean() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("moves", [0.0, 0.4])
def test_the_ranker_is_the_best_for_the_surrogates_that_are_said(moves):
    population = Separable(generator(), 4, length=3.0, moves=moves)
    sample = solve.Sample(*population.draw(generator(5), 20_000, 3))
    for surrogate in population.best_for:
        mean = solve.Mean(sample, surrogate)
        found = solve.minimise(mean, population.best, solve.Ball("l2", 3.0))
        result = mean.evaluate(population.best).value - found.value
        assert result < 0.002 * (1 + mean.evaluate(np.zeros(4)).value)
    assert "squared" in population.best_for and ("ranksvm" in population.best_for) == (moves == 0)


@pytest.fixture(scope="module")
def stream(packed):
    random = generator()
    sizes = [2, 5, 9, 4, 7]
    return packed((random.integers(0, 3, size), random.normal(size=(size, 4))) for size in sizes)


def rows_of(stream, features):
    """The rows of a stream that some documents are."""
    index = {row.tobytes(): i for i, row in enumerate(np.asarray(stream.features))}
    return np.array([[index[document.tobytes()] for document in query] for query in features])


def test_lists_are_cut_from_the_queries_that_are_long_enough(stream):
    population = Lists(stream, 4, "cut", longest=5)
    features, grades = population.draw(generator(), 400, 5)
    rows = rows_of(stream, features)
    queries = np.searchsorted(stream.offsets, rows, side="right") - 1
    assert (queries == queries[:, :1]).all() and {*queries[:, 0].tolist()} == {1, 2, 4}
    assert all(len({*row}) == 5 for row in rows.tolist())  # without replacement
    np.testing.assert_array_equal(grades, stream.grades[rows])
    assert population.norm == pytest.approx(np.linalg.norm(stream.features, axis=1).max())
    assert population.largest == np.abs(stream.features).max()


def test_lists_are_resampled_to_any_length(stream):
    features, _ = Lists(stream, 4, "resampled", 30).draw(generator(), 500, 30)
    rows = rows_of(stream, features)
    queries = np.searchsorted(stream.offsets, rows, side="right") - 1
    assert (queries == queries[:, :1]).all() and {*queries[:, 0].tolist()} == {*range(5)}
    assert np.bincount(queries[:, 0]) == pytest.approx(np.full(5, 100), abs=45)


def test_what_a_stream_has_not_is_refused(stream, tmp_path):
    with pytest.raises(SettingError, match="m is 10, and the longest list of the stream has 9"):
        Lists(stream, 4, "cut", longest=10)
    with pytest.raises(SettingError, match="d is 5, and the stream has 4 features"):
        Lists(stream, 5, "resampled", 30)
    path = tmp_path / "toy.arrow"
    streams.write(path, ((q, *reversed(stream[q])) for q in range(len(stream))), {})
    changes = {"population": {"stream": "toy", "lists": "resampled"}, "inputs": {"streams": [path]}}
    changes |= {"d": None}
    with pytest.raises(SettingError, match="n is 16, and toy has 5 queries"):
        played(tmp_path, **changes)
    assert not list(tmp_path.glob("*.parquet"))
    assert played(tmp_path, n=[3, 5], **changes).column("d").unique().to_pylist() == [4]


# --- runs
def test_a_run_has_a_row_for_each_learner_and_size(tmp_path):
    table = played(tmp_path, ascents=2)
    assert table.schema.remove_metadata() == run.SCHEMA
    rows = table.to_pandas()
    assert len(rows) == 2 * 2 * 2 * len(LEARNERS)
    assert not rows.duplicated(["learner", "seed", "n", "m", "d"]).any()
    statuses = rows.groupby("learner")["status"].unique()
    expected = dict.fromkeys(("erm", "svm", "ridge", "sparse"), "certified")
    expected |= {"dcg": "local", "ogd": "one pass"}
    assert statuses.map(list).to_dict() == {name: [status] for name, status in expected.items()}
    assert rows["certificate"].isna().equals(rows["learner"] == "dcg")
    assert rows["spread"].notna().equals(rows["learner"] == "dcg")
    assert rows["rate"].notna().equals(rows["learner"].isin(["ogd", "ridge"]))
    assert rows["uniform"].notna().equals(rows["kind"].str.startswith("erm"))
    assert (rows["norm"] <= rows["W"] * (1 + 1e-9)).all()
    assert metadata_of(table.schema)["largest_grade"] == 2
    np.testing.assert_allclose(rows["excess"], rows["risk"] - rows["best"], atol=1e-9)


def test_rates_are_theorys_or_multiples_of_them(tmp_path):
    descent, ridge = {"kind": "averaged-ogd"}, {"kind": "regularised-erm"}
    settings = [descent, descent | {"step": 2.0}, descent | {"step": "optimistic"}]
    settings += [ridge, ridge | {"lambda": 0.5}]
    learners = [(str(number), entry) for number, entry in enumerate(settings)]
    rows = played(tmp_path, [0], learners=learners, n=[8], m=[3]).to_pandas()
    of = theory.problem("listnet", 3, 4, 2, 1.5, rows["R"][0], 0.5, best_risk=rows["found"][0])
    step, penalty = theory.descent_rate(8, of), theory.regularisation(8, of)
    expected = [step, 2 * step, theory.optimistic_rate(8, of), penalty, penalty / 2]
    assert rows["rate"].tolist() == pytest.approx(expected)


def test_results_do_not_depend_on_batches_or_on_other_learners_and_sizes(tmp_path):
    whole = played(tmp_path, ascents=2).to_pandas()
    parts = [played(tmp_path, [seed], ascents=2).to_pandas() for seed in (0, 1)]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    alone = played(tmp_path, learners=LEARNERS[:1], ascents=2, n=[8, 16]).to_pandas()
    pd.testing.assert_frame_equal(alone, whole[whole["learner"] == "erm"].reset_index(drop=True))
    small = played(tmp_path, m=[6], ascents=2).to_pandas()
    pd.testing.assert_frame_equal(
        small, whole[whole["m"] == 6].reset_index(drop=True), check_exact=False
    )


def test_fresh_queries_may_come_in_chunks(tmp_path, monkeypatch):
    whole = played(tmp_path, fresh=61).to_pandas()
    means = whole.groupby("learner")["risk"].mean()
    monkeypatch.setattr(run, "CHUNK", 6 * 4 * 7)
    chunked = played(tmp_path, fresh=61).to_pandas()
    np.testing.assert_array_equal(whole["train"], chunked["train"])
    assert (chunked.groupby("learner")["risk"].mean() - means).abs().max() < 1


def test_risks_are_unbiased_and_their_errors_right():
    """Over many seeds the risk scatters about that of very many queries as its error says."""
    made = setup(m=[4], n=[8], fresh=50, learners=LEARNERS[:1])
    weights, best = np.array([1.0, -0.5, 0.3, 0.0]), np.zeros(4)
    large = made.mean(solve.Sample(*made.population.draw(generator(9), 60_000, 4)), "listnet")
    risk = large.evaluate(weights).value
    truth = risk, risk - large.evaluate(best).value
    scores = []
    for seed in range(200):
        one = run.Found({"m": 4, "surrogate": "listnet"}, weights, best)
        run.measure(made, [one], seed)
        measured = zip(("risk", "excess"), truth, strict=True)
        scores.append(
            [(one.row[name] - true) / one.row[f"{name}_error"] for name, true in measured]
        )
    assert np.abs(np.mean(scores, axis=0)).max() < 4 / np.sqrt(200)
    np.testing.assert_allclose(np.std(scores, axis=0), 1.0, atol=0.25)


def test_the_best_weights_are_about_as_good_as_they_say():
    made = setup(m=[6], reference=4000)
    large = solve.Sample(*made.population.draw(generator(9), 60_000, 6))
    for surrogate in ("listnet", "smoothdcg"):
        ball, mean = made.ball("l2"), made.mean(large, surrogate)
        best = run.best_weights(made, surrogate, ball, 6)
        least, _ = solve.from_starts(mean, ball, 5, generator())
        assert -1e-3 < mean.evaluate(best.weights).value - least.value < 10 * abs(best.error) + 2e-3
    informative = setup(d=[30], population={"generator": "linear", "settings": {"informative": 2}})
    assert not run.best_weights(informative, "listnet", informative.ball("l1"), 6).weights[2:].any()
    known = setup(population={"generator": "separable", "settings": {}})
    assert run.best_weights(known, "squared", known.ball("l2"), 6).error == 0
    smaller = replace(known, job=known.job | {"W": 0.5})  # which does not hold the ranker
    weights = run.best_weights(smaller, "squared", smaller.ball("l2"), 6).weights
    assert np.linalg.norm(weights) <= 0.5 + 1e-9


def test_ascent_does_not_go_above_the_largest_gap():
    """In two dimensions a grid finds the largest gap; ascent's mean is not above it."""
    made = setup(m=[4], n=[8], d=[2], fresh=400, ascents=3, learners=LEARNERS[:1])
    ball = made.ball("l2")
    angles, radii = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, 1, 8))
    grid = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * radii[..., None]
    grid = ball.radius * grid.reshape(-1, 2)
    large = made.mean(solve.Sample(*made.population.draw(generator(9), 20_000, 4)), "listnet")
    risks, found, largest = np.array([large.evaluate(w).value for w in grid]), [], []
    for seed in range(30):
        row = run.of_seed(made, {}, seed)[0]
        features, grades = made.population.draw(made.random("sample", seed), 8, 4)
        mean = made.mean(solve.Sample(features, grades), "listnet")
        largest.append(max(risks - [mean.evaluate(w).value for w in grid]))
        found.append(row["uniform"])
    error = np.std(found, ddof=1) / np.sqrt(30)
    assert np.mean(found) <= np.mean(largest) + 2 * error
    assert np.mean(found) >= 0.8 * np.mean(largest) - 2 * error


class Mine:
    """A learner of one's own: the mean of the relevant documents."""

    ball, surrogate = "l1", "squared"

    def __init__(self, radius, random, scale=1.0):
        self.radius, self.scale = radius, scale

    def fit(self, features, grades):
        assert features.shape[:2] == grades.shape
        return self.scale * features[grades > 0].mean(axis=0)


class Wrong(Mine):
    def fit(self, features, grades):
        return np.full(features.shape[2], np.nan)


def test_learners_of_ones_own(tmp_path):
    learners = [["mine", {"kind": f"{__name__}:Mine", "options": {"scale": 0.5}}]]
    rows = played(tmp_path, learners=learners).to_pandas()
    facts = rows[["status", "ball", "W"]].drop_duplicates()
    assert facts.to_numpy().tolist() == [["one's own", "l1", 2.0]]
    made = setup(learners=learners)
    features, grades = made.population.draw(made.random("sample", 0), 16, 6)
    weights = Mine(2.0, None, 0.5).fit(features[:8, :3], grades[:8, :3])
    first = rows.query("seed == 0 and n == 8 and m == 3").iloc[0]
    losses = [
        surrogates.squared(x @ weights, y)[0]
        for x, y in zip(features[:8, :3], grades[:8, :3], strict=True)
    ]
    assert first["train"] == pytest.approx(np.mean(losses), rel=1e-5)
    with pytest.raises(SettingError, match="fit is to return 4 finite weights"):
        played(tmp_path, learners=[["wrong", {"kind": f"{__name__}:Wrong"}]])

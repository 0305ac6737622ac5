"""Simulated streams are what they are said to be, and as random as they are said to be."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rows import entries
from scipy import sparse

from scant import files
from scant.data import packing, simulated, stream
from scant.errors import DataError, SettingError

# margin that each must achieve, by default
SEPARABLE = {"separable": 0.8, "released-code": 1 / np.sqrt(10)}


def drawn(name, seed=0, **settings):
    queries, ranker = simulated.GENERATORS[name](np.random.default_rng(seed), **settings)
    ids, grades, features = zip(*queries, strict=True)
    assert list(ids) == list(range(len(ids)))
    return np.array(grades), np.array(features), ranker


@pytest.mark.parametrize("margin", [0.05, 0.2, 1.0, 7.0])
@pytest.mark.parametrize("seed", range(3))
def test_separable_streams_achieve_their_margin_in_float32(margin, seed):
    grades, x, ranker = drawn("separable", seed, queries=100, margin=margin)
    assert (grades.shape, x.shape) == ((100, 20), (100, 20, 20))
    assert np.linalg.norm(ranker) == pytest.approx(1, abs=1e-12)
    scores = x.astype(np.float32).astype(float) @ ranker
    achieved = min(stream.gap(one, grade) for one, grade in zip(scores, grades, strict=True))
    assert 0.8 * margin - 1e-4 <= achieved <= margin
    rest = scores / margin - grades  # the draws u of [0, 0.2)
    assert -1e-4 < rest.min() < 0.01 < 0.19 < rest.max() < 0.2 + 1e-4


def test_the_released_codes_stream():
    grades, x, ranker = drawn("released-code", queries=300)
    assert (grades == np.repeat([4, 3, 2, 1, 0], [3, 3, 4, 5, 5])).all()
    assert x.shape == (300, 20, 10)
    np.testing.assert_allclose(ranker, np.full(10, 1 / np.sqrt(10)))
    assert min(stream.gap(one, grades[0]) for one in x.sum(axis=2)) > 1
    _, few, _ = drawn("released-code", queries=200, features=3)  # where the first draw seldom does
    assert 1 < min(stream.gap(one, grades[0]) for one in few.sum(axis=2)) < 1.1
    for grade, mean in enumerate([-1, 1, 3, 5, 7]):
        assert x[grades == grade].mean() == pytest.approx(mean, abs=0.05)
    assert x[grades == 2].std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("relevant", [0.1, 0.5, 1.0])
def test_noisy_grades_have_their_shares(noise, relevant):
    grades, x, ranker = drawn(
        "linear", queries=1500, documents=40, features=40, noise=noise, relevant=relevant
    )
    assert ranker is None
    shares = [np.mean(grades > grade) for grade in range(4)]
    np.testing.assert_allclose(shares, relevant * 0.5 ** np.arange(4), atol=0.012)
    assert (grades.min() >= 0, grades.max()) == (True, 4)
    assert 0 <= x.min() < 1e-3 < 1 - 1e-3 < x.max() <= 1


def classes(rows=40, number=3):
    """Rows whose first feature is the class, the second the row's own, the third constant."""
    labels = np.arange(rows * number) % number
    return np.c_[labels * 10.0, np.arange(len(labels)), np.ones(len(labels))], labels


def test_retrieval_grades_are_whether_the_class_is_the_querys():
    x, labels = classes()
    queries, ranker = simulated.retrieval(np.random.default_rng(0), x, labels, 400, 20)
    assert ranker is None
    _, grades, features = map(np.array, zip(*queries, strict=True))
    assert (grades.shape, features.shape) == ((400, 20), (400, 20, 3))
    np.testing.assert_array_equal(grades, features[..., 0] == 0)
    # scaled to [0, 1] before the difference
    assert np.isin(np.unique(features[..., 0]), [0, -0.5, -1]).all()
    assert features[..., 1].max() < 0  # a query is not among its documents
    assert features.min() >= -1
    assert (features[..., 2] == 0).all()
    assert grades.mean() == pytest.approx(0.25, abs=0.03)
    for one in features[:, :, 1]:  # at most two rows are as far from the query: none is drawn twice
        assert np.unique(one.round(9), return_counts=True)[1].max() <= 2


def test_retrieval_packed_from_a_table(tmp_path):
    x, labels = classes()
    columns = {f"f{i + 1}": x[:, i].astype(np.float32) for i in range(3)}
    table = pa.table({"label": pa.array(labels.astype(str))} | columns)
    files.write_parquet(table, tmp_path / "one.parquet", {"task": "classification"})

    def packed(name, documents):
        settings = {"retrieval": {"queries": 7, "documents": documents}, "documents": "shuffled"}
        path = tmp_path / f"{name}.arrow"
        packing.pack(name, settings, [tmp_path / "one.parquet"], path, study_seed=3)
        return stream.read(path)

    there = packed("toy", 10)
    assert len(there) == 7
    assert entries(there.metadata, "largest_query features_reading") == (10, "as-is")
    np.testing.assert_array_equal(there.grades, there.features[:, 0] == 0)
    with pytest.raises(SettingError, match=r"streams\.toy2: retrieval of 40 documents"):
        packed("toy2", 40)
    assert not (tmp_path / "toy2.arrow").exists()


def draw_file(folder, name="one", generator="linear", study_seed=5, seed=0, **others):
    path = folder / f"{name}-{study_seed}-{seed}-{len(list(folder.iterdir()))}.arrow"
    given = {"generator": generator, "settings": {"queries": 20}, "documents": "shuffled"}
    simulated.simulate(name, given | others, path, study_seed, seed)
    return path


@pytest.mark.parametrize(
    "generator", sorted({*simulated.GENERATORS} - {"indistinguishable"})
)  # it draws nothing at random
def test_a_draw_is_addressed_by_study_seed_stream_and_seed(tmp_path, generator):
    one = draw_file(tmp_path, generator=generator).read_bytes()
    assert draw_file(tmp_path, generator=generator).read_bytes() == one
    rows = []
    for other in ({}, {"study_seed": 6}, {"seed": 1}, {"name": "two"}):
        rows += stream.read(draw_file(tmp_path, generator=generator, **other)).features.tolist()
    assert len({*map(tuple, rows)}) == len(rows) == 4 * 400


@pytest.mark.parametrize(("generator", "least"), SEPARABLE.items())
def test_a_separable_draw_records_the_margin_that_it_achieves(tmp_path, generator, least):
    there = stream.read(draw_file(tmp_path, generator=generator))
    ranker, queries = np.array(there.metadata["ranker"]), (there[q] for q in range(len(there)))
    gap = min(stream.gap(x.astype(float) @ ranker, grades) for x, grades in queries)
    assert there.metadata["margin"] == pytest.approx(gap, abs=1e-12) and gap >= least - 1e-4


def test_a_scaled_draw_has_no_ranker(tmp_path):
    there = stream.read(draw_file(tmp_path, generator="separable", features="query-minmax"))
    assert (there.metadata["ranker"], there.metadata["margin"]) == (None, None)
    assert (there.features.min(), there.features.max()) == (0, 1)


@pytest.mark.parametrize(
    ("distribution", "best"),
    [("first", [0.3533, 0.3920, 0.3226]), ("second", [0.3339, 0.3339, 0.4000])],
)
def test_indistinguishable_distributions_have_equal_means_and_differ_in_what_is_best_for_ndcg(
    distribution, best
):
    queries, ranker = simulated.indistinguishable(np.random.default_rng(0), distribution)
    _, grades, features = map(np.array, zip(*queries, strict=True))
    assert len(grades) == 20 and ranker is None and (features == np.eye(3)).all()
    # thesis, Table B.1
    np.testing.assert_allclose(grades.mean(axis=0), [0.45, 0.45, 0.40], atol=1e-12)
    ideal = {1: 1.0, 2: 1 + 1 / np.log2(3)}
    gains = np.mean([one / ideal[one.sum()] for one in grades], axis=0)
    np.testing.assert_allclose(gains, best, atol=5e-5)


# --- a function of one's own
def drawn_by(monkeypatch, returned):
    """The queries and the ranker that a function of one's own returns, as they are checked."""
    monkeypatch.setattr(simulated, "own", lambda *_: lambda random, size: returned)
    stated = {"generator": "my:blocks", "settings": {"size": 5}}
    queries, ranker = simulated.draw(np.random.default_rng(0), stated)
    return list(queries), ranker


def test_a_stream_is_drawn_by_a_function_of_ones_own(monkeypatch):
    returned = [(0, [1, 0.0], [[1], [0]]), (7, np.array([True, False]), np.eye(2)[:, :1])]
    queries, ranker = drawn_by(monkeypatch, (returned, [1.0]))
    for (id, grades, x), expected in zip(queries, (0, 7), strict=True):
        assert (id, grades.tolist(), x.tolist()) == (expected, [1, 0], [[1], [0]])
        assert (grades.dtype, x.dtype) == (np.int16, np.float32)
    assert ranker == [1.0] and drawn_by(monkeypatch, ([], None)) == ([], None)


NO_QUERIES = "my:blocks does not return queries, and a ranker or None"
NOT_DRAWN = "my:blocks cannot draw queries: "


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([], NO_QUERIES),
        (7, NO_QUERIES),
        ((7, None), NOT_DRAWN + "TypeError"),
        ((({}[number] for number in [1]), None), NOT_DRAWN + "KeyError: 1"),
    ],
)
def test_what_is_no_queries_and_ranker_is_refused(monkeypatch, returned, message):
    with pytest.raises(SettingError, match=message):
        drawn_by(monkeypatch, returned)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ((0, [0.5, 1], [[1], [2]]), "my:blocks: a grade of query 1 0.5 is not a whole number"),
        ((0, [2**32 + 1, 1], [[1], [2]]), "4294967297 is above 30"),
        ((0, [-1, 1], [[1], [2]]), "-1 is negative"),
        ((0, [1, 0], [[1e39], [2]]), "of query 1 is not finite in single precision: 1e+39"),
        ((0, [1, 0], [[1j], [2]]), "has the type complex128"),
        ((0, [1, 0], [1, 2]), "features of shape (2,)"),
        ((0, [], np.ones((0, 3))), "features of shape (0, 3)"),
        ((0.5, [1], [[1]]), "the id of query 1 0.5 is not a whole number"),
        ((2.0**53, [1], [[1]]), "the id of query 1 9007199254740992.0, as float64, may have been"),
        ((0, np.ma.masked_equal([1, 0], 0), [[1], [2]]), "values are masked"),
        ((0, [1, 0], np.ma.masked_equal([[1], [2]], 2)), "values are masked"),
        ((0, [1, 0], [*np.ma.masked_equal([[1], [2]], 2)]), "values are masked"),
        ((np.ma.masked, [1], [[1]]), "values are masked"),
        ((0, [1, "0"], [[1], [2]]), "query 1 is not (id, grades, features) (Could not convert"),
        (("a", [1], [[1]]), "the id of query 1 has the type object; numbers are expected"),
        (7, "query 1 is not (id, grades, features)"),
    ],
)
def test_no_number_of_ones_own_is_changed_without_a_word(monkeypatch, query, reason):
    with pytest.raises(DataError, match=re.escape(reason)):
        drawn_by(monkeypatch, ([query], None))


def test_numbers_of_ones_own_are_read_whatever_holds_them(monkeypatch):
    grades, features = np.array([1, 0], ">i8"), sparse.csr_array([[1.0], [0.0]])
    drawn = (np.int8(3), pd.array(grades, "Int64"), features), (4, grades.astype(object), features)
    queries, _ = drawn_by(monkeypatch, (drawn, np.array([1], np.longdouble)))
    assert [(id, grades.tolist(), x.tolist()) for id, grades, x in queries] == [
        (id, [1, 0], [[1], [0]]) for id in (3, 4)
    ]


@pytest.mark.parametrize(
    "ranker",
    [[np.nan], [2.0], [[1.0]], ["a"], 1.0, [1 + 0j], np.ma.masked_equal([1.0, 0.0], 0)],
)
def test_a_ranker_is_weights_of_norm_1(monkeypatch, ranker):
    with pytest.raises(DataError, match="the ranker"):
        drawn_by(monkeypatch, ([], ranker))


@pytest.mark.parametrize("ranker", [[-1.0], [0.6, 0.8]])
def test_a_ranker_separates_the_grades_of_each_query(monkeypatch, ranker):
    queries = [(0, [1, 1], [[1], [2]]), (1, [1, 0], [[1], [0]])]
    with pytest.raises(DataError, match="the ranker does not separate the grades of query"):
        drawn_by(monkeypatch, (queries, ranker))

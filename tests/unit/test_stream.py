"""Streams: what goes in comes out, mapped, read-only; order tells nothing; defects are refused."""

import dataclasses
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from scant import measures, surrogates
from scant.data import packing, stream, tables
from scant.data.registry import Dataset, Part
from scant.errors import DataError
from scant.kernels import pieces
from scant.randomness import generator


def draw(seed, sizes=(3, 1, 40, 12), features=5, top=4):
    """Queries with ids neither sorted nor consecutive; the second has no relevant document."""
    random = np.random.default_rng(seed)
    for place, m in enumerate(sizes):
        grades = random.integers(0, top + 1, m) * (place != 1)
        yield 100 - 7 * place, grades, random.standard_normal((m, features)).astype(np.float32)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "one.arrow"
    stream.write(path, draw(0), {"stream": "one"})
    return path


# --- the file
@pytest.mark.parametrize("seed", range(3))
def test_what_goes_in_comes_out(tmp_path, seed):
    path = tmp_path / "one.arrow"
    returned = stream.write(path, draw(seed), {"stream": "one"})
    there = stream.read(path)
    ids, grades, features = zip(*draw(seed), strict=True)
    assert there.features.tobytes() == np.concatenate(features).tobytes()
    assert (there.features.dtype, there.features.shape) == (np.float32, (56, 5))
    assert there.offsets.tolist() == [0, 3, 4, 44, 56]
    assert there.grades.tolist() == np.concatenate(grades).tolist()
    assert there.query.tolist() == list(ids)
    assert there.relevant.tolist() == [np.count_nonzero(one) for one in grades]
    for q, (one, x) in enumerate(zip(grades, features, strict=True)):
        best = measures.rank(one)
        assert there.ideal_dcg[q] == pytest.approx(measures.dcg(best, one), rel=1e-13)
        assert there.ideal_dcg_at_cut[q] == pytest.approx(measures.dcg(best, one, 10), rel=1e-13)
        np.testing.assert_array_equal(there[q][0], x)
        np.testing.assert_array_equal(there[q][1], one)
    assert len(there) == 4
    ratios = {"ap": 1.0, "ndcg": max(map(stream.weight_ratio, grades))}
    ratios["ndcg@10"] = max(stream.weight_ratio(one, 10) for one in grades)
    norms = np.linalg.norm(np.concatenate(features).astype(float), axis=1)
    assert there.metadata == returned
    assert returned == {
        **{"stream": "one", "queries": 4, "documents": 56, "features": 5, "largest_query": 40},
        **{"largest_grade": 4, "without_relevant": 1, "ranker": None, "margin": None},
        **{"radius": pytest.approx(norms.max(), rel=1e-15), "weight_ratio": ratios},
    }


def test_the_margin_is_that_of_the_float32_features(tmp_path):
    x = np.array([[1.0, 5.0], [0.25, 0.0], [0.1, -5.0]])
    facts = stream.write(
        tmp_path / "one.arrow", [(0, np.array([2, 1, 1]), x)], {}, np.array([1.0, 0.0])
    )
    assert (facts["margin"], facts["ranker"]) == (0.75, [1.0, 0.0])
    assert stream.read(tmp_path / "one.arrow").metadata == facts


def test_arrays_are_mapped_and_read_only(tmp_path):
    stream.write(tmp_path / "one.arrow", draw(0, (1000,), 300), {})
    before = pa.total_allocated_bytes()
    there = stream.read(tmp_path / "one.arrow")
    assert pa.total_allocated_bytes() - before < 10_000  # of 1.2 MB
    assert not there.features.flags.owndata
    for name in ("features", "offsets", "grades", "relevant", "ideal_dcg", "query"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(there, name)[0] = 1


def test_features_that_are_mapped_bit_by_bit_are_the_same_bytes(tmp_path, written, monkeypatch):
    monkeypatch.setattr(stream, "WRITTEN", 7)
    stream.write(tmp_path / "another.arrow", draw(0), {"stream": "one"})
    assert (tmp_path / "another.arrow").read_bytes() == written.read_bytes()


def failing(exception):
    yield from draw(0)
    raise exception


@pytest.mark.parametrize(
    ("queries", "exception"),
    [
        (failing(DataError("x", "y")), DataError),
        (failing(KeyboardInterrupt()), KeyboardInterrupt),
        ([], DataError),
    ],
)
def test_a_write_that_fails_leaves_nothing(tmp_path, queries, exception):
    with pytest.raises(exception):
        stream.write(tmp_path / "one.arrow", queries, {})
    assert list(tmp_path.iterdir()) == []


def refused(path):
    with pytest.raises(DataError) as caught:
        stream.read(path)
    assert caught.value.file == str(path)
    return str(caught.value)


def test_a_stream_cut_short_anywhere_is_refused(written):
    content = written.read_bytes()
    for length in {*range(0, len(content), 61), len(content) - 1}:
        written.write_bytes(content[:length])
        assert "--forcerun" in refused(written)


def arrow(path, columns, metadata=None, batches=1):
    table = pa.record_batch(columns).replace_schema_metadata(metadata)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        for _ in range(batches):
            writer.write_batch(table)


FOREIGN = {
    "text": lambda path: path.write_text("2 qid:1 1:0.5\n" * 99),
    "empty": lambda path: path.write_bytes(b""),
    "folder": lambda path: path.mkdir(),
    "no batch": lambda path: arrow(path, {"query": [1]}, {"scant": "{}"}, batches=0),
    "metadata that is no JSON": lambda path: arrow(path, {"query": [1]}, {"scant": "{"}),
    "features that are no list": lambda path: arrow(
        path, {"features": [1.0], "grades": [[1]]}, {"scant": '{"features": 1}'}
    ),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_file_of_another_kind_is_refused(tmp_path, make):
    make(tmp_path / "one.arrow")
    refused(tmp_path / "one.arrow")


def test_a_damaged_stream_is_refused_or_read_rightly(written):
    content, refusals, whole = written.read_bytes(), 0, stream.read(written)
    fields = [field.name for field in dataclasses.fields(whole) if field.name != "metadata"]
    fields = [name for name in fields if getattr(whole, name) is not None]  # one judge's grades
    right = {name: getattr(whole, name).copy() for name in fields}
    # the footer, whole
    for place in [*range(0, len(content) - 300, 40), *range(len(content) - 300, len(content))]:
        written.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            there = stream.read(written)
            assert there.metadata == whole.metadata
            for name in fields:
                np.testing.assert_array_equal(getattr(there, name), right[name])
        except DataError as error:
            refusals += 1
            assert error.file == str(written)
    assert refusals > 50


# --- what is computed of a query
@given(st.lists(st.integers(0, 6), min_size=1, max_size=25), st.sampled_from([None, 1, 3, 10]))
def test_the_weight_ratio_is_that_of_the_slam_weights(grades, cut):
    weights = surrogates.slam_weights("ndcg", np.zeros(len(grades)), grades, cut)
    positive = weights[weights > 0]
    expected = positive.max() / positive.min() if len(positive) else 1.0
    assert stream.weight_ratio(np.array(grades), cut) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("scores", "grades", "expected"),
    [
        ([3.0, 1.0, 0.5], [2, 1, 0], 0.5),
        ([3.0, 1.0, 0.5], [4, 0, 4], -0.5),
        ([1.0, 1.0], [1, 0], 0),
        ([1, 2], [3, 3], np.inf),
    ],
)
def test_the_gap_between_grades(scores, grades, expected):
    assert stream.gap(np.array(scores), np.array(grades)) == expected


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
TIED = st.sampled_from([0.0, 1.0, -1.0, 3e38, -3e38, 1e-45])


@given(
    arrays.arrays(
        np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FLOATS | TIED
    )
)
def test_scaling_to_the_unit_interval(x):
    scaled = stream.scale(x, "query-minmax").astype(np.float32)
    low, high = x.min(axis=0), x.max(axis=0)
    assert np.all((scaled >= 0) & (scaled <= 1))
    assert np.all(scaled[:, low == high] == 0)
    assert np.all(scaled[x == low] == 0)
    assert np.all(scaled[(x == high) & (high > low)] == 1)
    order = np.argsort(x, axis=0)
    assert np.all(np.diff(np.take_along_axis(scaled, order, axis=0), axis=0) >= 0)
    assert stream.scale(x, "as-is") is x
    centred, tiny = stream.scale(x, "query-centred"), 1e-12 * np.abs(x.astype(float)).max(axis=0)
    assert np.all(np.abs(centred.sum(axis=0)) <= tiny)
    assert np.all(np.abs(np.diff(centred, axis=0) - np.diff(x.astype(float), axis=0)) <= tiny)


# --- order
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=6), st.booleans())
def test_queries_are_joined_across_blocks(data, sizes, last):
    query = np.repeat(np.arange(len(sizes))[::-1] + 5, sizes)
    n = len(query)
    inner = data.draw(st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set()))
    borders = [0, *sorted(inner), n]
    grade, x = np.arange(n), np.arange(2 * n).reshape(n, 2)
    blocks = [(query[a:b], grade[a:b], x[a:b]) for a, b in pairwise(borders)]
    assert list(stream.joined([])) == []
    got = list(stream.joined(iter(blocks), last=last))
    assert [one[0] for one in got] == list(dict.fromkeys(query.tolist()))[: None if last else -1]
    for one, documents, features in got:
        np.testing.assert_array_equal(documents, np.flatnonzero(query == one))
        np.testing.assert_array_equal(features, x[documents])


def sorted_by_grade(queries, grades=(4, 3, 2, 2, 1, 0, 0, 0)):
    grade = np.array(grades)
    return [(q, grade, np.stack([grade, np.arange(len(grade))], axis=1)) for q in range(queries)]


def test_a_shuffled_documents_place_tells_nothing_of_its_grade():
    queries = 4000
    arranged = stream.arrange(sorted_by_grade(queries), generator(1, "letor"), "as-is", "shuffled")
    shuffled = [grade for _, grade, _ in arranged]
    truth = np.array(sorted_by_grade(1)[0][1])
    error = truth.std() / np.sqrt(queries)
    assert np.abs(np.mean(shuffled, axis=0) - truth.mean()).max() < 4 * error


def test_documents_keep_their_features_and_the_name_alone_makes_the_order():
    def arranged(name):
        return list(
            stream.arrange(iter(sorted_by_grade(5)), generator(1, name), "as-is", "shuffled")
        )

    for _, grade, x in arranged("a"):
        np.testing.assert_array_equal(x[:, 0], grade)
        assert sorted(x[:, 1]) == list(range(8))
    orders = [[x[:, 1].tolist() for _, _, x in arranged(name)] for name in ("a", "a", "b")]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][0] != orders[0][1]


# --- packing
@pytest.fixture
def two_tables(tmp_path):
    parts = {"a": Part("a", "a"), "b": Part("b", "b")}
    toy = Dataset("toy", "ranking", "letor", 1, parts, ("a", "b"), "toy")
    texts = {"a": "0 qid:1 1:4\n1 qid:1 1:2\n0 qid:2 1:7\n", "b": "2 qid:3 1:1\n0 qid:4 1:5\n"}
    for part, text in texts.items():
        (tmp_path / part).write_text(text)
        tables.convert(toy, part, tmp_path / part, tmp_path / f"{part}.parquet")
    return [tmp_path / "a.parquet", tmp_path / "b.parquet"]


def packed_with(folder, paths, **settings):
    settings = {"drop_last": False, "documents": "as-is"} | settings
    packing.pack("toy", settings, paths, folder / "toy.arrow", study_seed=1)
    return stream.read(folder / "toy.arrow")


def test_tables_are_packed_one_after_another(tmp_path, two_tables):
    there = packed_with(tmp_path, two_tables, features="as-is")
    assert there.query.tolist() == [1, 2, 3, 4]
    assert there.features.ravel().tolist() == [4, 2, 7, 1, 5]
    assert there.metadata["features_reading"] == "as-is"


def test_drop_last_leaves_out_the_last_query_of_each_table(tmp_path, two_tables):
    assert packed_with(tmp_path, two_tables, drop_last=True).query.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("settings", "reading"),
    [
        ({}, "query-minmax"),
        ({"normalised": True}, "as-is"),
        ({"normalised": True, "features": "query-minmax"}, None),
    ],
)
def test_sets_published_normalised_are_left_as_they_are_by_default(
    tmp_path, two_tables, settings, reading
):
    there = packed_with(tmp_path, two_tables, **settings)
    assert there.metadata["features_reading"] == (reading or "query-minmax")
    assert there.features.max() == (7 if reading == "as-is" else 1)


@given(
    arrays.arrays(np.int16, st.integers(1, 60), elements=st.integers(0, stream.LARGEST_GRADE)),
    st.integers(1, 70),
)
def test_the_ideal_dcg_is_the_compiled_one_to_the_last_bit(grades, cut):
    most = stream.LARGEST_GRADE
    tables = stream.gains(most), stream.discounts(60), np.empty(most + 1, np.int64)
    compiled = pieces.ideal_dcg(grades.astype(np.int64), cut, *tables)
    assert stream.ideal_dcg(grades, cut) == compiled

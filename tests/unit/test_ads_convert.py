import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from scant import files
from scant.ads import convert
from scant.data import logs, tables
from scant.data.registry import Dataset, Part
from scant.errors import DataError, SettingError


def table(path, labels, features):
    """A classification table as `scant convert` makes it."""
    text = "".join(
        f"{','.join(map(str, row))},{label}\n" for row, label in zip(features, labels, strict=True)
    )
    original = path.with_suffix(".csv")
    files.write_text(original, text)
    part = Part("all", original.name)
    dataset = Dataset(
        "set", "classification", "csv-label-last", len(features[0]), {"all": part}, ("all",), "set"
    )
    tables.convert(dataset, "all", original, path)
    return path


def labelled(examples=3000, classes=5, seed=0):
    random = np.random.default_rng(seed)
    label = random.integers(0, classes, examples, dtype=np.int32)
    features = random.standard_normal((examples, 2)).astype(np.float32)
    return convert.Labelled(features, label, tuple("abcdefgh"[:classes]), ("f1", "f2"))


def test_digits_come_as_scikit_learn_has_them(tmp_path):
    digits = load_digits()
    made = convert.read_labelled(
        table(tmp_path / "digits.parquet", digits.target, digits.data.tolist())
    )
    np.testing.assert_array_equal(made.features, digits.data.astype(np.float32))
    np.testing.assert_array_equal(made.label, digits.target)
    assert made.classes == tuple("0123456789") and made.label.dtype == np.int32
    assert made.names[0] == "f1" and len(made.names) == 64


def test_classes_that_are_numbers_stand_in_their_order_over_several_tables(tmp_path):
    paths = [
        table(tmp_path / "a.parquet", [10, 9, 2], [[1], [2], [3]]),
        table(tmp_path / "b.parquet", [1, 10], [[4], [5]]),
    ]
    made = convert.read_labelled(paths)
    assert made.classes == ("1", "2", "9", "10")
    assert made.label.tolist() == [3, 2, 1, 0, 3]
    assert made.features.ravel().tolist() == [1, 2, 3, 4, 5]


def test_other_classes_stand_in_the_order_of_their_text(tmp_path):
    made = convert.read_labelled(table(tmp_path / "a.parquet", ["b", "10", "a"], [[1], [2], [3]]))
    assert made.classes == ("10", "a", "b") and made.label.tolist() == [2, 0, 1]


def test_a_set_of_one_class_is_refused(tmp_path):
    with pytest.raises(DataError, match="all examples are of class '7'"):
        convert.read_labelled(table(tmp_path / "a.parquet", [7, 7], [[1], [2]]))


def test_a_split_is_70_to_30_without_overlap_and_random():
    data = labelled(examples=101)
    train, test = convert.split(data, np.random.default_rng(1))
    assert (len(train), len(test)) == (71, 30)
    assert sorted([*train, *test]) == list(range(101))
    again = convert.split(data, np.random.default_rng(1))
    other = convert.split(data, np.random.default_rng(2))
    assert (again[0] == train).all() and (other[0] != train).any()


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.2, 0.001])
def test_a_split_with_an_empty_part_is_refused(share):
    with pytest.raises(SettingError, match=f"share is {share}"):
        convert.split(labelled(examples=100), np.random.default_rng(0), share)


def test_the_log_is_of_a_uniform_policy_and_pays_for_the_right_class():
    data = labelled(examples=50_000)
    log = logs.check(convert.bandit(data, np.random.default_rng(7)), "log")
    assert (log.propensity == 0.2).all() and log.actions == data.classes and log.names == data.names
    np.testing.assert_array_equal(log.reward == 1, log.action == data.label)
    np.testing.assert_array_equal(log.features, data.features)
    counts = np.zeros((5, 5))
    np.add.at(counts, (data.label, log.action), 1)
    expected = np.outer(counts.sum(axis=1), np.full(5, 0.2))
    # uniform whatever the class
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 20) > 1e-4


def test_the_log_of_a_part_has_its_rows_in_order():
    data = labelled()
    rows = np.array([5, 2, 9])
    log = convert.bandit(data, np.random.default_rng(0), rows)
    np.testing.assert_array_equal(log.features, data.features[rows])
    np.testing.assert_array_equal(log.reward == 1, log.action == data.label[rows])


def test_rare_classes_are_logged():
    data = convert.Labelled(
        np.zeros((50, 1), np.float32), np.array([0] * 49 + [1]), ("a", "b"), ("x",)
    )
    train = np.arange(49)  # class b is never in training
    log = convert.bandit(data, np.random.default_rng(0), train)
    assert logs.check(log, "log").actions == ("a", "b")
    assert not log.reward[log.action == 1].any()

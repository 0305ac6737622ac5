import numpy as np
import pytest

from scant.data import logs, openbandit
from scant.errors import DataError

ITEMS = 3
HEAD = ["", *("timestamp", "item_id", "position", "click", "propensity_score")]
HEAD += [*("user_feature_0", "user_feature_1")]
HEAD += [*(f"user-item_affinity_{item}" for item in range(ITEMS))]
ROWS = [
    ["2019-11-24 00:03:13.442536+00:00", 2, 3, 0, 0.25, "cc", "81", 0.0, 1.0, 2.0],
    ["2019-11-24 00:03:36.705207+00:00", 0, 1, 1, 1e-06, "aa", "81", 3.0, 0.0, 0.0],
    ["2019-11-24 00:04:00+00:00", 2, 2, 0, 0.5, "cc", "7e1", 0.0, 0.0, 0.0],
]


def text(rows=None, head=None):
    lines = [head or HEAD, *([number, *row] for number, row in enumerate(rows or ROWS))]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def read(folder, content):
    (folder / "men.csv").write_text(content)
    return openbandit.read(folder / "men.csv")


def changed(row, column, value):
    rows = [list(entries) for entries in ROWS]
    rows[row][HEAD.index(column) - 1] = value
    return text(rows)


def renamed(there, instead):
    return text(head=[name.replace(there, instead) for name in HEAD])


def test_a_log_is_read_as_the_file_has_it(tmp_path):
    log = read(tmp_path, text())
    assert log.actions == ("0", "1", "2")
    assert log.action.tolist() == [2, 0, 2] and log.reward.tolist() == [0, 1, 0]
    assert log.propensity.tolist() == [0.25, 1e-6, 0.5] and log.position.tolist() == [3, 1, 2]
    assert log.timestamp[1] == np.datetime64("2019-11-24T00:03:36.705207")
    assert log.names == (
        *("user_feature_0=aa", "user_feature_0=cc", "user_feature_1=7e1", "user_feature_1=81"),
        *("user-item_affinity_0", "user-item_affinity_1", "user-item_affinity_2"),
    )
    expected = [[0, 1, 0, 1, 0, 1, 2], [1, 0, 0, 1, 3, 0, 0], [0, 1, 1, 0, 0, 0, 0]]
    assert log.features.tolist() == expected


def test_the_manuals_name_of_the_propensity_is_read_too(tmp_path):
    propensity = read(tmp_path, renamed("propensity_score", "action_prob")).propensity
    np.testing.assert_array_equal(propensity, read(tmp_path, text()).propensity)


def test_items_are_those_with_affinities_in_the_order_of_their_numbers(tmp_path):
    head = [name.replace("affinity_0", "affinity_10") for name in HEAD]
    rows = [[row[0], row[1] or 10, *row[2:]] for row in ROWS]
    log = read(tmp_path, text(rows, head))
    assert log.actions == ("1", "2", "10") and log.action.tolist() == [1, 2, 1]  # 1 was never shown
    assert log.names[-3:] == tuple(f"user-item_affinity_{item}" for item in (1, 2, 10))
    assert log.features[:, -3:].tolist() == [[1, 2, 0], [0, 0, 3], [0, 0, 0]]


def test_logs_of_two_policies_are_aligned_by_their_categories(tmp_path):
    train, test = read(tmp_path, text()), read(tmp_path, changed(0, "user_feature_0", "bb"))
    moved = logs.align(test, train.actions, train.names)
    assert moved.names == train.names
    # nobody is "bb" in the first log
    assert moved.features[:, :2].tolist() == [[0, 0], [1, 0], [0, 1]]
    np.testing.assert_array_equal(moved.features[:, 2:], train.features[:, 2:])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (changed(1, "item_id", 3), "line 3: item_id '3' is not among the 3 items"),
        (changed(1, "item_id", ""), "line 3: item_id is missing"),
        (changed(2, "click", 2), "line 4: click '2' is not 0 or 1"),
        (changed(0, "propensity_score", 0), r"line 2: propensity 0\.0 is not in \(0, 1\]"),
        (changed(0, "propensity_score", "x"), "line 2: propensity_score 'x' is not a number"),
        (changed(1, "user-item_affinity_2", "inf"), "line 3: feature 'user-item_affinity_2'"),
        (changed(1, "timestamp", "soon"), "line 3: timestamp 'soon' is not a time"),
        (renamed("propensity_score", "p"), "line 1: there is no column 'propensity_score'"),
        (renamed("affinity_2", "affinity_3"), "line 2: item_id '2' is not among the 3 items"),
        (text().splitlines()[0] + "\n", "no rows"),
    ],
)
def test_a_file_that_is_not_as_published_is_refused(content, reason, tmp_path):
    with pytest.raises(DataError, match=rf"men\.csv.*{reason}"):
        read(tmp_path, content)

import numpy as np
import pytest

from scant.data import openbandit
from scant.errors import DataError

ITEMS = 3
CONTEXT = ",item_id,item_feature_0,item_feature_1\n0,0,-0.5,aa\n1,1,0.5,bb\n2,2,1.5,aa\n"
HEAD = [
    "",
    *("timestamp", "item_id", "position", "click", "propensity_score"),
    *("user_feature_0", "user_feature_1"),
    *(f"user-item_affinity_{item}" for item in range(ITEMS)),
]
ROWS = [
    ["2019-11-24 00:03:13.442536+00:00", 2, 3, 0, 0.25, "cc", "81", 0.0, 1.0, 2.0],
    ["2019-11-24 00:03:36.705207+00:00", 0, 1, 1, 1e-06, "aa", "81", 3.0, 0.0, 0.0],
    ["2019-11-24 00:04:00+00:00", 2, 2, 0, 0.5, "cc", "7e1", 0.0, 0.0, 0.0],
]


def text(rows=None, head=None):
    lines = [head or HEAD, *([number, *row] for number, row in enumerate(rows or ROWS))]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "item_context.csv").write_text(CONTEXT)
    (tmp_path / "men.csv").write_text(text())
    return tmp_path


def read(folder, content=None, **settings):
    if content is not None:
        (folder / "men.csv").write_text(content)
    return openbandit.read(folder / "men.csv", folder / "item_context.csv", **settings)


def changed(row, column, value):
    rows = [list(entries) for entries in ROWS]
    rows[row][HEAD.index(column) - 1] = value
    return text(rows)


def test_a_log_is_read_as_the_file_has_it(folder):
    log = read(folder)
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


def test_the_manuals_name_of_the_propensity_is_read_too(folder):
    content = text(head=["action_prob" if name == "propensity_score" else name for name in HEAD])
    np.testing.assert_array_equal(read(folder, content).propensity, read(folder, text()).propensity)


def test_logs_read_with_one_vocabulary_have_the_same_features(folder):
    bts = folder / "bts.csv"
    bts.write_text(changed(0, "user_feature_0", "bb"))
    paths = [folder / "men.csv", bts]
    known = openbandit.vocabulary(paths)
    assert known == {"user_feature_0": ("aa", "bb", "cc"), "user_feature_1": ("7e1", "81")}
    assert known == openbandit.vocabulary(paths[::-1])
    one, other = (openbandit.read(path, folder / "item_context.csv", known) for path in paths)
    assert one.names == other.names
    assert one.features[0, :3].tolist() == [0, 0, 1] and other.features[0, :3].tolist() == [0, 1, 0]
    np.testing.assert_array_equal(one.features[:, :3].sum(axis=1), 1)


def test_a_category_outside_the_vocabulary_is_refused(folder):
    known = openbandit.vocabulary([folder / "men.csv"])
    with pytest.raises(DataError, match=r"men\.csv, line 3: user_feature_0 'zz' is not among the 2 known"):
        read(folder, changed(1, "user_feature_0", "zz"), known=known)


def test_logs_with_other_user_features_have_no_common_vocabulary(folder):
    other = folder / "other.csv"
    other.write_text(text(head=["user_feature_9" if name == "user_feature_1" else name for name in HEAD]))
    with pytest.raises(DataError, match=r"other\.csv: user features"):
        openbandit.vocabulary([folder / "men.csv", other])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (changed(1, "item_id", 3), "line 3: item_id '3' is not among the 3 known"),
        (changed(1, "item_id", ""), "line 3: item_id is missing"),
        (changed(2, "click", 2), "line 4: click is 2, not 0 or 1"),
        (changed(2, "click", 0.5), "line 4: click is 0.5, not 0 or 1"),
        (changed(2, "click", ""), "line 4: click is missing"),
        (changed(0, "propensity_score", 0), r"line 2: propensity 0\.0 is not in \(0, 1\]"),
        (changed(0, "propensity_score", 1.5), "line 2: propensity 1.5"),
        (changed(0, "propensity_score", "x"), "line 2: propensity_score 'x' is not a number"),
        (changed(1, "user_feature_1", ""), "line 3: user_feature_1 is missing"),
        (changed(1, "user-item_affinity_2", ""), "line 3: user-item_affinity_2 is missing"),
        (changed(1, "user-item_affinity_2", "inf"), "line 3: feature 'user-item_affinity_2'"),
        (changed(1, "timestamp", "soon"), "line 3: timestamp 'soon' is not a time"),
        (changed(1, "position", 1.5), "line 3: position 1.5 is not a whole number"),
        (
            text(head=[n.replace("propensity_score", "p") for n in HEAD]),
            "line 1: there is no column 'propensity_score'",
        ),
        (text(head=[n.replace("click", "clicks") for n in HEAD]), "line 1: there is no column 'click'"),
        (text(head=[n.replace("user_feature", "user") for n in HEAD]), "line 1: there is no column 'user_feature_0'"),
        (text(head=[n.replace("affinity_2", "affinity_3") for n in HEAD]), "line 1: 3 columns user-item_affinity_ID"),
        (text(head=[*HEAD[:-1], "x"]), "line 1: 2 columns user-item_affinity_ID"),
        (text().splitlines()[0] + "\n", "no rows"),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_is_not_as_published_is_refused(content, reason, folder):
    with pytest.raises(DataError, match=rf"men\.csv.*{reason}"):
        read(folder, content)


def test_items_are_those_of_the_context(folder):
    assert openbandit.items(folder / "item_context.csv") == ("0", "1", "2")
    (folder / "item_context.csv").write_text(CONTEXT.splitlines()[0] + "\n")
    with pytest.raises(DataError, match="no items"):
        read(folder)
    (folder / "item_context.csv").write_text("id\n1\n")
    with pytest.raises(DataError, match=r"item_context\.csv.*no column 'item_id'"):
        read(folder)

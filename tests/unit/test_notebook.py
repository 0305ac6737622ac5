"""`scant.play`: learners from Python, without a study."""

import numpy as np
import pytest

import scant
from scant import notebook
from scant.errors import SettingError
from scant.measures import rank
from scant.rankers.learners import NonFiniteScores


class First:
    """Leaves documents as they come."""

    def __init__(self, features, rate, random):
        pass

    def rank(self, features):
        return rank(np.zeros(len(features)))

    def learn(self, features, grades, ranking):
        assert (grades >= 0).sum() <= 2  # it sees two
        return False


def arrays(random, queries=20):
    features = random.random((10 * queries, 3))
    return features, (features[:, 0] > 0.7).astype(int), np.arange(10 * queries) // 10


def test_learners_of_ones_own_and_built_in_on_arrays_files_and_settings(tmp_path):
    """Each learner is compared on each stream, and the study that is written can be read."""
    features, grades, queries = arrays(np.random.default_rng(5))
    text = tmp_path / "patients.txt"
    lines = [
        f"{grade} qid:{query} 1:{x[0]!r} 2:{x[1]!r} 3:{x[2]!r}\n"
        for x, grade, query in zip(features.tolist(), grades, queries, strict=True)
    ]
    text.write_text("".join(lines))
    linear = {"generator": "linear", "settings": {"queries": 9}}
    streams = [(features, grades, queries), text, linear]
    ridge = {"kind": "ridge", "lambdas": [1.0]}
    board = scant.play(ridge, streams, [First, "random", ridge], seeds=13, k=2, rounds=40)
    assert isinstance(board, notebook.Leaderboard)
    means = board.pivot_table("mean", "learner", "stream", sort=False)
    assert {*means} == {"arrays", "patients", "linear"}
    assert {*means.index} == {"ridge", "first", "random", "ridge-2"}
    of_twins = board[board["learner"] == "ridge-2"]
    assert (of_twins["difference"] == 0).all() and (of_twins["ahead"] == 0).all()
    assert (of_twins["verdict"] == "undecided").all()
    of_random = board[board["learner"] == "random"].set_index("stream")
    assert of_random.loc["arrays", "verdict"] == "holds" and of_random.loc["arrays", "ahead"] == 13
    difference = means.loc["ridge"] - means.loc["random"]
    np.testing.assert_allclose(of_random.loc[difference.index, "difference"], difference)
    given = board.given["learners"]
    assert given["first"]["k"] == given["ridge"]["k"] == 2 and "k" not in given["random"]
    assert board.given["datasets"]["patients"]["features"] == 3
    file = board.study(tmp_path / "study.yaml")
    assert notebook.settings.load(notebook.yaml.safe_load(file.read_text()))


class Broken(First):
    def rank(self, features):
        raise NonFiniteScores


@pytest.mark.parametrize("first", [Broken, First])
def test_a_learner_whose_runs_all_failed_has_a_row_without_numbers(first):
    against = First if first is Broken else Broken
    data = arrays(np.random.default_rng(5))
    board = scant.play(first, data, against, seeds=12, k=2, rounds=10).set_index("learner")
    assert board.loc["broken", "n"] == 0 and np.isnan(board.loc["broken", "mean"])
    assert board.loc["first", "n"] == 12 and board["verdict"].dropna().tolist() == ["undecided"]


def test_the_other_side_is_at_its_best():
    """The papers' estimate has its constant chosen, unless another list is."""
    grid = notebook.GRIDS["mismatch"]
    papers = {"kind": "rtop", "surrogate": "squared"}
    assert notebook._learner(papers, 1)[1]["mismatch"] == grid
    assert notebook._learner(papers | {"mismatch": 10}, 1)[1]["mismatch"] == 10
    assert "mismatch" not in notebook._learner(papers | {"gamma": [0.1, 0.3]}, 1)[1]
    assert "alphas" not in notebook._learner("ridge", 1)[1]
    assert notebook._learner({"kind": "ridge", "explore": "ucb"}, 1)[1]["alphas"]


@pytest.mark.parametrize(
    ("learner", "streams", "message"),
    [
        ("listnte", "linear", "did you mean 'listnet'"),
        ("listnet", "digts", "did you mean 'digits'"),
        ("slam", "linear", "do not play in one experiment"),
        ("listnet", 3, "a stream is not 3"),
        ("listnet", {"title": "Neither"}, "streams.stream"),
        ("listnet", (np.ones((3, 2)), [1, 0], [1, 1, 1]), r"\(3, 2\), \(2,\), \(3,\)"),
        (type("Inner", (), {"__qualname__": "f.<locals>.Inner"}), "linear", "define it outside"),
    ],
)
def test_what_cannot_be_played_is_refused(learner, streams, message):
    with pytest.raises(SettingError, match=message):
        scant.play(learner, streams, against="ridge", seeds=2, rounds=5)


def test_a_class_of_a_notebook_has_no_study(tmp_path):
    board = notebook.Leaderboard()
    board.given = {"learners": {"mine": {"kind": "__main__:Mine"}}, "datasets": {}}
    with pytest.raises(SettingError, match="Mine is defined in a notebook"):
        board.study(tmp_path / "study.yaml")
    assert not (tmp_path / "study.yaml").exists()

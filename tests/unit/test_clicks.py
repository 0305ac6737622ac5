"""Simulated users, and what is refused of them when a study is planned."""

import numpy as np
import pytest

from scant.data import simulated
from scant.data import stream as streams
from scant.errors import SettingError
from scant.rankers import run
from scant.rankers.clicks import CASCADES, USERS, User, user_for
from scant.rankers.streams import largest_grade
from scant.study import settings as studies

NEVER = {"click": [0] * 5, "stop": [0] * 5}
ALL_OF_FOUR = {"click": [0.1, 0.3, 0.5, 0.7, 0.9], "stop": [0.0, 0.1, 0.2, 0.3, 0.4]}


def study(**learner):
    """A study of one learner from clicks, whose stream has grades 0 to 4."""
    return {
        "study": "mine",
        "streams": {"linear": {"generator": "linear"}},
        "learners": {"mine": {"kind": "pdgd", **learner}},
        "experiments": {"all": {"kind": "top", "streams": ["linear"], "learners": ["mine"]}},
    }


# --- users
@pytest.mark.parametrize("name", USERS)
def test_users_of_the_literature_click_more_on_greater_grades(name):
    for most in CASCADES.get(name, (1, 2, 3, 8)):
        user = user_for(name, most)
        chances, stop = user.chances(10), user.stop
        assert chances.shape == (10, most + 1) and len(stop) == most + 1
        assert 0 <= chances.min() <= chances.max() <= 1 and 0 <= min(stop) <= max(stop) <= 1
        assert (np.diff(chances) > 0).all() and (np.diff(stop) >= 0).all()


def test_a_name_stands_for_the_fewest_grades_that_suffice():
    assert [len(user_for("perfect", most).stop) for most in range(5)] == [2, 2, 3, 5, 5]
    click, stop = map(tuple, ALL_OF_FOUR.values())
    assert user_for(ALL_OF_FOUR, 2) == User((click,), stop)


def test_who_looks_by_position_clicks_as_the_papers_say():
    """1/k to look at place k; 0.1 and 1 to click; with trust bias 0.65/k and 1 - (k + 1)/100."""
    places = np.arange(1, 11)
    np.testing.assert_allclose(user_for("position", 4).propensities(10), 1 / places)
    np.testing.assert_allclose(user_for("position", 1).chances(10), np.c_[0.1 / places, 1 / places])
    trusting = np.c_[0.65 / places, 1 - (places + 1) / 100] / places[:, None]
    np.testing.assert_allclose(user_for("trust", 1).chances(10), trusting)
    np.testing.assert_allclose(user_for("position", 2).chances(10)[0], [0.1, 0.55, 1])


def test_who_is_certain_to_leave_clicks_once():
    user = User(((0.0, 1.0),), (0.0, 1.0))
    clicked = user.clicks(np.array([0, 1, 0, 1]), np.random.default_rng(0))
    np.testing.assert_array_equal(clicked, [False, True, False, False])


# --- what is refused, and when
@pytest.mark.parametrize(
    ("learner", "words"),
    [
        ({"user": "perfekt"}, "perfect"),
        ({"user": {"click": [0.1, 1.1], "stop": [0, 0]}}, "1.1 is greater than the maximum of 1"),
        ({"user": {"click": [0.1, 1]}}, "stop"),
        ({"user": {"click": [0, 1, 1], "stop": [0, 0]}}, "grades 0 to 2, stop for grades 0 to 1"),
        ({"user": {"click": [0, 1], "stop": [0, 0]}}, "0 to 1, and the stream's grades go up to 4"),
        ({"rates": ["theory"]}, "theory gives no rate"),
        ({"propensities": "known"}, "learners.mine: unknown key 'propensities'"),
        ({"kind": "ips", "user": "navigational"}, "a place depends on the documents above it"),
        ({"kind": "ips", "user": NEVER | {"look": [1, 0]}}, "has no inverse propensity"),
        ({"kind": "ips", "propensities": "affine", "user": NEVER}, "Use known"),
    ],
)
def test_a_study_is_refused_before_it_runs(learner, words):
    with pytest.raises(SettingError, match=r"learners\.mine|learner 'mine'") as caught:
        studies.load(study(**learner))
    assert words in str(caught.value)


def test_the_stream_that_has_too_many_grades_is_named():
    config = study()
    config["streams"]["linear"]["settings"] = {"grades": 6}
    with pytest.raises(SettingError, match=r"'mine' on the stream 'linear'.*perfect user.*up to 6"):
        studies.load(config)


def test_it_plays_in_experiments_of_kind_top_alone():
    config = study()
    config["experiments"]["all"]["kind"] = "perceptron"
    with pytest.raises(SettingError, match="does not play in an experiment of kind 'perceptron'"):
        studies.load(config)


def test_what_is_known_of_the_grades_of_a_stream():
    _, datasets = studies.load(study())
    assert largest_grade({"dataset": "mq2008"}, datasets) == 2
    assert largest_grade({"dataset": "digits", "retrieval": {}}, datasets) == 1
    assert largest_grade({"generator": "linear", "settings": {"grades": 2}}, datasets) == 2
    assert largest_grade({"generator": "separable", "settings": {}}, datasets) == 4
    assert largest_grade({"generator": "released-code", "settings": {}}, datasets) is None


def test_a_run_refuses_what_planning_could_not_know(tmp_path):
    """The grades of the released code's stream go up to 4, which no setting says."""
    stream = {"generator": "released-code", "shared": False, "documents": "shuffled"}
    stream, path = stream | {"settings": {"queries": 20}}, tmp_path / "stream.arrow"
    simulated.simulate("mine", stream, path, 0, 0)
    assert streams.read(path).metadata["largest_grade"] == 4
    job = {
        **{"study": "mine", "experiment": "all", "stream": "linear", "learner": "mine"},
        **{"study_seed": 0, "kind": "top", "stream_settings": stream, "rounds": 20},
        **{"empty": "zero", "order": "shuffled", "keep": 1.0, "source": "text"},
        **{"schedule": "thesis", "mismatch": 1, "radius": 1, "judge": None},
    }
    target, short = tmp_path / "run.parquet", {"click": [0, 1], "stop": [0, 0]}
    with pytest.raises(SettingError, match=r"learners\.mine on streams\.linear: user: .*up to 4"):
        run.run(job | {"learner_settings": {"kind": "pdgd", "user": short}}, target, [0], [path])
    assert not target.exists()
    run.run(job | {"learner_settings": {"kind": "pdgd", "user": ALL_OF_FOUR}}, target, [0], [path])
    assert target.exists()

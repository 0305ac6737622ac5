"""What the worst rankings and the worst weights would have lost, and what a learner had along its
run.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from scant import surrogates
from scant.data import simulated, stream
from scant.declare.families import family
from scant.measures import average_precision, ndcg
from scant.present.traces import Played
from scant.rankers import ceilings, quantities
from scant.rankers.learners import MEASURES
from scant.schema import read_yaml
from scant.study import settings

ROOT = Path(__file__).parents[2]

SETTINGS = {
    "generator": "linear",
    "shared": False,
    "documents": "shuffled",
    "features": "query-minmax",
}
SETTINGS |= {"settings": {"queries": 40, "documents": 6, "features": 3, "relevant": 0.2}}
DRAWN = {"name": "linear", "study_seed": 7, "settings": SETTINGS}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The stream as a study draws it."""
    path = tmp_path_factory.mktemp("stream") / "linear.arrow"
    simulated.simulate("linear", SETTINGS, path, 7, 3)
    return stream.read(path)


def worst(measure, **options):
    rounds = options.pop("rounds", [40])
    return ceilings.worst_losses(DRAWN, 3, measure, options.pop("empty", "zero"), np.array(rounds))


def test_the_worst_ranking_is_that_of_ascending_grades(file):
    by_query = [file[query][1] for query in range(len(file))]
    some = [np.sort(grades) for grades in by_query if grades.any()]
    places, without = np.arange(6), len(by_query) - len(some)
    assert without and worst("ndcg@10") == pytest.approx(
        without + sum(1 - ndcg(places, grades) for grades in some)
    )
    binary = [np.minimum(grades, 1) for grades in some]
    assert worst("ap", empty="one") == pytest.approx(
        sum(1 - average_precision(places, grades) for grades in binary)
    )
    assert (
        worst("ndcg", empty="one")
        < worst("ndcg", empty="zero")
        == worst("ndcg", empty="one") + without
    )
    assert worst("ndcg", empty="skip", rounds=[len(some)]) == pytest.approx(
        worst("ndcg", empty="one")
    )


def test_of_a_pass_that_is_not_whole_the_worst_queries_count():
    one, passes, more = worst("ndcg", rounds=[1, 80, 81])
    assert passes == pytest.approx(2 * worst("ndcg")[0]) and more == pytest.approx(passes + one)
    assert one == pytest.approx(max(np.diff(worst("ndcg", rounds=np.arange(41)))))


def test_no_ranking_loses_more(file):
    random, grades = (
        np.random.default_rng(0),
        file[next(q for q in range(40) if file[q][1].any())][1],
    )
    for measure, labels in (("ndcg", grades), ("ap", np.minimum(grades, 1))):
        least = MEASURES[measure](np.argsort(labels), labels)
        assert all(
            MEASURES[measure](random.permutation(6), labels) >= least - 1e-12 for _ in range(200)
        )


@pytest.mark.parametrize("surrogate", ceilings.SURROGATES)
def test_no_weights_of_the_ball_cost_much_more_than_the_worst(file, surrogate):
    """Of a thousand random weights on the sphere, and of 0, none costs more than a thousandth above
    it.
    """
    value, random = getattr(surrogates, surrogate), np.random.default_rng(1)
    directions = random.standard_normal((1000, 3))
    sphere = np.r_[2.0 * directions / np.linalg.norm(directions, axis=1)[:, None], np.zeros((1, 3))]
    costs = []
    for query in range(8):
        features, grades = file[query]
        costs.append(max(value(features.astype(float) @ weights, grades)[0] for weights in sphere))
    drawn = DRAWN | {"settings": SETTINGS | {"settings": SETTINGS["settings"] | {"queries": 8}}}
    found = ceilings.worst_surrogate(drawn, 3, surrogate, 2.0)
    assert np.mean(costs) * 0.999 <= found <= np.mean(costs) * 1.05


def test_all_seeds_of_a_shared_draw_have_the_first_one():
    drawn = DRAWN | {"settings": SETTINGS | {"shared": True}}
    values = [ceilings.worst_surrogate(drawn, seed, "squared", 1.0) for seed in (0, 3)]
    assert values[0] == values[1] == ceilings.worst_surrogate(DRAWN, 0, "squared", 1.0)


def rows(learner, kind, ends, **columns):
    about = {
        "experiment": "e",
        "stream": "linear",
        "learner": learner,
        "kind": kind,
        "seed": 3,
        "setting": "1",
    }
    about |= yaml.safe_load(
        """{failed_in: 0, tuning_seed: false, theory: 1, own_measure: ap, bound: 10.0,
        round: [4, 20, 40]}"""
    )
    return pd.DataFrame(
        about | dict.fromkeys(["ndcg@10", "ndcg", "ap", "ranker_ndcg@10"], ends) | columns
    )


DETAILS = {"tuning": "paper", "readings": {"empty": "zero"}, "drawn": {"linear": DRAWN}}


def played(*parts, **details):
    return Played("e", "paper", pd.concat(parts, ignore_index=True), DETAILS | details, None)


def test_random_stands_beside_a_bound_and_its_ceiling():
    slam = rows("slam", "slam", [0.5, 0.8, 0.9], loss=[2.0, 4.0, 4.0])
    random = rows(
        "random", "random", [0.25, 0.5, 0.5], loss=[3.0, 10.0, 20.0], theory=0, bound=np.nan
    )
    (found,) = quantities.loss_share(played(slam, random)).to_dict("records")
    assert (found["value"], found["Random"]) == (0.4, 2.0)
    assert found["ceiling"] == pytest.approx(worst("ap")[0] / 10)
    assert found["says_from"] == pytest.approx(10 / (worst("ap")[0] / 40))
    (alone,) = quantities.loss_share(played(slam, drawn={})).to_dict("records")
    assert alone["ceiling"] == 4.0 and alone["says_from"] == 10 and np.isnan(alone["Random"])


def test_a_measure_along_the_run_is_that_of_the_last_kept_round():
    run = rows("slam", "slam", [0.5, 0.8, 0.9], loss=0.0)
    failed = rows("slam", "slam", [0.5, 0.8, 0.9], loss=0.0).assign(seed=4, failed_in=41)
    for share, value in ((0.1, 0.5), (0.4, 0.5), (0.5, 0.8), (1.0, 0.9)):
        found = quantities.final(played(run, failed), "ap", share).set_index("seed")["value"]
        assert found[3] == value and np.isnan(found.get(4, np.nan))


def test_a_measure_over_the_last_rounds_leaves_the_earlier_ones_out():
    """Kept rounds are 4, 20 and 40, so that the last half begins after round 20."""
    run = rows("slam", "slam", [0.5, 0.8, 0.9], loss=[2.0, 4.0, 7.0])
    for measure, at, last, value in (
        ("ap", 1.0, 0.5, 1.0), ("loss", 1.0, 0.5, 3.0),
        ("ranker_ndcg@10", 0.5, 0.3, (20 * 0.8 - 4 * 0.5) / 16),
        ("ap", 1.0, 0.99, 0.9), ("ap", 1.0, 1.0, 0.9),
    ):  # fmt: skip
        [found] = quantities.final(played(run), measure, at, last)["value"]
        assert found == pytest.approx(value), (measure, at, last)
    failed = rows("slam", "slam", [0.5, 0.8, 0.9], loss=0.0).assign(failed_in=41)
    assert quantities.final(played(failed), "ap", last=0.1)["value"].isna().all()


def test_an_experiment_says_which_of_its_streams_are_drawn_and_played_as_they_are():
    study, _ = settings.load(
        read_yaml(ROOT / "config/studies/tiny.yaml"), ROOT / "config/datasets.yaml"
    )
    details = family("perceptron").details(study, "perceptron")
    # digits are resampled
    assert [*details["drawn"]] == ["separable", "linear"] and details["kind"] == "perceptron"
    assert (
        details["drawn"]["linear"]["settings"]["settings"] == study["streams"]["linear"]["settings"]
    )
    assert family("perceptron").details(study, "lower-bound")["drawn"] == {}
    study["experiments"]["perceptron"]["keep"] = 0.8
    assert family("perceptron").details(study, "perceptron")["drawn"] == {}

"""Learners of one's own in a study: what they declare is checked when it is planned."""

import re
import sys

import pytest
import yaml
from small_studies import load, planned, settings_of_job, small, with_top

from scant.declare import families
from scant.errors import SettingError

OWN = """
from scant.declare.declarations import Learner, Setting
from scant.errors import SettingError


class Bare:
    def __init__(self, features, rate, random, **options):
        pass

    def rank(self, features):
        pass

    def learn(self, features, grades, ranking):
        pass


class Own(Bare, Learner):
    settings = (
        Setting("depth", {"type": "integer", "minimum": 1}, "How deep it looks.", absent=2),
        Setting("mode", {"enum": ["fast", "thorough"]}, "How it looks.", absent="fast"),
        Setting("width", {"type": "number"}, "How broadly.", when=("mode", "thorough")),
    )

    @classmethod
    def check(cls, settings):
        if settings.get("mode") == "thorough" and settings.get("depth", 2) > 8:
            raise SettingError("depth is to be 8 at most where mode is thorough")


OBJECT = Bare(0, 0, 0)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The kind of a learner in a module beside the project, which declares settings."""
    (tmp_path / "learners_of_ones_own.py").write_text(OWN)
    (tmp_path / "broken_learner.py").write_text("def Own(:\n")
    (tmp_path / "learner_of_missing.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "divides.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "learners_of_ones_own:Own"
    for name in ("learners_of_ones_own", "broken_learner", "learner_of_missing"):
        sys.modules.pop(name, None)


def with_own(**settings):
    """A study in which a learner of one's own plays beside a built-in one."""
    config = small()
    config["learners"]["own"] = settings
    config["experiments"]["all"]["learners"] = ["own", "random"]
    return config


@pytest.mark.parametrize(
    "settings",
    [
        {},
        yaml.safe_load(
            """{title: Mine, rates: [0.1, 1], measure: ap, k: 2, lambdas: [0.1],
            options: {any: one}}"""
        ),
        {"depth": 3},
        {"mode": "thorough", "width": 0.5, "depth": 8},
        {"options": {"depth": 3}},
    ],
)
def test_what_ones_own_learner_may_have(own, settings):
    plan = planned(with_own(kind=own, **settings))
    made = settings_of_job(plan, "all", "sim", "own")["learner_settings"]
    assert made == {"kind": own} | {key: value for key, value in settings.items() if key != "title"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"deepth": 3}, "study: learners.own: unknown key 'deepth': did you mean 'depth'? Known: "),
        ({"depth": 0}, "study: learners.own.depth: 0 is less than the minimum of 1"),
        ({"options": {"depth": 0}}, "own.options.depth: 0 is less than the minimum of 1"),
        ({"mode": "thorogh"}, "own.mode: unknown value 'thorogh': did you mean 'thorough'?"),
        ({"width": 0.5}, "learners.own: width does nothing for the mode 'fast'"),
        ({"mode": "thorough", "depth": 9}, "depth is to be 8 at most where mode is thorough"),
        # what all have is held to the rules of the built-in learners
        ({"rates": ["theory"]}, "theory gives no rate for the kind 'learners_of_ones_own:Own'"),
        ({"measure": "ndcg@1"}, "own.measure: unknown value 'ndcg@1': did you mean"),
    ],
)
def test_what_ones_own_learner_cannot_have(own, settings, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        load(with_own(kind=own, **settings))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("nowhere_to_be_found:Own", "No module named 'nowhere_to_be_found'"),
        ("learner_of_missing:Own", "No module named 'nowhere_to_be_found'"),
        ("learners_of_ones_own:Nothing", "no attribute 'Nothing'"),
        ("broken_learner:Own", "invalid syntax"),
        (".relative:Own", "relative import"),
        ("learners_of_ones_ow:Own", "did you mean learners_of_ones_own:Own"),
        ("learners_of_ones_own:Owm", "did you mean learners_of_ones_own:Own"),
        ("divides:Own", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_learner_that_cannot_be_imported_is_refused_before_anything_is_run(own, kind, reason):
    with pytest.raises(SettingError, match=rf"learner '{kind}' cannot be imported.*{reason}"):
        load(with_own(kind=kind))


@pytest.mark.parametrize(
    ("kind", "experiment", "reason"),
    yaml.safe_load("""
- ['os:system', perceptron, 'rank and learn, and os:system has no rank']
- ['math:pi', top, 'rank and learn, and math:pi has no rank']
- ['learners_of_ones_own:OBJECT', perceptron,
   'rank and learn, and learners_of_ones_own:OBJECT is no class']
- ['collections:Counter', fixed-items, 'rank and learn, and collections:Counter has no rank']
- ['learners_of_ones_own:Own', ads, 'fit and score, and learners_of_ones_own:Own has no fit']
- ['learners_of_ones_own:Own', generalisation, 'fit, and learners_of_ones_own:Own has no fit']
"""),
)
def test_what_is_no_learner_of_an_experiment_is_refused_before_anything_is_run(
    own, kind, experiment, reason
):
    config = small()
    config["learners"] = {"own": {"kind": kind}}
    key = families.family(experiment).place.key
    places = yaml.safe_load(
        """{streams: {generator: linear}, games: {stream: flip, loss: dcg},
        logs: {campaign: hotel}, populations: {generator: linear}}"""
    )
    config |= {
        key: {"place": places[key]},
        "experiments": {"e": {"kind": experiment, key: ["place"], "learners": ["own"]}},
    }
    with pytest.raises(SettingError) as caught:
        load(config)
    kind_of = f"of an experiment of kind {experiment!r} is to be a class with"
    assert str(caught.value) == f"experiments.e: the learner 'own' {kind_of} {reason}"


def test_rates_of_ones_own_learner_at_the_top_need_seeds_to_choose_them(own):
    config = with_top(learners=["own"], tuning_seeds=0)
    config["learners"]["own"] = {"kind": own, "rates": [0.1, 1.0]}
    with pytest.raises(SettingError, match="needs tuning_seeds"):
        load(config)

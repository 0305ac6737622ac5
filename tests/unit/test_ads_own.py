"""Scorers of one's own: the example runs as built-in ones do; what one cannot be is said."""

import json
import pickle
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scant.ads import run
from scant.bandits import learners, scorers
from scant.data import logs
from scant.errors import SettingError
from scant.files import metadata_of
from scant.study import settings as studies
from scant_ads.reading import formats

EXAMPLES = Path(__file__).parents[2] / "examples"
KIND = "my_scorer:BinnedBayes"
READINGS = {
    "tuning": "held-out", "validation": 0.2, "threshold": "f1", "undersample": 2,
    "undersampled": "classifiers",
    "standardise": True, "select": 1.0, "epsilons": [0.0], "level": 0.95, "users": 2000,
}  # fmt: skip
LOG = formats.read_log(EXAMPLES / "logs/targeted.csv")


@pytest.fixture(autouse=True)
def beside_the_example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a module of one's own, and gives the kind of its class `Own`."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(body: str, name: str) -> str:
        (tmp_path / f"{name}.py").write_text("import numpy as np\n" + textwrap.dedent(body))
        sys.modules.pop(name, None)
        return f"{name}:Own"

    return write


def fits(kind, settings=None, **more):
    return run.fits(kind, LOG, np.random.default_rng(0), settings or scorers.Settings(), **more)


def test_the_example_is_fitted_as_scorers_are():
    found = fits(KIND)
    assert [fit.regularisation for fit in found[:-1]] == list(learners.LAMBDAS)
    assert [fit.fitted_on for fit in found] == ["part"] * 4 + ["all"]
    scores = found[-1].model.scores(LOG.features)
    assert scores.shape == (len(LOG), len(LOG.actions)) and np.isfinite(scores).all()
    shown = scores[np.arange(len(LOG)), LOG.action]
    assert shown[LOG.reward > 0].mean() > shown[LOG.reward == 0].mean() + 0.2
    again = pickle.loads(pickle.dumps(found[-1].model))
    np.testing.assert_array_equal(again.scores(LOG.features), scores)


def test_the_example_is_run(tmp_path):
    for part, name in (("train", "targeted"), ("test", "uniform")):
        logs.write(formats.read_log(EXAMPLES / f"logs/{name}.csv"), tmp_path / f"{part}.parquet")
    files = [tmp_path / "train.parquet"], [tmp_path / "test.parquet"]
    learner = {"kind": KIND, "lambdas": [0.1, 1.0], "options": {"bins": 3}}
    job = {"study": "s", "study_seed": 1, "experiment": "e", "stream": "own", "kind": "ads"}
    job |= {"log_settings": {}, "learner": "bayes", "learner_settings": learner} | READINGS
    run.run(job, tmp_path / "run.parquet", [0, 1], *files)
    about = metadata_of(pq.read_schema(tmp_path / "run.parquet"))
    assert about["learner_settings"] == learner
    frame = pq.read_table(tmp_path / "run.parquet").to_pandas()
    ips = frame[frame["chosen"] & (frame["estimator"] == "ips") & (frame["bound"] == "betting")]
    assert ips["seed"].tolist() == [0, 1] and ips["estimate"].between(0, 1).all()
    run.run(job, tmp_path / "again.parquet", [0, 1], *files)
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "run.parquet").read_bytes()


def test_a_study_may_have_it():
    bayes = {"kind": KIND, "options": {"bins": 3}}
    ads = {"kind": "ads", "logs": ["hotel"], "learners": ["bayes", "uniform"]}
    config = {"study": "own", "learners": {"bayes": bayes, "uniform": {"kind": "uniform"}}}
    config |= {"logs": {"hotel": {"campaign": "hotel"}}, "experiments": {"ads": ads}}
    root = EXAMPLES.parent

    def load():
        return studies.load(json.loads(json.dumps(config)), root / "config/datasets.yaml")

    assert load()[0]["learners"]["bayes"]["kind"] == KIND
    for options, reason in (
        ({"bins": 1.5}, "bins: 1.5 is not written as a whole number"),
        ({"bin": 3}, "argument 'bin'"),
    ):
        bayes["options"] = options
        with pytest.raises(SettingError, match=reason):
            load()
    bayes["kind"] = "my_scorer:BinedBayes"
    with pytest.raises(SettingError, match="cannot be imported"):
        load()


def test_what_is_no_scorer_is_refused(written):
    for name, body, reason in (
        ("nofit", "class Own: score = lambda self, features: 0", "has no fit"),
        ("noscore", "class Own: fit = lambda self, features, clicked, random: 0", "has no score"),
        ("function", "def Own(): pass", "is to be a class"),
    ):
        with pytest.raises(SettingError, match=reason):
            fits(written(body, name))


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ("features", r"own:Own: scores of shape \(\d+, 6\) for \d+ rows; one each is needed"),
        ("1.0", r"scores of shape \(\)"),
        ("np.full(len(features), np.nan)", "finite numbers"),
        ("['high'] * len(features)", "finite numbers"),
        ("np.ma.masked_all(len(features))", "finite numbers"),
        ("features.fill(0)", "own:Own cannot score: ValueError: .* read-only"),
    ],
)
@pytest.mark.parametrize("ranker", [True, False])
def test_scores_that_cannot_be_are_refused(written, scores, reason, ranker):
    kind = written(
        f"""
        class Own:
            ranker, regularised = {ranker}, False
            def fit(self, features, clicked, random):
                pass
            def score(self, features):
                return {scores}
        """,
        "own",
    )
    with pytest.raises(SettingError, match=reason):
        fits(kind)[0].best(LOG.features)


def test_a_ranker_of_ones_own_has_thresholds(written):
    body = """
    class Own:
        ranker, regularised = True, False
        def fit(self, features, clicked, random):
            assert features.dtype == np.float32 and clicked.dtype == bool
            assert features.shape[:1] == clicked.shape
            self.weights = features[clicked].mean(axis=0) - features[~clicked].mean(axis=0)
        def score(self, features):
            return features @ self.weights
    """
    (fit,) = fits(written(body, "ranking"))
    assert np.isnan(fit.regularisation)
    assert set(fit.model.thresholds) == {"precision", "recall", "f1"}
    heeds_in = learners.learner_of("ranking:Own").heeds_in
    assert heeds_in("undersample", {"undersampled": "all"})
    assert not heeds_in("undersample", {"undersampled": "classifiers"})

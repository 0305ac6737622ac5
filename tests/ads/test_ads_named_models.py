"""Models of scikit-learn's kind on the command line: Python's numbers, names, refusals."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from ads_logs import ads
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from test_ads_asked import frame

import scant_ads as sa
from scant.errors import SettingError

RIDGE, BAYES = "sklearn.linear_model:Ridge", "sklearn.naive_bayes:GaussianNB"
OWN = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor

class Mean(RegressorMixin, BaseEstimator):
    def __init__(self, column=0, **more):
        self.column, self.more = column, more
    def fit(self, x, y):
        return self
    def predict(self, x):
        return x[:, self.column]
    def get_params(self, deep=True):
        return {"column": self.column, **self.more}

class Ridge(DummyRegressor):
    pass

class Shares:
    def __init__(self, columns=2):
        self.columns = columns
    def get_params(self, deep=True):
        return {"columns": self.columns}
    def fit(self, x, y):
        self.classes_ = [True, False]
        return self
    def predict_proba(self, x):
        return np.full((len(x), self.columns), 1 / self.columns)

class Broken:
    def __init__(self, **settings):
        raise OSError("no such device")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("train", "test", "parts/0")):
        (folder / name).parent.mkdir(exist_ok=True)
        frame(1500, seed).to_parquet(folder / f"{name}.parquet", index=False)
    (folder / "own_models_here.py").write_text(OWN)
    columns = {f"policy:{name}": 0.5 for name in ("Ridge", RIDGE)}
    frame(1500, 1).assign(**columns).to_parquet(folder / "columns.parquet", index=False)
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("own_models_here", None)


def evaluated(*policies, test="test.parquet", options=""):
    """The rows of policies in the table, by name."""
    asked = [word for policy in policies for word in ("--policy", policy)]
    written = f"--train train.parquet --output table.csv {options}"
    assert ads(f"evaluate {test} {written}", *asked) == 0
    table = pd.read_csv("table.csv", keep_default_na=False).set_index("policy")
    return table.drop(["logging", "uniform"], errors="ignore")


def test_a_named_model_gives_the_numbers_of_python():
    settings = RIDGE + '={"alpha": 3}', BAYES + '={"var_smoothing": 0.1}'
    table = evaluated(*settings, options="--epsilon 0.2")
    train, test = sa.Log.read("train.parquet"), sa.Log.read("test.parquet")
    kinds = Ridge(alpha=3), GaussianNB(var_smoothing=0.1)
    found = sa.evaluate([sa.Policy(kind, epsilon=0.2) for kind in kinds], test, train=train)
    for row in found.rows[-2:]:
        ours = table.loc[row["policy"]]
        assert all(ours[name] == row[name] for name in ("estimate", "lower", "high", "verdict"))
    assert table["verdict"].iloc[0] == "yes"


def test_models_have_the_names_of_their_classes_unless_these_meet():
    settings = RIDGE + '={"alpha": 3}'
    own = "own_models_here:Ridge"
    names = [*evaluated(RIDGE, settings, own, BAYES, "logistic").index]
    assert names == [RIDGE, settings, own, "GaussianNB", "logistic"]


def test_a_column_keeps_its_name():
    table = evaluated("Ridge", BAYES, test="columns.parquet")
    assert [*table.index] == ["Ridge", "GaussianNB"]
    taken = evaluated("Ridge", RIDGE + '={"alpha": 3}', test="columns.parquet")
    assert [*taken.index] == ["Ridge", RIDGE + '={"alpha": 3}']
    assert taken["lambda"].tolist() == ["", ""]
    # the column, whose policy is uniform
    column = evaluated(RIDGE, "uniform", test="columns.parquet")
    mean = frame(1500, 1)["reward"].mean()
    assert column["estimate"].to_dict() == {RIDGE: mean}


def test_a_class_of_the_working_folder_is_a_model():
    table = evaluated('own_models_here:Mean={"column": 1, "anything": 2}')
    assert [*table.index] == ["Mean"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("lightgbmm:LGBMClassifier", "cannot be imported (No module named 'lightgbmm')"),
        ("sklearn.linear_model:Rige", "did you mean sklearn.linear_model:Ridge?"),
        ("math:pi", "math:pi cannot be made with no settings: "),
        ("sklearn.preprocessing:StandardScaler", "neither a classifier with predict_proba nor"),
        (RIDGE + '={"alpa": 1}', "unexpected keyword argument 'alpa'"),
        (RIDGE + "={alpha: 1}", "its settings '{alpha: 1}' are no object of JSON (Expecting"),
        (RIDGE + '={"alpha": -1}', "Ridge cannot learn: InvalidParameterError: "),
        ("own_models_here:Broken={}", "Broken cannot be made with {}: OSError: no such device"),
        *(
            (
                f'own_models_here:Shares={{"columns": {columns}}}',
                "has to score rows, a classifier by",
            )
            for columns in (1, 3)
        ),
        ('own_models_here:Mean={"column": 9}', "has to score rows"),
        (":Ridge", "unknown policy ':Ridge'"),
    ],
)
def test_what_is_no_model_is_refused(capsys, asked, message):
    words = "evaluate test.parquet --train train.parquet --output none.csv --policy"
    assert ads(words, asked) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("scant: ") and message in printed and printed.count("\n") == 1
    assert not Path("none.csv").exists()


def test_what_needs_a_saved_policy_says_so_before_it_learns(capsys, monkeypatch):
    monkeypatch.setattr(Ridge, "fit", lambda *_: pytest.fail("it learns"))
    for log in ("train.parquet", "none.parquet"):
        assert ads(f"fit {log} --policy {RIDGE} --output none.arrow") == 1
        assert "a policy that scores by Ridge cannot be saved" in capsys.readouterr().err
    with pytest.raises(SettingError, match="cannot be saved"):
        sa.Policy(Ridge()).save("none.arrow")
    assert not Path("none.arrow").exists()

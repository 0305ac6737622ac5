"""Encoders: what is learnt from one log, and how other logs are encoded."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_ads_api import frame
from test_ads_health import as_log

from scant.errors import DataError, SettingError
from scant_ads.policies import encoding
from scant_ads.reading import formats


def log(tmp_path, name="train.csv", **columns):
    made = pd.DataFrame(
        {"action": list("abab"), "reward": [0, 1, 1, 0], "propensity": 0.5} | columns
    )
    made.to_csv(tmp_path / name, index=False)
    return formats.read(tmp_path / name).required()


def test_numbers_are_left_as_they_are(tmp_path):
    made = log(tmp_path, x=[1, 2, 3, 4.5])
    encoded = encoding.fit(made).transform(made)
    assert encoded.features is made.features and encoded.names == ("x",)


def test_missing_numbers_become_the_median_of_training_and_are_marked(tmp_path):
    train = log(tmp_path, x=[1, None, 3, 8], y=[1, 2, 3, 4])
    encoder = encoding.fit(train)
    assert encoder.encoded == ("x", "y", "x is missing")
    features = [[1, 1, 0], [3, 2, 1], [3, 3, 0], [8, 4, 0]]
    assert encoder.transform(train).features.tolist() == features
    test = log(tmp_path, "test.csv", x=[1, 1, 1, None], y=[None, 9, 9, 9])
    features = [[1, 2.5, 0], [1, 9, 0], [1, 9, 0], [3, 9, 1]]
    assert encoder.transform(test).features.tolist() == features


def test_rare_texts_share_a_column(tmp_path):
    cities = [f"c{i % 40}" if i < 80 else "Ulm" for i in range(200)]
    made = log(tmp_path, action=list("ab") * 100, reward=0, city=cities)
    encoder = encoding.fit(made)
    features = encoder.transform(made).features
    assert len(encoder.encoded) == features.shape[1] == encoding.MOST
    assert (features.sum(axis=1) == 1).all()
    assert features[:, encoder.encoded.index("city=Ulm")].sum() == 120
    test = log(tmp_path, city=["Rome", "Ulm", "Ulm", "Ulm"])
    assert encoder.transform(test).features[0, encoder.encoded.index("city=(another)")] == 1


def test_a_feature_is_text_in_both_logs_or_in_none(tmp_path):
    encoder = encoding.fit(log(tmp_path, x=[1, 2, 3, 4]))
    with pytest.raises(DataError, match=r"test\.csv: feature 'x' is text here, and numbers in the"):
        encoder.transform(log(tmp_path, x=["u", "v", "v", "u"]), "test.csv")


def test_logs_are_split():
    times = np.datetime64("2026-01-01") + np.random.default_rng(0).permutation(
        3000
    ) * np.timedelta64(1, "s")
    made = formats.read_frame(frame().assign(timestamp=times)).required()
    log = as_log(made)
    train, test = (part.visits for part in log.split(0.7, "time"))
    assert (len(train), len(test)) == (2100, 900) and train.timestamp.max() < test.timestamp.min()
    train, test = (part.visits for part in log.split(0.7, "random", seed=1))
    assert (len(train), len(test)) == (2100, 900)
    assert sorted([*train.timestamp, *test.timestamp]) == sorted(made.timestamp)
    for part in (train, test):  # whose rows keep their order
        place = {time: row for row, time in enumerate(made.timestamp)}
        assert (np.diff([place[time] for time in part.timestamp]) > 0).all()
    with pytest.raises(SettingError, match=r"log has no column timestamp to split by"):
        as_log(replace(made, timestamp=None)).split(0.7, "time")
    for by in ("time", "random"):
        with pytest.raises(SettingError, match="without any"):
            log.split(0.99999, by)
    with pytest.raises(SettingError, match="unknown way to split a log 'tme': did you mean 'time'"):
        log.split(by="tme")

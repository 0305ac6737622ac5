"""Runs of games: what files hold, what learners and horizons share, what planning refuses."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from scant.declare.runs import kept_rounds
from scant.errors import SettingError
from scant.files import metadata_of
from scant.games import run as games
from scant.games.play import play
from scant.randomness import generator

FLIP = {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg", "shared": False}


def job(**changes):
    return {
        "study": "s", "study_seed": 3, "experiment": "e", "stream": "g", "kind": "fixed-items",
        "game": FLIP,
        "learners": [["top", {"kind": "rtopkf", "blocks": 4}], ["all", {"kind": "ftpl"}]],
        "rounds": [60, 120],
    } | changes  # fmt: skip


def frame(path):
    return pq.read_table(path).replace_schema_metadata(None).to_pandas()


def test_a_run_file_has_the_traces_of_every_learner_seed_and_horizon(tmp_path):
    games.run_job(job(), tmp_path / "run.parquet", [4, 5], {})
    rows, about = (
        frame(tmp_path / "run.parquet"),
        metadata_of(pq.read_schema(tmp_path / "run.parquet")),
    )
    result = (about["items"], about["loss"], about["gain"], about["seeds"])
    assert result == (6, "dcg", True, [4, 5])
    assert [*rows] == games.SCHEMA.names
    assert len(rows) == 2 * 2 * (len(kept_rounds(60)) + len(kept_rounds(120)))
    for (learner, seed, horizon), part in rows.groupby(["learner", "seed", "horizon"]):
        settings = dict(job()["learners"])[learner]
        noise = generator(3, "fixed-items", "g", seed, "noise")
        trace = play(games.drawn(job(), seed, horizon), settings, noise, kept_rounds(horizon))
        for name in ("round", "value", "best", "best_at_horizon", "explored", "bound"):
            np.testing.assert_array_equal(part[name], getattr(trace, name))
    assert set(rows.loc[rows["learner"] == "top", "k"]) == {1}
    assert set(rows.loc[rows["learner"] == "all", "k"]) == {0}


def test_a_shorter_horizon_is_the_beginning_of_a_longer_one_and_seeds_differ_unless_shared():
    short, long, other = (games.drawn(job(), *at).stream for at in ((0, 60), (0, 120), (1, 60)))
    np.testing.assert_array_equal(short, long[:60])
    assert not np.array_equal(short, other)
    shared = job(game=FLIP | {"shared": True})
    np.testing.assert_array_equal(
        games.drawn(shared, 0, 60).stream, games.drawn(shared, 1, 60).stream
    )


def test_a_learner_of_ones_own_is_made_with_its_options():
    settings = {"kind": "here:Mine", "title": "Mine", "options": {"speed": 2}}
    assert games.played(settings) == {"kind": "here:Mine", "speed": 2}


WRONG = """
import numpy as np

class Wrong:
    def __init__(self, items, rounds, random, raises):
        self.items, self.rounds, self.raises = items, 0, raises

    def rank(self):
        self.rounds += 1
        self.scores = np.full(self.items, np.nan if self.rounds == 7 and not self.raises else 0.0)
        return np.argsort(self.scores)

    def learn(self, ranking, seen):
        if self.rounds == 7:
            raise KeyError("of one's own")
"""


@pytest.mark.parametrize(
    ("raises", "words"), [(True, 'KeyError: "of one\'s own"'), (False, "score 1 of 6 is nan")]
)
def test_what_a_learner_of_ones_own_does_wrong_is_named(tmp_path, monkeypatch, raises, words):
    (tmp_path / "own_of_a_game.py").write_text(WRONG)
    monkeypatch.syspath_prepend(tmp_path)
    learner = ["mine", {"kind": "own_of_a_game:Wrong", "options": {"raises": raises}}]
    with pytest.raises(SettingError, match="mine on g, seed 0, T = 60, round 7: ") as error:
        games.run_job(job(learners=[learner], rounds=[60]), tmp_path / "a.parquet", [0], {})
    assert words in str(error.value) and not (tmp_path / "a.parquet").exists()


def test_planning_checks_without_compiled_code():
    import subprocess
    import sys

    code = f"""
import sys
from scant.games import run
run.check({FLIP!r}, {{"kind": "rtopkf"}}, 100)
run.check({FLIP!r}, {{"kind": "own:Learner"}}, 100)
assert not {{"numba", "pandas", "scipy"}} & set(sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0

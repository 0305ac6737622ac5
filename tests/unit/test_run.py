"""A run: the order of queries, what is kept of a play, and the file that says it all."""

import math
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from rows import entries

from scant import __version__, files
from scant.data import stream as streams
from scant.declare.declarations import TUNING
from scant.declare.runs import kept_rounds
from scant.errors import SettingError
from scant.present import traces
from scant.randomness import generator
from scant.rankers import top
from scant.rankers import traces as of_runs
from scant.rankers.learners import MEASURES, class_of
from scant.rankers.play import play, query_order
from scant.rankers.run import SCHEMA, general_bound, run
from scant.rankers.top import EVENTS
from scant.study.plan import Runs

MEASURED = list(MEASURES)


# --- the order of queries
@pytest.fixture(scope="module")
def ten(packed):
    """Ten queries, of which 2 and 5 have no relevant document."""
    return packed([(np.array([0, q not in (2, 5)]), np.ones((2, 1))) for q in range(10)])


def test_each_pass_shows_every_query_once_in_an_order_of_its_own(ten):
    order = query_order(ten, generator(0), 35)
    passes = [order[start : start + 10].tolist() for start in range(0, 30, 10)]
    assert all(sorted(one) == list(range(10)) for one in passes)
    assert passes[0] != passes[1] != passes[2] != passes[0] != list(range(10))
    assert len(order) == 35 and len(set(order[30:])) == 5
    assert query_order(ten, generator(0), 35).tolist() == order.tolist()
    assert query_order(ten, generator(1), 35).tolist() != order.tolist()
    # a longer horizon only goes on
    assert query_order(ten, generator(0), 12).tolist() == order[:12].tolist()
    # without one it is one pass
    assert sorted(query_order(ten, generator(0))) == list(range(10))
    assert query_order(ten, generator(0), order="as-is").tolist() == list(range(10))
    assert query_order(ten, generator(0), 14, "as-is").tolist() == [*range(10), 0, 1, 2, 3]
    skipping = query_order(ten, generator(0), 16, empty="skip").tolist()
    assert sorted(skipping[:8]) == sorted(skipping[8:]) == [0, 1, 3, 4, 6, 7, 8, 9]
    assert {2, 5} <= set(query_order(ten, generator(0), 10, empty="one").tolist())


def test_kept_queries_are_a_share_of_each_pass(ten):
    order = query_order(ten, generator(0), 20_000, "as-is", keep=0.8)
    assert len(order) == 20_000
    passes = np.count_nonzero(np.diff(order) < 0) + 1
    assert 20_000 / passes == pytest.approx(8, abs=0.1)
    assert np.all(np.bincount(order) / passes == pytest.approx(0.8, abs=0.03))


def test_resampled_queries_are_drawn_once_and_shown_in_every_pass(ten, packed):
    order = query_order(ten, generator(0), 30, resampled=generator(1)).reshape(3, 10)
    passes = [sorted(shown.tolist()) for shown in order]
    assert passes[0] == passes[1] == passes[2] != list(range(10))
    assert order[0].tolist() != order[1].tolist()
    in_order = query_order(ten, generator(0), order="as-is", resampled=generator(2)).tolist()
    drawn = sorted(query_order(ten, generator(0), resampled=generator(2)).tolist())
    first = sorted({*drawn})
    assert in_order[: len(first)] == first != drawn[: len(first)], "in the order of the files"
    assert sorted(in_order) == drawn, "second copies after all first ones"
    assert sorted(query_order(ten, generator(5), resampled=generator(1))) == passes[0], (
        "whatever the order is"
    )
    assert sorted(query_order(ten, generator(0), resampled=generator(2))) != passes[0]
    skipped = query_order(ten, generator(0), empty="skip", resampled=generator(1))
    assert len(skipped) == 8 and not {2, 5} & {*skipped.tolist()}
    none = packed([(np.zeros(2, int), np.ones((2, 1)))])
    assert len(query_order(none, generator(0), 5, empty="skip", resampled=generator(1))) == 0


# --- what is kept
@pytest.mark.parametrize("horizon", [1, 2, 9, 10, 11, 100, 1000, 31_531, 10**6])
def test_a_grid_of_rounds_and_the_last_ten(horizon):
    rounds = kept_rounds(horizon)
    assert np.all(np.diff(rounds) > 0)
    assert (rounds[0], rounds[-1]) == (1, horizon)
    assert set(range(max(1, horizon - 9), horizon + 1)) <= set(rounds)
    grid = rounds[rounds <= horizon - 10]
    assert len(rounds) <= 20 * np.log10(horizon) + 11
    assert np.all(grid[1:] / grid[:-1] <= max(1.15, 2)) if len(grid) else horizon <= 10
    late = grid[grid >= 50]
    assert np.all(late[1:] / late[:-1] < 1.15)
    assert kept_rounds(0).tolist() == []


# --- the file
@pytest.fixture
def stream_path(tmp_path):
    """A separable stream, two queries of which have no relevant document."""
    random, ranker = np.random.default_rng(4), np.eye(6)[0]

    def queries():
        for q in range(40):
            grades = random.integers(0, 5, 8) * (q not in (3, 17))
            x = random.standard_normal((8, 6)) * 3
            x[:, 0] = 0.5 * grades
            yield q, grades, x

    streams.write(tmp_path / "toy.arrow", queries(), {}, ranker)
    return tmp_path / "toy.arrow"


JOB = yaml.safe_load("""
{study: toy, study_seed: 1, experiment: all, stream: sep, learner: one, kind: perceptron,
 stream_settings: {generator: separable}, learner_settings: {kind: slam, rates: [0.25, theory]},
 source: text, rounds: 130, empty: zero, order: shuffled, keep: 1.0}
""")


def job(**changes):
    return JOB | changes


TOP = {"kind": "top", "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None}


def played(path, tmp_path, seeds=(0,), **changes):
    target = tmp_path / "run.parquet"
    paths = path if isinstance(path, list) else [path] if path else []
    run(job(**changes), target, list(seeds), paths)
    return pq.read_table(target)


def made(there, learner, rate=None, seed=0, known=None, **readings):
    """The learner that a run plays at one of its rates."""
    cls = class_of(learner["kind"], *filter(None, [known]))
    noise = generator(1, "perceptron", "sep", seed, "noise")
    return cls.from_study(learner, job(**readings), there.metadata | {"rounds": 130}, rate, noise)


def rows(table, theory=0, **where):
    """The columns of the rows at one rate."""
    chosen = table["theory"].to_numpy() == theory
    for name, value in where.items():
        chosen &= table[name].to_numpy() == value
    return {name: table[name].to_numpy()[chosen] for name in table.column_names}


def as_bytes(table):
    """The columns, so that NaNs are equal to themselves."""
    return {name: table[name].to_numpy().tobytes() for name in table.column_names}


def assert_plays(got, whole, measures=MEASURED):
    """Assert that the columns of a run at one rate are time averages and sums of a play."""
    at = kept_rounds(130) - 1
    np.testing.assert_array_equal(got["round"], at + 1)
    for i, name in enumerate(measures):
        np.testing.assert_allclose(
            got[name], [whole.measured[: t + 1, i].mean() for t in at], rtol=1e-12
        )
    np.testing.assert_allclose(got["loss"], np.cumsum(whole.loss)[at], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(got["updates"], np.cumsum(whole.updated)[at])


@pytest.mark.parametrize("kind", ["slam", "max-hinge", "binary-perceptron", "listnet"])
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_a_run_holds_what_the_play_gave(stream_path, tmp_path, kind, empty):
    rates = [0.25, "theory"] if kind in ("slam", "max-hinge") else [0.25]
    learner = {"kind": kind, "rates": rates}
    table = played(stream_path, tmp_path, learner_settings=learner, empty=empty)
    assert table.schema.equals(SCHEMA)
    there = streams.read(stream_path)
    queries = query_order(there, generator(1, "perceptron", "sep", 0, "queries"), 130, empty=empty)
    for theory, rate in enumerate(rates):
        got, one = rows(table, theory), made(there, learner, rate)
        assert np.isnan(one.bound(None)) == (kind == "listnet")
        whole = play(there, queries, one, empty)
        assert_plays(got, whole)
        assert np.all(got["rate"] == (one.theory_rate() if theory else rate))
        np.testing.assert_array_equal(got["bound"], np.full(len(got["round"]), one.bound(None)))
        np.testing.assert_array_equal(got["ranker_ndcg@10"], got["ndcg@10"])  # it explores nothing
        assert np.isnan(got["surrogate_loss"]).all()  # and no surrogate judges it
        assert not np.any([got[name] for name in (*EVENTS, "failed_in", "seed")])
        if theory:
            general = general_bound(there, queries, whole, one)
            np.testing.assert_array_equal(got["general_bound"], general[kept_rounds(130) - 1])
            assert np.all(got["loss"] <= got["general_bound"])
            assert np.all(got["loss"] <= got["bound"])
        else:
            assert np.isnan(got["general_bound"]).all()


@pytest.mark.parametrize("kind", ["random", "ideal"])
def test_learners_without_a_rate_have_one_trace(stream_path, tmp_path, kind):
    table = played(stream_path, tmp_path, learner_settings={"kind": kind, "rates": [0.1, 1.0]})
    got = rows(table)
    assert len(got["round"]) == len(table) == len(kept_rounds(130))
    assert np.isnan([got[name] for name in ("rate", "bound", "general_bound")]).all()
    assert not got["updates"].any() and (kind == "random" or not got["loss"].any())


OPTIMISTIC = {"kind": "ridge", "explore": "ucb", "lambdas": [0.1, 1, 100], "alphas": [0.1, 1]}
DESCENT = {"kind": "seen", "surrogate": "squared", "k": 1, "rates": [1e-9, 0.1]}


@pytest.mark.parametrize("learner", [OPTIMISTIC, DESCENT, {"kind": "random"}])
def test_reported_seeds_play_what_others_chose(stream_path, tmp_path, learner):
    """Their rows are those of the whole grid, at the choice that tables make of either run."""
    seeds = [0, 1, TUNING, TUNING + 1]

    def chosen(**grid):
        table = played(
            stream_path, tmp_path, seeds, **TOP, learner_settings=learner, **grid
        ).replace_schema_metadata(None)
        rows = of_runs.completed(table).to_pandas().assign(**dict.fromkeys(traces.GROUP, "one"))
        return rows, of_runs.at_tuned_rates(rows, "ndcg@10", "held-out")

    (whole, result), (rows, alone) = chosen(), chosen(grid="tuning-seeds")
    assert alone.equals(result) and len(alone) == 2 * len(kept_rounds(130))
    assert set(rows["setting"]) == set(whole["setting"])
    assert len(rows[~rows["tuning_seed"]]) == len(alone)


def test_a_run_says_what_made_it_and_is_the_same_bytes_elsewhere(stream_path, tmp_path):
    table = played(stream_path, tmp_path)
    setup = made(streams.read(stream_path), job()["learner_settings"]).setup
    assert files.metadata_of(table.schema) == {
        **job(),
        "seeds": [0],
        "resolved": asdict(setup),
        "own_measure": "ndcg@10",
        "versions": {"scant": __version__, "numpy": np.__version__},
        "inputs": {"toy.arrow": files.sha256(stream_path)},
    }
    other = tmp_path / "other"
    other.mkdir()
    (other / "toy.arrow").write_bytes(stream_path.read_bytes())
    played(other / "toy.arrow", other)
    assert (other / "run.parquet").read_bytes() == (tmp_path / "run.parquet").read_bytes()


def test_noise_and_queries_go_with_stream_and_seed_alone(stream_path, tmp_path):
    """So learners are compared on the same lists."""

    def trace(**changes):
        changes = {"learner_settings": {"kind": "random"}} | changes
        table = played(stream_path, tmp_path, **changes)
        return table.select([*MEASURED, "round"]).replace_schema_metadata(None)

    one, resampled = trace(), trace(queries="resampled")
    assert not resampled.equals(one) and trace(study="another").equals(one)
    for same in ({"learner": "two"}, {"experiment": "another"}, {"source": "released-code"}, TOP):
        assert trace(**same).equals(one), same
        assert trace(queries="resampled", **same).equals(resampled), same
    for other in ({"seeds": [1]}, {"stream": "another"}, {"study_seed": 2}):
        assert not trace(**other).equals(one), other


@pytest.fixture
def draws(tmp_path):
    """A stream for each of four seeds."""
    paths = [tmp_path / f"seed-{seed}.arrow" for seed in range(4)]
    for seed, path in enumerate(paths):
        random = np.random.default_rng(seed)
        queries = [(q, random.integers(0, 3, 6), random.standard_normal((6, 4))) for q in range(12)]
        streams.write(path, queries, {})
    return paths


def test_a_probability_of_exploring_is_chosen_from_as_a_rate_is(stream_path, tmp_path):
    """Each is played at each rate, as it is alone, and rows are named by both."""
    seen = {"kind": "seen", "surrogate": "squared", "rates": [0.01, 0.1]}
    paths = []
    for exploration in (0.1, 0.5, [0.1, 0.5]):
        changes = TOP | {"learner_settings": seen | {"exploration": exploration}}
        played(stream_path, tmp_path, [0], **changes)
        paths.append((tmp_path / "run.parquet").rename(tmp_path / f"{exploration}.parquet"))
    # columns are the same of all
    table, _ = traces.read([Runs("all", paths, {"kind": "top"})])
    both = table["setting"].str.contains("exploring")
    chosen, same = table[both].reset_index(drop=True), table[~both].reset_index(drop=True)
    named = [f"{rate}, exploring {p}" for p in (0.1, 0.5) for rate in (0.01, 0.1)]
    assert chosen["setting"].unique().tolist() == named
    assert same["setting"].unique().tolist() == ["0.01", "0.1"]
    assert same.drop(columns="setting").equals(chosen.drop(columns="setting"))
    assert set(chosen["gamma"]) == {0.1, 0.5} and same["ndcg@10"].nunique() > 100
    slots = top.Seen.variants(seen | {"exploration": "slot", "gamma": [0.3, 1.0]})
    assert slots == [seen | {"exploration": "slot", "gamma": gamma} for gamma in (0.3, 1.0)]


LEARNERS = yaml.safe_load("""
perceptron: {kind: slam, rates: [0.25, 1.0]}
random: {kind: random}
top: {kind: rtop, surrogate: kl, gamma: 0.5, rates: [0.1, 0.5]}
adversary: {kind: slam, rates: [0.25]}
""")
ADVERSARY = {"generator": "adversary", "settings": {"ratio": 20, "documents": 5}}


def changes_for(learner: str) -> dict:
    """What the job of one of the learners has of its own."""
    changes = {"rounds": 60} | (TOP if learner == "top" else {})
    return changes | ({"stream_settings": ADVERSARY} if learner == "adversary" else {})


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_seeds_rows_do_not_depend_on_its_company(draws, tmp_path, learner, shared):
    changes = {"learner_settings": LEARNERS[learner]} | changes_for(learner)

    def of(seeds):
        paths = draws[:1] if shared else [draws[seed] for seed in seeds]
        paths = [] if learner == "adversary" else paths
        table = played(paths, tmp_path, seeds, **changes)
        metadata = files.metadata_of(table.schema)
        assert metadata["seeds"] == seeds
        assert metadata["inputs"] == {path.name: files.sha256(path) for path in paths}
        return table.replace_schema_metadata(None)

    together, alone = of([1, 2, 3]), [of([seed]) for seed in (1, 2, 3)]
    assert as_bytes(together) == as_bytes(pa.concat_tables(alone))
    seeds = np.repeat([1, 2, 3], [len(one) for one in alone])
    assert together["seed"].to_pylist() == seeds.tolist()
    if learner != "adversary":  # which leaves nothing to chance
        columns = [one.select(MEASURED) for one in alone]
        assert not columns[0].equals(columns[1]) and not columns[1].equals(columns[2])


FURTHER = ["precision@5", "err", "ap", "ndcg@3"]  # AP is recorded in any case


@pytest.mark.parametrize("learner", [*LEARNERS, "own"])
def test_further_measures_are_columns_after_the_others(draws, tmp_path, learner, own):
    settings = own(0) if learner == "own" else LEARNERS[learner]
    changes = {"learner_settings": settings} | changes_for(learner)
    paths = [] if learner == "adversary" else draws[:2]
    table = played(paths, tmp_path, [0, 1], **changes, measures=FURTHER)
    without = played(paths, tmp_path, [0, 1], **changes)
    further = ["precision@5", "err", "ndcg@3"]
    assert table.schema.names == [*SCHEMA.names, *further]
    assert without.schema.equals(SCHEMA)
    assert as_bytes(table.select(SCHEMA.names)) == as_bytes(without)
    assert files.metadata_of(table.schema)["measures"] == FURTHER
    assert "measures" not in files.metadata_of(without.schema)
    got = table.select(further).to_pandas()
    assert (got >= 0).all(axis=None) and (got <= [5, 1, 1]).all(axis=None) and (got > 0).any().all()


# --- feedback at the top
@pytest.mark.parametrize("source", ["text", "released-code"])
@pytest.mark.parametrize(
    "learner",
    [
        {"kind": "rtop", "surrogate": "ranksvm", "k": 3, "gamma": 0.5},
        {"kind": "listnet"},
        {"kind": "rtop", "surrogate": "smoothdcg", "gamma": 0.5, "rates": [0.5, 2.0]},
        {"kind": "ogd", "surrogate": "kl", "rates": [0.125]},
    ],
)
def test_a_run_at_the_top_holds_what_the_play_gave(stream_path, tmp_path, learner, source):
    readings = TOP | {"source": source, "schedule": "aistats16", "radius": 3.0, "judge": "kl"}
    table = played(stream_path, tmp_path, [0], learner_settings=learner, empty="one", **readings)
    there = streams.read(stream_path)
    rates = top.DESCENDING[learner["kind"]].rates(learner, readings)
    assert rates == learner.get("rates", [0.1] if source == "released-code" else [1.0])
    queries = query_order(there, generator(1, "perceptron", "sep", 0, "queries"), 130)
    at, played_rows = kept_rounds(130) - 1, 0
    for rate in rates:
        # with its noise anew for each rate
        one = made(there, learner, rate, known=top.DESCENDING, **readings)
        whole = play(there, queries, one, "one")
        got = rows(table, rate=rate)
        played_rows += len(got["round"])
        assert_plays(got, whole)
        ranker = [whole.ranker[: t + 1].mean() for t in at]
        np.testing.assert_allclose(got["ranker_ndcg@10"], ranker, rtol=1e-12)
        surrogate = np.cumsum(whole.surrogate)[at]
        np.testing.assert_allclose(got["surrogate_loss"], surrogate, rtol=1e-12)
        for i, name in enumerate(("explored", "mismatched", "clipped", "idle")):
            np.testing.assert_array_equal(got[name], np.cumsum(whole.events[:, i])[at])
        assert not got["failed_in"].any() and np.isnan(got["general_bound"]).all()
        if learner["kind"] == "rtop":
            assert got["explored"][-1] >= got["mismatched"][-1] > 0
            assert np.any(got["ranker_ndcg@10"] != got["ndcg@10"])
    assert played_rows == len(table)
    metadata = files.metadata_of(table.schema)
    assert metadata["resolved"] == asdict(one.setup) and metadata["resolved"]["judge"] == "kl"
    assert entries(metadata, "own_measure kind mismatch") == ("ndcg@10", "top", 10)


def test_the_horizon_of_a_run_is_what_it_plays(stream_path, tmp_path):
    """One pass, if none is set: 40 queries, 38 with relevant documents."""
    learner = {"kind": "rtop", "surrogate": "squared"}
    changes = TOP | {"schedule": "aistats16", "learner_settings": learner, "rounds": None}
    for empty, rounds in {"zero": 40, "skip": 38}.items():
        table = played(stream_path, tmp_path, empty=empty, **changes)
        gamma = files.metadata_of(table.schema)["resolved"]["gamma"]
        assert gamma == pytest.approx(rounds ** (-1 / 3))
        assert table["round"].to_numpy()[-1] == rounds


@pytest.mark.parametrize("kind", ["perceptron", "top"])
def test_a_run_whose_scores_are_not_finite_says_so(stream_path, tmp_path, capsys, kind):
    learner, changes = {"kind": "slam", "rates": [0.25, 1e90]}, {}
    if kind == "top":
        learner = {"kind": "ogd", "surrogate": "squared", "rates": [0.25, 1e90]}
        changes = TOP | {"radius": 1e95, "rounds": 6}
    table = played(stream_path, tmp_path, [7], learner_settings=learner, **changes)
    got = rows(table, rate=1e90)
    [failed_in] = {*got["failed_in"]}
    assert capsys.readouterr() == (
        "",
        f"scant: one on sep, seed 7, rate 1e+90, round {failed_in}: scores are no longer finite, "
        "and the play ends\n",
    )
    assert failed_in > 1 and got["round"].max() == failed_in - 1  # what it played is there
    assert np.isfinite(got["loss"]).all()
    assert not rows(table, rate=0.25)["failed_in"].any()


OWN = """
import numpy as np

from scant.measures import rank
from scant.rankers.learners import NonFiniteScores

class By:
    def __init__(self, features, rate, random, place):
        self.place = place

    def rank(self, features):
        if self.place is None:
            raise NonFiniteScores
        return rank(features[:, self.place])

    def learn(self, features, grades, ranking):
        return False

class Counts(By):
    def learn(self, features, grades, ranking):
        return sorted(ranking[:3]) == [i for i, grade in enumerate(grades) if grade >= 0]

class Overflows(By):
    # It ranks by the first feature, whatever its weights are: infinite after the third query.
    weights = np.ones(6)

    def learn(self, features, grades, ranking):
        self.weights = self.weights * 1e150
        return True

class Wrong:
    # Its fourth query has a score that is no number; it ranks by `rank`, or sorts by itself and
    # keeps its scores.
    def __init__(self, features, rate, random, score, sorts):
        self.score, self.sorts, self.queries = score, sorts, 0

    def rank(self, features):
        self.queries += 1
        self.scores = features[:, 0].astype(float)
        if self.queries == 4:
            self.scores[1] = self.score
        return np.argsort(-self.scores) if self.sorts else rank(self.scores)

    def learn(self, features, grades, ranking):
        return False
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_of_a_run.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda place: {"kind": "own_of_a_run:By", "options": {"place": place}}


def test_a_learner_of_ones_own_can_be_shown_the_top_alone(stream_path, tmp_path, own):
    learner = own(0) | {"kind": "own_of_a_run:Counts", "k": 3}
    table = played(stream_path, tmp_path, learner_settings=learner, **TOP)
    assert table["updates"].to_numpy()[-1] == 130


@pytest.mark.parametrize("score", [np.nan, -np.inf])
@pytest.mark.parametrize("sorts", [False, True])
def test_a_score_of_ones_own_learner_that_is_no_number_is_named(
    stream_path, tmp_path, own, score, sorts
):
    learner = {"kind": "own_of_a_run:Wrong", "rates": [0.5]}
    learner["options"] = {"score": score, "sorts": sorts}
    message = r"one on sep, seed 0, rate 0\.5, round 4: ValueError: .*score.*finite"
    with pytest.raises(SettingError, match=message):
        played(stream_path, tmp_path, learner_settings=learner)
    assert not [*tmp_path.glob("*.parquet")]


@pytest.mark.parametrize("kind", ["perceptron", "top"])
def test_a_run_that_fails_in_its_first_round_is_a_row(stream_path, tmp_path, own, capsys, kind):
    changes = {"learner_settings": own(None)} | (TOP if kind == "top" else {})
    table = played(stream_path, tmp_path, [0, 5], measures=["err"], **changes)
    assert table["seed"].to_pylist() == [0, 5]
    measured = (*MEASURED, "ranker_ndcg@10", "loss", "surrogate_loss", "err")
    for row in table.to_pylist():
        assert entries(row, "round failed_in updates") == (0, 1, 0)
        assert not any(row[name] for name in EVENTS)
        assert np.isnan([row[name] for name in measured]).all()
    assert capsys.readouterr().err.count("round 1: scores are no longer finite") == 2


def test_against_the_adversary(tmp_path):
    settings = {"generator": "adversary", "settings": {"ratio": 50, "documents": 5}}
    learner = {"kind": "slam", "measure": "ap", "rates": ["theory"]}
    table = played(None, tmp_path, stream_settings=settings, learner_settings=learner)
    last = table.to_pylist()[-1]
    assert last["round"] == 49  # whatever the horizon
    assert 49 * (1 - 1 / math.log2(3)) <= last["loss"] <= last["bound"]
    assert last["bound"] == pytest.approx(4 * 5 * 50)
    assert files.metadata_of(table.schema)["inputs"] == {}
    ideal = played(None, tmp_path, stream_settings=settings, learner_settings={"kind": "ideal"})
    assert not ideal["loss"].to_numpy().any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learner_settings": {"kind": "slamm"}}, "did you mean 'slam'"),
        ({"learner_settings": {"kind": "listnet", "rates": ["theory"]}}, "theory gives no rate"),
        ({"measures": ["err", "precison@5"]}, "streams.sep: .*did you mean 'precision@k'"),
        (TOP | {"learner_settings": {"kind": "rtop", "surrogate": "listnet"}}, "Lemma 27"),
    ],
)
def test_a_run_that_cannot_be_leaves_nothing(stream_path, tmp_path, changes, message):
    with pytest.raises(SettingError, match=message):
        played(stream_path, tmp_path, **changes)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.arrow"]

"""`scant compile` compiles what studies call: after it no loop is compiled for other types."""

import pkgutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from numba.core.dispatcher import Dispatcher

from scant import compiling, kernels
from scant.bandits.learners import AucRanker, Forest
from scant.data import simulated
from scant.declare import declarations, families
from scant.games import streams
from scant.games.play import Game, play
from scant.generalisation import run as generalisation
from scant.generalisation import toys as samples
from scant.randomness import generator
from scant.rankers import comparator, run, toys

# parses text
KERNELS = [
    module.name for module in pkgutil.iter_modules(kernels.__path__) if module.name != "letor"
]
MODULES = [import_module(f"scant.kernels.{name}") for name in KERNELS]


def loops():
    """The compiled functions of all modules, by name."""
    found = {
        f"{module.__name__}.{name}": value
        for module in MODULES
        for name, value in vars(module).items()
    }
    return {name: value for name, value in found.items() if isinstance(value, Dispatcher)}


def signatures():
    """The types that each loop is compiled for."""
    return {name: list(loop.signatures) for name, loop in loops().items()}


def test_the_toys_of_each_family_are_played(monkeypatch):
    played = []
    monkeypatch.setattr(compiling, "called", lambda toy: lambda: played.append(toy))
    monkeypatch.setattr(compiling, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    monkeypatch.setattr(compiling.gc, "set_threshold", lambda _: None)
    compiling.compile_all()
    assert sorted(played) == sorted({family.toys for family in families.families().values()})


def test_no_loop_takes_options_from_what_calls_it_first():
    """Numba would hand them on, and last bits would depend on what had been compiled before."""
    assert [
        name
        for name, loop in loops().items()
        if not {"fastmath", "error_model"} <= set(loop.targetoptions)
    ] == []


def test_no_loop_is_left_to_be_compiled_for_other_types(tmp_path, packed):
    for toy in {family.toys for family in families.families().values()}:
        declarations.called(toy)()
    before = signatures()
    called = ("full.play", "full.surrogates_along", "top.play", "clicks.play", "batch.total")
    called += ("batch.curvature",)
    called += ("cells.play_forecaster", "pege.play_phases", "precision.play_sets")
    called += (
        "table.play_table",
        "batch.model_step",
        "generalisation.descend",
        "generalisation.losses",
    )
    called += ("games.play_full", "games.play_blocks", "games.best_path", "games.balance")
    called += ("pairs.descend_pairs", "pairs.descend_examples", "trees.average")
    assert [name for name in called if not before[f"scant.kernels.{name}"]] == []

    drawn = [tmp_path / "stream.arrow"]
    simulated.simulate("toy", toys.STREAM, drawn[0], 1, 1)
    cases = ({"kind": "listnet"}, {"kind": "binary-perceptron"})
    cases += ({"kind": "max-hinge", "rates": ["theory"]},)
    for learner in cases:
        job = toys.JOB | {
            "kind": "perceptron",
            "learner_settings": learner,
            "measures": ["err", "ndcg@3"],
        }
        run.run(job, tmp_path / "run", [1], drawn)
    at_the_top = ({"kind": "rtop", "surrogate": "kl"}, {"kind": "ogd", "surrogate": "squared"})
    at_the_top += ({"kind": "listnet"},)
    for learner in (*at_the_top, {"kind": "pdgd", "rates": [1]}, {"kind": "dbgd", "delta": 2}):
        run.run(toys.JOB | toys.TOP | {"learner_settings": learner}, tmp_path / "run", [1], drawn)
    comparator.compare(toys.JOB | toys.TOP | {"judge": "squared"}, tmp_path / "best", [1], drawn)
    for stream, settings, loss in (
        ("zipf", {"items": 5}, "position-loss"),
        ("indistinguishable", {}, "ndcg"),
        ("rankings", {"items": 4}, "spearman-loss"),
        ("graded", {"items": 4, "grades": 9}, "dcg"),
    ):
        game = Game(streams.draw(stream, generator(1, "toy"), 40, **settings), loss)
        for learner in ("online-rank", "fpl-gumbel", "rtopkf-adaptive", "rtopkf-anytime", "random"):
            play(game, learner, generator(1, "noise"))
        play(
            Game(streams.draw("uniform", generator(1, "toy"), 40, items=4), "position-loss"),
            "hedge",
            generator(1),
        )
    kinds = ("erm-l1", "erm-l2", "averaged-ogd", "regularised-erm")
    learners = [
        (f"{kind}-{surrogate}", {"kind": kind, "surrogate": surrogate})
        for kind in kinds
        for surrogate in ("listnet", "smoothdcg", "ranksvm", "squared", "kl")
        if kind == "erm-l2" or surrogate == "listnet"
    ]
    job = samples.SAMPLED | {"learners": learners, "n": [5, 10], "m": [4, 40], "d": [3]}
    generalisation.run(job, tmp_path / "run", [1], {})
    three = Game(
        streams.draw("bernoulli", generator(1, "toy"), 40, items=3, relevant=1), "precision@2"
    )
    for learner in ("pege", "pege2", "semi-bandit", "forecaster"):
        play(three, learner, generator(1, "noise"))
    features = generator(1, "toy").standard_normal((30, 2)).astype("float32")
    AucRanker(0.1, steps=10, pair_loss="hinge").fit(
        features, features[:, 0] > 0, generator(1, "noise")
    )
    forest = Forest(trees=2, leaf=2)
    forest.fit(features, features[:, 0] > 0, generator(1, "noise"))
    forest.score(features)
    features.flags.writeable = False  # as those of a file
    forest.score(features[:9])
    assert signatures() == before

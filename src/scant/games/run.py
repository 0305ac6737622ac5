"""Runs of games on fixed items: one game with all its learners, seeds and horizons."""

import pyarrow as pa

from scant.declare.declarations import check_numbers
from scant.declare.own import naming
from scant.declare.runs import kept_rounds, origin, table_of
from scant.files import write_parquet
from scant.games import losses, streams
from scant.games.learners import LEARNERS, Facts, make
from scant.games.play import Game, play
from scant.randomness import generator

SCHEMA = pa.schema(
    {
        "learner": pa.string(),
        "kind": pa.string(),
        "k": pa.int64(),  # how many items on top the learner sees; 0 for all
        "seed": pa.int64(),
        "horizon": pa.int64(),  # T; each horizon is a game of its own
        "round": pa.int64(),
        "value": pa.float64(),  # cumulative loss or gain of the rankings shown
        "best": pa.float64(),  # the same for the fixed ranking that is best up to this round
        # the same for the fixed ranking that is best for all rounds
        "best_at_horizon": pa.float64(),
        "worst": pa.float64(),  # the same for the worst play
        "explored": pa.int64(),  # how many rounds so far were spent on exploring
        "bound": pa.float64(),  # on the expected regret against `best`; NaN where none is known
    }
)
PROBED = 100  # rounds that are drawn to check a game and to see its values


def run_job(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Play all learners of a game for each seed and horizon, and write the run file, with columns
    of `SCHEMA`.

    All learners play on the same stream. For a shorter horizon it is the beginning of the stream
    for a longer one (except for `switching` and `hard`, which depend on the horizon). Learners have
    equal generators, so that learners with the same kind of noise share it.

    job : study, study_seed, experiment, stream (the game's id), game (its settings), learners
        (pairs of id and settings), rounds (the horizons)
    inputs : none; engines of all families take them
    """
    tables = []
    for seed in seeds:
        for horizon in job["rounds"]:
            game, kept = drawn(job, seed, horizon), kept_rounds(horizon)
            for learner, settings in job["learners"]:
                with naming(f"{learner} on {job['stream']}, seed {seed}, T = {horizon}"):
                    trace = play(
                        game, played(settings), generator(*_axes(job, seed), "noise"), kept
                    )
                identity = {"learner": learner, "kind": settings["kind"], "k": _seen(settings)}
                identity |= {"seed": seed, "horizon": horizon}
                columns = {name: [value] * len(kept) for name, value in identity.items()}
                columns |= {
                    name: getattr(trace, name) for name in SCHEMA.names if name not in identity
                }
                tables.append(table_of(SCHEMA, columns))
    metadata = {"items": game.items, "loss": game.loss.name, "gain": game.loss.gain}
    write_parquet(pa.concat_tables(tables), target, job | metadata | origin(seeds, ()))


def _seen(settings: dict) -> int:
    """k, how many items on top a learner is shown; 0 for all, and for a user's learner without a
    setting `k`.
    """
    kind = settings["kind"]
    if ":" in kind:
        return int(settings.get("k", 0))
    return int(settings.get("k", 1)) if LEARNERS[kind].sees == "top" else 0


def _axes(job: dict, seed: int) -> tuple:
    """The names from which the randomness of a job's game and seed is derived."""
    return (job["study_seed"], "fixed-items", job["stream"], seed)


def drawn(job: dict, seed: int, horizon: int) -> Game:
    """The game that a job plays with a seed and a horizon. `shared` games have the stream of seed 0
    for all seeds.
    """
    settings = job["game"]
    relevances = generator(*_axes(job, 0 if settings["shared"] else seed), "relevances")
    stream = streams.draw(
        settings["stream"], relevances, horizon, settings["loss"], **settings["settings"]
    )
    return Game(stream, settings["loss"], settings["stream"] in streams.FORESEEN)


def played(learner: dict) -> dict:
    """The settings of a study's learner as `play` takes them: without title, with `options` among
    them.

    """
    settings = {key: value for key, value in learner.items() if key not in ("title", "options")}
    return settings | learner.get("options", {})


def probe(game: dict, rounds: int = PROBED) -> Game:
    """A game of few rounds, made to check its settings.

    Raises
    ------
    SettingError : invalid settings of the stream, or a loss that is not defined for its relevances
    """
    stream = streams.draw(
        game["stream"], generator(0, "probe"), min(rounds, PROBED), game["loss"], **game["settings"]
    )
    probed = Game(stream, game["loss"])
    if probed.loss.places is None:
        losses.check_ap(probed.items)
    return probed


def check(game: dict, learner: dict, rounds: int) -> None:
    """Raise a SettingError if a learner cannot play a game of so many rounds, as far as is known
    without playing.

    A user's own learner is not made here.
    """
    probed = probe(game, rounds)
    check_numbers(rounds=rounds, items=probed.items)
    settings = played(learner)
    kind = settings.pop("kind")
    if ":" not in kind:
        values = float(probed.values.min()), float(probed.values.max())
        stand_ins = {
            "pairs": probed.items**2 / 4,
            "losses": (0.0, 1.0),
            "round_constants": (1.0, 1.0),
        }
        facts = Facts(probed.items, rounds, probed.loss, *values, **stand_ins)
        make(kind, facts, generator(0, "probe"), **settings)

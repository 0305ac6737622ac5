"""Runs of games on fixed items: one game, all its learners, seeds and horizons; and how long a round takes.

A round takes about a microsecond and a process a second to start, so that a job plays all learners of a game.
"""

from time import perf_counter

import numpy as np
import pyarrow as pa

from scant.files import write_parquet
from scant.games import losses, streams
from scant.games.learners import LEARNERS, Facts, make
from scant.games.play import Game, play
from scant.randomness import generator
from scant.runs import kept_rounds, origin, table_of

SCHEMA = pa.schema(
    {
        "learner": pa.string(),
        "kind": pa.string(),
        "k": pa.int64(),  # how many items it sees; 0 for all
        "seed": pa.int64(),
        "horizon": pa.int64(),  # T, of which each is a game of its own
        "round": pa.int64(),
        "value": pa.float64(),  # cumulative loss or gain of the rankings shown
        "best": pa.float64(),  # of the best fixed ranking for the rounds up to this one
        "best_at_horizon": pa.float64(),  # the same of the ranking that is best for all rounds
        "explored": pa.int64(),  # rounds so far that were spent on exploring
        "bound": pa.float64(),  # on the expected regret against `best`; NaN where none is known
    }
)
TIMES = pa.schema(
    {
        **dict.fromkeys(("experiment", "stream", "learner", "kind"), pa.string()),
        "items": pa.int64(),
        "microseconds": pa.float64(),  # of a round
    }
)
PROBED = 100  # rounds that are drawn to see what values a stream has


def run_job(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Make a run file, as the command line asks for it; a game reads no files."""
    run(job, target, seeds)


def run(job: dict, target, seeds: list[int]) -> None:
    """Play all learners of a game for each seed and horizon, and write the run file, with columns of `SCHEMA`.

    All learners play on the same stream, and that of a shorter horizon is the beginning of that of a longer one (but
    for the stream `switching`, whose phases are shares of the horizon). Learners share their noise likewise, as far as
    they draw alike.

    job : study, study_seed, experiment, stream (the game's id), game (its settings), learners (pairs of id and
        settings), rounds (the horizons)
    """
    tables = []
    for seed in seeds:
        for horizon in job["rounds"]:
            game, kept = drawn(job, seed, horizon), kept_rounds(horizon)
            for learner, settings in job["learners"]:
                trace = play(game, played(settings), generator(*_axes(job, seed), "noise"), kept)
                identity = {"learner": learner, "kind": settings["kind"], "k": _seen(settings)}
                identity |= {"seed": seed, "horizon": horizon}
                columns = {name: pa.repeat(pa.scalar(value), len(kept)) for name, value in identity.items()}
                numbers = pa.schema([field for field in SCHEMA if field.name not in identity])
                numbers = table_of(numbers, {name: getattr(trace, name) for name in numbers.names})
                columns |= dict(zip(numbers.column_names, numbers.columns, strict=True))
                tables.append(pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA))
    judged = {"items": game.items, "loss": game.loss.name, "gain": game.loss.gain}
    write_parquet(pa.concat_tables(tables), target, job | judged | origin(seeds, ()))


def _seen(settings: dict) -> int:
    """k, how many items on top a learner is shown; 0 for all. Of one's own it is known only if the study says it."""
    kind = settings["kind"]
    if ":" in kind:
        return int(settings.get("k", 0))
    return int(settings.get("k", 1)) if LEARNERS[kind].sees == "top" else 0


def _axes(job: dict, seed: int) -> tuple:
    """What the randomness of a job's game and seed is derived from."""
    return (job["study_seed"], "fixed-items", job["stream"], seed)


def drawn(job: dict, seed: int, horizon: int) -> Game:
    """The game that a job plays with a seed and a horizon; games that are `shared` have the stream of seed 0."""
    settings = job["game"]
    relevances = generator(*_axes(job, 0 if settings["shared"] else seed), "relevances")
    return Game(streams.draw(settings["stream"], relevances, horizon, **settings["settings"]), settings["loss"])


def played(learner: dict) -> dict:
    """A learner's settings as `play` takes them: without its title, and with its `options` beside the others."""
    settings = {key: value for key, value in learner.items() if key not in ("title", "options")}
    return settings | learner.get("options", {})


def probe(game: dict, rounds: int = PROBED) -> Game:
    """The first rounds of a game on a stream of its own, to see whether it can be played and what values it has.

    Raises
    ------
    SettingError : the stream cannot have its settings, or the loss is not defined for its relevances
    """
    stream = streams.draw(game["stream"], generator(0, "probe"), min(rounds, PROBED), **game["settings"])
    probed = Game(stream, game["loss"])
    if probed.loss.places is None:
        losses.check_ap(probed.items)
    return probed


def check(game: dict, learner: dict, rounds: int) -> None:
    """Raise a SettingError if a learner cannot play a game over so many rounds, as far as it shows without playing.

    A learner of one's own is not made here.
    """
    probed = probe(game, rounds)
    settings = played(learner)
    kind = settings.pop("kind")
    if ":" not in kind:
        values = float(probed.values.min()), float(probed.values.max())
        facts = Facts(probed.items, rounds, probed.loss, *values, pairs=probed.items**2 / 4, losses=(0.0, 1.0))
        make(kind, facts, generator(0, "probe"), **settings)


def time(jobs: list[dict], target, details: dict, least: float = 0.2) -> None:
    """Measure how many microseconds a round takes each learner, and write a row for each game and learner.

    The time is the shortest of three plays, less the shortest of three plays of a single round, over the rounds
    between. A first play, which is not counted, compiles what is to be compiled. Drawing the stream does not count.

    jobs : as of `run`; games are played with their longest horizon, seed 0
    least : how long a play should last, in seconds; it ends at the horizon if that is earlier
    details : what reports need of the study, for the file's metadata
    """
    rows = []
    for job in jobs:
        horizon = max(job["rounds"])
        game = drawn(job, 0, horizon)
        for learner, settings in job["learners"]:
            rounds = 2
            _seconds(game, settings, rounds)
            while rounds < horizon and _seconds(game, settings, rounds) < least / 4:
                rounds = min(4 * rounds, horizon)
            fixed = min(_seconds(game, settings, 1) for _ in range(3))
            each = (min(_seconds(game, settings, rounds) for _ in range(3)) - fixed) / (rounds - 1)
            row = {"experiment": job["experiment"], "stream": job["stream"], "learner": learner}
            rows.append(row | {"kind": settings["kind"], "items": game.items, "microseconds": 1e6 * each})
    write_parquet(pa.Table.from_pylist(rows, schema=TIMES), target, details)


def _seconds(game: Game, settings: dict, rounds: int) -> float:
    """How many seconds a learner takes for the first rounds of a game."""
    kept = np.array([rounds])
    game.best(kept)  # found before, and kept, so that the learner's rounds alone count
    start = perf_counter()
    play(game, played(settings), generator(0, "noise"), kept)
    return perf_counter() - start

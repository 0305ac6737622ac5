"""Runs: a learner plays a stream for some seeds at each of its rates, and its results go to a run
file.

This module defines what run files hold, and which random numbers runs use.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product

import numpy as np
import pyarrow as pa

from scant.data import stream as streams
from scant.declare.declarations import TUNING
from scant.declare.own import naming
from scant.declare.runs import kept_rounds, origin, table_of
from scant.errors import SettingError, errors_of
from scant.files import write_parquet
from scant.randomness import generator
from scant.rankers import judges, learners, top, unvisited
from scant.rankers.adversary import LowerBoundAdversary
from scant.rankers.learners import MEASURES, Contextual, class_of
from scant.rankers.play import (
    NO_ROUNDS,
    Play,
    play,
    play_plain,
    playable,
    query_order,
    recorded,
    tables_of,
)
from scant.theory import bounds

SCHEMA = pa.schema(  # columns of the measures that an experiment asks for come after these
    {
        "seed": pa.int64(),
        "rate": pa.float64(),  # of the learner; NaN if it has none
        "theory": pa.int8(),  # 1 if theory gave the rate
        "round": pa.int64(),
        **{name: pa.float64() for name in MEASURES},  # time-averaged up to the round
        # NDCG@10 of the learner's own ranking, without exploration, time-averaged
        "ranker_ndcg@10": pa.float64(),
        # NDCG@10 of queries that the seed never visits, after the round, see
        # `scant.rankers.unvisited.ndcg`; NaN after most rounds, and on seeds that choose rates
        "unvisited": pa.float64(),
        "visited": pa.int64(),  # how many queries were visited, each counted once
        "loss": pa.float64(),  # of the learner's own measure, cumulative
        # the judging surrogate of the scores shown, cumulative; NaN if there is none
        "surrogate_loss": pa.float64(),
        "updates": pa.int64(),
        # Cumulative counts: rounds that explored; rounds with other documents on top because of
        # that; clipped exponents; rounds whose query had too few documents to learn from.
        **{name: pa.int64() for name in top.EVENTS},
        # The bound on the loss on separable streams, by the stream's margin; for learners that a
        # surrogate judges, the bound on their regret. NaN if there is none.
        "bound": pa.float64(),
        # on the loss: the smallest over some comparators; NaN if there is none
        "general_bound": pa.float64(),
        # the round whose scores were no longer finite, which ended the run; 0 if none
        "failed_in": pa.int64(),
    }
)
LEARNERS = {"perceptron": learners.LEARNERS, "top": top.LEARNERS}  # by the kind of experiment
# The comparators of the general bound are these multiples of the ranker of a separable stream, or,
# on other streams, of the learner's last weights; powers of two, so that scores are multiplied
# without rounding.
MULTIPLES = 2.0 ** np.arange(-4, 5)


def run_job(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Make a run file: the `engine` of the family. `inputs` has the paths of the "streams"."""
    run(job, target, seeds, inputs.get("streams", ()))


def run(job: dict, target, seeds: list[int], stream_paths=()) -> None:
    """Play a learner for each seed in each variant at each of its rates, and write the run file.

    If the job's `grid` is "tuning-seeds", the seeds that choose rates play first. All other seeds
    then play only the variant and the rate that were chosen.

    job : study, study_seed, experiment, kind, stream, stream_settings, learner, learner_settings
        and the readings of the experiment, see the study's schema; `queries` if they are
        "resampled"; `measures` if the experiment asks for further ones. It becomes the file's
        metadata
    target : the file to write
    stream_paths : the stream's file for each seed, or one file for all; none for the adversary
    """
    entry = job["learner_settings"]
    cls = class_of(entry["kind"], LEARNERS[job["kind"]])
    options = list(product(cls.variants(entry), cls.rates(entry, job)))
    in_turn = _choosing_first(seeds, stream_paths) if "grid" in job else (seeds, stream_paths)
    tables, learner, of_lists = [], None, []
    for seed, stream in opened(*in_turn):
        if "grid" in job and seed < TUNING and len(options) > 1:
            options = [_best(options, tables)]
        of_seed, last, judged = _play_seed(job, seed, stream, cls, options)
        tables += of_seed
        of_lists.append(judged)
        learner = learner or last
    metadata = {"resolved": asdict(learner.setup), "own_measure": learner.setup.measure}
    if "lists" in entry:  # means over seeds
        graded, cue_tells = np.mean(of_lists, axis=0)
        metadata["graded"] = float(graded)
        metadata |= {} if np.isnan(cue_tells) else {"cue_tells": float(cue_tells)}
    write_parquet(pa.concat_tables(tables), target, job | metadata | origin(seeds, stream_paths))


def _choosing_first(seeds: list[int], stream_paths) -> tuple[list[int], list]:
    """The seeds and their streams' files, those that choose rates before the reported ones."""
    order = sorted(range(len(seeds)), key=lambda number: seeds[number] < TUNING)
    paths = stream_paths if len(stream_paths) < 2 else [stream_paths[number] for number in order]
    return [seeds[number] for number in order], paths


def _best(options: list[tuple], tables: list[pa.Table]) -> tuple:
    """The variant and rate with the best final NDCG@10 on average, chosen as in the study's tables:
    one at which a run failed is chosen only if a run failed at every rate.

    tables : of the seeds that choose, one for each option, seed by seed
    """
    finals = [
        math.nan if table["failed_in"][-1].as_py() else table["ndcg@10"][-1].as_py()
        for table in tables
    ]
    sums = [math.fsum(finals[number :: len(options)]) for number in range(len(options))]
    return options[0 if np.isnan(sums).all() else int(np.nanargmax(sums))]


def opened(seeds: list[int], stream_paths) -> Iterator[tuple[int, streams.Stream | None]]:
    """Each seed with its stream: from its own file, from one file for all seeds, or None if there
    is no file.

    A file is read when its seed's turn comes, since what is mapped counts as memory of the job.
    """
    if len(stream_paths) == 1:
        (stream,) = map(streams.read, stream_paths)
        yield from ((seed, stream) for seed in seeds)
        return
    for seed, path in zip(seeds, stream_paths or [None] * len(seeds), strict=True):
        yield seed, path and streams.read(path)


def queries_of(job: dict, seed: int, stream: streams.Stream) -> np.ndarray:
    """The query of each round, as its index in the stream: the same for all learners on this stream
    and seed.

    Raises
    ------
    SettingError : no query is left to play
    """
    axes, apart = _axes(job, seed), np.concatenate(set_aside(job, seed, stream))
    random = generator(*axes, "queries")
    resampled = generator(*axes, "resampled") if job.get("queries") == "resampled" else None
    queries = query_order(
        stream,
        random,
        job["rounds"],
        job["order"],
        job["empty"],
        job["keep"],
        resampled,
        apart,
    )
    if not len(queries):
        raise SettingError(
            f"streams.{job['stream']}: no query is left to play: see empty, keep and unvisited"
        )
    return queries


def set_aside(job: dict, seed: int, stream: streams.Stream) -> list[np.ndarray]:
    """Two sets of queries that are kept out of all rounds: never visited, and judged."""
    if not (job.get("unvisited") or job.get("judged")):
        return [NO_ROUNDS, NO_ROUNDS]
    how_many = [job.get("unvisited", 0), job.get("judged", 0)]
    random = generator(*_axes(job, seed), "unvisited")
    return unvisited.set_aside(stream, playable(stream, job["empty"]), how_many, random)


def judged_lists(job: dict, seed: int, stream: streams.Stream) -> tuple[list[tuple], float]:
    """The judged lists of a run, (features, grades) of each, and what the judge's cue tells of
    grades, see `judges.Judge`.

    Raises
    ------
    SettingError : there are not so many judged queries, or the judge does not fit the stream
    """
    entry, judged = job["learner_settings"], set_aside(job, seed, stream)[1]
    eligible = len(np.unique(stream.query[playable(stream, job["empty"])]))
    judges.check_number(entry["lists"], job["judged"], eligible)
    random = generator(*_axes(job, seed), "judge")
    judge = judges.Judge(entry.get("judged_by", judges.HUMAN), stream, random)
    return [(stream[q][0], judge.grades(q)) for q in judged[: entry["lists"]]], judge.told


def _axes(job: dict, seed: int) -> tuple:
    # The axis has the name of the first study: with another, published results would have other
    # random numbers.
    return (
        job["study_seed"],
        "perceptron",
        streams.random_name(job["stream"], job["stream_settings"]),
        seed,
    )


def _play_seed(
    job: dict,
    seed: int,
    stream: streams.Stream | None,
    cls: type[Contextual],
    options: list[tuple],
) -> tuple[list[pa.Table], Contextual, tuple[int, float]]:
    """Play one seed.

    cls : the learner's class
    options : variant and rate of each play

    Returns
    -------
    tables : a trace for each of `options`
    learner : the one that played last
    judged : how many grades the judged lists have, and `judges.Judge.told`
    """
    entry, axes, tables = job["learner_settings"], _axes(job, seed), []
    queries, others, lists, cue_tells = None, NO_ROUNDS, [], math.nan
    if stream is None:
        adversary = LowerBoundAdversary(**job["stream_settings"]["settings"])
        facts = adversary.metadata() | {"rounds": adversary.rounds}
    else:
        queries = queries_of(job, seed, stream)
        facts = stream.metadata | {"rounds": len(queries)}
        if job["kind"] == "top" and seed < TUNING:
            met = np.r_[queries, set_aside(job, seed, stream)[1]]
            others = unvisited.never_visited(stream, met, playable(stream, job["empty"]))
        if entry.get("lists"):
            with errors_of(f"learners.{job['learner']} on streams.{job['stream']}"):
                lists, cue_tells = judged_lists(job, seed, stream)
    several = len(cls.variants(entry)) > 1
    for variant, rate in options:
        noise = generator(*axes, "noise")  # the same for each learner, variant and rate
        with errors_of(f"learners.{job['learner']} on streams.{job['stream']}"):
            measures = recorded(job.get("measures") or (), facts["largest_grade"])
            learner = cls.from_study(variant, job, facts, rate, noise)
        if learner.lists:
            learner.start_from(lists)
        where, general = f"{job['learner']} on {job['stream']}, seed {seed}, rate {rate}", None
        with naming(where):
            if stream is None:
                played = play_plain(adversary, adversary.rounds, learner, job["empty"], measures)
            else:
                kept = unvisited.milestones(len(queries) if len(others) else 0)
                played = play(stream, queries, learner, job["empty"], measures, kept)
                general = (
                    general_bound(stream, queries, played, learner) if rate == "theory" else None
                )
        if played.failed_in:
            where = f"{where}, round {played.failed_in}"
            print(
                f"scant: {where}: scores are no longer finite, and the play ends", file=sys.stderr
            )
        table = trace(seed, played, learner, rate == "theory", general, measures, queries)
        if len(others) and not played.failed_in:
            offline = unvisited.ndcg(stream, others, learner, played, job["empty"])
            table = _with_unvisited(table, offline, unvisited.milestones(len(queries)))
        if several:
            [key] = [key for key in variant if variant[key] != entry.get(key)]
            table = table.append_column(
                top.CHOSEN + key, pa.repeat(float(variant[key]), len(table))
            )
        tables.append(table)
    return tables, learner, (sum(len(grades) for _, grades in lists), cue_tells)


def trace(
    seed: int,
    played: Play,
    learner: Contextual,
    theory: bool,
    general: np.ndarray | None,
    measures: tuple[str, ...] = tuple(MEASURES),
    queries: np.ndarray | None = None,
) -> pa.Table:
    """The rows of one rate: time averages, cumulative losses, counts and bounds at the kept rounds.

    theory : whether theory gave the rate
    general : the general bound at each round played, or None
    measures : the names of the columns of `played.measured`, see `recorded`
    queries : the query of each round; None if each round has its own
    """
    n = len(played.loss)
    visited = np.arange(1, n + 1)
    if queries is not None:
        first = np.unique(queries[:n], return_index=True)[1]
        visited = np.cumsum(np.bincount(first, minlength=n))
    rounds = kept_rounds(n)
    kept = rounds - 1
    means = np.cumsum(np.c_[played.measured, played.ranker], axis=0)[kept] / rounds[:, None]
    loss, updates = np.cumsum(played.loss)[kept], np.cumsum(played.updated, dtype=np.int64)[kept]
    surrogate, events = (
        np.cumsum(played.surrogate)[kept],
        np.cumsum(played.events, axis=0, dtype=np.int64)[kept],
    )
    watched, visited = played.watched[kept] if len(played.watched) else None, visited[kept]
    if not n:  # the run failed in round 1, which one row says
        rounds, means = np.zeros(1, np.int64), np.full((1, len(measures) + 1), np.nan)
        loss, updates, general = np.full(1, np.nan), np.zeros(1, np.int64), None
        visited = np.zeros(1, np.int64)
        surrogate, events = np.full(1, np.nan), np.zeros((1, len(top.EVENTS)), np.int64)
    n = len(rounds)
    columns = {
        "seed": np.full(n, seed),
        "rate": np.full(n, np.nan if learner.rate is None else learner.rate),
        "theory": np.full(n, theory, np.int8),
        "round": rounds,
        **{name: means[:, i] for i, name in enumerate((*measures, "ranker_ndcg@10"))},
        "unvisited": np.full(n, np.nan),
        "visited": visited,
        "loss": loss,
        "surrogate_loss": surrogate,
        "updates": updates,
        **{name: events[:, i] for i, name in enumerate(top.EVENTS)},
        "bound": np.broadcast_to(learner.bound(rounds, watched), n),
        "general_bound": np.full(n, np.nan) if general is None else general[kept],
        "failed_in": np.full(n, played.failed_in),
    }
    further = [pa.field(name, pa.float64()) for name in measures if name not in SCHEMA.names]
    return table_of(pa.schema([*SCHEMA, *further]), columns)


def _with_unvisited(table: pa.Table, offline: np.ndarray, rounds: np.ndarray) -> pa.Table:
    """The rows of a run, with `offline` as the column `unvisited` in the rows of `rounds`."""
    values = np.full(len(table), np.nan)
    values[np.isin(table["round"], rounds)] = offline
    column = table.column_names.index("unvisited")
    return table.set_column(column, table.schema.field(column), pa.array(values))


def general_bound(stream, queries, played: Play, learner: Contextual) -> np.ndarray | None:
    """The general bound at each round, float64 (rounds), for a learner at the rate of theory; None
    if there is none.

    It is the smallest over comparators: the stream's ranker, or else the last weights, times each
    of `MULTIPLES`.
    """
    facts, settings, constants = stream.metadata, learner.setup, learner.general_constants()
    if constants is None or not learner.as_proved or not len(played.loss):
        return None
    from scant.kernels import full, pieces

    direction = (
        np.array(facts["ranker"]) / facts["margin"] if facts.get("ranker") else played.weights
    )
    m, ratio = constants
    labels = settings.labels(stream.grades)
    labels.flags.writeable = False  # the loop is compiled for read-only arrays
    sums = np.empty((len(MULTIPLES), len(played.loss)))
    rounds = pieces.Rounds(
        stream.features, stream.offsets, stream.grades, stream.relevant, queries[: sums.shape[1]]
    )
    tables = tables_of(stream)
    full.surrogates_along(
        rounds,
        labels,
        played.updated,
        learner.branch,
        m,
        settings.measure == "ap",
        tables,
        direction,
        MULTIPLES,
        sums,
    )
    norms = [float(np.linalg.norm(multiple * direction)) for multiple in MULTIPLES]
    at_multiples = [
        bounds.general_at_rate(*pair, m, facts["radius"], ratio)
        for pair in zip(sums, norms, strict=True)
    ]
    return np.minimum.reduce(at_multiples)

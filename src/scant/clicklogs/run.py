"""Runs on click logs: all estimators and learners of an experiment on the beginnings of a log.

All are given the same visits, so that differences are paired.
"""

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from scant.clicklogs import estimates, learners, logs, storage
from scant.clicklogs.learners import Estimator, Site
from scant.data import stream as streams
from scant.declare.runs import origin, table_of_rows
from scant.files import write_parquet
from scant.measures import ndcg, rank
from scant.randomness import generator

NUMBERS = (
    # of estimators: an estimate of the target's clicks in a visit, its true clicks, what estimates
    # tend to, and intervals, see `scant.clicklogs.estimates.Interval`
    *("estimate", "truth", "limit", "t_low", "t_high", "low", "high", "likely_low", "likely_high"),
    # of learners: the mean over held-out queries with a relevant document, and the true clicks in a
    # visit, of visited queries, if the ranker's own lists are shown
    *("ndcg@10", "clicks"),
)
SCHEMA = pa.schema(
    {
        "learner": pa.string(),
        "kind": pa.string(),
        "curve": pa.string(),  # the position curve, where one is used
        "seed": pa.int64(),
        "visits": pa.int64(),
        "place": pa.int64(),  # that clicks are of, from 1; 0 for all places, and for learners
        **dict.fromkeys(NUMBERS, pa.float64()),
    }
)


def draw(name: str, settings: dict, stream_path, target, study_seed: int, seed: int) -> None:
    """Write the click log of one seed.

    name, settings : the click log's id, and its settings in the study
    """
    stream = streams.read(stream_path)
    world = logs.world(stream, settings, logs.split(stream, settings))
    log = world.draw(settings["visits"], generator(*_axes(study_seed, name, settings, seed)))
    storage.write(log, target, {"stream": name, "seed": seed})


def _axes(study_seed: int, name: str, settings: dict, seed: int) -> tuple:
    """The names from which all randomness of a click log is derived."""
    return study_seed, "clicks", streams.random_name(name, settings), seed


def run(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Write the run file of a job, with the columns of `SCHEMA`.

    job : study, study_seed, experiment, stream (the click log's id), click_log (its settings),
        learners (pairs of id and settings), and visits
    inputs : streams, the file of the stream; logs, the file of the click log of each seed
    """
    [stream_path] = inputs["streams"]
    site = learners.site(streams.read(stream_path), job["click_log"])
    rows = []
    for seed, path in zip(seeds, inputs["logs"], strict=True):
        rows += _of_seed(site, job, seed, storage.read(path))
    paths = [stream_path, *inputs["logs"]]
    write_parquet(table_of_rows(SCHEMA, rows), target, job | origin(seeds, paths))


def _of_seed(site: Site, job: dict, seed: int, log: logs.Log) -> Iterator[dict]:
    """The rows of one seed."""
    axes = _axes(job["study_seed"], job["stream"], job["click_log"], seed)
    truth = site.world.clicks_of(site.target)
    for visits in job["visits"]:
        beginning = log.take(slice(visits))
        for learner, settings in job["learners"]:
            played = learners.made(settings)
            row = dict.fromkeys(NUMBERS, np.nan) | {
                "learner": learner,
                "kind": settings["kind"],
                "curve": played.options.get("curve", ""),
                "seed": seed,
                "visits": visits,
                "place": 0,
            }
            if isinstance(played, Estimator):
                yield from (row | part for part in _estimated(site, played, beginning, truth))
                continue
            weights = played.ranker(beginning, site, generator(*axes, "noise"))
            clicks = site.world.clicks_of(site.sorts_by(weights)).sum()
            yield row | {"ndcg@10": held_out(site, weights), "clicks": clicks}


def _estimated(site: Site, estimator: Estimator, log: logs.Log, truth: np.ndarray):
    """Parts of rows: an estimator's intervals, truth and limit, of all places together, then of
    each.
    """
    weighted = estimator.of(log, site)
    limit = estimator.limit(site)
    whole = asdict(estimates.interval(weighted, likely=True))
    yield whole | {"truth": truth.sum(), "limit": limit.sum()}
    for place, clicks in enumerate(truth):
        bounds = asdict(estimates.interval(weighted, place))
        yield bounds | {"truth": clicks, "limit": limit[place], "place": place + 1}


def held_out(site: Site, weights: np.ndarray) -> float:
    """NDCG@10 of the ranker with these weights on the queries that are held out."""
    scores = logs.scored(site.stream, site.queries.held_out, weights)
    measured = zip(scores, site.queries.held_out, strict=True)
    return float(np.mean([ndcg(rank(of_query), site.stream[q][1]) for of_query, q in measured]))

"""A run: one learner, one stream, one seed, every rate; what it records, and where its randomness comes from."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import __version__
from scant.data import stream as streams
from scant.errors import SettingError
from scant.files import sha256, write_parquet
from scant.online.adversary import LowerBoundAdversary
from scant.online.learners import MEASURES, Settings, make, places, resolve, theory_rate
from scant.online.play import KINDS, Play, play_compiled, play_python, query_order
from scant.randomness import generator
from scant.theory import bounds

SCHEMA = pa.schema(
    {
        "rate": pa.float64(),  # of the learner; NaN for those that have none
        "theory": pa.int8(),  # 1 if theory gave the rate
        "round": pa.int64(),
        **{name: pa.float64() for name in MEASURES},  # time-averaged up to the round
        "loss": pa.float64(),  # the learner's own, cumulative
        "updates": pa.int64(),
        "bound": pa.float64(),  # on the loss: the separable bound of the stream's margin; NaN if there is none
        "general_bound": pa.float64(),  # on the loss: the general bound, the best of some comparators; NaN if none
        "failed_in": pa.int64(),  # the round in which scores were no longer finite, which ended the run; 0 if none
    }
)
# Comparators of the general bound are the ranker of a separable stream, or else the learner's last weights,
# at these multiples of their length.
MULTIPLES = 2.0 ** np.arange(-4, 5)


def kept_rounds(horizon: int, per_decade: int = 20) -> np.ndarray:
    """The rounds that a trace keeps: about `per_decade` in each power of ten, and the last ten. Sorted, from 1."""
    if horizon < 1:
        return np.array([], np.int64)
    grid = np.geomspace(1, horizon, max(2, int(per_decade * np.log10(horizon)) + 1)).round()
    last = np.arange(max(1, horizon - 9), horizon + 1)
    return np.unique(np.r_[grid, last]).astype(np.int64)


def run(job: dict, target, stream_path=None) -> None:
    """Play a learner at each of its rates and write the run file.

    job : study, study_seed, experiment, stream, stream_settings, learner, learner_settings, source, seed, rounds,
        empty, order, keep (see the schema of the config)
    stream_path : the stream's file; None if the stream is the adversary
    """
    adversary = job["stream_settings"].get("generator") == "adversary"
    stream = None if adversary else streams.read(stream_path)
    facts = {} if adversary else stream.metadata
    settings, rates = resolve(job["learner_settings"], job["source"], bool(job["stream_settings"].get("generator")))
    axes = (job["study_seed"], "perceptron", job["stream"], job["seed"])
    tables = []
    for rate in rates if settings.kind not in ("random", "ideal") else [None]:
        noise = generator(*axes, "noise")  # the same for each learner and rate
        if adversary:
            opponent = LowerBoundAdversary(**job["stream_settings"]["settings"])
            facts = opponent.metadata()
            step = theory_rate(settings, facts) if rate == "theory" else rate
            learner = make(settings, opponent.features, step, noise, job["learner_settings"].get("options"))
            played = play_python(opponent, learner, settings, job["empty"])
            general = None
        else:
            queries = query_order(
                stream, generator(*axes, "queries"), job["rounds"], job["order"], job["empty"], job["keep"]
            )
            if not len(queries):
                raise SettingError(f"streams.{job['stream']}: no query is left to play. See empty and keep")
            step = theory_rate(settings, facts) if rate == "theory" else rate
            if settings.kind in KINDS:
                played = play_compiled(stream, queries, settings, step or 0.0, noise, job["empty"])
            else:
                learner = make(settings, facts["features"], step, noise, job["learner_settings"].get("options"))
                played = play_python((stream[q] for q in queries), learner, settings, job["empty"])
            general = general_bound(stream, queries, played, settings) if rate == "theory" else None
        tables.append(trace(played, settings, step, rate == "theory", facts, general))
    identity = {key: job[key] for key in ("study", "study_seed", "experiment", "stream", "learner", "seed", "source")}
    write_parquet(
        pa.concat_tables(tables),
        target,
        identity
        | {
            "settings": job["learner_settings"],
            "stream_settings": job["stream_settings"],
            "rounds": job["rounds"],
            "empty": job["empty"],
            "order": job["order"],
            "keep": job["keep"],
            "own_measure": settings.measure,
            "versions": {"scant": __version__, "numpy": np.__version__},
            "inputs": {} if adversary else {Path(stream_path).name: sha256(stream_path)},
        },
    )


def trace(played: Play, settings: Settings, rate, theory: bool, facts: dict, general: np.ndarray | None) -> pa.Table:
    """The rows of one rate: time averages, cumulative loss and bounds at the kept rounds."""
    rounds = kept_rounds(len(played.loss))
    at = rounds - 1
    means = np.cumsum(played.measured, axis=0)[at] / rounds[:, None]
    loss, updates = np.cumsum(played.loss)[at], np.cumsum(played.updated, dtype=np.int64)[at]
    if not len(rounds):  # it failed in round 1: one row says so
        rounds, means = np.zeros(1, np.int64), np.full((1, len(MEASURES)), np.nan)
        loss, updates, general = np.full(1, np.nan), np.zeros(1, np.int64), None
    bound = separable_bound(settings, facts)
    n = len(rounds)
    columns = {
        "rate": np.full(n, np.nan if rate is None else rate),
        "theory": np.full(n, theory, np.int8),
        "round": rounds,
        **{name: means[:, i] for i, name in enumerate(MEASURES)},
        "loss": loss,
        "updates": updates,
        "bound": np.full(n, bound),
        "general_bound": np.full(n, np.nan) if general is None else general[at],
        "failed_in": np.full(n, played.failed_in),
    }
    # Made of buffers: `pa.array` would import pandas, a fifth of a second for every job.
    arrays = [
        pa.Array.from_buffers(field.type, n, [None, pa.py_buffer(np.ascontiguousarray(columns[field.name]))])
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def separable_bound(settings: Settings, facts: dict) -> float:
    """The bound that a separable stream's achieved margin gives the learner; NaN if there is none."""
    margin = facts.get("margin")
    if not settings.as_proved or not margin or margin <= 0 or not np.isfinite(margin):
        return np.nan
    if settings.kind == "slam":
        ratio = facts["weight_ratio"][settings.measure]
        return bounds.slam_separable(places(settings, facts), facts["radius"], ratio, margin)
    if settings.kind == "max-hinge":
        return bounds.max_hinge_separable(facts["radius"], margin)
    if settings.kind == "binary-perceptron":  # its instances are differences of two documents
        return bounds.binary_separable(2 * facts["radius"], margin)
    return np.nan


def general_bound(stream, queries, played: Play, settings: Settings) -> np.ndarray | None:
    """The general bound at each round played at the theory's rate, the smallest over the comparators; None if none."""
    if not settings.as_proved or settings.kind == "binary-perceptron" or not len(played.loss):
        return None
    from scant.kernels import full

    facts = stream.metadata
    direction = np.array(facts["ranker"]) / facts["margin"] if facts.get("ranker") else played.weights
    m, ratio = 1, 1.0
    if settings.kind == "slam":
        m, ratio = places(settings, facts), facts["weight_ratio"][settings.measure]
    labels = settings.labels(stream.grades)
    labels.flags.writeable = False
    best = np.full(len(played.loss), np.inf)
    sums = np.empty(len(played.loss))
    for multiple in MULTIPLES:
        weights = multiple * direction
        full.surrogate_along(
            stream.features, stream.offsets, labels, queries[: len(sums)], played.updated, KINDS[settings.kind],
            m, settings.measure == "ap", streams.gains(max(1, facts["largest_grade"])),
            streams.discounts(facts["largest_query"]), weights, sums,
        )  # fmt: skip
        norm = float(np.linalg.norm(weights))
        best = np.minimum(best, bounds.general_at_rate(sums, norm, m, facts["radius"], ratio))
    return best

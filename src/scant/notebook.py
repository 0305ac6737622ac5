"""Learners played from Python, with neither YAML nor Snakemake: `scant.play`.

What is asked for becomes the settings of a study. What the study's jobs do is done here, one after
another, in a folder that is deleted afterwards. So both give the same numbers.
"""

import gzip
import os.path
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from scant.data import conversion, fetch, packing, registry, simulated, tables
from scant.data.numbers import plain
from scant.errors import DataError, SettingError, check_name, is_number, short
from scant.files import foreign, write_parquet, write_text
from scant.present import ranking
from scant.present.intervals import mean_cells
from scant.rankers import run
from scant.rankers.generators import GENERATORS
from scant.rankers.streams import level
from scant.rankers.top import CHOSEN_FROM
from scant.study import settings
from scant.study.plan import RUN, Plan, Runs, spanned, untitled
from scant.study.schema import learner_settings
from scant.verdict.statistics import claimed, judge

NAME = "play"  # of the study, and of its experiment
FAMILIES = ("top", "perceptron")  # the first in which all learners play is taken
TUNING_SEEDS = 5
# Settings of which the best value is chosen, on the tuning seeds: what they are if none is given.
GRIDS = {
    "rates": [0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
    "lambdas": [0.1, 1, 10, 100, 1000],
    "alphas": [0.1, 0.3, 1.0, 3.0],
    "mismatch": [1, 10, 100, 1000, 10000],  # without it the papers' estimate is not at its best
}
# At the top weights may be long enough for scores to reach the grades.
READINGS = {
    "top": {"mismatch": 1, "radius": 10.0, "grid": "tuning-seeds", "unvisited": 0.3},
    "perceptron": {},
}
DEFAULT_START = (30, "chosen")  # from how many judged lists, and how
RANGE = (-1.0, 1.0)  # of differences of NDCG@10


class Leaderboard(pd.DataFrame):
    """What `play` returns: a row for each learner on each stream, with the columns

    stream, learner : their ids
    features : how the stream's features are scaled: "as-is", or "query-minmax", to [0, 1] within
        each query, as for files and arrays
    mean, low, high, n : NDCG@10 of the lists shown, averaged over the rounds: its mean over n seeds
        with a 95 % t interval; NaN, and an n of 0, if every run of the learner failed
    unvisited : NDCG@10 of queries that are never visited, by the learner's own ranking after the
        last round, averaged over seeds: what it has learnt, and not what it remembers
    difference, difference_low, difference_high : by how much the first learner is ahead of this
        one, paired by seed, with the 95 % confidence sequence that claims are judged by. It
        supposes that differences are near normal, holds however often seeds are added, and has no
        ends below 12 seeds
    ahead : in how many seeds the first learner is ahead of this one
    verdict : on "the first learner ranks better than this one": holds, fails or undecided; each
        row by itself, without a correction for their number
    """

    _metadata = ("given",)

    def study(self, file) -> Path:
        """Write the study file with these settings; arrays are stored in files beside it.

        Raises
        ------
        SettingError : a learner's class is defined in a notebook or script, which a study cannot
            import
        """
        file = Path(file)
        for entry in self.given["learners"].values():
            module, _, name = entry["kind"].partition(":")
            if module == "__main__":
                raise SettingError(
                    f"{name} is defined in a notebook or script, which a study cannot import: move "
                    "it to a module beside the study file"
                )
        given = _stored(self.given, file.absolute().parent)
        write_text(file, yaml.safe_dump(given, sort_keys=False))
        return file


def play(
    learner,
    streams,
    against=("listnet", "random"),
    seeds: int = 16,
    k: int | None = None,
    rounds: int = 10_000,
    judged=None,
    lists: int = DEFAULT_START[0],
    start: str = DEFAULT_START[1],
) -> Leaderboard:
    """Play a learner and others on the same streams, with the same queries, and compare them.

    Learning rates, and settings that are chosen like them, are chosen on further seeds: from the
    values given, or else from `GRIDS`. A class of your own has the rate 1.0 unless rates are given.

    Parameters
    ----------
    learner : a built-in kind, such as "listnet"; a class of your own, see docs/extending.md; or
        settings as in a study file, whose kind may be a class: {"kind": "ridge", "explore": "ucb"}
    streams : one of these, or a list of them: a generator, such as "linear"; a data set of the
        registry, such as "digits"; the path of a file, see docs/data.md; arrays, (features (n, d),
        grades (n), queries (n)); settings as in a study file
    against : one learner, or a list of them
    seeds : how many are compared
    k : how many grades on top a learner sees in each round, unless its kind sees all or its
        settings say how many. None leaves it to the learner: a class of your own sees every grade,
        a built-in kind as many as by default
    rounds : the horizon
    judged : what the learner, of kind ridge, starts from: grades by another judge, such as a
        model, of all documents of arrays, (n,); or a judge as in a study file, such as "human" or
        {"wrong": 0.3}. The learner without a start is among those that it is compared with. 40 %
        of the queries are judged, 30 % visited, and 30 % never visited
    lists : how many judged lists the learner starts from
    start : how it uses them, "chosen" or "trusted"

    Raises
    ------
    SettingError : there is no such learner, stream or setting; names the nearest
    DataError : a file or array is damaged
    """
    counts = {"seeds": seeds, "rounds": rounds, "lists": lists, "k": 1 if k is None else k}
    for name, value in counts.items():
        if not is_number(value, 1, whole=True):
            raise SettingError(f"{name} is {short(value)}; a whole number from 1 is expected")
    seeds, rounds, lists = int(seeds), int(rounds), int(lists)  # NumPy's are no settings
    streams = _listed(streams, list)
    named = [_learner(value, k) for value in (learner, *_listed(against, (list, tuple)))]
    column = None  # of a judge's grades
    if judged is not None:
        if not isinstance(judged, str | Mapping):
            if len(streams) > 1 or not isinstance(streams[0], tuple):
                what = "a judge's grades are for one tuple of arrays: give only that"
                raise SettingError(f"judged: {what}")
            judged, column = "column", judged
        name, entry = named[0]
        started = entry | {"start": start, "lists": lists, "judged_by": judged}
        named = [(f"{name}-{start}", started), *named]
    elif (lists, start) != DEFAULT_START:
        raise SettingError("lists and start do nothing without judged: say whose lists they are")
    learners = _by_id(named)
    places = _by_id(_stream(value, column) for value in streams)
    kind = _family(learners)
    experiment = {
        "kind": kind,
        "streams": list(places),
        "learners": list(learners),
        "rounds": rounds,
        "seeds": seeds,
        "batch": seeds + TUNING_SEEDS,
        "tuning_seeds": TUNING_SEEDS,
        **READINGS[kind],
    }
    given = {
        "study": NAME,
        "seed": 2016,
        "claims": None,
        "datasets": {id: entry for id, entry in places.items() if "parts" in entry},
        "streams": {
            id: {"dataset": id} if "parts" in entry else entry for id, entry in places.items()
        },
        "learners": learners,
        "experiments": {NAME: experiment},
    }
    with tempfile.TemporaryDirectory(prefix="scant-") as folder:
        plan = Plan(*settings.load(_stored(given, Path(folder))))
        try:
            played = _play(plan, Path(folder))
            with _one_thread():
                files = list(tqdm(played, "scant.play", len(plan.runs), unit=" runs", delay=1))
        except DataError as error:  # of arrays, whose file will be gone
            file = error.file.removeprefix(f"{folder}/")
            raise DataError(file, error.reason, error.line, error.advice) from error
        finals = ranking.by_measure(Runs(NAME, files, plan.details(NAME)))
    board = Leaderboard(_rows(finals, list(learners)))
    streams = map(plan.study["streams"].get, board["stream"])
    board.insert(1, "features", [level(entry, "features", plan.datasets) for entry in streams])
    board.given = given
    return board


def _listed(value, lists) -> Sequence:
    """A value of one of the types `lists` as it is, any other alone in a list."""
    return value if isinstance(value, lists) else [value]


def _by_id(named: Iterable[tuple[str, dict]]) -> dict[str, dict]:
    """Entries by id: the name, followed by a number from the second entry of the same name on."""
    entries: dict[str, dict] = {}
    for name, entry in named:
        id, number = name, 1
        while id in entries:
            number += 1
            id = f"{name}-{number}"
        entries[id] = entry
    return entries


def _id(name: str) -> str:
    """A name as ids of a study are written."""
    return "-".join(re.findall("[a-z0-9]+", name.lower())) or "unnamed"


def _learner(value, k: int | None) -> tuple[str, dict]:
    """The name and the settings of a learner, from what `play` takes."""
    entry = dict(value) if isinstance(value, Mapping) else {"kind": value}
    kind = entry.get("kind")
    if isinstance(kind, type):
        module, name = kind.__module__, kind.__qualname__
        if getattr(sys.modules.get(module), name, None) is kind:
            kind = f"{module}:{name}"
    if not isinstance(kind, str):
        raise SettingError(
            f"{short(kind)} is no learner: give a built-in kind, settings, or a class of your own, "
            "as its module has it now, outside of functions and classes"
        )
    chosen = {} if k is None else {"k": int(k)}
    if ":" in kind:
        return _id(kind.partition(":")[2]), chosen | entry | {"kind": kind}
    check_name("kind of learner", kind, {id for family in FAMILIES for id in run.LEARNERS[family]})
    declared = learner_settings(kind)
    chosen |= GRIDS
    if entry.get("explore", "greedy") == "greedy":
        del chosen["alphas"]
    if any(isinstance(entry.get(key), list) for key in CHOSEN_FROM):  # one such list is the most
        del chosen["mismatch"]
    return kind, {key: chosen[key] for key in chosen if key in declared} | entry


def _stream(value, judged) -> tuple[str, dict]:
    """The name and the settings of a stream, or of the data set of a file or of arrays, with a
    judge's grades beside theirs if there are any.
    """
    if isinstance(value, Mapping):
        name = value.get("dataset") or value.get("generator") or "stream"
        return _id(str(name)), dict(value)
    if isinstance(value, tuple):
        return "arrays", _of_arrays(value, judged)
    if not isinstance(value, str | Path):
        raise SettingError(
            "a stream is a generator, a data set, a file, settings, or a tuple of arrays, and no "
            f"instance of {type(value).__name__}"
        )
    if os.path.isfile(value):  # noqa: PTH113 - no error for a name that is too long
        try:
            return _id(Path(value).stem), _of_file(Path(value).absolute())
        except MemoryError:
            raise DataError(value, "a line of it is larger than memory") from None
    datasets = registry.load()
    if value in datasets:
        made = {"retrieval": {}} if datasets[value].task == "classification" else {}
        return value, {"dataset": value} | made
    check_name("generator, data set or file", value, [*GENERATORS, *datasets])
    return value, {"generator": value}


def _of_arrays(arrays: tuple, judged) -> dict:
    """The settings of a data set of arrays, with an Arrow table in place of its file's path."""
    what, beside = "a tuple is of three arrays, features, grades and queries", {}
    try:
        table = tables.of_arrays(*arrays)
        if judged is not None:
            what, beside = "judged is an array with a grade of each document", {"judged": "judged"}
            table = table.append_column("judged", pa.array(plain(judged)))
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise SettingError(f"{what}: {error}") from error
    return _dataset("parquet", table.num_columns - 2 - len(beside), table) | beside


def _of_file(path: Path) -> dict:
    """The settings of the data set of a file."""
    with (
        foreign(
            path, "readable file", "Get it again. It is packed by gzip if its name ends in .gz"
        ),
        (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file,
    ):
        is_parquet = file.read(4) == b"PAR1"
        file.seek(0)
        if is_parquet:
            names = pq.read_schema(file).names
        elif ".csv" in path.suffixes:
            names = pd.read_csv(file, nrows=0)
        else:
            features = (re.findall(rb"(\d+):", line.partition(b"#")[0]) for line in file)
            most = max((int(index) for indices in features for index in indices), default=1)
            return _dataset("letor", most, path)
    features = len([name for name in names if re.fullmatch(r"f\d+", name)])
    return _dataset("parquet" if is_parquet else "csv", max(features, 1), path)


def _dataset(parser: str, features: int, file) -> dict:
    return {
        "task": "ranking",
        "parser": parser,
        "features": features,
        "parts": {"all": {"file": file}},
    }


def _family(learners: Mapping[str, dict]) -> str:
    """The kind of experiment in which all of the learners play."""
    kinds = [entry["kind"] for entry in learners.values() if ":" not in entry["kind"]]
    for family in FAMILIES:
        if all(kind in run.LEARNERS[family] for kind in kinds):
            return family
    raise SettingError(
        f"{', '.join(kinds)} do not play in one experiment: some need every grade, others those on "
        "top. Play each against listnet"
    )


def _stored(given: dict, folder: Path) -> dict:
    """The settings, with arrays stored in files of a folder."""
    datasets = {}
    for name, entry in given["datasets"].items():
        file = entry["parts"]["all"]["file"]
        if isinstance(file, pa.Table):
            write_parquet(file, file := folder / f"{name}.parquet", {})
        datasets[name] = entry | {"parts": {"all": {"file": str(file)}}}
    return given | {"datasets": datasets}


def _one_thread():
    """Has linear algebra use one thread, as in a job of a study: loops gain nothing by more."""
    import scipy.linalg  # noqa: F401  its BLAS, which compiled loops call, has to be there

    return threadpool_limits(1)


def _play(plan: Plan, folder: Path) -> Iterator[str]:
    """Make the run files of a study, and first what they are made of, in a folder; yield the path
    of each run file once it is written.
    """
    seed = plan.study["seed"]
    for table in map(Path, plan.data_tables()):
        dataset, part = plan.stored(table.parent.name), table.stem
        original = folder / table.with_suffix(".txt")
        fetch.fetch(dataset, part, original, log=lambda line: None)
        conversion.convert(dataset, part, original, folder / table)
    for file in map(Path, plan.stream_files()):
        id = file.stem if file.suffix else file.parent.name
        entry = untitled(plan.study["streams"][id])
        if "dataset" in entry:
            entry["normalised"] = plan.datasets[entry["dataset"]].normalised
            read = [folder / table for table in plan.stream_tables(id)]
            packing.pack(id, entry, read, folder / file, seed)
        else:
            for drawn in spanned(file.name):
                target = folder / file / f"seed-{drawn}.arrow"
                simulated.simulate(id, entry, target, seed, drawn)
    for path, job in plan.runs.items():
        target = folder / RUN.format(study=NAME, run=path)
        read = [folder / file for file in job.inputs.get("streams", ())]
        run.run(job.settings | {"study": NAME} | job.identity, target, job.seeds, read)
        yield str(target)


def _rows(finals: list[ranking.Finals], learners: list[str]) -> pd.DataFrame:
    """The rows of a `Leaderboard`, the best mean of each stream first.

    finals : by measure, NDCG@10 first
    """
    rows, by_measure = [], {one.measure: one.table for one in finals}
    offline = by_measure.get(ranking.UNVISITED, finals[0].table[:0])
    offline = offline.groupby(["stream", "learner"])["value"].mean()
    for stream, values in finals[0].table.groupby("stream", sort=False):
        by_seed = values.pivot_table("value", "seed", "learner").reindex(columns=learners)
        for learner in by_seed.mean().sort_values(ascending=False).index:
            row = mean_cells(by_seed[learner])
            row["unvisited"] = offline.get((stream, learner), np.nan)
            if learner != learners[0]:
                ahead = judge(by_seed[learners[0]] - by_seed[learner], claimed("greater"), RANGE)
                row |= {"difference": ahead.estimate, "ahead": ahead.inside}
                row |= {"difference_low": ahead.low, "difference_high": ahead.high}
                row["verdict"] = ahead.verdict
            rows.append({"stream": stream, "learner": learner} | row)
    columns = ["stream", "learner", "mean", "low", "high", "n", "unvisited", *ranking.DIFFERENCE]
    board = pd.DataFrame(rows, columns=[*columns, "ahead", "verdict"])
    return board.astype({"ahead": "Int64"})

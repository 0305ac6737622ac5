"""Learners played from Python, with neither YAML nor Snakemake: `scant.play`.

What is asked for becomes the settings of a study, whose jobs run here, one after another, in a
folder that is deleted afterwards. So its numbers are those of that study.
"""

import io
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from tqdm import tqdm

from scant import jobs
from scant.data import registry
from scant.declare import families
from scant.errors import SettingError, unknown
from scant.files import write_parquet, write_text
from scant.present import ranking
from scant.present.intervals import mean_cells
from scant.rankers.generators import GENERATORS
from scant.rankers.top import CHOSEN_FROM
from scant.study import settings
from scant.study.plan import ORIGINAL, RUN, Plan, Runs
from scant.study.schema import learner_settings
from scant.study.settled import Settled, content
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
READINGS = {"top": {"mismatch": 1, "radius": 10.0, "grid": "tuning-seeds"}, "perceptron": {}}
RANGE = (-1.0, 1.0)  # of differences of NDCG@10


class Leaderboard(pd.DataFrame):
    """What `play` returns: a row for each learner on each stream, with the columns

    stream, learner : their ids
    mean, low, high, n : NDCG@10 of the lists shown, averaged over the rounds: its mean over n seeds
        with a 95 % t interval; NaN, and an n of 0, if every run of the learner failed
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
    k: int | None = 1,
    rounds: int = 10_000,
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

    Raises
    ------
    SettingError : there is no such learner, stream or setting; names the nearest
    DataError : a file is damaged
    """
    learners = _by_id(_learner(value, k) for value in (learner, *_listed(against, (list, tuple))))
    places = _by_id(map(_stream, _listed(streams, list)))
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
        finals = _finals(given, Path(folder))
    board = Leaderboard(_rows(finals, list(learners)))
    board.given = given
    return board


def _listed(value, lists) -> Sequence:
    """A value of a type in `lists` as it is, any other as the only one of a list."""
    return value if isinstance(value, lists) else [value]


def _by_id(named: Iterable[tuple[str, dict]]) -> dict[str, dict]:
    """Entries by their names, of which a second one of a name is numbered."""
    entries: dict[str, dict] = {}
    for name, entry in named:
        same = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", id) is not None for id in entries)
        entries[f"{name}-{same + 1}" if same else name] = entry
    return entries


def _learner(value, k: int) -> tuple[str, dict]:
    """The name and the settings of a learner, from what `play` takes."""
    entry = dict(value) if isinstance(value, Mapping) else {"kind": value}
    kind = entry.get("kind")
    if isinstance(kind, type):
        if "<locals>" in kind.__qualname__:
            raise SettingError(f"{kind.__name__} is defined in a function: define it outside")
        name, entry["kind"] = kind.__name__.lower(), f"{kind.__module__}:{kind.__qualname__}"
        return name, ({"k": k} if k else {}) | entry
    kinds = [name for family in FAMILIES for name in families.family(family).learners]
    if kind not in kinds:
        raise unknown("kind of learner", str(kind), dict.fromkeys(kinds))
    declared = learner_settings(kind)
    chosen = GRIDS | ({"k": k} if k else {})
    if entry.get("explore", "greedy") == "greedy":
        del chosen["alphas"]
    if any(isinstance(entry.get(key), list) for key in CHOSEN_FROM):  # one such list is the most
        del chosen["mismatch"]
    return kind, {key: chosen[key] for key in chosen if key in declared} | entry


def _stream(value) -> tuple[str, dict]:
    """The name and the settings of a stream, or of the data set of a file or of arrays."""
    if isinstance(value, Mapping):
        name = value.get("dataset") or value.get("generator") or "stream"
        return re.sub(r"\W", "-", name), dict(value)
    if isinstance(value, tuple):
        return "arrays", _of_arrays(*value)
    if not isinstance(value, (str, Path)):
        raise SettingError(f"a stream is not {value!r}: see the parameter `streams`")
    if Path(value).is_file():
        return re.sub(r"\W", "-", Path(value).stem), _of_file(Path(value).absolute())
    datasets = registry.load()
    if value in datasets:
        made = {"retrieval": {}} if datasets[value].task == "classification" else {}
        return value, {"dataset": value} | made
    if value not in GENERATORS:
        raise unknown("generator, data set or file", str(value), [*GENERATORS, *datasets])
    return value, {"generator": value}


def _of_arrays(features, grades, queries) -> dict:
    """The data set of arrays, whose table stands in the place of a file."""
    features = np.asarray(features)
    if features.ndim != 2 or {np.shape(grades), np.shape(queries)} != {features.shape[:1]}:
        shapes = ", ".join(str(np.shape(array)) for array in (features, grades, queries))
        raise SettingError(f"arrays have the shapes {shapes}; (n, d), (n,) and (n,) are expected")
    columns = {f"f{i + 1}": column for i, column in enumerate(features.T)}
    table = pa.table({"query": queries, "grade": grades, **columns})
    return _dataset("parquet", features.shape[1], table)


def _of_file(path: Path) -> dict:
    """The data set of a file."""
    if path.suffix == ".parquet":
        names = pq.read_schema(path).names
    elif path.suffix == ".csv":
        names = pd.read_csv(path, nrows=0).columns
    else:
        with path.open(encoding="utf-8", errors="replace") as lines:
            features = (re.findall(r"(\d+):", line.partition("#")[0]) for line in lines)
            most = max((int(index) for indices in features for index in indices), default=1)
        return _dataset("letor", most, path)
    features = sum(re.fullmatch(r"f\d+", name) is not None for name in names)
    return _dataset(path.suffix[1:], max(features, 1), path)


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
        if all(kind in families.family(family).learners for kind in kinds):
            return family
    raise SettingError(
        f"{', '.join(kinds)} do not play in one experiment: some need every grade, others those on "
        "top. Play each against listnet"
    )


def _finals(given: dict, folder: Path) -> ranking.Finals:
    """The final measures of a study that is played in a folder."""
    stored = _stored(given, folder)
    plan = Plan(*settings.load(stored))
    settled = Settled(content(stored, plan, {}))
    with chdir(folder), redirect_stdout(io.StringIO()):
        for job, outputs, ids in tqdm(list(_jobs(plan)), desc="scant.play", unit=" jobs"):
            outputs.parent.mkdir(parents=True, exist_ok=True)
            job(settled, [outputs], **ids)
        runs = Runs(NAME, plan.run_files(NAME), plan.details(NAME))
        return ranking.finals(runs)


def _stored(given: dict, folder: Path) -> dict:
    """The settings, with arrays stored in files of a folder."""
    datasets = {}
    for name, entry in given["datasets"].items():
        file = entry["parts"]["all"]["file"]
        if isinstance(file, pa.Table):
            write_parquet(file, file := folder / f"{name}.parquet", {})
        datasets[name] = entry | {"parts": {"all": {"file": str(file)}}}
    return given | {"datasets": datasets}


def _jobs(plan: Plan) -> Iterator[tuple[Callable, Path, dict[str, str]]]:
    """The jobs of a study up to its run files: each function, the file to write and its ids."""
    for table in map(Path, plan.data_tables()):
        ids = {"stored": table.parent.name, "part": table.stem}
        original = Path(ORIGINAL.format(dataset=ids["stored"], part=ids["part"]))
        yield jobs.fetch, original, ids
        yield jobs.convert, table, ids
    for file in map(Path, plan.stream_files()):
        if file.suffix == ".arrow":
            yield jobs.make_stream, file, {"stream": file.stem}
        else:
            yield jobs.simulate, file, {"stream": file.parent.name, "seeds": file.name}
    for path in plan.runs:
        yield jobs.run, Path(RUN.format(study=NAME, run=path)), {"path": path}


def _rows(finals: ranking.Finals, learners: list[str]) -> pd.DataFrame:
    """The rows of a `Leaderboard`, the best mean of each stream first."""
    rows = []
    for stream, values in finals.table.groupby("stream", sort=False):
        by_seed = values.pivot_table("value", "seed", "learner").reindex(columns=learners)
        for learner in by_seed.mean().sort_values(ascending=False).index:
            row = mean_cells(by_seed[learner])
            if learner != learners[0]:
                ahead = judge(by_seed[learners[0]] - by_seed[learner], claimed("greater"), RANGE)
                ends = (ahead.estimate, ahead.low, ahead.high)
                row |= dict(zip(ranking.DIFFERENCE, ends, strict=True))
                row |= {"ahead": ahead.inside, "verdict": ahead.verdict}
            rows.append({"stream": stream, "learner": learner} | row)
    columns = ["stream", "learner", "mean", "low", "high", "n", *ranking.DIFFERENCE]
    board = pd.DataFrame(rows, columns=[*columns, "ahead", "verdict"])
    return board.astype({"ahead": "Int64"})

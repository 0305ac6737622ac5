"""Rehearse the papers' study: stand-ins for its data sets, of any size, in the format of the files
themselves.

    python benchmarks/rehearsal.py FOLDER [--scale 0.01] [--without yandex-imat2009]

FOLDER gets `data/` with the sets that are to be had by hand; `results/data/original` with the
archives of the others, as if they had been downloaded; `config/datasets.yaml`, the registry without
the real files' checksums and counts; and `paper.yaml`, the study: with few rounds, seeds and
learners, what needs data sets; all of it at --scale 1. Then run there what it prints.

The stand-ins have what makes the real files odd: folds that share files, features of very different
sizes, zeros that are left out, grades such as 2.33333, the query in a comment, queries of one
document and without a relevant one, blanks before numbers, labels such as `1.`.
"""

import argparse
import sys
import zipfile
from pathlib import Path

import numpy as np
import yaml

from scant.data import fetch, registry
from scant.schema import PROJECT

VALUES = 256  # different values of a feature
MSLR, YAHOO, YANDEX = "mslr-web10k", "yahoo-c14-set1", "yandex-imat2009"
QUERIES = {MSLR: 10_000, YAHOO: {"train": 19_944, "vali": 2_994, "test": 6_983}, YANDEX: 9_124}
DOCUMENTS = {MSLR: 120, YAHOO: 24, YANDEX: 11}  # of a query, on average
EXAMPLES = {  # of each part of a classification set
    "letter": {"all": 20_000},
    "optdigits": {"train": 3823, "test": 1797},
    "pendigits": {"train": 7494, "test": 3498},
    "isolet": {"isolet1-4": 6238, "isolet5": 1559},
    "movement-libras": {"all": 360},
}
LEAST = 12  # examples of a class
EMPTY = 0.04  # the share of queries without a relevant document
# of a thin study; it plays so many learners an experiment, the first
ROUNDS, SEEDS, LEARNERS = 60, 2, 2
# by a thin study: they need no file, or no other
UNTOUCHED = ("lower-bound", "ads-campaigns", "ads-undersampled")


def vocabulary(random, dataset: str, features: int) -> np.ndarray:
    """The texts `index:value` that each feature may have, features x VALUES; "" for a value that is
    left out.
    """
    texts = np.empty((features, VALUES), object)
    for j in range(features):
        values = np.sort(random.random(VALUES))
        if dataset == MSLR:  # counts, shares and logarithms; zeros are written
            scaled = [10.0 ** (j % 8) * values, values, -40 * values][j % 3]
            written = [
                f"{value:.{0 if j % 3 == 0 else 6}f}"
                for value in np.where(values < 0.35, 0, scaled)
            ]
        else:
            absent = 0.7 if dataset == YAHOO else 0.4
            written = [
                f"{value:.{8 if dataset == YAHOO else 6}f}" if value > absent else ""
                for value in values
            ]
        texts[j] = [value and f"{j + 1}:{value}" for value in written]
    return texts


def write_ranking(
    path: Path, random, dataset: str, queries: int, texts: np.ndarray, first: int
) -> None:
    """Write ranking data whose grades follow the first ten features, with some noise.

    queries : how many; their ids go on from `first`
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    features = len(texts)
    with open(path, "w") as file:
        for query in range(first, first + queries):
            size = 1 if random.random() < 0.01 else 1 + random.poisson(DOCUMENTS[dataset] - 1)
            values = random.integers(0, VALUES, (size, features))
            score = values[:, :10].mean(axis=1) + 20 * random.standard_normal(size)
            grades = np.searchsorted([135, 150, 165, 185], score)
            if random.random() < EMPTY:
                grades[:] = 0
            rows = texts[np.arange(features), values]
            for grade, row in zip(grades.tolist(), rows.tolist(), strict=True):
                words = " ".join(filter(None, row))
                if dataset == YANDEX:
                    printed = (
                        {1: "0.75", 2: "1.5", 3: "2.33333"}.get(grade, grade)
                        if query % 3
                        else grade
                    )
                    file.write(f"{printed} {words} # {query}\n")
                else:
                    file.write(f"{grade} qid:{query} {words}{' ' * (dataset == MSLR)}\n")


def write_mslr(folder: Path, random, scale: float, texts: np.ndarray) -> None:
    """Write the five folds: fold i learns on three of five subsets, beginning with the i-th, and
    tests on the last.
    """
    size = max(round(QUERIES[MSLR] * scale / 5), 4)
    subsets = [folder / f".subset-{number}" for number in range(5)]
    for number, path in enumerate(subsets):
        write_ranking(path, random, MSLR, size, texts, 1 + number * size)
    for fold in range(5):
        for part, offsets in {"train": (0, 1, 2), "vali": (3,), "test": (4,)}.items():
            path = folder / f"Fold{fold + 1}/{part}.txt"
            path.parent.mkdir(exist_ok=True)
            with open(path, "wb") as file:
                for offset in offsets:
                    with open(subsets[(fold + offset) % 5], "rb") as subset:
                        while block := subset.read(1 << 24):
                            file.write(block)
    for path in subsets:
        path.unlink()


def write_examples(dataset: registry.Dataset, random, scale: float, folder: Path) -> None:
    """Write the archive of a classification set where `scant fetch` keeps what it has
    downloaded.
    """
    classes, folder = dataset.classes, folder / "results/data/original" / dataset.id
    folder.mkdir(parents=True, exist_ok=True)
    centres = random.random((len(classes), dataset.features))
    with zipfile.ZipFile(folder / fetch.cache_name(dataset), "w", zipfile.ZIP_DEFLATED) as archive:
        for part, whole in EXAMPLES[dataset.id].items():
            labels = random.permutation(max(round(whole * scale), LEAST * len(classes))) % len(
                classes
            )
            x = np.clip(
                centres[labels] + 0.2 * random.standard_normal((len(labels), dataset.features)),
                0,
                1,
            )
            lines = [
                _line(dataset, row, classes[label]) for row, label in zip(x, labels, strict=True)
            ]
            archive.writestr(dataset.archive.members + dataset.part(part).file, "".join(lines))


def _line(dataset: registry.Dataset, row: np.ndarray, label: str) -> str:
    match dataset.id:
        case "isolet":
            return ", ".join(f"{2 * value - 1:.4f}" for value in row) + f", {label}.\n"
        case "movement-libras":
            return ",".join(f"{value:.5f}" for value in row) + f",{label}\n"
        case "pendigits":
            return ",".join(f"{round(100 * value):3}" for value in row) + f", {label}\n"
    numbers = [str(round(16 * value)) for value in row]
    return ",".join([label, *numbers] if dataset.id == "letter" else [*numbers, label]) + "\n"


def write_registry(folder: Path) -> dict[str, registry.Dataset]:
    """Write the registry for the stand-ins, and return its data sets."""
    entries = yaml.safe_load((PROJECT / "config/datasets.yaml").read_text())
    for entry in entries.values():
        for checked in (*entry["parts"].values(), entry.get("archive", {})):
            for key in {"sha256", "git_blob", "rows", "queries"} & checked.keys():
                checked[key] = None
        entry["parts"] = {
            part: {key: value for key, value in settings.items() if value is not None}
            | {"sha256": None}
            for part, settings in entry["parts"].items()
        }
    path = folder / "config/datasets.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(entries, sort_keys=False))
    return registry.load(path)


def write_study(folder: Path, thin: bool) -> None:
    """Write the papers' study; a thin one plays few rounds, seeds and learners, and only what needs
    data sets.
    """
    study = yaml.safe_load((PROJECT / "config/studies/paper.yaml").read_text())
    if thin:
        for name in [*study["experiments"]]:
            experiment = study["experiments"][name]
            if experiment.get("kind") == "fixed-items" or name in UNTOUCHED:
                del study["experiments"][name]
            elif experiment.get("kind") == "ads":
                experiment |= {"seeds": 1, "learners": ["forest"]}
            else:
                experiment |= {
                    "seeds": SEEDS,
                    "rounds": ROUNDS,
                    "learners": experiment["learners"][:LEARNERS],
                }
                experiment |= {"tuning_seeds": 1} if experiment.get("tuning_seeds") else {}
    (folder / "paper.yaml").write_text(yaml.safe_dump(study, sort_keys=False))


def make(folder, scale: float, without=(), seed: int = 0) -> None:
    """Write the stand-ins, their registry and the study to a folder.

    scale : the share of the real sets' queries and examples; below 1 the study is thin
    without : the ranking sets that are to be missing
    """
    folder, datasets = Path(folder), write_registry(Path(folder))
    for name in (MSLR, YAHOO, YANDEX):
        if name in without:
            continue
        random, place = np.random.default_rng([seed, len(name)]), folder / "data" / name
        place.mkdir(parents=True, exist_ok=True)
        texts = vocabulary(random, name, datasets[name].features)
        if name == MSLR:
            write_mslr(place, random, scale, texts)
            continue
        parts, first = QUERIES[name] if name == YAHOO else {"train": QUERIES[name]}, 1
        for part, whole in parts.items():
            queries = max(round(whole * scale), 4)
            write_ranking(
                place / datasets[name].part(part).file, random, name, queries, texts, first
            )
            first += queries
    for name in EXAMPLES:
        write_examples(datasets[name], np.random.default_rng([seed, len(name), 1]), scale, folder)
    write_study(folder, thin=scale < 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--without", nargs="*", default=[], choices=[MSLR, YAHOO, YANDEX])
    arguments = parser.parse_args()
    make(arguments.folder, arguments.scale, arguments.without)
    snakemake = f"{sys.executable} -m snakemake --snakefile {PROJECT / 'Snakefile'}"
    print(f"cd {arguments.folder} && {snakemake} --configfile paper.yaml --cores 2")

"""What a study amounts to: its jobs, and the files that they read and write. No other module composes a path."""

ORIGINAL = "results/data/original/{dataset}/{part}.txt"
TABLE = "results/data/tables/{dataset}/{part}.parquet"
STREAM = "results/{study}/streams/{stream}.arrow"  # of a data set
DRAW = "results/{study}/streams/{stream}/seed-{seed}.arrow"
CAMPAIGN = "results/{study}/campaigns/{stream}.json"
BANDIT = "results/{study}/bandit/{stream}/seed-{seed}/{part}.parquet"
RUN = "results/{study}/runs/{run}.parquet"
COMPARATOR = "results/{study}/comparators/{experiment}/{stream}/{judge}/seed-{seeds}.parquet"
TRACES = "results/{study}/traces/{experiment}.parquet"
TIMES = "results/{study}/times/{experiment}.parquet"
COVERAGE = "results/{study}/coverage.parquet"


def untitled(settings: dict, *more: str) -> dict:
    """Settings without their title (and more), so that a new title changes no result."""
    return {key: value for key, value in settings.items() if key not in ("title", *more)}


def span(seeds: list[int]) -> str:
    """The seeds of a job as in its file's name: "3", or "0-4"."""
    return "-".join(str(seed) for seed in dict.fromkeys((seeds[0], seeds[-1])))


def spanned(text: str) -> list[int]:
    """The seeds that such a name stands for."""
    return list(range(int(text.split("-")[0]), int(text.split("-")[-1]) + 1))


def batches(seeds: int, size: int) -> list[list[int]]:
    """Seeds 0 to `seeds`, in batches whose first is a multiple of `size`: further seeds leave full batches as they are."""
    return [list(range(first, min(first + size, seeds))) for first in range(0, seeds, size)]


def tables_of(datasets, dataset: str, parts=None) -> list[str]:
    """The parquet tables of a data set's parts, by default those that hold each query or row once."""
    return [TABLE.format(dataset=dataset, part=part) for part in parts or datasets[dataset].cover]

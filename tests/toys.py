"""Toy studies, settled as in the workflow, and their jobs, done by its rules' commands."""

import pandas as pd

from scant.cli import main
from scant.declare import families
from scant.study import settings
from scant.study.plan import Plan
from scant.study.settled import Settled
from scant.verdict import tables
from scant.verdict.readings import COLUMNS

SHOWN = {shown.name: shown for _, shown in families.shown()}  # all figures and tables
SETTLED = "settled.json"
# of what a page shows besides results
LISTS = ("studied", "left_out", "sources", "datasets", "timings")
MAPPINGS = ("captions", "headings", "titles", "experiments", "compared", "links", "boards")
MAPPINGS += ("shows", "environment", "commands")
EMPTY = {name: [] for name in LISTS} | {name: {} for name in MAPPINGS} | {"citation": ""}
MADE = {  # below the results of the study, by rule: the first file, or the folder, of the ids
    "make_stream": "streams/{}.arrow", "simulate": "streams/{}", "campaign": "campaigns/{}.json",
    "make_log": "bandit/{}", "make_click_log": "clicks/{}", "run": "runs/{}.parquet",
    "best_weights": "comparators/{}.parquet",
    "coverage": "coverage.parquet", "show": "tables/{}.csv",
    "judge": "verdicts/{}.json",
}  # fmt: skip


def settle(config: dict, file=SETTLED) -> Settled:
    """The settled study of the content of a study file, which is written, too."""
    return settings.settle(config, (), file)[0]


def command(rule: str, *ids: str, output=None, study=SETTLED) -> list[str]:
    """The arguments of a job of the study `s`; `output` is its first file if it is elsewhere."""
    target = output or "results/s/" + MADE[rule].format("/".join(ids))
    ids = ["/".join(ids)] if rule in ("run", "best_weights") else ids
    return ["job", rule, *ids, "--study", str(study), "--output", str(target)]


def play(plan: Plan) -> None:
    """Draw all streams and logs, and make all run files and files of best fixed weights."""
    drawn = [
        (*place.split("/")[-2:], seeds) for place, spans in plan.draws.items() for seeds in spans
    ]
    jobs = [("campaign", log) for kind, log, _ in drawn if kind == "bandit"]
    jobs += [
        ("simulate" if kind == "streams" else "make_log", name, seeds)
        for kind, name, seeds in drawn
    ]
    jobs += [("run", *path.split("/")) for path in plan.runs]
    jobs += [("best_weights", *path.split("/")) for path in plan.compared]
    for job in dict.fromkeys(jobs):
        assert main(command(*job)) == 0


def claims_table(examined, study: dict) -> pd.DataFrame:
    """The claims that were examined as a frame."""
    return pd.DataFrame(tables.claim_rows(examined, study), columns=COLUMNS)


def cells_table(examined) -> pd.DataFrame:
    """The cells of the claims that were examined as a frame."""
    return tables.cells_frame(tables.cell_rows(examined))

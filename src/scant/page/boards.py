"""Who is best on which stream: final measures as the page, the terminal and a paper show them, in
the same texts.
"""

import json
import math
from collections.abc import Iterable, Iterator

import pandas as pd

from scant.files import write_text
from scant.page.numbers import ABSENT
from scant.present import ranking
from scant.present.rounding import rounded
from scant.study.plan import Runs

FIGURES = 4  # at most, of the largest number of a column
DECIMALS = 6  # at most, of differences
DIFFERENCES = f"Differences are to the best, {ranking.HOW}."


def boards(experiments: Iterable[Runs]) -> dict[str, list[dict]]:
    """By experiment's id, its tables from its run files: a `board` for each measure.

    An experiment of one learner or one seed has none, nor one whose learners have no final measure
    in common.
    """
    by_experiment = {}
    for runs in experiments:
        for finals in ranking.by_measure(runs):
            if _several(finals.table, "seed", "learner"):
                of_experiment = by_experiment.setdefault(runs.experiment, [])
                of_experiment.append(_of_page(finals, runs.experiment))
    return by_experiment


def save(experiments: Iterable[Runs], target) -> None:
    """Write the tables of experiments, see `boards`."""
    text = json.dumps(boards(experiments), default=lambda number: number.item())
    write_text(target, text + "\n")


def _several(table: pd.DataFrame, *columns: str) -> bool:
    """Whether each of the columns has more than one value."""
    return all(len(set(table[column])) > 1 for column in columns)


def _of_page(finals: ranking.Finals, experiment: str) -> dict:
    """An experiment's `board` with `kind` and `title`; the caption explains differences."""
    frame = ranking.titled(ranking.ranked(finals.table, finals.quantity.better), finals, experiment)
    texts = board(frame)
    return texts | {
        "caption": f"{texts['caption']} {DIFFERENCES}",
        "kind": finals.details["kind"],
        "title": finals.details["title"],
    }


def board(frame: pd.DataFrame) -> dict:
    """The texts of a table, whoever shows it.

    frame : see `scant.present.ranking.leaderboard`

    Returns
    -------
    board : its `caption`, `experiment` and `measure`, the `label` that LaTeX refers to it by, the
        titles of its `streams`, who is `best` on each; `feedback`, whether learners see different
        things; and `rows` for learners, in the frame's order: `learner`, `feedback`, `mean_rank`
        and, for each stream, a cell or None. A cell has texts, with the decimals of its stream:
        `mean` and `interval`; `difference` to the best, and `apart`, the interval of that
        difference; `near`, the difference where the mean prints as the best's does. `value`,
        `rank`, `best` and `told_apart` are the frame's
    """
    first, streams = frame.iloc[0], dict(zip(frame["stream"], frame["stream_title"], strict=True))
    columns = [dict(_cells(frame[frame["stream"] == id])) for id in streams]
    rows = [
        {
            "learner": row.learner_title,
            "feedback": row.feedback,
            "mean_rank": ABSENT if math.isnan(row.mean_rank) else f"{row.mean_rank:.3g}",
            "cells": [cells.get(row.learner) for cells in columns],
        }
        for row in frame.drop_duplicates("learner").itertuples()
    ]
    return {
        "caption": caption(frame),
        "experiment": first["experiment"],
        "measure": first["in_words"],
        "label": f"tab:{first['experiment']}-{first['measure']}",
        "rows": rows,
        "streams": list(streams.values()),
        "feedback": _several(frame, "feedback"),
        "best": [
            next(row["learner"] for row in rows if (row["cells"][place] or {}).get("best"))
            for place in range(len(streams))
        ],
    }


def caption(frame: pd.DataFrame) -> str:
    """What a table shows: the measure, which values are better, seeds, and how rates are chosen."""
    row, n = frame.iloc[0], frame["n"]
    seeds = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
    tuned = f", tuning {row['tuning']}" if row["tuning"] else ""
    measure, better = row["in_words"], "higher" if row["better"] == "high" else "lower"
    return (
        f"{measure[:1].upper()}{measure[1:]}, {better} is better: means over {seeds} seeds with "
        f"95 % t intervals{tuned}."
    )


def _cells(rows: pd.DataFrame) -> Iterator[tuple[str, dict]]:
    """The learners of a stream, each with its cell of `board`."""
    places = _decimals(rows["mean"], rows["high"] - rows["low"])
    width = rows["difference_high"] - rows["difference_low"]
    closer = max(places, _decimals(rows["difference"], width))
    best = _number(rows["mean"][rows["best"]].iloc[0], places)
    near = rows["difference"][[_number(mean, places) == best for mean in rows["mean"]]].abs()
    if len(near := near[near > ranking.ROUNDING]):  # which differences are to tell apart
        closer = max(closer, min(DECIMALS, -math.floor(math.log10(near.min()))))
    for row in rows.to_dict("records"):
        mean, difference = _number(row["mean"], places), _number(row["difference"], closer, "+")
        yield row["learner"], {
            "mean": mean, "interval": _interval(row["low"], row["high"], places),
            "difference": "" if row["best"] else difference, "value": row["mean"],
            "apart": _interval(row["difference_low"], row["difference_high"], closer, "+"),
            "near": difference if mean == best and not row["best"] else "",
            "rank": row["rank"], "best": row["best"], "told_apart": row["told_apart"],
        }  # fmt: skip


def _decimals(values: pd.Series, widths: pd.Series) -> int:
    """How many decimals a column's numbers have: they show half of the least of `widths`, of the
    intervals, with one figure; the largest value has FIGURES at most, and without intervals.
    """
    most = FIGURES - 1 - math.floor(math.log10(values.abs().max() or 1.0))
    positive = widths[widths > ranking.ROUNDING]
    return max(0, min(most, -math.floor(math.log10(positive.min() / 2))) if len(positive) else most)


def _number(value: float, decimals: int, sign: str = "") -> str:
    return ABSENT if math.isnan(value) else f"{value:{sign},.{decimals}f}"


def _interval(low: float, high: float, decimals: int, sign: str = "") -> str:
    """The ends in brackets, rounded outwards; "" without an interval."""
    if math.isnan(low):
        return ""
    spec = f"{sign},.{decimals}f"
    return f"[{rounded(low, spec, 'low')}, {rounded(high, spec, 'high')}]"


def grid(board: dict, cell, rank: bool = False, name=str) -> list[list[str]]:
    """A board as rows of text, the head first: learner, feedback where it differs, and a column for
    each stream.

    With one stream the differences to the best learner have a column of their own; with several,
    they stand only in cells whose mean prints as the best's does.

    cell, name : functions that turn a cell of `board`, and a title, into text
    rank : whether to add the mean rank over the streams that every learner played
    """
    alone, sees = len(board["streams"]) == 1, board["feedback"]
    head = ["learner", *(["feedback"] if sees else []), *board["streams"]]
    head += [f"minus {board['best'][0]}"] if alone else []
    lines = [list(map(name, head + (["mean rank"] if rank else [])))]
    for row in board["rows"]:
        cells = [item and (item | {"near": ""} if alone else item) for item in row["cells"]]
        line = [name(row["learner"]), *([name(row["feedback"])] if sees else [])]
        line += [name(ABSENT) if item is None else cell(item) for item in cells]
        line += [
            " ".join(filter(None, (item["difference"], item["apart"]))) for item in cells if alone
        ]
        lines.append(line + ([name(row["mean_rank"])] if rank else []))
    return lines

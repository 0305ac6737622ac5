"""The page of a study: one HTML file with its claims, figures, tables and settings, which loads no
other file.
"""

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from itertools import chain
from operator import itemgetter
from pathlib import Path
from statistics import median_low
from urllib.parse import quote

from scant.declare import families
from scant.files import number, read_cells, visible, write_text
from scant.page import templates
from scant.page.inline import inline, size
from scant.page.numbers import (
    ABSENT,
    in_words,
    interval,
    measured,
    of_bound,
    percent,
    shown,
    spread,
)
from scant.page.story import beside, resting, story, tightness
from scant.page.templates import asset
from scant.present.tables import check as check_table
from scant.verdict import words
from scant.verdict.readings import Cell, Claim, titled

VERDICTS = dict(zip(words.VERDICTS, "✓✗±?≈∅" + ABSENT, strict=True))  # in the order that sorts them
MANY = 8  # columns; in a table of more, those that are the same in every row are told beside it
LISTED = 3  # titles in the name of a board
FEW = 12  # cells; a claim of no more has them unfolded
ROWS = 200  # a table of more is not on the page, but in its file


def make(
    study_settings: dict,
    folder,
    target,
    claims: list[Claim],
    about: dict,
    cells: Iterable[Cell] = (),
) -> None:
    """Write the page of a study to `target`.

    Parameters
    ----------
    study_settings : the study's settings; `study` is its name
    folder : the study's results, with figures/*.svg, figures/*.csv and tables/*.csv, which the page
        links to
    claims : see `scant.verdict.readings.claims`; none if the study tests none
    cells : see `scant.verdict.readings.cells`; those of each claim's first reading are shown
    about : further contents, see `scant.page.about.facts`

    Raises
    ------
    DataError : a figure or table cannot be read
    """
    folder, boards = Path(folder), about["boards"]
    cells_by_claim = _cells_by_claim(cells, about["titles"], about["experiments"])
    claims = [_claim(row, cells_by_claim.get(row["id"], []), about) for row in claims]
    figures = _figures(_ordered(folder / "figures", "svg", about), claims, about)
    boards_by_figure = {
        name: [boards[id][0] for id in ids if id in boards] for name, ids in about["shows"].items()
    }
    by_name = {figure["name"]: figure for figure in figures}
    parts = about | {
        "study": str(study_settings["study"]),
        "questions": story(families.questions(), claims, by_name, boards_by_figure),
        "headline": headline(claims, about),
        "wide": families.HEADLINE,
        "claims": claims,
        "parts": _parts(claims),
        "meanings": words.MEANINGS,
        "verdicts": VERDICTS,
        "kinds": _kinds(claims),
        "few": FEW,
        "families": _families(claims),
        "claims_files": [_download(path, folder) for path in sorted(folder.glob("claims*.csv"))],
        "sentences": _rest(claims) if claims else sentences(claims),
        "figures": figures,
        "boards": _named(boards),
        "tables": [_table(path, about) for path in _ordered(folder / "tables", "csv", about)],
        "datasets": _rows(about["datasets"]),
        "settings": _yaml(study_settings),
        "timings": _rows(about["timings"]),
    }
    write_text(target, render(parts))


def sentences(claims: list[Claim]) -> list[str]:
    """Sentences that summarise claims: of each kind of row, what the papers measured first, how
    many have each verdict; then what the verdicts rest on.
    """
    if not claims:
        return [
            "This study tests no claim.",
            "Its figures and tables are below.",
            "What they show is as measured.",
        ]
    heads = {
        "reproduction": ("statement that a paper measured", "statements that the papers measured"),
        "extension": ("extension to other data", "extensions to other data"),
        "theorem": ("theorem check", "theorem checks"),
        "question": ("question of our own", "questions of our own"),
    }
    texts = []
    for row, head in heads.items():
        of_kind = [claim for claim in claims if claim["row"] == row]
        if of_kind:
            texts.append(f"Of {words.counted(len(of_kind), *head)}, {_counted(row, of_kind)}.")
        elif row == "reproduction":
            texts.append("No claim is about what a paper measured on data like its own.")
    return texts + _rest(claims)


def _rest(claims: list[Claim]) -> list[str]:
    """The sentences on what verdicts rest on."""
    return [f"{sentence}." for sentence in (_robustness(claims), resting(claims)) if sentence]


def headline(claims: list[dict], about: dict) -> str:
    """What the study is, by whom and of when, in a sentence."""
    studied, environment = about["studied"], about["environment"]
    seeds = [int(number) for row in studied for number in re.findall(r"\d+", row["seeds"])]
    kinds = words.counted(len(studied), "family", "families")
    parts = [f"{kinds} of learners on {spread(seeds)} seeds"] if seeds else []
    for how, of in words.by_test(claims).items():
        number = words.counted(len(of), "claim", "claims")
        parts.append(f"{number} {how} ({words.outcomes(of)})")
    text = "How well rankers learn from scant feedback"
    text += f": {'; '.join(parts)}" if parts else ""
    if "made" in environment:
        day = date.fromisoformat(environment["made"][:10])
        text += f", made with scant {environment['scant']} by {about['authors']} on {day.day} "
        text += f"{day:%B %Y}"
    return f"{text}."


def _parts(claims: list[dict]) -> list[dict]:
    """The page's three parts, with `title` and `claims`: what fails and what is open; what holds;
    what is not testable here.
    """
    held, absent, others = [], [], []
    for claim in sorted(claims, key=itemgetter("rank")):
        {"holds": held, words.UNTESTABLE: absent}.get(claim["verdict"], others).append(claim)
    parts = {
        "What fails and what is open": others,
        words.counted(len(held), "holds", "hold"): held,
        f"{len(absent)} {words.UNTESTABLE}": absent,
    }
    return [{"title": title, "claims": of} for title, of in parts.items()]


def _named(boards: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Boards with `name`: their experiment's title, and streams, learners and the id as far as it
    takes them to tell experiments of a kind apart.
    """
    firsts = {id: of[0] for id, of in boards.items()}
    names = {id: first["title"] for id, first in firsts.items()}
    learners = {id: [row["learner"] for row in first["rows"]] for id, first in firsts.items()}
    further = (
        {id: f", on {_listed(first['streams'])}" for id, first in firsts.items()},
        {id: f": {_listed(titles)}" for id, titles in learners.items()},
        {id: f" ({id})" for id in boards},
    )
    for texts in further:
        shared = Counter((firsts[id]["kind"], name) for id, name in names.items())
        for id, name in names.items():
            names[id] += texts[id] if shared[firsts[id]["kind"], name] > 1 else ""
    return {id: [one | {"name": names[id]} for one in of] for id, of in boards.items()}


def _listed(titles: list[str]) -> str:
    """Titles joined by semicolons; of many, the first `LISTED` and "3 more"."""
    more = [f"{len(titles) - LISTED} more"] if len(titles) > LISTED + 1 else titles[LISTED:]
    return "; ".join([*titles[:LISTED], *more])


def _counted(row: str, claims: list[dict]) -> str:
    """How many claims of a kind of row have each verdict: "2 reproduce, 1 is undecided"; and how
    tight theorems' bounds are.
    """
    tested, texts = words.by_test(claims), []
    for how, of in tested.items():
        head = f"{words.counted(len(of), 'is', 'are')} {how}: " if len(tested) > 1 else ""
        texts.append(head + words.outcomes(of, row))
    if absent := len(claims) - sum(map(len, tested.values())):
        texts.append(f"{absent} could not be tested here")
    return "; ".join(filter(None, [*texts, tightness(claims)]))


def _robustness(claims: list[dict]) -> str:
    """How many of the claims that hold do so under every reading, and how many seeds would decide
    half of the undecided: a sentence.
    """
    holds = [claim for claim in claims if claim["verdict"] == "holds"]
    firm = sum(claim["readings_holding"] == claim["readings_total"] for claim in holds)
    text, do = "No claim holds", words.counted(firm, "does", "do")
    if holds:
        text = f"Of the {len(holds)} claims that hold, {do} under every reading, each way of doing "
        text += "what a paper leaves open"
    seeds = [claim["needed"] for claim in claims if claim["verdict"] == "undecided"]
    half = median_low([needed if _known(needed) else math.inf for needed in seeds] or [math.inf])
    if half < math.inf:
        text += f"; {half:g} seeds or fewer would decide half of those that are undecided"
    return text


def _known(value) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def _claim(row: Claim, cells: list[dict], about: dict) -> dict:
    """A claim as the page's template takes it; `cells` are those of its first reading."""
    compared = about["compared"].get(row["id"], "")
    quantity, decides = row["quantity"], row["deciding"]
    pair = decides if " minus " in decides else compared
    write = percent if of_bound(quantity) else shown
    brief = told = ABSENT
    if row["estimate"] is not None:
        brief, told = measured([row | {"low": None}], quantity), measured([row], quantity, pair)
        told += f", {decides}" if decides and pair != decides else ""
    claimed = {words.claimed(cell["from"], cell["to"], write) for cell in cells}
    return row | {
        "compared": compared,
        "url": about["links"].get(row["id"], ""),
        "place": row["source"].partition(", ")[2] or row["source"],
        "measured": brief,
        "told": told,
        "measures": quantity,
        "quantity": in_words(quantity),
        "rank": list(VERDICTS).index(row["verdict"]),
        "anchor": slug(f"claim-{row['id']}"),
        "kind": words.kind(row["row"]),
        "said": words.said(row["row"], row["verdict"]),
        "control_said": words.said(row["row"], row["control_verdict"]),
        "beside": beside(row),
        "claimed": claimed.pop() if len(claimed) == 1 else "",
        "cells": _placed(cells, write),
    }


def _cells_by_claim(cells, titles: dict, experiments: dict) -> dict[str, list[dict]]:
    """The cells of each claim's first reading, with titles for ids, and None in place of numbers
    that are not known.

    Where a claim compares the same pair on the same stream in several experiments, the stream's
    title names each.
    """
    by_claim = {}
    for cell in cells:
        if cell["first"]:
            cell = cell | {"said": words.said(cell["row"], cell["verdict"])}
            for name in ("estimate", "low", "high"):
                cell[name] = cell[name] if _known(cell[name]) else None
            for name in ("stream", "learner", "against"):
                cell[name] = titled(cell[name], titles.get(cell["experiment"], {}))
            by_claim.setdefault(cell["claim"], []).append(cell)
    for of_claim in by_claim.values():
        pairs = Counter((cell["stream"], cell["learner"], cell["against"]) for cell in of_claim)
        if len({cell["experiment"] for cell in of_claim}) > 1 and max(pairs.values()) > 1:
            for cell in of_claim:
                cell["stream"] += f" ({experiments.get(cell['experiment'], cell['experiment'])})"
    return by_claim


def _placed(cells: list[dict], write) -> list[dict]:
    """The cells of a claim with `place`: where to draw `estimate`, `low`, `high` and the claimed
    interval (`from`, `to`), in percent of their common scale; None without an estimate. And with
    the texts `measured`, `interval`, `claimed` and, of the worst seed, `last`.

    write : turns a number into text
    """
    names = ("estimate", "low", "high", "from", "to")
    values = [cell[name] for cell in cells for name in names if _known(cell[name])] or [0.0]
    width = (max(values) - min(values)) or 1.0
    start, width = min(values) - 0.08 * width, 1.16 * width
    placed = []
    for cell in cells:
        places = {
            name: round(100 * (cell[name] - start) / width, 1)
            for name in names
            if _known(cell[name])
        }
        texts = {
            "claimed": words.claimed(cell["from"], cell["to"], write),
            "interval": interval(cell["low"], cell["high"], write),
            "place": {"from": 0.0, "to": 100.0} | places if "estimate" in places else None,
        }
        for name, of in {"measured": "estimate", "last": "worst"}.items():
            texts[name] = ABSENT if cell[of] is None else write(cell[of])
        placed.append(cell | texts)
    return placed


def _kinds(claims: list[dict]) -> list[dict]:
    """For each kind of row that claims are of: its names (`name`, `several`), what it is (`about`),
    and how many have each verdict (`counts`).
    """
    kinds = []
    for row, (several, about) in words.ROWS.items():
        if counts := Counter(claim["verdict"] for claim in claims if claim["row"] == row):
            kinds.append(
                {"name": words.kind(row), "several": several, "about": about, "counts": counts}
            )
    return kinds


def _families(claims: list[dict]) -> list[dict]:
    """How many claims of each family and kind of row there are, in all and with each verdict.

    Families are in the order of the claims, each with its kinds in the order of `words.ROWS`.
    """
    by_family = {}
    for claim in claims:
        by_kind = by_family.setdefault(claim["family"], {row: Counter() for row in words.ROWS})
        by_kind[claim["row"]][claim["verdict"]] += 1
    return [
        {"family": name, "kind": words.kind(row), "claims": counts.total(), "counts": counts}
        for name, by_kind in by_family.items()
        for row, counts in by_kind.items()
        if counts
    ]


def slug(name: str) -> str:
    """A name as an id: characters other than letters, digits, underscores, dots and hyphens become
    hyphens.
    """
    return re.sub(r"[^\w.-]+", "-", str(name))


def headed(name: str, about: dict) -> dict[str, str]:
    """The `title` and `caption` of a figure or table: "table-5.1" without a heading is "Table
    5.1".
    """
    made = name[:1].upper() + name[1:].replace("-", " ")
    caption = about["captions"].get(name, "").strip()
    return {"title": about["headings"].get(name, made), "caption": caption}


def _ordered(folder: Path, ending: str, about: dict) -> list[Path]:
    """The study's files in a folder: files with captions in the captions' order, then the others by
    name.
    """
    paths = visible(folder, f"*.{ending}")
    if "files" in about:  # those that the study asks for, without which all count
        paths = [path for path in paths if path.stem in about["files"]]
    order = {name: place for place, name in enumerate(about["captions"])}
    return sorted(paths, key=lambda path: (order.get(path.stem, len(order)), path.name))


def _figures(paths: list[Path], claims: list[dict], about: dict) -> list[dict]:
    """Each figure's SVG, caption, data and claims, for the template.

    Claims are given `href`, the id of their figure; None without one.
    """
    from markupsafe import Markup

    figures, ids = [], {path.stem: slug(path.stem) for path in paths}
    for claim in claims:
        claim["href"] = ids.get(claim["figure"] or "")
    for place, path in enumerate(paths, 1):
        svg, curves = inline(path, f"f{place}-")
        # questions show it, too
        svg = svg.replace("<svg ", f'<svg id="{ids[path.stem]}-drawn" ', 1)
        width, height = size(svg)
        data = path.with_suffix(".csv")
        figures.append(
            {
                "name": path.stem,
                "id": ids[path.stem],
                **headed(path.stem, about),
                "svg": Markup(svg),
                "curves": curves,
                "width": width,
                "height": height,
                "csv": "",
                **(_download(data, path.parents[1]) if data.is_file() else {}),
                "images": _images(path),
                "claims": [one for one in claims if path.stem == one["figure"]],
            }
        )
    return figures


def _images(path: Path) -> list[dict[str, str]]:
    """The image files of a figure, which are beside the page: the name of each format, and its
    relative address.
    """
    files = [path.with_suffix(ending) for ending in (".svg", ".pdf", ".png")]
    return [
        {"name": file.suffix[1:].upper(), "href": quote(f"figures/{file.name}")}
        for file in files
        if file.is_file()
    ]


def _download(path: Path, folder: Path) -> dict[str, str]:
    """A CSV file beside the page, for the template: its relative address, and its name."""
    return {"csv": quote(path.relative_to(folder).as_posix()), "file": path.name}


def _table(path: Path, about: dict) -> dict:
    """A table's cells, caption and data, for the template.

    DataError if it is damaged, or its rows differ in length.
    """
    check_table(path)
    head, rows = read_cells(path)
    count = len(rows)
    rows = rows if count <= ROWS else []
    return {
        "id": slug(f"table-{path.stem.removeprefix('table-')}"),
        **headed(path.stem, about),
        "count": count,
        **_download(path, path.parents[1]),
        **_cells(*_folded(head, rows)),
        "same": _same(head, rows),
    }


def _same(head: list[str], rows: list[list[str]]) -> dict[str, str]:
    """The columns of a large table that have one value in all rows, value by name; of a small
    table, no columns.
    """
    if len(head) <= MANY or len(rows) < 2:
        return {}
    columns = zip(head, zip(*rows, strict=True), strict=True)
    return {name: values[0] for name, values in columns if len({*values}) == 1}


def _folded(
    head: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]], dict[int, tuple[int, int]]]:
    """A table without the columns of `_same`, and with the ends of intervals behind all others.

    Returns
    -------
    head : the names of the columns to show
    rows : cells of these columns, then of the ends of intervals
    ends : by the position of a column x, the positions in `rows` of `x_low` and `x_high` (of a mean
        or estimate also `low` and `high`)
    """
    same, position, ends = _same(head, rows), {name: i for i, name in enumerate(head)}, {}
    for name in head:
        pairs = [(f"{name}_low", f"{name}_high")]
        if name in ("mean", "estimate"):
            pairs.append(("low", "high"))
        for pair in pairs:
            if position.keys() >= {*pair}:
                ends[name] = pair
    hidden = {*chain.from_iterable(ends.values()), *same}
    kept = [name for name in head if name not in hidden]
    order = kept + [end for name in kept for end in ends.get(name, ())]
    rows = [[row[position[name]] for name in order] for row in rows]
    return (
        kept,
        rows,
        {i: tuple(map(order.index, ends[name])) for i, name in enumerate(kept) if name in ends},
    )


def _rows(rows: list[dict]) -> dict:
    """Rows as a table's cells, for the template; the columns are all keys that any row has."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    texts = [["" if row.get(name) is None else str(row[name]) for name in head] for row in rows]
    return _cells(head, texts, {})


def _cells(head: list[str], rows: list[list[str]], ends: dict[int, tuple[int, int]]) -> dict:
    """A table for the template: `columns`, each a name and whether all its cells are numbers;
    `rows` of cells, each as shown and in full. Arguments as `_folded` returns them.
    """
    columns = zip(*rows, strict=True)
    numeric = [
        any(cells) and all(number(cell) is not None for cell in cells if cell) for cells in columns
    ]
    numeric = (numeric or [False] * len(head))[: len(head)]

    def cell(row: list[str], column: int) -> tuple[str, str]:
        text = shown(row[column], head[column]) if numeric[column] else row[column]
        low, high = (row[end] for end in ends.get(column, (column, column)))
        return f"{text} {interval(low, high)}".rstrip(), row[column]

    return {
        "columns": list(zip(head, numeric, strict=True)),
        "rows": [[cell(row, column) for column in range(len(numeric))] for row in rows],
    }


def _yaml(settings: dict) -> str:
    import yaml

    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100)


def render(parts: dict) -> str:
    """The HTML of a page. Its security policy allows its script (by hash) and inline styles, and
    loads nothing.

    parts : the variables of the template, assets/page.html
    """
    from markupsafe import Markup

    style, script = map(asset, ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = {"style": Markup(style), "script": Markup(script), "digest": digest, "words": words}
    used = {"interval": interval, "shown": shown, "known": _known}
    return templates.render("page.html", **parts, **own, **used) + "\n"

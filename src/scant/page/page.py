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
from importlib import resources
from pathlib import Path
from statistics import median_low
from urllib.parse import quote

from scant.declare import families
from scant.errors import SettingError
from scant.files import read_cells, visible, write_text
from scant.page.inline import inline, size
from scant.page.numbers import (
    ABSENT,
    in_words,
    interval,
    measured,
    of_bound,
    padded,
    percent,
    shown,
    spread,
)
from scant.page.story import beside, resting, story
from scant.present.tables import check as check_table
from scant.verdict import words
from scant.verdict.readings import Cell, Claim, titled

VERDICTS = dict(zip(words.VERDICTS, "✓✗±?≈∅" + ABSENT, strict=True))  # in the order that sorts them
MANY = 8  # columns; in a table of more, those that are the same in every row are told beside it
FEW = 12  # cells; a claim of no more has them unfolded
ROWS = 200  # a table of more is not on the page, but in its file
LIMIT = 5_000_000  # bytes


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
    about : further contents, all optional: `files` (the names of the study's figures and tables; by
        default all that the folder has), `captions` ({figure or table: text}, in the order they are
        shown in), `studied` and `sources` (see `scant.page.about`), `left_out` (see
        `scant.study.absent_data.notices`), `headings` ({figure or table: text}, for those whose
        name does not say it), `titles` ({experiment: {id: text}} of places and learners),
        `experiments` ({experiment: title}), `compared` ({claim: text}, what a claim about a table
        compares), `links` ({claim: the address of its document}), `boards` (see
        `scant.page.boards`), `shows` ({figure: ids of its experiments}), `datasets` (a list of
        rows), `environment` ({name: version}), `timings` (rows of `scant.page.status.by`),
        `citation` (a text) and `commands` ({purpose: command})

    Raises
    ------
    SettingError : the page would be larger than LIMIT
    DataError : a figure or table cannot be read
    """
    folder, captions, headings = Path(folder), about.get("captions", {}), about.get("headings", {})
    cells_by_claim = _cells_by_claim(cells, about.get("titles", {}), about.get("experiments", {}))
    compared, links = about.get("compared", {}), about.get("links", {})
    claims = [
        _claim(row, cells_by_claim.get(row["id"], []), compared.get(row["id"], ""))
        | {"url": links.get(row["id"], "")}
        for row in claims
    ]
    figures = _figures(_ordered(folder / "figures", "svg", about), claims, captions, headings)
    boards, shows = about.get("boards", {}), about.get("shows", {})
    boards_by_figure = {
        name: [boards[id][0] for id in ids if id in boards] for name, ids in shows.items()
    }
    parts = {
        "study": str(study_settings["study"]),
        "questions": story(
            families.questions(),
            claims,
            {figure["name"]: figure for figure in figures},
            boards_by_figure,
        ),
        "headline": headline(claims, about),
        "wide": families.HEADLINE,
        "claims": claims,
        "parts": _parts(claims),
        "meanings": words.MEANINGS,
        "tested": claims != [],
        "verdicts": VERDICTS,
        "kinds": _kinds(claims),
        "few": FEW,
        "families": _families(claims),
        "claims_files": [
            _download(path, folder) for path in sorted(folder.glob("claims*.csv")) if claims
        ],
        "sentences": [*filter(None, (_robustness(claims), resting(claims)))]
        if claims
        else sentences(claims),
        "studied": about.get("studied", []),
        "left_out": about.get("left_out", []),
        "sources": about.get("sources", []),
        "figures": figures,
        "boards": _named(boards),
        "first_board": next(iter(boards), ""),
        "tables": [
            _table(path, captions, headings) for path in _ordered(folder / "tables", "csv", about)
        ],
        "datasets": _rows(about.get("datasets", [])),
        "settings": _yaml(study_settings),
        "environment": about.get("environment", {}),
        "timings": _rows(about.get("timings", [])),
        "citation": about.get("citation", ""),
        "commands": about.get("commands", {}),
    }
    page = render(parts)
    if (excess := len(page.encode()) - LIMIT) > 0:
        _leave_out(figures, {id(question["figure"]) for question in parts["questions"]}, excess)
        page = render(parts)
    if (needed := len(page.encode())) > LIMIT:
        raise SettingError(
            f"the page of {parts['study']!r} would take {needed / 1e6:.1f} MB, more than "
            f"{LIMIT / 1e6:g}: show fewer experiments in its figures, or make two studies of it"
        )
    write_text(target, page)


def _leave_out(figures: list[dict], kept: set[int], excess: int) -> None:
    """Leave the largest figures to their files, until that many bytes are saved.

    kept : the `id` of figures that stay
    """
    for figure in sorted(figures, key=lambda figure: -len(figure["svg"])):
        if excess > 0 and id(figure) not in kept:
            excess -= len(figure["svg"].encode())
            figure["svg"] = ""


def sentences(claims: list[Claim]) -> list[str]:
    """Sentences that summarise claims: of each kind of row how many have each verdict, and what
    these rest on.

    What the papers measured comes first.
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
    told = []
    for row, head in heads.items():
        of_kind = [claim for claim in claims if claim["row"] == row]
        if of_kind:
            told.append(f"Of {len(of_kind)} {head[len(of_kind) > 1]}, {_counted(row, of_kind)}")
            if row == "theorem" and (tight := tightness(claims)):
                told[-1] += f"; {tight}"
        elif row == "reproduction":
            told.append("No claim is about what a paper measured on data like its own")
    return [
        f"{sentence}." for sentence in (*told, _robustness(claims), resting(claims)) if sentence
    ]


def headline(claims: list[dict], about: dict) -> str:
    """What the study is, by whom and of when, in a sentence."""
    studied = about.get("studied", [])
    seeds = [int(number) for row in studied for number in re.findall(r"\d+", row["seeds"])]
    kinds = f"{len(studied)} famil{'y' if len(studied) == 1 else 'ies'} of learners"
    parts = [f"{kinds} on {spread(seeds)} seeds"] if seeds else []
    for how, of in _by_test(claims).items():
        each = Counter(claim["verdict"] for claim in of)
        outcomes = [
            f"{_are(each['holds'], 'holds', 'hold')}",
            f"{_are(each['fails'], 'fails', 'fail')}",
        ]
        outcomes += [_are(each[words.DIFFERS], "differs", "differ")] if each[words.DIFFERS] else []
        outcomes += (
            [_are(each["undecided"], "is undecided", "are undecided")] if each["undecided"] else []
        )
        parts.append(f"{_are(len(of), 'claim', 'claims')} {how} ({', '.join(outcomes)})")
    environment, made = about.get("environment", {}), ""
    if "made" in environment and about.get("authors"):
        day = date.fromisoformat(environment["made"][:10])
        made = (
            f", made with scant {environment['scant']} by {about['authors']} on {day.day} "
            f"{day:%B %Y}"
        )
    said = f": {'; '.join(parts)}" if parts else ""
    return f"How well rankers learn from scant feedback{said}{made}."


def _parts(claims: list[dict]) -> list[dict]:
    """The claims in the page's parts: what fails and what is open, what holds, and what is not
    testable here.
    """
    ranked = sorted(claims, key=lambda claim: claim["rank"])
    held, absent = (
        [claim for claim in ranked if claim["verdict"] == name]
        for name in ("holds", words.UNTESTABLE)
    )
    parts = {
        "What fails and what is open": [claim for claim in ranked if claim not in (*held, *absent)]
    }
    parts |= {
        f"{_are(len(held), 'holds', 'hold')}": held,
        f"{len(absent)} {words.UNTESTABLE}": absent,
    }
    return [{"title": title, "claims": of} for title, of in parts.items()]


def _named(boards: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Boards with `name`, their experiment's title, and its id where several of a kind have that
    title.
    """
    titles = Counter((of[0]["kind"], of[0]["title"]) for of in boards.values())
    return {
        id: [
            one
            | {"name": one["title"] + (f" ({id})" if titles[one["kind"], one["title"]] > 1 else "")}
            for one in of
        ]
        for id, of in boards.items()
    }


def _by_test(claims: list[dict]) -> dict[str, list[dict]]:
    """The claims that were tested, those "checked exactly" apart from those "measured"; only what
    there is.
    """
    tested = [claim for claim in claims if claim["verdict"] != words.UNTESTABLE]
    exact = [claim for claim in tested if claim["test"] == "exact"]
    measured = [claim for claim in tested if claim["test"] != "exact"]
    return {how: of for how, of in (("checked exactly", exact), ("measured", measured)) if of}


def _counted(row: str, claims: list[dict]) -> str:
    """How many claims of a kind have each verdict: "2 reproduce, 1 does not reproduce, and 1 is
    undecided".
    """
    plurals = {
        **{words.said(row, one): words.PLURAL[words.said(row, one)] for one in ("holds", "fails")},
        words.DIFFERS: "differ",
        words.ALIKE: "do not discriminate",
        words.SILENT: "say nothing here",
    }
    texts = []
    by_test = _by_test(claims)
    for how, of in by_test.items():
        counts = Counter(words.said(row, claim["verdict"]) for claim in of)
        parts = [
            _are(counts[said], said, several) for said, several in plurals.items() if counts[said]
        ]
        parts += (
            [_are(counts["undecided"], "is undecided", "are undecided")]
            if counts["undecided"]
            else []
        )
        head = (
            f"{len(of)} {_are(len(of), 'is', 'are').split(' ')[1]} {how}: "
            if len(by_test) > 1
            else ""
        )
        texts.append(head + ", ".join(parts))
    absent = len(claims) - sum(map(len, by_test.values()))
    return "; ".join([*texts, *([f"{absent} could not be tested here"] if absent else [])])


def tightness(claims: list[Claim]) -> str:
    """How tight the bounds of those theorem checks that hold are; "" if none is about a bound."""
    holding = [
        claim for claim in claims if claim["row"] == "theorem" and claim["verdict"] == "holds"
    ]
    shares = [claim["tightness"] for claim in holding if _known(claim["tightness"])]
    return (
        f"what was measured is {spread(shares, percent)} of the bounds that hold" if shares else ""
    )


def _robustness(claims: list[dict]) -> str:
    """Under how many readings claims hold, and what would decide the undecided."""
    holds = [
        claim for claim in claims if claim["verdict"] == "holds" and _known(claim["readings_total"])
    ]
    firm = sum(claim["readings_holding"] == claim["readings_total"] for claim in holds)
    text = "No claim holds"
    if holds:
        text = (
            f"Of all {len(holds)} that hold, {_are(firm, 'does', 'do')} under every reading tried"
        )
    seeds = [claim["needed"] for claim in claims if claim["verdict"] == "undecided"]
    half = median_low([needed if _known(needed) else math.inf for needed in seeds] or [math.inf])
    return (
        text
        if half == math.inf
        else f"{text}; {half:g} seeds or fewer would decide half of the undecided"
    )


def _are(number: int, singular: str, plural: str) -> str:
    """A number with its verb: "1 holds", "3 hold"."""
    return f"{number} {singular if number == 1 else plural}"


def _known(value) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def _claim(row: Claim, cells: list[dict], compared: str) -> dict:
    """A claim as the page's template takes it.

    cells : those of its first reading
    compared : what it compares, if it is about a table
    """
    row = dict(row) | {
        "compared": compared,
        "place": row["source"].partition(", ")[2] or row["source"],
    }
    pair = row["deciding"] if " minus " in row["deciding"] else compared
    has_estimate = row["estimate"] is not None
    row["measured"] = measured([row | {"low": None}], row["quantity"]) if has_estimate else ABSENT
    row["told"] = measured([row], row["quantity"], pair) if has_estimate else ABSENT
    if has_estimate and row["deciding"] and pair != row["deciding"]:
        row["told"] += f", {row['deciding']}"
    write = percent if of_bound(row["quantity"]) else shown
    row |= {"measures": row["quantity"], "quantity": in_words(row["quantity"])}
    row["rank"] = list(VERDICTS).index(row["verdict"])
    row["anchor"] = slug(f"claim-{row['id']}")
    row["kind"], row["said"] = words.kind(row["row"]), words.said(row["row"], row["verdict"])
    row["in_cells"] = ""
    if row["cells_total"]:
        row["in_cells"] = words.cells(
            *(row[f"cells_{of}"] for of in ("holding", "failing", "silent", "total"))
        )
    claimed = {words.claimed(cell["from"], cell["to"], write) for cell in cells}
    row["control_said"] = words.said(row["row"], row["control_verdict"])
    row["beside"] = beside(row)
    row["claimed"] = claimed.pop() if len(claimed) == 1 else ""
    row["cells"] = _placed(cells, write)
    return row


def _cells_by_claim(cells, titles: dict, experiments: dict) -> dict[str, list[dict]]:
    """The cells of each claim's first reading, with titles for ids, and None in place of numbers
    that are not known.

    Where a claim compares the same pair on the same stream in several experiments, the stream's
    title names each.
    """
    by_claim = {}
    for cell in cells:
        if cell["first"]:
            texts = {
                name: cell[name] if _known(cell[name]) else None
                for name in ("estimate", "low", "high")
            }
            texts |= {
                name: titled(cell[name], titles.get(cell["experiment"], {}))
                for name in ("stream", "learner", "against")
            }
            said = words.said(cell["row"], cell["verdict"])
            by_claim.setdefault(cell["claim"], []).append(cell | texts | {"said": said})
    for of_claim in by_claim.values():
        pairs = Counter((cell["stream"], cell["learner"], cell["against"]) for cell in of_claim)
        if len({cell["experiment"] for cell in of_claim}) > 1 and max(pairs.values()) > 1:
            for cell in of_claim:
                cell["stream"] += f" ({experiments.get(cell['experiment'], cell['experiment'])})"
    return by_claim


def _placed(cells: list[dict], write) -> list[dict]:
    """Cells with `place`: where to draw `estimate`, `low`, `high` and, as `claimed`, the claimed
    interval, in percent.

    All have the scale of the claim, which begins and ends a little beyond what is drawn. Their
    numbers are beside that, as texts: `measured`, `interval` and `claimed`.

    write : writes a number
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
        place = {"from": 0.0, "to": 100.0} | places if "estimate" in places else None
        texts = {
            "claimed": words.claimed(cell["from"], cell["to"], write),
            "interval": interval(cell, write),
        }
        texts["measured"] = ABSENT if cell["estimate"] is None else write(cell["estimate"])
        texts["so"] = (
            f"{cell['agreeing']:g} of {cell['n']}" if _known(cell["agreeing"]) else f"{cell['n']}"
        )
        texts["far"] = (
            f"one in {words.one_in(cell['tipping'])}"
            if _known(cell["tipping"]) and cell["tipping"] < 1
            else ABSENT
        )
        texts["last"] = write(cell["worst"]) if _known(cell["worst"]) else ABSENT
        placed.append(cell | {"place": place} | texts)
    return placed


def _kinds(claims: list[dict]) -> list[dict]:
    """For each kind of row that claims are of: its names, what it is, and how many have each
    verdict.
    """
    kinds = []
    for row, (several, about) in words.ROWS.items():
        of_kind = [claim for claim in claims if claim["row"] == row]
        if of_kind:
            counts = Counter(claim["verdict"] for claim in of_kind)
            kinds.append(
                {"name": words.kind(row), "several": several, "about": about, "counts": counts}
            )
    return kinds


def _families(claims: list[dict]) -> list[dict]:
    """How many claims of each family and kind of row there are, in all and with each verdict.

    Families are in the order of the claims, each with its kinds in the order of `words.ROWS`.
    """
    rows = []
    for name in dict.fromkeys(claim["family"] for claim in claims):
        for row in words.ROWS:
            counts = Counter(
                claim["verdict"]
                for claim in claims
                if (claim["family"], claim["row"]) == (name, row)
            )
            if counts:
                rows.append(
                    {
                        "family": name,
                        "kind": words.kind(row),
                        "counts": counts,
                        "claims": counts.total(),
                    }
                )
    return rows


def slug(name: str) -> str:
    """A name as an id: characters other than letters, digits, underscores, dots and hyphens become
    hyphens.
    """
    return re.sub(r"[^\w.-]+", "-", str(name))


def title(name: str, headings: dict) -> str:
    """A file's heading; without one, it is made from the name: "table-5.1" becomes "Table 5.1"."""
    if name in headings:
        return headings[name]
    return name[:1].upper() + name[1:].replace("-", " ")


def _ordered(folder: Path, ending: str, about: dict) -> list[Path]:
    """The study's files in a folder: those that have captions in the captions' order, then the
    others by name.
    """
    paths = visible(folder, f"*.{ending}")
    if "files" in about:  # those that the study asks for, without which all count
        paths = [path for path in paths if path.stem in about["files"]]
    order = {name: place for place, name in enumerate(about.get("captions", {}))}
    return sorted(paths, key=lambda path: (order.get(path.stem, len(order)), path.name))


def _figures(paths: list[Path], claims: list[dict], captions: dict, headings: dict) -> list[dict]:
    """Each figure's SVG, caption, data and claims, for the template.

    Claims are given `href`, the id of their figure; None without one.
    """
    from markupsafe import Markup

    figures, ids = [], {path.stem: slug(path.stem) for path in paths}
    for claim in claims:
        claim["href"] = ids.get(claim["figure"] or "")
    for number, path in enumerate(paths, 1):
        svg, curves = inline(path, f"f{number}-")
        # questions show it, too
        svg = svg.replace("<svg ", f'<svg id="{ids[path.stem]}-drawn" ', 1)
        width, height = size(svg)
        data = path.with_suffix(".csv")
        figures.append(
            {
                "name": path.stem,
                "id": ids[path.stem],
                "title": title(path.stem, headings),
                "caption": captions.get(path.stem, "").strip(),
            }
            | {"svg": Markup(svg), "curves": curves, "width": width, "height": height}
            | (
                _download(data, path.parents[1])
                if data.is_file()
                else {"csv": "", "file": data.name}
            )
            | {"images": _images(path)}
            | {"claims": [one for one in claims if path.stem == one["figure"]]}
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


def _table(path: Path, captions: dict, headings: dict) -> dict:
    """A table's cells, caption and data, for the template.

    DataError if it is damaged, or its rows differ in length.
    """
    check_table(path)
    head, rows = read_cells(path)
    count = len(rows)
    rows = rows if count <= ROWS else []
    return {
        "id": slug(f"table-{path.stem.removeprefix('table-')}"),
        "title": title(path.stem, headings),
        "caption": captions.get(path.stem, "").strip(),
        "count": count,
        **_download(path, path.parents[1]),
        **_cells(*_folded(head, rows)),
        "same": _same(head, rows),
    }


def _same(head: list[str], rows: list[list[str]]) -> dict[str, str]:
    """The columns of a large table that have one value in all rows: name and value.

    Small tables keep them.
    """
    if len(head) <= MANY or len(rows) < 2:
        return {}
    return {
        name: row[0]
        for name, row in zip(head, zip(*rows, strict=True), strict=True)
        if len(set(row)) == 1
    }


def _folded(
    head: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]], dict[int, tuple[int, int]]]:
    """A table without the columns that are the same in every row, and with intervals beside what
    they belong to.

    Returns
    -------
    head, rows : the columns that stay
    ends : the positions of a column's ends `x_low` and `x_high` (of a mean or estimate also `low`
        and `high`), by its own; they stay in `rows`, after the others, and have no name in `head`
    """
    same, position = _same(head, rows), {name: i for i, name in enumerate(head)}
    ends = {}
    for name in head:
        for low, high in ((f"{name}_low", f"{name}_high"), ("low", "high")):
            if (
                low in position
                and high in position
                and (low != "low" or name in ("mean", "estimate"))
            ):
                ends[name] = (low, high)
    hidden = {end for pair in ends.values() for end in pair}
    shown_names = [name for name in head if name not in hidden and name not in same]
    order = [*shown_names, *(end for name in shown_names for end in ends.get(name, ()))]
    place = {name: i for i, name in enumerate(order)}
    rows = [[row[position[name]] for name in order] for row in rows]
    return (
        shown_names,
        rows,
        {
            place[name]: (place[low], place[high])
            for name, (low, high) in ends.items()
            if name in place
        },
    )


def _rows(rows: list[dict]) -> dict:
    """Rows as a table's cells, for the template; the columns are all keys that any row has."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    return _cells(
        head, [["" if row.get(name) is None else str(row[name]) for name in head] for row in rows]
    )


def _cells(
    head: list[str], rows: list[list[str]], ends: dict[int, tuple[int, int]] | None = None
) -> dict:
    """Columns of a table, and whether all their cells are numbers; rows of cells, each as shown and
    in full.
    """
    numeric = [
        any(cells) and all(_number(cell) for cell in cells if cell)
        for cells in zip(*rows, strict=True)
    ]
    numeric = (numeric or [False] * len(head))[: len(head)]

    def interval(row: list[str], column: int) -> str:
        low, high = (row[end] for end in (ends or {}).get(column, (column, column)))
        return f" [{shown(low)}, {shown(high)}]" if column in (ends or {}) and low and high else ""

    return {
        "columns": list(zip(head, numeric, strict=True)),
        "rows": [
            [
                (
                    shown(row[column]) + interval(row, column) if is_number else row[column],
                    row[column],
                )
                for column, is_number in enumerate(numeric)
            ]
            for row in rows
        ],
    }


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _yaml(settings: dict) -> str:
    import yaml

    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100)


def render(parts: dict) -> str:
    """The HTML of a page. Its security policy allows its script (by hash) and inline styles, and
    loads nothing.

    parts : the variables of the template, assets/page.html
    """
    import jinja2
    from markupsafe import Markup

    def read(name: str) -> str:
        return resources.files("scant.page").joinpath("assets", name).read_text(encoding="utf-8")

    style, script = map(read, ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(read),
    )
    environment.filters |= {
        "shown": shown,
        "padded": padded,
        "interval": lambda row: interval(row, padded),
        "seeds": words.needed,
    }
    parts = parts | {"style": Markup(style), "script": Markup(script), "digest": digest}
    return environment.get_template("page.html").render(parts) + "\n"

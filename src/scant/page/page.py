"""The page of a study: one HTML file with its claims, figures, tables and settings, which loads no other file."""

import base64
import csv
import hashlib
import math
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from statistics import median_low
from urllib.parse import quote

from scant.errors import DataError, SettingError
from scant.files import write_text
from scant.page.inline import inline, size
from scant.study.plan import OF_CLAIMS

ABSENT = "\N{EN DASH}"
VERDICTS = {"holds": "✓", "fails": "✗", "undecided": "?", "not testable here": ABSENT}  # in the order that sorts them
COLUMNS = (
    "id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding", "readings_total",
    "data", "family", "figure", "needed", "matters", "matters_share",
)  # fmt: skip
LIMIT = 5_000_000  # bytes


def make(study_settings: dict, folder, target, claims: list[dict] | None, about: dict) -> None:
    """Write the page of a study to `target`.

    Parameters
    ----------
    study_settings : the study's settings; `study` is its name
    folder : the study's results, with figures/*.svg, figures/*.csv and tables/*.csv
    claims : one row for each claim, with COLUMNS; None if the study tests none. `needed` is the number of seeds that
        would decide an undecided claim, `figure` the file's name without its ending, `matters` the reading on which
        the estimate depends most, and `matters_share` its share of the variance over readings
    about : further contents, all optional: `captions` ({figure or table: text}, in the order they are shown
        in), `headings` ({figure or table: text}, for those whose name does not say it), `datasets` (a list of rows),
        `environment` ({name: version}), `timings` (rows of `scant.page.status.by`), `citation` (a text) and `commands`
        ({purpose: command})

    Raises
    ------
    SettingError : a claim lacks a column or has an unknown verdict, or the page would be larger than LIMIT
    DataError : a figure or table cannot be read
    """
    folder, captions, headings = Path(folder), about.get("captions", {}), about.get("headings", {})
    claims = [_claim(row) for row in claims or []]
    parts = {
        "study": str(study_settings["study"]),
        "claims": claims,
        "tested": claims != [],
        "verdicts": VERDICTS,
        "counts": Counter(claim["verdict"] for claim in claims),
        "families": _families(claims),
        "sentences": sentences(claims),
        "figures": _figures(_ordered(folder / "figures", "svg", captions), claims, captions, headings),
        "tables": [_table(path, captions, headings) for path in _ordered(folder / "tables", "csv", captions)],
        "datasets": _rows(about.get("datasets", [])),
        "settings": _yaml(study_settings),
        "environment": about.get("environment", {}),
        "timings": _rows(about.get("timings", [])),
        "citation": about.get("citation", ""),
        "commands": about.get("commands", {}),
    }
    downloads = [item for item in (*parts["figures"], *parts["tables"]) if item["csv"]]
    page = render(parts)
    for download in sorted(downloads, key=lambda item: -len(item["csv"])):  # links to the largest, to get below LIMIT
        if len(page.encode()) <= LIMIT:
            break
        download["csv"] = download["path"].relative_to(folder).as_posix()
        page = render(parts)
    if (needed := len(page.encode())) > LIMIT:
        raise SettingError(
            f"the page of {parts['study']!r} would take {needed / 1e6:.1f} MB, more than {LIMIT / 1e6:g}: "
            "show fewer experiments in its figures, or make two studies of it"
        )
    write_text(target, page)


def sentences(claims: list[dict]) -> list[str]:
    """Three sentences that summarise claims: how many have each verdict, where they fail, and how robust they are."""
    if not claims:
        return ["This study tests no claim.", "Its figures and tables are below.", "What they show is as measured."]
    counts = Counter(claim["verdict"] for claim in claims)
    holding, failing, undecided, untested = (counts[verdict] for verdict in VERDICTS)
    first = (
        f"Of {_many(len(claims), 'claim')}, {_are(holding, 'holds', 'hold')}, {_are(failing, 'fails', 'fail')}, "
        f"{_are(undecided, 'is undecided', 'are undecided')}, and {untested} could not be tested here."
    )
    families = Counter(claim["family"] for claim in claims)
    fails = Counter(claim["family"] for claim in claims if claim["verdict"] == "fails").most_common(3)
    where = ", ".join(f"{name} ({count} of {families[name]})" for name, count in fails)
    failing_families = {claim["family"] for claim in claims if claim["verdict"] == "fails"}
    mostly = "mostly " if len(fails) < len(failing_families) else ""
    second = f"Claims fail {mostly}in {where}." if fails else "No claim fails."
    holds = [claim for claim in claims if claim["verdict"] == "holds" and _known(claim["readings_total"])]
    firm = sum(claim["readings_holding"] == claim["readings_total"] for claim in holds)
    third = "None holds"
    if holds:
        third = f"Of the {len(holds)} that hold, {_are(firm, 'does', 'do')} under every reading tried"
    seeds = [claim["needed"] for claim in claims if claim["verdict"] == "undecided"]
    half = median_low([needed if _known(needed) else math.inf for needed in seeds] or [math.inf])
    if half < math.inf:
        third += f"; {half:g} seeds or fewer would decide half of the undecided"
    return [first, second, third + "."]


def _many(number: int, noun: str) -> str:
    """A number of things: "1 claim", "3 claims"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _are(number: int, singular: str, plural: str) -> str:
    """A number with its verb: "1 holds", "3 hold"."""
    return f"{number} {singular if number == 1 else plural}"


def _known(value) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def _claim(row: dict) -> dict:
    """A claim as the page's template takes it: None in place of NaN, Python's numbers in place of NumPy's.

    Raises
    ------
    SettingError : a column is missing, or the verdict is none of VERDICTS
    """
    if missing := [name for name in COLUMNS if name not in row]:
        raise SettingError(f"claim {row.get('id')!r} lacks {', '.join(missing)}: give every column of a claim")
    row = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
    row = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
    if row["verdict"] not in VERDICTS:
        known = ", ".join(VERDICTS)
        raise SettingError(f"claim {row['id']!r} has the verdict {row['verdict']!r}: it must be one of {known}")
    data = row["data"]
    row["data"] = ", ".join(map(str, data)) if isinstance(data, (list, tuple)) else data or ""
    row["rank"] = list(VERDICTS).index(row["verdict"])
    row["anchor"] = slug(f"claim-{row['id']}")
    row["interval"] = _interval(row["estimate"], row["low"], row["high"])
    return row


def _interval(estimate, low, high) -> dict[str, float] | None:
    """Where to draw `zero`, `estimate`, `low` and `high`, in percent from the left; None without an estimate."""
    if not _known(estimate):
        return None
    places = {"zero": 0.0, "estimate": estimate, "low": low, "high": high}
    places = {name: float(value) for name, value in places.items() if _known(value)}
    first, last = min(places.values()), max(places.values())
    width = (last - first) or 1.0
    return {name: round(6 + 88 * (value - first) / width, 2) for name, value in places.items()}


def _families(claims: list[dict]) -> list[dict]:
    """How many claims each family has, in all and with each verdict; families in the order of the claims."""
    names = dict.fromkeys(claim["family"] for claim in claims)
    families = {name: Counter(claim["verdict"] for claim in claims if claim["family"] == name) for name in names}
    return [{"family": name, "counts": counts, "claims": counts.total()} for name, counts in families.items()]


def slug(name: str) -> str:
    """A name as an id: characters other than letters, digits, underscores, dots and hyphens become hyphens."""
    return re.sub(r"[^\w.-]+", "-", str(name))


def title(name: str, headings: dict) -> str:
    """A file's heading; without one, it is made from the name: "table-5.1" becomes "Table 5.1"."""
    if name in headings:
        return headings[name]
    if name.startswith(OF_CLAIMS):
        return f"Claims: {name.removeprefix(OF_CLAIMS)}"
    return name[:1].upper() + name[1:].replace("-", " ")


def _ordered(folder: Path, ending: str, captions: dict) -> list[Path]:
    """Files of a folder: those that have captions in the captions' order, then the others by name."""
    order = {name: place for place, name in enumerate(captions)}
    return sorted(folder.glob(f"*.{ending}"), key=lambda path: (order.get(path.stem, len(order)), path.name))


def _figures(paths: list[Path], claims: list[dict], captions: dict, headings: dict) -> list[dict]:
    """Each figure's SVG, caption, data and claims, for the template.

    Claims are given `href`, the id of their figure, and `all`, that of the figure of their family; None without one.
    """
    from markupsafe import Markup

    figures, ids = [], {path.stem: slug(path.stem) for path in paths}
    for claim in claims:
        claim["href"], claim["all"] = ids.get(claim["figure"] or ""), ids.get(OF_CLAIMS + claim["family"])
    for number, path in enumerate(paths, 1):
        svg, curves = inline(path, f"f{number}-")
        width, height = size(svg)
        data = path.with_suffix(".csv")
        figures.append(
            {"id": ids[path.stem], "title": title(path.stem, headings), "caption": captions.get(path.stem, "").strip()}
            | {"svg": Markup(svg), "curves": curves, "width": width, "height": height}
            | {"path": data, "csv": _link(data) if data.is_file() else "", "file": data.name}
            | {"claims": [claim for claim in claims if path.stem in (claim["figure"], OF_CLAIMS + claim["family"])]}
        )
    return figures


def _link(path: Path) -> str:
    """The text of a CSV file as a `data:` address."""
    return "data:text/csv;charset=utf-8," + quote(path.read_text(encoding="utf-8"), safe=" ,.:;/@()[]|=+*-")


def _table(path: Path, captions: dict, headings: dict) -> dict:
    """A table's cells, caption and data, for the template. DataError if its rows differ in length."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file, strict=True)
    except (ValueError, csv.Error):
        raise DataError(path, "is no table with a head", advice="Make the table again") from None
    if wrong := [line for line, row in enumerate(rows, 2) if len(row) != len(head)]:
        raise DataError(path, f"has not {len(head)} cells", wrong[0], "Make the table again")
    return {
        "id": slug(f"table-{path.stem.removeprefix('table-')}"), "title": title(path.stem, headings),
        "caption": captions.get(path.stem, "").strip(),
        "path": path, "csv": _link(path), "file": path.name, **_cells(head, rows),
    }  # fmt: skip


def _rows(rows: list[dict]) -> dict:
    """Rows as a table's cells, for the template; the columns are all keys that any row has."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    return _cells(head, [["" if row.get(name) is None else str(row[name]) for name in head] for row in rows])


def _cells(head: list[str], rows: list[list[str]]) -> dict:
    """A table's cells, for the template.

    Returns
    -------
    columns : pairs of the name and whether all its cells are numbers
    rows : of pairs: a cell's text as shown, with numbers rounded, and in full
    """
    numeric = [any(cells) and all(_number(cell) for cell in cells if cell) for cells in zip(*rows, strict=True)]
    numeric = numeric or [False] * len(head)
    return {
        "columns": list(zip(head, numeric, strict=True)),
        "rows": [
            [(shown(cell) if is_number else cell, cell) for cell, is_number in zip(row, numeric, strict=True)]
            for row in rows
        ],
    }


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def shown(value) -> str:
    """A number with four significant digits, whole numbers in full; a dash if there is none."""
    if value is None or value == "":
        return ABSENT
    if re.fullmatch(r"-?\d+", str(value)):
        return str(value)
    value = float(value)
    return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.3e}"


def _yaml(settings: dict) -> str:
    import yaml

    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100)


def render(parts: dict, template: str = "page.html") -> str:
    """The HTML of a page. Its security policy allows its script (by hash) and inline styles, and loads nothing.

    parts : the variables of the template
    template : a file of the folder assets: "page.html", or one that extends it
    """
    import jinja2
    from markupsafe import Markup

    def read(name: str) -> str:
        return resources.files("scant.page").joinpath("assets", name).read_text(encoding="utf-8")

    style, script = map(read, ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(read),
    )  # fmt: skip
    environment.filters["shown"] = shown
    parts = parts | {"style": Markup(style), "script": Markup(script), "digest": digest}
    return environment.get_template(template).render(parts) + "\n"

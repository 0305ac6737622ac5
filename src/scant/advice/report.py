"""A report of an evaluation as one HTML file, which needs no other file and no network."""

import io
import math
from collections.abc import Mapping
from pathlib import Path

from scant import __version__, files
from scant.advice import text
from scant.advice.text import HEADINGS, because

ASSETS = Path(__file__).parent / "assets"


def write(evaluation, path, health: Mapping[str, Mapping] = (), settings: Mapping = (), inputs=()) -> None:
    """Write a report of an evaluation.

    Parameters
    ----------
    evaluation : an `Evaluation`
    path : the HTML file
    health : by log, its facts as `checking.facts` has them
    settings : by name, what was asked for
    inputs : the files that were read, whose SHA-256 are given
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("report.html").render(
        evaluation=evaluation, figure=_figure(evaluation), headings=HEADINGS, table=evaluation.table(),
        verdicts=[(row["policy"], row["verdict"], because(row)) for row in evaluation.rows[1:]],
        pairs=[_pair(pair) for pair in evaluation.pairs], decision=evaluation.decision(),
        share=f"{100 * evaluation.level:.3g} %", health={name: _health(facts) for name, facts in dict(health).items()},
        settings={name: _shown(value) for name, value in dict(settings).items()},
        inputs=[(str(path), files.sha256(path)) for path in inputs if Path(path).is_file()], version=__version__,
    )  # fmt: skip
    files.write_text(path, page)


def _figure(evaluation) -> str:
    """The plot of the policies as SVG, its texts as text; the same bytes for the same evaluation."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"}):
        figure = Figure(figsize=(8, 1.1 + 0.34 * len(evaluation.rows)), layout="constrained")
        FigureCanvasSVG(figure)
        evaluation.plot(figure.subplots())
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    return svg[svg.index("<svg") :]


def _pair(pair: Mapping) -> dict:
    """A pair as texts."""
    percent = {key: text.percent(pair[key]) for key in ("difference", "low", "high")}
    needed = pair["needed"]
    rows = "" if pair["better"] else "too close" if not math.isfinite(needed) else f"about {text.rounded(needed)} rows"
    return dict(pair) | percent | {"needed": rows}


def _health(facts: Mapping) -> dict:
    """The facts of a log as texts."""
    shown = []
    for ad in facts.get("actions", ()):
        rate = math.nan if ad["rate"] is None else ad["rate"]
        shown.append((ad["action"], f"{ad['impressions']:,}", f"{ad['clicks']:,.6g}", text.percent(rate)))
    low, high = facts.get("propensity", (math.nan, math.nan))
    summary = {
        "form": facts["form"], "rows": f"{facts.get('rows', 0):,}",
        "equal to an earlier row": f"{facts.get('duplicates', 0):,}",
        "propensities": f"{low:g}" if low == high else f"{low:g} to {high:g}",
        "features": len(facts.get("features", ())), "timestamps": " to ".join(facts.get("timestamps") or ["none"]),
    }  # fmt: skip
    return {"summary": summary, "problems": facts["problems"], "ads": shown}


def _shown(value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

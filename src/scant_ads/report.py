"""A report of an evaluation as one HTML file, which needs no other file and no network."""

import io
import math
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from scant import __version__, files
from scant.errors import without_controls
from scant.present.rounding import rounded
from scant_ads import text
from scant_ads.diagnosis import overview
from scant_ads.evaluation import guards, mixes
from scant_ads.evaluation.arms import AD
from scant_ads.text import because
from scant_ads.unit import Unit

ASSETS = Path(__file__).parent / "assets"


def write(
    evaluation, path, health: Mapping[str, Mapping], settings: Mapping, inputs: Iterable
) -> None:
    """Write a report of an evaluation.

    evaluation : an `Evaluation`
    path : the HTML file
    health : by name of a log, its `overview.facts`
    settings : by name, what was asked for
    inputs : the files that were read, whose SHA-256 are given
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    health = {name: _health(facts) for name, facts in health.items()}
    mix, others = _mix(evaluation)
    unit, share = evaluation.unit, text.percent(evaluation.level)
    page = environment.get_template("report.html").render(
        evaluation=evaluation,
        figure=_figure(evaluation),
        headings=evaluation.headings(),
        table=evaluation.table(),
        answer=_answer(evaluation),
        decision=evaluation.decision(),
        key=_key(evaluation),
        mix=mix,
        others=others,
        answers=[_judged(row, evaluation.choice, unit) for row in evaluation.judged],
        share=share,
        pairs=[_pair(pair, unit) for pair in evaluation.comparisons],
        guards=evaluation.guard_table(),
        missed=f"{100 * (1 - evaluation.level):.3g}",
        health=health,
        doubts=any(log["problems"] for log in health.values()),
        settings={name: _as_text(value) for name, value in settings.items()},
        inputs=[(str(path), files.sha256(path)) for path in inputs if Path(path).is_file()],
        version=__version__,
    )
    files.write_text(path, without_controls(page))


def _answer(evaluation) -> dict:
    """The report's first line, and whether it is good news."""
    choice = evaluation.choice
    if choice is None:
        return {"title": "These logs give no verdict", "tone": "no"}
    reservation, tone = "", ""
    if choice["worse"]:
        title = f"Keep {evaluation.against}: {choice['policy']} is worse"
    elif not choice["better"]:
        title = f"No policy is known to be better than {evaluation.against.removesuffix(' policy')}"
    else:
        title = f"{choice['policy']} is better than {evaluation.against}: "
        title += _lift(choice, evaluation.unit)
        reservation, tone = _reservation(evaluation, choice["policy"])
    return {"title": evaluation.under_premise(title) + reservation, "tone": tone}


def _lift(choice: Mapping, unit) -> str:
    """By how much the policy chosen is better, by estimate and at least."""
    if unit.relative:
        lift, lower = (
            f"{rounded(100 * choice[key], '.0f', key)} % more" for key in ("lift", "lift_lower")
        )
        return f"{lift} {unit.events} by estimate, at least {lower}"
    lift, lower = (f"{text.much(choice[key], unit, key)} more" for key in ("lift", "lift_lower"))
    return f"{lift} a visit by estimate, at least {lower}"


def _reservation(evaluation, policy: str) -> tuple[str, str]:
    """What speaks against a better policy, as the end of a sentence; and the answer's tone, "yes",
    "no", "careful" or "".
    """
    rails = {row["answer"] for row in evaluation.guards if row["policy"] == policy}
    if guards.BROKEN in rails:
        return "; but it breaks a guard rail", "no"
    if rails - {guards.HOLDS}:
        return "; a guard rail is open", ""
    return (f"; but {evaluation.careful}", "careful") if evaluation.careful else ("", "yes")


def _key(evaluation) -> list[tuple[str, str, str]]:
    """The numbers to be seen first: name, value and interval of each; empty without a choice."""
    if evaluation.choice is None:
        return []
    today = _row(evaluation, evaluation.baseline)
    row = _row(evaluation, evaluation.choice["policy"])
    unit = evaluation.unit

    def name(row: Mapping) -> str:
        if row is evaluation.rows[0]:
            return f"Today's {unit.mean}"
        return f"{unit.mean[0].upper()}{unit.mean[1:]} of {row['policy']}"

    def rate(row: Mapping) -> tuple[str, str]:
        return unit.rate(row["estimate"]), unit.interval(row["low"], row["high"])

    ends = text.interval(row["lift_low"], row["lift_high"], unit)
    return [
        (name(today), *rate(today)),
        (name(row), *rate(row)),
        (
            "Lift",
            f"{text.signed(row['lift'], unit)} {unit.lift_unit}",
            ends and f"{ends} {unit.lift_unit}",
        ),
        (
            "It rests on",
            f"{row['effective_clicks']:,.0f} {evaluation.unit.events}",
            f"in {row['effective']:,.0f} {'rows' if unit.places else 'visits'}",
        ),
    ]


def _row(evaluation, name: str) -> Mapping:
    return next(row for row in evaluation.rows if row["policy"] == name)


def _judged(row: Mapping, choice: Mapping | None, unit: Unit) -> dict:
    """The comparison of a policy with today's, as texts."""
    return {
        "policy": row["policy"],
        "rate": unit.number(row["estimate"]),
        "lift": text.signed(row["lift"], unit),
        "interval": text.interval(row["lift_low"], row["lift_high"], unit),
        "verdict": row["verdict"],
        "periods": [
            text.signed(row[key], unit) for key in ("lift_first", "lift_second", "lift_last")
        ],
        "reason": because(row).removeprefix(": ").removeprefix(", "),
        "best": choice is not None and choice["policy"] == row["policy"],
    }


def _mix(evaluation) -> tuple[list[dict], int]:
    """The ads that the chosen policy or today's policy shows most, with shares as texts and widths;
    and how many other ads there are.
    """
    chosen = evaluation.choice["policy"] if evaluation.choice else None
    mix = evaluation.mix.get(chosen)
    if not mix or chosen.startswith(AD):  # an arm shows one ad to everyone
        return [], 0
    today = evaluation.mix.get(evaluation.rows[0]["policy"], {})
    rows, others = mixes.compared(mix, today)
    largest = max(max(shares) for _, *shares in rows)
    listed = [
        {
            "ad": ad,
            "today": f"{100 * now:.1f} %",
            "policy": f"{100 * share:.1f} %",
            "today_width": f"{100 * now / largest:.1f}",
            "width": f"{100 * share / largest:.1f}",
        }
        for ad, share, now in rows
    ]
    return listed, others


def _figure(evaluation) -> str:
    """The plot of the policies as SVG, its texts as text; the same bytes for the same
    evaluation.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look = {
        "svg.fonttype": "none",
        "svg.hashsalt": "report",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.usetex": False,
    }
    with mpl.rc_context(look), warnings.catch_warnings():
        # whoever looks at the page has the fonts
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=(5.2, 1.2 + 0.34 * len(evaluation.rows)), layout="constrained")
        FigureCanvasSVG(figure)
        evaluation.plot(figure.subplots())
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    return svg[svg.index("<svg") :]


def _pair(pair: Mapping, unit: Unit) -> dict:
    """A pair as texts."""
    numbers = {key: unit.number(pair[key], key) for key in ("difference", "low", "high")}
    needed = pair["needed"]
    rows = f"about {text.rounded(needed)} rows" if math.isfinite(needed) else "too close"
    rows = "" if pair["better"] else rows
    return dict(pair) | numbers | {"needed": rows}


def _health(facts: Mapping) -> dict:
    """The texts that the page has of a log, from its `overview.facts`."""
    ads, unit = facts.get("actions", []), overview.unit_of(facts)
    most, others = overview.most_shown(ads)
    summary = {
        "form": facts["form"],
        "rows": f"{facts.get('rows', 0):,}",
        "equal to an earlier row": f"{facts.get('duplicates', 0):,}",
        "propensities": overview.propensities(facts) if "rows" in facts else "not known",
        "features": len(facts.get("features", ())),
        "timestamps": " to ".join(facts.get("timestamps") or ["none"]),
    }
    texts = {
        "summary": summary,
        "problems": facts["problems"],
        "others": "",
        "unit": unit,
        "most": [overview.of_ad(ad, unit) for ad in most],
    }
    if others:
        texts |= {
            "others": overview.of_others(others, unit),
            "all": [overview.of_ad(ad, unit) for ad in ads],
        }
    return texts


def _as_text(value) -> str:
    value = (
        [f"{name}={of_it}" for name, of_it in value.items()]
        if isinstance(value, Mapping)
        else value
    )
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

"""The style of all figures: each learner has the same colour, marker and line in every one."""

import json
import os
from collections.abc import Mapping
from itertools import chain, product

import matplotlib

from scant.declare import families
from scant.errors import SettingError

matplotlib.use("svg")  # no display is needed; savefig picks the format's own backend

# Seaborn's palette "colorblind", but for pink and olive: its own pink and yellow have contrasts
# below 2 to white. It and the theme below are copied, since to import seaborn takes longer than to
# draw.
PALETTE = (
    "#0173b2",
    "#de8f05",
    "#029e73",
    "#d55e00",
    "#cc78bc",
    "#ca9161",
    "#d6338f",
    "#949494",
    "#8c8200",
    "#56b4e9",
)
COLOURS = dict(  # by the names that learners declare
    zip(
        ("blue", "orange", "green", "vermilion", "purple", "brown", "pink", "grey", "olive", "sky"),
        PALETTE,
        strict=True,
    )
)
OTHERS = [(PALETTE[i], marker) for i, marker in ((5, "*"), (6, "h"), (8, "<"), (3, "P"))]
LINES = ("-", "--", ":")

# what seaborn.set_theme("paper", "ticks", "colorblind") changes, without what SETTINGS changes
THEME = {
    "axes.axisbelow": True,
    **dict.fromkeys(
        ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), ".15"
    ),
    "axes.linewidth": 1.0,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.facecolor": PALETTE[0],
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 4.8),
    **dict.fromkeys(("xtick.major.width", "ytick.major.width"), 1.0),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 3.2),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), 0.8),
}
SETTINGS = {
    # Matplotlib brings the first one along, so that all formats have it, and the same layout on
    # every machine.
    "font.sans-serif": ["DejaVu Sans", "Bitstream Vera Sans", "Verdana", "sans-serif"],
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 2.6,  # long enough to tell dashes
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "scant",  # the same bytes on every run
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType, embedded: journals refuse Matplotlib's default
    "figure.dpi": 200,  # of PNG
}


# the study's key `figures`, by default
WANTED = {"pdf": False, "width": "page", "font_size": SETTINGS["font.size"]}
ENVIRONMENT = "SCANT_FIGURES"  # where the workflow puts what the study asks for, as JSON


def wanted() -> dict:
    """What the study asks of its figures, see `WANTED`; from the environment, else by default."""
    return WANTED | json.loads(os.environ.get(ENVIRONMENT) or "{}")


def apply() -> None:
    """Set the style of all figures that are made after this call."""
    matplotlib.rcdefaults()  # forget what was set before, also by a matplotlibrc file
    larger = wanted()["font_size"] / SETTINGS["font.size"]
    sizes = {key: value * larger for key, value in SETTINGS.items() if key.endswith("size")}
    matplotlib.rcParams.update(THEME | SETTINGS | sizes)


def own_look(kind: str, variant: str = "", id: str = "") -> tuple[str, str, str] | None:
    """The colour, marker and line that a kind of learner declares: for this id, or else for this
    `variant` (a measure or surrogate), or else for all; None if it declares none.
    """
    declared = _looks_of(kind)
    for key in (f"#{id}", variant, ""):
        for looks in declared:
            if key in looks:
                colour, marker, line = looks[key]
                return COLOURS.get(colour, colour), marker, line
    return None


def _declares(kind: str, variant: str) -> bool:
    """Whether a kind of learner declares a look for this very measure or surrogate."""
    return any(variant in looks for looks in _looks_of(kind))


def _looks_of(kind: str) -> list[Mapping]:
    """The looks that the classes of a kind of learner declare.

    Empty for a user's own class that cannot be imported: figures can be drawn where the learners
    are not installed.
    """
    try:
        return [learner.looks for learner in families.classes(kind)]
    except SettingError:
        return []


def looks(frame) -> dict[str, tuple[str, str, str]]:
    """The colour, marker and line of each learner in a figure's frame. No two learners have the
    same.

    A learner has the look that its class declares. If it declares none, or another learner of the
    figure has that look already, the learner gets the next spare one; a second learner of the same
    kind and surrogate differs from the first in its marker and line.

    frame : the columns learner, kind, objective (a surrogate) or own_measure, if any, user, if any
        (of learners from clicks), and id, if `learner` holds titles
    """
    column = next((name for name in ("objective", "own_measure") if name in frame), None)
    frame = frame if column else frame.assign(none="")
    column = column or "none"
    looks, spare = {}, chain(product(LINES, OTHERS), product(LINES, product(PALETTE, "XdpH>")))
    spare = ((*colour_and_marker, line) for line, colour_and_marker in spare)
    frame = frame.assign(id=frame.get("id", frame["learner"])).drop_duplicates("learner")
    if "user" in frame:
        frame = frame.assign(**{column: frame["user"].where(frame["user"].notna(), frame[column])})
    for learner, kind, variant, id in frame[["learner", "kind", column, "id"]].itertuples(
        index=False
    ):
        look = own_look(kind, variant, id) or next(spare)
        others = (
            ((look[0], marker, line) for line in ("-.", ":") for marker in "XdpH><*h")
            if _declares(kind, variant)
            else ()
        )
        others = chain(others if column == "objective" else (), spare)
        while look in looks.values():
            look = next(others)
        looks[learner] = look
    return looks

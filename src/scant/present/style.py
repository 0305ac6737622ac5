"""One look for all figures: each learner has the same colour, marker and dash everywhere."""

from collections.abc import Mapping
from itertools import chain, product

import matplotlib

from scant import families
from scant.errors import SettingError

matplotlib.use("svg")  # no display is needed; savefig picks the format's own backend

# Seaborn's "colorblind": as data, as is its theme below, since importing seaborn takes longer than drawing a figure.
PALETTE = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
COLOURS = dict(  # as learners name theirs
    zip(
        ("blue", "orange", "green", "vermilion", "purple", "brown", "pink", "grey", "yellow", "sky"),
        PALETTE,
        strict=True,
    )
)
OTHERS = [(PALETTE[i], marker) for i, marker in ((5, "*"), (6, "h"), (8, "<"), (3, "P"))]
LINES = ("-", "--", ":")

THEME = {  # what seaborn.set_theme("paper", "ticks", "colorblind") changes, but for what SETTINGS does
    "axes.axisbelow": True,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), ".15"),
    "axes.linewidth": 1.0,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.facecolor": PALETTE[0],
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    **{
        f"{axis}tick.{which}.{what}": value
        for axis in "xy"
        for which, sizes in {"major": (4.8, 1.0), "minor": (3.2, 0.8)}.items()
        for what, value in zip(("size", "width"), sizes, strict=True)
    },
}
SETTINGS = {
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
    "figure.dpi": 200,  # of PNG
}


def apply() -> None:
    """Set the look for the figures that follow."""
    matplotlib.rcdefaults()  # whatever was set before, or by a matplotlibrc
    matplotlib.rcParams.update(THEME | SETTINGS)


def own_look(kind: str, variant: str = "", id: str = "") -> tuple[str, str, str] | None:
    """Colour, marker and line that a kind of learner declares for an id, measure or surrogate; None if it has none."""
    declared = _looks_of(kind)
    for key in (f"#{id}", variant, ""):
        for looks in declared:
            if key in looks:
                colour, marker, line = looks[key]
                return COLOURS.get(colour, colour), marker, line
    return None


def _declares(kind: str, variant: str) -> bool:
    """Whether a kind of learner has a look for just this measure or surrogate."""
    return any(variant in looks for looks in _looks_of(kind))


def _looks_of(kind: str) -> list[Mapping]:
    """The looks that the classes of a kind of learner declare.

    None for one's own that cannot be imported: a figure is drawn of what was played, wherever that was.
    """
    try:
        return [learner.looks for learner in families.classes(kind)]
    except SettingError:
        return []


def looks(frame) -> dict[str, tuple[str, str, str]]:
    """Colour, marker and line of each learner of a figure's frame, all different.

    A learner has its own look or its kind's everywhere; the second of one kind and measure, or one of a kind without a
    look, takes the next spare one. The second of one kind and objective keeps their colour and line.

    frame : learner, kind, the measure or objective, if any, and `id`, if learners are called by something else
    """
    variant = next((name for name in ("objective", "own_measure") if name in frame), None)
    frame = frame if variant else frame.assign(none="")
    variant = variant or "none"
    taken, spare = {}, chain(product(LINES, OTHERS), product(LINES, product(PALETTE, "XdpH>")))
    spare = ((*colour_and_marker, line) for line, colour_and_marker in spare)
    frame = frame.assign(id=frame.get("id", frame["learner"])).drop_duplicates("learner")
    for learner, kind, what, name in frame[["learner", "kind", variant, "id"]].itertuples(index=False):
        look = own_look(kind, what, name) or next(spare)
        others = ((look[0], marker, look[2]) for marker in "XdpH><*h") if _declares(kind, what) else ()
        others = chain(others if variant == "objective" else (), spare)
        while look in taken.values():
            look = next(others)
        taken[learner] = look
    return taken

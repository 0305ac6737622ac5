"""What every figure has to be to be printed: nothing is too small, cut off, or on top of something
else.
"""

import re
import subprocess
import sys
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
import yaml
from matplotlib.colors import to_hex
from matplotlib.text import Text

from scant.ads import drawings as drawing_ads
from scant.declare import families
from scant.games import atlas, drawing_atlas
from scant.games import drawings as drawing_games
from scant.generalisation import drawings as drawing_learnt
from scant.present import figures, panels, style
from scant.rankers import drawings as drawing

pytestmark = pytest.mark.usefixtures("no_figure_is_left_open")

SMALLEST = 6  # points
# Numbers of cells and bounds, and names of guides.
INSIDE = re.compile(r"\d+|\d/\d|\d\.\d\d|-?\d?\.\d+--?\d?\.\d+|\$t(\^{.*})?\$|Theorem \d+")
COUNTED = re.compile(r"\bn = \d|\b\d+( to \d+)? (seed|play)s?\b")  # over how many of what means are


def frame(*points, **more) -> pd.DataFrame:
    """A frame of two streams and three learners, with rows at the points."""
    points = points or [{}]
    rows = [
        {
            "experiment": "e",
            "stream": stream,
            "panel": f"Stream {stream}",
            "reading": "as in the text",
        }
        | {
            "learner": kind,
            "label": kind.title(),
            "kind": kind,
            "k": 0,
            "measure": "ndcg@10",
            "tuning": "held-out",
        }
        | {"mean": value, "low": 0.9 * value, "high": 1.1 * value, "n": n}
        | point
        for stream, n in (("a", 5), ("b", 10))
        for kind, height in (("slam", 0.3), ("listnet", 0.5), ("random", 0.1))
        for place, point in enumerate(points)
        for value in [height + 0.05 * place]
    ]
    return pd.DataFrame(rows).assign(**more)


def rounds() -> pd.DataFrame:
    return frame(*({"round": 10**at} for at in range(5)), own_measure="ndcg@10")


def regrets() -> pd.DataFrame:
    slope = {"gap": 0.0, "slope": 0.5, "slope_low": 0.45, "slope_high": 0.55}
    return rounds().assign(
        objective="squared", judge="squared", steps="schedule", exploration="", **slope
    )


def ends() -> pd.DataFrame:
    rankings = (
        {"ranking": ranking, "place": place}
        for ranking in ("shown", "own")
        for place in ("1", "all")
    )
    return frame(*rankings, rounds=1000, objective="squared", user=None, line="Squared")


def stepped() -> pd.DataFrame:
    rates = ("best rate in hindsight", "tuned rate", "theory's rate", "rate 0.01")
    points = ({"steps": way} for way in (*rates, "AdaGrad", "DoG", "coin betting", "COCOB"))
    return frame(*points, rounds=10_000).assign(base=lambda rows: rows["label"] + ", top 1")


def grown(along: str) -> pd.DataFrame:
    slope = {
        "slope": 0.5,
        "slope_low": 0.45,
        "slope_high": 0.55,
        "bound": 100.0,
        "measure": "position-loss",
    }
    points = {"horizon": (1000, 10_000, 100_000), "items": (5, 20, 80)}[along]
    return frame(*({along: point} for point in points)).assign(
        **{"horizon": 10_000} | slope | {along: lambda x: x[along]}
    )


def learnt(along: str) -> pd.DataFrame:
    slope = {
        "slope": -0.5,
        "slope_low": -0.55,
        "slope_high": -0.45,
        "bound": 9.0,
        "bound_by": "Theorem 38",
    }
    sizes = {"queries": 100, "documents": 10, "features": 20, "measured": "excess"}
    points = frame(*({along: point} for point in (10, 100, 1000)))
    return points.assign(**slope | {name: value for name, value in sizes.items() if name != along})


def covered() -> pd.DataFrame:
    rows = [
        {
            "campaign": campaign,
            "policy": policy,
            "rows": size,
            "side": side,
            "bound": bound,
            "group": group,
        }
        for campaign in ("hotel", "bank", "hotel, rare logging", "bank, rare logging", "contrary")
        for policy in ("epsilon-greedy", "deterministic")
        for size in (2000, 20_000)
        for side in ("lower", "two-sided")
        for group, bounds in {
            "exact": ("betting", "hoeffding"),
            "in the limit": ("t", "snips, delta"),
        }.items()
        for bound in bounds
    ]
    share = np.resize([0.97, 0.6, 1.0], len(rows))
    held = {
        "coverage": share,
        "coverage_low": share - 0.02,
        "coverage_high": share,
        "width_mean": 0.2 + share,
    }
    return pd.DataFrame(rows).assign(level=0.95, repeats=2000, **held)


def observed() -> pd.DataFrame:
    """Every cell has a slope."""
    cells = atlas.atlas_frame(5).drop(columns="rate")
    return atlas.atlas_frame(
        5, cells.assign(slope=0.664, low=0.94, high=1.06, verdict="faster", n=5)
    )


ADS = {"epsilon": 0.0, "of": "ips", "lower": 0.05, "exact_lower": 0.04, "true": 0.2, "level": 0.95}
FRAMES = {
    drawing.curves: rounds,
    drawing.losses: rounds,
    drawing.against_k: ends,
    drawing.regrets: regrets,
    drawing.dots: ends,
    drawing.steps: stepped,
    drawing_games.averages: lambda: rounds().assign(horizon=10_000, k=0),
    drawing_games.against_horizon: lambda: grown("horizon"),
    drawing_games.against_items: lambda: grown("items"),
    drawing_games.times: lambda: frame(
        *({"items": m, "microseconds": float(m)} for m in (5, 20, 80)), n=3
    ),
    drawing_atlas.atlas: observed,
    drawing_ads.deterministic: lambda: frame(**ADS),
    drawing_ads.weighted: lambda: frame(**ADS),
    drawing_ads.by_rate: lambda: frame({"rate": 0.001}, {"rate": 0.01}, **ADS),
    drawing_ads.coverage: covered,
    drawing_learnt.against_n: lambda: learnt("queries"),
    drawing_learnt.against_m: lambda: learnt("documents"),
    drawing_learnt.against_d: lambda: learnt("features"),
}


def test_the_drawings_here_are_of_figures():
    drawn = {families.called(shown.draw) for _, shown in families.shown() if shown.draw}
    assert {*FRAMES} <= drawn


def faults(figure) -> list[str]:
    """What is wrong with a figure in print."""
    figure.draw_without_rendering()
    axes = [axis for axis in figure.axes if axis.axison]
    texts = [
        text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()
    ]
    beyond = set()  # ticks that are out of sight
    ticks = set()
    for axis in axes:
        for one, ends in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
            for tick in (*one.get_major_ticks(), *one.get_minor_ticks()):
                (ticks if min(ends) <= tick.get_loc() <= max(ends) else beyond).update(
                    (tick.label1, tick.label2)
                )
    # Of text alone, without an annotation's line.
    seen = {text: Text.get_window_extent(text).padded(-1) for text in texts if text not in beyond}
    found = [f"small: {text.get_text()}" for text in seen if text.get_fontsize() < SMALLEST]
    found += [
        f"cut off: {text.get_text()}"
        for text, box in seen.items()
        if not (figure.bbox.contains(*box.min) and figure.bbox.contains(*box.max))
    ]
    found += [
        f"overlap: {one.get_text()} | {other.get_text()}"
        for (one, first), (other, second) in combinations(seen.items(), 2)
        # boxes of slanted names overlap, they do not
        if first.overlaps(second) and not one.get_rotation() % 90
    ]
    for axis in axes:
        inside = axis.get_window_extent().padded(-1)
        found += [
            f"inside: {text.get_text()}"
            for text, box in seen.items()
            if text not in ticks and box.overlaps(inside) and not INSIDE.fullmatch(text.get_text())
        ]
        found += [
            f"no label: {one.axis_name} of {axis}"
            for one in (axis.xaxis, axis.yaxis)
            if not named(one, axes)
        ]
    if not any(COUNTED.search(text.get_text()) for text in seen):
        found.append("no n")
    return found


def named(one, axes) -> bool:
    """Whether an axis has a label, names for numbers, nothing to tell, or shares a neighbour's."""
    names = [text.get_text() for text in one.get_ticklabels() if text.get_visible()]
    if (
        one.get_label_text()
        or not one.get_ticklocs().size
        or any(re.search("[a-zA-Z]{3}", name) for name in names)
    ):
        return True
    return any(
        named(getattr(axis, f"{one.axis_name}axis"), axes) for axis in axes if _in_line(axis, one)
    )


def _in_line(axis, one) -> bool:
    """Whether another panel stands left of this axis' panel, for y, or below it, for x."""
    own, other = one.axes.get_subplotspec(), axis.get_subplotspec()
    if one.axis_name == "y":
        return own.rowspan == other.rowspan and other.colspan.start < own.colspan.start
    return own.colspan == other.colspan and other.rowspan.start > own.rowspan.start


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", FRAMES, ids=lambda draw: getattr(draw, "__name__", "against"))
def test_figures_can_be_printed(draw):
    figure = draw(FRAMES[draw]())
    assert faults(figure) == []
    assert figure.get_figwidth() <= 7.2  # inches of a page


def spread(shown: pd.DataFrame, streams: int) -> pd.DataFrame:
    """A frame of as many streams as asked for, with the titles of a real study."""
    (one, *_) = shown["stream"].unique()
    titles = ["MQ2008", "MSLR-WEB30K, 36 queries", "OHSUMED", "Yandex, 104 queries"]
    return pd.concat(
        [
            shown[shown["stream"] == one].assign(
                stream=f"s{number}",
                panel=titles[number % 4] + " again" * (number // 4),
                reading="thesis, mismatch 10, T = 50,000",
            )
            for number in range(streams)
        ],
        ignore_index=True,
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "draw",
    [draw for draw, shown in FRAMES.items() if "stream" in shown()],
    ids=lambda draw: getattr(draw, "__name__", "against"),
)
def test_figures_of_six_streams_with_long_titles_can_be_printed(draw):
    figure = draw(spread(FRAMES[draw](), 6))
    assert faults(figure) == []
    assert figure.get_figwidth() <= 7.2


def test_faults_are_found():
    figure, axis = plt.subplots()
    axis.set_title("title", y=0.5)
    axis.text(0.5, 0.52, "1", fontsize=5)
    axis.text(1, -0.5, "far below the figure", va="top")
    wrong = faults(figure)
    assert {one.partition(":")[0] for one in wrong} >= {"small", "inside", "no label", "no n"}
    assert sum(one.startswith("cut off") for one in wrong) == 1 and any(
        one.startswith("overlap") for one in wrong
    )


def test_a_study_may_ask_for_columns_larger_letters_and_pdf(monkeypatch, tmp_path):
    frame_ = rounds().assign(horizon=10_000, k=0)
    monkeypatch.setenv(style.ENVIRONMENT, '{"width": "column", "font_size": 12, "pdf": true}')
    figure = drawing_games.averages(frame_)
    assert figure.get_figwidth() == panels.COLUMN
    assert figure.axes[0].xaxis.label.get_fontsize() == 12
    figures.save(figure, frame_, tmp_path / "a")
    figures.save(drawing_games.averages(frame_), frame_, tmp_path / "b/a")
    content = (tmp_path / "a.pdf").read_bytes()
    assert (
        content.startswith(b"%PDF") and b"DejaVuSans" in content and b"CreationDate" not in content
    )
    assert content == (tmp_path / "b/a.pdf").read_bytes()


# tables of small cells, as docs/results.md says
PAGE_ONLY = {drawing_atlas.atlas, drawing_ads.coverage}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", FRAMES, ids=lambda draw: getattr(draw, "__name__", "against"))
def test_figures_for_a_column_are_as_wide_as_one(draw, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(style.ENVIRONMENT, '{"width": "column"}')
    shown = FRAMES[draw]()
    figure = draw(shown)
    figures.save(figure, shown, tmp_path / "a")
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(sizes) >= SMALLEST and not [
        fault for fault in faults(figure) if not fault.startswith("inside")
    ]
    assert (figure.get_figwidth() == panels.COLUMN) != (draw in PAGE_ONLY)
    assert ("does not fit a column" in capsys.readouterr().out) == (draw in PAGE_ONLY)


def test_a_crowded_panel_is_divided_by_what_learners_see_or_else_equally():
    panel = {"experiment": "e", "stream": "s", "panel": "S"}
    rows = pd.DataFrame(panel | {"learner": list("abcdefg"), "k": [0, 0, 1, 1, 1, 1, 1]})
    divided = drawing_games._apart(rows)
    assert divided.groupby("panel")["learner"].agg("".join).to_dict() == {
        "S, all items seen": "ab",
        "S, the top seen": "cdefg",
    }
    assert set(divided["of"]) == {"s"}
    assert set(drawing_games._apart(rows.iloc[:5])["panel"]) == {"S"}
    alike = drawing_games._apart(pd.DataFrame(panel | {"learner": list("abcdefgh"), "k": 0}))
    assert alike.groupby("panel")["learner"].agg("".join).to_dict() == {
        "S, 1 of 2": "abcd",
        "S, 2 of 2": "efgh",
    }


def test_no_panel_of_rounds_names_more_learners_than_can_be_told_apart():
    """The other learners of the game are there, in one grey."""
    many = pd.concat(
        [rounds().assign(learner=f"l{n}", label=f"Learner {n}", kind=f"m:L{n}") for n in range(8)]
    )
    many = (
        many[many["stream"] == "a"]
        .drop_duplicates(["learner", "round"])
        .assign(horizon=10_000, k=0)
    )
    figure = drawing_games.averages(many)
    assert len(figure.axes) == 2 and faults(figure) == []
    for axis in figure.axes:
        curves = [line for line in axis.lines if len(line.get_xdata()) == 5]
        assert len(curves) == 8 and sum(line.get_color() == "0.8" for line in curves) == 4
        assert len([text for text in axis.texts if text.get_text().startswith("Learner")]) == 4


def test_a_single_data_set_has_a_single_panel_of_all_experiments():
    one = frame(**ADS)
    one = one[one["stream"] == one["stream"].iloc[0]].assign(panel="Digits", tuning="paper")
    both = pd.concat(
        [
            one.assign(experiment="x", reading="X"),
            one.assign(experiment="y", reading="Y", tuning="held-out"),
        ]
    )
    drawn = drawing_ads.deterministic(both)
    (axis,) = drawn.axes
    assert [tick.get_text().partition(",")[0] for tick in axis.get_xticklabels()] == [
        "X",
        "Y",
    ] and faults(drawn) == []


def test_panels_of_one_title_are_told_apart_by_their_readings():
    rows = [("e", "s", "Flips", "below"), ("f", "s", "Flips", "above"), ("g", "t", "Zipf", "above")]
    # which their readings do not tell apart
    rows += [("h", "u", "Same", "x"), ("i", "u", "Same", "x")]
    frame = pd.DataFrame(rows, columns=["experiment", "stream", "panel", "reading"])
    drawn = panels.distinct(frame)
    assert drawn["panel"].tolist() == ["Below", "Above", "Zipf", "Same", "Same"]
    assert drawn["reading"].tolist() == ["Flips", "Flips", "above", "x", "x"]


def test_what_is_missing_to_1_is_drawn():
    axis = drawing.losses(rounds()).axes[0]
    highest = {line.get_label(): line.get_ydata() for line in axis.lines}["Listnet"]
    assert axis.get_yscale() == "log" and highest == pytest.approx([0.5, 0.45, 0.4, 0.35, 0.3])


ALWAYS_SLOW = {"seaborn", "scipy", "sklearn", "numba", "jsonschema", "yaml"}


@pytest.mark.parametrize(
    ("drawn", "slow"),
    [(True, ALWAYS_SLOW), (False, ALWAYS_SLOW | {"matplotlib"})],
    ids=["figures", "tables"],
)
def test_a_figure_or_table_pays_for_its_own_imports_only(drawn, slow):
    """Of all of them together: to draw one asks every learner how it looks."""
    code = f"""
import sys
from scant.declare import families

for shown in [shown for _, shown in families.shown() if bool(shown.draw) == {drawn}]:
    assert all(map(families.called, filter(None, (shown.frame, shown.draw))))
for kind in families.kinds() if {drawn} else ():
    from scant.present import figures, panels, style

    style.own_look(kind)
print(*sys.modules)
"""
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "pandas" in modules and slow.isdisjoint(modules)


@pytest.mark.parametrize("kind", families.FAMILIES)
def test_a_job_imports_its_own_family_only(kind):
    code = (
        f"import sys; from scant.declare import families; families.of({{'kind': {kind!r}}}); "
        "print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {
        "pandas",
        "pyarrow",
        "matplotlib",
        "numba",
        "scipy",
        "sklearn",
        "jsonschema",
    }.isdisjoint(modules)
    own = families.FAMILIES[kind].partition(":")[0]
    assert {
        module for module in families.FAMILIES.values() if module.partition(":")[0] in modules
    } == {module for module in families.FAMILIES.values() if module.startswith(f"{own}:")}


def test_the_look_is_seaborns():
    palette = sns.color_palette("colorblind", 10).as_hex()
    ours = [style.COLOURS["pink"] if colour == "#fbafe4" else colour for colour in palette]
    ours = [style.COLOURS["olive"] if colour == "#ece133" else colour for colour in ours]
    assert list(style.PALETTE) == ours, "but for two that are hard to see on white"
    with plt.rc_context({"axes.facecolor": "red", "lines.linewidth": 9}):  # whatever was set before
        style.apply()
        ours = dict(plt.rcParams)
        plt.rcdefaults()
        sns.set_theme(
            context="paper", style="ticks", palette=list(style.PALETTE), rc=style.SETTINGS
        )
        theirs = dict(plt.rcParams)
    of_images = {"image.cmap"}  # there are none
    for key in theirs.keys() - of_images:
        one, other = (_plain(key, rc[key]) for rc in (ours, theirs))
        assert one == other or one == pytest.approx(other), key


def _plain(key: str, value):
    """Colours in one notation."""
    if key == "axes.prop_cycle":
        return [to_hex(colour) for colour in value.by_key()["color"]]
    return to_hex(value) if key == "patch.facecolor" else value


# --- panels


def test_how_many_seeds_is_said_as_one_number_or_as_two():
    assert [panels.count(pd.DataFrame({"n": n})) for n in ([10, 10], [8, 1000])] == [
        "n = 10",
        "n = 8 to 1,000",
    ]


def test_bands_are_fainter_where_there_are_more():
    assert [panels.alpha(range(count)) for count in (1, 4, 8)] == [0.2, 0.2, 0.1]


def test_learners_of_one_title_are_told_apart_by_their_ids():
    frame = pd.DataFrame(
        yaml.safe_load(
            """{experiment: e, stream: [a, a, b, b, b], learner: [x, y, z, v, w], label: [Same,
            Same, Alone, Kinds, Other], kind: slam}"""
        )
    )
    assert panels.named(frame)["learner"].tolist() == [
        "Same (x)",
        "Same (y)",
        "Alone",
        "Kinds",
        "Other",
    ]
    of_kinds = frame.assign(
        label=["One", "Two", "Kinds", "Kinds", "Other"], kind=["slam"] * 3 + ["listnet"] * 2
    )
    of_kinds["stream"] = list("abcde")
    assert panels.named(of_kinds)["learner"].tolist() == [
        "One",
        "Two",
        "Kinds (z)",
        "Kinds (v)",
        "Other",
    ]


def test_markers_of_curves_that_coincide_stand_beside_each_other():
    _, axis = plt.subplots()
    rows = pd.DataFrame({"learner": "a", "round": range(60), "mean": 0.5, "low": 0.4, "high": 0.6})
    lines = [panels.curve(axis, rows, ("red", "o", "-"), 0.1) for _ in range(3)]
    assert [line.get_markevery() for line in lines] == [(0, 10), (1, 10), (2, 10)]
    plt.close("all")

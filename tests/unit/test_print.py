"""What figures have to be to be printed: nothing is too small, cut off, or on top of others."""

import re
import subprocess
import sys
from itertools import combinations, product

import drawn
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import prose
import pytest
import seaborn as sns
import yaml
from matplotlib.colors import to_hex
from matplotlib.text import Text

from scant.ads import drawings as drawing_ads
from scant.clicklogs import drawings as drawing_clicks
from scant.declare import families
from scant.games import atlas, drawing_atlas
from scant.games import drawings as drawing_games
from scant.generalisation import drawings as drawing_learnt
from scant.present import figures, panels, style
from scant.rankers import drawings as drawing

pytestmark = pytest.mark.usefixtures("no_figure_is_left_open")
SMALLEST = 6  # points
IMAGES = prose.images()
# Numbers of cells and bounds, and names of guides.
INSIDE = re.compile(
    r"(more than )?[\d,]+ rounds|"
    r"\d+|\d/\d|\d\.\d\d|-?\d?\.\d+--?\d?\.\d+|\$t(\^{.*})?\$|Theorem \d+|Maurer|\(4\.8\)"
)
COUNTED = re.compile(r"\bn = \d|\b\d+( to \d+)? (seed|play)s?\b")  # over how many of what means are


def frame(*points, **more) -> pd.DataFrame:
    """A frame of two streams and three learners, with rows at the points."""
    alike = {"experiment": "e", "reading": "as in the text", "k": 0, "measure": "ndcg@10"}
    rows = [
        alike
        | {"stream": stream, "panel": f"Stream {stream}", "n": n, "tuning": "held-out"}
        | {"learner": kind, "label": kind.title(), "kind": kind}
        | {"mean": value, "low": 0.9 * value, "high": 1.1 * value}
        | point
        for stream, n in (("a", 5), ("b", 10))
        for kind, height in (("slam", 0.3), ("listnet", 0.5), ("random", 0.1))
        for place, point in enumerate(points or [{}])
        for value in [height + 0.05 * place]
    ]
    return pd.DataFrame(rows).assign(**more)


def rounds() -> pd.DataFrame:
    return frame(*({"round": 10**at} for at in range(5)), own_measure="ndcg@10")


def regrets() -> pd.DataFrame:
    slope = {"gap": 0.0, "slope": 0.5, "slope_low": 0.45, "slope_high": 0.55}
    steps = {"objective": "squared", "judge": "squared", "steps": "schedule", "exploration": ""}
    return rounds().assign(**steps | slope)


def ends() -> pd.DataFrame:
    places = product(("shown", "own"), ("1", "all"))
    rankings = ({"ranking": ranking, "place": place} for ranking, place in places)
    return frame(*rankings, rounds=1000, objective="squared", user=None, line="Squared")


def costs() -> pd.DataFrame:
    """NDCG@10 less ListNet's by what was seen and how it was used."""
    seen = {"one": 1.0, "two": 2.0, "ten": 10.0}
    points = product(seen.items(), drawing.USED)
    points = ({"feedback": text, "seen": k, "use": use} for (text, k), use in points)
    rows = frame(*points, rounds=10_000, of=2, reference="Newton")
    return rows[rows["learner"] == "slam"].assign(mean=-0.1, low=-0.2, high=0.0)


def returned() -> pd.DataFrame:
    """NDCG@10 less the best learner's by how often queries return, on streams and of a data set."""
    points = product(
        drawing.RETURNING, ("one grade", "every grade"), ((2.5, "5"), (10.0, "5"), (20.0, "data"))
    )
    points = (
        {"use": use, "feedback": seen, "returns": returns, "line": line}
        for use, seen, (returns, line) in points
    )
    rows = frame(*points, rounds=10_000, of=2, reference="Newton", reading="rates tuned")
    return rows[rows["learner"] == "slam"].assign(mean=-0.1, low=-0.2, high=0.0)


def bought() -> pd.DataFrame:
    """NDCG@10 by grades bought, and after starts from lists."""
    points = [{"line": "none", "grades": 10.0**at, "lists": 0} for at in range(4)]
    for judge in ("human", "30% wrong"):
        points += [{"line": judge, "grades": 40.0 * n, "lists": n} for n in (1, 10, 100)]
    points = [point | {"part": "worth", "start": "alone"} for point in points]
    points += [
        {"part": "start", "line": judge, "start": start, "lists": 30, "grades": 1200.0}
        for judge, start in product(("human", "30% wrong"), ("trusted", "chosen"))
    ]
    rows = frame(*points, rounds=3000)
    return rows[rows["learner"] == "slam"].reset_index(drop=True)


def visited() -> pd.DataFrame:
    return frame(*({"visits": 10**at} for at in (3, 4, 5)), bias=-0.033, held=16.0, objective="")


def fitted() -> pd.DataFrame:
    return visited().assign(logging=lambda rows: 0.5 + rows["visits"] / 1e6, log="log")


def stepped() -> pd.DataFrame:
    rates = ("best rate in hindsight", "tuned rate", "theory's rate", "rate 0.01")
    points = ({"steps": way} for way in (*rates, "AdaGrad", "DoG", "coin betting", "COCOB"))
    return frame(*points, rounds=10_000).assign(base=lambda rows: rows["label"] + ", top 1")


def grown(along: str) -> pd.DataFrame:
    slope = {"slope": 0.5, "slope_low": 0.45, "slope_high": 0.55, "bound": 100.0}
    points = {"horizon": (1000, 10_000, 100_000), "items": (5, 20, 80)}[along]
    rows = frame(*({"horizon": 10_000, along: point} for point in points))
    return rows.assign(measure="position-loss", **slope)


def learnt(along: str) -> pd.DataFrame:
    slope = {"slope": -0.5, "slope_low": -0.55, "slope_high": -0.45, "bound": 9.0}
    sizes = {"queries": 100, "documents": 10, "features": 20}
    points = frame(*(sizes | {along: point} for point in (10, 100, 1000)))
    return points.assign(measured="excess", bound_by="Theorem 38", **slope)


def covered() -> pd.DataFrame:
    campaigns = ("hotel", "bank", "hotel, rare logging", "bank, rare logging", "contrary")
    groups = yaml.safe_load(
        "{betting: exact, hoeffding: exact, t: in the limit, 'snips, delta': in the limit}"
    )
    columns = ["campaign", "policy", "rows", "side", "bound"]
    policies, sides = ("epsilon-greedy", "deterministic"), ("lower", "two-sided")
    rows = pd.DataFrame(
        product(campaigns, policies, (2000, 20_000), sides, groups), columns=columns
    )
    share = np.resize([0.97, 0.6, 1.0], len(rows))
    held = {"coverage": share, "coverage_low": share - 0.02, "coverage_high": share}
    group = rows["bound"].map(groups)
    return rows.assign(level=0.95, repeats=2000, group=group, width_mean=0.2 + share, **held)


def observed() -> pd.DataFrame:
    """Every cell has a slope."""
    cells = atlas.atlas_table()[["measure", "grades", "m", "k", "rate"]]
    return cells.assign(slope=0.664, low=0.94, high=1.06, verdict="faster", n=5)


ADS = {"epsilon": 0.0, "of": "ips", "lower": 0.05, "exact_lower": 0.04, "true": 0.2, "level": 0.95}
FRAMES = {
    drawing.curves: rounds,
    drawing.losses: rounds,
    drawing.against_k: ends,
    drawing.regrets: regrets,
    drawing.dots: ends,
    drawing.steps: stepped,
    drawing.feedback: costs,
    drawing.returns: returned,
    drawing.worth: bought,
    drawing_clicks.premises: visited,
    drawing_clicks.learning: visited,
    drawing_clicks.strength: fitted,
    drawing_games.averages: lambda: rounds().assign(horizon=10_000, k=0),
    drawing_games.against_horizon: lambda: grown("horizon"),
    drawing_games.against_items: lambda: grown("items"),
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
    assert {*FRAMES} == drawn


def faults(figure) -> list[str]:
    """What is wrong with a figure in print."""
    figure.draw_without_rendering()
    axes = [axis for axis in figure.axes if axis.axison]
    beyond, ticks = set(), set()  # ticks that are out of sight, and the others
    for axis in axes:
        for one, ends in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
            for tick in (*one.get_major_ticks(), *one.get_minor_ticks()):
                inside = min(ends) <= tick.get_loc() <= max(ends)
                (ticks if inside else beyond).update((tick.label1, tick.label2))
    hidden = {one for axis in figure.axes if not axis.axison for one in axis.findobj(Text)}
    texts = [one for one in figure.findobj(Text) if one.get_text().strip() and one.get_visible()]
    # Of text alone, without an annotation's line.
    seen = {
        text: Text.get_window_extent(text).padded(-1)
        for text in texts
        if text not in beyond | hidden
    }
    found = [f"no label: {one.axis_name} of {axis}" for axis in axes for one in unnamed(axis, axes)]
    for text, box in seen.items():
        what = text.get_text()
        if text.get_fontsize() < SMALLEST:
            found.append(f"small: {what}")
        if not (figure.bbox.contains(*box.min) and figure.bbox.contains(*box.max)):
            found.append(f"cut off: {what}")
        panels = [axis.get_window_extent().padded(-1) for axis in axes]
        if text not in ticks and not INSIDE.fullmatch(what):
            found += [f"inside: {what}" for panel in panels if box.overlaps(panel)]
    found += [
        f"overlap: {one.get_text()} | {other.get_text()}"
        for (one, first), (other, second) in combinations(seen.items(), 2)
        # boxes of slanted names overlap, they do not
        if first.overlaps(second) and not one.get_rotation() % 90
    ]
    if not any(COUNTED.search(text.get_text()) for text in seen):
        found.append("no n")
    return found


def unnamed(axis, axes) -> list:
    """The axes of a panel that nothing names."""
    return [one for one in (axis.xaxis, axis.yaxis) if not named(one, axes)]


def named(one, axes) -> bool:
    """Whether an axis has a label, names for numbers, nothing to tell, or shares a neighbour's."""
    names = [text.get_text() for text in one.get_ticklabels() if text.get_visible()]
    if one.get_label_text() or not one.get_ticklocs().size:
        return True
    if any(re.search("[a-zA-Z]{3}", name) for name in names):
        return True
    name = f"{one.axis_name}axis"
    return any(named(getattr(axis, name), axes) for axis in axes if _in_line(axis, one))


def _in_line(axis, one) -> bool:
    """Whether another panel stands left of this axis' panel, for y, or below it, for x."""
    own, other = one.axes.get_subplotspec(), axis.get_subplotspec()
    if one.axis_name == "y":
        return own.rowspan == other.rowspan and other.colspan.start < own.colspan.start
    return own.colspan == other.colspan and other.rowspan.start > own.rowspan.start


def spread(shown: pd.DataFrame, streams: int) -> pd.DataFrame:
    """A frame of as many streams as asked for, with the titles of a real study."""
    titles = ["MQ2008", "MSLR-WEB30K, 36 queries", "OHSUMED", "Yandex, 104 queries"]
    one = shown[shown["stream"] == shown["stream"].iloc[0]]
    one = one.assign(reading="thesis, mismatch 10, T = 50,000")
    return pd.concat(
        [
            one.assign(stream=f"s{at}", panel=titles[at % 4] + " again" * (at // 4))
            for at in range(streams)
        ],
        ignore_index=True,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", sorted({*drawn.largest(), *IMAGES} & {*drawn.kept()}))
def test_figures_of_shipped_studies_can_be_printed(name, tmp_path):
    """Each where it shows most, and those of documents, whose images are what is drawn today."""
    shown, stem = drawn.frame(name), tmp_path / name.split("/")[1]
    figure = drawn.draw(shown, stem.name)
    if image := IMAGES.get(name):
        figures.save(figure, shown, stem)
        assert prose.same_image(image, stem.with_name(f"{stem.name}.png")), (
            "python tests/prose.py --write puts them right"
        )
    assert faults(figure) == []
    assert figure.get_figwidth() <= 7.2


def test_a_text_over_another_or_beyond_the_figure_is_found():
    figure = drawing.curves(rounds())
    assert faults(figure) == []
    axis = figure.axes[0]
    axis.yaxis.label.set_x(axis.title.get_window_extent().x0)
    axis.set_title("A title of many more words than its panel has room for " * 4, loc="left")
    found = " ".join(faults(figure))
    assert "cut off: A title of many" in found and "overlap: A title of many" in found


BY_NAME = {"argnames": "draw", "ids": lambda draw: getattr(draw, "__name__", "against")}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("streams", ["fewer", 6])
@pytest.mark.parametrize(argvalues=FRAMES, **BY_NAME)
def test_figures_of_one_to_six_streams_with_long_titles_can_be_printed(draw, streams):
    shown = FRAMES[draw]()
    streams = streams if streams == 6 else 1 + [*FRAMES].index(draw) % 5
    figure = draw(spread(shown, streams) if "stream" in shown else shown)
    assert faults(figure) == []
    assert figure.get_figwidth() <= 7.2  # inches of a page


def test_a_study_may_ask_for_columns_larger_letters_and_pdf(monkeypatch, tmp_path):
    frame_ = rounds().assign(horizon=10_000, k=0)
    monkeypatch.setenv(style.ENVIRONMENT, '{"width": "column", "font_size": 12, "pdf": true}')
    figure = drawing_games.averages(frame_)
    assert figure.get_figwidth() == panels.COLUMN
    assert figure.axes[0].xaxis.label.get_fontsize() == 12
    figures.save(figure, frame_, tmp_path / "a")
    content = (tmp_path / "a.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"DejaVuSans" in content
    assert b"CreationDate" not in content


# tables of small cells, as docs/results.md says
PAGE_ONLY = {drawing_atlas.atlas, drawing_ads.coverage}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(argvalues=FRAMES, **BY_NAME)
def test_figures_for_a_column_are_as_wide_as_one(draw, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(style.ENVIRONMENT, '{"width": "column"}')
    shown = FRAMES[draw]()
    figure = draw(shown)
    assert [fault for fault in faults(figure) if not fault.startswith("inside")] == []
    assert (figure.get_figwidth() == panels.COLUMN) != (draw in PAGE_ONLY)
    if draw in {drawing.curves, *PAGE_ONLY}:
        figures.save(figure, shown, tmp_path / "a")
        assert ("does not fit a column" in capsys.readouterr().out) == (draw in PAGE_ONLY)


def test_a_crowded_panel_is_divided_by_what_learners_see_or_else_equally():
    def divided(learners, k):
        rows = {"experiment": "e", "stream": "s", "panel": "S", "learner": list(learners), "k": k}
        found = drawing_games._apart(pd.DataFrame(rows))
        assert found.get("of", found["stream"]).eq("s").all()
        return found.groupby("panel")["learner"].agg("".join).to_dict()

    seen = [0, 0, 1, 1, 1, 1, 1]
    assert divided("abcdefg", seen) == {"S, all items seen": "ab", "S, the top seen": "cdefg"}
    assert divided("abcde", seen[:5]) == {"S": "abcde"}
    assert divided("abcdefgh", 0) == {"S, 1 of 2": "abcd", "S, 2 of 2": "efgh"}


def test_no_panel_of_rounds_names_more_learners_than_can_be_told_apart():
    """The other learners of the game are there, in one grey."""
    one = rounds().assign(horizon=10_000, k=0)
    one = one[(one["stream"] == "a") & (one["learner"] == "slam")]
    learners = [one.assign(learner=f"l{n}", label=f"Learner {n}", kind=f"m:L{n}") for n in range(8)]
    figure = drawing_games.averages(pd.concat(learners))
    assert len(figure.axes) == 2 and faults(figure) == []
    for axis in figure.axes:
        curves = [line for line in axis.lines if len(line.get_xdata()) == 5]
        assert len(curves) == 8 and sum(line.get_color() == "0.8" for line in curves) == 4
        assert len([text for text in axis.texts if text.get_text().startswith("Learner")]) == 4


def test_a_single_data_set_has_a_single_panel_of_all_experiments():
    one = frame(**ADS)
    one = one[one["stream"] == "a"].assign(panel="Digits", tuning="paper")
    other = one.assign(experiment="y", reading="Y", tuning="held-out")
    drawn = drawing_ads.deterministic(pd.concat([one.assign(experiment="x", reading="X"), other]))
    (axis,) = drawn.axes
    names = [tick.get_text().partition(",")[0] for tick in axis.get_xticklabels()]
    assert names == ["X", "Y"] and faults(drawn) == []


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
    [highest] = [line.get_ydata() for line in axis.lines if max(line.get_ydata()) == 0.5]
    assert axis.get_yscale() == "log" and highest == pytest.approx([0.5, 0.45, 0.4, 0.35, 0.3])


ALWAYS_SLOW = {"seaborn", "scipy", "sklearn", "numba", "jsonschema", "yaml"}


def modules_after(code: str) -> set[str]:
    """The modules that a process has imported after some code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()}


@pytest.mark.parametrize(
    ("drawn", "slow"),
    [(True, ALWAYS_SLOW), (False, ALWAYS_SLOW | {"matplotlib"})],
    ids=["figures", "tables"],
)
def test_a_figure_or_table_pays_for_its_own_imports_only(drawn, slow):
    """Of all of them together: to draw one asks every learner how it looks."""
    modules = modules_after(f"""
from scant.declare import families

for shown in [shown for _, shown in families.shown() if bool(shown.draw) == {drawn}]:
    assert all(map(families.called, filter(None, (shown.frame, shown.draw))))
for kind in families.kinds() if {drawn} else ():
    from scant.present import figures, panels, style

    style.own_look(kind)
""")
    assert "pandas" in modules and slow.isdisjoint(modules)


@pytest.mark.parametrize("kind", families.FAMILIES)
def test_a_job_imports_its_own_family_only(kind):
    modules = modules_after(
        f"from scant.declare import families; families.of({{'kind': {kind!r}}})"
    )
    assert modules.isdisjoint(
        {"pandas", "pyarrow", "matplotlib", *ALWAYS_SLOW} - {"yaml", "seaborn"}
    )
    places = {name.partition(":")[0] for name in families.FAMILIES.values()}
    assert modules & places == {families.FAMILIES[kind].partition(":")[0]}


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
        for key in theirs.keys() - of_images:  # in the context: C0 is a colour of the cycle set
            one, other = (_plain(key, rc[key]) for rc in (ours, theirs))
            assert one == other or one == pytest.approx(other), key


def _plain(key: str, value):
    """Colours in one notation."""
    if key == "axes.prop_cycle":
        return [to_hex(colour) for colour in value.by_key()["color"]]
    return to_hex(value) if key == "patch.facecolor" else value


# --- panels
def test_how_many_seeds_is_said_and_bands_are_fainter_where_there_are_more():
    said = [panels.count(pd.DataFrame({"n": n})) for n in ([10, 10], [8, 1000])]
    assert said == ["n = 10", "n = 8 to 1,000"]
    assert [panels.alpha(range(count)) for count in (1, 4, 8)] == [0.2, 0.2, 0.1]


def test_a_slope_has_the_decimals_that_tell_its_ends_apart():
    ends = {(0.64, 0.69): "0.66 [0.64, 0.69]", (0.6585, 0.6621): "0.660 [0.658, 0.663]"}
    ends |= {(0.66, 0.66): "0.66", (np.nan, np.nan): "0.66"}
    for (low, high), text in ends.items():
        assert panels.slope({"slope": 0.66, "slope_low": low, "slope_high": high}) == text


def test_learners_of_one_title_are_told_apart_by_their_ids():
    rows = {"experiment": "e", "learner": [*"xyzvw"], "kind": "slam"}
    rows |= {"stream": [*"aabbb"], "label": ["Same", "Same", "Alone", "Kinds", "Other"]}
    told = ["Same (x)", "Same (y)", "Alone", "Kinds", "Other"]
    assert panels.named(pd.DataFrame(rows))["learner"].tolist() == told
    rows |= {"label": ["One", "Two", "Kinds", "Kinds", "Other"], "stream": [*"abcde"]}
    rows["kind"] = ["slam"] * 3 + ["listnet"] * 2
    told = ["One", "Two", "Kinds (z)", "Kinds (v)", "Other"]
    assert panels.named(pd.DataFrame(rows))["learner"].tolist() == told


def test_markers_of_curves_that_coincide_stand_beside_each_other():
    _, axis = plt.subplots()
    rows = pd.DataFrame({"learner": "a", "round": range(60), "mean": 0.5, "low": 0.4, "high": 0.6})
    lines = [panels.curve(axis, rows, ("red", "o", "-"), 0.1) for _ in range(3)]
    assert [line.get_markevery() for line in lines] == [(0, 10), (1, 10), (2, 10)]
    plt.close("all")

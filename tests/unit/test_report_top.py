"""Reports of feedback at the top: tables and figures of runs whose outcome is known."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from rows import entries, gathered, interval, row, three
from toys import SHOWN

from scant.data import stream as streams
from scant.declare import families
from scant.declare.declarations import TUNING
from scant.errors import DataError, SettingError
from scant.files import write_parquet
from scant.present import making, style, traces
from scant.rankers import drawings as drawing
from scant.rankers import frames_top as top
from scant.rankers.family import Top
from scant.rankers.run import run
from scant.rankers.top import OBJECTIVES
from scant.rankers.traces import PLAYED, way
from scant.study.plan import Plan, Runs
from scant.study.settings import load

pytestmark = pytest.mark.usefixtures("no_figure_is_left_open")
ROUNDS = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
LEARNERS = {  # id: kind, objective, k
    "squared": ("rtop", "squared", 1),
    "squared-5": ("rtop", "squared", 5),
    "ranksvm": ("rtop", "ranksvm", 2),
    "smooth": ("rtop", "smoothdcg", 1),
    "full": ("ogd", "ranksvm", 0),
    "listnet": ("listnet", "listnet", 0),
    "listnet-2": ("listnet", "listnet", 0),
    "random": ("random", "", 0),
    "ideal": ("ideal", "", 0),
    "own": ("own:Learner", "", 0),
}
OF_TOP = yaml.safe_load("""
{kind: top, tuning: held-out,
 readings: {source: text, schedule: thesis, mismatch: 10, radius: 2.0, judge: null}}
""")
TITLES = {"streams": {"a": "A", "b": "B"}}
TITLES |= {"learners": {one: one.capitalize() for one in LEARNERS}}
DETAILS = {
    name: OF_TOP | {"title": f"reading {name}", "titles": TITLES} for name in ("top", "again")
}
# What all runs have in common.
ALIKE = yaml.safe_load(
    """{experiment: top, stream: a, source: text, own_measure: ndcg@10, generator: data, theory: 0,
    loss: 1.0, idle: 7, bound: .nan, general_bound: .nan, failed_in: 0, steps: schedule,
    exploration: schedule, user: "", remember: false, unvisited: 0.4, visited: 20}"""
)
# What those have that descend a loss, and those that do not.
DESCENDING = {"radius": 2.0, "epsilon": 0.01, "epsilon_decay": 0.0, "sign": "negated"}
STILL = dict.fromkeys(("mismatch", "gamma", "radius", "epsilon", "epsilon_decay"), np.nan)


def trace(like, seed, final, setting="1", regret=0.0, **changes):
    """A run at one rate: NDCG@10 grows to `final`, its ranking's 0.1 above."""
    kind, objective, k = LEARNERS[like]
    explores, descends = k > 0, objective != ""
    measured = final * ROUNDS / ROUNDS[-1]
    columns = dict.fromkeys(("ndcg@10", "ndcg", "ap"), measured)
    columns |= {"learner": like, "seed": seed, "kind": kind, "tuning_seed": seed >= 3}
    columns |= {"setting": setting, "rate": float(setting) if setting != "none" else np.nan}
    columns |= {"round": ROUNDS, "updates": ROUNDS, "clipped": seed, "k": k}
    columns |= {"ranker_ndcg@10": measured + 0.1 * explores, "objective": objective}
    columns |= {"surrogate_loss": 100.0 * ROUNDS + regret if descends else np.nan}
    columns |= {"explored": ROUNDS // 10 * explores, "mismatched": ROUNDS // 20 * explores}
    columns |= {"gamma": 0.1 * explores, "gamma_decay": explores / 3, "judge": objective}
    columns |= {"mismatch": 10.0 if explores else 1.0}
    columns |= {"way": way(kind, {"mismatch": 1, "objective": objective})}
    of_kind = DESCENDING if descends else STILL | {"sign": ""}
    return pd.DataFrame(ALIKE | columns | of_kind | changes)


def comparators(judge="squared", seeds=(0, 1, 2), gap=0.0, rounds=ROUNDS, **changes):
    """The best fixed weights for the losses of `trace`: 100 a round."""
    columns = {"experiment": "top", "stream": "a", "judge": judge, "round": rounds, "gap": gap}
    columns |= {"best": 100.0 * rounds, "norm": 1.0, "at_zero": 300.0 * rounds} | changes
    return gathered(*(pd.DataFrame({"seed": seed} | columns) for seed in seeds))


FINALS = yaml.safe_load(
    """{squared: [0.5, 0.58, 0.66], listnet: [0.7, 0.8, 0.72], listnet-2: [0.95, 0.95,
    0.95], random: [0.3, 0.31, 0.35]}"""
)


@pytest.fixture
def frame():
    """The learner squared prefers rate 1 on the seeds set aside, and 2 on those reported."""
    parts = [
        trace(learner, seed, finals[seed])
        for learner, finals in FINALS.items()
        for seed in range(3)
    ]
    parts += [trace("squared", seed, 0.9, "2") for seed in range(3)]
    parts += [
        trace("squared", seed, final, rate)
        for rate, final in {"1": 0.6, "2": 0.1}.items()
        for seed in (3, 4)
    ]
    return gathered(*parts)


# --- the plan
CONFIG = yaml.safe_load("""
study: s
streams:
  data: {dataset: digits, retrieval: {}}
  sim: {generator: separable}
  foe: {generator: adversary, settings: {ratio: 9}}
learners: {slam: {kind: slam}, squared: {kind: rtop, surrogate: squared}}
experiments:
  old: {kind: perceptron, learners: [slam], streams: [data, foe], figures: [figure-2.2]}
  bounds: {kind: perceptron, learners: [slam], streams: [foe]}
  top: {kind: top, learners: [squared], streams: [data, sim], figures: [figure-3.4]}
  slow:
    {kind: top, learners: [squared], streams: [sim], regret: true,
     figures: [figure-top-regret, figure-3.4]}
  unseen: {kind: top, learners: [squared], streams: [data]}
""")


def planned(*names):
    """The plan of the study, or of some of its experiments."""
    names = names or CONFIG["experiments"]
    return Plan(
        *load(CONFIG | {"experiments": {name: CONFIG["experiments"][name] for name in names}})
    )


def test_a_study_has_the_figures_and_tables_of_its_kinds_of_experiments():
    plan = planned()
    held = json.loads(Path(__file__).with_name("plan_digests.json").read_text())["shown"]

    def known(targets):
        """The experiments of those figures or tables that are not added since."""
        return {name: target.experiments for name, target in targets.items() if name in held}

    # no figure-2.1: the separable stream is an experiment's at the top
    assert [*known(plan.figures).items()] == [
        ("figure-2.2", ["old"]),
        ("figure-3.4", ["top", "slow"]),
        ("figure-top-regret", ["slow"]),
    ]
    of_traces = {
        name: one
        for name, one in plan.tables.items()
        if one.shown.reads not in ("nothing", "streams")
    }
    assert known(of_traces) == {
        "finals": ["old", "bounds"],
        "top": ["top", "slow", "unseen"],
        "regret": ["slow"],
    }
    assert list(known(planned("old").tables)) == ["finals", "theorems-perceptron", "streams"]
    assert {*known(planned("top").tables)} == {"top", "variance", "theorems-top", "streams"}
    assert "streams" not in planned("bounds").tables  # the adversary's answers are in no file
    assert "theorems-top" not in Plan(*load(CONFIG | {"claims": None})).tables
    assert known(planned("bounds", "unseen").figures) == {}


def test_a_figure_or_table_reads_the_runs_of_its_experiments_and_for_regret_comparators():
    plan = planned()
    result = {shown.name for _, shown in families.shown() if shown.reads == "regret"}
    assert result == {"regret", "figure-top-regret"}
    for target in (*plan.figures.values(), *plan.tables.values()):
        if target.shown.reads in ("traces", "regret"):
            runs = [file for name in target.experiments for file in plan.run_files(name)]
            best = [
                f"results/s/comparators/slow/sim/squared/seed-{seeds}.parquet"
                for seeds in ("0-4", "5-9")
            ]
            assert plan.files(target) == runs + best * (target.shown.reads == "regret")
    spans = {**dict.fromkeys(range(5), "0-4"), **dict.fromkeys(range(5, 10), "5-9")}
    draws = [f"results/s/streams/sim/{span}/seed-{seed}.arrow" for seed, span in spans.items()]
    assert set(plan.files(plan.tables["streams"])) == {"results/s/streams/data.arrow", *draws}
    assert plan.files(plan.tables["variance"]) == []


# --- the table top
def test_the_table_has_means_and_intervals_of_both_rankings_at_the_chosen_rate(frame):
    table = top.top_table(frame, DETAILS)
    assert table["learner"].tolist() == list(FINALS)
    one = row(table, learner="squared")
    assert entries(one, "rate tuning rounds ok n rate_mean") == ("1", "held-out", 1000, 3, 3, 1.0)
    assert entries(one, "mean low high") == interval(FINALS["squared"])
    assert three(one, "ranker") == interval(np.array(FINALS["squared"]) + 0.1)
    assert entries(one, "explored mismatched clipped idle updates") == (100, 50, 1, 7, 1000)
    assert pd.isna(one["failed_in"])
    details = {"top": DETAILS["top"] | {"tuning": "paper"}}
    assert row(top.top_table(frame, details), learner="squared")["rate"] == "2"


def test_differences_are_paired_by_seed_to_the_first_listnet_and_to_random(frame):
    table = top.top_table(frame, DETAILS)
    squared, listnet, random = (np.array(FINALS[name]) for name in ("squared", "listnet", "random"))
    one, other, own = (row(table, learner=name) for name in ("squared", "listnet", "random"))
    assert three(one, "to_listnet") == interval(squared - listnet)
    assert three(one, "to_random") == interval(squared - random)
    assert three(own, "to_listnet") == interval(random - listnet)
    assert three(other, "to_random") == interval(listnet - random)
    assert np.isnan([other["to_listnet"], own["to_random"]]).all()
    alone = top.top_table(frame[frame["learner"] == "squared"], DETAILS)
    assert alone[["to_listnet", "to_random"]].isna().all().all()


def test_failed_runs_are_counted_and_left_out(frame):
    failed = (frame["learner"] == "squared") & (frame["setting"] == "1") & (frame["seed"] == 1)
    frame.loc[failed, ["failed_in", "updates", "idle"]] = [1001, 5, 1000]
    one = row(top.top_table(frame, DETAILS), learner="squared")
    assert entries(one, "ok n failed_in updates idle") == (2, 3, 1001, 1000, 7)
    assert one["mean"] == pytest.approx((0.50 + 0.66) / 2)
    assert one["ranker"] == pytest.approx((0.50 + 0.66) / 2 + 0.1)
    assert one["to_listnet"] == pytest.approx(((0.50 - 0.70) + (0.66 - 0.72)) / 2)
    frame.loc[(frame["learner"] == "squared") & (frame["seed"] == 0), "failed_in"] = 900
    assert row(top.top_table(frame, DETAILS), learner="squared")["failed_in"] == 900  # the first
    frame.loc[frame["learner"] == "squared", "failed_in"] = 3
    one = row(top.top_table(frame, DETAILS), learner="squared")
    assert entries(one, "ok n failed_in") == (0, 3, 3)
    assert np.isnan([one["mean"], one["ranker"], one["to_random"], one["updates"]]).all()


def test_settings_are_those_played_and_empty_where_they_do_nothing():
    learners = ("squared", "smooth", "full", "listnet", "random", "ideal", "own")
    table = top.top_table(gathered(*(trace(learner, 0, 0.5) for learner in learners)), DETAILS)
    table = table.astype(object).where(table.notna(), None)
    names = ["objective", "k", "schedule", "radius", "mismatch", "gamma", "epsilon", "sign"]
    found = {one["learner"]: [one[name] for name in names] for one in table.to_dict("records")}
    assert found == {
        "squared": ["squared", 1, "thesis", 2.0, 10.0, 0.1, None, None],
        "smooth": ["smoothdcg", 1, "thesis", 2.0, 10.0, 0.1, 0.01, "negated"],
        "full": ["ranksvm", 0, "thesis", 2.0, *[None] * 4],
        "listnet": ["listnet", 0, "thesis", 2.0, *[None] * 4],
        "random": [None] * 8,
        "ideal": [None] * 8,
        "own": [None, 0, *[None] * 6],
    }
    released = top.top_table(trace("squared", 0, 0.5, source="released-code"), DETAILS)
    assert released["schedule"].tolist() == ["released-code"]
    judged = top.top_table(trace("squared", 0, 0.5, judge="smoothdcg"), DETAILS)
    assert judged["epsilon"].tolist() == [0.01]  # of the judge


# --- the table regret
def powers(*exponents, learner="squared", factor=3.0, **changes):
    """Runs whose regret is factor * t^exponent, one for each exponent."""
    regrets = [factor * ROUNDS**exponent for exponent in exponents]
    return gathered(
        *(trace(learner, seed, 0.5, regret=one, **changes) for seed, one in enumerate(regrets))
    )


def only(runs, there=None):
    """The one row of the table of regret."""
    [one] = top.regret_table(runs, DETAILS, comparators() if there is None else there).to_dict(
        "records"
    )
    return one


def test_intervals_of_slope_and_regret_are_over_seeds():
    one = only(powers(0.5, 0.6, 0.9))
    mean = np.mean([ROUNDS**power for power in (0.5, 0.6, 0.9)], axis=0)
    late = ROUNDS >= 10
    assert one["slope"] == pytest.approx(np.polyfit(np.log(ROUNDS[late]), np.log(mean[late]), 1)[0])
    assert 0.5 - 1e-9 <= one["slope_low"] < one["slope"] < one["slope_high"] <= 0.9 + 1e-9
    regrets = 3 * 1000 ** np.array([0.5, 0.6, 0.9])
    assert three(one, "regret") == interval(regrets)
    assert one["per_round"] == pytest.approx(regrets.mean() / 1000)


def test_rounds_without_a_positive_mean_regret_are_counted_and_leave_no_slope():
    runs = powers(0.5, 0.5, 0.5)
    # far below the best fixed weights
    runs.loc[runs["round"].isin([20, 50]), "surrogate_loss"] = 0.0
    runs.loc[runs["round"] == 100, "surrogate_loss"] = 100.0 * 100  # a regret of exactly 0
    one = only(runs)
    assert entries(one, "nonpositive slopes ok") == (3, 0, 3) and np.isnan(one["slope"])
    runs = powers(0.5, 0.5, 0.5)
    # the mean is above 0
    runs.loc[(runs["round"] == 200) & (runs["seed"] == 0), "surrogate_loss"] = 200.0 * 100
    one = only(runs)
    assert entries(one, "nonpositive slopes ok") == (0, 3, 3) and np.isfinite(one["slope"])


def test_regret_is_where_there_are_comparators_of_the_judge_stream_and_seed():
    runs = gathered(
        powers(0.5, 0.6, 0.7),
        powers(0.5, learner="full"),
        trace("random", 0, 0.5),
        trace("own", 0, 0.5),
    )
    there = gathered(
        comparators(seeds=(0, 2)), comparators("ranksvm", stream="b"), comparators("listnet")
    )
    table = top.regret_table(runs, DETAILS, there)
    assert table["learner"].tolist() == ["squared", "full"]  # no surrogate judges the others
    one = row(table, learner="squared")
    assert entries(one, "ok n slopes") == (2, 3, 2)
    assert three(one, "regret") == interval(3 * 1000 ** np.array([0.5, 0.7]))
    none = row(table, learner="full")
    assert entries(none, "ok n slopes nonpositive") == (0, 1, 0, 0)
    assert np.isnan(entries(none, "regret slope per_round gap_share")).all()
    assert pd.isna(none["from_round"])
    for nothing in (None, traces.read_comparators([])):
        assert top.regret_table(runs, DETAILS, nothing)["ok"].tolist() == [0, 0]
    with pytest.raises(SettingError, match="no learner of the table"):
        top.regret_table(trace("random", 0, 0.5), DETAILS, there)


def test_a_learner_is_measured_against_its_judges_comparator_and_failed_runs_have_no_regret():
    there = gathered(comparators("squared"), comparators("ranksvm", best=ROUNDS * 100.0 - 50))
    one = only(powers(0.5, 0.5, judge="ranksvm"), there)
    assert entries(one, "objective judge") == ("squared", "ranksvm")
    assert one["regret"] == pytest.approx(3 * 1000**0.5 + 50)
    runs = powers(0.5, 0.6, 0.7)
    runs.loc[runs["seed"] == 1, "failed_in"] = 1001
    one = only(runs)
    assert entries(one, "ok n slopes") == (2, 3, 2)
    assert one["regret"] == pytest.approx(3 * (1000**0.5 + 1000**0.7) / 2)


def test_the_gap_and_the_bound_are_shares():
    runs = gathered(powers(0.5, bound=300.0), powers(0.5, bound=600.0).assign(seed=1))
    there = comparators()
    there.loc[there["seed"] == 1, "gap"] = np.where(ROUNDS == 1000, 12.0, 99.0)
    one, regret = only(runs, there), 3 * 1000**0.5
    # the larger of the two seeds', at the horizon
    assert one["gap_share"] == pytest.approx(12 / regret)
    assert one["bound"] == 300
    assert one["bound_share"] == pytest.approx((regret / 300 + regret / 600) / 2)
    one = only(powers(0.5, 0.5, factor=-1.0), comparators(gap=1.0))
    assert np.isnan(one["gap_share"])  # of a regret that is none
    assert one["regret"] == pytest.approx(-(1000**0.5))


def test_regret_is_at_the_chosen_rate():
    rates = (("1", 0.5, 0.5), ("2", 0.6, 0.8))
    parts = [
        trace("squared", seed, final, rate, regret=ROUNDS**x)
        for seed in range(4)
        for rate, final, x in rates
    ]
    one = only(gathered(*parts))
    assert (one["rate"], one["slope"], one["n"]) == ("2", pytest.approx(0.8), 3)


def read(name, frame, there):
    """What a figure or table is made of, of traces and comparators."""
    return frame, DETAILS, *([there] if SHOWN[name].reads == "regret" else [])


def make(name, stem, frame, there=None):
    """Write a figure or table of traces and comparators."""
    making.make(SHOWN[name], stem, *read(name, frame, there))


def frame_of(name, study):
    """The frame of a figure or table."""
    return making.frame_of(SHOWN[name], *read(name, *study))


# --- figures
@pytest.fixture
def study():
    """Two experiments and streams, every learner; comparators of all seeds but one of `again`."""
    parts, there = [], []
    for experiment, stream in (("top", "a"), ("again", "b")):
        where = {"experiment": experiment, "stream": stream}
        for number, learner in enumerate(LEARNERS):
            for seed in range(4):
                final, regret = 0.5 + 0.03 * number + 0.01 * seed**2, (seed + 2) * ROUNDS**0.6
                parts.append(trace(learner, seed, final, regret=regret, **where))
        for judge in ("squared", "ranksvm", "listnet"):
            there.append(
                comparators(judge, (0, 1, 2) if experiment == "top" else (1, 2), gap=0.5, **where)
            )
    return gathered(*parts), gathered(*there)


# tested in test_steps_without_rates.py and test_judged.py, but for one drawn like another
ELSEWHERE = ("figure-aistats16.1", "figure-steps-top", "figure-worth", "figure-one-click")
FIGURES = [shown.name for shown in Top.shown if shown.draw and shown.name not in ELSEWHERE]


def panels_of(frame, draw):
    """The axes of a drawing, each with the rows that it is to show."""
    axes = [axis for axis in draw(frame).axes if axis.axison]
    groups = [panel for _, panel in frame.groupby(["experiment", "stream"], sort=False)]
    assert len(axes) == len(groups) > 0
    return list(zip(axes, groups, strict=True))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_comes_with_its_frame_and_says_what_it_shows(name, study, tmp_path):
    make(name, tmp_path / name, study[0], study[1])
    assert len(list(tmp_path.iterdir())) == 3
    read = pd.read_csv(tmp_path / f"{name}.csv", dtype={"rate": str, "place": str, "k": "Int64"})
    expected = frame_of(name, study).reset_index(drop=True).fillna({"user": np.nan})
    pd.testing.assert_frame_equal(read, expected, check_dtype=False, rtol=1e-14)
    assert not read.duplicated(
        ["experiment", "stream", "learner", *({"round", "ranking", "use"} & {*read})]
    ).any()
    assert {"mean", "low", "high", "n", "rate", "tuning", "panel", "label", "reading"} <= {*read}
    assert "ideal" not in set(read["learner"])
    svg = re.sub(r"(?<=\w)\n|<[^>]*>", " ", (tmp_path / f"{name}.svg").read_text())  # words alone
    for text in ("95 % t interval", "mean over seeds", "reading top", "reading again", "3 seeds"):
        assert text in " ".join(svg.split()), text


def lines(axis, marker=True):
    """Those of the panel; the markers beside it say whose a text is."""
    drawn = [
        one
        for one in axis.get_lines()
        if any(one.get_transform().contains_branch_seperately(axis.transData))
    ]
    return [one for one in drawn if (one.get_marker() != "None") == marker and len(one.get_xdata())]


def points(axis):
    """The (x, y) of every marker on an axis."""
    return sorted(tuple(map(float, point)) for one in lines(axis) for point in one.get_xydata())


def assert_drawn(axis, panel):
    """Assert that the curves of a panel are the means of its learners; gives how many there are."""
    drawn = [list(map(tuple, one.get_xydata())) for one in lines(axis)]
    expected = [
        list(zip(one["round"], one["mean"], strict=True)) for _, one in panel.groupby("learner")
    ]
    assert sorted(drawn) == sorted(expected)
    return len(expected)


def test_curves_are_the_rows(study):
    for axis, panel in panels_of(frame_of("figure-3.4", study), drawing.curves):
        assert len(axis.collections) == assert_drawn(axis, panel) == len(LEARNERS) - 1


def test_points_against_k_are_the_rows(study):
    frame = frame_of("figure-top-k", study)
    # others show their own ranking
    assert set(frame.loc[frame["ranking"] == "own", "kind"]) == {"rtop"}
    places = frame.dropna(subset="place").set_index("learner")["place"].to_dict()
    result = " ".join(f"{one}:{k}" for one, k in places.items())
    assert result == "squared:1 squared-5:5 ranksvm:2 smooth:1 full:all"
    for axis, panel in panels_of(frame, drawing.against_k):
        labels = [text.get_text() for text in axis.get_xticklabels()]
        assert labels == ["1", "2", "5", "all"]
        there, references = panel[panel["place"].notna()], panel[panel["place"].isna()]
        drawn = sorted((labels[round(x)], y) for x, y in points(axis))
        assert drawn == sorted(zip(there["place"], there["mean"], strict=True))
        levels = {one.get_ydata()[0] for one in axis.get_lines() if list(one.get_xdata()) == [0, 1]}
        assert levels == set(references["mean"])
        assert {text.get_text() for text in axis.texts} >= set(references["label"])


def test_regrets_are_the_rows_with_slopes_beside(study):
    frame = frame_of("figure-top-regret", study)
    assert {*frame["learner"]} == {
        *["squared", "squared-5", "ranksvm", "full", "listnet", "listnet-2"]
    }
    assert set(frame.loc[frame["experiment"] == "again", "n"]) == {2}
    one = row(frame, experiment="top", learner="full", round=500)
    regrets = np.array([2, 3, 4]) * 500**0.6
    assert entries(one, "mean low high") == interval(regrets)
    assert three(one, "slope") == pytest.approx((0.6, 0.6, 0.6))
    assert one["gap"] == 0.5
    for axis, panel in panels_of(frame, drawing.regrets):
        result = [text.get_text() for text in axis.texts].count("0.60")
        assert result == assert_drawn(axis, panel)
        references = [one for one in lines(axis, marker=False) if one.get_linewidth() < 0.7]
        slopes = [
            np.diff(np.log(one.get_ydata()))[0] / np.diff(np.log(one.get_xdata()))[0]
            for one in references
        ]
        assert sorted(slopes) == pytest.approx([1 / 2, 2 / 3, 1])


def test_a_large_gap_of_the_comparator_is_drawn(study, tmp_path):
    frame, there = study
    for gap, expected in {0.0: 0, 1e9: 6}.items():
        shown = top.regret_curves(
            frame[frame["experiment"] == "again"], DETAILS, there.assign(gap=gap)
        )
        drawn = drawing.regrets(shown)
        [axis] = drawn.axes
        dotted = [one for one in lines(axis, marker=False) if one.get_linestyle() == ":"]
        dotted = [one for one in dotted if np.isfinite(one.get_ydata()).any()]
        assert len(dotted) == expected
        assert ("dotted" in drawn.legends[0].get_title().get_text()) == bool(expected)
        for one in dotted:
            assert np.nanmin(one.get_ydata()) > 1e9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", ["negative", "endless gap", "few rounds"])
def test_regrets_of_any_kind_can_be_drawn(change, study, tmp_path):
    frame, there = (part[part["experiment"] == "top"].copy() for part in study)
    frame = frame[frame["learner"].isin(["squared", "full"])]
    if change == "negative":
        there["best"] += np.where(there["judge"] == "squared", 1e9, 0.0)
    elif change == "few rounds":
        there = there[there["round"] == 1000]
    else:
        there["gap"] = np.inf
    make("figure-top-regret", tmp_path / "figure", frame, there)
    svg = (tmp_path / "figure.svg").read_text()
    assert ("no slope" in svg) == (change == "few rounds")
    shown = pd.read_csv(tmp_path / "figure.csv")
    assert (shown.loc[shown["learner"] == "squared", "mean"] < 0).all() == (change == "negative")


# --- looks
def test_an_objective_has_one_colour_and_full_feedback_is_dashed(study):
    looks = style.looks(top.curves(study[0], DETAILS))
    assert len(set(looks.values())) == len(looks) == len(LEARNERS) - 1
    colours = {learner: colour for learner, (colour, _, _) in looks.items()}
    assert colours["squared"] == colours["squared-5"]
    assert colours["ranksvm"] == colours["full"]
    assert colours["listnet"] == colours["listnet-2"]
    assert len({*entries(colours, "squared ranksvm smooth listnet random own")}) == 6
    dashes = {learner: line for learner, (_, _, line) in looks.items()}
    assert [dashes[name] for name in ("squared", "ranksvm", "smooth")] == ["-"] * 3
    assert [dashes[name] for name in ("full", "listnet", "random")] == ["--"] * 3
    assert [dashes[name] for name in ("squared-5", "listnet-2")] == ["-."] * 2
    alone = top.curves(trace("smooth", 0, 0.5), DETAILS)
    assert style.looks(alone)["smooth"] == looks["smooth"]  # the same in every figure
    assert len({style.own_look("rtop", one)[0] for one in OBJECTIVES}) == len(OBJECTIVES)
    for one in OBJECTIVES:  # what sees every grade has the surrogate's colour and marker
        assert style.own_look("ogd", one)[:2] == style.own_look("rtop", one)[:2]


def test_one_title_is_one_look_and_two_learners_of_one_title_are_told_apart():
    def legend(*learners):
        titles = {"streams": {"a": "A", "b": "B"}}
        titles |= {"learners": {one: "Title" for _, one, _ in learners}}
        runs = product(learners, range(2))
        parts = [
            trace(kind, seed, 0.5, learner=name, stream=stream)
            for (stream, name, kind), seed in runs
        ]
        frame = top.curves(gathered(*parts), {"top": DETAILS["top"] | {"titles": titles}})
        drawn = drawing.curves(frame)
        looks = [(one.get_color(), one.get_marker()) for axis in drawn.axes for one in lines(axis)]
        names = {text.get_text() for axis in drawn.axes for text in axis.texts}
        return sorted(name for name in names if name.startswith("Title")), len(set(looks))

    assert legend(("a", "one", "squared"), ("b", "two", "squared")) == (["Title"], 1)
    apart = ["Title (one)", "Title (two)"], 2
    assert legend(("a", "one", "squared"), ("a", "two", "squared")) == apart
    assert legend(("a", "one", "squared"), ("b", "two", "full")) == apart


# --- from files
def test_comparators_are_read_with_what_they_are_of(tmp_path):
    paths = []
    columns = ["seed", "round", "best", "gap", "norm", "at_zero"]
    table = pa.table(dict(zip(columns, np.arange(12.0).reshape(6, 2), strict=True)))
    for number, judge in enumerate(("squared", "kl")):
        paths.append(tmp_path / f"{number}.parquet")
        write_parquet(
            table, paths[-1], {"experiment": "top", "stream": "a", "judge": judge, "radius": 1.0}
        )
    frame = traces.read_comparators(paths)
    assert list(frame) == ["experiment", "stream", "judge", *columns]
    assert frame["judge"].tolist() == ["squared", "squared", "kl", "kl"]
    assert frame["best"].tolist() == [4, 5, 4, 5]
    assert list(traces.read_comparators([])) == list(frame)
    paths[1].write_bytes(b"text")
    with pytest.raises(DataError, match=r"1\.parquet: not a whole comparator file"):
        traces.read_comparators(paths)
    with pytest.raises(DataError, match="there is no such comparator file"):
        traces.read_comparators([tmp_path / "none.parquet"])


def test_runs_are_read_with_their_settings_as_played(tmp_path):
    random = np.random.default_rng(0)
    queries = [(q, random.integers(0, 3, 6), random.standard_normal((6, 3))) for q in range(10)]
    streams.write(tmp_path / "toy.arrow", queries, {})
    smooth = {"kind": "rtop", "surrogate": "smoothdcg", "epsilon": 1, "rates": [0.5, 0.1]}
    learners = {"smooth": smooth, "listnet": {"kind": "listnet"}, "random": {"kind": "random"}}
    readings = yaml.safe_load(
        "{source: text, schedule: aistats16, mismatch: 10, radius: 2, judge: null}"
    )
    alike = yaml.safe_load(
        """{study: toy, study_seed: 1, experiment: top, kind: top, stream: a, rounds: 64,
        empty: zero, order: shuffled, keep: 1.0, stream_settings: {dataset: letor}}"""
    )
    files = []
    for name, settings in learners.items():
        files.append(tmp_path / f"{name}.parquet")
        job = alike | {"learner": name, "learner_settings": settings} | readings
        run(job, files[-1], [0, 1, 2, TUNING], [tmp_path / "toy.arrow"])
    titles = {"streams": {"a": "A"}, "learners": {name: name for name in learners}}
    details = DETAILS["top"] | {"readings": readings, "titles": titles}
    frame, found = traces.read([Runs("top", files, details)])
    assert found == {"top": details}
    played = frame.groupby("learner")[list(PLAYED)].first()
    expected = yaml.safe_load(
        """{objective: smoothdcg, judge: smoothdcg, k: 1, sign: negated, gamma_decay: 0,
        mismatch: 10, radius: 2, epsilon: 1}"""
    ) | {"gamma": pytest.approx(64 ** (-1 / 3))}
    assert played.loc["smooth", [*expected]].to_dict() == expected
    assert played.loc["listnet", ["objective", "k", "radius"]].tolist() == ["listnet", 0, 2]
    assert played.loc["random", ["objective", "judge", "sign"]].tolist() == [""] * 3
    table = top.top_table(frame, found)
    assert table["schedule"].tolist()[:2] == ["aistats16"] * 2
    assert table["ok"].tolist() == [3, 3, 3]
    one = row(table, learner="smooth")
    assert 0 < one["explored"] < 64
    assert one["mean"] != one["ranker"]

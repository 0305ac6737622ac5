"""Reports: intervals, the choice of rates, tables and figures of runs whose outcome is known."""

import hashlib
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.colors import to_rgb
from scipy import stats
from toys import SHOWN

from scant.data import stream as streams
from scant.declare.families import TUNING
from scant.errors import DataError, SettingError
from scant.present import figures, making, style, tables, traces
from scant.present.intervals import t_interval
from scant.rankers import drawings as drawing
from scant.rankers import frames as perceptron
from scant.rankers import traces as online_traces
from scant.rankers.run import run
from scant.study.plan import Runs

pytestmark = pytest.mark.usefixtures("no_figure_is_left_open")

TABLES = ("finals",)  # of the perceptron study


def make(name, stem, *read):
    """Write a figure, if that is its name, or a table."""
    making.make(SHOWN[name], stem, *read)


def trace(learner, seed, values, setting="1", **changes):
    """The rows of one run at one rate: its time-averaged NDCG@10 (and half of it as AP) in rounds
    1, 2, ...
    """
    rounds = len(values)
    columns = {
        "experiment": "all",
        "stream": "letor",
        "learner": learner,
        "seed": seed,
        "source": "text",
        "kind": "slam",
        "own_measure": "ndcg@10",
        "steps": "schedule",
        "generator": "data",
        "tuning_seed": seed >= 3,
        "setting": setting,
        "rate": float(setting) if setting not in ("theory", "none") else 0.5,
        "theory": int(setting == "theory"),
        "round": np.arange(rounds) + 1,
        "ndcg@10": values,
        "ndcg": values,
        "ap": np.array(values) / 2,
        "ranker_ndcg@10": values,
        "loss": np.cumsum(1 - np.array(values)),
        "surrogate_loss": np.nan,
        "updates": np.arange(rounds),
        "bound": np.nan,
        "general_bound": np.nan,
        "failed_in": 0,
    }
    return pd.DataFrame(columns | changes)


def gathered(*parts):
    return pd.concat(parts, ignore_index=True)


DETAILS = yaml.safe_load("""
all:
  kind: perceptron
  tuning: held-out
  title: text
  titles:
    streams: {letor: LETOR, sim: Separable, foe: Adversary}
    learners: {slam: SLAM, listnet: ListNet, ap: SLAM (AP), ideal: Ideal, two: Two}
""")
# Seeds 0 to 2 are reported and prefer rate 1; seeds 3 and 4 are set aside and prefer rate 2; rate 4
# fails in one.
OUTCOMES = yaml.safe_load(
    """{"1": [0.5, 0.6, 0.7, 0.1, 0.1], "2": [0.4, 0.3, 0.5, 0.6, 0.7], "4": [0.9, 0.9,
    0.9, 0.9, 0.9]}"""
)
LISTNET = [0.45, 0.20, 0.55, 0.0, 0.0]


@pytest.fixture
def frame():
    parts = [
        trace(
            "slam",
            seed,
            [0.0, OUTCOMES[rate][seed]],
            rate,
            failed_in=3 * (rate == "4" and seed in (1, 4)),
        )
        for rate, seed in product(OUTCOMES, range(5))
    ]
    parts += [trace("listnet", seed, [0.0, LISTNET[seed]], kind="listnet") for seed in range(3)]
    return gathered(*parts)


# --- intervals


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.1, 0.5, 0.7, 0.2], [3.0, 3.0, 3.0]])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_the_interval_is_students(values, level):
    mean, low, high, n = t_interval([*values, np.nan], level)
    expected = (
        stats.ttest_1samp(values, 0).confidence_interval(level)
        if np.std(values)
        else (values[0], values[0])
    )
    assert (mean, n) == (pytest.approx(np.mean(values)), len(values))
    assert (low, high) == pytest.approx(tuple(expected))


def test_an_interval_needs_two_values():
    for values, expected in ({(): (np.nan, 0), (0.5,): (0.5, 1), (0.5, np.nan): (0.5, 1)}).items():
        mean, low, high, n = t_interval(values)
        np.testing.assert_equal((mean, n), expected)
        assert np.isnan([low, high]).all()


# --- the choice of rates


def test_finals_are_the_last_rounds(frame):
    last = online_traces.finals(
        gathered(trace("slam", 0, np.arange(15) / 100), frame[frame["learner"] == "listnet"])
    )
    assert len(last) == 4
    slam = last[last["learner"] == "slam"].iloc[0]
    assert (slam["round"], slam["ndcg@10"], slam["ap"]) == (15, 0.14, 0.07)
    assert slam["ndcg@10 last ten"] == pytest.approx(np.arange(5, 15).mean() / 100)
    assert slam["ap last ten"] == pytest.approx(np.arange(5, 15).mean() / 200)


def test_a_failed_run_has_no_final_measure(frame):
    last = online_traces.finals(frame.assign(surrogate_loss=1.0, err=frame["ndcg@10"] / 10))
    failed = last["failed_in"] > 0
    assert failed.sum() == 2
    names = [
        "ndcg@10",
        "ndcg",
        "ap",
        "ranker_ndcg@10",
        "loss",
        "surrogate_loss",
        "ndcg@10 last ten",
        "ap last ten",
        "err",
        "err last ten",
    ]
    np.testing.assert_array_equal(last[names].isna().all(axis=1), failed)
    assert not last.loc[~failed, names].isna().any().any()


def chosen(frame, tuning, measure="ndcg@10"):
    found = online_traces.chosen_rates(online_traces.finals(frame), measure, tuning)
    return {row.learner: (row.setting, row.tuning) for row in found.itertuples()}


def test_each_tuning_reading_chooses_by_its_own_seeds(frame):
    assert chosen(frame, "held-out") == {"slam": ("2", "held-out"), "listnet": ("1", "held-out")}
    assert chosen(frame, "paper") == {"slam": ("1", "paper"), "listnet": ("1", "paper")}


def test_the_measure_shown_chooses(frame):
    frame.loc[(frame["setting"] == "1") & (frame["learner"] == "slam"), "ap"] = 0.0
    assert chosen(frame, "paper", "ap")["slam"] == ("2", "paper")
    assert chosen(frame, "paper")["slam"] == ("1", "paper")


def test_without_seeds_set_aside_the_choice_is_the_papers(frame):
    reported = frame[~frame["tuning_seed"]]
    assert chosen(reported, "held-out") == {"slam": ("1", "paper"), "listnet": ("1", "held-out")}


def test_a_rate_at_which_a_run_failed_is_chosen_only_if_there_is_no_other(frame):
    for tuning in ("held-out", "paper"):
        assert chosen(frame, tuning)["slam"][0] != "4"
        assert chosen(frame[frame["setting"] == "4"], tuning)["slam"][0] == "4"
    # each rate failed in a seed of either kind
    frame.loc[frame["seed"].isin([0, 3]), "failed_in"] = 2
    assert chosen(frame, "held-out")["slam"][0] in OUTCOMES


# --- tables


def row(table, **where):
    for key, value in where.items():
        table = table[table[key] == value]
    [one] = table.to_dict("records")
    return one


def interval(values):
    """That of SciPy for a mean at 95 %."""
    return pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval()))


def test_the_table_of_finals(frame):
    table = perceptron.finals_table(frame, DETAILS)
    # NDCG@10: two learners under two readings; AP: ListNet, which has no measure of its own
    assert len(table) == 6
    for tuning, rate in {"held-out": "2", "paper": "1"}.items():
        one = row(table, learner="slam", tuning=tuning)
        values = np.array(OUTCOMES[rate][:3])
        assert (one["rate"], one["rounds"], one["ok"], one["n"], one["measure"]) == (
            rate,
            2,
            3,
            3,
            "ndcg@10",
        )
        assert (one["mean"], one["last_ten"]) == pytest.approx((values.mean(), values.mean() / 2))
        assert (one["low"], one["high"]) == interval(values)
        assert one["difference"] == pytest.approx(np.mean(values - LISTNET[:3]))
        assert (one["difference_low"], one["difference_high"]) == interval(values - LISTNET[:3])
        assert one["main"] == (tuning == "held-out")
    assert np.isnan(row(table, learner="listnet", tuning="paper", measure="ap")["difference"])


def test_differences_are_to_the_listnet_of_the_same_experiment_and_stream(frame):
    others = [
        frame.assign(experiment="b", **{"ndcg@10": 0.3}),
        frame.assign(stream="sim", **{"ndcg@10": 0.2}),
    ]
    table = perceptron.finals_table(gathered(*others, frame), DETAILS | {"b": DETAILS["all"]})
    for where in ({"experiment": "b"}, {"stream": "sim"}):
        assert row(table, learner="slam", tuning="paper", **where)["difference"] == 0
    one = row(table, learner="slam", tuning="paper", experiment="all", stream="letor")
    assert one["difference"] == pytest.approx(np.mean(OUTCOMES["1"][:3]) - np.mean(LISTNET[:3]))
    without = perceptron.finals_table(frame[frame["learner"] == "slam"], DETAILS)
    assert without[["difference", "difference_low", "difference_high"]].isna().all().all()


ASKED = {"all": DETAILS["all"] | {"measures": ["err", "precision@5"]}}


def with_further(frame):
    """ERR is a tenth, and Precision@5 thrice NDCG@10; another experiment, "b", does not record
    them.
    """
    asking = frame.assign(**{"err": frame["ndcg@10"] / 10, "precision@5": frame["ndcg@10"] * 3})
    return gathered(asking, frame.assign(experiment="b"))


def test_measures_that_an_experiment_asks_for_are_rows_of_the_finals(frame):
    """At the rates that NDCG@10 chooses, here even where ERR would choose another."""
    both = with_further(frame)
    both.loc[(both["setting"] == "1") & (both["learner"] == "slam"), "err"] = 0.0
    table = perceptron.finals_table(both, ASKED | {"b": DETAILS["all"]})
    assert table["measure"].drop_duplicates().tolist() == ["ndcg@10", "ap", "err", "precision@5"]
    asked = table[table["measure"].isin(["err", "precision@5"])]
    # measures, learners, tunings
    assert set(asked["experiment"]) == {"all"} and len(asked) == 2 * 2 * 2
    for tuning, rate in {"held-out": "2", "paper": "1"}.items():
        found = row(table, learner="slam", tuning=tuning, measure="precision@5")
        expected = 3 * np.array(OUTCOMES[rate][:3])
        assert (found["rate"], found["ok"], found["n"]) == (rate, 3, 3)
        assert found["mean"] == pytest.approx(expected.mean()) and (
            found["low"],
            found["high"],
        ) == interval(expected)
        assert found["last_ten"] == pytest.approx(expected.mean() / 2)
        assert found["difference"] == pytest.approx((expected - 3 * np.array(LISTNET[:3])).mean())
    assert row(table, learner="slam", tuning="paper", measure="err")["mean"] == 0
    plain = perceptron.finals_table(
        gathered(frame, frame.assign(experiment="b")), ASKED | {"b": DETAILS["all"]}
    )
    pd.testing.assert_frame_equal(
        table[table["measure"].isin(["ndcg@10", "ap"])].reset_index(drop=True), plain
    )


def test_the_runs_shown_of_aps_own_learners_are_those_that_ap_chooses(frame):
    frame = with_further(frame.assign(own_measure="ap"))
    frame.loc[(frame["setting"] == "1") & (frame["learner"] == "slam"), "ap"] = 0.0
    details = ASKED | {"b": DETAILS["all"]}
    chosen = perceptron.finals_table(frame, details)
    rates = [
        row(chosen, experiment="all", learner="slam", tuning="paper", measure=measure)["rate"]
        for measure in ("ap", "err")
    ]
    assert rates == ["2", "2"]


def test_failed_runs_are_counted_out(frame):
    table = perceptron.finals_table(
        frame[(frame["setting"] == "4") | (frame["learner"] == "listnet")], DETAILS
    )
    one = row(table, learner="slam", tuning="paper")
    assert (one["rate"], one["ok"], one["n"]) == ("4", 2, 3)
    assert one["mean"] == pytest.approx(0.9)
    # paired: the failed seed is left out of both
    difference = 0.9 - np.mean([LISTNET[0], LISTNET[2]])
    assert one["difference"] == pytest.approx(difference)


def test_the_table_of_streams(tmp_path):
    facts = streams.write(
        tmp_path / "a.arrow", [(0, np.array([2, 0]), np.eye(2))], {"stream": "a", "seed": 4}
    )
    streams.write(
        tmp_path / "b.arrow", [(0, np.array([0, 0, 0]), np.eye(3))], {"stream": "b"}, np.eye(3)[0]
    )
    table = perceptron.streams_table([tmp_path / "a.arrow", tmp_path / "b.arrow"])
    assert table["stream"].tolist() == ["a", "b"]
    assert table["documents"].tolist() == [2, 3]
    assert table["without_relevant"].tolist() == [0, 1]
    assert table["v_max"].iloc[0] == facts["weight_ratio"]["ndcg"]


def test_latex_has_no_control_characters_and_runs_no_title():
    text = tables.latex(
        pd.DataFrame({"a\nb": ["x\ty\x1b[31m\u202e", "{z} $5 \\frac{", "\\input{a}%"]})
    )
    assert all(character.isprintable() or character == "\n" for character in text)
    assert r"a b \\" in text and "x y[31m" in text
    assert r"\{z\} \$5 \textbackslash{}frac\{" in text and r"\textbackslash{}input\{a\}\%" in text


@pytest.mark.parametrize(
    ("title", "drawn"),
    [
        ("{x}", "{x}"),
        ("$5 and $6", r"\$5 and \$6"),
        (r"\frac{", r"\frac{"),
        (r"$\frac{$", r"\$\frac{\$"),
        (r"$\eta = 1$", r"$\eta = 1$"),
        ("a $b$", r"a \$b\$"),
        ("$", r"\$"),
    ],
)
def test_titles_are_text_unless_all_of_them_is_marked_as_mathematics(title, drawn):
    frame = pd.DataFrame({"label": [title, "plain", None], "mean": [1.0, 2.0, 3.0]})
    assert figures.literal(frame)["label"].tolist()[:2] == [drawn, "plain"]
    figure, axis = plt.subplots()
    axis.set_title(figures.literal(frame)["label"].iloc[0])
    figure.draw_without_rendering()
    plt.close(figure)


def test_latex_escapes_text_and_rounds_numbers():
    frame = pd.DataFrame(
        {
            "a_b": ["50 %", "x_1 & {y}", r"\alpha~^#$"],
            "n": [3, 1_000_000, -7],
            "x": [0.123456, np.nan, 1.5e9],
            "ok": [True, False, True],
            "none": [None, "", "<= |c|"],
        }
    )
    lines = tables.latex(frame).splitlines()
    assert lines == [
        r"\begin{tabular}{lrrrl}",
        r"\toprule",
        r"a\_b & n & x & ok & none \\",
        r"\midrule",
        r"50 \% & 3 & 0.1235 & yes & -- \\",
        r"x\_1 \& \{y\} & 1000000 & -- & no &  \\",
        r"\textbackslash{}alpha\textasciitilde{}\textasciicircum{}\#\$ & -7 & 1.500e+09 & yes & "
        r"\textless{}= \textbar{}c\textbar{} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_written_as_csv_in_full_and_latex(frame, tmp_path, name):
    frame["bound"] = 1 / 3
    make(name, tmp_path / "out" / f"{name}.v1", frame, DETAILS)
    made = making.frame_of(SHOWN[name], frame, DETAILS)
    read = pd.read_csv(tmp_path / "out" / f"{name}.v1.csv", dtype={"rate": str})
    pd.testing.assert_frame_equal(read, made, check_dtype=False, rtol=1e-14)
    assert len((tmp_path / "out" / f"{name}.v1.tex").read_text().splitlines()) == len(made) + 7
    assert len(list((tmp_path / "out").iterdir())) == 2


# --- figures


@pytest.fixture
def many():
    """Two streams of data and a separable one, learners of both measures, and what no figure
    shows.
    """
    parts = []
    for seed in range(4):
        grow = 0.5 + 0.01 * seed + 0.3 * (1 - 1 / np.arange(1, 31))
        for generator, stream in (("data", "letor"), ("separable", "sim"), ("adversary", "foe")):
            there = {"generator": generator, "stream": stream}
            parts += [
                trace("slam", seed, grow * height, rate, **there)
                for rate, height in {"1": 0.8, "2": 1}.items()
            ]
            parts += [trace("listnet", seed, grow * 0.9, kind="listnet", **there)]
            parts += [trace("ap", seed, grow * 0.95, own_measure="ap", **there)]
            parts += [trace("ideal", seed, grow * 0 + 1, "none", kind="ideal", **there)]
    return gathered(*parts)


def test_a_figure_shows_the_mean_and_interval_at_the_chosen_rate(many):
    shown = perceptron.curves(many, DETAILS, "ndcg@10", separable=False)
    assert set(zip(shown["stream"], shown["learner"], strict=True)) == {
        ("letor", "slam"),
        ("letor", "listnet"),
    }
    one = row(shown, learner="slam", round=30)
    values = many[
        (many["learner"] == "slam") & (many["stream"] == "letor") & (many["setting"] == "2")
    ]
    values = values[(values["round"] == 30) & (values["seed"] < 3)]["ndcg@10"]
    assert one["mean"] == pytest.approx(values.mean()) and (one["low"], one["high"]) == interval(
        values
    )
    shown = {
        "n": 3,
        "rate": "2 (largest of 2)",
        "tuning": "held-out",
        "measure": "ndcg@10",
        "panel": "LETOR",
    }
    assert (shown | {"label": "SLAM"}).items() <= one.items()


def test_each_figure_shows_its_streams_and_learners(many):
    shown = perceptron.curves(many, DETAILS, "ndcg@10", separable=True)
    assert (set(shown["stream"]), set(shown["learner"])) == ({"sim"}, {"slam", "listnet"})
    shown = perceptron.curves(many, DETAILS, "ap", separable=False)
    assert (set(shown["stream"]), set(shown["learner"])) == ({"letor"}, {"ap", "listnet"})
    with pytest.raises(SettingError, match="a separable one"):
        perceptron.curves(many[many["stream"] != "sim"], DETAILS, "ndcg@10", separable=True)
    with pytest.raises(SettingError, match="no stream for this figure"):
        perceptron.curves(many[many["stream"] == "foe"], DETAILS, "ap", separable=False)


def test_failed_runs_are_not_drawn(many):
    many.loc[(many["seed"] == 1) & (many["learner"] == "listnet"), "failed_in"] = 31
    shown = perceptron.curves(many, DETAILS, "ndcg@10", separable=False)
    assert set(shown.loc[shown["learner"] == "listnet", "n"]) == {2}
    assert set(shown.loc[shown["learner"] == "slam", "n"]) == {3}


LOOKS = ["learner", "kind", "own_measure"]


def lines(axis):
    return [line for line in axis.get_lines() if len(line.get_xdata()) > 1]


def test_the_csv_is_what_is_drawn(many, tmp_path):
    make("figure-2.2", tmp_path / "out/figure-2.2", many, DETAILS)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv", ".png", ".svg"}
    frame = pd.read_csv(tmp_path / "out/figure-2.2.csv", dtype={"rate": str})
    expected = perceptron.curves(many, DETAILS, "ndcg@10", False)
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False, rtol=1e-14)
    drawn = drawing.curves(frame)
    [axis] = drawn.axes
    assert len(lines(axis)) == len(axis.collections) == 2
    for line, band, learner in zip(lines(axis), axis.collections, ("slam", "listnet"), strict=True):
        curve = frame[frame["learner"] == learner]
        np.testing.assert_array_equal(line.get_xydata(), curve[["round", "mean"]])
        edges = band.get_paths()[0].vertices
        for end in ("low", "high"):
            points = set(map(tuple, curve[["round", end]].to_numpy()))
            assert points <= set(map(tuple, edges))
    assert axis.get_title(loc="left").strip() == "LETOR"
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["SLAM", "ListNet"]
    assert "NDCG@10" in axis.get_ylabel()
    svg = (tmp_path / "out" / "figure-2.2.svg").read_text()
    for text in ("LETOR", "SLAM", "ListNet", "3 seeds", "95 % t interval"):
        assert text in svg


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with 25 learners of one's own that declare no look, and one that declares its
    own.
    """
    lines = [f"class Learner{i}:\n    pass\n" for i in range(25)]
    (tmp_path / "learners_with_looks.py").write_text(
        "".join(lines)
        + "class Seen:\n    looks = {'': ('pink', 'p', ':'), 'ap': ('#123456', '8', '-')}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "learners_with_looks"


def test_there_are_looks_enough(own):
    many = pd.DataFrame(
        [(f"own-{i}", f"{own}:Learner{i}", "ndcg@10") for i in range(25)], columns=LOOKS
    )
    looks = style.looks(
        pd.concat([many, pd.DataFrame([("slam", "slam", "ndcg@10")], columns=LOOKS)])
    )
    assert len(set(looks.values())) == len(looks) == 26
    alone = style.looks(pd.DataFrame([("slam", "slam", "ndcg@10")], columns=LOOKS))
    assert looks["slam"] == alone["slam"]  # a kind looks the same in every figure


def test_a_learner_of_ones_own_looks_as_it_declares(own):
    shown = [
        ("slam", "slam", "ndcg@10"),
        ("mine", f"{own}:Seen", "ndcg@10"),
        ("mine-ap", f"{own}:Seen", "ap"),
    ]
    looks = style.looks(pd.DataFrame(shown, columns=LOOKS))
    assert looks["mine"] == (style.COLOURS["pink"], "p", ":") and looks["mine-ap"] == (
        "#123456",
        "8",
        "-",
    )
    assert looks["slam"] == style.own_look("slam", "ndcg@10")


# --- from run files


def job_of(experiment="all", **changes):
    return {
        "study": "toy",
        "study_seed": 1,
        "experiment": experiment,
        "stream": "letor",
        "learner": "random",
        "kind": "perceptron",
        "stream_settings": {"dataset": "letor"},
        "learner_settings": {"kind": "random"},
        "source": "text",
        "rounds": 30,
        "empty": "zero",
        "order": "shuffled",
        "keep": 1.0,
    } | changes


@pytest.fixture
def run_files(tmp_path):
    random = np.random.default_rng(0)
    queries = [(q, random.integers(0, 3, 6), random.standard_normal((6, 3))) for q in range(10)]
    streams.write(tmp_path / "toy.arrow", queries, {})
    files = []
    for seed, learner in product(
        (0, TUNING), ({"kind": "slam", "rates": [0.5, "theory", 1e300]}, {"kind": "random"})
    ):
        files.append(tmp_path / f"{learner['kind']}-{seed}.parquet")
        job = job_of(learner=learner["kind"], learner_settings=learner)
        run(job, files[-1], [seed], [tmp_path / "toy.arrow"])
    return files


def test_runs_are_read_with_their_identity(run_files):
    frame, found = traces.read([Runs("all", run_files, DETAILS["all"])])
    assert found == DETAILS
    slam, random = frame[frame["learner"] == "slam"], frame[frame["learner"] == "random"]
    assert set(slam["setting"]) == {"0.5", "theory", "1e+300"}
    assert set(random["setting"]) == {"none"}
    assert set(zip(frame["seed"], frame["tuning_seed"], strict=True)) == {
        (0, False),
        (TUNING, True),
    }
    for name, value in {
        "generator": "data",
        "source": "text",
        "experiment": "all",
        "stream": "letor",
    }.items():
        assert set(frame[name]) == {value}
    assert set(slam["kind"]) == {"slam"}
    last = online_traces.finals(frame)
    assert len(last) == 2 * 4
    assert last["ndcg@10"].isna().sum() == (last["failed_in"] > 0).sum() == 2
    assert chosen(frame, "held-out")["slam"][0] in ("0.5", "theory")
    for name in TABLES:
        assert len(making.frame_of(SHOWN[name], frame, found))


def test_details_say_which_measures_an_experiments_runs_record(run_files, tmp_path):
    job = job_of("b", measures=["err", "ap", "precision@5"])
    run(job, tmp_path / "run.parquet", [0, 1], [tmp_path / "toy.arrow"])
    about = DETAILS["all"]
    frame, found = traces.read(
        [Runs("all", run_files, about), Runs("b", [tmp_path / "run.parquet"], about)]
    )
    assert "measures" not in found["all"]
    assert found["b"]["measures"] == ["err", "precision@5"]  # AP is recorded in any case
    assert frame.loc[frame["experiment"] == "all", ["err", "precision@5"]].isna().all().all()
    table = perceptron.finals_table(frame, found)
    assert set(zip(table["experiment"], table["measure"], strict=True)) == {
        *((name, measure) for name in ("all", "b") for measure in ("ndcg@10", "ap")),
        ("b", "err"),
        ("b", "precision@5"),
    }


@pytest.mark.parametrize("damage", ["missing", "cut", "foreign"])
def test_a_run_that_is_not_whole_is_named(run_files, damage):
    path = run_files[1]
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9] if damage == "cut" else b"text")
    with pytest.raises(DataError) as caught:
        traces.read([Runs("all", run_files, DETAILS["all"])])
    assert caught.value.file == str(path)


def _luminance(colour):
    """The relative luminance of a colour (WCAG 2.2)."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("name", style.COLOURS)
def test_colours_are_seen_on_white(name):
    assert 1.05 / (_luminance(style.COLOURS[name]) + 0.05) > 2.2


def test_images_say_what_they_show_and_what_drew_them(tmp_path):
    from PIL import Image

    for folder in (tmp_path / "a", tmp_path / "b"):
        figure, _ = plt.subplots(figsize=(1, 1), layout="constrained")
        figures.save(figure, pd.DataFrame({"a": [1]}), folder / "figure-1", code="0123456789ab")
    data = hashlib.sha256((tmp_path / "a/figure-1.csv").read_bytes()).hexdigest()
    shown = f"figure-1.csv with SHA-256 {data}, code 0123456789ab"
    assert Image.open(tmp_path / "a/figure-1.png").text["Description"] == shown
    svg = (tmp_path / "a/figure-1.svg").read_text()
    assert shown in svg and "<dc:date>" not in svg
    for ending in ("png", "svg"):
        assert (tmp_path / f"a/figure-1.{ending}").read_bytes() == (
            tmp_path / f"b/figure-1.{ending}"
        ).read_bytes()


@pytest.mark.parametrize(
    ("best", "means", "expected"),
    [
        ("0.1", {"0.01": 0.3, "0.1": 0.5, "1": 0.4}, ""),
        ("1", {"0.01": 0.3, "0.1": 0.4, "1": 0.5}, "largest of 3"),
        ("1e-05", {"1e-05": 0.5, "0.1": 0.4, "theory": 0.1}, "least of 2"),
        ("theory", {"0.1": 0.3, "theory": 0.4}, ""),
        ("0.01", {"0.01": 0.5, "0.1": 0.5, "1": 0.4}, ""),  # smaller rates change nothing
        ("0.01", {"0.01": 0.5004, "0.1": 0.5}, ""),  # or so little that it may be chance
        ("0.01", {"0.01": 0.5006, "0.1": 0.5}, "least of 2"),
        (
            "1, exploring 0.1",
            {
                "1, exploring 0.1": 0.5,
                "2, exploring 0.1": 0.4,
                "1, exploring 0.3": 0.3,
                "0.1, exploring 0.3": 0.2,
            },
            "least of 2, least exploring of 2",
        ),
        (
            "1, exploring 0.1",
            {"1, exploring 0.1": 0.5, "2, exploring 0.1": 0.5, "1, exploring 0.03": 0.3},
            "largest exploring of 2",
        ),
    ],
)
def test_a_rate_at_the_end_of_its_grid_is_marked(best, means, expected):
    assert online_traces.edge(best, pd.Series(means)) == expected


def test_a_table_without_rows_is_read_as_one(tmp_path):
    """As that of bounds of a study whose learners have none; its CSV file is an empty line."""
    tables.write(pd.DataFrame([]), tmp_path / "bounds")
    assert (tmp_path / "bounds.csv").read_bytes() == b"\n"
    assert tables.read(tmp_path / "bounds.csv").empty

"""Reports: intervals, the choice of rates, tables and figures of runs whose outcome is known."""

import hashlib
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from rows import entries, gathered, interval, row, three
from scipy import stats
from toys import SHOWN

from scant.data import stream as streams
from scant.declare.declarations import TUNING
from scant.errors import DataError, SettingError
from scant.present import figures, making, tables, traces
from scant.present.intervals import t_interval
from scant.rankers import drawings as drawing
from scant.rankers import frames as perceptron
from scant.rankers import traces as online_traces
from scant.rankers.run import run
from scant.study.plan import Runs

pytestmark = pytest.mark.usefixtures("no_figure_is_left_open")


def make(name, stem, *read):
    """Write a figure, if that is its name, or a table."""
    making.make(SHOWN[name], stem, *read)


def trace(learner, seed, values, setting="1", **changes):
    """One run at one rate: its time-averaged NDCG@10 (and half of it as AP) in rounds 1, 2, ..."""
    rounds = len(values)
    columns = dict.fromkeys(("ndcg@10", "ndcg", "ranker_ndcg@10"), values) | {
        "learner": learner,
        "seed": seed,
        "tuning_seed": seed >= 3,
        "setting": setting,
        "rate": float(setting) if setting not in ("theory", "none") else 0.5,
        "theory": int(setting == "theory"),
        "round": np.arange(rounds) + 1,
        "ap": np.array(values) / 2,
        "loss": np.cumsum(1 - np.array(values)),
        "updates": np.arange(rounds),
    }
    return pd.DataFrame(ALIKE | columns | changes)


ALIKE = yaml.safe_load(
    """{experiment: all, stream: letor, source: text, kind: slam, own_measure: ndcg@10,
    steps: schedule, generator: data, surrogate_loss: .nan, bound: .nan, general_bound: .nan,
    failed_in: 0}"""
)
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
        trace("slam", seed, [0.0, OUTCOMES[rate][seed]], rate)
        for rate, seed in product(OUTCOMES, range(5))
    ]
    parts += [trace("listnet", seed, [0.0, LISTNET[seed]], kind="listnet") for seed in range(3)]
    both = gathered(*parts)
    both.loc[(both["setting"] == "4") & both["seed"].isin([1, 4]), "failed_in"] = 3
    return both


# --- intervals
@pytest.mark.parametrize("values", [[1.0, 2.0], [0.1, 0.5, 0.7, 0.2], [3.0, 3.0, 3.0]])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_the_interval_is_students(values, level):
    mean, low, high, n = t_interval([*values, np.nan], level)
    expected = values[0], values[0]
    if np.std(values):
        expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert (mean, n) == (pytest.approx(np.mean(values)), len(values))
    assert (low, high) == pytest.approx(tuple(expected))


def test_an_interval_needs_two_values():
    for sample, expected in ((), (np.nan, 0)), ((0.5,), (0.5, 1)), ((0.5, np.nan), (0.5, 1)):
        mean, low, high, n = t_interval(sample)
        np.testing.assert_equal((mean, n), expected)
        assert np.isnan([low, high]).all()


# --- the choice of rates
def test_finals_are_the_last_rounds(frame):
    listnet = frame[frame["learner"] == "listnet"]
    last = online_traces.finals(gathered(trace("slam", 0, np.arange(15) / 100), listnet))
    assert len(last) == 4
    slam = row(last, learner="slam")
    assert entries(slam, "round ndcg@10 ap") == (15, 0.14, 0.07)
    assert slam["ndcg@10 last ten"] == pytest.approx(np.arange(5, 15).mean() / 100)
    assert slam["ap last ten"] == pytest.approx(np.arange(5, 15).mean() / 200)


def test_a_failed_run_has_no_final_measure(frame):
    last = online_traces.finals(frame.assign(surrogate_loss=1.0, err=frame["ndcg@10"] / 10))
    failed = last["failed_in"] > 0
    assert failed.sum() == 2
    names = ["ndcg@10", "ndcg", "ap", "ranker_ndcg@10", "loss", "surrogate_loss", "err"]
    names += [f"{name} last ten" for name in ("ndcg@10", "ap", "err")]
    np.testing.assert_array_equal(last[names].isna().all(axis=1), failed)
    assert not last.loc[~failed, names].isna().any().any()


def chosen(frame, tuning, measure="ndcg@10"):
    found = online_traces.chosen_rates(online_traces.finals(frame), measure, tuning)
    return {row.learner: (row.setting, row.tuning) for row in found.itertuples()}


def test_each_tuning_reading_chooses_by_its_own_seeds(frame):
    assert chosen(frame, "held-out") == {"slam": ("2", "held-out"), "listnet": ("1", "held-out")}
    assert chosen(frame, "paper") == {"slam": ("1", "paper"), "listnet": ("1", "paper")}
    # without seeds set aside the choice is the papers'
    reported = frame[~frame["tuning_seed"]]
    assert chosen(reported, "held-out") == {"slam": ("1", "paper"), "listnet": ("1", "held-out")}
    # by the measure that is shown
    frame.loc[(frame["setting"] == "1") & (frame["learner"] == "slam"), "ap"] = 0.0
    assert chosen(frame, "paper", "ap")["slam"] == ("2", "paper")
    assert chosen(frame, "paper")["slam"] == ("1", "paper")


def test_a_rate_at_which_a_run_failed_is_chosen_only_if_there_is_no_other(frame):
    for tuning in ("held-out", "paper"):
        assert chosen(frame, tuning)["slam"][0] != "4"
        assert chosen(frame[frame["setting"] == "4"], tuning)["slam"][0] == "4"
    # each rate failed in a seed of either kind
    frame.loc[frame["seed"].isin([0, 3]), "failed_in"] = 2
    assert chosen(frame, "held-out")["slam"][0] in OUTCOMES


# --- tables
def test_the_table_of_finals(frame):
    table = perceptron.finals_table(frame, DETAILS)
    # NDCG@10: two learners under two readings; AP: ListNet, which has no measure of its own
    assert len(table) == 6
    for tuning, rate in {"held-out": "2", "paper": "1"}.items():
        one = row(table, learner="slam", tuning=tuning)
        values = np.array(OUTCOMES[rate][:3])
        assert entries(one, "rate rounds ok n measure") == (rate, 2, 3, 3, "ndcg@10")
        assert entries(one, "mean low high") == interval(values)
        assert one["last_ten"] == pytest.approx(values.mean() / 2)
        assert three(one, "difference") == interval(values - LISTNET[:3])
        assert one["main"] == (tuning == "held-out")
    assert np.isnan(row(table, learner="listnet", tuning="paper", measure="ap")["difference"])


def test_differences_are_to_the_listnet_of_the_same_experiment_and_stream(frame):
    others = [frame.assign(experiment="b", **{"ndcg@10": 0.3})]
    others += [frame.assign(stream="sim", **{"ndcg@10": 0.2})]
    table = perceptron.finals_table(gathered(*others, frame), DETAILS | {"b": DETAILS["all"]})
    for where in ({"experiment": "b"}, {"stream": "sim"}):
        assert row(table, learner="slam", tuning="paper", **where)["difference"] == 0
    one = row(table, learner="slam", tuning="paper", experiment="all", stream="letor")
    assert one["difference"] == pytest.approx(np.mean(OUTCOMES["1"][:3]) - np.mean(LISTNET[:3]))
    without = perceptron.finals_table(frame[frame["learner"] == "slam"], DETAILS)
    assert without[["difference", "difference_low", "difference_high"]].isna().all().all()


ASKED = {"all": DETAILS["all"] | {"measures": ["err", "precision@5"]}}


def with_further(frame):
    """ERR is a tenth, and Precision@5 thrice NDCG@10; experiment "b" does not record them."""
    asking = frame.assign(**{"err": frame["ndcg@10"] / 10, "precision@5": frame["ndcg@10"] * 3})
    return gathered(asking, frame.assign(experiment="b"))


def test_measures_that_an_experiment_asks_for_are_rows_of_the_finals(frame):
    """At the rates that NDCG@10 chooses, here even where ERR would choose another."""
    both, details = with_further(frame), ASKED | {"b": DETAILS["all"]}
    both.loc[(both["setting"] == "1") & (both["learner"] == "slam"), "err"] = 0.0
    table = perceptron.finals_table(both, details)
    assert table["measure"].drop_duplicates().tolist() == ["ndcg@10", "ap", "err", "precision@5"]
    asked = table[table["measure"].isin(["err", "precision@5"])]
    # measures, learners, tunings
    assert set(asked["experiment"]) == {"all"} and len(asked) == 2 * 2 * 2
    for tuning, rate in {"held-out": "2", "paper": "1"}.items():
        one = row(table, learner="slam", tuning=tuning, measure="precision@5")
        expected = 3 * np.array(OUTCOMES[rate][:3])
        assert entries(one, "rate ok n") == (rate, 3, 3)
        assert entries(one, "mean low high") == interval(expected)
        assert one["last_ten"] == pytest.approx(expected.mean() / 2)
        assert one["difference"] == pytest.approx((expected - 3 * np.array(LISTNET[:3])).mean())
    assert row(table, learner="slam", tuning="paper", measure="err")["mean"] == 0
    plain = perceptron.finals_table(gathered(frame, frame.assign(experiment="b")), details)
    others = table[table["measure"].isin(["ndcg@10", "ap"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, plain)


def test_the_runs_shown_of_aps_own_learners_are_those_that_ap_chooses(frame):
    frame = with_further(frame.assign(own_measure="ap"))
    frame.loc[(frame["setting"] == "1") & (frame["learner"] == "slam"), "ap"] = 0.0
    chosen = perceptron.finals_table(frame, ASKED | {"b": DETAILS["all"]})
    for measure in ("ap", "err"):
        where = {"experiment": "all", "learner": "slam", "tuning": "paper", "measure": measure}
        assert row(chosen, **where)["rate"] == "2"


def test_failed_runs_are_counted_out(frame):
    shown = frame[(frame["setting"] == "4") | (frame["learner"] == "listnet")]
    one = row(perceptron.finals_table(shown, DETAILS), learner="slam", tuning="paper")
    assert entries(one, "rate ok n") == ("4", 2, 3)
    assert one["mean"] == pytest.approx(0.9)
    # paired: the failed seed is left out of both
    assert one["difference"] == pytest.approx(0.9 - np.mean([LISTNET[0], LISTNET[2]]))


def test_the_table_of_streams(tmp_path):
    paths, grades = [tmp_path / "a.arrow", tmp_path / "b.arrow"], np.array([2, 0])
    facts = streams.write(paths[0], [(0, grades, np.eye(2))], {"stream": "a", "seed": 4})
    streams.write(paths[1], [(0, np.zeros(3, int), np.eye(3))], {"stream": "b"}, np.eye(3)[0])
    table = perceptron.streams_table(paths)
    assert table["stream"].tolist() == ["a", "b"]
    assert table["documents"].tolist() == [2, 3]
    assert table["without_relevant"].tolist() == [0, 1]
    assert table["v_max"].iloc[0] == facts["weight_ratio"]["ndcg"]


@pytest.mark.parametrize(
    ("title", "drawn"),
    yaml.safe_load(r"""
[['{x}', '{x}'], [$5 and $6, \$5 and \$6], ['\frac{', '\frac{'], ['$\frac{$', '\$\frac{\$'],
 [$\eta = 1$, $\eta = 1$], [a $b$, a \$b\$], [$, \$]]
"""),
)
def test_titles_are_text_unless_all_of_them_is_marked_as_mathematics(title, drawn):
    frame = pd.DataFrame({"label": [title, "plain", None], "mean": [1.0, 2.0, 3.0]})
    assert figures.literal(frame)["label"].tolist()[:2] == [drawn, "plain"]
    figure, axis = plt.subplots()
    axis.set_title(figures.literal(frame)["label"].iloc[0])
    figure.draw_without_rendering()
    plt.close(figure)


def test_latex_escapes_text_and_rounds_numbers_and_runs_no_title():
    columns = {"a_b": ["50 %", "x_1 & {y}", r"\alpha~^#$"], "n": [3, 1_000_000, -7]}
    columns |= {"x": [0.123456, np.nan, 1.5e9], "x_low": [0.1122, np.nan, np.nan]}
    columns |= {"x_high": [0.1349, np.nan, np.nan], "ok": [True, False, True]}
    columns |= {"none": [None, "<= |c|", ""]}
    frame = pd.DataFrame(columns)
    assert tables.latex(frame, "A & b.", "it").strip() == ESCAPED.strip()
    text = tables.latex(
        pd.DataFrame({"a\nb": ["x\ty\x1b[31m\u202e", "{z} $5 \\frac{", "\\input{a}%"]}), "", "it"
    )
    assert all(character.isprintable() or character == "\n" for character in text)
    assert r"a b \\" in text and "x y[31m" in text
    assert r"\{z\} \$5 \textbackslash{}frac\{" in text and r"\textbackslash{}input\{a\}\%" in text


ESCAPED = r"""
\begin{table}
\centering
\scriptsize\tabcolsep=3pt
\caption{A \& b. In brackets: intervals.}\label{tab:it}
\begin{tabular}{lrrrl}
\toprule
a b & seeds & x & ok & none \\
\midrule
50 \% & 3 & 0.12 [0.11, 0.14] & yes & -- \\
x\_1 \& \{y\} & 1000000 & -- & no & \textless{}= \textbar{}c\textbar{} \\
\textbackslash{}alpha\textasciitilde{}\textasciicircum{}\#\$ & -7 & 1.500e+09 & yes &  \\
\bottomrule
\end{tabular}
\end{table}"""


CHARACTERS = {"é…": "é…", "Θ≤": r"\ensuremath{\Theta}\ensuremath{\le}"}
CHARACTERS |= {"中": "[U+4E2D]", "\u202e": "", "đ": "[U+0111]"}


@pytest.mark.parametrize(("text", "written"), CHARACTERS.items())
def test_characters_that_latex_has_no_glyph_for_are_written_by_their_codes(text, written):
    assert tables.escaped(text) == written


def test_a_wide_table_prints_at_most_twelve_columns_and_a_long_one_takes_several_pages():
    frame = pd.DataFrame({f"c{n}": range(41) for n in range(12)} | {"same": 1, "last": 2})
    text = tables.latex(frame.assign(z=range(41)), "", "wide")
    head = text.split("toprule")[1].split("midrule")[0]
    assert head.count("&") == 11 and "same" not in head and "z" not in head
    assert "wide.csv has further columns" in text and r"\begin{longtable}" in text
    text = tables.latex(frame[:40], "", "wide", printed=("same", "c1", "gone"))
    assert "same & c1 " in text and r"\begin{table}" in text


def test_tables_are_written_as_csv_in_full_and_latex(frame, tmp_path):
    frame["bound"] = 1 / 3
    make("finals", tmp_path / "out/finals.v1", frame, DETAILS)
    made = making.frame_of(SHOWN["finals"], frame, DETAILS)
    read = pd.read_csv(tmp_path / "out/finals.v1.csv", dtype={"rate": str})
    pd.testing.assert_frame_equal(read, made, check_dtype=False, rtol=1e-14)
    assert len((tmp_path / "out/finals.v1.tex").read_text().splitlines()) == len(made) + 12
    assert len(list((tmp_path / "out").iterdir())) == 2
    # one without rows, whose CSV file is an empty line, is read as one
    tables.write(pd.DataFrame([]), tmp_path / "bounds")
    assert (tmp_path / "bounds.csv").read_bytes() == b"\n"
    assert tables.read(tmp_path / "bounds.csv").empty


# --- figures
@pytest.fixture
def many():
    """Two streams of data, a separable one, learners of both measures, and what no figure shows."""
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
    pairs = set(zip(shown["stream"], shown["learner"], strict=True))
    assert pairs == {("letor", "slam"), ("letor", "listnet")}
    one = row(shown, learner="slam", round=30)
    values = many.query(
        "learner == 'slam' and stream == 'letor' and setting == '2' and round == 30 and seed < 3"
    )["ndcg@10"]
    assert entries(one, "mean low high") == interval(values) and one["n"] == 3
    said = ("2 (largest of 2)", "held-out", "ndcg@10", "LETOR", "SLAM")
    assert entries(one, "rate tuning measure panel label") == said


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
    result = shown.groupby("learner")["n"].unique().map(list).to_dict()
    assert result == {"listnet": [2], "slam": [3]}


def test_the_csv_is_what_is_drawn(many, tmp_path):
    make("figure-2.2", tmp_path / "out/figure-2.2", many, DETAILS)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv", ".png", ".svg"}
    frame = pd.read_csv(tmp_path / "out/figure-2.2.csv", dtype={"rate": str})
    expected = perceptron.curves(many, DETAILS, "ndcg@10", False)
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False, rtol=1e-14)
    drawn = drawing.curves(frame)
    [axis] = drawn.axes
    lines = [line for line in axis.get_lines() if len(line.get_xdata()) > 1]
    assert len(lines) == len(axis.collections) == 2
    for line, band, learner in zip(lines, axis.collections, ("slam", "listnet"), strict=True):
        curve = frame[frame["learner"] == learner]
        np.testing.assert_array_equal(line.get_xydata(), curve[["round", "mean"]])
        edges = set(map(tuple, band.get_paths()[0].vertices))
        for end in ("low", "high"):
            assert set(map(tuple, curve[["round", end]].to_numpy())) <= edges
    assert axis.get_title(loc="left").strip() == "LETOR"
    assert {"ListNet", "SLAM"} <= {text.get_text() for text in axis.texts}
    assert "NDCG@10" in axis.get_ylabel()
    svg = (tmp_path / "out" / "figure-2.2.svg").read_text()
    assert all(text in svg for text in ("LETOR", "SLAM", "ListNet", "3 seeds", "95 % t interval"))


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with 25 learners of one's own without a look, and one that declares its own."""
    text = "".join(f"class Learner{i}:\n    pass\n" for i in range(25))
    text += "class Seen:\n    looks = {'': ('pink', 'p', ':'), 'ap': ('#123456', '8', '-')}\n"
    (tmp_path / "learners_with_looks.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return "learners_with_looks"


# --- from run files
JOB = yaml.safe_load("""
{study: toy, study_seed: 1, experiment: all, stream: letor, learner: random, kind: perceptron,
 stream_settings: {dataset: letor}, learner_settings: {kind: random}, source: text, rounds: 30,
 empty: zero, order: shuffled, keep: 1.0}
""")


@pytest.fixture
def run_files(tmp_path):
    random = np.random.default_rng(0)
    queries = [(q, random.integers(0, 3, 6), random.standard_normal((6, 3))) for q in range(10)]
    streams.write(tmp_path / "toy.arrow", queries, {})
    learners = {"kind": "slam", "rates": [0.5, "theory", 1e300]}, {"kind": "random"}
    files = []
    for seed, learner in product((0, TUNING), learners):
        files.append(tmp_path / f"{learner['kind']}-{seed}.parquet")
        job = JOB | {"learner": learner["kind"], "learner_settings": learner}
        run(job, files[-1], [seed], [tmp_path / "toy.arrow"])
    return files


def test_runs_are_read_with_their_identity(run_files):
    frame, found = traces.read([Runs("all", run_files, DETAILS["all"])])
    assert found == DETAILS
    slam, random = frame[frame["learner"] == "slam"], frame[frame["learner"] == "random"]
    assert set(slam["setting"]) == {"0.5", "theory", "1e+300"} and set(slam["kind"]) == {"slam"}
    assert set(random["setting"]) == {"none"}
    seeds = set(zip(frame["seed"], frame["tuning_seed"], strict=True))
    assert seeds == {(0, False), (TUNING, True)}
    about = frame[["generator", "source", "experiment", "stream"]].drop_duplicates()
    assert about.to_numpy().tolist() == [["data", "text", "all", "letor"]]
    last = online_traces.finals(frame)
    assert len(last) == 2 * 4
    assert last["ndcg@10"].isna().sum() == (last["failed_in"] > 0).sum() == 2
    assert chosen(frame, "held-out")["slam"][0] in ("0.5", "theory")
    assert len(making.frame_of(SHOWN["finals"], frame, found))


def test_details_say_which_measures_an_experiments_runs_record(run_files, tmp_path):
    job = JOB | {"experiment": "b", "measures": ["err", "ap", "precision@5"]}
    run(job, tmp_path / "run.parquet", [0, 1], [tmp_path / "toy.arrow"])
    about = DETAILS["all"]
    frame, found = traces.read(
        [Runs("all", run_files, about), Runs("b", [tmp_path / "run.parquet"], about)]
    )
    assert "measures" not in found["all"]
    assert found["b"]["measures"] == ["err", "precision@5"]  # AP is recorded in any case
    assert frame.loc[frame["experiment"] == "all", ["err", "precision@5"]].isna().all().all()
    table = perceptron.finals_table(frame, found)
    measures = table.groupby("experiment")["measure"].unique().map(set).to_dict()
    both = {"ndcg@10", "ap"}
    assert measures == {"all": both, "b": both | {"err", "precision@5"}}


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
        one, other = (tmp_path / f"{name}/figure-1.{ending}" for name in "ab")
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("best", "means", "expected"),
    [
        ("0.1", {"0.01": 0.3, "0.1": 0.5, "1": 0.4}, ""),
        ("1", {"0.01": 0.3, "0.1": 0.4, "1": 0.5}, "largest of 3"),
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

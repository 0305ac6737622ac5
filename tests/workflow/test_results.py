"""The tiny study from end to end: which files there are, what they hold, say of themselves."""

import hashlib
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from scant.declare import families
from scant.files import FOLDER_MARK, metadata_of
from scant.finished import reading
from scant.finished.differences import compare
from scant.present import making, panels, style
from scant.present.tables import latex
from scant.study import settings as studies
from scant.study.plan import Plan, span, untitled
from scant.verdict import words
from scant.verdict.tables import CAPTION, PRINTED

pytestmark = pytest.mark.slow
CONTEXTUAL = [f"figure-{name}" for name in ("2.1", "2.2", "2.ap", "3.4", "top-k", "top-regret")]
FIGURES = [*CONTEXTUAL, "figure-steps", "figure-steps-top", "figure-3.1", "figure-observability"]
FIGURES += [f"figure-games-{name}" for name in ("horizon", "items", "rounds")]
FIGURES += ["figure-5.1", "figure-5.2", "figure-logs", "figure-ctr-by-rate", "figure-coverage"]
FIGURES += [f"figure-generalisation-{name}" for name in ("n", "gap", "m", "d", "rates")]
TABLES = yaml.safe_load(
    """[finals, steps, top, regret, steps-top, games, slopes, atlas, seen, streams, ads, table-5.1,
    table-5.2, generalisation, variance, table-3.1, table-3.2, table-b.1, observability, table-4.1,
    constants, theorems-perceptron, theorems-top, theorems-games, theorems-ads,
    theorems-generalisation]"""
)
# Files: of one learner each, of best fixed weights, of all learners of a game or population.
RUNS, COMPARATORS, PLAYED = 106, 8, 11
CONTRACT = yaml.safe_load(
    """[id, source, statement, verdict, estimate, low, high, n, readings_holding, readings_total,
    data]"""
)
DOCUMENTED = yaml.safe_load(
    """[study, study_seed, experiment, kind, stream, learner, seeds, source, learner_settings,
    stream_settings, resolved, rounds, empty, order, keep, own_measure, versions, inputs, code]"""
)
AT_THE_TOP = ["schedule", "mismatch", "radius", "judge"]  # readings of experiments of that kind


@pytest.fixture(scope="module")
def settings(saved):
    """The settings of the tiny study, as its file has them."""
    return yaml.safe_load((saved / "config/studies/tiny.yaml").read_text())


@pytest.fixture(scope="module")
def plan(saved, settings):
    """What they amount to."""
    return Plan(*studies.load(settings, saved / "config/datasets.yaml"))


@pytest.fixture(scope="module")
def study(plan):
    """The same, complete, with the experiments that its sweeps make."""
    return plan.study


@pytest.fixture(scope="module")
def stated(saved):
    """The claims of the project."""
    return studies.claims(
        *sorted((saved / "config/claims").glob("*.yaml")), schema_path=saved / studies.CLAIMS_SCHEMA
    )


@pytest.fixture(scope="module")
def every_run(tiny):
    """Metadata and rows of every run file of one learner, by its path below runs/."""
    paths = sorted((tiny / "runs").glob("*/*/*/*.parquet"))
    tables = {
        str(path.relative_to(tiny / "runs").with_suffix("")): pq.read_table(path) for path in paths
    }
    return {name: (metadata_of(table.schema), table) for name, table in tables.items()}


@pytest.fixture(scope="module")
def runs(every_run):
    """Those of contextual learners."""
    return {name: run for name, run in every_run.items() if run[0]["kind"] != "ads"}


@pytest.fixture(scope="module")
def ads(every_run):
    """Those of ads."""
    return {name: run for name, run in every_run.items() if run[0]["kind"] == "ads"}


def table(tiny, name):
    """A table of the study, as a frame."""
    return pd.read_csv(tiny / "tables" / f"{name}.csv")


def test_there_is_every_file_and_no_other(tiny, plan):
    found = {path.name for part in ("figures", "tables") for path in (tiny / part).iterdir()}
    assert {*plan.figures} == {*FIGURES} and {*plan.tables} == {*TABLES}
    assert found == {f"{name}.{ending}" for name in FIGURES for ending in ("svg", "png", "csv")} | {
        f"{name}.{ending}" for name in TABLES for ending in ("csv", "tex")
    }
    hidden = [path for path in tiny.rglob(".*") if path.is_file() and path.name != FOLDER_MARK]
    assert not hidden, "something was left half-written"


def test_every_job_has_a_log_and_a_benchmark(tiny):
    def names(part):
        return {
            path.relative_to(tiny / part).with_suffix("")
            for path in (tiny / part).rglob("*.*")
            if path.is_file()
        }

    assert names("logs") == names("benchmarks")


def test_most_jobs_are_forked(tiny):
    """The smallest job then has the memory of the process that has loaded all."""
    logs = [*(tiny / "logs").rglob("*.log")]
    memory = [re.search(r", at most (\d+) MB\n\Z", log.read_text()) for log in logs]
    assert sum(int(match[1]) > 150 for match in memory if match) > 0.8 * len(logs)


def test_runs_are_those_that_are_planned(tiny, every_run, plan):
    found = {
        str(path.relative_to(tiny / "runs").with_suffix(""))
        for path in (tiny / "runs").rglob("*.parquet")
    }
    assert found == {job.path for jobs in plan.jobs.values() for job in jobs}
    assert (len(every_run), len(found)) == (RUNS, RUNS + PLAYED)


def test_run_files_say_what_they_are(runs, study, tiny):
    assert runs
    for name, (metadata, rows) in runs.items():
        at_the_top = metadata["kind"] == "top"
        resampled = {"queries"} if "dataset" in metadata["stream_settings"] else set()
        assert metadata.keys() == {*DOCUMENTED, *resampled, *(AT_THE_TOP if at_the_top else ())}
        seeds = span(metadata["seeds"])
        assert name == "{experiment}/{stream}/{learner}/seed-".format(**metadata) + seeds
        assert metadata["study"] == study["study"] and metadata["study_seed"] == study["seed"]
        assert metadata["learner_settings"] == study["learners"][metadata["learner"]]
        assert metadata["stream_settings"] == untitled(study["streams"][metadata["stream"]])
        assert metadata["resolved"]["kind"] == metadata["learner_settings"]["kind"]
        assert sorted(set(rows["seed"].to_pylist())) == metadata["seeds"]
        assert {"scant", "numpy"} <= metadata["versions"].keys()
        files = {path.name: path for path in (tiny / "streams").glob(f"{metadata['stream']}.arrow")}
        files |= {
            path.name: path for path in (tiny / "streams" / metadata["stream"]).glob("*/*.arrow")
        }
        assert bool(metadata["inputs"]) == (metadata["stream"] != "adversary")
        for file, digest in metadata["inputs"].items():
            assert digest == hashlib.sha256(files[file].read_bytes()).hexdigest()
        assert len(rows) > 0


def test_regrets_of_games_are_those_of_their_runs_and_below_their_bounds(tiny, settings):
    games = table(tiny, "games")
    for one in games.itertuples():
        rows = pd.concat(
            map(pd.read_parquet, (tiny / "runs" / one.experiment / one.stream).glob("*.parquet"))
        )
        ends = rows[rows["learner"] == one.learner]
        ends = ends[(ends["horizon"] == one.rounds) & (ends["round"] == one.rounds)]
        difference = ends["best"] - ends["value"]
        expected = difference.mean() * (1 if one.loss in ("dcg", "ndcg") else -1)
        np.testing.assert_allclose(one.regret, expected, rtol=1e-12)
        assert one.n == len(ends) == settings["experiments"][one.experiment]["seeds"]
    bounded = games[games["bound"].notna()]
    assert len(bounded) and (bounded["regret"] <= bounded["bound"]).all()
    assert games.loc[games["learner"].isin(["blocks", "top-2"]), "explored"].min() > 0
    others = games[games["experiment"] == "items"].set_index("learner")["difference"]
    assert others[["blocks"]].isna().all() and others.drop("blocks").notna().all()


def test_no_policy_is_truly_better_than_the_oracle(ads):
    for epsilon in (0.0, 0.2):
        best = {}
        for name, (about, rows) in ads.items():
            frame = rows.replace_schema_metadata(None).to_pandas()
            truth = frame[
                (frame["estimator"] == "true") & frame["chosen"] & (frame["epsilon"] == epsilon)
            ]
            if name.startswith("ads-campaigns/"):
                best[about["learner"]] = truth.set_index("seed")["estimate"]
        assert best.keys() >= {"logistic", "forest", "auc-ranker", "uniform"}
        assert all((best["oracle"] >= one).all() for one in best.values())


def test_traces_keep_the_last_round_and_averages_stay_in_bounds(runs):
    for name, (metadata, rows) in runs.items():
        frame = rows.replace_schema_metadata(None).to_pandas()
        assert (frame["failed_in"] == 0).all(), name
        text = metadata["source"] == "text"
        rates = metadata["learner_settings"].get("rates", ["none"]) if text else ["the code's own"]
        ends = frame["round"] == frame["round"].max()
        assert ends.sum() == len(rates) * len(metadata["seeds"]), name
        if metadata["rounds"]:
            assert frame["round"].max() == metadata["rounds"]
        averages = frame[["ndcg@10", "ndcg", "ap", "ranker_ndcg@10"]].to_numpy()
        assert ((averages >= 0) & (averages <= 1 + 1e-12)).all(), name
        assert (frame["surrogate_loss"].notna() == ("judge" in metadata["resolved"])).all(), name
        explores = metadata["learner_settings"]["kind"] in ("rtop", "seen", "pdgd")
        assert (
            (frame.loc[ends, "explored"] > 0).all() if explores else not frame["explored"].any()
        ), name
        assert (frame["explored"] >= frame["mismatched"]).all(), name


def shows(tiny, name, shown):
    """The words `shown` stand in the SVG, and there is a PNG."""
    root = ElementTree.parse(tiny / "figures" / f"{name}.svg").getroot()
    text = " ".join(
        "".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")
    )
    assert not [word for word in shown if word not in text]
    png = (tiny / "figures" / f"{name}.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and len(png) > 5_000


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_a_figure_shows_what_its_csv_holds(tiny, settings, name):
    frame = pd.read_csv(tiny / "figures" / f"{name}.csv")
    along = "ranking" if name == "figure-top-k" else "round"  # what a learner has several rows for
    identity = ["experiment", "stream", "learner", along]
    assert {*identity, "mean", "low", "high", "n", "rate"} <= {*frame}
    if name != "figure-top-regret":
        assert (frame["measure"] == ("ap" if name == "figure-2.ap" else "ndcg@10")).all()
    assert (
        frame["low"].isna() | (frame["low"] <= frame["mean"]) & (frame["mean"] <= frame["high"])
    ).all()
    separable = frame["stream"].str.startswith("separable")
    assert separable.all() if name == "figure-2.1" else not separable.any()
    assert not frame.duplicated(identity).any()
    shows(tiny, name, {*frame["line" if "line" in frame else "label"], *frame["panel"]})


def test_finals_have_every_learner_and_the_ideal_is_1(tiny, settings):
    finals = table(tiny, "finals")
    names = ("top", "games", "ads", "generalisation")
    kinds = ("top", "fixed-items", "ads", "generalisation")
    tables = {kind: table(tiny, name) for kind, name in zip(kinds, names, strict=True)}
    kinds = {name: one.get("kind", "perceptron") for name, one in settings["experiments"].items()}
    assert {*finals["experiment"]} == {name for name, kind in kinds.items() if kind == "perceptron"}
    for name, experiment in settings["experiments"].items():
        there = tables.get(kinds[name], finals)
        there = there[there["experiment"] == name]
        assert {*there["learner"]} == {*experiment["learners"]}
        (places,) = [
            experiment[key]
            for key in ("streams", "games", "logs", "populations")
            if key in experiment
        ]
        assert {*there["stream"]} == {*places}
    assert {*finals["tuning"]} == {"held-out", "paper"}
    assert {*finals["measure"]} == {"ndcg@10", "ap"}
    ideal = finals[finals["learner"] == "ideal"]
    assert len(ideal) and (ideal["mean"] == 1).all()
    assert (finals["ok"] == finals["n"]).all()
    inner = finals[finals["n"] > 1]
    assert ((inner["low"] <= inner["mean"]) & (inner["mean"] <= inner["high"])).all()


def test_losses_stay_below_the_bounds_that_hold_for_them(runs):
    """SLAM's at the rate of the theory, max-hinge's at any, in every round kept."""
    bounded = 0
    for name, (metadata, rows) in runs.items():
        frame = rows.to_pandas()
        if "general_bound" in frame:
            promised = frame[(frame["theory"] == 1) | (metadata["kind"] == "max-hinge")]
            for bound in ("bound", "general_bound"):
                above = promised["loss"] > promised[bound]
                assert not above.any(), name
                bounded += promised[bound].notna().any()
    assert bounded > 5


def test_regret_is_against_the_best_fixed_weights_of_the_same_queries(tiny, runs):
    """Each round's comparator is certified, and no learner judged by it beats the best by far."""
    files = sorted((tiny / "comparators").rglob("*.parquet"))
    assert len(files) == COMPARATORS
    for path in files:
        best = pq.read_table(path).to_pandas()
        _, stream, judge, _ = path.relative_to(tiny / "comparators").parts
        assert ((best["gap"] >= 0) & (best["gap"] <= 1e-4 * best["best"])).all()
        assert (best["norm"] <= 1 + 1e-9).all()
        for name, (metadata, rows) in runs.items():
            if name.startswith(f"top/{stream}/") and metadata["resolved"].get("judge") == judge:
                both = rows.to_pandas().merge(best, on=["seed", "round"])
                assert {*both["seed"]} == {*best["seed"]}, name
                assert {*both["round"]} == {*best["round"]}, name
                ends = both[both["round"] == both["round"].max()]
                assert (ends["surrogate_loss"] > 0.9 * ends["best"]).all(), name
    regret = table(tiny, "regret")
    # it is not convex
    assert (regret["regret"].isna() == (regret["objective"] == "smoothdcg")).all()
    assert (regret["regret"].dropna() > 0).all()


def test_every_claim_has_its_row(tiny, stated):
    frame = pd.read_csv(tiny / "claims.csv")
    assert frame.columns[: len(CONTRACT)].tolist() == CONTRACT
    assert frame["id"].tolist() == list(stated)
    assert frame["statement"].tolist() == [claim["statement"] for claim in stated.values()]
    some = {"holds", "fails", "undecided", words.SILENT, words.UNTESTABLE}
    assert some <= {*frame["verdict"]} <= {*words.VERDICTS}
    tested = ~frame["verdict"].isin([words.SILENT, words.UNTESTABLE])
    assert ((frame["readings_total"] > 0) == tested).all() and (frame["readings_total"] > 1).any()
    assert (frame["readings_holding"] <= frame["readings_total"]).all()
    assert (frame["readings_holding"] > 0)[frame["verdict"] == "holds"].all()
    low, estimate, high = (frame[name] for name in ("low", "estimate", "high"))
    assert (low.isna() | (low <= estimate) & (estimate <= high)).all()
    assert frame["data"].notna().all()
    written = pd.read_parquet(tiny / "claims.parquet")
    pd.testing.assert_frame_equal(
        written[CONTRACT].replace("", np.nan), frame[CONTRACT], check_dtype=False
    )


PAPER = r"""\documentclass{article}\usepackage[a4paper,landscape,margin=1cm]{geometry}
\usepackage{booktabs,longtable}\begin{document}
%s
\end{document}"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")
def test_all_tables_are_what_a_paper_prints(tiny, tmp_path):
    """pdfLaTeX sets each, with a caption and a label, on a page of A4 that lies."""
    odd = pd.DataFrame(
        {"a": ["".join(map(chr, range(start, start + 8))) for start in range(32, 9000, 8)]}
    )
    texts = [
        latex(odd, "", "odd"),
        latex(pd.read_csv(tiny / "claims.csv"), CAPTION, "claims", PRINTED),
    ]
    for _, one in families.shown():
        if (path := tiny / f"tables/{one.name}.csv").is_file():
            texts.append(latex(pd.read_csv(path), one.caption, one.name, one.printed))
    assert len(texts) > 20
    for text in texts:
        head = text.split(r"\toprule")[1].split(r"\midrule")[0]
        assert head.count(" & ") < 12 and "_" not in head and r"\label{tab:" in text
    (tmp_path / "all.tex").write_text(PAPER % "\\clearpage\n".join(texts), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=300)
    printed = done.stdout.decode(errors="replace")
    assert done.returncode == 0, printed[-1000:]
    wide = map(float, re.findall(r"Overfull \\hbox \(([0-9.]+)pt", printed))
    assert [points for points in wide if points > 20] == []


SMALLEST = 5.6  # points: exponents are 0.7 of the 8 that ticks have
# tables of small cells, which no column has room for
ONE_WIDTH = {"figure-observability", "figure-coverage"}


def sizes_of(folder):
    """The width (inches) of a folder's SVGs, and the size (points) of their smallest text."""
    found = {}
    for path in sorted(folder.glob("*.svg")):
        text = path.read_text()
        fonts = re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+)px", text)
        found[path.stem] = (
            float(re.search(r'width="([\d.]+)pt"', text)[1]) / 72,
            min(map(float, fonts)),
        )
    return found


def test_every_figure_has_the_width_that_a_study_asks_for_and_texts_that_can_be_read(
    tiny, saved, plan, monkeypatch, tmp_path, capsys
):
    on_page = sizes_of(tiny / "figures")
    assert on_page.keys() == {*FIGURES}
    for width, font in on_page.values():
        assert width <= panels.WIDEST + 1e-6 and font >= SMALLEST, on_page
    monkeypatch.setenv(style.ENVIRONMENT, '{"width": "column"}')
    monkeypatch.chdir(saved)
    read = making.Inputs(plan)
    for name, target in plan.figures.items():
        making.make(target.shown, tmp_path / name, *read(target))
    in_column, said = sizes_of(tmp_path), capsys.readouterr().out
    assert in_column.keys() == on_page.keys()
    assert all(font >= SMALLEST for _, font in in_column.values()), in_column
    wide = {name for name, (width, _) in in_column.items() if width > panels.COLUMN + 1e-6}
    told = {f"{name} does not fit a column of text, and is as wide as a page" for name in wide}
    assert told == {*said.splitlines()}
    assert wide <= ONE_WIDTH and all(in_column[name] == on_page[name] for name in wide)


def test_the_page_is_one_file_that_names_every_claim(tiny, stated):
    path = tiny / "report.html"
    html = path.read_text()
    assert not re.search(r"""src=["']?(?!data:)""", html), "it needs another file"
    # to download
    addresses = re.findall(r"""href=["']((?!#|data:|https?:)[^"']+)""", html)
    assert addresses and all((tiny / unquote(file)).is_file() for file in addresses)
    text = unescape(html)
    assert all(name in text and claim["statement"] in text for name, claim in stated.items())


def test_the_manifest_says_what_made_the_study(tiny, plan):
    study = reading.read(tiny)  # its files have the checksums of the manifest
    assert {*study.tables} == {*plan.tables} and study.claims and study.cells
    assert study.manifest["code"].keys() >= {family.kind for family in plan.families.values()}
    assert all(len(checksum) == 64 for checksum in study.manifest["data"].values())
    assert not compare(study, study).fails("numbers")


def test_the_notebook_runs(tiny, monkeypatch):
    """Every code cell of the example, in one namespace, on these results."""
    monkeypatch.chdir(tiny.parents[1])
    cells = json.loads(
        (Path(__file__).parents[2] / "examples/results.ipynb").read_text(encoding="utf-8")
    )["cells"]
    space = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    assert len(space["last"]) and set(space["runs"]["learner"]) == {"listnet"}

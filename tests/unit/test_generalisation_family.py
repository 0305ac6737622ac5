"""The family of generalisation: it plans, refuses what cannot be, plays, shows what came out."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from scant.declare.declarations import called
from scant.errors import SettingError
from scant.generalisation import drawings, frames, quantities, run
from scant.generalisation.family import Generalisation
from scant.present import traces
from scant.present.traces import Played
from scant.study import settings as studies
from scant.study.plan import Plan, Runs
from scant.theory import generalisation as theory

ROOT = Path(__file__).parents[2]
FAMILY = Generalisation()
STUDY = yaml.safe_load("""
study: toy
claims: null
datasets: {mine: {task: ranking, parser: letor, features: 6, grades: 2,
  parts: {all: {file: mine.txt, queries: 9, rows: 50}}}}
streams: {mine: {dataset: mine}, raw: {dataset: mine, features: as-is}, drawn: {generator: linear}}
populations: {noisy: {generator: linear, settings: {grades: 2}},
  scores: {title: Scores, generator: separable}, lists: {stream: mine}}
learners: {listnet: {title: ListNet, kind: erm-l2}, dcg: {kind: erm-l2, surrogate: smoothdcg,
  starts: 2}, sparse: {kind: erm-l1}, ogd: {kind: averaged-ogd},
  faster: {kind: averaged-ogd, step: 2.0}, ridge: {kind: regularised-erm}}
experiments: {toy: {kind: generalisation, populations: [noisy, scores],
  learners: [listnet, ogd, sparse], n: [8, 16, 32], m: [3], d: [4], seeds: 3, batch: 2, fresh: 50,
  reference: 60, ascents: 1, figures: [figure-generalisation-n, figure-generalisation-gap]}}
""")


def loaded(path=(), value=None, others=()):
    """The study and its data sets, with the value at a path, and all of `others`, changed."""
    study = deepcopy(STUDY)
    for keys, new in [(path, value), *others] if path else others:
        place = study
        for key in keys[:-1]:
            place = place[key]
        place.pop(keys[-1], None) if new is None else place.update({keys[-1]: new})
    return studies.load(study, ROOT / "config/datasets.yaml")


# --- planning
def test_a_job_plays_all_learners_of_a_population():
    study, datasets = loaded()
    jobs = Plan(study, datasets).jobs["toy"]
    assert [job.path for job in jobs] == [
        f"toy/{name}/seed-{seeds}" for name in ("noisy", "scores") for seeds in ("0-1", "2")
    ]
    settings = jobs[2].settings
    expected = {"generator": "separable", "settings": {}, "lists": "resampled"}
    assert settings["population"] == expected
    assert [learner for learner, _ in settings["learners"]] == ["listnet", "ogd", "sparse"]
    assert settings["learners"][0][1] == {"kind": "erm-l2"}  # no title
    assert {*settings} >= {"study_seed", "n", "m", "d", "W", "sigma", "fresh", "reference"}
    assert jobs[0].files == []


def test_a_population_of_a_stream_reads_its_file():
    path = ("experiments", "toy")
    study, datasets = loaded((*path, "populations"), ["lists"], [((*path, "n"), [4, 8, 9])])
    job = Plan(study, datasets).jobs["toy"][0]
    assert job.inputs == {"streams": ["results/toy/streams/mine.arrow"]}
    study, datasets = loaded((*path, "d"))
    assert {tuple(job.settings["d"]) for job in Plan(study, datasets).jobs["toy"]} == {(20,)}


TOY, LISTS = ("experiments", "toy"), [(("experiments", "toy", "populations"), ["lists"])]
SMALL = [((*TOY, "n"), [4]), *LISTS]
NOISY = ("populations", "noisy", "settings")
OF_LISTS = (*TOY, "n")
LISTED = ("populations", "lists", "stream")
OPTIMISTIC = {"kind": "averaged-ogd", "surrogate": "ranksvm", "step": "optimistic"}
REFUSED = [
    (OF_LISTS, [8, 10], LISTS, r"experiments\.toy: lists: n is 10, and mine has 9 queries"),
    ((*TOY, "d"), [7], SMALL, "lists: d is 7, and mine has 6 features"),
    (OF_LISTS, [2 * 10**7], [], "20,000,000 queries of 3 documents with 4 features take 1.0 GB"),
    ((*TOY, "reference"), 10**8, [], "noisy: reference x m x d: .* lower reference"),
    (NOISY, {"informative": 5}, [], "noisy: d is 4, and grades depend on 5 features"),
    ((*TOY, "W"), 0, [], "W: 0 is less than or equal to the minimum of 0"),
    ((*TOY, "fresh"), 1, [], "fresh: 1 is less than the minimum of 2"),
    (("learners", "ogd", "surrogate"), "smoothdcg", [], "step is theory's .* not convex"),
    (("learners", "ogd"), OPTIMISTIC, [], "step: the optimistic step is for smooth surrogates"),
    (("learners", "listnet", "starts"), 3, [], "starts does nothing for the surrogate 'listnet'"),
    (LISTED, "raw", SMALL, "lists: erm-l1 needs features that are bounded"),
    (LISTED, "mien", SMALL, "lists: unknown stream 'mien': did you mean 'mine'"),
    (LISTED, "drawn", SMALL, "lists: the stream 'drawn' is simulated"),
    (("populations", "lists", "settings"), {"grades": 2}, [], "settings does nothing for a stream"),
    (("populations", "scores", "settings"), {"grades": 1}, [], r"scores: settings\.grades"),
    ((*TOY, "rounds"), 10, [], "experiments.toy: unknown key 'rounds'"),
]


@pytest.mark.parametrize(("path", "value", "others", "words"), REFUSED)
def test_bad_input_is_refused_at_planning(path, value, others, words):
    with pytest.raises(SettingError, match=words):
        loaded(path, value, others)


# --- what is shown
@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The traces of the toy study, and its details."""
    folder, (study, datasets) = tmp_path_factory.mktemp("toy"), loaded()
    plan, paths = Plan(study, datasets), []
    for job in plan.jobs["toy"]:
        paths.append(folder / f"{len(paths)}.parquet")
        run.run(job.settings | job.identity | {"study": "toy"}, paths[-1], job.seeds, job.inputs)
    return traces.read([Runs("toy", paths, plan.details("toy"))])


def test_excess_bounds_are_of_the_learners_theorems(played):
    rows = frames.bounded(*played)
    by_learner = rows.groupby("learner")["bound_by"].unique().map(list).to_dict()
    assert by_learner == {
        "listnet": ["Theorem 38"],
        "ogd": ["Theorem 35"],
        "sparse": ["Theorem 40"],
    }
    row = rows[(rows["learner"] == "ogd") & (rows["n"] == 16)].iloc[0]
    problem = theory.problem("listnet", 3, 4, int(row["largest_grade"]), row["W"], row["R"])
    assert row["bound"] == pytest.approx(theory.descent_excess(16, problem))
    assert (rows["gap"] == rows["risk"] - rows["train"]).all()
    known = rows.dropna(subset="bound")
    assert (known["excess"] < known["bound"]).all()
    found = rows.dropna(subset=["uniform", "uniform_bound"])
    assert len(found) and (found["uniform"] < found["uniform_bound"]).all()
    assert frames.excess_bound(row, {"step": 2.0}) == ("", pytest.approx(np.nan, nan_ok=True))
    assert frames.excess_bound(row, {"step": "optimistic"})[0] == "(4.8)"
    of_ridge = frames.excess_bound(pd.Series({**row, "kind": "regularised-erm"}), {})
    assert of_ridge == ("Theorem 36", pytest.approx(theory.regularised_excess(16, problem)))


def test_means_in_figures_are_over_seeds(played):
    frame = frames.against(*played, along="n")
    row = frame[
        (frame["stream"] == "noisy") & (frame["learner"] == "ogd") & (frame["queries"] == 8)
    ].iloc[0]
    cell = played[0].query("stream == 'noisy' and learner == 'ogd' and n == 8")
    assert row["mean"] == pytest.approx(cell["excess"].mean()) and row["label"] == "ogd"
    assert row["documents"] == 3
    texts = {text.get_text() for axis in drawings.against_n(frame).axes for text in axis.texts}
    assert {*frame.dropna(subset="bound")["bound_by"]} <= texts
    with pytest.raises(SettingError, match="set ascents to 1 or more"):
        frames.against(played[0].assign(uniform=np.nan), played[1], along="n", measured="uniform")


def test_tables(played):
    risks = frames.risks_table(*played)
    assert len(risks) == 6 and (risks["n"] == 32).all() and (risks["seeds"] == 3).all()
    assert (risks["not_certified"] == 0).all()
    ogd = frames.against(*played, along="n").query("learner == 'ogd'")
    assert ogd["bound_slope"].to_numpy() == pytest.approx(-0.5)


def test_what_a_certificate_cannot_tell_from_0_has_no_slope(played):
    rows = played[0].query("stream == 'noisy' and learner == 'listnet'")
    unclear = rows.assign(certificate=np.where(rows["n"] == 32, 1e9, 0.0))
    assert {*frames.resolved(unclear, "n", "excess")["n"]} == {8, 16}
    assert np.isnan(frames.growth(unclear, "n", "excess", "excess")["slope"])
    assert len(frames.resolved(unclear.assign(kind="averaged-ogd"), "n", "excess")) == len(rows)


def test_quantities_are_one_number_for_each_seed(played):
    whole = Played("toy", None, played[0], played[1]["toy"], None)
    columns = ["stream", "learner", "seed"]
    for name, quantity in FAMILY.quantities.items():
        values = called(quantity.values)(whole)
        assert not values.duplicated(columns).any() and "value" in values, name
    shares = quantities.excess_share(whole)
    assert {"noisy, n = 8", "scores, n = 32"} <= {*shares["stream"]}
    # a bound of c n^(-1/2) is 1 / ceiling times smaller from that n on
    assert shares["ceiling"].max() < 1
    fallen = (shares["n"] / shares["says_from"]) ** 0.5
    assert fallen.to_numpy() == pytest.approx(shares["ceiling"].to_numpy())
    loud = replace(whole, traces=whole.traces.assign(at_zero=1e9))
    assert quantities.excess_share(loud)["says_from"].isna().all()
    slopes = quantities.excess_slope(whole).set_index(columns)["value"]
    table = frames.against(*played, along="n").groupby(["stream", "learner"])["slope"].first()
    for (stream, learner), slope in table.dropna().items():
        assert slopes[stream, learner].mean() == pytest.approx(slope)
    assert quantities.excess_slope(whole, "m").empty


def test_the_slope_on_log_d_is_that_of_a_power_of_log_d():
    d = np.array([10, 100, 1000])
    cell = {"experiment": "toy", "stream": "noisy", "learner": "sparse", "seed": 0, "n": 8, "m": 3}
    kind = yaml.safe_load(
        "{kind: erm-l1, surrogate: listnet, ball: l1, W: 1.0, R: 1.0, sigma: 1.0}"
    )
    found = {"risk": 2.0, "train": 1.0, "best": 1.0, "certificate": 0.0, "uniform": np.nan}
    rows = pd.DataFrame({"d": d, "excess": 0.1 * np.log(d) ** 0.5})
    rows = rows.assign(**cell, **kind, **found, largest_grade=2)
    details = {"toy": {"learners": {"sparse": {"kind": "erm-l1"}}}}
    whole = Played("toy", None, rows, details["toy"], None)
    assert quantities.excess_slope(whole, "log d")["value"].to_numpy() == pytest.approx(0.5)

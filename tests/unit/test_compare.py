"""Two finished studies side by side: what differs, what is said of it, and references."""

import csv
import json
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rows import entries

from scant.cli import main
from scant.declare.declarations import called
from scant.errors import DataError, SettingError
from scant.finished import differences, manifest, provenance, reading
from scant.finished.differences import (
    COLUMNS,
    HOWS,
    ONLY_A,
    ONLY_B,
    Estimate,
    compare,
    compare_tables,
    differing,
    moved,
)
from scant.finished.reading import csv_text, read
from scant.page import about
from scant.page.page import ABSENT
from scant.study import code, settings
from scant.study.plan import ORIGINAL, Plan

TINY = Path("config/studies/tiny.yaml")
MADE_BY = yaml.safe_load("""
settings:
  seed: 7
  learners: {slam: {kind: slam, rates: [0.1, 1.0]}, random: {kind: random}}
claims: {top-a: aaa, top-b: bbb, ads-c: ccc}
code: {top: "123", verdicts: "456"}
modules: {scant.rankers.top: "12", scant.verdict.claims: "45"}
versions: {Python: 3.11.7, numpy: 2.1.0, system: "Linux, x86_64"}
data: {digits/test: 6ebb}
""")


def claim(id, verdict="holds", estimate=0.5, low=0.4, high=0.6, n=8, **more) -> dict:
    row = {"id": id, "statement": f"{id} learns.", "verdict": verdict, "estimate": estimate}
    return row | {"low": low, "high": high, "n": n} | more


def cell(of, verdict="holds", estimate=0.5, low=0.4, high=0.6, n=8, **more) -> dict:
    where = {"claim": of, "experiment": "top", "tuning": "paper", "stream": "digits"}
    row = claim(of, verdict, estimate, low, high, n) | {"learner": "slam", "against": ""}
    return where | {key: row[key] for key in row if key not in ("id", "statement")} | more


CLAIMS = [claim("top-a"), claim("top-b", "undecided", 0.1, -0.1, 0.3)]
CLAIMS += [claim("ads-c", "not testable here", "", "", "", 0)]
CELLS = [cell("top-a"), cell("top-a", stream="sim", first="False")]
CELLS += [cell("top-b", "undecided", 0.1, -0.1, 0.3)]
FINALS = yaml.safe_load("""
- {experiment: top, learner: slam, rounds: 100, rate: 0.1, mean: 0.5, low: 0.4, high: 0.6}
- {experiment: top, learner: slam, rounds: 200, rate: 0.1, mean: 0.6, low: 0.5, high: 0.7}
- {experiment: top, learner: random, rounds: 100, rate: "", mean: 0.25, low: "", high: ""}
""")


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A function that writes a finished study below results/ and gives its folder."""
    monkeypatch.setenv("COLUMNS", "100")

    def make(
        study="small",
        claims=CLAIMS,
        cells=CELLS,
        finals=FINALS,
        made_by=MADE_BY,
        restated=None,
        **changes,
    ):
        folder = tmp_path / "results" / study
        files = {"tables/finals.csv": finals}
        if claims is not None:
            files |= {"claims.csv": claims, "claims-readings.csv": cells}
        for name, rows in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            head = dict.fromkeys(column for row in rows for column in row)
            texts = [{column: str(row.get(column, "")) for column in head} for row in rows]
            path.write_text(csv_text(texts, head))
        about = {"study": study, "files": manifest.checksums(folder, files)}
        changes |= {"claims": restated} if restated else {}
        manifest.save(about | made_by | changes, folder / manifest.NAME)
        return folder

    return make


def changed(rows, number, **changes) -> list[dict]:
    """The rows, one of them with other values."""
    return [row | changes if place == number else row for place, row in enumerate(rows)]


def scant(*arguments) -> int:
    return main([str(argument) for argument in arguments])


def printed(capsys) -> str:
    """What was printed, on one line."""
    return " ".join(capsys.readouterr().out.split())


def refused(capsys, why, *arguments, status=2) -> None:
    """Assert that a command is refused, and why."""
    assert scant(*arguments) == status
    assert why in capsys.readouterr().err


def rows_of(path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# --- estimates
def test_how_estimates_move():
    a = Estimate(0.5, 0.4, 0.6, 8)
    for b, how in (
        (Estimate(0.9, 0.8, 1.0), "apart"),
        (Estimate(0.7, 0.55, 0.85), "outside"),
        # B's estimate is in A's interval, but not the other way round
        (Estimate(0.55, 0.52, 0.58), "outside"),
        (Estimate(0.55, 0.45, 0.65), "within"),
        (Estimate(0.5 + 1e-4), "unequal"),
        (Estimate(0.5, 0.3, 0.6), "interval"),
        (Estimate(0.5 * (1 + 1e-8), 0.4, 0.6, 9), "same"),
        (Estimate(None), ONLY_A),
        (None, ONLY_A),
    ):
        assert moved(a, b) == how, b
    assert moved(None, a) == ONLY_B and moved(Estimate(None), None) == "same"
    assert moved(Estimate(1e-17), Estimate(-3e-18)) == "same", "both are zero, but for rounding"


NUMBER = st.floats(-1e6, 1e6)
ESTIMATE = st.one_of(
    st.builds(Estimate, NUMBER),
    st.lists(NUMBER, min_size=3, max_size=3).map(
        lambda ends: Estimate(sorted(ends)[1], min(ends), max(ends))
    ),
)


@given(ESTIMATE, ESTIMATE)
def test_how_an_estimate_moves_does_not_depend_on_which_study_is_first(a, b):
    assert moved(a, b) == moved(b, a) and moved(a, a) == "same"
    assert moved(a, b) in HOWS


# --- tables, settings
def test_rows_of_tables_are_matched_by_what_they_are_about():
    a = [{column: str(value) for column, value in row.items()} for row in FINALS]
    # another order, another form of a number
    b = [row | {"rounds": f"{row['rounds']}.0"} for row in reversed(a)]
    assert compare_tables("finals", a, b) == ([], 3)
    b[0]["mean"], b[1]["mean"] = "0.26", "0.65"
    cells, rows = compare_tables("finals", a, [*b[:2], b[2] | {"rounds": "300"}])
    assert {(cell.where, cell.column): cell.how for cell in cells} == {
        ("top, slam, 100", ""): ONLY_A,
        ("top, slam, 300", ""): ONLY_B,
        ("top, random, 100", "mean"): "unequal",
        ("top, slam, 200", "mean"): "within",
    }
    (slam,) = (cell for cell in cells if cell.how == "within")
    assert slam.a == Estimate(0.6, 0.5, 0.7) and slam.b == Estimate(0.65, 0.5, 0.7) and rows == 2


def test_columns_of_one_side_are_left_out_and_rows_that_nothing_tells_apart_are_counted():
    a = [{"bound": "1.5", "new": "1"}, {"bound": "2.5", "new": "1"}]
    b = [{"bound": "1.5"}, {"bound": "3.5"}]
    (only,), rows = compare_tables("bounds", a, b)
    assert (only.where, only.column, only.how, rows) == ("row 2", "bound", "unequal", 2)
    assert compare_tables("bounds", [], b)[0][0].how == ONLY_B
    one, other = [[{"bound": "t", "share": share}] for share in ("theory", "0.1")]
    (cell,), _ = compare_tables("bounds", one, other)
    assert cell.where == "t", "in other tables `bound` is a name"
    assert (cell.a, cell.b, cell.how) == ("theory", "0.1", "unequal")
    assert differences.both(cell.a, cell.b) == ("theory", "0.1")


def test_settings_are_compared_by_key_path():
    a, b = yaml.safe_load("""
- {seed: 1, learners: {x: {rates: [1, 2], k: null}, gone: {kind: y}}, same: [{a: 1}]}
- {seed: 2, learners: {x: {rates: [1, 3]}, new: {kind: z}}, same: [{a: 1.0}]}
""")
    assert differing(a, b) == [
        ("seed", "1", "2"),
        ("learners.x.rates", "[1, 2]", "[1, 3]"),
        ("learners.x.k", "null", ""),
        ("learners.new", "", '{"kind": "z"}'),
        ("learners.gone", '{"kind": "y"}', ""),
    ]


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        (0.123456789, 0.2, ("0.1235", "0.2")),
        (0.123456789, 0.123466789, ("0.12346", "0.12347")),
        (0.5, 0.5 + 1e-12, ("0.5", "0.5")),
        (None, 1, (ABSENT, "1")),
    ],
)
def test_numbers_are_as_long_as_it_takes_to_see_that_they_differ(a, b, shown):
    assert differences.numbers(a, b) == shown


# --- studies
def test_equal_studies(make, capsys):
    assert scant("compare", make(), make("other"), "--fail-on", "numbers") == 0
    assert printed(capsys).endswith(
        "Both have 3 verdicts, 3 cells and 3 table rows: all are the same to rounding. They are "
        "different studies, small and other. Both were made with the same settings, code, "
        "packages, claims and data."  # and nothing is listed
    )


def test_claims_of_one_study_alone_are_counted(make, capsys):
    """Their verdicts do not differ: the other study has none."""
    a, b = make(), make("other", [*CLAIMS[1:], CLAIMS[0] | {"id": "of-b"}])
    assert scant("compare", a, b) == 1
    said = printed(capsys)
    assert "Both have 2 verdicts" in said
    assert "A alone judges 1 claim. B alone judges 1 claim." in said
    assert scant("compare", a, make("third", [CLAIMS[0] | {"id": "of-c"}])) == 1
    said = printed(capsys)
    assert "Both have 3 table rows: all" in said
    assert "A alone judges 3 claims. B alone judges 1 claim." in said


def test_what_differs_is_said_with_what_changed_most_first(make, capsys):
    claims = changed(CLAIMS, 1, verdict="fails", estimate=-0.9, low=-1, high=-0.8)
    learners = {"slam": {"kind": "slam", "rates": [0.1, 2.0]}, "random": {"kind": "random"}}
    b = make(
        "other",
        changed(claims, 0, estimate=0.65),
        changed(CELLS, 0, estimate=0.51),
        changed(FINALS, 0, mean=0.75, low=0.7, high=0.8),
        settings={"seed": 7, "learners": learners},
        code={"top": "789", "verdicts": "456"},
        modules={"scant.rankers.top": "78", "scant.verdict.claims": "45"},
        data={"digits/test": "7f"},
        versions=MADE_BY["versions"] | {"numpy": "2.2.0"},
        restated={"top-a": "a", "top-b": "b"},
    )
    assert scant("compare", make(), b) == 1
    text = capsys.readouterr().out
    said = " ".join(text.split())
    assert "1 verdict, 2 estimates, 1 cell and 1 table cell differ." in said
    assert "They were made with different settings, code, packages, data sets and claims." in said
    assert "\n".join(" ".join(line.split()) for line in text.splitlines()[-12:]) == DIFFERING


DIFFERING = """\
verdict top-b undecided → fails
estimate top-b 0.1 [-0.1, 0.3], n = 8 → -0.9 [-1, -0.8], n = 8: apart
table finals: top, slam, 100: mean 0.5 [0.4, 0.6] → 0.75 [0.7, 0.8]: apart
estimate top-a 0.5 [0.4, 0.6], n = 8 → 0.65 [0.4, 0.6], n = 8: outside
cell top-a: top, paper, digits, slam 0.5 [0.4, 0.6], n = 8 → 0.51 [0.4, 0.6], n = 8: within
settings learners.slam.rates [0.1, 1.0] → [0.1, 2.0]
code top 123 → 789
modules scant.rankers.top 12 → 78
versions numpy 2.1.0 → 2.2.0
data digits/test 6ebb → 7f
claims top-a aaa → a
claims top-b bbb → b"""


def test_what_no_chance_explains(make):
    """With the same seeds and data, differences come from code or packages; or from neither."""
    other, a = changed(CLAIMS, 0, estimate=0.51), read(make("a"))
    for name, changes, ending in (
        ("b", {}, "claims and data. What differs is due to the processor."),
        (
            "c",
            {"code": {"top": "7", "verdicts": "456"}},
            "different code. Seeds and data are the same, so this or the processor is what makes "
            "numbers differ.",
        ),
        ("d", {"settings": {"seed": 8}}, "different settings."),
    ):
        *_, last = differences.sentences(compare(a, read(make(name, other, **changes))))
        assert last.endswith(ending)


FAR = {"estimate": 0.9, "low": 0.8, "high": 1.0}


@pytest.mark.parametrize(
    ("changes", "statuses"),  # without an option, and with estimates and numbers
    [
        ({"claims": changed(CLAIMS, 0, estimate=0.55)}, [0, 0, 1]),
        ({"claims": changed(CLAIMS, 0, **FAR)}, [0, 1, 1]),
        ({"cells": changed(CELLS, 1, **FAR)}, [0, 1, 1]),
        ({"finals": changed(FINALS, 0, mean=0.51)}, [0, 0, 1]),
        ({"claims": CLAIMS[:2]}, [1, 1, 1]),  # one that only one study judges
        ({"versions": {}}, [0, 0, 0]),
    ],
)
def test_what_makes_it_fail(make, changes, statuses):
    a, b = make(), make("other", **changes)
    options = ([], ["--fail-on", "estimates"], ["--fail-on", "numbers"])
    assert [scant("compare", a, b, *option) for option in options] == statuses


def test_studies_without_manifest_or_claims(make, capsys):
    a, b = make(), make("old", claims=None)
    assert scant("compare", a, b) == 0
    assert "B judges no claims." in printed(capsys)
    (b / manifest.NAME).rename(b / "kept")
    refused(capsys, "holds no finished claims or tables", "compare", a, b)
    (b / "kept").rename(b / manifest.NAME)
    (a / "tables/finals.csv").rename(a / "tables/top.csv")
    made = {"files": {"claims.csv": "", "tables/top.csv": ""}}
    made["files"] = manifest.checksums(a, ["claims.csv", "claims-readings.csv", "tables/top.csv"])
    manifest.save(MADE_BY | made | {"study": "small"}, a / manifest.NAME)
    refused(capsys, "no claims and no table in common", "compare", b, a)


# --- CSV
def test_the_csv_has_all_that_differs(make, tmp_path, capsys):
    claims = changed(changed(CLAIMS, 1, verdict="fails"), 0, estimate=0.51)
    cells, finals = changed(CELLS, 2, verdict="fails"), changed(FINALS, 2, mean=0.3)
    code = {"top": "7", "verdicts": "456"}
    b = make("other", claims, cells, finals, settings={"seed": 8}, code=code)
    assert scant("compare", make(), b, "--output", tmp_path / "out/diff.csv") == 1
    rows = rows_of(tmp_path / "out/diff.csv")
    assert list(rows[0]) == list(COLUMNS)
    assert [entries(row, "part name difference a b") for row in rows] == [
        ("verdict", "top-b", "", "undecided", "fails"),
        ("cell verdict", "top-b", "", "undecided", "fails"),
        ("table", "finals", "unequal", "0.25", "0.3"),
        ("estimate", "top-a", "within", "0.5", "0.51"),
        ("settings", "seed", "", "7", "8"),
        ("settings", "learners", "", json.dumps(MADE_BY["settings"]["learners"]), ""),
        ("code", "top", "", "123", "7"),
    ]
    assert entries(rows[3], "a_low a_n") == ("0.4", "8")
    assert rows[1]["where"] == "top, paper, digits, slam"
    assert entries(rows[2], "where column") == ("top, random, 100", "mean")
    refused(capsys, "end its name in .csv", "compare", make(), b, "--output", tmp_path / "diff")


STEERING = "\x1b[2J\x9b31m\r\nforged"


def test_what_could_steer_a_terminal_is_escaped(make, capsys, tmp_path):
    moved = {"id": f"moved {STEERING}"}
    claims = changed(CLAIMS, 0, verdict="fails", statement=STEERING)
    claims = [claim(STEERING, statement=STEERING), *changed(claims, 1, estimate=9, **moved)]
    finals = changed(FINALS, 0, mean=0.9, experiment=STEERING)
    b = make("other", claims, finals=finals, restated=MADE_BY["claims"] | {"ads-c": "1"})
    a = make(claims=changed(CLAIMS, 1, **moved))
    assert scant("compare", a, b, "--output", tmp_path / "diff.csv") == 1
    out = capsys.readouterr().out
    assert not any(line.startswith("forged") for line in out.splitlines())
    for text in (out, (tmp_path / "diff.csv").read_bytes().decode()):
        assert not {"\x1b", "\x9b", "\r"} & {*text} and "\\x1b[2J\\x9b31m" in text
    assert scant("compare", b, make("third", settings={"seed": STEERING})) == 2
    error = capsys.readouterr().err
    assert "is no whole manifest" in error and error.count("\n") == 1
    assert not {"\x1b", "\x9b", "\r"} & {*error}


@pytest.mark.parametrize("file", ["claims.csv", "tables/finals.csv", "new.csv"])
def test_no_comparison_is_written_into_a_study(make, capsys, file):
    a, b = make(), make("other", changed(CLAIMS, 0, verdict="fails"))
    reading.keep(a)
    kept = a.parent / "reference/small"
    for side, compared in ((a, (a, b)), (b, (a, b)), (kept, ("reference", a))):
        before = {path: path.read_bytes() for path in side.rglob("*.*")}
        refused(capsys, "which is an input", "compare", *compared, "--output", side / file)
        assert {path: path.read_bytes() for path in side.rglob("*.*")} == before


# --- references
def test_a_reference_is_kept_and_compared_to(make, capsys):
    claims = changed(CLAIMS, 0, estimate=0.4 + 1e-13)
    folder = make(finals=changed(FINALS, 0, mean=1 / 3), claims=claims)
    assert scant("reference", folder) == 0
    kept = folder.parent / "reference/small"
    assert capsys.readouterr().out.strip() == str(kept)
    result = {str(path.relative_to(kept)) for path in kept.rglob("*.*")}
    assert result == {*("claims-readings.csv", "claims.csv", "manifest.json", "tables/finals.csv")}
    assert "0.3333333" in (kept / "tables/finals.csv").read_text().split(",")
    assert ",0.4,0.4,0.6,8\n" in (kept / "claims.csv").read_text()
    for compared in (("reference", folder), (folder, "reference"), (kept, folder)):
        assert scant("compare", *compared, "--fail-on", "numbers") == 0
    assert "reference/small (reference)" in capsys.readouterr().out

    make(claims=changed(CLAIMS, 1, verdict="holds"))
    assert scant("compare", "reference", folder) == 1
    renewal = "If these verdicts are meant, renew the reference and commit it: scant reference"
    assert capsys.readouterr().out.endswith(f"{renewal} {folder}\n")
    (kept / "tables/top.csv").touch()
    assert scant("reference", folder) == 0 and scant("compare", "reference", folder) == 0
    assert not (kept / "tables/top.csv").exists(), "the one before is gone"


def test_what_cannot_be_a_reference(make, capsys):
    folder = make()
    how = f"Make it of a finished study: scant reference {folder}"
    refused(capsys, how, "compare", "reference", folder)
    refused(capsys, "give one folder", "compare", "reference", "reference")
    reading.keep(folder)
    with pytest.raises(SettingError, match="is a reference itself"):
        reading.keep(folder.parent / "reference/small")
    (folder / manifest.NAME).unlink()
    with pytest.raises(DataError, match="holds no finished claims or tables"):
        reading.keep(folder)
    assert read(folder.parent / "reference/small").claims, "the reference before is still there"
    shutil.rmtree(folder)
    refused(capsys, "no such folder", "reference", folder, status=1)


# --- bad input
HEAD = "id,verdict,estimate,low,high,n\n"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("claims.csv", None, "is not there, though"),
        ("claims.csv", "id,verdict\na,holds\n", "lacks the columns estimate, low, high, n"),
        ("claims.csv", HEAD + "a,holds,many,,,\n", "not a whole file of claims"),
        ("claims.csv", HEAD + "a,holds\n", "line 2: has 2 cells, and not 6 as the head"),
        ("claims-readings.csv", "claim,verdict\n", "lacks the columns experiment"),
        ("tables/finals.csv", "\udcff\udcfe\n", "is no table with a head"),
        ("manifest.json", '{"study": "small", "files": {}}', "is no whole manifest"),
    ],
)
def test_damaged_studies(make, capsys, file, text, message):
    folder, whole = make(), make("whole")
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text, errors="surrogateescape")
    if text is not None and file != "manifest.json":
        refused(capsys, f"{folder / file}: has changed since", "compare", whole, folder)
        made = json.loads((folder / manifest.NAME).read_text())
        made["files"] = manifest.checksums(folder, made["files"])
        manifest.save(made, folder / manifest.NAME)
    for pair in ((whole, folder), (folder, whole)):
        assert scant("compare", *pair) == 2
        error = capsys.readouterr().err
        assert message in error and str(folder) in error


def test_unfinished_studies(make, tmp_path, capsys):
    whole, empty = make(), tmp_path / "results/empty"
    refused(capsys, "there is no such folder", "compare", whole, empty)
    # what is misspelt is not to be made a reference
    misspelt, hint = whole.with_name(f"{whole.name}l"), f"Did you mean {whole}?"
    for pair in (("reference", misspelt), (misspelt, "reference"), (whole, misspelt)):
        refused(capsys, f"{misspelt}: there is no such folder. {hint}", "compare", *pair)
    empty.mkdir()
    refused(capsys, "holds no finished claims or tables", "compare", whole, empty)
    with pytest.raises(SystemExit) as left:
        scant("compare", whole)
    assert left.value.code == 2


# --- the manifest
@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The tiny study's settings and plan, a folder that stands for its results, the manifest."""
    config = yaml.safe_load(TINY.read_text()) | {"data": {"mirror": "https://example.org"}}
    folder = tmp_path_factory.mktemp("project") / "results/tiny"
    plan = Plan(*settings.load(config))
    original = ORIGINAL.format(dataset="example-logs@tiny", part="uniform")
    stated = settings.claims(*settings.claims_files(plan.study))
    made = provenance.results(plan, stated)
    for path in [*(folder / name for name in made), folder.parents[1] / original]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return config, plan, folder, written(config, plan, folder, str(TINY))


def written(config, plan, folder, file="") -> dict:
    """The manifest that is written of a study."""
    stated = settings.claims(*settings.claims_files(plan.study))
    facts, made = about.facts(plan, stated, folder), provenance.made(*filter(None, [file]))
    manifest.write(config, plan, stated, folder, facts, made, folder / manifest.NAME, file)
    return json.loads((folder / manifest.NAME).read_text())


def test_what_made_the_tiny_study(tiny):
    config, plan, folder, made = tiny
    assert made["study"] == "tiny" and reading.manifest_of(folder) == made
    of_tables = {Path(name).stem for name in made["files"] if name.startswith("tables/")}
    assert of_tables == {*plan.tables}
    assert {"claims.csv", "claims-readings.csv"} <= {*made["files"]} < {*made["results"]}
    assert made["settings"]["learners"] == config["learners"]
    assert not {"study", "data"} & made["settings"].keys(), "neither changes a result"
    assert {"Snakefile", "rules/runs.smk", "rules/present.smk"} <= made["workflow"].keys()
    logs = {f"examples/logs/{name}.csv" for name in ("uniform", "targeted")}
    claims = {f"config/claims/{path.name}" for path in Path("config/claims").iterdir()}
    inputs = {str(TINY), *claims}
    assert inputs <= made["inputs"].keys() <= {*inputs, "config/datasets.yaml", *logs}
    assert not made["elsewhere"]
    experiments = made["settings"]["experiments"]
    assert experiments.keys() == config["experiments"].keys(), "sweeps are as they are written"
    assert experiments["lower-bound"]["seeds"] == 10, "defaults are filled in"
    assert made["claims"].keys() == settings.claims(*settings.claims_files(plan.study)).keys()
    run = "runs/top/linear/kl/seed-0-2+tuning-0.parquet"
    assert {run, "figures/figure-3.4.svg", "study.json", "report.html"} <= made["results"].keys()
    folders = {name.partition("/")[0] for name in made["results"]}
    assert not folders & {"results", "logs", "benchmarks"}
    assert made["versions"].keys() == {*manifest.VERSIONS, "system"}
    assert "cores" not in made["versions"]["system"]


def test_the_code_of_the_tiny_study(tiny):
    _, plan, _, made = tiny
    families = {family.kind: family for family in plan.families.values()}
    assert made["code"].keys() == {
        *families, "data", "comparators", "coverage", "tables", "verdicts"
    }  # fmt: skip
    for kind, family in families.items():
        assert made["code"][kind] == code.digest(family.code)
        assert code.closure(family.code).keys() <= made["modules"].keys()
    # the page shows results, it does not change them
    assert "scant.rankers.comparator" in made["modules"]
    assert "scant.page.page" not in made["modules"]
    digest = code.digests("scant.measures")["scant.measures"]
    assert made["modules"]["scant.measures"] == digest and len(digest) == 12
    for names in manifest.modules(plan, {}).values():
        assert all(hasattr(called(f"{name}:__name__"), "join") for name in names)
    learners = plan.study["learners"] | {"random": {"kind": "mine:Mine"}}
    of_ones_own = Plan(plan.study | {"learners": learners}, plan.datasets)
    assert manifest.modules(of_ones_own, {})["top"][1:] == ["mine"]


def test_data_have_checksums(tiny):
    _, _, folder, made = tiny
    assert len(made["data"]["digits/test"]) == 64
    assert made["data"]["example-logs/targeted"] is None, "it is not registered, and not there"
    path = folder.parents[1] / ORIGINAL.format(dataset="example-logs@tiny", part="uniform")
    assert made["data"]["example-logs/uniform"] == manifest.sha256(path)

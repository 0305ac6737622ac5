"""Two finished studies side by side: what counts as different, what is said of it, and the
references of studies.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scant.cli import main
from scant.declare.declarations import called
from scant.errors import DataError, SettingError, printable
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
settings: {seed: 7, learners: {slam: {kind: slam, rates: [0.1, 1.0]}, random: {kind: random}}}
claims: {top-a: aaa, top-b: bbb, ads-c: ccc}
code: {top: "123", verdicts: "456"}
modules: {scant.rankers.top: "12", scant.verdict.claims: "45"}
versions: {Python: 3.11.7, numpy: 2.1.0, system: "Linux, x86_64"}
data: {digits/test: 6ebb}
""")


def claim(id, verdict="holds", estimate=0.5, low=0.4, high=0.6, n=8, **more) -> dict:
    row = {
        "id": id,
        "statement": f"{id} learns.",
        "verdict": verdict,
        "estimate": estimate,
        "low": low,
        "high": high,
    }
    return row | {"n": n} | more


def cell(of, verdict="holds", estimate=0.5, low=0.4, high=0.6, n=8, **more) -> dict:
    where = {
        "claim": of,
        "experiment": "top",
        "tuning": "paper",
        "stream": "digits",
        "learner": "slam",
        "against": "",
    }
    return (
        where | {"estimate": estimate, "low": low, "high": high, "n": n, "verdict": verdict} | more
    )


CLAIMS = [
    claim("top-a"),
    claim("top-b", "undecided", 0.1, -0.1, 0.3),
    claim("ads-c", "not testable here", "", "", "", 0),
]
CELLS = [
    cell("top-a"),
    cell("top-a", stream="sim", first="False"),
    cell("top-b", "undecided", 0.1, -0.1, 0.3),
]
FINALS = [
    yaml.safe_load(
        """{experiment: top, learner: slam, rounds: 100, rate: 0.1, mean: 0.5, low: 0.4,
        high: 0.6}"""
    ),
    yaml.safe_load(
        """{experiment: top, learner: slam, rounds: 200, rate: 0.1, mean: 0.6, low: 0.5,
        high: 0.7}"""
    ),
    yaml.safe_load(
        """{experiment: top, learner: random, rounds: 100, rate: "", mean: 0.25, low: "",
        high: ""}"""
    ),
]


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A function that writes a finished study below results/ and gives its folder."""
    monkeypatch.setenv("COLUMNS", "100")

    def make(
        study="small",
        claims=CLAIMS,
        cells=CELLS,
        tables=None,
        made_by=MADE_BY,
        restated=MADE_BY["claims"],
        **changes,
    ):
        folder = tmp_path / "results" / study
        files = {
            f"tables/{name}.csv": rows for name, rows in (tables or {"finals": FINALS}).items()
        }
        if claims is not None:
            files |= {"claims.csv": claims, "claims-readings.csv": cells}
        for name, rows in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            head = dict.fromkeys(column for row in rows for column in row)
            texts = [{column: str(row.get(column, "")) for column in head} for row in rows]
            path.write_text(csv_text(texts, head))
        if made_by is not None:
            made = (
                {"study": study, "files": manifest.checksums(folder, files)}
                | made_by
                | {"claims": restated}
                | changes
            )
            manifest.save(made, folder / manifest.NAME)
        return folder

    return make


def changed(rows, number, **changes) -> list[dict]:
    """The rows, one of them with other values."""
    return [row | changes if place == number else row for place, row in enumerate(rows)]


def scant(*arguments) -> int:
    return main([str(argument) for argument in arguments])


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
    found = {(cell.where, cell.column): cell.how for cell in cells}
    assert (
        found
        == {
            ("top, slam, 100", ""): ONLY_A,
            ("top, slam, 300", ""): ONLY_B,
            ("top, random, 100", "mean"): "unequal",
            ("top, slam, 200", "mean"): "within",
        }
        and rows == 2
    )
    (slam,) = (cell for cell in cells if cell.how == "within")
    assert slam.a == Estimate(0.6, 0.5, 0.7) and slam.b == Estimate(0.65, 0.5, 0.7)


def test_columns_of_one_side_are_left_out_and_rows_that_nothing_tells_apart_are_counted():
    a = [{"bound": "1.5", "new": "1"}, {"bound": "2.5", "new": "1"}]
    b = [{"bound": "1.5"}, {"bound": "3.5"}]
    (only,), rows = compare_tables("bounds", a, b)
    assert (only.where, only.column, only.how, rows) == ("row 2", "bound", "unequal", 2)
    words_of_bounds = [[{"bound": "t", "share": share}] for share in ("1", "2")]
    assert compare_tables("bounds", *words_of_bounds)[0][0].where == "t", (
        "in other tables `bound` is a name"
    )
    assert compare_tables("bounds", [], b)[0][0].how == ONLY_B


def test_a_text_that_differs():
    (cell,), _ = compare_tables(
        "top", [{"learner": "a", "rate": "theory"}], [{"learner": "a", "rate": "0.1"}]
    )
    assert (cell.a, cell.b, cell.how) == ("theory", "0.1", "unequal")
    assert differences.both(cell.a, cell.b) == ("theory", "0.1")


def test_settings_are_compared_by_key_path():
    a = yaml.safe_load(
        """{seed: 1, learners: {x: {rates: [1, 2], k: null}, gone: {kind: y}}, same: [{a: 1}]}"""
    )
    b = yaml.safe_load(
        "{seed: 2, learners: {x: {rates: [1, 3]}, new: {kind: z}}, same: [{a: 1.0}]}"
    )
    assert differing(a, b) == [
        ("seed", "1", "2"),
        ("learners.x.rates", "[1, 2]", "[1, 3]"),
        ("learners.x.k", "null", ""),
        ("learners.new", "", '{"kind": "z"}'),
        ("learners.gone", '{"kind": "y"}', ""),
    ]


def test_numbers_are_as_long_as_it_takes_to_see_that_they_differ():
    assert differences.numbers(0.123456789, 0.2) == ("0.1235", "0.2")
    assert differences.numbers(0.123456789, 0.123466789) == ("0.12346", "0.12347")
    assert differences.numbers(0.5, 0.5 + 1e-12) == ("0.5", "0.5") and differences.numbers(
        None, 1
    ) == (ABSENT, "1")


# --- studies


def test_equal_studies(make, capsys):
    a, b = make(), make("other")
    assert scant("compare", a, b, "--fail-on", "numbers") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "Both have 3 verdicts, 3 cells and 3 table rows: all are the same to rounding. They are "
        "different"
    ) in text
    assert (
        "studies, small and other. Both were made with the same settings, code, packages, "
        "claims and data."
    ) in text
    assert text.endswith("data."), "and nothing is listed"


def test_claims_of_one_study_alone_are_counted(make, capsys):
    """Their verdicts do not differ: the other study has none."""
    a, b = make(), make("other", [*CLAIMS[1:], CLAIMS[0] | {"id": "of-b"}])
    assert scant("compare", a, b) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Both have 2 verdicts" in said and "A alone judges 1 claim. B alone judges 1 claim." in said
    )
    c = make("third", [CLAIMS[0] | {"id": "of-c"}])
    assert scant("compare", a, c) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Both have 3 table rows: all" in said
        and "A alone judges 3 claims. B alone judges 1 claim." in said
    )


def test_what_differs_is_said_with_what_changed_most_first(make, capsys):
    claims = changed(
        changed(CLAIMS, 1, verdict="fails", estimate=-0.9, low=-1, high=-0.8), 0, estimate=0.65
    )
    finals = changed(FINALS, 0, mean=0.75, low=0.7, high=0.8)
    learners = {"slam": {"kind": "slam", "rates": [0.1, 2.0]}, "random": {"kind": "random"}}
    a = make()
    b = make(
        "other",
        claims,
        changed(CELLS, 0, estimate=0.51),
        {"finals": finals},
        settings={"seed": 7, "learners": learners},
        code={"top": "789", "verdicts": "456"},
        modules={"scant.rankers.top": "78", "scant.verdict.claims": "45"},
        data={"digits/test": "7f"},
        versions=MADE_BY["versions"] | {"numpy": "2.2.0"},
        restated={"top-a": "a", "top-b": "b"},
    )
    assert scant("compare", a, b) == 1
    text = capsys.readouterr().out
    said = " ".join(text.split())
    assert "1 verdict, 2 estimates, 1 cell and 1 table cell differ." in said
    assert "They were made with different settings, code, packages, data sets and claims." in said
    assert [" ".join(line.split()) for line in text.splitlines()[-12:]] == [
        "verdict top-b undecided → fails",
        "estimate top-b 0.1 [-0.1, 0.3], n = 8 → -0.9 [-1, -0.8], n = 8: apart",
        "table finals: top, slam, 100: mean 0.5 [0.4, 0.6] → 0.75 [0.7, 0.8]: apart",
        "estimate top-a 0.5 [0.4, 0.6], n = 8 → 0.65 [0.4, 0.6], n = 8: outside",
        (
            "cell top-a: top, paper, digits, slam 0.5 [0.4, 0.6], n = 8 → 0.51 [0.4, 0.6], n = 8: "
            "within"
        ),
        "settings learners.slam.rates [0.1, 1.0] → [0.1, 2.0]",
        "code top 123 → 789",
        "modules scant.rankers.top 12 → 78",
        "versions numpy 2.1.0 → 2.2.0",
        "data digits/test 6ebb → 7f",
        "claims top-a aaa → a",
        "claims top-b bbb → b",
    ]


def test_what_no_chance_explains(make):
    """With the same seeds and data, differences come from code or packages; with the same code,
    too, from neither.
    """
    other = changed(CLAIMS, 0, estimate=0.51)
    a = read(make("a"))
    same_code = compare(a, read(make("b", other)))
    assert differences.sentences(same_code)[-1].endswith(
        "claims and data. What differs is due to the processor."
    )
    other_code = compare(a, read(make("c", other, code={"top": "7", "verdicts": "456"})))
    assert differences.sentences(other_code)[-1].endswith(
        "different code. Seeds and data are the same, so this or the processor is what makes "
        "numbers differ."
    )
    other_seeds = compare(a, read(make("d", other, settings={"seed": 8})))
    assert differences.sentences(other_seeds)[-1].endswith("different settings.")


def test_what_makes_it_fail(make):
    a = make()

    def status(study, *options):
        return scant("compare", a, study, *options)

    estimates, numbers = ("--fail-on", "estimates"), ("--fail-on", "numbers")
    within = make("within", changed(CLAIMS, 0, estimate=0.55))
    assert (status(within), status(within, *estimates), status(within, *numbers)) == (0, 0, 1)
    apart = make("apart", changed(CLAIMS, 0, estimate=0.9, low=0.8, high=1.0))
    assert (status(apart), status(apart, *estimates)) == (0, 1)
    cells = make("cells", cells=changed(CELLS, 1, estimate=0.9, low=0.8, high=1.0))
    assert (status(cells), status(cells, *estimates)) == (0, 1)
    tables = make("tables", tables={"finals": changed(FINALS, 0, mean=0.51)})
    assert (status(tables), status(tables, *estimates), status(tables, *numbers)) == (0, 0, 1)
    assert status(make("fewer", CLAIMS[:2])) == 1, (
        "a claim that only one study judges has no verdict in the other"
    )
    assert status(make("made", versions={})) == 0


def test_studies_without_manifest_or_claims(make, capsys):
    a, b = make(), make("old", claims=None, made_by=None)
    assert scant("compare", a, b) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "B judges no claims." in text and "B has no manifest.json, so what made them" in text
    assert "Settings" not in text
    c = make("elsewhere", tables={"top": FINALS})
    assert (
        scant("compare", b, c) == 2
        and "no claims and no table in common" in capsys.readouterr().err
    )


def test_long_lists_are_cut_short(make):
    many = [claim(f"c-{number}") for number in range(50)]
    a, b = make("a", many), make("b", [row | {"verdict": "fails"} for row in many])
    text = differences.describe(compare(read(a), read(b)))
    assert text.count("holds → fails") == differences.MOST and "and 10 more: --output" in text


# --- CSV


def test_the_csv_has_all_that_differs(make, tmp_path, capsys):
    claims = changed(changed(CLAIMS, 1, verdict="fails"), 0, estimate=0.51)
    cells, finals = changed(CELLS, 2, verdict="fails"), changed(FINALS, 2, mean=0.3)
    b = make(
        "other",
        claims,
        cells,
        {"finals": finals},
        settings={"seed": 8},
        code={"top": "7", "verdicts": "456"},
    )
    assert scant("compare", make(), b, "--output", tmp_path / "out/diff.csv") == 1
    with open(tmp_path / "out/diff.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    found = [(row["part"], row["name"], row["difference"], row["a"], row["b"]) for row in rows]
    assert found == [
        ("verdict", "top-b", "", "undecided", "fails"),
        ("cell verdict", "top-b", "", "undecided", "fails"),
        ("table", "finals", "unequal", "0.25", "0.3"),
        ("estimate", "top-a", "within", "0.5", "0.51"),
        ("settings", "seed", "", "7", "8"),
        ("settings", "learners", "", json.dumps(MADE_BY["settings"]["learners"]), ""),
        ("code", "top", "", "123", "7"),
    ]
    assert (rows[3]["a_low"], rows[3]["a_n"], rows[1]["where"]) == (
        "0.4",
        "8",
        "top, paper, digits, slam",
    )
    assert (rows[2]["where"], rows[2]["column"]) == ("top, random, 100", "mean")
    assert (
        scant("compare", make(), b, "--output", tmp_path / "diff") == 2
        and "end its name in .csv" in capsys.readouterr().err
    )


RUN = ["=1+1", "+1+1", "-cmd|x", "@SUM(1)", "\t=1"]


@pytest.mark.parametrize("text", RUN)
def test_no_cell_of_the_csv_is_run_by_a_spreadsheet(make, tmp_path, text):
    b = make("other", changed(CLAIMS, 0, id=text), settings={text: text}, versions={"numpy": text})
    assert scant("compare", make(), b, "--output", tmp_path / "diff.csv") == 1
    with open(tmp_path / "diff.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert f"'{printable(text)}" in cells and text not in cells
    reading.keep(b)
    assert f"'{text}" in (b.parent / "reference/other/claims.csv").read_text()
    assert "-0.1," in (b.parent / "reference/other/claims.csv").read_text(), "numbers stay"


STEERING = "\x1b[2J\x9b31m\r\nforged"


def test_what_could_steer_a_terminal_is_escaped(make, capsys, tmp_path):
    claims = [
        claim(STEERING, statement=STEERING),
        *changed(CLAIMS, 0, verdict="fails", statement=STEERING),
    ]
    claims = changed(claims, 2, id=f"moved {STEERING}", estimate=9)
    finals = changed(FINALS, 0, mean=0.9, experiment=STEERING)
    a = changed(CLAIMS, 1, id=f"moved {STEERING}")
    b = make(
        "other", claims, tables={"finals": finals}, restated=MADE_BY["claims"] | {"ads-c": "1"}
    )
    assert scant("compare", make(claims=a), b, "--output", tmp_path / "diff.csv") == 1
    out = capsys.readouterr().out
    assert not any(line.startswith("forged") for line in out.splitlines())
    for text in (out, (tmp_path / "diff.csv").read_bytes().decode()):
        assert not {"\x1b", "\x9b", "\r"} & {*text} and "\\x1b[2J\\x9b31m" in text
    c = make("third", settings={"seed": STEERING})
    assert scant("compare", b, c) == 2
    error = capsys.readouterr().err
    assert (
        "is no whole manifest" in error
        and error.count("\n") == 1
        and not {"\x1b", "\x9b", "\r"} & {*error}
    )


@pytest.mark.parametrize("file", ["claims.csv", "tables/finals.csv", "new.csv"])
def test_no_comparison_is_written_into_a_study(make, capsys, file):
    a, b = make(), make("other", changed(CLAIMS, 0, verdict="fails"))
    reading.keep(a)
    for side in (a, b, a.parent / "reference/small"):
        before = {path: path.read_bytes() for path in side.rglob("*.*")}
        assert (
            scant(
                "compare",
                *(("reference", a) if "reference" in side.parts else (a, b)),
                "--output",
                side / file,
            )
            == 2
        )
        assert "which is an input" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in side.rglob("*.*")} == before


# --- references


def test_a_reference_is_kept_and_compared_to(make, capsys):
    finals = changed(FINALS, 0, mean=1 / 3)
    folder = make(
        tables={"finals": finals, "rates": FINALS}, claims=changed(CLAIMS, 0, estimate=0.4 + 1e-13)
    )
    assert scant("reference", folder) == 0
    kept = folder.parent / "reference/small"
    assert capsys.readouterr().out.strip() == str(kept)
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*.*")) == [
        *("claims-readings.csv", "claims.csv", "manifest.json", "tables/finals.csv")
    ]
    assert "0.3333333" in (kept / "tables/finals.csv").read_text().split(",")
    assert ",0.4,0.4,0.6,8\n" in (kept / "claims.csv").read_text()
    for words_given in (("reference", folder), (folder, "reference"), (kept, folder)):
        assert scant("compare", *words_given, "--fail-on", "numbers") == 0
    assert "reference/small (reference)" in capsys.readouterr().out

    make(claims=changed(CLAIMS, 1, verdict="holds"))
    assert scant("compare", "reference", folder) == 1
    renewal = (
        "If these verdicts are meant, renew the reference and commit it: scant reference "
        f"{folder}\n"
    )
    assert capsys.readouterr().out.endswith(renewal)
    (kept / "tables/top.csv").touch()
    assert scant("reference", folder) == 0 and scant("compare", "reference", folder) == 0
    assert not (kept / "tables/top.csv").exists(), "the one before is gone"


def test_what_cannot_be_a_reference(make, capsys):
    folder = make()
    assert scant("compare", "reference", folder) == 2
    assert f"Make it of a finished study: scant reference {folder}" in capsys.readouterr().err
    assert (
        scant("compare", "reference", "reference") == 2
        and "give one folder" in capsys.readouterr().err
    )
    reading.keep(folder)
    with pytest.raises(SettingError, match="is a reference itself"):
        reading.keep(folder.parent / "reference/small")
    (folder / manifest.NAME).unlink()
    with pytest.raises(DataError, match=r"has no manifest\.json"):
        reading.keep(folder)
    assert read(folder.parent / "reference/small").claims, "the reference before is still there"
    shutil.rmtree(folder)
    assert scant("reference", folder) == 1 and "no such folder" in capsys.readouterr().err


def test_no_study_is_named_as_a_folder_that_studies_share():
    config = yaml.safe_load(TINY.read_text())
    for name in settings.TAKEN:
        with pytest.raises(SettingError, match=f"results/{name}"):
            settings.load(config | {"study": name})


# --- bad input


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("claims.csv", None, "is not there, though"),
        ("claims.csv", "id,verdict\na,holds\n", "lacks the columns estimate, low, high, n"),
        (
            "claims.csv",
            "id,verdict,estimate,low,high,n\na,hold,1,,,5\n",
            "line 2: has the verdict 'hold'",
        ),
        (
            "claims.csv",
            "id,verdict,estimate,low,high,n\na,holds,1,,,5\na,holds,1,,,5\n",
            "'a' is there twice",
        ),
        (
            "claims.csv",
            "id,verdict,estimate,low,high,n\na,holds,many,,,\n",
            "line 2: has 'many' for estimate",
        ),
        (
            "claims.csv",
            "id,verdict,estimate,low,high,n\na,holds\n",
            "line 2: has 2 cells, and not 6 as the head",
        ),
        ("claims.csv", "", "is no table with a head"),
        ("claims-readings.csv", "claim,verdict\n", "lacks the columns experiment"),
        ("tables/finals.csv", b"\xff\xfe\n", "is no table with a head"),
        ("manifest.json", "{", "is no whole manifest"),
        ("manifest.json", '{"study": "small", "files": {}}', "is no whole manifest"),
    ],
)
def test_damaged_studies(make, capsys, file, text, message):
    folder, whole = make(), make("whole")
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    if text is not None and file != "manifest.json":
        assert scant("compare", whole, folder) == 2
        assert f"{folder / file}: has changed since" in capsys.readouterr().err
        made = json.loads((folder / manifest.NAME).read_text())
        manifest.save(
            made | {"files": manifest.checksums(folder, made["files"])}, folder / manifest.NAME
        )
    for pair in ((whole, folder), (folder, whole)):
        assert scant("compare", *pair) == 2
        error = capsys.readouterr().err
        assert message in error and str(folder) in error


def test_unfinished_studies(make, tmp_path, capsys):
    whole, empty = make(), tmp_path / "results/empty"
    assert (
        scant("compare", whole, empty) == 2 and "there is no such folder" in capsys.readouterr().err
    )
    empty.mkdir()
    assert (
        scant("compare", whole, empty) == 2
        and "holds no finished claims or tables" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit) as left:
        scant("compare", whole)
    assert left.value.code == 2


# --- the manifest


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The tiny study's settings and plan, a folder with files that stand for its results, and the
    manifest.
    """
    config = yaml.safe_load(TINY.read_text()) | {"data": {"mirror": "https://example.org"}}
    folder = tmp_path_factory.mktemp("project") / "results/tiny"
    plan = Plan(*settings.load(config))
    original = ORIGINAL.format(dataset="example-logs@tiny", part="uniform")
    stated = settings.claims(*settings.claims_files(plan.study))
    made = provenance.results(plan, stated)
    for path in [*(folder / name for name in made), folder.parents[1] / original]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    facts = about.facts(plan, stated, folder)
    made = provenance.made(str(TINY))
    manifest.write(config, plan, stated, folder, facts, made, folder / manifest.NAME, str(TINY))
    return config, plan, folder, json.loads((folder / manifest.NAME).read_text())


def test_what_made_the_tiny_study(tiny):
    config, plan, folder, made = tiny
    assert made["study"] == "tiny" and read_manifest(folder) == made
    assert {"claims.csv", "claims-readings.csv", "tables/finals.csv", "tables/ads.csv"} <= made[
        "files"
    ].keys()
    assert {Path(name).stem for name in made["files"] if name.startswith("tables/")} == {
        *plan.tables
    }
    assert made["settings"]["learners"] == config["learners"]
    assert not {"study", "data"} & made["settings"].keys(), "neither changes a result"
    assert {"report.html", "study.json", *made["files"]} <= made["results"].keys()
    assert {"Snakefile", "rules/runs.smk", "rules/present.smk"} <= made["workflow"].keys()
    logs = {f"examples/logs/{name}.csv" for name in ("uniform", "targeted")}
    claims = {f"config/claims/{path.name}" for path in Path("config/claims").iterdir()}
    assert {"config/studies/tiny.yaml", *claims} <= made["inputs"].keys() <= {
        "config/studies/tiny.yaml",
        "config/datasets.yaml",
        *claims,
        *logs,
    } and not made["elsewhere"]
    assert made["settings"]["experiments"].keys() == config["experiments"].keys(), (
        "sweeps are as they are written"
    )
    assert made["settings"]["experiments"]["lower-bound"]["seeds"] == 10, "defaults are filled in"
    assert made["claims"].keys() == settings.claims(*settings.claims_files(plan.study)).keys()
    assert {*made["files"]} < {*made["results"]}, (
        "all results have checksums, not only those that are compared"
    )
    for name in (
        "runs/top/linear/kl/seed-0-2+tuning-0.parquet",
        "figures/figure-3.4.svg",
        "study.json",
    ):
        assert name in made["results"]
    assert not any(
        name.startswith(("results/", "logs/", "benchmarks/")) for name in made["results"]
    )
    assert (
        made["versions"].keys() == {*manifest.VERSIONS, "system"}
        and "cores" not in made["versions"]["system"]
    )


def test_what_the_study_asked_for_earlier_is_listed_while_it_is_there(tiny, tmp_path):
    config, plan, whole, made = tiny
    folder = shutil.copytree(whole.parents[1], tmp_path / "project") / "results/tiny"
    here, gone, again = (
        "runs/top/linear/former/seed-0.parquet",
        "tables/former.csv",
        "tables/finals.csv",
    )
    (folder / here).parent.mkdir(parents=True)
    (folder / here).write_text("former")

    def written(before: dict) -> dict:
        """The manifest that takes the place of one with some entries changed."""
        manifest.save(made | before, folder / manifest.NAME)
        stated = settings.claims(*settings.claims_files(plan.study))
        facts = about.facts(plan, stated, folder)
        manifest.write(
            config, plan, stated, folder, facts, provenance.made(), folder / manifest.NAME
        )
        return json.loads((folder / manifest.NAME).read_text())["earlier"]

    listed, other = (
        dict.fromkeys((here, gone, again), "0" * 64),
        dict.fromkeys((here, gone, again), "1" * 64),
    )
    assert (
        written({"results": listed, "earlier": other})
        == written({"earlier": listed})
        == {here: "0" * 64}
    )
    assert (
        written({"results": listed, "study": "other"})
        == written({"results": {here: "damaged"}})
        == {}
    )


def read_manifest(folder):
    return reading.manifest_of(folder)


def test_the_code_of_the_tiny_study(tiny):
    _, plan, _, made = tiny
    families = {family.kind: family for family in plan.families.values()}
    assert {*families} | {"data", "comparators", "coverage", "tables", "verdicts"} == made[
        "code"
    ].keys()
    for kind, family in families.items():
        assert made["code"][kind] == code.digest(family.code)
        assert code.closure(family.code).keys() <= made["modules"].keys()
    assert "scant.ads.draw" in made["modules"] and "scant.rankers.comparator" in made["modules"]
    assert "scant.page.page" not in made["modules"], (
        "the page shows results, it does not change them"
    )
    digest = code.digests("scant.measures")["scant.measures"]
    assert made["modules"]["scant.measures"] == digest and len(digest) == 12
    for names in manifest.modules(plan, {}).values():
        assert all(hasattr(called(f"{name}:__name__"), "join") for name in names)


def test_a_module_of_ones_own_is_code_of_its_family(tiny):
    _, plan, *_ = tiny
    learners = plan.study["learners"] | {"random": {"kind": "mine:Mine"}}
    assert manifest.modules(Plan(plan.study | {"learners": learners}, plan.datasets), {})["top"][
        1:
    ] == ["mine"]


def test_data_have_checksums(tiny):
    _, _, folder, made = tiny
    assert len(made["data"]["digits/test"]) == 64
    assert made["data"]["example-logs/targeted"] is None, "it is not registered, and not there"
    path = folder.parents[1] / ORIGINAL.format(dataset="example-logs@tiny", part="uniform")
    assert made["data"]["example-logs/uniform"] == manifest.sha256(path)

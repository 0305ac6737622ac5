"""Numbers and verdicts in README and docs are those of the studies' references."""

import hashlib
import json
import re

import declared
import drawn
import matplotlib.pyplot as plt
import pandas as pd
import prose
import pytest

from scant.files import read_rows
from scant.present import figures
from scant.study import settings as studies
from scant.verdict.words import UNTESTABLE


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_numbers_that_carry_a_mark_are_those_of_their_tables(path):
    wrong = [marked for marked in prose.numbers(path) if marked.printed != marked.expected]
    assert not wrong, "python tests/prose.py --write puts them right"


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_tables_of_settings_are_what_the_package_declares(path):
    text = path.read_text(encoding="utf-8")
    assert declared.renewed(text) == text, "python tests/prose.py --write puts them right"


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_no_result_stands_without_a_mark(path):
    assert list(prose.bare(path)) == [], "see tests/prose.py"


@pytest.mark.parametrize("name", prose.images())
def test_images_are_what_is_drawn_today(name, tmp_path):
    image = prose.images()[name]
    assert prose.same_image(image, prose.drawn_anew(name, tmp_path)), (
        "python tests/prose.py --write puts them right"
    )


def test_images_that_differ_are_told_apart(tmp_path):
    shown = pd.DataFrame({"x": [0, 1], "y": [0, 1]})

    def image(name, frame=shown, **look):
        figure, axis = plt.subplots()
        axis.plot("x", "y", data=frame, **look)
        (tmp_path / name).mkdir()
        figures.save(figure, frame, tmp_path / name / "figure")
        return tmp_path / name / "figure.png"

    one = image("one")
    assert prose.same_image(one, image("again"))
    assert not prose.same_image(one, image("thick", lw=4))
    assert not prose.same_image(one, image("more", shown.assign(z=1)))


def test_references_hold_what_their_figures_show():
    for name in drawn.kept():
        study, figure = name.split("/")
        made = json.loads((prose.ROOT / f"results/reference/{study}/manifest.json").read_text())
        digest = hashlib.sha256(drawn.content(name)).hexdigest()
        assert digest == made["figures"][f"figures/{figure}.csv"], name


def test_each_claim_is_judged_in_a_reference_or_names_the_data_that_it_lacks():
    """A statement without any verdict says nothing, unless its data may not be handed on."""
    references = (prose.ROOT / "results/reference").glob("*/claims.csv")
    judged = {
        row["id"]
        for path in references
        for row in read_rows(path)[1]
        if row["verdict"] != UNTESTABLE
    }
    claims = studies.claims(*(prose.ROOT / "config/claims").glob("*.yaml"))
    unjudged = {name: claim.get("data", "") for name, claim in claims.items() if name not in judged}
    lacked = {
        name for name, data in unjudged.items() if re.search("on request|a download of", data)
    }
    assert lacked == {*unjudged}


@pytest.fixture
def document(tmp_path, monkeypatch):
    """A document beside the reference of a study."""
    folder = tmp_path / "results/reference/s"
    (folder / "tables").mkdir(parents=True)
    (folder / "claims.csv").write_text(
        "id,row,verdict\na,theorem,holds\nb,theorem,holds\nc,theorem,fails\n"
    )
    (folder / "tables/finals.csv").write_text(
        "learner,ndcg@10,low,high\nslam,0.12345,0,0.4\n" + '"two, of",2.5,,\ntwice,1,,\ntwice,2,,\n'
    )
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    path = tmp_path / "README.md"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_a_mark_says_where_a_number_is_from(document):
    text = (
        "SLAM has 0.12<!-- s/finals learner=slam: ndcg@10 -->, that is 12.3 %<!-- s/finals "
        "learner=slam: ndcg@10 -->.\n"
        "| +0.99<!-- s/finals 'learner=two, of': ndcg@10 --> | 3<!-- s/claims: count --> <!-- a "
        "comment: none -->\n"
        "2<!-- s/claims row=theorem verdict=holds: count -->; it **holds**<!-- s/claims id=c: "
        "verdict -->"
    )
    found = [(one.line, one.printed, one.expected) for one in prose.numbers(document(text))]
    assert found[:5] == [
        (1, "0.12", "0.12"),
        (1, "12.3", "12.3"),
        (2, "+0.99", "+2.50"),
        (2, "3", "3"),
        (3, "2", "2"),
    ]
    result = [(one.printed, one.expected) for one in prose.numbers(document(text))][5:]
    assert result == [("holds", "fails")]


FILLED = "# Results\n3<!-- s/claims: count --> rows. "


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        (
            "SLAM has 0.12 ± 3, or 7 %, of 1,234; it **fails** in 2 of 3.",
            ["0.12", "± 3", "7 %", "1,234", "fails", "2 of 3"],
        ),
        (
            (
                "- 30 seeds play 10,000 rounds at T = 10,000 (95 % intervals; thesis 3.4.2, Figure "
                "3.1)."
            ),
            [],
        ),
        (
            "`0.5` of [it](docs/0.5.md), 0.5<!-- set -->; with 0.25<!-- exact --> no more, 0.75.",
            ["0.75"],
        ),
        ("| 0.5 | holds | <!-- exact -->", []),
        ("\n# Settings\nThe default is 0.5.", []),
        ("\n```\n# 0.5\n```\n0.5", ["0.5"]),
    ],
)
def test_a_section_of_results_has_no_bare_numbers_and_verdicts(document, sentence, bare):
    assert [text for _, text in prose.bare(document(FILLED + sentence))] == bare

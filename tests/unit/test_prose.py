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


def test_images_that_differ_are_told_apart(tmp_path):
    shown = pd.DataFrame({"x": [0, 1], "y": [0, 1]})

    def image(name, frame=shown, **look):
        figure, axis = plt.subplots()
        axis.plot(frame["x"], frame["y"], **look)
        (tmp_path / name).mkdir()
        figures.save(figure, frame, tmp_path / name / "figure")
        return tmp_path / name / "figure.png"

    one = image("one")
    assert prose.same_image(one, image("again"))
    assert not prose.same_image(one, image("thick", lw=4))
    assert not prose.same_image(one, image("more", shown.assign(z=1)))


def test_references_hold_what_their_figures_show():
    assert prose.images().keys() <= drawn.kept().keys()
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

"""What families declare of figures, tables and looks: there, told apart, said in words."""

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.colors import is_color_like
from matplotlib.markers import MarkerStyle
from toys import SHOWN

from scant.data.simulated import GENERATORS
from scant.declare import families
from scant.page import about, generated
from scant.present import style
from scant.rankers.learners import MEASURES
from scant.rankers.streams import SEPARABLE
from scant.study.schema import experiment_settings, figures_to_ask_for

ROOT = Path(__file__).parents[2]
FIGURES = {name: shown for name, shown in SHOWN.items() if shown.draw}
SAME = {("ogd", "listnet", "listnet")}  # descent on ListNet's loss with every grade seen is both
every_family = pytest.mark.parametrize(
    "family", families.families().values(), ids=lambda family: family.kind
)
every_shown = pytest.mark.parametrize("shown", SHOWN.values(), ids=lambda shown: shown.name)


# --- figures and tables
def test_no_two_headings_are_the_same():
    headings = [shown.heading for shown in SHOWN.values() if shown.heading]
    assert len({*headings}) == len(headings)


def test_the_figure_of_a_paper_is_named_where_the_study_judges_papers_alone():
    def captions(*papers):
        return about.captions(SHOWN, "none", families.shown(), papers)

    place = (
        r"It repeats (Figures?|Table) [\dB].* of (the thesis|the perceptron paper|AISTATS'1[56])\."
    )
    named = {name for name, text in captions("thesis").items() if re.search(place, text)}
    assert named == {shown.name for shown in SHOWN.values() if shown.repeats} and len(named) > 15
    own = [*captions().values(), *(shown.heading for shown in SHOWN.values())]
    assert not re.search("(figure|table) .*(thesis|paper)|AISTATS", " ".join(own), re.IGNORECASE)


@every_shown
def test_captions_are_sentences_and_figures_have_headings(shown):
    assert len(shown.caption) > 40 and shown.caption[0].isupper() and shown.caption.endswith(".")
    assert "\n" not in shown.caption and "  " not in shown.caption and "CSV" not in shown.caption
    assert about.caption(shown).endswith("exactly what is shown.") == bool(shown.draw)
    heading = shown.heading
    assert heading[0].isupper() and not heading.endswith(".") and "  " not in heading


@pytest.mark.parametrize("shown", FIGURES.values(), ids=lambda shown: shown.name)
def test_headings_of_figures_are_questions_that_are_read_at_a_glance(shown):
    """They have to be true for every study, so that they state no finding."""
    assert shown.heading.endswith("?") and len(shown.heading.split()) <= 12


@every_family
def test_a_study_may_ask_for_the_figures_that_are_shown_on_request(family):
    asked = figures_to_ask_for(family)
    assert experiment_settings(family)["figures"]["items"]["else"]["enum"] == asked
    for name in asked:
        others = [other for other in asked if other != name]
        assert not SHOWN[name].includes({"experiments": {"e": {"figures": others}}}, "e")
        one = replace(SHOWN[name], shows=families.always)
        assert one.includes({"experiments": {"e": {"figures": [name]}}}, "e")


def test_curves_are_of_measures_that_are_recorded():
    curves = [shown for shown in SHOWN.values() if "measure" in shown.options]
    assert {shown.options["measure"] for shown in curves} <= {*MEASURES} and len(curves) == 3
    assert {*SEPARABLE} <= {*GENERATORS}


# --- files that are made of declarations
def test_the_schema_is_what_families_declare():
    assert (ROOT / generated.SCHEMA).read_text(encoding="utf-8") == generated.text(), (
        "run `scant schema`"
    )


# --- looks
@every_family
def test_every_learner_has_a_look_and_no_two_have_the_same(family):
    for kind, learner in family.learners.items():
        assert learner.looks, kind
        for colour, marker, line in learner.looks.values():
            assert colour in style.COLOURS or is_color_like(colour)
            assert MarkerStyle(marker) and line in style.LINES
    variants = {
        key
        for learner in family.learners.values()
        for key in learner.looks
        if not key.startswith("#")
    }
    for variant in variants:  # learners of one measure or surrogate meet in a figure
        able = {
            kind: learner for kind, learner in family.learners.items()
            if getattr(learner, "objective", "") in ("", variant)
        }  # fmt: skip
        looks = {kind: learner.looks.get(variant) for kind, learner in able.items()}
        for (kind, look), (other, second) in combinations(looks.items(), 2):
            assert look != second or look is None or (kind, other, variant) in SAME, (
                kind,
                other,
                variant,
            )


@every_family
def test_learners_known_by_id_differ_from_their_kind(family):
    for kind, learner in family.learners.items():
        named = {key: look for key, look in learner.looks.items() if key.startswith("#")}
        assert len({*named.values()} - {learner.looks.get("")}) == len(named)
        for key, (_, marker, line) in named.items():
            assert style.own_look(kind, "", key[1:])[1:] == (marker, line)

"""What a page opens with: answers follow from verdicts and numbers, and say what is not known."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scant.learning import families
from scant.learning.families import Answer, Question
from scant.page import numbers, story
from scant.study import grouping
from scant.verdict import words

STATED = sorted(Path("config/claims").glob("*.yaml"))
ANSWER = Answer("c-1", "SLAM", "keeps up with ListNet", "falls behind ListNet")
ASKED = Question("slam", "Does it keep up?", ("c-*",), ("figure-1", "figure-2"), (ANSWER,))


def cell(stream="Digits", estimate=-0.1274, verdict="fails", **more) -> dict:
    return {
        "stream": stream, "learner": "SLAM", "against": "ListNet", "estimate": estimate, "low": estimate - 0.005,
        "high": estimate + 0.005, "verdict": verdict,
    } | more  # fmt: skip


def claim(verdict="fails", cells=(), **more) -> dict:
    return {
        "id": "c-1", "verdict": verdict, "cells": [cell()] if cells == () else cells, "row": "extension", "n": 10,
        "measures": "difference in NDCG@10", "estimate": -0.1274, "low": -0.1324, "high": -0.1224, "compared": "",
        "control": "Random", "readings_holding": 3, "readings_total": 4, "needed": None, "tightness": None,
        "anchor": "claim-c-1", "place": "2.8, Theorem 5", "statement": "It keeps up.", "measured": "", "said": "",
        "test": "anytime t", "premise": "", "bets": "", "quantity": "difference in NDCG@10",
        "deciding": "SLAM minus ListNet on Digits",
        "cells_holding": 0, "cells_failing": 1, "cells_silent": 0, "cells_total": 1,
    } | more  # fmt: skip


def plain(text) -> str:
    return re.sub("<[^>]*>", "", str(text))


@pytest.mark.parametrize(
    ("verdict", "start"),
    [
        ("holds", "SLAM keeps up with ListNet on Digits (SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10)."),
        ("fails", "SLAM falls behind ListNet on Digits (SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10)."),
        ("undecided", "Undecided: whether SLAM keeps up with ListNet (SLAM minus"),
        (words.ALIKE, "SLAM keeps up with ListNet on Digits; but so does Random, which should not (SLAM minus"),
        (words.SILENT, "Nothing that could be measured here would deny that SLAM keeps up with ListNet."),
    ],
)
def test_the_sentence_is_that_of_the_verdict(verdict, start):
    assert plain(story.sentence(ANSWER, claim(verdict))).startswith(start)
    (told,) = story.story([ASKED], [claim(verdict)], {}, {})
    assert start.startswith(plain(told["finding"])) and told["unit"] == "Difference in NDCG@10, 10 seeds"
    numbers = [] if verdict == words.SILENT else ["SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10"]
    assert [plain(one["text"]).split(": cell")[0].rstrip(".") for one in told["sentences"]] == numbers


def test_streams_that_came_out_the_other_way_are_told():
    cells = [cell(), cell("Letters", 0.002, "holds"), cell(story.OVERALL, 0.0, "holds")]
    text = plain(story.sentence(ANSWER, claim(cells=cells)))
    assert text == (
        "SLAM falls behind ListNet on Digits, not on Letters (SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10; "
        "on Letters +0.002 [-0.003, +0.007] of NDCG@10)."
    )
    held = claim("undecided", cells, cells_holding=1, cells_total=2)
    assert plain(story.sentence(ANSWER, held)).endswith(": cell by cell it holds in 1 of 2 cells, fails in 1).")
    some = [cell(), cell("Letters", 0.002, "undecided")]
    assert plain(story.sentence(ANSWER, claim(cells=some))).endswith(" of NDCG@10; undecided on Letters).")
    some = [cell(), cell(learner="SLAM, cut", verdict="undecided")]
    assert plain(story.sentence(ANSWER, claim(cells=some))).endswith(" of NDCG@10; undecided in 1 of 2 cells).")
    text = plain(story.sentence(ANSWER, claim("holds", cells, deciding=story.OVERALL)))
    assert text == "SLAM keeps up with ListNet in the mean over 2 cells (0 [-0.005, +0.005] of NDCG@10)."


def test_of_several_learners_the_range_is_told_and_of_many_streams_their_number():
    cells = [cell(str(at), -0.1 * at, learner=f"learner-{at}") for at in range(1, 6)]
    text = plain(story.sentence(ANSWER, claim(cells=cells)))
    assert text == "SLAM falls behind ListNet on 5 streams (each minus ListNet: -0.5 to -0.1 of NDCG@10)."


def test_a_question_is_there_if_something_can_be_said_of_it():
    figures = {"figure-2": {"id": "figure-2"}}
    assert story.story([ASKED], [], {}, {}) == []
    assert story.story([ASKED], [claim(words.UNTESTABLE)], {}, {}) == []
    (drawn,) = story.story([ASKED], [claim(words.UNTESTABLE)], figures, {})
    assert drawn["figure"] is figures["figure-2"] and drawn["text"] == ASKED.text and drawn["sentences"] == []
    assert story.story([replace(ASKED, alone=False)], [], figures, {}) == []
    (tested,) = story.story([ASKED], [claim(), claim(id="other")], {}, {})
    assert tested["figure"] is None and [one["id"] for one in tested["claims"]] == ["c-1"]
    assert tested["sure"] == "10 seeds"
    assert story.story([ASKED], [claim("holds")], {}, {})[0]["sure"] == "10 seeds; 3 of 4 readings agree"
    needed = story.story([ASKED], [claim("undecided", needed=41.0)], {}, {})[0]["sure"]
    assert needed == "10 seeds; 41 seeds or more would decide what is undecided"


def test_how_sure_says_which_verdicts_rest_on_a_premise_and_what_bets_say():
    normal = {"premise": "seeds near normal", "readings_total": 1}
    asked = replace(ASKED, answers=(ANSWER, replace(ANSWER, claim="c-2")))
    by_t, agreed = claim("holds", **normal, bets="undecided"), claim("fails", **normal, bets="fails", id="c-2")
    text = story.story([asked], [by_t, agreed], {}, {})[0]["sure"]
    assert plain(text) == "10 seeds; 2 of 2 verdicts rest on seeds near normal, and bets agree with 1: c-1, c-2"
    assert '<a href="#claim-c-1">c-1</a>' in text
    exact = claim("holds", id="c-2", test="exact", readings_total=1)
    assert "1 of 2 verdicts rests on seeds near normal, and bets agree with 0" in story.resting([by_t, exact])
    assert story.resting([exact, claim("undecided")]) == ""
    assert story.resting([by_t | {"verdict": words.ALIKE, "bets": "holds"}]).endswith("bets agree with 1")
    many = [claim("holds", **normal, id=f"c-{at}") for at in range(3, 8)]
    assert story.story([asked], many, {}, {})[0]["sure"].endswith("bets agree with 0, marked below")


def test_without_claims_the_best_learners_are_told():
    best = {"mean": "0.5", "interval": "[0.4, 0.6]", "best": True, "told_apart": False}
    rows = [
        {"learner": "KL", "cells": [best]},
        {"learner": "Squared", "cells": [best | {"best": False}]},
        {"learner": "Random", "cells": [best | {"best": False, "told_apart": True}]},
    ]
    board = {"streams": ["Digits"], "measure": "NDCG@10", "rows": rows, "best": ["KL"]}
    (told,) = story.story([ASKED], [], {"figure-1": {}}, {"figure-1": [board]})
    text = "KL is best on Digits (0.5 [0.4, 0.6] of NDCG@10), and Squared cannot be told from it."
    assert told["text"] == "Who has the best NDCG@10?"
    assert [plain(one["text"]) for one in told["sentences"]] == [text]
    assert plain(told["finding"]) == "KL is best on Digits, not told apart from Squared"


def test_without_answers_claims_are_counted_and_those_that_fail_are_named():
    asked = Question("theorems", "Which fail?", ("*",), row="theorem")
    claims = [
        claim(row="theorem", tightness=20.0), claim("holds", row="theorem", tightness=0.02), claim(),
        claim("holds", row="theorem", tightness=0.5), claim("undecided", row="theorem"),
    ]  # fmt: skip
    (told,) = story.story([asked], claims, {}, {})
    (sentence,) = told["sentences"]
    assert told["finding"] == "1 of 4 theorem checks fails"
    assert story.story([asked], claims[-1:], {}, {})[0]["finding"] == "Undecided so far"
    assert plain(sentence["text"]) == (
        "Of 4 tested, 2 hold and 1 fails: Theorem 5; 1 undecided. "
        "Of the bounds that hold 2 to 50 % is used, of half of them at most 50 %."
    )
    places = {dot["claim"]["tightness"]: dot["x"] for dot in told["strip"]["dots"]}
    assert places[0.02] < places[0.5] < told["strip"]["bound"] < places[20.0]
    dots = story.strip([claim(tightness=1.01), claim("holds", tightness=1.0), claim("holds", tightness=1.0)])
    (attained, _), (exceeded,) = (
        [dot for dot in dots["dots"] if (dot["claim"]["verdict"] == verdict)] for verdict in ("holds", "fails")
    )
    assert attained["x"] < dots["bound"] < exceeded["x"] and dots["height"] == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12", "12"), (1234567, "1234567"), ("1234567.5", "1,230,000"), (-120600.4, "-121,000"), (5.0, "5"),
        (-0.000123456, "-0.000123"), (8.6e-05, "0.000086"), (1.5e-12, "1.5e-12"), (2.5e9, "2.5e+09"), (-0.0, "0"),
        (None, numbers.ABSENT), ("", numbers.ABSENT), (float("nan"), numbers.ABSENT),
    ],
)  # fmt: skip
def test_numbers_have_three_figures(value, text):
    assert numbers.shown(value) == text


@pytest.mark.parametrize(
    ("quantity", "estimate", "pair", "text"),
    [
        ("loss / bound", 0.0189, "", "1.9 % of the bound"),
        ("loss / bound", 8.6e-7, "", "less than 0.01 % of the bound"),
        ("regret / floor", 14.94, "", "14.9 times the floor"),
        ("share in the table theorems-top", 0.5, "", "50 % of the bound"),
        ("deviation of value in the table theorems-top", 2e-16, "", "exactly so"),
        ("deviation of value in the table theorems-top", -0.586, "", "off by 0.586"),
        ("difference in raw_variance in the table variance", -120600.0, "a - b", "a - b: -121,000 of raw variance"),
        ("difference in CTR", 0.02, "a minus b", "a minus b: +0.02 of CTR"),
        ("gain in CTR (%)", -3.0, "a minus b", "a minus b: -3 % of CTR"),
        ("lead over Random / ListNet's", 0.264, "", "26 % of ListNet's lead over Random"),
        ("slope of regret", 0.7046, "", "slope of regret 0.705"),
    ],
)  # fmt: skip
def test_what_was_measured_is_in_words(quantity, estimate, pair, text):
    row = {"estimate": estimate, "low": None, "high": None}
    assert numbers.measured([row], quantity, pair) == text


def test_questions_name_what_there_is():
    """Their figures are declared, and their claims stated."""
    from scant.study import settings

    stated, shown = settings.claims(*STATED), {shown.name for _, shown in families.shown()}
    ids = [question.id for question in families.questions()]
    assert len(ids) == len(set(ids))
    for question in families.questions():
        assert set(question.figures) <= shown
        for answer in question.answers:
            assert story._asks(question, {"id": answer.claim, "row": stated[answer.claim].get("row", words.UNTOLD)})


# What an answer may say of a side that is ahead and of one that is behind, in a claim with no margin.
SAID_OF = {"greater": "ahead|better|raises|gains|grows|average more", "less": "behind|worse|lowers|loses|falls|less"}


@pytest.mark.parametrize(
    "answer", [answer for question in families.questions() for answer in question.answers], ids=lambda one: one.claim
)
def test_an_answer_says_what_its_claim_tests_in_either_direction(answer):
    """Its verbs are those of the row's direction, and it names the margin on both sides, as the claim does."""
    from scant.study import settings

    for part in grouping.parts(settings.claims(*STATED)[answer.claim]):
        margin, comparison = part.get("margin", 0.0), part["comparison"]
        if margin:
            size = f"{100 * abs(margin['relative']):g} %" if isinstance(margin, dict) else f"{abs(margin):g}"
            if isinstance(part["against"], float) and comparison != "slope":  # above 0.99 is 1 less a margin of 0.01
                size = f"{part['against'] + margin:g}"
            assert size in answer.holds and size in answer.fails
        else:
            other = "less" if comparison == "greater" else "greater"
            of_cost = part["quantity"] in ("game_regret", "excess_risk")  # of which less is better
            assert re.search(SAID_OF[comparison], answer.holds) or of_cost
            assert re.search(SAID_OF[other], answer.fails) or of_cost
            assert not re.search(r"\bnot?\b", answer.fails)


def test_the_findings_answer_the_questions_of_pages():
    headings = re.findall("^## (.*)", Path("docs/findings.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:-1] == [question.text for question in families.questions()]

"""What a page opens with: answers follow from verdicts and numbers, and say what is not known."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from scant.declare import families
from scant.declare.families import Answer, Question
from scant.page import numbers, story
from scant.study import grouping
from scant.verdict import words

STATED = sorted(Path("config/claims").glob("*.yaml"))
ANSWER = Answer("c-1", "SLAM", "keeps up with ListNet", "falls behind ListNet")
ASKED = Question("slam", "Does it keep up?", ("c-*",), ("figure-1", "figure-2"), (ANSWER,))


def cell(stream="Digits", estimate=-0.1274, verdict="fails", **more) -> dict:
    return {
        "stream": stream,
        "learner": "SLAM",
        "against": "ListNet",
        "estimate": estimate,
        "low": estimate - 0.005,
        "high": estimate + 0.005,
        "verdict": verdict,
        "from": 0.0,
        "to": math.inf,
        "n": 10,
        "agreeing": 9.0,
    } | more


def claim(verdict="fails", cells=(), **more) -> dict:
    return {
        "id": "c-1",
        "verdict": verdict,
        "cells": [cell()] if cells == () else cells,
        "row": "extension",
        "n": 10,
        "measures": "difference in NDCG@10",
        "estimate": -0.1274,
        "low": -0.1324,
        "high": -0.1224,
        "compared": "",
        "control": "Random",
        "readings_holding": 3,
        "readings_total": 4,
        "needed": None,
        "tightness": None,
        "anchor": "claim-c-1",
        "place": "2.8, Theorem 5",
        "statement": "It keeps up.",
        "measured": "",
        "said": "",
        "test": "anytime t",
        "premise": "",
        "mark": "",
        "named": "",
        "quantity": "difference in NDCG@10",
        "deciding": "SLAM minus ListNet on Digits",
        "agreeing": 9.0,
        "agreeing_least": 0.55,
        "tipping": 0.1,
        "worst": 0.01,
        "cells_holding": 0,
        "cells_failing": 1,
        "cells_silent": 0,
        "cells_total": 1,
    } | more


def plain(text) -> str:
    return re.sub("<[^>]*>", "", str(text))


NUMBERS = "SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10"
BESIDE = "9 of 10 seeds, in at least 55 % of all"
REST = (
    "; one seed in 10 at the far end of its range would move the mean to the margin; "
    "the seed that speaks most against it has 0.01."
)


@pytest.mark.parametrize(
    ("verdict", "found"),
    [
        ("holds", "SLAM keeps up with ListNet on Digits, by 0.127, in 9 of 10 seeds"),
        ("fails", "SLAM falls behind ListNet on Digits, by 0.127, in 9 of 10 seeds"),
        ("undecided", "Undecided: whether SLAM keeps up with ListNet"),
        (words.ALIKE, "SLAM keeps up with ListNet on Digits; but so does Random, which should not"),
        (
            words.SILENT,
            "Nothing that could be measured here would deny that SLAM keeps up with ListNet",
        ),
    ],
)
def test_the_finding_is_that_of_the_verdict_with_its_size_and_seeds(verdict, found):
    (told,) = story.story(
        [ASKED], [claim(verdict, agreeing=None if verdict == words.SILENT else 9.0)], {}, {}
    )
    assert plain(told["finding"]) == found and told["unit"] == "Difference in NDCG@10"
    texts = [plain(one["text"]) for one in told["sentences"]]
    if verdict in words.DECIDED:
        assert texts == [f"{NUMBERS}; so in {BESIDE}{REST}"]
    assert verdict != "undecided" or f"; as claimed in {BESIDE}" in texts[0]
    assert verdict != words.SILENT or texts == []


def test_a_size_against_a_margin_is_named_with_its_sign_and_the_fewest_seeds():
    cells = [cell(**{"from": -0.05}), cell("Letters", -0.1, agreeing=8.0)]
    text = plain(story.finding(ANSWER, claim(cells=cells)))
    assert text == (
        "SLAM falls behind ListNet on Digits and Letters: -0.127 to -0.1 of NDCG@10, in 8 "
        "of 10 seeds or more"
    )
    marked = claim(mark=words.MARK, cells_total=2)
    assert plain(story.behind(marked)).endswith(
        f"so in {BESIDE} (SLAM minus ListNet on Digits); seeds that were not drawn would hardly "
        "overturn it; the seed that speaks most against it has 0.01."
    )


def test_where_cells_differ_both_sides_are_named():
    cells = [cell("Letters", 0.002, "holds"), cell()]
    told = claim(words.DIFFERS, cells)
    text = "SLAM keeps up with ListNet on Letters, but falls behind ListNet on Digits"
    assert plain(story.finding(ANSWER, told)) == text
    assert "+0.002 [-0.003, +0.007] of NDCG@10; on Digits -0.127" in plain(story.behind(told))
    cells = [cell(learner="SLAM, cut", verdict="holds"), cell()]
    text = "SLAM keeps up with ListNet for SLAM, cut, but falls behind ListNet for SLAM"
    assert plain(story.finding(ANSWER, claim(words.DIFFERS, cells))) == text
    cells = [*cells, cell("Letters", verdict="holds")]
    assert plain(story.finding(ANSWER, claim(words.DIFFERS, cells))).endswith("for SLAM on Digits")


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        (("holds", "undecided"), "SLAM keeps up on Digits; undecided on Letters"),
        (("fails", "undecided"), "SLAM falls behind on Digits; undecided on Letters"),
        (("undecided", "undecided"), "Undecided: whether SLAM keeps up"),
        (("holds", "fails", "undecided"), "Undecided: whether SLAM keeps up"),
    ],
)
def test_what_is_decided_on_some_streams_is_said_of_them(verdicts, text):
    cells = [
        cell(name, verdict=one)
        for name, one in zip(("Digits", "Letters", "Yahoo"), verdicts, strict=False)
    ]
    answer = Answer("c-1", "SLAM", "keeps up", "falls behind")
    assert plain(story.finding(answer, claim("undecided", cells))) == text


def test_streams_that_came_out_the_other_way_are_told():
    cells = [cell(), cell("Letters", 0.002, "holds"), cell(story.OVERALL, 0.0, "holds")]
    assert plain(story.finding(ANSWER, claim(cells=cells))).startswith(
        "SLAM falls behind ListNet on Digits, not on Letters, by 0.127"
    )
    held = claim("undecided", cells, cells_holding=1, cells_total=2)
    assert plain(story.evidence(held)).endswith(
        ": cell by cell it holds in 1 of 2 cells, fails in 1"
    )
    some = [cell(), cell("Letters", 0.002, "undecided")]
    assert plain(story.evidence(claim(cells=some))).endswith(" of NDCG@10; undecided on Letters")
    some = [cell(), cell(learner="SLAM, cut", verdict="undecided")]
    assert plain(story.evidence(claim(cells=some))).endswith(
        " of NDCG@10; undecided in 1 of 2 cells"
    )
    text = plain(story.finding(ANSWER, claim("holds", cells, deciding=story.OVERALL)))
    assert text.startswith("SLAM keeps up with ListNet in the mean over 2 cells, by 0,")


def test_of_several_learners_the_range_is_told_and_of_many_streams_their_number():
    cells = [cell(str(at), -0.1 * at, learner=f"learner-{at}") for at in range(1, 6)]
    assert plain(story.finding(ANSWER, claim(cells=cells))).startswith(
        "SLAM falls behind ListNet on 5 streams, by 0.1"
    )
    assert plain(story.evidence(claim(cells=cells))) == (
        "each minus ListNet: -0.5 to -0.1 of NDCG@10"
    )


def test_a_question_is_there_if_something_can_be_said_of_it():
    figures = {"figure-2": {"id": "figure-2"}}
    assert story.story([ASKED], [], {}, {}) == []
    assert story.story([ASKED], [claim(words.UNTESTABLE)], {}, {}) == []
    (drawn,) = story.story([ASKED], [claim(words.UNTESTABLE)], figures, {})
    assert (
        drawn["figure"] is figures["figure-2"]
        and drawn["text"] == ASKED.text
        and drawn["sentences"] == []
    )
    assert story.story([replace(ASKED, alone=False)], [], figures, {}) == []
    (tested,) = story.story([ASKED], [claim(), claim(id="other")], {}, {})
    assert tested["figure"] is None and [one["id"] for one in tested["claims"]] == ["c-1"]


def test_it_says_how_many_verdicts_suppose_something_of_seeds():
    by_t, marked = (
        claim("holds", premise="seeds near normal"),
        claim(premise="seeds near normal", mark=words.MARK),
    )
    exact = claim("holds", test="exact")
    text = "2 of 3 verdicts suppose seeds near normal; 1 of these are so whatever seeds are like"
    assert story.resting([by_t, marked, exact]) == text
    assert story.resting([exact, claim("undecided")]) == ""


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
        claim(row="theorem", tightness=20.0, named="a remark after Theorem 5", test="exact"),
        claim(),
        claim("holds", row="theorem", tightness=0.02),
        claim("holds", row="theorem", tightness=0.5, test="exact"),
        claim("undecided", row="theorem"),
    ]
    (told,) = story.story([asked], claims, {}, {})
    (sentence,) = told["sentences"]
    assert told["finding"] == "1 of 4 theorem checks fails as printed"
    assert story.story([asked], claims[-1:], {}, {})[0]["finding"] == "Undecided so far"
    assert plain(sentence["text"]) == (
        "Of 2 checked exactly 1 holds, 1 fails. Of 2 measured 1 holds, 1 is undecided. "
        "What fails: a remark after Theorem 5. "
        "What was measured is 2 to 50 % of the bounds that hold."
    )
    places = {dot["claim"]["tightness"]: dot["x"] for dot in told["strip"]["dots"]}
    assert places[0.02] < places[0.5] < told["strip"]["bound"] < places[20.0]
    dots = story.strip(
        [claim(tightness=1.01), claim("holds", tightness=1.0), claim("holds", tightness=1.0)]
    )
    (attained, _), (exceeded,) = (
        [dot for dot in dots["dots"] if (dot["claim"]["verdict"] == verdict)]
        for verdict in ("holds", "fails")
    )
    assert attained["x"] < dots["bound"] < exceeded["x"] and dots["height"] == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12", "12"),
        (1234567, "1234567"),
        ("1234567.5", "1,230,000"),
        (-120600.4, "-121,000"),
        (5.0, "5"),
        (-0.000123456, "-0.000123"),
        (8.6e-05, "0.000086"),
        (1.5e-12, "1.5e-12"),
        (2.5e9, "2.5e+09"),
        (-0.0, "0"),
        (None, numbers.ABSENT),
        ("", numbers.ABSENT),
        (float("nan"), numbers.ABSENT),
    ],
)
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
        (
            "difference in raw_variance in the table variance",
            -120600.0,
            "a - b",
            "a - b: -121,000 of raw variance",
        ),
        ("difference in CTR", 0.02, "a minus b", "a minus b: +0.02 of CTR"),
        ("gain in CTR (%)", -3.0, "a minus b", "a minus b: -3 % of CTR"),
        ("lead over Random / ListNet's", 0.264, "", "26 % of ListNet's lead over Random"),
        ("slope of regret", 0.7046, "", "slope of regret 0.705"),
    ],
)
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
            assert story._asks(
                question, {"id": answer.claim, "row": stated[answer.claim].get("row", words.UNTOLD)}
            )


# What an answer may say of a side that is ahead and of one that is behind, in a claim with no
# margin.
SAID_OF = {
    "greater": "ahead|better|raises|gains|grows|average more",
    "less": "behind|worse|lowers|loses|falls|less",
}


@pytest.mark.parametrize(
    "answer",
    [answer for question in families.questions() for answer in question.answers],
    ids=lambda one: one.claim,
)
def test_an_answer_says_what_its_claim_tests_in_either_direction(answer):
    """Its verbs are those of the row's direction, and it names the margin on both sides, as the
    claim does.
    """
    from scant.study import settings

    for part in grouping.parts(settings.claims(*STATED)[answer.claim]):
        margin, comparison = part.get("margin", 0.0), part["comparison"]
        if margin:
            size = (
                f"{100 * abs(margin['relative']):g} %"
                if isinstance(margin, dict)
                else f"{abs(margin):g}"
            )
            # above 0.99 is 1 less a margin of 0.01
            if isinstance(part["against"], float) and comparison != "slope":
                size = f"{part['against'] + margin:g}"
            assert size in answer.holds and size in answer.fails
        else:
            other = "less" if comparison == "greater" else "greater"
            of_cost = part["quantity"] == "game_regret"  # of which less is better
            assert re.search(SAID_OF[comparison], answer.holds) or of_cost
            assert re.search(SAID_OF[other], answer.fails) or of_cost
            assert not re.search(r"\bnot?\b", answer.fails)


def test_the_findings_answer_the_questions_of_pages():
    headings = re.findall(
        "^## (.*)", Path("docs/findings.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings[:-1] == [question.text for question in families.questions()]

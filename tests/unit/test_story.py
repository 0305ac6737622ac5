"""What a page opens with: answers follow from verdicts and numbers, and say what is not known."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rows import entries

from scant.declare import families
from scant.declare.families import Answer, Question
from scant.page import numbers, story
from scant.study import grouping, settings
from scant.verdict import words


@pytest.fixture(scope="module")
def stated():
    """The claims of the project."""
    return settings.claims(*sorted(Path("config/claims").glob("*.yaml")))


ANSWER = Answer("c-1", "SLAM", "keeps up with ListNet", "falls behind ListNet")
ASKED = Question("slam", "Does it keep up?", ("c-*",), ("figure-1", "figure-2"), (ANSWER,))


def cell(stream="Digits", estimate=-0.1274, verdict="fails", **more) -> dict:
    where = {"stream": stream, "learner": "SLAM", "against": "ListNet", "verdict": verdict}
    ends = {"low": estimate - 0.005, "high": estimate + 0.005, "from": 0.0, "to": math.inf}
    return where | ends | {"estimate": estimate, "n": 10, "agreeing": 9.0} | more


CLAIM = yaml.safe_load("""
{id: c-1, row: extension, n: 10, measures: difference in NDCG@10, estimate: -0.1274, low: -0.1324,
 high: -0.1224, compared: "", control: Random, readings_holding: 3, readings_total: 4, needed: null,
 tightness: null, anchor: claim-c-1, place: "2.8, Theorem 5", statement: It keeps up.,
 measured: "", said: "", test: anytime t, premise: "", mark: "", named: "",
 quantity: difference in NDCG@10, deciding: SLAM minus ListNet on Digits, agreeing: 9.0,
 agreeing_least: 0.55, tipping: 0.1, worst: 0.01, cells_holding: 0, cells_failing: 1,
 cells_silent: 0, cells_total: 1}
""")


def claim(verdict="fails", cells=(), **more) -> dict:
    return CLAIM | {"verdict": verdict, "cells": list(cells) or [cell()]} | more


def found(told, answer=ANSWER) -> str:
    """What the answer finds in a claim."""
    return plain(story.finding(answer, told))


def plain(text) -> str:
    return re.sub("<[^>]*>", "", str(text))


NUMBERS = "SLAM minus ListNet: -0.127 [-0.133, -0.122] of NDCG@10"
NUMBERS_OF_CLAIM = ": -0.127 [-0.133, -0.122] of NDCG@10"
OVERTURNED = "to overturn it, one seed in 10 would have to be as far against it as a seed can be"


@pytest.mark.parametrize(
    ("verdict", "finding", "rest"),
    [
        ("holds", "SLAM keeps up with ListNet on Digits, by 0.127 of NDCG@10", ""),
        ("fails", "SLAM falls behind ListNet on Digits, by 0.127 of NDCG@10", ""),
        (
            "undecided",
            "Undecided: whether SLAM keeps up with ListNet",
            "; 20 seeds or more would decide it",
        ),
        (
            words.ALIKE,
            "Like its control: SLAM keeps up with ListNet",
            "; so of Random, too, of which it should be false",
        ),
        (words.SILENT, "Not refutable here: SLAM keeps up with ListNet", None),
    ],
)
def test_the_finding_is_that_of_the_verdict_and_the_line_below_says_the_rest(
    verdict, finding, rest
):
    known = {"tipping": 0.1} if verdict in words.DECIDED else {"tipping": None, "needed": 20.0}
    known |= {"cells_failing": int(verdict == "fails")}
    (told,) = story.story([ASKED], [claim(verdict, **known)], {}, {})
    assert plain(told["finding"]) == finding
    how = "as claimed" if verdict == "undecided" else "so"
    below = "" if rest is None else f"{NUMBERS} on Digits; {how} in 9 of 10 seeds{rest}."
    assert [plain(one["text"]) for one in told["sentences"]] == [below]


def test_a_size_against_a_margin_is_named_with_its_sign_and_the_fewest_seeds():
    cells = [cell(**{"from": -0.05}), cell("Letters", -0.1, agreeing=8.0)]
    assert found(claim(cells=cells)) == (
        "SLAM falls behind ListNet on Digits and Letters: -0.127 to -0.1 of NDCG@10"
    )
    marked = claim(cells=cells, mark=words.MARK, cells_total=2)
    missed = f"{OVERTURNED}, and so many could hardly have been missed"
    assert plain(story.behind(marked)) == (
        "SLAM minus ListNet: -0.127 to -0.1 of NDCG@10 on Digits and Letters; so in 8 of 10 seeds "
        f"or more; the cell that decides, SLAM minus ListNet on Digits{NUMBERS_OF_CLAIM}."
    )
    assert story.beside(marked) == (
        "so in 9 of 10 seeds, hence in at least 55 % of all (SLAM minus ListNet on Digits); "
        f"{missed}; the seed that speaks most against it has 0.01"
    )


@pytest.mark.parametrize(
    ("streams", "text"),
    [
        (["Digits"], "SLAM falls behind ListNet on Digits, by 0.127 of NDCG@10"),
        (["A stream with a long name"], "SLAM falls behind ListNet, by 0.127 of NDCG@10"),
    ],
)
def test_a_heading_names_streams_where_there_is_room(streams, text):
    assert found(claim(cells=[cell(name) for name in streams])) == text


def test_a_heading_of_every_answer_is_short_whatever_its_claim_found():
    """On two streams with long names, decided alike, unlike and not at all."""
    answers = [answer for question in families.questions() for answer in question.answers]
    for answer, first, second in itertools.product(answers, *[("holds", "fails", "undecided")] * 2):
        cells = [cell("Simulated, 400 queries", verdict=first), cell("MQ2008", 0.1, second)]
        for verdict in (first, words.DIFFERS, words.ALIKE, words.SILENT, "undecided"):
            if verdict == words.DIFFERS and {first, second} != {"holds", "fails"}:
                continue
            heading = found(claim(verdict, cells), answer)
            assert len(heading.split()) <= story.WORDS, heading


def test_where_some_cells_are_undecided_each_side_has_its_numbers_and_seeds():
    cells = [cell("Letters", 0.002, "holds"), cell(verdict="undecided", agreeing=0.0)]
    assert plain(story.behind(claim("undecided", cells, needed=math.inf))) == (
        "SLAM minus ListNet: +0.002 [-0.003, +0.007] of NDCG@10 on Letters, so in 9 of 10 seeds; "
        "-0.127 [-0.133, -0.122] of NDCG@10 on Digits, as claimed in 0 of 10 seeds; no number of "
        "seeds would decide it."
    )
    assert words.agreeing(0, 10, 0.0) == "0 of 10 seeds"


def test_where_cells_differ_both_sides_are_named():
    told = claim(words.DIFFERS, [cell("Letters", 0.002, "holds"), cell()])
    text = "SLAM keeps up with ListNet {}, not {}"
    assert found(told) == text.format("on Letters", "on Digits")
    first, second = "SLAM minus ListNet: +0.002 [-0.003, +0.007]", "-0.127 [-0.133, -0.122]"
    assert plain(story.behind(told)) == (
        f"{first} of NDCG@10 on Letters; {second} of NDCG@10 on Digits; so in 9 of 10 seeds."
    )
    cells = [cell(learner="SLAM, cut", against="ListNet, cut", verdict="holds"), cell()]
    told = claim(words.DIFFERS, cells)
    assert found(told) == text.format("for SLAM, cut", "for SLAM")
    assert "of NDCG@10 for SLAM, cut; SLAM minus ListNet: -0.127" in plain(story.behind(told))
    cells[0]["against"] = ""
    assert f"; {second} of NDCG@10 for SLAM; " in plain(story.behind(told))
    cells = [*cells, cell("Letters", verdict="holds")]
    assert plain(story.behind(claim(words.DIFFERS, cells))).endswith("so in 9 of 10 seeds.")
    assert found(claim(words.DIFFERS, cells)) == "Not everywhere: SLAM keeps up with ListNet"


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
    streams = ("Digits", "Letters", "Yahoo")[: len(verdicts)]
    cells = [cell(name, verdict=one) for name, one in zip(streams, verdicts, strict=True)]
    answer = Answer("c-1", "SLAM", "keeps up", "falls behind")
    assert found(claim("undecided", cells), answer) == text


def test_streams_that_came_out_the_other_way_are_told():
    def ending(told, *texts):
        assert [plain(text) for text in story.evidence(told)][-len(texts) :] == list(texts)

    cells = [cell(), cell("Letters", 0.002, "holds"), cell(story.OVERALL, 0.0, "holds")]
    assert found(claim(cells=cells)).startswith(
        "SLAM falls behind ListNet on Digits, not on Letters, by 0.127 of NDCG@10"
    )
    held = claim("undecided", cells, cells_holding=1, cells_total=2)
    ending(held, "as claimed in 9 of 10 seeds", "cell by cell it holds in 1 of 2 cells, fails in 1")
    some = [cell(), cell("Letters", 0.002, "undecided")]
    so = "so in 9 of 10 seeds"
    ending(claim(cells=some), f"{NUMBERS} on Digits", so, "undecided on Letters")
    some = [cell(), cell(learner="SLAM, cut", verdict="undecided")]
    ending(claim(cells=some), f"{NUMBERS} on Digits", so, "undecided in 1 of 2 cells")
    text = found(claim("holds", cells, deciding=story.OVERALL))
    assert text == "SLAM keeps up with ListNet on average, by 0 of NDCG@10"


def test_of_several_learners_the_range_is_told_and_of_many_streams_their_number():
    told = claim(cells=[cell(str(at), -0.1 * at, learner=f"learner-{at}") for at in range(1, 6)])
    assert found(told) == "SLAM falls behind ListNet on 5 streams, by 0.1 to 0.5 of NDCG@10"
    assert [plain(one) for one in story.evidence(told)] == [
        "each minus ListNet: -0.5 to -0.1 of NDCG@10 on 5 streams",
        "so in 9 of 10 seeds",
        f"the cell that decides, SLAM minus ListNet on Digits{NUMBERS_OF_CLAIM}",
    ]
    numbers = story.evidence(told | {"verdict": "undecided"})[0]
    assert plain(numbers) == "each minus ListNet: -0.5 to -0.1 of NDCG@10 on 5 streams"


def test_a_question_is_there_if_something_can_be_said_of_it():
    figures = {"figure-2": {"id": "figure-2"}}
    assert story.story([ASKED], [], {}, {}) == []
    assert story.story([ASKED], [claim(words.UNTESTABLE)], {}, {}) == []
    (drawn,) = story.story([ASKED], [claim(words.UNTESTABLE)], figures, {})
    assert entries(drawn, "figure text sentences") == (figures["figure-2"], ASKED.text, [])
    assert story.story([replace(ASKED, alone=False)], [], figures, {}) == []
    (tested,) = story.story([ASKED], [claim(), claim(id="other")], {}, {})
    assert tested["figure"] is None and [one["id"] for one in tested["claims"]] == ["c-1"]


def test_it_says_how_many_verdicts_suppose_something_of_seeds():
    by_t, exact = claim("holds", premise="seeds near normal"), claim("holds", test="exact")
    marked = claim(premise="seeds near normal", mark=words.MARK)
    text = "2 of 3 verdicts suppose that no rare seed is far from those drawn; 1 of these are so "
    assert story.resting([by_t, marked, exact]) == f"{text}whatever seeds are like"
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
    claims = [claim(row="theorem", tightness=20.0, named="a remark after Theorem 5", test="exact")]
    claims += [claim(), claim("holds", row="theorem", tightness=0.02)]
    claims += [claim("holds", row="theorem", tightness=0.5, test="exact")]
    claims += [claim("undecided", row="theorem")]
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
    dots = story.strip([claim(tightness=1.01), *[claim("holds", tightness=1.0)] * 2])
    places = {dot["claim"]["verdict"]: dot["x"] for dot in dots["dots"]}
    assert places["holds"] < dots["bound"] < places["fails"] and dots["height"] == 2


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
        ("difference in raw_variance in the table v", -5.0, "a - b", "a - b: -5 of raw variance"),
        ("difference in CTR", 0.02, "a minus b", "a minus b: +0.02 of CTR"),
        ("gain in CTR (%)", -3.0, "a minus b", "a minus b: -3 % of CTR"),
        ("lead over Random / ListNet's", 0.264, "", "26 % of ListNet's lead over Random"),
        ("(estimated - true clicks) / true clicks", 0.47, "", "47 % of true clicks"),
        ("slope of regret", 0.7046, "", "slope of regret 0.705"),
    ],
)
def test_what_was_measured_is_in_words(quantity, estimate, pair, text):
    row = {"estimate": estimate, "low": None, "high": None}
    assert numbers.measured([row], quantity, pair) == text


def test_questions_name_what_there_is(stated):
    """Their figures are declared, and their claims stated."""
    shown = {shown.name for _, shown in families.shown()}
    ids = [question.id for question in families.questions()]
    assert len(ids) == len(set(ids))
    for question in families.questions():
        assert set(question.figures) <= shown
        for answer in question.answers:
            row = stated[answer.claim].get("row", words.UNTOLD)
            assert story._asks(question, {"id": answer.claim, "row": row})
    headings = re.findall(r"(?m)^## (.*)", Path("docs/findings.md").read_text(encoding="utf-8"))
    assert headings[:-1] == [question.text for question in families.questions()]


# What an answer may say of a side that is ahead and of one that is behind, in a claim with no
# margin.
SAID_OF = {
    "greater": "ahead|better|raises|gains|grows|average more",
    "less": "behind|worse|lowers|loses|falls|less",
}


def test_an_answer_says_what_its_claim_tests_in_either_direction(stated):
    """Its verbs are of the row's direction, and it names the margin on both sides as the claim."""
    answers = [answer for question in families.questions() for answer in question.answers]
    for answer in answers:
        for part in grouping.parts(stated[answer.claim]):
            if size := margin_of(part):
                assert size in answer.holds and size in answer.fails, answer
                continue
            other = "less" if part["comparison"] == "greater" else "greater"
            if part["quantity"] != "game_regret":  # of which less is better
                assert re.search(SAID_OF[part["comparison"]], answer.holds), answer
                assert re.search(SAID_OF[other], answer.fails), answer
            assert not re.search(r"\bnot?\b", answer.fails), answer


def margin_of(part: dict) -> str:
    """The margin of a claim in words; "" if it has none."""
    margin = part.get("margin", 0.0)
    if isinstance(margin, dict):
        return f"{100 * abs(margin['relative']):g} %"
    # above 0.99 is 1 less a margin of 0.01
    if margin and isinstance(part["against"], float) and part["comparison"] != "slope":
        return f"{part['against'] + margin:g}"
    return f"{abs(margin):g}" if margin else ""

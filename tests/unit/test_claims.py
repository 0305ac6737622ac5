"""Verdicts on claims in a study: what comes out of them, what could have come out otherwise, and
what a row says.
"""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from claimed import (
    AGAINST_ALL,
    B_IS_WORSE,
    CLAIM,
    CONTRACT,
    GAMES,
    HARDLY,
    NOISE,
    cells,
    changed,
    judge_study,
    judged,
    planned,
    played,
)
from toys import claims_table

from scant.declare import families
from scant.errors import SettingError
from scant.verdict import claims, judging, selection, statistics, tables
from scant.verdict.anytime import least_t
from scant.verdict.examined import Cell, Reading


def test_a_slope_over_games_has_as_many_seeds_as_they_have():
    sizes = {f"items-{count}": count for count in (5, 10, 20, 40)}
    config = GAMES | {
        "games": {
            id: {"stream": "flip", "settings": {"items": m}, "loss": "dcg"}
            for id, m in sizes.items()
        },
        "experiments": {"first": GAMES["experiments"]["first"] | {"games": [*sizes]}},
    }
    frame, details = played(config)["first"]
    frame["items"], frame["game"] = frame["stream"].map(sizes), "flip"
    frame["value"] *= frame["items"] ** HARDLY[frame["seed"]]
    claim = {"quantity": "game_slope", "along": "items", "against": 1.0, "comparison": "slope"}
    row = judged(config, {"first": (frame, details)}, flat=claim).loc["flat"]
    assert (row["verdict"], row["n"]) == ("holds", 12) and row["estimate"] == pytest.approx(
        0, abs=1e-7
    )


def test_planted_claims_get_their_verdicts():
    table = judged(
        true={"against": {"kind": "ftpl"}},
        false={"against": {"kind": "ftpl"}, "comparison": "less"},
        rate={
            "quantity": "game_slope",
            "along": "horizon",
            "against": 2 / 3,
            "comparison": "slope",
            "margin": 0.01,
        },
        steep={
            "quantity": "game_slope",
            "along": "horizon",
            "against": 0.5,
            "comparison": "slope",
            "margin": 0.01,
        },
        level={"quantity": "game_regret", "against": 40.0 * 10_000 ** (2 / 3), "on": {"ids": "a"}},
    )
    assert table["verdict"].to_dict() == {
        "true": "holds", "false": "fails", "rate": "holds", "steep": "fails", "level": "undecided"
    }  # fmt: skip
    assert table.loc["rate", "estimate"] == pytest.approx(2 / 3)
    assert 12 < table.loc["level", "needed"] < math.inf and np.isnan(table.loc["true", "needed"])
    assert (table["n"] == 12).all() and (table["low"] <= table["estimate"]).all()
    assert table.loc["true", ["source", "experiment"]].tolist() == ["thesis, 3.3", "first"]


def test_differences_are_paired_by_seed():
    traces = played(GAMES)
    frame, details = traces["first"]
    traces["first"] = (frame.sample(frac=1, random_state=1), details)  # in any order
    row = judged(traces=traces, paired=AGAINST_ALL | {"on": {"ids": "a"}}).loc["paired"]
    ends = frame[(frame["stream"] == "a") & (frame["horizon"] == 10000)].pivot_table(
        index="seed", columns="learner", values="value"
    )
    difference = ends["one"] - ends["all"]
    assert row["estimate"] == pytest.approx(difference.mean())
    half = least_t(12, 0.025) * difference.std() / math.sqrt(12)
    assert row["high"] - row["estimate"] == pytest.approx(half)
    assert (row["agreeing"], row["worst"]) == (12, pytest.approx(difference.min()))


def test_a_claim_about_several_streams_has_a_summary_of_its_own():
    reading = claims.examine({"one": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES))[
        "one"
    ].readings[0]
    assert len(reading.cells) == 2
    mean = np.mean([cell.differences.to_numpy() for cell in reading.cells], axis=0)
    assert reading.summary == statistics.judge(mean, statistics.claimed("greater"))
    single = claims.examine(
        {"one": CLAIM | AGAINST_ALL | {"on": {"ids": "a"}}}, planned(GAMES), played(GAMES)
    )
    assert single["one"].readings[0].summary is None
    over = claims.examine(
        {"one": CLAIM | AGAINST_ALL | {"over": "mean"}}, planned(GAMES), played(GAMES)
    )
    assert over["one"].readings[0].summary == over["one"].readings[0].verdict == reading.summary


def test_relative_margins_are_of_the_size_of_what_may_be_negative():
    traces = {
        name: (frame.assign(value=-frame["value"]), one)
        for name, (frame, one) in played(GAMES).items()
    }
    near = {"against": {"kind": "rtopkf", "k": 2}, "comparison": "close", "where": {"ids": "first"}}
    table = judged(
        traces=traces,
        close=near | {"margin": {"relative": 0.4}},
        far=near | {"margin": {"relative": 0.3}},
    )
    assert table["verdict"].to_dict() == {"close": "holds", "far": "fails"}
    nothing = {name: (frame.assign(value=0.0), one) for name, (frame, one) in played(GAMES).items()}
    assert (
        judged(traces=nothing, close=near | {"margin": {"relative": 0.4}}).loc["close", "verdict"]
        == "undecided"
    )


def test_a_share_of_a_bound_is_exceeded_by_one_seed_at_one_horizon():
    share = {
        "quantity": "bound_share",
        "learner": {"kind": ["rtopkf", "ftpl"]},
        "comparison": "exact",
    }
    traces = played(GAMES)
    row = judged(traces=traces, kept=share).loc["kept"]
    assert row["verdict"] == "holds" and 0.3 < row["estimate"] == row["low"] == row["tightness"] < 1
    frame, details = traces["first"]
    once = (
        (frame["seed"] == 4)
        & (frame["horizon"] == 100)
        & (frame["learner"] == "all")
        & (frame["stream"] == "b")
    )
    traces["first"] = (
        frame.assign(value=frame["value"].where(~once, 1.5 * frame["bound"])),
        details,
    )
    row = judged(traces=traces, kept=share).loc["kept"]
    assert row["verdict"] == "fails" and row["estimate"] == pytest.approx(1.5)


def test_failed_runs_are_left_out_and_too_few_decide_nothing():
    traces = changed("learner == 'one' and seed > 0", np.nan)
    row = judged(traces=traces, one=AGAINST_ALL | {"where": {"ids": "first"}}).loc["one"]
    assert row["n"] == 1 and row["verdict"] == "undecided"


@pytest.fixture
def shares(monkeypatch):
    """Makes `game_share` half of a bound in every cell, with the ceiling that a test gives each
    stream.

    It is larger by `by_seed` with the last seed than with the first. The horizon from which on a
    ceiling below 1 would be 1 grows with it, and with the seed.
    """
    from scant.games import quantities

    def give(values=0.5, by_seed=0.0, **ceilings):
        def game_share(played, bound="own"):
            rows = played.traces[played.traces["horizon"] == 10000]
            ceiling = rows["stream"].map(ceilings) + by_seed * rows["seed"] / 11
            noisy = values * (1 + 0.01 * NOISE[rows["seed"]])
            saying = (1e5 * ceiling + rows["seed"]).where(ceiling < 1)
            return rows.assign(value=noisy, ceiling=ceiling, says_from=saying, worst=2 * ceiling)

        monkeypatch.setattr(quantities, "game_share", game_share)

    declared = dataclasses.replace(
        selection.quantities()["game_share"]["fixed-items"], plays=("worst",)
    )
    monkeypatch.setitem(families.family("fixed-items").quantities, "game_share", declared)
    return give


SHARE = {"quantity": "game_share", "against": 1.0, "comparison": "less", "row": "theorem"}


def test_a_cell_that_cannot_violate_its_bound_says_nothing(shares):
    shares(a=0.9, b=1.5)
    row = judged(one=SHARE | {"where": {"ids": "first"}}).loc["one"]
    assert row["verdict"] == "holds" and row["deciding"] == "one on b"
    assert row[["cells_holding", "cells_silent", "cells_total"]].tolist() == [1, 1, 2]
    assert row["says_from"] == 90_011 and row["tightness"] == pytest.approx(0.5, rel=0.01)
    shares(a=0.9, b=0.99)
    table = judged(one=SHARE | {"where": {"ids": "first"}}, two=AGAINST_ALL)
    assert table.loc["one", "verdict"] == "says nothing here" and math.isnan(
        table.loc["one", "tightness"]
    )
    # for the first cell, of which all seeds then say something
    assert table.loc["one", "says_from"] == 90_011
    assert table.loc["one", "note"] == (
        "Even 0.99, the worst that could have been measured, is as claimed"
    )
    alone = judged(two=AGAINST_ALL)
    assert table.loc["two", "estimate"] == alone.loc["two", "estimate"]
    examined = claims.examine(
        {"one": CLAIM | SHARE, "two": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES)
    )
    first = {name: one.readings[0].verdict for name, one in examined.items()}
    together = statistics.holm(first)
    assert together["two"] == statistics.holm({"two": first["two"]})["two"]  # it counts for nothing


def test_a_bound_from_below_is_compared_with_the_least(shares):
    shares(values=3.0, a=1.2, b=0.8)
    row = judged(one=SHARE | {"where": {"ids": "first"}, "comparison": "greater"}).loc["one"]
    assert row["verdict"] == "holds" and row["cells_silent"] == 1 and row["deciding"] == "one on b"


@pytest.mark.parametrize(
    ("values", "comparison", "ceilings"),
    [(0.5, "less", {"a": 0.9, "b": 0.4}), (3.0, "greater", {"a": 0.8, "b": 1.1})],
)
def test_a_cell_says_something_if_a_single_seed_could_violate_its_bound(
    shares, values, comparison, ceilings
):
    shares(values=values, by_seed=0.5, **ceilings)
    row = judged(one=SHARE | {"where": {"ids": "first"}, "comparison": comparison}).loc["one"]
    assert row[["cells_holding", "cells_silent"]].tolist() == [1, 1] and row["deciding"] == (
        "one on Game A"
    )


def test_a_measured_violation_is_never_silenced(shares):
    shares(values=2.0, a=0.9, b=0.9)
    assert judged(one=SHARE | {"where": {"ids": "first"}}).loc["one", "verdict"] == "fails"


def test_a_claim_that_its_control_passes_does_not_discriminate():
    passes = {"control": {"words": "RTop-kF from two", "learner": {"kind": "rtopkf", "k": 2}}}
    fails = {
        "control": {
            "words": "the other way round",
            "learner": {"kind": "ftpl"},
            "against": {"kind": "rtopkf"},
        }
    }
    absent = {"control": {"words": "Random", "learner": {"kind": "random"}}}
    table = judged(
        **{name: AGAINST_ALL | one for name, one in {"a": passes, "b": fails, "c": absent}.items()}
    )
    assert table["verdict"].tolist() == ["does not discriminate", "holds", "holds"]
    assert table["control_verdict"].tolist() == ["holds", "fails", ""]
    assert table.loc["a", "control"] == "RTop-kF from two"
    assert table.loc["c", "control"] == "Random (missing here: no learner with kind random)"
    two = judged(two=AGAINST_ALL | {"learner": {"kind": "rtopkf", "k": 2}}).loc["two"]
    assert (
        table.loc["a", ["control_estimate", "control_low"]].tolist()
        == two[["estimate", "low"]].tolist()
    )
    untold = judged(false=AGAINST_ALL | {"comparison": "less"} | passes).loc["false"]
    assert untold[["verdict", "control_verdict"]].tolist() == ["fails", "fails"]


def test_a_claim_of_parts_holds_if_all_of_them_do_and_fails_with_one():
    better, worse = (
        AGAINST_ALL,
        AGAINST_ALL | {"learner": {"kind": "ftpl"}, "against": {"kind": "rtopkf", "k": 2}},
    )
    table = judged(
        both={"cells": [better, {"against": {"kind": "rtopkf", "k": 2}}]},
        one={"cells": [better, worse]},
        lacking={"cells": [better, {"learner": {"kind": "random"}, "against": 1.0}]},
    )
    assert table["verdict"].tolist() == ["holds", "differs", "not testable here"]
    assert table["cells_total"].tolist() == [4, 4, 0] and table["cells_failing"].tolist() == [
        0,
        2,
        0,
    ]
    assert table.loc["one", "deciding"].startswith("all minus two on ")
    assert table.loc["one", "by_cell"] == "holds for one minus all; fails for all minus two"
    assert "missing here: no learner with kind random" in table.loc["lacking", "data"]
    # The first readings of all parts are one; that of the second experiment, which has one part
    # alone, is another.
    assert table["readings_total"].tolist() == [2, 2, 0]
    rows = cells({"one": CLAIM | {"cells": [better, worse]}}, planned(GAMES), played(GAMES))
    assert [tuple(row) for row in rows.loc[rows["first"], ["learner", "against"]].to_numpy()] == [
        ("one", "all"), ("one", "all"), ("all", "two"), ("all", "two"),
    ]  # fmt: skip


def test_parts_may_be_about_different_quantities_and_about_tables(tmp_path):
    cell = {"loss": "dcg", "feedback": "k"}
    of_table = {
        "quantity": "table",
        "table": "observability",
        "cell": cell,
        "column": "share",
        "expected": 1.0,
    }
    frame = {"observability": pd.DataFrame([cell | {"share": 1.0}])}
    of_game = {
        "quantity": "game_slope",
        "along": "horizon",
        "against": 2 / 3,
        "comparison": "slope",
        "margin": 0.01,
    }
    two = CLAIM | {
        "comparison": "exact",
        "cells": [of_table, of_game | {"learner": {"kind": "rtopkf", "k": None}}],
    }
    row = judge_study({"two": two}, planned(GAMES), played(GAMES), tables=frame).loc[0]
    assert (row["verdict"], row["cells_total"], row["n"]) == ("holds", 3, 12)
    wrong = two | {"cells": [of_table | {"expected": 2.0}, two["cells"][1]]}
    row = judge_study({"two": wrong}, planned(GAMES), played(GAMES), tables=frame).loc[0]
    assert (row["verdict"], row["deciding"], row["test"]) == ("fails", "dcg, k", "exact")


def test_a_claim_is_a_reproduction_on_the_document_s_data_and_an_extension_elsewhere():
    of_paper = AGAINST_ALL | {"row": "reproduction", "own": {"ids": "b"}}
    table = judged(both=of_paper, neither=of_paper | {"own": {"ids": "c"}})
    assert table["row"].tolist() == ["reproduction", "extension"]
    assert table["data"].tolist() == ["b", "Game A; b"]
    # Of the first experiment one reading on its own data and one on the other, of the second one on
    # the other.
    assert table["readings_total"].tolist() == [3, 2]
    assert table["experiment"].tolist() == ["first", "first"]


def test_it_says_by_which_violation_it_would_have_been_refuted():
    row = judged(one=AGAINST_ALL | {"margin": -1.0, "on": {"ids": "a"}}).loc["one"]
    half = row["high"] - row["estimate"]
    assert row["refuted_by"] == f"a mean below {-1 - half:.3g}"
    row = judged(two=AGAINST_ALL | {"comparison": "close", "margin": 3.0, "on": {"ids": "a"}}).loc[
        "two"
    ]
    half = row["high"] - row["estimate"]
    assert row["refuted_by"] == f"a mean below {-3 - half:.3g} or above {3 + half:.3g}"


def test_a_control_may_be_a_trivial_play(shares):
    shares(a=1.5, b=1.5)
    row = judged(one=SHARE | {"control": {"words": "the worst", "plays": "worst"}}).loc["one"]
    assert row[["verdict", "control_verdict"]].tolist() == ["holds", "fails"]
    assert row["control_estimate"] == pytest.approx(3)
    with pytest.raises(SettingError, match="play of game_share 'wrst': did you mean 'worst'"):
        judged(one=SHARE | {"control": {"words": "the worst", "plays": "wrst"}})


def test_a_part_may_refute_a_statement_and_never_confirm_it():
    """Without a learner, a part or as many places as a statement names, a study can only say that
    it fails.
    """
    named, first = AGAINST_ALL | {"learner": {"kind": "rtopkf"}}, {"where": {"ids": "first"}}
    absent = {"learner": {"kind": "random"}, "against": 1.0}
    lacking = {
        "each": {"each": [{"k": 2}, {"k": 3}]},
        "cells": {"cells": [{}, absent]},
        "places": {"places": 3} | first,
    }
    table = judged(both=named | {"each": [{"k": None}, {"k": 2}], "places": 2} | first)
    assert table["verdict"].tolist() == ["holds"]
    table = judged(**{name: named | one for name, one in lacking.items()})
    assert (
        table["verdict"].tolist() == ["not testable here"] * 3
        and (table["readings_total"] == 0).all()
    )
    missing = (
        "no learner with k 3, which the statement names",
        "no learner with kind random",
        "2 of the 3 games",
    )
    assert all(text in data for text, data in zip(missing, table["data"], strict=True))
    table = judged(**{name: named | one | {"comparison": "less"} for name, one in lacking.items()})
    assert (
        table["verdict"].tolist() == ["fails"] * 3
        and table["note"].str.contains("n part missing here").all()
    )


def test_where_cells_differ_the_verdict_says_on_which_streams():
    differs = AGAINST_ALL | {"where": {"ids": "first"}}
    rows = {row: differs | {"row": row} for row in ("reproduction", "theorem")}
    table = judged(traces=changed(*B_IS_WORSE), **rows)
    assert table["verdict"].tolist() == ["differs", "fails"]  # a theorem has to hold in all cells
    assert set(table["by_cell"]) == {"holds on Game A; fails on b"}
    found = claims.examine({"one": CLAIM | differs}, planned(GAMES), changed(*B_IS_WORSE))
    [reading] = found["one"].readings
    sampled = [dataclasses.replace(cell, sample=cell.stream == "b") for cell in reading.cells]
    found["one"].readings[0] = dataclasses.replace(reading, cells=sampled)
    assert claims_table(found, planned(GAMES).study).loc[0, "by_cell"] == (
        "holds on Game A; on samples: fails on b"
    )
    mean = judged(traces=changed(*B_IS_WORSE), mean=differs | {"over": "mean"}).loc["mean"]
    assert mean["verdict"] == "fails"


def test_the_cell_that_decides_is_shown_and_cells_are_counted_each_by_itself():
    split = AGAINST_ALL | {"where": {"ids": "first"}}
    table = judged(traces=changed(*B_IS_WORSE), split=split, none={"learner": {"kind": "hedge"}})
    row, counts = (
        table.loc["split"],
        ["cells_holding", "cells_failing", "cells_silent", "cells_total"],
    )
    assert (row["verdict"], row["deciding"]) == ("differs", "one minus all on b")
    assert row["estimate"] < 0 and row["high"] < 0
    assert row[counts].tolist() == [1, 1, 0, 2] and table.loc["none", counts].tolist() == [
        0,
        0,
        0,
        0,
    ]
    holding = judged(split=split).loc["split"]
    assert holding["deciding"] == "one minus all on Game A" and holding["low"] > 0


def test_the_weakest_of_cells_that_hold_decides_and_the_strongest_of_those_that_fail():
    """By p-values, and only among equal ones by estimates."""

    def decides(outcome, *cells):
        undecided = statistics.judge([1.0], statistics.claimed("greater"))
        single = [dataclasses.replace(undecided, estimate=estimate, p_holds=p_holds,
                                      p_fails=p_fails)
                  for estimate, p_holds, p_fails in cells]  # fmt: skip
        cell = Cell("a", "one", "", pd.Series([1.0]), claim=CLAIM)
        reading = Reading("first", None, {}, [cell] * len(cells), single, undecided)
        return judging.deciding(reading, outcome)

    assert decides("holds", (9.0, 0.02, 1.0), (4.0, 0.001, 0.9), (5.0, 0.001, 1.0)) == 0
    assert decides("holds", (9.0, 0.001, 0.8), (4.0, 0.001, 1.0), (5.0, 0.001, 0.9)) == 1
    assert decides("fails", (-9.0, 1.0, 0.02), (4.0, 1.0, 0.3), (-5.0, 0.9, 0.001)) == 2


def test_a_note_does_not_call_an_interval_two_sided_that_lies_outside():
    """As where a cell alone would fail, and its number of cells leaves the claim undecided."""
    reading = claims.examine({"one": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES))[
        "one"
    ].readings[0]
    decides = dataclasses.replace(reading.single[0], verdict="undecided", low=-2.0, high=-1.0)
    corrected = dataclasses.replace(reading.verdict, verdict="undecided")
    one = tables.Judged(
        dataclasses.replace(reading, verdict=corrected), "undecided", corrected, ["undecided"] * 2
    )
    note = tables._undecided(one, reading.cells[0], decides)
    assert note == (
        "the interval lies outside of what is claimed; the correction for 2 cells "
        "leaves it undecided"
    )
    assert "both sides" in tables._undecided(
        one, reading.cells[0], dataclasses.replace(decides, high=1.0)
    )


def test_families_are_corrected_each_by_itself_and_a_note_says_why_a_claim_is_undecided():
    traces = played(GAMES)
    values = traces["first"][0].query("learner == 'one' and stream == 'a' and horizon == 10000")[
        "value"
    ]
    chance = CLAIM | {"on": {"ids": "a"}, "where": {"ids": "first"}}
    near = chance | {"against": values.mean() - 4.5 * values.std() / math.sqrt(12)}
    others = {f"null-{i}": chance | {"against": values.mean()} for i in range(4)}
    table = judged(alone=near | {"family": "own"}, among=near, **others)
    assert table.loc["alone", "verdict"] == "holds"
    assert (
        table.loc["among", "verdict"] == "undecided" and table.loc["among", "readings_holding"] == 0
    )
    assert table.loc["alone", "estimate"] == table.loc["among", "estimate"]
    assert table.loc["among", "note"].startswith(
        "By itself it would hold; the correction for its family"
    )
    assert "no number of seeds is known to be enough" in table.loc["null-0", "note"]
    traces = changed("learner == 'one' and seed > 0", np.nan)
    assert (
        judged(traces=traces, few=chance | {"against": 0.0})
        .loc["few", "note"]
        .startswith("1 seed allows no test")
    )
    assert (
        table.loc["null-0", "premise"] == ""
        and judged(true=chance | {"against": 0.0}).loc["true", "premise"]
    )


def test_a_slope_above_its_exponent_says_that_the_margin_decides():
    slope = {
        "quantity": "game_slope",
        "along": "horizon",
        "comparison": "slope",
        "where": {"ids": "first"},
    }
    table = judged(
        within=slope | {"against": 0.6, "margin": 0.1, "on": {"ids": "a"}},
        below=slope | {"against": 0.7, "margin": 0.1, "on": {"ids": "a"}},
        amid=slope | {"against": 2 / 3, "margin": 0.1, "on": {"ids": "a"}},
    )
    assert (
        table["verdict"].tolist() == ["holds"] * 3
        and table.loc["amid", "low"] < 2 / 3 < table.loc["amid", "high"]
    )
    assert table.loc["within", "note"] == (
        "Within 0.1 of 0.6, above it. Local slopes, by power of ten: one on a 0.67, 0.67"
    )
    for name in ("below", "amid"):
        assert table.loc[name, "note"] == "Local slopes, by power of ten: one on a 0.67, 0.67"


def test_a_row_says_what_kind_it_is_in_whose_words_and_what_was_chosen():
    source = CLAIM["source"] | {"words": "so it is in general"}
    told = {
        "row": "reproduction",
        "chosen": "The longest horizon.",
        "source": source,
        "against": {"kind": "ftpl"},
    }
    table = judged(told=told, untold={"against": 5.0}, untestable={"learner": {"kind": "hedge"}})
    columns = ["row", "words", "chosen", "quantity", "test"]
    assert table.loc["told", columns[:4]].tolist() == [
        "reproduction", "so it is in general", "The longest horizon.", "difference in regret"
    ]  # fmt: skip
    assert table.loc["untold", columns[:4]].tolist() == ["extension", "", "", "regret"]
    assert table.loc["untestable", "test"] == "" and table.loc["told", "test"] != ""
    assert table.columns[:10].tolist() == CONTRACT[1:] and table["tightness"].isna().all()


@pytest.mark.parametrize(("comparison", "tightness"), [("less", 0.8), ("greater", 1 / 0.4)])
def test_a_share_held_against_1_is_of_a_bound_in_a_theorem_check(comparison, tightness):
    claim = CLAIM | {
        "quantity": "table",
        "table": "observability",
        "cell": {},
        "column": "share",
        "against": 1.0,
    }
    claim |= {"comparison": comparison}
    shares = {"observability": pd.DataFrame({"share": [0.4, 0.8, 0.6]})}
    found = [
        judge_study({"one": claim | {"row": row}}, planned(GAMES), {}, tables=shares).loc[
            0, "tightness"
        ]
        for row in ("theorem", "extension")
    ]
    assert found[0] == pytest.approx(tightness) and np.isnan(found[1])


def test_a_bound_on_a_mean_over_cells_is_compared_with_the_mean():
    bound = CLAIM | {
        "quantity": "game_share",
        "against": 1.0,
        "comparison": "less",
        "row": "theorem",
    }
    reading = claims.examine({"share": bound}, planned(GAMES), played(GAMES))["share"].readings[0]
    nearer = dataclasses.replace(reading.single[0], estimate=0.9)
    reading = dataclasses.replace(reading, single=[nearer, *reading.single[1:]])
    for over, tightness in (("mean", reading.verdict.estimate), ("all", 0.9)):
        of_mean = [
            dataclasses.replace(cell, claim=bound | {"over": over}) for cell in reading.cells
        ]
        examined = {
            "share": claims.Examined(
                bound | {"over": over}, [dataclasses.replace(reading, cells=of_mean)]
            )
        }
        assert claims_table(examined, planned(GAMES).study).loc[0, "tightness"] == tightness


def test_a_quantity_that_several_families_have_is_one_thing():
    for kind, family in families.families().items():
        for name, quantity in family.quantities.items():
            assert selection.quantities()[name][kind] is quantity
    for name, of in selection.quantities().items():
        assert len({quantity.words for quantity in of.values()}) == 1, name
        assert len({(quantity.most, quantity.compared) for quantity in of.values()}) == 1, name


def test_a_claim_about_a_slope_that_there_is_not_says_why():
    traces = changed("learner == 'one' and horizon == 100 and stream == 'a'", -1)
    stated = {
        "quantity": "game_slope",
        "against": 2 / 3,
        "comparison": "slope",
        "where": {"ids": "first"},
    }
    stated |= {"learner": {"ids": "one"}}
    row = judged(traces=traces, one=stated | {"on": {"ids": "a"}}).loc["one"]
    assert row["verdict"] == tables.UNTESTABLE
    assert "no slope: the mean regret of one on a is not above 0 at horizon 100" in row["data"]
    reading = claims.examine({"one": CLAIM | stated}, planned(GAMES), traces)["one"].readings[0]
    assert [bool(cell.why) for cell in reading.cells] == [True, False]  # nor is the cell dropped
    assert reading.verdict.verdict == "undecided" and [verdict.n for verdict in reading.single] == [
        0,
        12,
    ]

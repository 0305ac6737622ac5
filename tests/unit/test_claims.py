"""Verdicts on claims: what comes out, what could have come out otherwise, what a row says."""

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
    readings,
)
from rows import entries
from toys import claims_table

from scant.declare import families
from scant.errors import SettingError
from scant.verdict import claims, judging, selection, statistics, tables
from scant.verdict.anytime import least_t
from scant.verdict.examined import Cell, Reading

SLOPE = {"quantity": "game_slope", "along": "horizon", "comparison": "slope", "margin": 0.01}
FIRST = {"where": {"ids": "first"}}
FROM_TWO = {"kind": "rtopkf", "k": 2}


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
    assert (row["verdict"], row["n"]) == ("holds", 12)
    assert row["estimate"] == pytest.approx(0, abs=1e-7)


def test_planted_claims_get_their_verdicts():
    table = judged(
        true=AGAINST_ALL,
        false=AGAINST_ALL | {"comparison": "less"},
        rate=SLOPE | {"against": 2 / 3},
        steep=SLOPE | {"against": 0.5},
        level={"quantity": "game_regret", "against": 40.0 * 10_000 ** (2 / 3), "on": {"ids": "a"}},
    )
    assert table["verdict"].tolist() == ["holds", "fails", "holds", "fails", "undecided"]
    assert table.loc["rate", "estimate"] == pytest.approx(2 / 3)
    assert 12 < table.loc["level", "needed"] < math.inf and np.isnan(table.loc["true", "needed"])
    assert (table["n"] == 12).all() and (table["low"] <= table["estimate"]).all()
    assert table.loc["true", ["source", "experiment"]].tolist() == ["thesis, 3.3", "first"]


def test_what_is_computed_is_compared_exactly(monkeypatch):
    """One seed has it, and decides."""
    quantities = families.family("fixed-items").quantities
    one = {name: (of[of["seed"] == 0], about) for name, (of, about) in played(GAMES).items()}
    level = FIRST | {"against": 100.0}
    assert judged(traces=one, level=level).loc["level", "verdict"] == "undecided"
    computed = dataclasses.replace(quantities["game_regret"], certain=True)
    monkeypatch.setitem(quantities, "game_regret", computed)
    row = judged(traces=one, level=level).loc["level"]
    assert entries(row, "verdict test n") == ("holds", "exact", 1)


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
    [reading, *_] = readings(**AGAINST_ALL)
    assert len(reading.cells) == 2
    mean = np.mean([cell.differences.to_numpy() for cell in reading.cells], axis=0)
    assert reading.summary == statistics.judge(mean, statistics.claimed("greater"))
    assert readings(**AGAINST_ALL, on={"ids": "a"})[0].summary is None
    over = readings(**AGAINST_ALL, over="mean")[0]
    assert over.summary == over.verdict == reading.summary


def test_relative_margins_are_of_the_size_of_what_may_be_negative():
    traces = {
        name: (frame.assign(value=-frame["value"]), one)
        for name, (frame, one) in played(GAMES).items()
    }
    near = FIRST | {"against": FROM_TWO, "comparison": "close", "margin": {"relative": 0.4}}
    table = judged(traces=traces, close=near, far=near | {"margin": {"relative": 0.3}})
    assert table["verdict"].tolist() == ["holds", "fails"]


@pytest.mark.parametrize(
    ("seeds", "verdicts"),
    [(12, ["holds", "fails", "fails"]), (11, ["undecided"] * 3)],
)
def test_two_that_come_to_the_same_with_every_seed_are_alike(seeds, verdicts):
    frame, details = played(GAMES)["first"]
    same = frame[frame["seed"] < seeds].assign(value=frame["horizon"] * (1 + frame["seed"]))
    close, more = AGAINST_ALL | {"comparison": "close", "margin": 0.005}, AGAINST_ALL
    beyond = AGAINST_ALL | {"margin": 0.005}
    table = judged(traces={"first": (same, details)}, close=close, more=more, beyond=beyond)
    assert table["verdict"].tolist() == verdicts
    assert {*table["estimate"]} == {0.0} and {*table["mark"]} == {""}
    assert (table["test"] == "equal").all() == (seeds == 12)


def test_a_share_of_a_bound_is_exceeded_by_one_seed_at_one_horizon():
    share = {"quantity": "bound_share", "learner": {"kind": ["rtopkf", "ftpl"]}}
    share |= {"comparison": "exact"}
    row = judged(kept=share).loc["kept"]
    assert row["verdict"] == "holds" and 0.3 < row["estimate"] == row["low"] == row["tightness"] < 1
    traces = played(GAMES)
    frame, details = traces["first"]
    once = frame.eval("seed == 4 and horizon == 100 and learner == 'all' and stream == 'b'")
    exceeding = frame["value"].where(~once, 1.5 * frame["bound"])
    traces["first"] = frame.assign(value=exceeding), details
    row = judged(traces=traces, kept=share).loc["kept"]
    assert row["verdict"] == "fails" and row["estimate"] == pytest.approx(1.5)


def test_failed_runs_are_left_out_and_too_few_decide_nothing():
    traces = changed("learner == 'one' and seed > 0", np.nan)
    row = judged(traces=traces, one=AGAINST_ALL | FIRST).loc["one"]
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


SHARE = FIRST | {"quantity": "game_share", "against": 1.0, "comparison": "less", "row": "theorem"}


def test_a_cell_that_cannot_violate_its_bound_says_nothing(shares):
    shares(a=0.9, b=1.5)
    row = judged(one=SHARE).loc["one"]
    assert row["verdict"] == "holds" and row["deciding"] == "one on b"
    assert entries(row, "cells_holding cells_silent cells_total") == (1, 1, 2)
    assert row["says_from"] == 90_011 and row["tightness"] == pytest.approx(0.5, rel=0.01)
    shares(a=0.9, b=0.99)
    table = judged(one=SHARE, two=AGAINST_ALL)
    row = table.loc["one"]
    assert row["verdict"] == "says nothing here" and math.isnan(row["tightness"])
    # for the first cell, of which all seeds then say something
    assert row["says_from"] == 90_011
    assert row["note"] == "Even 0.99, the worst that could have been measured, is as claimed"
    assert table.loc["two", "estimate"] == judged(two=AGAINST_ALL).loc["two", "estimate"]
    examined = claims.examine(
        {"one": CLAIM | SHARE, "two": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES)
    )
    first = {name: one.readings[0].verdict for name, one in examined.items()}
    together = statistics.holm(first)
    assert together["two"] == statistics.holm({"two": first["two"]})["two"]  # it counts for nothing


def test_a_bound_from_below_is_compared_with_the_least(shares):
    shares(values=3.0, a=1.2, b=0.8)
    row = judged(one=SHARE | {"comparison": "greater"}).loc["one"]
    assert row["verdict"] == "holds" and row["cells_silent"] == 1 and row["deciding"] == "one on b"


@pytest.mark.parametrize(
    ("values", "comparison", "ceilings"),
    [(0.5, "less", {"a": 0.9, "b": 0.4}), (3.0, "greater", {"a": 0.8, "b": 1.1})],
)
def test_a_cell_says_something_if_a_single_seed_could_violate_its_bound(
    shares, values, comparison, ceilings
):
    shares(values=values, by_seed=0.5, **ceilings)
    row = judged(one=SHARE | {"comparison": comparison}).loc["one"]
    assert entries(row, "cells_holding cells_silent deciding") == (1, 1, "one on Game A")


def test_a_measured_violation_is_never_silenced(shares):
    shares(values=2.0, a=0.9, b=0.9)
    assert judged(one=SHARE).loc["one", "verdict"] == "fails"


def test_a_claim_that_its_control_passes_does_not_discriminate():
    turned = {"learner": {"kind": "ftpl"}, "against": {"kind": "rtopkf"}}
    controls = {
        "a": {"words": "RTop-kF from two", "learner": FROM_TWO},
        "b": {"words": "the other way round"} | turned,
        "c": {"words": "Random", "learner": {"kind": "random"}},
    }
    claimed = {name: AGAINST_ALL | {"control": one} for name, one in controls.items()}
    table = judged(**claimed)
    assert table["verdict"].tolist() == ["does not discriminate", "holds", "holds"]
    assert table["control_verdict"].tolist() == ["holds", "fails", ""]
    assert table.loc["a", "control"] == "RTop-kF from two"
    assert table.loc["c", "control"] == "Random (missing here: no learner with kind random)"
    two = judged(two=AGAINST_ALL | {"learner": FROM_TWO}).loc["two"]
    assert entries(table.loc["a"], "control_estimate control_low") == entries(two, "estimate low")
    untold = judged(false=claimed["a"] | {"comparison": "less"}).loc["false"]
    assert entries(untold, "verdict control_verdict") == ("fails", "fails")


def test_a_claim_of_parts_holds_if_all_of_them_do_and_fails_with_one():
    better = AGAINST_ALL
    worse = AGAINST_ALL | {"learner": {"kind": "ftpl"}, "against": FROM_TWO}
    table = judged(
        both={"cells": [better, {"against": FROM_TWO}]},
        one={"cells": [better, worse]},
        lacking={"cells": [better, {"learner": {"kind": "random"}, "against": 1.0}]},
    )
    assert table["verdict"].tolist() == ["holds", "differs", "not testable here"]
    assert table["cells_total"].tolist() == [4, 4, 0]
    assert table["cells_failing"].tolist() == [0, 2, 0]
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
    of_table = {"quantity": "table", "table": "observability", "cell": cell, "column": "share"}
    of_table["expected"] = 1.0
    frame = {"observability": pd.DataFrame([cell | {"share": 1.0}])}
    of_game = SLOPE | {"against": 2 / 3, "learner": {"kind": "rtopkf", "k": None}}
    two = CLAIM | {"comparison": "exact", "cells": [of_table, of_game]}
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
    assert row["refuted_by"] == f"a mean below {-1 - (row['high'] - row['estimate']):.3g}"
    close = AGAINST_ALL | {"comparison": "close", "margin": 3.0, "on": {"ids": "a"}}
    row = judged(two=close).loc["two"]
    half = row["high"] - row["estimate"]
    assert row["refuted_by"] == f"a mean below {-3 - half:.3g} or above {3 + half:.3g}"


def test_a_control_may_be_a_trivial_play(shares):
    shares(a=1.5, b=1.5)
    row = judged(one=SHARE | {"control": {"words": "the worst", "plays": "worst"}}).loc["one"]
    assert entries(row, "verdict control_verdict") == ("holds", "fails")
    assert row["control_estimate"] == pytest.approx(3)
    with pytest.raises(SettingError, match="play of game_share 'wrst': did you mean 'worst'"):
        judged(one=SHARE | {"control": {"words": "the worst", "plays": "wrst"}})


def test_a_part_may_refute_a_statement_and_never_confirm_it():
    """Without a learner, a part or enough places for a statement, a study can only say it fails."""
    named = AGAINST_ALL | FIRST | {"learner": {"kind": "rtopkf"}}
    absent = {"learner": {"kind": "random"}, "against": 1.0}
    lacking = {"each": {"each": [{"k": 2}, {"k": 3}]}, "cells": {"cells": [{}, absent]}}
    lacking |= {"places": {"places": 3}}
    apart = {"cells": [{"on": {"ids": "a"}}, {"on": {"ids": "b"}}], "places": 2}
    both = {"each": [{"k": None}, {"k": 2}], "places": 2}
    table = judged(both=named | both, apart=AGAINST_ALL | FIRST | apart)
    assert table["verdict"].tolist() == ["holds"] * 2
    table = judged(**{name: named | one for name, one in lacking.items()})
    assert table["verdict"].tolist() == ["not testable here"] * 3
    assert (table["readings_total"] == 0).all()
    missing = ("no learner with k 3, which the statement names", "no learner with kind random")
    missing += ("2 of the 3 places",)
    assert all(text in data for text, data in zip(missing, table["data"], strict=True))
    table = judged(**{name: named | one | {"comparison": "less"} for name, one in lacking.items()})
    assert table["verdict"].tolist() == ["fails"] * 3
    assert table["note"].str.contains("n part missing here").all()


def test_where_cells_differ_the_verdict_says_on_which_streams():
    differs = AGAINST_ALL | FIRST
    rows = {row: differs | {"row": row} for row in ("reproduction", "theorem")}
    table = judged(traces=changed(*B_IS_WORSE), **rows)
    assert table["verdict"].tolist() == ["differs", "fails"]  # a theorem has to hold in all cells
    assert set(table["by_cell"]) == {"holds on Game A; fails on b"}
    found = claims.examine({"one": CLAIM | differs}, planned(GAMES), changed(*B_IS_WORSE))
    [reading] = found["one"].readings
    sampled = [dataclasses.replace(cell, sample=cell.stream == "b") for cell in reading.cells]
    found["one"].readings[0] = dataclasses.replace(reading, cells=sampled)
    result = claims_table(found, planned(GAMES).study).loc[0, "by_cell"]
    assert result == "holds on Game A; on samples: fails on b"
    mean = judged(traces=changed(*B_IS_WORSE), mean=differs | {"over": "mean"}).loc["mean"]
    assert mean["verdict"] == "fails"


def test_the_cell_that_decides_is_shown_and_cells_are_counted_each_by_itself():
    split = AGAINST_ALL | FIRST
    table = judged(traces=changed(*B_IS_WORSE), split=split, none={"learner": {"kind": "hedge"}})
    row, counts = table.loc["split"], "cells_holding cells_failing cells_silent cells_total"
    assert (row["verdict"], row["deciding"]) == ("differs", "one minus all on b")
    assert row["estimate"] < 0 and row["high"] < 0
    assert entries(row, counts) == (1, 1, 0, 2)
    assert entries(table.loc["none"], counts) == (0, 0, 0, 0)
    holding = judged(split=split).loc["split"]
    assert holding["deciding"] == "one minus all on Game A" and holding["low"] > 0


def test_the_weakest_of_cells_that_hold_decides_and_the_strongest_of_those_that_fail():
    """By p-values, and only among equal ones by estimates."""

    def decides(outcome, *cells):
        undecided = statistics.judge([1.0], statistics.claimed("greater"))
        single = [
            dataclasses.replace(undecided, estimate=estimate, p_holds=p_holds, p_fails=p_fails)
            for estimate, p_holds, p_fails in cells
        ]
        cell = Cell("a", "one", "", pd.Series([1.0]), claim=CLAIM)
        reading = Reading("first", None, {}, [cell] * len(cells), single, undecided)
        return judging.deciding(reading, outcome)

    assert decides("holds", (9.0, 0.02, 1.0), (4.0, 0.001, 0.9), (5.0, 0.001, 1.0)) == 0
    assert decides("holds", (9.0, 0.001, 0.8), (4.0, 0.001, 1.0), (5.0, 0.001, 0.9)) == 1
    assert decides("fails", (-9.0, 1.0, 0.02), (4.0, 1.0, 0.3), (-5.0, 0.9, 0.001)) == 2


def test_families_are_corrected_each_by_itself_and_a_note_says_why_a_claim_is_undecided():
    traces = played(GAMES)
    ends = traces["first"][0].query("learner == 'one' and stream == 'a' and horizon == 10000")
    values = ends["value"]
    chance = CLAIM | FIRST | {"on": {"ids": "a"}}
    near = chance | {"against": values.mean() - 4.5 * values.std() / math.sqrt(12)}
    others = {f"null-{i}": chance | {"against": values.mean()} for i in range(4)}
    table = judged(alone=near | {"family": "own"}, among=near, **others)
    alone, among, null = (table.loc[name] for name in ("alone", "among", "null-0"))
    assert alone["verdict"] == "holds"
    assert among["verdict"] == "undecided" and among["readings_holding"] == 0
    assert alone["estimate"] == among["estimate"]
    assert among["note"].startswith("By itself it would hold; the correction for its family")
    assert "no number of seeds is known to be enough" in null["note"]
    for spread, near in ((0.3, True), (1, False)):  # from the margin; it takes (2.8 / spread)^2
        close = chance | {"against": values.mean() - spread * values.std()}
        note = judged(close=close | {"family": "own"}).loc["close", "note"]
        assert ("it is too near, for how much seeds differ" in note) is near
    traces = changed("learner == 'one' and seed > 0", np.nan)
    few = judged(traces=traces, few=chance | {"against": 0.0}).loc["few"]
    assert few["note"].startswith("1 seed allows no test")
    assert null["premise"] == ""
    assert judged(true=chance | {"against": 0.0}).loc["true", "premise"]


def test_a_slope_above_its_exponent_says_that_the_margin_decides():
    slope = SLOPE | FIRST | {"margin": 0.1, "on": {"ids": "a"}}
    exponents = {"within": 0.6, "below": 0.7, "amid": 2 / 3}
    table = judged(**{name: slope | {"against": one} for name, one in exponents.items()})
    assert table["verdict"].tolist() == ["holds"] * 3
    assert table.loc["amid", "low"] < 2 / 3 < table.loc["amid", "high"]
    local = "Local slopes, by power of ten: one on a 0.67, 0.67"
    assert table["note"].tolist() == [f"Within 0.1 of 0.6, above it. {local}", local, local]


def test_a_row_says_what_kind_it_is_in_whose_words_and_what_was_chosen():
    source = CLAIM["source"] | {"words": "so it is in general"}
    told = AGAINST_ALL | {"row": "reproduction", "chosen": "The longest horizon."}
    told["source"] = source
    table = judged(told=told, untold={"against": 5.0}, untestable={"learner": {"kind": "hedge"}})
    columns = "row words chosen quantity"
    assert entries(table.loc["told"], columns) == (
        *("reproduction", "so it is in general", "The longest horizon.", "difference in regret"),
    )
    assert entries(table.loc["untold"], columns) == ("extension", "", "", "regret")
    assert table.loc["untestable", "test"] == "" and table.loc["told", "test"] != ""
    assert table.columns[:10].tolist() == CONTRACT[1:] and table["tightness"].isna().all()


@pytest.mark.parametrize(("comparison", "tightness"), [("less", 0.8), ("greater", 1 / 0.4)])
def test_a_share_held_against_1_is_of_a_bound_in_a_theorem_check(comparison, tightness):
    claim = CLAIM | {"quantity": "table", "table": "observability", "cell": {}, "column": "share"}
    claim |= {"comparison": comparison, "against": 1.0}
    shares = {"observability": pd.DataFrame({"share": [0.4, 0.8, 0.6]})}
    made = {row: claim | {"row": row} for row in ("theorem", "extension")}
    found = judge_study(made, planned(GAMES), {}, tables=shares)["tightness"]
    assert found[0] == pytest.approx(tightness) and np.isnan(found[1])


def test_a_bound_on_a_mean_over_cells_is_compared_with_the_mean():
    bound = CLAIM | SHARE | {"where": CLAIM["where"]}
    [reading, *_] = readings(**bound)
    nearer = dataclasses.replace(reading.single[0], estimate=0.9)
    reading = dataclasses.replace(reading, single=[nearer, *reading.single[1:]])
    for over, tightness in (("mean", reading.verdict.estimate), ("all", 0.9)):
        claim = bound | {"over": over}
        of_mean = [dataclasses.replace(cell, claim=claim) for cell in reading.cells]
        examined = claims.Examined(claim, [dataclasses.replace(reading, cells=of_mean)])
        table = claims_table({"share": examined}, planned(GAMES).study)
        assert table.loc[0, "tightness"] == tightness


def test_a_quantity_that_several_families_have_is_one_thing():
    for kind, family in families.families().items():
        for name, quantity in family.quantities.items():
            assert selection.quantities()[name][kind] is quantity
    for name, of in selection.quantities().items():
        assert len({quantity.words for quantity in of.values()}) == 1, name
        assert len({(quantity.most, quantity.compared) for quantity in of.values()}) == 1, name


def test_a_claim_about_a_slope_that_there_is_not_says_why():
    traces = changed("learner == 'one' and horizon == 100 and stream == 'a'", -1)
    stated = SLOPE | FIRST | {"against": 2 / 3, "learner": {"ids": "one"}}
    row = judged(traces=traces, one=stated | {"on": {"ids": "a"}}).loc["one"]
    assert row["verdict"] == tables.UNTESTABLE
    assert "no slope: the mean regret of one on a is not above 0 at horizon 100" in row["data"]
    [reading] = readings(traces, **stated)
    assert [bool(cell.why) for cell in reading.cells] == [True, False]  # nor is the cell dropped
    assert reading.verdict.verdict == "undecided"
    assert [verdict.n for verdict in reading.single] == [0, 12]

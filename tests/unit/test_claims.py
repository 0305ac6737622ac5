"""Verdicts on claims in a study: which experiments and cells they are of, and what comes out of them."""

import dataclasses
import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.collections import PolyCollection
from toys import cells_table, claims_table

from scant.errors import DataError, SettingError
from scant.learning import families
from scant.learning.families import TUNING
from scant.online import quantities as online
from scant.present.traces import Played
from scant.study import settings as studies
from scant.study.plan import Plan
from scant.theory.bounds import impossible_floor
from scant.verdict import claims, judging, readings, selection, statistics, tables
from scant.verdict import drawings as drawing_claims
from scant.verdict.examined import Cell, Reading

ROOT = Path(__file__).parents[2]
NOISE = np.random.default_rng(3).normal(0, 1, 12)
HARDLY = 1e-7 * NOISE  # so that seeds differ in what would otherwise be equal, which t tests do not decide
ROUNDS = [100, 1000, 10000]
GAMES = {
    "study": "s",
    "games": {"a": {"title": "Game A", "stream": "flip", "loss": "dcg"}, "b": {"stream": "gauss", "loss": "dcg"}},
    "learners": {
        "one": {"kind": "rtopkf"}, "two": {"kind": "rtopkf", "k": 2}, "all": {"kind": "ftpl"},
        "noiseless": {"kind": "ftpl", "epsilon": math.inf},
    },
    "experiments": {
        "first": {
            "kind": "fixed-items", "games": ["a", "b"], "learners": ["one", "two", "all"], "seeds": 12, "rounds": ROUNDS
        },
        "second": {
            "kind": "fixed-items", "games": ["a"], "learners": ["one", "all"], "seeds": 12, "rounds": ROUNDS,
            "comparator": "horizon",
        },
    },
}  # fmt: skip
# Regret at the horizon T is a T^p; the seed's noise is shared by all learners but for a little of their own.
REGRETS = {"one": (40.0, 2 / 3), "two": (30.0, 2 / 3), "all": (20.0, 0.5), "noiseless": (20.0, 0.5)}
CLAIM = {
    "source": {"document": "thesis", "place": "3.3"}, "statement": "So it is.", "family": "items", "data": "games",
    "quantity": "game_regret", "where": {"kind": "fixed-items"}, "learner": {"kind": "rtopkf", "k": None},
    "comparison": "greater",
}  # fmt: skip
CONTRACT = [
    *("id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding", "readings_total"),
    "data",
]  # fmt: skip
AGAINST_ALL = {"against": {"kind": "ftpl"}}
FIXED = GAMES | {"testing": "fixed"}


def planned(config: dict) -> Plan:
    return Plan(*studies.load(config, ROOT / "config/datasets.yaml"))


def played(config: dict, regrets=REGRETS) -> dict:
    """Traces of every experiment on fixed items; those of the second have the first's regrets negated."""
    plan, found = planned(config), {}
    for name, experiment in plan.study["experiments"].items():
        rows = []
        for game in experiment["games"]:
            for place, learner in enumerate(experiment["learners"]):
                scale, power = regrets[learner]
                for seed in range(experiment["seeds"]):
                    for horizon in ROUNDS:
                        noise = 0.02 * NOISE[seed] + 0.001 * NOISE[seed - place]
                        regret = scale * horizon ** (power + HARDLY[seed - 1]) * (1 + noise)
                        rows.append(
                            {"experiment": name, "stream": game, "learner": learner, "seed": seed, "horizon": horizon}
                            | {"round": horizon, "value": regret, "best": 0.0, "best_at_horizon": 2 * regret}
                            | {"worst": 1000.0 * horizon, "k": 0}
                            | {"bound": 100.0 * horizon**power, "loss": "sum-loss", "gain": False, "game": game}
                            | {"items": 20}
                        )
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


def changed(where: str, change) -> dict:
    """The traces of GAMES; `change` is what the values of some rows of the first experiment are multiplied by."""
    traces = played(GAMES)
    frame, details = traces["first"]
    there = frame.eval(where)
    return traces | {"first": (frame.assign(value=frame["value"].where(~there, change * frame["value"])), details)}


B_IS_WORSE = "stream == 'b' and learner == 'all'", 20


def judge_study(made: dict, plan: Plan, traces: dict, *more, **settings) -> pd.DataFrame:
    return claims_table(claims.examine(made, plan, traces, *more, **settings), plan.study)


def cells(made: dict, plan: Plan, traces: dict) -> pd.DataFrame:
    return cells_table(claims.examine(made, plan, traces))


def judged(config: dict = GAMES, traces: dict | None = None, **stated) -> pd.DataFrame:
    """The verdicts on claims, each of what differs from CLAIM, by id."""
    traces = played(config) if traces is None else traces
    made = {name: CLAIM | one for name, one in stated.items()}
    return judge_study(made, planned(config), traces).set_index("id")


# --- verdicts


def test_a_slope_over_games_has_as_many_seeds_as_they_have():
    sizes = {f"items-{count}": count for count in (5, 10, 20, 40)}
    config = GAMES | {
        "games": {id: {"stream": "flip", "settings": {"items": m}, "loss": "dcg"} for id, m in sizes.items()},
        "experiments": {"first": GAMES["experiments"]["first"] | {"games": [*sizes]}},
    }
    frame, details = played(config)["first"]
    frame["items"], frame["game"] = frame["stream"].map(sizes), "flip"
    frame["value"] *= frame["items"] ** HARDLY[frame["seed"]]
    claim = {"quantity": "game_slope", "along": "items", "against": 1.0, "comparison": "slope"}
    row = judged(config, {"first": (frame, details)}, flat=claim).loc["flat"]
    assert (row["verdict"], row["n"]) == ("holds", 12) and row["estimate"] == pytest.approx(0, abs=1e-7)


def test_planted_claims_get_their_verdicts():
    table = judged(
        true={"against": {"kind": "ftpl"}},
        false={"against": {"kind": "ftpl"}, "comparison": "less"},
        rate={"quantity": "game_slope", "along": "horizon", "against": 2 / 3, "comparison": "slope", "margin": 0.01},
        steep={"quantity": "game_slope", "along": "horizon", "against": 0.5, "comparison": "slope", "margin": 0.01},
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
    row = judged(FIXED, traces, paired=AGAINST_ALL | {"on": {"ids": "a"}}).loc["paired"]
    ends = frame[(frame["stream"] == "a") & (frame["horizon"] == 10000)].pivot_table(
        index="seed", columns="learner", values="value"
    )
    difference = ends["one"] - ends["all"]
    assert row["estimate"] == pytest.approx(difference.mean())
    assert row["high"] - row["estimate"] == pytest.approx(2.200985 * difference.std() / math.sqrt(12))  # t, 11 df


def test_the_study_says_which_tests_judge():
    claim = {"one": CLAIM | AGAINST_ALL | {"on": {"ids": "a"}}}
    found = {
        testing: claims.examine(claim, planned(GAMES | {"testing": testing}), played(GAMES))["one"].readings[0].verdict
        for testing in ("anytime", "fixed")
    }
    assert {key: verdict.test for key, verdict in found.items()} == {"anytime": "anytime t", "fixed": "t"}
    assert found["anytime"].low < found["fixed"].low and found["anytime"].estimate == found["fixed"].estimate
    assert planned(GAMES).study["testing"] == "anytime"


def test_a_claim_about_several_streams_has_a_summary_of_its_own():
    reading = claims.examine({"one": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES))["one"].readings[0]
    assert len(reading.cells) == 2
    mean = np.mean([cell.differences.to_numpy() for cell in reading.cells], axis=0)
    assert reading.summary == statistics.judge(mean, "greater")
    single = claims.examine({"one": CLAIM | AGAINST_ALL | {"on": {"ids": "a"}}}, planned(GAMES), played(GAMES))
    assert single["one"].readings[0].summary is None
    over = claims.examine({"one": CLAIM | AGAINST_ALL | {"over": "mean"}}, planned(GAMES), played(GAMES))
    assert over["one"].readings[0].summary == over["one"].readings[0].verdict == reading.summary


def test_relative_margins_are_of_the_size_of_what_may_be_negative():
    traces = {name: (frame.assign(value=-frame["value"]), one) for name, (frame, one) in played(GAMES).items()}
    near = {"against": {"kind": "rtopkf", "k": 2}, "comparison": "close", "where": {"ids": "first"}}
    table = judged(traces=traces, close=near | {"margin": {"relative": 0.4}}, far=near | {"margin": {"relative": 0.3}})
    assert table["verdict"].to_dict() == {"close": "holds", "far": "fails"}
    nothing = {name: (frame.assign(value=0.0), one) for name, (frame, one) in played(GAMES).items()}
    assert judged(traces=nothing, close=near | {"margin": {"relative": 0.4}}).loc["close", "verdict"] == "undecided"


def test_a_share_of_a_bound_is_exceeded_by_one_seed_at_one_horizon():
    share = {"quantity": "bound_share", "learner": {"kind": ["rtopkf", "ftpl"]}, "comparison": "exact"}
    traces = played(GAMES)
    row = judged(traces=traces, kept=share).loc["kept"]
    assert row["verdict"] == "holds" and 0.3 < row["estimate"] == row["low"] == row["tightness"] < 1
    frame, details = traces["first"]
    once = (frame["seed"] == 4) & (frame["horizon"] == 100) & (frame["learner"] == "all") & (frame["stream"] == "b")
    traces["first"] = (frame.assign(value=frame["value"].where(~once, 1.5 * frame["bound"])), details)
    row = judged(traces=traces, kept=share).loc["kept"]
    assert row["verdict"] == "fails" and row["estimate"] == pytest.approx(1.5)


def test_failed_runs_are_left_out_and_too_few_decide_nothing():
    traces = changed("learner == 'one' and seed > 0", np.nan)
    row = judged(traces=traces, one=AGAINST_ALL | {"where": {"ids": "first"}}).loc["one"]
    assert row["n"] == 1 and row["verdict"] == "undecided"


# --- what could have come out otherwise


@pytest.fixture
def shares(monkeypatch):
    """Makes `game_share` half of a bound in every cell, with the ceiling that a test gives each stream.

    It is larger by `by_seed` with the last seed than with the first. The horizon from which on a ceiling below 1 would
    be 1 grows with it, and with the seed.
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

    declared = dataclasses.replace(selection.quantities()["game_share"]["fixed-items"], plays=("worst",))
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
    assert table.loc["one", "verdict"] == "says nothing here" and math.isnan(table.loc["one", "tightness"])
    assert table.loc["one", "says_from"] == 90_011  # for the first cell, of which all seeds then say something
    assert table.loc["one", "note"] == "Even 0.99, the worst that could have been measured, is as claimed"
    alone = judged(two=AGAINST_ALL)
    assert table.loc["two", "estimate"] == alone.loc["two", "estimate"]
    examined = claims.examine({"one": CLAIM | SHARE, "two": CLAIM | AGAINST_ALL}, planned(GAMES), played(GAMES))
    first = {name: one.readings[0].verdict for name, one in examined.items()}
    together = statistics.holm({"items": first})["items"]
    assert together["two"] == statistics.holm({"items": {"two": first["two"]}})["items"]["two"]  # it counts for nothing


def test_a_bound_from_below_is_compared_with_the_least(shares):
    shares(values=3.0, a=1.2, b=0.8)
    row = judged(one=SHARE | {"where": {"ids": "first"}, "comparison": "greater"}).loc["one"]
    assert row["verdict"] == "holds" and row["cells_silent"] == 1 and row["deciding"] == "one on b"


@pytest.mark.parametrize(
    ("values", "comparison", "ceilings"), [(0.5, "less", {"a": 0.9, "b": 0.4}), (3.0, "greater", {"a": 0.8, "b": 1.1})]
)
def test_a_cell_says_something_if_a_single_seed_could_violate_its_bound(shares, values, comparison, ceilings):
    shares(values=values, by_seed=0.5, **ceilings)
    row = judged(one=SHARE | {"where": {"ids": "first"}, "comparison": comparison}).loc["one"]
    assert row[["cells_holding", "cells_silent"]].tolist() == [1, 1] and row["deciding"] == "one on Game A"


def test_a_measured_violation_is_never_silenced(shares):
    shares(values=2.0, a=0.9, b=0.9)
    assert judged(one=SHARE | {"where": {"ids": "first"}}).loc["one", "verdict"] == "fails"


def test_a_claim_that_its_control_passes_does_not_discriminate():
    passes = {"control": {"words": "RTop-kF from two", "learner": {"kind": "rtopkf", "k": 2}}}
    fails = {"control": {"words": "the other way round", "learner": {"kind": "ftpl"}, "against": {"kind": "rtopkf"}}}
    absent = {"control": {"words": "Random", "learner": {"kind": "random"}}}
    table = judged(**{name: AGAINST_ALL | one for name, one in {"a": passes, "b": fails, "c": absent}.items()})
    assert table["verdict"].tolist() == ["does not discriminate", "holds", "holds"]
    assert table["control_verdict"].tolist() == ["holds", "fails", ""]
    assert table.loc["a", "control"] == "RTop-kF from two"
    assert table.loc["c", "control"] == "Random (missing here: no learner with kind random)"
    two = judged(two=AGAINST_ALL | {"learner": {"kind": "rtopkf", "k": 2}}).loc["two"]
    assert table.loc["a", ["control_estimate", "control_low"]].tolist() == two[["estimate", "low"]].tolist()
    untold = judged(false=AGAINST_ALL | {"comparison": "less"} | passes).loc["false"]
    assert untold[["verdict", "control_verdict"]].tolist() == ["fails", "fails"]


def test_a_claim_of_parts_holds_if_all_of_them_do_and_fails_with_one():
    better, worse = AGAINST_ALL, AGAINST_ALL | {"learner": {"kind": "ftpl"}, "against": {"kind": "rtopkf", "k": 2}}
    table = judged(
        both={"cells": [better, {"against": {"kind": "rtopkf", "k": 2}}]},
        one={"cells": [better, worse]},
        lacking={"cells": [better, {"learner": {"kind": "random"}, "against": 1.0}]},
    )
    assert table["verdict"].tolist() == ["holds", "fails", "holds"]
    assert table["cells_total"].tolist() == [4, 4, 2] and table["cells_failing"].tolist() == [0, 2, 0]
    assert table.loc["one", "deciding"].startswith("all minus two on ")
    assert table.loc["lacking", "note"] == "In part missing here: no learner with kind random."
    # The first readings of all parts are one; that of the second experiment, which has one part alone, is another.
    assert table["readings_total"].tolist() == [2, 2, 2]
    rows = cells({"one": CLAIM | {"cells": [better, worse]}}, planned(GAMES), played(GAMES))
    assert [tuple(row) for row in rows.loc[rows["first"], ["learner", "against"]].to_numpy()] == [
        ("one", "all"), ("one", "all"), ("all", "two"), ("all", "two"),
    ]  # fmt: skip


def test_parts_may_be_about_different_quantities_and_about_tables(tmp_path):
    cell = {"loss": "dcg", "feedback": "k"}
    of_table = {"quantity": "table", "table": "observability", "cell": cell, "column": "share", "expected": 1.0}
    frame = {"observability": pd.DataFrame([cell | {"share": 1.0}])}
    of_game = {"quantity": "game_slope", "along": "horizon", "against": 2 / 3, "comparison": "slope", "margin": 0.01}
    two = CLAIM | {"comparison": "exact", "cells": [of_table, of_game | {"learner": {"kind": "rtopkf", "k": None}}]}
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
    # Of the first experiment one reading on its own data and one on the other, of the second one on the other.
    assert table["readings_total"].tolist() == [3, 2]
    assert table["experiment"].tolist() == ["first", "first"]


def test_it_says_by_which_violation_it_would_have_been_refuted():
    row = judged(one=AGAINST_ALL | {"margin": -1.0, "on": {"ids": "a"}}).loc["one"]
    half = row["high"] - row["estimate"]
    assert row["refuted_by"] == f"a mean below {-1 - half:.3g}"
    row = judged(two=AGAINST_ALL | {"comparison": "close", "margin": 3.0, "on": {"ids": "a"}}).loc["two"]
    half = row["high"] - row["estimate"]
    assert row["refuted_by"] == f"a mean below {-3 - half:.3g} or above {3 + half:.3g}"


def test_a_violation_that_missing_seeds_could_overturn_would_not_have_been_refuted():
    """Ten shares near 0.9: what they may have missed, in 26 % of all seeds, could hide a mean far below 0.5."""
    values = pd.Series(0.9 + 0.001 * NOISE[:10])
    claim = CLAIM | {"quantity": "final", "against": 0.5}
    cell = Cell("a", "one", "", values - 0.5, within=(-0.5, 0.5), claim=claim)
    verdict = statistics.judge(values - 0.5, "greater", within=(-0.5, 0.5), share=False)
    reading = Reading("first", None, {}, [cell], [verdict], verdict)
    judged_so = dataclasses.replace(
        verdict, estimate=verdict.estimate + 0.5, low=verdict.low + 0.5, high=verdict.high + 0.5
    )
    odds = 0.05 ** (-1 / 10) - 1
    assert tables._refuted_by(reading, cell, judged_so) == f"a mean below {0.5 - odds * 0.5:.3g}"
    far = statistics.judge(values - 0.5 - odds * 0.5 - 0.41, "greater", within=(-0.5, 0.5), share=False)
    near = statistics.judge(values - 0.5 - odds * 0.5 - 0.39, "greater", within=(-0.5, 0.5), share=False)
    assert (far.verdict, near.verdict) == ("fails", "undecided")


def test_keys_of_a_group_are_those_of_its_claims(tmp_path):
    path, claim = tmp_path / "grouped.yaml", {key: CLAIM[key] for key in CLAIM if key not in ("source", "where")}
    group = {"source": {"document": "thesis", "place": "3.3"}, "where": {"kind": "fixed-items"}, "family": "items"}
    one = {"source": {"place": "3.4"}, "where": {"comparator": "horizon"}, "against": 1.0}
    path.write_text(yaml.safe_dump({"some": group | {"claims": {"one": claim | one, "two": claim | {"against": 2.0}}}}))
    stated = studies.claims(path)
    assert stated["one"]["source"] == {"document": "thesis", "place": "3.4"}
    assert stated["one"]["where"] == {"kind": "fixed-items", "comparator": "horizon"}
    assert stated["two"]["where"] == {"kind": "fixed-items"} and stated["two"]["against"] == 2.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": []}, "one.cells"),
        ({"cells": [{"statement": "Other."}]}, "one.cells.0"),
        ({"cells": [{}, {"quantity": "regrets"}]}, "one.cells.2.quantity"),
        ({"claims": {"two": 5}}, "one.claims.two"),
        ({"where": "here"}, "one.where"),
    ],
)
def test_what_cannot_be_put_together_is_refused(tmp_path, change, says):
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({"one": CLAIM | {"against": 1.0} | change}))
    with pytest.raises(SettingError, match=re.escape(says)):
        studies.claims(path)


def test_a_control_may_be_a_trivial_play(shares):
    shares(a=1.5, b=1.5)
    row = judged(one=SHARE | {"control": {"words": "the worst", "plays": "worst"}}).loc["one"]
    assert row[["verdict", "control_verdict"]].tolist() == ["holds", "fails"]
    assert row["control_estimate"] == pytest.approx(3)
    with pytest.raises(SettingError, match="play of game_share 'wrst': did you mean 'worst'"):
        judged(one=SHARE | {"control": {"words": "the worst", "plays": "wrst"}})


def test_each_learner_that_a_statement_names_has_to_be_played():
    named = AGAINST_ALL | {"learner": {"kind": "rtopkf"}, "each": [{"k": None}, {"k": 2}]}
    table = judged(both=named, lacking=named | {"each": [{"k": 2}, {"k": 3}]})
    assert table["verdict"].tolist() == ["holds", "not testable here"]
    assert "no learner with k 3, which the statement names" in table.loc["lacking", "data"]


def test_the_cell_that_decides_is_shown_and_cells_are_counted_each_by_itself():
    split = AGAINST_ALL | {"where": {"ids": "first"}}
    table = judged(traces=changed(*B_IS_WORSE), split=split, none={"learner": {"kind": "hedge"}})
    row, counts = table.loc["split"], ["cells_holding", "cells_failing", "cells_silent", "cells_total"]
    assert (row["verdict"], row["deciding"]) == ("fails", "one minus all on b")
    assert row["estimate"] < 0 and row["high"] < 0
    assert row[counts].tolist() == [1, 1, 0, 2] and table.loc["none", counts].tolist() == [0, 0, 0, 0]
    holding = judged(split=split).loc["split"]
    assert holding["deciding"] == "one minus all on Game A" and holding["low"] > 0


def test_the_weakest_of_cells_that_hold_decides_and_the_strongest_of_those_that_fail():
    """By p-values, and only among equal ones by estimates."""

    def decides(outcome, *cells):
        undecided = statistics.judge([1.0], "greater")
        single = [dataclasses.replace(undecided, estimate=estimate, p_holds=p_holds, p_fails=p_fails)
                  for estimate, p_holds, p_fails in cells]  # fmt: skip
        cell = Cell("a", "one", "", pd.Series([1.0]), claim=CLAIM)
        reading = Reading("first", None, {}, [cell] * len(cells), single, undecided)
        return judging.deciding(reading, outcome)

    assert decides("holds", (9.0, 0.02, 1.0), (4.0, 0.001, 0.9), (5.0, 0.001, 1.0)) == 0
    assert decides("holds", (9.0, 0.001, 0.8), (4.0, 0.001, 1.0), (5.0, 0.001, 0.9)) == 1
    assert decides("fails", (-9.0, 1.0, 0.02), (4.0, 1.0, 0.3), (-5.0, 0.9, 0.001)) == 2


def test_families_are_corrected_each_by_itself_and_a_note_says_why_a_claim_is_undecided():
    traces = played(GAMES)
    values = traces["first"][0].query("learner == 'one' and stream == 'a' and horizon == 10000")["value"]
    chance = CLAIM | {"on": {"ids": "a"}, "where": {"ids": "first"}}
    near = chance | {"against": values.mean() - 2.5 * values.std() / math.sqrt(12)}  # p = 0.015
    others = {f"null-{i}": chance | {"against": values.mean()} for i in range(4)}
    table = judged(FIXED, alone=near | {"family": "own"}, among=near, **others)
    assert table.loc["alone", "verdict"] == "holds"
    assert table.loc["among", "verdict"] == "undecided" and table.loc["among", "readings_holding"] == 0
    assert table.loc["alone", "estimate"] == table.loc["among", "estimate"]
    assert table.loc["among", "note"].startswith("By itself it would hold; the correction for its family")
    assert "no number of seeds is known to be enough" in table.loc["null-0", "note"]
    traces = changed("learner == 'one' and seed > 0", np.nan)
    assert judged(traces=traces, few=chance | {"against": 0.0}).loc["few", "note"].startswith("1 seed allows no test")
    assert table.loc["null-0", "premise"] == "" and judged(true=chance | {"against": 0.0}).loc["true", "premise"]


def test_a_slope_above_its_exponent_says_that_the_margin_decides():
    slope = {"quantity": "game_slope", "along": "horizon", "comparison": "slope", "where": {"ids": "first"}}
    table = judged(
        within=slope | {"against": 0.6, "margin": 0.1, "on": {"ids": "a"}},
        below=slope | {"against": 0.7, "margin": 0.1, "on": {"ids": "a"}},
        amid=slope | {"against": 2 / 3, "margin": 0.1, "on": {"ids": "a"}},
    )
    assert table["verdict"].tolist() == ["holds"] * 3 and table.loc["amid", "low"] < 2 / 3 < table.loc["amid", "high"]
    assert (
        table.loc["within", "note"] == "Within 0.1 of 0.6, above it. Local slopes, by power of ten: one on a 0.67, 0.67"
    )
    for name in ("below", "amid"):
        assert table.loc[name, "note"] == "Local slopes, by power of ten: one on a 0.67, 0.67"


# --- what a row says


def test_a_row_says_what_kind_it_is_in_whose_words_and_what_was_chosen():
    source = CLAIM["source"] | {"words": "so it is in general"}
    told = {"row": "reproduction", "chosen": "The longest horizon.", "source": source, "against": {"kind": "ftpl"}}
    table = judged(told=told, untold={"against": 5.0}, untestable={"learner": {"kind": "hedge"}})
    columns = ["row", "words", "chosen", "quantity", "test"]
    assert table.loc["told", columns[:4]].tolist() == [
        "reproduction", "so it is in general", "The longest horizon.", "difference in regret"
    ]  # fmt: skip
    assert table.loc["untold", columns[:4]].tolist() == ["extension", "", "", "regret"]
    assert table.loc["untestable", "test"] == "" and table.loc["told", "test"] != ""
    assert table.columns[:10].tolist() == CONTRACT[1:] and table["tightness"].isna().all()


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({}, "regret"),
        ({"quantity": "game_slope", "along": "items", "comparison": "slope", "against": 0.5}, "slope of regret"),
        ({"quantity": "final", "measure": "ap", "against": 1.0}, "AP"),
        ({"quantity": "final", "measure": "ranker_ndcg@10", "last": 0.1}, "NDCG@10 (own ranking, last rounds)"),
        ({"quantity": "ctr_gain", "against": {"kind": "forest"}}, "gain in CTR (%)"),
        ({"quantity": "table", "table": "table-3.1", "column": ["x", "y"], "comparison": "less", "against": {"k": 1}},
         "difference in x, y in the table table-3.1"),
    ],
)  # fmt: skip
def test_quantities_in_words(stated, words):
    assert tables._quantity_words(CLAIM | stated) == words


@pytest.mark.parametrize(("comparison", "tightness"), [("less", 0.8), ("greater", 1 / 0.4)])
def test_a_share_held_against_1_is_of_a_bound_in_a_theorem_check(comparison, tightness):
    claim = CLAIM | {"quantity": "table", "table": "observability", "cell": {}, "column": "share", "against": 1.0}
    claim |= {"comparison": comparison}
    shares = {"observability": pd.DataFrame({"share": [0.4, 0.8, 0.6]})}
    found = [
        judge_study({"one": claim | {"row": row}}, planned(GAMES), {}, tables=shares).loc[0, "tightness"]
        for row in ("theorem", "extension")
    ]
    assert found[0] == pytest.approx(tightness) and np.isnan(found[1])


def test_a_bound_on_a_mean_over_cells_is_compared_with_the_mean():
    bound = CLAIM | {"quantity": "game_share", "against": 1.0, "comparison": "less", "row": "theorem"}
    reading = claims.examine({"share": bound}, planned(GAMES), played(GAMES))["share"].readings[0]
    nearer = dataclasses.replace(reading.single[0], estimate=0.9)
    reading = dataclasses.replace(reading, single=[nearer, *reading.single[1:]])
    for over, tightness in (("mean", reading.verdict.estimate), ("all", 0.9)):
        of_mean = [dataclasses.replace(cell, claim=bound | {"over": over}) for cell in reading.cells]
        examined = {"share": claims.Examined(bound | {"over": over}, [dataclasses.replace(reading, cells=of_mean)])}
        assert claims_table(examined, planned(GAMES).study).loc[0, "tightness"] == tightness


def test_a_mean_over_streams_follows_the_cells_of_its_reading():
    one_stream = CLAIM | {"learner": {"kind": "rtopkf"}, "on": {"ids": "a"}} | AGAINST_ALL
    examined = claims.examine({"one": CLAIM | AGAINST_ALL, "other": one_stream}, planned(GAMES), played(GAMES))
    made = cells_table(examined)
    assert made.loc[made["claim"] == "one", "stream"].tolist() == ["a", "b", readings.OVERALL, "a"]
    assert readings.OVERALL not in set(made.loc[made["claim"] == "other", "stream"])  # of two learners
    of_one = made[made["claim"] == "one"]
    mean = of_one["estimate"].iloc[2]
    assert mean == pytest.approx(of_one["estimate"].iloc[:2].mean()) and of_one["low"].iloc[2] < mean
    figure = drawing_claims.specification(readings.specification(made, ["one"]))
    diamonds = [line.get_ydata().tolist() for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert diamonds == [[mean]]
    share = CLAIM | AGAINST_ALL | {"where": {"ids": "first"}, "comparison": "close", "margin": {"relative": 0.5}}
    made = cells({"share": share}, planned(GAMES), changed(*B_IS_WORSE))
    on_a, on_b, on_both = made[["from", "to"]].to_numpy()
    assert on_both == pytest.approx((on_a + on_b) / 2) and on_b[1] > 10 * on_a[1] > 0


# --- what a claim is of


@pytest.mark.parametrize(
    ("stated", "missing"),
    [
        ({"where": {"kind": "ads"}, "quantity": "ctr"}, "no experiment with kind ads"),
        ({"where": {"kind": "fixed-items", "rounds": 7}}, "no experiment with kind fixed-items and rounds 7"),
        ({"on": {"stream": ["zipf", "ties"]}}, "none of the games with stream zipf or ties"),
        ({"learner": {"kind": "hedge"}}, "no learner with kind hedge"),
        ({"against": {"kind": "ftpl", "epsilon": math.inf}}, "no learner with kind ftpl and epsilon inf"),
        ({"other": {"rounds": 7}}, "no experiment with rounds 7 to compare with"),
        ({"quantity": "game_slope", "along": "items"}, "no game_slope is known there"),
        ({"quantity": "table", "table": "variance", "cell": {}, "column": "k"}, "no experiment of kind top"),
    ],
)
def test_what_is_missing_is_said(stated, missing):
    row = judged(one=stated).loc["one"]
    assert row["verdict"] == tables.UNTESTABLE and row["readings_total"] == row["n"] == 0
    assert row["data"].startswith("games; missing here: ") and missing in row["data"]


@pytest.mark.parametrize(
    ("value", "wanted", "fits"),
    [
        (None, None, True), (3, None, False), (None, [None, 2], True), ("a", ["b", "a"], True), ("a", "ab", False),
        ([1, 2], [1, 2], False), ([1, 2], [[1, 2]], True), ({"x": 1, "y": 2}, {"x": 1}, True),
        ({"x": 1}, {"x": [2, 3]}, False), (None, {"x": 1}, False), ([1, 2], 1, False),
        ("a", {"not": "a"}, False), ("a", {"not": ["b", "c"]}, True), (None, {"not": ["b", "c"]}, True),
        (None, {"not": None}, False),
    ],
)  # fmt: skip
def test_selectors(value, wanted, fits):
    assert selection.fits(value, wanted) is fits


def test_settings_that_the_study_leaves_out_have_their_defaults():
    study = planned(GAMES).study | {
        "streams": {"s": {"generator": "linear", "settings": {"queries": 7}}, "d": {"dataset": "digits"}},
        "learners": {"slam": {"kind": "slam"}, "ap": {"kind": "slam", "measure": "ap"}, "own": {"kind": "mine:Own"},
                     "kl": {"kind": "rtop", "surrogate": "kl"}, "smooth": {"kind": "rtop", "surrogate": "smoothdcg"}},
    }  # fmt: skip

    def matching(section: str, **wanted) -> list[str]:
        return [name for name in study[section] if selection.chosen(study, section, name, wanted)]

    assert matching("learners", kind="slam", measure="ndcg@10") == ["slam"]
    assert matching("learners", kind="slam", measure=None) == ["slam"]  # null is for what is left out
    assert matching("learners", kind="slam", measure=["ap", "ndcg@10"]) == ["slam", "ap"]
    assert matching("learners", sign="negated") == ["smooth"]  # the sign does nothing for other surrogates
    assert matching("streams", settings={"queries": 7, "features": 50}) == ["s"]
    assert matching("streams", settings={"queries": 8}) == []
    assert matching("games", settings={"items": 20}) == ["a"] and matching("games", settings={"items": 10}) == ["b"]


def test_absent_settings_are_null_and_a_learner_is_not_compared_with_itself():
    found = claims.examine(
        {
            "top-1": CLAIM | {"against": {"kind": "rtopkf"}},
            "both": CLAIM | {"learner": {"kind": "rtopkf"}} | AGAINST_ALL,
        },
        planned(GAMES),
        played(GAMES),
    )
    pairs = {name: {(cell.learner, cell.against) for cell in one.readings[0].cells} for name, one in found.items()}
    assert pairs == {"top-1": {("one", "two")}, "both": {("one", "all"), ("two", "all")}}


# --- readings


def test_the_first_experiment_gives_the_verdict_and_all_are_counted():
    # The second's regret is against another comparator, which turns its sign, and of one game of the two.
    table = judged(true=AGAINST_ALL, same=AGAINST_ALL | {"on": {"ids": "a"}})
    row = table.loc["true"]
    assert row["verdict"] == "holds" and (row["readings_holding"], row["readings_total"]) == (1, 2)
    assert row["matters"] == "" and np.isnan(row["matters_share"])
    assert table.loc["same", "matters"] == "comparator" and table.loc["same", "matters_share"] == pytest.approx(1)
    assert row["data"] == "Game A; b"
    turned = GAMES | {"experiments": dict(reversed(GAMES["experiments"].items()))}
    row = judged(turned, true=AGAINST_ALL).loc["true"]
    assert row["verdict"] == "fails" and row["experiment"] == "second" and row["readings_holding"] == 1


def test_what_readings_matter_is_weighted_by_how_much_estimates_vary_within_a_cell():
    """Of two cells, one depends on `tuning` alone, and the other, a third as much, on `source`: 9 to 1."""
    both, made = [Cell("a", learner, "", pd.Series(dtype=float)) for learner in ("one", "two")], []
    for tuning, source in product((0, 1), repeat=2):
        single = [statistics.exact(value, 0, 10) for value in (7 + 3 * tuning, 5 + source)]
        made.append(Reading("first", None, {"tuning": tuning, "source": source}, both, single, single[0]))
    assert tables._matters(made) == pytest.approx({"tuning": 0.9, "source": 0.1})


def test_an_experiment_that_repeats_another_is_no_reading():
    again = GAMES["experiments"]["first"] | {"games": ["b"], "title": "for another figure"}
    config = GAMES | {"experiments": GAMES["experiments"] | {"again": again}}
    assert judged(config, true=AGAINST_ALL).loc["true", "readings_total"] == 2
    more = again | {"learners": ["one", "noiseless"]}  # another to compare with
    config = GAMES | {"experiments": GAMES["experiments"] | {"again": more}}
    assert judged(config, true=AGAINST_ALL).loc["true", "readings_total"] == 3


STREAMS = {
    "study": "s",
    "streams": {"linear": {"generator": "linear"}, "cornered": {"generator": "adversary", "settings": {"ratio": 9}}},
    "learners": {"slam": {"kind": "slam", "measure": "ndcg@10", "rates": [0.1, 1.0]}, "random": {"kind": "random"}},
    "experiments": {
        "e": {"streams": ["linear"], "learners": ["slam", "random"], "seeds": 12, "tuning_seeds": 2},
        "corner": {"streams": ["cornered"], "learners": ["slam", "random"], "tuning": "paper"},
    },
}


def runs(plan: Plan, experiment: str) -> list[tuple[str, str, int]]:
    """Place, learner and seed of each run of an experiment."""
    return [(*job.path.split("/")[1:-1], seed) for job in plan.jobs[experiment] for seed in job.seeds]


@pytest.fixture
def contextual():
    """Rate 1 is best on the seeds set aside, rate 0.1 on those that are reported."""
    plan, found = planned(STREAMS), {}
    study = plan.study
    for name in study["experiments"]:
        rows = []
        for stream, learner, seed in runs(plan, name):
            aside = seed >= TUNING
            for rate in (0.1, 1.0) if learner == "slam" else (1.0,):
                value = 0.5 + 0.01 * NOISE[seed % TUNING]
                better = 0.45 if (rate == 0.1) != aside else -0.4
                value += 0.0 if learner == "random" else better * (1 + HARDLY[seed % TUNING])
                generator, adversary = study["streams"][stream]["generator"], stream == "cornered"
                rows.append(
                    {"experiment": name, "stream": stream, "learner": learner, "kind": learner, "seed": seed}
                    | {"setting": str(rate), "rate": rate, "theory": int(rate == 0.1), "tuning_seed": aside}
                    | {"round": 8, "ndcg@10": value, "ndcg": value, "ap": value, "ranker_ndcg@10": value}
                    | {"loss": 8 * 0.3691 * (1 + rate if adversary else 1), "surrogate_loss": np.nan, "failed_in": 0}
                    | {
                        "bound": 2.0 if rate == 1.0 else 4.0,
                        "general_bound": 5.0,
                        "generator": generator,
                        "own_measure": "ap",
                    }
                )
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


FINAL = {"quantity": "final", "measure": "ndcg@10", "where": {"kind": "perceptron"}, "learner": {"kind": "slam"}}
LINEAR = {"on": {"generator": "linear"}, "against": {"kind": "random"}}


def test_both_ways_of_choosing_rates_are_readings(contextual):
    row = judged(STREAMS, contextual, tuned=FINAL | LINEAR).loc["tuned"]
    assert row["verdict"] == "fails" and row["estimate"] == pytest.approx(-0.4)  # as the experiment has it: held-out
    assert (row["readings_holding"], row["readings_total"], row["matters"]) == (1, 2, "tuning")
    assert (row["premise"], row["bets"]) == ("seeds near normal", "undecided") and row["bets_needed"] > row["n"]
    found = cells({"tuned": CLAIM | FINAL | LINEAR}, planned(STREAMS), contextual)
    assert found["tuning"].tolist() == ["held-out", "paper"] and found["first"].tolist() == [True, False]
    assert found["estimate"].to_list() == pytest.approx([-0.4, 0.45])


def test_a_note_says_that_seeds_not_drawn_may_overturn_what_these_say(contextual):
    # The mean is 0.1 from the margin, which is 1.3 from the end of the range.
    row = judged(STREAMS, contextual, one=FINAL | LINEAR | {"margin": -0.3}).loc["one"]
    assert row["verdict"] == "undecided" and row["high"] < -0.3 and row["premise"] == ""
    assert "one seed in 14 at the far end of the range; 4" in row["note"] and 40 < row["needed"] < row["bets_needed"]


def test_what_holds_in_several_cells_rests_on_the_premise_of_each():
    cells = [statistics.Verdict("holds", 0.5, 0.1, 0.9, 10, 0.001, 1.0, test) for test in ("betting", "anytime t")]
    reading = claims.Reading("e", None, {}, [], cells, cells[0])
    assert tables._premise(reading, cells[0], cells[0]) == "seeds near normal"
    failing = dataclasses.replace(cells[0], verdict="fails")  # for which one cell is enough
    assert tables._premise(reading, failing, failing) == ""
    assert tables._premise(reading, dataclasses.replace(cells[1], verdict="undecided"), cells[1]) == ""


def test_the_adversary_leaves_nothing_to_chance(contextual):
    corner = {"on": {"generator": "adversary"}, "learner": {"kind": "slam"}, "comparison": "exact"}
    table = judged(
        STREAMS, contextual,
        ahead=FINAL | {"on": {"generator": "adversary"}, "against": {"kind": "random"}},
        bound={"quantity": "bound_share", "where": {"kind": "perceptron"}} | corner,
        general={"quantity": "bound_share", "bound": "general_bound", "where": {"kind": "perceptron"}} | corner,
    )  # fmt: skip
    assert table["verdict"].to_dict() == {"ahead": "holds", "bound": "holds", "general": "holds"}
    assert table.loc["bound", "estimate"] == pytest.approx(8 * 0.3691 * 1.1 / 4)  # at theory's rate alone
    assert table.loc["general", "estimate"] == pytest.approx(8 * 0.3691 * 1.1 / 5)


@pytest.mark.parametrize("how", ["all", "mean"])
def test_seeds_that_draw_nothing_anew_are_one_observation(contextual, how):
    """Ten equal differences say no more than one."""
    claim = {"quantity": "final", "measure": "ndcg@10", "on": {"generator": "linear"}, "over": how}
    claim |= {"where": {"kind": "perceptron"}, "learner": {"kind": "slam"}, "against": {"kind": "ideal"}}
    config = STREAMS | {
        "streams": {"linear": {"generator": "linear", "shared": True}},
        "learners": STREAMS["learners"] | {"ideal": {"kind": "ideal"}},
        "experiments": {"e": STREAMS["experiments"]["e"] | {"learners": ["slam", "ideal", "random"]}},
    }
    frame, _ = contextual["e"]
    ideal = frame[frame["learner"] == "random"].assign(learner="ideal", kind="ideal")
    frame = pd.concat([frame, ideal], ignore_index=True)
    measures = ["ndcg@10", "ndcg", "ap", "ranker_ndcg@10"]
    frame[measures] = frame.groupby(["learner", "setting", "tuning_seed"])[measures].transform("first")

    def verdict(order, other):
        config["experiments"]["e"]["order"] = order
        traces = {"e": (frame, planned(config).details("e"))}
        made = {"c": CLAIM | claim | {"against": {"kind": other}}}
        reading = claims.examine(made, planned(config), traces)["c"].readings[0]
        assert reading.single[0].n == reading.verdict.n
        return reading.verdict.n, reading.verdict.test, reading.verdict.verdict

    assert verdict("as-is", "ideal") == (1, "nothing drawn", "undecided")
    for order, other in (("shuffled", "ideal"), ("as-is", "random")):  # whose noise is drawn anew
        assert verdict(order, other)[0] == 12 and verdict(order, other)[1] != "nothing drawn"


TOP = {
    "study": "s",
    "streams": {"linear": {"generator": "linear", "settings": {"queries": 20}}},
    "learners": {"kl": {"kind": "rtop", "surrogate": "kl"}, "smooth": {"kind": "rtop", "surrogate": "smoothdcg"}},
    "experiments": {
        "top": {"kind": "top", "streams": ["linear"], "learners": ["kl", "smooth"], "seeds": 8, "tuning_seeds": 0}
    },
}


def test_regret_is_against_the_best_fixed_weights():
    plan, rows, best = planned(TOP), [], []
    for (_, learner, seed), round_ in product(runs(plan, "top"), (10, 100, 300, 1000, 10000)):
        judge, own = ("kl", round_**0.6) if learner == "kl" else ("smoothdcg", 0.0)
        own *= (1 + 0.1 * NOISE[seed]) * round_ ** HARDLY[seed - 1]
        about = {"experiment": "top", "stream": "linear", "judge": judge, "seed": seed, "round": round_}
        rows.append(
            about | {"learner": learner, "kind": "rtop", "setting": "1", "tuning_seed": False, "failed_in": 0}
            | dict.fromkeys(("ndcg@10", "ndcg", "ap", "ranker_ndcg@10", "loss"), 0.5)
            | {"surrogate_loss": 7.0 * round_ + own, "bound": 500.0, "radius": 1.0}
        )  # fmt: skip
        if judge == "kl":
            best.append(about | {"best": 7.0 * round_, "gap": 0.0, "norm": 1.0, "at_zero": 9.0 * round_})
    played_top = {"top": (pd.DataFrame(rows), plan.details("top"))}
    kl = CLAIM | {"where": {"kind": "top"}, "learner": {"surrogate": "kl"}, "quantity": "regret"}
    slope = {"quantity": "regret_slope", "learner": {"kind": "rtop"}, "against": 2 / 3, "comparison": "slope"}
    made = {
        "rate": kl | slope,
        "smooth": kl | {"learner": {"surrogate": "smoothdcg"}, "against": 0.0},
        "share": kl | {"quantity": "regret_share", "against": 1.0, "comparison": "less"},
    }
    table = judge_study(made, plan, played_top, pd.DataFrame(best)).set_index("id")
    assert table.loc["rate", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(0.6)]
    assert table.loc["rate", "n"] == 8  # of kl alone: no fixed weights are known to be best for SmoothDCG
    regrets = 10000**0.6 * (1 + 0.1 * NOISE[:8])
    assert table.loc["share", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(regrets.mean() / 500)]
    assert table.loc["smooth", "verdict"] == tables.UNTESTABLE
    none = judge_study(made, plan, played_top)
    assert set(none["verdict"]) == {tables.UNTESTABLE}


# --- what is worked out from traces


def trace(learner, kind, seed, finals, stream="linear", **columns):
    """A run of 100 rounds whose time-averaged NDCG@10 is `finals[0]` after half of them, and `finals[1]` at the end."""
    rows = {"experiment": "e", "stream": stream, "learner": learner, "kind": kind, "seed": seed, "failed_in": 0}
    rows |= {"setting": "1", "tuning_seed": False, "own_measure": "ndcg@10", "round": [10, 50, 60, 100]}
    rows |= {"ndcg@10": [0.0, finals[0], 0.0, finals[1]], "updates": [10, 30, 30, 35]}
    rows |= dict.fromkeys(("ndcg", "ap", "ranker_ndcg@10", "loss", "surrogate_loss"), 0.5)
    return pd.DataFrame(rows | columns)


def contextual_of(*parts, comparators=None):
    return Played("e", "paper", pd.concat(parts, ignore_index=True), {"tuning": "paper"}, comparators)


def values_of(frame):
    return {key: row["value"] for key, row in frame.set_index(["learner", "seed"]).iterrows()}


def test_late_mistakes_are_updates_after_half_of_the_horizon():
    """30 updates in 50 rounds, and 35 in 100: that is 5 in the last 50."""
    played = contextual_of(trace("slam", "slam", 0, (0.6, 0.75)), trace("slam", "slam", 1, (0.5, 0.75), failed_in=70))
    assert values_of(online.late_mistakes(played)) == {("slam", 0): pytest.approx(5 / 50)}


def test_a_lead_is_a_share_of_listnets():
    """Random ends at 0.3 and 0.4, ListNet at 0.6 and 0.6, so that its mean lead is 0.25."""
    ends = {"kl": (0.5, 0.4), "random": (0.3, 0.4), "listnet": (0.6, 0.6), "listnet-2": (0.9, 0.9)}
    parts = [
        trace(learner, learner.partition("-")[0], seed, (0.0, final))
        for learner, finals in ends.items()
        for seed, final in enumerate(finals)
    ]
    shares = values_of(online.lead_share(contextual_of(*parts)))
    assert [shares["kl", seed] for seed in (0, 1)] == pytest.approx([0.8, 0.0])
    assert np.mean([shares["listnet", seed] for seed in (0, 1)]) == pytest.approx(1)
    assert shares["random", 0] == shares["random", 1] == 0
    without = [part.assign(stream="digits") for part in parts if part["learner"][0] != "random"]
    assert set(online.lead_share(contextual_of(*parts, *without))["stream"]) == {"linear"}


def test_the_floor_is_of_both_distributions():
    """Regrets of 0.4 and 0.2 in 100 rounds are 0.003 a round on average."""
    runs = [("a", "first", 0, 0.4), ("b", "second", 0, 0.2), ("c", "mixture", 0, 9.0), ("a", "first", 1, 0.4)]
    parts, best = [], []
    for stream, distribution, seed, regret in runs:
        about = {"judge": "ndcg-squared", "distribution": distribution, "surrogate_loss": 7.0 + regret, "bound": np.nan}
        parts.append(trace("kl", "rtop", seed, (0.5, 0.5), stream, **about))
        key = {"experiment": "e", "stream": stream, "judge": "ndcg-squared", "seed": seed, "round": 100}
        best.append(key | {"best": 7.0, "gap": 0.0, "norm": 1.0, "at_zero": 9.0})
    frame = online.floor_share(contextual_of(*parts, comparators=pd.DataFrame(best)))
    assert values_of(frame) == {("kl", 0): pytest.approx(0.003 / impossible_floor())}  # seed 1 lacks the second
    assert list(frame["stream"]) == ["a, b"] and impossible_floor() == pytest.approx(0.00244, abs=1e-5)
    other = [part.assign(judge="kl") for part in parts]
    assert online.floor_share(contextual_of(*other, comparators=pd.DataFrame(best))).empty


# --- ads

ADS = {
    "study": "s",
    "logs": {"digits": {"dataset": "digits"}},
    "learners": {"logistic": {"kind": "logistic"}, "ranker": {"kind": "auc-ranker"}, "uniform": {"kind": "uniform"}},
    "experiments": {
        name: {"kind": "ads", "logs": ["digits"], "learners": ["logistic", "ranker", "uniform"], "seeds": 10, **more}
        for name, more in {
            "unlike": {"select": 0.5, "epsilons": [0.0, 0.2]},
            "plain": {"epsilons": [0.0, 0.2]},
            "under": {"undersample": 2, "epsilons": [0.0, 0.2], "tuning": "paper"},
        }.items()
    },
}
CTR = {"quantity": "ctr", "where": {"kind": "ads"}, "learner": {"kind": "auc-ranker"}, "against": {"kind": "logistic"}}
WORTH = {"logistic": 0.4, "ranker": 0.5, "uniform": 0.1}


@pytest.fixture
def logged():
    plan, found = planned(ADS), {}
    for name in plan.study["experiments"]:
        rows = []
        for _, learner, seed in runs(plan, name):
            for epsilon in (0.0, 0.2):
                true = WORTH[learner] * (1 - 0.5 * epsilon) * (1 + 0.01 * NOISE[seed])
                true += 0.1 * (name == "under") + 0.7 * (name == "unlike")
                policy = {"experiment": name, "stream": "digits", "learner": learner, "kind": learner, "seed": seed}
                policy |= {"epsilon": epsilon, "lambda": 1.0, "fitted_on": "all", "chosen": True, "bound": ""}
                ips = {"estimator": "ips", "bound": "t", "estimate": (1.1 + HARDLY[seed]) * true}
                rows.append(policy | {"estimator": "true", "estimate": true, "lower": np.nan})
                rows.append(policy | ips | {"lower": true + 0.01 * (-1 if seed else 1)})
                rows.append(policy | ips | {"bound": "betting", "lower": 0.5 * true})
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


def test_every_epsilon_is_a_cell_compared_at_the_same(logged):
    found = claims.examine({"all": CLAIM | CTR, "one": CLAIM | CTR | {"epsilon": 0.2}}, planned(ADS), logged)
    assert [cell.learner for cell in found["all"].readings[0].cells] == ["ranker, epsilon 0", "ranker, epsilon 0.2"]
    (cell,) = found["one"].readings[0].cells
    np.testing.assert_allclose(cell.differences, 0.09 * (1 + 0.01 * NOISE[:10]))
    control = claims.examine({"one": CLAIM | CTR | {"against": {"kind": "uniform"}}}, planned(ADS), logged)
    assert len(control["one"].readings[0].cells) == 2  # one that knows no epsilon is compared with each


def test_the_fit_that_is_best_on_the_test_is_a_reading(logged):
    frame, details = logged["plain"]
    better = frame[frame["estimator"] == "true"].assign(chosen=False, fitted_on="part", estimator="full-information")
    better = better.assign(estimate=better["estimate"] + 0.5 * (better["learner"] == "logistic"))
    logged["plain"] = (pd.concat([frame, better], ignore_index=True), details)
    row = judged(ADS, logged, one=CTR | {"where": {"ids": "plain"}, "epsilon": 0.0, "margin": -0.4}).loc["one"]
    assert row["verdict"] == "holds" and (row["readings_holding"], row["readings_total"]) == (1, 2)
    assert row["matters"] == "tuning"


def test_gains_are_in_percent(logged):
    first = {"where": {"ids": "plain"}, "epsilon": 0.0}
    table = judged(ADS, logged, gain=CTR | first | {"quantity": "ctr_gain", "margin": 15})
    assert table.loc["gain", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(25)]


def test_bounds_are_judged_on_the_study_of_bounds():
    counted = {"policy": "deterministic", "rows": 2000, "side": "lower", "bound": "t", "repeats": 1000}
    rows = pd.DataFrame([counted | {"campaign": name, "covered": n} for name, n in (("bank", 990), ("hotel", 850))])
    claim = {key: CLAIM[key] for key in ("source", "statement", "family", "data")}
    claim |= {"quantity": "coverage", "bound": "t", "against": 0.95, "comparison": "greater", "margin": -0.02}
    made = {name: claim | {"on": {"campaign": on}} for name, on in (
        ("good", "bank"), ("bad", "hotel"), ("both", ["bank", "hotel"]), ("none", "shop")
    )}  # fmt: skip
    plan = planned(ADS)
    found = claims.examine(made, plan, {}, coverage=rows)
    table = claims_table(found, plan.study).set_index("id")
    assert table["verdict"].to_dict() == {
        "good": "holds", "bad": "fails", "both": "fails", "none": "not testable here"
    }  # fmt: skip
    assert table.loc["good", "estimate"] == pytest.approx(0.99) and table.loc["good", "n"] == 1000
    assert table.loc["bad", "data"] == "hotel, deterministic, 2,000 rows"
    assert table.loc["none", "data"].endswith("missing here: no bound t on campaign shop")
    shown = cells_table(found).set_index(["claim", "stream"])
    assert shown.loc[("good", "bank, deterministic, 2,000 rows"), ["from", "to"]].tolist() == [
        pytest.approx(0.93),
        math.inf,
    ]
    without = claims.examine({"good": made["good"]}, plan, {})
    assert without["good"].missing == "no study of bounds (coverage)"


def test_what_is_compared_with_a_number_is_shown_itself():
    table = judged(
        share={"quantity": "game_share", "on": {"ids": "a"}, "against": 1.0, "comparison": "less"},
        level={"on": {"ids": "a"}, "against": 1000.0, "where": {"ids": "first"}},
    )
    assert table.loc["share", "verdict"] == "holds" and 0.39 < table.loc["share", "estimate"] < 0.42
    made = {
        "level": CLAIM | {"on": {"ids": "a"}, "against": 1000.0, "comparison": "close", "margin": {"relative": 0.1}}
    }
    shown = cells(made, planned(GAMES), played(GAMES)).iloc[0]
    assert [shown["from"], shown["to"]] == [900, 1100] and shown["quantity"] == "regret"


def test_each_horizon_is_a_cell_of_a_share():
    made = {"share": CLAIM | {"quantity": "game_share", "on": {"ids": "a"}, "against": 1.0, "comparison": "less"}}
    found = claims.examine(made, planned(GAMES), played(GAMES))["share"].readings[0].cells
    assert [cell.stream for cell in found] == ["a, T = 100", "a, T = 1,000", "a, T = 10,000"]


def test_a_share_has_exact_tests():
    counted = {"policy": "deterministic", "rows": 2000, "side": "lower", "bound": "t", "repeats": 10}
    rows = pd.DataFrame([counted | {"campaign": name, "covered": n} for name, n in (("bank", 10), ("hotel", 6))])
    bound = {key: CLAIM[key] for key in ("source", "statement", "family", "data")}
    bound |= {"quantity": "coverage", "bound": "t", "against": 0.7, "comparison": "greater", "on": {"campaign": "bank"}}
    for testing, test, p in (("anytime", "anytime binomial", None), ("fixed", "binomial", 0.7**10)):
        plan = planned(ADS | {"testing": testing})
        reading = claims.examine({"one": bound}, plan, {}, coverage=rows)["one"].readings[0]
        assert (reading.verdict.test, reading.verdict.estimate) == (test, pytest.approx(1.0))
        assert p is None or reading.verdict.p_holds == pytest.approx(p)
        assert reading.cells[0].within == pytest.approx((-0.7, 0.3))
        assert reading.verdict.high == pytest.approx(1.0) and 0 < reading.verdict.low < 1
    several = bound | {"against": 0.3, "over": "mean", "on": {}}
    reading = claims.examine({"one": several}, plan, {}, coverage=rows)["one"].readings[0]
    assert reading.verdict.test == "betting" and reading.verdict.estimate == pytest.approx(0.8)
    with pytest.raises(SettingError, match="margin of a share is a number"):
        claims.examine({"one": bound | {"margin": {"relative": 0.1}}}, plan, {}, coverage=rows)


def test_a_learner_may_be_compared_with_itself_in_another_experiment(logged):
    under = {"quantity": "ctr", "where": {"kind": "ads", "undersample": 2, "tuning": "paper"}}
    same = under | {"other": {"undersample": None, "tuning": "held-out"}, "learner": {"kind": "auc-ranker"}}
    found = claims.examine({"one": CLAIM | same | {"epsilon": 0.0}}, planned(ADS), logged)
    (cell,) = found["one"].readings[0].cells
    assert cell.against == "ranker (plain)"  # not the one that has other features, too
    np.testing.assert_allclose(cell.differences, 0.1)
    across = claims.examine(
        {"one": CLAIM | same | {"against": {"kind": "logistic"}, "epsilon": 0.0}}, planned(ADS), logged
    )
    assert across["one"].readings[0].cells[0].against == "logistic (plain)"


# --- tables

TABLE = pd.DataFrame(
    {"measure": ["dcg", "dcg", "ndcg"], "k": [1, 2, 1], "rate": ["T^(2/3)", "T^(1/2)", "T"], "bias": [3.0, 2.0, 5.0],
     "variance": [4.0, 1.0, 6.0], "source": ["3.2: agrees", "3.3: agrees", "3.4: differs"]}
)  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        ({"cell": {"k": 1}, "column": "rate", "expected": ["T^(2/3)", "T"]}, "holds"),
        ({"cell": {"k": 1}, "column": "rate", "expected": "T"}, "fails"),
        ({"cell": {"measure": "dcg"}, "column": "source", "expected": "agrees"}, "holds"),
        ({"cell": {}, "column": "source", "expected": "agrees"}, "fails"),
        ({"cell": {"k": 2}, "column": ["bias", "variance"], "expected": [2, 1]}, "holds"),
        ({"cell": {"k": 2}, "column": ["bias", "variance"], "expected": [2.05, 1], "margin": 0.1}, "holds"),
        ({"cell": {"k": 2}, "column": ["bias", "variance"], "expected": [2.2, 1], "margin": 0.1}, "fails"),
        ({"cell": {"measure": "dcg", "k": 2}, "column": "bias", "against": {"k": 1}, "comparison": "less"}, "holds"),
        ({"cell": {"measure": "ndcg"}, "column": "bias", "against": {"measure": "dcg", "k": 1}, "comparison": "less"},
         "fails"),
        ({"cell": {"k": 2}, "column": "bias", "against": 1.9, "comparison": "close", "margin": {"relative": 0.1}},
         "holds"),
        ({"cell": {"measure": "dcg"}, "column": "bias", "against": 3.0, "comparison": "slope"}, "holds"),
        ({"cell": {"measure": "dcg"}, "column": "bias", "against": 2.9, "comparison": "slope"}, "fails"),
        ({"cell": {"measure": "dcg"}, "column": "bias", "against": 2.9, "comparison": "slope", "margin": 0.1}, "holds"),
    ],
)  # fmt: skip
def test_cells_of_tables(stated, verdict):
    claim = CLAIM | {"quantity": "table", "table": "observability", "comparison": "exact"} | stated
    table = judge_study({"one": claim}, planned(GAMES), {}, tables={"observability": TABLE})
    assert table.loc[0, "verdict"] == verdict and table.loc[0, "readings_total"] == 1


@pytest.mark.parametrize(
    ("comparison", "against", "estimate"),
    [("slope", 9.0, 5.0), ("greater", 1.0, 1.0), ("less", 1.0, 4.0), ("less", 9.0, -4.0), ("close", 3.0, 2.0)],
)
def test_of_several_entries_the_one_furthest_from_what_is_said_is_reported(comparison, against, estimate):
    claim = CLAIM | {"quantity": "table", "table": "observability", "cell": {}, "column": "bias", "margin": 0.5}
    claim |= {"comparison": comparison, "against": against}
    table = judge_study({"one": claim}, planned(GAMES), {}, tables={"observability": TABLE})
    assert table.loc[0, ["estimate", "n"]].tolist() == [estimate, 3]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"column": "rat"}, "claim one: unknown column of the table observability 'rat': did you mean 'rate'?"),
        ({"cell": {"k": 7}}, "no row with k 7"),
        ({"expected": ["T", "T", "T"]}, "not one value for each"),
        ({"table": "table-9"}, "unknown table"),
    ],
)
def test_defects_of_claims_about_tables(stated, said):
    claim = CLAIM | {"quantity": "table", "table": "observability", "cell": {"k": 1}, "column": "rate", "expected": "T"}
    with pytest.raises(SettingError, match=re.escape(said)):
        judge_study({"one": claim | stated}, planned(GAMES), {}, tables={"observability": TABLE})


def test_theorys_tables_are_computed_if_they_are_not_given():
    claim = CLAIM | {"quantity": "table", "table": "table-3.1", "comparison": "exact", "margin": 0.0}
    made = claim | {"cell": {"sigma": 1}, "column": "R1 = 000", "expected": 0}
    assert judge_study({"one": made}, planned(GAMES), {}).loc[0, "verdict"] == "holds"


# --- the file


def test_an_unknown_quantity_is_refused(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text((ROOT / "config/claims/ads.yaml").read_text().replace("quantity: ctr\n", "quantity: ctrr\n", 1))
    with pytest.raises(SettingError, match=r"ads-\S+\.quantity: unknown value 'ctrr': did you mean 'ctr'"):
        studies.claims(path, schema_path=ROOT / studies.CLAIMS_SCHEMA)


def test_claims_of_one_s_own_stand_beside_those_of_the_project(tmp_path):
    mine, of_project = tmp_path / "mine.yaml", studies.claims_files(planned(GAMES).study)
    own = {key: value for key, value in CLAIM.items() if key != "source"} | {"against": 5.0}
    source = {"title": "A study", "authors": "A. Author", "url": "https://example.org", "place": "Table 1"}
    mine.write_text(yaml.safe_dump({"mine": own | {"source": source}}))
    stated = studies.claims("config/claims/ads.yaml", mine)
    assert [*stated] == [*studies.claims("config/claims/ads.yaml"), "mine"]
    assert judged(mine=stated["mine"]).loc["mine", "source"] == "A study, Table 1"
    both = planned(GAMES | {"claims": ["config/claims", "mine.yaml"]})
    assert studies.claims_files(both.study) == [*of_project, "mine.yaml"]
    assert "config/claims/ads.yaml" in of_project
    assert studies.claims_files(planned(GAMES | {"claims": None}).study) == []
    with pytest.raises(SettingError, match=r"mine\.yaml: mine: another file of claims has this id"):
        studies.claims(mine, mine, schema_path=ROOT / studies.CLAIMS_SCHEMA)


def test_all_defects_of_a_file_of_claims_are_told_at_once(tmp_path):
    own = {key: value for key, value in CLAIM.items() if key != "source"} | {"against": 5.0}
    defects = {"a": {"source": {"place": "1"}}, "b": {"source": {"title": "A study"}}, "c": {"comparison": "greatr"}}
    whole = own | {"source": {"title": "A study", "place": "1"}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({name: whole | one for name, one in defects.items()}))
    with pytest.raises(SettingError) as caught:
        studies.claims(tmp_path / "mine.yaml", schema_path=ROOT / studies.CLAIMS_SCHEMA)
    _, *lines = str(caught.value).splitlines()
    assert len(lines) == 3 and "a.source" in lines[0] and "'place' is a required property" in lines[1]
    assert "did you mean 'greater'" in lines[2]


def test_a_quantity_that_several_families_have_is_one_thing():
    for kind, family in families.families().items():
        for name, quantity in family.quantities.items():
            assert selection.quantities()[name][kind] is quantity
    for name, of in selection.quantities().items():
        assert len({quantity.words for quantity in of.values()}) == 1, name
        assert len({(quantity.most, quantity.compared) for quantity in of.values()}) == 1, name


# --- quantities


def test_a_claim_about_a_slope_is_about_that_of_the_mean_regret():
    traces = changed("seed == 0 and learner == 'one' and horizon == 100", -1)
    stated = {"quantity": "game_slope", "against": 2 / 3, "comparison": "slope", "where": {"ids": "first"}}
    stated |= {"learner": {"ids": "one"}, "on": {"ids": "a"}}
    rows = traces["first"][0].query("learner == 'one' and stream == 'a'")
    mean = rows.groupby("horizon")["value"].mean()
    row = judged(traces=traces, one=stated).loc["one"]
    assert row["estimate"] == pytest.approx(np.polyfit(np.log(mean.index), np.log(mean), 1)[0])
    assert row["n"] == 12 and row["estimate"] > 2 / 3 + 0.01  # the seed that is ahead counts


def test_a_claim_about_a_slope_that_there_is_not_says_why():
    traces = changed("learner == 'one' and horizon == 100 and stream == 'a'", -1)
    stated = {"quantity": "game_slope", "against": 2 / 3, "comparison": "slope", "where": {"ids": "first"}}
    stated |= {"learner": {"ids": "one"}}
    row = judged(traces=traces, one=stated | {"on": {"ids": "a"}}).loc["one"]
    assert row["verdict"] == tables.UNTESTABLE
    assert "no slope: the mean regret of one on a is not above 0 at horizon 100" in row["data"]
    reading = claims.examine({"one": CLAIM | stated}, planned(GAMES), traces)["one"].readings[0]
    assert [bool(cell.why) for cell in reading.cells] == [True, False]  # nor is the cell dropped
    assert reading.verdict.verdict == "undecided" and [verdict.n for verdict in reading.single] == [0, 12]


# --- figures


def test_the_specification_of_claims():
    stated = {"near": CLAIM | AGAINST_ALL | {"margin": {"relative": 0.5}}, "far": CLAIM | {"against": 100.0}}
    frame = cells(stated | {"other": CLAIM | AGAINST_ALL | {"family": "else"}}, planned(GAMES), played(GAMES))
    assert len(frame) == 12 and set(frame["claim"]) == {"near", "far", "other"}
    shown = readings.specification(frame, ["far", "near"])
    assert shown["claim"].tolist() == ["far"] * 4 + ["near"] * 4  # two games, their mean, and one in the other reading
    for _, rows in shown.groupby("claim"):
        assert rows["estimate"].is_monotonic_increasing and rows["place"].tolist() == [0, 1, 2, 3]
    assert "comparator" in shown and "rounds" not in shown  # the same throughout
    others = played(GAMES)["first"][0].query("learner == 'all' and horizon == 10000 and stream == 'a'")["value"]
    near = shown[(shown["claim"] == "near") & shown["first"]]
    assert near["from"].to_list() == pytest.approx([0.5 * others.mean()] * 3) and np.isinf(near["to"]).all()
    none = readings.specification(frame, ["none"])
    assert none.empty and len(drawing_claims.specification(none).texts) == 1


def test_a_family_of_many_claims_has_several_figures():
    made = {f"c-{i}": CLAIM | AGAINST_ALL for i in range(23)} | {"own": CLAIM | {"family": "own"}}
    made |= {"absent": CLAIM | {"family": "absent", "learner": {"kind": "hedge"}}}
    bounds = {"quantity": "coverage", "bound": "t", "comparison": "greater", "against": 0.9, "family": "bounds"}
    made["bounds"] = {key: value for key, value in CLAIM.items() if key not in ("where", "learner")} | bounds
    figures = selection.figures(planned(GAMES), made)
    with_bounds = selection.figures(planned(GAMES | {"coverage": {"repeats": 40, "rows": [2000]}}), made)
    assert with_bounds == figures | {"bounds": ["bounds"]}
    assert {name: len(ids) for name, ids in figures.items()} == {"items": 8, "items-2": 7, "items-3": 8, "own": 1}
    assert [*figures["items"], *figures["items-2"], *figures["items-3"]] == [f"c-{i}" for i in range(23)]


def test_readings_are_read_as_they_were_written(tmp_path):
    stated = {"near": CLAIM | AGAINST_ALL | {"margin": {"relative": 0.5}}, "far": CLAIM | {"against": 100.0}}
    examined = claims.examine(stated, planned(GAMES), played(GAMES))
    study = planned(GAMES).study
    tables.write(tables.claim_rows(examined, study), tables.cell_rows(examined), "s", tmp_path / "claims")
    read, made = readings.read(tmp_path / "claims-readings.csv"), cells_table(examined)
    numbers = ["estimate", "low", "high", "n", "from", "to"]
    np.testing.assert_allclose(read[numbers].astype(float), made[numbers].astype(float), rtol=1e-15)
    others = [name for name in made if name not in numbers]
    assert {"statement", "row", "test"} <= {*others} and {*made["row"]} == {"extension"}
    assert read[others].equals(made[others].astype(object).fillna("").astype(read[others].dtypes))
    table = pd.read_parquet(tmp_path / "claims.parquet")
    assert table["id"].tolist() == ["near", "far"] and list(table.columns[:11]) == CONTRACT
    assert pd.read_csv(tmp_path / "claims.csv")["verdict"].tolist() == table["verdict"].tolist()
    lines = (tmp_path / "claims-readings.csv").read_text().splitlines(keepends=True)
    (tmp_path / "claims-readings.csv").write_text("".join(lines[:-1]))  # half a file, cut between two lines
    with pytest.raises(DataError, match="not the file of readings that was written"):
        readings.read(tmp_path / "claims-readings.csv")
    (tmp_path / "claims.csv").write_text("id,verdict\nnear,holds\n")
    with pytest.raises(DataError, match="not the table that was written"):
        tables.read_theory([tmp_path / "claims.csv"])
    (tmp_path / "claims.parquet").unlink()
    (tmp_path / "claims-readings.csv").write_text("claim,estimate\nnear,what\n")
    with pytest.raises(DataError, match="lacks the columns statement, family"):
        readings.read(tmp_path / "claims-readings.csv")


def test_claims_that_are_judged_apart_are_gathered_as_if_they_were_judged_at_once(tmp_path):
    stated = {
        "near": CLAIM | AGAINST_ALL | {"family": "one"}, "far": CLAIM | {"against": 100.0, "family": "two"},
        "third": CLAIM | {"family": "one", "learner": {"kind": "fpl-gumbel"}},
    }  # fmt: skip
    plan, traces = planned(GAMES), played(GAMES)
    for family in ("two", "one"):
        chosen = {name: claim for name, claim in stated.items() if claim["family"] == family}
        examined = claims.examine(chosen, plan, traces)
        tables.save(examined, plan.study, list(stated), tmp_path / f"{family}.json")
    whole = claims.examine(stated, plan, traces)
    found = tables.gathered([tmp_path / "two.json", tmp_path / "one.json"])
    for rows, folder in ((found, "apart"), ((tables.claim_rows(whole, plan.study), tables.cell_rows(whole)), "whole")):
        (tmp_path / folder).mkdir()
        tables.write(*rows, "s", tmp_path / folder / "claims")
    for file in ("claims.csv", "claims.tex", "claims.parquet", "claims-readings.csv"):
        assert (tmp_path / "apart" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    text = (tmp_path / "one.json").read_text()
    (tmp_path / "one.json").write_text(text.replace("near", "nigh"))
    with pytest.raises(DataError, match="whole file of judged claims"):
        tables.gathered([tmp_path / "one.json"])


def test_a_job_judges_whole_families_of_claims_on_the_experiments_that_they_can_be_read_in():
    plan = planned(yaml.safe_load((ROOT / "config/config.yaml").read_text()))
    stated = studies.claims(*studies.claims_files(plan.study))
    parts = selection.jobs(plan, stated)
    assert sorted(name for _, names in parts.values() for name in names) == sorted(stated)
    for family in {claim["family"] for claim in stated.values()}:
        assert sum(any(stated[name]["family"] == family for name in names) for _, names in parts.values()) == 1
    for part, (experiments, _) in parts.items():
        kinds = {plan.families[name].kind for name in experiments}
        assert part == ("-".join(sorted(kinds)) or "theory")
        assert experiments == [name for name in plan.played if plan.families[name].kind in kinds]


@pytest.fixture
def specified() -> pd.DataFrame:
    """The frame of a figure of two claims, each of three estimates."""
    stated = {"near": CLAIM | AGAINST_ALL, "far": CLAIM | {"against": 100.0, "statement": "It is far. " * 10}}
    found = cells(stated, planned(GAMES), played(GAMES))
    return readings.specification(found[found["stream"] != readings.OVERALL], [*stated])


def test_the_drawing_has_a_panel_for_each_claim_with_its_points_and_readings(specified):
    figure = drawing_claims.specification(specified)
    estimates, strip, far = figure.axes[:3]
    assert estimates.get_title(loc="left") == "So it is." and far.get_title(loc="left").count("\n") > 0
    assert estimates.get_ylabel() == "extension: difference in regret, claimed above 0; n = 12"
    drawn = {line.get_color(): line.get_ydata() for line in estimates.lines if line.get_marker() in ("o", "s")}
    rows = specified[specified["claim"] == "near"]
    for outcome, (colour, _, _) in drawing_claims.OUTCOMES.items():
        assert list(drawn.get(colour, [])) == list(rows[rows["verdict"] == outcome]["estimate"])
    assert [label.get_text() for label in strip.get_yticklabels()] == [
        "stream: a", "stream: b", "comparator: horizon", "comparator: prefix"
    ]  # fmt: skip
    np.testing.assert_array_equal(strip.lines[2].get_xdata(), rows.loc[rows["comparator"] == "horizon", "place"])
    (threshold,) = (line for line in estimates.lines if line.is_dashed())
    np.testing.assert_array_equal(threshold.get_ydata(), 0)
    (claimed,) = (shown for shown in estimates.collections if isinstance(shown, PolyCollection))
    (lower, upper) = claimed.get_paths()[0].get_extents().get_points()
    assert (*lower, *upper) == (-0.5, 0, 2.5, estimates.get_ylim()[1]), "above 0, up to the upper end, at all estimates"


def test_one_estimate_far_off_does_not_flatten_the_others(specified):
    rows = specified[specified["claim"] == "near"].assign(estimate=[1.0, 2.0, 1000.0])
    rows = rows.assign(low=rows["estimate"] - 0.5, high=rows["estimate"] + 0.5)
    axis = drawing_claims.specification(rows).axes[0]
    assert axis.get_yscale() == "symlog"
    places = axis.transAxes.inverted().transform(axis.transData.transform([(0, 1.0), (0, 2.0), (0, 1000.0)]))[:, 1]
    assert (np.diff(places) > 0.05).all() and places[-1] < 1
    assert set(axis.get_yticks()) == {0, 10, 1000}
    axis = drawing_claims.specification(rows.assign(estimate=[1.0, 2.0, 10.0], low=0.5, high=11.0)).axes[0]
    assert axis.get_yscale() == "linear"


def test_a_figure_of_claims_fits_a_page(specified):
    levels = pd.DataFrame([{f"reading-{i}": f"level-{(at + i) % (3 + i)}" for i in range(9)} for at in range(30)])
    rows = pd.concat([specified[specified["claim"] == "near"]] * 10, ignore_index=True).assign(place=range(30))
    rows = pd.concat([rows, levels], axis=1)
    several = pd.concat([rows.assign(claim=f"c-{i}") for i in range(selection.MOST)], ignore_index=True)
    figure = drawing_claims.specification(several)
    width, height = figure.get_size_inches()
    assert width == pytest.approx(7.0) and height <= 9.7 and len(figure.axes) == 2 * selection.MOST
    names = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    subtitle = figure.axes[0].get_ylabel().replace("\n", " ")
    assert names[:2] == ["stream: a", "stream: b"] and "more readings in the CSV file" in subtitle
    whole = {name for name in names if name.startswith("reading-0")}
    assert len(whole) in (0, 3)  # a column of the frame is there with all its levels, or not at all


def test_settings_that_some_estimates_do_not_have_get_no_row():
    rows = pd.DataFrame({"epsilon": ["", "0.1", "0.2"]}).assign(**dict.fromkeys(drawing_claims.CELLS, "x"))
    assert list(drawing_claims._strip(rows)) == ["epsilon: 0.1", "epsilon: 0.2"]


def test_lists_of_levels_are_named_by_their_ends_where_these_differ():
    rows = pd.DataFrame({"rounds": ["[1, 2, 3]", "[1, 2, 4]", "7"]}).assign(**dict.fromkeys(drawing_claims.CELLS, "x"))
    assert list(drawing_claims._strip(rows)) == ["rounds: 7", "rounds: 1 to 3", "rounds: 1 to 4"]
    rows["rounds"] = ["[1, 2, 3]", "[1, 3, 3]", "7"]
    assert list(drawing_claims._strip(rows)) == ["rounds: 7", "rounds: [1, 2, 3]", "rounds: [1, 3, 3]"]


@pytest.mark.parametrize(
    "stated, within",
    [
        ({}, (-1, 1)),
        ({"against": 0.9}, (-0.9, 0.1)),
        ({"against": 0.9, "comparison": "slope"}, (0, 1)),
        ({"margin": {"relative": -0.05}}, (-1, 1)),
        ({"measure": "loss"}, None),
        ({"measure": "loss", "against": 3.0}, None),
        ({"measure": "ap", "comparison": "close", "margin": 0.1}, (-1, 1)),
        ({"measure": "ranker_ndcg@10", "comparison": "close", "margin": 0.1}, (-1, 1)),
        ({"quantity": "late_mistakes", "against": 2.0}, None),
    ],
)
def test_the_range_of_differences_is_known_of_measures_up_to_1(contextual, stated, within):
    frame, details = contextual["e"]
    contextual["e"] = (frame.assign(updates=0.0, own_measure="ndcg@10"), details)
    made = {"one": CLAIM | FINAL | LINEAR | stated}
    made["one"] = {key: value for key, value in made["one"].items() if key != "measure" or "quantity" not in stated}
    (cell, *_) = claims.examine(made, planned(STREAMS), contextual)["one"].readings[0].cells
    assert cell.within == (within and pytest.approx(within)) and not cell.share


def test_equal_seeds_are_judged_by_bets_within_the_range(contextual):
    frame, details = contextual["e"]
    alike = frame.assign(**{"ndcg@10": np.where(frame["learner"] == "slam", 0.6, 0.5)})
    reading = claims.examine(
        {"one": CLAIM | FINAL | LINEAR | {"over": "mean"}}, planned(STREAMS), {"e": (alike, details)}
    )["one"].readings[0]
    assert reading.verdict.test == "betting" and reading.verdict.verdict == "undecided"
    assert reading.single[0].test == "betting" and math.isfinite(reading.verdict.needed)

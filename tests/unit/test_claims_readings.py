"""Which experiments, cells and seeds a claim is judged by, in every family."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import yaml
from claimed import (
    AGAINST_ALL,
    CLAIM,
    GAMES,
    HARDLY,
    NOISE,
    cells,
    judge_study,
    judged,
    planned,
    played,
)
from toys import cells_table, claims_table

from scant.declare.declarations import TUNING
from scant.present.traces import Played
from scant.rankers import quantities as online
from scant.study.plan import Plan
from scant.theory.bounds import impossible_floor
from scant.verdict import claims, selection, statistics, tables
from scant.verdict.examined import Cell, Reading


@pytest.mark.parametrize(
    ("stated", "missing"),
    yaml.safe_load("""
- ['{where: {kind: ads}, quantity: ctr}', no experiment with kind ads]
- ['{where: {kind: fixed-items, rounds: 7}}', no experiment with kind fixed-items and rounds 7]
- ['{"on": {stream: [zipf, ties]}}', none of the games with stream zipf or ties]
- ['{learner: {kind: hedge}}', no learner with kind hedge]
- ['{against: {kind: ftpl, epsilon: .inf}}', no learner with kind ftpl and epsilon inf]
- ['{other: {rounds: 7}}', no experiment with rounds 7 to compare with]
- ['{quantity: game_slope, along: items}', no game_slope is known there]
- ['{quantity: table, table: variance, cell: {}, column: k}', no experiment of kind top]
"""),
)
def test_what_is_missing_is_said(stated, missing):
    row = judged(one=yaml.safe_load(stated)).loc["one"]
    assert row["verdict"] == tables.UNTESTABLE and row["readings_total"] == row["n"] == 0
    assert row["data"].startswith("games; missing here: ") and missing in row["data"]


@pytest.mark.parametrize(
    ("wanted", "fitting", "other"),
    yaml.safe_load("""
[['null', [null], [3]], ['[null, 2]', [null, 2], [3]], ['[b, a]', [a], [ab]], [ab, [ab], [a]],
 ['[1, 2]', [1], [[1, 2]]], ['[[1, 2]]', [[1, 2]], [1]], ['{x: 1}', [{x: 1, y: 2}], [null, {x: 2}]],
 ['{x: [2, 3]}', [{x: 2}], [{x: 1}]], ['{not: a}', [b], [a]], ['{not: [b, c]}', [a, null], [b]],
 ['{not: null}', [1], [null]]]
"""),
)
def test_selectors(wanted, fitting, other):
    wanted = yaml.safe_load(wanted)
    assert all(selection.fits(value, wanted) for value in fitting)
    assert not any(selection.fits(value, wanted) for value in other)


def test_settings_that_the_study_leaves_out_have_their_defaults():
    study = planned(GAMES).study | yaml.safe_load("""
streams: {s: {generator: linear, settings: {queries: 7}}, d: {dataset: digits}}
learners:
  slam: {kind: slam}
  ap: {kind: slam, measure: ap}
  own: {kind: mine:Own}
  kl: {kind: rtop, surrogate: kl}
  smooth: {kind: rtop, surrogate: smoothdcg}
""")

    def matching(section: str, **wanted) -> list[str]:
        return [name for name in study[section] if selection.chosen(study, section, name, wanted)]

    assert matching("learners", kind="slam", measure="ndcg@10") == ["slam"]
    # null is for what is left out
    assert matching("learners", kind="slam", measure=None) == ["slam"]
    assert matching("learners", kind="slam", measure=["ap", "ndcg@10"]) == ["slam", "ap"]
    # the sign does nothing for other surrogates
    assert matching("learners", sign="negated") == ["smooth"]
    assert matching("streams", settings={"queries": 7, "features": 50}) == ["s"]
    assert matching("streams", settings={"queries": 8}) == []
    assert matching("games", settings={"items": 20}) == ["a"]
    assert matching("games", settings={"items": 10}) == ["b"]


def test_absent_settings_are_null_and_a_learner_is_not_compared_with_itself():
    made = {"top-1": CLAIM | {"against": {"kind": "rtopkf"}}}
    made["both"] = CLAIM | {"learner": {"kind": "rtopkf"}} | AGAINST_ALL
    pairs = {
        name: {(cell.learner, cell.against) for cell in one.readings[0].cells}
        for name, one in claims.examine(made, planned(GAMES), played(GAMES)).items()
    }
    assert pairs == {"top-1": {("one", "two")}, "both": {("one", "all"), ("two", "all")}}


def test_the_first_experiment_gives_the_verdict_and_all_are_counted():
    # The second's regret is against another comparator, which turns its sign, and of one game of
    # the two.
    table = judged(true=AGAINST_ALL, same=AGAINST_ALL | {"on": {"ids": "a"}})
    row = table.loc["true"]
    assert row["verdict"] == "holds" and (row["readings_holding"], row["readings_total"]) == (1, 2)
    assert row["matters"] == "" and np.isnan(row["matters_share"])
    assert row["data"] == "Game A; b"
    row = table.loc["same"]
    assert (row["matters"], row["matters_share"]) == ("comparator", pytest.approx(1))
    turned = GAMES | {"experiments": dict(reversed(GAMES["experiments"].items()))}
    row = judged(turned, true=AGAINST_ALL).loc["true"]
    assert row["verdict"] == "fails" and row["experiment"] == "second"
    assert row["readings_holding"] == 1


def test_what_readings_matter_is_weighted_by_how_much_estimates_vary_within_a_cell():
    """Of two cells one depends on `tuning` alone, the other, a third, on `source`: 9 to 1."""
    both, made = [Cell("a", learner, "", pd.Series(dtype=float)) for learner in ("one", "two")], []
    for tuning, source in product((0, 1), repeat=2):
        single = [statistics.exact(value, 0, 10) for value in (7 + 3 * tuning, 5 + source)]
        made.append(
            Reading("first", None, {"tuning": tuning, "source": source}, both, single, single[0])
        )
    assert tables._matters(made) == pytest.approx({"tuning": 0.9, "source": 0.1})


def test_an_experiment_that_repeats_another_is_no_reading():
    again = GAMES["experiments"]["first"] | {"games": ["b"], "title": "for another figure"}
    config = GAMES | {"experiments": GAMES["experiments"] | {"again": again}}
    assert judged(config, true=AGAINST_ALL).loc["true", "readings_total"] == 2
    more = again | {"learners": ["one", "noiseless"]}  # another to compare with
    config = GAMES | {"experiments": GAMES["experiments"] | {"again": more}}
    assert judged(config, true=AGAINST_ALL).loc["true", "readings_total"] == 3


STREAMS = yaml.safe_load("""
study: s
streams:
  linear: {generator: linear}
  cornered: {generator: adversary, settings: {ratio: 9}}
learners:
  slam: {kind: slam, measure: ndcg@10, rates: [0.1, 1.0]}
  random: {kind: random}
experiments:
  e: {streams: [linear], learners: [slam, random], seeds: 12, tuning_seeds: 2}
  corner: {streams: [cornered], learners: [slam, random], tuning: paper}
""")


def runs(plan: Plan, experiment: str) -> list[tuple[str, str, int]]:
    """Place, learner and seed of each run of an experiment."""
    return [
        (*job.path.split("/")[1:-1], seed) for job in plan.jobs[experiment] for seed in job.seeds
    ]


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
                one = {"experiment": name, "stream": stream, "learner": learner, "seed": seed}
                one |= {"kind": learner, "setting": str(rate), "rate": rate, "tuning_seed": aside}
                one |= dict.fromkeys(("ndcg@10", "ndcg", "ap", "ranker_ndcg@10"), value)
                one |= {"theory": int(rate == 0.1), "bound": 2.0 if rate == 1.0 else 4.0}
                one |= {"loss": 8 * 0.3691 * (1 + rate * adversary), "generator": generator}
                one |= {"surrogate_loss": np.nan, "general_bound": 5.0, "failed_in": 0}
                rows.append(one | {"round": 8, "updates": 8, "own_measure": "ap"})
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


FINAL = yaml.safe_load(
    "{quantity: final, measure: ndcg@10, where: {kind: perceptron}, learner: {kind: slam}}"
)
LINEAR = {"on": {"generator": "linear"}, "against": {"kind": "random"}}
SHARE = yaml.safe_load(
    """{quantity: bound_share, where: {kind: perceptron}, "on": {generator: adversary},
    learner: {kind: slam}, comparison: exact}"""
)


def test_both_ways_of_choosing_rates_are_readings(contextual):
    row = judged(STREAMS, contextual, tuned=FINAL | LINEAR).loc["tuned"]
    # as the experiment has it: held-out
    assert row["verdict"] == "fails" and row["estimate"] == pytest.approx(-0.4)
    assert (row["readings_holding"], row["readings_total"], row["matters"]) == (1, 2, "tuning")
    assert (row["premise"], row["agreeing"], row["n"]) == ("seeds near normal", 12, 12)
    found = cells({"tuned": CLAIM | FINAL | LINEAR}, planned(STREAMS), contextual)
    assert found["tuning"].tolist() == ["held-out", "paper"]
    assert found["first"].tolist() == [True, False]
    assert found["estimate"].to_list() == pytest.approx([-0.4, 0.45])


def test_a_verdict_is_marked_where_seeds_that_were_missed_could_not_overturn_it(contextual):
    # 0.1 and 0.4 from the margin, 1.3 and 1 from the end
    near, far = FINAL | LINEAR | {"margin": -0.3}, FINAL | LINEAR
    table = judged(STREAMS, contextual, near=near, far=far)
    assert table["verdict"].tolist() == ["fails", "fails"]
    assert table["premise"].tolist() == ["seeds near normal"] * 2
    assert table["tipping"].tolist() == pytest.approx([0.1 / 1.4, 0.4 / 1.4], rel=1e-3)
    assert table["mark"].tolist() == ["", "whatever seeds are like"]  # (1 - 0.4 / 1.4)^12 = 0.02


def test_the_adversary_leaves_nothing_to_chance(contextual):
    general = SHARE | {"bound": "general_bound"}
    ahead = FINAL | {"on": {"generator": "adversary"}, "against": {"kind": "random"}}
    table = judged(STREAMS, contextual, ahead=ahead, bound=SHARE, general=general)
    assert table["verdict"].to_dict() == dict.fromkeys(("ahead", "bound", "general"), "holds")
    # at theory's rate alone
    assert table.loc["bound", "estimate"] == pytest.approx(8 * 0.3691 * 1.1 / 4)
    assert table.loc["general", "estimate"] == pytest.approx(8 * 0.3691 * 1.1 / 5)
    # Next to twice the updates, which is what weights 0 give.
    near_0 = {
        name: (frame.assign(general_bound=15.9), details)
        for name, (frame, details) in contextual.items()
    }
    assert judged(STREAMS, near_0, general=general).loc["general", "verdict"] == "says nothing here"


@pytest.mark.parametrize("how", ["all", "mean"])
def test_seeds_that_draw_nothing_anew_are_one_observation(contextual, how):
    """Ten equal differences say no more than one."""
    claim = FINAL | {"on": {"generator": "linear"}, "over": how}
    config = STREAMS | {
        "streams": {"linear": {"generator": "linear", "shared": True}},
        "learners": STREAMS["learners"] | {"ideal": {"kind": "ideal"}},
        "experiments": {
            "e": STREAMS["experiments"]["e"] | {"learners": ["slam", "ideal", "random"]}
        },
    }
    frame, _ = contextual["e"]
    ideal = frame[frame["learner"] == "random"].assign(learner="ideal", kind="ideal")
    frame = pd.concat([frame, ideal], ignore_index=True)
    measures = ["ndcg@10", "ndcg", "ap", "ranker_ndcg@10"]
    frame[measures] = frame.groupby(["learner", "setting", "tuning_seed"])[measures].transform(
        "first"
    )

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


TOP = yaml.safe_load("""
study: s
streams: {linear: {generator: linear, settings: {queries: 20}}}
learners: {kl: {kind: rtop, surrogate: kl}, smooth: {kind: rtop, surrogate: smoothdcg}}
experiments:
  top: {kind: top, streams: [linear], learners: [kl, smooth], seeds: 12, tuning_seeds: 0}
""")
TRACE = {"setting": "1", "tuning_seed": False, "failed_in": 0}


def best_fixed(key: dict, best: float) -> dict:
    """A row of the best fixed weights."""
    return key | {"best": best, "gap": 0.0, "norm": 1.0, "at_zero": 9 * best / 7}


def test_regret_is_against_the_best_fixed_weights():
    plan, rows, best = planned(TOP), [], []
    for (_, learner, seed), round_ in product(runs(plan, "top"), (10, 100, 300, 1000, 10000)):
        judge, own = ("kl", round_**0.6) if learner == "kl" else ("smoothdcg", 0.0)
        own *= (1 + 0.1 * NOISE[seed]) * round_ ** HARDLY[seed - 1]
        about = {"experiment": "top", "stream": "linear", "seed": seed, "round": round_}
        about["judge"] = judge
        rows.append(
            about
            | TRACE
            | {"learner": learner, "kind": "rtop", "bound": 500.0, "radius": 1.0}
            | dict.fromkeys(("ndcg@10", "ndcg", "ap", "ranker_ndcg@10", "loss"), 0.5)
            | {"surrogate_loss": 7.0 * round_ + own}
        )
        if judge == "kl":
            best.append(best_fixed(about, 7.0 * round_))
    played_top = {"top": (pd.DataFrame(rows), plan.details("top"))}
    kl = CLAIM | {"where": {"kind": "top"}, "learner": {"surrogate": "kl"}, "quantity": "regret"}
    slope = {"quantity": "regret_slope", "learner": {"kind": "rtop"}, "comparison": "slope"}
    made = {
        "rate": kl | slope | {"against": 2 / 3},
        "smooth": kl | {"learner": {"surrogate": "smoothdcg"}, "against": 0.0},
        "share": kl | {"quantity": "regret_share", "against": 1.0, "comparison": "less"},
    }
    table = judge_study(made, plan, played_top, pd.DataFrame(best)).set_index("id")
    assert table.loc["rate", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(0.6)]
    # of kl alone: no fixed weights are known to be best for SmoothDCG
    assert table.loc["rate", "n"] == 12
    share = 10000**0.6 * np.mean(1 + 0.1 * NOISE[:12]) / 500
    assert table.loc["share", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(share)]
    assert table.loc["smooth", "verdict"] == tables.UNTESTABLE
    assert set(judge_study(made, plan, played_top)["verdict"]) == {tables.UNTESTABLE}


def trace(learner, kind, seed, finals, stream="linear", **columns):
    """A run of 100 rounds whose NDCG@10 is `finals[0]` after half, `finals[1]` at the end."""
    rows = {"experiment": "e", "stream": stream, "learner": learner, "kind": kind, "seed": seed}
    rows |= TRACE | {"own_measure": "ndcg@10", "round": [10, 50, 60, 100]}
    rows |= {"ndcg@10": [0.0, finals[0], 0.0, finals[1]], "updates": [10, 30, 30, 35]}
    rows |= dict.fromkeys(("ndcg", "ap", "ranker_ndcg@10", "loss", "surrogate_loss"), 0.5)
    return pd.DataFrame(rows | columns)


def contextual_of(*parts, comparators=None):
    return Played(
        "e", "paper", pd.concat(parts, ignore_index=True), {"tuning": "paper"}, comparators
    )


def values_of(frame):
    return {key: row["value"] for key, row in frame.set_index(["learner", "seed"]).iterrows()}


def test_late_mistakes_are_updates_after_half_of_the_horizon():
    """30 updates in 50 rounds, and 35 in 100: that is 5 in the last 50."""
    played = contextual_of(
        trace("slam", "slam", 0, (0.6, 0.75)), trace("slam", "slam", 1, (0.5, 0.75), failed_in=70)
    )
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
    runs = [("a", "first", 0, 0.4), ("b", "second", 0, 0.2), ("c", "mixture", 0, 9.0)]
    runs += [("a", "first", 1, 0.4)]
    parts, best = [], []
    for stream, distribution, seed, regret in runs:
        about = {"judge": "ndcg-squared", "distribution": distribution, "bound": np.nan}
        about["surrogate_loss"] = 7.0 + regret
        parts.append(trace("kl", "rtop", seed, (0.5, 0.5), stream, **about))
        key = {"experiment": "e", "stream": stream, "seed": seed, "round": 100}
        best.append(best_fixed(key | {"judge": "ndcg-squared"}, 7.0))
    frame = online.floor_share(contextual_of(*parts, comparators=pd.DataFrame(best)))
    # seed 1 lacks the second
    assert values_of(frame) == {("kl", 0): pytest.approx(0.003 / impossible_floor())}
    assert list(frame["stream"]) == ["a, b"]
    assert impossible_floor() == pytest.approx(0.00244, abs=1e-5)
    other = [part.assign(judge="kl") for part in parts]
    assert online.floor_share(contextual_of(*other, comparators=pd.DataFrame(best))).empty


ADS = yaml.safe_load("""
study: s
logs: {digits: {dataset: digits}}
learners: {logistic: {kind: logistic}, ranker: {kind: auc-ranker}, uniform: {kind: uniform}}
experiments:
  unlike: {kind: ads, logs: [digits], select: 0.5}
  plain: {kind: ads, logs: [digits]}
  under: {kind: ads, logs: [digits], undersample: 2, tuning: paper}
""")
for experiment in ADS["experiments"].values():
    experiment |= {"learners": [*ADS["learners"]], "seeds": 12, "epsilons": [0.0, 0.2]}
CTR = yaml.safe_load(
    """{quantity: ctr, where: {kind: ads}, learner: {kind: auc-ranker},
    against: {kind: logistic}}"""
)
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
                policy = {"experiment": name, "stream": "digits", "learner": learner, "seed": seed}
                policy |= {"kind": learner, "epsilon": epsilon, "lambda": 1.0, "fitted_on": "all"}
                policy |= {"chosen": True, "bound": ""}
                ips = {"estimator": "ips", "bound": "t", "estimate": (1.1 + HARDLY[seed]) * true}
                rows.append(policy | {"estimator": "true", "estimate": true, "lower": np.nan})
                rows.append(policy | ips | {"lower": true + 0.01 * (-1 if seed else 1)})
                rows.append(policy | ips | {"bound": "betting", "lower": 0.5 * true})
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


def test_every_epsilon_is_a_cell_compared_at_the_same(logged):
    ranks = {"all": CLAIM | CTR, "one": CLAIM | CTR | {"epsilon": 0.2}}
    ranks["control"] = CLAIM | CTR | {"against": {"kind": "uniform"}}
    cells_of = {
        name: one.readings[0].cells
        for name, one in claims.examine(ranks, planned(ADS), logged).items()
    }
    assert [one.learner for one in cells_of["all"]] == ["ranker, epsilon 0", "ranker, epsilon 0.2"]
    (cell,) = cells_of["one"]
    np.testing.assert_allclose(cell.differences, 0.09 * (1 + 0.01 * NOISE[:12]))
    # one that knows no epsilon is compared with each
    assert len(cells_of["control"]) == 2


def test_the_fit_that_is_best_on_the_test_is_a_reading(logged):
    frame, details = logged["plain"]
    better = frame[frame["estimator"] == "true"].assign(
        chosen=False, fitted_on="part", estimator="full-information"
    )
    better = better.assign(estimate=better["estimate"] + 0.5 * (better["learner"] == "logistic"))
    logged["plain"] = (pd.concat([frame, better], ignore_index=True), details)
    row = judged(
        ADS, logged, one=CTR | {"where": {"ids": "plain"}, "epsilon": 0.0, "margin": -0.4}
    ).loc["one"]
    assert row["verdict"] == "holds" and (row["readings_holding"], row["readings_total"]) == (1, 2)
    assert row["matters"] == "tuning"


def test_gains_are_in_percent(logged):
    first = {"where": {"ids": "plain"}, "epsilon": 0.0}
    table = judged(ADS, logged, gain=CTR | first | {"quantity": "ctr_gain", "margin": 15})
    assert table.loc["gain", ["verdict", "estimate"]].tolist() == ["holds", pytest.approx(25)]


COVERED = {"policy": "deterministic", "rows": 2000, "side": "lower", "bound": "t"}
COVERAGE = {key: CLAIM[key] for key in ("source", "statement", "family", "data")} | yaml.safe_load(
    "{quantity: coverage, bound: t, against: 0.95, comparison: greater, margin: -0.02}"
)


def covered(repeats: int, **times) -> pd.DataFrame:
    """How often bounds on two campaigns were right."""
    counts = {"campaign": [*times], "covered": [*times.values()], "repeats": repeats}
    return pd.DataFrame(COVERED | counts)


def test_bounds_are_judged_on_the_study_of_bounds():
    on = {"good": "bank", "bad": "hotel", "both": ["bank", "hotel"], "none": "shop"}
    made = {name: COVERAGE | {"on": {"campaign": one}} for name, one in on.items()}
    plan = planned(ADS)
    found = claims.examine(made, plan, {}, coverage=covered(1000, bank=990, hotel=850))
    table = claims_table(found, plan.study).set_index("id")
    assert table["verdict"].to_dict() == yaml.safe_load(
        "{good: holds, bad: fails, both: differs, none: not testable here}"
    )
    assert table.loc["good", "estimate"] == pytest.approx(0.99) and table.loc["good", "n"] == 1000
    assert table.loc["bad", "data"] == "hotel, deterministic, 2,000 rows"
    assert table.loc["none", "data"].endswith("missing here: no bound t on campaign shop")
    shown = cells_table(found).set_index(["claim", "stream"])
    ends = shown.loc[("good", "bank, deterministic, 2,000 rows"), ["from", "to"]].tolist()
    assert ends == [pytest.approx(0.93), math.inf]
    without = claims.examine({"good": made["good"]}, plan, {})
    assert without["good"].missing == "no study of bounds (coverage)"


def test_what_is_compared_with_a_number_is_shown_itself():
    table = judged(
        share={"quantity": "game_share", "on": {"ids": "a"}, "against": 1.0, "comparison": "less"},
        level={"on": {"ids": "a"}, "against": 1000.0, "where": {"ids": "first"}},
    )
    assert table.loc["share", "verdict"] == "holds" and 0.39 < table.loc["share", "estimate"] < 0.42
    level = {"on": {"ids": "a"}, "against": 1000.0, "comparison": "close"}
    made = {"level": CLAIM | level | {"margin": {"relative": 0.1}}}
    shown = cells(made, planned(GAMES), played(GAMES)).iloc[0]
    assert [shown["from"], shown["to"]] == [900, 1100] and shown["quantity"] == "regret"


def test_each_horizon_is_a_cell_of_a_share():
    share = {"quantity": "game_share", "on": {"ids": "a"}, "against": 1.0, "comparison": "less"}
    found = claims.examine({"share": CLAIM | share}, planned(GAMES), played(GAMES))["share"]
    result = [cell.stream for cell in found.readings[0].cells]
    assert result == [*("a, T = 100", "a, T = 1,000", "a, T = 10,000")]


def test_a_share_has_exact_tests():
    rows, plan = covered(10, bank=10, hotel=6), planned(ADS)

    def reading(**stated):
        made = {"one": COVERAGE | {"margin": 0.0} | stated}
        return claims.examine(made, plan, {}, coverage=rows)["one"].readings[0]

    one = reading(against=0.7, on={"campaign": "bank"})
    assert one.verdict.test == "anytime binomial"
    assert one.verdict.estimate == one.verdict.high == pytest.approx(1.0)
    assert one.cells[0].within == pytest.approx((-0.7, 0.3)) and one.verdict.inside == 10
    assert 0 < one.verdict.low < 1
    several = reading(against=0.3, over="mean").verdict
    assert several.test == "anytime t" and several.estimate == pytest.approx(0.8)


def test_a_learner_may_be_compared_with_itself_in_another_experiment(logged):
    under = {"quantity": "ctr", "where": {"kind": "ads", "undersample": 2, "tuning": "paper"}}
    same = under | {"other": {"undersample": None, "tuning": "held-out"}, "epsilon": 0.0}
    made = {"one": CLAIM | same | {"learner": {"kind": "auc-ranker"}}}
    made["across"] = made["one"] | {"against": {"kind": "logistic"}}
    found = claims.examine(made, planned(ADS), logged)
    (cell,) = found["one"].readings[0].cells
    assert cell.against == "ranker (plain)"  # not the one that has other features, too
    np.testing.assert_allclose(cell.differences, 0.1)
    assert found["across"].readings[0].cells[0].against == "logistic (plain)"


@pytest.mark.parametrize(
    "stated, within",
    [
        ("{}", (-1, 1)),
        ("{against: 0.9}", (-0.9, 0.1)),
        ("{against: 0.9, comparison: slope}", (0, 1)),
        ("{margin: {relative: -0.05}}", (-1, 1)),
        ("{measure: loss}", None),
        ("{measure: loss, against: 3.0}", None),
        ("{measure: ranker_ndcg@10, comparison: close, margin: 0.1}", (-1, 1)),
        ("{quantity: late_mistakes, against: 2.0, measure: null}", None),
    ],
)
def test_the_range_of_differences_is_known_of_measures_up_to_1(contextual, stated, within):
    frame, details = contextual["e"]
    contextual["e"] = (frame.assign(updates=0.0, own_measure="ndcg@10"), details)
    made = CLAIM | FINAL | LINEAR | yaml.safe_load(stated)
    made = {"one": {key: value for key, value in made.items() if value is not None}}
    (cell, *_) = claims.examine(made, planned(STREAMS), contextual)["one"].readings[0].cells
    assert cell.within == (within and pytest.approx(within)) and not cell.share


def test_experiments_that_differ_in_their_mismatch_are_readings():
    """The mismatch of an experiment holds for learners that have none of their own."""
    study = yaml.safe_load("""
study: s
streams: {linear: {generator: linear}}
learners:
  squared: {kind: rtop, surrogate: squared}
  kl: {kind: rtop, surrogate: kl}
experiments:
  ten: {kind: top, streams: [linear], learners: [squared, kl], seeds: 12, tuning: paper}
""")
    others = {"one": {"mismatch": 1}, "hundred": {"mismatch": 100}, "ball": {"radius": 10}}
    for name, other in (others | {"again": {}}).items():
        study["experiments"][name] = study["experiments"]["ten"] | other
    plan, found = planned(study), {}
    for name in study["experiments"]:
        rows = [
            trace(learner, "rtop", seed, [0.5, 0.5 + NOISE[seed - place] / 100], experiment=name)
            for place, learner in enumerate(("squared", "kl"))
            for seed in range(12)
        ]
        found[name] = pd.concat(rows), plan.details(name)
    claim = FINAL | {"where": {"kind": "top"}, "learner": {"surrogate": "kl"}}
    claim |= {"against": {"surrogate": "squared"}}
    row = judged(study, found, kl=claim).loc["kl"]
    assert row["readings_total"] == len(["ten", *others])

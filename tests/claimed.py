"""Claims about a study of games, whose traces are made up, and the verdicts on them."""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from toys import cells_table, claims_table

from scant.study import settings as studies
from scant.study.plan import Plan
from scant.verdict import claims

ROOT = Path(__file__).parents[1]
NOISE = np.random.default_rng(3).normal(0, 1, 12)
# so that seeds differ in what would otherwise be equal, which t tests do not decide
HARDLY = 1e-7 * NOISE
GAMES = yaml.safe_load("""
study: s
games: {a: {title: Game A, stream: flip, loss: dcg}, b: {stream: gauss, loss: dcg}}
learners:
  one: {kind: rtopkf}
  two: {kind: rtopkf, k: 2}
  all: {kind: ftpl}
  noiseless: {kind: ftpl, epsilon: .inf}
experiments:
  first:
    {kind: fixed-items, games: [a, b], learners: [one, two, all], seeds: 12,
     rounds: [100, 1000, 10000]}
  second:
    {kind: fixed-items, games: [a], learners: [one, all], seeds: 12, rounds: [100, 1000, 10000],
     comparator: horizon}
""")
# Regret at the horizon T is a T^p; the seed's noise is shared by all learners but for a little of
# their own.
REGRETS = {"one": (40.0, 2 / 3), "two": (30.0, 2 / 3), "all": (20.0, 0.5), "noiseless": (20.0, 0.5)}
CLAIM = yaml.safe_load("""
source: {document: thesis, place: "3.3"}
statement: So it is.
family: items
data: games
quantity: game_regret
where: {kind: fixed-items}
learner: {kind: rtopkf, k: null}
comparison: greater
""")  # fmt: skip
AGAINST_ALL = {"against": {"kind": "ftpl"}}


def planned(config: dict) -> Plan:
    return Plan(*studies.load(config, ROOT / "config/datasets.yaml"))


def played(config: dict, regrets=REGRETS) -> dict:
    """Traces of every experiment on fixed items; those of the second have the first's regrets
    negated.
    """
    plan, found = planned(config), {}
    for name, experiment in plan.study["experiments"].items():
        rows = []
        for game in experiment["games"]:
            for place, learner in enumerate(experiment["learners"]):
                scale, power = regrets[learner]
                for seed in range(experiment["seeds"]):
                    for horizon in experiment["rounds"]:
                        noise = 0.02 * NOISE[seed] + 0.001 * NOISE[seed - place]
                        regret = scale * horizon ** (power + HARDLY[seed - 1]) * (1 + noise)
                        one = {"experiment": name, "stream": game, "learner": learner, "seed": seed}
                        one |= {"horizon": horizon, "round": horizon, "value": regret, "best": 0.0}
                        one |= {"best_at_horizon": 2 * regret, "worst": 1000.0 * horizon, "k": 0}
                        one |= {"bound": 100.0 * horizon**power, "loss": "sum-loss", "gain": False}
                        rows.append(one | {"game": game, "items": 20})
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


def changed(where: str, change) -> dict:
    """The traces of GAMES; `change` is what the values of some rows of the first experiment are
    multiplied by.
    """
    traces = played(GAMES)
    frame, details = traces["first"]
    there = frame.eval(where)
    return traces | {
        "first": (
            frame.assign(value=frame["value"].where(~there, change * frame["value"])),
            details,
        )
    }


def judge_study(made: dict, plan: Plan, traces: dict, *more, **settings) -> pd.DataFrame:
    return claims_table(claims.examine(made, plan, traces, *more, **settings), plan.study)


def cells(made: dict, plan: Plan, traces: dict) -> pd.DataFrame:
    return cells_table(claims.examine(made, plan, traces))


def judged(config: dict = GAMES, traces: dict | None = None, **stated) -> pd.DataFrame:
    """The verdicts on claims, each of what differs from CLAIM, by id."""
    traces = played(config) if traces is None else traces
    made = {name: CLAIM | one for name, one in stated.items()}
    return judge_study(made, planned(config), traces).set_index("id")


def readings(traces: dict | None = None, **stated) -> list:
    """The readings of a claim about GAMES that differs from CLAIM in what is stated."""
    traces = played(GAMES) if traces is None else traces
    return claims.examine({"one": CLAIM | stated}, planned(GAMES), traces)["one"].readings


B_IS_WORSE = "stream == 'b' and learner == 'all'", 20
CONTRACT = [
    *("id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding",
      "readings_total"),
    "data",
]  # fmt: skip

"""Measures that experiments ask for besides all runs': in claims, and in the table `top`."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from toys import cells_table, claims_table

from scant.errors import SettingError
from scant.measures import RECORDABLE, recordable
from scant.present.traces import Played
from scant.rankers.quantities import final, final_at_own_rates
from scant.rankers.traces import MEASURED
from scant.schema import check, read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan
from scant.verdict import claims

ROOT, SEEDS = Path(__file__).parents[2], 12
CONFIG = yaml.safe_load("""
study: s
streams: {linear: {generator: linear}}
learners: {slam: {kind: slam, rates: [0.1, 1.0]}, slam-ap: {kind: slam, measure: ap,
  rates: [0.1, 1.0]}, random: {kind: random}}
""")
PLAYED = {"streams": ["linear"], "learners": ["slam", "slam-ap", "random"], "seeds": SEEDS}
PLAYED |= {"tuning": "paper"}
CONFIG["experiments"] = {name: PLAYED | {"title": name} for name in ("plain", "asking")}
CLAIM = yaml.safe_load("""
source: {document: thesis, place: "2"}
statement: So it is.
family: f
data: any
quantity: final
measure: err
where: {kind: perceptron}
learner: {measure: ap}
against: {kind: random}
comparison: greater
""")
# NDCG@10 and AP at each rate: the first prefers rate 0.1, the second rate 1.0. ERR is twice AP.
OUTCOMES = {0.1: (0.6, 0.1), 1.0: (0.4, 0.3)}


@pytest.fixture(scope="module")
def plan():
    return Plan(*studies.load(CONFIG, registry_path=ROOT / "config/datasets.yaml"))


@pytest.fixture
def traces(plan):
    """The traces and details of each experiment; one records ERR."""
    found = {}
    for name, experiment in plan.study["experiments"].items():
        rows = []
        for learner, rate, seed in product(experiment["learners"], OUTCOMES, range(SEEDS)):
            ndcg, ap = (0.2, 0.05) if learner == "random" else OUTCOMES[rate]
            # so that differences differ between seeds
            slope = 0.012 if learner == "random" else 0.01
            kind = plan.study["learners"][learner]["kind"]
            if learner == "random" and rate == 1.0:
                continue
            row = {"experiment": name, "stream": "linear", "learner": learner, "kind": kind}
            row |= {"own_measure": "ap" if learner == "slam-ap" else "ndcg@10", "seed": seed}
            row |= {"setting": str(rate), "rate": rate, "theory": 0, "round": 100, "failed_in": 0}
            row |= {"ndcg@10": ndcg + 0.01 * seed, "ndcg": ndcg, "ap": ap + slope * seed}
            row |= {"ranker_ndcg@10": ndcg, "loss": 1.0, "surrogate_loss": np.nan}
            rows.append(row | {"generator": "linear", "tuning_seed": False})
        frame = pd.DataFrame(rows)
        details = plan.families[name].details(plan.study, name)
        if name == "asking":
            frame, details = frame.assign(err=2 * frame["ap"]), details | {"measures": ["err"]}
        found[name] = (frame, details)
    return found


def played(traces, name):
    frame, details = traces[name]
    return Played(name, "paper", frame, details, None)


def test_the_final_of_a_further_measure_is_of_the_runs_that_tables_show(traces):
    values = final_at_own_rates(played(traces, "asking"), "err").set_index(["learner", "seed"])
    for learner, rate in {"slam": "0.1", "slam-ap": "1.0"}.items():
        assert set(values.loc[learner, "setting"]) == {rate}
        ap = OUTCOMES[float(rate)][1]
        result = values.loc[learner, "value"].tolist()
        assert result == pytest.approx(2 * ap + 0.02 * np.arange(SEEDS))
    at_the_top = final(played(traces, "asking"), "err")  # where NDCG@10 chooses all rates
    assert set(at_the_top["setting"]) == {"0.1"}


@pytest.mark.parametrize("of", [final, final_at_own_rates])
def test_what_is_not_recorded_has_no_final(traces, of):
    for name, measure in (("plain", "err"), ("asking", "err@5"), ("asking", "precision@5")):
        values = of(played(traces, name), measure)
        assert values.empty and {"stream", "learner", "seed", "value"} <= set(values)
    with pytest.raises(SettingError, match="did you mean 'err'"):
        of(played(traces, "asking"), "eer")


def test_a_claim_is_of_the_experiments_that_record_its_measure(plan, traces):
    examined = claims.examine({"one": CLAIM}, plan, traces)
    assert [reading.experiment for reading in examined["one"].readings] == ["asking"]
    row = claims_table(examined, plan.study).iloc[0]
    assert (row["verdict"], row["experiment"], row["n"]) == ("holds", "asking", SEEDS)
    assert row["estimate"] == pytest.approx(2 * (0.3 - 0.05) - 2 * 0.002 * np.arange(SEEDS).mean())
    said = cells_table(examined)["quantity"]
    assert said.tolist() == ["difference in ERR"]


def test_a_claim_of_what_no_experiment_records_says_what_is_missing(plan, traces):
    for measure in ("precision@5", "err@5"):
        examined = claims.examine({"one": CLAIM | {"measure": measure}}, plan, traces)["one"]
        assert (examined.readings, examined.missing) == ([], f"no {measure} is known there")
        row = claims_table({"one": examined}, plan.study).iloc[0]
        assert row["data"] == f"any; missing here: no {measure} is known there"
    with pytest.raises(SettingError, match="claim one: unknown measure 'eer': did you mean 'err'"):
        claims.examine({"one": CLAIM | {"measure": "eer"}}, plan, traces)


def test_claims_may_be_of_any_measure_that_has_a_name():
    schema = read_yaml(ROOT / studies.CLAIMS_SCHEMA)
    rule = schema["$defs"]["claim"]["properties"]["measure"]
    forms = {"never": [""], "may": ["", "@1", "@10"], "must": ["@1", "@999999"]}
    names = [base + cut for base, measure in RECORDABLE.items() for cut in forms[measure.cut]]
    for name in [*names, "ranker_ndcg@10"]:
        check({"one": CLAIM | {"measure": name}}, schema, "claims")
        assert name in MEASURED or recordable(name)
    for name in ("NDCG", "ndcg@0", "ndcg@05", "err@", "precision 5", "ndcg@1000000"):
        assert not re.search(rule["pattern"], name) and not recordable(name)

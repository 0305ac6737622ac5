"""Runs of bandits: one learner, one bandit, and a batch of seeds."""

import numpy as np
import pyarrow as pa
from scant.bandit.learners import make

from scant.declare.runs import kept_rounds, origin, table_of
from scant.files import write_parquet
from scant.randomness import generator

SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "round": pa.int64(),
        "regret": pa.float64(),  # of the arms pulled in rounds 1..t, in expectation
    }
)


def run(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Play a learner for each seed, and write the run file, with the columns of `SCHEMA`. It reads
    no files.

    job : study, study_seed, experiment, stream (the bandit's id), bandit_settings, learner,
        learner_settings, rounds
    """
    arms, kept = np.array(job["bandit_settings"]["arms"]), kept_rounds(job["rounds"])
    tables = []
    for seed in seeds:
        # of all learners: same rewards, same noise
        axes = (job["study_seed"], "arms", job["stream"], seed)
        rewards = generator(*axes, "rewards").random((job["rounds"], len(arms))) < arms
        learner = make(job["learner_settings"], len(arms), generator(*axes, "noise"))
        regret = np.zeros(job["rounds"])
        for t, round_rewards in enumerate(rewards):
            arm = learner.pull()
            learner.learn(arm, float(round_rewards[arm]))
            regret[t] = arms.max() - arms[arm]
        columns = {
            "seed": np.full(len(kept), seed),
            "round": kept,
            "regret": regret.cumsum()[kept - 1],
        }
        tables.append(table_of(SCHEMA, columns))
    write_parquet(pa.concat_tables(tables), target, job | origin(seeds, ()))

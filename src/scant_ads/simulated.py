"""Logs of simulated campaigns in the form of a user's own."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.bandits import campaigns
from scant.randomness import generator


def simulate(name: str, policy: str, rows: int, seed: int, target) -> None:
    """Write a log of a simulated campaign, as CSV if the target's name ends in .csv, else as
    parquet.

    It has the columns that a user's log has: action, reward, propensity, and one for each feature.
    """
    files.check_outputs([target])
    random = generator(seed, "campaign log", name, policy)
    log = campaigns.make(name).log(rows, random, policy)
    columns = {
        "action": pa.DictionaryArray.from_arrays(pa.array(log.action), list(log.actions)).cast(
            pa.string()
        ),
        "reward": pa.array(log.reward.astype(np.int64)),
        "propensity": pa.array(log.propensity),
    }
    table = pa.table(
        columns | {name: pa.array(log.features[:, index]) for index, name in enumerate(log.names)}
    )
    if Path(target).suffix.lower() == ".csv":
        files.write_text(target, table.to_pandas().to_csv(index=False, lineterminator="\n"))
    else:
        files.write_parquet(table, target, {"campaign": name, "policy": policy, "seed": seed})

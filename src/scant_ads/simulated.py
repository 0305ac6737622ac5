"""Logs of simulated campaigns in the form of a user's own."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.bandits import campaigns
from scant.errors import SettingError
from scant.randomness import generator


def simulate(name: str, settings: dict, policy: str, rows: int, seed: int, target) -> None:
    """Write a log of a simulated campaign, as CSV if the target's name ends in .csv, else as
    parquet.

    It has the columns that a user's log has: action, reward, propensity, and one for each feature.
    """
    files.check_outputs([target])
    campaigns.check(name, settings)
    random = generator(seed, "campaign log", name, policy)
    log = campaigns.make(name, **settings).log(rows, random, policy)
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
        files.write_parquet(
            table, target, {"campaign": name, "settings": settings, "policy": policy, "seed": seed}
        )


def simulate_parts(
    name: str, settings: dict, policy: str, rows: int, seed: int, parts: int, folder
) -> None:
    """Write a log as a folder of `parts` parquet files, of about as many rows each, in the memory
    of one.
    """
    files.check_outputs([folder])
    folder = Path(folder)
    if not 1 <= parts <= rows:
        raise SettingError(
            f"parts is {parts}; a folder has from 1 to as many as there are rows ({rows:,})"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingError(f"{folder} is there already, and not empty: give another name")
    for part in range(parts):
        count = rows * (part + 1) // parts - rows * part // parts
        own_seed = int(generator(seed, "advice", "part", str(part)).integers(2**31))
        simulate(name, settings, policy, count, own_seed, folder / f"part-{part:05}.parquet")

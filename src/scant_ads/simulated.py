"""Logs of simulated campaigns in the form of a user's own."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from scant import files
from scant.bandits import campaigns
from scant.randomness import generator


def simulate(name: str, policy: str, rows: int, seed: int, target, places: int = 1) -> None:
    """Write a log of a simulated campaign, as CSV if the target's name ends in .csv, else as
    parquet.

    It has the columns that a user's log has: action, reward, propensity, and one for each feature;
    with several places, the columns of `_of_lists`.

    rows : how many visits
    places : how many offers the list of each visit has
    """
    files.check_outputs([target])
    random, campaign = generator(seed, "campaign log", name, policy), campaigns.make(name)
    log = campaign.log(rows, random, policy)
    columns = {
        "action": np.array(log.actions)[log.action],
        "reward": log.reward.astype(np.int64),
        "propensity": log.propensity,
    }
    visit = np.repeat(np.arange(rows), places)
    if places > 1:
        columns = {"visit": visit} | _of_lists(campaign, policy, log.features, places, random)
    table = pa.table(columns | dict(zip(log.names, log.features[visit].T, strict=True)))
    if Path(target).suffix.lower() == ".csv":
        files.write_text(target, table.to_pandas().to_csv(index=False, lineterminator="\n"))
    else:
        files.write_parquet(table, target, {"campaign": name, "policy": policy, "seed": seed})


def _of_lists(campaign, policy: str, features: np.ndarray, places: int, random) -> dict:
    """The columns of a log of lists, a row a place, with probabilities given what stands above.

    Offers are drawn one after the other, each in proportion to the campaign's propensity. The one
    at place k is looked at with a probability of 1 / k, whatever stands around it. The policy
    `best` draws in proportion to the fourth power of click rates.
    """
    chance, rate = campaign.propensities(features, policy), campaign.rates(features)
    order = np.argsort(random.exponential(size=chance.shape) / chance, axis=1)
    chance, rate = (np.take_along_axis(values, order, axis=1) for values in (chance, rate))
    shares = (weight / weight[:, ::-1].cumsum(axis=1)[:, ::-1] for weight in (chance, rate**4))
    place = np.arange(order.shape[1])
    columns = {
        "position": order * 0 + place + 1,
        "action": order + 1,
        "reward": random.random(rate.shape) * (place + 1) < rate,
        **dict(zip(("propensity", "policy:best"), shares, strict=True)),
    }
    return {name: 1 * values[:, :places].ravel() for name, values in columns.items()}

"""A quantity of yours that claims may be about: a number for each stream, learner and seed."""

from scant.declare.families import Quantity
from scant.rankers.traces import at_tuned_rates


def updates(played):
    rows = at_tuned_rates(played.traces, "ndcg@10", played.tuning)
    last = rows[rows["round"] == rows["round"].max()]
    shares = last.assign(value=last["updates"] / last["round"])
    return shares[["stream", "learner", "seed", "value"]]


UPDATES = Quantity(
    "share of rounds with an update", "my_quantity:updates", tuned=True, range=(0.0, 1.0)
)

"""Random streams: equal names give equal streams, and nothing else does."""

from itertools import combinations

import numpy as np
import yaml

from scant.randomness import generator


def draws(*address):
    return generator(*address).integers(0, 2**63, 4).tolist()


def test_equal_names_give_equal_streams_whatever_was_drawn_before():
    first = draws(7, "perceptron", "letor", 3)
    np.random.seed(1)  # noqa: NPY002 - the global state is nothing to it
    generator(7, "perceptron").random(100)
    assert draws(7, "perceptron", "letor", 3) == first


def test_streams_are_the_same_on_every_machine_and_in_every_version():
    assert draws(2016, "a", 1) == yaml.safe_load(
        "[2198782182005511386, 2624560267800043977, 462062811556307302, 1699113592928315810]"
    )


def test_another_seed_name_number_of_names_or_order_is_another_stream():
    addresses = [
        (0,), (1,), (0, ""), (0, "a"), (0, "b"), (0, "a", "b"), (0, "b", "a"), (0, "ab"),
        (0, "a", "b", ""),
        (0, "a", 1), (0, 1, "a"), (0, "a1"), (0, 1), (0, 11), (0, 1, 1), (0, "1 "), (1, 0),
    ]  # fmt: skip
    for one, other in combinations(addresses, 2):
        assert draws(*one) != draws(*other), (one, other)

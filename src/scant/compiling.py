"""Compile the loops before any job does: jobs that start together would each compile the same
ones.
"""

import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from scant.declare.declarations import called
from scant.declare.families import families


def compile_all() -> None:
    """Compile all loops that have toys, family by family, in two processes; Numba keeps them.

    Families with the most loops come first; those that share loops with them then find these
    compiled.
    """
    toys = dict.fromkeys(family.toys for family in families().values() if family.toys)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for played in [pool.submit(play, toy) for toy in toys]:
            played.result()


def play(toy: str) -> None:
    """Play the toys of a family, see `scant.declare.families.Family.toys`."""
    # the compiler leaves many objects and little garbage: looking for it took a tenth
    gc.set_threshold(100_000)
    called(toy)()

"""Generators of streams that are not made of data sets.

Settings choose from this list; a run imports its own generator alone.
"""

from scant.data import simulated
from scant.rankers.adversary import LowerBoundAdversary

GENERATORS = simulated.GENERATORS | {"adversary": LowerBoundAdversary}

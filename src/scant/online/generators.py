"""What the streams that are not made of data sets come from. No run needs them all, so that they are named apart."""

from scant.data import simulated
from scant.online.adversary import LowerBoundAdversary

GENERATORS = simulated.GENERATORS | {"adversary": LowerBoundAdversary}

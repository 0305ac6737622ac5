"""What `scant compile` plays: the compiled loop of the family, for the types that studies call it
with.
"""

import numpy as np

from scant.kernels import plackett_luce


def play() -> None:
    """The marginals of three documents in two places."""
    plackett_luce.marginals(np.zeros(3), 2, np.ones(3))

"""The regret of one game as played, as tables and figures work it out."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from scant.games import frames
from scant.games.play import Trace


def regret(trace: Trace, comparator: str = "prefix") -> np.ndarray:
    """The cumulative regret at kept rounds against the best fixed ranking, or at the "horizon"."""
    rows = pd.DataFrame(asdict(trace)).assign(experiment="e")
    return frames.regrets(rows, {"e": {"comparator": comparator}})["regret"].to_numpy()

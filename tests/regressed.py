"""The estimate in the middle of a betting interval, by least squares."""

import numpy as np


def regressed(gain, excess, stake=1.0) -> float:
    """Mean gain over mean stake, each less its least-squares fit to the excess."""
    gain, excess = np.asarray(gain, float), np.asarray(excess, float)[:, np.newaxis]
    terms = np.stack([gain, np.broadcast_to(stake, gain.shape)], axis=1)
    fit = excess @ np.linalg.lstsq(excess, terms, rcond=None)[0]
    of_gain, of_stake = (terms - fit).mean(axis=0)
    return of_gain / of_stake

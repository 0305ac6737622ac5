"""Do clicks on an item depend on what stands above it in a list?

An item at a place is compared with itself at this place: is it clicked less often, or more, below
items with larger pulls? An item's pull is its click rate in the other half of the lists, so that no
click is held against itself: that clicks go with clicks above says that users differ, and nothing
of the premise. For each half of the lists the statistic is the sum over strata of the covariance of
clicks and pulls above; its variance is over all orders of the clicks of each stratum (Mantel 1963).
The p-value is twice the smaller of the two halves'.

Its power is against users who leave the list after a click: they make an item's click rate smaller
by the share that the items above it are clicked. So the covariance is minus the item's click rate
times the variance of the pulls above, taken as the covariance of the two halves' pulls.
"""

from typing import NamedTuple

import numpy as np


class Test(NamedTuple):
    """The test that clicks do not depend on what stands above.

    p : its p-value; NaN where no item comes to a place again
    power : the probability that it sees users who leave after a click in a log like this one
    """

    p: float
    power: float


def tested(stratum, half, pulls_above, own_pulls_above, clicks, level: float) -> Test:
    """The test, from rows that each have an item at a place with others above it.

    Parameters
    ----------
    stratum : int (rows), which rows have the same item, place and half
    half : int (rows), 0 or 1, of the lists
    pulls_above : float64 (rows), the sum of the pulls of the items above, by the other half
    own_pulls_above : float64 (rows), the sum of the pulls of the items above, by the row's own half
    clicks : float64 (rows), clicks or other rewards
    level : the test's level, at which its power is computed
    """
    from scipy.special import ndtr, ndtri

    again = (np.bincount(stratum) > 1)[stratum]
    half, pulls_above, own_pulls_above, clicks = (
        of[again] for of in (half, pulls_above, own_pulls_above, clicks)
    )
    stratum = np.unique(stratum[again], return_inverse=True)[1]
    rows = np.bincount(stratum)
    if not len(rows):
        return Test(np.nan, 0.0)
    x, own, y = (
        values - (np.bincount(stratum, values) / rows)[stratum]
        for values in (pulls_above, own_pulls_above, clicks)
    )
    covariance, of_x, of_y, both = (
        np.bincount(stratum, terms) for terms in (x * y, x**2, y**2, x * own)
    )
    if_they_leave = both * np.bincount(stratum, clicks) / rows
    in_half = np.zeros(len(rows), int)
    in_half[stratum] = half
    sums, leaving, variances = (
        np.bincount(in_half, terms, 2)
        for terms in (covariance, if_they_leave, of_x * of_y / (rows - 1))
    )
    z, of_leaving = np.array([np.abs(sums), leaving]) / np.sqrt(np.maximum(variances, 1e-300))
    unseen = ndtr(-ndtri(level / 4) - of_leaving)
    return Test(min(float(4 * ndtr(-z).min()), 1.0), float(1 - unseen.prod()))

"""A scorer of one's own, for experiments of ads: naive Bayes on binned features."""

from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting


class BinnedBayes:
    """The log-odds of a click, each feature in one of a few bins, as if features were independent
    given the click.

    One object is made for each ad, and fitted to the rows that showed it.

    Parameters
    ----------
    regularisation : lambda, which the study chooses; here the rows that each bin counts more than
        it has
    bins : of each feature, of about as many rows each
    """

    about = "Naive Bayes on binned features."
    settings = (
        Setting(
            "bins",
            {"type": "integer", "minimum": 2},
            "Bins of each feature (4 if absent).",
            absent=4,
        ),
    )
    looks: ClassVar = {"": Look("pink", "p")}
    classifier = True  # it is under-sampled wherever classifiers are
    scaled = False  # quantiles do not depend on the scale of a feature

    def __init__(self, regularisation, bins):
        self.more, self.bins = regularisation, bins

    def fit(self, features, clicked, random):
        """Learn from float32 features (rows x d) and clicks, bool (rows), of both kinds."""
        # (bins - 1) x d
        self.edges = np.quantile(features, np.arange(1, self.bins) / self.bins, axis=0)
        places = self._places(features)
        bins = np.arange(self.bins)[:, None, None]
        counts = [(places[rows] == bins).sum(axis=1) for rows in (clicked, ~clicked)]
        # bins x d
        shares = [(count + self.more) / (count + self.more).sum(axis=0) for count in counts]
        self.odds = np.log(shares[0] / shares[1])
        self.prior = np.log(clicked.sum() / (~clicked).sum())

    def score(self, features):
        """A number for each row, the larger the likelier a click."""
        return self.prior + np.take_along_axis(self.odds, self._places(features), axis=0).sum(
            axis=1
        )

    def _places(self, features):
        """The bin of each value, (rows x d)."""
        return (features[:, None] > self.edges).sum(axis=1)

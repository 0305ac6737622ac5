"""Bounds on the cumulative loss of the perceptrons (thesis chapter II, perceptron paper).

Throughout: m is the largest number of documents of a query (for NDCG@k, k takes its place), `radius` the largest L2
norm of a document, `ratio` the largest ratio of two positive SLAM weights of a query (v_max; 1 for AP), `margin`
the smallest score difference between documents of different grades under a unit-norm ranker.
"""

import math


def slam_rate(m: int, radius: float, ratio: float) -> float:
    """The rate 1 / (4 m R_X^2 v_max), with which the SLAM perceptron's separable bound holds for every run."""
    return 1 / (4 * m * radius**2 * ratio)


def max_hinge_rate(radius: float) -> float:
    """The rate 1 / (4 R_X^2), with which the max-hinge perceptron's general bound holds for every run."""
    return 1 / (4 * radius**2)


def slam_separable(m: int, radius: float, ratio: float, margin: float) -> float:
    """Cumulative loss of the SLAM perceptron on a separable stream (Corollary 7; with k for m, Theorem 8)."""
    return 4 * m * radius**2 * ratio / margin**2


def max_hinge_separable(radius: float, margin: float) -> float:
    """Cumulative loss of the max-hinge perceptron on a separable stream (Corollary 11)."""
    return 4 * radius**2 / margin**2


def binary_separable(radius: float, margin: float) -> float:
    """Mistakes of the classification perceptron (Corollary 2), `radius` being that of the instances."""
    return radius**2 / margin**2


def general(surrogate: float, norm: float, m: int, radius: float, ratio: float) -> float:
    """Cumulative loss against any weights, at the rate that is best in hindsight (Theorem 6, v_max in both terms).

    surrogate : the sum of f_t(w), the surrogate at w over the rounds with an update
    norm : the L2 norm of w
    For the max-hinge perceptron (Theorem 10), m and `ratio` are 1.
    """
    square = 4 * norm**2 * m * radius**2 * ratio
    return surrogate + math.sqrt(square * surrogate) + square


def general_at_rate(surrogate: float, norm: float, m: int, radius: float, ratio: float) -> float:
    """Cumulative loss against any weights at the rate of `slam_rate` (or `max_hinge_rate`, m and `ratio` 1).

    From the regret of online gradient descent and Lemma 5 at that rate: twice the surrogate plus the separable term.
    """
    return 2 * surrogate + 4 * norm**2 * m * radius**2 * ratio


def adversary_loss(rounds: int) -> float:
    """What every deterministic learner loses, at least, in NDCG against the adversary of Theorem 9."""
    return rounds * (1 - 1 / math.log2(3))

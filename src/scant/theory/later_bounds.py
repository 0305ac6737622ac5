"""Bounds on F2 and F1 that were found after the thesis, beside the bounds of its chapter IV: Maurer
2016, A vector-contraction inequality for Rademacher complexities.
"""

import math

import numpy as np

from scant.theory.generalisation import Problem, deviation


def maurer_gap(n, problem: Problem):
    """L - empirical risk over F2 by Maurer 2016: 2 sqrt(2) G_2 W R_X sqrt(m/n) + 3 B
    sqrt(log(2/delta) / (2n)).

    A loss with constant G_2 in the l2 norm of m scores has at most sqrt(2) G_2 times the Rademacher
    complexity of the scores, with a sign for each document: E||sum of signs times documents|| <=
    R_X sqrt(mn). Like Chapelle & Wu's, with a smaller constant. With probability 1 - delta; below B
    only from n > 4.5 log(2/delta) on.
    """
    scores = problem.ball * problem.radius * np.sqrt(problem.m / np.asarray(n, float))
    return 2 * math.sqrt(2) * problem.lipschitz_l2 * scores + deviation(n, problem)


def maurer_gap_l1(n, problem: Problem):
    """`maurer_gap` over F1, where the largest of d sums of mn signs is at most R_X sqrt(2 mn
    log(2d)) in expectation.
    """
    scores = (
        problem.ball
        * problem.radius
        * np.sqrt(2 * problem.m * math.log(2 * problem.d) / np.asarray(n, float))
    )
    return 2 * math.sqrt(2) * problem.lipschitz_l2 * scores + deviation(n, problem)

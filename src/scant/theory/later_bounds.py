"""What was found after the thesis on losses of vectors: uniform bounds on F2 or F1, beside the
bounds of chapter IV.

Functions called `..._gap` are bounds with all constants, like those of
`scant.theory.generalisation`, from an inequality whose constant is known. Those called `..._order`
are orders of growth only: the constant, which the papers leave open or which is not repeated here,
is 1, and neither the range of the loss nor the confidence is in them. They say how a bound grows,
not how large it is.

- Maurer 2016: A vector-contraction inequality for Rademacher complexities.
- Foster & Rakhlin 2019: l-infinity vector contraction for Rademacher complexity.
- Lei et al. 2019 (Lei, Dogan, Zhou & Kloft): Data-dependent generalization bounds for multi-class
  classification.
- Lei et al. 2023 (Lei, Yang, Ying & Zhou): Generalization analysis for contrastive representation
  learning.
- Wu et al. 2021 (Wu, Ledent, Lei & Kloft): Fine-grained generalization analysis of vector-valued
  learning.
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
    """The same over F1, where the largest of d sums of mn signs is at most R_X sqrt(2 mn log(2d))
    in expectation.
    """
    scores = (
        problem.ball
        * problem.radius
        * np.sqrt(2 * problem.m * math.log(2 * problem.d) / np.asarray(n, float))
    )
    return 2 * math.sqrt(2) * problem.lipschitz_l2 * scores + deviation(n, problem)


def foster_rakhlin_order(n, problem: Problem):
    """Foster & Rakhlin 2019, Theorem 1: G sqrt(m) times the worst complexity of a score, W R_X /
    sqrt(n), times log^(3/2) n.

    For any class of score vectors and a loss with constant G in the sup norm. The exponent is 3/2 +
    e for every e > 0, with a constant that depends on e. It does not use that all documents share
    one w, and so keeps the factor sqrt(m).
    """
    n = np.asarray(n, float)
    return problem.scale * np.sqrt(problem.m / n) * np.log(n) ** 1.5


def lei_2019_order(n, problem: Problem):
    """Lei et al. 2019: G sqrt(m) times the worst complexity on mn documents, W R_X / sqrt(mn),
    times log^(3/2)(mn).

    The complexity is taken for scalar scores on all documents of the sample, as in Proposition 3,
    so that sqrt(m) cancels: G W R_X log^(3/2)(mn) / sqrt(n). Stated for classes in the place of
    documents.
    """
    n = np.asarray(n, float)
    return problem.scale / np.sqrt(n) * np.log(problem.m * n) ** 1.5


def lei_2023_order(n, problem: Problem):
    """Lei et al. 2023: as `lei_2019_order`, G W R_X log(mn) log(n) / sqrt(n); stated for m negative
    examples of a loss.

    For self-bounding losses (of which smooth ones are an example) they have optimistic rates like
    Theorem 44.
    """
    n = np.asarray(n, float)
    return problem.scale / np.sqrt(n) * np.log(problem.m * n) * np.log(n)


def wu_2021_order(n, problem: Problem, weight: float):
    """Wu et al. 2021: excess of regularised ERM, (G R_X)^2 / (weight n), logarithms of m and n
    apart.

    weight : lambda of the regulariser (lambda/2)||w||^2, here fixed: the excess is in the
        regularised risk, which is strongly convex. With lambda of order 1/sqrt(n) it is of the
        order of Theorem 36
    """
    return (problem.lipschitz * problem.radius) ** 2 / (weight * np.asarray(n, float))

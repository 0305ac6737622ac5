"""Bounds on the cumulative loss of the perceptrons (thesis chapter II, perceptron paper), and on
the regret of RTop-kF.

Throughout, m is the largest number of documents of a query (k in its place for NDCG@k), `radius`
the largest L2 norm of a document, `ratio` the largest ratio of two positive SLAM weights of a query
(v_max; 1 for AP), and `margin` the smallest score difference between documents of different grades
by a ranker of norm 1.
"""

import math

from scant.data import table_b1


def slam_rate(m: int, radius: float, ratio: float) -> float:
    """The rate 1 / (4 m R_X^2 v_max), with which the SLAM perceptron's separable bound holds for
    every run.

    With m and `ratio` 1, it is the rate with which the max-hinge perceptron's general bound holds.
    """
    return 1 / (4 * m * radius**2 * ratio)


def slam_separable(m: int, radius: float, ratio: float, margin: float) -> float:
    """Cumulative loss of the SLAM perceptron on a separable stream (Corollary 7; with k for m,
    Theorem 8).

    For the max-hinge perceptron (Corollary 11), m and `ratio` are 1.
    """
    return 4 * m * radius**2 * ratio / margin**2


def binary_separable(radius: float, margin: float) -> float:
    """Mistakes of the classification perceptron (Corollary 2); `radius` is the largest norm of an
    instance.
    """
    return radius**2 / margin**2


def general(surrogate: float, norm: float, m: int, radius: float, ratio: float) -> float:
    """Cumulative loss compared with any weights w, at the best rate in hindsight (Theorem 6, v_max
    in both terms).

    For the max-hinge perceptron (Theorem 10), m and `ratio` are 1.

    surrogate : the sum over rounds with an update of f_t(w), the surrogate loss of w
    norm : the L2 norm of w
    """
    square = 4 * norm**2 * m * radius**2 * ratio
    return surrogate + math.sqrt(square * surrogate) + square


def printed_general(surrogate: float, norm: float, m: int, radius: float, ratio: float) -> float:
    """(2.19) as it is printed, without v_max under the first root; arguments as in `general`."""
    square = 4 * norm**2 * m * radius**2
    return surrogate + math.sqrt(square * surrogate) + square * ratio


def general_at_rate(surrogate: float, norm: float, m: int, radius: float, ratio: float) -> float:
    """Cumulative loss compared with any weights, at `slam_rate`.

    It is twice the surrogate plus the separable term, by the regret of online gradient descent and
    Lemma 5.
    """
    return 2 * surrogate + 4 * norm**2 * m * radius**2 * ratio


def exploration_loss(surrogate: str, m: int, largest: int) -> float:
    """The largest surrogate loss of a round that explores, with scores in [0, 1] and grades up to
    `largest`.
    """
    return {
        "squared": m * max(1, largest) ** 2,
        "kl": m * (math.exp(largest) * (largest - 1) + 1),  # at s = 0 and the largest grade
        "ranksvm": 2 * (m * m // 4) if largest == 1 else m * (m - 1),  # each hinge is at most 2
    }[surrogate]


def _exponential(x: float) -> float:
    """exp(x), or infinity if its square would overflow."""
    return math.exp(x) if x < 300 else math.inf


def estimate_constant(surrogate: str, m: int, radius: float, largest: int, ball: float) -> float:
    """The constant C of `E ||z||^2 <= C / gamma`, for the estimate z of the gradient from the
    fewest grades (Lemma 29).

    By Lemma 28 ||X' g||_2 <= R_X ||g||_1, and the sum of 1 / p is at most m^2 / gamma over
    documents (top 1) and (m (m - 1))^2 / (4 gamma) over pairs (top 2).

    surrogate : "squared", "kl" or "ranksvm"
    m : documents of the largest query
    radius : R_X
    largest : the largest grade
    ball : U, the bound on ||w||
    """
    if surrogate == "squared":
        return 8 * (radius * m) ** 2 * ((radius * ball) ** 2 + largest**2)
    if surrogate == "kl":
        return (radius * m * _exponential(max(radius * ball, largest))) ** 2
    return (radius * m * (m - 1)) ** 2  # ranksvm: ||x_j - x_i|| <= 2 R_X


def printed_constant(surrogate: str, m: int, radius: float, largest: int, ball: float) -> float:
    """The constant C as the proof of Lemma 29 prints it (thesis, appendix B); arguments as in
    `estimate_constant`.

    The constants of squared and KL are too small in part: see `largest_moment`, and the table
    `theorems-top`. RankSVM's is printed as O(m^4 R_D^2), and taken here from the line before that.
    """
    return {
        "squared": m**4 * radius**4 * ball**2 * largest**2,
        "kl": (m * radius * _exponential(radius * ball)) ** 2,
        "ranksvm": m**3 * (m - 1) * radius**2,
    }[surrogate]


def largest_moment(
    surrogate: str, m: int, radius: float, largest: int, ball: float, gamma: float = 1.0
) -> float:
    """The largest `gamma E ||z||^2` of the estimates of Lemma 29, over all lists of m documents and
    all weights.

    This moment grows with gamma, so that its value at gamma = 1 is the least constant C that holds
    for every gamma. For squared and KL it is exact. All documents are then the same, of norm R_X,
    with scores -R_X U and the largest grade; or, for KL with R_X U above that grade, with scores
    R_X U and grade 0. For RankSVM it is exact if m is even and gamma is 1: half of the documents
    are opposite to the others, in features and grade. Else it is an upper bound.

    gamma : the probability of exploring; other arguments as in `estimate_constant`
    """
    score = radius * ball
    # gamma / p, summed over documents: one is on top, and each of the others is seen with
    # probability gamma / m.
    seen = m * (m - 1) + gamma / (1 - gamma + gamma / m)
    if surrogate == "squared":
        return 4 * radius**2 * (gamma * m**2 * score * (score + 2 * largest) + largest**2 * seen)
    if surrogate == "kl":
        furthest = max(_exponential(score) - 1, _exponential(largest) - math.exp(-score))
        return (radius * furthest) ** 2 * seen
    # ranksvm: the squared distances of all pairs sum to (m R_X)^2 at most
    return m**3 * (m - 1) / 2 * radius**2


def gradient_norm(surrogate: str, m: int, radius: float, largest: int, ball: float) -> float:
    """The largest norm of the gradient in w under full feedback, as in `estimate_constant`; also of
    "listnet".
    """
    return (
        radius
        * {
            "squared": 2 * m * (radius * ball + largest),
            "kl": m * _exponential(max(radius * ball, largest)),
            "ranksvm": m * (m - 1),  # a pair adds e_j - e_i
            "listnet": 2,
        }[surrogate]
    )


def top_rate(constant: float, ball: float, gamma: float, fixed: bool) -> float:
    """The `rate` that minimises `top_regret`; its other arguments are the same."""
    return ball * math.sqrt((1 if fixed else 8 / 3) * gamma / constant)


def top_regret(
    rounds, rate: float, constant: float, ball: float, gamma: float, loss: float, fixed: bool
):
    """Theorem 30 with its constants: the expected regret of RTop-kF after T rounds, of order
    T^(2/3).

    rounds : T; rate : of the step sizes rate * t^-2/3; constant : C, see `estimate_constant`
    ball : U; gamma : of the probability of exploring, gamma * t^-1/3
    loss : the largest loss of a round that explores, see `exploration_loss`
    fixed : whether T stands for t in both; else the bound has the ball's diameter 2U in place of U
    """
    if fixed:
        return (ball**2 / (2 * rate) + rate * constant / (2 * gamma) + gamma * loss) * rounds ** (
            2 / 3
        )
    return (
        2 * ball**2 / rate + 3 / 4 * rate * constant / gamma + 3 / 2 * gamma * loss
    ) * rounds ** (2 / 3)


def descent_rate(norm: float, ball: float, fixed: bool) -> float:
    """The `rate` that minimises `descent_regret`; its other arguments are the same."""
    return ball / norm * (1 if fixed else math.sqrt(2))


def descent_regret(rounds, rate: float, norm: float, ball: float, fixed: bool):
    """The regret of online gradient descent after T rounds with step sizes rate * t^-1/2, or rate *
    T^-1/2 if `fixed`.

    Zinkevich 2003, Theorem 1.

    norm : the largest norm of a gradient
    """
    if fixed:
        return (ball**2 / (2 * rate) + rate * norm**2 / 2) * rounds**0.5
    return (2 * ball**2 / rate + rate * norm**2) * rounds**0.5


def adagrad_regret(squares, ball: float):
    """The regret of AdaGrad's norm version on the ball of radius U: `2 sqrt(2) U sqrt(sum of
    ||g||^2)`.

    Streeter and McMahan 2010; Orabona 2019, section 4.2 (the ball's diameter is 2U). It holds in
    every run for gradients of convex losses. For unbiased estimates z, its expectation bounds the
    expected regret, and so, by Jensen's inequality, does `2 sqrt(2) U sqrt(sum of E ||z||^2)`;
    regret in rounds that explore comes on top.

    squares : the sum of the squared norms of all gradients or estimates
    """
    return 2 * math.sqrt(2) * ball * squares**0.5


def impossible_floor() -> float:
    """The least expected regret a round of any learner with top-1 feedback, averaged over the two
    distributions of Table B.1 (Theorem 32), about 0.0024.

    The learner is judged by NDCG-squared. Its expected loss under a distribution p is least at
    `mu_p = E[G(R) / Z(R)]`, and scores s lose `||s - mu_p||^2` a round more than that. Top-1
    feedback does not tell the distributions p and p~ apart, so that no s is better than the best
    for their mean, which loses `||mu_p - mu_p~||^2 / 4` a round, at any horizon.
    """
    ideal = [
        sum(1 / math.log2(1 + i) for i in range(1, sum(vector) + 1)) or 1.0
        for vector in table_b1.VECTORS
    ]
    means = [
        [
            sum(
                n * vector[item] / z
                for n, vector, z in zip(counts, table_b1.VECTORS, ideal, strict=True)
            )
            / 20
            for item in range(3)
        ]
        for counts in table_b1.TWENTIETHS.values()
    ]
    return math.dist(*means) ** 2 / 4

"""Partial monitoring: how fast does minimax regret grow when only the top k items of a ranking are
seen?

The game (thesis 3.2): in each round the learner shows a ranking of m fixed items, and an adversary
picks their relevance vector. The learner's loss is a measure of the whole ranking, but it only sees
the relevances of its top k items, in order. The minimax regret of a finite game grows as 1 (one
best action), T^(1/2) (locally observable), T^(2/3) (globally observable only) or T (neither):
Bartok et al. 2014, and Lattimore & Szepesvari 2019 where actions have duplicates.

Measures, by name; [@c] is an optional cut, 1 <= c <= m:
- losses: "sum-loss", "pairwise-loss", "auc";
- gains: "dcg[@c]", "ndcg[@c]", "precision@c", "ap", "err". Their loss is minus the gain, as in the
  thesis (3.2.1). An added constant, as in 1 - NDCG, changes no difference of losses, and so no
  result here.
Relevance is binary, but "sum-loss", "dcg" and "ndcg" also take grades 0..`top_grade`. "err" has the
binary scale: a relevant item satisfies the user with probability 1/2. A list without a relevant
item has NDCG = AP = ERR = 0.

In all functions `measure`, `m` and `top_grade` are as for `loss_matrix`.

Rankings are numbered as in Table 3.1: by the vector of the items' positions, in lexicographic
order, so that number 0 is 0, 1, ..., m-1. Relevance vectors are in lexicographic order too. m is 1
to `MAX_ITEMS`.

How results are computed, and why they are exact:
- *Symmetry.* Relabelling the items maps the game to itself and any ranking to any other. So all
  cells are alike; since they cover the simplex, all have full dimension: **every ranking is
  Pareto-optimal**, for every measure. And what holds for the pairs with ranking 0 holds for all
  pairs.
- *Span of the signals.* Every function of R is a unique linear combination of `prod_{i in S} 1(R_i
  = r_i)` over sets S of items and grades r_i > 0 (the Moebius transform). The signals of a ranking
  span the terms whose S is among its top k items. So a loss difference is observable iff each S of
  its expansion lies in the top k of some available ranking.
- *Coefficients.* They are integer combinations of 1, of the discounts D(i) (DCG) or of D(i) / Z(R)
  (NDCG). One is zero if all the integers are, and not zero if an enclosure to 40 digits excludes
  zero; otherwise an `ArithmeticError` is raised.
- *Duplicates.* A ranking whose cell contains the common facet of two neighbours' cells has the loss
  of one of them: its loss is an affine combination of theirs, and any other combination would have
  a cell without full dimension.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from itertools import permutations, product
from math import lcm

import numpy as np

from scant import measures
from scant.data import table_b1

MAX_ITEMS = 5  # 120 rankings
MAX_TOP_GRADE = 4

LOSSES = {
    "sum-loss": lambda ranking, grades, cut: measures.sum_loss(ranking, grades),
    "pairwise-loss": lambda ranking, grades, cut: measures.pairwise_loss(ranking, grades),
    "auc": lambda ranking, grades, cut: measures.auc_loss(ranking, grades),
    "ap": lambda ranking, grades, cut: -measures.average_precision(ranking, grades),
    "err": lambda ranking, grades, cut: -measures.err(ranking, grades, max_grade=1),
    "dcg": lambda ranking, grades, cut: -measures.dcg(ranking, grades, cut),
    "ndcg": lambda ranking, grades, cut: -measures.ndcg(ranking, grades, cut),
    "precision": lambda ranking, grades, cut: -measures.precision_at(ranking, grades, cut),
}
# The others are, up to a term in R alone, sum_i f(position of i) g_i(R) with f monotone (thesis
# 3.2.2). So are PairwiseLoss and AUC: for binary R they are SumLoss - |R|(|R|+1)/2, over |R|(m-|R|)
# for AUC.
NOT_LINEAR = {"ap", "err"}

DIGITS = 40  # of the enclosures of irrational numbers


@dataclass(frozen=True)
class Rate:
    """A game and the growth of its minimax regret.

    rate : in the rounds T, without constants and logarithms: "0" (all rankings have the same loss),
        "T^(1/2)", "T^(2/3)" or "T"
    """

    measure: str
    m: int
    k: int
    top_grade: int
    globally_observable: bool
    locally_observable: bool
    rate: str


@dataclass(frozen=True)
class Indistinguishable:
    """Table B.1: two distributions that top-1 feedback cannot tell apart, with different best
    rankings for NDCG.

    relevances : int64 of shape (8, 3), the relevance vectors in the order of the table
    probabilities : Fraction of shape (2, 8), the distributions
    means : Fraction of shape (2, 3), `E[R]`, which is all that top-1 feedback reveals
    gains : float64 of shape (2, 3), `E[G(R) / Z(R)]`; ranking by it in descending order is best for
        NDCG
    """

    relevances: np.ndarray
    probabilities: np.ndarray
    means: np.ndarray
    gains: np.ndarray


@dataclass(frozen=True)
class _Game:
    """A measure, number of items and top grade: a game without its feedback."""

    base: str
    cut: int | None
    m: int
    top_grade: int

    @property
    def levels(self) -> np.ndarray:
        """The number of each position's level, (m); positions of the same level have the same
        weight in the measure.
        """
        if self.base == "precision":
            return np.arange(self.m) >= self.cut
        return np.minimum(np.arange(self.m), self.m if self.cut is None else self.cut)


def rankings(m: int) -> np.ndarray:
    """All rankings of m items, best first, in the order of Table 3.1: int64 of shape (m!, m)."""
    # Rows are sorted by positions; argsort turns positions into rankings.
    return np.argsort(list(permutations(range(m))), axis=1)


def relevances(m: int, top_grade: int = 1) -> np.ndarray:
    """All relevance vectors of m items, lexicographic: int64 of shape ((top_grade + 1)^m, m)."""
    return np.array(list(product(range(top_grade + 1), repeat=m)))


def loss_matrix(measure: str, m: int, top_grade: int = 1) -> np.ndarray:
    """The loss of each ranking for each relevance vector (thesis 3.2.4), float64 of shape (m!,
    (top_grade + 1)^m); for a gain, minus the gain.

    measure : a name of the module's list
    m : number of items, 1 to `MAX_ITEMS`
    top_grade : the largest grade, 1 to `MAX_TOP_GRADE`; 1 is binary relevance
    """
    return _losses(_game(measure, m, top_grade))


def signal_matrix(ranking: np.ndarray, k: int) -> np.ndarray:
    """The signal matrix of a ranking: which binary relevance vectors give which feedback (thesis
    3.2.4, Definition 2).

    ranking : (m), best first; k : how many items are seen

    Returns
    -------
    signals : 0 or 1, int64 of shape (2^k, 2^m): a row for each feedback, in lexicographic order;
        each column holds a single 1
    """
    seen = relevances(len(ranking))[:, ranking[:k]]
    return np.all(relevances(k)[:, None] == seen, axis=2).astype(np.int64)


def table_3_1() -> np.ndarray:
    """Table 3.1 of the thesis, the loss matrix of SumLoss for m = 3: int64 of shape (6, 8)."""
    return loss_matrix("sum-loss", 3).astype(np.int64)


def table_3_2() -> np.ndarray:
    """Table 3.2 of the thesis, the relevance of the top item, which feedback shows where m = 3 and
    k = 1: int64 of shape (6, 8).
    """
    return relevances(3).T[rankings(3)[:, 0]]


def table_b_1() -> Indistinguishable:
    """Table B.1 of the thesis (proof of Theorem 32) and its consequences; m = 3, binary relevance.

    For every ranking, top-1 feedback has the same distribution under both, but different rankings
    are best for NDCG. So with top-1 feedback any learner has regret linear in T under one of them.
    """
    vectors, twentieths = np.array(table_b1.VECTORS), np.array(list(table_b1.TWENTIETHS.values()))
    probabilities = twentieths * Fraction(1, 20)
    # An item's E[G(R) / Z(R)] is the sum over c = 1, 2, 3 of its coefficient c over D(1) + ... +
    # D(c).
    of_size = vectors.sum(axis=1) == np.arange(1, 4)[:, None]
    coefficients = np.einsum("dr,ri,cr->dic", twentieths, vectors, of_size) * Fraction(1, 20)
    gains = coefficients.astype(float) @ (1 / np.cumsum(measures.discount(np.arange(1, 4))))
    return Indistinguishable(vectors, probabilities, probabilities @ vectors, gains)


def neighbours(measure: str, m: int, top_grade: int = 1) -> np.ndarray:
    """Which rankings are neighbours, their cells sharing a facet (thesis, Definition 4): bool (m!,
    m!), symmetric.

    Rankings with one loss (duplicates) are not neighbours, and each has the same neighbours. For
    the measures of the form `f(positions) . g(R)` they are the rankings that exchange two items of
    adjacent levels, positions with equal f being one level (Lemma 14, its converse, and its
    extension to f that is not strictly monotone). For AP and ERR they are found by linear programs.

    Raises
    ------
    ArithmeticError : the linear programs leave a pair undecided (never, for the measures here)
    """
    game = _game(measure, m, top_grade)
    of_first = {tuple(ranking) for ranking in rankings(m)[list(_neighbours_of_first(game))]}
    place = np.argsort(rankings(m), axis=1)
    # Relabel the items so that ranking i becomes ranking 0; what does ranking j become?
    relabelled = place[:, rankings(m)]
    return np.array([[tuple(ranking) in of_first for ranking in row] for row in relabelled])


def neighbourhood(measure: str, m: int, j: int, top_grade: int = 1) -> np.ndarray:
    """The neighbourhood action set of ranking 0 and its neighbour j (thesis, Definition 4).

    The rankings whose cells contain the common facet of the cells of 0 and j: these two and their
    duplicates. Their numbers ascend, int64.
    """
    return np.flatnonzero(_neighbourhood(_game(measure, m, top_grade), j))


def globally_observable(measure: str, m: int, k: int, top_grade: int = 1) -> bool:
    """Whether the signals of all rankings reveal every difference of two losses (thesis, Definition
    3).

    If not, every learner has linear regret against some adversary.

    k : how many items are seen, 1 to m

    Raises
    ------
    ArithmeticError : a coefficient of a difference is too close to zero to decide (never, for the
        measures here)
    """
    game = _game(measure, m, top_grade)
    # Any ranking is reached from any other by exchanges of adjacent items, and the differences add
    # up on the way; up to a relabelling, each exchange is one of ranking 0.
    exchanges = tuple((*range(q), q + 1, q, *range(q + 2, m)) for q in range(m - 1))
    return all(len(items) <= k for terms in _terms(game, exchanges) for items in terms)


def locally_observable(measure: str, m: int, k: int, top_grade: int = 1) -> bool:
    """Whether neighbours can be compared by the signals of their neighbourhood alone (thesis,
    Definition 5).

    Parameters, errors : see `globally_observable`
    """
    game = _game(measure, m, top_grade)
    of_first = _neighbours_of_first(game)
    all_rankings = rankings(m)
    differing = tuple(tuple(all_rankings[j].tolist()) for j in of_first)
    for j, terms in zip(of_first, _terms(game, differing), strict=True):
        tops = {
            frozenset(ranking[:k].tolist()) for ranking in all_rankings[_neighbourhood(game, j)]
        }
        if not all(any(items <= top for top in tops) for items in terms):
            return False
    return True


@cache
def regret_rate(measure: str, m: int, k: int, top_grade: int = 1) -> Rate:
    """The growth of the game's minimax regret, by the classification theorem (see the module and
    `Rate`).

    Parameters, errors : see `globally_observable`
    """
    everywhere = globally_observable(measure, m, k, top_grade)
    nearby = locally_observable(measure, m, k, top_grade)
    if not _neighbours_of_first(_game(measure, m, top_grade)):
        rate = "0"
    elif nearby:
        rate = "T^(1/2)"
    else:
        rate = "T^(2/3)" if everywhere else "T"
    return Rate(measure, m, k, top_grade, everywhere, nearby, rate)


def atlas() -> list[Rate]:
    """The minimax rate of every measure, for m = 2 to `MAX_ITEMS` and the top k = 1 to m seen.

    All names of the module with cuts 1 to m-1, binary, and "dcg" and "ndcg" also with grades 0..2;
    sorted by m, measure and k. The thesis has k = 1, and leaves k > 1 and Precision@n open (3.2.3,
    3.2.6, 3.5). For SumLoss, PairwiseLoss, DCG and Precision@n with any m, Zhang & Tewari (2023,
    arXiv 2309.02425) prove the rates found here.
    """
    return [regret_rate(*cell) for cell in cells()]


def cells() -> list[tuple[str, int, int, int]]:
    """The measure, m, k and top grade of each entry of `atlas`, in its order."""
    listed = []
    for m in range(2, MAX_ITEMS + 1):
        cut = [(f"{base}@{c}", 1) for base in ("precision", "dcg", "ndcg") for c in range(1, m)]
        whole = [
            (name, 1) for name in ("sum-loss", "pairwise-loss", "auc", "dcg", "ndcg", "ap", "err")
        ]
        for measure, top_grade in [*whole, ("dcg", 2), ("ndcg", 2), *cut]:
            listed += [(measure, m, k, top_grade) for k in range(1, m + 1)]
    return listed


@lru_cache(maxsize=64)
def _losses(game: _Game) -> np.ndarray:
    return _some_losses(game, rankings(game.m))


def _some_losses(game: _Game, shown) -> np.ndarray:
    """The losses of some rankings: float64 of shape (rankings, relevance vectors)."""
    vectors, first = relevances(game.m, game.top_grade), np.arange(game.m)
    of_first = np.array([LOSSES[game.base](first, r, game.cut) for r in vectors], dtype=float)
    # A ranking has the loss that ranking 0 has for the relevance vector in the order of the
    # ranking.
    digits = (game.top_grade + 1) ** first[::-1]
    return np.array([of_first[vectors[:, list(ranking)] @ digits] for ranking in shown])


def _neighbourhood(game: _Game, j: int) -> np.ndarray:
    """`neighbourhood` of ranking 0 and its neighbour j, as bool of shape (m!,)."""
    levels = _item_levels(game)
    return np.all(levels == levels[0], axis=1) | np.all(levels == levels[j], axis=1)


@lru_cache(maxsize=64)
def _item_levels(game: _Game) -> np.ndarray:
    """The level of each item's position in each ranking: int64 of shape (m!, m); equal rows are
    equal losses.
    """
    return game.levels.astype(np.int64)[np.argsort(rankings(game.m), axis=1)]


@lru_cache(maxsize=256)
def _neighbours_of_first(game: _Game) -> tuple[int, ...]:
    """The numbers of the neighbours of ranking 0."""
    if game.base in NOT_LINEAR:
        return _neighbours_by_program(game)
    # Ranking 0 is best where v = E[g(R)] has v_a >= v_b for each a on a higher level than b, and v
    # covers an open set: it can be 0 and positive in any one item alone. The inequalities that
    # follow from no others are between adjacent levels; a facet is where one of them is an
    # equality, and behind it lies the cell of the rankings that exchange a and b: one item a level
    # down, one a level up.
    levels = _item_levels(game)
    return tuple(np.flatnonzero(np.abs(levels - levels[0]).sum(axis=1) == 2).tolist())


def _neighbours_by_program(game: _Game) -> tuple[int, ...]:
    """`_neighbours_of_first`, for measures that are a sum over positions of a term in the item
    there and the *set* of items above it.

    If a ranking permutes one block of ranking 0, a linear program must find a distribution with
    which it ties with ranking 0 and all others lose by a margin: a margin far above rounding proves
    that there is a facet. If it permutes two or more separate blocks, its difference to ranking 0
    is the sum of the differences of the blocks alone, which are >= 0 in the cell of 0: all of them
    vanish where the cells meet, and as each can vanish alone, that is no facet.
    """
    from scipy.optimize import linprog  # imported here: it takes a quarter of a second

    losses = _losses(game)
    beaten_by = losses - losses[0]
    outcomes = losses.shape[1]
    all_rankings = rankings(game.m)
    one_block = [
        j for j, ranking in enumerate(all_rankings.tolist()) if _permuted_blocks(ranking) == 1
    ]
    for j in one_block:
        back = np.flatnonzero(np.all(all_rankings == np.argsort(all_rankings[j]), axis=1))[0]
        # by relabelling, 0 and j are neighbours if 0 and `back` are, which was checked before
        if back < j:
            continue
        # Variables: the distribution p, and the margin, which is to be as great as can be. By how
        # much a ranking of several blocks loses follows from the rankings of one.
        others = beaten_by[[i for i in one_block if i != j]]
        above = np.hstack(
            [-np.vstack([others, np.eye(outcomes)]), np.ones((len(others) + outcomes, 1))]
        )
        ties = np.vstack([np.append(beaten_by[j], 0), np.append(np.ones(outcomes), 0)])
        goal = np.append(np.zeros(outcomes), -1)
        solved = linprog(
            goal, above, np.zeros(len(above)), ties, [0, 1], bounds=(None, None), method="highs"
        )
        if solved.x is None:
            raise ArithmeticError(f"no distribution found between rankings 0 and {j} of {game}")
        p = solved.x[:-1]
        margin = min(np.min(np.delete(beaten_by, [0, j], axis=0) @ p, initial=1), p.min())
        if not (margin > 1e-6 and abs(beaten_by[j] @ p) < 1e-10 and abs(p.sum() - 1) < 1e-10):
            raise ArithmeticError(
                f"whether rankings 0 and {j} of {game} are neighbours is undecided"
            )
    return tuple(one_block)


def _permuted_blocks(ranking: list[int]) -> int:
    """How many separate blocks of 0..m-1 a ranking permutes: 0 for 0 1 2 3, 1 for 0 2 1 3, 2 for 1
    0 3 2.
    """
    # A block ends where the items so far are 0..q, that is, where their greatest is q.
    ends = [-1] + [q for q, greatest in enumerate(np.maximum.accumulate(ranking)) if greatest == q]
    return int(np.count_nonzero(np.diff(ends) > 1))


@lru_cache(maxsize=64)
def _terms(game: _Game, shown: tuple[tuple[int, ...], ...]) -> list[set[frozenset[int]]]:
    """For each ranking, the sets S of items in the expansion of its loss minus that of ranking 0
    (see the module).
    """
    coefficients, enclosures = _formal_losses(game, [range(game.m), *shown])
    m, grades = game.m, game.top_grade + 1
    relevant = relevances(m, game.top_grade) > 0
    terms = []
    for difference in coefficients[1:] - coefficients[0]:
        expansion = difference.reshape((grades,) * m + (-1,))
        for axis in range(m):
            expansion = np.moveaxis(expansion, axis, 0)
            expansion = np.concatenate([expansion[:1], expansion[1:] - expansion[0]])
            expansion = np.moveaxis(expansion, 0, axis)
        present = relevant[_nonzero(expansion.reshape(grades**m, -1), enclosures)]
        terms.append({frozenset(np.flatnonzero(row).tolist()) for row in present})
    return terms


def _formal_losses(game: _Game, shown) -> tuple[np.ndarray, list[int]]:
    """The losses of the rankings `shown` as integer combinations of real numbers, up to a factor.

    Returns
    -------
    coefficients : int64 of shape (rankings, relevance vectors, numbers)
    enclosures : an integer v for each number, which is in [v - 1, v + 1] / 10^DIGITS
    """
    if game.base in ("dcg", "ndcg"):
        return _discounted_losses(game, shown)
    return _rational_losses(game, shown), [10**DIGITS]


def _rational_losses(game: _Game, shown) -> np.ndarray:
    """Losses times a factor that makes them whole, int64 (rankings, relevance vectors, 1).

    Denominators are at most a product of two numbers up to m (AP: |R| and a position; AUC: |R| (m -
    |R|)), or of one and a power of two (ERR).
    """
    losses = _some_losses(game, shown) * (lcm(*range(1, game.m + 1)) ** 2 * 2**game.m)
    whole = np.rint(losses)
    if np.abs(losses - whole).max() > 1e-6:
        raise ArithmeticError(f"the losses of {game} are not rational as supposed")
    return whole.astype(np.int64)[:, :, None]


def _discounted_losses(game: _Game, shown) -> tuple[np.ndarray, list[int]]:
    """`_formal_losses` of DCG and NDCG: combinations of discounts, or of discounts over ideals."""
    vectors = relevances(game.m, game.top_grade)
    cut = game.m if game.cut is None else game.cut
    gains = 2**vectors - 1
    ranked = -gains[:, np.array([list(ranking) for ranking in shown])].swapaxes(0, 1)
    ranked[:, :, cut:] = 0
    with localcontext(prec=DIGITS + 20):
        two = Decimal(2).ln()
        discounts = [two / Decimal(1 + i).ln() for i in range(1, game.m + 1)]
        if game.base == "dcg":
            return ranked, _enclose(discounts)
        # A number for each position and each Z, that is, for each multiset of grades at the top of
        # the ideal list.
        ideals, which = np.unique(-np.sort(-gains, axis=1)[:, :cut], axis=0, return_inverse=True)
        z = [
            sum(int(g) * d for g, d in zip(ideal, discounts, strict=False)) or 1 for ideal in ideals
        ]
        spread = np.zeros((*ranked.shape[:2], len(z), game.m), dtype=np.int64)
        spread[:, np.arange(len(vectors)), which.ravel()] = ranked
        return spread.reshape(*ranked.shape[:2], -1), _enclose(
            [discount / ideal for ideal in z for discount in discounts]
        )


def _enclose(numbers: list[Decimal]) -> list[int]:
    return [int((number * 10**DIGITS).to_integral_value()) for number in numbers]


def _nonzero(coefficients: np.ndarray, enclosures: list[int]) -> np.ndarray:
    """Whether the combination in each row is not zero: bool of shape (rows,); an ArithmeticError if
    undecided.
    """
    present = coefficients.any(axis=1)
    distinct = np.unique(coefficients[present], axis=0)
    value = distinct.astype(object) @ np.array(enclosures, dtype=object)
    if np.any(np.abs(value) <= np.abs(distinct).sum(axis=1)):
        raise ArithmeticError(
            f"whether a combination of irrational numbers is zero shows in no {DIGITS} digits"
        )
    return present


def _game(measure: str, m: int, top_grade: int) -> _Game:
    """The game of a measure by its name."""
    base, _, cut = measure.partition("@")
    return _Game(base, int(cut) if cut else None, m, top_grade)

"""The table of theorems on games on fixed items, held against numbers (thesis, section 3.2; Ailon).

It needs no run. Each row is exact, or from an enumeration; `scant.theory.checks` says what columns
mean.
"""

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
from numpy.polynomial import Chebyshev

from scant.games import sorting
from scant.randomness import generator
from scant.theory import game_bounds, observability
from scant.theory.checks import Check, table

SLOPE = 0.01  # how close the slope of a bound must come to the exponent that is stated


def games_table() -> pd.DataFrame:
    """Theorems on games on fixed items, two seconds."""
    return table(
        _full_information(),
        _bandit(),
        _forecaster(),
        _pairwise_loss(),
        _cells(),
        _blocks(),
        _sorts(),
        _orders(),
        _fpl(),
        _guarantees(),
        _choice_lower_bound(),
    )


# --- partial monitoring


def _full_information() -> Iterator[Check]:
    """Precision@n from the top n: how many rankings' losses a round reveals.

    A loss is revealed if it is a linear combination of the shown ranking's signals. By symmetry one
    ranking is enough.
    """
    for m in range(2, observability.MAX_ITEMS + 1):
        for n in range(1, m):
            losses = observability.loss_matrix(f"precision@{n}", m)
            signals = observability.signal_matrix(np.arange(m), n).astype(float)
            # Signals are indicators of disjoint sets of relevance vectors: project on them by
            # taking means.
            projected = (losses @ signals.T / signals.sum(axis=1)) @ signals
            revealed = np.abs(losses - projected).max(axis=1) < 1e-9
            yield Check(
                "all losses of Precision@n seen, k = n",
                "thesis, 3.2.2; AISTATS'15, sections 3 and 11",
                "rankings whose loss is revealed",
                f"n = k = {n}",
                m,
                int(revealed.sum()),
                ">=",
                len(losses),
                len(losses),
            )


def _bandit() -> Iterator[Check]:
    """3.2.6: with every item seen a game is one of bandits, and so locally observable."""
    for m in range(2, observability.MAX_ITEMS):
        games = [(name, k, top) for name, items, k, top in observability.cells() if items == k == m]
        hidden = sum(
            not observability.locally_observable(name, m, k, top) for name, k, top in games
        )
        yield Check(
            "not locally observable, k = m",
            "thesis, 3.2.6",
            "measures that are not locally observable with every item seen",
            "every measure of the atlas",
            m,
            hidden,
            "=",
            0,
            len(games),
        )


def _forecaster() -> Iterator[Check]:
    """3.2.6: how the bound for the algorithm of Cesa-Bianchi, Lugosi & Stoltz (2006) grows with its
    N = m! actions.

    It explores each action with probability gamma / N, and estimates losses as `K(i, a) h / P(a)`,
    L = KH. Theorem 12 has such a K, with entries up to m. So second moments are at most (m N)^2 /
    gamma, and the bound is of the order `(m N)^(2/3) (log N)^(1/3) T^(2/3)`.
    """
    low, high = (math.lgamma(m + 1) for m in (10, 20))  # log N
    grown = 2 / 3 * (math.log(20 / 10) + high - low) + math.log(high / low) / 3
    yield Check(
        "bound of the forecaster in m!",
        "thesis, 3.2.6",
        "slope of the log of the bound on that of m!",
        "SumLoss, the top one seen, m = 10 and 20",
        20,
        grown / (high - low),
        "=",
        1,
        2,
        SLOPE,
    )


def _pairwise_loss() -> Iterator[Check]:
    """Equation 3.2: PairwiseLoss less SumLoss is -r (r + 1) / 2 for r relevant items, whatever the
    ranking.
    """
    for m in range(2, observability.MAX_ITEMS + 1):
        pairwise, total = (
            observability.loss_matrix(name, m) for name in ("pairwise-loss", "sum-loss")
        )
        relevant = observability.relevances(m).sum(axis=1)
        furthest = np.abs(pairwise - total + relevant * (relevant + 1) / 2).max()
        yield Check(
            "PairwiseLoss and SumLoss",
            "thesis, equation 3.2",
            (
                "largest distance of PairwiseLoss - SumLoss from -r (r + 1) / 2, r items being "
                "relevant"
            ),
            "all rankings and relevances",
            m,
            float(furthest),
            "=",
            0.0,
            pairwise.size,
        )


def _best(measure: str, m: int) -> list[frozenset[int]]:
    """Which rankings have the least expected loss, for distributions with every weak order of the
    mean relevances.

    The expected loss depends on the mean relevances alone, and which rankings are best on their
    weak order. Each distribution has independent relevances and gives every vector a positive
    probability: it is not on the boundary.
    """
    vectors = observability.relevances(m)
    means = np.array(list(product(range(1, m + 1), repeat=m))) / (m + 1)
    chances = np.where(vectors[None] == 1, means[:, None], 1 - means[:, None]).prod(axis=2)
    expected = chances @ observability.loss_matrix(measure, m).T
    return [
        frozenset(np.flatnonzero(row).tolist())
        for row in expected < expected.min(axis=1)[:, None] + 1e-9
    ]


def _cells() -> Iterator[Check]:
    """Lemmas 13 and 14 on SumLoss; that Lemma 14 does not extend to Precision, where several
    rankings have one loss.
    """
    apart = (
        "pairs of rankings that exchange neighbouring items but do not share a facet, or share "
        "one and do not"
    )
    for m in range(2, observability.MAX_ITEMS + 1):
        best, orders = _best("sum-loss", m), observability.rankings(m)
        alone = {rankings for rankings in best if len(rankings) == 1}
        yield Check(
            "Pareto-optimal rankings",
            "thesis, Lemma 13",
            "rankings that some distribution makes the only best one",
            "SumLoss, all weak orders of mean relevances",
            m,
            len(alone),
            "=",
            len(orders),
            len(best),
        )
        twins = {rankings for rankings in best if len(rankings) == 2}
        exchanged = {
            frozenset((i, j))
            for i, j in combinations(range(len(orders)), 2)
            if list(np.flatnonzero(orders[i] != orders[j]))
            in [[place, place + 1] for place in range(m - 1)]
        }
        pairs = math.comb(len(orders), 2)
        yield Check(
            "neighbours",
            "thesis, Lemma 14",
            apart,
            f"SumLoss, {len(twins)} pairs share one",
            m,
            len(twins ^ exchanged),
            "=",
            0,
            pairs,
        )
        if m > 2:
            twins = {rankings for rankings in _best("precision@1", m) if len(rankings) == 2}
            yield Check(
                "neighbours under Precision",
                "thesis, 3.2.8",
                apart,
                f"Precision@1, {len(twins)} pairs are best alone",
                m,
                len(twins ^ exchanged),
                ">=",
                1,
                pairs,
            )


def _blocks() -> Iterator[Check]:
    """Lemma 18: what blocks reveal is the mean relevance in expectation, over all draws of their
    rounds.

    And how many rounds explore, with the numbers of blocks of the thesis's figure.
    """
    random = generator(0, "blocks")
    for t, m, k in ((4, 3, 1), (5, 4, 2), (5, 5, 2), (4, 4, 4)):
        relevances = random.integers(0, 5, (t, m)).astype(float)
        parts = [range(first, min(first + k, m)) for first in range(0, m, k)]
        drawn = list(permutations(range(t), len(parts)))
        revealed = [
            [
                relevances[round_, item]
                for round_, part in zip(rounds, parts, strict=True)
                for item in part
            ]
            for rounds in drawn
        ]
        furthest = float(np.abs(np.mean(revealed, axis=0) - relevances.mean(axis=0)).max())
        yield Check(
            "unbiased from blocks",
            "thesis, Lemma 18",
            "largest distance of the expectation from the mean relevance",
            f"top {k}, {t} rounds, grades to 4",
            m,
            furthest,
            "=",
            0.0,
            len(drawn),
        )

    for blocks in (10, 200, 400):
        explored = game_bounds.cells(20, 1) * blocks / 10_000
        yield Check(
            "rounds that explore",
            "thesis, 3.4.1",
            "share of the rounds that explore",
            f"K = {blocks}, the top one seen, 10,000 rounds",
            20,
            explored,
            ">",
            0.5,
        )


# --- sorting with noise


def _sorts() -> Iterator[Check]:
    """Lemma 6.1 and section 8: what distributions of rankings the two noisy sorts have, by
    enumeration.
    """
    sorts = {
        "QuickSort": sorting.quicksort_distribution,
        "Plackett-Luce": sorting.plackett_luce_distribution,
    }
    random = generator(0, "sorts")
    for n in range(2, 6):
        weights = [np.arange(n), np.zeros(n), 3.0 * np.arange(n), *random.normal(0, 2, (2, n))]
        distributions = {
            name: [distribution(w) for w in weights] for name, distribution in sorts.items()
        }
        stated = [1 / (1 + np.exp(w - w[:, None])) for w in weights]  # P(u before v), (n x n)
        for name, of_rankings in distributions.items():
            pairs = map(sorting.marginals, of_rankings)
            distances = [
                np.abs(np.triu(of_pairs - lemma, 1))
                for of_pairs, lemma in zip(pairs, stated, strict=True)
            ]
            furthest = float(np.max(distances))
            yield Check(
                f"pairs of {name}",
                "Ailon, Lemma 6.1",
                "largest distance of P(u before v) from e^w(u) / (e^w(u) + e^w(v))",
                "five weight vectors",
                n,
                0.0 if furthest < 1e-12 else furthest,
                "=",
                0.0,
                len(weights) * math.comb(n, 2),
            )
        if n > 2:
            first, second = (of_rankings[0] for of_rankings in distributions.values())
            apart = sum(abs(first[ranking] - second[ranking]) for ranking in second) / 2
            yield Check(
                "QuickSort is not Plackett-Luce",
                "Ailon, section 8",
                "total variation distance of the two",
                "weights 0, 1, 2, ...",
                n,
                apart,
                ">",
                0.0,
                math.factorial(n),
            )
    for weights in (
        np.array([0.0, 1.0]),
        np.array([0.0, 0.5, 2.0]),
        np.array([0.0, 1.0, 1.0, -1.0]),
    ):
        exact = sorting.plackett_luce_distribution(weights)
        furthest = max(
            abs(_gumbel_chance(weights[list(ranking)]) - chance)
            for ranking, chance in exact.items()
        )
        yield Check(
            "Plackett-Luce is FPL with Gumbel noise",
            "Ailon, section 8",
            (
                "largest distance of a ranking's probability under noisy weights, by quadrature, "
                "from Plackett-Luce's"
            ),
            f"weights {', '.join(f'{w:g}' for w in weights)}",
            len(weights),
            furthest,
            "=",
            0.0,
            len(exact),
        )


def _gumbel_chance(weights: np.ndarray) -> float:
    """The probability that weights plus noise, with the distribution function e^(-e^-x), are in
    descending order.

    From the last weight on: the probability that it and the weights after it descend, all below x,
    is an integral up to x, taken of an interpolation.
    """
    below = None
    for weight in weights[::-1]:

        def density(x, weight=weight, below=below):
            noise = x - weight
            return np.exp(-noise - np.exp(-noise)) * (1 if below is None else below(x))

        interpolated = Chebyshev.interpolate(density, 150, domain=[-6, 35])
        below = interpolated.integ(lbnd=-6)
    return float(below(35))


# --- what bounds grow with


def _orders() -> Iterator[Check]:
    """Corollaries 20 to 22: how the bounds of RTop-kF with FTPL grow with m, k, T, n and the
    largest gain.
    """

    def bound(
        loss: str,
        m: int,
        k: int = 1,
        T: int = 10**15,
        top: int = 1,
        n: int = 5,
        printed: bool = False,
    ) -> float:
        places = np.arange(1, m + 1)
        weights = {"SumLoss": places, "DCG": 1 / np.log2(1 + places), "Precision@n": places <= n}
        D, largest = game_bounds.diameter(weights[loss]), 2**top - 1
        R, A = game_bounds.largest_difference(weights[loss], largest), m * largest
        blocks = game_bounds.theory_blocks(m, k, T)
        epsilon = game_bounds.ftpl_epsilon(m, largest ** (2 if printed else 1), blocks)
        return float(
            game_bounds.rtopkf(
                T, T, blocks, m, k, R, lambda rounds: game_bounds.ftpl(rounds, epsilon, D, R, A)
            )
        )

    for corollary, loss, m, key, ends, stated, relation, printed in (
        (20, "SumLoss", 10000, "m", (1000, 10000), 8 / 3, "=", False),
        (20, "SumLoss", 10000, "k", (1, 100), -1 / 3, "=", False),
        (20, "SumLoss", 1000, "T", (10**12, 10**15), 2 / 3, "=", False),
        (21, "DCG", 10000, "m", (1000, 10000), 5 / 3, "<=", False),
        (21, "DCG", 10000, "k", (1, 100), -1 / 3, "=", False),
        (21, "DCG", 20, "top", (4, 10), 1, "=", False),
        (21, "DCG", 20, "top", (4, 10), 1, "<=", True),
        (22, "Precision@n", 10000, "m", (1000, 10000), 2 / 3, "=", False),
        (22, "Precision@n", 10000, "k", (1, 100), -1 / 3, "=", False),
        (22, "Precision@n", 10000, "n", (1, 100), 1, "=", False),
    ):
        at_ends = [bound(loss, **{"m": m, "printed": printed, key: end}) for end in ends]
        variable, (low, high) = key, ends
        if key == "top":
            variable, low, high = "2^n - 1", 2**low - 1, 2**high - 1
        yield Check(
            f"bound of {loss} in {variable}" + (", epsilon as printed" if printed else ""),
            f"thesis, Corollary {corollary}",
            f"slope of the log of the bound on that of {variable}",
            f"{variable} = {low:g} to {high:g}, k = 1 unless varied, at least 10^12 rounds",
            m,
            math.log(at_ends[1] / at_ends[0]) / math.log(high / low),
            relation,
            stated,
            2,
            SLOPE,
        )


def _fpl() -> Iterator[Check]:
    """Ailon, section 4.1: Kalai & Vempala's bound for FPL, 2 sqrt(D A R T), beside OnlineRank's,
    log on log.

    It has the largest loss of a round for R, as the paper does, and items at places 0 to n - 1.
    """

    def fpl(n: int, k: int) -> float:
        D, R = game_bounds.diameter(np.arange(n)), sum(range(n - k, n))
        return 2 * math.sqrt(D * R * k)

    def ours(n: int, k: int, pairs: float) -> float:
        return n * math.sqrt(pairs * math.log(2))

    def slope(f, low: int, high: int) -> float:
        return math.log(f(high) / f(low)) / math.log(high / low)

    for check, quantity, value, stated, n in (
        (
            "bound of FPL in n",
            "slope of the log of FPL's bound on that of n, k = 1",
            slope(lambda n: fpl(n, 1), 1000, 10000),
            3 / 2,
            10000,
        ),
        (
            "bound of FPL in k",
            "slope of the log of FPL's bound on that of k",
            slope(lambda k: fpl(10**6, k), 1, 100),
            1,
            10**6,
        ),
        (
            "FPL over OnlineRank in n, single choice",
            "slope of the log of FPL's bound over OnlineRank's on that of n",
            slope(lambda n: fpl(n, 1) / ours(n, 1, n), 1000, 10000),
            0,
            10000,
        ),
        (
            "FPL over OnlineRank in k",
            "slope of the log of FPL's bound over OnlineRank's on that of k",
            slope(lambda k: fpl(10**6, k) / ours(10**6, k, 10**6 * k), 1, 100),
            1 / 2,
            10**6,
        ),
        (
            "FPL over OnlineRank in n, any choices",
            "slope of the log of FPL's bound over OnlineRank's on that of n",
            slope(lambda n: fpl(n, n) / ours(n, n, n * n / 4), 1000, 10000),
            1 / 2,
            10000,
        ),
    ):
        yield Check(
            check,
            "Ailon, section 4.1",
            quantity,
            "D, R and A as there",
            n,
            value,
            "=",
            stated,
            2,
            SLOPE,
        )


def _choice_lower_bound() -> Iterator[Check]:
    """Ailon, Theorem 3.3: on the uniform stream every learner has the same expected regret.

    Whatever is shown costs (n - 1) / 2 a round. The best ranking costs sum_{u<v} |N_u - N_v| / 2
    less, for the counts N of the items. Their differences are random walks that move in a round
    with probability 2 / n.
    """
    for n in (2, 10, 100, 1000):
        horizons = [2 * n, *(10**power for power in range(1, 7) if 10**power > 2 * n)]
        sides = []
        for rounds in horizons:
            regret = n * (n - 1) / 4 * _distance_walked(rounds, 2 / n)
            sides.append((regret, 0.003 * n**1.5 * math.sqrt(rounds)))
        regret, bound = min(sides, key=lambda side: side[0] / side[1])
        setting = f"T = {horizons[0]:,} to {horizons[-1]:,}, one item chosen uniformly"
        yield Check(
            "lower bound on choices",
            "Ailon, Theorem 3.3",
            "regret, where it is least beside its bound",
            setting,
            n,
            regret,
            ">=",
            bound,
            len(horizons),
        )


def _distance_walked(rounds: int, moves: float) -> float:
    """E |S| of a random walk that moves, by +1 or -1, with a probability in each round."""
    from scipy.special import gammaln, xlog1py, xlogy

    moved = np.arange(rounds + 1)
    half = (moved + 1) // 2  # E |S| after 2 j - 1 and 2 j moves is 2 j C(2 j, j) / 4^j
    distance = 2 * half * np.exp(gammaln(2 * half + 1) - 2 * gammaln(half + 1) - half * math.log(4))
    ways = gammaln(rounds + 1) - gammaln(moved + 1) - gammaln(rounds - moved + 1)
    return float(np.exp(ways + xlogy(moved, moves) + xlog1py(rounds - moved, -moves)) @ distance)


def _guarantees() -> Iterator[Check]:
    """Ailon, sections 4 and 5: by how much other algorithms' guarantees are above OnlineRank's, as
    n or k grows.

    All are for a long horizon and learning rates that minimise them there. A factor of sqrt(log n)
    is a slope of 1/2 on log log n.
    """
    rounds = 1e15

    def weights(n: int, k: int) -> float:
        spread, rankings = k * (n - k), math.factorial(n)
        return game_bounds.hedge(
            rounds, game_bounds.hedge_eta(rankings, spread, rounds), rankings, spread
        )

    def permelearn(n: int) -> float:
        best = rounds / 2  # all items are chosen equally often, and a place costs up to 1
        return (n - 1) * game_bounds.permelearn(best, game_bounds.permelearn_eta(n, best), n)

    def comb_band(n: int) -> float:
        return (n - 1) * game_bounds.comb_band(rounds, game_bounds.comb_band_rates(n, rounds)[0], n)

    def online_rank(n: int, pairs: float, rounds: float = rounds) -> float:
        return game_bounds.online_rank(
            rounds, game_bounds.online_rank_eta(n, pairs, rounds), n, pairs
        )

    def of_rankings(n: int) -> tuple[float, float]:
        """The bounds of FPL and of OnlineRank where whole rankings are aggregated."""
        R, A = n * (n + 1) * (2 * n + 1) / 6, n * (n + 1) / 2
        fpl = 2 * math.sqrt(game_bounds.diameter(np.arange(n)) * R * A * rounds)
        return fpl, online_rank(n, n**2 * (n**2 - 1) / 12)

    def dani(n: int, k: int) -> float:
        """(4.1), with M = k (n - k), at a T that is n^5, so that log T grows as log n."""
        rounds, M = float(n) ** 5, k * (n - k)
        peer = M * math.sqrt(rounds * n * math.log(n) * math.log(rounds))
        return peer / online_rank(n, M, rounds)

    def on_matrices(n: int, k: int) -> float:
        """FPL's bound on rankings as matrices over OnlineRank's."""
        D, R, A = 2 * n, k * n, k * n * (n - 1) / 2
        return 2 * math.sqrt(D * R * A * rounds) / online_rank(n, k * (n - k))

    def permelearn_of_rankings(n: int) -> float:
        # random rankings' loss; the unit is n^2, a place's most
        best = rounds * (n + 1) ** 2 / (4 * n)
        peer = n**2 * game_bounds.permelearn(best, game_bounds.permelearn_eta(n, best), n)
        return peer / of_rankings(n)[1]

    def slope(f, low: int, high: int, of=math.log) -> float:
        return math.log(f(high) / f(low)) / (of(high) - of(low))

    def loglog(n: int) -> float:
        return math.log(math.log(n))

    on = "slope of the log of the ratio on that of "
    in_n, in_log = f"{on}n", f"{on}log n"
    for check, quantity, value, relation, stated, n in (
        (
            "multiplicative weights over OnlineRank, single choice",
            in_log,
            slope(lambda n: weights(n, 1) / online_rank(n, n - 1), 100, 1000, loglog),
            ">=",
            1 / 2,
            1000,
        ),
        (
            "multiplicative weights over OnlineRank in k",
            f"{on}k log n, n = 100 k",
            slope(
                lambda k: weights(100 * k, k) / online_rank(100 * k, 99 * k**2),
                1,
                10,
                lambda k: math.log(k * math.log(100 * k)),
            ),
            ">=",
            1 / 2,
            1000,
        ),
        (
            "multiplicative weights over OnlineRank, any choices",
            f"{on}n log n",
            slope(
                lambda n: weights(n, n // 2) / online_rank(n, n**2 / 4),
                100,
                1000,
                lambda n: math.log(n * math.log(n)),
            ),
            ">=",
            1 / 2,
            1000,
        ),
        (
            "PermELearn over OnlineRank",
            in_log,
            slope(lambda n: permelearn(n) / online_rank(n, n - 1), 100, 1000, loglog),
            "=",
            1 / 2,
            1000,
        ),
        (
            "CombBand over OnlineRank",
            in_n,
            slope(lambda n: comb_band(n) / online_rank(n, n - 1), 100, 1000),
            ">=",
            1,
            1000,
        ),
        (
            "FPL over OnlineRank, rankings",
            in_n,
            slope(lambda n: of_rankings(n)[0] / of_rankings(n)[1], 1000, 10000),
            "=",
            1 / 2,
            10000,
        ),
        (
            "PermELearn over OnlineRank, rankings",
            in_log,
            slope(permelearn_of_rankings, 10**4, 10**6, loglog),
            "=",
            1 / 2,
            10**6,
        ),
        (
            "Dani et al. over OnlineRank, single choice",
            f"{on}log n log T",
            slope(lambda n: dani(n, 1), 100, 1000, lambda n: 2 * loglog(n)),
            "=",
            1 / 2,
            1000,
        ),
        (
            "Dani et al. over OnlineRank in k",
            f"{on}k",
            slope(lambda k: dani(10**6, k), 1, 100),
            "=",
            1 / 2,
            10**6,
        ),
        (
            "FPL on matrices over OnlineRank in n",
            in_n,
            slope(lambda n: on_matrices(n, 1), 1000, 10000),
            "=",
            1 / 2,
            10000,
        ),
        (
            "FPL on matrices over OnlineRank in k",
            f"{on}k",
            slope(lambda k: on_matrices(10**6, k), 1, 100),
            "=",
            1 / 2,
            10**6,
        ),
    ):
        yield Check(
            check,
            "Ailon, sections 4 and 5",
            quantity,
            "T = 10^15",
            n,
            value,
            relation,
            stated,
            2,
            SLOPE,
        )

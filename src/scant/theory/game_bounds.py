"""Regret bounds of games on fixed items, and the parameters of their learners by theory.

Throughout, m items are ranked over T rounds. A linear loss of a ranking is `sum_u f(place of u)
s(u)`, where f are the weights of the places and s the values of a round. D is the largest l1
distance of the weight vectors of two rankings, R the largest difference of the losses of two
rankings in a round, and A the largest l1 norm of the values of a round. Bounds are on the expected
regret against the best fixed ranking of rounds 1..t; `t` may be an array. Where the papers only
state orders, constants come from their proofs, so that runs can be compared with the bound.

"Kalai & Vempala" is Efficient algorithms for online decision problems (2005).
"""

import math
from dataclasses import dataclass

import numpy as np

# --- constants of a loss and a range of values


def diameter(weights) -> float:
    """D: the largest l1 distance between the weight vectors of two rankings.

    The distance is largest for opposite rankings.

    weights : float64 (m), the weights f of the places, monotone
    """
    weights = np.asarray(weights, float)
    return float(np.abs(weights - weights[::-1]).sum())


def largest_difference(weights, spread: float) -> float:
    """R: the largest difference of two rankings' losses in a round whose values differ by at most
    `spread`.

    It is `spread * D / 2`, attained by opposite rankings with values at the ends of their range.
    """
    return spread * diameter(weights) / 2


# --- follow the perturbed leader


def ftpl_epsilon(items: int, largest: float, rounds: float) -> float:
    """Epsilon of FTPL, of the order sqrt(D / (R A T)): 1 / (largest * sqrt(m T)) (thesis,
    Corollaries 20 to 22).

    largest : the largest value of an item: 1 if binary, 2^n - 1 for DCG with grades to n
    rounds : T with full information, the number K of blocks with feedback at the top
    """
    return 1 / (largest * math.sqrt(items * rounds))


def kalai_vempala_epsilon(D: float, R: float, A: float, rounds: float) -> float:
    """Epsilon of FTPL, sqrt(D / (R A T)), at which `ftpl` is least: 2 sqrt(D R A T) (Kalai &
    Vempala, Theorem 1.1).

    Here R is the largest absolute loss of a ranking in a round. Ailon (section 4.1) takes this
    epsilon; with k of n items chosen in a round, D is about n^2 / 2, R of the order kn, and A = k.
    """
    return math.sqrt(D / (R * A * rounds))


def ftpl(t, epsilon: float, D: float, R: float, A: float):
    """FTPL with noise uniform on [0, 1/epsilon]^m: `epsilon R A t + D / epsilon` (Kalai & Vempala,
    Theorem 1.1).
    """
    return epsilon * R * A * np.asarray(t, float) + D / epsilon


def gumbel_range(items: int) -> float:
    """An upper bound on the expected range (largest less least) of m standard Gumbel variables.

    The mean of the largest is gamma + log m. Minus the least is the log of the largest of m
    exponential variables; its mean is at most log(1 + 1/2 + ... + 1/m), by Jensen's inequality.
    """
    return np.euler_gamma + math.log(items) + math.log(float(np.sum(1 / np.arange(1, items + 1))))


def gumbel_eta(items: int, D: float, R: float, A: float, rounds: float) -> float:
    """The learning rate that minimises `fpl_gumbel` at T rounds."""
    return math.sqrt(D * gumbel_range(items) / (2 * R * A * rounds))


def fpl_gumbel(t, eta: float, items: int, D: float, R: float, A: float):
    """FPL with Gumbel noise over eta: `eta R A t + D E[range of the noise] / (2 eta)`.

    By the argument of Kalai & Vempala, which the papers do not make for this noise. The learner
    draws from a Plackett-Luce distribution (Ailon, section 8), and a round changes its
    probabilities by factors of at most exp(eta A). The weights of two rankings have the same sum,
    so that only the range of the noise matters.
    """
    return eta * R * A * np.asarray(t, float) + D * gumbel_range(items) / (2 * eta)


# --- feedback at the top


def cells(items: int, k: int) -> int:
    """ceil(m / k): how many rounds it takes to show each item once among the top k."""
    return -(-items // k)


def theory_blocks(items: int, k: int, rounds: int) -> int:
    """K = m^(1/3) (T / ceil(m/k))^(2/3), rounded, within 1..T // ceil(m/k) (thesis, Corollaries 20
    to 22).
    """
    c = cells(items, k)
    return max(1, min(rounds // c, round(items ** (1 / 3) * (rounds / c) ** (2 / 3))))


def rtopkf(t, rounds: int, blocks: int, items: int, k: int, R: float, black_box):
    """RTop-kF: `R ceil(m/k) i + (T/K) C(i)` after i blocks (thesis, Theorem 19, equation B.6).

    Within a block it is the bound at the end of the block, where the learner plays a single
    distribution.

    rounds, blocks : T and K; a block has T // K rounds, and the last one also the remaining rounds,
        at R each
    black_box : C, the regret bound of the full-information learner as a function of its rounds
    """
    t, length = np.asarray(t, float), rounds // blocks
    begun = np.minimum(np.ceil(t / length), blocks)
    beyond = np.maximum(t - length * blocks, 0)
    return R * (cells(items, k) * begun + beyond) + length * black_box(begun)


def anytime_lengths(items: int, k: int, rounds: int) -> np.ndarray:
    """The lengths of blocks whose number is theory's K at every horizon, int64, for as many blocks
    as cover `rounds`.

    With K(t) = m^(1/3) (t / ceil(m/k))^(2/3) blocks by round t, block i ends at round ceil(m/k)
    i^(3/2) / sqrt(m). No block is shorter than ceil(m/k).
    """
    c = cells(items, k)
    count = 1 + min(rounds // c, int(items ** (1 / 3) * (rounds / c) ** (2 / 3)) + 1)
    ends = np.rint(c * np.arange(count + 1) ** 1.5 / math.sqrt(items))
    lengths = np.maximum(c, np.diff(ends)).astype(np.int64)
    return lengths[: np.searchsorted(np.cumsum(lengths), rounds) + 1]


def anytime_noise(lengths, items: int, largest: float) -> np.ndarray:
    """The width of the uniform noise in each block i: `length * largest * sqrt(m i)`, made
    non-decreasing.

    It is the width for FTPL after i blocks (`ftpl_epsilon`), times the length of the block.
    """
    lengths = np.asarray(lengths, float)
    return np.maximum.accumulate(
        lengths * largest * np.sqrt(items * np.arange(1, len(lengths) + 1))
    )


def anytime(t, lengths, noise, items: int, k: int, D: float, R: float, A: float):
    """RTop-kF with blocks of any lengths b_i and noise of any non-decreasing widths N_i, after n
    blocks.

    The bound is `R ceil(m/k) n + D N_n + R A sum_i b_i^2 / N_i`. Not in the papers: it follows from
    the argument of Theorem 19, with each block's estimate weighted by b_i, and from Kalai &
    Vempala's with a growing width (the leader is perturbed by N_i q, with the same q throughout).
    """
    lengths, noise = np.asarray(lengths, float), np.asarray(noise, float)
    by_block = (
        R * cells(items, k) * np.arange(1, len(lengths) + 1)
        + D * noise
        + R * A * np.cumsum(lengths**2 / noise)
    )
    ends = np.cumsum(lengths)
    return by_block[np.minimum(np.searchsorted(ends, np.asarray(t), side="left"), len(ends) - 1)]


def adaptive_lengths(start: int, items: int, k: int) -> tuple[int, int]:
    """The least and the largest length of an adaptive block that begins after t = `start` rounds.

    The least is the length with theory's K at this time, 1.5 (ceil(m/k)^2 t / m)^(1/3), the largest
    sqrt(ceil(m/k) t). Neither is below ceil(m/k).
    """
    c = cells(items, k)
    shortest = max(c, int(1.5 * (c * c * start / items) ** (1 / 3)))
    return shortest, max(shortest, int(math.sqrt(c * start)))


def adaptive(t, items: int, k: int, D: float, R: float, A: float):
    """The regret bound of RTop-kF with adaptive blocks after t rounds, whatever lengths the learner
    chooses.

    The bound is `R ceil(m/k) n + 3 sqrt(D R A sum_i b_i^2)`, where n counts blocks as short as
    allowed, and the b_i are lengths of blocks as long as allowed. D, R and A are as in `anytime`.
    The terms are O(T^(2/3)) and O(T^(3/4)). Not in the papers: it follows as in `anytime`, with
    N_i^2 >= sum_{j <= i} b_j^2 A_j R_j / D and the fact that the sum of x_i / sqrt(x_1 + ... + x_i)
    is at most 2 sqrt(x_1 + ... + x_n).
    """
    t = np.asarray(t, float)
    begins = [0]
    while begins[-1] < np.max(t, initial=1.0):
        begins.append(begins[-1] + adaptive_lengths(begins[-1], items, k)[0])
    blocks = np.searchsorted(begins, t, side="left")

    def longest(start):
        return np.array(
            [adaptive_lengths(int(begin), items, k)[1] for begin in np.ravel(start)]
        ).reshape(np.shape(start))

    # the latest end of the block of round t; b_i^2 is at most b_i times its largest length
    end = t + longest(t)
    return R * cells(items, k) * blocks + 3 * np.sqrt(D * R * A * end * longest(end))


# --- sets of items, of which some are seen


def semi_bandit_eta(items: int, n: int, k: int) -> float:
    """sqrt(k log(m/n) / m), at which `semi_bandit` is least; 1 where n = m, and nothing is to be
    learnt.
    """
    return math.sqrt(k * math.log(items / n) / items) or 1.0


def semi_bandit(t, eta: float, items: int, n: int, k: int):
    """Sets of n of m items with the top k seen: `sqrt(t) (n log(m/n) / eta + eta n m / k)`, eta_t =
    eta / sqrt(t).

    At the eta of `semi_bandit_eta` it is 2 n sqrt(t m log(m/n) / k). By the argument of Audibert,
    Bubeck & Lugosi (2014) for mirror descent with the entropy, whose range over sets is n log(m/n):
    round t adds at most eta_t / 2 times the sum over items of x_i / P(i is seen). If k <= n, each
    term is n / k. If k > n, each is concave in x_i, so that the sum is largest for x_i = n/m;
    either way it is at most n m / k.
    """
    return np.sqrt(np.asarray(t, float)) * (n * math.log(items / n) / eta + eta * n * items / k)


# --- stochastic relevances, phases of exploration and exploitation


def hoeffding(number: int, items: int, rounds: int, spread: float) -> float:
    """Hoeffding's half-width w: with probability 1 - 1/T, all m means of n values with this range
    are within w of their expectations, for every n at once.

    `spread sqrt(log(2 m n (n + 1) T) / (2n))`, by Hoeffding's inequality for each mean and n.
    """
    return spread * math.sqrt(math.log(2 * items * number * (number + 1) * rounds) / (2 * number))


def pege_phases(rounds: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """How often PEGE explores each cell in each phase, and how many rounds it then exploits; int64,
    for as many phases as cover T rounds.

    In phase b these are b and exp(b), rounded down (Chaudhuri & Tewari 2016, Algorithm 1).
    """
    repeats, lengths, covered = [], [], 0
    while covered < rounds:
        b = len(repeats) + 1
        repeats.append(b)
        lengths.append(int(math.exp(b)))
        covered += cells * repeats[-1] + lengths[-1]
    return np.array(repeats, np.int64), np.array(lengths, np.int64)


def pege(t: int, gap: float, items: int, k: int, R: float, spread: float) -> float:
    """PEGE after t rounds: R times its rounds of exploration and its rounds with a leader that is
    not the best.

    After n explorations of each cell the leader is not the best with probability at most 2 m exp(-n
    gap^2 / (2 spread^2)) (Hoeffding: some mean is off by half the gap). This is of the order
    ceil(m/k) log^2 t plus a constant. The paper's bound has a norm of the global observable set
    instead.

    gap : the least difference of the means of two items that have different means and whose order
        matters
    """
    repeats, lengths = pege_phases(t, cells(items, k))
    wrong = np.minimum(1.0, 2 * items * np.exp(-np.cumsum(repeats) * gap**2 / (2 * spread**2)))
    return R * float(
        min(t, cells(items, k) * repeats.sum() + (wrong * np.minimum(lengths, t)).sum())
    )


def pege2(t: int, rounds: int, gap: float, items: int, k: int, R: float, spread: float) -> float:
    """PEGE2 after t of T rounds: `R (ceil(m/k) (max(b, 36 s^2 log(t) / gap^2) + 1) + 8 m s^2 /
    gap^2 + 1)`.

    b is the least number of phases with gap >= 6 w (`hoeffding`): by then its estimate is at least
    4 w. Unless a mean is off by more than w, which costs at most R, the estimate of the gap is
    between gap / 1.5 and 2 gap. So phase b exploits for at least exp(b gap^2 / (36 s^2)) rounds,
    and at most exp(b gap^2 / (4 s^2)), with which a wrong leader (as in `pege`) costs at most 8 m
    s^2 / gap^2 over all phases.

    gap : the least difference of the ordered means of neighbouring items whose places differ in
        weight; spread : s
    """
    most = cells(items, k) * (t + 1)  # which explores all rounds
    phases = next(
        (b for b in range(1, t + 1) if gap >= 6 * hoeffding(b, items, rounds, spread)), most
    )
    phases = max(phases, 36 * spread**2 * math.log(t) / gap**2) + 1
    return R * float(min(t, cells(items, k) * phases + 8 * items * spread**2 / gap**2 + 1))


# --- sorting with noise


def online_rank_eta(items: int, pairs: float, rounds: float) -> float:
    """eta = n sqrt(log 2) / sqrt(T M) (Ailon, Theorem 3.1).

    pairs : M, the largest sum, over the pairs of items, of the squared difference of their values
        in a round
    """
    return items * math.sqrt(math.log(2) / (rounds * pairs))


def online_rank(t, eta: float, items: int, pairs: float):
    """OnlineRank, both sorting procedures: `eta t M / 2 + n (n - 1) log 2 / (2 eta)` (Ailon,
    section 6).

    At the eta of Theorem 3.1 and t = T it is at most n sqrt(T M log 2).
    """
    return eta * pairs * np.asarray(t, float) / 2 + items * (items - 1) * math.log(2) / (2 * eta)


def top_one_floor(losses, probabilities) -> float:
    """What every learner loses a round, on average over two distributions that its feedback cannot
    tell apart.

    A learner plays the same under both. So its expected regret, averaged over the two,
    is at least the regret of the ranking that is best for their mean. The thesis (Theorem 24) shows
    that it is above 0 on Table B.1 for NDCG and AP.

    losses : (rankings x relevance vectors), of each ranking in a round
    probabilities : (2 x relevance vectors)
    """
    expected = np.asarray(losses, float) @ np.asarray(probabilities, float).T
    return float(expected.mean(axis=1).min() - expected.min(axis=0).mean())


# --- a weight for each ranking, or for each item at each place


def hedge_eta(actions: int, R: float, rounds: float) -> float:
    """sqrt(8 log N / T) / R, the learning rate that minimises `hedge` at T rounds."""
    return math.sqrt(8 * math.log(actions) / rounds) / R


def hedge(t, eta: float, actions: int, R: float):
    """Hedge over N actions: `log N / eta + eta t R^2 / 8` (Cesa-Bianchi & Lugosi 2006, Theorem
    2.2).
    """
    return math.log(actions) / eta + eta * np.asarray(t, float) * R**2 / 8


def multiplicative_eta(actions: int, rounds: float) -> float:
    """min(1/2, sqrt(log N / T)), the learning rate for `multiplicative_weights` at T rounds."""
    return min(0.5, math.sqrt(math.log(actions) / rounds))


def multiplicative_weights(t, eta: float, actions: int, R: float):
    """Weights times 1 - eta loss / R: `R (eta t + log N / eta)`, eta <= 1/2 (Arora, Hazan & Kale
    2012, Theorem 2.1).
    """
    return R * (eta * np.asarray(t, float) + math.log(actions) / eta)


@dataclass(frozen=True)
class ForecasterConstants:
    """What the bound of the forecaster needs of a game of partial monitoring
    (`scant.games.cells.Cell`).

    actions : N, how many different losses its rankings have; equally many rankings have each
    sets : A, how many top sets it explores
    difference : L, the largest difference of two rankings' losses for one outcome
    largest : the largest absolute entry of the estimators V
    squares : v^2, the largest sum over top sets of a ranking's squared estimators, over outcomes
        and rankings
    """

    actions: int
    sets: int
    difference: float
    largest: float
    squares: float


def forecaster_constants(estimators, feedback, losses) -> ForecasterConstants:
    """The constants of a cell from its tables, see `scant.games.cells.Cell`."""
    losses = np.asarray(losses, float)
    of_outcomes = np.stack(
        [table[signals] for table, signals in zip(estimators, feedback, strict=True)]
    )
    return ForecasterConstants(
        actions=len(np.unique(np.round(losses, 9), axis=0)),
        sets=len(feedback),
        difference=float(np.ptp(losses, axis=0).max()),
        largest=float(np.abs(of_outcomes).max()),
        squares=float((of_outcomes**2).sum(axis=0).max()),
    )


def forecaster_rates(constants: ForecasterConstants, rounds: float) -> tuple[float, float]:
    """(eta, gamma) that minimise `forecaster` at T rounds, as far as its condition on eta allows.

    gamma = min(1, (C / (T L^2))^(1/3)) with C = (e - 2) A v^2 log N, or 0 if there is a single top
    set; eta is then sqrt(gamma log N / ((e - 2) A v^2 T)), with 1 in place of gamma / A for a
    single top set.
    """
    if constants.actions == 1:
        return 1.0, 0.0
    log_n, cost = math.log(constants.actions), (math.e - 2) * constants.sets * constants.squares
    explored = min(1.0, (cost * log_n / (rounds * constants.difference**2)) ** (1 / 3))
    gamma = 0.0 if constants.sets == 1 else explored
    rarest = _least_probability(constants, gamma)
    eta = math.sqrt(log_n * rarest / ((math.e - 2) * constants.squares * rounds))
    return min(eta, rarest / constants.largest), gamma


def forecaster(t, eta, gamma, constants: ForecasterConstants):
    """Exponential weights on estimated differences: `log N / eta + (e - 2) eta t v^2 A / gamma +
    gamma t L`.

    The theorem is Theorem 3.1 of Cesa-Bianchi, Lugosi & Stoltz (2006). The constants are those of a
    proof made here for estimators V_a[g] / P(a). Let each top set be shown with probability at
    least gamma / A, and eta max|V| A / gamma be at most 1. Since exp(-x) <= 1 - x + (e - 2) x^2 for
    x >= -1, the regret without exploring is at most log N / eta + (e - 2) eta E sum_t sum_i q_i
    estimate_i^2. The second moment of an estimate is at most sum_a V_a^2 / P(a) <= v^2 A / gamma.
    Exploring loses at most L a round. With a single top set, 1 stands for gamma / A.

    The bound is at most L t, and NaN where eta is too large for the proof.

    Assumed: relevances do not depend on the learner's draws. At the eta and gamma of
    `forecaster_rates`, and its C, the bound is 3 (C L)^(1/3) T^(2/3) at T rounds for large T.
    """
    t, eta, gamma = np.asarray(t, float), np.asarray(eta, float), np.asarray(gamma, float)
    if constants.actions == 1:
        return 0 * t
    rarest = _least_probability(constants, gamma)
    regret = math.log(constants.actions) / eta + (math.e - 2) * eta * t * constants.squares / rarest
    regret = np.minimum(regret + gamma * t * constants.difference, t * constants.difference)
    return np.where(eta * constants.largest <= rarest * (1 + 1e-9), regret, np.nan)


def _least_probability(constants: ForecasterConstants, gamma):
    """The least probability with which a top set is shown."""
    return 1.0 if constants.sets == 1 else gamma / constants.sets


def permelearn_eta(items: int, best: float) -> float:
    """log(1 + sqrt(2 n log n / L)), L >= 0 an upper bound on the best ranking's scaled loss
    (Helmbold & Warmuth).
    """
    return math.log1p(math.sqrt(2 * items * math.log(items) / max(best, 1e-300)))


def permelearn(best, eta: float, items: int):
    """PermELearn's regret bound, `(n log n + eta L) / (1 - e^-eta) - L`.

    Each item at each place costs between 0 and 1 a round (Helmbold & Warmuth 2009).

    best : L >= 0, the loss of the best ranking, or an upper bound on it
    items : n
    """
    best = np.asarray(best, float)
    return (items * math.log(items) + eta * best) / -math.expm1(-eta) - best


def comb_band_rates(items: int, rounds: float) -> tuple[float, float]:
    """(eta, gamma) of CombBand for permutations and losses in [0, 1], that minimise `comb_band` at
    T rounds.

    With n items: gamma = eta n (n - 1), by the least eigenvalue 1/(n - 1) of uniform permutation
    matrices (Cesa-Bianchi & Lugosi 2012).
    """
    eta = math.sqrt(math.lgamma(items + 1) / (rounds * _comb_band_cost(items)))
    return eta, eta * items * (items - 1)


def comb_band(t, eta: float, items: int):
    """CombBand: `log n! / eta + eta t (n (n - 1) + (n - 1)^2 + 1)` for losses in [0, 1], gamma as
    in the rates.

    The argument of Cesa-Bianchi & Lugosi (2012, Theorem 1) with (n - 1)^2 + 1, the dimension of the
    span of permutation matrices.
    """
    return math.lgamma(items + 1) / eta + eta * np.asarray(t, float) * _comb_band_cost(items)


def _comb_band_cost(items: int) -> int:
    return items * (items - 1) + (items - 1) ** 2 + 1

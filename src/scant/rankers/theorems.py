"""Tables of theorems on rankings of documents, held against numbers: of perceptrons, and of
feedback at the top.

They need no run. Each row is exact, or the worst case of an enumeration; `scant.theory.checks` says
what columns mean.
"""

import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd

from scant import surrogates
from scant.measures import average_precision, ndcg
from scant.randomness import generator
from scant.rankers.adversary import LowerBoundAdversary
from scant.rankers.estimators import value_and_gradient
from scant.rankers.learners import LEARNERS
from scant.theory import bounds
from scant.theory.checks import Check, table

JUST = 1e-9  # how far below the margin a gap is that just leaves its hinge positive


def perceptron_table() -> pd.DataFrame:
    """Theorems on perceptrons and their surrogates (thesis, chapter II; perceptron paper), about a
    second.
    """
    return table(
        _slam_above_losses(),
        _order_within_grades(),
        _slam_gradient(),
        _weight_ratios(),
        _general_bound(),
        _max_hinge(),
        _step_sizes(),
        _lower_bound(),
        _lower_bound_as_printed(),
    )


def top_table() -> pd.DataFrame:
    """Theorems on gradient estimates from feedback at the top (thesis, 3.3), under a second."""
    return table(
        _mixed_differences(),
        _constants(),
        _degrees(),
        _floor(),
    )


# --- SLAM: the upper bound on losses, and its gradient


def _lists(
    m: int, top_grade: int, gaps: tuple[float, ...]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Scores, in descending order, and grades (m each) of all lists with these gaps between
    neighbouring scores and some grade above 0.

    Other orders of scores only number the documents otherwise.
    """
    grades = [np.array(vector) for vector in product(range(top_grade + 1), repeat=m) if any(vector)]
    for steps in product(gaps, repeat=m - 1):
        scores = -np.cumsum((0.0, *steps))
        for vector in grades:
            yield scores, vector


def _losses() -> list[tuple]:
    """The losses with a SLAM weight: each one's name, its measure of rankings and grades, the kind
    of SLAM's weights and their cut, the numbers of documents m, and the largest grade.
    """
    losses = [("AP", average_precision, "ap", None, range(2, 6), 1)]
    for name, cut in (("NDCG", None), ("NDCG@2", 2)):
        measure = partial(ndcg, k=cut)
        losses.append((name, measure, "ndcg", cut, range(2, 6), 1))
        losses.append((name, measure, "ndcg", cut, range(2, 5), 2))
    return losses


def _slam_above_losses() -> Iterator[Check]:
    """Theorem 4: SLAM is at least the loss of its measure.

    For a given ranking SLAM is convex and piecewise linear in the gaps between neighbouring scores,
    and its pieces end where sums of consecutive gaps are 1. So it is least where every gap is 0 or
    1. Documents of one grade are weighted in the order of their scores, as in the proof; any other
    order makes SLAM larger.
    """
    for name, measure, kind, cut, lengths, top_grade in _losses():
        for m in lengths:
            worst, cases = (0.0, 1.0), 0
            for scores, grades in _lists(m, top_grade, (0.0, 1.0)):
                loss = 1 - measure(np.arange(m), grades)
                if loss > 1e-12:
                    value, _ = surrogates.slam(
                        scores, grades, surrogates.slam_weights(kind, scores, grades, cut)
                    )
                    worst = max(worst, (loss, value), key=lambda pair: pair[0] / pair[1])
                cases += 1
            yield Check(
                f"slam above 1 - {name}",
                "thesis, Theorem 4" if cut is None else "thesis, Theorem 8",
                f"1 - {name}, where it is the largest share of SLAM",
                f"all rankings, grades to {top_grade}, worst scores",
                m,
                worst[0],
                "<=",
                worst[1],
                cases,
            )


def _order_within_grades() -> Iterator[Check]:
    """2.4.2: how much SLAM depends on which of the documents of one grade come first in its
    weights.

    The thesis has them in any order, but the proof of Theorem 8 in the order of their scores. The
    ratio of two weights does not depend on how far the scores are apart.
    """
    for name, kind, top_grade, m in (
        ("AP", "ap", 1, 3),
        ("AP", "ap", 1, 4),
        ("NDCG", "ndcg", 1, 3),
        ("NDCG", "ndcg", 2, 4),
    ):
        worst, cases = 1.0, 0
        for scores, grades in _lists(m, top_grade, (0.0, 0.5, 1.0)):
            weights = surrogates.slam_weights(kind, scores, grades, None)
            orders = [
                list(order)
                for order in permutations(range(m))
                if (grades[list(order)] == grades).all()
            ]
            values = [surrogates.slam(scores, grades, weights[order])[0] for order in orders]
            if max(values) > 0:
                worst, cases = max(worst, max(values) / min(values)), cases + len(orders)
        yield Check(
            f"slam within a grade, {name}",
            "thesis, 2.4.2",
            "largest SLAM over the least, by order within a grade",
            f"all rankings, grades to {top_grade}, gaps of scores 0, 0.5 and 1",
            m,
            worst,
            "=",
            1.0,
            cases,
        )


def _slam_gradient() -> Iterator[Check]:
    """Lemma 5 with documents of norm 1, and the Lipschitz constant 2, of which sqrt(2) is reached.

    The norm of X'g is at most g's l1 norm, to which it can be as close as one likes.
    """
    for name, measure, kind, cut, _, top_grade in _losses():
        m = 4 if top_grade == 1 else 3
        places = m if cut is None else cut
        worst, longest, cases = (0.0, 1.0), 0.0, 0
        for scores, grades in _lists(m, top_grade, (0.0, JUST, 1 - JUST, 1.0)):
            weights = surrogates.slam_weights(kind, scores, grades, cut)
            value, gradient = surrogates.slam(scores, grades, weights)
            norm = float(np.abs(gradient).sum())
            longest, cases = max(longest, float(np.linalg.norm(gradient))), cases + 1
            if measure(np.arange(m), grades) < 1 - 1e-12:
                positive = weights[weights > 0]
                bound = 4 * places * positive.max() / positive.min() * value
                worst = max(worst, (norm**2, bound), key=lambda pair: pair[0] / pair[1])
        setting = (
            f"SLAM for {name}, all rankings, grades to {top_grade}, gaps of scores at the "
            "ends of the hinges"
        )
        yield Check(
            "slam gradient",
            "thesis, Lemma 5" if cut is None else "thesis, Theorem 8",
            (
                "squared norm of the subgradient in the weights, where it is the largest share of "
                "its bound"
            ),
            setting,
            m,
            worst[0],
            "<=",
            worst[1],
            cases,
        )
        yield Check(
            "slam lipschitz",
            "thesis, 2.4.2",
            "largest l2 norm of the gradient in the scores",
            setting,
            m,
            longest,
            "<=",
            2.0,
            cases,
        )


def _weight_ratios() -> Iterator[Check]:
    """v_max, the largest ratio of SLAM's weights for NDCG, grows as the logarithm of how many
    places count: m, or k.
    """
    for name, sizes, places in (
        ("NDCG", (10, 1000), (10, 1000)),
        ("NDCG@k, by k", (2000, 2000), (10, 100)),
        ("NDCG@k, by m", (20, 2000), (10, 10)),
    ):
        ratios = []
        for m, cut in zip(sizes, places, strict=True):
            grades = np.ones(m, int)
            grades[0] = 4
            weights = surrogates.slam_weights("ndcg", np.zeros(m), grades, cut)
            positive = weights[weights > 0]
            ratios.append(positive.max() / positive.min())
        growth = ratios[1] / ratios[0] / (math.log(1 + places[1]) / math.log(1 + places[0]))
        yield Check(
            f"v_max, {name}",
            "thesis, 2.5.1.1",
            "growth of v_max over that of the logarithm of how many places count",
            f"one document of grade 4, others of grade 1, {sizes[0]:,} and {sizes[1]:,} documents, "
            f"{places[0]} and {places[1]:,} places",
            sizes[1],
            growth,
            "=",
            1.0,
            len(sizes),
        )


def _general_bound() -> Iterator[Check]:
    """Theorem 6: what its proof gives, beside (2.19) as printed.

    The proof has `x <= c + b sqrt(x)` for the loss x, where c is the surrogate's sum and b^2 = 4
    ||w||^2 m R_X^2 v_max.
    """
    for name, m, ratio in (("AP", 20, 1.0), ("NDCG", 20, 15 * math.log2(21))):
        square = 4 * m * ratio  # at ||w|| = R_X = 1
        sums = square * 10.0 ** np.linspace(-4, 4, 161)
        proved = ((math.sqrt(square) + np.sqrt(square + 4 * sums)) / 2) ** 2
        sides = [
            (x, bounds.printed_general(c, 1.0, m, 1.0, ratio))
            for x, c in zip(proved.tolist(), sums.tolist(), strict=True)
        ]
        value, stated = max(sides, key=lambda side: side[0] / side[1])
        yield Check(
            "general bound, printed",
            "thesis, (2.19)",
            "largest loss by the proof, where it is the largest share of the bound",
            f"v_max of {name}, sums of the surrogate 10^-4 to 10^4 times the last term",
            m,
            value,
            "<=",
            stated,
            len(sides),
        )


def _max_hinge() -> Iterator[Check]:
    """2.6.2: max-hinge is at least the loss of every measure that is at most 1."""
    for top_grade, m in ((1, 4), (2, 3)):
        values = [
            surrogates.max_hinge(scores, grades)[0]
            for scores, grades in _lists(m, top_grade, (0.0, JUST, 1 - JUST, 1.0))
            if 1 - ndcg(np.arange(m), grades, None) > 1e-12
        ]
        yield Check(
            "max-hinge above losses",
            "thesis, 2.6.2",
            "least max-hinge on a mistake, where a loss is at most 1",
            f"all rankings with a mistake, grades to {top_grade}",
            m,
            min(values),
            ">=",
            1.0,
            len(values),
        )


# --- step sizes


def _step_sizes(queries: int = 50, m: int = 5, features: int = 4) -> Iterator[Check]:
    """Which learners' rankings depend on the rate.

    With features that are whole numbers, and rates that are powers of two, no score is rounded.
    """
    random = generator(0, "step sizes")
    stream = [
        (random.integers(-3, 4, (m, features)).astype(np.float32), random.integers(0, 3, m))
        for _ in range(queries)
    ]

    def rankings(settings: dict, rate: float) -> list[tuple]:
        of_kind, facts = LEARNERS[settings["kind"]], {"features": features}
        learner = of_kind.from_study(
            settings, {"source": "text"}, facts, rate, generator(0, "pairs")
        )
        orders = []
        for x, grades in stream:
            ranking = learner.rank(x)
            learner.learn(x, grades, ranking)
            orders.append(tuple(ranking.tolist()))
        return orders

    rates = [2.0**power for power in range(-7, 8, 2)]
    for settings, source, depends in (
        ({"kind": "binary-perceptron"}, "perceptron paper, section 3", False),
        ({"kind": "max-hinge", "measure": "ndcg"}, "perceptron paper, section 6.2", False),
        ({"kind": "max-hinge", "measure": "ap"}, "perceptron paper, section 6.2", False),
        ({"kind": "slam", "measure": "ndcg"}, "perceptron paper, section 6.2", True),
        ({"kind": "slam", "measure": "ap"}, "perceptron paper, section 6.2", True),
    ):
        first, *others = [rankings(settings, rate) for rate in rates]
        different = max(sum(a != b for a, b in zip(first, other, strict=True)) for other in others)
        yield Check(
            f"step size, {settings['kind']}",
            source,
            "rounds in which the rankings at two rates differ, at most",
            f"{settings.get('measure', 'pairs')}, {queries} rounds, rates 2^-7 to 2^7",
            m,
            different,
            ">" if depends else "=",
            0,
            len(rates),
        )


# --- the lower bound


def _lower_bound(ratio: int = 10) -> Iterator[Check]:
    """Theorem 9 at every m: the least loss of a round over all rankings, and the answers' margin.

    The loss depends on the document on top, which settles the answer, and the relevant one's place.
    """
    for m in (2, 3, 4, 5, 10, 20, 100):
        adversary = LowerBoundAdversary(ratio, m)
        (_, answer), *_ = adversary
        rankings = [
            _with_places(m, first, other, place)
            for first, other in _tops(m)
            for place in range(1, m)
        ]
        for name, measure, smallest in (
            ("NDCG", lambda ranking, grades: ndcg(ranking, grades, None), 1 - 1 / math.log2(3)),
            ("AP", average_precision, 0.5),
        ):
            losses = [1 - measure(ranking, answer(ranking)) for ranking in rankings]
            yield Check(
                f"lower bound, {name}",
                "perceptron paper, Theorem 9",
                f"least loss of a round in {name}",
                "the adversary, all rankings",
                m,
                min(losses),
                ">=",
                smallest,
                len(losses),
            )
        yield Check(
            "lower bound, margin",
            "perceptron paper, Theorem 9",
            "margin of a ranker of norm 1 on all answers",
            f"R_X^2 / margin^2 = {ratio}, {adversary.rounds} rounds",
            m,
            _separation(ratio, m),
            ">=",
            adversary.margin,
            adversary.rounds,
        )


def _lower_bound_as_printed() -> Iterator[Check]:
    """Theorem 9 in the thesis, whose proof calls the document relevant that the learner has put on
    top.
    """
    for name, measure in (
        ("NDCG", lambda ranking, grades: ndcg(ranking, grades, None)),
        ("AP", average_precision),
    ):
        losses = [
            1 - measure(np.array(pair), np.eye(2, dtype=int)[pair[0]]) for pair in ((0, 1), (1, 0))
        ]
        yield Check(
            f"lower bound as printed, {name}",
            "thesis, Theorem 9",
            f"largest loss of a round in {name}",
            "relevances as the thesis has them, all rankings",
            2,
            max(losses),
            ">",
            0.0,
            len(losses),
        )


def _tops(m: int) -> list[tuple[int, int]]:
    """The documents that may be on top, each with the one that the adversary then calls
    relevant.
    """
    return [(0, 1), (1, 0), *([(2, 0)] if m > 2 else [])]


def _with_places(m: int, first: int, other: int, place: int) -> np.ndarray:
    """The ranking of m documents with `first` on top, `other` at `place` (from 0), and the rest in
    order.
    """
    ranking = [document for document in range(m) if document not in (first, other)]
    return np.array([first, *ranking[: place - 1], other, *ranking[place - 1 :]])


def _separation(ratio: int, m: int) -> float:
    """The least score difference between the relevant document and another, by the adversary's
    ranker at norm 1.
    """
    adversary, queries = LowerBoundAdversary(ratio, m), []
    tops = _tops(m)
    for i, (x, answer) in enumerate(adversary):
        queries.append((x.astype(float), answer(_with_places(m, *tops[i % len(tops)], 1))))
    ranker = adversary.ranker / np.linalg.norm(adversary.ranker)
    scores = [(x @ ranker, grades) for x, grades in queries]
    return float(min(s[grades > 0].min() - s[grades == 0].max() for s, grades in scores))


# --- what gradients decompose over


def _mixed_differences() -> Iterator[Check]:
    """Lemmas 26 and 27: a function of the grades is a sum of functions of k grades each if and only
    if its mixed differences in any k + 1 grades vanish.
    """
    for surrogate, k, place, decomposes in (
        ("squared", 1, "3.3.3.1", True),
        ("kl", 1, "3.3.3.1", True),
        ("smoothdcg", 1, "3.3.3.2", True),
        ("ranksvm", 2, "3.3.3.1", True),
        ("ranksvm", 1, "Lemma 26", False),
    ):
        for m, top_grade in product((3, 4), (1, 2)):
            yield _decomposition(surrogate, m, k, top_grade, place, decomposes)
    for top_grade, m in product((1, 2), (2, 3, 4, 5)):
        for k in range(1, m):
            yield _decomposition("listnet", m, k, top_grade, "Lemma 27", False)


def _decomposition(
    surrogate: str, m: int, k: int, top_grade: int, place: str, decomposes: bool
) -> Check:
    """The largest mixed difference of a gradient in k + 1 grades, which is 0 if and only if it
    decomposes over k.

    It is sought at two score vectors: with all scores within RankSVM's margin, and with none.

    decomposes : whether the thesis says that it does
    """
    shape = (top_grade + 1,) * m
    vectors = [np.array(grades) for grades in np.ndindex(*shape)]
    largest = 0.0
    for scores in (np.linspace(0.9, 0.0, m), 2.0 * np.arange(m)[::-1]):
        gradients = np.array(
            [value_and_gradient(surrogate, scores, grades, 1.0)[1] for grades in vectors]
        )
        for grades in combinations(range(m), k + 1):
            mixed = gradients.reshape(*shape, m)
            for axis in grades:
                mixed = np.diff(mixed, axis=axis)
            largest = max(largest, float(np.abs(mixed).max() / np.abs(gradients).max()))
    said = "decomposes" if decomposes else "does not decompose"
    return Check(
        f"{surrogate}, {said}, {top_grade + 1} grades",
        f"thesis, {place}",
        "largest mixed difference of the gradient, as a share of its largest entry",
        f"in {k + 1} grades of 0 to {top_grade} (k = {k})",
        m,
        0.0 if largest < 1e-12 else largest,
        "=" if decomposes else ">",
        0.0,
        2 * math.comb(m, k + 1),
    )


# --- the constants of Lemma 29, and the floor of Theorem 32


def _constants(gamma: float = 0.1, radius: float = 1.0) -> Iterator[Check]:
    """Lemma 29: the largest second moment of the estimates, times gamma, beside the constants as
    printed and as used.

    The printed O(m^4 R_D^2) of RankSVM is taken as its proof has it, m^3 (m - 1) R_D^2.
    """
    for surrogate, m, largest, ball in product(
        ("squared", "kl", "ranksvm"), (5, 20), (1, 4), (0.1, 1.0, 10.0)
    ):
        if surrogate == "ranksvm" and (largest, ball) != (4, 1.0):
            continue  # its constant depends on neither
        moment = bounds.largest_moment(surrogate, m, radius, largest, ball, gamma)
        setting = f"grades to {largest}, U = {ball:g}, R_D = {radius:g}, gamma = {gamma:g}"
        for check, source, constant in (
            (
                "printed",
                "thesis, Lemma 29 (appendix B)",
                bounds.printed_constant(surrogate, m, radius, largest, ball),
            ),
            ("used", "bounds here", bounds.estimate_constant(surrogate, m, radius, largest, ball)),
        ):
            yield Check(
                f"constant of {surrogate}, {check}",
                source,
                "gamma E ||z||^2, the largest of any list",
                setting,
                m,
                moment,
                "<=",
                constant,
            )


def _degrees(m: int = 5, largest: int = 4) -> Iterator[Check]:
    """Lemma 29: its constants are polynomials in U of degree four at most, so the least constants
    that hold grow no faster.
    """
    for surrogate in ("squared", "kl", "ranksvm"):
        ends = [bounds.largest_moment(surrogate, m, 1.0, largest, ball) for ball in (50.0, 100.0)]
        yield Check(
            f"degree of the constant of {surrogate}",
            "thesis, Lemma 29",
            "slope of the log of the least constant on that of U",
            f"U = 50 and 100, R_D = 1, grades to {largest}",
            m,
            math.log2(ends[1] / ends[0]),
            "<=",
            4.0,
            len(ends),
        )


def _floor() -> Iterator[Check]:
    """Theorem 32: the least mean regret a round, over the two distributions of Table B.1, of any
    scores.
    """
    yield Check(
        "impossible",
        "thesis, Theorem 32",
        "least regret a round, NDCG-squared, mean of the two distributions",
        "Table B.1, the top one seen, any learner",
        3,
        bounds.impossible_floor(),
        ">",
        0.0,
    )

"""The table of theorems on generalisation, held against numbers (thesis, chapter IV and appendix
C).

It needs no run. Each row is exact, found by search, or the worst of random draws;
`scant.theory.checks` says what columns mean.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from scant.measures import gain
from scant.randomness import generator
from scant.rankers.estimators import value_and_gradient
from scant.theory import constants, entropy, generalisation, identities, suprema
from scant.theory.checks import Check, table
from scant.theory.generalisation import Problem, problem

ANY = 20  # grades and scores so large that suprema over all of them are reached up to 1e-8
DRAWS = 5000
LENGTHS = (2, 5, 10, 100)
BALLS = (0.5, 2.0, 10.0)  # W, for R_X = 1


def theorems_table() -> pd.DataFrame:
    """Theorems on generalisation (thesis, chapter IV), two seconds."""
    return table(
        _constants(),
        _dimensions(),
        _norms(),
        _smooth(),
        _descent(),
        _uniform(),
        _integrals(),
        _listnet(),
    )


# --- constants


def _constants() -> Iterator[Check]:
    """Propositions 1 and 2, what is said of the l2 norm beside them, and RankSVM's growth."""
    for m in LENGTHS:
        largest = {
            norm: suprema.largest_gradient("listnet", m, ANY, ANY, norm=norm)
            for norm in constants.NORMS
        }
        curvature = suprema.largest_hessian("listnet", m, ANY, ANY)
        for check, source, quantity, value, relation in (
            (
                "listnet, G",
                "thesis, Proposition 1",
                "largest l1 norm of the gradient",
                largest["sup"],
                "<=",
            ),
            (
                "listnet, H",
                "thesis, Proposition 1",
                "largest inf -> 1 norm of the Hessian",
                curvature,
                "<=",
            ),
            (
                "listnet, l2 constant",
                "thesis, 4.3.1",
                "largest l2 norm of the gradient",
                largest["l2"],
                "=",
            ),
        ):
            yield Check(
                check,
                source,
                quantity,
                f"labels and scores to {ANY}, by search",
                m,
                value,
                relation,
                2.0,
            )
    for sigma, top, m in product((0.1, 1.0), (1, 4), (2, 10)):
        largest = {
            norm: suprema.largest_gradient("smoothdcg", m, top, ANY * sigma, sigma, norm)
            for norm in constants.NORMS
        }
        setting = f"grades to {top}, sigma = {sigma:g}, by search"
        yield Check(
            "smoothdcg, G",
            "thesis, Proposition 2",
            "largest l1 norm of the gradient",
            setting,
            m,
            largest["sup"],
            "<=",
            constants.printed_lipschitz("smoothdcg", m, top, sigma),
        )
        yield Check(
            "smoothdcg, l2 constant",
            "thesis, 4.3.2",
            "largest l2 norm of the gradient over its largest l1 norm",
            setting,
            m,
            largest["l2"] / largest["sup"],
            "=",
            1.0,
        )
    lengths = np.array([10, 20, 50, 100])
    grown = [suprema.largest_gradient("ranksvm", m, 1, ANY) for m in lengths]
    slope = float(np.polyfit(np.log(lengths), np.log(grown), 1)[0])
    yield Check(
        "ranksvm, slope in m",
        "thesis, 4.3.3",
        "slope of the log of the largest l1 norm of the gradient on log m",
        "binary grades, m = 10 to 100, by search",
        100,
        slope,
        "=",
        2.0,
        len(lengths),
        0.01,
    )
    for surrogate, m in product(constants.SURROGATES, LENGTHS):
        yield Check(
            "G and the l2 constant",
            "thesis, 4.3",
            "G, beside sqrt(m) times the constant in l2",
            f"{surrogate}, grades to 4, exact",
            m,
            constants.lipschitz(surrogate, m, 4, 2.0),
            "<=",
            math.sqrt(m) * constants.lipschitz(surrogate, m, 4, 2.0, norm="l2"),
        )


# --- Theorem 33, Lemma 34


def _dimensions() -> Iterator[Check]:
    """Theorem 33: the dimension of all permutation-invariant linear maps, for m = 1 apart."""
    for m, d in product(range(1, 6), (1, 2, 3)):
        yield Check(
            "permutation invariance" if m > 1 else "permutation invariance, one document",
            "thesis, Theorem 33",
            "dimension of the permutation-invariant linear maps",
            f"d = {d}, rank of the conditions",
            m,
            identities.invariant_dimension(m, d),
            "=",
            2 * d,
        )


def _norms(matrices: int = 20, m: int = 5, d: int = 4) -> Iterator[Check]:
    """Lemma 34: both norms are the largest lp norm of a row."""
    random = generator(0, "lemma 34")
    for p in (1.0, 1.5, 2.0, 3.0, math.inf):
        drawn = [random.normal(size=(m, d)) for _ in range(matrices)]
        for check, norm in (
            ("transpose", identities.norm_of_transpose),
            ("to sup", identities.norm_to_sup),
        ):
            ratios = [norm(x, p, random) / identities.largest_row(x, p) for x in drawn]
            yield Check(
                f"norms, {check}",
                "thesis, Lemma 34",
                "largest deviation of the norm, as a share of it",
                f"p = {p:g}, Gaussian matrices with {d} columns, by corners and random vectors",
                m,
                max(abs(ratio - 1) for ratio in ratios),
                "=",
                0.0,
                matrices,
            )


# --- smooth losses


def _smooth() -> Iterator[Check]:
    """Lemmas 41 and 42, and the smoothness in the weights (appendix C), on random draws."""
    random = generator(0, "lemma 41")
    pairs: dict[str, list] = {}
    for _ in range(DRAWS // 5):
        near = float(10.0 ** random.uniform(-3, 1))
        first = float(random.normal(0, 3))
        for name, function, smooth in identities.smooth_functions(random):
            sides = identities.self_bounding(function(first), function(first + near), smooth, near)
            pairs.setdefault(name, []).append(sides)
    for name, sides in pairs.items():
        yield _worst("self-bounding, one number", "thesis, Lemma 41", name, 1, sides)
    for surrogate, m in product(("listnet", "smoothdcg", "squared"), (2, 5, 20)):
        smooth = constants.smoothness(surrogate, m, 2)
        sides = []
        for _ in range(DRAWS // 10):
            grades = random.integers(0, 3, m)
            scores = random.normal(0, 2, m)
            step = random.normal(size=m) * 10.0 ** random.uniform(-3, 0.5)
            values = [_loss(surrogate, s, grades, 2) for s in (scores, scores + step)]
            sides.append(identities.self_bounding(*values, smooth, float(np.abs(step).max())))
        yield _worst(
            "self-bounding, scores", "thesis, Lemma 42", f"{surrogate}, grades to 2", m, sides
        )
    yield from _gradients()
    for surrogate, m in product(("listnet", "smoothdcg"), (2, 5, 10)):
        sides = []
        for _ in range(100):
            x, grades = random.normal(size=(m, 4)), random.integers(0, 3, m)
            curvature = suprema.hessian(surrogate, random.normal(0, 2, m), grades)
            sides.append(identities.smoothness_in_weights(x, curvature))
        yield _worst(
            "smoothness in the weights",
            "thesis, 4.8.3, appendix C",
            f"{surrogate}, d = 4",
            m,
            sides,
        )


def _gradients() -> Iterator[Check]:
    """4.8.3: the gradient of a non-negative smooth function is at most sqrt(4 H f), here in l2 of
    the scores.

    A constant of 2 would do in the place of 4, and squared has it.
    """
    random = generator(0, "gradients of smooth losses")
    for surrogate, m in product(("listnet", "smoothdcg", "squared"), (2, 5, 20)):
        smooth, sides = constants.smoothness(surrogate, m, 2, norm="l2"), []
        for _ in range(DRAWS // 10):
            grades, scores = random.integers(0, 3, m), random.normal(0, 2, m)
            _, gradient = value_and_gradient(surrogate, scores, grades, 1.0)
            loss = max(0.0, _loss(surrogate, scores, grades, 2))  # but for rounding
            sides.append((float(np.linalg.norm(gradient)), math.sqrt(4 * smooth * loss)))
        yield _worst(
            "self-bounding, gradient", "thesis, 4.8.3", f"{surrogate}, grades to 2", m, sides
        )


def _loss(surrogate: str, scores: np.ndarray, grades: np.ndarray, largest: int) -> float:
    """A surrogate that is not negative: SmoothDCG counts from its least value."""
    value, _ = value_and_gradient(surrogate, scores, grades, 1.0)
    return value + (float(gain(largest)) if surrogate == "smoothdcg" else 0.0)


def _worst(
    check: str, source: str, setting: str, m: int, sides: list[tuple[float, float]]
) -> Check:
    """The draw that comes nearest to violating left <= right: that with the largest ratio of left
    to right.
    """
    value, stated = max((pair for pair in sides if pair[1] > 0), key=lambda pair: pair[0] / pair[1])
    quantity = "left side, where it is the largest share of the right"
    return Check(check, source, quantity, setting, m, value, "<=", stated, len(sides))


# --- bounds from their proofs


def _drawn(random: np.random.Generator) -> tuple[float, Problem]:
    """A number of queries and a problem, over several orders of magnitude each."""
    n, ball, radius, lipschitz, smooth, risk = 10.0 ** random.uniform(
        [0.5, -2, -2, -2, -2, -4], [6, 2, 2, 2, 2, 2]
    )
    drawn = Problem(
        10, 10, ball, radius, lipschitz, lipschitz, smooth, largest_loss=1.0, best_risk=risk
    )
    return n, replace(drawn, best_risk=0.0) if random.random() < 0.1 else drawn


def _descent() -> Iterator[Check]:
    """Theorem 35, 45, (4.7) and (4.8) against the sums that their proofs minimise; Table 4.1's
    "smallest".
    """
    random = generator(0, "descent")
    draws = [_drawn(random) for _ in range(DRAWS)]
    setting = "n, W, R_X, G, H, L* drawn over orders of magnitude"
    sides = {"theorem 35": [], "theorem 45": [], "(4.8)": []}
    for n, case in draws:
        steep, rate = case.lipschitz * case.radius, generalisation.descent_rate(n, case)
        sides["theorem 35"].append(
            (
                case.ball**2 / (2 * rate * n) + rate * steep**2,
                generalisation.descent_excess(n, case),
            )
        )
        weight = generalisation.regularisation(n, case)
        proof = weight * case.ball**2 / 2 + 4 * (weight * case.ball + steep) ** 2 / (weight * n)
        sides["theorem 45"].append((proof, generalisation.regularised_excess(n, case)))
        risk = generalisation.descent_risk(n, case, generalisation.optimistic_rate(n, case))
        sides["(4.8)"].append((risk, case.best_risk + generalisation.optimistic_excess(n, case)))
    for check, source in (
        ("theorem 35", "thesis, Theorem 35"),
        ("theorem 45", "thesis, Theorems 36 and 45"),
        ("(4.8)", "thesis, (4.8)"),
    ):
        yield _worst(check, source, setting, 10, sides[check])
    risks = [_least_risk(n, case) for n, case in draws[:200]]
    yield Check(
        "(4.7)",
        "thesis, (4.7)",
        "how far the bound on risk at (4.7) is above its least of all step sizes, as a share",
        setting,
        10,
        max(abs(value / stated - 1) for value, stated in risks),
        "=",
        0.0,
        len(risks),
        1e-6,
    )
    for surrogate in constants.CONVEX:
        sides = []
        for m, ball, n in product(LENGTHS, BALLS, (10, 1000, 100_000, 10_000_000)):
            case = problem(surrogate, m, 10, 4, ball, 1.0)
            others = (
                generalisation.regularised_excess(n, case),
                generalisation.erm_excess_l2(n, case),
            )
            sides.append((generalisation.descent_excess(n, case), float(np.nanmin(others))))
        yield _worst(
            "table 4.1, smallest",
            "thesis, Table 4.1",
            f"{surrogate}, W = 0.5 to 10, n to 10^7",
            100,
            sides,
        )


def _least_risk(n: float, case: Problem) -> tuple[float, float]:
    """The bound on the risk of gradient descent at (4.7), and its least over all step sizes."""
    from scipy.optimize import minimize_scalar

    rate = float(generalisation.optimistic_rate(n, case))
    end = math.log(1 / (4 * case.weight_smoothness))
    minimum = minimize_scalar(
        lambda log_rate: math.log(generalisation.descent_risk(n, case, math.exp(log_rate))),
        bounds=(min(end, math.log(rate)) - 3, end),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(generalisation.descent_risk(n, case, rate)), math.exp(minimum.fun)


def _uniform() -> Iterator[Check]:
    """Two checks: the least m from which Theorem 38 is below the bound that it improves on; Theorem
    44's last line.
    """
    for surrogate, n in product(("listnet", "smoothdcg"), (1000, 1_000_000)):
        yield Check(
            "theorem 38, from which m",
            "thesis, 4.7",
            "least m at which Theorem 38's gap is below Chapelle & Wu's",
            f"{surrogate}, grades to 4, W = R_X = 1, n = {n:,}",
            1000,
            _crossing(surrogate, n),
            "<=",
            1000,
        )
    for n in (1000, 1_000_000, 1_000_000_000_000):
        case = problem("listnet", 5, 10, 4, 1.0, 1.0, best_risk=1.0)
        yield Check(
            "theorem 44, last line",
            "thesis, appendix C",
            "L*, beside the bound on L(w^) that the proof ends with",
            f"listnet, W = R_X = 1, L* = 1, n = {n:,}",
            5,
            case.best_risk,
            "<=",
            _last_line(n, case),
        )


def _crossing(surrogate: str, n: int) -> int:
    """The least m at which `uniform_gap_l2` is below `chapelle_wu`, up to a million."""

    def below(m: int) -> bool:
        case = problem(surrogate, m, 10, 4, 1.0, 1.0)
        return generalisation.uniform_gap_l2(n, case) < generalisation.chapelle_wu(n, case)

    return bisect_left(range(2, 2**20), True, key=below) + 2


def _last_line(n: int, case: Problem) -> float:
    """The bound on L(w^) with which the proof of Theorem 44 ends, `sqrt(D0 L*) / 2 + 2 D0`."""
    scale = generalisation.smooth_gap(n, case, 0.0)  # 45 r* + 20 r0
    return float(math.sqrt(scale * case.best_risk) / 2 + 2 * scale)


def _integrals() -> Iterator[Check]:
    """Corollaries 37, 39 and 43 against (4.6) with the covering numbers that they plug in, where
    they are defined.
    """
    for surrogate in ("listnet", "smoothdcg", "ranksvm", "squared"):
        sides: dict[str, list] = {"corollary 37": [], "corollary 39": [], "corollary 43": []}
        for m, ball, n in product((5, 100), BALLS, (100, 10_000, 1_000_000)):
            case = problem(surrogate, m, 10, 4, ball, 1.0)
            top = case.largest_loss

            def integral(covering: Callable, largest: float, n=n, case=case) -> float:
                return entropy.dudley(lambda scale: covering(scale, n, case), n, largest)

            sides["corollary 37"].append(
                (
                    integral(generalisation.covering_l2, top),
                    float(generalisation.rademacher_l2(n, case)),
                )
            )
            sides["corollary 39"].append(
                (
                    integral(generalisation.covering_l1, top),
                    float(generalisation.rademacher_l1(n, case)),
                )
            )
            if surrogate != "ranksvm":
                sides["corollary 43"].append(
                    (
                        integral(
                            lambda *point: generalisation.covering_smooth(*point, 0.5),
                            math.sqrt(0.5 * top),
                        ),
                        float(generalisation.rademacher_smooth(n, case, 0.5)),
                    )
                )
        for check, pairs in sides.items():
            if pairs:
                yield _worst(
                    check,
                    f"thesis, Corollary {check[-2:]}",
                    f"{surrogate}, W = 0.5 to 10, d = 10, n to 10^6",
                    100,
                    pairs,
                )


# --- ListNet's least risk


def _listnet() -> Iterator[Check]:
    """ListNet is at least the entropy of softmax(y); its mean on separable streams, where other
    losses can be 0.

    Less the entropy, ListNet's least risk is 0 there, too, if scores are not bounded.
    """
    random = generator(0, "entropy")
    for m in (2, 5, 20, 100):
        sides = []
        for _ in range(DRAWS // 10):
            grades = random.integers(0, 5, m)
            scores = grades + random.normal(size=m) * 10.0 ** random.uniform(-4, 1)
            sides.append(
                (
                    float(identities.softmax_entropy(grades)),
                    value_and_gradient("listnet", scores, grades, 1.0)[0],
                )
            )
        yield _worst(
            "listnet, entropy", "thesis, 4.3.1", "grades to 4, scores around them", m, sides
        )
    for m in (5, 100):
        grades = random.integers(0, 5, (DRAWS, m))
        yield Check(
            "listnet, least risk",
            "thesis, 4.3.1",
            "mean entropy of softmax(y), at most L*",
            "grades uniform on 0 to 4, as on the separable stream of Figure 2.1",
            m,
            float(identities.softmax_entropy(grades).mean()),
            ">",
            0.0,
            DRAWS,
        )
        some = grades[: DRAWS // 10]
        losses = [value_and_gradient("listnet", y.astype(float), y, 1.0)[0] for y in some]
        yield Check(
            "listnet less its entropy, least risk",
            "thesis, 4.3.1",
            "mean loss less the entropy, at scores that are the grades",
            "grades uniform on 0 to 4",
            m,
            float(np.mean(losses - identities.softmax_entropy(some))),
            "=",
            0.0,
            len(some),
        )

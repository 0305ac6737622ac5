"""Tables of constants of surrogates and of the bounds of chapter IV. They need no run."""

import math
from itertools import product

import pandas as pd

from scant.theory import constants, entropy, generalisation, later_bounds, suprema

LENGTHS = (2, 5, 10, 100)
LARGEST = 4  # grade


# --- constants


def constants_table() -> pd.DataFrame:
    """Lipschitz and smoothness constants of each surrogate by m: as printed, least, and found by
    search; two seconds.

    Grades are to 4; scores to 20 where constants hold for all scores, else to 2. `slope` is the
    slope of log `least` on log m, from m = 10 to 100.
    """
    rows = []
    for surrogate, constant, norm in product(
        constants.SURROGATES, ("lipschitz", "smoothness"), constants.NORMS
    ):
        least = {m: _least(constant, surrogate, m, norm) for m in LENGTHS}
        slope = math.log10(least[100] / least[10]) if math.isfinite(least[100]) else math.nan
        for m in LENGTHS:
            rows.append(
                {
                    "surrogate": surrogate,
                    "constant": constant,
                    "norm": norm,
                    "m": m,
                    "largest": LARGEST,
                    "score_bound": _score_bound(surrogate),
                    "printed": _printed(constant, surrogate, m, norm),
                    "least": least[m],
                    "found": _found(constant, surrogate, m, norm),
                    "slope": slope,
                }
            )
    return pd.DataFrame(rows)


def _score_bound(surrogate: str) -> float:
    return 2.0 if surrogate in ("squared", "kl") else 20.0


def _least(constant: str, surrogate: str, m: int, norm: str) -> float:
    return getattr(constants, constant)(surrogate, m, LARGEST, _score_bound(surrogate), norm=norm)


def _printed(constant: str, surrogate: str, m: int, norm: str) -> float:
    if constant == "smoothness":
        return constants.printed_smoothness(surrogate, norm)
    return constants.printed_lipschitz(surrogate, m, LARGEST, norm=norm)


def _found(constant: str, surrogate: str, m: int, norm: str) -> float:
    if constant == "smoothness" and surrogate == "ranksvm":
        return math.nan  # its gradient jumps
    search = suprema.largest_gradient if constant == "lipschitz" else suprema.largest_hessian
    return search(surrogate, m, LARGEST, _score_bound(surrogate), norm=norm)


# --- Table 4.1

TABLE_4_1 = (  # bound, source, what it applies to, whether the loss may be non-convex
    (generalisation.descent_excess, "Theorem 35", "OGD", False),
    (generalisation.regularised_excess, "Theorem 36", "regularised ERM", False),
    (generalisation.erm_excess_l2, "Theorem 38", "ERM", True),
    (entropy.dudley_gap_l2, "Theorem 38, integral kept", "all w", True),
    (generalisation.chapelle_wu, "Chapelle & Wu", "all w", True),
    (later_bounds.maurer_gap, "Maurer 2016", "all w", True),
)


def table_4_1() -> pd.DataFrame:
    """Table 4.1 computed, with W = R_X = 1, grades up to 4 and delta = 0.05: the bounds and their
    constants.

    `constant` is the bound over G W R_X / sqrt(n). `tells_from` is the least n from which the bound
    is below B.
    """
    rows = []
    for surrogate, m, n in product(
        ("listnet", "smoothdcg", "ranksvm"), (10, 100), (1000, 1_000_000)
    ):
        case = generalisation.problem(surrogate, m, 10, LARGEST, 1.0, 1.0)
        for bound, source, applies, nonconvex in TABLE_4_1:
            if surrogate not in constants.CONVEX and not nonconvex:
                continue
            value = float(bound(n, case))
            rows.append(
                {
                    "surrogate": surrogate,
                    "bound": source,
                    "applies_to": applies,
                    "nonconvex": nonconvex,
                    "m": m,
                    "n": n,
                    "value": value,
                    "constant": value * math.sqrt(n) / case.scale,
                    "largest_loss": case.largest_loss,
                    "tells_from": generalisation.first_telling(bound, case),
                }
            )
    return pd.DataFrame(rows)

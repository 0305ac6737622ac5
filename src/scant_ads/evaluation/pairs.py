"""Decisions among several policies: which is better of each pair, and which to choose with an error
that is known.

All work on one test log. The mean of r (w - v), where w and v are the weights of two policies,
tells which policy is better. It varies less than either estimate where both show the same ads
(`lifts.of_rows`). Holm's procedure says which answers on all pairs can be relied on together.

The intervals of all lifts hold together: with m policies each has an error of (1 - level) / m. The
policy whose lift has the largest lower end is chosen, so that its interval holds, too, however it
was chosen.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from scant_ads.evaluation import lifts

# of the rows of `pairs`
COLUMNS = ("policy", "other", "difference", "low", "high", "better", "needed")


def holm(decide: Mapping[object, Callable[[float], str]], level: float) -> dict[object, str]:
    """The answers that hold together with a confidence of `level` (Holm 1979).

    decide : by question, a function from a confidence to the answer, "" if open; a higher
        confidence never adds an answer
    """
    answers, left = {}, dict(decide)
    while left:
        confidence = 1 - (1 - level) / len(left)
        new_answers = {
            key: answer for key, function in left.items() if (answer := function(confidence))
        }
        if not new_answers:
            break
        answers |= new_answers
        left = {key: function for key, function in left.items() if key not in new_answers}
    return answers | dict.fromkeys(left, "")


def pairs(
    names: Sequence[str], bounds: Mapping[tuple[str, str], tuple], rows: int, level: float
) -> list[dict]:
    """Which is better of each pair of policies.

    bounds : for each pair (first, second), the estimate of first CTR - second CTR, and its
        `lifts.Bounds`
    rows : how many rows the log has

    Returns
    -------
    rows : one mapping for each pair, with policy, other; difference of their CTRs with low and
        high, each interval by itself with a confidence of `level`; better, the better one, or "" if
        that is open: all answers hold together with this confidence; needed, how many rows would
        tell with an even chance if the estimate is right, NaN if `better` is known
    """

    def better(pair):
        def answer(confidence: float) -> str:
            one_sided, of_pair = (1 + confidence) / 2, bounds[pair][1]
            if of_pair.lower(one_sided) > 0:
                return pair[0]
            return pair[1] if of_pair.upper(one_sided) < 0 else ""

        return answer

    compared = [pair for pair in combinations(names, 2) if pair in bounds]
    answers, differences = holm({pair: better(pair) for pair in compared}, level), []
    # as in the first step of Holm's, with all pairs left
    joint = 1 - (1 - level) / max(len(compared), 1)
    for pair in compared:
        (estimate, of_pair), needed = bounds[pair], math.nan
        low, high = of_pair.lower((1 + level) / 2), of_pair.upper((1 + level) / 2)
        if not answers[pair]:
            needed = (
                rows * lifts.needed(of_pair, 0.0, estimate > 0, joint) if estimate else math.inf
            )
        values = (*pair, estimate, low, high, answers[pair], needed)
        differences.append(dict(zip(COLUMNS, values, strict=True)))
    return differences


def chosen(rows: Sequence[Mapping]) -> dict:
    """The policy whose lift has the largest lower end, of rows whose intervals of the lift hold
    together.

    So its interval holds however it was chosen. Of equal ends the one with the larger estimate is
    taken. Where there is no lift, the CTR's lower end decides.

    Returns
    -------
    choice : policy; lower, the lower end of its CTR; of, how many policies; lift, lift_lower and
        lift_upper; better and worse, whether its verdict is yes or no
    """
    best = max(
        rows,
        key=lambda row: (np.nan_to_num(row["lift_low"], nan=-np.inf), row["low"], row["estimate"]),
    )
    return {"policy": best["policy"], "lower": best["low"], "of": len(rows), "lift": best["lift"],
            "lift_lower": best["lift_low"], "lift_upper": best["lift_high"],
            "better": best["verdict"] == "yes",
            "worse": best["verdict"] == "no"}  # fmt: skip

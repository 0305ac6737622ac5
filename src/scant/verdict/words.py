"""The words for verdicts.

In the data a verdict has one name for every kind of row; on the page its word depends on the kind.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from scant.present.rounding import rounded

DIFFERS = "differs"  # it holds in some cells, and fails in others
SILENT = "says nothing here"  # nothing that could have been measured would violate the claim
ALIKE = "does not discriminate"  # it holds, and so does its control, of which it is false
UNTESTABLE = "not testable here"
VERDICTS = ("holds", "fails", DIFFERS, "undecided", ALIKE, SILENT, UNTESTABLE)
DECIDED = VERDICTS[:3]
MEANINGS = {  # of verdicts, for the page
    "holds": (
        "What was measured is as claimed, with 95 % confidence however often one looks, or "
        "checked exactly."
    ),
    "fails": (
        "What was measured is not as claimed, with 95 % confidence however often one looks, "
        "or checked exactly."
    ),
    DIFFERS: (
        "It holds on some data, or for some learners, and fails on others, each with the same "
        "confidence."
    ),
    "undecided": "The mean over seeds may be on either side of what is claimed, or the typical "
    "seed is on the other side of it.",
    ALIKE: "The claim holds, but so does its control, of which it should be false.",
    SILENT: "Nothing that could have been measured would violate the claim: a bound that is larger "
    "than the largest possible loss.",
    UNTESTABLE: "The study lacks data, a learner or an experiment that the claim names.",
}
# each kind of row: what several are called, and what it is of; the papers' own measurements first
ROWS = {
    "reproduction": (
        "reproductions",
        "what a paper measured, on its own data or on data made as it says",
    ),
    "extension": ("extensions", "the same statement on other data"),
    "theorem": ("theorem checks", "an identity, a table or a bound"),
    "question": ("questions", "what no paper says, asked by whoever wrote the claim"),
}
# what a test supposes of seeds; others suppose nothing
PREMISES = {"anytime t": "seeds near normal"}
# what a verdict is, premise or not, if a study would hardly miss what overturns it
MARK = "whatever seeds are like"
UNTOLD = "extension"  # the kind of a row that does not say its own
SHOWN = {
    "reproduction": {"holds": "reproduces", "fails": "does not reproduce"},
    "extension": {"holds": "extends", "fails": "does not extend"},
    "theorem": {"holds": "holds", "fails": "fails"},
    "question": {"holds": "yes", "fails": "no"},
}
PLURAL = {  # what is said of one claim, and of several
    "holds": "hold", "fails": "fail", "reproduces": "reproduce",
    "does not reproduce": "do not reproduce",
    "extends": "extend", "does not extend": "do not extend", "yes": "yes", "no": "no",
    DIFFERS: "differ", ALIKE: "do not discriminate", SILENT: "say nothing here",
    "is undecided": "are undecided",
}  # fmt: skip


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun or verb: "1 holds", "3 hold"."""
    return f"{number} {one if number == 1 else several}"


def outcomes(claims: Iterable[Mapping], row: str = "theorem") -> str:
    """How many claims have each verdict, without verdicts that none has: "2 reproduce, 1 is
    undecided".
    """
    counts = Counter(said(row, claim["verdict"]) for claim in claims)
    numbers = ((counts[one.removeprefix("is ")], one, many) for one, many in PLURAL.items())
    return ", ".join(counted(*number) for number in numbers if number[0])


def by_test(claims: Iterable[Mapping]) -> dict[str, list]:
    """The claims with a verdict, apart by how they were judged: "checked exactly" or "measured"."""
    groups = {"checked exactly": [], "measured": []}
    for claim in claims:
        if claim["verdict"] != UNTESTABLE:
            groups["checked exactly" if claim["test"] == "exact" else "measured"].append(claim)
    return {how: of for how, of in groups.items() if of}


def said(row: str, verdict: str) -> str:
    """The word for a verdict on a row of some kind: "reproduces" where a reproduction holds."""
    return SHOWN[row].get(verdict, verdict)


def kind(row: str) -> str:
    """What one row of a kind is called: "theorem check", "reproduction", "extension"."""
    return ROWS[row][0].removesuffix("s")


def cells(claim: Mapping) -> str:
    """In how many of its cells a claim holds, fails and says nothing: "holds in 3 of 5 cells, fails
    in 1".
    """
    kinds = ("holding", "failing", "silent", "total")
    holding, failing, silent, total = (claim[f"cells_{of}"] for of in kinds)
    text = f"holds in {holding} of {total} cell{'' if total == 1 else 's'}"
    text += f", fails in {failing}" if failing else ""
    return text + (f", says nothing in {silent}" if silent else "")


def needed(seeds: float) -> str:
    """From which number of seeds on a claim would be decided: "30 seeds or more", "no number of
    seeds".
    """
    return f"{seeds:g} seeds or more" if math.isfinite(seeds) else "no number of seeds"


def agreeing(seeds: float, n: int, least: float) -> str:
    """In how many of n seeds a claim holds: "40 of 40 seeds, hence in at least 91 % of all"."""
    percent = rounded(100 * least, ".0f", "low")
    of_all = f", hence in at least {percent} % of all" if least >= 0.01 else ""
    return f"{seeds:g} of {n} seeds{of_all}"


def tipping(share: float) -> str:
    """What it takes to overturn a verdict: "one seed in 28 would have to be as far against it as a
    seed can be".
    """
    if share >= 1:
        return "not even all seeds, as far against it as a seed can be, would do"
    return f"one seed in {one_in(share)} would have to be as far against it as a seed can be"


def one_in(share: float) -> str:
    """A share as one seed in so many, as text: "28" for 1/28, "3.9"."""
    if share <= 0:
        return "infinitely many"
    return f"{1 / share:,.0f}" if share <= 0.1 else f"{1 / share:.2g}"


def claimed(low: float, high: float, number=lambda value: f"{value:.4g}") -> str:
    """The interval in which a claim says that an estimate lies: "above 0", "at most 1", "-0.01 to
    0.01".

    number : writes a number
    """
    ends = [number(end) for end in dict.fromkeys((low, high)) if math.isfinite(end)]
    if math.isfinite(low + high):
        return " to ".join(ends)
    side = "above" if math.isfinite(low) else "below"
    return f"{side} {ends[0]}" if ends else "any"

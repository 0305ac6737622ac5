"""The words for what claims come to, which depend on the kind of row; in the data a verdict has one
name.
"""

import math

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
OF_PAPERS = ("theorem", "reproduction")  # the kinds of rows that speak for the papers
UNTOLD = "extension"  # the kind of a row that does not say its own
SHOWN = {
    "reproduction": {"holds": "reproduces", "fails": "does not reproduce"},
    "extension": {"holds": "extends", "fails": "does not extend"},
    "theorem": {"holds": "holds", "fails": "fails"},
    "question": {"holds": "yes", "fails": "no"},
}
PLURAL = {
    "holds": "hold", "fails": "fail", "reproduces": "reproduce",
    "does not reproduce": "do not reproduce",
    "extends": "extend", "does not extend": "do not extend", "yes": "yes", "no": "no",
}  # fmt: skip


def said(row: str, verdict: str) -> str:
    """The word for a verdict on a row of some kind: "reproduces" where a reproduction holds."""
    return SHOWN[row].get(verdict, verdict)


def kind(row: str) -> str:
    """What one row of a kind is called: "theorem check", "reproduction", "extension"."""
    return ROWS[row][0].removesuffix("s")


def cells(holding: int, failing: int, silent: int, total: int) -> str:
    """In how many of its cells a claim holds, fails and says nothing: "holds in 3 of 5 cells, fails
    in 1".
    """
    text = f"holds in {holding} of {total} cell{'' if total == 1 else 's'}"
    text += f", fails in {failing}" if failing else ""
    return text + (f", says nothing in {silent}" if silent else "")


def needed(seeds: float) -> str:
    """From which number of seeds on they would decide a claim: "30 seeds or more", "no number of
    seeds".
    """
    return f"{seeds:g} seeds or more" if math.isfinite(seeds) else "no number of seeds"


def agreeing(seeds: float, n: int, least: float) -> str:
    """In how many seeds it is so: "40 of 40 seeds, in at least 91 % of all"."""
    return f"{seeds:g} of {n} seeds, in at least {100 * least:.0f} % of all"


def tipping(share: float) -> str:
    """What would overturn a verdict: "one seed in 28 at the far end of its range would move the
    mean to the margin".
    """
    if share >= 1:
        return "no seed within its range could overturn it"
    return (
        f"one seed in {one_in(share)} at the far end of its range would move the mean to the margin"
    )


def one_in(share: float) -> str:
    """Of how many seeds a share is one: "28", "3.9"."""
    return (
        f"{1 / share:,.0f}"
        if share <= 0.1
        else f"{1 / share:.2g}"
        if share > 0
        else "infinitely many"
    )


def claimed(low: float, high: float, number=lambda value: f"{value:.4g}") -> str:
    """The interval in which a claim says that an estimate lies: "above 0", "at most 1", "-0.01 to
    0.01".

    number : writes a number
    """
    if math.isfinite(low) and math.isfinite(high):
        return number(low) if low == high else f"{number(low)} to {number(high)}"
    if math.isfinite(low):
        return f"above {number(low)}"
    return f"below {number(high)}" if math.isfinite(high) else "any"

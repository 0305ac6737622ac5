"""The words for what claims come to, which depend on the kind of row; in the data a verdict has one name."""

import math

SILENT = "says nothing here"  # nothing that could have been measured would violate the claim
ALIKE = "does not discriminate"  # it holds, and so does its control, of which it is false
UNTESTABLE = "not testable here"
VERDICTS = ("holds", "fails", "undecided", ALIKE, SILENT, UNTESTABLE)
DECIDED = VERDICTS[:2]
MEANINGS = {  # of verdicts, for the page
    "holds": "What was measured is as claimed, with 95 % confidence however often one looks, or checked exactly.",
    "fails": "What was measured is not as claimed, with 95 % confidence however often one looks, or checked exactly.",
    "undecided": "The interval of the estimate reaches over the boundary of what is claimed, or seeds that were not "
    "drawn may overturn what these say: more seeds may decide it.",
    ALIKE: "The claim holds, but so does its control, of which it should be false.",
    SILENT: "Nothing that could have been measured would violate the claim: a bound that is larger than the largest "
    "possible loss.",
    UNTESTABLE: "The study lacks the data or the experiment that the claim is about.",
}
ROWS = {  # each kind of row: what several are called, and what it is of; the papers' own measurements first
    "reproduction": ("reproductions", "what a paper measured, on its own data or on data made as it says"),
    "extension": ("extensions", "the same statement on other data"),
    "theorem": ("theorem checks", "an identity, a table or a bound"),
    "question": ("questions", "what no paper says, asked by whoever wrote the claim"),
}
PREMISES = {  # what a test supposes of seeds; those that are not here suppose nothing
    "anytime t": "seeds near normal",
    "t": "seeds near normal",
    "sign flips": "seeds symmetric about the margin",
}
OF_PAPERS = ("theorem", "reproduction")  # the kinds of rows that speak for the papers
UNTOLD = "extension"  # the kind of a row that does not say its own
SHOWN = {
    "reproduction": {"holds": "reproduces", "fails": "does not reproduce"},
    "extension": {"holds": "extends", "fails": "does not extend"},
    "theorem": {"holds": "holds", "fails": "fails"},
    "question": {"holds": "yes", "fails": "no"},
}
PLURAL = {
    "holds": "hold", "fails": "fail", "reproduces": "reproduce", "does not reproduce": "do not reproduce",
    "extends": "extend", "does not extend": "do not extend", "yes": "yes", "no": "no",
}  # fmt: skip


def said(row: str, verdict: str) -> str:
    """The word for a verdict on a row of some kind: "reproduces" where a reproduction holds."""
    return SHOWN[row].get(verdict, verdict)


def kind(row: str) -> str:
    """What one row of a kind is called: "theorem check", "reproduction", "extension"."""
    return ROWS[row][0].removesuffix("s")


def cells(holding: int, failing: int, silent: int, total: int) -> str:
    """In how many of its cells a claim holds, fails and says nothing: "holds in 3 of 5 cells, fails in 1"."""
    text = f"holds in {holding} of {total} cell{'' if total == 1 else 's'}"
    text += f", fails in {failing}" if failing else ""
    return text + (f", says nothing in {silent}" if silent else "")


def needed(seeds: float) -> str:
    """From which number of seeds on they would decide a claim: "30 seeds or more", "no number of seeds"."""
    return f"{seeds:g} seeds or more" if math.isfinite(seeds) else "no number of seeds"


def of_bets(row: str, verdict: str, seeds: float | None) -> str:
    """What bets say of a row of some kind, and from which number of seeds on they would decide it."""
    return said(row, verdict) + (f"; {needed(seeds)} would decide it" if seeds is not None else "")


def claimed(low: float, high: float, number=lambda value: f"{value:.4g}") -> str:
    """The interval in which a claim says that an estimate lies: "above 0", "at most 1", "-0.01 to 0.01".

    number : writes a number
    """
    if math.isfinite(low) and math.isfinite(high):
        return number(low) if low == high else f"{number(low)} to {number(high)}"
    if math.isfinite(low):
        return f"above {number(low)}"
    return f"below {number(high)}" if math.isfinite(high) else "any"

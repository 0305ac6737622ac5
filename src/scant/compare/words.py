"""What differs between two studies, in sentences, and their numbers as text."""

from collections import Counter

from scant.compare.differences import (
    BEYOND,
    INTERVAL,
    ONLY_A,
    ONLY_B,
    OUTSIDE,
    SAME,
    WITHIN,
    Comparison,
    Estimate,
    Judged,
    equal,
)
from scant.compare.finished import Finished, studied
from scant.page import page

MADE_BY = {  # what made the studies: parts of a comparison, and their titles
    "settings": "Settings",
    "code": "Code",
    "versions": "Packages",
    "data": "Data sets",
}


def called(study: Finished) -> str:
    """The folder of a study, and whether it is a reference."""
    return f"{study.folder}" + (" (reference)" if study.is_reference else "")


def sentences(comparison: Comparison) -> list[str]:
    """What differs, in a few sentences: verdicts, estimates, tables, and what made the studies."""
    lines = []
    if comparison.claims:
        turned, total = len(comparison.turned), _many(len(comparison.claims), "verdict")
        verb = "differs" if turned == 1 else "differ"
        lines.append(
            f"{turned} of {total} {verb}." if turned else f"{_all(len(comparison.claims), 'verdict')} the same."
        )
        lines += [_moves("estimate", comparison.claims), _moves("cell", comparison.cells)]
    elif comparison.alone:
        lines.append("They have no claim in common.")
    elif lacking := [side for side, study in _sides(comparison).items() if study.claims is None]:
        lines.append(f"{listed(lacking)} {'judge' if len(lacking) == 2 else 'judges'} no claims.")
    return [line for line in [*lines, _alone(comparison), _tables(comparison), _made_by(comparison)] if line]


def _alone(comparison: Comparison) -> str:
    """How many claims only one of the studies judges."""
    counts = {side: sum(bool(claim.verdicts[number]) for claim in comparison.alone) for number, side in enumerate("AB")}
    parts = [f"{side} alone judges {_many(count, 'claim')}" for side, count in counts.items() if count]
    return f"{' and '.join(parts)}." if parts else ""


def _sides(comparison: Comparison) -> dict[str, Finished]:
    return {"A": comparison.a, "B": comparison.b}


def _made_by(comparison: Comparison) -> str:
    """What is known of how the studies were made."""
    if lacking := [side for side, study in _sides(comparison).items() if not study.manifest]:
        verb = "have" if len(lacking) == 2 else "has"
        return f"{listed(lacking)} {verb} no manifest.json, so what made them cannot be compared."
    text = ""
    if comparison.a.study != comparison.b.study:
        text = f"They are different studies, {comparison.a.study} and {comparison.b.study}. "
    changed = [title.lower() for part, title in MADE_BY.items() if getattr(comparison, part)]
    changed += ["claims"] if comparison.restated else []
    if changed:
        cause = " Seeds and data are the same, so this or the processor is what makes numbers differ."
        return f"{text}They were made with different {listed(changed)}.{cause if comparison.alike else ''}"
    processor = " What differs is due to the processor." if comparison.fails("numbers") else ""
    return f"{text}Both were made with the same settings, code, packages, claims and data.{processor}"


def _moves(noun: str, judged: list[Judged]) -> str:
    """How many estimates moved how far."""
    counts = Counter(item.how for item in judged if has_value(item.a) or has_value(item.b))
    total, beyond = counts.total(), sum(counts[how] for how in BEYOND)
    if total == counts[SAME]:
        return f"{_all(total, noun)} the same to rounding." if total else ""
    parts = [
        (beyond, "moved beyond the intervals"),
        (counts[OUTSIDE], "moved out of an interval"),
        (counts[WITHIN], "moved within the intervals"),
        (counts[INTERVAL], "with another interval"),
        (counts[ONLY_A], ONLY_A),
        (counts[ONLY_B], ONLY_B),
        (counts[SAME], "the same to rounding"),
    ]
    return f"Of {_many(total, noun)}: {listed([f'{count} {words}' for count, words in parts if count])}."


def _tables(comparison: Comparison) -> str:
    """How many tables differ."""
    if not comparison.tables:
        return ""
    differing = [name for name, cells in comparison.tables.items() if cells]
    if differing:
        return f"Of {_many(len(comparison.tables), 'table')}, these differ: {listed(differing)}."
    rows, tables = sum(comparison.rows.values()), _many(len(comparison.tables), "table")
    return f"{_all(rows, 'row')} the same to rounding, in {tables} ({listed(list(comparison.tables))})."


def _many(number: int, noun: str) -> str:
    """A number of things: "1 claim", "3 claims"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _all(number: int, noun: str) -> str:
    """All of some things, with their verb."""
    return f"The only {noun} is" if number == 1 else f"All {number} {noun}s are"


def listed(names: list[str]) -> str:
    """Names as a list in words: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def has_value(estimate: Estimate | None) -> bool:
    """Whether there is an estimate, and it is a number."""
    return estimate is not None and estimate.value is not None


def renewal(comparison: Comparison) -> str:
    """How to renew the reference, if verdicts differ from it; else ""."""
    folders = [study.folder for study in (comparison.a, comparison.b) if study.is_reference]
    if not folders or not (comparison.turned or comparison.alone):
        return ""
    return f"If these verdicts are meant, renew the reference and commit it: scant reference {studied(folders[0])}"


def numbers(a: float | None, b: float | None) -> tuple[str, str]:
    """Two numbers, to four digits, or as many more as show that they differ by more than rounding."""
    for digits in range(4, 18):
        texts = tuple(page.ABSENT if value is None else f"{value:.{digits}g}" for value in (a, b))
        if equal(a, b) or texts[0] != texts[1]:
            break
    return texts


def both(a: Estimate | str | None, b: Estimate | str | None) -> tuple[str, str]:
    """Two estimates with intervals and numbers of seeds, as text; texts as they are."""
    if not isinstance(a, Estimate) and not isinstance(b, Estimate):
        return tuple(text or page.ABSENT for text in (a, b))
    pair = [side if isinstance(side, Estimate) else Estimate(None) for side in (a, b)]
    values, lows, highs = (numbers(*(side[place] for side in pair)) for place in range(3))
    texts = []
    for side, estimate in enumerate(pair):
        has_interval = None not in (estimate.value, estimate.low, estimate.high)
        seeds = f", n = {estimate.n:g}" if has_value(estimate) and estimate.n else ""
        texts.append(values[side] + (f" [{lows[side]}, {highs[side]}]" if has_interval else "") + seeds)
    return tuple(texts)

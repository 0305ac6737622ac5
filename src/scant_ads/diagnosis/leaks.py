"""Features that come after the click, clicks that are still to come, texts that the training log
lacks, and visits that click otherwise than in the training log.
"""

import math
from collections.abc import Iterator
from shlex import quote

import numpy as np

from scant.bandits import intervals
from scant.bandits.learners import Uniform
from scant.data import logs
from scant.randomness import generator
from scant_ads.reading import arrays
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import LEAK

# with which a single feature tells clicks from other visits only if it comes after the click
AUC = 0.99
# rows of either kind that are looked at first, and the AUC from which on all others are
SAMPLE, LIKELY = 1000, 0.97
EVENTS = 30  # rows with a reward, and without, that are needed to say so
PRESENT = 20  # rows in which a feature has a value, all with a reward, that are needed to say so
CHANCE = 1e-6  # of such rows in a row, at most, by the share of rows with a reward
PARTS = 20  # of the log; the last ones, up to half of them, are compared with the rest
LATE = 1 / 3  # rewards of the last parts below this share of the rest's look not joined yet
LATE_AD = 0.15  # `LATE` of one ad, whose rate may fall while another's rises
ALARM = 1e-3  # the probability of a false alarm
ROUNDED = 2e-3  # the largest relative error of a rounded tally
SHARE = 1e-3  # of rows with texts that the training log lacks, from which on a note says so


def problems(head: Visits, nothing: float) -> Iterator[Problem]:
    """Features that tell the reward so well that they look known only after it.

    head : the first rows of a log
    nothing : the value of `Visits.reward` that stands for a reward of 0; see `Unit`
    """
    rewarded = head.reward != nothing
    rows, events = len(rewarded), int(np.count_nonzero(rewarded))
    if min(events, rows - events) < EVENTS:
        return
    some = np.r_[np.flatnonzero(rewarded)[:SAMPLE], np.flatnonzero(~rewarded)[:SAMPLE]]
    for name in head.names:
        values, missing = _values(head, name, rewarded)
        present = ~missing & (values != 0) if name not in head.categories else ~missing
        several, values = int(np.count_nonzero(present)), np.where(missing, -np.inf, values)
        auc = _auc(values[some], rewarded[some])
        auc = _auc(values, rewarded) if max(auc, 1 - auc) > LIKELY else auc
        if (
            PRESENT <= several < rows
            and rewarded[present].all()
            and (events / rows) ** several < CHANCE
        ):
            why = (
                f"is there, neither missing nor 0, in {several:,} of {rows:,} rows, all of them "
                "with a reward"
            )
        elif max(auc, 1 - auc) > AUC:
            why = (
                f"alone tells which visits have a reward (AUC {max(auc, 1 - auc):.4f} in "
                f"{rows:,} rows)"
            )
        else:
            continue
        yield Problem(
            LEAK,
            f"feature {name!r} {why}: it looks like something known only afterwards",
            (
                f"Leave it out with --ignore {quote(name)}, unless it is known before an ad "
                "is chosen"
            ),
            column=name,
        )


def _values(head: Visits, name: str, rewarded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A feature's numbers, float64 (rows), and where they are missing, bool (rows).

    A text becomes the share of rewarded rows among the rows with it: for odd rows the share among
    even rows, and the reverse, since a rare text would tell its own rows too well.
    """
    if name not in head.categories:
        values = head.feature(name).astype(float)
        return values, np.isnan(values)
    code, texts, values = head.codes(name), head.categories[name], np.empty(len(head))
    for half in range(2):
        others, half_rows = code[1 - half :: 2], slice(half, None, 2)
        count = np.bincount(others, minlength=len(texts))
        sums = np.bincount(others, rewarded[1 - half :: 2], len(texts))
        values[half_rows] = ((sums + rewarded.mean()) / (count + 1))[code[half_rows]]
    return values, np.array([not text for text in texts], bool)[code]


def _auc(values: np.ndarray, positive: np.ndarray) -> float:
    """The area under the ROC curve of `values` for telling positive rows from others."""
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    several = int(np.count_nonzero(positive))
    above = rank[code[positive]].sum() - several * (several + 1) / 2
    return float(above / (several * (len(values) - several)))


def late(
    lengths: np.ndarray,
    sums: np.ndarray,
    square: float,
    cuts,
    design: float = 1.0,
    tests: int = 1,
    most: float = LATE,
) -> Iterator[Problem]:
    """A warning if the last visits have far fewer rewards than the visits before, as if rewards
    were not yet joined to them.

    If rates do not change, the number of rewards in the last parts is binomial, given the number of
    all. Where rewards are not 0 or 1, or visits of a user depend on each other, their effective
    number counts.

    lengths, sums, square, cuts, design : of rewards, see `health.drift`
    tests : how many such tests share one chance of a false alarm (Bonferroni)
    most : the rate of the last parts, as a share of the rate before, below which rewards look not
        joined
    """
    from scipy import special

    rows, total, candidates = int(lengths.sum()), float(sums.sum()), []
    effective = int(total**2 / square / design) if square else 0
    later = np.array([math.floor((1 - cut) * PARTS) for cut in cuts])  # whole parts after each
    for parts in range(1, PARTS // 2 + 1):
        last = later < parts
        share = float(lengths[last].sum()) / rows
        part = float(sums[last].sum()) / total if total else 1.0
        if 0 < share < 1 and (times := part / share * (1 - share) / max(1 - part, 1e-12)) < most:
            candidates.append(
                (float(special.bdtr(int(effective * part), effective, share)), parts, times)
            )
    if candidates and min(candidates)[0] * (PARTS // 2) * tests < ALARM:
        _, parts, times = min(candidates)
        reason = (
            f"rewards of the last {100 * parts // PARTS} % of the log look not joined yet: "
            f"on average they are {100 * times:.2g} % of those before"
        )
        yield Problem(
            "late", reason, "Leave these rows out, or wait for their rewards: rates are too low"
        )


def new_texts(test, training, rows: int) -> Iterator[str]:
    """Sentences that name the texts of features which a test log has and its training log lacks.

    test, training : `tally.Features` of the two logs
    rows : how many rows the test log has
    """
    for name, counts in test.texts.items():
        has = arrays.places([*counts], [*training.texts.get(name, counts)]) >= 0
        new = {
            text: count for (text, count), old in zip(counts.items(), has, strict=True) if not old
        }
        if (share := sum(new.values()) / rows) >= SHARE:
            most = sorted(new, key=lambda text: (-new[text], text))
            yield (
                f"{100 * share:.3g} % of rows have a {name!r} that the training log lacks "
                f"({logs.listing(most)}): learnt policies take them for one of its rare ones"
            )


def uniform_rates(test, training) -> list[tuple[float, float]]:
    """Two intervals of the reward that showing all ads with equal probability earns: by the test
    log, and by its training log. Empty if they overlap.

    Both estimate the same mean if visits and rates are alike, whatever policies logged them. The
    intervals need no least propensity, and hold if some visits cannot get an ad. Empty, too, if the
    logs have different ads, or known users.

    test, training : `tally.Tally` of the two logs
    """
    if {ad for ad, sums in test.ads.items() if sums[0].any()} != {*training.ads}:
        return []
    bounds, random, confidence = [], generator(0, "advice", "others"), 1 - ALARM / 4
    for tally in (test, training):
        weight, reward, count = tally.table(Uniform.kind)
        if len(tally.users.settle().key):
            return []
        low, above = (
            float(
                intervals.betting_without_range(
                    intervals.drawn(terms, count, weight.max(), random), confidence
                )
            )
            for terms in (weight * reward, weight * (1 - reward))
        )
        bounds.append((low, 1 - above))
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    return bounds if low > high * (1 + ROUNDED) else []

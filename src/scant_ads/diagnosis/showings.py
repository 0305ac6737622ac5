"""Are the propensities of a log those by which its ads were shown? Each ad's showings against its
propensities.

Whatever decided which ads a visit could get, the sum of 1 / propensity over the rows that show an
ad is at most the number of rows on average, in every period, for every kind of user, and after
every kind of visit. So an ad that is shown more often than this has propensities that are too
small. (One that is shown less often may have been impossible for some users.) If an ad is shown too
often next to a row that showed it, ads follow a schedule, such as one a day.

With X = 1 / propensity where the ad is shown, and 0 elsewhere, a right log has E[X | rows before]
<= 1. So it has among the rows of any group, if what came before a row's ad was drawn tells whether
the row is in it: its time, its features, and which ad the row before showed do. Then exp(a sum(X -
1) - psi(a) sum((X - 1)^2)) with psi(a) = -log(1 - a) - a has an expectation of at most 1 for every
a in [0, 1), since exp(a y - psi(a) y^2) <= 1 + a y for y >= -1 (Fan, Grama and Liu 2015; Howard et
al. 2021): an e-value. A mean of e-values, over many a, ads and groups, whose weights are fixed
beforehand and sum to 1 at most, is one, too, however they depend on each other. By Markov's
inequality it reaches 1 / `ALARM` with a probability of at most `ALARM` in a right log of any size.

Which ads there are is not fixed beforehand: a log may lack most of them. But the rows after an ad's
first showing have an e-value that begins when the ad appears. The j-th ad to appear may have the
weight 1 / (j (1 + log n)) in a log of n rows, since these sum to 1 at most. The rows before have
factors of at most 1, and the first showing has exp(1/2) at most, as a y - psi(a) y^2 <= a^2 / (4
psi(a)) <= 1/2. So the e-value of all rows is at most exp(1/2) times that one, and each of K ads
seen may have the weight exp(-1/2) / (K (1 + log n)), in whatever order they appeared. So it is with
rare texts of a feature: each may have 1 / (T (1 + log n)) if there are T, whichever of them are
looked at.

Where each ad has one propensity, as in an A/B test, and visits are independent, the rows of an ad
are binomial: then an exact test of the sample ratio is made, too, which finds smaller differences
(`mismatch`).

Where it is known which visits could show an ad, its rows are these: X - 1 has an expectation of 0
in each of them.

Of a log it needs only sums, which add up over its parts, and, for the rows next to each other, the
first rows of each part. Rows of one time are put in random order, since files may be sorted by ad.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from shlex import quote

import numpy as np

from scant.data import logs
from scant_ads.diagnosis.order import BLOCKS, Order
from scant_ads.reading.amounts import rounding, uniform_ads
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import SCHEDULE, WRONG

ALARM = 0.01  # the probability of a false alarm, at most
MISMATCH = 0.001  # the level of the test of the sample ratio

# the rates a: large ones find much in few rows, small ones little in many
RATES = 2.0 ** -np.arange(1, 16)
# smaller propensities count as this one, so that the sums stay whole numbers that are exact
LEAST = 1e-4
SCALE = 256  # sums are of whole multiples of 1 / 256, so that the order of terms does not matter
FEATURES = 64  # the first features, which make groups of users

# the most frequent texts of a feature, and as many by their rewards, each of which makes a group
TEXTS = 3
# rewards that a text has more, or less, than by the rate of all rows, to stand out by them
UNLIKELY = 10
# of the mean of e-values, by kind
WEIGHTS = {"all": 0.4, "time": 0.2, "feature": 0.15, "text": 0.05, "next": 0.2}
KEPT = (
    " Where users keep the ad that they got first, say who they are by --user COLUMN; where rows "
    "are of one visit, name it by --list COLUMN."
)


@dataclass(frozen=True)
class Group:
    """Some rows of a log.

    kind : a key of `WEIGHTS`
    words : which rows they are
    feature : the feature by which they are chosen, or ""
    """

    kind: str
    words: str = ""
    feature: str = ""


@dataclass(frozen=True)
class Groups:
    """The groups of rows in which showings are looked at.

    A text may be rare and decide an answer, as that of robots that click on one ad. It then has
    many more rewards than other texts, or much fewer. Since rewards of this log choose it, all
    texts count as groups that were looked at.

    middles : by feature with numbers, the number above which a row is in its group: the other rows
        are another group
    texts : by text feature, its most frequent texts; all texts but these, and those of `chosen`,
        are another group
    chosen : by text feature, the texts that stand out by their rewards
    lacking : the features with missing values; the rows without a value are a group
    seen : how many texts there are
    """

    middles: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    seen: int = 0

    @classmethod
    def of(cls, head: Visits, leaks: Collection[str] = ()) -> "Groups":
        """The groups, chosen by the first rows of a log.

        leaks : features known only after the click, which make no group
        """
        middles, texts, chosen, lacking, seen = {}, {}, {}, [], 0
        rate = float(np.mean(head.reward > 0))
        for name in [name for name in head.names if name not in leaks][:FEATURES]:
            if name not in head.categories:
                numbers = head.feature(name)
                middle = _middle(numbers)
                middles |= {} if middle is None else {name: middle}
                lacking += [name] if np.isnan(numbers).any() else []
                continue
            counts = _counts(head, name)
            seen += len(counts)
            lacking += [name] if counts.pop("", None) else []
            frequent = sorted(counts, key=lambda text: (-counts[text][0], text))[:TEXTS]
            unlikely = {
                text: abs(rewards - rate * rows) for text, (rows, rewards) in counts.items()
            }
            others = sorted({*counts} - {*frequent}, key=lambda text: (-unlikely[text], text))[
                :TEXTS
            ]
            if len(counts) > 1 or (frequent and name in lacking):
                texts[name] = tuple(frequent)
                chosen[name] = tuple(text for text in others if unlikely[text] >= UNLIKELY)
        return cls(middles, texts, chosen, tuple(lacking), seen)

    @property
    def described(self) -> list[Group]:
        """All groups, in the order of sums in `Showings`.

        First those of `marks`; then for each feature with numbers the rows that are not above its
        middle; last the rows that come next to one with the same ad.
        """
        return [
            Group("all"),
            *(
                Group("time", f"in part {number} of {BLOCKS} of the log")
                for number in range(1, BLOCKS + 1)
            ),
            *(
                Group("feature", f"where {name!r} is above {middle:.4g}", name)
                for name, middle in self.middles.items()
            ),
            *(Group(kind, f"where {name!r} is {text!r}", name) for kind, name, text in self._kept),
            *(
                Group("feature", f"where {name!r} is none of its frequent texts", name)
                for name in self.texts
            ),
            *(Group("feature", f"where {name!r} is missing", name) for name in self.lacking),
            *(
                Group("feature", f"where {name!r} is {middle:.4g} or less, or missing", name)
                for name, middle in self.middles.items()
            ),
            Group("next", "next to a row that shows it"),
        ]

    @property
    def _kept(self) -> list[tuple[str, str, str]]:
        """The texts that make a group each, with the kind of the group, and the feature."""
        frequent = [("feature", name, text) for name, kept in self.texts.items() for text in kept]
        return frequent + [("text", name, text) for name, of in self.chosen.items() for text in of]

    def marks(self, visits: Visits, block: np.ndarray) -> np.ndarray:
        """Which rows are in each of the first groups of `described`, up to the groups of missing
        values; bool (rows x groups).

        block : int (rows), the part of the log of each row, below `BLOCKS`
        """
        all_rows, in_block = np.ones(len(visits), bool), block[:, None] == np.arange(BLOCKS)
        numbers = visits.features[:, [visits.names.index(name) for name in self.middles]]
        is_above = numbers > np.array([*self.middles.values()], np.float32)

        def has(name: str, text: str) -> np.ndarray:
            texts = visits.categories[name]
            code = texts.index(text) if text in texts else -1
            return visits.feature(name) == code

        kept = [has(name, text) for _, name, text in self._kept]
        others = [
            ~np.any(
                [has(name, text) for text in ("", *self.texts[name], *self.chosen[name])], axis=0
            )
            for name in self.texts
        ]
        missing = [
            has(name, "") if name in visits.categories else np.isnan(visits.feature(name))
            for name in self.lacking
        ]
        return np.column_stack([all_rows, in_block, is_above, *kept, *others, *missing])


def _counts(head: Visits, name: str) -> dict[str, tuple[int, int]]:
    """By text of a feature, how many rows have it, and how many of these a reward."""
    texts, code = head.categories[name], head.codes(name)
    counts = (np.bincount(code[of], minlength=len(texts)).tolist() for of in (..., head.reward > 0))
    return {text: both for text, *both in zip(texts, *counts, strict=True) if both[0]}


def _middle(values: np.ndarray) -> float | None:
    """The median, or the greatest value below it if none is above it, so that some values are above
    the number, and some are not; None if all values are the same.
    """
    values = values[~np.isnan(values)]
    if not len(values) or values.min() == values.max():
        return None
    middle = float(np.sort(values)[(len(values) - 1) // 2])
    return middle if middle < values.max() else float(values[values < middle].max())


@dataclass
class Showings:
    """Sums over rows by ad and group.

    groups : the groups
    rows : int64 (groups of `Groups.marks`), the rows of each group
    ads : by ad, int64 (3 x groups), over the rows that show it: their number, and the sums of X and
        X^2, times `SCALE`
    range : by ad, its least and its largest propensity
    order : rows that come next to each other
    eligible : by ad, int64 (groups), the rows that could show it, where visits have lists of
        eligible ads; else empty
    """

    groups: Groups = field(default_factory=Groups)
    rows: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    ads: dict[str, np.ndarray] = field(default_factory=dict)
    range: dict[str, tuple[float, float]] = field(default_factory=dict)
    order: Order = field(default_factory=Order)
    eligible: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, visits: Visits, block: np.ndarray) -> np.ndarray:
        """Add the next rows; returns `Groups.marks` of them.

        block : see `Groups.marks`
        """
        marks = self.groups.marks(visits, block)
        # not upwards: no false alarm
        times = np.floor(SCALE / np.maximum(visits.propensity, LEAST) * (1 + 1e-12))
        powers = np.stack([np.ones_like(times), times, np.ceil(times**2 / SCALE)])
        order = np.argsort(visits.action, kind="stable")
        counts = np.bincount(visits.action, minlength=len(visits.actions))
        self.rows = self.rows + np.count_nonzero(marks, axis=0)
        for ad, rows in zip(visits.actions, np.split(order, np.cumsum(counts)[:-1]), strict=True):
            sums = (powers[:, rows] @ marks[rows].astype(float)).astype(np.int64)
            self.ads[ad] = self.ads.get(ad, 0) + sums
            if len(rows):
                propensity = visits.propensity[rows]
                ends = propensity.min(), propensity.max(), *self.range.get(ad, ())
                self.range[ad] = float(min(ends)), float(max(ends))
        if visits.eligible is not None:
            could = (marks.T.astype(float) @ visits.eligible).astype(np.int64)
            for ad, sums in zip(visits.actions, could.T, strict=True):
                self.eligible[ad] = self.eligible.get(ad, 0) + sums
        self.order.add(visits, block)
        return marks

    @property
    def sorted_by(self) -> str:
        """What the rows of the file are sorted by: "ad", "reward", both, or "". See
        `Order.sorted_by`.
        """
        return self.order.sorted_by(int(sums[0, 0]) for sums in self.ads.values())

    @property
    def in_no_order(self) -> bool:
        """Whether nothing is known of the order in which ads were shown: rows are sorted, and have
        no times.
        """
        return bool(self.sorted_by) and not self.order.timed

    def shares(self) -> dict[str, float] | None:
        """The propensity of each ad, if each ad has a single one and they sum to 1; else None.

        Logs of A/B tests have such propensities, whatever the shares of the arms.
        """
        if any(low != high for low, high in self.range.values()):
            return None
        shares = {ad: low for ad, (low, _) in self.range.items()}
        return shares if abs(sum(shares.values()) - 1) <= logs.SLACK else None


def problem(
    showings: Showings, most_visits: float = 1, rounded: float = logs.SLACK
) -> Problem | None:
    """The error that ads are not shown as their propensities say; None if all may be right.

    An ad shown too often is found by e-values: the error names the ad and group with the largest.
    With one visit a user, `mismatch` finds, too, an ad that is shown too seldom.

    Visits of one user may get the same ad by one draw. If a user makes m visits at most, the
    e-value of all rows is a product of m e-values, each of one visit of each user. Their geometric
    mean is an e-value. Groups of rows that follow each other, whose error is of kind `SCHEDULE`,
    are tested only where the order of rows is known.

    most_visits : m
    rounded : the relative error that propensities may have
    """
    if not showings.range:
        return None
    terms = log_terms(showings, most_visits, rounded)
    if np.logaddexp.reduce(terms, axis=None) < -np.log(ALARM):
        return mismatch(showings, rounded) if most_visits == 1 else None
    ad, group = np.unravel_index(int(np.argmax(terms)), terms.shape)
    name, described = [*showings.range][ad], showings.groups.described[group]
    rows, count, times, _ = _sums(showings, name, showings.order.after(LEAST)[name])[:, group]
    could = " that could show it" if showings.eligible and described.kind != "next" else ""
    allowed = f"by its propensities in about {rows * count / times:,.0f} at most"
    frequency = f"in {count:,.0f} of {rows:,.0f} rows{could}, and {allowed}"
    by_user = KEPT * (most_visits == 1)
    if described.kind == "next":
        reason = (
            f"ads follow a schedule: after a row that shows ad {name!r}, the next one shows "
            f"it, too, {frequency}"
        )
        mend = (
            "Each ad is then of visits at other times, which may click otherwise, and none can "
            "be compared. Let chance choose an ad for each visit, and log its probability."
        )
        by_time = " If rows are not in the order of time, name it by --time COLUMN."
        mend += by_user + by_time * (not showings.order.timed)
        return Problem(SCHEDULE, reason, mend.removesuffix("."))
    mend = (
        "Nothing can be judged by such a log. Give each row the probability with which its ad was "
        "shown to this user at this time; a share of all rows is not one, if some users see it "
        "more often."
    )
    mend += by_user
    if feature := described.feature:
        mend += (
            f" If {feature!r} says something of the ad, or of what came after it, it is no "
            f"feature of the visit: leave it out with --ignore {quote(feature)}."
        )
    place = f" {described.words}" if described.words else ""
    reason = (
        f"propensities are not those by which ads were shown{place}: ad {name!r} is {frequency}"
    )
    return Problem(WRONG, reason, mend.removesuffix("."))


def mismatch(showings: Showings, rounded: float = logs.SLACK) -> Problem | None:
    """The error that an ad, with one propensity in all its rows, is shown more or less often than
    this propensity says; else None.

    A two-sided binomial test at 0.1 % for all ads together (Bonferroni; two ads have one test).
    None, too, if an ad's propensities differ between visits.

    rounded : the relative error that propensities may have
    """
    from scipy import special

    shares, rows = showings.shares(), int(showings.rows[0])
    ads = len(shares or ())
    if shares is None and len(values := {*showings.range.values()}) == 1:
        ((low, high),) = values
        ads = (uniform_ads(low, len(showings.ads)) if low == high else None) or 0
        shares = dict.fromkeys(showings.range, low) if ads else None
    if not shares or ads < 2:
        return None
    counts = np.array([int(showings.ads[ad][0, 0]) for ad in shares])
    share = np.array([*shares.values()])
    stated = (np.abs(share * 20 - np.rint(share * 20)) < 1e-9).all()  # twentieths are what they say
    off = 0.0 if stated else np.maximum(rounded * share, [*map(rounding, share)])
    highest, lowest = np.minimum(share + off, 1), np.maximum(share - off, 0)
    above = np.where(
        counts > 0, special.betainc(np.maximum(counts, 1), rows - counts + 1, highest), 1
    )
    below = np.where(
        counts < rows, special.betaincc(counts + 1, np.maximum(rows - counts, 1), lowest), 1
    )
    chance = 2 * np.minimum(above, below) * (ads if ads > 2 else 1)
    if chance.min() >= MISMATCH:
        return None
    worst = int(np.argmin(chance))
    reason = (
        f"propensities are not those by which ads were shown: ad {[*shares][worst]!r} is in "
        f"{counts[worst]:,} of {rows:,} rows, and by its propensity in about "
        f"{rows * share[worst]:,.0f} (sample ratio mismatch, p = {chance[worst]:.1g})"
    )
    mend = (
        "The visits of one ad are then not like those of another, and none can be compared. Look "
        "at how ads are assigned, and which rows are lost before they are logged, or filtered "
        "out." + KEPT
    )
    return Problem(WRONG, reason, mend.removesuffix("."))


def log_terms(
    showings: Showings, most_visits: float = 1, rounded: float = logs.SLACK
) -> np.ndarray:
    """Logarithms of the weighted e-value of each ad and group, float64 (ads seen x groups); their
    exponentials sum to the log's e-value.

    most_visits, rounded : see `problem`
    """
    kinds = np.array([group.kind for group in showings.groups.described])
    after = showings.order.after(LEAST)
    visits = np.where(kinds == "next", 1, most_visits)
    evidence = np.array(
        [_evidence(_sums(showings, ad, after[ad]), visits, rounded) for ad in showings.range]
    )
    if showings.in_no_order:
        evidence[:, np.isin(kinds, ("time", "next"))] = -np.inf
    return evidence + np.log(
        _weights(kinds, len(evidence), int(showings.rows[0]), showings.groups.seen)
    )


def _weights(kinds: np.ndarray, ads: int, rows: int, texts: int) -> np.ndarray:
    """The weights of the e-values of each of some ads seen, float64 (groups).

    kinds : by group, the key of `WEIGHTS`
    texts : how many texts there are, of which some were chosen after a look at all of them: so the
        weights of the chosen ones are as if all were tested
    """
    seen = 1 + math.log(rows)  # the j-th to appear may have 1 / (j seen)
    groups = {kind: np.count_nonzero(kinds == kind) for kind in WEIGHTS} | {"text": texts * seen}
    return (
        np.array([WEIGHTS[kind] / groups[kind] for kind in kinds]) * math.exp(-0.5) / (ads * seen)
    )


def _sums(showings: Showings, ad: str, after: np.ndarray) -> np.ndarray:
    """For each of `Groups.described`: rows, rows that show the ad, and the sums of X and X^2;
    float64 (4 x groups).

    after : the four sums of the last group, from `Order.after`
    """
    rows = showings.eligible.get(ad, showings.rows)
    marked = np.vstack([rows, showings.ads[ad]]) / np.array([1, 1, SCALE, SCALE])[:, None]
    above = slice(1 + BLOCKS, 1 + BLOCKS + len(showings.groups.middles))
    return np.column_stack([marked, marked[:, :1] - marked[:, above], after])


def _evidence(sums: np.ndarray, most_visits, rounded: float) -> np.ndarray:
    """The logarithm of an ad's e-value in each group, float64 (groups).

    sums : see `_sums`
    most_visits, rounded : see `problem`; most_visits may differ by group
    """
    rows, _, times, squares = sums
    total = times / (1 + rounded) - rows
    variation = squares / (1 + rounded) ** 2 - 2 * times / (1 + rounded) + rows
    psi = -np.log1p(-RATES) - RATES
    gains = (RATES[:, None] * total - psi[:, None] * variation) / most_visits
    return np.logaddexp.reduce(gains, axis=0) - np.log(len(RATES))

"""Are the propensities of a log those by which its ads were shown? Each ad's showings against its propensities.

Whatever decided which ads a visit could get, the sum of 1 / propensity over the rows that show an ad is at most the
number of rows on average, in every period and for every kind of user. So an ad that is shown more often than this has
propensities that are too small. (One that is shown less often may have been impossible for some users.)

With X = 1 / propensity where the ad is shown, and 0 elsewhere, a right log has E[X | rows before] <= 1. Then
exp(a sum(X - 1) - psi(a) sum((X - 1)^2)) with psi(a) = -log(1 - a) - a has an expectation of at most 1 for every a in
[0, 1), since exp(a y - psi(a) y^2) <= 1 + a y for y >= -1 (Fan, Grama and Liu 2015; Howard et al. 2021): an e-value. A
weighted mean of e-values, over many a, ads and groups of rows, is one, too, however they depend on each other. By
Markov's inequality it reaches 1 / `ALARM` with a probability of at most `ALARM` in a right log of any size. It needs
of a log only sums, which add up over its parts.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from shlex import quote

import numpy as np

from scant.data import logs
from scant.data.visits import Problem, Visits

WRONG = "wrong-propensities"  # the kind of the problem
ALARM = 0.009  # the probability of a false alarm, at most; with `evaluation.ALARM` of the sum over all ads, 1 %
ROUNDED = 1e-3  # the relative rounding error of propensities written with three digits
RATES = 2.0 ** -np.arange(1, 16)  # the rates a: large ones find much in few rows, small ones little in many
LEAST = 1e-4  # smaller propensities count as this one, so that the sums stay whole numbers that are exact
SCALE = 256  # sums are of whole multiples of 1 / 256, so that the order of terms does not matter
BLOCKS = 10  # successive parts of the log that are looked at
FEATURES = 64  # the first features, which make groups of users
TEXTS = 3  # the most frequent texts of a feature, each of which makes a group
WEIGHTS = {"all": 0.5, "time": 0.25, "feature": 0.25}  # of the mean of e-values, by what groups are of


@dataclass(frozen=True)
class Groups:
    """The groups of rows in which showings are looked at.

    middles : by feature with numbers, the number above which a row is in its group: the other rows are another group
    texts : by text feature, its most frequent texts
    """

    middles: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, head: Iterable[Visits], leaks: Collection[str] = ()) -> "Groups":
        """The groups by the first rows of a log; features that come after the click, `leaks`, make none."""
        head = list(head)
        if not head:
            return cls()
        middles, texts = {}, {}
        for name in [name for name in head[0].names if name not in leaks][:FEATURES]:
            columns = [(part.features[:, part.names.index(name)], part.categories.get(name)) for part in head]
            if columns[0][1] is None:
                middle = _middle(np.concatenate([values for values, _ in columns]))
                middles |= {} if middle is None else {name: middle}
                continue
            counts: dict[str, int] = {}
            for values, known in columns:
                for text, count in zip(known, np.bincount(values.astype(int), minlength=len(known)), strict=True):
                    counts[text] = counts.get(text, 0) + int(count)
            texts[name] = tuple(sorted(counts, key=lambda text: (-counts[text], text))[:TEXTS])
        return cls(middles, {name: kept for name, kept in texts.items() if len(kept) > 1})

    @property
    def names(self) -> list[tuple[str, str]]:
        """What each column of `marks` is of, a key of `WEIGHTS`, and which rows it marks, in words."""
        return [
            ("all", ""),
            *(("time", f"in part {number} of {BLOCKS} of the log") for number in range(1, BLOCKS + 1)),
            *(("feature", f"where {name!r} is above {middle:.4g}") for name, middle in self.middles.items()),
            *(("feature", f"where {name!r} is {text!r}") for name, kept in self.texts.items() for text in kept),
        ]

    @property
    def features(self) -> list[str]:
        """The feature of each column of `marks`, "" without one, and of the further groups of `_with_others`."""
        texts = [name for name, kept in self.texts.items() for _ in kept]
        return [*[""] * (1 + BLOCKS), *self.middles, *texts, *self.middles]

    def marks(self, visits: Visits, block: np.ndarray) -> np.ndarray:
        """Which rows are in each group, bool (rows x groups).

        block : int (rows), the part of the log of each row, below `BLOCKS`
        """
        place = {name: at for at, name in enumerate(visits.names)}
        numbers = visits.features[:, [place[name] for name in self.middles]]
        of_texts = [
            visits.features[:, place[name]] == visits.categories[name].index(text)
            if text in visits.categories[name] else np.zeros(len(visits), bool)
            for name, kept in self.texts.items() for text in kept
        ]  # fmt: skip
        return np.column_stack([
            np.ones(len(visits), bool), block[:, None] == np.arange(BLOCKS),
            numbers > np.array([*self.middles.values()], np.float32), *of_texts,
        ])  # fmt: skip


def _middle(values: np.ndarray) -> float | None:
    """A number with rows above it and not above it, near the median; None if all values are the same."""
    values = values[~np.isnan(values)]
    if not len(values) or values.min() == values.max():
        return None
    middle = float(np.sort(values)[(len(values) - 1) // 2])
    return middle if middle < values.max() else float(values[values < middle].max())


@dataclass
class Showings:
    """Sums over rows by ad and group.

    groups : the groups
    rows : int64 (groups), the rows of each group
    ads : by ad, int64 (3 x groups), of the rows that show it their number, and the sums of X and X^2 in parts of
        1 / `SCALE`
    range : by ad, its least and its largest propensity
    """

    groups: Groups = field(default_factory=Groups)
    rows: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    ads: dict[str, np.ndarray] = field(default_factory=dict)
    range: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, visits: Visits, block: np.ndarray) -> None:
        """Add rows; for `block` see `Groups.marks`."""
        marks = self.groups.marks(visits, block)
        times = np.floor(SCALE / np.maximum(visits.propensity, LEAST) * (1 + 1e-12))  # not upwards: no false alarm
        powers = np.stack([np.ones_like(times), times, np.ceil(times**2 / SCALE)])
        order = np.argsort(visits.action, kind="stable")
        ends = np.cumsum(np.bincount(visits.action, minlength=len(visits.actions)))
        added = Showings(self.groups, np.count_nonzero(marks, axis=0))
        for ad, shown in zip(visits.actions, np.split(order, ends[:-1]), strict=True):
            added.ads[ad] = (powers[:, shown] @ marks[shown].astype(float)).astype(np.int64)
            if len(shown):
                added.range[ad] = float(visits.propensity[shown].min()), float(visits.propensity[shown].max())
        self.merge(added)

    def merge(self, other: "Showings") -> None:
        """Add the sums of other rows of the same log."""
        self.groups = self.groups if len(self.rows) > 1 else other.groups
        self.rows = self.rows + other.rows
        for ad, sums in other.ads.items():
            self.ads[ad] = self.ads.get(ad, 0) + sums
        for ad, (low, high) in other.range.items():
            least, most = self.range.get(ad, (low, high))
            self.range[ad] = min(least, low), max(most, high)

    def shares(self) -> dict[str, float] | None:
        """The propensity of each ad, if each has the same in all rows that show it, and they sum to 1; else None.

        So are logs of A/B tests, whatever the shares of the arms.
        """
        if any(low != high for low, high in self.range.values()):
            return None
        shares = {ad: low for ad, (low, _) in self.range.items()}
        return shares if abs(sum(shares.values()) - 1) <= len(shares) * logs.SLACK else None

    def packed(self) -> dict:
        """The content as JSON takes it, for `Showings.unpacked`."""
        return {
            "middles": self.groups.middles, "texts": self.groups.texts, "rows": self.rows.tolist(),
            "ads": {ad: sums.tolist() for ad, sums in self.ads.items()}, "range": self.range,
        }  # fmt: skip

    @classmethod
    def unpacked(cls, content: Mapping) -> "Showings":
        """The sums that were packed; a ValueError for numbers that do not fit each other."""
        middles = {str(name): float(middle) for name, middle in content["middles"].items()}
        groups = Groups(middles, {str(name): tuple(map(str, kept)) for name, kept in content["texts"].items()})
        rows = np.array(content["rows"], np.int64)
        ads = {str(ad): np.array(sums, np.int64) for ad, sums in content["ads"].items()}
        fits = all(sums.shape == (3, len(rows)) and (sums >= 0).all() for sums in ads.values())
        if not fits or (ads and rows.shape != (len(groups.names),)):
            raise ValueError("showings that do not fit each other")
        return cls(groups, rows, ads, {str(ad): tuple(map(float, ends)) for ad, ends in content["range"].items()})


def problem(showings: Showings, most_visits: float = 1) -> Problem | None:
    """The error that ads are shown more often than their propensities allow, with the ad and group that show it best.

    None if all may be right. Visits of one user may get the same ad by one draw. If a user makes m visits at most, the
    e-value of all rows is a product of m e-values, each of one visit of each user. Their geometric mean is an e-value.

    most_visits : m
    """
    groups = showings.groups
    names = groups.names
    rows, ads = _with_others(showings, names)
    kinds = [of for of, _ in names] + ["feature"] * len(groups.middles)
    shares = {of: len(showings.ads) * kinds.count(of) for of in WEIGHTS}
    weight = np.array([WEIGHTS[of] / max(shares[of], 1) for of in kinds])
    evidence = np.array([_evidence(rows, *sums[1:], most_visits) for sums in ads.values()])  # ads x groups
    weighted = evidence + np.log(weight)
    if not evidence.size or np.logaddexp.reduce(weighted, axis=None) < -np.log(ALARM):
        return None
    ad, group = np.unravel_index(int(np.argmax(weighted)), weighted.shape)
    name = [*showings.ads][ad]
    count, times, _ = ads[name][:, group]
    words = [words for _, words in names] + [f"where {name!r} is {middle:.4g} or less, or missing"
                                             for name, middle in groups.middles.items()]  # fmt: skip
    place = f" {words[group]}" if words[group] else ""
    mend = ("Nothing can be judged by such a log. Give each row the probability with which its ad was shown to this "
            "user at this time; a share of all rows is not one, if some users see it more often.")  # fmt: skip
    if most_visits == 1:
        mend += " Where users keep the ad that they got first, say who they are by --user COLUMN."
    if feature := groups.features[group]:
        mend += (f" If {feature!r} says something of the ad, or of what came after it, it is no feature of the visit: "
                 f"leave it out with --ignore {quote(feature)}.")  # fmt: skip
    expected = rows[group] * count / times
    reason = (f"propensities are not those by which ads were shown{place}: ad {name!r} is in {int(count):,} of "
              f"{int(rows[group]):,} rows, and by its propensities in about {expected:,.0f} at most")  # fmt: skip
    return Problem(WRONG, "error", reason, mend.removesuffix("."))


def _with_others(showings: Showings, names) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The sums as numbers, float64, with a further group for each of a number's: the rows that are not above it."""
    above = [at for at, (_, words) in enumerate(names) if " is above " in words]
    scale = np.array([1, SCALE, SCALE])[:, None]
    wide = {ad: np.column_stack([sums, sums[:, :1] - sums[:, above]]) / scale for ad, sums in showings.ads.items()}
    return np.r_[showings.rows, showings.rows[0] - showings.rows[above]].astype(float), wide


def _evidence(rows: np.ndarray, times: np.ndarray, squares: np.ndarray, most_visits: float = 1) -> np.ndarray:
    """The logarithm of an ad's e-value in each group, float64 (groups).

    rows, times, squares : float64 (groups), the number of rows, and the sums of X and X^2
    most_visits : see `problem`
    """
    most = 1 + ROUNDED
    total = times / most - rows
    variation = squares / most**2 - 2 * times / most + rows
    psi = -np.log1p(-RATES) - RATES
    gains = (RATES[:, None] * total - psi[:, None] * variation) / most_visits
    return np.logaddexp.reduce(gains, axis=0) - np.log(len(RATES))

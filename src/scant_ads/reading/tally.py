"""The sums and small tables that are kept of a log's rows, which add up over its parts.

A tally has, for each policy, how often each pair of weight and reward occurs. All bounds depend on
a log through these counts alone: rows in random order, which betting needs, are a random draw from
them (`intervals.drawn`). For two policies it has how often each difference of their terms occurs.
Where weights or rewards take very many values, they are rounded to eleven bits, which changes
numbers by a thousandth at most.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scant.bandits.learners import Uniform
from scant.data import logs
from scant_ads.diagnosis import health, leaks
from scant_ads.diagnosis.measurement import Rewards
from scant_ads.diagnosis.showings import Showings
from scant_ads.evaluation.clusters import Users
from scant_ads.reading.digests import Digests
from scant_ads.reading.visits import Problem, Visits

MOST = 1 << 18  # distinct pairs of a table; with more they are rounded
BITS = 42  # low bits of a double that rounding drops
ROUNDED = 2.0 ** (BITS - 53)  # the largest relative error of rounding
ADS = 1000  # at most, for each of which sums are kept by piece of the log
FULL = 1 << 18  # pairs of a table after rounding; two policies with more are not compared
SCALE = 1 << 32  # sums over rows are of whole numbers, so that their order does not matter
LARGEST = 2.0**30  # weight in a sum of weights; larger ones come from propensities next to 0
CUTS = np.array(
    sorted({Fraction(i, n) for n in range(1, health.BLOCKS + 1) for i in range(1, n + 1)})
)


@dataclass
class Cells:
    """How often each pair of numbers occurs.

    first, second : float64 (cells), the distinct pairs, in order
    count : int64 (cells)
    rounded : whether there were more than `MOST`, so that they are rounded
    """

    first: np.ndarray = field(default_factory=lambda: np.empty(0))
    second: np.ndarray = field(default_factory=lambda: np.empty(0))
    count: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    rounded: bool = False

    def __len__(self) -> int:
        return len(self.count)

    def add(self, first: np.ndarray, second: np.ndarray) -> None:
        """Count the pairs of two arrays, float64 (n)."""
        if self.rounded:  # before they are counted, since few are left
            first, second = _rounded(first), _rounded(second)
        rest = np.flatnonzero(second)
        # Nearly all have no reward: these are counted by a single key, and hashed, which is quicker
        # than sorting.
        counted = pa.array(first[second == 0]).value_counts()
        value, count = (counted.field(column).to_numpy() for column in ("values", "counts"))
        self._add(
            np.r_[value, first[rest]],
            np.r_[np.zeros(len(value)), second[rest]],
            np.r_[count, np.ones(len(rest), np.int64)],
        )

    def merge(self, other: "Cells") -> None:
        """Add the counts of another table."""
        if other.rounded and not self.rounded:
            self._round()
        self._add(*other.arrays())

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs in order, and their counts."""
        return self.first, self.second, self.count

    def _add(self, first, second, count) -> None:
        if self.rounded:
            first, second = _rounded(first), _rounded(second)
        first = np.r_[self.first, first]
        second = np.r_[self.second, second]
        count = np.r_[self.count, count]
        if not len(count):
            return
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        starts = np.flatnonzero(np.r_[True, (np.diff(first) != 0) | (np.diff(second) != 0)])
        self.first = first[starts]
        self.second = second[starts]
        self.count = np.add.reduceat(count[order], starts)
        if len(starts) > MOST and not self.rounded:
            self._round()

    def _round(self) -> None:
        pairs = self.arrays()
        self.first = np.empty(0)
        self.second = np.empty(0)
        self.count = np.empty(0, np.int64)
        self.rounded = True
        self._add(*pairs)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to the nearest with ten bits after the first."""
    whole = np.ascontiguousarray(values, float).view(np.int64)
    return (((whole + (1 << (BITS - 1))) >> BITS) << BITS).view(float)


class Both(NamedTuple):
    """How often each (weight of one policy, weight of another, reward) occurs.

    first, second : float64 (cells), the weights; where only their difference is known, one is 0
    reward, count : float64 and int64 (cells), rewards, and how often each cell occurs; rows in no
        cell have 0 in all three
    rows : how many rows there are
    rounded : whether weights and rewards are rounded
    excess : whether rows with a weight and no reward are in cells, too, so that first - second has
        mean 0
    fixed : whether all second weights are 1
    """

    first: np.ndarray
    second: np.ndarray
    reward: np.ndarray
    count: np.ndarray
    rows: int
    rounded: bool = False
    excess: bool = True
    fixed: bool = False


@dataclass
class Tally:
    """Sums and tables of rows.

    rows : how many
    cells : by policy, its weights and the rewards; "" has the propensities in place of weights
    segments : by policy, sums of w r (for "uniform" r / p, for "" r) in the pieces between `CUTS`,
        whole numbers times 1 / `SCALE`. Where visits have lists of eligible ads, the w of "uniform"
        is 1 / length / p
    lengths : int64 (pieces), the rows of each
    pairs : by two policies, the differences w - v of their weights, and the rewards. If the first
        is "uniform", r / p and r v instead, of rows with a reward, since the number of ads is
        known at the end only. None if the pairs of numbers are more than `FULL`
    ads : by ad, int64 (3 x pieces), impressions, and sums of r and r^2 times `SCALE`; with more
        than `ADS`, (3 x 1)
    new : by learnt policy, the number of rows with ads that it does not know
    mix : by policy and ad, of a learnt one the rows in which the ad is its best, of a column
        `policy:NAME` the sum of its weights in rows with the ad, whole numbers times 1 / `SCALE`
    users : sums by user, where they are known, or else by list, where rows are places of lists
    eligible : by ad, the rows in which it could be shown, where visits have lists; else empty
    explored : by policy and ad, where visits have lists, the sum over rows of the probability with
        which exploration, or "uniform", shows the ad, whole numbers times 1 / `SCALE`
    """

    rows: int = 0
    cells: dict[str, Cells] = field(default_factory=dict)
    segments: dict[str, np.ndarray] = field(default_factory=dict)
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(len(CUTS), np.int64))
    pairs: dict[tuple[str, str], Cells | None] = field(default_factory=dict)
    ads: dict[str, np.ndarray] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    mix: dict[str, dict[str, int]] = field(default_factory=dict)
    users: Users = field(default_factory=Users)
    eligible: dict[str, int] = field(default_factory=dict)
    explored: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def uniform_divisor(self) -> int:
        """The number by which sums of the policy "uniform" are divided; see `uniform_weight`.

        It is the number of ads, which is known at the end only; 1 where visits have lists of
        eligible ads.
        """
        return 1 if self.eligible else len(self.ads)

    def merge(self, other: "Tally") -> None:
        """Add the tally of other rows."""
        self.rows, self.lengths = self.rows + other.rows, self.lengths + other.lengths
        for name, cells in other.cells.items():
            self.cells.setdefault(name, Cells()).merge(cells)
        for pair, cells in other.pairs.items():
            self._merge_pair(pair, cells)
        for kept, added in ((self.segments, other.segments), (self.new, other.new)):
            for name, sums in added.items():
                kept[name] = kept.get(name, 0) + sums
        self._merge_ads(other.ads)
        self.users.merge(other.users)
        for kept, added in ((self.mix, other.mix), (self.explored, other.explored)):
            for name, sums in added.items():
                _add_sums(kept.setdefault(name, {}), sums.items())
        _add_sums(self.eligible, other.eligible.items())

    def _merge_ads(self, other: Mapping[str, np.ndarray]) -> None:
        names, ads = dict.fromkeys((*self.ads, *other)), self.ads
        if len(names) > ADS:
            ads, other = (
                {ad: sums.sum(axis=1, keepdims=True) for ad, sums in kept.items()}
                for kept in (ads, other)
            )
        self.ads = {ad: ads.get(ad, 0) + other.get(ad, 0) for ad in names}

    def _merge_pair(self, pair: tuple[str, str], cells: Cells | None) -> None:
        kept = self.pairs.setdefault(pair, Cells())
        if kept is not None and cells is not None:
            kept.merge(cells)
        if kept is None or cells is None or (kept.rounded and len(kept) > FULL):
            self.pairs[pair] = None

    def add(self, log: Visits, piece: np.ndarray, weights: Mapping[str, np.ndarray]) -> None:
        """Add rows.

        piece : int (rows), the piece of the log of each row
        weights : by policy, float64 (rows)
        """
        self.rows += len(log)
        self.lengths += np.bincount(piece, minlength=len(CUTS))
        self.cells.setdefault("", Cells()).add(log.propensity, log.reward)
        clicked = np.flatnonzero(log.reward)
        reward, of_click = log.reward[clicked], piece[clicked]
        alike = uniform_weight(log)
        terms = {"": reward, Uniform.kind: reward * alike[clicked]}
        if log.together is not None:
            of_all = {"": np.ones(len(log))} | dict(weights)
            if log.list is None:  # of lists nobody knows what else could stand at a place
                of_all[Uniform.kind] = alike
            self.users.add(log.together, of_all, log.reward)
        if log.eligible is not None:
            self.cells.setdefault(Uniform.kind, Cells()).add(alike, log.reward)
            _add_sums(self.eligible, zip(log.actions, log.eligible.sum(axis=0), strict=True))
            self.add_explored(Uniform.kind, log.actions, log.eligible)
        for name, weight in weights.items():
            self.cells.setdefault(name, Cells()).add(weight, log.reward)
            terms[name] = reward * weight[clicked]
            if name.startswith(logs.POLICY):
                sums = _sums(np.minimum(weight, LARGEST), log.action, len(log.actions))
                _add_sums(self.mix.setdefault(name, {}), zip(log.actions, sums, strict=True))
        for name, term in terms.items():
            self.segments[name] = self.segments.get(name, 0) + _sums(term, of_click, len(CUTS))
        self._merge_ads(_sums_by_ad(log, piece))

    def add_best(self, name: str, ads: tuple[str, ...], choice) -> None:
        """Count the best ads of a learnt policy, and the share of exploration of each ad.

        ads : the policy's ads
        choice : what the policy chooses in each row
        """
        counts = np.bincount(choice.best, minlength=len(ads))
        _add_sums(self.mix.setdefault(name, {}), zip(ads, counts, strict=True))
        if choice.eligible is not None and choice.epsilon:
            others, rows = choice.eligible.copy(), np.arange(len(choice.best))
            # a single one is shown anyway
            others[rows, choice.best] = np.count_nonzero(others, axis=1) == 1
            self.add_explored(name, ads, others)

    def add_explored(self, name: str, ads: tuple[str, ...], among: np.ndarray) -> None:
        """Add, to each ad, the probability with which rows explore it: an equal share among the
        row's ads.

        among : bool (rows x ads), which ads a row explores
        """
        share = among / np.maximum(np.count_nonzero(among, axis=1), 1)[:, None]
        sums = np.rint(share * SCALE).sum(axis=0, dtype=np.int64)
        _add_sums(self.explored.setdefault(name, {}), zip(ads, sums, strict=True))

    def add_pairs(
        self, log: Visits, weights: Mapping[str, np.ndarray], apart: Iterable[str] = ()
    ) -> None:
        """Add rows of every pair of policies.

        weights : by policy, float64 (rows)
        apart : policies of which no two can show the same ad, so that pairs of these need no table
        """
        clicked, apart = np.flatnonzero(log.reward), {*apart}
        reward, alike = log.reward[clicked], uniform_weight(log)[clicked]
        tables = {
            (Uniform.kind, name): (reward * alike, reward * weight[clicked])
            for name, weight in weights.items()
            if len(clicked)
        }
        tables |= {
            (name, other): (weights[name] - weights[other], log.reward)
            for name, other in combinations(weights, 2)
            if not {name, other} <= apart
        }
        for pair, table in tables.items():
            kept = self.pairs.setdefault(pair, Cells())
            cells = None if kept is None else Cells(rounded=kept.rounded)
            if cells is not None:
                cells.add(*table)
            self._merge_pair(pair, cells)

    def table(self, policy: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A policy's table: its weights, the rewards, and how many rows have each pair of a weight
        and a reward; three arrays of one length.

        policy : as in `cells`; "" has propensities in place of weights
        """
        if policy != Uniform.kind or policy in self.cells:
            return self.cells[policy].arrays()
        propensity, reward, count = self.cells[""].arrays()
        return 1 / (len(self.ads) * propensity), reward, count

    def rounded(self, policy: str) -> bool:
        """Whether the weights and rewards in a policy's table are rounded."""
        return self.cells[
            "" if policy == Uniform.kind and policy not in self.cells else policy
        ].rounded

    def clicks(self, ad: str) -> float:
        """The sum of the rewards of the rows that show an ad."""
        return float(self.ads[ad][1].sum()) / SCALE

    def mean(self, name: str) -> float:
        """The mean of a policy's weighted rewards w r, exact even if its table is rounded; for ""
        the mean reward.
        """
        ads = self.uniform_divisor if name == Uniform.kind else 1
        return int(self.segments[name].sum()) / SCALE / ads / self.rows

    def both(self, pair: tuple[str, str]) -> "Both | None":
        """How often each pair of weights of two policies occurs with each reward; None if there are
        too many.
        pair : the policies' names, as in `cells`; "" as the second is today's policy, with weights
            1
        """
        if not pair[1]:
            weight, reward, count = self.table(pair[0])
            return Both(
                weight,
                np.ones(len(count)),
                reward,
                count,
                self.rows,
                self.rounded(pair[0]),
                fixed=True,
            )
        swapped = pair not in self.pairs and pair[::-1] in self.pairs
        cells = self.pairs.get(pair[::-1] if swapped else pair, Cells())
        if cells is None:
            return None
        weight, reward, count = cells.arrays()
        if Uniform.kind in pair:
            weight, reward = weight / self.uniform_divisor - reward, np.ones(len(count))
        elif not len(cells):
            return self._apart(pair)
        weight = -weight if swapped else weight
        return Both(
            np.maximum(weight, 0),
            np.maximum(-weight, 0),
            reward,
            count,
            self.rows,
            cells.rounded,
            excess=Uniform.kind not in pair,
        )

    def knows_both(self, pair: tuple[str, str]) -> bool:
        """Whether the table of two policies has the weights of both in each row, not only their
        difference.

        pair : see `both`
        """
        return not pair[1] or not self.pairs.keys() & {pair, pair[::-1]}

    def _apart(self, pair: tuple[str, str]) -> "Both":
        """`both` for two policies of which at most one has a weight above 0 in any row."""
        (weight, reward, count), (other, other_reward, other_count) = map(self.table, pair)
        one, two = weight > 0, other > 0
        return Both(
            np.r_[weight[one], 0 * other[two]],
            np.r_[0 * weight[one], other[two]],
            np.r_[reward[one], other_reward[two]],
            np.r_[count[one], other_count[two]],
            self.rows,
            any(map(self.rounded, pair)),
        )

    def drift(self, name: str) -> health.Drift:
        """Test whether a policy's weighted rewards drift; see `health.drift`."""
        first, reward, count = self.table(name)
        square = float(count @ (first * reward if name else reward) ** 2)
        ads = self.uniform_divisor if name == Uniform.kind else 1
        sums = self.segments[name] / ads
        design = self.users.design(name, self.rows, square * ads**2)
        return health.drift(
            self.lengths, np.array(sums, float) / SCALE, square, CUTS, design=design
        )

    def of_rewards(self) -> tuple[float, float]:
        """The sum of the squares of all rewards, and the design effect of their mean, see
        `Users.design`.
        """
        squares = sum(int(sums[2].sum()) for sums in self.ads.values()) / SCALE
        return squares, self.users.design("", self.rows, squares)

    def late(self) -> Iterator[Problem]:
        """A warning if rewards of the last visits look missing; see `leaks.late`."""
        squares, design = self.of_rewards()
        sums = np.array(self.segments[""], float) / SCALE
        return leaks.late(self.lengths, sums, squares, CUTS, design)

    def late_of(self, ad: str, design: float) -> Iterator[Problem]:
        """A warning if rewards of the last visits with an ad look missing; see `leaks.late`.

        design : the design effect of all rewards, see `of_rewards`, which an ad's rows share
            roughly
        """
        impressions, sums, squares = self.ads[ad]
        if len(impressions) != len(CUTS) or not impressions.any():
            return iter(())
        of_ad = sums / SCALE, squares.sum() / SCALE
        return leaks.late(impressions, *of_ad, CUTS, design, len(self.ads), leaks.LATE_AD)

    def drifts(self) -> list[tuple[str, health.Drift]]:
        """Tests of drift by name: of all rewards ("", first), and of the rewards of each ad.

        An ad's rate may drift although the rate of all ads does not, as in rows sorted by what
        users like.
        """
        tests = [("", self.drift(""))]
        if len(self.ads) > ADS:  # then their sums are not kept in pieces
            return tests
        most = len(tests[0][1].rates)
        _, design = self.of_rewards()  # of an ad's rows it is about as large
        for ad in logs.ordered({*self.ads}):
            impressions, clicks, squares = self.ads[ad]
            drift = health.drift(
                impressions, clicks / SCALE, squares.sum() / SCALE, CUTS, most, design
            )
            if len(drift.rates) > 1:
                tests.append((ad, drift))
        return tests


def uniform_weight(log: Visits) -> np.ndarray:
    """The weights whose sums the policy "uniform" has, float64 (rows): 1 / p, or, with lists of
    eligible ads, (1 / length) / p. Their sums are divided by `Tally.uniform_divisor`.
    """
    return (
        1 / log.propensity
        if log.eligible is None
        else 1 / (log.eligible.sum(axis=1) * log.propensity)
    )


def _sums_by_ad(log: Visits, piece: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of a log as in `Tally.ads`; `piece` is the piece of each row."""
    pieces = len(CUTS) if len(log.actions) <= ADS else 1
    place = log.action * np.int64(pieces) + np.minimum(piece, pieces - 1)
    size = len(log.actions) * pieces
    clicked = np.flatnonzero(log.reward)
    powers = (
        np.bincount(place[clicked], np.rint(log.reward[clicked] ** power * SCALE), size)
        for power in (1, 2)
    )
    sums = np.stack([np.bincount(place, minlength=size), *powers], dtype=np.int64, casting="unsafe")
    by_ad = np.moveaxis(sums.reshape(3, len(log.actions), pieces), 1, 0)
    return dict(zip(log.actions, by_ad, strict=True))


def _add_sums(kept: dict[str, int], sums: Iterable[tuple[str, int]]) -> None:
    """Add whole numbers by name to `kept`, in place, but no name for a 0."""
    for name, added in sums:
        if added:
            kept[name] = kept.get(name, 0) + int(added)


def _sums(terms: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """The sum of the terms at each place below `size`, object (size): Python's whole numbers, times
    1 / `SCALE`, which are the same in whatever order terms come.
    """
    whole = np.floor(terms)  # whole numbers and the rest apart: neither sum is beyond 64 bits
    sums = np.zeros((2, size), np.int64)
    for kept, values in zip(sums, (whole, np.rint((terms - whole) * SCALE)), strict=True):
        np.add.at(kept, place, values.astype(np.int64))
    return sums[0].astype(object) * SCALE + sums[1].astype(object)


@dataclass
class Features:
    """What is kept of a log's features.

    missing, range : by feature, how many numbers it lacks; its least and its largest number
    texts : by text feature, its texts, and how many rows have each
    """

    missing: dict[str, int] = field(default_factory=dict)
    range: dict[str, tuple[float, float]] = field(default_factory=dict)
    texts: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, log: Visits) -> None:
        """Add the features of some rows."""
        lows, highs = np.fmin.reduce(log.features), np.fmax.reduce(log.features)  # without NaN
        missing = np.count_nonzero(np.isnan(log.features), axis=0)
        counts = (of.tolist() for of in (missing, lows, highs))
        for name, count, low, high in zip(log.names, *counts, strict=True):
            self.missing[name] = self.missing.get(name, 0) + count
            if low == low:
                lowest, highest = self.range.get(name, (low, high))
                self.range[name] = min(low, lowest), max(high, highest)
        for name, texts in log.categories.items():
            counts = np.bincount(log.codes(name), minlength=len(texts))
            _add_sums(self.texts.setdefault(name, {}), zip(texts, counts, strict=True))

    @property
    def constant(self) -> list[str]:
        """The features that have the same value in all rows."""
        same = {
            name
            for name, (low, high) in self.range.items()
            if low == high and not self.missing[name]
        }
        return [
            name
            for name in self.missing
            if (len(self.texts[name]) == 1 if name in self.texts else name in same)
        ]


@dataclass
class Summary:
    """What is kept of the rows of a log.

    alone, shared : tallies of the rows that the training log lacks, and of the rows that it has,
        too
    digests : of all rows
    features : of all rows
    showings, rewards : of the ads, in all rows
    policies : the log's columns `policy:NAME`
    by_id, by_user : whether rows have ids, and whether it is known who each visit was of
    propensity_of : see `Visits`
    binary : whether every reward is the least or the largest
    readable : whether no row has an error
    period : the first and the last time, datetime64[us]; None without
    problems : of single cells, by kind and column, the place of the first row, the problem, and how
        many rows there are
    """

    alone: Tally = field(default_factory=Tally)
    shared: Tally = field(default_factory=Tally)
    digests: Digests = field(default_factory=Digests)
    features: Features = field(default_factory=Features)
    showings: Showings = field(default_factory=Showings)
    rewards: Rewards = field(default_factory=Rewards)
    policies: tuple[str, ...] = ()
    by_id: bool = False
    by_user: bool = False
    propensity_of: str = ""
    binary: bool = True
    readable: bool = True
    period: tuple[np.datetime64, np.datetime64] | None = None
    problems: dict[tuple[str, str], tuple[str, Problem, int]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(self.features.missing)

    @property
    def rows(self) -> int:
        return self.alone.rows + self.shared.rows

    def note(self, place: str, problem: Problem, count: int) -> None:
        """Note a problem of some rows.

        place : where the first row is
        count : how many rows have the problem
        """
        self.readable &= problem.severity != "error"
        first = self.problems.get((problem.kind, problem.column), (place, problem, 0))
        self.problems[problem.kind, problem.column] = (*first[:2], first[2] + count)

    def all(self) -> Tally:
        """The tally of all rows."""
        whole = Tally()
        whole.merge(self.alone)
        whole.merge(self.shared)
        return whole

"""What is kept of the rows of a log that is larger than memory: sums and small tables, which add up over its parts.

A tally has, for each policy, how often each pair of weight and reward occurs. All bounds depend on a log through these
counts alone: rows in random order, which betting needs, are a random draw from them (`intervals.drawn`). For two
policies it has how often each difference of their terms occurs. Where weights or rewards take many values, they are
rounded to eleven bits, which changes numbers by a thousandth at most. Tallies of parts add up, so that numbers do not
depend on how rows are parted.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from scant.ads import intervals
from scant.ads.learners import Uniform
from scant.advice import decisions, health
from scant.advice.digests import Digests
from scant.data import logs
from scant.data.visits import Problem

MOST = 4096  # distinct pairs of a table; with more they are rounded
BITS = 42  # low bits of a double that rounding drops
ROUNDED = 2.0 ** (BITS - 53)  # by which rounding changes a number at most, relatively
FULL = 1 << 16  # pairs of a table after rounding; two policies with more are not compared
SCALE = 1 << 32  # sums over rows are of whole numbers, so that their order does not matter
CUTS = np.array(sorted({Fraction(i, n) for n in range(1, health.BLOCKS + 1) for i in range(1, n + 1)}))


@dataclass
class Cells:
    """How often each pair of numbers occurs; `counts` has them by pair."""

    counts: dict[tuple[float, float], int] = field(default_factory=dict)
    rounded: bool = False

    def add(self, first: np.ndarray, second: np.ndarray, count: np.ndarray | None = None) -> None:
        """Count the pairs of two arrays, float64 (n); `count`, int (n), is how often each occurs, once unless given."""
        if self.rounded:
            first, second = _rounded(first), _rounded(second)
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        starts = np.flatnonzero(np.r_[True, (np.diff(first) != 0) | (np.diff(second) != 0)])
        sizes = np.add.reduceat(np.ones(len(first), np.int64) if count is None else count[order], starts)
        if len(starts) > MOST and not self.rounded:
            self._round()
            return self.add(first[starts], second[starts], sizes)
        pairs = zip(first[starts].tolist(), second[starts].tolist(), strict=True)
        for key, size in zip(pairs, sizes.tolist(), strict=True):
            self.counts[key] = self.counts.get(key, 0) + size
        if len(self.counts) > MOST and not self.rounded:
            self._round()

    def _round(self) -> None:
        held, self.counts, self.rounded = self.arrays(), {}, True
        if len(held[0]):
            self.add(*held)

    def merge(self, other: "Cells") -> None:
        if other.rounded and not self.rounded:
            self._round()
        if other.counts:
            self.add(*other.arrays())

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs in order, float64 (cells) each, and their counts, int64 (cells)."""
        keys = sorted(self.counts)
        pairs = np.array(keys, float).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1], np.array([self.counts[key] for key in keys], np.int64)

    def packed(self) -> list:
        """All of it, fit for JSON, which `Cells.unpacked` takes."""
        return [self.rounded, *(values.tolist() for values in self.arrays())]

    @classmethod
    def unpacked(cls, content: list) -> "Cells":
        rounded, first, second, count = content
        return cls(dict(zip(zip(first, second, strict=True), count, strict=True)), rounded)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to the nearest with ten bits after the first."""
    whole = np.ascontiguousarray(values, float).view(np.int64)
    return (((whole + (1 << (BITS - 1))) >> BITS) << BITS).view(float)


@dataclass
class Tally:
    """Sums and tables of rows.

    rows : how many
    cells : by policy, its weights and the rewards; "" has the propensities in place of weights
    segments : by the same, sums of w r in the pieces between `CUTS`, whole numbers times 1 / `SCALE`
    lengths : int64 (pieces), the rows of each
    pairs : by two policies, the differences r (w - v) of their terms, and 0, of rows with a reward. If the first is
        "uniform", r / p and r v instead, since how many ads there are is known at the end. None for more than `FULL`
    ads : by ad, impressions and clicks, the latter times `SCALE`
    new : by learnt policy, rows with ads that it does not know
    """

    rows: int = 0
    cells: dict[str, Cells] = field(default_factory=dict)
    segments: dict[str, np.ndarray] = field(default_factory=dict)
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(len(CUTS), np.int64))
    pairs: dict[tuple[str, str], Cells | None] = field(default_factory=dict)
    ads: dict[str, list[int]] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)

    def merge(self, other: "Tally") -> None:
        """Add the tally of other rows."""
        self.rows, self.lengths = self.rows + other.rows, self.lengths + other.lengths
        for name, cells in other.cells.items():
            self.cells.setdefault(name, Cells()).merge(cells)
        for pair, cells in other.pairs.items():
            self._merge_pair(pair, cells)
        for name, sums in other.segments.items():
            self.segments[name] = self.segments.get(name, 0) + sums
        for ad, (shown, clicks) in other.ads.items():
            held = self.ads.setdefault(ad, [0, 0])
            held[0], held[1] = held[0] + shown, held[1] + clicks
        for name, count in other.new.items():
            self.new[name] = self.new.get(name, 0) + count

    def _merge_pair(self, pair: tuple[str, str], cells: Cells | None) -> None:
        held = self.pairs.setdefault(pair, Cells())
        if held is not None and cells is not None:
            held.merge(cells)
        if held is None or cells is None or len(held.counts) > FULL:
            self.pairs[pair] = None

    def add(self, name: str, weight: np.ndarray, reward: np.ndarray, piece: np.ndarray) -> None:
        """Add rows of a policy; `piece`, int (rows), is that of each row."""
        self.cells.setdefault(name, Cells()).add(weight, reward)
        whole = np.rint((weight * reward if name else reward) * SCALE).astype(np.int64)
        sums = np.zeros(len(CUTS), np.int64)
        np.add.at(sums, piece, whole) if len(np.unique(piece)) > 1 else sums.__setitem__(piece[0], whole.sum())
        self.segments[name] = self.segments.get(name, 0) + sums

    def add_pairs(self, weights: Mapping[str, np.ndarray], propensity: np.ndarray, reward: np.ndarray) -> None:
        """Add rows of every pair of policies; arrays (rows), by name their weights."""
        clicked = np.flatnonzero(reward)
        if not len(clicked):
            return
        reward, propensity = reward[clicked], propensity[clicked]
        terms = {name: reward * weight[clicked] for name, weight in weights.items()}
        tables = {(Uniform.kind, name): (reward / propensity, term) for name, term in terms.items()}
        tables |= {(name, other): (terms[name] - terms[other], np.zeros(len(clicked)))
                   for name, other in combinations(terms, 2)}  # fmt: skip
        for pair, table in tables.items():
            cells = Cells()
            cells.add(*table)
            self._merge_pair(pair, cells)

    def difference(self, pair: tuple[str, str], largest: tuple[float, float], random) -> decisions.Mean | None:
        """The mean of r (w - v) of two policies, see `decisions.difference`; None if too much is to be known for it.

        largest : the largest weights possible
        random : the generator of the order of the rows
        """
        swapped = pair not in self.pairs and pair[::-1] in self.pairs
        cells = self.pairs.get(pair[::-1] if swapped else pair, Cells())
        if cells is None:
            return None
        terms, other, count = cells.arrays()
        size = np.abs(terms)
        if Uniform.kind in pair:
            terms = terms / len(self.ads)
            terms, size = terms - other, terms + other
        terms = -terms if swapped else terms
        terms, size = np.r_[0.0, terms], np.r_[0.0, size * (ROUNDED if cells.rounded else 0.0)]
        count = np.r_[self.rows - count.sum(), count]
        width = float(sum(largest))
        moved = np.clip(terms + largest[1], 0.0, width)
        counted = intervals.drawn(moved, count, width, random)
        if cells.rounded:  # a value stands for a bin, by whose ends bounds are made
            slack = np.zeros(len(counted.value))
            np.maximum.at(slack, np.searchsorted(counted.value, moved), size)
            counted = replace(counted, low=np.maximum(counted.value - slack, 0.0),
                              high=np.minimum(counted.value + slack, width))  # fmt: skip
        return decisions.Mean(float(count @ terms) / self.rows, counted, -largest[1])

    def drift(self, name: str) -> health.Drift:
        """As `health.drift`, of a policy's terms in the order of the files."""
        weight, reward, count = self.cells[name].arrays()
        terms = np.ones_like(weight) * reward if not name else weight * reward
        square, total = float(count @ terms**2), float(count @ terms)
        effective = total**2 / square if square else 0.0
        parts = int(min(health.BLOCKS, effective // health.CLICKS, self.rows))
        if parts < 2:
            return health.Drift(np.nan, np.array([total / self.rows]))
        part = np.array([math.ceil(cut * parts) - 1 for cut in CUTS])
        counts = np.bincount(part, self.lengths, parts)
        sums = np.bincount(part, self.segments[name] / SCALE, parts)
        variance = square / self.rows - (total / self.rows) ** 2
        return health.tested_sums(counts, sums, variance, total / self.rows)

    def packed(self) -> dict:
        """All of it, fit for JSON, which `Tally.unpacked` takes."""
        return {
            "rows": self.rows, "lengths": self.lengths.tolist(), "ads": self.ads, "new": self.new,
            "cells": {name: cells.packed() for name, cells in self.cells.items()},
            "segments": {name: sums.tolist() for name, sums in self.segments.items()},
            "pairs": [[*pair, cells and cells.packed()] for pair, cells in self.pairs.items()],
        }  # fmt: skip

    @classmethod
    def unpacked(cls, content: Mapping) -> "Tally":
        """The tally that was packed; a ValueError for numbers that do not fit each other."""
        tally = cls(
            content["rows"], {name: Cells.unpacked(cells) for name, cells in content["cells"].items()},
            {name: np.array(sums, np.int64) for name, sums in content["segments"].items()},
            np.array(content["lengths"], np.int64),
            {(name, other): cells and Cells.unpacked(cells) for name, other, cells in content["pairs"]},
            content["ads"], content["new"],
        )  # fmt: skip
        counted = [*(list(cells.counts.values()) for cells in tally.cells.values()), tally.lengths.tolist(),
                   [shown for shown, _ in tally.ads.values()]]  # fmt: skip
        cells = {name: cells.arrays() for name, cells in tally.cells.items()}
        possible = all(np.isfinite(first).all() and ((first > 0) & (first <= 1) if not name else first >= 0).all()
                       and ((reward >= 0) & (reward <= 1)).all()
                       for name, (first, reward, _) in cells.items())  # fmt: skip
        shapes = {sums.shape for sums in (tally.lengths, *tally.segments.values())}
        if (
            not possible
            or not all(type(count) is int and count >= 0 for counts in counted for count in counts)
            or {sum(counts) for counts in counted} != {tally.rows}
            or shapes != {(len(CUTS),)}
            or tally.cells.keys() != tally.segments.keys()
            or ("" in tally.cells) != (tally.rows > 0)
        ):
            raise ValueError("sums that do not fit each other")
        return tally


@dataclass
class Summary:
    """What is kept of the rows of a log.

    alone, shared : tallies of rows that the training log lacks, and of those that it has, too
    digests : of all rows
    names, policies : of the log's features, and of its columns `policy:NAME`
    problems : of single cells, by kind, the place of the first row, the problem, and how many rows there are
    """

    alone: Tally = field(default_factory=Tally)
    shared: Tally = field(default_factory=Tally)
    digests: Digests = field(default_factory=Digests)
    names: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    problems: dict[str, tuple[str, Problem, int]] = field(default_factory=dict)

    def merge(self, other: "Summary") -> None:
        """Add the summary of other rows, which come after these where places are told."""
        self.alone.merge(other.alone)
        self.shared.merge(other.shared)
        for run in other.digests.runs():
            self.digests.add(run)
        self.names, self.policies = self.names or other.names, self.policies or other.policies
        for place, problem, count in other.problems.values():
            self.note(place, problem, count)

    def note(self, place: str, problem: Problem, count: int) -> None:
        """Note a problem of some rows."""
        first = self.problems.get(problem.kind, (place, problem, 0))
        self.problems[problem.kind] = (*first[:2], first[2] + count)

    def all(self) -> Tally:
        """The tally of all rows."""
        whole = Tally()
        whole.merge(self.alone)
        whole.merge(self.shared)
        return whole

    def packed(self) -> dict:
        """All but the digests, fit for JSON, which `Summary.unpacked` takes."""
        return {
            "alone": self.alone.packed(), "shared": self.shared.packed(), "names": self.names,
            "policies": self.policies,
            "problems": [[place, asdict(problem), count] for place, problem, count in self.problems.values()],
        }  # fmt: skip

    @classmethod
    def unpacked(cls, content: Mapping) -> "Summary":
        summary = cls(Tally.unpacked(content["alone"]), Tally.unpacked(content["shared"]),
                      names=tuple(content["names"]), policies=tuple(content["policies"]))  # fmt: skip
        for place, problem, count in content["problems"]:
            summary.note(place, Problem(**problem), count)
        if summary.alone.rows and not {f"{logs.POLICY}{name}" for name in summary.policies} <= {*summary.alone.cells}:
            raise ValueError("a policy without sums")
        return summary

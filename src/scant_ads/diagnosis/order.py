"""In what order a log shows its ads: rows that come next to each other in time, and whether rows
are merely sorted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from scant.randomness import generator
from scant_ads.reading.visits import Visits

BLOCKS = 10  # successive parts of the log
KEPT = 1 << 12  # rows of each of them that are kept
CHANCE = 1e-3  # with which rows in random order would be sorted, at most
ROW = np.dtype(
    [
        ("block", "u1"),
        ("time", "i8"),
        ("tie", "u8"),
        ("ad", "i4"),
        ("propensity", "f8"),
        ("user", "u8"),
    ]
)


@dataclass
class Order:
    """The earliest rows of each part of a log, and how often successive rows of its file differ.

    rows : how many there are
    kept : `ROW` (kept rows), in order: the part; the time in microseconds, or the row's number; a
        random number, by which rows of one time are ordered; the index of the ad; its propensity;
        the user, or the row's number
    ads : by ad, its index
    timed : whether rows have times
    rewarded : how many rows have a reward
    runs : how many runs of successive rows there are with one ad, and with or without a reward
    last : of the last row added, the index of its ad, and whether it has a reward; -1 without rows
    """

    rows: int = 0
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, ROW))
    ads: dict[str, int] = field(default_factory=dict)
    timed: bool = False
    rewarded: int = 0
    runs: list[int] = field(default_factory=lambda: [0, 0])
    last: list[int] = field(default_factory=lambda: [-1, -1])

    def add(self, visits: Visits, block: np.ndarray) -> None:
        """Add the next rows of the log.

        block : int (rows), the part of the log of each row, below `BLOCKS`
        """
        number = self.rows + np.arange(len(visits))
        tie = generator(0, "advice", "ties").bit_generator.advance(self.rows)
        time = number if visits.timestamp is None else visits.timestamp.astype(np.int64)
        user = number if visits.user is None else visits.user
        index = np.array([self.ads.setdefault(ad, len(self.ads)) for ad in visits.actions])
        action, rewarded = index[visits.action], (visits.reward > 0).astype(int)
        early = np.flatnonzero(time <= self._latest(time, block)[block])
        kept = np.empty(len(early), ROW)
        columns = block, time, tie.random_raw(len(visits)), action, visits.propensity, user
        for name, column in zip(ROW.names, columns, strict=True):
            kept[name] = column[early]
        kept = np.concatenate([self.kept, kept])
        kept = kept[np.lexsort((kept["tie"], kept["time"], kept["block"]))]
        place = np.arange(len(kept)) - np.searchsorted(kept["block"], kept["block"])
        self.kept, self.timed = kept[place < KEPT], visits.timestamp is not None
        self.rows, self.rewarded = self.rows + len(visits), self.rewarded + int(rewarded.sum())
        for which, values in enumerate((action, rewarded)):
            self.runs[which] += np.count_nonzero(np.diff(np.r_[self.last[which], values]))
            self.last[which] = values[-1]

    def _latest(self, time: np.ndarray, block: np.ndarray) -> np.ndarray:
        """The latest time at which a further row of each part may be kept, int64 (parts).

        It is the time of the part's `KEPT`-th row, among the rows kept or among the further rows,
        whichever is earlier; the largest int64 if neither are so many.

        time, block : of the further rows, int64 (rows)
        """
        count = np.bincount(self.kept["block"], minlength=BLOCKS)
        latest = np.full(BLOCKS, np.iinfo(np.int64).max)
        full, last = count == KEPT, np.cumsum(count) - 1  # of each part the place of its last row
        latest[full] = self.kept["time"][last[full]]
        for part in np.flatnonzero(np.bincount(block) > KEPT):
            latest[part] = min(latest[part], np.partition(time[block == part], KEPT - 1)[KEPT - 1])
        return latest

    def after(self, least_propensity: float) -> dict[str, np.ndarray]:
        """By ad, sums over the kept rows that directly follow a row that shows the ad; float64 (4).

        The sums: the number of these rows; how many of them show the ad again; and over those that
        do, 1 / propensity, and its square. Only the first kept row of each user counts, since a
        user's ads may depend on each other.

        least_propensity : smaller propensities count as this one
        """
        kept = self.kept[np.lexsort((self.kept["tie"], self.kept["time"]))]
        kept = kept[np.sort(np.unique(kept["user"], return_index=True)[1])]
        before, row = kept["ad"][:-1], kept[1:]
        again = row["ad"] == before
        times = again / np.maximum(row["propensity"], least_propensity)
        terms = np.ones_like(times), again, times, times**2
        sums = np.column_stack([np.bincount(before, term, len(self.ads)) for term in terms])
        return dict(zip(self.ads, sums, strict=True))

    def sorted_by(self, impressions: Iterable[int]) -> str:
        """What the rows are sorted by, "ad", "reward" or both, if chance hardly explains it; else
        "".

        Of n rows in random order, n_1, n_2, ... of k kinds, those of each kind are together with a
        probability of k! n_1! n_2! ... / n!. Rows that are sorted by other columns, then by ad and
        reward, have no more runs with a reward than runs of ads, and two runs for each of these at
        most. In random order the runs with a reward are hypergeometric.

        impressions : for each ad, how many rows show it
        """
        from scipy.special import gammaln

        kinds_of = {
            "ad": np.array([*impressions]),
            "reward": np.array([self.rewarded, self.rows - self.rewarded]),
        }
        for (what, counts), runs in zip(kinds_of.items(), self.runs, strict=True):
            kinds = np.count_nonzero(counts)
            chance = gammaln(kinds + 1) + gammaln(counts + 1).sum() - gammaln(self.rows + 1)
            if runs == kinds and chance < np.log(CHANCE):
                return what
        of_ads, of_rewards = self.runs
        without = self.rows - self.rewarded
        usual = self.rewarded * (without + 1) / max(self.rows, 1)  # runs with a reward, on average
        if of_rewards <= 2 * of_ads and of_ads < usual:
            chance = _choose(without + 1, of_ads) + _choose(self.rewarded - 1, of_ads - 1)
            chance += np.log(of_ads) - _choose(self.rows, self.rewarded)  # of so many, and fewer
            if chance < np.log(CHANCE):
                return "ad and reward"
        return ""


def _choose(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose k of n."""
    from scipy.special import gammaln

    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

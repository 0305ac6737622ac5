"""Sums by user, and bounds for logs in which visits of one user depend on each other, and only
users are independent. Where users are not known, each list counts as a user, and its places as the
user's visits.

A mean over visits is the quotient of two sums over users, of S_u, the sum of a user's terms, and
n_u, how many visits the user made. If the mean is m, the terms S_u - m n_u have a mean of 0 over
the users, whatever happens among a user's visits, and however rates and numbers of visits go
together. So `intervals.betting` works with users in place of rows: the capital prod_u (1 + b_u (S_u
- m n_u)), users in random order, with bets b_u < 1 / (m max n_u), by which no user can lose more
than the capital. How many visits the users made is taken as it is, as the design of the log is.

If users come at random, the capital is a nonnegative martingale. For given users, each with a mean
of its own, the expected product of the first k of them in random order at a constant bet is e_k(a)
/ binom(U, k) <= mean(a)^k = 1 with a_u = 1 + b (E S_u - m n_u), by Maclaurin's inequality; what
bets that depend on earlier stages change is left to simulation (`benchmarks/ads_users.py`). Upper
ends follow from B n_u - S_u, with B the largest term.

A user can earn at most max n_u times B, the most that a visit can earn. So an upper end, and both
ends of a difference, are wide if a user made very many visits: a few more such users with a click
at every visit would change the mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scant.bandits import evaluation, intervals
from scant.bandits.learners import Logging, Uniform
from scant.errors import SettingError
from scant_ads.evaluation import quotients
from scant_ads.evaluation.quotients import Quotient
from scant_ads.reading import hashing

SCALE = 1 << 30  # sums are of whole numbers, so that the order of terms does not matter
FEW = 1 << 20  # users that wait until they are merged

# gains of a visit, with a stake of 1: from 0, mostly to 1
NO_RANGE = np.array([(0.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
FIRST = 32  # users of the first stage of betting; a stage ends whenever this number has doubled


@dataclass
class Users:
    """Sums over the visits of each user, which add up over parts of a log.

    key : uint64 (users), the hash of each, ascending
    sums : by policy, as in `tally.Tally.cells`, int64 (2 x users), the sums of its weights w and of
        w r, whole numbers times 1 / `SCALE`; for "uniform" of 1 / p and r / p, for "" of 1 and r
    largest : the largest weight
    waiting : sums of further visits, not merged yet
    """

    key: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    largest: float = 1.0
    waiting: list["Users"] = field(default_factory=list)

    def add(self, user: np.ndarray, weights: Mapping[str, np.ndarray], reward: np.ndarray) -> None:
        """Add visits.

        user : uint64 (rows); weights : by policy, float64 (rows); reward : float64 (rows)
        """
        order = np.argsort(user, kind="stable")
        ranked, reward = user[order], reward[order]
        starts, sums, largest = _starts(ranked), {}, 1.0
        for name, weight in weights.items():
            terms = np.stack([weight[order], weight[order] * reward])
            largest = max(largest, float(weight.max()))
            sums[name] = np.add.reduceat(np.rint(terms * SCALE).astype(np.int64), starts, axis=1)
        self.merge(Users(ranked[starts], sums, largest))

    def merge(self, other: "Users") -> None:
        """Add the sums of other visits."""
        self.waiting += [
            part for part in (Users(other.key, other.sums), *other.waiting) if len(part.key)
        ]
        self.largest = max(self.largest, other.largest)
        if sum(len(part.key) for part in self.waiting) > max(len(self.key), FEW):
            self.settle()

    def settle(self) -> "Users":
        """Merge all of `waiting` into `sums`; returns itself."""
        parts, self.waiting = [part for part in (self, *self.waiting) if len(part.key)], []
        if len(parts) > 1:
            key = np.concatenate([part.key for part in parts])
            order = np.argsort(key, kind="stable")
            starts = _starts(key[order])
            sums = {
                name: np.concatenate([part.sums[name] for part in parts], axis=1)
                for name in parts[0].sums
            }
            self.sums = {
                name: np.add.reduceat(both[:, order], starts, axis=1) for name, both in sums.items()
            }
            self.key = key[order][starts]
        elif parts:
            self.key, self.sums = parts[0].key, parts[0].sums
        return self

    def design(self, policy: str, rows: int, square: float) -> float:
        """The design effect of the mean of a policy's terms w r, 1 at least; 1 without users.

        rows, square : the number of visits, and the sum of their squared terms
        """
        if not len(self.settle().key):
            return 1.0
        visits, terms = self.sums[""][0] / SCALE, self.sums[policy][1] / SCALE
        mean = terms.sum() / rows
        variance = square - rows * mean**2
        return (
            max(float(((terms - mean * visits) ** 2).sum()) / variance, 1.0)
            if variance > 0
            else 1.0
        )

    def counts(self) -> tuple[int, int] | None:
        """How many users there are, and the most visits of one; None where they are not known."""
        visits = self.settle().sums.get("", np.empty((2, 0)))[0]
        return (len(visits), int(visits.max()) // SCALE) if len(visits) else None


def _starts(ranked: np.ndarray) -> np.ndarray:
    """Where each of the distinct numbers of a sorted array begins."""
    return np.flatnonzero(np.r_[np.ones(min(len(ranked), 1), bool), ranked[1:] != ranked[:-1]])


class ByUser:
    """The quotients of a log whose users are known, all in one random order of the users.

    users : their sums
    ads : how many there are, for "uniform"
    visits, most : float64 (users), how many visits each made, and the largest number
    """

    def __init__(self, users: Users, ads: int, random: np.random.Generator):
        self.users, self.ads = users.settle(), ads
        self.visits = users.sums[""][0] / SCALE
        self.most = float(self.visits.max())
        if self.most * users.largest * SCALE >= 2.0**63:
            raise SettingError(
                f"a weight is {users.largest:g}, and a user made {self.most:,.0f} "
                "visits: too much for sums by user. Correct propensities that are next to 0"
            )
        ends = FIRST << np.arange(63 - FIRST.bit_length())
        ends = np.r_[ends[ends < len(self.visits)], len(self.visits)]
        self.stage = np.empty(len(self.visits), np.int64)
        self.stage[random.permutation(len(self.visits))] = np.repeat(
            np.arange(len(ends)), np.diff(ends, prepend=0)
        )

    def __len__(self) -> int:
        return len(self.visits)

    def rate(self, policy: str, largest: float, supported: bool = True) -> Quotient:
        """The CTR of a policy with weights of at most `largest`, which may be infinite.

        supported : whether the mean weight is 1, so that a constant can be taken out of rewards
        """
        pair, largest = (policy, Logging.kind), (largest, 1.0)
        return self._of_pair(quotients.rate, pair, largest, supported and np.isfinite(largest[0]))

    def missed(self, policy: str) -> Quotient:
        """The mean of w (1 - r), what a policy misses: 1 - its CTR if weights average 1."""
        weight, terms = self._sums(policy)
        return self._quotient(
            weight - terms, self.visits, NO_RANGE, quotients.marks_between(0.0, np.inf)
        )

    def mean_weight(self, policy: str, largest: float) -> Quotient:
        """The mean weight of a policy."""
        corners, marks = NO_RANGE * [[largest], [1], [1]], quotients.marks_between(0.0, largest)
        return self._quotient(self._sums(policy)[0], self.visits, corners, marks)

    def of_shown(self, policy: str, weight: float) -> Quotient:
        """The click rate of the visits to which a policy gives a weight, the same weight for
        all.
        """
        counts, terms = self._sums(policy) / weight
        return self._quotient(terms, counts, NO_RANGE, quotients.marks_between(0.0, 1.0))

    def difference(self, pair: tuple[str, str], largest: tuple[float, float]) -> Quotient:
        """The CTR of the first of two policies - CTR of the second. Today's policy comes second.

        largest : their largest weights
        """
        return self._of_pair(quotients.difference, pair, largest)

    def lift(self, pair: tuple[str, str], largest: tuple[float, float]) -> Quotient | None:
        """The CTR of the first of two policies over the CTR of the second; None if the second has
        no click.
        """
        if not self._sums(pair[1])[1].any():
            return None
        return self._of_pair(quotients.ratio, pair, largest, bool(np.isfinite(largest[0])))

    def may_be_one(self, policy: str) -> bool:
        """Whether a t test with users as its units, at `evaluation.ALARM`, lets the mean weight be
        1.
        """
        weight, rows = self._sums(policy)[0], float(self.visits.sum())
        mean, users = float(weight.sum()) / rows, len(self)
        if users < 2:
            return True
        variance = (
            float(((weight - mean * self.visits) ** 2).sum()) * users**2 / (users - 1) / rows**2
        )
        low = intervals.t_of(users, mean, variance, (1 + evaluation.ALARM) / 2)
        return abs(mean - 1) <= max(mean - float(low), 1e-6)

    def _sums(self, policy: str) -> np.ndarray:
        """The sums of w and of w r of a policy, float64 (2 x users)."""
        name = "" if policy == Logging.kind else policy
        return self.users.sums[name] / (SCALE * (self.ads if policy == Uniform.kind else 1))

    def _of_pair(
        self, kind, pair: tuple[str, str], largest: tuple[float, float], supported: bool = True
    ) -> Quotient:
        """The `kind` (`quotients.rate`, `difference` or `ratio`) of two policies; see `rate`."""
        (weight, gain), (other, other_gain) = map(self._sums, pair)
        fixed = pair[1] in ("", Logging.kind)
        corners = quotients.corners(kind, largest, fixed) if np.isfinite(largest[0]) else NO_RANGE
        corners = corners * [[1], [1], [supported]]
        gain, stake = kind(gain, other_gain, self.visits)
        marks = quotients.marks(kind, largest, fixed)
        return self._quotient(gain, stake, corners, marks, (weight - other) * supported)

    def _quotient(
        self, gain, stake, corners: np.ndarray, marks: np.ndarray, excess=None
    ) -> Quotient:
        """The quotient of two sums by user, in which equal users of a stage share one cell."""
        terms = np.vstack([gain, stake, np.zeros(len(gain)) if excess is None else excess])
        code = hashing.of_columns(self.stage, *(terms + 0.0).view(np.uint64))
        _, first, count = np.unique(code, return_index=True, return_counts=True)
        return Quotient(
            terms[:, first],
            self.stage[first],
            count,
            np.bincount(self.stage),
            corners,
            marks,
            self.most,
            float(self.visits.mean()),
        )

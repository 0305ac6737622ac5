"""A log is read once, in batches; the sums and small tables that are kept (`tally`) suffice for all
that follows.

Rows that are logged twice, or that the training log has, too, are found by their digests
(`digests`). Rows that both logs have are tallied apart, since only at the end is it known whether
they are more than chance explains.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scant.bandits.policies import Choice
from scant.data import logs
from scant.errors import DataError
from scant.randomness import generator
from scant_ads.diagnosis import health
from scant_ads.diagnosis.order import BLOCKS
from scant_ads.diagnosis.showings import Showings
from scant_ads.evaluation.arms import Always
from scant_ads.policies import learning
from scant_ads.progress import silent
from scant_ads.reading import digests, hashing
from scant_ads.reading.folder import ROWS
from scant_ads.reading.tally import CUTS, Summary
from scant_ads.reading.visits import ELIGIBLE, Batch, Column, Visits

# standard errors by which two halves of a log differ in a column, if they are of different visits
APART = 5
EXACT = 1e-12  # of a mean square, up to which a variance is rounding

# of each piece of a log, for `Showings`
BLOCK = np.array([-int(-cut * BLOCKS // 1) - 1 for cut in CUTS])


class Training:
    """A training log, in which rows of the test are looked up.

    What is compared: ids, where both logs have them. Else features, ad, reward, propensity and,
    where both logs have them, time, position and user. If few columns tell users apart, rows of
    different visits are equal by chance: about as often as rows of the second half of the training
    log are in its first half. Where the two halves differ, as in rows that are sorted by ad, both
    are drawn at random instead; rows that were logged twice then count as chance, too.

    log : the log
    test : the log to evaluate on
    summary, tally : of the training log
    repeats, half : of the `half` rows of its second half, those that are in the first
    chance : the share of the test's rows that would be in both by chance
    mark : see `Digests.mark`
    """

    def __init__(self, log, test, progress=silent, rows: int = ROWS):
        self.log, self.name = log, log.name
        self.summary = summary(log, progress=progress, rows=rows)
        log.refuse(self.summary.problems.values())
        self.tally = self.summary.all()
        both = [role for role in log.source.optional if role in test.source.optional]
        self.by_id, self.single = "id" in both, not (log.source.exact and test.source.exact)
        self.roles = (
            "reward",
            "propensity",
            *(role for role in both if role not in ("id", ELIGIBLE)),
        )
        self.mark = self.summary.digests.mark()
        half = 0 if self.by_id else len(log) // 2  # equal ids are never chance
        row_digests, halves = [], Halves(half)
        for batch in log.batches(rows):
            row_digests.append(self._of(batch.visits))
            halves.add(batch.visits)
        row_digests = np.concatenate(row_digests, axis=1)
        self.half = len(log) - half
        order = (
            generator(0, "advice", "chance").permutation(len(log))
            if half and halves.differ
            else slice(None)
        )
        first, second = np.split(row_digests[:, order], [half], axis=1)
        repeats = digests.Index(first).has(second) if half else False
        self.repeats = int(np.count_nonzero(repeats))
        self.chance = min(1.0, 2 * self.repeats / self.half)
        self.index = digests.Index(row_digests)

    def has(self, test: Visits, row_digests: np.ndarray, where) -> np.ndarray:
        """Which rows of a test log the training log has, too, bool (rows).

        row_digests : the digests of all columns of the test
        where : what errors call the test
        """
        if test.names != self.summary.names:
            logs.align_features(test, self.summary.names, where)
        same = test.id is None and {*self.roles} == {*digests.roles_of(test)} and not test.policies
        return self.index.has(
            row_digests if same and self.single == (test.exact is None) else self._of(test)
        )

    def _of(self, visits: Visits) -> np.ndarray:
        """Ids, or digests of the columns that both logs have, uint64 (2 x rows); see `Training`."""
        return visits.id.T if self.by_id else digests.of(visits, self.roles, self.single)

    def shares(self, count: int, rows: int) -> bool:
        """Whether `count` of a test's `rows` rows, found in both logs, are more than chance
        explains.
        """
        return (
            bool(count)
            if self.by_id
            else health.beyond_chance(count, rows, self.repeats, self.half)
        )


class Halves:
    """The sums over the two halves of a log that tell whether they are of the same kind of visits.

    The mean of a column of numbers differs if rows are sorted by it. Of texts it is the share of
    each of 16 groups.

    half : how many rows the first one has
    """

    def __init__(self, half: int):
        self.half, self.read, self.sums = half, 0, [np.zeros((3, 1)), np.zeros((3, 1))]

    def add(self, log: Visits) -> None:
        """Add the next rows of the log."""
        texts = {
            name: log.features[:, log.names.index(name)].astype(int) for name in log.categories
        }
        coded = [
            (log.actions, log.action),
            *((log.categories[name], code) for name, code in texts.items()),
        ]
        numeric = [
            column
            for name, column in zip(log.names, log.features.T, strict=True)
            if name not in texts
        ]
        groups = [_grouped(labels)[code].T for labels, code in coded]
        values = np.vstack([log.reward, log.propensity, *numeric, *groups]).astype(float)
        ends = np.clip([0, self.half - self.read, len(log)], 0, len(log))
        for number, (start, end) in enumerate(pairwise(ends)):
            part = values[:, start:end]
            moments = [
                np.isfinite(part).sum(axis=1),
                np.nansum(part, axis=1),
                np.nansum(part**2, axis=1),
            ]
            self.sums[number] = self.sums[number] + moments
        self.read += len(log)

    @property
    def differ(self) -> bool:
        """Whether the mean of a column differs by more than `APART` standard errors."""
        rows, sums, squares = np.stack(self.sums, axis=1)
        rows = np.maximum(rows, 1)
        _, mean, square = np.stack([rows, sums, squares]).sum(axis=1) / rows.sum(axis=0)
        variance = np.maximum(square - mean**2, EXACT * square)
        gap = np.diff(sums / rows, axis=0)[0]
        return bool((gap**2 > APART**2 * variance * (1 / rows).sum(axis=0)).any())


def _grouped(texts: Sequence[str]) -> np.ndarray:
    """Which of 16 groups each text is in, by its hash, as 0 and 1, int8 (texts x 16)."""
    return np.eye(16, dtype=np.int8)[[hashing.of_text(text)[0] % 16 for text in texts]]


def summary(
    log, policies: Mapping | None = None, training: Training | None = None, progress=silent,
    rows: int = ROWS,
) -> Summary:  # fmt: skip
    """Read all rows of a log once, and summarise them.

    log : a `Log`
    policies : by name each a fitted `Policy`, an `Always` or a `Column`
    training : the log that policies were learnt from; None if there is none
    rows : of a batch
    """
    whole, read = Summary(showings=Showings(log.groups)), 0
    whole.rewards.nothing = log.unit.nothing
    for batch in log.batches(rows):
        _add(whole, batch, policies or {}, training, log)
        read += len(batch.visits or ())
        progress(f"read {read:,} rows of {log.name}")
    log.summarised = whole
    return whole


def _add(whole: Summary, batch: Batch, policies: Mapping, training: Training | None, test) -> None:
    """Add a batch of the log `test` to its summary, `whole`; other arguments as of `summary`."""
    log, where, piece = batch.visits, batch.where, batch.piece
    for place, problem in batch.problems:
        whole.note(place, problem, problem.count)
    if log is None or not len(log):
        return
    row_digests = digests.of(log)
    whole.digests.add(row_digests)
    whole.features.add(log)
    marks = whole.showings.add(log, BLOCK[piece])
    whole.rewards.add(log, marks, BLOCK[piece])
    whole.policies = log.policies
    whole.by_id = log.id is not None
    whole.by_user = log.user is not None
    whole.propensity_of = log.propensity_of
    whole.binary &= bool(np.isin(log.reward, (0, 1)).all())
    if log.timestamp is not None:
        ends = log.timestamp.min(), log.timestamp.max(), *(whole.period or ())
        whole.period = min(ends), max(ends)
    shared = np.zeros(len(log), bool) if training is None else training.has(log, row_digests, where)
    weights, unknown, chosen = _decisions(policies, log, where)
    compared = [
        policy.key if isinstance(policy, Column) else name for name, policy in policies.items()
    ]
    apart = (
        []
        if log.eligible is not None
        else [name for name, policy in policies.items() if isinstance(policy, Always)]
    )
    for tally, rows in ((whole.alone, ~shared), (whole.shared, shared)):
        if not rows.any():
            continue
        part = log if rows.all() else log.take(rows)
        tally.add(part, piece[rows], {name: weight[rows] for name, weight in weights.items()})
        if log.list is None:  # policies of lists have no least propensity, which pairs need
            tally.add_pairs(part, {name: weights[name][rows] for name in compared}, apart)
        for name, marks in unknown.items():
            tally.new[name] = tally.new.get(name, 0) + int(np.count_nonzero(marks[rows]))
        for name, (ads, choice) in chosen.items():
            tally.add_best(name, ads, choice.take(rows))


class _Decisions(NamedTuple):
    """What policies do on the rows of a batch: by the policy's name, or its column in the log.

    weights : float64 (rows), the importance weights
    unknown : of a learnt policy, bool (rows), whether it does not know the logged ad
    chosen : of a policy that chooses by row, its ads and its `Choice`
    """

    weights: dict[str, np.ndarray]
    unknown: dict[str, np.ndarray]
    chosen: dict[str, tuple]


def _decisions(policies: Mapping, log: Visits, where) -> _Decisions:
    weights = {
        Column(name).key: log.probabilities[:, number] / log.propensity
        if log.weights is None
        else log.weights[:, number]
        for number, name in enumerate(log.policies)
    }
    unknown, chosen, contexts = {}, {}, {}
    for name, policy in policies.items():
        if isinstance(policy, Column):
            if policy.name not in log.policies:
                raise DataError(where, f"there is no column '{policy.key}'")
        elif isinstance(policy, Always):
            weights[name] = policy.weight(log)
            if log.eligible is not None:
                chosen[name] = log.actions, Choice(policy.choices(log), 0.0, len(log.actions))
        else:
            encoder = policy.learnt.encoder
            # policies learnt from the same log have the same encoder
            if id(encoder) not in contexts:
                aligned = logs.align_features(log, encoder.names, where)
                contexts[id(encoder)] = encoder.transform(aligned, where).features
            choice = policy.learnt.fitted.choice(
                contexts[id(encoder)], policy.epsilon, policy.learnt.eligible(log)
            )
            action = policy.numbered(log)
            weights[name] = learning.probability(choice, action) / log.propensity
            unknown[name] = action < 0
            chosen[name] = policy.actions, choice
    return _Decisions(weights, unknown, chosen)

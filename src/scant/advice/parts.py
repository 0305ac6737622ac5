"""Logs larger than memory: a folder of parquet files, read once, of which sums and small tables are kept.

A tally has, for each policy, how often each pair of weight and reward occurs. All bounds depend on a log through these
counts alone: rows in random order, which betting needs, are a random draw from them (`intervals.drawn`). Where weights
or rewards take many values, they are rounded to eleven bits, which changes numbers by a thousandth at most. Tallies of
parts add up, so that numbers do not depend on how rows are parted.

What needs all rows at once is left out: rows that are logged twice, and pairs of policies. Rows that a training log
has, too, are looked for among one in 64, chosen by their hash.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from scant.ads import evaluation, intervals
from scant.ads.learners import Logging, Uniform
from scant.advice import advise, decisions, encoding, health, learning
from scant.advice.log import Report
from scant.advice.policy import Policy
from scant.advice.progress import silent
from scant.data import logs, visits
from scant.data.visits import Problem, Visits
from scant.errors import DataError, SettingError
from scant.randomness import generator

ROWS = 1 << 18  # of a batch
MOST = 4096  # distinct pairs of a table; with more they are rounded
BITS = 42  # low bits of a double that rounding drops
SCALE = 1 << 32  # sums over rows are of whole numbers, so that their order does not matter
SAMPLED = 64  # rows of the training log are looked for among one in so many
BATCH = ("no-clicks", "all-clicks", "id", "empty")  # problems that one batch cannot tell of the log
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


def _rounded(values: np.ndarray) -> np.ndarray:
    """Numbers of 0 or more, rounded to the nearest with ten bits after the first."""
    whole = np.ascontiguousarray(values, float).view(np.int64)
    return (((whole + (1 << (BITS - 1))) >> BITS) << BITS).view(float)


@dataclass
class Tally:
    """What is kept of the rows of a log.

    rows : how many
    cells : by policy, its weights and the rewards; "" has the propensities in place of weights
    segments : by the same, sums of w r in the pieces between `CUTS`, whole numbers times 1 / `SCALE`
    lengths : int64 (pieces), the rows of each
    ads : by ad, impressions and clicks, the latter times `SCALE`
    problems : of single cells, by kind, the place of the first row, and how many there are
    sampled, shared : rows that were looked for in the training log, and those found
    new : rows with ads that a learnt policy does not know, by policy
    """

    rows: int = 0
    cells: dict[str, Cells] = field(default_factory=dict)
    segments: dict[str, np.ndarray] = field(default_factory=dict)
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(len(CUTS), np.int64))
    ads: dict[str, list[int]] = field(default_factory=dict)
    problems: dict[str, tuple[str, Problem, int]] = field(default_factory=dict)
    sampled: int = 0
    shared: int = 0
    new: dict[str, int] = field(default_factory=dict)

    def merge(self, other: "Tally") -> None:
        """Add the tally of other rows, which come after these where places are told."""
        self.rows, self.sampled, self.shared = (
            self.rows + other.rows, self.sampled + other.sampled, self.shared + other.shared,
        )  # fmt: skip
        self.lengths = self.lengths + other.lengths
        for name, cells in other.cells.items():
            self.cells.setdefault(name, Cells()).merge(cells)
        for name, sums in other.segments.items():
            self.segments[name] = self.segments.get(name, 0) + sums
        for ad, (shown, clicks) in other.ads.items():
            held = self.ads.setdefault(ad, [0, 0])
            held[0], held[1] = held[0] + shown, held[1] + clicks
        for kind, (place, problem, count) in other.problems.items():
            first = self.problems.get(kind, (place, problem, 0))
            self.problems[kind] = (*first[:2], first[2] + count)
        for name, count in other.new.items():
            self.new[name] = self.new.get(name, 0) + count

    def add(self, name: str, weight: np.ndarray, reward: np.ndarray, piece: np.ndarray) -> None:
        """Add rows of a policy; `piece`, int (rows), is that of each row."""
        self.cells.setdefault(name, Cells()).add(weight, reward)
        whole = np.rint(weight * reward * SCALE).astype(np.int64)
        sums = np.zeros(len(CUTS), np.int64)
        np.add.at(sums, piece, whole) if len(np.unique(piece)) > 1 else sums.__setitem__(piece[0], whole.sum())
        self.segments[name] = self.segments.get(name, 0) + sums

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


class Parts:
    """A log in a folder of parquet files, in the order of their names. See `Log` for columns, ignore and categorical.

    Columns of text are texts, all others numbers, whatever single files have.
    """

    def __init__(self, folder, columns: Mapping[str, str] | None = None, ignore=(), categorical=()):
        import pyarrow.parquet as pq

        self.folder, self.columns, self.ignore, self.categorical = (
            Path(folder),
            dict(columns or {}),
            ignore,
            categorical,
        )
        self.name, self.files = str(folder), sorted(self.folder.rglob("*.parquet"))
        if not self.files:
            raise DataError(folder, "the folder has no parquet files")
        self.counts = []
        for path in self.files:
            with visits.files.foreign(path):
                self.counts.append(pq.read_metadata(path).num_rows)
        self.rows = sum(self.counts)
        if self.rows < 2:
            raise DataError(folder, "the log has fewer than two rows, of which nothing can be said")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns of the first file."""
        import pyarrow.parquet as pq

        with visits.files.foreign(self.files[0]):
            return tuple(pq.read_schema(self.files[0]).names)

    def __len__(self) -> int:
        return self.rows

    def check(self, progress=silent) -> Report:
        """What the log holds, and what is wrong with it; rows that are logged twice are not looked for."""
        tally, first = self.tally({}, progress=progress)
        return Report(self._facts(tally, first))

    def batches(self, rows: int = ROWS) -> Iterator[tuple[visits.Reading, Path, int, int]]:
        """Readings of the rows, their file, and the numbers of the first row in it and in the log."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        start = 0
        for path in self.files:
            at = 0
            with visits.files.foreign(path), pq.ParquetFile(path) as file:
                texts = [name for name, kind in zip(file.schema_arrow.names, file.schema_arrow.types, strict=True)
                         if pa.types.is_string(kind) or pa.types.is_large_string(kind)]  # fmt: skip
                for batch in visits.files.batches(file, rows):
                    if batch.num_rows:
                        yield (visits.read_frame(batch, self.columns, self.ignore, {*texts, *self.categorical}),
                               path, at, start + at)  # fmt: skip
                    at += batch.num_rows
            start += at

    def tally(
        self, policies: Mapping[str, "Policy | str"], known: Mapping[str, set] = (), encoder=None,
        progress=silent, rows: int = ROWS,
    ) -> tuple[Tally, visits.Reading]:  # fmt: skip
        """Read all rows once.

        Parameters
        ----------
        policies : fitted ones, or columns `policy:NAME`, by name
        known : hashes of the training log's rows as `hashes` gives them, uint64, sorted
        encoder : of the features that were hashed
        rows : of a batch

        Returns
        -------
        tally, first : the tally of all rows, and the reading of the first batch
        """
        whole, first = Tally(), None
        ends = np.array([math.ceil(cut * self.rows) for cut in CUTS])
        for reading, path, at, start in self.batches(rows):
            first = first or reading
            progress(f"read {start:,} of {self.rows:,} rows")
            whole.merge(self._tallied(reading, path, at, start, ends, policies, known, encoder))
        return whole, first

    def _tallied(self, reading, path, at, start, ends, policies, known, encoder) -> Tally:
        tally = Tally()
        for problem in reading.problems:
            if problem.kind not in BATCH:
                place = f"{path}, row {at + problem.row + 1}" if problem.row is not None else str(path)
                tally.problems[problem.kind] = place, problem, max(problem.count, 1)
        log = reading.visits
        if log is None:
            return tally
        tally.rows = len(log)
        piece = np.searchsorted(ends, start + np.arange(len(log)), side="right")
        tally.lengths = np.bincount(piece, minlength=len(CUTS))
        tally.add("", log.propensity, log.reward, piece)
        tally.segments[""] = np.bincount(piece, np.rint(log.reward * SCALE), len(CUTS)).astype(np.int64)
        shown = np.bincount(log.action, minlength=len(log.actions))
        clicks = np.bincount(log.action, np.rint(log.reward * SCALE), len(log.actions))
        tally.ads = {ad: [int(n), int(c)] for ad, n, c in zip(log.actions, shown, clicks, strict=True)}
        contexts = {}
        for name, policy in policies.items():
            if isinstance(policy, str):
                if policy not in log.policies:
                    raise DataError(path, f"there is no column 'policy:{policy}'")
                target = log.given[:, log.policies.index(policy)]
            else:
                held = policy.learnt.encoder
                if id(held) not in contexts:
                    aligned = logs.align_features(log, held.names, path)
                    contexts[id(held)] = held.transform(aligned, path).features
                choice = policy.learnt.fitted.choice(contexts[id(held)], policy.epsilon)
                number = {ad: place for place, ad in enumerate(policy.actions)}
                action = np.array([number.get(ad, -1) for ad in log.actions], np.int32)[log.action]
                target = learning.probability(choice, action)
                tally.new[name] = int(np.count_nonzero(action < 0))
            tally.add(name, target / log.propensity, log.reward, piece)
        if encoder is not None:
            found = hashes(log, encoder, path)
            tally.sampled = len(found)
            tally.shared = int(np.isin(found, known).sum())
        return tally

    def _facts(self, tally: Tally, first: visits.Reading) -> dict:
        """As `checking.facts`."""
        listed = [{"kind": problem.kind, "severity": problem.severity, "reason": problem.reason, "mend": problem.mend,
                   "count": count, "place": place}
                  for place, problem, count in tally.problems.values()]  # fmt: skip
        facts = {"form": f"{len(self.files):,} parquet files", "problems": listed}
        if any(problem["severity"] == "error" for problem in listed) or first.visits is None:
            return facts
        listed += [{"kind": problem.kind, "severity": problem.severity, "reason": problem.reason, "mend": problem.mend,
                    "count": 0, "place": ""} for problem in self._doubts(tally)]  # fmt: skip
        propensity = tally.cells[""].arrays()[0]
        ads = logs.ordered({*tally.ads})
        actions = []
        for ad in ads:
            shown, clicks = tally.ads[ad][0], tally.ads[ad][1] / SCALE
            actions.append(
                {"action": ad, "impressions": shown, "clicks": clicks, "rate": clicks / shown if shown else None}
            )
        return facts | {
            "rows": tally.rows, "duplicates": None, "propensity": [float(propensity.min()), float(propensity.max())],
            "actions": actions, "features": list(first.visits.names), "texts": {}, "missing": {},
            "policies": list(first.visits.policies), "timestamps": None,
        }  # fmt: skip

    def _doubts(self, tally: Tally, least: float | None = None) -> Iterator[Problem]:
        """Problems of the log as a whole."""
        if not sum(clicks for _, clicks in tally.ads.values()):
            yield Problem("no-clicks", "warning", f"all {tally.rows:,} rewards are 0: rewards look missing",
                          "Look at how clicks are joined to visits. There is no verdict without any")  # fmt: skip
        drift = tally.drift("")
        if drift.found:
            yield Problem("drift", "warning", f"the click rate drifts: {drift}",
                          "Rates are then averages over the log's period")  # fmt: skip
        propensity, _, count = tally.cells[""].arrays()
        actions, least = len(tally.ads), least or float(propensity.min())
        random = generator(0, "advice", "weights")
        terms = intervals.drawn(1 / (actions * propensity), count, 1 / (actions * least), random)
        low, high = intervals.interval(intervals.betting, terms, evaluation.ALARM)
        slack = 2e-3 if tally.cells[""].rounded else 1e-9
        if not low - slack <= 1 <= high + slack:
            reason = (
                f"the mean weight of the policy that shows all {actions} ads alike is {terms.moments()[1]:.4g}, not 1"
            )
            yield Problem("propensity-sum", "warning", f"propensities do not fit the ads shown: {reason}",
                          "Some are of another policy, or some ads cannot be shown to everyone")  # fmt: skip


def hashes(log: Visits, encoder, where="log", every: int = SAMPLED) -> np.ndarray:
    """Hashes of the rows of a log, uint64, of those that are among one in `every`: ad, encoded features and reward."""
    encoded = encoder.transform(logs.align_features(log, encoder.names, where), where)
    ads = np.array([_hash(ad) for ad in log.actions], np.uint64)[log.action]
    found = logs.hashes([encoded.features, ads, log.reward, log.propensity])
    return found[(found >> np.uint64(20)) % np.uint64(every) == 0]


def _hash(text: str) -> int:
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def compare(
    policies: Iterable | Mapping, test: Parts, train: Visits | None = None, level: float = 0.95,
    declared: float | None = None, shared: str = "refuse", seed: int = 0, paths: Mapping | None = None, progress=silent,
    rows: int = ROWS,
) -> advise.Evaluation:  # fmt: skip
    """As `advise.compare`, on a log larger than memory; rows shared with the training log cannot be dropped.

    Raises
    ------
    DataError, SettingError : see `advise.compare`
    """
    if shared not in ("refuse", "keep") or declared == advise.UNKNOWN:
        raise SettingError("of a folder, shared rows can be refused or kept, and the least propensity has to be known")
    paths = {"test": test.name, "train": "training log"} | dict(paths or {})
    first = next(iter(test.batches(rows)))[0].required()
    named = {name: advise.asked(policy, first) for name, policy in advise.named_ones(policies).items()}
    learnt = {name: policy for name, policy in named.items() if not isinstance(policy, str)}
    encoder, known, chance = None, np.empty(0, np.uint64), 0.0
    if train is not None:
        progress("encodes features")
        encoder = encoding.fit(train)
        encoded = encoder, encoder.transform(train, paths["train"])
        for name, policy in learnt.items():
            if not policy.fitted:
                named[name] = learnt[name] = policy.fitted_to(train, encoded, progress)
        known = np.sort(hashes(train, encoder, paths["train"]))
        half = (
            hashes(train.take(np.arange(len(train) // 2)), encoder),
            hashes(train.take(np.arange(len(train) // 2, len(train))), encoder),
        )
        chance = min(1.0, 2 * float(np.isin(half[1], half[0]).mean())) if len(half[1]) else 0.0
    elif unfitted := [name for name, policy in learnt.items() if not policy.fitted]:
        raise SettingError(f"{unfitted[0]} is learnt from a log: give one with --train")
    tally, _ = test.tally(named, known, encoder, progress, rows)
    errors = [found for found in tally.problems.values() if found[1].severity == "error"]
    if errors:
        place, problem, count = errors[0]
        raise DataError(place, f"{problem.reason} ({count:,} rows)", advice=problem.mend)
    notes = [f"{test.name}: {problem.reason}. {problem.mend}" for problem in test._doubts(tally, declared)]
    if tally.shared > 1.5 * chance * tally.sampled + 5 * (chance * tally.sampled) ** 0.5:
        share = f"about {100 * tally.shared / tally.sampled:.3g} % of the rows are in {paths['train']}, too"
        if shared == "refuse":
            raise DataError(test.name, f"{share}: what was learnt from them is judged too well",
                            advice="--shared keep keeps them, if they are of different visits")  # fmt: skip
        notes.append(f"{test.name}: {share}")
    return _evaluated(named, learnt, tally, test, train, level, declared, seed, paths, notes)


def _upper(today, bound: str, random):
    """Today's one-sided upper bound at a confidence."""
    if bound == "clopper-pearson":
        terms = intervals.drawn(today[1], today[2], 1.0, random, (1.0,))
        return lambda confidence: float(intervals.clopper_pearson(terms, confidence, upper=True))
    terms = intervals.drawn(today[1], today[2], 1.0, random).reflected()
    return lambda confidence: 1 - float(intervals.betting(terms, confidence))


def _evaluated(named, learnt, tally, test, train, level, declared, seed, paths, notes) -> advise.Evaluation:
    propensity, reward, count = tally.cells[""].arrays()
    least = declared or (float(propensity[0]) if len({*propensity}) == 1 else None)
    if least is None:
        raise SettingError(f"{test.name}: propensities differ, so that --least-propensity is needed")
    if propensity.min() < least * (1 - 2**-10 if tally.cells[""].rounded else 1 - 1e-9):
        raise SettingError(f"--least-propensity is {least}, but {test.name} has {propensity.min():g}")
    constant = len({*propensity}) == 1 and math.isclose(least, propensity[0])
    binary = bool(np.isin(reward, (0, 1)).all())
    ads, lacking = len(tally.ads), not reward[count > 0].any()
    rows, lowers, more = [], {}, []

    def judge(name, cells, drift, possible, **columns):
        weight, of_reward, of_count = cells
        weights = tuple(share / least for share in possible or (1.0,))
        largest = max(weights) if name != Logging.kind else 1.0
        if name == Logging.kind:
            weights = (1.0,)
        few = binary and (constant or name == Logging.kind) and possible is not None and len(weights) == 1
        found = evaluation.evaluate_cells(
            np.minimum(weight, largest), of_reward, of_count, largest, level,
            generator(seed, "advice", "order", name), weights if few else None,
        )  # fmt: skip
        row = advise.row_of(name, found, level, drift=drift.p, **columns)
        more.extend(advise.noticed(name, found))
        if drift.found and not found.refused:
            more.append(f"{name}: its rate drifts, {drift}: the CTR is the average over the log's period")
        if rows:
            row |= {"verdict": "none"} if lacking else advise.verdict_of(row, rows[0], train is None)
            if row["verdict"] != "none":
                terms = intervals.drawn(np.minimum(weight, largest) * of_reward, of_count, largest,
                                        generator(seed, "advice", "order", name), weights if few else None)  # fmt: skip
                bound = intervals.clopper_pearson if few else intervals.betting
                lowers[name] = lambda confidence: float(bound(terms, confidence))
        rows.append(row)
        return few

    if train is None:
        today = np.ones_like(propensity), reward, count
        judge(Logging.kind, today, tally.drift(""), (1.0,))
    else:
        values, counts = np.unique(train.reward, return_counts=True)
        today = np.ones_like(values), values, counts
        judge(Logging.kind, today, health.drift(train.reward, health.by_time(train)), (1.0,))
    judge(Uniform.kind, (1 / (ads * propensity), reward, count), tally.drift(""), (1 / ads,))
    for name, policy in named.items():
        if isinstance(policy, str):
            judge(name, tally.cells[name].arrays(), tally.drift(name), None)
            continue
        columns = {"lambda": policy.regularisation, "epsilon": policy.epsilon, "untrained": " ".join(policy.untrained)}
        judge(name, tally.cells[name].arrays(), tally.drift(name), advise.probabilities_of(policy),
              new_ads=tally.new[name] / tally.rows, **columns)  # fmt: skip
    about = [f"Test log {test.name}: {tally.rows:,} rows, {float(count @ reward):,.0f} clicks, "
             f"in {len(test.files):,} files"]  # fmt: skip
    if train is not None:
        about.insert(0, f"Training log {paths['train']}: {len(train):,} rows, {train.reward.sum():,.0f} clicks; "
                        "today's policy is the one that logged it")  # fmt: skip
    upper = None if rows[0]["refused"] else _upper(today, rows[0]["bound"], generator(seed, "advice", "order", "today"))
    estimates = {row["policy"]: row["estimate"] for row in rows}
    choice = decisions.chosen(lowers, upper, level, estimates) if lowers else None
    return advise.Evaluation(level, tuple(about), tuple(rows), tuple(notes + more), seed, learnt, (), choice)

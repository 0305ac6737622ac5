"""Logs larger than memory: a folder of parquet files, read once, of which sums and small tables are kept (`tally`).

Rows that are logged twice, or that the training log has, too, are found by their digests (`digests`), which are kept in
a temporary file. Rows that both logs have are tallied apart, since only at the end is it known whether they are more
than chance explains.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from scant import files
from scant.ads import evaluation, intervals
from scant.ads.learners import Logging, Uniform
from scant.advice import advise, decisions, digests, encoding, health, learning
from scant.advice.log import Report
from scant.advice.policy import Policy
from scant.advice.progress import silent
from scant.advice.tally import CUTS, SCALE, Summary, Tally
from scant.data import checks, formats, logs
from scant.data.visits import Problem, Reading, Visits, is_feature
from scant.errors import DataError, SettingError, unknown
from scant.randomness import generator

ROWS = 1 << 18  # of a batch
BATCH = ("no-clicks", "all-clicks", "id", "empty")  # problems that one batch cannot tell of the log


class Parts:
    """A log in a folder of parquet files, in the order of their names. See `Log` for columns, ignore and categorical.

    A feature is of text, of numbers or of times, and in all parts of the same.

    files, counts : the parts, in order, and their rows
    left_out : what is no part, though it is parquet; see `files.parts`
    kinds : by feature, "text", "numbers" or "times", unless its type has no values

    Raises
    ------
    DataError : a folder without parquet files, with one that is there twice, or with fewer than two rows; a damaged
        file, or one with other columns, or with other kinds of features
    SettingError : a column of `columns` that a file lacks
    """

    def __init__(self, folder, columns: Mapping[str, str] | None = None, ignore=(), categorical=()):
        import pyarrow.parquet as pq

        self.folder, self.columns = Path(folder), dict(columns or {})
        self.ignore, self.categorical = ignore, categorical
        self.name, (self.files, self.left_out) = str(folder), files.parts(folder)
        self.summarised: Summary | None = None  # of all rows, once they have been read
        self.counts, self.kinds, variables, where = [], {}, None, {}
        for path in self.files:
            with files.foreign(path):
                described = pq.read_metadata(path)
                self.counts.append(described.num_rows)
                schema = described.schema.to_arrow_schema()
            names = formats.roles(path, schema.names, self.columns, ignore)
            # columns of one-hot variables may differ, since a part may lack a category
            of_file = {name.partition("=")[0] for name in names if name and not name.startswith(logs.FULL)}
            variables = of_file if variables is None else variables
            if odd := sorted(of_file ^ variables):
                reason = f"columns that only one of it and {self.files[0]} has: {logs.listing(odd)}"
                raise DataError(path, reason, advice="Give all parts the same columns")
            for name, field in zip(names, schema, strict=True):
                kind = checks.kind_of(field.type) if is_feature(name) else None
                if kind is None:
                    continue
                kind = "text" if kind == "numbers" and name in categorical else kind
                first = where.setdefault(name, path)
                if self.kinds.setdefault(name, kind) != kind:
                    reason = f"column {name!r} has {kind}, and {self.kinds[name]} in {first}"
                    advice = f"Write the same in all parts, or leave it out with --ignore {name}"
                    raise DataError(path, reason, advice=advice)
        self.rows = sum(self.counts)
        if self.rows < 2:
            raise DataError(folder, "the log has fewer than two rows, of which nothing can be said")

    @property
    def visits(self) -> Visits:
        """What a log in one file has; a SettingError, since this one is not read as a whole."""
        raise SettingError(f"{self.name} is a folder, and policies are learnt from a log in one file: give some of its "
                           "rows as one")  # fmt: skip

    @property
    def problems(self) -> list[Problem]:
        """What there is to know of the folder itself."""
        if not self.left_out:
            return []
        names = logs.listing([str(path.relative_to(self.folder)) for path in self.left_out])
        reason = f"files and folders whose names begin with '.' or '_' are left out: {names}"
        return [Problem("left-out", "warning", reason, "Rename what is a part of the log")]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns of the first file."""
        import pyarrow.parquet as pq

        with files.foreign(self.files[0]):
            return tuple(pq.read_schema(self.files[0]).names)

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the user's own policies in it."""
        names = [name for name in self.column_names if name.startswith(logs.POLICY) and name not in self.ignore]
        return tuple(name.removeprefix(logs.POLICY) for name in names)

    @property
    def optional(self) -> tuple[str, ...]:
        """Those of the columns timestamp and position that it has."""
        names = {*self.column_names} - {*self.ignore}
        return tuple(role for role in logs.OPTIONAL if self.columns.get(role, role) in names)

    def __len__(self) -> int:
        return self.rows

    def check(self, progress=silent) -> Report:
        """What the log holds, and what is wrong with it; rows that have been evaluated are not read again."""
        return Report(self._facts(self.summarised or self.summary({}, progress=progress)))

    def batches(
        self, rows: int = ROWS, only: Path | None = None, kept: Iterable[str] | None = None
    ) -> Iterator[tuple[Reading, Path, int, int]]:
        """Readings of the rows, their file, and the numbers of the first row in it and in the log.

        rows : of a batch
        only : the file whose rows are read; None for all
        kept : features that are there also in batches without a value of them; None for all
        """
        import pyarrow.parquet as pq

        start, texts = 0, {*self.categorical, *(name for name, kind in self.kinds.items() if kind == "text")}
        kept = self.kinds if kept is None else kept
        for path, count in zip(self.files, self.counts, strict=True):
            at = 0
            if only in (None, path):
                with files.foreign(path), pq.ParquetFile(path) as file:
                    for batch in files.batches(file, rows):
                        if batch.num_rows:
                            yield (formats.read_frame(batch, self.columns, self.ignore, texts, kept),
                                   path, at, start + at)  # fmt: skip
                        at += batch.num_rows
            start += count

    def summary(
        self, policies: Mapping[str, "Policy | str"], train: "Training | None" = None, progress=silent,
        rows: int = ROWS, only: Path | None = None,
    ) -> Summary:  # fmt: skip
        """Read all rows once, and keep what is needed of them.

        Parameters
        ----------
        policies : fitted ones, or columns `policy:NAME`, by name
        train : the log that policies were learnt from; None if there is none
        rows : of a batch
        only : the file whose rows are read; None for all
        """
        whole = Summary()
        ends = np.array([math.ceil(cut * self.rows) for cut in CUTS])
        learnt = [policy.learnt.encoder.names for policy in policies.values() if not isinstance(policy, str)]
        learnt += [] if train is None else [train.log.names]  # without the features of which it has no value
        kept = [name for name in self.kinds if all(name in names for names in learnt)]
        for reading, path, at, start in self.batches(rows, only, kept):
            progress(f"read {start:,} of {self.rows:,} rows")
            found = None if reading.visits is None else digests.of(reading.visits)
            if found is not None:
                whole.digests.add(found)
            whole.merge(self._summary(reading, path, at, start, ends, policies, train, found))
        if only is None:
            self.summarised = whole
        return whole

    def _summary(self, reading, path, at, start, ends, policies, train, found) -> Summary:
        """The summary of a batch, without its digests, which are `found`."""
        summary = Summary()
        for problem in reading.problems:
            if problem.kind not in BATCH:
                place = f"{path}, row {at + problem.row + 1}" if problem.row is not None else str(path)
                summary.note(place, problem, max(problem.count, 1))
        log = reading.visits
        if log is None:
            return summary
        summary.names, summary.policies = log.names, log.policies
        both = np.zeros(len(log), bool) if train is None else train.has(log, found, path)
        weights = {column(name): log.given[:, number] / log.propensity for number, name in enumerate(log.policies)}
        unknown, contexts = {}, {}
        for name, policy in policies.items():
            if isinstance(policy, str):
                if policy not in log.policies:
                    raise DataError(path, f"there is no column '{column(policy)}'")
                continue
            encoder = policy.learnt.encoder
            if id(encoder) not in contexts:
                aligned = logs.align_features(log, encoder.names, path)
                contexts[id(encoder)] = encoder.transform(aligned, path).features
            choice = policy.learnt.fitted.choice(contexts[id(encoder)], policy.epsilon)
            number = {ad: place for place, ad in enumerate(policy.actions)}
            action = np.array([number.get(ad, -1) for ad in log.actions], np.int32)[log.action]
            weights[name], unknown[name] = learning.probability(choice, action) / log.propensity, action < 0
        compared = [Logging.kind] if train is None else []
        compared += [column(policy) if isinstance(policy, str) else name for name, policy in policies.items()]
        weights_of_all = {Logging.kind: np.ones(len(log))} | weights
        piece = np.searchsorted(ends, start + np.arange(len(log)), side="right")
        for tally, rows in ((summary.alone, np.flatnonzero(~both)), (summary.shared, np.flatnonzero(both))):
            if not len(rows):
                continue
            reward, propensity, action = log.reward[rows], log.propensity[rows], log.action[rows]
            tally.rows, tally.lengths = len(rows), np.bincount(piece[rows], minlength=len(CUTS))
            tally.add("", propensity, reward, piece[rows])
            for name, weight in weights.items():
                tally.add(name, weight[rows], reward, piece[rows])
            tally.add_pairs({name: weights_of_all[name][rows] for name in compared}, propensity, reward)
            tally.new = {name: int(np.count_nonzero(marks[rows])) for name, marks in unknown.items()}
            shown = np.bincount(action, minlength=len(log.actions))
            clicks = np.bincount(action, np.rint(reward * SCALE), len(log.actions))
            tally.ads = {ad: [int(n), int(c)] for ad, n, c in zip(log.actions, shown, clicks, strict=True) if n}
        return summary

    def _facts(self, summary: Summary) -> dict:
        """As `checking.facts`."""
        tally = summary.all()
        listed = [{"kind": problem.kind, "severity": problem.severity, "reason": problem.reason, "mend": problem.mend,
                   "count": count, "place": place}
                  for place, problem, count in (*summary.problems.values(),
                                                *(("", problem, 0) for problem in self.problems))]  # fmt: skip
        listed.sort(key=lambda problem: problem["severity"])  # errors first
        facts = {"form": f"{len(self.files):,} parquet files", "problems": listed}
        if any(problem["severity"] == "error" for problem in listed):
            return facts
        equal = summary.digests.equal()
        found = [*doubts(tally, summary.policies), *health.equal_rows(equal, tally.rows)]
        listed += [{"kind": problem.kind, "severity": problem.severity, "reason": problem.reason, "mend": problem.mend,
                    "count": problem.count, "place": ""} for problem in found]  # fmt: skip
        propensity = tally.cells[""].arrays()[0]
        ads = logs.ordered({*tally.ads})
        actions = []
        for ad in ads:
            shown, clicks = tally.ads[ad][0], tally.ads[ad][1] / SCALE
            actions.append(
                {"action": ad, "impressions": shown, "clicks": clicks, "rate": clicks / shown if shown else None}
            )
        return facts | {
            "rows": tally.rows, "duplicates": equal, "propensity": [float(propensity.min()), float(propensity.max())],
            "actions": actions, "features": list(summary.names), "texts": {}, "missing": {},
            "policies": list(summary.policies), "timestamps": None,
        }  # fmt: skip


def doubts(tally: Tally, policies: Iterable[str], least: float | None = None) -> Iterator[Problem]:
    """Problems of the log as a whole, but for equal rows.

    policies : columns `policy:NAME`, by name, whose probabilities are to sum to 1
    least : the least propensity possible; the least seen if None
    """
    if not sum(clicks for _, clicks in tally.ads.values()):
        yield Problem("no-clicks", "warning", f"all {tally.rows:,} rewards are 0: rewards look missing",
                      "Look at how clicks are joined to visits. There is no verdict without any")  # fmt: skip
    drift = tally.drift("")
    if drift.found:
        yield Problem("drift", "warning", f"the click rate drifts: {drift}",
                      "Rates are then averages over the log's period")  # fmt: skip
    propensity, _, count = tally.cells[""].arrays()
    actions, least = len(tally.ads), least or float(propensity.min())
    mean, low, high = _mean_weight(1 / (actions * propensity), count, 1 / (actions * least), tally.cells[""].rounded)
    if not low <= 1 <= high:
        reason = f"the mean weight of the policy that shows all {actions} ads alike is {mean:.4g}, not 1"
        yield Problem("propensity-sum", "warning", f"propensities do not fit the ads shown: {reason}",
                      "Some are of another policy, or some ads cannot be shown to everyone")  # fmt: skip
        return
    for name in policies:
        cells = tally.cells[column(name)]
        weight, _, count = cells.arrays()
        mean, low, high = _mean_weight(weight, count, 1 / least, cells.rounded)
        if weight.any() and not low <= 1 <= high:
            yield health.policy_sum(name, mean, low, high)


def column(policy: str) -> str:
    """The column with the probabilities of a user's own policy."""
    return f"{logs.POLICY}{policy}"


def _mean_weight(weight, count, largest: float, rounded: bool) -> tuple[float, float, float]:
    """As `health.mean_weight`, from how often each weight occurs; wider if they were rounded."""
    random = generator(0, "advice", "weights")
    terms = intervals.drawn(weight, count, max(largest, float(weight.max())), random)
    low, high = intervals.interval(intervals.betting, terms, evaluation.ALARM)
    slack = 2e-3 if rounded else 1e-9
    return float(terms.moments()[1]), float(low) - slack, float(high) + slack


class Training:
    """A training log, among whose rows those of the test are looked for; see `health.shared`.

    log, where : the log, and what messages call it
    test : the log to evaluate on
    chance : the share of the test's rows that would be in both by chance
    mark : three whole numbers that tell this log from others
    """

    def __init__(self, log: Visits, test: Parts, where="training log"):
        found = digests.of(log)
        self.log, self.where, self.chance = log, where, 0.0
        self.mark = [len(log), *(int(half) for half in found.sum(axis=1))]
        self.equal = _equal(found)
        self.roles = digests.roles_of(log, test.optional)
        found = digests.of(log, self.roles)
        half = len(log) // 2
        if half:
            self.chance = min(1.0, 2 * float(digests.Known(found[:, :half]).has(found[:, half:]).mean()))
        self.known = digests.Known(found)

    def has(self, test: Visits, found: np.ndarray, where) -> np.ndarray:
        """Which rows of a test log are in it, too, bool (rows).

        found : the digests of all columns of the test

        Raises
        ------
        DataError : the logs have different features
        """
        if test.names != self.log.names:
            logs.align_features(test, self.log.names, where)
        same = self.roles == digests.roles_of(test) and not test.policies
        return self.known.has(found if same else digests.of(test, self.roles))


def _equal(found: np.ndarray) -> int:
    """How many of some rows equal an earlier one, by their digests."""
    whole = digests.Digests()
    whole.add(found)
    return whole.equal()


def compare(
    policies: Iterable | Mapping, test: Parts, train: Visits | None = None, level: float = 0.95,
    declared: float | None = None, shared: str = "refuse", seed: int = 0, paths: Mapping | None = None, progress=silent,
    rows: int = ROWS, summarised=None,
) -> advise.Evaluation:  # fmt: skip
    """As `advise.compare`, on a log larger than memory.

    rows : of a batch
    summarised : called with the policies, which are fitted then, and the `Training` log, gives the log's summary; None
        to read the rows

    Raises
    ------
    DataError, SettingError : see `advise.compare`
    """
    if shared not in advise.SHARED:
        raise unknown("way with shared rows", shared, advise.SHARED)
    if declared == advise.UNKNOWN:
        raise SettingError("of a folder, the least propensity has to be known")
    paths = {"test": test.name, "train": "training log"} | dict(paths or {})
    named = {name: advise.asked(policy, test) for name, policy in advise.named_ones(policies).items()}
    unfitted = [name for name, policy in named.items() if not isinstance(policy, str) and not policy.fitted]
    if unfitted and train is None:
        raise SettingError(f"{unfitted[0]} is learnt from a log: give one with --train")
    if unfitted:
        progress("encodes features")
        encoder = encoding.fit(train)
        encoded = encoder, encoder.transform(train, paths["train"])
        named |= {name: named[name].fitted_to(train, encoded, progress) for name in unfitted}
    training = None if train is None else Training(train, test, paths["train"])
    summary = (summarised or partial(test.summary, progress=progress, rows=rows))(named, training)
    for place, problem, count in summary.problems.values():
        if problem.severity == "error":
            raise DataError(place, f"{problem.reason} ({count:,} rows)", advice=problem.mend)
    progress("compares the policies")
    whole, notes = summary.all(), [f"{test.name}: {problem.reason}. {problem.mend}" for problem in test.problems]
    columns = [policy for policy in named.values() if isinstance(policy, str)]
    for problem in (*doubts(whole, columns, declared), *health.equal_rows(summary.digests.equal(), whole.rows)):
        if problem.severity == "error":
            raise DataError(test.name, problem.reason, advice=problem.mend)
        notes.append(f"{test.name}: {problem.reason}. {problem.mend}")
    if training is not None:
        said, drop = _of_both(summary, whole, training, paths, shared)
        notes += said
        if drop:
            summary.alone.ads = {ad: summary.alone.ads.get(ad, [0, 0]) for ad in whole.ads}
            whole = summary.alone
    return _evaluated(named, whole, test, train, level, declared, seed, paths, notes)


def _of_both(summary: Summary, whole: Tally, training: Training, paths, shared: str) -> tuple[list[str], bool]:
    """Notes on the training log and on what the test shares with it, and whether to leave out the rows of both."""
    train, notes = training.log, []
    notes += [f"{paths['train']}: {found.reason}. {found.mend}"
              for found in health.equal_rows(training.equal, len(train))]  # fmt: skip
    if not train.reward.any():
        notes.append(f"{paths['train']}: all rewards are 0: rewards look missing, so that there is no verdict")
    if new := [ad for ad in logs.ordered({*whole.ads}) if ad not in train.actions]:
        notes.append(advise.of_new_ads(paths, new, sum(whole.ads[ad][0] for ad in new) / whole.rows))
    chance = training.chance * whole.rows
    said, drop = advise.of_shared(summary.shared.rows, whole.rows, chance, paths, shared)
    return notes + said, drop


def _upper(today, bound: str, random):
    """Today's one-sided upper bound at a confidence."""
    if bound == "clopper-pearson":
        terms = intervals.drawn(today[1], today[2], 1.0, random, (1.0,))
        return lambda confidence: float(intervals.clopper_pearson(terms, confidence, upper=True))
    terms = intervals.drawn(today[1], today[2], 1.0, random).reflected()
    return lambda confidence: 1 - float(intervals.betting(terms, confidence))


def _evaluated(named, tally, test, train, level, declared, seed, paths, notes) -> advise.Evaluation:
    """The evaluation, from the tally of the rows to evaluate on."""
    propensity, reward, count = tally.cells[""].arrays()
    least = declared or (float(propensity[0]) if len({*propensity}) == 1 else None)
    if least is None:
        raise SettingError(f"{test.name}: propensities differ, so that --least-propensity is needed")
    if propensity.min() < least * (1 - 2**-10 if tally.cells[""].rounded else 1 - 1e-9):
        raise SettingError(f"--least-propensity is {least}, but {test.name} has {propensity.min():g}")
    constant = len({*propensity}) == 1 and math.isclose(least, propensity[0])
    binary = bool(np.isin(reward, (0, 1)).all())
    ads, lacking = len(tally.ads), not reward.any() or (train is not None and not train.reward.any())
    rows, lowers, largests, more = [], {}, {}, []

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
                largests[name] = largest
        rows.append(row)

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
            judge(name, tally.cells[column(policy)].arrays(), tally.drift(column(policy)), None)
            continue
        columns = {"lambda": policy.regularisation, "epsilon": policy.epsilon, "untrained": " ".join(policy.untrained)}
        judge(name, tally.cells[name].arrays(), tally.drift(name), advise.probabilities_of(policy),
              new_ads=tally.new.get(name, 0) / tally.rows, **columns)  # fmt: skip
    about = [f"Test log {test.name}: {tally.rows:,} rows, {float(count @ reward):,.0f} clicks, "
             f"in {len(test.files):,} files"]  # fmt: skip
    if train is not None:
        about.insert(0, f"Training log {paths['train']}: {len(train):,} rows, {train.reward.sum():,.0f} clicks; "
                        "today's policy is the one that logged it")  # fmt: skip
    upper = None if rows[0]["refused"] else _upper(today, rows[0]["bound"], generator(seed, "advice", "order", "today"))
    estimates = {row["policy"]: row["estimate"] for row in rows}
    choice = decisions.chosen(lowers, upper, level, estimates) if lowers else None
    learnt = {name: policy for name, policy in named.items() if not isinstance(policy, str)}
    if train is None and largests:
        largests = {Logging.kind: 1.0} | largests
    keys = {name: column(policy) for name, policy in named.items() if isinstance(policy, str)}
    means = {}
    for pair in combinations(largests, 2):
        random = generator(seed, "advice", "pairs")  # one order for all
        mean = tally.difference(tuple(keys.get(name, name) for name in pair), tuple(map(largests.get, pair)), random)
        if mean is None:
            more.append(f"{' and '.join(pair)} are not compared: their probabilities take too many values")
        else:
            means[pair] = mean
    pairs = decisions.pairs(list(largests), means, tally.rows, level)
    return advise.Evaluation(level, tuple(about), tuple(rows), tuple(notes + more), seed, learnt, tuple(pairs), choice)

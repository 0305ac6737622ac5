"""Compare policies with today's on a practitioner's own logs: which would have earned more clicks?

Policies are learnt from a training log and evaluated on a test log of other visits. Today's policy is the one that
logged the training log; its CTR is estimated from the rewards there. Which bound is reported depends on how the test
log was logged, never on the results: Clopper-Pearson's, which is then exact, if rewards are 0 or 1 and only one weight
above 0 is possible; else the betting bound, which holds for all weights and rewards. Where it is known whose visits
they are, this bound is by user (`clusters`). All numbers follow from what is kept of the rows (`tally`), so that they
do not depend on how these are parted.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, count
from numbers import Real
from shlex import quote

import numpy as np

from scant.ads import evaluation, intervals
from scant.ads.learners import Logging, Uniform
from scant.advice import arms, clusters, decisions, digests, encoding, health, learning, lifts, mixes, rewards, summing
from scant.advice.arms import AD, Always
from scant.advice.evaluated import Evaluation
from scant.advice.folder import ROWS
from scant.advice.leaks import new_texts, of_others
from scant.advice.learning import LEARNT
from scant.advice.log import Log
from scant.advice.policy import Policy
from scant.advice.progress import silent
from scant.advice.quotients import Quotient
from scant.advice.showings import WRONG
from scant.advice.summing import Training, column
from scant.advice.tally import ROUNDED, Summary, Tally
from scant.advice.verdicts import noticed, row_of, usable, verdict_of
from scant.data import logs
from scant.errors import DataError, SettingError, unknown
from scant.randomness import generator

ALWAYS = (Logging.kind, Uniform.kind)  # policies that are in every table
SHARED = ("refuse", "drop", "keep")  # what is done with rows of the test that are in the training log, too
COLUMN = "column:"  # before the NAME of a column policy:NAME, where it could be another policy's
CAREFUL = ("user", "leak")  # kinds of problems that leave no verdict, and are told first
OTHER_VISITS = "other-visits"  # likewise: the training log is of these
UNKNOWN = "unknown"  # a least propensity that nobody knows
BY_USER = "betting, by user"  # the bounds where visits of one user depend on each other
WITHHELD = frozenset((  # numbers of a row that mean nothing if propensities are wrong
    "estimate", "snips", "lower", "low", "high", "dr", "dr_lower", "dr_low", "dr_high", "lift", "lift_low", "lift_high",
    "needed_test", "needed_train",
))  # fmt: skip
LEAST = 1e-100  # that a propensity can be, as numbers of a study: the squares of weights are numbers then


def compare(
    policies: Iterable | Mapping, test: Log, train: Log | None = None, level: float = 0.95,
    declared: float | str | None = None, shared: str = "refuse", seed: int = 0, progress=silent,
    doubly_robust: bool = False, rows: int = ROWS, summarised=None,
) -> Evaluation:  # fmt: skip
    """Compare policies with today's.

    Parameters
    ----------
    policies : the policies, or a mapping of names to them: a `Policy`, which is fitted to `train` if it is not yet; a
        kind of learner (`LEARNT`), the same as `Policy(kind)`; NAME, or column:NAME, for the probabilities in the
        column `policy:NAME` of `test`; ad:ID for one ad for everyone, or each-ad for all such. "logging" (today's) is
        always compared, and "uniform" unless today's is that, or only ads are asked for
    test, train : logs; if both are halves of one, today's CTR is that of the test half
    level : the confidence of each lower bound, two-sided interval and verdict
    declared : the least propensity that the logging policy of `test` can give; needed if its propensities differ. If it
        is "unknown", bounds are `intervals.betting_without_range`
    shared : what is done with rows of `test` that are in `train`, too, if they are more than chance explains:
        "refuse" the logs, "drop" the rows from the test, or "keep" them
    seed : of the order of the rows for the betting bounds
    progress : called with a sentence on what is begun
    doubly_robust : whether to add doubly robust estimates of learnt policies: the columns dr, dr_lower (one-sided),
        dr_low and dr_high; see `rewards`. The test is then read into memory, too
    rows : of a batch
    summarised : called with the policies, None for any, and the `Training` log, gives the summary of the test; None to
        read its rows

    Returns
    -------
    evaluation : its rows have policy; lambda and epsilon (NaN for a policy without); level and bound; estimate (the
        importance-weighted CTR, 1 if it is above; like high NaN if the log lacks ads of the policy), snips, lower
        (one-sided), low and high (two-sided); lift, CTR / today's - 1, with lift_low and lift_high (two-sided, see
        `lifts`; NaN without a verdict); the fields of `evaluation.Diagnostics`; untrained (ids of ads, separated by
        blanks); new_ads (the share of the rows of `test` whose ad is not in `train`, which a learnt policy never
        shows); drift (the p-value of the test that the rate is constant over the log; NaN with too few clicks); verdict
        ("yes", "no", "cannot tell", "none" if the log tells nothing usable, or empty for today's policy); needed_test
        and needed_train (how many rows of each log would make the verdict clear if the estimates stayed the same; NaN
        if it is clear, or if that log need not grow); refused and warnings (kinds of `evaluation.Notice`, and why there
        is no verdict: "user", "leak", "other-visits")

    Raises
    ------
    DataError : logs that are the same, share rows, or have different features; probabilities that do not sum to 1
    SettingError : an unknown policy, one to be learnt although there is no `train`, or no least propensity where it is
        needed
    """
    if shared not in SHARED:
        raise unknown("way with shared rows", shared, SHARED)
    check_declared(declared)
    if train is not None and train.unit != test.unit:
        raise SettingError(f"the rewards of {train.name} and {test.name} are counted in other units: read both with "
                           "the same --reward-max and --reward-unit")  # fmt: skip
    if doubly_robust and "user" in test.source.optional:
        raise SettingError("--doubly-robust is for visits that are independent: leave it, or --user, out")
    read = summarised or partial(summing.summary, test, progress=progress, rows=rows)
    if not isinstance(policies, Mapping):
        policies = [policies] if isinstance(policies, str | Policy) else list(policies)
    if any(map(arms.is_each, policies.values() if isinstance(policies, Mapping) else policies)):
        policies = arms.with_each(policies, logs.ordered({*read(None, None).all().ads}))
    named = {name: asked(policy, test) for name, policy in named_ones(policies, test.policies).items()}
    unfitted = [name for name, policy in named.items() if isinstance(policy, Policy) and not policy.fitted]
    if unfitted and train is None:
        raise SettingError(f"{unfitted[0]} is learnt from a log: give one with --train, of other visits than the "
                           "test's, or part this one with --split")  # fmt: skip
    training = None if train is None else Training(train, test, progress, rows)
    columns = [policy for policy in named.values() if isinstance(policy, str)]
    case = partial(_Case, test, training, columns, level, declared, shared, seed)
    if unfitted:
        case(read(None, training))  # what is wrong with the logs is told before anything is learnt
        log = train.learnable.visits
        progress("encodes features")
        encoder = encoding.fit(log)
        encoded = encoder, encoder.transform(log, train.name)
        named |= {name: named[name].fitted_to(log, encoded, progress) for name in unfitted}
    judged = case(read(named, training))
    if unfitted and train.learnable is not train:
        drawn = f"{len(train.learnable):,} of {len(train):,} rows, drawn at random, which fit in memory"
        judged.notes.append(f"{train.name}: policies learn from {drawn}")
    progress("compares the policies")
    only_ads = bool(named) and all(isinstance(policy, Always) for policy in named.values())
    if not judged.today_is_uniform and not only_ads:
        judged.judge(Uniform.kind, Uniform.kind, (1 / judged.ads,))
    for name, policy in named.items():
        if isinstance(policy, str):
            judged.judge(name, column(policy), None)
            continue
        if isinstance(policy, Always):
            judged.judge_ad(name, policy)
            continue
        judged.judge(
            name, name, evaluation.declared_weights((1.0,), policy.epsilon, len(policy.actions)),
            new_ads=judged.tally.new.get(name, 0) / judged.tally.rows, untrained=" ".join(policy.untrained),
            **{"lambda": policy.regularisation, "epsilon": policy.epsilon},
        )  # fmt: skip
        if policy.untrained:
            reason = "had the same reward in all rows of training, such as no click: shown only if all ads are such"
            judged.notes.append(f"{name}: ads {', '.join(policy.untrained)} {reason}")
    learnt = {name: policy for name, policy in named.items() if isinstance(policy, Policy)}
    if doubly_robust:
        judged.doubly_robust(learnt, progress)
    pairs, choice = judged.decided()
    about = judged.about()
    if judged.wrong is not None:
        pairs, choice = [], None
        judged.withhold()
    mix = judged.mix() | {name: mixes.of_policy(judged.tally, name, policy) for name, policy in named.items()}
    told = judged.unit.converted
    return Evaluation(
        level, about, tuple(map(told, judged.rows)), tuple(judged.notes), seed, learnt, tuple(map(told, pairs)),
        choice and told(choice), mix, unit=judged.unit,
    )  # fmt: skip


def named_ones(policies: Iterable | Mapping, columns: Iterable[str] = ()) -> dict[str, object]:
    """Policies by name; of several with one name, the later ones are numbered. Those always compared are left out.

    columns : NAMEs of the columns `policy:NAME` of the test

    Raises
    ------
    SettingError : a policy that is there twice; a name of one that is always compared for another, or a name that is
        also that of a column, so that either could be meant
    """
    if isinstance(policies, Mapping):
        given = list(policies.items())
    else:
        given = [(None, policy) for policy in policies]
    named, seen = {}, []
    for name, policy in given:
        meant, clashes = policy, isinstance(policy, Policy) and str(name).startswith(logs.POLICY)  # so `parts` has them
        if isinstance(policy, str):
            check_meant(policy, columns)
            if policy in ALWAYS and name in (None, policy):
                continue
            meant = policy if policy in LEARNT else COLUMN + policy.removeprefix(COLUMN)
            clashes = policy in ALWAYS
        if any(meant is other or (isinstance(meant, str) and meant == other) for other in seen):
            raise SettingError(f"{policy} is given twice: give each policy once")
        if name is None:
            base = policy.name if isinstance(policy, Policy) else str(policy)
            numbered = chain([base], (f"{base} {number}" for number in count(2)))
            name = next(name for name in numbered if name not in {*ALWAYS, *named})
        if clashes or not isinstance(name, str) or name in ("", *ALWAYS):
            raise SettingError(f"a policy cannot be called {name!r} here: {' and '.join(ALWAYS)} are always compared, "
                               f"by these names, and {logs.POLICY} is of columns")  # fmt: skip
        seen.append(meant)
        named[name] = policy
    return named


def check_meant(policy: str, columns: Iterable[str]) -> None:
    """Raise a SettingError for a name of this program's that a column has, too, so that either could be meant.

    columns : NAMEs of the columns `policy:NAME` of the test
    """
    if policy in {*ALWAYS, *LEARNT} & {*columns}:
        raise SettingError(f"{policy} is a policy of this program, and policy:{policy} a column of the test: say "
                           f"column:{policy}, or leave the column out with --ignore "
                           + quote(f"policy:{policy}"))  # fmt: skip


def asked(policy, test: Log) -> Policy | Always | str:
    """What a policy asked for stands for: a `Policy`, an ad for everyone, or the NAME of a column `policy:NAME`."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise SettingError(f"{policy!r} is no policy: give a Policy, the kind of a learner, or the name of a column")
    if policy in LEARNT:
        return Policy(policy)
    if policy.startswith(AD) and policy not in test.policies:
        return Always(policy.removeprefix(AD))
    column = policy.removeprefix(COLUMN)
    if column not in test.policies:
        raise unknown("policy", column, (*LEARNT, arms.EACH, *(f"{COLUMN}{name}" for name in test.policies)))
    return column


class _Case:
    """The rows of an evaluation, as they are made, today's first, and the notes on them.

    test, training : the logs; None without a training log
    columns : NAMEs of columns `policy:NAME`, whose probabilities are to sum to 1
    summary : of the test
    declared, shared, seed : see `compare`

    Raises
    ------
    DataError, SettingError : something must be mended before there are numbers
    """

    def __init__(
        self, test: Log, training: Training | None, columns, level: float, declared, shared: str, seed: int,
        summary: Summary,
    ):  # fmt: skip
        test.refuse(summary.problems.values())
        self.test, self.training, self.level, self.seed, self.shared = test, training, level, seed, shared
        self.tally, self.rows, self.notes, self.lowers, self.largest = summary.all(), [], [], {}, {}
        self.lifts, self.missed, self.samples = {}, {}, {}
        if self.tally.rows < 2:
            raise DataError(test.name, "the log has one row, of which nothing can be said")
        reward = self.tally.cells[""].second
        self.unit = replace(test.unit, binary=bool(((reward == 0) | (reward == 1)).all()))
        self.same_log, self.keys = summing.logged_by_today(test, training), {}
        self.least, self.constant = _least(test.name, self.tally, declared, summary.showings.shares())
        self._note(test.name, [problem for problem in test.problems if problem.kind in ("left-out", *CAREFUL)])
        self.careful = [f"Careful: {problem.reason}" for problem in test.problems if problem.kind in CAREFUL]
        self.doubts = {problem.kind for problem in test.problems if problem.kind in CAREFUL}
        found = list(health.propensities(summary, columns, self.least))
        self.wrong = next((problem for problem in found if problem.kind == WRONG), None)
        self._note(test.name, [problem for problem in found if problem is not self.wrong])
        self._note(test.name, health.equal_rows(summary))
        if training is not None:
            self._beside_training(summary)
        self.ads = len(self.tally.ads)
        of_logs = {test.name: self.tally} | ({} if training is None else {training.name: training.tally})
        for name, tally in of_logs.items():
            self._note(name, tally.late())
        lacking = [name for name, tally in of_logs.items() if not tally.mean("")]
        self.undecided = [f"all rewards of {name} are 0: rewards look missing" for name in lacking]
        self.of_today = self.tally if self.same_log else training.tally
        self.users, self.of_users = _by_user(self.tally, seed), {}
        self.users_of_today = self.users if self.same_log else _by_user(self.of_today, seed)
        propensity, reward, count = self.of_today.cells[""].arrays()
        self.today_is_uniform = bool(np.ptp(propensity) == 0) and math.isclose(
            propensity[0] * self.ads, 1, rel_tol=1e-3
        )
        self.today = self._row(Logging.kind, (np.ones_like(propensity), reward, count), 1.0, (1.0,), self.of_today, "",
                               self.users_of_today and self.users_of_today.rate("", 1.0))  # fmt: skip

    def _note(self, name: str, problems: Iterable) -> None:
        """Note problems of a log; raises the first error."""
        for problem in problems:
            if problem.severity == "error":
                raise DataError(name, problem.reason, advice=problem.mend)
            self.notes.append(f"{name}: {problem.reason}. {problem.mend}")

    def _beside_training(self, summary: Summary) -> None:
        """Note what the training log has to do with the test, and leave rows of both out of the test, if asked to."""
        training, whole, test, train = self.training, self.tally, self.test.name, self.training.name
        self._note(train, health.equal_rows(training.summary))
        self.notes += [f"{train}: {problem.reason}. Today's rate needs none, but learning may suffer"
                       for problem in health.propensities(training.summary, ()) if problem.kind == WRONG]  # fmt: skip
        if new := [ad for ad in logs.ordered({*whole.ads} - {*training.tally.ads}) if whole.ads[ad][0].any()]:
            share = sum(int(whole.ads[ad][0].sum()) for ad in new) / whole.rows
            self.notes.append(
                f"{test}: {100 * share:.3g} % of rows show ads that the training log lacks ({logs.listing(new)}): "
                "learnt policies never show them, so that these rows have weight 0"
            )
        new = new_texts(summary.features, training.summary.features, whole.rows)
        self.notes += [f"{test}: {sentence}" for sentence in new]
        if lacking := logs.ordered({*training.tally.ads} - {*whole.ads}):
            whole.ads |= {ad: np.zeros((3, 1), np.int64) for ad in lacking}
            self.notes.append(
                f"{test}: it never shows {len(lacking):,} of the {len(whole.ads):,} ads ({logs.listing(lacking)}), so "
                "that nothing is known of what these would earn: policies that show them cannot be judged"
            )
        whole_log = summary.shared.rows == whole.rows == training.tally.rows and training.shares(whole.rows, whole.rows)
        if whole_log or summary.digests.mark() == training.mark:
            reason = f"the same log as {train}, from which policies are learnt: it flatters them"
            raise DataError(test, reason, advice="Evaluate on other visits; --split 0.5 parts one log")
        if summary.shared.rows:
            self._leave_out(summary, f"{summary.shared.rows:,} of {whole.rows:,} rows are in {train}, too")
        known, users = (tally.users.settle().key for tally in (training.tally, self.tally))
        if both := np.isin(users, known).sum():
            self.notes.append(f"{test}: {100 * both / len(users):.3g} % of its users are in {train}, too: rates are of "
                              "users from whom policies have learnt")  # fmt: skip
        comparable = not self.same_log and whole.mean("") and training.tally.mean("")
        if others := of_others(whole, training.tally) if comparable else ():
            self.doubts.add(OTHER_VISITS)
            self.careful.append(f"Careful: today's {self.unit.mean} is of other visits, or times, than the test's")
            here, there = (self.unit.rate(*(end * self.unit.largest for end in ends)) for ends in others)
            self.notes.append(
                f"{test}: showing all ads alike earns {here} here, but {there} by {train}: visits, or times, differ, "
                f"and today's {self.unit.mean} is that of the training log. Policies may look better, or worse, only "
                "because of this; --split compares on the same visits"
            )
        periods = summary.period, training.summary.period
        if not self.same_log and None not in periods:
            (begins, ends), (first, last) = periods
            if last < begins or ends < first:
                days = [np.datetime_as_string(time, "D") for time in (first, last, begins, ends)]
                self.notes.append(f"the training log is of {days[0]} to {days[1]}, the test log of {days[2]} to "
                                  f"{days[3]}: today's {self.unit.mean} is of another time")  # fmt: skip

    def _leave_out(self, summary: Summary, count: str) -> None:
        """Leave rows of both logs out of the test, keep or refuse them; `count` says how many there are."""
        test, chance = self.test.name, self.training.chance * self.tally.rows
        if not self.training.shares(summary.shared.rows, self.tally.rows):
            self.notes.append(f"{test}: {count}, about as many as chance makes ({chance:,.0f}): they are kept")
        elif self.shared == "refuse":
            advice = "--shared drop leaves them out of the test; --shared keep is for rows of different visits"
            reason = f"{count} (by chance: about {chance:,.0f}): what was learnt from them is judged too well"
            raise DataError(test, reason, advice=advice)
        elif self.shared == "keep":
            self.notes.append(f"{test}: {count}: if these are the same visits, what was learnt is judged too well")
        elif summary.alone.rows < 2:
            raise DataError(test, f"{count}: nothing is left to evaluate on")
        else:
            self.notes.append(f"{test}: {count}, and are left out of the test")
            summary.alone.ads = {ad: summary.alone.ads.get(ad, 0 * sums) for ad, sums in self.tally.ads.items()}
            self.tally = summary.alone

    def judge(
        self, name: str, key: str, possible: tuple[float, ...] | None, sample: tuple | None = None, **learnt_columns
    ) -> None:
        """Evaluate a policy.

        key : what the tally calls it
        possible : its probabilities that are possible, if they are few; None for any up to 1
        sample : the cells of rows by which alone its CTR is told, all of weight 1; see `arms.own_rows`
        """
        cells = self.tally.of_uniform() if key == Uniform.kind else self.tally.cells[key].arrays()
        if self.least is None:
            largest, weights = max(float(cells[0].max()), 1.0), None
        else:
            weights = tuple(share / self.least for share in possible or (1.0,))
            largest = max(weights)
        few = self.constant and possible is not None and weights and len(weights) == 1 and not self.users
        self.keys[name] = key
        if sample is None:
            of_users = self._rate_by_user(key, largest)
            weights = weights if few else None
            terms = self._row(name, cells, largest, weights, self.tally, key, of_users, **learnt_columns)
        else:
            largest = float(cells[0].max())
            of_users = self.users and self.users.of_shown(key, largest)
            terms = self._row(name, sample, 1.0, (1.0,), self.tally, key, of_users, **learnt_columns)
        row, today = self.rows[-1], self.rows[0]
        doubts = self.doubts - ({"leak"} if "lambda" not in learnt_columns else set())  # of learnt policies alone
        if self.undecided or doubts or not usable(row, today):
            row |= {"verdict": "none", "warnings": " ".join([*row["warnings"].split(), *sorted(doubts)])}
            return
        bounds = self._bounds(row, terms)
        if sample is not None and of_users:
            self.samples[name] = of_users
        if sample is not None and row["bound"] == "clopper-pearson":
            self.samples[name] = int(row["clicks"]), int(row["rows"])
        self.largest[name], self.lowers[name] = largest, bounds.lower
        if self.same_log and self.least is not None and self.users:
            self.lifts[name] = self.users.lift(key, largest)
        elif self.same_log and self.least is not None:
            random = generator(self.seed, "advice", "lift", name)
            rounded = self.tally.cells["" if key == Uniform.kind else key].rounded
            weight = np.minimum(cells[0], largest)
            single = row["bound"] == "clopper-pearson"
            self.lifts[name] = lifts.ratio(weight, *cells[1:], largest, random, rounded, single)
        else:
            self.lifts[name] = lifts.quotient(bounds, self._bounds(today, self.today))
        row |= lifts.lift(row["estimate"], today["estimate"], self.lifts[name], self.level)
        row |= verdict_of(row, today, self.same_log)

    def judge_ad(self, name: str, policy: Always) -> None:
        """Evaluate the policy that shows one ad to everyone, by the rows that show it if these are a random sample."""
        arms.check_shown(policy, [ad for ad, sums in self.tally.ads.items() if sums[0].any()])
        cells = self.tally.cells[name]
        weight, _, count = cells.arrays()
        shown, sample = weight > 0, None
        if np.ptp(weight[shown]) == 0 and not cells.rounded:
            as_many = self.users.may_be_one(name) if self.users else arms.as_many(weight, count)
            sample = arms.own_rows(*cells.arrays()) if as_many else None
            if not as_many:
                rows = f"{count[shown].sum():,} of {count.sum():,} rows"
                self.notes.append(
                    f"{name}: it is in {rows}, by its propensity in about {count.sum() / weight.max():,.0f}: its "
                    "visits are no random sample (sample ratio mismatch). Look at how ads are assigned and logged"
                )
        self.judge(name, name, (1.0,), sample)

    def _bounds(self, row: Mapping, terms) -> lifts.Bounds:
        """The bounds of the CTR of a row, from its terms, or from those of users."""
        if row["policy"] in self.of_users:
            return self.of_users[row["policy"]]
        return lifts.of_rate(terms, row["bound"] == "clopper-pearson", self.missed.get(row["policy"]))

    def _rate_by_user(self, key: str, largest: float) -> lifts.Bounds | Quotient | None:
        """The bounds of a policy's CTR for which only users are independent; None if visits are."""
        if self.users is None:
            return None
        if self.least is not None or key == Logging.kind:
            return self.users.rate(key, largest)
        lower, missed = self.users.rate(key, np.inf).lower, self.users.missed(key).lower
        return lifts.Bounds(lower, lambda level: 1 - missed(level))

    def _row(
        self, name: str, cells, largest: float, weights, tally: Tally, key: str, of_users=None, **learnt_columns
    ):  # fmt: skip
        """Add the row of a policy without its verdict, and the notes on it; returns its terms, in random order.

        weights : those possible, if they are few and known, so that Clopper-Pearson's bound can be given
        tally, key : of the rows, and what it calls the policy
        of_users : the bounds by user, where they are known
        """
        weight, reward, count = cells
        rounded = tally.cells["" if key == Uniform.kind else key].rounded
        if self.least is not None and float(weight.max()) > largest * (1 + (2 * ROUNDED if rounded else 1e-9)):
            raise SettingError(
                f"a weight is {weight.max():g}, above the largest one declared, {largest:g}. "
                "Declare it from the policy and the logging propensities, or correct these"
            )
        weight, random = np.minimum(weight, largest), generator(self.seed, "advice", "order", name)
        weights = weights if ((reward == 0) | (reward == 1)).all() else None
        terms = intervals.drawn(weight * reward, count, largest, random, weights)
        found, drift = evaluation.evaluate_cells(weight, reward, count, terms, self.level), tally.drift(key)
        if of_users and key and self.users.may_be_one(key):
            found = replace(found, warnings=tuple(notice for notice in found.warnings if notice.kind != "mean-weight"))
        row = row_of(name, found, self.level, drift=drift.p, **learnt_columns)
        above = tally.mean(key) if rounded else float(count @ (weight * reward)) / int(count.sum())
        if not found.refused:
            row["estimate"] = min(above, 1.0) if row["estimate"] == row["estimate"] else row["estimate"]
            if self.least is None and name != Logging.kind and not of_users:
                row |= self._without_range(name, terms, weight * (1 - reward), count)
        if of_users and not found.refused:
            self.of_users[name], one_sided = of_users, (1 + self.level) / 2
            row |= {"bound": BY_USER, "lower": of_users.lower(self.level), "low": of_users.lower(one_sided),
                    "high": min(of_users.upper(one_sided), 1.0)}  # fmt: skip
        if self.wrong is None and not self.undecided:
            self.notes += noticed(name, found, self.unit.events)
        if row["mean_weight"] < 1 and "mean-weight" in row["warnings"]:  # what ads earn that the log lacks is not known
            row |= {"estimate": np.nan, "high": np.nan}
        if not found.refused and above > 1:
            self.notes.append(
                f"{name}: its importance-weighted {self.unit.mean} is {100 * above:.4g} % of the largest possible: "
                f"shown as {'100 %' if self.unit.percent else self.unit.rate(self.unit.largest)}"
            )
        if row["low"] > row["high"]:
            self.notes.append(f"{name}: its bounds leave no {self.unit.mean} that is possible: propensities are wrong")
            row |= {"refused": "impossible", "estimate": np.nan, "lower": np.nan, "low": np.nan, "high": np.nan}
        if drift.found and not found.refused:
            self.notes.append(
                f"{name}: its rate drifts, {drift}: the {self.unit.mean} is the average over the log's period"
            )
        self.rows.append(row)
        return terms

    def _without_range(self, name: str, terms, missed, count) -> dict:
        """The bounds of a policy whose largest weight is not known.

        missed : float64 (cells), w (1 - r)
        """
        missed = intervals.drawn(missed, count, max(float(missed.max()), 1.0),
                                 generator(self.seed, "advice", "order", f"{name}, missed"))  # fmt: skip
        self.missed[name] = missed
        one_sided = (1 + self.level) / 2
        lower, low = (float(intervals.betting_without_range(terms, level)) for level in (self.level, one_sided))
        high = 1 - float(intervals.betting_without_range(missed, one_sided))
        return {"bound": "betting, no range", "lower": lower, "low": low, "high": high, "declared_weight": np.inf}

    def doubly_robust(self, learnt: Mapping[str, Policy], progress) -> None:
        """Add the doubly robust estimates of learnt policies; see `rewards.doubly_robust`."""
        asked = {name: policy for name, policy in learnt.items() if name in self.lowers and self.least is not None}
        if not asked:
            return
        log = self.test.visits
        if self.training is not None and self.tally.rows < len(log):
            log = log.take(~self.training.has(log, digests.of(log), self.test.name))
        for row in (row for row in self.rows if row["policy"] in asked):
            name, policy = row["policy"], asked[row["policy"]]
            progress(f"{name}: learns rewards for the doubly robust estimate")
            encoder, action = policy.learnt.encoder, policy.numbered(log)
            features = encoder.transform(logs.align_features(log, encoder.names, self.test.name)).features
            choice = policy.learnt.fitted.choice(features, policy.epsilon)
            weight, largest = learning.probability(choice, action) / log.propensity, self.largest[name]
            random = generator(self.seed, "advice", "doubly robust", name)
            terms = rewards.doubly_robust(features, action, log.reward, weight, choice, random.permutation(len(log)))
            gridded = decisions.gridded(terms, -largest, largest + 1, random)
            mean = decisions.Mean(float(terms.mean()), gridded, -largest)
            low, high = mean.interval(self.level)
            row |= {"dr": mean.estimate, "dr_lower": max(mean.lower(self.level), 0.0),
                    "dr_low": max(low, 0.0), "dr_high": min(high, 1.0)}  # fmt: skip

    def decided(self) -> tuple[list[dict], dict | None]:
        """Which is better of each pair of policies, and which to choose; see `decisions`."""
        largest, keys, means = dict(self.largest), self.keys | {Logging.kind: Logging.kind}, {}
        if self.same_log and largest:
            largest = {Logging.kind: 1.0} | largest
        for pair in combinations(largest, 2) if self.least is not None else ():
            if {*pair} <= self.samples.keys():
                first, second = (self.samples[name] for name in pair)
                means[pair] = (clusters.Difference(first, second) if self.users else
                               arms.Difference(*zip(first, second, strict=True)))  # fmt: skip
                continue
            if self.users:
                means[pair] = self.users.difference(tuple(map(keys.get, pair)), tuple(map(largest.get, pair)))
                continue
            random = generator(self.seed, "advice", "pairs")  # one order for all
            mean = self.tally.difference(tuple(map(keys.get, pair)), tuple(map(largest.get, pair)), random)
            if mean is None:
                self.notes.append(f"{' and '.join(pair)} are not compared: their probabilities take too many values")
            else:
                means[pair] = mean
        pairs = decisions.pairs(list(largest), means, self.tally.rows, self.level)
        lowers = {name: lower for name, lower in self.lowers.items() if name != Uniform.kind}  # nobody asked for it
        if not lowers:
            return pairs, None
        estimates = {row["policy"]: row["estimate"] for row in self.rows}
        upper = None if self.rows[0]["refused"] else self._bounds(self.rows[0], self.today).upper
        choice = decisions.chosen(lowers, upper, self.level, estimates)
        return pairs, choice | self._lift_of_choice(choice)

    def _lift_of_choice(self, choice: Mapping) -> dict:
        """The lift of the policy chosen; a lower bound of it that holds however the policy was chosen; whether that is
        above 0.
        """
        if self.rows[0]["refused"]:
            return {"lift": np.nan, "lift_lower": np.nan}
        row = next(row for row in self.rows if row["policy"] == choice["policy"])
        if not self.same_log or self.least is None:  # its bound and today's hold together already
            lower = choice["lower"] / choice["today"] - 1
        else:
            lower = self.lifts[row["policy"]].lower(1 - (1 - self.level) / choice["of"]) - 1
        return {"lift": row["lift"], "lift_lower": lower, "better": lower > 0}

    def withhold(self) -> None:
        """Take all numbers out of the rows, since propensities are wrong."""
        self.notes.insert(0, f"{self.test.name}: {self.wrong.mend}")
        for row in self.rows:
            row |= dict.fromkeys(WITHHELD & row.keys(), np.nan) | {"refused": WRONG}
            row["verdict"] = row["verdict"] and "none"

    def mix(self) -> dict[str, dict[str, float]]:
        """The mix of ads of the policies that are always compared."""
        ads = logs.ordered({*self.tally.ads})
        found = {Logging.kind: mixes.of_log(self.of_today)}
        return found if self.today_is_uniform else found | {Uniform.kind: dict.fromkeys(ads, 1 / len(ads))}

    def about(self) -> tuple[str, ...]:
        """Sentences that describe the logs, after those by which all answers may be wrong."""

        def sentence(role, log, tally, is_today):
            ending = "; today's policy is the one that logged it" if is_today else ""
            ending += f", uniform: all {self.ads} ads alike" if is_today and self.today_is_uniform else ""
            counts = tally.users.counts()
            of_users = " of {:,} users, who made up to {:,} visits each".format(*counts) if counts else ""
            of_files = f", in {log.form}" if log.in_folder else ""
            total = self.unit.total(tally.mean("") * tally.rows)
            return f"{role} {log.name}: {tally.rows:,} rows{of_users}, {total}{of_files}{ending}"

        reasons = [self.wrong.reason] if self.wrong is not None else self.undecided
        first = [*(f"No verdict: {reason}" for reason in reasons), *self.careful]
        of_test = sentence("Test log", self.test, self.tally, self.same_log)
        if self.training is None:
            return *first, of_test
        of_training = sentence("Training log", self.training.log, self.training.tally, not self.same_log)
        return *first, of_training, of_test


def _by_user(tally: Tally, seed: int) -> clusters.ByUser | None:
    """The sums by user, in random order; None where users are not known."""
    known = "" in tally.users.settle().sums
    return clusters.ByUser(tally.users, len(tally.ads), generator(seed, "advice", "users")) if known else None


def check_declared(declared: float | str | None) -> None:
    """Raise a SettingError for a least propensity that is none."""
    if declared not in (None, UNKNOWN) and not (isinstance(declared, Real) and LEAST <= declared <= 1):
        raise SettingError(
            f"--least-propensity is {declared}; a propensity is above 0 and at most 1, here from {LEAST:g}"
        )


def _least(name: str, tally: Tally, declared: float | str | None, shares) -> tuple[float | None, bool]:
    """The least propensity possible, None if it is "unknown", and whether it is the only one.

    shares : the propensity of each ad, if that is the same in all rows; see `Showings.shares`
    """
    propensity, rounded = tally.cells[""].first, tally.cells[""].rounded
    if declared == UNKNOWN:
        return None, False
    constant, smallest = propensity[0] == propensity[-1], float(propensity[0])
    if declared is None and not constant and not shares:
        raise SettingError(
            f"{name}: propensities differ, so that --least-propensity is needed: the least probability with which the "
            "policy that logged it shows any ad to anyone, by its design. The least in the log will not do: an ad's "
            "rarest showings are those that a log is likely to lack, and bounds made without them are too good. "
            "--least-propensity unknown makes do with wider bounds that need none"
        )
    least = smallest if declared is None else declared
    if smallest < least * (1 - (ROUNDED if rounded else 1e-9)):
        raise SettingError(f"--least-propensity is {least}, but {name} has {smallest:g}")
    return least, bool(constant) and math.isclose(least, smallest)

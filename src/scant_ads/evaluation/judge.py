"""Policies judged on a log: the row of each, its lift over today's, each pair of policies, and
which one to choose.

Which bound is taken follows from how the test log was logged, never from the results. If rewards
are 0 or 1 and only one weight above 0 is possible, it is Clopper-Pearson's, which is then exact.
Else it is the betting bound, which holds for all weights and rewards. Where it is known whose
visits they are, this bound is by user (`clusters`). All numbers follow from what is kept of the
rows (`tally`), so they do not depend on how rows are divided into files. The order of rows in which
betting takes them is drawn from the seed alone, for all policies alike: the same weights and
rewards get the same bounds, whatever the policy is called.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from scant.bandits import evaluation, intervals
from scant.bandits.learners import Logging, Uniform
from scant.data import logs
from scant.errors import SettingError, unknown
from scant.randomness import generator
from scant_ads import text
from scant_ads.diagnosis import health
from scant_ads.evaluation import (
    arms,
    candidates,
    clusters,
    lifts,
    lists,
    mixes,
    pairs,
    periods,
    quotients,
)
from scant_ads.evaluation.arms import Always
from scant_ads.evaluation.basis import Basis
from scant_ads.evaluation.periods import Course
from scant_ads.evaluation.quotients import Quotient
from scant_ads.evaluation.result import Evaluation
from scant_ads.policies.policy import Policy
from scant_ads.reading.tally import ROUNDED, Both, Tally
from scant_ads.reading.visits import Column
from scant_ads.severity import HINDSIGHT, LEAK, LISTS, MATTERS, SORTED
from scant_ads.unit import MEANS

BY = "betting, by "  # user, or list: the bounds where rows of one depend on each other
WITHHELD = frozenset(  # numbers of a row that mean nothing if its weights are wrong
    (*MEANS, "lift", "lift_low", "lift_high", "needed_test", "needed_train", "needed_users")
)


# texts that differ from those of `scant.bandits.evaluation`, since bounds here are exact
WARNINGS = {
    "few-clicks": "few {}: the bounds hold, but are wide",
    "no-clicks": "no {} on ads that it shows: only the upper end says something",
}


@dataclass(frozen=True)
class Judged:
    """A policy with a verdict, besides its row.

    key : its name in the tally
    largest : the largest weight possible
    bounds : on its CTR
    sample : clicks and rows of a policy that shows one ad, whose CTR that ad's rows estimate
    course : of its rate over the log
    """

    key: str
    largest: float
    bounds: lifts.Bounds | Quotient
    sample: tuple[int, int] | None = None
    course: Course | None = None


class Judge:
    """Makes the rows of an evaluation, today's first, and the notes on them.

    basis : the logs, and the doubts about them
    tally : of the rows of the test; see `Basis.tally_of`
    level, seed : see `compare.evaluate`
    together : how many policies are compared, whose lifts' intervals hold together
    baseline : the name of the policy with which others are compared; it is judged before them

    Attributes
    ----------
    alike : how many ads today's policy shows, if with equal probability; else None
    """

    def __init__(
        self,
        basis: Basis,
        tally: Tally,
        level: float,
        seed: int,
        together: int = 1,
        baseline: str = Logging.kind,
    ):
        self.basis, self.tally, self.level, self.seed = basis, tally, level, seed
        self.joint = 1 - (1 - level) / max(together, 1)
        self.unit = basis.unit
        self.least_propensity = basis.least_propensity
        self.same_log = basis.same_log
        self.rows, self.notes, self.ads = [], list(basis.notes), len(tally.ads)
        self.judged: dict[str, Judged] = {}
        self.of_today = basis.today(tally)
        self.places = basis.places
        self.users = self._by_user(tally)
        users = self.users if self.same_log else self._by_user(self.of_today)
        propensity, reward, count = self.of_today.cells[""].arrays()
        self.alike = (
            None if self.places else health.uniform_ads(replace(self.of_today, ads=tally.ads))
        )
        self.today_is_uniform = self.alike is not None
        cells = np.ones_like(propensity), reward, count
        self.today = self._row(Logging.kind, "", cells, 1.0, (1.0,), users and users.rate("", 1.0))
        self.baseline = (
            Logging.kind if self.today_is_uniform and baseline == Uniform.kind else baseline
        )

    @property
    def against(self) -> dict:
        """The row of the policy with which others are compared."""
        return next(row for row in self.rows if row["policy"] == self.baseline)

    @property
    def over_today(self) -> bool:
        """Whether policies are compared with today's policy."""
        return self.baseline == Logging.kind

    def judge_all(self, named: Mapping[str, Policy | Always | Column]) -> None:
        """Evaluate policies by name; and the uniform policy, unless it is today's, or only ads are
        asked for.
        """
        if not (self.today_is_uniform or self.places) and (
            not candidates.only_ads(named) or self.baseline == Uniform.kind
        ):
            possible = None if self.tally.eligible else (1 / self.ads,)
            self.judge(Uniform.kind, Uniform.kind, possible)
        for name, policy in named.items():
            if isinstance(policy, Column):
                self.judge(name, policy.key, None)
            elif isinstance(policy, Always):
                self.judge_ad(name, policy)
            else:
                self.judge_learnt(name, policy)

    def judge(
        self,
        name: str,
        key: str,
        possible: tuple[float, ...] | None,
        sample: tuple | None = None,
        ad: str | None = None,
        **learnt_columns,
    ) -> None:
        """Evaluate a policy: adds its row to `rows`, and to `judged` if it can be judged.

        key : its name in the tally
        possible : the probabilities above 0 that the policy can give an ad, if they are few; None
            if any up to 1 is possible, or if the log has to tell whether all are 0 or 1
        sample : the tally cells of the rows that show the policy's only ad, all of weight 1, if
            these rows alone tell its CTR; see `arms.own_rows`
        ad : the policy's only ad, if it has one
        """
        cells = self.tally.table(key)
        possible = possible or self._certain(cells[0])
        largest = float(cells[0].max())
        if sample is not None:
            of_users = self.users and self.users.of_shown(key, largest)
            bounds = self._row(name, key, sample, 1.0, (1.0,), of_users, **learnt_columns)
        else:
            weights = None  # that are possible, if there is a single one above 0
            if self.least_propensity is None:
                largest = max(largest, 1.0)
            else:
                largest = max(possible or (1.0,)) / self.least_propensity
                if self.basis.constant and len(possible or ()) == 1 and not self.users:
                    weights = (largest,)
            of_users = self._rate_by_user(key, largest)
            bounds = self._row(name, key, cells, largest, weights, of_users, **learnt_columns)
        row, today = self.rows[-1], self.against
        doubts = set(self.basis.doubts)
        if "lambda" not in learnt_columns:  # of learnt policies alone
            doubts -= {LEAK}
        if key.removeprefix(logs.POLICY) in self.basis.hindsight and key != name:
            doubts |= {HINDSIGHT}
        if self.basis.undecided or doubts or not _usable(row, today):
            row["verdict"] = "" if row is today else "none"
            row["warnings"] = " ".join([*row["warnings"].split(), *sorted(doubts)])
            if doubts & {LISTS, MATTERS}:
                row |= _withheld(row)
            return
        if sample is not None:
            sample = (int(row["clicks"]), int(row["rows"])) if _is_exact(row) else None
        course = Course.of(self.tally, key, ad)
        self.judged[name] = judged = Judged(key, largest, bounds, sample, course)
        if row is today:
            return
        row |= self._lifts_of_periods(name, course)
        lift = self._lift(judged) if self.unit.relative else self._gain(judged)
        row |= lifts.lift(row["estimate"], today["estimate"], lift, self.joint, self.unit.relative)
        row |= lifts.verdict(row, lift, self.joint, self.tally.rows)
        if row["verdict"] == "cannot tell" and self.users:
            row |= {"needed_users": row["needed_test"] / self.tally.rows * len(self.users)}
        if row["verdict"] == "cannot tell" and self.over_today and not self.same_log:
            row |= {"needed_train": row["needed_test"] / self.tally.rows * self.of_today.rows}

    def _lifts_of_periods(self, name: str, course: Course | None) -> dict[str, float]:
        """The lifts in parts of the log, see `periods.lifts`; adds a note if they fall."""
        base = Course.of(self.tally, "") if self.over_today else self.judged[self.baseline].course
        if (
            self.basis.in_no_order
            or None in (course, base)
            or (self.over_today and not self.same_log)
        ):
            return periods.UNKNOWN
        _, design = self.tally.of_rewards()
        columns = periods.lifts(course, base, self.baseline, self.unit.relative, design)
        if columns["lift_fall"] < health.DRIFTS:
            lifts_then = text.of_periods(self.unit.converted(columns), self.unit)
            self.notes.append(
                f"{name}: {lifts_then}: it may only have been new. Judge it by later visits, too"
            )
        return columns

    def _certain(self, weight: np.ndarray) -> tuple[float, ...] | None:
        """(1,) if a policy's probabilities are 0 or 1 in all rows of a log with one propensity;
        else None.
        """
        certain = self.basis.constant and np.isin(weight, (0.0, 1 / self.least_propensity)).all()
        return (1.0,) if certain else None

    def judge_ad(self, name: str, policy: Always) -> None:
        """Evaluate the policy that shows one ad to everyone, by the rows that show it if these are
        a random sample.
        """
        shown = [ad for ad, sums in self.tally.ads.items() if sums[0].any()]
        if policy.ad not in shown:
            raise unknown("ad", policy.ad, shown)
        cells, not_eligible = self.tally.cells[name], 0
        if self.tally.eligible:
            not_eligible = self.tally.rows - self.tally.eligible[policy.ad]
        weight, _, count = cells.arrays()
        matches, sample = weight > 0, None
        if np.ptp(weight[matches]) == 0 and not cells.rounded:
            as_many = self.users.may_be_one(name) if self.users else arms.as_many(weight, count)
            sample = arms.own_rows(*cells.arrays()) if as_many and not not_eligible else None
            if not (as_many or not_eligible) and self.basis.wrong is None:
                rows = f"{count[matches].sum():,} of {count.sum():,} rows"
                self.notes.append(
                    f"{name}: it is in {rows}, by its propensity in about "
                    f"{count.sum() / weight.max():,.0f}: its visits are no random sample (sample "
                    "ratio mismatch). Look at how ads are assigned and logged"
                )
        if not_eligible:
            visits = f"{not_eligible:,} of {self.tally.rows:,} visits"
            self.notes.append(
                f"{name}: this ad is not eligible in {visits}: there it stands for "
                "what the policy that logged them shows"
            )
        self.judge(
            name, name, None if not_eligible else (1.0,), sample, policy.ad if sample else None
        )

    def judge_learnt(self, name: str, policy: Policy) -> None:
        """Evaluate a learnt policy."""
        possible = evaluation.declared_weights((1.0,), policy.epsilon, len(policy.actions))
        # exploration gives each ad more where fewer are eligible
        if policy.epsilon and self.tally.eligible:
            possible = None
        self.judge(
            name,
            name,
            possible,
            new_ads=self.tally.new.get(name, 0) / self.tally.rows,
            untrained=" ".join(policy.untrained),
            **{"lambda": policy.regularisation, "epsilon": policy.epsilon},
        )
        self.notes += [f"{name}: {remark}" for remark in policy.remarks]
        if len(best := self.tally.mix[name]) == 1:
            self.notes.append(f"{name}: it shows ad {next(iter(best))!r} to every visit")

    def _by_user(self, tally: Tally) -> clusters.ByUser | None:
        """The sums by user, in random order; None where users are not known."""
        if "" not in tally.users.settle().sums:
            return None
        random = generator(self.seed, "advice", "users")
        if self.places:
            return lists.ByList(tally.users, self.places, random)
        return clusters.ByUser(tally.users, tally.uniform_divisor, random)

    def _rate_by_user(self, key: str, largest: float) -> lifts.Bounds | Quotient | None:
        """The bounds of a policy's CTR by user; None if all visits are independent."""
        if self.users is None:
            return None
        if self.least_propensity is not None or self.places:
            return self.users.rate(key, largest)
        # Where weights have no largest value, only lower bounds hold. Since weights are 1 on
        # average, 1 less the lower bound of what clicks lack is an upper bound.
        return lifts.without_range(self.users.rate(key, np.inf), self.users.missed(key))

    @property
    def _at_once(self) -> bool:
        """Whether the test tells both rates: a policy's, and that of the policy it is compared
        with.
        """
        weights_are_known = self.least_propensity is not None or self.places
        return bool(weights_are_known and (self.same_log or not self.over_today))

    def _base(self) -> Judged:
        """The policy with which others are compared."""
        return Judged("", 1.0, self.today) if self.over_today else self.judged[self.baseline]

    def _lift(self, judged: Judged) -> lifts.Bounds | Quotient | arms.Ratio:
        """The bounds of a policy's CTR / CTR of the policy that it is compared with."""
        base, pair = self._base(), (judged.key, self._base().key)
        lift = None
        largest = (judged.largest, base.largest)
        random = generator(self.seed, "advice", "lift")
        if self._at_once and self.users:
            lift = self.users.lift(pair, largest)
        elif self._at_once and None not in (judged.sample, base.sample):
            lift = arms.Ratio(*zip(judged.sample, base.sample, strict=True))
        elif self._at_once and self.over_today and _is_exact(self.rows[-1]):
            lift = lifts.single(*self.tally.table(judged.key), judged.largest, random)
        elif self._at_once and self.tally.knows_both(pair):
            lift = lifts.of_rows(quotients.ratio, self.tally.both(pair), largest, random)
        return lift or lifts.quotient(judged.bounds, base.bounds)

    def _gain(self, judged: Judged) -> lifts.Moved:
        """The bounds of 1 + a policy's mean - mean of the policy that it is compared with."""
        base = self._base()
        mean = self._difference(base, judged) if self._at_once else None  # as in the table of pairs
        if mean:
            return lifts.Moved(mean, -1, shift=1.0)
        return lifts.Moved(lifts.difference(judged.bounds, base.bounds), shift=1.0)

    def _row(
        self, name: str, key: str, cells, largest: float, weights, of_users=None, **learnt_columns
    ) -> lifts.Bounds | Quotient:
        """Add the row of a policy without its verdict, and the notes on it; returns the bounds of
        its CTR.

        cells : the weights, rewards and counts of the rows; for today's policy, "", of the rows of
            its log
        weights : the possible weights, if they are few and known: then there is Clopper-Pearson's
            bound
        of_users : the bounds by user, where users are known
        """
        weight, reward, count = cells
        tally = self.tally if key else self.of_today
        rounded = tally.rounded(key)
        self._check_largest(weight, largest, rounded)
        # Rounding may have taken weights a little above the largest.
        weight, random = np.minimum(weight, largest), generator(self.seed, "advice", "order")
        weights = weights if ((reward == 0) | (reward == 1)).all() else None
        terms = intervals.drawn(weight * reward, count, largest, random, weights)
        estimate = evaluation.evaluate_cells(weight, reward, count, terms, self.level)
        estimate = self._with_notices(estimate, key, tally, of_users)
        drift = health.UNKNOWN if self.basis.in_no_order else tally.drift(key)
        row = _row_of(name, estimate, self.level, drift=drift.p, **learnt_columns)
        if self.places:
            row |= self.places.columns(key, self.unit)
            random_of_lists = generator(self.seed, "advice", "lists")
            self.notes += self.places.notes(name, key, self.unit, self.level, random_of_lists)
            self.notes += self.users.notes(name, key)
        rows = int(count.sum())
        above = tally.mean(key) if rounded else float(count @ (weight * reward)) / rows
        if estimate.refused:
            bounds = of_users or lifts.of_rate(terms, _is_exact(row))
            row |= _withheld(row)
        else:
            both = Both(weight, np.ones(len(weight)), reward, count, rows, rounded, fixed=True)
            bounds = self._bounds(row, key, both, largest, terms, of_users, random)
            above = above if bounds.estimate is None else bounds.estimate
            row["estimate"] = min(above, 1.0) if row["estimate"] == row["estimate"] else np.nan
        if self.basis.in_no_order:
            row["warnings"] = " ".join([*row["warnings"].split(), SORTED])
        if self.basis.wrong is None and not self.basis.undecided:
            self.notes += _noticed(name, estimate, self.unit.events)
        # what ads earn that the log lacks is not known
        if row["mean_weight"] < 1 and "mean-weight" in row["warnings"]:
            row |= _withheld(row) | {end: row[end] for end in ("lower", "low")}
        if not estimate.refused:
            self._note_rate(name, above, drift)
        if row["low"] > row["high"]:
            self.notes.append(
                f"{name}: its bounds leave no {self.unit.mean} that is possible: "
                "propensities are wrong"
            )
            row |= dict.fromkeys(("estimate", "lower", "low", "high"), np.nan)
            row["refused"] = "impossible"
        self.rows.append(row)
        return bounds

    def _bounds(
        self, row: dict, key: str, both: Both, largest: float, terms, of_users, random
    ) -> lifts.Bounds | Quotient:
        """The bounds of a policy's CTR, whose ends are put into its row, if they are not there
        yet.

        both : its weights, and the weights 1 of today's policy
        terms : w r, in the random order in which they are bet on
        """
        if of_users:
            bounds, row["bound"] = of_users, BY + self.basis.test.clusters[:-1]
        elif self.least_propensity is None and key:
            bounds = self._without_range(terms, both.first * (1 - both.reward), both.count)
            row |= {"bound": "betting, no range", "declared_weight": np.inf}
        elif _is_exact(row):
            return lifts.of_rate(terms, True)
        else:
            both = both._replace(excess="mean-weight" not in row["warnings"])
            bounds = lifts.of_rows(quotients.rate, both, (largest, 1.0), random)
        one_sided = (1 + self.level) / 2
        row |= {
            "lower": bounds.lower(self.level),
            "low": bounds.lower(one_sided),
            "high": min(bounds.upper(one_sided), 1.0),
        }
        return bounds

    def _note_rate(self, name: str, above: float, drift: health.Drift) -> None:
        """Note a CTR by importance weighting, `above`, that is above 1, and one that drifts."""
        if above > 1:
            self.notes.append(
                f"{name}: its importance-weighted {self.unit.mean} is {100 * above:.4g} % of the "
                "largest possible: shown as "
                f"{'100 %' if self.unit.percent else self.unit.rate(self.unit.largest)}"
            )
        if drift.significant:
            self.notes.append(
                f"{name}: its rate drifts, {drift.words(self.unit)}: the {self.unit.mean} is the "
                "average over the log's period"
            )

    def _check_largest(self, weight: np.ndarray, largest: float, rounded: bool) -> None:
        """Raise a SettingError for a weight above the largest that is possible, by more than
        rounding explains.
        """
        slack = 2 * ROUNDED if rounded else 1e-9
        if self.least_propensity is not None and float(weight.max()) > largest * (1 + slack):
            raise SettingError(
                f"a weight is {weight.max():g}, above the largest one declared, {largest:g}. "
                "Declare it from the policy and the logging propensities, or correct these"
            )

    def _with_notices(
        self, estimate: evaluation.Evaluation, key: str, tally: Tally, of_users
    ) -> evaluation.Evaluation:
        """An estimate, without the warning of its mean weight if that may be 1; the uniform
        policy's is refused if the log lacks some ads.
        """
        if self.places:
            return self.places.diagnosed(key, estimate)
        mean = estimate.diagnostics.mean_weight
        notices = {notice.kind: notice for notice in estimate.warnings}
        if abs(mean - 1) <= logs.SLACK or (of_users and key and self.users.may_be_one(key)):
            notices.pop("mean-weight", None)
        elif key == Uniform.kind and mean > 1 and "mean-weight" in notices:
            where = "lists lack" if tally.eligible else "the log lacks"
            reason = (
                f"over the ads seen the mean weight is {mean:.4g}, not 1: {where} ads that there "
                "are, or propensities are too small, so that nothing is known of showing all alike"
            )
            estimate = replace(estimate, refused=evaluation.Notice("unseen-ads", reason))
        return replace(estimate, warnings=() if estimate.refused else tuple(notices.values()))

    def _without_range(self, terms, missed, count) -> lifts.Bounds:
        """The bounds of a policy whose largest weight is not known.

        missed : float64 (cells), w (1 - r)
        """
        random = generator(self.seed, "advice", "order", "missed")
        missed = intervals.drawn(missed, count, max(float(missed.max()), 1.0), random)
        return lifts.of_rate(terms, False, missed)

    def pairs_and_choice(self) -> tuple[list[dict], dict | None]:
        """The comparison of each pair of policies, and the policy to choose; see `pairs`."""
        compared = dict(self.judged)
        estimates = {row["policy"]: row["estimate"] for row in self.rows}
        if self.same_log and compared and self.over_today:
            compared = {Logging.kind: self._base()} | compared
        bounds, can_compare = {}, self.least_propensity is not None
        for pair in combinations(compared if can_compare else (), 2):
            if difference := self._difference(*map(compared.get, pair)):
                bounds[pair] = estimates[pair[0]] - estimates[pair[1]], difference
            else:
                self.notes.append(
                    f"{' and '.join(pair)} are not compared: their probabilities take too many "
                    "values"
                )
        compared_pairs = pairs.pairs(list(compared), bounds, self.tally.rows, self.level)
        choices = [
            row
            for row in self.rows
            if row["policy"] in {*self.judged} - {Uniform.kind, self.baseline}
        ]
        return compared_pairs, pairs.chosen(choices) if choices else None

    def _difference(
        self, judged: Judged, other: Judged
    ) -> lifts.Bounds | Quotient | arms.Difference | None:
        """The bounds of the CTR of the first of two policies - CTR of the second; None if there are
        none.
        """
        if not judged.key:
            mirrored = self._difference(other, judged)
            return mirrored and lifts.Moved(mirrored, -1)
        samples, pair = (judged.sample, other.sample), (judged.key, other.key)
        largest = judged.largest, other.largest
        if self.users:
            return self.users.difference(pair, largest)
        if None not in samples:
            return arms.Difference(*zip(*samples, strict=True))
        both = self.tally.both(pair)
        return both and lifts.of_rows(
            quotients.difference, both, largest, generator(self.seed, "advice", "pairs")
        )

    def evaluation(self, named: Mapping[str, Policy | Always | Column]) -> Evaluation:
        """The evaluation of the policies that were judged, by name."""
        basis, in_unit = self.basis, self.unit.converted
        compared_pairs, choice = self.pairs_and_choice()
        if basis.wrong is not None:
            compared_pairs, choice = [], None
            self._withhold()
        learnt = candidates.learnt(named)
        sources = basis.test, basis.training and basis.training.log
        inputs = [log.source.path for log in sources if log is not None]
        inputs += chain.from_iterable(policy.inputs for policy in learnt.values())
        return Evaluation(
            self.level,
            self.about(),
            tuple(map(in_unit, self.rows)),
            tuple(self.notes),
            self.seed,
            learnt,
            tuple(map(in_unit, compared_pairs)),
            choice and in_unit(choice),
            self._mix(named),
            tuple(inputs),
            self.unit,
            baseline=self.baseline,
        )

    def _withhold(self) -> None:
        """Replace all numbers in `rows` by NaN, since ads were not shown by the propensities."""
        self.notes.insert(0, f"{self.basis.test.name}: {self.basis.wrong.mend}")
        for row in self.rows:
            row |= _withheld(row) | {"refused": self.basis.wrong.kind}
            row["verdict"] = row["verdict"] and "none"

    def _mix(self, named: Mapping) -> dict[str, dict[str, float]]:
        """The mix of ads of each policy; empty for lists."""
        if self.places:
            return {}
        mix = {Logging.kind: mixes.of_log(self.of_today)}
        mix |= {} if self.today_is_uniform else {Uniform.kind: mixes.of_uniform(self.tally)}
        return mix | {
            name: mixes.of_policy(self.tally, name, policy) for name, policy in named.items()
        }

    def about(self) -> tuple[str, ...]:
        """Sentences that describe the logs, after the reasons why all answers may be wrong."""
        basis, training = self.basis, self.basis.training
        reasons = [basis.wrong.reason] if basis.wrong is not None else basis.undecided
        sentences = [*(f"No verdict: {reason}" for reason in reasons), *basis.careful]
        if training is not None:
            sentences.append(
                self._described("Training log", training.log, training.tally, not self.same_log)
            )
        return *sentences, self._described("Test log", basis.test, self.tally, self.same_log)

    def _described(self, role: str, log, tally: Tally, is_today: bool) -> str:
        """A sentence on a log; `is_today` says whether today's policy logged it."""
        ending = "; today's policy is the one that logged it" if is_today else ""
        if is_today and self.alike and tally.eligible:
            ending += ", uniform: all eligible ads alike"
        elif is_today and self.alike:
            ending += f", uniform: all {self.alike:,} ads alike"
            ending += f", of which {self.ads:,} were shown" if self.alike > self.ads else ""
        if log.source.fraction:
            ending += f"; its propensity is {log.source.fraction}"
        counts, of_users = tally.users.counts(), ""
        if counts and log.clusters == "lists":
            of_users = " of {:,} lists of up to {:,} places".format(*counts)
        elif counts:
            of_users = " of {:,} users, who made up to {:,} visits each".format(*counts)
        of_files = f", in {log.form}" if log.in_folder else ""
        total = self.unit.total(tally.mean("") * tally.rows, tally.rows)
        return f"{role} {log.name}: {tally.rows:,} rows{of_users}, {total}{of_files}{ending}"


def _withheld(row: Mapping) -> dict[str, float]:
    """By name, NaN for each number of a row that means nothing if its weights are wrong."""
    of_places = {key for key in row if key.startswith(lists.PLACE)}
    return dict.fromkeys((WITHHELD & row.keys()) | of_places, np.nan)


def _is_exact(row: Mapping) -> bool:
    """Whether the bounds of a row are Clopper-Pearson's."""
    return row["bound"] == "clopper-pearson"


def _row_of(name: str, evaluated: evaluation.Evaluation, level: float, **learnt) -> dict:
    """The row of a policy without its verdict.

    learnt : drift; and lambda, epsilon, untrained and new_ads, of a policy that was learnt
    """
    bounds = {(bound.estimator, bound.bound): bound for bound in evaluated.bounds}
    bound = bounds.get(("ips", "clopper-pearson")) or bounds["ips", "betting"]
    blank = {
        "lambda": np.nan,
        "epsilon": np.nan,
        "untrained": "",
        "new_ads": np.nan,
        "drift": np.nan,
    } | learnt
    return {
        "policy": name, "lambda": blank["lambda"], "epsilon": blank["epsilon"], "level": level,
        "bound": bound.bound,
        "estimate": np.minimum(bound.estimate, 1.0),
        "lower": bound.lower, "low": bound.low, "high": bound.high,
        "lift": np.nan, "lift_low": np.nan, "lift_high": np.nan, **periods.UNKNOWN,
        **vars(evaluated.diagnostics),
        **{key: blank[key] for key in ("untrained", "new_ads", "drift")},
        "verdict": "", "needed_test": np.nan, "needed_train": np.nan,
        "needed_users": np.nan,
        "refused": evaluated.refused.kind if evaluated.refused else "",
        "warnings": " ".join(notice.kind for notice in evaluated.warnings),
    }  # fmt: skip


def _usable(row: Mapping, today: Mapping) -> bool:
    """Whether the numbers of a policy and of today's policy tell which is better."""
    warnings = row["warnings"] + today["warnings"]
    return not (row["refused"] or today["refused"] or "mean-weight" in warnings)


def _noticed(name: str, evaluated: evaluation.Evaluation, events: str = "clicks") -> list[str]:
    """Notes on a policy's evaluation: why it was refused, and its warnings."""
    notices = (evaluated.refused, *evaluated.warnings)
    texts = {kind: words.format(events) for kind, words in WARNINGS.items()}
    notes = [f"{name}: {texts.get(notice.kind, notice.reason)}" for notice in notices if notice]
    mean = evaluated.diagnostics.mean_weight
    if mean < 1 and any(notice.kind == "mean-weight" for notice in evaluated.warnings):
        notes.append(
            f"{name}: if propensities are right, the log cannot show the ads that it chooses in "
            f"about {100 * (1 - mean):.2g} % of visits (deficient support): what these earn is not "
            "known, so that there is a lower bound alone"
        )
    return notes

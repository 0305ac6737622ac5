"""What a comparison rests on: a test log, perhaps a training log, and all doubts about the two.

What must be mended first is raised here, before anything is learnt or judged.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from scant.data import logs
from scant.errors import DataError, SettingError, is_number
from scant_ads.diagnosis import health, overview
from scant_ads.diagnosis.leaks import new_texts, uniform_rates
from scant_ads.evaluation.lists import Places
from scant_ads.reading.amounts import rounding
from scant_ads.reading.log import Log
from scant_ads.reading.summing import Training
from scant_ads.reading.tally import Summary, Tally
from scant_ads.severity import CERTAIN, DOUBTS, HINDSIGHT, REPEATED, WITHHELD

# what is done with rows of the test that the training log has, too
SHARED = ("refuse", "drop")
UNKNOWN = "unknown"  # a least propensity that nobody knows

# that a propensity can be, as numbers of a study: the squares of weights are numbers then
LEAST = 1e-100


class Basis:
    """The logs of a comparison, and what they can tell.

    Parameters
    ----------
    test, training : the logs; None without a training log
    summary : of the test, with any policies
    declared, shared : `least_propensity` and `shared` of `compare.evaluate`

    Attributes
    ----------
    unit : what rewards are counted in
    places : the rows of a log of lists by place; None for another log
    same_log : whether today's policy logged the test
    least_propensity : the least propensity possible, None if nobody knows it
    constant : whether no other propensity than the least is possible
    notes : sentences to read before numbers are used
    careful : sentences on why a policy, or all of them, get no verdict
    doubts : the kinds of these reasons, keys of `severity.DOUBTS`
    wrong : the problem, if there is one, that ads were not shown by the propensities
    hindsight : NAMEs of columns `policy:NAME` that look made from the rewards of the test
    in_no_order : whether nothing is known of the order in which the test showed its ads
    undecided : sentences on why nothing can be said of any policy
    """

    def __init__(
        self,
        test: Log,
        training: Training | None,
        summary: Summary,
        declared: float | str | None = None,
        shared: str = "refuse",
    ):
        whole = test.half_of or test  # of which `check` tells what is wrong
        listed = overview.problems(whole, whole.summary())
        whole.refuse(noted for noted in listed if noted[1].kind not in WITHHELD)
        tally = summary.all()
        if tally.rows < 2:
            raise DataError(test.name, "the log has one row, of which nothing can be said")
        self.test, self.training, self.drops = test, training, False
        self.places = Places(test.visits) if test.propensity_of else None
        length = self.places.length if self.places else 0.0
        self.unit = replace(test.unit, binary=summary.binary, places=length)
        self.same_log = training is None or (
            test.half_of is not None and test.half_of is training.log.half_of
        )
        if training is not None and bool(tally.eligible) != bool(training.tally.eligible):
            has, lacks = (test, training) if tally.eligible else (training, test)
            raise DataError(
                lacks.name,
                f"it has no lists of eligible ads, and {has.name} has",
                advice="Name them in both by --eligible, or --ignore them",
            )
        self.notes, self.careful, self.doubts, self.hindsight = [], [], set(), set()
        self.least_propensity, self.constant = _least(
            test.name, tally, UNKNOWN if self.places else declared, summary.showings.shares()
        )
        self.wrong = next((problem for _, problem, _ in listed if problem.kind in WITHHELD), None)
        self.in_no_order = summary.showings.in_no_order
        self._note(whole.name, listed)
        if training is not None:
            self._of_one_log(tally, summary)
            self._of_both_logs(tally, summary, shared)
            self._of_other_visits(tally, summary)
        of_logs = {test.name: self._judged(tally, summary)}
        of_logs |= {} if training is None else {training.name: training.tally}
        lacking = [name for name, rows in of_logs.items() if health.no_reward(rows, self.unit)]
        self.undecided = [f"all rewards of {name} are 0: rewards look missing" for name in lacking]

    def tally_of(self, summary: Summary) -> Tally:
        """The tally of the rows that are judged, with all ads of both logs.

        summary : of the test, with the policies to judge
        """
        return self._judged(summary.all(), summary)

    def _judged(self, whole: Tally, summary: Summary) -> Tally:
        tally = summary.alone if self.drops else whole
        ads = {ad: 0 * sums for ad, sums in whole.ads.items()}
        if self.training is not None:
            ads |= {
                ad: np.zeros((3, 1), np.int64)
                for ad in logs.ordered({*self.training.tally.ads} - {*ads})
            }
        return replace(tally, ads=ads | tally.ads)

    def today(self, tally: Tally) -> Tally:
        """The tally of the log from which today's rate is estimated; `tally` is the test's."""
        return tally if self.same_log else self.training.tally

    def _note(self, name: str, listed: Iterable) -> None:
        """Note a log's problems that limit answers, in `notes`, `careful`, `doubts`, `hindsight`.

        listed : see `overview.problems`
        """
        for _, problem, _ in listed:
            if problem.kind in (*REPEATED, *DOUBTS):
                self.notes.append(f"{name}: {problem.reason}. {problem.mend}")
            if problem.kind == HINDSIGHT:
                self.hindsight.add(problem.column)
            elif problem.kind in DOUBTS:
                self.careful.append(f"Careful: {problem.reason}")
                self.doubts.add(problem.kind)

    def _of_one_log(self, tally: Tally, summary: Summary) -> None:
        """Note what only one of the two logs has: ads and texts."""
        training = self.training
        if new := [
            ad
            for ad in logs.ordered({*tally.ads} - {*training.tally.ads})
            if tally.ads[ad][0].any()
        ]:
            share = sum(int(tally.ads[ad][0].sum()) for ad in new) / tally.rows
            self.notes.append(
                f"{self.test.name}: {100 * share:.3g} % of rows show ads that the training log "
                f"lacks ({logs.listing(new)}): learnt policies never show them, so that these rows "
                "have weight 0"
            )
        new = new_texts(summary.features, training.summary.features, tally.rows)
        self.notes += [f"{self.test.name}: {sentence}" for sentence in new]
        if lacking := logs.ordered({*training.tally.ads} - {*tally.ads}):
            self.notes.append(
                f"{self.test.name}: it never shows {len(lacking):,} of the "
                f"{len({*tally.ads, *lacking}):,} ads ({logs.listing(lacking)}), so that nothing "
                "is known of what these would earn: policies that show them cannot be judged"
            )

    def _of_both_logs(self, tally: Tally, summary: Summary, shared: str) -> None:
        """Refuse or leave out rows of the test that the training log has, too; note users of
        both.
        """
        training = self.training
        count = summary.shared.rows
        whole_log = count == tally.rows == training.tally.rows and training.shares(count, count)
        if whole_log or summary.digests.mark() == training.mark:
            reason = (
                f"the same log as {training.name}, from which policies are learnt: it flatters them"
            )
            raise DataError(
                self.test.name, reason, advice="Evaluate on other visits; --split 0.5 parts one log"
            )
        overlap = f"{count:,} of {tally.rows:,} rows are in {training.name}, too"
        chance = training.chance * tally.rows
        if not count:
            pass
        elif not training.shares(count, tally.rows):
            self.notes.append(
                f"{self.test.name}: {overlap}, about as many as chance makes ({chance:,.0f}): they "
                "are kept"
            )
        elif shared == "refuse":
            advice = (
                "--shared drop leaves them out of the test. If they are other visits, name the "
                "column that tells visits apart by --id"
            )
            reason = (
                f"{overlap} (by chance: about {chance:,.0f}): what was learnt from them is "
                "judged too well"
            )
            raise DataError(self.test.name, reason, advice=advice)
        elif summary.alone.rows < 2:
            raise DataError(self.test.name, f"{overlap}: nothing is left to evaluate on")
        else:
            self.notes.append(f"{self.test.name}: {overlap}, and are left out of the test")
            self.drops = True
        learnt_users, users = (
            part.users.settle().key for part in (training.tally, self._judged(tally, summary))
        )
        if both := np.isin(users, learnt_users).sum():
            self.notes.append(
                f"{self.test.name}: {100 * both / len(users):.3g} % of its users are in "
                f"{training.name}, too: rates are of users from whom policies have learnt"
            )

    def _of_other_visits(self, tally: Tally, summary: Summary) -> None:
        """Note that the training log, by which today's rate is known, is of other visits, or of
        another time.
        """
        if self.same_log:
            return
        training = self.training
        listed = overview.problems(training.log, training.summary)
        of_showings = (CERTAIN, *WITHHELD)
        training.log.refuse(noted for noted in listed if noted[1].kind not in of_showings)
        self.notes += [
            f"{training.name}: {problem.reason}. Today's rate needs none, but learning may suffer"
            for _, problem, _ in listed
            if problem.kind in of_showings
        ]
        self._note(training.name, listed)
        mean = self.unit.mean
        both_earn = tally.mean("") and training.tally.mean("")
        rates = uniform_rates(tally, training.tally) if both_earn else None
        if rates:
            self.doubts.add("other-visits")
            self.careful.append(
                f"Careful: today's {mean} is of other visits, or times, than the test's"
            )
            test_rate, training_rate = (
                self.unit.interval(*map(self.unit.value, ends)) for ends in rates
            )
            self.notes.append(
                f"{self.test.name}: showing all ads alike earns {test_rate} here, but "
                f"{training_rate} by {training.name}: visits, or times, differ, and today's {mean} "
                "is that of the training log. Policies may look better, or worse, only because of "
                "this; --split compares on the same visits"
            )
        test_period, training_period = summary.period, training.summary.period
        if test_period is None or training_period is None:
            return
        if training_period[1] < test_period[0] or test_period[1] < training_period[0]:
            learnt_on, tested_on = (
                " to ".join(np.datetime_as_string(time, "D") for time in period)
                for period in (training_period, test_period)
            )
            self.notes.append(
                f"the training log is of {learnt_on}, the test log of {tested_on}: "
                f"today's {mean} is of another time"
            )


def check_declared(declared: float | str | None) -> None:
    """Raise a SettingError for a least propensity out of range."""
    if declared not in (None, UNKNOWN) and not is_number(declared, LEAST, 1):
        raise SettingError(
            f"--least-propensity is {declared}; a propensity is above 0 and at most 1, here from "
            f"{LEAST:g}"
        )


def _least(
    name: str, tally: Tally, declared: float | str | None, shares: Mapping[str, float] | None
) -> tuple[float | None, bool]:
    """The least propensity possible, None if it is `UNKNOWN`; and whether it is the only one.

    shares : the propensity of each ad, if that is the same in all rows; see `Showings.shares`
    """
    propensity = tally.cells[""].first
    if declared == UNKNOWN:
        return None, False
    constant, smallest = propensity[0] == propensity[-1], float(propensity[0])  # cells are in order
    # known of every eligible ad of each visit
    of_lists = tally.eligible and health.uniform_ads(tally) is not None
    if declared is None and not constant and not shares and not of_lists:
        raise SettingError(
            f"{name}: propensities differ, so that --least-propensity is needed: the least "
            "probability with which the policy that logged it shows any ad to anyone, by its "
            "design. The least in the log will not do: an ad's rarest showings are those that a "
            "log is likely to lack, and bounds made without them are too good. --least-propensity "
            "unknown makes do with wider bounds that need none"
        )
    least_propensity = smallest if declared is None else declared
    if smallest < min(
        least_propensity * (1 - logs.SLACK), least_propensity - rounding(least_propensity)
    ):
        raise SettingError(f"--least-propensity is {least_propensity}, but {name} has {smallest:g}")
    least_propensity = min(least_propensity, smallest)
    return least_propensity, bool(constant) and math.isclose(least_propensity, smallest)

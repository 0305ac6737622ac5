"""Compare policies with today's on a practitioner's own logs: which would have earned more clicks?

Policies are learnt from a training log and evaluated on a test log of other visits. Today's policy
is the one that logged the training log; its CTR is estimated from the rewards there. Without a
training log it is the one that logged the test.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from shlex import quote

from scant.bandits import evaluation
from scant.bandits.learners import Uniform
from scant.data import logs
from scant.errors import SettingError, is_number, unknown
from scant_ads import text
from scant_ads.evaluation import candidates, covariates, lists
from scant_ads.evaluation.basis import SHARED, Basis, check_declared
from scant_ads.evaluation.judge import Judge
from scant_ads.evaluation.result import Evaluation
from scant_ads.policies import encoding
from scant_ads.policies.policy import Policy
from scant_ads.progress import silent
from scant_ads.reading import summing
from scant_ads.reading.folder import ROWS
from scant_ads.reading.log import Log, log_of
from scant_ads.reading.summing import Training
from scant_ads.reading.tally import Summary


def evaluate(
    policies: Iterable[Policy | str] | Mapping[str, Policy | str],
    test: Log,
    *,
    train: Log | None = None,
    level: float = 0.95,
    least_propensity: float | str | None = None,
    shared: str = "refuse",
    seed: int = 0,
    progress=silent,
    baseline: str | None = None,
    looks: int = 1,
    covariate: str | None = None,
    rows: int = ROWS,
) -> Evaluation:
    """Compare policies with today's on a log that none of them was learnt from.

    Parameters
    ----------
    policies : each, also by name, a `Policy`, which is fitted to `train` if it is not yet; the kind
        of one; NAME, or column:NAME, of a column `policy:NAME` of the test, with the policy's
        probability of the ad shown; "ad:ID" for one ad for everyone, but what was shown where it is
        not eligible; or "each-ad" for "ad:ID" of every ad. "logging", today's policy, is always
        compared, and "uniform" unless it is today's policy, or only ads are asked for
    test : the log to evaluate on
    train : the log that policies are learnt from, which tells today's rate, unless both logs are
        halves of one; None if all policies are fitted. Then today's policy is the one that logged
        `test`, and policies that were learnt from `test` are not noticed
    level : the confidence of each bound, interval and verdict
    least_propensity : the least probability, by design, of any ad under the policy that logged
        `test`; needed if its propensities differ. "unknown" makes do with wider bounds that need
        none
    shared : "refuse" or "drop" rows of the test that are in `train`, too, if chance does
        not explain them
    seed : of the order of the rows for the betting bounds
    progress : called with a sentence on each step that begins
    baseline : the policy with which others are compared, by its name, or an ad, by its id;
        "logging" is today's policy. None for the ad that is called control, if there is one and
        only ads are compared, else today's policy
    looks : how often the test is looked at until it ends, as was planned: answers then hold for all
        looks together
    covariate : a numeric column from before the ad was chosen, such as the user's revenue before
        the test; what it explains is taken out of rewards (see `covariates`), and lifts are
        differences. None for no such column
    rows : of a batch

    Returns
    -------
    evaluation : an `Evaluation`, whose rows have

        policy, lambda, epsilon : the last two NaN for a policy without
        level, bound : the confidence, and which bound it is
        estimate : the importance-weighted CTR, 1 if it is above; NaN, as high is, if the log lacks
            ads of the policy
        lower, low, high : the one-sided bound of the CTR, and the two-sided ones
        lift, lift_low, lift_high : CTR / today's - 1, or over the baseline's, with two-sided bounds
            (see `lifts`); a difference if rewards may be below 0; NaN without a verdict
        the fields of `evaluation.Diagnostics`
        untrained : ids of ads, separated by blanks
        new_ads : the share of the rows of `test` whose ad is not in `train`, which a learnt policy
            never shows
        drift : the p-value of the test that the rate is constant over the log; NaN with too few
            clicks
        lift_first, lift_second, lift_last : the lift in the first half of the log, in the second,
            and in the last quarter; NaN if not known, see `periods.lifts`
        lift_fall : the p-value of the test that the lift does not fall
        verdict : "yes", "no", "cannot tell", "none" if the log tells nothing usable; empty for
            today's policy and the baseline
        premise, power, place_1, place_2, ... : of lists, under which premise numbers are right;
            with which probability the log would show users who leave after a click, where these
            make weights of places wrong (else NaN); and what each place earns a list, NaN beyond
            the last place that the log carries
        needed_test, needed_train, needed_users : how many rows of each log, and users of the test,
            would make the verdict clear if the estimates stayed the same; NaN if it is clear, or if
            that need not grow
        refused, warnings : kinds of `evaluation.Notice`, and why there is no verdict: "user",
            "leak", "other-visits"

    Raises
    ------
    DataError : logs that are the same, share rows, or have different features; probabilities that
        do not sum to 1
    SettingError : an unknown policy, one to be learnt although there is no `train`, or no least
        propensity where it is needed
    """
    test, train = log_of(test), None if train is None else log_of(train)
    _check_settings(test, train, level, looks, baseline)
    if shared not in SHARED:
        raise unknown("way with shared rows", shared, SHARED)
    check_declared(least_propensity)
    read = partial(summing.summary, test, progress=progress, rows=rows)
    if baseline == Uniform.kind:
        candidates.check_meant(baseline, test)
    named = candidates.by_name(policies, test, lambda: _ads(read()))
    named, compared_with = candidates.with_baseline(named, baseline, train is None)
    if test.propensity_of:
        lists.check_settings(
            test, named, train, covariate=covariate, least_propensity=least_propensity
        )
    unfitted = candidates.unfitted(named)
    if unfitted and train is None:
        raise SettingError(
            f"{next(iter(unfitted))} is learnt from a log: give one with --train, of other visits "
            "than the test's, or part this one with --split"
        )
    training = None if train is None else Training(train, test, progress, rows)
    declared = least_propensity, shared
    basis = None
    if unfitted:  # what is wrong with the logs is told before anything is learnt
        basis = Basis(test, training, read(None, training), *declared)
        named |= _fitted(unfitted, train, progress)
    summary = read(named, training)
    basis = basis or Basis(test, training, summary, *declared)
    if covariate is not None:
        if not basis.same_log or basis.drops:
            raise SettingError(
                "--covariate compares rates of one log: leave --train out, or part one log with "
                "--split"
            )
        less = covariates.adjusted(covariate, test, train)
        basis.unit = less.unit
        basis.notes.insert(0, f"{test.name}: {less.note}")
        summary = summing.summary(less.log, named, progress=progress, rows=rows)
    level_of_look = 1 - (1 - level) / looks  # all looks together
    together = len({*named} - {compared_with})
    tally = basis.tally_of(summary)
    judge = Judge(basis, tally, level_of_look, seed, together, compared_with)
    if unfitted and train.learnable is not train:
        judge.notes.append(
            f"{train.name}: policies learn from {len(train.learnable):,} of {len(train):,} rows, "
            "drawn at random, which fit in memory"
        )
    if looks > 1:
        judge.notes.insert(
            0,
            f"For {looks} looks at this test, of which this is one, each answer has a confidence "
            f"of {text.percent(level_of_look)}: with {text.percent(level)} all looks' answers hold",
        )
    if baseline is None and judge.over_today and len(named) > 1 and candidates.only_ads(named):
        judge.notes.append(
            "Ads are compared with today's mix of all; --baseline NAME compares them with one of "
            f"them, as --baseline {quote(next(iter(named.values())).ad)}"
        )
    progress("compares the policies")
    judge.judge_all(named)
    return judge.evaluation(named)


def _check_settings(test: Log, train: Log | None, level: float, looks: int, baseline) -> None:
    """Raise a SettingError for settings out of range, or that do not fit the logs."""
    evaluation.check_level(level)
    if not is_number(looks, 1, whole=True):
        raise SettingError(f"--looks is {looks}; it is how often the test is looked at, 1 or more")
    evaluation.check_level(1 - (1 - level) / looks)
    if not isinstance(baseline, str | None):
        raise SettingError(f"--baseline: {baseline!r} is no text: give the name of a policy or ad")
    if train is not None and train.unit != test.unit:
        raise SettingError(
            f"the rewards of {train.name} and {test.name} are counted in other units: read both "
            "with the same --reward-min, --reward-max and --reward-unit"
        )


def _ads(summary: Summary) -> list[str]:
    """The ads that a log shows."""
    return logs.ordered({ad for ad, sums in summary.all().ads.items() if sums[0].any()})


def _fitted(unfitted: Mapping[str, Policy], train: Log, progress) -> dict[str, Policy]:
    """Policies learnt from the training log, all with one encoder."""
    log = train.learnable.visits
    progress("encodes features")
    encoder = encoding.fit(log)
    encoded = encoder, encoder.transform(log, train.name)
    return {name: policy.fitted_to(log, encoded, progress) for name, policy in unfitted.items()}

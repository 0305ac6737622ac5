"""Compare policies with today's on a practitioner's own logs: which would have earned more clicks?

Policies are learnt from a training log and evaluated on a test log of other visits. Today's policy
is the one that logged the training log; its CTR is estimated from the rewards there. Without a
training log it is the one that logged the test.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain, count
from shlex import quote

from scant.bandits import evaluation
from scant.bandits.learners import Logging, Uniform
from scant.data import logs
from scant.errors import SettingError, is_number, unknown
from scant_ads import text
from scant_ads.evaluation import arms, covariates, lists, mixes
from scant_ads.evaluation.arms import AD, Always
from scant_ads.evaluation.basis import SHARED, Basis, check_declared
from scant_ads.evaluation.judge import Judge
from scant_ads.evaluation.result import Evaluation
from scant_ads.policies import encoding
from scant_ads.policies.learning import LEARNT
from scant_ads.policies.policy import Policy
from scant_ads.progress import silent
from scant_ads.reading import summing
from scant_ads.reading.folder import ROWS
from scant_ads.reading.log import Log
from scant_ads.reading.summing import Training, column

ALWAYS = (Logging.kind, Uniform.kind)  # policies that are in every table
COLUMN = "column:"  # before the NAME of a column policy:NAME, where it could be another policy's


def evaluate(
    policies: Iterable[Policy | str] | Mapping[str, Policy | str],
    test: Log,
    *,
    train: Log | None = None,
    level: float = 0.95,
    least_propensity: float | str | None = None,
    shared: str = "refuse",
    seed: int = 0,
    doubly_robust: bool = False,
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
        not eligible; or "each-ad" for all such. "logging", today's policy, is always compared, and
        "uniform" unless today's is that, or only ads are asked for
    test : the log to evaluate on
    train : the log that policies are learnt from, which tells today's rate, unless both logs are
        halves of one; None if all policies are fitted. Today's is then the policy that logged
        `test`, and nobody sees what was learnt from it
    level : the confidence of each bound, interval and verdict
    least_propensity : the least probability, by design, of any ad under the policy that logged
        `test`; needed if its propensities differ. "unknown" makes do with wider bounds that need
        none
    shared : "refuse", "drop" or "keep" rows of the test that are in `train`, too, if chance does
        not explain them
    seed : of the order of the rows for the betting bounds
    doubly_robust : whether to add doubly robust estimates of learnt policies; reads the test into
        memory
    progress : called with a sentence on each step that begins
    baseline : the policy with which others are compared, by its name, or an ad, by its id;
        "logging" is today's. None for the control of an A/B test, an ad that is called so, if only
        ads are compared; else today's
    looks : how often the test is looked at until it ends, as was planned: answers then hold for all
        looks together
    covariate : a numeric column from before the ad was chosen, such as the user's revenue before
        the test; what it explains is taken out of rewards (see `covariates`), and lifts are
        differences. None for no such column
    rows : of a batch

    Returns
    -------
    evaluation : its rows have policy; lambda and epsilon (NaN for a policy without); level and
        bound; estimate (the importance-weighted CTR, 1 if it is above; like high NaN if the log
        lacks ads of the policy), snips, lower (one-sided), low and high (two-sided), approx_low and
        approx_high (two-sided, by empirical likelihood around snips: it decides nothing); lift, CTR
        / today's - 1, or over the baseline's, with lift_low and lift_high (two-sided, see `lifts`;
        a difference if rewards may be below 0; NaN without a verdict); with `doubly_robust` dr,
        dr_lower (one-sided), dr_low and dr_high; the fields of `evaluation.Diagnostics`; untrained
        (ids of ads, separated by blanks); new_ads (the share of the rows of `test` whose ad is not
        in `train`, which a learnt policy never shows); drift (the p-value of the test that the rate
        is constant over the log; NaN with too few clicks); lift_first, lift_second and lift_last
        (the lift in the first half of the log, in the second, and in the last quarter) and
        lift_fall (the p-value of the test that it does not fall), see `periods.lifts`; NaN if not
        known; verdict ("yes", "no", "cannot tell", "none" if the log tells nothing usable, or empty
        for today's policy and the baseline); of lists premise, under which numbers are right, and
        place_1, place_2, ..., what each place earns a list (NaN beyond the last one that the log
        carries); needed_test, needed_train and needed_users (how
        many rows of each log, and users of the test, would make the verdict clear if the estimates
        stayed the same; NaN if it is clear, or if that need not grow); refused and warnings (kinds
        of `evaluation.Notice`, and why there is no verdict: "user", "leak", "other-visits")

    Raises
    ------
    DataError : logs that are the same, share rows, or have different features; probabilities that
        do not sum to 1
    SettingError : an unknown policy, one to be learnt although there is no `train`, or no least
        propensity where it is needed
    """
    test, train = (
        log if isinstance(log, Log | None) else Log.from_frame(log) for log in (test, train)
    )
    if shared not in SHARED:
        raise unknown("way with shared rows", shared, SHARED)
    evaluation.check_level(level)
    check_declared(least_propensity)
    _check(test, train, looks, doubly_robust, baseline)
    overall, level = level, 1 - (1 - level) / looks  # all looks together
    evaluation.check_level(level)
    read = partial(summing.summary, test, progress=progress, rows=rows)
    if not isinstance(policies, Mapping):
        policies = [policies] if isinstance(policies, str | Policy) else list(policies)
    if any(map(arms.is_each, policies.values() if isinstance(policies, Mapping) else policies)):
        ads = read(None, None).all().ads
        policies = arms.with_each(
            policies, logs.ordered({ad for ad, sums in ads.items() if sums[0].any()})
        )
    named = {
        name: asked(policy, test) for name, policy in named_ones(policies, test.policies).items()
    }
    open_baseline = baseline is None
    named, baseline = with_baseline(named, baseline, train is None)
    if test.propensity_of:
        given = {"doubly_robust": doubly_robust, "covariate": covariate}
        lists.check_settings(test, named, train, least_propensity=least_propensity, **given)
    unfitted = [
        name for name, policy in named.items() if isinstance(policy, Policy) and not policy.fitted
    ]
    if unfitted and train is None:
        raise SettingError(
            f"{unfitted[0]} is learnt from a log: give one with --train, of other visits than the "
            "test's, or part this one with --split"
        )
    training = None if train is None else Training(train, test, progress, rows)
    columns = [policy for policy in named.values() if isinstance(policy, str)]
    basis = None
    if unfitted:  # what is wrong with the logs is told before anything is learnt
        basis = Basis(test, training, read(None, training), columns, least_propensity, shared)
        log = train.learnable.visits
        progress("encodes features")
        encoder = encoding.fit(log)
        encoded = encoder, encoder.transform(log, train.name)
        named |= {name: named[name].fitted_to(log, encoded, progress) for name in unfitted}
    summary = read(named, training)
    basis = basis or Basis(test, training, summary, columns, least_propensity, shared)
    if covariate is not None:
        _check_covariate(basis, doubly_robust)
        less = covariates.adjusted(covariate, test, train)
        summary = summing.summary(less.log, named, progress=progress, rows=rows)
        basis.unit = less.unit
        basis.notes.insert(0, f"{test.name}: {less.note}")
    judge = Judge(basis, basis.tally_of(summary), level, seed, len({*named} - {baseline}), baseline)
    if unfitted and train.learnable is not train:
        drawn = (
            f"{len(train.learnable):,} of {len(train):,} rows, drawn at random, which fit in memory"
        )
        judge.notes.append(f"{train.name}: policies learn from {drawn}")
    if looks > 1:
        judge.notes.insert(
            0,
            f"For {looks} looks at this test, of which this is one, each answer has a confidence "
            f"of {text.percent(level)}: with {text.percent(overall)} all looks' answers hold",
        )
    progress("compares the policies")
    only_ads = bool(named) and all(isinstance(policy, Always) for policy in named.values())
    if only_ads and len(named) > 1 and open_baseline and judge.over_today:
        judge.notes.append(
            "Ads are compared with today's mix of all; --baseline NAME compares "
            f"them with one of them, as --baseline {quote(next(iter(named.values())).ad)}"
        )
    if not (judge.today_is_uniform or judge.places) and (not only_ads or baseline == Uniform.kind):
        judge.judge(
            Uniform.kind, Uniform.kind, (1 / judge.ads,) if not judge.tally.eligible else None
        )
    for name, policy in named.items():
        _judge(judge, name, policy)
    learnt = {name: policy for name, policy in named.items() if isinstance(policy, Policy)}
    if doubly_robust:
        judge.doubly_robust(learnt, progress)
    pairs, choice = judge.decided()
    if basis.wrong is not None:
        pairs, choice = [], None
        judge.withhold()
    mix = judge.mix()
    mix |= {
        name: mixes.of_policy(judge.tally, name, policy) for name, policy in named.items() if mix
    }
    in_unit = basis.unit.converted
    return Evaluation(
        level,
        judge.about(),
        tuple(map(in_unit, judge.rows)),
        tuple(judge.notes),
        seed,
        learnt,
        tuple(map(in_unit, pairs)),
        choice and in_unit(choice),
        mix,
        unit=basis.unit,
        baseline=judge.baseline,
        inputs=_inputs(learnt, test, train),
    )


def _inputs(policies: Mapping[str, Policy], test: Log, train: Log | None) -> tuple:
    """The files, and folders, that policies and logs are from."""
    logs = [log.source.path for log in (test, train) if log is not None]
    return (*logs, *chain.from_iterable(policy.inputs for policy in policies.values()))


def _check(test: Log, train: Log | None, looks: int, doubly_robust: bool, baseline) -> None:
    """Raise a SettingError for settings that do not fit the logs, or a number of looks that is
    none.
    """
    if not is_number(looks, 1, whole=True):
        raise SettingError(f"--looks is {looks}; it is how often the test is looked at, 1 or more")
    if not isinstance(doubly_robust, bool):
        raise SettingError(f"--doubly-robust is {doubly_robust!r}; it is true or false")
    if not isinstance(baseline, str | None):
        raise SettingError(f"--baseline is {baseline!r}; it is the name of a policy, or of an ad")
    if train is not None and train.unit != test.unit:
        raise SettingError(
            f"the rewards of {train.name} and {test.name} are counted in other "
            "units: read both with the same --reward-min, --reward-max and --reward-unit"
        )
    if doubly_robust and "user" in test.source.optional:
        raise SettingError(
            "--doubly-robust is for visits that are independent: leave it, or --user, out"
        )


def _check_covariate(basis: Basis, doubly_robust: bool) -> None:
    """Raise a SettingError for what a covariate does not go with."""
    if not basis.same_log or basis.drops:
        raise SettingError(
            "--covariate compares rates of one log: leave --train out, or part one log with --split"
        )
    if doubly_robust:
        raise SettingError("--covariate changes rewards: leave --doubly-robust out")


def _judge(judge: Judge, name: str, policy: str | Always | Policy) -> None:
    if isinstance(policy, str):
        judge.judge(name, column(policy), None)
    elif isinstance(policy, Always):
        judge.judge_ad(name, policy)
    else:
        judge.judge_learnt(name, policy)


def with_baseline(named: Mapping, baseline: str | None, alone: bool) -> tuple[dict, str]:
    """The policies asked for by name, with the one first that others are compared with, and its
    name.

    baseline : that name, or the id of an ad; None for the control of an A/B test, if there is one,
        else today's policy
    alone : whether there is no training log, so that today's policy logged the test
    """
    if baseline is None:
        baseline = (arms.control(named) if alone else None) or Logging.kind
    if baseline in ALWAYS:
        return dict(named), baseline
    name = baseline if baseline in named or baseline.startswith(AD) else f"{AD}{baseline}"
    return {name: named.get(name, Always(name.removeprefix(AD)))} | dict(named), name


def named_ones(policies: Iterable | Mapping, columns: Iterable[str] = ()) -> dict[str, object]:
    """Policies by name, without the ones that are always compared. Later policies of the same name
    are numbered.

    columns : NAMEs of the columns `policy:NAME` of the test
    """
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    else:
        pairs = [(None, policy) for policy in policies]
    named, seen = {}, []
    for name, policy in pairs:
        # so `parts` has them
        meant, clashes = policy, isinstance(policy, Policy) and str(name).startswith(logs.POLICY)
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
            raise SettingError(
                f"a policy cannot be called {name!r} here: {' and '.join(ALWAYS)} "
                f"are always compared, by these names, and {logs.POLICY} is of columns"
            )
        seen.append(meant)
        named[name] = policy
    return named


def check_meant(policy: str, columns: Iterable[str]) -> None:
    """Raise a SettingError for a name of a policy that a column has, too, so that either could be
    meant.

    columns : NAMEs of the columns `policy:NAME` of the test
    """
    if policy in {*ALWAYS, *LEARNT} & {*columns}:
        raise SettingError(
            f"{policy} is a policy of this program, and policy:{policy} a column of the test: say "
            f"column:{policy}, or leave the column out with --ignore " + quote(f"policy:{policy}")
        )


def asked(policy, test: Log) -> Policy | Always | str:
    """What a policy asked for stands for: a `Policy`, an ad for everyone, or the NAME of a column
    `policy:NAME`.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise SettingError(
            f"{policy!r} is no policy: give a Policy, the kind of a learner, or the "
            "name of a column"
        )
    if policy in LEARNT:
        return Policy(policy)
    if policy.startswith(AD) and policy not in test.policies:
        return Always(policy.removeprefix(AD))
    column = policy.removeprefix(COLUMN)
    if column not in test.policies:
        raise unknown(
            "policy", column, (*LEARNT, arms.EACH, *(f"{COLUMN}{name}" for name in test.policies))
        )
    return column

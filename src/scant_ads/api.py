"""The names that `scant_ads` offers: logs, policies in scikit-learn's manner, and their
evaluation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from scant_ads.evaluation import compare
from scant_ads.evaluation.result import Evaluation
from scant_ads.policies.policy import Policy
from scant_ads.progress import silent
from scant_ads.reading.log import Log, Report

__all__ = ["Evaluation", "Log", "Policy", "Report", "evaluate", "fit"]


def fit(log: Log, kind="auc-ranker", **settings) -> Policy:
    """Learn a policy from a log.

    log : a `Log`, or a data frame with the columns of one
    kind, settings : see `Policy`

    Raises
    ------
    SettingError, DataError : an unknown kind or setting, or a log that cannot be learnt from
    """
    return Policy(kind, **settings).fit(log)


def evaluate(
    policies: Iterable[Policy | str] | Mapping[str, Policy | str], test: Log, *,
    train: Log | None = None,
    level: float = 0.95, least_propensity: float | str | None = None, shared: str = "refuse",
    seed: int = 0,
    doubly_robust: bool = False, progress=silent, baseline: str | None = None,
    looks: int = 1, covariate: str | None = None,
) -> Evaluation:  # fmt: skip
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

    Raises
    ------
    DataError, SettingError : see `compare.compare`
    """
    test, train = (
        log if isinstance(log, Log | None) else Log.from_frame(log) for log in (test, train)
    )
    evaluation = compare.compare(
        policies,
        test,
        train,
        level=level,
        declared=least_propensity,
        shared=shared,
        seed=seed,
        progress=progress,
        doubly_robust=doubly_robust,
        baseline=baseline,
        looks=looks,
        covariate=covariate,
    )
    return replace(evaluation, inputs=_inputs(evaluation.policies, test, train))


def _inputs(policies: Mapping, test: Log, train: Log | None) -> tuple:
    """The files, and folders, that policies and logs are from."""
    logs = [log.source.path for log in (test, train) if log is not None]
    saved = [
        path for policy in policies.values() if isinstance(policy, Policy) for path in policy.inputs
    ]
    return (*logs, *saved)

"""The names that `scant_ads` offers: logs, policies in scikit-learn's manner, and their
evaluation.
"""

from scant_ads.evaluation.compare import evaluate
from scant_ads.evaluation.result import Evaluation
from scant_ads.policies.policy import Policy
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

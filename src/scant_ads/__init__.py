"""For practitioners: which policy would have earned more clicks, according to their own logs.

import scant_ads as sa

log = sa.Log.read("visits.parquet")
train, test = log.split(0.5)
policy = sa.fit(train, "auc-ranker", undersample=1)
evaluation = sa.evaluate([policy, "logistic"], test, train=train)
"""

from importlib import import_module

__all__ = ["Evaluation", "Log", "Policy", "Report", "evaluate", "fit"]


def __getattr__(name: str):
    """The public names, imported when they are first asked for: the command line starts without
    them.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("scant_ads.api"), name)  # by name: no job of a study depends on it


def __dir__() -> list[str]:
    return [*globals(), *__all__]
